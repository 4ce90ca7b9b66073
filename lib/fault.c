/* Fault points; only a build for tests has them. */

#include "fault.h"

#ifdef FAULTS
#include <sys/socket.h>

#include <errno.h>
#include <signal.h>
#include <stdint.h>
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

static const char *const	 peers[] = {
	"parent", "frontend", "store", "broker", "runner"
};
#define NPEERS	(sizeof(peers) / sizeof(peers[0]))
static int			 pipes[NPEERS] = { -1, -1, -1, -1, -1 };

/* As chan.c has it: length, type, operation, session, request, descriptor. */
static void
fault_nonsense(int sig, siginfo_t *si, void *arg)
{
	static const uint32_t	 unknown[8] = { 0, 9999 };
	static const uint32_t	 endless[8] = { UINT32_MAX, 1 };
	int			 saved = errno, v = si->si_value.sival_int;

	(void)sig;
	(void)arg;
	if (v >= 0 && (size_t)v / 2 < NPEERS && pipes[v / 2] != -1)
		(void)send(pipes[v / 2], v % 2 ? endless : unknown,
		    sizeof(unknown), MSG_NOSIGNAL | MSG_DONTWAIT);
	errno = saved;
}

void
fault_pipe(int fd, const char *peer)
{
	struct sigaction	 sa;
	const char		*v = getenv("SANDBOXD_SNDBUF");
	size_t			 i;
	int			 size;

	if (v != NULL) {
		size = atoi(v);
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size,
		    sizeof(size));
	}
	for (i = 0; i < NPEERS; i++)
		if (strcmp(peers[i], peer) == 0)
			pipes[i] = fd;
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = fault_nonsense;
	sa.sa_flags = SA_SIGINFO | SA_RESTART;
	sigemptyset(&sa.sa_mask);
	(void)sigaction(SIGUSR2, &sa, NULL);
}
#else
/* A file without a declaration is no C. */
typedef int	 fault_unused;
#endif
