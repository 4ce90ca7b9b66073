/*
 * Execs at the store, between siblings that the test plays: what is ordered of
 * the runner, what waits, and what becomes of one whose client has gone.
 *
 * regress-srcs: ring.c
 */
#include <stdlib.h>
#include <string.h>

#include "ring.h"

ATF_TC_WITHOUT_HEAD(exec);
ATF_TC_BODY(exec, tc)
{
	struct msg_started	 s;
	struct got		 g;
	uint64_t		 n;
	uint32_t		 req;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	req = ring_exec(USER_SESSION, "web", EXEC_ATTACH);
	ring_answer(req, PROTO_ACCEPTED, &g);
	ATF_REQUIRE_STREQ(g.m.accepted.id, "web.1");
	ring_done(&g);
	ring_get(&ring.runner, MSG_START, &g);
	ATF_REQUIRE_EQ(g.f.session, USER_SESSION);
	ATF_REQUIRE_EQ(g.f.req, req);
	ATF_REQUIRE_EQ(g.m.start.k, 1);
	ATF_REQUIRE_EQ(g.m.start.argv.n, 2);
	ATF_REQUIRE_STREQ(g.m.start.argv.v[1], "hello");
	ATF_REQUIRE_STREQ(g.m.start.dir, "/workspace");
	ATF_REQUIRE_EQ(g.m.start.again, 0);
	ring_done(&g);
	s.n = n;
	s.k = 1;
	s.pid = 5;
	ring_send(&ring.runner, MSG_STARTED, 0, 0, 0, &s);
	ring_ended(n, 1, END_EXITED, 3);
	ring_answer(req, PROTO_EXEC_INFO, &g);
	ATF_REQUIRE_STREQ(g.m.exec.state, "exited");
	ATF_REQUIRE_EQ(g.m.exec.code, 3);
	ATF_REQUIRE_EQ(g.m.exec.length1, 6);
	ring_done(&g);
	ring_answered(req, PROTO_END);
	ring_get(&ring.runner, MSG_FORGET, &g);
	ATF_REQUIRE_EQ(g.m.ref.k, 1);
	ring_done(&g);
	/* The runner says it again if the FORGET was lost. */
	ring_ended(n, 1, END_EXITED, 3);
	ring_skip(&ring.runner, MSG_FORGET);
	ring_stop();
}

static uint32_t
ask_exec(uint64_t session, uint32_t type, const char *exec)
{
	struct proto_wait	 w;
	struct proto_kill	 k;
	char			 buf[128];

	strlcpy(buf, exec, sizeof(buf));
	if (type == PROTO_WAIT) {
		memset(&w, 0, sizeof(w));
		w.exec = buf;
		return (ring_ask(session, type, &w));
	}
	memset(&k, 0, sizeof(k));
	k.exec = buf;
	return (ring_ask(session, type, &k));
}

static void
accepted(void)
{
	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
}

/* A sandbox whose first exec runs, and no other beside it. */
static uint64_t
one_at_a_time(void)
{
	uint64_t	 n;

	ring_make();
	ring.conf.max_execs = 1;
	ring_start();
	ring_engine(1);
	n = ring_ready(USER_SESSION, "web");
	accepted();
	ring_skip(&ring.runner, MSG_START);
	return (n);
}

ATF_TC_WITHOUT_HEAD(exec_queue);
ATF_TC_BODY(exec_queue, tc)
{
	struct got	 g;
	uint64_t	 n;
	uint32_t	 req;

	n = one_at_a_time();
	accepted();
	accepted();
	ring_quiet(&ring.runner);
	/* One that waits can be cancelled, and has not run then. */
	req = ask_exec(USER_SESSION, PROTO_WAIT, "web.2");
	ring_answered(ask_exec(USER_SESSION, PROTO_KILL, "web.2"), PROTO_END);
	ring_answer(req, PROTO_EXEC_INFO, &g);
	ATF_REQUIRE_STREQ(g.m.exec.state, "failed");
	ring_done(&g);
	ring_answered(req, PROTO_END);
	ring_ended(n, 1, END_SIGNALED, 9);
	ring_skip(&ring.runner, MSG_FORGET);
	ring_get(&ring.runner, MSG_START, &g);
	ATF_REQUIRE_EQ(g.m.start.k, 3);
	ATF_REQUIRE_EQ(g.m.start.argv.n, 2);
	ATF_REQUIRE_STREQ(g.m.start.argv.v[1], "hello");
	ATF_REQUIRE_STREQ(g.m.start.env.v[0].k, "SECRET");
	ATF_REQUIRE_EQ(g.m.start.again, 0);
	ring_done(&g);
	req = ask_exec(USER_SESSION, PROTO_WAIT, "web.1");
	ring_answer(req, PROTO_EXEC_INFO, &g);
	ATF_REQUIRE_STREQ(g.m.exec.state, "signaled");
	ATF_REQUIRE_EQ(g.m.exec.code, 9);
	ring_done(&g);
	ring_answered(req, PROTO_END);
	ring_stop();
}

