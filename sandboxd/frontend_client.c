/*
 * Clients' sockets.  Nothing that comes in here may stop or end this
 * process: each queue, count and waiting time has a bound, and a client that
 * breaks the rules is closed, by the event handlers in this file alone.
 */

#include <sys/types.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/sockios.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "frontend.h"
#include "log.h"
#include "proc.h"
#include "rights.h"

#define STOPS	"the daemon stops, or starts anew"
#define HUPS_MAX		64	/* told in a turn */
#define FD_MESSAGE_LEAST	512	/* a socket's memory for one message */

static int	client_cmp(struct client *, struct client *);
static int	uid_cmp(struct uid_stat *, struct uid_stat *);
static void	client_close(struct client *, const char *);
static void	client_wrong(struct client *, const char *);
static void	client_on_write(int, short, void *);

RB_HEAD(client_tree, client);
RB_HEAD(uid_tree, uid_stat);
RB_PROTOTYPE(client_tree, client, entry, client_cmp);
RB_PROTOTYPE(uid_tree, uid_stat, entry, uid_cmp);
RB_GENERATE(client_tree, client, entry, client_cmp);
RB_GENERATE(uid_tree, uid_stat, entry, uid_cmp);

static struct client_tree	 clients = RB_INITIALIZER(&clients);
static struct uid_tree		 uids = RB_INITIALIZER(&uids);
static unsigned int		 nclients;
static int			 stopping;

static void	 client_dismiss(struct client *, enum code, const char *);
static int			 hups = -1;	/* epoll: who has hung up */
static struct event		 ev_hups;

static int
client_cmp(struct client *a, struct client *b)
{
	return (a->session < b->session ? -1 : a->session > b->session);
}

static int
uid_cmp(struct uid_stat *a, struct uid_stat *b)
{
	return (a->uid < b->uid ? -1 : a->uid > b->uid);
}

struct client *
client_find(uint64_t session)
{
	static struct client	 key;
	struct client		*c;

	key.session = session;
	if ((c = RB_FIND(client_tree, &clients, &key)) == NULL || c->broken)
		return (NULL);
	return (c);
}

static struct uid_stat *
uid_get(uint32_t uid)
{
	static struct uid_stat	 key;
	struct uid_stat		*us;

	key.uid = uid;
	if ((us = RB_FIND(uid_tree, &uids, &key)) != NULL)
		return (us);
	if ((us = calloc(1, sizeof(*us))) == NULL)
		return (NULL);
	us->uid = uid;
	TAILQ_INIT(&us->stalled);
	RB_INSERT(uid_tree, &uids, us);
	return (us);
}

static void
uid_put(struct uid_stat *us)
{
	if (us->nclients > 0)
		return;
	if (us->nshort != 0 || us->nlong != 0 || us->nfds != 0 ||
	    us->out != 0)
		log_warnx("uid %u: %u and %u requests, %u descriptors and "
		    "%zu bytes without a client", us->uid, us->nshort,
		    us->nlong, us->nfds, us->out);
	RB_REMOVE(uid_tree, &uids, us);
	free(us);
}

/* No bytes are read: the requests in flight or the answers are too many. */
static int
client_bounded(const struct client *c)
{
	return (stopping || c->hello == HELLO_SENT || request_bounded(c) ||
	    imsgbuf_queuesize((struct imsgbuf *)(uintptr_t)&c->ibuf) >
	    CLIENT_OUT_STOP);
}

/* It has had its turn, or will not. */
static void
client_asleep(struct client *c)
{
	c->us->nwoken -= c->woken;
	c->woken = 0;
}

/* Reading and its deadline, as the state of things asks for. */
static void
client_watch(struct client *c)
{
	struct timeval	 tv = { CLIENT_MESSAGE_WAIT, 0 };
	int		 partial;

	if (client_bounded(c)) {
		event_del(&c->rev);
		event_del(&c->tmo);
		if (!c->stalled && c->us->nshort >= UID_INFLIGHT_MAX) {
			TAILQ_INSERT_TAIL(&c->us->stalled, c, stalled_entry);
			c->stalled = 1;
		}
		return;
	}
	event_add(&c->rev, NULL);
	partial = c->hello == HELLO_NONE || c->ibuf.rlen > c->ibuf.rpos;
	/* From the first byte on, however often there is one more. */
	if (!partial)
		event_del(&c->tmo);
	else if (!event_pending(&c->tmo, EV_TIMEOUT, NULL))
		event_add(&c->tmo, &tv);
}

