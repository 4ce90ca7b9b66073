/*
 * The event log.
 *
 * The host's sequence and the chain live here; the sandbox's own sequence is
 * the caller's, who keeps it with the sandbox's state in the same
 * transaction.  A transaction that fails gives its numbers back.
 */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <time.h>

#include "eventlog.h"

#define ANCHOR_KEY	"A"		/* in the state table */

static int
eventlog_open_anchor(struct eventlog *l)
{
	const uint8_t	*val;
	size_t		 len;

	switch (eventdb_get(l->db, EDB_STATE, ANCHOR_KEY, 1, &val, &len)) {
	case EDB_OK:
		break;
	case EDB_NOTFOUND:
		return (0);
	default:
		return (-1);
	}
	if (len != 8 + RECORD_HASH_LEN) {
		snprintf(l->db->why, sizeof(l->db->why),
		    "state.db: damaged: anchor");
		return (-1);
	}
	l->anchor = record_get64(val);
	memcpy(l->anchor_link, val + 8, RECORD_HASH_LEN);
	return (0);
}

int
eventlog_open(struct eventlog *l, struct eventdb *db)
{
	struct record_frame	 f;
	const uint8_t		*val;
	uint8_t			 key[8];
	size_t			 len;

	memset(l, 0, sizeof(*l));
	l->db = db;
	if (eventlog_open_anchor(l) == -1 && !db->readonly)
		return (-1);
	switch (eventdb_last(db, EDB_EVENTS, key, sizeof(key), &val, &len)) {
	case EDB_OK:
		break;
	case EDB_NOTFOUND:
		return (0);
	default:
		/* Of a damaged one the watermark knows how long it is. */
		l->seq = l->done_seq = db->mark_count;
		return (db->readonly ? 0 : -1);
	}
	l->seq = l->done_seq = record_get64(key);
	if (record_frame(&f, val, len) == -1) {
		if (db->readonly)
			return (0);
		snprintf(db->why, sizeof(db->why),
		    "events.db: damaged: event %llu",
		    (unsigned long long)l->seq);
		return (-1);
	}
	memcpy(l->link, f.link, sizeof(l->link));
	eventlog_committed(l);
	if (db->readonly)
		return (0);
	/* The process may have died before it wrote the last watermark. */
	if (db->mark_count != l->seq)
		return (eventdb_mark(db, l->seq, l->link));
	return (0);
}

static int
eventlog_put(struct eventlog *l, const struct record *r, const uint8_t *frame,
    size_t len)
{
	uint8_t	 key[16], seq[8];

	record_put64(seq, r->seq);
	if (eventdb_put(l->db, EDB_EVENTS, seq, sizeof(seq), frame, len) != 0)
		return (-1);
	if (r->sbx == 0)
		return (0);
	record_put64(key, r->sbx);
	record_put64(key + 8, r->sseq);
	return (eventdb_put(l->db, EDB_INDEX, key, sizeof(key), seq,
	    sizeof(seq)));
}

/* Gives the record its sequence and writes it. */
int
eventlog_append(struct eventlog *l, struct record *r)
{
	uint8_t	 buf[RECORD_FRAME_MAX], link[RECORD_HASH_LEN];
	int	 n;

	r->seq = l->seq + 1;
	if ((n = record_encode(buf, sizeof(buf), r, l->link, link)) == -1) {
		snprintf(l->db->why, sizeof(l->db->why),
		    "event %u: details of %u bytes", r->type, r->ndetails);
		l->db->err = 0;
		return (-1);
	}
	if (eventlog_put(l, r, buf, n) != 0)
		return (-1);
	l->seq = r->seq;
	memcpy(l->link, link, sizeof(l->link));
	return (0);
}

int
eventlog_copy(struct eventlog *l, int form, const uint8_t *data, size_t len)
{
	struct record_frame	 f;
	struct record		 r;
	uint8_t			 buf[RECORD_FRAME_MAX];

	memset(&r, 0, sizeof(r));
	r.seq = l->seq + 1;
	buf[0] = form;
	if (form == RECORD_SKELETON) {
		if (len != RECORD_HASH_LEN)
			return (EDB_NOTFOUND);
		memcpy(buf + 1, data, len);
		len = 0;
	} else if (len < RECORD_FIXED || len > sizeof(buf) - RECORD_FRAME_HEAD)
		return (EDB_NOTFOUND);
	else {
		memcpy(buf + RECORD_FRAME_HEAD, data, len);
		record_hash(data, len, buf + 1);
	}
	record_link(l->link, buf + 1, buf + 1 + RECORD_HASH_LEN);
	if (record_frame(&f, buf, RECORD_FRAME_HEAD + len) == -1 ||
	    (form == RECORD_EVENT && (record_decode(&r, &f) == -1 ||
	    r.seq != l->seq + 1)))
		return (EDB_NOTFOUND);
	if (eventlog_put(l, &r, buf, RECORD_FRAME_HEAD + len) != 0)
		return (EDB_FAIL);
	l->seq = r.seq;
	memcpy(l->link, f.link, sizeof(l->link));
	return (EDB_OK);
}

