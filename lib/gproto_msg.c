/*
 * What the frames between the runner and the guest hold: an encoder and a
 * decoder side by side for each.
 */

#include <sys/types.h>

#include <string.h>

#include "gproto.h"
#include "gproto_pack.h"

ssize_t
gp_encode_hello(uint8_t *buf, size_t size, const struct gp_hello *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_HELLO, 0);
	gp_put(&w, m->version, 4);
	gp_put(&w, m->flags, 4);
	gp_put(&w, m->boot, 8);
	gp_put(&w, m->pid, 4);
	gp_put(&w, m->uid, 4);
	gp_put(&w, m->gid, 4);
	gp_put(&w, m->nexecs, 4);
	gp_put(&w, m->last, 8);
	gp_put(&w, m->now, 8);
	gp_put(&w, m->memory, 8);
	gp_put(&w, m->swap, 8);
	gp_put(&w, m->pids, 8);
	gp_put(&w, m->mcpus, 8);
	gp_put_data(&w, m->release, strlen(m->release) + 1);
	return (gp_end(&w));
}

int
gp_decode_hello(struct gp_hello *m, const struct gp_frame *f)
{
	struct gp_reader	 r;
	size_t			 n;

	memset(m, 0, sizeof(*m));
	gp_open(&r, f, GP_HELLO);
	m->version = gp_take(&r, 4);
	m->flags = gp_take(&r, 4);
	m->boot = gp_take(&r, 8);
	m->pid = gp_take(&r, 4);
	m->uid = gp_take(&r, 4);
	m->gid = gp_take(&r, 4);
	m->nexecs = gp_take(&r, 4);
	m->last = gp_take(&r, 8);
	m->now = gp_take(&r, 8);
	m->memory = gp_take(&r, 8);
	m->swap = gp_take(&r, 8);
	m->pids = gp_take(&r, 8);
	m->mcpus = gp_take(&r, 8);
	n = r.left;
	m->release = (const char *)gp_take_data(&r, n);
	if (gp_close(&r) == -1 || n == 0 || m->nexecs > GP_MAX_EXECS ||
	    memchr(m->release, '\0', n) != m->release + n - 1)
		return (-1);
	return (0);
}

ssize_t
gp_encode_welcome(uint8_t *buf, size_t size, const struct gp_welcome *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_WELCOME, 0);
	gp_put(&w, m->version, 4);
	return (gp_end(&w));
}

int
gp_decode_welcome(struct gp_welcome *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_WELCOME);
	m->version = gp_take(&r, 4);
	return (gp_close(&r));
}

ssize_t
gp_encode_state(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_state *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_STATE, k);
	gp_put(&w, m->state, 4);
	gp_put(&w, m->pid, 4);
	gp_put(&w, m->out, 8);
	gp_put(&w, m->out_len, 8);
	gp_put(&w, m->err, 8);
	gp_put(&w, m->err_len, 8);
	gp_put(&w, m->in, 8);
	gp_put(&w, m->start, 8);
	gp_put(&w, m->background, 4);
	return (gp_end(&w));
}

int
gp_decode_state(struct gp_state *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_STATE);
	m->state = gp_take(&r, 4);
	m->pid = gp_take(&r, 4);
	m->out = gp_take(&r, 8);
	m->out_len = gp_take(&r, 8);
	m->err = gp_take(&r, 8);
	m->err_len = gp_take(&r, 8);
	m->in = gp_take(&r, 8);
	m->start = gp_take(&r, 8);
	m->background = gp_take(&r, 4);
	if (gp_close(&r) == -1 || m->state < GP_ST_RUNNING ||
	    m->state > GP_ST_BACKGROUND || m->out > m->out_len ||
	    m->err > m->err_len || m->out_len - m->out > GP_WINDOW ||
	    m->err_len - m->err > GP_WINDOW)
		return (-1);
	return (0);
}

ssize_t
gp_encode_states_end(uint8_t *buf, size_t size,
    const struct gp_states_end *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_STATES_END, 0);
	gp_put(&w, m->count, 4);
	return (gp_end(&w));
}

