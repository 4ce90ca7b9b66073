/*
 * What a start, or the Engine's return, makes of a sandbox: each row of the
 * table in sandboxd(8), and what is kept because it is in doubt.
 *
 * regress-srcs: ring.c watch.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recover.h"
#include "ring.h"
#include "watch.h"

static const char *const	 places[AT_NPLACES] = {
	"none", "ended", "runs", "other"
};

/* The states that a test can put a sandbox into, and leave it in. */
static const enum sbx_state	 states[] = {
	SBX_PENDING, SBX_READY, SBX_STOPPING, SBX_STOPPED, SBX_RESUMING,
	SBX_DELETING, SBX_DELETED, SBX_FAILED
};

static void
missing_is(const char *id, int is)
{
	struct got	 g;
	int		 tries = 0, ok;

	do {
		watch_show(id, &g);
		ok = (g.m.sandbox.missing != 0) == is;
		ring_done(&g);
	} while (!ok && watch_again(&tries));
	ATF_REQUIRE_MSG(ok, "%s is %smissing", id, is ? "not " : "");
}

static struct msg_box_state
box_of(uint64_t n, const char *nonce, enum at_engine at)
{
	struct msg_box_state	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	snprintf(m.container, sizeof(m.container), "c%d", (int)n);
	strlcpy(m.nonce, nonce, sizeof(m.nonce));
	m.running = at == AT_RUNS || at == AT_OTHER;
	m.pid = at == AT_RUNS ? 1000 + n : at == AT_OTHER ? 77 : 0;
	m.exitcode = at == AT_ENDED ? 137 : 0;
	return (m);
}

static uint64_t	 inventory;

static void
inventory_begin(void)
{
	struct msg_engine	 m;
	struct got		 g;

	memset(&m, 0, sizeof(m));
	m.up = 1;
	ring_send(&ring.broker, MSG_ENGINE, 0, 0, 0, &m);
	ring_get(&ring.broker, MSG_INVENTORY, &g);
	inventory = g.f.op;
	ring_done(&g);
}

static void
inventory_has(uint64_t n, const char *nonce, enum at_engine at)
{
	struct msg_box_state	 m = box_of(n, nonce, at);

	if (at != AT_NONE)
		ring_send(&ring.broker, MSG_CONTAINER, inventory, 0, 0, &m);
}

static void
inventory_end(void)
{
	struct msg_box_done	 m;

	memset(&m, 0, sizeof(m));
	ring_send(&ring.broker, MSG_INVENTORY_END, inventory, 0, 0, &m);
}

/* One that is ready; its nonce. */
static uint64_t
ready(const char *id, char nonce[33])
{
	uint64_t	 n = ring_ready(USER_SESSION, id);

	strlcpy(nonce, ring.nonce, 33);
	return (n);
}

static void
stop(uint64_t n, const char *id)
{
	watch_ask(PROTO_STOP, id);
	watch_stop(n);
	watch_cause(id, "stopped", "");
}

/* A sandbox in that state, whose operation goes no further; its number. */
static uint64_t
bring(enum sbx_state state, const char *id, char nonce[33])
{
	struct msg_box_state	 box;
	uint64_t		 n, op;

	if (state == SBX_PENDING) {
		nonce[0] = '\0';
		return (ring_create(USER_SESSION, id, &op));
	}
	n = ready(id, nonce);
	switch (state) {
	case SBX_STOPPING:
		watch_ask(PROTO_STOP, id);
		ring_skip(&ring.runner, MSG_GUEST_STOP);
		break;
	case SBX_STOPPED:
	case SBX_RESUMING:
		stop(n, id);
		if (state == SBX_RESUMING) {
			watch_ask(PROTO_RESUME, id);
			ring_skip(&ring.parent, MSG_WORK_MAKE);
		}
		break;
	case SBX_DELETING:
	case SBX_DELETED:
		watch_ask(PROTO_DELETE, id);
		if (state == SBX_DELETED) {
			ring_removed(n);
			watch_cause(id, "deleted", "");
		} else
			ring_skip(&ring.broker, MSG_BOX_REMOVE);
		break;
	case SBX_FAILED:
		box = box_of(n, nonce, AT_NONE);
		box.gone = 1;
		ring_send(&ring.broker, MSG_BOX_DIED, 0, 0, 0, &box);
		ring_unboxed(n);
		watch_count(id, "sandbox.cleaned", 1);
		break;
	default:
		break;
	}
	return (n);
}

