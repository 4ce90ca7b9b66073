/*
 * Histories: what the proof finds, dumps, also of a database that changes, many
 * events, and a store that makes and collects without an end.
 *
 * regress-srcs: history.c ring.c
 */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "history.h"
#include "logdump.h"
#include "logverify.h"
#include "ring.h"
#include "scratch.h"

static char	 home[1024];

static int
figure(int small, int large)
{
	const char	*soak = getenv("SOAK");

	return (soak != NULL && strcmp(soak, "yes") == 0 ? large : small);
}

static void
home_make(void)
{
	scratch_template(home, sizeof(home));
	ATF_REQUIRE(mkdtemp(home) != NULL);
}

static double
seconds(void)
{
	return (eventlog_clock() / 1e9);
}

/* Until it is through; the longest slice in ms. */
static int
prove(struct logverify *v, double *longest)
{
	double	 begun, took;
	int	 ret;

	logverify_start(v, &st.log, NULL);
	do {
		begun = seconds();
		ret = logverify_slice(v);
		took = (seconds() - begun) * 1e3;
		if (longest != NULL && took > *longest)
			*longest = took;
	} while (ret == 1);
	logverify_end(v);
	return (ret);
}

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

	home_make();
	history_open(home);
	history_box(0, 0);
	history_box(4, 1);
	history_write();
	ATF_REQUIRE_EQ(st.log.done_seq, HISTORY_BOX + 2 + 4 * 3 - 1);
	ATF_REQUIRE_MSG(prove(&v, NULL) == 0, "%s", v.why);
	ATF_REQUIRE_EQ(v.nboxes, 2);
	ATF_REQUIRE_EQ(v.nexecs, 4);
	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		was = st.log;
		ATF_REQUIRE_EQ(eventdb_begin(&st.db), 0);
		damages[i].undo();
		ATF_CHECK_EQ(prove(&v, NULL), -1);
		ATF_CHECK_MSG(strcmp(v.why, damages[i].found) == 0,
		    "%s instead of %s", v.why, damages[i].found);
		eventdb_abort(&st.db);
		st.log = was;
	}
	ATF_REQUIRE_MSG(prove(&v, NULL) == 0, "%s", v.why);
	history_close();
}

static void
part(FILE *f, struct logdump *d, size_t len)
{
	ATF_REQUIRE_EQ(fwrite(d->buf, 1, len, f), len);
	logdump_take(d, len);
}

/* Rows of the newest sandboxes change, and some go, while it is written. */
ATF_TC(changes);
ATF_TC_HEAD(changes, tc)
{
	atf_tc_set_md_var(tc, "descr", "a dump of what changes is of one "
	    "moment");
}
ATF_TC_BODY(changes, tc)
{
	struct logdump_result	 res;
	struct logdump		 d;
	struct logverify	 v;
	struct sandbox		*sb;
	char			 why[320], head[65];
	FILE			*f;
	uint64_t		 last;
	int			 i, n = 0, ret;

	home_make();
	history_open(home);
	for (i = 0; i < 30; i++)
		history_box(3, i % 2);
	history_write();
	ATF_REQUIRE((f = tmpfile()) != NULL);
	logdump_start(&d, &st.log, "0123456789abcdef0123456789abcdef", 1);
	while ((ret = logdump_slice(&d, 256)) == 1) {
		part(f, &d, d.len);
		/* Rows before and behind its place. */
		if (++n % 4 != 0 || n > 400)
			continue;
		history_box(2, n % 8 == 0);
		history_write();
		sb = model_number(&st.model, 2 * (n / 8) + 2);
		if (sb == NULL || sb->r.state != SBX_READY)
			continue;
		ATF_REQUIRE_EQ(eventdb_begin(&st.db), 0);
		sb->r.state = SBX_STOPPING;
		ATF_REQUIRE_EQ(store_event(&st.batch, sb, EV_SBX_STOP, 0, 0,
		    NULL), BATCH_OK);
		ATF_REQUIRE_EQ(model_put(&st.batch, sb), BATCH_OK);
		ATF_REQUIRE_EQ(eventdb_commit(&st.db), 0);
		eventlog_committed(&st.log);
	}
	ATF_REQUIRE_MSG(ret == 0, "%s", d.why);
	ATF_REQUIRE_MSG(n > 300, "%d slices", n);
	part(f, &d, d.len);
	logdump_end(&d);
	ATF_REQUIRE_MSG(prove(&v, NULL) == 0, "%s", v.why);
	last = st.log.done_seq;
	for (i = 0; i < 32; i++)
		snprintf(head + 2 * i, 3, "%02x", st.log.done_link[i]);
	history_close();
	st.batch.undos = (struct batch_undos)SLIST_HEAD_INITIALIZER(0);

	home_make();
	rewind(f);
	ATF_REQUIRE_EQ(eventdb_open(&st.db, home), 0);
	ATF_REQUIRE_EQ(eventlog_open(&st.log, &st.db), 0);
	ATF_REQUIRE_MSG(logdump_restore(f, &st.log, &res, why,
	    sizeof(why)) == 0, "%s", why);
	ATF_REQUIRE_EQ(res.seq, last);
	ATF_REQUIRE_STREQ(res.head, head);
	ATF_REQUIRE_EQ(res.events, last);
	eventdb_close(&st.db);
	fclose(f);
}

