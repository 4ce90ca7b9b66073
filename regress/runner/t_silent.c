/*
 * Guests that live and do not answer, or answer and do not obey: they are
 * asked when there is a reason, and it is told once.
 *
 * regress-srcs: harness.c served.c
 */

#include <atf-c.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "runner.h"

/* A limit that is over at once; with the grace and more, after a second. */
static void
start_limited(struct rig *r, uint64_t n, uint64_t k)
{
	struct msg_start	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.k = k;
	strv_add(&m.argv, "true");
	m.dir = strdup("/tmp");
	m.timeout = m.grace = 1;
	strlcpy(m.exec, "box.1", sizeof(m.exec));
	say(r, MSG_START, 0, 0, &m);
	strv_clear(&m.argv);
	free(m.dir);
}

/* An end is due after one second more; the others in seconds. */
static struct player *
up(struct rig *r, int look, int pong)
{
	runner_look_s = look;
	runner_pong_s = pong;
	runner_late_s = runner_obey_s = 1;
	rig_start(r);
	return (boot(r, 2));
}

static void
pong(struct player *p, const struct gp_frame *f)
{
	struct gp_ping	 m;

	ATF_REQUIRE_EQ(0, gp_decode_ping(&m, f));
	SEND(p, pong(B, &m));
}

static void
pinged(struct player *p)
{
	struct gp_frame	 f;

	player_frame(p, GP_PING, &f);
	pong(p, &f);
}

/* It is, of the guest that came, with so many ends that are due. */
static struct msg_guest_silent *
told(struct rig *r, struct player *p, size_t late, uint64_t probe)
{
	struct msg_guest_silent	*m;
	struct got		*g;

	g = from_store(r, MSG_GUEST_SILENT);
	m = (struct msg_guest_silent *)&g->u;
	ATF_CHECK_EQ(probe, g->op);
	ATF_CHECK_EQ(2, m->n);
	ATF_CHECK_EQ(p->boot, m->boot);
	ATF_CHECK_EQ(late * SILENT_FIELDS, m->late.n);
	return (m);
}

static void
probe(struct rig *r, uint64_t number)
{
	struct msg_listen	 m = { .n = 2, .owner = OWNER };

	say_op(r, MSG_PROBE, number, &m);
}

ATF_TC(start);
ATF_TC_HEAD(start, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c29) a guest that does not answer "
	    "START is asked, also if it comes again, and told once");
}
ATF_TC_BODY(start, tc)
{
	struct rig	*r = rig_new();
	struct player	*p = up(r, 1, 1);
	struct gp_frame	 f;

	start_exec(r, 2, 1, 0, 0);
	player_frame(p, GP_PING, &f);
	ATF_CHECK(strncmp(told(r, p, 0, 0)->text, "silent: ", 8) == 0);
	/* A new connection is no answer. */
	start_exec(r, 2, 2, 0, 0);
	player_cut(p);
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	player_frame(p, GP_START, &f);
	none_store(r, MSG_GUEST_SILENT);
	player_free(p);
	rig_end(r);
}

ATF_TC(away);
ATF_TC_HEAD(away, tc)
{
	atf_tc_set_md_var(tc, "descr", "a guest that does not come back, and "
	    "for which a command waits, is silent; one without is let be");
}
ATF_TC_BODY(away, tc)
{
	struct rig	*r = rig_new();
	struct player	*p = up(r, 1, 1), *q;

	q = boot(r, 3);
	player_cut(q);
	player_cut(p);
	(void)from_store(r, MSG_GUEST_GONE);
	(void)from_store(r, MSG_GUEST_GONE);
	start_limited(r, 2, 1);
	(void)told(r, p, 0, 0);
	none_store(r, MSG_GUEST_SILENT);
	player_free(p);
	player_free(q);
	rig_end(r);
}

ATF_TC(again);
ATF_TC_HEAD(again, tc)
{
	atf_tc_set_md_var(tc, "descr", "who comes again in the meantime is "
	    "asked again, and who answers goes on");
}
ATF_TC_BODY(again, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_frame	 f;

	p = up(r, 1, 60);
	start_exec(r, 2, 1, 0, 0);
	player_frame(p, GP_PING, &f);
	player_cut(p);
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	player_frame(p, GP_PING, &f);
	pong(p, &f);
	player_started(p, 1, 5);
	player_exit(p, 1, 0, 0, 0);
	ATF_CHECK_EQ(0, from_store(r, MSG_ENDED)->u.ended.code);
	forget_exec(r, 2, 1);
	good_exec(r, p, 2);
	player_free(p);
	rig_end(r);
}

