/*
 * output_json.c: what programs read: one JSON object to a line.
 *
 * The tables of the protocol name the fields, so what the daemon sends is
 * printed whole and by the names that the protocol's manual explains.
 */

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "sandboxctl.h"
#include "spec.h"
#include "version.h"

static __attribute__((__noreturn__)) void
json_no_memory(void)
{
	fprintf(stderr, "sandboxctl: out of memory (internal)\n");
	exit(code_exit(CODE_INTERNAL));
}

static json_t *
json_need(json_t *v)
{
	if (v == NULL)
		json_no_memory();
	return (v);
}

static json_t *
json_base64(const void *data, size_t len)
{
	json_t	*v;
	char	*text;

	if ((text = malloc(BASE64_LEN(len) + 1)) == NULL)
		json_no_memory();
	base64_encode(text, data, len);
	v = json_need(json_stringn(text, BASE64_LEN(len)));
	free(text);
	return (v);
}

/*
 * JSON is UTF-8: a byte which is not becomes U+FFFD, unless it is to be told
 * whole.
 */
static int	 whole;

static json_t *
json_text(const char *str)
{
	json_t	*v, *o;
	char	*fixed, *to;
	size_t	 len = strlen(str), i;

	/* Whether it is one has nothing to do with whether there is memory. */
	if (spec_valid_utf8(str))
		return (json_need(json_string(str)));
	if (whole) {
		o = json_need(json_object());
		if (json_object_set_new(o, "base64",
		    json_base64(str, len)) == -1)
			json_no_memory();
		return (o);
	}
	if ((fixed = calloc(len + 1, 3)) == NULL)
		json_no_memory();
	to = fixed;
	/* Byte by byte what is no ASCII: rare, and never wrong. */
	for (i = 0; i < len; i++) {
		if ((unsigned char)str[i] < 0x80)
			*to++ = str[i];
		else {
			memcpy(to, "\xef\xbf\xbd", 3);
			to += 3;
		}
	}
	v = json_string(fixed);
	free(fixed);
	return (json_need(v));
}

static json_t *
json_uint(const void *p, size_t size)
{
	uint64_t	 n = 0;

	switch (size) {
	case 1:
		n = *(const uint8_t *)p;
		break;
	case 2:
		n = *(const uint16_t *)p;
		break;
	case 4:
		n = *(const uint32_t *)p;
		break;
	case 8:
		n = *(const uint64_t *)p;
		break;
	}
	return (json_need(json_integer((json_int_t)n)));
}

static json_t *
json_strv(const struct strv *sv)
{
	json_t	*a = json_need(json_array());
	size_t	 i;

	for (i = 0; i < sv->n; i++)
		if (json_array_append_new(a, json_text(sv->v[i])) == -1)
			json_no_memory();
	return (a);
}

static void
json_put(json_t *o, const char *key, json_t *v)
{
	/* A key that is no UTF-8 cannot be one of ours. */
	if (json_object_set_new_nocheck(o, key, v) == -1)
		json_no_memory();
}

static json_t *
json_kvv(const struct kvv *kvv)
{
	json_t	*o = json_need(json_object()), *k;
	size_t	 i;
	int	 was = whole;

	for (i = 0; i < kvv->n; i++) {
		/* A name can be nothing but text. */
		whole = 0;
		k = json_text(kvv->v[i].k);
		whole = was;
		json_put(o, json_string_value(k), json_text(kvv->v[i].v));
		json_decref(k);
	}
	return (o);
}

static json_t *
json_u64v(const struct u64v *uv)
{
	json_t	*a = json_need(json_array());
	size_t	 i;

	for (i = 0; i < uv->n; i++)
		if (json_array_append_new(a, json_uint(&uv->v[i],
		    sizeof(uv->v[i]))) == -1)
			json_no_memory();
	return (a);
}

static json_t *
json_field(const struct msg_field *fd, const void *msg)
{
	const void		*p = (const char *)msg + fd->off;
	const struct blob	*b;
	const char		*s;

	switch (fd->kind) {
	case M_UINT:
		return (json_uint(p, fd->size));
	case M_INT:
		return (json_need(json_integer(fd->size == 4 ?
		    *(const int32_t *)p : *(const int64_t *)p)));
	case M_STR:
		return (json_text(p));
	case M_TEXT:
		s = *(char *const *)p;
		return (json_text(s == NULL ? "" : s));
	case M_STRV:
		return (json_strv(p));
	case M_KVV:
		return (json_kvv(p));
	case M_U64V:
		return (json_u64v(p));
	case M_BLOB:
		b = p;
		return (json_base64(b->data, b->len));
	}
	return (json_need(json_null()));
}

static json_t *
json_of(const struct msg_def *def, const void *msg)
{
	json_t	*o = json_need(json_object());
	size_t	 i;

	for (i = 0; i < def->nfields; i++)
		json_put(o, def->fields[i].name,
		    json_field(&def->fields[i], msg));
	return (o);
}

/*
 * What the library makes of an object.  It does not heed that a part could not
 * be taken, and goes on with the next: so nothing is, after the first.
 */
struct made {
	char	*text;
	size_t	 len;
	size_t	 size;
	int	 failed;
};

