/*
 * Changes below a directory, or of a file, as they happen: by inotify(7), a
 * watch for each directory.  A file is watched by its directory, so that one
 * which is replaced as a whole is still the same to who watches.
 *
 * A watch stays with its directory when that is moved; so what is known of a
 * directory is its name and where it lies, and paths are made when they are
 * told.  What is made in a new directory before its watch is there is found
 * by looking: such a name may be told twice, and none is left out.
 */

#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "call.h"

#define WATCH_DIRS	8192		/* unless told otherwise */
#define WATCH_MAX	65536
#define WATCH_HASH	4096
#define LOOK_EACH	64		/* entries, then: is it wanted still? */
#define DIR_FLAGS	(O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)

#define MASK		(IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | \
			IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO |	\
			IN_DELETE_SELF | IN_MOVE_SELF | IN_EXCL_UNLINK |   \
			IN_ONLYDIR)

/* A directory.  The first is the one that all others are below. */
struct node {
	char		*name;		/* NULL: this place is free */
	struct node	*up;
	struct node	*next;		/* in the table, or of those free */
	struct node	*todo;		/* next to be looked at */
	int		 wd;		/* -1: none yet */
	int		 quiet;		/* what is in it is no news */
};

struct watching {
	struct job	*j;
	int		 ifd;
	const char	*root;		/* not open: it could not go then */
	struct stat	 st;		/* of it */
	int		 home;		/* the working directory */
	const char	*only;		/* the one name of it, or NULL */
	int		 recurse;
	struct node	*nodes;
	struct node	*unused;
	struct node	*todo;
	struct node	*table[WATCH_HASH];
	size_t		 size;
	/* A name that was moved away, until it is known whereto. */
	uint32_t	 cookie;
	struct node	*from;		/* NULL: there is none */
	int		 fromdir;
	char		 fromname[NAME_MAX + 1];
	char		 path[2][CALL_PATH_MAX + 1];
};

static int
name_set(char **to, const char *name)
{
	char	*s = strdup(name);

	if (s == NULL)
		return (-1);
	free(*to);
	*to = s;
	return (0);
}

static struct node **
node_slot(struct watching *w, int wd)
{
	struct node	**p = &w->table[(unsigned int)wd % WATCH_HASH];

	while (*p != NULL && (*p)->wd != wd)
		p = &(*p)->next;
	return (p);
}

static void
node_unwatch(struct watching *w, struct node *n)
{
	struct node	**p;

	if (n->wd == -1)
		return;
	if (*(p = node_slot(w, n->wd)) == n)
		*p = n->next;
	n->wd = -1;
}

static void
node_free(struct watching *w, struct node *n)
{
	struct node	**p;

	if (w->from == n)
		w->from = NULL;
	node_unwatch(w, n);
	for (p = &w->todo; *p != NULL; p = &(*p)->todo)
		if (*p == n) {
			*p = n->todo;
			break;
		}
	free(n->name);
	n->name = NULL;
	n->next = w->unused;
	w->unused = n;
}

static struct node *
node_child(struct watching *w, const struct node *up, const char *name)
{
	size_t	 i;

	for (i = 1; i < w->size; i++)
		if (w->nodes[i].name != NULL && w->nodes[i].up == up &&
		    strcmp(w->nodes[i].name, name) == 0)
			return (&w->nodes[i]);
	return (NULL);
}

/* A directory that is no more, or not here, with all below it. */
static void
node_drop(struct watching *w, struct node *n)
{
	size_t	 i;
	int	 more;

	if (n->wd != -1)
		(void)inotify_rm_watch(w->ifd, n->wd);
	node_free(w, n);
	do {
		more = 0;
		for (i = 1; i < w->size; i++) {
			n = &w->nodes[i];
			if (n->name == NULL || n->up->name != NULL)
				continue;
			if (n->wd != -1)
				(void)inotify_rm_watch(w->ifd, n->wd);
			node_free(w, n);
			more = 1;
		}
	} while (more);
}

