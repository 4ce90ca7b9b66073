/*
 * Messages by tables: msgpack to structures.
 *
 * The bytes are walked by msg_scan() before they are unpacked: a short one
 * could make the library reserve any amount of memory.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "msg_int.h"

#define MSG_DEPTH	4	/* message, vector, pair */
#define MSG_FIELDS_MAX	64

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
		if (msg_take(AT(st, f), f, &o->via.map.ptr[i].val,
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
		if (msg_take(AT(st, &def->fields[i]), &def->fields[i],
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
