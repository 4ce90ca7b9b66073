/*
 * The tools of an agent, done by the guest itself: finding names, searching
 * contents, reading by lines, writing and editing files.  They run in a
 * process of their own with the rights of the sandbox's user, know nothing of
 * frames or messages, and give what they find to a function of the caller's.
 *
 * None recurses, none follows a link while it walks a tree, none opens what
 * could make it wait (FIFOs, sockets, devices), and each has a bound for its
 * memory, its time and its results, however the tree looks or changes.
 *
 * They return 0, or a number of errno.h.
 */

#ifndef TOOL_H
#define TOOL_H

#include <sys/types.h>
#include <sys/stat.h>

#include <stddef.h>
#include <stdint.h>

/* Bytes for the caller; what it returns but 0 ends the tool with ECANCELED. */
struct tool_sink {
	int	(*put)(void *, const void *, size_t);
	void	*arg;
};

/* tool_walk.c: a tree, in the order of its names. */
#define WALK_ENTRIES	2000000		/* seen in one walk */
#define WALK_NAMES	(64U << 20)	/* bytes of names kept at a time */
#define WALK_DEPTH	4096
#define WALK_PATH	(256U << 10)	/* bytes of a path below the root */

/* Why a walk has not seen all: bits of walk_left(). */
#define WALK_L_ENTRIES	0x01
#define WALK_L_TIME	0x02
#define WALK_L_NAMES	0x04		/* one directory has too many */
#define WALK_L_DEEP	0x08
#define WALK_L_DENIED	0x10		/* a directory could not be read */

struct walk;

struct walk_entry {
	int		 dirfd;		/* of the directory that has it */
	const char	*name;		/* in there */
	const char	*path;		/* from the root on, no leading slash */
	size_t		 len;		/* of path */
	int		 type;		/* DT_*, never DT_UNKNOWN */
};

struct walk	*walk_open(int, uint64_t);
int		 walk_next(struct walk *, struct walk_entry *);
void		 walk_skip(struct walk *);
int		 walk_left(const struct walk *);
void		 walk_close(struct walk *);
uint64_t	 tool_ms(void);
int		 tool_open(const char *, struct stat *, int *);

/* tool_match.c: patterns of names. */
#define GLOB_PATTERN	1024		/* bytes of one */
#define GLOB_ALTS	1000		/* by braces */

#define GLOB_NODOT	0x01		/* a dot in front must be spelled */
#define GLOB_ANYDEPTH	0x02		/* without a slash: in any directory */
#define GLOB_FILES	0x04		/* tool_glob: regular files alone */

struct glob {
	int	  flags;
	size_t	  n;
	char	**alts;
};

int	 glob_compile(struct glob *, const char *, int);
int	 glob_match(const struct glob *, const char *, int);
int	 glob_below(const struct glob *, const char *);
void	 glob_free(struct glob *);

/* tool_glob.c */
struct glob_req {
	const char	*pattern;
	int		 flags;		/* GLOB_* */
	uint64_t	 max;		/* names; 0 for none at all */
	uint64_t	 ms;		/* of time */
};

struct glob_res {
	uint64_t	 count;
	int		 more;		/* max was reached, and there is more */
	int		 left;		/* WALK_L_* */
};

typedef int	 glob_found(void *, const struct walk_entry *);

int	 tool_glob(int, const struct glob_req *, struct glob_res *,
	    glob_found *, void *);

/* tool_find.c: a string in memory. */
#define FIND_MAX	(1U << 20)	/* bytes of a string */

struct find {
	const uint8_t	*s;
	size_t		 len;
	size_t		 at[2];		/* the rarest of its bytes, and next */
	uint8_t		 fold[256];	/* to one case, if that is asked for */
	int		 icase;
};

void		 find_init(struct find *, const void *, size_t, int);
const uint8_t	*find_next(const struct find *, const uint8_t *, size_t);
uint64_t	 find_lines(const uint8_t *, size_t);

/* tool_grep.c */
#define GREP_LINE	65536		/* bytes that an expression sees */
#define GREP_TELL	16384		/* bytes of a line that are told, as
					   GREP_TEXT_MAX of calls.h */
#define GREP_CONTEXT	1000		/* lines */
#define GREP_BINARY	8192		/* a NUL in so many bytes: no text */

