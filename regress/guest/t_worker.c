/*
 * PID 1's side of calls, when their workers or the kernel do not take what
 * they are to have.  The workers are played here: what is written to one
 * stands in ends[], in the order in which they were made.
 */

#include <sys/socket.h>
#include <sys/types.h>

#include <atf-c.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "marks.c"

#define PLAYED	8

static int	 ends[PLAYED];
static int	 nends;
static int	 no_memory;	/* sends that fail, and all if below 0 */

struct guest	 g;

static int
t_socketpair(int domain, int type, int protocol, int sv[2])
{
	ATF_REQUIRE(nends < PLAYED);
	if (socketpair(domain, type, protocol, sv) == -1)
		return (-1);
	ATF_REQUIRE((ends[nends++] = dup(sv[1])) != -1);
	return (0);
}

static ssize_t
t_send(int fd, const void *p, size_t len, int flags)
{
	if (no_memory != 0) {
		no_memory -= no_memory > 0;
		errno = ENOBUFS;
		return (-1);
	}
	return (send(fd, p, len, flags));
}

static int
t_kill(pid_t pid, int sig)
{
	(void)pid;
	(void)sig;
	return (0);
}

#define socketpair	t_socketpair
#define send		t_send
#define kill		t_kill
#include "call.c"
#include "call_worker.c"
#include "call_own.c"
#undef send
#undef socketpair
#include "pour.c"

pid_t
fork_expendable(void)
{
	return (1000 + nends);
}

int
watch_fd(int fd, enum source src, uint32_t slot, uint32_t edge)
{
	(void)fd;
	(void)src;
	(void)slot;
	(void)edge;
	return (0);
}

void
watch_more(int fd, enum source src, uint32_t slot, int more)
{
	(void)fd;
	(void)src;
	(void)slot;
	(void)more;
}

uint8_t *
ring_get(void)
{
	return (malloc(GP_WINDOW));
}

void
ring_put(uint8_t *p, int keep)
{
	(void)keep;
	free(p);
}

void
worker_main(void)
{
	_exit(1);
}

void
close_from(int fd)
{
	(void)fd;
}

void
confine_undo(void)
{
}

void
changed_meet(const struct exec *e)
{
	(void)e;
}

int
changed_take(uint64_t k, const uint8_t *p, size_t len)
{
	(void)k;
	(void)p;
	(void)len;
	return (0);
}

void
changed_end(uint64_t k, enum code code, const char *why, int fd)
{
	(void)k;
	(void)code;
	(void)why;
	(void)fd;
}

static uint8_t	 frame[GP_HDRLEN + 64 + GP_MAX_DATA];

static struct gp_frame
framed(ssize_t n)
{
	struct gp_frame	 f;

	ATF_REQUIRE(n > 0);
	ATF_REQUIRE_EQ(1, gp_get(&f, frame, n, GP_RUNNER));
	return (f);
}

static void
start(uint64_t k)
{
	struct gp_call	 m;
	struct gp_frame	 f;

	memset(&m, 0, sizeof(m));
	m.op = CALL_WRITE;
	m.path = "x";
	m.path2 = m.pattern = m.filter = "";
	f = framed(gp_encode_call(frame, sizeof(frame), k | GP_CALL_BIT, &m));
	ATF_REQUIRE_EQ(0, call_start(&f));
}

static void
input(uint64_t k, uint64_t off)
{
	static uint8_t	 data[GP_MAX_DATA];
	struct gp_input	 m = { .off = off, .data = data, .len = sizeof(data) };
	struct gp_frame	 f;

	f = framed(gp_encode_input(frame, sizeof(frame), k | GP_CALL_BIT, &m));
	ATF_REQUIRE_EQ(0, call_input(&f));
}

/* The next packet that a worker has: whose call it is, if it is a CALL. */
static uint64_t
started(int worker)
{
	struct gp_frame	 f;
	ssize_t		 n;

	n = recv(ends[worker], frame, sizeof(frame), MSG_DONTWAIT);
	if (n <= 0)
		return (0);
	f = framed(n);
	return (f.type == GP_CALL ? f.k & ~GP_CALL_BIT : 0);
}

