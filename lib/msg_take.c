/* Messages by tables: one value of msgpack into a field, if it fits there. */

#include <stdlib.h>
#include <string.h>

#include "msg_int.h"

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

static void
int_set(void *p, size_t size, int64_t v)
{
	int32_t	 i32 = v;

	if (size == 4)
		memcpy(p, &i32, 4);
	else
		memcpy(p, &v, 8);
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

int
msg_take(void *p, const struct msg_field *f, const msgpack_object *o,
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