int
gp_decode_states_end(struct gp_states_end *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_STATES_END);
	m->count = gp_take(&r, 4);
	if (gp_close(&r) == -1 || m->count > GP_MAX_EXECS)
		return (-1);
	return (0);
}

/* Whether a block holds exactly n strings, none longer than an argument. */
static int
gp_check_strings(const char *s, size_t len, uint32_t n)
{
	const char	*e;

	for (; n > 0; n--) {
		if (len == 0 || (e = memchr(s, '\0', len)) == NULL ||
		    e - s > GP_MAX_ARG)
			return (-1);
		len -= e + 1 - s;
		s = e + 1;
	}
	return (len == 0 ? 0 : -1);
}

static int
gp_check_env(const struct gp_start *m)
{
	const char	*s = NULL;

	while ((s = gp_next(s, m->env, m->envlen)) != NULL)
		if (*s == '=' || strchr(s, '=') == NULL)
			return (-1);
	return (0);
}

static int
gp_check_size(uint32_t rows, uint32_t cols)
{
	return (rows < 1 || rows > GP_MAX_SIZE || cols < 1 ||
	    cols > GP_MAX_SIZE ? -1 : 0);
}

static int
gp_check_start(const struct gp_start *m)
{
	if ((m->flags & GP_START_TTY) != 0 &&
	    gp_check_size(m->rows, m->cols) == -1)
		return (-1);
	if ((m->flags & GP_START_SCOPE) != 0 &&
	    ((m->flags & GP_START_CHANGES) == 0 || *m->scope == '\0' ||
	    strlen(m->scope) > GP_MAX_SCOPE))
		return (-1);
	if ((m->flags & ~GP_START_FLAGS) != 0 || m->timeout > GP_MAX_MS ||
	    m->grace > GP_MAX_MS || m->argc < 1 || m->argc > GP_MAX_ENTRIES ||
	    m->envc > GP_MAX_ENTRIES - m->argc ||
	    gp_check_strings(m->args, m->argslen, m->argc) == -1 ||
	    gp_check_strings(m->env, m->envlen, m->envc) == -1)
		return (-1);
	return (gp_check_env(m));
}

ssize_t
gp_encode_start(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_start *m)
{
	struct gp_writer	 w;

	if (strlen(m->dir) > GP_MAX_DIR || m->argslen > GP_MAX_STRINGS ||
	    m->envlen > GP_MAX_STRINGS || gp_check_start(m) == -1)
		return (-1);
	gp_begin(&w, buf, size, GP_START, k);
	gp_put(&w, m->flags, 4);
	gp_put(&w, m->timeout, 4);
	gp_put(&w, m->grace, 4);
	gp_put(&w, m->out, 8);
	gp_put(&w, m->err, 8);
	if ((m->flags & GP_START_TTY) != 0) {
		gp_put(&w, m->rows, 2);
		gp_put(&w, m->cols, 2);
	}
	if ((m->flags & GP_START_SCOPE) != 0) {
		gp_put(&w, strlen(m->scope) + 1, 2);
		gp_put_data(&w, m->scope, strlen(m->scope) + 1);
	}
	gp_put(&w, m->argc, 2);
	gp_put(&w, m->envc, 2);
	gp_put(&w, m->argslen, 4);
	gp_put_data(&w, m->args, m->argslen);
	gp_put_data(&w, m->env, m->envlen);
	gp_put_data(&w, m->dir, strlen(m->dir) + 1);
	return (gp_end(&w));
}

static int
gp_take_scope(struct gp_start *m, struct gp_reader *r)
{
	size_t	 len = gp_take(r, 2);

	m->scope = (const char *)gp_take_data(r, len);
	return (r->bad || len < 2 ||
	    memchr(m->scope, '\0', len) != m->scope + len - 1 ? -1 : 0);
}

/*
 * The strings follow each other: arguments in a block of known length, the
 * environment, and last the directory, which is what begins after the
 * environment's envc strings.
 */
