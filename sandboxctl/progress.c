/*
 * progress.c: how far a transfer is, on a terminal, for one that takes longer
 * than a second.  A timer says when it is time to tell; who moves bytes tells.
 */

#include <sys/ioctl.h>
#include <sys/time.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sandboxctl.h"

#define BAR_MAX	30
#define BAR_MIN	5
#define COLUMNS	80	/* where the terminal does not say */

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

/* On one line, whatever else would not go away: the bar gives way first. */
static void
progress_draw(void)
{
	struct timespec	 now;
	struct winsize	 ws;
	double		 s, m = done / 1048576.0;
	char		 bar[BAR_MAX + 1], text[80];
	int		 n = 0, size;
	unsigned int	 per = 100;

	clock_gettime(CLOCK_MONOTONIC, &now);
	s = now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9;
	if (done < total)
		per = (double)done / total * 100;
	if (total > 0)
		n = snprintf(text, sizeof(text), "%3u%% ", per);
	n += snprintf(text + n, sizeof(text) - n, "%.1f MiB, %.1f MiB/s", m,
	    s > 0 ? m / s : 0);
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) == -1 || ws.ws_col == 0)
		ws.ws_col = COLUMNS;
	/* Brackets, a space, and a last column that stays free. */
	size = ws.ws_col - n - 4;
	if (size > BAR_MAX)
		size = BAR_MAX;
	fprintf(stderr, "\r");
	if (total > 0 && size >= BAR_MIN) {
		memset(bar, ' ', size);
		memset(bar, '#', size * per / 100);
		fprintf(stderr, "[%.*s] ", size, bar);
	}
	fprintf(stderr, "%.*s\033[K", ws.ws_col - 1, text);
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
