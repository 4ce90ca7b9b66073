/*
 * What the other processes, and the guest, say of an operation: each answer
 * takes it a step on, or is the end of it.
 *
 * One counts only while that step waits for it.  What comes late, of an
 * operation that another one has followed, is dropped.
 */
#include <sys/types.h>

#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"
#include "store_ops.h"

/*
 * A limit as it was asked for, and as the guest reads it: 0 is none.  An
 * Engine may show what the kernel does not keep.
 */
static int
op_limit(const char *name, uint32_t bit, uint64_t asked, uint64_t seen,
    uint64_t step, char *text, size_t size)
{
	if (st.conf.unenforced & bit)
		return (0);
	if (seen != 0 && seen <= (asked + step - 1) / step * step)
		return (0);
	if (seen == 0)
		snprintf(text, size, "limit not enforceable: %s: asked for "
		    "%llu, the guest reads none", name,
		    (unsigned long long)asked);
	else
		snprintf(text, size, "limit not enforceable: %s: asked for "
		    "%llu, the guest reads %llu", name,
		    (unsigned long long)asked, (unsigned long long)seen);
	return (-1);
}

static int
op_unenforced(struct sandbox *sb, char *text, size_t size)
{
	struct msg_guest_hello	*g = &sb->op.guest;
	struct limits		 l;

	/* Of an update that was cut off both may be in force. */
	if (sb->op.kind == OP_UPDATE)
		update_wanted(sb, &l);
	else
		update_most(sb, &l);
	if (op_limit("memory", UNENFORCED_MEMORY, l.memory, g->memory, 1,
	    text, size) || op_limit("cpus", UNENFORCED_CPUS, l.mcpus,
	    g->mcpus, LIMIT_CPUS_STEP, text, size) ||
	    op_limit("pids", UNENFORCED_PIDS, l.pids, g->pids, 1, text,
	    size))
		return (-1);
	/* There is to be none, and who cannot read it says that. */
	if (g->swap == 0 || st.conf.unenforced & UNENFORCED_SWAP)
		return (0);
	snprintf(text, size, "limit not enforceable: swap: asked for none, "
	    "the guest reads %llu", (unsigned long long)g->swap);
	return (-1);
}

/* The guest has come in and the broker has said which process it is. */
void
op_meet(struct sandbox *sb)
{
	char		 text[160];

	if (!sb->op.hello || !sb->op.started || sb->op.committing)
		return;
	if (sb->op.guest.pid != sb->op.box.pid) {
		snprintf(text, sizeof(text), "process %u came in the place "
		    "of the guest, which is %u", sb->op.guest.pid,
		    sb->op.box.pid);
		op_fail(sb, CODE_PROTOCOL, text);
		return;
	}
	if (op_unenforced(sb, text, sizeof(text)) == -1) {
		op_fail(sb, CODE_POLICY_DENIED, text);
		return;
	}
	/* One that is held has come again. */
	if (op_step(sb) == STEP_HELD)
		held_end(sb);
	else
		op_next(sb);
}

static void
op_greeted(struct sandbox *sb)
{
	char	 text[160];

	if (op_unenforced(sb, text, sizeof(text)) == -1)
		op_fail(sb, CODE_POLICY_DENIED, text);
	else
		op_next(sb);
}

void
op_work_done(uint64_t number, const struct msg_work_done *m)
{
	struct sandbox	*sb;
	enum step	 step;

	fault("store.work.after");
	if ((sb = model_number(&st.model, m->n)) == NULL ||
	    sb->op.number != number)
		return;
	step = op_step(sb);
	if (step != STEP_WORK_MAKE && step != STEP_WORK_REMOVE)
		return;
	if (m->code != CODE_OK)
		op_fail(sb, m->code, m->text);
	else
		op_next(sb);
}

void
op_listening(const struct msg_guest_gone *m)
{
	struct sandbox	*sb;

	if ((sb = model_number(&st.model, m->n)) == NULL ||
	    op_step(sb) != STEP_LISTEN)
		return;
	/* A hello up to here was that of the guest before. */
	sb->op.hello = 0;
	if (m->text[0] != '\0')
		op_fail(sb, CODE_INTERNAL, m->text);
	else
		op_next(sb);
}

/* What its guest reads is to be had another time. */
void
op_busy(const struct msg_guest_gone *m)
{
	struct sandbox	*sb;

	if ((sb = model_number(&st.model, m->n)) != NULL &&
	    op_step(sb) == STEP_GREET && !sb->op.committing)
		op_next(sb);
}

