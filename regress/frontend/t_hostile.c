/*
 * Hostile clients, each followed by the question whether the frontend is
 * still there for the others and has forgotten this one.
 *
 * regress-srcs: harness.c beside.c
 */

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beside.h"
#include "frontend.h"
#include "harness.h"

static void
header(struct imsg_hdr *h, uint32_t type, uint32_t len, uint32_t id)
{
	memset(h, 0, sizeof(*h));
	h->type = type;
	h->len = len;
	h->peerid = id;
}

/* A greeted client sends one header alone, and is thrown out. */
static void
bad_header(uint32_t type, uint32_t len, uint32_t id)
{
	struct imsg_hdr	 h;
	struct cl	 c;

	cl_greet(&fe, &c, 0);
	header(&h, type, len, id);
	cl_raw(&c, &h, sizeof(h));
	cl_gone(&c);
	alive();
}

ROOT_TEST(malformed)
{
	uint8_t		 buf[8192];
	struct cl	 c;
	unsigned int	 seed = 1;
	size_t		 i;
	int		 n;

	begin();
	bad_header(PROTO_PING, IMSG_HEADER_SIZE - 1, 2);
	bad_header(PROTO_PING, 0, 2);
	bad_header(PROTO_PING, IMSG_HEADER_SIZE + PROTO_MAX_PAYLOAD + 1, 2);
	bad_header(PROTO_PING, UINT32_MAX, 2);
	bad_header(PROTO_PING, IMSG_HEADER_SIZE, 0);
	bad_header(0, IMSG_HEADER_SIZE, 2);
	bad_header(PROTO_HELLO_OK - 1, IMSG_HEADER_SIZE, 2);
	bad_header(PROTO_HELLO, IMSG_HEADER_SIZE, 2);
	bad_header(PROTO_END, IMSG_HEADER_SIZE, 2);
	bad_header(PROTO_HELLO_OK, IMSG_HEADER_SIZE, 2);
	bad_header(MSG_SHUTDOWN, IMSG_HEADER_SIZE, 2);
	bad_header(UINT32_MAX, IMSG_HEADER_SIZE, 2);
	for (n = 0; n < 20; n++) {
		cl_open(&fe, &c, 0);
		for (i = 0; i < sizeof(buf); i++)
			buf[i] = rand_r(&seed) >> 8;
		/* Whatever the length says, it is not a small one. */
		buf[7] = 0x7f;
		cl_raw(&c, buf, sizeof(buf));
		cl_gone(&c);
		alive();
	}
	finish();
}

ROOT_TEST(before_hello)
{
	struct proto_hello	 hello;
	struct proto_error	 e;
	struct imsg_hdr		 h;
	struct cl		 c;

	begin();
	cl_open(&fe, &c, 0);
	cl_send(&c, PROTO_PING, 1, NULL);
	cl_gone(&c);
	alive();
	/* A payload that is allowed only later. */
	cl_open(&fe, &c, 0);
	header(&h, PROTO_HELLO, IMSG_HEADER_SIZE + PROTO_MAX_HELLO + 1, 1);
	cl_raw(&c, &h, sizeof(h));
	cl_gone(&c);
	alive();
	/* Another version is told so, and may try again. */
	cl_open(&fe, &c, 0);
	memset(&hello, 0, sizeof(hello));
	hello.version = PROTO_VERSION + 1;
	cl_send(&c, PROTO_HELLO, 1, &hello);
	(void)cl_expect(&c, PROTO_ERROR, 1, &e);
	ATF_CHECK_STREQ("unsupported", e.code);
	cl_send(&c, PROTO_PING, 2, NULL);
	cl_gone(&c);
	alive();
	/* What comes behind HELLO waits for its answer. */
	cl_open(&fe, &c, 0);
	hello.version = PROTO_VERSION;
	cl_send(&c, PROTO_HELLO, 1, &hello);
	cl_send(&c, PROTO_PING, 2, NULL);
	fe_expect(&fe.store, PROTO_HELLO, NULL, NULL);
	cl_ping(&fe, &good, ++good_req);
	memset(&e, 0, sizeof(e));
	snprintf(e.code, sizeof(e.code), "permission_denied");
	snprintf(e.text, sizeof(e.text), "no");
	fe_send(&fe.store, PROTO_ERROR, c.session, 1, -1, &e);
	(void)cl_expect(&c, PROTO_ERROR, 1, NULL);
	cl_gone(&c);
	alive();
	finish();
}

