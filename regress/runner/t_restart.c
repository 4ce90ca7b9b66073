/*
 * Restarts: of the runner, by SIGKILL, and of the guest's connection.
 *
 * regress-srcs: harness.c
 */

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

static void
send_state(struct player *p, uint64_t k, const struct gp_state *s)
{
	uint8_t	 b[128];

	player_send(p, b, gp_encode_state(b, sizeof(b), k, s));
}

static struct gp_state
state(uint32_t st, uint64_t out, uint64_t out_len)
{
	struct gp_state	 s;

	memset(&s, 0, sizeof(s));
	s.state = st;
	s.pid = 9;
	s.out = out;
	s.out_len = out_len;
	return (s);
}

/* Killed again and again while a command writes, the log is whole. */
ATF_TC_WITHOUT_HEAD(kill);
ATF_TC_BODY(kill, tc)
{
	const size_t	 len = 2 << 20;
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_state	 s;
	struct gp_resume rs;
	struct gp_frame	 f;
	struct msg_ended e;
	struct buf	 out = { 0 };
	uint8_t		*data = malloc(len);
	uint64_t	 at = 0, acked = 0, one = 1, gaps;
	uint32_t	 req;
	int		 i;

	pattern(data, len, 20);
	r->conf.log_exec = 8 << 20;
	rig_start(r);
	p = boot(r, 1);
	start_exec(r, 1, 1, 0, 0);
	player_frame(p, GP_START, &f);
	player_started(p, 1, 9);
	for (i = 1; i <= 8; i++) {
		ATF_REQUIRE_EQ(0, player_stream(p, 1, GP_STDOUT, data, &at,
		    len / 10 * i, &acked, 60000));
		rig_kill(r);
		player_cut(p);
		rig_start(r);
		listen_box(r, 1, p->boot, getpid());
		start_exec(r, 1, 1, 0, i % 2 ? 2 : 1);
		player_connect(p);
		s = state(GP_ST_RUNNING, acked, at);
		player_hello(p, &s, &one, 1);
		if (i % 2) {
			player_frame(p, GP_RESUME, &f);
			ATF_REQUIRE_EQ(0, gp_decode_resume(&rs, &f));
		} else {
			struct gp_start	 st;

			player_frame(p, GP_START, &f);
			ATF_REQUIRE_EQ(0, gp_decode_start(&st, &f));
			rs.out = st.out;
		}
		/* All that was acknowledged is in the log, maybe more. */
		ATF_REQUIRE(rs.out >= acked && rs.out <= at);
		at = acked = rs.out;
		s = state(GP_ST_RUNNING, at, at);
		send_state(p, 1, &s);
		ATF_REQUIRE_EQ(9, from_store(r, MSG_STARTED)->u.started.pid);
	}
	ATF_REQUIRE_EQ(0, player_stream(p, 1, GP_STDOUT, data, &at, len,
	    &acked, 60000));
	player_exit(p, 1, 42, len, 0);
	e = from_store(r, MSG_ENDED)->u.ended;
	ATF_REQUIRE_EQ(42, e.code);
	ATF_REQUIRE_EQ(len, e.length1);
	ATF_REQUIRE_EQ(0, e.dropped1);
	forget_exec(r, 1, 1);
	req = read_exec(r, MSG_READ, 1, 1, 1 << GP_STDOUT, 0, 0, &e);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE_EQ(len, out.len);
	ATF_REQUIRE_EQ(0, memcmp(out.data, data, len));
	player_free(p);
	rig_end(r);
}

