/*
 * What follows of what the log has of a sandbox and what the Engine has of
 * its container.
 */
#ifndef RECOVER_H
#define RECOVER_H

#include "lifecycle.h"

/* What the Engine has under the name and the mark of a sandbox. */
enum at_engine {
	AT_NONE,		/* no container */
	AT_ENDED,		/* one that does not run, or never did */
	AT_RUNS,		/* it runs, as the log last knew it */
	AT_OTHER,		/* it runs, but was started by somebody else */
	AT_NPLACES
};

enum recover {
	REC_IMPOSSIBLE,
	REC_KEEP,		/* the two agree */
	REC_AGAIN,		/* the operation begins again */
	REC_MISSING,		/* failed; or kept until it is certain */
	REC_STOPPED,		/* it has died */
	REC_FOREIGN,		/* it is not what we started: failed */
	REC_KILL,		/* it must not run: killed */
	REC_UNDO,		/* removed, as far as it is left */
	REC_NKINDS
};

enum recover	 recover_judge(enum sbx_state, enum at_engine);
const char	*recover_name(enum recover);

#endif
