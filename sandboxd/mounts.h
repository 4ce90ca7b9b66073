/*
 * Mounts of the host's directories: what the parent's parts for them know of
 * each other.
 */
#ifndef MOUNTS_H
#define MOUNTS_H

#include <sys/types.h>

#include <stdint.h>

#include "conf.h"
#include "parent.h"

/* Below this a uid is the host's own: nothing is done in its name. */
#define MOUNTS_UID_LEAST	1000
#define MOUNTS_SECS		20	/* deadline of a child */

/* Whose they are, and which; kept in a file beside the sandbox's. */
struct mounts_record {
	uint32_t	 uid;
	uint32_t	 gid;
	struct u64v	 groups;
	struct strv	 ro;		/* paths on the host */
	struct strv	 rw;
};

/*
 * mountrule.c: 0, or -1 with the reason; and whether sockets may be in it.
 * `rules' are the policy's.
 */
int	 mountrule_judge(const struct conf_mounts *rules, const char *path,
	    int rw, int *sockets, char *why, size_t);
/* Can no rule allow it?  The daemon's own directories are named. */
int	 mountrule_never(const char *path, const char *const *own, size_t);

/*
 * mountjudge.c: all of a record, by the parent's configuration.  Bit i of
 * sockets: the i-th may have some, those of rw behind those of ro.
 */
enum code mounts_judge(const struct mounts_record *, uint32_t *sockets,
	    char *why, size_t);

/*
 * mountfile.c: the record of sandbox n below `dir', which is opened.  Written
 * so that it is there as a whole after a crash.  -1 with errno.
 */
int	 mountfile_write(int dir, uint64_t n, const struct mounts_record *);
int	 mountfile_read(int dir, uint64_t n, struct mounts_record *);
int	 mountfile_remove(int dir, uint64_t n);
void	 mountfile_clear(struct mounts_record *);

/*
 * workmount.c: the whole life of a child.  It looks at each source with its
 * client's rights, and, unless n is 0, has it mounted at <path>/<n>/<i>, those
 * of rw behind those of ro.
 */
struct workmount {
	const struct mounts_record *record;
	const char	*path;
	uint64_t	 n;
	uint32_t	 sockets;	/* bit i: it may have some */
	uid_t		 uid;		/* of the sandbox, on the host */
	gid_t		 gid;
};
void	 workmount(const struct workmount *) __attribute__((__noreturn__));
/* How it has ended, as code and text. */
enum code workmount_ended(int status, const struct mounts_record *,
	    char *text, size_t);
/* Of the parent: takes them away again; -1 with errno. */
int	 workmount_off(const char *path, uint64_t n);

#endif
