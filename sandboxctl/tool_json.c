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

#include <jansson.h>

#include "sandboxctl.h"
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

void
tool_json_text(FILE *out, const void *p, size_t len)
{
	json_t	*v = json_stringn(len == 0 ? "" : p, len);

	if (v != NULL)
		json_dumpf(v, out, JSON_ENCODE_ANY);
	else {
		fprintf(out, "{\"base64\":");
		tool_json_base64(out, p, len);
		fprintf(out, "}");
	}
	json_decref(v);
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
	json_t	*v = NULL;

	put_path(out, path);
	if (!t->binary)
		v = json_stringn(t->len == 0 ? "" : (const char *)t->data,
		    t->len);
	fprintf(out, ",\"encoding\":\"%s\",\"content\":", v == NULL ? "base64" :
	    "utf-8");
	if (v == NULL)
		tool_json_base64(out, t->data, t->len);
	else
		json_dumpf(v, out, JSON_ENCODE_ANY);
	json_decref(v);
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
