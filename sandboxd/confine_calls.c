/*
 * The system calls that each process may make, as tables.  What is in no
 * table of a process ends it, and so does an argument that no line permits.
 *
 * What a library may take up tomorrow without asking (memory, time, signals,
 * locks, random numbers) is there as a family, whether or not it is called
 * today: nothing of it reaches beyond the process.  What reaches beyond is
 * there because it is called, with the reason beside it.
 *
 * A path in a call cannot be looked at by a filter: what may be opened is a
 * matter of the root directory and of Landlock.
 */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <linux/sockios.h>

#include <fcntl.h>
#include <seccomp.h>

#include "confine.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA	0x53564d41
#endif

#define ANY(call)		{ SCMP_SYS(call), 0, 0, 0 }
#define IS(call, n, v)		{ SCMP_SYS(call), n, UINT32_MAX, v }
#define NIL(call, n)		{ SCMP_SYS(call), n, UINT64_MAX, 0 }
#define HAS(call, n, bits)	{ SCMP_SYS(call), n, bits, bits }
#define LACKS(call, n, bits)	{ SCMP_SYS(call), n, bits, 0 }

#define TABLE(t)	{ t, sizeof(t) / sizeof((t)[0]) }

/* Of all children. */
static const struct confine_call	 common[] = {
	/* Bytes, on descriptors that they have; and the end of those. */
	ANY(read), ANY(readv), ANY(write), ANY(writev), ANY(close),
	ANY(recvmsg), ANY(recvfrom), ANY(sendmsg), ANY(sendto),
	ANY(shutdown),
	/* libevent waits by epoll, chan_flush_wait() and libcurl by poll. */
	ANY(epoll_wait), ANY(epoll_pwait), ANY(epoll_pwait2),
	ANY(epoll_ctl), ANY(poll), ANY(ppoll), ANY(select), ANY(pselect6),
	/* stdio and a dying libc look at what standard error is. */
	ANY(fstat), HAS(newfstatat, 4, AT_EMPTY_PATH),
	HAS(statx, 3, AT_EMPTY_PATH), ANY(lseek), IS(ioctl, 2, TCGETS),
	/* Descriptors become non-blocking; no owner, lock or lease is set. */
	IS(fcntl, 2, F_GETFL), IS(fcntl, 2, F_SETFL),
	IS(fcntl, 2, F_GETFD), IS(fcntl, 2, F_SETFD),
	IS(fcntl, 2, F_DUPFD_CLOEXEC),
	IS(ioctl, 2, FIONREAD), IS(ioctl, 2, FIONBIO),
	/* Memory, which cannot be made executable. */
	ANY(brk), LACKS(mmap, 3, PROT_EXEC), LACKS(mprotect, 3, PROT_EXEC),
	ANY(munmap), ANY(mremap), ANY(madvise), ANY(msync),
	/* libc gives its own mappings names. */
	IS(prctl, 1, PR_SET_VMA),
	/* Time. */
	ANY(clock_gettime), ANY(clock_getres), ANY(gettimeofday), ANY(time),
	ANY(nanosleep), ANY(clock_nanosleep), ANY(times), ANY(getrusage),
	ANY(alarm), ANY(getitimer), ANY(setitimer), ANY(timer_create),
	ANY(timer_settime), ANY(timer_gettime), ANY(timer_getoverrun),
	ANY(timer_delete), ANY(timerfd_create), ANY(timerfd_settime),
	ANY(timerfd_gettime),
	/* Signals: how they are taken, and to oneself, as abort() does. */
	ANY(rt_sigaction), ANY(rt_sigprocmask), ANY(rt_sigreturn),
	ANY(rt_sigpending), ANY(rt_sigsuspend), ANY(rt_sigtimedwait),
	ANY(pause), ANY(sigaltstack), ANY(restart_syscall),
	IS(kill, 1, CONFINE_SELF), IS(tgkill, 1, CONFINE_SELF),
	/* Locks within libc, even of one thread; and its other book-keeping. */
	ANY(futex), ANY(sched_yield), ANY(set_robust_list), ANY(rseq),
	ANY(getrandom), ANY(getcpu), ANY(membarrier),
	/* Who and where one is. */
	ANY(getpid), ANY(gettid), ANY(getppid), ANY(getuid), ANY(geteuid),
	ANY(getgid), ANY(getegid), ANY(getresuid), ANY(getresgid),
	/* qsort(3) and malloc(3) ask how large the machine is. */
	ANY(sysinfo), ANY(uname), IS(sched_getaffinity, 1, 0),
	/* Limits are asked for, not set: there is no new one. */
	ANY(getrlimit), NIL(prlimit64, 3),
	ANY(exit), ANY(exit_group)
};