int
gp_decode_start(struct gp_start *m, const struct gp_frame *f)
{
	struct gp_reader	 r;
	const uint8_t		*p, *e;
	uint32_t		 i;

	memset(m, 0, sizeof(*m));
	gp_open(&r, f, GP_START);
	m->flags = gp_take(&r, 4);
	m->timeout = gp_take(&r, 4);
	m->grace = gp_take(&r, 4);
	m->out = gp_take(&r, 8);
	m->err = gp_take(&r, 8);
	if ((m->flags & GP_START_TTY) != 0) {
		m->rows = gp_take(&r, 2);
		m->cols = gp_take(&r, 2);
	}
	if ((m->flags & GP_START_SCOPE) != 0 && gp_take_scope(m, &r) == -1)
		return (-1);
	m->argc = gp_take(&r, 2);
	m->envc = gp_take(&r, 2);
	m->argslen = gp_take(&r, 4);
	m->args = (const char *)gp_take_data(&r, m->argslen);
	if (r.bad || m->envc > GP_MAX_ENTRIES)
		return (-1);
	m->env = (const char *)r.data;
	for (i = 0, p = r.data; i < m->envc; i++, p = e + 1) {
		e = memchr(p, '\0', r.left - (p - r.data));
		if (e == NULL)
			return (-1);
	}
	m->envlen = p - r.data;
	gp_take_data(&r, m->envlen);
	m->dir = (const char *)r.data;
	if (r.left < 1 || r.left > GP_MAX_DIR + 1 ||
	    memchr(r.data, '\0', r.left) != r.data + r.left - 1)
		return (-1);
	return (gp_check_start(m));
}

ssize_t
gp_encode_resume(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_resume *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_RESUME, k);
	gp_put(&w, m->out, 8);
	gp_put(&w, m->err, 8);
	return (gp_end(&w));
}

int
gp_decode_resume(struct gp_resume *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_RESUME);
	m->out = gp_take(&r, 8);
	m->err = gp_take(&r, 8);
	return (gp_close(&r));
}

ssize_t
gp_encode_started(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_started *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_STARTED, k);
	gp_put(&w, m->pid, 4);
	gp_put(&w, m->start, 8);
	return (gp_end(&w));
}

int
gp_decode_started(struct gp_started *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_STARTED);
	m->pid = gp_take(&r, 4);
	m->start = gp_take(&r, 8);
	return (gp_close(&r));
}

ssize_t
gp_encode_not_started(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_not_started *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_NOT_STARTED, k);
	gp_put(&w, m->cause, 4);
	gp_put(&w, m->error, 4);
	return (gp_end(&w));
}

int
gp_decode_not_started(struct gp_not_started *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_NOT_STARTED);
	m->cause = gp_take(&r, 4);
	m->error = gp_take(&r, 4);
	if (gp_close(&r) == -1 || gp_cause_text(m->cause) == NULL ||
	    m->error > 4095)
		return (-1);
	return (0);
}

static int
gp_check_stream(uint32_t stream)
{
	return (stream == GP_STDOUT || stream == GP_STDERR ? 0 : -1);
}

ssize_t
gp_encode_output(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_output *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_OUTPUT, k);
	gp_put(&w, m->stream, 4);
	gp_put(&w, m->off, 8);
	gp_put_data(&w, m->data, m->len);
	return (gp_end(&w));
}

ssize_t
gp_encode_output_head(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_output *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_OUTPUT, k);
	gp_put(&w, m->stream, 4);
	gp_put(&w, m->off, 8);
	return (gp_end_head(&w, m->len));
}

int
gp_decode_output_head(struct gp_output *m, struct gp_frame *f,
    const uint8_t *buf, size_t len)
{
	struct gp_reader	 r;

	if (len != GP_OUTPUT_HEAD || gp_get(f, buf, len, GP_GUEST) != 0 ||
	    f->type != GP_OUTPUT)
		return (-1);
	f->data = buf + GP_HDRLEN;
	f->len = len - GP_HDRLEN;
	gp_open(&r, f, GP_OUTPUT);
	m->stream = gp_take(&r, 4);
	m->off = gp_take(&r, 8);
	m->data = NULL;
	m->len = f->total - len;
	if (gp_close(&r) == -1 || gp_check_stream(m->stream) == -1 ||
	    m->off > UINT64_MAX - m->len)
		return (-1);
	return (0);
}

