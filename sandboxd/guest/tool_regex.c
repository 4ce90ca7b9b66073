/*
 * What an extended regular expression may cost, judged before it is compiled,
 * and a string that every line that it matches must have, so that the others
 * need not be looked at.  The C library expands {m,n} and recurses nowhere;
 * it knows no references back in these expressions, so that its time is the
 * line's length times what is counted here.
 */

#include <sys/types.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define REGEX_LEN	4096
#define REGEX_DEPTH	64		/* of brackets in each other */
#define REGEX_COST	1000		/* characters, when all is expanded */

/* Behind a class that begins at i, after its bracket. */
static size_t
class_end(const char *s, size_t len, size_t i)
{
	char	 kind;

	if (i < len && s[i] == '^')
		i++;
	if (i < len && s[i] == ']')
		i++;
	while (i < len && s[i] != ']') {
		if (s[i] == '[' && i + 1 < len &&
		    (s[i + 1] == ':' || s[i + 1] == '.' || s[i + 1] == '=')) {
			kind = s[i + 1];
			for (i += 2; i + 1 < len && !(s[i] == kind &&
			    s[i + 1] == ']'); i++)
				;
			i++;
		}
		i++;
	}
	return (i < len ? i + 1 : len);
}

/* The higher number of a repetition after its brace; 1 if there is none. */
static uint64_t
repeat_max(const char *s, size_t len, size_t i)
{
	uint64_t	 n = 0, max = 1;

	for (; i < len && s[i] != '}'; i++) {
		if (s[i] == ',')
			n = 0;
		else if (s[i] >= '0' && s[i] <= '9' && n < 100000)
			n = n * 10 + (s[i] - '0');
		if (n > max)
			max = n;
	}
	return (max);
}

/* 0, EINVAL for what is none, E2BIG for one that costs too much. */
int
regex_check(const char *s, size_t len)
{
	uint64_t	 cost[REGEX_DEPTH], last = 0;
	size_t		 i;
	int		 d = 0;

	if (len > REGEX_LEN)
		return (E2BIG);
	if (memchr(s, '\0', len) != NULL || memchr(s, '\n', len) != NULL)
		return (EINVAL);
	cost[0] = 0;
	for (i = 0; i < len; i++) {
		switch (s[i]) {
		case '(':
			if (++d == REGEX_DEPTH)
				return (E2BIG);
			cost[d] = 0;
			last = 0;
			continue;
		case ')':
			if (d == 0)
				return (EINVAL);
			last = cost[d--] + 1;
			break;
		case '{':
			/* What stands before was counted once. */
			cost[d] += last * (repeat_max(s, len, i + 1) - 1);
			last *= repeat_max(s, len, i + 1);
			while (i < len && s[i] != '}')
				i++;
			if (cost[d] > REGEX_COST)
				return (E2BIG);
			continue;
		case '[':
			i = class_end(s, len, i + 1) - 1;
			last = 1;
			break;
		case '\\':
			i++;
			/* FALLTHROUGH */
		default:
			last = 1;
		}
		cost[d] += last;
		if (cost[d] > REGEX_COST)
			return (E2BIG);
	}
	return (d == 0 ? 0 : EINVAL);
}

static int
is_special(char c)
{
	return (strchr("\\.[]()*+?{}|^$", c) != NULL);
}

/*
 * The longest run of plain characters outside all brackets, where it begins
 * and its length; 0 if there is none, or another branch could do without it.
 */
size_t
regex_must(const char *s, size_t len, size_t *at)
{
	size_t	 i, from = 0, n = 0, best = 0;
	int	 depth = 0;

	*at = 0;
	for (i = 0; i <= len; i++) {
		if (i < len && s[i] == '|')
			return (0);
		if (i < len && !is_special(s[i]) && depth == 0) {
			if (n++ == 0)
				from = i;
			continue;
		}
		/* The last one may be there any number of times. */
		if (i < len && n > 0 && strchr("*+?{", s[i]) != NULL)
			n--;
		if (n > best) {
			best = n;
			*at = from;
		}
		n = 0;
		if (i == len)
			break;
		if (s[i] == '(')
			depth++;
		else if (s[i] == ')')
			depth--;
		else if (s[i] == '[')
			i = class_end(s, len, i + 1) - 1;
		else if (s[i] == '\\')
			i++;
		else if (s[i] == '{')
			while (i + 1 < len && s[i] != '}')
				i++;
	}
	return (best);
}
