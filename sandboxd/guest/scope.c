/*
 * Which names below a directory are looked at: patterns, a line each.  One
 * behind a + names what is wanted, with all that is below it; without any of
 * these that is everything.  One behind a - takes away, with all below it,
 * whatever has been said of it elsewhere.  As in an ignore file, a pattern
 * without a slash, but at its end, is for any directory, and one that ends in
 * a slash for directories alone.
 */

#include <errno.h>
#include <string.h>

#include "scope.h"

static int
scope_line(struct scope *s, const char *p, size_t len)
{
	char	 buf[sizeof("**/") + GLOB_PATTERN];
	size_t	 at = 0;
	int	 error;

	if (len < 2 || len - 1 > GLOB_PATTERN || s->n == SCOPE_MAX ||
	    (*p != '+' && *p != '-'))
		return (EINVAL);
	if (memchr(p + 1, '/', len - 2) == NULL) {
		memcpy(buf, "**/", 3);
		at = 3;
	}
	memcpy(buf + at, p + 1, len - 1);
	buf[at + len - 1] = '\0';
	if ((error = glob_compile(&s->g[s->n], buf, 0)) != 0)
		return (error);
	s->out[s->n++] = *p == '-';
	s->ins += *p == '+';
	return (0);
}

int
scope_open(struct scope *s, const char *lines)
{
	size_t	 len;
	int	 error = 0;

	s->n = s->ins = 0;
	while (*lines != '\0' && error == 0) {
		len = strcspn(lines, "\n");
		error = scope_line(s, lines, len);
		lines += len + (lines[len] == '\n');
	}
	if (error != 0)
		scope_free(s);
	return (error);
}

void
scope_free(struct scope *s)
{
	while (s != NULL && s->n > 0)
		glob_free(&s->g[--s->n]);
}

/* Does it match the path, or a directory above? */
static int
scope_match(struct scope *s, int i, const char *path, int isdir)
{
	char	*p;
	size_t	 len = strlen(path);

	if (len >= sizeof(s->path))
		return (0);
	memcpy(s->path, path, len + 1);
	for (p = s->path; (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = '\0';
		if (glob_match(&s->g[i], s->path, 1))
			return (1);
	}
	return (glob_match(&s->g[i], path, isdir));
}

static int
scope_out(struct scope *s, const char *path, int isdir)
{
	int	 i;

	for (i = 0; i < s->n; i++)
		if (s->out[i] && scope_match(s, i, path, isdir))
			return (1);
	return (0);
}

int
scope_has(struct scope *s, const char *path, int isdir)
{
	int	 i;

	if (s == NULL)
		return (1);
	if (scope_out(s, path, isdir))
		return (0);
	for (i = 0; i < s->n; i++)
		if (!s->out[i] && scope_match(s, i, path, isdir))
			return (1);
	return (s->ins == 0);
}

/* Can something in the directory be wanted? */
int
scope_below(struct scope *s, const char *dir)
{
	int	 i;

	if (s == NULL || scope_has(s, dir, 1))
		return (1);
	if (scope_out(s, dir, 1))
		return (0);
	for (i = 0; i < s->n; i++)
		if (!s->out[i] && glob_below(&s->g[i], dir))
			return (1);
	return (0);
}
