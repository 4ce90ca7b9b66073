/* Messages by tables: what a field may hold, and who owns its memory. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "msg_int.h"

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
