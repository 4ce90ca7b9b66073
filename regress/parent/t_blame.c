/*
 * Over whom a process has crashed, and what becomes of them.
 */

#include <atf-c.h>
#include <signal.h>
#include <unistd.h>

#include "blame.h"
#include "proc.h"

#define MIN	(60 * 1000ULL)

ATF_TC_WITHOUT_HEAD(client);
ATF_TC_BODY(client, tc)
{
	uint64_t	 now = 1000;

	(void)tc;
	blame_crash(ROLE_FRONTEND, 1000, now);
	ATF_CHECK(!blame_is_out(1000, now));
	blame_crash(ROLE_FRONTEND, 1001, now);
	blame_crash(ROLE_FRONTEND, PROC_NOBODY, now);
	blame_crash(ROLE_FRONTEND, PROC_NOBODY, now);
	/* The second time, for a minute, and he alone. */
	blame_crash(ROLE_FRONTEND, 1000, now + 9 * MIN);
	ATF_CHECK(blame_is_out(1000, now + 9 * MIN));
	ATF_CHECK(blame_is_out(1000, now + 10 * MIN - 1));
	ATF_CHECK(!blame_is_out(1000, now + 10 * MIN));
	ATF_CHECK(!blame_is_out(1001, now + 9 * MIN));
	/* The third time for two. */
	blame_crash(ROLE_FRONTEND, 1000, now + 10 * MIN);
	ATF_CHECK(blame_is_out(1000, now + 12 * MIN - 1));
	ATF_CHECK(!blame_is_out(1000, now + 12 * MIN));
	/* Long after it is the first one again. */
	blame_crash(ROLE_FRONTEND, 1000, now + 30 * MIN);
	ATF_CHECK(!blame_is_out(1000, now + 30 * MIN));
	/* Never without bound. */
	for (int i = 0; i < 100; i++)
		blame_crash(ROLE_FRONTEND, 7, now + 30 * MIN);
	ATF_CHECK(blame_is_out(7, now + 89 * MIN));
	ATF_CHECK(!blame_is_out(7, now + 90 * MIN));
}

ATF_TC_WITHOUT_HEAD(root);
ATF_TC_BODY(root, tc)
{
	int	 i;

	(void)tc;
	for (i = 0; i < 5; i++)
		blame_crash(ROLE_FRONTEND, 0, 1000);
	ATF_CHECK(!blame_is_out(0, 1000));
}

ATF_TC_WITHOUT_HEAD(sandbox);
ATF_TC_BODY(sandbox, tc)
{
	uint64_t	 n = 0;

	(void)tc;
	blame_crash(ROLE_RUNNER, 5, 1000);
	blame_crash(ROLE_RUNNER, 6, 1000);
	ATF_CHECK_EQ(0, blame_next(&n));
	blame_crash(ROLE_RUNNER, 5, 2000);
	ATF_CHECK_EQ(1, blame_next(&n));
	ATF_CHECK_EQ(5, n);
	ATF_CHECK_EQ(0, blame_next(&n));
	/* A user and a sandbox of one number are not one. */
	blame_crash(ROLE_FRONTEND, 6, 2000);
	ATF_CHECK_EQ(0, blame_next(&n));
	ATF_CHECK(!blame_is_out(6, 2000));
	blame_crash(ROLE_STORE, 6, 2000);
	ATF_CHECK_EQ(0, blame_next(&n));
}

ATF_TC_WITHOUT_HEAD(many);
ATF_TC_BODY(many, tc)
{
	uint64_t	 i;

	(void)tc;
	/* More than there is room for: those longest ago give way. */
	for (i = 1; i <= 1000; i++)
		blame_crash(ROLE_FRONTEND, i, 1000 + i);
	blame_crash(ROLE_FRONTEND, 1000, 3000);
	ATF_CHECK(blame_is_out(1000, 3000));
	blame_crash(ROLE_FRONTEND, 1, 3000);
	ATF_CHECK(!blame_is_out(1, 3000));
}

ATF_TC_WITHOUT_HEAD(page);
ATF_TC_BODY(page, tc)
{
	uint64_t	 who = 42;
	int		 fd;

	(void)tc;
	ATF_REQUIRE((fd = blame_page()) != -1);
	ATF_CHECK_EQ(PROC_NOBODY, blame_read(fd));
	ATF_REQUIRE_EQ(8, pwrite(fd, &who, 8, 0));
	ATF_CHECK_EQ(42, blame_read(fd));
	/* One that its owner has cut off does no harm. */
	ATF_REQUIRE_EQ(0, ftruncate(fd, 3));
	ATF_CHECK_EQ(PROC_NOBODY, blame_read(fd));
	ATF_CHECK(blame_is_crash(SIGSEGV));
	ATF_CHECK(!blame_is_crash(SIGKILL));
	ATF_CHECK(!blame_is_crash(SIGTERM));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, client);
	ATF_TP_ADD_TC(tp, root);
	ATF_TP_ADD_TC(tp, sandbox);
	ATF_TP_ADD_TC(tp, many);
	ATF_TP_ADD_TC(tp, page);
	return (atf_no_error());
}
