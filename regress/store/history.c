/*
 * A history as the store would have written it.
 */
#include <sys/types.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "log.h"
#include "scratch.h"

#define PER_BATCH	4

struct life {
	u_int	 execs;
	int	 live;
};

const char *
history_home(void)
{
	static char	 home[1024];

	scratch_template(home, sizeof(home));
	if (mkdtemp(home) == NULL)
		err(1, "%s", home);
	return (home);
}

double
history_seconds(void)
{
	return (eventlog_clock() / 1e9);
}

void
history_open(const char *home)
{
	log_init(1, 0);
	if (eventdb_open(&st.db, home) == -1 ||
	    eventlog_open(&st.log, &st.db) == -1 ||
	    model_open(&st.model, &st.db) == -1)
		errx(1, "%s: %s", home, st.db.why);
	batch_init(&st.batch, &st.db, &st.log);
}

void
history_close(void)
{
	eventdb_close(&st.db);
	model_close(&st.model);
}

static void
exec_gone(void *arg)
{
	model_drop_exec(arg);
}

/* The last one of a live sandbox has only been started. */
static int
write_exec(struct batch *b, struct sandbox *sb, int last)
{
	struct exec	*ex = model_exec_new(sb);
	struct kvv	 d = { 0 };
	struct msg_start s;

	ex->r.k = ++sb->last_k;
	ex->r.state = EXEC_PENDING;
	ex->r.created = store_now();
	if (strv_add(&ex->r.argv, "true") == -1)
		err(1, NULL);
	model_add_exec(b, &st.model, ex);
	detail_str(&d, "command", "true");
	if (store_event(b, sb, EV_EXEC_CREATE, HISTORY_UID, ex->r.k,
	    &d) != BATCH_OK)
		return (BATCH_FAIL);
	ex->start = NULL;
	ex->r.state = EXEC_RUNNING;
	detail_num(&d, "pid", 7);
	if (store_event(b, sb, EV_EXEC_STARTED, ACTOR_DAEMON, ex->r.k,
	    &d) != BATCH_OK)
		return (BATCH_FAIL);
	if (last) {
		/* For the mark that it has not ended; no guest needs it. */
		memset(&s, 0, sizeof(s));
		s.n = ex->r.n;
		s.k = ex->r.k;
		s.dir = (char *)(uintptr_t)"";
		ex->start = &s;
		if (model_put_start(b, ex) != BATCH_OK ||
		    model_del_start(b, ex) != BATCH_OK)
			return (BATCH_FAIL);
		ex->start = NULL;
		return (model_put_exec(b, ex));
	}
	ex->r.state = EXEC_EXITED;
	ex->r.ended = store_now();
	detail_str(&d, "end", "exited");
	detail_num(&d, "code", 0);
	if (store_event(b, sb, EV_EXEC_ENDED, ACTOR_DAEMON, ex->r.k,
	    &d) != BATCH_OK || model_end_exec(b, &st.model, ex) != BATCH_OK)
		return (BATCH_FAIL);
	batch_after(b, exec_gone, ex);
	return (BATCH_OK);
}

static int
write_state(struct batch *b, struct sandbox *sb, enum sbx_state state,
    enum event_type type)
{
	sb->r.state = state;
	return (store_event(b, sb, type, ACTOR_DAEMON, 0, NULL));
}

static void
box_deleted(void *arg)
{
	struct sandbox	*sb = arg;

	st.model.count--;
	quota_disown(sb);
	model_drop_conf(sb);
}

static int
body_box(struct batch *b, void *arg)
{
	struct life	*l = arg;
	struct sandbox	*sb = sandbox_new();
	u_int		 i;

	if ((sb->conf = calloc(1, sizeof(*sb->conf))) == NULL ||
	    (sb->conf->workdir = strdup("")) == NULL)
		err(1, NULL);
	sb->r.n = ++st.model.last_n;
	sb->r.owner = HISTORY_UID;
	snprintf(sb->r.id, sizeof(sb->r.id), "box-%llu",
	    (unsigned long long)sb->r.n);
	snprintf(sb->r.nonce, sizeof(sb->r.nonce), "%032llx",
	    (unsigned long long)sb->r.n);
	snprintf(sb->r.container, sizeof(sb->r.container), "%064llx",
	    (unsigned long long)sb->r.n);
	strlcpy(sb->conf->image, "sandbox-base", sizeof(sb->conf->image));
	sb->conf->memory = 64 << 20;
	sb->conf->mcpus = 1000;
	sb->conf->pids = 100;
	sb->r.created = sb->r.changed = store_now();
	sb->r.op = store_op();
	sb->r.uid = sb->r.gid = 200000 + sb->r.n;
	model_add(b, &st.model, sb);
	if (write_state(b, sb, SBX_PENDING, EV_SBX_CREATE) != BATCH_OK ||
	    model_put_last(b, &st.model) != BATCH_OK ||
	    model_put_conf(b, sb) != BATCH_OK ||
	    write_state(b, sb, SBX_READY, EV_SBX_READY) != BATCH_OK)
		return (BATCH_FAIL);
	for (i = 0; i < l->execs; i++)
		if (write_exec(b, sb, l->live && i + 1 == l->execs) !=
		    BATCH_OK)
			return (BATCH_FAIL);
	if (!l->live) {
		if (write_state(b, sb, SBX_DELETING, EV_SBX_DELETE) !=
		    BATCH_OK ||
		    write_state(b, sb, SBX_DELETED, EV_SBX_DELETED) !=
		    BATCH_OK)
			return (BATCH_FAIL);
		batch_after(b, box_deleted, sb);
	}
	return (model_put(b, sb) == BATCH_OK ?
	    model_put_counters(b, sb) : BATCH_FAIL);
}

static void
done_box(void *arg, int result)
{
	if (result != BATCH_OK)
		errx(1, "history: %s", st.db.why);
	free(arg);
}

void
history_write(void)
{
	while (batch_run(&st.batch) > 0)
		continue;
	if (eventdb_checkpoint(&st.db, 0) == -1)
		errx(1, "history: %s", st.db.why);
}

void
history_box(u_int execs, int live)
{
	struct life	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		err(1, NULL);
	l->execs = execs;
	l->live = live;
	batch_following(&st.batch, body_box, done_box, l);
	if (st.batch.nqueue >= PER_BATCH)
		history_write();
}

int
history_prove(struct logverify *v, double *longest)
{
	double	 begun, took;
	int	 ret;

	logverify_start(v, &st.log, NULL);
	do {
		begun = history_seconds();
		ret = logverify_slice(v);
		took = (history_seconds() - begun) * 1e3;
		if (longest != NULL && took > *longest)
			*longest = took;
	} while (ret == 1);
	logverify_end(v);
	return (ret);
}
