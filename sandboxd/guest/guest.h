/*
 * The guest: PID 1 of a sandbox.  It runs commands for the runner and keeps
 * what they wrote until the runner has it.  One thread, one loop, no memory
 * but tables that are touched as they are used.
 *
 * Each command is the child of a reaper, a fork of the guest that is a
 * subreaper: whatever the command starts, and however it detaches, comes back
 * to that reaper, and so belongs to this command.  The reaper only starts the
 * command and waits; all killing is done by PID 1, which needs no fork for it.
 * When nothing of a command is left its reaper serves the next one: a fork for
 * each would cost more than all the rest.
 */

#ifndef GUEST_H
#define GUEST_H

#include <sys/types.h>
#include <sys/resource.h>
#include <sys/queue.h>

#include <stdint.h>

#include "codes.h"
#include "gproto.h"

#define GUEST_RELEASE	"1"

#define NSEC		1000000000ULL
#define MSEC		1000000ULL

#define SIGNALS		64		/* of Linux, the real-time ones too */
#define READ_TURN	262144		/* bytes of one stream in one turn */
#define KILL_LIMIT	(30 * NSEC)	/* then what lives is left behind */
#define SCAN_AFTER	3	/* passes by the children files, then /proc */
#define SCAN_CROWD	32	/* so many are not walked one by one again */
#define START_TRIES	5		/* reapers that may be killed under us */
#define OOM_ADJ		"500"		/* of commands; our own stays lower */
#define GUEST_LIMITS	3		/* that are other ones for us */
#define IDLE_MAX	16		/* reapers that wait for a command */
#define IDLE_SHARE	32		/* ... at most so much of all processes */
#define IDLE_TIME	NSEC		/* ... and no longer than this */

/*
 * Memory that a reaper shares with PID 1, and with nobody else: a command
 * cannot reach it, whatever it does to the reaper.  The stage only rises;
 * from SH_EMPTY on it is PID 1's, until the reaper has its next command.
 */
enum stage {
	SH_IDLE,			/* waits for its command */
	SH_TAKEN,			/* has it */
	SH_FAILED,			/* error and where tell why */
	SH_RUNNING,			/* execve has returned well */
	SH_DYING,			/* status tells how; not yet reaped */
	SH_ENDED,			/* reaped, others are left */
	SH_EMPTY			/* and nobody else is left */
};

enum where {
	AT_FORK,
	AT_TTY,
	AT_DIR,
	AT_EXEC
};

struct shared {
	volatile int	 stage;
	volatile int	 pid;		/* by the child itself, before execve */
	volatile int	 error;
	volatile int	 where;
	volatile int	 status;	/* as of wait(2) */
	uint32_t	 flags;		/* GP_START_* */
	uint32_t	 argc;
	uint32_t	 envc;
	uint32_t	 argslen;
	uint32_t	 envlen;
	char		 data[GP_MAX_STRINGS];	/* args, env, dir */
};

/*
 * Output of a command: bytes from base to end are kept, at their offset
 * modulo the window.  base is what the runner has acknowledged, sent what has
 * gone out on this connection; base <= sent <= end <= base + GP_WINDOW.
 */
struct output {
	int		 fd;		/* of the pipe, -1 closed */
	uint8_t		*buf;		/* NULL until the first byte */
	uint64_t	 base;
	uint64_t	 sent;
	uint64_t	 end;
	uint64_t	 discarded;	/* after the exec's end */
};

/* Input: base is what the pipe has taken, end what the runner has sent. */
struct input {
	int		 fd;
	int		 closed;	/* nobody reads any more */
	uint8_t		*buf;
	uint64_t	 base;
	uint64_t	 end;
	uint64_t	 total;		/* of INPUT_END, or UINT64_MAX */
	uint8_t		 last;		/* byte that a terminal got */
	uint8_t		 eofs[2];	/* characters that end its input */
	int		 neofs;		/* ... that are still to be written */
	int		 ended;		/* it has been told */
};

enum exec_state {
	EX_FREE,
	EX_SPARE,			/* a reaper without a command */
	EX_STARTING,
	EX_RUNNING,
	EX_ENDED,
	EX_FAILED,
	EX_BACKGROUND			/* forgotten, processes left */
};

enum kill_state {
	KILL_NONE,
	KILL_TERM,			/* TERM is sent, the grace runs */
	KILL_KILL
};

