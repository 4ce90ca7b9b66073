/*
 * Proof of the whole log, in slices.
 *
 * Each event is looked at once, in the chain's order: that it is the one
 * which was written, that its sandbox's sequence has no gap, and that the
 * state it tells follows from the one before by the table of lifecycle.c.
 * What the events add up to is kept for each sandbox, with the execs that
 * have not ended; then the rows of the database are held against that.
 *
 * The daemon works while this runs.  So each slice first goes on to the newest
 * event, and only then, before anything else can happen, looks at rows: what
 * is in memory and what is in the database are of one moment.
 *
 * Histories may be collected meanwhile, and have been before: an event whose
 * sandbox is gone is a skeleton, and of a history that is being collected the
 * beginning is missing.
 */
#include <sys/types.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "logverify.h"
#include "store.h"

struct vexec {
	RB_ENTRY(vexec)	 entry;
	uint64_t	 k;
	enum exec_state	 state;
};
RB_HEAD(vexec_tree, vexec);

struct vbox {
	RB_ENTRY(vbox)		 entry;
	uint64_t		 n;
	uint64_t		 first;		/* host's sequence */
	uint64_t		 sseq;		/* newest */
	uint64_t		 last_k;
	uint32_t		 owner;
	enum sbx_state		 state;
	int			 cut;		/* its beginning is gone */
	struct vexec_tree	 live;
};

/* Where a type leaves no choice. */
static const struct {
	enum event_type	 type;
	enum sbx_state	 state;
} states[] = {
	{ EV_SBX_CREATE, SBX_PENDING },
	{ EV_SBX_READY, SBX_READY },
	{ EV_SBX_FAILED, SBX_FAILED },
	{ EV_SBX_STOP, SBX_STOPPING },
	{ EV_SBX_STOPPED, SBX_STOPPED },
	{ EV_SBX_PAUSE, SBX_PAUSING },
	{ EV_SBX_PAUSED, SBX_PAUSED },
	{ EV_SBX_UNPAUSE, SBX_RESUMING },
	{ EV_SBX_UNPAUSED, SBX_READY },
	{ EV_SBX_RESTART, SBX_RESUMING },
	{ EV_SBX_RESUME, SBX_RESUMING },
	{ EV_SBX_DELETED, SBX_DELETED },
};

static int
vbox_cmp(struct vbox *a, struct vbox *b)
{
	return (a->n < b->n ? -1 : a->n > b->n);
}

static int
vexec_cmp(struct vexec *a, struct vexec *b)
{
	return (a->k < b->k ? -1 : a->k > b->k);
}

RB_PROTOTYPE(vbox_tree, vbox, entry, vbox_cmp)
RB_GENERATE(vbox_tree, vbox, entry, vbox_cmp)
RB_PROTOTYPE(vexec_tree, vexec, entry, vexec_cmp)
RB_GENERATE(vexec_tree, vexec, entry, vexec_cmp)

static int	bad(struct logverify *, const char *, ...)
		    __attribute__((__format__(printf, 2, 3)));

static int
bad(struct logverify *q, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(q->why, sizeof(q->why), fmt, ap);
	va_end(ap);
	q->bad = 1;
	return (-1);
}

static int
bad_event(struct logverify *q, const struct record *r, const char *what)
{
	return (bad(q, "event %llu: event %llu of sandbox %llu: %s",
	    (unsigned long long)r->seq, (unsigned long long)r->sseq,
	    (unsigned long long)r->sbx, what));
}

static int
bad_row(struct logverify *q, uint64_t n, const char *what)
{
	return (bad(q, "state.db: sandbox %llu: %s", (unsigned long long)n,
	    what));
}

static int
bad_exec(struct logverify *q, uint64_t n, uint64_t k, const char *what)
{
	return (bad(q, "state.db: exec %llu.%llu: %s", (unsigned long long)n,
	    (unsigned long long)k, what));
}

/* The database itself says no. */
static int
bad_db(struct logverify *q)
{
	return (bad(q, "%.300s", q->log->db->why));
}

static struct vbox *
box_find(struct logverify *q, uint64_t n)
{
	static struct vbox	 find;

	find.n = n;
	return (RB_FIND(vbox_tree, &q->boxes, &find));
}

