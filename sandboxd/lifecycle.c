/*
 * The life of a sandbox in one table.  sandboxd(8) prints the same.
 */
#include <string.h>

#include "lifecycle.h"

/*
 * Where a state follows itself and somebody has asked, what is asked for is
 * under way already, or changes no state.
 */
static const enum sbx_state table[SBX_NSTATES][VERB_MAX] = {
	[SBX_PENDING] = {
		[VERB_STOP] = SBX_STOPPING,
		[VERB_RESUME] = SBX_PENDING,
		[VERB_DELETE] = SBX_DELETING,
		[VERB_READY] = SBX_READY,
		[VERB_FAILED] = SBX_FAILED,
	},
	[SBX_READY] = {
		[VERB_EXEC] = SBX_READY,
		[VERB_STOP] = SBX_STOPPING,
		[VERB_PAUSE] = SBX_PAUSING,
		[VERB_RESTART] = SBX_RESUMING,
		[VERB_DELETE] = SBX_DELETING,
		[VERB_UPDATE] = SBX_READY,
		[VERB_PAUSED] = SBX_PAUSED,
		[VERB_FAILED] = SBX_FAILED,
		[VERB_DIED] = SBX_STOPPED,
	},
	[SBX_PAUSING] = {
		[VERB_STOP] = SBX_STOPPING,
		[VERB_PAUSE] = SBX_PAUSING,
		[VERB_DELETE] = SBX_DELETING,
		[VERB_PAUSED] = SBX_PAUSED,
		[VERB_UNPAUSED] = SBX_READY,
		[VERB_FAILED] = SBX_FAILED,
		[VERB_DIED] = SBX_STOPPED,
	},
	[SBX_PAUSED] = {
		[VERB_STOP] = SBX_STOPPING,
		[VERB_UNPAUSE] = SBX_RESUMING,
		[VERB_RESTART] = SBX_RESUMING,
		[VERB_RESUME] = SBX_RESUMING,
		[VERB_DELETE] = SBX_DELETING,
		[VERB_UPDATE] = SBX_PAUSED,
		[VERB_UNPAUSED] = SBX_READY,
		[VERB_FAILED] = SBX_FAILED,
		[VERB_DIED] = SBX_STOPPED,
	},
	[SBX_STOPPING] = {
		[VERB_STOP] = SBX_STOPPING,
		[VERB_DELETE] = SBX_DELETING,
		[VERB_STOPPED] = SBX_STOPPED,
		[VERB_FAILED] = SBX_FAILED,
	},
	[SBX_STOPPED] = {
		[VERB_RESTART] = SBX_RESUMING,
		[VERB_RESUME] = SBX_RESUMING,
		[VERB_DELETE] = SBX_DELETING,
		[VERB_UPDATE] = SBX_STOPPED,
		[VERB_FAILED] = SBX_FAILED,
	},
	[SBX_RESUMING] = {
		[VERB_STOP] = SBX_STOPPING,
		[VERB_RESUME] = SBX_RESUMING,
		[VERB_DELETE] = SBX_DELETING,
		[VERB_READY] = SBX_READY,
		[VERB_UNPAUSED] = SBX_READY,
		[VERB_PAUSED] = SBX_PAUSED,
		[VERB_DIED] = SBX_STOPPED,
		[VERB_STOPPED] = SBX_STOPPED,
		[VERB_FAILED] = SBX_FAILED,
	},
	[SBX_DELETING] = {
		[VERB_DELETE] = SBX_DELETING,
		[VERB_DELETED] = SBX_DELETED,
		[VERB_FAILED] = SBX_FAILED,
	},
	[SBX_DELETED] = {
		[VERB_DELETE] = SBX_DELETED,
	},
	[SBX_FAILED] = {
		[VERB_DELETE] = SBX_DELETING,
	},
};

static const char *const names[SBX_NSTATES] = {
	"none", "pending", "ready", "pausing", "paused", "stopping",
	"stopped", "resuming", "deleting", "deleted", "failed"
};

static const char *const verbs[VERB_MAX] = {
	"exec", "stop", "pause", "unpause", "restart", "resume", "delete",
	"update",
	"ready", "paused", "unpaused", "stopped", "deleted",
	"failed", "died"
};

static const char *const exec_names[EXEC_NSTATES] = {
	"none", "pending", "running", "exited", "signaled", "timed_out",
	"cancelled", "lost", "failed"
};

enum sbx_state
lifecycle_next(enum sbx_state state, enum sbx_verb verb)
{
	if ((unsigned int)state >= SBX_NSTATES ||
	    (unsigned int)verb >= VERB_MAX)
		return (SBX_NONE);
	return (table[state][verb]);
}

/* The states, as bits, that it can still come to, its own among them. */
uint32_t
lifecycle_reach(enum sbx_state state)
{
	uint32_t	 reach, before;
	int		 s, v;

	if ((unsigned int)state >= SBX_NSTATES)
		return (0);
	reach = 1U << state;
	do {
		before = reach;
		for (s = 0; s < SBX_NSTATES; s++)
			for (v = 0; reach & 1U << s && v < VERB_MAX; v++)
				reach |= 1U << lifecycle_next(s, v);
		/* That is how it says no. */
		reach &= ~(1U << SBX_NONE);
	} while (reach != before);
	return (reach);
}

const char *
lifecycle_name(enum sbx_state state)
{
	if ((unsigned int)state >= SBX_NSTATES)
		return ("unknown");
	return (names[state]);
}

enum sbx_state
lifecycle_state(const char *name)
{
	int	 i;

	for (i = SBX_NONE + 1; i < SBX_NSTATES; i++)
		if (strcmp(names[i], name) == 0)
			return (i);
	return (SBX_NONE);
}

const char *
lifecycle_verb(enum sbx_verb verb)
{
	if ((unsigned int)verb >= VERB_MAX)
		return ("unknown");
	return (verbs[verb]);
}

const char *
lifecycle_exec_name(enum exec_state state)
{
	if ((unsigned int)state >= EXEC_NSTATES)
		return ("unknown");
	return (exec_names[state]);
}

int
lifecycle_exec_ended(enum exec_state state)
{
	return (state != EXEC_NONE && state != EXEC_PENDING &&
	    state != EXEC_RUNNING);
}
