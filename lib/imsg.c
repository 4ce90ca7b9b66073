/*
 * imsg.c: messages with a header over a Unix socket.
 */

#include <sys/socket.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "imsg.h"

#define IMSG_READ	65536	/* bytes taken from the socket in one call */
#define IMSG_KEEP	4096	/* an empty buffer of this size is kept */

int
imsgbuf_init(struct imsgbuf *imsgbuf, int fd)
{
	memset(imsgbuf, 0, sizeof(*imsgbuf));
	msgbuf_init(&imsgbuf->w);
	imsgbuf->pid = getpid();
	imsgbuf->maxsize = MAX_IMSGSIZE;
	imsgbuf->fd = fd;
	return (0);
}

void
imsgbuf_allow_fdpass(struct imsgbuf *imsgbuf)
{
	imsgbuf->fdpass = 1;
}

/* The bound of a payload, in both directions; it may change at any time. */
int
imsgbuf_set_maxsize(struct imsgbuf *imsgbuf, uint32_t max)
{
	if (max >= IMSG_FD_MARK - IMSG_HEADER_SIZE) {
		errno = ERANGE;
		return (-1);
	}
	imsgbuf->maxsize = max + IMSG_HEADER_SIZE;
	return (0);
}

void
imsgbuf_clear(struct imsgbuf *imsgbuf)
{
	msgbuf_clear(&imsgbuf->w);
	while (imsgbuf->nfds > 0)
		close(imsgbuf->fds[--imsgbuf->nfds]);
	free(imsgbuf->rdata);
	imsgbuf->rdata = NULL;
	imsgbuf->rsize = imsgbuf->rlen = imsgbuf->rpos = 0;
}

uint32_t
imsgbuf_queuelen(struct imsgbuf *imsgbuf)
{
	return (msgbuf_queuelen(&imsgbuf->w));
}

/* Bytes that wait to be sent: what a slow peer costs. */
size_t
imsgbuf_queuesize(struct imsgbuf *imsgbuf)
{
	return (imsgbuf->w.bytes);
}

/* Keep the descriptors of one recvmsg(2) in the order of their arrival. */
static int
imsgbuf_take_fds(struct imsgbuf *imsgbuf, struct msghdr *msg)
{
	struct cmsghdr	*cmsg;
	size_t		 i, n;
	int		 fd, lost = 0;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg != NULL;
	    cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET ||
		    cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int),
			    sizeof(fd));
			if (imsgbuf->nfds < IMSGBUF_FDS)
				imsgbuf->fds[imsgbuf->nfds++] = fd;
			else {
				close(fd);
				lost = 1;
			}
		}
	}
	/* No descriptor free here, or more than one to a message. */
	if (lost || msg->msg_flags & MSG_CTRUNC) {
		errno = EMFILE;
		return (-1);
	}
	return (0);
}

