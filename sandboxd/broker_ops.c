/*
 * What is done to a container: one operation at a time for each sandbox.
 *
 * An operation ends with exactly one answer to the store, and only when it is
 * certain how things are: a call whose outcome is not known is followed by
 * inspecting the container's name, as long as that takes.  The store's
 * deadlines make the answers to clients; they do not end the work here.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "fault.h"
#include "log.h"

#define IMAGE_LOOKS	3	/* more, for an image that has lost its name */
#define BOPS_MAX	1024	/* the store admits far fewer at a time */
#define BOP_WAIT_MIN	50	/* ms between two looks */
#define BOP_WAIT_MAX	1000
#define BOP_ABSENT	2	/* so often not there: it is not there */
#define BOP_TRIES	8	/* refusals of a kill or a removal */

enum bop_kind {
	BOP_CREATE, BOP_START, BOP_KILL, BOP_REMOVE, BOP_PAUSE, BOP_UNPAUSE,
	BOP_LOOK	/* of our own: what has somebody else done to it? */
};

struct bop {
	TAILQ_ENTRY(bop)	 entry;
	enum bop_kind		 kind;
	uint64_t		 op;
	uint64_t		 n;		/* 0: a stray, by its ID */
	int			 running;	/* it is its turn */
	int			 died;		/* an event said so meanwhile */
	int			 appeared;	/* so, while it was removed */
	int			 moved;		/* paused, or not, meanwhile */
	int			 wait;		/* ms before the next look */
	int			 absent, tries;
	int			 renamed;	/* found without its name */
	int			 doubt;		/* a start of unknown outcome */
	struct msg_box_create	 req;		/* asked for, or read back */
	struct policy_box	 box;
	json_t			*image;		/* inspected */
	char			 nonce[33];
	char			 name[80];	/* ours, or an ID */
	char			 container[80];	/* "": not known */
	enum code		 code;		/* of what went wrong */
	char			 text[ENGINE_TEXT_MAX];
	void			(*step)(struct bop *);
	struct event		 timer;
};

static TAILQ_HEAD(bop_list, bop) bops = TAILQ_HEAD_INITIALIZER(bops);
static size_t		 nbops;

static void	bop_run(struct bop *);
static void	box_started(struct engine_answer *, void *);
static void	box_inspect(struct bop *);
static void	create_inspect(struct bop *);
static void	freeze_inspect(struct bop *);
static void	kill_inspect(struct bop *);
static void	look_begin(uint64_t);
static void	remove_inspect(struct bop *);
static void	start_inspect(struct bop *);

static int
bop_same(const struct bop *a, const struct bop *b)
{
	if (a->n != b->n)
		return (0);
	return (a->n != 0 || strcmp(a->name, b->name) == 0);
}

/* Takes it off and lets the next one of the same sandbox begin. */
static void
bop_end(struct bop *op)
{
	struct bop	*next;
	uint64_t	 n = op->moved ? op->n : 0;

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
	if (n != 0)
		look_begin(n);
}

static void __attribute__((__format__(printf, 5, 6)))
bop_fail(struct bop *op, enum code code, const char *field, int left,
    const char *fmt, ...)
{
	char	 text[TEXT_MAX + 1];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	broker_send_failed(op->op, op->n, code, field, text, left);
	bop_end(op);
}

static const char *
bop_what(const struct bop *op)
{
	return (op->container[0] != '\0' ? op->container : op->name);
}

/* The answer of a call that did not do what it should. */
static void
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

static void
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

/* Is there an order behind this one that makes it pointless to go on? */
static int
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

/* Ours, of that number, and made by the operation that the store names. */
static int
bop_is_it(const struct bop *op, const json_t *j)
{
	const char	*nonce;

	nonce = json_string_value(json_object_get(json_object_get(
	    json_object_get(j, "Config"), "Labels"), "sandboxd.op"));
	return (policy_ours(&broker_env.policy, j, op->n) && nonce != NULL &&
	    (op->nonce[0] == '\0' || strcmp(op->nonce, nonce) == 0));
}

static int
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
static int
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

/* create: resolve the image, create, inspect and compare, start */

static void
box_start(struct bop *op)
{
	if (bop_given_up(op)) {
		bop_fail(op, CODE_CONFLICT, "", 1, "given up for its end");
		return;
	}
	fault("broker.start.before");
	engine_start(op->container, box_started, op);
}

