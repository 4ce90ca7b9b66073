/*
 * tar.h: the parts of sandboxctl-tar, and what it and sandboxctl say to each
 * other when a tree travels.
 *
 *	sandboxctl-tar pack flags limit directory [patterns]
 *
 * writes the tree to standard output, or tells only how large it is;
 *
 *	sandboxctl-tar unpack flags limit directory
 *
 * makes one of what comes on standard input, once TAR_VERDICT_FD says that
 * this was all;
 *
 *	sandboxctl-tar patch limit
 *
 * writes a patch of what a guest tells of changes.  All write to TAR_NOTES_FD, a file, what there is to tell: a
 * letter, a number, two strings, each string with a NUL at its end.
 */
#ifndef TAR_H
#define TAR_H

#include "codes.h"

#define TAR_NOTES_FD	3
#define TAR_VERDICT_FD	4

#define TAR_NOTE	'N'	/* of an entry: code, path, why */
#define TAR_ERROR	'E'	/* of all: code, "", why */
#define TAR_ENTRIES	'C'	/* how many, "", "" */
#define TAR_LEFT	'L'	/* left out or changed: how many */
#define TAR_BYTES	'B'	/* in files */

/* Letters of flags; "-" for none. */
#define TAR_ATOMIC	'a'	/* it has its name when it is complete */
#define TAR_SECRETS	's'	/* keys and the like stay here */
#define TAR_IGNORE	'i'	/* as the ignore file of the tree says */
#define TAR_COUNT	'n'	/* files and bytes, nothing is read or written */
#define TAR_FILES	'f'	/* no links, FIFOs and the like, nor a word of them */
#define TAR_HAS(f, c)	(strchr(f, c) != NULL)

#define TAR_IGNORE_FILE	".sandboxignore"

/* tar_confine.c; at: where it may write, or what it may read. */
enum tar_may {
	TAR_MAY_READ,		/* what is below */
	TAR_MAY_WRITE,		/* and make what is below */
	TAR_MAY_RENAME		/* directories, right below */
};

struct tar_place {
	int		 fd;
	enum tar_may	 may;
};

void	 tar_confine(const struct tar_place *, int);

/* tar_tree.c; the second, which is of all, returns 1 */
void	 tar_tell(int, unsigned long long, const char *, const char *);
int	 tar_fail(enum code, const char *);
int	 tar_pack(const char *, const char *, const char *, const char *);
int	 tar_unpack(const char *, const char *, const char *);

#endif
