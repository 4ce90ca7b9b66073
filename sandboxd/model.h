/*
 * What the store knows: the sandboxes, their live execs, and the rows of the
 * database that these are kept in beside the events.
 */
#ifndef MODEL_H
#define MODEL_H

#include <sys/queue.h>
#include <sys/tree.h>
#include <sys/types.h>

#include <event.h>

#include "batch.h"
#include "lifecycle.h"
#include "sandboxd.h"

#define CAUSE_MAX	511
#define NONCE_LEN	33

/*
 * The rows lie in the database as arrays by the tables in model_rows.c, which
 * the programs of other versions read and write as well.  A field is added so:
 *
 *	- at the end of the structure and of its table, never in between;
 *	- the number of first fields (SBX_FIRST ...) stays: in an older row
 *	  the new field is missing and reads as 0 or "";
 *	- 0 or "" means what was so before the field was there;
 *	- nothing is taken out, and no size or maximum changes.
 *
 * An older program keeps what it does not know (rest) and writes it back.  A
 * new row has a letter of its own.  Numbers of states, events and codes are
 * added at the end too.  What an older program must not pass over, because
 * it would do harm without knowing, raises EVENTDB_VERSION in eventdb.h: an
 * older program then leaves the database alone.
 */

/* The row of a sandbox.  No pointers: a batch keeps it by its bytes. */
struct sbx_row {
	uint64_t	 n;
	uint32_t	 owner;
	char		 id[SBX_ID_MAX + 1];
	char		 key[SBX_KEY_MAX + 1];
	char		 digest[65];	/* of the request that made it */
	uint32_t	 state;
	char		 cause[CAUSE_MAX + 1];
	uint64_t	 op;		/* the operation that counts */
	char		 nonce[NONCE_LEN];
	uint32_t	 uid;
	uint32_t	 gid;
	char		 container[80];
	char		 image_id[80];
	uint32_t	 pid;		/* of the guest, on the host */
	uint64_t	 boot;		/* the guest's boot number */
	uint32_t	 guest;		/* its version */
	uint64_t	 memory_seen;
	uint32_t	 mcpus_seen;
	uint32_t	 pids_seen;
	uint64_t	 created;
	uint64_t	 changed;
	uint32_t	 dirty;		/* something may be left to remove */
	uint64_t	 missing;	/* not at the Engine, since; 0: it is */
	uint32_t	 renamed;	/* its container, by somebody else */
};

/*
 * How the operation that is under way began, where the state does not say it,
 * in a row of its own.
 */
struct sbx_todo {
	uint64_t	 op;		/* the operation of doing */
	uint32_t	 doing;		/* the event that began it */
};

/*
 * Limits that it is to have, and what else was asked for with them, until
 * that is done: in a row of its own.
 */
struct sbx_update {
	uint64_t	 op;
	uint32_t	 uid;		/* who asked */
	uint64_t	 memory;
	uint32_t	 mcpus;
	uint32_t	 pids;
	uint64_t	 lifetime;	/* as in UPDATE, and the rest too */
	uint64_t	 idle;
	uint64_t	 keep;
	struct kvv	 labels;
	struct strv	 unlabel;
};

/*
 * The times of a sandbox, in a row of its own.  Those in ns are on the log's
 * clock, of store_times.c.
 */
struct time_row {
	uint32_t	 state;		/* a state in which it may rest, */
	uint64_t	 changed;	/* as its row tells when it began, */
	uint64_t	 since;		/* and when it did */
	uint64_t	 born;		/* 0: a version without times made it */
	uint64_t	 lifetime;	/* ms, as it was given; 0: none */
	uint64_t	 until;		/* 0: for ever */
	uint64_t	 idle;		/* ms, 0: never stopped for it */
	uint64_t	 keep;		/* ms, stopped or failed; 0: config */
};

/* The log's clock as it was when it was written down last. */
struct clock_row {
	char		 boot[BOOT_MAX + 1];	/* the host's start */
	uint64_t	 mono;		/* the kernel's clock then */
	uint64_t	 life;		/* and the log's */
};

/* The row of an exec. */
struct exec_row {
	uint64_t	 n;
	uint64_t	 k;
	uint32_t	 state;
	uint32_t	 flags;		/* EXEC_ATTACH ... of the request */
	uint32_t	 grace;
	int32_t		 code;
	int32_t		 errnum;
	char		 cause[CAUSE_MAX + 1];
	struct strv	 argv;		/* as much of it as is shown */
	uint32_t	 pid;
	uint64_t	 boot;		/* of the guest that has it */
	uint64_t	 created;
	uint64_t	 started;
	uint64_t	 ended;
	uint64_t	 length1;
	uint64_t	 length2;
	uint64_t	 dropped1;
	uint64_t	 dropped2;
	uint32_t	 background;
	uint64_t	 shown;		/* of stream 1, at the last DETACH */
	uint64_t	 timeout;	/* ms; 0: none, or of an older one */
	uint64_t	 due;		/* log's clock: its limit is over */
	char		 reason[EXEC_REASON_MAX + 1];
};