static void
create_inspected(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;
	char		 why[POLICY_WHY_MAX];

	switch (bop_found(op, ans, create_inspect)) {
	case -1:
		return;
	case 0:
		/* As far as can be seen: the store has it removed. */
		bop_fail(op, op->code, "", 1,
		    "the container was not made: %s", op->text);
		return;
	}
	if (policy_check(&broker_env.policy, &op->box, op->image, ans->json,
	    why, sizeof(why)) == -1) {
		log_warnx("container %s is not what was asked for: %s",
		    op->name, why);
		bop_fail(op, CODE_ENGINE_ERROR, "", 1,
		    "the Engine made something else: %s", why);
		return;
	}
	fault("broker.inspect.after");
	box_start(op);
}

static void
create_inspect(struct bop *op)
{
	fault("broker.inspect.before");
	engine_inspect(bop_what(op), create_inspected, op);
}

static void
create_created(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;

	fault("broker.create.after");
	strlcpy(op->text, ans->text, sizeof(op->text));
	op->code = broker_code(ans);
	switch (ans->result) {
	case ENGINE_OK:
		op->code = CODE_ENGINE_ERROR;
		strlcpy(op->text, bop_set_container(op, ans->json) == -1 ?
		    "no sound ID" : "it is gone", sizeof(op->text));
		create_inspect(op);
		return;
	case ENGINE_REFUSED:
		/* The name is in use: by ourselves, if a call went twice. */
		if (ans->status == 409) {
			create_inspect(op);
			return;
		}
		bop_fail_answer(op, ans, 0);
		return;
	case ENGINE_AWAY:
		broker_engine_lost(ans->text);
		bop_fail_answer(op, ans, 0);
		return;
	default:
		/* The Engine may be at it still: give it some time. */
		op->wait = BOP_WAIT_MAX / 2;
		bop_later(op, create_inspect);
		return;
	}
}

static void
create_create(struct bop *op)
{
	json_t	*body;

	if (bop_given_up(op)) {
		bop_fail(op, CODE_CONFLICT, "", 0, "given up for its end");
		return;
	}
	if ((body = policy_build(&broker_env.policy, &op->box)) == NULL) {
		bop_fail(op, CODE_INVALID_ARGUMENT, "env", 0,
		    "a value cannot be given to the Engine: not UTF-8");
		return;
	}
	fault("broker.create.before");
	engine_create(op->name, body, create_created, op);
}

static void
create_image(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;
	const char	*id, *arch, *want;

	fault("broker.image.after");
	if (ans->result == ENGINE_AWAY)
		broker_engine_lost(ans->text);
	if (ans->result == ENGINE_REFUSED && ans->status == 404) {
		bop_fail(op, CODE_NOT_FOUND, "image", 0, "no such image: %s",
		    op->req.image);
		return;
	}
	if (ans->result != ENGINE_OK) {
		bop_fail_answer(op, ans, 0);
		return;
	}
	/*
	 * The Engine also takes the beginning of an ID for a name.  Or the
	 * name went to another image between its finding and its showing.
	 */
	if (!policy_image_is(ans->json, op->req.image) &&
	    op->renamed++ < IMAGE_LOOKS) {
		engine_image_inspect(op->req.image, create_image, op);
		return;
	}
	id = json_string_value(json_object_get(ans->json, "Id"));
	if (id == NULL || !engine_image_id_ok(id) ||
	    !policy_image_is(ans->json, op->req.image) ||
	    strlcpy(op->box.image, id, sizeof(op->box.image)) >=
	    sizeof(op->box.image)) {
		bop_fail(op, CODE_NOT_FOUND, "image", 0, "no such image: %s",
		    op->req.image);
		return;
	}
	arch = json_string_value(json_object_get(ans->json, "Architecture"));
	want = seccomp_engine(broker_env.policy.arch);
	if (arch != NULL && want != NULL && strcmp(arch, want) != 0) {
		bop_fail(op, CODE_UNSUPPORTED, "image", 0,
		    "image %s is for %.32s, the guest for %s", op->req.image,
		    arch, want);
		return;
	}
	op->image = json_incref(ans->json);
	create_create(op);
}

