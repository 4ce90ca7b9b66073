/*
 * session_file.c: operations on files in a session.  Bytes go as those of a
 * command do; what comes as records is told as objects.
 */

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "filerec.h"
#include "session.h"

/* The records of each operation that has some; others come as bytes. */
static const struct {
	uint32_t		 op;
	const struct msg_def	*def;
} records[] = {
	{ CALL_STAT, &file_rec_def },
	{ CALL_LIST, &file_rec_def },
	{ CALL_GLOB, &file_rec_def },
	{ CALL_GREP, &grep_rec_def },
	{ CALL_WATCH, &watch_rec_def },
	{ CALL_DIFF, &diff_rec_def },
	{ CALL_CHANGES, &change_rec_def },
	{ CALL_TREE_COPY, &file_rec_def },
};

static int
file_record(void *arg, void *rec)
{
	struct call	*c = arg;
	struct msg_def	 def = *c->records->def;

	def.name = "record";
	json_answer(ss.out, c->l.id, &def, rec);
	return (0);
}

static int
file_out(void *arg, int stream, const void *data, size_t len)
{
	struct call	*c = arg;

	if (c->records == NULL)
		return (job_out(arg, stream, data, len));
	c->off[stream] += len;
	c->window -= len;
	return (rec_feed(c->records, data, len));
}

static void
file_note(void *arg, const struct sandbox_answer *a)
{
	struct call	*c = arg;

	if (a->type == PROTO_OUTPUT_END)
		tell(c, a->type, &a->u);
	if (a->type != PROTO_RESULT)
		return;
	c->result = a->u.result;
	c->resulted = 1;
}

/* NULL where they are none. */
static int
file_records(struct call *c, uint32_t op)
{
	size_t	 i;

	for (i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		if (records[i].op == op)
			break;
	if (i == sizeof(records) / sizeof(records[0]))
		return (0);
	if ((c->records = calloc(1, sizeof(*c->records))) == NULL)
		return (-1);
	c->records->def = records[i].def;
	c->records->take = file_record;
	c->records->arg = c;
	return (0);
}

int
file_begin(struct call *c)
{
	const struct proto_call	*m = c->l.msg;

	c->io.in = c->l.extra.input ? SANDBOX_IO_WRITE : -1;
	c->io.out = file_out;
	c->io.note = file_note;
	c->io.wakefd = -1;
	c->io.arg = c;
	c->window = c->l.extra.window;
	if (file_records(c, m->op) == -1) {
		call_error(c, CODE_UNAVAILABLE, "", "out of memory");
		return (-1);
	}
	if ((c->job = sandbox_job_call(ss.sb, m, &c->io)) != NULL)
		return (0);
	call_sb_error(c);
	return (-1);
}

/* All that it is said to be has come, and no more; or -1 and the error. */
int
file_whole(struct call *c)
{
	char	 text[128];

	if (!c->resulted)
		call_error(c, CODE_PROTOCOL, "",
		    "the daemon left out its answer");
	else if (c->off[1] != c->result.out) {
		snprintf(text, sizeof(text), "%llu bytes have come of %llu",
		    (unsigned long long)c->off[1],
		    (unsigned long long)c->result.out);
		call_error(c, CODE_UNAVAILABLE, "", text);
	} else if (c->records != NULL && !rec_done(c->records))
		call_error(c, CODE_PROTOCOL, "",
		    "the guest talks nonsense: half a record");
	else
		return (0);
	return (-1);
}

void
file_over(struct call *c)
{
	if (file_whole(c) == -1)
		return;
	tell(c, PROTO_RESULT, &c->result);
	call_end(c, NULL);
}

void
file_cancel(struct call *c)
{
	struct proto_call_cancel	 m;

	c->cancelled = 1;
	c->l.extra.window = 0;
	if (ss.conn != CONN_UP)
		return;
	m.call = sandbox_job_req(c->job);
	(void)sandbox_queue(ss.sb, PROTO_CALL_CANCEL, &m, NULL);
}
