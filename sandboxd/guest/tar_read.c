/*
 * A reader of tar that takes nothing on trust: a header has its sum or it is
 * no archive, an extended one has a bound, and a number is one to its end.
 */

#include <string.h>

#include "tar.h"

struct ext {
	int		 has_path;
	int		 has_link;
	int		 has_size;
	int		 has_time;
	int		 strange;	/* of a kind that is not read */
	uint64_t	 size;
	int64_t		 sec;
	uint32_t	 nsec;
};

static int
tar_wrong(struct tar_reader *r, const char *why)
{
	r->why = why;
	return (-1);
}

static int
tar_fill(struct tar_reader *r)
{
	ssize_t	 n;

	if (r->n > 0)
		return (1);
	if ((n = r->more(r->arg, &r->p)) <= 0)
		return (n);
	r->n = n;
	return (1);
}

/* So many bytes, or NULL for buf to pass over them. */
static int
tar_take(struct tar_reader *r, void *buf, uint64_t len)
{
	uint8_t	*to = buf;
	size_t	 n;
	int	 ret;

	for (; len > 0; len -= n) {
		if ((ret = tar_fill(r)) == -1)
			return (-1);
		if (ret == 0)
			return (tar_wrong(r, "it ends in the middle"));
		n = r->n < len ? r->n : len;
		if (to != NULL) {
			memcpy(to, r->p, n);
			to += n;
		}
		r->p += n;
		r->n -= n;
	}
	return (0);
}

ssize_t
tar_data(struct tar_reader *r, const uint8_t **p)
{
	size_t	 n;
	int	 ret;

	if (r->left == 0)
		return (0);
	if ((ret = tar_fill(r)) == -1)
		return (-1);
	if (ret == 0)
		return (tar_wrong(r, "it ends in the middle"));
	n = r->n < r->left ? r->n : r->left;
	*p = r->p;
	r->p += n;
	r->n -= n;
	r->left -= n;
	return (n);
}

/* Octal digits, or GNU's bytes for what they have no room for. */
static int
get_number(const uint8_t *p, size_t size, uint64_t *v)
{
	size_t	 i = 0;

	*v = 0;
	if (*p == 0x80) {
		for (i = 1; i < size; i++) {
			if (*v >> 55 != 0)
				return (-1);
			*v = *v << 8 | p[i];
		}
		return (0);
	}
	while (i < size && p[i] == ' ')
		i++;
	for (; i < size && p[i] >= '0' && p[i] <= '7'; i++)
		*v = *v << 3 | (p[i] - '0');
	for (; i < size; i++)
		if (p[i] != ' ' && p[i] != '\0')
			return (-1);
	return (0);
}

