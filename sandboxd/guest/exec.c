/*
 * The table of execs: how each goes from START to FORGET.
 */

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "guest.h"

/* One more than the runner may fill: the spare. */
static struct exec	 slots[GP_MAX_EXECS + 1];
static int		 spare_failed;	/* until a process has ended */

uint32_t
exec_slot(const struct exec *e)
{
	return (e - slots);
}

struct exec *
exec_at(uint32_t slot)
{
	return (&slots[slot]);
}

struct exec *
exec_find(uint64_t k)
{
	struct exec	*e;

	TAILQ_FOREACH(e, &g.execs, entry)
		if (e->k == k)
			return (e);
	return (NULL);
}

/* Frames are due, or (0) only output. */
void
exec_dirty(struct exec *e, int pending)
{
	e->pending |= pending;
	if (e->dirty || e->state == EX_SPARE)
		return;
	e->dirty = 1;
	TAILQ_INSERT_TAIL(&g.dirty, e, dirty_entry);
}

static struct exec *
exec_alloc(void)
{
	static uint32_t	 hint;
	struct exec	*e;
	uint32_t	 i;

	for (i = 0; i <= GP_MAX_EXECS; i++, hint++) {
		e = &slots[hint % (GP_MAX_EXECS + 1)];
		if (e->state != EX_FREE)
			continue;
		hint++;
		memset(e, 0, sizeof(*e));
		/* Nought is a descriptor. */
		e->ctl = e->in.fd = e->out[0].fd = e->out[1].fd = -1;
		e->far[0] = e->far[1] = e->tty = -1;
		e->reaper = -1;
		e->in.total = UINT64_MAX;
		return (e);
	}
	return (NULL);
}

static void
exec_close(struct exec *e)
{
	changed_free(e);
	input_close(e);
	output_close(e, 0);
	output_close(e, 1);
	tty_close(e);
	reaper_close(e);
}

void
exec_free(struct exec *e)
{
	exec_close(e);
	output_release(e, 0);
	output_release(e, 1);
	if (e->dirty)
		TAILQ_REMOVE(&g.dirty, e, dirty_entry);
	if (e == g.spare)
		g.spare = NULL;
	else {
		TAILQ_REMOVE(&g.execs, e, entry);
		g.nexecs--;
	}
	e->state = EX_FREE;
}

/* A reaper for the next command, off its path. */
void
exec_spare(void)
{
	struct exec	*e;

	if (g.spare != NULL || spare_failed || g.stopping ||
	    g.nexecs >= GP_MAX_EXECS || (e = exec_alloc()) == NULL)
		return;
	if (reaper_spawn(e, 0) == -1) {
		spare_failed = 1;
		return;
	}
	e->state = EX_SPARE;
	g.spare = e;
}

static void
exec_insert(struct exec *e, uint64_t k)
{
	e->k = k;
	e->start = g.now;
	e->resumed = 1;
	TAILQ_INSERT_TAIL(&g.execs, e, entry);
	g.nexecs++;
	g.last = k;
}

/* It does not run, and what is kept of it is why. */
void
exec_fail(struct exec *e, uint32_t cause, uint32_t error)
{
	exec_close(e);
	e->state = EX_FAILED;
	e->done = e->gone = 1;
	e->cause = cause;
	e->error = error;
	exec_dirty(e, P_NOT_STARTED);
}

void
exec_start(uint64_t k, const struct gp_start *m)
{
	struct exec	*e;
	int		 error;

	if (k <= g.last) {
		exec_resume(k, m->out, m->err);
		return;
	}
	if (g.stopping) {
		link_refuse(k, GP_NS_STOPPING, 0);
		return;
	}
	if ((e = g.spare) != NULL)
		g.spare = NULL;
	else if (g.nexecs >= GP_MAX_EXECS || (e = exec_alloc()) == NULL) {
		link_refuse(k, GP_NS_LIMIT, 0);
		return;
	}
	exec_insert(e, k);
	if (e->reaper == -1 && reaper_spawn(e, 0) == -1) {
		error = errno;
		exec_fail(e, GP_NS_LIMIT, error);
		return;
	}
	e->state = EX_STARTING;
	g.oom = limits_oom();
	e->flags = m->flags;
	e->rows = m->rows;
	e->cols = m->cols;
	e->grace = m->grace;
	if (m->timeout != 0)
		e->deadline = g.now + m->timeout * MSEC;
	changed_meet(e);
	if ((e->flags & GP_START_CHANGES) && changed_begin(e,
	    m->flags & GP_START_SCOPE ? m->scope : "") == -1) {
		exec_fail(e, GP_NS_CHANGES, 0);
		return;
	}
	if (reaper_give(e, m) == -1) {
		error = errno;
		exec_fail(e, GP_NS_LIMIT, error);
	}
}

