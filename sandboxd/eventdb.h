/*
 * The store's database: a private, transactional Berkeley DB environment
 * with one writer, and beside it the watermark and the ballast.
 */
#ifndef EVENTDB_H
#define EVENTDB_H

#include <sys/types.h>
#include <db.h>
#include <stddef.h>
#include <stdint.h>

enum eventdb_table {
	EDB_EVENTS,		/* sequence -> frame of a record */
	EDB_INDEX,		/* sandbox, its sequence -> sequence */
	EDB_STATE,		/* what the events add up to; see model_rows.c */
	EDB_NTABLES
};

#define EDB_OK		0
#define EDB_NOTFOUND	1
#define EDB_FAIL	(-1)

#define EDB_HASH_LEN	32

/*
 * Of what lies in the database; it is in the watermark, which is read before
 * anything is written.  One of a higher number is refused and left alone.
 */
#define EVENTDB_VERSION	1

struct eventdb {
	char		 home[256];
	DB_ENV		*env;
	DB		*db[EDB_NTABLES];
	DB_TXN		*txn;		/* of the batch under way */
	DBT		 val;		/* what eventdb_get() found */
	int		 dirfd;
	int		 wmfd;
	int		 err;		/* of the last call that failed */
	int		 panic;		/* only a restart helps */
	int		 told;		/* and why has its reason */
	int		 ballast;	/* the ballast is in place */
	time_t		 ballast_next;	/* not before, CLOCK_MONOTONIC */
	uint64_t	 mark_count;
	uint8_t		 mark_hash[EDB_HASH_LEN];
	uint64_t	 mark_end;	/* of the log, in bytes */
	uint64_t	 checkpoint_end;
	char		 why[512];	/* text of the last failure */
	int		 refused;	/* it is not for us, and not damaged */
	int		 spoiled;	/* Berkeley DB has met other bytes */
	int		 again;		/* opened again after a bad page */
	int		 readonly;	/* it is damaged, and looked at */
	u_int		 bad;		/* tables, by bit, that are not to be */
	int		 depth;		/* of walks under way */
	/* Told of each row of the state that is written or deleted. */
	void		(*changed)(void *, const void *, size_t);
	void		*changed_arg;
};

/* Returns non-zero to stop the walk. */
typedef int (*eventdb_fn)(void *, const uint8_t *, size_t, const uint8_t *,
    size_t);

int	eventdb_open(struct eventdb *, const char *);
/* When that has failed: for what reason, and then to read what can be. */
int	eventdb_is_damaged(const struct eventdb *);
int	eventdb_open_damaged(struct eventdb *);
/* Of what is served: the next opening is to fail for that reason. */
void	eventdb_note_damage(struct eventdb *);
const char *eventdb_bad_table(struct eventdb *);
void	eventdb_close(struct eventdb *);

int	eventdb_begin(struct eventdb *);
int	eventdb_commit(struct eventdb *);
void	eventdb_abort(struct eventdb *);

int	eventdb_put(struct eventdb *, enum eventdb_table, const void *, size_t,
	    const void *, size_t);
int	eventdb_get(struct eventdb *, enum eventdb_table, const void *, size_t,
	    const uint8_t **, size_t *);
int	eventdb_del(struct eventdb *, enum eventdb_table, const void *, size_t);
int	eventdb_walk(struct eventdb *, enum eventdb_table, const void *,
	    size_t, eventdb_fn, void *);
int	eventdb_last(struct eventdb *, enum eventdb_table, uint8_t *, size_t,
	    const uint8_t **, size_t *);

/* The newest event: written after each commit, synced at checkpoints. */
int	eventdb_mark(struct eventdb *, uint64_t, const uint8_t *);
int	eventdb_checkpoint(struct eventdb *, int);
int	eventdb_checkpoint_due(const struct eventdb *);

int	eventdb_nospace(struct eventdb *);
void	eventdb_ballast_release(struct eventdb *);
void	eventdb_ballast_fill(struct eventdb *);

/* eventdb.c and eventdb_damaged.c for each other. */
extern const char *const	 eventdb_file[EDB_NTABLES];
int	eventdb_fail(struct eventdb *, int, const char *, ...)
	    __attribute__((__format__(printf, 3, 4)));
DB_ENV	*eventdb_env(struct eventdb *);
void	eventdb_shut(struct eventdb *);
int	eventdb_start(struct eventdb *);
void	eventdb_again(struct eventdb *);
int	eventdb_look(struct eventdb *, enum eventdb_table);
int	eventdb_says_damage(const char *);
int	eventdb_noted(struct eventdb *);

#endif
