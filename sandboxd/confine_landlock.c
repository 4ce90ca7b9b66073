/*
 * Landlock: what a path is good for, even to one who has the permissions.
 *
 * Every right that the running kernel can take away is taken, since one that
 * is not named is one that everybody keeps; what a process needs is given
 * back, below the paths where it needs it.  A kernel that knows fewer rights
 * leaves their subjects to the filter: it alone keeps TCP and other processes
 * away there.  None before version 9 watches who connects to a socket in the
 * file system: that is the filter's matter, and that of the socket's mode.
 */

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "confine.h"
#include "log.h"

/* <linux/landlock.h>, of which the build's may be older than the kernel. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset	444
#define SYS_landlock_add_rule		445
#define SYS_landlock_restrict_self	446
#endif
#define LL_VERSION		1	/* flag: which one are you? */
#define LL_PATH_BENEATH		1	/* kind of rule */

#define LL_EXECUTE		(1ULL << 0)
#define LL_WRITE_FILE		(1ULL << 1)
#define LL_READ_FILE		(1ULL << 2)
#define LL_READ_DIR		(1ULL << 3)
#define LL_REMOVE_DIR		(1ULL << 4)
#define LL_REMOVE_FILE		(1ULL << 5)
#define LL_MAKE_CHAR		(1ULL << 6)
#define LL_MAKE_DIR		(1ULL << 7)
#define LL_MAKE_REG		(1ULL << 8)
#define LL_MAKE_SOCK		(1ULL << 9)
#define LL_MAKE_FIFO		(1ULL << 10)
#define LL_MAKE_BLOCK		(1ULL << 11)
#define LL_MAKE_SYM		(1ULL << 12)
#define LL_REFER		(1ULL << 13)	/* version 2 */
#define LL_TRUNCATE		(1ULL << 14)	/* 3 */
#define LL_IOCTL_DEV		(1ULL << 15)	/* 5 */
#define LL_RESOLVE_UNIX		(1ULL << 16)	/* 9 */

#define LL_NET_ALL		0x3ULL		/* 4: TCP bind, connect */
#define LL_SCOPE_ALL		0x3ULL		/* 6: abstract sockets and */
						/* signals beyond us */

struct ll_ruleset {
	uint64_t	 fs;
	uint64_t	 net;
	uint64_t	 scoped;
};

struct ll_path {
	uint64_t	 rights;
	int32_t		 fd;
} __attribute__((__packed__));

static const struct {
	uint64_t	 ours;
	uint64_t	 rights;
} meaning[] = {
	{ CONFINE_FS_READ, LL_READ_FILE | LL_READ_DIR },
	{ CONFINE_FS_WRITE, LL_WRITE_FILE | LL_TRUNCATE },
	{ CONFINE_FS_FILES, LL_MAKE_REG | LL_REMOVE_FILE | LL_REFER },
	{ CONFINE_FS_DIRS, LL_MAKE_DIR | LL_REMOVE_DIR | LL_REFER },
	{ CONFINE_FS_SOCKETS, LL_MAKE_SOCK | LL_REMOVE_FILE },
	{ CONFINE_FS_CONNECT, LL_RESOLVE_UNIX },
};

uint32_t
confine_landlock_abi(void)
{
	long	 abi;

	if (confine_lacks("landlock"))
		return (0);
	abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_VERSION);
	return (abi <= 0 ? 0 : (uint32_t)abi);
}

/* All that this version can take away; the size of what it reads of it. */
static size_t
landlock_all(uint32_t abi, struct ll_ruleset *r)
{
	memset(r, 0, sizeof(*r));
	r->fs = abi >= 9 ? (LL_RESOLVE_UNIX << 1) - 1 :
	    abi >= 5 ? (LL_IOCTL_DEV << 1) - 1 :
	    abi >= 3 ? (LL_TRUNCATE << 1) - 1 :
	    abi >= 2 ? (LL_REFER << 1) - 1 : (LL_MAKE_SYM << 1) - 1;
	if (abi >= 4)
		r->net = LL_NET_ALL;
	if (abi >= 6)
		r->scoped = LL_SCOPE_ALL;
	return (abi >= 6 ? sizeof(*r) :
	    abi >= 4 ? offsetof(struct ll_ruleset, scoped) :
	    offsetof(struct ll_ruleset, net));
}

static void
landlock_give(int fd, const struct ll_ruleset *all,
    const struct confine_path *p)
{
	struct ll_path	 rule;
	size_t		 i;

	memset(&rule, 0, sizeof(rule));
	for (i = 0; i < sizeof(meaning) / sizeof(meaning[0]); i++)
		if (p->rights & meaning[i].ours)
			rule.rights |= meaning[i].rights;
	rule.rights &= all->fs;
	/* On an old kernel the right may not be one that can be taken. */
	if (rule.rights == 0)
		return;
	if ((rule.fd = open(p->path, O_PATH | O_CLOEXEC)) == -1) {
		/* Then there is nothing to keep a right to. */
		if (errno == ENOENT)
			return;
		fatal("%s: %s", __func__, p->path);
	}
	if (syscall(SYS_landlock_add_rule, fd, LL_PATH_BENEATH, &rule, 0) ==
	    -1)
		fatal("%s: %s", __func__, p->path);
	close(rule.fd);
}

int
confine_landlock(const struct confine_path *paths)
{
	struct ll_ruleset	 all;
	uint32_t		 abi;
	size_t			 size;
	int			 fd;

	if ((abi = confine_landlock_abi()) == 0)
		return (0);
	size = landlock_all(abi, &all);
	if ((fd = (int)syscall(SYS_landlock_create_ruleset, &all, size,
	    0)) == -1)
		fatal("%s: version %u", __func__, abi);
	for (; paths != NULL && paths->path != NULL; paths++)
		landlock_give(fd, &all, paths);
	if (syscall(SYS_landlock_restrict_self, fd, 0) == -1)
		fatal("%s: landlock_restrict_self", __func__);
	close(fd);
	return (1);
}
