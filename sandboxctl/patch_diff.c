/*
 * patch_diff.c: the lines by which two texts differ, as hunks of a unified
 * diff: the shortest way from one to the other by Myers' "An O(ND) Difference
 * Algorithm and Its Variations", with a bound.  Both texts are a stranger's:
 * beyond it all that is between the common beginning and end is replaced,
 * which is longer, and as right.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patch.h"

#define CONTEXT		3		/* lines around what has changed */
#define EDITS_MAX	2000		/* lines that go or come */
#define WORK_MAX	50000000	/* comparisons */

struct line {
	const uint8_t	*p;
	size_t		 len;		/* its newline too, if it has one */
	uint64_t	 hash;
};

struct text {
	struct line	*v;
	uint8_t		*changed;	/* of each: it goes, or comes */
	size_t		 n;
};

struct diff {
	struct text	 a;
	struct text	 b;
	size_t		 head;		/* lines that are the same in front */
	size_t		 tail;		/* and at the end */
	uint64_t	 work;
	int32_t		*trace[EDITS_MAX + 1];
};

static int
text_split(struct text *t, const uint8_t *p, size_t len)
{
	const uint8_t	*e, *end;
	struct line	*l;
	size_t		 n = 0;

	if (len == 0)
		p = (const uint8_t *)"";
	end = p + len;
	for (e = p; e < end && (e = memchr(e, '\n', end - e)) != NULL; e++)
		n++;
	if (len > 0 && end[-1] != '\n')
		n++;
	t->v = calloc(n + 1, sizeof(*t->v));
	t->changed = calloc(n + 1, 1);
	if (t->v == NULL || t->changed == NULL)
		return (-1);
	for (t->n = 0; p < end; p += l->len) {
		l = &t->v[t->n++];
		l->p = p;
		e = memchr(p, '\n', end - p);
		l->len = (e == NULL ? end : e + 1) - p;
		l->hash = 14695981039346656037ULL;
		for (e = p; e < p + l->len; e++)
			l->hash = (l->hash ^ *e) * 1099511628211ULL;
	}
	return (0);
}

static int
same(struct diff *d, size_t i, size_t j)
{
	const struct line	*a = &d->a.v[i], *b = &d->b.v[j];

	d->work++;
	if (a->hash != b->hash || a->len != b->len)
		return (0);
	d->work += a->len / 64;
	return (memcmp(a->p, b->p, a->len) == 0);
}

static void
trim(struct diff *d)
{
	size_t	 n = d->a.n < d->b.n ? d->a.n : d->b.n;

	while (d->head < n && same(d, d->head, d->head))
		d->head++;
	while (d->tail < n - d->head &&
	    same(d, d->a.n - d->tail - 1, d->b.n - d->tail - 1))
		d->tail++;
	d->work = 0;
}

/* Where k of a round comes from: the one below it, or the one above. */
static int
comes_from(const int32_t *v, int k, int edits)
{
	if (k == -edits || (k != edits && v[k - 1] < v[k + 1]))
		return (k + 1);
	return (k - 1);
}

/* One more edit: 1 if that was enough. */
static int
round_go(struct diff *d, int32_t *v, int edits, int n, int m)
{
	int	 k, x, y, from;

	for (k = -edits; k <= edits; k += 2) {
		from = edits == 0 ? 1 : comes_from(v, k, edits);
		x = from == k + 1 ? v[from] : v[from] + 1;
		y = x - k;
		while (x < n && y < m && same(d, d->head + x, d->head + y)) {
			x++;
			y++;
		}
		v[k] = x;
		if (x >= n && y >= m)
			return (1);
	}
	return (0);
}

/* Back from the end, by what each round has left. */
static void
trace_back(struct diff *d, int edits, int n, int m)
{
	int	 x = n, y = m, k, from;

	for (; edits > 0; edits--) {
		k = x - y;
		from = comes_from(d->trace[edits] + edits + 1, k, edits);
		x = d->trace[edits][edits + 1 + from];
		y = x - from;
		if (from == k + 1)
			d->b.changed[d->head + y] = 1;
		else
			d->a.changed[d->head + x] = 1;
	}
}

/* -1: no memory; 1: it would be too much. */
static int
shortest(struct diff *d)
{
	static int32_t	 room[2 * EDITS_MAX + 5];
	int32_t		*v = room + EDITS_MAX + 2;
	size_t		 an = d->a.n - d->head - d->tail;
	size_t		 bn = d->b.n - d->head - d->tail;
	int		 edits, n = an, m = bn;

	memset(room, 0, sizeof(room));
	for (edits = 0; edits <= EDITS_MAX && d->work < WORK_MAX; edits++) {
		/* What the round before has left, and one on either side. */
		d->trace[edits] = calloc(2 * edits + 3, sizeof(*v));
		if (d->trace[edits] == NULL)
			return (-1);
		memcpy(d->trace[edits], v - edits - 1,
		    (2 * edits + 3) * sizeof(*v));
		if (round_go(d, v, edits, n, m)) {
			trace_back(d, edits, n, m);
			return (0);
		}
	}
	return (1);
}

