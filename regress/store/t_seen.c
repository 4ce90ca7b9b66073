/*
 * The limits of a sandbox as its guest reads them: what the Engine shows and
 * what the kernel keeps are two things, and only the guest sees the latter.
 *
 * regress-srcs: ring.c
 */

#include <stdlib.h>
#include <string.h>

#include "ring.h"

#define MEMORY		(1ULL << 30)	/* what the ring asks for */
#define ALL		(UNENFORCED_MEMORY | UNENFORCED_CPUS | \
			UNENFORCED_PIDS | UNENFORCED_SWAP)

static const struct {
	uint64_t	 memory;
	uint32_t	 mcpus, pids;
	uint64_t	 swap;
	uint32_t	 bit;		/* whose word lets it through */
	const char	*text;
} seen[] = {
	{ MEMORY, 1000, 100, 0, 0, NULL },
	{ MEMORY - 4095, 990, 99, 0, 0, NULL },
	{ MEMORY + 1, 1000, 100, 0, UNENFORCED_MEMORY, "limit not "
	    "enforceable: memory: asked for 1073741824, the guest reads "
	    "1073741825" },
	{ UINT64_MAX, 1000, 100, 0, UNENFORCED_MEMORY, "memory" },
	{ 0, 1000, 100, 0, UNENFORCED_MEMORY, "limit not enforceable: "
	    "memory: asked for 1073741824, the guest reads none" },
	{ MEMORY, 1001, 100, 0, UNENFORCED_CPUS, "limit not enforceable: "
	    "cpus: asked for 1000, the guest reads 1001" },
	{ MEMORY, 0, 100, 0, UNENFORCED_CPUS, "cpus: asked for 1000, the "
	    "guest reads none" },
	{ MEMORY, 1000, 101, 0, UNENFORCED_PIDS, "limit not enforceable: "
	    "pids: asked for 100, the guest reads 101" },
	{ MEMORY, 1000, 0, 0, UNENFORCED_PIDS, "pids: asked for 100, the "
	    "guest reads none" },
	{ MEMORY, 1000, 100, 4096, UNENFORCED_SWAP, "limit not "
	    "enforceable: swap: asked for none, the guest reads 4096" },
	{ MEMORY, 1000, 100, UINT64_MAX - 1, UNENFORCED_SWAP, "swap" },
};
#define NSEEN	(sizeof(seen) / sizeof(seen[0]))

static void
meet(uint64_t n, uint64_t op, uint32_t order, size_t i)
{
	struct msg_guest_hello	 m;
	struct msg_work_done	 done;
	struct msg_guest_gone	 ok;
	struct msg_box_started	 box;

	memset(&done, 0, sizeof(done));
	done.n = n;
	ring_send(&ring.parent, MSG_WORK_DONE, op, 0, 0, &done);
	ring_skip(&ring.runner, MSG_LISTEN);
	memset(&ok, 0, sizeof(ok));
	ok.n = n;
	ring_send(&ring.runner, MSG_LISTENING, op, 0, 0, &ok);
	ring_skip(&ring.broker, order);
	memset(&box, 0, sizeof(box));
	box.n = n;
	box.pid = 100;
	strlcpy(box.container, "c", sizeof(box.container));
	strlcpy(box.image_id, "sha256:1", sizeof(box.image_id));
	ring_send(&ring.broker, MSG_BOX_STARTED, op, 0, 0, &box);
	memset(&m, 0, sizeof(m));
	m.n = n;
	m.boot = 7;
	m.pid = 100;
	m.version = 1;
	m.memory = seen[i].memory;
	m.mcpus = seen[i].mcpus;
	m.pids = seen[i].pids;
	m.swap = seen[i].swap;
	ring_send(&ring.runner, MSG_GUEST_HELLO, 0, 0, 0, &m);
}

static void
up(uint32_t unenforced)
{
	ring_make();
	ring.conf.unenforced = unenforced;
	ring_start();
	ring_engine(1);
}

