/*
 * Bytes into a file: either some of them in place, or the whole at once.  The
 * whole is written beside it and takes its name when all of it is there: who
 * reads meanwhile sees the old or the new, and what fails leaves the old.
 */

#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call.h"

#define FILE_MODE	0666		/* less the mask */
#define DIR_MODE	0777
#define NAME_TRIES	16
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE	1
#endif

/* A file that is written. */
struct target {
	int		 from;		/* what it is a copy of, or -1 */
	struct stat	 fromst;
	char		 path[CALL_PATH_MAX + 1];
	char		 dir[CALL_PATH_MAX + 1];
	const char	*name;
	int		 dirfd;
	char		 tmp[40];	/* beside it; "": none */
	struct stat	 st;
	int		 there;
};

static int
write_all(struct job *j, int fd, const uint8_t *p, size_t len)
{
	ssize_t	 n;

	for (; len > 0; p += n, len -= n)
		if ((n = write(fd, p, len)) == -1)
			return (job_errno(j, errno, ""));
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
		if (write_all(j, fd, p, n) == -1)
			return (-1);
	}
	j->end.count = j->end.in;
	return (n == 0 ? 0 : -1);
}

/* All of another file; its length is what it was at first. */
static int
write_copy(struct job *j, int fd, int from)
{
	static uint8_t	 buf[65536];
	ssize_t		 n;

	while ((n = read(from, buf, sizeof(buf))) > 0) {
		j->end.count += n;
		if (j->m.limit != 0 && j->end.count > j->m.limit)
			return (job_fail(j, CODE_TOO_LARGE,
			    "more than %llu bytes",
			    (unsigned long long)j->m.limit));
		if (write_all(j, fd, buf, n) == -1 || !job_wanted(j))
			return (-1);
	}
	return (n == -1 ? job_errno(j, errno, "") : 0);
}

/* What the path means; and that it is nothing but a file, or not there. */
static int
target_look(struct job *j, struct target *t)
{
	int	 error;

	if (j->m.flags & CALL_F_PARENTS &&
	    (error = path_parents(t->path, DIR_MODE)) != 0)
		return (job_errno(j, error, "its directory"));
	if (!(j->m.flags & CALL_F_NOFOLLOW) &&
	    (error = path_follow(t->path)) != 0)
		return (job_errno(j, error, ""));
	if ((t->name = path_split(t->path, t->dir)) == NULL) {
		if (stat(t->path, &t->st) == -1)
			return (job_errno(j, errno, ""));
		return (job_fail(j, CODE_IS_DIRECTORY, "it is a directory"));
	}
	t->there = lstat(t->path, &t->st) == 0;
	if (!t->there)
		return (errno == ENOENT ? 0 : job_errno(j, errno, ""));
	if (j->m.flags & CALL_F_EXCL)
		return (job_errno(j, EEXIST, ""));
	if (S_ISDIR(t->st.st_mode))
		return (job_fail(j, CODE_IS_DIRECTORY, "it is a directory"));
	if (S_ISLNK(t->st.st_mode))
		return (job_errno(j, ELOOP, ""));
	if (!S_ISREG(t->st.st_mode))
		return (job_fail(j, CODE_NOT_FILE, "not a regular file"));
	return (0);
}

static int
target_temp(struct job *j, struct target *t)
{
	uint64_t	 r[2];
	int		 fd, i;

	t->dirfd = open(t->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->dirfd == -1)
		return (job_errno(j, errno, "its directory"));
	for (i = 0; i < NAME_TRIES; i++) {
		if (getrandom(r, sizeof(r), 0) != sizeof(r))
			return (job_errno(j, EIO, ""));
		snprintf(t->tmp, sizeof(t->tmp), ".sandboxd-%016llx",
		    (unsigned long long)(r[0] ^ r[1]));
		fd = openat(t->dirfd, t->tmp, O_WRONLY | O_CREAT | O_EXCL |
		    O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd != -1)
			return (fd);
		t->tmp[0] = '\0';
		if (errno != EEXIST)
			break;
	}
	return (job_errno(j, errno, ""));
}

