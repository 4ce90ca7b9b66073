/* What a client of the ring asks for, and waits for until it is so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "watch.h"

int
watch_again(int *tries)
{
	struct timespec	 ts = { 0, 10 * 1000 * 1000 };

	nanosleep(&ts, NULL);
	return (++*tries < 6000);
}

void
watch_show(const char *id, struct got *g)
{
	uint32_t	 req;

	req = ring_ref(USER_SESSION, PROTO_SHOW, id, 0);
	ring_answer(req, PROTO_SANDBOX, g);
	ring_answered(req, PROTO_END);
}

void
watch_cause(const char *id, const char *state, const char *cause)
{
	struct got	 g;
	int		 tries = 0, ok;

	do {
		watch_show(id, &g);
		ok = strcmp(g.m.sandbox.state, state) == 0 &&
		    strncmp(g.m.sandbox.cause, cause, strlen(cause)) == 0;
		if (!ok)
			printf("%s: %s, %s\n", id, g.m.sandbox.state,
			    g.m.sandbox.cause);
		ring_done(&g);
	} while (!ok && watch_again(&tries));
	ATF_REQUIRE_MSG(ok, "%s is not %s: %s", id, state, cause);
}

static int
count(const char *id, const char *type)
{
	struct proto_events	 m;
	struct got		 g;
	uint32_t		 req;
	int			 n = 0, more = 1;

	memset(&m, 0, sizeof(m));
	m.sandbox = strdup(id);
	strlcpy(m.type, type, sizeof(m.type));
	m.from = 1;
	req = ring_ask(id[0] == '\0' ? ROOT_SESSION : USER_SESSION,
	    PROTO_EVENTS, &m);
	free(m.sandbox);
	while (more) {
		ring_frame_any(&ring.frontend, &g);
		ATF_REQUIRE_EQ(g.f.req, req);
		ATF_REQUIRE(g.f.type == PROTO_EVENT || g.f.type == PROTO_END);
		more = g.f.type == PROTO_EVENT;
		n += more;
		ring_done(&g);
	}
	return (n);
}

void
watch_count(const char *id, const char *type, int n)
{
	int	 tries = 0, is;

	while ((is = count(id, type)) != n)
		ATF_REQUIRE_MSG(watch_again(&tries), "%d of %s", is, type);
}

void
watch_gone(const char *id)
{
	struct got	 g;
	uint32_t	 req, type;
	int		 tries = 0;

	do {
		req = ring_ref(USER_SESSION, PROTO_SHOW, id, 0);
		ring_frame_any(&ring.frontend, &g);
		type = g.f.type;
		ring_done(&g);
		if (type == PROTO_SANDBOX)
			ring_answered(req, PROTO_END);
	} while (type == PROTO_SANDBOX && watch_again(&tries));
	ATF_REQUIRE_EQ(type, PROTO_ERROR);
}

void
watch_ask(uint32_t type, const char *id)
{
	uint32_t	 req = ring_ref(USER_SESSION, type, id, 0);

	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
}

uint64_t
watch_ready(uint32_t req)
{
	struct got	 g;
	uint64_t	 n, op;

	ring_answered(req, PROTO_ACCEPTED);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	n = g.m.work.n;
	op = g.f.op;
	ring_done(&g);
	ring_make_ready(n, op, MSG_BOX_CREATE, NULL);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, "ready");
	ring_done(&g);
	ring_answered(req, PROTO_END);
	return (n);
}

void
watch_stop(uint64_t n)
{
	struct msg_guest_gone	 gone;
	struct msg_box_state	 dead;
	struct got		 g;

	ring_get(&ring.runner, MSG_GUEST_STOP, &g);
	ATF_REQUIRE_EQ(g.m.ref.n, n);
	ring_done(&g);
	memset(&gone, 0, sizeof(gone));
	gone.n = n;
	gone.bye = 1;
	ring_send(&ring.runner, MSG_GUEST_GONE, 0, 0, 0, &gone);
	ring_get(&ring.broker, MSG_BOX_KILL, &g);
	memset(&dead, 0, sizeof(dead));
	dead.n = n;
	ring_send(&ring.broker, MSG_BOX_DEAD, g.f.op, 0, 0, &dead);
	ring_done(&g);
	ring_skip(&ring.runner, MSG_UNLISTEN);
}
