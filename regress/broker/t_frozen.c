/*
 * Pause, going on and other limits on an Engine that misbehaves.
 *
 * regress-srcs: testbroker.c fakeengine.c fakes.c
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <poll.h>
#include <unistd.h>

#include "fakes.h"

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

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, freeze);
	ATF_TP_ADD_TC(tp, freeze_after);
	ATF_TP_ADD_TC(tp, freeze_again);
	ATF_TP_ADD_TC(tp, freeze_late);
	ATF_TP_ADD_TC(tp, freeze_mute);
	ATF_TP_ADD_TC(tp, update_after);
	return (atf_no_error());
}
