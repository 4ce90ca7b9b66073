/*
 * The event log on its own: sequences, the chain, batches that fail, and what
 * a start says of damaged and shortened files.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "eventdb.h"
#include "eventlog.h"
#include "scratch.h"
#include "usage.h"

static struct eventdb	 db;
static struct eventlog	 lg;
static char		 home[1024];

static void
home_make(void)
{
	char	 cwd[512];

	ATF_REQUIRE(getcwd(cwd, sizeof(cwd)) != NULL);
	snprintf(home, sizeof(home), "%.200s/db", cwd);
	/* The database's own bound for its directory's name. */
	if (strlen(home) > 200) {
		scratch_template(home, sizeof(home));
		ATF_REQUIRE(mkdtemp(home) != NULL);
		return;
	}
	ATF_REQUIRE(mkdir(home, 0700) == 0);
}

static void
db_open(void)
{
	ATF_REQUIRE_MSG(eventdb_open(&db, home) == 0, "%s", db.why);
	ATF_REQUIRE_MSG(eventlog_open(&lg, &db) == 0, "%s", db.why);
}

static int
append(uint64_t sbx, uint64_t sseq)
{
	struct record	 r;

	memset(&r, 0, sizeof(r));
	r.sbx = sbx;
	r.sseq = sseq;
	r.type = 7;
	r.time = 1000 + sseq;
	r.details = (const uint8_t *)"\x80";
	r.ndetails = 1;
	return (eventlog_append(&lg, &r));
}

static void
append_many(int from, int to)
{
	int	 i;

	ATF_REQUIRE_MSG(eventdb_begin(&db) == 0, "%s", db.why);
	for (i = from; i <= to; i++)
		ATF_REQUIRE_MSG(append(i % 3, i) == 0, "%s", db.why);
	ATF_REQUIRE_MSG(eventdb_commit(&db) == 0, "%s", db.why);
	eventlog_committed(&lg);
	ATF_REQUIRE_MSG(eventdb_mark(&db, lg.seq, lg.link) == 0, "%s",
	    db.why);
}

