/*
 * The store process between siblings that the test plays: what is ordered of
 * whom, in which order, what clients are told, and what a restart makes of it.
 *
 * regress-srcs: ring.c
 */
#include <stdlib.h>
#include <string.h>

#include "ring.h"

ATF_TC_WITHOUT_HEAD(create);
ATF_TC_BODY(create, tc)
{
	struct got	 g;
	uint64_t	 n;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	ATF_REQUIRE_EQ(n, 1);
	ring_answer(ring_ref(USER_SESSION, PROTO_SHOW, "web", 0),
	    PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.container, "c1");
	ATF_REQUIRE_EQ(g.m.sandbox.owner, USER_UID);
	ATF_REQUIRE_EQ(g.m.sandbox.memory, 1 << 30);
	ATF_REQUIRE_EQ(g.m.sandbox.memory_seen, 1 << 30);
	ATF_REQUIRE(g.m.sandbox.user >= 100000);
	ATF_REQUIRE_EQ(g.m.sandbox.seq, 2);
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	/* The number of a sandbox is given out once. */
	ATF_REQUIRE_EQ(ring_ready(USER_SESSION, "web2"), 2);
	ring_quiet(&ring.broker);
	ring_quiet(&ring.parent);
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	struct proto_create	 m;

	ring_up();
	ring_ready(USER_SESSION, "web");
	memset(&m, 0, sizeof(m));
	m.workdir = strdup("");
	strlcpy(m.id, "web", sizeof(m.id));
	ring_refused(ring_ask(USER_SESSION, PROTO_CREATE, &m),
	    CODE_ALREADY_EXISTS);
	strlcpy(m.id, "web2", sizeof(m.id));
	strlcpy(m.image, "debian", sizeof(m.image));
	ring_refused(ring_ask(USER_SESSION, PROTO_CREATE, &m),
	    CODE_POLICY_DENIED);
	m.image[0] = '\0';
	strlcpy(m.user, "root", sizeof(m.user));
	ring_refused(ring_ask(USER_SESSION, PROTO_CREATE, &m),
	    CODE_POLICY_DENIED);
	ring_refused(ring_ask(USER_SESSION, PROTO_RELOAD, NULL),
	    CODE_PERMISSION_DENIED);
	ring_refused(ring_ask(USER_SESSION, PROTO_DOCTOR, NULL),
	    CODE_PERMISSION_DENIED);
	ring_refused(ring_ask(USER_SESSION, PROTO_LOG_VERIFY, NULL),
	    CODE_PERMISSION_DENIED);
	ring_refused(ring_ref(USER_SESSION, PROTO_RESUME, "web", 0),
	    CODE_WRONG_STATE);
	ring_refused(ring_ref(USER_SESSION, PROTO_SHOW, "nothing", 0),
	    CODE_NOT_FOUND);
	free(m.workdir);
	ring_quiet(&ring.parent);
	ring_stop();
}

static void
no_tmpfs(struct proto_create *m, enum code code)
{
	ring_refused(ring_ask(USER_SESSION, PROTO_CREATE, m), code);
}

