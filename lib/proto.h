/*
 * The client protocol: the messages that go over the control socket.
 *
 * Each is an imsg whose payload is one msgpack map by the names of the
 * fields below.  imsg's peerid is the client's request number, not 0, and
 * comes back in every answer to the request.  A request is over with exactly
 * one END or ERROR.  Unknown fields are refused; fields marked M_OPT in
 * proto.c may be missing.
 *
 * Between frontend and store the same messages travel as arrays, with the
 * session and the request number in the frame's header.
 */
#ifndef PROTO_H
#define PROTO_H

#include "bounds.h"
#include "calls.h"
#include "codes.h"
#include "msg.h"

/*
 * A client and a daemon of one version understand each other.  The minor one
 * tells what the other knows: fields that were added to the end of a message,
 * and requests that were added.  A message of proto.c grows at its end alone,
 * its new fields are M_OPT, and what 1.0 had of it stands there in first[].
 */
#define PROTO_VERSION	1
#define PROTO_MINOR	1

/* The last of protocol 1.0. */
#define PROTO_FIRST_REQUEST	PROTO_DOCTOR
#define PROTO_FIRST_ANSWER	PROTO_CONTROL

enum proto_type {
	/* Requests.  In brackets: the answers before END. */
	PROTO_HELLO = 1,	/* first of all [HELLO_OK] */
	PROTO_PING,		/* [] */
	PROTO_STATUS,		/* [PROC ..., STATUS_INFO] */
	PROTO_CREATE,		/* [ACCEPTED, with wait: SANDBOX] */
	PROTO_LIST,		/* [SANDBOX ...] */
	PROTO_SHOW,		/* [SANDBOX, CONTROL ...] */
	PROTO_STOP,		/* [ACCEPTED, with wait: SANDBOX] */
	PROTO_RESUME,		/* [ACCEPTED, with wait: SANDBOX] */
	PROTO_DELETE,		/* [ACCEPTED, with wait: SANDBOX] */
	PROTO_EXEC,		/* [ACCEPTED; attached: STREAM ... EXEC_INFO] */
	PROTO_ATTACH,		/* [STREAM ... EXEC_INFO] */
	PROTO_INPUT_END,	/* [] */
	PROTO_PS,		/* [EXEC_INFO ...] */
	PROTO_LOGS,		/* [STREAM ...] */
	PROTO_WAIT,		/* [EXEC_INFO] */
	PROTO_KILL,		/* [] */
	PROTO_EVENTS,		/* [SANDBOX, EVENT ..., HEARTBEAT ...] */
	PROTO_CREDIT,		/* no answer: more EVENTs for its request */
	PROTO_IMAGE_IMPORT,	/* [STREAM, IMAGE] */
	PROTO_RELOAD,		/* [] */
	PROTO_LOG_VERIFY,	/* [VERIFY] */
	PROTO_RULES,		/* [RIGHT ..., LIMIT ...] */
	PROTO_DOCTOR,		/* [CONTROL ...] */
	PROTO_PAUSE,		/* [ACCEPTED, with wait: SANDBOX] */
	PROTO_UNPAUSE,		/* [ACCEPTED, with wait: SANDBOX] */
	PROTO_RESTART,		/* [ACCEPTED, with wait: SANDBOX] */
	PROTO_UPDATE,		/* [ACCEPTED, with wait: SANDBOX] */
	PROTO_EXTEND,		/* [SANDBOX] */
	PROTO_RECONCILE,	/* [] */
	PROTO_LOG_DUMP,		/* [DUMP ...] */
	PROTO_WAIT_STATE,	/* [SANDBOX] */
	PROTO_CALL,		/* [STREAM ... RESULT] */
	PROTO_CALL_INPUT,	/* [] */
	PROTO_CALL_CANCEL,	/* [] */
	PROTO_RESIZE,		/* [] */
	PROTO_DETACH,		/* [] */

	/* Answers. */
	PROTO_HELLO_OK = 64,
	PROTO_END,
	PROTO_ERROR,
	PROTO_ACCEPTED,
	PROTO_SANDBOX,
	PROTO_EXEC_INFO,
	PROTO_EVENT,
	PROTO_STREAM,		/* carries the end of a pipe */
	PROTO_GAP,
	PROTO_STALLED,
	PROTO_INPUT_ACK,
	PROTO_PROC,
	PROTO_STATUS_INFO,
	PROTO_IMAGE,
	PROTO_VERIFY,
	PROTO_RIGHT,
	PROTO_LIMIT,
	PROTO_CONTROL,
	PROTO_DUMP,
	PROTO_HEARTBEAT,	/* of a subscription that has nothing to tell */
	PROTO_RESULT,		/* of a call that was carried out */
	PROTO_OUTPUT_END,	/* of one that goes on without output */
	PROTO_MAX
};