/*
 * The frontend takes its clients from the parent and pipes from the runner:
 * it opens, makes and connects nothing.
 */
static const struct confine_call	 frontend_calls[] = {
	/* How much of what was sent a client has not taken. */
	IS(ioctl, 2, SIOCOUTQ), ANY(getsockopt), ANY(setsockopt),
	/* What it hands on to clients is a pipe. */
	IS(fcntl, 2, F_GETPIPE_SZ)
};

/* The store has files below its root directory, and nothing else. */
static const struct confine_call	 store_calls[] = {
	/* Berkeley DB's files, the watermark and the ballast. */
	ANY(open), ANY(openat), ANY(pread64), ANY(pwrite64), ANY(fdatasync),
	ANY(fsync), ANY(ftruncate), ANY(fallocate), ANY(fadvise64),
	ANY(fchmod),
	ANY(stat), ANY(lstat), ANY(newfstatat), ANY(statx), ANY(access),
	ANY(faccessat), ANY(faccessat2), ANY(statfs), ANY(fstatfs),
	/* A new database is made under another name; logs are removed. */
	ANY(rename), ANY(renameat), ANY(renameat2), ANY(unlink),
	ANY(unlinkat), ANY(getdents64), ANY(getcwd),
	/* Berkeley DB locks none of its files, but asks. */
	IS(fcntl, 2, F_GETLK), IS(fcntl, 2, F_SETLK), IS(fcntl, 2, F_SETLKW),
	/* What it hands on to the frontend is a pipe. */
	IS(fcntl, 2, F_GETPIPE_SZ)
};

/* The broker speaks with the Engine: one kind of socket and no file. */
static const struct confine_call	 broker_calls[] = {
	/* By a path, which no filter sees: its group opens one such socket. */
	IS(socket, 1, AF_UNIX), ANY(connect),
	ANY(getsockopt), ANY(setsockopt), ANY(getsockname), ANY(getpeername),
	/* libcurl wakes itself up by one of these. */
	IS(socketpair, 1, AF_UNIX), ANY(eventfd2),
	/* An image comes by a pipe, whose other end goes to the client. */
	ANY(pipe2), ANY(pipe), ANY(splice),
	IS(fcntl, 2, F_SETPIPE_SZ), IS(fcntl, 2, F_GETPIPE_SZ)
};

/* The runner has the guests' sockets and the logs, below its root. */
static const struct confine_call	 runner_calls[] = {
	/* It listens for guests, and never connects. */
	IS(socket, 1, AF_UNIX), ANY(bind), ANY(listen), ANY(accept4),
	ANY(getsockopt), ANY(setsockopt), ANY(getsockname),
	/* Whether a guest is alive; nothing can be sent through that. */
	ANY(pidfd_open),
	/* Sockets are for every sandbox's user, and appear when ready. */
	ANY(chmod), ANY(fchmodat), ANY(rename), ANY(renameat), ANY(renameat2),
	ANY(unlink), ANY(unlinkat), ANY(rmdir),
	/* The logs. */
	ANY(open), ANY(openat), ANY(mkdir), ANY(mkdirat), ANY(getdents64),
	ANY(stat), ANY(lstat), ANY(newfstatat), ANY(statx), ANY(statfs),
	ANY(fstatfs), ANY(pread64), ANY(preadv), ANY(pwrite64), ANY(pwritev),
	ANY(ftruncate), ANY(fallocate), ANY(fdatasync), ANY(fsync),
	ANY(fadvise64),
	/* Readers and inputs are pipes, which logs are moved into. */
	ANY(pipe2), ANY(pipe), ANY(splice), ANY(tee), ANY(sendfile),
	IS(fcntl, 2, F_SETPIPE_SZ), IS(fcntl, 2, F_GETPIPE_SZ)
};

