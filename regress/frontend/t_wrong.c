/*
 * Messages that cannot be answered by their number: the client is told why,
 * by an ERROR of the number 0, and closed, and the others go on.
 *
 * regress-srcs: harness.c beside.c
 */

#include <sys/types.h>
#include <sys/socket.h>

#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "frontend.h"
#include "harness.h"

/* Told so, closed, forgotten, named in the log; the good one is served. */
static void
thrown_out(struct cl *c, const char *why)
{
	struct proto_error	 e;
	char			 line[2048];

	memset(&e, 0, sizeof(e));
	(void)cl_expect(c, PROTO_ERROR, 0, &e);
	ATF_CHECK_STREQ("protocol", e.code);
	ATF_CHECK_MSG(strstr(e.text, why) != NULL, "\"%s\", not \"%s\"",
	    e.text, why);
	cl_gone(c);
	snprintf(line, sizeof(line), "closed: %s; 1 clients, of the uid 0 "
	    "with 0 short and 0 long", e.text);
	fe_log(&fe, line);
	cl_ping(&fe, &good, ++good_req);
}

static void
header(struct imsg_hdr *h, uint32_t type, uint32_t len, uint32_t id)
{
	memset(h, 0, sizeof(*h));
	h->type = type;
	h->len = len;
	h->peerid = id;
}

static const struct {
	int		 greeted;
	uint32_t	 type;
	uint32_t	 len;
	uint32_t	 id;
	const char	*why;
} rows[] = {
	/* (b1) */
	{ 1, PROTO_PING, 0, 2, "message of 0 bytes: must be 16 to 262160" },
	{ 1, PROTO_PING, 1, 2, "message of 1 bytes" },
	{ 1, PROTO_PING, 3, 2, "message of 3 bytes" },
	{ 1, PROTO_PING, 15, 2, "message of 15 bytes" },
	{ 0, PROTO_HELLO, 15, 1, "message of 15 bytes" },
	{ 1, PROTO_PING, 15 | 1U << 31, 2, "message of 15 bytes" },
	/* (b2) */
	{ 1, PROTO_PING, 16 + PROTO_MAX_PAYLOAD + 1, 2,
	    "message of 262161 bytes: must be 16 to 262160" },
	{ 0, PROTO_HELLO, 16 + PROTO_MAX_HELLO + 1, 1,
	    "message of 4113 bytes: must be 16 to 4112" },
	{ 1, PROTO_PING, 0x7fffffff, 2, "message of 2147483647 bytes" },
	{ 1, PROTO_PING, 0xffffffff, 2, "message of 2147483647 bytes" },
	/* (b8) */
	{ 1, 999, 16, 2, "unknown request 999" },
	{ 1, 0, 16, 2, "unknown request 0" },
	{ 1, UINT32_MAX, 16, 2, "unknown request 4294967295" },
	{ 1, PROTO_HELLO_OK, 16, 2, "unknown request 64" },
	{ 0, 999, 16, 1, "unknown request 999" },
	/* What is said between our own processes is no request. */
	{ 1, MSG_SHUTDOWN, 16, 2, "unknown request" },
	/* (b9) */
	{ 0, PROTO_PING, 16, 1, "the first request must be HELLO" },
	{ 0, PROTO_CREDIT, 16, 1, "the first request must be HELLO" },
	/* (b11) */
	{ 1, PROTO_HELLO, 16, 2, "a second HELLO" },
	/* (b12) The older header has flags where the length's end is. */
	{ 0, PROTO_HELLO, 16 | 1U << 16, 1, "message of 65552 bytes" },
	{ 1, PROTO_PING, 16, 0, "a request has the number 0" },
	{ 1, PROTO_CREDIT, 16, 2, "malformed credit" },
};

ROOT_TEST(headers, "(b1, b2, b8, b9, b11, b12) headers that are none")
{
	struct imsg_hdr	 h;
	struct cl	 c;
	size_t		 i;

	(void)tc;
	begin();
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].greeted)
			cl_greet(&fe, &c, 0);
		else
			cl_open(&fe, &c, 0);
		header(&h, rows[i].type, rows[i].len, rows[i].id);
		cl_raw(&c, &h, sizeof(h));
		thrown_out(&c, rows[i].why);
	}
	finish();
}

