/*
 * The message document: every message between the processes of sandboxd,
 * with who sends it to whom and what it means.
 *
 *	parent --- frontend --- store --- broker --- Engine
 *	   |          |           |
 *	   |          +- runner --+--- guests
 *	   +--- (each child)
 *
 * Pipes: the parent has one with each child.  frontend-store, store-broker
 * and store-runner carry messages both ways; runner-frontend carries
 * descriptors towards the frontend only.  A message on the wrong pipe is
 * fatal for who receives it.
 *
 * The header of a frame carries op (the operation that is meant), session
 * and req (the client's request that is to be answered).  Messages of the
 * client protocol (proto.h) travel between frontend and store by the same
 * numbers.
 */
#ifndef SANDBOXD_H
#define SANDBOXD_H

#include <sys/types.h>

#include <stdint.h>

#include "bounds.h"
#include "chan.h"
#include "codes.h"
#include "msg.h"
#include "proto.h"
#include "quota.h"
#include "rules.h"
#include "version.h"

#define PROC_PIPE_FD		3	/* pipe to the parent, in each child */

#define FRONTEND_USER		"_sandboxd"
#define STORE_USER		"_sbxstore"
#define BROKER_USER		"_sbxbroker"
#define RUNNER_USER		"_sbxrun"

enum role {
	ROLE_PARENT,
	ROLE_FRONTEND,
	ROLE_STORE,
	ROLE_BROKER,
	ROLE_RUNNER,
	ROLE_MAX
};

enum msg_type {
	/* Parent to each child, in this order at start. */
	MSG_PIPE = 128,		/* + fd: the socketpair to a sibling */
	MSG_CONF_BEGIN,		/* also at reload, until CONF_END */
	MSG_CONF_RULE,
	MSG_CONF_PLACE,		/* to the store alone */
	MSG_CONF_END,
	MSG_GO,			/* the ready check is passed: work */
	MSG_SHUTDOWN,		/* stop politely: finish, then exit */
	MSG_BEAT,		/* are you there?  It comes back as it is */

	/* Each child to the parent. */
	MSG_READY,		/* privileges dropped, configuration taken */
	MSG_LOG,

	/* Parent to store. */
	MSG_SESSION_OPEN,	/* header.session; before the frontend has it */
	MSG_SESSION_CLOSED,	/* header.session; the client hung up */
	MSG_SESSION_RIGHTS,	/* header.session; before a reload's CONF_END */
	MSG_SESSION_REFUSED,	/* at accept; not more than a few */
	MSG_PROC,		/* one of each process, after GO */
	MSG_WORK_DONE,		/* answers WORK_MAKE and WORK_REMOVE */
	MSG_RELOAD_DONE,	/* answers RELOAD; header as there */
	MSG_HOST,		/* answers DOCTOR; header as there */
	MSG_MOUNTS_CHECKED,	/* answers MOUNTS_CHECK, by its ticket */

	/* Store to parent. */
	MSG_OPEN,		/* after GO: the event log is sound, and open */
	MSG_WORK_MAKE,		/* workspace and socket directory of a number */
	MSG_WORK_REMOVE,	/* idempotent, as is WORK_MAKE */
	MSG_RELOAD,		/* header.session, req: who asked */
	MSG_DOCTOR,		/* the same */
	MSG_MOUNTS_CHECK,	/* can its client have these mounted? */
	MSG_MOUNTS_DROP,	/* no sandbox comes of that */
	MSG_MOUNTS_OFF,		/* its container has them, or is gone */

	/*
	 * And GUEST_BROKE, as the runner sends it: the sandbox over which
	 * the runner has crashed twice.
	 */

	/* Parent to frontend. */
	MSG_CLIENT,		/* + fd: a client's socket; header.session */

