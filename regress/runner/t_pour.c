/*
 * Output of calls in large frames, of which the runner reads the heads alone:
 * the bytes, their order, and what comes between, however a frame is cut.
 *
 * regress-srcs: harness.c served.c
 */

#include <sys/socket.h>

#include <atf-c.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "harness.h"
#include "runner.h"

#define TIMES	24			/* frames of a call */

static uint8_t	 data[TIMES * GP_MAX_DATA];
static uint8_t	 frame[GP_MAX_FROM_GUEST];

/* Asks for a file's bytes: the call's number. */
static uint64_t
ask(struct rig *r, struct player *p)
{
	static char	 path[] = "file", none[] = "";
	struct msg_call	 m;
	struct gp_frame	 f;

	memset(&m, 0, sizeof(m));
	m.n = p->n;
	m.c.op = CALL_READ;
	m.c.length = CALL_ALL;
	m.c.sandbox = m.c.path2 = m.c.pattern = m.c.filter = none;
	m.c.path = path;
	pipe_send(&r->store, MSG_CALL, 5, SESSION, ++r->req, -1, &m);
	ATF_REQUIRE_EQ(0, chan_flush_wait(&r->store));
	player_frame(p, GP_CALL, &f);
	return (f.k);
}

static size_t
framed(uint64_t k, uint64_t off, size_t len)
{
	struct gp_output m = { GP_STDOUT, off, data + off, len };
	ssize_t		 n;

	ATF_REQUIRE((n = gp_encode_output(frame, sizeof(frame), k, &m)) > 0);
	return (n);
}

static int
piped(struct rig *r)
{
	struct got	*g;
	int		 fd;

	g = from_frontend(r, PROTO_STREAM);
	fd = g->fd;
	g->fd = -1;
	return (fd);
}

/* Reads so many bytes, which are data from off on. */
static void
read_all(struct rig *r, int fd, uint64_t off, size_t len)
{
	static uint8_t	 buf[sizeof(data)];
	size_t		 got = 0;
	ssize_t		 n;

	ATF_REQUIRE(fcntl(fd, F_SETFL, 0) != -1);
	for (; got < len; got += n) {
		n = read(fd, buf + got, len - got);
		ATF_REQUIRE_MSG(n > 0, "%zu of %zu bytes", got, len);
	}
	ATF_CHECK(memcmp(buf, data + off, len) == 0);
	(void)r;
}

/* The guest is heard: another call of its is answered. */
static void
answers(struct rig *r, struct player *p)
{
	struct gp_call_end	 e = { .code = CODE_FILE_NOT_FOUND,
				    .text = "no" };
	uint64_t		 k = ask(r, p);
	struct got		*g;

	SEND(p, call_end(B, k, &e));
	g = from_store(r, MSG_CALL_DONE);
	ATF_CHECK_EQ(CODE_FILE_NOT_FOUND, g->u.call_done.code);
}

/*
 * Waits for credit up to there, of which a frame's worth may be held back.  A
 * pipe that nobody reads takes three frames at least, wherever they are cut.
 */
static void
acked(struct player *p, uint64_t k, uint64_t off)
{
	struct gp_frame	 f;
	struct gp_ack	 m;

	do {
		player_frame(p, GP_ACK, &f);
		ATF_REQUIRE_EQ(0, gp_decode_ack(&m, &f));
		ATF_REQUIRE(f.k == k);
	} while (m.off < off);
}