ROOT_TEST(cut, "(b6) a message that ends before it is whole")
{
	struct imsg_hdr	 h;
	struct cl	 c;
	uint8_t		 bytes[sizeof(h) + 100];
	size_t		 n;

	(void)tc;
	begin();
	memset(bytes, 0, sizeof(bytes));
	header(&h, PROTO_SHOW, sizeof(bytes), 2);
	memcpy(bytes, &h, sizeof(h));
	for (n = 1; n < sizeof(bytes); n += 5) {
		cl_greet(&fe, &c, 0);
		cl_raw(&c, bytes, n);
		ATF_REQUIRE(shutdown(c.fd, SHUT_WR) == 0);
		thrown_out(&c, "truncated message");
	}
	finish();
}

ROOT_TEST(at_once, "(b7) 4095 messages in one write, the first is wrong")
{
	static struct imsg_hdr	 h[4095];
	struct cl		 c;
	size_t			 i;

	(void)tc;
	begin();
	for (i = 0; i < sizeof(h) / sizeof(h[0]); i++)
		header(&h[i], i == 0 ? 999 : PROTO_PING, sizeof(h[0]), 2 + i);
	cl_greet(&fe, &c, 0);
	cl_raw(&c, h, sizeof(h));
	/* That the next frame is the good one's shows that none came. */
	thrown_out(&c, "unknown request 999");
	finish();
}

ROOT_TEST(number_twice, "(b13) a number that is under way")
{
	struct cl	 c;

	(void)tc;
	begin();
	cl_greet(&fe, &c, 0);
	cl_send(&c, PROTO_PING, 7, NULL);
	fe_expect(&fe.store, PROTO_PING, NULL, NULL);
	cl_send(&c, PROTO_PING, 7, NULL);
	thrown_out(&c, "request 7 is under way");
	finish();
}

ROOT_TEST(subscriptions, "(b63) credit that nobody has asked for")
{
	struct proto_events	 ev;
	struct proto_credit	 cr = { 1 };
	struct cl		 c;
	char			 all[1] = "";
	int			 i;

	(void)tc;
	begin();
	cl_greet(&fe, &c, 0);
	memset(&ev, 0, sizeof(ev));
	ev.sandbox = all;
	ev.follow = 1;
	cl_send(&c, PROTO_EVENTS, 2, &ev);
	fe_expect(&fe.store, PROTO_EVENTS, NULL, NULL);
	for (i = 0; i < CLIENT_CREDITS; i++) {
		cl_send(&c, PROTO_CREDIT, 2, &cr);
		fe_expect(&fe.store, PROTO_CREDIT, NULL, NULL);
	}
	cl_send(&c, PROTO_CREDIT, 2, &cr);
	thrown_out(&c, "credit without events");
	/* Of something else that is under way. */
	cl_greet(&fe, &c, 0);
	cl_send(&c, PROTO_PING, 2, NULL);
	fe_expect(&fe.store, PROTO_PING, NULL, NULL);
	cl_send(&c, PROTO_CREDIT, 2, &cr);
	thrown_out(&c, "credit for what is no subscription");
	finish();
}

ROOT_TEST(late, "(b5) nothing, or half of a message, and then silence")
{
	struct imsg_hdr	 h;
	struct cl	 c;
	struct cl	 mute;

	(void)tc;
	begin();
	cl_open(&fe, &mute, 0);
	cl_open(&fe, &c, 0);
	header(&h, PROTO_HELLO, sizeof(h) + 10, 1);
	cl_raw(&c, &h, sizeof(h) / 2);
	fe_log(&fe, "closed: incomplete message");
	fe_log(&fe, "closed: incomplete message; 1 clients");
	(void)cl_expect(&c, PROTO_ERROR, 0, NULL);
	cl_gone(&c);
	(void)cl_expect(&mute, PROTO_ERROR, 0, NULL);
	cl_gone(&mute);
	cl_ping(&fe, &good, ++good_req);
	finish();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, headers);
	ATF_TP_ADD_TC(tp, cut);
	ATF_TP_ADD_TC(tp, at_once);
	ATF_TP_ADD_TC(tp, number_twice);
	ATF_TP_ADD_TC(tp, subscriptions);
	ATF_TP_ADD_TC(tp, late);
	return (atf_no_error());
}
