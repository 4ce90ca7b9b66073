/*
 * Bad requests, a table: what a client sends, and the error that it gets.
 * Each is answered by the real frontend, which lets none of them through to
 * the store, and goes on with the client afterwards.
 *
 * regress-srcs: harness.c
 */

#include <sys/types.h>

#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "version.h"

static struct fe	 fe;
static struct cl	 cl;
static uint32_t		 req;

static void
begin(void)
{
	fe_start(&fe);
	cl_greet(&fe, &cl, 1);
	req = 1;
}

/* That the store's next frame is a ping shows that nothing else came. */
static void
finish(void)
{
	cl_ping(&fe, &cl, ++req);
	cl_close(&cl);
	ATF_CHECK_EQ(0, fe_stop(&fe));
}

static void
refused(const char *row, uint32_t type, const void *data, size_t len,
    const char *code, const char *field, const char *text)
{
	struct proto_error	 e;

	ATF_REQUIRE(imsg_compose(&cl.ibuf, type, ++req, 0, -1, data,
	    len) == 1);
	ATF_REQUIRE(imsgbuf_flush(&cl.ibuf) == 0);
	(void)cl_expect(&cl, PROTO_ERROR, req, &e);
	ATF_CHECK_MSG(strcmp(e.code, code) == 0 &&
	    strcmp(e.field, field) == 0 && strstr(e.text, text) != NULL,
	    "%s: %s, field \"%s\": %s", row, e.code, e.field, e.text);
}

#define INV	"invalid_argument"
#define LIM	"limit_exceeded"

