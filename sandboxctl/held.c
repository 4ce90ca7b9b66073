/*
 * held.c: text that is held in memory until it is known to be whole.
 *
 * open_memstream(3) is no help: where it has no memory to go on, what was to
 * be written is not there and nothing tells of it, neither ferror(3) nor
 * fclose(3).  What comes later is written again: a part is missing amid.
 */

#include <stdlib.h>
#include <string.h>

#include "sandboxctl.h"

static ssize_t
held_add(void *cookie, const char *data, size_t len)
{
	struct held	*h = cookie;
	size_t		 size;
	char		*p;

	if (len > h->size - h->len) {
		for (size = h->size == 0 ? BUFSIZ : h->size;
		    len > size - h->len; size *= 2)
			;
		if (h->lacks || (p = realloc(h->buf, size)) == NULL) {
			h->lacks = 1;
			return (0);
		}
		h->buf = p;
		h->size = size;
	}
	memcpy(h->buf + h->len, data, len);
	h->len += len;
	return (len);
}

int
held_open(struct held *h)
{
	static const cookie_io_functions_t	 io = { .write = held_add };

	memset(h, 0, sizeof(*h));
	return ((h->f = fopencookie(h, "w", io)) == NULL ? -1 : 0);
}

int
held_whole(struct held *h)
{
	return (fflush(h->f) == EOF || h->lacks ? -1 : 0);
}

void
held_print(const struct held *h, FILE *f)
{
	if (h->len > 0)
		(void)fwrite(h->buf, 1, h->len, f);
}

void
held_close(struct held *h)
{
	if (h->f != NULL)
		fclose(h->f);
	free(h->buf);
	memset(h, 0, sizeof(*h));
}
