/*
 * cmd_forward.c: forward: a port of the host's loopback leads to one inside.
 * Each connection is a call of its own, all of them on one connection to the
 * daemon; who is in excess waits to be accepted.
 */

#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <arpa/inet.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandboxctl.h"

#define FORWARD_MAX	24	/* at a time; a sandbox has 32 calls in all */
#define FORWARD_QUEUE	128
#define FORWARD_BUF	65536	/* more than one read of a job */

/* Descriptors of a connection in what is polled. */
enum { P_SOCK = SANDBOX_JOB_FDS, P_CONN };
enum { P_DAEMON, P_SIGNAL, P_LISTEN, P_FIRST };

struct conn {
	int			 s;	/* -1: this place is free */
	struct sandbox_io	 io;
	struct sandbox_job	*job;	/* NULL: only the rest of buf is left */
	uint8_t			 buf[FORWARD_BUF];
	size_t			 off;
	size_t			 len;
	uint64_t		 got;	/* bytes of output */
	uint64_t		 want;	/* and how many there were */
	int			 result;
	int			 out_over;	/* there is no more of it */
	int			 ended;	/* our side of the socket is shut */
	int			 hup;	/* and so is the client's */
};

struct forward {
	struct ctl	*ctl;
	uint64_t	 port;		/* inside */
	int		 ls;
	int		 sigfd;
	uint32_t	 wait;		/* number of WAIT_STATE */
	int		 over;		/* the sandbox has ended */
	struct conn	*conns;
};

/* --- one connection ------------------------------------------------- */

static void
conn_close(struct conn *c, int reset)
{
	struct linger	 l = { 1, 0 };

	if (reset)
		(void)setsockopt(c->s, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(c->s);
	sandbox_job_free(c->job);
	c->job = NULL;
	c->s = -1;
}

/* It has no end that could be believed. */
static void
conn_reset(struct forward *f, struct conn *c)
{
	struct proto_call_cancel m;
	uint32_t		 req;

	if (c->job != NULL && !sandbox_job_ended(c->job) &&
	    sandbox_fd(f->ctl->conn) != -1) {
		m.call = sandbox_job_req(c->job);
		(void)sandbox_queue(f->ctl->conn, PROTO_CALL_CANCEL, &m,
		    &req);
	}
	conn_close(c, 1);
}

/* What is kept goes to the socket.  -1: it is closed. */
static int
conn_write(struct forward *f, struct conn *c)
{
	ssize_t	 n;

	while (c->off < c->len) {
		n = send(c->s, c->buf + c->off, c->len - c->off,
		    MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return (0);
		if (n == -1) {
			conn_reset(f, c);
			return (-1);
		}
		c->off += n;
	}
	c->off = c->len = 0;
	if (c->ended || !c->out_over || c->got != c->want)
		return (0);
	/* All of it is there: the rest is who reads it to say. */
	c->ended = 1;
	(void)shutdown(c->s, SHUT_WR);
	return (0);
}

static int
conn_out(void *arg, int stream, const void *data, size_t len)
{
	struct conn	*c = arg;

	/* While there is something left no more is read. */
	if (stream != 1 || len > sizeof(c->buf) - c->len) {
		errno = ENOBUFS;
		return (-1);
	}
	memcpy(c->buf + c->len, data, len);
	c->len += len;
	c->got += len;
	return (0);
}

static void
conn_note(void *arg, const struct sandbox_answer *a)
{
	struct conn	*c = arg;

	switch (a->type) {
	case PROTO_OUTPUT_END:
		c->out_over = 1;
		c->want = a->u.output_end.offset;
		break;
	case PROTO_RESULT:
		c->result = c->out_over = 1;
		c->want = a->u.result.out;
		break;
	}
}

static void
conn_failed(struct forward *f, struct conn *c)
{
	char	 port[16];

	snprintf(port, sizeof(port), "port %u", (unsigned int)f->port);
	(void)file_error(f->ctl, port);
	conn_reset(f, c);
}

static void
conn_accept(struct forward *f)
{
	struct sockaddr_in	 sin;
	struct proto_call	 m;
	struct conn		*c;
	socklen_t		 len = sizeof(sin);
	int			 s, one = 1;

	s = accept4(f->ls, (struct sockaddr *)&sin, &len, SOCK_NONBLOCK |
	    SOCK_CLOEXEC);
	if (s == -1)
		return;
	for (c = f->conns; c->s != -1; c++)
		;
	memset(c, 0, offsetof(struct conn, buf));
	c->off = c->len = 0;
	c->got = c->want = 0;
	c->result = c->out_over = c->ended = c->hup = 0;
	c->s = c->io.in = s;
	c->io.out = conn_out;
	c->io.note = conn_note;
	c->io.wakefd = -1;
	c->io.arg = c;
	(void)setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	file_call(f->ctl, &m, CALL_CONNECT, NULL);
	m.count = f->port;
	if ((c->job = sandbox_job_call(f->ctl->conn, &m, &c->io)) == NULL)
		conn_failed(f, c);
}

/* The end of the call, when all of its output is here. */
static void
conn_ends(struct forward *f, struct conn *c)
{
	if (c->job == NULL || !sandbox_job_over(c->job))
		return;
	if (!c->result || c->got != c->want) {
		conn_reset(f, c);
		return;
	}
	sandbox_job_free(c->job);
	c->job = NULL;
	(void)conn_write(f, c);
}

/* Nothing is expected any more; what it says has nobody to take it. */
static void
conn_rest(struct conn *c)
{
	ssize_t	 n;

	n = recv(c->s, c->buf, sizeof(c->buf), 0);
	if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR))
		conn_close(c, 0);
}

