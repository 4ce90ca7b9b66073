/*
 * Execs: what the store has ordered, and what the guest says of it.
 *
 * An exec is sent again on each connection until its end is known; numbers
 * rise, and the guest keeps a table, so sending again is always safe.  Output
 * is taken only where the log ends, within the window that was granted.  The
 * acknowledgement is the credit: it says what is in the log, and it is held
 * back while the client that started the command has yet to read.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault.h"
#include "log.h"
#include "runner.h"

#define ACK_STEP	(GP_WINDOW / 4)
#define OFFSET_MAX	((uint64_t)INT64_MAX)

int
exec_cmp(struct exec *a, struct exec *b)
{
	return (a->k < b->k ? -1 : a->k > b->k);
}

RB_GENERATE(execs, exec, entry, exec_cmp)

struct exec *
exec_find(struct box *box, uint64_t k)
{
	struct exec	 key;

	key.k = k;
	return (RB_FIND(execs, &box->execs, &key));
}

/* The environment may hold secrets: it is wiped. */
static void
exec_args_free(struct exec *ex)
{
	struct exec_args	*a = ex->args;

	if (a == NULL)
		return;
	freezero(a->args, a->argslen);
	freezero(a->env, a->envlen);
	free(a->dir);
	free(a->scope);
	free(a);
	ex->args = NULL;
}

static char *
exec_pack_env(const struct kvv *env, size_t *len)
{
	char	*buf, *p;
	size_t	 i, n, size = 0;

	for (i = 0; i < env->n; i++)
		size += strlen(env->v[i].k) + strlen(env->v[i].v) + 2;
	if ((buf = malloc(size + 1)) == NULL)
		fatal("%s", __func__);
	for (i = 0, p = buf; i < env->n; i++, p += n + 1)
		n = snprintf(p, size + 1 - (p - buf), "%s=%s", env->v[i].k,
		    env->v[i].v);
	*len = size;
	return (buf);
}

static struct exec_args *
exec_pack(const struct msg_start *m)
{
	struct exec_args	*a;
	size_t			 size = strv_bytes(&m->argv);
	ssize_t			 n;

	if ((a = calloc(1, sizeof(*a))) == NULL ||
	    (a->args = malloc(size + 1)) == NULL ||
	    (a->dir = strdup(m->dir)) == NULL)
		fatal("%s", __func__);
	if ((n = gp_pack(a->args, size + 1, m->argv.v, &a->argc)) == -1)
		fatalx("%s", __func__);
	a->argslen = n;
	a->env = exec_pack_env(&m->env, &a->envlen);
	a->envc = m->env.n;
	a->scope = changed_scope(m);
	return (a);
}

/* NULL if it is more than a guest takes. */
struct exec *
exec_new(struct box *box, const struct msg_start *m)
{
	struct exec	*ex;
	uint32_t	 s;

	/* Without a command: it has been started, only its number is left. */
	if ((m->argv.n == 0 && !m->again) ||
	    m->argv.n + m->env.n > GP_MAX_ENTRIES)
		return (NULL);
	if ((ex = calloc(1, sizeof(*ex))) == NULL)
		fatal("%s", __func__);
	ex->box = box;
	ex->k = m->k;
	ex->flags = m->flags;
	ex->timeout = m->timeout > GP_MAX_MS ? GP_MAX_MS : m->timeout;
	ex->grace = m->grace > GP_MAX_MS ? GP_MAX_MS : m->grace;
	ex->again = m->again != 0;
	/* Started by a runner before us it has a size that we do not know. */
	if (m->rows >= 1 && m->rows <= TTY_SIZE_MAX && m->cols >= 1 &&
	    m->cols <= TTY_SIZE_MAX) {
		ex->rows = m->rows;
		ex->cols = m->cols;
	}
	memcpy(ex->name, m->exec, sizeof(ex->name));
	if (m->argv.n > 0)
		ex->args = exec_pack(m);
	if (ex->args != NULL && ex->args->argslen + ex->args->envlen +
	    strlen(ex->args->dir) + 1 > GP_MAX_STRINGS) {
		exec_args_free(ex);
		free(ex);
		return (NULL);
	}
	for (s = GP_STDOUT; s <= GP_STDERR; s++) {
		ex->log[s] = slog_open(box->n, ex->k, box->owner, s,
		    !ex->again);
		ex->log[s]->exec = ex;
	}
	if (ex->flags & EXEC_INPUT)
		ex->in = input_new(ex, !ex->again);
	silent_exec_init(ex);
	if (ex->args == NULL)
		silent_exec_counts(ex);
	RB_INSERT(execs, &box->execs, ex);
	return (ex);
}

