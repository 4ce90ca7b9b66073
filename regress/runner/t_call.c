/*
 * Calls: when a guest gets them.
 *
 * regress-srcs: harness.c served.c
 */

#include <atf-c.h>
#include <string.h>

#include "calls.h"
#include "harness.h"

/* Asks for a stat of a path; the frame that the guest gets. */
static void
ask(struct rig *r, struct player *p, struct gp_frame *f)
{
	static char	 path[] = "file", none[] = "";
	struct msg_call	 m;
	struct gp_call	 c;

	memset(&m, 0, sizeof(m));
	m.n = p->n;
	m.c.op = CALL_STAT;
	m.c.sandbox = m.c.path2 = m.c.pattern = m.c.filter = none;
	m.c.path = path;
	pipe_send(&r->store, MSG_CALL, 5, SESSION, ++r->req, -1, &m);
	ATF_REQUIRE_EQ(0, chan_flush_wait(&r->store));
	player_frame(p, GP_CALL, f);
	ATF_REQUIRE_EQ(0, gp_decode_call(&c, f));
	ATF_REQUIRE_EQ(CALL_STAT, c.op);
	ATF_REQUIRE_STREQ("file", c.path);
}

/* The guest's answer, and what the store hears. */
static void
answered(struct rig *r, struct player *p, uint64_t k)
{
	struct gp_call_end	 e;
	struct got		*g;

	memset(&e, 0, sizeof(e));
	e.code = CODE_FILE_NOT_FOUND;
	e.text = "no";
	SEND(p, call_end(B, k, &e));
	g = from_store(r, MSG_CALL_DONE);
	ATF_REQUIRE_EQ(r->req, g->req);
	ATF_REQUIRE_EQ(CODE_FILE_NOT_FOUND, g->u.call_done.code);
}

ATF_TC(early);
ATF_TC_HEAD(early, tc)
{
	atf_tc_set_md_var(tc, "descr", "a sandbox is ready with its guest's "
	    "first word, and takes calls from then on");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(early, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_frame	 f;

	rig_start(r);
	listen_box(r, 1, 0, 0);
	p = player_new(r, 1);
	player_connect(p);
	player_greet(p, 0);
	from_store(r, MSG_GUEST_HELLO);
	ask(r, p, &f);
	/* It has told of its commands before it answers anything. */
	player_states(p, NULL, NULL, 0);
	answered(r, p, f.k);
	rig_alive(r);
	player_free(p);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, early);
	return (atf_no_error());
}
