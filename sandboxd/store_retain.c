/*
 * The end of a history: when a sandbox has been deleted for as long as the
 * configuration says, its events become skeletons, its rows and the logs of
 * its execs go, and its name and its key can be used again.
 *
 * It works in slices, each a transaction of its own among the requests; what
 * a kill cuts off goes on after the next start.  A slice has several histories
 * if they are short, and the beginning of the log goes while more are due: who
 * makes sandboxes without an end must not be faster than what collects them.
 *
 * One whose rows contradict each other is left as it is, for who looks into
 * it: the others go, and it is tried again much later.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"

#define RETAIN_WAIT_MAX	3600000	/* ms between two looks, at most */
#define RETAIN_MANY	32		/* histories in a slice */
#define RETAIN_SLICES	8		/* and then the beginning of the log */

struct retain {
	struct sandbox	*sb[RETAIN_MANY];
	struct sandbox	*bad;		/* it failed for this one */
	int		 n;
	int		 left;		/* there was more than one slice */
};

static struct event	 retain_timer;
static uint64_t		 retain_at;	/* when it is to come */
static int		 retain_busy;	/* a slice is in the batch */
static TAILQ_HEAD(, sandbox)	 retain_gone =
    TAILQ_HEAD_INITIALIZER(retain_gone);

static void	retain_look(int, short, void *);

/* When its history has been kept for long enough. */
static uint64_t
retain_due(const struct sandbox *sb)
{
	uint64_t	 keep = st.conf.retain_history * 1000000;
	uint64_t	 due = times_since(sb, keep) + keep;

	return (due > sb->kept ? due : sb->kept);
}

static void
retain_set(uint64_t ms)
{
	retain_at = times_now() + ms * 1000000;
	timer_set(&retain_timer, retain_look, NULL, ms);
}

/* Looks again when the next history has been kept long enough. */
void
retain_schedule(void)
{
	struct sandbox	*sb;
	uint64_t	 now = times_now(), ms = RETAIN_WAIT_MAX, due;

	if (retain_busy || damaged())
		return;
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
		if (sb->r.state != SBX_DELETED)
			continue;
		due = retain_due(sb);
		if (due <= now)
			ms = 0;
		else if ((due - now) / 1000000 + 1 < ms)
			ms = (due - now) / 1000000 + 1;
	}
	retain_set(ms);
}

/* One more was deleted: those before it are not to wait for it. */
void
retain_deleted(void)
{
	uint64_t	 ms = st.conf.retain_history + 1;

	if (retain_busy || ms > RETAIN_WAIT_MAX ||
	    (event_initialized(&retain_timer) &&
	    evtimer_pending(&retain_timer, NULL) &&
	    retain_at <= times_now() + ms * 1000000))
		return;
	retain_set(ms);
}

/* What was collected is nobody's any more, once no request has it. */
void
retain_free(void)
{
	struct sandbox	*sb;

	while ((sb = TAILQ_FIRST(&retain_gone)) != NULL) {
		TAILQ_REMOVE(&retain_gone, sb, gone);
		sandbox_free(sb);
	}
}

static void
retain_over(void *arg)
{
	struct sandbox	*sb = arg;

	fault("store.collect.after");
	log_info("sandbox %s (%llu): history collected", sb->r.id,
	    (unsigned long long)sb->r.n);
	events_collected(sb);
	model_remove(&st.model, sb);
	TAILQ_INSERT_TAIL(&retain_gone, sb, gone);
}

/*
 * The events first, then the execs, then the sandbox itself; of all that at
 * most *room, and what is left of it when the whole of it has gone.
 */
static int
retain_one(struct batch *b, struct sandbox *sb, int *room)
{
	struct kvv	 d = { 0 };
	int		 n;

	if ((n = eventlog_collect(b->log, sb->r.n, *room)) == -1)
		return (BATCH_FAIL);
	if ((*room -= n) == 0)
		return (BATCH_OK);
	if ((n = model_del_execs(b, &st.model, sb, *room)) == -1)
		return (BATCH_FAIL);
	if ((*room -= n) == 0)
		return (BATCH_OK);
	detail_str(&d, "sandbox", sb->r.id);
	detail_num(&d, "owner", sb->r.owner);
	detail_num(&d, "events", sb->sseq);
	if (store_event(b, NULL, EV_SBX_COLLECTED, ACTOR_DAEMON, 0,
	    &d) != BATCH_OK || model_del(b, sb) != BATCH_OK)
		return (BATCH_FAIL);
	batch_after(b, retain_over, sb);
	return (BATCH_OK);
}

