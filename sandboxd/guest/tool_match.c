/*
 * Patterns of names: * and ? and [classes] within a segment of a path, ** for
 * any number of segments, {a,b} for either.  A backslash takes the meaning of
 * the next character away.  A character is one of UTF-8, or a byte that is no
 * part of any.  The braces are spelled out first, so that what is left is a
 * list of patterns, each matched without recursion: on a mismatch only the
 * last star can take more, and the last ** one segment more.
 */

#include <sys/types.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define NO_CHAR	0x110000U	/* and above: a byte that is no character */

/* One character at s, its length to *len. */
static uint32_t
match_char(const char *s, size_t *len)
{
	const uint8_t	*p = (const uint8_t *)s;
	uint32_t	 c = p[0];
	size_t		 i, n;

	*len = 1;
	if (c < 0x80)
		return (c);
	n = c >= 0xf0 && c < 0xf5 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
	if (n == 1 || c >= 0xf5)
		return (NO_CHAR + p[0]);
	c &= 0xff >> (n + 1);
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return (NO_CHAR + p[0]);
		c = c << 6 | (p[i] & 0x3f);
	}
	*len = n;
	return (c);
}

static const char *
seg_end(const char *s)
{
	while (*s != '\0' && *s != '/')
		s++;
	return (s);
}

static const char *
seg_next(const char *s)
{
	s = seg_end(s);
	return (*s == '/' ? s + 1 : s);
}

/* A character of a class, which a backslash may hide. */
static uint32_t
class_char(const char **p)
{
	uint32_t	 c;
	size_t		 n;

	if (**p == '\\' && (*p)[1] != '/' && (*p)[1] != '\0')
		(*p)++;
	c = match_char(*p, &n);
	*p += n;
	return (c);
}

/*
 * A class at p, after its bracket: 1 or 0 whether c is in it, and p is set
 * behind it; -1 if it has no end in this segment, and so is none.
 */
static int
class_match(const char **pp, uint32_t c)
{
	const char	*p = *pp;
	uint32_t	 lo, hi;
	int		 not = 0, in = 0, first = 1;

	if (*p == '!' || *p == '^') {
		not = 1;
		p++;
	}
	for (; first || *p != ']'; first = 0) {
		if (*p == '\0' || *p == '/')
			return (-1);
		lo = hi = class_char(&p);
		if (*p == '-' && p[1] != ']' && p[1] != '/' && p[1] != '\0') {
			p++;
			hi = class_char(&p);
		}
		if (c >= lo && c <= hi)
			in = 1;
	}
	*pp = p + 1;
	return (in != not);
}

/* One thing of the pattern against the character at s: 1 and both go on. */
static int
one_match(const char **pp, const char **sp)
{
	const char	*p = *pp;
	uint32_t	 c, pc;
	size_t		 n, pn;
	int		 in;

	c = match_char(*sp, &n);
	if (*p == '?')
		p++;
	else if (*p == '[' && (p++, in = class_match(&p, c)) != -1) {
		if (!in)
			return (0);
	} else {
		p = *pp;
		if (*p == '\\' && p[1] != '/' && p[1] != '\0')
			p++;
		pc = match_char(p, &pn);
		if (pc != c)
			return (0);
		p += pn;
	}
	*pp = p;
	*sp += n;
	return (1);
}

/* A segment of the pattern against one of the path. */
static int
seg_match(const char *p, const char *s, int flags)
{
	const char	*star = NULL, *from = NULL;
	size_t		 n;

	if ((flags & GLOB_NODOT) && *s == '.' && *p != '.' &&
	    !(*p == '\\' && p[1] == '.'))
		return (0);
	for (;;) {
		if (*p == '*') {
			star = ++p;
			from = s;
			continue;
		}
		if (*s == '\0' || *s == '/') {
			if (*p == '\0' || *p == '/')
				return (1);
			return (0);
		}
		if (*p != '\0' && *p != '/' && one_match(&p, &s))
			continue;
		if (star == NULL)
			return (0);
		match_char(from, &n);
		from += n;
		s = from;
		p = star;
	}
}

