/*
 * session_ctl.c: "ctl", for the commands of sandboxctl that are no message of
 * the protocol, since half of their work is done here, with files: another
 * sandboxctl is run, with -j, and its output told as that of a command is.
 */

#include <sys/types.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session.h"

#define CTL_MAX		16	/* at a time */
#define CTL_READ	(48 * 1024)

/* What the process says, and what it gets. */
struct session_ctl {
	pid_t	 pid;
	int	 fd[3];		/* ours of its input and outputs; -1 */
	int	 end;		/* its input is complete */
};

static const struct msg_field	 f_exited[] = {
	{ "code", M_INT, 0, sizeof(int32_t), 0, 0 },
};
static const struct msg_def	 exited = {
	0, "exited", sizeof(int32_t), f_exited, 1
};

static unsigned int	 nctl;

static void
close_fd(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

/* sandboxctl -j -s socket argument ...; NULL without memory. */
static char **
ctl_argv(const struct call *c)
{
	const struct strv	*a = &c->l.extra.argv;
	char			**argv;

	if ((argv = calloc(a->n + 5, sizeof(*argv))) == NULL)
		return (NULL);
	argv[0] = (char *)(uintptr_t)"sandboxctl";
	argv[1] = (char *)(uintptr_t)"-j";
	argv[2] = (char *)(uintptr_t)"-s";
	argv[3] = (char *)(uintptr_t)ss.ctl->socket;
	if (a->n > 0)
		memcpy(argv + 4, a->v, a->n * sizeof(*argv));
	return (argv);
}

/* The child: the other ends are its streams. */
static __attribute__((__noreturn__)) void
ctl_exec(char **argv, int theirs[3], const sigset_t *mask)
{
	static const int	 ours[] = { SIGINT, SIGTERM, SIGHUP };
	size_t			 n;
	int			 i;

	/* What comes from now on is for it, and not for our handler. */
	for (n = 0; n < sizeof(ours) / sizeof(ours[0]); n++)
		if (signal(ours[n], SIG_DFL) == SIG_IGN)
			(void)signal(ours[n], SIG_IGN);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	for (i = 0; i < 3; i++)
		if (dup2(theirs[i], i) == -1)
			_exit(EXIT_OURS);
	execv("/proc/self/exe", argv);
	_exit(EXIT_OURS);
}

/* The ends of pipes; for an input that there is none of, nothing to read. */
static int
ctl_pipes(const struct call *c, int ours[3], int theirs[3])
{
	int	 i, p[2], ret = 0;

	for (i = 0; i < 3; i++)
		ours[i] = theirs[i] = -1;
	for (i = 0; i < 3 && ret == 0; i++) {
		if (i == 0 && !c->l.extra.input) {
			if ((theirs[0] = open("/dev/null",
			    O_RDONLY | O_CLOEXEC)) == -1)
				ret = -1;
			continue;
		}
		if ((ret = pipe2(p, O_CLOEXEC)) == -1)
			break;
		ours[i] = p[i == 0];
		theirs[i] = p[i != 0];
	}
	return (ret);
}

static int
ctl_fail(struct call *c)
{
	char	 text[128];

	snprintf(text, sizeof(text), "ctl: %s", strerror(errno));
	call_error(c, CODE_UNAVAILABLE, "", text);
	return (-1);
}

/* A signal that comes before its exec waits for it. */
static pid_t
ctl_fork(char **argv, int theirs[3])
{
	sigset_t	 all, mask;
	pid_t		 pid;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &mask);
	if ((pid = fork()) == 0)
		ctl_exec(argv, theirs, &mask);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	return (pid);
}