static void
create_begin(struct bop *op)
{
	struct policy_error	 e;

	if (policy_refuse(&broker_env.policy, &op->req, &e) == -1 ||
	    policy_refuse_image(&broker_env.policy, op->req.image, &e) == -1) {
		log_warnx("sandbox %" PRIu64 " refused: %s", op->n, e.text);
		bop_fail(op, e.code, e.field, 0, "%s", e.text);
		return;
	}
	op->box.req = &op->req;
	/* It is memory of the sandbox, of which there may be less. */
	op->box.tmp = broker_env.policy.conf.tmp_size;
	if (op->box.tmp > op->req.memory)
		op->box.tmp = op->req.memory;
	if ((op->box.guest = strdup(broker_env.policy.conf.guest)) == NULL)
		fatal("%s", __func__);
	fault("broker.image.before");
	engine_image_inspect(op->req.image, create_image, op);
}

/* The end of create and of start: is it up, and with which pid? */

static void
box_report(struct bop *op, const json_t *inspected)
{
	struct msg_box_started	 m;

	memset(&m, 0, sizeof(m));
	m.n = op->n;
	m.pid = json_integer_value(json_object_get(json_object_get(inspected,
	    "State"), "Pid"));
	policy_facts(&broker_env.policy, &op->box, inspected, &m.facts);
	strlcpy(m.container, op->container, sizeof(m.container));
	strlcpy(m.image_id, op->box.image, sizeof(m.image_id));
	fault("broker.report.before");
	pipe_send(&broker_env.store, MSG_BOX_STARTED, op->op, 0, 0, -1, &m);
	fault("broker.report.after");
	bop_end(op);
}

static void
box_inspected(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;
	const json_t	*state;
	const char	*err;
	char		 text[ENGINE_TEXT_MAX];

	switch (bop_found(op, ans, box_inspect)) {
	case -1:
		return;
	case 0:
		bop_fail(op, CODE_ENGINE_ERROR, "", 0,
		    "the container is gone");
		return;
	}
	state = json_object_get(ans->json, "State");
	if (json_is_true(json_object_get(state, "Running"))) {
		box_report(op, ans->json);
		return;
	}
	if (op->doubt) {
		bop_fail(op, op->code, "", 1,
		    "the Engine went away while it started: %s", op->text);
		return;
	}
	err = json_string_value(json_object_get(state, "Error"));
	engine_text(text, sizeof(text), err == NULL ? "" : err);
	bop_fail(op, CODE_ENGINE_ERROR, "", 1,
	    "the guest ended at once with status %d%s%s",
	    (int)json_integer_value(json_object_get(state, "ExitCode")),
	    text[0] == '\0' ? "" : ": ", text);
}

static void
box_inspect(struct bop *op)
{
	engine_inspect(op->container, box_inspected, op);
}

static void
box_started(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;

	fault("broker.start.after");
	strlcpy(op->text, ans->text, sizeof(op->text));
	op->code = broker_code(ans);
	if (ans->result == ENGINE_REFUSED && ans->status != 304) {
		bop_fail_answer(op, ans, 1);
		return;
	}
	if (ans->result == ENGINE_AWAY) {
		broker_engine_lost(ans->text);
		bop_fail_answer(op, ans, 1);
		return;
	}
	op->doubt = ans->result == ENGINE_UNKNOWN;
	box_inspect(op);
}

/* start of a stopped one: the same rules as for a new one */

static void
start_inspected(struct engine_answer *ans, void *arg)
{
	struct bop		*op = arg;
	struct policy_error	 e;
	const json_t		*state;
	char			 why[POLICY_WHY_MAX];

	switch (bop_found(op, ans, start_inspect)) {
	case -1:
		return;
	case 0:
		bop_fail(op, CODE_NOT_FOUND, "", 0, "the container is gone");
		return;
	}
	if (policy_derive(&broker_env.policy, ans->json, &op->req,
	    &op->box) == -1) {
		bop_fail(op, CODE_ENGINE_ERROR, "", 1,
		    "the container is none that this daemon made");
		return;
	}
	state = json_object_get(ans->json, "State");
	if (json_is_true(json_object_get(state, "Running"))) {
		box_report(op, ans->json);
		return;
	}
	if (policy_refuse(&broker_env.policy, &op->req, &e) == -1) {
		log_warnx("sandbox %" PRIu64 " refused: %s", op->n, e.text);
		bop_fail(op, e.code, e.field, 1, "%s", e.text);
		return;
	}
	if (policy_check(&broker_env.policy, &op->box, NULL, ans->json, why,
	    sizeof(why)) == -1) {
		bop_fail(op, CODE_ENGINE_ERROR, "", 1,
		    "the container is not what was made: %s", why);
		return;
	}
	box_start(op);
}

