/* Messages by tables: structures to msgpack and back. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "msg.h"

#define MSG_DEPTH	4	/* message, vector, pair */
#define MSG_FIELDS_MAX	64

#define AT(st, f)	((void *)((char *)(st) + (f)->off))
#define CAT(st, f)	((const void *)((const char *)(st) + (f)->off))

static uint64_t
uint_get(const void *p, size_t size)
{
	uint64_t	 u64;
	uint32_t	 u32;
	uint16_t	 u16;
	uint8_t		 u8;

	switch (size) {
	case 1:
		memcpy(&u8, p, 1);
		return (u8);
	case 2:
		memcpy(&u16, p, 2);
		return (u16);
	case 4:
		memcpy(&u32, p, 4);
		return (u32);
	default:
		memcpy(&u64, p, 8);
		return (u64);
	}
}

static void
uint_set(void *p, size_t size, uint64_t v)
{
	uint32_t	 u32 = v;
	uint16_t	 u16 = v;
	uint8_t		 u8 = v;

	switch (size) {
	case 1:
		memcpy(p, &u8, 1);
		break;
	case 2:
		memcpy(p, &u16, 2);
		break;
	case 4:
		memcpy(p, &u32, 4);
		break;
	default:
		memcpy(p, &v, 8);
		break;
	}
}

static int64_t
int_get(const void *p, size_t size)
{
	int64_t	 i64;
	int32_t	 i32;

	if (size == 4) {
		memcpy(&i32, p, 4);
		return (i32);
	}
	memcpy(&i64, p, 8);
	return (i64);
}

static void
int_set(void *p, size_t size, int64_t v)
{
	int32_t	 i32 = v;

	if (size == 4)
		memcpy(p, &i32, 4);
	else
		memcpy(p, &v, 8);
}

/* The largest value, length or count that a field takes. */
uint64_t
msg_max(const struct msg_field *f)
{
	switch (f->kind) {
	case M_UINT:
		if (f->max != 0)
			return (f->max);
		return (f->size == 8 ? UINT64_MAX :
		    ((uint64_t)1 << (f->size * 8)) - 1);
	case M_STR:
		return (f->size - 1);
	case M_INT:
		return (f->size == 4 ? INT32_MAX : INT64_MAX);
	default:
		return (f->max != 0 ? f->max : UINT32_MAX);
	}
}

static int
pack_str(msgpack_packer *pk, const char *s)
{
	return (msgpack_pack_str_with_body(pk, s, strlen(s)));
}

static int
pack_kvv(msgpack_packer *pk, const struct kvv *v)
{
	size_t	 i;

	if (msgpack_pack_map(pk, v->n) == -1)
		return (-1);
	for (i = 0; i < v->n; i++)
		if (pack_str(pk, v->v[i].k) == -1 ||
		    pack_str(pk, v->v[i].v) == -1)
			return (-1);
	return (0);
}

static int
pack_strv(msgpack_packer *pk, const struct strv *v)
{
	size_t	 i;

	if (msgpack_pack_array(pk, v->n) == -1)
		return (-1);
	for (i = 0; i < v->n; i++)
		if (pack_str(pk, v->v[i]) == -1)
			return (-1);
	return (0);
}

static int
pack_u64v(msgpack_packer *pk, const struct u64v *v)
{
	size_t	 i;

	if (msgpack_pack_array(pk, v->n) == -1)
		return (-1);
	for (i = 0; i < v->n; i++)
		if (msgpack_pack_uint64(pk, v->v[i]) == -1)
			return (-1);
	return (0);
}

static int
pack_field(msgpack_packer *pk, const void *p, const struct msg_field *f)
{
	const struct blob	*b;
	const char		*text;

	switch (f->kind) {
	case M_UINT:
		return (msgpack_pack_uint64(pk, uint_get(p, f->size)));
	case M_INT:
		return (msgpack_pack_int64(pk, int_get(p, f->size)));
	case M_STR:
		return (pack_str(pk, p));
	case M_TEXT:
		memcpy(&text, p, sizeof(text));
		return (pack_str(pk, text == NULL ? "" : text));
	case M_BLOB:
		b = p;
		return (msgpack_pack_bin_with_body(pk, b->data, b->len));
	case M_STRV:
		return (pack_strv(pk, p));
	case M_KVV:
		return (pack_kvv(pk, p));
	case M_U64V:
		return (pack_u64v(pk, p));
	}
	return (-1);
}

