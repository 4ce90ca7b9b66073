/*
 * A tree to another place of the sandbox: what takes trees out and what takes
 * them in, one beside the other, so that both judge as they do elsewhere.  A
 * link may lead anywhere here, since who copies it is whose it becomes.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "pack.h"

#define DIR_MODE	0777		/* less the mask */
#define LOOK_EACH	64		/* entries, then: is it wanted still? */

struct copying {
	struct job	*j;
	struct pack	 p;
	struct place	 to;
	int		 from;		/* its bytes, if it is a file */
	int		 error;		/* why there is no going on */
	unsigned int	 n;
};

static int
copy_note(void *arg, const char *path, enum code code, const char *why)
{
	static struct stat	 none;
	struct copying		*c = arg;

	return (fs_record(c->j, path, &none, why, code));
}

static void
copy_refused(void *arg, const char *path, enum code code, const char *why)
{
	(void)copy_note(arg, path, code, why);
}

static int
copy_wanted(void *arg)
{
	struct copying	*c = arg;

	return (++c->n % LOOK_EACH != 0 || job_wanted(c->j));
}

static int
copy_place(struct copying *c, const struct pack_entry *e)
{
	if ((c->error = place_entry(&c->to, e)) == 0)
		return (0);
	/* Of a tree it is news which of them it was. */
	if (c->error != ECANCELED)
		job_fail(c->j, errno_code(c->error), "%.100s: %s", e->path,
		    strerror(c->error));
	return (-1);
}

/* A file waits for its bytes. */
static int
copy_head(void *arg, const struct pack_entry *e)
{
	return (e->type == PACK_FILE ? 0 : copy_place(arg, e));
}

/* That it has become shorter pack() sees by itself. */
static int
copy_body(void *arg, int fd, const struct pack_entry *e)
{
	struct copying	*c = arg;

	c->from = fd;
	return (copy_place(c, e));
}

static int
copy_part(struct copying *c, int fd, uint64_t off, uint64_t end)
{
	static uint8_t	 buf[65536];
	ssize_t		 n;
	int		 error;

	for (; off < end; off += n) {
		n = end - off < sizeof(buf) ? end - off : sizeof(buf);
		if ((n = pread(c->from, buf, n, off)) == -1)
			return (errno);
		if (n == 0)
			break;
		if ((error = place_write(fd, buf, n, off)) != 0)
			return (error);
		if (!job_wanted(c->j))
			return (ECANCELED);
	}
	return (0);
}

/* Holes are passed over where the file system tells of them. */
static int
copy_bytes(void *arg, int fd, const struct pack_entry *e)
{
	struct copying	*c = arg;
	uint64_t	 off, end;
	off_t		 at;
	int		 error;

	for (off = 0; off < e->size; off = end) {
		end = e->size;
		at = lseek(c->from, off, SEEK_DATA);
		if (at == -1 && errno == ENXIO)
			break;
		if (at != -1) {
			if ((uint64_t)at >= end)
				break;
			off = at;
			at = lseek(c->from, off, SEEK_HOLE);
			if (at != -1 && (uint64_t)at > off &&
			    (uint64_t)at < end)
				end = at;
		}
		if ((error = copy_part(c, fd, off, end)) != 0)
			return (error);
	}
	return (0);
}

/*
 * Is the directory the other one, or below it?  Above what cannot be entered
 * we need not look: the walk would not get past that either.
 */
