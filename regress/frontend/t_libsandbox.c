/*
 * libsandbox: whole requests, many in flight, and events on credit.
 *
 * regress-srcs: libclient.c harness.c
 */

#include <sys/types.h>

#include <atf-c.h>
#include <stdio.h>
#include <string.h>

#include "libclient.h"

static void
calls_body(void)
{
	struct proto_create	 c;
	struct proto_accepted	 acc;
	struct proto_sandbox	 s;
	struct proto_list	 l;
	struct sandbox		*sb = open_it();
	int			 n = 0;

	CHECK(strcmp(sandbox_hello(sb)->daemon, "9.9") == 0);
	CHECK(sandbox_ping(sb) == 0);
	memset(&c, 0, sizeof(c));
	c.wait = 1;
	CHECK(sandbox_create(sb, &c, &acc, &s) == 0);
	CHECK(strcmp(acc.id, "one") == 0 && strcmp(s.id, "one") == 0);
	msg_clear(&s, proto_def(PROTO_SANDBOX));
	CHECK(sandbox_create(sb, &c, &acc, &s) == -1);
	CHECK(sandbox_error(sb)->code == CODE_POLICY_DENIED);
	CHECK(strcmp(sandbox_error(sb)->text, "because") == 0);
	CHECK(strcmp(sandbox_error(sb)->field, "image") == 0);
	CHECK(!sandbox_error(sb)->lost);
	memset(&l, 0, sizeof(l));
	CHECK(sandbox_list(sb, &l, count, &n) == 0);
	CHECK(n == 3);
	/* END without the answer that it must have. */
	CHECK(sandbox_show(sb, "x", &s) == -1);
	CHECK(sandbox_error(sb)->code == CODE_PROTOCOL);
	/* The daemon goes in the middle. */
	CHECK(sandbox_ping(sb) == -1);
	CHECK(sandbox_error(sb)->lost);
	CHECK(sandbox_error(sb)->code == CODE_UNAVAILABLE);
	CHECK(sandbox_fd(sb) == -1);
	CHECK(sandbox_ping(sb) == -1);
	CHECK(sandbox_error(sb)->lost);
	sandbox_close(sb);
}

LIB_TEST(calls)
{
	struct proto_list	 l;
	struct proto_end	 end = { 5 };
	struct frame		 f;
	uint64_t		 s;

	scratch_make();
	fe_start(&fe);
	child_start(calls_body);
	s = take();
	fe_expect(&fe.store, PROTO_PING, &f, NULL);
	fe_end(&fe, s, f.req);
	fe_expect(&fe.store, PROTO_CREATE, &f, NULL);
	send_accepted(s, f.req, "one");
	send_box(s, f.req, "one");
	fe_end(&fe, s, f.req);
	fe_expect(&fe.store, PROTO_CREATE, &f, NULL);
	send_error(s, f.req, "policy_denied");
	fe_expect(&fe.store, PROTO_LIST, &f, &l);
	ATF_CHECK_EQ(0, l.after);
	send_box(s, f.req, "a");
	send_box(s, f.req, "b");
	fe_send(&fe.store, PROTO_END, s, f.req, -1, &end);
	fe_expect(&fe.store, PROTO_LIST, &f, &l);
	ATF_CHECK_EQ(5, l.after);
	send_box(s, f.req, "c");
	fe_end(&fe, s, f.req);
	fe_expect(&fe.store, PROTO_SHOW, &f, NULL);
	fe_end(&fe, s, f.req);
	fe_expect(&fe.store, PROTO_PING, &f, NULL);
	chan_clear(&fe.store);
	ATF_CHECK_EQ(0, fe_wait(&fe));
	child_wait();
}

static void
flight_body(void)
{
	struct proto_ref	 ref;
	struct sandbox_answer	 a;
	struct sandbox		*sb = open_it();
	uint32_t		 req[16];
	char			 seen[16] = { 0 };
	int			 i, n = 0;

	memset(&ref, 0, sizeof(ref));
	ref.id = box;
	for (i = 0; i < 16; i++)
		CHECK(sandbox_send(sb, PROTO_SHOW, &ref, &req[i]) == 0);
	/* One in the middle first; what comes before it is kept. */
	CHECK(sandbox_finish(sb, req[3], count, &n, NULL) == 0);
	CHECK(n == 1);
	for (n = 0; n < 15; ) {
		CHECK(sandbox_recv(sb, &a, -1) == 1);
		for (i = 0; req[i] != a.req; i++)
			CHECK(i < 15);
		if (a.type == PROTO_SANDBOX)
			CHECK(!seen[i]);
		else {
			CHECK(a.type == PROTO_END && seen[i]);
			n++;
		}
		seen[i] = 1;
		sandbox_answer_clear(&a);
	}
	CHECK(!sandbox_pending(sb));
	CHECK(sandbox_recv(sb, &a, 0) == 0);
	sandbox_close(sb);
}

LIB_TEST(in_flight)
{
	struct frame	 f[16];
	uint64_t	 s;
	int		 i, k;

	scratch_make();
	fe_start(&fe);
	child_start(flight_body);
	s = take();
	for (k = 0; k < 16; k += 8) {
		for (i = k; i < k + 8; i++)
			fe_expect(&fe.store, PROTO_SHOW, &f[i], NULL);
		/* The last one first. */
		for (i = k + 7; i >= k; i--) {
			send_box(s, f[i].req, "b");
			fe_end(&fe, s, f[i].req);
		}
	}
	child_wait();
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

static void
events_body(void)
{
	struct proto_events	 ev;
	struct sandbox		*sb = open_it();
	int			 n = 0;

	memset(&ev, 0, sizeof(ev));
	CHECK(sandbox_events(sb, &ev, count, &n) == 0);
	CHECK(n == 1000);
	sandbox_close(sb);
}

/* Credit comes back before it is used up, so that events never stop. */
LIB_TEST(events)
{
	struct proto_events	 ev;
	struct proto_credit	 cr;
	struct proto_event	 e;
	struct frame		 f;
	uint64_t		 s, credit;
	uint32_t		 req;
	int			 i;

	scratch_make();
	fe_start(&fe);
	child_start(events_body);
	s = take();
	fe_expect(&fe.store, PROTO_EVENTS, &f, &ev);
	req = f.req;
	credit = ev.credit;
	msg_clear(&ev, proto_def(PROTO_EVENTS));
	ATF_REQUIRE(credit > 0);
	memset(&e, 0, sizeof(e));
	snprintf(e.type, sizeof(e.type), "x");
	for (i = 0; i < 1000; i++) {
		if (credit == 0) {
			fe_expect(&fe.store, PROTO_CREDIT, &f, &cr);
			ATF_REQUIRE_EQ(req, f.req);
			credit += cr.n;
		}
		fe_send(&fe.store, PROTO_EVENT, s, req, -1, &e);
		credit--;
	}
	fe_end(&fe, s, req);
	child_wait();
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, calls);
	ATF_TP_ADD_TC(tp, in_flight);
	ATF_TP_ADD_TC(tp, events);
	return (atf_no_error());
}
