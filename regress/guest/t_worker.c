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
#undef send

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

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, stale);
	ATF_TP_ADD_TC(tp, blocked);
	ATF_TP_ADD_TC(tp, died);
	ATF_TP_ADD_TC(tp, memory);
	return (atf_no_error());
}
