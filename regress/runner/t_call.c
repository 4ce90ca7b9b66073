/*
 * Calls: when a guest gets them.
 *
 * regress-srcs: harness.c served.c
 */

#include <atf-c.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "harness.h"

/* Asks for one; the frame that the guest gets. */
static void
ask_op(struct rig *r, struct player *p, uint32_t op, struct gp_frame *f)
{
	static char	 path[] = "file", none[] = "";
	struct msg_call	 m;
	struct gp_call	 c;

	memset(&m, 0, sizeof(m));
	m.n = p->n;
	m.c.op = op;
	m.c.sandbox = m.c.path2 = m.c.pattern = m.c.filter = none;
	m.c.path = path;
	if (op == CALL_CONNECT)
		m.c.flags = CALL_F_STREAM;
	pipe_send(&r->store, MSG_CALL, 5, SESSION, ++r->req, -1, &m);
	ATF_REQUIRE_EQ(0, chan_flush_wait(&r->store));
	player_frame(p, GP_CALL, f);
	ATF_REQUIRE_EQ(0, gp_decode_call(&c, f));
	ATF_REQUIRE_EQ(op, c.op);
	ATF_REQUIRE_STREQ("file", c.path);
}

static void
ask(struct rig *r, struct player *p, struct gp_frame *f)
{
	ask_op(r, p, CALL_STAT, f);
}

/* The guest's answer, and what the store hears. */
static void
answered(struct rig *r, struct player *p, uint64_t k)
{
	struct gp_call_end	 e;
	struct got		*g;

	memset(&e, 0, sizeof(e));
	e.code = CODE_FILE_NOT_FOUND;
	e.text = "no";
	SEND(p, call_end(B, k, &e));
	g = from_store(r, MSG_CALL_DONE);
	ATF_REQUIRE_EQ(r->req, g->req);
	ATF_REQUIRE_EQ(CODE_FILE_NOT_FOUND, g->u.call_done.code);
}

ATF_TC(early);
ATF_TC_HEAD(early, tc)
{
	atf_tc_set_md_var(tc, "descr", "a sandbox is ready with its guest's "
	    "first word, and takes calls from then on");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(early, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_frame	 f;

	rig_start(r);
	listen_box(r, 1, 0, 0);
	p = player_new(r, 1);
	player_connect(p);
	player_greet(p, 0);
	from_store(r, MSG_GUEST_HELLO);
	ask(r, p, &f);
	/* It has told of its commands before it answers anything. */
	player_states(p, NULL, NULL, 0);
	answered(r, p, f.k);
	rig_alive(r);
	player_free(p);
	rig_end(r);
}

static void
out_end(struct player *p, uint64_t k, uint64_t total)
{
	struct gp_output_end	 e = { total };

	SEND(p, output_end(B, k, &e));
}

ATF_TC(half);
ATF_TC_HEAD(half, tc)
{
	atf_tc_set_md_var(tc, "descr", "a connection's output ends, and its "
	    "input goes on");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(half, tc)
{
	struct rig		*r = rig_new();
	struct player		*p;
	struct gp_frame		 f;
	struct gp_input		 in;
	struct gp_call_end	 e;
	struct got		*g;
	char			 text[8];
	uint64_t		 k;
	int			 w, fd;

	rig_start(r);
	p = boot(r, 1);
	ask_op(r, p, CALL_CONNECT, &f);
	k = f.k;
	g = from_frontend(r, PROTO_STREAM);
	ATF_REQUIRE_EQ(0, g->u.stream.stream);
	w = g->fd;
	g->fd = -1;
	player_output(p, k, GP_STDOUT, 0, "abc", 3);
	out_end(p, k, 3);
	g = from_frontend(r, PROTO_STREAM);
	ATF_REQUIRE_EQ(1, g->u.stream.stream);
	fd = g->fd;
	g->fd = -1;
	g = from_frontend(r, PROTO_OUTPUT_END);
	ATF_CHECK_EQ(r->req, g->req);
	ATF_CHECK_EQ(3, g->u.output_end.offset);
	ATF_CHECK_EQ(3, read(fd, text, sizeof(text)));
	ATF_CHECK_EQ(0, read(fd, text, sizeof(text)));
	close(fd);
	none_store(r, MSG_CALL_DONE);
	ATF_REQUIRE_EQ(2, write(w, "in", 2));
	player_frame(p, GP_INPUT, &f);
	ATF_REQUIRE_EQ(0, gp_decode_input(&in, &f));
	ATF_CHECK(f.k == k && in.len == 2 && memcmp(in.data, "in", 2) == 0);
	close(w);
	memset(&e, 0, sizeof(e));
	e.out = 3;
	e.in = 2;
	e.text = "";
	SEND(p, call_end(B, k, &e));
	g = from_frontend(r, MSG_STREAM_END);
	ATF_CHECK_EQ(3, g->u.stream_end.offset);
	g = from_store(r, MSG_CALL_DONE);
	ATF_CHECK_EQ(CODE_OK, g->u.call_done.code);
	player_free(p);
	rig_end(r);
}

/* Lies about such an end, of call k that is a connection. */
static void
lie_total(struct player *p, uint64_t k)
{
	out_end(p, k, 1);
}

static void
lie_twice(struct player *p, uint64_t k)
{
	out_end(p, k, 0);
	out_end(p, k, 0);
}

static void
lie_output(struct player *p, uint64_t k)
{
	out_end(p, k, 0);
	player_output(p, k, GP_STDOUT, 0, "x", 1);
}

static void
lie_unknown(struct player *p, uint64_t k)
{
	out_end(p, k + 1, 0);
}

static void
lie_late(struct player *p, uint64_t k)
{
	struct gp_call_end	 e = { .text = "" };

	SEND(p, call_end(B, k, &e));
	out_end(p, k, 0);
}

ATF_TC(half_lies);
ATF_TC_HEAD(half_lies, tc)
{
	atf_tc_set_md_var(tc, "descr", "a guest that lies about the end of an "
	    "output is cut off");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(half_lies, tc)
{
	static void	(*const lies[])(struct player *, uint64_t) = {
		lie_total, lie_twice, lie_output, lie_unknown, lie_late
	};
	struct rig	*r = rig_new();
	struct player	*p, *good;
	struct gp_frame	 f;
	size_t		 i, n = sizeof(lies) / sizeof(lies[0]);

	rig_start(r);
	good = boot(r, 1);
	for (i = 0; i <= n; i++) {
		p = boot(r, 2 + i);
		/* What is no connection has no such end. */
		ask_op(r, p, i < n ? CALL_CONNECT : CALL_READ, &f);
		if (i < n)
			lies[i](p, f.k);
		else
			out_end(p, f.k, 0);
		from_store(r, MSG_GUEST_BROKE);
		ATF_CHECK(player_eof(p));
		player_free(p);
	}
	good_exec(r, good, 1);
	player_free(good);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, early);
	ATF_TP_ADD_TC(tp, half);
	ATF_TP_ADD_TC(tp, half_lies);
	return (atf_no_error());
}
