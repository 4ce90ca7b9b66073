/*
 * Pause, unpause, restart, and what is asked while something else is under
 * way: an outcome that comes late changes nothing.
 *
 * regress-srcs: ring.c
 */
#include <atf-c.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ring.h"

static void
box_failed(uint64_t op, uint64_t n, enum code code)
{
	struct msg_box_failed	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.code = code;
	strlcpy(m.text, "for the test", sizeof(m.text));
	ring_send(&ring.broker, MSG_BOX_FAILED, op, 0, 0, &m);
}

/* Its answer with the state, and the end. */
static void
became(uint32_t req, const char *state)
{
	struct got	 g;

	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, state);
	ring_done(&g);
	ring_answered(req, PROTO_END);
}

static uint32_t
asks(uint32_t type)
{
	uint32_t	 req = ring_ref(USER_SESSION, type, "web", 1);

	ring_answered(req, PROTO_ACCEPTED);
	return (req);
}

static uint64_t
pause_it(uint64_t n)
{
	uint32_t	 req = asks(PROTO_PAUSE);
	uint64_t	 op = ring_ordered(MSG_BOX_PAUSE);

	ring_outcome(MSG_BOX_PAUSED, op, n);
	became(req, "paused");
	return (op);
}

ATF_TC_WITHOUT_HEAD(paused);
ATF_TC_BODY(paused, tc)
{
	uint64_t	 n, op, late;
	uint32_t	 req, second;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	/* One that cannot be done leaves it as it was. */
	req = asks(PROTO_PAUSE);
	second = asks(PROTO_PAUSE);
	ring_refused(ring_exec(USER_SESSION, "web", 0), CODE_WRONG_STATE);
	box_failed(ring_ordered(MSG_BOX_PAUSE), n, CODE_ENGINE_ERROR);
	ring_refused(req, CODE_ENGINE_ERROR);
	ring_refused(second, CODE_ENGINE_ERROR);
	ring_state(USER_SESSION, "web", "ready");
	ring_skip(&ring.runner, MSG_PROBE);
	late = pause_it(n);
	req = asks(PROTO_UNPAUSE);
	/* What is late is of an operation that is over. */
	ring_outcome(MSG_BOX_PAUSED, late, n);
	ring_outcome(MSG_BOX_DEAD, late, n);
	op = ring_ordered(MSG_BOX_UNPAUSE);
	box_failed(op, n, CODE_ENGINE_ERROR);
	ring_refused(req, CODE_ENGINE_ERROR);
	ring_state(USER_SESSION, "web", "paused");
	req = asks(PROTO_RESUME);
	second = asks(PROTO_RESUME);
	op = ring_ordered(MSG_BOX_UNPAUSE);
	ring_outcome(MSG_BOX_UNPAUSED, op, n);
	became(req, "ready");
	became(second, "ready");
	ring_outcome(MSG_BOX_UNPAUSED, op, n);
	ring_state(USER_SESSION, "web", "ready");
	ring_quiet(&ring.broker);
	ring_skip(&ring.runner, MSG_PROBE);
	/* It has ended meanwhile. */
	req = asks(PROTO_PAUSE);
	ring_outcome(MSG_BOX_DEAD, ring_ordered(MSG_BOX_PAUSE), n);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	ring_refused(req, CODE_CONFLICT);
	ring_state(USER_SESSION, "web", "stopped");
	/* None of those that are over makes it anything else. */
	ring_outcome(MSG_BOX_PAUSED, late, n);
	ring_outcome(MSG_BOX_UNPAUSED, op, n);
	box_failed(op, n, CODE_ENGINE_ERROR);
	ring_quiet(&ring.broker);
	ring_state(USER_SESSION, "web", "stopped");
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(overtaken);
ATF_TC_BODY(overtaken, tc)
{
	uint64_t	 n, op, late;
	uint32_t	 req, stop;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	req = asks(PROTO_PAUSE);
	late = ring_ordered(MSG_BOX_PAUSE);
	stop = ring_ref(USER_SESSION, PROTO_STOP, "web", 1);
	ring_refused(req, CODE_CONFLICT);
	ring_answered(stop, PROTO_ACCEPTED);
	ring_outcome(MSG_BOX_PAUSED, late, n);
	ring_state(USER_SESSION, "web", "stopping");
	/* It may be paused by now: it goes on, and hears of its end. */
	op = ring_ordered(MSG_BOX_UNPAUSE);
	ring_outcome(MSG_BOX_UNPAUSED, op, n);
	ring_skip(&ring.runner, MSG_GUEST_STOP);
	ring_state(USER_SESSION, "web", "stopping");
	req = ring_ref(USER_SESSION, PROTO_DELETE, "web", 1);
	ring_refused(stop, CODE_CONFLICT);
	ring_answered(req, PROTO_ACCEPTED);
	ring_outcome(MSG_BOX_DEAD, op, n);
	ring_removed(n);
	became(req, "deleted");
	ring_stop();
}

/* Past its deadline who waits is told, and the Engine's word still counts. */
ATF_TC_WITHOUT_HEAD(deadline);
ATF_TC_BODY(deadline, tc)
{
	uint64_t	 n, op;
	uint32_t	 req;

	ring_make();
	ring.conf.t_engine = 200;
	ring_start();
	ring_engine(1);
	n = ring_ready(USER_SESSION, "web");
	req = asks(PROTO_PAUSE);
	op = ring_ordered(MSG_BOX_PAUSE);
	ring_refused(req, CODE_DEADLINE_EXCEEDED);
	req = asks(PROTO_PAUSE);
	ring_outcome(MSG_BOX_PAUSED, op, n);
	became(req, "paused");
	req = asks(PROTO_UNPAUSE);
	op = ring_ordered(MSG_BOX_UNPAUSE);
	ring_refused(req, CODE_DEADLINE_EXCEEDED);
	req = asks(PROTO_RESUME);
	ring_outcome(MSG_BOX_UNPAUSED, op, n);
	became(req, "ready");
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(restart);
ATF_TC_BODY(restart, tc)
{
	struct msg_guest_gone	 gone;
	struct got		 g;
	uint64_t		 n, op;
	uint32_t		 req;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	req = asks(PROTO_RESTART);
	ring_skip(&ring.runner, MSG_GUEST_STOP);
	ring_refused(ring_ref(USER_SESSION, PROTO_RESTART, "web", 0),
	    CODE_WRONG_STATE);
	memset(&gone, 0, sizeof(gone));
	gone.n = n;
	gone.bye = 1;
	ring_send(&ring.runner, MSG_GUEST_GONE, 0, 0, 0, &gone);
	op = ring_ordered(MSG_BOX_KILL);
	ring_outcome(MSG_BOX_DEAD, op, n);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	/* Its command has ended, and the next guest hears nothing of it. */
	ring_skip(&ring.runner, MSG_FORGET);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	ATF_REQUIRE_EQ(g.f.op, op);
	ring_done(&g);
	ring_make_ready(n, op, MSG_BOX_START, NULL);
	became(req, "ready");
	ring_answer(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED, &g);
	ATF_REQUIRE_STREQ(g.m.accepted.id, "web.2");
	ring_done(&g);
	ring_stop();
}

/* A create that a stop has ended, and what a resume makes of it. */
ATF_TC_WITHOUT_HEAD(unmade);
ATF_TC_BODY(unmade, tc)
{
	struct got	 g;
	uint64_t	 n, op;
	uint32_t	 req, join, stop;

	ring_up();
	n = ring_create(USER_SESSION, "web", &op);
	req = ring.req;
	/* To resume it meanwhile is to wait for it. */
	join = asks(PROTO_RESUME);
	stop = ring_ref(USER_SESSION, PROTO_STOP, "web", 1);
	ring_refused(req, CODE_CONFLICT);
	ring_refused(join, CODE_CONFLICT);
	ring_answered(stop, PROTO_ACCEPTED);
	ring_unboxed(n);
	became(stop, "stopped");
	/* A container of it that comes late is no reason to fail. */
	ring_engine(0);
	ring_engine(1);
	ring_state(USER_SESSION, "web", "stopped");
	ring_quiet(&ring.broker);
	req = asks(PROTO_RESUME);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	ATF_REQUIRE_EQ(g.m.work.n, n);
	op = g.f.op;
	ring_done(&g);
	ring_make_ready(n, op, MSG_BOX_CREATE, NULL);
	became(req, "ready");
	ring_stop();
}

/* What was accepted goes on after the store's death. */
ATF_TC_WITHOUT_HEAD(again);
ATF_TC_BODY(again, tc)
{
	struct msg_box_done	 end;
	struct msg_engine	 m;
	struct got		 g;
	uint64_t		 n, op;
	uint32_t		 req;

	ring_up();
	n = ring_create(USER_SESSION, "web", &op);
	ring_kill();
	ring_start();
	memset(&m, 0, sizeof(m));
	m.up = 1;
	ring_send(&ring.broker, MSG_ENGINE, 0, 0, 0, &m);
	ring_get(&ring.broker, MSG_INVENTORY, &g);
	memset(&end, 0, sizeof(end));
	ring_send(&ring.broker, MSG_INVENTORY_END, g.f.op, 0, 0, &end);
	ring_done(&g);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	op = g.f.op;
	ring_done(&g);
	req = asks(PROTO_RESUME);
	ring_make_ready(n, op, MSG_BOX_CREATE, NULL);
	became(req, "ready");
	(void)pause_it(n);
	ring_answered(ring_ref(USER_SESSION, PROTO_UNPAUSE, "web", 0),
	    PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	(void)ring_ordered(MSG_BOX_UNPAUSE);
	ring_kill();
	ring_start();
	/* Its guest is there all the time. */
	ring_get(&ring.runner, MSG_LISTEN, &g);
	ATF_REQUIRE_EQ(g.m.listen.pid, 1000 + n);
	ring_done(&g);
	ring_send(&ring.broker, MSG_ENGINE, 0, 0, 0, &m);
	ring_get(&ring.broker, MSG_INVENTORY, &g);
	op = g.f.op;
	ring_done(&g);
	ring_send(&ring.broker, MSG_INVENTORY_END, op, 0, 0, &end);
	op = ring_ordered(MSG_BOX_UNPAUSE);
	req = asks(PROTO_RESUME);
	ring_outcome(MSG_BOX_UNPAUSED, op, n);
	became(req, "ready");
	ring_quiet(&ring.broker);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, paused);
	ATF_TP_ADD_TC(tp, overtaken);
	ATF_TP_ADD_TC(tp, deadline);
	ATF_TP_ADD_TC(tp, restart);
	ATF_TP_ADD_TC(tp, unmade);
	ATF_TP_ADD_TC(tp, again);
	return (atf_no_error());
}
