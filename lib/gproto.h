/*
 * The guest protocol: what the runner and the guest, PID 1 of a sandbox, say
 * to each other over a stream socket.  Both ends use this code; the guest
 * links nothing else of lib/, so it needs the C library alone.
 *
 * A frame is a header of GP_HDRLEN bytes and a payload, all numbers little
 * endian:
 *
 *	u32 length of the payload	u16 type	u16 zero
 *	u64 number of the exec (k), 0 where the frame is about none
 *
 * Each type has one sender and a range of lengths; gp_get() refuses what does
 * not fit before the payload has arrived.  Decoders allocate nothing: what
 * they return points into the frame.
 *
 * The walk of a connection:
 *
 *	guest	HELLO, and nothing else before WELCOME
 *	runner	WELCOME
 *	guest	STATE for each exec in its table, then STATES_END
 *	runner	START or RESUME for each exec without an end that it knows
 *	guest	STATE (known), NOT_STARTED (could not, or unknown), STARTED (new);
 *		then the output from the offset that the runner gave, then EXIT
 *	...
 *	runner	STOP
 *	guest	... EXIT of all; when all are forgotten BYE, and it ends
 *
 * On a connection the guest sends no OUTPUT, EXIT or INPUT_ACK of an exec
 * before START or RESUME has named it there.  EXIT follows the last byte of
 * the exec's output, and is sent again on each connection until FORGET.
 *
 * A call has a number with GP_CALL_BIT, which no exec has.  It belongs to its
 * connection: with that it ends, and is never done again.  Its input and its
 * output go by INPUT, INPUT_ACK, INPUT_END, OUTPUT and ACK as those of an exec
 * do, output as stream 1; CANCEL ends it early.  CALL_END comes once for each
 * CALL, after the last OUTPUT.  Of one that carries a connection OUTPUT_END
 * may come before it: there is no output any more, and input is taken still.
 *
 * Frames may reach the guest late: one about an exec that it does not know
 * (any more) is ignored, START and RESUME apart, which are always answered.
 */

#ifndef GPROTO_H
#define GPROTO_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

#include "calls.h"

/*
 * Where things are in the container.  The guest's file and the directory of
 * its socket are mounted there read-only; the guest is the entry point and
 * takes the directory as its one argument, which may be left out.
 *
 * In a build with -DFAULTS the broker gives the container the value of its own
 * variable SANDBOXD_GUEST_FAULT, if it is set, as SANDBOXD_FAULT=point:n; the
 * guest takes that out of the environment before any command runs.
 */
#define GUEST_PATH		"/.sandboxd/guest"
#define GUEST_SOCKDIR		"/.sandboxd/run"
#define GUEST_SOCKNAME		"s"	/* the socket in GUEST_SOCKDIR */
#define GUEST_WORKDIR		"/workspace"	/* HOME, and the default cwd */

/*
 * The daemon speaks these versions: a sandbox keeps the guest that it was
 * made with.  What a version has that the one before had not, the runner may
 * send only to who said it in HELLO; WELCOME has the guest's own version.
 *
 *	1	the first
 *	2	told by hello_ok and status; the frames are those of 1
 *	3	terminals: GP_START_TTY, RESIZE
 *	4	what an exec has changed: GP_START_CHANGES, CHANGED
 *	5	... of what some patterns name: GP_START_SCOPE
 */
#define GP_VERSION		5
#define GP_VERSION_OLDEST	1
#define GP_VERSION_TTY		3	/* from which on it has terminals */
#define GP_VERSION_CHANGES	4	/* ... tells what an exec has changed */
#define GP_VERSION_SCOPE	5	/* ... within some patterns alone */
#define GP_HDRLEN		16
#define GP_OUTPUT_HEAD		28	/* of OUTPUT, before its data */
#define GP_MAX_DATA		65536	/* bytes in one OUTPUT or INPUT */
#define GP_WINDOW		262144	/* beyond the last ACK of a stream */
#define GP_MAX_ENTRIES		4096	/* arguments and environment together */
#define GP_MAX_ARG		131071	/* one argument, without its NUL */
#define GP_MAX_DIR		4095	/* the directory, without its NUL */
/* 192 KiB of text, a NUL for each entry and for the directory. */
#define GP_MAX_STRINGS		(192 * 1024 + GP_MAX_ENTRIES + 1)
#define GP_MAX_SCOPE		CALL_PATH_MAX	/* of patterns, without NUL */
#define GP_MAX_VERSTR		63
#define GP_MAX_EXECS		1024	/* in the guest's table */
#define GP_MAX_MS		2592000000U	/* 30 days: timeout, grace */
#define GP_MAX_SIZE		65535	/* rows, columns of a terminal */

