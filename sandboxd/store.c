/*
 * The store: the process that owns the event log and with it every change of
 * state.  It reads no client's bytes, opens no path outside the database's
 * directory, and nothing is done or told before it is committed here.
 */
#include <sys/types.h>

#include <errno.h>
#include <event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fault.h"
#include "log.h"
#include "proc.h"
#include "store.h"

#define BOOT_KEY	"B"		/* in the state table */
#define VERSION_KEY	"V"		/* the same: of who wrote it last */

struct store	 st;

static const char *const event_names[EV_MAX] = {
	[EV_NONE] = "none",
	[EV_DAEMON_STARTED] = "daemon.started",
	[EV_DAEMON_STOPPED] = "daemon.stopped",
	[EV_RELOADED] = "daemon.reloaded",
	[EV_IMAGE_IMPORTED] = "image.imported",
	[EV_SBX_CREATE] = "sandbox.create",
	[EV_SBX_READY] = "sandbox.ready",
	[EV_SBX_FAILED] = "sandbox.failed",
	[EV_SBX_STOP] = "sandbox.stop",
	[EV_SBX_STOPPED] = "sandbox.stopped",
	[EV_SBX_RESUME] = "sandbox.resume",
	[EV_SBX_DELETE] = "sandbox.delete",
	[EV_SBX_DELETED] = "sandbox.deleted",
	[EV_SBX_CLEANED] = "sandbox.cleaned",
	[EV_SBX_LEFT] = "sandbox.left",
	[EV_EXEC_CREATE] = "exec.create",
	[EV_EXEC_STARTED] = "exec.started",
	[EV_EXEC_ENDED] = "exec.ended",
	[EV_EXEC_SIGNAL] = "exec.signal",
	[EV_SBX_COLLECTED] = "sandbox.collected",
	[EV_LOG_ANCHOR] = "log.anchor",
	[EV_AUDIT_REFUSED] = "audit.refused",
	[EV_SBX_PAUSE] = "sandbox.pause",
	[EV_SBX_PAUSED] = "sandbox.paused",
	[EV_SBX_UNPAUSE] = "sandbox.unpause",
	[EV_SBX_UNPAUSED] = "sandbox.unpaused",
	[EV_SBX_RESTART] = "sandbox.restart",
	[EV_SBX_UPDATE] = "sandbox.update",
	[EV_SBX_UPDATED] = "sandbox.updated",
	[EV_SBX_EXTEND] = "sandbox.extend",
	[EV_SBX_MISSING] = "sandbox.missing",
	[EV_SBX_FOUND] = "sandbox.found",
	[EV_SBX_OUTSIDE] = "sandbox.outside",
	[EV_STRAY_FOUND] = "stray.found",
	[EV_STRAY_REMOVED] = "stray.removed",
	[EV_LOG_RESTORED] = "log.restored",
	[EV_EXEC_DETACH] = "exec.detach",
	[EV_SBX_CAUSE] = "sandbox.cause",
	[EV_AUDIT_ALLOWED] = "audit.allowed",
	[EV_EXEC_CHANGED] = "exec.changed",
};

struct detail_map {
	struct kvv	 detail;
};

static const struct msg_field f_detail[] = {
	MSG_F(detail_map, detail, M_KVV, 64, 0),
};
static const struct msg_def	 def_detail = MSG_DEF(0, "event's details",
    detail_map, f_detail);

uint64_t
store_now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ((uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec);
}

uint64_t
store_op(void)
{
	return (++st.op);
}

const char *
store_event_name(uint16_t type)
{
	return (type < EV_MAX ? event_names[type] : "unknown");
}

void
detail_str(struct kvv *kv, const char *key, const char *val)
{
	if (kvv_set(kv, key, val) == -1)
		fatal("%s", __func__);
}

void
detail_num(struct kvv *kv, const char *key, int64_t val)
{
	char	 buf[24];

	snprintf(buf, sizeof(buf), "%lld", (long long)val);
	detail_str(kv, key, buf);
}

