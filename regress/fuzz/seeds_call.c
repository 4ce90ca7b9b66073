/*
 * The part of h_seeds that is about calls: what runner and guest say of them,
 * records of what they give, and the patterns of those that search.
 */

#include <err.h>
#include <string.h>

#include "calls.h"
#include "codes.h"
#include "filerec.h"
#include "gproto.h"
#include "seeds.h"

#define CALL_K(n)	(GP_CALL_BIT | (n))

/*
 * The i-th word of a runner to the guest about calls; 0: none, but a step of
 * what a worker says meanwhile.  The last byte of such a step is its length.
 */
static ssize_t
call_to_guest(uint8_t *buf, size_t size, unsigned int i)
{
	static const struct gp_welcome	 welcome = { GP_VERSION };
	static const struct gp_call	 reads = {
		.op = CALL_READ, .length = CALL_ALL, .path = "/a", .path2 = "",
		.pattern = "", .filter = ""
	};
	static const struct gp_call	 writes = {
		.op = CALL_WRITE, .flags = CALL_F_STREAM, .path = "/b",
		.path2 = "", .pattern = "", .filter = ""
	};
	static const struct gp_input	 input = { 0, (const uint8_t *)"in",
	    2 };
	static const struct gp_input_end input_end = { 2 };
	static const struct gp_ack	 ack = { GP_STDOUT, 258 };
	static const struct gp_cancel	 cancel = { 0 };
	static const struct gp_stop	 stop = { 1000 };

	switch (i) {
	case 0:
		return (gp_encode_welcome(buf, size, &welcome));
	case 1:
		return (gp_encode_call(buf, size, CALL_K(1), &reads));
	case 2:
		return (gp_encode_call(buf, size, CALL_K(2), &writes));
	case 3:
		step(6, "\0\0\1", 3);	/* output */
		return (0);
	case 4:
		return (gp_encode_ack(buf, size, CALL_K(1), &ack));
	case 5:
		return (gp_encode_input(buf, size, CALL_K(2), &input));
	case 6:
		return (gp_encode_input_end(buf, size, CALL_K(2),
		    &input_end));
	case 7:
		step(6, "\0\1\0", 3);	/* an end */
		return (0);
	case 8:
		return (gp_encode_cancel(buf, size, CALL_K(2), &cancel));
	case 9:
		return (gp_encode_call(buf, size, CALL_K(3), &reads));
	case 10:
		step(6, "\0\3", 2);	/* the worker dies */
		return (0);
	default:
		return (gp_encode_stop(buf, size, &stop));
	}
}

static void
life_of_calls(void)
{
	uint8_t		 buf[GP_HDRLEN + GP_MAX_CALL], all[SEED_MAX];
	size_t		 nall = 0;
	unsigned int	 i;
	ssize_t		 n;

	for (i = 0; i < 12; i++) {
		if ((n = call_to_guest(BUF, i)) != 0)
			frame(buf, n, 0, 100 + i);
		memcpy(all + nall, s.data, s.len);
		nall += s.len;
		s.len = 0;
		add(all, nall);
		seed("f_guest", "calls", i);
	}
}

