/*
 * Execs: accepted by a commit, then handed to the runner; ended by a commit,
 * and only then told.  Between the two nothing waits for the log.
 */
#include <sys/types.h>

#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"

struct exec_req {
	struct asker		 a;
	struct sandbox		*sb;
	struct proto_exec	 m;
	struct exec		*ex;
	enum code		 code;
	char			 text[TEXT_MAX + 1];
};

/* The beginning of a command, for events and lists. */
static void
shown_argv(struct strv *to, const struct strv *argv)
{
	char	 buf[EXEC_SHOWN_MAX + 1];
	size_t	 i, left = EXEC_SHOWN_MAX;

	for (i = 0; i < argv->n && left > 0; i++) {
		strlcpy(buf, argv->v[i], left + 1);
		if (strv_add(to, buf) == -1)
			fatal("%s", __func__);
		left -= strlen(buf) < left ? strlen(buf) + 1 : left;
	}
}

static void
shown_command(struct kvv *d, const struct strv *argv)
{
	char		 buf[EXEC_SHOWN_MAX + 1], hex[65];
	SHA2_CTX	 ctx;
	uint8_t		 sum[32];
	size_t		 i;

	buf[0] = '\0';
	SHA256Init(&ctx);
	for (i = 0; i < argv->n; i++) {
		if (i > 0)
			strlcat(buf, " ", sizeof(buf));
		strlcat(buf, argv->v[i], sizeof(buf));
		SHA256Update(&ctx, (const uint8_t *)argv->v[i],
		    strlen(argv->v[i]) + 1);
	}
	SHA256Final(sum, &ctx);
	for (i = 0; i < sizeof(sum); i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	detail_str(d, "command", buf);
	detail_str(d, "sha256", hex);
}

/* Names of variables, never values. */
static void
shown_env(struct kvv *d, const struct kvv *env)
{
	char	 buf[EXEC_SHOWN_MAX + 1];
	size_t	 i;

	if (env->n == 0)
		return;
	buf[0] = '\0';
	for (i = 0; i < env->n; i++) {
		if (i > 0)
			strlcat(buf, " ", sizeof(buf));
		strlcat(buf, env->v[i].k, sizeof(buf));
	}
	detail_str(d, "env", buf);
}

static void
exec_fill(struct exec_req *q, struct exec *ex)
{
	struct msg_start	*s;
	const char		*dir = q->m.dir;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		fatal("%s", __func__);
	ex->start = s;
	s->n = ex->r.n;
	s->k = ex->r.k;
	if (dir == NULL || dir[0] == '\0')
		dir = ex->sb->conf->workdir;
	if (strv_copy(&s->argv, &q->m.argv) == -1 ||
	    kvv_copy(&s->env, &q->m.env) == -1 ||
	    strv_copy(&s->include, &q->m.include) == -1 ||
	    strv_copy(&s->exclude, &q->m.exclude) == -1 ||
	    (s->dir = strdup(dir != NULL ? dir : "")) == NULL)
		fatal("%s", __func__);
	s->timeout = q->m.timeout;
	s->grace = q->m.grace != 0 ? q->m.grace : EXEC_GRACE_DEFAULT;
	s->flags = q->m.flags;
	if (s->flags & EXEC_TTY) {
		s->rows = q->m.rows != 0 ? q->m.rows : TTY_ROWS;
		s->cols = q->m.cols != 0 ? q->m.cols : TTY_COLS;
	}
	exec_name(s->exec, sizeof(s->exec), ex->sb, ex->r.k);
	ex->r.state = EXEC_PENDING;
	ex->r.flags = q->m.flags;
	ex->r.grace = s->grace;
	ex->r.timeout = s->timeout;
	ex->r.boot = ex->sb->r.boot;
	ex->r.created = store_now();
	strlcpy(ex->r.reason, q->m.reason, sizeof(ex->r.reason));
	shown_argv(&ex->r.argv, &q->m.argv);
}

static int
body_exec(struct batch *b, void *arg)
{
	struct exec_req	*q = arg;
	struct sandbox	*sb = q->sb;
	struct exec	*ex;
	struct kvv	 d = { 0 };

	q->ex = NULL;
	q->code = CODE_OK;
	if (lifecycle_next(sb->r.state, VERB_EXEC) == SBX_NONE)
		q->code = CODE_WRONG_STATE;
	else if (st.model.nlive >= st.conf.max_execs + STORE_QUEUED_MAX) {
		q->code = CODE_LIMIT_EXCEEDED;
		snprintf(q->text, sizeof(q->text), "as many commands as may "
		    "wait: the limit is %llu",
		    (unsigned long long)st.conf.max_execs + STORE_QUEUED_MAX);
	} else if (quota_exec(&q->a, sb, q->text, sizeof(q->text)) == -1)
		q->code = CODE_LIMIT_EXCEEDED;
	if (q->code != CODE_OK)
		return (BATCH_REFUSED);
	ex = model_exec_new(sb);
	batch_keep(b, &sb->last_k, sizeof(sb->last_k));
	ex->r.k = ++sb->last_k;
	exec_fill(q, ex);
	model_add_exec(b, &st.model, ex);
	q->ex = ex;
	shown_command(&d, &q->m.argv);
	shown_env(&d, &q->m.env);
	changed_shown(&d, &q->m);
	if (q->m.reason[0] != '\0')
		detail_str(&d, "reason", q->m.reason);
	detail_str(&d, "rule", q->a.by);
	if (store_event(b, sb, EV_EXEC_CREATE, q->a.uid, ex->r.k,
	    &d) != BATCH_OK || model_put_exec(b, ex) != BATCH_OK ||
	    model_put_start(b, ex) != BATCH_OK)
		return (BATCH_FAIL);
	return (BATCH_OK);
}

static void
exec_enqueue(struct exec *ex)
{
	TAILQ_INSERT_TAIL(&st.forrunner, ex, queue);
	ex->queued = 1;
	st.nqueued++;
}

static void
exec_dequeue(struct exec *ex)
{
	if (!ex->queued)
		return;
	TAILQ_REMOVE(&st.forrunner, ex, queue);
	ex->queued = 0;
	st.nqueued--;
}

/* The request is in the database: what only waits need not hold it. */
static void
exec_unload(struct exec *ex)
{
	if (ex->start == NULL)
		return;
	msg_clear(ex->start, msg_def(MSG_START));
	free(ex->start);
	ex->start = NULL;
}

/*
 * What is left of the limit of one that has begun, for a runner that does not
 * know of it: one whose time is over has a moment, in which its end is told.
 */
static uint64_t
exec_left(const struct exec_row *r)
{
	uint64_t	 now = times_now();

	if (r->due == 0)
		return (0);
	return (r->due > now ? (r->due - now) / 1000000 + 1 : 1);
}

static void
exec_load(struct exec *ex)
{
	struct msg_start	*s;

	if (ex->start != NULL)
		return;
	if ((s = calloc(1, sizeof(*s))) == NULL)
		fatal("%s", __func__);
	switch (model_get_start(&st.model, ex->r.n, ex->r.k, s)) {
	case 0:
		break;
	case EDB_NOTFOUND:
		/* It has been started: no command, its number only. */
		memset(s, 0, sizeof(*s));
		s->n = ex->r.n;
		s->k = ex->r.k;
		s->timeout = exec_left(&ex->r);
		s->grace = ex->r.grace;
		s->flags = ex->r.flags;
		if ((s->dir = strdup("")) == NULL)
			fatal("%s", __func__);
		exec_name(s->exec, sizeof(s->exec), ex->sb, ex->r.k);
		break;
	default:
		fatalx("event log: %s", st.db.why);
	}
	ex->start = s;
}

/* Whoever asked for its pipes while it waited. */
static void
exec_send_reads(struct exec *ex)
{
	struct pending	*p;
	struct waiter	*w;
	struct asker	 a = { 0 };

	TAILQ_FOREACH(w, &ex->waiters, entry) {
		p = (struct pending *)w;
		if (!p->wants)
			continue;
		p->wants = 0;
		a.session = w->session;
		a.req = w->req;
		exec_read(&a, MSG_REATTACH, ex->sb, &ex->r, &p->want);
	}
}

static void
exec_send(struct exec *ex)
{
	struct waiter	*w;
	uint64_t	 session = 0;
	uint32_t	 req = 0;

	fault("store.start.before");
	exec_load(ex);
	if (ex->rows != 0) {
		ex->start->rows = ex->rows;
		ex->start->cols = ex->cols;
	}
	ex->sent = 1;
	st.nsent++;
	/* The pipes of EXEC itself; who has attached since has others. */
	TAILQ_FOREACH(w, &ex->waiters, entry)
		if (w->type == PROTO_EXEC) {
			session = w->session;
			req = w->req;
		}
	pipe_send(&st.runner, MSG_START, 0, session, req, -1, ex->start);
	exec_unload(ex);
	exec_send_reads(ex);
	fault("store.start.after");
}

/* Hands on what waits, up to the bound of what runs. */
void
exec_admit(void)
{
	struct exec	*ex;

	while (st.nsent < st.conf.max_execs &&
	    (ex = TAILQ_FIRST(&st.forrunner)) != NULL) {
		exec_dequeue(ex);
		/* Its sandbox may have ended in the batch just committed. */
		if (!lifecycle_exec_ended(ex->r.state))
			exec_send(ex);
	}
}

static void
done_exec(void *arg, int result)
{
	struct exec_req	*q = arg;
	struct exec	*ex = q->ex;
	char		 name[EXEC_ID_MAX + 1];

	if (result == BATCH_REFUSED && q->code == CODE_WRONG_STATE)
		answer_error(&q->a, q->code, NULL, "%s is %s", q->sb->r.id,
		    lifecycle_name(q->sb->r.state));
	else if (result == BATCH_REFUSED) {
		audit_refused(q->a.uid, "exec", q->sb->r.id, q->code, q->text,
		    0);
		answer_error(&q->a, q->code, NULL, "%s", q->text);
	} else if (result != BATCH_OK)
		answer_failed(&q->a, result);
	else if (lifecycle_exec_ended(ex->r.state)) {
		/* The sandbox went in the same batch. */
		exec_name(name, sizeof(name), q->sb, ex->r.k);
		answer_accepted(&q->a, name, 0, "pending");
		if (ex->r.flags & EXEC_ATTACH)
			answer_exec(&q->a, q->sb, &ex->r);
		answer_end(&q->a);
	} else {
		fault("store.exec.accepted");
		exec_name(name, sizeof(name), q->sb, ex->r.k);
		answer_accepted(&q->a, name, 0, "pending");
		if (ex->r.flags & EXEC_ATTACH) {
			ex->session = q->a.session;
			ex->req = q->a.req;
			wait_add(&q->a, PROTO_EXEC, &ex->waiters, ex);
			if (session_find(q->a.session) == NULL)
				exec_client_gone(ex);
		} else
			answer_end(&q->a);
		exec_enqueue(ex);
		exec_admit();
		times_worked(q->sb);
		if (ex->queued)
			exec_unload(ex);
	}
	msg_clear(&q->m, proto_def(PROTO_EXEC));
	free(q);
}

/* Who has to say why.  -1: answered. */
static int
reason_check(const struct asker *a, const struct sandbox *sb,
    const struct proto_exec *m)
{
	static const char	 why[] = "a command needs a reason";
	char			 on[SBX_ID_MAX + 32];

	if (!st.conf.need_reason || m->reason[0] != '\0')
		return (0);
	audit_on(on, sizeof(on), a, sb);
	audit_refused(a->uid, "exec", on, CODE_POLICY_DENIED, why, 0);
	answer_error(a, CODE_POLICY_DENIED, "reason", "%s", why);
	return (-1);
}

int
exec_recv_exec(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_exec	*m = msg;
	struct exec_req		*q;
	struct sandbox		*sb;
	struct asker		 a;
	int64_t			 user;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    (sb = request_sandbox(&a, m->sandbox, NULL)) == NULL ||
	    rights_check(&a, RIGHT_EXEC, sb) == -1 ||
	    request_space(&a) == -1)
		return (0);
	/* Its container may be dead, and nobody could say so. */
	if (sb->r.state == SBX_READY && !sb->here && st.engine_known &&
	    !st.engine.up) {
		answer_error(&a, CODE_UNAVAILABLE, NULL, "the guest of %s and "
		    "the Engine are away", sb->r.id);
		return (0);
	}
	if (reason_check(&a, sb, m) == -1 || tty_check(&a, sb, m) == -1 ||
	    changed_check(&a, sb, m) == -1)
		return (0);
	user = spec_user(m->user);
	if (user >= 0 && user != (int64_t)sb->r.uid) {
		answer_error(&a, CODE_UNSUPPORTED, "user", "commands run as "
		    "the sandbox's user, %u", sb->r.uid);
		return (0);
	}
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->a = a;
	q->sb = sb;
	memcpy(&q->m, m, sizeof(q->m));
	memset(m, 0, sizeof(*m));
	batch_gating(&st.batch, body_exec, done_exec, q);
	return (0);
}

