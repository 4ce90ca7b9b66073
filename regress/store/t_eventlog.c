/*
 * The event log on its own: sequences, the chain, records that are none,
 * crashes, and batches that fail.
 *
 * regress-srcs: loghome.c
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <atf-c.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "loghome.h"

ATF_TC_WITHOUT_HEAD(append);
ATF_TC_BODY(append, tc)
{
	uint64_t	 next;

	home_make();
	db_open();
	ATF_REQUIRE_EQ(lg.seq, 0);
	append_many(1, 30);
	ATF_REQUIRE_EQ(lg.seq, 30);
	/* A transaction that fails gives its numbers back. */
	ATF_REQUIRE(eventdb_begin(&db) == 0);
	ATF_REQUIRE(append_one(1, 31) == 0);
	eventdb_abort(&db);
	eventlog_aborted(&lg);
	ATF_REQUIRE_EQ(lg.seq, 30);
	append_many(31, 40);
	ATF_REQUIRE_EQ(count_events(1), 40);
	ATF_REQUIRE_EQ(count_events(35), 6);
	eventdb_close(&db);
	db_open();
	ATF_REQUIRE_EQ(lg.seq, 40);
	append_many(41, 41);
	next = 41;
	ATF_REQUIRE(eventlog_read(&lg, 41, count_one, &next) == 0);
	eventdb_close(&db);
}

static int
own_one(void *arg, const struct record *r)
{
	uint64_t	*last = arg;

	ATF_REQUIRE_EQ(r->sbx, 2);
	ATF_REQUIRE(r->sseq > *last);
	*last = r->sseq;
	return (0);
}

ATF_TC_WITHOUT_HEAD(sandbox_index);
ATF_TC_BODY(sandbox_index, tc)
{
	uint64_t	 last = 0;

	home_make();
	db_open();
	append_many(1, 30);
	ATF_REQUIRE(eventlog_read_sandbox(&lg, 2, 1, own_one, &last) == 0);
	ATF_REQUIRE_EQ(last, 29);
	last = 0;
	ATF_REQUIRE(eventlog_read_sandbox(&lg, 2, 30, own_one, &last) == 0);
	ATF_REQUIRE_EQ(last, 0);
	eventdb_close(&db);
}

ATF_TC_WITHOUT_HEAD(verify);
ATF_TC_BODY(verify, tc)
{
	struct eventlog_verify	 v;
	struct record		 r;
	uint8_t			 key[8], frame[RECORD_FRAME_MAX], link[32];
	int			 n, ret;

	home_make();
	db_open();
	append_many(1, 100);
	eventlog_verify_start(&lg, &v);
	while ((ret = eventlog_verify_slice(&lg, &v, 7)) == 1)
		continue;
	ATF_REQUIRE_MSG(ret == 0, "%s", v.why);
	ATF_REQUIRE_EQ(v.events, 100);
	ATF_REQUIRE_EQ(v.skeletons, 0);

	/* Somebody writes another record in the place of event 50. */
	memset(&r, 0, sizeof(r));
	r.seq = 50;
	r.type = 8;
	memset(link, 0, sizeof(link));
	ATF_REQUIRE((n = record_encode(frame, sizeof(frame), &r, link,
	    link)) > 0);
	record_put64(key, 50);
	ATF_REQUIRE(eventdb_begin(&db) == 0);
	ATF_REQUIRE(eventdb_put(&db, EDB_EVENTS, key, 8, frame, n) == 0);
	ATF_REQUIRE(eventdb_commit(&db) == 0);
	eventlog_verify_start(&lg, &v);
	while ((ret = eventlog_verify_slice(&lg, &v, 7)) == 1)
		continue;
	ATF_REQUIRE_EQ(ret, -1);
	ATF_REQUIRE_STREQ(v.why, "event 50: broken chain");

	ATF_REQUIRE(eventdb_begin(&db) == 0);
	ATF_REQUIRE(eventdb_del(&db, EDB_EVENTS, key, 8) == 0);
	ATF_REQUIRE(eventdb_commit(&db) == 0);
	eventlog_verify_start(&lg, &v);
	while ((ret = eventlog_verify_slice(&lg, &v, 7)) == 1)
		continue;
	ATF_REQUIRE_EQ(ret, -1);
	ATF_REQUIRE_STREQ(v.why, "event 50: missing");
	eventdb_close(&db);
}

