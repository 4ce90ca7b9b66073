/*
 * The reaper of a command: a fork of PID 1, made ahead of time and waiting
 * for its command, whose streams it gets with the word to begin.  It is a
 * subreaper, starts the command and tells by shared memory what became of it.
 * If nothing of the tree is left then, it waits for the next command; else it
 * stays until the last has gone, and ends.
 *
 * The command has the same user and may kill or stop the reaper, and one that
 * waits for the next.  So each fact is in the shared memory before the kernel
 * is told to forget it, PID 1 goes on with what falls to it, and a reaper that
 * cannot begin dies, so that a new fork takes its place.
 */

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "guest.h"

#define INHERIT_MAX	1024	/* variables of the image that are passed on */
#ifndef W_EXITCODE
#define W_EXITCODE(code, sig)	((code) << 8 | (sig))
#endif

#define FD_CTL		3	/* the reaper's descriptor beside 0 to 2 */
#define STREAMS		3	/* which are those of the command */
#define DEFAULT_PATH	\
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#ifndef SYS_close_range
#define SYS_close_range	436
#endif

extern char	**environ;

static char	*argv[GP_MAX_ENTRIES + 1];
static char	*envp[GP_MAX_ENTRIES + INHERIT_MAX + 5];
static char	 path[PATH_MAX];

/* A control message with a command's streams. */
union streams {
	struct cmsghdr	 hdr;
	char		 buf[CMSG_SPACE(STREAMS * sizeof(int))];
};

/* Reapers that wait; one that is to end (-1) is here until it has. */
static struct idle {
	pid_t		 pid;
	int		 ctl;
	struct shared	*sh;
} idle[IDLE_MAX];
static int	 nidle;
static uint64_t	 idle_until;

void
close_from(int fd)
{
	struct rlimit	 rl;
	int		 max = 65536;

	if (syscall(SYS_close_range, (unsigned int)fd, ~0U, 0) == 0)
		return;
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < 65536)
		max = rl.rlim_cur;
	while (fd < max)
		close(fd++);
}