static struct vexec *
exec_find(struct vbox *vb, uint64_t k)
{
	static struct vexec	 find;

	find.k = k;
	return (RB_FIND(vexec_tree, &vb->live, &find));
}

static void
exec_free(struct vbox *vb, struct vexec *ve)
{
	RB_REMOVE(vexec_tree, &vb->live, ve);
	free(ve);
}

static void
box_free(struct logverify *q, struct vbox *vb)
{
	struct vexec	*ve;

	while ((ve = RB_MIN(vexec_tree, &vb->live)) != NULL)
		exec_free(vb, ve);
	RB_REMOVE(vbox_tree, &q->boxes, vb);
	free(vb);
}

/* Is there anything that leads from one to the other? */
static int
state_follows(enum sbx_state from, enum sbx_state to)
{
	int	 verb;

	if (from == to)
		return (1);
	for (verb = 0; verb < VERB_MAX; verb++)
		if (lifecycle_next(from, verb) == to)
			return (1);
	return (0);
}

static int
check_state(struct logverify *q, const struct record *r,
    const struct vbox *vb)
{
	char	 text[96];
	size_t	 i;

	if (r->state == SBX_NONE || r->state >= SBX_NSTATES)
		return (bad_event(q, r, "no such state"));
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (states[i].type == r->type && states[i].state != r->state) {
			snprintf(text, sizeof(text), "%s, and it is %s",
			    store_event_name(r->type),
			    lifecycle_name(r->state));
			return (bad_event(q, r, text));
		}
	if (vb != NULL && !state_follows(vb->state, r->state)) {
		snprintf(text, sizeof(text), "%s cannot follow %s",
		    lifecycle_name(r->state), lifecycle_name(vb->state));
		return (bad_event(q, r, text));
	}
	return (0);
}

/* What it ended as, by its event, is what its row says. */
static int
check_end(struct logverify *q, const struct record *r)
{
	struct exec_row	 row;
	struct kvv	 d;
	const char	*end;
	int		 ret = 0;

	if (store_detail(r, &d) == -1)
		return (bad_event(q, r, "damaged details"));
	memset(&row, 0, sizeof(row));
	switch (model_get_exec(&q->rows, r->sbx, r->exec, &row)) {
	case EDB_OK:
		break;
	case EDB_NOTFOUND:
		kvv_clear(&d);
		return (bad_exec(q, r->sbx, r->exec, "missing"));
	default:
		kvv_clear(&d);
		return (bad_db(q));
	}
	end = kvv_get(&d, "end");
	if (end == NULL || strcmp(end, lifecycle_exec_name(row.state)) != 0)
		ret = bad_exec(q, r->sbx, r->exec, "another end than its "
		    "event tells");
	exec_row_clear(&row);
	kvv_clear(&d);
	return (ret);
}

static int
take_exec(struct logverify *q, const struct record *r, struct vbox *vb)
{
	struct vexec	*ve = exec_find(vb, r->exec);

	switch (r->type) {
	case EV_EXEC_CREATE:
		if (ve != NULL || (vb->last_k + 1 != r->exec &&
		    (!vb->cut || r->exec <= vb->last_k)))
			return (bad_event(q, r, "an exec out of its order"));
		if ((ve = calloc(1, sizeof(*ve))) == NULL)
			fatal("%s", __func__);
		ve->k = vb->last_k = r->exec;
		ve->state = EXEC_PENDING;
		RB_INSERT(vexec_tree, &vb->live, ve);
		q->nexecs++;
		return (0);
	case EV_EXEC_STARTED:
		if (ve == NULL && vb->cut)
			return (0);
		if (ve == NULL || ve->state != EXEC_PENDING)
			return (bad_event(q, r, "a start of no exec"));
		ve->state = EXEC_RUNNING;
		return (0);
	case EV_EXEC_ENDED:
		if (ve == NULL && vb->cut)
			return (check_end(q, r));
		if (ve == NULL)
			return (bad_event(q, r, "an end of no exec"));
		exec_free(vb, ve);
		return (check_end(q, r));
	default:
		if (r->exec > vb->last_k && !vb->cut)
			return (bad_event(q, r, "about no exec"));
		return (0);
	}
}

