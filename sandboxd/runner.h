/*
 * The runner's rooms and what they say to each other.
 *
 *	runner.c	start, pipes to parent and frontend
 *	runner_store.c	messages of the store
 *	runner_life.c	whether a guest is alive
 *	runner_silent.c	and whether it answers
 *	runner_listen.c	sandboxes and the sockets on which guests come in
 *	runner_guest.c	a guest's connection: bytes in, bytes out
 *	runner_exec.c	execs, and the guest's frames about them
 *	runner_log.c	logs: a head and segments on the disk
 *	runner_quota.c	how much all logs hold, and what goes first
 *	runner_reader.c	readers of logs: pipes towards clients
 *	runner_input.c	input: pipes from clients
 *	runner_call.c	calls, and the guest's frames about them
 *	runner_pass.c	their bytes, between pipes and guests
 *	runner_tty.c	terminals
 *	runner_changed.c what an exec has changed
 *
 * Everything a guest sends is hostile.  Every name of a file is made of
 * numbers that the store gave.
 */
#ifndef RUNNER_H
#define RUNNER_H

#include <sys/queue.h>
#include <sys/tree.h>
#include <sys/types.h>

#include <stdint.h>

#include <event.h>

#include "gproto.h"
#include "sandboxd.h"

#define RUNNER_TURN	(256 * 1024)	/* read from one guest at a time */
#define RUNNER_FRAMES	1024		/* and as many frames of it */
#define RUNNER_POURS	8		/* or so many heads, and their data */
#define RUNNER_OUT_LOW	(512 * 1024)	/* queued to a guest: no bulk beyond */
#define RUNNER_OUT_MAX	(4 * 1024 * 1024)	/* and this breaks the guest */
#define RUNNER_HELLO_S	10		/* from connect to HELLO; half a frame */
#define RUNNER_LOOK_S	10		/* without a word after it was sent one */
#define RUNNER_PONG_S	20		/* from PING to PONG */
#define RUNNER_READERS	2048		/* pipes that no command waits for */
#define RUNNER_PIPE_MAX	(256 * 1024 * 1024)	/* queued to a sibling */

struct box;
struct call;
struct exec;
struct guest;
struct input;
struct reader;
struct slog;

RB_HEAD(boxes, box);
RB_HEAD(execs, exec);
RB_HEAD(slogs, slog);
TAILQ_HEAD(calls, call);
TAILQ_HEAD(readers, reader);

/* A sandbox whose guest is expected or connected. */
struct box {
	RB_ENTRY(box)	 entry;
	uint64_t	 n;
	uint32_t	 owner;
	uint64_t	 boot;		/* guest's, 0: none has come yet */
	uint32_t	 pid;		/* guest's, 0: not known */
	int		 lfd;		/* listener, -1 */
	struct event	 lev;
	struct event	 pause;		/* after too many strangers */
	uint64_t	 strangers;	/* connections of other processes */
	uint32_t	 flaps;		/* short connections in a row */
	int		 halved;	/* cut off in the middle of a frame */
	struct guest	*guest;
	int		 pidfd;		/* of the guest that was here last, -1 */
	struct event	 death;
	int		 dead;		/* it is, by the kernel's word */
	struct {
		struct event	 ev;
		int		 what;
		time_t		 due;
		int		 heard;
		int		 look;		/* s */
		uint64_t	 probe;		/* the store's last one */
	} quiet;
	struct execs	 execs;
	struct calls	 calls;
	uint32_t	 ncalls;	/* also those given up */
	uint64_t	 forgotten;	/* highest exec whose end is durable */
	int		 held;		/* execs wait to be sent */
	int		 stopping;	/* GUEST_STOP was asked for */
	uint32_t	 grace;
};

enum guest_phase {
	GUEST_NEW,		/* nothing but HELLO is allowed */
	GUEST_STATES,		/* STATE, STATES_END */
	GUEST_READY
};

