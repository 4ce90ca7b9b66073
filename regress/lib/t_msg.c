/* The codec: what goes in comes out, and nothing else gets in. */

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include <atf-c.h>

#include "proto.h"

static const struct msg_def *
def_of(uint32_t type)
{
	const struct msg_def	*def;

	ATF_REQUIRE((def = proto_def(type)) != NULL);
	return (def);
}

static void
create_fill(struct proto_create *c)
{
	memset(c, 0, sizeof(*c));
	strlcpy(c->id, "web", sizeof(c->id));
	strlcpy(c->image, "debian:12", sizeof(c->image));
	ATF_REQUIRE(kvv_add(&c->labels, "a", "1") == 0);
	ATF_REQUIRE(kvv_add(&c->labels, "b", "") == 0);
	c->memory = (uint64_t)1 << 40;
	c->mcpus = 2500;
	ATF_REQUIRE((c->workdir = strdup("/workspace")) != NULL);
}

static void
create_compare(const struct proto_create *c)
{
	ATF_CHECK_STREQ(c->id, "web");
	ATF_CHECK_STREQ(c->image, "debian:12");
	ATF_REQUIRE_EQ(c->labels.n, 2);
	ATF_CHECK_STREQ(kvv_get(&c->labels, "a"), "1");
	ATF_CHECK_STREQ(kvv_get(&c->labels, "b"), "");
	ATF_CHECK(kvv_get(&c->labels, "c") == NULL);
	ATF_CHECK_EQ(c->memory, (uint64_t)1 << 40);
	ATF_CHECK_EQ(c->mcpus, 2500);
	ATF_CHECK_STREQ(c->workdir, "/workspace");
	ATF_CHECK_EQ(c->env.n, 0);
	ATF_CHECK_STREQ(c->user, "");
}

ATF_TC_WITHOUT_HEAD(roundtrip);
ATF_TC_BODY(roundtrip, tc)
{
	const struct msg_def	*def = def_of(PROTO_CREATE);
	struct proto_create	 in, out, copy;
	msgpack_sbuffer		 sb;
	const char		*field, *why;

	create_fill(&in);
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_array(&sb, def, &in) == 0);
	ATF_REQUIRE(msg_decode_array(&out, def, (uint8_t *)sb.data,
	    sb.size) == 0);
	create_compare(&out);
	ATF_REQUIRE(msg_copy(&copy, &out, def) == 0);
	msg_clear(&out, def);
	create_compare(&copy);
	msg_clear(&copy, def);

	msgpack_sbuffer_clear(&sb);
	ATF_REQUIRE(msg_encode_map(&sb, def, &in) == 0);
	ATF_REQUIRE(msg_decode_map(&out, def, (uint8_t *)sb.data, sb.size,
	    &field, &why) == 0);
	create_compare(&out);
	msg_clear(&out, def);
	msg_clear(&in, def);
	msgpack_sbuffer_destroy(&sb);
}

/* A message cut anywhere, or with a byte behind it, is refused. */
ATF_TC_WITHOUT_HEAD(cut);
ATF_TC_BODY(cut, tc)
{
	const struct msg_def	*def = def_of(PROTO_CREATE);
	struct proto_create	 in, out;
	msgpack_sbuffer		 sb;
	uint8_t			*p;
	size_t			 i;

	create_fill(&in);
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_array(&sb, def, &in) == 0);
	for (i = 0; i < sb.size; i++) {
		/* Memory of exactly this size: a checker sees an overrun. */
		ATF_REQUIRE((p = malloc(i + 1)) != NULL);
		memcpy(p, sb.data, i);
		ATF_CHECK_EQ(msg_decode_array(&out, def, p, i), -1);
		free(p);
	}
	ATF_REQUIRE((p = malloc(sb.size + 1)) != NULL);
	memcpy(p, sb.data, sb.size);
	p[sb.size] = 0;
	ATF_CHECK_EQ(msg_decode_array(&out, def, p, sb.size + 1), -1);
	free(p);
	msg_clear(&in, def);
	msgpack_sbuffer_destroy(&sb);
}

