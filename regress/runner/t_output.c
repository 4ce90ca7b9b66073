/*
 * Output: exact in the log and in the pipes, whoever reads and however slow.
 *
 * regress-srcs: harness.c
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define BOTH	(1 << GP_STDOUT | 1 << GP_STDERR)

static void
same(const struct buf *b, const uint8_t *data, size_t len)
{
	ATF_REQUIRE_EQ(len, b->len);
	ATF_REQUIRE(len == 0 || memcmp(b->data, data, len) == 0);
}

/* The bytes that are there are right, and the rest is gap. */
static void
same_but_gaps(const struct buf *b, const uint8_t *data, size_t len,
    uint64_t gaps)
{
	size_t	 i, diff = 0;

	ATF_REQUIRE_EQ(len, b->len);
	for (i = 0; i < len; i++)
		if (b->data[i] != data[i]) {
			ATF_REQUIRE_EQ(GAP_BYTE, b->data[i]);
			diff++;
		}
	ATF_REQUIRE(diff <= gaps);
}

static struct player *
running(struct rig *r, uint64_t n, uint32_t flags)
{
	struct player	*p = boot(r, n);
	struct gp_start	 s;
	struct gp_frame	 f;

	start_exec(r, n, 1, flags, 0);
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(1, f.k);
	ATF_REQUIRE_EQ(0, gp_decode_start(&s, &f));
	ATF_REQUIRE_EQ(3, s.argc);
	ATF_REQUIRE_EQ(2, s.envc);
	ATF_REQUIRE_EQ(11, s.argslen);
	ATF_REQUIRE_STREQ("/tmp", s.dir);
	ATF_REQUIRE_STREQ("HOME=/workspace", s.env);
	ATF_REQUIRE_STREQ("EMPTY=", s.env + 16);
	player_started(p, 1, 77);
	ATF_REQUIRE_EQ(77, from_store(r, MSG_STARTED)->u.started.pid);
	return (p);
}

ATF_TC_WITHOUT_HEAD(attached);
ATF_TC_BODY(attached, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_frame	 f;
	struct msg_ended e;
	struct buf	 out = { 0 }, err = { 0 };
	struct stat	 st;
	uint8_t		 all[256];
	uint64_t	 gaps;
	uint32_t	 req, i;

	rig_start(r);
	p = running(r, 3, EXEC_ATTACH);
	req = r->req;
	for (i = 0; i < 256; i++)
		all[i] = i;
	player_output(p, 1, GP_STDOUT, 0, all, 100);
	player_output(p, 1, GP_STDERR, 0, "error", 5);
	player_output(p, 1, GP_STDOUT, 100, all + 100, 156);
	player_exit(p, 1, 3, 256, 5);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	same(&out, all, 256);
	read_stream(r, req, GP_STDERR, &err, &gaps);
	same(&err, (const uint8_t *)"error", 5);
	e = from_store(r, MSG_ENDED)->u.ended;
	ATF_REQUIRE_EQ(3, e.n);
	ATF_REQUIRE_EQ(1, e.k);
	ATF_REQUIRE_EQ(END_EXITED, e.kind);
	ATF_REQUIRE_EQ(3, e.code);
	ATF_REQUIRE_EQ(256, e.length1);
	ATF_REQUIRE_EQ(5, e.length2);
	ATF_REQUIRE_EQ(0, e.dropped1 + e.dropped2);
	ATF_REQUIRE(e.ended >= e.started && e.started > 0);
	forget_exec(r, 3, 1);
	player_frame(p, GP_FORGET, &f);
	/* The log stays, for its owner alone. */
	ATF_REQUIRE_EQ(0, stat(rig_path(r, "log/%d/3/1.1", OWNER), &st));
	ATF_REQUIRE_EQ(256, st.st_size);
	ATF_REQUIRE_EQ(0600, st.st_mode & 07777);
	ATF_REQUIRE_EQ(r->uid, st.st_uid);
	/* And is read again, from any byte. */
	out.len = err.len = 0;
	req = read_exec(r, MSG_READ, 3, 1, BOTH, 0, 0, &e);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	read_stream(r, req, GP_STDERR, &err, &gaps);
	same(&out, all, 256);
	same(&err, (const uint8_t *)"error", 5);
	out.len = 200;
	req = read_exec(r, MSG_READ, 3, 1, 1 << GP_STDOUT, 200, 0, &e);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE_EQ(0, memcmp(out.data, all, 256));
	player_free(p);
	rig_end(r);
}

