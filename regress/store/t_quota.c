/*
 * Limits: what is refused past them, with which text, and that what is in use
 * is right after each way in which it can end, and after a restart.
 *
 * regress-srcs: ring.c watch.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"
#include "watch.h"

#define ME		21	/* a session with limits, and its user */
#define ME_UID		1500
#define MINE		"user 1500"
#define GIB		(1ULL << 30)

static struct bound	 bounds[LIMIT_MAX];

static void
me(uint64_t session)
{
	struct msg_session	 m;

	memset(&m, 0, sizeof(m));
	m.uid = m.gid = ME_UID;
	m.own = RIGHTS_SANDBOX;
	ATF_REQUIRE(bounds_pack(&m.bounds, bounds) == 0);
	ring_session_as(session, MSG_SESSION_OPEN, &m);
	u64v_clear(&m.bounds);
}

static void
up(void)
{
	ring_start();
	me(ME);
	ring_engine(1);
}

/* The request is refused with that text. */
static void
over(uint32_t req, const char *text)
{
	struct got	 g;

	ring_answer(req, PROTO_ERROR, &g);
	ATF_REQUIRE_STREQ("limit_exceeded", g.m.error.code);
	ATF_REQUIRE_MSG(strncmp(g.m.error.text, text, strlen(text)) == 0,
	    "%s, not %s", g.m.error.text, text);
	ring_done(&g);
}

/* What the user has in use, as the daemon says. */
static void
must_use(enum limit l, uint64_t n)
{
	struct got	 g;
	uint32_t	 req;
	int		 i;

	req = ring_ask(ME, PROTO_RULES, NULL);
	for (i = 0; i < RIGHT_MAX + 5; i++)
		ring_answered(req, PROTO_RIGHT);
	for (i = 0; i < LIMIT_MAX; i++) {
		ring_answer(req, PROTO_LIMIT, &g);
		ATF_REQUIRE_STREQ(limit_name(i), g.m.limit.name);
		ATF_REQUIRE_STREQ("user", g.m.limit.of);
		ATF_REQUIRE_EQ(bounds[i].most, g.m.limit.most);
		if (i == (int)l)
			ATF_REQUIRE_EQ_MSG(n, g.m.limit.used, "%s: %llu in "
			    "use", g.m.limit.name,
			    (unsigned long long)g.m.limit.used);
		ring_done(&g);
	}
	ring_answered(req, PROTO_END);
}

static void
must_all(uint64_t boxes, uint64_t running)
{
	must_use(LIMIT_SANDBOXES, boxes);
	must_use(LIMIT_MEMORY, running * GIB);
	must_use(LIMIT_CPUS, running * 1000);
	must_use(LIMIT_PIDS, running * 100);
}

static uint32_t
create(uint64_t session, const char *id, const char *key)
{
	struct proto_create	 m;
	uint32_t		 req;

	memset(&m, 0, sizeof(m));
	strlcpy(m.id, id, sizeof(m.id));
	strlcpy(m.key, key, sizeof(m.key));
	m.workdir = strdup("");
	req = ring_ask(session, PROTO_CREATE, &m);
	free(m.workdir);
	return (req);
}

/* The siblings' part of a delete, up to its end. */
static void
delete(uint64_t n, const char *id)
{
	uint32_t	 req = ring_ref(ME, PROTO_DELETE, id, 1);

	ring_answered(req, PROTO_ACCEPTED);
	ring_removed(n);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
}

static void
stop(uint64_t n, const char *id)
{
	uint32_t	 req = ring_ref(ME, PROTO_STOP, id, 1);

	ring_answered(req, PROTO_ACCEPTED);
	watch_stop(n);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
}

ATF_TC_WITHOUT_HEAD(sandboxes);
ATF_TC_BODY(sandboxes, tc)
{
	uint64_t	 n;

	(void)tc;
	ring_make();
	bounds[LIMIT_SANDBOXES].most = 2;
	up();
	must_all(0, 0);
	n = ring_ready(ME, "one");
	ring_ready(ME, "two");
	over(create(ME, "three", ""), "sandboxes: limit 2 for " MINE ", 2 in "
	    "use");
	must_all(2, 2);
	/* Others are not bound by it. */
	ring_ready(USER_SESSION, "three");
	delete(n, "one");
	must_all(1, 1);
	ring_ready(ME, "three");
	ring_kill();
	/* What is in use is what there is, not what was counted. */
	ring_start();
	me(ME);
	must_use(LIMIT_SANDBOXES, 2);
	ring_kill();
}

