/*
 * The bytes of calls: output goes from the guest into a pipe that we made, as
 * far as that takes it, and input from another one to the guest.  Either way
 * the guest's window bounds what is kept here.
 */

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "log.h"
#include "runner.h"

#define PASS_MANY	(32 * 1024)	/* at once: more will come */
#define PASS_PIPES	512		/* of all calls */
#define ACK_STEP	(GP_WINDOW / 4)

static int	 npipes;

static void
close_out(struct call *c)
{
	if (c->wfd == -1)
		return;
	event_del(&c->wev);
	close(c->wfd);
	c->wfd = -1;
	npipes--;
	pipe_grown(c->wlarge);
	c->wlarge = 0;
}

static void
close_in(struct call *c)
{
	if (c->rfd == -1)
		return;
	event_del(&c->rev);
	close(c->rfd);
	c->rfd = -1;
	npipes--;
	pipe_grown(c->rlarge);
	c->rlarge = 0;
}

void
pass_close(struct call *c)
{
	close_out(c);
	close_in(c);
}

/* A pipe: our end in fds[0], the client's, which blocks, in fds[1]. */
static int
pass_pipe(int *fds, int ours)
{
	int	 p[2];

	if (npipes >= PASS_PIPES || pipe2(p, O_CLOEXEC | O_NONBLOCK) == -1)
		return (-1);
	fds[0] = p[ours];
	fds[1] = p[!ours];
	if (fcntl(fds[1], F_SETFL, 0) == -1) {
		close(p[0]);
		close(p[1]);
		return (-1);
	}
	npipes++;
	return (0);
}

static void
pass_give(struct call *c, uint32_t stream, int fd)
{
	struct proto_stream	 m;

	memset(&m, 0, sizeof(m));
	m.stream = stream;
	fault("runner.pass.before");
	pipe_send(&ch_frontend, PROTO_STREAM, 0, c->session, c->req, fd, &m);
	fault("runner.pass.after");
}

/* The guest may send as much as has left us. */
static void
pass_ack(struct call *c)
{
	struct guest	*g;
	struct gp_ack	 m;

	if (c->ended || c->put - c->acked < ACK_STEP ||
	    (g = guest_welcome(c->box)) == NULL)
		return;
	c->acked = c->put;
	m.stream = GP_STDOUT;
	m.off = c->put;
	guest_wrote(g, gp_encode_ack(guest_room(g, 64), 64, c->k, &m));
	fault("runner.credit.after");
}

/* 1: the pipe took n bytes; 0: it is full; -1: nobody reads it. */
static int
pass_write(struct call *c, const uint8_t *p, size_t len, size_t *n)
{
	ssize_t	 w;

	*n = 0;
	w = write(c->wfd, p, len);
	if (w > 0) {
		*n = w;
		c->put += w;
		return (1);
	}
	if (w == -1 && (errno == EAGAIN || errno == EINTR)) {
		if (!c->wlarge)
			c->wlarge = pipe_grow(c->wfd);
		event_add(&c->wev, NULL);
		return (0);
	}
	return (-1);
}

/* The pipe has all that there is of it, and only input goes on. */
static void
pass_out_end(struct call *c)
{
	struct proto_output_end	 m;

	if (!c->out_over || c->out_told || c->told || c->put < c->got)
		return;
	c->out_told = 1;
	close_out(c);
	memset(&m, 0, sizeof(m));
	m.stream = GP_STDOUT;
	m.offset = c->put;
	pipe_send(&ch_frontend, PROTO_OUTPUT_END, 0, c->session, c->req, -1,
	    &m);
}

static void
pass_writable(int fd, short event, void *arg)
{
	struct call	*c = arg;
	size_t		 n;
	int		 ret = 1;

	(void)fd;
	(void)event;
	while (ret == 1 && c->put < c->got) {
		ret = pass_write(c, c->buf + c->head, c->got - c->put, &n);
		c->head += n;
	}
	if (ret == -1) {
		call_give_up(c, CODE_CANCELLED, "its output is not read");
		return;
	}
	if (c->put == c->got) {
		free(c->buf);
		c->buf = NULL;
		c->head = 0;
	}
	pass_ack(c);
	pass_out_end(c);
	call_try_end(c);
}

