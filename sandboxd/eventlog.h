/*
 * The event log: appending inside a batch's transaction, and reading.
 */
#ifndef EVENTLOG_H
#define EVENTLOG_H

#include "eventdb.h"
#include "record.h"

struct eventlog {
	struct eventdb	*db;
	uint64_t	 seq;		/* newest, in this transaction */
	uint8_t		 link[RECORD_HASH_LEN];
	uint64_t	 done_seq;	/* newest that is committed */
	uint8_t		 done_link[RECORD_HASH_LEN];
	/* The log begins behind these; the same two again. */
	uint64_t	 anchor;
	uint8_t		 anchor_link[RECORD_HASH_LEN];
	uint64_t	 done_anchor;
	uint8_t		 done_anchor_link[RECORD_HASH_LEN];
};

/* Whether an event of no sandbox may go. */
enum eventlog_going {
	GOING_NOT,
	GOING_ALONG,		/* but not for its own sake */
	GOING
};

struct eventlog_verify {
	uint64_t	 next;		/* to look at */
	uint8_t		 link[RECORD_HASH_LEN];
	uint64_t	 events;
	uint64_t	 skeletons;
	uint64_t	 anchor;	/* sequence before the first kept */
	uint64_t	 until;		/* of this slice, CLOCK_MONOTONIC ns */
	char		 why[256];
	/* Told of each, with its link; -1: bad, and it has set why. */
	int		(*fn)(void *, const struct record *, const uint8_t *);
	void		*arg;
};

/* Returns non-zero to stop.  A skeleton has a sequence and type 0 alone. */
typedef int (*eventlog_fn)(void *, const struct record *);

int	eventlog_open(struct eventlog *, struct eventdb *);
int	eventlog_append(struct eventlog *, struct record *);
/*
 * The next one as another log had it: a record, or the hash of one that is a
 * skeleton; EDB_NOTFOUND if it is none.
 */
int	eventlog_copy(struct eventlog *, int, const uint8_t *, size_t);
void	eventlog_committed(struct eventlog *);
void	eventlog_aborted(struct eventlog *);
int	eventlog_read(struct eventlog *, uint64_t, eventlog_fn, void *);
int	eventlog_read_sandbox(struct eventlog *, uint64_t, uint64_t,
	    eventlog_fn, void *);

/*
 * Within a batch: makes skeletons of a sandbox's events, and moves the anchor
 * behind the skeletons that begin the log, and behind those events of no
 * sandbox among them that fn lets go; at most that many.  The number.
 */
int	eventlog_collect(struct eventlog *, uint64_t, int);
int	eventlog_anchor(struct eventlog *, int, enum eventlog_going (*fn)(
	    const struct record *));

/* Nanoseconds of CLOCK_MONOTONIC, which slices are bounded by. */
uint64_t eventlog_clock(void);

/* One slice; 1: goes on, 0: whole and well, -1: damaged, why says what. */
void	eventlog_verify_start(struct eventlog *, struct eventlog_verify *);
int	eventlog_verify_slice(struct eventlog *, struct eventlog_verify *, int);

#endif
