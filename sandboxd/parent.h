/*
 * The parent's own parts and what they know of each other.  Nothing here is
 * seen by a child.
 */
#ifndef PARENT_H
#define PARENT_H

#include <sys/types.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include <limits.h>
#include <stdint.h>

#include "conf.h"
#include "proc.h"
#include "sandboxd.h"

/* The tree below state; all but lock are O_PATH. */
struct statedir {
	char	*path;		/* without symbolic links */
	char	 instance[33];
	char	*guest;		/* the copy that containers mount */
	char	*mnt;		/* work, mounted nosuid and nodev */
	char		*sockpath;	/* runner/sock */
	char		*mountspath;	/* mounts */
	gid_t	 reach;		/* of a rootless Engine; 0: of root's */
	int	 fd;		/* state itself */
	int	 lock;
	int	 db;		/* the store's root directory */
	int	 runner;	/* the runner's */
	int	 empty;		/* the frontend's */
	int	 work;
	int		 sock;		/* runner/sock */
	int		 mounts;	/* of clients' directories */
};

enum set_state {
	SET_DOWN,		/* none runs: waiting to start one */
	SET_STARTING,		/* until each child is ready */
	SET_RUNNING,
	SET_FAILED,		/* killed, until the last one is reaped */
	SET_STOPPING		/* told to stop, until they have */
};

struct child {
	enum role	 role;
	const char	*name;
	const char	*user;
	uid_t		 uid;
	gid_t		 gid;
	struct proc_ids	 ids;		/* what it was told to be */
	struct proc_layers layers;	/* what it says confines it */
	pid_t		 pid;		/* 0: none */
	int		 page;		/* whom it serves, -1: none */
	uint64_t	 started;	/* ns since 1970 */
	struct chan	 ch;
	int		 open;		/* ch is in use */
	int		 ready;
	int		 opened;	/* the store: its log is open */
	int		 condemned;	/* broke the protocol: killed */
	int		 mute;		/* its pipe has ended */
	int		 asked;		/* a BEAT is with it */
	int		 missed;	/* rounds since without its answer */
};

struct parent {
	struct config	*conf;
	struct statedir	 dir;
	struct child	 child[ROLE_MAX];
	enum set_state	 state;
	uint32_t	 set;		/* number of the set */
	uint32_t	 generation;	/* of the configuration */
	uint32_t	 nofile;	/* RLIMIT_NOFILE of the children */
	int		 resting;	/* down, after too many deaths */
	int		 was_running;	/* some set was */
	int		 debug;
	int		 verbose;
	int		 upgrading;	/* stopping, and then execute */
	const char	*before;	/* version that has executed us */
};

extern struct parent	 env;

/* parent.c */
void	 parent_main(void) __attribute__((__noreturn__));
void	 parent_send(enum role, uint32_t type, uint64_t op, uint64_t session,
	    uint32_t req, int fd, const void *msg);
int	 parent_running(void);
void	 parent_go(void);		/* all children are ready */
void	 parent_upgrade(void);		/* stop the set, and execute */
void	 parent_condemn(struct child *, const char *why);
uint64_t parent_now(void);		/* ns since 1970 */
uint64_t parent_ms(void);		/* of a clock that is never set */

/* parent_recv.c: its frames; only the words of one that is dead. */
void	 parent_recv(struct child *, int dead);

/* sandboxd.c */
void	 parent_started(void);		/* the first set runs */
void	 parent_exit(int) __attribute__((__noreturn__));

/* beat.c */
void	 beat_init(void);		/* after event_init() */
void	 beat_start(void);		/* the set works from now on */
int	 beat_recv(struct child *);	/* -1: not asked for */

/* parent_conf.c */
void	 parent_send_conf(enum role);
uint64_t parent_memory(enum role);		/* that a child may have */
uint64_t parent_files(const struct conf_limits *);	/* the same */
void	 parent_room(struct conf_limits *);
int	 parent_reload(char *text, size_t);
int	 parent_conf_check(char *text, size_t);	/* would it be reloaded? */

/* parent_doctor.c: what the host looks like now */
void	 parent_doctor(struct msg_host *);

/* parent_check.c: is it what it should be?  -1: no, and says why. */
int	 parent_check_child(const struct child *);
/* What confines us ourselves; 0, or -1: it must be more. */
int	 parent_check_self(void);
/* The layers of a process and those that the kernel lacks, as words. */
void	 parent_layers(const struct child *, char *, char *, size_t);
int	 parent_engine_group(const struct config *, gid_t *);