static void
replace_all(struct diff *d)
{
	size_t	 i;

	for (i = d->head; i < d->a.n - d->tail; i++)
		d->a.changed[i] = 1;
	for (i = d->head; i < d->b.n - d->tail; i++)
		d->b.changed[i] = 1;
}

static int
put_line(struct patch_buf *out, char mark, const struct line *l)
{
	static const char	 none[] = "\n\\ No newline at end of file\n";

	if (patch_add(out, &mark, 1) == -1 ||
	    patch_add(out, l->p, l->len) == -1)
		return (-1);
	if (l->p[l->len - 1] == '\n')
		return (0);
	return (patch_add(out, none, sizeof(none) - 1));
}

static int
put_range(struct patch_buf *out, char mark, size_t at, size_t n)
{
	char	 s[64];
	int	 len;

	/* Of no lines it is told behind which they would be. */
	if (n == 1)
		len = snprintf(s, sizeof(s), "%c%zu ", mark, at + 1);
	else
		len = snprintf(s, sizeof(s), "%c%zu,%zu ", mark,
		    n == 0 ? at : at + 1, n);
	return (patch_add(out, s, len));
}

/* From line i of a and j of b to ie and je, which begins and ends alike. */
static int
put_hunk(struct patch_buf *out, const struct diff *d, size_t i, size_t ie,
    size_t j, size_t je)
{
	if (patch_add(out, "@@ ", 3) == -1 ||
	    put_range(out, '-', i, ie - i) == -1 ||
	    put_range(out, '+', j, je - j) == -1 ||
	    patch_add(out, "@@\n", 3) == -1)
		return (-1);
	while (i < ie || j < je) {
		if (i < ie && d->a.changed[i]) {
			if (put_line(out, '-', &d->a.v[i++]) == -1)
				return (-1);
		} else if (j < je && d->b.changed[j]) {
			if (put_line(out, '+', &d->b.v[j++]) == -1)
				return (-1);
		} else {
			if (put_line(out, ' ', &d->a.v[i++]) == -1)
				return (-1);
			j++;
		}
	}
	return (0);
}

/* Where the changed lines end that begin at *i and *j. */
static void
block_end(const struct diff *d, size_t *i, size_t *j)
{
	while (d->a.changed[*i])
		(*i)++;
	while (d->b.changed[*j])
		(*j)++;
}

static int
put_hunks(struct patch_buf *out, const struct diff *d)
{
	size_t	 i = 0, j = 0, i0, j0, k, n;

	for (;;) {
		/* A line more than there are is no changed one. */
		while (i < d->a.n && !d->a.changed[i] && !d->b.changed[j]) {
			i++;
			j++;
		}
		if (!d->a.changed[i] && !d->b.changed[j])
			return (0);
		n = i < CONTEXT ? i : CONTEXT;
		i0 = i - n;
		j0 = j - n;
		do {
			block_end(d, &i, &j);
			for (k = 0; k <= 2 * CONTEXT && i + k < d->a.n &&
			    !d->a.changed[i + k] && !d->b.changed[j + k]; k++)
				;
			n = k;
			if (k <= 2 * CONTEXT && (d->a.changed[i + k] ||
			    d->b.changed[j + k])) {
				i += k;
				j += k;
				n = 0;
			}
		} while (d->a.changed[i] || d->b.changed[j]);
		n = n < CONTEXT ? n : CONTEXT;
		if (put_hunk(out, d, i0, i + n, j0, j + n) == -1)
			return (-1);
	}
}

int
patch_hunks(struct patch_buf *out, const uint8_t *a, size_t alen,
    const uint8_t *b, size_t blen)
{
	static struct diff	 d;
	int			 ret = -1, i;

	memset(&d, 0, sizeof(d));
	if (text_split(&d.a, a, alen) == 0 && text_split(&d.b, b, blen) == 0) {
		trim(&d);
		if ((ret = shortest(&d)) == 1) {
			replace_all(&d);
			ret = 0;
		}
	}
	if (ret == 0)
		ret = put_hunks(out, &d);
	for (i = 0; i <= EDITS_MAX; i++)
		free(d.trace[i]);
	free(d.a.v);
	free(d.a.changed);
	free(d.b.v);
	free(d.b.changed);
	return (ret);
}
