/*
 * The frames of calls between the runner and the guest, and that of what an
 * exec has changed: an encoder and a decoder side by side for each, as in
 * gproto_msg.c.
 */

#include <sys/types.h>

#include <string.h>

#include "gproto.h"
#include "gproto_pack.h"

static void
put_string(struct gp_writer *w, const char *s)
{
	gp_put_data(w, s, strlen(s) + 1);
}

/* The next string, NUL ended, not longer than it may be. */
static const char *
take_string(struct gp_reader *r, size_t max)
{
	const uint8_t	*e;

	if (r->bad || r->left == 0 || (e = memchr(r->data, '\0',
	    r->left)) == NULL || (size_t)(e - r->data) > max) {
		r->bad = 1;
		return ("");
	}
	return ((const char *)gp_take_data(r, e - r->data + 1));
}

ssize_t
gp_encode_call(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_call *m)
{
	struct gp_writer	 w;

	if (!(k & GP_CALL_BIT))
		return (-1);
	gp_begin(&w, buf, size, GP_CALL, k);
	gp_put(&w, m->op, 4);
	gp_put(&w, m->flags, 4);
	gp_put(&w, m->mode, 4);
	gp_put(&w, m->offset, 8);
	gp_put(&w, m->length, 8);
	gp_put(&w, m->limit, 8);
	gp_put(&w, m->count, 8);
	put_string(&w, m->path);
	put_string(&w, m->path2);
	put_string(&w, m->pattern);
	put_string(&w, m->filter);
	return (gp_end(&w));
}

int
gp_decode_call(struct gp_call *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	memset(m, 0, sizeof(*m));
	gp_open(&r, f, GP_CALL);
	m->op = gp_take(&r, 4);
	m->flags = gp_take(&r, 4);
	m->mode = gp_take(&r, 4);
	m->offset = gp_take(&r, 8);
	m->length = gp_take(&r, 8);
	m->limit = gp_take(&r, 8);
	m->count = gp_take(&r, 8);
	m->path = take_string(&r, CALL_PATH_MAX);
	m->path2 = take_string(&r, CALL_PATH_MAX);
	m->pattern = take_string(&r, CALL_PATH_MAX);
	m->filter = take_string(&r, CALL_PATH_MAX);
	if (gp_close(&r) == -1 || !(f->k & GP_CALL_BIT))
		return (-1);
	return (0);
}

ssize_t
gp_encode_call_end(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_call_end *m)
{
	struct gp_writer	 w;

	if (!(k & GP_CALL_BIT))
		return (-1);
	gp_begin(&w, buf, size, GP_CALL_END, k);
	gp_put(&w, m->code, 4);
	gp_put(&w, m->flags, 4);
	gp_put(&w, m->out, 8);
	gp_put(&w, m->in, 8);
	gp_put(&w, m->count, 8);
	gp_put(&w, m->count2, 8);
	put_string(&w, m->text);
	return (gp_end(&w));
}

int
gp_decode_call_end(struct gp_call_end *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	memset(m, 0, sizeof(*m));
	gp_open(&r, f, GP_CALL_END);
	m->code = gp_take(&r, 4);
	m->flags = gp_take(&r, 4);
	m->out = gp_take(&r, 8);
	m->in = gp_take(&r, 8);
	m->count = gp_take(&r, 8);
	m->count2 = gp_take(&r, 8);
	m->text = take_string(&r, CALL_TEXT_MAX);
	if (gp_close(&r) == -1 || !(f->k & GP_CALL_BIT))
		return (-1);
	return (0);
}

ssize_t
gp_encode_output_end(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_output_end *m)
{
	struct gp_writer	 w;

	if (!(k & GP_CALL_BIT))
		return (-1);
	gp_begin(&w, buf, size, GP_OUTPUT_END, k);
	gp_put(&w, m->total, 8);
	return (gp_end(&w));
}

int
gp_decode_output_end(struct gp_output_end *m, const struct gp_frame *f)
{
	struct gp_reader	 r;

	memset(m, 0, sizeof(*m));
	gp_open(&r, f, GP_OUTPUT_END);
	m->total = gp_take(&r, 8);
	if (gp_close(&r) == -1 || !(f->k & GP_CALL_BIT))
		return (-1);
	return (0);
}

