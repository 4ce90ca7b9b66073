/*
 * Input: no byte lost or doubled, and no end that was not said.
 *
 * regress-srcs: harness.c
 */

#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define INPUT	(EXEC_ATTACH | EXEC_INPUT)

static void
ack(struct player *p, uint64_t off, uint32_t flags)
{
	struct gp_input_ack	 a = { .off = off, .flags = flags };
	uint8_t			 b[64];

	player_send(p, b, gp_encode_input_ack(b, sizeof(b), 1, &a));
}

/* The exec's start, and the pipe of its input; r->req is its request. */
static int
started(struct rig *r, struct player *p)
{
	struct gp_start	 s;
	struct gp_frame	 f;
	struct got	*g;
	int		 fd;

	start_exec(r, p->n, 1, INPUT, 0);
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(0, gp_decode_start(&s, &f));
	ATF_REQUIRE(s.flags & GP_START_INPUT);
	player_started(p, 1, 5);
	g = from_frontend(r, PROTO_STREAM);
	ATF_REQUIRE_EQ(0, g->u.stream.stream);
	ATF_REQUIRE_EQ(0, g->u.stream.offset);
	ATF_REQUIRE_EQ(SESSION, g->session);
	ATF_REQUIRE_EQ(r->req, g->req);
	fd = g->fd;
	g->fd = -1;
	/* A plain pipe, that blocks. */
	ATF_REQUIRE_EQ(O_WRONLY, fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
	return (fd);
}

/* Takes input up to an offset, without a word. */
static void
take(struct player *p, uint8_t *data, uint64_t *off, uint64_t to)
{
	struct gp_frame	 f;
	struct gp_input	 in;

	while (*off < to) {
		player_frame(p, GP_INPUT, &f);
		ATF_REQUIRE_EQ(0, gp_decode_input(&in, &f));
		ATF_REQUIRE_EQ(*off, in.off);
		ATF_REQUIRE(in.off + in.len <= to);
		memcpy(data + in.off, in.data, in.len);
		*off += in.len;
	}
}

static void
write_all(int fd, const uint8_t *data, size_t len)
{
	ssize_t	 n;

	while (len > 0) {
		ATF_REQUIRE((n = write(fd, data, len)) > 0);
		data += n;
		len -= n;
	}
}

ATF_TC_WITHOUT_HEAD(whole);
ATF_TC_BODY(whole, tc)
{
	const size_t	 len = 5 << 20;
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_frame	 f;
	struct gp_input	 in;
	struct gp_input_end e;
	uint8_t		*data = malloc(len), *back = malloc(len);
	uint64_t	 off = 0, told = 0;
	pid_t		 pid;
	int		 fd;

	pattern(data, len, 9);
	rig_start(r);
	p = boot(r, 1);
	fd = started(r, p);
	fflush(NULL);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		write_all(fd, data, len);
		_exit(0);
	}
	close(fd);
	while (off < len) {
		player_frame(p, GP_INPUT, &f);
		ATF_REQUIRE_EQ(0, gp_decode_input(&in, &f));
		ATF_REQUIRE_EQ(off, in.off);
		memcpy(back + off, in.data, in.len);
		off += in.len;
		ack(p, off, 0);
	}
	ATF_REQUIRE_EQ(0, memcmp(data, back, len));
	/* The pipe's end is no end; what the client is told is true. */
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	while (told < len) {
		uint64_t	 o = from_frontend(r,
				    PROTO_INPUT_ACK)->u.input_ack.offset;

		ATF_REQUIRE(o > told && o <= len);
		told = o;
	}
	rig_alive(r);
	ref_exec(r, MSG_INPUT_FINISH, 1, 1, len, 0);
	player_frame(p, GP_INPUT_END, &f);
	ATF_REQUIRE_EQ(0, gp_decode_input_end(&e, &f));
	ATF_REQUIRE_EQ(len, e.total);
	player_exit(p, 1, 0, 0, 0);
	(void)from_store(r, MSG_ENDED);
	player_free(p);
	rig_end(r);
}

