/* The frontend between a test's own parent, store, runner and clients. */

#include <sys/types.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "proc.h"

#define UID_NOBODY	65534

int	 fe_small;

void
root_head(atf_tc_t *tc, const char *descr)
{
	if (*descr != '\0')
		atf_tc_set_md_var(tc, "descr", "%s", descr);
	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "timeout", "300");
}

static void
pair(int fds[2])
{
	int	 i, one = 1;	/* the kernel makes it the least there is */

	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds) == 0);
	for (i = 0; fe_small && i < 2; i++)
		ATF_REQUIRE(setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &one,
		    sizeof(one)) == 0);
}

static void
wait_readable(int fd)
{
	struct pollfd	 pfd = { fd, POLLIN, 0 };
	int		 n;

	while ((n = poll(&pfd, 1, WAIT_MS)) == -1 && errno == EINTR)
		;
	if (n != 1)
		atf_tc_fail("nothing came in %d ms", WAIT_MS);
}

/* The next frame, within the deadline; 0 at the end. */
static int
next(struct chan *ch, struct frame *f)
{
	int	 n;

	for (;;) {
		n = chan_get(ch, f);
		ATF_REQUIRE_MSG(n != -1, "bad frame from the frontend");
		if (n == 1)
			return (1);
		wait_readable(ch->fd);
		n = chan_read(ch);
		ATF_REQUIRE(n != -1);
		if (n == 0)
			return (0);
	}
}

void
fe_send(struct chan *ch, uint32_t type, uint64_t session, uint32_t req,
    int fd, const void *msg)
{
	const struct msg_def	*def = msg_def(type);
	msgpack_sbuffer		 sb;

	ATF_REQUIRE(def != NULL);
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_array(&sb, def, msg) == 0);
	ATF_REQUIRE(chan_send(ch, type, 0, session, req, fd, sb.data,
	    sb.size) == 0);
	msgpack_sbuffer_destroy(&sb);
	ATF_REQUIRE(chan_flush_wait(ch) == 0);
}

void
fe_expect(struct chan *ch, uint32_t type, struct frame *f, void *msg)
{
	const struct msg_def	*def = msg_def(type);
	static uint64_t		 any[4096];
	struct frame		 own;

	if (f == NULL)
		f = &own;
	ATF_REQUIRE_MSG(next(ch, f) == 1, "the frontend has ended");
	ATF_REQUIRE_MSG(f->type == type, "%s came, not %s",
	    msg_name(f->type), msg_name(type));
	ATF_REQUIRE(msg_decode_array(msg == NULL ? any : msg, def, f->data,
	    f->len) == 0);
	if (msg == NULL)
		msg_clear(any, def);
	ATF_CHECK_EQ(-1, f->fd);
}

/* What the parent reads: log lines, and one other message or the end. */
static int
main_next(struct fe *fe, struct frame *f)
{
	struct msg_log	 m;

	while (next(&fe->main, f)) {
		if (f->type != MSG_LOG)
			return (1);
		ATF_REQUIRE(msg_decode_array(&m, msg_def(MSG_LOG), f->data,
		    f->len) == 0);
		snprintf(fe->last, sizeof(fe->last), "%s", m.text);
		fprintf(stderr, "frontend: %s\n", m.text);
		msg_clear(&m, msg_def(MSG_LOG));
	}
	return (0);
}

void
fe_log(struct fe *fe, const char *part)
{
	struct frame	 f;
	struct msg_log	 m;
	int		 found = 0;

	while (!found) {
		ATF_REQUIRE_MSG(next(&fe->main, &f) == 1,
		    "ended without the line \"%s\"", part);
		ATF_REQUIRE_EQ(MSG_LOG, f.type);
		ATF_REQUIRE(msg_decode_array(&m, msg_def(MSG_LOG), f.data,
		    f.len) == 0);
		fprintf(stderr, "frontend: %s\n", m.text);
		found = strstr(m.text, part) != NULL;
		msg_clear(&m, msg_def(MSG_LOG));
	}
}