static void
refused(uint32_t req, size_t i)
{
	struct got	 g;

	ring_answer(req, PROTO_ERROR, &g);
	ATF_CHECK_STREQ_MSG("policy_denied", g.m.error.code, "%zu", i);
	ATF_CHECK_MSG(strstr(g.m.error.text, seen[i].text) != NULL,
	    "%zu: %s", i, g.m.error.text);
	ring_done(&g);
}

static void
ready(uint32_t req)
{
	struct got	 g;

	ring_skip(&ring.runner, MSG_LISTEN);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_CHECK_STREQ("ready", g.m.sandbox.state);
	ring_done(&g);
	ring_answered(req, PROTO_END);
}

static void
gone(uint64_t n)
{
	struct msg_guest_gone	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.bye = 1;
	ring_send(&ring.runner, MSG_GUEST_GONE, 0, 0, 0, &m);
}

static void
killed(uint64_t n)
{
	struct msg_box_done	 dead;
	struct got		 g;

	ring_get(&ring.broker, MSG_BOX_KILL, &g);
	memset(&dead, 0, sizeof(dead));
	dead.n = n;
	ring_send(&ring.broker, MSG_BOX_DEAD, g.f.op, 0, 0, &dead);
	ring_done(&g);
}

static void
deleted(const char *id, uint64_t n)
{
	struct got	 g;
	uint32_t	 req;

	req = ring_ref(USER_SESSION, PROTO_DELETE, id, 1);
	ring_answered(req, PROTO_ACCEPTED);
	ring_removed(n);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ("deleted", g.m.sandbox.state);
	ring_done(&g);
	ring_answered(req, PROTO_END);
}

/* All rows, and which of them come to be ready. */
static void
rows(uint32_t unenforced)
{
	uint64_t	 n, op;
	uint32_t	 req;
	char		 id[16];
	size_t		 i;

	up(unenforced);
	for (i = 0; i < NSEEN; i++) {
		snprintf(id, sizeof(id), "web%zu", i);
		n = ring_create(USER_SESSION, id, &op);
		req = ring.req;
		meet(n, op, MSG_BOX_CREATE, i);
		if (seen[i].text == NULL || unenforced & seen[i].bit) {
			ready(req);
			deleted(id, n);
			continue;
		}
		refused(req, i);
		ring_state(USER_SESSION, id, "failed");
		ring_removed(n);
	}
	ring_quiet(&ring.broker);
	ring_stop();
}

ATF_TC(create);
ATF_TC_HEAD(create, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "no sandbox whose guest reads more than was asked for");
}
ATF_TC_BODY(create, tc)
{
	(void)tc;
	rows(0);
}

ATF_TC(unenforced);
ATF_TC_HEAD(unenforced, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "but where the configuration says so, limit by limit");
}
ATF_TC_BODY(unenforced, tc)
{
	(void)tc;
	rows(UNENFORCED_MEMORY | UNENFORCED_SWAP);
	rows(UNENFORCED_CPUS | UNENFORCED_PIDS);
	rows(ALL);
}

/* It has no request at hand by then: what it asked for is in the database. */
ATF_TC(resume);
ATF_TC_HEAD(resume, tc)
{
	atf_tc_set_md_var(tc, "descr", "nor is one taken up again");
}
ATF_TC_BODY(resume, tc)
{
	struct got		 g;
	uint64_t		 n, op;
	uint32_t		 req;

	(void)tc;
	up(0);
	n = ring_ready(USER_SESSION, "web");
	req = ring_ref(USER_SESSION, PROTO_STOP, "web", 1);
	ring_answered(req, PROTO_ACCEPTED);
	ring_skip(&ring.runner, MSG_GUEST_STOP);
	gone(n);
	killed(n);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
	req = ring_ref(USER_SESSION, PROTO_RESUME, "web", 1);
	ring_answered(req, PROTO_ACCEPTED);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	op = g.f.op;
	ring_done(&g);
	meet(n, op, MSG_BOX_START, 2);
	killed(n);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	refused(req, 2);
	ring_state(USER_SESSION, "web", "stopped");
	ring_quiet(&ring.broker);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, create);
	ATF_TP_ADD_TC(tp, unenforced);
	ATF_TP_ADD_TC(tp, resume);
	return (atf_no_error());
}
