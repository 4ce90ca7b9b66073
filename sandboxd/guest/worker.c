/*
 * A worker: waits for a call, carries it out with the rights of the sandbox's
 * user, and waits for the next.  It has a socket to PID 1 and nothing else;
 * the end of that is its own end.
 */

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"

static uint8_t	 inbuf[GP_HDRLEN + 64 + GP_MAX_DATA];
static uint8_t	 callbuf[GP_HDRLEN + GP_MAX_CALL];
static uint8_t	 outbuf[GP_OUTPUT_HEAD + GP_MAX_DATA];

static const job_fn	 ops[CALL_MAX + 1] = {
	[CALL_STAT] = fs_stat,
	[CALL_READ] = fs_read,
	[CALL_WRITE] = fs_write,
	[CALL_LIST] = fs_list,
	[CALL_MKDIR] = fs_mkdir,
	[CALL_REMOVE] = fs_remove,
	[CALL_MOVE] = fs_move,
	[CALL_COPY] = fs_copy,
	[CALL_CHMOD] = fs_chmod,
	[CALL_TRUNCATE] = fs_truncate,
	[CALL_LINK] = fs_link,
	[CALL_SYMLINK] = fs_symlink,
	[CALL_USAGE] = fs_usage,
	[CALL_GLOB] = fs_glob,
	[CALL_GREP] = fs_grep,
	[CALL_LINES] = fs_lines,
	[CALL_EDIT] = fs_edit,
	[CALL_WATCH] = fs_watch,
	[CALL_TREE_GET] = fs_tree_get,
	[CALL_TREE_PUT] = fs_tree_put,
	[CALL_MARK] = fs_mark,
	[CALL_DIFF] = fs_diff,
	[CALL_CONNECT] = net_connect,
	[CALL_CHANGES] = fs_changes,
	[CALL_TREE_COPY] = fs_tree_copy,
	[CALL_CHANGED] = fs_changed,
};

static int
packet_send(const uint8_t *buf, size_t len)
{
	ssize_t	 n;

	do {
		n = send(WORK_FD, buf, len, MSG_NOSIGNAL);
	} while (n == -1 && errno == EINTR);
	return (n == (ssize_t)len ? 0 : -1);
}

/* The same, with a descriptor. */
static int
packet_send_fd(const uint8_t *buf, size_t len, int fd)
{
	ssize_t	 n;

	do {
		n = packet_put(WORK_FD, buf, len, fd, 0);
	} while (n == -1 && errno == EINTR);
	return (n == (ssize_t)len ? 0 : -1);
}

static ssize_t
packet_recv(uint8_t *buf, size_t size)
{
	ssize_t	 n;

	do {
		n = recv(WORK_FD, buf, size, 0);
	} while (n == -1 && errno == EINTR);
	return (n);
}

/* What is in the frame goes out. */
static int
out_flush(struct job *j)
{
	struct gp_output	 m;
	ssize_t			 n;

	if (j->outlen == 0)
		return (j->lost ? -1 : 0);
	m.stream = GP_STDOUT;
	m.off = j->end.out;
	m.data = outbuf + GP_OUTPUT_HEAD;
	m.len = j->outlen;
	/* The data is in its place already. */
	n = gp_encode_output(outbuf, sizeof(outbuf), j->k, &m);
	j->end.out += j->outlen;
	j->outlen = 0;
	if (j->lost || n == -1 || packet_send(outbuf, n) == -1) {
		j->lost = 1;
		return (-1);
	}
	return (0);
}

int
job_poured(struct job *j, size_t len)
{
	struct gp_output	 m;
	uint8_t			 buf[GP_OUTPUT_HEAD];
	ssize_t			 n;

	m.stream = GP_STDOUT;
	m.off = j->end.out;
	m.len = len;
	n = gp_encode_output_head(buf, sizeof(buf), j->k, &m);
	j->end.out += len;
	if (n == -1 || packet_send_fd(buf, n, j->pour[0]) == -1) {
		j->lost = 1;
		return (-1);
	}
	/* With the first one the pipe has gone. */
	if (j->pour[0] != -1)
		close(j->pour[0]);
	j->pour[0] = -1;
	return (0);
}

uint8_t *
job_room(struct job *j, size_t n)
{
	if (n > GP_MAX_DATA)
		return (NULL);
	if (n > GP_MAX_DATA - j->outlen && out_flush(j) == -1)
		j->outlen = 0;
	return (outbuf + GP_OUTPUT_HEAD + j->outlen);
}

int
job_put(struct job *j, size_t n)
{
	j->outlen += n;
	if (j->outlen == GP_MAX_DATA)
		return (out_flush(j));
	return (j->lost ? -1 : 0);
}