void
fe_start(struct fe *fe)
{
	struct proc_ids	 ids;
	struct msg_conf	 conf;
	struct msg_pipe	 mp;
	struct frame	 f;
	int		 m[2], s[2], r[2];

	memset(fe, 0, sizeof(*fe));
	pair(m);
	pair(s);
	pair(r);
	ATF_REQUIRE((fe->pid = fork()) != -1);
	if (fe->pid == 0) {
		close(m[0]);
		close(s[0]);
		close(s[1]);
		close(r[0]);
		close(r[1]);
		if (m[1] != PROC_PIPE_FD) {
			dup2(m[1], PROC_PIPE_FD);
			close(m[1]);
		}
		frontend(1, 2);
	}
	close(m[1]);
	memset(&ids, 0, sizeof(ids));
	ids.role = ROLE_FRONTEND;
	ids.uid = ids.gid = UID_NOBODY;
	ids.ppid = getpid();
	ids.nofile = 1024;
	ids.root = -1;
	ATF_REQUIRE(proc_send_ids(m[0], &ids) == 0);

	chan_init(&fe->main, m[0], "main", NULL);
	chan_init(&fe->store, s[0], "store", NULL);
	chan_init(&fe->runner, r[0], "runner", NULL);
	mp.role = ROLE_STORE;
	fe_send(&fe->main, MSG_PIPE, 0, 0, s[1], &mp);
	mp.role = ROLE_RUNNER;
	fe_send(&fe->main, MSG_PIPE, 0, 0, r[1], &mp);
	memset(&conf, 0, sizeof(conf));
	conf.verbose = 2;
	fe_send(&fe->main, MSG_CONF_BEGIN, 0, 0, -1, &conf);
	fe_send(&fe->main, MSG_CONF_END, 0, 0, -1, NULL);
	ATF_REQUIRE(main_next(fe, &f) == 1);
	ATF_REQUIRE_EQ(MSG_READY, f.type);
	fe_send(&fe->main, MSG_GO, 0, 0, -1, NULL);
}

int
fe_wait(struct fe *fe)
{
	struct frame	 f;
	int		 status;

	while (main_next(fe, &f))
		;
	ATF_REQUIRE(waitpid(fe->pid, &status, 0) == fe->pid);
	ATF_REQUIRE_MSG(WIFEXITED(status), "status 0x%x", status);
	chan_clear(&fe->main);
	chan_clear(&fe->store);
	chan_clear(&fe->runner);
	return (WEXITSTATUS(status));
}

int
fe_stop(struct fe *fe)
{
	fe_send(&fe->main, MSG_SHUTDOWN, 0, 0, -1, NULL);
	return (fe_wait(fe));
}

void
fe_end(struct fe *fe, uint64_t session, uint32_t req)
{
	struct proto_end	 end = { 0 };

	fe_send(&fe->store, PROTO_END, session, req, -1, &end);
}

void
fe_stream_end(struct fe *fe, uint64_t session, uint32_t req, uint32_t stream)
{
	struct msg_stream_end	 m = { stream, 0 };

	fe_send(&fe->runner, MSG_STREAM_END, session, req, -1, &m);
}

uint64_t
fe_client(struct fe *fe, uint32_t uid, int fd)
{
	struct msg_client	 m = { uid };

	fe_send(&fe->main, MSG_CLIENT, ++fe->session, 0, fd, &m);
	return (fe->session);
}

void
cl_open(struct fe *fe, struct cl *c, uint32_t uid)
{
	int	 fds[2];

	memset(c, 0, sizeof(*c));
	pair(fds);
	c->fd = fds[0];
	imsgbuf_init(&c->ibuf, c->fd);
	imsgbuf_allow_fdpass(&c->ibuf);
	imsgbuf_set_maxsize(&c->ibuf, 2 * PROTO_MAX_PAYLOAD);
	c->session = fe_client(fe, uid, fds[1]);
}

void
cl_close(struct cl *c)
{
	imsgbuf_clear(&c->ibuf);
	close(c->fd);
}

