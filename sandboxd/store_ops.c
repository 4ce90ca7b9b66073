/*
 * Operations of several steps: each sends one order and goes on when its
 * answer is there.  What is in a table here is the walk through the ring.
 *
 * An answer counts only if it bears the number of the sandbox's current
 * operation.  The deadline makes an answer to the client, never the end of
 * the broker's work: the undoing waits for what is under way there.
 */
#include <sys/types.h>

#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"
#include "store_ops.h"

static const enum step steps[][12] = {
	[OP_CREATE] = { STEP_WORK_MAKE, STEP_LISTEN, STEP_BOX_CREATE,
	    STEP_HELLO, STEP_HELD, STEP_READY },
	[OP_RECREATE] = { STEP_WORK_MAKE, STEP_LISTEN, STEP_BOX_CREATE,
	    STEP_HELLO, STEP_HELD, STEP_READY },
	[OP_RESUME] = { STEP_WORK_MAKE, STEP_LISTEN, STEP_BOX_START,
	    STEP_HELLO, STEP_READY },
	[OP_RERESUME] = { STEP_WORK_MAKE, STEP_LISTEN, STEP_BOX_START,
	    STEP_HELLO, STEP_READY },
	[OP_UNRESUME] = { STEP_BOX_KILL, STEP_UNLISTEN, STEP_STOPPED },
	[OP_REMAKE] = { STEP_WORK_MAKE, STEP_LISTEN, STEP_BOX_CREATE,
	    STEP_HELLO, STEP_READY },
	[OP_UNMAKE] = { STEP_BOX_REMOVE, STEP_UNLISTEN, STEP_STOPPED },
	[OP_PAUSE] = { STEP_BOX_PAUSE, STEP_PAUSED },
	[OP_UNPAUSE] = { STEP_BOX_UNPAUSE, STEP_UNPAUSED },
	[OP_RESTART] = { STEP_BOX_UNPAUSE, STEP_GUEST_STOP, STEP_BOX_KILL,
	    STEP_UNLISTEN, STEP_EXECS_END, STEP_WORK_MAKE, STEP_LISTEN,
	    STEP_BOX_START, STEP_HELLO, STEP_READY },
	[OP_UPDATE] = { STEP_BOX_UPDATE, STEP_GREET, STEP_UPDATED },
	[OP_UNUPDATE] = { STEP_BOX_UPDATE, STEP_UPDATED },
	[OP_STOP] = { STEP_BOX_UNPAUSE, STEP_GUEST_STOP, STEP_BOX_KILL,
	    STEP_UNLISTEN, STEP_STOPPED },
	[OP_RESTOP] = { STEP_BOX_KILL, STEP_UNLISTEN, STEP_STOPPED },
	[OP_DELETE] = { STEP_BOX_REMOVE, STEP_UNLISTEN, STEP_WORK_REMOVE,
	    STEP_DELETED },
	[OP_UNDO] = { STEP_BOX_REMOVE, STEP_UNLISTEN, STEP_WORK_REMOVE,
	    STEP_CLEAN },
	[OP_UNBOX] = { STEP_BOX_REMOVE, STEP_UNLISTEN, STEP_CLEAN },
	[OP_REIN] = { STEP_BOX_KILL, STEP_UNLISTEN, STEP_OVER },
};

/* What the Engine is asked for. */
static const uint32_t order_of[] = {
	[STEP_BOX_CREATE] = MSG_BOX_CREATE,
	[STEP_BOX_START] = MSG_BOX_START,
	[STEP_BOX_PAUSE] = MSG_BOX_PAUSE,
	[STEP_BOX_UNPAUSE] = MSG_BOX_UNPAUSE,
	[STEP_BOX_UPDATE] = MSG_BOX_UPDATE,
	[STEP_BOX_KILL] = MSG_BOX_KILL,
	[STEP_BOX_REMOVE] = MSG_BOX_REMOVE
};

enum step
op_step(const struct sandbox *sb)
{
	return (sb->op.active ? steps[sb->op.kind][sb->op.step] : STEP_END);
}

int
op_is_held(struct sandbox *sb)
{
	return (op_step(sb) == STEP_HELD && !sb->op.committing);
}

/* It has so much time from now. */
void
op_time(struct sandbox *sb, uint64_t ms)
{
	timer_set(&sb->op.deadline, op_deadline, sb, ms);
	sb->op.due = times_now() + ms * 1000000;
}

