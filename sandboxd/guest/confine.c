/*
 * What PID 1 cannot do, and what its commands get back.
 *
 * A filter of system calls is for ever and for all descendants, so this one
 * cannot be tighter than what commands may do.  Commands could be started by
 * a process that has none; but that one would be of the same user, and the
 * first "kill -9 -1" of a command would end it, and with it the sandbox: only
 * PID 1 outlives that.  A thread of PID 1 outlives it too, and shares all
 * memory with the one that it would have to be kept from.
 *
 * So the filter says once more what the container says, by deny-list: it holds
 * where the Engine has lost the container's own.  Beyond that it keeps commands
 * from slowing PID 1 down, which is of their user: a profile of the Engine's
 * compares arguments with their upper halves, which the kernel does not read.  What a child does not inherit, or can undo before its execve(2),
 * is for PID 1 alone: no memory that can be written and executed, no core, no
 * file that grows.
 */

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE			65
#define PR_MDWE_REFUSE_EXEC_GAIN	1
#endif
#ifndef PR_MDWE_NO_INHERIT
#define PR_MDWE_NO_INHERIT		2
#endif

#if defined(__x86_64__)
#define ARCH		AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH		AUDIT_ARCH_AARCH64
#else
#define ARCH		0
#endif
_Static_assert(ARCH != 0, "no filter for this architecture");

/* Newer than some C libraries; from 424 on the same everywhere. */
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd		443
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr	442
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd		438
#endif
#ifndef SYS_clone3
#define SYS_clone3		435
#endif
#ifndef SYS_fspick
#define SYS_open_tree		428
#define SYS_move_mount		429
#define SYS_fsopen		430
#define SYS_fsconfig		431
#define SYS_fsmount		432
#define SYS_fspick		433
#endif
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup	425
#define SYS_io_uring_enter	426
#define SYS_io_uring_register	427
#endif

/*
 * Nothing of this is in the container's own list: seccomp_profile.c.  What is
 * beyond the numbers known here is for that list alone.
 */
static const uint16_t	 denied[] = {
	/* Other processes of the sandbox. */
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
	SYS_pidfd_getfd, SYS_move_pages, SYS_migrate_pages,
	/* Mounts, namespaces, roots, and files beside those. */
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree,
	SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
	SYS_mount_setattr, SYS_unshare, SYS_setns, SYS_open_by_handle_at,
	SYS_name_to_handle_at, SYS_fanotify_init,
	/* The kernel's own: programs, counters, faults, rings, keys. */
	SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup,
	SYS_io_uring_enter, SYS_io_uring_register, SYS_keyctl, SYS_add_key,
	SYS_request_key, SYS_syslog, SYS_init_module, SYS_finit_module,
	SYS_delete_module, SYS_kexec_load,
#ifdef SYS_kexec_file_load
	SYS_kexec_file_load,
#endif
	/* The machine. */
	SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl,
	SYS_quotactl_fd, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex,
	SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname, SYS_vhangup,
#ifdef __x86_64__
	SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
};
#define NDENIED		(sizeof(denied) / sizeof(denied[0]))

/* Whose first argument is a process: not this one. */
static const uint16_t	 others[] = {
	SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
	SYS_sched_setaffinity,
};
#define NOTHERS		(sizeof(others) / sizeof(others[0]))

/* Who is meant: a process, a group of them, or from here on a whole user. */
static const struct {
	uint16_t	 call;
	uint32_t	 user;
} priorities[] = {
	{ SYS_setpriority, 2 },		/* PRIO_USER */
	{ SYS_ioprio_set, 3 },		/* IOPRIO_WHO_USER */
};
#define NPRIORITIES	(sizeof(priorities) / sizeof(priorities[0]))

static const uint8_t	 families[] = {
	AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
};
#define NFAMILIES	(sizeof(families) / sizeof(families[0]))

#define NAMESPACES	0x7e020000U	/* of clone(2), as the container's */

