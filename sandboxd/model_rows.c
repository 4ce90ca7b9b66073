/*
 * The rows of the database in which the state is kept beside the events.
 *
 * Keys in the state table are a letter and big-endian numbers:
 *
 *	S n	the sandbox			C n	its configuration
 *	Q n	its newest event and exec	F n	what its container showed
 *	T n	how its operation began
 *	D n	its times			K	the log's clock
 *	A e	what that was when event e was written
 *	U n	limits that it is to have
 *	E n k	an exec, live or ended		L n k	it has not ended
 *	P n k	its request, until the guest has it
 *	M	the newest number of a sandbox
 *
 * Live execs are in memory; ended ones are read when somebody asks.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "model.h"
#include "model_rows.h"
#include "store.h"

/* Fields of the first version; what is behind them may be missing. */
#define SBX_FIRST	22
#define EXEC_FIRST	19
#define TODO_FIRST	2
#define FACTS_FIRST	14
#define CREATE_FIRST	12
#define START_FIRST	10
#define TIMES_FIRST	7
#define CLOCK_FIRST	3
#define UPDATE_FIRST	10

static const struct msg_field f_sbx_row[] = {
	MSG_F(sbx_row, n, M_UINT, 0, 0),
	MSG_F(sbx_row, owner, M_UINT, 0, 0),
	MSG_F(sbx_row, id, M_STR, 0, 0),
	MSG_F(sbx_row, key, M_STR, 0, 0),
	MSG_F(sbx_row, digest, M_STR, 0, 0),
	MSG_F(sbx_row, state, M_UINT, 0, 0),
	MSG_F(sbx_row, cause, M_STR, 0, 0),
	MSG_F(sbx_row, op, M_UINT, 0, 0),
	MSG_F(sbx_row, nonce, M_STR, 0, 0),
	MSG_F(sbx_row, uid, M_UINT, 0, 0),
	MSG_F(sbx_row, gid, M_UINT, 0, 0),
	MSG_F(sbx_row, container, M_STR, 0, 0),
	MSG_F(sbx_row, image_id, M_STR, 0, 0),
	MSG_F(sbx_row, pid, M_UINT, 0, 0),
	MSG_F(sbx_row, boot, M_UINT, 0, 0),
	MSG_F(sbx_row, guest, M_UINT, 0, 0),
	MSG_F(sbx_row, memory_seen, M_UINT, 0, 0),
	MSG_F(sbx_row, mcpus_seen, M_UINT, 0, 0),
	MSG_F(sbx_row, pids_seen, M_UINT, 0, 0),
	MSG_F(sbx_row, created, M_UINT, 0, 0),
	MSG_F(sbx_row, changed, M_UINT, 0, 0),
	MSG_F(sbx_row, dirty, M_UINT, 0, 0),
	MSG_F(sbx_row, missing, M_UINT, 0, 0),
	MSG_F(sbx_row, renamed, M_UINT, 0, 0),
};

static const struct msg_field f_exec_row[] = {
	MSG_F(exec_row, n, M_UINT, 0, 0),
	MSG_F(exec_row, k, M_UINT, 0, 0),
	MSG_F(exec_row, state, M_UINT, 0, 0),
	MSG_F(exec_row, flags, M_UINT, 0, 0),
	MSG_F(exec_row, grace, M_UINT, 0, 0),
	MSG_F(exec_row, code, M_INT, 0, 0),
	MSG_F(exec_row, errnum, M_INT, 0, 0),
	MSG_F(exec_row, cause, M_STR, 0, 0),
	MSG_F(exec_row, argv, M_STRV, EXEC_ENTRIES_MAX, 0),
	MSG_F(exec_row, pid, M_UINT, 0, 0),
	MSG_F(exec_row, boot, M_UINT, 0, 0),
	MSG_F(exec_row, created, M_UINT, 0, 0),
	MSG_F(exec_row, started, M_UINT, 0, 0),
	MSG_F(exec_row, ended, M_UINT, 0, 0),
	MSG_F(exec_row, length1, M_UINT, 0, 0),
	MSG_F(exec_row, length2, M_UINT, 0, 0),
	MSG_F(exec_row, dropped1, M_UINT, 0, 0),
	MSG_F(exec_row, dropped2, M_UINT, 0, 0),
	MSG_F(exec_row, background, M_UINT, 0, 0),
	MSG_F(exec_row, shown, M_UINT, 0, 0),
	MSG_F(exec_row, timeout, M_UINT, 0, 0),
	MSG_F(exec_row, due, M_UINT, 0, 0),
	MSG_F(exec_row, reason, M_STR, 0, 0),
};