/* The end. */

static int
exec_event_end(struct batch *b, struct exec *ex)
{
	struct exec_row	*r = &ex->r;
	struct kvv	 d = { 0 };

	detail_str(&d, "end", lifecycle_exec_name(r->state));
	switch (r->state) {
	case EXEC_LOST:
	case EXEC_FAILED:
		break;
	case EXEC_SIGNALED:
		detail_num(&d, "signal", r->code);
		break;
	default:
		detail_num(&d, "code", r->code);
		break;
	}
	if (r->cause[0] != '\0')
		detail_str(&d, "cause", r->cause);
	detail_num(&d, "stdout", r->length1);
	detail_num(&d, "stderr", r->length2);
	if (r->dropped1 != 0 || r->dropped2 != 0)
		detail_num(&d, "dropped", r->dropped1 + r->dropped2);
	if (r->background != 0)
		detail_num(&d, "background", r->background);
	return (store_event(b, ex->sb, EV_EXEC_ENDED, ACTOR_DAEMON, r->k,
	    &d));
}

/* The end is in the log: everybody may know. */
static void
exec_over(void *arg)
{
	struct exec		*ex = arg;
	struct msg_exec_ref	 m;

	fault("store.ended.after");
	exec_dequeue(ex);
	/* Who waits comes first: what is queued first leaves first. */
	wait_exec(ex);
	if (ex->sent) {
		st.nsent--;
		memset(&m, 0, sizeof(m));
		m.n = ex->r.n;
		m.k = ex->r.k;
		m.owner = ex->sb->r.owner;
		pipe_send(&st.runner, MSG_FORGET, 0, 0, 0, -1, &m);
	}
	times_worked(ex->sb);
	model_drop_exec(ex);
	exec_admit();
}

