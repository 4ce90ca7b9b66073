/*
 * A damaged database, to be looked at and not written to; and one that has met
 * a bad page while it was served, to be opened again, or, if the page was to
 * be written to, to be looked at only from the next start on.
 *
 * Recovery would cut the log at the damage, so nothing of the log is used:
 * what is seen is the tables as they lie on the disk, which is what they were
 * at the last checkpoint and some of what came after it.  Each page has its
 * checksum.  One that is bad ends the environment, as ever; this one has
 * nothing to lose, so it is opened again for the next look.
 */
#include <sys/types.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eventdb.h"
#include "log.h"

#define NOTE_FILE	"damaged"
#define NOTE_MODE	0600

/*
 * Its numbers do not tell: a lack of memory or of space ends an environment as
 * well as a page that is not what was written.  Its words do.
 */
int
eventdb_says_damage(const char *msg)
{
	static const char *const	 words[] = {
		"checksum", "Checksum", "unexpected file type",
		"illegal page", "Log file corrupt", "Invalid log file",
		"Log sequence error", "past end of log"
	};
	size_t	 i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(msg, words[i]) != NULL)
			return (1);
	return (0);
}

/*
 * Is it damage, and not a lack of something, that an opening has failed of?
 * What we have found ourselves is no error of a call.
 */
int
eventdb_is_damaged(const struct eventdb *e)
{
	return (!e->refused && (e->err == 0 || e->spoiled));
}

/* One that cannot be opened stays away, and with it what it has. */
static void
damaged_table(struct eventdb *e, enum eventdb_table t)
{
	DB	*db;

	if (e->bad & 1U << t)
		return;
	if (db_create(&db, e->env, 0) != 0)
		return;
	if (db->open(db, NULL, eventdb_file[t], NULL, DB_BTREE, DB_RDONLY,
	    0) == 0)
		e->db[t] = db;
	else
		(void)db->close(db, DB_NOSYNC);
}

static int
damaged_open(struct eventdb *e)
{
	int	 i, ret;

	e->panic = 0;
	if ((e->env = eventdb_env(e)) == NULL)
		return (-1);
	if ((ret = e->env->open(e->env, e->home, DB_PRIVATE | DB_CREATE |
	    DB_INIT_MPOOL, 0)) != 0)
		return (eventdb_fail(e, ret, "database environment"));
	for (i = 0; i < EDB_NTABLES; i++) {
		damaged_table(e, i);
		if (!e->panic)
			continue;
		/* That one is bad from its first page on. */
		e->bad |= 1U << i;
		return (-1);
	}
	return (0);
}

/*
 * One that has ended keeps all that it has when it is closed, the cache as
 * well.  A page that is bad is no reason for that: what is in memory is sound.
 */
static void
damaged_shut(struct eventdb *e)
{
	if (e->env != NULL && e->panic && e->spoiled)
		(void)e->env->set_flags(e->env, DB_NOPANIC, 1);
	eventdb_shut(e);
}

/* What panics is left out, and the rest opened anew. */
static int
damaged_again(struct eventdb *e)
{
	int	 tries;

	for (tries = 0; tries <= EDB_NTABLES; tries++) {
		damaged_shut(e);
		if (damaged_open(e) == 0)
			return (0);
		if (!e->panic)
			break;
	}
	return (-1);
}

int
eventdb_open_damaged(struct eventdb *e)
{
	e->readonly = 1;
	e->bad = 0;
	return (damaged_again(e));
}

/*
 * A page that is bad ends the environment, and with it all that has nothing to
 * do with that page.  So for the next call it is opened as a start opens it:
 * what was committed is in the log.  Between two calls nothing is lost by it,
 * since no cursor and no transaction is open then.
 */