static const struct msg_field f_facts[] = {
	MSG_F(msg_facts, right, M_UINT, 0, 0),
	MSG_F(msg_facts, user, M_STR, 0, 0),
	MSG_F(msg_facts, runtime, M_STR, 0, 0),
	MSG_F(msg_facts, lsm, M_STR, 0, 0),
	MSG_F(msg_facts, userns, M_UINT, 1, 0),
	MSG_F(msg_facts, readonly, M_UINT, 0, 0),
	MSG_F(msg_facts, masked, M_UINT, 0, 0),
	MSG_F(msg_facts, mounts, M_UINT, 0, 0),
	MSG_F(msg_facts, volumes, M_UINT, 0, 0),
	MSG_F(msg_facts, tmp, M_UINT, 0, 0),
	MSG_F(msg_facts, memory, M_UINT, 0, 0),
	MSG_F(msg_facts, swap, M_UINT, 0, 0),
	MSG_F(msg_facts, ncpus, M_UINT, 0, 0),
	MSG_F(msg_facts, pids, M_UINT, 0, 0),
};

static const struct msg_field f_times[] = {
	MSG_F(time_row, state, M_UINT, 0, 0),
	MSG_F(time_row, changed, M_UINT, 0, 0),
	MSG_F(time_row, since, M_UINT, 0, 0),
	MSG_F(time_row, born, M_UINT, 0, 0),
	MSG_F(time_row, lifetime, M_UINT, 0, 0),
	MSG_F(time_row, until, M_UINT, 0, 0),
	MSG_F(time_row, idle, M_UINT, 0, 0),
	MSG_F(time_row, keep, M_UINT, 0, 0),
};

static const struct msg_field f_update[] = {
	MSG_F(sbx_update, op, M_UINT, 0, 0),
	MSG_F(sbx_update, uid, M_UINT, 0, 0),
	MSG_F(sbx_update, memory, M_UINT, 0, 0),
	MSG_F(sbx_update, mcpus, M_UINT, 0, 0),
	MSG_F(sbx_update, pids, M_UINT, 0, 0),
	MSG_F(sbx_update, lifetime, M_UINT, 0, 0),
	MSG_F(sbx_update, idle, M_UINT, 0, 0),
	MSG_F(sbx_update, keep, M_UINT, 0, 0),
	MSG_F(sbx_update, labels, M_KVV, SBX_LABELS_MAX, 0),
	MSG_F(sbx_update, unlabel, M_STRV, SBX_LABELS_MAX, 0),
};

static const struct msg_field f_clock[] = {
	MSG_F(clock_row, boot, M_STR, 0, 0),
	MSG_F(clock_row, mono, M_UINT, 0, 0),
	MSG_F(clock_row, life, M_UINT, 0, 0),
};

static const struct msg_def	 def_times = MSG_DEF(0, "sandbox's times",
    time_row, f_times);
static const struct msg_def	 def_update = MSG_DEF(0, "sandbox's update",
    sbx_update, f_update);
static const struct msg_def	 def_clock = MSG_DEF(0, "clock", clock_row,
    f_clock);
static const struct msg_def	 def_facts = MSG_DEF(0, "container's facts",
    msg_facts, f_facts);
static const struct msg_field f_todo[] = {
	MSG_F(sbx_todo, op, M_UINT, 0, 0),
	MSG_F(sbx_todo, doing, M_UINT, 0, 0),
};

static const struct msg_def	 def_todo = MSG_DEF(0, "sandbox's operation",
    sbx_todo, f_todo);
static const struct msg_def	 def_sbx = MSG_DEF(0, "sandbox's row", sbx_row,
    f_sbx_row);
