/*
 * A file is written under another name in its directory and then takes its
 * place: who reads it sees the old one or the new one.  It keeps the mode of
 * the old one, and its owner where we may give that.  A link is followed, as
 * in all programs: what it names is replaced and not the link.
 */

#include <sys/types.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "tool.h"

#define WRITE_TRIES	16		/* names that someone else has */
#define NOREPLACE	1		/* of renameat2 */

#ifndef SYS_renameat2
#define SYS_renameat2	316
#endif

int
write_all(int fd, const void *p, size_t len)
{
	ssize_t	 n;

	while (len > 0) {
		if ((n = write(fd, p, len)) == -1) {
			if (errno == EINTR)
				continue;
			return (errno);
		}
		p = (const char *)p + n;
		len -= n;
	}
	return (0);
}

/* The directory, opened, and the name in it. */
static int
write_place(struct replace *r, const char *path)
{
	struct stat	 st;
	const char	*name;
	char		 buf[CALL_PATH_MAX + 1], dir[CALL_PATH_MAX + 1];
	size_t		 len = strlen(path);
	int		 error;

	if (len >= sizeof(buf))
		return (ENAMETOOLONG);
	memcpy(buf, path, len + 1);
	if (r->flags & WRITE_PARENTS &&
	    (error = path_parents(buf, 0777)) != 0)
		return (error);
	if (!(r->flags & WRITE_NOFOLLOW) && (error = path_follow(buf)) != 0)
		return (error);
	if ((name = path_split(buf, dir)) == NULL)
		return (stat(buf, &st) == -1 ? errno : EISDIR);
	if ((len = strlen(name)) >= sizeof(r->name))
		return (ENAMETOOLONG);
	memcpy(r->name, name, len + 1);
	r->dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return (r->dirfd == -1 ? errno : 0);
}

/* What stands there may be replaced, or nothing does. */
static int
write_look(struct replace *r, struct stat *st)
{
	if (fstatat(r->dirfd, r->name, st, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno == ENOENT ? 0 : errno);
	r->there = 1;
	if (r->flags & WRITE_CREATE)
		return (EEXIST);
	if (S_ISDIR(st->st_mode))
		return (EISDIR);
	if (S_ISLNK(st->st_mode))
		return (ELOOP);
	if (!S_ISREG(st->st_mode))
		return (ENXIO);
	/* One that could not be written is not replaced either. */
	if (faccessat(r->dirfd, r->name, W_OK, AT_EACCESS) == -1)
		return (errno);
	return (0);
}

static int
write_tmp(struct replace *r, mode_t mode)
{
	unsigned long long	 n;
	int			 i;

	for (i = 0; i < WRITE_TRIES; i++) {
		if (getrandom(&n, sizeof(n), 0) != sizeof(n))
			return (EIO);
		snprintf(r->tmp, sizeof(r->tmp), ".sandboxd-%016llx", n);
		r->fd = openat(r->dirfd, r->tmp, O_WRONLY | O_CREAT | O_EXCL |
		    O_NOFOLLOW | O_CLOEXEC, mode);
		if (r->fd != -1)
			return (0);
		r->tmp[0] = '\0';
		if (errno != EEXIST)
			return (errno);
	}
	return (EEXIST);
}

static int
write_mode(struct replace *r, const struct stat *st, mode_t mode)
{
	if (st != NULL) {
		if ((st->st_uid != geteuid() || st->st_gid != getegid()) &&
		    fchown(r->fd, st->st_uid, st->st_gid) == -1 &&
		    errno != EPERM)
			return (errno);
		if (!(r->flags & WRITE_MODE))
			mode = st->st_mode & 07777;
	}
	if (st == NULL && !(r->flags & WRITE_MODE))
		return (0);
	return (fchmod(r->fd, mode & 07777) == -1 ? errno : 0);
}

/*
 * The new file is open at r->fd, and goes with replace_abort() unless
 * replace_commit() is called, once and last.
 */
int
replace_begin(struct replace *r, const char *path, int flags, mode_t mode)
{
	struct stat	 st;
	int		 error;

	memset(r, 0, sizeof(*r));
	r->dirfd = r->fd = -1;
	r->flags = flags;
	if ((error = write_place(r, path)) == 0 &&
	    (error = write_look(r, &st)) == 0 &&
	    (error = write_tmp(r, r->there || flags & WRITE_MODE ? 0600 :
	    0666)) == 0)
		error = write_mode(r, r->there ? &st : NULL, mode);
	if (error != 0)
		replace_abort(r);
	return (error);
}

int
replace_commit(struct replace *r)
{
	int	 error = 0;

	/* A full disk may show only when the file is closed. */
	if (close(r->fd) == -1)
		error = errno;
	r->fd = -1;
	if (error != 0)
		;
	else if (!(r->flags & WRITE_CREATE)) {
		if (renameat(r->dirfd, r->tmp, r->dirfd, r->name) == -1)
			error = errno;
	} else if (syscall(SYS_renameat2, r->dirfd, r->tmp, r->dirfd, r->name,
	    NOREPLACE) == -1) {
		/* Where that is not to be had, a second name does it. */
		if (errno != EINVAL && errno != ENOSYS)
			error = errno;
		else if (linkat(r->dirfd, r->tmp, r->dirfd, r->name, 0) == -1)
			error = errno;
		/* Its first name goes with it. */
		replace_abort(r);
		return (error);
	}
	if (error == 0)
		r->tmp[0] = '\0';
	replace_abort(r);
	return (error);
}

void
replace_abort(struct replace *r)
{
	if (r->fd != -1)
		close(r->fd);
	if (r->tmp[0] != '\0')
		unlinkat(r->dirfd, r->tmp, 0);
	if (r->dirfd != -1)
		close(r->dirfd);
	r->tmp[0] = '\0';
	r->fd = r->dirfd = -1;
}
