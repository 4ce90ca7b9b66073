/*
 * Guests that are silent: alive by the kernel's word, and without a word of
 * their own.
 *
 * None is asked for the sake of asking: who has nothing to do costs nothing.
 * There is a reason if nothing has been heard for a while since it was sent,
 * or was to be, something that it answers, while a call is under way, or if the time limit
 * of a command, its grace and some more are over and its end was not told.
 * Then PING is sent, and PONG has a deadline, over new connections too.  Every
 * guest knows both: they are in the first version of its protocol.
 *
 * A guest that answers and has not ended its command some time after its first
 * answer does not obey.  Both is told to the store, which alone knows whether
 * the sandbox is paused, and silent by right; when that is over it says PROBE,
 * and what went before counts no more.
 */

#include <sys/types.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fault.h"
#include "log.h"
#include "runner.h"

#define LOOK_MAX	3600		/* s, between two during a call */
#define LATE_S		10		/* an end has as long to be told */
#define OBEY_S		45		/* and by who answers; it tries for 30 */
#define SLEPT_S		2		/* so late only if we did not run */

int	 runner_look_s = RUNNER_LOOK_S;
int	 runner_pong_s = RUNNER_PONG_S;
int	 runner_late_s = LATE_S;
int	 runner_obey_s = OBEY_S;

enum quiet {
	QUIET_NONE,		/* no timer */
	QUIET_LOOK,		/* has it said anything by then? */
	QUIET_ASKED,		/* PONG is waited for */
	QUIET_TOLD		/* the store knows */
};

enum late {
	LATE_NO,
	LATE_LIMIT,		/* its end is due; the guest was not asked */
	LATE_ANSWERED,		/* was asked and answered: a last time */
	LATE_OVER
};

static uint64_t	 cookie;

static time_t
silent_now(void)
{
	struct timespec	 ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts) == -1)
		fatal("clock_gettime");
	return (ts.tv_sec);
}

static void
silent_arm(struct box *box, enum quiet what, int s)
{
	struct timeval	 tv = { s, 0 };

	box->quiet.what = what;
	box->quiet.due = silent_now() + s;
	evtimer_add(&box->quiet.ev, &tv);
}

/* On this connection, if one is to be asked: one PONG at a time is owed. */
void
silent_ready(struct box *box)
{
	struct guest	*g;
	struct gp_ping	 p;

	if (box->quiet.what != QUIET_ASKED || (g = guest_ready(box)) == NULL ||
	    g->pinged)
		return;
	fault("runner.ping.before");
	p.cookie = g->cookie = ++cookie;
	g->pinged = 1;
	guest_wrote(g, gp_encode_ping(guest_room(g, 64), 64, &p));
}

static void
silent_ask(struct box *box)
{
	if (box->quiet.what == QUIET_ASKED || box->quiet.what == QUIET_TOLD)
		return;
	silent_arm(box, QUIET_ASKED, runner_pong_s);
	silent_ready(box);
}

/* With the ends that are due, and how much there is of their output. */
static void
silent_tell(struct box *box, const char *text)
{
	struct msg_guest_silent	 m;
	struct exec		*ex;
	struct slog		*out, *err;

	memset(&m, 0, sizeof(m));
	m.n = box->n;
	m.boot = box->boot;
	snprintf(m.text, sizeof(m.text), "%s", text);
	RB_FOREACH(ex, execs, &box->execs) {
		if (ex->over || ex->late == LATE_NO ||
		    m.late.n + SILENT_FIELDS > SILENT_LATE_MAX)
			continue;
		out = ex->log[GP_STDOUT];
		err = ex->log[GP_STDERR];
		if (u64v_add(&m.late, ex->k) == -1 ||
		    u64v_add(&m.late, out->len) == -1 ||
		    u64v_add(&m.late, out->len - slog_stored(out)) == -1 ||
		    u64v_add(&m.late, err->len) == -1 ||
		    u64v_add(&m.late, err->len - slog_stored(err)) == -1)
			fatal("%s", __func__);
	}
	box->quiet.what = QUIET_TOLD;
	fault("runner.silent.before");
	pipe_send(&ch_store, MSG_GUEST_SILENT, box->quiet.probe, 0, 0, -1, &m);
	fault("runner.silent.after");
	u64v_clear(&m.late);
}

/* Again after twice the time, as long as a call is under way. */
static void
silent_look(struct box *box)
{
	box->quiet.what = QUIET_NONE;
	if (box->ncalls == 0)
		return;
	if ((box->quiet.look *= 2) > LOOK_MAX)
		box->quiet.look = LOOK_MAX;
	box->quiet.heard = 0;
	silent_arm(box, QUIET_LOOK, box->quiet.look);
}