	/* Store to runner. */
	MSG_LISTEN,		/* expect the guest of a sandbox */
	MSG_GREET,		/* have it say hello once more */
	MSG_UNLISTEN,		/* forget it; its logs stay */
	MSG_START,		/* an exec; sent again after a restart */
	MSG_SIGNAL,
	MSG_CANCEL,
	MSG_FORGET,		/* the end is committed */
	MSG_READ,		/* header: whose pipes these are to be */
	MSG_REATTACH,		/* the same, as the primary reader */
	MSG_INPUT_FINISH,
	MSG_GUEST_STOP,		/* TERM all, grace, KILL, BYE */
	MSG_LOG_REMOVE,
	MSG_SESSION_GONE,	/* header.session: close its pipes */
	MSG_CALL,		/* header.op: its number; session, req */
	MSG_CALL_INPUT,		/* header.op; all of its input is in the pipe */
	MSG_CALL_CANCEL,	/* header.op; it is answered at once */
	MSG_RESIZE,		/* of an exec's terminal */
	MSG_PROBE,		/* its guest's silence counts from now on */

	/* Runner to store. */
	MSG_GUEST_HELLO,
	MSG_GUEST_GONE,		/* its socket ended (or BYE was said) */
	MSG_GUEST_BROKE,	/* it broke the protocol; cut off */
	MSG_STARTED,
	MSG_NOT_STARTED,
	MSG_ENDED,		/* logs are complete; repeated until FORGET */
	MSG_REFUSED,		/* guest does not know this exec: lost */
	MSG_RUNNER_ERROR,	/* cannot be served; header as there */
	MSG_LISTENING,		/* answers LISTEN */
	MSG_BUSY,		/* answers GREET: not now; else HELLO does */
	MSG_CALL_DONE,		/* answers CALL, once; header as there */
	MSG_GUEST_SILENT,	/* or does not obey; op: of the last PROBE */

	/*
	 * Runner to frontend, header.session and req: PROTO_STREAM (+ fd),
	 * PROTO_GAP, PROTO_STALLED, PROTO_INPUT_ACK, PROTO_OUTPUT_END (before
	 * the end of a call that carries a connection), and this one.  It comes
	 * exactly once for each output stream that the request asked for
	 * (EXEC with EXEC_ATTACH: 1 and 2, with EXEC_MERGE 1 alone; ATTACH
	 * and LOGS: the bits 1 and 2 of streams; CALL: 1, if the call has
	 * output and was carried out), also when the exec could
	 * not be started.  The frontend holds END back until it has them
	 * all.  A stream without bytes never has a STREAM: its pipe is made
	 * when there is a first byte to put in it.
	 */
	MSG_STREAM_END,

	/* Store to broker; header.op everywhere. */
	MSG_INVENTORY,		/* list what is ours */
	MSG_BOX_CREATE,		/* create, compare, start */
	MSG_BOX_START,		/* start a stopped one */
	MSG_BOX_KILL,		/* end it: KILL, wait until it is dead */
	MSG_BOX_REMOVE,		/* with all that is its own; idempotent */
	MSG_BOX_PAUSE,		/* its processes stand still */
	MSG_BOX_UNPAUSE,
	MSG_BOX_UPDATE,		/* other limits; compare */
	MSG_IMPORT,		/* header.session, req */

	/* Broker to store. */
	MSG_CONTAINER,		/* one of the inventory; op of INVENTORY */
	MSG_INVENTORY_END,
	MSG_BOX_STARTED,	/* answers BOX_CREATE and BOX_START */
	MSG_BOX_DEAD,		/* answers BOX_KILL, and the last three if so */
	MSG_BOX_REMOVED,	/* answers BOX_REMOVE */
	MSG_BOX_PAUSED,		/* answers BOX_PAUSE */
	MSG_BOX_UNPAUSED,	/* answers BOX_UNPAUSE */
	MSG_BOX_UPDATED,	/* answers BOX_UPDATE */
	MSG_BOX_FAILED,		/* answers any of them */
	MSG_BOX_DIED,		/* unasked: the Engine's event; op 0 */
	MSG_BOX_LOOK,		/* the same: who else pauses, and unpauses */
	MSG_ENGINE,		/* at start and at each change */
	MSG_IMPORT_STREAM,	/* + fd: write end; header as in IMPORT */
	MSG_IMPORTED,		/* header as in IMPORT */
	MSG_IMPORT_FAILED,	/* header as in IMPORT */
	MSG_MAX
};

