/*
 * How much the logs hold, per sandbox, per user and in all, and what goes when
 * that is too much: the logs of ended execs, oldest first; then segments of
 * the log that grows; then its bytes leave holes.
 *
 * The sums of what was there before us are found by a walk in the
 * background, a sandbox in a turn of the loop, and so is the removal of a
 * sandbox's logs, whose folder is first renamed to log/gone.<...>.
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

#define QUOTA_SLICE	64		/* files removed in a turn */
#define QUOTA_NAME	320

RB_HEAD(boxlogs, boxlog);
RB_HEAD(userlogs, userlog);

struct gone {
	TAILQ_ENTRY(gone)	 entry;
	char			 name[QUOTA_NAME];
};

static struct boxlogs	 boxlogs = RB_INITIALIZER(&boxlogs);
static struct userlogs	 userlogs = RB_INITIALIZER(&userlogs);
static TAILQ_HEAD(, gone) gones = TAILQ_HEAD_INITIALIZER(gones);
static uint64_t		 total;
static int		 total_full;	/* nothing ended is left to go */
static struct event	 ev_walk;
static DIR		*walk_top;	/* log/ */
static DIR		*walk_owner;	/* log/<owner>/ */
static uint32_t		 walk_uid;
static uint64_t		 gone_count;

static int
boxlog_cmp(struct boxlog *a, struct boxlog *b)
{
	return (a->n < b->n ? -1 : a->n > b->n);
}

RB_PROTOTYPE(boxlogs, boxlog, entry, boxlog_cmp)
RB_GENERATE(boxlogs, boxlog, entry, boxlog_cmp)

static int
userlog_cmp(struct userlog *a, struct userlog *b)
{
	return (a->uid < b->uid ? -1 : a->uid > b->uid);
}

RB_PROTOTYPE(userlogs, userlog, entry, userlog_cmp)
RB_GENERATE(userlogs, userlog, entry, userlog_cmp)

/* The last that matches wins, and what any user may have binds no root. */
static uint64_t
userlog_most(uint32_t uid)
{
	const struct u64v	*v = &runner_conf.log_users;
	uint64_t		 most = 0;
	size_t			 i;

	for (i = 0; i + 1 < v->n; i += 2)
		if (v->v[i] == uid || (v->v[i] == LOG_ANY && uid != 0))
			most = v->v[i + 1];
	return (most);
}

/* They stay: a user who has had a sandbox will have another. */
static struct userlog *
userlog_get(uint32_t uid)
{
	struct userlog	*ul, key;

	key.uid = uid;
	if ((ul = RB_FIND(userlogs, &userlogs, &key)) == NULL) {
		if ((ul = calloc(1, sizeof(*ul))) == NULL)
			fatal("%s", __func__);
		ul->uid = uid;
		ul->most = userlog_most(uid);
		ul->generation = runner_conf.generation;
		RB_INSERT(userlogs, &userlogs, ul);
	} else if (ul->generation != runner_conf.generation) {
		ul->most = userlog_most(uid);
		ul->generation = runner_conf.generation;
		ul->full = 0;
	}
	return (ul);
}

uint64_t
quota_user(uint32_t uid)
{
	return (userlog_get(uid)->most);
}

static struct boxlog *
boxlog_get(uint64_t n, uint32_t owner)
{
	struct boxlog	*bl, key;

	key.n = n;
	if ((bl = RB_FIND(boxlogs, &boxlogs, &key)) != NULL)
		return (bl);
	if ((bl = calloc(1, sizeof(*bl))) == NULL)
		fatal("%s", __func__);
	bl->n = n;
	bl->owner = owner;
	bl->user = userlog_get(owner);
	RB_INSERT(boxlogs, &boxlogs, bl);
	return (bl);
}

static void
boxlog_add(struct boxlog *bl, int64_t bytes)
{
	/* Files that the walk has not seen yet may go before it comes. */
	if (bytes < 0 && (uint64_t)-bytes > bl->bytes)
		bytes = -(int64_t)bl->bytes;
	bl->bytes += bytes;
	bl->user->bytes += bytes;
	total += bytes;
}

void
quota_add(struct slog *l, int64_t bytes)
{
	struct boxlog	*bl, key;

	key.n = l->n;
	if (bytes > 0)
		bl = boxlog_get(l->n, l->owner);
	else
		bl = RB_FIND(boxlogs, &boxlogs, &key);
	if (bl != NULL)
		boxlog_add(bl, bytes);
}

/* An exec has ended: its logs may go when room is needed. */
void
quota_ended(uint64_t n)
{
	struct boxlog	*bl, key;

	key.n = n;
	if ((bl = RB_FIND(boxlogs, &boxlogs, &key)) != NULL)
		bl->full = bl->user->full = 0;
	total_full = 0;
}

/* A whole name that is a number. */
static int
quota_number(const char *s, char end, uint64_t *v)
{
	char	*p;

	if (*s < '0' || *s > '9')
		return (-1);
	*v = strtoull(s, &p, 10);
	return (*p == end ? 0 : -1);
}

