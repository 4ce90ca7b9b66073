/* The runner away, back, and hostile.  regress-srcs: harness.c */

#include <sys/socket.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "passfd.h"
#include "usage.h"

ROOT_TC(cuts, "fifty cuts during output: each byte once, the true end")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	uint64_t	 boot;
	char		 line[32];
	size_t		 off = 0;
	int		 i, n;

	(void)tc;
	rig_boot(r);
	boot = r->hello.boot;
	rig_sh(r, 1, 0, 0, 0, "i=0; while [ $i -lt 60000 ]; do "
	    "echo line $i; i=$((i + 1)); done; exit 42");
	for (n = 0; n < 50 && !j->ended; n++) {
		for (i = 0; i <= n % 7 && !j->ended; i++)
			rig_pump(r, 1000);
		if (j->ended)
			break;
		rig_again(r);
		ATF_REQUIRE_EQ(boot, r->hello.boot);
		ATF_REQUIRE_EQ(1, r->nstates);
		ATF_REQUIRE(r->states[0].out <= j->out[0].len);
		rig_resume(r, 1);
	}
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(42, j->ex.code);
	for (i = 0; i < 60000; i++) {
		n = snprintf(line, sizeof(line), "line %d\n", i);
		ATF_REQUIRE(off + n <= j->out[0].len);
		ATF_REQUIRE(memcmp(j->out[0].data + off, line, n) == 0);
		off += n;
	}
	ATF_CHECK_EQ(off, j->out[0].len);
	rig_end(r);
}

ROOT_TC(away, "commands go on, and their ends are kept")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	struct job	*big = &r->jobs[2];
	char		 path[160];
	double		 end = rig_now() + 60;

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, 0, 0, 0, "while [ ! -e go ]; do sleep 0.02; done;"
	    "echo words; echo errors >&2; touch done; exit 11");
	rig_sh(r, 2, 0, 0, 0, "while [ ! -e go ]; do sleep 0.02; done;"
	    "head -c 1000000 /dev/zero; exit 12");
	rig_until(r, &j->started);
	rig_until(r, &big->started);
	rig_cut(r);
	file_put(r, "go", "", 0644);
	snprintf(path, sizeof(path), "%s/done", r->work);
	while (access(path, F_OK) == -1) {
		usleep(10000);
		ATF_REQUIRE(rig_now() < end);
	}
	rig_listen(r);
	rig_accept(r);
	ATF_CHECK_EQ(2, r->hello.last);
	rig_welcome(r);
	ATF_CHECK_EQ(2, r->nstates);
	rig_resume(r, 1);
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(11, j->ex.code);
	ATF_CHECK(buf_is(&j->out[0], "words\n"));
	ATF_CHECK(buf_is(&j->out[1], "errors\n"));
	ATF_CHECK_EQ(0, big->out[0].len);
	rig_resume(r, 2);
	rig_until(r, &big->ended);
	ATF_CHECK_EQ(1000000, big->out[0].len);
	ATF_CHECK_EQ(12, big->ex.code);
	/* The same end on each connection, until it is forgotten. */
	rig_again(r);
	rig_resume(r, 1);
	j->ended = 0;
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(2, j->nexits);
	ATF_CHECK_EQ(11, j->ex.code);
	rig_forget(r, 1);
	rig_again(r);
	ATF_CHECK_EQ(1, r->nstates);
	ATF_CHECK_EQ(2, r->states_k[0]);
	rig_end(r);
}

ROOT_TC(timeout_away, "a timeout needs no runner")
{
	struct rig	*r = rig_new();

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, 0, 500, 0, "sleep 1000");
	rig_until(r, &r->jobs[1].started);
	rig_cut(r);
	rig_wait_procs(r, 0);
	rig_listen(r);
	rig_accept(r);
	rig_welcome(r);
	rig_resume(r, 1);
	rig_until(r, &r->jobs[1].ended);
	ATF_CHECK_EQ(GP_TIMED_OUT, r->jobs[1].ex.kind);
	rig_end(r);
}

/* The guest hangs up on it, comes back, and works. */
static void
hostile(struct rig *r, const void *data, ssize_t len)
{
	double	 end = rig_now() + 60;

	rig_send(r, data, len);
	while (!r->eof) {
		rig_pump(r, 1000);
		ATF_REQUIRE_MSG(rig_now() < end, "it swallowed that");
	}
	rig_again(r);
	rig_sync(r);
}