/* The order that the operation of that state begins with. */
static void
began_again(enum sbx_state state)
{
	switch (state) {
	case SBX_PENDING:
	case SBX_RESUMING:
		ring_skip(&ring.parent, MSG_WORK_MAKE);
		break;
	case SBX_STOPPING:
		ring_skip(&ring.broker, MSG_BOX_KILL);
		break;
	default:
		ring_skip(&ring.broker, MSG_BOX_REMOVE);
	}
}

static void
outcome(enum sbx_state state, enum at_engine at, uint64_t n)
{
	const char	*is = lifecycle_name(state);

	switch (recover_judge(state, at)) {
	case REC_AGAIN:
		began_again(state);
		watch_cause("one", is, "");
		break;
	case REC_MISSING:
		ring_unboxed(n);
		watch_cause("one", "failed", "removed: ");
		watch_count("one", "sandbox.failed", 1);
		break;
	case REC_STOPPED:
		ring_skip(&ring.runner, MSG_UNLISTEN);
		watch_cause("one", "stopped",
		    "killed: its container ended with status 137, while");
		watch_count("one", "sandbox.stopped", 1);
		break;
	case REC_FOREIGN:
		ring_unboxed(n);
		watch_cause("one", "failed", "foreign: ");
		break;
	case REC_KILL:
		ring_skip(&ring.broker, MSG_BOX_KILL);
		watch_cause("one", is, "");
		watch_count("one", "sandbox.outside", 1);
		break;
	case REC_UNDO:
		ring_skip(&ring.broker, MSG_BOX_REMOVE);
		watch_cause("one", is, "");
		break;
	case REC_KEEP:
		watch_cause("one", is, "");
		watch_count("one", "sandbox.outside", 0);
		break;
	default:
		atf_tc_fail("%s and %s: no outcome", is, places[at]);
	}
	ring_quiet(&ring.broker);
	ring_quiet(&ring.parent);
}

static void
up(void)
{
	ring_make();
	ring.conf.t_stray = 600000;
	ring_start();
	ring_engine(1);
}

/* Beside one that is there, so that the Engine is not taken for another. */
static void
row(enum sbx_state state, enum at_engine at)
{
	char		 nonce[33], other[33];
	uint64_t	 n, m;

	printf("%s, %s: %s\n", lifecycle_name(state), places[at],
	    recover_name(recover_judge(state, at)));
	fflush(stdout);
	up();
	n = bring(state, "one", nonce);
	m = ready("two", other);
	ring_kill();
	ring_start();
	if (recover_judge(state, AT_NONE) == REC_MISSING &&
	    state != SBX_STOPPED)
		ring_skip(&ring.runner, MSG_LISTEN);
	ring_skip(&ring.runner, MSG_LISTEN);
	inventory_begin();
	inventory_has(n, nonce, at);
	inventory_has(m, other, AT_RUNS);
	inventory_end();
	outcome(state, at, n);
	ring_state(USER_SESSION, "two", "ready");
	ring_stop();
}

ATF_TC(table);
ATF_TC_HEAD(table, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aL16) each row of what a start finds; "
	    "what was cut off goes on (aL21)");
}
ATF_TC_BODY(table, tc)
{
	size_t	 i;
	int	 at;

	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		for (at = 0; at < AT_NPLACES; at++) {
			/* Nothing has a name yet that could be known. */
			if (states[i] == SBX_PENDING && at != AT_NONE)
				continue;
			row(states[i], (enum at_engine)at);
		}
}