#define BOOT_MAX	36		/* random(4)'s boot_id */

/* READY: what confines the sender */
struct msg_ready {
	uint32_t	 layers;	/* LAYER_* of proc.h */
	uint32_t	 landlock;	/* the kernel's version; 0: none */
};

/* PIPE */
struct msg_pipe {
	uint32_t	 role;		/* enum role of the sibling */
};

#define LOG_ANY		UINT64_MAX
#define LOG_USERS_MAX	512		/* numbers */

/*
 * CONF_BEGIN: what children need of the configuration.  Times in ms.
 * Each role gets the whole; none of it is secret.
 */
struct msg_conf {
	char		 instance[33];	/* 128 bits, hexadecimal */
	char		 boot[BOOT_MAX + 1];	/* the host's; "": not known */
	uint32_t	 generation;	/* 0 at start, rises with reloads */
	uint32_t	 verbose;
	char		*engine;	/* path of the Engine's socket */
	char		*guest;		/* host path of the guest's copy */
	char		*mnt;		/* host path; workspace is mnt/<n> */
	char		*sock;		/* host path; sock/<owner>/<n> */
	char		*mounts;	/* host path; mounts/<n>/<i> */
	uint32_t	 uid_low;	/* range of the sandboxes' users */
	uint32_t	 uid_high;
	uint32_t	 rootless;	/* the Engine has to be */
	/* defaults { } */
	char		 image[SBX_IMAGE_MAX + 1];
	uint64_t	 memory;
	uint32_t	 mcpus;
	uint32_t	 pids;
	uint32_t	 readonly;
	uint32_t	 resume;	/* when Engine or host are back */
	uint64_t	 tmp_size;	/* bytes of /tmp */
	uint64_t	 disk;		/* of the workspace, 0: no bound */
	uint64_t	 lifetime;	/* 0: none, as the other three */
	uint64_t	 idle;
	/* limits { } */
	uint32_t	 max_sandboxes;
	uint32_t	 max_execs;	/* running, in all */
	uint64_t	 max_memory;	/* of one sandbox */
	uint32_t	 max_mcpus;
	uint32_t	 max_pids;
	uint64_t	 max_disk;	/* 0: no limit */
	uint64_t	 max_lifetime;
	uint64_t	 log_exec;	/* bytes kept of one stream */
	uint64_t	 log_sandbox;
	uint64_t	 log_total;
	struct u64v	 log_users;	/* uid (LOG_ANY: any but root), bytes */
	uint32_t	 max_clients;	/* connections in all */
	struct u64v	 all;		/* most, per, 0 of each limit, in all */
	/* timeouts { } */
	uint64_t	 t_create;
	uint64_t	 t_stop;	/* grace before KILL */
	uint64_t	 t_delete;
	uint64_t	 t_engine;	/* one call */
	uint64_t	 t_reattach;	/* attached exec without its client */
	uint64_t	 t_stall;	/* primary reader without progress */
	uint64_t	 t_stray;	/* container of no sandbox is kept */
	/* retain { } */
	uint64_t	 retain_history;
	uint64_t	 retain_stopped; /* 0: for ever */
	uint64_t	 retain_failed;
	/* policy { } */
	uint32_t	 allow_root;	/* user root */
	uint32_t	 need_reason;	/* reason required */
	uint32_t	 unenforced;	/* bits of UNENFORCED_* */
};

#define UNENFORCED_MEMORY	0x1
#define UNENFORCED_CPUS		0x2
#define UNENFORCED_PIDS		0x4
#define UNENFORCED_SWAP		0x8

#define LIMIT_CPUS_STEP		10	/* systemd rounds up to a hundredth */

/* CONF_RULE: policy { image ... }; the last that matches wins. */
struct msg_conf_rule {
	uint32_t	 allow;
	char		 pattern[SBX_IMAGE_MAX + 1];	/* fnmatch(3) */
};

