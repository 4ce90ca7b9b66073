/*
 * Mounts of the host's directories, as the store has them: nothing is accepted
 * before the parent has judged them, and what it has judged is said to it
 * again when they are made, or forgotten.
 *
 * regress-srcs: ring.c watch.c
 */
#include <stdlib.h>
#include <string.h>

#include "watch.h"

static void
fill(struct proto_create *m, const char *id)
{
	memset(m, 0, sizeof(*m));
	m->workdir = strdup("");
	strlcpy(m->id, id, sizeof(m->id));
	ATF_REQUIRE(kvv_add(&m->mounts, "/mnt/a", "/srv/a") == 0 &&
	    kvv_add(&m->mounts, "/mnt/b", "/srv/b") == 0 &&
	    kvv_add(&m->mounts_rw, "/mnt/c", "/srv/c") == 0);
}

/* Asked for, as the parent hears it: its ticket. */
static uint64_t
ask(struct proto_create *m, uint32_t *req)
{
	struct got	 g;
	uint64_t	 ticket;

	*req = ring_ask(USER_SESSION, PROTO_CREATE, m);
	ring_get(&ring.parent, MSG_MOUNTS_CHECK, &g);
	ATF_CHECK_EQ(USER_SESSION, g.f.session);
	ATF_REQUIRE(g.m.mounts.ro.n == 2 && g.m.mounts.rw.n == 1);
	ATF_CHECK_STREQ("/srv/b", g.m.mounts.ro.v[1]);
	ATF_CHECK_STREQ("/srv/c", g.m.mounts.rw.v[0]);
	ticket = g.m.mounts.ticket;
	ATF_CHECK(ticket != 0);
	ring_done(&g);
	return (ticket);
}

static void
judged(uint64_t ticket, enum code code, const char *text)
{
	struct msg_mounts_checked	 m;

	memset(&m, 0, sizeof(m));
	m.ticket = ticket;
	m.code = code;
	strlcpy(m.text, text, sizeof(m.text));
	ring_send(&ring.parent, MSG_MOUNTS_CHECKED, 0, 0, 0, &m);
}

static uint64_t
ref_of(uint32_t type)
{
	struct got	 g;
	uint64_t	 n;

	ring_get(&ring.parent, type, &g);
	n = g.m.mounts_ref.n;
	ring_done(&g);
	return (n);
}

static void
clear(struct proto_create *m)
{
	msg_clear(m, proto_def(PROTO_CREATE));
}

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	struct proto_create	 m;
	struct got		 g;
	uint64_t		 ticket;
	uint32_t		 req;

	(void)tc;
	ring_up();
	fill(&m, "web");
	ticket = ask(&m, &req);
	judged(ticket, CODE_POLICY_DENIED, "/srv/c may not");
	ring_answer(req, PROTO_ERROR, &g);
	ATF_CHECK_STREQ("policy_denied", g.m.error.code);
	ATF_CHECK_STREQ("mounts: /srv/c may not", g.m.error.text);
	ATF_CHECK_STREQ("mounts", g.m.error.field);
	ring_done(&g);
	ring_refused(ring_ref(USER_SESSION, PROTO_SHOW, "web", 0),
	    CODE_NOT_FOUND);
	/* The parent has forgotten it, and is not told to. */
	ring_quiet(&ring.parent);
	clear(&m);
	ring_stop();
}

/* Made, shown, started; and then the host need not have them. */
ATF_TC_WITHOUT_HEAD(made);
ATF_TC_BODY(made, tc)
{
	struct proto_create	 m;
	struct got		 g;
	uint64_t		 ticket, op;
	uint32_t		 req;

	(void)tc;
	ring_up();
	fill(&m, "web");
	ticket = ask(&m, &req);
	ring_refused(ring_ref(USER_SESSION, PROTO_SHOW, "web", 0),
	    CODE_NOT_FOUND);
	judged(ticket, CODE_OK, "");
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	ATF_CHECK(g.m.work.n == 1 && g.m.work.mounts == 3 &&
	    g.m.work.ticket == ticket);
	op = g.f.op;
	ring_done(&g);
	ring_make_begun(1, op, MSG_BOX_CREATE, NULL);
	/* Its container runs: it need not be ready yet. */
	ATF_CHECK_EQ(1, ref_of(MSG_MOUNTS_OFF));
	ring_let_in(1);
	ring_answer(ring_ref(USER_SESSION, PROTO_SHOW, "web", 0),
	    PROTO_SANDBOX, &g);
	ATF_CHECK_EQ(2, g.m.sandbox.mounts.n);
	ATF_CHECK_STREQ("/srv/c", kvv_get(&g.m.sandbox.mounts_rw, "/mnt/c"));
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	watch_count("web", "sandbox.create", 1);
	clear(&m);
	ring_stop();
}