/* Nothing more comes: readers get what is there, and then their end. */
static void
exec_close(struct exec *ex)
{
	uint32_t	 s;

	ex->over = 1;
	silent_exec_over(ex);
	exec_args_free(ex);
	if (ex->in != NULL)
		input_free(ex->in);
	ex->in = NULL;
	for (s = GP_STDOUT; s <= GP_STDERR; s++) {
		if (ex->log[s]->exec != ex)
			continue;
		slog_end(ex->log[s]);
		reader_wake(ex->log[s]);
	}
}

void
exec_free(struct exec *ex)
{
	uint32_t	 s;

	exec_close(ex);
	RB_REMOVE(execs, &ex->box->execs, ex);
	for (s = GP_STDOUT; s <= GP_STDERR; s++)
		slog_release(ex->log[s]);
	quota_ended(ex->box->n);
	free(ex->changed);
	free(ex);
}

/* The client that the command waits for: pipes for what it asked. */
void
exec_attach(struct exec *ex, uint64_t session, uint32_t req, uint32_t streams,
    uint64_t off1, uint64_t off2)
{
	if ((streams & 1) && ex->in != NULL)
		input_attach(ex->in, session, req);
	if (streams & 1 << GP_STDOUT)
		reader_new(ex->log[GP_STDOUT], ex->name, session, req, off1,
		    UINT64_MAX, 1);
	if (streams & 1 << GP_STDERR)
		reader_new(ex->log[GP_STDERR], ex->name, session, req, off2,
		    UINT64_MAX, 1);
}

static void
exec_send_start(struct guest *g, struct exec *ex)
{
	struct exec_args	*a = ex->args;
	struct gp_start		 s;
	size_t			 size;

	memset(&s, 0, sizeof(s));
	if (ex->flags & EXEC_INPUT)
		s.flags |= GP_START_INPUT;
	if (ex->flags & EXEC_MERGE)
		s.flags |= GP_START_MERGE;
	if (ex->flags & EXEC_KILL_REST)
		s.flags |= GP_START_KILL_REST;
	if (ex->flags & EXEC_TTY) {
		s.flags |= GP_START_TTY;
		s.rows = ex->rows != 0 ? ex->rows : TTY_ROWS;
		s.cols = ex->cols != 0 ? ex->cols : TTY_COLS;
		ex->resize = 0;
	}
	if (ex->flags & EXEC_CHANGES)
		s.flags |= GP_START_CHANGES;
	if (*a->scope != '\0')
		s.flags |= GP_START_SCOPE;
	s.scope = a->scope;
	s.timeout = ex->timeout;
	s.grace = ex->grace;
	s.argc = a->argc;
	s.envc = a->envc;
	s.out = ex->log[GP_STDOUT]->len;
	s.err = ex->log[GP_STDERR]->len;
	s.args = a->args;
	s.argslen = a->argslen;
	s.env = a->env;
	s.envlen = a->envlen;
	s.dir = a->dir;
	size = GP_HDRLEN + 64 + strlen(a->scope) + 1 + a->argslen + a->envlen +
	    strlen(a->dir) + 1;
	guest_wrote(g, gp_encode_start(guest_room(g, size), size, ex->k, &s));
}

