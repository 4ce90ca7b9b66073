/*
 * Times after which something is done to a sandbox that nobody asks for: the
 * end of its lifetime, no work for too long, retention of what is stopped or
 * has failed.
 *
 * They are measured on a clock of the log's own, which nobody sets: it runs
 * while the host does and goes on, over restarts of this process, by the
 * kernel's monotonic clock, and over restarts of the host from where it was
 * last written down.  So whatever is done is done late rather than early.
 * It began as the wall clock, which rows of earlier versions have.
 *
 * Those that have such a time are in one tree by it, with one timer for the
 * first: the others cost nothing.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault.h"
#include "log.h"
#include "store.h"

#define MS		1000000ULL	/* ns */
#define TIMES_SAMPLE	(60000 * MS)	/* between two notes of the clock */
#define TIMES_GRACE	(3600000 * MS)	/* after a start */
#define TIMES_TURN	32		/* at most, then others are served */
#define TIMES_AGAIN	(60000 * MS)	/* a delete that failed, at first */
#define TIMES_AGAIN_MAX	6		/* doublings of it */
#define TIMES_WAIT_MAX	86400000	/* ms that a timer is set to */

enum times {
	TIMES_NONE,
	TIMES_LIFETIME,
	TIMES_IDLE,
	TIMES_STOPPED,
	TIMES_FAILED
};

static const struct {
	const char	*name;
	const char	*next;		/* what is done then */
} times[] = {
	[TIMES_NONE] = { "", "" },
	[TIMES_LIFETIME] = { "lifetime", "delete" },
	[TIMES_IDLE] = { "idle", "stop" },
	[TIMES_STOPPED] = { "stopped", "delete" },
	[TIMES_FAILED] = { "failed", "delete" },
};

struct due {
	struct sandbox	*sb;
	enum times	 what;
	enum sbx_verb	 verb;
};

static struct {
	uint64_t	 base;		/* what the monotonic clock lacks */
	uint64_t	 start;		/* when this process began */
	uint64_t	 noted;		/* last in the log; 0: not yet */
} clk;

RB_HEAD(due_tree, sandbox);
RB_PROTOTYPE(due_tree, sandbox, by_due, due_cmp)

static struct due_tree		 dues = RB_INITIALIZER(&dues);
static struct event			 due_timer;

static int
due_cmp(struct sandbox *a, struct sandbox *b)
{
	if (a->due != b->due)
		return (a->due < b->due ? -1 : 1);
	return (a->r.n < b->r.n ? -1 : a->r.n > b->r.n);
}

RB_GENERATE(due_tree, sandbox, by_due, due_cmp)

static void	times_fire(int, short, void *);

static uint64_t
times_mono(void)
{
	struct timespec	 ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts) == -1)
		fatal("clock_gettime");
	return ((uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec);
}

/* The log's clock, in ns. */
uint64_t
times_now(void)
{
	return (clk.base + times_mono());
}

/* Goes on where it was; -1 if the row cannot be read. */
int
times_open(void)
{
	struct clock_row	 c;
	uint64_t		 mono = times_mono(), life;

	memset(&clk, 0, sizeof(clk));
	switch (model_get_clock(&st.model, &c)) {
	case 0:
		life = c.life;
		/* The same start of the host: no moment is lost. */
		if (c.boot[0] != '\0' && strcmp(c.boot, st.conf.boot) == 0 &&
		    mono >= c.mono)
			life += mono - c.mono;
		break;
	case EDB_NOTFOUND:
		life = store_now();
		break;
	default:
		if (!damaged())
			return (-1);
		life = store_now();
		break;
	}
	clk.base = life - mono;
	clk.start = life;
	return (0);
}

/* With an event that is written anyway: nothing is woken for it. */
int
times_note(struct batch *b)
{
	struct clock_row	 c;
	uint64_t		 now = times_now();

	if (clk.noted != 0 && now - clk.noted < TIMES_SAMPLE)
		return (BATCH_OK);
	batch_keep(b, &clk.noted, sizeof(clk.noted));
	clk.noted = now;
	memset(&c, 0, sizeof(c));
	strlcpy(c.boot, st.conf.boot, sizeof(c.boot));
	c.life = now;
	c.mono = now - clk.base;
	return (model_put_clock(b, &c));
}

/* The next event has it, however short ago the last note was. */
void
times_note_now(void)
{
	clk.noted = 0;
}

/*
 * Since when it is in the state that it is in.  A row of an earlier version
 * tells it by the wall clock, which may be wrong: what it says counts only
 * as far as it is past, and then not for a while after a start.
 */
uint64_t
times_since(const struct sandbox *sb, uint64_t keep)
{
	uint64_t	 since, grace;

	if (sb->t.state == sb->r.state)
		return (sb->t.since);
	grace = keep < TIMES_GRACE ? keep : TIMES_GRACE;
	since = sb->r.changed < clk.start ? sb->r.changed : clk.start;
	if (since + keep < clk.start + grace)
		since = clk.start + grace - keep;
	return (since);
}

