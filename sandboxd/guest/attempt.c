/*
 * Builds for tests only: what PID 1 and a command each can do, tried from
 * where they are.  With SANDBOXD_FAULT=guest.attempt the guest tries each
 * call when it is confined, before it looks for the runner, and writes to its
 * standard output what came of it; a program of the tests has the same tries
 * as a command.  What each must find is in a table of the tests.
 */

#include "fault.h"

#ifdef FAULTS
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/capability.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attempt.h"

#define NOBODY	4194303		/* a number that no process has */
#define BAD	((void *)1)
#define CALL(...)	syscall(__VA_ARGS__)

#ifndef PR_GET_MDWE
#define PR_GET_MDWE	66
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr	442
#endif

/*
 * The arguments are such that another answer comes from the kernel than from
 * a filter, where an ordinary user can have another one.
 */
static const struct try {
	const char	*name;
	long		 call[6];
} calls[] = {
	{ "ptrace", { SYS_ptrace, PTRACE_ATTACH, NOBODY } },
	{ "vm_readv", { SYS_process_vm_readv, NOBODY } },
	{ "vm_writev", { SYS_process_vm_writev, NOBODY } },
	{ "kcmp", { SYS_kcmp, NOBODY, NOBODY } },
	{ "pidfd_getfd", { SYS_pidfd_getfd, -1, 0, 0 } },
	{ "move_pages", { SYS_move_pages, 0, 0, 0, 0, -1 } },
	{ "mount", { SYS_mount, 1, 1, 1 } },
	{ "umount", { SYS_umount2, 1, -1 } },
	{ "pivot_root", { SYS_pivot_root, 1, 1 } },
	{ "chroot", { SYS_chroot, 1 } },
	{ "open_tree", { SYS_open_tree, -1, 1, -1 } },
	{ "fsopen", { SYS_fsopen, 1, -1 } },
	{ "fsmount", { SYS_fsmount, -1, -1, -1 } },
	{ "mount_setattr", { SYS_mount_setattr, -1, 1, -1 } },
	{ "unshare", { SYS_unshare, -1 } },
	{ "setns", { SYS_setns, -1, 0 } },
	{ "clone_user", { SYS_clone, CLONE_NEWUSER | SIGCHLD } },
	{ "clone3", { SYS_clone3, 0, 0 } },
	{ "name_to_handle", { SYS_name_to_handle_at, -1, 1, 1, 1, -1 } },
	{ "bpf", { SYS_bpf, -1 } },
	{ "perf", { SYS_perf_event_open, 1, 0, 0, 0, -1 } },
	{ "userfaultfd", { SYS_userfaultfd, -1 } },
	{ "io_uring", { SYS_io_uring_setup, 1, 1 } },
	{ "keyctl", { SYS_keyctl, 9999 } },
	{ "add_key", { SYS_add_key, 1, 1 } },
	{ "syslog", { SYS_syslog, 10 } },
	{ "reboot", { SYS_reboot } },
	{ "sethostname", { SYS_sethostname, 1, 1 } },
#ifdef __x86_64__
	{ "modify_ldt", { SYS_modify_ldt, 0 } },
#endif
	{ "socket_unix", { SYS_socket, AF_UNIX, SOCK_STREAM } },
	{ "socket_inet", { SYS_socket, AF_INET, SOCK_STREAM } },
	{ "socket_netlink", { SYS_socket, AF_NETLINK, SOCK_RAW } },
	{ "socket_packet", { SYS_socket, AF_PACKET, SOCK_RAW } },
	{ "socket_vsock", { SYS_socket, 40, SOCK_STREAM } },
	{ "socket_alg", { SYS_socket, 38, SOCK_SEQPACKET } },
	{ "setuid", { SYS_setuid, 0 } },
	{ "setgid", { SYS_setgid, 0 } },
	{ "setgroups", { SYS_setgroups, 0 } },
	{ "pidfd_open", { SYS_pidfd_open, 1, 0 } },
	{ "kill_init", { SYS_kill, 1, SIGKILL } },
	{ "stop_init", { SYS_kill, 1, SIGSTOP } },
	{ "term_init", { SYS_kill, 1, SIGTERM } },
	{ "policy_init", { SYS_sched_setscheduler, 1, -1, 1 } },
	{ "policy_own", { SYS_sched_setscheduler, 0, -1, 1 } },
	{ "param_init", { SYS_sched_setparam, 1, 0 } },
	{ "attr_init", { SYS_sched_setattr, 1, 0, 0 } },
	{ "affinity_init", { SYS_sched_setaffinity, 1, 8, 1 } },
	{ "affinity_half", { SYS_sched_setaffinity, 0x500000001L, 8, 1 } },
	{ "affinity_own", { SYS_sched_setaffinity, 0, 8, 1 } },
	{ "ioprio_init", { SYS_ioprio_set, 1, 1, -1 } },
	{ "ioprio_group", { SYS_ioprio_set, 2, 1, -1 } },
	{ "ioprio_user", { SYS_ioprio_set, 3, 0, -1 } },
	{ "ioprio_own", { SYS_ioprio_set, 1, 0, -1 } },
	{ "nice_group", { SYS_setpriority, PRIO_PGRP, 1, 0 } },
	{ "nice_user", { SYS_setpriority, PRIO_USER, 0, 0 } },
};

