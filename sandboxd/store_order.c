/*
 * What a client orders a sandbox to become: STOP, PAUSE, UNPAUSE, RESTART,
 * RESUME, DELETE.  The table in lifecycle.c says what is legal; here is which
 * operation it comes to, also after a start that finds one cut off.
 */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"

struct order {
	struct asker	 a;
	struct sandbox	*sb;
	enum sbx_verb	 verb;
	uint32_t	 wait;
	uint32_t	 grace;
	enum op_kind	 kind;		/* what it comes to */
	int		 up;		/* there is a guest to end */
	int		 frozen;	/* and it may be paused */
	int		 joined;	/* it is under way, or done, already */
	char		 text[TEXT_MAX + 1];	/* a limit */
};

/* A resume of what was paused: its guest is there, and is to go on. */
int
order_thawing(const struct sandbox *sb)
{
	return (sb->r.state == SBX_RESUMING && sb->todo.op == sb->r.op &&
	    sb->todo.doing == EV_SBX_UNPAUSE);
}

int
order_frozen(const struct sandbox *sb)
{
	return (sb->r.state == SBX_PAUSING || sb->r.state == SBX_PAUSED ||
	    order_thawing(sb));
}

/* Is there a guest that ran before this operation, and is to be heard? */
int
order_has_guest(const struct sandbox *sb)
{
	return (sb->r.state == SBX_READY || order_frozen(sb));
}

static enum event_type
order_event(const struct order *q)
{
	switch (q->verb) {
	case VERB_STOP:
		return (EV_SBX_STOP);
	case VERB_PAUSE:
		return (EV_SBX_PAUSE);
	case VERB_UNPAUSE:
		return (EV_SBX_UNPAUSE);
	case VERB_RESTART:
		return (EV_SBX_RESTART);
	case VERB_RESUME:
		return (q->sb->r.state == SBX_PAUSED ? EV_SBX_UNPAUSE :
		    EV_SBX_RESUME);
	default:
		return (EV_SBX_DELETE);
	}
}

/* By the state that it begins in, and what that has already. */
static enum op_kind
order_kind(const struct order *q, enum event_type type)
{
	/* One that never was ready has no container that could be started. */
	int	 made = q->sb->r.container[0] != '\0';

	switch (type) {
	case EV_SBX_STOP:
		return (made ? OP_STOP : OP_UNMAKE);
	case EV_SBX_PAUSE:
		return (OP_PAUSE);
	case EV_SBX_UNPAUSE:
		return (OP_UNPAUSE);
	case EV_SBX_RESTART:
		return (made ? OP_RESTART : OP_REMAKE);
	case EV_SBX_RESUME:
		return (made ? OP_RESUME : OP_REMAKE);
	default:
		return (OP_DELETE);
	}
}

static int
body_order(struct batch *b, void *arg)
{
	struct order	*q = arg;
	struct sandbox	*sb = q->sb;
	enum sbx_state	 next = lifecycle_next(sb->r.state, q->verb);
	enum event_type	 type;
	struct kvv	 d = { 0 };

	q->joined = 0;
	q->text[0] = '\0';
	if (next == SBX_NONE)
		return (BATCH_REFUSED);
	/* What is under way, or done, is no second operation. */
	if (next == sb->r.state) {
		q->joined = 1;
		return (BATCH_REFUSED);
	}
	/* What is stopped has nothing, and takes it again. */
	if (sb->r.state == SBX_STOPPED && next == SBX_RESUMING &&
	    sb->conf != NULL && quota_run(&q->a, sb->r.owner, sb->conf,
	    q->text, sizeof(q->text)) == -1)
		return (BATCH_REFUSED);
	type = order_event(q);
	q->kind = order_kind(q, type);
	q->up = order_has_guest(sb);
	q->frozen = order_frozen(sb);
	model_keep(b, sb);
	sb->r.state = next;
	sb->r.cause[0] = '\0';
	sb->r.changed = store_now();
	sb->r.op = store_op();
	sb->r.dirty = 1;
	detail_str(&d, "rule", q->a.by);
	if (store_event(b, sb, type, q->a.uid, 0, &d) != BATCH_OK)
		return (BATCH_FAIL);
	if (type == EV_SBX_UNPAUSE || type == EV_SBX_RESTART) {
		sb->todo.op = sb->r.op;
		sb->todo.doing = type;
		if (model_put_todo(b, sb) != BATCH_OK)
			return (BATCH_FAIL);
	}
	return (model_put(b, sb));
}

static void
order_joined(struct order *q)
{
	struct sandbox	*sb = q->sb;

	if (sb->r.state == SBX_DELETED) {
		answer_accepted(&q->a, sb->r.id, sb->r.op,
		    lifecycle_name(sb->r.state));
		if (q->wait)
			answer_sandbox(&q->a, sb);
		answer_end(&q->a);
		return;
	}
	answer_wait(&q->a, PROTO_DELETE, sb, q->wait);
	if (q->verb == VERB_RESUME && sb->r.state == SBX_PENDING)
		held_let_go(sb);
	/* A delete that could not go on is tried again. */
	if (q->verb == VERB_DELETE && !sb->op.active)
		op_start(sb, OP_DELETE);
}