/* Has it the value that stands for none? */
static int
field_empty(const void *p, const struct msg_field *f)
{
	const char	*text;

	switch (f->kind) {
	case M_UINT:
		return (uint_get(p, f->size) == 0);
	case M_INT:
		return (int_get(p, f->size) == 0);
	case M_STR:
		return (*(const char *)p == '\0');
	case M_TEXT:
		memcpy(&text, p, sizeof(text));
		return (text == NULL || *text == '\0');
	case M_BLOB:
		return (((const struct blob *)p)->len == 0);
	case M_STRV:
		return (((const struct strv *)p)->n == 0);
	case M_KVV:
		return (((const struct kvv *)p)->n == 0);
	case M_U64V:
		return (((const struct u64v *)p)->n == 0);
	}
	return (0);
}

int
msg_encode_row(msgpack_sbuffer *sb, const struct msg_def *def,
    const void *st, const struct msg_rest *rest)
{
	msgpack_packer	 pk;
	size_t		 i, n = rest == NULL ? 0 : rest->n;

	msgpack_packer_init(&pk, sb, msgpack_sbuffer_write);
	if (msgpack_pack_array(&pk, def->nfields + n) == -1)
		return (-1);
	for (i = 0; i < def->nfields; i++)
		if (pack_field(&pk, CAT(st, &def->fields[i]),
		    &def->fields[i]) == -1)
			return (-1);
	if (n > 0 && msgpack_sbuffer_write(sb, rest->data,
	    rest->len) == -1)
		return (-1);
	return (0);
}

int
msg_encode_array(msgpack_sbuffer *sb, const struct msg_def *def,
    const void *st)
{
	return (msg_encode_row(sb, def, st, NULL));
}

int
msg_encode_map(msgpack_sbuffer *sb, const struct msg_def *def,
    const void *st)
{
	return (msg_encode_map_first(sb, def, st, def->nfields));
}

const char *
msg_beyond(const struct msg_def *def, const void *st, size_t nfields)
{
	size_t	 i;

	for (i = nfields; i < def->nfields; i++)
		if (!field_empty(CAT(st, &def->fields[i]), &def->fields[i]))
			return (def->fields[i].name);
	return (NULL);
}

int
msg_encode_map_first(msgpack_sbuffer *sb, const struct msg_def *def,
    const void *st, size_t nfields)
{
	const struct msg_field	*f;
	msgpack_packer		 pk;
	size_t			 i, n = 0;

	if (nfields > def->nfields)
		nfields = def->nfields;
	for (i = 0; i < nfields; i++) {
		f = &def->fields[i];
		if (!(f->flags & M_OPT) || !field_empty(CAT(st, f), f))
			n++;
	}
	msgpack_packer_init(&pk, sb, msgpack_sbuffer_write);
	if (msgpack_pack_map(&pk, n) == -1)
		return (-1);
	for (i = 0; i < nfields; i++) {
		f = &def->fields[i];
		if (f->flags & M_OPT && field_empty(CAT(st, f), f))
			continue;
		if (pack_str(&pk, f->name) == -1 ||
		    pack_field(&pk, CAT(st, f), f) == -1)
			return (-1);
	}
	return (0);
}

/* An empty string's pointer may be NULL. */
static int
has_nul(const msgpack_object *o)
{
	return (o->via.str.size > 0 &&
	    memchr(o->via.str.ptr, '\0', o->via.str.size) != NULL);
}

/*
 * A copy of a string that has no NUL, in memory of its own; NULL and a text
 * if it is none.
 */
static char *
take_str(const msgpack_object *o, const char **why)
{
	char	*s;

	if (o->type != MSGPACK_OBJECT_STR) {
		*why = "not a string";
		return (NULL);
	}
	if (has_nul(o)) {
		*why = "contains a NUL";
		return (NULL);
	}
	if ((s = malloc((size_t)o->via.str.size + 1)) == NULL) {
		*why = "out of memory";
		return (NULL);
	}
	if (o->via.str.size > 0)
		memcpy(s, o->via.str.ptr, o->via.str.size);
	s[o->via.str.size] = '\0';
	return (s);
}

