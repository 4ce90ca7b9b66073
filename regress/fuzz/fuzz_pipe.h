/*
 * Of targets that are a file of a process: what it calls of those beside it,
 * where that is nothing to look at.
 */
#ifndef FUZZ_PIPE_H
#define FUZZ_PIPE_H

#include "msg.h"

/* A fault if it is no message, or is not read as it was written. */
void	 fuzz_sound(const struct msg_def *, const void *);

#endif
