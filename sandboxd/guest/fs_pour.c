/*
 * Bytes of a large file that go out and that a worker does not copy: it splices
 * them into a pipe and says the head of their frame, and with the first of a
 * call it hands the pipe over.  See pour.c for PID 1's side.
 */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "call.h"

#define POUR_MIN	(2 * GP_MAX_DATA)	/* less is not worth a pipe */

/* The worker's own pipe, with room for a window, or none. */
static void
fs_pour_pipe(struct job *j)
{
	j->pour_tried = 1;
	if (pipe2(j->pour, O_CLOEXEC) == -1) {
		j->pour[0] = j->pour[1] = -1;
		return;
	}
	/* With less it would wait for PID 1 within a frame. */
	if (fcntl(j->pour[1], F_SETPIPE_SZ, GP_WINDOW) < GP_WINDOW)
		fs_pour_end(j);
}

void
fs_pour_end(struct job *j)
{
	int	 i;

	for (i = 0; i < 2; i++) {
		if (j->pour[i] != -1)
			close(j->pour[i]);
		j->pour[i] = -1;
	}
}

/* How much went into the pipe and is announced; 0: it is to be copied. */
static ssize_t
file_pour(struct job *j, int fd, off_t off, size_t len)
{
	ssize_t	 n;

	if (!j->pour_tried && len >= POUR_MIN)
		fs_pour_pipe(j);
	if (j->pour[1] == -1 || len < GP_MAX_DATA || job_flush(j) == -1)
		return (0);
	do {
		n = splice(fd, &off, j->pour[1], NULL, GP_MAX_DATA, 0);
	} while (n == -1 && errno == EINTR);
	/* What is wrong with the file, reading it will tell. */
	if (n <= 0)
		return (0);
	return (job_poured(j, n) == -1 ? -1 : n);
}

ssize_t
job_file(struct job *j, int fd, off_t off, size_t len)
{
	ssize_t	 n;
	size_t	 room;
	uint8_t	*p;

	if ((n = file_pour(j, fd, off, len)) != 0)
		return (n);
	p = job_room(j, 4096);
	room = GP_MAX_DATA - j->outlen;
	if ((n = pread(fd, p, len < room ? len : room, off)) > 0 &&
	    job_put(j, n) == -1)
		return (-1);
	return (n);
}
