/*
 * Calls: operations that the guest carries out by itself, without a command
 * of the sandbox.  Each has a number, takes typed arguments and maybe a stream
 * of bytes, gives maybe a stream of bytes, and ends once.  Nothing of it is
 * in the database, and none is ever done again.
 *
 * Clients, daemon and guest share this: numbers are appended, never changed.
 */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>

enum call_op {
	CALL_NONE,
	CALL_STAT,		/* one record of path */
	CALL_READ,		/* bytes of a file, from offset, length of them */
	CALL_WRITE,		/* the input into a file */
	CALL_LIST,		/* a record of each entry */
	CALL_MKDIR,
	CALL_REMOVE,
	CALL_MOVE,		/* path to path2 */
	CALL_COPY,		/* a file, path to path2 */
	CALL_CHMOD,
	CALL_TRUNCATE,		/* to length bytes */
	CALL_LINK,		/* path gets the name path2 */
	CALL_SYMLINK,		/* path2 leads to path */
	CALL_USAGE,		/* count bytes on the disk, count2 entries */
	CALL_GLOB,		/* names below path that a pattern matches */
	CALL_GREP,		/* lines below path that have a string */
	CALL_LINES,		/* a page of a file */
	CALL_EDIT,		/* a string of a file becomes another */
	CALL_WATCH,		/* changes of path and below, as they come */
	CALL_TREE_GET,		/* what is below path, as a tar stream */
	CALL_TREE_PUT,		/* a tar stream, to below path */
	CALL_MARK,		/* keep what is below path, as pattern */
	CALL_DIFF,		/* what has changed since a mark, or a time */
	CALL_UNMARK,		/* a mark goes */
	CALL_CONNECT,		/* bytes to and from port count, both ways */
	CALL_CHANGES,		/* DIFF since a mark, with contents */
	CALL_TREE_COPY,		/* path and all below it, to path2 */
	CALL_MAX
};

#define CALL_ALL	UINT64_MAX	/* of a length: to the end */

/* What a call does with its streams; calls.c has the table. */
#define CALL_IN		0x1	/* takes input */
#define CALL_OUT	0x2	/* gives output */
#define CALL_REC	0x4	/* and that in records, see filerec.h */
#define CALL_TWO	0x8	/* has a second path */
#define CALL_NET	0x10	/* has a port in the place of a path */

/* Flags of a request.  An operation refuses those that it does not know. */
#define CALL_F_STREAM	0x1	/* input by a pipe, else all of it is in data */
#define CALL_F_NOFOLLOW	0x2	/* a link at the end is meant itself */
#define CALL_F_ATOMIC	0x4	/* the whole file, and all of it at once */
#define CALL_F_PARENTS	0x8	/* make the directories that are missing */
#define CALL_F_EXCL	0x10	/* what is there already is not replaced */
#define CALL_F_RECURSE	0x20	/* and all that is below */
#define CALL_F_FORCE	0x40	/* what is not there is no error */
#define CALL_F_TRUNC	0x80	/* a file that is there is emptied first */
#define CALL_F_APPEND	0x100
#define CALL_F_FILES	0x200	/* regular files; of a search: their names */
#define CALL_F_NODOT	0x400	/* a dot in front must be in the pattern */
#define CALL_F_ANYDEPTH	0x800	/* a pattern of one name: in any directory */
#define CALL_F_REGEX	0x1000	/* an extended regular expression */
#define CALL_F_ICASE	0x2000	/* letters of either case */
#define CALL_F_COUNTS	0x4000	/* of a search: lines by file */
#define CALL_F_NUMBER	0x8000	/* each line with its number */
#define CALL_F_EVERY	0x10000	/* every occurrence */
#define CALL_F_CRLF	0x20000	/* as well with the file's line ends */
#define CALL_F_NOTES	0x40000	/* what is left out is told in the stream */
#define CALL_F_CONTENTS	0x80000	/* of text files are kept too */
#define CALL_F_ALL	0xfffff

#define CALL_PATH_MAX	4095	/* bytes of a path or a pattern */
#define CALL_DATA_MAX	65536	/* of input in the request itself */
#define MARK_NAME_MAX	63
#define SCOPE_MAX	16	/* patterns of what is looked at */
#define CALL_TEXT_MAX	255	/* of what the guest says */
#define CALL_NAMES	10000	/* results of GLOB, if no count is asked for */
#define CALL_MATCHES	1000	/* of GREP */
#define CALLS_MAX_BOX	32	/* under way in one sandbox */
#define CALLS_MAX_USER	128	/* of one user */

/* Flags of a result. */
#define CALL_R_MORE	0x1	/* a bound was met: there is more */
#define CALL_R_DENIED	0x2	/* something could not be read */
#define CALL_R_BINARY	0x4	/* the file is no text */
#define CALL_R_CUT	0x8	/* the last line is not whole */
#define CALL_R_TOTAL	0x10	/* the lines were all counted */

/* Flags of a line that a search has found. */
#define GREP_R_CONTEXT	0x1	/* beside one, none itself */
#define GREP_R_CUT	0x2	/* a part of it */
#define GREP_TEXT_MAX	16384	/* bytes of a line */
#define CHANGE_DATA_MAX	16384	/* bytes of a file in one record */

int		 call_known(uint32_t);
const char	*call_name(uint32_t);		/* "unknown" for no call */
uint32_t	 call_number(const char *);	/* CALL_NONE for no name */
int		 call_kind(uint32_t);		/* CALL_IN ... */

#endif
