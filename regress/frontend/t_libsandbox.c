/*
 * libsandbox against the real frontend: the library runs in a child of the
 * test, the test is store and runner.
 *
 * regress-srcs: harness.c
 */

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "libsandbox.h"
#include "scratch.h"

#define LIB_TEST(name)							\
ATF_TC_WITH_CLEANUP(name);						\
ATF_TC_HEAD(name, tc)							\
{									\
	atf_tc_set_md_var(tc, "require.user", "root");			\
	atf_tc_set_md_var(tc, "timeout", "300");			\
}									\
ATF_TC_CLEANUP(name, tc)						\
{									\
	scratch_remove();						\
}									\
ATF_TC_BODY(name, tc)

/* In the child: what is not so ends it with a status that is not 0. */
#define CHECK(c)	do {						\
	if (!(c))							\
		errx(1, "line %d: %s", __LINE__, #c);			\
} while (0)

static struct fe	 fe;
static char		 dir[64];
static char		 path[128];
static int		 listener = -1;
static pid_t		 child;

static char		 box[] = "box";

/* A file in the test's own directory tells the cleanup where the socket is. */
static void
scratch_make(void)
{
	struct sockaddr_un	 sun;
	FILE			*f;

	scratch_template(dir, sizeof(dir));
	ATF_REQUIRE(mkdtemp(dir) != NULL);
	ATF_REQUIRE((f = fopen("scratch", "w")) != NULL);
	fprintf(f, "%s", dir);
	fclose(f);
	snprintf(path, sizeof(path), "%s/s", dir);
	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	memcpy(sun.sun_path, path, strlen(path));
	ATF_REQUIRE((listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
	    0)) != -1);
	ATF_REQUIRE(bind(listener, (struct sockaddr *)&sun,
	    sizeof(sun)) == 0);
	ATF_REQUIRE(listen(listener, 8) == 0);
}

static void
scratch_remove(void)
{
	FILE	*f;

	if ((f = fopen("scratch", "r")) == NULL)
		return;
	if (fscanf(f, "%63s", dir) == 1) {
		snprintf(path, sizeof(path), "%s/s", dir);
		(void)unlink(path);
		(void)rmdir(dir);
	}
	fclose(f);
}

static struct sandbox *
open_it(void)
{
	struct sandbox_error	 e;
	struct sandbox		*sb;

	if ((sb = sandbox_open(path, "t", &e)) == NULL)
		errx(1, "open: %s", e.text);
	return (sb);
}

static void
child_start(void (*body)(void))
{
	ATF_REQUIRE((child = fork()) != -1);
	if (child == 0) {
		/* Else our copies would keep the frontend's pipes open. */
		close(listener);
		if (fe.pid != 0) {
			close(fe.main.fd);
			close(fe.store.fd);
			close(fe.runner.fd);
		}
		body();
		_exit(0);
	}
}

static void
child_wait(void)
{
	int	 status;

	ATF_REQUIRE(waitpid(child, &status, 0) == child);
	ATF_CHECK_EQ(0, status);
}

/* Its connection, handed to the frontend and greeted; the session. */
static uint64_t
take(void)
{
	struct proto_hello_ok	 ok;
	struct pollfd		 pfd;
	struct frame		 f;
	uint64_t		 session;
	int			 fd;

	pfd.fd = listener;
	pfd.events = POLLIN;
	ATF_REQUIRE(poll(&pfd, 1, WAIT_MS) == 1);
	ATF_REQUIRE((fd = accept(listener, NULL, NULL)) != -1);
	session = fe_client(&fe, 0, fd);
	fe_expect(&fe.store, PROTO_HELLO, &f, NULL);
	memset(&ok, 0, sizeof(ok));
	ok.version = PROTO_VERSION;
	ok.minor = PROTO_MINOR;
	ok.payload = PROTO_MAX_PAYLOAD;
	ok.inflight = CLIENT_INFLIGHT_MAX;
	snprintf(ok.daemon, sizeof(ok.daemon), "9.9");
	fe_send(&fe.store, PROTO_HELLO_OK, session, f.req, -1, &ok);
	fe_end(&fe, session, f.req);
	return (session);
}

static void
send_box(uint64_t session, uint32_t req, const char *id)
{
	struct proto_sandbox	 s;

	memset(&s, 0, sizeof(s));
	snprintf(s.id, sizeof(s.id), "%s", id);
	snprintf(s.state, sizeof(s.state), "ready");
	fe_send(&fe.store, PROTO_SANDBOX, session, req, -1, &s);
}

static void
send_accepted(uint64_t session, uint32_t req, const char *id)
{
	struct proto_accepted	 a;

	memset(&a, 0, sizeof(a));
	snprintf(a.id, sizeof(a.id), "%s", id);
	fe_send(&fe.store, PROTO_ACCEPTED, session, req, -1, &a);
}

