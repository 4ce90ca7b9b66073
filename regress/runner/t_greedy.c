/*
 * Guests that want more than is theirs: another's place, descriptors, all of
 * the runner's time, or none of it.  Others are served as before.
 *
 * regress-srcs: harness.c served.c fusefs.c
 */

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <netinet/in.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../frontend/fusefs.h"
#include "harness.h"
#include "passfd.h"
#include "runner.h"
#include "usage.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS	83		/* Linux 6.16 */
#endif

/* What a guest says first. */
static void
hello(struct player *p)
{
	struct gp_hello	 h;

	memset(&h, 0, sizeof(h));
	h.version = GP_VERSION;
	h.release = "x";
	SEND(p, hello(B, &h));
}

/* (b77) (b78) A payload that connects in the guest's place. */
ATF_TC_WITHOUT_HEAD(stranger);
ATF_TC_BODY(stranger, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	pid_t		 pid;
	int		 i, status;

	rig_start(r);
	p = boot(r, 1);
	player_cut(p);
	(void)from_store(r, MSG_GUEST_GONE);
	fflush(NULL);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		for (i = 0; i < 40; i++) {
			player_connect(p);
			hello(p);
			if (!player_eof(p))
				_exit(1);
			player_cut(p);
		}
		_exit(0);
	}
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	ATF_REQUIRE_EQ(0, status);
	none_store(r, MSG_GUEST_HELLO);
	none_store(r, MSG_GUEST_BROKE);
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	ATF_REQUIRE_EQ(getpid(), from_store(r, MSG_GUEST_HELLO)->u.hello.pid);
	good_exec(r, p, 1);
	/* The name goes with the need for it. */
	ATF_REQUIRE(!rig_exists(r, "sock/1000/1/s"));
	/* After a restart of ours the store says who it was. */
	rig_kill(r);
	player_cut(p);
	rig_start(r);
	listen_box(r, 1, p->boot, getpid() + 1);
	player_connect(p);
	hello(p);
	ATF_REQUIRE(player_eof(p));
	none_store(r, MSG_GUEST_HELLO);
	player_free(p);
	rig_end(r);
}

/* Descriptors beside a frame never arrive. */
ATF_TC_WITHOUT_HEAD(descriptors);
ATF_TC_BODY(descriptors, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_output o = { .stream = GP_STDOUT, .data =
			    (const uint8_t *)"abc", .len = 3 };
	struct gp_frame	 f;
	uint8_t		 b[64];
	ssize_t		 len;
	int		 before;

	rig_start(r);
	p = boot(r, 1);
	start_exec(r, 1, 1, 0, 0);
	player_frame(p, GP_START, &f);
	rig_alive(r);
	before = usage_fds(r->pid);
	len = gp_encode_output(b, sizeof(b), 1, &o);
	/* Newer kernels refuse them for the runner; then without. */
	if (passfd_send(p->fd, b, len, 2, 16, 0) == -1) {
		ATF_REQUIRE_EQ(EPERM, errno);
		ATF_REQUIRE_EQ(len, passfd_send(p->fd, b, len, 2, 0, 0));
	}
	player_exit(p, 1, 0, 3, 0);
	ATF_REQUIRE_EQ(3, from_store(r, MSG_ENDED)->u.ended.length1);
	ATF_REQUIRE_EQ(before, usage_fds(r->pid));
	player_free(p);
	rig_end(r);
}

/*
 * The same, of a file system of the guest's own that lets nobody else close
 * them: the kernel closes them here, on one that passes them on.
 */
static int	 passes;

int
setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (passes && level == SOL_SOCKET && name == SO_PASSRIGHTS)
		return (0);
	return ((int)syscall(SYS_setsockopt, fd, level, name, value, len));
}

