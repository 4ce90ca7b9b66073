/*
 * What the files of the store share.
 *
 *	store.c			start, configuration, the batch's turn
 *	store_parent.c		the parent's pipe, sessions
 *	store_frontend.c	clients' requests about sandboxes
 *	store_order.c		those that change the state of one
 *	store_rights.c		who may do what
 *	store_quota.c		and how much
 *	store_doctor.c		what protects the host
 *	store_damaged.c		a log of which only a part can be read
 *	store_audit.c		what was decided, as events
 *	store_allowed.c		the same, of what has no event of its own
 *	store_answer.c		answers to them
 *	store_ops.c		operations of several steps
 *	store_outcome.c		what the others say of their steps
 *	store_engine.c		what they ask of the Engine, in its order
 *	store_change.c		changes of a sandbox's state, as events
 *	store_companion.c	a sandbox that ends with another one
 *	store_exec.c		execs
 *	store_call.c		calls: files of a sandbox
 *	store_broker.c		the broker's pipe
 *	store_runner.c		the runner's pipe
 *	store_reconcile.c	what a start, or the Engine's return, finds
 *	store_recover.c		what it leaves in doubt
 *	store_filter.c		which events they are about
 *	store_types.c		what each event may say
 *	store_events.c		subscriptions
 *	store_log.c		verification and dump of the log
 *	store_retain.c		the end of a history
 *	store_silent.c		guests that do not answer
 *	store_times.c		what is done when a time is over
 *	store_age.c		how old events are
 *	store_extend.c		times that a client sets
 *	store_update.c		labels, times and limits of what there is
 *	store_limits.c		what one sandbox may have
 */
#ifndef STORE_H
#define STORE_H

#include "batch.h"
#include "eventdb.h"
#include "eventlog.h"
#include "lifecycle.h"
#include "model.h"
#include "sandboxd.h"
#include "spec.h"

#define STORE_AHEAD		(16 * 1024 * 1024) /* answers not yet taken */
extern size_t	 store_ahead;		/* less only in a test */
#define STORE_LONG_MAX		8192	/* of a session: far beyond a client's */
#define STORE_STRANGERS		16384	/* requests of one that has hung up */
#define STORE_STALE		64	/* and of these without a word */
#define STORE_PRIO_BATCH		2	/* of libevent's, after the pipes */
#define STORE_ROUNDS		8	/* pipes read before a batch, at most */
#define STORE_ENGINE_MAX	4	/* operations at the broker at a time */
#define STORE_PAGE		256	/* entries of a list in one answer */
#define STORE_PAGE_BYTES	(2 * 1024 * 1024)	/* and about as much */
#define STORE_SLICE		512	/* events of a replay in one turn */
#define STORE_CREDIT		1024	/* events, when the client names none */
#define STORE_SLOW		30000	/* ms without credit */
#define STORE_QUEUED_MAX	4096	/* execs that wait for their turn */
#define STORE_PS_MAX		4096	/* execs in one answer */
#define STORE_FOLLOW_MS		10	/* following events wait no longer */
#define CAUSE_UNKNOWN		"unknown"	/* of an end: its first word */
#define CAUSE_AWAY		\
	CAUSE_UNKNOWN ": its guest died while the Engine was away"
#define STORE_RETRY_MS		1000	/* after a commit that failed */
#define STORE_DEAD_MS		3000	/* the Engine has to tell how it ended */
#define STORE_SLOT_MS		30000	/* then others are let past */
#define STORE_STOP_MS		2000	/* more than the grace, to a guest */
#define STORE_HELD_MAX	1000	/* signals to a paused guest */
#define ACTOR_DAEMON		UINT32_MAX

