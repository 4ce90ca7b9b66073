/*
 * What has changed below a directory: since a mark, which is a list of all
 * that was there, or since a time.  Nothing is read of any file: one that was
 * written has another size, time or number.
 */

#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "diff.h"

static size_t
path_hash(const char *s)
{
	uint64_t	 h = 14695981039346656037ULL;

	for (; *s != '\0'; s++)
		h = (h ^ (uint8_t)*s) * 1099511628211ULL;
	return (h ^ h >> 32);
}

/* The place of a path in the table: of its entry, or where it would be. */
uint32_t *
diff_slot(const struct diff *d, const char *path)
{
	size_t	 i = path_hash(path) & d->mask;

	while (d->table[i] != 0 && strcmp(d->entry[d->table[i] - 1]->path +
	    d->skip, path) != 0)
		i = (i + 1) & d->mask;
	return (&d->table[i]);
}

static int
diff_record(struct diff *d, const char *kind, const char *what, const char *name,
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
const char *
diff_how(const struct mark_entry *a, const struct mark_entry *b)
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
	return (d->tell(d, d->unknown ? "touched" : "added", "", d->w.path, now,
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
		return (d->tell(d, "added", "", d->w.path, now, NULL));
	was = d->entry[i - 1];
	d->state[i - 1] |= SEEN;
	what = was->mode == DENIED ? "" : diff_how(was, now);
	if (*what != '\0' && d->tell(d, "changed", what, d->w.path, now,
	    was) == -1)
		return (-1);
	if (!(d->state[i - 1] & BLIND_THEN))
		return (0);
	d->j->end.flags |= CALL_R_DENIED;
	return (WALK_SKIP);
}

/*
 * What nobody wants to hear of, though something may be in it that somebody
 * does: a directory that cannot be read now, or could not, hides that.
 */
static int
diff_outside(struct diff *d, enum walk_at at, const struct stat *st)
{
	uint32_t	 i = d->head == NULL ? 0 : *diff_slot(d, d->w.path);
	int		 blind = at == WALK_ERROR;

	if (!S_ISDIR(st->st_mode) || st->st_dev != d->dev ||
	    !scope_below(d->scope, d->w.path))
		return (WALK_SKIP);
	if (i != 0) {
		d->state[i - 1] |= SEEN | (blind ? BLIND_NOW : 0);
		blind |= d->state[i - 1] & BLIND_THEN;
	}
	if (blind)
		d->j->end.flags |= CALL_R_DENIED;
	return (blind ? WALK_SKIP : 0);
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
	if (!scope_has(d->scope, w->path, S_ISDIR(st->st_mode)))
		return (diff_outside(d, at, st));
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
int
path_below(const char *path, const char *dir)
{
	size_t	 len = strlen(dir);

	return (strncmp(path, dir, len) == 0 && (len == 0 ||
	    path[len] == '/' || path[len] == '\0'));
}

/* What was there, and is not now: but where nobody may look. */
int
diff_gone(struct diff *d,
    int (*fn)(struct diff *, const struct mark_entry *, int))
{
	const struct mark_entry	*e;
	const char		*blind = NULL;
	size_t			 i;

	for (i = 0; i < d->head->count; i++) {
		if ((e = d->entry[i]) == NULL)
			continue;
		if (blind != NULL && path_below(e->path, blind))
			continue;
		blind = d->state[i] & BLIND_NOW ? e->path : NULL;
		if (!(d->state[i] & SEEN) && fn(d, e, d->state[i]) == -1)
			return (-1);
	}
	return (0);
}

static int
diff_removed(struct diff *d, const struct mark_entry *e, int state)
{
	(void)state;
	return (d->tell(d, "removed", "", e->path + d->skip, NULL, e));
}

/* Root as the mark's paths have it; NULL if it is elsewhere. */
static const char *
diff_below(struct diff *d, const char *root)
{
	const char	*from = d->head->root;

	if (strcmp(from, "/") == 0)
		from = "";
	/* What is not there, now or then, may come to be on any. */
	if (d->head->dev != 0 && d->dev != 0 && d->head->dev != d->dev) {
		job_fail(d->j, CODE_INVALID_ARGUMENT,
		    "the mark is of another file system");
		return (NULL);
	}
	if (!path_below(root, from)) {
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
		if (d->skip > 0 && e->mode == DENIED && path_below(sub, e->path))
			return (job_fail(d->j, CODE_PERMISSION_DENIED,
			    "it could not be read when the mark was made"));
		if (d->skip > 0 && (!path_below(e->path, sub) ||
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
	d->head = mmap(NULL, d->size, PROT_READ, MAP_PRIVATE, fd, 0);
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

/* What it is compared with, and the directory; -1 if that failed. */
int
diff_begin(struct diff *d, struct job *j)
{
	struct stat	 st;
	char		 root[CALL_PATH_MAX + 1];
	int		 fd;

	memset(d, 0, sizeof(*d));
	d->j = j;
	d->w.recurse = 1;
	if ((*j->m.pattern != '\0' || j->m.op == CALL_CHANGES ||
	    j->m.op == CALL_CHANGED) && j->mark == -1)
		return (job_fail(j, CODE_NOT_FOUND, "no such mark: %.180s",
		    j->m.pattern));
	if (diff_scope(j, &d->scope) == -1 ||
	    (fd = diff_open(j, root, &st)) == -1)
		return (-1);
	d->dev = st.st_dev;
	if (j->mark == -1)
		diff_time(d);
	else if (diff_load(d, j->mark, root) == -1) {
		diff_close(fd);
		return (-1);
	}
	return (fd);
}

void
diff_end(struct diff *d)
{
	d->j->end.count = d->count;
	if (d->head != NULL)
		munmap((void *)(uintptr_t)d->head, d->size);
	scope_free(d->scope);
	free(d->entry);
	free(d->state);
	free(d->table);
}

/* What there is now; what is there no more is diff_gone()'s. */
int
diff_walk(struct diff *d, int fd)
{
	d->w.fn = diff_one;
	return (diff_tree(d->j, &d->w, fd));
}

void
fs_diff(struct job *j)
{
	static struct diff	 d;
	int			 fd;

	if ((fd = diff_begin(&d, j)) != -1) {
		d.tell = diff_record;
		if (diff_walk(&d, fd) == 0 && d.head != NULL)
			(void)diff_gone(&d, diff_removed);
	}
	diff_end(&d);
}