/* A segment that stands for any number of them. */
static int
seg_is_any(const char *p)
{
	return (p[0] == '*' && p[1] == '*' && (p[2] == '\0' || p[2] == '/'));
}

static int
seg_hidden(const char *s, int flags)
{
	return ((flags & GLOB_NODOT) != 0 && *s == '.');
}

static int
alt_match(const char *p, const char *s, int flags)
{
	const char	*any = NULL, *from = NULL;

	for (;;) {
		if (seg_is_any(p)) {
			any = p = seg_next(p);
			from = s;
			/* At the end it stands for at least one. */
			if (*p == '\0')
				break;
			continue;
		}
		if (*p == '\0' && *s == '\0')
			return (1);
		if (*p != '\0' && *s != '\0' && seg_match(p, s, flags)) {
			p = seg_next(p);
			s = seg_next(s);
			continue;
		}
		if (any == NULL || *from == '\0' || seg_hidden(from, flags))
			return (0);
		s = from = seg_next(from);
		p = any;
	}
	for (; *s != '\0'; s = seg_next(s)) {
		if (seg_hidden(s, flags))
			return (0);
		p = NULL;
	}
	return (p == NULL);
}

/* Can something below the directory s match? */
static int
alt_below(const char *p, const char *s, int flags)
{
	for (; *s != '\0'; p = seg_next(p), s = seg_next(s)) {
		if (seg_is_any(p)) {
			if ((flags & GLOB_NODOT) == 0)
				return (1);
			/* A hidden one may be spelled further on. */
			return (!seg_hidden(s, flags) ||
			    strstr(p, "/.") != NULL ||
			    strstr(p, "/\\.") != NULL);
		}
		if (*p == '\0' || !seg_match(p, s, flags))
			return (0);
	}
	return (*p != '\0');
}

/* A pattern that ends in a slash means directories alone. */
int
glob_match(const struct glob *g, const char *path, int isdir)
{
	const char	*p;
	size_t		 i;

	for (i = 0; i < g->n; i++) {
		/* The first byte tells. */
		p = g->alts[i];
		if (*p++ == '/' && !isdir)
			continue;
		if (alt_match(p, path, g->flags))
			return (1);
	}
	return (0);
}

int
glob_below(const struct glob *g, const char *dir)
{
	size_t	 i;

	for (i = 0; i < g->n; i++)
		if (alt_below(g->alts[i] + 1, dir, g->flags))
			return (1);
	return (0);
}

/*
 * The first group of braces that has a comma: where it begins and ends, and
 * how many alternatives it has; 0 if there is none.
 */
static int
brace_find(const char *s, size_t *begin, size_t *end)
{
	size_t	 i, j;
	int	 depth, n;

	for (i = 0; s[i] != '\0'; i++) {
		if (s[i] == '\\' && s[i + 1] != '\0') {
			i++;
			continue;
		}
		if (s[i] != '{')
			continue;
		for (j = i + 1, depth = 1, n = 1; s[j] != '\0'; j++) {
			if (s[j] == '\\' && s[j + 1] != '\0')
				j++;
			else if (s[j] == '{')
				depth++;
			else if (s[j] == ',' && depth == 1)
				n++;
			else if (s[j] == '}' && --depth == 0)
				break;
		}
		if (s[j] == '\0' || n == 1)
			continue;
		*begin = i;
		*end = j;
		return (n);
	}
	return (0);
}

/* Where the nth alternative between begin and end begins, and its length. */
static size_t
brace_nth(const char *s, size_t begin, size_t end, int nth, size_t *len)
{
	size_t	 i, from = begin + 1;
	int	 depth = 0;

	for (i = from; i < end; i++) {
		if (s[i] == '\\')
			i++;
		else if (s[i] == '{')
			depth++;
		else if (s[i] == '}')
			depth--;
		else if (s[i] == ',' && depth == 0) {
			if (nth-- == 0)
				break;
			from = i + 1;
		}
	}
	*len = i - from;
	return (from);
}