static const struct {
	const char	*row;
	uint32_t	 type;
	const char	*bytes;
	size_t		 len;
	const char	*code;
	const char	*field;
	const char	*text;
} rows[] = {
#define R(row, type, s, code, field, text)				\
	{ row, PROTO_##type, s, sizeof(s) - 1, code, field, text }
	/* (b30) A field that is none, and one in another's case. */
	R("unknown", CREATE, "\x81\xaa" "privileged\x01", INV, "",
	    "invalid create: unknown field: privileged"),
	R("case", CREATE, "\x81\xa6" "Memory\x01", INV, "",
	    "unknown field: Memory"),
	R("number for a name", CREATE, "\x81\x01\x01", INV, "",
	    "unknown field"),
	R("unknown after known", CREATE, "\x82\xa4" "wait\x01\xa1x\x01", INV,
	    "", "unknown field: x"),
	R("field of no field", PING, "\x81\xa1x\x01", INV, "",
	    "unknown field: x"),
	/* (b31) Other types than the field's. */
	R("text for number", CREATE, "\x81\xa6memory\xa1" "1", INV, "memory",
	    "not a number"),
	R("array for number", CREATE, "\x81\xa6memory\x91\x01", INV, "memory",
	    "not a number"),
	R("map for number", CREATE, "\x81\xa6memory\x80", INV, "memory",
	    "not a number"),
	R("negative", CREATE, "\x81\xa6memory\xff", INV, "memory",
	    "too small"),
	R("number for text", CREATE, "\x81\xa2id\x01", INV, "id",
	    "not a string"),
	R("array for text", CREATE, "\x81\xa2id\x91\xa1" "a", INV, "id",
	    "not a string"),
	R("array for map", CREATE, "\x81\xa6labels\x91\xa1" "a", INV,
	    "labels", "not a map"),
	R("number for value", CREATE, "\x81\xa6labels\x81\xa1" "a\x01", INV,
	    "labels", "not a string"),
	R("number for key", CREATE, "\x81\xa6labels\x81\x01\xa1" "a", INV,
	    "labels", "not a string"),
	R("text for array", EXEC, "\x82\xa7sandbox\xa1" "a\xa4" "argv\xa1" "b",
	    INV, "argv", "not an array"),
	R("number in array", EXEC, "\x82\xa7sandbox\xa1" "a\xa4" "argv\x91\x01",
	    INV, "argv", "not a string"),
	R("no map", CREATE, "\x91\x01", INV, "", "not a map"),
	R("nil for number", CREATE, "\x81\xa6memory\xc0", INV, "memory",
	    "not a number"),
	R("true for number", CREATE, "\x81\xa4wait\xc3", INV, "wait",
	    "not a number"),
	R("float for number", CREATE, "\x81\xa6memory\xca\x4f\0\0\0", INV,
	    "memory", "not a number"),
	R("double for number", CREATE, "\x81\xa6memory\xcb\x41\xe0\0\0\0\0"
	    "\0\0", INV, "memory", "not a number"),
	R("extension for number", CREATE, "\x81\xa6memory\xd4\x01\x01", INV,
	    "memory", "not a number"),
	R("nil for text", CREATE, "\x81\xa2id\xc0", INV, "id",
	    "not a string"),
	R("extension for text", CREATE, "\x81\xa2id\xc7\x02\x01" "ab", INV,
	    "id", "not a string"),
	R("nil for map", CREATE, "\x81\xa6labels\xc0", INV, "labels",
	    "not a map"),
	R("false for value", CREATE, "\x81\xa6labels\x81\xa1" "a\xc2", INV,
	    "labels", "not a string"),
	R("nil in array", EXEC, "\x82\xa7sandbox\xa1" "a\xa4" "argv\x91\xc0",
	    INV, "argv", "not a string"),
	R("nil for all", CREATE, "\xc0", INV, "", "not a map"),
	/* (b32) Twice. */
	R("field twice", CREATE, "\x82\xa6memory\xce\x10\0\0\0\xa6memory"
	    "\xce\x20\0\0\0", INV, "memory", "stands twice"),
	R("label twice", CREATE, "\x81\xa6labels\x82\xa1" "a\xa1" "1\xa1" "a"
	    "\xa1" "2", INV, "labels", "a key stands twice"),
	R("variable twice", CREATE, "\x81\xa3" "env\x82\xa1" "A\xa1" "1\xa1"
	    "A\xa1" "1", INV, "env", "a key stands twice"),
	/* (b33) */
	R("trailing", CREATE, "\x80\x80", INV, "", "malformed"),
	/* (b37) No msgpack, or not all of one. */
	R("never used", CREATE, "\xc1", INV, "", "malformed"),
	R("half a key", CREATE, "\x81\xa6mem", INV, "", "malformed"),
	R("no value", CREATE, "\x81\xa6memory", INV, "", "malformed"),
	/* (b34) Below that: t_msg and the fuzzer. */
	R("deep", CREATE, "\x81\xa6labels\x91\x91\x91\x91\x91\x91\x91\x01",
	    INV, "", "malformed"),
	/* (b35) More announced than there is. */
	R("array of 2^32-1", CREATE, "\xdd\xff\xff\xff\xff", INV, "",
	    "malformed"),
	R("map of 2^32-1", CREATE, "\xdf\xff\xff\xff\xff", INV, "",
	    "malformed"),
	R("map of 2^24", CREATE, "\x81\xa6labels\xdf\x01\0\0\0", INV, "",
	    "malformed"),
	/* (b36) */
	R("text of 2^32-1", CREATE, "\x81\xa2id\xdb\xff\xff\xff\xff" "a", INV,
	    "", "malformed"),
	R("text past the end", CREATE, "\x81\xa2id\xd9\x10" "abc", INV, "",
	    "malformed"),
	R("bytes of 2^32-1", CREATE, "\x81\xa2id\xc6\xff\xff\xff\xff", INV,
	    "", "malformed"),
	/* A NUL, at each place where there are strings. */
	R("NUL in id", CREATE, "\x81\xa2id\xa3" "a\0b", INV, "id",
	    "contains a NUL"),
	R("NUL alone", CREATE, "\x81\xa2id\xa1\0", INV, "id",
	    "contains a NUL"),
	R("NUL in image", CREATE, "\x81\xa5image\xa3" "a\0b", INV, "image",
	    "contains a NUL"),
	R("NUL in label", CREATE, "\x81\xa6labels\x81\xa3" "a\0b\xa1" "1",
	    INV, "labels", "contains a NUL"),
	R("(b43) NUL in variable", CREATE, "\x81\xa3" "env\x81\xa1" "A\xa3" "a\0b",
	    INV, "env", "contains a NUL"),
	R("NUL in folder", CREATE, "\x81\xa7workdir\xa3/\0b", INV, "workdir",
	    "contains a NUL"),
	R("(b39) NUL in command", EXEC, "\x82\xa7sandbox\xa1" "a\xa4"
	    "argv\x92\xa2ls\xa3" "a\0b", INV, "argv", "contains a NUL"),
	R("NUL in name", SHOW, "\x81\xa2id\xa3" "a\0b", INV, "id",
	    "contains a NUL"),
	/* Odd characters. */
	R("key", CREATE, "\x81\xa3key\xa1\n", INV, "key", "invalid key"),
	R("key no UTF-8", CREATE, "\x81\xa3key\xa1\xff", INV, "key",
	    "invalid key"),
	/* What has to be there. */
	R("no name", SHOW, "\x80", INV, "id", "missing"),
	/* (b18) */
	R("empty name", SHOW, "\x81\xa2id\xa0", INV, "id", "invalid id"),
	R("no sandbox", EXEC, "\x81\xa4" "argv\x91\xa1" "a", INV, "sandbox",
	    "missing"),
	R("no command", EXEC, "\x81\xa7sandbox\xa1" "a", INV, "argv",
	    "missing"),
	R("empty command", EXEC, "\x82\xa7sandbox\xa1" "a\xa4" "argv\x90", INV,
	    "argv", "no command"),
	R("no exec", WAIT, "\x80", INV, "exec", "missing"),
	R("no image", IMAGE_IMPORT, "\x80", INV, "name", "missing"),
	/* Ranges. */
	R("wait 2", CREATE, "\x81\xa4wait\x02", LIM, "wait",
	    "too large: the limit is 1"),
	R("readonly 2", CREATE, "\x81\xa8readonly\x02", LIM, "readonly",
	    "too large: the limit is 1"),
	R("hold 2", CREATE, "\x81\xa4hold\x02", LIM, "hold",
	    "too large: the limit is 1"),
	R("pids 2^32", CREATE, "\x81\xa4pids\xcf\0\0\0\1\0\0\0\0", LIM, "pids",
	    "too large: the limit is 4294967295"),
	R("mcpus 9", CREATE, "\x81\xa5mcpus\x09", INV, "mcpus",
	    "must be 10 to"),
	R("mount inside", CREATE, "\x81\xa6mounts\x81\xa5/proc\xa4/srv", INV,
	    "mounts", "a place inside"),
	R("mount of dots", CREATE, "\x81\xa9mounts_rw\x81\xa4/mnt\xa6/srv/.",
	    INV, "mounts_rw", "absolute and plain"),
	R("mounts in one place", CREATE, "\x82\xa6mounts\x81\xa4/mnt\xa4/srv"
	    "\xa9mounts_rw\x81\xa6/mnt/a\xa4/srv", INV, "mounts_rw",
	    "two mounts in one place"),
	R("companion of no name", CREATE, "\x81\xac" "companion_of\xa2 a", INV,
	    "companion_of", "name of a sandbox"),
	R("companion of itself", CREATE, "\x82\xa2id\xa3web\xac"
	    "companion_of\xa3web", INV, "companion_of", "of its own"),
	R("mount and root", CREATE, "\x82\xa4user\xa4root\xa6mounts\x81"
	    "\xa4/mnt\xa4/srv", "unsupported", "mounts", "not for root"),
	R("tmpfs 1", CREATE, "\x81\xa5tmpfs\x01", INV, "tmpfs",
	    "must be 1048576 to"),
	R("tmpfs and disk", CREATE, "\x82\xa5tmpfs\xce\0\x10\0\0\xa4"
	    "disk\xce\x01\0\0\0", INV, "tmpfs", "disk is set"),
	R("tmpfs beyond memory", CREATE, "\x82\xa5tmpfs\xce\0\x80\0\0\xa6"
	    "memory\xce\0\x70\0\0", LIM, "tmpfs", "which has 7340032"),
	R("memory 1", CREATE, "\x81\xa6memory\x01", INV, "memory",
	    "must be 6291456 to"),
	R("memory 2^64-1", CREATE,
	    "\x81\xa6memory\xcf\xff\xff\xff\xff\xff\xff\xff\xff", LIM,
	    "memory", "18446744073709551615: must be"),
	R("grace", STOP, "\x82\xa2id\xa1" "a\xa5grace\xce\0\x09\x27\xc1", LIM,
	    "grace", "too large: the limit is 600000"),
	R("timeout 2^64-1", EXEC, "\x83\xa7sandbox\xa1" "a\xa4" "argv\x91\xa1"
	    "a\xa7timeout\xcf\xff\xff\xff\xff\xff\xff\xff\xff", LIM,
	    "timeout", "too large: the limit is 2592000000"),
	R("timeout -1", EXEC, "\x83\xa7sandbox\xa1" "a\xa4" "argv\x91\xa1"
	    "a\xa7timeout\xff", INV, "timeout", "too small"),
	R("flags", EXEC, "\x83\xa7sandbox\xa1" "a\xa4" "argv\x91\xa1"
	    "a\xa5" "flags\xcc\x80", LIM, "flags", "too large: the limit is 127"),
	R("signal 65", KILL, "\x82\xa4" "exec\xa3" "a.1\xa5signo\x41", LIM,
	    "signo", "too large: the limit is 64"),
	R("signal -1", KILL, "\x82\xa4" "exec\xa3" "a.1\xa5signo\xff", INV,
	    "signo", "too small"),
	R("streams 0", ATTACH, "\x81\xa4" "exec\xa3" "a.1", INV, "streams",
	    "must be bits of 7"),
	R("streams 8", ATTACH, "\x82\xa4" "exec\xa3" "a.1\xa7streams\x08", LIM,
	    "streams", "too large: the limit is 7"),
	R("input of logs", LOGS, "\x82\xa4" "exec\xa3" "a.1\xa7streams\x01",
	    INV, "streams", "must be bits of 6"),
	R("offset -1", LOGS, "\x83\xa4" "exec\xa3" "a.1\xa7streams\x02"
	    "\xa7offset1\xff", INV, "offset1", "too small"),
	R("total -1", INPUT_END, "\x82\xa4" "exec\xa3" "a.1\xa5total\xff", INV,
	    "total", "too small"),
	/* (b62) */
	R("from -1", EVENTS, "\x81\xa4" "from\xff", INV, "from", "too small"),
	R("credit 2^32", EVENTS, "\x81\xa6" "credit\xcf\0\0\0\1\0\0\0\0", LIM,
	    "credit", "too large: the limit is 4294967295"),
	/* (b61) */
	R("limit 2^32", LIST, "\x81\xa5limit\xcf\0\0\0\1\0\0\0\0", LIM,
	    "limit", "too large: the limit is 4294967295"),
	R("after -1", LIST, "\x81\xa5" "after\xff", INV, "after",
	    "too small"),
	R("state", LIST, "\x81\xa5state\xa3off", INV, "state",
	    "is no state of a sandbox"),
	R("long state", LIST, "\x81\xa5state\xb0" "aaaaaaaaaaaaaaaa", LIM,
	    "state", "too long: the limit is 15"),
	/* (b17) */
	R("exec for sandbox", SHOW, "\x81\xa2id\xa3" "a.1", INV, "id",
	    "must be id or uid/id"),
	R("sandbox for exec", WAIT, "\x81\xa4" "exec\xa1" "a", INV, "exec",
	    "must be id.number"),
	R("import by digest", IMAGE_IMPORT, "\x81\xa4name\xa3" "a@b", INV,
	    "name", "must be [host/]name[:tag]"),
#undef R
};

ROOT_TEST(table)
{
	size_t	 i;

	begin();
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refused(rows[i].row, rows[i].type, rows[i].bytes, rows[i].len,
		    rows[i].code, rows[i].field, rows[i].text);
	finish();
}

/* A message as the structure has it, bounds or not. */
static void
encoded(const char *row, uint32_t type, const void *msg, const char *code,
    const char *field, const char *text)
{
	msgpack_sbuffer	 sb;

	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_map(&sb, proto_def(type), msg) == 0);
	refused(row, type, sb.data, sb.size, code, field, text);
	msgpack_sbuffer_destroy(&sb);
}