static void
pass_keep(struct call *c, const uint8_t *p, size_t len)
{
	size_t	 have = c->got - c->put;

	if (len == 0)
		return;
	if (c->buf == NULL && (c->buf = malloc(GP_WINDOW)) == NULL)
		fatal("%s", __func__);
	if (c->head + have + len > GP_WINDOW) {
		memmove(c->buf, c->buf + c->head, have);
		c->head = 0;
	}
	memcpy(c->buf + c->head + have, p, len);
}

static int
pass_open_out(struct call *c)
{
	int	 fds[2];

	if (pass_pipe(fds, 1) == -1)
		return (-1);
	c->wfd = fds[0];
	event_set(&c->wev, c->wfd, EV_WRITE, pass_writable, c);
	pass_give(c, GP_STDOUT, fds[1]);
	return (0);
}

/* The call that such a frame is about; NULL if it must not have come. */
struct call *
pass_output_of(struct guest *g, const struct gp_frame *f,
    const struct gp_output *m)
{
	struct call	*c;

	if (m->stream != GP_STDOUT)
		return (NULL);
	if ((c = call_find(g->box, f->k)) == NULL || c->ended ||
	    !(c->kind & CALL_OUT) || c->out_over || m->off != c->got) {
		g->why = "output of a call that has none there";
		return (NULL);
	}
	if (m->len > GP_WINDOW - (c->got - c->acked)) {
		g->why = "output of a call beyond its window";
		return (NULL);
	}
	return (c);
}

/* Data of such a frame, or a part of it. */
void
pass_output(struct call *c, const uint8_t *p, size_t len)
{
	size_t	 n = 0;

	/* Nobody wants it any more. */
	if (c->told) {
		c->put = c->got += len;
		pass_ack(c);
		return;
	}
	if (len == 0)
		return;
	if (c->wfd == -1 && pass_open_out(c) == -1) {
		c->put = c->got += len;
		call_give_up(c, CODE_UNAVAILABLE,
		    "output: no more descriptors");
		return;
	}
	if (c->put == c->got && pass_write(c, p, len, &n) == -1) {
		c->put = c->got += len;
		call_give_up(c, CODE_CANCELLED, "its output is not read");
		return;
	}
	if (n > 0) {
		c->got += n;
		if (n < len)
			event_add(&c->wev, NULL);
	}
	pass_keep(c, p + n, len - n);
	c->got += len - n;
	pass_ack(c);
}

/* May more of it go into the pipe, past us?  Then there is one. */
int
pass_is_open(struct call *c)
{
	if (c->told || c->put != c->got ||
	    (c->wfd == -1 && pass_open_out(c) == -1))
		return (0);
	if (!c->wlarge)
		c->wlarge = pipe_grow(c->wfd);
	return (1);
}

/* So much of it did. */
void
pass_poured(struct call *c, size_t len)
{
	c->put = c->got += len;
	pass_ack(c);
}

int
pass_recv_output(struct guest *g, const struct gp_frame *f)
{
	struct gp_output	 m;
	struct call		*c;

	if (gp_decode_output(&m, f) == -1 ||
	    (c = pass_output_of(g, f, &m)) == NULL)
		return (-1);
	pass_output(c, m.data, m.len);
	return (0);
}

int
pass_recv_output_end(struct guest *g, const struct gp_frame *f)
{
	struct gp_output_end	 m;
	struct call		*c;

	if (gp_decode_output_end(&m, f) == -1)
		return (-1);
	if ((c = call_find(g->box, f->k)) == NULL || c->ended ||
	    !(c->kind & CALL_NET) || c->out_over || m.total != c->got) {
		g->why = "end of an output that has none there";
		return (-1);
	}
	c->out_over = 1;
	pass_out_end(c);
	return (0);
}

