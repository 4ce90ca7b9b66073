/*
 * CONNECT: a connection to a port of the sandbox, on its loopback, by the
 * input and the output of a call.  Neither way waits for the other one, since
 * a server that echoes reads no more until it has written; and each has an end
 * of its own.
 */

#include <sys/socket.h>

#include <netinet/in.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "call.h"

struct net {
	int		 s;
	const uint8_t	*in;	/* what the socket has not taken yet */
	size_t		 inlen;
	int		 in_over;
	int		 out_over;	/* the server has ended its own */
};

/* For one of the two, as far as they are wanted; -1: nobody waits for it. */
static int
net_poll(struct net *n, short work, short net, struct pollfd *pfd)
{
	pfd[0].fd = WORK_FD;
	pfd[0].events = work;
	pfd[1].fd = n->s;
	pfd[1].events = net;
	pfd[0].revents = pfd[1].revents = 0;
	while (poll(pfd, 2, -1) == -1)
		if (errno != EINTR)
			return (-1);
	/* What came before the end is worth nothing to a server then. */
	return (pfd[0].revents & (POLLHUP | POLLERR) ? -1 : 0);
}

static int
connect_to(struct net *n, const struct sockaddr *sa, socklen_t len)
{
	struct pollfd	 pfd[2];
	socklen_t	 size = sizeof(int);
	int		 error = 0;

	n->s = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0);
	if (n->s == -1)
		return (errno);
	if (connect(n->s, sa, len) == -1 && (error = errno) == EINPROGRESS) {
		error = 0;
		if (net_poll(n, 0, POLLOUT, pfd) == -1)
			error = ECANCELED;
		else if (getsockopt(n->s, SOL_SOCKET, SO_ERROR, &error,
		    &size) == -1)
			error = errno;
	}
	if (error != 0) {
		close(n->s);
		n->s = -1;
	}
	return (error);
}

/* Who listens on one of the two only is found there. */
static int
connect_port(struct net *n, uint16_t port)
{
	struct sockaddr_in6	 sin6;
	struct sockaddr_in	 sin;
	int			 error;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_port = htons(port);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	error = connect_to(n, (struct sockaddr *)&sin, sizeof(sin));
	if (error != ECONNREFUSED)
		return (error);
	memset(&sin6, 0, sizeof(sin6));
	sin6.sin6_family = AF_INET6;
	sin6.sin6_port = htons(port);
	sin6.sin6_addr = in6addr_loopback;
	if (connect_to(n, (struct sockaddr *)&sin6, sizeof(sin6)) == 0)
		return (0);
	return (error);
}

/* Input to the server.  0, or -1 if the call is over. */
static int
net_write(struct job *j, struct net *n)
{
	ssize_t	 w;

	while (n->inlen > 0) {
		w = send(n->s, n->in, n->inlen, MSG_NOSIGNAL);
		if (w == -1 && errno == EINTR)
			continue;
		if (w == -1 && errno == EAGAIN)
			return (0);
		if (w == -1)
			return (job_errno(j, errno, "write"));
		n->in += w;
		n->inlen -= w;
	}
	return (0);
}

static int
net_take(struct job *j, struct net *n)
{
	ssize_t	 len;

	if ((len = job_in(j, &n->in)) == -1)
		return (-1);
	if (len == 0) {
		n->in_over = 1;
		(void)shutdown(n->s, SHUT_WR);
		return (0);
	}
	n->inlen = len;
	return (net_write(j, n));
}

/* What the server says; at its end the other way goes on, if there is one. */
static int
net_over(const struct net *n)
{
	return (n->in_over && n->inlen == 0 && n->out_over);
}

static int
net_read(struct job *j, struct net *n)
{
	uint8_t	*p;
	ssize_t	 len;

	if ((p = job_room(j, GP_MAX_DATA)) == NULL)
		return (-1);
	len = recv(n->s, p, GP_MAX_DATA, 0);
	if (len == -1 && (errno == EINTR || errno == EAGAIN))
		return (0);
	if (len == -1)
		return (job_errno(j, errno, "read"));
	if (len == 0) {
		n->out_over = 1;
		return (net_over(n) ? 0 : job_out_end(j));
	}
	if (job_put(j, len) == -1)
		return (-1);
	return (job_flush(j));
}

/* Nothing is to be read any more: the connection can only fail. */
static int
net_failed(struct job *j, struct net *n)
{
	socklen_t	 size = sizeof(int);
	int		 error = 0;

	if (getsockopt(n->s, SOL_SOCKET, SO_ERROR, &error, &size) == -1 ||
	    error == 0)
		error = ECONNRESET;
	return (job_errno(j, error, "write"));
}

static void
net_pass(struct job *j, struct net *n)
{
	struct pollfd	 pfd[2];
	short		 work, net;

	while (!net_over(n)) {
		work = n->inlen == 0 && !n->in_over ? POLLIN : 0;
		net = (n->out_over ? 0 : POLLIN) |
		    (n->inlen > 0 ? POLLOUT : 0);
		if (net_poll(n, work, net, pfd) == -1)
			return;
		/* What a server says before it resets is read before that. */
		if (pfd[1].revents & (POLLIN | POLLHUP | POLLERR) &&
		    (n->out_over ? net_failed(j, n) : net_read(j, n)) == -1)
			return;
		if (pfd[1].revents & POLLOUT && net_write(j, n) == -1)
			return;
		if (pfd[0].revents & POLLIN && net_take(j, n) == -1)
			return;
	}
}

void
net_connect(struct job *j)
{
	struct net	 n;
	int		 error;

	memset(&n, 0, sizeof(n));
	if (j->m.count < 1 || j->m.count > UINT16_MAX) {
		job_fail(j, CODE_INVALID_ARGUMENT, "no port has this number");
		return;
	}
	error = connect_port(&n, j->m.count);
	if (error == ECONNREFUSED)
		job_fail(j, CODE_UNAVAILABLE, "connection refused");
	else if (error != 0)
		job_errno(j, error, "connect");
	else {
		net_pass(j, &n);
		close(n.s);
	}
}