/* Its reaper was killed before it had begun; by another one's command. */
static void
exec_retry(struct exec *e)
{
	struct shared	*old = e->sh;
	int		 error = 0;

	e->sh = NULL;
	output_close(e, 0);
	output_close(e, 1);
	tty_close(e);
	if (e->in.fd != -1)
		close(e->in.fd);
	e->in.fd = -1;
	reaper_close(e);
	if (++e->tries == START_TRIES)
		error = ECHILD;
	else if (reaper_spawn(e, 1) == -1 || reaper_give_again(e, old) == -1)
		error = errno;
	munmap(old, sizeof(*old));
	if (error != 0)
		exec_fail(e, error == ECHILD ? GP_NS_ERROR : GP_NS_LIMIT,
		    error);
}

static void
exec_resume_stream(struct exec *e, int i, uint64_t off)
{
	struct output	*o = &e->out[i];

	/* What it lacks below base, or has beyond end, nobody can mend. */
	if (off < o->base)
		off = o->base;
	if (off > o->end)
		off = o->end;
	o->sent = off;
	output_ack(e, i, off);
}

void
exec_resume(uint64_t k, uint64_t out, uint64_t err)
{
	struct exec	*e;

	if ((e = exec_find(k)) == NULL) {
		link_refuse(k, GP_NS_UNKNOWN, 0);
		return;
	}
	e->resumed = 1;
	if (e->state == EX_FAILED) {
		exec_dirty(e, P_NOT_STARTED);
		return;
	}
	if (e->state != EX_BACKGROUND) {
		exec_resume_stream(e, 0, out);
		exec_resume_stream(e, 1, err);
	}
	exec_dirty(e, P_STATE);
	if (e->state == EX_ENDED)
		exec_dirty(e, P_EXIT);
	if ((e->flags & GP_START_INPUT) != 0)
		exec_dirty(e, P_INPUT_ACK);
}

void
exec_forget(struct exec *e)
{
	if (e->state != EX_ENDED && e->state != EX_FAILED)
		return;
	if (e->gone) {
		exec_free(e);
		return;
	}
	e->state = EX_BACKGROUND;
	changed_free(e);
	output_release(e, 0);
	output_release(e, 1);
}

static void
exec_running(struct exec *e)
{
	e->state = EX_RUNNING;
	e->pid = e->sh->pid;
	exec_dirty(e, P_STARTED);
	kill_started(e);
	input_write(e);
}

/* The last process of an ended exec has gone. */
static void
exec_gone(struct exec *e)
{
	output_discard(e, 0);
	output_discard(e, 1);
	output_close(e, 0);
	output_close(e, 1);
	e->background = 0;
	if (e->state == EX_BACKGROUND && !link_up())
		exec_free(e);
	else
		exec_dirty(e, P_BACKGROUND);
}

static void
exec_ended(struct exec *e)
{
	fault("guest.exit.before");
	if (e->reaper_lost)
		e->gone = 1;	/* what is left is the last such exec's */
	if (e->gone) {
		output_close(e, 0);
		output_close(e, 1);
	} else
		e->background = tree_count(e);
	input_close(e);
	/* The terminal goes with it: what is left on it gets a hang-up. */
	if (e->tty != -1)
		output_close(e, 0);
	tty_close(e);
	e->state = EX_ENDED;
	e->deadline = 0;
	if (e->sh->stage == SH_EMPTY && e->reaper != -1)
		reaper_recycle(e);
	exec_dirty(e, P_EXIT);
	fault("guest.exit.after");
}

/*
 * An exec ends when its first process has ended and its pipes have been empty
 * once since: then all that this process wrote is here.
 */
static void
exec_try_end(struct exec *e)
{
	int	 empty;

	if (!e->done)
		return;
	if (!e->gone && ((e->flags & GP_START_KILL_REST) != 0 ||
	    (e->reaper_lost && exec_others_lost(e) == 0)))
		kill_begin(e, 0, 0);
	if (kill_waits(e))
		return;
	empty = output_read(e, 0);
	empty &= output_read(e, 1);
	/* What comes while its changes are looked for is the background's. */
	if (changed_over(e) || (empty && !changed_waits(e)))
		exec_ended(e);
}

/*
 * Was it the kernel, because memory had run out?  Who was not killed by us,
 * and died when somebody was killed for that reason since a command began or
 * ended so last.  A shell tells the same of its child by 128 and the signal.
 */
static int
exec_oom(const struct exec *e, int status)
{
	uint64_t	 was = g.oom;

	if (e->kill != KILL_NONE || e->kind != 0 ||
	    !(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL :
	    WEXITSTATUS(status) == 128 + SIGKILL))
		return (0);
	g.oom = limits_oom();
	return (g.oom > was);
}

static void
exec_done(struct exec *e, int status)
{
	e->oom = exec_oom(e, status);
	e->done = 1;
	e->status = status;
	e->end = g.now;
	kill_done(e);
}

/*
 * Has a command begun whose reaper was killed before it could say so?  That one
 * closed its end of their socket with its death, and the command its own when
 * it was executed.
 */
