/* The state at start, out of its rows. */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "model.h"
#include "model_rows.h"
#include "store.h"

#define LOAD_BAD_MAX	4096	/* rows on bad pages, which take a while */

/*
 * A row that does not say what it should: what is known without it is found
 * once the walk is over.
 */
static void
load_bare(struct model *m, struct sandbox *sb, uint64_t n)
{
	msg_rest_clear(&sb->rest);
	/* What was read before the damage may hold its name. */
	if (sb->r.n != n)
		memset(&sb->r, 0, sizeof(sb->r));
	sb->r.n = n;
	sb->bare = sb->unnamed = 1;
	lost_mark(m, sb);
	RB_INSERT(sbx_by_n, &m->by_n, sb);
}

static int
load_sandbox(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct model	*m = arg;
	struct sandbox	*sb;

	if (key[0] != 'S')
		return (1);
	if (nkey != 9) {
		log_warnx("state.db: damaged: a sandbox's key of %zu bytes",
		    nkey);
		return (0);
	}
	sb = sandbox_new();
	if (row_sandbox(m, key, val, nval, &sb->r, &sb->rest) == -1) {
		if (m->alien) {
			sandbox_free(sb);
			return (1);
		}
		load_bare(m, sb, record_get64(key + 1));
		return (0);
	}
	m->newer += sb->rest.n != 0;
	RB_INSERT(sbx_by_n, &m->by_n, sb);
	RB_INSERT(sbx_by_id, &m->by_id, sb);
	if (sb->r.key[0] != '\0')
		RB_INSERT(sbx_by_key, &m->by_key, sb);
	if (sb->r.state != SBX_DELETED) {
		m->count++;
		quota_own(sb);
	}
	return (0);
}

/* One that a stop of ours has cut off. */
static int
load_update(struct model *m, struct sandbox *sb)
{
	struct sbx_update	*u;
	int			 ret;

	if ((u = calloc(1, sizeof(*u))) == NULL)
		fatal("%s", __func__);
	if ((ret = row_update(m, sb->r.n, u)) == 0)
		sb->update = u;
	else
		free(u);
	return (ret == -1 ? -1 : 0);
}

static int
load_conf(struct model *m, struct sandbox *sb)
{
	if ((sb->conf = calloc(1, sizeof(*sb->conf))) == NULL)
		fatal("%s", __func__);
	if (row_conf(m, sb->r.n, sb->conf, &sb->conf_rest) == 0) {
		m->newer += sb->conf_rest.n != 0;
		return (0);
	}
	free(sb->conf);
	sb->conf = NULL;
	return (-1);
}

/* What is beside the row. */
static int
load_rest(struct model *m, struct sandbox *sb)
{
	m->db->why[0] = '\0';
	if (model_get_counters(m, sb->r.n, &sb->sseq, &sb->last_k) != 0)
		goto bad;
	if (row_times(m, sb->r.n, &sb->t, &sb->times_rest) == -1)
		goto bad;
	/* Since then it was in another one, or a version without D had it. */
	if (sb->t.state != sb->r.state || sb->t.changed != sb->r.changed)
		sb->t.state = SBX_NONE;
	if (sb->r.state == SBX_DELETED)
		return (0);
	if (row_todo(m, sb->r.n, &sb->todo) == -1 ||
	    load_update(m, sb) == -1 || load_conf(m, sb) == -1)
		goto bad;
	return (0);
 bad:
	if (m->db->why[0] == '\0')
		snprintf(m->db->why, sizeof(m->db->why), "state.db: missing: "
		    "what belongs to sandbox %llu",
		    (unsigned long long)sb->r.n);
	return (-1);
}

static int
load_live(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct model	*m = arg;
	struct sandbox	*sb = NULL;
	struct exec	*ex;

	(void)val;
	(void)nval;
	if (key[0] != 'L')
		return (1);
	if (nkey != 17 ||
	    (sb = model_number(m, record_get64(key + 1))) == NULL) {
		log_warnx("state.db: damaged: exec %llu.%llu of no sandbox",
		    nkey < 9 ? 0ULL : (unsigned long long)record_get64(key +
		    1), nkey < 17 ? 0ULL :
		    (unsigned long long)record_get64(key + 9));
		return (0);
	}
	ex = model_exec_new(sb);
	ex->r.k = record_get64(key + 9);
	RB_INSERT(exec_tree, &sb->execs, ex);
	sb->nexecs++;
	m->nlive++;
	return (0);
}

