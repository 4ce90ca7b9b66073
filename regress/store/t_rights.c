/*
 * Rights: what the parent has told of a session is what each request is
 * judged by, for own sandboxes and for those of others.
 *
 * regress-srcs: ring.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

#define ME		21
#define B(r)		(1U << RIGHT_##r)

/* Every request that takes a right, and what it is about. */
static const struct {
	uint32_t	 type;
	enum right	 right;
	const char	*on;		/* NULL: no sandbox */
} requests[] = {
	{ PROTO_CREATE, RIGHT_CREATE, NULL },
	{ PROTO_STOP, RIGHT_STOP, "web" },
	{ PROTO_RESUME, RIGHT_STOP, "web" },
	{ PROTO_PAUSE, RIGHT_STOP, "web" },
	{ PROTO_UNPAUSE, RIGHT_STOP, "web" },
	{ PROTO_RESTART, RIGHT_STOP, "web" },
	{ PROTO_DELETE, RIGHT_DELETE, "web" },
	{ PROTO_EXEC, RIGHT_EXEC, "web" },
	{ PROTO_ATTACH, RIGHT_EXEC, "web.1" },
	{ PROTO_INPUT_END, RIGHT_EXEC, "web.1" },
	{ PROTO_LOGS, RIGHT_EXEC, "web.1" },
	{ PROTO_WAIT, RIGHT_EXEC, "web.1" },
	{ PROTO_KILL, RIGHT_EXEC, "web.1" },
	{ PROTO_RESIZE, RIGHT_EXEC, "web.1" },
	{ PROTO_DETACH, RIGHT_EXEC, "web.1" },
	{ PROTO_EVENTS, RIGHT_EVENTS, "web" },
	{ PROTO_IMAGE_IMPORT, RIGHT_IMAGES, NULL },
	{ PROTO_RELOAD, RIGHT_ADMIN, NULL },
	{ PROTO_LOG_DUMP, RIGHT_ADMIN, NULL },
	{ PROTO_LOG_VERIFY, RIGHT_ADMIN, NULL },
};

static void
session(uint64_t number, uint32_t type, uint32_t uid, uint32_t own,
    uint32_t others)
{
	struct msg_session	 m;

	memset(&m, 0, sizeof(m));
	m.uid = m.gid = uid;
	m.own = own;
	m.others = others;
	ring_session_as(number, type, &m);
}

static uint32_t
ask(uint64_t number, uint32_t type, const char *on)
{
	union {
		struct proto_create		 create;
		struct proto_ref		 ref;
		struct proto_attach		 attach;
		struct proto_input_end		 input_end;
		struct proto_wait		 wait;
		struct proto_kill		 kill;
		struct proto_resize		 resize;
		struct proto_detach		 detach;
		struct proto_events		 events;
		struct proto_image_import	 import;
	}		 m;
	char		 buf[64];

	memset(&m, 0, sizeof(m));
	strlcpy(buf, on == NULL ? "" : on, sizeof(buf));
	switch (type) {
	case PROTO_EXEC:
		return (ring_exec(number, on, 0));
	case PROTO_CREATE:
		m.create.workdir = buf;
		break;
	case PROTO_ATTACH:
	case PROTO_LOGS:
		m.attach.exec = buf;
		m.attach.streams = 1 << 1;
		break;
	case PROTO_INPUT_END:
		m.input_end.exec = buf;
		break;
	case PROTO_WAIT:
		m.wait.exec = buf;
		break;
	case PROTO_KILL:
		m.kill.exec = buf;
		break;
	case PROTO_RESIZE:
		m.resize.exec = buf;
		m.resize.rows = m.resize.cols = 1;
		break;
	case PROTO_DETACH:
		m.detach.exec = buf;
		break;
	case PROTO_EVENTS:
		m.events.sandbox = buf;
		break;
	case PROTO_IMAGE_IMPORT:
		strlcpy(m.import.name, "x", sizeof(m.import.name));
		break;
	case PROTO_RELOAD:
	case PROTO_LOG_DUMP:
	case PROTO_LOG_VERIFY:
		return (ring_ask(number, type, NULL));
	default:
		m.ref.id = buf;
		break;
	}
	return (ring_ask(number, type, &m));
}

/* Refused for the want of that right, and for nothing else. */
static void
denied(uint32_t req, enum right r)
{
	struct got	 g;
	size_t		 len = strlen(right_name(r));

	ring_answer(req, PROTO_ERROR, &g);
	ATF_REQUIRE_MSG(strcmp(g.m.error.code, "permission_denied") == 0,
	    "%s: %s", right_name(r), g.m.error.text);
	ATF_REQUIRE_MSG(strncmp(g.m.error.text, right_name(r), len) == 0 &&
	    strstr(g.m.error.text, ": not permitted (") != NULL, "%s",
	    g.m.error.text);
	ring_done(&g);
}