static int
take_uint(void *p, const struct msg_field *f, const msgpack_object *o,
    const char **why)
{
	if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
		*why = o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER ?
		    "too small" : "not a number";
		return (-1);
	}
	if (o->via.u64 > msg_max(f)) {
		*why = "too large";
		return (-1);
	}
	uint_set(p, f->size, o->via.u64);
	return (0);
}

static int
take_int(void *p, const struct msg_field *f, const msgpack_object *o,
    const char **why)
{
	int64_t	 v;

	if (o->type == MSGPACK_OBJECT_POSITIVE_INTEGER) {
		if (o->via.u64 > msg_max(f)) {
			*why = "too large";
			return (-1);
		}
		v = o->via.u64;
	} else if (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) {
		v = o->via.i64;
		if (f->size == 4 && v < INT32_MIN) {
			*why = "too small";
			return (-1);
		}
	} else {
		*why = "not a number";
		return (-1);
	}
	int_set(p, f->size, v);
	return (0);
}

static int
take_fixed_str(char *p, const struct msg_field *f, const msgpack_object *o,
    const char **why)
{
	if (o->type != MSGPACK_OBJECT_STR) {
		*why = "not a string";
		return (-1);
	}
	if (o->via.str.size > msg_max(f)) {
		*why = "too long";
		return (-1);
	}
	if (has_nul(o)) {
		*why = "contains a NUL";
		return (-1);
	}
	if (o->via.str.size > 0)
		memcpy(p, o->via.str.ptr, o->via.str.size);
	p[o->via.str.size] = '\0';
	return (0);
}

static int
take_blob(struct blob *b, const struct msg_field *f, const msgpack_object *o,
    const char **why)
{
	if (o->type != MSGPACK_OBJECT_BIN) {
		*why = "not bytes";
		return (-1);
	}
	if (o->via.bin.size > msg_max(f)) {
		*why = "too long";
		return (-1);
	}
	if (o->via.bin.size == 0)
		return (0);
	if ((b->data = malloc(o->via.bin.size)) == NULL) {
		*why = "out of memory";
		return (-1);
	}
	memcpy(b->data, o->via.bin.ptr, o->via.bin.size);
	b->len = o->via.bin.size;
	return (0);
}

/* An array whose count the field allows. */
static int
take_array(const struct msg_field *f, const msgpack_object *o,
    const char **why)
{
	if (o->type != MSGPACK_OBJECT_ARRAY) {
		*why = "not an array";
		return (-1);
	}
	if (o->via.array.size > msg_max(f)) {
		*why = "too many entries";
		return (-1);
	}
	return (0);
}

static int
take_strv(struct strv *s, const struct msg_field *f, const msgpack_object *o,
    const char **why)
{
	size_t	 i, n;

	if (take_array(f, o, why) == -1)
		return (-1);
	if ((n = o->via.array.size) == 0)
		return (0);
	if ((s->v = calloc(n * 2 + 1, sizeof(*s->v))) == NULL) {
		*why = "out of memory";
		return (-1);
	}
	for (i = 0; i < n; i++) {
		if ((s->v[i] = take_str(&o->via.array.ptr[i], why)) == NULL)
			return (-1);
		s->n++;
	}
	return (0);
}

static int
take_u64v(struct u64v *s, const struct msg_field *f, const msgpack_object *o,
    const char **why)
{
	const msgpack_object	*e;
	size_t			 i;

	if (take_array(f, o, why) == -1)
		return (-1);
	for (i = 0; i < o->via.array.size; i++) {
		e = &o->via.array.ptr[i];
		if (e->type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
			*why = "not a number";
			return (-1);
		}
		if (u64v_add(s, e->via.u64) == -1) {
			*why = "out of memory";
			return (-1);
		}
	}
	return (0);
}

static int
kv_cmp(const void *a, const void *b)
{
	return (strcmp(*(char *const *)a, *(char *const *)b));
}