struct proto_hello {
	uint32_t	 version;	/* PROTO_VERSION */
	char		 client[64];	/* name and version, for the log */
	uint32_t	 minor;		/* PROTO_MINOR */
};

struct proto_hello_ok {
	uint32_t	 version;
	char		 daemon[64];	/* sandboxd's version */
	char		 instance[33];
	uint64_t	 payload;	/* largest payload, bytes */
	uint32_t	 inflight;	/* requests at a time */
	uint32_t	 uid;		/* who the daemon says you are */
	uint32_t	 all;		/* 1: sees everybody's sandboxes */
	uint32_t	 minor;
	uint32_t	 database;	/* EVENTDB_VERSION */
	uint32_t	 guest_oldest;	/* versions of guests that it speaks */
	uint32_t	 guest_newest;
};

/* What a sandbox is made of; 0 or "" takes the configuration's default. */
struct proto_create {
	char		 id[SBX_ID_MAX + 1];	/* "": generated */
	char		 key[SBX_KEY_MAX + 1];	/* makes create idempotent */
	char		 image[SBX_IMAGE_MAX + 1];
	struct kvv	 labels;
	struct kvv	 env;
	uint64_t	 memory;	/* bytes */
	uint32_t	 mcpus;		/* thousandths of a processor */
	uint32_t	 pids;
	char		*workdir;	/* absolute */
	char		 user[SBX_USER_MAX + 1]; /* "", "root" or a number */
	uint32_t	 readonly;	/* 1: root file system read-only */
	uint32_t	 wait;		/* 1: answer when it is ready */
	uint32_t	 resume;	/* 1: after the Engine's end, the host's */
	uint64_t	 lifetime;	/* ms; SBX_TIME_NONE: for ever */
	uint64_t	 idle;		/* ms; SBX_TIME_NONE: never stopped */
	uint64_t	 keep;		/* ms; SBX_TIME_NONE: as configured */
	uint64_t	 disk;		/* bytes of the workspace, 0: no bound */
	uint64_t	 tmpfs;		/* the same, in memory; 0: it is not */
	uint32_t	 hold;		/* 1: ready when it is resumed */
	struct kvv	 mounts;	/* place inside: path on the host */
	struct kvv	 mounts_rw;	/* the same, and it may write there */
	char		 companion_of[SBX_ID_MAX + 1]; /* "": of none */
};

struct proto_list {
	uint32_t	 all;		/* 1: deleted ones too */
	char		 state[16];	/* "": any */
	struct kvv	 labels;	/* all must match; "" value: key is set */
	uint64_t	 after;		/* number: page begins behind it */
	uint32_t	 limit;		/* 0: a page as the daemon likes it */
};

/* It lives so long from now, at least. */
struct proto_extend {
	char		*id;
	uint64_t	 time;		/* ms; 0: as at first, SBX_TIME_NONE */
	uint64_t	 idle;		/* ms; 0: as it is, SBX_TIME_NONE */
};

/* What is 0, "" or empty stays as it is. */
struct proto_update {
	char		*id;
	struct kvv	 labels;	/* set */
	struct strv	 unlabel;	/* and taken away, by their keys */
	uint64_t	 memory;
	uint32_t	 mcpus;
	uint32_t	 pids;
	uint64_t	 lifetime;	/* ms since it was made; SBX_TIME_NONE */
	uint64_t	 idle;		/* ms; SBX_TIME_NONE */
	uint64_t	 keep;		/* ms; SBX_TIME_NONE: as configured */
	uint32_t	 wait;
};

/* SHOW STOP RESUME DELETE PAUSE UNPAUSE RESTART */
struct proto_ref {
	char		*id;		/* "id", or "uid/id" for who sees all */
	uint32_t	 wait;
	uint32_t	 grace;		/* ms, STOP, RESTART; 0: default */
};

#define EXEC_ATTACH	0x1	/* the client reads the output */
#define EXEC_INPUT	0x2	/* the client writes the input */
#define EXEC_CONTINUE	0x4	/* goes on when an attached client is lost */
#define EXEC_KILL_REST	0x8	/* background processes end with it */
#define EXEC_MERGE	0x10	/* both outputs in one stream, 1 */
#define EXEC_TTY	0x20	/* on a terminal; with EXEC_MERGE alone */
#define EXEC_CHANGES	0x40	/* an event tells what it has changed */
#define EXEC_FLAGS	0x7f

