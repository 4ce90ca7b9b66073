/*
 * A terminal: how long a letter takes to come back, from the sandbox and to
 * the user's own terminal.
 */
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static int	 master;

/* cat on a terminal: what is typed is echoed by that. */
static pid_t
tty_begin(char *const argv[])
{
	struct winsize	 ws = { 24, 80, 0, 0 };
	pid_t		 pid;

	if ((pid = forkpty(&master, NULL, NULL, &ws)) == -1)
		err(1, "forkpty");
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	return (pid);
}

/* Reads until the letter has come. */
static void
await_letter(char ch)
{
	char	 buf[4096];
	ssize_t	 n;

	for (;;) {
		if ((n = read(master, buf, sizeof(buf))) <= 0)
			errx(1, "the terminal has ended");
		if (memchr(buf, ch, n) != NULL)
			return;
	}
}

static void
echo_one(void)
{
	static int	 i;
	char		 ch = 'A' + i++ % 26;

	if (write(master, &ch, 1) != 1)
		err(1, "terminal");
	await_letter(ch);
}

static void
echo_line(void)
{
	if (write(master, "\r", 1) != 1)
		err(1, "terminal");
	await_letter('\n');
}

static void
tty_end(pid_t pid)
{
	kill(pid, SIGKILL);
	if (waitpid(pid, NULL, 0) == -1)
		err(1, "waitpid");
	close(master);
}

static void
tty_run(char *const argv[], struct samples *s)
{
	pid_t	 pid = tty_begin(argv);
	int	 i;

	/* It says that it is there: what is typed before may come twice. */
	await_letter('#');
	for (i = 0; i < bench.n; i++) {
		timed(s, echo_one);
		/* A line that is too long is not echoed any more. */
		if (i % 64 == 63)
			echo_line();
	}
	tty_end(pid);
}

void
bench_tty(void)
{
	char	*ours[] = { (char *)(uintptr_t)bench.ctl, "-s",
		    (char *)(uintptr_t)bench.socket, "exec", "-it",
		    bench.box.id, "sh", "-c", "echo '#'; exec cat >/dev/null",
		    NULL };
	char	*host[] = { "/bin/busybox", "sh", "-c",
		    "echo '#'; exec cat >/dev/null", NULL };
	struct samples	 a = { 0 }, b = { 0 };

	tty_run(host, &b);
	tty_run(ours, &a);
	title("a terminal");
	row(ROW_ECHO, at(&a, 0.5), at(&b, 0.5));
	row(ROW_ECHO_99, at(&a, 0.99), at(&b, 0.99));
	samples_free(&a);
	samples_free(&b);
}
