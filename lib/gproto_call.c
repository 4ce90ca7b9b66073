/*
 * The frames of calls between the runner and the guest: an encoder and a
 * decoder side by side for each, as in gproto_msg.c.
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
