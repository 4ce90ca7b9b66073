/*
 * Readers of logs.  Each has a pipe of its own, which we made and whose read
 * end the client got by way of the frontend; the pipe is filled from the log
 * at the reader's own offset and pace, and never waited for.  When bytes are
 * gone before he came to them he is told which, and goes on with a new pipe:
 * what came through one pipe is without a gap.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "log.h"
#include "runner.h"

#define READER_STEP	(64 * 1024)
#define READER_TURN	(1024 * 1024)	/* for one reader in a turn */
#define PIPE_LARGE	(256 * 1024)	/* with as many of them the user's */
#define PIPE_LARGE_MAX	64		/* share of pipes is far from used up */
#define PIPES_OWNER	512		/* idle ones, of one owner */

static struct readers	 all = TAILQ_HEAD_INITIALIZER(all);
static int		 nlarge;
static int		 npipes;

static void	 reader_run(struct reader *);

/* Many bytes pass through few pipes: they may have room for a window. */
int
pipe_grow(int fd)
{
	if (nlarge >= PIPE_LARGE_MAX ||
	    fcntl(fd, F_SETPIPE_SZ, PIPE_LARGE) == -1)
		return (0);
	nlarge++;
	return (1);
}

void
pipe_grown(int large)
{
	nlarge -= large;
}

static void
reader_writable(int fd, short event, void *arg)
{
	struct reader	*r = arg;

	(void)fd;
	(void)event;
	r->blocked = 0;
	reader_run(r);
}

static void
reader_stalled(int fd, short event, void *arg)
{
	struct reader	*r = arg;

	(void)fd;
	(void)event;
	reader_demote(r);
}

static void
reader_close_pipe(struct reader *r)
{
	if (r->wfd == -1)
		return;
	event_del(&r->wev);
	close(r->wfd);
	r->wfd = -1;
	npipes--;
	pipe_grown(r->large);
	r->large = 0;
	r->blocked = 0;
}

static void
reader_free(struct reader *r)
{
	struct slog	*l = r->log;

	reader_close_pipe(r);
	evtimer_del(&r->stall);
	if (r->partfd != -1)
		close(r->partfd);
	TAILQ_REMOVE(&l->readers, r, entry);
	TAILQ_REMOVE(&all, r, all);
	if (l->primary == r) {
		l->primary = NULL;
		exec_credit(l);
	}
	slog_release(l);
	free(r);
}

/* The end of the stream for this reader, told once. */
static void
reader_end(struct reader *r)
{
	struct msg_stream_end	 m;

	memset(&m, 0, sizeof(m));
	m.stream = r->log->stream;
	m.offset = r->off;
	reader_close_pipe(r);
	pipe_send(&ch_frontend, MSG_STREAM_END, 0, r->session, r->req, -1, &m);
	fault("runner.stream_end.after");
	reader_free(r);
}

/* We cannot serve him: the request ends with an error. */
static void
reader_fail(struct reader *r, enum code code, const char *what)
{
	struct msg_result	 m;

	memset(&m, 0, sizeof(m));
	m.code = code;
	snprintf(m.text, sizeof(m.text), "%s: %s", what, strerror(errno));
	log_warn("reader of exec %s: %s", r->name, what);
	pipe_send(&ch_store, MSG_RUNNER_ERROR, 0, r->session, r->req, -1, &m);
	reader_end(r);
}

/* He is an ordinary reader from now on; the command waits no longer. */
void
reader_demote(struct reader *r)
{
	struct proto_stalled	 m;
	struct slog		*l = r->log;

	if (l->primary != r)
		return;
	l->primary = NULL;
	evtimer_del(&r->stall);
	m.stream = l->stream;
	pipe_send(&ch_frontend, PROTO_STALLED, 0, r->session, r->req, -1, &m);
	exec_credit(l);
}

/* The command waits for him: from here on time counts. */
void
reader_watch(struct reader *r)
{
	struct timeval	 tv;

	if (evtimer_pending(&r->stall, NULL))
		return;
	tv.tv_sec = runner_conf.t_stall / 1000;
	tv.tv_usec = runner_conf.t_stall % 1000 * 1000;
	evtimer_add(&r->stall, &tv);
}