/* A path below the first directory; NULL if it is too long. */
static const char *
node_path(const struct watching *w, const struct node *n, const char *name,
    char *buf)
{
	size_t	 at = CALL_PATH_MAX, len;

	buf[at] = '\0';
	for (;; name = n->name, n = n->up) {
		if ((len = strlen(name)) > 0) {
			if (len + 1 > at)
				return (NULL);
			if (buf[at] != '\0')
				buf[--at] = '/';
			at -= len;
			memcpy(buf + at, name, len);
		}
		if (n == w->nodes)
			return (buf + at);
	}
}

static int
tell_path(struct watching *w, const char *kind, const char *path,
    const char *from, int dir, enum code code)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	rec_begin(w->j, 6);
	rec_str(w->j, kind);
	rec_str(w->j, path);
	rec_str(w->j, from);
	rec_uint(w->j, dir);
	rec_uint(w->j, code);
	rec_int(w->j, (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec);
	return (rec_end(w->j));
}

/* What has happened to a name in n; what has too long a path is not told. */
static int
tell(struct watching *w, const char *kind, const struct node *n,
    const char *name, int dir, enum code code)
{
	const char	*path;

	if (w->only != NULL) {
		if (strcmp(name, w->only) != 0)
			return (0);
		name = "";
	}
	if ((path = node_path(w, n, name, w->path[0])) == NULL) {
		/* Of one that was moved there even its own may be. */
		path = node_path(w, n, "", w->path[0]);
		return (tell_path(w, "unwatched", path == NULL ? "" : path,
		    "", 1, CODE_INVALID_PATH));
	}
	return (tell_path(w, kind, path, "", dir, code));
}

static int
tell_unwatched(struct watching *w, const struct node *up, const char *name,
    int error)
{
	/* The kernel has no more watches for this user. */
	return (tell(w, "unwatched", up, name, 1, error == ENOSPC ?
	    CODE_LIMIT_EXCEEDED : errno_code(error)));
}

/* One more directory, to be looked at; quiet: what is in it is no news. */
static int
node_add(struct watching *w, struct node *up, const char *name, int quiet)
{
	struct node	*n;

	if (!w->recurse)
		return (0);
	if ((n = node_child(w, up, name)) != NULL)
		node_drop(w, n);
	if ((n = w->unused) == NULL)
		return (tell_unwatched(w, up, name, ENOSPC));
	if (name_set(&n->name, name) == -1)
		return (tell_unwatched(w, up, name, ENOMEM));
	w->unused = n->next;
	n->up = up;
	n->wd = -1;
	n->quiet = quiet;
	n->todo = w->todo;
	w->todo = n;
	return (0);
}

