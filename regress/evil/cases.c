/* Bad messages by the table of their fields. */

#include <sys/types.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "cases.h"
#include "evil_odd.h"

static const struct evil_names	*names;
static void			(*each)(const struct evil *, void *);
static void			*each_arg;

static void
pack_str(msgpack_packer *pk, const char *s, size_t len)
{
	msgpack_pack_str(pk, len);
	msgpack_pack_str_body(pk, s, len);
}

static void
pack_text(msgpack_packer *pk, const char *s)
{
	pack_str(pk, s, strlen(s));
}

/* A good value of each field, where any of its kind will not do. */
static const struct {
	const char	*field;
	const char	*value;
} goods[] = {
	{ "client", "evil" },
	{ "key", "key" },
	{ "image", "sandbox-base" },
	{ "workdir", "/tmp" },
	{ "user", "1000" },
	{ "state", "ready" },
	{ "dir", "/tmp" },
	{ "type", "audit" },
	{ "name", "evil" },
	{ "path", "/" },
};

static void
pack_good(msgpack_packer *pk, const struct msg_def *def,
    const struct msg_field *f)
{
	size_t	 i;

	switch (f->kind) {
	case M_UINT:
	case M_INT:
		/* A page, a credit, a signal: 1 is good for all but these. */
		msgpack_pack_uint64(pk, strcmp(f->name, "memory") == 0 ?
		    64 << 20 : strcmp(f->name, "mcpus") == 0 ? 100 :
		    strcmp(f->name, "pids") == 0 ? 16 :
		    strcmp(f->name, "streams") == 0 ? 2 :
		    /* It would wait for a stream. */
		    strcmp(def->name, "call") == 0 &&
		    strcmp(f->name, "flags") == 0 ? 0 : 1);
		return;
	case M_BLOB:
		msgpack_pack_bin(pk, 0);
		return;
	case M_STRV:
		msgpack_pack_array(pk, 1);
		pack_text(pk, strcmp(f->name, "states") == 0 ? "ready" :
		    "true");
		return;
	case M_KVV:
		msgpack_pack_map(pk, 1);
		pack_text(pk, "k");
		pack_text(pk, "v");
		return;
	default:
		break;
	}
	for (i = 0; i < sizeof(goods) / sizeof(goods[0]); i++)
		if (strcmp(goods[i].field, f->name) == 0) {
			pack_text(pk, goods[i].value);
			return;
		}
	if (strcmp(f->name, "exec") == 0)
		pack_text(pk, names->exec);
	else if (strcmp(def->name, "create") == 0)
		pack_text(pk, "another");
	else
		pack_text(pk, names->sandbox);
}

/* The table lets these be left out, but who does so is refused. */
static int
needed(const struct msg_field *f)
{
	return (!(f->flags & M_OPT) || strcmp(f->name, "streams") == 0 ||
	    strcmp(f->name, "path") == 0);
}

/*
 * The map of the fields that must be there, and of all with everything, but
 * for one: where its value is to come, and how many more pairs there are.
 */
static void
pack_rest(msgpack_packer *pk, const struct msg_def *def,
    const struct msg_field *but, int everything, int more)
{
	size_t	 i, n = more;

	for (i = 0; i < def->nfields; i++)
		n += &def->fields[i] != but && (everything ||
		    needed(&def->fields[i]));
	msgpack_pack_map(pk, n);
	for (i = 0; i < def->nfields; i++) {
		if (&def->fields[i] == but || (!everything &&
		    !needed(&def->fields[i])))
			continue;
		pack_text(pk, def->fields[i].name);
		pack_good(pk, def, &def->fields[i]);
	}
}

const struct msg_field *
evil_name(const struct msg_def *def)
{
	size_t	 i;

	for (i = 0; i < def->nfields; i++)
		if (def->fields[i].kind == M_TEXT &&
		    (strcmp(def->fields[i].name, "id") == 0 ||
		    strcmp(def->fields[i].name, "sandbox") == 0 ||
		    strcmp(def->fields[i].name, "exec") == 0))
			return (&def->fields[i]);
	return (NULL);
}

