/*
 * A tree, entry by entry.  Nothing is followed and nothing is opened but
 * directories and regular files, so that no FIFO or device makes us wait; and
 * a file has the length that it had when it was opened, however it changes.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pack.h"
#include "tool.h"

#define SEEN_SLOTS	65536		/* files of several names ... */
#define SEEN_BYTES	(8U << 20)	/* ... and the first of these */
#define NO_DEADLINE	(UINT64_MAX / 4)

/* What has come with its first name already. */
struct pack_seen {
	struct {
		dev_t	 dev;
		ino_t	 ino;
		uint32_t at;		/* its name, 0: free */
	} slots[SEEN_SLOTS];
	uint32_t	 n;
	uint32_t	 used;
	char		 names[SEEN_BYTES];
};

static int
pack_note(struct pack *p, const char *path, enum code code, const char *why)
{
	if (p->notes++ >= PACK_NOTES)
		return (0);
	return (p->note(p->arg, path, code, why));
}

/* The first name of a file, or NULL; then this is it, if there is room. */
static const char *
pack_first(struct pack *p, const struct stat *st, const char *path)
{
	struct pack_seen	*s;
	size_t			 len = strlen(path) + 1, i;

	if (p->seen == NULL) {
		if ((p->seen = calloc(1, sizeof(*p->seen))) == NULL)
			return (NULL);
		p->seen->used = 1;
	}
	s = p->seen;
	i = (st->st_ino * 2654435761U + st->st_dev) % SEEN_SLOTS;
	for (; s->slots[i].at != 0; i = (i + 1) % SEEN_SLOTS)
		if (s->slots[i].ino == st->st_ino &&
		    s->slots[i].dev == st->st_dev)
			return (s->names + s->slots[i].at);
	/* What cannot be remembered comes as often as it has names. */
	if (s->n == SEEN_SLOTS / 2 || len > SEEN_BYTES - s->used)
		return (NULL);
	s->n++;
	s->slots[i].dev = st->st_dev;
	s->slots[i].ino = st->st_ino;
	s->slots[i].at = s->used;
	memcpy(s->names + s->used, path, len);
	s->used += len;
	return (NULL);
}

static void
entry_fill(struct pack_entry *e, int type, const char *path,
    const struct stat *st)
{
	memset(e, 0, sizeof(*e));
	e->type = type;
	e->path = path;
	e->link = "";
	e->mode = st->st_mode & 07777;
	e->uid = st->st_uid;
	e->gid = st->st_gid;
	e->sec = st->st_mtim.tv_sec;
	e->nsec = st->st_mtim.tv_nsec;
}

static int
pack_head(struct pack *p, const struct pack_entry *e)
{
	p->entries++;
	return (p->head(p->arg, e) == -1 ? ECANCELED : 0);
}

/* An open file: its bytes, and whether they stood still. */
static int
pack_bytes(struct pack *p, int fd, const char *path, const struct stat *st)
{
	struct pack_entry	 e;
	struct stat		 now;
	int			 n;

	entry_fill(&e, PACK_FILE, path, st);
	e.size = st->st_size;
	if (p->limit != 0 && e.size > p->limit - p->bytes)
		return (EFBIG);
	p->bytes += e.size;
	if (pack_head(p, &e) != 0 || (n = p->body(p->arg, fd, &e)) == -1)
		return (ECANCELED);
	if (n == 1)
		n = pack_note(p, path, CODE_CONFLICT,
		    "it became shorter meanwhile: zeros stand for the rest");
	else if (fstat(fd, &now) == 0 && (now.st_size != st->st_size ||
	    now.st_mtim.tv_sec != st->st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != st->st_mtim.tv_nsec))
		n = pack_note(p, path, CODE_CONFLICT, "it changed meanwhile");
	return (n == -1 ? ECANCELED : 0);
}

static int
pack_file(struct pack *p, const struct walk_entry *w)
{
	struct pack_entry	 e;
	struct stat		 st;
	const char		*first;
	int			 fd, error;

	fd = openat(w->dirfd, w->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_NOCTTY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1) {
		error = errno;
		if (fd != -1)
			close(fd);
		return (error == ENOENT ? 0 : pack_note(p, w->path,
		    errno_code(error), strerror(error)));
	}
	if (!S_ISREG(st.st_mode))
		error = pack_note(p, w->path, CODE_CONFLICT,
		    "it became another one meanwhile");
	else if (st.st_nlink > 1 &&
	    (first = pack_first(p, &st, w->path)) != NULL) {
		entry_fill(&e, PACK_HARD, w->path, &st);
		e.link = first;
		error = pack_head(p, &e);
	} else
		error = pack_bytes(p, fd, w->path, &st);
	close(fd);
	return (error == -1 ? ECANCELED : error);
}

