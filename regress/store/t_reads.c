/*
 * Who reads is told of once, if that was judged by a rule: what is one's own
 * to see takes none.  Nothing that is read is told of for being read.
 *
 * regress-srcs: ring.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

#define SECOND		21	/* one more session of the user */
#define THEIRS		"1234/web"

static uint32_t		 sub;		/* who follows the decisions */
static char		 empty[] = "";

/* What is asked, of what, and what is told of it: NULL: nothing. */
struct reads {
	uint64_t	 session;
	uint32_t	 type;
	const char	*of;
	const char	*what;
	const char	*on;
};

static const struct reads	 ended[] = {
	{ USER_SESSION, PROTO_PING, "", NULL, NULL },
	{ USER_SESSION, PROTO_STATUS, "", NULL, NULL },
	{ USER_SESSION, PROTO_RULES, "", NULL, NULL },
	{ USER_SESSION, PROTO_LIST, "", NULL, NULL },
	{ USER_SESSION, PROTO_SHOW, "web", NULL, NULL },
	{ USER_SESSION, PROTO_PS, "", NULL, NULL },
	{ USER_SESSION, PROTO_PS, "web", NULL, NULL },
	{ USER_SESSION, PROTO_WAIT_STATE, "web", NULL, NULL },
	{ USER_SESSION, PROTO_EVENTS, "web", "events", "web" },
	{ USER_SESSION, PROTO_EVENTS, "", "events", "" },
	{ USER_SESSION, PROTO_WAIT, "web.1", "wait", "web" },
	{ USER_SESSION, PROTO_LOGS, "web.1", "logs", "web" },
	{ USER_SESSION, PROTO_ATTACH, "web.1", "attach", "web" },
	{ OTHER_SESSION, PROTO_LIST, "", NULL, NULL },
	{ OTHER_SESSION, PROTO_PS, "", NULL, NULL },
	/* The follower was told of for it. */
	{ ROOT_SESSION, PROTO_EVENTS, "", NULL, NULL },
	{ ROOT_SESSION, PROTO_SHOW, THEIRS, "see", THEIRS },
	{ ROOT_SESSION, PROTO_PS, THEIRS, NULL, NULL },
	{ ROOT_SESSION, PROTO_WAIT_STATE, THEIRS, NULL, NULL },
	{ ROOT_SESSION, PROTO_LIST, "", "see", "" },
	{ ROOT_SESSION, PROTO_PS, "", NULL, NULL },
	{ ROOT_SESSION, PROTO_LOGS, THEIRS ".1", "logs", THEIRS },
	{ ROOT_SESSION, PROTO_EVENTS, THEIRS, "events", THEIRS },
	{ ROOT_SESSION, PROTO_LOG_VERIFY, "", "log_verify", "" },
	{ ROOT_SESSION, PROTO_LOG_DUMP, "", "log_dump", "" },
};

static const char *
detail(const struct proto_event *e, const char *key)
{
	size_t	 i;

	for (i = 0; i < e->detail.n; i++)
		if (strcmp(e->detail.v[i].k, key) == 0)
			return (e->detail.v[i].v);
	return ("");
}

/* One event of the follower, as it must be. */
static void
told(const struct got *g, const struct reads *r)
{
	const struct proto_event	*e = &g->m.event;

	ATF_REQUIRE_EQ(g->f.type, PROTO_EVENT);
	ATF_CHECK_STREQ(r->what, detail(e, "what"));
	ATF_CHECK_STREQ(r->on, detail(e, "on"));
	ATF_CHECK_STREQ(r->session == ROOT_SESSION ? "root" : "default",
	    detail(e, "rule"));
	ATF_CHECK_STREQ("", detail(e, "more"));
}

/* All of the answer, and what is told of it if that is due. */
static void
answered(uint32_t req, const struct reads *r, int due)
{
	struct got	 g;
	int		 over = 0;

	while (!over || due) {
		ring_frame_any(&ring.frontend, &g);
		if (g.f.req == sub) {
			ATF_REQUIRE_MSG(due, "%s on %s is told",
			    detail(&g.m.event, "what"),
			    detail(&g.m.event, "on"));
			told(&g, r);
			due = 0;
		} else {
			ATF_REQUIRE_EQ(g.f.req, req);
			ATF_REQUIRE_MSG(g.f.type != PROTO_ERROR, "%s",
			    g.m.error.text);
			over = g.f.type == PROTO_END;
		}
		ring_done(&g);
	}
}