static void
send_error(uint64_t session, uint32_t req, const char *code)
{
	struct proto_error	 e;

	memset(&e, 0, sizeof(e));
	snprintf(e.code, sizeof(e.code), "%s", code);
	snprintf(e.text, sizeof(e.text), "because");
	snprintf(e.field, sizeof(e.field), "image");
	fe_send(&fe.store, PROTO_ERROR, session, req, -1, &e);
}

/* --- whole requests ------------------------------------------------- */

static int
count(struct sandbox_answer *a, void *arg)
{
	(void)a;
	++*(int *)arg;
	return (0);
}

/* --- a daemon of 1.0 ------------------------------------------------- */

static void
old_body(void)
{
	struct proto_wait_state	 w;
	struct sandbox		*sb = open_it();
	char			 id[] = "x";

	CHECK(sandbox_hello(sb)->minor == 0);
	CHECK(strcmp(sandbox_hello(sb)->daemon, "0.1.0") == 0);
	memset(&w, 0, sizeof(w));
	w.id = id;
	CHECK(sandbox_send(sb, PROTO_WAIT_STATE, &w, NULL) == -1);
	CHECK(sandbox_error(sb)->code == CODE_UNSUPPORTED);
	CHECK(strcmp(sandbox_error(sb)->text, "wait_state: the daemon is "
	    "sandboxd 0.1.0, which does not know it") == 0);
	CHECK(!sandbox_error(sb)->lost);
	CHECK(sandbox_ping(sb) == 0);
	sandbox_close(sb);
}

/* The next message of the client, which must have this type. */
static void
old_expect(struct imsgbuf *b, uint32_t type, uint32_t *req, void *msg)
{
	struct pollfd	 pfd = { b->fd, POLLIN, 0 };
	struct imsg	 imsg;
	int		 n;

	while ((n = imsgbuf_get(b, &imsg)) == 0) {
		ATF_REQUIRE(poll(&pfd, 1, WAIT_MS) == 1);
		ATF_REQUIRE_EQ(1, imsgbuf_read(b));
	}
	ATF_REQUIRE_EQ(1, n);
	ATF_REQUIRE_EQ(type, imsg_get_type(&imsg));
	*req = imsg_get_id(&imsg);
	if (msg != NULL)
		ATF_REQUIRE(msg_decode_map(msg, proto_def(type),
		    ibuf_data(imsg.buf), ibuf_size(imsg.buf), NULL,
		    NULL) == 0);
	imsg_free(&imsg);
}

static void
old_send(struct imsgbuf *b, uint32_t type, uint32_t req, const void *msg)
{
	msgpack_sbuffer	 sb;

	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_map_first(&sb, proto_def(type), msg,
	    proto_fields(type, 0)) == 0);
	ATF_REQUIRE(imsg_compose(b, type, req, 0, -1, sb.data,
	    sb.size) == 1);
	msgpack_sbuffer_destroy(&sb);
	ATF_REQUIRE(imsgbuf_flush(b) == 0);
}

LIB_TEST(old_daemon)
{
	struct proto_hello_ok	 ok;
	struct proto_hello	 h;
	struct proto_error	 e;
	struct proto_end	 end = { 0 };
	struct imsgbuf		 b;
	uint32_t		 req;
	int			 fd;

	scratch_make();
	child_start(old_body);
	ATF_REQUIRE((fd = accept(listener, NULL, NULL)) != -1);
	ATF_REQUIRE(imsgbuf_init(&b, fd) == 0);
	old_expect(&b, PROTO_HELLO, &req, &h);
	ATF_CHECK_EQ(PROTO_MINOR, h.minor);
	memset(&e, 0, sizeof(e));
	strlcpy(e.code, "invalid_argument", sizeof(e.code));
	strlcpy(e.text, "invalid hello: unknown field: minor",
	    sizeof(e.text));
	old_send(&b, PROTO_ERROR, req, &e);
	old_expect(&b, PROTO_HELLO, &req, &h);
	ATF_CHECK_EQ(PROTO_VERSION, h.version);
	ATF_CHECK_EQ(0, h.minor);
	memset(&ok, 0, sizeof(ok));
	ok.version = PROTO_VERSION;
	ok.payload = PROTO_MAX_PAYLOAD;
	strlcpy(ok.daemon, "0.1.0", sizeof(ok.daemon));
	old_send(&b, PROTO_HELLO_OK, req, &ok);
	old_send(&b, PROTO_END, req, &end);
	/* What it does not know is not even sent. */
	old_expect(&b, PROTO_PING, &req, NULL);
	old_send(&b, PROTO_END, req, &end);
	child_wait();
	imsgbuf_clear(&b);
	close(fd);
}

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

/* --- bytes ---------------------------------------------------------- */

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

static int
input(const char *text)
{
	int	 p[2];

	CHECK(pipe(p) == 0);
	CHECK(write(p[1], text, strlen(text)) == (ssize_t)strlen(text));
	close(p[1]);
	return (p[0]);
}