ATF_TC(limit);
ATF_TC_HEAD(limit, tc)
{
	atf_tc_set_md_var(tc, "descr", "the limit of a command is over, and "
	    "its guest says nothing: it is told what there is of it");
}
ATF_TC_BODY(limit, tc)
{
	struct msg_guest_silent	*m;
	struct rig		*r = rig_new();
	struct player		*p = up(r, 100, 1);
	struct gp_frame		 f;

	start_exec(r, 2, 1, 0, 0);
	start_limited(r, 2, 7);
	player_frame(p, GP_START, &f);
	player_frame(p, GP_START, &f);
	player_started(p, 7, 5);
	player_output(p, 7, GP_STDOUT, 0, "out", 3);
	m = told(r, p, 1, 0);
	ATF_CHECK_EQ(7, m->late.v[0]);
	ATF_CHECK_EQ(3, m->late.v[1]);
	ATF_CHECK_EQ(0, m->late.v[2]);
	player_free(p);
	rig_end(r);
}

ATF_TC(disobeys);
ATF_TC_HEAD(disobeys, tc)
{
	atf_tc_set_md_var(tc, "descr", "a guest that answers has a time more "
	    "to end its command, and then it is told");
}
ATF_TC_BODY(disobeys, tc)
{
	struct msg_guest_silent	*m;
	struct rig		*r = rig_new();
	struct player		*p = up(r, 100, 60);

	start_limited(r, 2, 1);
	pinged(p);
	none_store(r, MSG_GUEST_SILENT);
	pinged(p);
	m = told(r, p, 1, 0);
	ATF_CHECK_MSG(strstr(m->text, "answers") != NULL, "%s", m->text);
	player_free(p);
	rig_end(r);
}

/* A runner before this one has started it: it comes without a command. */
static void
start_resumed(struct rig *r, uint64_t n, uint64_t k)
{
	struct msg_start	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.k = k;
	m.dir = strdup("");
	m.timeout = m.grace = 1;
	m.again = 1;
	strlcpy(m.exec, "box.1", sizeof(m.exec));
	say(r, MSG_START, 0, 0, &m);
	free(m.dir);
}

ATF_TC(resumed);
ATF_TC_HEAD(resumed, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c29) what is left of a limit counts "
	    "in the next runner, whether the guest comes back or not");
}
ATF_TC_BODY(resumed, tc)
{
	struct rig	*r = rig_new();
	struct player	*p = up(r, 100, 2), *q;
	struct gp_frame	 f;

	start_resumed(r, 2, 1);
	player_frame(p, GP_RESUME, &f);
	player_started(p, 1, 5);
	pinged(p);
	pinged(p);
	ATF_CHECK_EQ(1, told(r, p, 1, 0)->late.v[0]);
	q = boot(r, 3);
	player_cut(q);
	(void)from_store(r, MSG_GUEST_GONE);
	start_resumed(r, 3, 4);
	ATF_CHECK_EQ(4, ((struct msg_guest_silent *)
	    &from_store(r, MSG_GUEST_SILENT)->u)->late.v[0]);
	player_free(p);
	player_free(q);
	rig_end(r);
}

ATF_TC(late);
ATF_TC_HEAD(late, tc)
{
	atf_tc_set_md_var(tc, "descr", "an end that comes late is one, and a "
	    "pause begins the time anew");
}
ATF_TC_BODY(late, tc)
{
	struct rig	*r = rig_new();
	struct player	*p = up(r, 100, 5);
	struct gp_frame	 f;

	start_limited(r, 2, 1);
	player_frame(p, GP_PING, &f);
	(void)told(r, p, 1, 0);
	/* It was paused, says the store. */
	probe(r, 77);
	pong(p, &f);
	pinged(p);
	(void)told(r, p, 1, 77);
	probe(r, 78);
	pinged(p);
	player_started(p, 1, 5);
	player_exit(p, 1, 0, 0, 0);
	ATF_CHECK_EQ(0, from_store(r, MSG_ENDED)->u.ended.code);
	none_store(r, MSG_GUEST_SILENT);
	forget_exec(r, 2, 1);
	good_exec(r, p, 2);
	player_free(p);
	rig_end(r);
}

ATF_TC(unasked);
ATF_TC_HEAD(unasked, tc)
{
	atf_tc_set_md_var(tc, "descr", "a PONG that nobody has asked for, or "
	    "with another number, is a breach; who works is not asked");
}
ATF_TC_BODY(unasked, tc)
{
	struct rig	*r = rig_new();
	struct player	*p = up(r, 100, 60), *q;
	struct gp_frame	 f;
	struct gp_ping	 m = { 4711 };

	q = boot(r, 3);
	SEND(q, pong(B, &m));
	ATF_CHECK_EQ(3, from_store(r, MSG_GUEST_BROKE)->u.gone.n);
	start_limited(r, 2, 1);
	player_frame(p, GP_PING, &f);
	SEND(p, pong(B, &m));
	ATF_CHECK_EQ(2, from_store(r, MSG_GUEST_BROKE)->u.gone.n);
	player_free(p);
	player_free(q);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, start);
	ATF_TP_ADD_TC(tp, away);
	ATF_TP_ADD_TC(tp, again);
	ATF_TP_ADD_TC(tp, limit);
	ATF_TP_ADD_TC(tp, disobeys);
	ATF_TP_ADD_TC(tp, resumed);
	ATF_TP_ADD_TC(tp, late);
	ATF_TP_ADD_TC(tp, unasked);
	return (atf_no_error());
}