ATF_TC(pieces);
ATF_TC_HEAD(pieces, tc)
{
	atf_tc_set_md_var(tc, "descr", "a large frame may be cut anywhere, "
	    "and small ones come between");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(pieces, tc)
{
	static const size_t	 lens[] = {
		GP_MAX_DATA, GP_MAX_DATA, 20000, 1, GP_MAX_DATA, 16384, 16383,
		GP_MAX_DATA
	};
	struct rig		*r = rig_new();
	struct player		*p;
	struct gp_call_end	 e = { .text = "" };
	struct got		*g;
	uint64_t		 k, off = 0;
	size_t			 i, n, cut;
	uint32_t		 req;
	int			 fd = -1;

	pattern(data, sizeof(data), 7);
	rig_start(r);
	p = boot(r, 1);
	k = ask(r, p);
	req = r->req;
	for (i = 0; i < 8 * 4; i++) {
		n = framed(k, off, lens[i % 8] / (i / 8 + 1) + 1 - (i < 8));
		/* Within the head, after it, and within the data. */
		cut = (i * 7919) % (i % 2 ? n : GP_OUTPUT_HEAD + 2);
		player_send(p, frame, cut > n ? n : cut);
		if (i % 3 == 0)
			rig_alive(r);
		if (cut < n)
			player_send(p, frame + cut, n - cut);
		off += n - GP_OUTPUT_HEAD;
		if (fd == -1)
			fd = piped(r);
		read_all(r, fd, off - (n - GP_OUTPUT_HEAD),
		    n - GP_OUTPUT_HEAD);
		if (i % 5 == 0)
			answers(r, p);
	}
	e.out = off;
	SEND(p, call_end(B, k, &e));
	do {
		g = from_frontend(r, MSG_STREAM_END);
	} while (g->req != req);
	ATF_CHECK_EQ(off, g->u.stream_end.offset);
	g = from_store(r, MSG_CALL_DONE);
	ATF_CHECK_EQ(CODE_OK, g->u.call_done.code);
	ATF_CHECK_EQ(0, read(fd, frame, 1));
	close(fd);
	rig_alive(r);
	player_free(p);
	rig_end(r);
}

ATF_TC(slow);
ATF_TC_HEAD(slow, tc)
{
	atf_tc_set_md_var(tc, "descr", "a client that does not read holds up "
	    "no other of its sandbox, and misses nothing");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(slow, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	uint64_t	 k, off = 0, seen = 0;
	int		 fd = -1, i;

	pattern(data, sizeof(data), 9);
	rig_start(r);
	p = boot(r, 1);
	k = ask(r, p);
	/* What the pipe does not take is kept, up to a window. */
	for (; off < 3 * GP_MAX_DATA + GP_WINDOW; off += GP_MAX_DATA) {
		if (off == GP_WINDOW)
			acked(p, k, 3 * GP_MAX_DATA);
		player_send(p, frame, framed(k, off, GP_MAX_DATA));
		if (fd == -1)
			fd = piped(r);
	}
	answers(r, p);
	while (off < sizeof(data)) {
		read_all(r, fd, seen, off - seen);
		acked(p, k, off - GP_MAX_DATA + 1);
		seen = off;
		for (i = 0; i < 3 && off < sizeof(data); i++) {
			player_send(p, frame, framed(k, off, GP_MAX_DATA));
			off += GP_MAX_DATA;
		}
	}
	read_all(r, fd, seen, off - seen);
	close(fd);
	player_free(p);
	rig_end(r);
}

ATF_TC(unread);
ATF_TC_HEAD(unread, tc)
{
	atf_tc_set_md_var(tc, "descr", "a client that goes away in the middle "
	    "of a frame ends its call, and nothing else");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(unread, tc)
{
	struct rig		*r = rig_new();
	struct player		*p;
	struct gp_call_end	 e = { .code = CODE_CANCELLED, .text = "" };
	struct gp_frame		 f;
	struct got		*g;
	uint64_t		 k;
	size_t			 n;
	int			 fd;

	pattern(data, sizeof(data), 11);
	rig_start(r);
	p = boot(r, 1);
	k = ask(r, p);
	n = framed(k, 0, GP_MAX_DATA);
	player_send(p, frame, n / 2);
	fd = piped(r);
	read_all(r, fd, 0, n / 2 - GP_OUTPUT_HEAD);
	close(fd);
	player_send(p, frame + n / 2, n - n / 2);
	player_frame(p, GP_CANCEL, &f);
	ATF_CHECK_EQ(k, f.k);
	g = from_store(r, MSG_CALL_DONE);
	ATF_CHECK_EQ(CODE_CANCELLED, g->u.call_done.code);
	/* What it had said before it heard of that. */
	player_send(p, frame, framed(k, GP_MAX_DATA, GP_MAX_DATA));
	e.out = 2 * GP_MAX_DATA;
	SEND(p, call_end(B, k, &e));
	answers(r, p);
	player_free(p);
	rig_end(r);
}

/* The head alone of a frame that must not come, of call k. */
static void
lie(struct player *p, uint64_t k, uint32_t stream, uint64_t off, size_t len)
{
	struct gp_output m = { stream, off, NULL, len };

	SEND(p, output_head(B, k, &m));
}

ATF_TC(lies);
ATF_TC_HEAD(lies, tc)
{
	atf_tc_set_md_var(tc, "descr", "a guest is cut off by the head alone "
	    "of what it must not send");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(lies, tc)
{
	static const struct {
		uint64_t	 k;
		uint32_t	 stream;
		uint64_t	 off;
	} bad[] = {
		{ 1, GP_STDOUT, 0 },			/* no such call */
		{ 0, GP_STDERR, 0 },
		{ 0, GP_STDOUT, 1 },			/* a gap */
		{ 0, GP_STDOUT, UINT64_MAX - 70000 },
	};
	struct rig	*r = rig_new();
	struct player	*p, *good;
	uint64_t	 k;
	size_t		 i;

	rig_start(r);
	good = boot(r, 1);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		p = boot(r, 2 + i);
		k = ask(r, p);
		lie(p, k + bad[i].k, bad[i].stream, bad[i].off, GP_MAX_DATA);
		(void)from_store(r, MSG_GUEST_BROKE);
		ATF_CHECK(player_eof(p));
		player_free(p);
	}
	/* Beyond the window, by that at the latest. */
	p = boot(r, 2 + i);
	k = ask(r, p);
	for (i = 0; i < GP_WINDOW / GP_MAX_DATA; i++)
		player_send(p, frame, framed(k, i * GP_MAX_DATA,
		    GP_MAX_DATA));
	acked(p, k, 3 * GP_MAX_DATA);
	for (; i < 2 * GP_WINDOW / GP_MAX_DATA; i++)
		player_send(p, frame, framed(k, i * GP_MAX_DATA,
		    GP_MAX_DATA));
	lie(p, k, GP_STDOUT, 2 * GP_WINDOW, GP_MAX_DATA);
	(void)from_store(r, MSG_GUEST_BROKE);
	ATF_CHECK(player_eof(p));
	player_free(p);
	good_exec(r, good, 1);
	player_free(good);
	rig_end(r);
}

ATF_TC(stuck);
ATF_TC_HEAD(stuck, tc)
{
	atf_tc_set_md_var(tc, "descr", "a large frame that does not go on, or "
	    "by crumbs, is half a frame");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(stuck, tc)
{
	struct rig	*r = rig_new();
	struct player	*p, *good;
	struct pollfd	 pfd;
	uint64_t	 k;
	size_t		 n, i;

	runner_hello_s = 3;
	rig_start(r);
	good = boot(r, 1);
	p = boot(r, 2);
	k = ask(r, p);
	n = framed(k, 0, GP_MAX_DATA);
	player_send(p, frame, GP_OUTPUT_HEAD);
	pfd.fd = p->fd;
	pfd.events = 0;
	for (i = GP_OUTPUT_HEAD; i < n && poll(&pfd, 1, 10) == 0; i++)
		player_send(p, frame + i, 1);
	ATF_CHECK_MSG(i < n, "one byte after the other was waited for");
	(void)from_store(r, MSG_GUEST_GONE);
	good_exec(r, good, 1);
	player_free(good);
	player_free(p);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, pieces);
	ATF_TP_ADD_TC(tp, slow);
	ATF_TP_ADD_TC(tp, unread);
	ATF_TP_ADD_TC(tp, lies);
	ATF_TP_ADD_TC(tp, stuck);
	return (atf_no_error());
}