void
eventlog_committed(struct eventlog *l)
{
	l->done_seq = l->seq;
	memcpy(l->done_link, l->link, sizeof(l->done_link));
	l->done_anchor = l->anchor;
	memcpy(l->done_anchor_link, l->anchor_link,
	    sizeof(l->done_anchor_link));
}

void
eventlog_aborted(struct eventlog *l)
{
	l->seq = l->done_seq;
	memcpy(l->link, l->done_link, sizeof(l->link));
	l->anchor = l->done_anchor;
	memcpy(l->anchor_link, l->done_anchor_link, sizeof(l->anchor_link));
}

struct read_ctx {
	struct eventlog	*log;
	eventlog_fn	 fn;
	void		*arg;
	uint64_t	 sbx;		/* 0: every event */
	uint64_t	 last;		/* committed */
	int		 bad;
};

static void
eventlog_bad(struct eventlog *l, uint64_t seq, const char *what)
{
	l->db->err = 0;
	snprintf(l->db->why, sizeof(l->db->why),
	    "events.db: damaged: event %llu: %s", (unsigned long long)seq,
	    what);
}

static int
eventlog_read_one(void *arg, const uint8_t *key, size_t nkey,
    const uint8_t *val, size_t nval)
{
	struct read_ctx		*c = arg;
	struct record_frame	 f;
	struct record		 r;
	uint64_t		 seq;

	if (nkey != 8 || record_frame(&f, val, nval) == -1) {
		eventlog_bad(c->log, nkey == 8 ? record_get64(key) : 0,
		    "no frame");
		c->bad = 1;
		return (1);
	}
	seq = record_get64(key);
	if (f.form == RECORD_SKELETON) {
		memset(&r, 0, sizeof(r));
		r.seq = seq;
		return (c->fn(c->arg, &r));
	}
	if (record_decode(&r, &f) == -1 || r.seq != seq) {
		eventlog_bad(c->log, seq, "no record");
		c->bad = 1;
		return (1);
	}
	return (c->fn(c->arg, &r));
}

/* Calls fn for each event from seq on, until it says stop. */
int
eventlog_read(struct eventlog *l, uint64_t seq, eventlog_fn fn, void *arg)
{
	struct read_ctx	 c;
	uint8_t		 key[8];

	memset(&c, 0, sizeof(c));
	c.log = l;
	c.fn = fn;
	c.arg = arg;
	record_put64(key, seq);
	if (eventdb_walk(l->db, EDB_EVENTS, key, sizeof(key),
	    eventlog_read_one, &c) != 0 || c.bad)
		return (-1);
	return (0);
}

/* The frame of an event that is in an index; what is wrong is told. */
static int
eventlog_frame(struct eventlog *l, const uint8_t *key, const uint8_t **frame,
    size_t *len)
{
	switch (eventdb_get(l->db, EDB_EVENTS, key, 8, frame, len)) {
	case EDB_OK:
		return (0);
	case EDB_NOTFOUND:
		eventlog_bad(l, record_get64(key), "missing");
	}
	return (-1);
}

static int
eventlog_read_index(void *arg, const uint8_t *key, size_t nkey,
    const uint8_t *val, size_t nval)
{
	struct read_ctx	*c = arg;
	const uint8_t	*frame;
	size_t		 len;

	if (nkey != 16 || nval != 8) {
		c->log->db->err = 0;
		snprintf(c->log->db->why, sizeof(c->log->db->why),
		    "index.db: damaged");
		c->bad = 1;
		return (1);
	}
	if (record_get64(key) != c->sbx)
		return (1);
	if (eventlog_frame(c->log, val, &frame, &len) == -1) {
		c->bad = 1;
		return (1);
	}
	return (eventlog_read_one(c, val, nval, frame, len));
}

