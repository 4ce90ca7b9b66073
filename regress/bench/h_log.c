/*
 * Fills the event log of a daemon that is not running, as its store would
 * have: so many events, of so many sandboxes whose state is not kept.
 *
 * usage: h_log directory sandboxes events
 */
#include <err.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "eventlog.h"
#include "sandboxd.h"

#define PER_BATCH	64
#define FIRST		1000000		/* sandboxes that nobody has */
#define SOME_TYPE	15

static struct eventdb	 db;
static struct eventlog	 elog;

static void
failed(const char *what)
{
	errx(1, "%s: %s", what, db.why);
}

static void
as_store(void)
{
	const struct passwd	*pw;

	if ((pw = getpwnam(STORE_USER)) == NULL)
		errx(1, "no user %s", STORE_USER);
	if (setgroups(0, NULL) == -1 || setgid(pw->pw_gid) == -1 ||
	    setuid(pw->pw_uid) == -1)
		err(1, "%s", STORE_USER);
}

static void
begin(void)
{
	if (eventdb_begin(&db) == -1)
		failed("transaction");
}

static void
commit(void)
{
	if (eventdb_commit(&db) == -1)
		failed("commit");
	eventlog_committed(&elog);
	if (eventdb_mark(&db, elog.seq, elog.link) == -1 ||
	    eventdb_checkpoint(&db, 0) == -1)
		failed("checkpoint");
}

int
main(int argc, char *argv[])
{
	struct record	 r;
	const char	*errstr[2];
	int		 i, boxes, events;

	if (argc != 4)
		errx(64, "usage: h_log directory sandboxes events");
	boxes = strtonum(argv[2], 1, 100000, &errstr[0]);
	events = strtonum(argv[3], 1, 10000000, &errstr[1]);
	if (errstr[0] != NULL || errstr[1] != NULL)
		errx(64, "not a number of these");
	as_store();
	if (eventdb_open(&db, argv[1]) == -1 || eventlog_open(&elog, &db) == -1)
		failed(argv[1]);
	memset(&r, 0, sizeof(r));
	r.type = SOME_TYPE;
	begin();
	for (i = 0; i < events; i++) {
		r.sbx = FIRST + i % boxes;
		r.sseq = 1 + i / boxes;
		r.time = (uint64_t)time(NULL) * 1000000000;
		if (eventlog_append(&elog, &r) == -1)
			failed("event");
		if (i % PER_BATCH == PER_BATCH - 1) {
			commit();
			begin();
		}
	}
	commit();
	eventdb_close(&db);
	return (0);
}