/* The host lost the log's tail, the guest has what follows: a gap. */
ATF_TC_WITHOUT_HEAD(lost_tail);
ATF_TC_BODY(lost_tail, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_state	 s;
	struct gp_resume rs;
	struct gp_frame	 f;
	struct msg_ended e;
	struct buf	 out = { 0 };
	uint8_t		 data[1000];
	uint64_t	 one = 1, gaps;
	uint32_t	 req;

	pattern(data, sizeof(data), 21);
	rig_start(r);
	p = boot(r, 1);
	start_exec(r, 1, 1, 0, 0);
	player_frame(p, GP_START, &f);
	player_output(p, 1, GP_STDOUT, 0, data, 500);
	/* A reader has it: so has the log. */
	(void)read_exec(r, MSG_READ, 1, 1, 1 << GP_STDOUT, 0, 0, NULL);
	(void)from_frontend(r, PROTO_STREAM);
	rig_kill(r);
	ATF_REQUIRE_EQ(0, truncate(rig_path(r, "log/%d/1/1.1", OWNER), 300));
	player_cut(p);
	rig_start(r);
	listen_box(r, 1, p->boot, getpid());
	start_exec(r, 1, 1, 0, 2);
	player_connect(p);
	s = state(GP_ST_RUNNING, 500, 500);
	player_hello(p, &s, &one, 1);
	player_frame(p, GP_RESUME, &f);
	ATF_REQUIRE_EQ(0, gp_decode_resume(&rs, &f));
	ATF_REQUIRE_EQ(300, rs.out);
	send_state(p, 1, &s);
	player_output(p, 1, GP_STDOUT, 500, data + 500, 500);
	player_exit(p, 1, 0, 1000, 0);
	e = from_store(r, MSG_ENDED)->u.ended;
	ATF_REQUIRE_EQ(1000, e.length1);
	ATF_REQUIRE_EQ(200, e.dropped1);
	req = read_exec(r, MSG_READ, 1, 1, 1 << GP_STDOUT, 0, 0, &e);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE_EQ(200, gaps);
	ATF_REQUIRE_EQ(1000, out.len);
	ATF_REQUIRE_EQ(0, memcmp(out.data, data, 300));
	ATF_REQUIRE_EQ(0, memcmp(out.data + 500, data + 500, 500));
	/* The same from the disk alone. */
	rig_kill(r);
	rig_start(r);
	out.len = 0;
	req = read_exec(r, MSG_READ, 1, 1, 1 << GP_STDOUT, 0, 0, &e);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE_EQ(200, gaps);
	ATF_REQUIRE_EQ(0, memcmp(out.data + 500, data + 500, 500));
	player_free(p);
	rig_end(r);
}

/*
 * Ends, and orders to forget, that were under way when a connection broke.
 */