static void
fill_work(struct msg_work *m, struct sandbox *sb)
{
	memset(m, 0, sizeof(*m));
	m->n = sb->r.n;
	m->owner = sb->r.owner;
	m->uid = sb->r.uid;
	m->gid = sb->r.gid;
	/* A damaged one has none, and is only to be removed. */
	if (sb->conf != NULL) {
		m->disk = sb->conf->disk;
		m->tmpfs = sb->conf->tmpfs != 0;
		m->mounts = mount_count(sb->conf);
		m->ticket = sb->ticket;
	}
}

/* What it reads now it says in its next hello; a frozen one cannot. */
static void
op_greet(struct sandbox *sb)
{
	if (sb->r.state != SBX_READY) {
		op_next(sb);
		return;
	}
	fault("store.greet.before");
	runner_greet(sb);
}

static void
op_guest_stop(struct sandbox *sb)
{
	struct msg_exec_ref	 m;

	if (!sb->op.up) {
		timer_set(&sb->op.deadline, op_deadline, sb,
		    st.conf.t_delete);
		op_next(sb);
		return;
	}
	timer_set(&sb->op.deadline, op_deadline, sb,
	    sb->op.grace + STORE_STOP_MS);
	memset(&m, 0, sizeof(m));
	m.n = sb->r.n;
	m.owner = sb->r.owner;
	m.grace = sb->op.grace;
	pipe_send(&st.runner, MSG_GUEST_STOP, sb->op.number, 0, 0, -1, &m);
}

/* Is it on its way to a guest that is to say hello? */
int
op_begins(const struct sandbox *sb)
{
	switch (sb->op.active ? sb->op.kind : OP_NONE) {
	case OP_CREATE:
	case OP_RECREATE:
	case OP_RESUME:
	case OP_RERESUME:
	case OP_REMAKE:
		return (1);
	case OP_RESTART:
		return (op_step(sb) == STEP_WORK_MAKE ||
		    op_step(sb) == STEP_LISTEN ||
		    op_step(sb) == STEP_BOX_START ||
		    op_step(sb) == STEP_HELLO);
	default:
		return (0);
	}
}

void
op_deadline(int fd, short event, void *arg)
{
	struct sandbox	*sb = arg;
	char		 cause[CAUSE_MAX + 1];

	(void)fd;
	(void)event;
	if (!sb->op.active || sb->op.committing)
		return;
	if (op_is_held(sb)) {
		held_late(sb);
		return;
	}
	if (op_begins(sb)) {
		op_fail(sb, CODE_DEADLINE_EXCEEDED,
		    "it was not ready in time");
		return;
	}
	if (op_step(sb) == STEP_GUEST_STOP) {
		/* A guest that does not answer is not waited for. */
		timer_set(&sb->op.deadline, op_deadline, sb,
		    st.conf.t_delete);
		op_next(sb);
		return;
	}
	strlcpy(cause, sb->op.cause, sizeof(cause));
	strlcpy(sb->op.cause, "not done in time; it goes on",
	    sizeof(sb->op.cause));
	wait_sandbox(sb, CODE_DEADLINE_EXCEEDED);
	strlcpy(sb->op.cause, cause, sizeof(sb->op.cause));
}

/* What it has come to is to be in the log. */
static void
op_commit(struct sandbox *sb, enum step step)
{
	sb->op.committing = 1;
	switch (step) {
	case STEP_READY:
		change_state(sb, VERB_READY, CODE_OK, NULL);
		break;
	case STEP_PAUSED:
		change_state(sb, VERB_PAUSED, CODE_OK, NULL);
		break;
	case STEP_UNPAUSED:
		change_state(sb, VERB_UNPAUSED, CODE_OK, NULL);
		break;
	case STEP_UPDATED:
		update_end(sb, sb->op.code, sb->op.cause);
		break;
	case STEP_STOPPED:
		change_state(sb, VERB_STOPPED, sb->op.code, sb->op.cause);
		break;
	default:	/* STEP_DELETED */
		change_state(sb, VERB_DELETED, CODE_OK, sb->op.cause);
		break;
	}
}