static int
is_below(struct job *j, int fd, const struct stat *top)
{
	struct stat	 st, last;
	int		 up, next, ret = 0;

	memset(&last, 0, sizeof(last));
	up = openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (up != -1 && ret == 0 && fstat(up, &st) == 0 &&
	    (st.st_dev != last.st_dev || st.st_ino != last.st_ino) &&
	    job_wanted(j)) {
		ret = st.st_dev == top->st_dev && st.st_ino == top->st_ino;
		last = st;
		next = openat(up, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(up);
		up = next;
	}
	if (up != -1)
		close(up);
	return (ret);
}

/* The directory that it goes to, which may be new. */
static int
copy_open(struct job *j, int from)
{
	struct stat	 st;
	int		 fd, new;

	if (!(new = mkdir(j->m.path2, DIR_MODE) == 0) && errno != EEXIST)
		return (job_errno(j, errno, ""));
	if ((fd = open(j->m.path2, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (job_errno(j, errno, ""));
	if (fstat(from, &st) == 0 && !is_below(j, fd, &st))
		return (fd);
	close(fd);
	if (new)
		(void)rmdir(j->m.path2);
	return (job_fail(j, CODE_INVALID_PATH,
	    "a directory cannot be copied into itself"));
}

static void
copy_dir(struct job *j, struct copying *c)
{
	int	 fd, to, error;

	if ((fd = open(j->m.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1) {
		job_errno(j, errno, "");
		return;
	}
	if ((to = copy_open(j, fd)) != -1) {
		place_begin(&c->to, to);
		error = pack(&c->p, fd);
		place_end(&c->to);
		close(to);
		if (error == EFBIG)
			job_fail(j, CODE_TOO_LARGE, "more than %llu bytes",
			    (unsigned long long)j->m.limit);
		else if (error == ECANCELED && (c->error == 0 ||
		    c->error == ECANCELED))
			j->lost = 1;
		else if (error != 0)
			job_errno(j, error, "");
	}
	close(fd);
}

/* A link by itself, in the place of what is no directory. */
static void
copy_link(struct job *j, struct copying *c)
{
	struct pack_entry	 e;
	struct stat		 st;
	char			 to[CALL_PATH_MAX + 1], dir[CALL_PATH_MAX + 1];
	ssize_t			 n;
	int			 fd;

	memset(&e, 0, sizeof(e));
	e.type = PACK_LINK;
	e.link = to;
	if ((e.path = path_split(j->m.path2, dir)) == NULL) {
		job_fail(j, CODE_INVALID_PATH, "it has no name");
		return;
	}
	if (lstat(j->m.path, &st) == -1 ||
	    (n = readlink(j->m.path, to, sizeof(to) - 1)) == -1 ||
	    (fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1) {
		job_errno(j, errno, "");
		return;
	}
	to[n] = '\0';
	e.sec = st.st_mtim.tv_sec;
	e.nsec = st.st_mtim.tv_nsec;
	place_begin(&c->to, fd);
	(void)copy_place(c, &e);
	place_end(&c->to);
	close(fd);
}

/* A file, as the copy of one is; what else it may be is refused. */
static void
copy_file(struct job *j, struct copying *c)
{
	fs_copy(j);
	c->to.entries = j->end.code == CODE_OK;
}

void
fs_tree_copy(struct job *j)
{
	struct copying	*c;
	struct stat	 st;

	if (lstat(j->m.path, &st) == -1) {
		job_errno(j, errno, "");
		return;
	}
	if ((c = calloc(1, sizeof(*c))) == NULL) {
		job_errno(j, errno, "");
		return;
	}
	c->j = j;
	c->p.head = copy_head;
	c->p.body = copy_body;
	c->p.note = copy_note;
	c->p.wanted = copy_wanted;
	c->p.limit = j->m.limit;
	c->to.body = copy_bytes;
	c->to.note = copy_refused;
	c->to.links = 1;
	c->p.arg = c->to.arg = c;
	if (S_ISDIR(st.st_mode))
		copy_dir(j, c);
	else if (S_ISLNK(st.st_mode))
		copy_link(j, c);
	else
		copy_file(j, c);
	j->end.count = c->to.entries;
	j->end.count2 = c->p.notes + c->to.notes;
	if (j->end.count2 > 0)
		j->end.flags |= CALL_R_DENIED;
	free(c);
}
