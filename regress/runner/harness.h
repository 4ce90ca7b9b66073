/*
 * Parent, store, frontend and guests for a runner under test.  The runner is
 * the real one, in a process of its own with a user and a root directory of
 * its own; everything it says is kept until the test asks for it.
 */

#ifndef HARNESS_H
#define HARNESS_H

#include <sys/queue.h>
#include <sys/types.h>

#include <stdint.h>

#include "gproto.h"
#include "sandboxd.h"

#define OWNER	1000
#define SESSION	7

/* What came on a pipe, decoded. */
struct got {
	TAILQ_ENTRY(got)	 entry;
	uint32_t		 type;
	uint64_t		 op;
	uint64_t		 session;
	uint32_t		 req;
	int			 fd;
	union {
		struct msg_guest_hello	 hello;
		struct msg_guest_gone	 gone;
		struct msg_started	 started;
		struct msg_not_started	 not_started;
		struct msg_ended	 ended;
		struct msg_refused	 refused;
		struct msg_result	 result;
		struct msg_stream_end	 stream_end;
		struct msg_log		 log;
		struct msg_call_done	 call_done;
		struct proto_stream	 stream;
		struct proto_gap	 gap;
		struct proto_stalled	 stalled;
		struct proto_input_ack	 input_ack;
		struct proto_output_end	 output_end;
		char			 room[8192];
	} u;
};
TAILQ_HEAD(gots, got);

struct rig {
	char		 dir[64];
	char		 root[80];	/* the runner's root directory */
	uid_t		 uid;
	pid_t		 pid;		/* of the runner, 0 */
	struct chan	 main;
	struct chan	 store;
	struct chan	 frontend;
	struct gots	 from_main;
	struct gots	 to_store;
	struct gots	 to_frontend;
	struct msg_conf	 conf;
	uint32_t	 req;		/* last request's number */
};

/* One frame of a player's: SEND(p, exit(B, k, &e)). */
#define SEND(p, call)	do {						\
	uint8_t	 b_[512];						\
	ssize_t	 n_;							\
	n_ = gp_encode_##call;						\
	ATF_REQUIRE(n_ > 0);						\
	player_send(p, b_, n_);						\
} while (0)
#define B	b_, sizeof(b_)

/* A guest, played by the test. */
struct player {
	struct rig	*rig;
	uint64_t	 n;
	uint64_t	 boot;
	int		 fd;
	uint8_t		*buf;		/* received */
	size_t		 len, used;
};

struct buf {
	uint8_t		*data;
	size_t		 len;
};

struct rig *rig_new(void);
void	 rig_start(struct rig *);	/* a runner on the directory */
void	 rig_kill(struct rig *);	/* SIGKILL */
void	 rig_stop(struct rig *);	/* SHUTDOWN; it exits with 0 */
void	 rig_end(struct rig *);
void	 rig_alive(struct rig *);	/* it has answered since */
char	*rig_path(struct rig *, const char *, ...)
	    __attribute__((__format__(printf, 2, 3)));
int	 rig_exists(struct rig *, const char *);

/* Messages to the runner. */
void	 say(struct rig *, uint32_t, uint64_t, uint32_t, const void *);
void	 say_op(struct rig *, uint32_t, uint64_t, const void *);
void	 listen_box(struct rig *, uint64_t, uint64_t, uint32_t);
void	 start_exec(struct rig *, uint64_t, uint64_t, uint32_t, uint32_t);
void	 forget_exec(struct rig *, uint64_t, uint64_t);
void	 ref_exec(struct rig *, uint32_t, uint64_t, uint64_t, uint64_t,
	    uint32_t);
uint32_t read_exec(struct rig *, uint32_t, uint64_t, uint64_t, uint32_t,
	    uint64_t, uint64_t, const struct msg_ended *);

/*
 * The next message of a type, waited for; the others stay in their order.
 * The one before is freed, its descriptor too unless it was set to -1.
 */
struct got *from_store(struct rig *, uint32_t);
struct got *from_frontend(struct rig *, uint32_t);
/* After an answer to a later message: nothing of this type has come. */
void	 none_store(struct rig *, uint32_t);
void	 none_frontend(struct rig *, uint32_t);

/* All that one stream of a request brings, with its gaps as what they are. */
#define GAP_BYTE	0xee
void	 read_stream(struct rig *, uint32_t, uint32_t, struct buf *,
	    uint64_t *);

/* Guests. */
struct player *player_new(struct rig *, uint64_t);
void	 player_connect(struct player *);	/* the socket's alone */
void	 player_greet(struct player *, uint32_t);	/* HELLO, WELCOME */
void	 player_states(struct player *, const struct gp_state *,
	    const uint64_t *, uint32_t);	/* to STATES_END */
void	 player_hello(struct player *, const struct gp_state *,
	    const uint64_t *, uint32_t);	/* both */
void	 player_cut(struct player *);
void	 player_free(struct player *);
void	 player_send(struct player *, const void *, size_t);
void	 player_frame(struct player *, uint16_t, struct gp_frame *);
int	 player_eof(struct player *);		/* waits: nothing but the end */
void	 player_output(struct player *, uint64_t, uint32_t, uint64_t,
	    const void *, size_t);
void	 player_started(struct player *, uint64_t, uint32_t);
void	 player_exit(struct player *, uint64_t, int, uint64_t, uint64_t);
/*
 * Sends a stream as a guest does, on credit, from *from to an offset; both
 * that and *acked are kept up.  -1: no credit came in so many ms.
 */
int	 player_stream(struct player *, uint64_t, uint32_t, const uint8_t *,
	    uint64_t *, uint64_t, uint64_t *, int);
/* A guest that is ready, and its sandbox. */
struct player *boot(struct rig *, uint64_t);
/* served.c: an exec of an honest one, from start to end; and no sandbox more. */
void	 good_exec(struct rig *, struct player *, uint64_t);
void	 unlisten(struct rig *, uint64_t);
void	 pattern(uint8_t *, size_t, uint32_t);

#endif
