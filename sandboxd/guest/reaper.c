/*
 * The reaper of one command: a fork of PID 1, made ahead of time and waiting
 * for its command.  It is a subreaper, starts the command, tells by shared
 * memory what became of it, and ends when nothing of its tree is left.
 *
 * The command has the same user and may kill or stop the reaper.  So each
 * fact is in the shared memory before the kernel is told to forget it, and
 * PID 1 goes on with what falls to it.
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

#define FD_CTL		3	/* the reaper's descriptors beside 0 to 2 */
#define FD_NULL		4
#define DEFAULT_PATH	\
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#ifndef SYS_close_range
#define SYS_close_range	436
#endif

extern char	**environ;

static char	*argv[GP_MAX_ENTRIES + 1];
static char	*envp[GP_MAX_ENTRIES + INHERIT_MAX + 5];
static char	 path[PATH_MAX];

/* Descriptors of a new reaper: ours and those that become its 0 to 3. */
struct ends {
	int	 in[2];
	int	 out[2];
	int	 err[2];
	int	 ctl[2];
};

static void
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
	int		 s;

	/* From here on PID 1 knows that this has begun, or forbids it. */
	if (!__sync_bool_compare_and_swap(&sh->pid, 0, getpid()))
		_exit(127);
	setsid();
	if ((sh->flags & GP_START_INPUT) == 0)
		dup2(FD_NULL, STDIN_FILENO);
	if ((sh->flags & GP_START_MERGE) != 0)
		dup2(STDOUT_FILENO, STDERR_FILENO);
	for (s = 1; s < 32; s++)
		if (s != SIGKILL && s != SIGSTOP)
			signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	if (g.nofile_raised)
		setrlimit(RLIMIT_NOFILE, &g.nofile);
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

static __attribute__((__noreturn__)) void
reaper_main(struct shared *sh)
{
	siginfo_t	 si;
	char		 c;
	ssize_t		 n;

	while ((n = read(FD_CTL, &c, 1)) == -1 && errno == EINTR)
		;
	if (n != 1)
		_exit(0);
	sh->stage = SH_TAKEN;
	fault("guest.start.before");
	make_argv(sh);
	make_env(sh);
	reaper_start(sh);
	explicit_bzero(sh->data, sh->argslen + sh->envlen);
	if (sh->error != 0) {
		sh->stage = SH_FAILED;
		wake();
		_exit(0);
	}
	sh->stage = SH_RUNNING;
	fault("guest.start.after");
	wake();
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	close(FD_NULL);
	for (;;) {
		memset(&si, 0, sizeof(si));
		if (waitid(P_ALL, 0, &si, WEXITED | WNOWAIT) == -1) {
			if (errno == EINTR)
				continue;
			_exit(0);
		}
		if (si.si_pid == sh->pid && sh->stage == SH_RUNNING) {
			sh->status = si.si_code == CLD_EXITED ?
			    W_EXITCODE(si.si_status & 0xff, 0) :
			    si.si_status;
			sh->stage = SH_DYING;
			waitid(P_PID, si.si_pid, &si, WEXITED);
			/* Usually nothing is left: say both at once. */
			if (waitid(P_ALL, 0, &si, WEXITED | WNOWAIT |
			    WNOHANG) == -1 && errno == ECHILD)
				sh->stage = SH_EMPTY;
			else
				sh->stage = SH_ENDED;
			wake();
		} else
			waitid(P_PID, si.si_pid, &si, WEXITED);
	}
}

/* The child of fork(): nothing of PID 1's may stay open here. */
static __attribute__((__noreturn__)) void
reaper_child(struct shared *sh, const struct ends *p)
{
	if (dup2(p->in[0], STDIN_FILENO) == -1 ||
	    dup2(p->out[1], STDOUT_FILENO) == -1 ||
	    dup2(p->err[1], STDERR_FILENO) == -1 ||
	    dup2(p->ctl[1], FD_CTL) == -1 || dup2(g.nullfd, FD_NULL) == -1)
		_exit(0);
	close_from(FD_NULL + 1);
	fcntl(FD_CTL, F_SETFD, FD_CLOEXEC);
	fcntl(FD_NULL, F_SETFD, FD_CLOEXEC);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	prctl(PR_SET_NAME, "guest-reaper", 0, 0, 0);
	reaper_main(sh);
}

