/*
 * Bytes into a file: either some of them in place, or the whole at once.  The
 * whole is written beside it and takes its name when all of it is there: who
 * reads meanwhile sees the old or the new, and what fails leaves the old.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "call.h"
#include "tool.h"

#define WRITE_UNKNOWN	(64 * 1024 * 1024)	/* of what has no length */
#define DIR_MODE	0777		/* less the mask */

static int
write_bytes(struct job *j, int fd, const uint8_t *p, size_t len)
{
	int	 error;

	if ((error = write_all(fd, p, len)) != 0)
		return (job_errno(j, error, ""));
	return (0);
}

/* All of the input. */
static int
write_input(struct job *j, int fd)
{
	const uint8_t	*p;
	ssize_t		 n;

	while ((n = job_in(j, &p)) > 0) {
		if (j->m.limit != 0 && j->end.in > j->m.limit)
			return (job_fail(j, CODE_TOO_LARGE,
			    "more than %llu bytes",
			    (unsigned long long)j->m.limit));
		if (write_bytes(j, fd, p, n) == -1)
			return (-1);
	}
	j->end.count = j->end.in;
	return (n == 0 ? 0 : -1);
}

/*
 * All of another file; its length is what it was at first, or it could grow
 * before us for ever.  Those of /proc have bytes, and no length.
 */
static int
write_copy(struct job *j, int fd, int from)
{
	static uint8_t	 buf[65536];
	struct stat	 st;
	uint64_t	 left;
	ssize_t		 n = 0;

	if (fstat(from, &st) == -1)
		return (job_errno(j, errno, ""));
	left = st.st_size == 0 ? WRITE_UNKNOWN : (uint64_t)st.st_size;
	for (; left > 0 && (n = read(from, buf, left < sizeof(buf) ? left :
	    sizeof(buf))) > 0; left -= n) {
		j->end.count += n;
		if (j->m.limit != 0 && j->end.count > j->m.limit)
			return (job_fail(j, CODE_TOO_LARGE,
			    "more than %llu bytes",
			    (unsigned long long)j->m.limit));
		if (write_bytes(j, fd, buf, n) == -1 || !job_wanted(j))
			return (-1);
	}
	return (n == -1 ? job_errno(j, errno, "") : 0);
}

/* The words that the operations have for what is no file. */
static int
write_errno(struct job *j, int error)
{
	if (error == EISDIR)
		return (job_fail(j, CODE_IS_DIRECTORY, "it is a directory"));
	if (error == ENXIO)
		return (job_fail(j, CODE_NOT_FILE, "not a regular file"));
	return (job_errno(j, error, ""));
}

/* A copy of its own has the time of now, one in a tree that of its file. */
static void
write_times(struct job *j, int fd, int from)
{
	struct stat	 st;
	struct timespec	 ts[2] = { { 0, UTIME_OMIT }, { 0, 0 } };

	if (from == -1 || j->m.op != CALL_TREE_COPY || fstat(from, &st) == -1)
		return;
	ts[1] = st.st_mtim;
	(void)futimens(fd, ts);
}

/* Of the input, or a copy of what is open at from. */
static void
write_whole(struct job *j, const char *path, int from, mode_t mode)
{
	struct replace	 r;
	int		 flags = 0, error;

	if (j->m.flags & CALL_F_PARENTS)
		flags |= WRITE_PARENTS;
	if (j->m.flags & CALL_F_NOFOLLOW)
		flags |= WRITE_NOFOLLOW;
	if (j->m.flags & CALL_F_EXCL)
		flags |= WRITE_CREATE;
	if (j->m.mode != 0)
		mode = j->m.mode;
	if (j->m.mode != 0 || from != -1)
		flags |= WRITE_MODE;
	if ((error = replace_begin(&r, path, flags, mode)) != 0) {
		write_errno(j, error);
		return;
	}
	j->end.count2 = !r.there;
	if ((from != -1 ? write_copy(j, r.fd, from) :
	    write_input(j, r.fd)) == -1 || j->end.code != CODE_OK || j->lost)
		replace_abort(&r);
	else {
		write_times(j, r.fd, from);
		if ((error = replace_commit(&r)) != 0)
			job_errno(j, error, "");
	}
}

/* A file of ours that is not whole is not left under its name. */
static void
write_undo(const char *path, int fd)
{
	struct stat	 st, is;

	if (fstat(fd, &st) == 0 && lstat(path, &is) == 0 &&
	    st.st_dev == is.st_dev && st.st_ino == is.st_ino)
		(void)unlink(path);
}

static void
write_part(struct job *j)
{
	struct stat	 st;
	char		 path[CALL_PATH_MAX + 1];
	int		 error, fd, flags = O_WRONLY | O_CREAT | O_NOFOLLOW;

	snprintf(path, sizeof(path), "%s", j->m.path);
	if ((j->m.flags & CALL_F_PARENTS &&
	    (error = path_parents(path, DIR_MODE)) != 0) ||
	    (!(j->m.flags & CALL_F_NOFOLLOW) &&
	    (error = path_follow(path)) != 0)) {
		job_errno(j, error, "");
		return;
	}
	j->end.count2 = lstat(path, &st) == -1;
	if (j->m.flags & CALL_F_EXCL)
		flags |= O_EXCL;
	if (j->m.flags & CALL_F_TRUNC)
		flags |= O_TRUNC;
	if (j->m.flags & CALL_F_APPEND)
		flags |= O_APPEND;
	if ((fd = fs_open(j, path, flags, &st)) == -1)
		return;
	if (j->m.offset > INT64_MAX ||
	    lseek(fd, j->m.offset, SEEK_SET) == -1)
		job_fail(j, CODE_INVALID_ARGUMENT, "offset: too large");
	else if (write_input(j, fd) == 0 && j->m.mode != 0 &&
	    fchmod(fd, j->m.mode) == -1)
		job_errno(j, errno, "its permissions");
	if ((j->end.code != CODE_OK || j->lost) && j->end.count2 &&
	    j->m.flags & CALL_F_TRUNC)
		write_undo(path, fd);
	if (close(fd) == -1)
		job_errno(j, errno, "");
}

void
fs_write(struct job *j)
{
	if (j->m.flags & CALL_F_ATOMIC)
		write_whole(j, j->m.path, -1, 0);
	else
		write_part(j);
}

/* A regular file, whose copy is there as a whole or not at all. */
void
fs_copy(struct job *j)
{
	struct stat	 st;
	int		 from;

	if ((from = fs_open(j, j->m.path, O_RDONLY | (j->m.flags &
	    CALL_F_NOFOLLOW ? O_NOFOLLOW : 0), &st)) == -1)
		return;
	write_whole(j, j->m.path2, from, st.st_mode & 07777);
	close(from);
}

/* To another file system: a file by its bytes, and nothing else. */
void
fs_move_bytes(struct job *j)
{
	struct stat	 st;

	if (lstat(j->m.path, &st) == -1) {
		job_errno(j, errno, "");
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		job_fail(j, CODE_UNSUPPORTED, "only a regular file can be "
		    "moved to another file system");
		return;
	}
	fs_copy(j);
	if (j->end.code == CODE_OK && !j->lost && unlink(j->m.path) == -1)
		job_errno(j, errno, "");
}
