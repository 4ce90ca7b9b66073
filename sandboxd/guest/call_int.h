/* call_int.h: what the files of PID 1's side of calls share. */

#ifndef CALL_INT_H
#define CALL_INT_H

#include <sys/types.h>

#include "call.h"

#define WORKERS		CALLS_MAX_BOX

/* A worker, and the call that it has. */
struct call {
	uint64_t	 k;		/* 0: it has none */
	pid_t		 pid;		/* 0: this place is free */
	int		 ctl;
	int		 dead;		/* and reaped */
	int		 readable;	/* there may be a packet */
	int		 blocked;	/* it takes no packet just now */
	uint64_t	 idle;		/* since then */
	uint64_t	 sent;		/* output, on its way to the runner */
	uint64_t	 acked;
	int		 net;		/* it is a connection */
	int		 writes;	/* files may change by it */
	int		 out_over;	/* there is no more of it */
	int		 pipe;		/* where it lies that is poured, or -1 */
	/* Input: from base to end it is kept until the worker takes it. */
	uint8_t		*ring;
	uint64_t	 base;
	uint64_t	 end;
	uint64_t	 told;
	uint64_t	 total;		/* of INPUT_END, or UINT64_MAX */
	char		 mark[MARK_NAME_MAX + 1]; /* that it makes, or "" */
	int		 in_over;	/* and that was passed on */
};

extern struct call	 calls[WORKERS];

/* call.c */
struct call	*call_find(uint64_t);
/* An end that no worker tells; the text stays its owner's. */
void		 call_over(uint64_t, enum code, uint64_t, const char *);
/* A packet of a worker's: 1 if it may send that now; over: it is its last. */
int		 call_check(struct call *, const uint8_t *, size_t, int *);

/* call_worker.c */
struct call	*call_give(uint64_t, const struct gp_call *, const uint8_t *,
		    size_t, int);
void		 call_release(struct call *);
void		 call_leave(struct call *);

/* call_own.c */
void		 call_own_event(struct call *);

#endif
