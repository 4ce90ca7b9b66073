/*
 * cmd_copy.c: files into a sandbox and out of it: get, put.
 *
 * What arrives here is written beside its place and takes its name when all of
 * it is there, with the rights of who called us and no other permission bits
 * than those of its user, group and others.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandboxctl.h"

/* A local file that is being written. */
struct local {
	char	 tmp[PATH_MAX];	/* beside it; "": none, or its own */
	int	 whole;		/* it takes its name at the end */
	int	 fd;
};

/* A name that nobody has, where the file is to be. */
static int
local_beside(struct local *l, const char *to)
{
	const char	*slash = strrchr(to, '/');
	int		 len = slash == NULL ? 0 : slash + 1 - to;

	if (snprintf(l->tmp, sizeof(l->tmp), "%.*s.sandboxctl-%08x%08x", len,
	    to, arc4random(), arc4random()) < (int)sizeof(l->tmp))
		return (0);
	l->tmp[0] = '\0';
	errno = ENAMETOOLONG;
	return (-1);
}

/*
 * One without a name, where the file system can: whatever ends us, nothing
 * stays behind.
 */
static int
local_new(struct local *l, const char *to)
{
	char	 dir[PATH_MAX];
	char	*slash;

	if (strlcpy(dir, to, sizeof(dir)) >= sizeof(dir)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	if ((slash = strrchr(dir, '/')) == NULL)
		strlcpy(dir, ".", sizeof(dir));
	else
		slash[slash == dir] = '\0';
	/* Its name is given to it by what /proc shows of it. */
	if (access("/proc/self/fd", X_OK) == 0)
		l->fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	else {
		l->fd = -1;
		errno = EOPNOTSUPP;
	}
	if (l->fd != -1 || (errno != EOPNOTSUPP && errno != EISDIR &&
	    errno != ENOENT))
		return (l->fd == -1 ? -1 : 0);
	if (local_beside(l, to) == -1)
		return (-1);
	l->fd = open(l->tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (l->fd == -1)
		l->tmp[0] = '\0';
	return (l->fd == -1 ? -1 : 0);
}

static int
local_open(struct ctl *ctl, struct local *l, const char *to)
{
	struct stat	 st;

	memset(l, 0, sizeof(*l));
	if (strcmp(to, "-") == 0) {
		l->fd = STDOUT_FILENO;
		return (0);
	}
	if (stat(to, &st) == -1) {
		if (to[0] == '\0' || to[strlen(to) - 1] == '/')
			return (file_errno(ctl, to));
	} else if (!S_ISREG(st.st_mode)) {
		/* Into a FIFO or a device goes what comes. */
		if ((l->fd = open(to, O_WRONLY | O_CLOEXEC)) == -1)
			return (file_errno(ctl, to));
		return (0);
	}
	l->whole = 1;
	return (local_new(l, to) == -1 ? file_errno(ctl, to) : 0);
}

/* Its name, in the place of what has it. */
static int
local_name(struct local *l, const char *to)
{
	char	 fd[64];

	snprintf(fd, sizeof(fd), "/proc/self/fd/%d", l->fd);
	if (l->tmp[0] == '\0') {
		if (linkat(AT_FDCWD, fd, AT_FDCWD, to,
		    AT_SYMLINK_FOLLOW) == 0)
			return (0);
		if (errno != EEXIST || local_beside(l, to) == -1 ||
		    linkat(AT_FDCWD, fd, AT_FDCWD, l->tmp,
		    AT_SYMLINK_FOLLOW) == -1) {
			l->tmp[0] = '\0';
			return (-1);
		}
	}
	return (rename(l->tmp, to));
}

/* Some file systems find only at a close that there is no room. */
static int
local_written(const struct local *l)
{
	int	 fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);

	return (fd == -1 ? -1 : close(fd));
}

/* All of it is there, or ok is 0. */
static int
local_close(struct ctl *ctl, struct local *l, const char *to, uint32_t mode,
    int ok)
{
	mode_t	 mask = umask(0);

	umask(mask);
	if (l->whole && ok && (fchmod(l->fd, mode & 0777 & ~mask) == -1 ||
	    local_written(l) == -1 || local_name(l, to) == -1)) {
		file_errno(ctl, to);
		ok = 0;
	}
	if (!ok && l->tmp[0] != '\0')
		(void)unlink(l->tmp);
	if (l->fd != STDOUT_FILENO && close(l->fd) == -1 && ok) {
		file_errno(ctl, to);
		ok = 0;
	}
	return (ok ? 0 : -1);
}

struct get {
	struct local	*l;
	int		 error;		/* of writing it */
};

static int
get_out(void *arg, const void *data, size_t len)
{
	struct get	*g = arg;
	const char	*p = data;
	ssize_t		 n;

	progress_add(len);
	for (; len > 0; p += n, len -= n) {
		if ((n = write(g->l->fd, p, len)) == -1) {
			if (errno == EINTR) {
				n = 0;
				continue;
			}
			g->error = errno;
			return (-1);
		}
	}
	return (0);
}

/* One file or tree; -1 if there is no sense in going on. */
static int
get_one(struct ctl *ctl, const char *path, const char *to)
{
	struct sandbox_file_io	 io = { NULL, get_out, NULL };
	static struct local	 l;
	struct proto_call	 c;
	struct file_rec		 rec;
	struct get		 g = { &l, 0 };
	uint64_t		 size;
	uint32_t		 mode;
	int			 ret;

	if (sandbox_file_stat(ctl->conn, ctl->argv[0], path, 0, &rec) == -1)
		return (file_error(ctl, path));
	mode = rec.mode;
	size = rec.size;
	msg_clear(&rec, &file_rec_def);
	if (S_ISDIR(mode) && ctl->recurse)
		return (tree_get(ctl, path, to) == -1 ? -1 : 0);
	if (!S_ISREG(mode)) {
		file_local(ctl, S_ISDIR(mode) ? CODE_IS_DIRECTORY :
		    CODE_NOT_FILE, path, S_ISDIR(mode) ?
		    "it is a directory" : "not a regular file");
		return (0);
	}
	if (local_open(ctl, &l, to) != 0)
		return (0);
	file_call(ctl, &c, CALL_READ, path);
	c.limit = ctl->most;
	io.arg = &g;
	progress_begin(ctl, size);
	ret = sandbox_file_call(ctl->conn, &c, &io, NULL);
	progress_end();
	if (g.error != 0) {
		errno = g.error;
		file_errno(ctl, to);
		(void)local_close(ctl, &l, to, mode, 0);
		return (0);
	}
	(void)local_close(ctl, &l, to, mode, ret == 0);
	return (ret == 0 ? 0 : file_error(ctl, path));
}

/* Does it end in a dot: what the directory has is meant, not a name of it? */
static int
is_dot(const char *path)
{
	size_t	 len = strlen(path);

	return (strcmp(path, ".") == 0 || (len > 1 && strcmp(path + len - 2,
	    "/.") == 0));
}

static int
in_dir(struct ctl *ctl, char *path, size_t size, const char *dir,
    const char *from)
{
	if (!is_dot(from) || !ctl->recurse || ctl->atomic)
		return (file_in(ctl, path, size, dir, from));
	/* By way of a link that is named, too. */
	if ((size_t)snprintf(path, size, "%s/.", dir) < size)
		return (0);
	file_local(ctl, CODE_INVALID_PATH, dir, "its name is too long");
	return (-1);
}

int
cmd_get(struct ctl *ctl)
{
	const char	*to = ctl->argv[ctl->argc - 1];
	char		 path[PATH_MAX];
	struct stat	 st;
	int		 i, dir;

	dir = strcmp(to, "-") != 0 && stat(to, &st) == 0 &&
	    S_ISDIR(st.st_mode);
	if (!dir && ctl->argc > 3 && strcmp(to, "-") != 0)
		return (file_local(ctl, CODE_NOT_DIRECTORY, to,
		    "several cannot be written to what is no directory"));
	for (i = 1; i < ctl->argc - 1; i++) {
		if (dir && in_dir(ctl, path, sizeof(path), to,
		    ctl->argv[i]) == -1)
			continue;
		if (get_one(ctl, ctl->argv[i], dir ? path : to) == -1)
			break;
	}
	return (ctl->failed);
}

struct put {
	int	 fd;
	int	 error;		/* of reading it */
};

static ssize_t
put_in(void *arg, void *buf, size_t size)
{
	struct put	*p = arg;
	ssize_t		 n;

	/* Only who catches signals hears of one. */
	do {
		n = -1;
		errno = EINTR;
		if (signals_got() == 0)
			n = read(p->fd, buf, size);
	} while (n == -1 && errno == EINTR && signals_got() == 0);
	if (n == -1)
		p->error = errno;
	else
		progress_add(n);
	return (n);
}

static int
put_open(struct ctl *ctl, const char *from, struct stat *st)
{
	int	 fd;

	memset(st, 0, sizeof(*st));
	if (strcmp(from, "-") == 0)
		return (STDIN_FILENO);
	if ((fd = open(from, O_RDONLY | O_CLOEXEC)) == -1 ||
	    fstat(fd, st) == -1) {
		file_errno(ctl, from);
		if (fd != -1)
			close(fd);
		return (-1);
	}
	if (S_ISDIR(st->st_mode)) {
		file_local(ctl, CODE_IS_DIRECTORY, from,
		    "it is a directory");
		close(fd);
		return (-1);
	}
	return (fd);
}

static int
is_tree(const struct ctl *ctl, const char *from)
{
	struct stat	 st;

	return (ctl->recurse && (strcmp(from, "-") == 0 ||
	    (stat(from, &st) == 0 && S_ISDIR(st.st_mode))));
}

/* 0, 1 if it is not there, -1 if there is no sense in going on. */
int
put_file(struct ctl *ctl, const char *id, const char *from, const char *to)
{
	struct sandbox_file_io	 io = { put_in, NULL, NULL };
	struct proto_call	 c;
	struct stat		 st;
	struct put		 p = { -1, 0 };
	int			 ret;

	if ((p.fd = put_open(ctl, from, &st)) == -1)
		return (1);
	file_call(ctl, &c, CALL_WRITE, to);
	c.sandbox = (char *)(uintptr_t)id;
	c.flags = (ctl->atomic ? CALL_F_ATOMIC : CALL_F_TRUNC) |
	    (ctl->parents ? CALL_F_PARENTS : 0);
	if (S_ISREG(st.st_mode))
		c.mode = st.st_mode & 0777;
	c.limit = ctl->most;
	io.arg = &p;
	progress_begin(ctl, S_ISREG(st.st_mode) ? st.st_size : 0);
	ret = sandbox_file_call(ctl->conn, &c, &io, NULL);
	progress_end();
	if (p.fd != STDIN_FILENO)
		close(p.fd);
	if (p.error != 0) {
		errno = p.error;
		file_errno(ctl, from);
		return (1);
	}
	if (ret == 0)
		return (0);
	return (file_error(ctl, to) == -1 ? -1 : 1);
}

/* One file or tree; -1 if there is no sense in going on. */
static int
put_one(struct ctl *ctl, const char *from, const char *to, int in)
{
	if (!is_tree(ctl, from))
		return (put_file(ctl, ctl->argv[0], from, to));
	/* A name in a directory is the tree's, and no way to somewhere else. */
	if (in && !is_dot(from) && file_is_link(ctl, ctl->argv[0], to))
		return (file_local(ctl, CODE_NOT_DIRECTORY, to,
		    "a link is in its way"), 1);
	return (tree_put(ctl, ctl->argv[0], from, to, 0));
}

/* A file to a name with a slash at its end, where there is nothing. */
static int
slash_alone(const struct ctl *ctl, const char *to)
{
	return (to[strlen(to) - 1] == '/' && !is_tree(ctl, ctl->argv[1]));
}

int
cmd_put(struct ctl *ctl)
{
	const char	*to = ctl->argv[ctl->argc - 1];
	char		 path[CALL_PATH_MAX + 1];
	int		 i, dir;

	if ((dir = file_is_dir(ctl, to)) == -1) {
		(void)file_error(ctl, to);
		return (ctl->failed);
	}
	if (!dir && ctl->argc > 3)
		return (file_local(ctl, CODE_NOT_DIRECTORY, to,
		    "several cannot be written to what is no directory"));
	if (!dir && slash_alone(ctl, to)) {
		if (!ctl->parents)
			return (file_local(ctl, CODE_FILE_NOT_FOUND, to,
			    strerror(ENOENT)));
		dir = 1;
	}
	for (i = 1; i < ctl->argc - 1; i++) {
		/* A stream has no name of its own. */
		if (ctl->recurse && strcmp(ctl->argv[i], "-") == 0) {
			if (put_one(ctl, "-", to, 0) == -1)
				break;
			continue;
		}
		if (dir && in_dir(ctl, path, sizeof(path), to,
		    ctl->argv[i]) == -1)
			continue;
		if (put_one(ctl, ctl->argv[i], dir ? path : to, dir) == -1)
			break;
	}
	return (ctl->failed);
}
