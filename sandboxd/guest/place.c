/*
 * The entries of a tree, below a directory.  Who sent them is not trusted, nor
 * is what is there already: each step of a path is opened by itself and must
 * be a directory and no link; a file is always a new one, which takes the
 * place of what had its name; a link may lead nowhere but below the tree, and
 * so its parent directories stand in front of its target and are not more
 * than there are, unless who calls says that any may come.  What breaks this is
 * told, and nothing is made of it.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pack.h"

#define DIRS_BYTES	(64U << 20)	/* for modes that are set at the end */
#define REMOVE_DEPTH	4096
#define HOLE		4096		/* bytes that are left out as one */

/* A directory that was in the stream; its path follows. */
struct place_dir {
	uint32_t	 mode;
	uint32_t	 nsec;
	int64_t		 sec;
	char		*path;
};

static int
place_note(struct place *p, const char *path, enum code code,
    const char *why)
{
	if (p->notes++ < PACK_NOTES)
		p->note(p->arg, path, code, why);
	return (0);
}

/* What is fatal for all stays an error, the rest is one entry's. */
static int
place_errno(struct place *p, const char *path, int error)
{
	if (error == ENOSPC || error == EDQUOT || error == EROFS ||
	    error == EIO || error == ENOMEM || error == EMFILE ||
	    error == ENFILE)
		return (error);
	return (place_note(p, path, errno_code(error), error == ELOOP ||
	    error == ENOTDIR ? "a link or a file is in its way" :
	    strerror(error)));
}

void
place_begin(struct place *p, int root)
{
	p->root = root;
	p->dirfd = -1;
	p->dir[0] = '\0';
}

/* A path without what says nothing; -1 if it could leave the tree. */
static int
path_clean(char *to, const char *path)
{
	const char	*e;
	char		*o = to;

	if (*path == '/')
		return (-1);
	for (; *path != '\0'; path = e + strspn(e, "/")) {
		e = path + strcspn(path, "/");
		if (e == path + 1 && *path == '.')
			continue;
		if (e == path + 2 && path[0] == '.' && path[1] == '.')
			return (-1);
		if (o - to + (e - path) + 1 > PACK_PATH)
			return (-1);
		if (o > to)
			*o++ = '/';
		memcpy(o, path, e - path);
		o += e - path;
	}
	*o = '\0';
	return (0);
}

/* Does a link in a clean path's directory lead below the tree alone? */
int
link_stays(const char *path, const char *to)
{
	const char	*e;
	int		 up = 0, down = 0;

	if (*to == '/' || *to == '\0')
		return (0);
	for (; (path = strchr(path, '/')) != NULL; path++)
		up++;
	for (; *to != '\0'; to = e + strspn(e, "/")) {
		e = to + strcspn(to, "/");
		if (e == to + 2 && to[0] == '.' && to[1] == '.') {
			/* Behind a name it could be that of another link. */
			if (down || up-- == 0)
				return (0);
		} else if (e != to + 1 || *to != '.')
			down = 1;
	}
	return (1);
}

/* From an open directory down to another, made where it is missing. */
static int
place_down(struct place *p, int fd, char *path, int make)
{
	char	*e, *next;
	int	 sub;

	for (; *path != '\0'; path = next) {
		e = path + strcspn(path, "/");
		next = *e == '/' ? e + 1 : e;
		if (*e == '/')
			*e = '\0';
		else
			e = NULL;
		do {
			sub = openat(fd, path, O_PATH | O_DIRECTORY |
			    O_NOFOLLOW | O_CLOEXEC);
		} while (sub == -1 && errno == ENOENT && make &&
		    mkdirat(fd, path, 0777) == 0);
		if (e != NULL)
			*e = '/';
		if (fd != p->root)
			close(fd);
		if ((fd = sub) == -1)
			return (-1);
	}
	return (fd);
}

/*
 * The directory of a clean path, and the name in it.  What is given stays
 * open until the next call.  -1 with errno.
 */