static char *
repeat(size_t n)
{
	char	*s;

	ATF_REQUIRE((s = malloc(n + 1)) != NULL);
	memset(s, 'x', n);
	s[n] = '\0';
	return (s);
}

/* What no command line can say: more than execve(2) takes. */
ROOT_TEST(bounds)
{
	struct proto_create	 c;
	struct proto_exec	 x;
	char			 box[] = "box", name[16], *arg;
	int			 i;

	begin();
	memset(&x, 0, sizeof(x));
	x.sandbox = box;
	arg = repeat(131072);
	ATF_REQUIRE(strv_add(&x.argv, "true") == 0);
	ATF_REQUIRE(strv_add(&x.argv, arg) == 0);
	encoded("argument", PROTO_EXEC, &x, LIM, "argv",
	    "argument of 131072 bytes: the limit is 131071");
	strv_clear(&x.argv);
	ATF_REQUIRE(strv_add(&x.argv, "true") == 0);
	ATF_REQUIRE(kvv_add(&x.env, "A", arg) == 0);
	encoded("variable", PROTO_EXEC, &x, LIM, "env",
	    "variable of 131074 bytes: the limit is 131071");
	kvv_clear(&x.env);
	x.dir = repeat(4096);
	encoded("folder", PROTO_EXEC, &x, LIM, "dir",
	    "too long: the limit is 4095");
	free(x.dir);
	x.dir = NULL;
	for (i = 0; i < 4096; i++)
		ATF_REQUIRE(strv_add(&x.argv, "") == 0);
	encoded("arguments", PROTO_EXEC, &x, LIM, "argv",
	    "too many entries: the limit is 4096");
	strv_clear(&x.argv);
	arg[98305] = '\0';
	ATF_REQUIRE(strv_add(&x.argv, arg) == 0);
	ATF_REQUIRE(kvv_add(&x.env, "A", arg) == 0);
	encoded("together", PROTO_EXEC, &x, LIM, "argv",
	    "of 196612 bytes: the limit is 196608");
	strv_clear(&x.argv);
	kvv_clear(&x.env);
	free(arg);

	memset(&c, 0, sizeof(c));
	for (i = 0; i < 65; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		ATF_REQUIRE(kvv_add(&c.labels, name, "") == 0);
	}
	encoded("labels", PROTO_CREATE, &c, LIM, "labels",
	    "too many entries: the limit is 64");
	kvv_clear(&c.labels);
	for (i = 0; i < 257; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		ATF_REQUIRE(kvv_add(&c.env, name, "") == 0);
	}
	encoded("variables", PROTO_CREATE, &c, LIM, "env",
	    "too many entries: the limit is 256");
	kvv_clear(&c.env);
	arg = repeat(200000);
	ATF_REQUIRE(kvv_add(&c.labels, "a", arg) == 0);
	encoded("label", PROTO_CREATE, &c, INV, "labels",
	    "a value is at most 255 bytes");
	kvv_clear(&c.labels);
	free(arg);
	finish();
}