/* The largest frames, header included: the receiver's buffer. */
#define GP_MAX_FROM_GUEST	(GP_HDRLEN + 16 + GP_MAX_DATA)
#define GP_MAX_FROM_RUNNER	(GP_HDRLEN + 64 + GP_MAX_SCOPE + 1 +	\
				    GP_MAX_STRINGS)

#define GP_CALL_BIT		(1ULL << 63)	/* in k: it is a call's */
#define GP_MAX_CALL		(44 + 4 * (CALL_PATH_MAX + 1))

#define GP_UNKNOWN		UINT64_MAX	/* a limit that cannot be read */
#define GP_UNLIMITED		(UINT64_MAX - 1)

enum gp_sender {
	GP_GUEST = 1,
	GP_RUNNER
};

enum gp_type {
	GP_NONE,

	/* from the guest */
	GP_HELLO = 1,		/* first frame of a connection */
	GP_STATE,		/* an exec in the table */
	GP_STATES_END,		/* the table has been told */
	GP_STARTED,		/* the program runs (execve returned well) */
	GP_NOT_STARTED,		/* it does not, and never will */
	GP_OUTPUT,		/* bytes of a stream */
	GP_INPUT_ACK,		/* the command's pipe has taken these */
	GP_EXIT,		/* the end, after the last OUTPUT */
	GP_BACKGROUND,		/* how many are left of an ended exec */
	GP_BYE,			/* answer to STOP, last frame */
	GP_PONG,
	GP_CALL_END,		/* the end of a call */
	GP_OUTPUT_END,		/* no output of a call after this many */
	GP_CHANGED,		/* what an exec has changed, before its EXIT */

	/* from the runner */
	GP_WELCOME = 64,	/* answer to HELLO */
	GP_START,		/* run this; k must be above all seen */
	GP_RESUME,		/* go on with k from these offsets */
	GP_ACK,			/* written to the log up to here */
	GP_INPUT,		/* bytes for the command */
	GP_INPUT_END,		/* no input after this many bytes */
	GP_SIGNAL,		/* a signal by number */
	GP_CANCEL,		/* TERM, grace, KILL to the whole tree */
	GP_FORGET,		/* the end is durable: drop what is kept */
	GP_STOP,		/* end everything, say BYE */
	GP_PING,
	GP_CALL,		/* do this by yourself */
	GP_RESIZE		/* the terminal has another size */
};

enum gp_stream {
	GP_STDOUT = 1,
	GP_STDERR = 2
};

enum gp_exec_state {
	GP_ST_RUNNING = 1,	/* or starting */
	GP_ST_ENDED,		/* EXIT stands, not forgotten */
	GP_ST_FAILED,		/* NOT_STARTED stands, not forgotten */
	GP_ST_BACKGROUND	/* forgotten, but processes are left */
};

enum gp_kind {			/* how an exec ended */
	GP_EXITED = 1,		/* by itself, code */
	GP_SIGNALED,		/* signo */
	GP_TIMED_OUT,		/* by its timeout; code or signo beside it */
	GP_CANCELLED,		/* by CANCEL or STOP; the same */
	GP_LOST			/* status not to be had: damage from inside */
};

