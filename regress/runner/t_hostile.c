/*
 * Guests that lie: each is cut off and told of, and no other one notices.
 *
 * regress-srcs: harness.c
 */

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "passfd.h"
#include "runner.h"

#define SEND(p, call)	do {						\
	uint8_t	 b_[512];						\
	ssize_t	 n_;							\
	n_ = gp_encode_##call;						\
	ATF_REQUIRE(n_ > 0);						\
	player_send(p, b_, n_);						\
} while (0)
#define B	b_, sizeof(b_)

/* A raw frame. */
static void
raw(struct player *p, uint32_t len, uint16_t type, uint64_t k, size_t body)
{
	uint8_t	 b[4096];

	memset(b, 0, sizeof(b));
	memcpy(b, &len, 4);
	memcpy(b + 4, &type, 2);
	memcpy(b + 8, &k, 8);
	player_send(p, b, GP_HDRLEN + body);
}

static void
bad_garbage(struct player *p)
{
	player_send(p, "GET / HTTP/1.0\r\n\r\n", 18);
}

static void
bad_length(struct player *p)
{
	raw(p, UINT32_MAX, GP_OUTPUT, 1, 0);
}

static void
bad_length_data(struct player *p)
{
	raw(p, 12 + GP_MAX_DATA + 1, GP_OUTPUT, 1, 0);
}

static void
bad_length_none(struct player *p)
{
	raw(p, 0, GP_OUTPUT, 1, 0);
}

static void
bad_type(struct player *p)
{
	raw(p, 0, UINT16_MAX, 1, 0);
}

static void
bad_length_of_type(struct player *p)
{
	raw(p, 13, GP_STARTED, 1, 13);
}

static void
bad_direction(struct player *p)
{
	raw(p, 0, GP_FORGET, 1, 0);
}

static void
bad_no_exec(struct player *p)
{
	raw(p, 12, GP_STARTED, 0, 12);
}

static void
bad_unknown_exec(struct player *p)
{
	player_output(p, 99, GP_STDOUT, 0, "x", 1);
}

static void
bad_jump(struct player *p)
{
	player_output(p, 1, GP_STDOUT, 1, "x", 1);
}

static void
bad_overlap(struct player *p)
{
	player_output(p, 1, GP_STDOUT, 0, "xyz", 3);
	player_output(p, 1, GP_STDOUT, 1, "x", 1);
}

static void
bad_stream(struct player *p)
{
	uint8_t	 b[GP_HDRLEN + 13] = { 13, 0, 0, 0, GP_OUTPUT, 0, 0, 0, 1 };

	b[GP_HDRLEN] = 3;
	player_send(p, b, sizeof(b));
}

/* Exec 2 has a client that does not read: a pipe and a window, no more. */
static void
bad_credit(struct player *p)
{
	static uint8_t	 data[GP_MAX_DATA];
	uint64_t	 off;

	for (off = 0; off < 4 * GP_WINDOW; off += sizeof(data))
		player_output(p, 2, GP_STDOUT, off, data, sizeof(data));
}

static void
bad_merged(struct player *p)
{
	player_output(p, 3, GP_STDERR, 0, "x", 1);
}

static void
bad_exit_twice(struct player *p)
{
	player_exit(p, 1, 0, 0, 0);
	player_exit(p, 1, 0, 0, 0);
}

static void
bad_exit_length(struct player *p)
{
	player_output(p, 1, GP_STDOUT, 0, "x", 1);
	player_exit(p, 1, 0, 2, 0);
}

static void
bad_exit_code(struct player *p)
{
	struct gp_exit	 e = { .kind = GP_EXITED, .code = 1000000 };

	SEND(p, exit(B, 1, &e));
}

static void
bad_after_exit(struct player *p)
{
	player_exit(p, 1, 0, 0, 0);
	player_output(p, 1, GP_STDOUT, 0, "x", 1);
}

static void
bad_started_late(struct player *p)
{
	player_exit(p, 1, 0, 0, 0);
	player_started(p, 1, 2);
}

static void
bad_not_started(struct player *p)
{
	struct gp_not_started	 ns = { GP_NS_NOENT, 2 };

	player_started(p, 1, 2);
	SEND(p, not_started(B, 1, &ns));
}

