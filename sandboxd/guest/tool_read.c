/*
 * A page of a file: some of its lines, as they are or with their numbers.  A
 * file that is no text, by the ending of its name or by what it begins with,
 * is given whole or not at all.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tool.h"

#define READ_LOOK	8192		/* bytes that tell whether it is text */
#define READ_BUF	(64U << 10)	/* at least */
#define READ_MAX	(16U << 20)	/* bytes of a page */
#define READ_COUNT	(64U << 20)	/* a file whose lines are all counted */
#define READ_NOSIZE	(64U << 20)	/* of what has no length */

struct reader {
	const struct read_req	*req;
	struct read_res		*res;
	const struct tool_sink	*out;
	int			 fd;
	uint64_t		 left;	/* it ends where it ended at first */
	uint8_t			*buf;
	size_t			 size;
	size_t			 have;
	size_t			 pos;
	int			 eof;
	uint64_t		 line;	/* that begins at pos, from 1 */
	uint64_t		 given;	/* bytes */
	int			 error;
};

/* What the names of files that are no text end in. */
static const char *const	 endings[] = {
	"aac", "aiff", "avi", "bmp", "flac", "flv", "gif", "heic", "heif",
	"ico", "jpeg", "jpg", "m4a", "mkv", "mov", "mp3", "mp4", "mpeg",
	"mpg", "ogg", "pdf", "png", "ppt", "pptx", "tif", "tiff", "wav",
	"webm", "webp", "wmv"
};

static int
is_binary_name(const char *name)
{
	const char	*p = strrchr(name, '.');
	size_t		 i;

	if (p == NULL || strchr(p, '/') != NULL)
		return (0);
	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (strcasecmp(p + 1, endings[i]) == 0)
			return (1);
	return (0);
}

/* How many bytes the character at p has; 0 if it is none, -1 if it is cut. */
static int
char_len(const uint8_t *p, size_t n)
{
	static const uint32_t	 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t		 c = p[0];
	size_t			 i, len;

	if (c < 0x80)
		return (c == 0 ? 0 : 1);
	len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	if (c < 0xc2 || c > 0xf4)
		return (0);
	c &= 0xff >> (len + 1);
	for (i = 1; i < len; i++) {
		if (i == n)
			return (-1);
		if ((p[i] & 0xc0) != 0x80)
			return (0);
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return (0);
	return (len);
}

static int
is_text(const uint8_t *p, size_t n, int whole)
{
	int	 len;

	for (; n > 0; p += len, n -= len)
		if ((len = char_len(p, n)) == 0)
			return (0);
		else if (len == -1)
			return (!whole);
	return (1);
}

static void
read_give(struct reader *r, const void *p, size_t n)
{
	if (n > 0 && r->error == 0 && r->out->put(r->out->arg, p, n) != 0)
		r->error = ECANCELED;
}

/* As much as the buffer takes. */
static void
read_fill(struct reader *r)
{
	size_t	 room;
	ssize_t	 n;

	if (r->pos > 0) {
		memmove(r->buf, r->buf + r->pos, r->have - r->pos);
		r->have -= r->pos;
		r->pos = 0;
	}
	while (!r->eof && r->have < r->size) {
		room = r->size - r->have;
		if (room > r->left)
			room = r->left;
		n = read(r->fd, r->buf + r->have, room);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && r->error == 0)
			r->error = errno;
		if (n <= 0)
			r->eof = 1;
		else {
			r->have += n;
			r->left -= n;
		}
	}
}

/* Lines that are not asked for go by. */
static void
read_skip(struct reader *r)
{
	const uint8_t	*p;
	uint64_t	 n;
	int		 open = 0;

	while (r->error == 0 && r->line <= r->req->offset) {
		if (r->pos == r->have) {
			read_fill(r);
			/* The last line may have no end. */
			if (r->have == 0) {
				r->line += open;
				return;
			}
		}
		open = r->buf[r->have - 1] != '\n';
		n = find_lines(r->buf + r->pos, r->have - r->pos);
		if (n < r->req->offset - r->line + 1) {
			r->line += n;
			r->pos = r->have;
			continue;
		}
		for (n = r->req->offset - r->line + 1; n > 0; n--) {
			p = memchr(r->buf + r->pos, '\n', r->have - r->pos);
			r->pos = p - r->buf + 1;
			r->line++;
		}
	}
}

