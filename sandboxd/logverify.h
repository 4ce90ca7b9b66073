/*
 * Proof of the whole log: the chain, the sequences, the life of each sandbox
 * and exec, and that the state's rows are what the events add up to.
 */
#ifndef LOGVERIFY_H
#define LOGVERIFY_H

#include "eventlog.h"
#include "model.h"

#define LOGVERIFY_MS	5		/* a slice takes no longer */

struct vbox;
RB_HEAD(vbox_tree, vbox);

enum logverify_phase {
	LV_EVENTS,		/* each event, up to the newest */
	LV_BOXES,		/* each sandbox's rows against its events */
	LV_ROWS,		/* rows that nothing in the log stands for */
	LV_DONE
};

struct logverify {
	struct eventlog		*log;
	struct model		 rows;		/* for reading alone */
	struct eventlog_verify	 v;
	struct vbox_tree	 boxes;
	enum logverify_phase	 phase;
	uint64_t		 at;		/* sandbox whose turn it is */
	uint64_t		 exec;		/* its last one that was seen */
	uint8_t			 key[64];	/* last row that was seen */
	size_t			 nkey;
	uint64_t		 last_n;	/* highest number of a sandbox */
	uint64_t		 nboxes;
	uint64_t		 nexecs;
	int			 wanted;	/* a head was given */
	uint8_t			 head[RECORD_HASH_LEN];
	uint64_t		 found;		/* the event that it is of */
	int			 seen;		/* it was found */
	int			 absent;	/* it is whole, without that */
	int			 bad;
	char			 why[320];
};

/* The head, kept elsewhere, that must be in the chain, or NULL. */
void	logverify_start(struct logverify *, struct eventlog *,
	    const uint8_t *head);
/* One slice; 1: goes on, 0: whole and well, -1: damaged, why says what. */
int	logverify_slice(struct logverify *);
void	logverify_end(struct logverify *);

/* Sixty-four hexadecimal digits; -1 if it is anything else. */
int	logverify_head(uint8_t *, const char *);

#endif
