/*
 * What nobody has ordered: ends of containers that are told twice or too
 * late, containers that appear or cannot be removed, guests that lie.
 *
 * regress-srcs: ring.c
 */
#include <stdio.h>
#include <string.h>

#include "ring.h"
#include "store.h"

/* A payload that connects in the guest's place. */
ATF_TC(wrong_guest);
ATF_TC_HEAD(wrong_guest, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(b77) a process has connected before the guest did");
}
ATF_TC_BODY(wrong_guest, tc)
{
	struct msg_work_done	 done;
	struct msg_guest_gone	 ok;
	struct msg_box_started	 box;
	uint64_t		 n, op;
	uint32_t		 req;

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
	memset(&box, 0, sizeof(box));
	box.n = n;
	box.pid = 100;
	ring_send(&ring.broker, MSG_BOX_STARTED, op, 0, 0, &box);
	ring_hello(n, 7, 101);
	ring_refused(req, CODE_PROTOCOL);
	ring_state(USER_SESSION, "web", "failed");
	/* And nothing of it is left. */
	ring_removed(n);
	ring_quiet(&ring.broker);
	ring_stop();
}

/* What the runner calls a lie ends that sandbox alone. */
ATF_TC(guest_broke);
ATF_TC_HEAD(guest_broke, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(b76) a guest that lied: failed, by protocol");
}
ATF_TC_BODY(guest_broke, tc)
{
	struct msg_guest_gone	 m;
	struct got		 g;
	uint64_t		 n;
	uint32_t		 req;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	ring_ready(USER_SESSION, "other");
	memset(&m, 0, sizeof(m));
	m.n = n;
	strlcpy(m.text, "a malformed frame", sizeof(m.text));
	ring_send(&ring.runner, MSG_GUEST_BROKE, 0, 0, 0, &m);
	/* What it worked at stays until it is deleted. */
	ring_unboxed(n);
	req = ring_ref(USER_SESSION, PROTO_SHOW, "web", 0);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, "failed");
	ATF_CHECK_MSG(strstr(g.m.sandbox.cause, "malformed") != NULL, "%s",
	    g.m.sandbox.cause);
	ring_done(&g);
	ring_answered(req, PROTO_END);
	ring_refused(ring_exec(USER_SESSION, "web", 0), CODE_WRONG_STATE);
	ring_state(USER_SESSION, "other", "ready");
	ring_quiet(&ring.broker);
	ring_quiet(&ring.parent);
	ring_stop();
}

/* As many as the broker takes at a time cannot be removed: another one can. */
ATF_TC_WITHOUT_HEAD(slots);
ATF_TC_BODY(slots, tc)
{
	struct got	 g;
	char		 id[16];
	uint64_t	 ops[STORE_ENGINE_MAX + 1];
	uint32_t	 req;
	int		 i;

	ring_make();
	ring.conf.t_delete = 100;
	ring_start();
	ring_engine(1);
	for (i = 0; i <= STORE_ENGINE_MAX; i++) {
		snprintf(id, sizeof(id), "web%d", i);
		ring_ready(USER_SESSION, id);
	}
	for (i = 0; i <= STORE_ENGINE_MAX; i++) {
		snprintf(id, sizeof(id), "web%d", i);
		req = ring_ref(USER_SESSION, PROTO_DELETE, id, 0);
		ring_answered(req, PROTO_ACCEPTED);
		ring_answered(req, PROTO_END);
	}
	for (i = 0; i <= STORE_ENGINE_MAX; i++) {
		ring_get(&ring.broker, MSG_BOX_REMOVE, &g);
		ops[i] = g.f.op;
		ring_done(&g);
	}
	/* Those that took long count all the same, in the end. */
	for (i = 0; i <= STORE_ENGINE_MAX; i++) {
		struct msg_box_done	 done;

		memset(&done, 0, sizeof(done));
		done.n = i + 1;
		ring_send(&ring.broker, MSG_BOX_REMOVED, ops[i], 0, 0, &done);
		ring_skip(&ring.runner, MSG_UNLISTEN);
		ring_get(&ring.parent, MSG_WORK_REMOVE, &g);
		ATF_REQUIRE_EQ(g.m.work.n, (uint64_t)i + 1);
		ring_done(&g);
	}
	ring_stop();
}