/* (b37) A request that ends after each of its bytes. */
ROOT_TEST(truncated)
{
	struct proto_create	 c;
	msgpack_sbuffer		 sb;
	size_t			 i;

	begin();
	memset(&c, 0, sizeof(c));
	strlcpy(c.id, "web", sizeof(c.id));
	ATF_REQUIRE(kvv_add(&c.labels, "a", "1") == 0);
	ATF_REQUIRE(kvv_add(&c.env, "A", "1") == 0);
	c.memory = 1 << 30;
	c.mcpus = 1000;
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_map(&sb, proto_def(PROTO_CREATE), &c) == 0);
	/* No bytes at all are a request without fields. */
	for (i = 1; i < sb.size; i++)
		refused("half", PROTO_CREATE, sb.data, i, INV, "",
		    "malformed");
	msgpack_sbuffer_destroy(&sb);
	kvv_clear(&c.labels);
	kvv_clear(&c.env);
	finish();
}

/* (b10) Another version is told which one is spoken here. */
ROOT_TEST(version)
{
	struct proto_hello	 h;
	struct proto_error	 e;
	struct cl		 c;

	begin();
	memset(&h, 0, sizeof(h));
	cl_open(&fe, &c, 0);
	h.version = 3;
	cl_send(&c, PROTO_HELLO, 1, &h);
	(void)cl_expect(&c, PROTO_ERROR, 1, &e);
	ATF_CHECK_STREQ("unsupported", e.code);
	ATF_CHECK_STREQ("version", e.field);
	ATF_CHECK_STREQ("protocol version 3: this is "
	    "sandboxd " SANDBOXD_VERSION ", which speaks 1.1", e.text);
	cl_close(&c);
	finish();
}

