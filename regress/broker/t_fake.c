/*
 * The broker on an Engine that misbehaves.
 *
 * regress-srcs: testbroker.c fakeengine.c
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <atf-c.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakeengine.h"
#include "testbroker.h"

#define INSPECT		"GET /v1.41/containers/"
#define CREATE		"POST /v1.41/containers/create"
#define START		"POST /v1.41/containers/aaaa"
#define REMOVE		"DELETE /v1.41/containers/"
#define PAUSE		"POST /v1.41/containers/" FAKE_ID "/pause"
#define UNPAUSE		"POST /v1.41/containers/" FAKE_ID "/unpause"
#define UPDATE		"POST /v1.41/containers/" FAKE_ID "/update"

static struct tb		 tb;
static struct fake		 fake;
static struct msg_box_create	 req;
static union answer		 m;

/* Short where a rule is late, else long enough for a machine under load. */
static uint64_t			 deadline = 60000;
static int			 foreign;	/* an image for others */

static void
begin(const struct fake_rule *rules)
{
	tb_policy(&tb);
	tb.policy.conf.t_engine = deadline;
	if (foreign)
		memcpy(tb.policy.conf.image, "arm-", 4);
	fake_start(&fake, tb.dir, rules);
	tb_start(&tb, fake.sock);
	tb_up(&tb);
	tb_request(&tb, &req, 1);
}

static void
end(void)
{
	fake_stop(&fake);
	msg_clear(&req, msg_def(MSG_BOX_CREATE));
	tb_stop(&tb);
}

static void
need(uint32_t type, uint32_t want)
{
	ATF_REQUIRE_MSG(type == want, "%s instead of %s: %s", msg_name(type),
	    msg_name(want), type == MSG_BOX_FAILED ? m.failed.text : "");
}

static void
order(uint32_t type, uint32_t want)
{
	struct msg_box_ref	 ref;

	if (type == MSG_BOX_CREATE) {
		need(tb_answer(&tb, tb_send(&tb, type, &req), &m), want);
		return;
	}
	memset(&ref, 0, sizeof(ref));
	ref.n = req.n;
	strlcpy(ref.nonce, req.nonce, sizeof(ref.nonce));
	need(tb_answer(&tb, tb_send(&tb, type, &ref), &m), want);
}

/* A create of which the rules make a failure. */
static void
fails(const struct fake_rule *rules, enum code code, const char *text,
    int left)
{
	begin(rules);
	order(MSG_BOX_CREATE, MSG_BOX_FAILED);
	ATF_CHECK_MSG(m.failed.code == code &&
	    strstr(m.failed.text, text) != NULL, "%s: %s",
	    code_name(m.failed.code), m.failed.text);
	ATF_CHECK(m.failed.left == (uint32_t)left);
}

/* A create which succeeds all the same, and a whole life after it. */
static void
lives(const struct fake_rule *rules)
{
	struct msg_box_state	 last;

	begin(rules);
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	ATF_CHECK(m.started.pid == 4711);
	ATF_CHECK(tb_inventory(&tb, &last) == 1 && last.running);
	order(MSG_BOX_KILL, MSG_BOX_DEAD);
	ATF_CHECK(m.state.exitcode == 137 && !m.state.gone);
	order(MSG_BOX_START, MSG_BOX_STARTED);
	order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
	ATF_CHECK(tb_inventory(&tb, &last) == 0);
	end();
}

#define RULES(...)	(const struct fake_rule []){ __VA_ARGS__, { 0 } }

ATF_TC_WITHOUT_HEAD(plain);
ATF_TC_BODY(plain, tc)
{
	lives(RULES({ "NONE", 0, FAKE_ANSWER, 0, NULL }));
}

/* An Engine that cannot speak is away, until it can. */
ATF_TC(start);
ATF_TC_HEAD(start, tc)
{
	atf_tc_set_md_var(tc, "descr", "(b75) an Engine that cannot speak, is too old or no Linux");
}
ATF_TC_BODY(start, tc)
{
	deadline = 5000;
	lives(RULES({ "GET /version", 1, FAKE_ANSWER, 200, "<html>" },
	    { "GET /version", 1, FAKE_ENDLESS, 0, NULL },
	    { "GET /version", 1, FAKE_HEADERS, 0, NULL },
	    { "GET /version", 1, FAKE_ANSWER, 200, "{\"ApiVersion\":\"1.40\","
	      "\"MinAPIVersion\":\"1.12\"}" },
	    { "GET /version", 1, FAKE_LATE, 0, NULL },
	    { "GET /v1.41/info", 1, FAKE_HALF, 0, NULL },
	    { "GET /v1.41/info", 1, FAKE_ANSWER, 200,
	      "{\"OSType\":\"windows\"}" },
	    { "GET /v1.41/info", 1, FAKE_ANSWER, 500, "oops" },
	    { "GET /v1.41/events", 1, FAKE_ANSWER, 503, "{}" }));
}

/* A create whose answer is lost has happened: it is found by its name. */
ATF_TC(create_half);
ATF_TC_HEAD(create_half, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c20) the answer breaks off");
}
ATF_TC_BODY(create_half, tc)
{
	lives(RULES({ CREATE, 1, FAKE_HALF, 0, NULL }));
}

ATF_TC(create_cut);
ATF_TC_HEAD(create_cut, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c20) a create that is done, and not answered");
}
ATF_TC_BODY(create_cut, tc)
{
	lives(RULES({ CREATE, 1, FAKE_CUT, 0, NULL }));
}

/* Other limits than the sandbox was made with. */
static void
limit(uint64_t memory, uint32_t want)
{
	struct msg_box_update	 u;

	memset(&u, 0, sizeof(u));
	u.n = req.n;
	strlcpy(u.nonce, req.nonce, sizeof(u.nonce));
	u.memory = memory;
	u.mcpus = req.mcpus;
	u.pids = req.pids;
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_UPDATE, &u), &m), want);
}