static int
place_parent(struct place *p, const char *path, const char **name)
{
	const char	*slash = strrchr(path, '/');
	size_t		 len = slash == NULL ? 0 : slash - path;
	size_t		 have = strlen(p->dir);
	char		 rest[PACK_PATH + 1];
	int		 fd = p->root;

	*name = slash == NULL ? path : slash + 1;
	if (len == 0)
		return (p->root);
	if (p->dirfd != -1 && len == have && memcmp(p->dir, path, len) == 0)
		return (p->dirfd);
	/* Further down from where we are, or from the top. */
	if (p->dirfd != -1 && have < len && path[have] == '/' &&
	    memcmp(p->dir, path, have) == 0) {
		fd = p->dirfd;
		have++;
	} else {
		if (p->dirfd != -1)
			close(p->dirfd);
		have = 0;
	}
	p->dirfd = -1;
	memcpy(rest, path + have, len - have);
	rest[len - have] = '\0';
	if ((fd = place_down(p, fd, rest, 1)) == -1)
		return (-1);
	p->dirfd = fd;
	memcpy(p->dir, path, len);
	p->dir[len] = '\0';
	return (fd);
}

/* Another thing of the name gives way, unless it is a directory. */
static int
place_clear(int fd, const char *name)
{
	struct stat	 st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno == ENOENT ? 0 : -1);
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return (-1);
	}
	return (unlinkat(fd, name, 0));
}

static void
entry_times(const struct pack_entry *e, struct timespec ts[2])
{
	ts[0].tv_sec = 0;
	ts[0].tv_nsec = UTIME_OMIT;
	ts[1].tv_sec = e->sec;
	ts[1].tv_nsec = e->nsec < 1000000000 ? e->nsec : 0;
}

/* Its bytes are all there, or it is not. */
static int
place_file(struct place *p, int dir, const char *name,
    const struct pack_entry *e)
{
	struct timespec	 ts[2];
	int		 fd, i, error;

	for (i = 0; i < 2; i++) {
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL |
		    O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd != -1 || errno != EEXIST ||
		    place_clear(dir, name) == -1)
			break;
	}
	if (fd == -1)
		return (errno == EEXIST ? EBUSY : errno);
	entry_times(e, ts);
	if ((error = p->body(p->arg, fd, e)) == 0 &&
	    (ftruncate(fd, e->size) == -1 ||
	    fchmod(fd, e->mode & 0777 & ~p->mask) == -1 ||
	    futimens(fd, ts) == -1))
		error = errno;
	/* A full disk may show only here. */
	if (close(fd) == -1 && error == 0)
		error = errno;
	if (error != 0)
		(void)unlinkat(dir, name, 0);
	return (error);
}

static int
place_link(int dir, const char *name, const struct pack_entry *e)
{
	struct timespec	 ts[2];

	if (place_clear(dir, name) == -1 ||
	    symlinkat(e->link, dir, name) == -1)
		return (errno);
	entry_times(e, ts);
	/* Not every file system has times of links. */
	(void)utimensat(dir, name, ts, AT_SYMLINK_NOFOLLOW);
	return (0);
}

/* Another name for a file of the tree. */
static int
place_hard(struct place *p, int dir, const char *name, const char *to)
{
	char		 path[PACK_PATH + 1], *slash;
	struct stat	 st, old;
	int		 fd = p->root, error = 0;

	memcpy(path, to, strlen(to) + 1);
	if ((slash = strrchr(path, '/')) != NULL) {
		*slash = '\0';
		if ((fd = place_down(p, fd, path, 0)) == -1)
			return (errno);
	}
	to = slash == NULL ? path : slash + 1;
	if (fstatat(fd, to, &st, AT_SYMLINK_NOFOLLOW) == -1)
		error = errno;
	else if (!S_ISREG(st.st_mode))
		error = ENXIO;
	else if (fstatat(dir, name, &old, AT_SYMLINK_NOFOLLOW) == 0 &&
	    old.st_dev == st.st_dev && old.st_ino == st.st_ino)
		error = 0;
	else if (place_clear(dir, name) == -1 ||
	    linkat(fd, to, dir, name, 0) == -1)
		error = errno;
	if (fd != p->root)
		close(fd);
	return (error);
}

