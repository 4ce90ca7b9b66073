/*
 * The layers that confine a process, each in a file of its own; the order in
 * which they are entered is sandbox-linux.c's.
 */
#ifndef CONFINE_H
#define CONFINE_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

#include "sandboxd.h"

/*
 * One permitted system call.  With arg there is a condition: of this argument
 * (counted from 1) the bits of mask are value.  Of an int the kernel reads the
 * lower 32 bits, of a pointer all.  Two lines of one call: either will do.
 */
struct confine_call {
	int		 nr;		/* SCMP_SYS() */
	uint32_t	 arg;		/* 0: whatever the arguments */
	uint64_t	 mask;
	uint64_t	 value;
};

#define CONFINE_SELF	UINT64_MAX	/* as a value: our own pid */

struct confine_table {
	const struct confine_call	*calls;
	size_t				 n;
};

/* A path below which a process keeps some rights; the last one is NULL. */
struct confine_path {
	const char	*path;
	uint64_t	 rights;	/* CONFINE_FS_* */
};

#define CONFINE_FS_READ		0x01	/* files and directories */
#define CONFINE_FS_WRITE	0x02	/* files, and cut them */
#define CONFINE_FS_FILES	0x04	/* make, rename, remove files */
#define CONFINE_FS_DIRS		0x08	/* the same of directories */
#define CONFINE_FS_SOCKETS	0x10	/* make sockets, rename, remove them */
#define CONFINE_FS_CONNECT	0x20	/* to sockets there */

/* confine_calls.c: at most CONFINE_TABLES; how many there are. */
#define CONFINE_TABLES	4
size_t	confine_tables(enum role, struct confine_table *);
extern const struct confine_table	 confine_parent_denied;

/*
 * confine_seccomp.c, confine_landlock.c: 1 if it is in force, 0 if the kernel
 * has no such thing.  Every other failure is fatal.
 */
int	confine_filter(enum role);
int	confine_landlock(const struct confine_path *);
/* The parent's filter, which names what is denied. */
int	confine_filter_parent(void);
/* The kernel's version of Landlock, 0 if it has none. */
uint32_t confine_landlock_abi(void);
/* A call's name; freed by the caller. */
char	*confine_call_name(int);

/*
 * Builds for tests do without one layer if SANDBOXD_LACK names it, as if the
 * kernel did not have it; "passrights" is its refusal of a stranger's
 * descriptors.
 */
#ifdef FAULTS
int	confine_lacks(const char *);
/* What is forbidden fails from now on (1), or ends us (0); had one to? */
int	confine_survive(int);
#else
#define confine_lacks(name)	0
#endif

#endif /* CONFINE_H */
