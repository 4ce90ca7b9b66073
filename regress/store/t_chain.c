/*
 * The events of the store, between siblings that the test plays: over a death
 * in the middle of everything, to a subscriber, when a history ends, and when
 * there are many.
 *
 * regress-srcs: ring.c
 */

#include <stdlib.h>
#include <string.h>

#include "ring.h"

/* What a start after a death asks of the runner: guests, and their execs. */
static void
restart_guests(uint64_t n1, uint64_t n2)
{
	struct got	 g;

	ring_get(&ring.runner, MSG_LISTEN, &g);
	ATF_REQUIRE_EQ(g.m.listen.n, n1);
	ATF_REQUIRE_EQ(g.m.listen.boot, 7);
	ATF_REQUIRE_EQ(g.m.listen.pid, 1000 + n1);
	ring_done(&g);
	ring_get(&ring.runner, MSG_START, &g);
	ATF_REQUIRE_EQ(g.m.start.k, 1);
	ATF_REQUIRE_EQ(g.m.start.again, 1);
	ATF_REQUIRE_EQ(g.m.start.argv.n, 0);
	ring_done(&g);
	ring_get(&ring.runner, MSG_START, &g);
	ATF_REQUIRE_EQ(g.m.start.k, 2);
	ATF_REQUIRE_EQ(g.m.start.again, 1);
	ATF_REQUIRE_EQ(g.m.start.argv.n, 2);
	ring_done(&g);
	ring_get(&ring.runner, MSG_LISTEN, &g);
	ATF_REQUIRE_EQ(g.m.listen.n, n2);
	ring_done(&g);
}

/*
 * What the Engine has: a container of nobody's, and one of the two that were
 * ready: it is the Engine that is meant.
 */
static void
restart_inventory(uint64_t n2, const char *nonce)
{
	struct msg_box_state	 box;
	struct msg_box_done	 end;
	struct msg_engine	 eng;
	struct got		 g;
	uint64_t		 inv;

	memset(&eng, 0, sizeof(eng));
	eng.up = 1;
	ring_send(&ring.broker, MSG_ENGINE, 0, 0, 0, &eng);
	ring_get(&ring.broker, MSG_INVENTORY, &g);
	inv = g.f.op;
	ring_done(&g);
	memset(&box, 0, sizeof(box));
	box.n = 99;
	strlcpy(box.container, "stray", sizeof(box.container));
	ring_send(&ring.broker, MSG_CONTAINER, inv, 0, 0, &box);
	ring_get(&ring.broker, MSG_BOX_REMOVE, &g);
	ATF_REQUIRE_EQ(g.m.box.n, 0);
	ATF_REQUIRE_STREQ(g.m.box.container, "stray");
	ring_done(&g);
	memset(&box, 0, sizeof(box));
	box.n = n2;
	box.running = 1;
	box.pid = 1000 + n2;
	strlcpy(box.container, "c2", sizeof(box.container));
	strlcpy(box.nonce, nonce, sizeof(box.nonce));
	ring_send(&ring.broker, MSG_CONTAINER, inv, 0, 0, &box);
	memset(&end, 0, sizeof(end));
	ring_send(&ring.broker, MSG_INVENTORY_END, inv, 0, 0, &end);
}

