/*
 * ibuf.c: buffers that grow to a bound, written at the end and read from
 * the front.  Every call checks its bounds; what does not fit changes
 * nothing.
 */

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "imsg.h"

#define IBUF_MIN	64

/* A buffer of a fixed size. */
struct ibuf *
ibuf_open(size_t len)
{
	if (len == 0) {
		errno = EINVAL;
		return (NULL);
	}
	return (ibuf_dynamic(len, len));
}

/* A buffer that may grow from len to max bytes. */
struct ibuf *
ibuf_dynamic(size_t len, size_t max)
{
	struct ibuf	*buf;

	if (max == 0 || max < len || max > SSIZE_MAX) {
		errno = EINVAL;
		return (NULL);
	}
	if ((buf = calloc(1, sizeof(*buf))) == NULL)
		return (NULL);
	if (len > 0 && (buf->buf = calloc(1, len)) == NULL) {
		free(buf);
		return (NULL);
	}
	buf->size = len;
	buf->max = max;
	buf->fd = -1;
	return (buf);
}

void
ibuf_free(struct ibuf *buf)
{
	int	 save = errno;

	/* One that lies on a stack has nothing of its own. */
	if (buf == NULL || buf->flags & IBUF_BORROWED)
		return;
	if (buf->fd != -1)
		close(buf->fd);
	free(buf->buf);
	free(buf);
	errno = save;
}

/* Room for len more bytes; the caller fills them in. */
void *
ibuf_reserve(struct ibuf *buf, size_t len)
{
	uint8_t	*p;
	size_t	 size;

	if (buf->flags & IBUF_BORROWED) {
		errno = EINVAL;
		return (NULL);
	}
	if (len > buf->max - buf->wpos) {
		errno = ERANGE;
		return (NULL);
	}
	if (len > buf->size - buf->wpos) {
		/* Doubled, so that many small additions stay cheap. */
		size = buf->size > buf->max / 2 ? buf->max : buf->size * 2;
		if (size < IBUF_MIN)
			size = buf->max < IBUF_MIN ? buf->max : IBUF_MIN;
		if (size < buf->wpos + len)
			size = buf->wpos + len;
		if ((p = realloc(buf->buf, size)) == NULL)
			return (NULL);
		memset(p + buf->size, 0, size - buf->size);
		buf->buf = p;
		buf->size = size;
	}
	p = buf->buf + buf->wpos;
	buf->wpos += len;
	return (p);
}

int
ibuf_add(struct ibuf *buf, const void *data, size_t len)
{
	void	*p;

	if (len == 0)
		return (0);
	if ((p = ibuf_reserve(buf, len)) == NULL)
		return (-1);
	memcpy(p, data, len);
	return (0);
}

int
ibuf_add_ibuf(struct ibuf *buf, const struct ibuf *from)
{
	return (ibuf_add(buf, ibuf_data(from), ibuf_size(from)));
}

/* A string in a field of len bytes, padded with zeros. */
int
ibuf_add_strbuf(struct ibuf *buf, const char *str, size_t len)
{
	uint8_t	*p;
	size_t	 n;

	if ((n = strnlen(str, len)) == len) {
		errno = EOVERFLOW;
		return (-1);
	}
	if ((p = ibuf_reserve(buf, len)) == NULL)
		return (-1);
	memcpy(p, str, n);
	memset(p + n, 0, len - n);
	return (0);
}

int
ibuf_add_zero(struct ibuf *buf, size_t len)
{
	void	*p;

	if (len == 0)
		return (0);
	if ((p = ibuf_reserve(buf, len)) == NULL)
		return (-1);
	memset(p, 0, len);
	return (0);
}

/*
 * Numbers: n in network order, h in host order.  The value is taken as 64
 * bits, so that one which does not fit is refused and not cut.
 */
#define IBUF_NUMBER(name, type, max, conv)				\
int									\
ibuf_add_##name(struct ibuf *buf, uint64_t value)			\
{									\
	type	 v;							\
									\
	if (value > (max)) {						\
		errno = EINVAL;						\
		return (-1);						\
	}								\
	v = conv((type)value);						\
	return (ibuf_add(buf, &v, sizeof(v)));				\
}									\
									\
int									\
ibuf_set_##name(struct ibuf *buf, size_t pos, uint64_t value)		\
{									\
	type	 v;							\
									\
	if (value > (max)) {						\
		errno = EINVAL;						\
		return (-1);						\
	}								\
	v = conv((type)value);						\
	return (ibuf_set(buf, pos, &v, sizeof(v)));			\
}

#define IBUF_GET(name, type, conv)					\
int									\
ibuf_get_##name(struct ibuf *buf, type *value)				\
{									\
	type	 v;							\
									\
	if (ibuf_get(buf, &v, sizeof(v)) == -1)				\
		return (-1);						\
	*value = conv(v);						\
	return (0);							\
}

#define IBUF_SAME(v)	(v)

IBUF_NUMBER(n8, uint8_t, UINT8_MAX, IBUF_SAME)
IBUF_NUMBER(n16, uint16_t, UINT16_MAX, htobe16)
IBUF_NUMBER(n32, uint32_t, UINT32_MAX, htobe32)
IBUF_NUMBER(n64, uint64_t, UINT64_MAX, htobe64)
IBUF_NUMBER(h16, uint16_t, UINT16_MAX, IBUF_SAME)
IBUF_NUMBER(h32, uint32_t, UINT32_MAX, IBUF_SAME)
IBUF_NUMBER(h64, uint64_t, UINT64_MAX, IBUF_SAME)