static void
start_inspect(struct bop *op)
{
	engine_inspect(bop_what(op), start_inspected, op);
}

/* pause, unpause: until inspect shows that it is so */

static void
freeze_done(struct bop *op, uint32_t type, const json_t *inspected)
{
	fault("broker.report.before");
	broker_send_state(type, op->op, op->n, inspected, 0);
	fault("broker.report.after");
	bop_end(op);
}

static void
freeze_answered(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;

	fault("broker.freeze.after");
	strlcpy(op->text, ans->text, sizeof(op->text));
	op->code = broker_code(ans);
	if (ans->result == ENGINE_AWAY)
		broker_engine_lost(ans->text);
	op->doubt = ans->result != ENGINE_OK && ans->result != ENGINE_REFUSED;
	op->tries++;
	freeze_inspect(op);
}

static void
freeze_inspected(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;
	const json_t	*state;
	int		 want = op->kind == BOP_PAUSE, paused;

	switch (bop_found(op, ans, freeze_inspect)) {
	case -1:
		return;
	case 0:
		freeze_done(op, MSG_BOX_DEAD, NULL);
		return;
	}
	state = json_object_get(ans->json, "State");
	if (!json_is_true(json_object_get(state, "Running"))) {
		freeze_done(op, MSG_BOX_DEAD, ans->json);
		return;
	}
	paused = json_is_true(json_object_get(state, "Paused"));
	if (paused == want) {
		freeze_done(op, want ? MSG_BOX_PAUSED : MSG_BOX_UNPAUSED,
		    ans->json);
		return;
	}
	if (bop_given_up(op))
		bop_fail(op, CODE_CONFLICT, "", 0, "given up for its end");
	else if (op->tries > 0)
		bop_fail(op, op->code == CODE_OK ? CODE_ENGINE_ERROR :
		    op->code, "", 0, "%s%s", op->doubt ?
		    "the Engine went away: " : "", op->text[0] != '\0' ?
		    op->text : "the Engine did not do it");
	else {
		fault("broker.freeze.before");
		if (want)
			engine_pause(op->container, freeze_answered, op);
		else
			engine_unpause(op->container, freeze_answered, op);
	}
}

static void
freeze_inspect(struct bop *op)
{
	engine_inspect(bop_what(op), freeze_inspected, op);
}

/*
 * Somebody else has paused a container, or let it go on.  It is looked at in
 * its turn, so that what is told is never older than the outcome of an order.
 */
static void
look_inspected(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;

	/* Without an answer the inventory tells; its end has its own event. */
	if (ans->result == ENGINE_OK && bop_is_it(op, ans->json))
		broker_send_state(MSG_BOX_LOOK, 0, op->n, ans->json, 0);
	bop_end(op);
}

/* kill: until it is dead */

static void
kill_killed(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;

	fault("broker.kill.after");
	if (ans->result == ENGINE_OK)
		op->wait = 0;
	else if (ans->result == ENGINE_REFUSED && ans->status != 404 &&
	    ans->status != 409 && ++op->tries >= BOP_TRIES) {
		bop_fail_answer(op, ans, 1);
		return;
	}
	kill_inspect(op);
}

static void
kill_kill(struct bop *op)
{
	fault("broker.kill.before");
	engine_kill(op->container, kill_killed, op);
}

