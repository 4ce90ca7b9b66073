/* Messages by tables: structures to msgpack. */

#include <string.h>

#include "msg_int.h"

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
