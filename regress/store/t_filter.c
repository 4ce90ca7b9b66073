/*
 * What a subscription is about and where it begins: labels, types, the state
 * first, heartbeats, its end, and what is not there yet or not any more.
 *
 * regress-srcs: ring.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eventlog.h"
#include "ring.h"

static struct proto_events	 ask;
static char			 name[64];

/* A request that is asked by asked(), to be changed before. */
static struct proto_events *
want(const char *sandbox, uint64_t from)
{
	memset(&ask, 0, sizeof(ask));
	strlcpy(name, sandbox, sizeof(name));
	ask.sandbox = name;
	ask.from = from;
	ask.follow = 1;
	ask.credit = 100;
	return (&ask);
}

static uint32_t
asked(uint64_t session)
{
	uint32_t	 req = ring_ask(session, PROTO_EVENTS, &ask);

	kvv_clear(&ask.labels);
	strv_clear(&ask.types);
	return (req);
}

static void
label(const char *key, const char *val)
{
	ATF_REQUIRE(kvv_add(&ask.labels, key, val) == 0);
}

/* Up to ready, with a label or two. */
static uint64_t
labelled(uint64_t session, const char *id, const char *val, const char *val2)
{
	struct proto_create	 m;
	struct got		 g;
	uint64_t		 n, op;
	uint32_t		 req;

	memset(&m, 0, sizeof(m));
	strlcpy(m.id, id, sizeof(m.id));
	m.workdir = strdup("");
	m.wait = 1;
	ATF_REQUIRE(kvv_add(&m.labels, "team", val) == 0);
	if (val2 != NULL)
		ATF_REQUIRE(kvv_add(&m.labels, "task", val2) == 0);
	req = ring_ask(session, PROTO_CREATE, &m);
	free(m.workdir);
	kvv_clear(&m.labels);
	ring_answered(req, PROTO_ACCEPTED);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	n = g.m.work.n;
	op = g.f.op;
	ring_done(&g);
	ring_make_ready(n, op, MSG_BOX_CREATE, NULL);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
	return (n);
}

static void
event_must(uint32_t req, uint64_t seq, const char *type, uint32_t replayed)
{
	struct got	 g;

	ring_answer(req, PROTO_EVENT, &g);
	ATF_CHECK_EQ(seq, g.m.event.host_seq);
	ATF_CHECK_STREQ(type, g.m.event.type);
	ATF_CHECK_EQ(replayed, g.m.event.replayed);
	ring_done(&g);
}

static void
refused(uint32_t req, const char *code, const char *field, const char *text)
{
	struct got	 g;

	ring_answer(req, PROTO_ERROR, &g);
	ATF_CHECK_STREQ(code, g.m.error.code);
	ATF_CHECK_STREQ(field, g.m.error.field);
	ATF_CHECK_MSG(strstr(g.m.error.text, text) != NULL, "%s",
	    g.m.error.text);
	ring_done(&g);
}

