/* What the tests of libsandbox share: the child, and what it is answered. */

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libclient.h"
#include "scratch.h"

struct fe	 fe;
char		 path[128];
int		 listener = -1;
char		 box[] = "box";

static char	 dir[64];
static pid_t	 child;

/* A file in the test's own directory tells the cleanup where the socket is. */
void
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

void
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

struct sandbox *
open_it(void)
{
	struct sandbox_error	 e;
	struct sandbox		*sb;

	if ((sb = sandbox_open(path, "t", &e)) == NULL)
		errx(1, "open: %s", e.text);
	return (sb);
}

void
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

void
child_wait(void)
{
	int	 status;

	ATF_REQUIRE(waitpid(child, &status, 0) == child);
	ATF_CHECK_EQ(0, status);
}

/* Its connection, handed to the frontend and greeted; the session. */
uint64_t
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

void
send_box(uint64_t session, uint32_t req, const char *id)
{
	struct proto_sandbox	 s;

	memset(&s, 0, sizeof(s));
	snprintf(s.id, sizeof(s.id), "%s", id);
	snprintf(s.state, sizeof(s.state), "ready");
	fe_send(&fe.store, PROTO_SANDBOX, session, req, -1, &s);
}

void
send_accepted(uint64_t session, uint32_t req, const char *id)
{
	struct proto_accepted	 a;

	memset(&a, 0, sizeof(a));
	snprintf(a.id, sizeof(a.id), "%s", id);
	fe_send(&fe.store, PROTO_ACCEPTED, session, req, -1, &a);
}

void
send_error(uint64_t session, uint32_t req, const char *code)
{
	struct proto_error	 e;

	memset(&e, 0, sizeof(e));
	snprintf(e.code, sizeof(e.code), "%s", code);
	snprintf(e.text, sizeof(e.text), "because");
	snprintf(e.field, sizeof(e.field), "image");
	fe_send(&fe.store, PROTO_ERROR, session, req, -1, &e);
}

int
count(struct sandbox_answer *a, void *arg)
{
	(void)a;
	++*(int *)arg;
	return (0);
}

int
input(const char *text)
{
	int	 p[2];

	CHECK(pipe(p) == 0);
	CHECK(write(p[1], text, strlen(text)) == (ssize_t)strlen(text));
	close(p[1]);
	return (p[0]);
}

/* The end of a pipe for the client; our end. */
int
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

void
send_out(int fd, const char *text)
{
	ATF_REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

/* The same, and the client has read it. */
void
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

void
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
