/*
 * Records of calls' output, see filerec.h: msgpack by hand, since the guest
 * links no library.  One is made in a buffer of its own and goes out whole.
 */

#include <string.h>

#include "call.h"

static uint8_t	 rec[GP_MAX_DATA / 2];
static size_t	 reclen;
static int	 recbad;		/* it does not fit */

static void
rec_bytes(const void *p, size_t n)
{
	if (recbad || n > sizeof(rec) - reclen) {
		recbad = 1;
		return;
	}
	memcpy(rec + reclen, p, n);
	reclen += n;
}

/* A byte of a type and n more of a number, big endian. */
static void
rec_num(uint8_t type, uint64_t v, int n)
{
	uint8_t	 b[9];
	int	 i;

	b[0] = type;
	for (i = n; i > 0; i--, v >>= 8)
		b[i] = v & 0xff;
	rec_bytes(b, n + 1);
}

void
rec_begin(struct job *j, unsigned int n)
{
	(void)j;
	reclen = 4;
	recbad = 0;
	rec_num(0xdc, n, 2);
}

void
rec_uint(struct job *j, uint64_t v)
{
	(void)j;
	if (v < 0x80)
		rec_num(v, 0, 0);
	else
		rec_num(0xcf, v, 8);
}

void
rec_int(struct job *j, int64_t v)
{
	if (v >= 0)
		rec_uint(j, v);
	else
		rec_num(0xd3, (uint64_t)v, 8);
}

void
rec_str(struct job *j, const char *s)
{
	size_t	 n = strlen(s);

	(void)j;
	rec_num(0xdb, n, 4);
	rec_bytes(s, n);
}

void
rec_blob(struct job *j, const void *p, size_t n)
{
	(void)j;
	rec_num(0xc6, n, 4);
	rec_bytes(p, n);
}

int
rec_end(struct job *j)
{
	size_t	 n = reclen - 4;

	if (recbad)
		return (job_fail(j, CODE_TOO_LARGE, "a record is too long"));
	rec[0] = n & 0xff;
	rec[1] = n >> 8 & 0xff;
	rec[2] = n >> 16 & 0xff;
	rec[3] = n >> 24 & 0xff;
	return (job_out(j, rec, reclen));
}
