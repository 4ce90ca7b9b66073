/*
 * The proof of a log: what is done to it, and how it is named.
 *
 * regress-srcs: history.c
 */
#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "logverify.h"

/* Ways to change what is there; 1 is deleted, 2 is live with four execs. */

static void
row_del(char letter, uint64_t n, uint64_t k)
{
	uint8_t	 key[17];

	key[0] = letter;
	record_put64(key + 1, n);
	record_put64(key + 9, k);
	ATF_REQUIRE_EQ(eventdb_del(&st.db, EDB_STATE, key,
	    k == 0 ? 9 : 17), EDB_OK);
}

static void
row_put(char letter, uint64_t n, uint64_t k, const void *val, size_t len)
{
	uint8_t	 key[17];

	key[0] = letter;
	record_put64(key + 1, n);
	record_put64(key + 9, k);
	ATF_REQUIRE_EQ(eventdb_put(&st.db, EDB_STATE, key, k == 0 ? 9 : 17,
	    val, len), 0);
}

static void
exec_put(uint64_t n, uint64_t k, uint64_t as, enum exec_state state)
{
	struct exec	 ex;

	memset(&ex, 0, sizeof(ex));
	ATF_REQUIRE_EQ(model_get_exec(&st.model, n, k, &ex.r), 0);
	ex.r.k = as;
	ex.r.state = state;
	ATF_REQUIRE_EQ(model_put_exec(&st.batch, &ex), BATCH_OK);
	exec_row_clear(&ex.r);
}

static void
box_put(uint64_t n, uint64_t as, enum sbx_state state, uint32_t owner)
{
	struct sandbox	 sb;

	memset(&sb, 0, sizeof(sb));
	ATF_REQUIRE_EQ(model_get_row(&st.model, n, &sb.r), 0);
	sb.r.n = as;
	sb.r.state = state;
	sb.r.owner = owner;
	ATF_REQUIRE_EQ(model_put(&st.batch, &sb), BATCH_OK);
}

/* As somebody who can compute the chain anew: all from seq on. */
static void
forge(uint64_t seq, void (*fn)(struct record *))
{
	struct record_frame	 f;
	struct record		 r;
	const uint8_t		*val;
	uint8_t			 buf[RECORD_FRAME_MAX], key[8];
	uint8_t			 link[RECORD_HASH_LEN], body[RECORD_FRAME_MAX];
	size_t			 len;
	uint64_t		 i;
	int			 n;

	memset(link, 0, sizeof(link));
	for (i = 1; i <= st.log.done_seq; i++) {
		record_put64(key, i);
		ATF_REQUIRE_EQ(eventdb_get(&st.db, EDB_EVENTS, key, 8, &val,
		    &len), EDB_OK);
		memcpy(body, val, len);
		ATF_REQUIRE(record_frame(&f, body, len) == 0 &&
		    record_decode(&r, &f) == 0);
		if (i == seq)
			fn(&r);
		n = record_encode(buf, sizeof(buf), &r, link, link);
		ATF_REQUIRE(n != -1);
		ATF_REQUIRE_EQ(eventdb_put(&st.db, EDB_EVENTS, key, 8, buf,
		    n), 0);
	}
	memcpy(st.log.done_link, link, sizeof(link));
}

static void
forge_state(struct record *r)
{
	r->state = SBX_PENDING;
}

static void
forge_none(struct record *r)
{
	r->state = 77;
}

static void
forge_gap(struct record *r)
{
	r->sseq++;
}

static void
forge_owner(struct record *r)
{
	r->owner++;
}

static void
forge_type(struct record *r)
{
	r->type = EV_SBX_READY;
	r->state = SBX_DELETING;
}

static void
forge_start(struct record *r)
{
	r->exec += 5;
}

/* Sandbox 2: 5 create, 6 ready, 7 exec.create, 8 started, 9 ended, ... */
#define BOX2	5

static const uint8_t	 no_counters[16];

static void
undo_state_wrong(void)
{
	box_put(2, 2, SBX_STOPPED, HISTORY_UID);
}

static void
undo_sandbox_gone(void)
{
	row_del('S', 2, 0);
}

static void
undo_counters_none(void)
{
	row_put('Q', 2, 0, no_counters, sizeof(no_counters));
}

static void
undo_spec_gone(void)
{
	row_del('C', 2, 0);
}

static void
undo_exec_gone(void)
{
	row_del('E', 2, 3);
}

static void
undo_exec_failed(void)
{
	exec_put(2, 2, 2, EXEC_FAILED);
}

static void
undo_ended_exec_gone(void)
{
	row_del('L', 2, 4);
}

static void
undo_sandbox_more(void)
{
	box_put(2, 99, SBX_READY, HISTORY_UID);
}

static void
undo_exec_more(void)
{
	exec_put(2, 2, 99, EXEC_EXITED);
}

static void
undo_live_more(void)
{
	row_put('L', 2, 1, "", 1);
}

static void
undo_index_gone(void)
{
	uint8_t	 key[16];

	record_put64(key, 2);
	record_put64(key + 8, 3);
	ATF_REQUIRE_EQ(eventdb_del(&st.db, EDB_INDEX, key, 16),
	    EDB_OK);
}