/* The number of a request that is under way. */
ROOT_TEST(number_twice)
{
	struct cl	 c;

	begin();
	cl_greet(&fe, &c, 0);
	cl_send(&c, PROTO_PING, 2, NULL);
	fe_expect(&fe.store, PROTO_PING, NULL, NULL);
	cl_send(&c, PROTO_PING, 2, NULL);
	cl_gone(&c);
	alive();
	finish();
}

/* A descriptor that a client attaches is nowhere: its pipe is at its end. */
ROOT_TEST(descriptors)
{
	struct cl	 c;
	struct frame	 f;
	struct pollfd	 pfd;
	char		 byte;
	int		 p[2], i;

	begin();
	cl_greet(&fe, &c, 0);
	ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
	for (i = 0; i < 20; i++) {
		ATF_REQUIRE(imsg_compose(&c.ibuf, PROTO_PING, 2 + i, 0,
		    dup(p[1]), NULL, 0) == 1);
		ATF_REQUIRE(imsgbuf_flush(&c.ibuf) == 0);
		fe_expect(&fe.store, PROTO_PING, &f, NULL);
		fe_end(&fe, c.session, f.req);
		(void)cl_expect(&c, PROTO_END, f.req, NULL);
	}
	close(p[1]);
	pfd.fd = p[0];
	pfd.events = POLLIN;
	ATF_CHECK_EQ(1, poll(&pfd, 1, WAIT_MS));
	ATF_CHECK_EQ(0, read(p[0], &byte, 1));
	close(p[0]);
	cl_close(&c);
	alive();
	finish();
}

/* Half a message, a byte now and then, and silence: ten seconds for each. */
ROOT_TEST(incomplete)
{
	struct imsg_hdr	 h;
	struct cl	 mute, half, slow, busy;
	struct pollfd	 pfd;
	int		 i;

	begin();
	cl_open(&fe, &mute, 0);
	cl_greet(&fe, &half, 2);
	cl_greet(&fe, &slow, 3);
	cl_greet(&fe, &busy, 4);
	header(&h, PROTO_PING, IMSG_HEADER_SIZE + 1000, 2);
	cl_raw(&half, &h, sizeof(h) / 2);
	cl_raw(&slow, &h, sizeof(h));
	pfd.fd = slow.fd;
	pfd.events = POLLIN;
	/* Each byte more is no reason to wait longer. */
	for (i = 0; i < WAIT_MS / 500; i++) {
		cl_raw(&slow, "x", 1);
		if (poll(&pfd, 1, 500) == 1)
			break;
	}
	cl_gone(&slow);
	cl_gone(&half);
	cl_gone(&mute);
	/* Who has said all that he has begun may be silent. */
	cl_ping(&fe, &busy, 2);
	cl_close(&busy);
	for (i = 0; i < 4; i++)
		fe_log(&fe, "with 0 short and 0 long");
	cl_ping(&fe, &good, ++good_req);
	finish();
}

/* A subscriber who is told of n events of five KiB and takes none. */
static void
swamp(struct cl *c, int n)
{
	struct proto_events	 ev;
	struct proto_event	 e;
	char			 text[256];
	int			 i;

	cl_greet(&fe, c, 0);
	memset(&ev, 0, sizeof(ev));
	ev.follow = 1;
	cl_send(c, PROTO_EVENTS, 2, &ev);
	fe_expect(&fe.store, PROTO_EVENTS, NULL, NULL);
	memset(&e, 0, sizeof(e));
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (i = 0; i < 20; i++) {
		char	 key[16];

		snprintf(key, sizeof(key), "k%d", i);
		ATF_REQUIRE(kvv_add(&e.detail, key, text) == 0);
	}
	snprintf(e.type, sizeof(e.type), "x");
	for (i = 0; i < n; i++)
		fe_send(&fe.store, PROTO_EVENT, c->session, 2, -1, &e);
	msg_clear(&e, proto_def(PROTO_EVENT));
}

