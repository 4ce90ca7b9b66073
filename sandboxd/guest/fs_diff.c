/*
 * What has changed below a directory: since a mark, which is a list of all
 * that was there, or since a time.  Nothing is read of any file: one that was
 * written has another size, time or number.
 */

#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"

#define MARK_MAX	(32 * 1024 * 1024)	/* bytes of one */
#define DENIED		0x80000000U	/* in mode: it could not be read */

/* A mark: this, then its entries, a directory before what is in it. */
struct mark_head {
	uint64_t	 count;
	uint64_t	 dev;
	char		 root[CALL_PATH_MAX + 1];	/* without links */
};

struct mark_entry {
	uint64_t	 ino;
	uint64_t	 size;
	int64_t		 mtime;
	int64_t		 ctime;
	uint32_t	 mode;
	uint32_t	 uid;
	uint32_t	 gid;
	uint32_t	 nlink;
	uint32_t	 rdev;
	uint32_t	 len;		/* of all, a multiple of 8 */
	char		 path[];	/* below the root */
};

struct marking {
	struct walk	 w;
	struct job	*j;
	dev_t		 dev;
	int		 fd;
	uint64_t	 count;
	uint64_t	 denied;
	uint64_t	 bytes;
	size_t		 len;
	uint8_t		 buf[65536] __attribute__((__aligned__(8)));
};

static int64_t
ns(const struct timespec *ts)
{
	return ((int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec);
}

static void
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
mark_flush(struct marking *k)
{
	size_t	 off;
	ssize_t	 n;

	for (off = 0; off < k->len; off += n)
		if ((n = write(k->fd, k->buf + off, k->len - off)) == -1)
			return (job_errno(k->j, errno, "the mark"));
	k->len = 0;
	return (0);
}

static int
mark_one(struct walk *w, enum walk_at at, int dirfd, const char *name,
    const struct stat *st, int error)
{
	struct marking		*k = (struct marking *)w;
	struct mark_entry	*e;
	size_t			 len = strlen(w->path) + 1, size;

	(void)dirfd;
	(void)name;
	(void)error;
	if (at == WALK_AFTER)
		return (0);
	if (at == WALK_ERROR)
		k->denied++;
	size = (sizeof(*e) + len + 7) & ~(size_t)7;
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
	if (at == WALK_ERROR)
		e->mode = DENIED;
	e->len = size;
	memcpy(e->path, w->path, len);
	k->len += size;
	k->bytes += size;
	k->count++;
	/* What is mounted there is another file system. */
	return (S_ISDIR(st->st_mode) && st->st_dev != k->dev ? WALK_SKIP : 0);
}

static int
diff_open(struct job *j, char *root, struct stat *st)
{
	int	 fd;

	if (realpath(j->m.path, root) == NULL)
		return (job_errno(j, errno, ""));
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1 || fstat(fd, st) == -1) {
		job_errno(j, errno, "");
		if (fd != -1)
			close(fd);
		return (-1);
	}
	return (fd);
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
	if ((k->fd = memfd_create("mark", MFD_CLOEXEC)) == -1)
		job_errno(j, errno, "memory");
	else if ((fd = diff_open(j, h.root, &st)) != -1) {
		h.dev = k->dev = st.st_dev;
		if (lseek(k->fd, sizeof(h), SEEK_SET) == -1) {
			job_errno(j, errno, "the mark");
			close(fd);
		} else if (walk(j, &k->w, fd) == 0 && mark_flush(k) == 0) {
			h.count = j->end.count = k->count;
			if (pwrite(k->fd, &h, sizeof(h), 0) != sizeof(h))
				job_errno(j, errno, "the mark");
		}
	}
	if (k->denied > 0)
		j->end.flags |= CALL_R_DENIED;
	if (k->fd != -1 && j->end.code == CODE_OK && !j->lost)
		j->give = k->fd;
	else if (k->fd != -1)
		close(k->fd);
	free(k);
}

#define SEEN		1
#define BLIND_NOW	2		/* what is in it cannot be known */
#define BLIND_THEN	4

/* A mark that is compared with. */
struct diff {
	struct walk		 w;
	struct job		*j;
	dev_t			 dev;
	int64_t			 since;	/* without a mark */
	int			 unknown; /* what was there then */
	const struct mark_head	*head;	/* with one */
	size_t			 size;
	size_t			 skip;	/* of its paths: those of the root */
	const struct mark_entry	**entry;
	uint8_t			*state;	/* of each */
	uint32_t		*table;
	size_t			 mask;
	uint64_t		 count;
};

