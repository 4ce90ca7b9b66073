/*
 * Update: what is accepted is done or undone, whatever comes in between, and
 * labels and times alone need nobody.
 *
 * regress-srcs: ring.c
 */
#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

#define OLD	(1ULL << 30)		/* as ring.c makes a sandbox */
#define NEW	(1ULL << 29)
#define MORE	(1ULL << 31)

static uint32_t
ask_memory(uint64_t memory, const char *label)
{
	struct proto_update	 u;
	uint32_t		 req;

	memset(&u, 0, sizeof(u));
	u.id = strdup("web");
	u.memory = memory;
	u.wait = 1;
	if (label != NULL)
		ATF_REQUIRE(kvv_set(&u.labels, "l", label) == 0);
	req = ring_ask(USER_SESSION, PROTO_UPDATE, &u);
	msg_clear(&u, proto_def(PROTO_UPDATE));
	return (req);
}

static uint32_t
asks(uint64_t memory)
{
	uint32_t	 req = ask_memory(memory, "new");

	ring_answered(req, PROTO_ACCEPTED);
	return (req);
}

/* The order to the broker, for so much; its operation. */
static uint64_t
ordered(uint64_t memory)
{
	struct msg_box_update	 m;
	struct got		 g;
	uint64_t		 op;

	ring_get(&ring.broker, MSG_BOX_UPDATE, &g);
	memcpy(&m, &g.m, sizeof(m));
	ATF_REQUIRE_EQ(memory, m.memory);
	op = g.f.op;
	ring_done(&g);
	return (op);
}

static void
updated(uint64_t op, uint64_t n, uint64_t memory)
{
	struct msg_box_started	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	strlcpy(m.container, "c", sizeof(m.container));
	m.facts.memory = memory;
	ring_send(&ring.broker, MSG_BOX_UPDATED, op, 0, 0, &m);
}

static void
failed(uint64_t op, uint64_t n)
{
	struct msg_box_failed	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.code = CODE_ENGINE_ERROR;
	strlcpy(m.text, "for the test", sizeof(m.text));
	ring_send(&ring.broker, MSG_BOX_FAILED, op, 0, 0, &m);
}

/* The guest says once more what it reads. */
static void
reads(uint64_t n, uint64_t memory)
{
	struct msg_guest_hello	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.boot = 7;
	m.pid = 1000 + n;
	m.version = 1;
	m.memory = memory;
	m.mcpus = 1000;
	m.pids = 100;
	m.again = 1;
	ring_send(&ring.runner, MSG_GUEST_HELLO, 0, 0, 0, &m);
}

/* What it has, and what its guest reads; and whether it has the label. */
static void
has(uint64_t memory, uint64_t seen, int label)
{
	struct got	 g;
	uint32_t	 req = ring_ref(USER_SESSION, PROTO_SHOW, "web", 0);

	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_EQ(memory, g.m.sandbox.memory);
	ATF_REQUIRE_EQ(seen, g.m.sandbox.memory_seen);
	ATF_REQUIRE_EQ(label, (int)g.m.sandbox.labels.n);
	ring_done(&g);
	for (;;) {
		ring_frame_any(&ring.frontend, &g);
		if (g.f.req == req && g.f.type == PROTO_END) {
			ring_done(&g);
			return;
		}
		ring_done(&g);
	}
}

static void
became(uint32_t req, const char *state, uint64_t memory)
{
	struct got	 g;

	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, state);
	ATF_REQUIRE_EQ(memory, g.m.sandbox.memory);
	ring_done(&g);
	ring_answered(req, PROTO_END);
}

ATF_TC_WITHOUT_HEAD(done);
ATF_TC_BODY(done, tc)
{
	uint64_t	 n, op, late;
	uint32_t	 req, second;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	has(OLD, OLD, 0);
	/* Refused: nothing of it has changed, and nothing comes late. */
	req = asks(NEW);
	late = ordered(NEW);
	failed(late, n);
	ring_refused(req, CODE_ENGINE_ERROR);
	has(OLD, OLD, 0);
	updated(late, n, NEW);
	ring_quiet(&ring.broker);
	has(OLD, OLD, 0);
	/* The same again joins it, and another one is refused. */
	req = asks(NEW);
	second = asks(NEW);
	ring_refused(ask_memory(MORE, "new"), CODE_CONFLICT);
	ring_refused(ask_memory(0, "other"), CODE_CONFLICT);
	op = ordered(NEW);
	updated(late, n, NEW);
	updated(op, n, NEW);
	ring_skip(&ring.runner, MSG_GREET);
	has(OLD, OLD, 0);
	reads(n, NEW);
	became(req, "ready", NEW);
	became(second, "ready", NEW);
	has(NEW, NEW, 1);
	updated(op, n, NEW);
	failed(op, n);
	has(NEW, NEW, 1);
	ring_quiet(&ring.broker);
	/* What it has already asks nobody, and an end of it is no wait. */
	became(asks(NEW), "ready", NEW);
	ring_quiet(&ring.broker);
	ring_stop();
}

/* The Engine shows it, and the kernel has something else. */
ATF_TC_WITHOUT_HEAD(unenforced);
ATF_TC_BODY(unenforced, tc)
{
	uint64_t	 n;
	uint32_t	 req;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	req = asks(NEW);
	updated(ordered(NEW), n, NEW);
	ring_skip(&ring.runner, MSG_GREET);
	reads(n, OLD);
	updated(ordered(OLD), n, OLD);
	ring_refused(req, CODE_POLICY_DENIED);
	has(OLD, OLD, 0);
	ring_stop();
}

