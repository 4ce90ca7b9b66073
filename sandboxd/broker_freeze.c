/*
 * To pause a container and to let it go on, until inspect shows that it is
 * so; and to see what somebody else has made of it.
 */
#include <string.h>

#include "broker_ops.h"
#include "fault.h"

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
	bop_tried(op, ans);
	bop_freeze(op);
}

static void
freeze_inspected(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;
	const json_t	*state;
	int		 want = op->kind == BOP_PAUSE, paused;

	switch (bop_found(op, ans, bop_freeze)) {
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

void
bop_freeze(struct bop *op)
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

	/*
	 * Without an answer the inventory tells; its end has its own event.
	 * Its name may be another one since the look was asked for.
	 */
	if (ans->result == ENGINE_OK &&
	    policy_ours(&broker_env.policy, ans->json, 0))
		broker_send_state(MSG_BOX_LOOK, 0, 0, ans->json, 0);
	bop_end(op);
}

void
bop_look(struct bop *op)
{
	engine_inspect(bop_what(op), look_inspected, op);
}
