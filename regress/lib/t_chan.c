/* Frames between children: whole, in order, with their descriptors. */

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atf-c.h>

#include "bounds.h"
#include "chan.h"

static struct chan	 a, b;

static void
pair(void)
{
	int	 fds[2];

	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds) == 0);
	chan_init(&a, fds[0], "b", NULL);
	chan_init(&b, fds[1], "a", NULL);
}

static int
open_fds(void)
{
	int	 fd, n = 0;

	for (fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			n++;
	return (n);
}

ATF_TC_WITHOUT_HEAD(order);
ATF_TC_BODY(order, tc)
{
	struct frame	 f;
	uint32_t	 i;

	pair();
	for (i = 0; i < 200; i++)
		ATF_REQUIRE(chan_send(&a, i, i * 2, i * 3, i * 4, -1, &i,
		    sizeof(i)) == 0);
	ATF_REQUIRE(!chan_sent(&a, 200));
	ATF_REQUIRE(chan_flush_wait(&a) == 0);
	ATF_REQUIRE(chan_sent(&a, 200));
	ATF_CHECK_EQ(a.queued, 0);
	for (i = 0; i < 200; i++) {
		ATF_REQUIRE(chan_get_wait(&b, &f) == 1);
		ATF_CHECK_EQ(f.type, i);
		ATF_CHECK_EQ(f.op, i * 2);
		ATF_CHECK_EQ(f.session, i * 3);
		ATF_CHECK_EQ(f.req, i * 4);
		ATF_CHECK_EQ(f.fd, -1);
		ATF_REQUIRE_EQ(f.len, sizeof(i));
		ATF_CHECK(memcmp(f.data, &i, sizeof(i)) == 0);
	}
	chan_clear(&a);
	ATF_CHECK_EQ(chan_get_wait(&b, &f), 0);
	chan_clear(&b);
}

/* Each descriptor arrives with its own frame, and none is left open. */
ATF_TC_WITHOUT_HEAD(descriptors);
ATF_TC_BODY(descriptors, tc)
{
	struct frame	 f;
	char		 buf[8], want[8];
	int		 before, i, p[2];

	pair();
	before = open_fds();
	for (i = 0; i < 20; i++) {
		ATF_REQUIRE(pipe(p) == 0);
		snprintf(want, sizeof(want), "%d", i);
		ATF_REQUIRE(write(p[1], want, 8) == 8);
		close(p[1]);
		ATF_REQUIRE(chan_send(&a, i, 0, 0, 0, i % 3 == 0 ? p[0] : -1,
		    "x", 1) == 0);
		if (i % 3 != 0)
			close(p[0]);
	}
	ATF_REQUIRE(chan_flush_wait(&a) == 0);
	for (i = 0; i < 20; i++) {
		ATF_REQUIRE(chan_get_wait(&b, &f) == 1);
		ATF_CHECK_EQ(f.type, (uint32_t)i);
		ATF_REQUIRE_EQ(f.fd != -1, i % 3 == 0);
		if (f.fd != -1) {
			snprintf(want, sizeof(want), "%d", i);
			ATF_CHECK(read(f.fd, buf, 8) == 8);
			ATF_CHECK_STREQ(buf, want);
		}
		chan_frame_free(&f);
	}
	ATF_CHECK_EQ(open_fds(), before);
	/* Descriptors in a queue that is thrown away are closed too. */
	ATF_REQUIRE(pipe(p) == 0);
	ATF_REQUIRE(chan_send(&a, 1, 0, 0, 0, p[0], NULL, 0) == 0);
	ATF_REQUIRE(chan_send(&a, 1, 0, 0, 0, p[1], NULL, 0) == 0);
	chan_clear(&a);
	chan_clear(&b);
	ATF_CHECK_EQ(open_fds(), before - 2);
}

ATF_TC_WITHOUT_HEAD(large);
ATF_TC_BODY(large, tc)
{
	struct frame	 f;
	uint8_t		*p;
	pid_t		 pid;
	size_t		 i;
	int		 n, status;

	pair();
	ATF_REQUIRE((p = malloc(CHAN_MAX_FRAME + 1)) != NULL);
	for (i = 0; i < CHAN_MAX_FRAME; i++)
		p[i] = i * 7;
	ATF_CHECK(chan_send(&a, 1, 0, 0, 0, -1, p, CHAN_MAX_FRAME + 1) == -1);
	ATF_CHECK_EQ(errno, EMSGSIZE);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		for (n = 0; n < 8; n++)
			if (chan_send(&a, n, 0, 0, 0, -1, p,
			    CHAN_MAX_FRAME) == -1)
				_exit(1);
		_exit(chan_flush_wait(&a) == -1);
	}
	for (n = 0; n < 8; n++) {
		ATF_REQUIRE(chan_get_wait(&b, &f) == 1);
		ATF_CHECK_EQ(f.type, (uint32_t)n);
		ATF_REQUIRE_EQ(f.len, CHAN_MAX_FRAME);
		ATF_CHECK(memcmp(f.data, p, f.len) == 0);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_CHECK_EQ(status, 0);
	free(p);
	chan_clear(&a);
	chan_clear(&b);
}

ATF_TC_WITHOUT_HEAD(bound);
ATF_TC_BODY(bound, tc)
{
	int	 i;

	pair();
	a.maxqueued = 1000;
	for (i = 0; i < 100; i++)
		if (chan_send(&a, 1, 0, 0, 0, -1, "0123456789", 10) == -1)
			break;
	ATF_CHECK_EQ(errno, ENOBUFS);
	ATF_CHECK(i > 10 && i < 100);
	chan_clear(&a);
	chan_clear(&b);
}

/* A sibling's nonsense is malformed, not a wait for gigabytes. */
ATF_TC_WITHOUT_HEAD(nonsense);
ATF_TC_BODY(nonsense, tc)
{
	struct frame	 f;
	uint32_t	 h[8] = { CHAN_MAX_FRAME + 1, 1 };
	uint32_t	 nofd[8] = { 0, 1, 0, 0, 0, 0, 0, 1 };

	pair();
	ATF_REQUIRE(write(a.fd, h, sizeof(h)) == sizeof(h));
	ATF_REQUIRE(chan_read(&b) == 1);
	ATF_CHECK_EQ(chan_get(&b, &f), -1);
	chan_clear(&a);
	chan_clear(&b);

	/* A frame that says it has a descriptor, and has none. */
	pair();
	ATF_REQUIRE(write(a.fd, nofd, sizeof(nofd)) == sizeof(nofd));
	ATF_REQUIRE(chan_read(&b) == 1);
	ATF_CHECK_EQ(chan_get(&b, &f), -1);
	chan_clear(&a);
	chan_clear(&b);
}

static int	 got;

static void
on_read(int fd, short event, void *arg)
{
	struct frame	 f;

	if (chan_read(arg) != 1)
		event_loopexit(NULL);
	while (chan_get(arg, &f) == 1) {
		got++;
		/* An answer from inside the handler leaves by itself. */
		if (f.type < 50)
			ATF_REQUIRE(chan_send(arg, f.type + 1, 0, 0, 0, -1,
			    NULL, 0) == 0);
		else
			event_loopexit(NULL);
		chan_frame_free(&f);
	}
}

ATF_TC_WITHOUT_HEAD(events);
ATF_TC_BODY(events, tc)
{
	int	 fds[2];

	event_init();
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds) == 0);
	chan_init(&a, fds[0], "b", on_read);
	chan_init(&b, fds[1], "a", on_read);
	ATF_REQUIRE(chan_send(&a, 1, 0, 0, 0, -1, NULL, 0) == 0);
	event_dispatch();
	ATF_CHECK_EQ(got, 50);
	chan_clear(&a);
	chan_clear(&b);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, order);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, large);
	ATF_TP_ADD_TC(tp, bound);
	ATF_TP_ADD_TC(tp, nonsense);
	ATF_TP_ADD_TC(tp, events);
	return (atf_no_error());
}