static int
restored(const char *data, size_t len, char *why, size_t nwhy)
{
	struct logdump_result	 res;
	FILE			*f;
	int			 ret;

	home_make();
	ATF_REQUIRE((f = fmemopen((void *)(uintptr_t)data, len, "r")) !=
	    NULL);
	ATF_REQUIRE_EQ(eventdb_open(&st.db, home), 0);
	ATF_REQUIRE_EQ(eventlog_open(&st.log, &st.db), 0);
	ret = logdump_restore(f, &st.log, &res, why, nwhy);
	eventdb_close(&st.db);
	fclose(f);
	return (ret);
}

/* One bit of it, anywhere; or it is cut there. */
ATF_TC(altered);
ATF_TC_HEAD(altered, tc)
{
	atf_tc_set_md_var(tc, "descr", "no bit of a dump can be another");
	atf_tc_set_md_var(tc, "timeout", "1800");
}
ATF_TC_BODY(altered, tc)
{
	struct logdump	 d;
	char		 why[320];
	size_t		 at, len;
	int		 i, bit, times = figure(30, 3000);

	home_make();
	history_open(home);
	history_box(1, 0);
	history_box(2, 1);
	history_write();
	logdump_start(&d, &st.log, "0123456789abcdef0123456789abcdef", 1);
	while (logdump_slice(&d, 1 << 20) == 1)
		continue;
	ATF_REQUIRE(d.done);
	history_close();
	ATF_REQUIRE_MSG(restored(d.buf, d.len, why, sizeof(why)) == 0, "%s",
	    why);
	for (i = 0; i < times; i++) {
		at = (size_t)random() % d.len;
		bit = 1 << random() % 7;
		why[0] = '\0';
		if (i % 3 == 0)
			len = at == 0 ? 1 : at;
		else {
			len = d.len;
			d.buf[at] ^= bit;
		}
		ATF_CHECK_MSG(restored(d.buf, len, why, sizeof(why)) == -1,
		    "at %zu of %zu, bit %d", at, len, bit);
		ATF_CHECK_MSG(why[0] != '\0', "no reason");
		if (len == d.len)
			d.buf[at] ^= bit;
	}
	logdump_end(&d);
}

static off_t
size_of(const char *dir, const char *name)
{
	struct stat	 sb;
	char		 path[1100];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ATF_REQUIRE(stat(path, &sb) == 0);
	return (sb.st_size);
}

static int
some(void *arg, const struct record *r)
{
	uint64_t	*next = arg;

	ATF_REQUIRE_EQ(r->seq, *next);
	return (++*next % 100 == 0);
}

