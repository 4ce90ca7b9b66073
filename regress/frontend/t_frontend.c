/*
 * The frontend's rules: what passes, in which order, and how much at a time.
 *
 * regress-srcs: harness.c
 */

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

static char	 box[] = "box";
static char	 exec_id[] = "box.1";

/* An attached exec, accepted. */
static void
exec_begin(struct fe *fe, struct cl *c, uint32_t req, uint32_t flags)
{
	struct proto_exec	 x;
	struct proto_accepted	 acc;
	struct frame		 f;

	memset(&x, 0, sizeof(x));
	x.sandbox = box;
	ATF_REQUIRE(strv_add(&x.argv, "true") == 0);
	x.flags = EXEC_ATTACH | flags;
	cl_send(c, PROTO_EXEC, req, &x);
	strv_clear(&x.argv);
	fe_expect(&fe->store, PROTO_EXEC, &f, NULL);
	ATF_REQUIRE_EQ(req, f.req);
	memset(&acc, 0, sizeof(acc));
	snprintf(acc.id, sizeof(acc.id), "box.%u", req);
	fe_send(&fe->store, PROTO_ACCEPTED, c->session, req, -1, &acc);
}

static void
exec_info(struct fe *fe, struct cl *c, uint32_t req, const char *state)
{
	struct proto_exec_info	 info;

	memset(&info, 0, sizeof(info));
	snprintf(info.id, sizeof(info.id), "box.%u", req);
	snprintf(info.state, sizeof(info.state), "%s", state);
	fe_send(&fe->store, PROTO_EXEC_INFO, c->session, req, -1, &info);
}

/* The pipe of an output, handed to the client; our end of it. */
static int
stream_send(struct fe *fe, struct cl *c, uint32_t req, uint32_t stream)
{
	struct proto_stream	 s;
	int			 p[2];

	ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
	memset(&s, 0, sizeof(s));
	s.stream = stream;
	snprintf(s.exec, sizeof(s.exec), "box.%u", req);
	fe_send(&fe->runner, PROTO_STREAM, c->session, req, p[0], &s);
	return (p[1]);
}

ROOT_TEST(no_pipe, "what a sibling has handed on and is no pipe is refused")
{
	struct proto_stream	 s;
	struct fe		 fe;
	struct cl		 c;
	int			 fd[6], i, to, sv[2];

	(void)tc;
	memset(&s, 0, sizeof(s));
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	ATF_REQUIRE((fd[0] = open("/dev/null", O_RDWR)) != -1);
	ATF_REQUIRE((fd[1] = open("/", O_RDONLY)) != -1);
	ATF_REQUIRE((fd[2] = open("/proc/self/exe", O_RDONLY)) != -1);
	ATF_REQUIRE((fd[3] = epoll_create1(0)) != -1);
	fd[4] = sv[0];
	for (i = 0; i < 12; i++) {
		fe_start(&fe);
		cl_greet(&fe, &c, 0);
		cl_send(&c, PROTO_PING, 2, NULL);
		fe_expect(&fe.store, PROTO_PING, NULL, NULL);
		/* Last, the sibling's own end of their pipe. */
		to = i % 6 == 5 ? (i < 6 ? fe.runner.fd : fe.store.fd) :
		    fd[i % 6];
		if ((to = dup(to)) == -1)
			atf_tc_fail("dup");
		fe_send(i < 6 ? &fe.runner : &fe.store, PROTO_STREAM,
		    c.session, 2, to, &s);
		fe_log(&fe, i < 6 ? "bad stream from runner" :
		    "bad stream from store");
		ATF_CHECK(fe_wait(&fe) != 0);
		cl_gone(&c);
	}
	for (i = 0; i < 5; i++)
		close(fd[i]);
	close(sv[1]);
}

/* No client is left, and with it no request. */
static void
idle(struct fe *fe)
{
	fe_log(fe, "; 0 clients, of the uid 0 with 0 short and 0 long");
}