/* --- what is polled ------------------------------------------------- */

/* How long at most; -1: without end. */
static int
conn_fds(struct conn *c, struct pollfd *pfd)
{
	int	 i, wait = -1;

	for (i = 0; i < P_CONN; i++) {
		pfd[i].fd = -1;
		pfd[i].events = pfd[i].revents = 0;
	}
	if (c->s == -1)
		return (-1);
	if (c->job != NULL)
		wait = sandbox_job_fds(c->job, pfd);
	/* Both its ends are known: it has no other news. */
	pfd[P_SOCK].fd = c->hup && c->job != NULL ? -1 : c->s;
	pfd[P_SOCK].revents = 0;
	pfd[P_SOCK].events = c->off < c->len ? POLLOUT :
	    c->ended && c->job == NULL ? POLLIN : 0;
	if (c->off < c->len)
		pfd[0].fd = pfd[1].fd = -1;
	return (wait);
}

static void
conn_turn(struct forward *f, struct conn *c, struct pollfd *pfd)
{
	if (c->s == -1 || (pfd[P_SOCK].fd != c->s && !c->hup))
		return;
	if (c->ended && c->job == NULL) {
		if (pfd[P_SOCK].revents != 0)
			conn_rest(c);
		return;
	}
	/* Both sides are shut, and we have not: it was reset. */
	if (pfd[P_SOCK].revents & POLLERR ||
	    (pfd[P_SOCK].revents & POLLHUP && !c->ended)) {
		conn_reset(f, c);
		return;
	}
	if (pfd[P_SOCK].revents & POLLHUP)
		c->hup = 1;
	if (c->job != NULL && sandbox_job_turn(c->job, pfd) == -1) {
		conn_reset(f, c);
		return;
	}
	if (conn_write(f, c) == 0)
		conn_ends(f, c);
}

/* --- the daemon ----------------------------------------------------- */

