/*
 * Is the Engine there, and which is it?
 *
 * The stream of its events is the sign: it ends when the Engine does.  While
 * there is none the broker asks at growing intervals.  The order at each
 * return is version, info, events; what happened in between the store learns
 * by the inventory that it asks for then.
 */
#include <event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "log.h"

#define BROKER_RETRY_MIN	50	/* ms */
#define BROKER_RETRY_MAX	1000

static struct engine_call	*watch_call;	/* of the three, the current */
static struct event		 watch_timer;
static int			 watch_ms = BROKER_RETRY_MIN;
static int			 watch_told;	/* the store knows the state */
static struct msg_engine	 watch_msg;
static char			 watch_arch[32];

static void	watch_begin(int, short, void *);

static void
watch_down(const char *why)
{
	struct timeval	 tv;
	struct broker	*b = &broker_env;

	watch_call = NULL;
	if (b->up || !watch_told || strcmp(b->why, why) != 0) {
		/* The store logs the loss of one that was there. */
		if (!b->up)
			log_warnx("the Engine is away: %s", why);
		memset(&watch_msg, 0, sizeof(watch_msg));
		snprintf(watch_msg.text, sizeof(watch_msg.text), "%s", why);
		pipe_send(&b->store, MSG_ENGINE, 0, 0, 0, -1, &watch_msg);
		watch_told = 1;
	}
	if (b->up)
		watch_ms = BROKER_RETRY_MIN;
	b->up = 0;
	snprintf(b->why, sizeof(b->why), "%s", why);
	tv.tv_sec = watch_ms / 1000;
	tv.tv_usec = watch_ms % 1000 * 1000;
	evtimer_add(&watch_timer, &tv);
	if ((watch_ms *= 2) > BROKER_RETRY_MAX)
		watch_ms = BROKER_RETRY_MAX;
}

static void
watch_up(void *arg)
{
	struct broker	*b = &broker_env;

	b->up = 1;
	watch_told = 1;
	watch_ms = BROKER_RETRY_MIN;
	b->why[0] = '\0';
	watch_msg.up = 1;
	watch_msg.live_restore = b->policy.live_restore;
	watch_msg.unenforced = b->policy.missing;
	watch_msg.ncpu = b->policy.ncpu;
	log_debug("Engine %s, API %s", watch_msg.version, watch_msg.api);
	pipe_send(&b->store, MSG_ENGINE, 0, 0, 0, -1, &watch_msg);
	broker_op_kick();
}

static void
watch_event(json_t *j, void *arg)
{
	broker_event(j);
}

static void
watch_ended(struct engine_answer *ans, void *arg)
{
	watch_down(ans->result == ENGINE_OK ? "it closed its events" :
	    ans->text);
}

static void
watch_text(char *dst, size_t size, const json_t *j, const char *key)
{
	const char	*s = json_string_value(json_object_get(j, key));

	*dst = '\0';
	if (s != NULL)
		engine_text(dst, size, s);
}

/* What it says of itself, for who asks what protects the host. */
static void
watch_features(const json_t *j)
{
	struct msg_engine	*m = &watch_msg;
	const json_t		*v;
	const char		*s;
	char			 text[128];
	size_t			 i;

	watch_text(m->kernel, sizeof(m->kernel), j, "KernelVersion");
	watch_text(m->runtime, sizeof(m->runtime), j, "DefaultRuntime");
	watch_text(m->cgroup, sizeof(m->cgroup), j, "CgroupVersion");
	watch_text(m->cgroup_driver, sizeof(m->cgroup_driver), j,
	    "CgroupDriver");
	watch_text(m->storage, sizeof(m->storage), j, "Driver");
	m->security[0] = m->backing[0] = '\0';
	json_array_foreach(json_object_get(j, "SecurityOptions"), i, v) {
		if ((s = json_string_value(v)) == NULL)
			continue;
		engine_text(text, sizeof(text), s);
		if (m->security[0] != '\0')
			strlcat(m->security, " ", sizeof(m->security));
		strlcat(m->security, text, sizeof(m->security));
	}
	json_array_foreach(json_object_get(j, "DriverStatus"), i, v) {
		s = json_string_value(json_array_get(v, 0));
		if (s == NULL || strcmp(s, "Backing Filesystem") != 0)
			continue;
		if ((s = json_string_value(json_array_get(v, 1))) != NULL)
			engine_text(m->backing, sizeof(m->backing), s);
	}
}

static void
watch_info(struct engine_answer *ans, void *arg)
{
	char	 why[POLICY_WHY_MAX];

	if (ans->result != ENGINE_OK) {
		watch_down(ans->text);
		return;
	}
	if (policy_engine(&broker_env.policy, watch_arch, ans->json, why,
	    sizeof(why)) == -1) {
		watch_down(why);
		return;
	}
	watch_features(ans->json);
	watch_call = engine_events(broker_env.policy.conf.instance, watch_up,
	    watch_event, watch_ended, NULL);
}

/* "1.41" as 41; -1 for what is none of ours. */
static int
watch_minor(const json_t *j, const char *key)
{
	const char	*s;
	char		*end;
	long		 v;

	s = json_string_value(json_object_get(j, key));
	if (s == NULL || strncmp(s, "1.", 2) != 0)
		return (-1);
	v = strtol(s + 2, &end, 10);
	return (end == s + 2 || *end != '\0' || v < 0 || v > 9999 ? -1 :
	    (int)v);
}

/*
 * The oldest version that both speak, since its meaning is the one that is
 * known here; newer ones are for Engines that have dropped it.
 */
static void
watch_version(struct engine_answer *ans, void *arg)
{
	const char	*s;
	int		 newest, use;

	if (ans->result != ENGINE_OK) {
		watch_down(ans->text);
		return;
	}
	newest = watch_minor(ans->json, "ApiVersion");
	use = watch_minor(ans->json, "MinAPIVersion");
	if (use < ENGINE_API_OLDEST)
		use = ENGINE_API_OLDEST;
	if (newest < use) {
		watch_down("its API is older than 1.41");
		return;
	}
	memset(&watch_msg, 0, sizeof(watch_msg));
	if ((s = json_string_value(json_object_get(ans->json,
	    "Version"))) != NULL)
		engine_text(watch_msg.version, sizeof(watch_msg.version), s);
	snprintf(watch_msg.api, sizeof(watch_msg.api), "%d.%d",
	    ENGINE_API_MAJOR, use);
	snprintf(watch_msg.newest, sizeof(watch_msg.newest), "%d.%d",
	    ENGINE_API_MAJOR, newest);
	watch_arch[0] = '\0';
	if ((s = json_string_value(json_object_get(ans->json, "Arch"))) != NULL)
		engine_text(watch_arch, sizeof(watch_arch), s);
	engine_set_version(use);
	watch_call = engine_info(watch_info, NULL);
}

static void
watch_begin(int fd, short event, void *arg)
{
	watch_call = engine_version(watch_version, NULL);
}

void
broker_engine_lost(const char *why)
{
	if (!broker_env.up)
		return;
	if (watch_call != NULL)
		engine_cancel(watch_call);
	watch_down(why);
}

void
broker_engine_start(void)
{
	evtimer_set(&watch_timer, watch_begin, NULL);
	watch_begin(-1, 0, NULL);
}

void
broker_engine_stop(void)
{
	evtimer_del(&watch_timer);
	if (watch_call != NULL)
		engine_cancel(watch_call);
	watch_call = NULL;
}
