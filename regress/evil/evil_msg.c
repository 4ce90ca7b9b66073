/* See evil_msg.h. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evil_msg.h"
#include "evil_odd.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define WORDS_MAX	32
#define LONG_MAX_BYTES	131072	/* of one text, longer is not sent */

static struct {
	char		 name[32];
	char		 text[256];
	uint64_t	 number;
} words[WORDS_MAX];
static size_t	 nwords;

static void
set(const char *name, const char *text, uint64_t number)
{
	size_t	 i;

	for (i = 0; i < nwords; i++)
		if (strcmp(words[i].name, name) == 0)
			break;
	if (i == WORDS_MAX)
		abort();
	if (i == nwords)
		nwords++;
	snprintf(words[i].name, sizeof(words[i].name), "%s", name);
	snprintf(words[i].text, sizeof(words[i].text), "%s", text);
	words[i].number = number;
}

void
evil_set(const char *name, const char *text)
{
	set(name, text, 0);
}

void
evil_set_number(const char *name, uint64_t number)
{
	set(name, "", number);
}

void
evil_unset(void)
{
	nwords = 0;
}

static size_t
word(const char *name)
{
	size_t	 i;

	for (i = 0; i < nwords; i++)
		if (strcmp(words[i].name, name) == 0)
			break;
	return (i);
}

static void
str(msgpack_packer *pk, const char *s)
{
	msgpack_pack_str_with_body(pk, s, strlen(s));
}

/* n times the same byte. */
static void
run(msgpack_packer *pk, size_t n, int c)
{
	static char	 buf[LONG_MAX_BYTES + 1];

	memset(buf, c, sizeof(buf));
	msgpack_pack_str_with_body(pk, buf, n);
}

/* A field as it should be. */
static void
plain(msgpack_packer *pk, const struct msg_field *f)
{
	size_t	 i = word(f->name);

	switch (f->kind) {
	case M_UINT:
		msgpack_pack_uint64(pk, i < nwords ? words[i].number : 0);
		break;
	case M_INT:
		msgpack_pack_int64(pk, i < nwords ? words[i].number : 0);
		break;
	case M_STR:
	case M_TEXT:
		str(pk, i < nwords ? words[i].text : "");
		break;
	case M_BLOB:
		msgpack_pack_bin(pk, 0);
		break;
	case M_STRV:
		if (i < nwords) {
			msgpack_pack_array(pk, 1);
			str(pk, words[i].text);
		} else
			msgpack_pack_array(pk, 0);
		break;
	case M_U64V:
		msgpack_pack_array(pk, 0);
		break;
	case M_KVV:
		msgpack_pack_map(pk, 0);
		break;
	}
}

static int
taken_uint(msgpack_packer *pk, const struct msg_field *f, unsigned int n)
{
	static const uint64_t	 v[] = {
		0, 1, 2, 3, 63, 64, 65, 999, 1000, 65534, 65536, 0x7fffffff,
		0x80000000, 0xfffffffe, 0xffffffff, INT64_MAX, UINT64_MAX
	};
	uint64_t		 u;

	if (n > COUNT(v))
		return (0);
	u = n == COUNT(v) ? msg_max(f) - 1 : v[n];
	/* Each number has a form, so that counting is simple. */
	msgpack_pack_uint64(pk, u > msg_max(f) ? msg_max(f) : u);
	return (1);
}

static int
taken_int(msgpack_packer *pk, const struct msg_field *f, unsigned int n)
{
	static const int64_t	 v[] = {
		0, 1, -1, 255, 256, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX
	};

	if (n >= COUNT(v))
		return (0);
	msgpack_pack_int64(pk, f->size == 4 && (v[n] < INT32_MIN ||
	    v[n] > INT32_MAX) ? -2 : v[n]);
	return (1);
}

/* What another reader of the text might take for something else. */
static const char *const	 texts[] = {
	"", "a", "/", ".", "..", "../../etc/passwd", "/etc/shadow",
	"/var/run/docker.sock", "a/b", "0/a", "4294967295/a", "a.1",
	"-", "--privileged", "-v/:/h", "a:b,c=d", "\xff\xfe", "\xc0\xaf",
	"\x1b]0;evil\a", "a\nb: c", "a\r\n\r\nDELETE / HTTP/1.1", "%s%n%d",
	"a\"},\"Privileged\":true,\"x\":{\"", "root", "0", "-1", "0:0",
	"4294967296", "/proc/self/root", "sha256:00", "a?force=1&v=1",
	"%2e%2e%2f", "ready", "deleted", "audit"
};

