/*
 * Records of files and of lines that a search has found, as a guest may send
 * them: cut in pieces of any size they are the same as whole, each keeps the
 * bounds of its table, and none is handed on behind one that is wrong.
 */

#include "calls.h"
#include "codes.h"
#include "filerec.h"
#include "fuzz.h"

struct heard {
	int		 grep;
	unsigned int	 most;		/* then it is given up */
	unsigned int	 n;
	uint64_t	 sum;		/* of all that was told */
};

static void
sum(struct heard *h, const void *p, size_t n)
{
	const uint8_t	*b = p;

	while (n-- > 0)
		h->sum = h->sum * 1099511628211ULL + *b++ + 1;
}

static void
sum_text(struct heard *h, const char *s)
{
	need(s != NULL && strlen(s) <= CALL_PATH_MAX);
	sum(h, s, strlen(s));
}

static int
take(void *arg, void *rec)
{
	struct heard	*h = arg;
	struct file_rec	*f = rec;
	struct grep_rec	*g = rec;

	need(h->n < h->most);
	if (h->grep) {
		need(g->text.len <= GREP_TEXT_MAX);
		need((g->flags & ~(GREP_R_CONTEXT | GREP_R_CUT)) == 0);
		sum_text(h, g->name);
		sum(h, &g->line, sizeof(g->line));
		sum(h, &g->count, sizeof(g->count));
		sum(h, g->text.data, g->text.len);
	} else {
		need(f->code < CODE_MAX && f->mode <= 0177777);
		sum_text(h, f->name);
		sum_text(h, f->target);
		sum(h, &f->size, sizeof(f->size));
		sum(h, &f->mtime, sizeof(f->mtime));
		sum(h, &f->rdev, sizeof(f->rdev));
		/* It may be kept, by zeroing it. */
		if (h->n & 1) {
			free(f->name);
			free(f->target);
			memset(f, 0, sizeof(*f));
		}
	}
	return (++h->n == h->most ? -1 : 0);
}

/* 0 all was read, 1 the end of it is missing, -1 it is wrong. */
static int
feed(struct heard *h, const struct fuzz *in, size_t piece)
{
	struct rec_reader	*r;
	uint8_t			*copy;
	size_t			 off, n;
	int			 ret = 0;

	/* Of its own, so that an overrun is seen. */
	need((r = calloc(1, sizeof(*r))) != NULL);
	r->def = h->grep ? &grep_rec_def : &file_rec_def;
	r->take = take;
	r->arg = h;
	for (off = 0; off < in->len && ret == 0; off += n) {
		n = in->len - off < piece ? in->len - off : piece;
		copy = fuzz_copy(in->p + off, n);
		ret = rec_feed(r, copy, n);
		free(copy);
	}
	need(r->why == NULL || ret == -1);
	need(ret == 0 || r->why != NULL || h->n == h->most);
	if (ret == 0 && !rec_done(r))
		ret = 1;
	free(r);
	return (ret);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t	 more[2 * REC_MAX];
	struct fuzz	 in = { data, len };
	struct heard	 a, b;
	size_t		 piece, n;
	int		 what, ret;

	memset(&a, 0, sizeof(a));
	what = fuzz_u8(&in);
	a.grep = what & 1;
	/* Seldom does the reader give up. */
	a.most = what & 2 ? what >> 4 : UINT16_MAX;
	if (a.most == 0)
		return (0);
	piece = fuzz_u8(&in) + 1;
	/* More than an input is long, and than a record may be. */
	if (what & 4 && in.len > 0 && in.len < REC_MAX) {
		memset(more, in.p[in.len - 1], sizeof(more));
		memcpy(more, in.p, in.len);
		in.p = more;
		in.len = sizeof(more);
	}
	b = a;
	ret = feed(&a, &in, in.len + 1);
	if (in.len >= 4) {
		n = in.p[0] | in.p[1] << 8 | in.p[2] << 16 |
		    (size_t)in.p[3] << 24;
		need((n > 0 && n <= REC_MAX) || (ret == -1 && a.n == 0));
	}
	need(feed(&b, &in, piece) == ret && a.n == b.n && a.sum == b.sum);
	return (0);
}
