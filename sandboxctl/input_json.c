/*
 * input_json.c: requests as JSON objects, made into messages of the protocol.
 *
 * The members are the fields of the message by their names.  They are packed
 * as a client would have sent them, and decoded by the tables as the daemon
 * decodes them: it is one decoder that says what a message may be.
 */

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "sandboxctl.h"
#include "spec.h"

/* One write that failed is a hole in the others: none is tried after it. */
struct packed {
	msgpack_sbuffer	 sb;
	int		 failed;
};

static void	 pack(msgpack_packer *, const json_t *, int);

static int
packed_write(void *arg, const char *data, size_t len)
{
	struct packed	*p = arg;

	if (!p->failed && msgpack_sbuffer_write(&p->sb, data, len) != 0)
		p->failed = 1;
	return (p->failed ? -1 : 0);
}

/* Of M_UINT; what of 64 bits is too large for JSON stands as -1, -2, ... */
static void
pack_number(msgpack_packer *pk, const struct msg_field *f, const json_t *v)
{
	json_int_t	 n;

	if (json_is_boolean(v) && f != NULL && f->kind == M_UINT)
		msgpack_pack_uint64(pk, json_is_true(v));
	else if (!json_is_integer(v))
		msgpack_pack_nil(pk);
	else if ((n = json_integer_value(v)) >= 0)
		msgpack_pack_uint64(pk, n);
	else if (f != NULL && f->kind == M_UINT && f->size == 8 &&
	    f->max == 0)
		msgpack_pack_uint64(pk, (uint64_t)n);
	else
		msgpack_pack_int64(pk, n);
}

/* The bytes of a base64 text; what is none becomes what no field takes. */
static void
pack_base64(msgpack_packer *pk, const json_t *v, int bin)
{
	size_t	 len = json_string_length(v);
	char	*data;
	ssize_t	 n;

	if ((data = malloc(len / 4 * 3 + 1)) == NULL) {
		((struct packed *)pk->data)->failed = 1;
		return;
	}
	if ((n = base64_decode(data, json_string_value(v), len)) == -1)
		msgpack_pack_nil(pk);
	else if (bin)
		msgpack_pack_bin_with_body(pk, data, n);
	else
		msgpack_pack_str_with_body(pk, data, n);
	free(data);
}

/* Text that is no UTF-8 stands as {"base64": "..."}. */
static int
is_base64(const json_t *v)
{
	return (json_is_object(v) && json_object_size(v) == 1 &&
	    json_is_string(json_object_get(v, "base64")));
}

static void
pack_map(msgpack_packer *pk, const json_t *v)
{
	const char	*key;
	json_t		*member;

	msgpack_pack_map(pk, json_object_size(v));
	json_object_foreach((json_t *)(uintptr_t)v, key, member) {
		msgpack_pack_str_with_body(pk, key, strlen(key));
		pack(pk, member, 0);
	}
}

/* What is not a number; at its top an object may be one of names. */
static void
pack(msgpack_packer *pk, const json_t *v, int names)
{
	size_t	 i;

	switch (v == NULL ? JSON_NULL : json_typeof(v)) {
	case JSON_STRING:
		msgpack_pack_str_with_body(pk, json_string_value(v),
		    json_string_length(v));
		break;
	case JSON_ARRAY:
		msgpack_pack_array(pk, json_array_size(v));
		for (i = 0; i < json_array_size(v); i++)
			pack(pk, json_array_get(v, i), 0);
		break;
	case JSON_OBJECT:
		if (!names && is_base64(v))
			pack_base64(pk, json_object_get(v, "base64"), 0);
		else
			pack_map(pk, v);
		break;
	default:
		pack_number(pk, NULL, v);
	}
}

static void
pack_field(msgpack_packer *pk, const struct msg_field *f, const json_t *v)
{
	if (f != NULL && f->kind == M_BLOB && json_is_string(v))
		pack_base64(pk, v, 1);
	else if (json_is_integer(v) || json_is_boolean(v))
		pack_number(pk, f, v);
	else
		pack(pk, v, f != NULL && f->kind == M_KVV);
}

static const struct msg_field *
find(const struct msg_def *def, const char *name)
{
	size_t	 i;

	for (i = 0; i < def->nfields; i++)
		if (strcmp(def->fields[i].name, name) == 0)
			return (&def->fields[i]);
	return (NULL);
}

/*
 * An object into a structure of def->size bytes: 0, or -1 and the error.
 * msg_clear() belongs to what has been decoded.
 */
int
json_decode(void *msg, const struct msg_def *def, const void *object,
    struct spec_error *e)
{
	const json_t	*o = object;
	const char	*key, *field, *why;
	json_t		*v;
	struct packed	 p = { .failed = 0 };
	msgpack_packer	 pk;
	int		 ret = -1;

	msgpack_sbuffer_init(&p.sb);
	msgpack_packer_init(&pk, &p, packed_write);
	msgpack_pack_map(&pk, json_object_size(o));
	json_object_foreach((json_t *)(uintptr_t)o, key, v) {
		msgpack_pack_str_with_body(&pk, key, strlen(key));
		pack_field(&pk, find(def, key), v);
	}
	if (p.failed) {
		memset(e, 0, sizeof(*e));
		e->code = CODE_UNAVAILABLE;
		strlcpy(e->text, "out of memory", sizeof(e->text));
	} else if ((ret = msg_decode_map(msg, def, (const uint8_t *)p.sb.data,
	    p.sb.size, &field, &why)) == -1)
		spec_refuse(def, field, why, e);
	msgpack_sbuffer_destroy(&p.sb);
	return (ret);
}