/* Who was there when a tree was walked. */
struct seen {
	int		 found;
	uint64_t	 hash;
	pid_t		 top;		/* the highest number */
	int		 blind;		/* to orphans that may be another's */
};

#define P_STATE		0x01		/* frames that are due */
#define P_STARTED	0x02
#define P_NOT_STARTED	0x04
#define P_INPUT_ACK	0x08
#define P_EXIT		0x10
#define P_BACKGROUND	0x20

struct exec {
	TAILQ_ENTRY(exec) entry;
	TAILQ_ENTRY(exec) dirty_entry;
	uint64_t	 k;
	enum exec_state	 state;
	int		 pending;	/* P_* */
	int		 dirty;		/* on the list of those to send for */
	int		 resumed;	/* named by the runner on this connection */
	int		 again;		/* a stream has more, its turn was over */
	uint32_t	 flags;		/* GP_START_* */

	pid_t		 reaper;	/* -1 when it is gone */
	int		 ctl;		/* our end of its socket */
	int		 far[2];	/* its ends of the output, to be passed */
	struct shared	*sh;
	int		 reaper_lost;	/* killed by a command */
	int		 swept;		/* ... or by us, with all others */
	int		 tries;

	pid_t		 pid;		/* of the first process */
	int		 done;		/* it has ended */
	int		 status;
	int		 oom;		/* for lack of memory */
	int		 gone;		/* nothing of the tree is left */
	struct output	 out[2];
	struct input	 in;
	int		 tty;		/* the command's end of it, -1 none */
	uint32_t	 rows;
	uint32_t	 cols;

	uint32_t	 kind;		/* GP_TIMED_OUT, GP_CANCELLED, or 0 */
	uint32_t	 grace;		/* ms, for the timeout */
	uint64_t	 start;		/* monotonic, ns */
	uint64_t	 end;
	uint64_t	 deadline;	/* of the timeout, 0 none */
	enum kill_state	 kill;
	uint64_t	 kill_at;	/* end of the grace, then next pass */
	uint64_t	 kill_limit;	/* then it ends without its tree */
	struct seen	 kill_seen;	/* in the last pass */
	uint64_t	 kill_wait;	/* before the next pass, ns */
	int		 kill_pass;
	uint64_t	 signals;	/* to be sent once it runs */
	uint64_t	 tree_signals;	/* those of them that are for all */

	uint32_t	 cause;		/* of NOT_STARTED */
	uint32_t	 error;
	uint32_t	 background;
};
TAILQ_HEAD(execs, exec);

/* What an event of epoll is about: beside it the slot of an exec. */
enum source {
	SRC_SIGNAL,
	SRC_LINK,
	SRC_INOTIFY,
	SRC_CTL,
	SRC_OUT,
	SRC_ERR,
	SRC_IN,
	SRC_CALL
};

struct guest {
	int		 epfd;
	int		 sigfd;
	int		 oomfd;		/* our own oom_score_adj, or -1 */
	char		 oomadj[16];	/* what stood there */
	struct rlimit	 limits[GUEST_LIMITS];	/* as commands get them */
	unsigned int	 limits_set;	/* those that are not so for us */
	int		 nullfd;
	const char	*dir;		/* of the socket */
	uint64_t	 boot;
	uint64_t	 now;		/* monotonic, ns; once a turn */
	uint64_t	 last;		/* highest exec number seen */
	uint64_t	 oom;		/* limits_oom() when last asked */
	uint32_t	 nexecs;
	struct execs	 execs;		/* in use, without the spare */
	struct execs	 dirty;
	struct exec	*spare;
	int		 idle_max;	/* IDLE_MAX, or what the limit allows */
	int		 again;		/* some exec has again set */
	int		 stopping;
	uint64_t	 stop_limit;
	int		 pidfd;		/* the kernel has pidfd_open */
	struct gp_hello	 hello;		/* what does not change of it */
};

extern struct guest	 g;

/* guest.c */
uint64_t	 now_ns(void);
int		 watch_fd(int, enum source, uint32_t, uint32_t);
int		 watch_again(int, enum source, uint32_t);
void		 watch_more(int, enum source, uint32_t, int);