static void
exec_send_resume(struct guest *g, struct exec *ex)
{
	struct gp_resume	 r;

	r.out = ex->log[GP_STDOUT]->len;
	r.err = ex->log[GP_STDERR]->len;
	guest_wrote(g, gp_encode_resume(guest_room(g, 64), 64, ex->k, &r));
}

static void
exec_send_cancel(struct guest *g, uint64_t k, uint32_t grace)
{
	struct gp_cancel	 c;

	c.grace = grace > GP_MAX_MS ? GP_MAX_MS : grace;
	guest_wrote(g, gp_encode_cancel(guest_room(g, 64), 64, k, &c));
	silent_expect(g->box);
}

static void
exec_send_signal(struct guest *g, uint64_t k, uint32_t signo, uint32_t flags)
{
	struct gp_signal	 s;

	s.signo = signo;
	s.flags = flags;
	guest_wrote(g, gp_encode_signal(guest_room(g, 64), 64, k, &s));
	silent_expect(g->box);
}

/* START, or RESUME once the guest is known to have it. */
static void
exec_send(struct guest *g, struct exec *ex)
{
	struct slog	*l;
	uint32_t	 i, s;

	fault("runner.start.before");
	if (ex->args != NULL && (tty_refuse(g, ex) || changed_refuse(g, ex)))
		return;
	for (s = GP_STDOUT; s <= GP_STDERR; s++) {
		l = ex->log[s];
		ex->acked[s] = l->len;
		/*
		 * These lengths are credit as well: what a reader may lag
		 * stays bounded however often the guest comes back.
		 */
		if (l->primary != NULL && l->len > l->primary->off &&
		    l->len - l->primary->off > 4 * GP_WINDOW)
			reader_demote(l->primary);
	}
	if (ex->args != NULL)
		exec_send_start(g, ex);
	else
		exec_send_resume(g, ex);
	ex->named = 1;
	ex->sent = 1;
	silent_expect(ex->box);
	if (!evtimer_pending(&ex->due, NULL))
		silent_exec_begun(ex);
	if (ex->cancel)
		exec_send_cancel(g, ex->k, ex->cancel_grace);
	for (i = 0; i < ex->nsig; i++)
		exec_send_signal(g, ex->k, ex->sig[i], 0);
	ex->nsig = 0;
	tty_push(g, ex);
	if (ex->in != NULL)
		input_pump(ex->in);
	fault("runner.start.after");
}

void
exec_push(struct exec *ex)
{
	struct guest	*g;

	if ((g = guest_ready(ex->box)) == NULL || guest_full(g) ||
	    ex->box->held) {
		ex->box->held = 1;
		/* Who does not come back does not answer. */
		silent_expect(ex->box);
		return;
	}
	exec_send(g, ex);
}

/* In the order of the numbers: the guest refuses one below the highest. */
void
exec_pump(struct box *box)
{
	struct guest	*g;
	struct exec	*ex;

	if ((g = guest_ready(box)) == NULL)
		return;
	RB_FOREACH(ex, execs, &box->execs) {
		if (guest_full(g))
			return;
		if (ex->over)
			continue;
		if (!ex->named) {
			exec_send(g, ex);
			continue;
		}
		tty_push(g, ex);
		if (ex->in != NULL)
			input_pump(ex->in);
	}
	box->held = 0;
}

void
exec_guest_gone(struct box *box)
{
	struct exec	*ex;

	box->held = 1;
	RB_FOREACH(ex, execs, &box->execs) {
		ex->named = ex->stated = 0;
		/* The last one may have been on its way. */
		ex->resize = ex->flags & EXEC_TTY && ex->rows != 0;
		if (ex->in != NULL)
			input_reconnect(ex->in);
	}
}