/* It takes the name; one that must be new does not replace another. */
static int
target_name(struct job *j, struct target *t)
{
	if (!(j->m.flags & CALL_F_EXCL)) {
		if (renameat(t->dirfd, t->tmp, t->dirfd, t->name) == -1)
			return (job_errno(j, errno, ""));
		t->tmp[0] = '\0';
		return (0);
	}
	if (syscall(SYS_renameat2, t->dirfd, t->tmp, t->dirfd, t->name,
	    RENAME_NOREPLACE) == 0) {
		t->tmp[0] = '\0';
		return (0);
	}
	if (errno != EINVAL && errno != ENOSYS)
		return (job_errno(j, errno, ""));
	if (linkat(t->dirfd, t->tmp, t->dirfd, t->name, 0) == -1)
		return (job_errno(j, errno, ""));
	return (0);
}

static mode_t
target_mode(const struct job *j, const struct target *t)
{
	mode_t	 mask;

	if (j->m.mode != 0)
		return (j->m.mode);
	if (t->from != -1)
		return (t->fromst.st_mode & 07777);
	if (t->there)
		return (t->st.st_mode & 07777);
	mask = umask(0);
	umask(mask);
	return (FILE_MODE & ~mask);
}

static void
write_whole(struct job *j, struct target *t)
{
	int	 fd;

	if ((fd = target_temp(j, t)) == -1)
		return;
	/* A full disk may show only when the file is closed. */
	if ((t->from != -1 ? write_copy(j, fd, t->from) :
	    write_input(j, fd)) == 0 &&
	    fchmod(fd, target_mode(j, t)) == -1)
		job_errno(j, errno, "its permissions");
	if (close(fd) == -1)
		job_errno(j, errno, "");
	if (j->end.code == CODE_OK && !j->lost)
		target_name(j, t);
	if (t->tmp[0] != '\0')
		(void)unlinkat(t->dirfd, t->tmp, 0);
}

static void
write_part(struct job *j, struct target *t)
{
	struct stat	 st;
	int		 fd, flags = O_WRONLY | O_CREAT | O_NOFOLLOW;

	if (j->m.flags & CALL_F_EXCL)
		flags |= O_EXCL;
	if (j->m.flags & CALL_F_TRUNC)
		flags |= O_TRUNC;
	if (j->m.flags & CALL_F_APPEND)
		flags |= O_APPEND;
	if ((fd = fs_open(j, t->path, flags, &st)) == -1)
		return;
	if (j->m.offset > INT64_MAX ||
	    lseek(fd, j->m.offset, SEEK_SET) == -1)
		job_fail(j, CODE_INVALID_ARGUMENT, "offset: too large");
	else if (write_input(j, fd) == 0 && j->m.mode != 0 &&
	    fchmod(fd, j->m.mode) == -1)
		job_errno(j, errno, "its permissions");
	if (close(fd) == -1)
		job_errno(j, errno, "");
}

void
fs_write(struct job *j)
{
	static struct target	 t;

	memset(&t, 0, sizeof(t));
	t.dirfd = t.from = -1;
	snprintf(t.path, sizeof(t.path), "%s", j->m.path);
	if (target_look(j, &t) == -1)
		return;
	j->end.count2 = !t.there;
	if (j->m.flags & CALL_F_ATOMIC)
		write_whole(j, &t);
	else
		write_part(j, &t);
	if (t.dirfd != -1)
		close(t.dirfd);
}

/* A regular file, whose copy is there as a whole or not at all. */
void
fs_copy(struct job *j)
{
	static struct target	 t;

	memset(&t, 0, sizeof(t));
	t.dirfd = -1;
	if ((t.from = fs_open(j, j->m.path, O_RDONLY | (j->m.flags &
	    CALL_F_NOFOLLOW ? O_NOFOLLOW : 0), &t.fromst)) == -1)
		return;
	snprintf(t.path, sizeof(t.path), "%s", j->m.path2);
	if (target_look(j, &t) == 0) {
		j->end.count2 = !t.there;
		write_whole(j, &t);
	}
	close(t.from);
	if (t.dirfd != -1)
		close(t.dirfd);
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
