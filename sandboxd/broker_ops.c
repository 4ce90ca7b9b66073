/*
 * Operations on containers: one at a time for each sandbox, and what those of
 * all kinds share.
 *
 * An operation ends with exactly one answer to the store, and only when it is
 * certain how things are: a call whose outcome is not known is followed by
 * inspecting the container's name, as long as that takes.  The store's
 * deadlines make the answers to clients; they do not end the work here.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker_ops.h"
#include "log.h"

#define BOPS_MAX	1024	/* the store admits far fewer at a time */
#define BOP_WAIT_MIN	50	/* ms between two looks */
#define BOP_ABSENT	2	/* so often not there: it is not there */

static TAILQ_HEAD(bop_list, bop) bops = TAILQ_HEAD_INITIALIZER(bops);
static size_t		 nbops;

static void	bop_run(struct bop *);
static void	look_begin(uint64_t, const char *);

static int
bop_same(const struct bop *a, const struct bop *b)
{
	if (a->n != b->n)
		return (0);
	return (a->n != 0 || strcmp(a->name, b->name) == 0);
}

/* Takes it off and lets the next one of the same sandbox begin. */
void
bop_end(struct bop *op)
{
	struct bop	*next;
	uint64_t	 n = op->n;
	char		 moved[sizeof(op->container)] = "";
	char		 limited[sizeof(op->container)] = "";

	if (op->limited)
		strlcpy(limited, op->container, sizeof(limited));
	if (op->moved)
		strlcpy(moved, op->container, sizeof(moved));
	if (op->died && op->container[0] != '\0')
		broker_event_look(op->container, op->n, 0);
	if (op->appeared)
		broker_event_look(op->name, op->n, 0);
	for (next = TAILQ_NEXT(op, entry); next != NULL;
	    next = TAILQ_NEXT(next, entry))
		if (bop_same(op, next))
			break;
	TAILQ_REMOVE(&bops, op, entry);
	nbops--;
	evtimer_del(&op->timer);
	msg_clear(&op->req, msg_def(MSG_BOX_CREATE));
	free(op->box.guest);
	json_decref(op->image);
	free(op);
	if (next != NULL)
		bop_run(next);
	/* Behind what waits, which may have been about just that. */
	if (moved[0] != '\0')
		look_begin(n, moved);
	if (limited[0] != '\0')
		bop_update_late(limited);
}

void __attribute__((__format__(printf, 5, 6)))
bop_fail(struct bop *op, enum code code, const char *field, int left,
    const char *fmt, ...)
{
	char	 text[TEXT_MAX + 1];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (op->op == 0)
		log_warnx("sandbox %llu: %s", (unsigned long long)op->n, text);
	else
		broker_send_failed(op->op, op->n, code, field, text, left);
	bop_end(op);
}

const char *
bop_what(const struct bop *op)
{
	return (op->container[0] != '\0' ? op->container : op->name);
}

/* The answer of a call that did not do what it should. */
void
bop_fail_answer(struct bop *op, const struct engine_answer *ans, int left)
{
	enum code	 code = broker_code(ans);

	bop_fail(op, code, "", left, "%s%s",
	    ans->result == ENGINE_REFUSED ? "" :
	    code == CODE_ENGINE_ERROR ? "the Engine gave a bad answer: " :
	    code == CODE_DEADLINE_EXCEEDED ? "the Engine does not answer: " :
	    "the Engine is away: ", ans->text);
}

static void
bop_timer(int fd, short event, void *arg)
{
	struct bop	*op = arg;

	op->step(op);
}

void
bop_later(struct bop *op, void (*step)(struct bop *))
{
	struct timeval	 tv;

	op->step = step;
	op->wait = op->wait == 0 ? BOP_WAIT_MIN : op->wait * 2;
	if (op->wait > BOP_WAIT_MAX)
		op->wait = BOP_WAIT_MAX;
	tv.tv_sec = op->wait / 1000;
	tv.tv_usec = op->wait % 1000 * 1000;
	evtimer_add(&op->timer, &tv);
}

/* A call that changes something has this answer; inspect tells what it did. */
void
bop_tried(struct bop *op, const struct engine_answer *ans)
{
	strlcpy(op->text, ans->text, sizeof(op->text));
	op->code = broker_code(ans);
	if (ans->result == ENGINE_AWAY)
		broker_engine_lost(ans->text);
	op->doubt = ans->result != ENGINE_OK && ans->result != ENGINE_REFUSED;
	op->tries++;
}