/* What the broker tells unasked of a container that others have frozen. */
static void
looked(int paused)
{
	struct msg_box_state	 state;
	struct frame		 f;

	do {
		tb_recv(&tb, MSG_BOX_LOOK, &f, &state);
		ATF_CHECK(f.op == 0 && state.running);
		chan_frame_free(&f);
	} while (state.paused != (uint32_t)paused);
}

/* Pause, go on and other limits; what is so already is no error. */
static void
freezes(const struct fake_rule *rules)
{
	struct msg_box_state	 last;
	int			 i;

	begin(rules);
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	for (i = 0; i < 2; i++) {
		order(MSG_BOX_PAUSE, MSG_BOX_PAUSED);
		ATF_CHECK(m.state.paused && m.state.running);
	}
	limit(96 << 20, MSG_BOX_UPDATED);
	ATF_CHECK(tb_inventory(&tb, &last) == 1 && last.paused);
	for (i = 0; i < 2; i++) {
		order(MSG_BOX_UNPAUSE, MSG_BOX_UNPAUSED);
		ATF_CHECK(!m.state.paused && m.state.running);
		limit(128 << 20, MSG_BOX_UPDATED);
	}
	order(MSG_BOX_PAUSE, MSG_BOX_PAUSED);
	order(MSG_BOX_KILL, MSG_BOX_DEAD);
	ATF_CHECK(!m.state.paused && m.state.exitcode == 137);
	order(MSG_BOX_UNPAUSE, MSG_BOX_DEAD);
	order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
	end();
}

ATF_TC_WITHOUT_HEAD(freeze);
ATF_TC_BODY(freeze, tc)
{
	freezes(RULES({ "NONE", 0, FAKE_ANSWER, 0, NULL }));
}

/* What is done and not answered is found by looking. */
ATF_TC(freeze_mute);
ATF_TC_HEAD(freeze_mute, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c19) (c20) pause, unpause and update "
	    "are done, and the answer is lost");
}
ATF_TC_BODY(freeze_mute, tc)
{
	static const enum fake_how	 hows[] = {
		FAKE_MUTE, FAKE_HALF, FAKE_CUT
	};
	size_t				 i;

	deadline = 2000;
	for (i = 0; i < sizeof(hows) / sizeof(hows[0]); i++)
		freezes(RULES({ PAUSE, 1, hows[i], 0, NULL },
		    { UNPAUSE, 1, hows[i], 0, NULL },
		    { UPDATE, 2, hows[i], 0, NULL }));
}

/* What is not done is said to have failed, and nothing has changed. */
ATF_TC(freeze_late);
ATF_TC_HEAD(freeze_late, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(c19) (c22) pause, unpause and update are not done");
}
ATF_TC_BODY(freeze_late, tc)
{
	struct msg_box_state	 last;

	deadline = 2000;
	begin(RULES({ PAUSE, 1, FAKE_LATE, 0, NULL },
	    { PAUSE, 1, FAKE_ANSWER, 500, "{\"message\":\"no freezer\"}" },
	    { UNPAUSE, 1, FAKE_LATE, 0, NULL },
	    { UPDATE, 1, FAKE_LATE, 0, NULL },
	    { UPDATE, 1, FAKE_ANSWER, 500, "{\"message\":\"too small\"}" }));
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	order(MSG_BOX_PAUSE, MSG_BOX_FAILED);
	ATF_CHECK(m.failed.code == CODE_DEADLINE_EXCEEDED && !m.failed.left);
	order(MSG_BOX_PAUSE, MSG_BOX_FAILED);
	ATF_CHECK(m.failed.code == CODE_ENGINE_ERROR);
	ATF_CHECK_STREQ(m.failed.text, "no freezer");
	ATF_CHECK(tb_inventory(&tb, &last) == 1 && !last.paused);
	order(MSG_BOX_PAUSE, MSG_BOX_PAUSED);
	order(MSG_BOX_UNPAUSE, MSG_BOX_FAILED);
	ATF_CHECK(m.failed.code == CODE_DEADLINE_EXCEEDED);
	ATF_CHECK(tb_inventory(&tb, &last) == 1 && last.paused);
	limit(96 << 20, MSG_BOX_FAILED);
	ATF_CHECK(m.failed.code == CODE_DEADLINE_EXCEEDED);
	limit(96 << 20, MSG_BOX_FAILED);
	ATF_CHECK_STREQ(m.failed.text, "too small");
	limit(96 << 20, MSG_BOX_UPDATED);
	order(MSG_BOX_UNPAUSE, MSG_BOX_UNPAUSED);
	end();
}

/*
 * What is done when it has been given up, and when something newer has been
 * ordered, is told as somebody else's: the newer order keeps its answer.
 */
ATF_TC(freeze_after);
ATF_TC_HEAD(freeze_after, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c19) paused, or let go on, after it "
	    "had been given up: told");
}
ATF_TC_BODY(freeze_after, tc)
{
	deadline = 2000;
	begin(RULES({ PAUSE, 1, FAKE_AFTER, 0, NULL },
	    { UNPAUSE, 1, FAKE_AFTER, 0, NULL }));
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	order(MSG_BOX_PAUSE, MSG_BOX_FAILED);
	ATF_CHECK(m.failed.code == CODE_DEADLINE_EXCEEDED);
	/* The newer one, which finds that it is so. */
	order(MSG_BOX_UNPAUSE, MSG_BOX_UNPAUSED);
	ATF_CHECK(!m.state.paused);
	looked(1);
	/* Put right, and that too late as well. */
	order(MSG_BOX_UNPAUSE, MSG_BOX_FAILED);
	order(MSG_BOX_PAUSE, MSG_BOX_PAUSED);
	ATF_CHECK(m.state.paused);
	looked(0);
	order(MSG_BOX_PAUSE, MSG_BOX_PAUSED);
	end();
}

