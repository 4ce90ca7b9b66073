/*
 * Writing a dump, in slices.
 *
 * Events are written in their order, and rows of the state in that of their
 * keys, while the daemon changes both.  A row that changes behind the place
 * where the writer is gets noted, and written once more.  The dump is over
 * when, within one slice, the newest event and the last row were written and
 * no row is noted: all of it together is what the database had at that moment.
 *
 * Requests of execs that no guest has yet stay out: they hold the values of
 * variables, and nobody wants a command of some days ago to start.
 */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "logdump.h"
#include "logverify.h"

struct dumpkey {
	RB_ENTRY(dumpkey)	 entry;
	size_t			 len;
	uint8_t			 key[LOGDUMP_KEY];
};

static int
key_cmp(const uint8_t *a, size_t na, const uint8_t *b, size_t nb)
{
	int	 c;

	if ((c = memcmp(a, b, na < nb ? na : nb)) != 0)
		return (c);
	return (na < nb ? -1 : na > nb);
}

static int
dumpkey_cmp(struct dumpkey *a, struct dumpkey *b)
{
	return (key_cmp(a->key, a->len, b->key, b->len));
}

RB_PROTOTYPE(dumpkey_tree, dumpkey, entry, dumpkey_cmp)
RB_GENERATE(dumpkey_tree, dumpkey, entry, dumpkey_cmp)

static char *
room(struct logdump *d, size_t len)
{
	char	*p;
	size_t	 size = d->size == 0 ? 65536 : d->size;

	while (size < d->len + len)
		size *= 2;
	if (size != d->size) {
		if ((p = realloc(d->buf, size)) == NULL)
			fatal("%s", __func__);
		d->buf = p;
		d->size = size;
	}
	return (d->buf + d->len);
}

static void
put(struct logdump *d, const char *text)
{
	size_t	 len = strlen(text);

	memcpy(room(d, len), text, len);
	d->len += len;
}

static void
put_number(struct logdump *d, uint64_t n)
{
	char	 buf[24];

	snprintf(buf, sizeof(buf), " %llu", (unsigned long long)n);
	put(d, buf);
}

static void
put_hex(struct logdump *d, const uint8_t *data, size_t len)
{
	static const char	 digits[] = "0123456789abcdef";
	char			*p = room(d, 2 * len + 1);
	size_t			 i;

	*p++ = ' ';
	for (i = 0; i < len; i++) {
		*p++ = digits[data[i] >> 4];
		*p++ = digits[data[i] & 15];
	}
	d->len += 2 * len + 1;
}

/* The line that begins at from is whole. */
static void
put_end(struct logdump *d, size_t from)
{
	put(d, "\n");
	SHA256Update(&d->sum, (const uint8_t *)d->buf + from, d->len - from);
}

static int
late(struct logdump *d)
{
	return (d->len >= d->want || eventlog_clock() > d->until);
}

static int
dump_event(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct logdump		*d = arg;
	struct record_frame	 f;
	size_t			 from = d->len;

	if (nkey != 8 || record_get64(key) != d->next ||
	    record_frame(&f, val, nval) == -1 ||
	    record_check(&f, d->link) == -1) {
		snprintf(d->why, sizeof(d->why), "events.db: damaged: event "
		    "%llu", (unsigned long long)d->next);
		return (1);
	}
	if (f.form == RECORD_EVENT) {
		put(d, "event");
		put_number(d, d->next);
		put_hex(d, f.body, f.nbody);
		d->events++;
	} else {
		put(d, "skeleton");
		put_number(d, d->next);
		put_hex(d, f.hash, sizeof(f.hash));
		d->skeletons++;
	}
	put_end(d, from);
	memcpy(d->link, f.link, sizeof(d->link));
	d->next++;
	return (late(d));
}

static void
put_row(struct logdump *d, const uint8_t *key, size_t nkey,
    const uint8_t *val, size_t nval)
{
	size_t	 from = d->len;

	if (nkey > 0 && key[0] == 'P')
		return;
	put(d, val == NULL ? "gone" : "row");
	put_hex(d, key, nkey);
	if (val != NULL)
		put_hex(d, val, nval);
	put_end(d, from);
	d->rows++;
}

static int
dump_row(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct logdump	*d = arg;

	if (nkey > LOGDUMP_KEY) {
		snprintf(d->why, sizeof(d->why), "state.db: damaged: a key "
		    "of %zu bytes", nkey);
		return (1);
	}
	put_row(d, key, nkey, val, nval);
	/* The least key behind it. */
	memcpy(d->key, key, nkey);
	d->key[nkey] = 0;
	d->nkey = nkey + 1;
	return (late(d));
}

