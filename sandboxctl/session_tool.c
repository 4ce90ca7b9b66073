/*
 * session_tool.c: the tools of an agent in a session.  Each is an operation
 * on files, or some of them one after the other, or a command; what comes of
 * it is held until its end and then told as sandboxctl tool tells it.
 */

#include <sys/types.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "filerec.h"
#include "session.h"
#include "tool_json.h"

#define TOOL_FILE	(1 << 30)	/* bytes of a download */
#define TOOL_TIMEOUT	1800000		/* ms, unless told */

struct tool_def {
	const char		*name;
	uint32_t		 op;	/* CALL_NONE: a command */
	uint32_t		 flags;
	size_t			 max;	/* bytes that come of it */
	/* The rest of what is asked: 0, or -1 and it was answered. */
	int			 (*make)(struct call *, struct proto_call *);
	/* Records, and what the answer calls them; else NULL. */
	const struct msg_def	*records;
	void			 (*record)(FILE *, const void *);
	const char		*what;
	/* It has ended well: 0, or 1 if that is not the end of it. */
	int			 (*over)(struct call *);
	int			 batch;	/* errors are each one's own */
};

struct session_tool {
	const struct tool_def	*def;
	struct held		 text;	/* of records */
	int			 n;	/* records; of a batch: done */
	uint8_t			*buf;	/* bytes that have come */
	size_t			 len;
	size_t			 size;
	int			 full;	/* there were more */
	uint8_t			*own;	/* input, to be freed */
	const uint8_t		*in;
	size_t			 inlen;
	size_t			 inoff;
	int			 in_over;
	struct sandbox_tool_output o;
	int			 keeps;	/* the rest of it is written */
	enum code		 code;	/* of one of a batch */
};

static const struct {
	size_t		 off;
	uint32_t	 flag;
} flags[] = {
	{ offsetof(struct session_extra, all), CALL_F_EVERY },
	{ offsetof(struct session_extra, anydepth), CALL_F_ANYDEPTH },
	{ offsetof(struct session_extra, counts), CALL_F_COUNTS },
	{ offsetof(struct session_extra, crlf), CALL_F_CRLF },
	{ offsetof(struct session_extra, files), CALL_F_FILES },
	{ offsetof(struct session_extra, icase), CALL_F_ICASE },
	{ offsetof(struct session_extra, nodot), CALL_F_NODOT },
	{ offsetof(struct session_extra, number), CALL_F_NUMBER },
	{ offsetof(struct session_extra, regex), CALL_F_REGEX },
};

/* Of an answer: {"id":7,"tool_ls": */
static void
answer_begin(const struct call *c)
{
	fprintf(ss.out, "{\"id\":%s,\"%s\":", c->l.id, c->l.def->name);
}

static void
answer_end(void)
{
	fputs("}\n", ss.out);
}

static int
no_memory(struct call *c)
{
	call_error(c, CODE_UNAVAILABLE, "", "out of memory");
	return (-1);
}

/* --- what comes of it ------------------------------------------------ */

static int
tool_record(void *arg, void *rec)
{
	struct call		*c = arg;
	struct session_tool	*t = c->tool;

	if (t->n++ > 0)
		fputc(',', t->text.f);
	t->def->record(t->text.f, rec);
	return (0);
}

/* As much as there may be: of a command the rest is left out. */
static int
tool_out(void *arg, int stream, const void *data, size_t len)
{
	struct call		*c = arg;
	struct session_tool	*t = c->tool;
	size_t			 size, max = t->def->max;
	uint8_t			*p;

	c->off[stream] += len;
	if (c->records != NULL)
		return (rec_feed(c->records, data, len));
	t->o.size += len;
	if (len > max - t->len) {
		t->full = 1;
		len = max - t->len;
	}
	if (t->size - t->len < len) {
		size = 2 * (t->len + len);
		if ((p = realloc(t->buf, size)) == NULL)
			return (-1);
		t->buf = p;
		t->size = size;
	}
	if (len > 0)
		memcpy(t->buf + t->len, data, len);
	t->len += len;
	return (0);
}