/* Any byte changed to any value: never more than a refusal. */
ATF_TC_WITHOUT_HEAD(flipped);
ATF_TC_BODY(flipped, tc)
{
	const struct msg_def	*def = def_of(PROTO_CREATE);
	struct proto_create	 in, out;
	msgpack_sbuffer		 sb;
	size_t			 i, ok = 0;
	int			 b;
	uint8_t			 was;

	create_fill(&in);
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_map(&sb, def, &in) == 0);
	for (i = 0; i < sb.size; i++) {
		was = sb.data[i];
		for (b = 0; b < 256; b++) {
			sb.data[i] = b;
			if (msg_decode_map(&out, def, (uint8_t *)sb.data,
			    sb.size, NULL, NULL) == 0) {
				ok++;
				msg_clear(&out, def);
			}
		}
		sb.data[i] = was;
	}
	/* The unchanged ones at least, so the loop did decode. */
	ATF_CHECK(ok >= sb.size);
	msg_clear(&in, def);
	msgpack_sbuffer_destroy(&sb);
}

#define BYTES(s)	((const uint8_t *)(s)), sizeof(s) - 1

ATF_TC_WITHOUT_HEAD(scan);
ATF_TC_BODY(scan, tc)
{
	ATF_CHECK_EQ(msg_scan(BYTES("\x90"), 4), 0);
	ATF_CHECK_EQ(msg_scan(BYTES("\x01"), 4), 0);
	ATF_CHECK_EQ(msg_scan(BYTES(""), 4), -1);
	/* Five bytes that ask for 4 Gi elements, as array, map, string. */
	ATF_CHECK_EQ(msg_scan(BYTES("\xdd\xff\xff\xff\xff"), 4), -1);
	ATF_CHECK_EQ(msg_scan(BYTES("\xdf\xff\xff\xff\xff"), 4), -1);
	ATF_CHECK_EQ(msg_scan(BYTES("\xdb\xff\xff\xff\xff"), 4), -1);
	ATF_CHECK_EQ(msg_scan(BYTES("\xdf\x80\x00\x00\x00\x01"), 4), -1);
	/* Depth: four are allowed, five are not. */
	ATF_CHECK_EQ(msg_scan(BYTES("\x91\x91\x91\x91\x01"), 5), 0);
	ATF_CHECK_EQ(msg_scan(BYTES("\x91\x91\x91\x91\x01"), 4), -1);
	/* nil, booleans, floats, extensions: refused by who takes a field. */
	ATF_CHECK_EQ(msg_scan(BYTES("\xc0"), 4), 0);
	ATF_CHECK_EQ(msg_scan(BYTES("\xc3"), 4), 0);
	ATF_CHECK_EQ(msg_scan(BYTES("\xca\0\0\0\0"), 4), 0);
	ATF_CHECK_EQ(msg_scan(BYTES("\xcb\0\0\0\0\0\0\0\0"), 4), 0);
	ATF_CHECK_EQ(msg_scan(BYTES("\xd4\x01\x01"), 4), 0);
	ATF_CHECK_EQ(msg_scan(BYTES("\xd8\x01" "0123456789abcdef"), 4), 0);
	ATF_CHECK_EQ(msg_scan(BYTES("\xc7\x02\x01" "ab"), 4), 0);
	ATF_CHECK_EQ(msg_scan(BYTES("\xc9\0\0\0\x01\x01" "a"), 4), 0);
	/* Of none of them a byte may be missing, and 0xc1 is no type. */
	ATF_CHECK_EQ(msg_scan(BYTES("\xca\0\0\0"), 4), -1);
	ATF_CHECK_EQ(msg_scan(BYTES("\xcb\0\0\0\0"), 4), -1);
	ATF_CHECK_EQ(msg_scan(BYTES("\xd4\x01"), 4), -1);
	ATF_CHECK_EQ(msg_scan(BYTES("\xc7\x02\x01" "a"), 4), -1);
	ATF_CHECK_EQ(msg_scan(BYTES("\xc9\xff\xff\xff\xff\x01"), 4), -1);
	ATF_CHECK_EQ(msg_scan(BYTES("\xc1"), 4), -1);
	/* Two objects are one too many. */
	ATF_CHECK_EQ(msg_scan(BYTES("\x01\x01"), 4), -1);
}

