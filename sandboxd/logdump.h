/*
 * The dump of a log: lines of text, which sandboxd-events(7) has.  The writer
 * takes what it writes from a database that changes meanwhile.
 */
#ifndef LOGDUMP_H
#define LOGDUMP_H

#include <sys/queue.h>
#include <sys/tree.h>

#include <sha2.h>
#include <stdio.h>

#include "eventlog.h"

#define LOGDUMP_WORD		"sandboxd-dump"
#define LOGDUMP_VERSION		1
#define LOGDUMP_LINE		(2 * 1024 * 1024)	/* no line is longer */
#define LOGDUMP_KEY		32		/* bytes of a row's key */
#define LOGDUMP_CHANGED		65536		/* rows to be told again */

struct dumpkey;
RB_HEAD(dumpkey_tree, dumpkey);

struct logdump {
	struct eventlog		*log;
	char			*buf;		/* lines that wait */
	size_t			 len;
	size_t			 size;
	SHA2_CTX		 sum;		/* of all lines so far */
	uint64_t		 next;		/* event */
	uint8_t			 link[RECORD_HASH_LEN];
	uint8_t			 key[LOGDUMP_KEY + 1];	/* next row */
	size_t			 nkey;
	int			 rows_done;
	struct dumpkey_tree	 changed;	/* behind that */
	u_int			 nchanged;
	uint64_t		 events;
	uint64_t		 skeletons;
	uint64_t		 rows;
	uint64_t		 until;
	size_t			 want;		/* bytes, and it pauses */
	int			 done;
	char			 why[320];
};

void	logdump_start(struct logdump *, struct eventlog *,
	    const char *instance, uint64_t now);
/*
 * Fills buf with so many bytes or a slice's worth.  1: there is more, 0: that
 * was all, -1: why says what is wrong.
 */
int	logdump_slice(struct logdump *, size_t);
void	logdump_take(struct logdump *, size_t);	/* bytes that have gone */
void	logdump_end(struct logdump *);

/* What a dump was made into. */
struct logdump_result {
	char		 instance[33];
	char		 head[65];		/* of the dump */
	uint64_t	 events;
	uint64_t	 skeletons;
	uint64_t	 anchor;
	uint64_t	 seq;			/* newest of the dump */
	uint64_t	 boxes;
	uint64_t	 execs;
};

/* Into an empty database; 0, or -1 and why. */
int	logdump_restore(FILE *, struct eventlog *, struct logdump_result *,
	    char *why, size_t);

#endif