void
op_runner_failed(uint64_t number, const struct msg_result *m)
{
	struct sandbox	*sb;

	if (number == 0)
		return;
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n)
		if (sb->r.op == number && op_step(sb) == STEP_LISTEN) {
			op_fail(sb, m->code, m->text);
			return;
		}
	log_warnx("runner: %s", m->text);
}

void
op_hello(struct sandbox *sb, const struct msg_guest_hello *m)
{
	if (!op_begins(sb) && op_step(sb) != STEP_GREET)
		return;
	sb->op.guest = *m;
	sb->op.hello = 1;
	if (op_step(sb) == STEP_HELLO || op_step(sb) == STEP_HELD)
		op_meet(sb);
	else if (op_step(sb) == STEP_GREET)
		op_greeted(sb);
}

void
op_guest_gone(struct sandbox *sb)
{
	/* It comes again, or its container's end is told by the broker. */
	sb->here = 0;
	sb->op.hello = 0;
	if (op_step(sb) == STEP_GUEST_STOP && !sb->op.committing) {
		timer_set(&sb->op.deadline, op_deadline, sb,
		    st.conf.t_delete);
		op_next(sb);
	}
}

/* It ended before it could be paused, or unpaused. */
static void
op_box_dead(struct sandbox *sb, const struct msg_box_state *m)
{
	if (sb->op.kind == OP_PAUSE || sb->op.kind == OP_UNPAUSE ||
	    sb->op.kind == OP_UPDATE || sb->op.kind == OP_UNUPDATE) {
		reconcile_dead(sb, m);
		return;
	}
	sb->op.up = 0;
	op_next(sb);
}

/* What had ended before, as is known, is told here how. */
static void
op_killed(struct sandbox *sb, const struct msg_box_state *m)
{
	if (sb->op.kind == OP_REIN && !m->gone)
		reconcile_dead(sb, m);
	op_next(sb);
}

static void
op_box_failed(struct sandbox *sb, const struct msg_box_failed *m)
{
	char	 text[TEXT_MAX + 1];

	/* What is to end anyway need not be let go on before. */
	if (op_step(sb) == STEP_BOX_UNPAUSE && sb->op.kind != OP_UNPAUSE) {
		sb->op.up = 0;
		op_next(sb);
		return;
	}
	strlcpy(text, m->text, sizeof(text));
	op_fail(sb, m->code == CODE_OK ? CODE_INTERNAL : m->code, text);
}

/* What the broker answers, by the number of the operation. */
void
op_box(uint64_t number, uint32_t type, const void *msg)
{
	struct sandbox	*sb;
	enum step	 step;
	uint64_t	 n;

	fault("store.outcome.before");
	engine_answered(number);
	/* All answers begin with the sandbox's number. */
	memcpy(&n, msg, sizeof(n));
	if ((sb = model_number(&st.model, n)) == NULL || !sb->op.active ||
	    sb->op.number != number || sb->op.committing) {
		if (n != 0)
			log_info("sandbox %llu: late %s dropped",
			    (unsigned long long)n, msg_name(type));
		engine_pump();
		return;
	}
	step = op_step(sb);
	switch (type) {
	case MSG_BOX_STARTED:
		if (step != STEP_BOX_CREATE && step != STEP_BOX_START)
			break;
		memcpy(&sb->op.box, msg, sizeof(sb->op.box));
		sb->op.started = 1;
		mount_over(sb);
		op_next(sb);
		break;
	case MSG_BOX_DEAD:
		if (step == STEP_BOX_KILL)
			op_killed(sb, msg);
		else if (step == STEP_BOX_PAUSE || step == STEP_BOX_UNPAUSE ||
		    step == STEP_BOX_UPDATE)
			op_box_dead(sb, msg);
		break;
	case MSG_BOX_PAUSED:
		if (step == STEP_BOX_PAUSE)
			op_next(sb);
		break;
	case MSG_BOX_UNPAUSED:
		if (step == STEP_BOX_UNPAUSE)
			op_next(sb);
		break;
	case MSG_BOX_UPDATED:
		if (step != STEP_BOX_UPDATE)
			break;
		memcpy(&sb->op.box, msg, sizeof(sb->op.box));
		op_next(sb);
		break;
	case MSG_BOX_REMOVED:
		if (step == STEP_BOX_REMOVE)
			op_next(sb);
		break;
	default:
		op_box_failed(sb, msg);
		break;
	}
	engine_pump();
}