/* What read and verify say of the log while key has this value. */
static void
damaged(const uint8_t *key, size_t nkey, const uint8_t *val, size_t nval,
    const char *read, const char *verified)
{
	struct eventlog_verify	 v;
	uint64_t		 next = 1;
	const uint8_t		*p;
	uint8_t			 old[RECORD_FRAME_MAX];
	size_t			 nold = 0;
	int			 ret;

	if (eventdb_get(&db, EDB_EVENTS, key, nkey, &p, &nold) == EDB_OK)
		memcpy(old, p, nold);
	ATF_REQUIRE(eventdb_begin(&db) == 0);
	ATF_REQUIRE(eventdb_put(&db, EDB_EVENTS, key, nkey, val, nval) == 0);
	ATF_REQUIRE(eventdb_commit(&db) == 0);
	ATF_CHECK_EQ(eventlog_read(&lg, 1, count_one, &next), -1);
	ATF_CHECK_MSG(strstr(db.why, read) != NULL, "%s: %s", read, db.why);
	eventlog_verify_start(&lg, &v);
	while ((ret = eventlog_verify_slice(&lg, &v, 7)) == 1)
		continue;
	ATF_CHECK_EQ(ret, -1);
	ATF_CHECK_MSG(strcmp(v.why, verified) == 0, "%s: %s", read, v.why);
	ATF_REQUIRE(eventdb_begin(&db) == 0);
	if (nold > 0)
		ret = eventdb_put(&db, EDB_EVENTS, key, nkey, old, nold);
	else
		ret = eventdb_del(&db, EDB_EVENTS, key, nkey);
	ATF_REQUIRE(ret == 0 && eventdb_commit(&db) == 0);
	next = 1;
	ATF_REQUIRE(eventlog_read(&lg, 1, count_one, &next) == 0);
	ATF_REQUIRE_EQ(next, 21);
}

/* (b86) Records that are none, each in the place of event 10. */
ATF_TC_WITHOUT_HEAD(no_records);
ATF_TC_BODY(no_records, tc)
{
	const uint8_t	*p;
	uint8_t		 key[9] = { 0 }, f[RECORD_FRAME_MAX], *b;
	uint8_t		 bad[RECORD_FRAME_MAX];
	size_t		 n;

	b = bad + RECORD_FRAME_HEAD;
	home_make();
	db_open();
	append_many(1, 20);
	record_put64(key, 10);
	ATF_REQUIRE(eventdb_get(&db, EDB_EVENTS, key, 8, &p, &n) == EDB_OK);
	memcpy(f, p, n);
	memcpy(bad, f, n);
	b[0] = 99;		/* an unknown version */
	damaged(key, 8, bad, n, "event 10: no record", "event 10: broken "
	    "chain");
	memcpy(bad, f, n);
	bad[0] = 99;		/* an unknown form */
	damaged(key, 8, bad, n, "event 10: no frame", "event 10: damaged "
	    "frame");
	bad[0] = RECORD_SKELETON;	/* which has no body */
	damaged(key, 8, bad, n, "event 10: no frame", "event 10: damaged "
	    "frame");
	damaged(key, 8, f, 5, "event 10: no frame", "event 10: damaged "
	    "frame");
	damaged(key, 8, f, 0, "event 10: no frame", "event 10: damaged "
	    "frame");
	memcpy(bad, f, n);
	record_put64(b + 64, 1ULL << 40);	/* details that are not there */
	damaged(key, 8, bad, n, "event 10: no record", "event 10: broken "
	    "chain");
	/* The same record under a later number, and beyond the newest. */
	record_put64(key, 11);
	damaged(key, 8, f, n, "event 11: no record", "event 11: broken "
	    "chain");
	record_put64(key, 1000);
	damaged(key, 8, f, n, "event 1000: no record", "event 21: missing");
	/* A key of another length sorts in between. */
	record_put64(key, 10);
	damaged(key, 9, f, n, "event 0: no frame", "event 11: missing");
	eventdb_close(&db);
}