/* A guest's connection. */
struct guest {
	struct box	*box;
	int		 fd;
	uint32_t	 pid;		/* the kernel's word */
	uint32_t	 version;	/* GP_VERSION_OLDEST to GP_VERSION */
	enum guest_phase phase;
	uint32_t	 nstates;
	int64_t		 clock;		/* from its clock to ours, ns */
	struct u64v	 unclaimed;	/* ended in its table, not in ours */
	int		 stopping;	/* a runner before said STOP */
	int		 calls;		/* it knows CALL */
	int		 pinged;	/* it owes PONG, with this: */
	uint64_t	 cookie;
	const char	*why;		/* what it did wrong */
	int		 bye;
	struct event	 ev;
	struct event	 wev;
	struct event	 flush;		/* made active by what queues */
	struct event	 deadline;
	uint8_t		*rest;		/* what has come and is not handled */
	size_t		 restlen;
	int		 more;		/* there are whole frames in it */
	int		 half;		/* a frame that has begun is waited for */
	struct {
		uint64_t	 k;	/* call whose output's head was read */
		size_t		 left;	/* what is to come of that frame */
		int		 likely; /* another one follows */
	} pour;
	uint8_t		*out;
	size_t		 outoff, outlen, outsize;
	int		 broken;	/* write failed; the reader will tell */
	int		 deaf;		/* it does not read; about to be cut */
	time_t		 born;
};

/* What START needs, until the guest has answered it. */
struct exec_args {
	char		*args;
	size_t		 argslen;
	uint32_t	 argc;
	char		*env;
	size_t		 envlen;
	uint32_t	 envc;
	char		*dir;
	char		*scope;		/* as gp_start has it; "": none */
};

/* What the guest has said of it. */
struct exec_changed {
	uint32_t	 flags;		/* GP_CHANGED_* */
	uint64_t	 count[GP_CHANGE_MAX];
	char		 why[CALL_TEXT_MAX + 1];
	char		 list[CHANGES_LIST_MAX + 1];
};

#define EXEC_SIGNALS	16		/* kept while the guest is away */

struct exec {
	RB_ENTRY(exec)	 entry;
	struct box	*box;
	uint64_t	 k;
	char		 name[EXEC_ID_MAX + 1];
	uint32_t	 flags;		/* EXEC_* */
	uint32_t	 timeout;	/* ms */
	uint32_t	 grace;
	struct exec_args *args;
	struct slog	*log[3];	/* by stream; 0 is not used */
	uint64_t	 acked[3];	/* what the guest counts its window from */
	struct input	*in;		/* NULL: its input is empty */
	int		 again;		/* a runner before may have sent it */
	int		 sent;		/* to some guest, in our time */
	int		 named;		/* on this connection */
	int		 stated;	/* and answered there with STATE */
	int		 told;		/* STARTED went to the store */
	int		 over;		/* its end went to the store */
	int		 cancel;
	uint32_t	 cancel_grace;
	uint32_t	 sig[EXEC_SIGNALS];
	uint32_t	 nsig;
	uint32_t	 rows;		/* of its terminal */
	uint32_t	 cols;
	int		 resize;	/* the guest is to be told */
	struct exec_changed *changed;	/* EXEC_CHANGES; NULL until told */
	int		 late;		/* its end is, and how much */
	int		 counted;	/* its limit began before we did */
	struct event	 due;
};

/* A piece of a log that is one file. */
struct slog_part {
	uint64_t	 start;		/* offset of its first byte */
	uint64_t	 len;
};

#define SLOG_PARTS	8		/* head and segments at most */

/* The log of one stream of one exec. */
struct slog {
	RB_ENTRY(slog)	 entry;
	uint64_t	 n;
	uint64_t	 k;
	uint32_t	 owner;
	uint32_t	 stream;
	uint32_t	 refs;
	int		 ended;		/* nothing will be added */
	int		 isnew;		/* nothing of it can be on the disk */
	int		 hasdir;	/* the folder of segments is there */
	int		 warned;
	uint64_t	 len;		/* one past the last byte written */
	struct slog_part *parts;	/* what is on the disk, by start */
	size_t		 nparts;
	int		 fd;		/* the last part, for appending; -1 */
	struct exec	*exec;		/* whose credit it is; NULL */
	struct readers	 readers;
	struct reader	*primary;	/* for which the command waits */
};