/* A request that is answered later. */
struct waiter {
	TAILQ_ENTRY(waiter)	 entry;
	uint64_t		 session;
	uint32_t		 req;
	uint32_t		 type;		/* PROTO_* */
};
TAILQ_HEAD(waiters, waiter);

struct sandbox;

/* An exec that has not ended. */
struct exec {
	RB_ENTRY(exec)		 entry;
	TAILQ_ENTRY(exec)	 queue;		/* waits for its turn */
	struct sandbox		*sb;
	struct exec_row		 r;
	struct msg_rest		 rest;		/* of its row */
	struct msg_start	*start;		/* until it is sent */
	int			 queued;
	int			 sent;		/* counts against the limit */
	int			 never;		/* ends before it was sent */
	int			 ending;	/* its end is in the batch */
	uint32_t		 rows;		/* asked for since; 0: none */
	uint32_t		 cols;
	struct kvv		 changes;	/* details, told with its end */
	uint64_t		 session;	/* primary reader's, 0: none */
	uint32_t		 req;
	struct event		 lost;		/* detach rule */
	struct waiters		 waiters;
};
RB_HEAD(exec_tree, exec);

enum op_kind {
	OP_NONE,
	OP_CREATE,
	OP_RECREATE,		/* the same, after a restart */
	OP_RESUME,
	OP_RERESUME,
	OP_UNRESUME,		/* a resume failed: stopped again */
	OP_REMAKE,		/* a resume of what never was ready */
	OP_UNMAKE,		/* and that is to be stopped instead */
	OP_PAUSE,
	OP_UNPAUSE,
	OP_RESTART,
	OP_UPDATE,
	OP_UNUPDATE,		/* its guest reads something else */
	OP_STOP,
	OP_RESTOP,
	OP_DELETE,
	OP_UNDO,		/* what never was ready leaves nothing */
	OP_UNBOX,		/* what was leaves its workspace alone */
	OP_REIN			/* what is stopped must not run */
};

struct op {
	enum op_kind		 kind;
	uint64_t		 number;
	u_int			 step;
	int			 active;
	int			 committing;	/* its end is in the batch */
	uint32_t		 grace;
	struct event		 deadline;
	int			 up;		/* there is a guest to end */
	int			 frozen;	/* and it may be paused */
	uint64_t		 due;		/* when, on the log's clock */
	int			 hello;		/* guest's hello is there */
	int			 started;	/* the broker's outcome is */
	struct msg_guest_hello	 guest;
	struct msg_box_started	 box;
	enum code		 code;		/* why it fails */
	char			 cause[CAUSE_MAX + 1];
	TAILQ_ENTRY(op)		 queue;		/* for the broker */
	int			 queued;
	uint32_t		 order;		/* what it is asked for */
};

struct sandbox {
	RB_ENTRY(sandbox)	 by_n;
	RB_ENTRY(sandbox)	 by_id;
	RB_ENTRY(sandbox)	 by_key;
	TAILQ_ENTRY(sandbox)	 of_owner;	/* until it is deleted */
	struct sbx_row		 r;
	struct msg_rest		 rest;		/* of its row */
	struct sbx_todo		 todo;
	struct sbx_update	*update;	/* NULL: none */
	struct proto_create	*conf;		/* NULL when deleted */
	struct msg_rest		 conf_rest;
	uint64_t		 sseq;		/* its newest event */
	uint64_t		 last_k;	/* its newest exec */
	struct exec_tree	 execs;
	u_int			 nexecs;
	u_int			 ncalls;	/* of files, under way */
	struct op		 op;
	struct waiters		 waiters;
	enum sbx_state		 listed;	/* when the inventory began */
	uint64_t		 asked;		/* and its operation then */
	int			 named;		/* and did */
	int			 here;		/* its guest is connected */
	int			 letgo;		/* it need not be held */
	uint64_t		 ticket;	/* of its mounts; 0: as they were */
	uint64_t		 probe;		/* its silence counts since */
	int			 silent;	/* it is, says the runner */
	u_int			 held;		/* signals while it is paused */
	struct msg_box_state	 box;		/* as the inventory said */
	TAILQ_ENTRY(sandbox)	 gone;		/* its history is */
	int			 collecting;
	uint64_t		 kept;		/* it could not be, till then */
	RB_ENTRY(sandbox)	 by_due;
	struct time_row		 t;
	struct msg_rest		 times_rest;	/* of its row */
	uint64_t		 due;		/* what its times bring next */
	int			 intime;	/* it is in the tree of these */
	int			 timing;	/* it is being done */
	uint64_t		 hold;		/* not again before that */
	u_int			 tries;
	uint64_t		 worked;	/* it had something to do then */
	int			 lost;		/* its rows could not be read */
	int			 bare;		/* nor could its own, */
	int			 unnamed;	/* and it has no name yet */
	enum sbx_state		 told;		/* and its events end so */
};
RB_HEAD(sbx_by_n, sandbox);
RB_HEAD(sbx_by_id, sandbox);
RB_HEAD(sbx_by_key, sandbox);

