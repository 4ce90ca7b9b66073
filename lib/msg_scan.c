/*
 * A walk over msgpack bytes before anything is unpacked: msgpack-c allocates
 * by the count that the sender declares, so that five bytes can ask for a
 * gigabyte.  After the walk each count is covered by bytes that are there.
 * Types that no message has pass: who takes a field can name it, and refuses
 * them as of another type than the field's.
 */

#include "msg.h"

static uint64_t
be(const uint8_t *p, size_t n)
{
	uint64_t	 v = 0;

	while (n-- > 0)
		v = v << 8 | *p++;
	return (v);
}

/* The shape of one object, by its first byte. */
struct shape {
	size_t		 lenbytes;	/* of a length or count behind it */
	size_t		 fixed;		/* bytes of a fixed payload */
	uint64_t	 count;		/* length or count in the first byte */
	enum { BYTES, ARRAY, MAP, BAD } what;
};

static struct shape
scan_shape(uint8_t b)
{
	struct shape	 s = { 0, 0, 0, BYTES };

	if (b <= 0x7f || b >= 0xe0)		/* fixint */
		return (s);
	if (b <= 0x8f) {
		s.what = MAP;
		s.count = b & 0x0f;
	} else if (b <= 0x9f) {
		s.what = ARRAY;
		s.count = b & 0x0f;
	} else if (b <= 0xbf)
		s.count = b & 0x1f;
	else if (b >= 0xc4 && b <= 0xc6)	/* bin */
		s.lenbytes = (size_t)1 << (b - 0xc4);
	else if (b >= 0xc7 && b <= 0xc9) {	/* ext, with its type */
		s.lenbytes = (size_t)1 << (b - 0xc7);
		s.fixed = 1;
	} else if (b == 0xca || b == 0xcb)	/* float */
		s.fixed = (size_t)4 << (b - 0xca);
	else if (b >= 0xcc && b <= 0xcf)	/* uint */
		s.fixed = (size_t)1 << (b - 0xcc);
	else if (b >= 0xd0 && b <= 0xd3)	/* int */
		s.fixed = (size_t)1 << (b - 0xd0);
	else if (b >= 0xd4 && b <= 0xd8)	/* fixext, with its type */
		s.fixed = 1 + ((size_t)1 << (b - 0xd4));
	else if (b >= 0xd9 && b <= 0xdb)	/* str */
		s.lenbytes = (size_t)1 << (b - 0xd9);
	else if (b == 0xdc || b == 0xdd) {
		s.what = ARRAY;
		s.lenbytes = b == 0xdc ? 2 : 4;
	} else if (b == 0xde || b == 0xdf) {
		s.what = MAP;
		s.lenbytes = b == 0xde ? 2 : 4;
	} else if (b == 0xc1)			/* never used */
		s.what = BAD;
	/* What is left are nil, false and true. */
	return (s);
}

#define SCAN_DEPTH_MAX	16

int
msg_scan(const uint8_t *p, size_t len, int depth)
{
	uint64_t	 left[SCAN_DEPTH_MAX];
	struct shape	 s;
	int		 d = 0;

	if (depth < 1 || depth > SCAN_DEPTH_MAX)
		return (-1);
	left[0] = 1;
	for (;;) {
		while (left[d] == 0)
			if (d-- == 0)
				return (len == 0 ? 0 : -1);
		left[d]--;
		if (len == 0)
			return (-1);
		s = scan_shape(*p++);
		len--;
		if (s.what == BAD || len < s.lenbytes + s.fixed)
			return (-1);
		if (s.lenbytes > 0)
			s.count = be(p, s.lenbytes);
		p += s.lenbytes + s.fixed;
		len -= s.lenbytes + s.fixed;
		if (s.count > len)
			return (-1);
		if (s.what == BYTES) {
			p += s.count;
			len -= s.count;
			continue;
		}
		if (s.what == MAP && (s.count *= 2) > len)
			return (-1);
		if (s.count == 0)
			continue;
		if (++d == depth)
			return (-1);
		left[d] = s.count;
	}
}
