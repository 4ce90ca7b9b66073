/*
 * signals.c: INT, TERM and HUP as a descriptor that poll(2) tells of.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "sandboxctl.h"

static volatile sig_atomic_t	 got;
static int			 pipefd[2] = { -1, -1 };

static void
signals_handler(int signo)
{
	int	 save = errno;

	/*
	 * The second one is meant for us: leave, whatever is under way.  And
	 * so is the first while there is no daemon to hear of it.
	 */
	if (got != 0 || term_is_away()) {
		term_end();
		_exit(EXIT_SIGNAL + signo);
	}
	got = signo;
	signals_wake();
	errno = save;
}

/* The descriptor, or -1. */
int
signals_catch(void)
{
	static const int	 signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction	 sa, old;
	size_t			 i;

	if (pipefd[0] != -1)
		return (pipefd[0]);
	if (pipe2(pipefd, O_CLOEXEC | O_NONBLOCK) == -1)
		return (-1);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = signals_handler;
	sigemptyset(&sa.sa_mask);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* What nohup(1) or a shell had us ignore stays ignored. */
		if (sigaction(signals[i], NULL, &old) == 0 &&
		    old.sa_handler == SIG_IGN)
			continue;
		if (sigaction(signals[i], &sa, NULL) == -1)
			return (-1);
	}
	return (pipefd[0]);
}

/* The signal that came first, or 0. */
int
signals_got(void)
{
	return (got);
}

void
signals_wake(void)
{
	/* A full pipe wakes as well. */
	while (write(pipefd[1], "", 1) == -1 && errno == EINTR)
		;
}

void
signals_drain(void)
{
	char	 buf[64];

	while (read(pipefd[0], buf, sizeof(buf)) > 0)
		;
}
