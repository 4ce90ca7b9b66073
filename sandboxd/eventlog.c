/*
 * The event log.
 *
 * The host's sequence and the chain live here; the sandbox's own sequence is
 * the caller's, who keeps it with the sandbox's state in the same
 * transaction.  A transaction that fails gives its numbers back.
 */
#include <string.h>
#include <stdio.h>

#include "eventlog.h"

int
eventlog_open(struct eventlog *l, struct eventdb *db)
{
	struct record_frame	 f;
	const uint8_t		*val;
	uint8_t			 key[8];
	size_t			 len;

	memset(l, 0, sizeof(*l));
	l->db = db;
	switch (eventdb_last(db, EDB_EVENTS, key, sizeof(key), &val, &len)) {
	case EDB_OK:
		break;
	case EDB_NOTFOUND:
		return (0);
	default:
		return (-1);
	}
	l->seq = record_get64(key);
	if (record_frame(&f, val, len) == -1) {
		snprintf(db->why, sizeof(db->why),
		    "events.db: damaged: event %llu",
		    (unsigned long long)l->seq);
		return (-1);
	}
	memcpy(l->link, f.link, sizeof(l->link));
	eventlog_committed(l);
	/* The process may have died before it wrote the last watermark. */
	if (db->mark_count != l->seq)
		return (eventdb_mark(db, l->seq, l->link));
	return (0);
}

/* Gives the record its sequence and writes it. */
int
eventlog_append(struct eventlog *l, struct record *r)
{
	uint8_t	 buf[RECORD_FRAME_MAX], key[16], seq[8];
	uint8_t	 link[RECORD_HASH_LEN];
	int	 n;

	r->seq = l->seq + 1;
	if ((n = record_encode(buf, sizeof(buf), r, l->link, link)) == -1) {
		snprintf(l->db->why, sizeof(l->db->why),
		    "event %u: details of %u bytes", r->type, r->ndetails);
		l->db->err = 0;
		return (-1);
	}
	record_put64(seq, r->seq);
	if (eventdb_put(l->db, EDB_EVENTS, seq, sizeof(seq), buf, n) != 0)
		return (-1);
	if (r->sbx != 0) {
		record_put64(key, r->sbx);
		record_put64(key + 8, r->sseq);
		if (eventdb_put(l->db, EDB_INDEX, key, sizeof(key), seq,
		    sizeof(seq)) != 0)
			return (-1);
	}
	l->seq = r->seq;
	memcpy(l->link, link, sizeof(l->link));
	return (0);
}

void
eventlog_committed(struct eventlog *l)
{
	l->done_seq = l->seq;
	memcpy(l->done_link, l->link, sizeof(l->done_link));
}

void
eventlog_aborted(struct eventlog *l)
{
	l->seq = l->done_seq;
	memcpy(l->link, l->done_link, sizeof(l->link));
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
	if (f.form == RECORD_SKELETON)
		return (0);
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
	if (eventdb_get(c->log->db, EDB_EVENTS, val, nval, &frame,
	    &len) != EDB_OK) {
		eventlog_bad(c->log, record_get64(val), "missing");
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

struct verify_ctx {
	struct eventlog		*log;
	struct eventlog_verify	*v;
	int			 left;
	int			 bad;
};

void
eventlog_verify_start(struct eventlog_verify *v)
{
	memset(v, 0, sizeof(*v));
	v->next = 1;
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
	} else
		v->skeletons++;
	memcpy(v->link, f.link, sizeof(v->link));
	v->next = seq + 1;
	return (0);
}

int
eventlog_verify_slice(struct eventlog *l, struct eventlog_verify *v, int count)
{
	struct verify_ctx	 c;
	uint8_t			 key[8];

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