enum gp_cause {			/* why an exec did not start */
	GP_NS_NOENT = 1,	/* no such file */
	GP_NS_ACCES,		/* not executable */
	GP_NS_NODIR,		/* no such directory */
	GP_NS_DIRACCES,		/* directory may not be entered */
	GP_NS_NOEXEC,		/* wrong architecture or unknown format */
	GP_NS_LIMIT,		/* processes, memory, descriptors, table */
	GP_NS_TOOBIG,		/* arguments and environment too long */
	GP_NS_UNKNOWN,		/* RESUME, or START of a lower number: not in
				   the table, and not run by this */
	GP_NS_STOPPING,		/* after STOP */
	GP_NS_ERROR,		/* anything else: errno tells */
	GP_NS_CHANGES,		/* how the files are could not be kept */
	GP_NS_SCOPE		/* a pattern of what is to be told is none */
};

/* HELLO flags */
#define GP_CAN_INPUT		0x01
#define GP_CAN_SIGNAL		0x02
#define GP_CAN_PIDFD		0x04	/* kills by pidfd, else by number */
#define GP_CAN_CALL		0x08	/* CALL, and what belongs to it */
#define GP_IS_STOPPING		0x100	/* STOP came on an earlier connection */

/* START flags */
#define GP_START_INPUT		0x01	/* standard input is a pipe, else null */
#define GP_START_MERGE		0x02	/* standard error into standard output */
#define GP_START_KILL_REST	0x04	/* at the end kill what is left */
#define GP_START_TTY		0x08	/* all streams are one terminal */
#define GP_START_CHANGES	0x10	/* tell what it has changed */
#define GP_START_SCOPE		0x20	/* ... of what scope names alone */
#define GP_START_FLAGS		0x3f

/* EXIT flags */
#define GP_EXIT_REAPER_LOST	0x01	/* a payload killed the subreaper */
#define GP_EXIT_OOM		0x02	/* killed, and memory had run out */

/* CHANGED flags */
#define GP_CHANGED_SHARED	0x01	/* others were at work beside it */
#define GP_CHANGED_MORE		0x02	/* the list has not all of them */
#define GP_CHANGED_DENIED	0x04	/* something could not be looked at */
#define GP_CHANGED_FAILED	0x08	/* nothing is known: text tells why */
#define GP_CHANGED_FLAGS	0x0f

#define GP_CHANGES_MAX		256	/* entries of a list */
#define GP_CHANGES_LIST		6144	/* and its bytes */
#define GP_MAX_CHANGED		(44 + CALL_TEXT_MAX + 1 + GP_CHANGES_LIST)

enum gp_change_kind {
	GP_MADE = 1,
	GP_WRITTEN,
	GP_REMOVED,
	GP_RENAMED,			/* from another name */
	GP_ALTERED,			/* not what is in it: mode, owner, links */
	GP_CHANGE_MAX
};

/* INPUT_ACK flags */
#define GP_INPUT_CLOSED		0x01	/* nobody reads: the rest is thrown away */

/* SIGNAL flags */
#define GP_SIGNAL_TREE		0x01	/* every process, else the first alone
					   while it runs */

/* A header that gp_get() has checked, and where its payload lies. */
struct gp_frame {
	uint16_t	 type;
	uint64_t	 k;
	const uint8_t	*data;
	size_t		 len;		/* of data */
	size_t		 total;		/* with the header: bytes to consume */
};

struct gp_hello {
	uint32_t	 version;
	uint32_t	 flags;		/* GP_CAN_*, GP_IS_* */
	uint64_t	 boot;		/* random, new at each start of a guest */
	uint32_t	 pid;		/* getpid(): 1 in a container */
	uint32_t	 uid;
	uint32_t	 gid;
	uint32_t	 nexecs;	/* in the table */
	uint64_t	 last;		/* highest exec number seen */
	uint64_t	 now;		/* monotonic, ns */
	uint64_t	 memory;	/* bytes, GP_UNKNOWN, GP_UNLIMITED */
	uint64_t	 swap;		/* bytes beyond memory, the same */
	uint64_t	 pids;		/* the same */
	uint64_t	 mcpus;		/* thousandths of a processor, the same */
	const char	*release;	/* version of the program, NUL ended */
};