static void
due_least(uint64_t *due, enum times *what, uint64_t at, enum times is)
{
	if (*what != TIMES_NONE && *due <= at)
		return;
	*due = at;
	*what = is;
}

/* How long it is kept: by the configuration, or less. */
static uint64_t
times_keep(const struct sandbox *sb, uint64_t keep)
{
	if (sb->t.keep != 0 && (keep == 0 || sb->t.keep < keep))
		keep = sb->t.keep;
	return (keep * MS);
}

/* What comes next by itself, and when. */
static enum times
times_next(const struct sandbox *sb, uint64_t *due)
{
	enum times	 what = TIMES_NONE;
	uint64_t	 keep = 0;

	*due = 0;
	/* Its container may be at another Engine: that is in doubt. */
	if (sb->r.missing != 0)
		return (TIMES_NONE);
	switch (sb->r.state) {
	case SBX_READY:
		if (sb->t.idle != 0 && sb->nexecs == 0 && sb->ncalls == 0)
			due_least(due, &what, sb->worked + sb->t.idle * MS,
			    TIMES_IDLE);
		break;
	case SBX_PAUSED:
		break;
	case SBX_STOPPED:
		if ((keep = times_keep(sb, st.conf.retain_stopped)) != 0)
			due_least(due, &what, times_since(sb, keep) + keep,
			    TIMES_STOPPED);
		break;
	case SBX_FAILED:
		if ((keep = times_keep(sb, st.conf.retain_failed)) != 0)
			due_least(due, &what, times_since(sb, keep) + keep,
			    TIMES_FAILED);
		break;
	default:
		return (TIMES_NONE);
	}
	if (sb->t.until != 0)
		due_least(due, &what, sb->t.until, TIMES_LIFETIME);
	/* Whatever others have made of that since. */
	if (companion_left(sb))
		due_least(due, &what, 1, TIMES_LIFETIME);
	return (what);
}

/* The Engine is needed for all of it, and what it has has to be known. */
static int
times_can(void)
{
	return (st.engine.up && st.inventory == 0);
}

/* Sets the timer to the first of all. */
void
times_arm(void)
{
	struct sandbox	*sb;
	uint64_t	 now, ms = 0;

	if ((sb = RB_MIN(due_tree, &dues)) == NULL || !times_can()) {
		timer_del(&due_timer);
		return;
	}
	now = times_now();
	if (sb->due > now && (ms = (sb->due - now) / MS + 1) > TIMES_WAIT_MAX)
		ms = TIMES_WAIT_MAX;
	timer_set(&due_timer, times_fire, NULL, ms);
}

void
times_forget(struct sandbox *sb)
{
	if (sb->intime)
		RB_REMOVE(due_tree, &dues, sb);
	sb->intime = 0;
}

/* Something about it has changed: its state, what it does, its times. */
void
times_update(struct sandbox *sb)
{
	struct sandbox	*first = RB_MIN(due_tree, &dues);
	uint64_t	 due;

	times_forget(sb);
	if (!sb->op.active && !sb->timing &&
	    times_next(sb, &due) != TIMES_NONE) {
		sb->due = due > sb->hold ? due : sb->hold;
		RB_INSERT(due_tree, &dues, sb);
		sb->intime = 1;
	}
	if (RB_MIN(due_tree, &dues) != first || first == sb)
		times_arm();
}

/* It has something to do, or has done it: that is no time to be idle. */
void
times_worked(struct sandbox *sb)
{
	if (sb->t.idle == 0)
		return;
	sb->worked = times_now();
	times_update(sb);
}

/* At a start, and when the configuration has changed. */
void
times_all(int start)
{
	struct sandbox	*sb;

	RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
		if (start)
			sb->worked = clk.start;
		if (sb->r.state != SBX_DELETED)
			times_update(sb);
	}
	times_arm();
}

/* As conf writes it: the largest unit that loses nothing. */
const char *
times_text(uint64_t ms, char *buf, size_t len)
{
	static const struct {
		const char	*unit;
		uint64_t	 ms;
	} units[] = {
		{ "d", 86400000 }, { "h", 3600000 }, { "m", 60000 },
		{ "s", 1000 }, { "ms", 1 }
	};
	size_t	 i = 0;

	while (ms == 0 || ms % units[i].ms != 0)
		if (++i == sizeof(units) / sizeof(units[0]) - 1)
			break;
	snprintf(buf, len, "%llu%s", (unsigned long long)(ms / units[i].ms),
	    units[i].unit);
	return (buf);
}

static void
due_cause(const struct due *q, char *cause, size_t len)
{
	uint64_t	 ms;
	char		 text[32];

	switch (q->what) {
	case TIMES_LIFETIME:
		strlcpy(cause, companion_left(q->sb) ? "the sandbox whose "
		    "companion it was is deleted" : "its lifetime is over",
		    len);
		return;
	case TIMES_IDLE:
		ms = q->sb->t.idle;
		break;
	case TIMES_STOPPED:
		ms = times_keep(q->sb, st.conf.retain_stopped) / MS;
		break;
	default:
		ms = times_keep(q->sb, st.conf.retain_failed) / MS;
		break;
	}
	snprintf(cause, len, "it was %s for %s", times[q->what].name,
	    times_text(ms, text, sizeof(text)));
}

