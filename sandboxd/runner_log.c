/*
 * Logs of output, one per exec and stream, below log/<owner>/<n>/:
 *
 *	<k>.<stream>		the head, from offset 0
 *	<k>.<stream>.d/<start>	segments, named by the offset of their first
 *				byte, 16 hexadecimal digits
 *
 * Each part holds an eighth of the bound and never changes once it is full;
 * past the bound the oldest segment after the head goes.  Names and sizes
 * tell all that there is to know, so a log is found again after any death of
 * ours.  A file is made by the first byte that goes into it.  Bytes that
 * cannot be written leave a hole: the length counts them, readers are told.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "log.h"
#include "runner.h"

#define SLOG_PART_MIN	4096
#define SLOG_NAME	128

static struct slogs	 slogs = RB_INITIALIZER(&slogs);

int
slog_cmp(struct slog *a, struct slog *b)
{
	if (a->n != b->n)
		return (a->n < b->n ? -1 : 1);
	if (a->k != b->k)
		return (a->k < b->k ? -1 : 1);
	if (a->stream != b->stream)
		return (a->stream < b->stream ? -1 : 1);
	return (0);
}

RB_GENERATE(slogs, slog, entry, slog_cmp)

static uint64_t
slog_part_max(const struct slog *l)
{
	uint64_t	 max = runner_conf.log_exec, user;

	/* A head that fills the sandbox's share would leave no tail. */
	if (runner_conf.log_sandbox != 0 && max > runner_conf.log_sandbox)
		max = runner_conf.log_sandbox;
	if (runner_conf.log_total != 0 && max > runner_conf.log_total)
		max = runner_conf.log_total;
	if ((user = quota_user(l->owner)) != 0 && max > user)
		max = user;
	max /= SLOG_PARTS;
	return (max < SLOG_PART_MIN ? SLOG_PART_MIN : max);
}

/* The folder of the sandbox's logs. */
static void
slog_box_name(const struct slog *l, char *name, size_t size)
{
	snprintf(name, size, "log/%u/%" PRIu64, l->owner, l->n);
}

static void
slog_dir_name(const struct slog *l, char *name, size_t size)
{
	snprintf(name, size, "log/%u/%" PRIu64 "/%" PRIu64 ".%u.d", l->owner,
	    l->n, l->k, l->stream);
}

static void
slog_part_name(const struct slog *l, uint64_t start, char *name, size_t size)
{
	if (start == 0)
		snprintf(name, size, "log/%u/%" PRIu64 "/%" PRIu64 ".%u",
		    l->owner, l->n, l->k, l->stream);
	else
		snprintf(name, size, "log/%u/%" PRIu64 "/%" PRIu64
		    ".%u.d/%016" PRIx64, l->owner, l->n, l->k, l->stream,
		    start);
}

static int
slog_part_cmp(const void *a, const void *b)
{
	const struct slog_part	*pa = a, *pb = b;

	return (pa->start < pb->start ? -1 : pa->start > pb->start);
}

static void
slog_part_add(struct slog *l, uint64_t start, uint64_t len)
{
	l->parts = reallocarray(l->parts, l->nparts + 1, sizeof(*l->parts));
	if (l->parts == NULL)
		fatal("%s", __func__);
	l->parts[l->nparts].start = start;
	l->parts[l->nparts].len = len;
	l->nparts++;
}

static void
slog_part_remove(struct slog *l, size_t i)
{
	char	 name[SLOG_NAME];

	slog_part_name(l, l->parts[i].start, name, sizeof(name));
	if (unlink(name) == -1 && errno != ENOENT)
		log_warn("unlink %s", name);
	quota_add(l, -(int64_t)l->parts[i].len);
	l->nparts--;
	memmove(&l->parts[i], &l->parts[i + 1],
	    (l->nparts - i) * sizeof(*l->parts));
}

