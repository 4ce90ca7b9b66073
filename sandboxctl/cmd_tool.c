/*
 * cmd_tool.c: the tools of an agent, for adapters of any language.  Each
 * answer is one JSON object on a line, -j or not.
 *
 * Names and texts are strings, or {"base64":"..."} where they are no UTF-8.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "sandboxctl.h"

#define TOOL_READ	2000		/* lines */
#define TOOL_BYTES	(16 << 20)	/* of a page */
#define TOOL_FILE	(1 << 30)	/* of a whole file */

/* Where answers go: a buffer, while it is not known whether all is well. */
static FILE	*out;

struct bytes {
	char	*p;
	size_t	 len;
	size_t	 size;
	size_t	 max;
};

static int
bytes_add(struct bytes *b, const void *p, size_t len)
{
	char	*n;

	if (len > b->max - b->len)
		return (-1);
	if (b->size - b->len < len) {
		if ((n = realloc(b->p, 2 * (b->len + len))) == NULL)
			return (-1);
		b->p = n;
		b->size = 2 * (b->len + len);
	}
	if (len > 0)
		memcpy(b->p + b->len, p, len);
	b->len += len;
	return (0);
}

static int
bytes_out(void *arg, const void *p, size_t len)
{
	return (bytes_add(arg, p, len));
}

static void
put_base64(const void *p, size_t len)
{
	char	*s;

	if ((s = malloc(BASE64_LEN(len) + 1)) == NULL) {
		fprintf(stderr, "sandboxctl: out of memory (internal)\n");
		exit(code_exit(CODE_INTERNAL));
	}
	base64_encode(s, p, len);
	fprintf(out, "\"%.*s\"", (int)BASE64_LEN(len), s);
	free(s);
}

static void
put_text(const void *p, size_t len)
{
	json_t	*v = json_stringn(len == 0 ? "" : p, len);

	if (v != NULL)
		json_dumpf(v, out, JSON_ENCODE_ANY);
	else {
		fprintf(out, "{\"base64\":");
		put_base64(p, len);
		fprintf(out, "}");
	}
	json_decref(v);
}

static void
put_string(const char *s)
{
	put_text(s, strlen(s));
}

static const char *
yes(int is)
{
	return (is ? "true" : "false");
}

static void
tool_call(struct ctl *ctl, struct proto_call *c, uint32_t op, int path)
{
	out = stdout;
	memset(c, 0, sizeof(*c));
	c->sandbox = ctl->argv[0];
	c->op = op;
	c->path = path < ctl->argc ? ctl->argv[path] :
	    (char *)(uintptr_t)".";
	c->count = ctl->max;
}

