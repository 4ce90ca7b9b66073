/*
 * The broker on an Engine that misbehaves.
 *
 * regress-srcs: testbroker.c fakeengine.c fakes.c
 */
#include <stdio.h>

#include "fakes.h"

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
	ATF_TP_ADD_TC(tp, image_arch);
	ATF_TP_ADD_TC(tp, image_deep);
	ATF_TP_ADD_TC(tp, image_double);
	ATF_TP_ADD_TC(tp, image_renamed);
	ATF_TP_ADD_TC(tp, image_by_id);
	ATF_TP_ADD_TC(tp, import_cut);
	ATF_TP_ADD_TC(tp, import_error);
	ATF_TP_ADD_TC(tp, inspect_bad);
	ATF_TP_ADD_TC(tp, inspect_foreign);
	ATF_TP_ADD_TC(tp, list_bad);
	ATF_TP_ADD_TC(tp, plain);
	ATF_TP_ADD_TC(tp, remove_bad);
	ATF_TP_ADD_TC(tp, remove_refused);
	ATF_TP_ADD_TC(tp, start);
	ATF_TP_ADD_TC(tp, start_cut);
	ATF_TP_ADD_TC(tp, start_lost);
	ATF_TP_ADD_TC(tp, start_refused);
	ATF_TP_ADD_TC(tp, unknown);
	return (atf_no_error());
}
