/*
 * A stream of tar, cut anywhere, for the guest's reader: what it gives is
 * within its bounds, and what the guest writes it reads again as it was.
 */

#include "fuzz.h"
#include "../../sandboxd/guest/tar.h"

struct stream {
	struct fuzz	 f;
	size_t		 step;
};

static ssize_t
more(void *arg, const uint8_t **p)
{
	struct stream	*s = arg;
	size_t		 n = s->f.len < s->step ? s->f.len : s->step;

	*p = s->f.p;
	s->f.p += n;
	s->f.len -= n;
	return (n);
}

static struct tar_reader *
reader(struct stream *s)
{
	struct tar_reader	*r;

	need((r = calloc(1, sizeof(*r))) != NULL);
	r->more = more;
	r->arg = s;
	return (r);
}

/* An entry as the guest writes it, read again. */
static void
again(const struct pack_entry *e)
{
	static uint8_t		 buf[TAR_HEAD_MAX + 2 * TAR_BLOCK];
	struct pack_entry	 x = *e, y;
	struct tar_reader	*r;
	struct stream		 s;
	size_t			 len;

	x.size = 0;
	len = tar_head(buf, &x, NULL);
	need(len % TAR_BLOCK == 0 && len <= TAR_HEAD_MAX);
	memset(buf + len, 0, 2 * TAR_BLOCK);
	s.f.p = buf;
	s.f.len = len + 2 * TAR_BLOCK;
	s.step = 100;
	r = reader(&s);
	need(tar_next(r, &y) == 1);
	need(y.type == x.type && y.mode == x.mode);
	len = strlen(x.path);
	need(strncmp(y.path, x.path, len) == 0 &&
	    (y.path[len] == '\0' || strcmp(y.path + len, "/") == 0));
	need(y.type == PACK_FILE || y.type == PACK_DIR ||
	    strcmp(y.link, x.link) == 0);
	/* Between -1 and 0 there is no whole second to tell. */
	need(x.sec < 0 || (y.sec == x.sec && y.nsec == x.nsec));
	need(tar_next(r, &y) == 0);
	free(r);
}

/*
 * Each block with the sum that a header would have: no mutation comes by a
 * right one itself, and would be refused before anything else is looked at.
 */
static void
sums(uint8_t *p, size_t len)
{
	char		 text[8];
	unsigned int	 sum, i;

	for (; len >= TAR_BLOCK; p += TAR_BLOCK, len -= TAR_BLOCK) {
		for (sum = 0, i = 0; i < TAR_BLOCK; i++)
			sum += i >= 148 && i < 156 ? ' ' : p[i];
		/* That of a block of zeros, which is the end. */
		if (sum == 8 * ' ')
			continue;
		snprintf(text, sizeof(text), "%06o", sum);
		memcpy(p + 148, text, 7);
		p[155] = ' ';
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct stream		 s = { { data, len }, 0 };
	uint8_t			*copy;
	struct pack_entry	 e;
	struct tar_reader	*r;
	const uint8_t		*p;
	uint64_t		 left;
	ssize_t			 n;

	s.step = fuzz_u8(&s.f) + 1;
	copy = fuzz_copy(s.f.p, s.f.len);
	if (s.step & 2)
		sums(copy, s.f.len);
	s.f.p = copy;
	r = reader(&s);
	while (tar_next(r, &e) == 1) {
		need(strlen(e.path) <= PACK_PATH && e.link != NULL);
		need(strlen(e.link) <= PACK_PATH && e.nsec < 1000000000);
		need(e.size == 0 || e.type == PACK_FILE);
		left = r->left;
		if (s.step % 2)
			while ((n = tar_data(r, &p)) > 0) {
				need((uint64_t)n <= left);
				left -= n;
			}
		if (e.type != PACK_OTHER && *e.path != '\0' &&
		    strlen(e.path) < PACK_PATH && e.path[strlen(e.path) - 1] !=
		    '/')
			again(&e);
	}
	free(r);
	free(copy);
	return (0);
}
