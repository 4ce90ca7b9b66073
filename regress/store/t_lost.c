/*
 * A sandbox whose rows cannot be read, on pages that can: it is failed, with
 * what is wrong for its cause, and everything else is served.
 *
 * regress-srcs: ring.c watch.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eventdb.h"
#include "model.h"
#include "record.h"
#include "watch.h"

#define BAD	"\xc1\xc1\xc1"		/* nothing that msgpack has */

/* What becomes of a row: other bytes, its beginning, or nothing. */
static const struct damage {
	const char	*name;
	char		 letter;
	const char	*bytes;
	size_t		 len;		/* of bytes, or of what is left */
	const char	*id;		/* the sandbox's, after it */
} damages[] = {
	{ "row, other bytes", 'S', BAD, 3, "damaged-1" },
	{ "row, nothing in it", 'S', "", 0, "damaged-1" },
	{ "row, a number", 'S', "\x07", 1, "damaged-1" },
	{ "row, cut", 'S', NULL, 20, "damaged-1" },
	{ "counters, cut", 'Q', NULL, 15, "one" },
	{ "counters, missing", 'Q', NULL, 0, "one" },
	{ "configuration, other bytes", 'C', BAD, 3, "one" },
	{ "configuration, cut", 'C', NULL, 5, "one" },
	{ "configuration, missing", 'C', NULL, 0, "one" },
	{ "times, other bytes", 'D', BAD, 3, "one" },
	{ "operation, other bytes", 'T', BAD, 3, "one" },
	{ "exec, other bytes", 'E', BAD, 3, "one" },
	{ "exec, missing", 'E', NULL, 0, "one" },
	{ "request, other bytes", 'P', BAD, 3, "one" },
};

static size_t
key_of(uint8_t *key, char letter, uint64_t n)
{
	key[0] = letter;
	record_put64(key + 1, n);
	record_put64(key + 9, 1);
	return (strchr("ELP", letter) != NULL ? 17 : 9);
}

static uint8_t *
changed(const struct damage *d, const uint8_t *val, size_t *len)
{
	uint8_t	*copy;

	ATF_REQUIRE(*len > d->len);
	*len = d->len;
	ATF_REQUIRE((copy = malloc(d->len)) != NULL);
	memcpy(copy, val, d->len);
	return (copy);
}

static void
spoil(uint64_t n, const struct damage *d)
{
	static struct eventdb	 db;
	const uint8_t		*val;
	uint8_t			 key[17], *copy = NULL;
	size_t			 nkey, len = d->len;

	ATF_REQUIRE_MSG(eventdb_open(&db, ring.home) == 0, "%s", db.why);
	nkey = key_of(key, d->letter, n);
	if (d->bytes == NULL && d->len > 0) {
		ATF_REQUIRE_EQ(EDB_OK, eventdb_get(&db, EDB_STATE, key, nkey,
		    &val, &len));
		copy = changed(d, val, &len);
	}
	ATF_REQUIRE(eventdb_begin(&db) == 0);
	if (d->bytes == NULL && d->len == 0)
		ATF_REQUIRE_EQ(EDB_OK, eventdb_del(&db, EDB_STATE, key,
		    nkey));
	else
		ATF_REQUIRE_EQ(0, eventdb_put(&db, EDB_STATE, key, nkey,
		    copy != NULL ? copy : (const void *)d->bytes, len));
	ATF_REQUIRE(eventdb_commit(&db) == 0);
	free(copy);
	eventdb_close(&db);
}

static void
log_verifies(void)
{
	struct proto_log_verify	 m;
	struct got		 g;
	uint32_t		 req;

	memset(&m, 0, sizeof(m));
	req = ring_ask(ROOT_SESSION, PROTO_LOG_VERIFY, &m);
	ring_frame_any(&ring.frontend, &g);
	ATF_REQUIRE_MSG(g.f.type == PROTO_VERIFY, "%s",
	    g.f.type == PROTO_ERROR ? g.m.error.text : "another answer");
	ring_done(&g);
	ring_answered(req, PROTO_END);
}