static void
bad_state(struct player *p)
{
	struct gp_state	 s;

	player_output(p, 1, GP_STDOUT, 0, "xyz", 3);
	memset(&s, 0, sizeof(s));
	s.state = GP_ST_RUNNING;
	s.out = 1;
	s.out_len = 3;
	SEND(p, state(B, 1, &s));
}

static void
bad_state_huge(struct player *p)
{
	struct gp_state	 s;

	memset(&s, 0, sizeof(s));
	s.state = GP_ST_RUNNING;
	s.out = s.out_len = UINT64_MAX - 10;
	SEND(p, state(B, 1, &s));
}

static void
bad_state_twice(struct player *p)
{
	struct gp_state	 s;

	memset(&s, 0, sizeof(s));
	s.state = GP_ST_RUNNING;
	SEND(p, state(B, 1, &s));
	s.out = s.out_len = 1;
	SEND(p, state(B, 1, &s));
}

static void
bad_input_ack(struct player *p)
{
	struct gp_input_ack	 a = { .off = 1 };

	SEND(p, input_ack(B, 4, &a));
}

static void
bad_input_none(struct player *p)
{
	struct gp_input_ack	 a = { .off = 0 };

	SEND(p, input_ack(B, 1, &a));
}

static void
bad_bye(struct player *p)
{
	SEND(p, bye(B));
}

static void
bad_pong(struct player *p)
{
	struct gp_ping	 m = { 1 };

	SEND(p, pong(B, &m));
}

static void
bad_hello_twice(struct player *p)
{
	struct gp_hello	 h;

	memset(&h, 0, sizeof(h));
	h.version = GP_VERSION;
	h.release = "x";
	SEND(p, hello(B, &h));
}

static void
bad_states_late(struct player *p)
{
	struct gp_states_end	 e = { 0 };

	SEND(p, states_end(B, &e));
}

/* (b76) What no guest says. */
static const struct {
	const char	*name;
	void		(*act)(struct player *);
} lies[] = {
	{ "garbage", bad_garbage },
	{ "length", bad_length },
	{ "length of too much output", bad_length_data },
	{ "length of no output", bad_length_none },
	{ "length of its type", bad_length_of_type },
	{ "type", bad_type },
	{ "direction", bad_direction },
	{ "no exec", bad_no_exec },
	{ "unknown exec", bad_unknown_exec },
	{ "jump", bad_jump },
	{ "overlap", bad_overlap },
	{ "stream", bad_stream },
	{ "credit", bad_credit },
	{ "merged", bad_merged },
	{ "exit twice", bad_exit_twice },
	{ "exit length", bad_exit_length },
	{ "exit code", bad_exit_code },
	{ "output after exit", bad_after_exit },
	{ "started after exit", bad_started_late },
	{ "not started after started", bad_not_started },
	{ "state behind the log", bad_state },
	{ "state far ahead", bad_state_huge },
	{ "state twice", bad_state_twice },
	{ "input ack", bad_input_ack },
	{ "input ack without input", bad_input_none },
	{ "bye", bad_bye },
	{ "pong", bad_pong },
	{ "hello twice", bad_hello_twice },
	{ "states late", bad_states_late },
};

/* An exec of the good guest, from start to end. */
static void
good_exec(struct rig *r, struct player *p, uint64_t k)
{
	struct gp_frame	 f;
	struct buf	 out = { 0 };
	uint64_t	 gaps;
	uint32_t	 req;

	start_exec(r, p->n, k, EXEC_ATTACH | EXEC_MERGE, 0);
	req = r->req;
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(k, f.k);
	player_output(p, k, GP_STDOUT, 0, "fine", 4);
	player_exit(p, k, 0, 4, 0);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE(out.len == 4 && memcmp(out.data, "fine", 4) == 0);
	free(out.data);
	while (from_store(r, MSG_ENDED)->u.ended.n != p->n)
		;
	forget_exec(r, p->n, k);
	player_frame(p, GP_FORGET, &f);
}

static void
unlisten(struct rig *r, uint64_t n)
{
	struct msg_listen	 m = { .n = n, .owner = OWNER };

	say(r, MSG_UNLISTEN, 0, 0, &m);
}