/* Every pair has an outcome, and what is none is not taken for one. */
ATF_TC_WITHOUT_HEAD(whole);
ATF_TC_BODY(whole, tc)
{
	int	 s, at;

	for (s = SBX_NONE + 1; s < SBX_NSTATES; s++)
		for (at = 0; at < AT_NPLACES; at++)
			ATF_CHECK(recover_judge((enum sbx_state)s,
			    (enum at_engine)at) != REC_IMPOSSIBLE);
	ATF_CHECK(recover_judge(SBX_NSTATES, AT_NONE) == REC_IMPOSSIBLE);
	ATF_CHECK(recover_judge(SBX_READY, AT_NPLACES) == REC_IMPOSSIBLE);
	ATF_CHECK(recover_judge(SBX_NONE, AT_NONE) == REC_IMPOSSIBLE);
}

static void
status_is(uint64_t missing, uint64_t strays)
{
	struct got	 g;
	uint32_t	 req;
	int		 tries = 0, ok;

	do {
		req = ring_ask(ROOT_SESSION, PROTO_STATUS, NULL);
		ring_answer(req, PROTO_STATUS_INFO, &g);
		ok = g.m.status.missing == missing &&
		    g.m.status.strays == strays;
		ring_done(&g);
		ring_answered(req, PROTO_END);
	} while (!ok && watch_again(&tries));
	ATF_REQUIRE_MSG(ok, "not %d missing and %d strays", (int)missing,
	    (int)strays);
}

static uint32_t
reconcile(uint32_t force)
{
	struct proto_reconcile	 m = { force };
	struct got		 g;
	uint32_t		 req;

	req = ring_ask(ROOT_SESSION, PROTO_RECONCILE, &m);
	ring_get(&ring.broker, MSG_INVENTORY, &g);
	inventory = g.f.op;
	ring_done(&g);
	return (req);
}

/* The kernel's word about the guest of that start. */
static void
guest_dead(uint64_t n, uint64_t boot)
{
	struct msg_guest_gone	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	ring_send(&ring.runner, MSG_GUEST_GONE, 0, 0, 0, &m);
	m.dead = 1;
	m.boot = boot;
	ring_send(&ring.runner, MSG_GUEST_GONE, 0, 0, 0, &m);
}

static void
told_dead(uint64_t n, const char *nonce)
{
	struct msg_box_state	 m = box_of(n, nonce, AT_ENDED);

	ring_send(&ring.broker, MSG_BOX_DIED, 0, 0, 0, &m);
}

static void
killed_later(const char *id, const char *cause)
{
	watch_cause(id, "stopped", cause);
	watch_count(id, "sandbox.stopped", 1);
	watch_count(id, "sandbox.cause", 1);
	watch_count(id, "sandbox.outside", 0);
}