static void
tool_note(void *arg, const struct sandbox_answer *a)
{
	struct call	*c = arg;

	if (a->type == PROTO_RESULT) {
		c->result = a->u.result;
		c->resulted = 1;
	} else if (a->type == PROTO_GAP)
		c->tool->o.truncated = 1;
}

/* --- what is asked ---------------------------------------------------- */

/* Small input goes with the request, the rest behind it. */
static void
tool_input(struct call *c, struct proto_call *m, const void *data, size_t len)
{
	struct session_tool	*t = c->tool;

	c->io.in = -1;
	if (len <= CALL_DATA_MAX) {
		m->data.data = (uint8_t *)(uintptr_t)data;
		m->data.len = len;
		return;
	}
	c->io.in = SANDBOX_IO_WRITE;
	t->in = data;
	t->inlen = len;
	t->inoff = 0;
	t->in_over = 0;
}

/* As far as it is taken: 0, or -1. */
int
tool_feed(struct call *c)
{
	struct session_tool	*t = c->tool;
	ssize_t			 n;

	if (t->in == NULL || t->in_over)
		return (0);
	while (t->inoff < t->inlen) {
		n = sandbox_job_write(c->job, t->in + t->inoff,
		    t->inlen - t->inoff);
		if (n <= 0)
			return (n);
		t->inoff += n;
	}
	t->in_over = 1;
	return (sandbox_job_end(c->job));
}

static int
tool_job(struct call *c, const struct proto_call *m)
{
	c->resulted = 0;
	c->off[1] = 0;
	c->io.out = tool_out;
	c->io.note = tool_note;
	c->io.wakefd = -1;
	c->io.arg = c;
	if ((c->job = sandbox_job_call(ss.sb, m, &c->io)) != NULL)
		return (0);
	call_sb_error(c);
	return (-1);
}

static void
tool_call(struct call *c, struct proto_call *m)
{
	const struct session_extra	*x = &c->l.extra;
	uint32_t			 is;
	size_t				 i;

	memset(m, 0, sizeof(*m));
	m->sandbox = x->sandbox;
	m->op = c->tool->def->op;
	m->flags = c->tool->def->flags;
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		memcpy(&is, (const char *)x + flags[i].off, sizeof(is));
		if (is)
			m->flags |= flags[i].flag;
	}
	m->path = x->path == NULL || *x->path == '\0' ?
	    (char *)(uintptr_t)"." : x->path;
	m->pattern = x->pattern;
	m->filter = x->filter;
	m->count = x->max;
	c->io.in = -1;
}

static int
make_ls(struct call *c, struct proto_call *m)
{
	(void)c;
	m->pattern = (char *)(uintptr_t)"*";
	return (0);
}

static int
make_grep(struct call *c, struct proto_call *m)
{
	m->offset = m->length = c->l.extra.context;
	return (0);
}

static int
make_read(struct call *c, struct proto_call *m)
{
	m->offset = c->l.extra.offset;
	m->count = c->l.extra.limit;
	return (0);
}

static int
make_write(struct call *c, struct proto_call *m)
{
	if (c->l.extra.input)
		c->io.in = SANDBOX_IO_WRITE;
	else
		tool_input(c, m, c->l.extra.data.data, c->l.extra.data.len);
	return (0);
}

static int
make_edit(struct call *c, struct proto_call *m)
{
	size_t	 old = strlen(c->l.extra.old), new = strlen(c->l.extra.new);
	uint8_t	*p;

	if ((p = malloc(old + new + 1)) == NULL)
		return (no_memory(c));
	memcpy(p, c->l.extra.old, old);
	memcpy(p + old, c->l.extra.new, new);
	c->tool->own = p;
	m->length = old;
	tool_input(c, m, p, old + new);
	return (0);
}

/* One of a batch; the frameworks mean paths from the root on. */
static int
make_download(struct call *c, struct proto_call *m)
{
	m->path = c->l.extra.paths.v[c->tool->n];
	m->length = CALL_ALL;
	return (0);
}