static uint32_t
asked(const struct reads *r)
{
	union {
		struct proto_ref	 ref;
		struct proto_list	 list;
		struct proto_ps		 ps;
		struct proto_attach	 attach;
		struct proto_wait	 wait;
		struct proto_wait_state	 state;
		struct proto_events	 events;
		struct proto_log_verify	 verify;
	}		 m;
	char		 of[64];
	uint32_t	 req;

	memset(&m, 0, sizeof(m));
	strlcpy(of, r->of, sizeof(of));
	switch (r->type) {
	case PROTO_SHOW:
		m.ref.id = of;
		break;
	case PROTO_PS:
		m.ps.sandbox = of;
		m.ps.all = 1;
		break;
	case PROTO_WAIT:
		m.wait.exec = of;
		break;
	case PROTO_LOGS:
	case PROTO_ATTACH:
		m.attach.exec = of;
		m.attach.streams = 1 << 1;
		break;
	case PROTO_EVENTS:
		m.events.sandbox = of;
		break;
	case PROTO_WAIT_STATE:
		m.state.id = of;
		m.state.from = 1;
		ATF_REQUIRE(strv_add(&m.state.states, "ready") == 0);
		break;
	}
	req = ring_ask(r->session, r->type, &m);
	if (r->type == PROTO_WAIT_STATE)
		strv_clear(&m.state.states);
	return (req);
}

static void
up(void)
{
	static const struct reads	 first = {
		ROOT_SESSION, PROTO_EVENTS, "", "events", ""
	};
	struct proto_events		 e;
	struct got			 g;

	ring.allowed = 1;
	ring_make();
	ring_start();
	ring_engine(1);
	ring_ready(USER_SESSION, "web");
	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	memset(&e, 0, sizeof(e));
	e.sandbox = empty;
	e.follow = 1;
	e.credit = 100000;
	ATF_REQUIRE(strv_add(&e.types, "audit") == 0);
	/* What was before it is none of it. */
	e.from = 5;
	sub = ring_ask(ROOT_SESSION, PROTO_EVENTS, &e);
	strv_clear(&e.types);
	ring_answer(sub, PROTO_EVENT, &g);
	told(&g, &first);
	ring_done(&g);
}

ATF_TC(once);
ATF_TC_HEAD(once, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "what was read by a rule is told once, and what by none never");
}
ATF_TC_BODY(once, tc)
{
	size_t	 i;
	int	 again;

	up();
	ring_ended(1, 1, END_EXITED, 0);
	ring_skip(&ring.runner, MSG_FORGET);
	/*
	 * Events come in the order of what they tell of: each that is due
	 * shows as well that none was before it.
	 */
	for (i = 0; i < sizeof(ended) / sizeof(ended[0]); i++)
		for (again = 0; again < 2; again++) {
			answered(asked(&ended[i]), &ended[i], !again &&
			    ended[i].what != NULL);
			if (ended[i].type == PROTO_LOGS ||
			    ended[i].type == PROTO_ATTACH)
				ring_skip(&ring.runner, MSG_READ);
		}
	ring_quiet(&ring.frontend);
	ring_stop();
}