/* A worker is ready with its call. */
static void
ready(int worker, uint64_t k)
{
	struct gp_call_end	 m;
	ssize_t			 n;
	uint32_t		 slot;

	memset(&m, 0, sizeof(m));
	m.text = "";
	n = gp_encode_call_end(frame, sizeof(frame), k | GP_CALL_BIT, &m);
	ATF_REQUIRE(n > 0);
	ATF_REQUIRE_EQ_MSG(n, send(ends[worker], frame, n, 0), "worker %d: %s",
	    worker, strerror(errno));
	for (slot = 0; calls[slot].k != (k | GP_CALL_BIT); slot++)
		ATF_REQUIRE(slot < WORKERS - 1);
	call_event(slot, EPOLLIN);
}

/* What the runner hears: the end of k with that code, and nothing of others. */
static void
told(uint64_t k, enum code code)
{
	struct gp_call_end	 m;
	struct gp_frame		 f;
	static uint8_t		 buf[GP_MAX_FROM_GUEST];
	ssize_t			 n;

	while ((n = call_fill(buf, sizeof(buf))) > 0) {
		ATF_REQUIRE_EQ(1, gp_get(&f, buf, n, GP_GUEST));
		if (f.type == GP_CALL_END)
			break;
	}
	ATF_REQUIRE_MSG(n > 0, "nothing is told of %d", (int)k);
	ATF_REQUIRE_EQ(0, gp_decode_call_end(&m, &f));
	ATF_CHECK_EQ(k, f.k & ~GP_CALL_BIT);
	ATF_CHECK_EQ_MSG(code, m.code, "%d: %s", m.code, m.text);
}

static void
told_nothing(void)
{
	static uint8_t	 buf[GP_MAX_FROM_GUEST];

	ATF_CHECK_EQ(0, call_fill(buf, sizeof(buf)));
}

/* A call that failed early has left more input than its worker has read. */
ATF_TC_WITHOUT_HEAD(stale);
ATF_TC_BODY(stale, tc)
{
	uint64_t	 off;

	(void)tc;
	start(1);
	ATF_CHECK_EQ(1, started(0));
	for (off = 0; !calls[0].blocked; off += GP_MAX_DATA)
		input(1, off);
	ready(0, 1);
	told(1, CODE_OK);
	/* The next has nothing to do with that. */
	start(2);
	told_nothing();
	ATF_REQUIRE_EQ(2, nends);
	ATF_CHECK_EQ(2, started(1));
	ready(1, 2);
	told(2, CODE_OK);
}

/* It takes the next call, but what was in its way is still told of. */
ATF_TC_WITHOUT_HEAD(blocked);
ATF_TC_BODY(blocked, tc)
{
	uint64_t	 off;

	(void)tc;
	start(1);
	ATF_CHECK_EQ(1, started(0));
	for (off = 0; !calls[0].blocked; off += GP_MAX_DATA)
		input(1, off);
	ready(0, 1);
	told(1, CODE_OK);
	while (recv(ends[0], frame, sizeof(frame), MSG_DONTWAIT) > 0)
		;
	start(2);
	ATF_CHECK_EQ(1, nends);
	ATF_CHECK_EQ(2, started(0));
	ATF_CHECK_MSG(calls[0].blocked, "its socket is watched for ever");
	input(2, 0);
	call_event(0, EPOLLOUT);
	ATF_CHECK_EQ(0, calls[0].blocked);
	ATF_CHECK(recv(ends[0], frame, sizeof(frame), MSG_DONTWAIT) >
	    GP_MAX_DATA);
}

/* One that died while it waited is no affair of the next call. */
ATF_TC_WITHOUT_HEAD(died);
ATF_TC_BODY(died, tc)
{
	(void)tc;
	start(1);
	ready(0, 1);
	told(1, CODE_OK);
	close(ends[0]);
	start(2);
	told_nothing();
	ATF_REQUIRE_EQ(2, nends);
	ATF_CHECK_EQ(2, started(1));
}