ATF_TC(unknown);
ATF_TC_HEAD(unknown, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c25) a guest is dead and the Engine "
	    "does not say how: stopped, and told how when it does");
}
ATF_TC_BODY(unknown, tc)
{
	static const char *const	 ids[] = {
		"told", "event", "ended", "none", "runs", "again", "other"
	};
	struct msg_box_state		 box;
	struct got			 g;
	char				 nonce[7][33];
	uint64_t			 n[7];
	int				 i;

	up();
	for (i = 0; i < 7; i++)
		n[i] = ready(ids[i], nonce[i]);
	for (i = 0; i < 6; i++)
		guest_dead(n[i], 7);
	/* Of a guest before this one, and so none of this one. */
	guest_dead(n[6], 6);
	/* The Engine tells in time of one. */
	told_dead(n[0], nonce[0]);
	watch_cause("told", "stopped", "killed: its container ended");
	for (i = 1; i < 6; i++) {
		watch_cause(ids[i], "stopped", "unknown: its guest is dead");
		watch_count(ids[i], "sandbox.stopped", 1);
	}
	for (i = 0; i < 6; i++)
		ring_skip(&ring.runner, MSG_UNLISTEN);
	watch_cause("told", "stopped", "killed: its container ended");
	watch_count("told", "sandbox.stopped", 1);
	watch_count("told", "sandbox.cause", 0);
	ring_state(USER_SESSION, "other", "ready");

	/* Its event is late, and the same twice. */
	told_dead(n[1], nonce[1]);
	told_dead(n[1], nonce[1]);
	killed_later("event", "killed: its container ended with status 137");
	/* What was asked for since is not changed by it. */
	watch_ask(PROTO_RESUME, "again");
	ring_skip(&ring.parent, MSG_WORK_MAKE);
	told_dead(n[5], nonce[5]);
	watch_cause("again", "resuming", "");

	/* The rest is found, by a store of another time too. */
	ring_kill();
	ring_start();
	ring_skip(&ring.runner, MSG_LISTEN);
	inventory_begin();
	inventory_has(n[0], nonce[0], AT_ENDED);
	inventory_has(n[1], nonce[1], AT_ENDED);
	inventory_has(n[2], nonce[2], AT_ENDED);
	inventory_has(n[4], nonce[4], AT_OTHER);
	inventory_has(n[5], nonce[5], AT_ENDED);
	inventory_has(n[6], nonce[6], AT_RUNS);
	inventory_end();
	killed_later("ended", "killed: its container ended with status 137, "
	    "while");
	watch_cause("none", "failed", "removed: ");
	watch_count("none", "sandbox.failed", 1);
	/* An Engine that has not noticed it is told to end it. */
	do {
		ring_frame_any(&ring.broker, &g);
		i = g.f.type == MSG_BOX_KILL;
		n[0] = g.f.op;
		ring_done(&g);
	} while (!i);
	box = box_of(n[4], nonce[4], AT_ENDED);
	ring_send(&ring.broker, MSG_BOX_DEAD, n[0], 0, 0, &box);
	killed_later("runs", "killed: its container ended with status 137");
	watch_count("told", "sandbox.cause", 0);
	watch_cause("again", "resuming", "");
	ring_state(USER_SESSION, "other", "ready");
	ring_stop();
}

/* An Engine that has nothing of ours, and then what it should have. */
ATF_TC(quarantine);
ATF_TC_HEAD(quarantine, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(c36) another Engine, or an empty one, ends nothing");
}
ATF_TC_BODY(quarantine, tc)
{
	char		 one[33], two[33];
	uint64_t	 n1, n2;
	uint32_t	 req;

	up();
	n1 = ready("one", one);
	n2 = ready("two", two);
	stop(n2, "two");
	ring_kill();
	ring_start();
	ring_skip(&ring.runner, MSG_LISTEN);
	inventory_begin();
	inventory_end();
	missing_is("one", 1);
	missing_is("two", 1);
	status_is(2, 0);
	watch_cause("one", "ready", "");
	watch_cause("two", "stopped", "");
	ring_refused(ring_ref(USER_SESSION, PROTO_RESUME, "two", 0),
	    CODE_UNAVAILABLE);
	watch_count("one", "sandbox.missing", 1);
	ring_quiet(&ring.broker);
	ring_quiet(&ring.parent);
	/* The same again says nothing again, also after a start. */
	ring_kill();
	ring_start();
	ring_skip(&ring.runner, MSG_LISTEN);
	inventory_begin();
	inventory_end();
	missing_is("one", 1);
	watch_count("one", "sandbox.missing", 1);
	/* One that is there does not make the others certain. */
	req = reconcile(0);
	inventory_has(n2, two, AT_ENDED);
	inventory_end();
	ring_answered(req, PROTO_END);
	missing_is("two", 0);
	missing_is("one", 1);
	status_is(1, 0);
	watch_count("two", "sandbox.found", 1);
	req = reconcile(0);
	inventory_has(n1, one, AT_RUNS);
	inventory_has(n2, two, AT_ENDED);
	inventory_end();
	ring_answered(req, PROTO_END);
	missing_is("one", 0);
	status_is(0, 0);
	watch_cause("one", "ready", "");
	watch_count("one", "sandbox.found", 1);
	watch_count("one", "sandbox.failed", 0);
	ring_quiet(&ring.broker);
	ring_stop();
}

