/*
 * What an exec has changed, as the runner has it: taken from its guest, told
 * with the end, and a guest that lies about it.
 *
 * regress-srcs: harness.c served.c
 */

#include <atf-c.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static int	 scoped;	/* of what some patterns name */

/* Exec k, of which the changes are wanted. */
static void
start_changes(struct rig *r, uint64_t n, uint64_t k)
{
	struct msg_start	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.k = k;
	strv_add(&m.argv, "sh");
	if (scoped) {
		strv_add(&m.include, "a");
		strv_add(&m.include, "b/**");
		strv_add(&m.exclude, "c");
	}
	m.dir = strdup("/tmp");
	m.flags = EXEC_CHANGES;
	strlcpy(m.exec, "box.1", sizeof(m.exec));
	say(r, MSG_START, 0, 0, &m);
	strv_clear(&m.argv);
	strv_clear(&m.include);
	strv_clear(&m.exclude);
	free(m.dir);
}

static void
changed(struct player *p, uint64_t k, uint32_t flags, uint64_t made,
    const char *list, size_t len)
{
	struct gp_changed	 m = { .flags = flags, .list = list,
				    .listlen = len, .text = "" };
	uint8_t			 buf[4096];
	ssize_t			 n;

	if (flags & GP_CHANGED_FAILED)
		m.text = "no\033";
	m.count[GP_MADE] = made;
	m.count[GP_RENAMED] = made > 0;
	n = gp_encode_changed(buf, sizeof(buf), k, &m);
	ATF_REQUIRE(n > 0);
	player_send(p, buf, n);
}

static struct player *
boot_changes(struct rig *r, uint64_t n)
{
	struct player	*p = boot(r, n);
	struct gp_frame	 f;
	struct gp_start	 s;

	start_changes(r, n, 1);
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(0, gp_decode_start(&s, &f));
	ATF_CHECK_EQ(GP_START_CHANGES, s.flags);
	player_started(p, 1, 10);
	from_store(r, MSG_STARTED);
	return (p);
}