static int
check_index(struct logverify *q, const struct record *r)
{
	const uint8_t	*val;
	uint8_t		 key[16];
	size_t		 len;

	record_put64(key, r->sbx);
	record_put64(key + 8, r->sseq);
	switch (eventdb_get(q->log->db, EDB_INDEX, key, sizeof(key), &val,
	    &len)) {
	case EDB_OK:
		if (len == 8 && record_get64(val) == r->seq)
			return (0);
		/* FALLTHROUGH */
	case EDB_NOTFOUND:
		return (bad_event(q, r, "index.db does not have it"));
	default:
		return (bad_db(q));
	}
}

static struct vbox *
take_first(struct logverify *q, const struct record *r)
{
	struct vbox	*vb;

	/* Collecting begins with the oldest, and leaves the newer for now. */
	if (r->sseq == 1 && r->type != EV_SBX_CREATE) {
		bad_event(q, r, "before it was made");
		return (NULL);
	}
	if ((vb = calloc(1, sizeof(*vb))) == NULL)
		fatal("%s", __func__);
	vb->n = r->sbx;
	vb->first = r->seq;
	vb->owner = r->owner;
	vb->cut = r->sseq != 1;
	RB_INIT(&vb->live);
	RB_INSERT(vbox_tree, &q->boxes, vb);
	if (r->sbx > q->last_n)
		q->last_n = r->sbx;
	q->nboxes++;
	return (vb);
}

/* An event that was collected since it was looked at: 1; -1 as ever. */
static int
collected(struct logverify *q, uint64_t seq)
{
	struct record_frame	 f;
	const uint8_t		*val;
	uint8_t			 key[8];
	size_t			 len;

	record_put64(key, seq);
	switch (eventdb_get(q->log->db, EDB_EVENTS, key, sizeof(key), &val,
	    &len)) {
	case EDB_OK:
		return (record_frame(&f, val, len) == 0 &&
		    f.form == RECORD_SKELETON);
	case EDB_NOTFOUND:
		return (seq <= q->log->done_anchor);
	default:
		return (bad_db(q));
	}
}

/* The next event of a sandbox. */
static int
take_box(struct logverify *q, const struct record *r)
{
	struct vbox	*vb = box_find(q, r->sbx);
	char		 text[64];

	/* What was between has been collected since: it is a part now. */
	if (vb != NULL && r->sseq > vb->sseq + 1 &&
	    collected(q, vb->first) == 1) {
		box_free(q, vb);
		vb = NULL;
	}
	if (vb != NULL && r->sseq != vb->sseq + 1) {
		snprintf(text, sizeof(text), "follows %llu",
		    (unsigned long long)vb->sseq);
		return (bad_event(q, r, text));
	}
	if (vb != NULL && vb->owner != r->owner)
		return (bad_event(q, r, "another owner"));
	if (vb != NULL && r->type == EV_SBX_CREATE)
		return (bad_event(q, r, "made twice"));
	if (check_state(q, r, vb) == -1 ||
	    (vb == NULL && (vb = take_first(q, r)) == NULL) ||
	    check_index(q, r) == -1)
		return (-1);
	vb->sseq = r->sseq;
	vb->state = r->state;
	return (r->exec == 0 ? 0 : take_exec(q, r, vb));
}

static int
take(void *arg, const struct record *r, const uint8_t *link)
{
	struct logverify	*q = arg;

	if (q->wanted && !q->seen &&
	    memcmp(link, q->head, RECORD_HASH_LEN) == 0) {
		q->seen = 1;
		q->found = r->seq;
	}
	/* A skeleton is a link of the chain, and nobody's any more. */
	if (r->type == EV_NONE)
		return (0);
	if (r->sbx != 0)
		return (take_box(q, r));
	if (r->sseq != 0 || r->exec != 0 || r->state != SBX_NONE)
		return (bad_event(q, r, "of the daemon, with a sandbox's "
		    "numbers"));
	return (0);
}