ATF_TC(large);
ATF_TC_HEAD(large, tc)
{
	atf_tc_set_md_var(tc, "descr", "many events and sandboxes");
	atf_tc_set_md_var(tc, "timeout", "1800");
}
ATF_TC_BODY(large, tc)
{
	struct logverify	 v;
	struct rusage		 ru;
	double			 t, longest = 0;
	uint64_t		 next;
	int			 i, boxes = figure(500, 10000);

	home_make();
	history_open(home);
	t = seconds();
	for (i = 0; i < boxes; i++)
		history_box(33, i % 10 == 0);
	history_write();
	printf("%llu events of %d sandboxes written in %.2f s\n",
	    (unsigned long long)st.log.done_seq, boxes, seconds() - t);
	history_close();
	printf("events.db %lld, index.db %lld, state.db %lld bytes\n",
	    (long long)size_of(home, "events.db"),
	    (long long)size_of(home, "index.db"),
	    (long long)size_of(home, "state.db"));
	t = seconds();
	history_open(home);
	printf("opened in %.0f ms\n", (seconds() - t) * 1e3);
	ATF_REQUIRE_EQ(st.model.count, (u_int)boxes / 10);
	next = st.log.done_seq / 2;
	t = seconds();
	ATF_REQUIRE_EQ(eventlog_read(&st.log, next, some, &next), 0);
	printf("from the middle in %.3f ms\n", (seconds() - t) * 1e3);
	t = seconds();
	ATF_REQUIRE_MSG(prove(&v, &longest) == 0, "%s", v.why);
	printf("proven in %.2f s, the longest slice %.1f ms\n", seconds() - t,
	    longest);
	ATF_REQUIRE_EQ(v.nboxes, (uint64_t)boxes);
	ATF_REQUIRE_EQ(v.nexecs, (uint64_t)boxes * 33);
	getrusage(RUSAGE_SELF, &ru);
	printf("%ld KiB of memory\n", ru.ru_maxrss);
	history_close();
}

