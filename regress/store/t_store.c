/*
 * The store process between siblings that the test plays: what is ordered of
 * whom, in which order, what clients are told, and what a restart makes of it.
 *
 * regress-srcs: ring.c
 */
#include <sys/wait.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

static void
up(void)
{
	ring_make();
	ring_start();
	ring_engine(1);
}

ATF_TC_WITHOUT_HEAD(create);
ATF_TC_BODY(create, tc)
{
	struct got	 g;
	uint64_t	 n;

	up();
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

	up();
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

/* (b16) What is another's is not there. */
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

ATF_TC_WITHOUT_HEAD(owners);
ATF_TC_BODY(owners, tc)
{
	struct got	 g;

	up();
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
	up();
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

	up();
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

ATF_TC_WITHOUT_HEAD(exec);
ATF_TC_BODY(exec, tc)
{
	struct msg_started	 s;
	struct got		 g;
	uint64_t		 n;
	uint32_t		 req;

	up();
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

ATF_TC_WITHOUT_HEAD(exec_queue);
ATF_TC_BODY(exec_queue, tc)
{
	struct got	 g;
	uint64_t	 n;
	uint32_t	 req;

	ring_make();
	ring.conf.max_execs = 1;
	ring_start();
	ring_engine(1);
	n = ring_ready(USER_SESSION, "web");
	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
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

	ring_make();
	ring.conf.max_execs = 1;
	ring_start();
	ring_engine(1);
	n = ring_ready(USER_SESSION, "web");
	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
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

/* What one user writes never makes another one's list too much to take. */
ATF_TC_WITHOUT_HEAD(pages);
ATF_TC_BODY(pages, tc)
{
	struct proto_create	 m;
	struct proto_list	 l;
	struct got		 g;
	char			 name[800];
	uint32_t		 i, req;

	up();
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

ATF_TC_WITHOUT_HEAD(stop_resume);
ATF_TC_BODY(stop_resume, tc)
{
	struct msg_guest_gone	 gone;
	struct msg_box_state	 dead;
	struct got		 g;
	uint64_t		 n, op;
	uint32_t		 req;

	up();
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

	up();
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

	up();
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

	up();
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
	ATF_TP_ADD_TC(tp, create);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, tmpfs);
	ATF_TP_ADD_TC(tp, owners);
	ATF_TP_ADD_TC(tp, sessions);
	ATF_TP_ADD_TC(tp, request_key);
	ATF_TP_ADD_TC(tp, engine_away);
	ATF_TP_ADD_TC(tp, exec);
	ATF_TP_ADD_TC(tp, exec_queue);
	ATF_TP_ADD_TC(tp, attach_queued);
	ATF_TP_ADD_TC(tp, not_served);
	ATF_TP_ADD_TC(tp, pages);
	ATF_TP_ADD_TC(tp, client_lost);
	ATF_TP_ADD_TC(tp, stop_resume);
	ATF_TP_ADD_TC(tp, delete_in_create);
	ATF_TP_ADD_TC(tp, deadline);
	ATF_TP_ADD_TC(tp, restart);
	ATF_TP_ADD_TC(tp, subscribe);
	ATF_TP_ADD_TC(tp, collect);
	ATF_TP_ADD_TC(tp, crowd);
	return (atf_no_error());
}