/* Collected events leave the chain whole. */
ATF_TC_WITHOUT_HEAD(collect);
ATF_TC_BODY(collect, tc)
{
	struct eventlog_verify	 v;
	int			 ret;

	home_make();
	db_open();
	append_many(1, 30);
	ATF_REQUIRE(eventdb_begin(&db) == 0);
	/* 1, 4, ... 28 are of sandbox 1. */
	ATF_REQUIRE_EQ(eventlog_collect(&lg, 1, 7), 7);
	ATF_REQUIRE_EQ(eventlog_collect(&lg, 1, 7), 3);
	ATF_REQUIRE_EQ(eventlog_anchor(&lg, 100, NULL), 1);
	ATF_REQUIRE_EQ(eventlog_collect(&lg, 2, 100), 10);
	ATF_REQUIRE_EQ(eventlog_anchor(&lg, 100, NULL), 1);
	ATF_REQUIRE(eventdb_commit(&db) == 0);
	eventlog_committed(&lg);
	ATF_REQUIRE_EQ(lg.anchor, 2);
	eventdb_close(&db);
	db_open();
	ATF_REQUIRE_EQ(lg.anchor, 2);
	append_many(31, 40);
	eventlog_verify_start(&lg, &v);
	while ((ret = eventlog_verify_slice(&lg, &v, 7)) == 1)
		continue;
	ATF_REQUIRE_MSG(ret == 0, "%s", v.why);
	ATF_REQUIRE_EQ(v.anchor, 2);
	ATF_REQUIRE_EQ(v.skeletons, 18);
	ATF_REQUIRE_EQ(v.events, 20);
	eventdb_close(&db);
}

ATF_TC_WITHOUT_HEAD(crash);
ATF_TC_BODY(crash, tc)
{
	home_make();
	crash_after(write_some);
	db_open();
	ATF_REQUIRE_EQ(lg.seq, 200);
	ATF_REQUIRE_EQ(count_events(1), 200);
	eventdb_close(&db);
}

static void
write_uncommitted(void)
{
	write_some();
	if (eventdb_begin(&db) == -1 || append_one(1, 201) == -1)
		_exit(1);
}

ATF_TC_WITHOUT_HEAD(crash_uncommitted);
ATF_TC_BODY(crash_uncommitted, tc)
{
	home_make();
	crash_after(write_uncommitted);
	db_open();
	ATF_REQUIRE_EQ(lg.seq, 200);
	append_many(201, 201);
	ATF_REQUIRE_EQ(count_events(1), 201);
	eventdb_close(&db);
}

static void
write_unmarked(void)
{
	write_some();
	if (eventdb_begin(&db) == -1 || append_one(1, 201) == -1 ||
	    eventdb_commit(&db) == -1)
		_exit(1);
}

/* Killed between commit and watermark: the watermark is behind, no fault. */
ATF_TC_WITHOUT_HEAD(crash_before_mark);
ATF_TC_BODY(crash_before_mark, tc)
{
	home_make();
	crash_after(write_unmarked);
	db_open();
	ATF_REQUIRE_EQ(lg.seq, 201);
	ATF_REQUIRE_EQ(db.mark_count, 201);
	eventdb_close(&db);
}

struct req {
	int	 body;		/* what its body returns */
	int	 got;		/* what done was told */
	int	 order;
};

static int	 counter, ndone, nafter;

static int
req_body(struct batch *b, void *arg)
{
	struct req	*q = arg;

	if (q->body == BATCH_REFUSED)
		return (BATCH_REFUSED);
	batch_keep(b, &counter, sizeof(counter));
	counter++;
	if (append_one(1, counter) == -1)
		return (BATCH_FAIL);
	if (q->body == BATCH_FAIL)
		db.err = 0;
	return (q->body);
}

static void
after(void *arg)
{
	(void)arg;
	nafter++;
}

static int
req_body_after(struct batch *b, void *arg)
{
	int	 ret;

	if ((ret = req_body(b, arg)) == BATCH_OK)
		batch_after(b, after, NULL);
	return (ret);
}

static void
req_done(void *arg, int result)
{
	struct req	*q = arg;

	q->got = result;
	q->order = ++ndone;
}