int
exec_end_row(struct batch *b, struct exec *ex, const struct exec_row *v)
{
	struct exec_row	*r = &ex->r;

	batch_keep(b, r, sizeof(*r));
	/* One that still waits for its turn has never run. */
	r->state = ex->queued || ex->never ? EXEC_FAILED : v->state;
	r->code = v->code;
	r->errnum = v->errnum;
	strlcpy(r->cause, v->cause, sizeof(r->cause));
	if (v->started != 0)
		r->started = v->started;
	r->ended = v->ended != 0 ? v->ended : store_now();
	r->length1 = v->length1;
	r->length2 = v->length2;
	r->dropped1 = v->dropped1;
	r->dropped2 = v->dropped2;
	r->background = v->background;
	if (changed_event(b, ex) != BATCH_OK ||
	    exec_event_end(b, ex) != BATCH_OK ||
	    model_end_exec(b, &st.model, ex) != BATCH_OK)
		return (BATCH_FAIL);
	batch_after(b, exec_over, ex);
	return (BATCH_OK);
}

/* All that are left of a sandbox, within the batch that ends it. */
int
exec_end_all(struct batch *b, struct sandbox *sb, enum exec_state state,
    const char *cause)
{
	struct exec_row	 v;
	struct exec	*ex;

	memset(&v, 0, sizeof(v));
	v.state = state;
	strlcpy(v.cause, cause, sizeof(v.cause));
	RB_FOREACH(ex, exec_tree, &sb->execs) {
		if (lifecycle_exec_ended(ex->r.state))
			continue;
		if (exec_end_row(b, ex, &v) != BATCH_OK)
			return (BATCH_FAIL);
	}
	return (BATCH_OK);
}