ATF_TC(parallel);
ATF_TC_HEAD(parallel, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(aL3) of 200 creates at once as many as may be, also after a kill");
}
ATF_TC_BODY(parallel, tc)
{
	struct got	 g;
	char		 id[16];
	int		 i, made = 0, refused = 0, round;

	(void)tc;
	ring_make();
	ring.conf.max_sandboxes = 100;
	bounds[LIMIT_SANDBOXES].most = 20;
	up();
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 200; i++) {
			snprintf(id, sizeof(id), "b%d-%d", round, i);
			create(ME, id, "");
		}
		for (i = 0; i < 200; i++) {
			ring_frame_any(&ring.frontend, &g);
			if (g.f.type == PROTO_ACCEPTED) {
				made++;
				ring_done(&g);
				ring_skip(&ring.frontend, PROTO_END);
				ring_skip(&ring.parent, MSG_WORK_MAKE);
				continue;
			}
			ATF_REQUIRE_EQ(PROTO_ERROR, g.f.type);
			ATF_REQUIRE_STREQ("sandboxes: limit 20 for " MINE
			    ", 20 in use", g.m.error.text);
			ring_done(&g);
			refused++;
		}
		ATF_REQUIRE_EQ(20, made);
		ATF_REQUIRE_EQ(180 + round * 200, refused);
		must_use(LIMIT_SANDBOXES, 20);
		if (round == 1)
			break;
		ring_kill();
		ring_start();
		me(ME);
		ring_engine(1);
		for (i = 0; i < 20; i++)
			ring_skip(&ring.parent, MSG_WORK_MAKE);
	}
	ring_kill();
}

ATF_TC_WITHOUT_HEAD(sums);
ATF_TC_BODY(sums, tc)
{
	struct got	 g;
	uint64_t	 one, three, op;
	uint32_t	 req;

	(void)tc;
	ring_make();
	bounds[LIMIT_MEMORY].most = 2 * GIB;
	bounds[LIMIT_CPUS].most = 2500;
	bounds[LIMIT_PIDS].most = 250;
	up();
	one = ring_ready(ME, "one");
	ring_ready(ME, "two");
	over(create(ME, "three", ""), "memory: limit 2147483648 for " MINE
	    ", 2147483648 in use");
	/* What is stopped is free for another, and needs it to go on. */
	stop(one, "one");
	must_all(2, 1);
	three = ring_ready(ME, "three");
	must_all(3, 2);
	over(ring_ref(ME, PROTO_RESUME, "one", 1), "memory: limit 2147483648 "
	    "for " MINE ", 2147483648 in use");
	delete(three, "three");
	must_all(2, 1);
	req = ring_ref(ME, PROTO_RESUME, "one", 1);
	ring_answered(req, PROTO_ACCEPTED);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	op = g.f.op;
	ring_done(&g);
	must_all(2, 2);
	ring_make_ready(one, op, MSG_BOX_START, NULL);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
	must_all(2, 2);
	ring_kill();
	ring_start();
	me(ME);
	must_all(2, 2);
	ring_kill();
}