ATF_TC_WITHOUT_HEAD(batch);
ATF_TC_BODY(batch, tc)
{
	struct batch	 b;
	struct req	 q[4];
	int		 i;

	home_make();
	db_open();
	batch_init(&b, &db, &lg);
	memset(q, 0, sizeof(q));
	q[1].body = BATCH_REFUSED;
	batch_gating(&b, req_body_after, req_done, &q[0]);
	batch_gating(&b, req_body_after, req_done, &q[1]);
	batch_following(&b, req_body_after, req_done, &q[2]);
	ATF_REQUIRE_EQ(batch_run(&b), 0);
	ATF_REQUIRE_EQ(counter, 2);
	ATF_REQUIRE_EQ(nafter, 2);
	ATF_REQUIRE_EQ(lg.done_seq, 2);
	ATF_REQUIRE_EQ(q[0].got, BATCH_OK);
	ATF_REQUIRE_EQ(q[1].got, BATCH_REFUSED);
	ATF_REQUIRE_EQ(q[2].got, BATCH_OK);
	ATF_REQUIRE_EQ(q[2].order, 3);

	/* One that fails does so alone, in the order in which they came. */
	q[1].body = BATCH_FAIL;
	ndone = 0;
	for (i = 0; i < 3; i++)
		batch_gating(&b, req_body_after, req_done, &q[i]);
	ATF_REQUIRE_EQ(batch_run(&b), 0);
	ATF_REQUIRE_EQ(counter, 4);
	ATF_REQUIRE_EQ(nafter, 4);
	ATF_REQUIRE_EQ(q[0].got, BATCH_OK);
	ATF_REQUIRE_EQ(q[1].got, BATCH_UNAVAIL);
	ATF_REQUIRE_EQ(q[2].got, BATCH_OK);
	ATF_REQUIRE_EQ(q[2].order, 3);
	ATF_REQUIRE_EQ(lg.seq, 4);
	ATF_REQUIRE_EQ(count_events(1), 4);

	/* Where they are many it is the database: all of them do. */
	batch_gating(&b, req_body_after, req_done, &q[0]);
	for (i = 0; i <= BATCH_APART; i++)
		batch_gating(&b, req_body_after, req_done, &q[1]);
	ATF_REQUIRE_EQ(batch_run(&b), 0);
	ATF_REQUIRE_EQ(counter, 4);
	ATF_REQUIRE_EQ(nafter, 4);
	ATF_REQUIRE_EQ(lg.seq, 4);
	ATF_REQUIRE_EQ(q[0].got, BATCH_UNAVAIL);
	ATF_REQUIRE_EQ(q[1].got, BATCH_UNAVAIL);

	/* And the sequences are used again. */
	batch_gating(&b, req_body_after, req_done, &q[0]);
	ATF_REQUIRE_EQ(batch_run(&b), 0);
	ATF_REQUIRE_EQ(lg.seq, 5);
	ATF_REQUIRE_EQ(count_events(1), 5);
	eventdb_close(&db);
}

static int
big_body(struct batch *b, void *arg)
{
	static uint8_t	 buf[RECORD_DETAILS_MAX];
	struct record	 r;
	struct req	*q = arg;
	int		 i;

	batch_keep(b, &q->order, sizeof(q->order));
	for (i = 0; i < 100; i++) {
		memset(&r, 0, sizeof(r));
		r.details = buf;
		r.ndetails = sizeof(buf);
		if (eventlog_append(&lg, &r) == -1)
			return (BATCH_FAIL);
		q->order++;
	}
	return (BATCH_OK);
}

static void
big_done(void *arg, int result)
{
	struct req	*q = arg;

	q->got = result;
}

/* A full disk: refused, nothing lost, and it goes on when there is room. */
/* Less than what a checkpoint is made after: the next start finds it all. */
static void
write_much(void)
{
	static const uint8_t	 details[8000];
	struct record		 r;
	int			 i;

	db_open();
	memset(&r, 0, sizeof(r));
	r.details = details;
	r.ndetails = sizeof(details);
	ATF_REQUIRE_MSG(eventdb_begin(&db) == 0, "%s", db.why);
	for (i = 0; i < 400; i++)
		ATF_REQUIRE_MSG(eventlog_append(&lg, &r) == 0, "%s", db.why);
	ATF_REQUIRE_MSG(eventdb_commit(&db) == 0, "%s", db.why);
	ATF_REQUIRE_MSG(eventdb_mark(&db, lg.seq, lg.link) == 0, "%s",
	    db.why);
}