/* CONF_PLACE: "file:line" of a rule; the first one has the number 1. */
struct msg_conf_place {
	char		 place[PLACE_MAX + 1];
};

struct msg_log {
	uint32_t	 priority;
	char		*text;
};

/* SESSION_OPEN, SESSION_RIGHTS: what the rules come to, not the groups. */
struct msg_session {
	uint32_t	 uid;
	uint32_t	 gid;
	uint32_t	 pid;
	uint32_t	 own;		/* bits of enum right */
	uint32_t	 others;
	struct u64v	 by;		/* places: own's, then others' */
	struct u64v	 bounds;	/* most, per, place of each limit */
};

struct msg_session_refused {
	uint32_t	 uid;
	uint32_t	 code;
	uint64_t	 more;		/* that were not told of before it */
	char		 text[TEXT_MAX + 1];
};

/* MSG_CLIENT */
struct msg_client {
	uint32_t	 uid;		/* for the bound per uid alone */
};

/* WORK_MAKE, WORK_REMOVE */
struct msg_work {
	uint64_t	 n;		/* the sandbox's number */
	uint32_t	 owner;
	uint32_t	 uid;		/* of the range; 0 by the policy */
	uint32_t	 gid;
	uint64_t	 disk;		/* its bytes, 0: no bound */
	uint32_t	 tmpfs;		/* 1: it is in memory, by the Engine */
	uint32_t	 mounts;	/* of its client's directories */
	uint64_t	 ticket;	/* of MOUNTS_CHECK; 0: as it was */
};

/* MOUNTS_CHECK; header.session and req: whose they are to be */
struct msg_mounts_check {
	uint64_t	 ticket;	/* the store's own number, not 0 */
	struct strv	 ro;		/* paths on the host */
	struct strv	 rw;
};

/* MOUNTS_CHECKED */
struct msg_mounts_checked {
	uint64_t	 ticket;
	uint32_t	 code;		/* enum code */
	char		 text[TEXT_MAX + 1];
};

/* MOUNTS_DROP: a ticket; MOUNTS_OFF: a sandbox's number */
struct msg_mounts_ref {
	uint64_t	 n;
};

/* WORK_DONE; header.op as in the order */
struct msg_work_done {
	uint64_t	 n;
	uint32_t	 code;		/* enum code */
	char		 text[TEXT_MAX + 1];
};

struct msg_reload {
	uint32_t	 execute;	/* 1: as the program that is there now */
};

struct msg_result {			/* RELOAD_DONE, RUNNER_ERROR, ... */
	uint32_t	 code;
	char		 text[TEXT_MAX + 1];
};

/* LISTEN, GREET, UNLISTEN, and all that name a sandbox alone */
struct msg_listen {
	uint64_t	 n;
	uint32_t	 owner;
	uint64_t	 boot;		/* guest's boot number, 0: not known */
	uint32_t	 pid;		/* container's, 0: not known yet */
};

/* START, header.session and req when it is attached */
struct msg_start {
	uint64_t	 n;
	uint64_t	 k;		/* number in its sandbox, rising */
	struct strv	 argv;
	struct kvv	 env;
	char		*dir;
	uint64_t	 timeout;	/* ms */
	uint32_t	 grace;		/* ms */
	uint32_t	 flags;		/* EXEC_* */
	uint32_t	 again;		/* 1: sent before, maybe */
	char		 exec[EXEC_ID_MAX + 1];	/* name for STREAM */
	uint32_t	 rows;		/* EXEC_TTY; 0 in rows before it */
	uint32_t	 cols;
	struct strv	 include;	/* EXEC_CHANGES */
	struct strv	 exclude;
};

/* RESIZE */
struct msg_resize {
	uint64_t	 n;
	uint64_t	 k;
	uint32_t	 rows;		/* 1 to TTY_SIZE_MAX */
	uint32_t	 cols;
};