/* Is there an order behind this one that makes it pointless to go on? */
int
bop_given_up(struct bop *op)
{
	struct bop	*next;

	for (next = TAILQ_NEXT(op, entry); next != NULL;
	    next = TAILQ_NEXT(next, entry))
		if (bop_same(op, next) && (next->kind == BOP_REMOVE ||
		    next->kind == BOP_KILL))
			return (1);
	return (0);
}

/*
 * Ours, and made by the operation that the store names; its name, which
 * somebody may have changed, counts only where that is not known.
 */
int
bop_is_it(const struct bop *op, const json_t *j)
{
	const char	*nonce;

	nonce = json_string_value(json_object_get(json_object_get(
	    json_object_get(j, "Config"), "Labels"), "sandboxd.op"));
	if (nonce == NULL)
		return (0);
	if (op->nonce[0] == '\0')
		return (policy_ours(&broker_env.policy, j, op->n));
	return (policy_ours(&broker_env.policy, j, 0) &&
	    strcmp(op->nonce, nonce) == 0);
}

int
bop_set_container(struct bop *op, const json_t *j)
{
	const char	*id;

	id = json_string_value(json_object_get(j, "Id"));
	if (id == NULL || !engine_id_ok(id) ||
	    strlcpy(op->container, id, sizeof(op->container)) >=
	    sizeof(op->container)) {
		op->container[0] = '\0';
		return (-1);
	}
	return (0);
}

/*
 * What an inspect that is asked for until it answers has brought: 1 if it is
 * the container that is meant, 0 if that is not there, -1 if the operation
 * looks again or has ended.
 */
int
bop_found(struct bop *op, struct engine_answer *ans,
    void (*again)(struct bop *))
{
	char	 asked[sizeof(op->container)];

	if (ans->result == ENGINE_REFUSED && ans->status == 404) {
		/* A create may be under way still, without its caller. */
		if (++op->absent >= BOP_ABSENT)
			return (0);
		bop_later(op, again);
		return (-1);
	}
	if (ans->result != ENGINE_OK) {
		if (ans->result == ENGINE_AWAY)
			broker_engine_lost(ans->text);
		bop_later(op, again);
		return (-1);
	}
	op->absent = 0;
	strlcpy(asked, op->container, sizeof(asked));
	/* What was asked for by its ID cannot have another one. */
	if (!bop_is_it(op, ans->json) ||
	    bop_set_container(op, ans->json) == -1 ||
	    (asked[0] != '\0' && op->kind != BOP_REMOVE &&
	    strcmp(asked, op->container) != 0)) {
		bop_fail(op, CODE_CONFLICT, "", 0,
		    "the container %s is not this sandbox's", op->name);
		return (-1);
	}
	return (1);
}

static void
bop_run(struct bop *op)
{
	op->running = 1;
	/* Its absence is no answer to a removal, nor to what was cut off. */
	if (!broker_env.up && op->kind == BOP_LOOK) {
		bop_end(op);
		return;
	}
	if (!broker_env.up && op->kind != BOP_REMOVE &&
	    op->kind != BOP_KILL && op->kind != BOP_UPDATE) {
		bop_fail(op, CODE_UNAVAILABLE, "", 0,
		    "the Engine is away: %s", broker_env.why);
		return;
	}
	switch (op->kind) {
	case BOP_CREATE:
		bop_create(op);
		break;
	case BOP_START:
		bop_start(op);
		break;
	case BOP_KILL:
		bop_kill(op);
		break;
	case BOP_REMOVE:
		bop_remove(op);
		break;
	case BOP_PAUSE:
	case BOP_UNPAUSE:
		bop_freeze(op);
		break;
	case BOP_UPDATE:
		bop_update(op);
		break;
	case BOP_LOOK:
		bop_look(op);
		break;
	}
}

static struct bop *
bop_new(enum bop_kind kind, uint64_t number, uint64_t n)
{
	struct bop	*op;

	if ((op = calloc(1, sizeof(*op))) == NULL)
		fatal("%s", __func__);
	op->kind = kind;
	op->op = number;
	op->n = n;
	evtimer_set(&op->timer, bop_timer, op);
	if (n != 0)
		policy_name(&broker_env.policy, n, op->name, sizeof(op->name));
	return (op);
}

static void
bop_add(struct bop *op)
{
	struct bop	*o;

	TAILQ_FOREACH(o, &bops, entry)
		if (bop_same(o, op))
			break;
	TAILQ_INSERT_TAIL(&bops, op, entry);
	nbops++;
	if (o == NULL)
		bop_run(op);
}

