/*
 * Reading a dump, into an empty database.
 *
 * The dump is a stranger's file until its last line has been read: each line
 * must be the one that follows, the chain is computed anew, and the sum of
 * all lines and the head must come out as the end says.  What was read is
 * then proven as `log verify' does, and only after that the caller lets it
 * become the database.
 */
#include <sys/types.h>

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "logdump.h"
#include "logverify.h"
#include "store.h"

#define LINES_BATCH	512		/* to a transaction */

struct restore {
	FILE			*f;
	struct eventlog		*log;
	struct logdump_result	*res;
	char			*line;
	size_t			 len;
	uint64_t		 number;	/* of the line */
	uint64_t		 rows;
	u_int			 batched;
	SHA2_CTX		 sum;
	uint8_t			*data;		/* of hexadecimal digits */
	size_t			 ndata;
	int			 ended;
	char			*why;
	size_t			 nwhy;
};

static int	bad(struct restore *, const char *, ...)
		    __attribute__((__format__(printf, 2, 3)));

static int
bad(struct restore *r, const char *fmt, ...)
{
	va_list	 ap;
	int	 n;

	n = snprintf(r->why, r->nwhy, "line %llu: ",
	    (unsigned long long)r->number);
	va_start(ap, fmt);
	vsnprintf(r->why + n, r->nwhy - n, fmt, ap);
	va_end(ap);
	return (-1);
}

static int
bad_db(struct restore *r)
{
	snprintf(r->why, r->nwhy, "%.300s", r->log->db->why);
	return (-1);
}

/* The next line without its end; 0 at the end of the file. */
static int
line_read(struct restore *r)
{
	if (fgets(r->line, LOGDUMP_LINE, r->f) == NULL) {
		if (!ferror(r->f))
			return (0);
		snprintf(r->why, r->nwhy, "after line %llu: %s",
		    (unsigned long long)r->number, strerror(errno));
		return (-1);
	}
	r->number++;
	r->len = strlen(r->line);
	if (r->len == 0 || r->line[r->len - 1] != '\n')
		return (bad(r, "%s", feof(r->f) ? "it is cut off" :
		    r->len + 1 == LOGDUMP_LINE ? "too long" : "damaged"));
	return (1);
}

/* The next word; the line's end is behind the last. */
static char *
word(char **p)
{
	char	*w;

	while ((w = strsep(p, " ")) != NULL && *w == '\0')
		continue;
	return (w);
}

static int
number(char **p, uint64_t *n)
{
	char	*w = word(p), *end;

	if (w == NULL || w[0] < '0' || w[0] > '9' ||
	    (w[0] == '0' && w[1] != '\0'))
		return (-1);
	errno = 0;
	*n = strtoull(w, &end, 10);
	return (errno != 0 || *end != '\0' ? -1 : 0);
}

static int
nibble(char c)
{
	if (c >= '0' && c <= '9')
		return (c - '0');
	if (c >= 'a' && c <= 'f')
		return (c - 'a' + 10);
	return (-1);
}

/* Into data, behind what is there already. */
static int
hex(struct restore *r, char **p, size_t *len)
{
	char	*w = word(p);
	int	 hi, lo;

	*len = 0;
	if (w == NULL)
		return (-1);
	for (; w[0] != '\0'; w += 2) {
		if ((hi = nibble(w[0])) == -1 || (lo = nibble(w[1])) == -1)
			return (-1);
		r->data[r->ndata++] = hi << 4 | lo;
		(*len)++;
	}
	return (0);
}

static int
restore_head(struct restore *r, char *p)
{
	struct eventlog	*l = r->log;
	uint64_t	 version, time;
	char		*w = word(&p), *instance;
	size_t		 len;

	if (w == NULL || strcmp(w, LOGDUMP_WORD) != 0)
		return (bad(r, "not a dump of sandboxd"));
	if (number(&p, &version) == -1)
		return (bad(r, "damaged"));
	if (version != LOGDUMP_VERSION)
		return (bad(r, "a dump of version %llu: this program reads "
		    "version %d", (unsigned long long)version,
		    LOGDUMP_VERSION));
	if ((instance = word(&p)) == NULL || strlen(instance) != 32 ||
	    strspn(instance, "0123456789abcdef") != 32 ||
	    number(&p, &time) == -1 || number(&p, &l->seq) == -1 ||
	    hex(r, &p, &len) == -1 || len != RECORD_HASH_LEN ||
	    word(&p) != NULL)
		return (bad(r, "damaged"));
	strlcpy(r->res->instance, instance, sizeof(r->res->instance));
	memcpy(l->link, r->data, RECORD_HASH_LEN);
	r->res->anchor = l->seq;
	return (0);
}