/* The memory that the container may have, as its Engine has it. */
static long long
memory_shown(void)
{
	static const char	 get[] = "GET /v1.41/containers/" FAKE_ID
				    "/json HTTP/1.1\r\nHost: localhost\r\n"
				    "Accept: */*\r\n\r\n";
	struct sockaddr_un	 sun = { .sun_family = AF_UNIX };
	char			 buf[65536], *p = NULL;
	size_t			 len = 0;
	ssize_t			 n;
	int			 fd;

	strlcpy(sun.sun_path, fake.sock, sizeof(sun.sun_path));
	ATF_REQUIRE((fd = socket(AF_UNIX, SOCK_STREAM, 0)) != -1);
	ATF_REQUIRE(connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	ATF_REQUIRE(write(fd, get, strlen(get)) == (ssize_t)strlen(get));
	while (p == NULL && len < sizeof(buf) - 1 &&
	    (n = read(fd, buf + len, sizeof(buf) - 1 - len)) > 0) {
		len += n;
		buf[len] = '\0';
		/* Its digits have come if something has come behind them. */
		if ((p = strstr(buf, "\"Memory\":")) != NULL &&
		    p[9 + strspn(p + 9, "0123456789")] == '\0')
			p = NULL;
	}
	close(fd);
	/* -1 is no memory that anybody has asked for. */
	return (p == NULL ? -1 : strtoll(p + 9, NULL, 10));
}

/* An update that is late is undone: what was ordered last is what there is. */
ATF_TC(update_after);
ATF_TC_HEAD(update_after, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c19) other limits after they had been "
	    "given up: put back");
}
ATF_TC_BODY(update_after, tc)
{
	struct pollfd	 p = { .events = POLLIN };
	const long long	 wants[] = { 64 << 20, 160 << 20 };
	int		 i, round;

	deadline = 2000;
	for (round = 0; round < 2; round++) {
		begin(RULES({ UPDATE, 1, FAKE_AFTER, 0, NULL }));
		order(MSG_BOX_CREATE, MSG_BOX_STARTED);
		limit(96 << 20, MSG_BOX_FAILED);
		ATF_CHECK(m.failed.code == CODE_DEADLINE_EXCEEDED);
		/* The failed one is the last, or another is. */
		if (round == 1)
			limit(160 << 20, MSG_BOX_UPDATED);
		ATF_CHECK_EQ(wants[round], memory_shown());
		/* Late, and then the broker's own. */
		for (i = 0; i < 3000 && fake.seen[0] < 2 + round; i++)
			(void)poll(NULL, 0, 10);
		for (i = 0; i < 3000 && memory_shown() != wants[round]; i++)
			(void)poll(NULL, 0, 10);
		ATF_CHECK_EQ(2 + round, fake.seen[0]);
		ATF_CHECK_EQ(wants[round], memory_shown());
		/* Nobody was told of it, and all else goes on. */
		p.fd = tb.ch.fd;
		ATF_CHECK_EQ(0, poll(&p, 1, 0));
		limit(wants[round], MSG_BOX_UPDATED);
		ATF_CHECK_EQ(2 + round, fake.seen[0]);
		order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
		end();
	}
}

/* The same, with another life of the container between. */
ATF_TC(freeze_again);
ATF_TC_HEAD(freeze_again, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c19) paused after it had been given "
	    "up, killed and started again: told, and put right");
}
ATF_TC_BODY(freeze_again, tc)
{
	struct msg_box_state	 last;

	deadline = 2000;
	begin(RULES({ PAUSE, 1, FAKE_AFTER, 0, NULL }));
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	order(MSG_BOX_PAUSE, MSG_BOX_FAILED);
	order(MSG_BOX_KILL, MSG_BOX_DEAD);
	order(MSG_BOX_START, MSG_BOX_STARTED);
	ATF_CHECK(tb_inventory(&tb, &last) == 1 && last.running &&
	    !last.paused);
	looked(1);
	order(MSG_BOX_UNPAUSE, MSG_BOX_UNPAUSED);
	order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
	end();
}

ATF_TC_WITHOUT_HEAD(create_garbage);
ATF_TC_BODY(create_garbage, tc)
{
	/* It has not happened: absent, and absent again. */
	fails(RULES({ CREATE, 1, FAKE_ANSWER, 200, "{\"Id\":" }),
	    CODE_ENGINE_ERROR, "not made", 1);
	order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	end();
}

ATF_TC(create_late);
ATF_TC_HEAD(create_late, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c19) no answer in time, and nothing was made");
}
ATF_TC_BODY(create_late, tc)
{
	deadline = 2000;
	fails(RULES({ CREATE, 1, FAKE_LATE, 0, NULL }),
	    CODE_DEADLINE_EXCEEDED, "not made", 1);
	end();
}

ATF_TC(create_mute);
ATF_TC_HEAD(create_mute, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(c19) no answer in time, and yet it was made: adopted");
}
ATF_TC_BODY(create_mute, tc)
{
	deadline = 2000;
	lives(RULES({ CREATE, 1, FAKE_MUTE, 0, NULL }));
}

ATF_TC(create_after);
ATF_TC_HEAD(create_after, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(c19) made after it had been given up: told, and removed");
}
ATF_TC_BODY(create_after, tc)
{
	struct msg_box_state	 state;
	struct msg_box_ref	 ref;
	struct frame		 f;

	deadline = 2000;
	fails(RULES({ CREATE, 1, FAKE_AFTER, 0, NULL }),
	    CODE_DEADLINE_EXCEEDED, "not made", 1);
	order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
	tb_recv(&tb, MSG_BOX_DIED, &f, &state);
	chan_frame_free(&f);
	ATF_CHECK(state.n == req.n && !state.gone && !state.running);
	ATF_CHECK_STREQ(state.nonce, req.nonce);
	/* As the store does with what belongs to nobody. */
	memset(&ref, 0, sizeof(ref));
	strlcpy(ref.container, state.container, sizeof(ref.container));
	strlcpy(ref.nonce, state.nonce, sizeof(ref.nonce));
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_REMOVE, &ref), &m),
	    MSG_BOX_REMOVED);
	ATF_CHECK(tb_inventory(&tb, &state) == 0);
	end();
}

