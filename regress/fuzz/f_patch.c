/*
 * What a guest tells of changed files: as any bytes, cut anywhere, it makes
 * the same patch or none, and no name that leads out; and of any two texts the
 * hunks make the second of the first.
 */

#include <sys/stat.h>

#include <ctype.h>

#include "fuzz.h"
#include "patch.h"

struct heard {
	uint64_t	 sum;
	size_t		 len;
	unsigned int	 files;
	unsigned int	 notes;
};

static void
sum(struct heard *h, const void *p, size_t n)
{
	const uint8_t	*b = p;

	h->len += n;
	while (n-- > 0)
		h->sum = h->sum * 1099511628211ULL + *b++ + 1;
}

static int
heard_out(void *arg, const void *p, size_t len)
{
	struct heard	*h = arg;

	h->files++;
	need(len > 11 && memcmp(p, "diff --git ", 11) == 0);
	need(memchr(p, '\0', len) == NULL);
	need(memmem(p, strcspn(p, "\n"), "/../", 4) == NULL);
	sum(h, p, len);
	return (0);
}

static void
heard_note(void *arg, enum code code, const char *path, const char *why)
{
	struct heard	*h = arg;

	need((unsigned int)code < CODE_MAX && code != CODE_OK);
	h->notes++;
	sum(h, path, strlen(path));
	sum(h, why, strlen(why));
}

static int
read_all(struct heard *h, const struct fuzz *in, size_t piece)
{
	static struct patch	 p;
	uint8_t			*copy;
	size_t			 off, n;
	int			 ret = 0;

	memset(h, 0, sizeof(*h));
	memset(&p, 0, sizeof(p));
	p.out = heard_out;
	p.note = heard_note;
	p.arg = h;
	patch_begin(&p);
	for (off = 0; off < in->len && ret == 0; off += n) {
		n = in->len - off < piece ? in->len - off : piece;
		copy = fuzz_copy(in->p + off, n);
		ret = patch_feed(&p, copy, n);
		free(copy);
	}
	need(ret == 0 || p.why != NULL);
	need(p.files == h->files && p.notes == h->notes);
	if (ret == 0 && !patch_whole(&p))
		ret = 1;
	patch_end(&p);
	return (ret);
}

static size_t
number(const uint8_t **p)
{
	size_t	 n = 0;

	need(isdigit(**p));
	for (; isdigit(**p); (*p)++)
		n = n * 10 + (**p - '0');
	return (n);
}

/* "-1,2 " or "-1 ": where, from 0, and how many. */
static size_t
range(const uint8_t **p, int mark, size_t *n)
{
	size_t	 at;

	need(*(*p)++ == mark);
	at = number(p);
	*n = 1;
	if (**p == ',') {
		(*p)++;
		*n = number(p);
	}
	need(*(*p)++ == ' ');
	need(at > 0 || *n == 0);
	return (*n == 0 ? at : at - 1);
}

static size_t
line_end(const uint8_t *p, size_t len, size_t at)
{
	const uint8_t	*e = memchr(p + at, '\n', len - at);

	return (e == NULL ? len : (size_t)(e - p) + 1);
}

/* Does the hunks' text make b of a?  It is read by other code than wrote it. */
static void
apply(const struct patch_buf *t, const struct fuzz *a, const struct fuzz *b)
{
	static const char	 none[] = "\\ No newline at end of file\n";
	const uint8_t		*p, *end;
	struct patch_buf	 made = { NULL, 0, 0 };
	size_t			 at = 0, line = 0, an, bn, to, e, n;
	int			 mark;

	if (t->len == 0) {
		need(a->len == b->len && memcmp(a->p, b->p, a->len) == 0);
		return;
	}
	p = t->p;
	end = p + t->len;
	while (p < end) {
		need(end - p > 3 && memcmp(p, "@@ ", 3) == 0);
		p += 3;
		to = range(&p, '-', &an);
		(void)range(&p, '+', &bn);
		need(memcmp(p, "@@\n", 3) == 0);
		p += 3;
		for (; line < to; line++, at = e) {
			need(at < a->len);
			e = line_end(a->p, a->len, at);
			need(patch_add(&made, a->p + at, e - at) == 0);
		}
		while (an > 0 || bn > 0) {
			need(p < end);
			mark = *p++;
			need(mark == ' ' || mark == '-' || mark == '+');
			n = line_end(p, end - p, 0);
			e = n;
			if ((size_t)(end - p) - n >= sizeof(none) - 1 &&
			    memcmp(p + n, none, sizeof(none) - 1) == 0)
				e += sizeof(none) - 1;
			if (e != n)
				n--;
			if (mark != '+') {
				need(an-- > 0 && a->len - at >= n &&
				    memcmp(a->p + at, p, n) == 0);
				need(e == line_end(p, n + 1, 0) ||
				    at + n == a->len);
				at += n;
				line++;
			}
			if (mark != '-') {
				need(bn-- > 0);
				need(patch_add(&made, p, n) == 0);
			}
			p += e;
		}
	}
	need(patch_add(&made, a->p + at, a->len - at) == 0);
	need(made.len == b->len && (made.len == 0 ||
	    memcmp(made.p, b->p, made.len) == 0));
	free(made.p);
}

/* Few kinds of lines, so that there is much to find. */
static void
hunks(struct fuzz *in)
{
	struct patch_buf	 text = { NULL, 0, 0 };
	struct fuzz		 a, b;
	uint8_t			*copy = fuzz_copy(in->p, in->len);
	size_t			 i, cut;

	for (i = 0; i < in->len; i++)
		copy[i] = "\n\n\nab"[copy[i] % 5];
	cut = in->len == 0 ? 0 : (size_t)in->p[0] * in->len / 256;
	a.p = copy;
	a.len = cut;
	b.p = copy + cut;
	b.len = in->len - cut;
	need(patch_hunks(&text, a.p, a.len, b.p, b.len) == 0);
	apply(&text, &a, &b);
	free(text.p);
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz	 in = { data, len };
	struct heard	 a, b;
	size_t		 piece;
	int		 what = fuzz_u8(&in);

	if (what & 1) {
		hunks(&in);
		return (0);
	}
	piece = fuzz_u8(&in) + 1;
	if (read_all(&a, &in, in.len + 1) != read_all(&b, &in, piece))
		need(0);
	need(a.sum == b.sum && a.len == b.len && a.files == b.files &&
	    a.notes == b.notes);
	return (0);
}