static int
pack_link(struct pack *p, const struct walk_entry *w, const struct stat *st)
{
	struct pack_entry	 e;
	char			 to[PACK_PATH + 1];
	ssize_t			 n;

	if ((n = readlinkat(w->dirfd, w->name, to, sizeof(to))) == -1)
		return (errno == ENOENT ? 0 : pack_note(p, w->path,
		    errno_code(errno), strerror(errno)));
	if ((size_t)n == sizeof(to))
		return (pack_note(p, w->path, CODE_INVALID_PATH,
		    "its target is too long"));
	to[n] = '\0';
	entry_fill(&e, PACK_LINK, w->path, st);
	e.link = to;
	return (pack_head(p, &e));
}

/* That it cannot be entered is told; the walk passes over it. */
static int
pack_dir(struct pack *p, const struct walk_entry *w, const struct stat *st)
{
	struct pack_entry	 e;
	int			 fd;

	entry_fill(&e, PACK_DIR, w->path, st);
	if (pack_head(p, &e) != 0)
		return (ECANCELED);
	fd = openat(w->dirfd, w->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return (errno == ENOENT ? 0 : pack_note(p, w->path,
		    errno_code(errno), strerror(errno)));
	close(fd);
	return (0);
}

static int
pack_one(struct pack *p, const struct walk_entry *w)
{
	static const char	*const kinds[16] = {
		[DT_FIFO] = "a FIFO", [DT_SOCK] = "a socket",
		[DT_CHR] = "a device", [DT_BLK] = "a device",
	};
	struct stat		 st;

	if (w->len > PACK_PATH)
		return (pack_note(p, "", CODE_INVALID_PATH,
		    "a path is too long"));
	if (w->type == DT_REG)
		return (pack_file(p, w));
	if (p->files && w->type != DT_DIR)
		return (0);
	if (w->type != DT_DIR && w->type != DT_LNK)
		return (pack_note(p, w->path, CODE_NOT_FILE,
		    kinds[w->type & 15] == NULL ? "no regular file" :
		    kinds[w->type & 15]));
	if (fstatat(w->dirfd, w->name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno == ENOENT ? 0 : pack_note(p, w->path,
		    errno_code(errno), strerror(errno)));
	if (S_ISDIR(st.st_mode))
		return (pack_dir(p, w, &st));
	if (S_ISLNK(st.st_mode))
		return (pack_link(p, w, &st));
	return (pack_note(p, w->path, CODE_CONFLICT,
	    "it became another one meanwhile"));
}

static int
pack_walk(struct pack *p, struct walk *w)
{
	struct walk_entry	 e;
	int			 error;

	while (walk_next(w, &e)) {
		if (ignore_match(p->ignore, e.path, e.type == DT_DIR)) {
			if (e.type == DT_DIR)
				walk_skip(w);
			continue;
		}
		if (e.type == DT_DIR && e.len > PACK_PATH)
			walk_skip(w);
		if ((error = pack_one(p, &e)) != 0)
			return (error == -1 ? ECANCELED : error);
		if (!p->wanted(p->arg))
			return (ECANCELED);
	}
	if ((walk_left(w) & ~WALK_L_DENIED) != 0 && pack_note(p, ".",
	    CODE_LIMIT_EXCEEDED, "it has too many entries, or is too deep: "
	    "not all have come") == -1)
		return (ECANCELED);
	return (0);
}

int
pack(struct pack *p, int fd)
{
	struct pack_entry	 e;
	struct walk		*w;
	struct stat		 st;
	int			 error;

	if (fstat(fd, &st) == -1)
		return (errno);
	entry_fill(&e, PACK_DIR, ".", &st);
	if ((error = pack_head(p, &e)) != 0)
		return (error);
	if ((w = walk_open(fd, NO_DEADLINE)) == NULL)
		return (ENOMEM);
	error = pack_walk(p, w);
	walk_close(w);
	free(p->seen);
	p->seen = NULL;
	return (error);
}