/* A client of 1.0, and one of a version that is not there yet. */
ROOT_TEST(minor, "(R7) clients of other minor versions are served")
{
	struct proto_hello_ok	 ok, got;
	struct proto_hello	 h;
	struct frame		 f;
	struct cl		 c;
	uint32_t		 minor;

	begin();
	for (minor = 0; minor <= 7; minor += 7) {
		memset(&h, 0, sizeof(h));
		cl_open(&fe, &c, 0);
		h.version = PROTO_VERSION;
		h.minor = minor;
		cl_send(&c, PROTO_HELLO, 1, &h);
		fe_expect(&fe.store, PROTO_HELLO, &f, NULL);
		memset(&ok, 0, sizeof(ok));
		ok.version = PROTO_VERSION;
		ok.inflight = 5;
		ok.minor = 1;
		ok.database = 3;
		fe_send(&fe.store, PROTO_HELLO_OK, f.session, 1, -1, &ok);
		fe_end(&fe, f.session, 1);
		(void)cl_expect(&c, PROTO_HELLO_OK, 1, &got);
		(void)cl_expect(&c, PROTO_END, 1, NULL);
		ATF_CHECK_EQ(5, got.inflight);
		ATF_CHECK_EQ(minor == 0 ? 0 : 1, got.minor);
		ATF_CHECK_EQ(minor == 0 ? 0 : 3, got.database);
		cl_ping(&fe, &c, 2);
		cl_close(&c);
	}
	finish();
}

