/*
 * Headers of tar: what ustar has no room for, or says with less precision,
 * stands in an extended header before it.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tar.h"

struct ustar {
	char	 name[100];
	char	 mode[8];
	char	 uid[8];
	char	 gid[8];
	char	 size[12];
	char	 mtime[12];
	char	 sum[8];
	char	 type;
	char	 link[100];
	char	 magic[8];
	char	 uname[32];
	char	 gname[32];
	char	 major[8];
	char	 minor[8];
	char	 prefix[155];
	char	 pad[12];
};
_Static_assert(sizeof(struct ustar) == TAR_BLOCK, "a header is a block");

#define OCTAL8		07777777ULL	/* seven digits and an end */
#define OCTAL12		077777777777ULL

/* Larger ones are told before. */
static void
put_octal(char *to, size_t size, uint64_t n)
{
	size_t	 i;

	to[size - 1] = '\0';
	for (i = size - 1; i-- > 0; n >>= 3)
		to[i] = '0' + (n & 7);
}

/* Records of an extended header. */
struct records {
	char	*p;
	char	*end;
};

static size_t
digits(size_t n)
{
	size_t	 i;

	for (i = 1; n >= 10; i++)
		n /= 10;
	return (i);
}

static void
put_text(struct records *r, const char *s, size_t len)
{
	memcpy(r->p, s, len);
	r->p += len;
}

/*
 * A record tells its own length, digits included.  Each file has one, for the
 * fraction of its time: printf(3) would take longer than to read the file.
 */
static void
put_record(struct records *r, const char *key, const char *value)
{
	size_t	 klen = strlen(key), vlen = strlen(value), n, i, total;

	for (n = 1; digits(klen + vlen + 3 + n) != n;)
		n++;
	total = klen + vlen + 3 + n;
	/* TAR_HEAD_MAX is counted for all of them at their longest. */
	if (total >= (size_t)(r->end - r->p))
		abort();
	for (i = n; i-- > 0; total /= 10)
		r->p[i] = '0' + total % 10;
	r->p += n;
	put_text(r, " ", 1);
	put_text(r, key, klen);
	put_text(r, "=", 1);
	put_text(r, value, vlen);
	put_text(r, "\n", 1);
}

static void
put_number(struct records *r, const char *key, uint64_t n, uint64_t max)
{
	char	 num[24];

	if (n <= max)
		return;
	snprintf(num, sizeof(num), "%llu", (unsigned long long)n);
	put_record(r, key, num);
}

/* Nearly each file has one: printf(3) costs more than all else here. */
static void
put_fraction(struct records *r, const struct pack_entry *e)
{
	char		 num[40], *p = num + sizeof(num);
	uint32_t	 nsec = e->nsec;
	uint64_t	 sec = e->sec;
	int		 i;

	*--p = '\0';
	for (i = 0; i < 9; i++, nsec /= 10)
		*--p = '0' + nsec % 10;
	*--p = '.';
	do {
		*--p = '0' + sec % 10;
	} while ((sec /= 10) != 0);
	put_record(r, "mtime", p);
}

static void
put_time(struct records *r, const struct pack_entry *e)
{
	char	 num[40];

	if (e->nsec == 0 && e->sec >= 0 && (uint64_t)e->sec <= OCTAL12)
		return;
	/* Before 1970 the fraction counts the other way. */
	if (e->sec >= 0) {
		put_fraction(r, e);
		return;
	}
	if (e->nsec != 0)
		snprintf(num, sizeof(num), "%s%lld.%09u", e->sec == -1 ? "-" :
		    "", (long long)e->sec + 1, 1000000000 - e->nsec);
	else
		snprintf(num, sizeof(num), "%lld.%09u", (long long)e->sec,
		    e->nsec);
	put_record(r, "mtime", num);
}

static int
is_ascii(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s >= 0x80)
			return (0);
	return (1);
}

/* Others take ustar's own names for what their locale says. */
static int
is_plain(const char *s)
{
	return (strlen(s) <= 100 && is_ascii(s));
}

/* Of a block's bytes: four sums of 16 bits, which 128 bytes do not fill. */
static unsigned int
block_sum(const uint8_t *p)
{
	const uint64_t	 even = 0x00ff00ff00ff00ffULL;
	uint64_t	 w, sum = 0;
	size_t		 i;

	for (i = 0; i < TAR_BLOCK; i += sizeof(w)) {
		memcpy(&w, p + i, sizeof(w));
		sum += (w & even) + (w >> 8 & even);
	}
	return ((sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32 & 0xffff) +
	    (sum >> 48));
}

static void
put_block(uint8_t *to, const struct pack_entry *e, const char *path,
    const char *link, int type, uint64_t size)
{
	struct ustar	*h = (struct ustar *)(void *)to;

	memset(h, 0, sizeof(*h));
	/* What is cut here stands in full before it. */
	memcpy(h->name, path, strnlen(path, sizeof(h->name)));
	memcpy(h->link, link, strnlen(link, sizeof(h->link)));
	put_octal(h->mode, sizeof(h->mode), e->mode & 07777);
	put_octal(h->uid, sizeof(h->uid), e->uid <= OCTAL8 ? e->uid : 0);
	put_octal(h->gid, sizeof(h->gid), e->gid <= OCTAL8 ? e->gid : 0);
	put_octal(h->size, sizeof(h->size), size <= OCTAL12 ? size : 0);
	put_octal(h->mtime, sizeof(h->mtime), e->sec > 0 &&
	    (uint64_t)e->sec <= OCTAL12 ? e->sec : 0);
	h->type = type;
	memcpy(h->magic, "ustar\00000", 8);
	memset(h->sum, ' ', sizeof(h->sum));
	put_octal(h->sum, sizeof(h->sum) - 1, block_sum(to));
}

/*
 * With a note it is one about an entry, and none itself: who knows the record
 * makes nothing of it.  to has TAR_HEAD_MAX bytes.
 */
size_t
tar_head(uint8_t *to, const struct pack_entry *e, const char *note)
{
	struct pack_entry	 x;
	struct records		 r = { (char *)to + TAR_BLOCK,
				    (char *)to + TAR_HEAD_MAX - 2 * TAR_BLOCK };
	char			*p = r.p;
	char			 dir[PACK_PATH + 2];
	const char		*path = e->path;
	size_t			 len;

	/* Other programs want to see that it is a directory. */
	if (e->type == PACK_DIR) {
		snprintf(dir, sizeof(dir), "%s/", path);
		path = dir;
	}
	if (!is_ascii(path) || !is_ascii(e->link))
		put_record(&r, "hdrcharset", "BINARY");
	if (!is_plain(path))
		put_record(&r, "path", path);
	if (!is_plain(e->link))
		put_record(&r, "linkpath", e->link);
	put_number(&r, "size", e->size, OCTAL12);
	put_number(&r, "uid", e->uid, OCTAL8);
	put_number(&r, "gid", e->gid, OCTAL8);
	put_time(&r, e);
	if (note != NULL)
		put_record(&r, "SCHILY.xattr.sandboxd.note", note);
	if ((len = r.p - p) == 0) {
		put_block(to, e, path, e->link, e->type, e->size);
		return (TAR_BLOCK);
	}
	memset(&x, 0, sizeof(x));
	x.mode = 0600;
	put_block(to, &x, "PaxHeaders/x", "", 'x', len);
	for (; len % TAR_BLOCK != 0; len++)
		p[len] = '\0';
	put_block(to + TAR_BLOCK + len, e, path, e->link, e->type, e->size);
	return (2 * TAR_BLOCK + len);
}
