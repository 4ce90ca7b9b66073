/* The state at start, out of its rows. */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "model.h"
#include "model_rows.h"
#include "store.h"

struct load {
	struct model	*m;
	int		 bad;
};

static int
load_sandbox(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct load	*w = arg;
	struct sandbox	*sb;

	if (nkey != 9 || key[0] != 'S')
		return (1);
	sb = sandbox_new();
	if (row_sandbox(w->m, key, val, nval, &sb->r, &sb->rest) == -1) {
		w->bad = 1;
		sandbox_free(sb);
		return (1);
	}
	w->m->newer += sb->rest.n != 0;
	RB_INSERT(sbx_by_n, &w->m->by_n, sb);
	RB_INSERT(sbx_by_id, &w->m->by_id, sb);
	if (sb->r.key[0] != '\0')
		RB_INSERT(sbx_by_key, &w->m->by_key, sb);
	if (sb->r.state != SBX_DELETED) {
		w->m->count++;
		quota_own(sb);
	}
	return (0);
}

/* What is beside the row. */
static int
load_rest(struct model *m, struct sandbox *sb)
{
	if (model_get_counters(m, sb->r.n, &sb->sseq, &sb->last_k) != 0)
		goto bad;
	if (row_times(m, sb->r.n, &sb->t, &sb->times_rest) == -1)
		return (-1);
	/* Since then it was in another one, or a version without D had it. */
	if (sb->t.state != sb->r.state || sb->t.changed != sb->r.changed)
		sb->t.state = SBX_NONE;
	if (sb->r.state == SBX_DELETED)
		return (0);
	if (row_todo(m, sb->r.n, &sb->todo) == -1)
		goto bad;
	if ((sb->conf = calloc(1, sizeof(*sb->conf))) == NULL)
		fatal("%s", __func__);
	if (row_conf(m, sb->r.n, sb->conf, &sb->conf_rest) == 0) {
		m->newer += sb->conf_rest.n != 0;
		return (0);
	}
	free(sb->conf);
	sb->conf = NULL;
 bad:
	snprintf(m->db->why, sizeof(m->db->why), "state.db: damaged: "
	    "what belongs to sandbox %llu", (unsigned long long)sb->r.n);
	return (-1);
}

static int
load_live(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct load	*w = arg;
	struct sandbox	*sb;
	struct exec	*ex;

	(void)val;
	(void)nval;
	if (nkey != 17 || key[0] != 'L')
		return (1);
	if ((sb = model_number(w->m, record_get64(key + 1))) == NULL) {
		snprintf(w->m->db->why, sizeof(w->m->db->why),
		    "state.db: damaged: exec of no sandbox");
		w->bad = 1;
		return (1);
	}
	ex = model_exec_new(sb);
	ex->r.k = record_get64(key + 9);
	RB_INSERT(exec_tree, &sb->execs, ex);
	sb->nexecs++;
	w->m->nlive++;
	return (0);
}

static int
load_execs(struct model *m, struct sandbox *sb)
{
	struct exec	*ex;
	uint64_t	 k;
	int		 ret;

	RB_FOREACH(ex, exec_tree, &sb->execs) {
		k = ex->r.k;
		if ((ret = row_exec(m, sb->r.n, k, &ex->r, &ex->rest)) == -1)
			return (-1);
		if (ret != 0 || ex->r.n != sb->r.n || ex->r.k != k) {
			snprintf(m->db->why, sizeof(m->db->why),
			    "state.db: damaged: exec %llu.%llu",
			    (unsigned long long)sb->r.n,
			    (unsigned long long)k);
			return (-1);
		}
		m->newer += ex->rest.n != 0;
	}
	return (0);
}

int
model_open(struct model *m, struct eventdb *db)
{
	struct load	 w = { m, 0 };
	struct sandbox	*sb;
	const uint8_t	*val;
	size_t		 len;

	memset(m, 0, sizeof(*m));
	m->db = db;
	RB_INIT(&m->by_n);
	RB_INIT(&m->by_id);
	RB_INIT(&m->by_key);
	switch (eventdb_get(db, EDB_STATE, "M", 1, &val, &len)) {
	case EDB_OK:
		if (len == 8) {
			m->last_n = record_get64(val);
			break;
		}
		/* FALLTHROUGH */
	case EDB_FAIL:
		return (-1);
	}
	if (eventdb_walk(db, EDB_STATE, "S", 1, load_sandbox, &w) != 0 ||
	    w.bad)
		return (-1);
	if (eventdb_walk(db, EDB_STATE, "L", 1, load_live, &w) != 0 || w.bad)
		return (-1);
	RB_FOREACH(sb, sbx_by_n, &m->by_n)
		if (load_rest(m, sb) == -1 || load_execs(m, sb) == -1)
			return (-1);
	return (0);
}
