/* libsandbox: the connection, requests out and answers in. */

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sandbox_int.h"

#define HELLO_WAIT	60000	/* ms; the daemon may be recovering */
#define REOPEN_FIRST	10	/* ms between tries, doubled up to ... */
#define REOPEN_LAST	1000

static void
set_error(struct sandbox_error *e, enum code code, int lost, const char *fmt,
    va_list ap)
{
	memset(e, 0, sizeof(*e));
	e->code = code;
	e->lost = lost;
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
}

int
sandbox_fail(struct sandbox *sb, enum code code, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	set_error(&sb->err, code, 0, fmt, ap);
	va_end(ap);
	return (-1);
}

static void
drop_connection(struct sandbox *sb)
{
	if (sb->fd == -1)
		return;
	imsgbuf_clear(&sb->ibuf);
	close(sb->fd);
	sb->fd = -1;
}

int
sandbox_lost(struct sandbox *sb, enum code code, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	set_error(&sb->err, code, 1, fmt, ap);
	va_end(ap);
	drop_connection(sb);
	return (-1);
}

void
sandbox_hang_up(struct sandbox *sb)
{
	sb->err.lost = 1;
	drop_connection(sb);
}

void
sandbox_set_error(struct sandbox *sb, const struct proto_error *e)
{
	memset(&sb->err, 0, sizeof(sb->err));
	sb->err.code = code_number(e->code);
	memcpy(sb->err.text, e->text, sizeof(sb->err.text));
	memcpy(sb->err.field, e->field, sizeof(sb->err.field));
}

static int
lost_by_errno(struct sandbox *sb)
{
	if (errno == EPIPE || errno == ECONNRESET)
		return (sandbox_lost(sb, CODE_UNAVAILABLE,
		    "connection to the daemon lost"));
	return (sandbox_lost(sb, CODE_UNAVAILABLE,
	    "connection to the daemon lost: %s", strerror(errno)));
}

void
sandbox_answer_clear(struct sandbox_answer *a)
{
	const struct msg_def	*def;

	if (a->fd != -1)
		close(a->fd);
	a->fd = -1;
	if ((def = proto_def(a->type)) != NULL)
		msg_clear(&a->u, def);
}

static void
held_clear(struct sandbox *sb)
{
	struct held	*h;

	while ((h = TAILQ_FIRST(&sb->held)) != NULL) {
		TAILQ_REMOVE(&sb->held, h, entry);
		sandbox_answer_clear(&h->a);
		free(h);
	}
}

/* One message into an answer: 0, or -1 if the daemon talks nonsense. */
static int
decode(struct sandbox *sb, struct imsg *imsg, struct sandbox_answer *a)
{
	const struct msg_def	*def;
	const char		*field, *why;
	uint32_t		 type = imsg_get_type(imsg);

	a->req = imsg_get_id(imsg);
	a->type = type;
	a->fd = imsg_get_fd(imsg);
	if (type == PROTO_HELLO_OK || type < PROTO_HELLO_OK ||
	    (def = proto_def(type)) == NULL || def->size > sizeof(a->u)) {
		a->type = 0;
		sandbox_answer_clear(a);
		return (sandbox_lost(sb, CODE_PROTOCOL,
		    "the daemon sent a message of unknown type %u", type));
	}
	/* A newer daemon may say more, an older one less. */
	if (msg_decode_map_newer(&a->u, def, proto_fields(type, 0),
	    ibuf_data(imsg->buf), ibuf_size(imsg->buf), &field,
	    &why) == -1) {
		a->type = 0;
		sandbox_answer_clear(a);
		return (sandbox_lost(sb, CODE_PROTOCOL,
		    "the daemon sent a bad %s: %s: %s", def->name,
		    field == NULL ? "message" : field, why));
	}
	return (0);
}

/* A whole message out of what has been read: 1, 0, or -1. */
static int
get(struct sandbox *sb, struct sandbox_answer *a)
{
	struct imsg	 imsg;
	int		 n;

	if (sb->fd == -1)
		return (-1);
	if ((n = imsgbuf_get(&sb->ibuf, &imsg)) == -1)
		return (sandbox_lost(sb, CODE_PROTOCOL,
		    "the daemon sent a malformed message"));
	if (n == 0)
		return (0);
	n = decode(sb, &imsg, a);
	imsg_free(&imsg);
	return (n == -1 ? -1 : 1);
}

