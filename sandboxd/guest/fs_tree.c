/*
 * Trees, out as a tar stream and in from one: either in one call, so that a
 * hundred thousand small files cost what their bytes do.
 */

#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "pack.h"
#include "tar.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE	1
#define RENAME_EXCHANGE		2
#endif
#define DIR_MODE	0777		/* less the mask */
#define LOOK_EACH	64		/* entries, then: is it wanted still? */

struct getting {
	struct job	*j;
	unsigned int	 n;
};

static int
get_head(void *arg, const struct pack_entry *e)
{
	struct getting	*g = arg;
	uint8_t		*p;

	p = job_room(g->j, TAR_HEAD_MAX);
	return (job_put(g->j, tar_head(p, e, NULL)));
}

static int
get_zeros(struct job *j, uint64_t len)
{
	uint8_t	*p;
	size_t	 n;

	for (; len > 0; len -= n) {
		p = job_room(j, 1);
		n = GP_MAX_DATA - j->outlen;
		if (n > len)
			n = len;
		memset(p, 0, n);
		if (job_put(j, n) == -1)
			return (-1);
	}
	return (0);
}

/* Zeros stand for what is not there any more. */
static int
get_body(void *arg, int fd, const struct pack_entry *e)
{
	struct getting	*g = arg;
	uint64_t	 left = e->size;
	ssize_t		 r;

	while (left > 0) {
		r = job_file(g->j, fd, e->size - left, left);
		if (g->j->lost)
			return (-1);
		if (r <= 0)
			break;
		left -= r;
	}
	if (get_zeros(g->j, left) == -1 ||
	    get_zeros(g->j, -e->size % TAR_BLOCK) == -1)
		return (-1);
	return (left > 0);
}

static int
get_note(void *arg, const char *path, enum code code, const char *why)
{
	struct getting		*g = arg;
	struct pack_entry	 e;
	char			 text[CALL_TEXT_MAX + 1];
	uint8_t			*p;

	if (!(g->j->m.flags & CALL_F_NOTES))
		return (0);
	snprintf(text, sizeof(text), "%d %s", (int)code, why);
	memset(&e, 0, sizeof(e));
	e.type = PACK_FILE;
	e.path = *path == '\0' ? "." : path;
	e.link = "";
	p = job_room(g->j, TAR_HEAD_MAX);
	return (job_put(g->j, tar_head(p, &e, text)));
}

static int
get_wanted(void *arg)
{
	struct getting	*g = arg;

	return (++g->n % LOOK_EACH != 0 || job_wanted(g->j));
}

static struct ignore *
tree_ignore(struct job *j)
{
	struct ignore	*ig;

	if ((ig = ignore_new()) == NULL) {
		job_errno(j, errno, "");
		return (NULL);
	}
	if (ignore_add(ig, j->m.pattern, strlen(j->m.pattern)) == 0)
		return (ig);
	job_fail(j, CODE_INVALID_ARGUMENT, "invalid pattern of what is left "
	    "out");
	ignore_free(ig);
	return (NULL);
}

void
fs_tree_get(struct job *j)
{
	struct getting	 g = { j, 0 };
	struct ignore	*ig;
	struct pack	 p;
	int		 fd, error;

	if ((ig = tree_ignore(j)) == NULL)
		return;
	memset(&p, 0, sizeof(p));
	p.head = get_head;
	p.body = get_body;
	p.note = get_note;
	p.wanted = get_wanted;
	p.arg = &g;
	p.ignore = ig;
	p.limit = j->m.limit;
	fd = open(j->m.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
	    (j->m.flags & CALL_F_NOFOLLOW ? O_NOFOLLOW : 0));
	if (fd == -1)
		job_errno(j, errno, "");
	else if ((error = pack(&p, fd)) == EFBIG)
		job_fail(j, CODE_TOO_LARGE, "more than %llu bytes",
		    (unsigned long long)j->m.limit);
	else if (error == ECANCELED)
		j->lost = 1;
	else if (error != 0)
		job_errno(j, error, "");
	else
		(void)get_zeros(j, 2 * TAR_BLOCK);
	if (fd != -1)
		close(fd);
	ignore_free(ig);
	j->end.count = p.entries;
	j->end.count2 = p.notes;
	if (p.notes > 0)
		j->end.flags |= CALL_R_DENIED;
}

/* A tree that is put, below a directory of the name or of another one. */
struct putting {
	struct job		*j;
	struct tar_reader	 r;
	struct place		 p;
	char			 path[CALL_PATH_MAX + 1];
	char			 dir[CALL_PATH_MAX + 1];
	const char		*name;
	int			 dirfd;
	char			 tmp[40];	/* beside it; "": none */
};

static ssize_t
put_more(void *arg, const uint8_t **p)
{
	struct putting	*t = arg;

	return (job_in(t->j, p));
}

