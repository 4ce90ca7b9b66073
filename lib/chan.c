/* Frames on a socketpair between two children. */

#include <sys/socket.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bounds.h"
#include "chan.h"
#include "fault.h"

/*
 * Header of a frame, in host order: both ends are the same program on the
 * same machine.
 */
struct chan_hdr {
	uint32_t	 len;		/* of the payload */
	uint32_t	 type;
	uint64_t	 op;
	uint64_t	 session;
	uint32_t	 req;
	uint32_t	 hasfd;
};

struct chan_out {
	TAILQ_ENTRY(chan_out)	 entry;
	size_t			 off, len;
	int			 fd;
	uint8_t			 data[];	/* header and payload */
};

#define CHAN_IOV	64
#define CHAN_READ	(64 * 1024)
#define CHAN_KEEP	(256 * 1024)	/* an idle buffer's largest size */

#define NFDS(ch)	(sizeof((ch)->fds) / sizeof((ch)->fds[0]))

static void
chan_on_flush(int fd, short event, void *arg)
{
	struct chan	*ch = arg;

	(void)fd;
	(void)event;
	/* The reader sees the end of the pipe and deals with it. */
	if (chan_flush(ch) == -1)
		ch->broken = 1;
}

void
chan_init(struct chan *ch, int fd, const char *peer,
    void (*cb)(int, short, void *))
{
	int	 flags;

	memset(ch, 0, sizeof(*ch));
	ch->fd = fd;
	ch->peer = peer;
	ch->cb = cb;
	TAILQ_INIT(&ch->out);
	if ((flags = fcntl(fd, F_GETFL)) != -1)
		(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	if (cb == NULL)
		return;
	fault_pipe(fd, peer);
	event_set(&ch->ev, fd, EV_READ | EV_PERSIST, cb, ch);
	event_set(&ch->wev, fd, EV_WRITE, chan_on_flush, ch);
	event_set(&ch->flush, -1, 0, chan_on_flush, ch);
	event_add(&ch->ev, NULL);
}

static void
chan_out_free(struct chan *ch, struct chan_out *o)
{
	TAILQ_REMOVE(&ch->out, o, entry);
	if (o->fd != -1)
		close(o->fd);
	free(o);
}

void
chan_clear(struct chan *ch)
{
	struct chan_out	*o;
	size_t		 i;

	if (ch->cb != NULL) {
		event_del(&ch->ev);
		event_del(&ch->wev);
		event_del(&ch->flush);
	}
	while ((o = TAILQ_FIRST(&ch->out)) != NULL)
		chan_out_free(ch, o);
	for (i = 0; i < ch->nfds; i++)
		close(ch->fds[i]);
	free(ch->rbuf);
	if (ch->fd != -1)
		close(ch->fd);
	memset(ch, 0, sizeof(*ch));
	ch->fd = -1;
	TAILQ_INIT(&ch->out);
}

/* Keeps the descriptors that a control message brought, in their order. */
static int
chan_take_fds(struct chan *ch, struct msghdr *mh)
{
	struct cmsghdr	*cm;
	size_t		 i, n;
	int		 fd, ret = 0;

	for (cm = CMSG_FIRSTHDR(mh); cm != NULL; cm = CMSG_NXTHDR(mh, cm)) {
		if (cm->cmsg_level != SOL_SOCKET ||
		    cm->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(cm) + i * sizeof(int),
			    sizeof(fd));
			if (ch->nfds == NFDS(ch)) {
				close(fd);
				ret = -1;
			} else
				ch->fds[ch->nfds++] = fd;
		}
	}
	if (mh->msg_flags & MSG_CTRUNC)
		ret = -1;
	return (ret);
}

