/*
 * What is allowed and has no event of its own: each decision is told once, and
 * nobody fills the log with them, nor with calls that are one too many.
 *
 * regress-srcs: ring.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "ring.h"

#define MOST	1000	/* decisions of a user that are told one by one */

static uint32_t		 sub;		/* who follows them */
static char		 id[] = "web", empty[] = "";

static const char *
detail(const struct proto_event *e, const char *key)
{
	size_t	 i;

	for (i = 0; i < e->detail.n; i++)
		if (strcmp(e->detail.v[i].k, key) == 0)
			return (e->detail.v[i].v);
	return ("");
}

/* A ready sandbox, and root follows the decisions about it. */
static uint64_t
up(void)
{
	struct proto_events	 e;
	struct got		 g;
	uint64_t		 n;

	ring.allowed = 1;
	ring_make();
	ring_start();
	ring_engine(1);
	n = ring_ready(USER_SESSION, id);
	memset(&e, 0, sizeof(e));
	e.sandbox = empty;
	e.follow = 1;
	e.credit = 100000;
	ATF_REQUIRE(strv_add(&e.types, "audit.allowed") == 0);
	ATF_REQUIRE(strv_add(&e.types, "audit.refused") == 0);
	sub = ring_ask(ROOT_SESSION, PROTO_EVENTS, &e);
	strv_clear(&e.types);
	ring_answer(sub, PROTO_EVENT, &g);
	ATF_REQUIRE_STREQ("events", detail(&g.m.event, "what"));
	ring_done(&g);
	ring_quiet(&ring.frontend);
	return (n);
}

static uint32_t
ask(uint32_t op, uint64_t port)
{
	struct proto_call	 c;

	memset(&c, 0, sizeof(c));
	c.sandbox = id;
	c.op = op;
	c.flags = op == CALL_CONNECT ? CALL_F_STREAM : 0;
	c.path = op == CALL_CONNECT ? empty : id;
	c.path2 = c.pattern = c.filter = empty;
	c.count = port;
	return (ring_ask(USER_SESSION, PROTO_CALL, &c));
}

/* The runner gets it; its number there. */
static uint64_t
sent(void)
{
	struct got	 g;
	uint64_t	 op;

	ring_frame_any(&ring.runner, &g);
	ATF_REQUIRE_EQ(g.f.type, MSG_CALL);
	op = g.f.op;
	ring_done(&g);
	return (op);
}

/* The answer, and if what is not NULL the event, in either order. */
static void
told(uint32_t req, const char *what)
{
	struct got	 g;
	int		 over = 0;

	while (!over || what != NULL) {
		ring_frame_any(&ring.frontend, &g);
		if (g.f.req == sub) {
			ATF_REQUIRE_EQ(g.f.type, PROTO_EVENT);
			ATF_REQUIRE_MSG(what != NULL, "%s is told again",
			    detail(&g.m.event, "what"));
			ATF_CHECK_STREQ("audit.allowed", g.m.event.type);
			ATF_CHECK_STREQ(what, detail(&g.m.event, "what"));
			what = NULL;
		} else {
			ATF_REQUIRE_EQ(g.f.req, req);
			over = g.f.type == PROTO_END;
		}
		ring_done(&g);
	}
}

/* A call from its beginning to its end. */
static void
call(uint64_t n, uint32_t op, uint64_t port, const char *what)
{
	struct msg_call_done	 done;
	uint32_t		 req = ask(op, port);

	memset(&done, 0, sizeof(done));
	done.n = n;
	ring_send(&ring.runner, MSG_CALL_DONE, sent(), 0, 0, &done);
	told(req, what);
}

/*
 * They are written a moment later, in their order: what is told next shows
 * that none was under way.
 */
static void
no_more(void)
{
	told(ring_ask(ROOT_SESSION, PROTO_LOG_VERIFY, NULL), "log_verify");
	ring_quiet(&ring.frontend);
}

ATF_TC(once);
ATF_TC_HEAD(once, tc)
{
	atf_tc_set_md_var(tc, "descr", "a decision is told once");
}
ATF_TC_BODY(once, tc)
{
	uint64_t	 n = up();
	int		 i;

	for (i = 0; i < 50; i++)
		call(n, CALL_READ, 0, i == 0 ? "read" : NULL);
	for (i = 0; i < 50; i++)
		call(n, CALL_CONNECT, 80, i == 0 ? "connect:80" : NULL);
	for (i = 0; i < 50; i++)
		call(n, CALL_READ, 0, NULL);
	no_more();
	ring_stop();
}