/* A workspace in memory: of its memory, also later, and on no disk. */
ATF_TC_WITHOUT_HEAD(tmpfs);
ATF_TC_BODY(tmpfs, tc)
{
	struct proto_create	 m;
	struct msg_work_done	 done;
	struct msg_guest_gone	 ok;
	struct got		 g;
	uint64_t		 op;

	(void)tc;
	ring_make();
	ring.conf.max_disk = SBX_DISK_MIN;
	ring_start();
	ring_engine(1);
	memset(&m, 0, sizeof(m));
	m.workdir = strdup("");
	strlcpy(m.id, "web", sizeof(m.id));
	m.tmpfs = (1 << 30) + 1;
	no_tmpfs(&m, CODE_LIMIT_EXCEEDED);
	m.tmpfs = SBX_TMPFS_MIN - 1;
	no_tmpfs(&m, CODE_INVALID_ARGUMENT);
	m.tmpfs = 8 << 20;
	m.disk = SBX_DISK_MIN;
	no_tmpfs(&m, CODE_INVALID_ARGUMENT);
	m.disk = 0;
	ring_answered(ring_ask(USER_SESSION, PROTO_CREATE, &m),
	    PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	free(m.workdir);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	ATF_CHECK(g.m.work.tmpfs == 1 && g.m.work.disk == 0);
	op = g.f.op;
	ring_done(&g);
	memset(&done, 0, sizeof(done));
	done.n = 1;
	ring_send(&ring.parent, MSG_WORK_DONE, op, 0, 0, &done);
	ring_skip(&ring.runner, MSG_LISTEN);
	memset(&ok, 0, sizeof(ok));
	ok.n = 1;
	ring_send(&ring.runner, MSG_LISTENING, op, 0, 0, &ok);
	ring_get(&ring.broker, MSG_BOX_CREATE, &g);
	ATF_CHECK_EQ(8 << 20, g.m.create.tmpfs);
	ATF_CHECK(g.m.create.readonly == 1 && g.m.create.disk == 0);
	ring_done(&g);
	ring_answer(ring_ref(USER_SESSION, PROTO_SHOW, "web", 0),
	    PROTO_SANDBOX, &g);
	ATF_CHECK_EQ(8 << 20, g.m.sandbox.tmpfs);
	ATF_CHECK(g.m.sandbox.readonly == 1 && g.m.sandbox.disk == 0);
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	ring_kill();
	/* It is known after a crash, too. */
	ring_start();
	ring_answer(ring_ref(USER_SESSION, PROTO_SHOW, "web", 0),
	    PROTO_SANDBOX, &g);
	ATF_CHECK_EQ(8 << 20, g.m.sandbox.tmpfs);
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	ring_stop();
}

/* (b16) What is another's is not there. */
ATF_TC_WITHOUT_HEAD(owners);
ATF_TC_BODY(owners, tc)
{
	struct got	 g;

	ring_up();
	ring_ready(USER_SESSION, "web");
	ring_refused(ring_ref(OTHER_SESSION, PROTO_SHOW, "web", 0),
	    CODE_NOT_FOUND);
	ring_refused(ring_ref(OTHER_SESSION, PROTO_SHOW, "1234/web", 0),
	    CODE_NOT_FOUND);
	ring_refused(ring_ref(OTHER_SESSION, PROTO_DELETE, "web", 0),
	    CODE_NOT_FOUND);
	ring_refused(ring_exec(OTHER_SESSION, "web", 0), CODE_NOT_FOUND);
	ring_state(ROOT_SESSION, "web", "ready");
	/* Nobody learns that the name is taken: it is not. */
	ring_ready(OTHER_SESSION, "web");
	ring_refused(ring_ref(ROOT_SESSION, PROTO_SHOW, "web", 0),
	    CODE_CONFLICT);
	ring_state(ROOT_SESSION, "4321/web", "ready");
	ring_answer(ring_ask(OTHER_SESSION, PROTO_STATUS, NULL),
	    PROTO_STATUS_INFO, &g);
	ATF_REQUIRE_EQ(g.m.status.sandboxes, 1);
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(sessions);
ATF_TC_BODY(sessions, tc)
{
	ring_up();
	ring_refused(ring_ask(99, PROTO_PING, NULL), CODE_PERMISSION_DENIED);
	ring_session_over(USER_SESSION);
	ring_refused(ring_ask(USER_SESSION, PROTO_PING, NULL),
	    CODE_PERMISSION_DENIED);
	/* Announced before its first request, on another pipe. */
	ring_session(77, USER_UID);
	ring_answered(ring_ask(77, PROTO_PING, NULL), PROTO_END);
	ring_stop();
}

/* (aA07, b64) One key, one request: the same again, or another one. */
ATF_TC_WITHOUT_HEAD(request_key);
ATF_TC_BODY(request_key, tc)
{
	struct proto_create	 m;
	struct got		 g;
	char			 id[SBX_ID_MAX + 1];

	ring_up();
	memset(&m, 0, sizeof(m));
	m.workdir = strdup("");
	strlcpy(m.key, "my key", sizeof(m.key));
	ring_answer(ring_ask(USER_SESSION, PROTO_CREATE, &m), PROTO_ACCEPTED,
	    &g);
	strlcpy(id, g.m.accepted.id, sizeof(id));
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.parent, MSG_WORK_MAKE);
	ring_answer(ring_ask(USER_SESSION, PROTO_CREATE, &m), PROTO_ACCEPTED,
	    &g);
	ATF_REQUIRE_STREQ(g.m.accepted.id, id);
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	ring_quiet(&ring.parent);
	m.pids = 50;
	ring_refused(ring_ask(USER_SESSION, PROTO_CREATE, &m), CODE_CONFLICT);
	m.pids = 0;
	/* (c02) One whose answer was lost with us asks again, and has one. */
	ring_kill();
	ring_start();
	ring_engine(1);
	ring_skip(&ring.parent, MSG_WORK_MAKE);
	ring_answer(ring_ask(USER_SESSION, PROTO_CREATE, &m), PROTO_ACCEPTED,
	    &g);
	ATF_REQUIRE_STREQ(g.m.accepted.id, id);
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	ring_quiet(&ring.parent);
	/* Another user's keys are his own. */
	ring_answered(ring_ask(OTHER_SESSION, PROTO_CREATE, &m),
	    PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	free(m.workdir);
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(engine_away);
ATF_TC_BODY(engine_away, tc)
{
	struct proto_create	 m;
	struct got		 g;
	uint32_t		 req;

	ring_make();
	ring_start();
	memset(&m, 0, sizeof(m));
	m.workdir = strdup("");
	/* It is not said to be away before that is known. */
	req = ring_ask(OTHER_SESSION, PROTO_CREATE, &m);
	req = ring_ask(USER_SESSION, PROTO_CREATE, &m);
	ring_quiet(&ring.frontend);
	/* And not at all to one who has gone. */
	ring_session_over(OTHER_SESSION);
	ring_engine(0);
	ring_refused(req, CODE_UNAVAILABLE);
	ring_engine(1);
	ring_ready(USER_SESSION, "web");
	ring_engine(0);
	/* The PING makes sure that the store has heard of it. */
	ring_quiet(&ring.parent);
	ring_refused(ring_ask(USER_SESSION, PROTO_CREATE, &m),
	    CODE_UNAVAILABLE);
	ring_state(USER_SESSION, "web", "ready");
	/* The guest needs no Engine. */
	ring_answer(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED, &g);
	ring_done(&g);
	ring_skip(&ring.runner, MSG_START);
	free(m.workdir);
	ring_stop();
}

/* What one user writes never makes another one's list too much to take. */
ATF_TC_WITHOUT_HEAD(pages);
ATF_TC_BODY(pages, tc)
{
	struct proto_create	 m;
	struct proto_list	 l;
	struct got		 g;
	char			 name[800];
	uint32_t		 i, req;

	ring_up();
	for (i = 0; i < 13; i++) {
		memset(&m, 0, sizeof(m));
		m.workdir = strdup("");
		memset(name, 'A', sizeof(name));
		name[744] = '\0';
		while (m.env.n < 250) {
			name[0] = 'A' + m.env.n / 16;
			name[1] = 'A' + m.env.n % 16;
			ATF_REQUIRE(kvv_add(&m.env, name, "") == 0);
		}
		req = ring_ask(USER_SESSION, PROTO_CREATE, &m);
		ring_answered(req, PROTO_ACCEPTED);
		ring_answered(req, PROTO_END);
		kvv_clear(&m.env);
		free(m.workdir);
	}
	memset(&l, 0, sizeof(l));
	req = ring_ask(ROOT_SESSION, PROTO_LIST, &l);
	for (i = 0; i < 12; i++)
		ring_answered(req, PROTO_SANDBOX);
	ring_answer(req, PROTO_END, &g);
	ATF_REQUIRE(g.m.end.after != 0);
	l.after = g.m.end.after;
	ring_done(&g);
	req = ring_ask(ROOT_SESSION, PROTO_LIST, &l);
	ring_answered(req, PROTO_SANDBOX);
	ring_answer(req, PROTO_END, &g);
	ATF_REQUIRE_EQ(0, g.m.end.after);
	ring_done(&g);
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(stop_resume);
ATF_TC_BODY(stop_resume, tc)
{
	struct msg_guest_gone	 gone;
	struct msg_box_state	 dead;
	struct got		 g;
	uint64_t		 n, op;
	uint32_t		 req;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	req = ring_ref(USER_SESSION, PROTO_STOP, "web", 1);
	ring_answered(req, PROTO_ACCEPTED);
	ring_skip(&ring.runner, MSG_GUEST_STOP);
	ring_refused(ring_exec(USER_SESSION, "web", 0), CODE_WRONG_STATE);
	/* (aA16) Once more is no second one. */
	ring_answered(ring_ref(USER_SESSION, PROTO_STOP, "web", 0),
	    PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_quiet(&ring.runner);
	memset(&gone, 0, sizeof(gone));
	gone.n = n;
	gone.bye = 1;
	ring_send(&ring.runner, MSG_GUEST_GONE, 0, 0, 0, &gone);
	ring_get(&ring.broker, MSG_BOX_KILL, &g);
	op = g.f.op;
	ATF_REQUIRE_STREQ(g.m.box.container, "c1");
	ring_done(&g);
	memset(&dead, 0, sizeof(dead));
	dead.n = n;
	ring_send(&ring.broker, MSG_BOX_DEAD, op, 0, 0, &dead);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, "stopped");
	ATF_REQUIRE_EQ(g.m.sandbox.execs, 0);
	ring_done(&g);
	ring_answered(req, PROTO_END);
	ring_skip(&ring.runner, MSG_FORGET);

	req = ring_ref(USER_SESSION, PROTO_RESUME, "web", 1);
	ring_answered(req, PROTO_ACCEPTED);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	op = g.f.op;
	ring_done(&g);
	ring_make_ready(n, op, MSG_BOX_START, NULL);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, "ready");
	ring_done(&g);
	ring_answered(req, PROTO_END);
	/* Numbers of execs go on. */
	ring_answer(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED, &g);
	ATF_REQUIRE_STREQ(g.m.accepted.id, "web.2");
	ring_done(&g);
	ring_stop();
}

/* (b65) A delete takes a create's place, whose outcome comes too late then. */
ATF_TC_WITHOUT_HEAD(delete_in_create);
ATF_TC_BODY(delete_in_create, tc)
{
	struct msg_work_done	 done;
	struct msg_guest_gone	 ok;
	struct msg_box_started	 box;
	struct got		 g;
	uint64_t		 n, op;
	uint32_t		 req, del;

	ring_up();
	n = ring_create(USER_SESSION, "web", &op);
	req = ring.req;
	memset(&done, 0, sizeof(done));
	done.n = n;
	ring_send(&ring.parent, MSG_WORK_DONE, op, 0, 0, &done);
	ring_skip(&ring.runner, MSG_LISTEN);
	memset(&ok, 0, sizeof(ok));
	ok.n = n;
	ring_send(&ring.runner, MSG_LISTENING, op, 0, 0, &ok);
	ring_skip(&ring.broker, MSG_BOX_CREATE);
	del = ring_ref(USER_SESSION, PROTO_DELETE, "web", 1);
	ring_refused(req, CODE_CONFLICT);
	ring_answered(del, PROTO_ACCEPTED);
	memset(&box, 0, sizeof(box));
	box.n = n;
	box.pid = 1;
	ring_hello(n, 7, 1);
	ring_send(&ring.broker, MSG_BOX_STARTED, op, 0, 0, &box);
	ring_removed(n);
	ring_answer(del, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, "deleted");
	ring_done(&g);
	ring_answered(del, PROTO_END);
	/* Deleting what is deleted is no error, and no operation. */
	del = ring_ref(USER_SESSION, PROTO_DELETE, "web", 1);
	ring_answered(del, PROTO_ACCEPTED);
	ring_answered(del, PROTO_SANDBOX);
	ring_answered(del, PROTO_END);
	ring_quiet(&ring.broker);
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(deadline);
ATF_TC_BODY(deadline, tc)
{
	struct got	 g;
	uint64_t	 n, op;
	uint32_t	 req;

	ring_make();
	ring.conf.t_create = 1;
	ring_start();
	ring_engine(1);
	n = ring_create(USER_SESSION, "web", &op);
	req = ring.req;
	ring_refused(req, CODE_DEADLINE_EXCEEDED);
	ring_removed(n);
	req = ring_ref(USER_SESSION, PROTO_SHOW, "web", 0);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, "failed");
	ATF_REQUIRE(g.m.sandbox.cause[0] != '\0');
	ring_done(&g);
	ring_answered(req, PROTO_END);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, create);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, tmpfs);
	ATF_TP_ADD_TC(tp, owners);
	ATF_TP_ADD_TC(tp, sessions);
	ATF_TP_ADD_TC(tp, request_key);
	ATF_TP_ADD_TC(tp, engine_away);
	ATF_TP_ADD_TC(tp, pages);
	ATF_TP_ADD_TC(tp, stop_resume);
	ATF_TP_ADD_TC(tp, delete_in_create);
	ATF_TP_ADD_TC(tp, deadline);
	return (atf_no_error());
}