void
evil_ask(msgpack_sbuffer *sb, const struct msg_def *def, const char *name)
{
	static const struct evil_names	 none = { "", "" };
	const struct msg_field		*f = evil_name(def);
	msgpack_packer			 pk;

	names = &none;
	msgpack_sbuffer_init(sb);
	msgpack_packer_init(&pk, sb, msgpack_sbuffer_write);
	pack_rest(&pk, def, f, 0, 1);
	pack_text(&pk, f->name);
	pack_text(&pk, name);
}

static void
begin(struct evil *e, msgpack_packer *pk, const struct msg_def *def,
    const char *field, enum verdict verdict)
{
	memset(e, 0, sizeof(*e));
	e->def = def;
	e->field = field;
	e->verdict = verdict;
	msgpack_sbuffer_init(&e->body);
	msgpack_packer_init(pk, &e->body, msgpack_sbuffer_write);
}

static void
end(struct evil *e)
{
	each(e, each_arg);
	msgpack_sbuffer_destroy(&e->body);
}

static void
pack_raw(msgpack_packer *pk, const void *p, size_t len)
{
	if (msgpack_sbuffer_write(pk->data, p, len) != 0)
		err(1, NULL);
}

static void
wrong_types(const struct msg_def *def, const struct msg_field *f)
{
	msgpack_packer	 pk;
	struct evil	 e;
	int		 i;

	for (i = 0; i < ODD_MAX; i++) {
		begin(&e, &pk, def, f->name, odd_fits(f->kind, i) ? ANY :
		    i < ODD_HUGE_STR ? REFUSED : WRONG);
		snprintf(e.what, sizeof(e.what), "%s", odd_name(i));
		pack_rest(&pk, def, f, 0, 1);
		pack_text(&pk, f->name);
		odd_pack(&pk, i);
		end(&e);
	}
}

/* The greatest value that the table lets pass. */
static uint64_t
uint_max(const struct msg_field *f)
{
	return (f->max != 0 ? f->max : f->size < 8 ?
	    (1ULL << (8 * f->size)) - 1 : UINT64_MAX);
}

static void
bounds_uint(const struct msg_def *def, const struct msg_field *f)
{
	static const uint64_t	 some[] = { 0, 2, 3, 7, 8, 31, 32, 64, 65,
	    0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 0x10000, 0x7fffffff,
	    0x80000000, 0xffffffff, 0x100000000, INT64_MAX,
	    (uint64_t)INT64_MAX + 1, UINT64_MAX - 1, UINT64_MAX };
	msgpack_packer		 pk;
	struct evil		 e;
	uint64_t		 max = uint_max(f), v;
	size_t			 i, n = sizeof(some) / sizeof(some[0]);

	for (i = 0; i < n + 2; i++) {
		v = i < n ? some[i] : i == n ? max : max + 1;
		begin(&e, &pk, def, f->name, v > max ? REFUSED : ANY);
		snprintf(e.what, sizeof(e.what), "%llu",
		    (unsigned long long)v);
		pack_rest(&pk, def, f, 0, 1);
		pack_text(&pk, f->name);
		msgpack_pack_uint64(&pk, v);
		end(&e);
	}
}

/* One string among a few that somebody's parser may stumble over. */
static const struct {
	const char	*s;
	size_t		 len;
	enum verdict	 verdict;
} strings[] = {
#define S(s, v)	{ s, sizeof(s) - 1, v }
	S("", ANY), S("a\0b", REFUSED), S("\0", REFUSED), S("\xff\xfe", ANY),
	S("\xc0\xaf", ANY), S("\xed\xa0\x80", ANY), S("a\nb", ANY),
	S("\x1b[2J\x1b]0;x\a", ANY), S("\r", ANY), S(" ", ANY), S("-", ANY),
	S("-rf", ANY), S("--", ANY), S(".", ANY), S("..", ANY),
	S("../../../../etc", ANY), S("/", ANY), S("//", ANY), S("/..", ANY),
	S("/proc/self/root", ANY), S("0", ANY), S("-1", ANY), S("root", ANY),
	S("0x0", ANY), S("00", ANY), S("+0", ANY), S("4294967296", ANY),
	S("4294967295", ANY), S("18446744073709551616", ANY), S("0/0", ANY),
	S("/.", ANY), S("x.0", ANY), S("x.-1", ANY), S("x.", ANY),
	S(".1", ANY), S("0/", ANY), S("x.18446744073709551616", ANY),
	S("%s%n%n%n", ANY), S("$(id)", ANY), S("`id`", ANY), S(";", ANY),
	S("sha256:", ANY), S("a@sha256:", ANY), S("a/../b", ANY),
	S("%2e%2e%2f", ANY), S("x?force=1", ANY), S("x#y", ANY),
	S("http://127.0.0.1/x", ANY), S("\"}", ANY), S("a:b:c", ANY),
#undef S
};

