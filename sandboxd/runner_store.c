/*
 * The store's messages: a function each.  The store knows what is allowed and
 * when; here it is only checked that an order can be carried out at all.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "runner.h"

#define OUTPUTS	(1 << GP_STDOUT | 1 << GP_STDERR)

void
runner_error(const struct frame *f, enum code code, const char *text)
{
	struct msg_result	 m;

	memset(&m, 0, sizeof(m));
	m.code = code;
	snprintf(m.text, sizeof(m.text), "%s", text);
	pipe_send(&ch_store, MSG_RUNNER_ERROR, f->op, f->session, f->req, -1,
	    &m);
}

/* The end of outputs that never had a reader. */
static void
runner_stream_ends(const struct frame *f, uint32_t streams)
{
	struct msg_stream_end	 m;
	uint32_t		 s;

	if (f->session == 0)
		return;
	memset(&m, 0, sizeof(m));
	for (s = GP_STDOUT; s <= GP_STDERR; s++) {
		if ((streams & 1 << s) == 0)
			continue;
		m.stream = s;
		pipe_send(&ch_frontend, MSG_STREAM_END, 0, f->session, f->req,
		    -1, &m);
	}
}

static int
runner_recv_listen(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_listen	*m = msg;
	struct msg_guest_gone	 ok;
	struct box		*box;
	char			 why[256];

	(void)ch;
	if (m->n == 0)
		return (-1);
	if ((box = box_find(m->n)) == NULL)
		box = box_new(m->n, m->owner);
	else if (box->owner != m->owner)
		return (-1);
	if (box->guest == NULL) {
		box->boot = m->boot;
		box->pid = m->pid;
		box->stopping = box->dead = 0;
		life_end(box);
		silent_end(box);
		if (box_listen(box, why, sizeof(why)) == -1) {
			log_warnx("sandbox %" PRIu64 ": cannot listen: %s",
			    m->n, why);
			runner_error(f, CODE_INTERNAL, why);
			return (0);
		}
	}
	memset(&ok, 0, sizeof(ok));
	ok.n = m->n;
	pipe_send(&ch_store, MSG_LISTENING, f->op, f->session, f->req, -1,
	    &ok);
	if (box->guest == NULL)
		life_look(box);
	return (0);
}

/*
 * What a guest reads of its limits it says in its hello, which comes with
 * each connection.  One that has none says it anyway.
 */
static int
runner_recv_greet(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_listen	*m = msg;
	struct box		*box;

	(void)ch;
	(void)f;
	if ((box = box_find(m->n)) == NULL || box->guest == NULL)
		return (0);
	if (box->owner != m->owner)
		return (-1);
	guest_greet(box->guest);
	return (0);
}

/* It may have been silent by right so far. */
static int
runner_recv_probe(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_listen	*m = msg;
	struct box		*box;

	(void)ch;
	if ((box = box_find(m->n)) == NULL)
		return (0);
	if (box->owner != m->owner)
		return (-1);
	silent_counts(box, f->op);
	return (0);
}

static int
runner_recv_unlisten(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_listen	*m = msg;
	struct box		*box;

	(void)ch;
	(void)f;
	if ((box = box_find(m->n)) != NULL)
		box_free(box);
	return (0);
}

/* Answers a START that no guest will see. */
static void
runner_not_started(const struct frame *f, const struct msg_start *m,
    uint32_t cause)
{
	struct msg_not_started	 ns;
	struct msg_refused	 r;

	if (m->flags & EXEC_ATTACH)
		runner_stream_ends(f, m->flags & EXEC_MERGE ?
		    1 << GP_STDOUT : OUTPUTS);
	if (cause == GP_NS_UNKNOWN) {
		memset(&r, 0, sizeof(r));
		r.n = m->n;
		r.k = m->k;
		pipe_send(&ch_store, MSG_REFUSED, f->op, 0, 0, -1, &r);
		return;
	}
	memset(&ns, 0, sizeof(ns));
	ns.n = m->n;
	ns.k = m->k;
	ns.cause = cause;
	snprintf(ns.text, sizeof(ns.text), "%s", gp_cause_text(cause));
	pipe_send(&ch_store, MSG_NOT_STARTED, f->op, 0, 0, -1, &ns);
}