/* Nor need they when nothing comes of it, at whatever step. */
ATF_TC_WITHOUT_HEAD(failed);
ATF_TC_BODY(failed, tc)
{
	struct proto_create	 m;
	struct msg_work_done	 done;
	struct got		 g;
	uint64_t		 ticket, op;
	uint32_t		 req;

	(void)tc;
	ring_up();
	fill(&m, "web");
	ticket = ask(&m, &req);
	judged(ticket, CODE_OK, "");
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	op = g.f.op;
	ring_done(&g);
	memset(&done, 0, sizeof(done));
	done.n = 1;
	done.code = CODE_NOT_FOUND;
	strlcpy(done.text, "mounts: /srv/a: gone", sizeof(done.text));
	ring_send(&ring.parent, MSG_WORK_DONE, op, 0, 0, &done);
	ATF_CHECK_EQ(1, ref_of(MSG_MOUNTS_OFF));
	ring_removed(1);
	ring_state(USER_SESSION, "web", "failed");
	/* One that is deleted meanwhile. */
	strlcpy(m.id, "two", sizeof(m.id));
	ticket = ask(&m, &req);
	judged(ticket, CODE_OK, "");
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_skip(&ring.parent, MSG_WORK_MAKE);
	req = ring_ref(USER_SESSION, PROTO_DELETE, "two", 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ATF_CHECK_EQ(2, ref_of(MSG_MOUNTS_OFF));
	ring_removed(2);
	clear(&m);
	ring_stop();
}

/* What was judged is nobody's when there is no sandbox of it. */
ATF_TC_WITHOUT_HEAD(dropped);
ATF_TC_BODY(dropped, tc)
{
	struct proto_create	 m;
	uint64_t		 ticket;
	uint32_t		 req;

	(void)tc;
	ring_up();
	(void)ring_ready(USER_SESSION, "web");
	fill(&m, "web");
	ticket = ask(&m, &req);
	judged(ticket, CODE_OK, "");
	ring_refused(req, CODE_ALREADY_EXISTS);
	ATF_CHECK_EQ(ticket, ref_of(MSG_MOUNTS_DROP));
	clear(&m);
	ring_stop();
}

/* Nothing was accepted of who has gone meanwhile. */
ATF_TC_WITHOUT_HEAD(gone);
ATF_TC_BODY(gone, tc)
{
	struct proto_create	 m;
	uint64_t		 ticket;
	uint32_t		 req;

	(void)tc;
	ring_up();
	fill(&m, "web");
	ticket = ask(&m, &req);
	ring_session_over(USER_SESSION);
	judged(ticket, CODE_OK, "");
	ATF_CHECK_EQ(ticket, ref_of(MSG_MOUNTS_DROP));
	ring_refused(req, CODE_UNAVAILABLE);
	ring_refused(ring_ref(ROOT_SESSION, PROTO_SHOW, "1234/web", 0),
	    CODE_NOT_FOUND);
	clear(&m);
	ring_stop();
}

/* The request that made it is known, whatever has come of its mounts. */
ATF_TC_WITHOUT_HEAD(twice);
ATF_TC_BODY(twice, tc)
{
	struct proto_create	 m;
	uint64_t		 ticket;
	uint32_t		 req;

	(void)tc;
	ring_up();
	fill(&m, "web");
	strlcpy(m.key, "k", sizeof(m.key));
	ticket = ask(&m, &req);
	judged(ticket, CODE_OK, "");
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_skip(&ring.parent, MSG_WORK_MAKE);
	req = ring_ask(USER_SESSION, PROTO_CREATE, &m);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_quiet(&ring.parent);
	/* Another one is not. */
	kvv_clear(&m.mounts_rw);
	ring_refused(ring_ask(USER_SESSION, PROTO_CREATE, &m),
	    CODE_CONFLICT);
	clear(&m);
	ring_stop();
}

/* The most of all that is told of one fits into a record. */
ATF_TC_WITHOUT_HEAD(most);
ATF_TC_BODY(most, tc)
{
	struct proto_create	 m;
	struct got		 g;
	char			 key[SBX_LABEL_KEY_MAX + 1];
	char			 value[SBX_LABEL_VALUE_MAX + 1];
	char			 place[64], path[64];
	int			 i;

	(void)tc;
	ring_up();
	memset(&m, 0, sizeof(m));
	m.workdir = strdup("");
	memset(m.id, 'i', SBX_ID_MAX);
	for (i = 0; i < 16; i++) {
		memset(key, 'k', sizeof(key) - 1);
		memset(value, 'v', sizeof(value) - 1);
		key[0] = value[0] = (char)('a' + i);
		key[sizeof(key) - 1] = value[sizeof(value) - 1] = '\0';
		snprintf(place, sizeof(place), "/%047d", i);
		snprintf(path, sizeof(path), "/%047d", i);
		ATF_REQUIRE(kvv_add(&m.labels, key, value) == 0 &&
		    kvv_add(&m.mounts_rw, place, path) == 0);
	}
	m.lifetime = m.idle = SBX_TIME_MAX;
	m.memory = m.tmpfs = 1 << 30;
	(void)ring_ask(USER_SESSION, PROTO_CREATE, &m);
	ring_get(&ring.parent, MSG_MOUNTS_CHECK, &g);
	judged(g.m.mounts.ticket, CODE_OK, "");
	ring_done(&g);
	ring_answered(ring.req, PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	clear(&m);
	ring_stop();
}

/* After a crash it has as many, and no ticket that anybody knew of. */
ATF_TC_WITHOUT_HEAD(again);
ATF_TC_BODY(again, tc)
{
	struct proto_create	 m;
	struct got		 g;
	uint64_t		 ticket;
	uint32_t		 req;

	(void)tc;
	ring_up();
	fill(&m, "web");
	ticket = ask(&m, &req);
	judged(ticket, CODE_OK, "");
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_skip(&ring.parent, MSG_WORK_MAKE);
	ring_kill();
	ring_start();
	ring_engine(1);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	ATF_CHECK(g.m.work.mounts == 3 && g.m.work.ticket == 0);
	ring_done(&g);
	clear(&m);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, made);
	ATF_TP_ADD_TC(tp, failed);
	ATF_TP_ADD_TC(tp, dropped);
	ATF_TP_ADD_TC(tp, gone);
	ATF_TP_ADD_TC(tp, twice);
	ATF_TP_ADD_TC(tp, most);
	ATF_TP_ADD_TC(tp, again);
	return (atf_no_error());
}
