/*
 * Where a test makes its folders: in the run's, which goes with all that a
 * test that failed has left in it.  By hand, without a run, in /tmp.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

/* The template of a name for mkdtemp(3), short enough for a socket in it. */
static inline void
scratch_template(char *buf, size_t len)
{
	const char	*dir = getenv("SBX_SCRATCH");

	snprintf(buf, len, "%s/t.XXXXXX", dir != NULL ? dir : "/tmp");
}

#endif