/* Many of one user, each below the bound of one: together they have theirs. */
ROOT_TEST(never_read_together)
{
	struct cl	 c[12];
	int		 i;

	begin();
	for (i = 0; i < 12; i++)
		swamp(&c[i], 1300);
	for (i = 0; i < 2; i++)
		fe_log(&fe, "closed: its answers cannot be queued");
	cl_ping(&fe, &good, ++good_req);
	for (i = 0; i < 12; i++)
		cl_close(&c[i]);
	alive();
	finish();
}

/* Answers that nobody takes: a bound, and then the end of that client. */
ROOT_TEST(never_reads)
{
	struct proto_hello	 hello;
	struct imsgbuf		 b;
	struct cl		 c;
	msgpack_sbuffer		 sb;
	int			 n;

	begin();
	/* Twice what the bound allows. */
	swamp(&c, 3400);
	cl_gone(&c);
	alive();

	/* Refusals by the thousand: it is read no more, and nothing grows. */
	cl_open(&fe, &c, 0);
	ATF_REQUIRE(fcntl(c.fd, F_SETFL, O_NONBLOCK) == 0);
	memset(&hello, 0, sizeof(hello));
	hello.version = PROTO_VERSION + 1;
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_map(&sb, proto_def(PROTO_HELLO), &hello) == 0);
	imsgbuf_init(&b, c.fd);
	for (n = 0; n < 1000000; n++) {
		ATF_REQUIRE(imsg_compose(&b, PROTO_HELLO, 1, 0, -1, sb.data,
		    sb.size) == 1);
		if (n % 100 == 99 && imsgbuf_write(&b) == -1)
			break;
		/* Full: the frontend has stopped reading. */
		if (imsgbuf_queuesize(&b) > 65536)
			break;
	}
	ATF_CHECK(n < 1000000);
	imsgbuf_clear(&b);
	msgpack_sbuffer_destroy(&sb);
	cl_ping(&fe, &good, ++good_req);
	cl_close(&c);
	alive();
	finish();
}

/*
 * All that a user may have in flight is in flight, and others of his come
 * and go meanwhile: they do not gather, waiting for their turn.
 */
ROOT_TEST(gather)
{
	struct proto_hello	 hello;
	struct cl		 c[UID_INFLIGHT_MAX], more;
	int			 i;

	begin();
	memset(&hello, 0, sizeof(hello));
	hello.version = PROTO_VERSION;
	for (i = 0; i < UID_INFLIGHT_MAX; i++) {
		cl_open(&fe, &c[i], 0);
		cl_send(&c[i], PROTO_HELLO, 1, &hello);
		fe_expect(&fe.store, PROTO_HELLO, NULL, NULL);
	}
	for (i = 0; i < 100; i++) {
		cl_open(&fe, &more, 0);
		if (i % 2)
			cl_send(&more, PROTO_HELLO, 1, &hello);
		cl_close(&more);
		fe_log(&fe, "hung up; 33 clients, of the uid 32 with 32");
	}
	cl_ping(&fe, &good, ++good_req);
	/* So do those whose answer is awaited. */
	for (i = 0; i < UID_INFLIGHT_MAX; i++)
		cl_close(&c[i]);
	alive();
	finish();
}

/*
 * It hangs up while as much as it may have is in flight, and has not read an
 * answer: to poll(2) that is an error, and no end as the others are.
 */
