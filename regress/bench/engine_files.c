/*
 * What the Engine takes for files: its archive, which is a tar.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define BLOCK	512	/* of a tar */

/* A connection on which a request has been written. */
int
engine_open(const char *request)
{
	struct sockaddr_un	 sun;
	size_t			 len = strlen(request);
	int			 s;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	if (strlcpy(sun.sun_path, bench.engine, sizeof(sun.sun_path)) >=
	    sizeof(sun.sun_path))
		errx(1, "%s: too long", bench.engine);
	if ((s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    connect(s, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    write(s, request, len) != (ssize_t)len)
		err(1, "%s", bench.engine);
	return (s);
}

/* The header of a regular file: ustar, POSIX.1-1988. */
static void
tar_header(char *block, const char *name, uint64_t size)
{
	unsigned int	 sum = 0;
	int		 i;

	memset(block, 0, BLOCK);
	snprintf(block, 100, "%s", name);
	snprintf(block + 100, 8, "%07o", 0644);
	snprintf(block + 108, 8, "%07o", 0);
	snprintf(block + 116, 8, "%07o", 0);
	snprintf(block + 124, 12, "%011llo", (unsigned long long)size);
	snprintf(block + 136, 12, "%011o", 0);
	memset(block + 148, ' ', 8);
	block[156] = '0';
	memcpy(block + 257, "ustar\00000", 8);
	for (i = 0; i < BLOCK; i++)
		sum += (unsigned char)block[i];
	snprintf(block + 148, 8, "%06o", sum);
}

static void
put_all(int s, const char *buf, size_t len)
{
	ssize_t	 n;

	for (; len > 0; buf += n, len -= n)
		if ((n = write(s, buf, len)) == -1)
			err(1, "archive");
}

/* Reads an answer to its end: bytes behind its header. */
static uint64_t
answer(int s, const char *what)
{
	static char	 buf[256 * 1024];
	uint64_t	 total = 0;
	ssize_t		 n;
	char		*p;
	size_t		 len = 0;

	/* The header first. */
	for (;;) {
		if ((n = read(s, buf + len, sizeof(buf) - 1 - len)) <= 0)
			errx(1, "%s: no answer", what);
		len += n;
		buf[len] = '\0';
		if ((p = strstr(buf, "\r\n\r\n")) != NULL)
			break;
	}
	if (strncmp(buf + 8, " 200", 4) != 0)
		errx(1, "%s: %s", what, buf);
	total = len - (p + 4 - buf);
	while ((n = read(s, buf, sizeof(buf))) > 0)
		total += n;
	close(s);
	return (total);
}

/* A file of that size into the working directory. */
void
engine_put(const char *name, uint64_t size)
{
	static char	 buf[256 * 1024];
	char		 head[512];
	uint64_t	 left = size;
	size_t		 n;
	int		 s;

	snprintf(head, sizeof(head), "PUT /v1.41/containers/%s/archive?path="
	    "%s HTTP/1.0\r\nHost: engine\r\nContent-Type: application/x-tar"
	    "\r\nContent-Length: %llu\r\n\r\n", bench.box.container, BOX_DIR,
	    (unsigned long long)(size + 3 * BLOCK));
	s = engine_open(head);
	tar_header(buf, name, size);
	put_all(s, buf, BLOCK);
	memset(buf, 'y', sizeof(buf));
	for (; left > 0; left -= n) {
		n = left < sizeof(buf) ? left : sizeof(buf);
		put_all(s, buf, n);
	}
	memset(buf, 0, 2 * BLOCK);
	put_all(s, buf, 2 * BLOCK);
	(void)answer(s, "archive in");
}

void
engine_get(const char *name, uint64_t size)
{
	char	 head[512];

	snprintf(head, sizeof(head), "GET /v1.41/containers/%s/archive?path="
	    "%s/%s HTTP/1.0\r\nHost: engine\r\n\r\n", bench.box.container,
	    BOX_DIR, name);
	if (answer(engine_open(head), "archive out") < size)
		errx(1, "archive out: bytes are missing");
}