IBUF_GET(n8, uint8_t, IBUF_SAME)
IBUF_GET(n16, uint16_t, be16toh)
IBUF_GET(n32, uint32_t, be32toh)
IBUF_GET(n64, uint64_t, be64toh)
IBUF_GET(h16, uint16_t, IBUF_SAME)
IBUF_GET(h32, uint32_t, IBUF_SAME)
IBUF_GET(h64, uint64_t, IBUF_SAME)

/* Bytes already written, counted from what is not yet read. */
void *
ibuf_seek(struct ibuf *buf, size_t pos, size_t len)
{
	if (pos > ibuf_size(buf) || len > ibuf_size(buf) - pos) {
		errno = ERANGE;
		return (NULL);
	}
	/* Nothing was ever written: there is no address to give. */
	if (buf->buf == NULL) {
		errno = ERANGE;
		return (NULL);
	}
	return (buf->buf + buf->rpos + pos);
}

int
ibuf_set(struct ibuf *buf, size_t pos, const void *data, size_t len)
{
	void	*p;

	if (buf->flags & IBUF_BORROWED) {
		errno = EINVAL;
		return (-1);
	}
	if ((p = ibuf_seek(buf, pos, len)) == NULL)
		return (-1);
	if (len > 0)
		memcpy(p, data, len);
	return (0);
}

int
ibuf_set_maxsize(struct ibuf *buf, size_t max)
{
	if (buf->flags & IBUF_BORROWED) {
		errno = EINVAL;
		return (-1);
	}
	if (max == 0 || max > buf->max || max < buf->wpos) {
		errno = ERANGE;
		return (-1);
	}
	buf->max = max;
	return (0);
}

void *
ibuf_data(const struct ibuf *buf)
{
	if (buf->buf == NULL)
		return (NULL);
	return (buf->buf + buf->rpos);
}

size_t
ibuf_size(const struct ibuf *buf)
{
	return (buf->wpos - buf->rpos);
}

size_t
ibuf_left(const struct ibuf *buf)
{
	if (buf->flags & IBUF_BORROWED)
		return (0);
	return (buf->max - buf->wpos);
}

/* Cut, or extend with zeros, to len bytes from what is not yet read. */
int
ibuf_truncate(struct ibuf *buf, size_t len)
{
	if (len <= ibuf_size(buf)) {
		buf->wpos = buf->rpos + len;
		return (0);
	}
	if (buf->flags & IBUF_BORROWED) {
		errno = ERANGE;
		return (-1);
	}
	return (ibuf_add_zero(buf, len - ibuf_size(buf)));
}

void
ibuf_rewind(struct ibuf *buf)
{
	buf->rpos = 0;
}

/* A buffer on the stack, for reading bytes that stay the caller's. */
void
ibuf_from_buffer(struct ibuf *buf, void *data, size_t len)
{
	memset(buf, 0, sizeof(*buf));
	buf->buf = data;
	buf->size = buf->max = buf->wpos = len;
	buf->fd = -1;
	buf->flags = IBUF_BORROWED;
}

void
ibuf_from_ibuf(struct ibuf *buf, const struct ibuf *from)
{
	ibuf_from_buffer(buf, ibuf_data(from), ibuf_size(from));
}

int
ibuf_get(struct ibuf *buf, void *data, size_t len)
{
	if (ibuf_size(buf) < len) {
		errno = EBADMSG;
		return (-1);
	}
	if (len > 0)
		memcpy(data, buf->buf + buf->rpos, len);
	buf->rpos += len;
	return (0);
}

int
ibuf_get_ibuf(struct ibuf *buf, size_t len, struct ibuf *part)
{
	if (ibuf_size(buf) < len) {
		errno = EBADMSG;
		return (-1);
	}
	ibuf_from_buffer(part, ibuf_data(buf), len);
	buf->rpos += len;
	return (0);
}

/* A string of len bytes, which may end earlier; free it. */
char *
ibuf_get_string(struct ibuf *buf, size_t len)
{
	char	*str;

	if (ibuf_size(buf) < len) {
		errno = EBADMSG;
		return (NULL);
	}
	if (len == 0)
		return (calloc(1, 1));
	if ((str = strndup(ibuf_data(buf), len)) == NULL)
		return (NULL);
	buf->rpos += len;
	return (str);
}

/* A string in a field of len bytes: it must end within. */
int
ibuf_get_strbuf(struct ibuf *buf, char *str, size_t len)
{
	if (len == 0) {
		errno = EINVAL;
		return (-1);
	}
	if (ibuf_size(buf) < len ||
	    memchr(buf->buf + buf->rpos, '\0', len) == NULL) {
		errno = EBADMSG;
		return (-1);
	}
	return (ibuf_get(buf, str, len));
}

int
ibuf_skip(struct ibuf *buf, size_t len)
{
	if (ibuf_size(buf) < len) {
		errno = EBADMSG;
		return (-1);
	}
	buf->rpos += len;
	return (0);
}

int
ibuf_fd_avail(struct ibuf *buf)
{
	return (buf->fd != -1);
}

/* The descriptor is the caller's from here on. */
int
ibuf_fd_get(struct ibuf *buf)
{
	int	 fd = buf->fd;

	buf->fd = -1;
	return (fd);
}

void
ibuf_fd_set(struct ibuf *buf, int fd)
{
	/* A borrowed buffer is never freed: it would lose the descriptor. */
	if (buf->flags & IBUF_BORROWED)
		abort();
	if (buf->fd != -1)
		close(buf->fd);
	buf->fd = fd;
}
