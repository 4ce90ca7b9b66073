/*
 * The lines that have a string, through a buffer so small that each place of
 * a file comes to be at its end; compared with the plain way to find them.
 */

#include <sys/mman.h>

#include <fcntl.h>
#include <unistd.h>

#define GREP_BUF	64

#include "../../sandboxd/guest/tool_grep.c"

#include "fuzz.h"

struct told {
	uint64_t	 last;		/* line */
	uint64_t	 matches;
	const uint8_t	*text;
	size_t		 len;
};

/* The text of a line by its number. */
static const uint8_t *
line_of(const struct told *t, uint64_t n, size_t *len)
{
	const uint8_t	*p = t->text, *e, *end = t->text + t->len;

	for (; p < end; p = e + 1) {
		if ((e = memchr(p, '\n', end - p)) == NULL)
			e = end;
		if (--n == 0) {
			*len = e - p;
			return (p);
		}
	}
	return (NULL);
}

static int
told(void *arg, const struct grep_hit *h)
{
	struct told	*t = arg;
	const uint8_t	*p;
	size_t		 len;

	need(h->line > t->last);
	t->last = h->line;
	t->matches += !h->context;
	need((p = line_of(t, h->line, &len)) != NULL);
	need(h->cut || (h->len == len && memcmp(p, h->text, len) == 0));
	return (0);
}

/* How many lines have the string. */
static uint64_t
plainly(const uint8_t *p, size_t len, const char *s, size_t n)
{
	const uint8_t	*e, *end = p + len;
	uint64_t	 lines = 0;

	for (; p < end; p = e + 1) {
		if ((e = memchr(p, '\n', end - p)) == NULL)
			e = end;
		lines += memmem(p, e - p, s, n) != NULL;
	}
	return (lines);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz	 f = { data, len };
	struct grep_req	 req = { .ms = UINT32_MAX };
	struct grep_res	 res;
	struct stat	 st = { .st_mode = S_IFREG };
	struct told	 t = { 0 };
	static int	 fd = -1;
	void		*s;

	if (fd == -1)
		fd = memfd_create("f", MFD_CLOEXEC);
	need(fd != -1);
	req.before = fuzz_u8(&f) % 4;
	req.after = fuzz_u8(&f) % 4;
	/* The string ends at the first NUL; what follows is the file. */
	req.len = strnlen((const char *)f.p, f.len);
	if (req.len == 0 || req.len > 16 || memchr(f.p, '\n', req.len) ||
	    (s = fuzz_copy(f.p, req.len)) == NULL)
		return (0);
	t.text = f.p + req.len;
	t.len = f.len - req.len;
	if (t.len > 0) {
		t.text++;
		t.len--;
	}
	need(ftruncate(fd, 0) == 0 &&
	    pwrite(fd, t.text, t.len, 0) == (ssize_t)t.len);
	req.pattern = s;
	need(lseek(fd, 0, SEEK_SET) == 0);
	need(tool_grep(fd, &st, &req, &res, told, &t) == 0);
	need(t.matches == res.count);
	/* One with a NUL at its begin is no text. */
	if (res.binary == 0)
		need(res.count == plainly(t.text, t.len, s, req.len));
	free(s);
	return (0);
}