static const struct msg_def	 def_exec = MSG_DEF(0, "exec's row", exec_row,
    f_exec_row);

static size_t
key_make(uint8_t *key, char letter, uint64_t n, uint64_t k)
{
	key[0] = letter;
	record_put64(key + 1, n);
	if (letter != 'E' && letter != 'L' && letter != 'P')
		return (9);
	record_put64(key + 9, k);
	return (17);
}

static int
put_row(struct batch *b, char letter, uint64_t n, uint64_t k,
    const struct msg_def *def, const void *row, const struct msg_rest *rest)
{
	msgpack_sbuffer	 sb;
	uint8_t		 key[17];
	size_t		 len;
	int		 ret;

	msgpack_sbuffer_init(&sb);
	if (msg_encode_row(&sb, def, row, rest) == -1)
		fatal("%s: %s", __func__, def->name);
	len = key_make(key, letter, n, k);
	ret = eventdb_put(b->db, EDB_STATE, key, len, sb.data, sb.size);
	msgpack_sbuffer_destroy(&sb);
	return (ret == 0 ? BATCH_OK : BATCH_FAIL);
}

int
model_put_conf(struct batch *b, struct sandbox *sb)
{
	return (put_row(b, 'C', sb->r.n, 0, proto_def(PROTO_CREATE),
	    sb->conf, &sb->conf_rest));
}

int
model_put_times(struct batch *b, struct sandbox *sb)
{
	return (put_row(b, 'D', sb->r.n, 0, &def_times, &sb->t,
	    &sb->times_rest));
}

/* Since when it has rested is known from now on, whatever the clock says. */
static int
put_since(struct batch *b, struct sandbox *sb)
{
	batch_keep(b, &sb->t, sizeof(sb->t));
	sb->t.state = sb->r.state;
	sb->t.changed = sb->r.changed;
	sb->t.since = times_now();
	if (sb->r.state != SBX_STOPPED && sb->r.state != SBX_FAILED &&
	    sb->r.state != SBX_DELETED)
		return (BATCH_OK);
	return (model_put_times(b, sb));
}

int
model_put(struct batch *b, struct sandbox *sb)
{
	if (sb->t.state != sb->r.state && put_since(b, sb) != BATCH_OK)
		return (BATCH_FAIL);
	return (put_row(b, 'S', sb->r.n, 0, &def_sbx, &sb->r, &sb->rest));
}

int
model_put_todo(struct batch *b, struct sandbox *sb)
{
	return (put_row(b, 'T', sb->r.n, 0, &def_todo, &sb->todo, NULL));
}

int
model_put_update(struct batch *b, struct sandbox *sb)
{
	return (put_row(b, 'U', sb->r.n, 0, &def_update, sb->update, NULL));
}

int
model_del_update(struct batch *b, struct sandbox *sb)
{
	uint8_t	 key[17];
	size_t	 len;

	len = key_make(key, 'U', sb->r.n, 0);
	return (eventdb_del(b->db, EDB_STATE, key, len) == EDB_OK ?
	    BATCH_OK : BATCH_FAIL);
}

int
model_put_clock(struct batch *b, const struct clock_row *c)
{
	return (put_row(b, 'K', 0, 0, &def_clock, c, NULL));
}

int
model_put_facts(struct batch *b, struct sandbox *sb)
{
	return (put_row(b, 'F', sb->r.n, 0, &def_facts, &sb->op.box.facts,
	    NULL));
}

int
model_put_counters(struct batch *b, struct sandbox *sb)
{
	uint8_t	 key[17], val[16];
	size_t	 len;

	len = key_make(key, 'Q', sb->r.n, 0);
	record_put64(val, sb->sseq);
	record_put64(val + 8, sb->last_k);
	if (eventdb_put(b->db, EDB_STATE, key, len, val, sizeof(val)) != 0)
		return (BATCH_FAIL);
	return (BATCH_OK);
}