/* The length that a header has is what can be wrong with it. */
static const char *
client_length(const struct client *c)
{
	static char	 text[64];
	struct imsg_hdr	 hdr;

	memcpy(&hdr, c->ibuf.rdata + c->ibuf.rpos, sizeof(hdr));
	hdr.len &= ~IMSG_FD_MARK;
	if (hdr.len >= IMSG_HEADER_SIZE && hdr.len <= c->ibuf.maxsize)
		return ("out of memory");
	snprintf(text, sizeof(text), "message of %u bytes: must be %zu to %u",
	    hdr.len, IMSG_HEADER_SIZE, c->ibuf.maxsize);
	return (text);
}

/*
 * Whole messages out of what has been read, as far as the bounds allow.
 * -1 if the client was closed over it.
 */
static int
client_process(struct client *c)
{
	struct imsg	 imsg;
	const char	*wrong;
	int		 n;

	while (!c->broken && !client_bounded(c)) {
		if ((n = imsgbuf_get(&c->ibuf, &imsg)) == 0)
			break;
		if (n == -1) {
			client_wrong(c, client_length(c));
			return (-1);
		}
		event_del(&c->tmo);
		fault("frontend.request.before");
		wrong = request_recv(c, &imsg);
		imsg_free(&imsg);
		if (wrong != NULL) {
			client_wrong(c, wrong);
			return (-1);
		}
	}
	client_watch(c);
	return (0);
}

static void
client_read(struct client *c)
{
	int	 n, held;

	if (c->broken) {
		client_close(c, "its answers cannot be queued");
		return;
	}
	/* First what is here: the buffer is not to grow while it waits. */
	if (client_process(c) == -1)
		return;
	if (!client_bounded(c)) {
		rights_begin(c->fd);
		n = imsgbuf_read(&c->ibuf);
		held = rights_end();
		if (held || n != 1) {
			if (held)
				client_wrong(c, "attached what does not let "
				    "go");
			else if (n == 0 && c->ibuf.rlen > c->ibuf.rpos)
				client_wrong(c, "truncated message");
			else
				client_close(c, n == 0 ? "hung up" :
				    "read failed");
			return;
		}
		if (client_process(c) == -1)
			return;
	}
	client_asleep(c);
	/* What room it has left is for the next of its user. */
	client_resume_uid(c->us);
}

/* The socket has bytes, or the bounds allow more of what was read before. */
static void
client_on_read(int fd, short event, void *arg)
{
	struct client	*c = arg;

	(void)fd;
	(void)event;
	/* These are a stranger's: should we die of them, it is known whose. */
	proc_serve(c->us->uid);
	client_read(c);
	proc_serve(PROC_NOBODY);
}

/* What has left the queue with its message is under way. */
static void
client_fds_sent(struct client *c)
{
	struct ibuf	*buf;
	unsigned int	 n = 0;

	if (c->fdqueue == 0)
		return;
	TAILQ_FOREACH(buf, &c->ibuf.w.bufs, entry)
		if (ibuf_fd_avail(buf))
			n++;
	c->fdsent += c->fdqueue - n;
	c->fdqueue = n;
}

/*
 * How many the client cannot have received: what the socket holds is told
 * as memory, of which each message has more than this.
 */
static void
client_fds_settle(struct client *c)
{
	unsigned int	 most;
	int		 held;

	if (c->fdsent == 0 || ioctl(c->fd, SIOCOUTQ, &held) == -1)
		return;
	most = held / FD_MESSAGE_LEAST;
	if (c->fdsent > most) {
		c->us->nfds -= c->fdsent - most;
		c->fdsent = most;
	}
}

/*
 * May one more descriptor be sent?  Those that are not received count as
 * open files of this process, and no client may use them up.
 */