ATF_TC_WITHOUT_HEAD(silent);
ATF_TC_BODY(silent, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct got	*g;

	rig_start(r);
	p = running(r, 1, EXEC_ATTACH);
	player_exit(p, 1, 0, 0, 0);
	(void)from_store(r, MSG_ENDED);
	/* Two ends, no pipe, no file. */
	g = from_frontend(r, MSG_STREAM_END);
	ATF_REQUIRE_EQ(GP_STDOUT, g->u.stream_end.stream);
	ATF_REQUIRE_EQ(0, g->u.stream_end.offset);
	g = from_frontend(r, MSG_STREAM_END);
	ATF_REQUIRE_EQ(GP_STDERR, g->u.stream_end.stream);
	none_frontend(r, PROTO_STREAM);
	ATF_REQUIRE(access(rig_path(r, "log/%d", OWNER), F_OK) == -1);
	/* One that could not be started has its ends as well. */
	start_exec(r, 1, 2, EXEC_ATTACH | EXEC_MERGE, 0);
	{
		struct gp_not_started	 ns = { GP_NS_NOENT, 2 };
		struct gp_frame		 f;
		uint8_t			 b[64];

		player_frame(p, GP_START, &f);
		player_send(p, b, gp_encode_not_started(b, sizeof(b), 2,
		    &ns));
	}
	g = from_store(r, MSG_NOT_STARTED);
	ATF_REQUIRE_EQ(2, g->u.not_started.errnum);
	ATF_REQUIRE_EQ(GP_NS_NOENT, g->u.not_started.cause);
	ATF_REQUIRE_STREQ("no such file", g->u.not_started.text);
	g = from_frontend(r, MSG_STREAM_END);
	ATF_REQUIRE_EQ(r->req, g->req);
	ATF_REQUIRE_EQ(GP_STDOUT, g->u.stream_end.stream);
	none_frontend(r, MSG_STREAM_END);
	player_free(p);
	rig_end(r);
}

/* Readers who do not read hold pipes here: an owner has so many. */
ATF_TC_WITHOUT_HEAD(many_readers);
ATF_TC_BODY(many_readers, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct got	*g;
	uint32_t	 i, req = 0;

	rig_start(r);
	p = running(r, 1, 0);
	for (i = 0; i < 513; i++)
		req = read_exec(r, MSG_READ, 1, 1, 1 << GP_STDOUT, 0, 0,
		    NULL);
	rig_alive(r);
	player_output(p, 1, GP_STDOUT, 0, "x", 1);
	for (i = 0; i < 512; i++)
		(void)from_frontend(r, PROTO_STREAM);
	/* The last of them gets none. */
	g = from_store(r, MSG_RUNNER_ERROR);
	ATF_REQUIRE_EQ(req, g->req);
	ATF_REQUIRE_EQ(CODE_UNAVAILABLE, g->u.result.code);
	g = from_frontend(r, MSG_STREAM_END);
	ATF_REQUIRE_EQ(req, g->req);
	/* The session's end gives them back. */
	say(r, MSG_SESSION_GONE, SESSION, 0, NULL);
	(void)read_exec(r, MSG_READ, 1, 1, 1 << GP_STDOUT, 0, 0, NULL);
	(void)from_frontend(r, PROTO_STREAM);
	player_free(p);
	rig_end(r);
}