/* Less than it has, which no right is needed for. */
static int
try_slow_init(void)
{
	long	 nice = 20 - CALL(SYS_getpriority, PRIO_PROCESS, 1);

	return (CALL(SYS_setpriority, PRIO_PROCESS, 1, nice < 5 ? 5 : nice));
}

/* As it is. */
static int
try_slow_own(void)
{
	return (CALL(SYS_setpriority, PRIO_PROCESS, 0,
	    20 - CALL(SYS_getpriority, PRIO_PROCESS, 0)));
}

static int
try_limit(pid_t pid, int set)
{
	struct rlimit	 rl;

	/* As the kernel has it on 64 bits. */
	if (CALL(SYS_prlimit64, pid, RLIMIT_NPROC, NULL, &rl) == -1)
		return (-1);
	return (set ? CALL(SYS_prlimit64, pid, RLIMIT_NPROC, &rl, NULL) : 0);
}

static int
try_limit_init(void)
{
	return (try_limit(1, 0));
}

static int
try_limit_init_set(void)
{
	return (try_limit(1, 1));
}

static int
try_limit_own_set(void)
{
	return (try_limit(0, 1));
}

static int
try_open(const char *path, int flags)
{
	int	 fd;

	if ((fd = open(path, flags | O_CLOEXEC)) == -1)
		return (-1);
	close(fd);
	return (0);
}

static int
try_init_mem(void)
{
	return (try_open("/proc/1/mem", O_RDWR));
}

static int
try_init_environ(void)
{
	return (try_open("/proc/1/environ", O_RDONLY));
}

static int
try_init_oom(void)
{
	return (try_open("/proc/1/oom_score_adj", O_WRONLY));
}

static int
try_init_exe(void)
{
	return (try_open("/proc/1/exe", O_WRONLY));
}

static int
try_init_fd(void)
{
	return (try_open("/proc/1/fd/0", O_RDONLY));
}

static int
try_init_root(void)
{
	return (try_open("/proc/1/root/etc", O_RDONLY));
}

/* As a compiler at run time does it. */
static int
try_mprotect_exec(void)
{
	void	*p;
	int	 ret;

	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return (-1);
	ret = mprotect(p, 4096, PROT_READ | PROT_EXEC);
	munmap(p, 4096);
	return (ret);
}

static int
try_file(void)
{
	char	 name[] = "attempt.XXXXXX";
	int	 fd, error;
	ssize_t	 n;

	if ((fd = mkstemp(name)) == -1)
		return (-1);
	n = write(fd, "x", 1);
	error = errno;
	close(fd);
	unlink(name);
	errno = error;
	return (n == 1 ? 0 : -1);
}

static int
try_capset(void)
{
	struct __user_cap_header_struct	 hdr = {
		_LINUX_CAPABILITY_VERSION_3, 0
	};
	struct __user_cap_data_struct	 data[2];

	memset(data, 0xff, sizeof(data));
	return (CALL(SYS_capset, &hdr, data));
}

