/*
 * Waiting for a state of a sandbox, and for a command, with a deadline.
 *
 * regress-srcs: ring.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

static uint32_t
wait_for(uint64_t session, const char *id, const char *a, const char *b,
    uint64_t from, uint64_t timeout)
{
	struct proto_wait_state	 m;
	char			 name[64];
	uint32_t		 req;

	memset(&m, 0, sizeof(m));
	strlcpy(name, id, sizeof(name));
	m.id = name;
	m.from = from;
	m.timeout = timeout;
	ATF_REQUIRE(strv_add(&m.states, a) == 0);
	if (b != NULL)
		ATF_REQUIRE(strv_add(&m.states, b) == 0);
	req = ring_ask(session, PROTO_WAIT_STATE, &m);
	strv_clear(&m.states);
	return (req);
}

static void
reached(uint32_t req, const char *state)
{
	struct got	 g;

	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_CHECK_STREQ(state, g.m.sandbox.state);
	ring_done(&g);
	ring_answered(req, PROTO_END);
}

static void
refused(uint32_t req, const char *code, const char *text)
{
	struct got	 g;

	ring_answer(req, PROTO_ERROR, &g);
	ATF_CHECK_STREQ(code, g.m.error.code);
	ATF_CHECK_MSG(strstr(g.m.error.text, text) != NULL, "%s",
	    g.m.error.text);
	ring_done(&g);
}

ATF_TC_WITHOUT_HEAD(comes);
ATF_TC_BODY(comes, tc)
{
	uint64_t	 n, op;
	uint32_t	 create, one, two, never, del;

	(void)tc;
	ring_up();
	n = ring_create(USER_SESSION, "web", &op);
	create = ring.req;
	/* What is already there. */
	reached(wait_for(USER_SESSION, "web", "pending", NULL, 0, 0),
	    "pending");
	one = wait_for(USER_SESSION, "web", "ready", NULL, 0, 0);
	two = wait_for(ROOT_SESSION, "web", "stopped", "ready", 0, 0);
	never = wait_for(USER_SESSION, "web", "stopped", NULL, 0, 0);
	ring_quiet(&ring.frontend);
	ring_make_ready(n, op, MSG_BOX_CREATE, NULL);
	reached(create, "ready");
	reached(one, "ready");
	reached(two, "ready");
	/* What was can be asked for by the number of its event. */
	reached(wait_for(USER_SESSION, "web", "pending", NULL, 1, 0),
	    "pending");
	refused(wait_for(USER_SESSION, "web", "pending", NULL, 2, 0),
	    "wrong_state", "web: cannot become pending any more: it is ready");
	refused(wait_for(USER_SESSION, "web", "ready", NULL, 3, 0),
	    "invalid_argument", "the newest is 2");
	/* Over with the order, which leads nowhere else. */
	two = wait_for(USER_SESSION, "web", "deleted", "failed", 0, 0);
	del = ring_ref(USER_SESSION, PROTO_DELETE, "web", 1);
	ring_answered(del, PROTO_ACCEPTED);
	refused(never, "wrong_state", "it is deleting");
	ring_quiet(&ring.frontend);
	ring_removed(n);
	reached(del, "deleted");
	reached(two, "deleted");
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(whose);
ATF_TC_BODY(whose, tc)
{
	uint64_t	 n, op;
	uint32_t	 req;

	(void)tc;
	ring_up();
	n = ring_create(USER_SESSION, "web", &op);
	req = ring.req;
	refused(wait_for(OTHER_SESSION, "web", "ready", NULL, 0, 0),
	    "not_found", "web: no such sandbox");
	refused(wait_for(USER_SESSION, "web", "up", NULL, 0, 0),
	    "invalid_argument", "\"up\": is no state");
	/* Who has gone is not waited for. */
	wait_for(USER_SESSION, "web", "stopped", NULL, 0, 600000);
	ring_session_over(USER_SESSION);
	ring_make_ready(n, op, MSG_BOX_CREATE, NULL);
	ring_quiet(&ring.frontend);
	ring_stop();
	(void)req;
}

ATF_TC_WITHOUT_HEAD(late);
ATF_TC_BODY(late, tc)
{
	struct proto_wait	 w;
	char			 exec[] = "web.1";
	uint64_t		 n;
	uint32_t		 req;

	(void)tc;
	ring_up();
	n = ring_ready(USER_SESSION, "web");
	refused(wait_for(USER_SESSION, "web", "stopped", "deleted", 0, 10),
	    "deadline_exceeded",
	    "web: not stopped or deleted within the time given: it is ready");
	ring_exec(USER_SESSION, "web", 0);
	ring_skip(&ring.frontend, PROTO_ACCEPTED);
	ring_skip(&ring.frontend, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	memset(&w, 0, sizeof(w));
	w.exec = exec;
	w.timeout = 10;
	refused(ring_ask(USER_SESSION, PROTO_WAIT, &w), "deadline_exceeded",
	    "not ended within the time");
	/* A later one is answered, and the one above not again. */
	w.timeout = 600000;
	req = ring_ask(USER_SESSION, PROTO_WAIT, &w);
	ring_ended(n, 1, END_EXITED, 0);
	ring_answered(req, PROTO_EXEC_INFO);
	ring_answered(req, PROTO_END);
	ring_skip(&ring.runner, MSG_FORGET);
	/* It has ended: at once, whatever the time. */
	w.timeout = 1;
	req = ring_ask(USER_SESSION, PROTO_WAIT, &w);
	ring_answered(req, PROTO_EXEC_INFO);
	ring_answered(req, PROTO_END);
	ring_quiet(&ring.frontend);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, comes);
	ATF_TP_ADD_TC(tp, whose);
	ATF_TP_ADD_TC(tp, late);
	return (atf_no_error());
}