static int
client_fds_allowed(struct client *c)
{
	struct client	*o;

	if (c->fdqueue + c->fdsent >= CLIENT_FDS_MAX)
		client_fds_settle(c);
	if (c->fdqueue + c->fdsent >= CLIENT_FDS_MAX)
		return (0);
	if (c->us->nfds < UID_FDS_MAX)
		return (1);
	RB_FOREACH(o, client_tree, &clients)
		if (o->us == c->us)
			client_fds_settle(o);
	return (c->us->nfds < UID_FDS_MAX);
}

/* What waits for it, told to its uid's count. */
static void
client_out(struct client *c)
{
	c->us->out -= c->out;
	c->out = imsgbuf_queuesize(&c->ibuf);
	c->us->out += c->out;
}

/* From now on it has that long to take some of what the socket holds. */
static void
client_wait_taken(struct client *c)
{
	struct timeval	 tv = { CLIENT_READ_WAIT, 0 };
#ifdef FAULTS
	const char	*v;

	if ((v = getenv("SANDBOXD_READ_WAIT")) != NULL) {
		tv.tv_sec = atoi(v) / 1000;
		tv.tv_usec = atoi(v) % 1000 * 1000;
	}
#endif
	if (ioctl(c->fd, SIOCOUTQ, &c->held) == -1)
		c->held = 0;
	event_add(&c->wtmo, &tv);
}

/* Nothing of it is under way that ends by itself. */
static int
client_idle(const struct client *c)
{
	return (c->nshort == 0 && c->ncontrol == 0 &&
	    TAILQ_EMPTY(&c->ibuf.w.bufs));
}

static void
client_on_write(int fd, short event, void *arg)
{
	struct client	*c = arg;
	size_t		 before;

	(void)fd;
	(void)event;
	if (c->broken) {
		client_close(c, "its answers cannot be queued");
		return;
	}
	before = imsgbuf_queuesize(&c->ibuf);
	if (imsgbuf_write(&c->ibuf) == -1) {
		client_close(c, "write failed");
		return;
	}
	client_fds_sent(c);
	client_out(c);
	if (imsgbuf_queuelen(&c->ibuf) == 0)
		event_del(&c->wtmo);
	else {
		event_add(&c->wev, NULL);
		if (imsgbuf_queuesize(&c->ibuf) < before ||
		    !event_pending(&c->wtmo, EV_TIMEOUT, NULL))
			client_wait_taken(c);
	}
	if (stopping && client_idle(c))
		client_dismiss(c, CODE_UNAVAILABLE, STOPS);
	else if (before > CLIENT_OUT_STOP)
		client_resume(c);
}

/*
 * Who is read shows that he has hung up when he is; of the others, what they
 * asked before is not read any more: they have no session, and else would
 * gather here.  libevent does not tell: to it the end of one who has left
 * answers unread is an error, and an error that one may read.
 */
static void
client_on_hup(int fd, short event, void *arg)
{
	struct epoll_event	 evs[HUPS_MAX];
	struct client		*c;
	int			 i, n;

	(void)event;
	(void)arg;
	if ((n = epoll_wait(fd, evs, HUPS_MAX, 0)) == -1) {
		if (errno != EINTR)
			log_warn("%s: epoll_wait", __func__);
		return;
	}
	for (i = 0; i < n; i++)
		if ((c = client_find(evs[i].data.u64)) != NULL &&
		    !event_pending(&c->rev, EV_READ, NULL))
			client_close(c, "hung up");
}

/* Before the filter; event_init() has been called. */
void
client_init(void)
{
	if ((hups = epoll_create1(EPOLL_CLOEXEC)) == -1)
		fatal("%s: epoll_create1", __func__);
	event_set(&ev_hups, hups, EV_READ | EV_PERSIST, client_on_hup, NULL);
	event_add(&ev_hups, NULL);
}

static void
client_on_tmo(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	client_wrong(arg, "incomplete message");
}

/* Only when most of it has been taken a socket can be written to again. */
static void
client_on_wtmo(int fd, short event, void *arg)
{
	struct client	*c = arg;
	int		 held;

	(void)fd;
	(void)event;
	if (ioctl(c->fd, SIOCOUTQ, &held) == 0 && held < c->held)
		client_wait_taken(c);
	else
		client_close(c, "took no answer");
}