/* Is its request there to be sent, unless it has been? */
static int
load_start(struct model *m, struct exec *ex)
{
	struct msg_start	 s;

	if (ex->r.state != EXEC_PENDING)
		return (0);
	switch (model_get_start(m, ex->r.n, ex->r.k, &s)) {
	case EDB_OK:
		msg_clear(&s, msg_def(MSG_START));
		return (0);
	case EDB_NOTFOUND:
		return (0);
	default:
		return (-1);
	}
}

/* 0, or -1 and what is known of it without its row. */
static int
load_exec(struct model *m, struct exec *ex)
{
	uint64_t	 n = ex->sb->r.n, k = ex->r.k;
	int		 ret;

	m->db->why[0] = '\0';
	ret = row_exec(m, n, k, &ex->r, &ex->rest);
	if (ret == 0 && ex->r.n == n && ex->r.k == k &&
	    load_start(m, ex) == 0) {
		m->newer += ex->rest.n != 0;
		return (0);
	}
	if (ret == 0) {
		exec_row_clear(&ex->r);
		msg_rest_clear(&ex->rest);
	}
	if (m->db->why[0] == '\0')
		snprintf(m->db->why, sizeof(m->db->why),
		    "state.db: damaged: exec %llu.%llu",
		    (unsigned long long)n, (unsigned long long)k);
	memset(&ex->r, 0, sizeof(ex->r));
	ex->r.n = n;
	ex->r.k = k;
	ex->r.state = EXEC_RUNNING;
	return (-1);
}

static int
load_one(struct model *m, struct sandbox *sb)
{
	struct exec	*ex;

	if (load_rest(m, sb) == -1)
		lost_mark(m, sb);
	RB_FOREACH(ex, exec_tree, &sb->execs)
		if (load_exec(m, ex) == -1)
			lost_mark(m, sb);
	if (!sb->lost)
		return (0);
	/* A newer program's is not for us to judge, nor a page that is bad. */
	if (m->alien || m->db->panic)
		return (-1);
	return (lost_restore(m, sb));
}

/*
 * Of a database that is damaged what can be read, one by one: of a sandbox
 * whose row lies on a bad page its events tell.
 */
static int
load_damaged(struct model *m)
{
	struct sandbox	*sb, *next;
	const uint8_t	*val;
	uint8_t		 key[16];
	uint64_t	 n;
	size_t		 len;
	u_int		 bad = 0;

	/* Of one that has events there may be a row. */
	if (m->last_n == 0 && eventdb_last(m->db, EDB_INDEX, key, sizeof(key),
	    &val, &len) == EDB_OK)
		m->last_n = record_get64(key);
	for (n = 1; n <= m->last_n && bad < LOAD_BAD_MAX; n++) {
		key[0] = 'S';
		record_put64(key + 1, n);
		switch (eventdb_get(m->db, EDB_STATE, key, 9, &val, &len)) {
		case EDB_OK:
			load_sandbox(m, key, 9, val, len);
			break;
		case EDB_FAIL:
			bad++;
			load_bare(m, sandbox_new(), n);
			break;
		}
	}
	RB_FOREACH_SAFE(sb, sbx_by_n, &m->by_n, next) {
		if (!sb->bare)
			(void)load_rest(m, sb);
		else if (lost_restore(m, sb) == -1 || sb->told == SBX_NONE) {
			/* Nothing is known of it, not even whether it is. */
			if (sb->unnamed)
				RB_REMOVE(sbx_by_n, &m->by_n, sb);
			else
				model_remove(m, sb);
			sandbox_free(sb);
		}
	}
	return (bad == 0 ? 0 : -1);
}

int
model_open(struct model *m, struct eventdb *db)
{
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
		snprintf(db->why, sizeof(db->why), "state.db: damaged: the "
		    "newest number of a sandbox");
		/* FALLTHROUGH */
	case EDB_FAIL:
		if (!db->readonly)
			return (-1);
	}
	if (db->readonly)
		return (load_damaged(m));
	if (eventdb_walk(db, EDB_STATE, "S", 1, load_sandbox, m) != 0 ||
	    m->alien ||
	    eventdb_walk(db, EDB_STATE, "L", 1, load_live, m) != 0)
		return (-1);
	RB_FOREACH(sb, sbx_by_n, &m->by_n)
		if (load_one(m, sb) == -1)
			return (-1);
	return (0);
}
