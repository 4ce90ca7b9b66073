/*
 * The tables of states and of recovery in sandboxd(8) are those of the program.
 */

#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lifecycle.h"
#include "recover.h"

/* The verbs of a client in the page's columns, and what ends or happens. */
static const enum sbx_verb	 asked[] = {
	VERB_EXEC, VERB_STOP, VERB_PAUSE, VERB_UNPAUSE, VERB_RESTART,
	VERB_RESUME, VERB_DELETE, VERB_UPDATE
};
static const enum sbx_verb	 happens[] = {
	VERB_READY, VERB_PAUSED, VERB_UNPAUSED, VERB_DIED, VERB_STOPPED,
	VERB_DELETED, VERB_FAILED
};

static void
row_of(enum sbx_state state, char *row, size_t len)
{
	enum sbx_state	 next;
	char		 list[128] = "";
	size_t		 i;

	snprintf(row, len, ".It %s Ta", lifecycle_name(state));
	for (i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		strlcat(row, lifecycle_next(state, asked[i]) != SBX_NONE ?
		    " yes" : " -", len);
		strlcat(row, " Ta", len);
	}
	for (i = 0; i < sizeof(happens) / sizeof(happens[0]); i++) {
		next = lifecycle_next(state, happens[i]);
		if (next == SBX_NONE || strstr(list, lifecycle_name(next)))
			continue;
		strlcat(list, list[0] == '\0' ? " " : ", ", sizeof(list));
		strlcat(list, lifecycle_name(next), sizeof(list));
	}
	strlcat(row, list, len);
	strlcat(row, "\n", len);
}

static void
recover_row(enum sbx_state state, char *row, size_t len)
{
	int	 at;

	snprintf(row, len, ".It %s", lifecycle_name(state));
	for (at = 0; at < AT_NPLACES; at++) {
		strlcat(row, " Ta ", len);
		strlcat(row, recover_name(recover_judge(state,
		    (enum at_engine)at)), len);
	}
	strlcat(row, "\n", len);
}

ATF_TC_WITHOUT_HEAD(page);
ATF_TC_BODY(page, tc)
{
	char		 path[4096], row[512], page[262144];
	const char	*top = getenv("SBX_TOP");
	FILE		*fp;
	size_t		 n;
	int		 s;

	(void)tc;
	ATF_REQUIRE(top != NULL);
	snprintf(path, sizeof(path), "%s/man/sandboxd.8", top);
	ATF_REQUIRE((fp = fopen(path, "r")) != NULL);
	n = fread(page, 1, sizeof(page) - 1, fp);
	fclose(fp);
	page[n] = '\0';
	for (s = SBX_NONE + 1; s < SBX_NSTATES; s++) {
		row_of((enum sbx_state)s, row, sizeof(row));
		ATF_CHECK_MSG(strstr(page, row) != NULL,
		    "the page lacks: %s", row);
		recover_row((enum sbx_state)s, row, sizeof(row));
		ATF_CHECK_MSG(strstr(page, row) != NULL,
		    "the page lacks: %s", row);
	}
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, page);
	return (atf_no_error());
}