/* spawn.c: the process, and *fd our end of its pipe; -1 with errno. */
pid_t	 spawn_child(struct child *, int lock, int debug, int verbose,
	    int *fd);

void	 spawn_signals(void);	/* a new process has none of ours */
/*
 * fork(2) for a part of the parent's own work: in the new process there are
 * no handlers and no descriptors of ours but that one, as PROC_PIPE_FD, and
 * the lock.
 */
pid_t	 spawn_helper(int at);

/* parent_upgrade.c */
void	 upgrade_init(int, char *[]);
const char *upgrade_left(int *lock, int *listener);
void	 upgrade_start(uint64_t session, uint32_t req);
int	 upgrade_reaped(pid_t, int status);
void	 upgrade_execute(void);		/* returns if it cannot be done */

/* statedir.c: errors are told; -1. */
int	 statedir_open(struct statedir *, const struct config *,
	    const struct child *);
void	 statedir_left(int lock);	/* to us, by who executed us */
/* The first of it: the directory and its lock. */
int	 statedir_lock(struct statedir *, const struct config *);
/* A directory in it, opened; and the number of the instance. */
int	 statedir_make(const struct statedir *, const char *, mode_t, uid_t,
	    gid_t);
int	 statedir_instance(struct statedir *, const char *);
/* Can write to it: others than root and that user. */
int	 statedir_others(const struct stat *, uid_t);
int	 statedir_mount(const struct statedir *);
void	 statedir_unmount(const struct statedir *);

/* peers.c */
int	 peers_part(int, int);

/* sessions.c */
int	 sessions_open(const struct config *, int left);
int	 sessions_listener(void);
void	 sessions_pause(void);		/* who connects waits */
void	 sessions_start(void);		/* after event_init() */
void	 sessions_close(void);		/* no more clients: we stop */
void	 sessions_end_all(void);	/* the frontend has gone */
void	 sessions_judge(void);		/* anew: the rules have changed */
int	 sessions_may(uint64_t, enum right);
/* Who it is, by the kernel's word; -1: there is none, or not any more. */
int	 sessions_who(uint64_t, uint32_t *uid, uint32_t *gid, struct u64v *groups);

/*
 * mounts.c: directories of clients' for a sandbox.  -1: no store asks so.
 * What comes for a sandbox without any goes on to workdir.c at once.
 */
int	 mounts_check(const struct frame *, struct msg_mounts_check *);
void	 mounts_drop(uint64_t ticket);
int	 mounts_make(const struct msg_work *, uint64_t op);
int	 mounts_remove(const struct msg_work *, uint64_t op);
void	 mounts_off(uint64_t n);	/* its container has them, or is gone */
void	 mounts_begin(void);		/* a new set runs */
void	 mounts_end(void);		/* we stop */
int	 mounts_reaped(pid_t, int status);
void	 mounts_kill(void);

/* workdir.c */
void	 workdir_done(uint64_t n, uint64_t op, enum code, const char *, ...)
	    __attribute__((__format__(printf, 4, 5)));
/* Its user and group on the host; -1: they are none of the range. */
int	 workdir_ids(const struct msg_work *, uid_t *, gid_t *);
int	 workdir_make(const struct msg_work *, uint64_t op);
int	 workdir_remove(const struct msg_work *, uint64_t op);
void	 workdir_resume(void);		/* what a former parent left */
int	 workdir_reaped(pid_t, int status);
void	 workdir_kill(void);

/*
 * workdisk.c: the whole life of a child.  `work' is the directory of that
 * name, opened, and `path' and `mnt' are its two names.
 */
struct workdisk {
	int		 work;
	const char	*path;
	const char	*mnt;
	uint64_t	 n;
	uint64_t	 size;		/* bytes */
	uid_t		 uid;		/* of its user, on the host */
	gid_t		 gid;
};
void	 workdisk_make(const struct workdisk *) __attribute__((__noreturn__));
void	 workdisk_remove(const struct workdisk *)
	    __attribute__((__noreturn__));
/* Of the parent: is there something to remove? And how such a child ended. */
int	 workdisk_there(int work, uint64_t n);
enum code workdisk_ended(int status, const char **);

/* emptydir.c: the child's whole life. */
void	 emptydir(int dirfd, const char *name, uid_t, gid_t)
	    __attribute__((__noreturn__));

#endif
