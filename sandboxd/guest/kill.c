/*
 * Ending execs: TERM, the grace, KILL until nothing is left, one pass in a
 * turn of the loop so that a fork bomb does not keep the others waiting.
 */

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "guest.h"

#define WAIT_MIN	MSEC
#define WAIT_MAX	(100 * MSEC)

static void
kill_hard(struct exec *e)
{
	e->kill = KILL_KILL;
	e->kill_at = g.now;
	e->kill_limit = g.now + KILL_LIMIT;
	e->kill_pass = 0;
	memset(&e->kill_seen, 0, sizeof(e->kill_seen));
	e->kill_wait = 0;
}

/*
 * Shells on a terminal let TERM pass, and what is stopped hears nothing.  The
 * terminal itself stays until the end: what they say to this is output.
 */
static void
kill_hangup(const struct exec *e)
{
	if (e->tty == -1)
		return;
	tree_signal(e, SIGHUP, 0, NULL);
	tree_signal(e, SIGCONT, 0, NULL);
}

/*
 * Ends all that e has.  The kind is what is told of it if its first process
 * still runs; 0 leaves it to the status.
 */
void
kill_begin(struct exec *e, uint32_t kind, uint32_t grace)
{
	uint64_t	 at = g.now + grace * MSEC;

	if (e->gone)
		return;
	if (!e->done && e->kind == 0)
		e->kind = kind;
	if (e->kill == KILL_KILL)
		return;
	changed_skip(e);
	if (grace == 0) {
		kill_hard(e);
		return;
	}
	if (e->kill == KILL_TERM) {
		if (at < e->kill_at)
			e->kill_at = at;
		return;
	}
	fault("guest.term.before");
	e->kill = KILL_TERM;
	e->kill_at = at;
	kill_hangup(e);
	tree_signal(e, SIGTERM, 0, NULL);
}

/* Whether its end waits for the end of its tree. */
int
kill_waits(const struct exec *e)
{
	if (e->gone || e->kill == KILL_NONE)
		return (0);
	return (e->kill == KILL_TERM || g.now < e->kill_limit);
}

static int
kill_alone(const struct exec *e)
{
	struct exec	*o;

	TAILQ_FOREACH(o, &g.execs, entry)
		if (o != e && !o->gone)
			return (0);
	return (getpid() == 1);
}

/*
 * What forks faster than it can be counted, each in a session of its own, may
 * outrun any number of passes: if a crowd has newcomers after a pass, and
 * nobody else has anything here, the kernel kills all at one blow, reapers
 * too.  What is left falls to PID 1.
 */
static void
kill_crowd(struct exec *e, const struct seen *now)
{
	if (now->found <= SCAN_CROWD || e->kill_seen.top == 0 ||
	    now->top <= e->kill_seen.top || !kill_alone(e))
		return;
	e->swept = 1;
	kill(-1, SIGKILL);
}

static void
kill_pass(struct exec *e)
{
	struct seen	 now;
	int		 same;

	tree_signal(e, SIGKILL, e->kill_pass++, &now);
	fault("guest.kill.after");
	kill_crowd(e, &now);
	same = now.hash == e->kill_seen.hash;
	e->kill_seen = now;
	if (now.found > SCAN_CROWD && e->kill_pass < SCAN_AFTER)
		e->kill_pass = SCAN_AFTER;
	if (now.found == 0 && !now.blind && e->reaper == -1 && e->done) {
		/* Without a reaper nobody else can tell. */
		e->gone = 1;
		e->kill_at = g.now + WAIT_MAX;
		exec_poll(e);
		return;
	}
	/* New faces: go on at once.  The same ones are dying: let them. */
	if (now.found != 0 && !same)
		e->kill_wait = 0;
	else if (e->kill_wait == 0)
		e->kill_wait = WAIT_MIN;
	else if ((e->kill_wait *= 2) > WAIT_MAX)
		e->kill_wait = WAIT_MAX;
	e->kill_at = g.now + e->kill_wait;
	if (g.now >= e->kill_limit)
		exec_poll(e);
}

static uint64_t
sooner(uint64_t a, uint64_t b)
{
	return (a == 0 || b < a ? b : a);
}

/* Does what is due, returns when something is next, 0 for never. */
uint64_t
kill_timers(void)
{
	struct exec	*e, *next;
	uint64_t	 at = 0;

	for (e = TAILQ_FIRST(&g.execs); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (e->done || e->kill != KILL_NONE)
			e->deadline = 0;
		if (e->deadline != 0 && g.now >= e->deadline)
			kill_begin(e, GP_TIMED_OUT, e->grace);
		else if (e->deadline != 0)
			at = sooner(at, e->deadline);
		if (e->gone || e->kill == KILL_NONE)
			continue;
		if (e->kill == KILL_TERM && g.now >= e->kill_at)
			kill_hard(e);
		if (e->kill == KILL_KILL && g.now >= e->kill_at)
			kill_pass(e);
		if (!e->gone)
			at = sooner(at, e->kill_at);
	}
	return (at);
}

static void
kill_first(const struct exec *e, int signo)
{
	tree_signal_one(e->pid, e->reaper == -1 ? getpid() : e->reaper, signo);
}

/*
 * A signal of the user's: to the first process alone while it runs, unless
 * the tree was asked for.  KILL is for all, and repeated.
 */
void
kill_signal(struct exec *e, uint32_t signo, uint32_t flags)
{
	if (e->gone)
		return;
	if (signo == SIGKILL)
		kill_begin(e, 0, 0);
	else if (e->state == EX_STARTING) {
		/* It may run: its reaper has not come round to say so. */
		e->signals |= 1ULL << (signo - 1);
		if ((flags & GP_SIGNAL_TREE) != 0)
			e->tree_signals |= 1ULL << (signo - 1);
	} else if ((flags & GP_SIGNAL_TREE) != 0 || e->done)
		tree_signal(e, signo, 0, NULL);
	else
		kill_first(e, signo);
}

/* What came while it was not yet there. */
void
kill_started(struct exec *e)
{
	int		 s;

	for (s = 1; s <= SIGNALS; s++) {
		if ((e->signals & 1ULL << (s - 1)) == 0)
			continue;
		if ((e->tree_signals & 1ULL << (s - 1)) != 0)
			tree_signal(e, s, 0, NULL);
		else
			kill_first(e, s);
	}
	e->signals = e->tree_signals = 0;
	if (e->kill == KILL_TERM) {
		kill_hangup(e);
		tree_signal(e, SIGTERM, 0, NULL);
	} else if (e->kill == KILL_KILL)
		e->kill_at = g.now;
}

/*
 * The first process has ended in the grace.  What it was just forking when
 * TERM came has not heard it.
 */
void
kill_done(struct exec *e)
{
	if (e->kill == KILL_TERM && !e->gone)
		tree_signal(e, SIGTERM, 0, NULL);
}

/* STOP. */
void
kill_all(uint32_t grace)
{
	struct exec	*e, *next;

	for (e = TAILQ_FIRST(&g.execs); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		kill_begin(e, GP_CANCELLED, grace);
	}
}
