/*
 * Which entries of a tree are left out: patterns, a line each, in a part of
 * what .gitignore(5) has.  A line that begins with # or is empty says nothing;
 * ! takes back what an earlier line left out; a pattern with a slash in it,
 * but at its end, is for the tree's own top; one that ends in a slash is for
 * directories alone.  Below a directory that is left out nothing is looked at.
 */

#include <sys/queue.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pack.h"
#include "tool.h"

#define IGNORE_MAX	4096		/* patterns */

struct rule {
	STAILQ_ENTRY(rule) entry;
	struct glob	 g;
	int		 back;
};

struct ignore {
	STAILQ_HEAD(, rule) rules;
	unsigned int	 n;
};

struct ignore *
ignore_new(void)
{
	struct ignore	*ig;

	if ((ig = calloc(1, sizeof(*ig))) != NULL)
		STAILQ_INIT(&ig->rules);
	return (ig);
}

void
ignore_free(struct ignore *ig)
{
	struct rule	*r;

	if (ig == NULL)
		return;
	while ((r = STAILQ_FIRST(&ig->rules)) != NULL) {
		STAILQ_REMOVE_HEAD(&ig->rules, entry);
		glob_free(&r->g);
		free(r);
	}
	free(ig);
}

static int
ignore_line(struct ignore *ig, char *p, size_t len)
{
	char		 any[sizeof("**/") + GLOB_PATTERN];
	struct rule	*r;
	int		 error, back = 0;

	if (len > 0 && p[len - 1] == '\r')
		p[--len] = '\0';
	if (len == 0 || *p == '#')
		return (0);
	if (*p == '!') {
		back = 1;
		p++;
		len--;
	}
	if (len == 0 || ig->n == IGNORE_MAX || strlen(p) != len) {
		errno = EINVAL;
		return (-1);
	}
	/* A slash at its end says nothing of where. */
	if (memchr(p, '/', len - 1) == NULL) {
		memcpy(any, "**/", 3);
		memcpy(any + 3, p, len + 1);
		p = any;
	}
	p += strspn(p, "/");
	if (*p == '\0')
		return (0);
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return (-1);
	r->back = back;
	if ((error = glob_compile(&r->g, p, 0)) != 0) {
		free(r);
		errno = error;
		return (-1);
	}
	STAILQ_INSERT_TAIL(&ig->rules, r, entry);
	ig->n++;
	return (0);
}

int
ignore_add(struct ignore *ig, const char *text, size_t len)
{
	const char	*e, *end = text + len;
	char		 line[GLOB_PATTERN + 1];
	size_t		 n;

	for (; text < end; text = e + 1) {
		if ((e = memchr(text, '\n', end - text)) == NULL)
			e = end;
		if ((n = e - text) > GLOB_PATTERN) {
			errno = E2BIG;
			return (-1);
		}
		memcpy(line, text, n);
		line[n] = '\0';
		if (ignore_line(ig, line, n) == -1)
			return (-1);
	}
	return (0);
}

/* The path is one below the tree, without a dot or a slash in front. */
int
ignore_match(const struct ignore *ig, const char *path, int isdir)
{
	const struct rule	*r;
	int			 out = 0;

	if (ig == NULL)
		return (0);
	STAILQ_FOREACH(r, &ig->rules, entry)
		if (out == r->back && glob_match(&r->g, path, isdir))
			out = !r->back;
	return (out);
}
