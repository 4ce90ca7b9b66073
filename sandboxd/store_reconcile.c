/*
 * What a start finds, and what the Engine's return brings.
 *
 * At the start the runner is told which guests to expect and which execs have
 * no end; that needs no Engine.  When the Engine is there its containers are
 * compared with what the log says.  What follows of the two is in the table
 * of recover.c, and each of its outcomes is a function here.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "recover.h"
#include "store.h"

/* Before anything is asked of the Engine. */
void
reconcile_start(void)
{
	struct sandbox	*sb;

	RB_FOREACH(sb, sbx_by_n, &st.model.by_n)
		if (order_has_guest(sb)) {
			runner_listen(sb);
			exec_resend(sb);
		}
	times_all(1);
	retain_schedule();
}

/* An operation that a start or an absence has cut off. */
static void
reconcile_operation(struct sandbox *sb)
{
	switch (sb->r.state) {
	case SBX_PENDING:
		op_start(sb, OP_RECREATE);
		break;
	case SBX_PAUSING:
	case SBX_RESUMING:
	case SBX_STOPPING:
	case SBX_DELETING:
		order_again(sb);
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
	 * Only what was there before the question, and has not changed since,
	 * is judged by the answer.
	 */
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
		sb->listed = sb->op.active ? SBX_NONE : sb->r.state;
		sb->asked = sb->r.op;
		sb->named = 0;
	}
	recover_begin();
	st.inventory = store_op();
	fault("store.inventory.before");
	pipe_send(&st.broker, MSG_INVENTORY, st.inventory, 0, 0, -1, NULL);
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
		recover_stray(sb, m);
	return (1);
}

/*
 * Whose container that is: by its name, and if somebody has renamed it by the
 * mark of the operation that made it and its ID.
 */
struct sandbox *
reconcile_whose(const struct msg_box_state *m)
{
	struct sandbox	*named, *sb;

	named = model_number(&st.model, m->n);
	if (m->nonce[0] == '\0' ||
	    (named != NULL && strcmp(m->nonce, named->r.nonce) == 0))
		return (named);
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n)
		if (strcmp(m->nonce, sb->r.nonce) == 0 &&
		    strcmp(m->container, sb->r.container) == 0)
			return (sb);
	return (named);
}

void
reconcile_container(const struct msg_box_state *m)
{
	struct sandbox	*sb;

	sb = reconcile_whose(m);
	/* With its row the mark was lost: here it is again. */
	if (sb != NULL && sb->bare && sb->r.nonce[0] == '\0')
		strlcpy(sb->r.nonce, m->nonce, sizeof(sb->r.nonce));
	/* A deleted one that is dirty no more has nothing left. */
	if (sb == NULL || strcmp(m->nonce, sb->r.nonce) != 0 ||
	    sb->r.state == SBX_DELETED) {
		if (!m->gone)
			recover_stray(sb, m);
		return;
	}
	sb->named = 1;
	sb->box = *m;
	reconcile_named(sb, m);
}

/*
 * Why a container does not run any more, in a word that programs know and
 * then one for people.  What cannot be known is not said: that memory ran out
 * once does not tell that this was the end of it.
 */
static void
reconcile_cause(char *cause, size_t len, const struct msg_box_state *m,
    int watched)
{
	const char	*late = watched ? "" : ", while nobody watched";

	if (m->gone)
		snprintf(cause, len, "removed: its container is gone");
	else if (m->oom)
		snprintf(cause, len, "out_of_memory: its container ended "
		    "with status %d%s", m->exitcode, late);
	else
		snprintf(cause, len, "%s: its container ended with status "
		    "%d%s", m->exitcode > 128 ? "killed" : "exited",
		    m->exitcode, late);
}

/* It has ended, and nobody could tell how. */
static int
reconcile_unknown(const struct sandbox *sb)
{
	return (sb->r.state == SBX_STOPPED && strncmp(sb->r.cause,
	    CAUSE_UNKNOWN ":", sizeof(CAUSE_UNKNOWN)) == 0);
}

struct classed {
	struct sandbox	*sb;
	uint64_t	 op;
	char		 cause[CAUSE_MAX + 1];
};

static int
body_classed(struct batch *b, void *arg)
{
	struct classed	*q = arg;
	struct sandbox	*sb = q->sb;
	struct kvv	 d = { 0 };

	if (!reconcile_unknown(sb) || sb->r.op != q->op)
		return (BATCH_REFUSED);
	model_keep(b, sb);
	strlcpy(sb->r.cause, q->cause, sizeof(sb->r.cause));
	detail_str(&d, "cause", q->cause);
	if (store_event(b, sb, EV_SBX_CAUSE, ACTOR_DAEMON, 0, &d) !=
	    BATCH_OK)
		return (BATCH_FAIL);
	return (model_put(b, sb));
}

