/*
 * Terminals, as the runner has them: sizes that are told, and guests without.
 *
 * regress-srcs: harness.c served.c
 */

#include <atf-c.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* Execs 1, on a terminal of 24 rows and 80 columns, and 2, on none. */
static void
start_both(struct rig *r, uint64_t n)
{
	struct msg_start	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.k = 1;
	strv_add(&m.argv, "sh");
	m.dir = strdup("/tmp");
	m.flags = EXEC_INPUT | EXEC_MERGE | EXEC_TTY;
	m.rows = 24;
	m.cols = 80;
	strlcpy(m.exec, "box.1", sizeof(m.exec));
	say(r, MSG_START, 0, 0, &m);
	strv_clear(&m.argv);
	free(m.dir);
	start_exec(r, n, 2, 0, 0);
}

static void
resize(struct rig *r, uint64_t n, uint64_t k, uint32_t rows, uint32_t cols)
{
	struct msg_resize	 m = { n, k, rows, cols };

	say(r, MSG_RESIZE, 0, 0, &m);
}

/* The next size that the guest is told, and of what. */
static void
sized(struct player *p, uint64_t k, uint32_t rows, uint32_t cols)
{
	struct gp_resize	 m;
	struct gp_frame		 f;

	player_frame(p, GP_RESIZE, &f);
	ATF_REQUIRE_EQ(0, gp_decode_resize(&m, &f));
	ATF_CHECK_EQ(k, f.k);
	ATF_CHECK_EQ(rows, m.rows);
	ATF_CHECK_EQ(cols, m.cols);
}