struct model {
	struct eventdb		*db;
	struct sbx_by_n		 by_n;
	struct sbx_by_id	 by_id;
	struct sbx_by_key	 by_key;
	uint64_t		 last_n;	/* newest number given out */
	u_int			 count;		/* not deleted */
	u_int			 nlive;		/* execs without an end */
	u_int			 newer;		/* rows with a rest */
	int			 alien;		/* a row that only those know */
};

RB_PROTOTYPE(sbx_by_n, sandbox, by_n, sbx_cmp_n)
RB_PROTOTYPE(sbx_by_id, sandbox, by_id, sbx_cmp_id)
RB_PROTOTYPE(sbx_by_key, sandbox, by_key, sbx_cmp_key)
RB_PROTOTYPE(exec_tree, exec, entry, exec_cmp)

int		 model_open(struct model *, struct eventdb *);
void		 model_close(struct model *);
struct sandbox	*model_number(struct model *, uint64_t);
struct sandbox	*model_id(struct model *, uint32_t, const char *);
struct sandbox	*model_key(struct model *, uint32_t, const char *);
/* The only one of that name, whoever owns it; *many if there are more. */
struct sandbox	*model_any(struct model *, const char *, int *many);
struct exec	*model_exec(struct sandbox *, uint64_t);
int		 model_uid_taken(struct model *, uint32_t);

/* In a batch: they write, and are undone with it. */
void		 model_add(struct batch *, struct model *, struct sandbox *);
int		 model_put_conf(struct batch *, struct sandbox *);
/* What its container showed at its start. */
int		 model_put_facts(struct batch *, struct sandbox *);
int		 model_put(struct batch *, struct sandbox *);
int		 model_put_todo(struct batch *, struct sandbox *);
int		 model_put_times(struct batch *, struct sandbox *);
int		 model_put_update(struct batch *, struct sandbox *);
int		 model_del_update(struct batch *, struct sandbox *);
int		 model_put_clock(struct batch *, const struct clock_row *);
int		 model_put_counters(struct batch *, struct sandbox *);
/* What the log's clock was when an event was written. */
int		 model_put_age(struct batch *, uint64_t, uint64_t);
int		 model_del_age(struct batch *, uint64_t);
int		 model_put_last(struct batch *, struct model *);
void		 model_keep(struct batch *, struct sandbox *);
void		 model_add_exec(struct batch *, struct model *, struct exec *);
int		 model_put_exec(struct batch *, const struct exec *);
int		 model_put_start(struct batch *, struct exec *);
int		 model_del_start(struct batch *, struct exec *);
int		 model_end_exec(struct batch *, struct model *, struct exec *);

/* What is collected: the number of rows, at most that many; the rest. */
int		 model_del_execs(struct batch *, struct model *,
		    struct sandbox *, int);
int		 model_del(struct batch *, struct sandbox *);

/* After the commit: the end takes it out of memory. */
void		 model_drop_exec(struct exec *);
void		 model_drop_conf(struct sandbox *);
void		 model_remove(struct model *, struct sandbox *);
struct sandbox	*sandbox_new(void);
void		 sandbox_free(struct sandbox *);
void		 update_free(struct sbx_update *);
struct exec	*model_exec_new(struct sandbox *);
void		 model_exec_free(struct exec *);

/* From the database: 0, EDB_NOTFOUND or -1. */
int		 model_get_row(struct model *, uint64_t, struct sbx_row *);
/* Its newest event and exec. */
int		 model_get_counters(struct model *, uint64_t, uint64_t *,
		    uint64_t *);
int		 model_get_live(struct model *, uint64_t, uint64_t);
int		 model_get_conf(struct model *, uint64_t,
		    struct proto_create *);
int		 model_get_clock(struct model *, struct clock_row *);
int		 model_get_facts(struct model *, uint64_t,
		    struct msg_facts *);
int		 model_get_exec(struct model *, uint64_t, uint64_t,
		    struct exec_row *);
int		 model_get_start(struct model *, uint64_t, uint64_t,
		    struct msg_start *);
/* Ended and live, in order from k; fn returns non-zero to stop. */
int		 model_walk_execs(struct model *, uint64_t, uint64_t,
		    int (*)(void *, const struct exec_row *), void *);
/* By the sequences of their events; the same. */
int		 model_walk_ages(struct model *, int (*)(void *, uint64_t,
		    uint64_t), void *);
void		 exec_row_clear(struct exec_row *);

#endif