/* The i-th word of a guest to the runner about calls, as above. */
static ssize_t
call_to_runner(uint8_t *buf, size_t size, unsigned int i)
{
	static const struct gp_states_end end = { 0 };
	static const struct gp_output	 out = { GP_STDOUT, 0,
	    (const uint8_t *)"out", 3 };
	static const struct gp_input_ack ack = { 0, 2 };
	static const struct gp_call_end	 ended = { .out = 3, .text = "" };
	static const struct gp_call_end	 failed = { .code = CODE_NO_SPACE,
	    .text = "full\033" };
	struct gp_hello			 hello;

	switch (i) {
	case 0:
		memset(&hello, 0, sizeof(hello));
		hello.version = GP_VERSION;
		hello.flags = GP_CAN_CALL;
		hello.boot = hello.pid = 1;
		hello.release = "1";
		return (gp_encode_hello(buf, size, &hello));
	case 1:
		return (gp_encode_states_end(buf, size, &end));
	case 2:
		step(12, "\1\1", 2);	/* the store orders: read */
		return (0);
	case 3:
		step(12, "\1\2\1", 3);	/* write, with a stream */
		step(11, "in", 2);
		step(13, "\0\2\2", 3);	/* that was all of it */
		return (0);
	case 4:
		return (gp_encode_output(buf, size, CALL_K(1), &out));
	case 5:
		return (gp_encode_input_ack(buf, size, CALL_K(2), &ack));
	case 6:
		return (gp_encode_call_end(buf, size, CALL_K(1), &ended));
	case 7:
		return (gp_encode_call_end(buf, size, CALL_K(2), &failed));
	case 8:
		step(12, "\1\2\0\3", 4);	/* write, with data */
		step(13, "\0\0", 2);	/* given up */
		return (0);
	case 9:
		return (gp_encode_call_end(buf, size, CALL_K(3), &failed));
	default:
		return (gp_encode_call_end(buf, size, CALL_K(3), &failed));
	}
}

static void
calls_to_runner(void)
{
	uint8_t		 buf[SEED_MAX], all[SEED_MAX];
	size_t		 nall = 0;
	unsigned int	 i;
	ssize_t		 n;

	for (i = 0; i < 11; i++) {
		if ((n = call_to_runner(BUF, i)) != 0)
			frame(buf, n, 1, 100 + i);
		memcpy(all + nall, s.data, s.len);
		nall += s.len;
		s.len = 0;
		add(all, nall);
		seed("f_runner", "calls", i);
	}
}

/* Records, each behind its length, and some beside each other. */
static void
file_records(void)
{
	static const struct msg_def	*defs[] = { &file_rec_def,
	    &grep_rec_def };
	static uint64_t	 rec[64];
	msgpack_sbuffer	 sb;
	unsigned int	 i, n, m;

	for (i = 0; i < 4; i++) {
		fill(rec, defs[i & 1]);
		msgpack_sbuffer_init(&sb);
		if (defs[i & 1]->size > sizeof(rec) ||
		    msg_encode_array(&sb, defs[i & 1], rec) == -1)
			errx(1, "%s: not encoded", defs[i & 1]->name);
		msg_clear(rec, defs[i & 1]);
		for (n = 1; n < 4; n++) {
			/* See f_filerec.c; the last are of the other kind. */
			add8((i & 1) ^ (i >> 1));
			add8(n * 7);
			for (m = 0; m < n; m++) {
				add8(sb.size & 0xff);
				add8(sb.size >> 8);
				add8(0);
				add8(0);
				add(sb.data, sb.size);
			}
			seed("f_filerec", defs[i & 1]->name, i * 4 + n);
		}
		msgpack_sbuffer_destroy(&sb);
		/* The longest that there may be, and beyond: zeros follow. */
		add8((i & 1) | 4);
		add8(255);
		add8(i >> 1);
		add8(REC_MAX >> 8);
		add("\0\0\0", 3);
		seed("f_filerec", "long", i);
	}
}

