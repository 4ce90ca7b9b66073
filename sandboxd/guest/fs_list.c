/* Entries of directories, and how much they take. */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "call.h"

#define SEEN_MAX	65536		/* files of several names, remembered */

struct list {
	struct walk	 w;
	struct job	*j;
	uint64_t	 n;
};

static int
list_open(struct job *j)
{
	int	 fd, flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK;

	if (j->m.flags & CALL_F_NOFOLLOW)
		flags |= O_NOFOLLOW;
	if ((fd = open(j->m.path, flags)) == -1)
		return (job_errno(j, errno, ""));
	return (fd);
}

static int
list_one(struct walk *w, enum walk_at at, int dirfd, const char *name,
    const struct stat *st, int error)
{
	struct list	*l = (struct list *)w;
	char		 target[CALL_PATH_MAX + 1];
	ssize_t		 n;

	if (at == WALK_AFTER)
		return (0);
	if (l->j->m.limit != 0 && l->n == l->j->m.limit) {
		l->j->end.flags |= CALL_R_MORE;
		return (-1);
	}
	/* It was told as an entry; that it cannot be entered is one more. */
	l->n++;
	target[0] = '\0';
	if (S_ISLNK(st->st_mode) && (n = readlinkat(dirfd, name, target,
	    sizeof(target) - 1)) != -1)
		target[n] = '\0';
	return (fs_record(l->j, w->path, st, target,
	    at == WALK_ERROR ? errno_code(error) : CODE_OK));
}

void
fs_list(struct job *j)
{
	struct list	 l;
	int		 fd;

	memset(&l, 0, sizeof(l));
	l.j = j;
	l.w.fn = list_one;
	l.w.recurse = (j->m.flags & CALL_F_RECURSE) != 0;
	if ((fd = list_open(j)) != -1)
		(void)walk(j, &l.w, fd);
	j->end.count = l.n;
}

struct usage {
	struct walk	 w;
	struct job	*j;
	uint64_t	 bytes;
	uint64_t	 entries;
	uint64_t	 errors;
};

static struct {
	dev_t	 dev;
	ino_t	 ino;
} seen[SEEN_MAX];
static unsigned int	 nseen;

/* A file of several names counts once, as far as they can be remembered. */
static int
seen_before(const struct stat *st)
{
	size_t	 i;

	i = (st->st_ino * 2654435761U + st->st_dev) % SEEN_MAX;
	while (seen[i].ino != 0) {
		if (seen[i].ino == st->st_ino && seen[i].dev == st->st_dev)
			return (1);
		i = (i + 1) % SEEN_MAX;
	}
	if (nseen < SEEN_MAX / 2) {
		nseen++;
		seen[i].dev = st->st_dev;
		seen[i].ino = st->st_ino;
	}
	return (0);
}

static int
usage_one(struct walk *w, enum walk_at at, int dirfd, const char *name,
    const struct stat *st, int error)
{
	struct usage	*u = (struct usage *)w;

	(void)dirfd;
	(void)name;
	(void)error;
	if (at == WALK_ERROR)
		u->errors++;
	if (at != WALK_ENTRY)
		return (0);
	u->entries++;
	if (S_ISDIR(st->st_mode) || st->st_nlink < 2 || !seen_before(st))
		u->bytes += (uint64_t)st->st_blocks * 512;
	return (0);
}

void
fs_usage(struct job *j)
{
	struct usage	 u;
	struct stat	 st;
	int		 fd;

	memset(&u, 0, sizeof(u));
	u.j = j;
	u.w.fn = usage_one;
	u.w.recurse = 1;
	if (lstat(j->m.path, &st) == -1) {
		job_errno(j, errno, "");
		return;
	}
	if (nseen > 0)
		memset(seen, 0, sizeof(seen));
	nseen = 0;
	u.entries = 1;
	u.bytes = (uint64_t)st.st_blocks * 512;
	if (S_ISDIR(st.st_mode) && (fd = list_open(j)) != -1)
		(void)walk(j, &u.w, fd);
	j->end.count = u.bytes;
	j->end.count2 = u.entries;
	if (u.errors > 0)
		j->end.flags |= CALL_R_MORE;
}