/* Numbers are in the database: append only. */
enum event_type {
	EV_NONE,
	EV_DAEMON_STARTED,
	EV_DAEMON_STOPPED,
	EV_RELOADED,
	EV_IMAGE_IMPORTED,
	EV_SBX_CREATE,
	EV_SBX_READY,
	EV_SBX_FAILED,
	EV_SBX_STOP,
	EV_SBX_STOPPED,
	EV_SBX_RESUME,
	EV_SBX_DELETE,
	EV_SBX_DELETED,
	EV_SBX_CLEANED,
	EV_SBX_LEFT,
	EV_EXEC_CREATE,
	EV_EXEC_STARTED,
	EV_EXEC_ENDED,
	EV_EXEC_SIGNAL,
	EV_SBX_COLLECTED,
	EV_LOG_ANCHOR,
	EV_AUDIT_REFUSED,
	EV_SBX_PAUSE,
	EV_SBX_PAUSED,
	EV_SBX_UNPAUSE,
	EV_SBX_UNPAUSED,
	EV_SBX_RESTART,
	EV_SBX_UPDATE,
	EV_SBX_UPDATED,
	EV_SBX_EXTEND,
	EV_SBX_MISSING,
	EV_SBX_FOUND,
	EV_SBX_OUTSIDE,
	EV_STRAY_FOUND,
	EV_STRAY_REMOVED,
	EV_LOG_RESTORED,
	EV_EXEC_DETACH,
	EV_SBX_CAUSE,
	EV_AUDIT_ALLOWED,
	EV_EXEC_CHANGED,
	EV_MAX
};

struct sub;

/* What a subscription is about. */
struct filter {
	uint8_t		 types[EV_MAX];
	int		 all;		/* types */
	int		 audit;		/* and decisions of any type */
	struct kvv	 labels;
};

/* A waiter in the list of its session as well. */
struct pending {
	struct waiter		 w;
	TAILQ_ENTRY(pending)	 of_session;
	struct waiters		*of;
	struct exec		*ex;		/* it reads this one's output */
	struct event		 late;		/* it waits no longer */
	int			 wants;		/* when that has been sent: */
	struct proto_attach	 want;		/* exec is NULL */
};

struct session {
	RB_ENTRY(session)		 entry;
	uint64_t			 number;
	uint32_t			 uid;
	struct rights			 rights;
	struct rights			 newrights; /* a reload's */
	struct bound			 bounds[LIMIT_MAX];
	struct bound			 newbounds[LIMIT_MAX];
	TAILQ_HEAD(, pending)		 pending;
	TAILQ_HEAD(, sub)		 subs;
	u_int				 nlong;	/* of both, and parked */
};
RB_HEAD(session_tree, session);

/* Who asks, and what is to be answered. */
struct asker {
	uint64_t	 session;
	uint32_t	 req;
	uint32_t	 uid;
	uint32_t	 own;		/* its rights, when it asked */
	uint32_t	 others;
	char		 by[PLACE_MAX + 1]; /* the rule that let it */
	struct bound	 bounds[LIMIT_MAX];
};

/* Why it is not done. */
struct refusal {
	enum code	 code;
	const char	*field;		/* NULL: none */
	char		 text[TEXT_MAX + 1];
};

/* Who asks, and the exec that is meant; the row is to be cleared. */
struct meant {
	struct asker	 a;
	struct sandbox	*sb;
	struct exec	*ex;		/* NULL: it has ended */
	struct exec_row	 r;
};

/* Room at the broker for one operation. */
struct slot {
	uint64_t	 number;	/* of the operation, 0: none */
	struct event	 late;
};

struct limits {
	uint64_t	 memory;
	uint32_t	 mcpus;
	uint32_t	 pids;
};

TAILQ_HEAD(op_queue, op);
TAILQ_HEAD(exec_queue, exec);

struct store {
	const char		*home;		/* of the database */
	char			 damage[320];	/* it is damaged, if not "" */
	char			 before[64];	/* version of the last start */
	struct eventdb		 db;
	struct eventlog		 log;
	struct batch		 batch;
	struct model		 model;
	struct chan		 parent;
	struct chan		 frontend;
	struct chan		 broker;
	struct chan		 runner;
	struct msg_conf		 conf;
	struct msg_conf		 newconf;
	struct msg_conf_rule	*rules;
	struct msg_conf_rule	*newrules;
	size_t			 nrules;
	size_t			 nnewrules;
	struct msg_conf_place	*places;	/* of the rules, from 1 */
	struct msg_conf_place	*newplaces;
	struct bound		 all[LIMIT_MAX];	/* of all together */
	size_t			 nplaces;
	size_t			 nnewplaces;
	struct session_tree	 sessions;
	u_int			 nsessions;
	uint64_t		 nclosed;	/* that are over */
	uint64_t		 nstrangers;	/* requests of nobody's */
	struct proto_proc	 procs[ROLE_MAX];
	u_int			 nprocs;
	struct msg_engine	 engine;
	int			 going;		/* GO has come */
	int			 engine_known;	/* something was heard */
	u_int			 rounds;	/* pipes read since the last batch */
	struct event		 turn;		/* a gating batch */
	struct event		 follow;	/* a following one, at last */
	struct event		 tidy;		/* what nobody waits for */
	uint64_t		 op;		/* newest operation's number */
	struct slot		 slots[STORE_ENGINE_MAX];
	struct op_queue		 forbroker;
	struct exec_queue	 forrunner;
	u_int			 nqueued;
	u_int			 nsent;		/* execs at the runner */
	int			 hostboot;	/* the host has been restarted */
	int			 booted;	/* this start of it is on record */
	uint64_t		 inventory;	/* its operation, 0: none */
	char			 inventory_why[TEXT_MAX + 1]; /* it failed */
	int			 engine_left;	/* away since the last one */
};