/* The end is said before the bytes have come: they still come first. */
ATF_TC_WITHOUT_HEAD(end_first);
ATF_TC_BODY(end_first, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_frame	 f;
	uint8_t		 data[100], back[100];
	uint64_t	 off = 0;
	int		 fd;

	pattern(data, sizeof(data), 10);
	rig_start(r);
	p = boot(r, 1);
	fd = started(r, p);
	ref_exec(r, MSG_INPUT_FINISH, 1, 1, sizeof(data), 0);
	write_all(fd, data, 50);
	take(p, back, &off, 50);
	write_all(fd, data + 50, 50);
	close(fd);
	take(p, back, &off, 100);
	player_frame(p, GP_INPUT_END, &f);
	ATF_REQUIRE_EQ(0, memcmp(data, back, 100));
	player_free(p);
	rig_end(r);
}

/* The guest grants a window; beyond it the client's pipe fills up. */
ATF_TC_WITHOUT_HEAD(credit);
ATF_TC_BODY(credit, tc)
{
	const size_t	 len = 2 << 20;
	struct rig	*r = rig_new();
	struct player	*p;
	uint8_t		*data = malloc(len), *back = malloc(len);
	uint64_t	 off = 0, sent = 0;
	ssize_t		 n;
	int		 fd;

	pattern(data, len, 11);
	rig_start(r);
	p = boot(r, 1);
	fd = started(r, p);
	ATF_REQUIRE_EQ(0, fcntl(fd, F_SETFL, O_WRONLY | O_NONBLOCK));
	while (off < GP_WINDOW) {
		if ((n = write(fd, data + sent, len - sent)) > 0)
			sent += n;
		take(p, back, &off, sent < GP_WINDOW ? sent : GP_WINDOW);
	}
	/* Nothing was acknowledged: the pipe takes its size, no more. */
	while ((n = write(fd, data + sent, len - sent)) > 0)
		sent += n;
	ATF_REQUIRE_EQ(EAGAIN, errno);
	ATF_REQUIRE(sent <= GP_WINDOW +
	    (uint64_t)fcntl(fd, F_GETPIPE_SZ));
	ack(p, 1000, 0);
	take(p, back, &off, GP_WINDOW + 1000);
	ATF_REQUIRE_EQ(0, memcmp(data, back, off));
	close(fd);
	player_free(p);
	rig_end(r);
}

/* The command reads no more: the client learns it as from any pipe. */
ATF_TC_WITHOUT_HEAD(closed);
ATF_TC_BODY(closed, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	uint8_t		 data[1000], back[1000];
	uint64_t	 off = 0;
	int		 fd;

	rig_start(r);
	p = boot(r, 1);
	fd = started(r, p);
	write_all(fd, data, sizeof(data));
	take(p, back, &off, sizeof(data));
	ack(p, 500, GP_INPUT_CLOSED);
	ATF_REQUIRE_EQ(1000, from_frontend(r,
	    PROTO_INPUT_ACK)->u.input_ack.offset);
	ATF_REQUIRE_EQ(-1, write(fd, data, 1));
	ATF_REQUIRE_EQ(EPIPE, errno);
	player_exit(p, 1, 0, 0, 0);
	(void)from_store(r, MSG_ENDED);
	player_free(p);
	rig_end(r);
}

/* A new connection of the guest goes on where the guest says. */
ATF_TC_WITHOUT_HEAD(guest_back);
ATF_TC_BODY(guest_back, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_state	 s;
	struct gp_frame	 f;
	uint8_t		 data[1000], back[1000], b[128];
	uint64_t	 off = 0, one = 1;
	int		 fd;

	pattern(data, sizeof(data), 12);
	rig_start(r);
	p = boot(r, 1);
	fd = started(r, p);
	write_all(fd, data, 600);
	take(p, back, &off, 600);
	ack(p, 100, 0);
	player_cut(p);
	ATF_REQUIRE_EQ(0, from_store(r, MSG_GUEST_GONE)->u.gone.bye);
	write_all(fd, data + 600, 400);
	player_connect(p);
	memset(&s, 0, sizeof(s));
	s.state = GP_ST_RUNNING;
	s.pid = 5;
	s.in = 300;	/* the rest was under way, and is lost */
	player_hello(p, &s, &one, 1);
	ATF_REQUIRE_EQ(1, from_store(r, MSG_GUEST_HELLO)->u.hello.again);
	player_frame(p, GP_RESUME, &f);
	player_send(p, b, gp_encode_state(b, sizeof(b), 1, &s));
	off = 300;
	take(p, back, &off, 1000);
	ATF_REQUIRE_EQ(0, memcmp(data, back, 1000));
	ack(p, 1000, 0);
	while (from_frontend(r, PROTO_INPUT_ACK)->u.input_ack.offset < 1000)
		;
	close(fd);
	player_free(p);
	rig_end(r);
}

