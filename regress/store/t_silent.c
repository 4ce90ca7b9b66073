/*
 * A guest that lives and does not answer: what the runner tells of it is
 * judged by the state of its sandbox, and by how old it is.
 *
 * regress-srcs: ring.c watch.c
 */
#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring.h"
#include "watch.h"

#define BOOT	7
#define CAUSE	"silent: for the test"
#define SLACK	600000		/* ms that a test takes by itself, at most */

static uint64_t
up(void)
{
	ring_make();
	ring_start();
	ring_engine(1);
	return (ring_ready(USER_SESSION, "web"));
}

static void
begin(uint64_t k)
{
	struct got	 g;

	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_get(&ring.runner, MSG_START, &g);
	ATF_REQUIRE_EQ(k, g.m.start.k);
	ring_done(&g);
}

/* With the end of one that is due, if k is not 0. */
static void
silent(uint64_t n, uint64_t boot, uint64_t probe, uint64_t k)
{
	struct msg_guest_silent	 m;
	uint64_t		 v[SILENT_FIELDS] = { k, 100, 40, 7, 0 };

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.boot = boot;
	strlcpy(m.text, CAUSE, sizeof(m.text));
	m.late.v = v;
	m.late.n = k != 0 ? SILENT_FIELDS : 0;
	ring_send(&ring.runner, MSG_GUEST_SILENT, probe, 0, 0, &m);
}

static uint64_t
probed(void)
{
	struct got	 g;
	uint64_t	 number;

	ring_get(&ring.runner, MSG_PROBE, &g);
	number = g.f.op;
	ATF_CHECK(number != 0);
	ring_done(&g);
	return (number);
}

/* It is killed without a word to the guest, and stopped. */
static void
stopped(uint64_t n)
{
	uint64_t	 op;

	op = ring_ordered(MSG_BOX_KILL);
	ring_outcome(MSG_BOX_DEAD, op, n);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	watch_cause("web", "stopped", CAUSE);
	watch_count("web", "sandbox.stop", 1);
	watch_count("web", "sandbox.stopped", 1);
}

static void
ended(const char *exec, const char *state, const char *cause, uint64_t len)
{
	struct proto_wait	 m;
	struct got		 g;
	char			 buf[64];
	uint32_t		 req;

	memset(&m, 0, sizeof(m));
	strlcpy(buf, exec, sizeof(buf));
	m.exec = buf;
	req = ring_ask(USER_SESSION, PROTO_WAIT, &m);
	ring_answer(req, PROTO_EXEC_INFO, &g);
	ATF_CHECK_STREQ(state, g.m.exec.state);
	ATF_CHECK_STREQ(cause, g.m.exec.cause);
	ATF_CHECK_EQ(len, g.m.exec.length1);
	ring_done(&g);
	ring_answered(req, PROTO_END);
}

/* What SHOW says that keeps it from work, once what was sent has come. */
static void
degraded(const char *why)
{
	struct got	 g;
	char		 text[64] = "?";
	uint32_t	 req;
	int		 i;

	for (i = 0; i < 1000 && strcmp(text, why) != 0; i++) {
		if (i > 0)
			usleep(10000);
		req = ring_ref(USER_SESSION, PROTO_SHOW, "web", 0);
		ring_answer(req, PROTO_SANDBOX, &g);
		ATF_CHECK_STREQ("ready", g.m.sandbox.state);
		strlcpy(text, g.m.sandbox.degraded, sizeof(text));
		ring_done(&g);
		ring_answered(req, PROTO_END);
	}
	ATF_CHECK_STREQ(why, text);
}

/* The Engine is there again, and has its container, which runs. */
static void
back(uint64_t n)
{
	struct msg_engine	 e = { .up = 1, .live_restore = 1 };
	struct msg_box_state	 m;
	struct msg_box_done	 end;
	uint64_t		 op;

	ring_send(&ring.broker, MSG_ENGINE, 0, 0, 0, &e);
	op = ring_ordered(MSG_INVENTORY);
	memset(&m, 0, sizeof(m));
	m.n = n;
	m.running = 1;
	m.pid = 1000 + n;
	snprintf(m.container, sizeof(m.container), "c%d", (int)n);
	strlcpy(m.nonce, ring.nonce, sizeof(m.nonce));
	ring_send(&ring.broker, MSG_CONTAINER, op, 0, 0, &m);
	memset(&end, 0, sizeof(end));
	ring_send(&ring.broker, MSG_INVENTORY_END, op, 0, 0, &end);
}

ATF_TC(ready);
ATF_TC_HEAD(ready, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c29) a silent guest is the end of its "
	    "sandbox, with the cause; what was due has timed out");
}
ATF_TC_BODY(ready, tc)
{
	uint64_t	 n = up();

	begin(1);
	begin(2);
	/* Of a guest that was before, or of none that there is. */
	silent(n, BOOT + 1, 0, 1);
	silent(n, BOOT, 1, 1);
	silent(n + 1, BOOT, 0, 1);
	ring_quiet(&ring.broker);
	ring_state(USER_SESSION, "web", "ready");
	silent(n, BOOT, 0, 1);
	ring_skip(&ring.runner, MSG_FORGET);
	ring_skip(&ring.runner, MSG_FORGET);
	/* Told twice it is once. */
	silent(n, BOOT, 0, 1);
	stopped(n);
	ended("web.1", "timed_out", "timeout: its guest did not end it", 100);
	ended("web.2", "lost", CAUSE, 0);
	ring_quiet(&ring.broker);
	ring_stop();
}

