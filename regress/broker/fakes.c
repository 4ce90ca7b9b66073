/* See fakes.h. */

#include "fakes.h"

struct tb			 tb;
struct fake			 fake;
struct msg_box_create		 req;
union answer			 m;

uint64_t			 deadline = 60000;
int				 foreign;

void
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

void
end(void)
{
	fake_stop(&fake);
	msg_clear(&req, msg_def(MSG_BOX_CREATE));
	tb_stop(&tb);
}

void
need(uint32_t type, uint32_t want)
{
	ATF_REQUIRE_MSG(type == want, "%s instead of %s: %s", msg_name(type),
	    msg_name(want), type == MSG_BOX_FAILED ? m.failed.text : "");
}

void
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

void
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

void
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