/* The lower half, which is all that the kernel reads of an int. */
#define ARG(n)		((uint32_t)offsetof(struct seccomp_data, args[n]))

#define LOAD(off)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, off)
#define JEQ(k, t, f)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, t, f)
#define JGE(k, t, f)	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, k, t, f)
#define JSET(k, t, f)	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, k, t, f)
#define RET(k)		BPF_STMT(BPF_RET | BPF_K, k)
#define ALLOW		RET(SECCOMP_RET_ALLOW)
#define DENY(e)		RET(SECCOMP_RET_ERRNO | (e))
#define KILL		RET(SECCOMP_RET_KILL_PROCESS)

/* Whose numbers mean something else: the container's ends them, too. */
static const struct sock_filter	 head[] = {
	LOAD(offsetof(struct seccomp_data, arch)),
	JEQ(ARCH, 1, 0),
	KILL,
	LOAD(offsetof(struct seccomp_data, nr)),
#ifdef __x86_64__
	JSET(0x40000000, 0, 1),		/* x32 */
	KILL,
#endif
	/* A new process, in the namespaces that there are. */
	JEQ(SYS_clone, 0, 4),
	LOAD(ARG(0)),
	JSET(NAMESPACES, 0, 1),
	DENY(EPERM),
	ALLOW,
	/* Its flags are in memory: callers then use clone(2). */
	JEQ(SYS_clone3, 0, 1),
	DENY(ENOSYS),
	/* Limits: one's own, and to look at those of others. */
	JEQ(SYS_prlimit64, 0, 8),
	LOAD(ARG(0)),
	JEQ(0, 5, 0),
	LOAD(ARG(2)),
	JEQ(0, 0, 2),
	LOAD(ARG(2) + 4),
	JEQ(0, 1, 0),
	DENY(EPERM),
	ALLOW,
};
#define NHEAD		(sizeof(head) / sizeof(head[0]))

/* socket(2), with its families after it, each with its answer. */
#define NSOCKET		(2 + 2 * NFAMILIES + 1)

#define NOTHER		5		/* for each of these */
#define NPRIORITY	7

#define NFILTER		(NHEAD + NSOCKET + NOTHERS * NOTHER + \
			NPRIORITIES * NPRIORITY + 2 * NDENIED + 1)

static const struct {
	int	 what;
	rlim_t	 own;		/* of ours, at most what the hard one allows */
} limits[GUEST_LIMITS] = {
	{ RLIMIT_NOFILE, 8192 },	/* five for each exec, and some */
	{ RLIMIT_CORE, 0 },		/* there are secrets in our memory */
	{ RLIMIT_FSIZE, 0 },		/* we write to no file */
};

static struct sock_filter *
put(struct sock_filter *f, struct sock_filter one)
{
	*f = one;
	return (f + 1);
}

/* Process 1, and a group that has its number, is us. */
static struct sock_filter *
filter_init(struct sock_filter *f)
{
	size_t	 i;

	for (i = 0; i < NOTHERS; i++) {
		f = put(f, (struct sock_filter)JEQ(others[i], 0, NOTHER - 1));
		f = put(f, (struct sock_filter)LOAD(ARG(0)));
		f = put(f, (struct sock_filter)JEQ(1, 0, 1));
		f = put(f, (struct sock_filter)DENY(EPERM));
		f = put(f, (struct sock_filter)ALLOW);
	}
	for (i = 0; i < NPRIORITIES; i++) {
		f = put(f, (struct sock_filter)JEQ(priorities[i].call, 0,
		    NPRIORITY - 1));
		f = put(f, (struct sock_filter)LOAD(ARG(0)));
		f = put(f, (struct sock_filter)JGE(priorities[i].user, 2, 0));
		f = put(f, (struct sock_filter)LOAD(ARG(1)));
		f = put(f, (struct sock_filter)JEQ(1, 0, 1));
		f = put(f, (struct sock_filter)DENY(EPERM));
		f = put(f, (struct sock_filter)ALLOW);
	}
	return (f);
}