int
gp_decode_output(struct gp_output *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_OUTPUT);
	m->stream = gp_take(&r, 4);
	m->off = gp_take(&r, 8);
	m->len = r.left;
	m->data = gp_take_data(&r, m->len);
	if (gp_close(&r) == -1 || gp_check_stream(m->stream) == -1 ||
	    m->len == 0 || m->off > UINT64_MAX - m->len)
		return (-1);
	return (0);
}

ssize_t
gp_encode_ack(uint8_t *buf, size_t size, uint64_t k, const struct gp_ack *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_ACK, k);
	gp_put(&w, m->stream, 4);
	gp_put(&w, m->off, 8);
	return (gp_end(&w));
}

int
gp_decode_ack(struct gp_ack *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_ACK);
	m->stream = gp_take(&r, 4);
	m->off = gp_take(&r, 8);
	if (gp_close(&r) == -1)
		return (-1);
	return (gp_check_stream(m->stream));
}

ssize_t
gp_encode_input(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_input *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_INPUT, k);
	gp_put(&w, m->off, 8);
	gp_put_data(&w, m->data, m->len);
	return (gp_end(&w));
}

int
gp_decode_input(struct gp_input *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_INPUT);
	m->off = gp_take(&r, 8);
	m->len = r.left;
	m->data = gp_take_data(&r, m->len);
	if (gp_close(&r) == -1 || m->len == 0 ||
	    m->off > UINT64_MAX - m->len)
		return (-1);
	return (0);
}

ssize_t
gp_encode_input_ack(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_input_ack *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_INPUT_ACK, k);
	gp_put(&w, m->flags, 4);
	gp_put(&w, m->off, 8);
	return (gp_end(&w));
}

int
gp_decode_input_ack(struct gp_input_ack *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_INPUT_ACK);
	m->flags = gp_take(&r, 4);
	m->off = gp_take(&r, 8);
	return (gp_close(&r));
}

ssize_t
gp_encode_input_end(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_input_end *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_INPUT_END, k);
	gp_put(&w, m->total, 8);
	return (gp_end(&w));
}

int
gp_decode_input_end(struct gp_input_end *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_INPUT_END);
	m->total = gp_take(&r, 8);
	return (gp_close(&r));
}

ssize_t
gp_encode_signal(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_signal *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_SIGNAL, k);
	gp_put(&w, m->signo, 4);
	gp_put(&w, m->flags, 4);
	return (gp_end(&w));
}

int
gp_decode_signal(struct gp_signal *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_SIGNAL);
	m->signo = gp_take(&r, 4);
	m->flags = gp_take(&r, 4);
	if (gp_close(&r) == -1 || m->signo < 1 || m->signo > 64 ||
	    (m->flags & ~GP_SIGNAL_TREE) != 0)
		return (-1);
	return (0);
}

ssize_t
gp_encode_resize(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_resize *m)
{
	struct gp_writer	 w;

	if (gp_check_size(m->rows, m->cols) == -1)
		return (-1);
	gp_begin(&w, buf, size, GP_RESIZE, k);
	gp_put(&w, m->rows, 2);
	gp_put(&w, m->cols, 2);
	return (gp_end(&w));
}

int
gp_decode_resize(struct gp_resize *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_RESIZE);
	m->rows = gp_take(&r, 2);
	m->cols = gp_take(&r, 2);
	if (gp_close(&r) == -1)
		return (-1);
	return (gp_check_size(m->rows, m->cols));
}

ssize_t
gp_encode_cancel(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_cancel *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_CANCEL, k);
	gp_put(&w, m->grace, 4);
	return (gp_end(&w));
}

int
gp_decode_cancel(struct gp_cancel *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_CANCEL);
	m->grace = gp_take(&r, 4);
	if (gp_close(&r) == -1 || m->grace > GP_MAX_MS)
		return (-1);
	return (0);
}

ssize_t
gp_encode_exit(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_exit *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_EXIT, k);
	gp_put(&w, m->kind, 2);
	gp_put(&w, m->flags, 2);
	gp_put(&w, m->code, 4);
	gp_put(&w, m->signo, 4);
	gp_put(&w, m->background, 4);
	gp_put(&w, m->out_len, 8);
	gp_put(&w, m->err_len, 8);
	gp_put(&w, m->start, 8);
	gp_put(&w, m->end, 8);
	gp_put(&w, 0, 4);
	return (gp_end(&w));
}

