/*
 * Calls, as PID 1 sees them: which worker has which, and the way of their
 * frames.  Output goes from a worker's socket into the buffer of the link
 * without a stop between: what neither the runner's credit nor that buffer
 * has room for stays in the socket, and the worker waits.
 */

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "guest.h"

#define WORKERS		CALLS_MAX_BOX
#define WORKER_IDLE	4		/* that wait for the next call */
#define WORKER_SHARE	16		/* at most so much of all processes */
#define WORKER_TIME	(10 * NSEC)	/* and no longer than this */
#define WORKER_GRACE	(NSEC / 2)	/* to clean up after a cancel */
#define LEAVING		64
#define TELL		(GP_WINDOW / 4)	/* taken input worth a frame */

/* A worker, and the call that it has. */
struct call {
	uint64_t	 k;		/* 0: it has none */
	pid_t		 pid;		/* 0: this place is free */
	int		 ctl;
	int		 dead;		/* and reaped */
	int		 readable;	/* there may be a packet */
	int		 blocked;	/* it takes no packet just now */
	uint64_t	 idle;		/* since then */
	uint64_t	 sent;		/* output, on its way to the runner */
	uint64_t	 acked;
	int		 net;		/* it is a connection */
	int		 writes;	/* files may change by it */
	int		 out_over;	/* there is no more of it */
	int		 pipe;		/* where it lies that is poured, or -1 */
	/* Input: from base to end it is kept until the worker takes it. */
	uint8_t		*ring;
	uint64_t	 base;
	uint64_t	 end;
	uint64_t	 told;
	uint64_t	 total;		/* of INPUT_END, or UINT64_MAX */
	char		 mark[MARK_NAME_MAX + 1]; /* that it makes, or "" */
	int		 in_over;	/* and that was passed on */
};

/* An end that no worker has told. */
struct call_over {
	uint64_t	 k;
	enum code	 code;
	uint64_t	 out;
	const char	*text;
};

static struct call	 calls[WORKERS];
static struct call_over	 overs[2 * WORKERS];
static int		 novers;
/* Workers that were given up: they clean up, or are killed. */
static struct leaving {
	pid_t		 pid;
	uint64_t	 at;
} leaving[LEAVING];
static int		 nleaving;

static void	 call_feed(struct call *);
static void	 own_event(struct call *);

static struct call *
call_find(uint64_t k)
{
	int	 i;

	for (i = 0; i < WORKERS; i++)
		if (calls[i].pid != 0 && calls[i].k == k)
			return (&calls[i]);
	return (NULL);
}

/* There is always room: the runner has no more calls than this. */
static void
call_over(uint64_t k, enum code code, uint64_t out, const char *text)
{
	struct call_over	*o;

	if (k & CALL_OWN) {
		changed_end(k & ~(CALL_OWN | GP_CALL_BIT), code, text, -1);
		return;
	}
	if (novers == 2 * WORKERS)
		return;
	o = &overs[novers++];
	o->k = k;
	o->code = code;
	o->out = out;
	o->text = text;
}

static void
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
static void
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

