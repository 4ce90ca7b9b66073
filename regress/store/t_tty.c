/*
 * Execs on a terminal: who may have one, their sizes, and who leaves them.
 *
 * regress-srcs: ring.c
 */

#include <atf-c.h>
#include <string.h>

#include "gproto.h"
#include "ring.h"

#define TTY	(EXEC_INPUT | EXEC_MERGE | EXEC_TTY)

static uint32_t
ask_resize(const char *exec)
{
	struct proto_resize	 m;
	char			 buf[64];

	memset(&m, 0, sizeof(m));
	strlcpy(buf, exec, sizeof(buf));
	m.exec = buf;
	m.rows = 33;
	m.cols = 101;
	return (ring_ask(USER_SESSION, PROTO_RESIZE, &m));
}

static uint32_t
ask_detach(const char *exec)
{
	struct proto_detach	 m;
	char			 buf[64];

	memset(&m, 0, sizeof(m));
	strlcpy(buf, exec, sizeof(buf));
	m.exec = buf;
	m.shown = 77;
	return (ring_ask(USER_SESSION, PROTO_DETACH, &m));
}

/* A store with a sandbox whose guest is of that version. */
static uint64_t
up(uint32_t version)
{
	ring_make();
	ring_start();
	ring_engine(1);
	ring.guest = version;
	return (ring_ready(USER_SESSION, "web"));
}

/* An exec begins; so far the runner has the order. */
static void
begin(uint64_t n, uint64_t k, uint32_t flags)
{
	struct msg_started	 s = { .n = n, .k = k, .pid = 5 };
	struct got		 g;

	ring_answered(ring_exec(USER_SESSION, "web", flags), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_get(&ring.runner, MSG_START, &g);
	ATF_REQUIRE_EQ(k, g.m.start.k);
	ATF_CHECK_EQ(flags, g.m.start.flags & TTY);
	ring_done(&g);
	ring_send(&ring.runner, MSG_STARTED, 0, 0, 0, &s);
}

ATF_TC_WITHOUT_HEAD(older);
ATF_TC_BODY(older, tc)
{
	struct got	 g;
	uint32_t	 req;

	(void)up(GP_VERSION_TTY - 1);
	req = ring_exec(USER_SESSION, "web", TTY);
	ring_answer(req, PROTO_ERROR, &g);
	ATF_CHECK_STREQ("unsupported", g.m.error.code);
	ATF_CHECK_STREQ("flags", g.m.error.field);
	ATF_CHECK_MSG(strstr(g.m.error.text, "web has no terminals") != NULL,
	    "%s", g.m.error.text);
	ring_done(&g);
	/* Nothing of it has begun; and what needs none does. */
	ring_quiet(&ring.runner);
	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	ring_refused(ask_resize("web.1"), CODE_WRONG_STATE);
	ring_quiet(&ring.runner);
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(size);
ATF_TC_BODY(size, tc)
{
	struct got	 g;
	uint64_t	 n;

	n = up(GP_VERSION);
	begin(n, 1, TTY);
	ring_answered(ask_resize("web.1"), PROTO_END);
	ring_get(&ring.runner, MSG_RESIZE, &g);
	ATF_CHECK(g.m.resize.n == n && g.m.resize.k == 1);
	ATF_CHECK(g.m.resize.rows == 33 && g.m.resize.cols == 101);
	ring_done(&g);
	ring_refused(ask_resize("web.7"), CODE_NOT_FOUND);
	ring_ended(n, 1, END_EXITED, 0);
	ring_skip(&ring.runner, MSG_FORGET);
	ring_refused(ask_resize("web.1"), CODE_WRONG_STATE);
	ring_quiet(&ring.runner);
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(detach);
ATF_TC_BODY(detach, tc)
{
	static char	 web[] = "web";
	struct proto_ps	 ps = { .sandbox = web };
	struct got	 g;
	uint64_t	 n;
	uint32_t	 req;

	n = up(GP_VERSION);
	begin(n, 1, TTY);
	ring_answered(ask_detach("web.1"), PROTO_END);
	/* Where it was left is known to who comes back. */
	req = ring_ask(USER_SESSION, PROTO_PS, &ps);
	ring_answer(req, PROTO_EXEC_INFO, &g);
	ATF_CHECK_EQ(77, g.m.exec.shown);
	ring_done(&g);
	ring_answered(req, PROTO_END);
	ring_refused(ask_detach("web.2"), CODE_NOT_FOUND);
	/* What has ended is not left any more. */
	ring_ended(n, 1, END_EXITED, 0);
	ring_skip(&ring.runner, MSG_FORGET);
	ring_refused(ask_detach("web.1"), CODE_WRONG_STATE);
	ring_quiet(&ring.runner);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, older);
	ATF_TP_ADD_TC(tp, size);
	ATF_TP_ADD_TC(tp, detach);
	return (atf_no_error());
}
