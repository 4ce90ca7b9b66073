/*
 * A guest that lives and does not answer, or does not end a command whose time
 * is over: the runner tells, and by the sandbox's state it is judged.  One that
 * is paused is silent by right, and so is one of which the Engine, being away,
 * cannot say whether it is.  From the moment at which that is over its silence
 * counts anew: PROBE has a number, and what was told before that is dropped.
 *
 * Its sandbox is stopped, as one is whose guest is dead, by the broker alone.
 * The commands whose time was over have timed out, the others are lost.
 */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"

struct silent {
	struct sandbox		*sb;
	uint64_t		 number;	/* of the last PROBE it knew */
	struct msg_guest_silent	 m;
	struct event		 retry;
};

static void
silent_free(struct silent *q)
{
	u64v_clear(&q->m.late);
	free(q);
}

/* Those whose time was over, with what there is of their output. */
static int
silent_late(struct batch *b, struct silent *q)
{
	const struct u64v	*v = &q->m.late;
	struct exec_row		 r;
	struct exec		*ex;
	size_t			 i;

	for (i = 0; i + SILENT_FIELDS <= v->n; i += SILENT_FIELDS) {
		if ((ex = model_exec(q->sb, v->v[i])) == NULL ||
		    lifecycle_exec_ended(ex->r.state))
			continue;
		memset(&r, 0, sizeof(r));
		r.state = EXEC_TIMED_OUT;
		r.code = SILENT_SIGNAL;
		r.length1 = v->v[i + 1];
		r.dropped1 = v->v[i + 2];
		r.length2 = v->v[i + 3];
		r.dropped2 = v->v[i + 4];
		strlcpy(r.cause, "timeout: its guest did not end it",
		    sizeof(r.cause));
		if (exec_end_row(b, ex, &r) != BATCH_OK)
			return (BATCH_FAIL);
	}
	return (BATCH_OK);
}

static int
body_silent(struct batch *b, void *arg)
{
	struct silent	*q = arg;
	struct sandbox	*sb = q->sb;
	struct kvv	 d = { 0 };

	if (sb->r.state != SBX_READY || sb->r.boot != q->m.boot ||
	    sb->probe != q->number)
		return (BATCH_REFUSED);
	if (silent_late(b, q) != BATCH_OK ||
	    exec_end_all(b, sb, EXEC_LOST, q->m.text) != BATCH_OK)
		return (BATCH_FAIL);
	model_keep(b, sb);
	sb->r.state = lifecycle_next(sb->r.state, VERB_STOP);
	strlcpy(sb->r.cause, q->m.text, sizeof(sb->r.cause));
	sb->r.changed = store_now();
	sb->r.op = store_op();
	sb->r.dirty = 1;
	detail_str(&d, "reason", "silent");
	detail_str(&d, "cause", sb->r.cause);
	if (store_event(b, sb, EV_SBX_STOP, ACTOR_DAEMON, 0, &d) != BATCH_OK)
		return (BATCH_FAIL);
	return (model_put(b, sb));
}

static void	done_silent(void *, int);

static void
silent_again(int fd, short event, void *arg)
{
	struct silent	*q = arg;

	(void)fd;
	(void)event;
	/* It may be history by now. */
	if ((q->sb = model_number(&st.model, q->m.n)) == NULL)
		silent_free(q);
	else
		batch_gating(&st.batch, body_silent, done_silent, q);
}

/* It is not asked to stop first: it does not answer. */
static void
done_silent(void *arg, int result)
{
	struct silent	*q = arg;
	struct sandbox	*sb = q->sb;

	if (result == BATCH_NOSPACE || result == BATCH_UNAVAIL) {
		timer_set(&q->retry, silent_again, q, STORE_RETRY_MS);
		return;
	}
	if (result == BATCH_OK) {
		fault("store.silent.accepted");
		log_warnx("sandbox %s (%llu): %s: %s", sb->r.id,
		    (unsigned long long)sb->r.n, lifecycle_name(sb->r.state),
		    sb->r.cause);
		op_abort(sb, "its guest was silent");
		sb->op.up = sb->op.frozen = 0;
		op_start(sb, OP_RESTOP);
		times_update(sb);
	} else
		log_info("sandbox %s (%llu): its guest was silent, and it "
		    "is %s", sb->r.id, (unsigned long long)sb->r.n,
		    lifecycle_name(sb->r.state));
	silent_free(q);
}

int
silent_recv(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_guest_silent	*m = msg;
	struct sandbox		*sb;
	struct silent		*q;

	(void)ch;
	if (m->late.n % SILENT_FIELDS != 0)
		return (-1);
	if ((sb = model_number(&st.model, m->n)) == NULL || damaged())
		return (0);
	fault("store.silent.before");
	/* Somebody may have paused it, and nobody can say so. */
	if (!st.engine.up || st.inventory != 0) {
		sb->silent = 1;
		return (0);
	}
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->sb = sb;
	q->number = f->op;
	q->m = *m;
	memset(&m->late, 0, sizeof(m->late));
	batch_gating(&st.batch, body_silent, done_silent, q);
	return (0);
}

/* It may have been silent by right so far. */
void
silent_probe(struct sandbox *sb)
{
	sb->silent = 0;
	sb->probe = store_op();
	runner_probe(sb);
}

/* What the Engine has is known. */
void
silent_engine(struct sandbox *sb)
{
	if (sb->silent)
		silent_probe(sb);
}