/* All but the execs that have ended, of one that is not being collected. */
static int
compare_live(struct logverify *q, struct vbox *vb)
{
	struct exec_row	 row;
	struct vexec	*ve;
	int		 ret;

	RB_FOREACH(ve, vexec_tree, &vb->live) {
		memset(&row, 0, sizeof(row));
		ret = model_get_exec(&q->rows, vb->n, ve->k, &row);
		if (ret == EDB_FAIL)
			return (bad_db(q));
		if (ret == EDB_OK && row.state == ve->state)
			ret = model_get_live(&q->rows, vb->n, ve->k);
		else if (ret == EDB_OK) {
			exec_row_clear(&row);
			return (bad_exec(q, vb->n, ve->k, "another state than "
			    "its events tell"));
		}
		exec_row_clear(&row);
		if (ret == EDB_FAIL)
			return (bad_db(q));
		if (ret == EDB_NOTFOUND)
			return (bad_exec(q, vb->n, ve->k, "missing"));
	}
	return (0);
}

static int
compare_row(struct logverify *q, struct vbox *vb, const struct sbx_row *row)
{
	struct proto_create	 c;
	uint64_t		 sseq = 0, k = 0;
	char			 text[96];

	if (row->n != vb->n || row->owner != vb->owner)
		return (bad_row(q, vb->n, "another owner than its events "
		    "tell"));
	if (row->state != vb->state) {
		snprintf(text, sizeof(text), "it is %s, and %s by its events",
		    lifecycle_name(row->state), lifecycle_name(vb->state));
		return (bad_row(q, vb->n, text));
	}
	switch (model_get_counters(&q->rows, vb->n, &sseq, &k)) {
	case EDB_OK:
		break;
	case EDB_NOTFOUND:
		return (bad_row(q, vb->n, "its counters are missing"));
	default:
		return (bad_db(q));
	}
	if (sseq != vb->sseq || (k != vb->last_k && !vb->cut)) {
		snprintf(text, sizeof(text), "%llu events, %llu execs, and %llu "
		    "and %llu by its events", (unsigned long long)sseq,
		    (unsigned long long)k, (unsigned long long)vb->sseq,
		    (unsigned long long)vb->last_k);
		return (bad_row(q, vb->n, text));
	}
	switch (model_get_conf(&q->rows, vb->n, &c)) {
	case EDB_OK:
		msg_clear(&c, proto_def(PROTO_CREATE));
		break;
	case EDB_NOTFOUND:
		return (bad_row(q, vb->n, "its configuration is missing"));
	default:
		return (bad_db(q));
	}
	return (compare_live(q, vb));
}

struct count {
	struct logverify	*q;
	struct vbox		*vb;
	uint64_t		 until;
	int			 late;
};

static int
count_exec(void *arg, const struct exec_row *r)
{
	struct count	*c = arg;
	struct vexec	*ve;

	/* What is behind the last is a row of nothing: it is found later. */
	if (r->k > c->vb->last_k)
		return (1);
	if (r->k != c->q->exec + 1) {
		bad_exec(c->q, c->vb->n, c->q->exec + 1, "missing");
		return (1);
	}
	c->q->exec = r->k;
	ve = exec_find(c->vb, r->k);
	if (lifecycle_exec_ended(r->state) ? ve != NULL : ve == NULL) {
		bad_exec(c->q, c->vb->n, r->k, "another state than its events "
		    "tell");
		return (1);
	}
	if (r->k % 16 == 0 && eventlog_clock() > c->until)
		c->late = 1;
	return (c->late);
}