static void
op_do(struct sandbox *sb, enum step step)
{
	struct msg_work	 work;

	switch (step) {
	case STEP_WORK_MAKE:
		if (sb->op.kind == OP_RESTART)
			timer_set(&sb->op.deadline, op_deadline, sb,
			    st.conf.t_create);
		/* FALLTHROUGH */
	case STEP_WORK_REMOVE:
		fill_work(&work, sb);
		fault("store.work.before");
		pipe_send(&st.parent, step == STEP_WORK_MAKE ? MSG_WORK_MAKE :
		    MSG_WORK_REMOVE, sb->op.number, 0, 0, -1, &work);
		break;
	case STEP_LISTEN:
		fault("store.listen.before");
		runner_listen(sb);
		break;
	case STEP_BOX_UNPAUSE:
		if (!sb->op.frozen) {
			op_next(sb);
			break;
		}
		/* FALLTHROUGH */
	case STEP_BOX_CREATE:
	case STEP_BOX_START:
	case STEP_BOX_PAUSE:
	case STEP_BOX_UPDATE:
	case STEP_BOX_KILL:
	case STEP_BOX_REMOVE:
		engine_ask(sb, order_of[step]);
		break;
	case STEP_HELLO:
		op_meet(sb);
		break;
	case STEP_HELD:
		held_begin(sb);
		break;
	case STEP_GREET:
		op_greet(sb);
		break;
	case STEP_GUEST_STOP:
		op_guest_stop(sb);
		break;
	case STEP_UNLISTEN:
		runner_unlisten(sb);
		op_next(sb);
		break;
	case STEP_EXECS_END:
		change_execs(sb);
		break;
	case STEP_READY:
	case STEP_PAUSED:
	case STEP_UNPAUSED:
	case STEP_UPDATED:
	case STEP_STOPPED:
	case STEP_DELETED:
		op_commit(sb, step);
		break;
	case STEP_CLEAN:
		sb->op.active = 0;
		timer_del(&sb->op.deadline);
		change_clean(sb, NULL);
		break;
	case STEP_OVER:
		sb->op.active = 0;
		timer_del(&sb->op.deadline);
		update_again(sb);
		break;
	case STEP_END:
		break;
	}
}

void
op_next(struct sandbox *sb)
{
	sb->op.step++;
	op_do(sb, op_step(sb));
}

void
op_start(struct sandbox *sb, enum op_kind kind)
{
	struct op	*op = &sb->op;
	uint64_t	 ms;
	int		 undo;

	engine_forget(op);
	op->kind = kind;
	/* The answer of what it undoes may still come under that number. */
	undo = kind == OP_UNRESUME || kind == OP_UNMAKE ||
	    kind == OP_REIN || kind == OP_UNUPDATE;
	op->number = undo || kind == OP_UPDATE ? store_op() : sb->r.op;
	op->step = 0;
	op->active = 1;
	op->committing = op->hello = op->started = 0;
	if (!undo) {
		op->code = CODE_OK;
		op->cause[0] = '\0';
		/* Why it is done, if nobody has asked. */
		if (kind == OP_STOP || kind == OP_RESTOP || kind == OP_DELETE)
			strlcpy(op->cause, sb->r.cause, sizeof(op->cause));
	}
	memset(&op->guest, 0, sizeof(op->guest));
	memset(&op->box, 0, sizeof(op->box));
	switch (kind) {
	case OP_CREATE:
	case OP_RECREATE:
	case OP_RESUME:
	case OP_RERESUME:
	case OP_REMAKE:
		ms = st.conf.t_create;
		break;
	case OP_PAUSE:
	case OP_UNPAUSE:
	case OP_UPDATE:
	case OP_UNUPDATE:
		ms = st.conf.t_engine;
		break;
	default:
		ms = st.conf.t_delete;
		break;
	}
	op_time(sb, ms);
	times_update(sb);
	op_do(sb, op_step(sb));
}

/* Execs that ended with a guest which another one follows. */
void
op_execs_ended(struct sandbox *sb)
{
	if (op_step(sb) == STEP_EXECS_END)
		op_next(sb);
}

/* Another operation has taken its place. */
void
op_abort(struct sandbox *sb, const char *why)
{
	if (!sb->op.active)
		return;
	if (op_begins(sb))
		mount_over(sb);
	engine_forget(&sb->op);
	timer_del(&sb->op.deadline);
	sb->op.active = 0;
	strlcpy(sb->op.cause, why, sizeof(sb->op.cause));
	wait_sandbox(sb, CODE_CONFLICT);
}

