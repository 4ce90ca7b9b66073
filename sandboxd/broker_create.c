/*
 * To make a container and to start it: resolve the image, create, inspect and
 * compare, start.
 */
#include <inttypes.h>
#include <string.h>

#include "broker_ops.h"
#include "fault.h"
#include "log.h"

#define IMAGE_LOOKS	3	/* more, for an image that has lost its name */

static void	box_started(struct engine_answer *, void *);
static void	box_inspect(struct bop *);
static void	create_inspect(struct bop *);

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
	struct policy_error	 e;
	struct bop		*op = arg;
	const char		*id, *arch, *want;

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
	if (policy_refuse_volumes(&op->req, ans->json, &e) == -1) {
		bop_fail(op, e.code, e.field, 0, "%s", e.text);
		return;
	}
	op->image = json_incref(ans->json);
	create_create(op);
}

void
bop_create(struct bop *op)
{
	struct policy_error	 e;

	if (policy_refuse(&broker_env.policy, &op->req, &e) == -1 ||
	    policy_refuse_disk(&broker_env.policy, &op->req, &e) == -1 ||
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

	switch (bop_found(op, ans, bop_start)) {
	case -1:
		return;
	case 0:
		bop_fail(op, CODE_NOT_FOUND, "", 0, "the container is gone");
		return;
	}
	if (policy_derive(&broker_env.policy, op->n, ans->json, &op->req,
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

void
bop_start(struct bop *op)
{
	engine_inspect(bop_what(op), start_inspected, op);
}

/* pause, unpause: until inspect shows that it is so */
