/*
 * Fills the event log of a daemon that is not running, as the daemon itself
 * would have: so many deleted sandboxes, with so many events and half as
 * many commands that have ended.
 *
 * regress-objs: eventdb.o eventlog.o record.o batch.o model.o messages.o
 * regress-objs: lifecycle.o
 *
 * usage: h_log directory sandboxes events
 */
#include <err.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model.h"
#include "store.h"

#define PER_BATCH	64

static struct eventdb	 db;
static struct eventlog	 elog;
static struct model	 model;
static struct batch	 batch;
static struct sandbox	**box;

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
commit(void)
{
	if (eventdb_commit(&db) == -1)
		failed("commit");
	eventlog_committed(&elog);
	if (eventdb_mark(&db, elog.seq, elog.link) == -1 ||
	    eventdb_checkpoint(&db, 0) == -1)
		failed("checkpoint");
}

static struct sandbox *
box_make(void)
{
	struct sandbox		*sb = sandbox_new();
	struct proto_create	 conf;

	memset(&conf, 0, sizeof(conf));
	sb->r.n = ++model.last_n;
	snprintf(sb->r.id, sizeof(sb->r.id), "gone%llu",
	    (unsigned long long)sb->r.n);
	sb->r.state = SBX_DELETED;
	sb->r.created = sb->r.changed = (uint64_t)time(NULL) * 1000000000;
	sb->conf = &conf;
	if (model_put(&batch, sb) != BATCH_OK ||
	    model_put_conf(&batch, sb) != BATCH_OK ||
	    model_put_last(&batch, &model) != BATCH_OK)
		failed("sandbox");
	sb->conf = NULL;
	return (sb);
}

static void
event_make(struct sandbox *sb, int i)
{
	struct exec_row	 row;
	struct record	 r;

	memset(&r, 0, sizeof(r));
	r.type = i & 1 ? EV_EXEC_ENDED : EV_EXEC_CREATE;
	r.sbx = sb->r.n;
	r.sseq = ++sb->sseq;
	r.state = SBX_DELETED;
	r.time = sb->r.changed;
	if (!(i & 1))
		sb->last_k++;
	r.exec = sb->last_k;
	if (eventlog_append(&elog, &r) == -1 ||
	    model_put_counters(&batch, sb) != BATCH_OK)
		failed("event");
	if (!(i & 1))
		return;
	memset(&row, 0, sizeof(row));
	row.n = sb->r.n;
	row.k = sb->last_k;
	row.state = EXEC_EXITED;
	if (model_put_exec(&batch, &row) != BATCH_OK)
		failed("exec");
}

int
main(int argc, char *argv[])
{
	const char	*errstr[2];
	int		 i, boxes, events;

	if (argc != 4)
		errx(64, "usage: h_log directory sandboxes events");
	boxes = strtonum(argv[2], 1, 100000, &errstr[0]);
	events = strtonum(argv[3], 1, 10000000, &errstr[1]);
	if (errstr[0] != NULL || errstr[1] != NULL)
		errx(64, "not a number of these");
	as_store();
	if (eventdb_open(&db, argv[1]) == -1 ||
	    eventlog_open(&elog, &db) == -1 || model_open(&model, &db) == -1)
		failed(argv[1]);
	batch_init(&batch, &db, &elog);
	if ((box = calloc(boxes, sizeof(struct sandbox *))) == NULL)
		err(1, NULL);
	if (eventdb_begin(&db) == -1)
		failed("transaction");
	for (i = 0; i < boxes; i++)
		box[i] = box_make();
	for (i = 0; i < events; i++) {
		event_make(box[i / 2 % boxes], i);
		if (i % PER_BATCH == PER_BATCH - 1) {
			commit();
			if (eventdb_begin(&db) == -1)
				failed("transaction");
		}
	}
	/* Each has its counters, also one without an event. */
	for (i = 0; i < boxes; i++)
		if (model_put_counters(&batch, box[i]) != BATCH_OK)
			failed("counters");
	commit();
	eventdb_close(&db);
	return (0);
}