struct exec_outcome {
	struct exec_row	 v;
	struct event	 retry;
};

static int
body_end(struct batch *b, void *arg)
{
	struct exec_outcome	*q = arg;
	struct sandbox	*sb;
	struct exec	*ex;

	if ((sb = model_number(&st.model, q->v.n)) == NULL ||
	    (ex = model_exec(sb, q->v.k)) == NULL ||
	    lifecycle_exec_ended(ex->r.state))
		return (BATCH_REFUSED);
	return (exec_end_row(b, ex, &q->v));
}

static void	done_end(void *, int);

static void
end_again(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	batch_gating(&st.batch, body_end, done_end, arg);
}

static void
done_end(void *arg, int result)
{
	struct exec_outcome	*q = arg;

	/* What has ended has: its commit is tried until it succeeds. */
	if (result == BATCH_NOSPACE || result == BATCH_UNAVAIL)
		timer_set(&q->retry, end_again, q, STORE_RETRY_MS);
	else
		free(q);
}

/*
 * v has no argv; an exec that is not live has ended before.  m is what the
 * runner says of it, or NULL.
 */
void
exec_ended(const struct exec_row *v, const struct msg_ended *m)
{
	struct msg_exec_ref	 ref;
	struct exec_outcome		*q;
	struct sandbox		*sb;
	struct exec		*ex = NULL;

	if ((sb = model_number(&st.model, v->n)) != NULL)
		ex = model_exec(sb, v->k);
	if (ex == NULL) {
		memset(&ref, 0, sizeof(ref));
		ref.n = v->n;
		ref.k = v->k;
		ref.owner = sb != NULL ? sb->r.owner : 0;
		pipe_send(&st.runner, MSG_FORGET, 0, 0, 0, -1, &ref);
		return;
	}
	if (ex->ending)
		return;
	ex->ending = 1;
	if (m != NULL)
		changed_keep(ex, m);
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->v = *v;
	batch_gating(&st.batch, body_end, done_end, q);
}