ROOT_TEST(unread)
{
	struct pollfd	 pfd;
	struct cl	 c;
	uint32_t	 i;

	begin();
	cl_greet(&fe, &c, 0);
	for (i = 0; i <= CLIENT_INFLIGHT_MAX; i++)
		cl_send(&c, PROTO_PING, 2 + i, NULL);
	for (i = 0; i < CLIENT_INFLIGHT_MAX; i++)
		fe_expect(&fe.store, PROTO_PING, NULL, NULL);
	fe_end(&fe, c.session, 2);
	fe_expect(&fe.store, PROTO_PING, NULL, NULL);
	pfd.fd = c.fd;
	pfd.events = POLLIN;
	ATF_REQUIRE_EQ(1, poll(&pfd, 1, WAIT_MS));
	cl_close(&c);
	alive();
	finish();
}

static void
logs_begin(struct cl *c)
{
	struct proto_attach	 at;
	char			 exec[] = "box.1";

	memset(&at, 0, sizeof(at));
	at.exec = exec;
	at.streams = 6;
	cl_send(c, PROTO_LOGS, 2, &at);
	fe_expect(&fe.store, PROTO_LOGS, NULL, NULL);
}

/* So many ends of pipes, of which each travels beside a message. */
static void
streams(struct cl *c, int n)
{
	struct proto_stream	 s;
	int			 p[2];

	memset(&s, 0, sizeof(s));
	s.stream = 1;
	while (n-- > 0) {
		ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
		fe_send(&fe.runner, PROTO_STREAM, c->session, 2, p[0], &s);
		close(p[1]);
	}
}

static void
streams_take(struct cl *c, int n)
{
	int	 fd;

	while (n-- > 0) {
		fd = cl_expect(c, PROTO_STREAM, 2, NULL);
		ATF_REQUIRE(fd != -1);
		close(fd);
	}
}

/*
 * Who never takes its descriptors is closed before they are too many, and
 * who takes them may have as many as it likes.
 */
ROOT_TEST(descriptors_not_taken)
{
	struct cl	 c, many[12];
	int		 n;

	begin();
	cl_greet(&fe, &c, 0);
	logs_begin(&c);
	for (n = 0; n < 100; n++) {
		streams(&c, 20);
		streams_take(&c, 20);
	}
	streams(&c, 2 * CLIENT_FDS_MAX);
	/* Only then it reads: reading beside them, it would take them. */
	fe_log(&fe, "cannot be queued; 1 clients, of the uid 0 with 0 short");
	cl_gone(&c);
	cl_ping(&fe, &good, ++good_req);

	/* The same by many connections of one user: one is too many. */
	for (n = 0; n < 12; n++) {
		cl_greet(&fe, &many[n], 0);
		logs_begin(&many[n]);
	}
	for (n = 0; n < 12; n++)
		streams(&many[n], 45);
	fe_log(&fe, "cannot be queued");
	cl_gone(&many[11]);
	for (n = 0; n < 11; n++) {
		streams_take(&many[n], 45);
		cl_close(&many[n]);
	}
	alive();
	finish();
}

/* Many clients that come and go in the middle of everything. */
ROOT_TEST(come_and_go)
{
	struct proto_create	 cr;
	struct frame		 f;
	struct cl		 c[20];
	int			 i, round;

	begin();
	memset(&cr, 0, sizeof(cr));
	cr.wait = 1;
	for (round = 0; round < 5; round++) {
		for (i = 0; i < 20; i++) {
			cl_greet(&fe, &c[i], 0);
			cl_send(&c[i], PROTO_CREATE, 2, &cr);
			fe_expect(&fe.store, PROTO_CREATE, &f, NULL);
		}
		for (i = 0; i < 20; i++)
			cl_close(&c[i]);
		alive();
		/* Late answers meet nobody. */
		for (i = 0; i < 20; i++)
			fe_end(&fe, c[i].session, 2);
	}
	finish();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, malformed);
	ATF_TP_ADD_TC(tp, before_hello);
	ATF_TP_ADD_TC(tp, number_twice);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, incomplete);
	ATF_TP_ADD_TC(tp, never_read_together);
	ATF_TP_ADD_TC(tp, never_reads);
	ATF_TP_ADD_TC(tp, descriptors_not_taken);
	ATF_TP_ADD_TC(tp, come_and_go);
	ATF_TP_ADD_TC(tp, gather);
	ATF_TP_ADD_TC(tp, unread);
	return (atf_no_error());
}
