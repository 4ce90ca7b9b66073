/*
 * Workspaces and socket directories: made and removed at the store's word,
 * by the sandbox's number.  The parent acts in directories of root alone; a
 * workspace is renamed and then emptied by a child with its user, and what a
 * dead parent has left so is taken up again at the next start.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event.h>

#include "fault.h"
#include "log.h"
#include "parent.h"

#define EMPTIERS_MAX	4		/* at a time */
#define MAKERS_MAX	4		/* of file systems; a few ms each */
#define EMPTY_TRIES	3
#define JOBS_MAX	100000		/* more than sandboxes in all */
#define EMPTY_SECS	300		/* deadline of one */

enum job_kind {
	JOB_REMOVE,
	JOB_MAKE,		/* a workspace with a bound */
	JOB_MAX
};

struct job {
	TAILQ_ENTRY(job)	 entry;
	enum job_kind		 kind;
	struct workdisk		 disk;		/* of JOB_MAKE */
	uint64_t		 n;
	uint64_t		 op;
	uint32_t		 set;		/* whose store asked; 0: none */
	uint32_t		 owner;
	int			 sock;		/* socket directory too */
	int			 in_sock;	/* what is being emptied */
	int			 remove;	/* it is, once it is made */
	int			 tries;
	int			 late;
	pid_t			 pid;		/* 0: none, waits for a turn */
	struct event		 timer;
};

static TAILQ_HEAD(, job)	 jobs = TAILQ_HEAD_INITIALIZER(jobs);
static unsigned			 njobs;
static int			 running[JOB_MAX];
static const int		 running_max[JOB_MAX] = {
	[JOB_REMOVE] = EMPTIERS_MAX, [JOB_MAKE] = MAKERS_MAX
};

static struct job	*job_new(uint64_t);
static void		 job_run(struct job *);

void
workdir_done(uint64_t n, uint64_t op, enum code code, const char *fmt, ...)
{
	struct msg_work_done	 m;
	va_list			 ap;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.code = code;
	va_start(ap, fmt);
	vsnprintf(m.text, sizeof(m.text), fmt, ap);
	va_end(ap);
	if (code != CODE_OK)
		log_warnx("%s", m.text);
	parent_send(ROLE_STORE, MSG_WORK_DONE, op, 0, 0, -1, &m);
}

/*
 * Would a workspace that is not there yet be larger than the configuration
 * has it?  The store and the broker judge that before; users' own limits and
 * what all have together are the store's alone.
 */
static int
too_large(const struct msg_work *w)
{
	uint64_t	 max = env.conf->limits.disk;
	char		 name[24];

	snprintf(name, sizeof(name), "%" PRIu64, w->n);
	return (max != 0 && !w->tmpfs && (w->disk == 0 || w->disk > max) &&
	    faccessat(env.dir.work, name, F_OK, AT_SYMLINK_NOFOLLOW) == -1);
}

static enum code
code_of_errno(int error)
{
	return (error == ENOSPC || error == EDQUOT ? CODE_NO_SPACE :
	    CODE_INTERNAL);
}

static int
in_range(uint32_t id)
{
	return (id >= env.conf->uid_min && id <= env.conf->uid_max);
}

/*
 * A directory in one of root's.  One that is there is another run's of the
 * same order: its owner, if it got that far, may have changed its mode.
 */
static int
make_dir(int at, const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	struct stat	 st;

	if (mkdirat(at, name, 0700) == -1) {
		if (errno != EEXIST)
			return (-1);
		if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
			return (-1);
		if (!S_ISDIR(st.st_mode) ||
		    (st.st_uid != uid && st.st_uid != 0)) {
			errno = EEXIST;
			return (-1);
		}
		if (st.st_uid == uid && st.st_gid == gid)
			return (0);
	}
	if (fchmodat(at, name, mode, 0) == -1)
		return (-1);
	return (fchownat(at, name, uid, gid, AT_SYMLINK_NOFOLLOW));
}

static int
owner_dir(uint32_t owner)
{
	char	 name[16];

	snprintf(name, sizeof(name), "%u", owner);
	return (openat(env.dir.sock, name, O_PATH | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC));
}

static struct job *
job_find(uint64_t n)
{
	struct job	*j;

	TAILQ_FOREACH(j, &jobs, entry)
		if (j->n == n)
			return (j);
	return (NULL);
}

/*
 * The directories of a number.  What a file system is mounted over is nobody's
 * who could write to it: where that is not seen, it must not be used instead.
 * So is the one that no container sees, since its workspace is in memory.
 */