/* Far more than the bound: the head, a gap that is told, the tail. */
ATF_TC_WITHOUT_HEAD(gap);
ATF_TC_BODY(gap, tc)
{
	const size_t	 len = 3 << 20;
	struct rig	*r = rig_new();
	struct player	*p;
	struct msg_ended e;
	struct buf	 out = { 0 };
	uint8_t		*data = malloc(len);
	uint64_t	 gaps, acked = 0, at = 0, part;
	uint32_t	 req;

	pattern(data, len, 1);
	r->conf.log_exec = 512 * 1024;
	part = r->conf.log_exec / 8;
	rig_start(r);
	p = running(r, 1, 0);
	ATF_REQUIRE_EQ(0, player_stream(p, 1, GP_STDOUT, data, &at, len, &acked,
	    60000));
	/* A reader of the running exec that comes now, and follows. */
	req = read_exec(r, MSG_READ, 1, 1, 1 << GP_STDOUT, 0, 0, NULL);
	player_exit(p, 1, 0, len, 0);
	e = from_store(r, MSG_ENDED)->u.ended;
	ATF_REQUIRE_EQ(len, e.length1);
	ATF_REQUIRE(e.dropped1 >= len - r->conf.log_exec);
	ATF_REQUIRE(e.dropped1 <= len - r->conf.log_exec + part);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE_EQ(e.dropped1, gaps);
	same_but_gaps(&out, data, len, gaps);
	ATF_REQUIRE_EQ(0, memcmp(out.data, data, part));
	forget_exec(r, 1, 1);
	out.len = 0;
	req = read_exec(r, MSG_READ, 1, 1, 1 << GP_STDOUT, 0, 0, &e);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE_EQ(e.dropped1, gaps);
	same_but_gaps(&out, data, len, gaps);
	/* Gone with everything, its segments too. */
	ref_exec(r, MSG_LOG_REMOVE, 1, 1, 0, 0);
	rig_alive(r);
	ATF_REQUIRE_EQ(0, rmdir(rig_path(r, "log/%d/1", OWNER)));
	player_free(p);
	rig_end(r);
	free(data);
}

/* Who reads slowly, and is not the one it was started for, harms nobody. */
ATF_TC_WITHOUT_HEAD(slow_reader);
ATF_TC_BODY(slow_reader, tc)
{
	const size_t	 len = 4 << 20;
	struct rig	*r = rig_new();
	struct player	*p;
	struct buf	 slow = { 0 }, fast = { 0 };
	uint8_t		*data = malloc(len);
	uint64_t	 gaps, acked = 0, at = 10;
	uint32_t	 slow_req, req;

	pattern(data, len, 2);
	r->conf.log_exec = 1 << 20;
	rig_start(r);
	p = running(r, 1, 0);
	player_output(p, 1, GP_STDOUT, 0, data, 10);
	slow_req = read_exec(r, MSG_READ, 1, 1, 1 << GP_STDOUT, 0, 0, NULL);
	ATF_REQUIRE_EQ(0, player_stream(p, 1, GP_STDOUT, data, &at, len,
	    &acked, 60000));
	player_exit(p, 1, 0, len, 0);
	(void)from_store(r, MSG_ENDED);
	/* Others are served meanwhile. */
	start_exec(r, 1, 2, EXEC_ATTACH, 0);
	req = r->req;
	{
		struct gp_frame	 f;

		player_frame(p, GP_START, &f);
	}
	player_output(p, 2, GP_STDOUT, 0, data, 1000);
	player_exit(p, 2, 0, 1000, 0);
	read_stream(r, req, GP_STDOUT, &fast, &gaps);
	same(&fast, data, 1000);
	read_stream(r, slow_req, GP_STDOUT, &slow, &gaps);
	ATF_REQUIRE(gaps > 0);
	same_but_gaps(&slow, data, len, gaps);
	player_free(p);
	rig_end(r);
	free(data);
}

/* The one it was started for loses nothing: the command waits. */
ATF_TC_WITHOUT_HEAD(primary);
ATF_TC_BODY(primary, tc)
{
	const size_t	 len = 8 << 20;
	struct rig	*r = rig_new();
	struct player	*p, *other;
	struct buf	 out = { 0 };
	struct gp_frame	 f;
	uint8_t		*data = malloc(len);
	uint64_t	 gaps, acked = 0, at = 0;
	uint32_t	 req;
	pid_t		 pid;

	pattern(data, len, 3);
	r->conf.log_exec = 512 * 1024;
	rig_start(r);
	p = running(r, 1, EXEC_ATTACH);
	req = r->req;
	/* Nobody reads: after a pipe and a window there is no more credit. */
	ATF_REQUIRE_EQ(-1, player_stream(p, 1, GP_STDOUT, data, &at, len,
	    &acked, 300));
	ATF_REQUIRE(acked <= 2 * GP_WINDOW);
	/* Another sandbox does not notice. */
	other = boot(r, 2);
	start_exec(r, 2, 1, 0, 0);
	player_frame(other, GP_START, &f);
	player_exit(other, 1, 0, 0, 0);
	ATF_REQUIRE_EQ(2, from_store(r, MSG_ENDED)->u.ended.n);
	/* A guest in a process of its own, so that we can read. */
	fflush(NULL);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		if (player_stream(p, 1, GP_STDOUT, data, &at, len, &acked,
		    60000) == -1)
			_exit(1);
		player_exit(p, 1, 0, len, 0);
		_exit(0);
	}
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE_EQ(0, gaps);
	same(&out, data, len);
	ATF_REQUIRE(from_store(r, MSG_ENDED)->u.ended.dropped1 > 0);
	player_free(other);
	player_free(p);
	rig_end(r);
	free(data);
}