/* In a process of its own that dies without closing anything. */
static void
crash_after(void (*fn)(void))
{
	pid_t	 pid;
	int	 status;

	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		fn();
		kill(getpid(), SIGKILL);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void
write_some(void)
{
	int	 i;

	db_open();
	for (i = 0; i < 20; i++)
		append_many(i * 10 + 1, i * 10 + 10);
}

static int
count_one(void *arg, const struct record *r)
{
	uint64_t	*next = arg;

	ATF_REQUIRE_EQ(r->seq, *next);
	(*next)++;
	return (0);
}

static uint64_t
count_events(uint64_t from)
{
	uint64_t	 next = from;

	ATF_REQUIRE_MSG(eventlog_read(&lg, from, count_one, &next) == 0,
	    "%s", db.why);
	return (next - from);
}

static void
file_of(char *buf, size_t size, const char *name)
{
	ATF_REQUIRE(snprintf(buf, size, "%s/%s", home, name) < (int)size);
}

/* Turns one byte of a file; a negative offset counts from its end. */
static void
flip(const char *name, off_t at)
{
	char	 path[1100];
	uint8_t	 c;
	int	 fd;

	file_of(path, sizeof(path), name);
	ATF_REQUIRE((fd = open(path, O_RDWR)) != -1);
	if (at < 0)
		at += lseek(fd, 0, SEEK_END);
	ATF_REQUIRE(pread(fd, &c, 1, at) == 1);
	c ^= 0x55;
	ATF_REQUIRE(pwrite(fd, &c, 1, at) == 1);
	close(fd);
}

/* Turns a byte of the bytes given, wherever they lie in the file. */
static void
flip_found(const char *name, const void *what, size_t len)
{
	static char	 buf[8 * 1024 * 1024];
	char		 path[1100], *p;
	ssize_t		 n;
	int		 fd;

	file_of(path, sizeof(path), name);
	ATF_REQUIRE((fd = open(path, O_RDONLY)) != -1);
	ATF_REQUIRE((n = read(fd, buf, sizeof(buf))) > 0);
	close(fd);
	ATF_REQUIRE((p = memmem(buf, n, what, len)) != NULL);
	flip(name, p - buf);
}

static void
refused(const char *what)
{
	int	 ret;

	ret = eventdb_open(&db, home);
	if (ret == 0)
		ret = eventlog_open(&lg, &db);
	ATF_REQUIRE_EQ(ret, -1);
	ATF_REQUIRE_MSG(strstr(db.why, what) != NULL, "said: %s", db.why);
}

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
	ATF_REQUIRE(append(1, 31) == 0);
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
	if (eventdb_begin(&db) == -1 || append(1, 201) == -1)
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
	if (eventdb_begin(&db) == -1 || append(1, 201) == -1 ||
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

/* A damaged record in the newest log file is taken for the end of it. */
ATF_TC_WITHOUT_HEAD(damaged_log);
ATF_TC_BODY(damaged_log, tc)
{
	uint8_t	 key[8];

	home_make();
	crash_after(write_some);
	record_put64(key, 120);
	flip_found("log.0000000001", key, sizeof(key));
	refused("log.0000000001: damaged");
}

ATF_TC_WITHOUT_HEAD(damaged_log_end);
ATF_TC_BODY(damaged_log_end, tc)
{
	uint8_t	 key[8];

	home_make();
	crash_after(write_some);
	record_put64(key, 200);
	flip_found("log.0000000001", key, sizeof(key));
	refused("log.0000000001: damaged");
}

static void
write_old_copy(void)
{
	db_open();
	append_many(1, 10);
}

/* The whole directory, but for the watermark, as it was some time ago. */
ATF_TC_WITHOUT_HEAD(shortened);
ATF_TC_BODY(shortened, tc)
{
	static char	 buf[8 * 1024 * 1024];
	char		 path[1100];
	ssize_t		 n;
	int		 fd;

	home_make();
	crash_after(write_old_copy);
	file_of(path, sizeof(path), "log.0000000001");
	ATF_REQUIRE((fd = open(path, O_RDONLY)) != -1);
	ATF_REQUIRE((n = read(fd, buf, sizeof(buf))) > 0);
	close(fd);
	db_open();
	append_many(11, 20);
	append_many(21, 30);
	/* Not closed: the pages are in the log alone. */
	ATF_REQUIRE((fd = open(path, O_WRONLY | O_TRUNC)) != -1);
	ATF_REQUIRE(write(fd, buf, n) == n);
	close(fd);
	refused("log.0000000001: damaged: ends at");
}

ATF_TC_WITHOUT_HEAD(damaged_page);
ATF_TC_BODY(damaged_page, tc)
{
	home_make();
	db_open();
	append_many(1, 1000);
	eventdb_close(&db);
	flip("events.db", -100);
	refused("events.db");
}

/*
 * While it is served a page that is bad costs what is on it, and nothing else:
 * neither what is behind it, nor what comes later, nor memory or descriptors.
 */
ATF_TC_WITHOUT_HEAD(damaged_again);
ATF_TC_BODY(damaged_again, tc)
{
	uint64_t	 next;
	long		 memory = 0;
	int		 files = 0, i;

	home_make();
	db_open();
	append_many(1, 5000);
	eventdb_close(&db);
	flip("events.db", 100 * 4096 + 100);
	db_open();
	db.again = 1;
	for (i = 0; i < 300; i++) {
		next = 1;
		ATF_REQUIRE(eventlog_read(&lg, 1, count_one, &next) == -1);
		ATF_REQUIRE_MSG(strstr(db.why, "events.db") != NULL &&
		    strstr(db.why, "checksum") != NULL, "%s", db.why);
		ATF_REQUIRE(next > 1 && next < 4900);
		/* A change after it, or a reading. */
		if (i % 2 == 0)
			append_many(lg.seq + 1, lg.seq + 1);
		ATF_REQUIRE_EQ(count_events(4900), lg.seq - 4899);
		if (i % 2 == 1)
			append_many(lg.seq + 1, lg.seq + 1);
		ATF_REQUIRE_EQ(lg.seq, 5001U + i);
		ATF_REQUIRE_EQ(db.mark_count, lg.seq);
		if (i == 20) {
			files = usage_fds(getpid());
			memory = usage_kb(getpid());
		}
	}
	ATF_CHECK_MSG(usage_fds(getpid()) <= files, "%d descriptors after %d",
	    usage_fds(getpid()), files);
	printf("%ld KB, then %ld KB\n", memory, usage_kb(getpid()));
	/* A sanitizer keeps what was freed. */
#ifndef ASAN
	ATF_CHECK_MSG(usage_kb(getpid()) <= memory + 4096, "%ld KB after %ld",
	    usage_kb(getpid()), memory);
#endif
	eventdb_close(&db);
	/* What was told of before it died was written. */
	db_open();
	ATF_REQUIRE_EQ(count_events(4900), 401);
	eventdb_close(&db);
}

ATF_TC_WITHOUT_HEAD(missing_files);
ATF_TC_BODY(missing_files, tc)
{
	char	 path[1100], away[1100];
	int	 i;
	static const char *const name[] = {
		"events.db", "index.db", "state.db", "watermark",
		"log.0000000001"
	};
	static const char *const said[] = {
		"events.db: missing", "index.db: missing", "state.db: missing",
		"watermark: missing", "log: missing"
	};

	home_make();
	db_open();
	append_many(1, 10);
	eventdb_close(&db);
	file_of(away, sizeof(away), "../away");
	for (i = 0; i < 5; i++) {
		file_of(path, sizeof(path), name[i]);
		ATF_REQUIRE(rename(path, away) == 0);
		refused(said[i]);
		ATF_REQUIRE(rename(away, path) == 0);
	}
	db_open();
	eventdb_close(&db);
}

ATF_TC_WITHOUT_HEAD(damaged_watermark);
ATF_TC_BODY(damaged_watermark, tc)
{
	home_make();
	db_open();
	append_many(1, 10);
	eventdb_close(&db);
	flip("watermark", 20);
	refused("watermark: damaged");
}

ATF_TC_WITHOUT_HEAD(db_config);
ATF_TC_BODY(db_config, tc)
{
	char	 path[1100];
	int	 fd;

	home_make();
	file_of(path, sizeof(path), "DB_CONFIG");
	ATF_REQUIRE((fd = open(path, O_WRONLY | O_CREAT, 0600)) != -1);
	close(fd);
	refused("DB_CONFIG");
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
	if (append(1, counter) == -1)
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
	ATF_TP_ADD_TC(tp, damaged_log);
	ATF_TP_ADD_TC(tp, damaged_log_end);
	ATF_TP_ADD_TC(tp, shortened);
	ATF_TP_ADD_TC(tp, damaged_page);
	ATF_TP_ADD_TC(tp, damaged_again);
	ATF_TP_ADD_TC(tp, missing_files);
	ATF_TP_ADD_TC(tp, damaged_watermark);
	ATF_TP_ADD_TC(tp, db_config);
	ATF_TP_ADD_TC(tp, batch);
	ATF_TP_ADD_TC(tp, crashes);
	ATF_TP_ADD_TC(tp, full_disk);
	return (atf_no_error());
}