/* A key that stands twice would leave the choice to who reads. */
static int
kvv_once(const struct kvv *s, const char **why)
{
	const char	**keys;
	size_t		  i;
	int		  ret = 0;

	if (s->n < 2)
		return (0);
	if ((keys = calloc(s->n, sizeof(*keys))) == NULL) {
		*why = "out of memory";
		return (-1);
	}
	for (i = 0; i < s->n; i++)
		keys[i] = s->v[i].k;
	qsort(keys, s->n, sizeof(*keys), kv_cmp);
	for (i = 1; i < s->n; i++)
		if (strcmp(keys[i - 1], keys[i]) == 0) {
			*why = "a key stands twice";
			ret = -1;
			break;
		}
	free(keys);
	return (ret);
}

static int
take_kvv(struct kvv *s, const struct msg_field *f, const msgpack_object *o,
    const char **why)
{
	const msgpack_object_kv	*e;
	size_t			 i, n;

	if (o->type != MSGPACK_OBJECT_MAP) {
		*why = "not a map";
		return (-1);
	}
	if ((n = o->via.map.size) > msg_max(f)) {
		*why = "too many entries";
		return (-1);
	}
	if (n == 0)
		return (0);
	if ((s->v = calloc(n * 2 + 1, sizeof(*s->v))) == NULL) {
		*why = "out of memory";
		return (-1);
	}
	for (i = 0; i < n; i++) {
		e = &o->via.map.ptr[i];
		s->n++;
		if ((s->v[i].k = take_str(&e->key, why)) == NULL ||
		    (s->v[i].v = take_str(&e->val, why)) == NULL)
			return (-1);
	}
	return (kvv_once(s, why));
}

static int
take_text(char **p, const struct msg_field *f, const msgpack_object *o,
    const char **why)
{
	if (o->type == MSGPACK_OBJECT_STR && o->via.str.size > msg_max(f)) {
		*why = "too long";
		return (-1);
	}
	free(*p);
	return ((*p = take_str(o, why)) == NULL ? -1 : 0);
}

static int
take_field(void *p, const struct msg_field *f, const msgpack_object *o,
    const char **why)
{
	switch (f->kind) {
	case M_UINT:
		return (take_uint(p, f, o, why));
	case M_INT:
		return (take_int(p, f, o, why));
	case M_STR:
		return (take_fixed_str(p, f, o, why));
	case M_TEXT:
		return (take_text(p, f, o, why));
	case M_BLOB:
		return (take_blob(p, f, o, why));
	case M_STRV:
		return (take_strv(p, f, o, why));
	case M_KVV:
		return (take_kvv(p, f, o, why));
	case M_U64V:
		return (take_u64v(p, f, o, why));
	}
	*why = "unknown kind";
	return (-1);
}

/* A text is never NULL: readers need no case for what was left out. */
static int
texts_fill(void *st, const struct msg_def *def)
{
	size_t	  i;
	char	**p;

	for (i = 0; i < def->nfields; i++) {
		if (def->fields[i].kind != M_TEXT)
			continue;
		p = AT(st, &def->fields[i]);
		if (*p == NULL && (*p = strdup("")) == NULL)
			return (-1);
	}
	return (0);
}

/* The text names it, as far as it is short and plain. */
static const char *
unknown_field(const msgpack_object *key)
{
	static char	 text[64];
	uint32_t	 i;
	char		 c;

	strlcpy(text, "unknown field", sizeof(text));
	if (key->type != MSGPACK_OBJECT_STR || key->via.str.size == 0 ||
	    key->via.str.size > 32)
		return (text);
	for (i = 0; i < key->via.str.size; i++) {
		c = key->via.str.ptr[i];
		if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') &&
		    (c < '0' || c > '9') && c != '_')
			return (text);
	}
	snprintf(text, sizeof(text), "unknown field: %.*s",
	    (int)key->via.str.size, key->via.str.ptr);
	return (text);
}

/*
 * With newer, the peer may be of another version: fields that we do not know
 * are passed over, and those after the first ones may be missing.
 */
