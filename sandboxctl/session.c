/*
 * session.c: session: requests and answers as lines of JSON, over one
 * connection, any number under way.
 *
 * Nothing here waits but the one poll(2): who does not read our lines is not
 * read either, and stops no command but by its own bound.
 */

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "session.h"

#define READ_SIZE	(64 * 1024)

enum { P_IN, P_OUT, P_CONN, P_SIGNAL, P_JOBS };

struct session	 ss;

/* Lines that are not written yet. */
static struct {
	char	*data;
	size_t	 pos;
	size_t	 len;
	size_t	 size;
	int	 fd;		/* non-blocking, or a socket, or else */
	int	 sock;
} out;

/* What has been read, and is no whole line yet or not wanted yet. */
static struct {
	char	*data;		/* SESSION_LINE_MAX + READ_SIZE */
	size_t	 pos;
	size_t	 len;
	int	 skip;		/* in a line that is too long */
	uint64_t lines;
} in;

int64_t
session_now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

static __attribute__((__noreturn__)) void
no_memory(void)
{
	fprintf(stderr, "sandboxctl: out of memory (internal)\n");
	/* What is still to be written would come back to here. */
	_exit(code_exit(CODE_INTERNAL));
}

/* --- lines out ------------------------------------------------------ */

size_t
session_queued(void)
{
	return (out.len - out.pos);
}

static int
out_grow(size_t len)
{
	char	*p;
	size_t	 size;

	if (out.pos > 0 && out.len + len > out.size) {
		memmove(out.data, out.data + out.pos, out.len - out.pos);
		out.len -= out.pos;
		out.pos = 0;
	}
	if (out.len + len <= out.size)
		return (0);
	for (size = 64 * 1024; size < out.len + len; size *= 2)
		;
	if ((p = realloc(out.data, size)) == NULL)
		return (-1);
	out.data = p;
	out.size = size;
	return (0);
}

int
session_room(size_t len)
{
	(void)fflush(ss.out);
	return (out_grow(len));
}

static ssize_t
out_add(void *cookie, const char *data, size_t len)
{
	(void)cookie;
	/* A line that is lost could be one that is waited for. */
	if (out_grow(len) == -1)
		no_memory();
	memcpy(out.data + out.len, data, len);
	out.len += len;
	return (len);
}

/*
 * Our output may be shared with others, for whom its flags are not to
 * change: a pipe is opened once more, and a socket needs none.
 */