/*
 * One more pipe?  While a command waits for its reader the bound is that of
 * what runs.  Of the others there are as many as clients like, who need not
 * read them: they must leave descriptors for what the guests bring.
 */
static int
reader_may_open(const struct reader *r)
{
	const struct reader	*o;
	int			 sum = 0, mine = 0;

	if (npipes < PIPES_OWNER)
		return (1);
	TAILQ_FOREACH(o, &all, all) {
		if (o->wfd == -1 || (o->log->primary == o && !o->log->ended))
			continue;
		sum++;
		mine += o->log->owner == r->log->owner;
	}
	if (mine >= PIPES_OWNER)
		return (0);
	return (sum < RUNNER_READERS ||
	    (r->log->primary == r && !r->log->ended));
}

static int
reader_open_pipe(struct reader *r)
{
	struct proto_stream	 m;
	int			 fds[2];

	if (!reader_may_open(r)) {
		errno = EMFILE;
		return (-1);
	}
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) == -1)
		return (-1);
	/*
	 * The client may change flags of his own end alone: the two ends are
	 * two open files.  His shall block, as programs expect of a pipe.
	 */
	if (fcntl(fds[0], F_SETFL, 0) == -1) {
		close(fds[0]);
		close(fds[1]);
		return (-1);
	}
	r->wfd = fds[1];
	npipes++;
	event_set(&r->wev, r->wfd, EV_WRITE, reader_writable, r);
	memset(&m, 0, sizeof(m));
	m.stream = r->log->stream;
	m.offset = r->off;
	memcpy(m.exec, r->name, sizeof(m.exec));
	pipe_send(&ch_frontend, PROTO_STREAM, 0, r->session, r->req, fds[0],
	    &m);
	fault("runner.stream.after");
	return (0);
}

static void
reader_gap(struct reader *r, uint64_t to)
{
	struct proto_gap	 m;

	reader_close_pipe(r);
	m.stream = r->log->stream;
	m.from = r->off;
	m.to = to;
	pipe_send(&ch_frontend, PROTO_GAP, 0, r->session, r->req, -1, &m);
	r->off = to;
}

/* The part's file, opened once; 0, or -1 when it is not there. */
static int
reader_open_part(struct reader *r, struct slog_part *p)
{
	if (r->partfd != -1 && r->partstart == p->start)
		return (0);
	if (r->partfd != -1)
		close(r->partfd);
	r->partfd = slog_part_open(r->log, p);
	r->partstart = p->start;
	return (r->partfd == -1 ? -1 : 0);
}

/* The command may send as much as he has taken. */
static void
reader_progress(struct reader *r)
{
	if (r->log->primary != r)
		return;
	evtimer_del(&r->stall);
	exec_credit(r->log);
}

/* He closed his end, or the pipe is broken otherwise: -1; full: 0. */
static int
reader_wrote(struct reader *r, ssize_t n)
{
	if (n > 0) {
		r->off += n;
		return (1);
	}
	if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
		r->blocked = 1;
		if (!r->large)
			r->large = pipe_grow(r->wfd);
		event_add(&r->wev, NULL);
		return (0);
	}
	return (-1);
}

/*
 * One step: bytes moved, or 0 when he has to wait, or -1 when he is no more.
 */
