/*
 * The connection to the runner: found, lost and found again.  What is due is
 * a property of the execs, not a queue, so that nothing grows here while the
 * runner is slow or away.
 */

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define RBUF		(GP_MAX_FROM_RUNNER + GP_MAX_DATA)
#define SBUF		(4 * GP_MAX_FROM_GUEST)
#define SFULL		(SBUF - 3 * GP_MAX_FROM_GUEST - 1024)
#define REFUSALS	64
#define RETRY_MIN	(10 * MSEC)
#define RETRY_MAX	(5 * NSEC)

static struct link {
	int		 fd;
	int		 ino;		/* only while there is no connection */
	int		 welcome;
	uint64_t	 retry_at;	/* 0: something will wake us */
	uint64_t	 retry;
	uint8_t		*rbuf;
	size_t		 rlen;
	uint8_t		*sbuf;
	size_t		 slen;
	size_t		 spos;
	int		 pong;
	int		 bye;
	int		 stalled;	/* refusals must leave first */
	int		 full;		/* waits until the socket takes more */
	struct gp_ping	 cookie;
	struct {
		uint64_t		 k;
		struct gp_not_started	 m;
	} refusal[REFUSALS];
	int		 nrefusals;
} ln = { .fd = -1, .ino = -1 };

static void	link_try(void);

static void *
buffer(size_t size)
{
	void	*p;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		err(1, "mmap");
	/* Commands pass here with their secrets: not for other reapers. */
	madvise(p, size, MADV_DONTFORK);
	return (p);
}

void
link_init(void)
{
	ln.rbuf = buffer(RBUF);
	ln.sbuf = buffer(SBUF);
	ln.retry = RETRY_MIN;
	link_try();
}

int
link_up(void)
{
	return (ln.fd != -1 && ln.welcome);
}

/* An answer about an exec that is not in the table. */
void
link_refuse(uint64_t k, uint32_t cause, uint32_t error)
{
	ln.refusal[ln.nrefusals].k = k;
	ln.refusal[ln.nrefusals].m.cause = cause;
	ln.refusal[ln.nrefusals].m.error = error;
	if (++ln.nrefusals == REFUSALS)
		ln.stalled = 1;
}

/* 0 if the frame was encoded: it always fits, SFULL leaves room. */
static void
sent(ssize_t n)
{
	if (n == -1)
		errx(1, "frame does not fit");
	ln.slen += n;
}

#define ROOM	ln.sbuf + ln.slen, SBUF - ln.slen

static void
link_hello(void)
{
	struct gp_hello	 m = g.hello;

	m.version = GP_VERSION;
	m.flags = GP_CAN_INPUT | GP_CAN_SIGNAL | GP_CAN_CALL;
	if (g.pidfd)
		m.flags |= GP_CAN_PIDFD;
	if (g.stopping)
		m.flags |= GP_IS_STOPPING;
	m.boot = g.boot;
	m.pid = getpid();
	m.uid = getuid();
	m.gid = getgid();
	m.nexecs = g.nexecs;
	m.last = g.last;
	m.now = now_ns();
	m.release = GUEST_RELEASE;
	limits_read(&m);
	g.idle_max = m.pids < IDLE_MAX * IDLE_SHARE ? m.pids / IDLE_SHARE :
	    IDLE_MAX;
	sent(gp_encode_hello(ROOM, &m));
}

/* A watch first, then the attempt: what comes in between wakes us. */
static void
link_watch(void)
{
	if (ln.ino != -1)
		return;
	if ((ln.ino = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) == -1)
		return;
	if (inotify_add_watch(ln.ino, g.dir, IN_CREATE | IN_MOVED_TO |
	    IN_DELETE_SELF | IN_MOVE_SELF) == -1 ||
	    watch_fd(ln.ino, SRC_INOTIFY, 0, 0) == -1) {
		close(ln.ino);
		ln.ino = -1;
	}
}

static void
link_later(void)
{
	ln.retry_at = g.now + ln.retry;
	if ((ln.retry *= 2) > RETRY_MAX)
		ln.retry = RETRY_MAX;
}

