/*
 * Trees that travel: what is in a directory, one entry after another, and the
 * same below another directory.  The guest does both natively; the helper of
 * sandboxctl compiles these files too, so that either end judges alike what
 * it does not trust.
 *
 *	pack.c		a tree, in the order of its names
 *	place.c		entries, below a directory and nowhere else
 *	ignore.c	which entries are left out
 *	tar_read.c	the guest's reader of ustar, pax and GNU's long names
 *	tar_write.c	the guest's writer of pax
 *
 * What cannot be taken along is told by its path, and the rest goes on.
 */

#ifndef PACK_H
#define PACK_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

#include "codes.h"

#define PACK_PATH	4095		/* bytes of a path, or of a link */
#define PACK_NOTES	1000		/* told by path; the rest is counted */

enum pack_type {
	PACK_FILE = '0',
	PACK_HARD = '1',		/* another name, link has the first */
	PACK_LINK = '2',
	PACK_DIR = '5',
	PACK_OTHER = '?'		/* FIFO, device and what else there is */
};

struct pack_entry {
	int		 type;
	const char	*path;		/* "." is the tree itself */
	const char	*link;		/* "" for none */
	uint32_t	 mode;		/* of it, the lowest nine bits */
	uint32_t	 uid;
	uint32_t	 gid;
	int64_t		 sec;		/* changed when */
	uint32_t	 nsec;
	uint64_t	 size;
};

/* ignore.c: the last pattern that matches counts. */
struct ignore;

struct ignore	*ignore_new(void);
/* Lines of a file; -1 with the errno of what is no pattern. */
int		 ignore_add(struct ignore *, const char *, size_t);
int		 ignore_match(const struct ignore *, const char *, int);
void		 ignore_free(struct ignore *);

/* pack.c */
struct pack {
	/* Each: 0, or -1 to give it up. */
	int		(*head)(void *, const struct pack_entry *);
	/* So many bytes of the file; 1: there were fewer. */
	int		(*body)(void *, int, const struct pack_entry *);
	int		(*note)(void *, const char *, enum code,
			    const char *);
	int		(*wanted)(void *);
	void		*arg;
	const struct ignore *ignore;	/* or NULL */
	int		 files;		/* and directories alone */
	uint64_t	 limit;		/* bytes in files, 0: any */
	uint64_t	 entries;
	uint64_t	 notes;
	uint64_t	 bytes;
	struct pack_seen *seen;		/* its own */
};

/* fd stays the caller's.  0, EFBIG at the limit, ECANCELED, ... */
int		 pack(struct pack *, int);

/* place.c */
struct place {
	/* The bytes of an entry into a file; 0, or an errno. */
	int		(*body)(void *, int, const struct pack_entry *);
	void		(*note)(void *, const char *, enum code,
			    const char *);
	void		*arg;
	int		 root;		/* its directory */
	mode_t		 mask;		/* of what the modes lose */
	int		 links;		/* they may lead anywhere */
	uint64_t	 limit;
	uint64_t	 entries;
	uint64_t	 notes;
	uint64_t	 bytes;
	int		 dirfd;		/* of dir, -1: none */
	char		 dir[PACK_PATH + 1];
	struct place_dir *dirs;		/* modes and times to be set */
	size_t		 ndirs;
	size_t		 sdirs;
	size_t		 dirbytes;	/* that they take */
};

void		 place_begin(struct place *, int);
/* 0 also for one that was refused; an errno if there is no going on. */
int		 place_entry(struct place *, const struct pack_entry *);
int		 link_stays(const char *, const char *);
/* Directories get their modes and times. */
void		 place_end(struct place *);
/* Writes at off what is not all zero: the rest is a hole. */
int		 place_write(int, const uint8_t *, size_t, uint64_t);
/* A directory and all below it; what cannot be removed stays. */
void		 place_remove(int, const char *);

#endif
