/* Vectors of strings, pairs and numbers, as messages hold them. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "msg.h"

/* Room for one element more: capacity is the next power of two. */
static void *
vec_grow(void *v, size_t n, size_t size)
{
	if ((n & (n - 1)) != 0)
		return (v);
	return (reallocarray(v, n == 0 ? 2 : n * 2 + 1, size));
}

int
strv_add(struct strv *s, const char *str)
{
	char	**v, *copy;

	if ((copy = strdup(str)) == NULL)
		return (-1);
	/* One more than the power of two, for the NULL at the end. */
	if ((v = vec_grow(s->v, s->n, sizeof(*v))) == NULL) {
		free(copy);
		return (-1);
	}
	s->v = v;
	s->v[s->n++] = copy;
	s->v[s->n] = NULL;
	return (0);
}

void
strv_clear(struct strv *s)
{
	size_t	 i;

	for (i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	s->v = NULL;
	s->n = 0;
}

int
strv_copy(struct strv *dst, const struct strv *src)
{
	size_t	 i;

	dst->v = NULL;
	dst->n = 0;
	for (i = 0; i < src->n; i++)
		if (strv_add(dst, src->v[i]) == -1) {
			strv_clear(dst);
			return (-1);
		}
	return (0);
}

size_t
strv_bytes(const struct strv *s)
{
	size_t	 i, len = 0;

	for (i = 0; i < s->n; i++)
		len += strlen(s->v[i]) + 1;
	return (len);
}

int
kvv_add(struct kvv *s, const char *k, const char *v)
{
	struct kv	*nv, kv;

	if ((kv.k = strdup(k)) == NULL)
		return (-1);
	if ((kv.v = strdup(v)) == NULL ||
	    (nv = vec_grow(s->v, s->n, sizeof(*nv))) == NULL) {
		free(kv.k);
		free(kv.v);
		return (-1);
	}
	s->v = nv;
	s->v[s->n++] = kv;
	return (0);
}

int
kvv_set(struct kvv *s, const char *k, const char *v)
{
	size_t	 i;
	char	*copy;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->v[i].k, k) == 0) {
			if ((copy = strdup(v)) == NULL)
				return (-1);
			free(s->v[i].v);
			s->v[i].v = copy;
			return (0);
		}
	return (kvv_add(s, k, v));
}

const char *
kvv_get(const struct kvv *s, const char *k)
{
	size_t	 i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->v[i].k, k) == 0)
			return (s->v[i].v);
	return (NULL);
}

void
kvv_clear(struct kvv *s)
{
	size_t	 i;

	for (i = 0; i < s->n; i++) {
		free(s->v[i].k);
		free(s->v[i].v);
	}
	free(s->v);
	s->v = NULL;
	s->n = 0;
}

int
kvv_copy(struct kvv *dst, const struct kvv *src)
{
	size_t	 i;

	dst->v = NULL;
	dst->n = 0;
	for (i = 0; i < src->n; i++)
		if (kvv_add(dst, src->v[i].k, src->v[i].v) == -1) {
			kvv_clear(dst);
			return (-1);
		}
	return (0);
}

int
u64v_add(struct u64v *s, uint64_t u)
{
	uint64_t	*v;

	if ((v = vec_grow(s->v, s->n, sizeof(*v))) == NULL)
		return (-1);
	s->v = v;
	s->v[s->n++] = u;
	return (0);
}

void
u64v_clear(struct u64v *s)
{
	free(s->v);
	s->v = NULL;
	s->n = 0;
}

void
msg_rest_clear(struct msg_rest *rest)
{
	free(rest->data);
	memset(rest, 0, sizeof(*rest));
}
