/* Fault points; only a build for tests has them. */

#include "fault.h"

#ifdef FAULTS
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
fault_point(const char *name)
{
	static const char	*spec;
	static long		 left;
	static size_t		 len;
	static int		 parsed;
	static int		 sig;
	const char		*colon;
	char			*end;

	if (!parsed) {
		parsed = 1;
		spec = getenv("SANDBOXD_FAULT");
		if (spec != NULL && (colon = strrchr(spec, ':')) != NULL) {
			len = colon - spec;
			left = strtol(colon + 1, &end, 10);
			sig = *end == 's' ? SIGSEGV : SIGKILL;
		}
	}
	if (left <= 0 || strncmp(spec, name, len) != 0 || name[len] != '\0')
		return;
	if (--left == 0) {
		kill(getpid(), sig);
		/* PID 1 of a namespace ignores its own SIGKILL. */
		_exit(137);
	}
}
#else
/* A file without a declaration is no C. */
typedef int	 fault_unused;
#endif
