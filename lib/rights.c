/* Descriptors that a stranger attaches to what it sends; Linux. */

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "rights.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS	83		/* Linux 6.16; earlier ones refuse it */
#endif

#define RIGHTS_US	1000		/* one that does not let go costs this */

static volatile sig_atomic_t	 late;
static int			 guarded;
static long			 slept;

/* How often we waited; to have the processor taken from us is not that. */
static long
rights_slept(void)
{
	struct rusage	 ru;

	return (getrusage(RUSAGE_SELF, &ru) == 0 ? ru.ru_nvcsw : 0);
}

static void
rights_alarm(int sig)
{
	(void)sig;
	late = 1;
}

/* What is accepted inherits it, also what is in the queue already. */
void
rights_refuse(int fd)
{
	int	 no = 0;

	(void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
}

/*
 * The timer goes on, so that a signal that comes before the wait is followed
 * by one that ends it.
 */
void
rights_begin(int fd)
{
	static int		 ready;
	struct itimerval	 it;
	struct sigaction	 sa;
	socklen_t		 len = sizeof(int);
	int			 passes = 1;

	if (getsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &passes, &len) == 0 &&
	    !passes)
		return;
	if (!ready) {
		memset(&sa, 0, sizeof(sa));
		sa.sa_handler = rights_alarm;
		sigemptyset(&sa.sa_mask);
		/* No SA_RESTART: it is to interrupt. */
		if (sigaction(SIGALRM, &sa, NULL) == -1)
			return;
		ready = 1;
	}
	late = 0;
	slept = rights_slept();
	memset(&it, 0, sizeof(it));
	it.it_value.tv_usec = it.it_interval.tv_usec = RIGHTS_US;
	guarded = setitimer(ITIMER_REAL, &it, NULL) == 0;
}

int
rights_end(void)
{
	struct itimerval	 it;

	if (!guarded)
		return (0);
	guarded = 0;
	memset(&it, 0, sizeof(it));
	(void)setitimer(ITIMER_REAL, &it, NULL);
	return (late && rights_slept() != slept);
}

void
rights_close(int fd)
{
	rights_begin(fd);
	/* Linux has closed it whatever it returns. */
	(void)close(fd);
	(void)rights_end();
}