static void
wake(void)
{
	/* If it does not fit there is a byte to read already. */
	(void)send(FD_CTL, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int
env_has(const char *name, size_t len, int n)
{
	int	 i;

	for (i = 0; i < n; i++)
		if (strncmp(envp[i], name, len) == 0 && envp[i][len] == '=')
			return (1);
	return (0);
}

/*
 * HOME of an image is of no use to a user that the image does not know, and
 * what a build for tests tells us is for us alone.
 */
static int
env_useless(const char *s)
{
	return (strcmp(s, "HOME=/") == 0 || strcmp(s, "HOME=/root") == 0 ||
	    strncmp(s, "SANDBOXD_FAULT=", 15) == 0);
}

/* The command's variables first; then what the image has, then what lacks. */
static void
make_env(struct shared *sh)
{
	static char	*const lack[] = {
		DEFAULT_PATH, "HOME=" GUEST_WORKDIR,
	};
	static char	*const user[] = {
		"USER=sandbox", "LOGNAME=sandbox", "USER=root", "LOGNAME=root"
	};
	char		*s;
	const char	*p = NULL;
	size_t		 i;
	int		 n = 0, given;

	while ((p = gp_next(p, sh->data + sh->argslen, sh->envlen)) != NULL)
		envp[n++] = (char *)p;
	given = n;
	for (i = 0; i < INHERIT_MAX && environ[i] != NULL; i++) {
		s = environ[i];
		if (env_useless(s) || strchr(s, '=') == NULL ||
		    env_has(s, strcspn(s, "="), given))
			continue;
		envp[n++] = s;
	}
	for (i = 0; i < sizeof(lack) / sizeof(lack[0]); i++)
		if (!env_has(lack[i], strcspn(lack[i], "="), n))
			envp[n++] = lack[i];
	for (i = 0; i < 2; i++) {
		s = user[i + (getuid() == 0 ? 2 : 0)];
		if (!env_has(s, strcspn(s, "="), n))
			envp[n++] = s;
	}
	envp[n] = NULL;
}

static void
make_argv(struct shared *sh)
{
	const char	*p = NULL;
	int		 n = 0;

	while ((p = gp_next(p, sh->data, sh->argslen)) != NULL)
		argv[n++] = (char *)p;
	argv[n] = NULL;
}

/* As execvp(3), without its shell for what the kernel does not know. */
static int
exec_search(void)
{
	const char	*p, *e;
	size_t		 len, nlen = strlen(argv[0]);
	int		 i, error = ENOENT;

	if (nlen == 0)
		return (ENOENT);
	if (strchr(argv[0], '/') != NULL) {
		execve(argv[0], argv, envp);
		return (errno);
	}
	for (i = 0; strncmp(envp[i], "PATH=", 5) != 0; i++)
		;
	for (p = envp[i] + 5;; p = e + 1) {
		e = p + strcspn(p, ":");
		len = e - p;
		if (len + nlen + 2 <= sizeof(path)) {
			memcpy(path, p, len);
			if (len > 0)
				path[len++] = '/';
			memcpy(path + len, argv[0], nlen + 1);
			execve(path, argv, envp);
			if (errno == EACCES)
				error = EACCES;
			else if (errno != ENOENT && errno != ENOTDIR &&
			    errno != ELOOP && errno != ENAMETOOLONG)
				return (errno);
		}
		if (*e == '\0')
			return (error);
	}
}

/* In the child of vfork(): the memory is the reaper's until execve(). */
static __attribute__((__noreturn__)) void
run_command(struct shared *sh)
{
	const char	*dir = sh->data + sh->argslen + sh->envlen;
	sigset_t	 none;

	/* From here on PID 1 knows that this has begun, or forbids it. */
	if (!__sync_bool_compare_and_swap(&sh->pid, 0, getpid()))
		_exit(127);
	setsid();
	sh->where = AT_TTY;
	if ((sh->flags & GP_START_TTY) != 0 && tty_take() == -1) {
		sh->error = errno;
		_exit(127);
	}
	if ((sh->flags & GP_START_MERGE) != 0)
		dup2(STDOUT_FILENO, STDERR_FILENO);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	confine_undo();
	sh->where = AT_DIR;
	if (*dir != '\0' && chdir(dir) == -1) {
		sh->error = errno;
		_exit(127);
	}
	sh->where = AT_EXEC;
	sh->error = exec_search();
	_exit(127);
}

static void
reaper_start(struct shared *sh)
{
	pid_t	 pid;

	if ((pid = vfork()) == 0)
		run_command(sh);
	if (pid == -1) {
		sh->where = AT_FORK;
		sh->error = errno;
	} else	/* killed before it could say so itself */
		(void)!__sync_bool_compare_and_swap(&sh->pid, 0, pid);
}

/*
 * The word to begin.  The streams come with it and get the lowest numbers,
 * unless this reaper was made for them and has them.
 */
static void
reaper_wait(int have)
{
	union streams	 cm;
	struct msghdr	 mh;
	struct iovec	 iov;
	int		 fds[STREAMS], i;
	char		 c;
	ssize_t		 n;

	memset(&mh, 0, sizeof(mh));
	iov.iov_base = &c;
	iov.iov_len = 1;
	mh.msg_iov = &iov;
	mh.msg_iovlen = 1;
	mh.msg_control = &cm;
	mh.msg_controllen = sizeof(cm);
	while ((n = recvmsg(FD_CTL, &mh, 0)) == -1 && errno == EINTR)
		;
	if (n != 1)
		_exit(0);
	if (have)
		return;
	memset(fds, 0xff, sizeof(fds));
	if (mh.msg_controllen >= CMSG_LEN(sizeof(fds)))
		memcpy(fds, CMSG_DATA(&cm.hdr), sizeof(fds));
	for (i = 0; i < STREAMS; i++)
		if (fds[i] != i)	/* our limit of files was lowered */
			kill(getpid(), SIGKILL);
}

/* Until nothing is left: 1 if that was told with the first one's end. */
static int
reaper_reap(struct shared *sh)
{
	siginfo_t	 si;

	for (;;) {
		memset(&si, 0, sizeof(si));
		if (waitid(P_ALL, 0, &si, WEXITED | WNOWAIT) == -1) {
			if (errno == EINTR)
				continue;
			return (0);
		}
		if (si.si_pid == sh->pid && sh->stage == SH_RUNNING) {
			sh->status = si.si_code == CLD_EXITED ?
			    W_EXITCODE(si.si_status & 0xff, 0) :
			    si.si_status;
			sh->stage = SH_DYING;
			waitid(P_PID, si.si_pid, &si, WEXITED);
			/* Usually nothing is left: say both at once. */
			if (waitid(P_ALL, 0, &si, WEXITED | WNOWAIT |
			    WNOHANG) == -1 && errno == ECHILD) {
				sh->stage = SH_EMPTY;
				wake();
				return (1);
			}
			sh->stage = SH_ENDED;
			wake();
		} else
			waitid(P_PID, si.si_pid, &si, WEXITED);
	}
}

static __attribute__((__noreturn__)) void
reaper_main(struct shared *sh, int have)
{
	do {
		reaper_wait(have);
		have = 0;
		sh->stage = SH_TAKEN;
		fault("guest.start.before");
		make_argv(sh);
		make_env(sh);
		reaper_start(sh);
		explicit_bzero(sh->data, sh->argslen + sh->envlen);
		close(STDIN_FILENO);
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		fault("guest.start.begun");
		if (sh->error != 0) {
			sh->stage = SH_FAILED;
			wake();
			break;
		}
		sh->stage = SH_RUNNING;
		fault("guest.start.after");
		wake();
	} while (reaper_reap(sh));
	_exit(0);
}

/* The child of fork(): nothing of PID 1's may stay open here. */
static __attribute__((__noreturn__)) void
reaper_child(struct shared *sh, int ctl, const int *fds)
{
	int	 i;

	for (i = 0; i < STREAMS; i++) {
		if (fds == NULL)
			close(i);
		else if (dup2(fds[i], i) == -1)
			_exit(0);
	}
	if (dup2(ctl, FD_CTL) == -1)
		_exit(0);
	close_from(FD_CTL + 1);
	fcntl(FD_CTL, F_SETFD, FD_CLOEXEC);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	prctl(PR_SET_NAME, "guest-reaper", 0, 0, 0);
	reaper_main(sh, fds != NULL);
}

/* Commands shall be the kernel's first choice when memory runs out, not us. */
pid_t
fork_expendable(void)
{
	pid_t	 pid;
	int	 error;

	if (g.oomfd != -1)
		(void)!pwrite(g.oomfd, OOM_ADJ, strlen(OOM_ADJ), 0);
	pid = fork();
	if (pid == 0)
		return (0);
	error = errno;
	if (g.oomfd != -1)
		(void)!pwrite(g.oomfd, g.oomadj, strlen(g.oomadj), 0);
	errno = error;
	return (pid);
}

/* A fork for e's memory, with the streams or without. */
static int
reaper_fork(struct exec *e, const int *fds)
{
	int	 ctl[2], error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ctl) == -1)
		return (-1);
	if (watch_fd(ctl[0], SRC_CTL, exec_slot(e), 1) == -1)
		goto fail;
	if ((e->reaper = fork_expendable()) == 0)
		reaper_child(e->sh, ctl[1], fds);
	if (e->reaper == -1)
		goto fail;
	/* The next reapers shall not have this one's memory. */
	madvise(e->sh, sizeof(*e->sh), MADV_DONTFORK);
	e->ctl = ctl[0];
	close(ctl[1]);
	return (0);
fail:
	error = errno;
	close(ctl[0]);
	close(ctl[1]);
	errno = error;
	return (-1);
}