ATF_TC(each);
ATF_TC_HEAD(each, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(L2) each request without its right, on own and on others'");
}
ATF_TC_BODY(each, tc)
{
	const char	*on;
	char		 other[64];
	size_t		 i;

	(void)tc;
	ring_make();
	ring_start();
	ring_engine(1);
	ring_ready(USER_SESSION, "web");
	ring_answered(ring_exec(USER_SESSION, "web", 0), PROTO_ACCEPTED);
	ring_answered(ring.req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		on = requests[i].on;
		/* The owner, with all the other rights. */
		session(ME, MSG_SESSION_OPEN, USER_UID,
		    RIGHTS_ALL & ~(1U << requests[i].right), RIGHTS_OTHERS);
		denied(ask(ME, requests[i].type, on), requests[i].right);
		ring_session_over(ME);
		if (on == NULL)
			continue;
		/* Somebody else, who sees it, with all the others. */
		snprintf(other, sizeof(other), "%d/%s", USER_UID, on);
		session(ME, MSG_SESSION_OPEN, OTHER_UID, RIGHTS_ALL,
		    RIGHTS_OTHERS & ~(1U << requests[i].right));
		denied(ask(ME, requests[i].type, other), requests[i].right);
		ring_session_over(ME);
		/* And who does not see it: it is not there. */
		session(ME, MSG_SESSION_OPEN, OTHER_UID, RIGHTS_ALL, 0);
		ring_refused(ask(ME, requests[i].type, other),
		    CODE_NOT_FOUND);
		ring_refused(ask(ME, requests[i].type, on), CODE_NOT_FOUND);
		ring_session_over(ME);
	}
	/* Nothing of all that was done. */
	ring_quiet(&ring.broker);
	ring_quiet(&ring.runner);
	ring_quiet(&ring.parent);
	ring_stop();
}

/* Rights that a reload gives hold with its end, and not before. */
ATF_TC_WITHOUT_HEAD(reload);
ATF_TC_BODY(reload, tc)
{
	struct msg_conf_place	 p;
	struct msg_session	 m;
	struct got		 g;
	uint32_t		 req;
	int			 i;

	(void)tc;
	ring_make();
	ring_start();
	ring_engine(1);
	session(ME, MSG_SESSION_OPEN, OTHER_UID, RIGHTS_SANDBOX, 0);
	denied(ask(ME, PROTO_RELOAD, NULL), RIGHT_ADMIN);
	ring_send(&ring.parent, MSG_CONF_BEGIN, 0, 0, 0, &ring.conf);
	memset(&p, 0, sizeof(p));
	strlcpy(p.place, "some.conf:3", sizeof(p.place));
	ring_send(&ring.parent, MSG_CONF_PLACE, 0, 0, 0, &p);
	memset(&m, 0, sizeof(m));
	m.uid = OTHER_UID;
	m.own = RIGHTS_SANDBOX | B(ADMIN);
	for (i = 0; i < 2 * RIGHT_MAX; i++)
		ATF_REQUIRE(u64v_add(&m.by, i == RIGHT_ADMIN) == 0);
	ring_session_as(ME, MSG_SESSION_RIGHTS, &m);
	denied(ask(ME, PROTO_RELOAD, NULL), RIGHT_ADMIN);
	ring_send(&ring.parent, MSG_CONF_END, 0, 0, 0, NULL);
	/* Both pipes are read in any order: after this one it is there. */
	ring_session(99, 0);
	ring_answered(ring_ask(99, PROTO_PING, NULL), PROTO_END);
	req = ring_ask(ME, PROTO_RULES, NULL);
	for (i = 0; i < RIGHT_MAX + 5; i++) {
		ring_answer(req, PROTO_RIGHT, &g);
		if (strcmp(((struct proto_right *)&g.m)->name, "admin") == 0) {
			ATF_CHECK_EQ(1, ((struct proto_right *)&g.m)->may);
			ATF_CHECK_STREQ("some.conf:3",
			    ((struct proto_right *)&g.m)->by);
		} else
			ATF_CHECK_STREQ("default",
			    ((struct proto_right *)&g.m)->by);
		ring_done(&g);
	}
	for (i = 0; i < LIMIT_MAX; i++)
		ring_answered(req, PROTO_LIMIT);
	ring_answered(req, PROTO_END);
	ask(ME, PROTO_RELOAD, NULL);
	ring_skip(&ring.parent, MSG_RELOAD);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, each);
	ATF_TP_ADD_TC(tp, reload);
	return (atf_no_error());
}
