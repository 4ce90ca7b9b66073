/*
 * What stands between the Engine's bytes and jansson.
 *
 * The parser recurses and allocates for each value, so a scan that needs no
 * memory looks at depth and number of values first.
 */
#include <ctype.h>
#include <string.h>

#include "engine.h"

/*
 * Counts opened brackets, their depth, and the separators: every value but the
 * first of a container follows a comma or a colon, so the sum bounds the
 * number of values of any text that the parser would take.
 */
int
engine_json_scan(const char *p, size_t len, const struct engine_bound *bound)
{
	size_t	 i, values = 1;
	int	 depth = 0, instr = 0;

	if (len > bound->size)
		return (-1);
	for (i = 0; i < len; i++) {
		if (instr) {
			if (p[i] == '\\')
				i++;
			else if (p[i] == '"')
				instr = 0;
			continue;
		}
		switch (p[i]) {
		case '"':
			instr = 1;
			break;
		case '{':
		case '[':
			if (++depth > bound->depth)
				return (-1);
			values++;
			break;
		case '}':
		case ']':
			if (--depth < 0)
				return (-1);
			break;
		case ',':
			values++;
			break;
		}
		if (values > bound->values)
			return (-1);
	}
	if (instr || depth != 0)
		return (-1);
	return (0);
}

json_t *
engine_json_load(const char *p, size_t len, const struct engine_bound *bound)
{
	json_error_t	 error;

	if (engine_json_scan(p, len, bound) == -1)
		return (NULL);
	return (json_loadb(p, len, JSON_REJECT_DUPLICATES, &error));
}

void
engine_text(char *dst, size_t size, const char *src)
{
	size_t	 i;

	for (i = 0; src[i] != '\0' && i + 1 < size; i++)
		dst[i] = isprint((unsigned char)src[i]) ? src[i] : ' ';
	dst[i] = '\0';
	/* The Engine ends some of its messages with a newline. */
	while (i > 0 && dst[i - 1] == ' ')
		dst[--i] = '\0';
}
