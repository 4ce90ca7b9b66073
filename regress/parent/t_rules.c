/*
 * What rules come to for a user: the last one that matches wins.
 */

#include <atf-c.h>
#include <stdio.h>
#include <string.h>

#include "rules.h"

#define RULES	6
#define B(r)	(1U << RIGHT_##r)

/* A rule in short; place is its number in the case. */
struct line {
	int		 allow;
	uint32_t	 rights;
	enum who	 who;
	uint32_t	 id;
	int		 all;
};

#define ALLOW(r, who, id, all)	{ 1, r, WHO_##who, id, all }
#define DENY(r, who, id, all)	{ 2, r, WHO_##who, id, all }

static const struct {
	const char	*name;
	struct line	 lines[RULES];
	uint32_t	 own;
	uint32_t	 others;
	uint32_t	 exec_by;	/* whose word it is about own execs */
	uint32_t	 exec_others_by;
} cases[] = {
	{ "none", { { 0 } }, RIGHTS_SANDBOX, 0, 0, 0 },
	{ "allow somebody else", { ALLOW(RIGHTS_ALL, USER, 1001, 1) },
	    RIGHTS_SANDBOX, 0, 0, 0 },
	{ "allow user on all", { ALLOW(RIGHTS_SANDBOX, USER, 1000, 1) },
	    RIGHTS_SANDBOX, RIGHTS_OTHERS, 1, 1 },
	{ "allow first group", { ALLOW(B(EXEC), GROUP, 100, 1) },
	    RIGHTS_SANDBOX, B(EXEC), 1, 1 },
	{ "allow other group", { ALLOW(B(EXEC), GROUP, 27, 1) },
	    RIGHTS_SANDBOX, B(EXEC), 1, 1 },
	{ "allow no group of his", { ALLOW(B(EXEC), GROUP, 28, 1) },
	    RIGHTS_SANDBOX, 0, 0, 0 },
	{ "a group is no user", { ALLOW(B(EXEC), GROUP, 1000, 1) },
	    RIGHTS_SANDBOX, 0, 0, 0 },
	{ "deny any", { DENY(RIGHTS_ALL, ANY, 0, 1) }, 0, 0, 1, 1 },
	{ "deny, then allow", { DENY(RIGHTS_ALL, ANY, 0, 1),
	    ALLOW(B(EXEC), USER, 1000, 0) }, B(EXEC), 0, 2, 1 },
	{ "allow, then deny", { ALLOW(B(EXEC), USER, 1000, 1),
	    DENY(B(EXEC), ANY, 0, 1) }, RIGHTS_SANDBOX & ~B(EXEC), 0, 2, 2 },
	{ "what does not match does not win", {
	    DENY(B(EXEC), USER, 1000, 1), ALLOW(B(EXEC), USER, 1, 1) },
	    RIGHTS_SANDBOX & ~B(EXEC), 0, 1, 1 },
	{ "another right does not win", { DENY(B(EXEC), USER, 1000, 1),
	    ALLOW(B(STOP), USER, 1000, 1) },
	    RIGHTS_SANDBOX & ~B(EXEC), B(STOP), 1, 1 },
	{ "deny on own alone", { ALLOW(B(EXEC) | B(STOP), ANY, 0, 1),
	    DENY(B(EXEC), ANY, 0, 0) },
	    RIGHTS_SANDBOX & ~B(EXEC), B(EXEC) | B(STOP), 2, 1 },
	{ "images and admin have no others", {
	    ALLOW(RIGHTS_ALL, USER, 1000, 1) }, RIGHTS_ALL, RIGHTS_OTHERS,
	    1, 1 },
	{ "images on own", { ALLOW(B(IMAGES), GROUP, 27, 0) },
	    RIGHTS_SANDBOX | B(IMAGES), 0, 0, 0 },
	{ "six lines", { DENY(RIGHTS_ALL, ANY, 0, 1),
	    ALLOW(RIGHTS_SANDBOX, GROUP, 27, 0), DENY(B(DELETE), ANY, 0, 1),
	    ALLOW(B(EVENTS), USER, 1000, 1), DENY(B(EXEC), GROUP, 5, 1),
	    ALLOW(B(EXEC), USER, 1000, 0) },
	    RIGHTS_SANDBOX & ~B(DELETE), B(EVENTS), 6, 1 },
};

static void
resolve(const struct line *lines, uint32_t uid, struct rights *out)
{
	static const uint64_t	 groups[] = { 100, 4, 27 };
	struct rule_peer	 p = { uid, 100, groups, 3 };
	struct right_rules		 rules = TAILQ_HEAD_INITIALIZER(rules);
	struct right_rule		 r[RULES];
	uint32_t		 i;

	memset(r, 0, sizeof(r));
	for (i = 0; i < RULES && lines[i].allow != 0; i++) {
		r[i].w.who = lines[i].who;
		r[i].w.id = lines[i].id;
		r[i].allow = lines[i].allow == 1;
		r[i].rights = lines[i].rights;
		r[i].all = lines[i].all;
		r[i].place = i + 1;
		TAILQ_INSERT_TAIL(&rules, &r[i], entry);
	}
	rules_resolve(&rules, &p, out);
}

ATF_TC_WITHOUT_HEAD(table);
ATF_TC_BODY(table, tc)
{
	struct rights	 r;
	size_t		 i;

	(void)tc;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		resolve(cases[i].lines, 1000, &r);
		ATF_CHECK_EQ_MSG(cases[i].own, r.own, "%s: own %x",
		    cases[i].name, r.own);
		ATF_CHECK_EQ_MSG(cases[i].others, r.others, "%s: others %x",
		    cases[i].name, r.others);
		ATF_CHECK_EQ_MSG(cases[i].exec_by, r.own_by[RIGHT_EXEC],
		    "%s: by %u", cases[i].name, r.own_by[RIGHT_EXEC]);
		ATF_CHECK_EQ_MSG(cases[i].exec_others_by,
		    r.others_by[RIGHT_EXEC], "%s: others by %u",
		    cases[i].name, r.others_by[RIGHT_EXEC]);
	}
}

ATF_TC_WITHOUT_HEAD(root);
ATF_TC_BODY(root, tc)
{
	struct rights	 r;
	size_t		 i;

	(void)tc;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		resolve(cases[i].lines, 0, &r);
		ATF_CHECK_EQ_MSG(RIGHTS_ALL, r.own, "%s", cases[i].name);
		ATF_CHECK_EQ_MSG(RIGHTS_ALL, r.others, "%s", cases[i].name);
	}
}

ATF_TC_WITHOUT_HEAD(kept);
ATF_TC_BODY(kept, tc)
{
	struct rights	 a, b;

	(void)tc;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	ATF_CHECK(rights_kept(&a, &b));
	b.own = B(EXEC);
	ATF_CHECK(rights_kept(&a, &b));
	ATF_CHECK(!rights_kept(&b, &a));
	a.own = B(EXEC) | B(STOP);
	ATF_CHECK(!rights_kept(&a, &b));
	a = b;
	a.others = B(EVENTS);
	ATF_CHECK(!rights_kept(&a, &b));
	ATF_CHECK(rights_kept(&b, &a));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, table);
	ATF_TP_ADD_TC(tp, root);
	ATF_TP_ADD_TC(tp, kept);
	return (atf_no_error());
}
