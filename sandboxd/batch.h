/*
 * Group commit.  A batch is what has queued while the last commit ran.
 */
#ifndef BATCH_H
#define BATCH_H

#include <sys/types.h>
#include <sys/queue.h>

#include "eventlog.h"

#define BATCH_MAX	256
#define BATCH_APART	4	/* that fail, and the others are tried again */

/* What a body returns. */
#define BATCH_OK	0
#define BATCH_REFUSED	1	/* nothing was written for it */
#define BATCH_FAIL	(-1)	/* it cannot be done, or the database failed */

/* What done is told besides. */
#define BATCH_NOSPACE	2
#define BATCH_UNAVAIL	3

struct batch;

typedef int	(*batch_body)(struct batch *, void *);
typedef void	(*batch_done)(void *, int);

struct batch_item {
	STAILQ_ENTRY(batch_item)	 entry;
	batch_body			 body;
	batch_done			 done;
	void				*arg;
	int				 gating;
	int				 apart;		/* the others go on */
	int				 result;
};

struct batch_undo {
	SLIST_ENTRY(batch_undo)		 entry;
	void				(*undo)(void *);
	void				*arg;
	size_t				 len;
	uint8_t				 old[];
};

struct batch_after {
	STAILQ_ENTRY(batch_after)	 entry;
	void				(*fn)(void *);
	void				*arg;
};

STAILQ_HEAD(batch_items, batch_item);
STAILQ_HEAD(batch_afters, batch_after);
SLIST_HEAD(batch_undos, batch_undo);

struct batch {
	struct eventdb		*db;
	struct eventlog		*log;
	struct batch_items	 queue;
	struct batch_undos	 undos;
	struct batch_afters	 afters;
	u_int			 nqueue;
	u_int			 ngating;
	int			 running;
	int			 wrote;		/* the transaction has writes */
	uint64_t		 commits;	/* of those that had */
	/* Asks that batch_run() be called soon, or before long. */
	void			(*wake)(struct batch *, int);
	/* After each commit: new events can be seen. */
	void			(*committed)(struct batch *);
};

void	batch_init(struct batch *, struct eventdb *, struct eventlog *);

/* done is called once the batch is committed, or has failed. */
void	batch_gating(struct batch *, batch_body, batch_done, void *);
void	batch_following(struct batch *, batch_body, batch_done, void *);
int	batch_run(struct batch *);

/* For bodies: what is to be put back if the commit fails ... */
void	batch_keep(struct batch *, void *, size_t);
void	batch_undo(struct batch *, void (*)(void *), void *);
/* ... and what is to be done once it has not. */
void	batch_after(struct batch *, void (*)(void *), void *);

#endif
