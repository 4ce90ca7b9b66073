/*
 * libsandbox: the bytes of a command, without a loop.  Output and input go
 * through pipes of which the daemon has sent the ends; the caller says when
 * they can be read and written and hands over the answers, and this finds
 * its way back, at the byte where it was, when the daemon restarts.
 */

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox_int.h"

#define JOB_READ	(48 * 1024)	/* of a pipe that holds 64 KiB */
#define JOB_INPUT	(256 * 1024)	/* input kept until acknowledged */
#define JOB_LOSSES	20		/* in a row, and no answer between */
#define JOB_PAUSE	100		/* ms, when attaching came too early */

/* What comes behind the end of an output's pipe. */
struct next {
	TAILQ_ENTRY(next)	 entry;
	int			 fd;	/* -1: a gap */
	struct sandbox_answer	 a;
};

struct output {
	int			 fd;
	uint64_t		 off;	/* of the byte to come */
	TAILQ_HEAD(, next)	 next;
};

struct sandbox_job {
	struct sandbox		*sb;
	const struct sandbox_io	*io;
	struct proto_exec_info	*info;	/* NULL: LOGS */
	uint32_t		 type;	/* of the request to come back with */
	uint32_t		 req;
	char			 exec[EXEC_ID_MAX + 17];
	char			 owner[16];	/* "uid/" as the caller wrote */
	uint32_t		 streams;	/* outputs wanted */
	uint32_t		 follow;
	struct output		 out[3];
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
	int			 lost;	/* and it is not asked for anew yet */
	int			 broken;
	int			 losses;
	int64_t			 until;	/* coming back, until then */
	int64_t			 attach;	/* to be asked anew then, or 0 */
	int64_t			 finish;	/* the same of the input's end */
};

static void
close_fd(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

/* It cannot go on; and its answers have nobody to take them. */
static int
broken(struct sandbox_job *p, enum code code, const char *fmt, ...)
{
	char	 text[TEXT_MAX + 1];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p->broken = 1;
	return (sandbox_fail(p->sb, code, "%s", text));
}

/* --- output --------------------------------------------------------- */

/* At the end of a pipe: what comes behind it. */
static void
output_advance(struct sandbox_job *p, struct output *o)
{
	struct next	*x;

	while (o->fd == -1 && (x = TAILQ_FIRST(&o->next)) != NULL) {
		TAILQ_REMOVE(&o->next, x, entry);
		if (x->fd != -1) {
			o->fd = x->fd;
			o->off = x->a.u.stream.offset;
		} else {
			o->off = x->a.u.gap.to;
			if (p->io->note != NULL)
				p->io->note(p->io->arg, &x->a);
		}
		free(x);
	}
}

static int
output_read(struct sandbox_job *p, int n)
{
	static __thread char	 buf[JOB_READ];
	struct output		*o = &p->out[n];
	ssize_t			 len;

	do {
		len = read(o->fd, buf, sizeof(buf));
	} while (len == -1 && errno == EINTR);
	if (len <= 0) {
		/* A pipe has no errors: what is amiss ends it. */
		close_fd(&o->fd);
		output_advance(p, o);
		return (0);
	}
	o->off += len;
	if (p->io->out != NULL && p->io->out(p->io->arg, n, buf, len) == -1)
		return (broken(p, CODE_INTERNAL,
		    "cannot pass on the output: %s", strerror(errno)));
	return (0);
}

static int
output_idle(const struct sandbox_job *p)
{
	return (p->out[1].fd == -1 && p->out[2].fd == -1 &&
	    TAILQ_EMPTY(&p->out[1].next) && TAILQ_EMPTY(&p->out[2].next));
}

/* A stream or a gap, when what is before it has been read. */
static int
output_add(struct sandbox_job *p, uint32_t n, struct sandbox_answer *a)
{
	struct next	*x;

	if ((x = calloc(1, sizeof(*x))) == NULL)
		return (broken(p, CODE_INTERNAL, "out of memory"));
	x->fd = a->fd;
	a->fd = -1;
	x->a.req = a->req;
	x->a.type = a->type;
	x->a.fd = -1;
	if (a->type == PROTO_GAP)
		x->a.u.gap = a->u.gap;
	else
		x->a.u.stream = a->u.stream;
	TAILQ_INSERT_TAIL(&p->out[n].next, x, entry);
	output_advance(p, &p->out[n]);
	return (0);
}

/* --- input ---------------------------------------------------------- */

static void
input_acked(struct sandbox_job *p, uint64_t off)
{
	if (off <= p->acked || off > p->have)
		return;
	memmove(p->keep, p->keep + (off - p->acked), p->have - off);
	p->acked = off;
	if (p->sent < off)
		p->sent = off;
}

static int
input_room(struct sandbox_job *p)
{
	if (p->keep == NULL && (p->keep = malloc(JOB_INPUT)) == NULL)
		return (broken(p, CODE_INTERNAL, "out of memory"));
	return (0);
}

/* From the caller's descriptor into what is kept. */
static int
input_read(struct sandbox_job *p)
{
	size_t	 kept = p->have - p->acked;
	ssize_t	 n;

	if (input_room(p) == -1)
		return (-1);
	if (p->io->read != NULL)
		n = p->io->read(p->io->arg, p->keep + kept,
		    JOB_INPUT - kept);
	else
		n = read(p->io->in, p->keep + kept, JOB_INPUT - kept);
	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return (0);
	/* One that cannot be read to its end must not look whole. */
	if (n == -1 && errno != EBADF)
		return (broken(p, CODE_INVALID_ARGUMENT,
		    "cannot read the input: %s", strerror(errno)));
	if (n <= 0)
		p->in_eof = 1;
	else
		p->have += n;
	return (0);
}

static int
input_end(struct sandbox_job *p)
{
	struct proto_call_input	 call;
	struct proto_input_end	 end;

	p->finish = 0;
	if (p->type == PROTO_CALL) {
		call.call = p->req;
		call.total = p->have;
		return (sandbox_queue(p->sb, PROTO_CALL_INPUT, &call,
		    &p->in_req));
	}
	end.exec = p->exec;
	end.total = p->have;
	return (sandbox_queue(p->sb, PROTO_INPUT_END, &end, &p->in_req));
}

/* Into the pipe; and when all is in it, the word that it was all. */
static int
input_write(struct sandbox_job *p)
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
		/* A call is never made again, and needs none of it. */
		if (p->type == PROTO_CALL)
			input_acked(p, p->sent);
	}
	if (!p->in_eof || p->in_req != 0)
		return (0);
	close_fd(&p->pipe);
	return (input_end(p));
}