static int
sum_is_right(const uint8_t *h)
{
	uint64_t	 want;
	unsigned int	 sum = 0;
	size_t		 i;

	for (i = 0; i < TAR_BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : h[i];
	return (get_number(h + 148, 8, &want) == 0 && want == sum);
}

static int
is_zero(const uint8_t *h)
{
	return (*h == 0 && memcmp(h, h + 1, TAR_BLOCK - 1) == 0);
}

/* A decimal number, a sign, a fraction: as far as the string goes. */
static int
get_time(const char *s, size_t len, struct ext *x)
{
	const char	*end = s + len;
	uint64_t	 sec = 0;
	uint32_t	 nsec = 0, unit = 100000000;
	int		 minus = 0, digits = 0;

	if (s < end && *s == '-') {
		minus = 1;
		s++;
	}
	for (; s < end && *s >= '0' && *s <= '9'; s++, digits++) {
		if (sec > (uint64_t)INT64_MAX / 20)
			return (-1);
		sec = sec * 10 + (*s - '0');
	}
	if (digits == 0)
		return (-1);
	if (s < end && *s == '.')
		for (s++; s < end && *s >= '0' && *s <= '9'; s++) {
			nsec += (*s - '0') * unit;
			unit /= 10;
		}
	if (s != end)
		return (-1);
	x->sec = minus ? -(int64_t)sec : (int64_t)sec;
	if (minus && nsec > 0) {
		x->sec--;
		nsec = 1000000000 - nsec;
	}
	x->nsec = nsec;
	x->has_time = 1;
	return (0);
}

static int
get_decimal(const char *s, size_t len, uint64_t *v)
{
	*v = 0;
	if (len == 0 || len > 19)
		return (-1);
	for (; len > 0; s++, len--) {
		if (*s < '0' || *s > '9')
			return (-1);
		*v = *v * 10 + (*s - '0');
	}
	return (*v > INT64_MAX ? -1 : 0);
}

/* A name of an entry; one that is too long leaves a mark. */
static int
get_name(char *to, const char *s, size_t len, struct ext *x)
{
	if (len > PACK_PATH || memchr(s, '\0', len) != NULL) {
		x->strange = 1;
		len = len > 256 ? 256 : strnlen(s, len);
	}
	memcpy(to, s, len);
	to[len] = '\0';
	return (1);
}

static int
ext_record(struct tar_reader *r, struct ext *x, const char *key, size_t klen,
    const char *v, size_t vlen)
{
#define IS(s)	(klen == sizeof(s) - 1 && memcmp(key, s, klen) == 0)
	if (IS("path"))
		x->has_path = get_name(r->path, v, vlen, x);
	else if (IS("linkpath"))
		x->has_link = get_name(r->link, v, vlen, x);
	else if (IS("size")) {
		if (get_decimal(v, vlen, &x->size) == -1)
			return (-1);
		x->has_size = 1;
	} else if (IS("mtime"))
		return (get_time(v, vlen, x));
	else if (klen > 11 && memcmp(key, "GNU.sparse.", 11) == 0)
		x->strange = 1;
#undef IS
	return (0);
}

/* "length key=value\n", again and again. */
static int
ext_parse(struct tar_reader *r, struct ext *x, size_t size)
{
	const char	*p = r->ext, *end = p + size, *s, *eq;
	size_t		 len;

	while (p < end) {
		len = 0;
		for (s = p; s < end && *s >= '0' && *s <= '9' &&
		    len <= TAR_EXT_MAX; s++)
			len = len * 10 + (*s - '0');
		if (s == p || s == end || *s != ' ' ||
		    len > (size_t)(end - p) || p + len <= s + 2 ||
		    p[len - 1] != '\n')
			return (tar_wrong(r, "a bad extended header"));
		s++;
		if ((eq = memchr(s, '=', p + len - s)) == NULL ||
		    ext_record(r, x, s, eq - s, eq + 1,
		    p + len - 1 - (eq + 1)) == -1)
			return (tar_wrong(r, "a bad extended header"));
		p += len;
	}
	return (0);
}

/* What stands before an entry's own header: 1 if this was such a one. */
static int
tar_before(struct tar_reader *r, struct ext *x, int type, uint64_t size)
{
	uint64_t	 all = (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;

	if (strchr("xXgLKV", type) == NULL || type == '\0')
		return (0);
	if (size > TAR_EXT_MAX)
		return (tar_wrong(r, "an extended header is too long"));
	if (tar_take(r, r->ext, size) == -1 ||
	    tar_take(r, NULL, all - size) == -1)
		return (-1);
	r->ext[size] = '\0';
	if (type == 'L')
		x->has_path = get_name(r->path, r->ext, strlen(r->ext), x);
	else if (type == 'K')
		x->has_link = get_name(r->link, r->ext, strlen(r->ext), x);
	else if ((type == 'x' || type == 'X') && ext_parse(r, x, size) == -1)
		return (-1);
	return (1);
}

/* The name and the prefix of ustar, either of which may fill its room. */
static void
head_name(struct tar_reader *r, const uint8_t *h)
{
	const char	*name = (const char *)h;
	const char	*prefix = (const char *)h + 345;
	size_t		 n = 0;

	/* GNU has other things there. */
	if (memcmp(h + 257, "ustar\0", 6) == 0 && *prefix != '\0') {
		n = strnlen(prefix, 155);
		memcpy(r->path, prefix, n);
		r->path[n++] = '/';
	}
	memcpy(r->path + n, name, strnlen(name, 100));
	r->path[n + strnlen(name, 100)] = '\0';
}

static int
head_type(int type, const char *path)
{
	size_t	 len = strlen(path);

	switch (type) {
	case '\0':
	case '0':
	case '7':
		/* So it was before there were types. */
		return (len > 0 && path[len - 1] == '/' ? PACK_DIR :
		    PACK_FILE);
	case PACK_HARD:
	case PACK_LINK:
	case PACK_DIR:
		return (type);
	default:
		return (PACK_OTHER);
	}
}

/* The entry's own header, and what stood before it. */
static int
tar_entry(struct tar_reader *r, struct pack_entry *e, const struct ext *x,
    const uint8_t *h)
{
	uint64_t	 v, size;

	memset(e, 0, sizeof(*e));
	if (!x->has_path)
		head_name(r, h);
	if (!x->has_link) {
		memcpy(r->link, h + 157, 100);
		r->link[strnlen((const char *)h + 157, 100)] = '\0';
	}
	e->path = r->path;
	e->link = r->link;
	e->type = x->strange ? PACK_OTHER : head_type(h[156], r->path);
	if (get_number(h + 100, 8, &v) == -1)
		return (tar_wrong(r, "a bad number in a header"));
	e->mode = v & 07777;
	if (get_number(h + 124, 12, &size) == -1)
		return (tar_wrong(r, "a bad size in a header"));
	if (x->has_size)
		size = x->size;
	if (size > INT64_MAX - TAR_BLOCK)
		return (tar_wrong(r, "a bad size in a header"));
	if (x->has_time) {
		e->sec = x->sec;
		e->nsec = x->nsec;
	} else if (get_number(h + 136, 12, &v) == 0)
		e->sec = v;
	/* Links and directories have no bytes, whatever is said. */
	if (e->type == PACK_LINK || e->type == PACK_DIR ||
	    (e->type == PACK_HARD && !x->has_size))
		size = 0;
	e->size = e->type == PACK_FILE ? size : 0;
	r->left = size;
	r->pad = (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
	return (1);
}

int
tar_next(struct tar_reader *r, struct pack_entry *e)
{
	uint8_t		 h[TAR_BLOCK];
	uint64_t	 size;
	struct ext	 x;
	int		 n;

	/* What nobody wanted of the one before. */
	if (tar_take(r, NULL, r->left) == -1 ||
	    tar_take(r, NULL, r->pad) == -1)
		return (-1);
	r->left = r->pad = 0;
	memset(&x, 0, sizeof(x));
	do {
		if ((n = tar_fill(r)) <= 0)
			return (n == 0 ? tar_wrong(r, "it has no end") : -1);
		if (tar_take(r, h, sizeof(h)) == -1)
			return (-1);
		if (is_zero(h)) {
			/* The rest is padding, of any length. */
			while ((n = tar_fill(r)) == 1)
				r->n = 0;
			return (n);
		}
		if (!sum_is_right(h))
			return (tar_wrong(r, "it is no tar archive"));
		if (get_number(h + 124, 12, &size) == -1)
			return (tar_wrong(r, "a bad size in a header"));
	} while ((n = tar_before(r, &x, h[156], size)) == 1);
	return (n == -1 ? -1 : tar_entry(r, e, &x, h));
}