/* The end of a pipe for the client; our end. */
static int
send_stream(uint64_t session, uint32_t req, uint32_t stream, uint64_t offset)
{
	struct proto_stream	 s;
	int			 p[2], in = stream == 0;

	ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
	memset(&s, 0, sizeof(s));
	s.stream = stream;
	s.offset = offset;
	snprintf(s.exec, sizeof(s.exec), "box.1");
	fe_send(&fe.runner, PROTO_STREAM, session, req, p[in], &s);
	return (p[!in]);
}

static void
send_out(int fd, const char *text)
{
	ATF_REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

/* The same, and the client has read it. */
static void
send_taken(int fd, const char *text)
{
	int	 i, n = 1;

	send_out(fd, text);
	for (i = 0; n != 0 && i < WAIT_MS; i++) {
		ATF_REQUIRE(ioctl(fd, FIONREAD, &n) == 0);
		usleep(n == 0 ? 0 : 1000);
	}
	ATF_REQUIRE_EQ(0, n);
}

static void
expect_in(int fd, const char *text)
{
	struct pollfd	 pfd = { fd, POLLIN, 0 };
	char		 buf[256] = "";
	size_t		 len = 0;
	ssize_t		 n;

	while (len < strlen(text)) {
		ATF_REQUIRE(poll(&pfd, 1, WAIT_MS) == 1);
		n = read(fd, buf + len, sizeof(buf) - len);
		ATF_REQUIRE(n > 0);
		len += n;
	}
	ATF_REQUIRE_EQ(strlen(text), len);
	ATF_REQUIRE(memcmp(buf, text, len) == 0);
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

/* --- who is no daemon ----------------------------------------------- */

static void
refused_body(void)
{
	struct sandbox_error	 e;

	CHECK(sandbox_open(path, NULL, &e) == NULL);
	CHECK(e.code == CODE_UNAVAILABLE && strcmp(e.text, "because") == 0);
	CHECK(sandbox_open(path, NULL, &e) == NULL);
	CHECK(e.code == CODE_PROTOCOL);
	CHECK(sandbox_open(path, NULL, &e) == NULL);
	CHECK(e.code == CODE_UNAVAILABLE && e.lost);
}

LIB_TEST(no_daemon)
{
	struct sandbox_error	 e;
	struct proto_error	 m;
	struct imsgbuf		 b;
	msgpack_sbuffer		 sb;
	char			 longpath[200];
	int			 fd;

	ATF_CHECK(sandbox_open("/tmp/sbx.none/s", NULL, &e) == NULL);
	ATF_CHECK_EQ(CODE_UNAVAILABLE, e.code);
	ATF_CHECK(strstr(e.text, "/tmp/sbx.none/s") != NULL);
	memset(longpath, 'x', sizeof(longpath) - 1);
	longpath[sizeof(longpath) - 1] = '\0';
	ATF_CHECK(sandbox_open(longpath, NULL, &e) == NULL);
	ATF_CHECK_EQ(CODE_INVALID_ARGUMENT, e.code);

	scratch_make();
	child_start(refused_body);
	/* As one who reads nothing: an error without a number, and gone. */
	ATF_REQUIRE((fd = accept(listener, NULL, NULL)) != -1);
	memset(&m, 0, sizeof(m));
	snprintf(m.code, sizeof(m.code), "unavailable");
	snprintf(m.text, sizeof(m.text), "because");
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_map(&sb, proto_def(PROTO_ERROR), &m) == 0);
	imsgbuf_init(&b, fd);
	ATF_REQUIRE(imsg_compose(&b, PROTO_ERROR, 0, 0, -1, sb.data,
	    sb.size) == 1);
	ATF_REQUIRE(imsgbuf_flush(&b) == 0);
	imsgbuf_clear(&b);
	msgpack_sbuffer_destroy(&sb);
	close(fd);
	/* Another kind of server. */
	ATF_REQUIRE((fd = accept(listener, NULL, NULL)) != -1);
	ATF_REQUIRE(write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28) == 28);
	ATF_REQUIRE(shutdown(fd, SHUT_WR) == 0);
	while (read(fd, longpath, sizeof(longpath)) > 0)
		;
	close(fd);
	/* One that dies. */
	ATF_REQUIRE((fd = accept(listener, NULL, NULL)) != -1);
	close(fd);
	child_wait();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, old_daemon);
	ATF_TP_ADD_TC(tp, calls);
	ATF_TP_ADD_TC(tp, in_flight);
	ATF_TP_ADD_TC(tp, events);
	ATF_TP_ADD_TC(tp, run);
	ATF_TP_ADD_TC(tp, end_refused);
	ATF_TP_ADD_TC(tp, comes_back);
	ATF_TP_ADD_TC(tp, import);
	ATF_TP_ADD_TC(tp, no_daemon);
	return (atf_no_error());
}