static void
pass_send(struct call *c, struct guest *g, const uint8_t *p, size_t len)
{
	struct gp_input	 m;
	size_t		 size = GP_HDRLEN + 8 + len;

	m.off = c->sent;
	m.data = p;
	m.len = len;
	guest_wrote(g, gp_encode_input(guest_room(g, size), size, c->k, &m));
	c->sent += len;
}

static void
pass_end(struct call *c, struct guest *g)
{
	struct gp_input_end	 m;

	c->in_over = 1;
	close_in(c);
	m.total = c->sent;
	guest_wrote(g, gp_encode_input_end(guest_room(g, 64), 64, c->k, &m));
	fault("runner.input_end.after");
}

/*
 * What the pipe has, as far as the window goes, and the end when that was all.
 * Its own end says nothing: a client that is lost looks the same.
 */
void
pass_read(struct call *c)
{
	static uint8_t	 buf[GP_MAX_DATA];
	struct guest	*g;
	size_t		 n;
	ssize_t		 r;

	if (c->told || c->ended || c->in_over ||
	    (g = guest_welcome(c->box)) == NULL)
		return;
	if ((c->held = guest_full(g)) != 0)
		return;
	n = GP_WINDOW - (c->sent - c->taken);
	if (n > sizeof(buf))
		n = sizeof(buf);
	if (c->rfd != -1 && n > 0 && c->sent != c->total) {
		r = read(c->rfd, buf, n);
		if (r > 0) {
			if ((uint64_t)r > c->total - c->sent) {
				call_give_up(c, CODE_INVALID_ARGUMENT,
				    "input goes on behind its end");
				return;
			}
			if (r >= PASS_MANY && !c->rlarge)
				c->rlarge = pipe_grow(c->rfd);
			pass_send(c, g, buf, r);
		} else if (r == 0 || (errno != EAGAIN && errno != EINTR))
			close_in(c);
	}
	if (c->sent == c->total)
		pass_end(c, g);
	else if (c->rfd == -1 && c->total != UINT64_MAX)
		call_give_up(c, CODE_INVALID_ARGUMENT,
		    "input ends before its end");
	else if (c->rfd != -1 && c->sent - c->taken < GP_WINDOW)
		event_add(&c->rev, NULL);
}

static void
pass_readable(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	pass_read(arg);
}

/* The client's pipe for input.  -1: there is none to be had. */
int
pass_input(struct call *c)
{
	int	 fds[2];

	if (pass_pipe(fds, 0) == -1)
		return (-1);
	c->rfd = fds[0];
	event_set(&c->rev, c->rfd, EV_READ, pass_readable, c);
	event_add(&c->rev, NULL);
	pass_give(c, 0, fds[1]);
	return (0);
}

/* All of the input came with the request. */
void
pass_data(struct call *c, const struct blob *b)
{
	struct guest	*g = guest_welcome(c->box);

	c->total = b->len;
	if (b->len > 0)
		pass_send(c, g, b->data, b->len);
	pass_end(c, g);
}

/* There is room in the queue to the guest again. */
void
pass_pump(struct box *box)
{
	struct call	*c, *next;

	TAILQ_FOREACH_SAFE(c, &box->calls, entry, next)
		if (c->held)
			pass_read(c);
}

int
pass_recv_input_ack(struct guest *g, const struct gp_frame *f)
{
	struct gp_input_ack	 m;
	struct call		*c;

	if (gp_decode_input_ack(&m, f) == -1)
		return (-1);
	if ((c = call_find(g->box, f->k)) == NULL || c->ended ||
	    m.off < c->taken || m.off > c->sent) {
		g->why = "it has taken what was never sent";
		return (-1);
	}
	c->taken = m.off;
	pass_read(c);
	return (0);
}