ATF_TC(create_taken);
ATF_TC_HEAD(create_taken, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(c21) the name is in use by another operation's container");
}
ATF_TC_BODY(create_taken, tc)
{
	struct msg_box_state	 last;
	struct msg_box_ref	 ref;

	fails(RULES({ START, 0, FAKE_ANSWER, 0, NULL },
	    { CREATE, 1, FAKE_TAKEN, 0, NULL }), CODE_CONFLICT, "not this",
	    0);
	/* Not by this operation's removal, nor its start. */
	order(MSG_BOX_REMOVE, MSG_BOX_FAILED);
	order(MSG_BOX_KILL, MSG_BOX_FAILED);
	ATF_CHECK(tb_inventory(&tb, &last) == 1 && !last.running);
	ATF_CHECK(fake.seen[0] == 0);
	/* It is ours all the same: by what it is, the store has it removed. */
	memset(&ref, 0, sizeof(ref));
	strlcpy(ref.container, last.container, sizeof(ref.container));
	strlcpy(ref.nonce, last.nonce, sizeof(ref.nonce));
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_REMOVE, &ref), &m),
	    MSG_BOX_REMOVED);
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	end();
}

/* A create's answer and an inspect's with the ID of another container. */
ATF_TC_WITHOUT_HEAD(create_foreign);
ATF_TC_BODY(create_foreign, tc)
{
#define OTHER	"cccccccccccccccccccccccccccccccc" \
		"cccccccccccccccccccccccccccccccc"
	static char	 shown[1024];

	snprintf(shown, sizeof(shown), "{\"Id\":\"" OTHER "\",\"Name\":"
	    "\"/other\",\"Config\":{\"Labels\":{}},\"State\":"
	    "{\"Running\":true,\"Pid\":1}}");
	fails(RULES({ "POST /v1.41/containers/" OTHER, 0, FAKE_ANSWER, 0,
	    NULL },
	    { "DELETE /v1.41/containers/" OTHER, 0, FAKE_ANSWER, 0, NULL },
	    { INSPECT OTHER, 100, FAKE_ANSWER, 200, shown },
	    { CREATE, 1, FAKE_ANSWER, 201, "{\"Id\":\"" OTHER "\"}" }),
	    CODE_CONFLICT, "not this", 0);
	order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
	ATF_CHECK(fake.seen[0] == 0 && fake.seen[1] == 0);
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	end();
}

/* What is asked for by its ID and shown with another is nothing of ours. */
ATF_TC_WITHOUT_HEAD(inspect_foreign);
ATF_TC_BODY(inspect_foreign, tc)
{
	static char	 shown[1024];

	tb_policy(&tb);
	tb_request(&tb, &req, 1);
	snprintf(shown, sizeof(shown), "{\"Id\":\"" OTHER "\",\"Name\":"
	    "\"/sbx-%.8s-1\",\"Config\":{\"Labels\":{"
	    "\"sandboxd.instance\":\"%s\",\"sandboxd.op\":\"%s\"}},"
	    "\"State\":{\"Running\":false}}", tb.policy.conf.instance,
	    tb.policy.conf.instance, req.nonce);
	fake_start(&fake, tb.dir, RULES(
	    { "POST /v1.41/containers/" OTHER, 0, FAKE_ANSWER, 0, NULL },
	    { INSPECT, 1, FAKE_ANSWER, 200, shown },
	    { START, 0, FAKE_ANSWER, 0, NULL }));
	tb_start(&tb, fake.sock);
	tb_up(&tb);
	order(MSG_BOX_CREATE, MSG_BOX_FAILED);
	ATF_CHECK(m.failed.code == CODE_CONFLICT);
	ATF_CHECK(fake.seen[0] == 0 && fake.seen[2] == 0);
	order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
	end();
}

ATF_TC(unknown);
ATF_TC_HEAD(unknown, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(c23) a container that the Engine does not know (any more)");
}
ATF_TC_BODY(unknown, tc)
{
	begin(RULES({ "NONE", 0, FAKE_ANSWER, 0, NULL }));
	order(MSG_BOX_START, MSG_BOX_FAILED);
	ATF_CHECK(m.failed.code == CODE_NOT_FOUND && !m.failed.left);
	order(MSG_BOX_KILL, MSG_BOX_DEAD);
	ATF_CHECK(m.state.gone);
	order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
	end();
}

#define HEAD	"HTTP/1.1 200 OK\r\n"