static ssize_t
imsgbuf_recv(struct imsgbuf *imsgbuf, void *data, size_t len)
{
	struct iovec	 iov;
	struct msghdr	 msg;
	union {
		struct cmsghdr	 hdr;
		unsigned char	 buf[CMSG_SPACE(sizeof(int))];
	} control;
	ssize_t		 n;

	/*
	 * Without a control buffer the kernel throws away what a peer
	 * attaches.  Received, a descriptor of a file system that the peer
	 * serves itself would hang our close(2) for as long as he likes.
	 */
	if (!imsgbuf->fdpass) {
		do {
			n = recv(imsgbuf->fd, data, len, 0);
		} while (n == -1 && errno == EINTR);
		return (n);
	}
	memset(&msg, 0, sizeof(msg));
	iov.iov_base = data;
	iov.iov_len = len;
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	do {
		msg.msg_control = &control.buf;
		/* CMSG_SPACE is padded: it would have room for two. */
		msg.msg_controllen = CMSG_LEN(sizeof(int));
		n = recvmsg(imsgbuf->fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n == -1 && errno == EINTR);
	if (n != -1 && imsgbuf_take_fds(imsgbuf, &msg) == -1)
		return (-1);
	return (n);
}

/* The buffer has the size of what has arrived, whatever was announced. */
static int
imsgbuf_append(struct imsgbuf *imsgbuf, const void *data, size_t len)
{
	uint8_t	*p;
	size_t	 size;

	if (imsgbuf->rpos > 0) {
		memmove(imsgbuf->rdata, imsgbuf->rdata + imsgbuf->rpos,
		    imsgbuf->rlen - imsgbuf->rpos);
		imsgbuf->rlen -= imsgbuf->rpos;
		imsgbuf->rpos = 0;
	}
	if (len > imsgbuf->rsize - imsgbuf->rlen) {
		size = imsgbuf->rlen + len;
		if (size < imsgbuf->rsize + imsgbuf->rsize / 2)
			size = imsgbuf->rsize + imsgbuf->rsize / 2;
		if ((p = realloc(imsgbuf->rdata, size)) == NULL)
			return (-1);
		imsgbuf->rdata = p;
		imsgbuf->rsize = size;
	}
	memcpy(imsgbuf->rdata + imsgbuf->rlen, data, len);
	imsgbuf->rlen += len;
	return (0);
}

/* 1 after a read, also when nothing was there; 0 at the end; -1. */
int
imsgbuf_read(struct imsgbuf *imsgbuf)
{
	uint8_t	 data[IMSG_READ];
	ssize_t	 n;

	/* The caller must take what is complete before he reads more. */
	if (imsgbuf->rlen - imsgbuf->rpos >=
	    (size_t)imsgbuf->maxsize + IMSG_READ) {
		errno = ENOBUFS;
		return (-1);
	}
	if ((n = imsgbuf_recv(imsgbuf, data, sizeof(data))) == -1) {
		if (errno == EAGAIN)
			return (1);
		return (-1);
	}
	if (n == 0)
		return (0);
	if (imsgbuf_append(imsgbuf, data, n) == -1)
		return (-1);
	return (1);
}

int
imsgbuf_write(struct imsgbuf *imsgbuf)
{
	return (msgbuf_write(imsgbuf->fd, &imsgbuf->w));
}

/* Write all, and wait where a non-blocking socket makes us wait. */
int
imsgbuf_flush(struct imsgbuf *imsgbuf)
{
	struct pollfd	 pfd;

	for (;;) {
		if (imsgbuf_write(imsgbuf) == -1)
			return (-1);
		if (imsgbuf_queuelen(imsgbuf) == 0)
			return (0);
		pfd.fd = imsgbuf->fd;
		pfd.events = POLLOUT;
		if (poll(&pfd, 1, -1) == -1 && errno != EINTR)
			return (-1);
	}
}

/* Drop what has been taken; an idle connection holds next to no memory. */
static void
imsgbuf_consume(struct imsgbuf *imsgbuf, size_t len)
{
	imsgbuf->rpos += len;
	if (imsgbuf->rpos < imsgbuf->rlen)
		return;
	imsgbuf->rpos = imsgbuf->rlen = 0;
	if (imsgbuf->rsize > IMSG_KEEP) {
		free(imsgbuf->rdata);
		imsgbuf->rdata = NULL;
		imsgbuf->rsize = 0;
	}
}

/* 1 and a message, 0 if none is complete, -1 if the peer breaks the rules. */
int
imsgbuf_get(struct imsgbuf *imsgbuf, struct imsg *imsg)
{
	struct imsg	 m;
	size_t		 have, len;

	have = imsgbuf->rlen - imsgbuf->rpos;
	if (have < IMSG_HEADER_SIZE)
		return (0);
	memset(&m, 0, sizeof(m));
	memcpy(&m.hdr, imsgbuf->rdata + imsgbuf->rpos, sizeof(m.hdr));
	len = m.hdr.len & ~IMSG_FD_MARK;
	if (len < IMSG_HEADER_SIZE || len > imsgbuf->maxsize) {
		errno = ERANGE;
		return (-1);
	}
	if (have < len)
		return (0);
	if (m.hdr.len & IMSG_FD_MARK && imsgbuf->fdpass &&
	    imsgbuf->nfds == 0) {
		errno = EBADMSG;
		return (-1);
	}
	if ((m.buf = ibuf_open(len)) == NULL)
		return (-1);
	if (ibuf_add(m.buf, imsgbuf->rdata + imsgbuf->rpos, len) == -1 ||
	    ibuf_skip(m.buf, IMSG_HEADER_SIZE) == -1) {
		ibuf_free(m.buf);
		return (-1);
	}
	if (m.hdr.len & IMSG_FD_MARK && imsgbuf->fdpass) {
		ibuf_fd_set(m.buf, imsgbuf->fds[0]);
		imsgbuf->nfds--;
		memmove(&imsgbuf->fds[0], &imsgbuf->fds[1],
		    imsgbuf->nfds * sizeof(imsgbuf->fds[0]));
	}
	m.hdr.len = len;
	imsgbuf_consume(imsgbuf, len);
	*imsg = m;
	return (1);
}

/* A message to fill with imsg_add() and hand over with imsg_close(). */
struct ibuf *
imsg_create(struct imsgbuf *imsgbuf, uint32_t type, uint32_t id, pid_t pid,
    size_t datalen)
{
	struct imsg_hdr	 hdr;
	struct ibuf	*buf;

	if (datalen > imsgbuf->maxsize - IMSG_HEADER_SIZE) {
		errno = ERANGE;
		return (NULL);
	}
	memset(&hdr, 0, sizeof(hdr));
	hdr.type = type;
	hdr.peerid = id;
	hdr.pid = pid == 0 ? (uint32_t)imsgbuf->pid : (uint32_t)pid;
	if ((buf = ibuf_dynamic(IMSG_HEADER_SIZE + datalen,
	    imsgbuf->maxsize)) == NULL)
		return (NULL);
	if (ibuf_add(buf, &hdr, sizeof(hdr)) == -1) {
		ibuf_free(buf);
		return (NULL);
	}
	return (buf);
}

/* On failure the message is gone. */
int
imsg_add(struct ibuf *msg, const void *data, size_t datalen)
{
	/* The length comes back as an int. */
	if (datalen > INT_MAX) {
		errno = ERANGE;
		ibuf_free(msg);
		return (-1);
	}
	if (ibuf_add(msg, data, datalen) == -1) {
		ibuf_free(msg);
		return (-1);
	}
	return (datalen);
}

void
imsg_close(struct imsgbuf *imsgbuf, struct ibuf *msg)
{
	struct imsg_hdr	 hdr;

	memcpy(&hdr, msg->buf, sizeof(hdr));
	hdr.len = ibuf_size(msg);
	if (ibuf_fd_avail(msg))
		hdr.len |= IMSG_FD_MARK;
	memcpy(msg->buf, &hdr, sizeof(hdr));
	ibuf_close(&imsgbuf->w, msg);
}

/* On success the descriptor is ours, on failure it stays the caller's. */
int
imsg_composev(struct imsgbuf *imsgbuf, uint32_t type, uint32_t id, pid_t pid,
    int fd, const struct iovec *iov, int iovcnt)
{
	struct ibuf	*msg;
	size_t		 datalen = 0;
	int		 i;

	for (i = 0; i < iovcnt; i++) {
		if (iov[i].iov_len > SIZE_MAX - datalen) {
			errno = ERANGE;
			return (-1);
		}
		datalen += iov[i].iov_len;
	}
	if ((msg = imsg_create(imsgbuf, type, id, pid, datalen)) == NULL)
		return (-1);
	for (i = 0; i < iovcnt; i++)
		if (imsg_add(msg, iov[i].iov_base, iov[i].iov_len) == -1)
			return (-1);
	if (fd != -1)
		ibuf_fd_set(msg, fd);
	imsg_close(imsgbuf, msg);
	return (1);
}

int
imsg_compose(struct imsgbuf *imsgbuf, uint32_t type, uint32_t id, pid_t pid,
    int fd, const void *data, size_t datalen)
{
	struct iovec	 iov;

	iov.iov_base = (void *)(uintptr_t)data;
	iov.iov_len = datalen;
	return (imsg_composev(imsgbuf, type, id, pid, fd, &iov, 1));
}

/* The payload is in buf, which is gone afterwards in any case. */
int
imsg_compose_ibuf(struct imsgbuf *imsgbuf, uint32_t type, uint32_t id,
    pid_t pid, struct ibuf *buf)
{
	int	 ret;

	ret = imsg_compose(imsgbuf, type, id, pid, ibuf_fd_avail(buf) ?
	    buf->fd : -1, ibuf_data(buf), ibuf_size(buf));
	if (ret == 1)
		buf->fd = -1;
	ibuf_free(buf);
	return (ret);
}

/* The message as it came, but for its descriptor, which is closed. */
int
imsg_forward(struct imsgbuf *imsgbuf, struct imsg *imsg)
{
	int	 fd;

	if ((fd = imsg_get_fd(imsg)) != -1)
		close(fd);
	return (imsg_compose(imsgbuf, imsg->hdr.type, imsg->hdr.peerid,
	    imsg->hdr.pid, -1, imsg->buf->buf + IMSG_HEADER_SIZE,
	    imsg->hdr.len - IMSG_HEADER_SIZE));
}

void
imsg_free(struct imsg *imsg)
{
	ibuf_free(imsg->buf);
	imsg->buf = NULL;
}

int
imsg_get_buf(struct imsg *imsg, void *data, size_t len)
{
	return (ibuf_get(imsg->buf, data, len));
}

/* The whole payload, which must have this size. */
int
imsg_get_data(struct imsg *imsg, void *data, size_t size)
{
	if (size == 0) {
		errno = EINVAL;
		return (-1);
	}
	if (ibuf_size(imsg->buf) != size) {
		errno = EBADMSG;
		return (-1);
	}
	return (ibuf_get(imsg->buf, data, size));
}

int
imsg_get_fd(struct imsg *imsg)
{
	return (ibuf_fd_get(imsg->buf));
}

/* A view of the payload, valid until imsg_free(). */
int
imsg_get_ibuf(struct imsg *imsg, struct ibuf *buf)
{
	if (ibuf_size(imsg->buf) == 0) {
		errno = EBADMSG;
		return (-1);
	}
	return (ibuf_get_ibuf(imsg->buf, ibuf_size(imsg->buf), buf));
}

uint32_t
imsg_get_id(struct imsg *imsg)
{
	return (imsg->hdr.peerid);
}

size_t
imsg_get_len(struct imsg *imsg)
{
	return (ibuf_size(imsg->buf));
}

pid_t
imsg_get_pid(struct imsg *imsg)
{
	return ((pid_t)imsg->hdr.pid);
}

int
imsg_get_strbuf(struct imsg *imsg, char *str, size_t len)
{
	return (ibuf_get_strbuf(imsg->buf, str, len));
}

uint32_t
imsg_get_type(struct imsg *imsg)
{
	return (imsg->hdr.type);
}