static const struct {
	uint32_t	 type;
	const char	*bytes;
	size_t		 len;
	const char	*field;
	const char	*why;
} refused[] = {
#define R(type, s, field, why)	{ type, s, sizeof(s) - 1, field, why }
	R(PROTO_WAIT, "\x80", "exec", "missing"),
	R(PROTO_WAIT, "\x81\xa4" "exec\x01", "exec", "not a string"),
	R(PROTO_WAIT, "\x81\xa4" "exec\xa2" "a\0", "exec", "contains a NUL"),
	R(PROTO_WAIT, "\x82\xa4" "exec\xa1" "a" "\xa4" "exec\xa1" "b",
	    "exec", "stands twice"),
	R(PROTO_WAIT, "\x81\xa4" "Exec\xa1" "a", NULL,
	    "unknown field: Exec"),
	R(PROTO_WAIT, "\x82\xa4" "exec\xa1" "a" "\xa2" "x\n\xa1" "a", NULL,
	    "unknown field"),
	R(PROTO_WAIT, "\x81\x01\xa1" "a", NULL, "unknown field"),
	R(PROTO_WAIT, "\x91\xa1" "a", NULL, "not a map"),
	R(PROTO_CREDIT, "\x81\xa1n\xff", "n", "too small"),
	R(PROTO_CREDIT, "\x81\xa1n\xcf\0\0\0\1\0\0\0\0", "n", "too large"),
	R(PROTO_PS, "\x81\xa3" "all\x02", "all", "too large"),
	R(PROTO_CREATE, "\x81\xa6labels\x90", "labels", "not a map"),
	R(PROTO_CREATE, "\x81\xa6labels\x82\xa1" "a\xa1" "1\xa1" "a\xa1" "2",
	    "labels", "a key stands twice"),
	R(PROTO_CREATE, "\x81\xa2id\xd9\x41"
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	    "id", "too long"),
	R(PROTO_PING, "\x81\xa1" "a\x01", NULL, "unknown field: a"),
#undef R
};

ATF_TC_WITHOUT_HEAD(refusals);
ATF_TC_BODY(refusals, tc)
{
	const char		*field, *why;
	struct proto_create	 out;
	size_t			 i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		ATF_CHECK_EQ_MSG(msg_decode_map(&out, def_of(refused[i].type),
		    (const uint8_t *)refused[i].bytes, refused[i].len,
		    &field, &why), -1, "row %zu was taken", i);
		ATF_CHECK_MSG(why != NULL &&
		    strcmp(why, refused[i].why) == 0,
		    "row %zu: %s, not %s", i, why, refused[i].why);
		if (refused[i].field == NULL)
			ATF_CHECK_MSG(field == NULL, "row %zu", i);
		else
			ATF_CHECK_MSG(field != NULL && strcmp(field,
			    refused[i].field) == 0, "row %zu", i);
	}
}

ATF_TC_WITHOUT_HEAD(tables);
ATF_TC_BODY(tables, tc)
{
	const struct msg_def	*def;
	uint32_t		 t;
	size_t			 i, j, n = 0;

	for (t = 0; t < PROTO_MAX + 3; t++) {
		if ((def = proto_def(t)) == NULL)
			continue;
		n++;
		ATF_CHECK_EQ(def->type, t);
		ATF_CHECK(def->nfields <= 64);
		for (i = 0; i < def->nfields; i++)
			for (j = 0; j < i; j++)
				ATF_CHECK(strcmp(def->fields[i].name,
				    def->fields[j].name) != 0);
	}
	ATF_CHECK(n > 30);
	ATF_CHECK(proto_def(0) == NULL);
	ATF_CHECK(proto_def(PROTO_MAX) == NULL);
	ATF_CHECK(proto_def(UINT32_MAX) == NULL);
}

