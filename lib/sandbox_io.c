/*
 * libsandbox: the bytes of a command.  Output and input go through pipes of
 * which the daemon has sent the ends; this loop empties and fills them, and
 * finds its way back, at the byte where it was, when the daemon restarts.
 */

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sandbox_int.h"

#define IO_READ		(64 * 1024)	/* what a pipe holds */
#define IO_INPUT	(256 * 1024)	/* input kept until acknowledged */
#define IO_LOSSES	20		/* in a row, and no answer between */
#define IO_PAUSE	100		/* ms, when attaching came too early */

struct io {
	struct sandbox		*sb;
	struct sandbox_io	*io;
	struct proto_exec_info	*info;	/* NULL: LOGS */
	uint32_t		 type;	/* of the request to come back with */
	uint32_t		 req;
	char			 exec[EXEC_ID_MAX + 17];
	char			 owner[16];	/* "uid/" as the caller wrote */
	uint32_t		 streams;	/* outputs wanted */
	uint32_t		 follow;
	struct {
		int		 fd;
		uint64_t	 off;	/* of the byte to come */
	}			 out[3];
	uint8_t			*buf;
	/* Input: the bytes from acked to have are kept in keep. */
	int			 pipe;
	uint8_t			*keep;
	uint64_t		 acked;
	uint64_t		 sent;	/* into the pipe */
	uint64_t		 have;
	int			 based;	/* the first offset is known */
	int			 in_eof;
	int			 in_closed;	/* nobody takes it */
	int			 input;		/* this request writes it */
	uint32_t		 in_req;
	int			 over;	/* END has come */
	int			 losses;
	int64_t			 until;	/* coming back, until then */
};

static int64_t
now_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