struct reader {
	TAILQ_ENTRY(reader) entry;	/* in its log */
	TAILQ_ENTRY(reader) all;
	struct slog	*log;
	uint64_t	 session;
	uint32_t	 req;
	char		 name[EXEC_ID_MAX + 1];
	uint64_t	 off;		/* next byte for the pipe */
	uint64_t	 end;		/* where it ends; UINT64_MAX: follows */
	int		 wfd;		/* pipe's write end, -1: none now */
	int		 large;		/* the pipe was made larger */
	int		 blocked;	/* waits until the pipe has room */
	int		 partfd;	/* part that is being read, -1 */
	uint64_t	 partstart;
	struct event	 wev;
	struct event	 stall;
};

struct input {
	TAILQ_ENTRY(input) all;
	struct exec	*exec;
	uint64_t	 session;	/* 0: no client */
	uint32_t	 req;
	int		 rfd;		/* pipe's read end, -1 */
	int		 large;		/* the pipe was made larger */
	struct event	 ev;
	int		 known;		/* base is what the guest says */
	int		 synced;	/* and so is sent, on this connection */
	uint64_t	 base;		/* taken by the command up to here */
	uint64_t	 sent;		/* sent to the guest up to here */
	uint8_t		*buf;		/* [base, base + len) from buf + head */
	size_t		 head, len;
	uint64_t	 told;		/* last INPUT_ACK to the client */
	int		 finished;	/* the client has said how much */
	uint64_t	 total;
	int		 end_sent;	/* on this connection */
	int		 closed;	/* nobody reads it any more */
};

/* An operation that a guest carries out for a client. */
struct call {
	TAILQ_ENTRY(call) entry;	/* in its box */
	TAILQ_ENTRY(call) all;
	struct box	*box;
	uint64_t	 k;		/* in the guest's frames */
	uint64_t	 op;		/* the store's number */
	uint64_t	 session;
	uint32_t	 req;
	int		 kind;		/* CALL_IN ... */
	int		 told;		/* CALL_DONE went to the store */
	int		 ended;		/* CALL_END has come */
	struct msg_call_done *done;	/* what it said */
	/* Output: what the pipe has not taken is kept. */
	int		 wfd;
	int		 wlarge;
	struct event	 wev;
	uint64_t	 got;		/* from the guest */
	uint64_t	 put;		/* into the pipe */
	uint64_t	 acked;
	int		 out_over;	/* OUTPUT_END has come */
	int		 out_told;	/* and the client knows */
	uint8_t		*buf;		/* [put, got), from head */
	size_t		 head;
	/* Input. */
	int		 rfd;
	int		 rlarge;
	struct event	 rev;
	uint64_t	 sent;		/* to the guest */
	uint64_t	 taken;		/* by what carries it out */
	uint64_t	 total;		/* UINT64_MAX: not known yet */
	int		 in_over;	/* INPUT_END is sent */
	int		 held;		/* the queue to the guest is full */
};

/* How much the logs of a user hold, and may. */
struct userlog {
	RB_ENTRY(userlog) entry;
	uint32_t	 uid;
	uint64_t	 bytes;
	uint64_t	 most;		/* 0: no bound */
	uint32_t	 generation;	/* of the configuration that says so */
	int		 full;		/* nothing ended is left to go */
};

/* How much the logs of a sandbox hold. */
struct boxlog {
	RB_ENTRY(boxlog) entry;
	uint64_t	 n;
	struct userlog	*user;
	uint32_t	 owner;
	uint64_t	 bytes;
	int		 full;		/* nothing ended is left to go */
};

int	 box_cmp(struct box *, struct box *);
int	 exec_cmp(struct exec *, struct exec *);
int	 slog_cmp(struct slog *, struct slog *);
RB_PROTOTYPE(boxes, box, entry, box_cmp)
RB_PROTOTYPE(execs, exec, entry, exec_cmp)
RB_PROTOTYPE(slogs, slog, entry, slog_cmp)