ATF_TC(own_fuse);
ATF_TC_HEAD(own_fuse, tc)
{
	atf_tc_set_md_var(tc, "descr", "(b4) a file of a file system that "
	    "does not answer");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(own_fuse, tc)
{
	struct rig	*r = rig_new();
	struct player	*good, *p;
	struct gp_output o = { .stream = GP_STDOUT, .data =
			    (const uint8_t *)"abc", .len = 3 };
	struct gp_frame	 f;
	uint8_t		 b[64];
	ssize_t		 len;
	int		 before;

	passes = 1;
	rig_start(r);
	good = boot(r, 1);
	p = boot(r, 2);
	start_exec(r, 2, 1, 0, 0);
	player_frame(p, GP_START, &f);
	rig_alive(r);
	before = usage_fds(r->pid);
	len = gp_encode_output(b, sizeof(b), 1, &o);
	/* Where there is no FUSE, or a kernel refuses all: without. */
	if (fusefs_send(p->fd, b, len) == 0)
		player_send(p, b, len);
	good_exec(r, good, 1);
	player_exit(p, 1, 0, 3, 0);
	while (from_store(r, MSG_ENDED)->u.ended.n != 2)
		;
	good_exec(r, good, 2);
	rig_alive(r);
	ATF_CHECK_EQ(before, usage_fds(r->pid));
	player_cut(p);
	(void)from_store(r, MSG_GUEST_GONE);
	good_exec(r, good, 3);
	player_free(good);
	player_free(p);
	/* Nor does its end wait for it. */
	rig_end(r);
	fusefs_end();
}

/* A socket whose last close(2) waits, a quarter of an hour; -1: no network. */
static int
lingering(void)
{
	static char		 junk[65536];
	struct sockaddr_in	 sin;
	struct linger		 l = { 1, 900 };
	socklen_t		 len = sizeof(sin);
	int			 s, c;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ATF_REQUIRE((s = socket(AF_INET, SOCK_STREAM, 0)) != -1);
	ATF_REQUIRE((c = socket(AF_INET, SOCK_STREAM, 0)) != -1);
	if (bind(s, (struct sockaddr *)&sin, len) == -1 ||
	    listen(s, 1) == -1 ||
	    getsockname(s, (struct sockaddr *)&sin, &len) == -1 ||
	    connect(c, (struct sockaddr *)&sin, len) == -1) {
		fprintf(stderr, "no loopback: %s\n", strerror(errno));
		close(s);
		close(c);
		return (-1);
	}
	/* Nobody accepts it, so what is in it cannot be sent. */
	ATF_REQUIRE(fcntl(c, F_SETFL, O_NONBLOCK) == 0);
	while (write(c, junk, sizeof(junk)) > 0)
		;
	ATF_REQUIRE(fcntl(c, F_SETFL, 0) == 0);
	ATF_REQUIRE(setsockopt(c, SOL_SOCKET, SO_LINGER, &l,
	    sizeof(l)) == 0);
	return (c);
}

ATF_TC_WITHOUT_HEAD(lingers);
ATF_TC_BODY(lingers, tc)
{
	struct rig	*r = rig_new();
	struct player	*good, *p;
	struct gp_output o = { .stream = GP_STDOUT, .data =
			    (const uint8_t *)"abc", .len = 3 };
	struct gp_frame	 f;
	uint8_t		 b[64];
	ssize_t		 len;
	int		 fd, i, before;

	(void)tc;
	passes = 1;
	rig_start(r);
	good = boot(r, 1);
	p = boot(r, 2);
	start_exec(r, 2, 1, 0, 0);
	player_frame(p, GP_START, &f);
	rig_alive(r);
	before = usage_fds(r->pid);
	for (i = 1; i <= 5; i++, o.off += 3) {
		len = gp_encode_output(b, sizeof(b), 1, &o);
		/* Ours is not to be the last one: it does not read yet. */
		ATF_REQUIRE(kill(r->pid, SIGSTOP) == 0);
		fd = lingering();
		if (fd == -1 || passfd_send(p->fd, b, len, fd, 1, 0) == -1)
			player_send(p, b, len);
		if (fd != -1)
			close(fd);
		ATF_REQUIRE(kill(r->pid, SIGCONT) == 0);
		good_exec(r, good, i);
	}
	player_exit(p, 1, 0, o.off, 0);
	while (from_store(r, MSG_ENDED)->u.ended.n != 2)
		;
	ATF_CHECK_EQ(before, usage_fds(r->pid));
	player_free(good);
	player_free(p);
	rig_end(r);
}

/* One that floods, and one that does not read: others are served. */
ATF_TC_WITHOUT_HEAD(flood);
ATF_TC_BODY(flood, tc)
{
	struct rig	*r = rig_new();
	struct player	*good, *loud, *deaf;
	struct msg_start m;
	char		*big;
	pid_t		 pid;
	int		 i, status;

	rig_start(r);
	good = boot(r, 1);
	loud = boot(r, 2);
	deaf = boot(r, 3);
	fflush(NULL);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		struct gp_background	 bg = { 1, 1 };

		/* Not longer than the test, however that ends. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			SEND(loud, background(B, 1, &bg));
	}
	/* It has execs of ours, but far too many to be queued at once. */
	ATF_REQUIRE((big = malloc(120001)) != NULL);
	memset(big, 'x', 120000);
	big[120000] = '\0';
	memset(&m, 0, sizeof(m));
	strv_add(&m.argv, big);
	m.dir = big + 120000;
	m.n = 3;
	for (m.k = 1; m.k <= 60; m.k++) {
		snprintf(m.exec, sizeof(m.exec), "deaf.%d", (int)m.k);
		say(r, MSG_START, 0, 0, &m);
	}
	for (i = 1; i <= 50; i++)
		good_exec(r, good, i);
	none_store(r, MSG_GUEST_BROKE);
	/* Then it does, and all come, in their order. */
	for (i = 1; i <= 60; i++) {
		struct gp_frame	 f;

		player_frame(deaf, GP_START, &f);
		ATF_REQUIRE_EQ((uint64_t)i, f.k);
	}
	ATF_REQUIRE_EQ(0, kill(pid, SIGKILL));
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	strv_clear(&m.argv);
	free(big);
	player_free(good);
	player_free(loud);
	player_free(deaf);
	rig_end(r);
}

/* Bytes one by one: each is right, and others have their turn. */
ATF_TC_WITHOUT_HEAD(crumbs);
ATF_TC_BODY(crumbs, tc)
{
	const size_t	 len = 40000;
	struct rig	*r = rig_new();
	struct player	*good, *p;
	struct gp_output o = { .stream = GP_STDOUT, .len = 1 };
	struct gp_frame	 f;
	struct buf	 out = { 0 };
	uint8_t		*data = malloc(len), *all = malloc(len * 32);
	uint64_t	 gaps;
	uint32_t	 req;
	size_t		 i, n = 0;

	pattern(data, len, 40);
	rig_start(r);
	good = boot(r, 1);
	p = boot(r, 2);
	start_exec(r, 2, 1, EXEC_ATTACH, 0);
	req = r->req;
	player_frame(p, GP_START, &f);
	for (i = 0; i < len; i++) {
		o.off = i;
		o.data = data + i;
		n += gp_encode_output(all + n, len * 32 - n, 1, &o);
	}
	player_send(p, all, n);
	good_exec(r, good, 1);
	player_exit(p, 1, 0, len, 0);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE_EQ(len, out.len);
	ATF_REQUIRE_EQ(0, memcmp(out.data, data, len));
	player_free(good);
	player_free(p);
	rig_end(r);
}

/* A guest that comes and goes: its turn comes, but not all the time. */
ATF_TC_WITHOUT_HEAD(flapping);
ATF_TC_BODY(flapping, tc)
{
	struct rig	*r = rig_new();
	struct player	*good, *p;
	int		 i;

	rig_start(r);
	good = boot(r, 1);
	p = boot(r, 2);
	for (i = 0; i < 40; i++) {
		player_cut(p);
		ATF_REQUIRE_EQ(2, from_store(r, MSG_GUEST_GONE)->u.gone.n);
		player_connect(p);
		player_hello(p, NULL, NULL, 0);
		ATF_REQUIRE_EQ(1, from_store(r,
		    MSG_GUEST_HELLO)->u.hello.again);
	}
	good_exec(r, good, 1);
	good_exec(r, p, 1);
	player_free(good);
	player_free(p);
	rig_end(r);
}

static size_t
log_lines(struct rig *r, const char *text)
{
	struct got	*g;
	size_t		 n = 0;

	rig_alive(r);
	TAILQ_FOREACH(g, &r->from_main, entry)
		n += g->type == MSG_LOG && strstr(g->u.log.text, text) != NULL;
	return (n);
}

/*
 * Connects n times and until `least' of it were let in, as fast as it can: it
 * does not wait for its turn.
 */
static void
rush(struct player *p, int n, int least)
{
	struct sockaddr_un	 sun;
	int			 fd, tried, served = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s",
	    rig_path(p->rig, "sock/%d/%d/s", OWNER, (int)p->n));
	for (tried = 0; tried < n || served < least; tried++) {
		if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK,
		    0)) == -1)
			_exit(1);
		if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0)
			served++;
		else if (errno != EAGAIN)
			_exit(2);
		close(fd);
	}
	printf("%d connections tried, %d let in\n", tried, served);
	fflush(stdout);
	_exit(0);
}