/* It is lost: its guest does not know it, or died with it. */
void
exec_refuse(struct exec *ex)
{
	struct msg_refused	 m;

	if (ex->over)
		return;
	memset(&m, 0, sizeof(m));
	m.n = ex->box->n;
	m.k = ex->k;
	exec_close(ex);
	pipe_send(&ch_store, MSG_REFUSED, 0, 0, 0, -1, &m);
}

/* What the guest may forget and send: all that is in the log, and read. */
void
exec_credit(struct slog *l)
{
	struct exec	*ex = l->exec;
	struct guest	*g;
	struct gp_ack	 a;
	uint64_t	 to = l->len;

	if (ex == NULL || !ex->named || (g = guest_ready(ex->box)) == NULL)
		return;
	if (l->primary != NULL && l->primary->off < to) {
		to = l->primary->off;
		/* The command waits for this reader now. */
		if (l->len + GP_MAX_DATA > ex->acked[l->stream] + GP_WINDOW)
			reader_watch(l->primary);
	}
	if (to < ex->acked[l->stream] + ACK_STEP)
		return;
	fault("runner.ack.before");
	a.stream = l->stream;
	a.off = to;
	guest_wrote(g, gp_encode_ack(guest_room(g, 64), 64, ex->k, &a));
	ex->acked[l->stream] = to;
}

void
exec_signal(struct box *box, uint64_t k, uint32_t signo)
{
	struct guest	*g = guest_ready(box);
	struct exec	*ex = exec_find(box, k);

	if (ex == NULL || ex->over) {
		/* Processes in the background may be left of it. */
		if (g != NULL)
			exec_send_signal(g, k, signo, GP_SIGNAL_TREE);
	} else if (g != NULL && ex->named)
		exec_send_signal(g, k, signo, 0);
	else if (ex->nsig < EXEC_SIGNALS)
		ex->sig[ex->nsig++] = signo;
}

void
exec_cancel(struct box *box, uint64_t k, uint32_t grace)
{
	struct guest	*g = guest_ready(box);
	struct exec	*ex = exec_find(box, k);

	if (ex != NULL && !ex->over) {
		ex->cancel = 1;
		ex->cancel_grace = grace;
		if (!ex->named)
			return;
	}
	if (g != NULL)
		exec_send_cancel(g, k, grace);
}

void
exec_forget(struct box *box, uint64_t k)
{
	struct guest	*g = guest_ready(box);
	struct exec	*ex = exec_find(box, k);

	fault("runner.forget.before");
	if (k > box->forgotten)
		box->forgotten = k;
	if (g != NULL && (ex == NULL || ex->sent))
		guest_wrote(g, gp_encode_forget(guest_room(g, 64), 64, k));
	if (ex != NULL)
		exec_free(ex);
	fault("runner.forget.after");
}

/*
 * The exec that a frame is about.  0 with NULL: an old one, whose frames
 * were under way when the store forgot it; -1: none that the guest may name.
 */
int
exec_of_frame(struct guest *g, const struct gp_frame *f, struct exec **ex)
{
	if ((*ex = exec_find(g->box, f->k)) == NULL) {
		if (f->k <= g->box->forgotten)
			return (0);
		g->why = "no such exec";
		return (-1);
	}
	if (!(*ex)->named) {
		if ((*ex)->over) {
			*ex = NULL;
			return (0);
		}
		g->why = "not named on this connection";
		return (-1);
	}
	return (0);
}

static void
exec_started(struct exec *ex, uint32_t pid)
{
	struct msg_started	 m;

	if (ex->told || pid == 0)
		return;
	ex->told = 1;
	silent_exec_begun(ex);
	memset(&m, 0, sizeof(m));
	m.n = ex->box->n;
	m.k = ex->k;
	m.pid = pid;
	pipe_send(&ch_store, MSG_STARTED, 0, 0, 0, -1, &m);
	fault("runner.started.after");
}

