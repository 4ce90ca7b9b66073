/*
 * Contents of files: what a mark keeps of them, and what has changed since,
 * with the bytes that were and those that are, of which who asked for it can
 * make a patch.  What is not known as a whole is told by name alone.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "diff.h"

#define CONTENT_NOW	(8 * 1024 * 1024)	/* of a file as it is */

/* In a repository's own directory there is nothing for a patch. */
int
content_wanted(const char *path)
{
	const char	*e;

	for (; *path != '\0'; path = e + strspn(e, "/")) {
		e = path + strcspn(path, "/");
		if (e == path + 4 && memcmp(path, ".git", 4) == 0)
			return (0);
	}
	return (1);
}

static int
content_room(struct content *c, size_t size)
{
	uint8_t	*p;

	if (size <= c->size)
		return (0);
	if ((p = realloc(c->buf, size)) == NULL)
		return (-1);
	c->buf = p;
	c->size = size;
	return (0);
}

static enum kept
content_link(struct content *c, int dirfd, const char *name)
{
	ssize_t	 n;

	if (content_room(c, CALL_PATH_MAX + 1) == -1 || (n = readlinkat(dirfd,
	    name, (char *)c->buf, c->size)) == -1 || n > CALL_PATH_MAX)
		return (KEPT_UNREAD);
	c->len = n;
	return (KEPT_ALL);
}

/* All bytes of it, if it is meanwhile as it was. */
static int
content_read(struct content *c, int fd, const struct stat *st)
{
	struct stat	 now;
	ssize_t		 n;

	if (fstat(fd, &now) == -1 || !S_ISREG(now.st_mode))
		return (-1);
	for (c->len = 0; c->len < c->size; c->len += n) {
		n = read(fd, c->buf + c->len, c->size - c->len);
		if (n == -1)
			return (-1);
		if (n == 0)
			break;
	}
	if (fstat(fd, &now) == -1 || now.st_ino != st->st_ino ||
	    now.st_dev != st->st_dev || (off_t)c->len != st->st_size ||
	    now.st_size != st->st_size ||
	    memcmp(&now.st_mtim, &st->st_mtim, sizeof(st->st_mtim)) != 0 ||
	    memcmp(&now.st_ctim, &st->st_ctim, sizeof(st->st_ctim)) != 0)
		return (-1);
	return (0);
}

/* What a file has, which is not larger than max, or where a link leads. */
enum kept
content_get(struct content *c, int dirfd, const char *name,
    const struct stat *st, size_t max)
{
	int	 fd, ret;

	if (S_ISLNK(st->st_mode))
		return (content_link(c, dirfd, name));
	if (st->st_size < 0 || (uint64_t)st->st_size > max)
		return (KEPT_LARGE);
	/* One byte more shows that it has grown. */
	if (content_room(c, st->st_size + 1) == -1)
		return (KEPT_UNREAD);
	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_NOCTTY | O_CLOEXEC);
	if (fd == -1)
		return (KEPT_UNREAD);
	ret = content_read(c, fd, st);
	close(fd);
	if (ret == -1)
		return (KEPT_UNREAD);
	return (memchr(c->buf, '\0', c->len) == NULL ? KEPT_ALL : KEPT_BINARY);
}

/* Of one that is none. */
static const struct mark_entry	 nothing;
static struct content		 now_has;

static int
put_record(struct diff *d, const char *kind, const char *name,
    const struct mark_entry *now, const struct mark_entry *was,
    enum code code, const char *why, const void *data, size_t len)
{
	rec_begin(d->j, 7);
	rec_str(d->j, kind);
	rec_str(d->j, name);
	rec_uint(d->j, now->mode);
	rec_uint(d->j, was->mode);
	rec_uint(d->j, code);
	rec_str(d->j, why);
	rec_blob(d->j, data, len);
	return (rec_end(d->j));
}

static int
put_refused(struct diff *d, const char *kind, const char *name,
    const struct mark_entry *now, const struct mark_entry *was,
    enum code code, const char *why)
{
	d->j->end.count2++;
	return (put_record(d, kind, name, now, was, code, why, "", 0));
}