static void
close_fd(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

/* One read of an output: 1, 0 at its end, -1. */
static int
output_read(struct io *p, int n)
{
	ssize_t	 len;

	do {
		len = read(p->out[n].fd, p->buf, IO_READ);
	} while (len == -1 && errno == EINTR);
	if (len <= 0) {
		/* A pipe has no errors: what is amiss ends it. */
		close_fd(&p->out[n].fd);
		return (0);
	}
	p->out[n].off += len;
	if (p->io->out != NULL &&
	    p->io->out(p->io->arg, n, p->buf, len) == -1)
		return (sandbox_lost(p->sb, CODE_INTERNAL,
		    "cannot pass on the output: %s", strerror(errno)));
	return (1);
}

/* To the end, which has been made or is about to be. */
static int
output_drain(struct io *p, int n)
{
	int	 ret = 1;

	while (ret == 1 && p->out[n].fd != -1)
		ret = output_read(p, n);
	return (ret == -1 ? -1 : 0);
}

/* The write end of the input, from an offset on. */
static int
input_begin(struct io *p, const struct proto_stream *s, int fd)
{
	close_fd(&p->pipe);
	if (p->io->in == -1) {
		close(fd);
		return (0);
	}
	if (!p->based) {
		p->based = 1;
		p->acked = p->sent = p->have = s->offset;
	}
	if (s->offset < p->acked || s->offset > p->have) {
		close(fd);
		return (sandbox_lost(p->sb, CODE_PROTOCOL,
		    "the daemon wants input from byte %llu: kept are %llu "
		    "to %llu", (unsigned long long)s->offset,
		    (unsigned long long)p->acked,
		    (unsigned long long)p->have));
	}
	p->pipe = fd;
	p->sent = s->offset;
	p->in_closed = 0;
	p->in_req = 0;
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	return (0);
}

static void
input_acked(struct io *p, uint64_t off)
{
	if (off <= p->acked || off > p->have)
		return;
	memmove(p->keep, p->keep + (off - p->acked), p->have - off);
	p->acked = off;
	if (p->sent < off)
		p->sent = off;
}

/* From the caller's descriptor into what is kept. */
static int
input_read(struct io *p)
{
	size_t	 kept = p->have - p->acked;
	ssize_t	 n;

	if (p->keep == NULL && (p->keep = malloc(IO_INPUT)) == NULL)
		return (sandbox_lost(p->sb, CODE_INTERNAL, "out of memory"));
	n = read(p->io->in, p->keep + kept, IO_INPUT - kept);
	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return (0);
	/* One that cannot be read to its end must not look whole. */
	if (n == -1 && errno != EBADF)
		return (sandbox_lost(p->sb, CODE_INVALID_ARGUMENT,
		    "cannot read the input: %s", strerror(errno)));
	if (n <= 0)
		p->in_eof = 1;
	else
		p->have += n;
	return (0);
}

static int
input_end(struct io *p)
{
	struct proto_input_end	 end;

	end.exec = p->exec;
	end.total = p->have;
	return (sandbox_send(p->sb, PROTO_INPUT_END, &end, &p->in_req));
}

/* Into the pipe; and when all is in it, the word that it was all. */
static int
input_write(struct io *p)
{
	ssize_t	 n;

	while (p->sent < p->have) {
		n = sandbox_write(p->pipe, p->keep + (p->sent - p->acked),
		    p->have - p->sent);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return (0);
		if (n == -1) {
			close_fd(&p->pipe);
			p->in_closed = 1;
			return (0);
		}
		p->sent += n;
	}
	if (!p->in_eof || p->in_req != 0)
		return (0);
	close_fd(&p->pipe);
	return (input_end(p));
}

static int
take_stream(struct io *p, struct sandbox_answer *a)
{
	uint32_t	 n = a->u.stream.stream;
	int		 fd = a->fd;

	if (fd == -1 || n > 2)
		return (sandbox_lost(p->sb, CODE_PROTOCOL,
		    "the daemon sent a bad stream"));
	a->fd = -1;
	if (*p->exec == '\0')
		snprintf(p->exec, sizeof(p->exec), "%s%s", p->owner,
		    a->u.stream.exec);
	if (n == 0)
		return (input_begin(p, &a->u.stream, fd));
	/* The one before was closed at its last byte. */
	if (output_drain(p, n) == -1) {
		close(fd);
		return (-1);
	}
	p->out[n].fd = fd;
	p->out[n].off = a->u.stream.offset;
	return (0);
}

static int
take_gap(struct io *p, struct sandbox_answer *a)
{
	uint32_t	 n = a->u.gap.stream;

	if (n < 1 || n > 2)
		return (0);
	/* What lies before the gap is told before it. */
	if (output_drain(p, n) == -1)
		return (-1);
	p->out[n].off = a->u.gap.to;
	if (p->io->note != NULL)
		p->io->note(p->io->arg, a);
	return (0);
}

static int	 come_back(struct io *);

/* A refusal: after a pause it is to be tried again, if it is one of those. */
static int
refused(struct io *p, struct sandbox_answer *a)
{
	struct timespec	 ts = { 0, IO_PAUSE * 1000000 };

	sandbox_set_error(p->sb, &a->u.error);
	if (p->until == 0 || now_ms() >= p->until ||
	    p->sb->err.code != CODE_UNAVAILABLE)
		return (-1);
	(void)nanosleep(&ts, NULL);
	return (0);
}

/* Just restarted, the daemon may not have all together yet. */
static int
take_error(struct io *p, struct sandbox_answer *a)
{
	return (refused(p, a) == -1 ? -1 : come_back(p));
}

/*
 * If the word that it was all is refused, the command would read for ever.
 * One that is not there any more has ended, and its END is under way.
 */
static int
take_input_error(struct io *p, struct sandbox_answer *a)
{
	if (strcmp(a->u.error.code, code_name(CODE_NOT_FOUND)) == 0)
		return (0);
	if (p->until == 0 && p->io->again > 0)
		p->until = now_ms() + p->io->again;
	if (refused(p, a) == -1)
		return (-1);
	if (input_end(p) == 0)
		return (0);
	return (p->sb->err.lost ? 1 : -1);
}

static int
take_own(struct io *p, struct sandbox_answer *a)
{
	p->losses = 0;
	if (a->type != PROTO_ERROR)
		p->until = 0;
	switch (a->type) {
	case PROTO_ACCEPTED:
		snprintf(p->exec, sizeof(p->exec), "%s%s", p->owner,
		    a->u.accepted.id);
		/* FALLTHROUGH */
	case PROTO_STALLED:
		if (p->io->note != NULL)
			p->io->note(p->io->arg, a);
		return (0);
	case PROTO_STREAM:
		return (take_stream(p, a));
	case PROTO_GAP:
		return (take_gap(p, a));
	case PROTO_INPUT_ACK:
		input_acked(p, a->u.input_ack.offset);
		return (0);
	case PROTO_EXEC_INFO:
		if (p->info != NULL) {
			msg_clear(p->info, proto_def(PROTO_EXEC_INFO));
			*p->info = a->u.exec_info;
			memset(&a->u, 0, sizeof(a->u));
		}
		return (0);
	case PROTO_END:
		p->over = 1;
		close_fd(&p->pipe);
		return (0);
	case PROTO_ERROR:
		return (take_error(p, a));
	default:
		return (0);
	}
}

/* The answers that are here: 0, 1 if the connection is lost, -1. */
static int
take_answers(struct io *p)
{
	struct sandbox_answer	 a;
	int			 n, ret = 0;

	while (ret == 0 && (n = sandbox_recv(p->sb, &a, 0)) != 0) {
		if (n == -1)
			return (1);
		if (a.req == p->req)
			ret = take_own(p, &a);
		else if (a.req == p->in_req && a.type == PROTO_ERROR)
			ret = take_input_error(p, &a);
		sandbox_answer_clear(&a);
	}
	return (ret);
}

/* Asks for what is left, on a connection that may be a new one. */
static int
come_back(struct io *p)
{
	struct proto_attach	 at;

	memset(&at, 0, sizeof(at));
	at.exec = p->exec;
	at.offset1 = p->out[1].off;
	at.offset2 = p->out[2].off;
	at.streams = p->streams;
	at.follow = p->type == PROTO_LOGS ? p->follow : 0;
	/*
	 * Also when all of it and its end had been taken: they may have been
	 * on their way to the command still, and are sent again.
	 */
	p->in_req = 0;
	if (p->input)
		at.streams |= 1 << 0;
	return (sandbox_send(p->sb, p->type, &at, &p->req));
}

/* The daemon has gone; what it wrote before is in the pipes. */
static int
reconnect(struct io *p)
{
	struct sandbox_error	 err = p->sb->err;

	close_fd(&p->pipe);
	if (output_drain(p, 1) == -1 || output_drain(p, 2) == -1)
		return (-1);
	if (p->over)
		return (0);
	p->sb->err = err;
	if (err.code != CODE_UNAVAILABLE || p->io->again <= 0 ||
	    ++p->losses > IO_LOSSES)
		return (-1);
	if (*p->exec == '\0')
		return (sandbox_lost(p->sb, CODE_UNAVAILABLE,
		    "connection to the daemon lost: "
		    "the command may have been started"));
	if (p->until == 0)
		p->until = now_ms() + p->io->again;
	if (sandbox_reopen(p->sb, p->io->again) == -1)
		return (-1);
	if (come_back(p) == -1)
		return (p->sb->err.lost ? 0 : -1);
	return (0);
}

enum { P_CONN, P_OUT, P_ERR, P_PIPE, P_IN, P_WAKE, P_MAX };

static void
watch(struct io *p, struct pollfd *pfd)
{
	int	 i;

	for (i = 0; i < P_MAX; i++) {
		pfd[i].fd = -1;
		pfd[i].events = POLLIN;
		pfd[i].revents = 0;
	}
	if (!p->over)
		pfd[P_CONN].fd = sandbox_fd(p->sb);
	pfd[P_OUT].fd = p->out[1].fd;
	pfd[P_ERR].fd = p->out[2].fd;
	pfd[P_WAKE].fd = p->io->wakefd;
	if (p->pipe == -1)
		return;
	pfd[P_PIPE].events = POLLOUT;
	if (p->sent < p->have)
		pfd[P_PIPE].fd = p->pipe;
	if (!p->in_eof && p->have - p->acked < IO_INPUT)
		pfd[P_IN].fd = p->io->in;
}

static int
turn(struct io *p)
{
	struct pollfd	 pfd[P_MAX];
	int		 lost = 0, i;

	watch(p, pfd);
	if (poll(pfd, P_MAX, sandbox_pending(p->sb) && !p->over ? 0 :
	    -1) == -1)
		return (errno == EINTR ? 0 : sandbox_lost(p->sb,
		    CODE_INTERNAL, "poll: %s", strerror(errno)));
	for (i = 1; i <= 2; i++)
		if (pfd[P_OUT + i - 1].revents != 0 &&
		    output_read(p, i) == -1)
			return (-1);
	if (!p->over && (pfd[P_CONN].revents != 0 || sandbox_pending(p->sb)) &&
	    (lost = take_answers(p)) == -1)
		return (-1);
	if (pfd[P_WAKE].revents != 0 && !lost && p->io->wake != NULL &&
	    p->io->wake(p->io->arg, p->sb, p->exec) == -1)
		return (sandbox_lost(p->sb, CODE_INTERNAL,
		    "given up by the caller"));
	if (pfd[P_IN].revents != 0 && p->pipe != -1 && input_read(p) == -1)
		return (-1);
	if (p->pipe != -1 && !lost && input_write(p) == -1) {
		/* What was lost comes back; what is lacking here does not. */
		if (!p->sb->err.lost)
			return (-1);
		lost = 1;
	}
	if (lost || (sandbox_fd(p->sb) == -1 && !p->over))
		return (reconnect(p));
	return (0);
}

static int
run(struct io *p)
{
	int	 ret = 0;

	if ((p->buf = malloc(IO_READ)) == NULL)
		ret = sandbox_lost(p->sb, CODE_INTERNAL, "out of memory");
	while (ret == 0 &&
	    (!p->over || p->out[1].fd != -1 || p->out[2].fd != -1))
		ret = turn(p);
	close_fd(&p->out[1].fd);
	close_fd(&p->out[2].fd);
	close_fd(&p->pipe);
	free(p->buf);
	free(p->keep);
	if (p->info == NULL)
		return (ret);
	if (ret == 0 && *p->info->id == '\0')
		ret = sandbox_fail(p->sb, CODE_PROTOCOL,
		    "the daemon left out the command's end");
	if (ret == -1)
		msg_clear(p->info, proto_def(PROTO_EXEC_INFO));
	return (ret);
}

static void
prepare(struct io *p, struct sandbox *sb, struct sandbox_io *io,
    const char *name)
{
	const char	*slash;

	memset(p, 0, sizeof(*p));
	p->sb = sb;
	p->io = io;
	p->pipe = p->out[0].fd = p->out[1].fd = p->out[2].fd = -1;
	if (name != NULL && (slash = strchr(name, '/')) != NULL &&
	    slash - name < (int)sizeof(p->owner) - 1)
		memcpy(p->owner, name, slash - name + 1);
}

int
sandbox_run(struct sandbox *sb, const struct proto_exec *x,
    struct sandbox_io *io, struct proto_exec_info *info)
{
	struct proto_exec_info	 own;
	struct proto_exec	 exec = *x;	/* borrows what it points to */
	struct io		 p;
	int			 ret;

	prepare(&p, sb, io, x->sandbox);
	memset(&own, 0, sizeof(own));
	p.info = info == NULL ? &own : info;
	memset(p.info, 0, sizeof(*p.info));
	p.type = PROTO_ATTACH;
	p.input = io->in != -1;
	exec.flags |= EXEC_ATTACH;
	if (io->in != -1)
		exec.flags |= EXEC_INPUT;
	else
		exec.flags &= ~EXEC_INPUT;
	p.streams = exec.flags & EXEC_MERGE ? 1 << 1 : 1 << 1 | 1 << 2;
	if (sandbox_send(sb, PROTO_EXEC, &exec, &p.req) == -1)
		return (-1);
	ret = run(&p);
	if (ret == 0 && info == NULL)
		msg_clear(&own, proto_def(PROTO_EXEC_INFO));
	return (ret);
}

int
sandbox_attach(struct sandbox *sb, const struct proto_attach *at,
    struct sandbox_io *io, struct proto_exec_info *info)
{
	struct proto_exec_info	 own;
	struct io		 p;
	int			 ret;

	prepare(&p, sb, io, at->exec);
	memset(&own, 0, sizeof(own));
	p.info = info == NULL ? &own : info;
	memset(p.info, 0, sizeof(*p.info));
	p.type = PROTO_ATTACH;
	snprintf(p.exec, sizeof(p.exec), "%s", at->exec);
	p.input = io->in != -1 && (at->streams & 1) != 0;
	p.streams = at->streams & 6;
	p.out[1].off = at->offset1;
	p.out[2].off = at->offset2;
	if (sandbox_send(sb, PROTO_ATTACH, at, &p.req) == -1)
		return (-1);
	ret = run(&p);
	if (ret == 0 && info == NULL)
		msg_clear(&own, proto_def(PROTO_EXEC_INFO));
	return (ret);
}

int
sandbox_logs(struct sandbox *sb, const struct proto_attach *at,
    struct sandbox_io *io)
{
	struct io	 p;

	prepare(&p, sb, io, at->exec);
	p.type = PROTO_LOGS;
	snprintf(p.exec, sizeof(p.exec), "%s", at->exec);
	p.streams = at->streams;
	p.follow = at->follow;
	p.out[1].off = at->offset1;
	p.out[2].off = at->offset2;
	if (sandbox_send(sb, PROTO_LOGS, at, &p.req) == -1)
		return (-1);
	return (run(&p));
}