ATF_TC(size);
ATF_TC_HEAD(size, tc)
{
	atf_tc_set_md_var(tc, "descr", "the size of a terminal is told, also "
	    "after a new connection");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(size, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_frame	 f;
	struct gp_start	 s;
	struct gp_state	 st;
	uint64_t	 ks[1] = { 1 };

	rig_start(r);
	p = boot(r, 1);
	start_both(r, 1);
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(0, gp_decode_start(&s, &f));
	ATF_CHECK(f.k == 1 && s.rows == 24 && s.cols == 80);
	ATF_CHECK(s.flags & GP_START_TTY);
	player_frame(p, GP_START, &f);
	player_started(p, 1, 10);
	player_started(p, 2, 11);
	resize(r, 1, 1, 33, 101);
	sized(p, 1, 33, 101);
	/* What is on none, is not there, or is another sandbox's. */
	resize(r, 1, 2, 5, 5);
	resize(r, 1, 9, 5, 5);
	resize(r, 9, 1, 5, 5);
	player_exit(p, 2, 0, 0, 0);
	from_store(r, MSG_ENDED);
	resize(r, 1, 2, 5, 5);
	resize(r, 1, 1, 65535, 1);
	sized(p, 1, 65535, 1);
	/* The guest's connection is lost, and it is resized meanwhile. */
	player_cut(p);
	from_store(r, MSG_GUEST_GONE);
	resize(r, 1, 1, 50, 60);
	resize(r, 1, 1, 51, 61);
	player_connect(p);
	memset(&st, 0, sizeof(st));
	st.state = GP_ST_RUNNING;
	st.pid = 10;
	player_hello(p, &st, ks, 1);
	sized(p, 1, 51, 61);
	/* It has ended: nobody is told any more. */
	player_exit(p, 1, 0, 0, 0);
	do {
		;
	} while (from_store(r, MSG_ENDED)->u.ended.k != 1);
	resize(r, 1, 1, 70, 70);
	rig_alive(r);
	player_free(p);
	rig_end(r);
}

ATF_TC(storm);
ATF_TC_HEAD(storm, tc)
{
	atf_tc_set_md_var(tc, "descr", "of sizes that a guest does not read "
	    "the last one counts");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(storm, tc)
{
	struct rig		*r = rig_new();
	struct player		*p;
	struct gp_resize	 m;
	struct gp_frame		 f;
	uint32_t		 i, told = 0;

	rig_start(r);
	p = boot(r, 1);
	start_both(r, 1);
	player_frame(p, GP_START, &f);
	player_started(p, 1, 10);
	for (i = 1; i <= 300000; i++)
		resize(r, 1, 1, 1 + i % 1000, 1 + i % 60000);
	resize(r, 1, 1, 4321, 1234);
	do {
		player_frame(p, GP_RESIZE, &f);
		ATF_REQUIRE_EQ(0, gp_decode_resize(&m, &f));
		told++;
	} while (m.rows != 4321);
	ATF_CHECK_EQ(1234, m.cols);
	ATF_CHECK_MSG(told < 200000, "%u of them were kept", told);
	rig_alive(r);
	player_free(p);
	rig_end(r);
}

ATF_TC(older);
ATF_TC_HEAD(older, tc)
{
	atf_tc_set_md_var(tc, "descr", "a guest that knows no terminals is "
	    "told of none");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(older, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_hello	 h;
	struct gp_frame	 f;
	struct got	*g;

	rig_start(r);
	listen_box(r, 1, 0, 0);
	p = player_new(r, 1);
	player_connect(p);
	memset(&h, 0, sizeof(h));
	h.version = GP_VERSION_TTY - 1;
	h.boot = p->boot;
	h.pid = 1;
	h.memory = h.swap = h.pids = h.mcpus = GP_UNKNOWN;
	h.release = "older";
	SEND(p, hello(B, &h));
	player_frame(p, GP_WELCOME, &f);
	player_states(p, NULL, NULL, 0);
	from_store(r, MSG_GUEST_HELLO);
	start_both(r, 1);
	g = from_store(r, MSG_NOT_STARTED);
	ATF_CHECK_EQ(1, g->u.not_started.k);
	ATF_CHECK_STREQ("the guest of this sandbox has no terminals",
	    g->u.not_started.text);
	resize(r, 1, 1, 5, 5);
	player_frame(p, GP_START, &f);
	ATF_CHECK_EQ(2, f.k);
	resize(r, 1, 2, 5, 5);
	rig_alive(r);
	player_free(p);
	rig_end(r);
}

/* Why it has none is told by what the guest says of it. */
ATF_TC(none_left);
ATF_TC_HEAD(none_left, tc)
{
	atf_tc_set_md_var(tc, "descr", "no terminal is left, and that is said");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(none_left, tc)
{
	struct gp_not_started	 ns = { GP_NS_LIMIT, ENOSPC };
	struct rig		*r = rig_new();
	struct player		*p;
	struct gp_frame		 f;
	struct got		*g;

	rig_start(r);
	p = boot(r, 1);
	start_both(r, 1);
	player_frame(p, GP_START, &f);
	player_frame(p, GP_START, &f);
	SEND(p, not_started(B, 1, &ns));
	g = from_store(r, MSG_NOT_STARTED);
	ATF_CHECK_EQ(1, g->u.not_started.k);
	ATF_CHECK_MSG(strstr(g->u.not_started.text, "no terminal is left") !=
	    NULL, "%s", g->u.not_started.text);
	SEND(p, not_started(B, 2, &ns));
	g = from_store(r, MSG_NOT_STARTED);
	ATF_CHECK_STREQ(gp_cause_text(GP_NS_LIMIT), g->u.not_started.text);
	player_free(p);
	rig_end(r);
}

/* Of an exec on a terminal there is one output, and no size by the guest. */
static void
lie_stderr(struct player *p)
{
	player_output(p, 1, GP_STDERR, 0, "x", 1);
}

static void
lie_resize(struct player *p)
{
	struct gp_resize	 m = { 10, 10 };

	SEND(p, resize(B, 1, &m));
}

static void
lie_unknown(struct player *p)
{
	player_output(p, 3, GP_STDOUT, 0, "x", 1);
}

static void
lie_twice(struct player *p)
{
	player_exit(p, 1, 0, 0, 0);
	player_exit(p, 1, 0, 0, 0);
}

static void
lie_late(struct player *p)
{
	player_exit(p, 1, 0, 0, 0);
	player_output(p, 1, GP_STDOUT, 0, "x", 1);
}

static void
lie_input(struct player *p)
{
	struct gp_input_ack	 a = { .off = 1 };

	SEND(p, input_ack(B, 1, &a));
}

ATF_TC(lies);
ATF_TC_HEAD(lies, tc)
{
	atf_tc_set_md_var(tc, "descr", "a guest that lies about a terminal is "
	    "cut off");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(lies, tc)
{
	static void	(*const told[])(struct player *) = {
		lie_stderr, lie_resize, lie_unknown, lie_twice, lie_late,
		lie_input
	};
	struct rig	*r = rig_new();
	struct player	*p, *good;
	struct gp_frame	 f;
	size_t		 i;

	rig_start(r);
	good = boot(r, 1);
	for (i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		p = boot(r, 2 + i);
		start_both(r, 2 + i);
		player_frame(p, GP_START, &f);
		player_frame(p, GP_START, &f);
		player_started(p, 1, 10);
		told[i](p);
		ATF_REQUIRE_EQ(2 + i, from_store(r,
		    MSG_GUEST_BROKE)->u.gone.n);
		ATF_CHECK(player_eof(p));
		good_exec(r, good, i + 1);
		player_free(p);
	}
	player_free(good);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, size);
	ATF_TP_ADD_TC(tp, storm);
	ATF_TP_ADD_TC(tp, older);
	ATF_TP_ADD_TC(tp, none_left);
	ATF_TP_ADD_TC(tp, lies);
	return (atf_no_error());
}