/* Another client takes the input over: the first one is told, and only it. */
ATF_TC_WITHOUT_HEAD(taken);
ATF_TC_BODY(taken, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct got	*g;
	uint8_t		 data[1000], back[1000];
	uint64_t	 off = 0;
	uint32_t	 first, req;
	int		 fd;

	pattern(data, sizeof(data), 17);
	rig_start(r);
	p = boot(r, 1);
	fd = started(r, p);
	first = r->req;
	write_all(fd, data, 600);
	take(p, back, &off, 600);
	req = read_exec(r, MSG_REATTACH, 1, 1, 1, 0, 0, NULL);
	g = from_frontend(r, PROTO_STALLED);
	ATF_REQUIRE_EQ(0, g->u.stalled.stream);
	ATF_REQUIRE_EQ(first, g->req);
	do {
		g = from_frontend(r, PROTO_STREAM);
	} while (g->req != req || g->u.stream.stream != 0);
	ATF_REQUIRE_EQ(600, g->u.stream.offset);
	/* The pipe of the first one has no reader any more. */
	ATF_REQUIRE(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	ATF_REQUIRE(write(fd, data, 1) == -1 && errno == EPIPE);
	write_all(g->fd, data + 600, 400);
	take(p, back, &off, 1000);
	ATF_REQUIRE_EQ(0, memcmp(data, back, 1000));
	none_frontend(r, PROTO_STALLED);
	close(fd);
	player_free(p);
	rig_end(r);
}

/* A client is lost; the next one goes on where the bytes ended. */
ATF_TC_WITHOUT_HEAD(client_back);
ATF_TC_BODY(client_back, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct got	*g;
	struct gp_frame	 f;
	struct gp_state	 s;
	uint8_t		 data[1000], back[1000], b[128];
	uint64_t	 off = 0, one = 1;
	uint32_t	 req;
	int		 fd;

	pattern(data, sizeof(data), 13);
	rig_start(r);
	p = boot(r, 1);
	fd = started(r, p);
	write_all(fd, data, 600);
	take(p, back, &off, 600);
	ack(p, 200, 0);
	say(r, MSG_SESSION_GONE, SESSION, 0, NULL);
	close(fd);
	req = read_exec(r, MSG_REATTACH, 1, 1, 1, 0, 0, NULL);
	do {
		g = from_frontend(r, PROTO_STREAM);
	} while (g->req != req);
	ATF_REQUIRE_EQ(600, g->u.stream.offset);
	write_all(g->fd, data + 600, 100);
	take(p, back, &off, 700);

	/* The same over a restart of ours: the guest knows how much it had. */
	rig_kill(r);
	player_cut(p);
	rig_start(r);
	listen_box(r, 1, p->boot, getpid());
	start_exec(r, 1, 1, INPUT & ~EXEC_ATTACH, 2);
	req = read_exec(r, MSG_REATTACH, 1, 1, 1, 0, 0, NULL);
	none_frontend(r, PROTO_STREAM);
	player_connect(p);
	memset(&s, 0, sizeof(s));
	s.state = GP_ST_RUNNING;
	s.pid = 5;
	s.in = 650;
	player_hello(p, &s, &one, 1);
	player_frame(p, GP_RESUME, &f);
	player_send(p, b, gp_encode_state(b, sizeof(b), 1, &s));
	g = from_frontend(r, PROTO_STREAM);
	ATF_REQUIRE_EQ(req, g->req);
	ATF_REQUIRE_EQ(650, g->u.stream.offset);
	write_all(g->fd, data + 650, 350);
	ref_exec(r, MSG_INPUT_FINISH, 1, 1, 1000, 0);
	off = 650;
	take(p, back, &off, 1000);
	player_frame(p, GP_INPUT_END, &f);
	ATF_REQUIRE_EQ(0, memcmp(data, back, 1000));
	player_free(p);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, whole);
	ATF_TP_ADD_TC(tp, end_first);
	ATF_TP_ADD_TC(tp, credit);
	ATF_TP_ADD_TC(tp, closed);
	ATF_TP_ADD_TC(tp, guest_back);
	ATF_TP_ADD_TC(tp, client_back);
	ATF_TP_ADD_TC(tp, taken);
	return (atf_no_error());
}