static int
make_upload(struct call *c, struct proto_call *m)
{
	const char	*text = c->l.extra.contents.v[c->tool->n];
	uint8_t		*p;
	ssize_t		 n;

	m->path = c->l.extra.paths.v[c->tool->n];
	free(c->tool->own);
	c->tool->own = p = malloc(strlen(text) / 4 * 3 + 1);
	if (p == NULL)
		return (no_memory(c));
	if ((n = base64_decode(p, text, strlen(text))) == -1) {
		call_error(c, CODE_INVALID_ARGUMENT, "contents",
		    "invalid contents: not base64");
		return (-1);
	}
	tool_input(c, m, p, n);
	return (0);
}

/* --- room for what is long ------------------------------------------- */

#define ANSWER_LONG	(64 * 1024)	/* bytes that come of it */
#define ANSWER_HEAD	1024		/* what is before and behind them */

static ssize_t
length_add(void *arg, const char *data, size_t len)
{
	size_t	*n = arg;

	(void)data;
	*n += len;
	return (len);
}

/* Is there room for what print() writes?  0, or -1. */
static int
answer_room(struct call *c, void (*print)(FILE *, struct call *))
{
	static const cookie_io_functions_t	 io = { .write = length_add };
	FILE					*f;
	size_t					 n = 0;

	if (c->tool->len < ANSWER_LONG)
		return (0);
	if ((f = fopencookie(&n, "w", io)) == NULL)
		return (-1);
	print(f, c);
	fclose(f);
	return (session_room(n + ANSWER_HEAD));
}

/* --- how it ends -------------------------------------------------------- */

static int
over_records(struct call *c)
{
	struct session_tool	*t = c->tool;

	if (held_whole(&t->text) == -1 ||
	    session_room(t->text.len + ANSWER_HEAD) == -1) {
		(void)no_memory(c);
		return (1);
	}
	answer_begin(c);
	fprintf(ss.out, "{\"%s\":[", t->def->what);
	held_print(&t->text, ss.out);
	fputs("],", ss.out);
	tool_json_bounds(ss.out, &c->result);
	fputs("}", ss.out);
	answer_end();
	return (0);
}

static int
over_read(struct call *c)
{
	struct sandbox_tool_text	 text;

	sandbox_tool_page(&text, c->l.extra.offset, &c->result);
	text.data = c->tool->buf;
	text.len = c->tool->len;
	answer_begin(c);
	tool_json_read(ss.out, c->l.extra.path, &text);
	answer_end();
	return (0);
}

static int
over_write(struct call *c)
{
	answer_begin(c);
	tool_json_written(ss.out, c->l.extra.path, c->result.count,
	    c->result.count2 != 0);
	answer_end();
	return (0);
}

static int
over_edit(struct call *c)
{
	answer_begin(c);
	tool_json_count(ss.out, c->l.extra.path, "occurrences",
	    c->result.count);
	answer_end();
	return (0);
}

static int
over_delete(struct call *c)
{
	answer_begin(c);
	tool_json_count(ss.out, c->l.extra.path, "deleted", c->result.count);
	answer_end();
	return (0);
}

static void
print_file(FILE *out, struct call *c)
{
	struct session_tool		*t = c->tool;
	struct sandbox_tool_file	 f;

	memset(&f, 0, sizeof(f));
	f.path = c->l.extra.paths.v[t->n];
	f.data = t->buf;
	f.len = t->len;
	f.code = t->code;
	tool_json_done(out, &f, t->def->op == CALL_READ);
}

/* One of a batch is done. */
static void
batch_tell(struct call *c, enum code code)
{
	struct session_tool	*t = c->tool;

	t->code = code;
	if (answer_room(c, print_file) == -1) {
		t->code = CODE_UNAVAILABLE;
		t->len = 0;
	}
	answer_begin(c);
	print_file(ss.out, c);
	answer_end();
	t->n++;
	t->len = 0;
	t->full = 0;
}

/* 1 if another one is to be begun. */
static int
batch_next(struct call *c, enum code code)
{
	batch_tell(c, code);
	if ((size_t)c->tool->n >= c->l.extra.paths.n)
		return (0);
	call_resend(c);
	return (1);
}

