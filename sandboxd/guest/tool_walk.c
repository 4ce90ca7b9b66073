/*
 * A walk over a tree in the order of its names, bytes compared and a directory
 * as if its name ended in a slash: so paths come sorted as a whole.  It keeps
 * the names of the directories that it is in, and the descriptors of the
 * lowest of them; one that it comes back to is opened again from the root on.
 */

#include <sys/types.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool.h"

#define WALK_FDS	32	/* levels whose descriptors are kept */
#define WALK_CLOCK	256	/* entries between two looks at the clock */
#define WALK_BUF	32768

struct walk_dirent {
	uint64_t	 d_ino;
	int64_t		 d_off;
	uint16_t	 d_reclen;
	uint8_t		 d_type;
	char		 d_name[];
};

struct level {
	int		 fd;		/* -1: to be opened again */
	uint32_t	 first;		/* of its entries in the index */
	uint32_t	 next;
	uint32_t	 end;
	uint32_t	 names;		/* where its names begin */
	uint32_t	 path;		/* length of its path, with the slash */
};

struct walk {
	struct level	 levels[WALK_DEPTH];
	int		 depth;		/* of levels; 0: the walk is over */
	char		*names;		/* type, name, NUL; one after another */
	uint32_t	 nnames;	/* bytes used */
	uint32_t	*index;
	uint32_t	 nindex;
	char		*path;
	int		 down;		/* the last entry told is to be entered */
	int		 root;		/* it is that of all files */
	int		 left;
	uint64_t	 seen;
	uint64_t	 deadline;
	char		 buf[WALK_BUF] __attribute__((__aligned__(8)));
};

uint64_t
tool_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/*
 * A file or directory to be read, links followed: only who names a path asks
 * for that.  What is neither is not opened: it could make us wait.
 */
int
tool_open(const char *path, struct stat *st, int *fd)
{
	*fd = -1;
	if (stat(path, st) == -1)
		return (errno);
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return (ENXIO);
	if ((*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
	    O_NOCTTY)) == -1)
		return (errno);
	if (fstat(*fd, st) == -1 ||
	    (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))) {
		close(*fd);
		*fd = -1;
		return (ENXIO);
	}
	return (0);
}

static int
walk_order(const void *va, const void *vb, void *arg)
{
	const struct walk	*w = arg;
	const uint8_t		*a, *b;
	int			 adir, bdir, ca, cb;

	a = (const uint8_t *)w->names + *(const uint32_t *)va;
	b = (const uint8_t *)w->names + *(const uint32_t *)vb;
	adir = *a++ == DT_DIR;
	bdir = *b++ == DT_DIR;
	while (*a == *b && *a != '\0')
		a++, b++;
	ca = *a == '\0' && adir ? '/' : *a;
	cb = *b == '\0' && bdir ? '/' : *b;
	return (ca - cb);
}

/* What a walk from the root of all files would only get lost in. */
static int
walk_is_system(const struct walk *w, const char *name)
{
	static const char *const	 names[] = {
		"proc", "sys", "dev", "run", ".sandboxd"
	};
	size_t				 i;

	if (!w->root || w->depth != 1)
		return (0);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return (1);
	return (0);
}

static int
walk_type(int fd, const struct walk_dirent *d)
{
	struct stat	 st;

	if (d->d_type != DT_UNKNOWN)
		return (d->d_type);
	if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (DT_UNKNOWN);
	return (IFTODT(st.st_mode));
}

/* -1: the walk has enough of this directory. */
static int
walk_add(struct walk *w, int fd, const struct walk_dirent *d)
{
	size_t	 len = strlen(d->d_name);
	int	 type;

	if (d->d_name[0] == '.' && (d->d_name[1] == '\0' ||
	    (d->d_name[1] == '.' && d->d_name[2] == '\0')))
		return (0);
	if (walk_is_system(w, d->d_name))
		return (0);
	if (w->seen == WALK_ENTRIES) {
		w->left |= WALK_L_ENTRIES;
		return (-1);
	}
	if (w->nnames + len + 2 > WALK_NAMES) {
		w->left |= WALK_L_NAMES;
		return (-1);
	}
	if ((type = walk_type(fd, d)) == DT_UNKNOWN)
		return (0);
	w->seen++;
	w->index[w->nindex++] = w->nnames;
	w->names[w->nnames++] = type;
	memcpy(w->names + w->nnames, d->d_name, len + 1);
	w->nnames += len + 1;
	if (w->seen % WALK_CLOCK == 0 && tool_ms() >= w->deadline) {
		w->left |= WALK_L_TIME;
		return (-1);
	}
	return (0);
}