extern struct chan	 ch_store;
extern struct chan	 ch_frontend;
extern struct msg_conf	 runner_conf;
extern int		 runner_hello_s;	/* less only in a test */

/* runner_store.c */
extern const struct pipe_handler	 runner_store_table[];
extern const size_t			 runner_store_ntable;
void		 runner_error(const struct frame *, enum code, const char *);

/* runner_life.c */
void		 life_begin(struct box *, int, uint32_t);
void		 life_end(struct box *);
void		 life_look(struct box *);
void		 life_tell(struct box *);

/* runner_silent.c: the times are less only in a test. */
extern int	 runner_look_s;
extern int	 runner_pong_s;
extern int	 runner_late_s;
extern int	 runner_obey_s;
void		 silent_init(struct box *);
void		 silent_end(struct box *);
void		 silent_ready(struct box *);
void		 silent_expect(struct box *);
void		 silent_counts(struct box *, uint64_t);
int		 silent_recv_pong(struct guest *, const struct gp_frame *);
void		 silent_exec_init(struct exec *);
void		 silent_exec_begun(struct exec *);
void		 silent_exec_counts(struct exec *);
void		 silent_exec_over(struct exec *);

/* runner_listen.c */
struct box	*box_find(uint64_t);
struct box	*box_new(uint64_t, uint32_t);
void		 box_free(struct box *);
int		 box_listen(struct box *, char *, size_t);
void		 box_unlisten(struct box *);
void		 box_await(struct box *);

/* runner_guest.c */
struct guest	*guest_new(struct box *, int, uint32_t);
void		 guest_close(struct guest *);
void		 guest_greet(struct guest *);
struct guest	*guest_ready(struct box *);
struct guest	*guest_welcome(struct box *);	/* ready, or nearly */
int		 guest_full(const struct guest *);
void		 guest_wrong(struct guest *, const struct gp_frame *);
/* What there is of what it sends; 0: nothing now; -1: it is gone. */
ssize_t		 guest_take(struct guest *, uint8_t *, size_t);
uint8_t		*guest_room(struct guest *, size_t);
void		 guest_wrote(struct guest *, ssize_t);
void		 guest_stop(struct guest *);
void		 guest_drop_unclaimed(struct guest *, uint64_t);

/* runner_exec.c */
struct exec	*exec_find(struct box *, uint64_t);
struct exec	*exec_new(struct box *, const struct msg_start *);
void		 exec_free(struct exec *);
void		 exec_attach(struct exec *, uint64_t, uint32_t, uint32_t,
		    uint64_t, uint64_t);
void		 exec_push(struct exec *);	/* send it now, or hold it */
void		 exec_pump(struct box *);	/* what waits for the guest */
void		 exec_refuse(struct exec *);
void		 exec_not_started(struct exec *, uint32_t, int32_t,
		    const char *);
void		 exec_credit(struct slog *);
void		 exec_signal(struct box *, uint64_t, uint32_t);
void		 exec_cancel(struct box *, uint64_t, uint32_t);
void		 exec_forget(struct box *, uint64_t);
void		 exec_guest_gone(struct box *);
int		 exec_of_frame(struct guest *, const struct gp_frame *,
		    struct exec **);
/* Each takes a frame of the guest: -1 if that was wrong. */
int		 exec_recv_state(struct guest *, const struct gp_frame *);
int		 exec_recv_started(struct guest *, const struct gp_frame *);
int		 exec_recv_not_started(struct guest *,
		    const struct gp_frame *);
int		 exec_recv_output(struct guest *, const struct gp_frame *);
int		 exec_recv_input_ack(struct guest *,
		    const struct gp_frame *);
int		 exec_recv_exit(struct guest *, const struct gp_frame *);