void
cl_send(struct cl *c, uint32_t type, uint32_t req, const void *msg)
{
	const struct msg_def	*def = proto_def(type);
	msgpack_sbuffer		 sb;

	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_map(&sb, def, msg) == 0);
	ATF_REQUIRE(imsg_compose(&c->ibuf, type, req, 0, -1, sb.data,
	    sb.size) == 1);
	ATF_REQUIRE(imsgbuf_flush(&c->ibuf) == 0);
	msgpack_sbuffer_destroy(&sb);
}

/* The frontend may hang up while we write: that is for cl_gone() to see. */
void
cl_raw(struct cl *c, const void *data, size_t len)
{
	(void)send(c->fd, data, len, MSG_NOSIGNAL);
}

int
cl_expect(struct cl *c, uint32_t type, uint32_t req, void *msg)
{
	static uint64_t		 any[4096];
	const struct msg_def	*def = proto_def(type);
	struct imsg		 imsg;
	int			 n, fd;

	while ((n = imsgbuf_get(&c->ibuf, &imsg)) == 0) {
		wait_readable(c->fd);
		n = imsgbuf_read(&c->ibuf);
		ATF_REQUIRE_MSG(n == 1, "hung up before %s", def->name);
	}
	ATF_REQUIRE(n == 1);
	ATF_REQUIRE_MSG(imsg_get_type(&imsg) == type, "%s came, not %s",
	    msg_name(imsg_get_type(&imsg)), def->name);
	ATF_REQUIRE_EQ(req, imsg_get_id(&imsg));
	ATF_REQUIRE(msg_decode_map(msg == NULL ? any : msg, def,
	    ibuf_data(imsg.buf), ibuf_size(imsg.buf), NULL, NULL) == 0);
	if (msg == NULL)
		msg_clear(any, def);
	fd = imsg_get_fd(&imsg);
	imsg_free(&imsg);
	return (fd);
}

void
cl_gone(struct cl *c)
{
	char	 buf[65536];
	ssize_t	 n;

	do {
		wait_readable(c->fd);
		n = recv(c->fd, buf, sizeof(buf), 0);
	} while (n > 0);
	ATF_CHECK(n == 0 || errno == ECONNRESET);
	cl_close(c);
}

void
cl_greet(struct fe *fe, struct cl *c, uint32_t uid)
{
	struct proto_hello	 hello;
	struct proto_hello_ok	 ok;
	struct frame		 f;

	cl_open(fe, c, uid);
	memset(&hello, 0, sizeof(hello));
	hello.version = PROTO_VERSION;
	hello.minor = PROTO_MINOR;
	snprintf(hello.client, sizeof(hello.client), "test");
	cl_send(c, PROTO_HELLO, 1, &hello);
	fe_expect(&fe->store, PROTO_HELLO, &f, NULL);
	ATF_REQUIRE_EQ(c->session, f.session);
	ATF_REQUIRE_EQ(1, f.req);
	memset(&ok, 0, sizeof(ok));
	ok.version = PROTO_VERSION;
	ok.payload = PROTO_MAX_PAYLOAD;
	ok.inflight = CLIENT_INFLIGHT_MAX;
	ok.uid = uid;
	fe_send(&fe->store, PROTO_HELLO_OK, c->session, 1, -1, &ok);
	fe_end(fe, c->session, 1);
	(void)cl_expect(c, PROTO_HELLO_OK, 1, &ok);
	(void)cl_expect(c, PROTO_END, 1, NULL);
	ATF_REQUIRE_EQ(uid, ok.uid);
}

void
cl_ping(struct fe *fe, struct cl *c, uint32_t req)
{
	struct frame	 f;

	cl_send(c, PROTO_PING, req, NULL);
	fe_expect(&fe->store, PROTO_PING, &f, NULL);
	ATF_REQUIRE_EQ(c->session, f.session);
	ATF_REQUIRE_EQ(req, f.req);
	fe_end(fe, c->session, req);
	(void)cl_expect(c, PROTO_END, req, NULL);
}