int
gp_decode_exit(struct gp_exit *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_EXIT);
	m->kind = gp_take(&r, 2);
	m->flags = gp_take(&r, 2);
	m->code = gp_take(&r, 4);
	m->signo = gp_take(&r, 4);
	m->background = gp_take(&r, 4);
	m->out_len = gp_take(&r, 8);
	m->err_len = gp_take(&r, 8);
	m->start = gp_take(&r, 8);
	m->end = gp_take(&r, 8);
	if (gp_take(&r, 4) != 0 || gp_close(&r) == -1 ||
	    m->kind < GP_EXITED || m->kind > GP_LOST || m->code > 255 ||
	    m->signo > 64 || (m->signo != 0 && m->code != 0) ||
	    (m->kind == GP_EXITED && m->signo != 0) ||
	    (m->kind == GP_SIGNALED && m->signo == 0) || m->end < m->start)
		return (-1);
	return (0);
}

ssize_t
gp_encode_background(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_background *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_BACKGROUND, k);
	gp_put(&w, m->count, 4);
	gp_put(&w, m->discarded, 8);
	return (gp_end(&w));
}

int
gp_decode_background(struct gp_background *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_BACKGROUND);
	m->count = gp_take(&r, 4);
	m->discarded = gp_take(&r, 8);
	return (gp_close(&r));
}

/* Frames without a payload. */
static ssize_t
gp_encode_empty(uint8_t *buf, size_t size, unsigned int type, uint64_t k)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, type, k);
	return (gp_end(&w));
}

static int
gp_decode_empty(const struct gp_frame *f, unsigned int type)
{
	struct gp_reader	 r;

	gp_open(&r, f, type);
	return (gp_close(&r));
}

ssize_t
gp_encode_forget(uint8_t *buf, size_t size, uint64_t k)
{
	return (gp_encode_empty(buf, size, GP_FORGET, k));
}

int
gp_decode_forget(const struct gp_frame *f)
{
	return (gp_decode_empty(f, GP_FORGET));
}

ssize_t
gp_encode_stop(uint8_t *buf, size_t size, const struct gp_stop *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, GP_STOP, 0);
	gp_put(&w, m->grace, 4);
	return (gp_end(&w));
}

int
gp_decode_stop(struct gp_stop *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	gp_open(&r, f, GP_STOP);
	m->grace = gp_take(&r, 4);
	if (gp_close(&r) == -1 || m->grace > GP_MAX_MS)
		return (-1);
	return (0);
}

ssize_t
gp_encode_bye(uint8_t *buf, size_t size)
{
	return (gp_encode_empty(buf, size, GP_BYE, 0));
}

int
gp_decode_bye(const struct gp_frame *f)
{
	return (gp_decode_empty(f, GP_BYE));
}

/* PING and PONG carry the same. */
static ssize_t
gp_encode_cookie(uint8_t *buf, size_t size, unsigned int type,
    const struct gp_ping *m)
{
	struct gp_writer	 w;

	gp_begin(&w, buf, size, type, 0);
	gp_put(&w, m->cookie, 8);
	return (gp_end(&w));
}

static int
gp_decode_cookie(struct gp_ping *m, const struct gp_frame *f,
    unsigned int type)
{
	struct gp_reader	 r;

	gp_open(&r, f, type);
	m->cookie = gp_take(&r, 8);
	return (gp_close(&r));
}

ssize_t
gp_encode_ping(uint8_t *buf, size_t size, const struct gp_ping *m)
{
	return (gp_encode_cookie(buf, size, GP_PING, m));
}

int
gp_decode_ping(struct gp_ping *m, const struct gp_frame *f)
{
	return (gp_decode_cookie(m, f, GP_PING));
}

ssize_t
gp_encode_pong(uint8_t *buf, size_t size, const struct gp_ping *m)
{
	return (gp_encode_cookie(buf, size, GP_PONG, m));
}

int
gp_decode_pong(struct gp_ping *m, const struct gp_frame *f)
{
	return (gp_decode_cookie(m, f, GP_PONG));
}
