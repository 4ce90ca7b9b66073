/*
 * What of a stranger's text a terminal or a log may get.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>

/*
 * How many bytes the character at the start of a string ended by NUL takes,
 * 1 to 4; 0 if it is none that may be printed: a control, C1 controls and what
 * turns the direction of text included, or no UTF-8 (RFC 3629).
 */
size_t	text_char(const unsigned char *);

#endif