static int
list_take(void *arg, void *rec)
{
	int			*n = arg;
	const struct file_rec	*r = rec;
	time_t			 t = r->mtime / 1000000000;
	struct tm		 tm;
	char			 when[32] = "";

	fprintf(out, "%s{\"path\":", (*n)++ > 0 ? "," : "");
	put_string(r->name);
	if (gmtime_r(&t, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(out, ",\"is_dir\":%s,\"size\":%llu,\"modified_at\":\"%s\"",
	    yes(S_ISDIR(r->mode)), (unsigned long long)r->size, when);
	if (*r->target != '\0') {
		fprintf(out, ",\"target\":");
		put_string(r->target);
	}
	fprintf(out, "}");
	return (0);
}

static int
grep_take(void *arg, void *rec)
{
	int			*n = arg;
	const struct grep_rec	*r = rec;

	fprintf(out, "%s{\"path\":", (*n)++ > 0 ? "," : "");
	put_string(r->name);
	if (r->line == 0)
		fprintf(out, ",\"count\":%llu}", (unsigned long long)r->count);
	else {
		fprintf(out, ",\"line\":%llu,\"text\":",
		    (unsigned long long)r->line);
		put_text(r->text.data, r->text.len);
		fprintf(out, "%s%s}", r->flags & GREP_R_CONTEXT ?
		    ",\"context\":true" : "", r->flags & GREP_R_CUT ?
		    ",\"cut\":true" : "");
	}
	return (0);
}

/* An array of records, then what is to be said of all of them. */
static int
tool_records(struct ctl *ctl, const struct proto_call *c,
    const struct msg_def *def, int (*take)(void *, void *), const char *name)
{
	struct proto_result	 res;
	char			*buf = NULL;
	size_t			 len = 0;
	int			 n = 0, ret;

	/* Nothing is shown of what fails half way. */
	if ((out = open_memstream(&buf, &len)) == NULL)
		return (ctl_errno(ctl, "memory"));
	fprintf(out, "{\"%s\":[", name);
	ret = sandbox_file_records(ctl->conn, c, def, take, &n, &res);
	if (ret == 0)
		fprintf(out, "],\"truncated\":%s,\"denied\":%s}\n",
		    yes(res.flags & CALL_R_MORE),
		    yes(res.flags & CALL_R_DENIED));
	if (fclose(out) == EOF)
		ret = ctl_errno(ctl, "memory");
	else if (ret == 0)
		fwrite(buf, 1, len, stdout);
	else
		ret = ctl_error(ctl);
	free(buf);
	return (ret);
}

int
cmd_tool_ls(struct ctl *ctl)
{
	struct proto_call	 c;

	tool_call(ctl, &c, CALL_GLOB, 1);
	c.pattern = (char *)(uintptr_t)"*";
	return (tool_records(ctl, &c, &file_rec_def, list_take, "files"));
}

int
cmd_tool_glob(struct ctl *ctl)
{
	struct proto_call	 c;

	tool_call(ctl, &c, CALL_GLOB, 2);
	c.pattern = ctl->argv[1];
	c.flags = ctl->call;
	return (tool_records(ctl, &c, &file_rec_def, list_take, "files"));
}

int
cmd_tool_grep(struct ctl *ctl)
{
	struct proto_call	 c;

	tool_call(ctl, &c, CALL_GREP, 2);
	c.pattern = ctl->argv[1];
	c.filter = (char *)(uintptr_t)ctl->glob;
	c.flags = ctl->call;
	c.offset = c.length = ctl->context;
	return (tool_records(ctl, &c, &grep_rec_def, grep_take, "matches"));
}

/* Lines of a file are numbered from 0 where one asks for some of them. */
static void
read_print(struct ctl *ctl, const struct proto_call *c,
    const struct proto_result *r, const struct bytes *b)
{
	json_t	*v = NULL;

	fprintf(out, "{\"path\":");
	put_string(c->path);
	if (!(r->flags & CALL_R_BINARY))
		v = json_stringn(b->len == 0 ? "" : b->p, b->len);
	fprintf(out, ",\"encoding\":\"%s\",\"content\":", v == NULL ? "base64" :
	    "utf-8");
	if (v == NULL)
		put_base64(b->p, b->len);
	else
		json_dumpf(v, out, JSON_ENCODE_ANY);
	json_decref(v);
	if (r->count > 0)
		fprintf(out, ",\"start_line\":%llu,\"end_line\":%llu",
		    (unsigned long long)c->offset + 1,
		    (unsigned long long)r->count);
	if (r->flags & CALL_R_TOTAL)
		fprintf(out, ",\"total_lines\":%llu",
		    (unsigned long long)r->count2);
	if (r->flags & CALL_R_MORE)
		fprintf(out, ",\"next_offset\":%llu", (unsigned long long)r->count);
	fprintf(out, ",\"truncated\":%s}\n", yes(r->flags & CALL_R_CUT));
}

int
cmd_tool_read(struct ctl *ctl)
{
	struct sandbox_file_io	 io = { NULL, bytes_out, NULL };
	struct bytes		 b = { .max = TOOL_BYTES + 64 };
	struct proto_result	 res;
	struct proto_call	 c;
	int			 ret;

	tool_call(ctl, &c, CALL_LINES, 1);
	c.flags = ctl->call;
	c.offset = ctl->from;
	c.count = ctl->max_set ? ctl->max : TOOL_READ;
	io.arg = &b;
	if ((ret = sandbox_file_call(ctl->conn, &c, &io, &res)) == 0)
		read_print(ctl, &c, &res, &b);
	free(b.p);
	return (ret == 0 ? 0 : ctl_error(ctl));
}

static ssize_t
file_give(void *arg, void *buf, size_t size)
{
	ssize_t	 n;

	do
		n = read(*(int *)arg, buf, size);
	while (n == -1 && errno == EINTR);
	return (n);
}

int
cmd_tool_write(struct ctl *ctl)
{
	int			 fd = STDIN_FILENO;
	struct sandbox_file_io	 io = { file_give, NULL, &fd };
	struct proto_result	 res;
	struct proto_call	 c;

	tool_call(ctl, &c, CALL_WRITE, 1);
	c.count = 0;
	c.flags = CALL_F_ATOMIC | CALL_F_PARENTS;
	if (sandbox_file_call(ctl->conn, &c, &io, &res) == -1)
		return (ctl_error(ctl));
	fprintf(out, "{\"path\":");
	put_string(c.path);
	fprintf(out, ",\"size\":%llu,\"created\":%s}\n",
	    (unsigned long long)res.count, yes(res.count2 != 0));
	return (0);
}

struct strings {
	const char	*s[2];
	size_t		 len[2];
	int		 i;
};

static ssize_t
strings_give(void *arg, void *buf, size_t size)
{
	struct strings	*t = arg;
	size_t		 n;

	while (t->i < 2 && t->len[t->i] == 0)
		t->i++;
	if (t->i == 2)
		return (0);
	n = t->len[t->i] < size ? t->len[t->i] : size;
	memcpy(buf, t->s[t->i], n);
	t->s[t->i] += n;
	t->len[t->i] -= n;
	return (n);
}

int
cmd_tool_edit(struct ctl *ctl)
{
	struct strings		 t = { { ctl->argv[2], ctl->argv[3] },
				    { 0, 0 }, 0 };
	struct sandbox_file_io	 io = { strings_give, NULL, &t };
	struct proto_result	 res;
	struct proto_call	 c;

	t.len[0] = strlen(t.s[0]);
	t.len[1] = strlen(t.s[1]);
	tool_call(ctl, &c, CALL_EDIT, 1);
	c.flags = ctl->call | (ctl->all ? CALL_F_EVERY : 0);
	c.length = t.len[0];
	if (sandbox_file_call(ctl->conn, &c, &io, &res) == -1)
		return (ctl_error(ctl));
	fprintf(out, "{\"path\":");
	put_string(c.path);
	fprintf(out, ",\"occurrences\":%llu}\n", (unsigned long long)res.count);
	return (0);
}

/* Of a batch: the begin of a path's answer; 0 if it is none to ask for. */
static int
batch_begin(struct ctl *ctl, struct proto_call *c, uint32_t op, int path)
{
	tool_call(ctl, c, op, path);
	c->count = 0;
	fprintf(out, "{\"path\":");
	put_string(c->path);
	/* The frameworks mean paths from the root on. */
	return (*c->path == '/');
}

/* One's error is its own, and the others go on: 0, or -1 if they cannot. */
static int
batch_end(struct ctl *ctl, enum code code)
{
	if (code == CODE_OK)
		fprintf(out, ",\"error\":null}\n");
	else
		fprintf(out, ",\"error\":\"%s\"}\n", code_name(code));
	if (code != CODE_OK && ctl->failed == 0)
		ctl->failed = code_exit(code);
	return (code != CODE_OK && ctl_lost(ctl) ? -1 : 0);
}

int
cmd_tool_download(struct ctl *ctl)
{
	struct sandbox_file_io	 io = { NULL, bytes_out, NULL };
	struct proto_call	 c;
	struct bytes		 b;
	enum code		 code;
	int			 i;

	for (i = 1; i < ctl->argc; i++) {
		memset(&b, 0, sizeof(b));
		b.max = TOOL_FILE;
		io.arg = &b;
		code = CODE_INVALID_PATH;
		if (batch_begin(ctl, &c, CALL_READ, i)) {
			c.length = CALL_ALL;
			code = CODE_OK;
			if (sandbox_file_call(ctl->conn, &c, &io, NULL) == -1)
				code = sandbox_error(ctl->conn)->code;
		}
		fprintf(out, ",\"content\":");
		if (code == CODE_OK)
			put_base64(b.p, b.len);
		else
			fprintf(out, "null");
		free(b.p);
		if (batch_end(ctl, code) == -1)
			return (ctl_error(ctl));
	}
	return (ctl->failed);
}

/* A local file to each path. */
int
cmd_tool_upload(struct ctl *ctl)
{
	struct sandbox_file_io	 io = { file_give, NULL, NULL };
	struct proto_call	 c;
	enum code		 code;
	int			 i, fd;

	if (ctl->argc % 2 == 0)
		return (ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "",
		    "each local file needs a path in the sandbox"));
	for (i = 1; i < ctl->argc; i += 2) {
		/* Before anything is said of it. */
		if ((fd = open(ctl->argv[i], O_RDONLY)) == -1)
			return (ctl_errno(ctl, ctl->argv[i]));
		io.arg = &fd;
		code = CODE_INVALID_PATH;
		if (batch_begin(ctl, &c, CALL_WRITE, i + 1)) {
			c.flags = CALL_F_ATOMIC | CALL_F_PARENTS;
			code = CODE_OK;
			if (sandbox_file_call(ctl->conn, &c, &io, NULL) == -1)
				code = sandbox_error(ctl->conn)->code;
		}
		close(fd);
		if (batch_end(ctl, code) == -1)
			return (ctl_error(ctl));
	}
	return (ctl->failed);
}
