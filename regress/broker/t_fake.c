/*
 * The broker on an Engine that misbehaves.
 *
 * regress-objs: broker_engine.o broker_import.o broker_ops.o broker_store.o
 * regress-objs: engine.o engine_curl.o engine_json.o policy.o policy_build.o
 * regress-objs: policy_check.o seccomp_profile.o dispatch.o messages.o
 * regress-srcs: testbroker.c fakeengine.c
 */
#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakeengine.h"
#include "testbroker.h"

#define INSPECT		"GET /v1.41/containers/"
#define CREATE		"POST /v1.41/containers/create"
#define START		"POST /v1.41/containers/aaaa"
#define REMOVE		"DELETE /v1.41/containers/"

union answer {
	struct msg_box_started	 started;
	struct msg_box_state	 state;
	struct msg_box_done	 done;
	struct msg_box_failed	 failed;
};

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
ATF_TC_WITHOUT_HEAD(start);
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
	    { "GET /v1.41/info", 1, FAKE_ANSWER, 500, "oops" },
	    { "GET /v1.41/events", 1, FAKE_ANSWER, 503, "{}" }));
}

/* A create whose answer is lost has happened: it is found by its name. */
ATF_TC_WITHOUT_HEAD(create_half);
ATF_TC_BODY(create_half, tc)
{
	lives(RULES({ CREATE, 1, FAKE_HALF, 0, NULL }));
}

ATF_TC_WITHOUT_HEAD(create_cut);
ATF_TC_BODY(create_cut, tc)
{
	lives(RULES({ CREATE, 1, FAKE_CUT, 0, NULL }));
}

ATF_TC_WITHOUT_HEAD(create_garbage);
ATF_TC_BODY(create_garbage, tc)
{
	/* It has not happened: absent, and absent again. */
	fails(RULES({ CREATE, 1, FAKE_ANSWER, 200, "{\"Id\":" }),
	    CODE_UNAVAILABLE, "not made", 1);
	order(MSG_BOX_REMOVE, MSG_BOX_REMOVED);
	order(MSG_BOX_CREATE, MSG_BOX_STARTED);
	end();
}

ATF_TC_WITHOUT_HEAD(create_late);
ATF_TC_BODY(create_late, tc)
{
	deadline = 5000;
	fails(RULES({ CREATE, 1, FAKE_LATE, 0, NULL }), CODE_UNAVAILABLE,
	    "not made", 1);
	end();
}

ATF_TC_WITHOUT_HEAD(create_refused);
ATF_TC_BODY(create_refused, tc)
{
	fails(RULES({ CREATE, 1, FAKE_ANSWER, 500,
	    "{\"message\":\"no \\u001bspace\\n\"}" }), CODE_ENGINE_ERROR,
	    "no  space", 0);
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

/* What cannot run the guest is told by its name. */
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
	    CODE_UNAVAILABLE, "not sound JSON", 0);
	end();
}

ATF_TC_WITHOUT_HEAD(image_double);
ATF_TC_BODY(image_double, tc)
{
	fails(RULES({ "GET /v1.41/images/", 1, FAKE_ANSWER, 200,
	    "{\"Id\":\"sha256:aa\",\"Id\":\"sha256:bb\"}" }),
	    CODE_UNAVAILABLE, "not sound JSON", 0);
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

ATF_TC_WITHOUT_HEAD(start_refused);
ATF_TC_BODY(start_refused, tc)
{
	fails(RULES({ START, 1, FAKE_ANSWER, 500,
	    "{\"message\":\"OCI runtime create failed\"}" }),
	    CODE_ENGINE_ERROR, "OCI runtime", 1);
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

ATF_TC_WITHOUT_HEAD(events_bad);
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

ATF_TC_WITHOUT_HEAD(import_cut);
ATF_TC_BODY(import_cut, tc)
{
	import_fails(RULES({ "POST /v1.41/images/create", 1, FAKE_REFUSE, 0,
	    NULL }), CODE_UNAVAILABLE);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, away);
	ATF_TP_ADD_TC(tp, create_cut);
	ATF_TP_ADD_TC(tp, create_garbage);
	ATF_TP_ADD_TC(tp, create_half);
	ATF_TP_ADD_TC(tp, create_late);
	ATF_TP_ADD_TC(tp, create_other);
	ATF_TP_ADD_TC(tp, create_refused);
	ATF_TP_ADD_TC(tp, events_bad);
	ATF_TP_ADD_TC(tp, image_arch);
	ATF_TP_ADD_TC(tp, image_deep);
	ATF_TP_ADD_TC(tp, image_double);
	ATF_TP_ADD_TC(tp, image_renamed);
	ATF_TP_ADD_TC(tp, image_by_id);
	ATF_TP_ADD_TC(tp, import_cut);
	ATF_TP_ADD_TC(tp, import_error);
	ATF_TP_ADD_TC(tp, inspect_bad);
	ATF_TP_ADD_TC(tp, list_bad);
	ATF_TP_ADD_TC(tp, plain);
	ATF_TP_ADD_TC(tp, remove_bad);
	ATF_TP_ADD_TC(tp, remove_refused);
	ATF_TP_ADD_TC(tp, start);
	ATF_TP_ADD_TC(tp, start_cut);
	ATF_TP_ADD_TC(tp, start_lost);
	ATF_TP_ADD_TC(tp, start_refused);
	return (atf_no_error());
}