/* What the broker says of a container unasked. */
static void
died(uint64_t n, const char *nonce, int gone)
{
	struct msg_box_state	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.gone = gone;
	strlcpy(m.nonce, nonce, sizeof(m.nonce));
	memset(m.container, 'c', 64);
	ring_send(&ring.broker, MSG_BOX_DIED, 0, 0, 0, &m);
}

/* The nonce of a sandbox that is about to be made. */
static uint64_t
begun(const char *id, char *nonce, size_t size)
{
	struct msg_work_done	 done;
	struct msg_guest_gone	 ok;
	struct msg_box_started	 box;
	struct got		 g;
	uint64_t		 n, op;
	uint32_t		 req;

	n = ring_create(USER_SESSION, id, &op);
	req = ring.req;
	memset(&done, 0, sizeof(done));
	done.n = n;
	ring_send(&ring.parent, MSG_WORK_DONE, op, 0, 0, &done);
	ring_skip(&ring.runner, MSG_LISTEN);
	memset(&ok, 0, sizeof(ok));
	ok.n = n;
	ring_send(&ring.runner, MSG_LISTENING, op, 0, 0, &ok);
	ring_get(&ring.broker, MSG_BOX_CREATE, &g);
	strlcpy(nonce, g.m.create.nonce, size);
	ring_done(&g);
	memset(&box, 0, sizeof(box));
	box.n = n;
	box.pid = 100;
	ring_hello(n, 7, 100);
	ring_send(&ring.broker, MSG_BOX_STARTED, op, 0, 0, &box);
	ring_skip(&ring.runner, MSG_LISTEN);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
	return (n);
}

/* A stray is to be removed, by its ID alone. */
static void
stray_removed(void)
{
	struct msg_box_done	 done;
	struct got		 g;

	ring_get(&ring.broker, MSG_BOX_REMOVE, &g);
	ATF_REQUIRE_EQ(g.m.box.n, 0);
	ATF_REQUIRE_EQ(strlen(g.m.box.container), 64);
	memset(&done, 0, sizeof(done));
	ring_send(&ring.broker, MSG_BOX_REMOVED, g.f.op, 0, 0, &done);
	ring_done(&g);
}

ATF_TC(events);
ATF_TC_HEAD(events, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c24) the end of a container is told "
	    "twice, in the wrong order, and of none that is known");
}
ATF_TC_BODY(events, tc)
{
	char		 nonce[33];
	uint64_t	 n;

	ring_up();
	n = begun("web", nonce, sizeof(nonce));
	died(n, nonce, 0);
	died(n, nonce, 0);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	ring_state(USER_SESSION, "web", "stopped");
	died(n, nonce, 1);
	died(n, nonce, 1);
	ring_removed(n);
	ring_state(USER_SESSION, "web", "failed");
	/* Another operation's of that number, and a number of nobody. */
	died(n, "ffffffffffffffffffffffffffffffff", 1);
	died(99, nonce, 1);
	ring_quiet(&ring.broker);
	ring_quiet(&ring.parent);
	ring_stop();
}

ATF_TC(late);
ATF_TC_HEAD(late, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c19) a container that appears after "
	    "its sandbox has failed, or was deleted, is removed");
}
ATF_TC_BODY(late, tc)
{
	struct got	 g;
	char		 nonce[33];
	uint64_t	 n;
	uint32_t	 req;

	ring_up();
	n = begun("web", nonce, sizeof(nonce));
	/* One that is stopped has its container. */
	died(n, nonce, 0);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	died(n, nonce, 0);
	ring_quiet(&ring.broker);
	died(n, nonce, 1);
	ring_removed(n);
	died(n, nonce, 0);
	stray_removed();
	died(n, "ffffffffffffffffffffffffffffffff", 0);
	stray_removed();
	died(99, nonce, 0);
	stray_removed();
	req = ring_ref(USER_SESSION, PROTO_DELETE, "web", 1);
	ring_answered(req, PROTO_ACCEPTED);
	ring_removed(n);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, "deleted");
	ring_done(&g);
	ring_answered(req, PROTO_END);
	died(n, nonce, 0);
	stray_removed();
	ring_quiet(&ring.broker);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, wrong_guest);
	ATF_TP_ADD_TC(tp, guest_broke);
	ATF_TP_ADD_TC(tp, slots);
	ATF_TP_ADD_TC(tp, events);
	ATF_TP_ADD_TC(tp, late);
	return (atf_no_error());
}
