/*
 * The Engine's events: what died without being told to, and what appeared
 * after everybody had given it up.
 */
#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "log.h"

struct death {
	uint64_t	 n;
};

static void
event_inspected(struct engine_answer *ans, void *arg)
{
	struct death	*d = arg;

	/*
	 * Gone: its own event says so.  Running: it was started meanwhile.
	 * No answer: the inventory will tell.
	 */
	if (ans->result == ENGINE_OK &&
	    policy_ours(&broker_env.policy, ans->json, d->n) &&
	    !json_is_true(json_object_get(json_object_get(ans->json, "State"),
	    "Running")))
		broker_send_state(MSG_BOX_DIED, 0, d->n, ans->json);
	free(d);
}

void
broker_event_look(const char *container, uint64_t n)
{
	struct death	*d;

	if ((d = malloc(sizeof(*d))) == NULL)
		fatal("%s", __func__);
	d->n = n;
	engine_inspect(container, event_inspected, d);
}

static void
event_destroyed(uint64_t n, const char *container, const json_t *attr)
{
	struct msg_box_state	 m;
	const char		*s;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.gone = 1;
	strlcpy(m.container, container, sizeof(m.container));
	if ((s = json_string_value(json_object_get(attr,
	    "sandboxd.op"))) != NULL)
		strlcpy(m.nonce, s, sizeof(m.nonce));
	if ((s = json_string_value(json_object_get(attr,
	    "sandboxd.id"))) != NULL)
		strlcpy(m.id, s, sizeof(m.id));
	pipe_send(&broker_env.store, MSG_BOX_DIED, 0, 0, 0, -1, &m);
}

void
broker_event(const json_t *j)
{
	const json_t	*actor, *attr;
	const char	*action, *container, *name, *ours;
	uint64_t	 n;

	action = json_string_value(json_object_get(j, "Action"));
	actor = json_object_get(j, "Actor");
	container = json_string_value(json_object_get(actor, "ID"));
	attr = json_object_get(actor, "Attributes");
	name = json_string_value(json_object_get(attr, "name"));
	ours = json_string_value(json_object_get(attr, "sandboxd.instance"));
	if (action == NULL || container == NULL || name == NULL ||
	    ours == NULL ||
	    strcmp(ours, broker_env.policy.conf.instance) != 0 ||
	    !engine_id_ok(container) ||
	    (n = policy_number(&broker_env.policy, name)) == 0)
		return;
	/* What an operation does to it, the operation reports. */
	if (broker_op_event(n, action))
		return;
	if (strcmp(action, "die") == 0 || strcmp(action, "create") == 0)
		broker_event_look(container, n);
	else if (strcmp(action, "destroy") == 0)
		event_destroyed(n, container, attr);
}