static void
link_try(void)
{
	static const char	 name[] = "/" GUEST_SOCKNAME;
	struct sockaddr_un	 sun;
	size_t			 len = strlen(g.dir);

	ln.retry_at = 0;
	link_watch();
	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	memcpy(sun.sun_path, g.dir, len);
	memcpy(sun.sun_path + len, name, sizeof(name));
	ln.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (ln.fd == -1) {
		link_later();
		return;
	}
	if (connect(ln.fd, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    watch_fd(ln.fd, SRC_LINK, 0, 1) == -1) {
		/* Not there, or of a runner that is dead: the watch tells. */
		if (ln.ino == -1 || (errno != ENOENT && errno != ECONNREFUSED))
			link_later();
		close(ln.fd);
		ln.fd = -1;
		return;
	}
	if (ln.ino != -1)
		close(ln.ino);
	ln.ino = -1;
	ln.rlen = ln.slen = ln.spos = 0;
	ln.welcome = ln.pong = ln.bye = ln.stalled = ln.nrefusals = 0;
	ln.full = 0;
	link_hello();
}

static void
link_down(void)
{
	struct exec	*e, *next;
	int		 was = ln.welcome;

	close(ln.fd);
	ln.fd = -1;
	pour_down();
	ln.welcome = 0;
	explicit_bzero(ln.rbuf, ln.rlen);
	call_down();
	for (e = TAILQ_FIRST(&g.execs); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		e->pending = e->resumed = 0;
		if (e->dirty)
			TAILQ_REMOVE(&g.dirty, e, dirty_entry);
		e->dirty = 0;
		if (e->state == EX_BACKGROUND && e->gone)
			exec_free(e);
	}
	/* Who was never made welcome is not to come back at once. */
	if (was) {
		ln.retry = RETRY_MIN;
		link_try();
	} else {
		link_watch();
		link_later();
	}
}

void
link_inotify(void)
{
	char	 buf[4096]
		    __attribute__((__aligned__(__alignof__(uint64_t))));
	ssize_t	 n, i;
	struct inotify_event	*ev;
	int	 lost = 0;

	while (ln.ino != -1 && (n = read(ln.ino, buf, sizeof(buf))) > 0)
		for (i = 0; i < n; i += sizeof(*ev) + ev->len) {
			ev = (struct inotify_event *)(buf + i);
			if (ev->mask & (IN_IGNORED | IN_UNMOUNT |
			    IN_DELETE_SELF | IN_MOVE_SELF))
				lost = 1;
		}
	if (lost) {
		close(ln.ino);
		ln.ino = -1;
	}
	if (ln.fd == -1) {
		ln.retry = RETRY_MIN;
		link_try();
	}
}

/* Tries again if it is time; when the next time is, 0 for never. */
uint64_t
link_timer(void)
{
	if (ln.fd == -1 && ln.retry_at != 0 && g.now >= ln.retry_at)
		link_try();
	return (ln.fd == -1 ? ln.retry_at : 0);
}

static void
put_state(const struct exec *e)
{
	static const uint32_t	 told[] = {
		[EX_STARTING] = GP_ST_RUNNING, [EX_RUNNING] = GP_ST_RUNNING,
		[EX_ENDED] = GP_ST_ENDED, [EX_FAILED] = GP_ST_FAILED,
		[EX_BACKGROUND] = GP_ST_BACKGROUND
	};
	struct gp_state		 m;

	memset(&m, 0, sizeof(m));
	m.state = told[e->state];
	m.pid = e->pid;
	m.out = e->out[0].base;
	m.out_len = e->out[0].end;
	m.err = e->out[1].base;
	m.err_len = e->out[1].end;
	m.in = e->in.end;
	m.start = e->start;
	m.background = e->background;
	sent(gp_encode_state(ROOM, e->k, &m));
}

/* It begins with what there is. */
void
link_welcome(void)
{
	struct gp_states_end	 end;
	struct exec		*e;

	ln.welcome = 1;
	ln.retry = RETRY_MIN;
	TAILQ_FOREACH(e, &g.execs, entry)
		put_state(e);
	end.count = g.nexecs;
	sent(gp_encode_states_end(ROOM, &end));
}

void
link_pong(const struct gp_ping *m)
{
	ln.cookie = *m;
	ln.pong = 1;
}

/* All whole frames in the buffer; -1 if one is not of this protocol. */
static int
link_parse(void)
{
	struct gp_frame	 f;
	size_t		 off = 0, left;
	int		 n = 0;

	while (!ln.stalled && (n = gp_get(&f, ln.rbuf + off, ln.rlen - off,
	    GP_RUNNER)) == 1) {
		if (link_dispatch(&f) == -1)
			return (-1);
		off += f.total;
	}
	if (n == -1)
		return (-1);
	if (off == 0)
		return (0);
	left = ln.rlen - off;
	memmove(ln.rbuf, ln.rbuf + off, left);
	/* Half a START may have moved: leave no second copy of it. */
	if (left > 0)
		explicit_bzero(ln.rbuf + left, off);
	ln.rlen = left;
	return (0);
}

static void
link_read(void)
{
	ssize_t	 n;

	while (ln.fd != -1) {
		if (link_parse() == -1) {
			link_down();
			return;
		}
		if (ln.stalled)
			return;
		n = recv(ln.fd, ln.rbuf + ln.rlen, RBUF - ln.rlen,
		    MSG_DONTWAIT);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return;
		if (n <= 0) {
			link_down();
			return;
		}
		ln.rlen += n;
	}
}

void
link_event(uint32_t events)
{
	if (ln.fd != -1 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		link_read();
}

/* One piece of a stream.  1 if that was all. */
static int
put_output(struct exec *e, int i)
{
	struct gp_output	 m;
	struct output		*o = &e->out[i];
	size_t			 pos = o->sent % GP_WINDOW;

	if (o->sent == o->end)
		return (1);
	m.stream = i == 0 ? GP_STDOUT : GP_STDERR;
	m.off = o->sent;
	m.data = o->buf + pos;
	m.len = o->end - o->sent;
	if (m.len > GP_MAX_DATA)
		m.len = GP_MAX_DATA;
	if (m.len > GP_WINDOW - pos)
		m.len = GP_WINDOW - pos;
	sent(gp_encode_output(ROOM, e->k, &m));
	o->sent += m.len;
	return (o->sent == o->end);
}

static void
put_exit(const struct exec *e)
{
	struct gp_exit	 m;

	memset(&m, 0, sizeof(m));
	if (WIFEXITED(e->status))
		m.code = WEXITSTATUS(e->status);
	else
		m.signo = WTERMSIG(e->status);
	m.kind = e->kind;
	if (m.kind == 0)
		m.kind = m.signo != 0 ? GP_SIGNALED : GP_EXITED;
	if (e->reaper_lost && !e->swept)
		m.flags |= GP_EXIT_REAPER_LOST;
	if (e->oom)
		m.flags |= GP_EXIT_OOM;
	m.background = e->background;
	m.out_len = e->out[0].end;
	m.err_len = e->out[1].end;
	m.start = e->start;
	m.end = e->end;
	sent(gp_encode_exit(ROOM, e->k, &m));
}

static void
put_background(const struct exec *e)
{
	struct gp_background	 m;

	m.count = e->background;
	m.discarded = e->out[0].discarded + e->out[1].discarded;
	sent(gp_encode_background(ROOM, e->k, &m));
}

static void
put_begin(struct exec *e)
{
	struct gp_started	 st;
	struct gp_not_started	 ns;

	if ((e->pending & P_STATE) != 0)
		put_state(e);
	if ((e->pending & P_STARTED) != 0) {
		st.pid = e->pid;
		st.start = e->start;
		sent(gp_encode_started(ROOM, e->k, &st));
	}
	if ((e->pending & P_NOT_STARTED) != 0) {
		ns.cause = e->cause;
		ns.error = e->error;
		sent(gp_encode_not_started(ROOM, e->k, &ns));
	}
	e->pending &= ~(P_STATE | P_STARTED | P_NOT_STARTED);
}

static void
put_input_ack(struct exec *e)
{
	struct gp_input_ack	 m;

	m.flags = e->in.closed && e->in.end != e->in.total ?
	    GP_INPUT_CLOSED : 0;
	m.off = e->in.base;
	sent(gp_encode_input_ack(ROOM, e->k, &m));
	e->pending &= ~P_INPUT_ACK;
}

/* What is due of e, and at most one piece of each stream.  1: all of it. */
static int
put_exec(struct exec *e)
{
	int	 all = 1;

	if (e->resumed) {
		put_begin(e);
		if (e->state != EX_BACKGROUND) {
			all = put_output(e, 0);
			all &= put_output(e, 1);
		}
		if ((e->pending & P_INPUT_ACK) != 0)
			put_input_ack(e);
		if ((e->pending & P_EXIT) != 0 && all &&
		    e->state == EX_ENDED) {
			if (e->flags & GP_START_CHANGES)
				sent(changed_put(e, ROOM));
			put_exit(e);
			e->pending &= ~P_EXIT;
		}
	}
	if ((e->pending & P_BACKGROUND) != 0 && all &&
	    (e->resumed || e->state == EX_BACKGROUND)) {
		put_background(e);
		e->pending &= ~P_BACKGROUND;
	}
	return (all);
}

/* Execs take turns; the buffer bounds what one fill holds. */
static void
link_fill(void)
{
	struct exec	*e;
	ssize_t		 n;
	int		 i;

	if (!ln.welcome || ln.bye)
		return;
	for (i = 0; i < ln.nrefusals; i++)
		sent(gp_encode_not_started(ROOM, ln.refusal[i].k,
		    &ln.refusal[i].m));
	ln.nrefusals = 0;
	if (ln.pong)
		sent(gp_encode_pong(ROOM, &ln.cookie));
	ln.pong = 0;
	while (ln.slen < SFULL && (e = TAILQ_FIRST(&g.dirty)) != NULL) {
		TAILQ_REMOVE(&g.dirty, e, dirty_entry);
		e->dirty = 0;
		if (!put_exec(e))
			exec_dirty(e, 0);
		else if (e->state == EX_BACKGROUND && e->gone)
			exec_free(e);
	}
	/* After the head of a frame that is poured comes the rest of it. */
	while (ln.slen < SFULL && !pour_busy() && (n = call_fill(ROOM)) != 0)
		sent(n);
	if (pour_busy())
		return;
	if (g.stopping && TAILQ_EMPTY(&g.dirty) && ln.slen < SFULL &&
	    ((g.nexecs == 0 && !call_busy()) || g.now >= g.stop_limit)) {
		sent(gp_encode_bye(ROOM));
		ln.bye = 1;
	}
}

/* Somebody tells when it takes more. */
static void
link_full(int full)
{
	if (full != ln.full)
		watch_more(ln.fd, SRC_LINK, 0, full);
	ln.full = full;
}

/* 1: the rest of a frame, or a part of it, has left. */
static int
link_pour(void)
{
	int	 ret;

	if ((ret = pour_out(ln.fd)) == -1) {
		link_down();
		return (1);
	}
	link_full(!ret);
	return (ret);
}

/* Writes until there is nothing to say or the socket is full. */
void
link_flush(void)
{
	ssize_t	 n;

	while (ln.fd != -1) {
		if (ln.spos == ln.slen && pour_busy()) {
			if (link_pour())
				continue;
			return;
		}
		if (ln.spos == ln.slen) {
			ln.spos = ln.slen = 0;
			if (ln.stalled && ln.nrefusals == 0) {
				ln.stalled = 0;
				link_read();
				continue;
			}
			link_fill();
			if (ln.slen == 0)
				return;
		}
		n = send(ln.fd, ln.sbuf + ln.spos, ln.slen - ln.spos,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN) {
			link_full(1);
			return;
		}
		if (n == -1) {
			/* The next one's HELLO is to leave; nothing else
			   may ever wake us. */
			link_down();
			continue;
		}
		link_full(0);
		ln.spos += n;
		if (ln.bye && ln.spos == ln.slen)
			exit(0);
	}
}