static int
restore_event(struct restore *r, int form, char *p)
{
	uint64_t	 seq;
	size_t		 len;

	if (number(&p, &seq) == -1 || hex(r, &p, &len) == -1 ||
	    word(&p) != NULL)
		return (bad(r, "damaged"));
	if (seq != r->log->seq + 1)
		return (bad(r, "event %llu follows %llu",
		    (unsigned long long)seq,
		    (unsigned long long)r->log->seq));
	switch (eventlog_copy(r->log, form, r->data, len)) {
	case EDB_OK:
		break;
	case EDB_NOTFOUND:
		return (bad(r, "event %llu: damaged, or of a newer version",
		    (unsigned long long)seq));
	default:
		return (bad_db(r));
	}
	if (form == RECORD_EVENT)
		r->res->events++;
	else
		r->res->skeletons++;
	return (0);
}

static int
restore_row(struct restore *r, int gone, char *p)
{
	size_t	 nkey, len = 0;

	if (hex(r, &p, &nkey) == -1 || nkey == 0 || nkey > LOGDUMP_KEY ||
	    (!gone && hex(r, &p, &len) == -1) || word(&p) != NULL)
		return (bad(r, "damaged"));
	r->rows++;
	if (gone)
		return (eventdb_del(r->log->db, EDB_STATE, r->data, nkey) ==
		    EDB_FAIL ? bad_db(r) : 0);
	if (eventdb_put(r->log->db, EDB_STATE, r->data, nkey, r->data + nkey,
	    len) != 0)
		return (bad_db(r));
	return (0);
}

static int
restore_end(struct restore *r, char *p)
{
	uint64_t	 events, skeletons, rows, seq;
	uint8_t		 sum[32];
	size_t		 nhead, nsum;

	if (number(&p, &events) == -1 || number(&p, &skeletons) == -1 ||
	    number(&p, &rows) == -1 || number(&p, &seq) == -1 ||
	    hex(r, &p, &nhead) == -1 || nhead != RECORD_HASH_LEN ||
	    hex(r, &p, &nsum) == -1 || nsum != sizeof(sum) || word(&p) != NULL)
		return (bad(r, "damaged"));
	SHA256Final(sum, &r->sum);
	if (memcmp(sum, r->data + nhead, sizeof(sum)) != 0)
		return (bad(r, "the sum is not that of the lines before it: "
		    "it was altered"));
	if (events != r->res->events || skeletons != r->res->skeletons ||
	    rows != r->rows || seq != r->log->seq)
		return (bad(r, "another number of events or rows than there "
		    "are"));
	if (memcmp(r->data, r->log->link, RECORD_HASH_LEN) != 0)
		return (bad(r, "the chain leads to another head"));
	if (r->res->events == 0)
		return (bad(r, "there are no events"));
	r->ended = 1;
	return (0);
}

static int
restore_line(struct restore *r)
{
	char	*p = r->line, *w;

	if (r->ended)
		return (bad(r, "there is more behind the end"));
	if (strncmp(r->line, "end ", 4) != 0)
		SHA256Update(&r->sum, (const uint8_t *)r->line, r->len);
	r->line[r->len - 1] = '\0';
	r->ndata = 0;
	if (r->number == 1)
		return (restore_head(r, p));
	if ((w = word(&p)) == NULL)
		return (bad(r, "damaged"));
	if (strcmp(w, "event") == 0)
		return (restore_event(r, RECORD_EVENT, p));
	if (strcmp(w, "skeleton") == 0)
		return (restore_event(r, RECORD_SKELETON, p));
	if (strcmp(w, "row") == 0 || strcmp(w, "gone") == 0)
		return (restore_row(r, *w == 'g', p));
	if (strcmp(w, "end") == 0)
		return (restore_end(r, p));
	return (bad(r, "damaged"));
}

