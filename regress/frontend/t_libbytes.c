/*
 * The bytes of libsandbox: input and output of commands, gaps, what is
 * refused, the way back after a restart, archives.
 *
 * regress-srcs: libclient.c harness.c
 */

#include <sys/types.h>

#include <atf-c.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libclient.h"

struct got {
	char	 text[1024];
	size_t	 len;
};

static int
got_out(void *arg, int stream, const void *data, size_t len)
{
	struct got	*g = arg;
	size_t		 i;

	CHECK(g->len + 2 * len < sizeof(g->text));
	for (i = 0; i < len; i++) {
		g->text[g->len++] = '0' + stream;
		g->text[g->len++] = ((const char *)data)[i];
	}
	return (0);
}

static void
got_note(void *arg, const struct sandbox_answer *a)
{
	struct got	*g = arg;

	if (a->type == PROTO_GAP)
		g->len += snprintf(g->text + g->len,
		    sizeof(g->text) - g->len, "<%llu-%llu>",
		    (unsigned long long)a->u.gap.from,
		    (unsigned long long)a->u.gap.to);
	else if (a->type == PROTO_ACCEPTED)
		g->len += snprintf(g->text + g->len,
		    sizeof(g->text) - g->len, "!");
}

static int
run_cmd(struct sandbox *sb, int in, struct got *g,
    struct proto_exec_info *info)
{
	struct proto_exec	 x;
	struct sandbox_io	 io;
	int			 ret;

	memset(&x, 0, sizeof(x));
	memset(&io, 0, sizeof(io));
	memset(g, 0, sizeof(*g));
	memset(info, 0, sizeof(*info));
	x.sandbox = box;
	CHECK(strv_add(&x.argv, "cmd") == 0);
	io.in = in;
	io.out = got_out;
	io.note = got_note;
	io.wakefd = -1;
	io.arg = g;
	io.again = WAIT_MS;
	ret = sandbox_run(sb, &x, &io, info);
	strv_clear(&x.argv);
	return (ret);
}

static void
run_with(int in, const char *want)
{
	struct proto_exec_info	 info;
	struct got		 g;
	struct sandbox		*sb = open_it();

	if (run_cmd(sb, in, &g, &info) == -1)
		errx(1, "run: %s", sandbox_error(sb)->text);
	CHECK(strcmp(info.state, "exited") == 0 && info.code == 7);
	msg_clear(&info, proto_def(PROTO_EXEC_INFO));
	g.text[g.len] = '\0';
	if (strcmp(g.text, want) != 0)
		errx(1, "\"%s\" came, not \"%s\"", g.text, want);
	sandbox_close(sb);
}

static void
send_exited(uint64_t session, uint32_t req)
{
	struct proto_exec_info	 info;

	memset(&info, 0, sizeof(info));
	snprintf(info.id, sizeof(info.id), "box.1");
	snprintf(info.state, sizeof(info.state), "exited");
	info.code = 7;
	fe_send(&fe.store, PROTO_EXEC_INFO, session, req, -1, &info);
	fe_end(&fe, session, req);
	fe_stream_end(&fe, session, req, 1);
	fe_stream_end(&fe, session, req, 2);
}

static void
expect_end(uint64_t session, uint64_t total)
{
	struct proto_input_end	 end;
	struct frame		 f;

	fe_expect(&fe.store, PROTO_INPUT_END, &f, &end);
	ATF_CHECK_STREQ("box.1", end.exec);
	ATF_CHECK_EQ(total, end.total);
	msg_clear(&end, proto_def(PROTO_INPUT_END));
	fe_end(&fe, session, f.req);
}

/* The word that it was all is refused. */
static void
refuse_end(uint64_t session, const char *code)
{
	struct proto_error	 e;
	struct frame		 f;

	fe_expect(&fe.store, PROTO_INPUT_END, &f, NULL);
	memset(&e, 0, sizeof(e));
	snprintf(e.code, sizeof(e.code), "%s", code);
	snprintf(e.text, sizeof(e.text), "not now");
	fe_send(&fe.store, PROTO_ERROR, session, f.req, -1, &e);
}