static void
ends_close(struct ends *p)
{
	int	*fd = (int *)p;
	size_t	 i;

	for (i = 0; i < sizeof(*p) / sizeof(*fd); i++)
		if (fd[i] != -1)
			close(fd[i]);
}

static int
ends_open(struct ends *p)
{
	memset(p, 0xff, sizeof(*p));
	if (pipe2(p->in, O_CLOEXEC) == -1 ||
	    pipe2(p->out, O_CLOEXEC) == -1 ||
	    pipe2(p->err, O_CLOEXEC) == -1 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->ctl) == -1 ||
	    fcntl(p->in[1], F_SETFL, O_WRONLY | O_NONBLOCK) == -1 ||
	    fcntl(p->out[0], F_SETFL, O_RDONLY | O_NONBLOCK) == -1 ||
	    fcntl(p->err[0], F_SETFL, O_RDONLY | O_NONBLOCK) == -1)
		return (-1);
	return (0);
}

/* Commands shall be the kernel's first choice when memory runs out, not us. */
static pid_t
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

/* Gives e a reaper with new pipes.  -1 with errno: a limit, most likely. */
int
reaper_spawn(struct exec *e)
{
	struct ends	 p;
	struct shared	*sh = MAP_FAILED;
	uint32_t	 slot = exec_slot(e);
	int		 error;

	if (ends_open(&p) == -1)
		goto fail;
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED)
		goto fail;
	if (watch_fd(p.ctl[0], SRC_CTL, slot, 1) == -1 ||
	    watch_fd(p.out[0], SRC_OUT, slot, 1) == -1 ||
	    watch_fd(p.err[0], SRC_ERR, slot, 1) == -1)
		goto fail;
	if ((e->reaper = fork_expendable()) == 0)
		reaper_child(sh, &p);
	if (e->reaper == -1)
		goto fail;
	/* The next reapers shall not have this one's memory. */
	madvise(sh, sizeof(*sh), MADV_DONTFORK);
	e->sh = sh;
	e->ctl = p.ctl[0];
	e->in.fd = p.in[1];
	e->out[0].fd = p.out[0];
	e->out[1].fd = p.err[0];
	p.ctl[0] = p.in[1] = p.out[0] = p.err[0] = -1;
	ends_close(&p);
	return (0);
fail:
	error = errno;
	ends_close(&p);
	if (sh != MAP_FAILED)
		munmap(sh, sizeof(*sh));
	errno = error;
	return (-1);
}

/* Drops what is shared with it; if it still waits for a command it ends. */
void
reaper_close(struct exec *e)
{
	if (e->ctl != -1)
		close(e->ctl);
	e->ctl = -1;
	if (e->sh != NULL)
		munmap(e->sh, sizeof(*e->sh));
	e->sh = NULL;
}

/* It has an input, or none. */
int
reaper_input(struct exec *e)
{
	if ((e->flags & GP_START_INPUT) != 0)
		return (watch_fd(e->in.fd, SRC_IN, exec_slot(e), 1));
	input_close(e);
	return (0);
}

static void
reaper_go(struct exec *e)
{
	/* A reaper that was killed meanwhile shows by its SIGCHLD. */
	(void)send(e->ctl, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void
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
	reaper_go(e);
}

/* The first one was killed before it began: the same for the next. */
void
reaper_give_again(struct exec *e, const struct shared *old)
{
	struct shared	*sh = e->sh;

	sh->flags = old->flags;
	sh->argc = old->argc;
	sh->envc = old->envc;
	sh->argslen = old->argslen;
	sh->envlen = old->envlen;
	memcpy(sh->data, old->data, sizeof(sh->data));
	reaper_go(e);
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