ROOT_TEST(passes_both_ways)
{
	struct fe		 fe;
	struct cl		 c;
	struct frame		 f;
	struct proto_create	 cr, got;
	struct proto_accepted	 acc;
	struct proto_error	 e;

	fe_start(&fe);
	cl_greet(&fe, &c, 1000);
	cl_ping(&fe, &c, 2);

	memset(&cr, 0, sizeof(cr));
	snprintf(cr.id, sizeof(cr.id), "web-1");
	ATF_REQUIRE(kvv_add(&cr.labels, "team", "red") == 0);
	ATF_REQUIRE(kvv_add(&cr.env, "A", "b\nc") == 0);
	cr.memory = 64 << 20;
	cr.wait = 1;
	cl_send(&c, PROTO_CREATE, 7, &cr);
	msg_clear(&cr, proto_def(PROTO_CREATE));
	fe_expect(&fe.store, PROTO_CREATE, &f, &got);
	ATF_CHECK_EQ(c.session, f.session);
	ATF_CHECK_EQ(7, f.req);
	ATF_CHECK_STREQ("web-1", got.id);
	ATF_CHECK_STREQ("red", kvv_get(&got.labels, "team"));
	ATF_CHECK_STREQ("b\nc", kvv_get(&got.env, "A"));
	ATF_CHECK_EQ(64 << 20, got.memory);
	msg_clear(&got, proto_def(PROTO_CREATE));

	memset(&acc, 0, sizeof(acc));
	snprintf(acc.id, sizeof(acc.id), "web-1");
	acc.op = 12;
	fe_send(&fe.store, PROTO_ACCEPTED, c.session, 7, -1, &acc);
	(void)cl_expect(&c, PROTO_ACCEPTED, 7, &acc);
	ATF_CHECK_EQ(12, acc.op);
	memset(&e, 0, sizeof(e));
	snprintf(e.code, sizeof(e.code), "engine_error");
	snprintf(e.text, sizeof(e.text), "no such image: x");
	snprintf(e.field, sizeof(e.field), "image");
	fe_send(&fe.store, PROTO_ERROR, c.session, 7, -1, &e);
	memset(&e, 0, sizeof(e));
	(void)cl_expect(&c, PROTO_ERROR, 7, &e);
	ATF_CHECK_STREQ("engine_error", e.code);
	ATF_CHECK_STREQ("image", e.field);

	/* Answers for nobody, and for requests that are over. */
	fe_send(&fe.store, PROTO_ERROR, c.session, 7, -1, &e);
	fe_send(&fe.store, PROTO_ERROR, c.session + 100, 7, -1, &e);
	cl_ping(&fe, &c, 8);
	cl_close(&c);
	fe_log(&fe, "; 0 clients, of the uid 0 with 0 short and 0 long");
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

/* END waits for the last byte of each output, and for nothing else. */
ROOT_TEST(end_waits_for_streams)
{
	struct fe	 fe;
	struct cl	 c;
	char		 buf[8];
	int		 w, r;

	fe_start(&fe);
	cl_greet(&fe, &c, 0);
	exec_begin(&fe, &c, 2, 0);
	w = stream_send(&fe, &c, 2, 1);
	(void)cl_expect(&c, PROTO_ACCEPTED, 2, NULL);
	r = cl_expect(&c, PROTO_STREAM, 2, NULL);
	ATF_REQUIRE(r != -1);
	ATF_REQUIRE(write(w, "hi", 2) == 2);
	close(w);
	ATF_CHECK_EQ(2, read(r, buf, sizeof(buf)));
	ATF_CHECK_EQ(0, read(r, buf, sizeof(buf)));
	close(r);

	exec_info(&fe, &c, 2, "exited");
	fe_end(&fe, c.session, 2);
	(void)cl_expect(&c, PROTO_EXEC_INFO, 2, NULL);
	/* An END that had not waited would come before this ping's. */
	cl_ping(&fe, &c, 3);
	fe_stream_end(&fe, c.session, 2, 1);
	cl_ping(&fe, &c, 3);
	fe_stream_end(&fe, c.session, 2, 2);
	(void)cl_expect(&c, PROTO_END, 2, NULL);

	/* Merged outputs are one. */
	exec_begin(&fe, &c, 4, EXEC_MERGE);
	(void)cl_expect(&c, PROTO_ACCEPTED, 4, NULL);
	fe_stream_end(&fe, c.session, 4, 1);
	exec_info(&fe, &c, 4, "exited");
	fe_end(&fe, c.session, 4);
	(void)cl_expect(&c, PROTO_EXEC_INFO, 4, NULL);
	(void)cl_expect(&c, PROTO_END, 4, NULL);

	/* What never ran has no output that could end. */
	exec_begin(&fe, &c, 5, 0);
	(void)cl_expect(&c, PROTO_ACCEPTED, 5, NULL);
	exec_info(&fe, &c, 5, "failed");
	fe_end(&fe, c.session, 5);
	(void)cl_expect(&c, PROTO_EXEC_INFO, 5, NULL);
	(void)cl_expect(&c, PROTO_END, 5, NULL);
	cl_close(&c);
	idle(&fe);
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

/*
 * Store and runner speak on pipes of their own.  When both have spoken the
 * client reads ACCEPTED first; the frontend is held up meanwhile, so that it
 * finds both at once.
 */
ROOT_TEST(accepted_comes_first)
{
	struct fe	 fe;
	struct cl	 c;
	uint32_t	 req;
	int		 i, w, r;

	fe_start(&fe);
	cl_greet(&fe, &c, 0);
	for (i = 0; i < 20; i++) {
		req = 10 + i;
		exec_begin(&fe, &c, req, EXEC_MERGE);
		w = stream_send(&fe, &c, req, 1);
		(void)cl_expect(&c, PROTO_ACCEPTED, req, NULL);
		r = cl_expect(&c, PROTO_STREAM, req, NULL);
		ATF_REQUIRE(r != -1);
		close(r);
		close(w);
		fe_stream_end(&fe, c.session, req, 1);
		fe_end(&fe, c.session, req);
		(void)cl_expect(&c, PROTO_END, req, NULL);
	}
	cl_close(&c);
	idle(&fe);
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

static void
refused(struct cl *c, uint32_t req, const char *code, const char *field)
{
	struct proto_error	 e;

	memset(&e, 0, sizeof(e));
	(void)cl_expect(c, PROTO_ERROR, req, &e);
	ATF_CHECK_STREQ(code, e.code);
	ATF_CHECK_STREQ(field, e.field);
	ATF_CHECK(e.text[0] != '\0');
}

static void
send_bytes(struct cl *c, uint32_t type, uint32_t req, const char *data,
    size_t len)
{
	ATF_REQUIRE(imsg_compose(&c->ibuf, type, req, 0, -1, data, len) == 1);
	ATF_REQUIRE(imsgbuf_flush(&c->ibuf) == 0);
}

/* What is refused is answered, and never reaches the store. */
ROOT_TEST(refuses_fields)
{
	struct fe		 fe;
	struct cl		 c;
	struct proto_create	 cr;
	struct proto_list	 li;
	int			 i;

	fe_start(&fe);
	cl_greet(&fe, &c, 0);
	memset(&cr, 0, sizeof(cr));
	snprintf(cr.id, sizeof(cr.id), "-x");
	cl_send(&c, PROTO_CREATE, 2, &cr);
	refused(&c, 2, "invalid_argument", "id");
	cr.id[0] = 'x';
	cr.memory = 1;
	cl_send(&c, PROTO_CREATE, 2, &cr);
	refused(&c, 2, "invalid_argument", "memory");
	memset(&li, 0, sizeof(li));
	for (i = 0; i <= SBX_LABELS_MAX; i++) {
		char	 key[16];

		snprintf(key, sizeof(key), "k%d", i);
		ATF_REQUIRE(kvv_add(&li.labels, key, "") == 0);
	}
	cl_send(&c, PROTO_LIST, 3, &li);
	msg_clear(&li, proto_def(PROTO_LIST));
	refused(&c, 3, "limit_exceeded", "labels");
	send_bytes(&c, PROTO_SHOW, 4, "\x80", 1);
	refused(&c, 4, "invalid_argument", "id");
	send_bytes(&c, PROTO_SHOW, 5, "\x81\xa2id\x01", 5);
	refused(&c, 5, "invalid_argument", "id");
	send_bytes(&c, PROTO_SHOW, 6, "\x81\xa2ix\xa1x", 6);
	refused(&c, 6, "invalid_argument", "");
	send_bytes(&c, PROTO_SHOW, 7, "\x82\xa2id\xa1x\xa2id\xa1y", 11);
	refused(&c, 7, "invalid_argument", "id");
	/* Five bytes that ask for four thousand million pairs. */
	send_bytes(&c, PROTO_SHOW, 8, "\xdf\xff\xff\xff\xff", 5);
	refused(&c, 8, "invalid_argument", "");
	/* No payload is no fields. */
	send_bytes(&c, PROTO_SHOW, 9, NULL, 0);
	refused(&c, 9, "invalid_argument", "id");
	cl_ping(&fe, &c, 10);
	cl_close(&c);
	idle(&fe);
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

/* Eight of a client, thirty-two of a uid; then nothing more is read. */
ROOT_TEST(bounds_in_flight)
{
	struct fe	 fe;
	struct cl	 c[5], other;
	struct frame	 f;
	uint64_t	 session[100];
	uint32_t	 req, reqs[100];
	int		 flight[5] = { 0 }, i, n = 0, ended = 0, round;

	fe_start(&fe);
	for (i = 0; i < 5; i++)
		cl_greet(&fe, &c[i], 1000);
	cl_greet(&fe, &other, 0);
	for (i = 0; i < 5; i++)
		for (req = 2; req < 22; req++)
			cl_send(&c[i], PROTO_PING, req, NULL);
	for (round = 0; ended < 100; round++) {
		ATF_REQUIRE(round < 10000);
		/* Another uid's come through, whatever waits. */
		cl_send(&other, PROTO_PING, 2, NULL);
		for (;;) {
			fe_expect(&fe.store, PROTO_PING, &f, NULL);
			if (f.session == other.session)
				break;
			ATF_REQUIRE(n < 100);
			session[n] = f.session;
			reqs[n++] = f.req;
			for (i = 0; c[i].session != f.session; i++)
				;
			ATF_REQUIRE(++flight[i] <= CLIENT_INFLIGHT_MAX);
			ATF_REQUIRE(n - ended <= UID_INFLIGHT_MAX);
		}
		fe_end(&fe, other.session, 2);
		(void)cl_expect(&other, PROTO_END, 2, NULL);
		/* The first is answered only when all have asked. */
		if ((ended == 0 && n < UID_INFLIGHT_MAX) || n == ended)
			continue;
		for (i = 0; c[i].session != session[ended]; i++)
			;
		flight[i]--;
		fe_end(&fe, session[ended], reqs[ended]);
		ended++;
	}
	for (i = 0; i < 5; i++)
		cl_close(&c[i]);
	for (i = 0; i < 5; i++)
		fe_log(&fe, "of uid 1000 closed");
	cl_close(&other);
	idle(&fe);
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

/* Attached commands hold nothing up, and can be steered and ended. */
ROOT_TEST(long_ones_apart)
{
	struct fe		 fe;
	struct cl		 c;
	struct proto_events	 ev;
	struct proto_kill	 k;
	uint32_t		 req;
	struct frame		 f;
	int			 i, n = 64;

	fe_start(&fe);
	cl_greet(&fe, &c, 0);
	for (i = 0; i < 20; i++) {
		exec_begin(&fe, &c, 100 + i, 0);
		(void)cl_expect(&c, PROTO_ACCEPTED, 100 + i, NULL);
	}
	memset(&ev, 0, sizeof(ev));
	ev.follow = 1;
	for (; i < n; i++) {
		cl_send(&c, PROTO_EVENTS, 100 + i, &ev);
		fe_expect(&fe.store, PROTO_EVENTS, NULL, NULL);
	}
	cl_send(&c, PROTO_EVENTS, 500, &ev);
	refused(&c, 500, "limit_exceeded", "");
	memset(&k, 0, sizeof(k));
	k.exec = exec_id;
	cl_send(&c, PROTO_KILL, 501, &k);
	fe_expect(&fe.store, PROTO_KILL, &f, NULL);
	fe_end(&fe, c.session, 501);
	(void)cl_expect(&c, PROTO_END, 501, NULL);
	/* One ends, and there is room for one. */
	for (req = 1; req <= 2; req++)
		fe_stream_end(&fe, c.session, 100, req);
	fe_end(&fe, c.session, 100);
	(void)cl_expect(&c, PROTO_END, 100, NULL);
	cl_send(&c, PROTO_EVENTS, 502, &ev);
	fe_expect(&fe.store, PROTO_EVENTS, NULL, NULL);
	cl_ping(&fe, &c, 503);
	cl_close(&c);
	idle(&fe);
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

ROOT_TEST(credit)
{
	struct fe		 fe;
	struct cl		 c;
	struct proto_events	 ev;
	struct proto_credit	 cr = { 5 }, got;
	struct proto_event	 e;
	struct frame		 f;
	int			 i;

	fe_start(&fe);
	cl_greet(&fe, &c, 0);
	memset(&ev, 0, sizeof(ev));
	ev.follow = 1;
	cl_send(&c, PROTO_EVENTS, 2, &ev);
	fe_expect(&fe.store, PROTO_EVENTS, NULL, NULL);
	memset(&e, 0, sizeof(e));
	snprintf(e.type, sizeof(e.type), "x");
	for (i = 0; i < 40; i++) {
		fe_send(&fe.store, PROTO_EVENT, c.session, 2, -1, &e);
		(void)cl_expect(&c, PROTO_EVENT, 2, NULL);
		cl_send(&c, PROTO_CREDIT, 2, &cr);
		fe_expect(&fe.store, PROTO_CREDIT, &f, &got);
		ATF_REQUIRE_EQ(5, got.n);
		ATF_REQUIRE_EQ(2, f.req);
	}
	/* Of a request that is over: nothing. */
	cl_send(&c, PROTO_CREDIT, 77, &cr);
	cl_ping(&fe, &c, 3);
	/* Without an event between them they are a flood. */
	for (i = 0; i < 100; i++) {
		msgpack_sbuffer	 sb;

		msgpack_sbuffer_init(&sb);
		ATF_REQUIRE(msg_encode_map(&sb, proto_def(PROTO_CREDIT),
		    &cr) == 0);
		(void)imsg_compose(&c.ibuf, PROTO_CREDIT, 2, 0, -1, sb.data,
		    sb.size);
		msgpack_sbuffer_destroy(&sb);
	}
	(void)imsgbuf_flush(&c.ibuf);
	cl_gone(&c);
	idle(&fe);
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

/* A client that has gone leaves nothing: its pipes are closed. */
ROOT_TEST(client_lost)
{
	struct fe	 fe;
	struct cl	 c, other;
	struct pollfd	 pfd;
	int		 w;

	fe_start(&fe);
	cl_greet(&fe, &other, 1);
	cl_greet(&fe, &c, 0);
	exec_begin(&fe, &c, 2, 0);
	cl_close(&c);
	fe_log(&fe, "; 1 clients, of the uid 0 with 0 short and 0 long");
	w = stream_send(&fe, &c, 2, 1);
	pfd.fd = w;
	pfd.events = 0;
	ATF_CHECK_EQ(1, poll(&pfd, 1, WAIT_MS));
	ATF_CHECK(pfd.revents & POLLERR);
	close(w);
	cl_ping(&fe, &other, 2);
	cl_close(&other);
	idle(&fe);
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

/* Nothing depends on how much a socket holds. */
ROOT_TEST(small_sockets)
{
	struct fe		 fe;
	struct cl		 c;
	struct proto_exec	 x, got;
	struct proto_sandbox	 s;
	struct frame		 f;
	char			*big;
	uint32_t		 req;
	int			 i;

	fe_small = 1;
	fe_start(&fe);
	cl_greet(&fe, &c, 0);
	ATF_REQUIRE((big = calloc(1, 60001)) != NULL);
	memset(big, 'x', 60000);
	memset(&x, 0, sizeof(x));
	x.sandbox = box;
	for (i = 0; i < 3; i++)
		ATF_REQUIRE(strv_add(&x.argv, big) == 0);
	memset(&s, 0, sizeof(s));
	ATF_REQUIRE(strv_add(&s.env, big) == 0);
	for (req = 2; req < 5; req++) {
		cl_send(&c, PROTO_EXEC, req, &x);
		fe_expect(&fe.store, PROTO_EXEC, &f, &got);
		ATF_REQUIRE_EQ(3, got.argv.n);
		ATF_REQUIRE_STREQ(big, got.argv.v[2]);
		msg_clear(&got, proto_def(PROTO_EXEC));
		fe_send(&fe.store, PROTO_SANDBOX, c.session, req, -1, &s);
		fe_end(&fe, c.session, req);
		(void)cl_expect(&c, PROTO_SANDBOX, req, NULL);
		(void)cl_expect(&c, PROTO_END, req, NULL);
	}
	strv_clear(&x.argv);
	strv_clear(&s.env);
	free(big);
	cl_close(&c);
	idle(&fe);
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

/* What is in flight is answered before the end; what follows is not. */
ROOT_TEST(stops_politely)
{
	struct fe		 fe;
	struct cl		 c, sub;
	struct proto_events	 ev;
	struct frame		 f;

	fe_start(&fe);
	cl_greet(&fe, &c, 0);
	cl_greet(&fe, &sub, 0);
	memset(&ev, 0, sizeof(ev));
	ev.follow = 1;
	cl_send(&sub, PROTO_EVENTS, 2, &ev);
	fe_expect(&fe.store, PROTO_EVENTS, NULL, NULL);
	cl_send(&c, PROTO_PING, 2, NULL);
	fe_expect(&fe.store, PROTO_PING, &f, NULL);
	fe_send(&fe.main, MSG_SHUTDOWN, 0, 0, -1, NULL);
	fe_end(&fe, c.session, 2);
	cl_gone(&sub);
	(void)cl_expect(&c, PROTO_END, 2, NULL);
	cl_gone(&c);
	ATF_CHECK_EQ(0, fe_wait(&fe));
}

ROOT_TEST(ends_with_a_sibling)
{
	struct fe	 fe;
	struct cl	 c;

	fe_start(&fe);
	cl_greet(&fe, &c, 0);
	chan_clear(&fe.store);
	cl_gone(&c);
	ATF_CHECK_EQ(0, fe_wait(&fe));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, passes_both_ways);
	ATF_TP_ADD_TC(tp, end_waits_for_streams);
	ATF_TP_ADD_TC(tp, accepted_comes_first);
	ATF_TP_ADD_TC(tp, refuses_fields);
	ATF_TP_ADD_TC(tp, bounds_in_flight);
	ATF_TP_ADD_TC(tp, long_ones_apart);
	ATF_TP_ADD_TC(tp, credit);
	ATF_TP_ADD_TC(tp, client_lost);
	ATF_TP_ADD_TC(tp, small_sockets);
	ATF_TP_ADD_TC(tp, stops_politely);
	ATF_TP_ADD_TC(tp, ends_with_a_sibling);
	ATF_TP_ADD_TC(tp, no_pipe);
	return (atf_no_error());
}