/* Room for a read: moves what is left to the front, grows if need be. */
static int
chan_room(struct chan *ch)
{
	uint8_t	*p;
	size_t	 size;

	if (ch->roff > 0) {
		memmove(ch->rbuf, ch->rbuf + ch->roff, ch->rlen - ch->roff);
		ch->rlen -= ch->roff;
		ch->roff = 0;
	}
	if (ch->rlen == 0 && ch->rsize > CHAN_KEEP) {
		free(ch->rbuf);
		ch->rbuf = NULL;
		ch->rsize = 0;
	}
	if (ch->rsize - ch->rlen >= CHAN_READ / 2)
		return (0);
	size = ch->rlen + CHAN_READ;
	if ((p = realloc(ch->rbuf, size)) == NULL)
		return (-1);
	ch->rbuf = p;
	ch->rsize = size;
	return (0);
}

int
chan_read(struct chan *ch)
{
	union {
		struct cmsghdr	 hdr;
		char		 buf[CMSG_SPACE(sizeof(int) * 8)];
	} cmsgbuf;
	struct msghdr	 mh;
	struct iovec	 iov;
	ssize_t		 n;

	if (chan_room(ch) == -1)
		return (-1);
	memset(&mh, 0, sizeof(mh));
	iov.iov_base = ch->rbuf + ch->rlen;
	iov.iov_len = ch->rsize - ch->rlen;
	mh.msg_iov = &iov;
	mh.msg_iovlen = 1;
	mh.msg_control = &cmsgbuf;
	mh.msg_controllen = sizeof(cmsgbuf);
	do {
		n = recvmsg(ch->fd, &mh, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n == -1 && errno == EINTR);
	if (n == -1) {
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			return (1);
		/* The peer died with bytes of ours unread. */
		return (errno == ECONNRESET ? 0 : -1);
	}
	if (chan_take_fds(ch, &mh) == -1) {
		errno = EPROTO;
		return (-1);
	}
	if (n == 0)
		return (0);
	ch->rlen += n;
	return (1);
}

int
chan_get(struct chan *ch, struct frame *f)
{
	struct chan_hdr	 h;
	size_t		 have = ch->rlen - ch->roff;

	if (have < sizeof(h))
		return (0);
	memcpy(&h, ch->rbuf + ch->roff, sizeof(h));
	if (h.len > CHAN_MAX_FRAME || h.hasfd > 1)
		return (-1);
	if (have < sizeof(h) + h.len)
		return (0);
	f->type = h.type;
	f->req = h.req;
	f->session = h.session;
	f->op = h.op;
	f->data = ch->rbuf + ch->roff + sizeof(h);
	f->len = h.len;
	f->fd = -1;
	if (h.hasfd) {
		if (ch->nfds == 0)
			return (-1);
		f->fd = ch->fds[0];
		ch->nfds--;
		memmove(&ch->fds[0], &ch->fds[1],
		    ch->nfds * sizeof(ch->fds[0]));
	}
	ch->roff += sizeof(h) + h.len;
	return (1);
}

void
chan_frame_free(struct frame *f)
{
	if (f->fd != -1)
		close(f->fd);
	f->fd = -1;
}

int
chan_send(struct chan *ch, uint32_t type, uint64_t op, uint64_t session,
    uint32_t req, int fd, const void *data, size_t len)
{
	struct chan_hdr	 h;
	struct chan_out	*o;
	int		 error;

	if (len > CHAN_MAX_FRAME) {
		error = EMSGSIZE;
		goto fail;
	}
	if (ch->maxqueued != 0 && ch->queued + len > ch->maxqueued) {
		error = ENOBUFS;
		goto fail;
	}
	if ((o = malloc(sizeof(*o) + sizeof(h) + len)) == NULL) {
		error = ENOMEM;
		goto fail;
	}
	memset(&h, 0, sizeof(h));
	h.len = len;
	h.type = type;
	h.op = op;
	h.session = session;
	h.req = req;
	h.hasfd = fd != -1;
	o->off = 0;
	o->len = sizeof(h) + len;
	o->fd = fd;
	memcpy(o->data, &h, sizeof(h));
	if (len > 0)
		memcpy(o->data + sizeof(h), data, len);
	TAILQ_INSERT_TAIL(&ch->out, o, entry);
	ch->queued += o->len;
	ch->nqueued++;
	if (ch->cb != NULL && !event_pending(&ch->wev, EV_WRITE, NULL))
		event_active(&ch->flush, EV_WRITE, 1);
	return (0);
 fail:
	if (fd != -1)
		close(fd);
	errno = error;
	return (-1);
}

/* Takes n sent bytes off the queue. */
static void
chan_sent_bytes(struct chan *ch, size_t n)
{
	struct chan_out	*o;
	size_t		 part;

	ch->queued -= n;
	while (n > 0 && (o = TAILQ_FIRST(&ch->out)) != NULL) {
		/* A frame's descriptor leaves with its first byte. */
		if (o->fd != -1) {
			close(o->fd);
			o->fd = -1;
		}
		part = o->len - o->off;
		if (part > n) {
			o->off += n;
			return;
		}
		n -= part;
		ch->nsent++;
		chan_out_free(ch, o);
	}
}

/*
 * One sendmsg(2): frames up to the next that has a descriptor, since each
 * call carries the descriptors of its first byte.
 */
static ssize_t
chan_send_some(struct chan *ch)
{
	union {
		struct cmsghdr	 hdr;
		char		 buf[CMSG_SPACE(sizeof(int))];
	} cmsgbuf;
	struct iovec	 iov[CHAN_IOV];
	struct msghdr	 mh;
	struct cmsghdr	*cm;
	struct chan_out	*o;
	ssize_t		 n;

	memset(&mh, 0, sizeof(mh));
	mh.msg_iov = iov;
	TAILQ_FOREACH(o, &ch->out, entry) {
		if (mh.msg_iovlen == CHAN_IOV ||
		    (o->fd != -1 && mh.msg_iovlen > 0))
			break;
		if (o->fd != -1) {
			memset(&cmsgbuf, 0, sizeof(cmsgbuf));
			mh.msg_control = &cmsgbuf;
			mh.msg_controllen = sizeof(cmsgbuf);
			cm = CMSG_FIRSTHDR(&mh);
			cm->cmsg_level = SOL_SOCKET;
			cm->cmsg_type = SCM_RIGHTS;
			cm->cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(cm), &o->fd, sizeof(int));
		}
		iov[mh.msg_iovlen].iov_base = o->data + o->off;
		iov[mh.msg_iovlen].iov_len = o->len - o->off;
		mh.msg_iovlen++;
	}
	do {
		n = sendmsg(ch->fd, &mh, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n == -1 && errno == EINTR);
	return (n);
}

int
chan_flush(struct chan *ch)
{
	ssize_t	 n;

	while (!TAILQ_EMPTY(&ch->out)) {
		if ((n = chan_send_some(ch)) == -1) {
			/* Too many descriptors under way counts as full. */
			if (errno != EAGAIN && errno != EWOULDBLOCK &&
			    errno != ENOBUFS && errno != ETOOMANYREFS)
				return (-1);
			if (ch->cb != NULL)
				event_add(&ch->wev, NULL);
			return (0);
		}
		chan_sent_bytes(ch, n);
	}
	if (ch->paused) {
		ch->paused = 0;
		event_add(&ch->ev, NULL);
		/* Frames that were read before are no event of the socket's. */
		event_active(&ch->ev, EV_READ, 1);
	}
	return (0);
}

int
chan_flush_wait(struct chan *ch)
{
	struct pollfd	 pfd;

	for (;;) {
		if (chan_flush(ch) == -1)
			return (-1);
		if (TAILQ_EMPTY(&ch->out))
			return (0);
		pfd.fd = ch->fd;
		pfd.events = POLLOUT;
		if (poll(&pfd, 1, -1) == -1 && errno != EINTR)
			return (-1);
	}
}

int
chan_get_wait(struct chan *ch, struct frame *f)
{
	struct pollfd	 pfd;
	int		 n;

	for (;;) {
		if ((n = chan_get(ch, f)) != 0)
			return (n);
		pfd.fd = ch->fd;
		pfd.events = POLLIN;
		if (poll(&pfd, 1, -1) == -1 && errno != EINTR)
			return (-1);
		if ((n = chan_read(ch)) != 1)
			return (n);
	}
}

int
chan_sent(const struct chan *ch, uint64_t n)
{
	return (ch->nsent >= n);
}