/* The same for one sandbox; from counts in its own sequence. */
int
eventlog_read_sandbox(struct eventlog *l, uint64_t sbx, uint64_t from,
    eventlog_fn fn, void *arg)
{
	struct read_ctx	 c;
	uint8_t		 key[16];

	memset(&c, 0, sizeof(c));
	c.log = l;
	c.fn = fn;
	c.arg = arg;
	c.sbx = sbx;
	record_put64(key, sbx);
	record_put64(key + 8, from);
	if (eventdb_walk(l->db, EDB_INDEX, key, sizeof(key),
	    eventlog_read_index, &c) != 0 || c.bad)
		return (-1);
	return (0);
}

struct doomed {
	uint64_t	 sbx;
	uint64_t	*seq;
	uint64_t	*sseq;
	uint8_t		 link[RECORD_HASH_LEN];	/* of the last one */
	uint64_t	 next;
	uint64_t	 limit;
	int		 count;
	int		 max;
	int		 worth;		/* there is more than what goes along */
	enum eventlog_going (*fn)(const struct record *);
};

static int
doom_event(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct doomed	*d = arg;

	if (nkey != 16 || nval != 8 || record_get64(key) != d->sbx ||
	    d->count == d->max)
		return (1);
	d->sseq[d->count] = record_get64(key + 8);
	d->seq[d->count++] = record_get64(val);
	return (0);
}

static int
collect_one(struct eventlog *l, uint64_t sbx, uint64_t sseq, uint64_t seq)
{
	const uint8_t	*val;
	uint8_t		 frame[RECORD_FRAME_HEAD], key[16];
	size_t		 len;

	record_put64(key, seq);
	if (eventlog_frame(l, key, &val, &len) == -1)
		return (-1);
	if (len < sizeof(frame)) {
		eventlog_bad(l, seq, "no frame");
		return (-1);
	}
	memcpy(frame, val, sizeof(frame));
	frame[0] = RECORD_SKELETON;
	if (eventdb_put(l->db, EDB_EVENTS, key, 8, frame, sizeof(frame)) != 0)
		return (-1);
	record_put64(key, sbx);
	record_put64(key + 8, sseq);
	return (eventdb_del(l->db, EDB_INDEX, key, 16) == EDB_OK ? 0 : -1);
}

int
eventlog_collect(struct eventlog *l, uint64_t sbx, int max)
{
	struct doomed	 d;
	uint8_t		 key[16];
	int		 i, ret = -1;

	memset(&d, 0, sizeof(d));
	d.sbx = sbx;
	d.max = max;
	d.seq = calloc(max, sizeof(*d.seq));
	d.sseq = calloc(max, sizeof(*d.sseq));
	if (d.seq == NULL || d.sseq == NULL)
		goto done;
	record_put64(key, sbx);
	record_put64(key + 8, 0);
	if (eventdb_walk(l->db, EDB_INDEX, key, sizeof(key), doom_event,
	    &d) != 0)
		goto done;
	for (i = 0; i < d.count; i++)
		if (collect_one(l, sbx, d.sseq[i], d.seq[i]) == -1)
			goto done;
	ret = d.count;
 done:
	free(d.seq);
	free(d.sseq);
	return (ret);
}

static int
doom_skeleton(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct doomed		*d = arg;
	struct record_frame	 f;
	struct record		 r;
	enum eventlog_going	 going = GOING;

	if (nkey != 8 || record_get64(key) != d->next ||
	    d->next > d->limit || d->count == d->max ||
	    record_frame(&f, val, nval) == -1)
		return (1);
	if (f.form != RECORD_SKELETON && (d->fn == NULL ||
	    record_decode(&r, &f) == -1 || r.sbx != 0 ||
	    (going = d->fn(&r)) == GOING_NOT))
		return (1);
	d->worth |= going == GOING;
	memcpy(d->link, f.link, sizeof(d->link));
	d->next++;
	d->count++;
	return (0);
}

int
eventlog_anchor(struct eventlog *l, int max,
    enum eventlog_going (*fn)(const struct record *))
{
	struct doomed	 d;
	uint64_t	 seq;
	uint8_t		 key[8], val[8 + RECORD_HASH_LEN];