int
model_put_age(struct batch *b, uint64_t seq, uint64_t life)
{
	uint8_t	 key[17], val[8];
	size_t	 len;

	len = key_make(key, 'A', seq, 0);
	record_put64(val, life);
	return (eventdb_put(b->db, EDB_STATE, key, len, val, sizeof(val)) ==
	    0 ? BATCH_OK : BATCH_FAIL);
}

int
model_del_age(struct batch *b, uint64_t seq)
{
	uint8_t	 key[17];
	size_t	 len;

	len = key_make(key, 'A', seq, 0);
	return (eventdb_del(b->db, EDB_STATE, key, len) == EDB_FAIL ?
	    BATCH_FAIL : BATCH_OK);
}

int
model_put_last(struct batch *b, struct model *m)
{
	uint8_t	 val[8];

	record_put64(val, m->last_n);
	if (eventdb_put(b->db, EDB_STATE, "M", 1, val, sizeof(val)) != 0)
		return (BATCH_FAIL);
	return (BATCH_OK);
}

int
model_put_exec(struct batch *b, const struct exec *ex)
{
	return (put_row(b, 'E', ex->r.n, ex->r.k, &def_exec, &ex->r,
	    &ex->rest));
}

/* A new exec: the request, and the mark that it has not ended. */
int
model_put_start(struct batch *b, struct exec *ex)
{
	uint8_t	 key[17];
	size_t	 len;

	len = key_make(key, 'L', ex->r.n, ex->r.k);
	if (eventdb_put(b->db, EDB_STATE, key, len, "", 1) != 0)
		return (BATCH_FAIL);
	return (put_row(b, 'P', ex->r.n, ex->r.k, msg_def(MSG_START),
	    ex->start, NULL));
}

static int
del_row(struct batch *b, char letter, struct exec *ex)
{
	uint8_t	 key[17];
	size_t	 len;

	len = key_make(key, letter, ex->r.n, ex->r.k);
	return (eventdb_del(b->db, EDB_STATE, key, len) == EDB_FAIL ?
	    BATCH_FAIL : BATCH_OK);
}

int
model_del_start(struct batch *b, struct exec *ex)
{
	return (del_row(b, 'P', ex));
}

int
model_end_exec(struct batch *b, struct model *m, struct exec *ex)
{
	batch_keep(b, &ex->sb->nexecs, sizeof(ex->sb->nexecs));
	batch_keep(b, &m->nlive, sizeof(m->nlive));
	ex->sb->nexecs--;
	m->nlive--;
	if (del_row(b, 'L', ex) == BATCH_FAIL ||
	    del_row(b, 'P', ex) == BATCH_FAIL)
		return (BATCH_FAIL);
	return (model_put_exec(b, ex));
}

struct doomed {
	uint8_t	(*key)[17];
	uint64_t n;
	int	 count;
	int	 max;
};

static int
doom_exec(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct doomed	*d = arg;

	(void)val;
	(void)nval;
	if (nkey != 17 || key[0] != 'E' || record_get64(key + 1) != d->n ||
	    d->count == d->max)
		return (1);
	memcpy(d->key[d->count++], key, nkey);
	return (0);
}

int
model_del_execs(struct batch *b, struct model *m, struct sandbox *sb, int max)
{
	struct doomed	 d = { NULL, sb->r.n, 0, max };
	uint8_t		 key[17];
	size_t		 len;
	int		 i, ret = -1;

	if ((d.key = calloc(max, sizeof(*d.key))) == NULL)
		fatal("%s", __func__);
	len = key_make(key, 'E', sb->r.n, 0);
	if (eventdb_walk(m->db, EDB_STATE, key, len, doom_exec, &d) != 0)
		goto done;
	for (i = 0; i < d.count; i++)
		if (eventdb_del(b->db, EDB_STATE, d.key[i],
		    sizeof(d.key[i])) != EDB_OK)
			goto done;
	ret = d.count;
 done:
	free(d.key);
	return (ret);
}

