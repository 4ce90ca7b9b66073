/*
 * States of sandboxes and execs, and what is legal in which.
 */
#ifndef LIFECYCLE_H
#define LIFECYCLE_H

#include <stdint.h>

/* The numbers are in the database: append only. */
enum sbx_state {
	SBX_NONE,
	SBX_PENDING,
	SBX_READY,
	SBX_PAUSING,
	SBX_PAUSED,
	SBX_STOPPING,
	SBX_STOPPED,
	SBX_RESUMING,
	SBX_DELETING,
	SBX_DELETED,
	SBX_FAILED,
	SBX_NSTATES
};

enum sbx_verb {
	/* What clients ask for. */
	VERB_EXEC,
	VERB_STOP,
	VERB_PAUSE,
	VERB_UNPAUSE,
	VERB_RESTART,
	VERB_RESUME,
	VERB_DELETE,
	VERB_UPDATE,		/* its limits */
	/* What happens. */
	VERB_READY,
	VERB_PAUSED,
	VERB_UNPAUSED,
	VERB_STOPPED,
	VERB_DELETED,
	VERB_FAILED,
	VERB_DIED,		/* the container ended by itself */
	VERB_MAX
};

enum exec_state {
	EXEC_NONE,
	EXEC_PENDING,
	EXEC_RUNNING,
	EXEC_EXITED,
	EXEC_SIGNALED,
	EXEC_TIMED_OUT,
	EXEC_CANCELLED,
	EXEC_LOST,
	EXEC_FAILED,
	EXEC_NSTATES
};

/* The state that follows, or SBX_NONE if the verb is not legal. */
enum sbx_state	 lifecycle_next(enum sbx_state, enum sbx_verb);
uint32_t	 lifecycle_reach(enum sbx_state);
const char	*lifecycle_name(enum sbx_state);
enum sbx_state	 lifecycle_state(const char *);
const char	*lifecycle_verb(enum sbx_verb);
const char	*lifecycle_exec_name(enum exec_state);
int		 lifecycle_exec_ended(enum exec_state);

#endif
