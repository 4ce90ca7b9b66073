/* Names and what is said of files: everything that is no bytes. */

#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE	1
#endif
#define DIR_MODE	0777		/* less the mask */

/* The directories above the second path, if they are asked for. */
static int
change_parents(struct job *j, const char *path)
{
	int	 error;

	if (j->m.flags & CALL_F_PARENTS &&
	    (error = path_parents(path, DIR_MODE)) != 0)
		return (job_errno(j, error, "its directory"));
	return (0);
}

void
fs_mkdir(struct job *j)
{
	struct stat	 st;
	char		 path[CALL_PATH_MAX + 1];
	size_t		 len;
	int		 error;

	if (change_parents(j, j->m.path) == -1)
		return;
	snprintf(path, sizeof(path), "%s", j->m.path);
	for (len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	if (mkdir(path, DIR_MODE) == -1) {
		error = errno;
		if (!(j->m.flags & CALL_F_PARENTS) || error != EEXIST ||
		    stat(path, &st) == -1 || !S_ISDIR(st.st_mode))
			job_errno(j, error, "");
		return;
	}
	j->end.count = 1;
	if (j->m.mode != 0 && chmod(path, j->m.mode) == -1)
		job_errno(j, errno, "its permissions");
}

struct removal {
	struct walk	 w;
	struct job	*j;
};

/* The first that cannot be removed tells why; the rest goes. */
static int
remove_one(struct walk *w, enum walk_at at, int dirfd, const char *name,
    const struct stat *st, int error)
{
	struct removal	*r = (struct removal *)w;

	if (at == WALK_ERROR) {
		job_fail(r->j, errno_code(error), "%.100s: %s", w->path,
		    strerror(error));
		return (0);
	}
	if (at == WALK_ENTRY && S_ISDIR(st->st_mode))
		return (0);
	if (unlinkat(dirfd, name, at == WALK_AFTER ? AT_REMOVEDIR : 0) == -1) {
		if (errno == ENOENT)
			return (0);
		job_fail(r->j, errno_code(errno), "%.100s: %s", w->path,
		    strerror(errno));
		return (0);
	}
	r->j->end.count++;
	return (WALK_GONE);
}

static void
remove_tree(struct job *j)
{
	struct removal	 r;
	int		 fd;

	fd = open(j->m.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC |
	    O_NONBLOCK);
	if (fd == -1) {
		job_errno(j, errno, "");
		return;
	}
	memset(&r, 0, sizeof(r));
	r.j = j;
	r.w.fn = remove_one;
	r.w.recurse = 1;
	if (walk(j, &r.w, fd) == -1)
		return;
	if (j->end.code == CODE_OK && rmdir(j->m.path) == -1)
		job_errno(j, errno, "");
	else if (j->end.code == CODE_OK)
		j->end.count++;
}

void
fs_remove(struct job *j)
{
	char		 path[CALL_PATH_MAX + 1], dir[CALL_PATH_MAX + 1];
	struct stat	 st;
	size_t		 len;
	int		 slash = 0;

	/* A slash at its end says that it is a directory. */
	snprintf(path, sizeof(path), "%s", j->m.path);
	for (len = strlen(path); len > 1 && path[len - 1] == '/'; slash = 1)
		path[--len] = '\0';
	j->m.path = path;
	if (path_split(j->m.path, dir) == NULL) {
		job_fail(j, CODE_INVALID_PATH,
		    "it ends in no name that could be removed");
		return;
	}
	if (lstat(j->m.path, &st) == -1) {
		if (errno != ENOENT || !(j->m.flags & CALL_F_FORCE))
			job_errno(j, errno, "");
		return;
	}
	if (slash && !S_ISDIR(st.st_mode)) {
		job_errno(j, ENOTDIR, "");
		return;
	}
	if (S_ISDIR(st.st_mode) && j->m.flags & CALL_F_RECURSE) {
		remove_tree(j);
		return;
	}
	if ((S_ISDIR(st.st_mode) ? rmdir(j->m.path) :
	    unlink(j->m.path)) == -1)
		job_errno(j, errno, "");
	else
		j->end.count = 1;
}

void
fs_move(struct job *j)
{
	int	 ret;

	if (change_parents(j, j->m.path2) == -1)
		return;
	if (j->m.flags & CALL_F_EXCL)
		ret = syscall(SYS_renameat2, AT_FDCWD, j->m.path, AT_FDCWD,
		    j->m.path2, RENAME_NOREPLACE);
	else
		ret = rename(j->m.path, j->m.path2);
	if (ret == -1 && errno == EXDEV)
		fs_move_bytes(j);
	else if (ret == -1)
		job_errno(j, errno, "");
	if (j->end.code == CODE_OK)
		j->end.count = 1;
}

struct modes {
	struct walk	 w;
	struct job	*j;
};

/*
 * Directories that can be entered with the mode get it before what is in them,
 * else behind that.  A link has no mode, and what it leads to is not meant.
 * One that comes to be a link meanwhile leads to what its owner, the user of
 * the sandbox, may change anyway.
 */
static int
mode_one(struct walk *w, enum walk_at at, int dirfd, const char *name,
    const struct stat *st, int error)
{
	struct modes	*r = (struct modes *)w;
	int		 first = (r->j->m.mode & 0500) == 0500;

	if (at == WALK_ERROR) {
		job_fail(r->j, errno_code(error), "%.100s: %s", w->path,
		    strerror(error));
		return (0);
	}
	if (at == WALK_ENTRY ? S_ISLNK(st->st_mode) ||
	    (S_ISDIR(st->st_mode) && !first) : first)
		return (0);
	if (fchmodat(dirfd, name, r->j->m.mode, 0) == 0)
		r->j->end.count++;
	else if (errno != ENOENT)
		job_fail(r->j, errno_code(errno), "%.100s: %s", w->path,
		    strerror(errno));
	return (0);
}

/* The first whose mode cannot be set tells why; the rest has it. */
static void
mode_tree(struct job *j)
{
	static struct modes	 r;
	int			 fd;

	if ((j->m.mode & 0500) == 0500 && chmod(j->m.path, j->m.mode) == -1) {
		job_errno(j, errno, "");
		return;
	}
	fd = open(j->m.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1) {
		job_errno(j, errno, "");
		return;
	}
	memset(&r, 0, sizeof(r));
	r.j = j;
	r.w.fn = mode_one;
	r.w.recurse = 1;
	if (walk(j, &r.w, fd) == -1)
		return;
	if (chmod(j->m.path, j->m.mode) == -1)
		job_errno(j, errno, "");
	else
		j->end.count++;
}

void
fs_chmod(struct job *j)
{
	struct stat	 st;

	if (j->m.flags & CALL_F_RECURSE && stat(j->m.path, &st) == 0 &&
	    S_ISDIR(st.st_mode)) {
		mode_tree(j);
		return;
	}
	if (chmod(j->m.path, j->m.mode) == -1)
		job_errno(j, errno, "");
	else
		j->end.count = 1;
}

void
fs_truncate(struct job *j)
{
	struct stat	 st;
	int		 fd;

	if (j->m.length > INT64_MAX) {
		job_fail(j, CODE_INVALID_ARGUMENT, "length: too large");
		return;
	}
	if ((fd = fs_open(j, j->m.path, O_WRONLY, &st)) == -1)
		return;
	if (ftruncate(fd, j->m.length) == -1)
		job_errno(j, errno, "");
	close(fd);
}

/* path2 becomes one more name of what path is. */
void
fs_link(struct job *j)
{
	if (change_parents(j, j->m.path2) == -1)
		return;
	if (linkat(AT_FDCWD, j->m.path, AT_FDCWD, j->m.path2, 0) == -1)
		job_errno(j, errno, "");
}

/* path2 becomes a link that says path, whatever that is. */
void
fs_symlink(struct job *j)
{
	if (change_parents(j, j->m.path2) == -1)
		return;
	if (symlink(j->m.path, j->m.path2) == -1)
		job_errno(j, errno, "");
}