/* Its entries: those that are directories are to be watched, too. */
static int
look_entries(struct watching *w, struct node *n, DIR *dir)
{
	struct dirent	*d;
	struct stat	 st;
	unsigned int	 i = 0;
	int		 isdir;

	while ((d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0)
			continue;
		if (++i % LOOK_EACH == 0 && !job_wanted(w->j))
			return (-1);
		if (d->d_type == DT_UNKNOWN)
			isdir = fstatat(dirfd(dir), d->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
		else
			isdir = d->d_type == DT_DIR;
		if (!n->quiet && tell(w, "created", n, d->d_name, isdir,
		    CODE_OK) == -1)
			return (-1);
		if (isdir && node_add(w, n, d->d_name, n->quiet) == -1)
			return (-1);
	}
	return (0);
}

/* Is it n, or a directory that n is below? */
static int
node_above(const struct watching *w, const struct node *other,
    const struct node *n)
{
	while (n != other && n != w->nodes)
		n = n->up;
	return (n == other);
}

/* Of the kernel's own there is much, and it tells of no change. */
static int
is_kernels(int fd)
{
	struct statfs	 fs;

	return (fstatfs(fd, &fs) == 0 && (fs.f_type == PROC_SUPER_MAGIC ||
	    fs.f_type == SYSFS_MAGIC || fs.f_type == CGROUP_SUPER_MAGIC ||
	    fs.f_type == CGROUP2_SUPER_MAGIC));
}

/* n is what the watch is about; that may have been known elsewhere. */
static int
node_watch(struct watching *w, struct node *n, int wd)
{
	struct node	*other, **p = node_slot(w, wd);

	if ((other = *p) == n)
		return (1);
	if (other != NULL) {
		/* Two mounts of one directory, one in the other. */
		if (node_above(w, other, n))
			return (0);
		*p = other->next;
		other->wd = -1;
		node_drop(w, other);
	}
	n->wd = wd;
	p = &w->table[(unsigned int)wd % WATCH_HASH];
	n->next = *p;
	*p = n;
	return (1);
}

/* It cannot be watched; that it has gone meanwhile is told elsewhere. */
static int
look_failed(struct watching *w, struct node *n, int error)
{
	struct node	*up = n->up;
	int		 ret = 0;

	if (n == w->nodes)
		return (job_fail(w->j, error == ENOSPC ?
		    CODE_LIMIT_EXCEEDED : errno_code(error), "%s",
		    error == ENOSPC ? "the host has no more watches for this "
		    "user" : strerror(error)));
	if (error != ENOENT && error != ENOTDIR && error != ELOOP)
		ret = tell_unwatched(w, up, n->name, error);
	node_drop(w, n);
	return (ret);
}

/* A directory, by its path below the first one. */
static int
look_open(struct watching *w, const char *path)
{
	struct stat	 st;
	int		 fd, sub;

	if ((fd = openat(w->home, w->root, DIR_FLAGS)) == -1)
		return (-1);
	if (fstat(fd, &st) == -1 || st.st_ino != w->st.st_ino ||
	    st.st_dev != w->st.st_dev) {
		close(fd);
		errno = ENOENT;
		return (-1);
	}
	if (*path == '\0')
		return (fd);
	sub = openat(fd, path, DIR_FLAGS | O_NOFOLLOW);
	close(fd);
	return (sub);
}

/* The watch comes before the look: what happens in between is told twice. */
static int
look(struct watching *w, struct node *n)
{
	const char	*path;
	DIR		*dir;
	int		 fd, wd, error, ret;

	if ((path = node_path(w, n->up, n->name, w->path[1])) == NULL)
		return (look_failed(w, n, ENAMETOOLONG));
	fd = look_open(w, path);
	if (fd == -1 || fchdir(fd) == -1 || (wd = inotify_add_watch(w->ifd,
	    ".", MASK)) == -1) {
		error = errno;
		if (fd != -1)
			close(fd);
		return (look_failed(w, n, error));
	}
	if ((n != w->nodes && is_kernels(fd)) || !node_watch(w, n, wd)) {
		close(fd);
		node_free(w, n);
		return (0);
	}
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return (look_failed(w, n, ENOMEM));
	}
	ret = look_entries(w, n, dir);
	closedir(dir);
	return (ret);
}

static int
look_all(struct watching *w)
{
	struct node	*n;
	int		 ret = 0;

	while (ret == 0 && (n = w->todo) != NULL) {
		w->todo = n->todo;
		ret = look(w, n);
	}
	(void)fchdir(w->home);
	return (ret);
}

static void
forget(struct watching *w)
{
	size_t	 i;

	for (i = 0; i < w->size; i++)
		free(w->nodes[i].name);
	memset(w->nodes, 0, w->size * sizeof(*w->nodes));
	memset(w->table, 0, sizeof(w->table));
	w->todo = w->from = NULL;
	w->unused = NULL;
	if (w->ifd != -1)
		close(w->ifd);
	w->ifd = -1;
}

/* All of it from the beginning, told by one record. */
static int
begin(struct watching *w)
{
	struct node	*n = w->nodes;
	size_t		 i;

	forget(w);
	for (i = w->size; i-- > 1;) {
		n[i].next = w->unused;
		n[i].wd = -1;
		w->unused = &n[i];
	}
	if ((w->ifd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) == -1)
		return (job_errno(w->j, errno, "inotify"));
	n->wd = -1;
	n->up = n;
	n->quiet = 1;
	if (name_set(&n->name, "") == -1)
		return (job_errno(w->j, ENOMEM, ""));
	w->todo = n;
	n->todo = NULL;
	if (look_all(w) == -1)
		return (-1);
	return (tell_path(w, "ready", "", "", w->only == NULL, CODE_OK));
}