/* Another operation comes in between: it is done behind that. */
ATF_TC_WITHOUT_HEAD(overtaken);
ATF_TC_BODY(overtaken, tc)
{
	struct msg_box_state	 dead;
	struct msg_guest_gone	 bye;
	uint64_t		 n, late;
	uint32_t		 req, stop;
	struct got		 g;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	req = asks(NEW);
	late = ordered(NEW);
	stop = ring_ref(USER_SESSION, PROTO_STOP, "web", 1);
	ring_refused(req, CODE_CONFLICT);
	ring_answered(stop, PROTO_ACCEPTED);
	updated(late, n, NEW);
	ring_skip(&ring.runner, MSG_GUEST_STOP);
	memset(&bye, 0, sizeof(bye));
	bye.n = n;
	bye.bye = 1;
	ring_send(&ring.runner, MSG_GUEST_GONE, 0, 0, 0, &bye);
	ring_get(&ring.broker, MSG_BOX_KILL, &g);
	memset(&dead, 0, sizeof(dead));
	dead.n = n;
	ring_send(&ring.broker, MSG_BOX_DEAD, g.f.op, 0, 0, &dead);
	ring_done(&g);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	became(stop, "stopped", OLD);
	/* Nobody can ask its guest: that says it when it is resumed. */
	updated(ordered(NEW), n, NEW);
	became(asks(NEW), "stopped", NEW);
	has(NEW, 0, 1);
	ring_quiet(&ring.broker);
	/* With a delete it goes. */
	req = asks(MORE);
	late = ordered(MORE);
	stop = ring_ref(USER_SESSION, PROTO_DELETE, "web", 1);
	ring_refused(req, CODE_CONFLICT);
	ring_answered(stop, PROTO_ACCEPTED);
	failed(late, n);
	ring_removed(n);
	became(stop, "deleted", NEW);
	ring_quiet(&ring.broker);
	ring_stop();
}

/* A start finds it in the log, and nobody knows how far it was. */
ATF_TC_WITHOUT_HEAD(again);
ATF_TC_BODY(again, tc)
{
	struct msg_engine	 up_again;
	struct msg_box_state	 box;
	struct msg_box_done	 end;
	struct got		 g;
	uint64_t		 n;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	(void)asks(NEW);
	(void)ordered(NEW);
	ring_kill();
	ring_start();
	ring_skip(&ring.runner, MSG_LISTEN);
	reads(n, OLD);
	has(OLD, OLD, 0);
	ring_quiet(&ring.broker);
	memset(&up_again, 0, sizeof(up_again));
	up_again.up = 1;
	ring_send(&ring.broker, MSG_ENGINE, 0, 0, 0, &up_again);
	ring_get(&ring.broker, MSG_INVENTORY, &g);
	memset(&box, 0, sizeof(box));
	box.n = n;
	snprintf(box.container, sizeof(box.container), "c%d", (int)n);
	strlcpy(box.nonce, ring.nonce, sizeof(box.nonce));
	box.running = 1;
	box.pid = 1000 + n;
	ring_send(&ring.broker, MSG_CONTAINER, g.f.op, 0, 0, &box);
	memset(&end, 0, sizeof(end));
	ring_send(&ring.broker, MSG_INVENTORY_END, g.f.op, 0, 0, &end);
	ring_done(&g);
	updated(ordered(NEW), n, NEW);
	ring_skip(&ring.runner, MSG_GREET);
	reads(n, NEW);
	became(asks(NEW), "ready", NEW);
	has(NEW, NEW, 1);
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
	req = asks(NEW);
	op = ordered(NEW);
	ring_refused(req, CODE_DEADLINE_EXCEEDED);
	req = asks(NEW);
	updated(op, n, NEW);
	ring_skip(&ring.runner, MSG_GREET);
	reads(n, NEW);
	became(req, "ready", NEW);
	/* Without an Engine it is not even accepted; a label is. */
	ring_engine(0);
	ring_refused(ask_memory(OLD, NULL), CODE_UNAVAILABLE);
	req = ask_memory(0, "other");
	ring_answered(req, PROTO_ACCEPTED);
	became(req, "ready", NEW);
	ring_stop();
}

/* Its container ends, or is gone, in the middle of it. */
ATF_TC_WITHOUT_HEAD(died);
ATF_TC_BODY(died, tc)
{
	struct msg_box_state	 m;
	uint64_t		 n, op;
	uint32_t		 req;

	ring_up();
	n = ring_ready(USER_SESSION, "web");
	req = asks(NEW);
	op = ordered(NEW);
	memset(&m, 0, sizeof(m));
	m.n = n;
	m.exitcode = 137;
	strlcpy(m.nonce, ring.nonce, sizeof(m.nonce));
	ring_send(&ring.broker, MSG_BOX_DIED, 0, 0, 0, &m);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	ring_refused(req, CODE_CONFLICT);
	updated(op, n, NEW);
	op = ordered(NEW);
	ring_state(USER_SESSION, "web", "stopped");
	m.gone = 1;
	ring_send(&ring.broker, MSG_BOX_DEAD, op, 0, 0, &m);
	ring_unboxed(n);
	ring_state(USER_SESSION, "web", "failed");
	has(OLD, OLD, 0);
	ring_quiet(&ring.broker);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, done);
	ATF_TP_ADD_TC(tp, unenforced);
	ATF_TP_ADD_TC(tp, overtaken);
	ATF_TP_ADD_TC(tp, again);
	ATF_TP_ADD_TC(tp, deadline);
	ATF_TP_ADD_TC(tp, died);
	return (atf_no_error());
}