static int
over_batch(struct call *c)
{
	return (batch_next(c, c->tool->full ? CODE_TOO_LARGE : CODE_OK));
}

static void
print_output(FILE *out, struct call *c)
{
	tool_json_output(out, &c->tool->o);
}

/* 0, or 1 and there was no room for it, which is its end. */
static int
tell_output(struct call *c)
{
	c->tool->o.data = (char *)c->tool->buf;
	if (answer_room(c, print_output) == -1) {
		(void)no_memory(c);
		return (1);
	}
	answer_begin(c);
	print_output(ss.out, c);
	answer_end();
	return (0);
}

/* A command: what it wrote beyond the bound goes into a file. */
static int
over_execute(struct call *c)
{
	struct session_tool	*t = c->tool;
	char			 text[300];
	size_t			 max = c->l.extra.max;

	if (t->keeps) {
		t->o.kept = c->result.count;
		return (tell_output(c));
	}
	if (max == 0 || max > SANDBOX_TOOL_OUTPUT)
		max = SANDBOX_TOOL_OUTPUT;
	t->o.data = (char *)t->buf;
	t->o.len = t->len < max ? t->len : max;
	if (sandbox_tool_ended(&t->o, &c->info) == -1) {
		snprintf(text, sizeof(text), "/bin/sh: %.200s",
		    c->info.cause);
		call_error(c, CODE_INVALID_ARGUMENT, "", text);
		return (1);
	}
	if (t->o.size <= max || c->cancelled)
		return (tell_output(c));
	sandbox_tool_spill(&t->o);
	t->keeps = 1;
	call_resend(c);
	return (1);
}

/* All that is held of its output. */
static int
execute_keep(struct call *c)
{
	struct proto_call	 m;

	tool_call(c, &m);
	m.op = CALL_WRITE;
	m.path = c->tool->o.file;
	m.mode = 0600;
	m.flags = CALL_F_NOFOLLOW | CALL_F_TRUNC;
	tool_input(c, &m, c->tool->buf, c->tool->len);
	return (tool_job(c, &m));
}

static int
execute_begin(struct call *c)
{
	const struct session_extra	*x = &c->l.extra;
	struct session_tool		*t = c->tool;
	struct proto_exec		 m;
	char				*argv[3];

	memset(&m, 0, sizeof(m));
	m.sandbox = x->sandbox;
	m.argv.v = argv;
	m.argv.n = 3;
	m.env = x->env;
	m.dir = x->dir;
	strlcpy(m.user, x->user, sizeof(m.user));
	strlcpy(m.reason, x->reason, sizeof(m.reason));
	m.timeout = x->timeout == 0 ? TOOL_TIMEOUT : x->timeout;
	m.flags = EXEC_ATTACH | EXEC_MERGE;
	c->io.in = -1;
	if (sandbox_tool_shell(x->command, argv)) {
		c->io.in = SANDBOX_IO_WRITE;
		t->in = (const uint8_t *)x->command;
		t->inlen = strlen(x->command);
	}
	c->io.out = tool_out;
	c->io.note = tool_note;
	c->io.wakefd = -1;
	c->io.arg = c;
	c->io.again = CTL_AGAIN;
	if ((c->job = sandbox_job_run(ss.sb, &m, &c->io, &c->info)) != NULL)
		return (0);
	call_sb_error(c);
	return (-1);
}

static void
record_file(FILE *f, const void *rec)
{
	tool_json_file(f, rec);
}

static void
record_match(FILE *f, const void *rec)
{
	tool_json_match(f, rec);
}

