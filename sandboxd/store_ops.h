/* The steps of operations: who walks them, and who hears what came of them. */
#ifndef STORE_OPS_H
#define STORE_OPS_H

#include "store.h"

enum step {
	STEP_END,
	STEP_WORK_MAKE,
	STEP_LISTEN,
	STEP_BOX_CREATE,
	STEP_BOX_START,
	STEP_HELLO,
	STEP_HELD,
	STEP_BOX_PAUSE,
	STEP_BOX_UNPAUSE,
	STEP_BOX_UPDATE,
	STEP_GREET,
	STEP_GUEST_STOP,
	STEP_BOX_KILL,
	STEP_BOX_REMOVE,
	STEP_UNLISTEN,
	STEP_EXECS_END,
	STEP_WORK_REMOVE,
	STEP_READY,
	STEP_PAUSED,
	STEP_UNPAUSED,
	STEP_UPDATED,
	STEP_STOPPED,
	STEP_DELETED,
	STEP_CLEAN,
	STEP_OVER
};

/* store_ops.c: where it is, and whether a guest is to say hello at the end. */
enum step	 op_step(const struct sandbox *);
int		 op_begins(const struct sandbox *);
void		 op_deadline(int, short, void *);

/* store_outcome.c: the guest has come in, and which process it is is known. */
void		 op_meet(struct sandbox *);

#endif