static void
order_begin(struct order *q)
{
	struct sandbox	*sb = q->sb;

	/* Whoever waits for what this ends hears of it. */
	op_abort(sb, "another operation came in between");
	answer_wait(&q->a, PROTO_STOP, sb, q->wait);
	sb->op.grace = q->grace;
	sb->op.up = q->up;
	sb->op.frozen = q->frozen;
	sb->op.code = CODE_OK;
	sb->op.cause[0] = '\0';
	op_start(sb, q->kind);
}

static void
done_order(void *arg, int result)
{
	struct order	*q = arg;
	struct sandbox	*sb = q->sb;

	if (result == BATCH_REFUSED && q->joined)
		order_joined(q);
	else if (result == BATCH_REFUSED && q->text[0] != '\0') {
		audit_refused(q->a.uid, lifecycle_verb(q->verb), sb->r.id,
		    CODE_LIMIT_EXCEEDED, q->text, 0);
		answer_error(&q->a, CODE_LIMIT_EXCEEDED, NULL, "%s", q->text);
	} else if (result == BATCH_REFUSED)
		answer_error(&q->a, CODE_WRONG_STATE, NULL,
		    "%s: cannot %s while it is %s", sb->r.id,
		    lifecycle_verb(q->verb), lifecycle_name(sb->r.state));
	else if (result != BATCH_OK)
		answer_failed(&q->a, result);
	else {
		fault("store.order.accepted");
		order_begin(q);
	}
	free(q);
}

/* After a start: the operation whose acceptance is in the log. */
void
order_again(struct sandbox *sb)
{
	int	 made = sb->r.container[0] != '\0';

	/* Of its guest nothing more is asked than that it ends. */
	sb->op.grace = st.conf.t_stop;
	sb->op.up = 0;
	sb->op.frozen = order_thawing(sb);
	sb->op.code = CODE_OK;
	sb->op.cause[0] = '\0';
	switch (sb->r.state) {
	case SBX_PAUSING:
		op_start(sb, OP_PAUSE);
		break;
	case SBX_RESUMING:
		op_start(sb, !made ? OP_REMAKE : order_thawing(sb) ?
		    OP_UNPAUSE : sb->todo.op == sb->r.op &&
		    sb->todo.doing == EV_SBX_RESTART ? OP_RESTART :
		    OP_RERESUME);
		break;
	case SBX_STOPPING:
		op_start(sb, made ? OP_RESTOP : OP_UNMAKE);
		break;
	case SBX_DELETING:
		op_start(sb, OP_DELETE);
		break;
	default:
		break;
	}
}

/* To let one's own go that is held belongs to making it. */
static enum right
order_right(const struct asker *a, const struct sandbox *sb,
    enum sbx_verb verb)
{
	if (verb == VERB_DELETE)
		return (RIGHT_DELETE);
	if (verb == VERB_RESUME && sb->r.state == SBX_PENDING &&
	    sb->r.owner == a->uid)
		return (RIGHT_CREATE);
	return (RIGHT_STOP);
}

static int
order_recv(struct frame *f, struct proto_ref *m, enum sbx_verb verb,
    int (*recv)(struct chan *, struct frame *, void *))
{
	struct sandbox	*sb;
	struct order	*q;
	struct asker	 a;

	if (request_begin(&a, f, m) == -1 || request_park(recv, f, m) ||
	    (sb = request_sandbox(&a, m->id, NULL)) == NULL ||
	    rights_check(&a, order_right(&a, sb, verb), sb) == -1)
		return (0);
	if (sb->r.state != SBX_DELETED && request_engine(&a) == -1)
		return (0);
	if (sb->r.missing && sb->r.state == SBX_STOPPED &&
	    (verb == VERB_RESUME || verb == VERB_RESTART)) {
		answer_error(&a, CODE_UNAVAILABLE, NULL, "%s: the Engine "
		    "does not have its container", sb->r.id);
		return (0);
	}
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->a = a;
	q->sb = sb;
	q->verb = verb;
	q->wait = m->wait;
	q->grace = m->grace != 0 ? m->grace : st.conf.t_stop;
	batch_gating(&st.batch, body_order, done_order, q);
	return (0);
}

int
order_recv_stop(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	return (order_recv(f, msg, VERB_STOP, order_recv_stop));
}

int
order_recv_pause(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	return (order_recv(f, msg, VERB_PAUSE, order_recv_pause));
}

int
order_recv_unpause(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	return (order_recv(f, msg, VERB_UNPAUSE, order_recv_unpause));
}

int
order_recv_restart(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	return (order_recv(f, msg, VERB_RESTART, order_recv_restart));
}

int
order_recv_resume(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	return (order_recv(f, msg, VERB_RESUME, order_recv_resume));
}

int
order_recv_delete(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	return (order_recv(f, msg, VERB_DELETE, order_recv_delete));
}
