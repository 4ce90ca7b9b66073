/*
 * The broker on the real Engine.
 *
 * regress-srcs: testbroker.c
 */
#include <atf-c.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbroker.h"

static void
begin(struct tb *tb)
{
	const char	*sock = getenv("SBX_RECORDED");

	ATF_REQUIRE(sock != NULL);
	tb_policy(tb);
	tb_start(tb, sock);
	tb_up(tb);
	tb_import(tb);
}

static void
ref_of(const struct msg_box_create *req, struct msg_box_ref *ref)
{
	memset(ref, 0, sizeof(*ref));
	ref->n = req->n;
	strlcpy(ref->nonce, req->nonce, sizeof(ref->nonce));
}

static void
need(uint32_t type, uint32_t want, const union answer *m)
{
	ATF_REQUIRE_MSG(type == want, "%s instead of %s: %s", msg_name(type),
	    msg_name(want), type == MSG_BOX_FAILED ? m->failed.text : "");
}

static void
remove_box(struct tb *tb, const struct msg_box_create *req)
{
	struct msg_box_ref	 ref;
	union answer		 m;

	ref_of(req, &ref);
	need(tb_answer(tb, tb_send(tb, MSG_BOX_REMOVE, &ref), &m),
	    MSG_BOX_REMOVED, &m);
	ATF_CHECK(m.done.n == req->n);
}

ATF_TC_WITHOUT_HEAD(life);
ATF_TC_BODY(life, tc)
{
	struct msg_box_create	 req;
	struct msg_box_ref	 ref;
	struct msg_box_state	 last;
	struct tb		 tb;
	union answer		 m;
	char			 container[80];

	begin(&tb);
	tb_request(&tb, &req, 1);
	ATF_CHECK(kvv_add(&req.env, "GREETING", "hello") == 0);
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_CREATE, &req), &m),
	    MSG_BOX_STARTED, &m);
	ATF_CHECK(m.started.n == 1 && m.started.pid > 1);
	ATF_CHECK(strlen(m.started.container) == 64);
	ATF_CHECK(strncmp(m.started.image_id, "sha256:", 7) == 0);
	ATF_CHECK(kill(m.started.pid, 0) == 0);
	strlcpy(container, m.started.container, sizeof(container));

	ATF_CHECK(tb_inventory(&tb, &last) == 1);
	ATF_CHECK(last.n == 1 && last.running && last.pid == m.started.pid);
	ATF_CHECK(strcmp(last.id, req.id) == 0);
	ATF_CHECK(strcmp(last.nonce, req.nonce) == 0);
	ATF_CHECK(strcmp(last.container, container) == 0);

	/* The same order again finds what stands. */
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_CREATE, &req), &m),
	    MSG_BOX_STARTED, &m);
	ATF_CHECK(strcmp(m.started.container, container) == 0);
	ATF_CHECK(m.started.pid == last.pid);

	ref_of(&req, &ref);
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_KILL, &ref), &m),
	    MSG_BOX_DEAD, &m);
	ATF_CHECK(!m.state.running && m.state.exitcode == 137);
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_KILL, &ref), &m),
	    MSG_BOX_DEAD, &m);
	ATF_CHECK(!m.state.gone);
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_START, &ref), &m),
	    MSG_BOX_STARTED, &m);
	ATF_CHECK(kill(m.started.pid, 0) == 0);
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_START, &ref), &m),
	    MSG_BOX_STARTED, &m);
	ATF_CHECK(strcmp(m.started.container, container) == 0);

	remove_box(&tb, &req);
	remove_box(&tb, &req);
	ATF_CHECK(tb_inventory(&tb, &last) == 0);
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_KILL, &ref), &m),
	    MSG_BOX_DEAD, &m);
	ATF_CHECK(m.state.gone);
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_START, &ref), &m),
	    MSG_BOX_FAILED, &m);
	ATF_CHECK(m.failed.code == CODE_NOT_FOUND);
	msg_clear(&req, msg_def(MSG_BOX_CREATE));
	tb_stop(&tb);
}

