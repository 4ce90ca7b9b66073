/*
 * output.c: what people read: columns and lines.
 *
 * Much of it comes from strangers (names, commands, causes): what would
 * steer a terminal is written as octal numbers.
 */

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sandboxctl.h"
#include "text.h"

#define COLUMNS_MAX	16

struct table {
	char		**cells;	/* row by row, the heads first */
	size_t		  n;
	size_t		  size;
	size_t		  columns;
};

static __attribute__((__noreturn__)) void
out_of_memory(void)
{
	fprintf(stderr, "sandboxctl: out of memory (internal)\n");
	exit(code_exit(CODE_INTERNAL));
}

/* Characters of `special' get a backslash. */
static void
text_put(FILE *f, const char *str, const char *special)
{
	const unsigned char	*p = (const unsigned char *)str;
	size_t			 n;

	while (*p != '\0') {
		if ((n = text_char(p)) == 0)
			fprintf(f, "\\%03o", *p++);
		else {
			if (strchr(special, *p) != NULL)
				fputc('\\', f);
			fwrite(p, 1, n, f);
			p += n;
		}
	}
}

/* A string of a stranger's. */
void
out_text(FILE *f, const char *str)
{
	text_put(f, str, "");
}

/* How many columns of a terminal a text takes, as out_text() writes it. */
static size_t
text_width(const char *str)
{
	const unsigned char	*p = (const unsigned char *)str;
	size_t			 n, width = 0;

	while (*p != '\0') {
		if ((n = text_char(p)) == 0) {
			width += 4;
			p++;
		} else {
			width++;
			p += n;
		}
	}
	return (width);
}

static void
table_cell(struct table *t, char *cell)
{
	char	**cells;

	if (t->n == t->size) {
		t->size = t->size == 0 ? 64 : t->size * 2;
		cells = reallocarray(t->cells, t->size, sizeof(*cells));
		if (cells == NULL)
			out_of_memory();
		t->cells = cells;
	}
	t->cells[t->n++] = cell;
}

struct table *
table_new(const char *const *heads, size_t columns)
{
	struct table	*t;
	char		*cell;
	size_t		 i;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		out_of_memory();
	t->columns = columns > COLUMNS_MAX ? COLUMNS_MAX : columns;
	for (i = 0; i < t->columns; i++) {
		if ((cell = strdup(heads[i])) == NULL)
			out_of_memory();
		table_cell(t, cell);
	}
	return (t);
}

/* Cells come in the order of the columns; col says which one it is. */
void
table_add(struct table *t, size_t col, const char *fmt, ...)
{
	va_list	 ap;
	char	*cell;

	if (t->n % t->columns != col)
		abort();
	va_start(ap, fmt);
	if (vasprintf(&cell, fmt, ap) == -1)
		out_of_memory();
	va_end(ap);
	table_cell(t, cell);
}

void
table_print(struct table *t, FILE *f)
{
	size_t	 width[COLUMNS_MAX] = { 0 }, w, i, col;

	/* Heads alone would tell nothing, and look like a line to scripts. */
	if (t->n == t->columns)
		return;
	for (i = 0; i < t->n; i++)
		if ((w = text_width(t->cells[i])) > width[i % t->columns])
			width[i % t->columns] = w;
	for (i = 0; i < t->n; i++) {
		col = i % t->columns;
		out_text(f, t->cells[i]);
		if (col == t->columns - 1)
			fputc('\n', f);
		else
			fprintf(f, "%*s", (int)(width[col] + 2 -
			    text_width(t->cells[i])), "");
	}
}