/* The current operation cannot be done. */
void
op_fail(struct sandbox *sb, enum code code, const char *text)
{
	struct op	*op = &sb->op;
	char		 cause[CAUSE_MAX + 1];

	if (!op->active || op->committing)
		return;
	if (op_begins(sb))
		mount_over(sb);
	engine_forget(op);
	timer_del(&op->deadline);
	switch (op->kind) {
	case OP_RESTART:
		if (op_step(sb) == STEP_BOX_KILL)
			break;
		/* FALLTHROUGH */
	case OP_REMAKE:
	case OP_RESUME:
	case OP_RERESUME:
		/* The workspace and its files stay: it is stopped again. */
		op->code = code;
		snprintf(op->cause, sizeof(op->cause), "%s failed: %s",
		    op->kind == OP_RESTART ? "restart" : "resume", text);
		op_start(sb, op->kind == OP_REMAKE ? OP_UNMAKE : OP_UNRESUME);
		return;
	case OP_PAUSE:
	case OP_UNPAUSE:
		/* It is as it was. */
		snprintf(cause, sizeof(cause), "%s failed: %.400s",
		    op->kind == OP_PAUSE ? "pause" : "unpause", text);
		op->committing = 1;
		change_state(sb, op->kind == OP_PAUSE ? VERB_UNPAUSED :
		    VERB_PAUSED, code, cause);
		return;
	case OP_UPDATE:
		/* The Engine has done it, and it is not so. */
		op->code = code;
		snprintf(op->cause, sizeof(op->cause), "update failed: "
		    "%.400s", text);
		if (op_step(sb) == STEP_GREET) {
			op_start(sb, OP_UNUPDATE);
			return;
		}
		op_do(sb, STEP_UPDATED);
		return;
	case OP_UNUPDATE:
		log_warnx("sandbox %s (%llu): the limits before cannot be set "
		    "again: %s", sb->r.id, (unsigned long long)sb->r.n, text);
		op_do(sb, STEP_UPDATED);
		return;
	case OP_UNRESUME:
	case OP_UNMAKE:
		op->step = 2;
		op_do(sb, STEP_STOPPED);
		return;
	case OP_UNDO:
	case OP_UNBOX:
		op->active = 0;
		change_clean(sb, text);
		return;
	case OP_REIN:
		op->active = 0;
		change_note(sb, EV_SBX_LEFT, "left", text);
		return;
	default:
		break;
	}
	op->committing = 1;
	change_state(sb, VERB_FAILED, code, text);
}

/*
 * What has failed goes, but for the work of a sandbox that was ready: what
 * made it fail may be an Engine that was set up anew, or somebody's mistake,
 * and the files are not to be had again.  They go with the sandbox.
 */
void
op_undo(struct sandbox *sb)
{
	op_start(sb, sb->r.container[0] == '\0' ? OP_UNDO : OP_UNBOX);
}

/* A change of state that ends an operation is in the log. */
void
op_committed(struct sandbox *sb, enum sbx_verb verb)
{
	enum op_kind	 kind = sb->op.kind;
	int		 was = sb->op.active;

	/* By somebody else, while it was on its way. */
	if (was && !sb->op.committing && op_begins(sb))
		mount_over(sb);
	engine_forget(&sb->op);
	timer_del(&sb->op.deadline);
	sb->op.active = sb->op.committing = 0;
	switch (verb) {
	case VERB_READY:
		/* From now on no other process may play the guest. */
		runner_listen(sb);
		wait_sandbox(sb, CODE_OK);
		break;
	case VERB_FAILED:
		wait_sandbox(sb, sb->op.code);
		if (!was || kind != OP_DELETE)
			op_undo(sb);
		break;
	case VERB_DIED:
		runner_unlisten(sb);
		wait_sandbox(sb, CODE_CONFLICT);
		break;
	default:
		wait_sandbox(sb, sb->op.code);
		break;
	}
	sb->worked = times_now();
	times_update(sb);
	exec_admit();
	update_again(sb);
}

/* The end of an update is, of the operation of that number if it is still. */
void
op_updated(struct sandbox *sb, uint64_t number, enum code code,
    const char *cause)
{
	if (sb->op.active && sb->op.number == number) {
		timer_del(&sb->op.deadline);
		sb->op.active = sb->op.committing = 0;
		strlcpy(sb->op.cause, cause, sizeof(sb->op.cause));
		wait_sandbox(sb, code);
	}
	times_update(sb);
}