/* One sandbox; 1: its execs are too many for this slice. */
static int
compare(struct logverify *q, struct vbox *vb, uint64_t until)
{
	struct count	 c = { q, vb, until, 0 };
	struct sbx_row	 row;
	int		 ret;

	switch (model_get_row(&q->rows, vb->n, &row)) {
	case EDB_OK:
		break;
	case EDB_NOTFOUND:
		if ((ret = collected(q, vb->first)) == -1)
			return (-1);
		return (ret ? 0 : bad_row(q, vb->n, "missing"));
	default:
		return (bad_db(q));
	}
	/* Its history is about to go: nothing can be said of a part. */
	if (row.state == SBX_DELETED && !vb->cut) {
		if ((ret = collected(q, vb->first)) != 0)
			return (ret == -1 ? -1 : 0);
	} else if (row.state == SBX_DELETED)
		return (0);
	if (q->exec == 0 && compare_row(q, vb, &row) == -1)
		return (-1);
	if (vb->cut)
		return (bad_row(q, vb->n, "the beginning of its history is "
		    "missing"));
	if (model_walk_execs(&q->rows, vb->n, q->exec + 1, count_exec,
	    &c) == -1)
		return (bad_db(q));
	if (q->bad)
		return (-1);
	if (c.late)
		return (1);
	return (q->exec == vb->last_k ? 0 : bad_exec(q, vb->n, q->exec + 1,
	    "missing"));
}

/* 1: there are more; 0: that was the last. */
static int
compare_some(struct logverify *q, uint64_t until)
{
	static struct vbox	 find;
	struct vbox		*vb;
	int		 ret;

	find.n = q->at;
	while ((vb = RB_NFIND(vbox_tree, &q->boxes, &find)) != NULL) {
		if (vb->n != q->at)
			q->exec = 0;
		q->at = find.n = vb->n;
		if ((ret = compare(q, vb, until)) != 0)
			return (ret);
		q->at = ++find.n;
		q->exec = 0;
		if (eventlog_clock() > until)
			return (1);
	}
	return (0);
}

static int
row_exec(struct logverify *q, char letter, uint64_t n, uint64_t k)
{
	struct vbox	*vb = box_find(q, n);
	struct vexec	*ve;
	struct sbx_row	 row;

	if (vb == NULL) {
		/* The events go first, then these, then the sandbox. */
		if (letter == 'E' && model_get_row(&q->rows, n, &row) ==
		    EDB_OK && row.state == SBX_DELETED)
			return (0);
		return (bad_exec(q, n, k, "of no sandbox"));
	}
	if (vb->cut)
		return (0);
	ve = exec_find(vb, k);
	if (k == 0 || k > vb->last_k)
		return (bad_exec(q, n, k, "there is no such event"));
	if ((letter == 'L' && ve == NULL) ||
	    (letter == 'P' && (ve == NULL || ve->state != EXEC_PENDING)))
		return (bad_exec(q, n, k, "it has ended, or was started"));
	return (0);
}

static int
row_box(struct logverify *q, char letter, uint64_t n)
{
	struct sbx_row	 row;

	if (box_find(q, n) != NULL)
		return (0);
	switch (model_get_row(&q->rows, n, &row)) {
	case EDB_OK:
		if (row.state == SBX_DELETED)
			return (0);
		return (bad_row(q, n, "it has no events"));
	case EDB_NOTFOUND:
		return (bad(q, "state.db: row %c of sandbox %llu: of no "
		    "sandbox", letter, (unsigned long long)n));
	default:
		return (bad_db(q));
	}
}

/* Rows are noted here and looked at afterwards: looking reads others. */
#define WALK_ROWS	64

struct walked {
	struct {
		uint8_t	 key[64];
		size_t	 nkey;
		uint64_t last;		/* of M */
	}		 row[WALK_ROWS];
	u_int		 n;
	int		 bad;
};

static int
walk_row(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct walked	*w = arg;

	if (w->n == WALK_ROWS)
		return (1);
	if (nkey > sizeof(w->row[0].key)) {
		w->bad = 1;
		return (1);
	}
	memcpy(w->row[w->n].key, key, nkey);
	w->row[w->n].nkey = nkey;
	w->row[w->n].last = nval == 8 ? record_get64(val) : 0;
	w->n++;
	return (0);
}

static int
row_check(struct logverify *q, const uint8_t *key, size_t nkey, uint64_t last)
{
	switch (nkey == 0 ? '\0' : key[0]) {
	case 'S':
	case 'Q':
	case 'C':
	case 'F':
	case 'T':
	case 'D':
		if (nkey != 9)
			break;
		return (row_box(q, key[0], record_get64(key + 1)));
	case 'E':
	case 'L':
	case 'P':
		if (nkey != 17)
			break;
		return (row_exec(q, key[0], record_get64(key + 1),
		    record_get64(key + 9)));
	case 'M':
		if (last < q->last_n)
			return (bad(q, "state.db: newest sandbox %llu, and "
			    "%llu by the events", (unsigned long long)last,
			    (unsigned long long)q->last_n));
		return (0);
	default:
		/* Of a newer version, perhaps. */
		return (0);
	}
	return (bad(q, "state.db: a key of %zu bytes", nkey));
}