static int
dump_changed(struct logdump *d)
{
	struct dumpkey	*k;
	const uint8_t	*val;
	size_t		 len;
	int		 ret;

	while (!late(d) && (k = RB_MIN(dumpkey_tree, &d->changed)) != NULL) {
		ret = eventdb_get(d->log->db, EDB_STATE, k->key, k->len, &val,
		    &len);
		if (ret == EDB_FAIL)
			return (-1);
		put_row(d, k->key, k->len, ret == EDB_OK ? val : NULL, len);
		RB_REMOVE(dumpkey_tree, &d->changed, k);
		d->nchanged--;
		free(k);
	}
	return (0);
}

/* A row was written or deleted, in a transaction that may still fail. */
static void
changed(void *arg, const void *key, size_t nkey)
{
	struct logdump	*d = arg;
	struct dumpkey	*k;

	if (nkey > LOGDUMP_KEY || d->done || d->why[0] != '\0' ||
	    (!d->rows_done && key_cmp(key, nkey, d->key, d->nkey) >= 0))
		return;
	if (d->nchanged == LOGDUMP_CHANGED) {
		snprintf(d->why, sizeof(d->why), "%d rows have changed while "
		    "the dump was not taken", LOGDUMP_CHANGED);
		return;
	}
	if ((k = calloc(1, sizeof(*k))) == NULL)
		fatal("%s", __func__);
	memcpy(k->key, key, nkey);
	k->len = nkey;
	if (RB_INSERT(dumpkey_tree, &d->changed, k) != NULL)
		free(k);
	else
		d->nchanged++;
}

void
logdump_start(struct logdump *d, struct eventlog *l, const char *instance,
    uint64_t now)
{
	memset(d, 0, sizeof(*d));
	d->log = l;
	d->next = l->done_anchor + 1;
	memcpy(d->link, l->done_anchor_link, sizeof(d->link));
	RB_INIT(&d->changed);
	SHA256Init(&d->sum);
	put(d, LOGDUMP_WORD);
	put_number(d, LOGDUMP_VERSION);
	put(d, " ");
	put(d, instance);
	put_number(d, now);
	put_number(d, l->done_anchor);
	put_hex(d, d->link, sizeof(d->link));
	put_end(d, 0);
	l->db->changed = changed;
	l->db->changed_arg = d;
}

static void
dump_last(struct logdump *d)
{
	uint8_t	 sum[32];

	SHA256Final(sum, &d->sum);
	put(d, "end");
	put_number(d, d->events);
	put_number(d, d->skeletons);
	put_number(d, d->rows);
	put_number(d, d->next - 1);
	put_hex(d, d->link, sizeof(d->link));
	put_hex(d, sum, sizeof(sum));
	put(d, "\n");
	d->done = 1;
}

int
logdump_slice(struct logdump *d, size_t want)
{
	struct eventlog	*l = d->log;
	uint8_t		 key[8];

	if (d->why[0] != '\0')
		return (-1);
	if (d->done)
		return (0);
	d->until = eventlog_clock() + LOGVERIFY_MS * 1000000ULL;
	d->want = want;
	l->db->why[0] = '\0';
	record_put64(key, d->next);
	if (d->next <= l->done_seq && !late(d) &&
	    eventdb_walk(l->db, EDB_EVENTS, key, sizeof(key), dump_event,
	    d) != 0)
		goto fail;
	if (d->why[0] == '\0' && !d->rows_done && !late(d)) {
		if (eventdb_walk(l->db, EDB_STATE, d->key, d->nkey, dump_row,
		    d) != 0)
			goto fail;
		d->rows_done = d->why[0] == '\0' && !late(d);
	}
	if (dump_changed(d) == -1)
		goto fail;
	if (d->why[0] != '\0')
		return (-1);
	if (d->next == l->done_seq + 1 && d->rows_done &&
	    RB_EMPTY(&d->changed)) {
		dump_last(d);
		return (0);
	}
	return (1);
 fail:
	snprintf(d->why, sizeof(d->why), "%.300s", l->db->why);
	return (-1);
}

void
logdump_take(struct logdump *d, size_t len)
{
	d->len -= len;
	memmove(d->buf, d->buf + len, d->len);
}

void
logdump_end(struct logdump *d)
{
	struct dumpkey	*k;

	while ((k = RB_MIN(dumpkey_tree, &d->changed)) != NULL) {
		RB_REMOVE(dumpkey_tree, &d->changed, k);
		free(k);
	}
	if (d->log->db->changed_arg == d) {
		d->log->db->changed = NULL;
		d->log->db->changed_arg = NULL;
	}
	free(d->buf);
	d->buf = NULL;
}