struct exec_start {
	uint64_t	 n;
	uint64_t	 k;
	uint32_t	 pid;
	uint64_t	 time;
};

static int
body_started(struct batch *b, void *arg)
{
	struct exec_start	*q = arg;
	struct kvv		 d = { 0 };
	struct sandbox		*sb;
	struct exec		*ex;

	if ((sb = model_number(&st.model, q->n)) == NULL ||
	    (ex = model_exec(sb, q->k)) == NULL ||
	    ex->r.state != EXEC_PENDING)
		return (BATCH_REFUSED);
	batch_keep(b, &ex->r, sizeof(ex->r));
	ex->r.state = EXEC_RUNNING;
	ex->r.pid = q->pid;
	ex->r.started = q->time;
	if (ex->r.timeout != 0)
		ex->r.due = times_now() + ex->r.timeout * 1000000;
	detail_num(&d, "pid", q->pid);
	if (store_event(b, sb, EV_EXEC_STARTED, ACTOR_DAEMON, q->k,
	    &d) != BATCH_OK || model_put_exec(b, ex) != BATCH_OK)
		return (BATCH_FAIL);
	/* The guest has it: what it was asked need not be kept any more. */
	return (model_del_start(b, ex));
}

static void
done_started(void *arg, int result)
{
	(void)result;
	free(arg);
}