void
client_new(uint64_t session, uint32_t uid, int fd)
{
	struct epoll_event	 ev;
	struct client		*c;
	int			 flags;

	memset(&ev, 0, sizeof(ev));
	ev.events = EPOLLRDHUP;
	ev.data.u64 = session;
	if ((c = calloc(1, sizeof(*c))) == NULL ||
	    epoll_ctl(hups, EPOLL_CTL_ADD, fd, &ev) == -1)
		goto fail;
	c->session = session;
	c->fd = fd;
	TAILQ_INIT(&c->reqs);
	if (RB_INSERT(client_tree, &clients, c) != NULL)
		fatalx("%s: session %llu stands twice", __func__,
		    (unsigned long long)session);
	if ((c->us = uid_get(uid)) == NULL) {
		RB_REMOVE(client_tree, &clients, c);
		(void)epoll_ctl(hups, EPOLL_CTL_DEL, fd, NULL);
		goto fail;
	}
	c->us->nclients++;
	nclients++;
	if ((flags = fcntl(fd, F_GETFL)) != -1)
		(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	/* No control buffer: what a client attaches the kernel discards. */
	imsgbuf_init(&c->ibuf, fd);
	imsgbuf_set_maxsize(&c->ibuf, PROTO_MAX_HELLO);
	event_set(&c->rev, fd, EV_READ | EV_PERSIST, client_on_read, c);
	event_set(&c->wev, fd, EV_WRITE, client_on_write, c);
	event_set(&c->flush, -1, 0, client_on_write, c);
	evtimer_set(&c->tmo, client_on_tmo, c);
	evtimer_set(&c->wtmo, client_on_wtmo, c);
	client_watch(c);
	return;
 fail:
	log_warn("%s", __func__);
	free(c);
	(void)shutdown(fd, SHUT_RDWR);
	close(fd);
}

/* HELLO was answered: larger messages, and more than one at a time. */
void
client_greeted(struct client *c)
{
	c->hello = HELLO_DONE;
	imsgbuf_set_maxsize(&c->ibuf, PROTO_MAX_PAYLOAD);
}

static void
client_close(struct client *c, const char *why)
{
	struct uid_stat	*us = c->us;
	struct request	*r;

	c->broken = 1;
	while ((r = TAILQ_FIRST(&c->reqs)) != NULL)
		request_free(c, r);
	if (c->stalled)
		TAILQ_REMOVE(&us->stalled, c, stalled_entry);
	event_del(&c->rev);
	event_del(&c->wev);
	event_del(&c->flush);
	event_del(&c->tmo);
	event_del(&c->wtmo);
	us->nfds -= c->fdqueue + c->fdsent;
	imsgbuf_clear(&c->ibuf);
	client_out(c);
	client_asleep(c);
	/* The parent's copy would keep it in the set. */
	(void)epoll_ctl(hups, EPOLL_CTL_DEL, c->fd, NULL);
	/* The parent holds the socket too, and learns of the end by this. */
	(void)shutdown(c->fd, SHUT_RDWR);
	rights_close(c->fd);
	RB_REMOVE(client_tree, &clients, c);
	us->nclients--;
	nclients--;
	log_debug("session %llu of uid %u closed: %s; "
	    "%u clients, of the uid %u with %u short and %u long requests",
	    (unsigned long long)c->session, us->uid, why, nclients,
	    us->nclients, us->nshort, us->nlong);
	free(c);
	client_resume_uid(us);
	uid_put(us);
	if (stopping && nclients == 0)
		frontend_stopped();
}

/* Told so, as far as its socket takes it, and closed. */
static void
client_dismiss(struct client *c, enum code code, const char *why)
{
	if (!c->broken) {
		client_error(c, 0, code, "", why);
		(void)imsgbuf_write(&c->ibuf);
	}
	client_close(c, why);
}

static void
client_wrong(struct client *c, const char *why)
{
	client_dismiss(c, CODE_PROTOCOL, why);
}

/*
 * Only queues: a client whose queue is over its bound is closed later, by
 * an event of its own, since callers go on using it.
 */
static void
client_break(struct client *c)
{
	c->broken = 1;
	event_active(&c->flush, EV_WRITE, 1);
}

void
client_send(struct client *c, uint32_t type, uint32_t id, int fd,
    const void *msg)
{
	const struct msg_def	*def = proto_def(type);
	msgpack_sbuffer		 sb;

	msgpack_sbuffer_init(&sb);
	if (c->broken || def == NULL || msg_encode_map_first(&sb, def, msg,
	    proto_fields(type, c->minor)) == -1 ||
	    (fd != -1 && !client_fds_allowed(c)) ||
	    imsgbuf_queuesize(&c->ibuf) + sb.size > CLIENT_OUT_MAX ||
	    c->us->out + sb.size > UID_OUT_MAX ||
	    imsg_compose(&c->ibuf, type, id, 0, fd, sb.data, sb.size) == -1) {
		if (fd != -1)
			close(fd);
		if (!c->broken)
			client_break(c);
	} else {
		if (fd != -1) {
			c->fdqueue++;
			c->us->nfds++;
		}
		client_out(c);
		if (!event_pending(&c->wev, EV_WRITE, NULL))
			event_active(&c->flush, EV_WRITE, 1);
	}
	msgpack_sbuffer_destroy(&sb);
}

void
client_error(struct client *c, uint32_t id, enum code code,
    const char *field, const char *text)
{
	struct proto_error	 e;

	memset(&e, 0, sizeof(e));
	snprintf(e.code, sizeof(e.code), "%s", code_name(code));
	snprintf(e.text, sizeof(e.text), "%s", text);
	snprintf(e.field, sizeof(e.field), "%s", field);
	client_send(c, PROTO_ERROR, id, -1, &e);
}

/* What the store cannot know. */
void
client_counts(struct proto_status_info *m)
{
	struct client	*c;

	RB_FOREACH(c, client_tree, &clients) {
		client_fds_settle(c);
		m->requests += c->nshort + c->ncontrol;
		m->waiting += c->nlong;
		m->pipes += c->fdqueue + c->fdsent;
	}
}

/*
 * The bounds allow more: read on.  What waits in the buffer would not wake
 * the socket's event, so the event is made active.
 */
void
client_resume(struct client *c)
{
	/* The last answer to a client whose end has come may be out. */
	if (stopping && !c->broken)
		event_active(&c->flush, EV_WRITE, 1);
	if (c->broken || event_pending(&c->rev, EV_READ, NULL))
		return;
	/* Another bound may hold it now, and must know of it. */
	client_watch(c);
	if (!client_bounded(c))
		event_active(&c->rev, EV_READ, 1);
}

/*
 * Those who wait for their uid's bound, in the order of their coming, and no
 * more of them than there is room for: who has nothing to ask resumes the
 * next one.  To wake all for each place that is free costs their square.
 */
void
client_resume_uid(struct uid_stat *us)
{
	struct client	*c;

	while (us->nshort + us->nwoken < UID_INFLIGHT_MAX &&
	    (c = TAILQ_FIRST(&us->stalled)) != NULL) {
		TAILQ_REMOVE(&us->stalled, c, stalled_entry);
		c->stalled = 0;
		client_resume(c);
		/* Another bound may hold it. */
		if (event_pending(&c->rev, EV_READ, NULL)) {
			c->woken = 1;
			us->nwoken++;
		}
	}
}

/*
 * The end: nothing more is read, and each client goes when it has had the
 * answers that are under way.
 */
void
client_stop_all(void)
{
	struct client	*c;

	stopping = 1;
	RB_FOREACH(c, client_tree, &clients) {
		event_del(&c->rev);
		event_del(&c->tmo);
		event_active(&c->flush, EV_WRITE, 1);
	}
	if (nclients == 0)
		frontend_stopped();
}

void
client_close_all(void)
{
	struct client	*c;

	while ((c = RB_MIN(client_tree, &clients)) != NULL)
		client_dismiss(c, CODE_UNAVAILABLE, STOPS);
}