/* Sums the files of a folder and of the folders of segments in it. */
static uint64_t
quota_sum(int at, const char *name, int depth)
{
	struct dirent	*de;
	struct stat	 st;
	uint64_t	 sum = 0;
	DIR		*dir;
	int		 fd;

	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (0);
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return (0);
	}
	while ((de = readdir(dir)) != NULL) {
		if (de->d_name[0] == '.')
			continue;
		if (fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
			continue;
		if (S_ISREG(st.st_mode))
			sum += st.st_size;
		else if (S_ISDIR(st.st_mode) && depth > 0)
			sum += quota_sum(fd, de->d_name, depth - 1);
	}
	closedir(dir);
	return (sum);
}

static void
quota_gone(const char *name)
{
	struct gone	*g;

	if ((g = calloc(1, sizeof(*g))) == NULL)
		fatal("%s", __func__);
	snprintf(g->name, sizeof(g->name), "log/%s", name);
	TAILQ_INSERT_TAIL(&gones, g, entry);
}

/* One sandbox or one owner of the walk: 1 if there may be more. */
static int
quota_walk(void)
{
	struct boxlog	*bl;
	struct dirent	*de;
	uint64_t	 n;
	int		 fd;

	if (walk_owner != NULL) {
		while ((de = readdir(walk_owner)) != NULL) {
			if (quota_number(de->d_name, '\0', &n) == -1)
				continue;
			bl = boxlog_get(n, walk_uid);
			boxlog_add(bl, -(int64_t)bl->bytes);
			boxlog_add(bl, quota_sum(dirfd(walk_owner),
			    de->d_name, 1));
			return (1);
		}
		closedir(walk_owner);
		walk_owner = NULL;
	}
	while ((de = readdir(walk_top)) != NULL) {
		if (strncmp(de->d_name, "gone.", 5) == 0)
			quota_gone(de->d_name);
		if (quota_number(de->d_name, '\0', &n) == -1)
			continue;
		fd = openat(dirfd(walk_top), de->d_name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd == -1)
			continue;
		if ((walk_owner = fdopendir(fd)) == NULL)
			close(fd);
		walk_uid = n;
		return (1);
	}
	closedir(walk_top);
	walk_top = NULL;
	return (0);
}

/* Removes at most *left files of a folder: 0 when it is gone. */
static int
quota_empty(int at, const char *name, int depth, int *left)
{
	struct dirent	*de;
	DIR		*dir;
	int		 fd;

	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (errno == ENOENT ? 0 : -1);
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return (-1);
	}
	while (*left > 0 && (de = readdir(dir)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		(*left)--;
		if (unlinkat(fd, de->d_name, 0) == 0 || errno == ENOENT)
			continue;
		if (depth == 0 ||
		    quota_empty(fd, de->d_name, depth - 1, left) == -1) {
			closedir(dir);
			return (-1);
		}
	}
	closedir(dir);
	if (*left == 0)
		return (0);
	if (unlinkat(at, name, AT_REMOVEDIR) == -1 && errno != ENOENT)
		return (-1);
	return (0);
}

static void
quota_turn(int fd, short event, void *arg)
{
	struct timeval	 tv = { 0, 0 };
	struct gone	*g;
	int		 left = QUOTA_SLICE, more = 0;

	(void)fd;
	(void)event;
	(void)arg;
	if (walk_top != NULL)
		more = quota_walk();
	if ((g = TAILQ_FIRST(&gones)) != NULL) {
		if (quota_empty(AT_FDCWD, g->name, 1, &left) == -1)
			log_warn("cannot remove %s", g->name);
		if (left > 0) {
			TAILQ_REMOVE(&gones, g, entry);
			free(g);
		}
	}
	if (more || !TAILQ_EMPTY(&gones))
		evtimer_add(&ev_walk, &tv);
}

static void
quota_start(void)
{
	struct timeval	 tv = { 0, 0 };

	if (!evtimer_pending(&ev_walk, NULL))
		evtimer_add(&ev_walk, &tv);
}

void
quota_init(void)
{
	evtimer_set(&ev_walk, quota_turn, NULL);
	if ((walk_top = opendir("log")) == NULL)
		fatal("log");
	quota_start();
}