void
exec_started(uint64_t n, uint64_t k, uint32_t pid)
{
	struct exec_start	*q;

	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->n = n;
	q->k = k;
	q->pid = pid;
	q->time = store_now();
	batch_following(&st.batch, body_started, done_started, q);
}

/* Signals and cancel. */

struct exec_signal {
	struct sandbox	*sb;
	uint64_t	 k;
	uint32_t	 actor;
	uint32_t	 signo;
	const char	*why;
	char		 by[PLACE_MAX + 1];
};

static int
body_signal(struct batch *b, void *arg)
{
	struct exec_signal	*q = arg;
	struct kvv		 d = { 0 };

	if (q->signo != 0)
		detail_num(&d, "signal", q->signo);
	else
		detail_str(&d, "cancel", q->why);
	if (q->by[0] != '\0')
		detail_str(&d, "rule", q->by);
	return (store_event(b, q->sb, EV_EXEC_SIGNAL, q->actor, q->k, &d));
}

static void
done_signal(void *arg, int result)
{
	(void)result;
	free(arg);
}

/* The event of it; a is NULL when nobody has asked. */
static void
exec_event_signal(struct sandbox *sb, uint64_t k, const struct asker *a,
    uint32_t signo, const char *why)
{
	struct exec_signal	*q;

	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->sb = sb;
	q->k = k;
	q->actor = a == NULL ? ACTOR_DAEMON : a->uid;
	if (a != NULL)
		strlcpy(q->by, a->by, sizeof(q->by));
	q->signo = signo;
	q->why = why;
	batch_following(&st.batch, body_signal, done_signal, q);
}

void
exec_order_signal(struct sandbox *sb, uint64_t k, const struct asker *a,
    uint32_t signo, uint32_t grace, const char *why)
{
	struct msg_exec_ref	 m;

	memset(&m, 0, sizeof(m));
	m.n = sb->r.n;
	m.k = k;
	m.owner = sb->r.owner;
	m.value = signo;
	m.grace = grace;
	pipe_send(&st.runner, signo == 0 ? MSG_CANCEL : MSG_SIGNAL, 0, 0, 0,
	    -1, &m);
	exec_event_signal(sb, k, a, signo, why);
}

void
exec_order_cancel(struct exec *ex, const struct asker *a, uint32_t grace,
    const char *why)
{
	struct exec_row	 v;

	if (!ex->queued) {
		exec_order_signal(ex->sb, ex->r.k, a, 0,
		    grace != 0 ? grace : ex->r.grace, why);
		return;
	}
	/* The runner has not heard of it, so nobody else will end it. */
	if (a != NULL)
		exec_event_signal(ex->sb, ex->r.k, a, 0, why);
	exec_dequeue(ex);
	ex->never = 1;
	memset(&v, 0, sizeof(v));
	v.n = ex->r.n;
	v.k = ex->r.k;
	v.state = EXEC_CANCELLED;
	strlcpy(v.cause, why, sizeof(v.cause));
	exec_ended(&v, NULL);
}

static void
exec_lost_timer(int fd, short event, void *arg)
{
	struct exec	*ex = arg;

	(void)fd;
	(void)event;
	if (!ex->ending)
		exec_order_cancel(ex, NULL, 0, "its client has gone");
}

/* It was started attached and its client has not come back in time. */
void
exec_client_gone(struct exec *ex)
{
	ex->session = 0;
	ex->req = 0;
	if (!(ex->r.flags & EXEC_ATTACH) || (ex->r.flags & EXEC_CONTINUE))
		return;
	timer_set(&ex->lost, exec_lost_timer, ex, st.conf.t_reattach);
}

/* After a start: the guest knows them by their numbers. */
void
exec_resend(struct sandbox *sb)
{
	struct exec	*ex;

	RB_FOREACH(ex, exec_tree, &sb->execs) {
		if (ex->sent || ex->queued)
			continue;
		exec_load(ex);
		ex->start->again = 1;
		exec_send(ex);
		exec_client_gone(ex);
	}
}
