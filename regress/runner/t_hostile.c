/*
 * Guests that lie: each is cut off and told of, and no other one notices.
 *
 * regress-srcs: harness.c served.c
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
	ATF_TP_ADD_TC(tp, random_bytes);
	return (atf_no_error());
}