/* Not the parent itself, but its child that empties a workspace. */
static const struct confine_call	 emptier_calls[] = {
	ANY(open), ANY(openat), ANY(getdents64), ANY(newfstatat), ANY(statx),
	ANY(chmod), ANY(fchmodat), ANY(unlinkat), ANY(rmdir), ANY(renameat2)
};

static const struct confine_table	 of_role[ROLE_MAX] = {
	[ROLE_PARENT] = TABLE(emptier_calls),
	[ROLE_FRONTEND] = TABLE(frontend_calls),
	[ROLE_STORE] = TABLE(store_calls),
	[ROLE_BROKER] = TABLE(broker_calls),
	[ROLE_RUNNER] = TABLE(runner_calls),
};

#ifdef FAULTS
/* Builds for tests: pipes between the processes that hold next to nothing. */
static const struct confine_call	 fault_calls[] = {
	ANY(setsockopt)
};
#endif

#ifdef ASAN
/* A report reads the memory map and the program, and waits for nobody. */
static const struct confine_call	 asan_calls[] = {
	ANY(open), ANY(openat), ANY(readlink), ANY(readlinkat), ANY(stat),
	ANY(newfstatat), ANY(access), ANY(pread64), ANY(prctl), ANY(fcntl),
	ANY(getdents64), ANY(mincore), ANY(getcwd), ANY(personality)
};
#endif

size_t
confine_tables(enum role role, struct confine_table *t)
{
	static const struct confine_table	 all = TABLE(common);
#ifdef FAULTS
	static const struct confine_table	 faults = TABLE(fault_calls);
#endif
#ifdef ASAN
	static const struct confine_table	 asan = TABLE(asan_calls);
#endif
	size_t					 n = 0;

	t[n++] = all;
	t[n++] = of_role[role];
#ifdef FAULTS
	t[n++] = faults;
#endif
#ifdef ASAN
	t[n++] = asan;
#endif
	return (n);
}

/*
 * The parent stays root and starts programs, so its filter names what it must
 * not do.  Its children inherit it.
 */
static const struct confine_call	 parent_denied[] = {
	/* Other processes' memory: it has CAP_SYS_PTRACE, to read /proc. */
	ANY(ptrace), ANY(process_vm_readv), ANY(process_vm_writev),
	ANY(process_madvise), ANY(kcmp), ANY(pidfd_getfd),
	/* The kernel itself. */
	ANY(init_module), ANY(finit_module), ANY(delete_module),
	ANY(kexec_load), ANY(kexec_file_load), ANY(reboot), ANY(bpf),
	ANY(perf_event_open), ANY(userfaultfd), ANY(iopl), ANY(ioperm),
	ANY(modify_ldt), ANY(swapon), ANY(swapoff), ANY(acct),
	ANY(open_by_handle_at), ANY(quotactl), ANY(pivot_root),
	/* Ways around a filter, and keys, which nothing here has. */
	ANY(io_uring_setup), ANY(io_uring_enter), ANY(io_uring_register),
	ANY(add_key), ANY(request_key), ANY(keyctl),
	/* The machine's clock and name. */
	ANY(settimeofday), ANY(clock_settime), ANY(adjtimex),
	ANY(clock_adjtime), ANY(sethostname), ANY(setdomainname)
};

const struct confine_table	 confine_parent_denied = TABLE(parent_denied);
