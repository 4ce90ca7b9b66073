/*
 * libsandbox: files of a sandbox.  A call is a request whose bytes go through
 * pipes, as those of a command do; what comes out of it is a guest's word,
 * and held against what the daemon said of its length.
 */

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox_int.h"

#define FILE_READ	(256 * 1024)

struct file_io {
	struct sandbox		*sb;
	const struct sandbox_file_io *io;
	uint32_t		 req;
	int			 out;	/* pipes, -1: none */
	int			 in;
	uint64_t		 got;	/* bytes of output */
	uint64_t		 put;	/* bytes of input */
	uint8_t			*inbuf;
	size_t			 inoff;
	size_t			 inlen;
	uint32_t		 in_req;	/* that said it was all */
	int			 given_up;	/* by the caller */
	int			 over;		/* END or ERROR has come */
	int			 result;	/* RESULT has come */
	struct proto_result	 res;
	uint8_t			 buf[FILE_READ];
};

static void
drop(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

static int
give_up(struct file_io *p)
{
	p->given_up = 1;
	return (sandbox_fail(p->sb, CODE_CANCELLED,
	    "given up by the caller"));
}

/* Reads what the pipe has: 1, 0 nothing for now or its end, -1. */
static int
out_read(struct file_io *p)
{
	ssize_t	 n;

	do {
		n = read(p->out, p->buf, sizeof(p->buf));
	} while (n == -1 && errno == EINTR);
	if (n == -1 && errno == EAGAIN)
		return (0);
	if (n <= 0) {
		drop(&p->out);
		return (0);
	}
	p->got += n;
	if (p->io->out != NULL && p->io->out(p->io->arg, p->buf, n) == -1)
		return (give_up(p));
	return (1);
}

static int
out_drain(struct file_io *p)
{
	int	 n = 1;

	while (p->out != -1 && (n = out_read(p)) == 1)
		;
	return (n == -1 ? -1 : 0);
}

static int
in_end(struct file_io *p)
{
	struct proto_call_input	 m;

	drop(&p->in);
	m.call = p->req;
	m.total = p->put;
	return (sandbox_send(p->sb, PROTO_CALL_INPUT, &m, &p->in_req));
}

static int
in_write(struct file_io *p)
{
	ssize_t	 n;

	while (p->in != -1) {
		if (p->inoff == p->inlen) {
			n = p->io->in(p->io->arg, p->inbuf, FILE_READ);
			if (n == -1)
				return (give_up(p));
			if (n == 0)
				return (in_end(p));
			p->inoff = 0;
			p->inlen = n;
		}
		n = sandbox_write(p->in, p->inbuf + p->inoff,
		    p->inlen - p->inoff);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return (0);
		if (n == -1) {
			/* Nobody takes more: the call's end says why. */
			drop(&p->in);
			return (0);
		}
		p->inoff += n;
		p->put += n;
	}
	return (0);
}

static int
take_stream(struct file_io *p, struct sandbox_answer *a)
{
	int	*fd;

	if (a->fd == -1 || a->u.stream.stream > 1 ||
	    (a->u.stream.stream == 0 && p->inbuf == NULL))
		return (sandbox_lost(p->sb, CODE_PROTOCOL,
		    "the daemon sent a bad stream"));
	fd = a->u.stream.stream == 0 ? &p->in : &p->out;
	drop(fd);
	*fd = a->fd;
	a->fd = -1;
	(void)fcntl(*fd, F_SETFL, O_NONBLOCK);
	return (0);
}

/* 0, 1 at the end, -1. */
static int
take(struct file_io *p, struct sandbox_answer *a)
{
	switch (a->type) {
	case PROTO_STREAM:
		return (take_stream(p, a));
	case PROTO_RESULT:
		p->result = 1;
		p->res = a->u.result;
		return (0);
	case PROTO_END:
		p->over = 1;
		return (1);
	case PROTO_ERROR:
		p->over = 1;
		sandbox_set_error(p->sb, &a->u.error);
		return (-1);
	default:
		return (0);
	}
}

/* What has come of it: 0, 1 at the end, -1. */
static int
take_answers(struct file_io *p)
{
	struct sandbox_answer	 a;
	int			 n, ret = 0;

	while (ret == 0 && (n = sandbox_recv_req(p->sb, p->req, &a, 0)) != 0) {
		if (n == -1)
			return (-1);
		ret = take(p, &a);
		sandbox_answer_clear(&a);
	}
	return (ret);
}

static int
turn(struct file_io *p)
{
	struct pollfd	 pfd[3];
	int		 n;

	if ((n = take_answers(p)) != 0)
		return (n);
	memset(pfd, 0, sizeof(pfd));
	pfd[0].fd = sandbox_fd(p->sb);
	pfd[0].events = POLLIN;
	pfd[1].fd = p->out;
	pfd[1].events = POLLIN;
	pfd[2].fd = p->in;
	pfd[2].events = POLLOUT;
	if (poll(pfd, 3, -1) == -1 && errno != EINTR)
		return (sandbox_lost(p->sb, CODE_INTERNAL, "poll: %s",
		    strerror(errno)));
	if (pfd[1].revents != 0 && out_read(p) == -1)
		return (-1);
	if (pfd[2].revents != 0 && in_write(p) == -1)
		return (-1);
	return (0);
}

/* Its answers are nobody's from here on. */
static void
cancel(struct file_io *p)
{
	struct proto_call_cancel m;
	struct sandbox_answer	 a;
	uint32_t		 req;
	int			 over = 0;

	m.call = p->req;
	if (sandbox_send(p->sb, PROTO_CALL_CANCEL, &m, &req) == -1 ||
	    sandbox_finish(p->sb, req, NULL, NULL, NULL) == -1)
		return;
	while (!over && sandbox_recv_req(p->sb, p->req, &a, -1) == 1) {
		over = a.type == PROTO_END || a.type == PROTO_ERROR;
		sandbox_answer_clear(&a);
	}
}

/* What is still to come for requests of ours; the error stays. */
static void
finish(struct file_io *p)
{
	struct sandbox_error	 err = p->sb->err;

	/* What the word on the input brought says no more than the end. */
	if (p->in_req != 0)
		(void)sandbox_finish(p->sb, p->in_req, NULL, NULL, NULL);
	if (p->given_up && !p->over && sandbox_fd(p->sb) != -1)
		cancel(p);
	p->sb->err = err;
	p->sb->err.lost = sandbox_fd(p->sb) == -1;
}

/* All that it is said to be has come, and no more. */
static int
check(struct file_io *p)
{
	if (out_drain(p) == -1)
		return (-1);
	if (!p->result)
		return (sandbox_fail(p->sb, CODE_PROTOCOL,
		    "the daemon left out its answer"));
	if (p->got != p->res.out)
		return (sandbox_fail(p->sb, CODE_UNAVAILABLE,
		    "%llu bytes have come of %llu",
		    (unsigned long long)p->got,
		    (unsigned long long)p->res.out));
	return (0);
}

int
sandbox_file_call(struct sandbox *sb, const struct proto_call *c,
    const struct sandbox_file_io *io, struct proto_result *res)
{
	static const struct sandbox_file_io	 none;
	struct proto_call	 m = *c;	/* borrows what it points to */
	struct file_io		*p;
	int			 n;

	if ((p = malloc(sizeof(*p))) == NULL)
		return (sandbox_fail(sb, CODE_INTERNAL, "out of memory"));
	memset(p, 0, offsetof(struct file_io, buf));
	p->sb = sb;
	p->io = io == NULL ? &none : io;
	p->out = p->in = -1;
	m.flags &= ~CALL_F_STREAM;
	if (p->io->in != NULL) {
		m.flags |= CALL_F_STREAM;
		p->inbuf = malloc(FILE_READ);
	}
	if (p->io->in != NULL && p->inbuf == NULL)
		n = sandbox_fail(sb, CODE_INTERNAL, "out of memory");
	else if ((n = sandbox_send(sb, PROTO_CALL, &m, &p->req)) == 0) {
		while ((n = turn(p)) == 0)
			;
		if (n == 1)
			n = check(p);
		finish(p);
	}
	if (n == 0 && res != NULL)
		*res = p->res;
	drop(&p->out);
	drop(&p->in);
	free(p->inbuf);
	free(p);
	return (n);
}

struct records {
	struct rec_reader	 r;
	int			 wrong;
};

static int
records_out(void *arg, const void *data, size_t len)
{
	struct records	*p = arg;

	if (rec_feed(&p->r, data, len) == -1) {
		p->wrong = 1;
		return (-1);
	}
	return (0);
}

int
sandbox_file_records(struct sandbox *sb, const struct proto_call *c,
    const struct msg_def *def, int (*cb)(void *, void *), void *arg,
    struct proto_result *res)
{
	struct sandbox_file_io	 io;
	struct records		*p;
	int			 ret;

	if ((p = malloc(sizeof(*p))) == NULL)
		return (sandbox_fail(sb, CODE_INTERNAL, "out of memory"));
	memset(p, 0, offsetof(struct records, r.buf));
	p->r.def = def;
	p->r.take = cb;
	p->r.arg = arg;
	p->r.len = 0;
	p->r.why = NULL;
	p->wrong = 0;
	memset(&io, 0, sizeof(io));
	io.out = records_out;
	io.arg = p;
	ret = sandbox_file_call(sb, c, &io, res);
	if (p->r.why != NULL)
		ret = sandbox_fail(sb, CODE_PROTOCOL,
		    "the guest talks nonsense: %s", p->r.why);
	else if (ret == 0 && !rec_done(&p->r))
		ret = sandbox_fail(sb, CODE_PROTOCOL,
		    "the guest talks nonsense: half a record");
	free(p);
	return (ret);
}

struct one {
	struct file_rec	*rec;
	int		 n;
};

static int
one_take(void *arg, void *rec)
{
	struct one	*o = arg;

	if (o->n++ > 0)
		return (-1);
	*o->rec = *(struct file_rec *)rec;
	memset(rec, 0, sizeof(*o->rec));
	return (0);
}

static void
call_init(struct proto_call *c, const char *id, uint32_t op,
    const char *path, uint32_t flags)
{
	memset(c, 0, sizeof(*c));
	c->sandbox = (char *)(uintptr_t)id;
	c->op = op;
	c->path = (char *)(uintptr_t)path;
	c->flags = flags;
}

int
sandbox_file_stat(struct sandbox *sb, const char *id, const char *path,
    uint32_t flags, struct file_rec *rec)
{
	struct proto_call	 c;
	struct one		 o = { rec, 0 };
	int			 ret;

	memset(rec, 0, sizeof(*rec));
	call_init(&c, id, CALL_STAT, path, flags);
	ret = sandbox_file_records(sb, &c, &file_rec_def, one_take, &o, NULL);
	if (o.n != 1 && (ret == 0 || o.n > 1))
		ret = sandbox_fail(sb, CODE_PROTOCOL,
		    "the guest talks nonsense: %d records for one", o.n);
	if (ret == -1)
		msg_clear(rec, &file_rec_def);
	return (ret);
}

struct into {
	uint8_t	*buf;
	size_t	 size;
	size_t	 len;
};

static int
into_take(void *arg, const void *data, size_t len)
{
	struct into	*p = arg;

	if (len > p->size - p->len)
		return (-1);
	memcpy(p->buf + p->len, data, len);
	p->len += len;
	return (0);
}

ssize_t
sandbox_file_read(struct sandbox *sb, const char *id, const char *path,
    uint64_t off, void *buf, size_t len, uint64_t *size)
{
	struct sandbox_file_io	 io = { NULL, into_take, NULL };
	struct into		 to = { buf, len, 0 };
	struct proto_result	 res;
	struct proto_call	 c;

	call_init(&c, id, CALL_READ, path, 0);
	c.offset = off;
	c.length = len;
	io.arg = &to;
	if (sandbox_file_call(sb, &c, &io, &res) == -1)
		return (-1);
	if (size != NULL)
		*size = res.count;
	return (to.len);
}

struct from {
	const uint8_t	*data;
	size_t		 left;
};

static ssize_t
from_give(void *arg, void *buf, size_t size)
{
	struct from	*p = arg;
	size_t		 n = p->left < size ? p->left : size;

	memcpy(buf, p->data, n);
	p->data += n;
	p->left -= n;
	return (n);
}

int
sandbox_file_write(struct sandbox *sb, const char *id, const char *path,
    const void *data, size_t len, uint32_t mode, uint32_t flags)
{
	struct sandbox_file_io	 io = { from_give, NULL, NULL };
	struct from		 from = { data, len };
	struct proto_call	 c;

	call_init(&c, id, CALL_WRITE, path, flags | CALL_F_ATOMIC);
	c.mode = mode;
	if (len <= CALL_DATA_MAX) {
		c.data.data = (uint8_t *)(uintptr_t)data;
		c.data.len = len;
		return (sandbox_file_call(sb, &c, NULL, NULL));
	}
	io.arg = &from;
	return (sandbox_file_call(sb, &c, &io, NULL));
}