extern struct store	 st;

RB_PROTOTYPE(session_tree, session, entry, session_cmp)

/* store.c */
void		 store_go(void);
void		 store_booted(void);
void		 store_round(void);
__attribute__((__noreturn__)) void	store_run(int, const char *);
__attribute__((__noreturn__)) void	store_exit(void);
uint64_t	 store_now(void);
uint64_t	 store_op(void);
int		 store_event(struct batch *, struct sandbox *,
		    enum event_type, uint32_t, uint64_t, struct kvv *);
const char	*store_event_name(uint16_t);
int		 store_detail(const struct record *, struct kvv *);
void		 store_detail_encode(msgpack_sbuffer *, const struct kvv *);
void		 detail_num(struct kvv *, const char *, int64_t);
void		 detail_str(struct kvv *, const char *, const char *);
void		 timer_set(struct event *, void (*)(int, short, void *),
		    void *, uint64_t);
void		 timer_del(struct event *);

/* store_parent.c */
void		 store_dispatch_parent(int, short, void *);
struct session	*session_find(uint64_t);
void		 store_drain_parent(void);

/* store_answer.c */
void		 answer(const struct asker *, uint32_t, const void *);
void		 answer_end(const struct asker *);
void		 answer_error(const struct asker *, enum code, const char *,
		    const char *, ...)
		    __attribute__((__format__(printf, 4, 5)));
void		 answer_failed(const struct asker *, int);
/* BATCH_REFUSED, always. */
int		 refuse(struct refusal *, enum code, const char *,
		    const char *, ...)
		    __attribute__((__format__(printf, 4, 5)));
/* Answers with it; where a limit or the policy is the reason, it is audited. */
void		 answer_refused(const struct asker *, const char *,
		    const char *, const struct refusal *);
void		 answer_accepted(const struct asker *, const char *, uint64_t,
		    const char *);
void		 answer_wait(const struct asker *, uint32_t, struct sandbox *,
		    uint32_t);
void		 answer_sandbox(const struct asker *, struct sandbox *);
void		 answer_state(const struct asker *, struct sandbox *,
		    enum sbx_state);
void		 answer_exec(const struct asker *, struct sandbox *,
		    const struct exec_row *);
void		 exec_name(char *, size_t, const struct sandbox *, uint64_t);
struct pending	*wait_add(const struct asker *, uint32_t, struct waiters *,
		    struct exec *);
void		 wait_until(struct pending *, uint64_t);
void		 wait_gone(struct session *);
void		 wait_drop(struct session *, uint32_t);
void		 wait_sandbox(struct sandbox *, enum code);
void		 wait_held(struct sandbox *);
void		 wait_exec(struct exec *);

/* store_frontend.c */
void		 store_dispatch_frontend(int, short, void *);

/* store_order.c */
int		 order_recv_stop(struct chan *, struct frame *, void *);
int		 order_recv_pause(struct chan *, struct frame *, void *);
int		 order_recv_unpause(struct chan *, struct frame *, void *);
int		 order_recv_restart(struct chan *, struct frame *, void *);
int		 order_recv_resume(struct chan *, struct frame *, void *);
int		 order_recv_delete(struct chan *, struct frame *, void *);
int		 order_thawing(const struct sandbox *);
int		 order_frozen(const struct sandbox *);
int		 order_has_guest(const struct sandbox *);
void		 order_again(struct sandbox *);