/* Killed in the middle of everything. */
ATF_TC_WITHOUT_HEAD(restart);
ATF_TC_BODY(restart, tc)
{
	struct msg_started	 s;
	struct got		 g;
	char			 nonce[33];
	uint64_t		 n1, n2, n3, op;

	ring_up();
	n1 = ring_ready(USER_SESSION, "one");
	n2 = ring_ready(USER_SESSION, "two");
	strlcpy(nonce, ring.nonce, sizeof(nonce));
	ring_answered(ring_exec(USER_SESSION, "one", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	ring_answered(ring_exec(USER_SESSION, "one", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	s.n = n1;
	s.k = 1;
	s.pid = 5;
	ring_send(&ring.runner, MSG_STARTED, 0, 0, 0, &s);
	/* What follows it in the log takes it along. */
	ring_quiet(&ring.runner);
	n3 = ring_create(USER_SESSION, "three", &op);
	ring_kill();

	ring_start();
	restart_guests(n1, n2);
	ring_state(USER_SESSION, "three", "pending");
	restart_inventory(n2, nonce);
	/* One that was ready has lost its own; what was cut off goes on. */
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	ATF_REQUIRE_EQ(g.m.work.n, n3);
	op = g.f.op;
	ring_done(&g);
	ATF_REQUIRE(op != 0);
	ring_skip(&ring.broker, MSG_BOX_REMOVE);
	ring_state(USER_SESSION, "one", "failed");
	ring_state(USER_SESSION, "two", "ready");
	ring_stop();
}

static void
event_must(uint32_t req, uint64_t seq)
{
	struct got	 g;

	ring_answer(req, PROTO_EVENT, &g);
	ATF_REQUIRE_EQ(g.m.event.host_seq, seq);
	ATF_REQUIRE(kvv_get(&g.m.event.detail, "command") == NULL ||
	    strstr(kvv_get(&g.m.event.detail, "command"),
	    "do not log") == NULL);
	ring_done(&g);
}

ATF_TC_WITHOUT_HEAD(subscribe);
ATF_TC_BODY(subscribe, tc)
{
	struct proto_events	 m;
	struct proto_credit	 c;
	struct got		 g;
	uint32_t		 req, other;

	ring_up();
	ring_ready(USER_SESSION, "web");
	/* daemon.started, sandbox.create, sandbox.ready */
	memset(&m, 0, sizeof(m));
	m.sandbox = strdup("");
	m.from = 2;
	m.follow = 1;
	m.credit = 4;
	req = ring_ask(ROOT_SESSION, PROTO_EVENTS, &m);
	event_must(req, 2);
	event_must(req, 3);
	/* That it may is 4, which the ring puts aside. */
	/* Live from here, as far as the credit goes. */
	other = ring_exec(USER_SESSION, "web", 0);
	ring_answered(other, PROTO_ACCEPTED);
	ring_answered(other, PROTO_END);
	event_must(req, 5);
	ring_ended(1, 1, END_EXITED, 0);
	ring_skip(&ring.runner, MSG_START);
	ring_skip(&ring.runner, MSG_FORGET);
	ring_quiet(&ring.frontend);
	c.n = 10;
	ring_send(&ring.frontend, PROTO_CREDIT, 0, ROOT_SESSION, req, &c);
	event_must(req, 6);
	ring_quiet(&ring.frontend);

	/* A user sees his own, by the sandbox's own sequence too. */
	m.follow = 0;
	m.credit = 0;
	m.from = 1;
	req = ring_ask(OTHER_SESSION, PROTO_EVENTS, &m);
	ring_answered(req, PROTO_END);
	free(m.sandbox);
	m.sandbox = strdup("web");
	m.from = 3;
	req = ring_ask(USER_SESSION, PROTO_EVENTS, &m);
	ring_answer(req, PROTO_EVENT, &g);
	ATF_REQUIRE_EQ(g.m.event.seq, 3);
	ATF_REQUIRE_STREQ(g.m.event.type, "exec.create");
	ATF_REQUIRE_STREQ(kvv_get(&g.m.event.detail, "exec"), "web.1");
	ATF_REQUIRE_STREQ(kvv_get(&g.m.event.detail, "env"), "SECRET");
	ring_done(&g);
	event_must(req, 6);
	ring_answered(req, PROTO_END);
	free(m.sandbox);

	ring_answer(ring_ask(ROOT_SESSION, PROTO_LOG_VERIFY, NULL),
	    PROTO_VERIFY, &g);
	/* That three others may read it comes when it comes. */
	ATF_REQUIRE(g.m.verify.events >= 6 && g.m.verify.events <= 9);
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	ring_stop();
}

/* A deleted sandbox's history ends; the chain holds, the name is free. */
ATF_TC_WITHOUT_HEAD(collect);
ATF_TC_BODY(collect, tc)
{
	struct proto_events	 m;
	struct proto_credit	 c = { 1 };
	struct got		 g;
	uint64_t		 n, op;
	uint32_t		 create, del, req;

	ring_make();
	ring.conf.retain_history = 1;
	ring_start();
	ring_engine(1);
	memset(&m, 0, sizeof(m));
	m.sandbox = strdup("");
	m.from = 1;
	m.follow = 1;
	m.credit = 7;
	req = ring_ask(ROOT_SESSION, PROTO_EVENTS, &m);
	free(m.sandbox);
	event_must(req, 1);
	/* 2: that it may. */
	n = ring_create(USER_SESSION, "web", &op);
	create = ring.req;
	event_must(req, 3);
	ring_make_ready(n, op, MSG_BOX_CREATE, NULL);
	ring_answered(create, PROTO_SANDBOX);
	ring_answered(create, PROTO_END);
	event_must(req, 4);
	del = ring_ref(USER_SESSION, PROTO_DELETE, "web", 0);
	ring_answered(del, PROTO_ACCEPTED);
	ring_answered(del, PROTO_END);
	event_must(req, 5);
	ring_removed(n);
	event_must(req, 6);
	ring_answer(req, PROTO_EVENT, &g);
	/* The start of the daemon may be old enough before it. */
	while (strcmp(g.m.event.type, "log.anchor") == 0) {
		ring_done(&g);
		ring_send(&ring.frontend, PROTO_CREDIT, 0, ROOT_SESSION, req,
		    &c);
		ring_answer(req, PROTO_EVENT, &g);
	}
	ATF_REQUIRE_STREQ(g.m.event.type, "sandbox.collected");
	ATF_REQUIRE_STREQ(kvv_get(&g.m.event.detail, "sandbox"), "web");
	ring_done(&g);
	ring_get(&ring.runner, MSG_LOG_REMOVE, &g);
	ATF_REQUIRE_EQ(g.m.ref.n, n);
	ring_done(&g);
	ring_refused(ring_ref(USER_SESSION, PROTO_SHOW, "web", 0),
	    CODE_NOT_FOUND);
	ring_answer(ring_ask(ROOT_SESSION, PROTO_LOG_VERIFY, NULL),
	    PROTO_VERIFY, &g);
	/* The anchor may have come past the daemon's own and these. */
	ATF_REQUIRE(g.m.verify.events >= 2 && g.m.verify.events <= 5);
	ATF_REQUIRE(g.m.verify.skeletons == 4 || g.m.verify.anchor >= 6);
	ATF_REQUIRE_EQ(g.m.verify.events + g.m.verify.skeletons +
	    g.m.verify.anchor, g.m.verify.newest);
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	ring_kill();
	ring_start();
	ring_engine(1);
	/* The number is not used again. */
	ATF_REQUIRE_EQ(ring_ready(USER_SESSION, "web"), n + 1);
	ring_stop();
}

/* Many at a time: each is answered, none twice, and the chain holds. */
ATF_TC_WITHOUT_HEAD(crowd);
ATF_TC_BODY(crowd, tc)
{
	struct got	 g;
	uint64_t	 n;
	int		 i;

	ring_make();
	ring.conf.max_execs = 2000;
	ring_start();
	ring_engine(1);
	n = ring_ready(USER_SESSION, "web");
	for (i = 0; i < 500; i++)
		ring_exec(USER_SESSION, "web", 0);
	for (i = 0; i < 500; i++) {
		ring_skip(&ring.frontend, PROTO_ACCEPTED);
		ring_skip(&ring.frontend, PROTO_END);
	}
	for (i = 1; i <= 500; i++) {
		ring_get(&ring.runner, MSG_START, &g);
		ATF_REQUIRE_EQ(g.m.start.k, (uint64_t)i);
		ring_done(&g);
	}
	for (i = 1; i <= 500; i++)
		ring_ended(n, i, END_EXITED, 0);
	for (i = 1; i <= 500; i++) {
		ring_get(&ring.runner, MSG_FORGET, &g);
		ATF_REQUIRE_EQ(g.m.ref.k, (uint64_t)i);
		ring_done(&g);
	}
	ring_answer(ring_ask(ROOT_SESSION, PROTO_LOG_VERIFY, NULL),
	    PROTO_VERIFY, &g);
	/* That it is asked for may be one more, by then. */
	ATF_REQUIRE(g.m.verify.events - 1003 <= 1);
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, restart);
	ATF_TP_ADD_TC(tp, subscribe);
	ATF_TP_ADD_TC(tp, collect);
	ATF_TP_ADD_TC(tp, crowd);
	return (atf_no_error());
}