static const struct odd {
	const char	*name;
	enum fake_how	 how;
	const char	*body;
	enum code	 code;
} odds[] = {
	{ "(b72) empty", FAKE_RAW, HEAD "Content-Length: 0\r\n\r\n",
	  CODE_ENGINE_ERROR },
	{ "(b72) not JSON", FAKE_RAW, HEAD "\r\nhello", CODE_ENGINE_ERROR },
	{ "(b72) HTML", FAKE_RAW, "HTTP/1.1 502 Bad Gateway\r\n\r\n"
	  "<html>502</html>", CODE_ENGINE_ERROR },
	{ "(b72) 200 with an error", FAKE_RAW, HEAD "\r\n"
	  "{\"message\":\"failed\"}", CODE_NOT_FOUND },
	{ "(b72) a chunk is cut", FAKE_RAW, HEAD
	  "Transfer-Encoding: chunked\r\n\r\n20\r\n{\"Id\":",
	  CODE_UNAVAILABLE },
	{ "(b72) no chunk at all", FAKE_RAW, HEAD
	  "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
	  CODE_UNAVAILABLE },
	{ "(b72) 1 GiB", FAKE_BIG, NULL, CODE_ENGINE_ERROR },
	{ "(b72) depth 100", FAKE_RAW, HEAD "\r\n[[[[[[[[[[[[[[[[[[[[[[[[["
	  "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
	  "[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
	  "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", CODE_ENGINE_ERROR },
	{ "(b72) no end", FAKE_ENDLESS, NULL, CODE_ENGINE_ERROR },
	{ "(b72) no Id", FAKE_RAW, HEAD "\r\n{\"Size\":1}",
	  CODE_NOT_FOUND },
	{ "(b72) Id a number", FAKE_RAW, HEAD "\r\n{\"Id\":7}",
	  CODE_NOT_FOUND },
	{ "(b72) Id a path", FAKE_RAW, HEAD "\r\n{\"Id\":\"../../x\"}",
	  CODE_NOT_FOUND },
	{ "(b73) 301", FAKE_RAW, "HTTP/1.1 301 Moved\r\nLocation: "
	  "http://localhost/other\r\nContent-Length: 0\r\n\r\n",
	  CODE_ENGINE_ERROR },
	/* Not as the same with 200 is. */
	{ "(b73) 301 that answers", FAKE_RAW, "HTTP/1.1 301 Moved\r\n\r\n"
	  "{\"Size\":1}", CODE_ENGINE_ERROR },
	{ "(b73) 401", FAKE_RAW, "HTTP/1.1 401 Unauthorized\r\n"
	  "WWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n",
	  CODE_ENGINE_ERROR },
	{ "(b73) 100 and no more", FAKE_RAW, "HTTP/1.1 100 Continue\r\n\r\n",
	  CODE_UNAVAILABLE },
	{ "(b73) 101", FAKE_RAW, "HTTP/1.1 101 Switching Protocols\r\n"
	  "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n{}",
	  CODE_ENGINE_ERROR },
	{ "(b73) HTTP/0.9", FAKE_RAW, "{\"Id\":\"sha256:aa\"}",
	  CODE_ENGINE_ERROR },
	{ "(b73) headers without an end", FAKE_HEADERS, NULL,
	  CODE_ENGINE_ERROR },
};

