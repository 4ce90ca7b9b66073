/*
 * Encoding of event records, and the hash chain over them.
 */
#include <sys/types.h>

#include <sha2.h>
#include <string.h>

#include "record.h"

void
record_put64(uint8_t *p, uint64_t v)
{
	int	 i;

	for (i = 7; i >= 0; i--) {
		p[i] = v & 0xff;
		v >>= 8;
	}
}

uint64_t
record_get64(const uint8_t *p)
{
	uint64_t	 v = 0;
	int		 i;

	for (i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return (v);
}

static void
record_put32(uint8_t *p, uint32_t v)
{
	p[0] = v >> 24;
	p[1] = v >> 16;
	p[2] = v >> 8;
	p[3] = v;
}

static uint32_t
record_get32(const uint8_t *p)
{
	return ((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3]);
}

void
record_hash(const uint8_t *body, size_t len, uint8_t *hash)
{
	SHA2_CTX	 ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, body, len);
	SHA256Final(hash, &ctx);
}

void
record_link(const uint8_t *prev, const uint8_t *hash, uint8_t *out)
{
	SHA2_CTX	 ctx;
	uint8_t		 link[RECORD_HASH_LEN];

	SHA256Init(&ctx);
	SHA256Update(&ctx, prev, RECORD_HASH_LEN);
	SHA256Update(&ctx, hash, RECORD_HASH_LEN);
	SHA256Final(link, &ctx);
	/* out may be prev */
	memcpy(out, link, sizeof(link));
}

int
record_encode(uint8_t *buf, size_t size, const struct record *r,
    const uint8_t *prev, uint8_t *link)
{
	uint8_t		*b = buf + RECORD_FRAME_HEAD;
	size_t		 nbody = RECORD_FIXED + (size_t)r->ndetails;

	if (r->ndetails > RECORD_DETAILS_MAX ||
	    size < RECORD_FRAME_HEAD + nbody)
		return (-1);
	b[0] = RECORD_VERSION;
	b[1] = b[2] = b[3] = 0;
	b[4] = r->type >> 8;
	b[5] = r->type & 0xff;
	b[6] = r->state >> 8;
	b[7] = r->state & 0xff;
	record_put64(b + 8, r->seq);
	record_put64(b + 16, r->sbx);
	record_put64(b + 24, r->sseq);
	record_put64(b + 32, r->time);
	record_put64(b + 40, r->op);
	record_put64(b + 48, r->exec);
	record_put32(b + 56, r->owner);
	record_put32(b + 60, r->actor);
	record_put64(b + 64, r->ndetails);
	if (r->ndetails != 0)
		memcpy(b + RECORD_FIXED, r->details, r->ndetails);
	buf[0] = RECORD_EVENT;
	record_hash(b, nbody, buf + 1);
	record_link(prev, buf + 1, buf + 1 + RECORD_HASH_LEN);
	memcpy(link, buf + 1 + RECORD_HASH_LEN, RECORD_HASH_LEN);
	return (RECORD_FRAME_HEAD + nbody);
}

int
record_frame(struct record_frame *f, const uint8_t *data, size_t len)
{
	if (len < RECORD_FRAME_HEAD)
		return (-1);
	f->form = data[0];
	memcpy(f->hash, data + 1, RECORD_HASH_LEN);
	memcpy(f->link, data + 1 + RECORD_HASH_LEN, RECORD_HASH_LEN);
	f->body = data + RECORD_FRAME_HEAD;
	f->nbody = len - RECORD_FRAME_HEAD;
	switch (f->form) {
	case RECORD_EVENT:
		return (f->nbody < RECORD_FIXED ? -1 : 0);
	case RECORD_SKELETON:
		return (f->nbody != 0 ? -1 : 0);
	default:
		return (-1);
	}
}

int
record_check(const struct record_frame *f, const uint8_t *prev)
{
	uint8_t	 h[RECORD_HASH_LEN];

	if (f->form == RECORD_EVENT) {
		record_hash(f->body, f->nbody, h);
		if (memcmp(h, f->hash, sizeof(h)) != 0)
			return (-1);
	}
	record_link(prev, f->hash, h);
	return (memcmp(h, f->link, sizeof(h)) != 0 ? -1 : 0);
}

int
record_decode(struct record *r, const struct record_frame *f)
{
	const uint8_t	*b = f->body;
	uint64_t	 n;

	memset(r, 0, sizeof(*r));
	if (f->form != RECORD_EVENT || f->nbody < RECORD_FIXED ||
	    b[0] != RECORD_VERSION)
		return (-1);
	r->type = b[4] << 8 | b[5];
	r->state = b[6] << 8 | b[7];
	r->seq = record_get64(b + 8);
	r->sbx = record_get64(b + 16);
	r->sseq = record_get64(b + 24);
	r->time = record_get64(b + 32);
	r->op = record_get64(b + 40);
	r->exec = record_get64(b + 48);
	r->owner = record_get32(b + 56);
	r->actor = record_get32(b + 60);
	n = record_get64(b + 64);
	if (n > RECORD_DETAILS_MAX || n != f->nbody - RECORD_FIXED)
		return (-1);
	r->ndetails = n;
	r->details = n != 0 ? b + RECORD_FIXED : NULL;
	return (0);
}
