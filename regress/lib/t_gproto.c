/* Frames of the guest protocol: there and back, and everything that is none. */

#include <sys/types.h>

#include <atf-c.h>
#include <stdlib.h>
#include <string.h>

#include "gproto.h"

static uint8_t	 buf[GP_MAX_FROM_RUNNER + 64];

/* Encoded bytes as a frame; each shorter piece is incomplete. */
static void
frame(struct gp_frame *f, ssize_t n, enum gp_sender sender, unsigned int type,
    uint64_t k)
{
	ssize_t	 i;

	ATF_REQUIRE(n >= GP_HDRLEN);
	for (i = 0; i < n && i < 200; i++)
		ATF_REQUIRE_EQ(0, gp_get(f, buf, i, sender));
	ATF_REQUIRE_EQ(0, gp_get(f, buf, n - 1, sender));
	ATF_REQUIRE_EQ(1, gp_get(f, buf, n, sender));
	ATF_REQUIRE_EQ(type, f->type);
	ATF_REQUIRE_EQ(k, f->k);
	ATF_REQUIRE_EQ((size_t)n, f->total);
	ATF_REQUIRE_EQ((size_t)n, f->len + GP_HDRLEN);
	ATF_REQUIRE(strcmp(gp_type_name(type), "unknown") != 0);
	/* What follows is not its business. */
	buf[n] = 0xff;
	ATF_REQUIRE_EQ(1, gp_get(f, buf, n + 1, sender));
	/* It has one sender. */
	ATF_REQUIRE_EQ(-1, gp_get(f, buf, n,
	    sender == GP_GUEST ? GP_RUNNER : GP_GUEST));
	gp_get(f, buf, n, sender);
}

