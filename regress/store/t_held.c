/*
 * A sandbox that is held: its guest is there, calls are taken, and it is ready
 * when somebody resumes it, and not before.
 *
 * regress-srcs: ring.c watch.c
 */
#include <stdlib.h>
#include <string.h>

#include "watch.h"

/* One that is being made; its number. */
static uint64_t
making(uint64_t *op)
{
	ring_make();
	ring.hold = 1;
	ring_start();
	ring_engine(1);
	return (ring_create(USER_SESSION, "web", op));
}

/* One that waits to be let go; its number. */
static uint64_t
held(void)
{
	struct got	 g;
	uint64_t	 n, op;
	uint32_t	 req;

	n = making(&op);
	req = ring.req;
	ring_make_begun(n, op, MSG_BOX_CREATE, NULL);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, "pending");
	ATF_REQUIRE_STREQ(g.m.sandbox.next, "fail");
	ring_done(&g);
	ring_answered(req, PROTO_END);
	ring_quiet(&ring.runner);
	ring_quiet(&ring.broker);
	return (n);
}

/* It is resumed, and ready. */
static void
let_go(uint64_t session, uint64_t n)
{
	struct got	 g;
	uint32_t	 req = ring_ref(session, PROTO_RESUME, session ==
			    USER_SESSION ? "web" : "1234/web", 1);

	ring_answered(req, PROTO_ACCEPTED);
	ring_let_in(n);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, "ready");
	ring_done(&g);
	ring_answered(req, PROTO_END);
}

static uint32_t
call(void)
{
	static char		 id[] = "web", path[] = "f", empty[] = "";
	struct proto_call	 c;

	memset(&c, 0, sizeof(c));
	c.sandbox = id;
	c.op = CALL_STAT;
	c.path = path;
	c.path2 = c.pattern = c.filter = empty;
	return (ring_ask(USER_SESSION, PROTO_CALL, &c));
}

