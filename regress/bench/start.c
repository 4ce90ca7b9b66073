/*
 * Start of the daemon: with an empty log, and with a long one.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define START_WAIT	120e6		/* us */

static pid_t	 started;

/* Starts it; until it answers: ms. */
static double
start(void)
{
	char			*argv[] = { (char *)(uintptr_t)bench.daemon,
				    "-d", "-f", (char *)(uintptr_t)bench.conf,
				    NULL };
	struct sandbox_error	 e;
	char			 path[1024];
	double			 begun;
	int			 log;

	snprintf(path, sizeof(path), "%s/start.log", bench.scratch);
	if ((log = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC,
	    0600)) == -1)
		err(1, "%s", path);
	begun = now();
	started = spawn(argv, log, log);
	close(log);
	for (;;) {
		if ((bench.conn = sandbox_open(bench.socket, "bench",
		    &e)) != NULL) {
			if (sandbox_ping(bench.conn) == 0)
				break;
			sandbox_close(bench.conn);
		}
		if (now() - begun > START_WAIT)
			errx(1, "the daemon does not answer: %s", e.text);
		if (waitpid(started, NULL, WNOHANG) == started)
			errx(1, "the daemon has ended");
		pause_ms(1);
	}
	return ((now() - begun) / 1e3);
}

/* All of them are gone: they hold the lock of the state directory. */
static void
stop(int sig)
{
	pid_t	 pid[DAEMON_MAX];
	int	 i, n;

	n = daemon_pids(pid, DAEMON_MAX);
	sandbox_close(bench.conn);
	if (kill(started, sig) == -1)
		err(1, "kill");
	while (waitpid(started, NULL, 0) == -1)
		if (errno != EINTR)
			err(1, "waitpid");
	for (i = 0; i < n; i++)
		while (pid[i] != started && !proc_gone(pid[i]))
			pause_ms(1);
}

/* How long a start takes after an end by that signal: the middle one. */
static double
starts(int sig)
{
	struct samples	 s = { 0 };
	double		 ms;
	int		 i;

	for (i = 0; i < bench.starts; i++) {
		(void)start();
		stop(sig);
		sample(&s, start());
		stop(SIGTERM);
	}
	ms = at(&s, 0.5);
	samples_free(&s);
	return (ms);
}

/* Events are written by another program, as the user who owns the log. */
static void
fill(void)
{
	char	 db[1024], n[12];
	char	*argv[] = { (char *)(uintptr_t)bench.filler, db, "1000", n,
		    NULL };

	snprintf(db, sizeof(db), "%s/db", bench.state);
	snprintf(n, sizeof(n), "%d", bench.logged);
	spawn_wait(argv);
}

void
bench_start(void)
{
	double	 none, none_killed;

	none = starts(SIGTERM);
	none_killed = starts(SIGKILL);
	fill();
	title("start with %d events, against none", bench.logged);
	row(ROW_START, starts(SIGTERM), none);
	row(ROW_START_KILLED, starts(SIGKILL), none_killed);
}
