/*
 * What a start finds, and what the Engine's return brings.
 *
 * At the start the runner is told which guests to expect and which execs have
 * no end; that needs no Engine.  When the Engine is there its containers are
 * compared with what the log says: operations that were cut off go on from
 * their first step, each of which does nothing where nothing is to be done;
 * sandboxes whose container has ended are stopped; what is ours by its label
 * and belongs to no sandbox is removed.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"

/* Before anything is asked of the Engine. */
void
reconcile_start(void)
{
	struct sandbox	*sb;

	RB_FOREACH(sb, sbx_by_n, &st.model.by_n)
		if (sb->r.state == SBX_READY) {
			runner_listen(sb);
			exec_resend(sb);
		}
	retain_schedule();
}

/* An operation that a start or an absence has cut off. */
static void
reconcile_operation(struct sandbox *sb)
{
	if (sb->op.active)
		return;
	switch (sb->r.state) {
	case SBX_PENDING:
		op_start(sb, OP_RECREATE);
		break;
	case SBX_RESUMING:
		op_start(sb, OP_RERESUME);
		break;
	case SBX_STOPPING:
		op_start(sb, OP_RESTOP);
		break;
	case SBX_DELETING:
		op_start(sb, OP_DELETE);
		break;
	case SBX_FAILED:
		if (sb->r.dirty)
			op_undo(sb);
		break;
	default:
		break;
	}
}

/* The Engine is there: what does it have of ours? */
void
reconcile_engine(void)
{
	struct sandbox	*sb;

	/*
	 * Only what was there before the question is judged by the answer.
	 */
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
		sb->listed = sb->r.state == SBX_READY ||
		    sb->r.state == SBX_STOPPED;
		sb->named = 0;
	}
	st.inventory = store_op();
	fault("store.inventory.before");
	pipe_send(&st.broker, MSG_INVENTORY, st.inventory, 0, 0, -1, NULL);
}

static void
reconcile_stray(const struct msg_box_state *m)
{
	struct msg_box_ref	 ref;

	log_warnx("container %.12s of no sandbox of ours: removed",
	    m->container);
	memset(&ref, 0, sizeof(ref));
	strlcpy(ref.container, m->container, sizeof(ref.container));
	strlcpy(ref.nonce, m->nonce, sizeof(ref.nonce));
	pipe_send(&st.broker, MSG_BOX_REMOVE, store_op(), 0, 0, -1, &ref);
}

/*
 * A container that is not running: made by a create that had been given up,
 * after its undoing.  Nobody else would ever remove it.  1 if that is it.
 */
int
reconcile_late(struct sandbox *sb, const struct msg_box_state *m)
{
	if (sb != NULL && strcmp(m->nonce, sb->r.nonce) == 0 &&
	    sb->r.state != SBX_FAILED && sb->r.state != SBX_DELETING &&
	    sb->r.state != SBX_DELETED)
		return (0);
	/* Its removal is on its way, by its name. */
	if (sb == NULL || !sb->op.queued)
		reconcile_stray(m);
	return (1);
}

void
reconcile_container(const struct msg_box_state *m)
{
	struct sandbox	*sb;

	/*
	 * A deleted one that is dirty no more has nothing left, and the
	 * number of what failed is being undone by its own operation.
	 */
	sb = model_number(&st.model, m->n);
	if (sb == NULL || strcmp(m->nonce, sb->r.nonce) != 0 ||
	    sb->r.state == SBX_DELETED) {
		if (!m->gone)
			reconcile_stray(m);
		return;
	}
	sb->named = 1;
	sb->box = *m;
}

/* The container of a sandbox is not running, or not there. */
void
reconcile_dead(struct sandbox *sb, const struct msg_box_state *m)
{
	char	 cause[CAUSE_MAX + 1];

	if (m->gone)
		strlcpy(cause, "its container is gone", sizeof(cause));
	else if (m->oom)
		strlcpy(cause, "out of memory", sizeof(cause));
	else
		snprintf(cause, sizeof(cause), "its container ended with "
		    "status %d", m->exitcode);
	switch (sb->r.state) {
	case SBX_READY:
		change_state(sb, m->gone ? VERB_FAILED : VERB_DIED,
		    CODE_ENGINE_ERROR, cause);
		break;
	case SBX_STOPPED:
		if (m->gone)
			change_state(sb, VERB_FAILED, CODE_ENGINE_ERROR,
			    cause);
		break;
	case SBX_PENDING:
	case SBX_RESUMING:
		/* The broker has an order for it, or had one. */
		if (sb->op.started)
			op_fail(sb, CODE_ENGINE_ERROR, cause);
		break;
	case SBX_STOPPING:
		op_guest_gone(sb);
		break;
	default:
		break;
	}
}

static void
reconcile_judge(struct sandbox *sb)
{
	struct msg_box_state	 none;

	if (!sb->named) {
		memset(&none, 0, sizeof(none));
		none.gone = 1;
		reconcile_dead(sb, &none);
	} else if (sb->r.state == SBX_READY && !sb->box.running) {
		change_state(sb, VERB_DIED, CODE_ENGINE_ERROR,
		    st.hostboot ? "host_restart" : "engine_restart");
	} else if (sb->r.state == SBX_READY && sb->r.pid != sb->box.pid) {
		/* Somebody else has started it again: not our guest. */
		change_state(sb, VERB_FAILED, CODE_PROTOCOL,
		    "its container was started by somebody else");
	}
}

static void
reconcile_again(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	(void)arg;
	/* Its return, if it is away, asks as well. */
	if (st.engine.up && st.inventory == 0)
		reconcile_engine();
}

void
reconcile_end(const struct msg_box_done *m)
{
	static struct event	 again;
	struct sandbox		*sb;

	st.inventory = 0;
	if (m->code != CODE_OK) {
		log_warnx("inventory: %s", m->text);
		timer_set(&again, reconcile_again, NULL, STORE_RETRY_MS);
		return;
	}
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
		if (sb->listed && (sb->r.state == SBX_READY ||
		    sb->r.state == SBX_STOPPED))
			reconcile_judge(sb);
		sb->listed = 0;
		reconcile_operation(sb);
	}
	/* From now on it is the Engine that ends containers. */
	store_booted();
	fault("store.inventory.after");
}