static ssize_t
reader_step(struct reader *r)
{
	struct slog		*l = r->log;
	struct slog_part	*p;
	uint64_t		 end, next, before = r->off;
	loff_t			 pos;
	size_t			 len;
	ssize_t			 n;

	end = r->end < l->len ? r->end : l->len;
	if (r->off >= end) {
		if (!l->ended && r->end > l->len)
			return (0);
		reader_end(r);
		return (-1);
	}
	if ((p = slog_part(l, r->off, &next)) == NULL) {
		reader_gap(r, next < end ? next : end);
		return (1);
	}
	if (reader_open_part(r, p) == -1 && errno == ENOENT) {
		/* Logs were removed under him. */
		reader_gap(r, p->start + p->len < end ? p->start + p->len :
		    end);
		return (1);
	}
	if (r->partfd == -1 ||
	    (r->wfd == -1 && reader_open_pipe(r) == -1)) {
		reader_fail(r, CODE_UNAVAILABLE, "output");
		return (-1);
	}
	pos = r->off - p->start;
	len = p->len - pos;
	if (len > end - r->off)
		len = end - r->off;
	if (len > READER_STEP)
		len = READER_STEP;
	n = splice(r->partfd, &pos, r->wfd, NULL, len,
	    SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	if (n == 0 || (n == -1 && errno == EIO)) {
		/* The file is shorter than it was: the rest is lost. */
		reader_gap(r, p->start + p->len < end ? p->start + p->len :
		    end);
		return (1);
	}
	if ((n = reader_wrote(r, n)) == -1)
		reader_end(r);
	return (n == 1 ? (ssize_t)(r->off - before) : n);
}

static void
reader_run(struct reader *r)
{
	uint64_t	 start = r->off;
	size_t		 sum = 0;
	ssize_t		 n;

	/* Without a pipe, as behind a gap, nothing would call again. */
	while (!r->blocked && (sum < READER_TURN || r->wfd == -1)) {
		if ((n = reader_step(r)) == -1)
			return;
		if (n == 0)
			break;
		sum += n;
	}
	if (r->off != start)
		reader_progress(r);
	/* His turn is over, not his bytes: next time the pipe has room. */
	if (sum >= READER_TURN && r->wfd != -1)
		event_add(&r->wev, NULL);
}

/*
 * A reader from an offset up to `end', UINT64_MAX: as long as the exec runs.
 * For the primary one, of whom there is one, the command waits.
 */
void
reader_new(struct slog *l, const char *name, uint64_t session, uint32_t req,
    uint64_t off, uint64_t end, int primary)
{
	struct reader	*r;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		fatal("%s", __func__);
	r->log = l;
	l->refs++;
	r->session = session;
	r->req = req;
	r->off = off;
	r->end = end;
	r->wfd = r->partfd = -1;
	snprintf(r->name, sizeof(r->name), "%s", name);
	evtimer_set(&r->stall, reader_stalled, r);
	TAILQ_INSERT_TAIL(&l->readers, r, entry);
	TAILQ_INSERT_TAIL(&all, r, all);
	if (primary && !l->ended) {
		if (l->primary != NULL)
			evtimer_del(&l->primary->stall);
		l->primary = r;
	}
	reader_run(r);
}

/* The log has changed otherwise than by bytes at its end. */
void
reader_wake(struct slog *l)
{
	struct reader	*r, *next;

	l->refs++;
	TAILQ_FOREACH_SAFE(r, &l->readers, entry, next)
		if (!r->blocked)
			reader_run(r);
	slog_release(l);
}

/*
 * Bytes that have just been added at `off'.  Who has read all before gets
 * them from here, without a way over the file.
 */
void
reader_feed(struct slog *l, uint64_t off, const uint8_t *data, size_t len)
{
	struct reader	*r, *next;
	int		 n;

	l->refs++;
	TAILQ_FOREACH_SAFE(r, &l->readers, entry, next) {
		if (r->blocked)
			continue;
		if (r->off != off || r->end < off + len) {
			reader_run(r);
			continue;
		}
		if (r->wfd == -1 && reader_open_pipe(r) == -1) {
			reader_fail(r, CODE_UNAVAILABLE, "output");
			continue;
		}
		n = reader_wrote(r, write(r->wfd, data, len));
		if (n == -1) {
			reader_end(r);
			continue;
		}
		if (n == 1 && r->off < l->len)
			reader_run(r);
		else if (n == 1)
			reader_progress(r);
	}
	slog_release(l);
}

void
reader_session_gone(uint64_t session)
{
	struct reader	*r, *next;

	TAILQ_FOREACH_SAFE(r, &all, all, next)
		if (r->session == session)
			reader_free(r);
}