static void
filter(void)
{
	static struct sock_filter	 code[NFILTER];
	struct sock_filter		*f = code + NHEAD;
	struct sock_fprog		 prog;
	size_t				 i;

	memcpy(code, head, sizeof(head));
	f = put(f, (struct sock_filter)JEQ(SYS_socket, 0, NSOCKET - 1));
	f = put(f, (struct sock_filter)LOAD(ARG(0)));
	for (i = 0; i < NFAMILIES; i++) {
		f = put(f, (struct sock_filter)JEQ(families[i], 0, 1));
		f = put(f, (struct sock_filter)ALLOW);
	}
	f = put(f, (struct sock_filter)DENY(EPERM));
	f = filter_init(f);
	for (i = 0; i < NDENIED; i++) {
		f = put(f, (struct sock_filter)JEQ(denied[i], 0, 1));
		f = put(f, (struct sock_filter)DENY(EPERM));
	}
	f = put(f, (struct sock_filter)ALLOW);
	memset(&prog, 0, sizeof(prog));
	prog.len = f - code;
	prog.filter = code;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) == -1)
		err(1, "seccomp");
}

/* The container has none to give; if it should, they end here. */
static void
capabilities(void)
{
	struct __user_cap_header_struct	 hdr;
	struct __user_cap_data_struct	 data[2];
	int				 cap;

	/* Without CAP_SETPCAP the set stays, and is of no use below. */
	for (cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	memset(&hdr, 0, sizeof(hdr));
	memset(data, 0, sizeof(data));
	hdr.version = _LINUX_CAPABILITY_VERSION_3;
	if (syscall(SYS_capset, &hdr, data) == -1)
		err(1, "capset");
}

/* By soft limits: commands get back what was there. */
static void
limits_own(void)
{
	struct rlimit	 rl;
	size_t		 i;

	for (i = 0; i < GUEST_LIMITS; i++) {
		if (getrlimit(limits[i].what, &g.limits[i]) == -1)
			err(1, "getrlimit");
		rl = g.limits[i];
		if (limits[i].own == 0 || rl.rlim_cur < limits[i].own)
			rl.rlim_cur = limits[i].own;
		if (rl.rlim_cur > rl.rlim_max)
			rl.rlim_cur = rl.rlim_max;
		if (rl.rlim_cur != g.limits[i].rlim_cur &&
		    setrlimit(limits[i].what, &rl) == 0)
			g.limits_set |= 1U << i;
	}
}

/*
 * In a command's first process, before its execve(2), which does the rest:
 * dumpable again, in a memory of its own, without our descriptors.
 */
void
confine_undo(void)
{
	size_t	 i;

	for (i = 0; i < GUEST_LIMITS; i++)
		if (g.limits_set & 1U << i)
			setrlimit(limits[i].what, &g.limits[i]);
}

/*
 * What is blocked here and by inheritance in reapers waits for ever.  If it
 * were ignored each command would have to undo that, signal by signal.  The
 * C library keeps some numbers to itself, and would not have them reset.
 */
static void
signals(void)
{
	uint64_t	 act[4] = { 0, 0, 0, 0 };	/* all at their default */
	sigset_t	 all;
	int		 s;

	sigemptyset(&all);
	for (s = 1; s <= SIGNALS; s++) {
		(void)syscall(SYS_rt_sigaction, s, act, NULL, SIGNALS / 8);
		if (s < 32)
			sigaddset(&all, s);
	}
	sigprocmask(SIG_SETMASK, &all, NULL);
}

void
confine_init(void)
{
	limits_own();
	signals();
}

/* Last of all: what it forbids, the start may have needed. */
void
confine_enter(void)
{
	capabilities();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		err(1, "PR_SET_NO_NEW_PRIVS");
	/* Commands are the same user's: no ptrace, no /proc/1/mem. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		err(1, "PR_SET_DUMPABLE");
	/* Kernels before 6.6 have no such thing that a child does not get. */
	(void)prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN |
	    PR_MDWE_NO_INHERIT, 0, 0, 0);
	filter();
}