ATF_TC(told);
ATF_TC_HEAD(told, tc)
{
	atf_tc_set_md_var(tc, "descr", "changes are told with the end");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(told, tc)
{
	static const char	 list[] = "\1a\n\\\377\0\4new/\0old/";
	static char		 tabs[GP_CHANGES_LIST];
	struct rig		*r = rig_new();
	struct player		*p;
	struct msg_ended	*e;
	struct gp_frame		 f;
	size_t			 i;

	rig_start(r);
	p = boot_changes(r, 1);
	changed(p, 1, GP_CHANGED_SHARED, 1, list, sizeof(list));
	/* It comes again with each connection; the last one counts. */
	changed(p, 1, 0, 1, list, sizeof(list));
	player_exit(p, 1, 0, 0, 0);
	e = &from_store(r, MSG_ENDED)->u.ended;
	ATF_CHECK_EQ(1, e->changed);
	ATF_CHECK_EQ(0, e->shared + e->more + e->denied);
	ATF_CHECK_EQ(1, e->made);
	ATF_CHECK_EQ(1, e->renamed);
	ATF_CHECK_EQ(0, e->written + e->removed + e->altered);
	ATF_CHECK_STREQ("", e->why);
	ATF_CHECK_STREQ("made a\\012\\134\377\nrenamed new/\told/", e->list);
	/* Nothing is known, and the text is a stranger's. */
	start_changes(r, 1, 2);
	player_frame(p, GP_START, &f);
	changed(p, 2, GP_CHANGED_FAILED | GP_CHANGED_SHARED, 0, "", 0);
	player_exit(p, 2, 0, 0, 0);
	e = &from_store(r, MSG_ENDED)->u.ended;
	ATF_CHECK_EQ(1, e->changed);
	ATF_CHECK_EQ(1, e->shared);
	ATF_CHECK_STREQ("no?", e->why);
	ATF_CHECK_STREQ("", e->list);
	/* As numbers the names take more room than there is. */
	start_changes(r, 1, 3);
	player_frame(p, GP_START, &f);
	memset(tabs, '\t', sizeof(tabs));
	tabs[0] = GP_MADE;
	tabs[500] = '\0';
	tabs[501] = GP_MADE;
	tabs[1901] = '\0';
	tabs[1902] = GP_RENAMED;
	for (i = 1903; i < 2000; i++)
		tabs[i] = 'x';
	tabs[1950] = '\0';
	tabs[1999] = '\0';
	changed(p, 3, GP_CHANGED_MORE, 2, tabs, 2000);
	player_exit(p, 3, 0, 0, 0);
	e = &from_store(r, MSG_ENDED)->u.ended;
	ATF_CHECK_EQ(1, e->more);
	ATF_CHECK_EQ(2, e->made);
	ATF_CHECK_EQ(5 + 4 * 499, strlen(e->list));
	player_free(p);
	rig_end(r);
}

ATF_TC(scope);
ATF_TC_HEAD(scope, tc)
{
	atf_tc_set_md_var(tc, "descr", "patterns go to the guest, if it knows "
	    "what they are");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(scope, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_frame	 f;
	struct gp_start	 s;

	rig_start(r);
	scoped = 1;
	p = boot(r, 1);
	start_changes(r, 1, 1);
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(0, gp_decode_start(&s, &f));
	ATF_CHECK_EQ(GP_START_CHANGES | GP_START_SCOPE, s.flags);
	ATF_CHECK_STREQ("+a\n+b/**\n-c", s.scope);
	player_free(p);
	rig_end(r);
}

ATF_TC(older);
ATF_TC_HEAD(older, tc)
{
	atf_tc_set_md_var(tc, "descr", "a guest that cannot tell changes is "
	    "not asked for them");
	atf_tc_set_md_var(tc, "require.user", "root");
}
static void
too_old(uint32_t version)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_hello	 h;
	struct gp_frame	 f;
	struct got	*g;

	rig_start(r);
	/* One below it, and of one between the two no patterns. */
	scoped = version == GP_VERSION_SCOPE - 1;
	listen_box(r, 1, 0, 0);
	p = player_new(r, 1);
	player_connect(p);
	memset(&h, 0, sizeof(h));
	h.version = version;
	h.boot = p->boot;
	h.pid = 1;
	h.memory = h.swap = h.pids = h.mcpus = GP_UNKNOWN;
	h.release = "older";
	SEND(p, hello(B, &h));
	player_frame(p, GP_WELCOME, &f);
	player_states(p, NULL, NULL, 0);
	from_store(r, MSG_GUEST_HELLO);
	start_changes(r, 1, 1);
	g = from_store(r, MSG_NOT_STARTED);
	ATF_CHECK_EQ(1, g->u.not_started.k);
	ATF_CHECK_STREQ("the guest of this sandbox cannot tell what a command "
	    "changes", g->u.not_started.text);
	rig_alive(r);
	player_free(p);
	rig_end(r);
}
ATF_TC_BODY(older, tc)
{
	too_old(GP_VERSION_CHANGES - 1);
}
ATF_TC(older_scope);
ATF_TC_HEAD(older_scope, tc)
{
	atf_tc_set_md_var(tc, "descr", "one that knows no patterns gets none");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(older_scope, tc)
{
	too_old(GP_VERSION_SCOPE - 1);
}

static void
lie_silent(struct player *p)
{
	player_exit(p, 1, 0, 0, 0);
}

static void
lie_unasked(struct player *p)
{
	changed(p, 2, 0, 0, "", 0);
}

static void
lie_unknown(struct player *p)
{
	changed(p, 9, 0, 0, "", 0);
}

static void
lie_late(struct player *p)
{
	changed(p, 1, 0, 0, "", 0);
	player_exit(p, 1, 0, 0, 0);
	changed(p, 1, 0, 0, "", 0);
}

static void
lie_count(struct player *p)
{
	changed(p, 1, GP_CHANGED_MORE, 1, "\1a\0\1b", 6);
}

static void
lie_endless(struct player *p)
{
	changed(p, 1, GP_CHANGED_MORE, 1, "\1a", 2);
}

ATF_TC(lies);
ATF_TC_HEAD(lies, tc)
{
	atf_tc_set_md_var(tc, "descr", "a guest that lies about changes is "
	    "cut off");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(lies, tc)
{
	static void	(*const told[])(struct player *) = {
		lie_silent, lie_unasked, lie_unknown, lie_late, lie_count,
		lie_endless
	};
	struct rig	*r = rig_new();
	struct player	*p, *good;
	size_t		 i;

	rig_start(r);
	good = boot(r, 1);
	for (i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		p = boot_changes(r, 2 + i);
		start_exec(r, 2 + i, 2, 0, 0);
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
	ATF_TP_ADD_TC(tp, told);
	ATF_TP_ADD_TC(tp, older);
	ATF_TP_ADD_TC(tp, older_scope);
	ATF_TP_ADD_TC(tp, scope);
	ATF_TP_ADD_TC(tp, lies);
	return (atf_no_error());
}