int
model_del(struct batch *b, struct sandbox *sb)
{
	static const char	 letters[] = "SCQFTDU";
	uint8_t			 key[17];
	size_t			 i, len;

	for (i = 0; letters[i] != '\0'; i++) {
		len = key_make(key, letters[i], sb->r.n, 0);
		/*
		 * One that never started has no facts, few have a T or U;
		 * and what was damaged may lack more.
		 */
		switch (eventdb_del(b->db, EDB_STATE, key, len)) {
		case EDB_OK:
			break;
		case EDB_NOTFOUND:
			if (strchr("CFTDU", letters[i]) != NULL)
				break;
			eventdb_fail(b->db, 0, "state.db: sandbox %llu: row "
			    "%c: missing", (unsigned long long)sb->r.n,
			    letters[i]);
			/* FALLTHROUGH */
		default:
			return (BATCH_FAIL);
		}
	}
	return (BATCH_OK);
}

/* A state that we do not know: guessing what it means would lose it. */
static void
model_newer(struct model *m, const char *what, uint64_t n, uint64_t k,
    uint32_t state)
{
	m->alien = 1;
	snprintf(m->db->why, sizeof(m->db->why), "state.db: %s %llu.%llu is "
	    "in state %u, which this version does not know", what,
	    (unsigned long long)n, (unsigned long long)k, state);
}

static int
get_row(struct model *m, char letter, uint64_t n, uint64_t k,
    const struct msg_def *def, size_t first, void *row, struct msg_rest *rest)
{
	struct msg_rest	 unused;
	const uint8_t	*val;
	uint8_t		 key[17];
	size_t		 len;
	int		 ret;

	len = key_make(key, letter, n, k);
	if ((ret = eventdb_get(m->db, EDB_STATE, key, len, &val,
	    &len)) != EDB_OK)
		return (ret);
	if (msg_decode_row(row, def, first, val, len,
	    rest == NULL ? &unused : rest) == -1) {
		snprintf(m->db->why, sizeof(m->db->why),
		    "state.db: damaged: %s %llu.%llu", def->name,
		    (unsigned long long)n, (unsigned long long)k);
		return (-1);
	}
	if (rest == NULL)
		msg_rest_clear(&unused);
	return (0);
}

int
row_conf(struct model *m, uint64_t n, struct proto_create *c,
    struct msg_rest *rest)
{
	return (get_row(m, 'C', n, 0, proto_def(PROTO_CREATE), CREATE_FIRST,
	    c, rest));
}

int
model_get_conf(struct model *m, uint64_t n, struct proto_create *c)
{
	return (row_conf(m, n, c, NULL));
}

int
row_times(struct model *m, uint64_t n, struct time_row *t,
    struct msg_rest *rest)
{
	return (get_row(m, 'D', n, 0, &def_times, TIMES_FIRST, t, rest));
}

int
row_todo(struct model *m, uint64_t n, struct sbx_todo *todo)
{
	return (get_row(m, 'T', n, 0, &def_todo, TODO_FIRST, todo, NULL));
}

int
row_update(struct model *m, uint64_t n, struct sbx_update *u)
{
	return (get_row(m, 'U', n, 0, &def_update, UPDATE_FIRST, u, NULL));
}

int
row_sandbox(struct model *m, const uint8_t *key, const uint8_t *val,
    size_t nval, struct sbx_row *r, struct msg_rest *rest)
{
	uint64_t	 n = record_get64(key + 1);

	if (msg_decode_row(r, &def_sbx, SBX_FIRST, val, nval, rest) == -1 ||
	    r->n != n) {
		snprintf(m->db->why, sizeof(m->db->why),
		    "state.db: damaged: sandbox %llu", (unsigned long long)n);
		return (-1);
	}
	if (r->state >= SBX_NSTATES) {
		model_newer(m, "sandbox", n, 0, r->state);
		return (-1);
	}
	return (0);
}

int
model_get_row(struct model *m, uint64_t n, struct sbx_row *r)
{
	return (get_row(m, 'S', n, 0, &def_sbx, SBX_FIRST, r, NULL));
}