static uint32_t
ask_attach(uint64_t session, const char *exec, uint32_t streams)
{
	struct proto_attach	 m;
	char			 buf[128];

	strlcpy(buf, exec, sizeof(buf));
	memset(&m, 0, sizeof(m));
	m.exec = buf;
	m.streams = streams;
	return (ring_ask(session, PROTO_ATTACH, &m));
}

/* Who attaches to one that waits gets what it asked for when that starts. */
ATF_TC_WITHOUT_HEAD(attach_queued);
ATF_TC_BODY(attach_queued, tc)
{
	struct got	 g;
	uint64_t	 n;
	uint32_t	 first, later;

	n = one_at_a_time();
	first = ring_exec(USER_SESSION, "web", EXEC_ATTACH | EXEC_MERGE);
	ring_answered(first, PROTO_ACCEPTED);
	later = ask_attach(ROOT_SESSION, "1234/web.2", 1 << 1 | 1 << 2);
	ring_quiet(&ring.runner);
	ring_ended(n, 1, END_EXITED, 0);
	ring_skip(&ring.runner, MSG_FORGET);
	ring_get(&ring.runner, MSG_START, &g);
	ATF_REQUIRE_EQ(g.m.start.k, 2);
	ATF_REQUIRE_EQ(g.f.session, USER_SESSION);
	ATF_REQUIRE_EQ(g.f.req, first);
	ring_done(&g);
	ring_get(&ring.runner, MSG_REATTACH, &g);
	ATF_REQUIRE_EQ(g.m.read.k, 2);
	ATF_REQUIRE_EQ(g.m.read.streams, 1 << 1 | 1 << 2);
	ATF_REQUIRE_EQ(g.f.session, ROOT_SESSION);
	ATF_REQUIRE_EQ(g.f.req, later);
	ring_done(&g);
	ring_stop();
}

/* A client that the runner cannot serve is one that has gone. */
ATF_TC_WITHOUT_HEAD(not_served);
ATF_TC_BODY(not_served, tc)
{
	struct msg_result	 m = { CODE_UNAVAILABLE, "no more" };
	struct got		 g;
	uint32_t		 req;

	ring_make();
	ring.conf.t_reattach = 0;
	ring_start();
	ring_engine(1);
	ring_ready(USER_SESSION, "web");
	req = ring_exec(USER_SESSION, "web", EXEC_ATTACH);
	ring_answered(req, PROTO_ACCEPTED);
	ring_skip(&ring.runner, MSG_START);
	ring_send(&ring.runner, MSG_RUNNER_ERROR, 0, USER_SESSION, req, &m);
	ring_refused(req, CODE_UNAVAILABLE);
	ring_get(&ring.runner, MSG_CANCEL, &g);
	ATF_REQUIRE_EQ(g.m.ref.k, 1);
	ring_done(&g);
	ring_stop();
}

/* An attached exec whose client does not come back is cancelled. */
ATF_TC_WITHOUT_HEAD(client_lost);
ATF_TC_BODY(client_lost, tc)
{
	struct got	 g;

	ring_make();
	ring.conf.t_reattach = 0;
	ring_start();
	ring_engine(1);
	ring_ready(USER_SESSION, "web");
	ring_answered(ring_exec(USER_SESSION, "web", EXEC_ATTACH |
	    EXEC_CONTINUE), PROTO_ACCEPTED);
	ring_skip(&ring.runner, MSG_START);
	ring_answered(ring_exec(USER_SESSION, "web", EXEC_ATTACH),
	    PROTO_ACCEPTED);
	ring_skip(&ring.runner, MSG_START);
	ring_session_over(USER_SESSION);
	ring_get(&ring.runner, MSG_CANCEL, &g);
	ATF_REQUIRE_EQ(g.m.ref.k, 2);
	ring_done(&g);
	ring_quiet(&ring.runner);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, exec);
	ATF_TP_ADD_TC(tp, exec_queue);
	ATF_TP_ADD_TC(tp, attach_queued);
	ATF_TP_ADD_TC(tp, not_served);
	ATF_TP_ADD_TC(tp, client_lost);
	return (atf_no_error());
}