static void
silent_late(int fd, short event, void *arg)
{
	struct box	*box = arg;
	char		 text[64];

	(void)fd;
	(void)event;
	switch (box->dead ? QUIET_NONE : (enum quiet)box->quiet.what) {
	case QUIET_LOOK:
		if (box->quiet.heard)
			silent_look(box);
		else
			silent_ask(box);
		break;
	case QUIET_ASKED:
		/* We were stopped, or the host was: so was the guest. */
		if (silent_now() > box->quiet.due + SLEPT_S) {
			silent_arm(box, QUIET_ASKED, runner_pong_s);
			break;
		}
		snprintf(text, sizeof(text), "silent: its guest has not "
		    "answered for %d seconds", runner_pong_s);
		silent_tell(box, text);
		break;
	default:
		break;
	}
}

void
silent_init(struct box *box)
{
	evtimer_set(&box->quiet.ev, silent_late, box);
}

/* Another guest is to come, or none. */
void
silent_end(struct box *box)
{
	evtimer_del(&box->quiet.ev);
	box->quiet.what = QUIET_NONE;
}

/* It was sent something that it answers. */
void
silent_expect(struct box *box)
{
	box->quiet.heard = 0;
	if (box->quiet.what == QUIET_ASKED || box->quiet.what == QUIET_TOLD)
		return;
	box->quiet.look = runner_look_s;
	if (box->quiet.what == QUIET_NONE)
		silent_arm(box, QUIET_LOOK, runner_look_s);
}

static void
late_arm(struct exec *ex, uint64_t ms, int s)
{
	struct timeval	 tv;

	ms += s * 1000ULL;
	tv.tv_sec = ms / 1000;
	tv.tv_usec = ms % 1000 * 1000;
	evtimer_add(&ex->due, &tv);
}

/* A reader for whom the command waits is not the guest's fault. */
static int
late_held(const struct exec *ex)
{
	uint32_t	 s;

	for (s = GP_STDOUT; s <= GP_STDERR; s++)
		if (ex->log[s]->primary != NULL &&
		    ex->log[s]->primary->off < ex->log[s]->len)
			return (1);
	return (0);
}

static void
late_fire(int fd, short event, void *arg)
{
	struct exec	*ex = arg;

	(void)fd;
	(void)event;
	if (ex->over)
		return;
	if (late_held(ex)) {
		late_arm(ex, ex->grace, runner_late_s);
		return;
	}
	ex->late = ex->late == LATE_ANSWERED ? LATE_OVER : LATE_LIMIT;
	silent_ask(ex->box);
}

void
silent_exec_init(struct exec *ex)
{
	evtimer_set(&ex->due, late_fire, ex);
}

/* It is sent, or has begun: its limit counts from there. */
void
silent_exec_begun(struct exec *ex)
{
	if (ex->timeout != 0 && ex->late == LATE_NO && !ex->counted)
		late_arm(ex, (uint64_t)ex->timeout + ex->grace,
		    runner_late_s);
}

/* It has begun in a runner before us: its timeout is what is left of that. */
void
silent_exec_counts(struct exec *ex)
{
	silent_exec_begun(ex);
	ex->counted = 1;
}

void
silent_exec_over(struct exec *ex)
{
	evtimer_del(&ex->due);
}

/* -1 if nothing was asked. */
int
silent_recv_pong(struct guest *g, const struct gp_frame *f)
{
	struct gp_ping	 p;
	struct box	*box = g->box;
	struct exec	*ex;
	int		 over = 0;

	if (gp_decode_pong(&p, f) == -1)
		return (-1);
	if (!g->pinged || p.cookie != g->cookie) {
		g->why = "nobody has asked that";
		return (-1);
	}
	g->pinged = 0;
	evtimer_del(&box->quiet.ev);
	silent_look(box);
	RB_FOREACH(ex, execs, &box->execs) {
		if (ex->over)
			continue;
		if (ex->late == LATE_LIMIT) {
			ex->late = LATE_ANSWERED;
			late_arm(ex, ex->grace, runner_obey_s);
		} else if (ex->late == LATE_OVER)
			over = 1;
	}
	if (over)
		silent_tell(box, "silent: its guest answers, and does not "
		    "end a command whose time is over");
	return (0);
}

/* It was paused, or might have been: from now on its silence counts. */
void
silent_counts(struct box *box, uint64_t number)
{
	struct exec	*ex;
	int		 due = box->quiet.what == QUIET_ASKED ||
			    box->quiet.what == QUIET_TOLD;

	box->quiet.probe = number;
	RB_FOREACH(ex, execs, &box->execs) {
		if (ex->over || ex->late == LATE_NO)
			continue;
		silent_exec_over(ex);
		ex->late = LATE_LIMIT;
		due = 1;
	}
	if (!due)
		return;
	silent_arm(box, QUIET_ASKED, runner_pong_s);
	silent_ready(box);
}