/* No memory for a packet of the input: the call ends, and does not stand. */
ATF_TC_WITHOUT_HEAD(memory);
ATF_TC_BODY(memory, tc)
{
	struct gp_input_end	 e = { .total = 0 };
	struct gp_frame		 f;
	uint64_t		 off;

	(void)tc;
	start(1);
	no_memory = 1;
	input(1, 0);
	told(1, CODE_LIMIT_EXCEEDED);
	told_nothing();

	/* The end of the input alone. */
	start(2);
	no_memory = 1;
	f = framed(gp_encode_input_end(frame, sizeof(frame), 2 | GP_CALL_BIT,
	    &e));
	ATF_REQUIRE_EQ(0, call_input_end(&f));
	told(2, CODE_LIMIT_EXCEEDED);

	/* What was kept, when there is room again. */
	start(3);
	for (off = 0; !calls[0].blocked; off += GP_MAX_DATA)
		input(3, off);
	no_memory = -1;
	call_event(0, EPOLLOUT);
	no_memory = 0;
	told(3, CODE_LIMIT_EXCEEDED);
	start(4);
	told_nothing();
}

/* Worker 0 says the head of output of call 1, with a descriptor or -1. */
static void
says(uint64_t off, size_t len, int fd)
{
	struct gp_output m = { GP_STDOUT, off, NULL, len };
	uint8_t		 buf[GP_OUTPUT_HEAD];
	ssize_t		 n;

	n = gp_encode_output_head(buf, sizeof(buf), 1 | GP_CALL_BIT, &m);
	ATF_REQUIRE_EQ(GP_OUTPUT_HEAD, n);
	ATF_REQUIRE_EQ(n, packet_put(ends[0], buf, n, fd, 0));
	call_event(0, EPOLLIN);
}

static uint8_t	 poured[GP_MAX_DATA];

static void
make_pipe(int *p, size_t len)
{
	size_t	 i;

	for (i = 0; i < sizeof(poured); i++)
		poured[i] = i * 7 + i / 251;
	ATF_REQUIRE_EQ(0, pipe(p));
	ATF_REQUIRE_EQ((ssize_t)len, write(p[1], poured, len));
}

/* The frame's head is due, and then so many bytes of the pipe. */
static void
pours(size_t from, size_t len)
{
	static uint8_t	 buf[GP_MAX_DATA];
	size_t		 got = 0;
	ssize_t		 n;
	int		 s[2];

	ATF_REQUIRE_EQ(GP_OUTPUT_HEAD, call_fill(frame, sizeof(frame)));
	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    s));
	ATF_CHECK(pour_busy());
	while (pour_busy()) {
		ATF_REQUIRE_EQ(1, pour_out(s[0]));
		while ((n = recv(s[1], buf + got, sizeof(buf) - got, 0)) > 0)
			got += n;
	}
	ATF_CHECK_EQ(len, got);
	ATF_CHECK(memcmp(buf, poured + from, len) == 0);
	close(s[0]);
	close(s[1]);
}

/* Nobody holds the other end of a pipe any more. */
static int
alone(int w)
{
	ATF_REQUIRE(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	return (write(w, "x", 1) == -1 && errno == EPIPE);
}

/* Output that lies in a pipe, which comes with the first head. */
ATF_TC_WITHOUT_HEAD(pour);
ATF_TC_BODY(pour, tc)
{
	int	 p[2];

	(void)tc;
	start(1);
	make_pipe(p, 50000);
	says(0, 30000, p[0]);
	close(p[0]);
	pours(0, 30000);
	says(30000, 20000, -1);
	pours(30000, 20000);
	ATF_CHECK_EQ(50000, calls[0].sent);
	ATF_CHECK(!alone(p[1]));
	/* The worker is kept, and nothing of this. */
	call_release(&calls[0]);
	ATF_CHECK(alone(p[1]));
}

/* A head was passed on, of what is in a pipe. */
static void
promised(int p[2])
{
	start(1);
	make_pipe(p, 50000);
	says(0, 50000, p[0]);
	ATF_REQUIRE_EQ(GP_OUTPUT_HEAD, call_fill(frame, sizeof(frame)));
}

/* What was promised to the link leaves, though nobody wants the call. */
ATF_TC_WITHOUT_HEAD(pour_left);
ATF_TC_BODY(pour_left, tc)
{
	static uint8_t	 buf[GP_MAX_DATA];
	int		 p[2], s[2], fill;

	(void)tc;
	promised(p);
	close(p[0]);
	call_abort(&calls[0], CODE_CANCELLED, "cancelled");
	ATF_CHECK(!alone(p[1]));
	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    s));
	/* A link that takes nothing just now is waited for. */
	while (send(s[0], buf, sizeof(buf), 0) > 0)
		continue;
	for (fill = 1; fill == 1;)
		fill = pour_out(s[0]);
	ATF_CHECK_EQ(0, fill);
	while (recv(s[1], buf, sizeof(buf), 0) > 0)
		continue;
	while (pour_busy()) {
		ATF_REQUIRE(pour_out(s[0]) != -1);
		(void)recv(s[1], buf, sizeof(buf), 0);
	}
	ATF_CHECK(alone(p[1]));
	told(1, CODE_CANCELLED);
}