/* store_request.c */
int		 request_begin(struct asker *, struct frame *, const void *);
struct sandbox	*request_sandbox(const struct asker *, const char *,
		    uint64_t *);
int		 request_park(int (*)(struct chan *, struct frame *, void *),
		    const struct frame *, void *);
void		 request_unpark(void);
void		 request_long(struct session *);
void		 request_gone(const struct session *);
int		 request_space(const struct asker *);
int		 request_engine(const struct asker *);

/* store_create.c */
int		 create_recv_create(struct chan *, struct frame *, void *);
int		 create_recv_checked(struct chan *, struct frame *, void *);

/* store_rights.c */
int		 rights_set(struct rights *, struct bound *,
		    const struct msg_session *);
int		 rights_visible(const struct asker *, uint32_t);
void		 rights_by(struct asker *, const struct session *,
		    enum right);
void		 rights_by_others(struct asker *, enum right);
void		 rights_seen(struct asker *, const struct sandbox *);
int		 rights_check(struct asker *, enum right,
		    const struct sandbox *);
int		 rights_recv_rules(struct chan *, struct frame *, void *);

/* store_doctor.c */
int		 doctor_recv_doctor(struct chan *, struct frame *, void *);
int		 doctor_recv_host(struct chan *, struct frame *, void *);
void		 doctor_box(const struct asker *, struct sandbox *);

/* store_quota.c: the texts say why, if they return -1. */
void		 quota_own(struct sandbox *);
void		 quota_disown(struct sandbox *);
/* What a user has that is not deleted: the first, or the next; or NULL. */
struct sandbox	*quota_owned(uint32_t, const struct sandbox *);
void		 quota_sub(uint32_t, int);
void		 quota_use(int64_t, uint64_t *);
int		 quota_create(const struct asker *,
		    const struct proto_create *, char *, size_t);
int		 quota_run(const struct asker *, uint32_t,
		    const struct proto_create *, char *, size_t);
int		 quota_more(const struct asker *, const struct sandbox *,
		    const struct limits *, char *, size_t);
int		 quota_exec(const struct asker *, const struct sandbox *,
		    char *, size_t);
int		 quota_subscribe(const struct asker *, char *, size_t);
int		 quota_rate(const struct asker *, enum limit, char *, size_t);

/* store_damaged.c */
int		 damaged(void);		/* nothing is to be written */
void		 damaged_open(void);
int		 damaged_refuse(const struct asker *, uint32_t);

/* store_audit.c */
void		 audit_refused(uint32_t, const char *, const char *,
		    enum code, const char *, uint64_t);
uint64_t	 audit_now(void);
void		 audit_on(char *, size_t, const struct asker *,
		    const struct sandbox *);
void		 audit_end(void);
int		 audit_decision(const struct record *);

/* store_allowed.c */
void		 audit_allowed(const struct asker *, const char *,
		    const struct sandbox *);
void		 allowed_end(void);

/* store_silent.c */
#define SILENT_SIGNAL	9		/* by which its command was ended */
int		 silent_recv(struct chan *, struct frame *, void *);
void		 silent_probe(struct sandbox *);
void		 silent_engine(struct sandbox *);

/* store_change.c */
void		 change_state(struct sandbox *, enum sbx_verb, enum code,
		    const char *);
void		 change_clean(struct sandbox *, const char *);
void		 change_note(struct sandbox *, enum event_type, const char *,
		    const char *);
void		 change_execs(struct sandbox *);
void		 change_lost(struct sandbox *);
uint32_t	 uid_take(struct model *);
int		 policy_image(const char *);

/* store_ops.c */
void		 op_start(struct sandbox *, enum op_kind);
void		 op_abort(struct sandbox *, const char *);
void		 op_fail(struct sandbox *, enum code, const char *);
void		 op_undo(struct sandbox *);
void		 op_committed(struct sandbox *, enum sbx_verb);
void		 op_execs_ended(struct sandbox *);
void		 op_updated(struct sandbox *, uint64_t, enum code,
		    const char *);
int		 op_is_held(struct sandbox *);
void		 op_next(struct sandbox *);
void		 op_time(struct sandbox *, uint64_t);