static void
run_body(void)
{
	run_with(input("hello"), "!1a1b<2-10>1c");
}

/* Input to its end, output with a gap in its place. */
LIB_TEST(run)
{
	struct proto_input_ack	 ack = { 5 };
	struct proto_gap	 gap = { 1, 2, 10 };
	struct proto_exec	 x;
	struct frame		 f;
	uint64_t		 s;
	uint32_t		 req;
	int			 in, out;

	scratch_make();
	fe_start(&fe);
	child_start(run_body);
	s = take();
	fe_expect(&fe.store, PROTO_EXEC, &f, &x);
	ATF_CHECK_EQ(EXEC_ATTACH | EXEC_INPUT, x.flags);
	msg_clear(&x, proto_def(PROTO_EXEC));
	req = f.req;
	send_accepted(s, req, "box.1");
	in = send_stream(s, req, 0, 0);
	expect_in(in, "hello");
	fe_send(&fe.runner, PROTO_INPUT_ACK, s, req, -1, &ack);
	/* Without its end the command would read for ever. */
	refuse_end(s, "unavailable");
	expect_end(s, 5);
	out = send_stream(s, req, 1, 0);
	send_out(out, "ab");
	close(out);
	fe_send(&fe.runner, PROTO_GAP, s, req, -1, &gap);
	out = send_stream(s, req, 1, 10);
	send_out(out, "c");
	close(out);
	send_exited(s, req);
	close(in);
	child_wait();
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

static void
end_refused_body(void)
{
	struct proto_exec_info	 info;
	struct got		 g;
	struct sandbox		*sb = open_it();

	CHECK(run_cmd(sb, input("hello"), &g, &info) == -1);
	CHECK(sandbox_error(sb)->code == CODE_PERMISSION_DENIED);
	CHECK(strcmp(sandbox_error(sb)->text, "not now") == 0);
	sandbox_close(sb);
}

/* What will not be told later is an error, not a command that never ends. */
LIB_TEST(end_refused)
{
	struct frame	 f;
	uint64_t	 s;
	uint32_t	 req;
	int		 in;

	scratch_make();
	fe_start(&fe);
	child_start(end_refused_body);
	s = take();
	fe_expect(&fe.store, PROTO_EXEC, &f, NULL);
	req = f.req;
	send_accepted(s, req, "box.1");
	in = send_stream(s, req, 0, 0);
	expect_in(in, "hello");
	refuse_end(s, "permission_denied");
	child_wait();
	close(in);
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

static void
again_body(void)
{
	run_with(input("0123456789"), "!1a1b1c1d");
}

/* The daemon restarts: each byte once, and what was not taken again. */
LIB_TEST(comes_back)
{
	struct proto_input_ack	 ack = { 4 };
	struct proto_attach	 at;
	struct frame		 f;
	uint64_t		 s;
	uint32_t		 req;
	int			 in, out;

	scratch_make();
	fe_start(&fe);
	child_start(again_body);
	s = take();
	fe_expect(&fe.store, PROTO_EXEC, &f, NULL);
	req = f.req;
	send_accepted(s, req, "box.1");
	in = send_stream(s, req, 0, 0);
	expect_in(in, "0123456789");
	expect_end(s, 10);
	fe_send(&fe.runner, PROTO_INPUT_ACK, s, req, -1, &ack);
	out = send_stream(s, req, 1, 0);
	send_taken(out, "ab");
	close(out);
	close(in);
	chan_clear(&fe.store);
	ATF_CHECK_EQ(0, fe_wait(&fe));

	fe_start(&fe);
	s = take();
	fe_expect(&fe.store, PROTO_ATTACH, &f, &at);
	ATF_CHECK_STREQ("box.1", at.exec);
	ATF_CHECK_EQ(2, at.offset1);
	ATF_CHECK_EQ(0, at.offset2);
	ATF_CHECK_EQ(6, at.streams & 6);
	msg_clear(&at, proto_def(PROTO_ATTACH));
	req = f.req;
	/* It may have heard that the end was taken, or not. */
	if (at.streams & 1) {
		in = send_stream(s, req, 0, 4);
		expect_in(in, "456789");
		expect_end(s, 10);
		close(in);
	}
	out = send_stream(s, req, 1, 2);
	send_out(out, "cd");
	close(out);
	send_exited(s, req);
	child_wait();
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

/*
 * The daemon restarts when all of the input had been taken, but not the word
 * that it was all: that is said again, though there is nothing to be written.
 */
LIB_TEST(end_again)
{
	struct proto_input_ack	 ack = { 10 };
	struct frame		 f;
	uint64_t		 s;
	uint32_t		 req;
	int			 in, out;

	scratch_make();
	fe_start(&fe);
	child_start(again_body);
	s = take();
	fe_expect(&fe.store, PROTO_EXEC, &f, NULL);
	req = f.req;
	send_accepted(s, req, "box.1");
	in = send_stream(s, req, 0, 0);
	expect_in(in, "0123456789");
	fe_send(&fe.runner, PROTO_INPUT_ACK, s, req, -1, &ack);
	fe_expect(&fe.store, PROTO_INPUT_END, &f, NULL);
	out = send_stream(s, req, 1, 0);
	send_taken(out, "ab");
	close(out);
	close(in);
	chan_clear(&fe.store);
	ATF_CHECK_EQ(0, fe_wait(&fe));

	fe_start(&fe);
	s = take();
	fe_expect(&fe.store, PROTO_ATTACH, &f, NULL);
	req = f.req;
	in = send_stream(s, req, 0, 10);
	expect_end(s, 10);
	close(in);
	out = send_stream(s, req, 1, 2);
	send_out(out, "cd");
	close(out);
	send_exited(s, req);
	child_wait();
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

static void
import_body(void)
{
	struct proto_image	 image;
	struct sandbox		*sb = open_it();

	memset(&image, 0, sizeof(image));
	CHECK(sandbox_image_import(sb, "base", input("archive"),
	    &image) == 0);
	CHECK(strcmp(image.id, "sha256:1") == 0);
	CHECK(sandbox_image_import(sb, "base", input("x"), &image) == -1);
	CHECK(sandbox_error(sb)->code == CODE_PERMISSION_DENIED);
	/* Nobody reads it: the answer tells why, and no signal kills us. */
	CHECK(sandbox_image_import(sb, "base", input("y"), &image) == -1);
	CHECK(sandbox_error(sb)->code == CODE_ENGINE_ERROR);
	sandbox_close(sb);
}

LIB_TEST(import)
{
	struct proto_stream	 st;
	struct proto_image	 image;
	struct frame		 f;
	uint64_t		 s;
	char			 buf[8];
	int			 p[2];

	scratch_make();
	fe_start(&fe);
	child_start(import_body);
	s = take();
	memset(&st, 0, sizeof(st));
	memset(&image, 0, sizeof(image));
	snprintf(image.name, sizeof(image.name), "base");
	snprintf(image.id, sizeof(image.id), "sha256:1");
	fe_expect(&fe.store, PROTO_IMAGE_IMPORT, &f, NULL);
	ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
	fe_send(&fe.store, PROTO_STREAM, s, f.req, p[1], &st);
	expect_in(p[0], "archive");
	ATF_CHECK_EQ(0, read(p[0], buf, sizeof(buf)));
	close(p[0]);
	fe_send(&fe.store, PROTO_IMAGE, s, f.req, -1, &image);
	fe_end(&fe, s, f.req);
	fe_expect(&fe.store, PROTO_IMAGE_IMPORT, &f, NULL);
	send_error(s, f.req, "permission_denied");
	fe_expect(&fe.store, PROTO_IMAGE_IMPORT, &f, NULL);
	ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
	close(p[0]);
	fe_send(&fe.store, PROTO_STREAM, s, f.req, p[1], &st);
	send_error(s, f.req, "engine_error");
	child_wait();
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, run);
	ATF_TP_ADD_TC(tp, end_refused);
	ATF_TP_ADD_TC(tp, comes_back);
	ATF_TP_ADD_TC(tp, end_again);
	ATF_TP_ADD_TC(tp, import);
	return (atf_no_error());
}
