/*
 * libsandbox and who is at the other end: a daemon of protocol 1.0, one that
 * refuses or dies, and what is no daemon.
 *
 * regress-srcs: libclient.c harness.c
 */

#include <sys/types.h>
#include <sys/socket.h>

#include <atf-c.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libclient.h"

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
	ATF_TP_ADD_TC(tp, no_daemon);
	return (atf_no_error());
}