static int
make_dirs(const struct msg_work *w, uid_t uid, gid_t gid)
{
	const struct child	*runner = &env.child[ROLE_RUNNER];
	char			 name[24], owner[16];
	int			 fd = -1, ret = -1, saved;

	snprintf(name, sizeof(name), "%" PRIu64, w->n);
	snprintf(owner, sizeof(owner), "%u", w->owner);
	if ((w->disk == 0 && !w->tmpfs ?
	    make_dir(env.dir.work, name, 0700, uid, gid) :
	    make_dir(env.dir.work, name, 0, runner->uid,
	    runner->gid)) == 0 &&
	    make_dir(env.dir.sock, owner, 0755, 0, 0) == 0 &&
	    (fd = owner_dir(w->owner)) != -1)
		ret = make_dir(fd, name, 0755, runner->uid, runner->gid);
	saved = errno;
	if (fd != -1)
		close(fd);
	errno = saved;
	return (ret);
}

/* A file system takes longer: a child makes it, or makes it already. */
static void
make_disk(struct job *j, const struct msg_work *w, uint64_t op, uid_t uid,
    gid_t gid)
{
	int	 known = j != NULL;

	if (!known && (j = job_new(w->n)) == NULL) {
		workdir_done(w->n, op, CODE_INTERNAL, "workspace %" PRIu64
		    ": %s", w->n, strerror(errno));
		return;
	}
	j->kind = JOB_MAKE;
	j->op = op;
	j->set = env.set;
	j->owner = w->owner;
	j->disk.n = w->n;
	j->disk.size = w->disk;
	j->disk.uid = uid;
	j->disk.gid = gid;
	if (!known)
		job_run(j);
}

int
workdir_ids(const struct msg_work *w, uid_t *uid, gid_t *gid)
{
	int	 root;

	root = env.conf->user_root && w->uid == 0 && w->gid == 0;
	if ((root || (in_range(w->uid) && in_range(w->gid))) &&
	    conf_host_id(env.conf, &env.conf->uids, w->uid, uid) == 0 &&
	    conf_host_id(env.conf, &env.conf->gids, w->gid, gid) == 0)
		return (0);
	log_warnx("workspace %" PRIu64 ": uid %u, gid %u: not of the range",
	    w->n, w->uid, w->gid);
	return (-1);
}

int
workdir_make(const struct msg_work *w, uint64_t op)
{
	struct job	*j;
	uid_t		 uid;
	gid_t		 gid;

	if (workdir_ids(w, &uid, &gid) == -1)
		return (-1);
	if (w->disk != 0 && (w->disk < SBX_DISK_MIN ||
	    w->disk > SBX_DISK_MAX || w->tmpfs)) {
		log_warnx("workspace %" PRIu64 ": disk %" PRIu64 ": out of "
		    "range", w->n, w->disk);
		return (-1);
	}
	if ((j = job_find(w->n)) != NULL && (j->kind != JOB_MAKE ||
	    j->remove)) {
		workdir_done(w->n, op, CODE_CONFLICT, "workspace %" PRIu64
		    " is being removed", w->n);
		return (0);
	}
	fault("parent.make.before");
	if (too_large(w))
		workdir_done(w->n, op, CODE_POLICY_DENIED, "workspace %" PRIu64
		    ": disk: %" PRIu64 ": the limit is %" PRIu64, w->n,
		    w->disk, env.conf->limits.disk);
	else if (make_dirs(w, uid, gid) == -1)
		workdir_done(w->n, op, code_of_errno(errno), "workspace %" PRIu64
		    ": %s", w->n, strerror(errno));
	else if (w->disk != 0)
		make_disk(j, w, op, uid, gid);
	else {
		fault("parent.make.after");
		workdir_done(w->n, op, CODE_OK, "%s", "");
	}
	return (0);
}

static void
job_end(struct job *j, enum code code, const char *text)
{
	TAILQ_REMOVE(&jobs, j, entry);
	njobs--;
	evtimer_del(&j->timer);
	if (j->set == env.set)
		workdir_done(j->n, j->op, code, "%s%s", code == CODE_OK ? "" :
		    "workspace: ", text);
	else if (code != CODE_OK)
		log_warnx("workspace %" PRIu64 ": %s", j->n, text);
	free(j);
}

static void
job_late(int fd, short event, void *arg)
{
	struct job	*j = arg;

	(void)fd;
	(void)event;
	j->late = 1;
	if (j->pid != 0)
		(void)kill(j->pid, SIGKILL);
}