/* The details of a record, as they were given. */
int
store_detail(const struct record *r, struct kvv *kv)
{
	struct detail_map	 m;
	struct msg_rest		 rest;

	memset(kv, 0, sizeof(*kv));
	if (r->ndetails == 0)
		return (0);
	if (msg_decode_row(&m, &def_detail, 1, r->details, r->ndetails,
	    &rest) == -1)
		return (-1);
	msg_rest_clear(&rest);
	*kv = m.detail;
	return (0);
}

void
store_detail_encode(msgpack_sbuffer *buf, const struct kvv *kv)
{
	struct detail_map	 m;

	m.detail = *kv;
	if (msg_encode_array(buf, &def_detail, &m) == -1)
		fatal("%s", __func__);
}

/*
 * Appends an event in a batch, with the state the sandbox has by now.  Takes
 * the details and clears them.
 */
int
store_event(struct batch *b, struct sandbox *sb, enum event_type type,
    uint32_t actor, uint64_t k, struct kvv *detail)
{
	struct record		 r;
	msgpack_sbuffer		 buf;
	int			 ret;

	if (times_note(b) != BATCH_OK)
		return (BATCH_FAIL);
	memset(&r, 0, sizeof(r));
	r.type = type;
	r.actor = actor;
	r.exec = k;
	r.time = store_now();
	if (sb != NULL) {
		batch_keep(b, &sb->sseq, sizeof(sb->sseq));
		r.sbx = sb->r.n;
		r.sseq = ++sb->sseq;
		r.owner = sb->r.owner;
		r.state = sb->r.state;
		r.op = sb->r.op;
	}
	types_check(type, detail);
	msgpack_sbuffer_init(&buf);
	if (detail != NULL && detail->n > 0) {
		store_detail_encode(&buf, detail);
		r.details = (const uint8_t *)buf.data;
		r.ndetails = buf.size;
	}
	if ((ret = eventlog_append(b->log, &r)) == 0)
		events_appended(b, &r);
	msgpack_sbuffer_destroy(&buf);
	if (detail != NULL)
		kvv_clear(detail);
	if (ret == -1 || age_note(b) == BATCH_FAIL)
		return (BATCH_FAIL);
	return (sb == NULL ? BATCH_OK : model_put_counters(b, sb));
}

/*
 * Milliseconds; an event that is set already is set anew.  Timers come after
 * the pipes and beside the batch: work in slices must not keep that waiting.
 */
void
timer_set(struct event *ev, void (*fn)(int, short, void *), void *arg,
    uint64_t ms)
{
	struct timeval	 tv;

	tv.tv_sec = ms / 1000;
	tv.tv_usec = ms % 1000 * 1000;
	if (event_initialized(ev))
		evtimer_del(ev);
	evtimer_set(ev, fn, arg);
	event_priority_set(ev, STORE_PRIO_BATCH);
	evtimer_add(ev, &tv);
}

void
timer_del(struct event *ev)
{
	if (event_initialized(ev))
		evtimer_del(ev);
}

static void
store_tidy(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	(void)arg;
	if (eventdb_checkpoint(&st.db, 0) == -1)
		log_warnx("%s", st.db.why);
}

static void
store_batch(int fd, short event, void *arg)
{
	int	 left, due;

	(void)fd;
	(void)event;
	(void)arg;
	left = batch_run(&st.batch);
	st.rounds = 0;
	timer_del(&st.follow);
	if (left > 0)
		event_active(&st.turn, EV_TIMEOUT, 1);
	else
		retain_free();
	/* It takes long: what this batch has to say leaves before it. */
	due = eventdb_checkpoint_due(&st.db);
	if (due == 1)
		event_active(&st.tidy, EV_TIMEOUT, 1);
	else if (due > 1)
		store_tidy(-1, 0, NULL);
	if (!st.db.ballast)
		eventdb_ballast_fill(&st.db);
}