/* Changed files; see f_patch.c. */
static void
changes(void)
{
	static const struct {
		const char	*kind;
		const char	*name;
		uint32_t	 mode;
		uint32_t	 old_mode;
		uint32_t	 code;
		const char	*data;
	} v[] = {
		{ "removed", "d/f", 0, 0100644, 0, "" },
		{ "old", "", 0, 0, 0, "a\nb\n" },
		{ "end", "", 0, 0, 0, "" },
		{ "added", "odd \"\n\377", 0100755, 0, 0, "" },
		{ "new", "", 0, 0, 0, "a\nb" },
		{ "end", "", 0, 0, 0, "" },
		{ "changed", "f", 0100644, 0100755, 0, "" },
		{ "old", "", 0, 0, 0, "a\nb\n\n" },
		{ "new", "", 0, 0, 0, "a\nc\n\n" },
		{ "end", "", 0, 0, 0, "" },
		{ "changed", "l", 0120777, 0120777, 0, "" },
		{ "old", "", 0, 0, 0, "d" },
		{ "new", "", 0, 0, 0, "../e" },
		{ "end", "", 0, 0, 0, "" },
		{ "added", "../.git/x", 0100644, 0, 0, "" },
		{ "end", "", 0, 0, 0, "" },
		{ "added", "big", 0100644, 0, CODE_TOO_LARGE, "" },
	};
	struct change_rec	 r;
	msgpack_sbuffer		 sb;
	unsigned int		 i, j;

	for (j = 0; j < 3; j++) {
		add8(0);
		add8(j * 50);
		for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
			memset(&r, 0, sizeof(r));
			snprintf(r.kind, sizeof(r.kind), "%s", v[i].kind);
			r.name = (char *)(uintptr_t)v[i].name;
			r.mode = v[i].mode;
			r.old_mode = v[i].old_mode;
			r.code = v[i].code;
			r.why = (char *)(uintptr_t)"";
			r.data.data = (uint8_t *)(uintptr_t)v[i].data;
			r.data.len = strlen(v[i].data);
			msgpack_sbuffer_init(&sb);
			if (msg_encode_array(&sb, &change_rec_def, &r) == -1)
				errx(1, "change_rec: not encoded");
			add8(sb.size & 0xff);
			add8(sb.size >> 8);
			add("\0\0", 2);
			add(sb.data, sb.size);
			msgpack_sbuffer_destroy(&sb);
		}
		seed("f_patch", "changes", j);
	}
	add("\1\200a\nb\nc\nd\ne\na\nb\nx\nc\nd\ne", 24);
	seed("f_patch", "texts", 0);
}

/* Flags, a pattern and a path that it matches; see f_glob.c. */
static void
globs(void)
{
	static const struct {
		uint8_t		 flags;
		const char	*pattern;
		const char	*path;
	} v[] = {
		{ 0, "*.c", "a.c" },
		{ 0, "**/*.c", "a/b/c.c" },
		{ 0, "a/**/b", "a/x/y/b" },
		{ 0, "a/**", "a/b/c" },
		{ 0, "[a-c!]?[!x].[[:alpha:]]", "bzy.q" },
		{ 0, "{a,b{c,d},}/\\*", "bd/*" },
		{ 1, "*", ".hidden" },
		{ 2, "*.py", "deep/below/x.py" },
		{ 3, "{*.h,[!.]*}", "a/b.h" },
	};
	unsigned int	 i;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		add8(v[i].flags);
		add(v[i].pattern, strlen(v[i].pattern) + 1);
		add(v[i].path, strlen(v[i].path));
		seed("f_glob", "match", i);
	}
}

/* Lines around, a string and a file that has it; see f_grep.c. */
static void
greps(void)
{
	static const struct {
		uint8_t		 around;
		const char	*string;
		const char	*file;
	} v[] = {
		{ 0, "b", "a\nb\nc\n" },
		{ 1, "end", "no line ends this end" },
		{ 2, "aab", "aaab\n\naab\n\n\n" },
		{ 3, "x", "x\nx\ny\ny\ny\ny\ny\ny\ny\nx\n" },
		{ 3, "abcdefgh", "0123456789012345678901234567890123456789"
		    "0123456789012345abcdefgh\nabcdefgh" },
		{ 1, "\r", "a\r\nb\r\n" },
	};
	unsigned int	 i;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		add8(v[i].around);
		add8(3 - v[i].around);
		add(v[i].string, strlen(v[i].string) + 1);
		add(v[i].file, strlen(v[i].file));
		seed("f_grep", "lines", i);
	}
	/* One that is no text behind its begin. */
	add8(1);
	add8(1);
	add("b\0a\nb\n\0\nb", 10);
	seed("f_grep", "nul", 0);
}

void
seeds_call(void)
{
	life_of_calls();
	calls_to_runner();
	file_records();
	changes();
	globs();
	greps();
}