ATF_TC(live);
ATF_TC_HEAD(live, tc)
{
	atf_tc_set_md_var(tc, "descr", "who takes part in what runs, and who "
	    "asks for what protects the host, is told of");
}
ATF_TC_BODY(live, tc)
{
	static struct reads	 r = { ROOT_SESSION, 0, "", NULL, "" };
	struct proto_input_end	 end;
	struct proto_attach	 m;
	struct got		 g;
	char			 exec[] = THEIRS ".1", own[] = "web.1";

	up();
	(void)ring_ask(ROOT_SESSION, PROTO_DOCTOR, NULL);
	ring_skip(&ring.parent, MSG_DOCTOR);
	ring_get(&ring.frontend, PROTO_EVENT, &g);
	r.what = "doctor";
	told(&g, &r);
	ring_done(&g);
	/* Its own session has said so when it began. */
	memset(&end, 0, sizeof(end));
	end.exec = own;
	answered(ring_ask(USER_SESSION, PROTO_INPUT_END, &end), &r, 0);
	ring_skip(&ring.runner, MSG_INPUT_FINISH);
	ring_session(SECOND, USER_UID);
	r.session = SECOND;
	r.what = "input_end";
	r.on = "web";
	answered(ring_ask(SECOND, PROTO_INPUT_END, &end), &r, 1);
	ring_skip(&ring.runner, MSG_INPUT_FINISH);
	memset(&m, 0, sizeof(m));
	m.exec = exec;
	m.streams = 1 << 1;
	(void)ring_ask(ROOT_SESSION, PROTO_ATTACH, &m);
	ring_skip(&ring.runner, MSG_REATTACH);
	ring_get(&ring.frontend, PROTO_EVENT, &g);
	r.session = ROOT_SESSION;
	r.what = "attach";
	r.on = THEIRS;
	told(&g, &r);
	ring_done(&g);
	m.streams = 1 << 0;
	(void)ring_ask(ROOT_SESSION, PROTO_ATTACH, &m);
	ring_skip(&ring.runner, MSG_REATTACH);
	ring_get(&ring.frontend, PROTO_EVENT, &g);
	r.what = "input";
	told(&g, &r);
	ring_done(&g);
	ring_stop();
}

ATF_TC(failed);
ATF_TC_HEAD(failed, tc)
{
	atf_tc_set_md_var(tc, "descr", "who was allowed to do what then failed "
	    "is told of, and who executes another daemon");
}
ATF_TC_BODY(failed, tc)
{
	static struct reads	 r = { ROOT_SESSION, 0, "", NULL, "" };
	struct proto_image_import import;
	struct proto_reload	 execute = { 1 };
	struct msg_box_failed	 not;
	struct msg_result	 bad;
	struct got		 g;
	uint32_t		 req;

	up();
	memset(&import, 0, sizeof(import));
	strlcpy(import.name, "x", sizeof(import.name));
	req = ring_ask(ROOT_SESSION, PROTO_IMAGE_IMPORT, &import);
	ring_skip(&ring.broker, MSG_IMPORT);
	memset(&not, 0, sizeof(not));
	not.code = CODE_ENGINE_ERROR;
	strlcpy(not.text, "for the test", sizeof(not.text));
	ring_send(&ring.broker, MSG_IMPORT_FAILED, 0, ROOT_SESSION, req,
	    &not);
	ring_refused(req, CODE_ENGINE_ERROR);
	ring_get(&ring.frontend, PROTO_EVENT, &g);
	r.what = "import";
	told(&g, &r);
	ring_done(&g);
	req = ring_ask(ROOT_SESSION, PROTO_RELOAD, NULL);
	ring_skip(&ring.parent, MSG_RELOAD);
	memset(&bad, 0, sizeof(bad));
	bad.code = CODE_INVALID_ARGUMENT;
	strlcpy(bad.text, "for the test", sizeof(bad.text));
	ring_send(&ring.parent, MSG_RELOAD_DONE, 0, ROOT_SESSION, req, &bad);
	ring_refused(req, CODE_INVALID_ARGUMENT);
	ring_get(&ring.frontend, PROTO_EVENT, &g);
	r.what = "reload";
	told(&g, &r);
	ring_done(&g);
	(void)ring_ask(ROOT_SESSION, PROTO_RELOAD, &execute);
	ring_skip(&ring.parent, MSG_RELOAD);
	ring_get(&ring.frontend, PROTO_EVENT, &g);
	r.what = "upgrade";
	told(&g, &r);
	ring_done(&g);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, failed);
	ATF_TP_ADD_TC(tp, live);
	ATF_TP_ADD_TC(tp, once);
	return (atf_no_error());
}