/* What is missing can be deleted, and root can have all of it given up. */
ATF_TC_WITHOUT_HEAD(given_up);
ATF_TC_BODY(given_up, tc)
{
	struct proto_reconcile	 m = { 1 };
	struct msg_box_done	 bad;
	char			 one[33], two[33];
	uint64_t		 n1, n2;
	uint32_t		 req;

	up();
	n1 = ready("one", one);
	n2 = ready("two", two);
	ring_kill();
	ring_start();
	ring_skip(&ring.runner, MSG_LISTEN);
	ring_skip(&ring.runner, MSG_LISTEN);
	inventory_begin();
	inventory_end();
	missing_is("one", 1);
	watch_ask(PROTO_DELETE, "one");
	ring_removed(n1);
	watch_cause("one", "deleted", "");
	missing_is("one", 0);
	status_is(1, 0);
	ring_refused(ring_ask(USER_SESSION, PROTO_RECONCILE, &m),
	    CODE_PERMISSION_DENIED);
	req = reconcile(0);
	inventory_end();
	ring_answered(req, PROTO_END);
	missing_is("two", 1);
	req = reconcile(1);
	inventory_end();
	ring_answered(req, PROTO_END);
	ring_unboxed(n2);
	watch_cause("two", "failed", "removed: ");
	missing_is("two", 0);
	/* Its container comes back after all: it is not left behind. */
	watch_count("two", "sandbox.cleaned", 1);
	req = reconcile(0);
	inventory_has(n2, two, AT_RUNS);
	inventory_end();
	ring_answered(req, PROTO_END);
	ring_unboxed(n2);
	watch_cause("two", "failed", "removed: ");
	/* A word that was given is not kept for another time. */
	n1 = ready("three", one);
	req = reconcile(1);
	memset(&bad, 0, sizeof(bad));
	bad.code = CODE_UNAVAILABLE;
	ring_send(&ring.broker, MSG_INVENTORY_END, inventory, 0, 0, &bad);
	ring_refused(req, CODE_UNAVAILABLE);
	req = reconcile(0);
	inventory_end();
	ring_answered(req, PROTO_END);
	missing_is("three", 1);
	ring_engine(0);
	ring_quiet(&ring.parent);
	ring_refused(ring_ask(ROOT_SESSION, PROTO_RECONCILE, &m),
	    CODE_UNAVAILABLE);
	ring_stop();
}

/* Nearly all of many is as good as all; a few of many were removed. */
ATF_TC_WITHOUT_HEAD(few);
ATF_TC_BODY(few, tc)
{
	char		 nonce[12][33], id[16];
	uint64_t	 n[12];
	uint32_t	 req;
	int		 i;

	up();
	for (i = 0; i < 12; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		n[i] = ready(id, nonce[i]);
	}
	req = reconcile(0);
	inventory_has(n[0], nonce[0], AT_RUNS);
	inventory_end();
	ring_answered(req, PROTO_END);
	status_is(11, 0);
	missing_is("s0", 0);
	req = reconcile(0);
	for (i = 0; i < 12; i++)
		inventory_has(n[i], nonce[i], AT_RUNS);
	inventory_end();
	ring_answered(req, PROTO_END);
	status_is(0, 0);
	req = reconcile(0);
	for (i = 0; i < 11; i++)
		inventory_has(n[i], nonce[i], AT_RUNS);
	inventory_end();
	ring_answered(req, PROTO_END);
	ring_unboxed(n[11]);
	watch_cause("s11", "failed", "removed: ");
	status_is(0, 0);
	ring_stop();
}

static void
died(const char *id, int exitcode, int oom, const char *cause)
{
	struct msg_box_state	 box;
	char			 nonce[33];
	uint64_t		 n = ready(id, nonce);

	box = box_of(n, nonce, AT_ENDED);
	box.exitcode = exitcode;
	box.oom = oom;
	ring_send(&ring.broker, MSG_BOX_DIED, 0, 0, 0, &box);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	watch_cause(id, "stopped", cause);
	/* However often it is said, and found so: it is told once. */
	ring_send(&ring.broker, MSG_BOX_DIED, 0, 0, 0, &box);
	watch_count(id, "sandbox.stopped", 1);
	ring_quiet(&ring.broker);
}