/* Its mode and time wait until nothing is put into it any more. */
static int
dir_later(struct place *p, const char *path, const struct pack_entry *e)
{
	struct place_dir	*d;
	size_t			 len = strlen(path) + 1;

	/* The same one may come as often as who sends it likes. */
	if (sizeof(*d) + len > DIRS_BYTES - p->dirbytes)
		return (place_note(p, path, CODE_LIMIT_EXCEEDED,
		    "too many directories: its mode and time are not set"));
	if (p->ndirs == p->sdirs) {
		d = reallocarray(p->dirs, p->sdirs + 1024, sizeof(*d));
		if (d == NULL)
			return (ENOMEM);
		p->dirs = d;
		p->sdirs += 1024;
	}
	d = &p->dirs[p->ndirs];
	if ((d->path = malloc(len)) == NULL)
		return (ENOMEM);
	memcpy(d->path, path, len);
	p->dirbytes += sizeof(*d) + len;
	d->mode = e->mode;
	d->sec = e->sec;
	d->nsec = e->nsec;
	p->ndirs++;
	return (0);
}

static int
place_dir(struct place *p, const char *path, const struct pack_entry *e)
{
	const char	*name;
	struct stat	 st;
	int		 fd;

	if (*path == '\0')
		return (dir_later(p, path, e));
	if ((fd = place_parent(p, path, &name)) == -1)
		return (place_errno(p, e->path, errno));
	if (mkdirat(fd, name, 0700) == -1) {
		if (errno != EEXIST)
			return (place_errno(p, e->path, errno));
		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
		    !S_ISDIR(st.st_mode))
			return (place_errno(p, e->path, ENOTDIR));
		/* What it gets must go into it. */
		if ((st.st_mode & 0700) != 0700 && fchmodat(fd, name,
		    (st.st_mode & 07777) | 0700, 0) == -1)
			return (place_errno(p, e->path, errno));
	}
	return (dir_later(p, path, e));
}

int
place_entry(struct place *p, const struct pack_entry *e)
{
	char		 path[PACK_PATH + 1], to[PACK_PATH + 1];
	const char	*name;
	int		 fd, error;

	p->entries++;
	if (path_clean(path, e->path) == -1 ||
	    (*path == '\0' && e->type != PACK_DIR))
		return (place_note(p, e->path, CODE_INVALID_PATH,
		    "it is not below the tree: left out"));
	if (e->type == PACK_DIR)
		return (place_dir(p, path, e));
	if (e->type == PACK_LINK && !p->links && !link_stays(path, e->link))
		return (place_note(p, e->path, CODE_INVALID_PATH,
		    "a link that leads out of the tree: left out"));
	if (e->type == PACK_HARD && (path_clean(to, e->link) == -1 ||
	    *to == '\0'))
		return (place_note(p, e->path, CODE_INVALID_PATH,
		    "a link to what is not below the tree: left out"));
	if (e->type != PACK_FILE && e->type != PACK_LINK &&
	    e->type != PACK_HARD)
		return (place_note(p, e->path, CODE_NOT_FILE,
		    "a device, a FIFO or the like: left out"));
	if ((fd = place_parent(p, path, &name)) == -1)
		return (place_errno(p, e->path, errno));
	if (e->type == PACK_FILE) {
		if (p->limit != 0 && e->size > p->limit - p->bytes)
			return (EFBIG);
		p->bytes += e->size;
		error = place_file(p, fd, name, e);
	} else if (e->type == PACK_LINK)
		error = place_link(fd, name, e);
	else
		error = place_hard(p, fd, name, to);
	if (error == ECANCELED)
		return (error);
	return (error == 0 ? 0 : place_errno(p, e->path, error));
}