static long
resident(pid_t pid)
{
	char	 path[64], line[256];
	FILE	*f;
	long	 kb = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	ATF_REQUIRE((f = fopen(path, "r")) != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		(void)sscanf(line, "VmRSS: %ld", &kb);
	fclose(f);
	ATF_REQUIRE(kb != -1);
	return (kb);
}

/* The rest of a delete; the runner may be told of collected ones between. */
static int
removed(uint64_t n, uint64_t op)
{
	struct msg_box_done	 box;
	struct msg_work_done	 done;
	struct got		 g;
	uint32_t		 type;
	int			 collected = -1;

	memset(&box, 0, sizeof(box));
	box.n = n;
	ring_send(&ring.broker, MSG_BOX_REMOVED, op, 0, 0, &box);
	do {
		collected++;
		ring_frame_any(&ring.runner, &g);
		type = g.f.type;
		ring_done(&g);
	} while (type == MSG_LOG_REMOVE);
	ATF_REQUIRE_EQ(type, MSG_UNLISTEN);
	ring_get(&ring.parent, MSG_WORK_REMOVE, &g);
	memset(&done, 0, sizeof(done));
	done.n = n;
	ring_send(&ring.parent, MSG_WORK_DONE, g.f.op, 0, 0, &done);
	ring_done(&g);
	return (collected);
}

#define ABREAST	10

/* Some are made, get ready, are deleted, and their histories collected. */
static void
cycle(void)
{
	struct got	 g;
	uint64_t	 n[ABREAST];
	uint32_t	 req;
	char		 id[ABREAST][16];
	int		 i, gone, collected = 0;

	for (i = 0; i < ABREAST; i++) {
		snprintf(id[i], sizeof(id[i]), "web-%d", i);
		n[i] = ring_ready(USER_SESSION, id[i]);
	}
	for (i = 0; i < ABREAST; i++) {
		ring_ref(USER_SESSION, PROTO_DELETE, id[i], 0);
		ring_answered(ring.req, PROTO_ACCEPTED);
		ring_answered(ring.req, PROTO_END);
		ring_get(&ring.broker, MSG_BOX_REMOVE, &g);
		collected += removed(n[i], g.f.op);
		ring_done(&g);
	}
	/* A name is free when its history is gone. */
	for (i = 0; i < ABREAST; i++)
		for (gone = 0; !gone;) {
			req = ring_ref(USER_SESSION, PROTO_SHOW, id[i], 0);
			ring_frame_any(&ring.frontend, &g);
			ATF_REQUIRE_EQ(g.f.req, req);
			gone = g.f.type == PROTO_ERROR;
			ring_done(&g);
			if (!gone)
				ring_answered(req, PROTO_END);
		}
	for (; collected < ABREAST; collected++)
		ring_skip(&ring.runner, MSG_LOG_REMOVE);
}

/* The history is written by another process: a store is one's own. */
static void
history_of(int boxes, int live, int execs)
{
	pid_t	 pid;
	int	 i, lives, status;

	fflush(stdout);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		history_open(ring.home);
		for (i = 0; i < boxes; i++) {
			lives = live > 0 && i % (boxes / live) == 0;
			history_box(lives ? 0 : execs, lives);
		}
		history_write();
		history_close();
		_exit(0);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_REQUIRE(status == 0);
}

/* All pages; how many there are of that state, and the longest page. */
static int
pages(const char *state, u_int *longest)
{
	struct proto_list	 m;
	struct got		 g;
	uint32_t		 req;
	u_int			 n;
	int			 count = 0;

	memset(&m, 0, sizeof(m));
	m.all = 1;
	strlcpy(m.state, state, sizeof(m.state));
	do {
		req = ring_ask(ROOT_SESSION, PROTO_LIST, &m);
		for (n = 0;; n++) {
			ring_frame_any(&ring.frontend, &g);
			ATF_REQUIRE_EQ(g.f.req, req);
			if (g.f.type != PROTO_SANDBOX)
				break;
			ring_done(&g);
		}
		ATF_REQUIRE_EQ(g.f.type, PROTO_END);
		m.after = g.m.end.after;
		ring_done(&g);
		if (n > *longest)
			*longest = n;
		count += n;
	} while (m.after != 0);
	return (count);
}

ATF_TC(start);
ATF_TC_HEAD(start, tc)
{
	atf_tc_set_md_var(tc, "descr", "a start with a long history, and its "
	    "list");
	atf_tc_set_md_var(tc, "timeout", "1800");
}
ATF_TC_BODY(start, tc)
{
	struct proto_events	 m;
	struct got		 g;
	double			 t;
	u_int			 longest = 0;
	uint32_t		 req;
	long			 kb;
	int			 boxes = figure(500, 10000), live = boxes / 10;

	ring_make();
	ring.conf.max_sandboxes = boxes;
	history_of(boxes, live, 37);
	t = seconds();
	ring_start();
	printf("started in %.0f ms with %d sandboxes, %d of them live\n",
	    (seconds() - t) * 1e3, boxes, live);
	kb = resident(ring.pid);
	t = seconds();
	ATF_REQUIRE_EQ(pages("", &longest), boxes);
	ATF_REQUIRE_EQ(pages("ready", &longest), live);
	ATF_REQUIRE_EQ(pages("deleted", &longest), boxes - live);
	ATF_REQUIRE(longest <= STORE_PAGE);
	printf("listed in %.0f ms, %u to a page; %ld KiB, and %ld before\n",
	    (seconds() - t) * 1e3, longest, resident(ring.pid), kb);
	/* The rows of deleted ones come through the cache of pages. */
	ATF_CHECK(resident(ring.pid) < kb + 16 * 1024);
	memset(&m, 0, sizeof(m));
	m.sandbox = (char *)(uintptr_t)"";
	m.from = (uint64_t)boxes * 90 / 2;
	m.credit = 1;
	t = seconds();
	req = ring_ask(ROOT_SESSION, PROTO_EVENTS, &m);
	ring_answer(req, PROTO_EVENT, &g);
	printf("an event of the middle in %.2f ms\n", (seconds() - t) * 1e3);
	ATF_REQUIRE_EQ(g.m.event.host_seq, m.from);
	ring_done(&g);
	ring_stop();
}

ATF_TC(collected);
ATF_TC_HEAD(collected, tc)
{
	atf_tc_set_md_var(tc, "descr", "many histories that are due go "
	    "together, and the beginning of the log with them");
}
ATF_TC_BODY(collected, tc)
{
	struct got	 g;
	int		 i, boxes = 400;

	ring_make();
	ring.conf.max_sandboxes = boxes;
	ring.conf.retain_history = 1;
	history_of(boxes, 0, 1);
	ring_start();
	for (i = 0; i < boxes; i++)
		ring_skip(&ring.runner, MSG_LOG_REMOVE);
	ring_answer(ring_ask(ROOT_SESSION, PROTO_STATUS, NULL),
	    PROTO_STATUS_INFO, &g);
	/* One at a time, who makes faster than that fills the disk. */
	ATF_CHECK_MSG(g.m.status.commits > 0 &&
	    g.m.status.commits < (uint64_t)boxes / 4, "%llu commits",
	    (unsigned long long)g.m.status.commits);
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	ring_stop();
}

ATF_TC(steady);
ATF_TC_HEAD(steady, tc)
{
	atf_tc_set_md_var(tc, "descr", "histories go while others come, however "
	    "fast that is");
}
ATF_TC_BODY(steady, tc)
{
	struct got	 g;
	uint64_t	 n[80];
	char		 id[32];
	int		 i, count = sizeof(n) / sizeof(n[0]), collected = 0;

	ring_make();
	ring.conf.max_sandboxes = count;
	ring.conf.retain_history = 100;
	ring_start();
	ring_engine(1);
	for (i = 0; i < count; i++) {
		snprintf(id, sizeof(id), "web-%d", i);
		n[i] = ring_ready(USER_SESSION, id);
	}
	/* Again and again, for longer than a history is kept. */
	for (i = 0; i < count && collected == 0; i++) {
		snprintf(id, sizeof(id), "web-%d", i);
		ring_ref(USER_SESSION, PROTO_DELETE, id, 0);
		ring_answered(ring.req, PROTO_ACCEPTED);
		ring_answered(ring.req, PROTO_END);
		ring_get(&ring.broker, MSG_BOX_REMOVE, &g);
		collected = removed(n[i], g.f.op);
		ring_done(&g);
		usleep(10000);
	}
	ATF_REQUIRE_MSG(collected > 0, "none of %d", i);
	ring_kill();
}

static off_t
total(void)
{
	return (size_of(ring.home, "events.db") +
	    size_of(ring.home, "index.db") + size_of(ring.home, "state.db"));
}

/* Of the log: events, and what is left of those that were collected. */
static uint64_t
kept(void)
{
	struct got	 g;
	uint64_t	 n;

	ring_answer(ring_ask(ROOT_SESSION, PROTO_LOG_VERIFY, NULL),
	    PROTO_VERIFY, &g);
	n = g.m.verify.events + g.m.verify.skeletons;
	printf("%llu events, %llu skeletons, anchor %llu\n",
	    (unsigned long long)g.m.verify.events,
	    (unsigned long long)g.m.verify.skeletons,
	    (unsigned long long)g.m.verify.anchor);
	ring_done(&g);
	ring_answered(ring.req, PROTO_END);
	return (n);
}

ATF_TC(churn);
ATF_TC_HEAD(churn, tc)
{
	atf_tc_set_md_var(tc, "descr", "making and collecting without an end "
	    "takes no more room");
	atf_tc_set_md_var(tc, "timeout", "7200");
}
ATF_TC_BODY(churn, tc)
{
	double		 t = seconds();
	off_t		 size;
	long		 kb;
	int		 i, warm = 8, cycles = figure(20, 100000 / ABREAST);

	ring_make();
	ring.conf.retain_history = 1;
	ring_start();
	ring_engine(1);
	for (i = 0; i < warm; i++)
		cycle();
	/* What is in the cache gets to the disk. */
	ring_kill();
	ring_start();
	ring_engine(1);
	for (i = 0; i < warm; i++)
		cycle();
	size = total();
	kb = resident(ring.pid);
	for (i = 0; i < cycles; i++)
		cycle();
	printf("%d times %d in %.1f s: %lld bytes, and %lld before; "
	    "%ld KiB of memory, and %ld before\n", cycles, ABREAST,
	    seconds() - t,
	    (long long)total(), (long long)size, resident(ring.pid), kb);
	/* A sanitizer keeps what was freed. */
#ifndef ASAN
	/* Its cache of pages, 8 MiB, fills in the meantime. */
	ATF_CHECK(resident(ring.pid) < kb + 12 * 1024);
#endif
	/* The anchor has come along, and nothing grows behind it. */
	for (i = 0; i < 20 && kept() >= 200; i++) {
		/* How old an event is is known to the tenth of a second. */
		usleep(150000);
		cycle();
	}
	ATF_CHECK(i < 20);
	ATF_CHECK(total() <= 2 * size);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, altered);
	ATF_TP_ADD_TC(tp, changes);
	ATF_TP_ADD_TC(tp, churn);
	ATF_TP_ADD_TC(tp, collected);
	ATF_TP_ADD_TC(tp, large);
	ATF_TP_ADD_TC(tp, proof);
	ATF_TP_ADD_TC(tp, start);
	ATF_TP_ADD_TC(tp, steady);
	return (atf_no_error());
}
