/*
 * tar_confine.c: what sandboxctl-tar can do while it reads what a sandbox has
 * sent, or a tree of its user's: files below a directory, the descriptors
 * that it was given, and nothing else.  Landlock holds where the kernel has
 * it; the filter is a condition.
 */

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <err.h>
#include <errno.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "tar.h"

/* <linux/landlock.h>, of which the build's may be older than the kernel. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset	444
#define SYS_landlock_add_rule		445
#define SYS_landlock_restrict_self	446
#endif
#define LL_VERSION		1	/* flag: which one are you? */
#define LL_PATH_BENEATH		1	/* kind of rule */

#define LL_WRITE_FILE		(1ULL << 1)
#define LL_READ_FILE		(1ULL << 2)
#define LL_READ_DIR		(1ULL << 3)
#define LL_REMOVE_DIR		(1ULL << 4)
#define LL_REMOVE_FILE		(1ULL << 5)
#define LL_MAKE_DIR		(1ULL << 7)
#define LL_MAKE_REG		(1ULL << 8)
#define LL_MAKE_SYM		(1ULL << 12)
#define LL_REFER		(1ULL << 13)	/* version 2 */
#define LL_TRUNCATE		(1ULL << 14)	/* 3 */

#define MEMORY_MAX	(768UL << 20)

static const uint64_t	 rights[] = {
	[TAR_MAY_READ] = LL_READ_FILE | LL_READ_DIR,
	[TAR_MAY_WRITE] = LL_WRITE_FILE | LL_READ_DIR | LL_REMOVE_DIR |
	    LL_REMOVE_FILE | LL_MAKE_DIR | LL_MAKE_REG | LL_MAKE_SYM |
	    LL_REFER | LL_TRUNCATE,
	[TAR_MAY_RENAME] = LL_MAKE_DIR | LL_REMOVE_DIR,
};

static const int	 calls[] = {
	SCMP_SYS(brk), SCMP_SYS(clock_gettime), SCMP_SYS(close),
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat), SCMP_SYS(fcntl), SCMP_SYS(fstat),
	SCMP_SYS(fstatfs), SCMP_SYS(ftruncate), SCMP_SYS(futex),
	SCMP_SYS(getdents64), SCMP_SYS(getrandom), SCMP_SYS(linkat),
	SCMP_SYS(lseek), SCMP_SYS(madvise), SCMP_SYS(mkdirat),
	SCMP_SYS(mremap), SCMP_SYS(munmap), SCMP_SYS(newfstatat),
	SCMP_SYS(openat), SCMP_SYS(pread64), SCMP_SYS(pwrite64),
	SCMP_SYS(read), SCMP_SYS(readlinkat), SCMP_SYS(renameat2),
	SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(statx), SCMP_SYS(symlinkat),
	/* glibc's qsort(3) asks how much memory there is. */
	SCMP_SYS(sysinfo),
	SCMP_SYS(unlinkat), SCMP_SYS(utimensat), SCMP_SYS(write),
	SCMP_SYS(writev),
};

static void
landlock(const struct tar_place *places, int n)
{
	struct {
		uint64_t	 fs;
		uint64_t	 net;
		uint64_t	 scoped;
	} set = { 0, 0x3, 0x3 };
	struct {
		uint64_t	 rights;
		int32_t		 fd;
	} __attribute__((__packed__)) rule;
	long	 abi;
	int	 fd, i;

	abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_VERSION);
	if (abi <= 0)
		return;
	/* Every right that this version can take away. */
	set.fs = abi >= 5 ? (1ULL << 16) - 1 : abi >= 3 ? (1ULL << 15) - 1 :
	    abi >= 2 ? (1ULL << 14) - 1 : (1ULL << 13) - 1;
	fd = syscall(SYS_landlock_create_ruleset, &set, abi >= 6 ?
	    sizeof(set) : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t),
	    0);
	if (fd == -1)
		err(1, "landlock");
	for (i = 0; i < n; i++) {
		rule.rights = rights[places[i].may] & set.fs;
		rule.fd = places[i].fd;
		if (syscall(SYS_landlock_add_rule, fd, LL_PATH_BENEATH, &rule,
		    0) == -1)
			err(1, "landlock");
	}
	if (syscall(SYS_landlock_restrict_self, fd, 0) == -1)
		err(1, "landlock");
	close(fd);
}

static void
filter(void)
{
#ifndef ASAN
	scmp_filter_ctx	 ctx;
	size_t		 i;
	int		 ret = 0;

	if ((ctx = seccomp_init(SCMP_ACT_KILL_PROCESS)) == NULL)
		errx(1, "no filter of system calls");
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]) && ret == 0; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	if (ret == 0)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
		    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (ret == 0)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW,
		    SCMP_SYS(mprotect), 1,
		    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (ret == 0)
		ret = seccomp_load(ctx);
	if (ret != 0) {
		errno = -ret;
		err(1, "filter of system calls");
	}
	seccomp_release(ctx);
#else
	(void)calls;
#endif
}

void
tar_confine(const struct tar_place *places, int n)
{
#ifndef ASAN
	struct rlimit	 rl;

	/* A user may have less already, and cannot have more again. */
	if (getrlimit(RLIMIT_AS, &rl) == -1)
		err(1, "limit of memory");
	if (rl.rlim_max > MEMORY_MAX)
		rl.rlim_max = MEMORY_MAX;
	if (rl.rlim_cur > rl.rlim_max)
		rl.rlim_cur = rl.rlim_max;
	if (setrlimit(RLIMIT_AS, &rl) == -1)
		err(1, "limit of memory");
#endif
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		err(1, "dumpable");
	landlock(places, n);
	filter();
}