static int
restore_commit(struct restore *r)
{
	struct eventlog	*l = r->log;

	r->batched = 0;
	if (eventdb_commit(l->db) == -1)
		return (bad_db(r));
	eventlog_committed(l);
	if (eventdb_mark(l->db, l->seq, l->link) == -1 ||
	    eventdb_checkpoint(l->db, 0) == -1)
		return (bad_db(r));
	fault("restore.batch.after");
	return (0);
}

static int
restore_lines(struct restore *r)
{
	int	 ret;

	while ((ret = line_read(r)) == 1) {
		if (r->batched == 0 && eventdb_begin(r->log->db) == -1)
			return (bad_db(r));
		if (restore_line(r) == -1)
			return (-1);
		if (++r->batched == LINES_BATCH && restore_commit(r) == -1)
			return (-1);
	}
	if (ret == -1)
		return (-1);
	if (!r->ended) {
		if (r->number == 0)
			r->number = 1;
		return (bad(r, "it is cut off: the line with the end is "
		    "missing"));
	}
	return (r->batched > 0 ? restore_commit(r) : 0);
}

/* What was read is looked at as if it had always been here. */
static int
restore_prove(struct restore *r)
{
	struct logverify	 v;
	uint64_t		 anchor = r->res->anchor;
	int			 ret;

	if (eventlog_open(r->log, r->log->db) == -1)
		return (bad_db(r));
	if (r->log->anchor != anchor) {
		snprintf(r->why, r->nwhy, "it begins behind event %llu, and "
		    "behind %llu by its rows", (unsigned long long)anchor,
		    (unsigned long long)r->log->anchor);
		return (-1);
	}
	logverify_start(&v, r->log, NULL);
	while ((ret = logverify_slice(&v)) == 1)
		continue;
	r->res->boxes = v.nboxes;
	r->res->execs = v.nexecs;
	if (ret == -1)
		snprintf(r->why, r->nwhy, "%s", v.why);
	logverify_end(&v);
	return (ret);
}

/* The history says that it was taken up again from here. */
static int
restore_tell(struct restore *r)
{
	struct kvv	 d = { 0 };
	struct record	 rec;
	msgpack_sbuffer	 buf;
	int		 ret;

	detail_num(&d, "sequence", r->res->seq);
	detail_str(&d, "head", r->res->head);
	memset(&rec, 0, sizeof(rec));
	rec.type = EV_LOG_RESTORED;
	rec.actor = 0;
	rec.time = store_now();
	msgpack_sbuffer_init(&buf);
	store_detail_encode(&buf, &d);
	rec.details = (const uint8_t *)buf.data;
	rec.ndetails = buf.size;
	ret = eventdb_begin(r->log->db) == -1 ||
	    eventlog_append(r->log, &rec) == -1 ? bad_db(r) :
	    restore_commit(r);
	msgpack_sbuffer_destroy(&buf);
	kvv_clear(&d);
	return (ret);
}

int
logdump_restore(FILE *f, struct eventlog *l, struct logdump_result *res,
    char *why, size_t nwhy)
{
	struct restore	 r;
	size_t		 i;
	int		 ret = -1;

	memset(&r, 0, sizeof(r));
	memset(res, 0, sizeof(*res));
	r.f = f;
	r.log = l;
	r.res = res;
	r.why = why;
	r.nwhy = nwhy;
	SHA256Init(&r.sum);
	r.line = malloc(LOGDUMP_LINE);
	r.data = malloc(LOGDUMP_LINE);
	if (r.line == NULL || r.data == NULL)
		snprintf(why, nwhy, "out of memory");
	else if (restore_lines(&r) == 0) {
		res->seq = l->seq;
		for (i = 0; i < RECORD_HASH_LEN; i++)
			snprintf(res->head + 2 * i, 3, "%02x", l->link[i]);
		if (restore_prove(&r) == 0)
			ret = restore_tell(&r);
	}
	if (ret == -1)
		eventdb_abort(l->db);
	free(r.line);
	free(r.data);
	return (ret);
}