static int
log_files(void)
{
	struct dirent	*d;
	DIR		*dir;
	int		 n = 0;

	ATF_REQUIRE((dir = opendir(home)) != NULL);
	while ((d = readdir(dir)) != NULL)
		n += strncmp(d->d_name, "log.", 4) == 0;
	closedir(dir);
	return (n);
}

ATF_TC(crashes);
ATF_TC_HEAD(crashes, tc)
{
	atf_tc_set_md_var(tc, "descr", "deaths between checkpoints do not "
	    "let the database's log grow");
}
ATF_TC_BODY(crashes, tc)
{
	int	 i;

	home_make();
	for (i = 0; i < 8; i++)
		crash_after(write_much);
	ATF_REQUIRE(log_files() >= 3);
	db_open();
	ATF_REQUIRE_MSG(log_files() <= 2, "%d files", log_files());
	ATF_REQUIRE_EQ(count_events(1), 8 * 400);
	eventdb_close(&db);
	/* Nor do starts after which nothing was written. */
	for (i = 0; i < 3; i++) {
		db_open();
		eventdb_close(&db);
	}
	ATF_REQUIRE_MSG(log_files() <= 2, "%d files", log_files());
}

ATF_TC(full_disk);
ATF_TC_HEAD(full_disk, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(full_disk, tc)
{
	struct batch	 b;
	struct req	 q;
	char		 path[1100];
	int		 fd, i, released = 0;

	home_make();
	/* A name space of our own, which goes with us. */
	ATF_REQUIRE(unshare(CLONE_NEWNS) == 0);
	ATF_REQUIRE(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	ATF_REQUIRE(mount("none", home, "tmpfs", 0,
	    "size=64m,mode=700") == 0);
	db_open();
	ATF_REQUIRE(db.ballast);
	file_of(path, sizeof(path), "filler");
	ATF_REQUIRE((fd = open(path, O_WRONLY | O_CREAT, 0600)) != -1);
	ATF_REQUIRE(posix_fallocate(fd, 0, 40 * 1024 * 1024) == 0);
	close(fd);
	batch_init(&b, &db, &lg);
	memset(&q, 0, sizeof(q));
	for (i = 0; i < 1000 && q.got == BATCH_OK; i++) {
		batch_gating(&b, big_body, big_done, &q);
		ATF_REQUIRE_EQ(batch_run(&b), 0);
		released |= !db.ballast;
		/* It may fail, and is tried again with the next. */
		(void)eventdb_checkpoint(&db, 0);
	}
	ATF_REQUIRE(released);
	ATF_REQUIRE_EQ(q.got, BATCH_NOSPACE);
	ATF_REQUIRE_EQ(lg.seq, (uint64_t)q.order);
	ATF_REQUIRE(unlink(path) == 0);
	batch_gating(&b, big_body, big_done, &q);
	ATF_REQUIRE_EQ(batch_run(&b), 0);
	ATF_REQUIRE_EQ(q.got, BATCH_OK);
	ATF_REQUIRE_EQ(lg.seq, (uint64_t)q.order);
	ATF_REQUIRE_EQ(count_events(1), lg.seq);
	eventdb_close(&db);
	db_open();
	ATF_REQUIRE_EQ(lg.seq, (uint64_t)q.order);
	eventdb_close(&db);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, append);
	ATF_TP_ADD_TC(tp, sandbox_index);
	ATF_TP_ADD_TC(tp, verify);
	ATF_TP_ADD_TC(tp, no_records);
	ATF_TP_ADD_TC(tp, collect);
	ATF_TP_ADD_TC(tp, crash);
	ATF_TP_ADD_TC(tp, crash_uncommitted);
	ATF_TP_ADD_TC(tp, crash_before_mark);
	ATF_TP_ADD_TC(tp, batch);
	ATF_TP_ADD_TC(tp, crashes);
	ATF_TP_ADD_TC(tp, full_disk);
	return (atf_no_error());
}