/* Reads once: 0, also if nothing was there, or -1 if the connection ended. */
static int
fill(struct sandbox *sb)
{
	int	 n;

	if ((n = imsgbuf_read(&sb->ibuf)) == -1)
		return (lost_by_errno(sb));
	if (n == 0)
		return (sandbox_lost(sb, CODE_UNAVAILABLE,
		    "connection to the daemon lost"));
	return (0);
}

int64_t
sandbox_now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/* Waits for the socket: 1, 0 at the deadline (-1: none). */
static int
wait_fd(struct sandbox *sb, short events, int64_t deadline)
{
	struct pollfd	 pfd;
	int64_t		 left = -1;
	int		 n;

	for (;;) {
		if (deadline != -1 && (left = deadline - sandbox_now()) < 0)
			left = 0;
		pfd.fd = sb->fd;
		pfd.events = events;
		n = poll(&pfd, 1, (int)left);
		if (n != -1)
			return (n);
		if (errno != EINTR)
			return (1);	/* the read will tell */
	}
}

/* The next answer off the wire. */
static int
next(struct sandbox *sb, struct sandbox_answer *a, int timeout)
{
	int64_t	 deadline;
	int	 n;

	if (sb->fd == -1) {
		sb->err.lost = 1;
		return (-1);
	}
	deadline = timeout < 0 ? -1 : sandbox_now() + timeout;
	for (;;) {
		if ((n = get(sb, a)) != 0)
			return (n);
		if (!wait_fd(sb, POLLIN, deadline))
			return (0);
		if (fill(sb) == -1)
			return (-1);
	}
}

int
sandbox_recv(struct sandbox *sb, struct sandbox_answer *a, int timeout)
{
	struct held	*h;

	if ((h = TAILQ_FIRST(&sb->held)) != NULL) {
		TAILQ_REMOVE(&sb->held, h, entry);
		*a = h->a;
		free(h);
		return (1);
	}
	return (next(sb, a, timeout));
}

static int
hold(struct sandbox *sb, struct sandbox_answer *a)
{
	struct held	*h;

	if ((h = malloc(sizeof(*h))) == NULL) {
		sandbox_answer_clear(a);
		return (sandbox_lost(sb, CODE_INTERNAL, "out of memory"));
	}
	h->a = *a;
	TAILQ_INSERT_TAIL(&sb->held, h, entry);
	return (0);
}

int
sandbox_recv_req(struct sandbox *sb, uint32_t req, struct sandbox_answer *a,
    int timeout)
{
	struct held	*h;
	int		 n;

	TAILQ_FOREACH(h, &sb->held, entry) {
		if (h->a.req != req)
			continue;
		TAILQ_REMOVE(&sb->held, h, entry);
		*a = h->a;
		free(h);
		return (1);
	}
	for (;;) {
		if ((n = next(sb, a, timeout)) != 1)
			return (n);
		if (a->req == req)
			return (1);
		/* Number 0 is none of ours: it concerns the connection. */
		if (a->req == 0 && a->type == PROTO_ERROR) {
			(void)sandbox_lost(sb, code_number(a->u.error.code),
			    "%s", a->u.error.text);
			sandbox_answer_clear(a);
			return (-1);
		}
		if (hold(sb, a) == -1)
			return (-1);
	}
}

int
sandbox_pending(const struct sandbox *sb)
{
	struct imsg_hdr	 hdr;
	size_t		 have;

	if (!TAILQ_EMPTY(&sb->held))
		return (1);
	if (sb->fd == -1)
		return (1);
	if ((have = sb->ibuf.rlen - sb->ibuf.rpos) < sizeof(hdr))
		return (0);
	memcpy(&hdr, sb->ibuf.rdata + sb->ibuf.rpos, sizeof(hdr));
	return (have >= (hdr.len & ~IMSG_FD_MARK));
}

/* As much as the socket takes: 1 if some is left, 0, or -1. */
int
sandbox_write_queued(struct sandbox *sb)
{
	if (sb->fd == -1) {
		sb->err.lost = 1;
		return (-1);
	}
	if (imsgbuf_write(&sb->ibuf) == -1) {
		/* What it said before it went is still to be read. */
		if (errno != EPIPE && errno != ECONNRESET)
			return (lost_by_errno(sb));
		msgbuf_clear(&sb->ibuf.w);
	}
	return (imsgbuf_queuelen(&sb->ibuf) != 0);
}

