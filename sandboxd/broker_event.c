/*
 * The Engine's events: what died without being told to, and what appeared
 * after everybody had given it up.
 */
#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "log.h"

#define OOMS_MAX	64		/* that are remembered */
#define OOM_NS		1000000000	/* so long before a death, at most */

struct death {
	uint64_t	 n;
	int		 oom;
};

/* By the Engine's clock, for which they come in order. */
static struct {
	char		 container[ENGINE_ID_LEN + 1];
	json_int_t	 time;
} ooms[OOMS_MAX];
static u_int		 oom_next;

static json_int_t
event_time(const json_t *j)
{
	return (json_integer_value(json_object_get(j, "timeNano")));
}

static void
oom_keep(const char *container, json_int_t time)
{
	strlcpy(ooms[oom_next].container, container,
	    sizeof(ooms[oom_next].container));
	ooms[oom_next].time = time;
	oom_next = (oom_next + 1) % OOMS_MAX;
}

/* Did the kernel find no memory for it right before? */
static int
oom_before(const char *container, json_int_t time)
{
	u_int	 i;

	for (i = 0; i < OOMS_MAX; i++)
		if (strcmp(ooms[i].container, container) == 0 &&
		    time >= ooms[i].time && time - ooms[i].time < OOM_NS)
			return (1);
	return (0);
}

static void
event_inspected(struct engine_answer *ans, void *arg)
{
	struct death	*d = arg;

	/*
	 * Gone: its own event says so.  Running: it was started meanwhile.
	 * No answer: the inventory will tell.
	 */
	if (ans->result == ENGINE_OK &&
	    policy_ours(&broker_env.policy, ans->json, 0) &&
	    !json_is_true(json_object_get(json_object_get(ans->json, "State"),
	    "Running")))
		broker_send_state(MSG_BOX_DIED, 0, d->n, ans->json, d->oom);
	free(d);
}

void
broker_event_look(const char *container, uint64_t n, int oom)
{
	struct death	*d;

	if ((d = malloc(sizeof(*d))) == NULL)
		fatal("%s", __func__);
	d->n = n;
	d->oom = oom;
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
	    !engine_id_ok(container))
		return;
	/* None if somebody has renamed it: the store knows it by its mark. */
	n = policy_number(&broker_env.policy, name);
	if (strcmp(action, "oom") == 0) {
		oom_keep(container, event_time(j));
		return;
	}
	/* What an operation does to it, the operation reports. */
	if (broker_op_event(n, container, action))
		return;
	if (strcmp(action, "die") == 0 || strcmp(action, "create") == 0)
		broker_event_look(container, n, *action == 'd' &&
		    oom_before(container, event_time(j)));
	else if (strcmp(action, "destroy") == 0)
		event_destroyed(n, container, attr);
}