static int
body_retain(struct batch *b, void *arg)
{
	struct retain	*q = arg;
	int		 i, room = STORE_SLICE;

	for (i = 0; i < q->n && room > 0; i++)
		if (retain_one(b, q->sb[i], &room) != BATCH_OK) {
			q->bad = q->sb[i];
			return (BATCH_FAIL);
		}
	q->bad = NULL;
	return (BATCH_OK);
}

static uint64_t	 retain_old;	/* events up to that one are */

/* An event of the daemon itself is kept as long as a history. */
static enum eventlog_going
retain_host(const struct record *r)
{
	if (r->seq > retain_old)
		return (GOING_NOT);
	/* Each move of the anchor is one: they would go on for ever. */
	return (r->type == EV_LOG_ANCHOR ? GOING_ALONG : GOING);
}

/* What begins the log and was collected goes: the anchor moves forward. */
static int
body_anchor(struct batch *b, void *arg)
{
	struct retain	*q = arg;
	struct kvv	 d = { 0 };
	int		 n, noted, gone;

	if ((noted = age_note(b)) == BATCH_FAIL ||
	    (gone = age_before(b, st.conf.retain_history * 1000000,
	    &retain_old)) == BATCH_FAIL ||
	    (n = eventlog_anchor(b->log, STORE_SLICE, retain_host)) == -1)
		return (BATCH_FAIL);
	q->left = n == STORE_SLICE;
	if (n == 0)
		return (noted == BATCH_OK || gone == BATCH_OK ? BATCH_OK :
		    BATCH_REFUSED);
	detail_num(&d, "sequence", b->log->anchor);
	return (store_event(b, NULL, EV_LOG_ANCHOR, ACTOR_DAEMON, 0, &d));
}

static void
retain_done(void *arg, int result)
{
	struct retain	*q = arg;

	retain_busy = 0;
	if (result == BATCH_UNAVAIL && q->bad != NULL && !damaged()) {
		log_warnx("sandbox %s (%llu): its history cannot be collected",
		    q->bad->r.id, (unsigned long long)q->bad->r.n);
		q->bad->kept = times_now() + RETAIN_WAIT_MAX * 1000000ULL;
		retain_set(0);
	} else if (result == BATCH_NOSPACE || result == BATCH_UNAVAIL)
		retain_set(STORE_RETRY_MS);
	else
		retain_set(0);
	free(q);
}

static void
anchor_done(void *arg, int result)
{
	struct retain	*q = arg;

	retain_busy = 0;
	if (result == BATCH_OK && q->left)
		retain_set(0);
	else
		retain_schedule();
	free(q);
}

/* Before the last that is known of them goes: a kill leaves none behind. */
static void
retain_logs(struct sandbox *sb)
{
	struct msg_exec_ref	 m;

	if (sb->collecting)
		return;
	sb->collecting = 1;
	memset(&m, 0, sizeof(m));
	m.n = sb->r.n;
	m.owner = sb->r.owner;
	pipe_send(&st.runner, MSG_LOG_REMOVE, 0, 0, 0, -1, &m);
}

static void
retain_look(int fd, short event, void *arg)
{
	static u_int	 slices;
	struct sandbox	*sb;
	struct retain	*q;
	uint64_t	 now = times_now();

	(void)fd;
	(void)event;
	(void)arg;
	/* A dump has what it has written: nothing goes meanwhile. */
	if (retain_busy || log_dumping())
		return;
	retain_busy = 1;
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	if (++slices % RETAIN_SLICES != 0)
		RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
			if (sb->r.state != SBX_DELETED || retain_due(sb) > now)
				continue;
			retain_logs(sb);
			q->sb[q->n++] = sb;
			if (q->n == RETAIN_MANY)
				break;
		}
	fault("store.collect.before");
	if (q->n > 0)
		batch_following(&st.batch, body_retain, retain_done, q);
	else
		batch_following(&st.batch, body_anchor, anchor_done, q);
}
