/*
 * The table of a sandbox's life.
 */
#include <atf-c.h>
#include <string.h>

#include "lifecycle.h"

ATF_TC_WITHOUT_HEAD(table);
ATF_TC_BODY(table, tc)
{
	static const struct {
		enum sbx_state	 state;
		enum sbx_verb	 verb;
		enum sbx_state	 next;
	} asked[] = {
		{ SBX_READY, VERB_EXEC, SBX_READY },
		{ SBX_PENDING, VERB_STOP, SBX_STOPPING },
		{ SBX_READY, VERB_STOP, SBX_STOPPING },
		{ SBX_PAUSING, VERB_STOP, SBX_STOPPING },
		{ SBX_PAUSED, VERB_STOP, SBX_STOPPING },
		{ SBX_STOPPING, VERB_STOP, SBX_STOPPING },
		{ SBX_RESUMING, VERB_STOP, SBX_STOPPING },
		{ SBX_READY, VERB_PAUSE, SBX_PAUSING },
		{ SBX_PAUSING, VERB_PAUSE, SBX_PAUSING },
		{ SBX_PAUSED, VERB_UNPAUSE, SBX_RESUMING },
		{ SBX_READY, VERB_RESTART, SBX_RESUMING },
		{ SBX_PAUSED, VERB_RESTART, SBX_RESUMING },
		{ SBX_STOPPED, VERB_RESTART, SBX_RESUMING },
		{ SBX_PENDING, VERB_RESUME, SBX_PENDING },
		{ SBX_STOPPED, VERB_RESUME, SBX_RESUMING },
		{ SBX_PAUSED, VERB_RESUME, SBX_RESUMING },
		{ SBX_RESUMING, VERB_RESUME, SBX_RESUMING },
	};
	enum sbx_state	 want;
	size_t		 i;
	int		 s, v;

	for (s = SBX_NONE; s < SBX_NSTATES; s++)
		for (v = VERB_EXEC; v <= VERB_RESUME; v++) {
			want = SBX_NONE;
			for (i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
				if ((int)asked[i].state == s &&
				    (int)asked[i].verb == v)
					want = asked[i].next;
			ATF_CHECK_MSG(lifecycle_next(s, v) == want,
			    "%s while %s", lifecycle_verb(v),
			    lifecycle_name(s));
		}
}

ATF_TC_WITHOUT_HEAD(delete_everywhere);
ATF_TC_BODY(delete_everywhere, tc)
{
	int	 s, v;

	for (s = SBX_NONE + 1; s < SBX_NSTATES; s++)
		ATF_CHECK_MSG(lifecycle_next(s, VERB_DELETE) ==
		    (s == SBX_DELETED ? SBX_DELETED : SBX_DELETING), "%s",
		    lifecycle_name(s));
	/* What is deleted stays so, whatever comes late. */
	for (v = 0; v < VERB_MAX; v++)
		if (v != VERB_DELETE)
			ATF_CHECK(lifecycle_next(SBX_DELETED, v) == SBX_NONE);
	for (v = 0; v < VERB_MAX; v++)
		if (v != VERB_DELETE && v != VERB_DELETED && v != VERB_FAILED)
			ATF_CHECK(lifecycle_next(SBX_DELETING, v) == SBX_NONE);
}

/* What is within reach: one's own, whatever one step leads to, and so on. */
ATF_TC_WITHOUT_HEAD(reach);
ATF_TC_BODY(reach, tc)
{
	const uint32_t	 end = 1U << SBX_DELETING | 1U << SBX_DELETED |
	    1U << SBX_FAILED;
	enum sbx_state	 next;
	int		 s, v;

	ATF_CHECK_EQ(1U << SBX_DELETED, lifecycle_reach(SBX_DELETED));
	ATF_CHECK_EQ(end, lifecycle_reach(SBX_FAILED));
	ATF_CHECK_EQ(end, lifecycle_reach(SBX_DELETING));
	ATF_CHECK_EQ(0, lifecycle_reach(SBX_NSTATES));
	ATF_CHECK(lifecycle_reach(SBX_PENDING) & 1U << SBX_READY);
	ATF_CHECK(lifecycle_reach(SBX_STOPPED) & 1U << SBX_READY);
	ATF_CHECK(!(lifecycle_reach(SBX_READY) & 1U << SBX_PENDING));
	for (s = SBX_NONE + 1; s < SBX_NSTATES; s++) {
		ATF_CHECK(lifecycle_reach(s) & 1U << s);
		ATF_CHECK(!(lifecycle_reach(s) & 1U << SBX_NONE));
		for (v = 0; v < VERB_MAX; v++)
			if ((next = lifecycle_next(s, v)) != SBX_NONE)
				ATF_CHECK_EQ(lifecycle_reach(next),
				    lifecycle_reach(s) & lifecycle_reach(next));
	}
}

ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	int	 s;

	for (s = SBX_NONE + 1; s < SBX_NSTATES; s++)
		ATF_CHECK((int)lifecycle_state(lifecycle_name(s)) == s);
	ATF_CHECK(lifecycle_state("nonsense") == SBX_NONE);
	ATF_CHECK(lifecycle_next(SBX_NSTATES, VERB_EXEC) == SBX_NONE);
	ATF_CHECK(lifecycle_next(SBX_READY, VERB_MAX) == SBX_NONE);
	ATF_CHECK(!lifecycle_exec_ended(EXEC_RUNNING));
	ATF_CHECK(lifecycle_exec_ended(EXEC_LOST));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, table);
	ATF_TP_ADD_TC(tp, delete_everywhere);
	ATF_TP_ADD_TC(tp, reach);
	ATF_TP_ADD_TC(tp, names);
	return (atf_no_error());
}
