/*
 * The lines of a session: what is taken of them, what is told of the others,
 * and the table of requests in the manual.
 *
 * regress-srcs: stubs.c
 * regress-objs: ../sandboxctl/session_line.o ../sandboxctl/session_table.o
 * regress-objs: ../sandboxctl/input_json.o ../sandboxctl/json_lack.o
 * regress-objs: ../sandboxctl/base64.o
 */

#include <sys/types.h>

#include <atf-c.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

/* A line, and how it is refused; NULL: it is not. */
struct bad {
	const char	*text;
	const char	*id;		/* that can be answered; NULL: none */
	const char	*code;
	const char	*field;
	const char	*why;		/* is in the text */
};

static const struct bad	 bads[] = {
	/* No JSON, or not an object. */
	{ "{", NULL, "invalid_argument", "", "not a JSON object: " },
	{ "}", NULL, "invalid_argument", "", "not a JSON object: " },
	{ "x", NULL, "invalid_argument", "", "not a JSON object: " },
	{ "[]", NULL, "invalid_argument", "", "not a JSON object" },
	{ "7", NULL, "invalid_argument", "", "not a JSON object" },
	{ "{\"id\":1,\"ping\":{}}x", NULL, "invalid_argument", "", "not a" },
	{ "{\"id\":1,\"ping\":{}}{}", NULL, "invalid_argument", "", "not a" },
	{ "{\"id\":1,\"p\xffng\":{}}", NULL, "invalid_argument", "",
	    "not a JSON object: " },
	{ "{\"id\":\"\xed\xa0\x80\",\"ping\":{}}", NULL, "invalid_argument",
	    "", "not a JSON object: " },
	{ "{\"id\":1,\"id\":2,\"ping\":{}}", NULL, "invalid_argument", "",
	    "duplicate" },
	{ "{\"id\":1,\"ping\":{},\"ping\":{}}", NULL, "invalid_argument", "",
	    "duplicate" },
	{ "{\"id\":18446744073709551616,\"ping\":{}}", NULL,
	    "invalid_argument", "", "not a JSON object: " },
	{ "[[[[[[[[[]]]]]]]]]", NULL, "limit_exceeded", "",
	    "too deep: the limit is 8" },
	{ "{\"a\":{\"a\":{\"a\":{\"a\":[[[[[]]]]]}}}}", NULL,
	    "limit_exceeded", "", "too deep" },
	/* Its id. */
	{ "{}", NULL, "invalid_argument", "id", "invalid id: missing" },
	{ "{\"ping\":{}}", NULL, "invalid_argument", "id", "missing" },
	{ "{\"id\":null,\"ping\":{}}", NULL, "invalid_argument", "id",
	    "must be" },
	{ "{\"id\":-1,\"ping\":{}}", NULL, "invalid_argument", "id",
	    "must be" },
	{ "{\"id\":1.5,\"ping\":{}}", NULL, "invalid_argument", "id",
	    "must be" },
	{ "{\"id\":\"\",\"ping\":{}}", NULL, "invalid_argument", "id",
	    "must be" },
	{ "{\"id\":\"a\\u0000b\",\"ping\":{}}", NULL, "invalid_argument",
	    "id", "must be" },
	{ "{\"id\":1,\"cancel\":{\"request\":\"a\\u0000b\"}}", "1",
	    "invalid_argument", "request", "not an id" },
	{ "{\"id\":[1],\"ping\":{}}", NULL, "invalid_argument", "id",
	    "must be" },
	{ "{\"id\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	    "xxxxxxxxxx\",\"ping\":{}}", NULL, "invalid_argument", "id",
	    "1 to 64 bytes" },
	/* What does not go together. */
	{ "{\"id\":1,\"exec\":{\"sandbox\":\"a\",\"argv\":[\"x\"],"
	    "\"detach\":1,\"input\":1}}", "1", "invalid_argument", "detach",
	    "gets no input" },
	{ "{\"id\":1,\"exec\":{\"sandbox\":\"a\",\"argv\":[\"x\"],"
	    "\"detach\":1,\"flags\":2}}", "1", "invalid_argument", "detach",
	    "gets no input" },
	{ "{\"id\":1,\"tool_ls\":{}}", "1", "invalid_argument", "sandbox",
	    "missing" },
	{ "{\"id\":1,\"tool_ls\":{\"sandbox\":\"a\",\"op\":2}}", "1",
	    "invalid_argument", "", "unknown field: op" },
	/* What is asked. */
	{ "{\"id\":1}", "1", "invalid_argument", "", "no request" },
	{ "{\"id\":1,\"ping\":{},\"show\":{}}", "1", "invalid_argument", "",
	    "more than one request" },
	{ "{\"id\":1,\"Ping\":{}}", "1", "invalid_argument", "",
	    "unknown request: Ping" },
	{ "{\"id\":1,\"\":{}}", "1", "invalid_argument", "",
	    "unknown request: " },
	{ "{\"id\":1,\"hello\":{\"version\":1}}", "1", "invalid_argument",
	    "", "unknown request: hello" },
	{ "{\"id\":1,\"ping\":[]}", "1", "invalid_argument", "ping",
	    "invalid ping: not an object" },
	{ "{\"id\":1,\"ping\":null}", "1", "invalid_argument", "ping",
	    "not an object" },
	/* Its members. */
	{ "{\"id\":1,\"ping\":{\"x\":1}}", "1", "invalid_argument", "",
	    "invalid ping: unknown field: x" },
	{ "{\"id\":1,\"show\":{}}", "1", "invalid_argument", "id",
	    "invalid id: missing" },
	{ "{\"id\":1,\"show\":{\"id\":7}}", "1", "invalid_argument", "id",
	    "invalid id: not a string" },
	{ "{\"id\":1,\"show\":{\"id\":null}}", "1", "invalid_argument", "id",
	    "invalid id: not a string" },
	{ "{\"id\":1,\"show\":{\"id\":\"a\\u0000b\"}}", "1",
	    "invalid_argument", "id", "invalid id: contains a NUL" },
	{ "{\"id\":1,\"show\":{\"id\":\"a\",\"wait\":2}}", "1",
	    "limit_exceeded", "wait", "too large: the limit is 1" },
	{ "{\"id\":1,\"show\":{\"id\":\"a\",\"wait\":-1}}", "1",
	    "invalid_argument", "wait", "too small" },
	{ "{\"id\":1,\"show\":{\"id\":\"a\",\"wait\":\"1\"}}", "1",
	    "invalid_argument", "wait", "not a number" },
	{ "{\"id\":1,\"show\":{\"id\":\"a\",\"wait\":1.0}}", "1",
	    "invalid_argument", "wait", "not a number" },
	{ "{\"id\":1,\"create\":{\"pids\":4294967296}}", "1",
	    "limit_exceeded", "pids", "too large: the limit is 4294967295" },
	{ "{\"id\":1,\"create\":{\"labels\":[]}}", "1", "invalid_argument",
	    "labels", "not a map" },
	{ "{\"id\":1,\"create\":{\"labels\":{\"a\":1}}}", "1",
	    "invalid_argument", "labels", "not a string" },
	{ "{\"id\":1,\"exec\":{\"sandbox\":\"a\",\"argv\":\"true\"}}", "1",
	    "invalid_argument", "argv", "not an array" },
	{ "{\"id\":1,\"exec\":{\"sandbox\":\"a\",\"argv\":[\"a\",[]]}}", "1",
	    "invalid_argument", "argv", "not a string" },
	{ "{\"id\":1,\"exec\":{\"sandbox\":\"a\",\"argv\":[{\"base64\":"
	    "\"A\"}]}}", "1", "invalid_argument", "argv", "not a string" },
	{ "{\"id\":1,\"exec\":{\"sandbox\":\"a\",\"argv\":[{\"base64\":"
	    "\"AB==\"}]}}", "1", "invalid_argument", "argv", "not a" },
	{ "{\"id\":1,\"exec\":{\"sandbox\":\"a\",\"argv\":[{\"base64\":"
	    "\"AA==\"}]}}", "1", "invalid_argument", "argv",
	    "contains a NUL" },
	{ "{\"id\":1,\"exec\":{\"sandbox\":\"a\",\"argv\":[{\"base46\":"
	    "\"QQ==\"}]}}", "1", "invalid_argument", "argv", "not a" },
	{ "{\"id\":1,\"exec\":{\"sandbox\":\"a\",\"argv\":[],\"input\":2}}",
	    "1", "limit_exceeded", "input", "the limit is 1" },
	{ "{\"id\":1,\"exec\":{\"sandbox\":\"a\",\"argv\":[],\"window\":-1}}",
	    "1", "invalid_argument", "window", "too small" },
	{ "{\"id\":1,\"call\":{\"sandbox\":\"a\",\"op\":\"nosuch\"}}", "1",
	    "invalid_argument", "op", "not a number" },
	/* Those about others. */
	{ "{\"id\":1,\"cancel\":{}}", "1", "invalid_argument", "request",
	    "invalid request: missing" },
	{ "{\"id\":1,\"cancel\":{\"request\":-7}}", "1", "invalid_argument",
	    "request", "not an id" },
	{ "{\"id\":1,\"cancel\":{\"request\":7,\"x\":1}}", "1",
	    "invalid_argument", "", "unknown field: x" },
	{ "{\"id\":1,\"input\":{\"request\":7,\"data\":\"*\"}}", "1",
	    "invalid_argument", "data", "not bytes" },
	{ "{\"id\":1,\"input\":{\"request\":7,\"data\":[1]}}", "1",
	    "invalid_argument", "data", "not bytes" },
	{ "{\"id\":1,\"credit\":{\"request\":7}}", "1", "invalid_argument",
	    "n", "missing" },
};

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	const struct bad	*b;
	struct spec_error	 e;
	struct line		 l;
	size_t			 i;

	for (i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
		b = &bads[i];
		ATF_REQUIRE_EQ_MSG(-1, line_parse(&l, b->text,
		    strlen(b->text), &e), "%s", b->text);
		ATF_CHECK_STREQ_MSG(b->id == NULL ? "null" : b->id,
		    l.id == NULL ? "null" : l.id, "%s", b->text);
		ATF_CHECK_STREQ_MSG(b->code, code_name(e.code), "%s: %s",
		    b->text, e.text);
		ATF_CHECK_STREQ_MSG(b->field, e.field, "%s: %s", b->text,
		    e.text);
		ATF_CHECK_MSG(strstr(e.text, b->why) != NULL, "%s: %s",
		    b->text, e.text);
		line_clear(&l);
	}
}