/* Judged once more in the batch: somebody may have asked for something. */
static int
body_due(struct batch *b, void *arg)
{
	struct due	*q = arg;
	struct sandbox	*sb = q->sb;
	struct kvv	 d = { 0 };
	enum sbx_state	 next;
	uint64_t	 due;

	q->what = times_next(sb, &due);
	if (q->what == TIMES_NONE || due > times_now())
		return (BATCH_REFUSED);
	q->verb = sb->r.state == SBX_READY ? VERB_STOP : VERB_DELETE;
	next = lifecycle_next(sb->r.state, q->verb);
	if (next == SBX_NONE)
		return (BATCH_REFUSED);
	model_keep(b, sb);
	sb->r.state = next;
	due_cause(q, sb->r.cause, sizeof(sb->r.cause));
	sb->r.changed = store_now();
	sb->r.op = store_op();
	sb->r.dirty = 1;
	detail_str(&d, "reason", times[q->what].name);
	detail_str(&d, "cause", sb->r.cause);
	if (store_event(b, sb, q->verb == VERB_STOP ? EV_SBX_STOP :
	    EV_SBX_DELETE, ACTOR_DAEMON, 0, &d) != BATCH_OK)
		return (BATCH_FAIL);
	return (model_put(b, sb));
}

static void
done_due(void *arg, int result)
{
	struct due	*q = arg;
	struct sandbox	*sb = q->sb;
	u_int		 again;

	sb->timing = 0;
	if (result == BATCH_OK) {
		fault("store.due.accepted");
		log_info("sandbox %s (%llu): %s: %s", sb->r.id,
		    (unsigned long long)sb->r.n, lifecycle_name(sb->r.state),
		    sb->r.cause);
		if (q->verb == VERB_DELETE) {
			/* If that fails it is tried again, but not at once. */
			again = sb->tries++;
			sb->hold = times_now() + (TIMES_AGAIN <<
			    (again < TIMES_AGAIN_MAX ? again :
			    TIMES_AGAIN_MAX));
		}
		op_abort(sb, "its time was over");
		sb->op.grace = st.conf.t_stop;
		sb->op.up = q->verb == VERB_STOP;
		sb->op.frozen = 0;
		op_start(sb, q->verb == VERB_STOP ? OP_STOP : OP_DELETE);
	} else if (result != BATCH_REFUSED)
		sb->hold = times_now() + STORE_RETRY_MS * MS;
	times_update(sb);
	free(q);
}

static void
times_fire(int fd, short event, void *arg)
{
	struct sandbox	*sb;
	struct due	*q;
	uint64_t	 now = times_now();
	int		 i;

	(void)fd;
	(void)event;
	(void)arg;
	for (i = 0; i < TIMES_TURN && times_can(); i++) {
		if ((sb = RB_MIN(due_tree, &dues)) == NULL || sb->due > now)
			break;
		if ((q = calloc(1, sizeof(*q))) == NULL)
			fatal("%s", __func__);
		q->sb = sb;
		times_forget(sb);
		sb->timing = 1;
		fault("store.due.before");
		batch_gating(&st.batch, body_due, done_due, q);
	}
	times_arm();
}

/* What the client is shown of it. */
void
times_show(const struct sandbox *sb, struct proto_sandbox *m)
{
	uint64_t	 now = times_now(), due = 0, keep;
	enum times	 what;

	m->lifetime = sb->t.lifetime;
	m->idle = sb->t.idle;
	m->keep = sb->t.keep;
	if (sb->t.until != 0 && sb->r.state != SBX_DELETED)
		m->expires = store_now() + sb->t.until - now;
	if (sb->op.active && (sb->r.state == SBX_PENDING ||
	    sb->r.state == SBX_RESUMING)) {
		strlcpy(m->next, sb->r.state == SBX_PENDING ? "fail" : "stop",
		    sizeof(m->next));
		strlcpy(m->next_by, "create", sizeof(m->next_by));
		due = sb->op.due;
	} else if (sb->r.state == SBX_DELETED) {
		keep = st.conf.retain_history * MS;
		strlcpy(m->next, "collect", sizeof(m->next));
		strlcpy(m->next_by, "history", sizeof(m->next_by));
		due = times_since(sb, keep) + keep;
	} else {
		what = times_next(sb, &due);
		strlcpy(m->next, times[what].next, sizeof(m->next));
		strlcpy(m->next_by, times[what].name, sizeof(m->next_by));
		if (what != TIMES_NONE && due < sb->hold)
			due = sb->hold;
	}
	m->next_in = due > now ? (due - now) / MS : 0;
}
