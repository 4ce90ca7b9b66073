/*
 * What an exec has changed: who may ask for it, and the event that tells it.
 *
 * regress-srcs: ring.c
 */

#include <atf-c.h>
#include <string.h>

#include "gproto.h"
#include "ring.h"

static uint32_t		 sub;		/* who follows the events */

static uint64_t
up(uint32_t version)
{
	static char		 empty[] = "";
	struct proto_events	 e;
	uint64_t		 n;

	ring_make();
	ring_start();
	ring_engine(1);
	ring.guest = version;
	n = ring_ready(USER_SESSION, "web");
	memset(&e, 0, sizeof(e));
	e.sandbox = empty;
	e.follow = 1;
	e.credit = 1000;
	ATF_REQUIRE(strv_add(&e.types, "exec.changed") == 0);
	ATF_REQUIRE(strv_add(&e.types, "exec.ended") == 0);
	sub = ring_ask(ROOT_SESSION, PROTO_EVENTS, &e);
	strv_clear(&e.types);
	ring_quiet(&ring.frontend);
	return (n);
}

static void
begin(uint32_t flags)
{
	struct got	 g;

	ring_answered(ring_exec(USER_SESSION, "web", flags), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_get(&ring.runner, MSG_START, &g);
	ATF_CHECK_EQ(flags, g.m.start.flags);
	ring_done(&g);
}

static const char *
detail(const struct got *g, const char *key)
{
	const char	*v = kvv_get(&g->m.event.detail, key);

	return (v == NULL ? "none" : v);
}

static void
end(struct msg_ended *m, uint64_t n, uint64_t k)
{
	m->n = n;
	m->k = k;
	m->kind = END_EXITED;
	m->started = m->ended = 1;
	ring_send(&ring.runner, MSG_ENDED, 0, 0, 0, m);
	ring_skip(&ring.runner, MSG_FORGET);
}

static void
next(struct got *g, const char *type)
{
	ring_get(&ring.frontend, PROTO_EVENT, g);
	ATF_CHECK_STREQ(type, g->m.event.type);
}

ATF_TC_WITHOUT_HEAD(told);
ATF_TC_BODY(told, tc)
{
	static char		 list[] = "made a\012b\nremoved c\377";
	struct msg_ended	 m;
	struct got		 g;
	uint64_t		 n = up(GP_VERSION);

	(void)tc;
	begin(EXEC_CHANGES);
	memset(&m, 0, sizeof(m));
	m.changed = 1;
	m.made = 1;
	m.removed = 2;
	m.more = m.shared = 1;
	m.list = list;
	end(&m, n, 1);
	next(&g, "exec.changed");
	ATF_CHECK_STREQ("web.1", detail(&g, "exec"));
	ATF_CHECK_STREQ("1", detail(&g, "made"));
	ATF_CHECK_STREQ("0", detail(&g, "written"));
	ATF_CHECK_STREQ("2", detail(&g, "removed"));
	ATF_CHECK_STREQ("0", detail(&g, "renamed"));
	ATF_CHECK_STREQ("0", detail(&g, "altered"));
	ATF_CHECK_STREQ("1", detail(&g, "more"));
	ATF_CHECK_STREQ("1", detail(&g, "shared"));
	ATF_CHECK_STREQ("none", detail(&g, "denied"));
	ATF_CHECK_STREQ("none", detail(&g, "cause"));
	ATF_CHECK_STREQ(list, detail(&g, "list"));
	ring_done(&g);
	next(&g, "exec.ended");
	ring_done(&g);
	/* Nothing is known. */
	begin(EXEC_CHANGES);
	memset(&m, 0, sizeof(m));
	m.changed = m.denied = 1;
	strlcpy(m.why, "no room", sizeof(m.why));
	end(&m, n, 2);
	next(&g, "exec.changed");
	ATF_CHECK_STREQ("no room", detail(&g, "cause"));
	ATF_CHECK_STREQ("none", detail(&g, "made"));
	ATF_CHECK_STREQ("1", detail(&g, "denied"));
	ring_done(&g);
	next(&g, "exec.ended");
	ring_done(&g);
	/* Nobody has asked. */
	begin(0);
	memset(&m, 0, sizeof(m));
	end(&m, n, 3);
	next(&g, "exec.ended");
	ring_done(&g);
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(longest);
ATF_TC_BODY(longest, tc)
{
	static char		 list[CHANGES_LIST_MAX + 1];
	struct msg_ended	 m;
	struct got		 g;
	uint64_t		 n = up(GP_VERSION);

	(void)tc;
	begin(EXEC_CHANGES);
	memset(&m, 0, sizeof(m));
	m.changed = m.more = m.shared = m.denied = 1;
	m.made = m.written = m.removed = m.renamed = m.altered = INT64_MAX;
	memset(list, 'x', CHANGES_LIST_MAX);
	m.list = list;
	end(&m, n, 1);
	next(&g, "exec.changed");
	ATF_CHECK_STREQ(list, detail(&g, "list"));
	ATF_CHECK_STREQ("9223372036854775807", detail(&g, "altered"));
	ring_done(&g);
	next(&g, "exec.ended");
	ring_done(&g);
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(older);
ATF_TC_BODY(older, tc)
{
	struct got	 g;

	(void)tc;
	(void)up(GP_VERSION_CHANGES - 1);
	ring_answer(ring_exec(USER_SESSION, "web", EXEC_CHANGES), PROTO_ERROR,
	    &g);
	ATF_CHECK_STREQ("unsupported", g.m.error.code);
	ATF_CHECK_STREQ("flags", g.m.error.field);
	ATF_CHECK_MSG(strstr(g.m.error.text, "web cannot tell what a command "
	    "changes") != NULL, "%s", g.m.error.text);
	ring_done(&g);
	ring_quiet(&ring.runner);
	begin(0);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, told);
	ATF_TP_ADD_TC(tp, longest);
	ATF_TP_ADD_TC(tp, older);
	return (atf_no_error());
}