static int
rows_some(struct logverify *q, uint64_t until)
{
	struct walked	 w;
	u_int		 i;

	do {
		w.n = 0;
		w.bad = 0;
		if (eventdb_walk(q->log->db, EDB_STATE, q->key, q->nkey,
		    walk_row, &w) != 0)
			return (bad_db(q));
		if (w.bad)
			return (bad(q, "state.db: a key that is too long"));
		for (i = 0; i < w.n; i++)
			if (row_check(q, w.row[i].key, w.row[i].nkey,
			    w.row[i].last) == -1)
				return (-1);
		if (w.n < WALK_ROWS)
			return (0);
		/* On behind the last one. */
		q->nkey = w.row[w.n - 1].nkey;
		memcpy(q->key, w.row[w.n - 1].key, q->nkey);
		if (q->nkey < sizeof(q->key))
			q->key[q->nkey++] = 0;
	} while (eventlog_clock() < until);
	return (1);
}

void
logverify_start(struct logverify *q, struct eventlog *l, const uint8_t *head)
{
	memset(q, 0, sizeof(*q));
	q->log = l;
	q->rows.db = l->db;
	RB_INIT(&q->boxes);
	eventlog_verify_start(l, &q->v);
	q->v.fn = take;
	q->v.arg = q;
	if (head == NULL)
		return;
	q->wanted = 1;
	memcpy(q->head, head, sizeof(q->head));
	/* It may be that of the newest event which was collected. */
	if (memcmp(q->v.link, q->head, sizeof(q->head)) == 0) {
		q->seen = 1;
		q->found = q->v.anchor;
	}
}

static int
logverify_next(struct logverify *q, uint64_t until)
{
	switch (q->phase) {
	case LV_EVENTS:
		q->phase = LV_BOXES;
		return (1);
	case LV_BOXES:
		switch (compare_some(q, until)) {
		case 1:
			return (1);
		case -1:
			return (-1);
		}
		q->phase = LV_ROWS;
		return (1);
	case LV_ROWS:
		switch (rows_some(q, until)) {
		case 1:
			return (1);
		case -1:
			return (-1);
		}
		q->phase = LV_DONE;
		break;
	case LV_DONE:
		break;
	}
	if (q->wanted && !q->seen) {
		q->absent = 1;
		return (bad(q, "no event of this log has that head: it begins "
		    "behind event %llu", (unsigned long long)q->v.anchor));
	}
	return (0);
}

int
logverify_slice(struct logverify *q)
{
	uint64_t	 until;
	int		 ret;

	until = eventlog_clock() + LOGVERIFY_MS * 1000000ULL;
	q->log->db->why[0] = '\0';
	q->v.until = until;
	ret = eventlog_verify_slice(q->log, &q->v, 1 << 20);
	if (ret == -1 && !q->bad)
		return (bad(q, "%.300s", q->v.why));
	if (ret != 0)
		return (ret);
	return (logverify_next(q, until));
}

void
logverify_end(struct logverify *q)
{
	struct vbox	*vb;

	while ((vb = RB_MIN(vbox_tree, &q->boxes)) != NULL)
		box_free(q, vb);
}

int
logverify_head(uint8_t *head, const char *text)
{
	static const char	 digits[] = "0123456789abcdef";
	const char		*hi, *lo;
	size_t			 i;

	if (strlen(text) != 2 * RECORD_HASH_LEN)
		return (-1);
	for (i = 0; i < RECORD_HASH_LEN; i++) {
		if ((hi = strchr(digits, text[2 * i])) == NULL ||
		    (lo = strchr(digits, text[2 * i + 1])) == NULL)
			return (-1);
		head[i] = (hi - digits) << 4 | (lo - digits);
	}
	return (0);
}