/* As fork(2). */
static pid_t
job_fork(struct job *j, int at)
{
	struct timeval	 tv = { EMPTY_SECS, 0 };
	pid_t		 pid;

	if ((pid = spawn_helper(at)) <= 0)
		return (pid);
	j->pid = pid;
	j->tries++;
	running[j->kind]++;
	evtimer_add(&j->timer, &tv);
	return (pid);
}

static int
job_empty(struct job *j, int at, const char *name)
{
	struct stat	 st;
	pid_t		 pid;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (-1);
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return (-1);
	}
	if ((pid = job_fork(j, at)) == 0)
		emptydir(PROC_PIPE_FD, name, st.st_uid, st.st_gid);
	return (pid == -1 ? -1 : 0);
}

/* Makes a file system, or takes it away, in a child: 0 when that goes on. */
static int
job_disk(struct job *j, void (*what)(const struct workdisk *))
{
	char	 path[PATH_MAX];
	pid_t	 pid;

	if (running[j->kind] >= running_max[j->kind])
		return (0);
	if ((pid = job_fork(j, env.dir.work)) == 0) {
		snprintf(path, sizeof(path), "%s/work", env.dir.path);
		j->disk.work = PROC_PIPE_FD;
		j->disk.path = path;
		j->disk.mnt = env.dir.mnt;
		j->disk.n = j->n;
		what(&j->disk);
	}
	return (pid == -1 ? -1 : 0);
}

/*
 * Takes one directory away: 1 when it is, 0 when that goes on, -1.  `at' is
 * root's own directory, so removing needs no right in the one removed.
 */
static int
job_remove_dir(struct job *j, int at, const char *name)
{
	if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return (1);
	if (errno != ENOTEMPTY && errno != EEXIST)
		return (-1);
	if (j->tries >= EMPTY_TRIES) {
		errno = ENOTEMPTY;
		return (-1);
	}
	if (running[JOB_REMOVE] >= running_max[JOB_REMOVE])
		return (0);
	return (job_empty(j, at, name));
}