/* SIGNAL, CANCEL, FORGET, LOG_REMOVE (k 0: all), INPUT_FINISH (value) */
struct msg_exec_ref {
	uint64_t	 n;
	uint64_t	 k;
	uint32_t	 owner;		/* LOG_REMOVE: n may be unlistened */
	uint64_t	 value;		/* signal; total of the input */
	uint32_t	 grace;		/* ms; GUEST_STOP too (k 0) */
};

/* READ, REATTACH */
struct msg_read {
	uint64_t	 n;
	uint64_t	 k;
	uint32_t	 owner;
	uint64_t	 offset1;
	uint64_t	 offset2;
	uint32_t	 streams;	/* bits */
	uint32_t	 follow;
	uint32_t	 ended;		/* 1: the exec's end is committed */
	uint64_t	 length1;	/* its lengths then */
	uint64_t	 length2;
	char		 exec[EXEC_ID_MAX + 1];
};

/* CALL */
struct msg_call {
	uint64_t	 n;
	struct proto_call c;		/* without the sandbox's name */
};

/* CALL_INPUT, CALL_CANCEL */
struct msg_call_ref {
	uint64_t	 n;
	uint64_t	 total;
};

/* CALL_DONE */
struct msg_call_done {
	uint64_t	 n;
	uint32_t	 code;		/* enum code */
	char		 text[CALL_TEXT_MAX + 1];
	struct proto_result r;
};

struct msg_guest_hello {
	uint64_t	 n;
	uint64_t	 boot;
	uint32_t	 pid;		/* SO_PEERCRED's */
	uint32_t	 version;
	uint64_t	 memory;	/* limits, as it reads them; 0: none */
	uint32_t	 mcpus;
	uint32_t	 pids;
	uint32_t	 again;		/* 1: same boot as in LISTEN */
	uint64_t	 swap;		/* beyond memory; 0 also: not known */
};

/* GUEST_GONE, GUEST_BROKE, LISTENING, BUSY */
struct msg_guest_gone {
	uint64_t	 n;
	uint32_t	 bye;		/* 1: after GUEST_STOP, politely */
	char		 text[TEXT_MAX + 1];
	uint32_t	 dead;		/* 1: its process has ended; may follow */
	uint64_t	 boot;		/* of which guest that is */
};

#define SILENT_FIELDS	5
#define SILENT_LATE_MAX	(SILENT_FIELDS * 1024)

struct msg_guest_silent {
	uint64_t	 n;
	uint64_t	 boot;		/* of which guest */
	char		 text[TEXT_MAX + 1];
	/* Execs to be timed out: k; length, dropped of 1; the same of 2 */
	struct u64v	 late;
};

struct msg_started {
	uint64_t	 n;
	uint64_t	 k;
	uint32_t	 pid;		/* in the sandbox */
};

struct msg_not_started {
	uint64_t	 n;
	uint64_t	 k;
	int32_t		 errnum;
	uint32_t	 cause;		/* enum gproto_cause */
	char		 text[TEXT_MAX + 1];
};

struct msg_ended {
	uint64_t	 n;
	uint64_t	 k;
	uint32_t	 kind;		/* enum exec_end */
	int32_t		 code;		/* exit code, or signal */
	uint64_t	 length1;
	uint64_t	 length2;
	uint64_t	 dropped1;
	uint64_t	 dropped2;
	uint32_t	 background;
	uint64_t	 started;	/* ns since 1970 */
	uint64_t	 ended;
	uint32_t	 oom;		/* 1: killed for lack of memory */
	uint32_t	 changed;	/* 1: what follows is told */
	uint32_t	 shared;	/* 1: others were at work beside it */
	uint32_t	 more;		/* 1: the list has not all of them */
	uint32_t	 denied;	/* 1: something could not be looked at */
	uint64_t	 made;
	uint64_t	 written;
	uint64_t	 removed;
	uint64_t	 renamed;
	uint64_t	 altered;
	char		*list;		/* lines */
	char		 why[CALL_TEXT_MAX + 1]; /* nothing is known, or "" */
};

enum exec_end {
	END_EXITED = 1,
	END_SIGNALED,
	END_TIMED_OUT,
	END_CANCELLED,
	END_LOST
};