/* The Engine has these containers of the two, and with them their marks. */
static void
inventory(uint64_t from, const char *nonce)
{
	struct msg_engine	 m;
	struct msg_box_done	 end;
	struct msg_box_state	 box;
	struct got		 g;
	uint64_t		 i;

	memset(&m, 0, sizeof(m));
	m.up = 1;
	ring_send(&ring.broker, MSG_ENGINE, 0, 0, 0, &m);
	ring_get(&ring.broker, MSG_INVENTORY, &g);
	for (i = from; i <= 2; i++) {
		memset(&box, 0, sizeof(box));
		box.n = i;
		snprintf(box.container, sizeof(box.container), "c%d", (int)i);
		strlcpy(box.nonce, i == 2 ? ring.nonce : nonce,
		    sizeof(box.nonce));
		box.running = 1;
		box.pid = 1000 + i;
		ring_send(&ring.broker, MSG_CONTAINER, g.f.op, 0, 0, &box);
	}
	memset(&end, 0, sizeof(end));
	ring_send(&ring.broker, MSG_INVENTORY_END, g.f.op, 0, 0, &end);
	ring_done(&g);
}

/* Its container goes, and its workspace only when it is deleted. */
static void
removed(const struct damage *d, const char *nonce)
{
	struct msg_box_done	 box;
	struct got		 g;

	ring_get(&ring.broker, MSG_BOX_REMOVE, &g);
	ATF_REQUIRE_EQ(1, g.m.box.n);
	ATF_REQUIRE_STREQ(nonce, g.m.box.nonce);
	memset(&box, 0, sizeof(box));
	box.n = 1;
	ring_send(&ring.broker, MSG_BOX_REMOVED, g.f.op, 0, 0, &box);
	ring_done(&g);
	ring_skip(&ring.runner, MSG_UNLISTEN);
	watch_count(d->id, "sandbox.cleaned", 1);
	ring_quiet(&ring.parent);
}

static void
one(const struct damage *d)
{
	char		 nonce[33];
	uint32_t	 req;

	printf("%s\n", d->name);
	ring_make();
	ring_start();
	ring_engine(1);
	ATF_REQUIRE_EQ(1, ring_ready(USER_SESSION, "one"));
	strlcpy(nonce, ring.nonce, sizeof(nonce));
	req = ring_exec(USER_SESSION, "one", 0);
	ring_answered(req, PROTO_ACCEPTED);
	ring_answered(req, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
	ATF_REQUIRE_EQ(2, ring_ready(USER_SESSION, "two"));
	ring_kill();
	spoil(1, d);
	ring_start();
	/* The other's guest is awaited, and this one's not. */
	ring_skip(&ring.runner, MSG_LISTEN);
	watch_cause("two", "ready", "");
	watch_cause(d->id, "failed", "damaged: state.db: ");
	watch_count(d->id, "sandbox.failed", 1);
	watch_count(d->id, "exec.ended", 1);
	log_verifies();
	inventory(1, nonce);
	removed(d, nonce);
	ring_state(USER_SESSION, "two", "ready");
	/* It is told once, and what was damaged can be read again. */
	ring_kill();
	ring_start();
	ring_skip(&ring.runner, MSG_LISTEN);
	inventory(2, nonce);
	watch_cause(d->id, "failed", "damaged: state.db: ");
	watch_count(d->id, "sandbox.failed", 1);
	watch_ask(PROTO_DELETE, d->id);
	ring_removed(1);
	watch_cause(d->id, "deleted", "");
	log_verifies();
	ring_stop();
}

ATF_TC(rows);
ATF_TC_HEAD(rows, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aL18) a sandbox whose rows cannot be "
	    "read is failed, and the others are served");
}
ATF_TC_BODY(rows, tc)
{
	size_t	 i;

	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++)
		one(&damages[i]);
}

/* Of what has been deleted only a name is gone. */
ATF_TC_WITHOUT_HEAD(history);
ATF_TC_BODY(history, tc)
{
	ring_make();
	ring_start();
	ring_engine(1);
	ATF_REQUIRE_EQ(1, ring_ready(USER_SESSION, "one"));
	watch_ask(PROTO_DELETE, "one");
	ring_removed(1);
	watch_cause("one", "deleted", "");
	ATF_REQUIRE_EQ(2, ring_ready(USER_SESSION, "two"));
	ring_kill();
	spoil(1, &damages[0]);
	ring_start();
	ring_skip(&ring.runner, MSG_LISTEN);
	watch_cause("damaged-1", "deleted", "damaged: state.db: ");
	watch_count("damaged-1", "sandbox.failed", 0);
	watch_cause("two", "ready", "");
	ring_quiet(&ring.broker);
	/* And then it goes as any other. */
	ring_kill();
	ring.conf.retain_history = 1;
	ring_start();
	ring_skip(&ring.runner, MSG_LISTEN);
	ring_skip(&ring.runner, MSG_LOG_REMOVE);
	watch_gone("damaged-1");
	log_verifies();
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, history);
	ATF_TP_ADD_TC(tp, rows);
	return (atf_no_error());
}
