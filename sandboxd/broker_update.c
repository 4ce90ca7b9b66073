/*
 * Other limits for a container that there is: by the same rules as for a new
 * one, and then compared with what was asked for.  A stopped one has them
 * from its next start on.
 *
 * The Engine takes all of them or none.  After a call of unknown outcome
 * inspect tells which, as long as that takes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "broker_ops.h"
#include "fault.h"
#include "log.h"

#define OWED_MAX	64	/* containers that are remembered */

/*
 * A call that was given up may be done yet, when everybody has been told that
 * it was not, and something newer as well.  What is to be then is put back.
 */
static struct owed {
	struct msg_box_update	 limits;	/* that are to be */
	u_int			 calls;		/* given up; 0: nothing here */
} owed[OWED_MAX];

static struct owed *
owed_find(const char *container)
{
	u_int	 i;

	for (i = 0; i < OWED_MAX; i++)
		if (owed[i].calls > 0 &&
		    strcmp(owed[i].limits.container, container) == 0)
			return (&owed[i]);
	return (NULL);
}

/* Given up, while the container has the limits of op->req. */
static void
owed_add(struct bop *op)
{
	static u_int	 next;
	struct owed	*o = owed_find(op->container);

	if (o == NULL) {
		o = &owed[next++ % OWED_MAX];
		o->calls = 0;
		o->limits = op->limits;
		o->limits.memory = op->req.memory;
		o->limits.mcpus = op->req.mcpus;
		o->limits.pids = op->req.pids;
		strlcpy(o->limits.container, op->container,
		    sizeof(o->limits.container));
	}
	o->calls++;
}

/* They are so now: as ordered, or put back. */
static void
owed_done(const struct bop *op)
{
	struct owed	*o = owed_find(op->container);

	if (o == NULL)
		return;
	o->limits.memory = op->limits.memory;
	o->limits.mcpus = op->limits.mcpus;
	o->limits.pids = op->limits.pids;
	if (op->op == 0 && op->tries > 0)
		o->calls--;
}

/* The Engine tells of other limits, and no operation is at it. */
void
bop_update_late(const char *container)
{
	struct owed	*o = owed_find(container);

	if (o != NULL)
		(void)broker_op_update(0, &o->limits);
}

static void
update_done(struct bop *op, const json_t *inspected)
{
	struct msg_box_started	 m;

	owed_done(op);
	if (op->op == 0) {
		if (op->tries > 0)
			log_warnx("sandbox %" PRIu64 ": limits put back, which "
			    "the Engine had changed too late", op->n);
		bop_end(op);
		return;
	}
	memset(&m, 0, sizeof(m));
	m.n = op->n;
	policy_facts(&broker_env.policy, &op->box, inspected, &m.facts);
	strlcpy(m.container, op->container, sizeof(m.container));
	strlcpy(m.image_id, op->box.image, sizeof(m.image_id));
	fault("broker.report.before");
	pipe_send(&broker_env.store, MSG_BOX_UPDATED, op->op, 0, 0, -1, &m);
	fault("broker.report.after");
	bop_end(op);
}

static void
update_answered(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;

	fault("broker.update.after");
	bop_tried(op, ans);
	bop_update(op);
}

static void
update_call(struct bop *op)
{
	struct policy_error	 e;
	json_t			*body;

	op->req.memory = op->limits.memory;
	op->req.mcpus = op->limits.mcpus;
	op->req.pids = op->limits.pids;
	if (bop_given_up(op)) {
		bop_fail(op, CODE_CONFLICT, "", 0, "given up for its end");
		return;
	}
	if (policy_refuse(&broker_env.policy, &op->req, &e) == -1) {
		log_warnx("sandbox %" PRIu64 " refused: %s", op->n, e.text);
		bop_fail(op, e.code, e.field, 0, "%s", e.text);
		return;
	}
	if ((body = policy_build_limits(&broker_env.policy,
	    &op->req)) == NULL)
		fatalx("%s", __func__);
	fault("broker.update.before");
	engine_update(op->container, body, update_answered, op);
}

static void
update_inspected(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;
	char		 why[POLICY_WHY_MAX];

	switch (bop_found(op, ans, bop_update)) {
	case -1:
		return;
	case 0:
		if (op->op != 0)
			broker_send_state(MSG_BOX_DEAD, op->op, op->n, NULL,
			    0);
		bop_end(op);
		return;
	}
	/* It is looked at before and after. */
	free(op->box.guest);
	op->box.guest = NULL;
	msg_clear(&op->req, msg_def(MSG_BOX_CREATE));
	if (policy_derive(&broker_env.policy, op->n, ans->json, &op->req,
	    &op->box) == -1) {
		bop_fail(op, CODE_ENGINE_ERROR, "", 0,
		    "the container is none that this daemon made");
		return;
	}
	/* Whoever else has changed it is not helped. */
	if (policy_check(&broker_env.policy, &op->box, NULL, ans->json, why,
	    sizeof(why)) == -1) {
		bop_fail(op, CODE_ENGINE_ERROR, "", 0,
		    "the container is not what was made: %s", why);
		return;
	}
	if (policy_limited(&broker_env.policy, &op->req,
	    &op->limits)) {
		update_done(op, ans->json);
		return;
	}
	if (op->tries > 0) {
		if (op->doubt && op->op != 0)
			owed_add(op);
		bop_fail(op, op->code == CODE_OK ? CODE_ENGINE_ERROR :
		    op->code, "", 0, "%s%s", op->doubt ?
		    "the Engine went away: " : "", op->text[0] != '\0' ?
		    op->text : "the Engine did not do it");
	} else
		update_call(op);
}

void
bop_update(struct bop *op)
{
	engine_inspect(bop_what(op), update_inspected, op);
}