/* All logs of a sandbox: out of the way now, removed by and by. */
void
quota_remove(uint32_t owner, uint64_t n, uint64_t k)
{
	char		 from[QUOTA_NAME], to[QUOTA_NAME];
	struct boxlog	*bl, key;
	struct slog	*l;
	uint32_t	 s;

	if (k != 0) {
		for (s = GP_STDOUT; s <= GP_STDERR; s++) {
			l = slog_open(n, k, owner, s, 0);
			slog_drop(l);
			slog_release(l);
		}
		return;
	}
	snprintf(from, sizeof(from), "log/%u/%" PRIu64, owner, n);
	snprintf(to, sizeof(to), "log/gone.%d.%" PRIu64 ".%" PRIu64,
	    (int)getpid(), n, gone_count++);
	fault("runner.remove.before");
	if (rename(from, to) == 0) {
		fault("runner.remove.after");
		quota_gone(to + strlen("log/"));
		quota_start();
	} else if (errno != ENOENT)
		log_warn("rename %s", from);
	snprintf(from, sizeof(from), "log/%u", owner);
	(void)rmdir(from);
	key.n = n;
	if ((bl = RB_FIND(boxlogs, &boxlogs, &key)) != NULL) {
		total -= bl->bytes;
		bl->user->bytes -= bl->bytes;
		RB_REMOVE(boxlogs, &boxlogs, bl);
		free(bl);
	}
}

static int
quota_cmp(const void *a, const void *b)
{
	const uint64_t	*ka = a, *kb = b;

	return (*ka < *kb ? -1 : *ka > *kb);
}

/* Numbers of the ended execs that have logs. */
static size_t
quota_list(struct boxlog *bl, uint64_t **ks)
{
	char		 name[QUOTA_NAME];
	struct dirent	*de;
	struct box	*box;
	uint64_t	 k, *p;
	size_t		 n = 0, size = 0;
	DIR		*dir;

	*ks = NULL;
	box = box_find(bl->n);
	snprintf(name, sizeof(name), "log/%u/%" PRIu64, bl->owner, bl->n);
	if ((dir = opendir(name)) == NULL)
		return (0);
	while ((de = readdir(dir)) != NULL) {
		if (quota_number(de->d_name, '.', &k) == -1)
			continue;
		if (box != NULL && exec_find(box, k) != NULL)
			continue;
		if (n == size) {
			size = size == 0 ? 64 : size * 2;
			if ((p = reallocarray(*ks, size, sizeof(*p))) == NULL)
				break;
			*ks = p;
		}
		(*ks)[n++] = k;
	}
	closedir(dir);
	if (n > 0)
		qsort(*ks, n, sizeof(**ks), quota_cmp);
	return (n);
}

/* Drops ended execs' logs of a sandbox until it holds at most `want'. */
static int
quota_evict(struct boxlog *bl, uint64_t want)
{
	uint64_t	*ks, before = bl->bytes;
	size_t		 i, n;

	n = quota_list(bl, &ks);
	for (i = 0; i < n && bl->bytes > want; i++)
		if (i == 0 || ks[i] != ks[i - 1])
			quota_remove(bl->owner, bl->n, ks[i]);
	free(ks);
	if (bl->bytes == before)
		return (-1);
	log_info("sandbox %" PRIu64 ": %" PRIu64 " bytes of the logs of ended "
	    "execs removed", bl->n, before - bl->bytes);
	return (0);
}

/* The sandbox whose logs hold the most, of all or of a user. */
static struct boxlog *
quota_largest(const struct userlog *ul)
{
	struct boxlog	*bl, *max = NULL;

	RB_FOREACH(bl, boxlogs, &boxlogs)
		if ((ul == NULL || bl->user == ul) &&
		    (max == NULL || bl->bytes > max->bytes))
			max = bl;
	return (max);
}

/* Makes room in what a user has: of his largest, or else of any. */
static void
quota_evict_user(struct userlog *ul, size_t len)
{
	struct boxlog	*bl, *max;
	uint64_t	 eighth = ul->most / 8;

	if ((max = quota_largest(ul)) != NULL && quota_evict(max,
	    max->bytes > eighth ? max->bytes - eighth : 0) == 0 &&
	    ul->bytes + len <= ul->most)
		return;
	RB_FOREACH(bl, boxlogs, &boxlogs)
		if (bl->user == ul && ul->bytes + len > ul->most)
			(void)quota_evict(bl, 0);
	ul->full = ul->bytes + len > ul->most;
}

int
quota_room(struct slog *l, size_t len)
{
	struct boxlog	*bl, *max;
	struct userlog	*ul = userlog_get(l->owner);
	uint64_t	 box = runner_conf.log_sandbox;
	uint64_t	 all = runner_conf.log_total;

	bl = boxlog_get(l->n, l->owner);
	/* An eighth more than is needed, so that it is not soon again. */
	if (box != 0 && bl->bytes + len > box && !bl->full)
		bl->full = quota_evict(bl, box - box / 8) == -1;
	if (ul->most != 0 && ul->bytes + len > ul->most && !ul->full)
		quota_evict_user(ul, len);
	if (all != 0 && total + len > all && !total_full &&
	    (max = quota_largest(NULL)) != NULL)
		total_full = quota_evict(max, max->bytes > all / 8 ?
		    max->bytes - all / 8 : 0) == -1;
	while ((box != 0 && bl->bytes + len > box) ||
	    (ul->most != 0 && ul->bytes + len > ul->most) ||
	    (all != 0 && total + len > all))
		if (slog_drop_oldest(l) == -1)
			return (-1);
	return (0);
}
