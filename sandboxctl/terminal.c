/*
 * terminal.c: our own terminal, while it is the keyboard and the screen of a
 * command in a sandbox.  It is made raw, so that each key goes there, and is
 * as it was before whenever we stop, leave or die.
 */

#include <sys/ioctl.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "sandboxctl.h"

static struct termios		 saved;
static volatile sig_atomic_t	 raw;		/* it is not as it was */
static volatile sig_atomic_t	 away;		/* nobody hears the keys */
static volatile sig_atomic_t	 changed;	/* its size, or all of it */
static volatile sig_atomic_t	 stop;		/* we are to be stopped */

static void
term_set(const struct termios *t)
{
	sigset_t	 ttou, old;
	pid_t		 front = tcgetpgrp(STDIN_FILENO);

	/* In the background it is not ours to change. */
	if (front != -1 && front != getpgrp())
		return;
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &old);
	while (tcsetattr(STDIN_FILENO, TCSADRAIN, t) == -1 && errno == EINTR)
		;
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void
term_raw(void)
{
	struct termios	 t = saved;

	cfmakeraw(&t);
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	raw = 1;
	term_set(&t);
}

/* As it was.  Also from handlers of signals, and more than once. */
void
term_end(void)
{
	int	 save = errno;

	if (raw)
		term_set(&saved);
	raw = 0;
	errno = save;
}

int
term_is_raw(void)
{
	return (raw);
}

/* The daemon is not there: keys are ours again, and ^C leaves. */
void
term_away(int yes)
{
	away = yes;
	if (yes)
		term_end();
	else {
		term_raw();
		changed = 1;
		signals_wake();
	}
}

int
term_is_away(void)
{
	return (away);
}

static void
term_dies(int signo)
{
	term_end();
	/* The handler is gone by now. */
	raise(signo);
}

static void
term_told(int signo)
{
	int	 save = errno;

	if (signo == SIGTSTP)
		stop = 1;
	changed = 1;
	signals_wake();
	errno = save;
}

static int
term_signals(void)
{
	static const int	 told[] = { SIGWINCH, SIGTSTP, SIGCONT };
	static const int	 deadly[] = { SIGQUIT, SIGILL, SIGTRAP, SIGABRT,
		SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGALRM, SIGUSR1, SIGUSR2,
		SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO };
	struct sigaction	 sa;
	size_t			 i;

	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	/* A write that waits is interrupted: its terminal may stand still. */
	sa.sa_handler = term_told;
	for (i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (sigaction(told[i], &sa, NULL) == -1)
			return (-1);
	sa.sa_handler = term_dies;
	sa.sa_flags = SA_RESETHAND;
	for (i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		if (sigaction(deadly[i], &sa, NULL) == -1)
			return (-1);
	return (0);
}

/* -1 with errno. */
int
term_begin(void)
{
	if (tcgetattr(STDIN_FILENO, &saved) == -1 || term_signals() == -1)
		return (-1);
	if (atexit(term_end) != 0) {
		errno = ENOMEM;
		return (-1);
	}
	term_raw();
	return (0);
}

/* Stops us, if that was asked for.  1 if the size may be another one. */
int
term_news(void)
{
	if (stop) {
		stop = 0;
		term_end();
		(void)raise(SIGSTOP);
	}
	if (!changed)
		return (0);
	changed = 0;
	/* Who stopped us without asking has left it as it liked. */
	if (!away)
		term_raw();
	return (1);
}

/* Of the keyboard's, or of the screen's if that one has none. */
int
term_size(uint32_t *rows, uint32_t *cols)
{
	struct winsize	 ws;
	int		 fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (ioctl(fd, TIOCGWINSZ, &ws) == -1 || ws.ws_row == 0 ||
		    ws.ws_col == 0)
			continue;
		*rows = ws.ws_row;
		*cols = ws.ws_col;
		return (0);
	}
	return (-1);
}
