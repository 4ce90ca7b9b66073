/*
 * Marks and what is compared with them:
 *
 *	fs_mark.c	makes a mark
 *	fs_diff.c	compares, by what is known of each file
 *	fs_content.c	reads contents, and tells changes with them
 *	fs_changed.c	compares, and counts what an exec has changed
 */
#ifndef DIFF_H
#define DIFF_H

#include "call.h"
#include "scope.h"

#define DENIED		0x80000000U	/* in mode: it could not be read */

/* A mark: this, then its entries, a directory before what is in it. */
struct mark_head {
	uint64_t	 count;
	uint64_t	 dev;		/* 0: there was no directory */
	char		 root[CALL_PATH_MAX + 1];	/* without links */
};

/* What a mark has of the content of a file, or of where a link leads. */
enum kept {
	KEPT_NOT,			/* it was not asked for */
	KEPT_ALL,
	KEPT_LARGE,			/* the file, or all that is kept */
	KEPT_BINARY,
	KEPT_UNREAD			/* it cannot be, or changed meanwhile */
};

struct mark_entry {
	uint64_t	 ino;
	uint64_t	 size;
	int64_t		 mtime;
	int64_t		 ctime;
	uint32_t	 mode;
	uint32_t	 uid;
	uint32_t	 gid;
	uint32_t	 nlink;
	uint32_t	 rdev;
	uint32_t	 len;		/* of all, a multiple of 8 */
	uint32_t	 klen;		/* of its content, behind path and PAD */
	uint16_t	 kept;		/* enum kept */
	uint16_t	 young;		/* its times cannot tell a change */
	char		 path[];	/* below the root */
};

/* So many zeros bring it to a multiple of 8. */
#define PAD(n)		(-(size_t)(n) & 7)

#define NO_ROOT		-2		/* no directory is there (yet) */

#define SEEN		1
#define BLIND_NOW	2		/* what is in it cannot be known */
#define BLIND_THEN	4

/* A mark that is compared with. */
struct diff {
	struct walk		 w;
	struct job		*j;
	struct scope		*scope;	/* NULL: all */
	dev_t			 dev;
	int64_t			 since;	/* without a mark */
	int			 unknown; /* what was there then */
	const struct mark_head	*head;	/* with one */
	size_t			 size;
	size_t			 skip;	/* of its paths: those of the root */
	const struct mark_entry	**entry;
	uint8_t			*state;	/* of each */
	uint32_t		*table;
	size_t			 mask;
	uint64_t		 count;
	int		(*tell)(struct diff *, const char *, const char *,
			    const char *, const struct mark_entry *,
			    const struct mark_entry *);
};

/* Memory for one content, made larger as it has to be. */
struct content {
	uint8_t		*buf;
	size_t		 size;
	size_t		 len;
};

/* fs_mark.c */
int		 diff_scope(struct job *, struct scope **);
int		 diff_open(struct job *, char *, struct stat *);
int		 diff_tree(struct job *, struct walk *, int);
void		 diff_close(int);
void		 entry_set(struct mark_entry *, const struct stat *);

/* fs_diff.c */
int		 diff_begin(struct diff *, struct job *);
void		 diff_end(struct diff *);
int		 diff_gone(struct diff *,
		    int (*)(struct diff *, const struct mark_entry *,
		    int));
const char	*diff_how(const struct mark_entry *,
		    const struct mark_entry *);
uint32_t	*diff_slot(const struct diff *, const char *);
int		 diff_walk(struct diff *, int);
int		 path_below(const char *, const char *);

/* fs_content.c */
enum kept	 content_get(struct content *, int, const char *,
		    const struct stat *, size_t);
int		 content_wanted(const char *);

#endif /* DIFF_H */
