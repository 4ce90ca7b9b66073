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
#include "logverify_box.h"
#include "store.h"

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

int
vbox_cmp(struct vbox *a, struct vbox *b)
{
	return (a->n < b->n ? -1 : a->n > b->n);
}

int
vexec_cmp(struct vexec *a, struct vexec *b)
{
	return (a->k < b->k ? -1 : a->k > b->k);
}

RB_GENERATE(vbox_tree, vbox, entry, vbox_cmp)
RB_GENERATE(vexec_tree, vexec, entry, vexec_cmp)

int
lv_bad(struct logverify *q, const char *fmt, ...)
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
	return (lv_bad(q, "event %llu: event %llu of sandbox %llu: %s",
	    (unsigned long long)r->seq, (unsigned long long)r->sseq,
	    (unsigned long long)r->sbx, what));
}

int
lv_bad_exec(struct logverify *q, uint64_t n, uint64_t k, const char *what)
{
	return (lv_bad(q, "state.db: exec %llu.%llu: %s", (unsigned long long)n,
	    (unsigned long long)k, what));
}

/* The database itself says no. */
int
lv_bad_db(struct logverify *q)
{
	return (lv_bad(q, "%.300s", q->log->db->why));
}

struct vbox *
lv_box(struct logverify *q, uint64_t n)
{
	static struct vbox	 find;

	find.n = n;
	return (RB_FIND(vbox_tree, &q->boxes, &find));
}

struct vexec *
lv_exec(struct vbox *vb, uint64_t k)
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
		return (lv_bad_exec(q, r->sbx, r->exec, "missing"));
	default:
		kvv_clear(&d);
		return (lv_bad_db(q));
	}
	end = kvv_get(&d, "end");
	if (end == NULL || strcmp(end, lifecycle_exec_name(row.state)) != 0)
		ret = lv_bad_exec(q, r->sbx, r->exec, "another end than its "
		    "event tells");
	exec_row_clear(&row);
	kvv_clear(&d);
	return (ret);
}

static int
take_exec(struct logverify *q, const struct record *r, struct vbox *vb)
{
	struct vexec	*ve = lv_exec(vb, r->exec);

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
		return (lv_bad_db(q));
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
int
lv_collected(struct logverify *q, uint64_t seq)
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
		return (lv_bad_db(q));
	}
}

/* The next event of a sandbox. */
static int
take_box(struct logverify *q, const struct record *r)
{
	struct vbox	*vb = lv_box(q, r->sbx);
	char		 text[64];

	/* What was between has been collected since: it is a part now. */
	if (vb != NULL && r->sseq > vb->sseq + 1 &&
	    lv_collected(q, vb->first) == 1) {
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
		switch (lv_boxes(q, until)) {
		case 1:
			return (1);
		case -1:
			return (-1);
		}
		q->phase = LV_ROWS;
		return (1);
	case LV_ROWS:
		switch (lv_rows(q, until)) {
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
		return (lv_bad(q, "no event of this log has that head: it "
		    "begins behind event %llu", (unsigned long long)q->v.anchor));
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
		return (lv_bad(q, "%.300s", q->v.why));
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
