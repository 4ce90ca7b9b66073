/*
 * msgbuf.c: the queue of buffers which wait to be written to a socket.
 */

#include <sys/socket.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "imsg.h"

#define MSGBUF_IOV	64	/* buffers in one sendmsg(2) */

void
msgbuf_init(struct msgbuf *msgbuf)
{
	TAILQ_INIT(&msgbuf->bufs);
	msgbuf->queued = 0;
	msgbuf->bytes = 0;
}

static void
msgbuf_drop_first(struct msgbuf *msgbuf)
{
	struct ibuf	*buf = TAILQ_FIRST(&msgbuf->bufs);

	TAILQ_REMOVE(&msgbuf->bufs, buf, entry);
	msgbuf->queued--;
	msgbuf->bytes -= ibuf_size(buf);
	ibuf_free(buf);
}

void
msgbuf_clear(struct msgbuf *msgbuf)
{
	while (!TAILQ_EMPTY(&msgbuf->bufs))
		msgbuf_drop_first(msgbuf);
}

uint32_t
msgbuf_queuelen(const struct msgbuf *msgbuf)
{
	return (msgbuf->queued);
}

/* The buffer is the queue's from here on. */
void
ibuf_close(struct msgbuf *msgbuf, struct ibuf *buf)
{
	TAILQ_INSERT_TAIL(&msgbuf->bufs, buf, entry);
	msgbuf->queued++;
	msgbuf->bytes += ibuf_size(buf);
}

/* Take n bytes that were sent off the queue. */
static void
msgbuf_drain(struct msgbuf *msgbuf, size_t n)
{
	struct ibuf	*buf;
	size_t		 len;

	while ((buf = TAILQ_FIRST(&msgbuf->bufs)) != NULL) {
		if ((len = ibuf_size(buf)) > n) {
			buf->rpos += n;
			msgbuf->bytes -= n;
			return;
		}
		n -= len;
		msgbuf_drop_first(msgbuf);
	}
}

/*
 * One sendmsg(2).  A descriptor goes with the first byte of its own
 * message, so a buffer that has one begins a call.
 */
static ssize_t
msgbuf_send(int fd, struct msgbuf *msgbuf)
{
	struct iovec	 iov[MSGBUF_IOV];
	struct msghdr	 msg;
	struct cmsghdr	*cmsg;
	union {
		struct cmsghdr	 hdr;
		unsigned char	 buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct ibuf	*buf, *first = TAILQ_FIRST(&msgbuf->bufs);
	unsigned int	 n = 0;
	ssize_t		 sent;

	memset(&msg, 0, sizeof(msg));
	TAILQ_FOREACH(buf, &msgbuf->bufs, entry) {
		if (n == MSGBUF_IOV || (n > 0 && buf->fd != -1))
			break;
		iov[n].iov_base = ibuf_data(buf);
		iov[n++].iov_len = ibuf_size(buf);
	}
	msg.msg_iov = iov;
	msg.msg_iovlen = n;
	if (first->fd != -1) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = &control.buf;
		msg.msg_controllen = CMSG_SPACE(sizeof(int));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &first->fd, sizeof(int));
	}
	do {
		sent = sendmsg(fd, &msg, MSG_NOSIGNAL);
	} while (sent == -1 && errno == EINTR);
	if (sent > 0 && first->fd != -1) {
		close(first->fd);
		first->fd = -1;
	}
	return (sent);
}

/* Write what the socket takes; 0 also when it takes nothing now. */
int
msgbuf_write(int fd, struct msgbuf *msgbuf)
{
	ssize_t	 n;

	while (!TAILQ_EMPTY(&msgbuf->bufs)) {
		/* An empty buffer would look like a full socket. */
		if (ibuf_size(TAILQ_FIRST(&msgbuf->bufs)) == 0) {
			msgbuf_drop_first(msgbuf);
			continue;
		}
		if ((n = msgbuf_send(fd, msgbuf)) == -1) {
			if (errno == EAGAIN)
				return (0);
			return (-1);
		}
		msgbuf_drain(msgbuf, n);
	}
	return (0);
}