/* The other sums are checked as the first one, and those of all. */
ATF_TC_WITHOUT_HEAD(each_sum);
ATF_TC_BODY(each_sum, tc)
{
	static struct bound	 all[LIMIT_MAX];

	(void)tc;
	ring_make();
	bounds[LIMIT_CPUS].most = 1999;
	all[LIMIT_PIDS].most = 250;
	ATF_REQUIRE(bounds_pack(&ring.conf.all, all) == 0);
	up();
	ring_ready(ME, "one");
	over(create(ME, "two", ""), "cpus: limit 1.999 for " MINE ", 1.000 in "
	    "use");
	ring_ready(USER_SESSION, "one");
	over(create(USER_SESSION, "two", ""), "pids: limit 250 in all, 200 in "
	    "use");
	over(create(ROOT_SESSION, "two", ""), "pids: limit 250 in all, 200 in "
	    "use");
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(errors);
ATF_TC_BODY(errors, tc)
{
	struct msg_work_done	 done;
	uint64_t		 n, op;
	uint32_t		 req, del;

	(void)tc;
	ring_make();
	bounds[LIMIT_SANDBOXES].most = 1;
	bounds[LIMIT_MEMORY].most = GIB;
	up();
	/* One that fails has nothing once it is cleaned up. */
	n = ring_create(ME, "web", &op);
	req = ring.req;
	must_all(1, 1);
	memset(&done, 0, sizeof(done));
	done.n = n;
	done.code = CODE_INTERNAL;
	strlcpy(done.text, "for the test", sizeof(done.text));
	ring_send(&ring.parent, MSG_WORK_DONE, op, 0, 0, &done);
	ring_refused(req, CODE_INTERNAL);
	ring_removed(n);
	/* That it is clean is written with the next commit. */
	ring_ready(OTHER_SESSION, "x");
	must_all(1, 0);
	over(create(ME, "other", ""), "sandboxes: limit 1 for " MINE);
	delete(n, "web");
	must_all(0, 0);
	/* Deleted before it was there. */
	n = ring_create(ME, "other", &op);
	req = ring.req;
	del = ring_ref(ME, PROTO_DELETE, "other", 1);
	ring_refused(req, CODE_CONFLICT);
	ring_answered(del, PROTO_ACCEPTED);
	memset(&done, 0, sizeof(done));
	done.n = n;
	ring_send(&ring.parent, MSG_WORK_DONE, op, 0, 0, &done);
	ring_removed(n);
	ring_answered(del, PROTO_SANDBOX);
	ring_answered(del, PROTO_END);
	must_all(0, 0);
	/* Refused for another reason. */
	ring_ready(USER_SESSION, "x");
	ring_refused(ring_ref(ME, PROTO_RESUME, "nosuch", 0), CODE_NOT_FOUND);
	must_all(0, 0);
	ring_ready(ME, "web2");
	must_all(1, 1);
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(each);
ATF_TC_BODY(each, tc)
{
	struct proto_create	 m;
	struct got		 g;
	uint32_t		 req;

	(void)tc;
	ring_make();
	bounds[LIMIT_MEMORY_EACH].most = GIB / 2;
	bounds[LIMIT_PIDS_EACH].most = 4000;
	up();
	memset(&m, 0, sizeof(m));
	m.workdir = strdup("");
	m.memory = GIB / 2 + 1;
	over(ring_ask(ME, PROTO_CREATE, &m), "invalid memory: 536870913: the "
	    "limit is 536870912");
	m.memory = 0;
	strlcpy(m.id, "web", sizeof(m.id));
	ring_answered(ring_ask(ME, PROTO_CREATE, &m), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	free(m.workdir);
	/* The default is no more than that, and as it is where it is less. */
	req = ring_ref(ME, PROTO_SHOW, "web", 0);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_EQ(GIB / 2, g.m.sandbox.memory);
	ATF_REQUIRE_EQ(100, g.m.sandbox.pids);
	ring_done(&g);
	ring_answered(req, PROTO_END);
	ring_kill();
}

ATF_TC_WITHOUT_HEAD(execs);
ATF_TC_BODY(execs, tc)
{
	struct msg_not_started	 no;
	uint64_t		 n;

	(void)tc;
	ring_make();
	bounds[LIMIT_EXECS].most = 1;
	up();
	n = ring_ready(ME, "web");
	ring_answered(ring_exec(ME, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	over(ring_exec(ME, "web", 0), "execs: limit 1 for " MINE ", 1 in use");
	/* What somebody else runs there counts, and is not refused. */
	ring_answered(ring_exec(ROOT_SESSION, "1500/web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	must_use(LIMIT_EXECS, 2);
	ring_ended(n, 1, END_EXITED, 0);
	ring_skip(&ring.runner, MSG_FORGET);
	over(ring_exec(ME, "web", 0), "execs: limit 1 for " MINE ", 1 in use");
	memset(&no, 0, sizeof(no));
	no.n = n;
	no.k = 2;
	ring_send(&ring.runner, MSG_NOT_STARTED, 0, 0, 0, &no);
	ring_skip(&ring.runner, MSG_FORGET);
	must_use(LIMIT_EXECS, 0);
	ring_answered(ring_exec(ME, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_kill();
	ring_start();
	me(ME);
	must_use(LIMIT_EXECS, 1);
	ring_kill();
}

ATF_TC_WITHOUT_HEAD(rates);
ATF_TC_BODY(rates, tc)
{
	uint64_t	 n;
	int		 i;

	(void)tc;
	ring_make();
	bounds[LIMIT_CREATES].most = 2;
	bounds[LIMIT_CREATES].per = 86400000;
	up();
	ring_answered(create(ME, "one", "key"), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	/* The same once more makes none. */
	for (i = 0; i < 3; i++) {
		ring_answered(create(ME, "one", "key"), PROTO_ACCEPTED);
		ring_answered(ring.req, PROTO_END);
	}
	/* Nor does one that is refused, by whatever. */
	ring_refused(create(ME, "one", ""), CODE_ALREADY_EXISTS);
	ring_answered(create(ME, "two", ""), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	over(create(ME, "three", ""), "creates: limit 2 per 86400s for " MINE
	    ", the next in ");
	/* It is the user's, in all his sessions, and nobody else's. */
	me(ME + 1);
	over(create(ME + 1, "three", ""), "creates: limit 2 per 86400s");
	ring_session_over(ME);
	ring_session_over(ME + 1);
	me(ME);
	over(create(ME, "three", ""), "creates: limit 2 per 86400s");
	ring_answered(create(USER_SESSION, "one", ""), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_kill();

	memset(bounds, 0, sizeof(bounds));
	bounds[LIMIT_REQUESTS].most = 3;
	bounds[LIMIT_REQUESTS].per = 86400000;
	ring_make();
	up();
	n = ring_ready(ME, "web");
	for (i = 0; i < 2; i++)
		ring_answered(ring_ask(ME, PROTO_PING, NULL), PROTO_END);
	over(ring_ask(ME, PROTO_PING, NULL), "requests: limit 3 per 86400s "
	    "for " MINE);
	over(ring_ref(ME, PROTO_SHOW, "web", 0), "requests: limit 3");
	/* What ends something goes on. */
	delete(n, "web");
	ring_answered(ring_ask(USER_SESSION, PROTO_PING, NULL), PROTO_END);
	ring_stop();
}

static uint32_t
subscribe(uint64_t session, int follow)
{
	struct proto_events	 m;
	uint32_t		 req;

	memset(&m, 0, sizeof(m));
	m.sandbox = strdup("");
	m.follow = follow;
	req = ring_ask(session, PROTO_EVENTS, &m);
	free(m.sandbox);
	return (req);
}

ATF_TC_WITHOUT_HEAD(subscriptions);
ATF_TC_BODY(subscriptions, tc)
{
	static struct bound	 all[LIMIT_MAX];

	(void)tc;
	ring_make();
	bounds[LIMIT_SUBSCRIPTIONS].most = 2;
	all[LIMIT_SUBSCRIPTIONS].most = 3;
	ATF_REQUIRE(bounds_pack(&ring.conf.all, all) == 0);
	up();
	me(ME + 1);
	subscribe(ME, 1);
	subscribe(ME + 1, 1);
	over(subscribe(ME, 1), "subscriptions: limit 2 for " MINE ", 2 in "
	    "use");
	must_use(LIMIT_SUBSCRIPTIONS, 2);
	subscribe(USER_SESSION, 1);
	over(subscribe(OTHER_SESSION, 0), "subscriptions: limit 3 in all, 3 "
	    "in use");
	/* Who goes gives it back, and so does one that has come to its end. */
	ring_session_over(ME + 1);
	must_use(LIMIT_SUBSCRIPTIONS, 1);
	ring_answered(subscribe(ME, 0), PROTO_END);
	must_use(LIMIT_SUBSCRIPTIONS, 1);
	subscribe(ME, 1);
	must_use(LIMIT_SUBSCRIPTIONS, 2);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, sandboxes);
	ATF_TP_ADD_TC(tp, parallel);
	ATF_TP_ADD_TC(tp, sums);
	ATF_TP_ADD_TC(tp, each_sum);
	ATF_TP_ADD_TC(tp, errors);
	ATF_TP_ADD_TC(tp, each);
	ATF_TP_ADD_TC(tp, execs);
	ATF_TP_ADD_TC(tp, rates);
	ATF_TP_ADD_TC(tp, subscriptions);
	return (atf_no_error());
}