/* What the configuration does not allow is refused, whoever asks. */
ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	struct msg_box_create	 good, req;
	struct msg_box_state	 last;
	struct tb		 tb;
	union answer		 m;
	int			 i;

	begin(&tb);
	tb_request(&tb, &good, 1);
	for (i = 0; i < 8; i++) {
		req = good;
		switch (i) {
		case 0: req.uid = 1000; break;
		case 1: req.gid = 0; break;
		case 2: req.uid = req.gid = 0; break;
		case 3: req.memory = (1ULL << 32) + 1; break;
		case 4: req.mcpus = 4001; break;
		case 5: req.pids = 1001; break;
		case 6: strlcpy(req.image, "other", sizeof(req.image)); break;
		case 7: strlcpy(req.id, "../x", sizeof(req.id)); break;
		}
		need(tb_answer(&tb, tb_send(&tb, MSG_BOX_CREATE, &req), &m),
		    MSG_BOX_FAILED, &m);
		ATF_CHECK_MSG(m.failed.code == (i == 7 ?
		    CODE_INVALID_ARGUMENT : CODE_POLICY_DENIED) &&
		    m.failed.field[0] != '\0' && !m.failed.left,
		    "case %d: %s", i, m.failed.text);
	}
	ATF_CHECK(tb_inventory(&tb, &last) == 0);
	msg_clear(&good, msg_def(MSG_BOX_CREATE));
	tb_stop(&tb);
}

/* A missing image is told by its name; the beginning of an ID is no name. */
ATF_TC_WITHOUT_HEAD(image);
ATF_TC_BODY(image, tc)
{
	struct msg_conf_rule	 rule = { 1, "*" };
	struct msg_box_create	 req;
	struct tb		 tb;
	union answer		 m;
	char			 id[80];

	tb_policy(&tb);
	tb.policy.rules = malloc(sizeof(rule));
	ATF_REQUIRE(tb.policy.rules != NULL);
	*tb.policy.rules = rule;
	tb.policy.nrules = 1;
	ATF_REQUIRE(getenv("SBX_RECORDED") != NULL);
	tb_start(&tb, getenv("SBX_RECORDED"));
	tb_up(&tb);
	tb_import(&tb);
	tb_request(&tb, &req, 1);
	strlcpy(req.image, "not-here:1.0", sizeof(req.image));
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_CREATE, &req), &m),
	    MSG_BOX_FAILED, &m);
	ATF_CHECK(m.failed.code == CODE_NOT_FOUND);
	ATF_CHECK_STREQ(m.failed.text, "no such image: not-here:1.0");
	ATF_CHECK_STREQ(m.failed.field, "image");
	ATF_CHECK(!m.failed.left);

	snprintf(req.image, sizeof(req.image), "docker.io/library/%.64s:latest",
	    tb.policy.conf.image);
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_CREATE, &req), &m),
	    MSG_BOX_STARTED, &m);
	strlcpy(id, m.started.image_id, sizeof(id));
	remove_box(&tb, &req);
	snprintf(req.image, sizeof(req.image), "%.12s", id + 7);
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_CREATE, &req), &m),
	    MSG_BOX_FAILED, &m);
	ATF_CHECK(m.failed.code == CODE_NOT_FOUND);
	msg_clear(&req, msg_def(MSG_BOX_CREATE));
	tb_stop(&tb);
}

/* An archive that breaks off between two files, or at once, is no image. */
ATF_TC_WITHOUT_HEAD(truncated);
ATF_TC_BODY(truncated, tc)
{
	struct msg_import	 im;
	struct msg_box_failed	 failed;
	struct frame		 f;
	struct tb		 tb;
	int			 i;

	begin(&tb);
	memset(&im, 0, sizeof(im));
	snprintf(im.name, sizeof(im.name), "%.64s-cut", tb.policy.conf.image);
	for (i = 0; i < 2; i++) {
		tb_send(&tb, MSG_IMPORT, &im);
		tb_recv(&tb, MSG_IMPORT_STREAM, &f, NULL);
		if (i == 0)
			tb_tar(f.fd, 1024);
		chan_frame_free(&f);
		tb_recv(&tb, MSG_IMPORT_FAILED, &f, &failed);
		ATF_CHECK_MSG(failed.code == CODE_INVALID_ARGUMENT &&
		    strstr(failed.text, i == 0 ? "not complete" : "empty"),
		    "%s", failed.text);
		chan_frame_free(&f);
	}
	tb_stop(&tb);
}