static void
raw(struct rig *r, uint32_t len, uint16_t type, uint16_t zero, uint64_t k,
    size_t sent)
{
	static uint8_t	 buf[GP_MAX_FROM_RUNNER];
	size_t		 i;

	memset(buf, 0, sizeof(buf));
	for (i = 0; i < 4; i++)
		buf[i] = len >> 8 * i;
	buf[4] = type;
	buf[5] = type >> 8;
	buf[6] = zero;
	for (i = 0; i < 8; i++)
		buf[8 + i] = k >> 8 * i;
	hostile(r, buf, GP_HDRLEN + sent);
}

static void
hostile_ack(struct rig *r, uint64_t k, uint64_t off)
{
	struct gp_ack	 m = { .stream = GP_STDOUT, .off = off };
	uint8_t		 buf[64];

	hostile(r, buf, gp_encode_ack(buf, sizeof(buf), k, &m));
}

static void
hostile_input(struct rig *r, uint64_t k, uint64_t off)
{
	static uint8_t	 buf[GP_MAX_FROM_RUNNER], data[GP_MAX_DATA];
	struct gp_input	 m = { .off = off, .data = data, .len = 100 };

	hostile(r, buf, gp_encode_input(buf, sizeof(buf), k, &m));
}

ROOT_TC(garbage, "frames that are none end the connection, not the guest")
{
	struct rig		*r = rig_new();
	struct gp_hello		 hello = { .release = "x" };
	struct gp_welcome	 welcome = { .version = GP_VERSION };
	uint8_t			 buf[256];
	uint64_t		 boot;

	(void)tc;
	rig_boot(r);
	boot = r->hello.boot;
	rig_sh(r, 1, 0, 0, 0, "echo ten bytes; sleep 1000");
	rig_until(r, &r->jobs[1].started);
	rig_sh(r, 2, GP_START_INPUT, 0, 0, "sleep 1000");
	rig_until(r, &r->jobs[2].started);
	raw(r, 0xffffffff, GP_START, 0, 3, 0);
	raw(r, GP_MAX_FROM_RUNNER, GP_START, 0, 3, 0);
	raw(r, 4, GP_WELCOME + 100, 0, 0, 4);
	raw(r, 0, 0, 0, 0, 0);
	raw(r, 8, GP_PING, 1, 0, 8);
	raw(r, 8, GP_PING, 0, 7, 8);
	raw(r, 4, GP_CANCEL, 0, 0, 4);
	raw(r, 7, GP_PING, 0, 0, 7);
	raw(r, 8, GP_SIGNAL, 0, 1, 8);
	raw(r, 300, GP_START, 0, 3, 300);
	raw(r, 12, GP_ACK, 0, 1, 12);
	hostile(r, buf, gp_encode_hello(buf, sizeof(buf), &hello));
	hostile(r, buf, gp_encode_welcome(buf, sizeof(buf), &welcome));
	ATF_CHECK_EQ(boot, r->hello.boot);
	rig_end(r);
}

ROOT_TC(offsets, "acknowledgements and input beyond what there is")
{
	struct rig	*r = rig_new();

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, 0, 0, 0, "echo ten bytes; sleep 1000");
	rig_until(r, &r->jobs[1].started);
	rig_sh(r, 2, GP_START_INPUT, 0, 0, "sleep 1000");
	rig_until(r, &r->jobs[2].started);
	while (r->jobs[1].out[0].len < 10)
		ATF_REQUIRE(rig_pump(r, 60000));
	rig_resume(r, 1);
	rig_until(r, &r->jobs[1].known);
	hostile_ack(r, 1, 11);
	rig_resume(r, 1);
	rig_until(r, &r->jobs[1].known);
	hostile_ack(r, 1, UINT64_MAX);
	/* A hole in the input, and input for one that has none. */
	hostile_input(r, 2, 1);
	hostile_input(r, 1, 0);
	rig_input_end(r, 2, 5);
	rig_sync(r);
	hostile_input(r, 2, 0);		/* a hundred bytes, five agreed */
	/* About what it does not know there is nothing to say. */
	rig_cancel(r, 77, 0);
	rig_signal(r, 77, SIGTERM, 0);
	rig_forget(r, 77);
	rig_input_end(r, 77, 0);
	rig_sync(r);
	ATF_CHECK_EQ(2, rig_run(r, 3, "exit 2")->ex.code);
	rig_end(r);
}