#define GREP_REGEX	0x01		/* an extended expression, not a string */
#define GREP_ICASE	0x02

enum grep_mode {
	GREP_LINES,			/* each line */
	GREP_FILES,			/* each file that has one */
	GREP_COUNTS			/* and how many */
};

struct grep_req {
	const char	*pattern;
	size_t		 len;
	const char	*glob;		/* of the files, or NULL */
	int		 flags;		/* GREP_* */
	enum grep_mode	 mode;
	uint32_t	 before;	/* lines of context */
	uint32_t	 after;
	uint64_t	 max;		/* lines, or files by mode; 0 no bound */
	uint64_t	 ms;
};

struct grep_hit {
	const char	*path;		/* from the root on; "" if that is it */
	size_t		 pathlen;
	uint64_t	 line;		/* from 1 */
	const uint8_t	*text;		/* without the end of the line */
	size_t		 len;
	int		 context;	/* beside a match, none itself */
	int		 cut;		/* the line is longer than that */
	uint64_t	 count;		/* GREP_COUNTS */
};

struct grep_res {
	uint64_t	 count;		/* lines that match, or files by mode */
	uint64_t	 files;		/* looked into */
	uint64_t	 binary;	/* passed over */
	uint64_t	 denied;	/* could not be opened */
	int		 more;		/* max was reached, and there is more */
	int		 left;		/* WALK_L_* */
};

typedef int	 grep_found(void *, const struct grep_hit *);

int	 tool_grep(int, const struct stat *, const struct grep_req *,
	    struct grep_res *, grep_found *, void *);

/* tool_regex.c */
int	 regex_check(const char *, size_t);
size_t	 regex_must(const char *, size_t, size_t *);

/* tool_read.c */
#define READ_LINES	2000		/* unless told otherwise */
#define READ_BYTES	512000

#define READ_NUMBER	0x01		/* each line with its number */

enum read_kind {
	READ_TEXT,
	READ_BINARY
};

struct read_req {
	const char	*name;		/* its ending tells of some */
	uint64_t	 offset;	/* lines from the start */
	uint64_t	 limit;		/* lines; 0 for none at all */
	uint64_t	 max;		/* bytes told */
	int		 flags;		/* READ_* */
};

struct read_res {
	enum read_kind	 kind;
	uint64_t	 size;		/* of the file */
	uint64_t	 start;		/* first line told, from 1; 0 for none */
	uint64_t	 end;		/* last one */
	uint64_t	 total;		/* lines of the file, if known */
	int		 known;
	int		 more;		/* there are lines after the last one */
	int		 cut;		/* max ended it, in the last line told */
};

int	 tool_read(int, const struct read_req *, struct read_res *,
	    const struct tool_sink *);

/* tool_write.c: a file that is new or old as a whole, never in between. */
#define WRITE_CREATE	0x01		/* it may not be there */
#define WRITE_PARENTS	0x02		/* directories are made */
#define WRITE_MODE	0x04		/* with the mode that is told */
#define WRITE_NOFOLLOW	0x08		/* a link at the end is refused */

struct replace {
	int	 dirfd;
	int	 fd;			/* of the new file */
	int	 flags;			/* WRITE_* */
	int	 there;			/* an old one is replaced */
	char	 tmp[32];		/* its name for now */
	char	 name[256];
};

int	 replace_begin(struct replace *, const char *, int, mode_t);
int	 replace_commit(struct replace *);
void	 replace_abort(struct replace *);
int	 write_all(int, const void *, size_t);

/* tool_edit.c */
#define EDIT_ALL	0x01		/* every occurrence */
#define EDIT_CRLF	0x02		/* as well with the file's line ends */

enum edit_outcome {
	EDIT_DONE,
	EDIT_NOT_FOUND,
	EDIT_MULTIPLE,			/* and not all were asked for */
	EDIT_NOT_EMPTY			/* nothing is looked for in a file */
};

struct edit_req {
	const char	*path;
	const uint8_t	*old;
	size_t		 oldlen;
	const uint8_t	*new;
	size_t		 newlen;
	int		 flags;		/* EDIT_* */
};

struct edit_res {
	enum edit_outcome outcome;
	uint64_t	 count;		/* of occurrences */
};

int	 tool_edit(const struct edit_req *, struct edit_res *);

#endif /* TOOL_H */