static void
bounds_text(const struct msg_def *def, const struct msg_field *f)
{
	static char	 longest[PROTO_MAX_PAYLOAD];
	size_t		 lens[] = { 0, 0, 4096, 4097, 65535, 65536, 131072,
	    PROTO_MAX_PAYLOAD - 256 };
	msgpack_packer	 pk;
	struct evil	 e;
	size_t		 i, max;

	for (i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		begin(&e, &pk, def, f->name, strings[i].verdict);
		snprintf(e.what, sizeof(e.what), "\"%s\"", strings[i].s);
		pack_rest(&pk, def, f, 0, 1);
		pack_text(&pk, f->name);
		pack_str(&pk, strings[i].s, strings[i].len);
		end(&e);
	}
	memset(longest, 'a', sizeof(longest));
	max = f->max != 0 ? f->max : f->size - 1;
	lens[0] = max;
	lens[1] = max + 1;
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		begin(&e, &pk, def, f->name, lens[i] > max ? REFUSED : ANY);
		snprintf(e.what, sizeof(e.what), "%zu bytes", lens[i]);
		pack_rest(&pk, def, f, 0, 1);
		pack_text(&pk, f->name);
		pack_str(&pk, longest, lens[i]);
		end(&e);
	}
}

/* Entries: how many, what is in each, and what is wrong with one. */
static void
bounds_vector(const struct msg_def *def, const struct msg_field *f)
{
	const size_t	 counts[] = { 0, 2, f->max, f->max + 1, 20000 };
	msgpack_packer	 pk;
	struct evil	 e;
	char		 key[32];
	size_t		 i, k;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		begin(&e, &pk, def, f->name, counts[i] > f->max ? REFUSED :
		    ANY);
		snprintf(e.what, sizeof(e.what), "%zu entries", counts[i]);
		pack_rest(&pk, def, f, 0, 1);
		pack_text(&pk, f->name);
		if (f->kind == M_KVV)
			msgpack_pack_map(&pk, counts[i]);
		else
			msgpack_pack_array(&pk, counts[i]);
		for (k = 0; k < counts[i]; k++) {
			snprintf(key, sizeof(key), "k%zu", k);
			pack_text(&pk, key);
			if (f->kind == M_KVV)
				pack_text(&pk, "v");
		}
		end(&e);
	}
	for (i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		for (k = 0; k < (f->kind == M_KVV ? 2U : 1U); k++) {
			begin(&e, &pk, def, f->name, strings[i].verdict);
			snprintf(e.what, sizeof(e.what), "%s \"%s\"", k ?
			    "a value" : "an entry", strings[i].s);
			pack_rest(&pk, def, f, 0, 1);
			pack_text(&pk, f->name);
			if (f->kind == M_KVV)
				msgpack_pack_map(&pk, 1);
			else
				msgpack_pack_array(&pk, 1);
			if (k)
				pack_text(&pk, "k");
			pack_str(&pk, strings[i].s, strings[i].len);
			if (f->kind == M_KVV && !k)
				pack_text(&pk, "v");
			end(&e);
		}
	for (i = 0; i < ODD_MAX; i++) {
		if (i == ODD_STR)
			continue;
		begin(&e, &pk, def, f->name, i >= ODD_HUGE_STR ||
		    i == ODD_ARRAY || i == ODD_MAP ? WRONG : REFUSED);
		snprintf(e.what, sizeof(e.what), "an entry is %s",
		    odd_name(i));
		pack_rest(&pk, def, f, 0, 1);
		pack_text(&pk, f->name);
		if (f->kind == M_KVV) {
			msgpack_pack_map(&pk, 1);
			pack_text(&pk, "k");
		} else
			msgpack_pack_array(&pk, 1);
		odd_pack(&pk, i);
		end(&e);
	}
}