static void
dir_finish(struct place *p, const struct place_dir *d)
{
	struct timespec	 ts[2] = { { 0, UTIME_OMIT },
	    { d->sec, d->nsec < 1000000000 ? d->nsec : 0 } };
	const char	*name = ".";
	int		 dir = p->root, fd;

	if (*d->path != '\0' && (dir = place_parent(p, d->path, &name)) == -1)
		return;
	if ((fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return;
	/* The top may be another's, who lets us write there. */
	if ((fchmod(fd, d->mode & 0777 & ~p->mask) == -1 ||
	    futimens(fd, ts) == -1) && *d->path != '\0')
		place_note(p, d->path, errno_code(errno), strerror(errno));
	close(fd);
}

/* From the last on: what is below has its own by then. */
void
place_end(struct place *p)
{
	while (p->ndirs > 0) {
		dir_finish(p, &p->dirs[--p->ndirs]);
		free(p->dirs[p->ndirs].path);
	}
	free(p->dirs);
	p->dirs = NULL;
	if (p->dirfd != -1)
		close(p->dirfd);
	p->dirfd = -1;
}

static int
is_zero(const uint8_t *p, size_t len)
{
	return (*p == 0 && memcmp(p, p + 1, len - 1) == 0);
}

static int
write_at(int fd, const uint8_t *p, size_t len, uint64_t off)
{
	ssize_t	 n;

	for (; len > 0; p += n, len -= n, off += n)
		if ((n = pwrite(fd, p, len, off)) == -1) {
			if (errno != EINTR)
				return (errno);
			n = 0;
		}
	return (0);
}

int
place_write(int fd, const uint8_t *p, size_t len, uint64_t off)
{
	size_t	 n, run = 0;
	int	 error;

	while (run < len) {
		/* To the end of a block of the file. */
		n = HOLE - (off + run) % HOLE;
		if (n > len - run)
			n = len - run;
		if (!is_zero(p + run, n)) {
			run += n;
			continue;
		}
		if ((error = write_at(fd, p, run, off)) != 0)
			return (error);
		p += run + n;
		len -= run + n;
		off += run + n;
		run = 0;
	}
	return (write_at(fd, p, run, off));
}

/* A directory that is being emptied. */
struct removal {
	DIR		*dir;
	unsigned int	 gone;		/* entries, in this pass */
	char		 name[NAME_MAX + 1];
};

static int
remove_push(struct removal *r, int at, const char *name)
{
	int	 fd;

	/* What is ours to remove may still be closed to us. */
	if (fchmodat(at, name, 0700, 0) == -1 ||
	    (fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return (-1);
	if ((r->dir = fdopendir(fd)) == NULL) {
		close(fd);
		return (-1);
	}
	r->gone = 0;
	memcpy(r->name, name, strlen(name) + 1);
	return (0);
}

void
place_remove(int at, const char *name)
{
	struct removal	*r, *top;
	struct dirent	*d;
	int		 n = 0;

	if ((r = calloc(REMOVE_DEPTH, sizeof(*r))) == NULL)
		return;
	if (remove_push(&r[0], at, name) == 0)
		n = 1;
	while (n > 0) {
		top = &r[n - 1];
		if ((d = readdir(top->dir)) == NULL) {
			/* Some file systems pass over one for each. */
			if (top->gone > 0) {
				top->gone = 0;
				rewinddir(top->dir);
				continue;
			}
			closedir(top->dir);
			n--;
			if (unlinkat(n > 0 ? dirfd(r[n - 1].dir) : at,
			    top->name, AT_REMOVEDIR) == 0 && n > 0)
				r[n - 1].gone++;
			continue;
		}
		if (strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(top->dir), d->d_name, 0) == 0)
			top->gone++;
		else if (errno == EISDIR && n < REMOVE_DEPTH &&
		    remove_push(&r[n], dirfd(top->dir), d->d_name) == 0)
			n++;
	}
	free(r);
}