/* What a later version has put into HELLO does not hide the version. */
ROOT_TEST(hello_newer, "(R7) a client of another version is told which one")
{
	static const char	 text[] =
	    "\x83\xa7version\x02\xa6" "client\xa1x\xa5" "other\x90";
	struct imsg_hdr		 hdr;
	struct proto_error	 e;
	struct cl		 c;

	begin();
	cl_open(&fe, &c, 0);
	memset(&hdr, 0, sizeof(hdr));
	hdr.type = PROTO_HELLO;
	hdr.len = IMSG_HEADER_SIZE + sizeof(text) - 1;
	hdr.peerid = 1;
	cl_raw(&c, &hdr, sizeof(hdr));
	cl_raw(&c, text, sizeof(text) - 1);
	(void)cl_expect(&c, PROTO_ERROR, 1, &e);
	ATF_CHECK_STREQ("unsupported", e.code);
	ATF_CHECK_STREQ("protocol version 2: this is sandboxd "
	    SANDBOXD_VERSION ", which speaks 1.1", e.text);
	cl_close(&c);
	finish();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, table);
	ATF_TP_ADD_TC(tp, bounds);
	ATF_TP_ADD_TC(tp, truncated);
	ATF_TP_ADD_TC(tp, version);
	ATF_TP_ADD_TC(tp, minor);
	ATF_TP_ADD_TC(tp, hello_newer);
	return (atf_no_error());
}