/*
 * A batch runs when the pipes have been read: its event has a lower priority
 * than theirs.  What it holds is bounded by the requests in flight.
 */
static void
store_wake(struct batch *b, int now)
{
	(void)b;
	if (now)
		event_active(&st.turn, EV_TIMEOUT, 1);
	else if (!event_initialized(&st.follow) ||
	    !evtimer_pending(&st.follow, NULL))
		timer_set(&st.follow, store_batch, NULL, STORE_FOLLOW_MS);
}

/*
 * A pipe has been read.  If there is always one that can be, the batch's turn
 * would never come.
 */
void
store_round(void)
{
	if (st.going && st.batch.ngating > 0 && ++st.rounds >= STORE_ROUNDS)
		store_batch(-1, 0, NULL);
}

/* With the version of the program, and of the one before if it is another. */
static int
body_started(struct batch *b, void *arg)
{
	struct kvv	 d = { 0 };

	(void)arg;
	detail_str(&d, "version", SANDBOXD_VERSION);
	if (st.before[0] != '\0' &&
	    strcmp(st.before, kvv_get(&d, "version")) != 0)
		detail_str(&d, "before", st.before);
	if (eventdb_put(b->db, EDB_STATE, VERSION_KEY, 1, SANDBOXD_VERSION,
	    strlen(SANDBOXD_VERSION)) != 0) {
		kvv_clear(&d);
		return (BATCH_FAIL);
	}
	return (store_event(b, NULL, EV_DAEMON_STARTED, ACTOR_DAEMON, 0, &d));
}

/* The first programs did not write it. */
static void
store_before(void)
{
	const uint8_t	*val;
	size_t		 len;

	switch (eventdb_get(&st.db, EDB_STATE, VERSION_KEY, 1, &val, &len)) {
	case EDB_OK:
		if (len >= sizeof(st.before))
			len = sizeof(st.before) - 1;
		memcpy(st.before, val, len);
		st.before[len] = '\0';
		break;
	case EDB_FAIL:
		fatalx("event log: %s", st.db.why);
	}
}

static int
body_host(struct batch *b, void *arg)
{
	enum event_type	*type = arg;

	return (store_event(b, NULL, *type, ACTOR_DAEMON, 0, NULL));
}

static int
store_newest(void *arg, const struct record *r)
{
	*(uint64_t *)arg = r->time;
	return (1);
}

static int
body_boot(struct batch *b, void *arg)
{
	(void)arg;
	if (eventdb_put(b->db, EDB_STATE, BOOT_KEY, 1, st.conf.boot,
	    strlen(st.conf.boot)) != 0)
		return (BATCH_FAIL);
	return (BATCH_OK);
}

/* The containers of this start of the host are known from now on. */
void
store_booted(void)
{
	st.hostboot = 0;
	if (st.booted || st.conf.boot[0] == '\0')
		return;
	st.booted = 1;
	batch_following(&st.batch, body_boot, NULL, NULL);
}

/*
 * Has the host been started since the Engine was last asked what runs?  A
 * database that an earlier version has written does not know in which start
 * that was: once, the time of its newest event must do, though a clock that
 * was set makes it wrong.  The same if the kernel does not tell.
 */
static int
store_hostboot(void)
{
	struct timespec	 up;
	const uint8_t	*val;
	uint64_t	 time = 0, since;
	size_t		 len;

	switch (st.conf.boot[0] == '\0' ? EDB_NOTFOUND :
	    eventdb_get(&st.db, EDB_STATE, BOOT_KEY, 1, &val, &len)) {
	case EDB_OK:
		st.booted = len == strlen(st.conf.boot) &&
		    memcmp(val, st.conf.boot, len) == 0;
		return (!st.booted);
	case EDB_FAIL:
		fatalx("event log: %s", st.db.why);
	}
	if (st.log.seq == 0 || eventlog_read(&st.log, st.log.seq,
	    store_newest, &time) == -1 ||
	    clock_gettime(CLOCK_BOOTTIME, &up) == -1)
		return (0);
	since = (uint64_t)up.tv_sec * 1000000000 + up.tv_nsec;
	return (time != 0 && time < store_now() - since);
}