static void
undo_newest_none(void)
{
	ATF_REQUIRE_EQ(eventdb_put(&st.db, EDB_STATE, "M", 1,
	    no_counters, 8), 0);
}

static void
undo_owner_wrong(void)
{
	box_put(2, 2, SBX_READY, 4321);
}

static void
undo_exec_state(void)
{
	exec_put(2, 4, 4, EXEC_EXITED);
}

static void
undo_event_state(void)
{
	forge(BOX2 + 3, forge_state);
}

static void
undo_event_gap(void)
{
	forge(BOX2 + 3, forge_gap);
}

static void
undo_event_owner(void)
{
	forge(BOX2 + 3, forge_owner);
}

static void
undo_event_type(void)
{
	forge(BOX2 + 3, forge_type);
}

static void
undo_event_start(void)
{
	forge(BOX2 + 3, forge_start);
}

static void
undo_first_type(void)
{
	forge(BOX2, forge_type);
}

static void
undo_event_nostate(void)
{
	forge(BOX2 + 3, forge_none);
}

static void
undo_event_gone(void)
{
	uint8_t	 key[16];

	record_put64(key, BOX2 + 2);
	ATF_REQUIRE_EQ(eventdb_del(&st.db, EDB_EVENTS, key, 8),
	    EDB_OK);
}

static void
undo_event_last(void)
{
	forge(BOX2 + 3, forge_state);
	st.log.done_link[0] ^= 1;
}

/* What is done, and how it is named. */
static const struct {
	void		(*undo)(void);
	const char	*found;
} damages[] = {
	{ undo_state_wrong,
	    "state.db: sandbox 2: it is stopped, and ready by its events" },
	{ undo_sandbox_gone, "state.db: sandbox 2: missing" },
	{ undo_counters_none,
	    "state.db: sandbox 2: 0 events, 0 execs, and 13 and 4 by its events" },
	{ undo_spec_gone, "state.db: sandbox 2: its configuration is missing" },
	{ undo_exec_gone, "state.db: exec 2.3: missing" },
	{ undo_exec_failed,
	    "state.db: exec 2.2: another end than its event tells" },
	{ undo_ended_exec_gone, "state.db: exec 2.4: missing" },
	{ undo_sandbox_more, "state.db: sandbox 99: it has no events" },
	{ undo_exec_more, "state.db: exec 2.99: there is no such event" },
	{ undo_live_more, "state.db: exec 2.1: it has ended, or was started" },
	{ undo_index_gone,
	    "event 7: event 3 of sandbox 2: index.db does not have it" },
	{ undo_newest_none, "state.db: newest sandbox 0, and 2 by the events" },
	{ undo_owner_wrong,
	    "state.db: sandbox 2: another owner than its events tell" },
	{ undo_exec_state,
	    "state.db: exec 2.4: another state than its events tell" },
	{ undo_event_state,
	    "event 8: event 4 of sandbox 2: pending cannot follow ready" },
	{ undo_event_gap, "event 8: event 5 of sandbox 2: follows 3" },
	{ undo_event_owner, "event 8: event 4 of sandbox 2: another owner" },
	{ undo_event_type,
	    "event 8: event 4 of sandbox 2: sandbox.ready, and it is deleting" },
	{ undo_event_start,
	    "event 8: event 4 of sandbox 2: a start of no exec" },
	{ undo_first_type,
	    "event 5: event 1 of sandbox 2: sandbox.ready, and it is deleting" },
	{ undo_event_nostate, "event 8: event 4 of sandbox 2: no such state" },
	{ undo_event_gone, "event 7: missing" },
	{ undo_event_last,
	    "event 8: event 4 of sandbox 2: pending cannot follow ready" },
};

ATF_TC(proof);
ATF_TC_HEAD(proof, tc)
{
	atf_tc_set_md_var(tc, "descr", "each kind of damage is named");
}
ATF_TC_BODY(proof, tc)
{
	struct logverify	 v;
	struct eventlog		 was;
	size_t			 i;

	history_open(history_home());
	history_box(0, 0);
	history_box(4, 1);
	history_write();
	ATF_REQUIRE_EQ(st.log.done_seq, HISTORY_BOX + 2 + 4 * 3 - 1);
	ATF_REQUIRE_MSG(history_prove(&v, NULL) == 0, "%s", v.why);
	ATF_REQUIRE_EQ(v.nboxes, 2);
	ATF_REQUIRE_EQ(v.nexecs, 4);
	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		was = st.log;
		ATF_REQUIRE_EQ(eventdb_begin(&st.db), 0);
		damages[i].undo();
		ATF_CHECK_EQ(history_prove(&v, NULL), -1);
		ATF_CHECK_MSG(strcmp(v.why, damages[i].found) == 0,
		    "%s instead of %s", v.why, damages[i].found);
		eventdb_abort(&st.db);
		st.log = was;
	}
	ATF_REQUIRE_MSG(history_prove(&v, NULL) == 0, "%s", v.why);
	history_close();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, proof);
	return (atf_no_error());
}
