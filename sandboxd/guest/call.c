/*
 * Calls, as PID 1 sees them: the way of their frames.  Output goes from a
 * worker's socket into the buffer of the link without a stop between: what
 * neither the runner's credit nor that buffer has room for stays in the
 * socket, and the worker waits.
 */

#include <sys/epoll.h>
#include <sys/socket.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "call_int.h"
#include "guest.h"

#define TELL		(GP_WINDOW / 4)	/* taken input worth a frame */

/* An end that no worker has told. */
struct call_over {
	uint64_t	 k;
	enum code	 code;
	uint64_t	 out;
	const char	*text;
};

struct call		 calls[WORKERS];
static struct call_over	 overs[2 * WORKERS];
static int		 novers;

struct call *
call_find(uint64_t k)
{
	int	 i;

	for (i = 0; i < WORKERS; i++)
		if (calls[i].pid != 0 && calls[i].k == k)
			return (&calls[i]);
	return (NULL);
}

/* There is always room: the runner has no more calls than this. */
void
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

int
call_writes(void)
{
	int	 i;

	for (i = 0; i < WORKERS; i++)
		if (calls[i].pid != 0 && calls[i].k != 0 && calls[i].writes)
			return (1);
	return (0);
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
		call_own_event(c);
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
int
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