struct msg_refused {
	uint64_t	 n;
	uint64_t	 k;
};

struct msg_stream_end {
	uint32_t	 stream;
	uint64_t	 offset;	/* one past the last byte */
};

/* BOX_CREATE: typed fields only; the broker makes the body of them. */
struct msg_box_create {
	uint64_t	 n;
	char		 id[SBX_ID_MAX + 1];
	uint32_t	 owner;
	char		 nonce[33];	/* label sandboxd.op */
	char		 image[SBX_IMAGE_MAX + 1];
	uint32_t	 uid;
	uint32_t	 gid;
	uint64_t	 memory;
	uint32_t	 mcpus;
	uint32_t	 pids;
	uint32_t	 readonly;
	struct kvv	 env;
	uint64_t	 disk;		/* bound of the workspace, 0: none */
	uint64_t	 tmpfs;		/* the same, in memory; 0: it is not */
	struct strv	 mounts;	/* places inside, of mounts/<n>/<i> */
	struct strv	 mounts_rw;	/* behind them, and it may write */
};

/* BOX_START, BOX_KILL, BOX_REMOVE, BOX_PAUSE, BOX_UNPAUSE */
struct msg_box_ref {
	uint64_t	 n;		/* 0: a stray, by its id alone */
	char		 container[80];	/* "": not known; by name and nonce */
	char		 nonce[33];
	uint32_t	 grace;		/* ms */
};

/* BOX_UPDATE */
struct msg_box_update {
	uint64_t	 n;
	char		 container[80];
	char		 nonce[33];
	uint64_t	 memory;
	uint32_t	 mcpus;
	uint32_t	 pids;
};

/*
 * What the Engine showed of a container when it had started, beside what was
 * asked of it.
 */
struct msg_facts {
	uint32_t	 right;		/* BOX_*: as it was asked for */
	char		 user[32];
	char		 runtime[64];
	char		 lsm[128];	/* AppArmor's or SELinux's, "" none */
	uint32_t	 userns;	/* it has one that is not the host's */
	uint32_t	 readonly;	/* its root file system */
	uint32_t	 masked;	/* paths of /proc and /sys */
	uint32_t	 mounts;
	uint32_t	 volumes;	/* those of them that are the image's */
	uint64_t	 tmp;		/* bytes of /tmp, 0: no bound */
	/* Limits; 0: none. */
	uint64_t	 memory;
	uint64_t	 swap;		/* with the memory */
	uint64_t	 ncpus;		/* in 10^-9 */
	uint64_t	 pids;
};
#define BOX_CAPS	0x01	/* no capability, and none to be had */
#define BOX_NONEWPRIVS	0x02
#define BOX_SECCOMP	0x04	/* our profile, to the byte */
#define BOX_NETWORK	0x08	/* none */
#define BOX_NAMESPACES	0x10	/* of its own */
#define BOX_MASKED	0x20	/* all of the paths, and read-only ones */
#define BOX_MOUNTS	0x40	/* ours, and volumes of the image */
#define BOX_RUNTIME	0x80	/* the Engine's default one */

/* BOX_STARTED, BOX_UPDATED */
struct msg_box_started {
	uint64_t	 n;
	char		 container[80];
	char		 image_id[80];
	uint32_t	 pid;
	struct msg_facts facts;
};

/* BOX_DEAD, BOX_DIED, BOX_PAUSED, BOX_UNPAUSED, BOX_LOOK, CONTAINER */
struct msg_box_state {
	uint64_t	 n;		/* 0: the name is none of ours */
	char		 container[80];
	char		 nonce[33];
	char		 id[SBX_ID_MAX + 1];
	uint32_t	 running;
	uint32_t	 pid;
	int32_t		 exitcode;
	uint32_t	 oom;
	uint32_t	 gone;		/* 1: there is no such container */
	uint32_t	 paused;	/* and running */
};

/* BOX_REMOVED, INVENTORY_END */
struct msg_box_done {
	uint64_t	 n;
	uint32_t	 code;		/* INVENTORY_END: CODE_OK or why not */
	char		 text[TEXT_MAX + 1];
};