int
ctl_begin(struct call *c)
{
	struct session_ctl	*x;
	char			**argv, text[64];
	int			 theirs[3], i, ret;

	if (nctl >= CTL_MAX) {
		snprintf(text, sizeof(text), "too many of them: the limit is "
		    "%d", CTL_MAX);
		call_error(c, CODE_LIMIT_EXCEEDED, "", text);
		return (-1);
	}
	if ((x = calloc(1, sizeof(*x))) == NULL ||
	    (argv = ctl_argv(c)) == NULL) {
		free(x);
		return (ctl_fail(c));
	}
	x->pid = -1;
	if (ctl_pipes(c, x->fd, theirs) == 0)
		x->pid = ctl_fork(argv, theirs);
	ret = errno;
	for (i = 0; i < 3; i++)
		close_fd(&theirs[i]);
	free(argv);
	if (x->pid == -1) {
		for (i = 0; i < 3; i++)
			close_fd(&x->fd[i]);
		free(x);
		errno = ret;
		return (ctl_fail(c));
	}
	if (x->fd[0] != -1)
		(void)fcntl(x->fd[0], F_SETFL, O_NONBLOCK);
	nctl++;
	c->ctl = x;
	c->window = c->l.extra.window;
	call_local(c);
	return (0);
}

/* Into its input; what it does not read is dropped. */
void
ctl_feed(struct call *c)
{
	struct session_ctl	*x = c->ctl;
	struct call		*i;
	struct blob		*b;
	ssize_t			 n;

	while ((i = TAILQ_FIRST(&c->inputs)) != NULL) {
		b = &i->l.extra.data;
		while (i->done < b->len) {
			n = x->fd[0] == -1 ? (ssize_t)(b->len - i->done) :
			    write(x->fd[0], b->data + i->done,
			    b->len - i->done);
			if (n == -1 && (errno == EAGAIN || errno == EINTR))
				return;
			if (n == -1) {
				close_fd(&x->fd[0]);
				continue;
			}
			i->done += n;
			c->held -= n;
		}
		if (i->l.extra.end)
			close_fd(&x->fd[0]);
		call_end(i, NULL);
	}
}

void
ctl_fds(struct call *c, struct pollfd *pfd, int full)
{
	struct session_ctl	*x = c->ctl;
	int			 i;

	if (c->l.extra.window != 0 && c->window <= 0)
		full = 1;
	for (i = 0; i < SANDBOX_JOB_FDS; i++) {
		pfd[i].fd = -1;
		pfd[i].events = POLLIN;
		pfd[i].revents = 0;
	}
	if (!full) {
		pfd[0].fd = x->fd[1];
		pfd[1].fd = x->fd[2];
	}
	pfd[2].events = POLLOUT;
	if (!TAILQ_EMPTY(&c->inputs))
		pfd[2].fd = x->fd[0];
}

/* Both its outputs have ended, and so has it, or will at once. */
static void
ctl_over(struct call *c)
{
	struct session_ctl	*x = c->ctl;
	int32_t			 code = EXIT_OURS;
	int			 status;

	close_fd(&x->fd[0]);
	while (waitpid(x->pid, &status, 0) == -1)
		if (errno != EINTR)
			break;
	x->pid = -1;
	if (WIFEXITED(status))
		code = WEXITSTATUS(status);
	else if (WIFSIGNALED(status))
		code = EXIT_SIGNAL + WTERMSIG(status);
	json_answer(ss.out, c->l.id, &exited, &code);
	call_end(c, NULL);
}

void
ctl_turn(struct call *c, const struct pollfd *pfd)
{
	static char		 buf[CTL_READ];
	struct session_ctl	*x = c->ctl;
	ssize_t			 n;
	int			 i;

	ctl_feed(c);
	for (i = 1; i <= 2; i++) {
		if (pfd[i - 1].revents == 0 || x->fd[i] == -1)
			continue;
		n = read(x->fd[i], buf, sizeof(buf));
		if (n > 0)
			(void)job_out(c, i, buf, n);
		else if (n == 0 || errno != EINTR)
			close_fd(&x->fd[i]);
	}
	if (x->fd[1] == -1 && x->fd[2] == -1)
		ctl_over(c);
}

/* As by the one who would have run it: it ends what it has begun. */
void
ctl_cancel(struct call *c)
{
	c->cancelled = 1;
	c->l.extra.window = 0;
	(void)kill(c->ctl->pid, SIGTERM);
}

void
ctl_clear(struct call *c)
{
	struct session_ctl	*x = c->ctl;
	int			 i;

	if (x == NULL)
		return;
	for (i = 0; i < 3; i++)
		close_fd(&x->fd[i]);
	/* It may take its time to end what it has begun. */
	if (x->pid != -1)
		(void)kill(x->pid, SIGTERM);
	free(x);
	c->ctl = NULL;
	nctl--;
}