struct proto_exec {
	char		*sandbox;
	struct strv	 argv;
	struct kvv	 env;
	char		*dir;		/* "": the sandbox's workdir */
	char		 user[SBX_USER_MAX + 1];
	uint64_t	 timeout;	/* ms, 0: none */
	uint32_t	 grace;		/* ms, 0: EXEC_GRACE_DEFAULT */
	uint32_t	 flags;		/* EXEC_* */
	uint32_t	 rows;		/* EXEC_TTY; 0: TTY_ROWS, TTY_COLS */
	uint32_t	 cols;
	struct strv	 include;	/* EXEC_CHANGES: these alone, by patterns */
	struct strv	 exclude;	/* and not these */
	char		 reason[EXEC_REASON_MAX + 1];	/* for the log alone */
};

/* The size of an exec's terminal from now on. */
struct proto_resize {
	char		*exec;
	uint32_t	 rows;
	uint32_t	 cols;
};

/* It goes on without its client, who leaves it on purpose. */
struct proto_detach {
	char		*exec;
	uint64_t	 shown;		/* bytes of stream 1, so far */
};

/* ATTACH LOGS */
struct proto_attach {
	char		*exec;		/* "id.number", "uid/id.number" */
	uint64_t	 offset1;	/* first byte of stream 1 wanted */
	uint64_t	 offset2;
	uint32_t	 streams;	/* bits 1<<1, 1<<2; ATTACH: 1<<0 input */
	uint32_t	 follow;	/* LOGS: until the exec has ended */
};

struct proto_input_end {
	char		*exec;
	uint64_t	 total;		/* bytes of the whole input */
};

struct proto_ps {
	char		*sandbox;	/* "": of all that the client sees */
	uint32_t	 all;		/* 1: ended ones too */
};

struct proto_wait {
	char		*exec;
	uint64_t	 timeout;	/* ms, 0: none */
};

struct proto_wait_state {
	char		*id;
	struct strv	 states;	/* one of them */
	uint64_t	 from;		/* from this event on; 0: from now on */
	uint64_t	 timeout;	/* ms, 0: none */
};

struct proto_kill {
	char		*exec;
	uint32_t	 signo;		/* 0: cancel: TERM, grace, KILL, all */
	uint32_t	 grace;		/* ms */
};

struct proto_events {
	char		*sandbox;	/* "": all that the client sees */
	uint64_t	 from;		/* first sequence wanted (host's for "") */
	uint32_t	 follow;
	uint32_t	 credit;	/* events that may be sent; 0: a default */
	char		 type[32];	/* "": all; of these alone, or "audit" */
	struct strv	 types;		/* or of these */
	struct kvv	 labels;	/* as in LIST */
	uint32_t	 heartbeat;	/* ms without a word, 0: any time */
	uint32_t	 oldest;	/* 1: for what was collected take this */
	uint32_t	 end;		/* 1: when the sandbox is deleted */
	uint32_t	 snapshot;	/* 1: what it is now, then what comes */
};

struct proto_reload {
	uint32_t	 execute;	/* 1: upgrade in place */
};

struct proto_reconcile {
	uint32_t	 force;		/* 1: give up what is in doubt */
};

struct proto_credit {
	uint32_t	 n;
};

struct proto_image_import {
	char		 name[SBX_IMAGE_MAX + 1];
};

struct proto_log_verify {
	char		 head[65];	/* that must be in the log; "": none */
};

struct proto_log_dump {
	uint32_t	 credit;	/* DUMPs that may be sent; 0: a default */
};

/*
 * An operation that the guest carries out, see calls.h.  Paths are any bytes;
 * one that is not absolute begins at the sandbox's working directory.  What
 * the numbers mean each operation says.
 */
struct proto_call {
	char		*sandbox;
	uint32_t	 op;		/* enum call_op */
	uint32_t	 flags;		/* CALL_F_* */
	uint32_t	 mode;		/* permissions; 0: a default */
	char		*path;
	char		*path2;
	char		*pattern;
	char		*filter;
	uint64_t	 offset;
	uint64_t	 length;
	uint64_t	 limit;		/* 0: none, or the operation's own */
	uint64_t	 count;
	struct blob	 data;		/* all of the input */
};

/* All of a call's input is in its pipe. */
struct proto_call_input {
	uint32_t	 call;		/* number of the request */
	uint64_t	 total;		/* bytes of the whole input */
};