ATF_TC_WITHOUT_HEAD(ends);
ATF_TC_BODY(ends, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_state	 s[3];
	struct gp_frame	 f;
	uint64_t	 ks[3] = { 1, 2, 3 };

	rig_start(r);
	p = boot(r, 1);
	start_exec(r, 1, 1, 0, 0);
	start_exec(r, 1, 2, 0, 0);
	start_exec(r, 1, 3, 0, 0);
	player_frame(p, GP_START, &f);
	player_frame(p, GP_START, &f);
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(3, f.k);
	player_started(p, 3, 4);
	player_exit(p, 1, 1, 0, 0);
	ATF_REQUIRE_EQ(1, from_store(r, MSG_ENDED)->u.ended.k);
	player_cut(p);
	(void)from_store(r, MSG_GUEST_GONE);
	/* One ends while the guest is away; another is cancelled. */
	forget_exec(r, 1, 1);
	ref_exec(r, MSG_CANCEL, 1, 3, 0, 700);
	ref_exec(r, MSG_SIGNAL, 1, 3, 15, 0);
	player_connect(p);
	s[0] = state(GP_ST_ENDED, 0, 0);
	s[1] = state(GP_ST_ENDED, 0, 0);
	s[2] = state(GP_ST_RUNNING, 0, 0);
	player_hello(p, s, ks, 3);
	player_frame(p, GP_FORGET, &f);
	ATF_REQUIRE_EQ(1, f.k);
	player_frame(p, GP_START, &f);	/* it had no answer yet */
	ATF_REQUIRE_EQ(2, f.k);
	player_frame(p, GP_RESUME, &f);
	ATF_REQUIRE_EQ(3, f.k);
	player_frame(p, GP_CANCEL, &f);
	ATF_REQUIRE_EQ(3, f.k);
	player_frame(p, GP_SIGNAL, &f);
	send_state(p, 2, &s[1]);
	player_exit(p, 2, 2, 0, 0);
	send_state(p, 3, &s[2]);
	ATF_REQUIRE_EQ(2, from_store(r, MSG_ENDED)->u.ended.code);

	/* Ours: what the store does not name any more, has been committed. */
	rig_kill(r);
	player_cut(p);
	rig_start(r);
	listen_box(r, 1, p->boot, getpid());
	start_exec(r, 1, 3, 0, 2);
	player_connect(p);
	player_hello(p, s + 1, ks + 1, 2);
	player_frame(p, GP_RESUME, &f);
	ATF_REQUIRE_EQ(3, f.k);
	start_exec(r, 1, 4, 0, 0);
	player_frame(p, GP_FORGET, &f);
	ATF_REQUIRE_EQ(2, f.k);
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(4, f.k);
	/* The guest does not know one that the store believes in. */
	{
		struct gp_not_started	 ns = { GP_NS_UNKNOWN, 0 };
		uint8_t			 b[64];

		player_send(p, b, gp_encode_not_started(b, sizeof(b), 3,
		    &ns));
	}
	ATF_REQUIRE_EQ(3, from_store(r, MSG_REFUSED)->u.refused.k);
	player_free(p);
	rig_end(r);
}

/* Another boot of the guest: what ran is lost, what had not been sent runs. */
ATF_TC_WITHOUT_HEAD(reboot);
ATF_TC_BODY(reboot, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct got	*g;
	struct gp_frame	 f;

	rig_start(r);
	p = boot(r, 1);
	start_exec(r, 1, 1, EXEC_ATTACH, 0);
	player_frame(p, GP_START, &f);
	player_started(p, 1, 4);
	player_cut(p);
	(void)from_store(r, MSG_GUEST_GONE);
	start_exec(r, 1, 2, 0, 0);
	p->boot++;
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	g = from_store(r, MSG_GUEST_HELLO);
	ATF_REQUIRE_EQ(1, from_store(r, MSG_REFUSED)->u.refused.k);
	ATF_REQUIRE_EQ(1, from_frontend(r, MSG_STREAM_END)->req);
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(2, f.k);
	(void)g;
	player_free(p);
	rig_end(r);
}

/* Stop: the guest says BYE when all is forgotten, and a resume listens. */
ATF_TC_WITHOUT_HEAD(stop);
ATF_TC_BODY(stop, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct gp_stop	 s;
	struct gp_frame	 f;
	uint8_t		 b[64];

	rig_start(r);
	p = boot(r, 1);
	start_exec(r, 1, 1, 0, 0);
	player_frame(p, GP_START, &f);
	ref_exec(r, MSG_GUEST_STOP, 1, 0, 0, 1234);
	player_frame(p, GP_STOP, &f);
	ATF_REQUIRE_EQ(0, gp_decode_stop(&s, &f));
	ATF_REQUIRE_EQ(1234, s.grace);
	player_exit(p, 1, 0, 0, 0);
	(void)from_store(r, MSG_ENDED);
	forget_exec(r, 1, 1);
	player_frame(p, GP_FORGET, &f);
	player_send(p, b, gp_encode_bye(b, sizeof(b)));
	ATF_REQUIRE_EQ(1, from_store(r, MSG_GUEST_GONE)->u.gone.bye);
	ATF_REQUIRE(player_eof(p));
	ATF_REQUIRE(!rig_exists(r, "sock/1000/1/s"));
	player_cut(p);
	player_free(p);
	p = boot(r, 1);
	start_exec(r, 1, 2, 0, 0);
	player_frame(p, GP_START, &f);
	/* And unlistened while it runs: the reader has his end. */
	read_exec(r, MSG_READ, 1, 2, 1 << GP_STDOUT, 0, 0, NULL);
	{
		struct msg_listen	 m = { .n = 1, .owner = OWNER };

		say(r, MSG_UNLISTEN, 0, 0, &m);
	}
	ATF_REQUIRE_EQ(r->req, from_frontend(r, MSG_STREAM_END)->req);
	ATF_REQUIRE(player_eof(p));
	rig_alive(r);
	ATF_REQUIRE(!rig_exists(r, "sock/1000/1/s"));
	player_free(p);
	rig_end(r);
}

