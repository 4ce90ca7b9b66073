/* What the runner sends: a function for each frame. */

#include <stddef.h>
#include <string.h>

#include "fault.h"
#include "guest.h"

#define STOP_EXTRA	(15 * NSEC)	/* for the runner to take what is left */

static int
recv_welcome(const struct gp_frame *f)
{
	struct gp_welcome	 m;

	if (link_up() || gp_decode_welcome(&m, f) == -1 ||
	    m.version != GP_VERSION)
		return (-1);
	link_welcome();
	return (0);
}

static int
recv_start(const struct gp_frame *f)
{
	struct gp_start	 m;

	if (gp_decode_start(&m, f) == -1)
		return (-1);
	fault("guest.recv.start");
	exec_start(f->k, &m);
	explicit_bzero((void *)f->data, f->len);
	return (0);
}

static int
recv_resume(const struct gp_frame *f)
{
	struct gp_resume	 m;

	if (gp_decode_resume(&m, f) == -1)
		return (-1);
	exec_resume(f->k, m.out, m.err);
	return (0);
}

static int
recv_ack(const struct gp_frame *f, struct exec *e)
{
	struct gp_ack	 m;
	int		 i;

	if (gp_decode_ack(&m, f) == -1)
		return (-1);
	i = m.stream == GP_STDERR;
	if (e == NULL || !e->resumed || e->state == EX_BACKGROUND ||
	    m.off <= e->out[i].base)
		return (0);
	if (m.off > e->out[i].sent)
		return (-1);
	fault("guest.recv.ack");
	output_ack(e, i, m.off);
	exec_poll(e);
	return (0);
}

static int
takes_input(const struct exec *e)
{
	return (e != NULL &&
	    (e->state == EX_STARTING || e->state == EX_RUNNING));
}

static int
recv_input(const struct gp_frame *f, struct exec *e)
{
	struct gp_input	 m;

	if (gp_decode_input(&m, f) == -1)
		return (-1);
	if (!takes_input(e))
		return (0);
	if ((e->flags & GP_START_INPUT) == 0)
		return (-1);
	return (input_take(e, &m));
}

static int
recv_input_end(const struct gp_frame *f, struct exec *e)
{
	struct gp_input_end	 m;

	if (gp_decode_input_end(&m, f) == -1)
		return (-1);
	if (!takes_input(e))
		return (0);
	if ((e->flags & GP_START_INPUT) == 0)
		return (-1);
	return (input_end(e, m.total));
}

static int
recv_signal(const struct gp_frame *f, struct exec *e)
{
	struct gp_signal	 m;

	if (gp_decode_signal(&m, f) == -1)
		return (-1);
	if (e != NULL)
		kill_signal(e, m.signo, m.flags);
	return (0);
}

static int
recv_resize(const struct gp_frame *f, struct exec *e)
{
	struct gp_resize	 m;

	if (gp_decode_resize(&m, f) == -1)
		return (-1);
	if (e != NULL)
		tty_resize(e, m.rows, m.cols);
	return (0);
}

static int
recv_cancel(const struct gp_frame *f, struct exec *e)
{
	struct gp_cancel	 m;

	if (gp_decode_cancel(&m, f) == -1)
		return (-1);
	if (e != NULL)
		kill_begin(e, GP_CANCELLED, m.grace);
	return (0);
}

static int
recv_forget(const struct gp_frame *f, struct exec *e)
{
	if (gp_decode_forget(f) == -1)
		return (-1);
	if (e != NULL)
		exec_forget(e);
	return (0);
}

static int
recv_stop(const struct gp_frame *f)
{
	struct gp_stop	 m;

	if (gp_decode_stop(&m, f) == -1)
		return (-1);
	fault("guest.recv.stop");
	if (!g.stopping)
		g.stop_limit = g.now + m.grace * MSEC + STOP_EXTRA;
	g.stopping = 1;
	if (g.spare != NULL)
		exec_free(g.spare);
	kill_all(m.grace);
	call_stop();
	return (0);
}

static int
recv_ping(const struct gp_frame *f)
{
	struct gp_ping	 m;

	if (gp_decode_ping(&m, f) == -1)
		return (-1);
	link_pong(&m);
	return (0);
}

/* What is about a call. */
static int
link_call(const struct gp_frame *f)
{
	switch (f->type) {
	case GP_CALL:
		return (call_start(f));
	case GP_INPUT:
		return (call_input(f));
	case GP_INPUT_END:
		return (call_input_end(f));
	case GP_ACK:
		return (call_ack(f));
	case GP_CANCEL:
		return (call_cancel(f));
	default:
		return (-1);
	}
}

/* -1 if it is not one that the runner may send now. */
int
link_dispatch(const struct gp_frame *f)
{
	struct exec	*e = NULL;

	if (!link_up() && f->type != GP_WELCOME)
		return (-1);
	if (f->k & GP_CALL_BIT)
		return (link_call(f));
	if (f->k != 0)
		e = exec_find(f->k);
	switch (f->type) {
	case GP_WELCOME:
		return (recv_welcome(f));
	case GP_START:
		return (recv_start(f));
	case GP_RESUME:
		return (recv_resume(f));
	case GP_ACK:
		return (recv_ack(f, e));
	case GP_INPUT:
		return (recv_input(f, e));
	case GP_INPUT_END:
		return (recv_input_end(f, e));
	case GP_SIGNAL:
		return (recv_signal(f, e));
	case GP_CANCEL:
		return (recv_cancel(f, e));
	case GP_FORGET:
		return (recv_forget(f, e));
	case GP_RESIZE:
		return (recv_resize(f, e));
	case GP_STOP:
		return (recv_stop(f));
	case GP_PING:
		return (recv_ping(f));
	default:
		return (-1);
	}
}
