/*
 * What is in a directory, and all that is below it: without recursion, by
 * descriptors, so that neither depth nor the length of a path has a bound but
 * that of open files, and no link is ever followed.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"

#define LOOK_EACH	64		/* entries, then: is it wanted still? */

struct level {
	DIR		*dir;
	size_t		 len;		/* of its path */
	unsigned int	 gone;		/* entries, in this pass */
};

static int
walk_push(struct walk *w, int fd, size_t len)
{
	struct level	*l;
	DIR		*dir;

	if (w->depth == w->size) {
		l = reallocarray(w->levels, w->size + 64, sizeof(*l));
		if (l == NULL) {
			close(fd);
			return (ENOMEM);
		}
		w->levels = l;
		w->size += 64;
	}
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return (ENOMEM);
	}
	l = &w->levels[w->depth++];
	l->dir = dir;
	l->len = len;
	l->gone = 0;
	return (0);
}

/* What the caller makes of an entry; what it removed is counted. */
static int
walk_tell(struct walk *w, enum walk_at at, int dirfd, const char *name,
    const struct stat *st, int error)
{
	int	 ret;

	ret = w->fn(w, at, dirfd, name, st, error);
	if (ret == WALK_GONE && w->depth > 0)
		w->levels[w->depth - 1].gone++;
	return (ret);
}

/* All of the top one's entries were seen: up, or once more. */
static int
walk_pop(struct walk *w)
{
	static struct stat	 none;
	struct level		*l = &w->levels[w->depth - 1];
	const char		*name;

	if (l->gone > 0) {
		/* Some file systems pass over one for each that went. */
		l->gone = 0;
		rewinddir(l->dir);
		return (0);
	}
	closedir(l->dir);
	w->path[l->len] = '\0';
	if (--w->depth == 0)
		return (0);
	name = strrchr(w->path, '/');
	return (walk_tell(w, WALK_AFTER, dirfd(w->levels[w->depth - 1].dir),
	    name == NULL ? w->path : name + 1, &none, 0));
}

static int
walk_entry(struct walk *w, const char *name)
{
	static struct stat	 none;
	struct level		*l = &w->levels[w->depth - 1];
	struct stat		 st;
	size_t			 len = strlen(name), at = l->len;
	int			 fd, error, up = dirfd(l->dir);

	if (at + 1 + len > CALL_PATH_MAX) {
		w->path[at] = '\0';
		return (walk_tell(w, WALK_ERROR, up, name, &none,
		    ENAMETOOLONG));
	}
	if (at > 0)
		w->path[at++] = '/';
	memcpy(w->path + at, name, len + 1);
	if (fstatat(up, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		/* It has gone meanwhile. */
		return (errno == ENOENT ? 0 : walk_tell(w, WALK_ERROR, up,
		    name, &none, errno));
	switch (walk_tell(w, WALK_ENTRY, up, name, &st, 0)) {
	case 0:
		break;
	case -1:
		return (-1);
	default:
		return (0);
	}
	if (!S_ISDIR(st.st_mode) || !w->recurse)
		return (0);
	fd = openat(up, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC |
	    O_NONBLOCK);
	error = fd == -1 ? errno : walk_push(w, fd, at + len);
	return (error == 0 ? 0 : walk_tell(w, WALK_ERROR, up, name, &st,
	    error));
}

/* The directory that fd is, which is closed.  -1 if it was given up. */
int
walk(struct job *j, struct walk *w, int fd)
{
	struct dirent	*d;
	unsigned int	 n = 0;
	int		 ret = 0;

	w->path[0] = '\0';
	if ((ret = walk_push(w, fd, 0)) != 0)
		return (job_errno(j, ret, ""));
	while (ret != -1 && w->depth > 0) {
		if (++n % LOOK_EACH == 0 && !job_wanted(j))
			break;
		if ((d = readdir(w->levels[w->depth - 1].dir)) == NULL)
			ret = walk_pop(w);
		else if (strcmp(d->d_name, ".") != 0 &&
		    strcmp(d->d_name, "..") != 0)
			ret = walk_entry(w, d->d_name);
	}
	while (w->depth > 0)
		closedir(w->levels[--w->depth].dir);
	free(w->levels);
	return (ret == -1 || j->lost ? -1 : 0);
}