/*
 * Writes what is queued.  While the daemon takes nothing its answers are
 * read, so that the two never wait for each other.
 */
static int
flush(struct sandbox *sb)
{
	struct sandbox_answer	 a;
	int			 n;

	for (;;) {
		if ((n = sandbox_write_queued(sb)) != 1)
			return (n);
		while ((n = get(sb, &a)) == 1)
			if (hold(sb, &a) == -1)
				return (-1);
		if (n == -1)
			return (-1);
		(void)wait_fd(sb, POLLIN | POLLOUT, -1);
		if (fill(sb) == -1)
			return (-1);
	}
}

/* One message more to be written. */
static int
queue_as(struct sandbox *sb, uint32_t type, uint32_t req, const void *msg)
{
	const struct msg_def	*def;
	const char		*beyond = NULL;
	msgpack_sbuffer		 buf;
	uint32_t		 minor;
	size_t			 max, nfields;
	int			 ret = 0;

	if (sb->fd == -1) {
		sb->err.lost = 1;
		return (-1);
	}
	if (type >= PROTO_HELLO_OK || (def = proto_def(type)) == NULL)
		return (sandbox_fail(sb, CODE_UNSUPPORTED,
		    "no request of type %u", type));
	minor = type == PROTO_HELLO ? !sb->plain : sb->hello.minor;
	nfields = proto_fields(type, minor);
	if (!proto_known(type, minor) ||
	    (beyond = msg_beyond(def, msg, nfields)) != NULL)
		return (sandbox_fail(sb, CODE_UNSUPPORTED, "%s%s%s: the "
		    "daemon is sandboxd %s, which does not know it",
		    def->name, beyond == NULL ? "" : ": ",
		    beyond == NULL ? "" : beyond, sb->hello.daemon));
	msgpack_sbuffer_init(&buf);
	max = type == PROTO_HELLO ? PROTO_MAX_HELLO : sb->hello.payload;
	if (msg_encode_map_first(&buf, def, msg, nfields) == -1)
		ret = sandbox_fail(sb, CODE_INTERNAL, "out of memory");
	else if (buf.size > max)
		ret = sandbox_fail(sb, CODE_LIMIT_EXCEEDED,
		    "request of %zu bytes: the limit is %zu", buf.size, max);
	else if (imsg_compose(&sb->ibuf, type, req, 0, -1, buf.data,
	    buf.size) == -1)
		ret = sandbox_fail(sb, CODE_INTERNAL, "%s", strerror(errno));
	msgpack_sbuffer_destroy(&buf);
	return (ret);
}

static int
send_as(struct sandbox *sb, uint32_t type, uint32_t req, const void *msg)
{
	return (queue_as(sb, type, req, msg) == -1 ? -1 : flush(sb));
}

static uint32_t
new_req(struct sandbox *sb)
{
	if (++sb->nextreq == 0)
		sb->nextreq = 1;
	return (sb->nextreq);
}

int
sandbox_queue(struct sandbox *sb, uint32_t type, const void *msg,
    uint32_t *req)
{
	uint32_t	 n = new_req(sb);

	if (req != NULL)
		*req = n;
	if (type == PROTO_HELLO || type == PROTO_CREDIT)
		return (sandbox_fail(sb, CODE_INVALID_ARGUMENT,
		    "this request has a call of its own"));
	return (queue_as(sb, type, n, msg));
}

int
sandbox_send(struct sandbox *sb, uint32_t type, const void *msg,
    uint32_t *req)
{
	return (sandbox_queue(sb, type, msg, req) == -1 ? -1 : flush(sb));
}

int
sandbox_queue_credit(struct sandbox *sb, uint32_t req, uint32_t n)
{
	struct proto_credit	 credit;

	credit.n = n;
	return (queue_as(sb, PROTO_CREDIT, req, &credit));
}

int
sandbox_credit(struct sandbox *sb, uint32_t req, uint32_t n)
{
	return (sandbox_queue_credit(sb, req, n) == -1 ? -1 : flush(sb));
}

