/*
 * Calls inside the guest.
 *
 *	call.c		PID 1's side: the frames between workers and runner
 *	call_worker.c	the workers, and which of them has which call
 *	call_own.c	calls of PID 1's own
 *	worker.c	a worker: takes one call after the other, and the means
 *			by which an operation reads, writes and ends
 *	pour.c		output that lies in a pipe of a worker's
 *	fs_*.c, net.c	the operations, a file for each family
 *
 * A worker is a fork of PID 1 with one descriptor, a socket of packets, each
 * of which is a frame of gproto.h.  It may hang, crash or be killed by a
 * command: its call ends with that, and nothing else.
 */

#ifndef CALL_H
#define CALL_H

#include <sys/types.h>
#include <sys/stat.h>

#include <stddef.h>
#include <stdint.h>

#include "calls.h"
#include "codes.h"
#include "gproto.h"

#define WORK_FD		0	/* a worker's only descriptor */

/* In k: the call is our own, about the exec with the rest of the number. */
#define CALL_OWN	(1ULL << 62)
#define CALL_CHANGED	CALL_MAX	/* nobody else has this one */

/* A call as its operation sees it. */
struct job {
	uint64_t		 k;
	struct gp_call		 m;	/* what is asked for */
	struct gp_call_end	 end;	/* how it ends; counts are its own */
	char			 text[CALL_TEXT_MAX + 1];
	uint8_t			*out;	/* frame that is being filled */
	size_t			 outlen; /* of its data */
	const uint8_t		*in;	/* rest of the packet read last */
	size_t			 inlen;
	int			 in_over;
	int			 lost;	/* nobody wants its end any more */
	int			 pour[2]; /* pipe: its ends that are ours, or -1 */
	int			 pour_tried;
	int			 mark;	/* that came with it, or -1 */
	int			 give;	/* mark that goes with its end, or -1 */
};

/* An operation: what it returns is of no use, call_fail() tells. */
typedef void	(*job_fn)(struct job *);

/* marks.c */
int		 mark_room(const char *);
int		 mark_fd(const char *);
int		 mark_keep(const char *, int);
int		 mark_drop(const char *);
ssize_t		 packet_put(int, const void *, size_t, int, int);
ssize_t		 packet_get(int, void *, size_t, int *, int);

/* worker.c */
__attribute__((__noreturn__)) void	worker_main(void);
/*
 * Output, of which any part may be sent at once; -1: nobody takes it any
 * more, and the operation is to clean up and return.
 */
int		 job_out(struct job *, const void *, size_t);
/* Room of at least so many bytes (to GP_MAX_DATA), for what job_put() adds. */
uint8_t		*job_room(struct job *, size_t);
int		 job_put(struct job *, size_t);
/* What there is of it goes out now: for what has more only later. */
int		 job_flush(struct job *);
/* So many bytes of it lie in the pipe: their head goes out. */
int		 job_poured(struct job *, size_t);
/* There is no more of it, though the call goes on. */
int		 job_out_end(struct job *);
/* The next bytes of input: how many, 0 at its end, -1: it was given up. */
ssize_t		 job_in(struct job *, const uint8_t **);
/* Does anybody still wait for it?  For what takes long without streams. */
int		 job_wanted(struct job *);
/* How it fails; the first word counts.  Always -1. */
int		 job_fail(struct job *, enum code, const char *, ...)
		    __attribute__((__format__(printf, 3, 4)));
int		 job_errno(struct job *, int, const char *);
enum code	 errno_code(int);

/* fs_pour.c */
/*
 * Output: of a file, from off on, at most len bytes, but not 0.  How many; 0 at
 * the file's end; -1 with errno, or with j->lost as job_out().
 */
ssize_t		 job_file(struct job *, int, off_t, size_t);
void		 fs_pour_end(struct job *);

/* records: what rec_begin() began rec_end() sends; -1 as job_out(). */
void		 rec_begin(struct job *, unsigned int);
void		 rec_uint(struct job *, uint64_t);
void		 rec_int(struct job *, int64_t);
void		 rec_str(struct job *, const char *);
void		 rec_blob(struct job *, const void *, size_t);
int		 rec_end(struct job *);

/* fs_path.c */
const char	*path_split(const char *, char *);
int		 path_follow(char *);
int		 path_parents(const char *, mode_t);

/* fs_walk.c */
enum walk_at {
	WALK_ENTRY,			/* before what is below it */
	WALK_AFTER,			/* a directory, after that; no st */
	WALK_ERROR			/* cannot be looked at, or entered */
};
#define WALK_SKIP	1		/* nothing below it */
#define WALK_GONE	2		/* it was removed */

struct level;

/* A walk through a tree.  fn returns 0, one of the two, or -1 to end it. */
struct walk {
	int		(*fn)(struct walk *, enum walk_at, int,
			    const char *, const struct stat *, int);
	int		 recurse;
	struct level	*levels;
	size_t		 depth;
	size_t		 size;
	char		 path[CALL_PATH_MAX + 1];	/* below the first */
};
int		 walk(struct job *, struct walk *, int);

/* fs_*.c */
int		 fs_record(struct job *, const char *, const struct stat *,
		    const char *, enum code);
int		 fs_open(struct job *, const char *, int, struct stat *);
void		 fs_stat(struct job *);
void		 fs_read(struct job *);
void		 fs_write(struct job *);
void		 fs_list(struct job *);
void		 fs_usage(struct job *);
void		 fs_mkdir(struct job *);
void		 fs_remove(struct job *);
void		 fs_move(struct job *);
void		 fs_move_bytes(struct job *);
void		 fs_copy(struct job *);
void		 fs_chmod(struct job *);
void		 fs_truncate(struct job *);
void		 fs_link(struct job *);
void		 fs_symlink(struct job *);
void		 fs_watch(struct job *);
void		 fs_mark(struct job *);
void		 fs_diff(struct job *);
void		 fs_changes(struct job *);
void		 fs_changed(struct job *);

/* net.c */
void		 net_connect(struct job *);

/* fs_tool.c */
void		 fs_edit(struct job *);
void		 fs_glob(struct job *);
void		 fs_grep(struct job *);
void		 fs_lines(struct job *);

/* fs_tree.c */
void		 fs_tree_get(struct job *);
void		 fs_tree_put(struct job *);

/* fs_tree_copy.c */
void		 fs_tree_copy(struct job *);

#endif /* CALL_H */
