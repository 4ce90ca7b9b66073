/*
 * The workers of calls: made, given a call, left to themselves, reaped.  One
 * that is ready waits for the next call; what a call has left behind is its
 * own, and goes with it.
 */

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "call_int.h"
#include "guest.h"

#define WORKER_IDLE	4		/* that wait for the next call */
#define WORKER_SHARE	16		/* at most so much of all processes */
#define WORKER_TIME	(10 * NSEC)	/* and no longer than this */
#define WORKER_GRACE	(NSEC / 2)	/* to clean up after a cancel */
#define LEAVING		64

/* Workers that were given up: they clean up, or are killed. */
static struct leaving {
	pid_t		 pid;
	uint64_t	 at;
} leaving[LEAVING];
static int		 nleaving;

void
call_release(struct call *c)
{
	if (c->pipe != -1)
		pour_close(c->pipe);
	c->pipe = -1;
	ring_put(c->ring, c->end <= 4096);
	c->ring = NULL;
	c->k = 0;
	c->idle = g.now;
}

/* The worker is on its own: with its socket it has lost its call. */
void
call_leave(struct call *c)
{
	close(c->ctl);
	if (c->dead)
		;
	else if (nleaving < LEAVING) {
		leaving[nleaving].pid = c->pid;
		leaving[nleaving++].at = g.now + WORKER_GRACE;
	} else
		kill(c->pid, SIGKILL);
	call_release(c);
	c->pid = 0;
}

static __attribute__((__noreturn__)) void
worker_child(int ctl)
{
	if (dup2(ctl, WORK_FD) == -1)
		_exit(1);
	close_from(WORK_FD + 1);
	prctl(PR_SET_NAME, "guest-worker", 0, 0, 0);
	confine_undo();
	worker_main();
}

/* A worker in a free place, or NULL with errno. */
static struct call *
worker_new(void)
{
	struct call	*c = NULL;
	int		 ctl[2], i, error;

	for (i = 0; i < WORKERS && c == NULL; i++)
		if (calls[i].pid == 0)
			c = &calls[i];
	if (c == NULL) {
		errno = EAGAIN;
		return (NULL);
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ctl) == -1)
		return (NULL);
	if (watch_fd(ctl[0], SRC_CALL, c - calls, 1) == -1 ||
	    (c->pid = fork_expendable()) == -1) {
		error = errno;
		c->pid = 0;
		close(ctl[0]);
		close(ctl[1]);
		errno = error;
		return (NULL);
	}
	if (c->pid == 0)
		worker_child(ctl[1]);
	close(ctl[1]);
	c->ctl = ctl[0];
	c->pipe = -1;
	c->readable = c->dead = c->blocked = 0;
	return (c);
}

/* One that waits, or a fresh one. */
static struct call *
worker_get(int *fresh)
{
	int	 i;

	*fresh = 0;
	for (i = 0; i < WORKERS; i++)
		if (calls[i].pid != 0 && calls[i].k == 0)
			return (&calls[i]);
	*fresh = 1;
	return (worker_new());
}

/* Those that change no file. */
static int
op_reads(uint32_t op)
{
	static const uint32_t	 ops[] = {
		CALL_STAT, CALL_READ, CALL_LIST, CALL_USAGE, CALL_GLOB,
		CALL_GREP, CALL_LINES, CALL_WATCH, CALL_TREE_GET, CALL_MARK,
		CALL_DIFF, CALL_UNMARK, CALL_CONNECT, CALL_CHANGES,
		CALL_CHANGED
	};
	size_t			 i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i] == op)
			return (1);
	return (0);
}

static void
call_set(struct call *c, uint64_t k, const struct gp_call *m)
{
	c->k = k;
	c->sent = c->acked = c->base = c->end = c->told = 0;
	c->total = UINT64_MAX;
	c->in_over = c->out_over = 0;
	c->net = m->op == CALL_CONNECT;
	c->mark[0] = '\0';
	if ((c->writes = !op_reads(m->op)))
		changed_meet(NULL);
}

/*
 * A worker that has the call, or NULL.  One that waited may have died, or not
 * have read yet what came of the input of a call that failed: another one has
 * nothing to do with that.
 */
struct call *
call_give(uint64_t k, const struct gp_call *m, const uint8_t *buf, size_t len,
    int fd)
{
	struct call	*c;
	int		 fresh;

	do {
		if ((c = worker_get(&fresh)) == NULL)
			return (NULL);
		call_set(c, k, m);
		if (packet_put(c->ctl, buf, len, fd, MSG_DONTWAIT) ==
		    (ssize_t)len)
			return (c);
		call_leave(c);
	} while (!fresh);
	return (NULL);
}

int
call_is_worker(pid_t pid)
{
	int	 i;

	for (i = 0; i < WORKERS; i++)
		if (calls[i].pid == pid)
			return (1);
	for (i = 0; i < nleaving; i++)
		if (leaving[i].pid == pid)
			return (1);
	return (0);
}

/* A status of wait(2): 1 if it was about a worker. */
int
call_child(pid_t pid, int status)
{
	int	 i;

	if (pid <= 0 || !call_is_worker(pid))
		return (0);
	if (WIFSTOPPED(status)) {
		kill(pid, SIGCONT);
		return (1);
	}
	for (i = 0; i < nleaving; i++)
		if (leaving[i].pid == pid) {
			leaving[i] = leaving[--nleaving];
			return (1);
		}
	/* What it has said before it died is still in its socket. */
	for (i = 0; i < WORKERS; i++)
		if (calls[i].pid == pid) {
			if (calls[i].k != 0) {
				calls[i].readable = calls[i].dead = 1;
				if (calls[i].k & CALL_OWN)
					call_own_event(&calls[i]);
				return (1);
			}
			close(calls[i].ctl);
			calls[i].pid = 0;
		}
	return (1);
}

/* Who has waited for long takes room among the sandbox's processes. */
static uint64_t
idle_timer(void)
{
	uint64_t	 at = 0, due;
	int		 i, n = 0, most = g.idle_max * 32 / WORKER_SHARE;

	if (most > WORKER_IDLE)
		most = WORKER_IDLE;
	for (i = 0; i < WORKERS; i++) {
		if (calls[i].pid == 0 || calls[i].k != 0)
			continue;
		due = calls[i].idle + WORKER_TIME;
		if (n++ >= most || g.stopping || due <= g.now)
			call_leave(&calls[i]);
		else if (at == 0 || due < at)
			at = due;
	}
	return (at);
}

/* Does what is due; when the next is, 0 for never. */
uint64_t
call_timer(void)
{
	uint64_t	 at = idle_timer();
	int		 i;

	for (i = 0; i < nleaving; i++) {
		if (leaving[i].at == 0)
			continue;
		if (leaving[i].at <= g.now) {
			kill(leaving[i].pid, SIGKILL);
			leaving[i].at = 0;
		} else if (at == 0 || leaving[i].at < at)
			at = leaving[i].at;
	}
	return (at);
}
