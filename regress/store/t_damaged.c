/*
 * What a start says of an event log whose files are damaged, shortened or
 * gone, and what is served of one that is damaged while it is open.
 *
 * regress-srcs: loghome.c
 */
#include <sys/types.h>

#include <atf-c.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loghome.h"
#include "usage.h"

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

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, damaged_log);
	ATF_TP_ADD_TC(tp, damaged_log_end);
	ATF_TP_ADD_TC(tp, shortened);
	ATF_TP_ADD_TC(tp, damaged_page);
	ATF_TP_ADD_TC(tp, damaged_again);
	ATF_TP_ADD_TC(tp, missing_files);
	ATF_TP_ADD_TC(tp, damaged_watermark);
	ATF_TP_ADD_TC(tp, db_config);
	return (atf_no_error());
}