/* The write end of the input, from an offset on. */
static int
input_begin(struct sandbox_job *p, const struct proto_stream *s, int fd)
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
		return (broken(p, CODE_PROTOCOL,
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
	/* If all has been taken but the word of it, nothing else comes. */
	return (input_write(p));
}

ssize_t
sandbox_job_write(struct sandbox_job *p, const void *data, size_t len)
{
	size_t	 kept = p->have - p->acked;

	/* What nobody takes is taken from the caller. */
	if (p->in_closed || p->over)
		return (len);
	if (p->in_eof || p->pipe == -1)
		return (0);
	if (input_room(p) == -1)
		return (-1);
	if (len > JOB_INPUT - kept)
		len = JOB_INPUT - kept;
	if (len == 0)
		return (0);
	memcpy(p->keep + kept, data, len);
	p->have += len;
	return (input_write(p) == -1 ? -1 : (ssize_t)len);
}

int
sandbox_job_end(struct sandbox_job *p)
{
	p->in_eof = 1;
	return (p->pipe == -1 ? 0 : input_write(p));
}

/* --- answers -------------------------------------------------------- */

/* Asks for what is left, on a connection that may be a new one. */
static int
come_back(struct sandbox_job *p)
{
	struct proto_attach	 at;

	p->attach = 0;
	p->lost = 0;
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
	return (sandbox_queue(p->sb, p->type, &at, &p->req));
}

/* A refusal: after a pause it is to be tried again, if it is one of those. */
static int
refused(struct sandbox_job *p, struct sandbox_answer *a, int64_t *when)
{
	sandbox_set_error(p->sb, &a->u.error);
	if (p->until == 0 || sandbox_now() >= p->until ||
	    p->sb->err.code != CODE_UNAVAILABLE)
		return (-1);
	*when = sandbox_now() + JOB_PAUSE;
	return (0);
}

/*
 * If the word that it was all is refused, the command would read for ever.
 * One that is not there any more has ended, and its END is under way.
 */
static int
take_input_error(struct sandbox_job *p, struct sandbox_answer *a)
{
	if (strcmp(a->u.error.code, code_name(CODE_NOT_FOUND)) == 0)
		return (0);
	if (p->until == 0 && p->io->again > 0)
		p->until = sandbox_now() + p->io->again;
	return (refused(p, a, &p->finish));
}

static int
take_stream(struct sandbox_job *p, struct sandbox_answer *a)
{
	uint32_t	 n = a->u.stream.stream;
	int		 fd = a->fd;

	if (fd == -1 || n > 2)
		return (broken(p, CODE_PROTOCOL,
		    "the daemon sent a bad stream"));
	if (*p->exec == '\0')
		snprintf(p->exec, sizeof(p->exec), "%s%s", p->owner,
		    a->u.stream.exec);
	if (n != 0)
		return (output_add(p, n, a));
	a->fd = -1;
	return (input_begin(p, &a->u.stream, fd));
}

static void
take_accepted(struct sandbox_job *p, const struct sandbox_answer *a)
{
	snprintf(p->exec, sizeof(p->exec), "%s%s", p->owner,
	    a->u.accepted.id);
	if (p->io->note != NULL)
		p->io->note(p->io->arg, a);
}

static int
take_own(struct sandbox_job *p, struct sandbox_answer *a)
{
	p->losses = 0;
	if (a->type != PROTO_ERROR)
		p->until = 0;
	switch (a->type) {
	case PROTO_ACCEPTED:
		take_accepted(p, a);
		return (0);
	case PROTO_STALLED:
	case PROTO_RESULT:
	case PROTO_OUTPUT_END:
		if (p->io->note != NULL)
			p->io->note(p->io->arg, a);
		return (0);
	case PROTO_STREAM:
		return (take_stream(p, a));
	case PROTO_GAP:
		return (a->u.gap.stream < 1 || a->u.gap.stream > 2 ? 0 :
		    output_add(p, a->u.gap.stream, a));
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
		/* Just restarted, it may not have all together yet. */
		return (refused(p, a, &p->attach));
	default:
		return (0);
	}
}

int
sandbox_job_owns(const struct sandbox_job *p, const struct sandbox_answer *a)
{
	return (a->req != 0 && (a->req == p->req || a->req == p->in_req));
}

int
sandbox_job_take(struct sandbox_job *p, struct sandbox_answer *a)
{
	if (a->req == p->req)
		return (take_own(p, a));
	if (a->type == PROTO_ERROR)
		return (take_input_error(p, a));
	return (0);
}

/* --- the caller's loop ---------------------------------------------- */

int
sandbox_job_fds(const struct sandbox_job *p, struct pollfd *pfd)
{
	int64_t	 now, when;
	int	 i;

	for (i = 0; i < SANDBOX_JOB_FDS; i++) {
		pfd[i].fd = -1;
		pfd[i].events = POLLIN;
		pfd[i].revents = 0;
	}
	pfd[0].fd = p->out[1].fd;
	pfd[1].fd = p->out[2].fd;
	if (p->pipe != -1) {
		pfd[2].events = POLLOUT;
		if (p->sent < p->have)
			pfd[2].fd = p->pipe;
		if (!p->in_eof && p->have - p->acked < JOB_INPUT &&
		    p->io->in >= 0)
			pfd[3].fd = p->io->in;
	}
	if ((when = p->attach) == 0 || (p->finish != 0 && p->finish < when))
		when = p->finish;
	if (when == 0)
		return (-1);
	now = sandbox_now();
	return (when <= now ? 0 : (int)(when - now));
}

int
sandbox_job_turn(struct sandbox_job *p, const struct pollfd *pfd)
{
	int	 i;

	for (i = 1; i <= 2; i++)
		if (pfd[i - 1].revents != 0 && pfd[i - 1].fd != -1 &&
		    pfd[i - 1].fd == p->out[i].fd && output_read(p, i) == -1)
			return (-1);
	if (pfd[3].revents != 0 && p->pipe != -1 && input_read(p) == -1)
		return (-1);
	if (p->pipe != -1 && input_write(p) == -1)
		return (-1);
	if (p->lost || sandbox_fd(p->sb) == -1)
		return (0);
	if (p->attach != 0 && p->attach <= sandbox_now() &&
	    come_back(p) == -1)
		return (-1);
	if (p->finish != 0 && p->finish <= sandbox_now())
		return (input_end(p));
	return (0);
}

/* The daemon has gone; what it wrote before is in the pipes. */
int
sandbox_job_lost(struct sandbox_job *p)
{
	close_fd(&p->pipe);
	p->attach = p->finish = 0;
	if (p->over)
		return (0);
	p->lost = 1;
	if (p->type == PROTO_CALL)
		return (sandbox_lost(p->sb, CODE_UNAVAILABLE,
		    "connection to the daemon lost: "
		    "the call may have been carried out"));
	if (p->sb->err.code != CODE_UNAVAILABLE || p->io->again <= 0 ||
	    ++p->losses > JOB_LOSSES)
		return (-1);
	if (*p->exec == '\0')
		return (sandbox_lost(p->sb, CODE_UNAVAILABLE,
		    "connection to the daemon lost: "
		    "the command may have been started"));
	if (p->until == 0)
		p->until = sandbox_now() + p->io->again;
	return (0);
}

int
sandbox_job_again(struct sandbox_job *p)
{
	if (!p->lost)
		return (1);
	if (!output_idle(p))
		return (0);
	return (come_back(p) == -1 ? -1 : 1);
}

int
sandbox_job_ended(const struct sandbox_job *p)
{
	return (p->over);
}

int
sandbox_job_over(const struct sandbox_job *p)
{
	return (p->over && output_idle(p));
}

const char *
sandbox_job_exec(const struct sandbox_job *p)
{
	return (p->exec);
}

uint32_t
sandbox_job_req(const struct sandbox_job *p)
{
	return (p->req);
}

int
sandbox_job_broken(const struct sandbox_job *p)
{
	return (p->broken);
}

void
sandbox_job_free(struct sandbox_job *p)
{
	struct next	*x;
	int		 i;

	if (p == NULL)
		return;
	for (i = 1; i <= 2; i++) {
		close_fd(&p->out[i].fd);
		while ((x = TAILQ_FIRST(&p->out[i].next)) != NULL) {
			TAILQ_REMOVE(&p->out[i].next, x, entry);
			close_fd(&x->fd);
			free(x);
		}
	}
	close_fd(&p->pipe);
	free(p->keep);
	free(p);
}

/* --- its beginnings ------------------------------------------------- */

static struct sandbox_job *
job_new(struct sandbox *sb, const struct sandbox_io *io, const char *name,
    struct proto_exec_info *info)
{
	struct sandbox_job	*p;
	const char		*slash;
	int			 i;

	if ((p = calloc(1, sizeof(*p))) == NULL) {
		(void)sandbox_fail(sb, CODE_INTERNAL, "out of memory");
		return (NULL);
	}
	p->sb = sb;
	p->io = io;
	if ((p->info = info) != NULL)
		memset(info, 0, sizeof(*info));
	p->pipe = -1;
	for (i = 0; i < 3; i++) {
		p->out[i].fd = -1;
		TAILQ_INIT(&p->out[i].next);
	}
	if (name != NULL && (slash = strchr(name, '/')) != NULL &&
	    slash - name < (int)sizeof(p->owner) - 1)
		memcpy(p->owner, name, slash - name + 1);
	return (p);
}

static struct sandbox_job *
job_begin(struct sandbox_job *p, uint32_t type, const void *msg)
{
	if (sandbox_queue(p->sb, type, msg, &p->req) == 0)
		return (p);
	sandbox_job_free(p);
	return (NULL);
}

struct sandbox_job *
sandbox_job_run(struct sandbox *sb, const struct proto_exec *x,
    const struct sandbox_io *io, struct proto_exec_info *info)
{
	struct proto_exec	 exec = *x;	/* borrows what it points to */
	struct sandbox_job	*p;

	if ((p = job_new(sb, io, x->sandbox, info)) == NULL)
		return (NULL);
	p->type = PROTO_ATTACH;
	p->input = io->in != -1;
	exec.flags |= EXEC_ATTACH;
	if (p->input)
		exec.flags |= EXEC_INPUT;
	else
		exec.flags &= ~EXEC_INPUT;
	p->streams = exec.flags & EXEC_MERGE ? 1 << 1 : 1 << 1 | 1 << 2;
	return (job_begin(p, PROTO_EXEC, &exec));
}

struct sandbox_job *
sandbox_job_call(struct sandbox *sb, const struct proto_call *c,
    const struct sandbox_io *io)
{
	struct proto_call	 m = *c;	/* borrows what it points to */
	struct sandbox_job	*p;

	if ((p = job_new(sb, io, NULL, NULL)) == NULL)
		return (NULL);
	p->type = PROTO_CALL;
	m.flags &= ~CALL_F_STREAM;
	if (io->in != -1)
		m.flags |= CALL_F_STREAM;
	return (job_begin(p, PROTO_CALL, &m));
}

struct sandbox_job *
sandbox_job_attach(struct sandbox *sb, uint32_t type,
    const struct proto_attach *at, const struct sandbox_io *io,
    struct proto_exec_info *info)
{
	struct sandbox_job	*p;

	if ((p = job_new(sb, io, at->exec, info)) == NULL)
		return (NULL);
	p->type = type;
	snprintf(p->exec, sizeof(p->exec), "%s", at->exec);
	p->input = type == PROTO_ATTACH && io->in != -1 &&
	    (at->streams & 1) != 0;
	p->streams = type == PROTO_LOGS ? at->streams : at->streams & 6;
	p->follow = at->follow;
	p->out[1].off = at->offset1;
	p->out[2].off = at->offset2;
	return (job_begin(p, type, at));
}