ATF_TC(ended);
ATF_TC_HEAD(ended, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "how a container died, and that once alone (aL12)");
}
ATF_TC_BODY(ended, tc)
{
	up();
	died("one", 0, 0, "exited: its container ended with status 0");
	died("two", 3, 0, "exited: ");
	died("three", 137, 0, "killed: its container ended with status 137");
	died("four", 143, 0, "killed: ");
	died("five", 137, 1, "out_of_memory: ");
	ring_stop();
}

/* The Engine was away, and what had run does not any more. */
ATF_TC_WITHOUT_HEAD(engine_left);
ATF_TC_BODY(engine_left, tc)
{
	char		 nonce[33];
	uint64_t	 n;

	up();
	n = ready("one", nonce);
	ring_engine(0);
	inventory_begin();
	inventory_has(n, nonce, AT_ENDED);
	inventory_end();
	ring_skip(&ring.runner, MSG_UNLISTEN);
	watch_cause("one", "stopped", "engine_restart");
	ring_stop();
}

/* (aL22) What ran returns, what was stopped stays so. */
ATF_TC_WITHOUT_HEAD(resume_on_start);
ATF_TC_BODY(resume_on_start, tc)
{
	struct got	 g;
	char		 one[33], two[33], three[33];
	uint64_t	 n1, n2, n3, op;
	uint32_t	 req;

	up();
	n3 = ready("three", three);
	ring_kill();
	ring.conf.resume = 1;
	ring_start();
	ring_skip(&ring.runner, MSG_LISTEN);
	inventory_begin();
	inventory_has(n3, three, AT_RUNS);
	inventory_end();
	n1 = ready("one", one);
	n2 = ready("two", two);
	stop(n2, "two");
	ring_engine(0);
	inventory_begin();
	inventory_has(n1, one, AT_ENDED);
	inventory_has(n2, two, AT_ENDED);
	inventory_has(n3, three, AT_ENDED);
	inventory_end();
	ring_skip(&ring.runner, MSG_UNLISTEN);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	ATF_REQUIRE_EQ(g.m.work.n, n1);
	op = g.f.op;
	ring_done(&g);
	watch_cause("one", "resuming", "");
	watch_cause("two", "stopped", "");
	/* It is the sandbox that says so: this one was made before. */
	watch_cause("three", "stopped", "engine_restart");
	ring_make_ready(n1, op, MSG_BOX_START, NULL);
	watch_cause("one", "ready", "");
	watch_count("one", "sandbox.stopped", 1);
	watch_count("one", "sandbox.resume", 1);
	/* By itself it is another matter. */
	died("four", 137, 0, "killed: ");
	/* And one that does not come up again is not tried again. */
	ring_engine(0);
	inventory_begin();
	inventory_has(n1, one, AT_ENDED);
	inventory_has(n2, two, AT_ENDED);
	inventory_has(n3, three, AT_ENDED);
	inventory_has(n3 + 3, ring.nonce, AT_ENDED);
	inventory_end();
	ring_skip(&ring.runner, MSG_UNLISTEN);
	ring_skip(&ring.parent, MSG_WORK_MAKE);
	req = ring_ref(USER_SESSION, PROTO_DELETE, "one", 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_removed(n1);
	watch_cause("one", "deleted", "");
	ring_stop();
}

/* Who removes a container while we look is taken at the Engine's word. */
ATF_TC_WITHOUT_HEAD(removed);
ATF_TC_BODY(removed, tc)
{
	struct msg_box_state	 box;
	char			 nonce[33];
	uint64_t		 n;

	up();
	n = ready("one", nonce);
	box = box_of(n, nonce, AT_NONE);
	box.gone = 1;
	ring_send(&ring.broker, MSG_BOX_DIED, 0, 0, 0, &box);
	ring_unboxed(n);
	watch_cause("one", "failed", "removed: ");
	ring_stop();
}

static void
stray_removed(const char *container)
{
	struct got	 g;

	ring_get(&ring.broker, MSG_BOX_REMOVE, &g);
	ATF_CHECK_EQ(g.m.box.n, 0);
	ATF_CHECK_STREQ(g.m.box.container, container);
	ring_done(&g);
}

/* A log of last week meets the containers of today. */
ATF_TC(strays);
ATF_TC_HEAD(strays, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c37) containers that the log does not "
	    "know are kept for a while; strays go (aL15)");
}
ATF_TC_BODY(strays, tc)
{
	char		 nonce[33];
	uint64_t	 n;
	uint32_t	 req;

	up();
	n = bring(SBX_DELETED, "old", nonce);
	req = reconcile(0);
	/* What is known to be gone goes at once. */
	inventory_has(n, nonce, AT_RUNS);
	stray_removed("c1");
	/* Of its number, but another's, and one that nobody has given out. */
	inventory_has(7, "unknown", AT_RUNS);
	inventory_has(0, "unknown", AT_ENDED);
	inventory_end();
	ring_answered(req, PROTO_END);
	status_is(0, 2);
	ring_quiet(&ring.broker);
	/* One event each, however often they are found. */
	req = reconcile(0);
	inventory_has(7, "unknown", AT_RUNS);
	inventory_end();
	ring_answered(req, PROTO_END);
	status_is(0, 1);
	watch_count("", "stray.found", 2);
	/* The number is not given out again. */
	ATF_CHECK_EQ(ready("new", nonce), 8);
	req = reconcile(1);
	inventory_has(7, "unknown", AT_RUNS);
	inventory_has(8, nonce, AT_RUNS);
	inventory_end();
	stray_removed("c7");
	ring_answered(req, PROTO_END);
	status_is(0, 0);
	watch_count("", "stray.removed", 2);
	ring_state(USER_SESSION, "new", "ready");
	ring_stop();
}

