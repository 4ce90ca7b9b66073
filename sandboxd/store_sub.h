/*
 * A subscription, between the file that reads the log for it and the one that
 * tells it what is appended.
 */
#ifndef STORE_SUB_H
#define STORE_SUB_H

#include <sys/queue.h>

#include "store.h"

struct audience;

struct sub {
	TAILQ_ENTRY(sub)	 entry;		/* of the session */
	TAILQ_ENTRY(sub)	 all;
	TAILQ_ENTRY(sub)	 live_entry;
	struct audience		*live;		/* NULL: it is behind */
	struct asker		 a;
	struct sandbox		*sb;		/* NULL: all that it may see */
	uint64_t		 next;		/* its sequence, or the host's */
	uint64_t		 credit;
	struct filter		 f;
	uint64_t		 began;		/* the newest event then */
	int			 every;		/* sees what is others' too */
	int			 follow;
	int			 end;		/* with its sandbox */
	uint64_t		 beat;		/* ms, 0: none */
	uint64_t		 last;		/* when something was sent */
	struct event		 heart;
	uint32_t		 states;	/* WAIT_STATE: bits of those */
	enum sbx_state		 reached;	/* one of them */
	int			 full;		/* a slice is used up */
	int			 blocked;	/* the next one lacks credit */
	int			 held;		/* the frontend takes none */
	uint64_t		 left;		/* of this slice */
	struct event		 turn;		/* of the next slice */
	struct event		 slow;		/* or too late */
};

/* store_events.c */
void		 sub_pump(struct sub *);
void		 sub_block(struct sub *);
void		 sub_free(struct sub *);
uint64_t	 sub_place(const struct sub *, const struct record *);
void		 sub_send(struct sub *, const struct record *,
		    const msgpack_sbuffer *);
int		 sub_over(const struct sub *, enum sbx_state);
int		 sub_judge(struct sub *, enum sbx_state);
void		 event_encode(msgpack_sbuffer *, const struct record *, int);

/* store_tell.c */
void		 sub_live(struct sub *);
void		 sub_behind(struct sub *);
void		 sub_leave(struct sub *);

#endif