static int
made_add(const char *s, size_t len, void *arg)
{
	struct made	*l = arg;
	size_t		 size;
	char		*p;

	if (!l->failed && l->size - l->len <= len) {
		size = 2 * (l->len + len) + 256;
		if ((p = realloc(l->text, size)) == NULL)
			l->failed = 1;
		else {
			l->text = p;
			l->size = size;
		}
	}
	if (l->failed)
		return (-1);
	memcpy(l->text + l->len, s, len);
	l->len += len;
	return (0);
}

/*
 * JSON leaves DEL and U+0080 to U+009F as they are, but a terminal does what
 * they say: they are written as the numbers that a string may have instead.
 */
static void
json_line(FILE *f, json_t *o)
{
	const unsigned char	*p;
	struct made		 l = { NULL, 0, 0, 0 };

	if (json_dump_callback(o, made_add, &l, JSON_COMPACT) == -1 ||
	    made_add("", 1, &l) == -1)
		json_no_memory();
	for (p = (const unsigned char *)l.text; *p != '\0'; p++) {
		if (*p == 0x7f)
			fprintf(f, "\\u007F");
		else if (*p == 0xc2 && p[1] < 0xa0)
			fprintf(f, "\\u%04X", *++p);
		else
			fputc(*p, f);
	}
	fputc('\n', f);
	free(l.text);
	json_decref(o);
}

void
json_message(FILE *f, const struct msg_def *def, const void *msg)
{
	json_line(f, json_of(def, msg));
}

/* A message of the client protocol. */
void
json_proto(FILE *f, uint32_t type, const void *msg)
{
	json_message(f, proto_def(type), msg);
}

/* The same as the one member of an object: told from its neighbours by it. */
void
json_kind(FILE *f, uint32_t type, const void *msg)
{
	const struct msg_def	*def = proto_def(type);
	json_t			*o = json_need(json_object());

	json_put(o, def->name, json_of(def, msg));
	json_line(f, o);
}

static json_t *
json_of_error(const char *code, const char *field, const char *text)
{
	json_t	*e = json_need(json_object());

	json_put(e, "code", json_text(code));
	json_put(e, "text", json_text(text));
	if (*field != '\0')
		json_put(e, "field", json_text(field));
	return (e);
}

void
json_error(FILE *f, const char *code, const char *field, const char *text)
{
	json_t	*o = json_need(json_object());

	json_put(o, "error", json_of_error(code, field, text));
	json_line(f, o);
}

/* An answer of a session: id is what stands for it, as JSON. */
static void
json_answer_line(FILE *f, const char *id, const char *name, json_t *v)
{
	json_t	*o = json_need(json_object()), *i;

	(void)json_lacked();
	i = json_need(json_loads(id, JSON_DECODE_ANY, NULL));
	if (json_lacked())
		json_no_memory();
	json_put(o, "id", i);
	json_put(o, name, v);
	json_line(f, o);
}

void
json_answer(FILE *f, const char *id, const struct msg_def *def,
    const void *msg)
{
	json_t	*v;

	whole = 1;
	v = json_of(def, msg);
	whole = 0;
	json_answer_line(f, id, def->name, v);
}

void
json_answer_error(FILE *f, const char *id, const char *code,
    const char *field, const char *text)
{
	json_answer_line(f, id, "error", json_of_error(code, field, text));
}

static json_t *
json_of_version(const struct proto_hello_ok *h)
{
	json_t	*o;

	o = h == NULL ? json_need(json_object()) :
	    json_of(proto_def(PROTO_HELLO_OK), h);
	json_put(o, "sandboxctl", json_text(SANDBOXD_VERSION));
	return (o);
}

void
json_answer_version(FILE *f, const char *id, const struct proto_hello_ok *h)
{
	json_answer_line(f, id, "version", json_of_version(h));
}

/* The daemon's state, with its processes in an array. */
void
json_status(FILE *f, const struct proto_status_info *s,
    const struct proto_proc *procs, size_t n)
{
	json_t	*o, *a = json_need(json_array());
	size_t	 i;

	o = json_of(proto_def(PROTO_STATUS_INFO), s);
	for (i = 0; i < n; i++)
		if (json_array_append_new(a, json_of(proto_def(PROTO_PROC),
		    &procs[i])) == -1)
			json_no_memory();
	json_put(o, "processes", a);
	json_line(f, o);
}

/* A sandbox, with its controls in an array. */
void
json_show(FILE *f, const struct proto_sandbox *s,
    const struct proto_control *controls, size_t n)
{
	json_t	*o, *a = json_need(json_array());
	size_t	 i;

	o = json_of(proto_def(PROTO_SANDBOX), s);
	for (i = 0; i < n; i++)
		if (json_array_append_new(a, json_of(proto_def(PROTO_CONTROL),
		    &controls[i])) == -1)
			json_no_memory();
	json_put(o, "controls", a);
	json_line(f, o);
}

void
json_version(FILE *f, const struct proto_hello_ok *h)
{
	json_line(f, json_of_version(h));
}

void
json_ping(FILE *f, uint64_t ns)
{
	json_t	*o = json_need(json_object());

	json_put(o, "nanoseconds", json_uint(&ns, sizeof(ns)));
	json_line(f, o);
}

/* How many something was done to: a line with that member alone. */
void
json_count(FILE *f, const char *what, uint64_t n)
{
	json_t	*o = json_need(json_object());

	json_put(o, what, json_uint(&n, sizeof(n)));
	json_line(f, o);
}
