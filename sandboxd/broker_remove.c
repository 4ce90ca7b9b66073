/*
 * To kill a container, until it is dead, and to remove it, until it is not
 * there.
 */
#include <string.h>

#include "broker_ops.h"
#include "fault.h"

#define BOP_TRIES	8	/* refusals of a kill or a removal */

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
	bop_kill(op);
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

	switch (bop_found(op, ans, bop_kill)) {
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

void
bop_kill(struct bop *op)
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
	bop_later(op, bop_remove);
}

static void
remove_inspected(struct engine_answer *ans, void *arg)
{
	struct bop	*op = arg;

	/* Somebody else's that has the name by now is none of it. */
	if (op->gone && ans->result == ENGINE_OK &&
	    !bop_is_it(op, ans->json)) {
		remove_done(op);
		return;
	}
	switch (bop_found(op, ans, bop_remove)) {
	case -1:
		return;
	case 0:
		if (op->container[0] == '\0' || op->n == 0) {
			remove_done(op);
			return;
		}
		/* A second one would have the name. */
		op->container[0] = '\0';
		op->absent = 0;
		op->gone = 1;
		bop_remove(op);
		return;
	}
	fault("broker.remove.before");
	engine_remove(op->container, remove_removed, op);
}

/* By its ID, whatever name it has by now, and then what has the name. */
void
bop_remove(struct bop *op)
{
	engine_inspect(bop_what(op), remove_inspected, op);
}