static int
taken_text(msgpack_packer *pk, const struct msg_field *f, unsigned int n)
{
	size_t	 len = msg_max(f);

	if (len > LONG_MAX_BYTES)
		len = LONG_MAX_BYTES;
	if (n < COUNT(texts)) {
		str(pk, strlen(texts[n]) > len ? "a" : texts[n]);
		return (1);
	}
	n -= COUNT(texts);
	if (n > 2)
		return (0);
	run(pk, len, n == 0 ? 'a' : n == 1 ? '/' : 0xff);
	return (1);
}

static int
taken_strv(msgpack_packer *pk, const struct msg_field *f, unsigned int n)
{
	uint64_t	 i;

	switch (n) {
	case 0:
		msgpack_pack_array(pk, 0);
		return (1);
	case 1:
		msgpack_pack_array(pk, msg_max(f));
		for (i = 0; i < msg_max(f); i++)
			str(pk, "a");
		return (1);
	case 2:
		msgpack_pack_array(pk, 2);
		str(pk, "a");
		run(pk, LONG_MAX_BYTES, 'a');
		return (1);
	default:
		if ((n -= 3) >= COUNT(texts))
			return (0);
		msgpack_pack_array(pk, 1);
		str(pk, texts[n]);
		return (1);
	}
}

static int
taken_kvv(msgpack_packer *pk, const struct msg_field *f, unsigned int n)
{
	static const char *const	 pairs[][2] = {
		{ "", "" }, { "A", "" }, { "A", "\xff" }, { "A=B", "C" },
		{ "=", "" }, { "LD_PRELOAD", "/evil.so" },
		{ "SANDBOXD_SOCKET", "/s" }, { "A\nB", "C" },
		{ "A", "B\nC" }, { "a", "b" }, { "sandboxd.op", "0" },
		{ "sandboxd.instance", "x" }, { "PATH", "" }, { "\xc0", "x" }
	};
	char				 key[16];
	uint64_t			 i;

	switch (n) {
	case 0:
		msgpack_pack_map(pk, 0);
		return (1);
	case 1:
		msgpack_pack_map(pk, msg_max(f));
		for (i = 0; i < msg_max(f); i++) {
			snprintf(key, sizeof(key), "K%u", (unsigned int)i);
			str(pk, key);
			str(pk, "v");
		}
		return (1);
	case 2:
		msgpack_pack_map(pk, 1);
		str(pk, "A");
		run(pk, LONG_MAX_BYTES, 'a');
		return (1);
	default:
		if ((n -= 3) >= COUNT(pairs))
			return (0);
		msgpack_pack_map(pk, 1);
		str(pk, pairs[n][0]);
		str(pk, pairs[n][1]);
		return (1);
	}
}

static int
taken_u64v(msgpack_packer *pk, const struct msg_field *f, unsigned int n)
{
	uint64_t	 i, len = n == 0 ? 0 : n == 1 ? 1 : msg_max(f);

	if (n > 2)
		return (0);
	msgpack_pack_array(pk, len);
	for (i = 0; i < len; i++)
		msgpack_pack_uint64(pk, UINT64_MAX);
	return (1);
}

static int
taken(msgpack_packer *pk, const struct msg_field *f, unsigned int n)
{
	switch (f->kind) {
	case M_UINT:
		return (taken_uint(pk, f, n));
	case M_INT:
		return (taken_int(pk, f, n));
	case M_STR:
	case M_TEXT:
		return (taken_text(pk, f, n));
	case M_STRV:
		return (taken_strv(pk, f, n));
	case M_KVV:
		return (taken_kvv(pk, f, n));
	case M_U64V:
		return (taken_u64v(pk, f, n));
	default:
		if (n > 0)
			return (0);
		msgpack_pack_bin(pk, 0);
		return (1);
	}
}

static void
past_vector(msgpack_packer *pk, const struct msg_field *f)
{
	uint64_t	 i, n = msg_max(f) + 1;
	char		 key[16];

	if (f->kind == M_KVV)
		msgpack_pack_map(pk, n);
	else
		msgpack_pack_array(pk, n);
	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "K%u", (unsigned int)i);
		if (f->kind == M_U64V)
			msgpack_pack_uint64(pk, i);
		else
			str(pk, key);
		if (f->kind == M_KVV)
			str(pk, "v");
	}
}

/* Just past what the field takes: 1, or 0 if it has no such bound. */
static int
past(msgpack_packer *pk, const struct msg_field *f)
{
	switch (f->kind) {
	case M_UINT:
		if (msg_max(f) == UINT64_MAX)
			return (0);
		msgpack_pack_uint64(pk, msg_max(f) + 1);
		return (1);
	case M_INT:
		msgpack_pack_uint64(pk, msg_max(f) + 1);
		return (1);
	case M_STR:
	case M_TEXT:
		if (msg_max(f) >= LONG_MAX_BYTES)
			return (0);
		run(pk, msg_max(f) + 1, 'a');
		return (1);
	case M_BLOB:
		return (0);
	default:
		if (msg_max(f) > 65536)
			return (0);
		past_vector(pk, f);
		return (1);
	}
}