static int
put_body(void *arg, int fd, const struct pack_entry *e)
{
	struct putting	*t = arg;
	const uint8_t	*p;
	uint64_t	 off = 0;
	ssize_t		 n;
	int		 error;

	(void)e;
	while ((n = tar_data(&t->r, &p)) > 0) {
		if ((error = place_write(fd, p, n, off)) != 0)
			return (error);
		off += n;
	}
	return (n == 0 ? 0 : ECANCELED);
}

static void
put_note(void *arg, const char *path, enum code code, const char *why)
{
	static struct stat	 none;
	struct putting		*t = arg;

	(void)fs_record(t->j, path, &none, why, code);
}

/* The directory that it goes to, which may be new. */
static int
put_open(struct job *j, const char *path)
{
	int	 fd;

	if (mkdir(path, DIR_MODE) == -1 && errno != EEXIST)
		return (job_errno(j, errno, ""));
	if ((fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (job_errno(j, errno, ""));
	return (fd);
}

/* One that nobody knows, until all is there. */
static int
put_temp(struct job *j, struct putting *t)
{
	struct stat	 st;
	uint64_t	 r;
	size_t		 len;
	int		 fd;

	for (len = strlen(t->path); len > 1 && t->path[len - 1] == '/';)
		t->path[--len] = '\0';
	if ((fd = path_follow(t->path)) != 0)
		return (job_errno(j, fd, ""));
	if ((t->name = path_split(t->path, t->dir)) == NULL)
		return (job_fail(j, CODE_INVALID_PATH, "it has no name"));
	t->dirfd = open(t->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->dirfd == -1)
		return (job_errno(j, errno, "its directory"));
	if (lstat(t->path, &st) == 0 && !S_ISDIR(st.st_mode))
		return (job_errno(j, ENOTDIR, ""));
	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		return (job_errno(j, EIO, ""));
	snprintf(t->tmp, sizeof(t->tmp), ".sandboxd-%016llx",
	    (unsigned long long)r);
	if (mkdirat(t->dirfd, t->tmp, DIR_MODE) == -1) {
		t->tmp[0] = '\0';
		return (job_errno(j, errno, ""));
	}
	fd = openat(t->dirfd, t->tmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	return (fd == -1 ? job_errno(j, errno, "") : fd);
}

/* It takes its name; what had that goes, once nobody can see it any more. */
static void
put_name(struct job *j, struct putting *t)
{
	if (syscall(SYS_renameat2, t->dirfd, t->tmp, t->dirfd, t->name,
	    RENAME_NOREPLACE) == 0)
		t->tmp[0] = '\0';
	else if (errno != EEXIST || syscall(SYS_renameat2, t->dirfd, t->tmp,
	    t->dirfd, t->name, RENAME_EXCHANGE) == -1)
		job_errno(j, errno, "its name");
}

static void
put_all(struct job *j, struct putting *t)
{
	struct pack_entry	 e;
	int			 n, error = 0;

	while (error == 0 && (n = tar_next(&t->r, &e)) == 1)
		error = place_entry(&t->p, &e);
	place_end(&t->p);
	if (t->r.why != NULL)
		job_fail(j, CODE_INVALID_ARGUMENT, "the stream: %s", t->r.why);
	else if (error == EFBIG)
		job_fail(j, CODE_TOO_LARGE, "more than %llu bytes",
		    (unsigned long long)j->m.limit);
	else if (error == ECANCELED || (error == 0 && n == -1))
		j->lost = 1;
	else if (error != 0)
		job_fail(j, errno_code(error), "%.100s: %s", e.path,
		    strerror(error));
}

void
fs_tree_put(struct job *j)
{
	struct putting	*t;
	int		 fd, error;

	if ((t = calloc(1, sizeof(*t))) == NULL) {
		job_errno(j, errno, "");
		return;
	}
	t->j = j;
	t->dirfd = -1;
	t->r.more = put_more;
	t->r.arg = t;
	t->p.body = put_body;
	t->p.note = put_note;
	t->p.arg = t;
	t->p.limit = j->m.limit;
	snprintf(t->path, sizeof(t->path), "%s", j->m.path);
	if (j->m.flags & CALL_F_PARENTS &&
	    (error = path_parents(t->path, DIR_MODE)) != 0)
		fd = job_errno(j, error, "its directory");
	else
		fd = j->m.flags & CALL_F_ATOMIC ? put_temp(j, t) :
		    put_open(j, t->path);
	if (fd != -1) {
		place_begin(&t->p, fd);
		put_all(j, t);
		close(fd);
		if (t->tmp[0] != '\0' && j->end.code == CODE_OK && !j->lost)
			put_name(j, t);
	}
	if (t->tmp[0] != '\0')
		place_remove(t->dirfd, t->tmp);
	if (t->dirfd != -1)
		close(t->dirfd);
	j->end.count = t->p.entries;
	j->end.count2 = t->p.notes;
	if (t->p.notes > 0)
		j->end.flags |= CALL_R_DENIED;
	free(t);
}