static int
reaper_new(struct exec *e)
{
	struct shared	*sh;
	int		 error;

	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED)
		return (-1);
	e->sh = sh;
	if (reaper_fork(e, NULL) == 0)
		return (0);
	error = errno;
	munmap(sh, sizeof(*sh));
	e->sh = NULL;
	errno = error;
	return (-1);
}

/* 1 if one that waits is e's now. */
static int
idle_take(struct exec *e)
{
	struct shared	*sh;
	int		 i;

	for (i = nidle - 1; i >= 0; i--) {
		if (idle[i].ctl == -1 || watch_again(idle[i].ctl, SRC_CTL,
		    exec_slot(e)) == -1)
			continue;
		e->reaper = idle[i].pid;
		e->ctl = idle[i].ctl;
		e->sh = sh = idle[i].sh;
		idle[i] = idle[--nidle];
		sh->pid = sh->error = sh->where = sh->status = 0;
		sh->stage = SH_IDLE;
		return (1);
	}
	return (0);
}

static void
idle_end(struct idle *r)
{
	if (r->ctl == -1)
		return;
	close(r->ctl);
	munmap(r->sh, sizeof(*r->sh));
	r->ctl = -1;
}

/* Nothing of e is left: its reaper is for the next one. */
void
reaper_recycle(struct exec *e)
{
	struct idle	*r;

	if (nidle >= g.idle_max || g.stopping) {
		reaper_close(e);
		return;
	}
	r = &idle[nidle++];
	r->pid = e->reaper;
	r->ctl = e->ctl;
	r->sh = e->sh;
	idle_until = g.now + IDLE_TIME;
	e->reaper = e->ctl = -1;
	e->sh = NULL;
	reaper_close(e);
}