static void
presence(const struct msg_def *def, const struct msg_field *f)
{
	msgpack_packer	 pk;
	struct evil	 e;
	int		 i;

	begin(&e, &pk, def, f->name, f->flags & M_OPT ? ANY : REFUSED);
	snprintf(e.what, sizeof(e.what), "missing");
	pack_rest(&pk, def, f, 1, 0);
	end(&e);
	begin(&e, &pk, def, f->name, REFUSED);
	snprintf(e.what, sizeof(e.what), "twice");
	pack_rest(&pk, def, f, 0, 2);
	for (i = 0; i < 2; i++) {
		pack_text(&pk, f->name);
		pack_good(&pk, def, f);
	}
	end(&e);
	begin(&e, &pk, def, f->name, WRONG);
	snprintf(e.what, sizeof(e.what), "without its value");
	pack_rest(&pk, def, f, 0, 1);
	pack_text(&pk, f->name);
	end(&e);
}

/* What is wrong with the body is wrong with that of any message. */
static void
bodies(const struct msg_def *def)
{
	msgpack_packer	 pk;
	struct evil	 e, good;
	size_t		 i;

	begin(&good, &pk, def, NULL, ANY);
	snprintf(good.what, sizeof(good.what), "all of its fields");
	pack_rest(&pk, def, NULL, 1, 0);
	for (i = 1; i < good.body.size; i++) {
		begin(&e, &pk, def, NULL, WRONG);
		snprintf(e.what, sizeof(e.what), "cut after %zu bytes", i);
		pack_raw(&pk, good.body.data, i);
		end(&e);
	}
	for (i = 0; i < 2; i++) {
		begin(&e, &pk, def, NULL, WRONG);
		snprintf(e.what, sizeof(e.what), "followed by %s", i ?
		    "itself" : "a byte");
		pack_raw(&pk, good.body.data, good.body.size);
		pack_raw(&pk, good.body.data, i ? good.body.size : 1);
		end(&e);
	}
	for (i = 0; i < ODD_MAX; i++) {
		begin(&e, &pk, def, NULL, WRONG);
		snprintf(e.what, sizeof(e.what), "is %s", odd_name(i));
		odd_pack(&pk, i);
		end(&e);
		begin(&e, &pk, def, NULL, WRONG);
		snprintf(e.what, sizeof(e.what), "a key is %s", odd_name(i));
		pack_rest(&pk, def, NULL, 0, 1);
		odd_pack(&pk, i);
		msgpack_pack_uint64(&pk, 1);
		end(&e);
	}
	begin(&e, &pk, def, NULL, WRONG);
	snprintf(e.what, sizeof(e.what), "an array");
	msgpack_pack_array(&pk, def->nfields + 1);
	for (i = 0; i <= def->nfields; i++)
		msgpack_pack_uint64(&pk, 1);
	end(&e);
	/* Last: it may be done. */
	end(&good);
}

void
evil_cases(const struct msg_def *def, const struct evil_names *n,
    void (*f)(const struct evil *, void *), void *arg)
{
	const struct msg_field	*field;
	size_t			 i;

	names = n;
	each = f;
	each_arg = arg;
	for (i = 0; i < def->nfields; i++) {
		field = &def->fields[i];
		wrong_types(def, field);
		if (field->kind == M_UINT)
			bounds_uint(def, field);
		else if (field->kind == M_STR || field->kind == M_TEXT)
			bounds_text(def, field);
		else
			bounds_vector(def, field);
		presence(def, field);
	}
	bodies(def);
}