static int
runner_recv_start(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_start	*m = msg;
	struct box		*box;
	struct exec		*ex;
	uint32_t		 streams;

	(void)ch;
	if (m->n == 0 || m->k == 0)
		return (-1);
	if ((box = box_find(m->n)) == NULL) {
		log_warnx("exec %s in a sandbox without a guest", m->exec);
		runner_not_started(f, m, GP_NS_UNKNOWN);
		return (0);
	}
	if (exec_find(box, m->k) != NULL) {
		log_warnx("exec %s was started before", m->exec);
		return (0);
	}
	if (!m->again && box->guest != NULL)
		guest_drop_unclaimed(box->guest, m->k);
	if ((ex = exec_new(box, m)) == NULL) {
		runner_not_started(f, m, GP_NS_TOOBIG);
		return (0);
	}
	/* The guest first: it has the longest way. */
	exec_push(ex);
	if (f->session != 0 && m->flags & EXEC_ATTACH) {
		streams = m->flags & EXEC_MERGE ? 1 << GP_STDOUT : OUTPUTS;
		exec_attach(ex, f->session, f->req, 1 | streams, 0, 0);
	}
	return (0);
}

static int
runner_recv_signal(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_exec_ref	*m = msg;
	struct box		*box;

	(void)ch;
	if (m->value < 1 || m->value > 64) {
		runner_error(f, CODE_INVALID_ARGUMENT, "no such signal");
		return (0);
	}
	if ((box = box_find(m->n)) != NULL)
		exec_signal(box, m->k, m->value);
	return (0);
}

static int
runner_recv_resize(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_resize	*m = msg;
	struct box		*box;

	(void)ch;
	if (m->rows < 1 || m->rows > TTY_SIZE_MAX || m->cols < 1 ||
	    m->cols > TTY_SIZE_MAX) {
		runner_error(f, CODE_INVALID_ARGUMENT, "no such size");
		return (0);
	}
	if ((box = box_find(m->n)) != NULL)
		tty_resize(box, m->k, m->rows, m->cols);
	return (0);
}

static int
runner_recv_cancel(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_exec_ref	*m = msg;
	struct box		*box;

	(void)ch;
	(void)f;
	if ((box = box_find(m->n)) != NULL)
		exec_cancel(box, m->k, m->grace);
	return (0);
}

static int
runner_recv_forget(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_exec_ref	*m = msg;
	struct box		*box;

	(void)ch;
	(void)f;
	if ((box = box_find(m->n)) != NULL)
		exec_forget(box, m->k);
	return (0);
}

/* One stream for an ordinary reader, of a running exec or of an ended one. */
static void
runner_read_stream(const struct frame *f, const struct msg_read *m,
    struct exec *ex, uint32_t stream)
{
	struct slog	*l;
	uint64_t	 off, len, end = UINT64_MAX;

	off = stream == GP_STDOUT ? m->offset1 : m->offset2;
	len = stream == GP_STDOUT ? m->length1 : m->length2;
	l = slog_open(m->n, m->k, m->owner, stream, 0);
	if (ex == NULL) {
		/* What the disk has not, up to its length, is a gap. */
		if (l->len < len && len != UINT64_MAX)
			slog_skip(l, len);
		slog_end(l);
		end = l->len < len ? l->len : len;
	} else if (!m->follow)
		end = l->len;
	reader_new(l, m->exec, f->session, f->req, off, end, 0);
	slog_release(l);
}

static int
runner_recv_read(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_read	*m = msg;
	struct box	*box;
	struct exec	*ex = NULL;
	uint32_t	 s;

	(void)ch;
	if (f->session == 0 || m->n == 0 || m->k == 0)
		return (-1);
	if ((box = box_find(m->n)) != NULL)
		ex = exec_find(box, m->k);
	if (ex == NULL && !m->ended) {
		runner_error(f, CODE_WRONG_STATE, "the exec is not running");
		runner_stream_ends(f, m->streams);
		return (0);
	}
	for (s = GP_STDOUT; s <= GP_STDERR; s++)
		if (m->streams & 1 << s)
			runner_read_stream(f, m, ex, s);
	return (0);
}