ATF_TC(paused);
ATF_TC_HEAD(paused, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c29) who is paused, or about to be, "
	    "is silent by right, and what was told of that counts no more");
}
ATF_TC_BODY(paused, tc)
{
	uint64_t	 n = up(), op, number;
	uint32_t	 req;

	begin(1);
	req = ring_ref(USER_SESSION, PROTO_PAUSE, "web", 1);
	ring_answered(req, PROTO_ACCEPTED);
	op = ring_ordered(MSG_BOX_PAUSE);
	silent(n, BOOT, 0, 1);
	ring_state(USER_SESSION, "web", "pausing");
	ring_outcome(MSG_BOX_PAUSED, op, n);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
	silent(n, BOOT, 0, 1);
	ring_state(USER_SESSION, "web", "paused");
	req = ring_ref(USER_SESSION, PROTO_UNPAUSE, "web", 1);
	ring_answered(req, PROTO_ACCEPTED);
	op = ring_ordered(MSG_BOX_UNPAUSE);
	silent(n, BOOT, 0, 1);
	ring_state(USER_SESSION, "web", "resuming");
	ring_outcome(MSG_BOX_UNPAUSED, op, n);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
	number = probed();
	silent(n, BOOT, 0, 1);
	ring_quiet(&ring.broker);
	ring_state(USER_SESSION, "web", "ready");
	silent(n, BOOT, number, 1);
	ring_skip(&ring.runner, MSG_FORGET);
	stopped(n);
	ring_stop();
}

ATF_TC(away);
ATF_TC_HEAD(away, tc)
{
	atf_tc_set_md_var(tc, "descr", "while the Engine is away nobody knows "
	    "whether it is paused: it is asked again after that, and said to "
	    "be degraded (aL19)");
}
ATF_TC_BODY(away, tc)
{
	uint64_t	 n = up();

	degraded("");
	ring_engine(0);
	degraded("the Engine is away");
	silent(n, BOOT, 0, 0);
	degraded("its guest does not answer, and the Engine is away");
	back(n);
	degraded("");
	silent(n, BOOT, probed(), 0);
	stopped(n);
	ring_stop();
}

/* A command with a limit, for so many ms, which has begun. */
static void
begin_limited(uint64_t n, uint64_t ms)
{
	struct proto_exec	 m;
	struct msg_started	 s;
	struct got		 g;
	char			 id[] = "web";

	memset(&m, 0, sizeof(m));
	m.sandbox = id;
	m.dir = strdup("");
	m.timeout = ms;
	ATF_REQUIRE(strv_add(&m.argv, "true") == 0);
	ring_answered(ring_ask(USER_SESSION, PROTO_EXEC, &m), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	strv_clear(&m.argv);
	free(m.dir);
	ring_get(&ring.runner, MSG_START, &g);
	ATF_CHECK_EQ(ms, g.m.start.timeout);
	memset(&s, 0, sizeof(s));
	s.n = n;
	s.k = g.m.start.k;
	s.pid = 5;
	ring_done(&g);
	ring_send(&ring.runner, MSG_STARTED, 0, 0, 0, &s);
}

static void
resumed(uint64_t k, uint64_t least, uint64_t most)
{
	struct got	 g;

	do
		ring_frame_any(&ring.runner, &g);
	while (g.f.type != MSG_START && (ring_done(&g), 1));
	ATF_CHECK_EQ(k, g.m.start.k);
	ATF_CHECK_EQ(0, g.m.start.argv.n);
	ATF_CHECK_MSG(g.m.start.timeout >= least &&
	    g.m.start.timeout <= most, "%llu ms are left",
	    (unsigned long long)g.m.start.timeout);
	ring_done(&g);
}

ATF_TC(restart);
ATF_TC_HEAD(restart, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c29) the next runner is told what is "
	    "left of the limits of the commands that have begun");
}
ATF_TC_BODY(restart, tc)
{
	uint64_t	 n = up();

	begin_limited(n, 3600000);
	begin_limited(n, 1);
	begin_limited(n, 0);
	begin_limited(n, EXEC_TIMEOUT_MAX);
	/* That they have begun is in the log. */
	watch_count("web", "exec.started", 4);
	ring_kill();
	ring_start();
	/* The log's clock stood still meanwhile: here nobody has its start. */
	resumed(1, 3600000 - SLACK, 3600000 + SLACK);
	resumed(2, 1, SLACK);
	resumed(3, 0, 0);
	resumed(4, EXEC_TIMEOUT_MAX - SLACK, EXEC_TIMEOUT_MAX + SLACK);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, restart);
	ATF_TP_ADD_TC(tp, ready);
	ATF_TP_ADD_TC(tp, paused);
	ATF_TP_ADD_TC(tp, away);
	return (atf_no_error());
}