struct gp_welcome {
	uint32_t	 version;
};

struct gp_state {
	uint32_t	 state;		/* enum gp_exec_state */
	uint32_t	 pid;		/* in the sandbox; 0 not yet or not run */
	uint64_t	 out;		/* offset from which output follows */
	uint64_t	 out_len;	/* read from the command so far */
	uint64_t	 err;
	uint64_t	 err_len;
	uint64_t	 in;		/* input received: send from here on */
	uint64_t	 start;		/* monotonic, ns */
	uint32_t	 background;	/* GP_ST_BACKGROUND: how many */
};

struct gp_states_end {
	uint32_t	 count;		/* STATE frames sent before */
};

struct gp_start {
	uint32_t	 flags;		/* GP_START_* */
	uint32_t	 timeout;	/* ms from START, 0 none */
	uint32_t	 grace;		/* ms between TERM and KILL at timeout */
	uint32_t	 argc;		/* at least 1 */
	uint32_t	 envc;
	uint64_t	 out;		/* lengths of the logs, 0 if new */
	uint64_t	 err;
	uint32_t	 rows;		/* GP_START_TTY alone: its size */
	uint32_t	 cols;
	const char	*scope;		/* GP_START_SCOPE: patterns, a line
					   each, + or - before it; NUL ended */
	const char	*args;		/* argc strings, each with its NUL */
	size_t		 argslen;
	const char	*env;		/* envc strings NAME=value */
	size_t		 envlen;
	const char	*dir;		/* "" for the default; NUL ended */
};

struct gp_resume {
	uint64_t	 out;		/* lengths of the logs */
	uint64_t	 err;
};

struct gp_started {
	uint32_t	 pid;
	uint64_t	 start;		/* monotonic, ns */
};

struct gp_not_started {
	uint32_t	 cause;		/* enum gp_cause */
	uint32_t	 error;		/* errno of Linux, 0 if none */
};

struct gp_output {
	uint32_t	 stream;	/* enum gp_stream */
	uint64_t	 off;
	const uint8_t	*data;
	size_t		 len;		/* 1 to GP_MAX_DATA */
};

struct gp_ack {
	uint32_t	 stream;
	uint64_t	 off;
};

struct gp_input {
	uint64_t	 off;
	const uint8_t	*data;
	size_t		 len;		/* 1 to GP_MAX_DATA */
};

struct gp_input_ack {
	uint32_t	 flags;
	uint64_t	 off;
};

struct gp_input_end {
	uint64_t	 total;
};

struct gp_output_end {
	uint64_t	 total;
};

struct gp_signal {
	uint32_t	 signo;		/* 1 to 64, numbers of Linux */
	uint32_t	 flags;
};

struct gp_resize {
	uint32_t	 rows;		/* 1 to GP_MAX_SIZE */
	uint32_t	 cols;
};

struct gp_cancel {
	uint32_t	 grace;		/* ms, 0 = KILL at once */
};

struct gp_exit {
	uint32_t	 kind;		/* enum gp_kind */
	uint32_t	 flags;		/* GP_EXIT_* */
	uint32_t	 code;		/* 0 to 255 */
	uint32_t	 signo;		/* 0, or what killed it; code is 0 then */
	uint32_t	 background;	/* processes left behind */
	uint64_t	 out_len;	/* final lengths of the streams */
	uint64_t	 err_len;
	uint64_t	 start;		/* monotonic, ns */
	uint64_t	 end;
};

struct gp_background {
	uint32_t	 count;		/* processes left; 0: the last has gone */
	uint64_t	 discarded;	/* bytes they wrote after the end */
};

struct gp_stop {
	uint32_t	 grace;		/* ms */
};

struct gp_call {
	uint32_t	 op;		/* enum call_op */
	uint32_t	 flags;		/* CALL_F_* */
	uint32_t	 mode;
	uint64_t	 offset;
	uint64_t	 length;
	uint64_t	 limit;
	uint64_t	 count;
	const char	*path;		/* these four are NUL ended */
	const char	*path2;
	const char	*pattern;
	const char	*filter;
};