int
model_get_counters(struct model *m, uint64_t n, uint64_t *sseq, uint64_t *k)
{
	const uint8_t	*val;
	uint8_t		 key[17];
	size_t		 len;
	int		 ret;

	len = key_make(key, 'Q', n, 0);
	if ((ret = eventdb_get(m->db, EDB_STATE, key, len, &val,
	    &len)) != EDB_OK)
		return (ret);
	if (len != 16) {
		snprintf(m->db->why, sizeof(m->db->why), "state.db: damaged: "
		    "counters of sandbox %llu", (unsigned long long)n);
		return (-1);
	}
	*sseq = record_get64(val);
	*k = record_get64(val + 8);
	return (0);
}

/* The mark that it has not ended. */
int
model_get_live(struct model *m, uint64_t n, uint64_t k)
{
	const uint8_t	*val;
	uint8_t		 key[17];
	size_t		 len;

	len = key_make(key, 'L', n, k);
	return (eventdb_get(m->db, EDB_STATE, key, len, &val, &len));
}

int
model_get_facts(struct model *m, uint64_t n, struct msg_facts *f)
{
	return (get_row(m, 'F', n, 0, &def_facts, FACTS_FIRST, f, NULL));
}

int
row_exec(struct model *m, uint64_t n, uint64_t k, struct exec_row *r,
    struct msg_rest *rest)
{
	int	 ret;

	if ((ret = get_row(m, 'E', n, k, &def_exec, EXEC_FIRST, r,
	    rest)) != 0 || r->state < EXEC_NSTATES)
		return (ret);
	model_newer(m, "exec", n, k, r->state);
	exec_row_clear(r);
	if (rest != NULL)
		msg_rest_clear(rest);
	return (-1);
}

int
model_get_clock(struct model *m, struct clock_row *c)
{
	return (get_row(m, 'K', 0, 0, &def_clock, CLOCK_FIRST, c, NULL));
}

int
model_get_exec(struct model *m, uint64_t n, uint64_t k, struct exec_row *r)
{
	return (row_exec(m, n, k, r, NULL));
}

int
model_get_start(struct model *m, uint64_t n, uint64_t k, struct msg_start *s)
{
	return (get_row(m, 'P', n, k, msg_def(MSG_START), START_FIRST, s,
	    NULL));
}

struct walk {
	struct model	*m;
	uint64_t	 n;
	int		 (*fn)(void *, const struct exec_row *);
	void		*arg;
	int		 bad;
};

static int
walk_exec(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct walk	*w = arg;
	struct msg_rest	 rest;
	struct exec_row	 r;
	int		 ret;

	if (nkey != 17 || key[0] != 'E' || record_get64(key + 1) != w->n)
		return (1);
	if (msg_decode_row(&r, &def_exec, EXEC_FIRST, val, nval,
	    &rest) == -1) {
		snprintf(w->m->db->why, sizeof(w->m->db->why),
		    "state.db: damaged: exec's row");
		w->bad = 1;
		return (1);
	}
	msg_rest_clear(&rest);
	ret = w->fn(w->arg, &r);
	exec_row_clear(&r);
	return (ret);
}

int
model_walk_execs(struct model *m, uint64_t n, uint64_t k,
    int (*fn)(void *, const struct exec_row *), void *arg)
{
	struct walk	 w = { m, n, fn, arg, 0 };
	uint8_t		 key[17];
	size_t		 len;

	len = key_make(key, 'E', n, k);
	if (eventdb_walk(m->db, EDB_STATE, key, len, walk_exec, &w) != 0 ||
	    w.bad)
		return (-1);
	return (0);
}

struct ages {
	int	 (*fn)(void *, uint64_t, uint64_t);
	void	*arg;
};

static int
walk_age(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct ages	*a = arg;

	if (nkey != 9 || key[0] != 'A' || nval != 8)
		return (1);
	return (a->fn(a->arg, record_get64(key + 1), record_get64(val)));
}

int
model_walk_ages(struct model *m, int (*fn)(void *, uint64_t, uint64_t),
    void *arg)
{
	struct ages	 a = { fn, arg };
	uint8_t		 key[17];
	size_t		 len;

	len = key_make(key, 'A', 0, 0);
	return (eventdb_walk(m->db, EDB_STATE, key, len, walk_age, &a) == 0 ?
	    0 : -1);
}

void
exec_row_clear(struct exec_row *r)
{
	msg_clear(r, &def_exec);
}
