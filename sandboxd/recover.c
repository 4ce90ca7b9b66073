/*
 * Log and Engine compared, in one table.  sandboxd(8) prints the same, in
 * RECOVERY.  What the guest says comes by itself, and later: see there.
 */
#include "recover.h"

static const enum recover table[SBX_NSTATES][AT_NPLACES] = {
	[SBX_PENDING] = { REC_AGAIN, REC_AGAIN, REC_AGAIN, REC_AGAIN },
	[SBX_READY] = { REC_MISSING, REC_STOPPED, REC_KEEP, REC_FOREIGN },
	[SBX_PAUSING] = { REC_MISSING, REC_STOPPED, REC_AGAIN, REC_FOREIGN },
	[SBX_PAUSED] = { REC_MISSING, REC_STOPPED, REC_KEEP, REC_FOREIGN },
	[SBX_STOPPING] = { REC_AGAIN, REC_AGAIN, REC_AGAIN, REC_AGAIN },
	[SBX_STOPPED] = { REC_MISSING, REC_KEEP, REC_KILL, REC_KILL },
	[SBX_RESUMING] = { REC_AGAIN, REC_AGAIN, REC_AGAIN, REC_AGAIN },
	[SBX_DELETING] = { REC_AGAIN, REC_AGAIN, REC_AGAIN, REC_AGAIN },
	[SBX_DELETED] = { REC_KEEP, REC_UNDO, REC_UNDO, REC_UNDO },
	[SBX_FAILED] = { REC_KEEP, REC_UNDO, REC_UNDO, REC_UNDO },
};

static const char *const names[REC_NKINDS] = {
	"impossible", "-", "again", "missing", "stopped", "foreign", "kill",
	"remove"
};

enum recover
recover_judge(enum sbx_state state, enum at_engine at)
{
	if ((unsigned int)state >= SBX_NSTATES ||
	    (unsigned int)at >= AT_NPLACES)
		return (REC_IMPOSSIBLE);
	return (table[state][at]);
}

const char *
recover_name(enum recover r)
{
	if ((unsigned int)r >= REC_NKINDS)
		return (names[REC_IMPOSSIBLE]);
	return (names[r]);
}