/* Where the guest goes on must be where the log ends, or behind that. */
static int
exec_state_stream(struct guest *g, struct exec *ex, uint32_t stream,
    uint64_t off, uint64_t len)
{
	struct slog	*l = ex->log[stream];

	if (off < l->len || len < off || len > OFFSET_MAX) {
		g->why = "offsets that cannot be";
		return (-1);
	}
	if (off == l->len)
		return (0);
	log_warnx("exec %s: bytes %" PRIu64 " to %" PRIu64 " of stream %u are "
	    "lost", ex->name, l->len, off, stream);
	slog_skip(l, off);
	ex->acked[stream] = off;
	reader_wake(l);
	return (0);
}

int
exec_recv_state(struct guest *g, const struct gp_frame *f)
{
	struct gp_state	 s;
	struct exec	*ex;

	if (gp_decode_state(&s, f) == -1 || exec_of_frame(g, f, &ex) == -1)
		return (-1);
	if (ex == NULL || ex->over)
		return (0);
	/* One answer to one question: each may move the log's end. */
	if (ex->stated) {
		g->why = "told before";
		return (-1);
	}
	ex->stated = 1;
	exec_args_free(ex);
	if (s.state == GP_ST_BACKGROUND) {
		exec_refuse(ex);
		return (0);
	}
	if (s.state == GP_ST_FAILED)
		return (0);
	if (exec_state_stream(g, ex, GP_STDOUT, s.out, s.out_len) == -1 ||
	    exec_state_stream(g, ex, GP_STDERR, s.err, s.err_len) == -1)
		return (-1);
	if (ex->in != NULL && input_state(ex->in, s.in) == -1) {
		g->why = "more input than was sent";
		return (-1);
	}
	exec_started(ex, s.pid);
	return (0);
}

int
exec_recv_started(struct guest *g, const struct gp_frame *f)
{
	struct gp_started	 s;
	struct exec		*ex;

	if (gp_decode_started(&s, f) == -1 || exec_of_frame(g, f, &ex) == -1)
		return (-1);
	if (ex == NULL)
		return (0);
	if (ex->over) {
		g->why = "started after its end";
		return (-1);
	}
	exec_args_free(ex);
	if (ex->in != NULL && !ex->in->synced &&
	    input_state(ex->in, 0) == -1) {
		g->why = "started again";
		return (-1);
	}
	exec_started(ex, s.pid);
	return (0);
}

/* It never will: told to the store, and to those who wait for output. */
void
exec_not_started(struct exec *ex, uint32_t cause, int32_t errnum,
    const char *text)
{
	struct msg_not_started	 m;

	memset(&m, 0, sizeof(m));
	m.n = ex->box->n;
	m.k = ex->k;
	m.errnum = errnum;
	m.cause = cause;
	snprintf(m.text, sizeof(m.text), "%s", text);
	exec_close(ex);
	fault("runner.not_started.before");
	pipe_send(&ch_store, MSG_NOT_STARTED, 0, 0, 0, -1, &m);
}

int
exec_recv_not_started(struct guest *g, const struct gp_frame *f)
{
	struct gp_not_started	 s;
	struct exec		*ex;
	const char		*text;

	if (gp_decode_not_started(&s, f) == -1 ||
	    exec_of_frame(g, f, &ex) == -1)
		return (-1);
	if (ex == NULL)
		return (0);
	if (s.cause == GP_NS_UNKNOWN) {
		exec_refuse(ex);
		return (0);
	}
	if (ex->over || ex->told || ex->log[GP_STDOUT]->len > 0 ||
	    ex->log[GP_STDERR]->len > 0) {
		g->why = "it had been started";
		return (-1);
	}
	if ((text = tty_cause(ex, &s)) == NULL)
		text = gp_cause_text(s.cause);
	exec_not_started(ex, s.cause, s.error > INT32_MAX ? 0 :
	    (int32_t)s.error, text != NULL ? text : "could not be started");
	return (0);
}

