/*
 * base64.c: bytes in JSON (RFC 4648, section 4): with padding, without
 * newlines, and in one form only.
 */

#include <stdint.h>
#include <string.h>

#include "sandboxctl.h"

static const char	 digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Writes BASE64_LEN(len) characters, and no NUL. */
void
base64_encode(char *to, const void *data, size_t len)
{
	const uint8_t	*p = data;
	uint32_t	 v;

	for (; len >= 3; len -= 3, p += 3, to += 4) {
		v = (uint32_t)p[0] << 16 | p[1] << 8 | p[2];
		to[0] = digits[v >> 18];
		to[1] = digits[v >> 12 & 63];
		to[2] = digits[v >> 6 & 63];
		to[3] = digits[v & 63];
	}
	if (len == 0)
		return;
	v = (uint32_t)p[0] << 16 | (len == 2 ? p[1] << 8 : 0);
	to[0] = digits[v >> 18];
	to[1] = digits[v >> 12 & 63];
	to[2] = len == 2 ? digits[v >> 6 & 63] : '=';
	to[3] = '=';
}

static int
value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (c - 'A');
	if (c >= 'a' && c <= 'z')
		return (c - 'a' + 26);
	if (c >= '0' && c <= '9')
		return (c - '0' + 52);
	return (c == '+' ? 62 : c == '/' ? 63 : -1);
}

/*
 * Into at most len / 4 * 3 bytes; how many these are, or -1.  Bits that stand
 * for nothing must be 0: each sequence of bytes has one text.
 */
ssize_t
base64_decode(void *data, const char *text, size_t len)
{
	uint8_t		*to = data;
	uint32_t	 v = 0;
	size_t		 i, pad = 0;
	int		 n;

	if (len % 4 != 0)
		return (-1);
	if (len > 0 && text[len - 1] == '=')
		pad = text[len - 2] == '=' ? 2 : 1;
	for (i = 0; i < len; i++) {
		if (i >= len - pad)
			n = 0;
		else if ((n = value(text[i])) == -1)
			return (-1);
		v = v << 6 | n;
		if (i % 4 != 3)
			continue;
		*to++ = v >> 16;
		*to++ = v >> 8 & 0xff;
		*to++ = v & 0xff;
		if (i == len - 1 && ((pad == 1 && (v & 0xff) != 0) ||
		    (pad == 2 && (v & 0xffff) != 0)))
			return (-1);
		v = 0;
	}
	return (to - (uint8_t *)data - pad);
}
