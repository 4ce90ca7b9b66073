/*
 * The wall clock is set by a year, and the host is started again: nothing is
 * stopped, deleted or collected early by that, and what has really been over
 * is done.
 *
 *	what		is to come		after
 *	-------------	---------------------	--------
 *	quiet, ready	stop, for idleness	10 hours
 *	live, ready	delete, lifetime	20 hours
 *	rest, stopped	delete, retention	30 hours
 *	bad, failed	delete, retention	40 hours
 *	gone, deleted	collect, history	50 hours
 *	the daemon's	go, as histories do	50 hours
 *	own events
 *
 * regress-srcs: clock.c ring.c watch.c
 */
#include <sys/wait.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ring.h"
#include "store.h"
#include "watch.h"

#define HOUR	3600000ULL	/* ms */
#define SLACK	600000ULL	/* ms that a test takes by itself, at most */

enum { QUIET, LIVE, REST, BAD, GONE, NBOXES };

static struct box {
	const char	*id;
	const char	*next;
	const char	*by;
	uint64_t	 hours;
	uint64_t	 n;
	uint64_t	 since;		/* as clock_passed() */
	char		 nonce[33];
	uint32_t	 pid;		/* 0: it does not run */
	int		 over;
} boxes[NBOXES] = {
	[QUIET] = { "quiet", "stop", "idle", 10, 0, 0, "", 0, 0 },
	[LIVE] = { "live", "delete", "lifetime", 20, 0, 0, "", 0, 0 },
	[REST] = { "rest", "delete", "stopped", 30, 0, 0, "", 0, 0 },
	[BAD] = { "bad", "delete", "failed", 40, 0, 0, "", 0, 0 },
	[GONE] = { "gone", "collect", "history", 50, 0, 0, "", 0, 0 },
};

static void
make(struct box *b, uint64_t lifetime, uint64_t idle)
{
	struct proto_create	 m;
	struct got		 g;
	char			 none[1] = "";
	uint64_t		 op;
	uint32_t		 req;

	memset(&m, 0, sizeof(m));
	strlcpy(m.id, b->id, sizeof(m.id));
	m.workdir = none;
	m.lifetime = lifetime;
	m.idle = idle;
	m.wait = 1;
	req = ring_ask(USER_SESSION, PROTO_CREATE, &m);
	ring_answered(req, PROTO_ACCEPTED);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	b->n = g.m.work.n;
	op = g.f.op;
	ring_done(&g);
	if (b == &boxes[BAD]) {
		ring_send(&ring.parent, MSG_WORK_DONE, op, 0, 0,
		    &(struct msg_work_done){ .n = b->n, .code = CODE_NO_SPACE,
		    .text = "for the test" });
		ring_refused(req, CODE_NO_SPACE);
		ring_removed(b->n);
	} else {
		ring_make_ready(b->n, op, MSG_BOX_CREATE, NULL);
		strlcpy(b->nonce, ring.nonce, sizeof(b->nonce));
		b->pid = 1000 + b->n;
		ring_answered(req, PROTO_SANDBOX);
		ring_answered(req, PROTO_END);
	}
	b->since = clock_passed();
}

static void
stopped(struct box *b)
{
	watch_stop(b->n);
	watch_cause(b->id, "stopped", "");
	b->pid = 0;
	b->since = clock_passed();
}

/* What the store waits for it sees when it is spoken to. */
static void
wake(void)
{
	ring_answered(ring_ask(ROOT_SESSION, PROTO_PING, NULL), PROTO_END);
}

static void
deleted(struct box *b)
{
	ring_removed(b->n);
	watch_cause(b->id, "deleted", "");
	b->over = 1;
}

static void
boot(const char *id)
{
	strlcpy(ring.conf.boot, id, sizeof(ring.conf.boot));
}

