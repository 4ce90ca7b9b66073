/*
 * progress.c: how far a transfer is, on a terminal, for one that takes longer
 * than a second.  A timer says when it is time to tell; who moves bytes tells.
 */

#include <sys/time.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sandboxctl.h"

#define BAR	30

static volatile sig_atomic_t	 due;
static int			 shown, running;
static uint64_t			 done, total;
static struct timespec		 begun;

static void
progress_due(int signo)
{
	(void)signo;
	due = 1;
}

/* all: how many bytes there will be, 0 if nobody knows. */
void
progress_begin(const struct ctl *ctl, uint64_t all)
{
	struct itimerval	 it = { { 0, 500000 }, { 1, 0 } };
	struct sigaction	 sa;

	done = 0;
	total = all;
	if (ctl->json || !isatty(STDERR_FILENO))
		return;
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = progress_due;
	sa.sa_flags = SA_RESTART;
	sigemptyset(&sa.sa_mask);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	if (sigaction(SIGALRM, &sa, NULL) == 0 &&
	    setitimer(ITIMER_REAL, &it, NULL) == 0)
		running = 1;
}

static void
progress_draw(void)
{
	struct timespec	 now;
	double		 s, m = done / 1048576.0;
	char		 bar[BAR + 1];
	size_t		 n;

	clock_gettime(CLOCK_MONOTONIC, &now);
	s = now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9;
	if (total > 0) {
		n = done < total ? done * BAR / total : BAR;
		memset(bar, ' ', BAR);
		memset(bar, '#', n);
		bar[BAR] = '\0';
		fprintf(stderr, "\r[%s] %3u%% ", bar,
		    (unsigned int)(n == BAR ? 100 : done * 100 / total));
	} else
		fprintf(stderr, "\r");
	fprintf(stderr, "%.1f MiB, %.1f MiB/s\033[K", m, s > 0 ? m / s : 0);
	fflush(stderr);
	shown = 1;
}

void
progress_add(size_t n)
{
	done += n;
	if (!due)
		return;
	due = 0;
	progress_draw();
}

/* The line is empty again. */
void
progress_end(void)
{
	struct itimerval	 it = { { 0, 0 }, { 0, 0 } };

	if (!running)
		return;
	(void)setitimer(ITIMER_REAL, &it, NULL);
	running = due = 0;
	if (shown)
		fprintf(stderr, "\r\033[K");
	shown = 0;
}

uint64_t
progress_bytes(void)
{
	return (done);
}
