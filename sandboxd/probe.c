/*
 * Builds for tests only: what a process tries of what it must not.  At GO the
 * one that SANDBOXD_PROBE names tries every call below, or the one that it
 * names, and writes into the log what came of it:
 *
 *	probe open: killed		the filter would have ended it
 *	probe open: EACCES		the kernel or the filter said so
 *	probe open: works
 *
 * A single one does end it.
 */

#include "spoil.h"

#ifdef FAULTS
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <netinet/in.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine.h"
#include "log.h"

/* Of whatever a call returns, only failure counts. */
#define CALL(...)	((int)syscall(__VA_ARGS__))

static int
try_open(void)
{
	return (open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int
try_root(void)
{
	return (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int
try_openat2(void)
{
	uint64_t	 how[3] = { O_RDONLY, 0, 0 };

	return (CALL(SYS_openat2, AT_FDCWD, "/etc/passwd", how, sizeof(how)));
}

static int
try_creat(void)
{
	return (open("/tmp/sandboxd.probe", O_WRONLY | O_CREAT | O_CLOEXEC,
	    0600));
}

static int
try_opendev(void)
{
	return (open("/dev/null", O_RDWR | O_CLOEXEC));
}

static int
try_socket_unix(void)
{
	return (socket(AF_UNIX, SOCK_STREAM, 0));
}

static int
try_socket_inet(void)
{
	return (socket(AF_INET, SOCK_STREAM, 0));
}

static int
try_socket_inet6(void)
{
	return (socket(AF_INET6, SOCK_DGRAM, 0));
}

static int
try_socket_netlink(void)
{
	return (socket(AF_NETLINK, SOCK_RAW, 0));
}

/* A descriptor is not what is asked about. */
static int
try_connect(void)
{
	struct sockaddr_un	 sun;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	strlcpy(sun.sun_path, "/nowhere", sizeof(sun.sun_path));
	return (connect(0, (struct sockaddr *)&sun, sizeof(sun)));
}

static int
try_connect_abstract(void)
{
	struct sockaddr_un	 sun;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	strlcpy(sun.sun_path + 1, "sandboxd.probe", sizeof(sun.sun_path) - 1);
	return (connect(socket(AF_UNIX, SOCK_STREAM, 0),
	    (struct sockaddr *)&sun, sizeof(sun)));
}

/* Nobody listens there, which is another answer than being forbidden. */
static int
try_connect_inet(void)
{
	struct sockaddr_in	 sin;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_port = htons(1);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return (connect(socket(AF_INET, SOCK_STREAM, 0),
	    (struct sockaddr *)&sin, sizeof(sin)));
}

static int
try_bind(void)
{
	struct sockaddr_un	 sun;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	strlcpy(sun.sun_path, "/tmp/sandboxd.probe.s", sizeof(sun.sun_path));
	return (bind(0, (struct sockaddr *)&sun, sizeof(sun)));
}

static int
try_accept(void)
{
	return (accept4(0, NULL, NULL, 0));
}

static int
try_execve(void)
{
	char	*argv[] = { NULL };

	return (execve("/bin/true", argv, argv));
}

static int
try_execveat(void)
{
	return (CALL(SYS_execveat, 3, "", NULL, NULL, AT_EMPTY_PATH));
}

static int
try_fork(void)
{
	pid_t	 pid;

	if ((pid = fork()) == 0)
		_exit(0);
	return (pid == -1 ? -1 : 0);
}

static int
try_ptrace(void)
{
	return (CALL(SYS_ptrace, PTRACE_ATTACH, getppid(), 0, 0));
}

static int
try_vm_read(void)
{
	return (CALL(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
}

static int
try_kill(void)
{
	return (kill(getppid(), 0));
}

static int
try_kill_all(void)
{
	return (kill(-1, 0));
}

static int
try_pidfd_open(void)
{
	return (CALL(SYS_pidfd_open, getppid(), 0));
}

static int
try_mmap_exec(void)
{
	return (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE |
	    MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
}

static int
try_mprotect_exec(void)
{
	void	*p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);

	return (mprotect(p, 4096, PROT_READ | PROT_EXEC));
}

static int
try_memfd(void)
{
	return (CALL(SYS_memfd_create, "probe", 0));
}

static int
try_setuid(void)
{
	return (CALL(SYS_setuid, 0));
}

static int
try_setgroups(void)
{
	return (CALL(SYS_setgroups, 0, NULL));
}

static int
try_capset(void)
{
	return (CALL(SYS_capset, NULL, NULL));
}

static int
try_setrlimit(void)
{
	struct rlimit	 rl = { 64, 64 };

	return (CALL(SYS_prlimit64, 0, RLIMIT_NOFILE, &rl, NULL));
}

static int
try_mount(void)
{
	return (mount("none", "/", "tmpfs", 0, NULL));
}

static int
try_chroot(void)
{
	return (chroot("/"));
}

static int
try_unshare(void)
{
	return (unshare(CLONE_NEWUSER));
}

static int
try_setns(void)
{
	return (setns(0, CLONE_NEWNET));
}

static int
try_bpf(void)
{
	return (CALL(SYS_bpf, 0, NULL, 0));
}

static int
try_keyctl(void)
{
	return (CALL(SYS_keyctl, 0, -1, 0));
}

static int
try_add_key(void)
{
	return (CALL(SYS_add_key, "user", "probe", "x", 1, -1));
}

static int
try_io_uring(void)
{
	return (CALL(SYS_io_uring_setup, 1, NULL));
}

static int
try_userfaultfd(void)
{
	return (CALL(SYS_userfaultfd, 0));
}

static int
try_perf(void)
{
	return (CALL(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int
try_seccomp(void)
{
	return (CALL(SYS_seccomp, 1, 0, NULL));
}

static int
try_dumpable(void)
{
	return (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static int
try_chmod(void)
{
	return (CALL(SYS_fchmodat, AT_FDCWD, "/", 0777));
}

static int
try_link(void)
{
	return (CALL(SYS_linkat, AT_FDCWD, "/a", AT_FDCWD, "/b", 0));
}

static int
try_symlink(void)
{
	return (CALL(SYS_symlinkat, "/a", AT_FDCWD, "/b"));
}

static int
try_mknod(void)
{
	return (CALL(SYS_mknodat, AT_FDCWD, "/probe", 0010600, 0));
}

static int
try_tiocsti(void)
{
	return (CALL(SYS_ioctl, 0, 0x5412, ""));
}

static int
try_setown(void)
{
	return (fcntl(3, F_SETOWN, getppid()));
}

static int
try_tomorrow(void)
{
	return (CALL(4095));
}

static int
try_x32(void)
{
	return (CALL(0x40000000 | SYS_getpid));
}

static int
try_getpid(void)
{
	return (CALL(SYS_getpid));
}

static int
try_memory(void)
{
	void	*p = malloc(4 * 1024 * 1024);
	int	 ret = p == NULL ? -1 : 0;

	free(p);
	return (ret);
}

/* More than it may have, but less than would fit into any. */
static int
try_hog(void)
{
	static char	*hogged[4096];
	size_t		 i, n, size = 64 * 1024 * 1024;
	int		 error = 0;

	for (n = 0; n < sizeof(hogged) / sizeof(hogged[0]); n++)
		if ((hogged[n] = malloc(size)) == NULL) {
			error = errno;
			break;
		}
	for (i = 0; i < n; i++)
		free(hogged[i]);
	errno = error;
	return (error == 0 ? 0 : -1);
}

/* All that there is, for good: what is asked for next is refused. */
static int
try_starve(void)
{
	size_t	 size;

	for (size = 64 * 1024 * 1024; size > 8; size /= 2)
		while (malloc(size) != NULL)
			;
	return (0);
}

#define TRY(name)	{ #name, try_##name }

static const struct {
	const char	*name;
	int		(*fn)(void);
} tries[] = {
	TRY(open), TRY(root), TRY(openat2), TRY(creat), TRY(opendev),
	TRY(socket_unix),
	TRY(socket_inet), TRY(socket_inet6), TRY(socket_netlink),
	TRY(connect), TRY(connect_abstract), TRY(connect_inet), TRY(bind),
	TRY(accept),
	TRY(execve), TRY(execveat), TRY(fork), TRY(ptrace), TRY(vm_read),
	TRY(kill), TRY(kill_all), TRY(pidfd_open), TRY(mmap_exec),
	TRY(mprotect_exec), TRY(memfd), TRY(setuid), TRY(setgroups),
	TRY(capset), TRY(setrlimit), TRY(mount), TRY(chroot), TRY(unshare),
	TRY(setns), TRY(bpf), TRY(keyctl), TRY(add_key), TRY(io_uring),
	TRY(userfaultfd), TRY(perf), TRY(seccomp), TRY(dumpable), TRY(chmod),
	TRY(link), TRY(symlink), TRY(mknod), TRY(tiocsti), TRY(setown),
	TRY(tomorrow), TRY(x32), TRY(getpid), TRY(memory),
	TRY(hog), TRY(starve),
};

void
probe(void)
{
	const char	*which = getenv("SANDBOXD_PROBE");
	size_t		 i;
	int		 all, ret, error;

	if (which == NULL)
		return;
	all = strcmp(which, "all") == 0;
	for (i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		/* Nothing survives numbers of another architecture, or this. */
		if (all ? tries[i].fn == try_x32 || tries[i].fn == try_starve :
		    strcmp(which, tries[i].name) != 0)
			continue;
		if (all)
			confine_survive(1);
		ret = tries[i].fn();
		error = errno;
		if (all && confine_survive(0))
			log_info("probe %s: killed", tries[i].name);
		else
			log_info("probe %s: %s", tries[i].name, ret != -1 ?
			    "works" : strerrorname_np(error));
	}
	log_info("probe ends");
}
#else
/* A file without a declaration is no C. */
typedef int	 probe_unused;
#endif
