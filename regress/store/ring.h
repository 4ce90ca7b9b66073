/*
 * The ring around a store: a real store process, and its four siblings
 * played by the test, one message at a time.
 */
#ifndef RING_H
#define RING_H

#include <atf-c.h>

#include "sandboxd.h"

#define ROOT_SESSION	11
#define USER_SESSION	12
#define OTHER_SESSION	13
#define USER_UID	1234
#define OTHER_UID	4321

struct ring {
	pid_t		 pid;
	char		 home[64];
	struct chan	 parent;
	struct chan	 frontend;
	struct chan	 broker;
	struct chan	 runner;
	struct msg_conf	 conf;
	uint32_t	 req;		/* newest request's number */
	char		 nonce[33];	/* newest container's mark */
	uint32_t	 guest;		/* version of guests; 0: 1 */
	int		 allowed;	/* show what was allowed, too */
	uint32_t	 hold;		/* what is created is held */
};

/* A message that was received; decoded in msg, to be cleared. */
struct got {
	struct frame	 f;
	union {
		struct proto_error		 error;
		struct proto_accepted		 accepted;
		struct proto_sandbox		 sandbox;
		struct proto_exec_info		 exec;
		struct proto_event		 event;
		struct proto_end		 end;
		struct proto_hello_ok		 hello;
		struct proto_status_info	 status;
		struct proto_verify		 verify;
		struct proto_limit		 limit;
		struct msg_work			 work;
		struct msg_mounts_check		 mounts;
		struct msg_mounts_ref		 mounts_ref;
		struct msg_listen		 listen;
		struct msg_box_create		 create;
		struct msg_box_ref		 box;
		struct msg_start		 start;
		struct msg_exec_ref		 ref;
		struct msg_read			 read;
		struct msg_resize		 resize;
		char				 room[8192];
	}		 m;
};

extern struct ring	 ring;

void	 ring_make(void);		/* a home of its own, defaults */
void	 ring_start(void);		/* the store, sessions, GO */
void	 ring_up(void);			/* both, and an Engine */
void	 ring_engine(int up);
void	 ring_kill(void);		/* kill -9 */
void	 ring_stop(void);		/* politely, and everything goes */
void	 ring_session(uint64_t, uint32_t);
void	 ring_session_as(uint64_t, uint32_t, struct msg_session *);
void	 ring_session_over(uint64_t);

void	 ring_send(struct chan *, uint32_t, uint64_t, uint64_t, uint32_t,
	    const void *);
/* The next message must be of that type. */
void	 ring_get(struct chan *, uint32_t, struct got *);
/*
 * The next message, whatever it is but a line of the log, or the event that
 * something was allowed: each who reads the log makes such, and it comes when
 * it comes.
 */
void	 ring_frame_any(struct chan *, struct got *);
void	 ring_done(struct got *);
/* The same when what it says does not matter. */
void	 ring_skip(struct chan *, uint32_t);
/* Nothing has come: a PING goes through all of the store. */
void	 ring_quiet(struct chan *);

/* A client's request; returns its number. */
uint32_t ring_ask(uint64_t, uint32_t, const void *);
uint32_t ring_ref(uint64_t, uint32_t, const char *, uint32_t wait);
/* Its answer is an error with that code. */
void	 ring_refused(uint32_t, enum code);
/* The next answer of that request. */
void	 ring_answer(uint32_t, uint32_t, struct got *);
void	 ring_answered(uint32_t, uint32_t);

/* The walks: number and operation of what was made. */
uint64_t ring_create(uint64_t, const char *, uint64_t *);
/* Up to the guest's hello; and what its runner is told when it is ready. */
void	 ring_make_begun(uint64_t, uint64_t, uint32_t, const char *);
void	 ring_let_in(uint64_t);
void	 ring_make_ready(uint64_t, uint64_t, uint32_t, const char *);
uint64_t ring_ready(uint64_t, const char *);
void	 ring_hello(uint64_t, uint64_t, uint32_t);
uint32_t ring_exec(uint64_t, const char *, uint32_t);
/* An order to the broker: its operation; and what came of it. */
uint64_t ring_ordered(uint32_t);
void	 ring_outcome(uint32_t, uint64_t, uint64_t);
/* What is undone of it, once it is ordered: all but, or with its workspace. */
void	 ring_unboxed(uint64_t);
void	 ring_removed(uint64_t);
/* That is its state now. */
void	 ring_state(uint64_t, const char *, const char *);
void	 ring_ended(uint64_t, uint64_t, uint32_t, int32_t);

#endif