/* In a child: it ends. */
static int
try_x32(void)
{
	pid_t	 pid;
	int	 status;

	if ((pid = fork()) == 0) {
		CALL(0x40000000 | SYS_getpid);
		_exit(0);
	}
	if (pid == -1 || waitpid(pid, &status, 0) == -1)
		return (-1);
	if (!WIFSIGNALED(status))
		return (0);
	errno = EKEYREJECTED;
	return (-1);
}

static const struct {
	const char	*name;
	int		(*fn)(void);
} functions[] = {
	{ "slow_init", try_slow_init },
	{ "slow_own", try_slow_own },
	{ "limit_init", try_limit_init },
	{ "limit_init_set", try_limit_init_set },
	{ "limit_own_set", try_limit_own_set },
	{ "init_mem", try_init_mem },
	{ "init_environ", try_init_environ },
	{ "init_oom", try_init_oom },
	{ "init_exe", try_init_exe },
	{ "init_fd", try_init_fd },
	{ "init_root", try_init_root },
	{ "mprotect_exec", try_mprotect_exec },
	{ "file", try_file },
	{ "capset", try_capset },
	{ "x32", try_x32 },
};

static const struct {
	int		 error;
	const char	*name;
} errors[] = {
	{ EPERM, "EPERM" }, { EACCES, "EACCES" }, { ENOSYS, "ENOSYS" },
	{ EINVAL, "EINVAL" }, { EFAULT, "EFAULT" }, { ESRCH, "ESRCH" },
	{ EBADF, "EBADF" }, { ENOENT, "ENOENT" }, { EFBIG, "EFBIG" },
	{ EROFS, "EROFS" }, { ETXTBSY, "ETXTBSY" }, { EOPNOTSUPP, "EOPNOTSUPP" },
	{ EAFNOSUPPORT, "EAFNOSUPPORT" }, { EKEYREJECTED, "killed" },
};

static const char *
result(long ret)
{
	static char	 buf[16];
	size_t		 i;

	if (ret != -1)
		return ("works");
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == errno)
			return (errors[i].name);
	snprintf(buf, sizeof(buf), "%d", errno);
	return (buf);
}

/* What it has: descriptors, signals, and the rest. */
static void
attributes(void)
{
	struct { void *handler; uint64_t rest[3]; } act;
	struct rlimit	 rl;
	uint64_t	 blocked = 0, other = 0;
	mode_t		 mask;
	int		 i, caps = 0;

	printf("fds ");
	for (i = 0; i < 1024; i++)
		if (fcntl(i, F_GETFD) != -1)
			printf("%d,", i);
	CALL(SYS_rt_sigprocmask, 0, NULL, &blocked, sizeof(blocked));
	for (i = 1; i <= 64; i++)
		if (CALL(SYS_rt_sigaction, i, NULL, &act, 8) == 0 &&
		    act.handler != NULL)
			other |= 1ULL << (i - 1);
	printf("\nsignals %llx,%llx\n", (unsigned long long)blocked,
	    (unsigned long long)other);
	mask = umask(022);
	printf("umask %o\n", mask);
	for (i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		caps += prctl(PR_CAPBSET_READ, i, 0, 0, 0);
	printf("bounding %d\n", caps);
	printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	printf("no_new_privs %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	printf("seccomp %d\n", prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
	printf("mdwe %d\n", prctl(PR_GET_MDWE, 0, 0, 0, 0) > 0);
	for (i = 0; i < RLIM_NLIMITS; i++)
		if (getrlimit(i, &rl) == 0)
			printf("rlimit_%d %llx,%llx\n", i,
			    (unsigned long long)rl.rlim_cur,
			    (unsigned long long)rl.rlim_max);
}

void
attempts(void)
{
	const long	*a;
	long		 ret;
	size_t		 i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		a = calls[i].call;
		ret = CALL(a[0], a[1], a[2], a[3], a[4], a[5]);
		if (a[0] == SYS_clone && ret == 0)
			_exit(0);
		printf("%s %s\n", calls[i].name, result(ret));
		/* Descriptors are not what is counted below. */
		if (ret > 2)
			close(ret);
	}
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		printf("%s %s\n", functions[i].name,
		    result(functions[i].fn()));
	attributes();
	printf("end\n");
	fflush(stdout);
}
#else
/* A file without a declaration is no C. */
typedef int	 attempt_unused;
#endif