static void
store_open(void)
{
	struct sandbox		*sb;

	if (eventdb_open(&st.db, st.home) == -1 ||
	    eventlog_open(&st.log, &st.db) == -1 ||
	    model_open(&st.model, &st.db) == -1 || times_open() == -1) {
		if (st.model.alien || !eventdb_is_damaged(&st.db))
			fatalx("event log: %s", st.db.why);
		damaged_open();
		return;
	}
	st.db.again = 1;
	if (st.model.newer != 0)
		log_warnx("event log: %u rows have fields of a newer version: "
		    "they are kept, and not looked at", st.model.newer);
	batch_init(&st.batch, &st.db, &st.log);
	st.batch.wake = store_wake;
	st.batch.committed = events_committed;
	st.hostboot = store_hostboot();
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
		if (sb->r.op > st.op)
			st.op = sb->r.op;
		if (sb->update != NULL && sb->update->op > st.op)
			st.op = sb->update->op;
	}
	store_before();
	batch_following(&st.batch, body_started, NULL, NULL);
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n)
		if (sb->lost)
			change_lost(sb);
	log_debug("event log: %llu events, %u sandboxes, %u execs",
	    (unsigned long long)st.log.seq, st.model.count, st.model.nlive);
}

void
store_go(void)
{
	if (st.going)
		return;
	/* Not before: the files must belong to the user we have now. */
	store_open();
	st.going = 1;
	/* Before anyone has an answer: from now on a death is replaced. */
	pipe_send(&st.parent, MSG_OPEN, 0, 0, 0, -1, NULL);
	(void)chan_flush(&st.parent);
	if (!damaged())
		reconcile_start();
}

static void
store_sig(int sig, short event, void *arg)
{
	(void)sig;
	(void)event;
	(void)arg;
	/* The parent decides when to stop, and says so or goes away. */
}

__attribute__((__noreturn__)) void
store_exit(void)
{
	static enum event_type	 type = EV_DAEMON_STOPPED;

	if (damaged()) {
		chan_flush_wait(&st.frontend);
		eventdb_close(&st.db);
	} else if (st.going) {
		audit_end();
		times_note_now();
		batch_following(&st.batch, body_host, NULL, &type);
		while (batch_run(&st.batch) > 0)
			continue;
		chan_flush_wait(&st.frontend);
		eventdb_close(&st.db);
	}
	log_debug("exiting");
	_exit(0);
}

/* Serves the parent at fd, and through it the others, until it says stop. */
__attribute__((__noreturn__)) void
store_run(int fd, const char *home)
{
	event_priority_init(STORE_PRIO_BATCH + 1);
	RB_INIT(&st.sessions);
	TAILQ_INIT(&st.forbroker);
	TAILQ_INIT(&st.forrunner);
	st.home = home;
	evtimer_set(&st.turn, store_batch, NULL);
	event_priority_set(&st.turn, STORE_PRIO_BATCH);
	evtimer_set(&st.tidy, store_tidy, NULL);
	event_priority_set(&st.tidy, STORE_PRIO_BATCH);
	chan_init(&st.parent, fd, "parent", store_dispatch_parent);
	proc_log(&st.parent);
	event_dispatch();
	store_exit();
}

__attribute__((__noreturn__)) void
store(int debug, int verbose)
{
	struct proc_ids	 ids;

	(void)debug;
	log_procinit("store");
	log_setverbose(verbose);
	setproctitle("event store");
	proc_recv_ids(PROC_PIPE_FD, &ids);
	proc_drop(&ids);
	proc_event_init();
	proc_signals(store_sig);
	sandbox_store();
	store_run(PROC_PIPE_FD, "/.");
}
