/*
 * Companions: each is a sandbox of its own, and its lifetime ends with the
 * other sandbox, whatever happens in between.
 *
 * regress-srcs: ring.c watch.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

static uint32_t
ask_of(uint64_t session, const char *id, const char *of)
{
	struct proto_create	 m;
	char			 none[1] = "";

	memset(&m, 0, sizeof(m));
	strlcpy(m.id, id, sizeof(m.id));
	strlcpy(m.companion_of, of, sizeof(m.companion_of));
	m.workdir = none;
	m.wait = 1;
	return (ring_ask(session, PROTO_CREATE, &m));
}

/* Made and ready: its number. */
static uint64_t
companion(const char *id, const char *of)
{
	return (watch_ready(ask_of(USER_SESSION, id, of)));
}

/* More time is no way out of it. */
static void
extended(const char *id)
{
	struct proto_extend	 m;
	char			 name[16];
	uint32_t		 req;

	memset(&m, 0, sizeof(m));
	strlcpy(name, id, sizeof(name));
	m.id = name;
	m.time = 3600000;
	req = ring_ask(USER_SESSION, PROTO_EXTEND, &m);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
}

static void
shown_of(const char *id, const char *of)
{
	struct got	 g;

	watch_show(id, &g);
	ATF_CHECK_STREQ(of, g.m.sandbox.companion_of);
	ring_done(&g);
}

ATF_TC_WITHOUT_HEAD(ends);
ATF_TC_BODY(ends, tc)
{
	uint64_t	 web, db, next;

	(void)tc;
	ring_up();
	web = ring_ready(USER_SESSION, "web");
	db = companion("db", "web");
	next = companion("next", "db");
	(void)ring_ready(USER_SESSION, "api");
	shown_of("db", "web");
	shown_of("web", "");
	/* That one stops, and goes on, is nothing to the other. */
	watch_ask(PROTO_STOP, "web");
	watch_stop(web);
	watch_cause("web", "stopped", "");
	ring_state(USER_SESSION, "db", "ready");
	ring_quiet(&ring.runner);
	watch_ask(PROTO_DELETE, "web");
	ring_removed(web);
	watch_stop(db);
	ring_removed(db);
	watch_cause("db", "deleted", "the sandbox whose companion it was");
	shown_of("db", "web");
	/* And so on, to whose companion that was. */
	watch_stop(next);
	ring_removed(next);
	watch_cause("next", "deleted", "the sandbox whose companion it was");
	ring_state(USER_SESSION, "api", "ready");
	ring_quiet(&ring.runner);
	ring_stop();
}