ATF_TC_WITHOUT_HEAD(guest_lies);
ATF_TC_BODY(guest_lies, tc)
{
	struct rig	*r = rig_new();
	struct player	*good, *p;
	struct gp_frame	 f;
	struct got	*g;
	size_t		 i;
	uint64_t	 n;

	rig_start(r);
	good = boot(r, 1);
	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		printf("%s\n", lies[i].name);
		n = 100 + i;
		p = boot(r, n);
		start_exec(r, n, 1, 0, 0);
		start_exec(r, n, 2, EXEC_ATTACH, 0);
		start_exec(r, n, 3, EXEC_MERGE, 0);
		start_exec(r, n, 4, EXEC_INPUT, 0);
		do {
			player_frame(p, GP_START, &f);
		} while (f.k != 4);
		lies[i].act(p);
		g = from_store(r, MSG_GUEST_BROKE);
		ATF_REQUIRE_EQ(n, g->u.gone.n);
		printf("\t%s\n", g->u.gone.text);
		ATF_REQUIRE(player_eof(p));
		/* Nobody else may come in its place. */
		ATF_REQUIRE(access(rig_path(r, "sock/%d/%d/s", OWNER, (int)n),
		    F_OK) == -1);
		good_exec(r, good, i + 1);
		unlisten(r, n);
		player_free(p);
	}
	player_free(good);
	rig_end(r);
}

/* (b76) (b79) What is wrong in HELLO, before it, or in the table after it. */
ATF_TC_WITHOUT_HEAD(hello_lies);
ATF_TC_BODY(hello_lies, tc)
{
	struct rig		*r = rig_new();
	struct player		*p;
	struct gp_states_end	 e;
	struct gp_state		 s;
	struct gp_hello		 h;
	struct gp_frame		 f;
	struct got		*g;
	uint64_t		 n;
	char			 version[64];
	int			 i;

	snprintf(version, sizeof(version), "protocol %d, and not %d to "
	    "%d", GP_VERSION + 1, GP_VERSION_OLDEST, GP_VERSION);
	rig_start(r);
	memset(&h, 0, sizeof(h));
	h.version = GP_VERSION;
	h.release = "x";
	memset(&s, 0, sizeof(s));
	s.state = GP_ST_ENDED;
	for (n = 1; n <= 4; n++) {
		listen_box(r, n, 0, 0);
		p = player_new(r, n);
		player_connect(p);
		switch (n) {
		case 1:
			player_output(p, 1, GP_STDOUT, 0, "x", 1);
			break;
		case 2:
			h.version = GP_VERSION + 1;
			SEND(p, hello(B, &h));
			h.version = GP_VERSION;
			break;
		case 3:
			SEND(p, hello(B, &h));
			player_frame(p, GP_WELCOME, &f);
			e.count = 1;
			SEND(p, states_end(B, &e));
			break;
		default:
			SEND(p, hello(B, &h));
			player_frame(p, GP_WELCOME, &f);
			for (i = 1; i <= GP_MAX_EXECS + 1; i++)
				SEND(p, state(B, i, &s));
		}
		g = from_store(r, MSG_GUEST_BROKE);
		ATF_REQUIRE_EQ(n, g->u.gone.n);
		if (n == 2)
			ATF_CHECK_MSG(strstr(g->u.gone.text, version) != NULL,
			    "%s", g->u.gone.text);
		ATF_REQUIRE(player_eof(p));
		player_free(p);
	}
	rig_end(r);
}

/* The versions that are spoken, each welcomed by its own. */
ATF_TC(versions);
ATF_TC_HEAD(versions, tc)
{
	atf_tc_set_md_var(tc, "descr", "(R7) each version of guests that is spoken");
}
ATF_TC_BODY(versions, tc)
{
	struct rig		*r = rig_new();
	struct player		*p;
	struct gp_states_end	 e = { 0 };
	struct gp_welcome	 w;
	struct gp_hello		 h;
	struct gp_frame		 f;
	struct got		*g;
	uint32_t		 v;

	rig_start(r);
	for (v = GP_VERSION_OLDEST; v <= GP_VERSION; v++) {
		listen_box(r, v, 0, 0);
		p = player_new(r, v);
		player_connect(p);
		memset(&h, 0, sizeof(h));
		h.version = v;
		h.release = "x";
		SEND(p, hello(B, &h));
		player_frame(p, GP_WELCOME, &f);
		ATF_REQUIRE(gp_decode_welcome(&w, &f) == 0);
		ATF_CHECK_EQ(v, w.version);
		SEND(p, states_end(B, &e));
		g = from_store(r, MSG_GUEST_HELLO);
		ATF_CHECK_EQ(v, g->u.hello.n);
		ATF_CHECK_EQ(v, g->u.hello.version);
		player_free(p);
		(void)from_store(r, MSG_GUEST_GONE);
	}
	rig_end(r);
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
			bad_hello_twice(p);
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
	bad_hello_twice(p);
	ATF_REQUIRE(player_eof(p));
	none_store(r, MSG_GUEST_HELLO);
	player_free(p);
	rig_end(r);
}

