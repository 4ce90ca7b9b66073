/*
 * What p_shim.so, which is preloaded, and h_shim, which tells it what to do,
 * have in common: a file that every process maps when it starts.  It can be
 * changed while they run.
 */
#ifndef SHIM_H
#define SHIM_H

#include <stdint.h>

#define SHIM_ENV	"SANDBOXD_SHIM"		/* the file's path */

#define SHIM_ROLES	X(parent) X(frontend) X(store) X(broker) X(runner) \
			X(sandboxctl)

#define SHIM_CALLS	X(alloc) X(read) X(readv) X(pread) X(recv) \
			X(recvmsg) X(write) X(writev) X(pwrite) X(send) \
			X(sendmsg) X(splice) X(wait) X(accept) X(connect) \
			X(open) X(socket) X(socketpair) X(pipe) X(sync) \
			X(truncate) X(remove) X(rename) X(mkdir) X(waitpid) \
			X(random)

#define X(name)	ROLE_##name,
enum shim_role { SHIM_ROLES SHIM_NROLES };
#undef X

#define X(name)	CALL_##name,
enum shim_call { SHIM_CALLS SHIM_NCALLS };
#undef X

enum shim_action {
	ACT_NONE,
	ACT_ERROR,		/* returns the error in arg */
	ACT_SHORT,		/* fewer bytes, one at least */
	ACT_STORM,		/* the two in turn */
	ACT_DELAY,		/* sleeps for arg ms before it is done */
	ACT_NOFD		/* a message without its descriptors */
};

struct shim_rule {
	uint32_t	 action;
	int32_t		 arg;
	uint32_t	 files;		/* regular files alone */
	uint32_t	 pad;
	uint64_t	 first;		/* the call that it begins with */
	uint64_t	 every;		/* and then each of so many; 0: once */
	uint64_t	 count;		/* calls since it was set */
	uint64_t	 hits;
};

/* The wall clock that a process sees. */
struct shim_clock {
	int64_t		 ahead;		/* s */
	int64_t		 swing;		/* s more in every second second */
	uint32_t	 pageless;	/* the kernel is asked each time ... */
	uint32_t	 asked;		/* ... so often until now */
};

struct shim {
	struct shim_rule	 rule[SHIM_NROLES][SHIM_NCALLS];
	struct shim_clock	 clock[SHIM_NROLES];
	int32_t			 db;	/* Berkeley DB's minor version, less 1 */
};

#endif