/* Enters a directory; fd is the walk's from here on. */
static void
walk_enter(struct walk *w, int fd, uint32_t path)
{
	struct level		*l = &w->levels[w->depth++];
	struct walk_dirent	*d;
	long			 n, i;
	int			 enough = 0;

	l->fd = fd;
	l->first = l->next = w->nindex;
	l->names = w->nnames;
	l->path = path;
	while (!enough &&
	    (n = syscall(SYS_getdents64, fd, w->buf, sizeof(w->buf))) > 0)
		for (i = 0; i < n && !enough; i += d->d_reclen) {
			d = (struct walk_dirent *)(w->buf + i);
			enough = walk_add(w, fd, d) == -1;
		}
	l->end = w->nindex;
	qsort_r(w->index + l->first, l->end - l->first, sizeof(*w->index),
	    walk_order, w);
	if (w->depth > WALK_FDS + 1) {
		l = &w->levels[w->depth - 1 - WALK_FDS];
		if (l->fd != -1)
			close(l->fd);
		l->fd = -1;
	}
}

static void
walk_leave(struct walk *w)
{
	struct level	*l = &w->levels[--w->depth];

	/* The root's descriptor is the caller's. */
	if (w->depth > 0 && l->fd != -1)
		close(l->fd);
	w->nindex = l->first;
	w->nnames = l->names;
}

/* By its path, each step of which must still be a directory and no link. */
static int
walk_reopen(struct walk *w)
{
	struct level	*l;
	char		*name;
	int		 i, fd = w->levels[0].fd, next;

	for (i = 1; i < w->depth; i++) {
		l = &w->levels[i];
		name = w->path + l[-1].path;
		w->path[l->path - 1] = '\0';
		next = openat(fd, name, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC |
		    (i == w->depth - 1 ? O_RDONLY : O_PATH));
		w->path[l->path - 1] = '/';
		if (i > 1)
			close(fd);
		if ((fd = next) == -1)
			return (-1);
	}
	w->levels[w->depth - 1].fd = fd;
	return (0);
}

/* Into the directory that was told last; its path stands in w->path. */
static void
walk_down(struct walk *w)
{
	struct level	*l = &w->levels[w->depth - 1];
	const char	*name = w->path + l->path;
	size_t		 len = strlen(name);
	int		 fd;

	w->down = 0;
	if (w->depth == WALK_DEPTH || l->path + len + 257 > WALK_PATH) {
		w->left |= WALK_L_DEEP;
		return;
	}
	if ((fd = openat(l->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1) {
		/* What has gone or become something else is not missed. */
		if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR)
			w->left |= WALK_L_DENIED;
		return;
	}
	w->path[l->path + len] = '/';
	walk_enter(w, fd, l->path + len + 1);
}

/* 1 with an entry, 0 at the end. */
int
walk_next(struct walk *w, struct walk_entry *e)
{
	struct level	*l;
	const char	*name;

	if (w->down)
		walk_down(w);
	while (w->depth > 0) {
		l = &w->levels[w->depth - 1];
		if (l->next == l->end || (w->left & WALK_L_TIME) != 0 ||
		    (l->fd == -1 && walk_reopen(w) == -1)) {
			walk_leave(w);
			continue;
		}
		name = w->names + w->index[l->next++];
		e->type = *(const uint8_t *)name++;
		e->dirfd = l->fd;
		e->len = strlen(name);
		memcpy(w->path + l->path, name, e->len + 1);
		e->len += l->path;
		e->path = w->path;
		e->name = w->path + l->path;
		w->down = e->type == DT_DIR;
		if (l->next % WALK_CLOCK == 0 && tool_ms() >= w->deadline)
			w->left |= WALK_L_TIME;
		return (1);
	}
	return (0);
}

/* Not into the directory that was told last. */
void
walk_skip(struct walk *w)
{
	w->down = 0;
}

int
walk_left(const struct walk *w)
{
	return (w->left);
}

static void *
walk_map(size_t len)
{
	void	*p;

	p = mmap(NULL, len, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return (NULL);
	return (p);
}

/* fd is a directory and stays the caller's; NULL for lack of memory. */
struct walk *
walk_open(int fd, uint64_t ms)
{
	struct walk	*w;
	struct stat	 st, root;

	/* Pages are there when they are touched, and not before. */
	if ((w = walk_map(sizeof(*w))) == NULL)
		return (NULL);
	w->names = walk_map(WALK_NAMES);
	w->index = walk_map(WALK_ENTRIES * sizeof(*w->index));
	w->path = walk_map(WALK_PATH + 256);
	if (w->names == NULL || w->index == NULL || w->path == NULL) {
		walk_close(w);
		return (NULL);
	}
	w->deadline = tool_ms() + ms;
	w->root = fstat(fd, &st) == 0 && stat("/", &root) == 0 &&
	    st.st_dev == root.st_dev && st.st_ino == root.st_ino;
	/* It is counted before its entries are: those of the root are told. */
	walk_enter(w, fd, 0);
	return (w);
}

void
walk_close(struct walk *w)
{
	while (w->depth > 0)
		walk_leave(w);
	if (w->names != NULL)
		munmap(w->names, WALK_NAMES);
	if (w->index != NULL)
		munmap(w->index, WALK_ENTRIES * sizeof(*w->index));
	if (w->path != NULL)
		munmap(w->path, WALK_PATH + 256);
	munmap(w, sizeof(*w));
}