static int
count_files(pid_t pid)
{
	struct dirent	*de;
	char		 name[64];
	DIR		*dir;
	int		 n = 0;

	snprintf(name, sizeof(name), "/proc/%d/fd", (int)pid);
	ATF_REQUIRE((dir = opendir(name)) != NULL);
	while ((de = readdir(dir)) != NULL)
		n++;
	closedir(dir);
	return (n);
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
	before = count_files(r->pid);
	len = gp_encode_output(b, sizeof(b), 1, &o);
	/* Newer kernels refuse them for the runner; then without. */
	if (passfd_send(p->fd, b, len, 2, 16, 0) == -1) {
		ATF_REQUIRE_EQ(EPERM, errno);
		ATF_REQUIRE_EQ(len, passfd_send(p->fd, b, len, 2, 0, 0));
	}
	player_exit(p, 1, 0, 3, 0);
	ATF_REQUIRE_EQ(3, from_store(r, MSG_ENDED)->u.ended.length1);
	ATF_REQUIRE_EQ(before, count_files(r->pid));
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

/* Frames with bytes turned at random: whatever they mean, we live. */
ATF_TC_WITHOUT_HEAD(random_bytes);
ATF_TC_BODY(random_bytes, tc)
{
	struct rig	*r = rig_new();
	struct player	*good, *p;
	struct gp_output o = { .stream = GP_STDOUT, .data =
			    (const uint8_t *)"hello", .len = 5 };
	struct gp_started st = { .pid = 3 };
	struct gp_state	 s = { .state = GP_ST_RUNNING };
	struct gp_input_ack a = { .off = 0 };
	struct gp_exit	 e = { .kind = GP_EXITED, .out_len = 5 };
	struct gp_frame	 f;
	uint8_t		 b[1024];
	uint32_t	 seed = 1;
	size_t		 len;
	int		 i, j;

	rig_start(r);
	good = boot(r, 1);
	for (i = 0; i < 300; i++) {
		p = boot(r, 2);
		start_exec(r, 2, 1, EXEC_INPUT, 0);
		player_frame(p, GP_START, &f);
		len = gp_encode_started(b, sizeof(b), 1, &st);
		len += gp_encode_output(b + len, sizeof(b) - len, 1, &o);
		len += gp_encode_input_ack(b + len, sizeof(b) - len, 1, &a);
		len += gp_encode_state(b + len, sizeof(b) - len, 1, &s);
		len += gp_encode_exit(b + len, sizeof(b) - len, 1, &e);
		for (j = 0; j <= i % 4; j++) {
			seed = seed * 1664525 + 1013904223;
			b[(seed >> 8) % len] ^= 1 << (seed >> 28) % 8;
		}
		player_send(p, b, len);
		shutdown(p->fd, SHUT_WR);
		ATF_REQUIRE(player_eof(p));
		unlisten(r, 2);
		ref_exec(r, MSG_LOG_REMOVE, 2, 0, 0, 0);
		player_free(p);
		if (i % 50 == 49)
			good_exec(r, good, i);
	}
	player_free(good);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, guest_lies);
	ATF_TP_ADD_TC(tp, hello_lies);
	ATF_TP_ADD_TC(tp, versions);
	ATF_TP_ADD_TC(tp, stranger);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, flood);
	ATF_TP_ADD_TC(tp, crumbs);
	ATF_TP_ADD_TC(tp, flapping);
	ATF_TP_ADD_TC(tp, half_frame);
	ATF_TP_ADD_TC(tp, random_bytes);
	ATF_TP_ADD_TC(tp, rush);
	ATF_TP_ADD_TC(tp, silent);
	return (atf_no_error());
}