static void
make_all(void)
{
	ring_make();
	clock_make();
	boot("one");
	ring.conf.retain_stopped = 30 * HOUR;
	ring.conf.retain_failed = 40 * HOUR;
	ring.conf.retain_history = 50 * HOUR;
	ring_start();
	ring_engine(1);
	make(&boxes[GONE], 0, 0);
	watch_ask(PROTO_DELETE, "gone");
	ring_removed(boxes[GONE].n);
	watch_cause("gone", "deleted", "");
	boxes[GONE].pid = 0;
	boxes[GONE].since = clock_passed();
	make(&boxes[BAD], 0, 0);
	make(&boxes[REST], 0, 0);
	watch_ask(PROTO_STOP, "rest");
	stopped(&boxes[REST]);
	make(&boxes[LIVE], 20 * HOUR, 0);
	make(&boxes[QUIET], 0, 10 * HOUR);
}

/* Where the log begins. */
static uint64_t
anchor(void)
{
	struct got	 g;
	uint64_t	 seq;
	uint32_t	 req;

	req = ring_ask(ROOT_SESSION, PROTO_LOG_VERIFY, NULL);
	ring_answer(req, PROTO_VERIFY, &g);
	seq = g.m.verify.anchor;
	ring_done(&g);
	ring_answered(req, PROTO_END);
	return (seq);
}

static void
check_one(const struct box *b)
{
	struct got	 g;
	uint64_t	 left = b->hours * HOUR;
	uint64_t	 passed = clock_passed() - b->since;

	watch_show(b->id, &g);
	ATF_CHECK_STREQ_MSG(g.m.sandbox.next, b->next, "%s: %s", b->id,
	    g.m.sandbox.next);
	ATF_CHECK_STREQ_MSG(g.m.sandbox.next_by, b->by, "%s: %s", b->id,
	    g.m.sandbox.next_by);
	left -= passed < left ? passed : left;
	ATF_CHECK_MSG(g.m.sandbox.next_in + 1000 >= left &&
	    g.m.sandbox.next_in <= left + SLACK,
	    "%s: in %" PRIu64 " ms, not %" PRIu64, b->id,
	    g.m.sandbox.next_in, left);
	ring_done(&g);
}

/* Each time is as far away as it was, and nothing is done. */
static void
check(void)
{
	int	 i;

	for (i = 0; i < NBOXES; i++)
		if (!boxes[i].over)
			check_one(&boxes[i]);
	ring_quiet(&ring.runner);
	ring_quiet(&ring.broker);
	ring_quiet(&ring.parent);
	ATF_CHECK_EQ(anchor(), 0);
}

/* The Engine has what it had, and of it runs what is said to. */
static void
engine(void)
{
	struct msg_engine	 m;
	struct msg_box_state	 c;
	struct msg_box_done	 end;
	struct got		 g;
	int			 i;

	memset(&m, 0, sizeof(m));
	m.up = 1;
	ring_send(&ring.broker, MSG_ENGINE, 0, 0, 0, &m);
	ring_get(&ring.broker, MSG_INVENTORY, &g);
	for (i = 0; i < NBOXES; i++) {
		if (i == GONE || i == BAD)
			continue;
		memset(&c, 0, sizeof(c));
		c.n = boxes[i].n;
		snprintf(c.container, sizeof(c.container), "c%d", (int)c.n);
		strlcpy(c.nonce, boxes[i].nonce, sizeof(c.nonce));
		strlcpy(c.id, boxes[i].id, sizeof(c.id));
		c.running = boxes[i].pid != 0;
		c.pid = boxes[i].pid;
		ring_send(&ring.broker, MSG_CONTAINER, g.f.op, 0, 0, &c);
	}
	memset(&end, 0, sizeof(end));
	ring_send(&ring.broker, MSG_INVENTORY_END, g.f.op, 0, 0, &end);
	ring_done(&g);
}

static void
daemon_again(void)
{
	ring_kill();
	ring_start();
	ring_skip(&ring.runner, MSG_LISTEN);
	ring_skip(&ring.runner, MSG_LISTEN);
	boxes[QUIET].since = clock_passed();
	engine();
}