static size_t
path_hash(const char *s)
{
	uint64_t	 h = 14695981039346656037ULL;

	for (; *s != '\0'; s++)
		h = (h ^ (uint8_t)*s) * 1099511628211ULL;
	return (h ^ h >> 32);
}

/* The place of a path in the table: of its entry, or where it would be. */
static uint32_t *
diff_slot(const struct diff *d, const char *path)
{
	size_t	 i = path_hash(path) & d->mask;

	while (d->table[i] != 0 && strcmp(d->entry[d->table[i] - 1]->path +
	    d->skip, path) != 0)
		i = (i + 1) & d->mask;
	return (&d->table[i]);
}

static int
tell(struct diff *d, const char *kind, const char *what, const char *name,
    const struct mark_entry *now, const struct mark_entry *was)
{
	static const struct mark_entry	 none;

	if (d->j->m.limit != 0 && d->count == d->j->m.limit) {
		d->j->end.flags |= CALL_R_MORE;
		return (-1);
	}
	d->count++;
	now = now == NULL ? &none : now;
	was = was == NULL ? &none : was;
	rec_begin(d->j, 9);
	rec_str(d->j, kind);
	rec_str(d->j, what);
	rec_str(d->j, name);
	rec_uint(d->j, now->mode);
	rec_uint(d->j, now->size);
	rec_int(d->j, now->mtime);
	rec_uint(d->j, was->mode);
	rec_uint(d->j, was->size);
	rec_int(d->j, was->mtime);
	return (rec_end(d->j));
}

/* How it differs, "" if it does not. */
static const char *
differs(const struct mark_entry *a, const struct mark_entry *b)
{
	if ((a->mode & S_IFMT) != (b->mode & S_IFMT) || a->rdev != b->rdev)
		return ("type");
	/* What a directory has in it is told by itself. */
	if (!S_ISDIR(b->mode) && (a->ino != b->ino || a->size != b->size ||
	    a->mtime != b->mtime))
		return ("content");
	if (a->mode != b->mode)
		return ("mode");
	if (a->uid != b->uid || a->gid != b->gid)
		return ("owner");
	if (S_ISDIR(b->mode) || a->ctime == b->ctime)
		return ("");
	if (a->nlink != b->nlink)
		return ("links");
	/* The times of a file can be set again, but this one. */
	return ("content");
}

static int
diff_since(struct diff *d, const struct mark_entry *now)
{
	if (now->ctime < d->since)
		return (0);
	return (tell(d, d->unknown ? "touched" : "added", "", d->w.path, now,
	    NULL));
}

static int
diff_entry(struct diff *d, const struct mark_entry *now)
{
	const struct mark_entry	*was;
	const char		*what;
	uint32_t		 i;

	if (d->head == NULL)
		return (diff_since(d, now));
	if ((i = *diff_slot(d, d->w.path)) == 0)
		return (tell(d, "added", "", d->w.path, now, NULL));
	was = d->entry[i - 1];
	d->state[i - 1] |= SEEN;
	what = was->mode == DENIED ? "" : differs(was, now);
	if (*what != '\0' && tell(d, "changed", what, d->w.path, now,
	    was) == -1)
		return (-1);
	if (!(d->state[i - 1] & BLIND_THEN))
		return (0);
	d->j->end.flags |= CALL_R_DENIED;
	return (WALK_SKIP);
}

static int
diff_one(struct walk *w, enum walk_at at, int dirfd, const char *name,
    const struct stat *st, int error)
{
	struct diff		*d = (struct diff *)w;
	struct mark_entry	 now;
	uint32_t		 i;
	int			 ret;

	(void)dirfd;
	(void)name;
	(void)error;
	if (at == WALK_AFTER)
		return (0);
	if (at == WALK_ERROR) {
		d->j->end.flags |= CALL_R_DENIED;
		if (d->head != NULL && (i = *diff_slot(d, w->path)) != 0)
			d->state[i - 1] |= SEEN | BLIND_NOW;
		return (0);
	}
	entry_set(&now, st);
	if ((ret = diff_entry(d, &now)) != 0)
		return (ret);
	return (S_ISDIR(st->st_mode) && st->st_dev != d->dev ? WALK_SKIP : 0);
}

/* Is path in the directory dir, or that itself? */
static int
below(const char *path, const char *dir)
{
	size_t	 len = strlen(dir);

	return (strncmp(path, dir, len) == 0 && (len == 0 ||
	    path[len] == '/' || path[len] == '\0'));
}