/* An exec begins, and with it one event; those told of it answer later. */
static void
begin(uint64_t session, const char *id)
{
	ring_exec(session, id, 0);
	ring_skip(&ring.frontend, PROTO_ACCEPTED);
	ring_skip(&ring.frontend, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
}

ATF_TC_WITHOUT_HEAD(labels);
ATF_TC_BODY(labels, tc)
{
	uint64_t	 n;
	uint32_t	 all, any, both, mine, other, del, deleted;

	(void)tc;
	ring_up();
	n = labelled(USER_SESSION, "a", "x", "y");	/* 2, 3 */
	labelled(USER_SESSION, "b", "x", NULL);		/* 4, 5 */
	labelled(OTHER_SESSION, "c", "z", NULL);	/* 6, 7 */
	/* What was, by the labels of now; then what comes. */
	want("", 5);
	label("team", "x");
	all = asked(ROOT_SESSION);
	event_must(all, 5, "sandbox.ready", 1);
	want("", 6);
	label("team", "");
	any = asked(ROOT_SESSION);
	event_must(any, 6, "sandbox.create", 1);
	event_must(any, 7, "sandbox.ready", 1);
	want("", 0);
	label("task", "y");
	label("team", "x");
	both = asked(USER_SESSION);
	event_must(both, 2, "sandbox.create", 1);
	event_must(both, 3, "sandbox.ready", 1);
	want("", 1);
	label("team", "z");
	mine = asked(USER_SESSION);
	want("b", 3);
	label("team", "x");
	label("task", "");
	other = asked(USER_SESSION);
	ring_quiet(&ring.frontend);
	begin(USER_SESSION, "b");
	/* 8 to 10: those who ask are allowed to. */
	event_must(any, 11, "exec.create", 0);
	event_must(all, 11, "exec.create", 0);
	begin(OTHER_SESSION, "c");
	event_must(any, 12, "exec.create", 0);
	begin(USER_SESSION, "a");
	event_must(any, 13, "exec.create", 0);
	event_must(all, 13, "exec.create", 0);
	event_must(both, 13, "exec.create", 0);
	del = ring_ref(USER_SESSION, PROTO_DELETE, "a", 0);
	ring_answered(del, PROTO_ACCEPTED);
	ring_answered(del, PROTO_END);
	ring_skip(&ring.frontend, PROTO_EVENT);		/* 14, three times */
	ring_skip(&ring.frontend, PROTO_EVENT);
	ring_skip(&ring.frontend, PROTO_EVENT);
	(void)mine;
	(void)other;
	/* Those of what is deleted are known still. */
	want("", 2);
	label("task", "y");
	ask.follow = 0;
	deleted = asked(ROOT_SESSION);
	event_must(deleted, 2, "sandbox.create", 1);
	event_must(deleted, 3, "sandbox.ready", 1);
	event_must(deleted, 13, "exec.create", 1);
	event_must(deleted, 14, "sandbox.delete", 1);
	ring_answered(deleted, PROTO_END);
	(void)n;
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(types);
ATF_TC_BODY(types, tc)
{
	uint32_t	 req;

	(void)tc;
	ring_up();
	labelled(USER_SESSION, "a", "x", NULL);		/* 2, 3 */
	want("", 1);
	ATF_REQUIRE(strv_add(&ask.types, "exec") == 0);
	ATF_REQUIRE(strv_add(&ask.types, "sandbox.ready") == 0);
	req = asked(ROOT_SESSION);			/* 4 */
	event_must(req, 3, "sandbox.ready", 1);
	begin(USER_SESSION, "a");
	event_must(req, 5, "exec.create", 0);
	ring_answered(ring_ref(USER_SESSION, PROTO_DELETE, "a", 0),
	    PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_quiet(&ring.frontend);
	/* The daemon's own have no labels. */
	want("", 1);
	strlcpy(ask.type, "audit", sizeof(ask.type));
	ATF_REQUIRE(strv_add(&ask.types, "daemon") == 0);
	ask.follow = 0;
	req = asked(ROOT_SESSION);
	event_must(req, 1, "daemon.started", 1);
	event_must(req, 2, "sandbox.create", 1);
	event_must(req, 5, "exec.create", 1);
	event_must(req, 6, "sandbox.delete", 1);
	ring_answered(req, PROTO_END);
	want("", 1);
	ATF_REQUIRE(strv_add(&ask.types, "exec") == 0);
	ATF_REQUIRE(strv_add(&ask.types, "exec.cre") == 0);
	refused(asked(ROOT_SESSION), "invalid_argument", "types",
	    "invalid type: exec.cre: no such events");
	want("", 1);
	ask.end = 1;
	refused(asked(ROOT_SESSION), "invalid_argument", "end",
	    "no sandbox is named");
	want("", 1);
	ask.snapshot = 1;
	refused(asked(ROOT_SESSION), "invalid_argument", "snapshot",
	    "no sandbox is named");
	want("", 1);
	ask.heartbeat = 999;
	refused(asked(ROOT_SESSION), "invalid_argument", "heartbeat",
	    "must be 1000 to 3600000");
	ring_stop();
}

/* The state, and behind it what comes: nothing between, and nothing twice. */
ATF_TC_WITHOUT_HEAD(snapshot);
ATF_TC_BODY(snapshot, tc)
{
	struct got	 g;
	uint64_t	 n;
	uint32_t	 req, del;

	(void)tc;
	ring_up();
	n = labelled(USER_SESSION, "a", "x", NULL);	/* 2, 3 */
	want("a", 0);
	ask.snapshot = 1;
	ask.end = 1;
	ATF_REQUIRE(strv_add(&ask.types, "sandbox.delete") == 0);
	req = asked(USER_SESSION);			/* 4 */
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_CHECK_STREQ("ready", g.m.sandbox.state);
	ATF_CHECK_EQ(2, g.m.sandbox.seq);
	ring_done(&g);
	del = ring_ref(USER_SESSION, PROTO_DELETE, "a", 0);
	ring_answered(del, PROTO_ACCEPTED);
	ring_answered(del, PROTO_END);
	ring_answer(req, PROTO_EVENT, &g);
	ATF_CHECK_STREQ("sandbox.delete", g.m.event.type);
	ATF_CHECK_STREQ("deleting", g.m.event.state);
	ATF_CHECK_EQ(0, g.m.event.replayed);
	ring_done(&g);
	/* It ends with its sandbox, though that event is not wanted. */
	ring_removed(n);
	ring_answered(req, PROTO_END);
	/* And one that comes later when it has had the past. */
	want("a", 4);
	ask.end = 1;
	ATF_REQUIRE(strv_add(&ask.types, "sandbox.deleted") == 0);
	req = asked(USER_SESSION);
	event_must(req, 6, "sandbox.deleted", 1);
	ring_answered(req, PROTO_END);
	/* One that did not ask for it goes on. */
	want("a", 5);
	req = asked(USER_SESSION);
	ring_quiet(&ring.frontend);
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(heartbeat);
ATF_TC_BODY(heartbeat, tc)
{
	struct got	 g;
	uint32_t	 host, box;
	int		 beats = 0;

	(void)tc;
	ring_up();
	labelled(USER_SESSION, "a", "x", NULL);		/* 2, 3 */
	want("", 3);
	label("team", "none");
	ask.heartbeat = 1000;
	ask.credit = 1;
	host = asked(ROOT_SESSION);			/* 4 */
	ring_answer(host, PROTO_HEARTBEAT, &g);
	ATF_CHECK_EQ(4, *(uint64_t *)&g.m);
	ring_done(&g);
	/* Of its sandbox: the one that it lacks credit for was not told. */
	want("a", 1);
	ask.heartbeat = 1000;
	ask.credit = 1;
	box = asked(USER_SESSION);
	while (beats == 0) {
		ring_frame_any(&ring.frontend, &g);
		if (g.f.req == box && g.f.type == PROTO_HEARTBEAT) {
			ATF_CHECK_EQ(1, *(uint64_t *)&g.m);
			beats++;
		} else if (g.f.req == box)
			ATF_CHECK_EQ(PROTO_EVENT, g.f.type);
		ring_done(&g);
	}
	ring_stop();
}

/* A log that begins with what was collected: 1 to 10, of 12. */
static void
collected(void)
{
	static struct eventdb	 db;
	static struct eventlog	 lg;
	struct record		 r;
	int			 i;

	ATF_REQUIRE_MSG(eventdb_open(&db, ring.home) == 0, "%s", db.why);
	ATF_REQUIRE_MSG(eventlog_open(&lg, &db) == 0, "%s", db.why);
	ATF_REQUIRE(eventdb_begin(&db) == 0);
	for (i = 1; i <= 12; i++) {
		memset(&r, 0, sizeof(r));
		r.sbx = 77;
		r.sseq = i;
		r.type = 5;
		ATF_REQUIRE(eventlog_append(&lg, &r) == 0);
	}
	ATF_REQUIRE(eventdb_commit(&db) == 0);
	eventlog_committed(&lg);
	ATF_REQUIRE(eventdb_mark(&db, lg.seq, lg.link) == 0);
	ATF_REQUIRE(eventdb_begin(&db) == 0);
	ATF_REQUIRE_EQ(10, eventlog_collect(&lg, 77, 10));
	ATF_REQUIRE_EQ(10, eventlog_anchor(&lg, 100, NULL));
	ATF_REQUIRE(eventdb_commit(&db) == 0);
	eventlog_committed(&lg);
	eventdb_close(&db);
}

ATF_TC(anchors);
ATF_TC_HEAD(anchors, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aV05) ahead of the log and collected "
	    "from it are two things");
}
ATF_TC_BODY(anchors, tc)
{
	struct got	 g;
	uint32_t	 req;

	(void)tc;
	ring.allowed = 1;
	ring_make();
	collected();
	ring_start();
	want("", 13);
	req = asked(ROOT_SESSION);
	ring_skip(&ring.frontend, PROTO_EVENT);
	event_must(req, 14, "audit.allowed", 0);
	want("", 16);
	refused(asked(ROOT_SESSION), "invalid_argument", "from",
	    "invalid from: 16: the newest is 14");
	want("", 10);
	refused(asked(ROOT_SESSION), "not_found", "from",
	    "invalid from: 10: collected already: the oldest is 11");
	want("", 10);
	ask.oldest = 1;
	ask.follow = 0;
	req = asked(ROOT_SESSION);
	ring_answer(req, PROTO_EVENT, &g);
	ATF_CHECK_EQ(11, g.m.event.host_seq);
	ring_done(&g);
	ring_skip(&ring.frontend, PROTO_EVENT);
	event_must(req, 13, "daemon.started", 1);
	event_must(req, 14, "audit.allowed", 1);
	ring_answered(req, PROTO_END);
	/* All that is left, and the next one. */
	want("", 0);
	ask.follow = 0;
	req = asked(ROOT_SESSION);
	ring_answer(req, PROTO_EVENT, &g);
	ATF_CHECK_EQ(11, g.m.event.host_seq);
	ring_done(&g);
	ring_skip(&ring.frontend, PROTO_EVENT);
	ring_skip(&ring.frontend, PROTO_EVENT);
	ring_skip(&ring.frontend, PROTO_EVENT);
	ring_answered(req, PROTO_END);
	want("", 15);
	asked(ROOT_SESSION);
	ring_quiet(&ring.frontend);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, labels);
	ATF_TP_ADD_TC(tp, types);
	ATF_TP_ADD_TC(tp, snapshot);
	ATF_TP_ADD_TC(tp, heartbeat);
	ATF_TP_ADD_TC(tp, anchors);
	return (atf_no_error());
}