/* Not more than one of a sandbox: the last answer is the one that counts. */
static void
look_begin(uint64_t n, const char *container)
{
	struct bop	*op;

	TAILQ_FOREACH(op, &bops, entry)
		if (op->kind == BOP_LOOK && !op->running && op->n == n &&
		    strcmp(op->container, container) == 0)
			return;
	if (nbops >= BOPS_MAX)
		return;
	op = bop_new(BOP_LOOK, 0, n);
	strlcpy(op->container, container, sizeof(op->container));
	if (n == 0)
		strlcpy(op->name, container, sizeof(op->name));
	bop_add(op);
}

/* Containers of no sandbox may be any number: those wait for a next time. */
static int
bop_crowd(uint64_t number, uint64_t n)
{
	if (nbops < BOPS_MAX)
		return (0);
	if (number != 0)
		broker_send_failed(number, n, CODE_LIMIT_EXCEEDED, "",
		    "too many operations at a time", 1);
	return (1);
}

int
broker_op_create(uint64_t number, struct msg_box_create *req)
{
	struct bop	*op;

	if (req->n == 0)
		return (-1);
	if (bop_crowd(number, req->n))
		return (0);
	op = bop_new(BOP_CREATE, number, req->n);
	op->req = *req;
	memset(req, 0, sizeof(*req));
	strlcpy(op->nonce, op->req.nonce, sizeof(op->nonce));
	bop_add(op);
	return (0);
}

static enum bop_kind
bop_kind_of(uint32_t type)
{
	switch (type) {
	case MSG_BOX_START:
		return (BOP_START);
	case MSG_BOX_KILL:
		return (BOP_KILL);
	case MSG_BOX_PAUSE:
		return (BOP_PAUSE);
	case MSG_BOX_UNPAUSE:
		return (BOP_UNPAUSE);
	default:
		return (BOP_REMOVE);
	}
}

int
broker_op_ref(uint32_t type, uint64_t number, const struct msg_box_ref *ref)
{
	struct bop	*op;

	/* An ID is all that a stray has; a name would reach too far. */
	if (ref->container[0] != '\0' && !engine_id_ok(ref->container))
		return (-1);
	if (ref->n == 0 && (type != MSG_BOX_REMOVE ||
	    ref->container[0] == '\0'))
		return (-1);
	if (bop_crowd(number, ref->n))
		return (0);
	op = bop_new(bop_kind_of(type), number, ref->n);
	strlcpy(op->nonce, ref->nonce, sizeof(op->nonce));
	if (ref->n == 0)
		strlcpy(op->name, ref->container, sizeof(op->name));
	else
		strlcpy(op->container, ref->container, sizeof(op->container));
	bop_add(op);
	return (0);
}

int
broker_op_update(uint64_t number, const struct msg_box_update *m)
{
	struct bop	*op;

	if (m->n == 0 || (m->container[0] != '\0' &&
	    !engine_id_ok(m->container)))
		return (-1);
	if (bop_crowd(number, m->n))
		return (0);
	op = bop_new(BOP_UPDATE, number, m->n);
	strlcpy(op->nonce, m->nonce, sizeof(op->nonce));
	strlcpy(op->container, m->container, sizeof(op->container));
	op->limits = *m;
	bop_add(op);
	return (0);
}

void
broker_op_kick(void)
{
	struct bop	*op, *next;

	for (op = TAILQ_FIRST(&bops); op != NULL; op = next) {
		next = TAILQ_NEXT(op, entry);
		if (evtimer_pending(&op->timer, NULL)) {
			op->wait = 0;
			event_active(&op->timer, EV_TIMEOUT, 1);
		}
	}
}

/*
 * An event of a container; 1: an operation is at it, and will report.  One
 * that was renamed has no number.
 */
int
broker_op_event(uint64_t n, const char *container, const char *action)
{
	struct bop	*op;
	int		 moves = strcmp(action, "pause") == 0 ||
			    strcmp(action, "unpause") == 0 ||
			    strcmp(action, "rename") == 0;
	int		 limits = strcmp(action, "update") == 0;

	TAILQ_FOREACH(op, &bops, entry)
		if (op->running && op->n != 0 && (op->n == n ||
		    strcmp(op->container, container) == 0))
			break;
	if (op == NULL && moves) {
		look_begin(n, container);
		return (1);
	}
	if (op == NULL && limits) {
		bop_update_late(container);
		return (1);
	}
	if (op == NULL)
		return (0);
	if (moves)
		op->moved = 1;
	if (limits)
		op->limited = 1;
	if (strcmp(action, "die") == 0 && op->kind != BOP_KILL &&
	    op->kind != BOP_REMOVE)
		op->died = 1;
	if (strcmp(action, "create") == 0 && op->kind == BOP_REMOVE)
		op->appeared = 1;
	return (1);
}