ATF_TC_WITHOUT_HEAD(vectors);
ATF_TC_BODY(vectors, tc)
{
	struct strv	 s = { NULL, 0 }, c;
	struct kvv	 k = { NULL, 0 };
	struct u64v	 u = { NULL, 0 };
	char		 buf[16];
	int		 i;

	for (i = 0; i < 1000; i++) {
		snprintf(buf, sizeof(buf), "%d", i);
		ATF_REQUIRE(strv_add(&s, buf) == 0);
		ATF_REQUIRE(kvv_set(&k, buf, "a") == 0);
		ATF_REQUIRE(kvv_set(&k, buf, buf) == 0);
		ATF_REQUIRE(u64v_add(&u, i) == 0);
	}
	ATF_CHECK_EQ(s.n, 1000);
	ATF_CHECK(s.v[1000] == NULL);
	ATF_CHECK_EQ(strv_bytes(&s), 10 * 2 + 90 * 3 + 900 * 4);
	ATF_REQUIRE(strv_copy(&c, &s) == 0);
	ATF_CHECK_STREQ(c.v[999], "999");
	ATF_CHECK_EQ(k.n, 1000);
	ATF_CHECK_STREQ(kvv_get(&k, "77"), "77");
	ATF_CHECK_EQ(u.v[999], 999);
	strv_clear(&s);
	strv_clear(&c);
	kvv_clear(&k);
	u64v_clear(&u);
}

/* What a decoder allocated must take more elements without an overrun. */
ATF_TC_WITHOUT_HEAD(append);
ATF_TC_BODY(append, tc)
{
	const struct msg_def	*def = def_of(PROTO_EXEC);
	struct proto_exec	 in, out;
	msgpack_sbuffer		 sb;
	int			 i, n;

	for (n = 1; n < 20; n++) {
		memset(&in, 0, sizeof(in));
		for (i = 0; i < n; i++)
			ATF_REQUIRE(strv_add(&in.argv, "a") == 0);
		msgpack_sbuffer_init(&sb);
		ATF_REQUIRE(msg_encode_array(&sb, def, &in) == 0);
		ATF_REQUIRE(msg_decode_array(&out, def, (uint8_t *)sb.data,
		    sb.size) == 0);
		for (i = 0; i < 40; i++)
			ATF_REQUIRE(strv_add(&out.argv, "b") == 0);
		ATF_CHECK_EQ(out.argv.n, (size_t)n + 40);
		msg_clear(&in, def);
		msg_clear(&out, def);
		msgpack_sbuffer_destroy(&sb);
	}
}

/* Rows of an older program are shorter, and those of a newer one longer. */
struct row_old {
	uint32_t	 a;
	char		*text;
};

struct row_new {
	uint32_t	 a;
	char		*text;
	uint32_t	 b;
	struct kvv	 more;
};

static const struct msg_field f_row_old[] = {
	MSG_F(row_old, a, M_UINT, 0, 0),
	MSG_F(row_old, text, M_TEXT, 0, 0),
};

static const struct msg_field f_row_new[] = {
	MSG_F(row_new, a, M_UINT, 0, 0),
	MSG_F(row_new, text, M_TEXT, 0, 0),
	MSG_F(row_new, b, M_UINT, 0, 0),
	MSG_F(row_new, more, M_KVV, 0, 0),
};

static const struct msg_def	 def_old = MSG_DEF(0, "old", row_old, f_row_old);
static const struct msg_def	 def_new = MSG_DEF(0, "new", row_new, f_row_new);