int
job_out(struct job *j, const void *data, size_t len)
{
	const uint8_t	*p = data;
	size_t		 n;

	while (len > 0) {
		n = GP_MAX_DATA - j->outlen;
		if (n > len)
			n = len;
		memcpy(outbuf + GP_OUTPUT_HEAD + j->outlen, p, n);
		p += n;
		len -= n;
		if (job_put(j, n) == -1)
			return (-1);
	}
	return (j->lost ? -1 : 0);
}

int
job_flush(struct job *j)
{
	return (out_flush(j));
}

int
job_out_end(struct job *j)
{
	struct gp_output_end	 m;
	uint8_t			 buf[GP_HDRLEN + 8];
	ssize_t			 n;

	if (out_flush(j) == -1)
		return (-1);
	m.total = j->end.out;
	n = gp_encode_output_end(buf, sizeof(buf), j->k, &m);
	if (n == -1 || packet_send(buf, n) == -1) {
		j->lost = 1;
		return (-1);
	}
	return (0);
}

/* A packet of the input.  0, or -1 when it is given up. */
static int
in_packet(struct job *j)
{
	struct gp_input_end	 e;
	struct gp_input		 m;
	struct gp_frame		 f;
	ssize_t			 n;

	if ((n = packet_recv(inbuf, sizeof(inbuf))) <= 0 ||
	    gp_get(&f, inbuf, n, GP_RUNNER) != 1 || f.k != j->k) {
		j->lost = 1;
		return (-1);
	}
	if (f.type == GP_INPUT && gp_decode_input(&m, &f) == 0) {
		j->in = m.data;
		j->inlen = m.len;
		return (0);
	}
	if (f.type == GP_INPUT_END && gp_decode_input_end(&e, &f) == 0 &&
	    e.total == j->end.in) {
		j->in_over = 1;
		return (0);
	}
	j->lost = 1;
	return (-1);
}

ssize_t
job_in(struct job *j, const uint8_t **p)
{
	size_t	 n;

	while (j->inlen == 0) {
		if (j->in_over)
			return (0);
		if (j->lost || in_packet(j) == -1)
			return (-1);
	}
	n = j->inlen;
	*p = j->in;
	j->inlen = 0;
	j->end.in += n;
	return (n);
}

int
job_wanted(struct job *j)
{
	struct pollfd	 pfd;

	pfd.fd = WORK_FD;
	pfd.events = 0;
	pfd.revents = 0;
	if (!j->lost && poll(&pfd, 1, 0) == 1 && pfd.revents & POLLHUP)
		j->lost = 1;
	return (!j->lost);
}

int
job_fail(struct job *j, enum code code, const char *fmt, ...)
{
	va_list	 ap;

	if (j->end.code != CODE_OK)
		return (-1);
	j->end.code = code;
	va_start(ap, fmt);
	vsnprintf(j->text, sizeof(j->text), fmt, ap);
	va_end(ap);
	return (-1);
}

/* The path is the client's own: the error alone is news. */
int
job_errno(struct job *j, int error, const char *what)
{
	return (job_fail(j, errno_code(error), "%s%s%s", what,
	    *what == '\0' ? "" : ": ", strerror(error)));
}

/* What was read of the input in vain PID 1 does not send any more. */
static void
job_finish(struct job *j)
{
	ssize_t	 n;

	(void)out_flush(j);
	fs_pour_end(j);
	if (j->lost)
		_exit(0);
	j->end.text = j->text;
	n = gp_encode_call_end(outbuf, sizeof(outbuf), j->k, &j->end);
	if (n == -1 || packet_send_fd(outbuf, n, j->give) == -1)
		_exit(0);
	if (j->give != -1)
		close(j->give);
	if (j->mark != -1)
		close(j->mark);
}

/* A call, and the mark that it may need. */
static ssize_t
call_recv(struct job *j)
{
	ssize_t	 n;

	memset(j, 0, sizeof(*j));
	j->give = j->pour[0] = j->pour[1] = -1;
	do {
		n = packet_get(WORK_FD, callbuf, sizeof(callbuf), &j->mark, 0);
	} while (n == -1 && errno == EINTR);
	return (n);
}

static int
ops_has(const struct job *j)
{
	if (j->m.op == CALL_CHANGED)
		return ((j->k & CALL_OWN) != 0);
	return (j->m.op < CALL_MAX && ops[j->m.op] != NULL);
}

__attribute__((__noreturn__)) void
worker_main(void)
{
	struct gp_frame	 f;
	struct job	 j;
	ssize_t		 n;

	while ((n = call_recv(&j)) > 0) {
		/* Input of a call that has ended without it. */
		if (gp_get(&f, callbuf, n, GP_RUNNER) != 1 ||
		    f.type != GP_CALL)
			continue;
		if (gp_decode_call(&j.m, &f) == -1)
			_exit(1);
		j.k = f.k;
		if (ops_has(&j))
			ops[j.m.op](&j);
		else
			job_fail(&j, CODE_UNSUPPORTED,
			    "this guest does not know the call");
		job_finish(&j);
	}
	_exit(0);
}
