/* Bytes of a file. */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "call.h"

#define READ_UNKNOWN	(64 * 1024 * 1024)	/* of what has no length */

/*
 * Opens a regular file.  What is none is not even opened, since that alone
 * may wake or disturb somebody; what takes its place meanwhile does not block.
 */
int
fs_open(struct job *j, const char *path, int flags, struct stat *st)
{
	int	 fd;

	if ((flags & O_NOFOLLOW ? lstat(path, st) : stat(path, st)) == 0 &&
	    !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode) &&
	    !S_ISLNK(st->st_mode))
		return (job_fail(j, CODE_NOT_FILE, "not a regular file"));
	fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
	if (fd == -1)
		return (job_errno(j, errno, ""));
	if (fstat(fd, st) == -1)
		job_errno(j, errno, "");
	else if (S_ISDIR(st->st_mode))
		job_fail(j, CODE_IS_DIRECTORY, "it is a directory");
	else if (!S_ISREG(st->st_mode))
		job_fail(j, CODE_NOT_FILE, "not a regular file");
	else
		return (fd);
	close(fd);
	return (-1);
}

/* A file that grows meanwhile ends where it ended at first. */
static uint64_t
read_length(struct job *j, const struct stat *st)
{
	uint64_t	 left, size = st->st_size;

	/* Those of /proc have bytes, and no length. */
	if (size == 0)
		left = READ_UNKNOWN;
	else
		left = j->m.offset < size ? size - j->m.offset : 0;
	return (left < j->m.length ? left : j->m.length);
}

void
fs_read(struct job *j)
{
	struct stat	 st;
	uint64_t	 left;
	off_t		 off = j->m.offset;
	ssize_t		 r = 0;
	int		 fd;

	if (j->m.offset > INT64_MAX) {
		job_fail(j, CODE_INVALID_ARGUMENT, "offset: too large");
		return;
	}
	if ((fd = fs_open(j, j->m.path, O_RDONLY | (j->m.flags &
	    CALL_F_NOFOLLOW ? O_NOFOLLOW : 0), &st)) == -1)
		return;
	j->end.count = st.st_size;
	left = read_length(j, &st);
	if (j->m.limit != 0 && left > j->m.limit && st.st_size != 0)
		job_fail(j, CODE_TOO_LARGE, "%llu bytes: the limit is %llu",
		    (unsigned long long)left, (unsigned long long)j->m.limit);
	while (j->end.code == CODE_OK && left > 0) {
		if ((r = job_file(j, fd, off, left)) <= 0)
			break;
		off += r;
		left -= r;
	}
	if (r == -1 && !j->lost)
		job_errno(j, errno, "");
	close(fd);
}