void
eventdb_again(struct eventdb *e)
{
	uint8_t		 hash[EDB_HASH_LEN];
	uint64_t	 count = e->mark_count;

	if (!e->panic || !e->spoiled || !e->again || e->txn != NULL ||
	    e->depth > 0)
		return;
	memcpy(hash, e->mark_hash, sizeof(hash));
	damaged_shut(e);
	close(e->wmfd);
	e->wmfd = -1;
	e->panic = e->told = e->spoiled = e->err = 0;
	e->why[0] = '\0';
	/* The next start shows what can be read. */
	if (eventdb_start(e) == -1)
		fatalx("database: opened again: %s", e->why);
	if (e->mark_count != count ||
	    memcmp(e->mark_hash, hash, sizeof(hash)) != 0)
		fatalx("database: opened again: the watermark is not what was "
		    "written");
}

static int
note_write(struct eventdb *e)
{
	size_t	 len = strlen(e->why);
	int	 fd, ret;

	if ((fd = openat(e->dirfd, NOTE_FILE, O_WRONLY | O_CREAT | O_TRUNC |
	    O_CLOEXEC | O_NOFOLLOW, NOTE_MODE)) == -1)
		return (-1);
	ret = pwrite(fd, e->why, len, 0) == (ssize_t)len &&
	    fdatasync(fd) == 0 && fsync(e->dirfd) == 0 ? 0 : -1;
	close(fd);
	return (ret);
}

/*
 * A page that is bad was met in a transaction, which cannot be finished.  A
 * start comes by that page, or it would not be here, and the same is to be
 * written again: so that it does not begin anew for ever, it is told of.
 */
void
eventdb_note_damage(struct eventdb *e)
{
	if (!e->spoiled || e->readonly || note_write(e) == 0)
		return;
	/* A full disk as well: this is what the reserve is for. */
	eventdb_ballast_release(e);
	if (note_write(e) == -1)
		log_warn("database: %s", NOTE_FILE);
}

/* -1: that is what the one before has told; all was recovered first. */
int
eventdb_noted(struct eventdb *e)
{
	char	 why[sizeof(e->why)];
	ssize_t	 i, n = -1;
	int	 fd;

	if ((fd = openat(e->dirfd, NOTE_FILE, O_RDONLY | O_CLOEXEC |
	    O_NOFOLLOW)) == -1 && errno == ENOENT)
		return (0);
	if (fd != -1) {
		n = pread(fd, why, sizeof(why) - 1, 0);
		close(fd);
	}
	if (n <= 0)
		n = strlcpy(why, "a page", sizeof(why));
	for (i = 0; i < n; i++)
		if (!isprint((unsigned char)why[i]))
			why[i] = '?';
	why[n] = '\0';
	eventdb_shut(e);
	/* What has been found is no error of a call. */
	return (eventdb_fail(e, 0, "%s", why));
}

int
eventdb_look(struct eventdb *e, enum eventdb_table t)
{
	if (!e->readonly) {
		eventdb_again(e);
		return (0);
	}
	if (e->depth == 0) {
		e->why[0] = '\0';
		if (e->panic && damaged_again(e) == -1)
			return (eventdb_fail(e, e->err, "damaged"));
	}
	if (e->db[t] == NULL)
		return (eventdb_fail(e, 0, "%s: missing, or damaged",
		    eventdb_file[t]));
	return (0);
}

static int
damaged_entry(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	(void)arg;
	(void)key;
	(void)nkey;
	(void)val;
	(void)nval;
	return (0);
}

/*
 * The file of the first table that cannot be read to its end, or NULL: what
 * recovery says of a bad page has its number and not its file.
 */
const char *
eventdb_bad_table(struct eventdb *e)
{
	static const enum eventdb_table	 order[] = {
		EDB_STATE, EDB_INDEX, EDB_EVENTS	/* the smallest first */
	};
	const char			*bad = NULL;
	char				 why[sizeof(e->why)];
	size_t				 i;

	strlcpy(why, e->why, sizeof(why));
	for (i = 0; i < sizeof(order) / sizeof(order[0]) && bad == NULL; i++)
		if (eventdb_walk(e, order[i], "", 0, damaged_entry,
		    NULL) == -1)
			bad = eventdb_file[order[i]];
	strlcpy(e->why, why, sizeof(e->why));
	return (bad);
}