/* BOX_FAILED, IMPORT_FAILED */
struct msg_box_failed {
	uint64_t	 n;
	uint32_t	 code;
	char		 text[TEXT_MAX + 1];
	char		 field[FIELD_MAX + 1];
	uint32_t	 left;		/* 1: something may be left over */
};

struct msg_engine {
	uint32_t	 up;
	char		 version[64];
	char		 api[16];
	uint32_t	 live_restore;
	uint32_t	 unenforced;	/* limits that it cannot enforce */
	uint32_t	 ncpu;		/* its processors, 0: not known */
	char		 newest[16];	/* API that it speaks */
	char		 kernel[64];
	char		 runtime[64];
	char		 security[512];	/* SecurityOptions, by spaces */
	char		 cgroup[8];	/* version */
	char		 cgroup_driver[32];
	char		 storage[64];	/* driver */
	char		 backing[64];	/* file system below it */
	char		 text[TEXT_MAX + 1];	/* why it is away */
};

/* A file of the host's, and who can replace it. */
struct msg_path {
	char		 path[PLACE_MAX + 1];	/* cut to fit */
	uint32_t	 there;
	uint32_t	 mode;
	uint32_t	 uid;
	uint32_t	 gid;
	char		 group[64];	/* its name */
	char		 above[PLACE_MAX + 1];	/* others can write to that */
	char		 why[64];	/* not there */
};

struct msg_host {
	uint32_t	 code;		/* why the rest is empty */
	struct msg_path	 socket;
	struct msg_path	 state;
	struct msg_path	 engine;	/* its socket */
	uint32_t	 engine_uid;	/* whose it has to be */
	uint32_t	 nmembers;	/* of that one's group */
	char		 members[512];	/* by spaces, cut to fit */
	uint32_t	 tmpfs;		/* state is on one */
	uint32_t	 db_apart_work;	/* other file systems */
	uint32_t	 db_apart_log;
	uint64_t	 db_free;	/* bytes */
	uint64_t	 db_size;
};

struct msg_import {
	char		 name[SBX_IMAGE_MAX + 1];
};

/* messages.c: the table of one type, of ours or of proto.h; NULL: none. */
const struct msg_def	*msg_def(uint32_t type);
const char		*msg_name(uint32_t type);	/* for log lines */

/*
 * dispatch.c: one call per message, by a table per pipe.
 *
 * A handler returns 0, or -1 if the sibling broke the protocol, which is
 * fatal.  It may keep what the message holds by zeroing it there, and the
 * frame's descriptor by setting it to -1.
 */
struct pipe_handler {
	uint32_t	 type;
	int		(*recv)(struct chan *, struct frame *, void *msg);
};

/*
 * Reads a sibling's pipe and hands its messages on.  Returns 1, or 0 when
 * the sibling is gone.
 */
int	pipe_dispatch(struct chan *, const struct pipe_handler *, size_t);
/* More is queued than it may be: it is dispatched once all of that has left. */
int	pipe_full(struct chan *);
/* The descriptor is an end of a pipe, which no file system has a say in. */
int	pipe_is(int);
/* Reads what is there now, without waiting; as pipe_dispatch(). */
int	pipe_drain(struct chan *, const struct pipe_handler *, size_t);

/* MSG_BEAT, in each child's table for the parent. */
int	pipe_beat(struct chan *, struct frame *, void *);

/*
 * Sends a message; msg NULL for one without fields.  The descriptor is
 * closed in any case.  A queue that passes its bound is fatal.
 */
void	pipe_send(struct chan *, uint32_t type, uint64_t op,
	    uint64_t session, uint32_t req, int fd, const void *msg);

/* The mains of the children; argv of the re-executed program. */
__attribute__((__noreturn__)) void	frontend(int debug, int verbose);
__attribute__((__noreturn__)) void	store(int debug, int verbose);
__attribute__((__noreturn__)) void	broker(int debug, int verbose);
__attribute__((__noreturn__)) void	runner(int debug, int verbose);

#endif