/* A line that alone is more than a page: what fits, by whole characters. */
static void
read_cut(struct reader *r, size_t room)
{
	size_t	 n;

	for (n = room; n > 0 && room - n < 4 &&
	    (r->buf[r->pos + n] & 0xc0) == 0x80; n--)
		;
	if (n == 0 || room - n == 4)
		n = room;
	read_give(r, r->buf + r->pos, n);
	r->res->cut = 1;
}

/* One line; 0 if the page has room for no more. */
static int
read_line(struct reader *r)
{
	const uint8_t	*p, *begin;
	char		 number[32];
	size_t		 len, room = r->req->max - r->given, add = 0;

	p = memchr(r->buf + r->pos, '\n', r->have - r->pos);
	if (p == NULL && !r->eof) {
		read_fill(r);
		p = memchr(r->buf, '\n', r->have);
	}
	begin = r->buf + r->pos;
	len = p == NULL ? r->have - r->pos : (size_t)(p + 1 - begin);
	if (len == 0)
		return (0);
	if (r->req->flags & READ_NUMBER)
		add = snprintf(number, sizeof(number), "%6llu\t",
		    (unsigned long long)r->line);
	if (len + add > room && r->given > 0)
		return (0);
	read_give(r, number, add);
	if (r->res->start == 0)
		r->res->start = r->line;
	r->res->end = r->line;
	if (len + add > room) {
		read_cut(r, room > add ? room - add : 0);
		return (0);
	}
	read_give(r, begin, len);
	if (p == NULL && add > 0)
		read_give(r, "\n", 1);
	r->given += len + add;
	r->pos += len;
	r->line++;
	return (1);
}

/* How many lines the rest has, if it can be told at a bearable price. */
static void
read_rest(struct reader *r)
{
	uint64_t	 lines = r->line - 1;
	int		 open = 0;

	if (r->pos == r->have)
		read_fill(r);
	r->res->more = r->have > r->pos && !r->res->cut;
	while (r->have > r->pos && r->error == 0) {
		if (r->res->size > READ_COUNT)
			return;
		lines += find_lines(r->buf + r->pos, r->have - r->pos);
		open = r->buf[r->have - 1] != '\n';
		r->pos = r->have;
		read_fill(r);
	}
	r->res->total = lines + open;
	r->res->known = 1;
	if (r->res->cut)
		r->res->more = r->res->total > r->res->end;
}

static void
read_binary(struct reader *r)
{
	r->res->kind = READ_BINARY;
	if (r->res->size > r->req->max) {
		r->error = EFBIG;
		return;
	}
	while (r->have > 0 && r->error == 0) {
		r->given += r->have;
		if (r->given > r->req->max)
			r->error = EFBIG;
		read_give(r, r->buf, r->have);
		r->pos = r->have;
		read_fill(r);
	}
}

static void
read_page(struct reader *r)
{
	uint64_t	 n;

	r->line = 1;
	read_fill(r);
	if (is_binary_name(r->req->name) ||
	    !is_text(r->buf, r->have < READ_LOOK ? r->have : READ_LOOK,
	    r->eof && r->have <= READ_LOOK)) {
		read_binary(r);
		return;
	}
	read_skip(r);
	for (n = 0; n < r->req->limit && r->error == 0; n++)
		if (!read_line(r))
			break;
	if (r->error == 0)
		read_rest(r);
}

/*
 * fd is a regular file at its start.  EFBIG for one that is no text and
 * longer than a page.
 */
int
tool_read(int fd, const struct read_req *req, struct read_res *res,
    const struct tool_sink *out)
{
	struct reader	 r;
	struct stat	 st;

	memset(res, 0, sizeof(*res));
	memset(&r, 0, sizeof(r));
	if (fstat(fd, &st) == -1)
		return (errno);
	if (S_ISDIR(st.st_mode))
		return (EISDIR);
	if (!S_ISREG(st.st_mode))
		return (ENXIO);
	if (req->max == 0 || req->max > READ_MAX)
		return (EINVAL);
	res->size = st.st_size;
	if (req->limit == 0)
		return (0);
	r.req = req;
	r.res = res;
	r.out = out;
	r.fd = fd;
	r.left = st.st_size > 0 ? (uint64_t)st.st_size : READ_NOSIZE;
	/* One byte more shows that a line is longer than a page. */
	r.size = req->max < READ_BUF ? READ_BUF : req->max + 1;
	if ((r.buf = malloc(r.size)) == NULL)
		return (ENOMEM);
	read_page(&r);
	free(r.buf);
	return (r.error);
}