/* If it was not written the next inventory finds the same. */
static void
done_classed(void *arg, int result)
{
	struct classed	*q = arg;

	if (result == BATCH_OK)
		log_info("sandbox %s (%llu): %s", q->sb->r.id,
		    (unsigned long long)q->sb->r.n, q->cause);
	free(q);
}

/* How it ended is known after all.  That it did has been told. */
static void
reconcile_classed(struct sandbox *sb, const char *cause)
{
	struct classed	*q;

	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->sb = sb;
	q->op = sb->r.op;
	strlcpy(q->cause, cause, sizeof(q->cause));
	batch_gating(&st.batch, body_classed, done_classed, q);
}

/* The container of a sandbox is not running, or not there. */
void
reconcile_dead(struct sandbox *sb, const struct msg_box_state *m)
{
	char	 cause[CAUSE_MAX + 1];

	reconcile_cause(cause, sizeof(cause), m, 1);
	if (order_has_guest(sb)) {
		change_state(sb, m->gone ? VERB_FAILED : VERB_DIED,
		    CODE_ENGINE_ERROR, cause);
		return;
	}
	switch (sb->r.state) {
	case SBX_STOPPED:
		if (m->gone)
			change_state(sb, VERB_FAILED, CODE_ENGINE_ERROR,
			    cause);
		else if (reconcile_unknown(sb))
			reconcile_classed(sb, cause);
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

struct named {
	struct sandbox	*sb;
	uint32_t	 renamed;
};

static int
body_named(struct batch *b, void *arg)
{
	struct named	*q = arg;
	struct sandbox	*sb = q->sb;
	struct kvv	 d = { 0 };

	if (sb->r.renamed == q->renamed || sb->r.state == SBX_DELETED)
		return (BATCH_REFUSED);
	model_keep(b, sb);
	sb->r.renamed = q->renamed;
	detail_str(&d, "what", q->renamed ?
	    "its container was renamed by somebody else" :
	    "its container has its name again");
	if (store_event(b, sb, EV_SBX_OUTSIDE, ACTOR_DAEMON, 0, &d) !=
	    BATCH_OK)
		return (BATCH_FAIL);
	return (model_put(b, sb));
}

/* If it was not written the next inventory finds the same. */
static void
done_named(void *arg, int result)
{
	struct named	*q = arg;

	if (result == BATCH_OK && q->renamed)
		log_warnx("sandbox %s (%llu): its container was renamed by "
		    "somebody else", q->sb->r.id,
		    (unsigned long long)q->sb->r.n);
	free(q);
}

/* Its name is for people; what is done to it is done by its ID. */
void
reconcile_named(struct sandbox *sb, const struct msg_box_state *m)
{
	struct named	*q;

	if (strcmp(m->container, sb->r.container) != 0 ||
	    sb->r.renamed == (m->n != sb->r.n))
		return;
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->sb = sb;
	q->renamed = m->n != sb->r.n;
	batch_following(&st.batch, body_named, done_named, q);
}

/* Somebody else's pause is one as well, and so is its end. */
void
reconcile_paused(struct sandbox *sb, const struct msg_box_state *m)
{
	if (!m->running || sb->op.active ||
	    strcmp(m->nonce, sb->r.nonce) != 0)
		return;
	if (sb->r.state == SBX_READY && m->paused)
		change_state(sb, VERB_PAUSED, CODE_OK,
		    "paused by somebody else");
	else if (sb->r.state == SBX_PAUSED && !m->paused)
		change_state(sb, VERB_UNPAUSED, CODE_OK,
		    "unpaused by somebody else");
}

static void
reconcile_missing(struct sandbox *sb)
{
	struct msg_box_state	 none;

	memset(&none, 0, sizeof(none));
	none.gone = 1;
	reconcile_dead(sb, &none);
}

/*
 * It ran when what it runs on went, and is to run again.  Once: what ends
 * this resume leaves it stopped, as after one that somebody asked for.
 */
static int
body_resume(struct batch *b, void *arg)
{
	struct sandbox	*sb = arg;
	struct kvv	 d = { 0 };

	if (sb->r.state != SBX_STOPPED)
		return (BATCH_REFUSED);
	fault("store.again.before");
	model_keep(b, sb);
	sb->r.state = lifecycle_next(sb->r.state, VERB_RESUME);
	sb->r.cause[0] = '\0';
	sb->r.changed = store_now();
	sb->r.op = store_op();
	sb->r.dirty = 1;
	detail_str(&d, "rule", "resume-on-start");
	if (store_event(b, sb, EV_SBX_RESUME, ACTOR_DAEMON, 0, &d) !=
	    BATCH_OK)
		return (BATCH_FAIL);
	return (model_put(b, sb));
}

static void
done_resume(void *arg, int result)
{
	struct sandbox	*sb = arg;

	if (result == BATCH_REFUSED)
		return;
	if (result == BATCH_OK) {
		fault("store.again.accepted");
		op_start(sb, OP_RESUME);
	} else
		log_warnx("sandbox %s (%llu): not resumed: the event log "
		    "takes nothing", sb->r.id, (unsigned long long)sb->r.n);
}

/* It died, with what it ran on if that was away, or while we were. */
static void
reconcile_stopped(struct sandbox *sb)
{
	char	 cause[CAUSE_MAX + 1];

	if (st.hostboot)
		strlcpy(cause, "host_restart", sizeof(cause));
	else if (st.engine_left && (!reconcile_unknown(sb) ||
	    strcmp(sb->r.cause, CAUSE_AWAY) == 0))
		strlcpy(cause, "engine_restart", sizeof(cause));
	else
		reconcile_cause(cause, sizeof(cause), &sb->box, 0);
	if (reconcile_unknown(sb))
		reconcile_classed(sb, cause);
	else
		change_state(sb, VERB_DIED, CODE_ENGINE_ERROR, cause);
	/* In the same batch: it is not forgotten in between. */
	if (sb->conf != NULL && sb->conf->resume)
		batch_gating(&st.batch, body_resume, done_resume, sb);
}

static void
reconcile_foreign(struct sandbox *sb)
{
	change_state(sb, VERB_FAILED, CODE_PROTOCOL,
	    "foreign: its container was started by somebody else");
}

/* Nothing runs that was not asked for here. */
static void
reconcile_kill(struct sandbox *sb)
{
	/* Or it has ended, and the Engine does not know that yet. */
	if (!reconcile_unknown(sb))
		change_note(sb, EV_SBX_OUTSIDE, "what", "its container was "
		    "started by somebody else, and is ended");
	op_start(sb, OP_REIN);
}

static void	(*const outcomes[REC_NKINDS])(struct sandbox *) = {
	[REC_AGAIN] = reconcile_operation,
	[REC_MISSING] = reconcile_missing,
	[REC_STOPPED] = reconcile_stopped,
	[REC_FOREIGN] = reconcile_foreign,
	[REC_KILL] = reconcile_kill,
	[REC_UNDO] = op_undo,
};

/* Is there to be a container?  What never was ready can do without. */
int
reconcile_needs(const struct sandbox *sb)
{
	return (sb->r.container[0] != '\0' &&
	    recover_judge(sb->r.state, AT_NONE) == REC_MISSING);
}

static enum at_engine
reconcile_at(const struct sandbox *sb)
{
	if (!sb->named)
		return (sb->r.state == SBX_STOPPED && !reconcile_needs(sb) ?
		    AT_ENDED : AT_NONE);
	if (!sb->box.running)
		return (AT_ENDED);
	return (sb->r.pid == sb->box.pid ? AT_RUNS : AT_OTHER);
}

/* What was cut off is so whenever; the rest must not have changed since. */
int
reconcile_is_due(const struct sandbox *sb)
{
	if (sb->op.active)
		return (0);
	return (recover_judge(sb->r.state, AT_NONE) == REC_AGAIN ||
	    (sb->asked == sb->r.op && (sb->listed == sb->r.state ||
	    reconcile_unknown(sb))));
}

static void
reconcile_judge(struct sandbox *sb)
{
	enum recover	 rec = recover_judge(sb->r.state, reconcile_at(sb));

	/* It has ended, as is known; here is how. */
	if (rec == REC_KEEP && reconcile_unknown(sb) && sb->named)
		rec = REC_STOPPED;
	/* What failed and could not be removed is tried once more. */
	if (sb->r.state == SBX_FAILED && sb->r.dirty)
		rec = REC_UNDO;
	/* Deleted ones are strays, which have gone their way already. */
	if (sb->r.state == SBX_DELETED)
		rec = REC_KEEP;
	if (outcomes[rec] != NULL)
		outcomes[rec](sb);
	else
		reconcile_paused(sb, &sb->box);
	/* Limits that nobody knows to have been set, or not. */
	update_again(sb);
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

/* Told once, and again only if it has another reason. */
static void
reconcile_failed(const char *why)
{
	static struct event	 again;

	if (strcmp(st.inventory_why, why) != 0)
		log_warnx("what the Engine has cannot be known: %s", why);
	strlcpy(st.inventory_why, why, sizeof(st.inventory_why));
	recover_answer(CODE_UNAVAILABLE, why);
	timer_set(&again, reconcile_again, NULL, STORE_RETRY_MS);
}

void
reconcile_end(const struct msg_box_done *m)
{
	struct sandbox		*sb;
	int			 strange;

	st.inventory = 0;
	if (m->code != CODE_OK) {
		reconcile_failed(m->text);
		return;
	}
	st.inventory_why[0] = '\0';
	strange = recover_strange();
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
		if (reconcile_is_due(sb) && !recover_keep(sb, strange))
			reconcile_judge(sb);
		sb->listed = SBX_NONE;
		silent_engine(sb);
	}
	recover_end();
	st.engine_left = 0;
	/* From now on it is the Engine that ends containers. */
	store_booted();
	times_arm();
	recover_answer(CODE_OK, NULL);
	fault("store.inventory.after");
}
