/*
 * Long histories: what they cost, and a store that makes and collects without
 * an end.
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

#include "figure.h"
#include "history.h"
#include "logverify.h"
#include "record.h"
#include "ring.h"
#include "usage.h"

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
	const char		*home;
	double			 t, longest = 0;
	uint64_t		 next;
	int			 i, boxes = figure(500, 10000);

	home = history_home();
	history_open(home);
	t = history_seconds();
	for (i = 0; i < boxes; i++)
		history_box(33, i % 10 == 0);
	history_write();
	printf("%llu events of %d sandboxes written in %.2f s\n",
	    (unsigned long long)st.log.done_seq, boxes, history_seconds() - t);
	history_close();
	printf("events.db %lld, index.db %lld, state.db %lld bytes\n",
	    (long long)size_of(home, "events.db"),
	    (long long)size_of(home, "index.db"),
	    (long long)size_of(home, "state.db"));
	t = history_seconds();
	history_open(home);
	printf("opened in %.0f ms\n", (history_seconds() - t) * 1e3);
	ATF_REQUIRE_EQ(st.model.count, (u_int)boxes / 10);
	next = st.log.done_seq / 2;
	t = history_seconds();
	ATF_REQUIRE_EQ(eventlog_read(&st.log, next, some, &next), 0);
	printf("from the middle in %.3f ms\n", (history_seconds() - t) * 1e3);
	t = history_seconds();
	ATF_REQUIRE_MSG(history_prove(&v, &longest) == 0, "%s", v.why);
	printf("proven in %.2f s, the longest slice %.1f ms\n", history_seconds() - t,
	    longest);
	ATF_REQUIRE_EQ(v.nboxes, (uint64_t)boxes);
	ATF_REQUIRE_EQ(v.nexecs, (uint64_t)boxes * 33);
	getrusage(RUSAGE_SELF, &ru);
	printf("%ld KiB of memory\n", ru.ru_maxrss);
	history_close();
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
	t = history_seconds();
	ring_start();
	printf("started in %.0f ms with %d sandboxes, %d of them live\n",
	    (history_seconds() - t) * 1e3, boxes, live);
	kb = usage_kb(ring.pid);
	t = history_seconds();
	ATF_REQUIRE_EQ(pages("", &longest), boxes);
	ATF_REQUIRE_EQ(pages("ready", &longest), live);
	ATF_REQUIRE_EQ(pages("deleted", &longest), boxes - live);
	ATF_REQUIRE(longest <= STORE_PAGE);
	printf("listed in %.0f ms, %u to a page; %ld KiB, and %ld before\n",
	    (history_seconds() - t) * 1e3, longest, usage_kb(ring.pid), kb);
	/* The rows of deleted ones come through the cache of pages. */
	ATF_CHECK(usage_kb(ring.pid) < kb + 16 * 1024);
	memset(&m, 0, sizeof(m));
	m.sandbox = (char *)(uintptr_t)"";
	m.from = (uint64_t)boxes * 90 / 2;
	m.credit = 1;
	t = history_seconds();
	req = ring_ask(ROOT_SESSION, PROTO_EVENTS, &m);
	ring_answer(req, PROTO_EVENT, &g);
	printf("an event of the middle in %.2f ms\n", (history_seconds() - t) * 1e3);
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

#define BOXES	12
#define BAD	5

/* In a process of its own: a store is one's own. */
static void
contradict(void)
{
	const uint8_t	*val;
	uint8_t		 key[16], seq[8];
	size_t		 len;
	pid_t		 pid;
	int		 i, status;

	fflush(stdout);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		history_open(ring.home);
		for (i = 0; i < BOXES; i++)
			history_box(1, 0);
		history_write();
		record_put64(key, BAD);
		record_put64(key + 8, 2);
		ATF_REQUIRE_EQ(eventdb_get(&st.db, EDB_INDEX, key, 16, &val,
		    &len), EDB_OK);
		memcpy(seq, val, sizeof(seq));
		ATF_REQUIRE_EQ(eventdb_begin(&st.db), 0);
		ATF_REQUIRE_EQ(eventdb_del(&st.db, EDB_EVENTS, seq,
		    sizeof(seq)), EDB_OK);
		ATF_REQUIRE_EQ(eventdb_commit(&st.db), 0);
		history_close();
		_exit(0);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_REQUIRE(status == 0);
}

/* Is there a sandbox of that name? */
static int
there(int n)
{
	struct got	 g;
	char		 id[16];
	int		 ret;

	snprintf(id, sizeof(id), "box-%d", n);
	ring_ref(ROOT_SESSION, PROTO_SHOW, id, 0);
	ring_frame_any(&ring.frontend, &g);
	ret = g.f.type == PROTO_SANDBOX;
	ring_done(&g);
	if (ret)
		ring_answered(ring.req, PROTO_END);
	return (ret);
}

ATF_TC(contradicting);
ATF_TC_HEAD(contradicting, tc)
{
	atf_tc_set_md_var(tc, "descr", "a history of which an event is missing "
	    "stays, and the others are collected");
}
ATF_TC_BODY(contradicting, tc)
{
	int		 i;

	ring_make();
	ring.conf.max_sandboxes = BOXES;
	ring.conf.retain_history = 1;
	contradict();
	ring_start();
	for (i = 1; i <= BOXES; i++)
		ring_skip(&ring.runner, MSG_LOG_REMOVE);
	/* In slices, which have their turn between the requests. */
	for (i = 0; i < 1000 && there(BOXES); i++)
		usleep(10000);
	for (i = 1; i <= BOXES; i++)
		ATF_CHECK_MSG(there(i) == (i == BAD), "box %d", i);
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
	double		 t = history_seconds();
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
	kb = usage_kb(ring.pid);
	for (i = 0; i < cycles; i++)
		cycle();
	printf("%d times %d in %.1f s: %lld bytes, and %lld before; "
	    "%ld KiB of memory, and %ld before\n", cycles, ABREAST,
	    history_seconds() - t,
	    (long long)total(), (long long)size, usage_kb(ring.pid), kb);
	/* A sanitizer keeps what was freed. */
#ifndef ASAN
	/* Its cache of pages, 8 MiB, fills in the meantime. */
	ATF_CHECK(usage_kb(ring.pid) < kb + 12 * 1024);
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
	ATF_TP_ADD_TC(tp, churn);
	ATF_TP_ADD_TC(tp, collected);
	ATF_TP_ADD_TC(tp, contradicting);
	ATF_TP_ADD_TC(tp, large);
	ATF_TP_ADD_TC(tp, start);
	ATF_TP_ADD_TC(tp, steady);
	return (atf_no_error());
}