ROOT_TC(version, "who does not make it welcome is not run over")
{
	struct rig		*r = rig_new();
	struct gp_welcome	 m = { .version = GP_VERSION + 1 };
	struct pollfd		 pfd;
	uint8_t			 buf[64];
	char			 path[128];
	double			 end;
	int			 n;

	(void)tc;
	rig_listen(r);
	rig_guest(r);
	rig_accept(r);
	rig_send(r, buf, gp_encode_welcome(buf, sizeof(buf), &m));
	while (!r->eof)
		rig_pump(r, 1000);
	rig_cut(r);
	/* A listener that hangs up at once: not a hundred times a second. */
	rig_listen(r);
	pfd.fd = r->lfd;
	pfd.events = POLLIN;
	for (n = 0, end = rig_now() + 1; rig_now() < end;)
		if (poll(&pfd, 1, 50) == 1) {
			close(accept(r->lfd, NULL, NULL));
			n++;
		}
	ATF_CHECK(n < 20);
	close(r->lfd);
	snprintf(path, sizeof(path), "%s/" GUEST_SOCKNAME, r->run);
	unlink(path);
	/* A new socket is another matter: now. */
	rig_listen(r);
	rig_accept(r);
	rig_welcome(r);
	rig_sync(r);
	rig_end(r);
}

ROOT_TC(late, "the guest waits for its socket, and for its directory")
{
	struct rig	*r = rig_new();
	char		 old[128];

	(void)tc;
	rig_guest(r);
	usleep(100000);		/* a start without a socket, most likely */
	rig_listen(r);
	rig_accept(r);
	rig_welcome(r);
	/* A dead listener's socket lies there, and is replaced. */
	rig_cut(r);
	rig_listen(r);
	close(r->lfd);
	rig_listen(r);
	rig_accept(r);
	rig_welcome(r);
	/* Without a directory there is no watch, but time. */
	snprintf(old, sizeof(old), "%s/run.old", r->dir);
	ATF_REQUIRE(rename(r->run, old) == 0);
	rig_cut(r);
	usleep(100000);
	ATF_REQUIRE(rename(old, r->run) == 0);
	rig_listen(r);
	rig_accept(r);
	rig_welcome(r);
	ATF_CHECK_EQ(3, rig_run(r, 1, "exit 3")->ex.code);
	rig_end(r);
}

/*
 * One descriptor lost in a round is ten in the end; how many reapers wait for
 * the next command at the time of the count, with two each, is chance.
 */
#define ROUNDS	11
#define WAITING	8

ROOT_TC(leaks, "nothing is left of what was forgotten")
{
	struct rig	*r = rig_new();
	uint64_t	 k = 1;
	int		 i, before = 0;

	(void)tc;
	rig_boot(r);
	for (i = 0; i < ROUNDS; i++) {
		rig_run(r, k++, "exit 1");
		rig_run(r, k++, "head -c 400000 /dev/zero");
		rig_sh(r, k, 0, 0, 0, "sleep 1000 & exit 0");
		rig_until(r, &r->jobs[k].ended);
		rig_cancel(r, k, 0);
		rig_until(r, &r->jobs[k].nbg);
		rig_forget(r, k++);
		rig_run(r, k++, "kill -9 $PPID; sleep 0.05");
		rig_sh(r, k, GP_START_INPUT, 0, 0, "sleep 1000");
		rig_cancel(r, k, 0);
		rig_until(r, &r->jobs[k].ended);
		rig_forget(r, k++);
		rig_again(r);
		ATF_CHECK_EQ(0, r->nstates);
		rig_sync(r);
		rig_wait_procs(r, 0);
		/* The spare is made when the loop has nothing else to do. */
		rig_sync(r);
		rig_sync(r);
		if (i == 0)
			before = usage_fds(r->pid);
		else
			ATF_CHECK(usage_fds(r->pid) <= before + WAITING);
	}
	rig_end(r);
}

ROOT_TC(descriptors, "a descriptor that comes with a frame is thrown away")
{
	struct rig		*r = rig_new();
	struct gp_ping		 m = { .cookie = 1 };
	uint8_t			 buf[64];
	ssize_t			 len;
	int			 before, p[2];
	char			 ch;

	(void)tc;
	rig_boot(r);
	rig_sync(r);
	before = usage_fds(r->pid);
	ATF_REQUIRE(pipe(p) == 0);
	len = gp_encode_ping(buf, sizeof(buf), &m);
	r->pongs = 0;
	ATF_REQUIRE(passfd_send(r->fd, buf, len, p[1], 1, 0) > 0);
	rig_until(r, &r->pongs);
	close(p[1]);
	ATF_CHECK_EQ(0, read(p[0], &ch, 1));
	/* The spare may have been made meanwhile. */
	ATF_CHECK(usage_fds(r->pid) <= before + WAITING);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, cuts);
	ATF_TP_ADD_TC(tp, away);
	ATF_TP_ADD_TC(tp, timeout_away);
	ATF_TP_ADD_TC(tp, garbage);
	ATF_TP_ADD_TC(tp, offsets);
	ATF_TP_ADD_TC(tp, version);
	ATF_TP_ADD_TC(tp, late);
	ATF_TP_ADD_TC(tp, leaks);
	ATF_TP_ADD_TC(tp, descriptors);
	return (atf_no_error());
}