/* And if the link is lost first, nothing of it is kept. */
ATF_TC_WITHOUT_HEAD(pour_lost);
ATF_TC_BODY(pour_lost, tc)
{
	int	 p[2];

	(void)tc;
	promised(p);
	close(p[0]);
	call_leave(&calls[0]);
	ATF_CHECK(!alone(p[1]));
	pour_down();
	ATF_CHECK(!pour_busy());
	ATF_CHECK(alone(p[1]));
}

/* Somebody else has emptied it: the link cannot be held up for that. */
ATF_TC_WITHOUT_HEAD(pour_drained);
ATF_TC_BODY(pour_drained, tc)
{
	static uint8_t	 buf[GP_MAX_DATA];
	int		 p[2], s[2];

	(void)tc;
	promised(p);
	ATF_REQUIRE_EQ(50000, read(p[0], buf, sizeof(buf)));
	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    s));
	ATF_CHECK_EQ(-1, pour_out(s[0]));
}

/*
 * Heads of a worker that lies: of more than there is, of what is not next, of
 * a file that is not there, of one while another is under way, of a socket.
 * Its call ends, and nothing is promised.
 */
static const struct lie {
	uint64_t	 off;
	uint32_t	 len;		/* that it says of */
	int		 has;		/* bytes in the file, -1: none comes */
	int		 before;	/* of one that is true, first */
	int		 socket;
} lies[] = {
	{ 0, 101, 100, 0, 0 },
	{ 1, 10, 100, 0, 0 },
	{ 0, 10, -1, 0, 0 },
	{ 10, 10, 100, 10, 0 },
	{ 0, 2, 2, 0, 1 },
};

static void
lie(const struct lie *l)
{
	int	 p[2] = { -1, -1 }, q[2];

	start(1);
	if (l->before > 0) {
		make_pipe(q, 100);
		says(0, l->before, q[0]);
		pours(0, l->before);
		close(q[0]);
	}
	if (l->socket) {
		ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, p));
		ATF_REQUIRE_EQ(l->has, write(p[1], "xx", l->has));
	} else if (l->has >= 0)
		make_pipe(p, l->has);
	says(l->off, l->len, p[0]);
	close(p[0]);
	told(1, CODE_IO_ERROR);
	ATF_CHECK(!pour_busy());
	told_nothing();
	if (p[1] != -1)
		ATF_CHECK(alone(p[1]));
	if (l->before > 0)
		ATF_CHECK(alone(q[1]));
}

#define LIE(name, i)							\
	ATF_TC_WITHOUT_HEAD(name);					\
	ATF_TC_BODY(name, tc)						\
	{								\
		(void)tc;						\
		lie(&lies[i]);						\
	}

LIE(pour_short, 0)
LIE(pour_gap, 1)
LIE(pour_none, 2)
LIE(pour_second, 3)
LIE(pour_socket, 4)

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, stale);
	ATF_TP_ADD_TC(tp, blocked);
	ATF_TP_ADD_TC(tp, died);
	ATF_TP_ADD_TC(tp, memory);
	ATF_TP_ADD_TC(tp, pour);
	ATF_TP_ADD_TC(tp, pour_left);
	ATF_TP_ADD_TC(tp, pour_lost);
	ATF_TP_ADD_TC(tp, pour_drained);
	ATF_TP_ADD_TC(tp, pour_short);
	ATF_TP_ADD_TC(tp, pour_gap);
	ATF_TP_ADD_TC(tp, pour_none);
	ATF_TP_ADD_TC(tp, pour_second);
	ATF_TP_ADD_TC(tp, pour_socket);
	return (atf_no_error());
}