struct proto_call_cancel {
	uint32_t	 call;
};

/* END */
struct proto_end {
	uint64_t	 after;		/* LIST: cursor, 0: that was all */
};

struct proto_error {
	char		 code[CODE_LEN_MAX + 1];
	char		 text[TEXT_MAX + 1];
	char		 field[FIELD_MAX + 1];	/* "" if none */
};

struct proto_accepted {
	char		 id[EXEC_ID_MAX + 1];	/* sandbox or exec */
	uint64_t	 op;
	char		 state[16];
};

struct proto_sandbox {
	char		 id[SBX_ID_MAX + 1];
	uint64_t	 number;
	uint32_t	 owner;		/* uid */
	char		 state[16];
	char		 cause[TEXT_MAX + 1];	/* of failed and stopped */
	char		 image[SBX_IMAGE_MAX + 1];
	char		 image_id[80];
	char		 container[80];
	struct kvv	 labels;
	struct strv	 env;		/* names alone */
	uint64_t	 memory;
	uint32_t	 mcpus;
	uint32_t	 pids;
	uint64_t	 memory_seen;	/* what the guest reads; 0: none */
	uint32_t	 mcpus_seen;
	uint32_t	 pids_seen;
	char		*workdir;
	uint32_t	 user;		/* uid inside */
	uint32_t	 readonly;
	uint64_t	 created;	/* ns since 1970 */
	uint64_t	 changed;
	uint64_t	 seq;		/* newest event */
	uint32_t	 execs;		/* running */
	uint32_t	 guest;		/* guest's version */
	uint64_t	 missing;	/* its container is, since then */
	uint32_t	 resume;	/* as in CREATE */
	uint64_t	 lifetime;	/* ms, 0: none */
	uint64_t	 expires;	/* ns since 1970, 0: never */
	uint64_t	 idle;		/* ms, 0: never stopped for it */
	char		 next[16];	/* what a time will bring, "" nothing */
	char		 next_by[16];	/* which time that is */
	uint64_t	 next_in;	/* ms from now */
	uint64_t	 keep;		/* ms stopped or failed, 0: configured */
	uint64_t	 disk;		/* bytes of the workspace, 0: no bound */
	char		 degraded[64];	/* what keeps it from work, "" nothing */
	uint64_t	 tmpfs;		/* bytes of it in memory, 0: none */
	struct kvv	 mounts;	/* as in CREATE */
	struct kvv	 mounts_rw;
	char		 companion_of[SBX_ID_MAX + 1];
};

struct proto_exec_info {
	char		 id[EXEC_ID_MAX + 1];
	uint32_t	 owner;
	char		 state[16];	/* pending running exited signaled ... */
	int32_t		 code;		/* exit code, or signal's number */
	char		 cause[TEXT_MAX + 1];	/* of failed and lost */
	int32_t		 errnum;	/* why it could not be started */
	struct strv	 argv;		/* the first EXEC_SHOWN_MAX bytes */
	uint32_t	 detached;
	uint64_t	 created;	/* ns since 1970 */
	uint64_t	 started;
	uint64_t	 ended;
	uint64_t	 length1;	/* bytes written by the command */
	uint64_t	 length2;
	uint64_t	 dropped1;	/* of these no longer in the log */
	uint64_t	 dropped2;
	uint32_t	 background;	/* processes left when it ended */
	uint32_t	 tty;		/* 1: on a terminal */
	uint64_t	 shown;		/* of the last DETACH */
	char		 reason[EXEC_REASON_MAX + 1];
};

struct proto_event {
	uint64_t	 host_seq;
	uint64_t	 seq;		/* in its sandbox */
	uint64_t	 time;		/* ns since 1970 */
	char		 sandbox[SBX_ID_MAX + 1]; /* "": of the daemon */
	uint32_t	 owner;
	char		 type[32];
	char		 state[16];	/* of the sandbox, after it */
	int64_t		 actor;		/* uid, -1: the daemon itself */
	uint64_t	 op;
	struct kvv	 detail;
	uint32_t	 replayed;	/* it was there before the request */
};

/* All up to this one was told: of the sandbox if one was named, else host's. */
struct proto_heartbeat {
	uint64_t	 seq;
	uint64_t	 time;		/* ns since 1970 */
};

/*
 * Carries a descriptor: the read end of an output, the write end of input.
 * An output without bytes has no STREAM: END may come without any.  At the
 * pipe's end either GAP and another STREAM follow, or the stream is over.
 */