/* What is wrong within a value of the right type. */
static int
within(msgpack_packer *pk, const struct msg_field *f, unsigned int n)
{
	switch (f->kind) {
	case M_STR:
	case M_TEXT:
		if (n > 0)
			return (0);
		msgpack_pack_str_with_body(pk, "a\0b", 3);
		return (1);
	case M_STRV:
		if (n > 1)
			return (0);
		msgpack_pack_array(pk, 1);
		break;
	case M_U64V:
		if (n > 1)
			return (0);
		msgpack_pack_array(pk, 1);
		if (n == 0)
			str(pk, "1");
		else
			msgpack_pack_int64(pk, -1);
		return (1);
	case M_KVV:
		if (n > 4)
			return (0);
		msgpack_pack_map(pk, n == 4 ? 2 : 1);
		if (n == 4) {
			str(pk, "A");
			str(pk, "1");
			str(pk, "A");
			str(pk, "2");
			return (1);
		}
		if (n > 1)
			str(pk, "A");
		break;
	default:
		return (0);
	}
	if (n & 1)
		msgpack_pack_str_with_body(pk, "a\0b", 3);
	else
		msgpack_pack_uint64(pk, 1);
	if (f->kind == M_KVV && n < 2)
		str(pk, "v");
	return (1);
}

static int
refused(msgpack_packer *pk, const struct msg_field *f, unsigned int n)
{
	unsigned int	 o;

	for (o = 0; o < ODD_HUGE_STR; o++) {
		if (odd_fits(f->kind, o))
			continue;
		if (n-- == 0) {
			odd_pack(pk, o);
			return (1);
		}
	}
	if (n-- == 0) {
		if (past(pk, f))
			return (1);
		/* Without such a bound nothing at all is in its place. */
		odd_pack(pk, ODD_NIL);
		return (1);
	}
	return (within(pk, f, n));
}

/* The message as a whole, or an array that is none. */
static int
refused_whole(msgpack_sbuffer *sb, const struct msg_def *def, unsigned int n)
{
	static const char	 endless[] = "\xdd\xff\xff\xff\xff";
	static const char	 longest[] = "\xdb\xff\xff\xff\xff";
	static const char	 map[] = "\x81\xa1" "a\x01";
	static const char	 never[] = "\xc1";
	msgpack_packer		 pk;
	size_t			 i;

	msgpack_packer_init(&pk, sb, msgpack_sbuffer_write);
	switch (n) {
	case 0:			/* one field more */
	case 1:			/* something behind it */
	case 2:			/* cut short */
		msgpack_pack_array(&pk, def->nfields + (n == 0));
		for (i = 0; i < def->nfields; i++)
			plain(&pk, &def->fields[i]);
		/* Nothing at all is right for what has no fields. */
		if (n == 2 && def->nfields > 0)
			sb->size--;
		else
			msgpack_pack_nil(&pk);
		return (1);
	case 3:
		return (msgpack_sbuffer_write(sb, endless, 5) == 0);
	case 4:
		return (msgpack_sbuffer_write(sb, longest, 5) == 0);
	case 5:
		return (msgpack_sbuffer_write(sb, map, 4) == 0);
	case 6:
		return (msgpack_sbuffer_write(sb, never, 1) == 0);
	case 7:
		for (i = 0; i < 1000; i++)
			msgpack_pack_array(&pk, 1);
		msgpack_pack_nil(&pk);
		return (1);
	default:
		return (0);
	}
}

int
evil_message(msgpack_sbuffer *sb, const struct msg_def *def,
    enum evil_form form, size_t field, unsigned int n)
{
	msgpack_packer	 pk;
	size_t		 i;
	int		 missing;

	if (field == def->nfields && form == EVIL_REFUSED)
		return (refused_whole(sb, def, n));
	if (field == def->nfields && n > 0)
		return (0);
	missing = form == EVIL_REFUSED && n == 0;
	msgpack_packer_init(&pk, sb, msgpack_sbuffer_write);
	msgpack_pack_array(&pk, def->nfields - missing);
	for (i = 0; i < def->nfields; i++) {
		if (i != field)
			plain(&pk, &def->fields[i]);
		else if (!missing && !(form == EVIL_TAKEN ?
		    taken(&pk, &def->fields[i], n) :
		    refused(&pk, &def->fields[i], n - 1)))
			return (0);
	}
	return (1);
}
