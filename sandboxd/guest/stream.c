/*
 * A command's streams: pipes whose other ends are here, watched edge by edge,
 * and rings that keep bytes until somebody has taken them over for good.
 */

#include <sys/mman.h>
#include <sys/uio.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define POOL		8	/* rings kept for the next command */
#define KEEP		4096	/* of a ring: what is worth keeping */

static uint8_t	*pool[POOL];
static int	 npool;

/* NULL: no memory just now. */
uint8_t *
ring_get(void)
{
	uint8_t	*p;

	if (npool > 0)
		return (pool[--npool]);
	p = mmap(NULL, GP_WINDOW, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return (NULL);
	/* What one command said is nothing to the next one's reaper. */
	madvise(p, GP_WINDOW, MADV_DONTFORK);
	return (p);
}

void
ring_put(uint8_t *p, int small)
{
	if (p == NULL)
		return;
	if (npool == POOL) {
		munmap(p, GP_WINDOW);
		return;
	}
	if (!small)
		madvise(p, GP_WINDOW, MADV_DONTNEED);
	pool[npool++] = p;
}

/* The free part of a ring that holds base to end, as one or two pieces. */
static int
ring_room(uint8_t *buf, uint64_t base, uint64_t end, struct iovec *iov)
{
	size_t	 room = GP_WINDOW - (end - base), pos = end % GP_WINDOW, n;

	if (room == 0)
		return (0);
	n = GP_WINDOW - pos < room ? GP_WINDOW - pos : room;
	iov[0].iov_base = buf + pos;
	iov[0].iov_len = n;
	if (n == room)
		return (1);
	iov[1].iov_base = buf;
	iov[1].iov_len = room - n;
	return (2);
}

/*
 * Reads what the pipe has and the ring takes.  1: the pipe is empty, or at
 * its end; 0: there may be more.
 */
int
output_read(struct exec *e, int i)
{
	struct output	*o = &e->out[i];
	struct iovec	 iov[2];
	ssize_t		 n;
	size_t		 turn = 0;
	int		 cnt;

	while (o->fd != -1) {
		if (o->end - o->base == GP_WINDOW)
			return (0);	/* the next ACK goes on here */
		if (turn >= READ_TURN ||
		    (o->buf == NULL && (o->buf = ring_get()) == NULL)) {
			e->again = g.again = 1;
			return (0);
		}
		cnt = ring_room(o->buf, o->base, o->end, iov);
		n = readv(o->fd, iov, cnt);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			break;
		if (n <= 0) {
			output_close(e, i);
			break;
		}
		o->end += n;
		turn += n;
		exec_dirty(e, 0);
	}
	return (1);
}

/* The exec's lengths are final: what comes now is counted, no more. */
void
output_discard(struct exec *e, int i)
{
	static char	 waste[65536];
	struct output	*o = &e->out[i];
	ssize_t		 n;
	size_t		 turn = 0;

	while (o->fd != -1) {
		if (turn >= READ_TURN) {
			e->again = g.again = 1;
			return;
		}
		n = read(o->fd, waste, sizeof(waste));
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return;
		if (n <= 0) {
			output_close(e, i);
			return;
		}
		o->discarded += n;
		turn += n;
	}
}

void
output_close(struct exec *e, int i)
{
	if (e->out[i].fd != -1)
		close(e->out[i].fd);
	e->out[i].fd = -1;
}

/* The bytes are kept elsewhere now, or nobody will ever ask for them. */
void
output_release(struct exec *e, int i)
{
	struct output	*o = &e->out[i];

	ring_put(o->buf, o->end <= KEEP);
	o->buf = NULL;
}

/* off lies between base and end: the caller has looked. */
void
output_ack(struct exec *e, int i, uint64_t off)
{
	struct output	*o = &e->out[i];
	int		 full = o->end - o->base == GP_WINDOW;

	o->base = off;
	if (o->sent < off)
		o->sent = off;
	if (o->base == o->end && (o->fd == -1 || e->state == EX_ENDED))
		output_release(e, i);
	if (full && e->state != EX_ENDED)
		output_read(e, i);
}

/* -1: the runner does not keep to the window. */
int
input_take(struct exec *e, const struct gp_input *m)
{
	struct input	*in = &e->in;
	const uint8_t	*data = m->data;
	size_t		 len = m->len, pos, n;

	if (m->off > in->end)
		return (-1);
	if (in->end - m->off >= len)
		return (0);		/* all of it sent before */
	data += in->end - m->off;
	len -= in->end - m->off;
	if (len > GP_WINDOW - (in->end - in->base) || len > in->total - in->end)
		return (-1);
	if (in->closed) {
		in->base = in->end += len;
		exec_dirty(e, P_INPUT_ACK);
		return (0);
	}
	if (in->buf == NULL && (in->buf = ring_get()) == NULL)
		return (-1);		/* comes again after a new HELLO */
	pos = in->end % GP_WINDOW;
	n = GP_WINDOW - pos < len ? GP_WINDOW - pos : len;
	memcpy(in->buf + pos, data, n);
	memcpy(in->buf, data + n, len - n);
	in->end += len;
	input_write(e);
	return (0);
}

int
input_end(struct exec *e, uint64_t total)
{
	struct input	*in = &e->in;

	if (total < in->end || (in->total != UINT64_MAX && in->total != total))
		return (-1);
	in->total = total;
	input_write(e);
	return (0);
}

/* The end of input, the command's or its reader's. */
void
input_close(struct exec *e)
{
	struct input	*in = &e->in;

	if (in->fd != -1)
		close(in->fd);
	in->fd = -1;
	in->closed = 1;
	in->base = in->end;
	ring_put(in->buf, in->end <= KEEP);
	in->buf = NULL;
}

void
input_write(struct exec *e)
{
	struct input	*in = &e->in;
	struct iovec	 iov[2];
	size_t		 pos, len, n;
	ssize_t		 w;

	/* Until it runs its reaper may have to be replaced, pipes and all. */
	if (e->state != EX_RUNNING)
		return;
	while (in->fd != -1 && in->base < in->end) {
		pos = in->base % GP_WINDOW;
		len = in->end - in->base;
		n = GP_WINDOW - pos < len ? GP_WINDOW - pos : len;
		iov[0].iov_base = in->buf + pos;
		iov[0].iov_len = n;
		iov[1].iov_base = in->buf;
		iov[1].iov_len = len - n;
		w = writev(in->fd, iov, len == n ? 1 : 2);
		if (w == -1 && errno == EINTR)
			continue;
		if (w == -1 && errno == EAGAIN)
			return;
		exec_dirty(e, P_INPUT_ACK);
		if (w == -1) {
			input_close(e);
			return;
		}
		if (e->tty != -1)
			in->last = in->buf[(in->base + w - 1) % GP_WINDOW];
		in->base += w;
	}
	if (in->fd == -1 || in->end != in->total)
		return;
	if (e->tty != -1)
		tty_input_end(e);
	else
		input_close(e);
}
