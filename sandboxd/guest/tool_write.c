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

#include "tool.h"

#define WRITE_LINKS	40		/* followed, as the kernel does */
#define WRITE_TRIES	8		/* names that someone else has */
#define WRITE_BUF	65536
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

/* The directories above path, those that are not there. */
int
write_parents(const char *path)
{
	struct stat	 st;
	char		 buf[4096], *p;
	size_t		 len = strlen(path);

	if (len >= sizeof(buf))
		return (ENAMETOOLONG);
	memcpy(buf, path, len + 1);
	/* Mostly all are there: one look then. */
	if ((p = strrchr(buf, '/')) == NULL || p == buf)
		return (0);
	*p = '\0';
	if (stat(buf, &st) == 0)
		return (S_ISDIR(st.st_mode) ? 0 : ENOTDIR);
	for (p = buf + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = '\0';
		if (mkdir(buf, 0777) == -1 && errno != EEXIST)
			return (errno);
	}
	if (mkdir(buf, 0777) == -1 && errno != EEXIST)
		return (errno);
	return (0);
}

/* Where the links at the end of a path lead to; buf has 4096 bytes. */
static int
write_resolve(char *buf, const char *path)
{
	char	 link[4096], *p;
	ssize_t	 n;
	size_t	 len = strlen(path);
	int	 i;

	if (len >= sizeof(link))
		return (ENAMETOOLONG);
	memcpy(buf, path, len + 1);
	for (i = 0; i < WRITE_LINKS; i++) {
		n = readlink(buf, link, sizeof(link) - 1);
		if (n == -1)
			return (errno == EINVAL || errno == ENOENT ? 0 :
			    errno);
		link[n] = '\0';
		p = strrchr(buf, '/');
		len = link[0] == '/' || p == NULL ? 0 : p - buf + 1U;
		if (len + n >= sizeof(link))
			return (ENAMETOOLONG);
		memcpy(buf + len, link, n + 1);
	}
	return (ELOOP);
}

/* The directory, opened, and the name in it. */
static int
write_place(struct replace *r, const char *path, int parents)
{
	char	 buf[4096], *p;
	int	 error;

	if (parents && (error = write_parents(path)) != 0)
		return (error);
	if ((error = write_resolve(buf, path)) != 0)
		return (error);
	if ((p = strrchr(buf, '/')) != NULL)
		p++;
	else
		p = buf;
	if (*p == '\0' || strcmp(p, ".") == 0 || strcmp(p, "..") == 0)
		return (EISDIR);
	if (strlen(p) >= sizeof(r->name))
		return (ENAMETOOLONG);
	memcpy(r->name, p, strlen(p) + 1);
	*p = '\0';
	r->dirfd = open(buf[0] == '\0' ? "." : buf,
	    O_PATH | O_DIRECTORY | O_CLOEXEC);
	return (r->dirfd == -1 ? errno : 0);
}

/* What stands there may be replaced: 0, and *is tells whether there is. */
static int
write_look(struct replace *r, struct stat *st, int *is)
{
	*is = 0;
	if (fstatat(r->dirfd, r->name, st, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno == ENOENT ? 0 : errno);
	*is = 1;
	if (S_ISDIR(st->st_mode))
		return (EISDIR);
	if (r->flags & WRITE_CREATE)
		return (EEXIST);
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
		snprintf(r->tmp, sizeof(r->tmp), ".sbx-%016llx", n);
		r->fd = openat(r->dirfd, r->tmp, O_WRONLY | O_CREAT | O_EXCL |
		    O_NOFOLLOW | O_CLOEXEC, mode);
		if (r->fd != -1)
			return (0);
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
	int		 error, is = 0;

	memset(r, 0, sizeof(*r));
	r->dirfd = r->fd = -1;
	r->flags = flags;
	if ((error = write_place(r, path, flags & WRITE_PARENTS)) == 0 &&
	    (error = write_look(r, &st, &is)) == 0 &&
	    (error = write_tmp(r, is ? 0600 : 0666)) == 0)
		error = write_mode(r, is ? &st : NULL, mode);
	if (error != 0)
		replace_abort(r);
	return (error);
}

int
replace_commit(struct replace *r)
{
	int	 error = 0;

	if (!(r->flags & WRITE_CREATE)) {
		if (renameat(r->dirfd, r->tmp, r->dirfd, r->name) == -1)
			error = errno;
	} else if (syscall(SYS_renameat2, r->dirfd, r->tmp, r->dirfd, r->name,
	    NOREPLACE) == -1) {
		/* Where that is not to be had, a second name does it. */
		if (errno != EINVAL && errno != ENOSYS)
			error = errno;
		else if (linkat(r->dirfd, r->tmp, r->dirfd, r->name, 0) == -1)
			error = errno;
		else
			unlinkat(r->dirfd, r->tmp, 0);
	}
	if (error == 0)
		r->tmp[0] = '\0';
	replace_abort(r);
	return (error);
}

void
replace_abort(struct replace *r)
{
	if (r->fd != -1) {
		close(r->fd);
		if (r->tmp[0] != '\0')
			unlinkat(r->dirfd, r->tmp, 0);
	}
	if (r->dirfd != -1)
		close(r->dirfd);
	r->fd = r->dirfd = -1;
}

/* len bytes from in; ECANCELED if they do not come. */
int
tool_write(const char *path, int flags, mode_t mode, int in, uint64_t len)
{
	struct replace	 r;
	char		*buf;
	ssize_t		 n;
	int		 error;

	if ((buf = malloc(WRITE_BUF)) == NULL)
		return (ENOMEM);
	if ((error = replace_begin(&r, path, flags, mode)) != 0) {
		free(buf);
		return (error);
	}
	while (len > 0 && error == 0) {
		n = read(in, buf, len < WRITE_BUF ? len : WRITE_BUF);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0) {
			error = n == 0 ? ECANCELED : errno;
			break;
		}
		error = write_all(r.fd, buf, n);
		len -= n;
	}
	free(buf);
	if (error == 0)
		return (replace_commit(&r));
	replace_abort(&r);
	return (error);
}