ATF_TC_WITHOUT_HEAD(rows);
ATF_TC_BODY(rows, tc)
{
	struct row_old	 o;
	struct row_new	 n;
	struct msg_rest	 rest;
	msgpack_sbuffer	 sb, again;

	/* The older one's: what it does not have is nothing. */
	memset(&o, 0, sizeof(o));
	o.a = 7;
	ATF_REQUIRE((o.text = strdup("seven")) != NULL);
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_row(&sb, &def_old, &o, NULL) == 0);
	msg_clear(&o, &def_old);
	ATF_CHECK(msg_decode_array(&n, &def_new, (uint8_t *)sb.data,
	    sb.size) == -1);
	ATF_CHECK(msg_decode_row(&n, &def_new, 3, (uint8_t *)sb.data, sb.size,
	    &rest) == -1);
	ATF_REQUIRE(msg_decode_row(&n, &def_new, 2, (uint8_t *)sb.data,
	    sb.size, &rest) == 0);
	ATF_CHECK_EQ(n.a, 7);
	ATF_CHECK_STREQ(n.text, "seven");
	ATF_CHECK_EQ(n.b, 0);
	ATF_CHECK_EQ(n.more.n, 0);
	ATF_CHECK_EQ(rest.n, 0);
	msgpack_sbuffer_destroy(&sb);

	/* The newer one's: the older changes what it knows, and no more. */
	n.b = 70000;
	ATF_REQUIRE(kvv_add(&n.more, "k", "v") == 0);
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_row(&sb, &def_new, &n, NULL) == 0);
	msg_clear(&n, &def_new);
	ATF_CHECK(msg_decode_array(&o, &def_old, (uint8_t *)sb.data,
	    sb.size) == -1);
	ATF_REQUIRE(msg_decode_row(&o, &def_old, 2, (uint8_t *)sb.data,
	    sb.size, &rest) == 0);
	ATF_CHECK_EQ(rest.n, 2);
	o.a = 8;
	msgpack_sbuffer_init(&again);
	ATF_REQUIRE(msg_encode_row(&again, &def_old, &o, &rest) == 0);
	msg_clear(&o, &def_old);
	msg_rest_clear(&rest);
	ATF_REQUIRE(msg_decode_row(&n, &def_new, 4, (uint8_t *)again.data,
	    again.size, &rest) == 0);
	ATF_CHECK_EQ(n.a, 8);
	ATF_CHECK_STREQ(n.text, "seven");
	ATF_CHECK_EQ(n.b, 70000);
	ATF_CHECK_STREQ(kvv_get(&n.more, "k"), "v");
	ATF_CHECK_EQ(rest.n, 0);
	msg_clear(&n, &def_new);
	msgpack_sbuffer_destroy(&sb);
	msgpack_sbuffer_destroy(&again);
}

ATF_TC_WITHOUT_HEAD(newer_map);
ATF_TC_BODY(newer_map, tc)
{
	struct row_old	 o;
	struct row_new	 n;
	msgpack_sbuffer	 sb;
	const char	*field, *why;

	memset(&n, 0, sizeof(n));
	n.a = 7;
	ATF_REQUIRE((n.text = strdup("seven")) != NULL);
	n.b = 1;
	/* A newer program's, for whom knows them and for whom does not. */
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_map(&sb, &def_new, &n) == 0);
	ATF_CHECK(msg_decode_map(&o, &def_old, (uint8_t *)sb.data, sb.size,
	    &field, &why) == -1);
	ATF_CHECK_STREQ(why, "unknown field: b");
	ATF_REQUIRE(msg_decode_map_newer(&o, &def_old, 2, (uint8_t *)sb.data,
	    sb.size, &field, &why) == 0);
	ATF_CHECK_EQ(o.a, 7);
	msg_clear(&o, &def_old);
	msgpack_sbuffer_destroy(&sb);
	/* Only what an older one knows. */
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_map_first(&sb, &def_new, &n, 2) == 0);
	msg_clear(&n, &def_new);
	ATF_REQUIRE(msg_decode_map(&o, &def_old, (uint8_t *)sb.data, sb.size,
	    &field, &why) == 0);
	msg_clear(&o, &def_old);
	ATF_CHECK(msg_decode_map_newer(&n, &def_new, 3, (uint8_t *)sb.data,
	    sb.size, &field, &why) == -1);
	ATF_CHECK_STREQ(why, "missing");
	ATF_REQUIRE(msg_decode_map_newer(&n, &def_new, 2, (uint8_t *)sb.data,
	    sb.size, &field, &why) == 0);
	ATF_CHECK_EQ(n.b, 0);
	msg_clear(&n, &def_new);
	msgpack_sbuffer_destroy(&sb);
}

/*
 * The messages of protocol 1.0, by their fields.  Who reads this because it
 * fails: a field was not put at the end of its message, or one was taken out,
 * and clients of today would not understand it.
 */
