/*
 * The store's database.
 *
 * The environment is private to this process and has no lock subsystem:
 * there is one thread, and no cursor outlives the call that made it.
 *
 * Three things guard against a history that is shorter than what was
 * answered.  Every page has a checksum.  Recovery takes a damaged record for
 * the end of the log and cuts it there without a word, so a cursor reads
 * every record first.  That cursor, too, takes damage in the newest file for
 * the end: therefore the watermark, 64 bytes in a file of their own, holds
 * where the log ended when it was written, and the number and link of the
 * newest event.  It is written after the commit, so it may be behind the
 * log, and never ahead of it.
 */
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "eventdb.h"
#include "fault.h"
#include "log.h"
#include "record.h"
#include "version.h"

#define MARK_FILE	"watermark"
#define MARK_MAGIC	"SBXW"		/* and the version, 4 bytes */
#define MARK_LEN	64
#define BALLAST_FILE	"ballast"
#define ROOM_FILE	"room"
#define BALLAST_LEN	(16 * 1024 * 1024)
#define BALLAST_WAIT	10	/* s between attempts to have it again */
#define CACHE_LEN	(8 * 1024 * 1024)
#define LOG_MAX		(1024 * 1024)	/* a start fills one with zeros */
#define LOG_BUFFER	(256 * 1024)
#define CHECKPOINT_LEN	(8 * 1024 * 1024)	/* of log between two */
#define FILE_MODE	0600

const char *const eventdb_file[EDB_NTABLES] = {
	"events.db", "index.db", "state.db"
};

struct mark {
	uint64_t	 count;
	uint8_t		 hash[EDB_HASH_LEN];
	uint32_t	 file;		/* end of the log */
	uint32_t	 offset;
};