/* store_outcome.c */
void		 op_work_done(uint64_t, const struct msg_work_done *);
void		 op_listening(const struct msg_guest_gone *);
void		 op_busy(const struct msg_guest_gone *);
void		 op_runner_failed(uint64_t, const struct msg_result *);
void		 op_hello(struct sandbox *, const struct msg_guest_hello *);
void		 op_guest_gone(struct sandbox *);
void		 op_box(uint64_t, uint32_t, const void *);

/* store_mounts.c */
size_t		 mount_count(const struct proto_create *);
/* Asks the parent; create_recv_checked() hears of that ticket. */
uint64_t	 mount_ask(const struct asker *, const struct proto_create *);
void		 mount_drop(uint64_t ticket);
void		 mount_over(const struct sandbox *);
void		 mount_places(struct msg_box_create *,
		    const struct proto_create *);
void		 mount_details(struct kvv *, const struct proto_create *);

/* store_companion.c */
int		 companion_check(const struct asker *,
		    const struct proto_create *, struct refusal *);
/* In the batch that deletes it, and when that is written. */
int		 companion_end(struct batch *, const struct sandbox *);
void		 companion_ended(const struct sandbox *);
/* Is it that of one that is deleted? */
int		 companion_left(const struct sandbox *);

/* store_held.c */
void		 held_begin(struct sandbox *);
void		 held_end(struct sandbox *);
void		 held_let_go(struct sandbox *);
void		 held_worked(struct sandbox *);
void		 held_late(struct sandbox *);

/* store_engine.c */
void		 engine_ask(struct sandbox *, uint32_t);
void		 engine_answered(uint64_t);
void		 engine_forget(struct op *);
void		 engine_pump(void);

/* store_exec.c */
int		 exec_recv_exec(struct chan *, struct frame *, void *);
int		 exec_recv_attach(struct chan *, struct frame *, void *);
int		 exec_recv_input_end(struct chan *, struct frame *, void *);
int		 exec_recv_ps(struct chan *, struct frame *, void *);
int		 exec_recv_logs(struct chan *, struct frame *, void *);
int		 exec_recv_wait(struct chan *, struct frame *, void *);
int		 exec_recv_kill(struct chan *, struct frame *, void *);
int		 exec_begin(struct meant *, struct frame *, const void *,
		    const char *);
int		 exec_end_row(struct batch *, struct exec *,
		    const struct exec_row *);
int		 exec_end_all(struct batch *, struct sandbox *,
		    enum exec_state, const char *);
void		 exec_order_cancel(struct exec *, const struct asker *,
		    uint32_t, const char *);
void		 exec_order_signal(struct sandbox *, uint64_t,
		    const struct asker *, uint32_t, uint32_t, const char *);
void		 exec_read(const struct asker *, uint32_t, struct sandbox *,
		    const struct exec_row *, const struct proto_attach *);
void		 exec_client_gone(struct exec *);
void		 exec_resend(struct sandbox *);
void		 exec_admit(void);
void		 exec_ended(const struct exec_row *,
		    const struct msg_ended *);
void		 exec_started(uint64_t, uint64_t, uint32_t);

/* store_call.c */
int		 call_recv_call(struct chan *, struct frame *, void *);
int		 call_recv_input(struct chan *, struct frame *, void *);
int		 call_recv_cancel(struct chan *, struct frame *, void *);
int		 call_recv_done(struct chan *, struct frame *, void *);

/* store_changed.c */
int		 changed_check(const struct asker *, const struct sandbox *,
		    const struct proto_exec *);
void		 changed_shown(struct kvv *, const struct proto_exec *);
void		 changed_keep(struct exec *, const struct msg_ended *);
int		 changed_event(struct batch *, struct exec *);

/* store_tty.c */
int		 tty_check(const struct asker *, const struct sandbox *,
		    const struct proto_exec *);
int		 tty_recv_detach(struct chan *, struct frame *, void *);
int		 tty_recv_resize(struct chan *, struct frame *, void *);

/* store_broker.c, store_runner.c */
void		 store_dispatch_broker(int, short, void *);
void		 store_dispatch_runner(int, short, void *);
void		 runner_listen(struct sandbox *);
void		 runner_greet(struct sandbox *);
void		 runner_probe(struct sandbox *);
void		 runner_unlisten(struct sandbox *);
int		 runner_recv_broke(struct chan *, struct frame *, void *);