static int
take_map(void *st, const struct msg_def *def, const msgpack_object *o,
    size_t first, int newer, const char **field, const char **why)
{
	const struct msg_field	*f;
	const msgpack_object	*key;
	uint64_t		 seen = 0;
	size_t			 i, j;

	if (o->type != MSGPACK_OBJECT_MAP) {
		*why = "not a map";
		return (-1);
	}
	for (i = 0; i < o->via.map.size; i++) {
		key = &o->via.map.ptr[i].key;
		for (j = 0; j < def->nfields; j++) {
			f = &def->fields[j];
			if (key->type == MSGPACK_OBJECT_STR &&
			    strlen(f->name) == key->via.str.size &&
			    memcmp(f->name, key->via.str.ptr,
			    key->via.str.size) == 0)
				break;
		}
		if (j == def->nfields && newer &&
		    key->type == MSGPACK_OBJECT_STR)
			continue;
		if (j == def->nfields) {
			*field = NULL;
			*why = unknown_field(key);
			return (-1);
		}
		*field = f->name;
		if (seen & (uint64_t)1 << j) {
			*why = "stands twice";
			return (-1);
		}
		seen |= (uint64_t)1 << j;
		if (take_field(AT(st, f), f, &o->via.map.ptr[i].val,
		    why) == -1)
			return (-1);
	}
	for (j = 0; j < def->nfields && j < first; j++)
		if (!(seen & (uint64_t)1 << j) &&
		    !(def->fields[j].flags & M_OPT)) {
			*field = def->fields[j].name;
			*why = "missing";
			return (-1);
		}
	return (0);
}

/* What stands behind the fields that we know, as it is. */
static int
take_rest(struct msg_rest *rest, const msgpack_object *o, size_t known)
{
	msgpack_sbuffer	 sb;
	msgpack_packer	 pk;
	size_t		 i;

	if (o->via.array.size <= known)
		return (0);
	msgpack_sbuffer_init(&sb);
	msgpack_packer_init(&pk, &sb, msgpack_sbuffer_write);
	for (i = known; i < o->via.array.size; i++)
		if (msgpack_pack_object(&pk, o->via.array.ptr[i]) == -1) {
			msgpack_sbuffer_destroy(&sb);
			return (-1);
		}
	rest->n = o->via.array.size - known;
	rest->len = sb.size;
	rest->data = msgpack_sbuffer_release(&sb);
	return (0);
}

static int
take_all(void *st, const struct msg_def *def, const msgpack_object *o,
    size_t first, struct msg_rest *rest, const char **why)
{
	size_t	 i, n;

	if (o->type != MSGPACK_OBJECT_ARRAY ||
	    (n = o->via.array.size) < first ||
	    (n > def->nfields && rest == NULL)) {
		*why = "wrong count";
		return (-1);
	}
	for (i = 0; i < def->nfields && i < n; i++)
		if (take_field(AT(st, &def->fields[i]), &def->fields[i],
		    &o->via.array.ptr[i], why) == -1)
			return (-1);
	if (rest != NULL && take_rest(rest, o, def->nfields) == -1) {
		*why = "out of memory";
		return (-1);
	}
	return (0);
}

/* How a decoding is meant. */
struct how {
	int		 map;
	size_t		 first;		/* fields that must be there */
	int		 newer;		/* a map may have others */
	struct msg_rest	*rest;		/* an array may be longer */
};

static int
msg_decode(void *st, const struct msg_def *def, const uint8_t *data,
    size_t len, const struct how *how, const char **field, const char **why)
{
	msgpack_unpacked	 up;
	size_t			 off = 0;
	int			 ret = -1;

	*field = NULL;
	*why = "malformed";
	if (def->size > 0)
		memset(st, 0, def->size);
	if (how->rest != NULL)
		memset(how->rest, 0, sizeof(*how->rest));
	if (def->nfields > MSG_FIELDS_MAX ||
	    msg_scan(data, len, MSG_DEPTH) == -1)
		return (-1);
	msgpack_unpacked_init(&up);
	if (msgpack_unpack_next(&up, (const char *)data, len, &off) ==
	    MSGPACK_UNPACK_SUCCESS && off == len) {
		if (how->map)
			ret = take_map(st, def, &up.data, how->first,
			    how->newer, field, why);
		else
			ret = take_all(st, def, &up.data, how->first,
			    how->rest, why);
	}
	msgpack_unpacked_destroy(&up);
	if (ret == 0 && texts_fill(st, def) == -1) {
		*why = "out of memory";
		ret = -1;
	}
	if (ret == -1) {
		msg_clear(st, def);
		if (how->rest != NULL)
			msg_rest_clear(how->rest);
	}
	return (ret);
}