/* Returns -1 and keeps the reason. */
int
eventdb_fail(struct eventdb *e, int error, const char *fmt, ...)
{
	char	 text[256], said[240];
	va_list	 ap;

	/* Whatever fails behind a panic has its reason, and no other. */
	if (error == DB_RUNRECOVERY && e->told && !e->readonly &&
	    e->why[0] != '\0') {
		e->err = error;
		return (EDB_FAIL);
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	e->err = error;
	if (error == DB_RUNRECOVERY)
		e->panic = e->told = 1;
	/* What Berkeley DB itself said is more precise than its number. */
	strlcpy(said, e->why, sizeof(said));
	if (error == 0)
		snprintf(e->why, sizeof(e->why), "%s", text);
	else if (said[0] != '\0')
		snprintf(e->why, sizeof(e->why), "%.200s: %.60s (%s)", text,
		    db_strerror(error), said);
	else
		snprintf(e->why, sizeof(e->why), "%s: %s", text,
		    db_strerror(error));
	return (EDB_FAIL);
}

static void
eventdb_said(const DB_ENV *env, const char *prefix, const char *msg)
{
	struct eventdb	*e = env->app_private;

	(void)prefix;
	if (e != NULL && eventdb_says_damage(msg))
		e->spoiled = 1;
	/* The first line names the cause, the following its consequences. */
	if (e != NULL && e->why[0] == '\0')
		strlcpy(e->why, msg, sizeof(e->why));
}

static void
eventdb_happened(DB_ENV *env, u_int32_t event, void *info)
{
	struct eventdb	*e = env->app_private;

	(void)info;
	if (event == DB_EVENT_PANIC && e != NULL)
		e->panic = 1;
}

static int
eventdb_exists(struct eventdb *e, const char *name)
{
	struct stat	 st;

	return (fstatat(e->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0);
}

/* Number of log files. */
static int
eventdb_logs(struct eventdb *e)
{
	struct dirent	*d;
	DIR		*dir;
	int		 fd, n = 0;

	if ((fd = openat(e->dirfd, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1 || (dir = fdopendir(fd)) == NULL) {
		if (fd != -1)
			close(fd);
		return (eventdb_fail(e, errno, "%s", e->home));
	}
	while ((d = readdir(dir)) != NULL)
		if (strncmp(d->d_name, "log.", 4) == 0)
			n++;
	closedir(dir);
	return (n);
}

static int
mark_read(struct eventdb *e, struct mark *m)
{
	uint8_t		 buf[MARK_LEN + 1], sum[32];
	SHA2_CTX	 ctx;
	uint32_t	 version;
	ssize_t		 n;

	if ((n = pread(e->wmfd, buf, sizeof(buf), 0)) == -1)
		return (eventdb_fail(e, errno, MARK_FILE));
	if (n != MARK_LEN)
		return (eventdb_fail(e, 0, MARK_FILE
		    ": damaged: %zd bytes instead of %d", n, MARK_LEN));
	SHA256Init(&ctx);
	SHA256Update(&ctx, buf, 56);
	SHA256Final(sum, &ctx);
	version = (uint32_t)record_get64(buf);
	if (memcmp(buf, MARK_MAGIC, 4) != 0 || version == 0 ||
	    memcmp(buf + 56, sum, 8) != 0)
		return (eventdb_fail(e, 0, MARK_FILE ": damaged"));
	e->refused = version > EVENTDB_VERSION;
	if (e->refused)
		return (eventdb_fail(e, 0, "written by a newer sandboxd: it "
		    "has version %u, and sandboxd " SANDBOXD_VERSION " reads "
		    "up to %d", version, EVENTDB_VERSION));
	m->count = record_get64(buf + 8);
	memcpy(m->hash, buf + 16, EDB_HASH_LEN);
	m->file = record_get64(buf + 48) >> 32;
	m->offset = record_get64(buf + 48) & 0xffffffff;
	return (0);
}

static int
mark_write(struct eventdb *e, const struct mark *m)
{
	uint8_t		 buf[MARK_LEN], sum[32];
	SHA2_CTX	 ctx;
	ssize_t		 n;
	size_t		 off;

	record_put64(buf, EVENTDB_VERSION);
	memcpy(buf, MARK_MAGIC, 4);
	record_put64(buf + 8, m->count);
	memcpy(buf + 16, m->hash, EDB_HASH_LEN);
	record_put64(buf + 48, (uint64_t)m->file << 32 | m->offset);
	SHA256Init(&ctx);
	SHA256Update(&ctx, buf, 56);
	SHA256Final(sum, &ctx);
	memcpy(buf + 56, sum, 8);
	fault("store.mark.before");
	/* Half of a new one and half of the old would be damage. */
	for (off = 0; off < sizeof(buf); off += n)
		if ((n = pwrite(e->wmfd, buf + off, sizeof(buf) - off,
		    off)) <= 0)
			return (eventdb_fail(e, n == -1 ? errno : ENOSPC,
			    MARK_FILE));
	fault("store.mark.after");
	return (0);
}

/*
 * A sync that has failed says so once: the next one succeeds, and what the
 * first should have written is not on the disk.  Berkeley DB would try again.
 * So that is the end of this process, and the next begins with recovery.
 */
static int
eventdb_sync(int fd)
{
	int	 ret;

	while ((ret = fdatasync(fd)) == -1 && errno == EINTR)
		continue;
	if (ret == -1)
		fatal("database: sync");
	return (0);
}

DB_ENV *
eventdb_env(struct eventdb *e)
{
	DB_ENV	*env;
	int	 ret;

	if ((ret = db_env_set_func_fsync(eventdb_sync)) != 0) {
		eventdb_fail(e, ret, "db_env_set_func_fsync");
		return (NULL);
	}
	if ((ret = db_env_create(&env, 0)) != 0) {
		eventdb_fail(e, ret, "db_env_create");
		return (NULL);
	}
	env->app_private = e;
	env->set_errcall(env, eventdb_said);
	if ((ret = env->set_event_notify(env, eventdb_happened)) != 0 ||
	    (ret = env->set_tmp_dir(env, e->home)) != 0 ||
	    (ret = env->set_lg_bsize(env, LOG_BUFFER)) != 0 ||
	    (ret = env->set_lg_max(env, LOG_MAX)) != 0 ||
	    (ret = env->set_cachesize(env, 0, CACHE_LEN, 1)) != 0 ||
	    (ret = env->set_tx_max(env, 64)) != 0) {
		eventdb_fail(e, ret, "database environment");
		env->close(env, 0);
		return (NULL);
	}
	return (env);
}

/* Reads every record of the log, and tells where it ends. */
static int
eventdb_walk_log(struct eventdb *e, struct mark *end)
{
	DB_ENV		*env;
	DB_LOGC		*lc = NULL;
	DB_LOG_STAT	*st;
	DB_LSN		 lsn;
	DBT		 rec;
	u_int32_t	 how = DB_FIRST;
	int		 ret, rv = -1;

	memset(&lsn, 0, sizeof(lsn));
	if ((env = eventdb_env(e)) == NULL)
		return (-1);
	if ((ret = env->open(env, e->home, DB_PRIVATE | DB_CREATE |
	    DB_INIT_LOG, FILE_MODE)) != 0) {
		eventdb_fail(e, ret, "log: damaged");
		goto done;
	}
	if ((ret = env->log_cursor(env, &lc, 0)) != 0) {
		eventdb_fail(e, ret, "log");
		goto done;
	}
	memset(&rec, 0, sizeof(rec));
	while ((ret = lc->get(lc, &lsn, &rec, how)) == 0)
		how = DB_NEXT;
	if (ret != DB_NOTFOUND) {
		eventdb_fail(e, ret, "log.%010u: damaged after offset %u",
		    lsn.file, lsn.offset);
		goto done;
	}
	if ((ret = env->log_stat(env, &st, 0)) != 0) {
		eventdb_fail(e, ret, "log");
		goto done;
	}
	end->file = st->st_cur_file;
	end->offset = st->st_cur_offset;
	free(st);
	rv = 0;
 done:
	if (lc != NULL)
		lc->close(lc, 0);
	env->close(env, 0);
	return (rv);
}

static int
eventdb_tables(struct eventdb *e)
{
	int	 i, ret;

	for (i = 0; i < EDB_NTABLES; i++) {
		if ((ret = db_create(&e->db[i], e->env, 0)) != 0)
			return (eventdb_fail(e, ret, "db_create"));
		if ((ret = e->db[i]->set_flags(e->db[i], DB_CHKSUM)) != 0 ||
		    (ret = e->db[i]->open(e->db[i], NULL, eventdb_file[i],
		    NULL, DB_BTREE, DB_CREATE | DB_AUTO_COMMIT,
		    FILE_MODE)) != 0)
			return (eventdb_fail(e, ret, "%s", eventdb_file[i]));
	}
	return (0);
}

void
eventdb_shut(struct eventdb *e)
{
	u_int32_t	 how = e->readonly ? DB_NOSYNC : 0;
	int		 i;

	eventdb_abort(e);
	for (i = 0; i < EDB_NTABLES; i++) {
		if (e->db[i] != NULL)
			e->db[i]->close(e->db[i], how);
		e->db[i] = NULL;
	}
	if (e->env != NULL)
		e->env->close(e->env, 0);
	e->env = NULL;
}

/* Recovery, which finds what the last process left. */
static int
eventdb_recover(struct eventdb *e)
{
	int	 ret;

	if ((e->env = eventdb_env(e)) == NULL)
		return (-1);
	if ((ret = e->env->open(e->env, e->home, DB_PRIVATE | DB_CREATE |
	    DB_INIT_LOG | DB_INIT_MPOOL | DB_INIT_TXN | DB_RECOVER,
	    FILE_MODE)) != 0)
		return (eventdb_fail(e, ret, "recovery"));
	/* What lies before the last checkpoint is not needed any more. */
	if ((ret = e->env->log_set_config(e->env, DB_LOG_AUTO_REMOVE,
	    1)) != 0)
		return (eventdb_fail(e, ret, "log"));
	return (eventdb_tables(e));
}

/*
 * Compares what lies in the directory with the watermark, before anything is
 * written there.
 */
static int
eventdb_survey(struct eventdb *e, int *fresh)
{
	struct mark	 m = { 0 }, end = { 0 };
	int		 logs, i;

	*fresh = 0;
	if ((logs = eventdb_logs(e)) == -1)
		return (-1);
	e->wmfd = openat(e->dirfd, MARK_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (e->wmfd == -1 && errno != ENOENT)
		return (eventdb_fail(e, errno, MARK_FILE));
	/* First of all: what a newer program has written stays as it is. */
	if (e->wmfd != -1 && mark_read(e, &m) == -1)
		return (-1);
	e->mark_count = m.count;
	memcpy(e->mark_hash, m.hash, sizeof(e->mark_hash));
	if (logs > 0 && eventdb_walk_log(e, &end) == -1)
		return (-1);
	if (e->wmfd == -1) {
		/* A start that was cut off before the first event, or a loss:
		 * eventdb_mark_check() tells them apart. */
		*fresh = 1;
		return (0);
	}
	if (logs == 0)
		return (eventdb_fail(e, 0, "log: missing"));
	for (i = 0; m.count > 0 && i < EDB_NTABLES; i++)
		if (!eventdb_exists(e, eventdb_file[i]))
			return (eventdb_fail(e, 0, "%s: missing",
			    eventdb_file[i]));
	if (end.file < m.file ||
	    (end.file == m.file && end.offset < m.offset))
		return (eventdb_fail(e, 0, "log.%010u: damaged: ends at %u,"
		    " the watermark says log.%010u at %u", end.file,
		    end.offset, m.file, m.offset));
	return (0);
}

/* The event that the watermark names must be there. */
static int
eventdb_mark_check(struct eventdb *e, int fresh)
{
	struct record_frame	 f;
	const uint8_t		*val;
	uint8_t			 key[8];
	size_t			 len;
	int			 ret;

	if (fresh) {
		ret = eventdb_last(e, EDB_EVENTS, key, sizeof(key), &val,
		    &len);
		if (ret == EDB_OK)
			return (eventdb_fail(e, 0, MARK_FILE ": missing"));
		return (ret == EDB_NOTFOUND ? 0 : -1);
	}
	if (e->mark_count == 0)
		return (0);
	record_put64(key, e->mark_count);
	switch (eventdb_get(e, EDB_EVENTS, key, sizeof(key), &val, &len)) {
	case EDB_OK:
		break;
	case EDB_NOTFOUND:
		return (eventdb_fail(e, 0, "events.db: event %llu is missing",
		    (unsigned long long)e->mark_count));
	default:
		return (-1);
	}
	if (record_frame(&f, val, len) == -1 ||
	    memcmp(f.link, e->mark_hash, sizeof(f.link)) != 0)
		return (eventdb_fail(e, 0, "events.db: event %llu is not the"
		    " one that was written",
		    (unsigned long long)e->mark_count));
	return (0);
}

/* What a start does, in a directory that is open. */
int
eventdb_start(struct eventdb *e)
{
	int	 fresh, ret;

	if (eventdb_survey(e, &fresh) == -1)
		return (-1);
	if (eventdb_recover(e) == -1) {
		if (!eventdb_exists(e, BALLAST_FILE))
			return (-1);
		/*
		 * A full disk stops recovery too, and shows as any error:
		 * this is the reserve for it.
		 */
		eventdb_shut(e);
		eventdb_ballast_release(e);
		e->why[0] = '\0';
		e->panic = e->told = 0;
		if (eventdb_recover(e) == -1)
			return (-1);
	}
	if (eventdb_mark_check(e, fresh) == -1)
		return (-1);
	if (fresh) {
		if ((e->wmfd = openat(e->dirfd, MARK_FILE, O_RDWR | O_CREAT |
		    O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILE_MODE)) == -1)
			return (eventdb_fail(e, errno, MARK_FILE));
		if (eventdb_mark(e, 0, e->mark_hash) == -1)
			return (-1);
		(void)eventdb_sync(e->wmfd);
		(void)eventdb_sync(e->dirfd);
	}
	eventdb_ballast_fill(e);
	/* After this a kill finds little to recover. */
	if (eventdb_checkpoint(e, 1) == -1)
		return (-1);
	/* If recovery has made one just now there was none to make. */
	if ((ret = e->env->log_archive(e->env, NULL, DB_ARCH_REMOVE)) != 0)
		return (eventdb_fail(e, ret, "log"));
	e->why[0] = '\0';
	e->err = 0;
	return (0);
}

/* One that is not what we were built with would read the files otherwise. */
static int
eventdb_library(struct eventdb *e)
{
	int	 major, minor, patch;

	db_version(&major, &minor, &patch);
	e->refused = major != DB_VERSION_MAJOR || minor != DB_VERSION_MINOR;
	if (!e->refused)
		return (0);
	return (eventdb_fail(e, 0, "Berkeley DB %d.%d: built for %d.%d", major,
	    minor, DB_VERSION_MAJOR, DB_VERSION_MINOR));
}

int
eventdb_open(struct eventdb *e, const char *home)
{
	memset(e, 0, sizeof(*e));
	e->dirfd = e->wmfd = -1;
	e->val.flags = DB_DBT_REALLOC;
	if (strlcpy(e->home, home, sizeof(e->home)) >= sizeof(e->home))
		return (eventdb_fail(e, ENAMETOOLONG, "%s", home));
	if ((e->dirfd = open(home, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return (eventdb_fail(e, errno, "%s", home));
	/* It could name other directories and turn off what we rely on. */
	if (eventdb_library(e) == -1)
		return (-1);
	e->refused = eventdb_exists(e, "DB_CONFIG");
	if (e->refused)
		return (eventdb_fail(e, 0, "DB_CONFIG: not allowed here"));
	if (eventdb_start(e) == -1)
		return (-1);
	return (eventdb_noted(e));
}

void
eventdb_close(struct eventdb *e)
{
	if (e->env != NULL && !e->panic && !e->readonly)
		eventdb_checkpoint(e, 1);
	eventdb_shut(e);
	free(e->val.data);
	memset(&e->val, 0, sizeof(e->val));
	if (e->wmfd != -1)
		close(e->wmfd);
	if (e->dirfd != -1)
		close(e->dirfd);
	e->wmfd = e->dirfd = -1;
}

int
eventdb_begin(struct eventdb *e)
{
	int	 ret;

	eventdb_again(e);
	if (!e->told)
		e->why[0] = '\0';
	if ((ret = e->env->txn_begin(e->env, NULL, &e->txn, 0)) != 0) {
		e->txn = NULL;
		return (eventdb_fail(e, ret, "transaction"));
	}
	return (0);
}

int
eventdb_commit(struct eventdb *e)
{
	DB_TXN	*txn = e->txn;
	int	 ret;

	e->txn = NULL;
	fault("store.commit.before");
	if ((ret = txn->commit(txn, DB_TXN_SYNC)) != 0)
		return (eventdb_fail(e, ret, "commit"));
	fault("store.commit.after");
	return (0);
}

void
eventdb_abort(struct eventdb *e)
{
	DB_TXN	*txn = e->txn;

	if (txn == NULL)
		return;
	e->txn = NULL;
	if (txn->abort(txn) != 0)
		e->panic = 1;
}

static void
dbt_set(DBT *d, const void *data, size_t len)
{
	memset(d, 0, sizeof(*d));
	d->data = (void *)(uintptr_t)data;
	d->size = len;
}

int
eventdb_put(struct eventdb *e, enum eventdb_table t, const void *key,
    size_t nkey, const void *val, size_t nval)
{
	DBT	 k, v;
	int	 ret;

	dbt_set(&k, key, nkey);
	dbt_set(&v, val, nval);
	if (t == EDB_STATE && e->changed != NULL)
		e->changed(e->changed_arg, key, nkey);
	if ((ret = e->db[t]->put(e->db[t], e->txn, &k, &v, 0)) != 0)
		return (eventdb_fail(e, ret, "%s", eventdb_file[t]));
	return (0);
}

/* What it finds is valid until the next call. */
int
eventdb_get(struct eventdb *e, enum eventdb_table t, const void *key,
    size_t nkey, const uint8_t **val, size_t *nval)
{
	DBT	 k;
	int	 ret;

	if (eventdb_look(e, t) == -1)
		return (EDB_FAIL);
	dbt_set(&k, key, nkey);
	if ((ret = e->db[t]->get(e->db[t], e->txn, &k, &e->val, 0)) != 0) {
		if (ret == DB_NOTFOUND)
			return (EDB_NOTFOUND);
		return (eventdb_fail(e, ret, "%s", eventdb_file[t]));
	}
	*val = e->val.data;
	*nval = e->val.size;
	return (EDB_OK);
}

int
eventdb_del(struct eventdb *e, enum eventdb_table t, const void *key,
    size_t nkey)
{
	DBT	 k;
	int	 ret;

	dbt_set(&k, key, nkey);
	if (t == EDB_STATE && e->changed != NULL)
		e->changed(e->changed_arg, key, nkey);
	if ((ret = e->db[t]->del(e->db[t], e->txn, &k, 0)) != 0) {
		if (ret == DB_NOTFOUND)
			return (EDB_NOTFOUND);
		return (eventdb_fail(e, ret, "%s", eventdb_file[t]));
	}
	return (EDB_OK);
}

/*
 * Calls fn for each entry from the key on.  fn may not write, and what it is
 * given is valid until it returns.
 */
int
eventdb_walk(struct eventdb *e, enum eventdb_table t, const void *key,
    size_t nkey, eventdb_fn fn, void *arg)
{
	DBC		*c;
	DBT		 k, v;
	u_int32_t	 how = DB_SET_RANGE;
	int		 ret;

	if (eventdb_look(e, t) == -1)
		return (EDB_FAIL);
	if ((ret = e->db[t]->cursor(e->db[t], e->txn, &c, 0)) != 0)
		return (eventdb_fail(e, ret, "%s", eventdb_file[t]));
	dbt_set(&k, key, nkey);
	dbt_set(&v, NULL, 0);
	/* Who looks from within a walk must not take it away. */
	e->depth++;
	while ((ret = c->get(c, &k, &v, how)) == 0) {
		if (fn(arg, k.data, k.size, v.data, v.size) != 0)
			break;
		how = DB_NEXT;
	}
	c->close(c);
	e->depth--;
	if (ret != 0 && ret != DB_NOTFOUND)
		return (eventdb_fail(e, ret, "%s", eventdb_file[t]));
	return (0);
}

/* The entry with the highest key, which must have the length given. */
int
eventdb_last(struct eventdb *e, enum eventdb_table t, uint8_t *key,
    size_t nkey, const uint8_t **val, size_t *nval)
{
	DBC	*c;
	DBT	 k;
	int	 ret;

	if (eventdb_look(e, t) == -1)
		return (EDB_FAIL);
	if ((ret = e->db[t]->cursor(e->db[t], e->txn, &c, 0)) != 0)
		return (eventdb_fail(e, ret, "%s", eventdb_file[t]));
	dbt_set(&k, NULL, 0);
	ret = c->get(c, &k, &e->val, DB_LAST);
	if (ret == 0) {
		if (k.size == nkey) {
			memcpy(key, k.data, nkey);
			*val = e->val.data;
			*nval = e->val.size;
		} else
			ret = eventdb_fail(e, 0, "%s: damaged: a key of %u"
			    " bytes", eventdb_file[t], k.size);
	} else if (ret == DB_NOTFOUND)
		ret = EDB_NOTFOUND;
	else
		ret = eventdb_fail(e, ret, "%s", eventdb_file[t]);
	c->close(c);
	return (ret);
}

int
eventdb_mark(struct eventdb *e, uint64_t count, const uint8_t *hash)
{
	struct mark	 m;
	DB_LOG_STAT	*st;
	int		 ret;

	if ((ret = e->env->log_stat(e->env, &st, 0)) != 0)
		return (eventdb_fail(e, ret, "log"));
	m.count = count;
	memcpy(m.hash, hash, sizeof(m.hash));
	/* What is on the disk: the end in memory may be ahead of it. */
	m.file = st->st_disk_file;
	m.offset = st->st_disk_offset;
	free(st);
	if (mark_write(e, &m) == -1)
		return (-1);
	e->mark_count = count;
	memmove(e->mark_hash, hash, sizeof(e->mark_hash));
	e->mark_end = (uint64_t)m.file * LOG_MAX + m.offset;
	return (0);
}

/* 1: enough has been written since the last checkpoint; more: too much. */
int
eventdb_checkpoint_due(const struct eventdb *e)
{
	uint64_t	 len = e->mark_end - e->checkpoint_end;

	return (len < CHECKPOINT_LEN ? 0 : len < 2 * CHECKPOINT_LEN ? 1 : 2);
}

/* Bounds recovery; without force only when enough has been written. */
int
eventdb_checkpoint(struct eventdb *e, int force)
{
	int	 ret;

	if (!force && !eventdb_checkpoint_due(e))
		return (0);
	fault("store.checkpoint.before");
	/* The watermark first: the log it names may be removed after this. */
	(void)eventdb_sync(e->wmfd);
	if ((ret = e->env->txn_checkpoint(e->env, 0, 0, 0)) != 0)
		return (eventdb_fail(e, ret, "checkpoint"));
	e->checkpoint_end = e->mark_end;
	fault("store.checkpoint.after");
	return (0);
}

/* Takes so much of the disk as the ballast has. */
static int
eventdb_reserve(struct eventdb *e, const char *name)
{
	int	 fd, ret;

	if ((fd = openat(e->dirfd, name, O_WRONLY | O_CREAT | O_EXCL |
	    O_CLOEXEC | O_NOFOLLOW, FILE_MODE)) == -1)
		return (-1);
	ret = posix_fallocate(fd, 0, BALLAST_LEN) == 0 ? 0 : -1;
	if (ret == -1)
		unlinkat(e->dirfd, name, 0);
	close(fd);
	return (ret);
}

/*
 * Berkeley DB says ENOMEM when it could not write a log record, and when there
 * is no memory: then there is room.
 */
int
eventdb_nospace(struct eventdb *e)
{
	int	 room;

	if (e->err != ENOMEM)
		return (e->err == ENOSPC || e->err == EDQUOT);
	unlinkat(e->dirfd, ROOM_FILE, 0);
	room = eventdb_reserve(e, ROOM_FILE) == 0;
	unlinkat(e->dirfd, ROOM_FILE, 0);
	return (!room);
}

void
eventdb_ballast_release(struct eventdb *e)
{
	struct timespec	 now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	e->ballast_next = now.tv_sec + BALLAST_WAIT;
	e->ballast = 0;
	unlinkat(e->dirfd, BALLAST_FILE, 0);
}

/* Not having it is no error: then the disk is full, or nearly so. */
void
eventdb_ballast_fill(struct eventdb *e)
{
	struct statvfs	 vfs;
	struct timespec	 now;

	if (eventdb_exists(e, BALLAST_FILE)) {
		e->ballast = 1;
		return;
	}
	/* Not at once what has just been given away, nor too often. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec < e->ballast_next)
		return;
	e->ballast_next = now.tv_sec + BALLAST_WAIT;
	if (fstatvfs(e->dirfd, &vfs) == -1 ||
	    (uint64_t)vfs.f_bavail * vfs.f_frsize < 2 * BALLAST_LEN)
		return;
	e->ballast = eventdb_reserve(e, BALLAST_FILE) == 0;
}