/* runner_tty.c */
int		 tty_refuse(struct guest *, struct exec *);
const char *tty_cause(const struct exec *, const struct gp_not_started *);
void		 tty_push(struct guest *, struct exec *);
void		 tty_resize(struct box *, uint64_t, uint32_t, uint32_t);

/* runner_changed.c */
int		 changed_refuse(struct guest *, struct exec *);
char		*changed_scope(const struct msg_start *);
int		 changed_recv(struct guest *, const struct gp_frame *);
int		 changed_tell(struct guest *, const struct exec *,
		    struct msg_ended *);

/* runner_log.c */
struct slog	*slog_find(uint64_t, uint64_t, uint32_t);
struct slog	*slog_open(uint64_t, uint64_t, uint32_t, uint32_t, int);
void		 slog_release(struct slog *);
void		 slog_append(struct slog *, const uint8_t *, size_t);
void		 slog_skip(struct slog *, uint64_t);
void		 slog_end(struct slog *);
uint64_t	 slog_stored(const struct slog *);
/* The part that holds an offset, or NULL and where the next one begins. */
struct slog_part *slog_part(struct slog *, uint64_t, uint64_t *);
int		 slog_part_open(struct slog *, const struct slog_part *);
void		 slog_drop(struct slog *);	/* all that it holds */
int		 slog_drop_oldest(struct slog *);

/* runner_quota.c */
void		 quota_init(void);
void		 quota_add(struct slog *, int64_t);
int		 quota_room(struct slog *, size_t);
uint64_t	 quota_user(uint32_t);	/* the bound of one; 0: none */
void		 quota_ended(uint64_t);
void		 quota_remove(uint32_t, uint64_t, uint64_t);

/* runner_call.c */
void		 call_new(struct box *, const struct frame *,
		    const struct msg_call *);
struct call	*call_find(struct box *, uint64_t);
void		 call_give_up(struct call *, enum code, const char *);
void		 call_try_end(struct call *);
void		 call_cancel(struct box *, uint64_t);
void		 call_finish(struct box *, uint64_t, uint64_t);
void		 call_guest_gone(struct box *, int);
void		 call_session_gone(uint64_t);
int		 call_recv_end(struct guest *, const struct gp_frame *);
void		 text_clean(char *, size_t, const char *);

/* runner_pass.c */
int		 pass_input(struct call *);
void		 pass_read(struct call *);
void		 pass_data(struct call *, const struct blob *);
void		 pass_close(struct call *);
void		 pass_pump(struct box *);
int		 pass_recv_output(struct guest *, const struct gp_frame *);
struct call	*pass_output_of(struct guest *, const struct gp_frame *,
		    const struct gp_output *);
void		 pass_output(struct call *, const uint8_t *, size_t);
int		 pass_is_open(struct call *);
void		 pass_poured(struct call *, size_t);
int		 pass_recv_output_end(struct guest *, const struct gp_frame *);
int		 pass_recv_input_ack(struct guest *,
		    const struct gp_frame *);

/* runner_pour.c */
ssize_t		 pour_begin(struct guest *, const uint8_t *, size_t);
ssize_t		 pour_more(struct guest *);

/* runner_reader.c */
int		 pipe_grow(int);	/* 1 if it was; pipe_grown() ends it */
void		 pipe_grown(int);
void		 reader_new(struct slog *, const char *, uint64_t, uint32_t,
		    uint64_t, uint64_t, int);
void		 reader_wake(struct slog *);
void		 reader_feed(struct slog *, uint64_t, const uint8_t *, size_t);
void		 reader_demote(struct reader *);
void		 reader_watch(struct reader *);
void		 reader_session_gone(uint64_t);

/* runner_input.c */
struct input	*input_new(struct exec *, int);
void		 input_free(struct input *);
void		 input_attach(struct input *, uint64_t, uint32_t);
void		 input_finish(struct input *, uint64_t);
void		 input_pump(struct input *);
void		 input_reconnect(struct input *);
int		 input_state(struct input *, uint64_t);
int		 input_ack(struct input *, uint64_t, uint32_t);
void		 input_session_gone(uint64_t);

#endif
