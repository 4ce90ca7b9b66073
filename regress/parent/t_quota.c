/*
 * What limits come to for a user, and how fast a rate goes.
 */

#include <atf-c.h>
#include <stdio.h>
#include <string.h>

#include "msg.h"
#include "quota.h"

#define S	1000000000ULL

static struct limit_rules	 rules = TAILQ_HEAD_INITIALIZER(rules);
static struct limit_rule	 pool[8];
static uint32_t			 npool;

static void
add(enum who who, uint32_t id, enum limit l, uint64_t most)
{
	struct limit_rule	*r = &pool[npool++];

	r->w.who = who;
	r->w.id = id;
	r->limit = l;
	r->b.most = most;
	r->b.place = npool;
	TAILQ_INSERT_TAIL(&rules, r, entry);
}

ATF_TC_WITHOUT_HEAD(resolve);
ATF_TC_BODY(resolve, tc)
{
	static const uint64_t	 groups[] = { 4, 27 };
	struct rule_peer	 user = { 1000, 100, groups, 2 };
	struct rule_peer	 other = { 1001, 1001, NULL, 0 };
	struct rule_peer	 root = { 0, 0, NULL, 0 };
	struct bound		 b[LIMIT_MAX];
	int			 i;

	(void)tc;
	limits_resolve(&rules, &user, b);
	for (i = 0; i < LIMIT_MAX; i++)
		ATF_CHECK_EQ(0, b[i].most);
	add(WHO_ANY, 0, LIMIT_SANDBOXES, 1);
	add(WHO_ANY, 0, LIMIT_MEMORY, 2);
	add(WHO_GROUP, 27, LIMIT_SANDBOXES, 3);
	add(WHO_GROUP, 28, LIMIT_SANDBOXES, 4);
	add(WHO_USER, 1001, LIMIT_SANDBOXES, 5);
	add(WHO_GROUP, 0, LIMIT_EXECS, 6);
	add(WHO_USER, 0, LIMIT_CPUS, 7);
	limits_resolve(&rules, &user, b);
	ATF_CHECK_EQ(3, b[LIMIT_SANDBOXES].most);
	ATF_CHECK_EQ(3, b[LIMIT_SANDBOXES].place);
	ATF_CHECK_EQ(2, b[LIMIT_MEMORY].most);
	ATF_CHECK_EQ(0, b[LIMIT_EXECS].most);
	limits_resolve(&rules, &other, b);
	ATF_CHECK_EQ(5, b[LIMIT_SANDBOXES].most);
	ATF_CHECK_EQ(5, b[LIMIT_SANDBOXES].place);
	/* Root by its name alone. */
	limits_resolve(&rules, &root, b);
	ATF_CHECK_EQ(0, b[LIMIT_SANDBOXES].most);
	ATF_CHECK_EQ(0, b[LIMIT_EXECS].most);
	ATF_CHECK_EQ(7, b[LIMIT_CPUS].most);
}

ATF_TC_WITHOUT_HEAD(rate);
ATF_TC_BODY(rate, tc)
{
	struct bound	 b = { 4, 2000, 0 }, none = { 0, 0, 0 };
	struct bound	 odd = { 3, 1000, 0 };
	uint64_t	 bucket = 0, now = 1000 * S, wait;
	int		 i, n;

	(void)tc;
	for (i = 0; i < 100; i++)
		ATF_CHECK_EQ(0, limit_rate(&bucket, &none, now));
	/* Four at once, and then one each half second. */
	for (i = 0; i < 4; i++)
		ATF_CHECK_EQ(0, limit_rate(&bucket, &b, now));
	wait = limit_rate(&bucket, &b, now);
	ATF_CHECK_MSG(wait > 0 && wait <= 501, "%d", (int)wait);
	/* What is refused takes nothing: it has waited long enough then. */
	ATF_CHECK(limit_rate(&bucket, &b, now) == wait);
	ATF_CHECK_EQ(0, limit_rate(&bucket, &b, now + wait * 1000000));
	ATF_CHECK(limit_rate(&bucket, &b, now + wait * 1000000) > 0);
	/* After a long time four again, and no more. */
	now += 1000 * S;
	for (i = 0; i < 4; i++)
		ATF_CHECK_EQ(0, limit_rate(&bucket, &b, now));
	ATF_CHECK(limit_rate(&bucket, &b, now) > 0);
	/* In the long run it is what it says: also where it does not divide. */
	bucket = 0;
	for (i = n = 0; i < 10000; i++)
		n += limit_rate(&bucket, &odd, now + i * (S / 100)) == 0;
	ATF_CHECK_MSG(n >= 300 && n <= 303, "%d", n);
	/* A clock that is behind the bucket makes no room. */
	bucket = now + 10 * S;
	ATF_CHECK(limit_rate(&bucket, &b, now) > 0);
}

ATF_TC_WITHOUT_HEAD(pack);
ATF_TC_BODY(pack, tc)
{
	struct bound	 b[LIMIT_MAX], c[LIMIT_MAX];
	struct u64v	 v = { NULL, 0 };
	int		 i;

	(void)tc;
	ATF_CHECK_EQ(0, bounds_unpack(c, &v));
	memset(b, 0, sizeof(b));
	for (i = 0; i < LIMIT_MAX; i++) {
		ATF_CHECK_EQ(0, c[i].most);
		b[i].most = UINT64_MAX - i;
		b[i].per = 7 + i;
		b[i].place = 9 + i;
	}
	ATF_REQUIRE_EQ(0, bounds_pack(&v, b));
	ATF_CHECK_EQ(0, bounds_unpack(c, &v));
	ATF_CHECK(memcmp(b, c, sizeof(b)) == 0);
	v.n--;
	ATF_CHECK_EQ(-1, bounds_unpack(c, &v));
	u64v_clear(&v);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, resolve);
	ATF_TP_ADD_TC(tp, rate);
	ATF_TP_ADD_TC(tp, pack);
	return (atf_no_error());
}