/* An answer that makes no sense is an error, and the last of it. */
ATF_TC_WITHOUT_HEAD(odd_image);
ATF_TC_BODY(odd_image, tc)
{
	const struct odd	*o;
	size_t			 i;

	for (i = 0; i < sizeof(odds) / sizeof(odds[0]); i++) {
		struct fake_rule	 r[] = {
			{ "GET /other", 0, FAKE_ANSWER, 0, NULL },
			{ CREATE, 0, FAKE_ANSWER, 0, NULL },
			{ "GET /v1.41/images/", 100, odds[i].how, 0,
			  odds[i].body },
			{ 0 }
		};

		o = &odds[i];
		printf("%s\n", o->name);
		fails(r, o->code, "", 0);
		printf("\t%s\n", m.failed.text);
		ATF_CHECK(m.failed.text[0] != '\0');
		ATF_CHECK(fake.seen[0] == 0 && fake.seen[1] == 0);
		/* With one that makes sense again it goes on. */
		fake_stop(&fake);
		fake_start(&fake, tb.dir, RULES({ "NONE", 0, FAKE_ANSWER, 0,
		    NULL }));
		tb_back(&tb);
		order(MSG_BOX_CREATE, MSG_BOX_STARTED);
		end();
	}
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

static long
resident(pid_t pid)
{
	char	 name[64];
	FILE	*f;
	long	 all, pages = 0;

	snprintf(name, sizeof(name), "/proc/%d/statm", (int)pid);
	ATF_REQUIRE((f = fopen(name, "r")) != NULL);
	ATF_REQUIRE(fscanf(f, "%ld %ld", &all, &pages) == 2);
	fclose(f);
	return (pages * sysconf(_SC_PAGESIZE));
}

/* What is freed is kept for a while by the sanitizer. */
#ifdef __SANITIZE_ADDRESS__
#define GROWTH	(1L << 30)
#else
#define GROWTH	(4L << 20)
#endif

/* After many answers that made no sense the broker is as large as before. */
ATF_TC_WITHOUT_HEAD(leaks);
ATF_TC_BODY(leaks, tc)
{
	const char	*soak = getenv("SOAK");
	size_t		 i, step = 3;
	long		 memory = 0;
	int		 files = 0, pass, passes = 3;

	if (soak != NULL && strcmp(soak, "yes") == 0) {
		passes = 50;
		step = 1;
	}
	begin(RULES({ "NONE", 0, FAKE_ANSWER, 0, NULL }));
	for (pass = 1; pass <= passes; pass++) {
		for (i = 0; i < sizeof(odds) / sizeof(odds[0]); i += step) {
			struct fake_rule	 r[] = {
				{ "GET /v1.41/images/", 100, odds[i].how, 0,
				  odds[i].body },
				{ "GET /v1.41/containers/json", 1,
				  odds[i].how, 0, odds[i].body },
				{ 0 }
			};

			fake_stop(&fake);
			fake_start(&fake, tb.dir, r);
			tb_back(&tb);
			order(MSG_BOX_CREATE, MSG_BOX_FAILED);
			need(tb_answer(&tb, tb_send(&tb, MSG_INVENTORY, NULL),
			    &m), MSG_INVENTORY_END);
		}
		if (pass == 1) {
			files = count_files(tb.pid);
			memory = resident(tb.pid);
		}
	}
	/* The kept connections may be one or another. */
	ATF_CHECK_MSG(count_files(tb.pid) <= files + 8, "%d descriptors "
	    "after %d", count_files(tb.pid), files);
	ATF_CHECK_MSG(resident(tb.pid) < memory + GROWTH, "%ld bytes after %ld",
	    resident(tb.pid), memory);
	end();
}

/* The same as answers to what is asked until there is a sound one. */
ATF_TC_WITHOUT_HEAD(odd_inspect);
ATF_TC_BODY(odd_inspect, tc)
{
	struct fake_rule	 r[8];
	size_t			 i, n = 0;

	memset(r, 0, sizeof(r));
	for (i = 0; i < sizeof(odds) / sizeof(odds[0]); i++) {
		/* What is JSON is somebody else's container, and so told. */
		if (odds[i].code == CODE_NOT_FOUND || i % 3 != 0)
			continue;
		r[n].request = INSPECT;
		r[n].times = 1;
		r[n].how = odds[i].how;
		r[n++].body = odds[i].body;
		ATF_REQUIRE(n < 8);
	}
	lives(r);
}

ATF_TC_WITHOUT_HEAD(create_refused);
ATF_TC_BODY(create_refused, tc)
{
	fails(RULES({ CREATE, 1, FAKE_ANSWER, 500,
	    "{\"message\":\"no \\u001bspace\\n\"}" }), CODE_ENGINE_ERROR,
	    "no  space", 0);
	end();
}

/* An Engine that says nothing leaves its status. */
ATF_TC_WITHOUT_HEAD(create_wordless);
ATF_TC_BODY(create_wordless, tc)
{
	fails(RULES({ CREATE, 1, FAKE_ANSWER, 500,
	    "{\"message\":\"\\n\"}" }), CODE_ENGINE_ERROR, "status 500", 0);
	end();
}

/* Something else than was asked for is never started. */
ATF_TC_WITHOUT_HEAD(create_other);
ATF_TC_BODY(create_other, tc)
{
	fails(RULES({ INSPECT, 1, FAKE_ANSWER, 200,
	    "{\"Id\":\"aaaa\",\"Name\":\"/other\",\"Config\":{}}" },
	    { START, 0, FAKE_ANSWER, 0, NULL }), CODE_CONFLICT, "not this", 0);
	ATF_CHECK(fake.seen[1] == 0);
	end();
}

/* (b24) What cannot run the guest is told by its name. */
ATF_TC_WITHOUT_HEAD(image_arch);
ATF_TC_BODY(image_arch, tc)
{
	foreign = 1;
	fails(RULES({ CREATE, 0, FAKE_ANSWER, 0, NULL }), CODE_UNSUPPORTED,
	    "is for arm64, the guest for amd64", 0);
	ATF_CHECK(strstr(m.failed.text, req.image) != NULL);
	ATF_CHECK(fake.seen[0] == 0);
	end();
}

ATF_TC_WITHOUT_HEAD(image_deep);
ATF_TC_BODY(image_deep, tc)
{
	static char	 deep[4000];

	memset(deep, '[', sizeof(deep) - 1);
	fails(RULES({ "GET /v1.41/images/", 1, FAKE_ANSWER, 200, deep }),
	    CODE_ENGINE_ERROR, "not sound JSON", 0);
	end();
}

ATF_TC_WITHOUT_HEAD(image_double);
ATF_TC_BODY(image_double, tc)
{
	fails(RULES({ "GET /v1.41/images/", 1, FAKE_ANSWER, 200,
	    "{\"Id\":\"sha256:aa\",\"Id\":\"sha256:bb\"}" }),
	    CODE_ENGINE_ERROR, "not sound JSON", 0);
	end();
}

/* The name went to another image meanwhile: it is looked at again. */
ATF_TC_WITHOUT_HEAD(image_renamed);
ATF_TC_BODY(image_renamed, tc)
{
	lives(RULES({ "GET /v1.41/images/", 2, FAKE_ANSWER, 200,
	    "{\"Id\":\"sha256:aa\",\"RepoTags\":[]}" }));
}

/* The beginning of an ID is no name, however often it is looked at. */
ATF_TC_WITHOUT_HEAD(image_by_id);
ATF_TC_BODY(image_by_id, tc)
{
	fails(RULES({ "GET /v1.41/images/", 100, FAKE_ANSWER, 200,
	    "{\"Id\":\"sha256:aa\",\"RepoTags\":[\"other:latest\"]}" },
	    { CREATE, 0, FAKE_ANSWER, 0, NULL }), CODE_NOT_FOUND,
	    "no such image", 0);
	ATF_CHECK(fake.seen[0] < 10);
	ATF_CHECK(fake.seen[1] == 0);
	end();
}

/* An inspect is asked for until it answers. */
ATF_TC_WITHOUT_HEAD(inspect_bad);
ATF_TC_BODY(inspect_bad, tc)
{
	deadline = 5000;
	lives(RULES({ INSPECT, 1, FAKE_ENDLESS, 0, NULL },
	    { INSPECT, 1, FAKE_HALF, 0, NULL },
	    { INSPECT, 1, FAKE_ANSWER, 500, "{\"message\":\"busy\"}" },
	    { INSPECT, 1, FAKE_LATE, 0, NULL }));
}

ATF_TC_WITHOUT_HEAD(start_cut);
ATF_TC_BODY(start_cut, tc)
{
	lives(RULES({ START, 1, FAKE_CUT, 0, NULL }));
}

ATF_TC_WITHOUT_HEAD(start_lost);
ATF_TC_BODY(start_lost, tc)
{
	/* libcurl asks again by itself where it took a kept connection. */
	fails(RULES({ START, 2, FAKE_REFUSE, 0, NULL }), CODE_UNAVAILABLE,
	    "went away while it started", 1);
	order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
	end();
}

ATF_TC(start_refused);
ATF_TC_HEAD(start_refused, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c22) the Engine says 500 to a start");
}
ATF_TC_BODY(start_refused, tc)
{
	static char	 words[4096];
	int		 n;

	/* Its words are cut, and cannot play with a terminal. */
	n = snprintf(words, sizeof(words),
	    "{\"message\":\"OCI runtime\\u001b[2J create failed ");
	memset(words + n, 'x', sizeof(words) - n - 3);
	memcpy(words + sizeof(words) - 3, "\"}", 3);
	fails(RULES({ START, 1, FAKE_ANSWER, 500, words }),
	    CODE_ENGINE_ERROR, "OCI runtime", 1);
	ATF_CHECK(strchr(m.failed.text, '\033') == NULL);
	ATF_CHECK(strlen(m.failed.text) <= TEXT_MAX);
	order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
	end();
}