static void
kill_inspected(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;
	int		 running;

	switch (bop_found(op, ans, kill_inspect)) {
	case -1:
		return;
	case 0:
		broker_send_state(MSG_BOX_DEAD, op->op, op->n, NULL, 0);
		bop_end(op);
		return;
	}
	running = json_is_true(json_object_get(json_object_get(ans->json,
	    "State"), "Running"));
	if (running) {
		/* At once for the first time, then with pauses. */
		if (op->tries++ == 0)
			kill_kill(op);
		else if (json_is_true(json_object_get(json_object_get(
		    ans->json, "State"), "Paused")))
			/* Of a signal that waits it dies when it goes on. */
			engine_unpause(op->container, kill_killed, op);
		else
			bop_later(op, kill_kill);
		return;
	}
	fault("broker.report.before");
	broker_send_state(MSG_BOX_DEAD, op->op, op->n, ans->json, 0);
	fault("broker.report.after");
	bop_end(op);
}

static void
kill_inspect(struct bop *op)
{
	engine_inspect(bop_what(op), kill_inspected, op);
}

/* remove: until it is not there, with its volumes */

static void
remove_done(struct bop *op)
{
	struct msg_box_done	 m;

	memset(&m, 0, sizeof(m));
	m.n = op->n;
	fault("broker.report.before");
	pipe_send(&broker_env.store, MSG_BOX_REMOVED, op->op, 0, 0, -1, &m);
	fault("broker.report.after");
	bop_end(op);
}

static void
remove_removed(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;

	fault("broker.remove.after");
	if (ans->result == ENGINE_OK) {
		remove_done(op);
		return;
	}
	/* 409: somebody removes it already; 404: he was quicker. */
	if (ans->result == ENGINE_REFUSED && ans->status != 404 &&
	    ans->status != 409 && ++op->tries >= BOP_TRIES) {
		bop_fail_answer(op, ans, 1);
		return;
	}
	bop_later(op, remove_inspect);
}

static void
remove_inspected(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;

	switch (bop_found(op, ans, remove_inspect)) {
	case -1:
		return;
	case 0:
		remove_done(op);
		return;
	}
	fault("broker.remove.before");
	engine_remove(op->container, remove_removed, op);
}

/* By name again after the ID has been seen: nothing else may have it. */
static void
remove_inspect(struct bop *op)
{
	engine_inspect(op->name, remove_inspected, op);
}

static void
bop_run(struct bop *op)
{
	op->running = 1;
	/* The absence of the Engine is no answer to a removal. */
	if (!broker_env.up && op->kind == BOP_LOOK) {
		bop_end(op);
		return;
	}
	if (!broker_env.up && op->kind != BOP_REMOVE && op->kind != BOP_KILL) {
		bop_fail(op, CODE_UNAVAILABLE, "", 0,
		    "the Engine is away: %s", broker_env.why);
		return;
	}
	switch (op->kind) {
	case BOP_CREATE:
		create_begin(op);
		break;
	case BOP_START:
		start_inspect(op);
		break;
	case BOP_KILL:
		kill_inspect(op);
		break;
	case BOP_REMOVE:
		remove_inspect(op);
		break;
	case BOP_PAUSE:
	case BOP_UNPAUSE:
		freeze_inspect(op);
		break;
	case BOP_LOOK:
		engine_inspect(op->name, look_inspected, op);
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
look_begin(uint64_t n)
{
	struct bop	*op;

	TAILQ_FOREACH(op, &bops, entry)
		if (op->n == n && op->kind == BOP_LOOK && !op->running)
			return;
	if (nbops < BOPS_MAX)
		bop_add(bop_new(BOP_LOOK, 0, n));
}

/* Containers of no sandbox may be any number: those wait for a next time. */
static int
bop_crowd(uint64_t number, uint64_t n)
{
	if (nbops < BOPS_MAX)
		return (0);
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

/* An event of a container; 1: an operation is at it, and will report. */
int
broker_op_event(uint64_t n, const char *action)
{
	struct bop	*op;
	int		 moves = strcmp(action, "pause") == 0 ||
			    strcmp(action, "unpause") == 0;

	TAILQ_FOREACH(op, &bops, entry)
		if (op->n == n && op->running)
			break;
	if (op == NULL && moves) {
		look_begin(n);
		return (1);
	}
	if (op == NULL)
		return (0);
	if (moves)
		op->moved = 1;
	if (strcmp(action, "die") == 0 && op->kind != BOP_KILL &&
	    op->kind != BOP_REMOVE)
		op->died = 1;
	if (strcmp(action, "create") == 0 && op->kind == BOP_REMOVE)
		op->appeared = 1;
	return (1);
}
