/*
 * The seccomp profile of every sandbox, an allow-list.
 *
 * It holds the calls of ordinary programs: files, processes, time, signals,
 * sockets, System V and POSIX ipc, memory, scheduling.  What is not named gets
 * EPERM.  Left out with intent, although they need no capability or the
 * Engine's own profile has them:
 *
 *	io_uring_*			a second way to most other calls
 *	keyctl, add_key, request_key	keys are counted per uid, not isolated
 *	userfaultfd			the tool of kernel exploits
 *	bpf, perf_event_open		kernel memory
 *	mount, umount2, pivot_root, fsopen, fsmount, fspick, move_mount,
 *	open_tree, mount_setattr, unshare, setns, clone with namespaces
 *	ptrace, process_vm_*, kcmp, pidfd_getfd
 *					other processes of the sandbox, and
 *					its PID 1 first
 *	prlimit64 with a new limit for another process
 *					its PID 1 has the payload's user
 *	open_by_handle_at, name_to_handle_at
 *					files beside the mount tree
 *	chroot, mknod of devices	nothing without capabilities
 *	AF_ALG, AF_VSOCK, AF_PACKET and all but AF_UNIX, AF_INET, AF_INET6
 *	and AF_NETLINK			parsers in the kernel, a way to the
 *					hypervisor
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "policy.h"

static const char *const seccomp_names[] = {
	"accept", "accept4", "access", "alarm", "arch_prctl", "bind", "brk",
	"cachestat", "capget", "capset", "chdir", "chmod", "chown",
	"clock_getres", "clock_gettime", "clock_nanosleep", "close",
	"close_range", "connect", "copy_file_range", "creat", "dup", "dup2",
	"dup3", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait",
	"epoll_pwait2", "epoll_wait", "eventfd", "eventfd2", "execve",
	"execveat", "exit", "exit_group", "faccessat", "faccessat2",
	"fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2",
	"fchown", "fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr",
	"flock", "fork", "fremovexattr", "fsetxattr", "fstat", "fstatfs",
	"fsync", "ftruncate", "futex", "futex_requeue", "futex_wait",
	"futex_waitv", "futex_wake", "futimesat", "get_mempolicy",
	"get_robust_list", "get_thread_area", "getcpu", "getcwd", "getdents",
	"getdents64", "getegid", "geteuid", "getgid", "getgroups",
	"getitimer", "getpeername", "getpgid", "getpgrp", "getpid",
	"getppid", "getpriority", "getrandom", "getresgid", "getresuid",
	"getrlimit", "getrusage", "getsid", "getsockname", "getsockopt",
	"gettid", "gettimeofday", "getuid", "getxattr", "inotify_add_watch",
	"inotify_init", "inotify_init1", "inotify_rm_watch", "io_cancel",
	"io_destroy", "io_getevents", "io_pgetevents", "io_setup",
	"io_submit", "ioctl", "ioprio_get", "ioprio_set", "kill",
	"landlock_add_rule", "landlock_create_ruleset",
	"landlock_restrict_self", "lchown", "lgetxattr", "link", "linkat",
	"listen", "listxattr", "llistxattr", "lremovexattr", "lseek",
	"lsetxattr", "lstat", "madvise", "map_shadow_stack", "mbind",
	"membarrier", "memfd_create", "memfd_secret", "mincore", "mkdir",
	"mkdirat", "mknod", "mknodat", "mlock", "mlock2", "mlockall", "mmap",
	"mprotect", "mq_getsetattr", "mq_notify", "mq_open",
	"mq_timedreceive", "mq_timedsend", "mq_unlink", "mremap", "mseal",
	"msgctl", "msgget", "msgrcv", "msgsnd", "msync", "munlock",
	"munlockall", "munmap", "nanosleep", "newfstatat", "open", "openat",
	"openat2", "pause", "pidfd_open", "pidfd_send_signal", "pipe",
	"pipe2", "pkey_alloc", "pkey_free", "pkey_mprotect", "poll", "ppoll",
	"prctl", "pread64", "preadv", "preadv2",
	"process_madvise", "process_mrelease", "pselect6", "pwrite64",
	"pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat",
	"readv", "recvfrom", "recvmmsg", "recvmsg", "remap_file_pages",
	"removexattr", "rename", "renameat", "renameat2", "restart_syscall",
	"rmdir", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask",
	"rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
	"rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max",
	"sched_get_priority_min", "sched_getaffinity", "sched_getattr",
	"sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
	"sched_setaffinity", "sched_setattr", "sched_setparam",
	"sched_setscheduler", "sched_yield", "select", "semctl", "semget",
	"semop", "semtimedop", "sendfile", "sendmmsg", "sendmsg", "sendto",
	"set_mempolicy", "set_robust_list", "set_thread_area",
	"set_tid_address", "setfsgid", "setfsuid", "setgid", "setgroups",
	"setitimer", "setpgid", "setpriority", "setregid", "setresgid",
	"setresuid", "setreuid", "setrlimit", "setsid", "setsockopt",
	"setuid", "setxattr", "shmat", "shmctl", "shmdt", "shmget",
	"shutdown", "sigaltstack", "signalfd", "signalfd4", "socketpair",
	"splice", "stat", "statfs", "statx", "symlink", "symlinkat", "sync",
	"sync_file_range", "syncfs", "sysinfo", "tee", "tgkill", "time",
	"timer_create", "timer_delete", "timer_getoverrun", "timer_gettime",
	"timer_settime", "timerfd_create", "timerfd_gettime",
	"timerfd_settime", "times", "tkill", "truncate", "umask", "uname",
	"unlink", "unlinkat", "utime", "utimensat", "utimes", "vfork",
	"vmsplice", "wait4", "waitid", "write", "writev"
};

/* CLONE_NEWTIME cannot be told by clone(2): its bit is the exit signal's. */
#define SECCOMP_CLONE_NS	0x7e020000LL	/* all other CLONE_NEW* */
#define SECCOMP_ENOSYS		38		/* of the Engine's kernel */