/* A removal goes on until nothing is there. */
ATF_TC_WITHOUT_HEAD(remove_bad);
ATF_TC_BODY(remove_bad, tc)
{
	lives(RULES({ REMOVE, 2, FAKE_ANSWER, 500, "{}" },
	    { REMOVE, 1, FAKE_ANSWER, 409, "{\"message\":\"already\"}" },
	    { REMOVE, 1, FAKE_REFUSE, 0, NULL },
	    { REMOVE, 1, FAKE_CUT, 0, NULL }));
}

ATF_TC_WITHOUT_HEAD(remove_refused);
ATF_TC_BODY(remove_refused, tc)
{
	begin(RULES({ REMOVE, 1000, FAKE_ANSWER, 500,
	    "{\"message\":\"driver failed\"}" }));
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	order(MSG_BOX_REMOVE, MSG_BOX_FAILED);
	ATF_CHECK(m.failed.left == 1 && m.failed.code == CODE_ENGINE_ERROR);
	ATF_CHECK_STREQ(m.failed.text, "driver failed");
	end();
}

ATF_TC_WITHOUT_HEAD(list_bad);
ATF_TC_BODY(list_bad, tc)
{
	begin(RULES({ "GET /v1.41/containers/json", 1, FAKE_ANSWER, 200,
	    "[{\"Id\":\"../../x\"}]" },
	    { "GET /v1.41/containers/json", 1, FAKE_HALF, 0, NULL }));
	need(tb_answer(&tb, tb_send(&tb, MSG_INVENTORY, NULL), &m),
	    MSG_INVENTORY_END);
	ATF_CHECK(m.done.code == CODE_UNAVAILABLE);
	need(tb_answer(&tb, tb_send(&tb, MSG_INVENTORY, NULL), &m),
	    MSG_INVENTORY_END);
	ATF_CHECK(m.done.code == CODE_UNAVAILABLE);
	need(tb_answer(&tb, tb_send(&tb, MSG_INVENTORY, NULL), &m),
	    MSG_INVENTORY_END);
	ATF_CHECK(m.done.code == CODE_OK);
	end();
}

/* Away: told at once, new work refused; back: told, and it works again. */
ATF_TC_WITHOUT_HEAD(away);
ATF_TC_BODY(away, tc)
{
	struct msg_engine	 e;
	struct msg_box_state	 last;
	struct frame		 f;

	begin(RULES({ "NONE", 0, FAKE_ANSWER, 0, NULL }));
	fake_stop(&fake);
	tb_recv(&tb, MSG_ENGINE, &f, &e);
	chan_frame_free(&f);
	ATF_CHECK(!e.up && e.text[0] != '\0');
	pipe_send(&tb.ch, MSG_BOX_CREATE, ++tb.op, 0, 0, -1, &req);
	ATF_REQUIRE(chan_flush_wait(&tb.ch) == 0);
	do {
		/* The cause of the absence may change meanwhile. */
		chan_frame_free(&f);
		ATF_REQUIRE(chan_get_wait(&tb.ch, &f) == 1);
	} while (f.type == MSG_ENGINE);
	ATF_REQUIRE(f.type == MSG_BOX_FAILED && f.op == tb.op);
	ATF_REQUIRE(msg_decode_array(&m, msg_def(f.type), f.data, f.len) == 0);
	chan_frame_free(&f);
	ATF_CHECK(m.failed.code == CODE_UNAVAILABLE && !m.failed.left);
	fake_start(&fake, tb.dir, RULES({ "NONE", 0, FAKE_ANSWER, 0, NULL }));
	tb_up(&tb);
	ATF_CHECK(tb_inventory(&tb, &last) == 0);
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	end();
}

ATF_TC(events_bad);
ATF_TC_HEAD(events_bad, tc)
{
	atf_tc_set_md_var(tc, "descr", "(b74) events that are none; the stream is cut (c24)");
}
ATF_TC_BODY(events_bad, tc)
{
	struct msg_engine	 e;
	struct frame		 f;
	int			 i;

	begin(RULES({ "GET /v1.41/events", 1, FAKE_ANSWER, 200,
	    "{\"Action\":7}\n{}\n[]\nnot json\n" },
	    { "GET /v1.41/events", 1, FAKE_ENDLESS, 0, NULL }));
	for (i = 0; i < 2; i++) {
		tb_recv(&tb, MSG_ENGINE, &f, &e);
		chan_frame_free(&f);
		ATF_CHECK(!e.up);
		tb_up(&tb);
	}
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	end();
}

/* What the broker tells unasked, until an inventory has been answered. */
static int
told(void)
{
	struct frame	 f;
	int		 n = 0;

	tb_send(&tb, MSG_INVENTORY, NULL);
	for (;;) {
		ATF_REQUIRE(chan_get_wait(&tb.ch, &f) == 1);
		if (f.op == tb.op && f.type == MSG_INVENTORY_END)
			break;
		n += f.type == MSG_BOX_DIED;
		chan_frame_free(&f);
	}
	chan_frame_free(&f);
	return (n);
}

/*
 * (c24) What is told twice, too late or in the wrong order is looked at, and
 * what is not ours is not.
 */