/* call.c */
int		 call_start(const struct gp_frame *);
int		 call_input(const struct gp_frame *);
int		 call_input_end(const struct gp_frame *);
int		 call_ack(const struct gp_frame *);
int		 call_cancel(const struct gp_frame *);
void		 call_event(uint32_t, uint32_t);
ssize_t		 call_fill(uint8_t *, size_t);
int		 call_busy(void);
void		 call_down(void);
void		 call_stop(void);
int		 call_is_worker(pid_t);
int		 call_own(uint64_t, const struct gp_call *, int);
void		 call_own_drop(uint64_t);
int		 call_writes(void);
int		 call_child(pid_t, int);
uint64_t	 call_timer(void);

/* exec.c */
uint32_t	 exec_slot(const struct exec *);
struct exec	*exec_at(uint32_t);
struct exec	*exec_find(uint64_t);
void		 exec_dirty(struct exec *, int);
void		 exec_spare(void);
void		 exec_start(uint64_t, const struct gp_start *);
void		 exec_resume(uint64_t, uint64_t, uint64_t);
void		 exec_forget(struct exec *);
void		 exec_poll(struct exec *);
void		 exec_fail(struct exec *, uint32_t, uint32_t);
void		 exec_free(struct exec *);
void		 exec_stream(struct exec *, int);
void		 exec_again(void);
int		 exec_others_lost(const struct exec *);
void		 exec_child(pid_t, int);

/* changed.c */
int		 changed_begin(struct exec *, const char *);
int		 changed_marking(const struct exec *);
int		 changed_waits(struct exec *);
int		 changed_over(const struct exec *);
void		 changed_skip(struct exec *);
void		 changed_free(const struct exec *);
void		 changed_meet(const struct exec *);
ssize_t		 changed_put(const struct exec *, uint8_t *, size_t);
int		 changed_take(uint64_t, const uint8_t *, size_t);
void		 changed_end(uint64_t, enum code, const char *, int);
uint64_t	 changed_timer(void);

/* confine.c */
void		 confine_init(void);
void		 confine_enter(void);
void		 confine_undo(void);

/* kill.c */
void		 kill_begin(struct exec *, uint32_t, uint32_t);
int		 kill_waits(const struct exec *);
uint64_t	 kill_timers(void);
void		 kill_signal(struct exec *, uint32_t, uint32_t);
void		 kill_started(struct exec *);
void		 kill_done(struct exec *);
void		 kill_all(uint32_t);

/* stream.c */
uint8_t		*ring_get(void);
void		 ring_put(uint8_t *, int);
int		 output_read(struct exec *, int);
void		 output_discard(struct exec *, int);
void		 output_ack(struct exec *, int, uint64_t);
void		 output_close(struct exec *, int);
void		 output_release(struct exec *, int);
int		 input_take(struct exec *, const struct gp_input *);
int		 input_end(struct exec *, uint64_t);
void		 input_write(struct exec *);
void		 input_close(struct exec *);

/* tty.c */
int		 tty_open(struct exec *);
void		 tty_close(struct exec *);
void		 tty_resize(struct exec *, uint32_t, uint32_t);
int		 tty_take(void);
void		 tty_input_end(struct exec *);

/* reaper.c */
void		 close_from(int);
pid_t		 fork_expendable(void);
int		 reaper_spawn(struct exec *, int);
void		 reaper_recycle(struct exec *);
void		 reaper_close(struct exec *);
int		 reaper_is_idle(pid_t);
void		 reaper_idle_ended(pid_t);
uint64_t	 reaper_timer(void);
int		 reaper_give(struct exec *, const struct gp_start *);
int		 reaper_give_again(struct exec *, const struct shared *);
int		 reaper_go(struct exec *);
uint32_t	 reaper_cause(const struct shared *);

/* tree.c */
int		 tree_signal(const struct exec *, int, int, struct seen *);
int		 tree_count(const struct exec *);
int		 tree_signal_one(pid_t, pid_t, int);
void		 tree_init(void);

/* link.c */
void		 link_init(void);
void		 link_event(uint32_t);
void		 link_inotify(void);
void		 link_flush(void);
int		 link_up(void);
void		 link_refuse(uint64_t, uint32_t, uint32_t);
uint64_t	 link_timer(void);
void		 link_welcome(void);
void		 link_pong(const struct gp_ping *);

/* link_recv.c */
int		 link_dispatch(const struct gp_frame *);

/* pour.c */
int		 pour_begin(int, size_t);
int		 pour_busy(void);
int		 pour_out(int);
void		 pour_close(int);
void		 pour_down(void);

/* limits.c */
void		 limits_read(struct gp_hello *);
uint64_t	 limits_oom(void);

#endif /* GUEST_H */
