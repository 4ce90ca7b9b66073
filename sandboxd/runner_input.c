/*
 * Input of commands.  The client writes into a pipe that we made; we read it
 * as far as the guest's window allows and keep the bytes until the command
 * has taken them, so that a new connection of the guest loses none.  The
 * client keeps them, too, until it is told, so that our own death does not.
 *
 * The pipe's end is the loss of the client, never the end of the input: that
 * is said in a message, with the number of all bytes.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "log.h"
#include "runner.h"

#define INPUT_MANY	(32 * 1024)	/* in one read: more will come */
#define INPUT_TELL	(GP_WINDOW / 4)	/* taken bytes worth a message */

static TAILQ_HEAD(, input) inputs = TAILQ_HEAD_INITIALIZER(inputs);

struct input *
input_new(struct exec *ex, int isnew)
{
	struct input	*in;

	if ((in = calloc(1, sizeof(*in))) == NULL)
		fatal("%s", __func__);
	in->exec = ex;
	in->rfd = -1;
	/* A command that has never run has taken nothing. */
	in->known = in->synced = isnew;
	TAILQ_INSERT_TAIL(&inputs, in, all);
	return (in);
}

static void
input_close_pipe(struct input *in)
{
	if (in->rfd == -1)
		return;
	event_del(&in->ev);
	close(in->rfd);
	in->rfd = -1;
	pipe_grown(in->large);
	in->large = 0;
}

void
input_free(struct input *in)
{
	input_close_pipe(in);
	TAILQ_REMOVE(&inputs, in, all);
	free(in->buf);
	free(in);
}

static uint64_t
input_read_off(const struct input *in)
{
	return (in->base + in->len);
}

/* How much the client may forget: not for every few bytes. */
static void
input_tell(struct input *in)
{
	struct proto_input_ack	 m;

	if (in->session == 0 || in->base == in->told ||
	    (in->len > 0 && in->base < in->told + INPUT_TELL))
		return;
	in->told = in->base;
	m.offset = in->base;
	pipe_send(&ch_frontend, PROTO_INPUT_ACK, 0, in->session, in->req, -1,
	    &m);
}

/* Room for what the guest's window still takes. */
static size_t
input_room(struct input *in)
{
	if (in->len == GP_WINDOW)
		return (0);
	if (in->buf == NULL && (in->buf = malloc(GP_WINDOW)) == NULL)
		fatal("%s", __func__);
	if (in->head + in->len == GP_WINDOW) {
		memmove(in->buf, in->buf + in->head, in->len);
		in->head = 0;
	}
	return (GP_WINDOW - in->head - in->len);
}

static void
input_read(int fd, short event, void *arg)
{
	struct input	*in = arg;
	size_t		 room;
	ssize_t		 n;

	(void)event;
	if ((room = input_room(in)) == 0)
		return;
	n = read(fd, in->buf + in->head + in->len, room);
	if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
		event_add(&in->ev, NULL);
		return;
	}
	if (n <= 0) {
		/* All that was promised has come, or the client is lost. */
		input_close_pipe(in);
		return;
	}
	in->len += n;
	if (n >= INPUT_MANY && !in->large)
		in->large = pipe_grow(fd);
	if (in->finished && input_read_off(in) > in->total) {
		log_debug("exec %s: input goes on behind its end",
		    in->exec->name);
		/* What was sent before the end was named stays until acked. */
		in->len = (in->total > in->sent ? in->total : in->sent) -
		    in->base;
		input_close_pipe(in);
	}
	if (in->rfd != -1 && in->len < GP_WINDOW)
		event_add(&in->ev, NULL);
	input_pump(in);
}

static void
input_open(struct input *in)
{
	struct proto_stream	 m;
	struct msg_result	 e;
	int			 fds[2];

	if (in->session == 0 || in->rfd != -1 || !in->known || in->closed)
		return;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) == -1 ||
	    fcntl(fds[1], F_SETFL, O_WRONLY) == -1) {
		memset(&e, 0, sizeof(e));
		e.code = CODE_UNAVAILABLE;
		strlcpy(e.text, "input: no more descriptors", sizeof(e.text));
		log_warn("input of exec %s", in->exec->name);
		pipe_send(&ch_store, MSG_RUNNER_ERROR, 0, in->session,
		    in->req, -1, &e);
		return;
	}
	in->rfd = fds[0];
	event_set(&in->ev, in->rfd, EV_READ, input_read, in);
	if (in->len < GP_WINDOW)
		event_add(&in->ev, NULL);
	memset(&m, 0, sizeof(m));
	m.stream = 0;
	m.offset = input_read_off(in);
	memcpy(m.exec, in->exec->name, sizeof(m.exec));
	pipe_send(&ch_frontend, PROTO_STREAM, 0, in->session, in->req, fds[1],
	    &m);
}