/* One that is good; its message. */
static void *
good(struct line *l, const char *text)
{
	struct spec_error	 e;

	ATF_REQUIRE_EQ_MSG(0, line_parse(l, text, strlen(text), &e), "%s: %s",
	    text, e.text);
	return (l->msg);
}

ATF_TC_WITHOUT_HEAD(taken);
ATF_TC_BODY(taken, tc)
{
	struct proto_create	*c;
	struct proto_exec	*x;
	struct proto_call	*m;
	struct line		 l;

	x = good(&l, "{\"exec\":{\"env\":{\"A\":\"1\",\"base64\":\"x\"},"
	    "\"window\":5,\"argv\":[\"a\",{\"base64\":\"/w==\"},\"\"],"
	    "\"sandbox\":\"b\",\"timeout\":7,\"input\":true},\"id\":\"q\\n\"}");
	ATF_CHECK_STREQ("\"q\\n\"", l.id);
	ATF_CHECK_STREQ("exec", l.def->name);
	ATF_CHECK_EQ(3, x->argv.n);
	ATF_CHECK_STREQ("\xff", x->argv.v[1]);
	ATF_CHECK_STREQ("", x->argv.v[2]);
	ATF_CHECK_STREQ("x", kvv_get(&x->env, "base64"));
	ATF_CHECK_STREQ("", x->dir);
	ATF_CHECK_EQ(7, x->timeout);
	ATF_CHECK_EQ(5, l.extra.window);
	ATF_CHECK_EQ(1, l.extra.input);
	ATF_CHECK_EQ(0, l.extra.detach);
	line_clear(&l);
	c = good(&l, "{\"id\":9223372036854775807,\"create\":{\"lifetime\":-1,"
	    "\"readonly\":false,\"wait\":true}}");
	ATF_CHECK_STREQ("9223372036854775807", l.id);
	ATF_CHECK_EQ(SBX_TIME_NONE, c->lifetime);
	ATF_CHECK_EQ(1, c->wait);
	line_clear(&l);
	m = good(&l, "{\"id\":1,\"call\":{\"sandbox\":\"a\",\"op\":\"read\","
	    "\"path\":{\"base64\":\"L/8=\"},\"length\":-1}}");
	ATF_CHECK_EQ(CALL_READ, m->op);
	ATF_CHECK_STREQ("/\xff", m->path);
	ATF_CHECK_EQ(CALL_ALL, m->length);
	line_clear(&l);
	ATF_CHECK(good(&l, "{\"id\":0,\"ping\":{}}") == NULL);
	line_clear(&l);
	(void)good(&l, "{\"id\":1,\"input\":{\"request\":\"q\","
	    "\"data\":\"AAH/\",\"end\":1}}");
	ATF_CHECK_STREQ("\"q\"", l.of);
	ATF_REQUIRE_EQ(3, l.extra.data.len);
	ATF_CHECK(memcmp(l.extra.data.data, "\0\1\377", 3) == 0);
	ATF_CHECK_EQ(1, l.extra.end);
	line_clear(&l);
}

