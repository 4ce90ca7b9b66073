/*
 * The runner's pipe: guests, and what became of their execs.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"

/* About one of its guests; boot and pid are 0 where they do not matter. */
static void
runner_send(struct sandbox *sb, uint32_t type, uint64_t boot, uint32_t pid)
{
	struct msg_listen	 m;

	memset(&m, 0, sizeof(m));
	m.n = sb->r.n;
	m.owner = sb->r.owner;
	m.boot = boot;
	m.pid = pid;
	pipe_send(&st.runner, type, sb->r.op, 0, 0, -1, &m);
}

/* Which guest the runner is to expect: as far as it is known. */
void
runner_listen(struct sandbox *sb)
{
	runner_send(sb, MSG_LISTEN, sb->r.boot, sb->r.pid);
}

void
runner_greet(struct sandbox *sb)
{
	runner_send(sb, MSG_GREET, 0, 0);
}

/* From now on its guest's silence counts: header.op is its number. */
void
runner_probe(struct sandbox *sb)
{
	struct msg_listen	 m;

	memset(&m, 0, sizeof(m));
	m.n = sb->r.n;
	m.owner = sb->r.owner;
	pipe_send(&st.runner, MSG_PROBE, sb->probe, 0, 0, -1, &m);
}

void
runner_unlisten(struct sandbox *sb)
{
	sb->here = 0;
	runner_send(sb, MSG_UNLISTEN, 0, 0);
}

struct reborn {
	struct sandbox		*sb;
	struct msg_guest_hello	 m;
};

/* The guest began anew: it knows nothing of what ran before. */
static int
body_reborn(struct batch *b, void *arg)
{
	struct reborn	*q = arg;
	struct sandbox	*sb = q->sb;

	if (!order_has_guest(sb) || sb->r.boot == q->m.boot)
		return (BATCH_REFUSED);
	if (exec_end_all(b, sb, EXEC_LOST, "the guest began anew") != BATCH_OK)
		return (BATCH_FAIL);
	model_keep(b, sb);
	sb->r.boot = q->m.boot;
	return (model_put(b, sb));
}

static void
done_reborn(void *arg, int result)
{
	(void)result;
	free(arg);
}

/* What it reads of its limits may have changed since its last hello. */
static int
body_seen(struct batch *b, void *arg)
{
	struct reborn	*q = arg;
	struct sandbox	*sb = q->sb;

	if (sb->r.state != SBX_READY || sb->r.boot != q->m.boot ||
	    (sb->r.memory_seen == q->m.memory &&
	    sb->r.mcpus_seen == q->m.mcpus && sb->r.pids_seen == q->m.pids))
		return (BATCH_REFUSED);
	model_keep(b, sb);
	sb->r.memory_seen = q->m.memory;
	sb->r.mcpus_seen = q->m.mcpus;
	sb->r.pids_seen = q->m.pids;
	return (model_put(b, sb));
}

static void
runner_seen(struct sandbox *sb, const struct msg_guest_hello *m)
{
	struct reborn	*q;

	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->sb = sb;
	q->m = *m;
	batch_following(&st.batch, body_seen, done_reborn, q);
}

static int
runner_recv_hello(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_guest_hello	*m = msg;
	struct sandbox		*sb;
	struct reborn		*q;

	(void)ch;
	(void)f;
	fault("store.hello.before");
	if ((sb = model_number(&st.model, m->n)) == NULL)
		return (0);
	sb->here = 1;
	if (!order_has_guest(sb) || m->boot == sb->r.boot) {
		op_hello(sb, m);
		if (sb->r.state == SBX_READY && !sb->op.active)
			runner_seen(sb, m);
		return (0);
	}
	log_warnx("sandbox %s (%llu): its guest began anew", sb->r.id,
	    (unsigned long long)sb->r.n);
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->sb = sb;
	q->m = *m;
	batch_gating(&st.batch, body_reborn, done_reborn, q);
	return (0);
}

/*
 * A guest that the kernel says is dead.  How its container ended is the
 * Engine's to say, and an Engine that does not is not waited for for long.
 */
struct death {
	uint64_t	 n;
	uint64_t	 boot;		/* of the guest: no later one is meant */
	struct event	 late;
};

static void
death_late(int fd, short event, void *arg)
{
	struct death	*d = arg;
	struct sandbox	*sb;

	(void)fd;
	(void)event;
	sb = model_number(&st.model, d->n);
	if (sb != NULL && !damaged() && order_has_guest(sb) &&
	    sb->r.boot == d->boot)
		change_state(sb, VERB_DIED, CODE_ENGINE_ERROR,
		    st.engine.up ? CAUSE_UNKNOWN ": its guest is dead, and "
		    "the Engine has not told how its container ended" :
		    CAUSE_AWAY);
	free(d);
}

static void
death_wait(const struct msg_guest_gone *m)
{
	struct death	*d;

	if ((d = calloc(1, sizeof(*d))) == NULL)
		fatal("%s", __func__);
	d->n = m->n;
	d->boot = m->boot;
	fault("store.dead.before");
	timer_set(&d->late, death_late, d, STORE_DEAD_MS);
}