static int
connect_path(struct sandbox *sb)
{
	struct sockaddr_un	 sun;
	struct ucred		 uc;
	socklen_t		 len = sizeof(uc);
	int			 flags, ret;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	/* An empty one would be a name that anybody can take. */
	if (*sb->path == '\0')
		return (sandbox_lost(sb, CODE_INVALID_ARGUMENT,
		    "the path of the socket is empty"));
	if (strlen(sb->path) >= sizeof(sun.sun_path))
		return (sandbox_lost(sb, CODE_INVALID_ARGUMENT,
		    "the path of a socket has at most %zu bytes: %s",
		    sizeof(sun.sun_path) - 1, sb->path));
	memcpy(sun.sun_path, sb->path, strlen(sb->path));
	if ((sb->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		return (sandbox_lost(sb, CODE_UNAVAILABLE, "socket: %s",
		    strerror(errno)));
	/* On such a socket it is not begun when it is interrupted. */
	while ((ret = connect(sb->fd, (struct sockaddr *)&sun,
	    sizeof(sun))) == -1 && errno == EINTR)
		continue;
	if (ret == -1) {
		flags = errno;
		close(sb->fd);
		sb->fd = -1;
		return (sandbox_lost(sb, flags == EACCES || flags == EPERM ?
		    CODE_PERMISSION_DENIED : CODE_UNAVAILABLE, "%s: %s",
		    sb->path, strerror(flags)));
	}
	/* In a directory that others can write it may be somebody else's. */
	if (getsockopt(sb->fd, SOL_SOCKET, SO_PEERCRED, &uc, &len) == -1 ||
	    (uc.uid != 0 && uc.uid != geteuid())) {
		close(sb->fd);
		sb->fd = -1;
		return (sandbox_lost(sb, CODE_PERMISSION_DENIED,
		    "%s: the socket is not root's", sb->path));
	}
	if ((flags = fcntl(sb->fd, F_GETFL)) != -1)
		(void)fcntl(sb->fd, F_SETFL, flags | O_NONBLOCK);
	imsgbuf_init(&sb->ibuf, sb->fd);
	imsgbuf_allow_fdpass(&sb->ibuf);
	imsgbuf_set_maxsize(&sb->ibuf, PROTO_MAX_PAYLOAD);
	return (0);
}

/* One message of the greeting: 1 more to come, 0 greeted, -1 refused. */
static int
take_hello(struct sandbox *sb, struct imsg *imsg, uint32_t req)
{
	struct proto_error	 e;
	uint32_t		 type = imsg_get_type(imsg);
	const struct msg_def	*def;
	void			*st = NULL;
	int			 fd;

	if ((fd = imsg_get_fd(imsg)) != -1)
		close(fd);
	/* Where nobody can read our number, the answer has none. */
	if (type == PROTO_ERROR)
		st = &e;
	else if (type == PROTO_HELLO_OK && imsg_get_id(imsg) == req)
		st = &sb->hello;
	else if (type == PROTO_END && imsg_get_id(imsg) == req &&
	    sb->hello.version != 0)
		return (0);
	def = proto_def(type);
	if (st == NULL || msg_decode_map_newer(st, def, proto_fields(type, 0),
	    ibuf_data(imsg->buf), ibuf_size(imsg->buf), NULL, NULL) == -1)
		return (sandbox_lost(sb, CODE_PROTOCOL,
		    "the peer is no sandboxd"));
	if (type != PROTO_ERROR)
		return (1);
	/* A daemon of 1.0 knows no minor versions. */
	if (imsg_get_id(imsg) == req && !sb->plain && strcmp(e.text,
	    "invalid hello: unknown field: minor") == 0) {
		sb->plain = 1;
		return (2);
	}
	return (sandbox_lost(sb, code_number(e.code), "%s", e.text));
}

static int
send_hello(struct sandbox *sb)
{
	struct proto_hello	 hello;

	memset(&hello, 0, sizeof(hello));
	hello.version = PROTO_VERSION;
	hello.minor = sb->plain ? 0 : PROTO_MINOR;
	memcpy(hello.client, sb->client, sizeof(hello.client));
	sb->greeting = new_req(sb);
	return (send_as(sb, PROTO_HELLO, sb->greeting, &hello));
}

static int
greet_begin(struct sandbox *sb)
{
	memset(&sb->hello, 0, sizeof(sb->hello));
	/* It may be another daemon by now. */
	sb->plain = 0;
	return (send_hello(sb));
}

/* What has been read of it: 1 if that was all, 0, or -1. */
static int
greet_step(struct sandbox *sb)
{
	struct imsg	 imsg;
	int		 n;

	while ((n = imsgbuf_get(&sb->ibuf, &imsg)) == 1) {
		n = take_hello(sb, &imsg, sb->greeting);
		imsg_free(&imsg);
		if (n == 0) {
			sb->greeting = 0;
			return (1);
		}
		if (n == -1 || (n == 2 && send_hello(sb) == -1))
			return (-1);
	}
	if (n == -1)
		return (sandbox_lost(sb, CODE_PROTOCOL,
		    "the peer is no sandboxd"));
	return (0);
}

static int
greet(struct sandbox *sb)
{
	int64_t	 deadline;
	int	 n;

	if (greet_begin(sb) == -1)
		return (-1);
	deadline = sandbox_now() + HELLO_WAIT;
	while ((n = greet_step(sb)) == 0) {
		if (!wait_fd(sb, POLLIN, deadline))
			return (sandbox_lost(sb, CODE_DEADLINE_EXCEEDED,
			    "no answer from the daemon in %d s",
			    HELLO_WAIT / 1000));
		if (fill(sb) == -1)
			return (-1);
	}
	return (n == 1 ? 0 : -1);
}

struct sandbox *
sandbox_open(const char *path, const char *client, struct sandbox_error *e)
{
	struct sandbox	*sb;

	if ((sb = calloc(1, sizeof(*sb))) == NULL ||
	    (sb->path = strdup(path == NULL ? SANDBOX_SOCKET : path)) ==
	    NULL) {
		free(sb);
		if (e != NULL) {
			memset(e, 0, sizeof(*e));
			e->code = CODE_INTERNAL;
			snprintf(e->text, sizeof(e->text), "out of memory");
		}
		return (NULL);
	}
	TAILQ_INIT(&sb->held);
	sb->fd = -1;
	snprintf(sb->client, sizeof(sb->client), "%s",
	    client == NULL ? "libsandbox" : client);
	if (connect_path(sb) == -1 || greet(sb) == -1) {
		if (e != NULL)
			*e = sb->err;
		sandbox_close(sb);
		return (NULL);
	}
	return (sb);
}

int
sandbox_begin(struct sandbox *sb)
{
	held_clear(sb);
	drop_connection(sb);
	return (connect_path(sb) == -1 ? -1 : greet_begin(sb));
}

int
sandbox_greeted(struct sandbox *sb)
{
	if (sb->fd == -1)
		return (-1);
	if (sb->greeting == 0)
		return (1);
	if (fill(sb) == -1)
		return (-1);
	return (greet_step(sb));
}

int
sandbox_reopen(struct sandbox *sb, int timeout)
{
	struct timespec	 ts;
	int64_t		 deadline = sandbox_now() + timeout;
	int		 pause = REOPEN_FIRST;

	held_clear(sb);
	drop_connection(sb);
	for (;;) {
		if (connect_path(sb) == 0 && greet(sb) == 0)
			return (0);
		if (sb->err.code != CODE_UNAVAILABLE ||
		    sandbox_now() + pause > deadline)
			return (-1);
		/* Nothing tells a client when a daemon starts to listen. */
		ts.tv_sec = pause / 1000;
		ts.tv_nsec = (long)(pause % 1000) * 1000000;
		(void)nanosleep(&ts, NULL);
		if ((pause *= 2) > REOPEN_LAST)
			pause = REOPEN_LAST;
	}
}

void
sandbox_close(struct sandbox *sb)
{
	if (sb == NULL)
		return;
	held_clear(sb);
	drop_connection(sb);
	free(sb->path);
	free(sb);
}

int
sandbox_fd(const struct sandbox *sb)
{
	return (sb->fd);
}

const struct proto_hello_ok *
sandbox_hello(const struct sandbox *sb)
{
	return (&sb->hello);
}

const struct sandbox_error *
sandbox_error(const struct sandbox *sb)
{
	return (&sb->err);
}
