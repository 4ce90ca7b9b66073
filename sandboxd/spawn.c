/*
 * Starts a child: this program once more, by the kernel's own name for it,
 * so that a new address space and no path is needed.  The exec happens while
 * the child is still root, since its user may not reach the program.
 */

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "parent.h"

#define ENV_MAX	24

#if defined(FAULTS) || defined(ASAN)
/*
 * What a build for tests hands on.  A value that is for one process names it:
 * "store:what".  What is to go wrong goes so in the first set alone, or in as
 * many as SANDBOXD_FAULT_SETS says: the set that replaces them is to live.
 */
static const struct {
	const char	*name;
	int		 first;		/* in the first sets */
	int		 one;		/* of one process */
} spawn_names[] = {
	{ "SANDBOXD_FAULT", 1, 0 },
	{ "SANDBOXD_BREAK", 1, 1 },
	{ "SANDBOXD_PROBE", 1, 1 },
	{ "SANDBOXD_EVIL", 1, 1 },
	{ "SANDBOXD_EVIL_ARG", 0, 0 },
	{ "SANDBOXD_LACK", 0, 0 },
	{ "SANDBOXD_TRAP", 0, 0 },
	{ "SANDBOXD_GUEST_FAULT", 0, 0 },
	{ "ASAN_OPTIONS", 0, 0 },
	{ "UBSAN_OPTIONS", 0, 0 },
	{ "SANDBOXD_SNDBUF", 0, 0 },
	{ "SANDBOXD_READ_WAIT", 0, 0 },
	{ "SANDBOXD_SLOW", 0, 0 },
	{ "LD_PRELOAD", 0, 0 },
	{ "LD_LIBRARY_PATH", 0, 0 },
	{ "SANDBOXD_SHIM", 0, 0 },
};

static size_t
spawn_tests(char **envp, uint32_t set, const char *role)
{
	static char	 values[nitems(spawn_names)][512];
	static char	 number[32], name[64];
	const char	*v;
	uint32_t	 sets = 1;
	size_t		 i, n = 0, len = strlen(role);

	if ((v = getenv("SANDBOXD_FAULT_SETS")) != NULL)
		sets = (uint32_t)atoi(v);
	for (i = 0; i < nitems(spawn_names); i++) {
		if ((v = getenv(spawn_names[i].name)) == NULL ||
		    (spawn_names[i].first && set > sets))
			continue;
		if (spawn_names[i].one) {
			if (strncmp(v, role, len) != 0 || v[len] != ':')
				continue;
			v += len + 1;
		}
		snprintf(values[i], sizeof(values[i]), "%s=%s",
		    spawn_names[i].name, v);
		envp[n++] = values[i];
	}
	snprintf(number, sizeof(number), "SANDBOXD_SET=%u", set);
	envp[n++] = number;
	snprintf(name, sizeof(name), "SANDBOXD_ROLE=%s", role);
	envp[n++] = name;
	return (n);
}
#endif

/* An empty environment but for what a build for tests needs. */
static void
spawn_environment(char **envp, uint32_t set, const char *role)
{
	static char	 path[] = "PATH=/usr/bin:/bin";
	size_t		 n = 0;

	envp[n++] = path;
#if defined(FAULTS) || defined(ASAN)
	n += spawn_tests(&envp[n], set, role);
#else
	(void)set;
	(void)role;
#endif
	envp[n] = NULL;
}

void
spawn_signals(void)
{
	sigset_t	 none;
	int		 sig;

	for (sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

pid_t
spawn_helper(int at)
{
	sigset_t	 all, old;
	pid_t		 pid;
	int		 from, lock;

	/* No handler of ours may run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	if ((pid = fork()) != 0) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		return (pid);
	}
	spawn_signals();
	/* Above all targets, so that none is closed before it is taken. */
	from = fcntl(at, F_DUPFD, 16);
	lock = fcntl(env.dir.lock, F_DUPFD, 16);
	if (from == -1 || lock == -1 || dup2(from, PROC_PIPE_FD) == -1 ||
	    dup2(lock, PROC_LOCK_FD) == -1)
		_exit(2);
	closefrom(PROC_LOCK_FD + 1);
	return (0);
}

/* Descriptors 0 to 5 and no other; what fails here ends the child. */
static void
spawn_descriptors(int pipefd, int lock, int page, int debug)
{
	int	 null, from, to, third;

	/* Above all targets, so that none is closed before it is taken. */
	from = fcntl(pipefd, F_DUPFD, 16);
	to = fcntl(lock, F_DUPFD, 16);
	third = fcntl(page, F_DUPFD, 16);
	if ((null = open("/dev/null", O_RDWR)) == -1 || from == -1 ||
	    to == -1 || third == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1 ||
	    (!debug && dup2(null, STDERR_FILENO) == -1) ||
	    dup2(from, PROC_PIPE_FD) == -1 || dup2(to, PROC_LOCK_FD) == -1 ||
	    dup2(third, PROC_PAGE_FD) == -1)
		_exit(1);
	closefrom(PROC_PAGE_FD + 1);
}

/* fork(2); a build for tests lets it fail for a child that is named. */
static pid_t
spawn_fork(const struct child *c)
{
#ifdef FAULTS
	char		 path[512];
	const char	*dir = getenv("SANDBOXD_NOFORK");

	if (dir != NULL) {
		snprintf(path, sizeof(path), "%s/%s", dir, c->name);
		if (access(path, F_OK) == 0) {
			errno = EAGAIN;
			return (-1);
		}
	}
#else
	(void)c;
#endif
	return (fork());
}

pid_t
spawn_child(struct child *c, int lock, int debug, int verbose, int *fdp)
{
	char	 n_debug[12], n_verbose[12], role[16], name[] = "sandboxd";
	char	*argv[] = { name, role, n_debug, n_verbose, NULL };
	char	*envp[ENV_MAX];
	sigset_t all, old;
	pid_t	 pid;
	int	 fds[2];

	snprintf(role, sizeof(role), "%s", c->name);
	snprintf(n_debug, sizeof(n_debug), "%d", debug);
	snprintf(n_verbose, sizeof(n_verbose), "%d", verbose);
	spawn_environment(envp, env.set, c->name);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == -1)
		return (-1);
	/* No handler of ours may run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	if ((pid = spawn_fork(c)) == 0) {
		spawn_signals();
		if (setsid() == -1)
			_exit(1);
		spawn_descriptors(fds[1], lock, c->page, debug);
		execve("/proc/self/exe", argv, envp);
		_exit(127);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(fds[1]);
	if (pid == -1 || proc_send_ids(fds[0], &c->ids) == -1) {
		if (pid != -1)
			(void)kill(pid, SIGKILL);
		close(fds[0]);
		return (-1);
	}
	*fdp = fds[0];
	return (pid);
}