static int
runner_recv_gone(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_guest_gone	*m = msg;
	struct sandbox		*sb;

	(void)ch;
	(void)f;
	if ((sb = model_number(&st.model, m->n)) == NULL)
		return (0);
	op_guest_gone(sb);
	if (m->dead && order_has_guest(sb) && sb->r.boot == m->boot)
		death_wait(m);
	return (0);
}

int
runner_recv_broke(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_guest_gone	*m = msg;
	struct sandbox		*sb;
	char			 text[CAUSE_MAX + 1];

	(void)ch;
	(void)f;
	if ((sb = model_number(&st.model, m->n)) == NULL)
		return (0);
	snprintf(text, sizeof(text), "protocol: %.400s", m->text);
	if (order_has_guest(sb))
		change_state(sb, VERB_FAILED, CODE_PROTOCOL, text);
	else if (sb->r.state == SBX_STOPPING)
		op_guest_gone(sb);
	else
		op_fail(sb, CODE_PROTOCOL, text);
	return (0);
}

static int
runner_recv_busy(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	(void)f;
	op_busy(msg);
	return (0);
}

static int
runner_recv_listening(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	(void)f;
	op_listening(msg);
	return (0);
}

static int
runner_recv_started(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_started	*m = msg;

	(void)ch;
	(void)f;
	exec_started(m->n, m->k, m->pid);
	return (0);
}

static int
runner_recv_not_started(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_not_started	*m = msg;
	struct exec_row		 r;

	(void)ch;
	(void)f;
	fault("store.ended.before");
	memset(&r, 0, sizeof(r));
	r.n = m->n;
	r.k = m->k;
	r.state = EXEC_FAILED;
	r.errnum = m->errnum;
	snprintf(r.cause, sizeof(r.cause), "%.500s", m->text);
	exec_ended(&r, NULL);
	return (0);
}

static int
runner_recv_ended(struct chan *ch, struct frame *f, void *msg)
{
	static const enum exec_state	 states[] = {
		[END_EXITED] = EXEC_EXITED,
		[END_SIGNALED] = EXEC_SIGNALED,
		[END_TIMED_OUT] = EXEC_TIMED_OUT,
		[END_CANCELLED] = EXEC_CANCELLED,
		[END_LOST] = EXEC_LOST,
	};
	struct msg_ended		*m = msg;
	struct exec_row			 r;

	(void)ch;
	(void)f;
	if (m->kind < END_EXITED || m->kind > END_LOST)
		return (-1);
	fault("store.ended.before");
	memset(&r, 0, sizeof(r));
	r.n = m->n;
	r.k = m->k;
	r.state = states[m->kind];
	r.code = m->code;
	r.length1 = m->length1;
	r.length2 = m->length2;
	r.dropped1 = m->dropped1;
	r.dropped2 = m->dropped2;
	r.background = m->background;
	r.started = m->started;
	r.ended = m->ended;
	if (r.state == EXEC_LOST)
		strlcpy(r.cause, "its status could not be had",
		    sizeof(r.cause));
	else if (m->oom)
		strlcpy(r.cause, "out_of_memory: the memory of the sandbox "
		    "was used up", sizeof(r.cause));
	exec_ended(&r, m);
	return (0);
}

static int
runner_recv_refused(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_refused	*m = msg;
	struct exec_row		 r;

	(void)ch;
	(void)f;
	memset(&r, 0, sizeof(r));
	r.n = m->n;
	r.k = m->k;
	r.state = EXEC_LOST;
	strlcpy(r.cause, "the guest does not know it", sizeof(r.cause));
	exec_ended(&r, NULL);
	return (0);
}

/* A request that the runner cannot serve is over with this. */
static int
runner_recv_error(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_result	*m = msg;
	struct session		*s;
	struct asker		 a = { .session = f->session, .req = f->req };

	(void)ch;
	if (f->session == 0) {
		/* No client's: an order of ours, by its number. */
		op_runner_failed(f->op, m);
		return (0);
	}
	if ((s = session_find(f->session)) == NULL)
		return (0);
	wait_drop(s, f->req);
	answer_error(&a, m->code, NULL, "%s", m->text);
	return (0);
}

static const struct pipe_handler handlers[] = {
	{ MSG_GUEST_HELLO, runner_recv_hello },
	{ MSG_GUEST_GONE, runner_recv_gone },
	{ MSG_GUEST_BROKE, runner_recv_broke },
	{ MSG_GUEST_SILENT, silent_recv },
	{ MSG_LISTENING, runner_recv_listening },
	{ MSG_BUSY, runner_recv_busy },
	{ MSG_STARTED, runner_recv_started },
	{ MSG_NOT_STARTED, runner_recv_not_started },
	{ MSG_ENDED, runner_recv_ended },
	{ MSG_REFUSED, runner_recv_refused },
	{ MSG_RUNNER_ERROR, runner_recv_error },
	{ MSG_CALL_DONE, call_recv_done },
};

void
store_dispatch_runner(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	/* When it dies the parent ends all of us: nothing to do here. */
	if (pipe_dispatch(arg, handlers,
	    sizeof(handlers) / sizeof(handlers[0])) == 0)
		event_del(&((struct chan *)arg)->ev);
	store_round();
}