/* Segments on the disk; there are few, each name is a number. */
static void
slog_load_dir(struct slog *l)
{
	char		 name[SLOG_NAME], *end;
	struct dirent	*de;
	struct stat	 st;
	uint64_t	 start;
	DIR		*dir;

	slog_dir_name(l, name, sizeof(name));
	if ((dir = opendir(name)) == NULL) {
		if (errno != ENOENT)
			log_warn("%s", name);
		return;
	}
	l->hasdir = 1;
	while ((de = readdir(dir)) != NULL) {
		start = strtoull(de->d_name, &end, 16);
		if (*end != '\0' || start == 0 || strlen(de->d_name) != 16)
			continue;
		if (fstatat(dirfd(dir), de->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) == -1 || !S_ISREG(st.st_mode))
			continue;
		slog_part_add(l, start, st.st_size);
	}
	closedir(dir);
}

static void
slog_load(struct slog *l)
{
	char			 name[SLOG_NAME];
	struct slog_part	*p;
	struct stat		 st;

	slog_part_name(l, 0, name, sizeof(name));
	if (stat(name, &st) == 0)
		slog_part_add(l, 0, st.st_size);
	else if (errno != ENOENT)
		log_warn("%s", name);
	slog_load_dir(l);
	if (l->nparts == 0)
		return;
	qsort(l->parts, l->nparts, sizeof(*l->parts), slog_part_cmp);
	p = &l->parts[l->nparts - 1];
	l->len = p->start + p->len;
}

struct slog *
slog_find(uint64_t n, uint64_t k, uint32_t stream)
{
	struct slog	 key;

	key.n = n;
	key.k = k;
	key.stream = stream;
	return (RB_FIND(slogs, &slogs, &key));
}

/* Whoever gets a log says slog_release() once. */
struct slog *
slog_open(uint64_t n, uint64_t k, uint32_t owner, uint32_t stream, int isnew)
{
	struct slog	*l;

	if ((l = slog_find(n, k, stream)) != NULL) {
		l->refs++;
		return (l);
	}
	if ((l = calloc(1, sizeof(*l))) == NULL)
		fatal("%s", __func__);
	l->n = n;
	l->k = k;
	l->owner = owner;
	l->stream = stream;
	l->refs = 1;
	l->fd = -1;
	l->isnew = isnew;
	TAILQ_INIT(&l->readers);
	if (!isnew)
		slog_load(l);
	RB_INSERT(slogs, &slogs, l);
	return (l);
}

static void
slog_close(struct slog *l)
{
	if (l->fd != -1)
		close(l->fd);
	l->fd = -1;
}

void
slog_release(struct slog *l)
{
	if (--l->refs > 0)
		return;
	slog_close(l);
	RB_REMOVE(slogs, &slogs, l);
	free(l->parts);
	free(l);
}

uint64_t
slog_stored(const struct slog *l)
{
	uint64_t	 sum = 0;
	size_t		 i;

	for (i = 0; i < l->nparts; i++)
		sum += l->parts[i].len;
	return (sum);
}

/* Makes the folders that are missing above a part. */
static int
slog_make_dirs(struct slog *l, uint64_t start)
{
	char	 name[SLOG_NAME];

	snprintf(name, sizeof(name), "log/%u", l->owner);
	if (mkdir(name, 0700) == -1 && errno != EEXIST)
		return (-1);
	slog_box_name(l, name, sizeof(name));
	if (mkdir(name, 0700) == -1 && errno != EEXIST)
		return (-1);
	if (start == 0)
		return (0);
	slog_dir_name(l, name, sizeof(name));
	if (mkdir(name, 0700) == -1 && errno != EEXIST)
		return (-1);
	l->hasdir = 1;
	return (0);
}

/*
 * The oldest segment after the head, never the last part.  What the primary
 * reader has still to read stays: he lags by a window at most.
 */
int
slog_drop_oldest(struct slog *l)
{
	size_t	 i = l->nparts > 0 && l->parts[0].start == 0 ? 1 : 0;

	if (i + 1 >= l->nparts)
		return (-1);
	if (l->primary != NULL &&
	    l->parts[i].start + l->parts[i].len > l->primary->off)
		return (-1);
	fault("runner.segment.before");
	slog_part_remove(l, i);
	fault("runner.segment.after");
	return (0);
}