#define THERE_AND_BACK(name, ty, sender, k, m, back) do {		\
	__typeof__(back) junk_;						\
	struct gp_frame	 f_;						\
	size_t		 i_;						\
	ssize_t		 n_;						\
									\
	n_ = gp_encode_##name(buf, sizeof(buf), K_##k &(m));		\
	for (i_ = 0; i_ < (size_t)n_ && i_ < 300; i_++)			\
		ATF_CHECK_EQ(-1, gp_encode_##name(buf, i_, K_##k &(m)));\
	n_ = gp_encode_##name(buf, sizeof(buf), K_##k &(m));		\
	frame(&f_, n_, sender, ty, k);				\
	ATF_REQUIRE_EQ(0, gp_decode_##name(&(back), &f_));		\
	f_.type = GP_NONE;						\
	ATF_CHECK_EQ(-1, gp_decode_##name(&junk_, &f_));		\
} while (0)
#define K_0
#define K_7	7,
#define CALL	(GP_CALL_BIT | 7)
#define K_CALL	CALL,

ATF_TC_WITHOUT_HEAD(guest_frames);
ATF_TC_BODY(guest_frames, tc)
{
	struct gp_hello		 hello = { .version = 1, .flags = 2,
				    .boot = 0x0102030405060708, .pid = 1,
				    .uid = 2000000001, .gid = 2000000002,
				    .nexecs = 3, .last = 1ULL << 40,
				    .now = 5, .memory = GP_UNKNOWN,
				    .swap = GP_UNLIMITED, .pids = 512,
				    .mcpus = 2000, .release = "release" };
	struct gp_hello		 hello2;
	struct gp_state		 state = { GP_ST_ENDED, 5, 6, 7, 8, 9, 10, 11,
				    12 }, state2;
	struct gp_states_end	 end = { 1024 }, end2;
	struct gp_started	 st = { 77, 1ULL << 63 }, st2;
	struct gp_not_started	 ns = { GP_NS_NOEXEC, 8 }, ns2;
	struct gp_output	 out = { GP_STDERR, 1ULL << 50,
				    (const uint8_t *)"bytes", 5 }, out2;
	struct gp_input_ack	 ia = { GP_INPUT_CLOSED, 3 }, ia2;
	struct gp_exit		 ex = { GP_TIMED_OUT, GP_EXIT_REAPER_LOST, 0, 9,
				    2, 1ULL << 40, 4, 5, 6 }, ex2;
	struct gp_background	 bg = { 1, 2 }, bg2;
	struct gp_ping		 pong = { 99 }, pong2;
	struct gp_output_end	 oe = { 1ULL << 33 }, oe2;

	(void)tc;
	THERE_AND_BACK(hello, GP_HELLO, GP_GUEST, 0, hello, hello2);
	ATF_CHECK(strcmp(hello2.release, hello.release) == 0);
	hello2.release = hello.release;
	ATF_CHECK(memcmp(&hello, &hello2, sizeof(hello)) == 0);
	THERE_AND_BACK(state, GP_STATE, GP_GUEST, 7, state, state2);
	ATF_CHECK_EQ(state.out_len, state2.out_len);
	ATF_CHECK_EQ(state.in, state2.in);
	ATF_CHECK_EQ(state.background, state2.background);
	THERE_AND_BACK(states_end, GP_STATES_END, GP_GUEST, 0, end, end2);
	ATF_CHECK_EQ(end.count, end2.count);
	THERE_AND_BACK(started, GP_STARTED, GP_GUEST, 7, st, st2);
	ATF_CHECK_EQ(st.start, st2.start);
	THERE_AND_BACK(not_started, GP_NOT_STARTED, GP_GUEST, 7, ns, ns2);
	ATF_CHECK_EQ(ns.cause, ns2.cause);
	ATF_CHECK_EQ(ns.error, ns2.error);
	THERE_AND_BACK(output, GP_OUTPUT, GP_GUEST, 7, out, out2);
	ATF_CHECK_EQ(out.stream, out2.stream);
	ATF_CHECK_EQ(out.off, out2.off);
	ATF_CHECK_EQ(5, out2.len);
	ATF_CHECK(memcmp(out2.data, "bytes", 5) == 0);
	THERE_AND_BACK(input_ack, GP_INPUT_ACK, GP_GUEST, 7, ia, ia2);
	ATF_CHECK_EQ(ia.flags, ia2.flags);
	ATF_CHECK_EQ(ia.off, ia2.off);
	THERE_AND_BACK(exit, GP_EXIT, GP_GUEST, 7, ex, ex2);
	ATF_CHECK_EQ(ex.kind, ex2.kind);
	ATF_CHECK_EQ(ex.flags, ex2.flags);
	ATF_CHECK_EQ(ex.signo, ex2.signo);
	ATF_CHECK_EQ(ex.out_len, ex2.out_len);
	ATF_CHECK_EQ(ex.end, ex2.end);
	THERE_AND_BACK(background, GP_BACKGROUND, GP_GUEST, 7, bg, bg2);
	ATF_CHECK_EQ(bg.discarded, bg2.discarded);
	THERE_AND_BACK(pong, GP_PONG, GP_GUEST, 0, pong, pong2);
	ATF_CHECK_EQ(pong.cookie, pong2.cookie);
	THERE_AND_BACK(output_end, GP_OUTPUT_END, GP_GUEST, CALL, oe,
	    oe2);
	ATF_CHECK_EQ(oe.total, oe2.total);
}

ATF_TC_WITHOUT_HEAD(runner_frames);
ATF_TC_BODY(runner_frames, tc)
{
	struct gp_welcome	 welcome = { 1 }, welcome2;
	struct gp_resume	 resume = { 5, 6 }, resume2;
	struct gp_ack		 ack = { GP_STDOUT, 1ULL << 33 }, ack2;
	struct gp_input		 in = { 9, (const uint8_t *)"x", 1 }, in2;
	struct gp_input_end	 ie = { 10 }, ie2;
	struct gp_signal	 sig = { 64, GP_SIGNAL_TREE }, sig2;
	struct gp_resize	 size = { 1, GP_MAX_SIZE }, size2;
	struct gp_cancel	 cancel = { GP_MAX_MS }, cancel2;
	struct gp_stop		 stop = { 1000 }, stop2;
	struct gp_ping		 ping = { 99 }, ping2;
	struct gp_frame		 f;

	(void)tc;
	THERE_AND_BACK(welcome, GP_WELCOME, GP_RUNNER, 0, welcome, welcome2);
	ATF_CHECK_EQ(welcome.version, welcome2.version);
	THERE_AND_BACK(resume, GP_RESUME, GP_RUNNER, 7, resume, resume2);
	ATF_CHECK_EQ(resume.err, resume2.err);
	THERE_AND_BACK(ack, GP_ACK, GP_RUNNER, 7, ack, ack2);
	ATF_CHECK_EQ(ack.off, ack2.off);
	THERE_AND_BACK(input, GP_INPUT, GP_RUNNER, 7, in, in2);
	ATF_CHECK_EQ(in.off, in2.off);
	ATF_CHECK_EQ(1, in2.len);
	THERE_AND_BACK(input_end, GP_INPUT_END, GP_RUNNER, 7, ie, ie2);
	ATF_CHECK_EQ(ie.total, ie2.total);
	THERE_AND_BACK(signal, GP_SIGNAL, GP_RUNNER, 7, sig, sig2);
	ATF_CHECK_EQ(sig.signo, sig2.signo);
	THERE_AND_BACK(resize, GP_RESIZE, GP_RUNNER, 7, size, size2);
	ATF_CHECK_EQ(1, size2.rows);
	ATF_CHECK_EQ(GP_MAX_SIZE, size2.cols);
	size.rows = 0;
	ATF_CHECK_EQ(-1, gp_encode_resize(buf, sizeof(buf), 7, &size));
	size.rows = GP_MAX_SIZE + 1;
	ATF_CHECK_EQ(-1, gp_encode_resize(buf, sizeof(buf), 7, &size));
	THERE_AND_BACK(cancel, GP_CANCEL, GP_RUNNER, 7, cancel, cancel2);
	ATF_CHECK_EQ(cancel.grace, cancel2.grace);
	THERE_AND_BACK(stop, GP_STOP, GP_RUNNER, 0, stop, stop2);
	ATF_CHECK_EQ(stop.grace, stop2.grace);
	THERE_AND_BACK(ping, GP_PING, GP_RUNNER, 0, ping, ping2);
	ATF_CHECK_EQ(ping.cookie, ping2.cookie);
	frame(&f, gp_encode_forget(buf, sizeof(buf), 7), GP_RUNNER, GP_FORGET,
	    7);
	ATF_CHECK_EQ(0, gp_decode_forget(&f));
	ATF_CHECK_EQ(-1, gp_encode_forget(buf, sizeof(buf), 0));
	frame(&f, gp_encode_bye(buf, sizeof(buf)), GP_GUEST, GP_BYE, 0);
	ATF_CHECK_EQ(0, gp_decode_bye(&f));
	ATF_CHECK_EQ(-1, gp_decode_forget(&f));
}

ATF_TC_WITHOUT_HEAD(start);
ATF_TC_BODY(start, tc)
{
	static char		 args[1000], env[1000];
	static char		 scope[GP_MAX_SCOPE + 2];
	char			*av[] = { "sh", "-c", "", NULL };
	char			*ev[] = { "A=", "B=x=y", NULL };
	struct gp_start		 m = { .flags = GP_START_FLAGS,
				    .timeout = 1, .grace = 2, .out = 3,
				    .err = 4, .rows = 1,
				    .cols = GP_MAX_SIZE, .scope = "+a\n-b",
				    .args = args, .env = env, .dir = "/dir" };
	struct gp_start		 b;
	const char		*p;

	(void)tc;
	ATF_REQUIRE_EQ(7, gp_pack(args, sizeof(args), av, &m.argc));
	ATF_REQUIRE_EQ(9, gp_pack(env, sizeof(env), ev, &m.envc));
	m.argslen = 7;
	m.envlen = 9;
	ATF_CHECK_EQ(-1, gp_pack(args, 6, av, &b.argc));
	ATF_CHECK_EQ(0, gp_pack(args, 0, NULL, &b.argc));
	ATF_CHECK_EQ(0, b.argc);
	THERE_AND_BACK(start, GP_START, GP_RUNNER, 7, m, b);
	ATF_CHECK_EQ(m.flags, b.flags);
	ATF_CHECK_EQ(m.timeout, b.timeout);
	ATF_CHECK_EQ(m.grace, b.grace);
	ATF_CHECK_EQ(3, b.out);
	ATF_CHECK_EQ(4, b.err);
	ATF_CHECK_EQ(1, b.rows);
	ATF_CHECK_EQ(GP_MAX_SIZE, b.cols);
	ATF_CHECK_EQ(3, b.argc);
	ATF_CHECK_EQ(2, b.envc);
	ATF_CHECK(strcmp(b.dir, "/dir") == 0);
	ATF_CHECK(strcmp(b.scope, "+a\n-b") == 0);
	ATF_REQUIRE((p = gp_next(NULL, b.args, b.argslen)) != NULL);
	ATF_CHECK(strcmp(p, "sh") == 0);
	ATF_REQUIRE((p = gp_next(p, b.args, b.argslen)) != NULL);
	ATF_REQUIRE((p = gp_next(p, b.args, b.argslen)) != NULL);
	ATF_CHECK(strcmp(p, "") == 0);
	ATF_CHECK(gp_next(p, b.args, b.argslen) == NULL);
	ATF_REQUIRE((p = gp_next(NULL, b.env, b.envlen)) != NULL);
	ATF_REQUIRE((p = gp_next(p, b.env, b.envlen)) != NULL);
	ATF_CHECK(strcmp(p, "B=x=y") == 0);
	ATF_CHECK(gp_next(p, b.env, b.envlen) == NULL);
	ATF_CHECK(gp_next(NULL, b.env, 0) == NULL);
	/* Without a terminal there is no size, and no room for one. */
	m.flags = 0;
	THERE_AND_BACK(start, GP_START, GP_RUNNER, 7, m, b);
	ATF_CHECK_EQ(0, b.rows);
	ATF_CHECK_EQ(3, b.argc);
	m.flags = GP_START_TTY;
	m.rows = 0;
	ATF_CHECK_EQ(-1, gp_encode_start(buf, sizeof(buf), 7, &m));
	m.rows = GP_MAX_SIZE + 1;
	ATF_CHECK_EQ(-1, gp_encode_start(buf, sizeof(buf), 7, &m));
	/* Patterns are for changes alone, and not without any. */
	m.flags = GP_START_SCOPE;
	ATF_CHECK_EQ(-1, gp_encode_start(buf, sizeof(buf), 7, &m));
	m.flags = GP_START_SCOPE | GP_START_CHANGES;
	m.scope = "";
	ATF_CHECK_EQ(-1, gp_encode_start(buf, sizeof(buf), 7, &m));
	memset(scope, 'x', GP_MAX_SCOPE + 1);
	m.scope = scope;
	ATF_CHECK_EQ(-1, gp_encode_start(buf, sizeof(buf), 7, &m));
	scope[GP_MAX_SCOPE] = '\0';
	THERE_AND_BACK(start, GP_START, GP_RUNNER, 7, m, b);
	ATF_CHECK_EQ(GP_MAX_SCOPE, strlen(b.scope));
	m.flags = 0;
	/* The least there can be. */
	m.argc = 1;
	m.args = "";
	m.argslen = 1;
	m.envc = 0;
	m.envlen = 0;
	m.dir = "";
	THERE_AND_BACK(start, GP_START, GP_RUNNER, 7, m, b);
	ATF_CHECK_EQ(1, b.argc);
	ATF_CHECK_EQ(0, b.envlen);
}

static ssize_t
start_of(uint32_t argc, const char *args, size_t argslen, uint32_t envc,
    const char *env, size_t envlen, const char *dir, uint32_t flags,
    uint32_t timeout)
{
	struct gp_start	 m = { .flags = flags, .timeout = timeout,
			    .argc = argc, .args = args, .argslen = argslen,
			    .envc = envc, .env = env, .envlen = envlen,
			    .dir = dir };

	return (gp_encode_start(buf, sizeof(buf), 7, &m));
}

ATF_TC_WITHOUT_HEAD(start_bounds);
ATF_TC_BODY(start_bounds, tc)
{
	static char	 big[GP_MAX_STRINGS + 10];
	static char	 dir[GP_MAX_DIR + 2];
	struct gp_frame	 f;
	struct gp_start	 m;
	ssize_t		 n;
	int		 i;

	(void)tc;
	ATF_CHECK(start_of(1, "a", 2, 1, "A=", 3, "", 0, 0) > 0);
	ATF_CHECK_EQ(-1, start_of(0, "", 0, 0, NULL, 0, "", 0, 0));
	ATF_CHECK_EQ(-1, start_of(2, "a", 2, 0, NULL, 0, "", 0, 0));
	ATF_CHECK_EQ(-1, start_of(1, "a\0b", 4, 0, NULL, 0, "", 0, 0));
	ATF_CHECK_EQ(-1, start_of(1, "a", 1, 0, NULL, 0, "", 0, 0));
	ATF_CHECK_EQ(-1, start_of(1, "a", 2, 1, "A", 2, "", 0, 0));
	ATF_CHECK_EQ(-1, start_of(1, "a", 2, 1, "=A", 3, "", 0, 0));
	ATF_CHECK_EQ(-1, start_of(1, "a", 2, 0, NULL, 0, "",
	    GP_START_FLAGS + 1, 0));
	ATF_CHECK_EQ(-1, start_of(1, "a", 2, 0, NULL, 0, "", 0,
	    GP_MAX_MS + 1));
	memset(dir, 'd', GP_MAX_DIR + 1);
	ATF_CHECK_EQ(-1, start_of(1, "a", 2, 0, NULL, 0, dir, 0, 0));
	dir[GP_MAX_DIR] = '\0';
	n = start_of(1, "a", 2, 0, NULL, 0, dir, 0, 0);
	ATF_CHECK(n > GP_MAX_DIR);
	ATF_REQUIRE_EQ(1, gp_get(&f, buf, n, GP_RUNNER));
	ATF_CHECK_EQ(0, gp_decode_start(&m, &f));
	memset(big, 'x', GP_MAX_ARG);
	ATF_CHECK(start_of(1, big, GP_MAX_ARG + 1, 0, NULL, 0, "", 0, 0) > 0);
	memset(big, 'x', GP_MAX_ARG + 1);
	ATF_CHECK_EQ(-1, start_of(1, big, GP_MAX_ARG + 2, 0, NULL, 0, "", 0,
	    0));
	memset(big, 0, sizeof(big));
	ATF_CHECK(start_of(GP_MAX_ENTRIES, big, GP_MAX_ENTRIES, 0, NULL, 0,
	    "", 0, 0) > 0);
	ATF_CHECK_EQ(-1, start_of(GP_MAX_ENTRIES, big, GP_MAX_ENTRIES, 1,
	    "A=", 3, "", 0, 0));
	ATF_CHECK_EQ(-1, start_of(GP_MAX_ENTRIES + 1, big,
	    GP_MAX_ENTRIES + 1, 0, NULL, 0, "", 0, 0));
	/* Two arguments of 128 KiB each: together more than a frame has. */
	memset(big, 'x', 2 * (GP_MAX_ARG + 1) < sizeof(big) ?
	    2 * (GP_MAX_ARG + 1) : sizeof(big));
	big[GP_MAX_ARG] = big[sizeof(big) - 1] = '\0';
	ATF_CHECK_EQ(-1, start_of(2, big, sizeof(big), 0, NULL, 0, "", 0, 0));
	/* Any byte of a good frame set to anything: refused or decoded. */
	n = start_of(2, "ab\0cd", 6, 2, "A=1\0B=2", 8, "/d", 0, 0);
	ATF_REQUIRE(n > 0);
	for (i = 0; i < n * 256; i++) {
		uint8_t	 old = buf[i / 256];

		buf[i / 256] = i % 256;
		if (gp_get(&f, buf, n, GP_RUNNER) == 1 &&
		    gp_decode_start(&m, &f) == 0)
			ATF_REQUIRE(m.argslen + m.envlen + strlen(m.dir) + 1 +
			    (m.scope == NULL ? 0 : strlen(m.scope) + 3) ==
			    f.len - 36);
		buf[i / 256] = old;
	}
}

static int
decodes(const struct gp_exit *m)
{
	struct gp_frame	 f;
	struct gp_exit	 b;
	ssize_t		 n;

	n = gp_encode_exit(buf, sizeof(buf), 7, m);
	ATF_REQUIRE_EQ(1, gp_get(&f, buf, n, GP_GUEST));
	return (gp_decode_exit(&b, &f) == 0);
}

ATF_TC_WITHOUT_HEAD(hostile);
ATF_TC_BODY(hostile, tc)
{
	static uint8_t		 big[GP_MAX_DATA + 1];
	struct gp_exit		 ex = { .kind = GP_EXITED, .code = 255 };
	struct gp_state		 st = { .state = GP_ST_RUNNING };
	struct gp_output	 out = { .stream = GP_STDOUT, .data = big };
	struct gp_hello		 he = { .release = "" };
	struct gp_frame		 f;
	ssize_t			 n;

	(void)tc;
	ATF_CHECK(decodes(&ex));
	ex.code = 256;
	ATF_CHECK(!decodes(&ex));
	ex.code = 0;
	ex.signo = 9;
	ATF_CHECK(!decodes(&ex));
	ex.kind = GP_SIGNALED;
	ATF_CHECK(decodes(&ex));
	ex.signo = 65;
	ATF_CHECK(!decodes(&ex));
	ex.signo = 0;
	ATF_CHECK(!decodes(&ex));
	ex.kind = GP_LOST + 1;
	ATF_CHECK(!decodes(&ex));
	ex.kind = GP_LOST;
	ATF_CHECK(decodes(&ex));
	ex.start = 1;
	ATF_CHECK(!decodes(&ex));

	st.out_len = GP_WINDOW + 1;
	n = gp_encode_state(buf, sizeof(buf), 7, &st);
	ATF_REQUIRE_EQ(1, gp_get(&f, buf, n, GP_GUEST));
	ATF_CHECK_EQ(-1, gp_decode_state(&st, &f));
	st.out_len = 0;
	st.err = 1;
	n = gp_encode_state(buf, sizeof(buf), 7, &st);
	ATF_REQUIRE_EQ(1, gp_get(&f, buf, n, GP_GUEST));
	ATF_CHECK_EQ(-1, gp_decode_state(&st, &f));

	out.len = GP_MAX_DATA + 1;
	ATF_CHECK_EQ(-1, gp_encode_output(buf, sizeof(buf), 7, &out));
	out.len = 0;
	ATF_CHECK_EQ(-1, gp_encode_output(buf, sizeof(buf), 7, &out));
	out.len = 1;
	out.off = UINT64_MAX;
	n = gp_encode_output(buf, sizeof(buf), 7, &out);
	ATF_REQUIRE_EQ(1, gp_get(&f, buf, n, GP_GUEST));
	ATF_CHECK_EQ(-1, gp_decode_output(&out, &f));

	n = gp_encode_hello(buf, sizeof(buf), &he);
	ATF_REQUIRE_EQ(1, gp_get(&f, buf, n, GP_GUEST));
	ATF_CHECK_EQ(0, gp_decode_hello(&he, &f));
	buf[n - 1] = 'x';
	ATF_CHECK_EQ(-1, gp_decode_hello(&he, &f));

	/* A length that no frame has, before anything of it has come. */
	memset(buf, 0, GP_HDRLEN);
	buf[4] = GP_OUTPUT;
	buf[8] = 7;
	buf[2] = 2;
	ATF_CHECK_EQ(-1, gp_get(&f, buf, GP_HDRLEN, GP_GUEST));
	buf[2] = 0;
	buf[0] = 100;
	ATF_CHECK_EQ(0, gp_get(&f, buf, GP_HDRLEN, GP_GUEST));
	ATF_CHECK_EQ(116, f.total);
	buf[8] = 0;
	ATF_CHECK_EQ(-1, gp_get(&f, buf, GP_HDRLEN, GP_GUEST));
	ATF_CHECK(gp_cause_text(0) == NULL);
	ATF_CHECK(gp_cause_text(GP_NS_SCOPE + 1) == NULL);
	ATF_CHECK(strcmp(gp_type_name(65535), "unknown") == 0);
}

/* A list of so many bytes about counts of made and renamed. */
static int
changed_of(uint32_t flags, uint64_t made, uint64_t renamed, const char *text,
    const char *list, size_t len)
{
	struct gp_changed	 m = { .flags = flags, .text = text,
				    .list = list, .listlen = len };
	struct gp_frame		 f;
	ssize_t			 n;

	m.count[GP_MADE] = made;
	m.count[GP_RENAMED] = renamed;
	if ((n = gp_encode_changed(buf, sizeof(buf), 7, &m)) == -1)
		return (-1);
	ATF_REQUIRE_EQ(1, gp_get(&f, buf, n, GP_GUEST));
	return (gp_decode_changed(&m, &f));
}

ATF_TC_WITHOUT_HEAD(changed);
ATF_TC_BODY(changed, tc)
{
	static char		 list[GP_CHANGES_LIST + 1];
	struct gp_changed	 m = { .flags = GP_CHANGED_SHARED, .text = "",
				    .list = list }, b;
	struct gp_change	 c = { GP_RENAMED, "to\n", "from\377" };
	const char		*p;
	size_t			 left, len, i;

	(void)tc;
	m.count[GP_RENAMED] = 1;
	m.listlen = gp_change_add(list, 0, &c);
	THERE_AND_BACK(changed, GP_CHANGED, GP_GUEST, 7, m, b);
	p = b.list;
	left = b.listlen;
	ATF_REQUIRE_EQ(1, gp_change_next(&c, &p, &left));
	ATF_CHECK_EQ(GP_RENAMED, c.kind);
	ATF_CHECK_STREQ("to\n", c.name);
	ATF_CHECK_STREQ("from\377", c.from);
	ATF_CHECK_EQ(0, gp_change_next(&c, &p, &left));
	for (i = GP_MADE; i < GP_CHANGE_MAX; i++)
		ATF_CHECK(gp_change_name(i) != NULL);
	ATF_CHECK(gp_change_name(0) == NULL);
	ATF_CHECK(gp_change_name(GP_CHANGE_MAX) == NULL);
	/* What is listed is counted, and the other way. */
	ATF_CHECK_EQ(0, changed_of(0, 0, 0, "", "", 0));
	ATF_CHECK_EQ(0, changed_of(0, 1, 0, "", "\1a", 3));
	ATF_CHECK_EQ(0, changed_of(GP_CHANGED_MORE, 9, 0, "", "\1a", 3));
	ATF_CHECK_EQ(-1, changed_of(0, 9, 0, "", "\1a", 3));
	ATF_CHECK_EQ(-1, changed_of(GP_CHANGED_MORE, 0, 0, "", "\1a", 3));
	ATF_CHECK_EQ(-1, changed_of(GP_CHANGED_MORE, UINT64_MAX, 0, "",
	    "\1a", 3));
	/* Names without an end, empty ones, kinds that are none. */
	ATF_CHECK_EQ(-1, changed_of(0, 1, 0, "", "\1a", 2));
	ATF_CHECK_EQ(-1, changed_of(0, 1, 0, "", "\1", 2));
	ATF_CHECK_EQ(-1, changed_of(0, 1, 0, "", "\1", 1));
	ATF_CHECK_EQ(-1, changed_of(0, 0, 1, "", "\4a", 3));
	ATF_CHECK_EQ(-1, changed_of(GP_CHANGED_MORE, 1, 1, "", "\0a", 3));
	ATF_CHECK_EQ(-1, changed_of(GP_CHANGED_MORE, 1, 1, "", "\6a", 3));
	ATF_CHECK_EQ(-1, changed_of(GP_CHANGED_FLAGS + 1, 0, 0, "", "", 0));
	/* Either it is known or it is told why not. */
	ATF_CHECK_EQ(0, changed_of(GP_CHANGED_FAILED, 0, 0, "no", "", 0));
	ATF_CHECK_EQ(-1, changed_of(GP_CHANGED_FAILED, 0, 0, "", "", 0));
	ATF_CHECK_EQ(-1, changed_of(GP_CHANGED_FAILED, 1, 0, "no", "\1a", 3));
	ATF_CHECK_EQ(-1, changed_of(0, 0, 0, "no", "", 0));
	/* As many as there may be, and one more; as long, and longer. */
	c.kind = GP_MADE;
	c.name = "a";
	for (i = len = 0; i < GP_CHANGES_MAX; i++)
		len = gp_change_add(list, len, &c);
	ATF_CHECK_EQ(0, changed_of(0, i, 0, "", list, len));
	len = gp_change_add(list, len, &c);
	ATF_CHECK_EQ(-1, changed_of(0, i + 1, 0, "", list, len));
	for (len = 0; (i = gp_change_add(list, len, &c)) != 0; len = i)
		;
	ATF_CHECK_EQ(GP_CHANGES_LIST, len);
	ATF_CHECK_EQ(-1, changed_of(GP_CHANGED_MORE, 1 << 20, 0, "", list,
	    GP_CHANGES_LIST + 1));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, changed);
	ATF_TP_ADD_TC(tp, guest_frames);
	ATF_TP_ADD_TC(tp, runner_frames);
	ATF_TP_ADD_TC(tp, start);
	ATF_TP_ADD_TC(tp, start_bounds);
	ATF_TP_ADD_TC(tp, hostile);
	return (atf_no_error());
}