/* store_reconcile.c */
void		 reconcile_start(void);
void		 reconcile_engine(void);
void		 reconcile_container(const struct msg_box_state *);
struct sandbox	*reconcile_whose(const struct msg_box_state *);
int		 reconcile_is_due(const struct sandbox *);
int		 reconcile_late(struct sandbox *, const struct msg_box_state *);
void		 reconcile_dead(struct sandbox *,
		    const struct msg_box_state *);
int		 reconcile_needs(const struct sandbox *);
void		 reconcile_named(struct sandbox *,
		    const struct msg_box_state *);
void		 reconcile_paused(struct sandbox *,
		    const struct msg_box_state *);
void		 reconcile_end(const struct msg_box_done *);

/* store_recover.c */
void		 recover_begin(void);
void		 recover_end(void);
int		 recover_strange(void);
int		 recover_keep(struct sandbox *, int);
void		 recover_stray(const struct sandbox *,
		    const struct msg_box_state *);
void		 recover_answer(enum code, const char *);
uint64_t	 recover_strays(void);
int		 recover_recv_reconcile(struct chan *, struct frame *, void *);

/* store_events.c */
int		 events_recv_events(struct chan *, struct frame *, void *);
int		 events_recv_wait_state(struct chan *, struct frame *, void *);
int		 events_recv_credit(struct chan *, struct frame *, void *);
void		 events_appended(struct batch *, const struct record *);
void		 events_committed(struct batch *);
void		 events_gone(struct session *);
void		 events_drained(void);
void		 events_collected(struct sandbox *);
u_int		 events_subs(void);	/* how many there are */

/* store_filter.c */
const char	*filter_set(struct filter *, struct proto_events *);
void		 filter_clear(struct filter *);
int		 filter_type(const struct filter *, const struct record *);
int		 filter_labels(const struct kvv *, const struct kvv *);
const struct kvv *filter_labels_of(uint64_t);
uint64_t	 filter_hash(uint64_t, const char *, const char *);

/* store_types.c */
void		 types_check(enum event_type, const struct kvv *);

/* store_log.c */
int		 log_recv_dump(struct chan *, struct frame *, void *);
int		 log_recv_verify(struct chan *, struct frame *, void *);
int		 log_recv_credit(uint64_t, uint32_t, uint32_t);
int		 log_dumping(void);	/* nothing may be collected */
void		 log_gone(const struct session *);

/* store_age.c */
int		 age_note(struct batch *);
int		 age_before(struct batch *, uint64_t, uint64_t *);

/* store_times.c */
int		 times_open(void);
uint64_t	 times_now(void);
int		 times_note(struct batch *);
void		 times_note_now(void);
uint64_t	 times_since(const struct sandbox *, uint64_t);
void		 times_arm(void);
void		 times_forget(struct sandbox *);
void		 times_update(struct sandbox *);
void		 times_worked(struct sandbox *);
void		 times_all(int);
const char	*times_text(uint64_t, char *, size_t);
void		 times_show(const struct sandbox *, struct proto_sandbox *);

/* store_extend.c */
int		 extend_recv_extend(struct chan *, struct frame *, void *);

/* store_limits.c */
uint32_t	 limits_cpus(void);
uint64_t	 limits_most(const struct asker *, enum limit, uint64_t);
int		 limits_keep(uint64_t, struct refusal *);
int		 limits_disk(const struct asker *, uint64_t, struct refusal *);
int		 limits_tmpfs(uint64_t, uint64_t, const char *,
		    struct refusal *);
int		 limits_check(const struct asker *,
		    const struct proto_create *, const struct limits *,
		    struct refusal *);

/* store_update.c */
int		 update_recv_update(struct chan *, struct frame *, void *);
void		 update_again(struct sandbox *);
int		 update_drop(struct batch *, struct sandbox *);
void		 update_end(struct sandbox *, enum code, const char *);
void		 update_most(const struct sandbox *, struct limits *);
void		 update_wanted(const struct sandbox *, struct limits *);

/* store_retain.c */
void		 retain_schedule(void);
void		 retain_deleted(void);
void		 retain_free(void);

#endif
