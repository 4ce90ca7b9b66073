/*
 * Any text as sandboxd.conf(5).  What is taken is printed, read again and
 * printed again, and both are the same.  A file is included in itself or is
 * not there: nothing else is opened.
 */

#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"

static int	 conf_open(const char *);

#define open(path, flags)	conf_open(path)
#include "conf_file.c"
#undef open
#include "grammar.c"		/* of parse.y */

static const char	*now;
static size_t		 nnow;

static int
conf_open(const char *path)
{
	int	 fd;

	if (strcmp(path, "/a") != 0) {
		errno = ENOENT;
		return (-1);
	}
	need((fd = memfd_create("conf", MFD_CLOEXEC)) != -1);
	need(fchmod(fd, 0600) == 0);
	need(write(fd, now, nnow) == (ssize_t)nnow);
	need(lseek(fd, 0, SEEK_SET) == 0);
	return (fd);
}

static struct config *
parse(const char *text, size_t len)
{
	static struct conf_errors	 e;
	struct config			*c;

	memset(&e, 0, sizeof(e));
	now = text;
	nnow = len;
	c = conf_parse("/a", &e);
	need((c == NULL) == (e.count != 0));
	need(e.len < sizeof(e.text) && strlen(e.text) == e.len);
	/* Each error is a line that names its place. */
	need(e.count == 0 || strncmp(e.text, "/a:", 3) == 0);
	return (c);
}

static char *
print(const struct config *c, size_t *len)
{
	FILE	*f;
	char	*text;

	need((f = open_memstream(&text, len)) != NULL);
	conf_print(f, c);
	fclose(f);
	return (text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct config	*one, *two;
	char		*a, *b;
	size_t		 na, nb;

	if ((one = parse((const char *)data, len)) != NULL) {
		a = print(one, &na);
		if ((two = parse(a, na)) == NULL) {
			fprintf(stderr, "%s", a);
			need(two != NULL);
		}
		b = print(two, &nb);
		need(na == nb && memcmp(a, b, na) == 0);
		free(a);
		free(b);
		conf_free(one);
		conf_free(two);
	}
	fuzz_fds();
	return (0);
}