/* Of its own end the other hears nothing; nor do those of other users. */
ATF_TC_WITHOUT_HEAD(alone);
ATF_TC_BODY(alone, tc)
{
	uint64_t	 web, db;

	(void)tc;
	ring_up();
	web = ring_ready(OTHER_SESSION, "web");
	(void)ring_ready(USER_SESSION, "web");
	db = companion("db", "web");
	(void)ring_ref(OTHER_SESSION, PROTO_DELETE, "web", 0);
	ring_answered(ring.req, PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_removed(web);
	ring_quiet(&ring.runner);
	ring_state(USER_SESSION, "db", "ready");
	watch_ask(PROTO_DELETE, "db");
	ring_removed(db);
	watch_cause("db", "deleted", "");
	ring_state(USER_SESSION, "web", "ready");
	ring_quiet(&ring.runner);
	ring_stop();
}

/* One that is not ready yet becomes so first, and ends then. */
ATF_TC_WITHOUT_HEAD(pending);
ATF_TC_BODY(pending, tc)
{
	struct got	 g;
	uint64_t	 web, db, op;
	uint32_t	 req;

	(void)tc;
	ring_up();
	web = ring_ready(USER_SESSION, "web");
	req = ask_of(USER_SESSION, "db", "web");
	ring_answered(req, PROTO_ACCEPTED);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	db = g.m.work.n;
	op = g.f.op;
	ring_done(&g);
	watch_ask(PROTO_DELETE, "web");
	ring_removed(web);
	watch_cause("web", "deleted", "");
	ring_state(USER_SESSION, "db", "pending");
	ring_make_ready(db, op, MSG_BOX_CREATE, NULL);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
	watch_stop(db);
	ring_removed(db);
	watch_cause("db", "deleted", "the sandbox whose companion it was");
	ring_stop();
}

/*
 * What cannot be done now is done later: the Engine has gone when the other's
 * end is written, and the store is killed before it is back.
 */
ATF_TC_WITHOUT_HEAD(killed);
ATF_TC_BODY(killed, tc)
{
	struct msg_work_done	 done;
	struct got		 g;
	uint64_t		 web, db, op;
	int			 i;

	(void)tc;
	ring_up();
	web = ring_ready(USER_SESSION, "web");
	db = companion("db", "web");
	watch_ask(PROTO_STOP, "db");
	watch_stop(db);
	watch_cause("db", "stopped", "");
	watch_ask(PROTO_DELETE, "web");
	op = ring_ordered(MSG_BOX_REMOVE);
	ring_outcome(MSG_BOX_REMOVED, op, web);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	ring_get(&ring.parent, MSG_WORK_REMOVE, &g);
	op = g.f.op;
	ring_done(&g);
	ring_engine(0);
	memset(&done, 0, sizeof(done));
	done.n = web;
	ring_send(&ring.parent, MSG_WORK_DONE, op, 0, 0, &done);
	watch_cause("web", "deleted", "");
	for (i = 0; i < 2; i++) {
		extended("db");
		watch_show("db", &g);
		ATF_CHECK_STREQ("stopped", g.m.sandbox.state);
		ATF_CHECK_STREQ("delete", g.m.sandbox.next);
		ATF_CHECK_STREQ("lifetime", g.m.sandbox.next_by);
		/* The log's clock goes on where it was seen last. */
		ATF_CHECK(g.m.sandbox.next_in < 60000);
		ring_done(&g);
		if (i == 0) {
			ring_kill();
			ring_start();
		}
	}
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	char		 name[16];
	uint64_t	 n;
	u_int		 i;

	(void)tc;
	ring_up();
	(void)ring_ready(USER_SESSION, "web");
	n = ring_ready(USER_SESSION, "old");
	(void)ring_ready(OTHER_SESSION, "theirs");
	ring_refused(ask_of(USER_SESSION, "db", "nobody"), CODE_NOT_FOUND);
	ring_refused(ask_of(USER_SESSION, "db", "theirs"), CODE_NOT_FOUND);
	ring_refused(ask_of(ROOT_SESSION, "db", "theirs"), CODE_NOT_FOUND);
	ring_refused(ask_of(USER_SESSION, "db", "db"), CODE_INVALID_ARGUMENT);
	ring_refused(ask_of(USER_SESSION, "db", "a b"), CODE_INVALID_ARGUMENT);
	watch_ask(PROTO_DELETE, "old");
	ring_refused(ask_of(USER_SESSION, "db", "old"), CODE_WRONG_STATE);
	ring_removed(n);
	watch_cause("old", "deleted", "");
	ring_refused(ask_of(USER_SESSION, "db", "old"), CODE_NOT_FOUND);
	for (i = 0; i < SBX_COMPANIONS_MAX; i++) {
		snprintf(name, sizeof(name), "db%u", i);
		n = companion(name, "web");
	}
	ring_refused(ask_of(USER_SESSION, "db", "web"), CODE_LIMIT_EXCEEDED);
	/* A place is free when one is gone. */
	watch_ask(PROTO_DELETE, name);
	ring_removed(n);
	watch_cause(name, "deleted", "");
	(void)companion("db", "web");
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, ends);
	ATF_TP_ADD_TC(tp, alone);
	ATF_TP_ADD_TC(tp, pending);
	ATF_TP_ADD_TC(tp, killed);
	ATF_TP_ADD_TC(tp, refused);
	return (atf_no_error());
}