/* What was moved away has not come to another place here. */
static int
from_over(struct watching *w)
{
	struct node	*up = w->from, *n;

	if (up == NULL)
		return (0);
	w->from = NULL;
	if (w->fromdir && (n = node_child(w, up, w->fromname)) != NULL)
		node_drop(w, n);
	return (tell(w, "removed", up, w->fromname, w->fromdir, CODE_OK));
}

static int
renamed(struct watching *w, struct node *up, const char *name, int dir)
{
	struct node	*n = NULL, *was;
	const char	*path, *from;

	from = node_path(w, w->from, w->fromname, w->path[1]);
	path = node_path(w, up, name, w->path[0]);
	if (dir)
		n = node_child(w, w->from, w->fromname);
	w->from = NULL;
	/*
	 * What was found by looking may lie ahead of what is told: here it
	 * was in the other one, which now is in it.  It comes again.
	 */
	if (n != NULL && node_above(w, n, up)) {
		node_drop(w, n);
		return (0);
	}
	if (path != NULL && from != NULL && tell_path(w, "renamed", path,
	    from, dir, CODE_OK) == -1)
		return (-1);
	if (!dir)
		return (0);
	was = node_child(w, up, name);
	if (was != NULL && was != n)
		node_drop(w, was);
	/* It may have been found in what has given way. */
	if (n == NULL || n->name == NULL)
		return (node_add(w, up, name, 0));
	n->up = up;
	return (name_set(&n->name, name));
}

static int
moved_to(struct watching *w, struct node *up, const char *name,
    const struct inotify_event *ev)
{
	int	 dir = (ev->mask & IN_ISDIR) != 0;

	/* Of a file other names are nobody's business. */
	if (w->from != NULL && w->cookie == ev->cookie && w->only == NULL)
		return (renamed(w, up, name, dir));
	if (from_over(w) == -1 || tell(w, "created", up, name, dir,
	    CODE_OK) == -1)
		return (-1);
	return (dir ? node_add(w, up, name, 0) : 0);
}

static int
moved_from(struct watching *w, struct node *up, const char *name,
    const struct inotify_event *ev)
{
	w->from = up;
	w->fromdir = (ev->mask & IN_ISDIR) != 0;
	w->cookie = ev->cookie;
	snprintf(w->fromname, sizeof(w->fromname), "%s", name);
	return (0);
}

/* Of the directory itself that all is below: others are told from above. */
static int
self(struct watching *w, struct node *n, uint32_t mask)
{
	if (n != w->nodes) {
		if (mask & IN_IGNORED)
			node_unwatch(w, n);
		return (0);
	}
	if (mask & IN_ATTRIB && w->only == NULL)
		return (tell(w, "attributes", n, "", 1, CODE_OK));
	if (!(mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT |
	    IN_IGNORED)))
		return (0);
	(void)tell_path(w, "removed", "", "", w->only == NULL, CODE_OK);
	return (job_fail(w->j, CODE_FILE_NOT_FOUND, mask & IN_MOVE_SELF ?
	    "it was moved away" : "it is not there any more"));
}

static int
change(struct watching *w, struct node *n, const char *name,
    const struct inotify_event *ev)
{
	struct node	*child;
	int		 dir = (ev->mask & IN_ISDIR) != 0;

	if (ev->mask & IN_CREATE) {
		if (tell(w, "created", n, name, dir, CODE_OK) == -1)
			return (-1);
		return (dir ? node_add(w, n, name, 0) : 0);
	}
	if (ev->mask & IN_DELETE) {
		if (dir && (child = node_child(w, n, name)) != NULL)
			node_drop(w, child);
		return (tell(w, "removed", n, name, dir, CODE_OK));
	}
	if (ev->mask & IN_MODIFY)
		return (tell(w, "written", n, name, dir, CODE_OK));
	if (ev->mask & IN_CLOSE_WRITE)
		return (tell(w, "closed", n, name, dir, CODE_OK));
	if (ev->mask & IN_ATTRIB)
		return (tell(w, "attributes", n, name, dir, CODE_OK));
	return (0);
}