static void
take(struct forward *f, struct sandbox_answer *a)
{
	struct conn	*c;

	if (a->req == f->wait) {
		if (a->type == PROTO_END || a->type == PROTO_ERROR)
			f->over = 1;
		return;
	}
	for (c = f->conns; c < f->conns + FORWARD_MAX; c++) {
		if (c->job == NULL || !sandbox_job_owns(c->job, a))
			continue;
		if (sandbox_job_take(c->job, a) == -1)
			conn_failed(f, c);
		/* That no more comes may be told after all has been written. */
		else if (conn_write(f, c) == 0)
			conn_ends(f, c);
		return;
	}
}

/* What is asked for first, and again after a restart of the daemon. */
static int
ask(struct forward *f)
{
	static const char	*ends[] = { "stopped", "failed", "deleted" };
	struct proto_wait_state	 ws;
	size_t			 i;
	int			 ret = 0;

	memset(&ws, 0, sizeof(ws));
	ws.id = f->ctl->argv[0];
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]) && ret == 0; i++)
		ret = strv_add(&ws.states, ends[i]);
	if (ret == 0)
		ret = sandbox_send(f->ctl->conn, PROTO_WAIT_STATE, &ws,
		    &f->wait);
	strv_clear(&ws.states);
	return (ret);
}

/* With the daemon its calls have gone: never with half of their bytes. */
static int
lost(struct forward *f)
{
	struct conn	*c;

	for (c = f->conns; c < f->conns + FORWARD_MAX; c++)
		if (c->job != NULL)
			conn_reset(f, c);
	return (ctl_reopen(f->ctl) == -1 ? -1 : ask(f));
}

static int
answers(struct forward *f)
{
	struct sandbox_answer	 a;
	int			 n;

	while ((n = sandbox_recv(f->ctl->conn, &a, 0)) == 1) {
		take(f, &a);
		sandbox_answer_clear(&a);
	}
	return (n == -1 ? lost(f) : 0);
}

static int
turn(struct forward *f)
{
	static struct pollfd	 pfd[P_FIRST + FORWARD_MAX * P_CONN];
	int			 i, n, nfree = 0, wait = -1;

	pfd[P_SIGNAL].fd = f->sigfd;
	pfd[P_DAEMON].events = pfd[P_SIGNAL].events = POLLIN;
	pfd[P_LISTEN].events = POLLIN;
	for (i = 0; i < FORWARD_MAX; i++) {
		n = conn_fds(&f->conns[i], &pfd[P_FIRST + i * P_CONN]);
		if (n != -1 && (wait == -1 || n < wait))
			wait = n;
		nfree += f->conns[i].s == -1;
	}
	pfd[P_LISTEN].fd = nfree > 0 ? f->ls : -1;
	switch (sandbox_write_queued(f->ctl->conn)) {
	case -1:
		return (lost(f));
	case 1:
		pfd[P_DAEMON].events |= POLLOUT;
	}
	pfd[P_DAEMON].fd = sandbox_fd(f->ctl->conn);
	if (sandbox_pending(f->ctl->conn))
		wait = 0;
	if (poll(pfd, P_FIRST + FORWARD_MAX * P_CONN, wait) == -1)
		return (errno == EINTR ? 0 : -1);
	for (i = 0; i < FORWARD_MAX; i++)
		conn_turn(f, &f->conns[i], &pfd[P_FIRST + i * P_CONN]);
	if (pfd[P_LISTEN].fd != -1 && pfd[P_LISTEN].revents != 0)
		conn_accept(f);
	return (answers(f));
}

/* --- the command ---------------------------------------------------- */

struct address {
	char		*address;
	uint32_t	 port;		/* on the host */
	uint32_t	 inside;
};

