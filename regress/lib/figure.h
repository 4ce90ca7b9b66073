/*
 * How large a test is: a soak is told by the environment, as in sandboxd.subr.
 */
#ifndef FIGURE_H
#define FIGURE_H

#include <stdlib.h>
#include <string.h>

static inline int
figure(int small, int large)
{
	const char	*soak = getenv("SOAK");

	return (soak != NULL && strcmp(soak, "yes") == 0 ? large : small);
}

#endif