	memset(&d, 0, sizeof(d));
	d.next = l->anchor + 1;
	d.max = max;
	d.fn = fn;
	/* The event that the watermark names stays. */
	d.limit = l->db->mark_count > 0 ? l->db->mark_count - 1 : 0;
	record_put64(key, d.next);
	if (eventdb_walk(l->db, EDB_EVENTS, key, sizeof(key), doom_skeleton,
	    &d) != 0)
		return (-1);
	if (!d.worth)
		return (0);
	for (seq = l->anchor + 1; seq < d.next; seq++) {
		record_put64(key, seq);
		if (eventdb_del(l->db, EDB_EVENTS, key,
		    sizeof(key)) != EDB_OK)
			return (-1);
	}
	l->anchor = d.next - 1;
	memcpy(l->anchor_link, d.link, sizeof(l->anchor_link));
	record_put64(val, l->anchor);
	memcpy(val + 8, d.link, RECORD_HASH_LEN);
	if (eventdb_put(l->db, EDB_STATE, ANCHOR_KEY, 1, val,
	    sizeof(val)) != 0)
		return (-1);
	return (d.count);
}

uint64_t
eventlog_clock(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec);
}

struct verify_ctx {
	struct eventlog		*log;
	struct eventlog_verify	*v;
	int			 left;
	int			 bad;
};

void
eventlog_verify_start(struct eventlog *l, struct eventlog_verify *v)
{
	memset(v, 0, sizeof(*v));
	v->anchor = l->done_anchor;
	v->next = v->anchor + 1;
	memcpy(v->link, l->done_anchor_link, sizeof(v->link));
}

static int
eventlog_verify_bad(struct verify_ctx *c, uint64_t seq, const char *what)
{
	snprintf(c->v->why, sizeof(c->v->why), "event %llu: %s",
	    (unsigned long long)seq, what);
	c->bad = 1;
	return (1);
}

static int
eventlog_verify_one(void *arg, const uint8_t *key, size_t nkey,
    const uint8_t *val, size_t nval)
{
	struct verify_ctx	*c = arg;
	struct eventlog_verify	*v = c->v;
	struct record_frame	 f;
	struct record		 r;
	uint64_t		 seq;

	if (c->left-- == 0)
		return (1);
	if (v->until != 0 && c->left % 16 == 0 && eventlog_clock() > v->until) {
		c->left = -1;
		return (1);
	}
	seq = nkey == 8 ? record_get64(key) : 0;
	if (record_frame(&f, val, nval) == -1)
		return (eventlog_verify_bad(c, seq, "damaged frame"));
	if (seq != v->next)
		return (eventlog_verify_bad(c, v->next, "missing"));
	if (record_check(&f, v->link) == -1)
		return (eventlog_verify_bad(c, seq, "broken chain"));
	if (f.form == RECORD_EVENT) {
		if (record_decode(&r, &f) == -1 || r.seq != seq)
			return (eventlog_verify_bad(c, seq, "damaged record"));
		v->events++;
	} else {
		memset(&r, 0, sizeof(r));
		r.seq = seq;
		v->skeletons++;
	}
	memcpy(v->link, f.link, sizeof(v->link));
	v->next = seq + 1;
	if (v->fn != NULL && v->fn(v->arg, &r, v->link) == -1) {
		c->bad = 1;
		return (1);
	}
	return (0);
}

int
eventlog_verify_slice(struct eventlog *l, struct eventlog_verify *v, int count)
{
	struct verify_ctx	 c;
	uint8_t			 key[8];

	/* The anchor has overtaken it: from there on, as at the start. */
	if (v->next <= l->done_anchor) {
		v->anchor = l->done_anchor;
		v->next = v->anchor + 1;
		memcpy(v->link, l->done_anchor_link, sizeof(v->link));
	}
	c.log = l;
	c.v = v;
	c.left = count;
	c.bad = 0;
	record_put64(key, v->next);
	if (eventdb_walk(l->db, EDB_EVENTS, key, sizeof(key),
	    eventlog_verify_one, &c) != 0) {
		snprintf(v->why, sizeof(v->why), "%.200s", l->db->why);
		return (-1);
	}
	if (c.bad)
		return (-1);
	if (c.left < 0)
		return (1);
	/* New events came in while it ran: the chain must lead to them. */
	if (v->next != l->done_seq + 1) {
		snprintf(v->why, sizeof(v->why), "event %llu: missing",
		    (unsigned long long)v->next);
		return (-1);
	}
	if (memcmp(v->link, l->done_link, sizeof(v->link)) != 0) {
		snprintf(v->why, sizeof(v->why), "event %llu: broken chain",
		    (unsigned long long)l->done_seq);
		return (-1);
	}
	return (0);
}