/* Makes a new part that begins at the log's end. */
static int
slog_new_part(struct slog *l)
{
	char	 name[SLOG_NAME];
	int	 flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;

	while (l->nparts >= SLOG_PARTS && slog_drop_oldest(l) == 0)
		;
	/* A number is never used twice, but a file may be a stranger's. */
	if (l->isnew)
		flags |= O_TRUNC;
	slog_part_name(l, l->len, name, sizeof(name));
	if ((l->fd = open(name, flags, 0600)) == -1 && errno == ENOENT) {
		if (slog_make_dirs(l, l->len) == -1)
			return (-1);
		l->fd = open(name, flags, 0600);
	}
	if (l->fd == -1)
		return (-1);
	fault("runner.part.after");
	slog_part_add(l, l->len, 0);
	return (0);
}

/* The part that the next byte goes to, open; NULL with errno. */
static struct slog_part *
slog_last(struct slog *l)
{
	struct slog_part	*p;

	if (l->nparts > 0) {
		p = &l->parts[l->nparts - 1];
		if (p->start + p->len == l->len && p->len < slog_part_max(l)) {
			if (l->fd == -1)
				l->fd = slog_part_open(l, NULL);
			return (l->fd == -1 ? NULL : p);
		}
	}
	slog_close(l);
	if (slog_new_part(l) == -1)
		return (NULL);
	return (&l->parts[l->nparts - 1]);
}

/* What could not be written is a hole; the command goes on. */
static void
slog_failed(struct slog *l, size_t len)
{
	if (!l->warned)
		log_warn("log of exec %" PRIu64 " in sandbox %" PRIu64,
		    l->k, l->n);
	l->warned = 1;
	slog_close(l);
	if (l->nparts > 0 && l->parts[l->nparts - 1].len == 0)
		slog_part_remove(l, l->nparts - 1);
	l->len += len;
}

void
slog_append(struct slog *l, const uint8_t *data, size_t len)
{
	struct slog_part	*p;
	uint64_t		 room;
	ssize_t			 n;

	while (len > 0) {
		if (quota_room(l, len) == -1) {
			errno = EDQUOT;
			slog_failed(l, len);
			return;
		}
		if ((p = slog_last(l)) == NULL) {
			slog_failed(l, len);
			return;
		}
		room = slog_part_max(l) - p->len;
		n = write(l->fd, data, len < room ? len : room);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0) {
			slog_failed(l, len);
			return;
		}
		p->len += n;
		l->len += n;
		quota_add(l, n);
		data += n;
		len -= n;
	}
}

/* The bytes up to an offset are lost: a crash of the host took them. */
void
slog_skip(struct slog *l, uint64_t to)
{
	slog_close(l);
	l->len = to;
}

void
slog_end(struct slog *l)
{
	l->ended = 1;
	l->exec = NULL;
	slog_close(l);
}

struct slog_part *
slog_part(struct slog *l, uint64_t off, uint64_t *next)
{
	size_t	 i;

	for (i = 0; i < l->nparts; i++) {
		if (off < l->parts[i].start) {
			*next = l->parts[i].start;
			return (NULL);
		}
		if (off < l->parts[i].start + l->parts[i].len)
			return (&l->parts[i]);
	}
	*next = l->len;
	return (NULL);
}

/* A part for reading, or with NULL the last one for appending. */
int
slog_part_open(struct slog *l, const struct slog_part *p)
{
	char	 name[SLOG_NAME];
	int	 flags = O_RDONLY;

	if (p == NULL) {
		p = &l->parts[l->nparts - 1];
		flags = O_WRONLY | O_APPEND;
	}
	slog_part_name(l, p->start, name, sizeof(name));
	return (open(name, flags | O_CLOEXEC | O_NOFOLLOW));
}

void
slog_drop(struct slog *l)
{
	char	 name[SLOG_NAME];

	slog_close(l);
	while (l->nparts > 0)
		slog_part_remove(l, l->nparts - 1);
	if (l->hasdir) {
		slog_dir_name(l, name, sizeof(name));
		if (rmdir(name) == -1 && errno != ENOENT)
			log_warn("rmdir %s", name);
		l->hasdir = 0;
	}
}
