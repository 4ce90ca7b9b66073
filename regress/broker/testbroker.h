/*
 * A broker without its parent and its privileges' drop, for tests that play
 * the store.  What goes wrong ends the test case.
 */
#ifndef TESTBROKER_H
#define TESTBROKER_H

#include "policy.h"

#define TB_BOXES	16	/* numbers of a test's sandboxes end here */

struct tb {
	pid_t		 pid;		/* the broker */
	struct chan	 ch;		/* our end, as the store */
	struct policy	 policy;	/* what it was given */
	char		 dir[64];	/* of this test */
	uint64_t	 op;		/* last operation */
};

/* What the broker answers an operation with. */
union answer {
	struct msg_box_started	 started;
	struct msg_box_state	 state;
	struct msg_box_done	 done;
	struct msg_box_failed	 failed;
};

void	 tb_policy(struct tb *);	/* fills policy, makes dir */
void	 tb_start(struct tb *, const char *);
void	 tb_stop(struct tb *);
/* The next frame, which must be of that type; the caller clears msg. */
void	 tb_recv(struct tb *, uint32_t, struct frame *, void *);
/* Waits until the Engine is up. */
void	 tb_up(struct tb *);
/* The same after its Engine was replaced. */
void	 tb_back(struct tb *);
/* An answer of the operation: its type, and the message. */
uint32_t tb_answer(struct tb *, uint64_t, void *);
uint64_t tb_send(struct tb *, uint32_t, const void *);
/* A request that the policy allows, with its directories. */
void	 tb_request(struct tb *, struct msg_box_create *, uint64_t);
void	 tb_import(struct tb *);
void	 tb_tar(int, size_t);	/* so many bytes of an archive */
#define TB_TAR	1536		/* all of it */
/* How many containers the broker says are ours; the last one's state. */
int	 tb_inventory(struct tb *, struct msg_box_state *);

#endif /* TESTBROKER_H */
