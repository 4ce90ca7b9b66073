/*
 * A log that is damaged, as the start has found it: what can be read of it is
 * shown, and nothing else is done.  Which sandboxes there are is a guess now,
 * so none is touched, and not a byte is written.
 */
#include <sys/types.h>

#include <stdio.h>
#include <string.h>

#include "log.h"
#include "store.h"

static const uint32_t	 shown[] = {
	PROTO_HELLO, PROTO_PING, PROTO_STATUS, PROTO_LIST, PROTO_SHOW,
	PROTO_PS, PROTO_LOGS, PROTO_EVENTS, PROTO_CREDIT, PROTO_LOG_DUMP,
	PROTO_LOG_VERIFY, PROTO_RULES, PROTO_DOCTOR
};

int
damaged(void)
{
	return (st.damage[0] != '\0');
}

/* Where it is, if the reason does not say that. */
static void
damaged_where(void)
{
	char		 why[sizeof(st.damage)];
	const char	*table;

	if (strstr(st.damage, "checksum") == NULL ||
	    strstr(st.damage, ".db") != NULL ||
	    (table = eventdb_bad_table(&st.db)) == NULL)
		return;
	strlcpy(why, st.damage, sizeof(why));
	snprintf(st.damage, sizeof(st.damage), "%s: %.*s", table,
	    (int)(sizeof(st.damage) - 16), why);
	log_warnx("event log: %s", st.damage);
}

/* Opens what can be opened; the reason is what the database has said. */
void
damaged_open(void)
{
	strlcpy(st.damage, st.db.why, sizeof(st.damage));
	log_warnx("event log: %s", st.damage);
	model_close(&st.model);
	if (eventdb_open_damaged(&st.db) == -1 ||
	    eventlog_open(&st.log, &st.db) == -1)
		fatalx("event log: %s: and nothing can be read: %s",
		    st.damage, st.db.why);
	damaged_where();
	if (model_open(&st.model, &st.db) == -1)
		log_warnx("event log: what sandboxes there are cannot be "
		    "read: %s", st.db.why);
	if (times_open() == -1)
		fatalx("event log: %s", st.db.why);
	batch_init(&st.batch, &st.db, &st.log);
	log_warnx("what can be read of it is shown, up to event %llu: nothing "
	    "is written, no container is touched, every change is refused",
	    (unsigned long long)st.log.done_seq);
}

/* 1: it is answered, and refused. */
int
damaged_refuse(const struct asker *a, uint32_t type)
{
	size_t	 i;

	if (!damaged())
		return (0);
	for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (shown[i] == type)
			return (0);
	answer_error(a, CODE_UNAVAILABLE, NULL, "the event log is damaged, "
	    "and can only be read: %.200s: restore it from a dump, see "
	    "DIAGNOSTICS in sandboxd-events(7)", st.damage);
	return (1);
}
