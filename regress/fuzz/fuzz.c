/* What the targets share. */

#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "fuzz.h"
#include "log.h"

/* A target may have the true ones. */
#define WEAK	__attribute__((__weak__))

uint8_t
fuzz_u8(struct fuzz *f)
{
	if (f->len == 0)
		return (0);
	f->len--;
	return (*f->p++);
}

uint8_t *
fuzz_copy(const void *data, size_t len)
{
	uint8_t	*p;

	need((p = malloc(len == 0 ? 1 : len)) != NULL);
	if (len > 0)
		memcpy(p, data, len);
	return (p);
}

char *
fuzz_string(struct fuzz *f)
{
	char	*s;

	need((s = malloc(f->len + 1)) != NULL);
	if (f->len > 0)
		memcpy(s, f->p, f->len);
	s[f->len] = '\0';
	f->len = 0;
	return (s);
}

int
fuzz_step(struct fuzz *f, int *what, struct fuzz *data)
{
	size_t	 n;

	if (f->len < 3)
		return (0);
	*what = fuzz_u8(f);
	n = (size_t)fuzz_u8(f) << 8;
	n |= fuzz_u8(f);
	if (n > f->len)
		n = f->len;
	data->p = f->p;
	data->len = n;
	f->p += n;
	f->len -= n;
	return (1);
}

void
fuzz_fds(void)
{
	static int	 lowest = -1, calls;
	char		 path[64], what[256];
	ssize_t		 n;
	int		 fd;

	need((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) != -1);
	close(fd);
	/* The first run may open what is kept. */
	if (++calls == 2)
		lowest = fd;
	if (calls <= 2 || fd == lowest)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", lowest);
	n = readlink(path, what, sizeof(what) - 1);
	what[n > 0 ? n : 0] = '\0';
	fprintf(stderr, "left open: %s\n", what);
	abort();
}

static void
fail(const char *fmt, va_list ap)
{
	fprintf(stderr, "fatal: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	abort();
}

WEAK void
fatal(const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	fail(fmt, ap);
	va_end(ap);
	abort();
}

WEAK void
fatalx(const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	fail(fmt, ap);
	va_end(ap);
	abort();
}

/* A line is made all the same: its arguments may be wrong. */
static void
line(const char *fmt, va_list ap)
{
	char	 buf[8192];

	vsnprintf(buf, sizeof(buf), fmt, ap);
}

#define LOG_FN(name)							\
WEAK void								\
name(const char *fmt, ...)						\
{									\
	va_list	 ap;							\
									\
	va_start(ap, fmt);						\
	line(fmt, ap);							\
	va_end(ap);							\
}

LOG_FN(log_warn)
LOG_FN(log_warnx)
LOG_FN(log_info)
LOG_FN(log_debug)