/* Bytes there and back, of each length that has a form of its own. */
ATF_TC_WITHOUT_HEAD(base64);
ATF_TC_BODY(base64, tc)
{
	static const char *const	 bad[] = {
		"A", "AA", "AAA", "A===", "====", "AA=A", "AAAA=", "A-A=",
		"AA==AAAA", "AB==", "AAB=", " AAA", "AAA\n"
	};
	uint8_t	 in[256 + 2], back[3 * 100];
	char	 text[4 * 100];
	size_t	 i, len;

	for (i = 0; i < sizeof(in); i++)
		in[i] = i * 7;
	for (len = 0; len < sizeof(in); len++) {
		base64_encode(text, in, len);
		ATF_CHECK_EQ((ssize_t)len, base64_decode(back, text,
		    BASE64_LEN(len)));
		ATF_CHECK(memcmp(in, back, len) == 0);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ATF_CHECK_EQ_MSG(-1, base64_decode(back, bad[i],
		    strlen(bad[i])), "%s", bad[i]);
}

/* What the manual must have of one request. */
static void
row(const struct session_def *d, char *buf, size_t len)
{
	const struct msg_def	*def = proto_def(d->type);
	char			 name[64];
	size_t			 i, n;

	strlcpy(name, def == NULL ? "-" : def->name, sizeof(name));
	for (i = 0; name[i] != '\0'; i++)
		name[i] = toupper((unsigned char)name[i]);
	n = d->extra == NULL ? 0 : d->extra->nfields;
	snprintf(buf, len, "\n.It %s Ta %s Ta %s Ta%s%s", d->name, name,
	    d->command == NULL ? "-" : d->command,
	    d->flags & S_OF ? " request" : "",
	    n == 0 && !(d->flags & S_OF) ? " -" : "");
	for (i = 0; i < n; i++) {
		strlcat(buf, " ", len);
		strlcat(buf, d->extra->fields[i].name, len);
	}
	strlcat(buf, "\n", len);
}

ATF_TC_WITHOUT_HEAD(manual);
ATF_TC_BODY(manual, tc)
{
	char		 path[4096], want[512], *page, *p;
	const char	*top;
	FILE		*f;
	size_t		 i, n;

	if ((top = getenv("SBX_TOP")) == NULL)
		top = "../..";
	snprintf(path, sizeof(path), "%s/man/sandboxd-session.7", top);
	ATF_REQUIRE_MSG((f = fopen(path, "r")) != NULL, "%s", path);
	ATF_REQUIRE((page = calloc(1, 1 << 20)) != NULL);
	ATF_REQUIRE(fread(page, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	for (i = 0; i < session_ndefs; i++) {
		row(&session_defs[i], want, sizeof(want));
		ATF_CHECK_MSG(strstr(page, want) != NULL, "not there: %s",
		    want);
		ATF_CHECK(session_find(session_defs[i].name) ==
		    &session_defs[i]);
		if (i > 0)
			ATF_CHECK(strcmp(session_defs[i - 1].name,
			    session_defs[i].name) < 0);
	}
	/* And none that there is not. */
	for (n = 0, p = page; (p = strstr(p, " Ta ")) != NULL; p++)
		n++;
	ATF_CHECK_EQ(3 * (session_ndefs + 1), n);
	/* The bounds are told as they are. */
	snprintf(want, sizeof(want), "at most %d bytes without its newline, "
	    "and brackets at most %d\n", SESSION_LINE_MAX, SESSION_DEPTH_MAX);
	ATF_CHECK_MSG(strstr(page, want) != NULL, "%s", want);
	free(page);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, taken);
	ATF_TP_ADD_TC(tp, base64);
	ATF_TP_ADD_TC(tp, manual);
	return (atf_no_error());
}