static int
out_open(void)
{
	static const cookie_io_functions_t	 io = { .write = out_add };
	struct stat				 sb;

	out.fd = STDOUT_FILENO;
	if (fstat(STDOUT_FILENO, &sb) == -1)
		return (-1);
	out.sock = S_ISSOCK(sb.st_mode);
	if (S_ISFIFO(sb.st_mode)) {
		out.fd = open("/proc/self/fd/1",
		    O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (out.fd == -1)
			out.fd = STDOUT_FILENO;
	}
	if ((ss.out = fopencookie(NULL, "w", io)) == NULL)
		return (-1);
	return (0);
}

/* As much as it takes: 0, or -1 if nobody reads it. */
static int
out_write(void)
{
	size_t	 len = out.len - out.pos;
	ssize_t	 n;

	if (len == 0)
		return (0);
	if (out.sock)
		n = send(out.fd, out.data + out.pos, len,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		/* What may wait is given no more than it has room for. */
		n = write(out.fd, out.data + out.pos,
		    out.fd == STDOUT_FILENO && len > PIPE_BUF ? PIPE_BUF :
		    len);
	if (n == -1)
		return (errno == EAGAIN || errno == EINTR ? 0 : -1);
	out.pos += n;
	if (out.pos == out.len)
		out.pos = out.len = 0;
	return (0);
}

/* --- lines in ------------------------------------------------------- */

static void
in_line(char *text, size_t len)
{
	struct spec_error	 e;
	struct line		 l;

	in.lines++;
	/* An empty line is none. */
	if (strspn(text, " \t\r") == len)
		return;
	if (line_parse(&l, text, len, &e) == 0) {
		call_new(&l, len);
		return;
	}
	/* An id that is in use would look like the end of the other. */
	if (l.id != NULL && call_find(l.id) != NULL) {
		free(l.id);
		l.id = NULL;
	}
	tell_error(l.id, e.code, e.field, e.text);
	line_clear(&l);
}

static void
in_too_long(void)
{
	char	 text[80];

	snprintf(text, sizeof(text), "line %llu is too long: the limit is %d "
	    "bytes", (unsigned long long)in.lines + 1, SESSION_LINE_MAX);
	tell_error(NULL, CODE_LIMIT_EXCEEDED, "", text);
	in.skip = 1;
}

/* The whole lines that there are, as long as they may be begun. */
static void
in_lines(void)
{
	char	*p, *nl;

	while (!ss.stopping && !call_blocked() &&
	    session_queued() < SESSION_OUT_MAX) {
		p = in.data + in.pos;
		nl = memchr(p, '\n', in.len - in.pos);
		if (nl == NULL && in.len - in.pos > SESSION_LINE_MAX) {
			if (!in.skip)
				in_too_long();
			in.pos = in.len = 0;
		}
		/* The last one may end with the input. */
		if (nl == NULL && ss.eof && in.len > in.pos)
			nl = in.data + in.len;
		if (nl == NULL)
			break;
		*nl = '\0';
		if (in.skip || nl - p > SESSION_LINE_MAX) {
			if (!in.skip)
				in_too_long();
			in.lines++;
			in.skip = 0;
		} else
			in_line(p, nl - p);
		in.pos = nl - in.data + 1;
		if (in.pos >= in.len)
			in.pos = in.len = 0;
	}
	if (in.pos > 0) {
		memmove(in.data, in.data + in.pos, in.len - in.pos);
		in.len -= in.pos;
		in.pos = 0;
	}
}

/* Room for it was there when it was polled. */
static void
in_read(void)
{
	ssize_t	 n;

	n = read(STDIN_FILENO, in.data + in.len, READ_SIZE);
	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0)
		ss.eof = 1;
	else
		in.len += n;
}

static int
in_wanted(void)
{
	return (!ss.eof && !ss.stopping && in.len <= SESSION_LINE_MAX &&
	    !call_blocked() && session_queued() < SESSION_OUT_MAX);
}

/* --- the loop ------------------------------------------------------- */

struct polled {
	struct pollfd	*pfd;
	struct call	**of;	/* whose these are, JOB_FDS of each */
	size_t		 n;
	size_t		 size;
	size_t		 first;	/* of the calls, this time */
	int		 wait;
	int		 full;
};

static void
poll_room(struct polled *p, size_t n)
{
	size_t	 size = n * 2;

	if (n <= p->size)
		return;
	if ((p->pfd = reallocarray(p->pfd, size, sizeof(*p->pfd))) == NULL ||
	    (p->of = reallocarray(p->of, size, sizeof(*p->of))) == NULL)
		no_memory();
	p->size = size;
}

static void
poll_sooner(struct polled *p, int wait)
{
	if (wait != -1 && (p->wait == -1 || wait < p->wait))
		p->wait = wait;
}

static void
poll_job(struct call *c, void *arg)
{
	struct polled	*p = arg;

	poll_room(p, p->n + SANDBOX_JOB_FDS);
	p->of[p->n] = c;
	poll_sooner(p, job_fds(c, &p->pfd[p->n], p->full));
	p->n += SANDBOX_JOB_FDS;
}

static void
poll_set(struct polled *p, int i, int fd, short events)
{
	p->pfd[i].fd = fd;
	p->pfd[i].events = events;
	p->pfd[i].revents = 0;
}

static void
poll_all(struct polled *p, int sigfd)
{
	short	 events;

	p->wait = -1;
	p->full = session_queued() >= SESSION_OUT_MAX;
	p->n = P_JOBS;
	poll_room(p, p->n);
	poll_set(p, P_SIGNAL, sigfd, POLLIN);
	/* Also without a line: that nobody reads us is to be noticed. */
	poll_set(p, P_OUT, out.fd, session_queued() > 0 ? POLLOUT : 0);
	poll_set(p, P_IN, in_wanted() ? STDIN_FILENO : -1, POLLIN);
	events = p->full && ss.conn == CONN_UP ? 0 : POLLIN;
	if (ss.conn == CONN_UP && sandbox_write_queued(ss.sb) == 1)
		events |= POLLOUT;
	poll_set(p, P_CONN, ss.conn == CONN_UP || ss.conn == CONN_GREETING ?
	    sandbox_fd(ss.sb) : -1, events);
	call_each_job(poll_job, p);
	poll_sooner(p, conn_wait());
	if (ss.conn == CONN_UP && (sandbox_fd(ss.sb) == -1 ||
	    (!p->full && sandbox_pending(ss.sb))))
		p->wait = 0;
}

/* Each job has its turn, and is the first one in turn. */
static void
turn_jobs(struct polled *p)
{
	size_t	 jobs = (p->n - P_JOBS) / SANDBOX_JOB_FDS, i, k;

	for (i = 0; i < jobs; i++) {
		k = P_JOBS + (i + p->first) % jobs * SANDBOX_JOB_FDS;
		/* The lines of those before may be enough by now. */
		if (session_queued() >= SESSION_OUT_MAX)
			p->pfd[k].revents = p->pfd[k + 1].revents = 0;
		job_turn(p->of[k], &p->pfd[k]);
		fflush(ss.out);
	}
	p->first++;
}

static void
turn_answers(void)
{
	struct sandbox_answer	 a;

	while (ss.conn == CONN_UP && session_queued() < SESSION_OUT_MAX &&
	    sandbox_recv(ss.sb, &a, 0) == 1) {
		call_take(&a);
		sandbox_answer_clear(&a);
		fflush(ss.out);
	}
	if (ss.conn == CONN_UP && sandbox_fd(ss.sb) == -1)
		conn_lost();
}

/* One turn: 0, or -1 if nobody reads what we say. */
static int
turn(struct polled *p, int sigfd)
{
	fflush(ss.out);
	if (out_write() == -1)
		return (-1);
	poll_all(p, sigfd);
	if (poll(p->pfd, p->n, p->wait) == -1) {
		if (errno != EINTR)
			return (-1);
		return (0);
	}
	if (p->pfd[P_OUT].revents & (POLLERR | POLLHUP | POLLNVAL)) {
		errno = EPIPE;
		return (-1);
	}
	/* The jobs first: afterwards they may be others. */
	turn_jobs(p);
	if (p->pfd[P_SIGNAL].revents != 0) {
		signals_drain();
		if (!ss.stopping && signals_got() != 0)
			call_stop(signals_got());
	}
	conn_turn();
	turn_answers();
	if (p->pfd[P_IN].revents != 0)
		in_read();
	in_lines();
	if (ss.eof == 1 && in.len == 0) {
		ss.eof = 2;
		call_eof();
	}
	if (ss.conn == CONN_UP && sandbox_fd(ss.sb) != -1)
		call_send_all();
	return (0);
}

/* The last lines, for as long as somebody takes them. */
static int
finish(void)
{
	struct pollfd	 pfd = { .fd = out.fd, .events = POLLOUT };

	fflush(ss.out);
	while (session_queued() > 0) {
		if (poll(&pfd, 1, -1) == -1 && errno != EINTR)
			return (-1);
		if (out_write() == -1)
			return (-1);
	}
	return (0);
}

static int
done(void)
{
	if (ss.conn == CONN_LOST)
		return (1);
	return ((ss.eof == 2 || ss.stopping) && call_idle());
}

int
cmd_session(struct ctl *ctl)
{
	struct polled	 p;
	int		 sigfd, ret = 0;

	memset(&p, 0, sizeof(p));
	ss.ctl = ctl;
	ss.sb = ctl->conn;
	TAILQ_INIT(&ss.waiting[0]);
	TAILQ_INIT(&ss.waiting[1]);
	TAILQ_INIT(&ss.sent);
	TAILQ_INIT(&ss.local);
	signal(SIGPIPE, SIG_IGN);
	if ((sigfd = signals_catch()) == -1)
		return (ctl_errno(ctl, "signals"));
	in.data = malloc(SESSION_LINE_MAX + READ_SIZE + 1);
	if (in.data == NULL || out_open() == -1)
		return (ctl_errno(ctl, "session"));
	while (ret == 0 && !done())
		ret = turn(&p, sigfd);
	if (ret == 0)
		ret = finish();
	free(p.pfd);
	free(p.of);
	free(in.data);
	if (ret == -1)
		return (errno == EPIPE ? EXIT_SIGNAL + SIGPIPE :
		    ctl_errno(ctl, "standard output"));
	return (ss.stopping ? EXIT_SIGNAL + ss.stopping : ss.status);
}