/* Not for ever: then he is told, and the command goes on. */
ATF_TC_WITHOUT_HEAD(stalled);
ATF_TC_BODY(stalled, tc)
{
	const size_t	 len = 2 << 20;
	struct rig	*r = rig_new();
	struct player	*p;
	struct buf	 out = { 0 };
	struct got	*g;
	uint8_t		*data = malloc(len);
	uint64_t	 gaps, acked = 0, at = 0;
	uint32_t	 req;

	pattern(data, len, 4);
	r->conf.t_stall = 200;
	rig_start(r);
	p = running(r, 1, EXEC_ATTACH);
	req = r->req;
	ATF_REQUIRE_EQ(0, player_stream(p, 1, GP_STDOUT, data, &at, len, &acked,
	    60000));
	player_exit(p, 1, 0, len, 0);
	g = from_frontend(r, PROTO_STALLED);
	ATF_REQUIRE_EQ(GP_STDOUT, g->u.stalled.stream);
	ATF_REQUIRE_EQ(req, g->req);
	/* The log's bound was not reached: nothing is lost. */
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE_EQ(0, gaps);
	same(&out, data, len);
	player_free(p);
	rig_end(r);
	free(data);
}

/* Clients that go away or close their pipe, in the middle. */
ATF_TC_WITHOUT_HEAD(client_gone);
ATF_TC_BODY(client_gone, tc)
{
	const size_t	 len = 2 << 20;
	struct rig	*r = rig_new();
	struct player	*p;
	struct buf	 out = { 0 };
	struct got	*g;
	uint8_t		*data = malloc(len);
	uint64_t	 gaps, acked = 0, at = 100;
	uint32_t	 req;

	pattern(data, len, 5);
	rig_start(r);
	p = running(r, 1, EXEC_ATTACH);
	player_output(p, 1, GP_STDOUT, 0, data, 100);
	g = from_frontend(r, PROTO_STREAM);
	ATF_REQUIRE_EQ(GP_STDOUT, g->u.stream.stream);
	close(g->fd);
	g->fd = -1;
	ATF_REQUIRE_EQ(0, player_stream(p, 1, GP_STDOUT, data, &at, len / 2,
	    &acked, 60000));
	g = from_frontend(r, MSG_STREAM_END);
	ATF_REQUIRE_EQ(GP_STDOUT, g->u.stream_end.stream);
	/* He is back, as the primary reader, at his byte; and gone again. */
	req = read_exec(r, MSG_REATTACH, 1, 1, BOTH, 100, 0, NULL);
	ATF_REQUIRE_EQ(-1, player_stream(p, 1, GP_STDOUT, data, &at, len,
	    &acked, 300));
	say(r, MSG_SESSION_GONE, SESSION, 0, NULL);
	ATF_REQUIRE_EQ(0, player_stream(p, 1, GP_STDOUT, data,
	    &at, len, &acked, 60000));
	/* The third time he reads it all. */
	req = read_exec(r, MSG_REATTACH, 1, 1, BOTH, 0, 0, NULL);
	player_exit(p, 1, 0, len, 0);
	(void)from_store(r, MSG_ENDED);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	same(&out, data, len);
	player_free(p);
	rig_end(r);
	free(data);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, attached);
	ATF_TP_ADD_TC(tp, silent);
	ATF_TP_ADD_TC(tp, many_readers);
	ATF_TP_ADD_TC(tp, gap);
	ATF_TP_ADD_TC(tp, slow_reader);
	ATF_TP_ADD_TC(tp, primary);
	ATF_TP_ADD_TC(tp, stalled);
	ATF_TP_ADD_TC(tp, client_gone);
	return (atf_no_error());
}