/* Who wrote so far is told that another one does. */
static void
input_lose(struct input *in, uint64_t session, uint32_t req)
{
	struct proto_stalled	 m;

	if (in->session == 0 || (in->session == session && in->req == req))
		return;
	m.stream = 0;
	pipe_send(&ch_frontend, PROTO_STALLED, 0, in->session, in->req, -1,
	    &m);
}

/* The client that writes from now on; an earlier one's pipe is closed. */
void
input_attach(struct input *in, uint64_t session, uint32_t req)
{
	input_lose(in, session, req);
	input_close_pipe(in);
	in->session = session;
	in->req = req;
	in->told = in->base;
	input_open(in);
}

void
input_finish(struct input *in, uint64_t total)
{
	/* Said once; the guest would not take another number. */
	if (in->finished)
		return;
	in->finished = 1;
	in->total = total;
	input_pump(in);
}

/* Sends what is there, and the end when that was all. */
void
input_pump(struct input *in)
{
	struct exec		*ex = in->exec;
	struct guest		*g;
	struct gp_input		 f;
	struct gp_input_end	 e;

	if (!ex->named || !in->synced || (g = guest_ready(ex->box)) == NULL)
		return;
	fault("runner.input.before");
	while (!in->closed && in->sent < input_read_off(in)) {
		if (guest_full(g)) {
			/* The queue's end calls again. */
			ex->box->held = 1;
			return;
		}
		f.off = in->sent;
		f.data = in->buf + in->head + (in->sent - in->base);
		f.len = input_read_off(in) - in->sent;
		if (f.len > GP_MAX_DATA)
			f.len = GP_MAX_DATA;
		guest_wrote(g, gp_encode_input(guest_room(g, GP_HDRLEN + 8 +
		    f.len), GP_HDRLEN + 8 + f.len, ex->k, &f));
		in->sent += f.len;
	}
	if (in->finished && !in->end_sent &&
	    (in->closed || in->sent >= in->total)) {
		in->end_sent = 1;
		e.total = in->total > in->sent ? in->total : in->sent;
		guest_wrote(g, gp_encode_input_end(guest_room(g, 64), 64,
		    ex->k, &e));
		input_close_pipe(in);
	}
	fault("runner.input.after");
}

void
input_reconnect(struct input *in)
{
	in->synced = 0;
	in->end_sent = 0;
}

/* The guest has received input up to `off', and goes on from there. */
int
input_state(struct input *in, uint64_t off)
{
	if (!in->known) {
		if (off > (uint64_t)INT64_MAX)
			return (-1);
		in->base = in->sent = in->told = off;
		in->known = 1;
	} else if (off < in->base || off > in->sent) {
		if (!in->closed)
			return (-1);
		off = in->sent;
	}
	in->sent = off;
	in->synced = 1;
	input_open(in);
	input_pump(in);
	return (0);
}

/* The command has taken input up to `off', or reads no more. */
int
input_ack(struct input *in, uint64_t off, uint32_t flags)
{
	size_t	 n;

	if (!in->known || off > in->sent)
		return (-1);
	if (flags & GP_INPUT_CLOSED) {
		/* The client sees a broken pipe, as from any command. */
		in->closed = 1;
		input_close_pipe(in);
		free(in->buf);
		in->buf = NULL;
		in->head = in->len = 0;
		in->base = in->sent;
		input_tell(in);
		input_pump(in);
		return (0);
	}
	if (off <= in->base)
		return (0);
	n = off - in->base;
	in->base = off;
	in->head += n;
	in->len -= n;
	if (in->len == 0) {
		free(in->buf);
		in->buf = NULL;
		in->head = 0;
	}
	input_tell(in);
	if (in->rfd != -1)
		event_add(&in->ev, NULL);
	return (0);
}

void
input_session_gone(uint64_t session)
{
	struct input	*in;

	/* What the client has written before is input all the same. */
	TAILQ_FOREACH(in, &inputs, all)
		if (in->session == session)
			in->session = 0;
}
