/*
 * tool_json.c: the answers of the tools as JSON, each an object without the
 * end of its line, for the commands and for a session.
 *
 * Names and texts are strings, or {"base64":"..."} where they are no UTF-8.
 */

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sandboxctl.h"
#include "text.h"
#include "tool_json.h"

static const char *
yes(int is)
{
	return (is ? "true" : "false");
}

void
tool_json_base64(FILE *out, const void *p, size_t len)
{
	const uint8_t	*d = p;
	char		 s[BASE64_LEN(3 * 256)];
	size_t		 n;

	fputc('"', out);
	for (; len > 0; d += n, len -= n) {
		n = len < 3 * 256 ? len : 3 * 256;
		base64_encode(s, d, n);
		fwrite(s, 1, BASE64_LEN(n), out);
	}
	fputc('"', out);
}

/* Bytes of the character of UTF-8 that p begins with; 0 if it is none. */
static size_t
utf8_char(const unsigned char *p, size_t len)
{
	unsigned char	 u[5] = { 0 };
	size_t		 n;

	if (*p < 0x80)
		return (1);
	memcpy(u, p, len < 4 ? len : 4);
	if ((n = text_char(u)) != 0)
		return (n);
	/* What steers a terminal is text too. */
	if (u[0] == 0xc2 && u[1] >= 0x80 && u[1] < 0xa0)
		return (2);
	if (u[0] == 0xe2 && ((u[1] == 0x80 && u[2] >= 0xaa && u[2] <= 0xae) ||
	    (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9)))
		return (3);
	return (0);
}

static int
is_utf8(const unsigned char *p, size_t len)
{
	size_t	 n;

	for (; len > 0; p += n, len -= n)
		if ((n = utf8_char(p, len)) == 0)
			return (0);
	return (1);
}

/* A character that a string has not as it is: its bytes, or 0. */
static size_t
escape(char esc[8], const unsigned char *p, size_t len)
{
	static const char	 from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char		*e;

	if (*p == 0xc2 && len > 1 && p[1] < 0xa0) {
		snprintf(esc, 8, "\\u%04X", p[1]);
		return (2);
	}
	if (*p >= 0x20 && *p != 0x7f && *p != '"' && *p != '\\')
		return (0);
	if (*p != '\0' && (e = strchr(from, *p)) != NULL)
		snprintf(esc, 8, "\\%c", to[e - from]);
	else
		snprintf(esc, 8, "\\u%04X", *p);
	return (1);
}

static void
put_string(FILE *out, const unsigned char *p, size_t len)
{
	char	 esc[8];
	size_t	 from = 0, i = 0, n;

	fputc('"', out);
	while (i < len) {
		if ((n = escape(esc, p + i, len - i)) == 0) {
			i++;
			continue;
		}
		if (i > from)
			fwrite(p + from, 1, i - from, out);
		fputs(esc, out);
		from = i += n;
	}
	if (len > from)
		fwrite(p + from, 1, len - from, out);
	fputc('"', out);
}

/* Written without memory of its own: there may be none, and much to say. */
void
tool_json_text(FILE *out, const void *p, size_t len)
{
	if (is_utf8(p, len)) {
		put_string(out, p, len);
		return;
	}
	fprintf(out, "{\"base64\":");
	tool_json_base64(out, p, len);
	fprintf(out, "}");
}

static void
put_path(FILE *out, const char *path)
{
	fprintf(out, "{\"path\":");
	tool_json_text(out, path, strlen(path));
}

void
tool_json_file(FILE *out, const struct file_rec *r)
{
	time_t		 t = r->mtime / 1000000000;
	struct tm	 tm;
	char		 when[32] = "";

	put_path(out, r->name);
	if (gmtime_r(&t, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(out, ",\"is_dir\":%s,\"size\":%llu,\"modified_at\":\"%s\"",
	    yes(S_ISDIR(r->mode)), (unsigned long long)r->size, when);
	if (*r->target != '\0') {
		fprintf(out, ",\"target\":");
		tool_json_text(out, r->target, strlen(r->target));
	}
	fprintf(out, "}");
}

void
tool_json_match(FILE *out, const struct grep_rec *r)
{
	put_path(out, r->name);
	if (r->line == 0)
		fprintf(out, ",\"count\":%llu}", (unsigned long long)r->count);
	else {
		fprintf(out, ",\"line\":%llu,\"text\":",
		    (unsigned long long)r->line);
		tool_json_text(out, r->text.data, r->text.len);
		fprintf(out, "%s%s}", r->flags & GREP_R_CONTEXT ?
		    ",\"context\":true" : "", r->flags & GREP_R_CUT ?
		    ",\"cut\":true" : "");
	}
}

void
tool_json_bounds(FILE *out, const struct proto_result *r)
{
	fprintf(out, "\"truncated\":%s,\"denied\":%s",
	    yes(r->flags & CALL_R_MORE), yes(r->flags & CALL_R_DENIED));
}

void
tool_json_read(FILE *out, const char *path, const struct sandbox_tool_text *t)
{
	int	 text = !t->binary && is_utf8(t->data, t->len);

	put_path(out, path);
	fprintf(out, ",\"encoding\":\"%s\",\"content\":", text ? "utf-8" :
	    "base64");
	if (text)
		put_string(out, t->data, t->len);
	else
		tool_json_base64(out, t->data, t->len);
	if (t->start > 0)
		fprintf(out, ",\"start_line\":%llu,\"end_line\":%llu",
		    (unsigned long long)t->start, (unsigned long long)t->end);
	if (t->counted)
		fprintf(out, ",\"total_lines\":%llu",
		    (unsigned long long)t->total);
	if (t->more)
		fprintf(out, ",\"next_offset\":%llu",
		    (unsigned long long)t->end);
	fprintf(out, ",\"truncated\":%s}", yes(t->cut));
}

void
tool_json_written(FILE *out, const char *path, uint64_t size, int created)
{
	put_path(out, path);
	fprintf(out, ",\"size\":%llu,\"created\":%s}",
	    (unsigned long long)size, yes(created));
}

void
tool_json_count(FILE *out, const char *path, const char *what, uint64_t n)
{
	put_path(out, path);
	fprintf(out, ",\"%s\":%llu}", what, (unsigned long long)n);
}

/* Of a batch; with content that of a download. */
void
tool_json_done(FILE *out, const struct sandbox_tool_file *f, int content)
{
	put_path(out, f->path);
	if (content) {
		fprintf(out, ",\"content\":");
		if (f->code == CODE_OK)
			tool_json_base64(out, f->data, f->len);
		else
			fprintf(out, "null");
	}
	if (f->code == CODE_OK)
		fprintf(out, ",\"error\":null}");
	else
		fprintf(out, ",\"error\":\"%s\"}", code_name(f->code));
}

void
tool_json_output(FILE *out, const struct sandbox_tool_output *o)
{
	fprintf(out, "{\"output\":");
	tool_json_text(out, o->data, o->len);
	if (o->code == -1)
		fprintf(out, ",\"exit_code\":null");
	else
		fprintf(out, ",\"exit_code\":%d", o->code);
	fprintf(out, ",\"truncated\":%s,\"timed_out\":%s,\"size\":%llu,"
	    "\"exec\":\"%s\"", yes(o->truncated), yes(o->timed_out),
	    (unsigned long long)o->size, o->exec);
	if (o->file[0] != '\0')
		fprintf(out, ",\"file\":\"%s\",\"kept\":%llu", o->file,
		    (unsigned long long)o->kept);
	fprintf(out, "}");
}