static const int seccomp_families[] = {
	AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
};

/* The default and the query. */
static const json_int_t seccomp_personas[] = {
	0x0, 0xffffffff
};

static const struct {
	const char	*engine;	/* as /version says it */
	const char	*arch;
} seccomp_archs[] = {
	{ "amd64", "SCMP_ARCH_X86_64" },
	{ "arm64", "SCMP_ARCH_AARCH64" },
};

/* The profile's word for an architecture, NULL if there is no profile. */
const char *
seccomp_arch(const char *engine)
{
	size_t	 i;

	for (i = 0; i < sizeof(seccomp_archs) / sizeof(seccomp_archs[0]); i++)
		if (strcmp(seccomp_archs[i].engine, engine) == 0)
			return (seccomp_archs[i].arch);
	return (NULL);
}

const char *
seccomp_engine(const char *arch)
{
	size_t	 i;

	for (i = 0; i < sizeof(seccomp_archs) / sizeof(seccomp_archs[0]); i++)
		if (strcmp(seccomp_archs[i].arch, arch) == 0)
			return (seccomp_archs[i].engine);
	return (NULL);
}

static json_t *
seccomp_allow_arg(const char *name, int arg, json_int_t value)
{
	return (json_pack("{s:[s],s:s,s:[{s:i,s:I,s:s}]}", "names", name,
	    "action", "SCMP_ACT_ALLOW", "args", "index", arg, "value", value,
	    "op", "SCMP_CMP_EQ"));
}

/* The text that goes into SecurityOpt; the caller frees it. */
char *
seccomp_profile(const char *arch)
{
	json_t	*root, *names, *calls;
	char	*text = NULL;
	size_t	 i;
	int	 bad = 0;

	names = json_array();
	for (i = 0; i < sizeof(seccomp_names) / sizeof(seccomp_names[0]); i++)
		bad |= json_array_append_new(names,
		    json_string(seccomp_names[i]));
	calls = json_pack("[{s:o,s:s}]", "names", names,
	    "action", "SCMP_ACT_ALLOW");
	bad |= json_array_append_new(calls, json_pack(
	    "{s:[s],s:s,s:[{s:i,s:I,s:i,s:s}]}", "names", "clone",
	    "action", "SCMP_ACT_ALLOW", "args", "index", 0,
	    "value", (json_int_t)SECCOMP_CLONE_NS, "valueTwo", 0,
	    "op", "SCMP_CMP_MASKED_EQ"));
	/*
	 * Its flags lie in memory, where no filter can look; callers that get
	 * ENOSYS use clone(2) instead.
	 */
	bad |= json_array_append_new(calls, json_pack("{s:[s],s:s,s:i}",
	    "names", "clone3", "action", "SCMP_ACT_ERRNO",
	    "errnoRet", SECCOMP_ENOSYS));
	for (i = 0; i < sizeof(seccomp_families) /
	    sizeof(seccomp_families[0]); i++)
		bad |= json_array_append_new(calls,
		    seccomp_allow_arg("socket", 0, seccomp_families[i]));
	for (i = 0; i < sizeof(seccomp_personas) /
	    sizeof(seccomp_personas[0]); i++)
		bad |= json_array_append_new(calls,
		    seccomp_allow_arg("personality", 0,
		    seccomp_personas[i]));
	/* One's own limits, and to look at another's: not to set those. */
	bad |= json_array_append_new(calls,
	    seccomp_allow_arg("prlimit64", 0, 0));
	bad |= json_array_append_new(calls,
	    seccomp_allow_arg("prlimit64", 2, 0));
	root = json_pack("{s:s,s:[s],s:o}", "defaultAction", "SCMP_ACT_ERRNO",
	    "architectures", arch, "syscalls", calls);
	if (root != NULL && !bad)
		text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	return (text);
}