ATF_TC(events_odd);
ATF_TC_HEAD(events_odd, tc)
{
	atf_tc_set_md_var(tc, "descr", "(b74) events of nothing that is ours, "
	    "doubled, late, too long");
}
ATF_TC_BODY(events_odd, tc)
{
	static const char	 head[] = "HTTP/1.1 200 OK\r\n\r\n";
	static char		 text[400000];
	struct msg_engine	 e;
	struct frame		 f;
	const char		*in;
	int			 n, i;

	tb_policy(&tb);
	tb_request(&tb, &req, 1);
	in = tb.policy.conf.instance;
	n = snprintf(text, sizeof(text), "%s{\"Action\":\"dance\",\"Actor\":"
	    "{\"ID\":\"aa\",\"Attributes\":{\"name\":\"sbx-%.8s-1\"}}}\n"
	    "{\"Action\":\"die\"}\n{\"Action\":\"die\",\"Actor\":7}\n", head,
	    in);
	/* Of our name without our label, and with another instance's. */
	for (i = 0; i < 2; i++)
		n += snprintf(text + n, sizeof(text) - n, "{\"Action\":"
		    "\"destroy\",\"time\":1,\"Actor\":{\"ID\":\"aa\","
		    "\"Attributes\":{\"name\":\"sbx-%.8s-1\"%s}}}\n", in,
		    i == 0 ? "" : ",\"sandboxd.instance\":\"ff\"");
	/* An end of what runs, as if it came late, and twice. */
	for (i = 0; i < 2; i++)
		n += snprintf(text + n, sizeof(text) - n, "{\"Action\":"
		    "\"die\",\"time\":1,\"Actor\":{\"ID\":\"" FAKE_ID "\","
		    "\"Attributes\":{\"name\":\"sbx-%.8s-1\","
		    "\"sandboxd.instance\":\"%s\"}}}\n", in, in);
	fake_start(&fake, tb.dir, RULES(
	    { "GET /v1.41/events", 1, FAKE_STREAM, 0, text }));
	tb_start(&tb, fake.sock);
	tb_up(&tb);
	ATF_CHECK(told() == 0);
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	/* A line past its bound ends the stream: asked again, and listed. */
	n = snprintf(text, sizeof(text), "%s{\"Action\":\"", head);
	memset(text + n, 'x', 300000);
	snprintf(text + n + 300000, 10, "\"}\n");
	fake_stop(&fake);
	tb_recv(&tb, MSG_ENGINE, &f, &e);
	chan_frame_free(&f);
	fake_start(&fake, tb.dir, RULES(
	    { "GET /v1.41/events", 1, FAKE_STREAM, 0, text }));
	tb_up(&tb);
	tb_back(&tb);
	end();
}

static void
import_fails(const struct fake_rule *rules, enum code code)
{
	struct msg_import	 im;
	struct frame		 f;

	begin(rules);
	memset(&im, 0, sizeof(im));
	strlcpy(im.name, "test-image", sizeof(im.name));
	tb_send(&tb, MSG_IMPORT, &im);
	tb_recv(&tb, MSG_IMPORT_STREAM, &f, NULL);
	tb_tar(f.fd, TB_TAR);
	chan_frame_free(&f);
	tb_recv(&tb, MSG_IMPORT_FAILED, &f, &m);
	ATF_CHECK_MSG(m.failed.code == code, "%s: %s",
	    code_name(m.failed.code), m.failed.text);
	chan_frame_free(&f);
	tb_import(&tb);
	end();
}

ATF_TC_WITHOUT_HEAD(import_error);
ATF_TC_BODY(import_error, tc)
{
	import_fails(RULES({ "POST /v1.41/images/create", 1, FAKE_ANSWER, 200,
	    "{\"status\":\"x\"}\r\n{\"error\":\"unexpected EOF\"}\r\n" }),
	    CODE_ENGINE_ERROR);
}

ATF_TC(import_cut);
ATF_TC_HEAD(import_cut, tc)
{
	atf_tc_set_md_var(tc, "descr", "(c20) an upload breaks off");
}
ATF_TC_BODY(import_cut, tc)
{
	import_fails(RULES({ "POST /v1.41/images/create", 1, FAKE_REFUSE, 0,
	    NULL }), CODE_UNAVAILABLE);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, away);
	ATF_TP_ADD_TC(tp, create_after);
	ATF_TP_ADD_TC(tp, create_cut);
	ATF_TP_ADD_TC(tp, create_foreign);
	ATF_TP_ADD_TC(tp, create_garbage);
	ATF_TP_ADD_TC(tp, create_half);
	ATF_TP_ADD_TC(tp, create_late);
	ATF_TP_ADD_TC(tp, create_mute);
	ATF_TP_ADD_TC(tp, create_other);
	ATF_TP_ADD_TC(tp, create_refused);
	ATF_TP_ADD_TC(tp, create_wordless);
	ATF_TP_ADD_TC(tp, create_taken);
	ATF_TP_ADD_TC(tp, events_bad);
	ATF_TP_ADD_TC(tp, events_odd);
	ATF_TP_ADD_TC(tp, freeze);
	ATF_TP_ADD_TC(tp, freeze_after);
	ATF_TP_ADD_TC(tp, freeze_again);
	ATF_TP_ADD_TC(tp, freeze_late);
	ATF_TP_ADD_TC(tp, freeze_mute);
	ATF_TP_ADD_TC(tp, image_arch);
	ATF_TP_ADD_TC(tp, image_deep);
	ATF_TP_ADD_TC(tp, image_double);
	ATF_TP_ADD_TC(tp, image_renamed);
	ATF_TP_ADD_TC(tp, image_by_id);
	ATF_TP_ADD_TC(tp, import_cut);
	ATF_TP_ADD_TC(tp, import_error);
	ATF_TP_ADD_TC(tp, inspect_bad);
	ATF_TP_ADD_TC(tp, inspect_foreign);
	ATF_TP_ADD_TC(tp, leaks);
	ATF_TP_ADD_TC(tp, list_bad);
	ATF_TP_ADD_TC(tp, odd_image);
	ATF_TP_ADD_TC(tp, odd_inspect);
	ATF_TP_ADD_TC(tp, plain);
	ATF_TP_ADD_TC(tp, remove_bad);
	ATF_TP_ADD_TC(tp, remove_refused);
	ATF_TP_ADD_TC(tp, start);
	ATF_TP_ADD_TC(tp, start_cut);
	ATF_TP_ADD_TC(tp, start_lost);
	ATF_TP_ADD_TC(tp, start_refused);
	ATF_TP_ADD_TC(tp, unknown);
	ATF_TP_ADD_TC(tp, update_after);
	return (atf_no_error());
}