const char *
gp_change_name(unsigned int kind)
{
	static const char *const names[GP_CHANGE_MAX] = {
		[GP_MADE] = "made",
		[GP_WRITTEN] = "written",
		[GP_REMOVED] = "removed",
		[GP_RENAMED] = "renamed",
		[GP_ALTERED] = "altered"
	};

	return (kind < GP_CHANGE_MAX ? names[kind] : NULL);
}

static const char *
change_name(const char **p, size_t *left)
{
	const char	*s = *p, *e;

	if ((e = memchr(s, '\0', *left)) == NULL || e == s ||
	    e - s > CALL_PATH_MAX + 1)
		return (NULL);
	*left -= e - s + 1;
	*p = e + 1;
	return (s);
}

int
gp_change_next(struct gp_change *c, const char **p, size_t *left)
{
	if (*left == 0)
		return (0);
	c->kind = (uint8_t)**p;
	c->from = "";
	++*p;
	--*left;
	if (gp_change_name(c->kind) == NULL ||
	    (c->name = change_name(p, left)) == NULL ||
	    (c->kind == GP_RENAMED &&
	    (c->from = change_name(p, left)) == NULL))
		return (-1);
	return (1);
}

size_t
gp_change_add(char *list, size_t len, const struct gp_change *c)
{
	size_t	 n = strlen(c->name) + 1, m = 0;

	if (c->kind == GP_RENAMED)
		m = strlen(c->from) + 1;
	if (1 + n + m > GP_CHANGES_LIST - len)
		return (0);
	list[len++] = c->kind;
	memcpy(list + len, c->name, n);
	memcpy(list + len + n, c->from, m);
	return (len + n + m);
}

ssize_t
gp_encode_changed(uint8_t *buf, size_t size, uint64_t k,
    const struct gp_changed *m)
{
	struct gp_writer	 w;
	int			 i;

	gp_begin(&w, buf, size, GP_CHANGED, k);
	gp_put(&w, m->flags, 4);
	for (i = GP_MADE; i < GP_CHANGE_MAX; i++)
		gp_put(&w, m->count[i], 8);
	put_string(&w, m->text);
	gp_put_data(&w, m->list, m->listlen);
	return (gp_end(&w));
}

/* What is listed was counted, and all of it is unless that is said. */
static int
changed_check(const struct gp_changed *m)
{
	struct gp_change	 c;
	const char		*p = m->list;
	size_t			 left = m->listlen;
	uint64_t		 n[GP_CHANGE_MAX] = { 0 };
	int			 i, ret, all = 0;

	while ((ret = gp_change_next(&c, &p, &left)) == 1) {
		n[c.kind]++;
		if (++all > GP_CHANGES_MAX)
			return (-1);
	}
	for (i = GP_MADE; i < GP_CHANGE_MAX; i++)
		if (n[i] > m->count[i] || m->count[i] > INT64_MAX ||
		    (n[i] != m->count[i] && !(m->flags & GP_CHANGED_MORE)) ||
		    (m->count[i] > 0 && m->flags & GP_CHANGED_FAILED))
			return (-1);
	return (ret);
}

int
gp_decode_changed(struct gp_changed *m, const struct gp_frame *f)
{
	struct gp_reader	 r;
	int			 i;

	memset(m, 0, sizeof(*m));
	gp_open(&r, f, GP_CHANGED);
	m->flags = gp_take(&r, 4);
	for (i = GP_MADE; i < GP_CHANGE_MAX; i++)
		m->count[i] = gp_take(&r, 8);
	m->text = take_string(&r, CALL_TEXT_MAX);
	m->listlen = r.left;
	m->list = (const char *)gp_take_data(&r, m->listlen);
	if (gp_close(&r) == -1 || m->flags & ~GP_CHANGED_FLAGS ||
	    m->listlen > GP_CHANGES_LIST ||
	    (*m->text != '\0') != ((m->flags & GP_CHANGED_FAILED) != 0))
		return (-1);
	return (changed_check(m));
}