/* What was there, and is not now: but where nobody may look. */
static int
diff_removed(struct diff *d)
{
	const struct mark_entry	*e;
	const char		*blind = NULL;
	size_t			 i;

	for (i = 0; i < d->head->count; i++) {
		if ((e = d->entry[i]) == NULL)
			continue;
		if (blind != NULL && below(e->path, blind))
			continue;
		blind = d->state[i] & BLIND_NOW ? e->path : NULL;
		if (!(d->state[i] & SEEN) && tell(d, "removed", "",
		    e->path + d->skip, NULL, e) == -1)
			return (-1);
	}
	return (0);
}

/* Root as the mark's paths have it; NULL if it is elsewhere. */
static const char *
diff_below(struct diff *d, const char *root)
{
	const char	*from = d->head->root;

	if (strcmp(from, "/") == 0)
		from = "";
	if (d->head->dev != d->dev) {
		job_fail(d->j, CODE_INVALID_ARGUMENT,
		    "the mark is of another file system");
		return (NULL);
	}
	if (!below(root, from)) {
		job_fail(d->j, CODE_INVALID_ARGUMENT, "the mark is of "
		    "another directory: %.180s", d->head->root);
		return (NULL);
	}
	root += strlen(from);
	root += strspn(root, "/");
	d->skip = *root == '\0' ? 0 : strlen(root) + 1;
	return (root);
}

static int
diff_table(struct diff *d, const char *sub)
{
	const struct mark_entry	*e;
	const uint8_t		*p = (const uint8_t *)(d->head + 1);
	const uint8_t		*end = (const uint8_t *)d->head + d->size;
	size_t			 i, n = d->head->count;
	uint32_t		*slot;

	for (d->mask = 63; d->mask < 2 * n; d->mask = 2 * d->mask + 1)
		;
	d->entry = calloc(n + 1, sizeof(*d->entry));
	d->state = calloc(n + 1, 1);
	d->table = calloc(d->mask + 1, sizeof(*d->table));
	if (d->entry == NULL || d->state == NULL || d->table == NULL)
		return (job_errno(d->j, ENOMEM, ""));
	for (i = 0; i < n && p < end; i++, p += e->len) {
		e = (const struct mark_entry *)(const void *)p;
		if (d->skip > 0 && e->mode == DENIED && below(sub, e->path))
			return (job_fail(d->j, CODE_PERMISSION_DENIED,
			    "it could not be read when the mark was made"));
		if (d->skip > 0 && (!below(e->path, sub) ||
		    strlen(e->path) < d->skip))
			continue;
		slot = diff_slot(d, e->path + d->skip);
		if (*slot == 0) {
			d->entry[i] = e;
			*slot = i + 1;
		}
		if (e->mode == DENIED)
			d->state[*slot - 1] |= BLIND_THEN;
	}
	return (0);
}

static int
diff_load(struct diff *d, int fd, const char *root)
{
	struct stat	 st;
	const char	*sub;

	if (fstat(fd, &st) == -1)
		return (job_errno(d->j, errno, "the mark"));
	d->size = st.st_size;
	d->head = mmap(NULL, d->size, PROT_READ, MAP_SHARED, fd, 0);
	if (d->head == MAP_FAILED) {
		d->head = NULL;
		return (job_errno(d->j, errno, "the mark"));
	}
	sub = diff_below(d, root);
	return (sub == NULL ? -1 : diff_table(d, sub));
}

/* Of the image nobody knows what was there; all else was empty then. */
static void
diff_time(struct diff *d)
{
	struct stat	 st;

	d->since = d->j->m.offset > INT64_MAX ? INT64_MAX : d->j->m.offset;
	d->unknown = stat("/", &st) == -1 || st.st_dev == d->dev;
}

void
fs_diff(struct job *j)
{
	static struct diff	 d;
	struct stat		 st;
	char			 root[CALL_PATH_MAX + 1];
	int			 fd;

	memset(&d, 0, sizeof(d));
	d.j = j;
	d.w.fn = diff_one;
	d.w.recurse = 1;
	if (*j->m.pattern != '\0' && j->mark == -1) {
		job_fail(j, CODE_NOT_FOUND, "no such mark: %.180s",
		    j->m.pattern);
		return;
	}
	if ((fd = diff_open(j, root, &st)) == -1)
		return;
	d.dev = st.st_dev;
	if (j->mark == -1)
		diff_time(&d);
	if (j->mark != -1 && diff_load(&d, j->mark, root) == -1)
		close(fd);
	else if (walk(j, &d.w, fd) == 0 && d.head != NULL)
		(void)diff_removed(&d);
	j->end.count = d.count;
	if (d.head != NULL)
		munmap((void *)(uintptr_t)d.head, d.size);
	free(d.entry);
	free(d.state);
	free(d.table);
}
