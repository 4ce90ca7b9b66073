/*
 * What clients attach to what they send: it goes nowhere, and nobody waits
 * for it, neither when it is read nor when it is thrown away unread.
 *
 * regress-srcs: harness.c beside.c fusefs.c
 */

#include <sys/types.h>
#include <sys/socket.h>

#include <netinet/in.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beside.h"
#include "frontend.h"
#include "fusefs.h"
#include "harness.h"
#include "passfd.h"
#include "usage.h"

#define FD_BIT	(1U << 31)

static void
header(struct imsg_hdr *h, uint32_t id, uint32_t mark)
{
	memset(h, 0, sizeof(*h));
	h->type = PROTO_PING;
	h->len = IMSG_HEADER_SIZE | mark;
	h->peerid = id;
}

/* One PING with n copies of the descriptor beside it. */
static void
attach(struct cl *c, uint32_t id, int fd, int n)
{
	struct imsg_hdr	 h;

	header(&h, id, FD_BIT);
	ATF_REQUIRE_MSG(passfd_send(c->fd, &h, sizeof(h), fd, n, 0) ==
	    sizeof(h), "sendmsg: %s", strerror(errno));
}

static void
answer_ping(struct cl *c, uint32_t id)
{
	struct frame	 f;

	fe_expect(&fe.store, PROTO_PING, &f, NULL);
	ATF_REQUIRE_EQ(id, f.req);
	fe_end(&fe, c->session, id);
	(void)cl_expect(c, PROTO_END, id, NULL);
}

ROOT_TEST(thrown_away, "(b4) 1, 2 and 250 descriptors beside a message")
{
	static const int	 counts[] = { 1, 2, 250 };
	struct cl		 c;
	struct pollfd		 pfd;
	char			 byte;
	int			 p[2], before;
	uint32_t		 id = 1;
	size_t			 i, round;

	(void)tc;
	begin();
	cl_greet(&fe, &c, 0);
	before = usage_fds(fe.pid);
	ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
	for (round = 0; round < 10; round++)
		for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			attach(&c, ++id, p[1], counts[i]);
			answer_ping(&c, id);
			ATF_REQUIRE_EQ(before, usage_fds(fe.pid));
		}
	close(p[1]);
	/* Nobody has it: the pipe is at its end. */
	pfd.fd = p[0];
	pfd.events = POLLIN;
	ATF_CHECK_EQ(1, poll(&pfd, 1, WAIT_MS));
	ATF_CHECK_EQ(0, read(p[0], &byte, 1));
	close(p[0]);
	cl_close(&c);
	alive();
	finish();
}

ROOT_TEST(announced, "(b3) a descriptor is announced and there is none")
{
	struct imsg_hdr	 h;
	struct cl	 c;

	(void)tc;
	begin();
	cl_greet(&fe, &c, 0);
	/* The bit says nothing to who takes none. */
	header(&h, 2, FD_BIT);
	cl_raw(&c, &h, sizeof(h));
	answer_ping(&c, 2);
	cl_close(&c);
	alive();
	finish();
}

/* A socket whose last close(2) waits: for a quarter of an hour; or -1. */
static int
lingering(void)
{
	static char		 junk[65536];
	struct sockaddr_in	 sin;
	struct linger		 l = { 1, 900 };
	socklen_t		 len = sizeof(sin);
	int			 s, c;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ATF_REQUIRE((s = socket(AF_INET, SOCK_STREAM, 0)) != -1);
	ATF_REQUIRE((c = socket(AF_INET, SOCK_STREAM, 0)) != -1);
	if (bind(s, (struct sockaddr *)&sin, len) == -1 ||
	    listen(s, 1) == -1 ||
	    getsockname(s, (struct sockaddr *)&sin, &len) == -1 ||
	    connect(c, (struct sockaddr *)&sin, len) == -1) {
		fprintf(stderr, "no loopback: %s\n", strerror(errno));
		close(s);
		close(c);
		return (-1);
	}
	/* Its peer never takes this, so it cannot be sent. */
	ATF_REQUIRE(fcntl(c, F_SETFL, O_NONBLOCK) == 0);
	while (write(c, junk, sizeof(junk)) > 0)
		;
	ATF_REQUIRE(fcntl(c, F_SETFL, 0) == 0);
	ATF_REQUIRE(setsockopt(c, SOL_SOCKET, SO_LINGER, &l,
	    sizeof(l)) == 0);
	/* The listener stays open, as long as this process lives. */
	return (c);
}

/*
 * Ours is not to be the last one, or this process would wait: the frontend
 * does not read meanwhile.
 */
static void
attach_last(struct cl *c, uint32_t id, int fd)
{
	ATF_REQUIRE(kill(fe.pid, SIGSTOP) == 0);
	attach(c, id, fd, 1);
	close(fd);
	ATF_REQUIRE(kill(fe.pid, SIGCONT) == 0);
}

/* A greeted client that is not read any more: its eight are in flight. */
static void
fill(struct cl *c)
{
	struct frame	 f;
	uint32_t	 id;

	cl_greet(&fe, c, 0);
	for (id = 2; id < 2 + CLIENT_INFLIGHT_MAX; id++)
		cl_send(c, PROTO_PING, id, NULL);
	for (id = 2; id < 2 + CLIENT_INFLIGHT_MAX; id++)
		fe_expect(&fe.store, PROTO_PING, &f, NULL);
}

ROOT_TEST(lingers, "(b4) a socket beside a message whose close waits")
{
	struct cl	 c;
	int		 fd, i;

	(void)tc;
	begin();
	for (i = 0; i < 5; i++) {
		cl_greet(&fe, &c, 0);
		if ((fd = lingering()) == -1) {
			cl_close(&c);
			alive();
			break;
		}
		attach_last(&c, 2, fd);
		fe_log(&fe, "attached what does not let go; 1 clients");
		cl_gone(&c);
		cl_ping(&fe, &good, ++good_req);
	}
	/* Thrown away with all that was never read. */
	fill(&c);
	if ((fd = lingering()) != -1)
		attach_last(&c, 100, fd);
	cl_close(&c);
	for (i = 0; i < CLIENT_INFLIGHT_MAX; i++)
		fe_end(&fe, c.session, 2 + i);
	alive();
	finish();
}

ROOT_TEST(own_fuse, "(b4) a file of a file system that does not answer")
{
	struct imsg_hdr	 h;
	struct cl	 c, full;

	(void)tc;
	begin();
	cl_greet(&fe, &c, 0);
	header(&h, 2, FD_BIT);
	if (fusefs_send(c.fd, &h, sizeof(h)) != 0) {
		answer_ping(&c, 2);
		cl_ping(&fe, &good, ++good_req);
		fill(&full);
		ATF_REQUIRE(fusefs_send(full.fd, &h, sizeof(h)) != 0);
		cl_close(&full);
		fe_end(&fe, full.session, 2);
		fe_log(&fe, "; 2 clients, of the uid 1 with 0 short");
		cl_ping(&fe, &good, ++good_req);
		cl_ping(&fe, &c, 3);
	}
	cl_close(&c);
	alive();
	fusefs_end();
	finish();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, thrown_away);
	ATF_TP_ADD_TC(tp, announced);
	ATF_TP_ADD_TC(tp, lingers);
	ATF_TP_ADD_TC(tp, own_fuse);
	return (atf_no_error());
}