static const struct {
	uint32_t	 type;
	const char	*fields;
} first[] = {
	{ PROTO_HELLO, "version client" },
	{ PROTO_CREATE,
	    "id key image labels env memory mcpus pids workdir user "
	    "readonly wait" },
	{ PROTO_LIST, "all state labels after limit" },
	{ PROTO_SHOW, "id wait grace" },
	{ PROTO_STOP, "id wait grace" },
	{ PROTO_RESUME, "id wait grace" },
	{ PROTO_DELETE, "id wait grace" },
	{ PROTO_EXEC, "sandbox argv env dir user timeout grace flags" },
	{ PROTO_ATTACH, "exec offset1 offset2 streams follow" },
	{ PROTO_INPUT_END, "exec total" },
	{ PROTO_PS, "sandbox all" },
	{ PROTO_LOGS, "exec offset1 offset2 streams follow" },
	{ PROTO_WAIT, "exec" },
	{ PROTO_KILL, "exec signo grace" },
	{ PROTO_EVENTS, "sandbox from follow credit type" },
	{ PROTO_CREDIT, "n" },
	{ PROTO_IMAGE_IMPORT, "name" },
	{ PROTO_HELLO_OK, "version daemon instance payload inflight uid all" },
	{ PROTO_END, "after" },
	{ PROTO_ERROR, "code text field" },
	{ PROTO_ACCEPTED, "id op state" },
	{ PROTO_SANDBOX,
	    "id number owner state cause image image_id container "
	    "labels env memory mcpus pids memory_seen mcpus_seen "
	    "pids_seen workdir user readonly created changed seq "
	    "execs guest" },
	{ PROTO_EXEC_INFO,
	    "id owner state code cause errnum argv detached created "
	    "started ended length1 length2 dropped1 dropped2 "
	    "background" },
	{ PROTO_EVENT,
	    "host_seq seq time sandbox owner type state actor op "
	    "detail" },
	{ PROTO_STREAM, "stream offset exec" },
	{ PROTO_GAP, "stream from to" },
	{ PROTO_STALLED, "stream" },
	{ PROTO_INPUT_ACK, "offset" },
	{ PROTO_PROC, "name pid uid user started layers missing" },
	{ PROTO_STATUS_INFO,
	    "instance daemon engine_up engine engine_text "
	    "live_restore unenforced sandboxes ready execs clients "
	    "requests waiting subscriptions pipes events" },
	{ PROTO_IMAGE, "name id size" },
	{ PROTO_VERIFY, "events skeletons anchor head" },
	{ PROTO_RIGHT, "name on may by" },
	{ PROTO_LIMIT, "name of most per used by" },
	{ PROTO_CONTROL, "name state proof advice" },
	{ PROTO_RELOAD, "" },
	{ PROTO_RULES, "" },
	{ 0, NULL }
};

ATF_TC(first_fields);
ATF_TC_HEAD(first_fields, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(aV15) messages of 1.0 are what they were");
}
ATF_TC_BODY(first_fields, tc)
{
	const struct msg_def	*def;
	char			 list[1024];
	size_t			 i, j, n;

	for (i = 0; first[i].fields != NULL; i++) {
		def = def_of(first[i].type);
		n = proto_fields(first[i].type, 0);
		list[0] = '\0';
		for (j = 0; j < n; j++) {
			if (j > 0)
				strlcat(list, " ", sizeof(list));
			strlcat(list, def->fields[j].name, sizeof(list));
		}
		ATF_CHECK_STREQ(first[i].fields, list);
		ATF_CHECK(proto_known(first[i].type, 0));
		ATF_CHECK_EQ(def->nfields, proto_fields(first[i].type, 1));
		for (j = n; j < def->nfields; j++)
			ATF_CHECK_MSG(def->fields[j].flags & M_OPT,
			    "%s: %s must be optional", def->name,
			    def->fields[j].name);
	}
	ATF_CHECK(!proto_known(PROTO_DOCTOR + 1, 0));
	ATF_CHECK(!proto_known(PROTO_CONTROL + 1, 0));
	ATF_CHECK(!proto_known(PROTO_MAX, 1));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, roundtrip);
	ATF_TP_ADD_TC(tp, cut);
	ATF_TP_ADD_TC(tp, flipped);
	ATF_TP_ADD_TC(tp, scan);
	ATF_TP_ADD_TC(tp, refusals);
	ATF_TP_ADD_TC(tp, tables);
	ATF_TP_ADD_TC(tp, vectors);
	ATF_TP_ADD_TC(tp, append);
	ATF_TP_ADD_TC(tp, rows);
	ATF_TP_ADD_TC(tp, newer_map);
	ATF_TP_ADD_TC(tp, first_fields);
	return (atf_no_error());
}
