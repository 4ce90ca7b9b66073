/*
 * text.c: what of a stranger's text a terminal or a log may get.
 */

#include "text.h"

size_t
text_char(const unsigned char *p)
{
	size_t	 i, n;

	if (*p < 0x80)
		return (*p >= 0x20 && *p != 0x7f);
	if (*p >= 0xc2 && *p <= 0xdf)
		n = 2;
	else if (*p >= 0xe0 && *p <= 0xef)
		n = 3;
	else if (*p >= 0xf0 && *p <= 0xf4)
		n = 4;
	else
		return (0);
	for (i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return (0);
	/* Some read too long a form, a surrogate and what is too large. */
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return (0);
	/* U+0080 to U+009F steer terminals too. */
	if (*p == 0xc2 && p[1] < 0xa0)
		return (0);
	/* U+202A to U+202E and U+2066 to U+2069 turn what follows around. */
	if (*p == 0xe2 && ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
	    (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)))
		return (0);
	return (n);
}