static const struct tool_def	 tools[] = {
	{ "tool_delete", CALL_REMOVE, CALL_F_RECURSE, 0, NULL, NULL, NULL,
	    NULL, over_delete, 0 },
	{ "tool_download", CALL_READ, 0, TOOL_FILE, make_download, NULL, NULL,
	    NULL, over_batch, 1 },
	{ "tool_edit", CALL_EDIT, 0, 0, make_edit, NULL, NULL, NULL,
	    over_edit, 0 },
	{ "tool_execute", CALL_NONE, 0, SANDBOX_TOOL_KEEP, NULL, NULL, NULL,
	    NULL, over_execute, 0 },
	{ "tool_glob", CALL_GLOB, 0, 0, NULL, &file_rec_def, record_file,
	    "files", over_records, 0 },
	{ "tool_grep", CALL_GREP, 0, 0, make_grep, &grep_rec_def,
	    record_match, "matches", over_records, 0 },
	{ "tool_ls", CALL_GLOB, 0, 0, make_ls, &file_rec_def, record_file,
	    "files", over_records, 0 },
	{ "tool_read", CALL_LINES, 0, SANDBOX_TOOL_PAGE, make_read, NULL,
	    NULL, NULL, over_read, 0 },
	{ "tool_upload", CALL_WRITE, CALL_F_ATOMIC | CALL_F_PARENTS, 0,
	    make_upload, NULL, NULL, NULL, over_batch, 1 },
	{ "tool_write", CALL_WRITE, CALL_F_ATOMIC | CALL_F_PARENTS, 0,
	    make_write, NULL, NULL, NULL, over_write, 0 },
};

static int
tool_new(struct call *c)
{
	struct session_tool	*t;
	size_t			 i;

	if ((t = c->tool = calloc(1, sizeof(*t))) == NULL)
		return (no_memory(c));
	for (i = 0; strcmp(tools[i].name, c->l.def->name) != 0;)
		i++;
	t->def = &tools[i];
	if (t->def->records == NULL)
		return (0);
	if (held_open(&t->text) == -1 ||
	    (c->records = calloc(1, sizeof(*c->records))) == NULL)
		return (no_memory(c));
	c->records->def = t->def->records;
	c->records->take = tool_record;
	c->records->arg = c;
	return (0);
}

static int
tool_check(struct call *c)
{
	if (!c->tool->def->batch || c->tool->def->op != CALL_WRITE ||
	    c->l.extra.contents.n == c->l.extra.paths.n)
		return (0);
	call_error(c, CODE_INVALID_ARGUMENT, "contents",
	    "invalid contents: not as many as paths");
	return (-1);
}

/* Begins it, or what is next of it. */
int
tool_begin(struct call *c)
{
	const struct strv	*paths = &c->l.extra.paths;
	struct session_tool	*t;
	struct proto_call	 m;

	if (c->tool == NULL && (tool_new(c) == -1 || tool_check(c) == -1))
		return (-1);
	t = c->tool;
	t->in = NULL;
	if (t->def->op == CALL_NONE)
		return (t->keeps ? execute_keep(c) : execute_begin(c));
	if (t->def->batch) {
		while ((size_t)t->n < paths->n && *paths->v[t->n] != '/')
			batch_tell(c, CODE_INVALID_PATH);
		if ((size_t)t->n == paths->n) {
			call_end(c, NULL);
			return (-1);
		}
	}
	tool_call(c, &m);
	if (t->def->make != NULL && t->def->make(c, &m) == -1)
		return (-1);
	return (tool_job(c, &m));
}

/* Its job is over, and well: all has come that was to come. */
void
tool_over(struct call *c)
{
	int	 is_call = c->tool->def->op != CALL_NONE || c->tool->keeps;

	if (is_call && file_whole(c) == -1)
		return;
	if (c->tool->def->over(c) == 0)
		call_end(c, NULL);
}

/* Its job has failed: 1 if the request is answered, or goes on. */
int
tool_failed(struct call *c)
{
	struct session_tool	*t = c->tool;

	/* What cannot be kept is not there; the rest is an answer. */
	if (t->keeps) {
		t->o.file[0] = '\0';
		if (tell_output(c) == 0)
			call_end(c, NULL);
		return (1);
	}
	if (!t->def->batch || c->cancelled)
		return (0);
	if (batch_next(c, sandbox_error(ss.sb)->code) == 0)
		call_end(c, NULL);
	return (1);
}

void
tool_clear(struct call *c)
{
	struct session_tool	*t = c->tool;

	if (t == NULL)
		return;
	held_close(&t->text);
	free(t->buf);
	free(t->own);
	free(t);
	c->tool = NULL;
}
