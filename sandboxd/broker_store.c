/*
 * What the store orders and what it hears.  The store is not trusted with
 * more than its pipe: each order is checked against the policy before the
 * Engine hears of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "fault.h"
#include "log.h"

#define STATUS_KILLED	137	/* 128 and SIGKILL, as Engines have it */

struct broker		 broker_env;

/* What an answer that is no success is to those who wait for it. */
enum code
broker_code(const struct engine_answer *ans)
{
	if (ans->result == ENGINE_REFUSED || ans->bad)
		return (CODE_ENGINE_ERROR);
	return (ans->late ? CODE_DEADLINE_EXCEEDED : CODE_UNAVAILABLE);
}

void
broker_send_failed(uint64_t op, uint64_t n, enum code code, const char *field,
    const char *text, int left)
{
	struct msg_box_failed	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.code = code;
	m.left = left;
	snprintf(m.text, sizeof(m.text), "%s", text);
	snprintf(m.field, sizeof(m.field), "%s", field);
	fault("broker.report.before");
	pipe_send(&broker_env.store, MSG_BOX_FAILED, op, 0, 0, -1, &m);
	fault("broker.report.after");
}

static void
broker_copy(char *dst, size_t size, const json_t *v)
{
	const char	*s;

	dst[0] = '\0';
	if ((s = json_string_value(v)) != NULL && strlen(s) < size)
		memcpy(dst, s, strlen(s) + 1);
}

/*
 * What is in msg_box_state; inspected NULL: there is none.  oom: the
 * Engine has told of it right before; by itself OOMKilled means that it did so
 * at any time, of any process of the container.
 */
void
broker_send_state(uint32_t type, uint64_t op, uint64_t n,
    const json_t *inspected, int oom)
{
	struct msg_box_state	 m;
	const json_t		*labels, *state;
	const char		*name;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.gone = inspected == NULL;
	if (inspected != NULL) {
		state = json_object_get(inspected, "State");
		labels = json_object_get(json_object_get(inspected, "Config"),
		    "Labels");
		name = json_string_value(json_object_get(inspected, "Name"));
		if (n == 0 && name != NULL)
			m.n = policy_number(&broker_env.policy, name);
		broker_copy(m.container, sizeof(m.container),
		    json_object_get(inspected, "Id"));
		broker_copy(m.nonce, sizeof(m.nonce),
		    json_object_get(labels, "sandboxd.op"));
		broker_copy(m.id, sizeof(m.id),
		    json_object_get(labels, "sandboxd.id"));
		m.running = json_is_true(json_object_get(state, "Running"));
		if (m.running)
			m.pid = json_integer_value(json_object_get(state,
			    "Pid"));
		m.paused = m.running && json_is_true(json_object_get(state,
		    "Paused"));
		m.exitcode = json_integer_value(json_object_get(state,
		    "ExitCode"));
		m.oom = oom && m.exitcode == STATUS_KILLED &&
		    json_is_true(json_object_get(state, "OOMKilled"));
	}
	pipe_send(&broker_env.store, type, op, 0, 0, -1, &m);
}

static int
broker_recv_inventory(struct chan *ch, struct frame *f, void *arg)
{
	broker_inventory(f->op);
	return (0);
}

static int
broker_recv_create(struct chan *ch, struct frame *f, void *arg)
{
	return (broker_op_create(f->op, arg));
}

static int
broker_recv_ref(struct chan *ch, struct frame *f, void *arg)
{
	return (broker_op_ref(f->type, f->op, arg));
}

static int
broker_recv_update(struct chan *ch, struct frame *f, void *arg)
{
	return (broker_op_update(f->op, arg));
}

static int
broker_recv_import(struct chan *ch, struct frame *f, void *arg)
{
	struct msg_import	*m = arg;

	broker_import(f->op, f->session, f->req, m->name);
	return (0);
}

static const struct pipe_handler store_handlers[] = {
	{ MSG_INVENTORY, broker_recv_inventory },
	{ MSG_BOX_CREATE, broker_recv_create },
	{ MSG_BOX_START, broker_recv_ref },
	{ MSG_BOX_KILL, broker_recv_ref },
	{ MSG_BOX_REMOVE, broker_recv_ref },
	{ MSG_BOX_PAUSE, broker_recv_ref },
	{ MSG_BOX_UNPAUSE, broker_recv_ref },
	{ MSG_BOX_UPDATE, broker_recv_update },
	{ MSG_IMPORT, broker_recv_import },
};

static void
broker_dispatch_store(int fd, short event, void *arg)
{
	struct chan	*ch = arg;

	if (pipe_dispatch(ch, store_handlers, sizeof(store_handlers) /
	    sizeof(store_handlers[0])) == 0) {
		/* The parent ends the whole set. */
		event_del(&ch->ev);
		event_loopexit(NULL);
	}
}

void
broker_store_start(int fd)
{
	chan_init(&broker_env.store, fd, "store", broker_dispatch_store);
	broker_env.have_store = 1;
}