void
table_free(struct table *t)
{
	size_t	 i;

	for (i = 0; i < t->n; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
}

void
out_error(FILE *f, const char *code, const char *field, const char *text)
{
	fprintf(f, "sandboxctl: ");
	/* The text as a rule names its field; where not, we do. */
	if (*field != '\0' && strstr(text, field) == NULL) {
		out_text(f, field);
		fprintf(f, ": ");
	}
	out_text(f, text);
	fprintf(f, " (%s)\n", code);
}

/* Nanoseconds since 1970, in the local time zone; "-" for never. */
static const char *
text_time(uint64_t ns, char *buf, size_t len)
{
	struct tm	 tm;
	time_t		 t = ns / 1000000000;

	if (ns == 0 || localtime_r(&t, &tm) == NULL ||
	    strftime(buf, len, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		strlcpy(buf, "-", len);
	return (buf);
}

/* Bytes in the largest unit that loses nothing. */
static const char *
text_size(uint64_t n, char *buf, size_t len)
{
	static const char	 units[] = "KMGT";
	int			 i = -1;

	while (i < 3 && n >= 1024 && n % 1024 == 0) {
		n /= 1024;
		i++;
	}
	snprintf(buf, len, "%llu%.1s", (unsigned long long)n,
	    i == -1 ? "" : &units[i]);
	return (buf);
}

static const char *
text_milli(uint32_t n, char *buf, size_t len)
{
	char	*p;

	snprintf(buf, len, "%u.%03u", n / 1000, n % 1000);
	/* 2 and not 2.000 */
	p = buf + strlen(buf) - 1;
	while (*p == '0')
		*p-- = '\0';
	if (*p == '.')
		*p = '\0';
	return (buf);
}

/* Seconds as 2d03h, 3h07m, 4m05s or 6s. */
static const char *
text_span(uint64_t s, char *buf, size_t len)
{
	unsigned long long	 n = s;

	if (n >= 86400)
		snprintf(buf, len, "%llud%02lluh", n / 86400,
		    n % 86400 / 3600);
	else if (n >= 3600)
		snprintf(buf, len, "%lluh%02llum", n / 3600, n % 3600 / 60);
	else if (n >= 60)
		snprintf(buf, len, "%llum%02llus", n / 60, n % 60);
	else
		snprintf(buf, len, "%llus", n);
	return (buf);
}

const char *
out_signal(int signo, char *buf, size_t len)
{
	const char	*name = sigabbrev_np(signo);

	if (name != NULL)
		snprintf(buf, len, "%s", name);
	else
		snprintf(buf, len, "%d", signo);
	return (buf);
}

static void
out_line(FILE *f, const char *name, const char *value)
{
	fprintf(f, "%-12s ", name);
	out_text(f, *value == '\0' ? "-" : value);
	fputc('\n', f);
}

static void
out_number(FILE *f, const char *name, uint64_t value)
{
	fprintf(f, "%-12s %llu\n", name, (unsigned long long)value);
}

/* A limit, and what the guest reads of it when that is another. */
static void
out_limit(FILE *f, const char *name, const char *set, const char *seen)
{
	fprintf(f, "%-12s %s", name, set);
	if (*seen != '\0' && strcmp(set, seen) != 0)
		fprintf(f, " (in force: %s)", seen);
	fputc('\n', f);
}

static void
out_limits(FILE *f, const struct proto_sandbox *s)
{
	char	 a[32], b[32];

	/* Without a guest nothing was seen yet. */
	out_limit(f, "memory", text_size(s->memory, a, sizeof(a)),
	    s->memory_seen == 0 ? "" : text_size(s->memory_seen, b,
	    sizeof(b)));
	out_limit(f, "cpus", text_milli(s->mcpus, a, sizeof(a)),
	    s->mcpus_seen == 0 ? "" : text_milli(s->mcpus_seen, b,
	    sizeof(b)));
	snprintf(a, sizeof(a), "%u", s->pids);
	snprintf(b, sizeof(b), "%u", s->pids_seen);
	out_limit(f, "pids", a, s->pids_seen == 0 ? "" : b);
	if (s->disk != 0)
		out_line(f, "disk", text_size(s->disk, a, sizeof(a)));
	if (s->tmpfs != 0)
		out_line(f, "tmpfs", text_size(s->tmpfs, a, sizeof(a)));
}

/* What comes by itself, and when. */
static void
out_times(FILE *f, const struct proto_sandbox *s)
{
	char	 buf[64];

	if (s->lifetime != 0)
		out_line(f, "lifetime", text_span(s->lifetime / 1000, buf,
		    sizeof(buf)));
	if (s->expires != 0)
		out_line(f, "expires", text_time(s->expires, buf,
		    sizeof(buf)));
	if (s->idle != 0)
		out_line(f, "idle", text_span(s->idle / 1000, buf,
		    sizeof(buf)));
	if (s->keep != 0)
		out_line(f, "keep", text_span(s->keep / 1000, buf,
		    sizeof(buf)));
	if (*s->next == '\0')
		return;
	fprintf(f, "%-12s ", "next");
	out_text(f, s->next);
	fprintf(f, " in %s, by ", text_span(s->next_in / 1000, buf,
	    sizeof(buf)));
	out_text(f, s->next_by);
	fputc('\n', f);
}

static void
out_mounts(FILE *f, const struct proto_sandbox *s)
{
	const struct kv	*m;
	size_t		 i, ro = s->mounts.n;

	for (i = 0; i < ro + s->mounts_rw.n; i++) {
		m = i < ro ? &s->mounts.v[i] : &s->mounts_rw.v[i - ro];
		fprintf(f, "%-12s ", i == 0 ? "mounts" : "");
		out_text(f, m->k);
		fputs(i < ro ? " reads " : " writes ", f);
		out_text(f, m->v);
		fputc('\n', f);
	}
}

void
out_sandbox(FILE *f, const struct proto_sandbox *s)
{
	char	 buf[64];
	size_t	 i;

	out_line(f, "id", s->id);
	out_number(f, "number", s->number);
	out_number(f, "owner", s->owner);
	out_line(f, "state", s->state);
	if (*s->cause != '\0')
		out_line(f, "cause", s->cause);
	if (*s->degraded != '\0')
		out_line(f, "degraded", s->degraded);
	out_line(f, "image", s->image);
	out_line(f, "image id", s->image_id);
	out_line(f, "container", s->container);
	out_limits(f, s);
	out_number(f, "user", s->user);
	out_line(f, "directory", s->workdir == NULL ? "" : s->workdir);
	out_line(f, "root", s->readonly ? "read-only" : "writable");
	if (s->resume)
		out_line(f, "resume", "on start");
	if (*s->companion_of != '\0')
		out_line(f, "companion of", s->companion_of);
	out_mounts(f, s);
	for (i = 0; i < s->labels.n; i++) {
		fprintf(f, "%-12s ", i == 0 ? "labels" : "");
		out_text(f, s->labels.v[i].k);
		fputc('=', f);
		out_text(f, s->labels.v[i].v);
		fputc('\n', f);
	}
	for (i = 0; i < s->env.n; i++)
		out_line(f, i == 0 ? "environment" : "", s->env.v[i]);
	out_line(f, "created", text_time(s->created, buf, sizeof(buf)));
	out_line(f, "changed", text_time(s->changed, buf, sizeof(buf)));
	if (s->missing != 0)
		out_line(f, "missing", text_time(s->missing, buf,
		    sizeof(buf)));
	out_times(f, s);
	out_number(f, "events", s->seq);
	out_number(f, "execs", s->execs);
	out_number(f, "guest", s->guest);
}

struct table *
out_list_new(void)
{
	static const char *const	 heads[] = { "ID", "STATE", "OWNER",
	    "IMAGE", "MEMORY", "CPUS", "PIDS", "EXECS", "CREATED" };

	return (table_new(heads, sizeof(heads) / sizeof(heads[0])));
}

void
out_list_add(struct table *t, const struct proto_sandbox *s)
{
	char	 buf[64];

	table_add(t, 0, "%s", s->id);
	table_add(t, 1, "%s", s->state);
	table_add(t, 2, "%u", s->owner);
	table_add(t, 3, "%s", s->image);
	table_add(t, 4, "%s", text_size(s->memory, buf, sizeof(buf)));
	table_add(t, 5, "%s", text_milli(s->mcpus, buf, sizeof(buf)));
	table_add(t, 6, "%u", s->pids);
	table_add(t, 7, "%u", s->execs);
	table_add(t, 8, "%s", text_time(s->created, buf, sizeof(buf)));
}

struct table *
out_rights_new(void)
{
	static const char *const	 heads[] = { "RIGHT", "ON", "MAY",
	    "BY" };

	return (table_new(heads, sizeof(heads) / sizeof(heads[0])));
}

void
out_rights_add(struct table *t, const struct proto_right *r)
{
	table_add(t, 0, "%s", r->name);
	table_add(t, 1, "%s", r->on);
	table_add(t, 2, "%s", r->may ? "yes" : "no");
	table_add(t, 3, "%s", r->by);
}

struct table *
out_limits_new(void)
{
	static const char *const	 heads[] = { "LIMIT", "OF", "MOST",
	    "USED", "BY" };

	return (table_new(heads, sizeof(heads) / sizeof(heads[0])));
}

static const char *
text_amount(const char *name, uint64_t n, char *buf, size_t len)
{
	if (strncmp(name, "memory", 6) == 0 || strcmp(name, "log") == 0)
		return (text_size(n, buf, len));
	if (strncmp(name, "cpus", 4) == 0)
		return (text_milli((uint32_t)n, buf, len));
	snprintf(buf, len, "%llu", (unsigned long long)n);
	return (buf);
}

void
out_limits_add(struct table *t, const struct proto_limit *l)
{
	char	 buf[32], span[32];

	table_add(t, 0, "%s", l->name);
	table_add(t, 1, "%s", l->of);
	text_amount(l->name, l->most, buf, sizeof(buf));
	if (l->most == 0)
		table_add(t, 2, "-");
	else if (l->per != 0)
		table_add(t, 2, "%s per %s", buf, text_span(l->per / 1000,
		    span, sizeof(span)));
	else
		table_add(t, 2, "%s", buf);
	/* A rate is not in use, and what each may have is not summed up. */
	if (l->per != 0 || strstr(l->name, " per ") != NULL ||
	    strcmp(l->name, "log") == 0 || strcmp(l->name, "creates") == 0 || strcmp(l->name, "requests") == 0)
		table_add(t, 3, "-");
	else
		table_add(t, 3, "%s", text_amount(l->name, l->used, buf,
		    sizeof(buf)));
	table_add(t, 4, "%s", *l->by == '\0' ? "-" : l->by);
}

struct table *
out_controls_new(void)
{
	static const char *const	 heads[] = { "CONTROL", "STATE",
	    "PROOF" };

	return (table_new(heads, sizeof(heads) / sizeof(heads[0])));
}

void
out_controls_add(struct table *t, const struct proto_control *c)
{
	table_add(t, 0, "%s", c->name);
	table_add(t, 1, "%s", c->state);
	table_add(t, 2, "%s", c->proof);
}

/* What to do, in a line that says for which. */
void
out_advice(FILE *f, const struct proto_control *c)
{
	out_text(f, c->name);
	fprintf(f, ": ");
	out_text(f, c->advice);
	fputc('\n', f);
}

struct table *
out_ps_new(void)
{
	static const char *const	 heads[] = { "EXEC", "STATE", "STATUS",
	    "STDOUT", "STDERR", "CREATED", "COMMAND" };

	return (table_new(heads, sizeof(heads) / sizeof(heads[0])));
}

/* The words of a command on one line. */
static char *
text_command(const struct strv *argv)
{
	char	*line;
	size_t	 i, size;

	size = strv_bytes(argv) + 1;
	if ((line = malloc(size)) == NULL)
		out_of_memory();
	*line = '\0';
	for (i = 0; i < argv->n; i++) {
		if (i > 0)
			strlcat(line, " ", size);
		strlcat(line, argv->v[i], size);
	}
	return (line);
}

void
out_ps_add(struct table *t, const struct proto_exec_info *e)
{
	char	 buf[64], *line;

	table_add(t, 0, "%s", e->id);
	table_add(t, 1, "%s", e->state);
	if (strcmp(e->state, "exited") == 0)
		table_add(t, 2, "%d", e->code);
	else if (strcmp(e->state, "signaled") == 0)
		table_add(t, 2, "%s", out_signal(e->code, buf, sizeof(buf)));
	else
		table_add(t, 2, "-");
	/* How much it has written is told at its end. */
	if (strcmp(e->state, "pending") == 0 ||
	    strcmp(e->state, "running") == 0) {
		table_add(t, 3, "-");
		table_add(t, 4, "-");
	} else {
		table_add(t, 3, "%llu", (unsigned long long)e->length1);
		table_add(t, 4, "%llu", (unsigned long long)e->length2);
	}
	table_add(t, 5, "%s", text_time(e->created, buf, sizeof(buf)));
	line = text_command(&e->argv);
	table_add(t, 6, "%s%s%s", line, *e->reason == '\0' ? "" : " # ",
	    e->reason);
	free(line);
}

/* A value of a line of many: in quotes where it would not stand alone. */
static void
out_value(FILE *f, const char *str)
{
	if (*str != '\0' && strpbrk(str, " \"\\") == NULL) {
		out_text(f, str);
		return;
	}
	fputc('"', f);
	text_put(f, str, "\"\\");
	fputc('"', f);
}

void
out_event(FILE *f, const struct proto_event *e)
{
	char	 buf[64];
	size_t	 i;

	fprintf(f, "%llu %s ", (unsigned long long)e->host_seq,
	    text_time(e->time, buf, sizeof(buf)));
	if (*e->sandbox != '\0') {
		out_text(f, e->sandbox);
		fprintf(f, " %llu ", (unsigned long long)e->seq);
	} else
		fprintf(f, "- - ");
	out_text(f, e->type);
	fputc(' ', f);
	out_text(f, *e->state == '\0' ? "-" : e->state);
	if (e->actor != -1)
		fprintf(f, " uid=%lld", (long long)e->actor);
	for (i = 0; i < e->detail.n; i++) {
		fputc(' ', f);
		out_text(f, e->detail.v[i].k);
		fputc('=', f);
		out_value(f, e->detail.v[i].v);
	}
	fputc('\n', f);
}

/* In the place of the type, and with no number: it is no event. */
void
out_heartbeat(FILE *f, const struct proto_heartbeat *h)
{
	char	 buf[64];

	fprintf(f, "- %s - - heartbeat - seq=%llu\n", text_time(h->time, buf,
	    sizeof(buf)), (unsigned long long)h->seq);
}

void
out_status(FILE *f, const struct proto_status_info *s,
    const struct proto_proc *procs, size_t n, uint64_t now)
{
	static const char *const	 heads[] = { "PROCESS", "PID", "USER",
	    "UPTIME", "CONFINED BY" };
	struct table	*t;
	char		 buf[64];
	size_t		 i;

	out_line(f, "daemon", s->daemon);
	/* One of protocol 1.0 tells neither. */
	if (s->database != 0) {
		out_number(f, "database", s->database);
		fprintf(f, "%-12s %u to %u\n", "guests", s->guest_oldest,
		    s->guest_newest);
	}
	out_line(f, "instance", s->instance);
	fprintf(f, "%-12s ", "engine");
	if (s->engine_up) {
		out_text(f, s->engine);
		fprintf(f, ", live-restore %s\n",
		    s->live_restore ? "on" : "off");
	} else {
		fprintf(f, "away: ");
		out_text(f, s->engine_text);
		fputc('\n', f);
	}
	if (s->unenforced[0] != '\0')
		out_line(f, "not limited", s->unenforced);
	fprintf(f, "%-12s %llu, %llu of them ready\n", "sandboxes",
	    (unsigned long long)s->sandboxes, (unsigned long long)s->ready);
	if (s->missing != 0)
		fprintf(f, "%-12s %llu, at the Engine\n", "missing",
		    (unsigned long long)s->missing);
	if (s->strays != 0)
		out_number(f, "strays", s->strays);
	out_number(f, "execs", s->execs);
	out_number(f, "clients", s->clients);
	fprintf(f, "%-12s %llu, %llu that go on, %llu of them subscriptions\n",
	    "requests", (unsigned long long)s->requests,
	    (unsigned long long)s->waiting,
	    (unsigned long long)s->subscriptions);
	out_number(f, "pipes", s->pipes);
	out_number(f, "events", s->events);
	if (s->damage[0] != '\0')
		out_line(f, "damaged", s->damage);
	if (s->commits != 0)
		out_number(f, "commits", s->commits);
	fputc('\n', f);
	t = table_new(heads, sizeof(heads) / sizeof(heads[0]));
	for (i = 0; i < n; i++) {
		table_add(t, 0, "%s", procs[i].name);
		table_add(t, 1, "%u", procs[i].pid);
		table_add(t, 2, "%s", procs[i].user);
		table_add(t, 3, "%s", text_span(now > procs[i].started ?
		    (now - procs[i].started) / 1000000000 : 0, buf,
		    sizeof(buf)));
		table_add(t, 4, "%s%s%s", procs[i].layers,
		    *procs[i].missing == '\0' ? "" : ", missing: ",
		    procs[i].missing);
	}
	table_print(t, f);
	table_free(t);
}