/*
 * Without "." and what is empty; in front a byte that tells whether it means
 * directories alone, and **, if it is for any depth.
 */
static char *
alt_make(const char *s, int flags, int *error)
{
	const char	*e;
	char		*p, *o;
	int		 any = 0;

	if ((p = o = malloc(strlen(s) + sizeof(" **/"))) == NULL) {
		*error = ENOMEM;
		return (NULL);
	}
	e = s + strlen(s);
	*o++ = e > s && e[-1] == '/' ? '/' : ' ';
	if ((flags & GLOB_ANYDEPTH) && strchr(s, '/') == NULL) {
		memcpy(o, "**/", 3);
		o += 3;
	}
	for (; *s != '\0'; s = seg_next(s)) {
		e = seg_end(s);
		if (e == s || (e == s + 1 && *s == '.'))
			continue;
		if (e == s + 2 && s[0] == '.' && s[1] == '.') {
			free(p);
			*error = EINVAL;
			return (NULL);
		}
		any = 1;
		/* Two ** beside each other are as one. */
		if (seg_is_any(s) && o - p >= 4 && o[-1] == '/' &&
		    o[-2] == '*' && o[-3] == '*' &&
		    (o - p == 4 || o[-4] == '/'))
			continue;
		memcpy(o, s, e - s);
		o += e - s;
		*o++ = '/';
	}
	/* Nothing matches what an empty alternative leaves. */
	if (any == 0)
		o = p + 1;
	else
		o--;
	*o = '\0';
	return (p);
}

/* One step: what is not spelled out goes back on the stack, in order. */
static int
brace_step(struct glob *g, char **stack, size_t *nstack)
{
	char	*s = stack[--*nstack], *t;
	size_t	 begin, end, from, len, all = strlen(s);
	int	 i, n, error = 0;

	if ((n = brace_find(s, &begin, &end)) == 0) {
		if ((t = alt_make(s, g->flags, &error)) != NULL)
			g->alts[g->n++] = t;
		free(s);
		return (error);
	}
	if (g->n + *nstack + n > GLOB_ALTS)
		error = E2BIG;
	for (i = n - 1; i >= 0 && error == 0; i--) {
		from = brace_nth(s, begin, end, i, &len);
		if ((t = malloc(all + 1)) == NULL) {
			error = ENOMEM;
			break;
		}
		memcpy(t, s, begin);
		memcpy(t + begin, s + from, len);
		memcpy(t + begin + len, s + end + 1, all - end);
		stack[(*nstack)++] = t;
	}
	free(s);
	return (error);
}

/* EINVAL for what is no pattern, E2BIG for too many alternatives. */
int
glob_compile(struct glob *g, const char *pattern, int flags)
{
	char	**stack;
	size_t	  n = 0;
	int	  error = 0;

	memset(g, 0, sizeof(*g));
	g->flags = flags;
	if (*pattern == '\0' || strlen(pattern) > GLOB_PATTERN)
		return (EINVAL);
	g->alts = calloc(GLOB_ALTS, sizeof(*g->alts));
	stack = calloc(GLOB_ALTS, sizeof(*stack));
	if (g->alts == NULL || stack == NULL ||
	    (stack[n] = strdup(pattern)) == NULL)
		error = ENOMEM;
	else
		n++;
	while (error == 0 && n > 0)
		error = brace_step(g, stack, &n);
	while (n > 0)
		free(stack[--n]);
	free(stack);
	if (error != 0)
		glob_free(g);
	return (error);
}

void
glob_free(struct glob *g)
{
	while (g->n > 0)
		free(g->alts[--g->n]);
	free(g->alts);
	g->alts = NULL;
}