int
reaper_is_idle(pid_t pid)
{
	int	 i;

	for (i = 0; i < nidle; i++)
		if (idle[i].pid == pid)
			return (1);
	return (0);
}

void
reaper_idle_ended(pid_t pid)
{
	int	 i;

	for (i = 0; i < nidle; i++)
		if (idle[i].pid == pid) {
			idle_end(&idle[i]);
			idle[i] = idle[--nidle];
			return;
		}
}

/*
 * Who has waited for long takes room among the sandbox's processes for
 * nothing.  Returns when to come again, 0 for never.
 */
uint64_t
reaper_timer(void)
{
	int	 i;

	if (nidle == 0 || idle_until == 0)
		return (0);
	if (g.now < idle_until && !g.stopping)
		return (idle_until);
	for (i = 0; i < nidle; i++)
		idle_end(&idle[i]);
	idle_until = 0;
	return (0);
}

/* A pipe of e's output.  The far end waits here until it is passed. */
static int
output_open(struct exec *e, int i, enum source src)
{
	int	 fd[2];

	if (pipe2(fd, O_CLOEXEC) == -1)
		return (-1);
	e->out[i].fd = fd[0];
	e->far[i] = fd[1];
	if (fcntl(fd[0], F_SETFL, O_RDONLY | O_NONBLOCK) == -1)
		return (-1);
	return (watch_fd(fd[0], src, exec_slot(e), 1));
}

/*
 * Gives e new pipes, and a reaper: a new one, or one that waits.  -1 with
 * errno: a limit, most likely.
 */
int
reaper_spawn(struct exec *e, int fresh)
{
	int	 error;

	if (output_open(e, 0, SRC_OUT) == 0 &&
	    output_open(e, 1, SRC_ERR) == 0 &&
	    ((!fresh && idle_take(e)) || reaper_new(e) == 0))
		return (0);
	error = errno;
	output_close(e, 0);
	output_close(e, 1);
	reaper_close(e);
	errno = error;
	return (-1);
}

/* Drops what is shared with it; if it still waits for a command it ends. */
void
reaper_close(struct exec *e)
{
	int	 i;

	for (i = 0; i < 2; i++) {
		if (e->far[i] != -1)
			close(e->far[i]);
		e->far[i] = -1;
	}
	if (e->ctl != -1)
		close(e->ctl);
	e->ctl = -1;
	if (e->sh != NULL)
		munmap(e->sh, sizeof(*e->sh));
	e->sh = NULL;
}

/* Our end of the input, if it has one.  Returns the other, or -1. */
static int
reaper_input(struct exec *e)
{
	int	 fd[2];

	if ((e->flags & GP_START_INPUT) == 0) {
		input_close(e);
		return (g.nullfd);
	}
	if (pipe2(fd, O_CLOEXEC) == -1)
		return (-1);
	e->in.fd = fd[1];
	if (fcntl(fd[1], F_SETFL, O_WRONLY | O_NONBLOCK) == -1 ||
	    watch_fd(fd[1], SRC_IN, exec_slot(e), 1) == -1) {
		close(fd[0]);
		return (-1);
	}
	return (fd[0]);
}