ATF_TC(flood);
ATF_TC_HEAD(flood, tc)
{
	atf_tc_set_md_var(tc, "descr", "a user's many decisions are one");
	atf_tc_set_md_var(tc, "timeout", "600");
}
ATF_TC_BODY(flood, tc)
{
	uint64_t	 n = up();
	char		 what[32];
	int		 i;

	for (i = 1; i <= MOST; i++) {
		snprintf(what, sizeof(what), "connect:%d", i);
		call(n, CALL_CONNECT, (uint64_t)i, what);
	}
	for (; i <= MOST + 100; i++)
		call(n, CALL_CONNECT, (uint64_t)i,
		    i == MOST + 1 ? "others" : NULL);
	no_more();
	ring_stop();
}

/* The user's rights by two rules: calls on files, and ports. */
static void
two_rules(void)
{
	static const char	*const places[] = { "some.conf:1",
	    "some.conf:2" };
	struct msg_conf_place	 p;
	struct msg_session	 m;
	int			 i;

	ring_send(&ring.parent, MSG_CONF_BEGIN, 0, 0, 0, &ring.conf);
	for (i = 0; i < 2; i++) {
		memset(&p, 0, sizeof(p));
		strlcpy(p.place, places[i], sizeof(p.place));
		ring_send(&ring.parent, MSG_CONF_PLACE, 0, 0, 0, &p);
	}
	memset(&m, 0, sizeof(m));
	m.uid = USER_UID;
	m.own = RIGHTS_SANDBOX;
	for (i = 0; i < 2 * RIGHT_MAX; i++)
		ATF_REQUIRE(u64v_add(&m.by, i == RIGHT_FILES ? 1 :
		    i == RIGHT_EXEC ? 2 : 0) == 0);
	ring_session_as(USER_SESSION, MSG_SESSION_RIGHTS, &m);
	memset(&m, 0, sizeof(m));
	m.own = m.others = RIGHTS_ALL;
	ring_session_as(ROOT_SESSION, MSG_SESSION_RIGHTS, &m);
	m.uid = OTHER_UID;
	m.own = m.others = 0;
	ring_session_as(OTHER_SESSION, MSG_SESSION_RIGHTS, &m);
	ring_send(&ring.parent, MSG_CONF_END, 0, 0, 0, NULL);
	/* Both pipes are read in any order: after this one it is there. */
	ring_session(99, 0);
	ring_answered(ring_ask(99, PROTO_PING, NULL), PROTO_END);
}

ATF_TC(rules);
ATF_TC_HEAD(rules, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "one rule after the other does not fill the log either");
	atf_tc_set_md_var(tc, "timeout", "600");
}
ATF_TC_BODY(rules, tc)
{
	uint64_t	 n = up();
	char		 what[32];
	int		 i;

	two_rules();
	for (i = 1; i <= MOST; i++) {
		snprintf(what, sizeof(what), "connect:%d", i);
		call(n, CALL_CONNECT, (uint64_t)i, what);
	}
	/* What is one too many, by each of them in turn. */
	for (i = 0; i < 50; i++) {
		call(n, CALL_CONNECT, MOST + 1, i == 0 ? "others" : NULL);
		call(n, CALL_READ, 0, i == 0 ? "others" : NULL);
	}
	no_more();
	ring_stop();
}

ATF_TC(limit);
ATF_TC_HEAD(limit, tc)
{
	atf_tc_set_md_var(tc, "descr", "a call too many is refused, and told");
}
ATF_TC_BODY(limit, tc)
{
	struct got	 g;
	int		 i;

	(void)up();
	for (i = 0; i < CALLS_MAX_BOX; i++) {
		(void)ask(CALL_READ, 0);
		(void)sent();
	}
	ring_get(&ring.frontend, PROTO_EVENT, &g);
	ATF_CHECK_STREQ("audit.allowed", g.m.event.type);
	ring_done(&g);
	ring_refused(ask(CALL_WRITE, 0), CODE_LIMIT_EXCEEDED);
	ring_get(&ring.frontend, PROTO_EVENT, &g);
	ATF_CHECK_STREQ("audit.refused", g.m.event.type);
	ATF_CHECK_STREQ("write", detail(&g.m.event, "what"));
	ATF_CHECK_STREQ("limit_exceeded", detail(&g.m.event, "code"));
	ring_done(&g);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, flood);
	ATF_TP_ADD_TC(tp, limit);
	ATF_TP_ADD_TC(tp, once);
	ATF_TP_ADD_TC(tp, rules);
	return (atf_no_error());
}