/*
 * And then they are removed, if they are still there: by an inventory after
 * the one that has found them, even if they were due before that one ended.
 */
ATF_TC_WITHOUT_HEAD(strays_due);
ATF_TC_BODY(strays_due, tc)
{
	struct timespec	 due = { 0, 5000000 };
	struct got	 g;
	int		 looks = 0;

	ring_make();
	ring.conf.t_stray = 1;
	ring_start();
	inventory_begin();
	inventory_has(7, "unknown", AT_RUNS);
	watch_count("", "stray.found", 1);
	/* Its time is over before this inventory is. */
	ATF_REQUIRE(nanosleep(&due, NULL) == 0);
	inventory_end();
	for (;;) {
		ring_frame_any(&ring.broker, &g);
		if (g.f.type != MSG_INVENTORY)
			break;
		inventory = g.f.op;
		ring_done(&g);
		inventory_has(7, "unknown", AT_RUNS);
		inventory_end();
		looks++;
	}
	ATF_CHECK(looks > 0);
	ATF_CHECK_EQ(g.f.type, MSG_BOX_REMOVE);
	ATF_CHECK_STREQ(g.m.box.container, "c7");
	ring_done(&g);
	watch_count("", "stray.removed", 1);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, table);
	ATF_TP_ADD_TC(tp, unknown);
	ATF_TP_ADD_TC(tp, whole);
	ATF_TP_ADD_TC(tp, quarantine);
	ATF_TP_ADD_TC(tp, given_up);
	ATF_TP_ADD_TC(tp, few);
	ATF_TP_ADD_TC(tp, ended);
	ATF_TP_ADD_TC(tp, engine_left);
	ATF_TP_ADD_TC(tp, resume_on_start);
	ATF_TP_ADD_TC(tp, removed);
	ATF_TP_ADD_TC(tp, strays);
	ATF_TP_ADD_TC(tp, strays_due);
	return (atf_no_error());
}