static int
put_bytes(struct diff *d, const char *kind, const uint8_t *p, size_t len)
{
	size_t	 n;

	for (; len > 0; p += n, len -= n) {
		n = len < CHANGE_DATA_MAX ? len : CHANGE_DATA_MAX;
		if (put_record(d, kind, "", &nothing, &nothing, CODE_OK, "",
		    p, n) == -1)
			return (-1);
	}
	return (0);
}

static const uint8_t *
was_bytes(const struct mark_entry *e)
{
	size_t	 len = sizeof(*e) + strlen(e->path) + 1;

	return ((const uint8_t *)e + len + PAD(len));
}

/* It is told as a whole; the bytes it has are those that were read last. */
static int
put_file(struct diff *d, const char *kind, const char *name,
    const struct mark_entry *now, const struct mark_entry *was)
{
	d->count++;
	if (put_record(d, kind, name, now, was, CODE_OK, "", "", 0) == -1 ||
	    (was->mode != 0 && put_bytes(d, "old", was_bytes(was),
	    was->klen) == -1) ||
	    (now->mode != 0 && put_bytes(d, "new", now_has.buf,
	    now_has.len) == -1))
		return (-1);
	return (put_record(d, "end", "", &nothing, &nothing, CODE_OK, "", "",
	    0));
}

static int
is_told(uint32_t mode)
{
	return (S_ISREG(mode) || S_ISLNK(mode));
}

/* Why what it had cannot be told; NULL if it can. */
static const char *
was_unknown(const struct mark_entry *was)
{
	static const char *const	 why[] = {
		[KEPT_NOT] = "the mark keeps no contents",
		[KEPT_ALL] = NULL,
		[KEPT_LARGE] = "it was too large for the mark to keep it",
		[KEPT_BINARY] = "it was no text when the mark was made",
		[KEPT_UNREAD] = "it could not be read when the mark was made",
	};

	return (why[was->kept]);
}

static int
change_removed(struct diff *d, const struct mark_entry *was, int state)
{
	const char	*name = was->path + d->skip, *why;

	if (!content_wanted(name))
		return (0);
	if (state & BLIND_THEN)
		d->j->end.flags |= CALL_R_DENIED;
	if (S_ISDIR(was->mode))
		return (0);
	if (!is_told(was->mode))
		return (put_refused(d, "removed", name, &nothing, was,
		    CODE_NOT_FILE, "it was no regular file"));
	if ((why = was_unknown(was)) != NULL)
		return (put_refused(d, "removed", name, &nothing, was,
		    CODE_UNSUPPORTED, why));
	return (put_file(d, "removed", name, &nothing, was));
}

/* Reads what it has now, or tells that it cannot; 1: it is there. */
static int
change_read(struct diff *d, int dirfd, const char *name,
    const struct stat *st, const char *kind, const struct mark_entry *now,
    const struct mark_entry *was)
{
	enum code	 code = CODE_OK;
	const char	*why = NULL;

	switch (content_get(&now_has, dirfd, name, st, CONTENT_NOW)) {
	case KEPT_LARGE:
		code = CODE_TOO_LARGE;
		why = "it is larger than 8 MB";
		break;
	case KEPT_BINARY:
		code = CODE_UNSUPPORTED;
		why = "it is no text";
		break;
	case KEPT_UNREAD:
		code = CODE_PERMISSION_DENIED;
		why = "it cannot be read, or changes meanwhile";
		break;
	default:
		return (1);
	}
	return (put_refused(d, kind, d->w.path, now, was, code, why));
}

/* Who may execute it is all that a patch can tell of its mode. */
static int
same_file(const struct mark_entry *now, const struct mark_entry *was)
{
	return (((now->mode ^ was->mode) & S_IXUSR) == 0 &&
	    now_has.len == was->klen &&
	    memcmp(now_has.buf, was_bytes(was), was->klen) == 0);
}

