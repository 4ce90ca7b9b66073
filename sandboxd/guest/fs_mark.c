/*
 * Makes a mark: all that is below a directory, by what is known of each file,
 * and with the contents of those that are text, if that is asked for.
 */

#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "diff.h"

#define MARK_MAX	(32 * 1024 * 1024)	/* bytes of one, but contents */
#define CONTENT_MAX	(1024 * 1024)		/* of one file */
#define CONTENTS_MAX	(32 * 1024 * 1024)	/* of all */
/* Whoever has its descriptor cannot alter it any more. */
#define SEALS		(F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | \
			    F_SEAL_WRITE)
#define TICK		20000000	/* ns: no clock of files is coarser */

struct marking {
	struct walk	 w;
	struct job	*j;
	struct scope	*scope;		/* NULL: all */
	dev_t		 dev;
	int		 fd;
	uint64_t	 count;
	uint64_t	 denied;
	uint64_t	 bytes;
	uint64_t	 held;		/* of contents */
	uint64_t	 unheld;	/* files without theirs */
	struct content	 content;
	size_t		 len;
	uint8_t		 buf[65536] __attribute__((__aligned__(8)));
};

static int64_t
ns(const struct timespec *ts)
{
	return ((int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec);
}

void
entry_set(struct mark_entry *e, const struct stat *st)
{
	memset(e, 0, sizeof(*e));
	e->ino = st->st_ino;
	e->size = st->st_size < 0 ? 0 : st->st_size;
	e->mtime = ns(&st->st_mtim);
	e->ctime = ns(&st->st_ctim);
	e->mode = st->st_mode;
	e->uid = st->st_uid;
	e->gid = st->st_gid;
	e->nlink = st->st_nlink;
	e->rdev = st->st_rdev;
}

static int
mark_write(struct marking *k, const uint8_t *p, size_t len)
{
	ssize_t	 n;

	for (; len > 0; p += n, len -= n)
		if ((n = write(k->fd, p, len)) == -1)
			return (job_errno(k->j, errno, "the mark"));
	return (0);
}

static int
mark_flush(struct marking *k)
{
	if (mark_write(k, k->buf, k->len) == -1)
		return (-1);
	k->len = 0;
	return (0);
}

/* What the file has, as far as there is room: enum kept. */
static enum kept
mark_content(struct marking *k, int dirfd, const char *name,
    const struct stat *st)
{
	enum kept	 kept;

	if (!(k->j->m.flags & CALL_F_CONTENTS) ||
	    (!S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode)) ||
	    !content_wanted(k->w.path))
		return (KEPT_NOT);
	kept = content_get(&k->content, dirfd, name, st, CONTENT_MAX);
	if (kept == KEPT_ALL && k->held + k->content.len > CONTENTS_MAX)
		kept = KEPT_LARGE;
	if (kept != KEPT_ALL)
		k->unheld++;
	return (kept);
}

/*
 * Behind what is in the buffer: the content of the entry that it ends with.
 * What comes next in the buffer is aligned there as it is in the mark.
 */
static int
mark_bytes(struct marking *k)
{
	static const uint8_t	 zeros[8];
	size_t			 len = k->content.len;

	if (len == 0)
		return (0);
	k->held += len + PAD(len);
	if (len + PAD(len) <= sizeof(k->buf) - k->len) {
		memcpy(k->buf + k->len, k->content.buf, len);
		memcpy(k->buf + k->len + len, zeros, PAD(len));
		k->len += len + PAD(len);
		return (0);
	}
	if (mark_flush(k) == -1 || mark_write(k, k->content.buf, len) == -1)
		return (-1);
	return (mark_write(k, zeros, PAD(len)));
}

/* A clock as coarse as that of files: written again, it would be as it is. */
static int
is_young(const struct stat *st)
{
	struct timespec	 now;

	return (clock_gettime(CLOCK_REALTIME, &now) == -1 ||
	    ns(&st->st_ctim) > ns(&now) - TICK);
}

static int
mark_entry(struct marking *k, const struct stat *st, int denied,
    enum kept kept)
{
	struct mark_entry	*e;
	size_t			 len = strlen(k->w.path) + 1, size;

	size = sizeof(*e) + len;
	size += PAD(size);
	if (size > MARK_MAX - k->bytes)
		return (job_fail(k->j, CODE_LIMIT_EXCEEDED, "there are more "
		    "than %llu entries, and no more room in a mark",
		    (unsigned long long)k->count));
	if (size > sizeof(k->buf) - k->len && mark_flush(k) == -1)
		return (-1);
	e = (struct mark_entry *)(void *)(k->buf + k->len);
	memset(e, 0, size);
	entry_set(e, st);
	/* Beside the entry that it may have; see diff_table(). */
	if (denied)
		e->mode = DENIED;
	e->kept = kept;
	e->young = is_young(st);
	e->len = size;
	if (kept == KEPT_ALL) {
		e->klen = k->content.len;
		e->len += e->klen + PAD(e->klen);
	}
	memcpy(e->path, k->w.path, len);
	k->len += size;
	k->bytes += size;
	k->count++;
	return (kept == KEPT_ALL ? mark_bytes(k) : 0);
}