static int
forward_print(struct forward *f)
{
	static const struct msg_field	 fields[] = {
		MSG_F(address, address, M_TEXT, 0, 0),
		MSG_F(address, port, M_UINT, UINT16_MAX, 0),
		MSG_F(address, inside, M_UINT, UINT16_MAX, 0),
	};
	static const struct msg_def	 def = MSG_DEF(0, "address", address,
					    fields);
	static char			 host[] = "127.0.0.1";
	struct sockaddr_in		 sin;
	struct address			 a;
	socklen_t			 len = sizeof(sin);

	if (getsockname(f->ls, (struct sockaddr *)&sin, &len) == -1)
		return (-1);
	a.address = host;
	a.port = ntohs(sin.sin_port);
	a.inside = f->port;
	if (f->ctl->json)
		json_message(stdout, &def, &a);
	else
		printf("%s:%u\n", host, a.port);
	return (fflush(stdout));
}

static int
forward_listen(struct forward *f, uint64_t port)
{
	struct sockaddr_in	 sin;
	int			 one = 1;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_port = htons(port);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	f->ls = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
	    0);
	if (f->ls == -1 ||
	    setsockopt(f->ls, SOL_SOCKET, SO_REUSEADDR, &one,
	    sizeof(one)) == -1 ||
	    bind(f->ls, (struct sockaddr *)&sin, sizeof(sin)) == -1 ||
	    listen(f->ls, FORWARD_QUEUE) == -1)
		return (-1);
	return (0);
}

/* [local:]port, of which the first may be 0. */
static int
forward_ports(struct ctl *ctl, uint64_t *local, uint64_t *port)
{
	const char	*arg = ctl->argv[1], *colon = strchr(arg, ':');
	char		 first[16];

	if (colon == NULL) {
		if (parse_number(arg, 1, UINT16_MAX, port) == 0) {
			*local = *port;
			return (0);
		}
	} else if ((size_t)(colon - arg) < sizeof(first)) {
		memcpy(first, arg, colon - arg);
		first[colon - arg] = '\0';
		if (parse_number(first, 0, UINT16_MAX, local) == 0 &&
		    parse_number(colon + 1, 1, UINT16_MAX, port) == 0)
			return (0);
	}
	file_local(ctl, CODE_INVALID_ARGUMENT, arg,
	    "must be a port, or a local one and a port with a colon between");
	return (-1);
}

/* It is there and runs: who would connect later learns no more of it. */
static int
forward_ready(struct ctl *ctl)
{
	struct proto_sandbox	 sb;
	int			 ret = 0;

	if (sandbox_show(ctl->conn, ctl->argv[0], &sb) == -1)
		return (ctl_error(ctl));
	if (strcmp(sb.state, "ready") != 0)
		ret = file_local(ctl, CODE_WRONG_STATE, ctl->argv[0],
		    "it is not ready");
	msg_clear(&sb, proto_def(PROTO_SANDBOX));
	return (ret);
}

int
cmd_forward(struct ctl *ctl)
{
	struct forward	 f;
	uint64_t	 local;
	size_t		 i;
	int		 ret = 0;

	memset(&f, 0, sizeof(f));
	f.ctl = ctl;
	if (forward_ports(ctl, &local, &f.port) == -1 ||
	    forward_ready(ctl) != 0)
		return (ctl->failed);
	if ((f.sigfd = signals_catch()) == -1 ||
	    (f.conns = calloc(FORWARD_MAX, sizeof(*f.conns))) == NULL)
		return (ctl_errno(ctl, "forward"));
	for (i = 0; i < FORWARD_MAX; i++)
		f.conns[i].s = -1;
	if (forward_listen(&f, local) == -1)
		return (ctl_errno(ctl, ctl->argv[1]));
	if (ask(&f) == -1)
		return (ctl_error(ctl));
	if (forward_print(&f) == -1)
		return (ctl_errno(ctl, "standard output"));
	while (ret == 0 && !f.over && signals_got() == 0)
		ret = turn(&f);
	for (i = 0; i < FORWARD_MAX; i++)
		if (f.conns[i].s != -1)
			conn_reset(&f, &f.conns[i]);
	free(f.conns);
	close(f.ls);
	if (ret == -1)
		return (ctl_error(ctl));
	return (signals_got() != 0 ? EXIT_SIGNAL + signals_got() : 0);
}
