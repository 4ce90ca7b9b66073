/*
 * Times after which something is done that nobody asks for: the end of a
 * lifetime, no work for too long, retention of what is stopped or failed.
 *
 * Nothing here depends on how fast it is: what must not happen early is
 * asserted by the clock that no one sets, what must happen is waited for.
 *
 * regress-srcs: ring.c watch.c
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "eventdb.h"
#include "model.h"
#include "record.h"
#include "ring.h"
#include "watch.h"

#define HOUR	3600000ULL	/* ms */
#define BOOT	"11111111-2222-3333-4444-555555555555"

static uint64_t
now_ms(void)
{
	struct timespec	 ts;

	ATF_REQUIRE(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
	return ((uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

static void
up(void)
{
	ring_make();
	strlcpy(ring.conf.boot, BOOT, sizeof(ring.conf.boot));
	ring_start();
	ring_engine(1);
}

/* The configuration anew; it has been taken when the beat comes back. */
static void
reload(void)
{
	ring_send(&ring.parent, MSG_CONF_BEGIN, 0, 0, 0, &ring.conf);
	ring_send(&ring.parent, MSG_CONF_END, 0, 0, 0, NULL);
	ring_send(&ring.parent, MSG_BEAT, 0, 0, 0, NULL);
	ring_skip(&ring.parent, MSG_BEAT);
}

static uint32_t
ask_create(const char *id, uint64_t lifetime, uint64_t idle)
{
	struct proto_create	 m;
	char			 none[1] = "";

	memset(&m, 0, sizeof(m));
	strlcpy(m.id, id, sizeof(m.id));
	m.workdir = none;
	m.lifetime = lifetime;
	m.idle = idle;
	m.wait = 1;
	return (ring_ask(USER_SESSION, PROTO_CREATE, &m));
}

static uint32_t
ask_keep(const char *id, const char *key, uint64_t keep)
{
	struct proto_create	 m;
	char			 none[1] = "";

	memset(&m, 0, sizeof(m));
	strlcpy(m.id, id, sizeof(m.id));
	strlcpy(m.key, key, sizeof(m.key));
	m.workdir = none;
	m.keep = keep;
	m.wait = 1;
	return (ring_ask(USER_SESSION, PROTO_CREATE, &m));
}

static uint64_t
ready(const char *id, uint64_t lifetime, uint64_t idle)
{
	return (watch_ready(ask_create(id, lifetime, idle)));
}

static void
resume(uint64_t n, const char *id)
{
	struct got	 g;
	uint64_t	 op;
	uint32_t	 req;

	req = ring_ref(USER_SESSION, PROTO_RESUME, id, 1);
	ring_answered(req, PROTO_ACCEPTED);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	op = g.f.op;
	ring_done(&g);
	ring_make_ready(n, op, MSG_BOX_START, NULL);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
}

static void
show(const char *id, struct proto_sandbox *s)
{
	struct got	 g;

	watch_show(id, &g);
	*s = g.m.sandbox;
	ring_done(&g);
}

/* What the store was told before may be written only later. */
static void
become(const char *id, const char *state)
{
	struct proto_sandbox	 s;
	int			 i;

	for (i = 0; i < 6000; i++) {
		show(id, &s);
		if (strcmp(s.state, state) == 0)
			return;
		usleep(10000);
	}
	atf_tc_fail("%s is %s, not %s", id, s.state, state);
}

static void
next_must(const char *id, const char *next, const char *by, uint64_t most)
{
	struct proto_sandbox	 s;

	show(id, &s);
	ATF_CHECK_STREQ_MSG(s.next, next, "%s", s.next);
	ATF_CHECK_STREQ_MSG(s.next_by, by, "%s", s.next_by);
	ATF_CHECK_MSG(s.next_in <= most, "%" PRIu64, s.next_in);
}

/* The newest event of that kind about a sandbox; its detail `key'. */
static void
event_has(const char *id, const char *type, const char *key, const char *val)
{
	struct proto_events	 m;
	struct got		 g;
	char			 name[64];
	const char		*v;
	uint32_t		 req;
	int			 ok = 0;

	memset(&m, 0, sizeof(m));
	strlcpy(name, id, sizeof(name));
	m.sandbox = name;
	m.from = 1;
	m.credit = 1000;
	req = ring_ask(USER_SESSION, PROTO_EVENTS, &m);
	for (;;) {
		ring_frame_any(&ring.frontend, &g);
		ATF_REQUIRE_EQ(g.f.req, req);
		if (g.f.type == PROTO_END)
			break;
		ATF_REQUIRE_EQ(g.f.type, PROTO_EVENT);
		v = kvv_get(&g.m.event.detail, key);
		if (strcmp(g.m.event.type, type) == 0) {
			ok = v != NULL && strcmp(v, val) == 0;
			if (ok && strcmp(key, "reason") == 0)
				ATF_CHECK_EQ(g.m.event.actor, -1);
		}
		ring_done(&g);
	}
	ring_done(&g);
	ATF_CHECK_MSG(ok, "%s: no %s with %s=%s", id, type, key, val);
}

static uint32_t
ask_extend(uint64_t session, const char *id, uint64_t time, uint64_t idle)
{
	struct proto_extend	 m;
	char			 name[64];

	memset(&m, 0, sizeof(m));
	strlcpy(name, id, sizeof(name));
	m.id = name;
	m.time = time;
	m.idle = idle;
	return (ring_ask(session, PROTO_EXTEND, &m));
}

static void
extended(const char *id, uint64_t time, uint64_t idle, struct proto_sandbox *s)
{
	struct got	 g;
	uint32_t	 req;

	req = ask_extend(USER_SESSION, id, time, idle);
	ring_answer(req, PROTO_SANDBOX, &g);
	*s = g.m.sandbox;
	ring_done(&g);
	ring_answered(req, PROTO_END);
}

ATF_TC(lifetime);
ATF_TC_HEAD(lifetime, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "past its lifetime a sandbox is stopped and deleted (L09)");
}
ATF_TC_BODY(lifetime, tc)
{
	struct proto_sandbox	 s;
	uint64_t		 n, began;

	up();
	began = now_ms();
	n = ready("web", 500, 0);
	watch_stop(n);
	ATF_CHECK(now_ms() - began >= 500);
	ring_removed(n);
	/* Those that have none live on, and cost nothing. */
	ready("api", 0, 0);
	next_must("api", "", "", 0);
	ring_quiet(&ring.runner);
	become("web", "deleted");
	show("web", &s);
	ATF_CHECK_STREQ(s.cause, "its lifetime is over");
	ATF_CHECK_EQ(s.lifetime, 500);
	ATF_CHECK_EQ(s.expires, 0);
	event_has("web", "sandbox.create", "lifetime", "500");
	event_has("web", "sandbox.stop", "reason", "lifetime");
	event_has("web", "sandbox.stopped", "cause", "its lifetime is over");
	event_has("web", "sandbox.delete", "reason", "lifetime");
	event_has("web", "sandbox.deleted", "cause", "its lifetime is over");
	next_must("web", "collect", "history", 86400000);
	ring_stop();
}

/* One that is stopped when it is over, and one that is being made. */
ATF_TC_WITHOUT_HEAD(lifetime_states);
ATF_TC_BODY(lifetime_states, tc)
{
	struct got	 g;
	uint64_t	 n, m, op;
	uint32_t	 req;

	up();
	n = ready("web", 1500, 0);
	req = ring_ref(USER_SESSION, PROTO_STOP, "web", 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	watch_stop(n);
	become("web", "stopped");
	next_must("web", "delete", "lifetime", 1500);
	ring_removed(n);
	req = ask_create("api", 1, 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	m = g.m.work.n;
	op = g.f.op;
	ring_done(&g);
	usleep(10000);
	/* What is under way has its own deadline. */
	next_must("api", "fail", "create", 600000);
	ring_quiet(&ring.runner);
	ring_make_ready(m, op, MSG_BOX_CREATE, NULL);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
	watch_stop(m);
	ring_removed(m);
	become("api", "deleted");
	ring_stop();
}

ATF_TC(idle);
ATF_TC_HEAD(idle, tc)
{
	atf_tc_set_md_var(tc, "descr", "idle stop: what is work, whatever "
	    "comes of it; a resume begins anew (L05, L06, A19)");
}
ATF_TC_BODY(idle, tc)
{
	struct proto_sandbox	 s;
	uint64_t		 n, since;
	uint32_t		 req;

	up();
	n = ready("web", 0, 400);
	/* A command that runs is work, for as long as it likes. */
	req = ring_exec(USER_SESSION, "web", 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	usleep(1000000);
	ring_quiet(&ring.runner);
	next_must("web", "", "", 0);
	/* One that fails is work as well. */
	since = now_ms();
	ring_ended(n, 1, END_EXITED, 1);
	ring_skip(&ring.runner, MSG_FORGET);
	watch_stop(n);
	ATF_CHECK(now_ms() - since >= 400);
	become("web", "stopped");
	show("web", &s);
	ATF_CHECK_STREQ(s.state, "stopped");
	ATF_CHECK_STREQ(s.cause, "it was idle for 400ms");
	ATF_CHECK_EQ(s.idle, 400);
	event_has("web", "sandbox.stop", "reason", "idle");
	event_has("web", "sandbox.stopped", "cause", "it was idle for 400ms");
	next_must("web", "", "", 0);
	since = now_ms();
	resume(n, "web");
	watch_stop(n);
	ATF_CHECK(now_ms() - since >= 400);
	become("web", "stopped");
	/* Longer, while it runs. */
	resume(n, "web");
	extended("web", 0, HOUR, &s);
	ATF_CHECK_EQ(s.idle, HOUR);
	ATF_CHECK_STREQ(s.next, "stop");
	ATF_CHECK_STREQ(s.next_by, "idle");
	extended("web", 0, SBX_TIME_NONE, &s);
	ATF_CHECK_EQ(s.idle, 0);
	ATF_CHECK_STREQ(s.next, "");
	event_has("web", "sandbox.extend", "idle", "0");
	ring_stop();
}

/* The default, more, less, none; and the same without a default. */
ATF_TC(idle_whose);
ATF_TC_HEAD(idle_whose, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "idle time of all and of one sandbox, and none (L05)");
}
ATF_TC_BODY(idle_whose, tc)
{
	static const struct {
		uint64_t	 conf;
		uint64_t	 asked;
		uint64_t	 is;
	} t[] = {
		{ 0, 0, 0 },
		{ 0, HOUR, HOUR },
		{ 0, SBX_TIME_NONE, 0 },
		{ HOUR, 0, HOUR },
		{ HOUR, 2 * HOUR, 2 * HOUR },
		{ HOUR, HOUR / 2, HOUR / 2 },
		{ HOUR, SBX_TIME_NONE, 0 },
	};
	struct proto_sandbox	 s;
	char			 id[16];
	size_t			 i;

	up();
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		/* By a reload: for those that are made later. */
		ring.conf.idle = t[i].conf;
		reload();
		snprintf(id, sizeof(id), "box%zu", i);
		ready(id, 0, t[i].asked);
	}
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		snprintf(id, sizeof(id), "box%zu", i);
		show(id, &s);
		ATF_CHECK_EQ_MSG(s.idle, t[i].is, "%zu: %" PRIu64, i, s.idle);
		ATF_CHECK_STREQ(s.next, t[i].is == 0 ? "" : "stop");
		ATF_CHECK(s.next_in <= t[i].is);
	}
	ring_stop();
}

/* What may be asked for, and what comes of it. */
ATF_TC_WITHOUT_HEAD(bounds);
ATF_TC_BODY(bounds, tc)
{
	struct proto_sandbox	 s;

	ring_make();
	ring.conf.max_lifetime = 10 * HOUR;
	ring_start();
	ring_engine(1);
	ring_refused(ask_create("web", 11 * HOUR, 0), CODE_LIMIT_EXCEEDED);
	ring_refused(ask_create("web", SBX_TIME_NONE, 0),
	    CODE_LIMIT_EXCEEDED);
	ring_refused(ask_create("web", SBX_TIME_MAX + 1, 0),
	    CODE_LIMIT_EXCEEDED);
	/* Who asks for nothing gets what there is. */
	ready("web", 0, 0);
	show("web", &s);
	ATF_CHECK_EQ(s.lifetime, 10 * HOUR);
	ATF_CHECK_STREQ(s.next, "delete");
	ATF_CHECK_STREQ(s.next_by, "lifetime");
	ATF_CHECK(s.expires > s.created);
	ready("api", HOUR, 0);
	next_must("api", "delete", "lifetime", HOUR);
	/* More from now on, and never less. */
	extended("api", 5 * HOUR, 0, &s);
	ATF_CHECK(s.next_in > 4 * HOUR && s.next_in <= 5 * HOUR);
	extended("api", 2 * HOUR, 0, &s);
	ATF_CHECK(s.next_in > 4 * HOUR && s.next_in <= 5 * HOUR);
	extended("api", 0, 0, &s);
	ATF_CHECK(s.next_in > 4 * HOUR && s.next_in <= 5 * HOUR);
	/* The limit is one of its whole life. */
	usleep(2000);
	ring_refused(ask_extend(USER_SESSION, "api", 10 * HOUR, 0),
	    CODE_LIMIT_EXCEEDED);
	ring_refused(ask_extend(ROOT_SESSION, "1234/api", SBX_TIME_NONE, 0),
	    CODE_LIMIT_EXCEEDED);
	ring_refused(ask_extend(OTHER_SESSION, "1234/api", HOUR, 0),
	    CODE_NOT_FOUND);
	ring_refused(ask_extend(USER_SESSION, "none", HOUR, 0),
	    CODE_NOT_FOUND);
	ring_refused(ask_extend(USER_SESSION, "api", SBX_TIME_MAX + 1, 0),
	    CODE_LIMIT_EXCEEDED);
	/* Without a time it is as much as may be. */
	extended("web", 0, 0, &s);
	ATF_CHECK(s.next_in > 9 * HOUR && s.next_in <= 10 * HOUR);
	ring.conf.max_lifetime = 0;
	reload();
	extended("api", 20 * HOUR, 0, &s);
	ATF_CHECK(s.next_in > 19 * HOUR && s.next_in <= 20 * HOUR);
	extended("api", SBX_TIME_NONE, 0, &s);
	ATF_CHECK_EQ(s.expires, 0);
	ATF_CHECK_STREQ(s.next, "");
	event_has("api", "sandbox.extend", "left", "none");
	ring_stop();
}

/* What is stopped, and what has failed. */
ATF_TC(retain);
ATF_TC_HEAD(retain, tc)
{
	atf_tc_set_md_var(tc, "descr", "retention of the stopped and of the "
	    "failed, and a delete that fails (L07, L09, L04)");
}
ATF_TC_BODY(retain, tc)
{
	struct msg_box_failed	 failed;
	struct got		 g;
	uint64_t		 n, m, op;
	uint32_t		 req;

	up();
	n = ready("web", 0, 0);
	req = ring_ref(USER_SESSION, PROTO_STOP, "web", 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	watch_stop(n);
	become("web", "stopped");
	m = ring_create(USER_SESSION, "bad", &op);
	req = ring.req;
	memset(&failed, 0, sizeof(failed));
	ring_send(&ring.parent, MSG_WORK_DONE, op, 0, 0,
	    &(struct msg_work_done){ .n = m, .code = CODE_NO_SPACE,
	    .text = "for the test" });
	ring_refused(req, CODE_NO_SPACE);
	ring_removed(m);
	next_must("web", "", "", 0);
	next_must("bad", "", "", 0);
	ring.conf.retain_stopped = 10 * HOUR;
	ring.conf.retain_failed = 20 * HOUR;
	reload();
	next_must("web", "delete", "stopped", 10 * HOUR);
	next_must("bad", "delete", "failed", 20 * HOUR);
	/* It begins anew when it has run in between. */
	ring.conf.retain_stopped = 0;
	ring.conf.retain_failed = 1;
	reload();
	ring_removed(m);
	become("bad", "deleted");
	event_has("bad", "sandbox.delete", "reason", "failed");
	event_has("bad", "sandbox.delete", "cause", "it was failed for 1ms");
	ring.conf.retain_stopped = 1;
	reload();
	/* The Engine does not do it: that is told, and tried again. */
	ring_get(&ring.broker, MSG_BOX_REMOVE, &g);
	failed.n = n;
	failed.code = CODE_ENGINE_ERROR;
	strlcpy(failed.text, "for the test", sizeof(failed.text));
	ring_send(&ring.broker, MSG_BOX_FAILED, g.f.op, 0, 0, &failed);
	ring_done(&g);
	become("web", "failed");
	next_must("web", "delete", "failed", 60000);
	ring_quiet(&ring.broker);
	event_has("web", "sandbox.delete", "reason", "stopped");
	event_has("web", "sandbox.failed", "cause", "for the test");
	ring_stop();
}

static void
stop(const char *id, uint64_t n)
{
	uint32_t	 req;

	req = ring_ref(USER_SESSION, PROTO_STOP, id, 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	watch_stop(n);
	become(id, "stopped");
}

/* Less than all are kept, from the creation on, and never more. */
ATF_TC_WITHOUT_HEAD(keep);
ATF_TC_BODY(keep, tc)
{
	struct proto_sandbox	 s;
	uint64_t		 n, m;
	uint32_t		 req;

	ring_make();
	strlcpy(ring.conf.boot, BOOT, sizeof(ring.conf.boot));
	ring.conf.retain_stopped = 10 * HOUR;
	ring_start();
	ring_engine(1);
	ring_refused(ask_keep("web", "", 10 * HOUR + 1), CODE_LIMIT_EXCEEDED);
	ring_refused(ask_keep("web", "", SBX_TIME_MAX + 1),
	    CODE_LIMIT_EXCEEDED);
	n = watch_ready(ask_keep("web", "key", HOUR));
	event_has("web", "sandbox.create", "keep", "3600000");
	/* It is a part of what its key stands for. */
	ring_refused(ask_keep("web", "key", 2 * HOUR), CODE_CONFLICT);
	req = ask_keep("web", "key", HOUR);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_SANDBOX);
	ring_answered(req, PROTO_END);
	m = watch_ready(ask_keep("api", "", SBX_TIME_NONE));
	stop("web", n);
	next_must("web", "delete", "stopped", HOUR);
	stop("api", m);
	show("api", &s);
	ATF_CHECK_EQ(s.keep, 0);
	ATF_CHECK_STREQ(s.next, "delete");
	ATF_CHECK(s.next_in > 9 * HOUR && s.next_in <= 10 * HOUR);
	/* Over a restart, too. */
	ring_kill();
	ring_start();
	show("web", &s);
	ATF_CHECK_EQ(s.keep, HOUR);
	ATF_CHECK(s.next_in > 0 && s.next_in <= HOUR);
	ring_stop();
}

/* Without the Engine nothing is done, and all of it when it comes back. */
ATF_TC_WITHOUT_HEAD(engine_away);
ATF_TC_BODY(engine_away, tc)
{
	struct msg_box_done	 end;
	struct msg_engine	 e;
	struct proto_sandbox	 s;
	struct got		 g;
	uint64_t		 began = now_ms();

	up();
	ready("web", 0, 1000);
	ring_engine(0);
	usleep(1500000);
	ring_quiet(&ring.runner);
	next_must("web", "stop", "idle", 0);
	memset(&e, 0, sizeof(e));
	e.up = 1;
	ring_send(&ring.broker, MSG_ENGINE, 0, 0, 0, &e);
	ring_get(&ring.broker, MSG_INVENTORY, &g);
	ring_quiet(&ring.runner);
	memset(&end, 0, sizeof(end));
	ring_send(&ring.broker, MSG_INVENTORY_END, g.f.op, 0, 0, &end);
	ring_done(&g);
	/* It has named nothing and may be another: nothing is done to it. */
	do {
		show("web", &s);
	} while (s.missing == 0 && now_ms() - began < 60000);
	ATF_CHECK(s.missing != 0);
	ATF_CHECK_STREQ(s.state, "ready");
	ATF_CHECK_STREQ(s.next, "");
	ring_quiet(&ring.runner);
	ring_stop();
}

/* What is in the database is gone on with, by the clock of the host. */
ATF_TC_WITHOUT_HEAD(restart);
ATF_TC_BODY(restart, tc)
{
	struct proto_sandbox	 s;
	uint64_t		 began;

	up();
	ready("long", 2 * HOUR, HOUR);
	ready("none", 0, 0);
	began = now_ms();
	extended("long", 3 * HOUR, 0, &s);
	next_must("long", "stop", "idle", HOUR);
	usleep(300000);
	ring_kill();
	ring_start();
	/* The same start of the host: it counts on, to the moment. */
	show("long", &s);
	ATF_CHECK_EQ(s.lifetime, 2 * HOUR);
	ATF_CHECK_EQ(s.idle, HOUR);
	ATF_CHECK(s.expires != 0);
	ATF_CHECK_STREQ(s.next_by, "idle");
	extended("long", 0, SBX_TIME_NONE, &s);
	ATF_CHECK_STREQ(s.next_by, "lifetime");
	ATF_CHECK_MSG(s.next_in + 300 <= 3 * HOUR, "%" PRIu64, s.next_in);
	ATF_CHECK(s.next_in + (now_ms() - began) + 2 >= 3 * HOUR);
	next_must("none", "", "", 0);
	/* Another start: it goes on where it was seen last, never earlier. */
	ring_kill();
	strlcpy(ring.conf.boot, "other", sizeof(ring.conf.boot));
	ring_start();
	show("long", &s);
	ATF_CHECK_STREQ(s.next_by, "lifetime");
	ATF_CHECK(s.next_in <= 3 * HOUR);
	ATF_CHECK(s.next_in + (now_ms() - began) + 2 >= 3 * HOUR);
	ring_stop();
}

/* It was over while nobody was there. */
ATF_TC_WITHOUT_HEAD(restart_over);
ATF_TC_BODY(restart_over, tc)
{
	struct got	 g;
	uint64_t	 n;
	uint32_t	 req;

	up();
	n = ready("web", 1000, 0);
	req = ring_ref(USER_SESSION, PROTO_STOP, "web", 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_get(&ring.runner, MSG_GUEST_STOP, &g);
	ring_done(&g);
	ring_kill();
	usleep(1100000);
	ring_start();
	/* Not before the Engine has told what it has. */
	ring_quiet(&ring.broker);
	ring_engine(1);
	ring_get(&ring.broker, MSG_BOX_KILL, &g);
	ring_send(&ring.broker, MSG_BOX_DEAD, g.f.op, 0, 0,
	    &(struct msg_box_state){ .n = n });
	ring_done(&g);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	ring_removed(n);
	become("web", "deleted");
	ring_stop();
}

static void
db_key(uint8_t *key, char letter, uint64_t n)
{
	key[0] = letter;
	record_put64(key + 1, n);
}

/* The database as a version without times has left it. */
static void
db_age(uint64_t n)
{
	struct eventdb		 db;
	struct msg_def		 def = *proto_def(PROTO_CREATE);
	struct proto_create	 c;
	struct msg_rest		 rest;
	msgpack_sbuffer		 sb;
	const uint8_t		*val;
	uint8_t			 key[9];
	size_t			 len;

	ATF_REQUIRE_MSG(eventdb_open(&db, ring.home) == 0, "%s", db.why);
	db_key(key, 'C', n);
	ATF_REQUIRE(eventdb_get(&db, EDB_STATE, key, 9, &val, &len) ==
	    EDB_OK);
	ATF_REQUIRE(msg_decode_row(&c, &def, 12, val, len, &rest) == 0);
	msg_rest_clear(&rest);
	def.nfields = 12;
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_array(&sb, &def, &c) == 0);
	ATF_REQUIRE(eventdb_begin(&db) == 0);
	ATF_REQUIRE(eventdb_put(&db, EDB_STATE, key, 9, sb.data, sb.size) ==
	    0);
	db_key(key, 'D', n);
	ATF_REQUIRE(eventdb_del(&db, EDB_STATE, key, 9) == EDB_OK);
	db_key(key, 'K', 0);
	ATF_REQUIRE(eventdb_del(&db, EDB_STATE, key, 9) == EDB_OK);
	ATF_REQUIRE(eventdb_commit(&db) == 0);
	msgpack_sbuffer_destroy(&sb);
	msg_clear(&c, proto_def(PROTO_CREATE));
	eventdb_close(&db);
}

ATF_TC_WITHOUT_HEAD(older);
ATF_TC_BODY(older, tc)
{
	struct proto_sandbox	 s;
	uint64_t		 n;
	uint32_t		 req;

	up();
	n = ready("web", 0, 0);
	req = ring_ref(USER_SESSION, PROTO_STOP, "web", 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	watch_stop(n);
	become("web", "stopped");
	ring_kill();
	db_age(n);
	ring.conf.retain_stopped = 1;
	ring.conf.lifetime = HOUR;
	ring_start();
	show("web", &s);
	ATF_CHECK_STREQ(s.state, "stopped");
	ATF_CHECK_EQ(s.lifetime, 0);
	ATF_CHECK_EQ(s.idle, 0);
	ATF_CHECK_STREQ(s.next_by, "stopped");
	/* What the wall clock says of it may be wrong: an hour, at most. */
	ring_kill();
	ring.conf.retain_stopped = 2 * HOUR;
	ring_start();
	show("web", &s);
	ATF_CHECK_STREQ(s.next_by, "stopped");
	ATF_CHECK(s.next_in > HOUR && s.next_in <= 2 * HOUR);
	extended("web", 5 * HOUR, HOUR, &s);
	ATF_CHECK_EQ(s.idle, HOUR);
	ATF_CHECK_EQ(s.expires, 0);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, lifetime);
	ATF_TP_ADD_TC(tp, lifetime_states);
	ATF_TP_ADD_TC(tp, idle);
	ATF_TP_ADD_TC(tp, idle_whose);
	ATF_TP_ADD_TC(tp, bounds);
	ATF_TP_ADD_TC(tp, retain);
	ATF_TP_ADD_TC(tp, keep);
	ATF_TP_ADD_TC(tp, engine_away);
	ATF_TP_ADD_TC(tp, restart);
	ATF_TP_ADD_TC(tp, restart_over);
	ATF_TP_ADD_TC(tp, older);
	return (atf_no_error());
}