/* Forgets all: the runner that asked is gone. */
void
call_down(void)
{
	int	 i;

	novers = 0;
	for (i = 0; i < WORKERS; i++)
		if (calls[i].pid != 0 && calls[i].k != 0 &&
		    !(calls[i].k & CALL_OWN))
			call_leave(&calls[i]);
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

/* It does not know the mark, or there is none that it could make. */
static int
call_mark(uint64_t k, const struct gp_call *m)
{
	if (m->op == CALL_MARK && (*m->pattern == '\0' ||
	    strlen(m->pattern) > MARK_NAME_MAX))
		call_over(k, CODE_INVALID_ARGUMENT, 0,
		    "the name of a mark has 1 to 63 bytes");
	else if (m->op == CALL_MARK && !mark_room(m->pattern))
		call_over(k, CODE_LIMIT_EXCEEDED, 0,
		    "there are 8 marks already");
	else if (m->op == CALL_UNMARK && mark_drop(m->pattern) == 0)
		call_over(k, CODE_OK, 0, "");
	else if (m->op == CALL_UNMARK)
		call_over(k, CODE_NOT_FOUND, 0, "no such mark");
	else
		return (0);
	return (1);
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

int
call_writes(void)
{
	int	 i;

	for (i = 0; i < WORKERS; i++)
		if (calls[i].pid != 0 && calls[i].k != 0 && calls[i].writes)
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
static struct call *
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

/* A frame of the runner's: CALL. */
int
call_start(const struct gp_frame *f)
{
	struct gp_call	 m;
	struct call	*c;

	if (gp_decode_call(&m, f) == -1 || f->k & CALL_OWN ||
	    call_find(f->k) != NULL)
		return (-1);
	if (g.stopping) {
		call_over(f->k, CODE_UNAVAILABLE, 0, "it is being stopped");
		return (0);
	}
	if (call_mark(f->k, &m))
		return (0);
	/* A frame is a packet, as it came. */
	c = call_give(f->k, &m, f->data - GP_HDRLEN, f->total, m.op ==
	    CALL_DIFF || m.op == CALL_CHANGES ? mark_fd(m.pattern) : -1);
	if (c == NULL)
		call_over(f->k, CODE_LIMIT_EXCEEDED, 0,
		    "no process can be made for it");
	else if (m.op == CALL_MARK)
		memcpy(c->mark, m.pattern, strlen(m.pattern) + 1);
	return (0);
}

/* The end of one that no worker has ended. */
static void
call_abort(struct call *c, enum code code, const char *text)
{
	uint64_t	 k = c->k, sent = c->sent;

	/* Whoever hears of one of ours may make another. */
	call_leave(c);
	call_over(k, code, sent, text);
}

/* 1: the packet has left; 0: not now; -1: nobody would tell when. */
static int
call_packet(struct call *c, const uint8_t *buf, size_t len)
{
	ssize_t	 n;

	do {
		n = send(c->ctl, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n == -1 && errno == EINTR);
	if (n == (ssize_t)len)
		return (1);
	if (n == -1 && errno == EAGAIN) {
		if (!c->blocked)
			watch_more(c->ctl, SRC_CALL, c - calls, 1);
		c->blocked = 1;
		return (0);
	}
	/* One that has died shows by the end of its socket. */
	return (n == -1 && (errno == EPIPE || errno == ECONNRESET) ? 0 : -1);
}

/* The kernel has no memory for a packet, or PID 1 none for the rest. */
static void
call_no_memory(struct call *c)
{
	call_abort(c, CODE_LIMIT_EXCEEDED, "no memory for its input");
}

/* STOP: what is under way ends, with a word to who waits for it. */
void
call_stop(void)
{
	int	 i;

	for (i = 0; i < WORKERS; i++)
		if (calls[i].pid != 0 && calls[i].k != 0)
			call_abort(&calls[i], CODE_UNAVAILABLE,
			    "it is being stopped");
}

/* Passes on input that is kept, and its end. */
static void
call_feed(struct call *c)
{
	static uint8_t		 buf[GP_HDRLEN + 8 + GP_MAX_DATA];
	struct gp_input		 m;
	struct gp_input_end	 e;
	size_t			 pos;
	ssize_t			 n;
	int			 left = 1;

	while (c->base < c->end) {
		pos = c->base % GP_WINDOW;
		m.off = c->base;
		m.data = c->ring + pos;
		m.len = c->end - c->base;
		if (m.len > GP_MAX_DATA)
			m.len = GP_MAX_DATA;
		if (m.len > GP_WINDOW - pos)
			m.len = GP_WINDOW - pos;
		n = gp_encode_input(buf, sizeof(buf), c->k, &m);
		if (n == -1 || (left = call_packet(c, buf, n)) != 1)
			break;
		c->base += m.len;
	}
	if (c->base == c->total && !c->in_over) {
		e.total = c->total;
		n = gp_encode_input_end(buf, sizeof(buf), c->k, &e);
		if (n != -1 && (left = call_packet(c, buf, n)) == 1)
			c->in_over = 1;
	}
	if (left == -1)
		call_no_memory(c);
}

int
call_input(const struct gp_frame *f)
{
	struct gp_input	 m;
	struct call	*c;
	size_t		 pos, n;
	int		 left = 0;

	if (gp_decode_input(&m, f) == -1)
		return (-1);
	if ((c = call_find(f->k)) == NULL)
		return (0);
	if (m.off != c->end || m.len > GP_WINDOW - (c->end - c->base) ||
	    m.len > c->total - c->end)
		return (-1);
	/* Usually it takes it at once. */
	if (c->base == c->end && !c->blocked)
		left = call_packet(c, f->data - GP_HDRLEN, f->total);
	if (left == 1) {
		c->base = c->end += m.len;
		return (0);
	}
	if (left == -1 || (c->ring == NULL &&
	    (c->ring = ring_get()) == NULL)) {
		call_no_memory(c);
		return (0);
	}
	pos = c->end % GP_WINDOW;
	n = GP_WINDOW - pos < m.len ? GP_WINDOW - pos : m.len;
	memcpy(c->ring + pos, m.data, n);
	memcpy(c->ring, m.data + n, m.len - n);
	c->end += m.len;
	return (0);
}

int
call_input_end(const struct gp_frame *f)
{
	struct gp_input_end	 m;
	struct call		*c;

	if (gp_decode_input_end(&m, f) == -1)
		return (-1);
	if ((c = call_find(f->k)) == NULL)
		return (0);
	if (c->total != UINT64_MAX || m.total != c->end)
		return (-1);
	c->total = m.total;
	if (!c->blocked)
		call_feed(c);
	return (0);
}

int
call_ack(const struct gp_frame *f)
{
	struct gp_ack	 m;
	struct call	*c;

	if (gp_decode_ack(&m, f) == -1)
		return (-1);
	if ((c = call_find(f->k)) == NULL)
		return (0);
	if (m.off > c->sent)
		return (-1);
	if (m.off > c->acked)
		c->acked = m.off;
	return (0);
}

int
call_cancel(const struct gp_frame *f)
{
	struct gp_cancel	 m;
	struct call		*c;

	if (gp_decode_cancel(&m, f) == -1)
		return (-1);
	if ((c = call_find(f->k)) != NULL)
		call_abort(c, CODE_CANCELLED, "cancelled");
	return (0);
}

/* Its socket has something, or takes something again. */
void
call_event(uint32_t slot, uint32_t events)
{
	struct call	*c = &calls[slot % WORKERS];

	if (c->pid == 0)
		return;
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		c->readable = 1;
	if (events & EPOLLOUT && c->blocked) {
		watch_more(c->ctl, SRC_CALL, c - calls, 0);
		c->blocked = 0;
		if (c->k != 0)
			call_feed(c);
	}
	if (c->k & CALL_OWN)
		own_event(c);
}

/* Output whose head alone it is: the pipe comes with the first of a call. */
static int
call_poured(struct call *c, const uint8_t *buf, size_t len, int *fd)
{
	struct gp_output	 m;
	struct gp_frame		 f;

	if (gp_decode_output_head(&m, &f, buf, len) == -1 || f.k != c->k ||
	    m.stream != GP_STDOUT || m.off != c->sent || c->out_over ||
	    (*fd != -1) != (c->pipe == -1))
		return (0);
	if (*fd != -1)
		c->pipe = *fd;
	*fd = -1;
	if (pour_begin(c->pipe, m.len) == -1)
		return (0);
	c->sent += m.len;
	return (1);
}

/* A worker's packet: 1 if it is one that it may send now. */
static int
call_check(struct call *c, const uint8_t *buf, size_t len, int *over)
{
	struct gp_output_end	 oe;
	struct gp_call_end	 e;
	struct gp_output	 m;
	struct gp_frame		 f;

	if (gp_get(&f, buf, len, GP_GUEST) != 1 || f.total != len ||
	    f.k != c->k)
		return (0);
	if (f.type == GP_OUTPUT && gp_decode_output(&m, &f) == 0 &&
	    m.stream == GP_STDOUT && m.off == c->sent && !c->out_over) {
		c->sent += m.len;
		return (1);
	}
	if (f.type == GP_OUTPUT_END && c->net && !c->out_over &&
	    gp_decode_output_end(&oe, &f) == 0 && oe.total == c->sent) {
		c->out_over = 1;
		return (1);
	}
	*over = 1;
	return (f.type == GP_CALL_END && gp_decode_call_end(&e, &f) == 0 &&
	    e.out == c->sent);
}

/* What came with a packet of it: the mark that it was to make, or nothing. */
static int
call_marked(struct call *c, int over, int fd)
{
	if (fd == -1)
		return (1);
	if (over && c->mark[0] != '\0')
		return (mark_keep(c->mark, fd) == 0);
	close(fd);
	return (0);
}

/* The next packet of c into buf: its length, 0 none for now. */
static ssize_t
call_take(struct call *c, uint8_t *buf, size_t size)
{
	ssize_t	 n;
	int	 over = 0, bad = 0, fd;

	if (c->sent - c->acked > GP_WINDOW - GP_MAX_DATA)
		return (0);
	n = packet_get(c->ctl, buf, size, &fd, MSG_DONTWAIT);
	if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
		c->readable = errno == EINTR;
		return (0);
	}
	if (n <= 0) {
		if (c->k != 0)
			call_over(c->k, CODE_UNAVAILABLE, c->sent,
			    "its process was killed");
		call_leave(c);
		return (0);
	}
	/* Late words about one that was given up would be from another. */
	if (c->k == 0 || (!call_poured(c, buf, n, &fd) &&
	    !call_check(c, buf, n, &over)))
		bad = 1;
	if (!call_marked(c, over && !bad, fd) || bad) {
		if (c->k != 0)
			call_over(c->k, CODE_IO_ERROR, c->sent,
			    "its process failed");
		call_leave(c);
		return (0);
	}
	if (over)
		call_release(c);
	return (n);
}

/* A call of our own, about an exec, with the mark that it needs. */
int
call_own(uint64_t exec, const struct gp_call *m, int fd)
{
	static uint8_t	 buf[GP_HDRLEN + GP_MAX_CALL];
	uint64_t	 k = exec | CALL_OWN | GP_CALL_BIT;
	ssize_t		 n;

	n = gp_encode_call(buf, sizeof(buf), k, m);
	return (n == -1 || call_give(k, m, buf, n, fd) == NULL ? -1 : 0);
}

/* Nobody waits for it any more. */
void
call_own_drop(uint64_t exec)
{
	struct call	*c = call_find(exec | CALL_OWN | GP_CALL_BIT);

	if (c != NULL)
		call_leave(c);
}

/* A packet of one of ours.  1: there may be more; 0: it is over. */
static int
own_packet(struct call *c, const uint8_t *buf, size_t n, int fd)
{
	struct gp_call_end	 e;
	struct gp_output	 m;
	struct gp_frame		 f;
	uint64_t		 k = c->k & ~(CALL_OWN | GP_CALL_BIT);
	int			 over = 0;

	if (call_check(c, buf, n, &over) && gp_get(&f, buf, n,
	    GP_GUEST) == 1) {
		if (!over && fd == -1 && gp_decode_output(&m, &f) == 0 &&
		    changed_take(k, m.data, m.len) == 0)
			return (1);
		if (over && gp_decode_call_end(&e, &f) == 0) {
			call_release(c);
			changed_end(k, e.code, e.text, fd);
			return (0);
		}
	}
	if (fd != -1)
		close(fd);
	call_leave(c);
	changed_end(k, CODE_IO_ERROR, "its process failed", -1);
	return (0);
}

/* No runner is needed for them, so they wait for none. */
static void
own_event(struct call *c)
{
	static uint8_t	 buf[GP_MAX_FROM_GUEST];
	uint64_t	 k = c->k & ~(CALL_OWN | GP_CALL_BIT);
	ssize_t		 n;
	int		 fd;

	do {
		n = packet_get(c->ctl, buf, sizeof(buf), &fd, MSG_DONTWAIT);
		if (n == -1 && errno == EAGAIN)
			return;
		if (n == 0 || (n == -1 && errno != EINTR)) {
			call_leave(c);
			changed_end(k, CODE_IO_ERROR, "its process was killed",
			    -1);
			return;
		}
	} while (n == -1 || own_packet(c, buf, n, fd));
}

static ssize_t
call_put_over(uint8_t *buf, size_t size)
{
	struct gp_call_end	 m;
	struct call_over	*o = &overs[0];
	ssize_t			 n;

	memset(&m, 0, sizeof(m));
	m.code = o->code;
	m.out = o->out;
	m.text = o->text;
	n = gp_encode_call_end(buf, size, o->k, &m);
	memmove(overs, overs + 1, --novers * sizeof(overs[0]));
	return (n);
}

static ssize_t
call_put_ack(struct call *c, uint8_t *buf, size_t size)
{
	struct gp_input_ack	 m;

	c->told = c->base;
	m.flags = 0;
	m.off = c->base;
	return (gp_encode_input_ack(buf, size, c->k, &m));
}

/*
 * One frame of the calls into buf, which has room for any; 0 if there is none.
 * They take turns.
 */
ssize_t
call_fill(uint8_t *buf, size_t size)
{
	static int	 turn;
	struct call	*c;
	ssize_t		 n;
	int		 i;

	for (i = 0; i < WORKERS; i++) {
		turn = (turn + 1) % WORKERS;
		c = &calls[turn];
		if (c->pid == 0 || c->k & CALL_OWN)
			continue;
		if (c->k != 0 && c->base - c->told >= TELL)
			return (call_put_ack(c, buf, size));
		if (c->readable && (n = call_take(c, buf, size)) > 0)
			return (n);
	}
	return (novers > 0 ? call_put_over(buf, size) : 0);
}

int
call_busy(void)
{
	int	 i;

	for (i = 0; i < WORKERS; i++)
		if (calls[i].pid != 0 && calls[i].k != 0)
			return (1);
	return (novers > 0);
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
					own_event(&calls[i]);
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