static int
one(struct watching *w, const struct inotify_event *ev)
{
	struct node	*n;

	if (ev->mask & IN_Q_OVERFLOW) {
		if (tell_path(w, "overflow", "", "", 1, CODE_OK) == -1)
			return (-1);
		return (begin(w) == -1 ? -1 : 1);
	}
	if (!(ev->mask & IN_MOVED_TO) && from_over(w) == -1)
		return (-1);
	/* Late words about one that was dropped. */
	if ((n = *node_slot(w, ev->wd)) == NULL)
		return (0);
	if (ev->len == 0 || ev->name[0] == '\0')
		return (self(w, n, ev->mask));
	if (ev->mask & IN_MOVED_FROM)
		return (moved_from(w, n, ev->name, ev));
	if (ev->mask & IN_MOVED_TO)
		return (moved_to(w, n, ev->name, ev));
	return (change(w, n, ev->name, ev));
}

/* All that has come: 0, -1 at the end of it all. */
static int
events(struct watching *w)
{
	static char	 buf[65536]
			    __attribute__((__aligned__(__alignof__(
			    struct inotify_event))));
	const struct inotify_event	*ev;
	ssize_t		 len, at;
	int		 n;

	while ((len = read(w->ifd, buf, sizeof(buf))) > 0) {
		for (at = 0; at < len; at += sizeof(*ev) + ev->len) {
			ev = (const struct inotify_event *)(buf + at);
			if ((n = one(w, ev)) == -1 || look_all(w) == -1)
				return (-1);
			if (n == 1)
				break;
		}
		if (!job_wanted(w->j))
			return (-1);
	}
	if (len == -1 && errno != EAGAIN && errno != EINTR)
		return (job_errno(w->j, errno, "inotify"));
	/* The two halves of a move come one behind the other. */
	if (from_over(w) == -1)
		return (-1);
	return (job_flush(w->j));
}

static void
watch_loop(struct watching *w)
{
	struct pollfd	 pfd[2];

	if (begin(w) == -1 || job_flush(w->j) == -1)
		return;
	do {
		memset(pfd, 0, sizeof(pfd));
		pfd[0].fd = WORK_FD;
		pfd[1].fd = w->ifd;
		pfd[1].events = POLLIN;
		if (poll(pfd, 2, -1) == -1 && errno != EINTR) {
			job_errno(w->j, errno, "poll");
			return;
		}
		if (!job_wanted(w->j))
			return;
	} while (events(w) == 0);
}

/* What the path means: a directory, or a name in one. */
static int
watch_open(struct watching *w, char *path, char *dir)
{
	struct stat	 st;
	int		 error;

	if (!(w->j->m.flags & CALL_F_NOFOLLOW) &&
	    (error = path_follow(path)) != 0)
		return (job_errno(w->j, error, ""));
	if (lstat(path, &st) == -1)
		return (job_errno(w->j, errno, ""));
	w->root = path;
	if (S_ISDIR(st.st_mode))
		w->recurse = (w->j->m.flags & CALL_F_RECURSE) != 0;
	else {
		w->only = path_split(path, dir);
		w->root = dir;
	}
	if (stat(w->root, &w->st) == -1)
		return (job_errno(w->j, errno, ""));
	return (0);
}

void
fs_watch(struct job *j)
{
	char		 path[CALL_PATH_MAX + 1], dir[CALL_PATH_MAX + 1];
	struct watching	*w;

	if ((w = calloc(1, sizeof(*w))) == NULL) {
		job_errno(j, ENOMEM, "");
		return;
	}
	w->j = j;
	w->ifd = -1;
	w->size = j->m.count == 0 ? WATCH_DIRS : j->m.count;
	if (w->size > WATCH_MAX)
		w->size = WATCH_MAX;
	snprintf(path, sizeof(path), "%s", j->m.path);
	if ((w->home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		job_errno(j, errno, "the working directory");
	else if ((w->nodes = calloc(w->size, sizeof(*w->nodes))) == NULL)
		job_errno(j, ENOMEM, "");
	else if (watch_open(w, path, dir) == 0) {
		watch_loop(w);
		(void)fchdir(w->home);
	}
	if (w->nodes != NULL)
		forget(w);
	if (w->home != -1)
		close(w->home);
	free(w->nodes);
	free(w);
}