int
exec_recv_output(struct guest *g, const struct gp_frame *f)
{
	struct gp_output	 o;
	struct exec		*ex;
	struct slog		*l;

	if (gp_decode_output(&o, f) == -1 || exec_of_frame(g, f, &ex) == -1)
		return (-1);
	if (ex == NULL)
		return (0);
	if (ex->over) {
		g->why = "output after the end";
		return (-1);
	}
	if (o.stream == GP_STDERR && (ex->flags & EXEC_MERGE)) {
		g->why = "a stream that it does not have";
		return (-1);
	}
	l = ex->log[o.stream];
	if (o.off != l->len) {
		g->why = "an offset that jumps";
		return (-1);
	}
	if (o.off + o.len > ex->acked[o.stream] + GP_WINDOW ||
	    o.off + o.len > OFFSET_MAX) {
		g->why = "more than its credit";
		return (-1);
	}
	fault("runner.output.before");
	slog_append(l, o.data, o.len);
	fault("runner.output.after");
	reader_feed(l, o.off, o.data, o.len);
	exec_credit(l);
	return (0);
}

int
exec_recv_input_ack(struct guest *g, const struct gp_frame *f)
{
	struct gp_input_ack	 a;
	struct exec		*ex;

	if (gp_decode_input_ack(&a, f) == -1 ||
	    exec_of_frame(g, f, &ex) == -1)
		return (-1);
	if (ex == NULL || ex->over)
		return (0);
	if (ex->in == NULL || input_ack(ex->in, a.off, a.flags) == -1) {
		g->why = "input that was not sent";
		return (-1);
	}
	return (0);
}

/* The guest's clock is its own word: no end lies ahead of now. */
static void
exec_times(struct guest *g, const struct gp_exit *e, struct msg_ended *m)
{
	struct timespec	 ts;
	int64_t		 now, start, end;

	if (clock_gettime(CLOCK_REALTIME, &ts) == -1)
		fatal("clock_gettime");
	now = ts.tv_sec * 1000000000LL + ts.tv_nsec;
	end = (int64_t)(e->end + (uint64_t)g->clock);
	start = (int64_t)(e->start + (uint64_t)g->clock);
	if (end > now || end < 0)
		end = now;
	if (start > end || start < 0)
		start = end;
	m->started = start;
	m->ended = end;
}

int
exec_recv_exit(struct guest *g, const struct gp_frame *f)
{
	struct gp_exit		 e;
	struct msg_ended	 m;
	struct exec		*ex;
	struct slog		*out, *err;

	if (gp_decode_exit(&e, f) == -1 || exec_of_frame(g, f, &ex) == -1)
		return (-1);
	if (ex == NULL)
		return (0);
	if (ex->over) {
		g->why = "a second end";
		return (-1);
	}
	out = ex->log[GP_STDOUT];
	err = ex->log[GP_STDERR];
	if (e.out_len != out->len || e.err_len != err->len) {
		g->why = "lengths that are not those of its output";
		return (-1);
	}
	memset(&m, 0, sizeof(m));
	m.n = ex->box->n;
	m.k = ex->k;
	m.kind = e.kind == GP_EXITED ? END_EXITED :
	    e.kind == GP_SIGNALED ? END_SIGNALED :
	    e.kind == GP_TIMED_OUT ? END_TIMED_OUT :
	    e.kind == GP_CANCELLED ? END_CANCELLED : END_LOST;
	m.code = e.signo != 0 ? (int32_t)e.signo : (int32_t)e.code;
	m.length1 = out->len;
	m.length2 = err->len;
	m.dropped1 = out->len - slog_stored(out);
	m.dropped2 = err->len - slog_stored(err);
	m.background = e.background;
	m.oom = (e.flags & GP_EXIT_OOM) != 0;
	if (changed_tell(g, ex, &m) == -1)
		return (-1);
	exec_times(g, &e, &m);
	/* A very short command may end before its start was told. */
	exec_close(ex);
	fault("runner.ended.before");
	pipe_send(&ch_store, MSG_ENDED, 0, 0, 0, -1, &m);
	fault("runner.ended.after");
	return (0);
}