static int
job_remove_work(struct job *j)
{
	char	 name[24], gone[32];
	int	 ret;

	j->in_sock = 0;
	if (workdisk_there(env.dir.work, j->n)) {
		if (j->tries < EMPTY_TRIES)
			return (job_disk(j, workdisk_remove));
		errno = EBUSY;
		return (-1);
	}
	snprintf(name, sizeof(name), "%" PRIu64, j->n);
	snprintf(gone, sizeof(gone), "%" PRIu64 ".gone", j->n);
	/* In its place: moving it elsewhere takes rights in it. */
	for (;;) {
		if (renameat(env.dir.work, name, env.dir.work, gone) == -1 &&
		    errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
			return (-1);
		if ((ret = job_remove_dir(j, env.dir.work, gone)) != 1)
			return (ret);
		/* Was there one beside what an earlier run had renamed? */
		if (faccessat(env.dir.work, name, F_OK,
		    AT_SYMLINK_NOFOLLOW) == -1)
			return (1);
	}
}

static int
job_remove_sock(struct job *j)
{
	char	 name[24], owner[16];
	int	 fd, ret, saved;

	if ((fd = owner_dir(j->owner)) == -1)
		return (errno == ENOENT ? 1 : -1);
	if (!j->in_sock)
		j->tries = 0;
	j->in_sock = 1;
	snprintf(name, sizeof(name), "%" PRIu64, j->n);
	ret = job_remove_dir(j, fd, name);
	saved = errno;
	close(fd);
	if (ret == 1) {
		/* The last of its owner takes that one's along. */
		snprintf(owner, sizeof(owner), "%u", j->owner);
		(void)unlinkat(env.dir.sock, owner, AT_REMOVEDIR);
	}
	errno = saved;
	return (ret);
}

static void
job_run(struct job *j)
{
	int	 ret;

	/* Whoever would be started now is not ended by anybody. */
	if (env.state == SET_STOPPING)
		return;
	if (j->kind == JOB_MAKE) {
		if (job_disk(j, workdisk_make) == -1)
			job_end(j, CODE_INTERNAL, strerror(errno));
		return;
	}
	if ((ret = job_remove_work(j)) == 1 && j->sock)
		ret = job_remove_sock(j);
	if (ret == 0)
		return;
	if (ret == -1) {
		job_end(j, code_of_errno(errno), strerror(errno));
		return;
	}
	fault("parent.remove.after");
	job_end(j, CODE_OK, "");
}

/* Those that wait for a turn; each run ends it or gives it a process. */
static void
jobs_run(void)
{
	struct job	*j;

	while (env.state != SET_STOPPING) {
		TAILQ_FOREACH(j, &jobs, entry)
			if (j->pid == 0 &&
			    running[j->kind] < running_max[j->kind])
				break;
		if (j == NULL)
			break;
		job_run(j);
	}
}

static struct job *
job_new(uint64_t n)
{
	struct job	*j;

	if (njobs >= JOBS_MAX) {
		errno = ENOMEM;
		return (NULL);
	}
	if ((j = calloc(1, sizeof(*j))) == NULL)
		return (NULL);
	njobs++;
	j->n = n;
	evtimer_set(&j->timer, job_late, j);
	TAILQ_INSERT_TAIL(&jobs, j, entry);
	return (j);
}

/* What was to be made is to be removed. */
static void
job_unmake(struct job *j)
{
	j->kind = JOB_REMOVE;
	j->remove = 0;
	j->late = 0;
	j->tries = 0;
	fault("parent.remove.before");
	job_run(j);
}

int
workdir_remove(const struct msg_work *w, uint64_t op)
{
	struct job	*j;
	int		 known;

	known = (j = job_find(w->n)) != NULL;
	if (!known && (j = job_new(w->n)) == NULL) {
		workdir_done(w->n, op, CODE_INTERNAL, "workspace %" PRIu64
		    ": %s", w->n, strerror(errno));
		return (0);
	}
	j->op = op;
	j->set = env.set;
	j->owner = w->owner;
	j->sock = 1;
	if (!known) {
		fault("parent.remove.before");
		job_run(j);
	} else if (j->kind == JOB_MAKE) {
		/* It is not waited for by anybody else. */
		j->remove = 1;
		if (j->pid == 0)
			job_unmake(j);
		else
			(void)kill(j->pid, SIGKILL);
	}
	return (0);
}

void
workdir_resume(void)
{
	struct dirent	*de;
	DIR		*dir;
	uint64_t	 n;
	char		 again[32];
	int		 fd;

	if ((fd = openat(env.dir.work, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1 || (dir = fdopendir(fd)) == NULL) {
		log_warn("%s/work", env.dir.path);
		if (fd != -1)
			close(fd);
		return;
	}
	while ((de = readdir(dir)) != NULL) {
		if (sscanf(de->d_name, "%" SCNu64, &n) != 1)
			continue;
		snprintf(again, sizeof(again), "%" PRIu64 ".gone", n);
		if (strcmp(de->d_name, again) == 0 && job_find(n) == NULL &&
		    job_new(n) == NULL)
			break;
	}
	closedir(dir);
	jobs_run();
}

/* It is made, or was not. */
static void
job_made(struct job *j, int status)
{
	const char	*text;
	enum code	 code = workdisk_ended(status, &text);

	if (j->remove) {
		job_unmake(j);
		return;
	}
	/* Ended by us, as all is: the next start asks for it again. */
	if (code != CODE_OK && !parent_running()) {
		j->set = 0;
		code = CODE_OK;
	}
	if (j->late) {
		job_end(j, CODE_DEADLINE_EXCEEDED, "disk: not made in time");
		return;
	}
	if (code == CODE_OK)
		fault("parent.make.after");
	job_end(j, code, text);
}

/* 1 if it was one of ours. */
int
workdir_reaped(pid_t pid, int status)
{
	struct job	*j;

	TAILQ_FOREACH(j, &jobs, entry)
		if (j->pid == pid)
			break;
	if (j == NULL)
		return (0);
	evtimer_del(&j->timer);
	j->pid = 0;
	running[j->kind]--;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		log_warnx("workspace %" PRIu64 ": who empties it was killed by "
		    "SIGSYS (forbidden system call)", j->n);
	if (j->kind == JOB_MAKE)
		job_made(j, status);
	else if (j->late)
		job_end(j, CODE_DEADLINE_EXCEEDED, "not emptied in time");
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		job_run(j);
	else if (j->tries < EMPTY_TRIES)
		job_run(j);
	else
		job_end(j, CODE_INTERNAL, "cannot be emptied");
	jobs_run();
	return (1);
}

void
workdir_kill(void)
{
	struct job	*j;

	TAILQ_FOREACH(j, &jobs, entry)
		if (j->pid != 0)
			(void)kill(j->pid, SIGKILL);
}
