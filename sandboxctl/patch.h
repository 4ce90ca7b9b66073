/*
 * patch.h: a patch, as git has it, of what a guest tells in the records of
 * "changes".
 */
#ifndef PATCH_H
#define PATCH_H

#include <sys/tree.h>

#include <stddef.h>
#include <stdint.h>

#include "codes.h"
#include "filerec.h"

#define PATCH_FILE_MAX	(8U << 20)	/* bytes of a file, then or now */

/* Bytes, as many as there are. */
struct patch_buf {
	uint8_t		*p;
	size_t		 len;
	size_t		 size;
};

RB_HEAD(patch_links, patch_link);

/* A patch under way. */
struct patch {
	/* Takes what is whole; -1 to give up. */
	int		(*out)(void *, const void *, size_t);
	/* Something is not in it. */
	void		(*note)(void *, enum code, const char *, const char *);
	void		*arg;

	struct rec_reader rec;
	const char	*why;		/* the guest talks nonsense */
	int		 at;		/* what came last of a file; patch.c */
	char		*name;
	uint32_t	 mode;
	uint32_t	 old_mode;
	int		 left_out;
	struct patch_links links;	/* that there are when it is applied */
	struct patch_buf was;
	struct patch_buf is;
	struct patch_buf text;
	uint64_t	 files;
	uint64_t	 notes;
};

/* patch.c; the first is followed by the last, whatever happens */
void	 patch_begin(struct patch *);
int	 patch_feed(struct patch *, const void *, size_t);
int	 patch_whole(struct patch *);		/* nothing is missing */
void	 patch_end(struct patch *);
/* -1: no memory */
int	 patch_add(struct patch_buf *, const void *, size_t);

/* patch_link.c: a part of a path, so long; a link's target */
int	 patch_is_git(const char *, size_t);
int	 patch_leads_to_git(const char *);
int	 patch_link_add(struct patch *, const char *);	/* -1: no memory */
int	 patch_link_above(struct patch *, const char *);
void	 patch_link_free(struct patch *);

/* patch_diff.c: the hunks that make b of a, behind what text has; -1 */
int	 patch_hunks(struct patch_buf *, const uint8_t *, size_t,
	    const uint8_t *, size_t);

/* tar_patch.c */
int	 tar_patch(const char *);

#endif