/* An entry that is there: as it was, or else. */
static int
change_entry(struct diff *d, int dirfd, const char *name,
    const struct stat *st)
{
	const struct mark_entry	*was = NULL;
	struct mark_entry	 now;
	const char		*kind = "changed", *why;
	uint32_t		 i;
	int			 ret;

	entry_set(&now, st);
	if ((i = *diff_slot(d, d->w.path)) != 0 && ((d->entry[i - 1]->mode ^
	    now.mode) & S_IFMT) == 0)
		was = d->entry[i - 1];
	else
		kind = "added";
	if (was != NULL && *diff_how(was, &now) == '\0' &&
	    (!was->young || was->kept != KEPT_ALL))
		return (0);
	if (S_ISDIR(now.mode))
		return (0);
	if (!is_told(now.mode))
		return (put_refused(d, kind, d->w.path, &now,
		    was == NULL ? &nothing : was, CODE_NOT_FILE,
		    "it is no regular file"));
	if (was != NULL && (why = was_unknown(was)) != NULL)
		return (put_refused(d, kind, d->w.path, &now, was,
		    CODE_UNSUPPORTED, why));
	if ((ret = change_read(d, dirfd, name, st, kind, &now,
	    was == NULL ? &nothing : was)) != 1)
		return (ret);
	if (was != NULL && same_file(&now, was))
		return (0);
	return (put_file(d, kind, d->w.path, &now,
	    was == NULL ? &nothing : was));
}

/* Is there something that may be told of what is at the path? */
static int
change_wanted(const struct diff *d, const struct stat *st)
{
	return (content_wanted(d->w.path) &&
	    !(S_ISDIR(st->st_mode) && st->st_dev != d->dev));
}

/* The first walk: what of the mark is still there, as what it was. */
static int
change_seen(struct walk *w, enum walk_at at, int dirfd, const char *name,
    const struct stat *st, int error)
{
	struct diff	*d = (struct diff *)w;
	uint32_t	 i;

	(void)dirfd;
	(void)name;
	(void)error;
	if (at == WALK_AFTER)
		return (0);
	i = *diff_slot(d, w->path);
	if (at == WALK_ERROR) {
		d->j->end.flags |= CALL_R_DENIED;
		if (i != 0)
			d->state[i - 1] |= SEEN | BLIND_NOW;
		return (0);
	}
	if (i != 0 && ((d->entry[i - 1]->mode ^ st->st_mode) & S_IFMT) == 0)
		d->state[i - 1] |= SEEN;
	return (change_wanted(d, st) ? 0 : WALK_SKIP);
}

/* The second: what is else than it was, or new. */
static int
change_one(struct walk *w, enum walk_at at, int dirfd, const char *name,
    const struct stat *st, int error)
{
	struct diff	*d = (struct diff *)w;
	uint32_t	 i;

	(void)error;
	if (at != WALK_ENTRY)
		return (0);
	if (!change_wanted(d, st))
		return (WALK_SKIP);
	if (change_entry(d, dirfd, name, st) == -1)
		return (-1);
	i = *diff_slot(d, w->path);
	if (i == 0 || !(d->state[i - 1] & BLIND_THEN))
		return (0);
	d->j->end.flags |= CALL_R_DENIED;
	return (WALK_SKIP);
}

/*
 * What went is told first, as who makes the changes one after the other needs
 * it, and so the tree is walked twice.
 */
void
fs_changes(struct job *j)
{
	static struct diff	 d;
	int			 fd, again = -1;

	if ((fd = diff_begin(&d, j)) != -1) {
		again = fd == NO_ROOT ? NO_ROOT : openat(fd, ".",
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		d.w.fn = change_seen;
		if (again == -1) {
			job_errno(j, errno, "");
			diff_close(fd);
		} else if (diff_tree(j, &d.w, fd) == -1 || diff_gone(&d,
		    change_removed) == -1)
			diff_close(again);
		else {
			d.w.fn = change_one;
			d.w.levels = NULL;
			d.w.depth = d.w.size = 0;
			(void)diff_tree(j, &d.w, again);
		}
	}
	diff_end(&d);
	free(now_has.buf);
	memset(&now_has, 0, sizeof(now_has));
}