static int
exec_begun(const struct exec *e)
{
	char	 c;

	return (e->reaper_lost && e->sh->error == 0 && e->ctl != -1 &&
	    recv(e->ctl, &c, sizeof(c), MSG_PEEK | MSG_DONTWAIT) == 0);
}

/* Looks at what its reaper has told.  Harmless at any time. */
void
exec_poll(struct exec *e)
{
	int	 stage, was = e->gone;

	if (e->sh == NULL || e->state == EX_SPARE || e->state == EX_FREE)
		return;
	stage = e->sh->stage;
	if (stage == SH_EMPTY)
		e->gone = 1;
	if (e->state == EX_STARTING) {
		if (stage == SH_FAILED ||
		    (e->done && stage < SH_FAILED && e->sh->error != 0)) {
			exec_fail(e, reaper_cause(e->sh), e->sh->error);
			return;
		}
		if (stage >= SH_RUNNING || e->done || exec_begun(e))
			exec_running(e);
	}
	if (e->state == EX_RUNNING) {
		if (!e->done && (stage >= SH_ENDED ||
		    (e->reaper_lost && stage == SH_DYING)))
			exec_done(e, e->sh->status);
		exec_try_end(e);
	} else if (e->gone && !was)
		exec_gone(e);
}

static struct exec *
exec_by_reaper(pid_t pid)
{
	struct exec	*e;

	if (g.spare != NULL && g.spare->reaper == pid)
		return (g.spare);
	TAILQ_FOREACH(e, &g.execs, entry)
		if (e->reaper == pid)
			return (e);
	return (NULL);
}

/* Other execs that run without a reaper: orphans may be theirs. */
int
exec_others_lost(const struct exec *e)
{
	struct exec	*o;
	int		 n = 0;

	TAILQ_FOREACH(o, &g.execs, entry)
		if (o != e && o->reaper_lost &&
		    (o->state == EX_STARTING || o->state == EX_RUNNING))
			n++;
	return (n);
}

static void
exec_reaper_ended(struct exec *e, int status)
{
	int	 was = e->gone, stage;

	e->reaper = -1;
	if (e->state == EX_SPARE) {
		exec_free(e);
		return;
	}
	if (e->state == EX_FAILED || e->sh == NULL)
		return;
	stage = e->sh->stage;
	if (WIFEXITED(status) || stage == SH_EMPTY) {
		e->gone = 1;
		/* It ends after it has told all; if not, end all the same. */
		if (stage < SH_ENDED && stage != SH_FAILED && !e->done) {
			exec_done(e, 0);
			e->kind = GP_LOST;
		}
	} else if (stage < SH_FAILED &&
	    __sync_bool_compare_and_swap(&e->sh->pid, 0, -1)) {
		exec_retry(e);
		return;
	} else {
		e->reaper_lost = 1;
		e->pid = e->sh->pid;
		if (e->state == EX_ENDED || e->state == EX_BACKGROUND)
			e->gone = 1;
	}
	/* exec_poll() sees the change only if this was not it. */
	if (e->gone && !was &&
	    (e->state == EX_ENDED || e->state == EX_BACKGROUND)) {
		exec_gone(e);
		return;
	}
	exec_poll(e);
}

/* A first process that fell to us, or anybody else. */
static void
exec_orphan(pid_t pid, int status)
{
	struct exec	*e;

	TAILQ_FOREACH(e, &g.execs, entry) {
		if ((e->state != EX_STARTING && e->state != EX_RUNNING) ||
		    e->done || e->sh->pid != pid || e->sh->stage >= SH_DYING)
			continue;
		exec_done(e, status);
		e->pid = pid;
		if (e->reaper == -1)
			exec_poll(e);
		return;
	}
}

/* A status of wait(2). */
void
exec_child(pid_t pid, int status)
{
	struct exec	*e = exec_by_reaper(pid);

	if (WIFSTOPPED(status)) {
		if (e != NULL || reaper_is_idle(pid))
			kill(pid, SIGCONT);
		return;
	}
	spare_failed = 0;
	if (e != NULL)
		exec_reaper_ended(e, status);
	else if (reaper_is_idle(pid))
		reaper_idle_ended(pid);
	else
		exec_orphan(pid, status);
}

/* One of its pipes has something, or has ended. */
void
exec_stream(struct exec *e, int i)
{
	switch (e->state) {
	case EX_RUNNING:
	case EX_STARTING:
		output_read(e, i);
		exec_poll(e);
		break;
	case EX_ENDED:
	case EX_BACKGROUND:
		output_discard(e, i);
		break;
	default:
		break;
	}
}

/* Those whose turn was over before their pipe was empty. */
void
exec_again(void)
{
	struct exec	*e, *next;

	g.again = 0;
	for (e = TAILQ_FIRST(&g.execs); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (!e->again)
			continue;
		e->again = 0;
		exec_stream(e, 0);
		if (e->state != EX_FREE)
			exec_stream(e, 1);
	}
}