/* A guest in a process of its own, which does nothing but say hello. */
static pid_t
guest_process(struct player *p)
{
	pid_t	 pid;

	fflush(NULL);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid != 0)
		return (pid);
	/* Not longer than the test, however that ends. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	for (;;)
		pause();
}

static void
kill_process(pid_t pid)
{
	int	 status;

	ATF_REQUIRE_EQ(0, kill(pid, SIGKILL));
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
}

/* First the end of the connection, then that of the guest. */
static void
dies(struct rig *r, uint64_t boot)
{
	struct got	*g;

	g = from_store(r, MSG_GUEST_GONE);
	ATF_REQUIRE_EQ(0, g->u.gone.dead);
	g = from_store(r, MSG_GUEST_GONE);
	ATF_REQUIRE_EQ(2, g->u.gone.n);
	ATF_REQUIRE_EQ(1, g->u.gone.dead);
	ATF_REQUIRE_EQ(boot, g->u.gone.boot);
}

ATF_TC(death);
ATF_TC_HEAD(death, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(c25) the kernel says that a guest is dead, and it is told once");
}
ATF_TC_BODY(death, tc)
{
	struct rig	*r = rig_new();
	struct player	*p, *q;
	pid_t		 pid;
	uint64_t	 boot;

	rig_start(r);
	listen_box(r, 2, 0, 0);
	p = player_new(r, 2);
	pid = guest_process(p);
	boot = from_store(r, MSG_GUEST_HELLO)->u.hello.boot;
	rig_alive(r);
	kill_process(pid);
	dies(r, boot);
	none_store(r, MSG_GUEST_GONE);

	/* One that only goes is not dead, nor is who comes in its place. */
	listen_box(r, 2, 0, 0);
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	(void)from_store(r, MSG_GUEST_HELLO);
	player_cut(p);
	ATF_REQUIRE_EQ(0, from_store(r, MSG_GUEST_GONE)->u.gone.dead);
	none_store(r, MSG_GUEST_GONE);
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	(void)from_store(r, MSG_GUEST_HELLO);
	player_free(p);
	ATF_REQUIRE_EQ(0, from_store(r, MSG_GUEST_GONE)->u.gone.dead);

	/* Of one that died without us nobody has the number. */
	listen_box(r, 3, 0, 0);
	q = player_new(r, 3);
	pid = guest_process(q);
	(void)from_store(r, MSG_GUEST_HELLO);
	rig_kill(r);
	kill_process(pid);
	rig_start(r);
	listen_box(r, 3, 9, pid);
	ATF_REQUIRE_EQ(9, from_store(r, MSG_GUEST_GONE)->u.gone.boot);
	listen_box(r, 4, 9, getpid());
	none_store(r, MSG_GUEST_GONE);
	player_free(q);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, kill);
	ATF_TP_ADD_TC(tp, lost_tail);
	ATF_TP_ADD_TC(tp, ends);
	ATF_TP_ADD_TC(tp, reboot);
	ATF_TP_ADD_TC(tp, stop);
	ATF_TP_ADD_TC(tp, death);
	return (atf_no_error());
}