int
msg_decode_array(void *st, const struct msg_def *def, const uint8_t *data,
    size_t len)
{
	struct how	 how = { 0, def->nfields, 0, NULL };
	const char	*field, *why;

	return (msg_decode(st, def, data, len, &how, &field, &why));
}

int
msg_decode_row(void *st, const struct msg_def *def, size_t first,
    const uint8_t *data, size_t len, struct msg_rest *rest)
{
	struct how	 how = { 0, first, 0, rest };
	const char	*field, *why;

	return (msg_decode(st, def, data, len, &how, &field, &why));
}

static int
msg_decode_named(void *st, const struct msg_def *def, const uint8_t *data,
    size_t len, const struct how *how, const char **field, const char **why)
{
	const char	*f, *w;
	int		 ret;

	ret = msg_decode(st, def, data, len, how, &f, &w);
	if (field != NULL)
		*field = ret == -1 ? f : NULL;
	if (why != NULL)
		*why = ret == -1 ? w : NULL;
	return (ret);
}

int
msg_decode_map(void *st, const struct msg_def *def, const uint8_t *data,
    size_t len, const char **field, const char **why)
{
	struct how	 how = { 1, def->nfields, 0, NULL };

	return (msg_decode_named(st, def, data, len, &how, field, why));
}

int
msg_decode_map_newer(void *st, const struct msg_def *def, size_t first,
    const uint8_t *data, size_t len, const char **field, const char **why)
{
	struct how	 how = { 1, first, 1, NULL };

	return (msg_decode_named(st, def, data, len, &how, field, why));
}

void
msg_clear(void *st, const struct msg_def *def)
{
	const struct msg_field	*f;
	size_t			 i;

	for (i = 0; i < def->nfields; i++) {
		f = &def->fields[i];
		switch (f->kind) {
		case M_TEXT:
			free(*(char **)AT(st, f));
			*(char **)AT(st, f) = NULL;
			break;
		case M_BLOB:
			free(((struct blob *)AT(st, f))->data);
			memset(AT(st, f), 0, sizeof(struct blob));
			break;
		case M_STRV:
			strv_clear(AT(st, f));
			break;
		case M_KVV:
			kvv_clear(AT(st, f));
			break;
		case M_U64V:
			u64v_clear(AT(st, f));
			break;
		default:
			break;
		}
	}
}

/* One field's own memory anew; the bytes of the structure are copied. */
static int
copy_field(void *dst, const void *src, const struct msg_field *f)
{
	const struct blob	*b = src;
	struct blob		*nb = dst;
	const struct u64v	*u = src;
	const char		*text;
	char			*copy;
	size_t			 i;

	switch (f->kind) {
	case M_TEXT:
		memcpy(&text, src, sizeof(text));
		if ((copy = strdup(text == NULL ? "" : text)) == NULL)
			return (-1);
		memcpy(dst, &copy, sizeof(copy));
		return (0);
	case M_BLOB:
		if (b->len == 0)
			return (0);
		if ((nb->data = malloc(b->len)) == NULL)
			return (-1);
		memcpy(nb->data, b->data, b->len);
		nb->len = b->len;
		return (0);
	case M_STRV:
		return (strv_copy(dst, src));
	case M_KVV:
		return (kvv_copy(dst, src));
	case M_U64V:
		for (i = 0; i < u->n; i++)
			if (u64v_add(dst, u->v[i]) == -1)
				return (-1);
		return (0);
	default:
		memcpy(dst, src, f->size);
		return (0);
	}
}

int
msg_copy(void *dst, const void *src, const struct msg_def *def)
{
	const struct msg_field	*f;
	size_t			 i;

	memset(dst, 0, def->size);
	for (i = 0; i < def->nfields; i++) {
		f = &def->fields[i];
		if (copy_field(AT(dst, f), CAT(src, f), f) == -1) {
			msg_clear(dst, def);
			errno = ENOMEM;
			return (-1);
		}
	}
	return (0);
}
