/*
 * The event log while no daemon runs, in the child with the store's user that
 * offline.c makes: the database is its root directory.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "eventdb.h"
#include "eventlog.h"
#include "logverify.h"
#include "offline.h"

static struct eventdb	 db;
static struct eventlog	 elog;

static int
database_open(struct offline_outcome *o)
{
	if (eventdb_open(&db, "/.") == 0 && eventlog_open(&elog, &db) == 0)
		return (0);
	snprintf(o->why, sizeof(o->why), "%.300s", db.why);
	return (-1);
}

void
log_offline_restore(struct offline_outcome *o)
{
	char	 why[320];
	FILE	*f;

	if ((f = fdopen(OFFLINE_DUMP_FD, "r")) == NULL) {
		snprintf(o->why, sizeof(o->why), "%s", strerror(errno));
		return;
	}
	if (database_open(o) == 0) {
		if (logdump_restore(f, &elog, &o->r, why, sizeof(why)) == 0)
			o->ok = 1;
		else
			snprintf(o->why, sizeof(o->why), "%.300s", why);
		/* What did not become a log is thrown away as it is. */
		if (o->ok)
			eventdb_close(&db);
	}
	fclose(f);
}

void
log_offline_verify(struct offline_outcome *o)
{
	struct logverify	 v;
	size_t			 i;
	int			 ret;

	if (database_open(o) == -1)
		return;
	logverify_start(&v, &elog, NULL);
	while ((ret = logverify_slice(&v)) == 1)
		continue;
	o->ok = ret == 0;
	o->r.events = v.v.events;
	o->r.skeletons = v.v.skeletons;
	o->r.anchor = v.v.anchor;
	o->r.seq = v.v.next - 1;
	o->r.boxes = v.nboxes;
	o->r.execs = v.nexecs;
	for (i = 0; i < sizeof(v.v.link); i++)
		snprintf(o->r.head + 2 * i, 3, "%02x", v.v.link[i]);
	strlcpy(o->why, v.why, sizeof(o->why));
	logverify_end(&v);
	eventdb_close(&db);
}