static int
mark_one(struct walk *w, enum walk_at at, int dirfd, const char *name,
    const struct stat *st, int error)
{
	struct marking	*k = (struct marking *)w;
	enum kept	 kept = KEPT_NOT;
	int		 isdir;

	(void)error;
	if (at == WALK_AFTER)
		return (0);
	isdir = S_ISDIR(st->st_mode);
	if (!scope_has(k->scope, w->path, isdir)) {
		if (!isdir || st->st_dev != k->dev ||
		    !scope_below(k->scope, w->path))
			return (WALK_SKIP);
		/* What may be wanted is in there: that is as if it were. */
		if (at == WALK_ENTRY)
			return (0);
	}
	if (at == WALK_ERROR)
		k->denied++;
	else
		kept = mark_content(k, dirfd, name, st);
	if (mark_entry(k, st, at == WALK_ERROR, kept) == -1)
		return (-1);
	/* What is mounted there is another file system. */
	return (S_ISDIR(st->st_mode) && st->st_dev != k->dev ? WALK_SKIP : 0);
}

/* A path, as it is without what could lead elsewhere: no dots, no gaps. */
static int
is_plain(const char *s)
{
	size_t	 n;

	for (;; s += n + 1) {
		n = strcspn(s, "/");
		if (n == 0 || (n == 1 && s[0] == '.') ||
		    (n == 2 && s[0] == '.' && s[1] == '.'))
			return (0);
		if (s[n] == '\0')
			return (1);
	}
}

/*
 * Where a directory would be that is not there (yet): what there is of its
 * path without links, and the rest as it is asked for.  -1: it is no such
 * path, such as that of a link which leads nowhere.
 */
static int
root_missing(const char *path, char *root)
{
	char		 all[CALL_PATH_MAX + 1], up[CALL_PATH_MAX + 1];
	const char	*rest;
	char		*s;
	struct stat	 st;
	size_t		 len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	memcpy(all, path, len);
	all[len] = '\0';
	memcpy(up, all, len + 1);
	do {
		if (lstat(up, &st) == 0 || errno != ENOENT)
			return (-1);
		if ((s = strrchr(up, '/')) == NULL)
			memcpy(up, ".", 2);
		else
			s[s == up] = '\0';
		rest = s == NULL ? all : all + (s - up) + 1;
	} while (realpath(up, root) == NULL && s != NULL && s != up);
	len = strlen(root);
	if (*root != '/' || !is_plain(rest) ||
	    len + 1 + strlen(rest) > CALL_PATH_MAX)
		return (-1);
	if (len > 1)
		root[len++] = '/';
	memcpy(root + len, rest, strlen(rest) + 1);
	return (0);
}

/* The patterns of a call of PID 1's own; none of others, none for all. */
int
diff_scope(struct job *j, struct scope **to)
{
	static struct scope	 s;
	int			 error;

	*to = NULL;
	if ((j->k & CALL_OWN) == 0 || *j->m.filter == '\0')
		return (0);
	if ((error = scope_open(&s, j->m.filter)) != 0)
		return (job_fail(j, error == ENOMEM ? CODE_LIMIT_EXCEEDED :
		    CODE_INVALID_ARGUMENT, "it is no pattern"));
	*to = &s;
	return (0);
}

/* The directory, or NO_ROOT: there is none, and so nothing in it.  -1: told. */
int
diff_open(struct job *j, char *root, struct stat *st)
{
	int	 fd, error;

	memset(st, 0, sizeof(*st));
	if (realpath(j->m.path, root) == NULL) {
		error = errno;
		*root = '\0';
		if (error == ENOENT && root_missing(j->m.path, root) == 0)
			return (NO_ROOT);
		return (job_errno(j, error, ""));
	}
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1 || fstat(fd, st) == -1) {
		job_errno(j, errno, "");
		if (fd != -1)
			close(fd);
		return (-1);
	}
	return (fd);
}

/* All that is in it: nothing, if it is not there. */
int
diff_tree(struct job *j, struct walk *w, int fd)
{
	return (fd == NO_ROOT ? 0 : walk(j, w, fd));
}

void
diff_close(int fd)
{
	if (fd != NO_ROOT)
		close(fd);
}

void
fs_mark(struct job *j)
{
	static struct mark_head	 h;
	struct marking		*k;
	struct stat		 st;
	int			 fd;

	if ((k = calloc(1, sizeof(*k))) == NULL) {
		job_errno(j, ENOMEM, "");
		return;
	}
	memset(&h, 0, sizeof(h));
	k->j = j;
	k->w.fn = mark_one;
	k->w.recurse = 1;
	if ((k->fd = memfd_create("mark", MFD_CLOEXEC | MFD_ALLOW_SEALING)) == -1)
		job_errno(j, errno, "memory");
	else if (diff_scope(j, &k->scope) == 0 &&
	    (fd = diff_open(j, h.root, &st)) != -1) {
		h.dev = k->dev = st.st_dev;
		if (lseek(k->fd, sizeof(h), SEEK_SET) == -1) {
			job_errno(j, errno, "the mark");
			diff_close(fd);
		} else if (diff_tree(j, &k->w, fd) == 0 &&
		    mark_flush(k) == 0) {
			h.count = j->end.count = k->count;
			j->end.count2 = k->unheld;
			if (pwrite(k->fd, &h, sizeof(h), 0) != sizeof(h) ||
			    fcntl(k->fd, F_ADD_SEALS, SEALS) == -1)
				job_errno(j, errno, "the mark");
		}
	}
	if (k->denied > 0)
		j->end.flags |= CALL_R_DENIED;
	if (k->fd != -1 && j->end.code == CODE_OK && !j->lost)
		j->give = k->fd;
	else if (k->fd != -1)
		close(k->fd);
	scope_free(k->scope);
	free(k->content.buf);
	free(k);
}
