/*
 * The tar streams of the guest: pax, as ustar with extended headers, is what
 * it writes; that, ustar itself and GNU's long names and large numbers is
 * what it reads.  Whatever comes is read in bounded memory.
 */

#ifndef TAR_H
#define TAR_H

#include "pack.h"

#define TAR_BLOCK	512
#define TAR_EXT_MAX	65536		/* bytes of an extended header */

/*
 * What was read is held in the reader until the next call of tar_next().
 */
struct tar_reader {
	/* The next bytes: how many, 0 at their end, -1: given up. */
	ssize_t		(*more)(void *, const uint8_t **);
	void		*arg;
	const uint8_t	*p;
	size_t		 n;
	uint64_t	 left;		/* of the entry's bytes */
	unsigned int	 pad;
	const char	*why;		/* it is wrong */
	char		 path[PACK_PATH + 1];
	char		 link[PACK_PATH + 1];
	char		 ext[TAR_EXT_MAX + 1];
};

/*
 * 1 with an entry; 0 at the end; -1: it is given up, or no archive, which why
 * tells.  What has a name or a link that is too long is of PACK_OTHER.
 */
int	 tar_next(struct tar_reader *, struct pack_entry *);
/* The next bytes of the entry: how many, 0 at their end, -1. */
ssize_t	 tar_data(struct tar_reader *, const uint8_t **);

/* A header, which may be several blocks; 0 if it cannot be said. */
#define TAR_HEAD_MAX	(4 * TAR_BLOCK + 2 * (PACK_PATH + 1) + 1024)
size_t	 tar_head(uint8_t *, const struct pack_entry *, const char *note);

#endif