/* What was ready is stopped by it, and kept from then on. */
static void
host_again(void)
{
	int	 status;

	/* It writes down how late it is. */
	ring_send(&ring.parent, MSG_SHUTDOWN, 0, 0, 0, NULL);
	ATF_REQUIRE(waitpid(ring.pid, &status, 0) == ring.pid);
	ATF_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	clock_boot();
	boot("two");
	ring_start();
	ring_skip(&ring.runner, MSG_LISTEN);
	ring_skip(&ring.runner, MSG_LISTEN);
	boxes[QUIET].since = clock_passed();
	ATF_CHECK_EQ(anchor(), 0);
	boxes[QUIET].pid = boxes[LIVE].pid = 0;
	engine();
	ring_skip(&ring.runner, MSG_UNLISTEN);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	watch_cause("quiet", "stopped", "host_restart");
	watch_cause("live", "stopped", "host_restart");
	boxes[QUIET].since = clock_passed();
	boxes[QUIET].next = "delete";
	boxes[QUIET].by = "stopped";
	boxes[QUIET].hours = 30;
}

/* Until that is to be done to it; and then it comes. */
static void
until(struct box *b)
{
	uint64_t	 at = b->since + b->hours * HOUR, now = clock_passed();

	if (at > now + 2 * SLACK) {
		clock_pass((at - now - 2 * SLACK) * 1000000);
		check();
	}
	clock_pass(3 * SLACK * 1000000);
	wake();
}

static void
pass_all(void)
{
	struct box	*b = &boxes[QUIET];
	int		 tries = 0;

	if (b->pid != 0) {
		until(b);
		stopped(b);
		watch_ask(PROTO_DELETE, b->id);
		deleted(b);
	}
	b = &boxes[LIVE];
	until(b);
	if (b->pid != 0)
		watch_stop(b->n);
	deleted(b);
	until(&boxes[REST]);
	deleted(&boxes[REST]);
	b = &boxes[QUIET];
	if (!b->over) {
		until(b);
		deleted(b);
	}
	until(&boxes[BAD]);
	deleted(&boxes[BAD]);
	b = &boxes[GONE];
	until(b);
	ring_skip(&ring.runner, MSG_LOG_REMOVE);
	watch_gone(b->id);
	while (anchor() == 0)
		ATF_REQUIRE(watch_again(&tries));
	ring_stop();
}

static const struct {
	const char	*name;
	int64_t		 wall;
	void		(*again)(void);
} jumps[] = {
	{ "ahead", CLOCK_YEAR, NULL },
	{ "back", -CLOCK_YEAR, NULL },
	{ "ahead, and the daemon again", CLOCK_YEAR, daemon_again },
	{ "back, and the daemon again", -CLOCK_YEAR, daemon_again },
	{ "ahead, and the host again", CLOCK_YEAR, host_again },
	{ "back, and the host again", -CLOCK_YEAR, host_again },
};

static void
jump(int i)
{
	make_all();
	check();
	clock_pass(2 * CLOCK_HOUR);
	check();
	clock_wall(jumps[i].wall);
	if (jumps[i].again != NULL)
		jumps[i].again();
	check();
	/* Longer than anything is in doubt after a start. */
	clock_pass(2 * CLOCK_HOUR);
	check();
	clock_wall(0);
	check();
	clock_wall(jumps[i].wall);
	pass_all();
}

#define JUMP(tc_name, i)							\
ATF_TC(tc_name);							\
ATF_TC_HEAD(tc_name, tc)						\
{									\
	atf_tc_set_md_var(tc, "descr", "(c42) a year %s", jumps[i].name); \
}									\
ATF_TC_BODY(tc_name, tc)						\
{									\
	jump(i);							\
}

JUMP(ahead, 0)
JUMP(back, 1)
JUMP(ahead_daemon, 2)
JUMP(back_daemon, 3)
JUMP(ahead_host, 4)
JUMP(back_host, 5)

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, ahead);
	ATF_TP_ADD_TC(tp, back);
	ATF_TP_ADD_TC(tp, ahead_daemon);
	ATF_TP_ADD_TC(tp, back_daemon);
	ATF_TP_ADD_TC(tp, ahead_host);
	ATF_TP_ADD_TC(tp, back_host);
	return (atf_no_error());
}