struct gp_call_end {
	uint32_t	 code;		/* enum code; CODE_OK: carried out */
	uint32_t	 flags;		/* CALL_R_* */
	uint64_t	 out;		/* bytes of the output */
	uint64_t	 in;		/* bytes of the input that were taken */
	uint64_t	 count;
	uint64_t	 count2;
	const char	*text;		/* why not; NUL ended */
};

struct gp_changed {
	uint32_t	 flags;		/* GP_CHANGED_* */
	uint64_t	 count[GP_CHANGE_MAX];	/* by kind; 0 is not used */
	const char	*text;		/* why not; NUL ended */
	const char	*list;		/* see gp_change_next() */
	size_t		 listlen;
};

/* An entry of such a list. */
struct gp_change {
	uint32_t	 kind;		/* enum gp_change_kind */
	const char	*name;		/* a directory's ends with a slash */
	const char	*from;		/* GP_RENAMED: its name before, or "" */
};

struct gp_ping {			/* and PONG */
	uint64_t	 cookie;
};

/*
 * Looks at the first frame in buf, which came from the sender named.  1: f is
 * set and complete; 0: more bytes are needed, at most f->total if that is not
 * 0; -1: not this protocol.
 */
int	 gp_get(struct gp_frame *, const uint8_t *, size_t, enum gp_sender);
const char *gp_type_name(unsigned int);

/* The word for a kind of change, NULL if there is no such. */
const char *gp_change_name(unsigned int);
/*
 * The next entry of a list: 1, 0 at its end, -1 if it is none.  *p begins at
 * the list and *left with its length.
 */
int	 gp_change_next(struct gp_change *, const char **, size_t *);
/* One more for a list of so many bytes: their new number, 0: no room. */
size_t	 gp_change_add(char *, size_t, const struct gp_change *);

/* Text of a cause of NOT_STARTED, NULL if there is no such. */
const char *gp_cause_text(unsigned int);

/*
 * Strings beside each other, each with its NUL.  gp_pack() copies a vector
 * ended by NULL, returns the bytes used or -1 if they do not fit; the count
 * goes to *n.  gp_next() steps: NULL at the end.
 */
ssize_t	 gp_pack(char *, size_t, char *const *, uint32_t *);
const char *gp_next(const char *, const char *, size_t);

/*
 * Encoders write a whole frame, return its length, or -1 if it does not fit
 * the buffer or a bound.  Decoders return 0, or -1 for what is not allowed.
 */
ssize_t	 gp_encode_hello(uint8_t *, size_t, const struct gp_hello *);
int	 gp_decode_hello(struct gp_hello *, const struct gp_frame *);
ssize_t	 gp_encode_welcome(uint8_t *, size_t, const struct gp_welcome *);
int	 gp_decode_welcome(struct gp_welcome *, const struct gp_frame *);
ssize_t	 gp_encode_state(uint8_t *, size_t, uint64_t,
	    const struct gp_state *);
int	 gp_decode_state(struct gp_state *, const struct gp_frame *);
ssize_t	 gp_encode_states_end(uint8_t *, size_t,
	    const struct gp_states_end *);
int	 gp_decode_states_end(struct gp_states_end *,
	    const struct gp_frame *);
ssize_t	 gp_encode_start(uint8_t *, size_t, uint64_t,
	    const struct gp_start *);
int	 gp_decode_start(struct gp_start *, const struct gp_frame *);
ssize_t	 gp_encode_resume(uint8_t *, size_t, uint64_t,
	    const struct gp_resume *);
int	 gp_decode_resume(struct gp_resume *, const struct gp_frame *);
ssize_t	 gp_encode_started(uint8_t *, size_t, uint64_t,
	    const struct gp_started *);
int	 gp_decode_started(struct gp_started *, const struct gp_frame *);
ssize_t	 gp_encode_not_started(uint8_t *, size_t, uint64_t,
	    const struct gp_not_started *);
int	 gp_decode_not_started(struct gp_not_started *,
	    const struct gp_frame *);
