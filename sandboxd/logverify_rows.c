/*
 * Proof of the log, its second half: the rows of the database against what the
 * events add up to, and whether there are others.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logverify_box.h"
#include "store.h"

static int
bad_row(struct logverify *q, uint64_t n, const char *what)
{
	return (lv_bad(q, "state.db: sandbox %llu: %s", (unsigned long long)n,
	    what));
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
			return (lv_bad_db(q));
		if (ret == EDB_OK && row.state == ve->state)
			ret = model_get_live(&q->rows, vb->n, ve->k);
		else if (ret == EDB_OK) {
			exec_row_clear(&row);
			return (lv_bad_exec(q, vb->n, ve->k, "another state "
			    "than its events tell"));
		}
		exec_row_clear(&row);
		if (ret == EDB_FAIL)
			return (lv_bad_db(q));
		if (ret == EDB_NOTFOUND)
			return (lv_bad_exec(q, vb->n, ve->k, "missing"));
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
		return (lv_bad_db(q));
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
		return (lv_bad_db(q));
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
		lv_bad_exec(c->q, c->vb->n, c->q->exec + 1, "missing");
		return (1);
	}
	c->q->exec = r->k;
	ve = lv_exec(c->vb, r->k);
	if (lifecycle_exec_ended(r->state) ? ve != NULL : ve == NULL) {
		lv_bad_exec(c->q, c->vb->n, r->k, "another state than its "
		    "events tell");
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
		if ((ret = lv_collected(q, vb->first)) == -1)
			return (-1);
		return (ret ? 0 : bad_row(q, vb->n, "missing"));
	default:
		return (lv_bad_db(q));
	}
	/* Its history is about to go: nothing can be said of a part. */
	if (row.state == SBX_DELETED && !vb->cut) {
		if ((ret = lv_collected(q, vb->first)) != 0)
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
		return (lv_bad_db(q));
	if (q->bad)
		return (-1);
	if (c.late)
		return (1);
	return (q->exec == vb->last_k ? 0 : lv_bad_exec(q, vb->n, q->exec + 1,
	    "missing"));
}

int
lv_boxes(struct logverify *q, uint64_t until)
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
	struct vbox	*vb = lv_box(q, n);
	struct vexec	*ve;
	struct sbx_row	 row;

	if (vb == NULL) {
		/* The events go first, then these, then the sandbox. */
		if (letter == 'E' && model_get_row(&q->rows, n, &row) ==
		    EDB_OK && row.state == SBX_DELETED)
			return (0);
		return (lv_bad_exec(q, n, k, "of no sandbox"));
	}
	if (vb->cut)
		return (0);
	ve = lv_exec(vb, k);
	if (k == 0 || k > vb->last_k)
		return (lv_bad_exec(q, n, k, "there is no such event"));
	if ((letter == 'L' && ve == NULL) ||
	    (letter == 'P' && (ve == NULL || ve->state != EXEC_PENDING)))
		return (lv_bad_exec(q, n, k, "it has ended, or was started"));
	return (0);
}

static int
row_box(struct logverify *q, char letter, uint64_t n)
{
	struct sbx_row	 row;

	if (lv_box(q, n) != NULL)
		return (0);
	switch (model_get_row(&q->rows, n, &row)) {
	case EDB_OK:
		if (row.state == SBX_DELETED)
			return (0);
		return (bad_row(q, n, "it has no events"));
	case EDB_NOTFOUND:
		return (lv_bad(q, "state.db: row %c of sandbox %llu: of no "
		    "sandbox", letter, (unsigned long long)n));
	default:
		return (lv_bad_db(q));
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
			return (lv_bad(q, "state.db: newest sandbox %llu, and "
			    "%llu by the events", (unsigned long long)last,
			    (unsigned long long)q->last_n));
		return (0);
	default:
		/* Of a newer version, perhaps. */
		return (0);
	}
	return (lv_bad(q, "state.db: a key of %zu bytes", nkey));
}

int
lv_rows(struct logverify *q, uint64_t until)
{
	struct walked	 w;
	u_int		 i;

	do {
		w.n = 0;
		w.bad = 0;
		if (eventdb_walk(q->log->db, EDB_STATE, q->key, q->nkey,
		    walk_row, &w) != 0)
			return (lv_bad_db(q));
		if (w.bad)
			return (lv_bad(q, "state.db: a key that is too long"));
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