ATF_TC_WITHOUT_HEAD(hold);
ATF_TC_BODY(hold, tc)
{
	struct msg_call_done	 done;
	struct got		 g;
	uint64_t		 n = held();
	uint32_t		 req;

	/* Files may be put there, and no command runs. */
	req = call();
	ring_get(&ring.runner, MSG_CALL, &g);
	memset(&done, 0, sizeof(done));
	done.n = n;
	ring_send(&ring.runner, MSG_CALL_DONE, g.f.op, 0, 0, &done);
	ring_done(&g);
	ring_answered(req, PROTO_RESULT);
	ring_answered(req, PROTO_END);
	ring_refused(ring_exec(USER_SESSION, "web", 0), CODE_WRONG_STATE);
	ring_refused(ring_ref(USER_SESSION, PROTO_PAUSE, "web", 1),
	    CODE_WRONG_STATE);
	/* Its guest may come again, but nobody else in its place. */
	ring_hello(n, 7, 1000 + n);
	ring_state(USER_SESSION, "web", "pending");
	ring_quiet(&ring.runner);
	/* Who does not wait has let it go, too. */
	req = ring_ref(USER_SESSION, PROTO_RESUME, "web", 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_let_in(n);
	ring_state(USER_SESSION, "web", "ready");
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(other);
ATF_TC_BODY(other, tc)
{
	uint64_t	 n = held();

	/* Another's, by who may. */
	let_go(ROOT_SESSION, n);
	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	ring_refused(ring_ref(USER_SESSION, PROTO_RESUME, "web", 1),
	    CODE_WRONG_STATE);
	ring_stop();
}

/* It takes no more rights than to make one, and of another's those to resume. */
ATF_TC_WITHOUT_HEAD(rights);
ATF_TC_BODY(rights, tc)
{
	struct msg_session	 m;
	uint64_t		 n, op;

	ring_make();
	ring.hold = 1;
	ring_start();
	ring_engine(1);
	memset(&m, 0, sizeof(m));
	m.uid = m.gid = 4321;
	m.own = 1U << RIGHT_CREATE;
	ring_session_as(77, MSG_SESSION_OPEN, &m);
	m.uid = m.gid = 4322;
	m.own = m.others = RIGHTS_OTHERS & ~(1U << RIGHT_STOP);
	ring_session_as(78, MSG_SESSION_OPEN, &m);
	n = ring_create(77, "web", &op);
	ring_make_begun(n, op, MSG_BOX_CREATE, NULL);
	ring_answered(ring.req, PROTO_SANDBOX);
	ring_answered(ring.req, PROTO_END);
	ring_refused(ring_ref(77, PROTO_STOP, "web", 0),
	    CODE_PERMISSION_DENIED);
	ring_refused(ring_ref(78, PROTO_RESUME, "4321/web", 0),
	    CODE_PERMISSION_DENIED);
	ring_state(ROOT_SESSION, "4321/web", "pending");
	ring_answered(ring_ref(77, PROTO_RESUME, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_let_in(n);
	ring_stop();
}

/* Whose word came before its guest: it is not held at all. */
ATF_TC_WITHOUT_HEAD(early);
ATF_TC_BODY(early, tc)
{
	struct got	 g;
	uint64_t	 n, op;
	uint32_t	 req, made;

	n = making(&op);
	made = ring.req;
	/* There is no guest yet that a call could be for. */
	ring_refused(call(), CODE_WRONG_STATE);
	req = ring_ref(USER_SESSION, PROTO_RESUME, "web", 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_make_ready(n, op, MSG_BOX_CREATE, NULL);
	ring_answer(made, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, "ready");
	ring_done(&g);
	ring_answered(made, PROTO_END);
	ring_stop();
}

/* While its guest is away it cannot be ready. */
ATF_TC_WITHOUT_HEAD(away);
ATF_TC_BODY(away, tc)
{
	struct msg_guest_gone	 gone;
	uint64_t		 n = held();
	uint32_t		 req;

	memset(&gone, 0, sizeof(gone));
	gone.n = n;
	gone.boot = 7;
	ring_send(&ring.runner, MSG_GUEST_GONE, 0, 0, 0, &gone);
	req = ring_ref(USER_SESSION, PROTO_RESUME, "web", 1);
	ring_answered(req, PROTO_ACCEPTED);
	ring_state(USER_SESSION, "web", "pending");
	ring_quiet(&ring.runner);
	ring_hello(n, 7, 1000 + n);
	ring_let_in(n);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
	ring_stop();
}

/* What comes in its guest's place ends it. */
ATF_TC_WITHOUT_HEAD(another);
ATF_TC_BODY(another, tc)
{
	uint64_t	 n = held();

	ring_hello(n, 8, 5);
	ring_removed(n);
	ring_state(USER_SESSION, "web", "failed");
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(deleted);
ATF_TC_BODY(deleted, tc)
{
	uint64_t	 n = held();
	uint32_t	 req, late;

	late = ring_ref(ROOT_SESSION, PROTO_DELETE, "1234/web", 1);
	ring_answered(late, PROTO_ACCEPTED);
	ring_removed(n);
	ring_answered(late, PROTO_SANDBOX);
	ring_answered(late, PROTO_END);
	req = ring_ref(USER_SESSION, PROTO_RESUME, "web", 1);
	ring_refused(req, CODE_WRONG_STATE);
	ring_stop();
}

/* It lives no longer for being held. */
ATF_TC_WITHOUT_HEAD(lifetime);
ATF_TC_BODY(lifetime, tc)
{
	uint64_t	 n, op;
	uint32_t	 req;

	ring_make();
	ring.hold = 1;
	ring.conf.lifetime = 1;
	ring_start();
	ring_engine(1);
	n = ring_create(USER_SESSION, "web", &op);
	req = ring.req;
	ring_make_begun(n, op, MSG_BOX_CREATE, NULL);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
	/* What has failed by it is deleted by it as well. */
	ring_removed(n);
	ring_removed(n);
	watch_count("web", "sandbox.failed", 1);
	watch_count("web", "sandbox.ready", 0);
	ring_stop();
}

/* It died meanwhile: what it was given may be lost, and so it is held again. */
ATF_TC_WITHOUT_HEAD(restart);
ATF_TC_BODY(restart, tc)
{
	struct got	 g;
	uint64_t	 n = held(), op;

	ring_kill();
	ring_start();
	ring_engine(1);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	ATF_REQUIRE_EQ(g.m.work.n, n);
	op = g.f.op;
	ring_done(&g);
	ring_make_begun(n, op, MSG_BOX_CREATE, NULL);
	ring_state(USER_SESSION, "web", "pending");
	ring_quiet(&ring.runner);
	let_go(USER_SESSION, n);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, hold);
	ATF_TP_ADD_TC(tp, other);
	ATF_TP_ADD_TC(tp, rights);
	ATF_TP_ADD_TC(tp, early);
	ATF_TP_ADD_TC(tp, away);
	ATF_TP_ADD_TC(tp, another);
	ATF_TP_ADD_TC(tp, deleted);
	ATF_TP_ADD_TC(tp, lifetime);
	ATF_TP_ADD_TC(tp, restart);
	return (atf_no_error());
}