static uint64_t
now_us(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((uint64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
}

ATF_TC(rush);
ATF_TC_HEAD(rush, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(b78) a process that connects as fast as it can");
}
ATF_TC_BODY(rush, tc)
{
	const char	*soak = getenv("SOAK");
	struct rig	*r = rig_new();
	struct player	*good, *p;
	uint64_t	 t, slow = 0, total = 0;
	pid_t		 pid, ended = 0;
	size_t		 lines;
	int		 i, n = 0, status;

	if (soak != NULL && strcmp(soak, "yes") == 0)
		n = 1000000;
	rig_start(r);
	good = boot(r, 1);
	p = boot(r, 2);
	player_cut(p);
	(void)from_store(r, MSG_GUEST_GONE);
	fflush(NULL);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0)
		rush(p, n, 200);
	for (i = 1; i <= 50 || ended == 0; i++) {
		t = now_us();
		good_exec(r, good, i);
		t = now_us() - t;
		total += t;
		slow = t > slow ? t : slow;
		if (ended == 0)
			ended = waitpid(pid, &status, WNOHANG);
	}
	ATF_REQUIRE_EQ(pid, ended);
	ATF_REQUIRE_EQ(0, status);
	printf("%d commands beside it, in %d us each, the slowest %d\n", i,
	    (int)(total / i), (int)slow);
	ATF_CHECK_MSG(slow < 20000000, "a command took %d us", (int)slow);
	/* One for the first, the second, the fourth... */
	lines = log_lines(r, "in place of the guest");
	ATF_CHECK_MSG(lines >= 1 && lines <= 16, "%zu lines", lines);
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	(void)from_store(r, MSG_GUEST_HELLO);
	good_exec(r, p, 1);
	player_free(good);
	player_free(p);
	rig_end(r);
}

/* One that says nothing has to go, and may come again. */
ATF_TC_WITHOUT_HEAD(silent);
ATF_TC_BODY(silent, tc)
{
	struct rig	*r = rig_new();
	struct player	*good, *p;

	rig_start(r);
	good = boot(r, 1);
	listen_box(r, 2, 0, 0);
	p = player_new(r, 2);
	player_connect(p);
	good_exec(r, good, 1);
	ATF_REQUIRE(player_eof(p));
	none_store(r, MSG_GUEST_HELLO);
	ATF_CHECK_EQ(1, log_lines(r, "connected and said nothing"));
	player_cut(p);
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	(void)from_store(r, MSG_GUEST_HELLO);
	good_exec(r, p, 1);
	player_free(good);
	player_free(p);
	rig_end(r);
}

/* Part of a frame, as one that was stopped in the middle of it leaves. */
static void
half(struct player *p)
{
	uint8_t	 b[GP_HDRLEN + 1] = { 100, 0, 0, 0, GP_OUTPUT, 0, 0, 0, 1 };

	player_send(p, b, sizeof(b));
}

ATF_TC(half_frame);
ATF_TC_HEAD(half_frame, tc)
{
	atf_tc_set_md_var(tc, "descr", "(b76) half a frame after HELLO: once "
	    "it may come again, twice in a row is a lie");
}
ATF_TC_BODY(half_frame, tc)
{
	struct rig	*r = rig_new();
	struct player	*good, *p;
	struct gp_frame	 f;
	struct got	*g;

	runner_hello_s = 2;
	rig_start(r);
	good = boot(r, 1);
	p = boot(r, 2);
	start_exec(r, 2, 1, 0, 0);
	player_frame(p, GP_START, &f);
	half(p);
	ATF_REQUIRE(player_eof(p));
	(void)from_store(r, MSG_GUEST_GONE);
	good_exec(r, good, 1);
	/* One that is honest goes on, and is as good as new. */
	player_cut(p);
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	(void)from_store(r, MSG_GUEST_HELLO);
	player_output(p, 1, GP_STDOUT, 0, "hello", 5);
	half(p);
	ATF_REQUIRE(player_eof(p));
	(void)from_store(r, MSG_GUEST_GONE);
	player_cut(p);
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	(void)from_store(r, MSG_GUEST_HELLO);
	none_store(r, MSG_GUEST_BROKE);
	half(p);
	ATF_REQUIRE(player_eof(p));
	g = from_store(r, MSG_GUEST_BROKE);
	ATF_CHECK_EQ(2, g->u.gone.n);
	ATF_CHECK_STREQ("half a frame, and no more", g->u.gone.text);
	good_exec(r, good, 2);
	player_free(good);
	player_free(p);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, stranger);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, own_fuse);
	ATF_TP_ADD_TC(tp, lingers);
	ATF_TP_ADD_TC(tp, flood);
	ATF_TP_ADD_TC(tp, crumbs);
	ATF_TP_ADD_TC(tp, flapping);
	ATF_TP_ADD_TC(tp, half_frame);
	ATF_TP_ADD_TC(tp, rush);
	ATF_TP_ADD_TC(tp, silent);
	return (atf_no_error());
}