ssize_t	 gp_encode_output(uint8_t *, size_t, uint64_t,
	    const struct gp_output *);
int	 gp_decode_output(struct gp_output *, const struct gp_frame *);
/*
 * Its first GP_OUTPUT_HEAD bytes alone: m->len bytes follow them by another
 * way, and m->data is not looked at, or NULL.
 */
ssize_t	 gp_encode_output_head(uint8_t *, size_t, uint64_t,
	    const struct gp_output *);
int	 gp_decode_output_head(struct gp_output *, struct gp_frame *,
	    const uint8_t *, size_t);
ssize_t	 gp_encode_ack(uint8_t *, size_t, uint64_t, const struct gp_ack *);
int	 gp_decode_ack(struct gp_ack *, const struct gp_frame *);
ssize_t	 gp_encode_input(uint8_t *, size_t, uint64_t,
	    const struct gp_input *);
int	 gp_decode_input(struct gp_input *, const struct gp_frame *);
ssize_t	 gp_encode_input_ack(uint8_t *, size_t, uint64_t,
	    const struct gp_input_ack *);
int	 gp_decode_input_ack(struct gp_input_ack *, const struct gp_frame *);
ssize_t	 gp_encode_input_end(uint8_t *, size_t, uint64_t,
	    const struct gp_input_end *);
int	 gp_decode_input_end(struct gp_input_end *, const struct gp_frame *);
ssize_t	 gp_encode_signal(uint8_t *, size_t, uint64_t,
	    const struct gp_signal *);
int	 gp_decode_signal(struct gp_signal *, const struct gp_frame *);
ssize_t	 gp_encode_resize(uint8_t *, size_t, uint64_t,
	    const struct gp_resize *);
int	 gp_decode_resize(struct gp_resize *, const struct gp_frame *);
ssize_t	 gp_encode_cancel(uint8_t *, size_t, uint64_t,
	    const struct gp_cancel *);
int	 gp_decode_cancel(struct gp_cancel *, const struct gp_frame *);
ssize_t	 gp_encode_exit(uint8_t *, size_t, uint64_t, const struct gp_exit *);
int	 gp_decode_exit(struct gp_exit *, const struct gp_frame *);
ssize_t	 gp_encode_background(uint8_t *, size_t, uint64_t,
	    const struct gp_background *);
int	 gp_decode_background(struct gp_background *,
	    const struct gp_frame *);
ssize_t	 gp_encode_forget(uint8_t *, size_t, uint64_t);
int	 gp_decode_forget(const struct gp_frame *);
ssize_t	 gp_encode_stop(uint8_t *, size_t, const struct gp_stop *);
int	 gp_decode_stop(struct gp_stop *, const struct gp_frame *);
ssize_t	 gp_encode_bye(uint8_t *, size_t);
int	 gp_decode_bye(const struct gp_frame *);
ssize_t	 gp_encode_ping(uint8_t *, size_t, const struct gp_ping *);
int	 gp_decode_ping(struct gp_ping *, const struct gp_frame *);
ssize_t	 gp_encode_pong(uint8_t *, size_t, const struct gp_ping *);
int	 gp_decode_pong(struct gp_ping *, const struct gp_frame *);

ssize_t	 gp_encode_call(uint8_t *, size_t, uint64_t, const struct gp_call *);
int	 gp_decode_call(struct gp_call *, const struct gp_frame *);
ssize_t	 gp_encode_call_end(uint8_t *, size_t, uint64_t,
	    const struct gp_call_end *);
int	 gp_decode_call_end(struct gp_call_end *, const struct gp_frame *);
ssize_t	 gp_encode_output_end(uint8_t *, size_t, uint64_t,
	    const struct gp_output_end *);
int	 gp_decode_output_end(struct gp_output_end *, const struct gp_frame *);
ssize_t	 gp_encode_changed(uint8_t *, size_t, uint64_t,
	    const struct gp_changed *);
int	 gp_decode_changed(struct gp_changed *, const struct gp_frame *);

#endif /* GPROTO_H */