struct proto_stream {
	uint32_t	 stream;	/* 0 input, 1, 2 */
	uint64_t	 offset;	/* of the first byte in (or for) it */
	char		 exec[EXEC_ID_MAX + 1];
};

/* Bytes that are gone: [from, to).  What follows comes by a new STREAM. */
struct proto_gap {
	uint32_t	 stream;
	uint64_t	 from;
	uint64_t	 to;
};

/*
 * The primary reader was too slow: it is an ordinary reader from now on.  Of
 * stream 0: another client writes the input from now on.
 */
struct proto_stalled {
	uint32_t	 stream;
};

/* Input bytes that the guest has taken; a client may forget those. */
struct proto_input_ack {
	uint64_t	 offset;
};

/* The server of a connection has ended what it says, after so many bytes. */
struct proto_output_end {
	uint32_t	 stream;
	uint64_t	 offset;
};

/* A call was carried out. */
struct proto_result {
	uint64_t	 out;		/* bytes of its output */
	uint64_t	 in;		/* bytes of its input that it took */
	uint64_t	 count;		/* what the operation says */
	uint64_t	 count2;
	uint32_t	 flags;		/* CALL_R_* */
};

struct proto_proc {
	char		 name[16];
	uint32_t	 pid;
	uint32_t	 uid;
	char		 user[32];
	uint64_t	 started;	/* ns since 1970 */
	char		 layers[64];	/* what confines it, as words */
	char		 missing[64];	/* what the kernel does not have */
};

struct proto_status_info {
	char		 instance[33];
	char		 daemon[64];
	uint32_t	 engine_up;
	char		 engine[64];	/* Engine's version */
	char		 engine_text[TEXT_MAX + 1]; /* why it is away */
	uint32_t	 live_restore;
	char		 unenforced[64]; /* limits it cannot hold, as words */
	uint64_t	 sandboxes;	/* not deleted */
	uint64_t	 ready;
	uint64_t	 execs;		/* running */
	uint64_t	 clients;	/* sessions */
	uint64_t	 requests;	/* neither accepted nor ended */
	uint64_t	 waiting;	/* long ones: attached, waits, EVENTS */
	uint64_t	 subscriptions;	/* of these EVENTS */
	uint64_t	 pipes;		/* ends of pipes not taken yet */
	uint64_t	 events;	/* newest host sequence */
	uint64_t	 missing;	/* sandboxes, at the Engine; kept */
	uint64_t	 strays;	/* containers of none, still kept */
	uint32_t	 database;	/* as in HELLO_OK */
	uint32_t	 guest_oldest;
	uint32_t	 guest_newest;
	char		 damage[TEXT_MAX + 1]; /* of the log: it is only read */
	uint64_t	 commits;	/* of the log, since the store began */
};

struct proto_image {
	char		 name[SBX_IMAGE_MAX + 1];
	char		 id[80];
	uint64_t	 size;
};

struct proto_verify {
	uint64_t	 events;
	uint64_t	 skeletons;
	uint64_t	 anchor;
	char		 head[65];	/* hex of the newest link */
	uint64_t	 newest;	/* event that it is of */
	uint64_t	 sandboxes;	/* that have a history */
	uint64_t	 execs;
	uint64_t	 found;		/* event that the head given is of */
};

/* A part of a dump of the log: lines, cut anywhere. */
struct proto_dump {
	struct blob	 data;
};

/* What the client may do, and by which rule. */
struct proto_right {
	char		 name[16];
	char		 on[16];	/* "own", "others", "-": neither */
	uint32_t	 may;
	char		 by[PLACE_MAX + 1];	/* "file:line", or "default" */
};

/* What it may have, in bytes, thousandths of processors, or numbers. */
struct proto_limit {
	char		 name[32];
	char		 of[16];	/* "user", "all" */
	uint64_t	 most;		/* 0: no limit */
	uint64_t	 per;		/* ms; of a rate */
	uint64_t	 used;
	char		 by[PLACE_MAX + 1];
};

/* Something that protects the host. */
struct proto_control {
	char		 name[32];
	char		 state[16];	/* "enforced", "degraded", "absent" */
	char		 proof[TEXT_MAX + 1];	/* what was looked at */
	char		 advice[256];	/* what to do if it is not enforced */
};

/* The table of one type; NULL for none. */
const struct msg_def	*proto_def(uint32_t type);
/* How many of its fields a peer of that minor version knows. */
size_t			 proto_fields(uint32_t type, uint32_t minor);
/* Does it know the type at all? */
int			 proto_known(uint32_t type, uint32_t minor);

#endif