/* A death that nobody asked for is told, with its status. */
ATF_TC_WITHOUT_HEAD(died);
ATF_TC_BODY(died, tc)
{
	struct msg_box_create	 req;
	struct msg_box_state	 state;
	struct frame		 f;
	struct tb		 tb;
	union answer		 m;

	begin(&tb);
	tb_request(&tb, &req, 1);
	req.readonly = 1;
	need(tb_answer(&tb, tb_send(&tb, MSG_BOX_CREATE, &req), &m),
	    MSG_BOX_STARTED, &m);
	ATF_REQUIRE(kill(m.started.pid, SIGKILL) == 0);
	tb_recv(&tb, MSG_BOX_DIED, &f, &state);
	ATF_CHECK(f.op == 0 && state.n == 1 && !state.running && !state.gone);
	ATF_CHECK(state.exitcode == 137);
	ATF_CHECK_STREQ(state.nonce, req.nonce);
	chan_frame_free(&f);
	remove_box(&tb, &req);
	msg_clear(&req, msg_def(MSG_BOX_CREATE));
	tb_stop(&tb);
}

/* Two daemons on one Engine: none sees or touches what is the other's. */
ATF_TC_WITHOUT_HEAD(others);
ATF_TC_BODY(others, tc)
{
	struct msg_box_create	 req, twin;
	struct msg_box_state	 last;
	struct msg_box_ref	 ref;
	struct tb		 a, b;
	union answer		 m;
	char			 container[80];

	begin(&a);
	begin(&b);
	tb_request(&a, &req, 1);
	tb_request(&b, &twin, 1);
	need(tb_answer(&a, tb_send(&a, MSG_BOX_CREATE, &req), &m),
	    MSG_BOX_STARTED, &m);
	strlcpy(container, m.started.container, sizeof(container));
	ATF_CHECK(tb_inventory(&b, &last) == 0);
	need(tb_answer(&b, tb_send(&b, MSG_BOX_CREATE, &twin), &m),
	    MSG_BOX_STARTED, &m);
	remove_box(&b, &twin);

	/* By its ID, as if it were a stray of b's. */
	memset(&ref, 0, sizeof(ref));
	strlcpy(ref.container, container, sizeof(ref.container));
	need(tb_answer(&b, tb_send(&b, MSG_BOX_REMOVE, &ref), &m),
	    MSG_BOX_FAILED, &m);
	ATF_CHECK(m.failed.code == CODE_CONFLICT);
	ATF_CHECK(tb_inventory(&a, &last) == 1 && last.running);
	/* Of another operation than the store knows. */
	ref_of(&req, &ref);
	ref.nonce[0] = 'f';
	need(tb_answer(&a, tb_send(&a, MSG_BOX_REMOVE, &ref), &m),
	    MSG_BOX_FAILED, &m);
	ATF_CHECK(m.failed.code == CODE_CONFLICT);
	/* And as a stray of a's own. */
	memset(&ref, 0, sizeof(ref));
	strlcpy(ref.container, container, sizeof(ref.container));
	need(tb_answer(&a, tb_send(&a, MSG_BOX_REMOVE, &ref), &m),
	    MSG_BOX_REMOVED, &m);
	ATF_CHECK(tb_inventory(&a, &last) == 0);
	msg_clear(&req, msg_def(MSG_BOX_CREATE));
	msg_clear(&twin, msg_def(MSG_BOX_CREATE));
	tb_stop(&a);
	tb_stop(&b);
}

/* A delete that comes while the create runs: nothing is left. */
ATF_TC_WITHOUT_HEAD(overtaken);
ATF_TC_BODY(overtaken, tc)
{
	struct msg_box_create	 req;
	struct msg_box_state	 last;
	struct msg_box_ref	 ref;
	struct tb		 tb;
	union answer		 m;
	uint64_t		 create, remove_;
	uint32_t		 type;

	begin(&tb);
	tb_request(&tb, &req, 1);
	ref_of(&req, &ref);
	create = tb_send(&tb, MSG_BOX_CREATE, &req);
	remove_ = tb_send(&tb, MSG_BOX_REMOVE, &ref);
	type = tb_answer(&tb, create, &m);
	ATF_CHECK(type == MSG_BOX_FAILED || type == MSG_BOX_STARTED);
	need(tb_answer(&tb, remove_, &m), MSG_BOX_REMOVED, &m);
	ATF_CHECK(tb_inventory(&tb, &last) == 0);
	msg_clear(&req, msg_def(MSG_BOX_CREATE));
	tb_stop(&tb);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, died);
	ATF_TP_ADD_TC(tp, image);
	ATF_TP_ADD_TC(tp, life);
	ATF_TP_ADD_TC(tp, others);
	ATF_TP_ADD_TC(tp, overtaken);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, truncated);
	return (atf_no_error());
}