static int
runner_recv_reattach(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_read	*m = msg;
	struct box	*box;
	struct exec	*ex = NULL;

	if ((box = box_find(m->n)) != NULL)
		ex = exec_find(box, m->k);
	if (ex == NULL)
		return (runner_recv_read(ch, f, msg));
	if (f->session == 0)
		return (-1);
	exec_attach(ex, f->session, f->req, m->streams, m->offset1,
	    m->offset2);
	return (0);
}

static int
runner_recv_input_finish(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_exec_ref	*m = msg;
	struct box		*box;
	struct exec		*ex;

	(void)ch;
	(void)f;
	if ((box = box_find(m->n)) != NULL &&
	    (ex = exec_find(box, m->k)) != NULL && ex->in != NULL)
		input_finish(ex->in, m->value);
	return (0);
}

static int
runner_recv_guest_stop(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_exec_ref	*m = msg;
	struct box		*box;

	(void)ch;
	(void)f;
	if ((box = box_find(m->n)) == NULL)
		return (0);
	box->stopping = 1;
	box->grace = m->grace > GP_MAX_MS ? GP_MAX_MS : m->grace;
	fault("runner.stop.before");
	if (guest_ready(box) != NULL)
		guest_stop(box->guest);
	return (0);
}

static int
runner_recv_log_remove(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_exec_ref	*m = msg;

	(void)ch;
	(void)f;
	if (m->n == 0)
		return (-1);
	quota_remove(m->owner, m->n, m->k);
	return (0);
}

static int
runner_recv_call(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_call	*m = msg;

	(void)ch;
	if (f->op == 0 || m->n == 0 || !call_known(m->c.op))
		return (-1);
	call_new(box_find(m->n), f, m);
	return (0);
}

static int
runner_recv_call_input(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_call_ref	*m = msg;
	struct box		*box;

	(void)ch;
	if ((box = box_find(m->n)) != NULL)
		call_finish(box, f->op, m->total);
	return (0);
}

static int
runner_recv_call_cancel(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_call_ref	*m = msg;
	struct box		*box;

	(void)ch;
	if ((box = box_find(m->n)) != NULL)
		call_cancel(box, f->op);
	return (0);
}

static int
runner_recv_session_gone(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	(void)msg;
	reader_session_gone(f->session);
	input_session_gone(f->session);
	call_session_gone(f->session);
	return (0);
}

const struct pipe_handler runner_store_table[] = {
	{ MSG_START,		runner_recv_start },
	{ MSG_FORGET,		runner_recv_forget },
	{ MSG_CALL,		runner_recv_call },
	{ MSG_CALL_INPUT,	runner_recv_call_input },
	{ MSG_CALL_CANCEL,	runner_recv_call_cancel },
	{ MSG_SESSION_GONE,	runner_recv_session_gone },
	{ MSG_INPUT_FINISH,	runner_recv_input_finish },
	{ MSG_READ,		runner_recv_read },
	{ MSG_REATTACH,		runner_recv_reattach },
	{ MSG_SIGNAL,		runner_recv_signal },
	{ MSG_CANCEL,		runner_recv_cancel },
	{ MSG_RESIZE,		runner_recv_resize },
	{ MSG_LISTEN,		runner_recv_listen },
	{ MSG_GREET,		runner_recv_greet },
	{ MSG_PROBE,		runner_recv_probe },
	{ MSG_UNLISTEN,		runner_recv_unlisten },
	{ MSG_GUEST_STOP,	runner_recv_guest_stop },
	{ MSG_LOG_REMOVE,	runner_recv_log_remove },
};
const size_t	 runner_store_ntable =
    sizeof(runner_store_table) / sizeof(runner_store_table[0]);
