/*
 * A string in memory.  Two of its bytes, those that are the rarest in texts,
 * are looked for at their distance, sixteen places at a time; only where both
 * stand is the whole compared.  The vectors are the compiler's, so that this
 * is fast wherever the guest runs.
 */

#include <sys/types.h>

#include <string.h>

#include "tool.h"

#define VLEN	16
#define BLOCK	(4 * VLEN)

typedef uint8_t	 vec __attribute__((__vector_size__(VLEN)));
typedef uint8_t	 uvec __attribute__((__vector_size__(VLEN), __aligned__(1),
		    __may_alias__));
typedef uint64_t vec64 __attribute__((__vector_size__(VLEN)));

/* From the most frequent on, in programs and prose; all others are rare. */
static const char	 common[] =
    " etaoinsrlcdpumhgfyb._wv,\t\n-/0(x1\"k=)*;:'2>AESTICNRLODj3";

static unsigned int
find_rarity(uint8_t c)
{
	const char	*p;

	if (c == '\0' || (p = strchr(common, c)) == NULL)
		return (sizeof(common));
	return (p - common);
}

static uint8_t
find_lower(uint8_t c)
{
	return (c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* s stays the caller's; icase is for the letters of ASCII. */
void
find_init(struct find *f, const void *s, size_t len, int icase)
{
	unsigned int	 r, best[2] = { 0, 0 };
	size_t		 i;

	memset(f, 0, sizeof(*f));
	f->s = s;
	f->len = len;
	f->icase = icase;
	for (i = 0; i < 256; i++)
		f->fold[i] = icase ? find_lower(i) : i;
	for (i = 0; i < len && i < 256; i++) {
		r = find_rarity(f->fold[f->s[i]]) + 1;
		if (r > best[0]) {
			best[1] = best[0];
			f->at[1] = f->at[0];
			best[0] = r;
			f->at[0] = i;
		} else if (r > best[1]) {
			best[1] = r;
			f->at[1] = i;
		}
	}
	/* One byte alone is looked for twice at its place. */
	if (best[1] == 0)
		f->at[1] = f->at[0];
}

static int
find_is(const struct find *f, const uint8_t *p)
{
	size_t	 i;

	if (!f->icase)
		return (memcmp(p, f->s, f->len) == 0);
	for (i = 0; i < f->len; i++)
		if (f->fold[p[i]] != f->fold[f->s[i]])
			return (0);
	return (1);
}

static inline int
vec_any(vec v)
{
	vec64	 q = (vec64)v;

	return ((q[0] | q[1]) != 0);
}

static inline vec
vec_at(const uint8_t *p)
{
	return (*(const uvec *)p);
}

static inline vec
vec_of(uint8_t c)
{
	vec	 v = { 0 };

	return (v + c);
}

/* The first place between p and n bytes on, or NULL. */
const uint8_t *
find_next(const struct find *f, const uint8_t *p, size_t n)
{
	const uint8_t	*a, *b, *end;
	uint8_t		 ca, cb, ma, mb;
	vec		 va, vb, wa, wb, m[4];
	size_t		 i;
	int		 j;

	if (f->len == 0)
		return (p);
	if (n < f->len)
		return (NULL);
	/* One past the last place where it can begin. */
	end = p + (n - f->len) + 1;
	ca = f->fold[f->s[f->at[0]]];
	cb = f->fold[f->s[f->at[1]]];
	/* The bit that a letter's case is; more may match, none is missed. */
	ma = f->icase && ca >= 'a' && ca <= 'z' ? 0x20 : 0;
	mb = f->icase && cb >= 'a' && cb <= 'z' ? 0x20 : 0;
	va = vec_of(ca), vb = vec_of(cb);
	wa = vec_of(ma), wb = vec_of(mb);
	for (; end - p >= BLOCK; p += BLOCK) {
		a = p + f->at[0];
		b = p + f->at[1];
		for (j = 0; j < 4; j++)
			m[j] = (vec)((vec_at(a + j * VLEN) | wa) == va) &
			    (vec)((vec_at(b + j * VLEN) | wb) == vb);
		if (!vec_any(m[0] | m[1] | m[2] | m[3]))
			continue;
		for (i = 0; i < BLOCK; i++)
			if (m[i / VLEN][i % VLEN] != 0 && find_is(f, p + i))
				return (p + i);
	}
	for (; p < end; p++)
		if ((p[f->at[0]] | ma) == ca && find_is(f, p))
			return (p);
	return (NULL);
}

/* How many lines end in n bytes. */
uint64_t
find_lines(const uint8_t *p, size_t n)
{
	vec		 nl = vec_of('\n'), sum;
	uint64_t	 lines = 0;
	size_t		 i, turn;

	while (n >= VLEN) {
		/* A byte of the sum counts no further. */
		turn = n / VLEN < 255 ? n / VLEN : 255;
		memset(&sum, 0, sizeof(sum));
		for (i = 0; i < turn; i++, p += VLEN)
			sum -= (vec)(vec_at(p) == nl);
		n -= turn * VLEN;
		for (i = 0; i < VLEN; i++)
			lines += sum[i];
	}
	for (; n > 0; n--)
		lines += *p++ == '\n';
	return (lines);
}