/* The streams and the word to begin. */
static int
reaper_pass(struct exec *e, const int *fds)
{
	union streams	 cm;
	struct msghdr	 mh;
	struct iovec	 iov;

	memset(&mh, 0, sizeof(mh));
	memset(&cm, 0, sizeof(cm));
	iov.iov_base = (void *)"";
	iov.iov_len = 1;
	mh.msg_iov = &iov;
	mh.msg_iovlen = 1;
	mh.msg_control = &cm;
	mh.msg_controllen = sizeof(cm);
	cm.hdr.cmsg_level = SOL_SOCKET;
	cm.hdr.cmsg_type = SCM_RIGHTS;
	cm.hdr.cmsg_len = CMSG_LEN(STREAMS * sizeof(int));
	memcpy(CMSG_DATA(&cm.hdr), fds, STREAMS * sizeof(int));
	return (sendmsg(e->ctl, &mh, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/* The pipes that were made ahead give way to a terminal. */
static int
reaper_tty(struct exec *e, int *fds)
{
	int	 i;

	for (i = 0; i < 2; i++) {
		output_close(e, i);
		close(e->far[i]);
		e->far[i] = -1;
	}
	if (tty_open(e) == -1)
		return (-1);
	fds[0] = fds[1] = fds[2] = e->tty;
	return (0);
}

static int
reaper_streams(struct exec *e, int *fds)
{
	if ((e->flags & GP_START_TTY) != 0)
		return (reaper_tty(e, fds));
	if ((fds[0] = reaper_input(e)) == -1)
		return (-1);
	fds[1] = e->far[0];
	fds[2] = e->far[1];
	return (0);
}

/* Once its files are marked, if they are to be. */
int
reaper_go(struct exec *e)
{
	int	 fds[STREAMS], error = 0, i;

	if (changed_marking(e))
		return (0);
	if (reaper_streams(e, fds) == -1)
		return (-1);
	if (reaper_pass(e, fds) == -1 && errno != EPIPE &&
	    errno != ECONNRESET) {
		/*
		 * A command may have as many descriptors under way as its
		 * user can: to a new reaper they need not be sent.
		 */
		close(e->ctl);
		e->ctl = -1;
		madvise(e->sh, sizeof(*e->sh), MADV_DOFORK);
		if (reaper_fork(e, fds) == -1)
			error = errno;
		else
			(void)send(e->ctl, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	/* A reaper that was killed meanwhile shows by its SIGCHLD. */
	if (fds[0] != g.nullfd && fds[0] != e->tty)
		close(fds[0]);
	for (i = 0; i < 2; i++) {
		if (e->far[i] != -1)
			close(e->far[i]);
		e->far[i] = -1;
	}
	errno = error;
	return (error == 0 ? 0 : -1);
}

/* -1 with errno: a limit again. */
int
reaper_give(struct exec *e, const struct gp_start *m)
{
	struct shared	*sh = e->sh;

	sh->flags = m->flags;
	sh->argc = m->argc;
	sh->envc = m->envc;
	sh->argslen = m->argslen;
	sh->envlen = m->envlen;
	memcpy(sh->data, m->args, m->argslen);
	memcpy(sh->data + m->argslen, m->env, m->envlen);
	memcpy(sh->data + m->argslen + m->envlen, m->dir, strlen(m->dir) + 1);
	return (reaper_go(e));
}

/* The first one was killed before it began: the same for the next. */
int
reaper_give_again(struct exec *e, const struct shared *old)
{
	struct shared	*sh = e->sh;

	sh->flags = old->flags;
	sh->argc = old->argc;
	sh->envc = old->envc;
	sh->argslen = old->argslen;
	sh->envlen = old->envlen;
	memcpy(sh->data, old->data, sizeof(sh->data));
	return (reaper_go(e));
}

uint32_t
reaper_cause(const struct shared *sh)
{
	switch (sh->error) {
	case EAGAIN:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		return (GP_NS_LIMIT);
	}
	if (sh->where == AT_TTY)
		return (GP_NS_ERROR);
	if (sh->where == AT_DIR)
		return (sh->error == EACCES || sh->error == EPERM ?
		    GP_NS_DIRACCES : GP_NS_NODIR);
	switch (sh->error) {
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case ENAMETOOLONG:
		return (GP_NS_NOENT);
	case EACCES:
	case EPERM:
	case EISDIR:
		return (GP_NS_ACCES);
	case ENOEXEC:
	case ELIBBAD:
		return (GP_NS_NOEXEC);
	case E2BIG:
		return (GP_NS_TOOBIG);
	default:
		return (GP_NS_ERROR);
	}
}
