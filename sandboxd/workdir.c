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
#define EMPTY_TRIES	3
#define EMPTY_SECS	300		/* deadline of one */

struct job {
	TAILQ_ENTRY(job)	 entry;
	uint64_t		 n;
	uint64_t		 op;
	uint32_t		 set;		/* whose store asked; 0: none */
	uint32_t		 owner;
	int			 sock;		/* socket directory too */
	int			 in_sock;	/* what is being emptied */
	int			 tries;
	int			 late;
	pid_t			 pid;		/* 0: none, waits for a turn */
	struct event		 timer;
};

static TAILQ_HEAD(, job)	 jobs = TAILQ_HEAD_INITIALIZER(jobs);
static int			 emptiers;

static void
work_done(uint64_t n, uint64_t op, enum code code, const char *fmt, ...)
    __attribute__((__format__(printf, 4, 5)));

static void
work_done(uint64_t n, uint64_t op, enum code code, const char *fmt, ...)
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

int
workdir_make(const struct msg_work *w, uint64_t op)
{
	const struct child	*runner = &env.child[ROLE_RUNNER];
	char			 name[24], owner[16];
	uint32_t		 uid, gid;
	int			 fd = -1, root;

	root = env.conf->user_root && w->uid == 0 && w->gid == 0;
	if ((!root && (!in_range(w->uid) || !in_range(w->gid))) ||
	    conf_host_id(env.conf, &env.conf->uids, w->uid, &uid) == -1 ||
	    conf_host_id(env.conf, &env.conf->gids, w->gid, &gid) == -1) {
		log_warnx("workspace %" PRIu64 ": uid %u, gid %u: not of the "
		    "range", w->n, w->uid, w->gid);
		return (-1);
	}
	if (job_find(w->n) != NULL) {
		work_done(w->n, op, CODE_CONFLICT, "workspace %" PRIu64
		    " is being removed", w->n);
		return (0);
	}
	fault("parent.make.before");
	snprintf(name, sizeof(name), "%" PRIu64, w->n);
	snprintf(owner, sizeof(owner), "%u", w->owner);
	if (make_dir(env.dir.work, name, 0700, uid, gid) == -1 ||
	    make_dir(env.dir.sock, owner, 0755, 0, 0) == -1 ||
	    (fd = owner_dir(w->owner)) == -1 ||
	    make_dir(fd, name, 0755, runner->uid, runner->gid) == -1)
		work_done(w->n, op, code_of_errno(errno), "workspace %" PRIu64
		    ": %s", w->n, strerror(errno));
	else {
		fault("parent.make.after");
		work_done(w->n, op, CODE_OK, "%s", "");
	}
	if (fd != -1)
		close(fd);
	return (0);
}

static void
job_end(struct job *j, enum code code, const char *text)
{
	TAILQ_REMOVE(&jobs, j, entry);
	evtimer_del(&j->timer);
	if (j->set == env.set)
		work_done(j->n, j->op, code, "%s%s", code == CODE_OK ? "" :
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

/* In the new process: a handler of ours, or a descriptor, is not for it. */
static void
job_child(int at, const char *name, uid_t uid, gid_t gid)
{
	sigset_t	 none;
	int		 sig, from, lock;

	for (sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	from = fcntl(at, F_DUPFD, 16);
	lock = fcntl(env.dir.lock, F_DUPFD, 16);
	if (from == -1 || lock == -1 || dup2(from, PROC_PIPE_FD) == -1 ||
	    dup2(lock, PROC_LOCK_FD) == -1)
		_exit(2);
	closefrom(PROC_LOCK_FD + 1);
	emptydir(PROC_PIPE_FD, name, uid, gid);
}

static int
job_empty(struct job *j, int at, const char *name)
{
	struct timeval	 tv = { EMPTY_SECS, 0 };
	struct stat	 st;
	sigset_t	 all, old;
	pid_t		 pid;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (-1);
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return (-1);
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	if ((pid = fork()) == 0)
		job_child(at, name, st.st_uid, st.st_gid);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid == -1)
		return (-1);
	j->pid = pid;
	j->tries++;
	emptiers++;
	evtimer_add(&j->timer, &tv);
	return (0);
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
	if (emptiers >= EMPTIERS_MAX)
		return (0);
	return (job_empty(j, at, name));
}

static int
job_remove_work(struct job *j)
{
	char	 name[24], gone[32];
	int	 ret;

	j->in_sock = 0;
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

	while (emptiers < EMPTIERS_MAX) {
		TAILQ_FOREACH(j, &jobs, entry)
			if (j->pid == 0)
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

	if ((j = calloc(1, sizeof(*j))) == NULL)
		return (NULL);
	j->n = n;
	evtimer_set(&j->timer, job_late, j);
	TAILQ_INSERT_TAIL(&jobs, j, entry);
	return (j);
}

int
workdir_remove(const struct msg_work *w, uint64_t op)
{
	struct job	*j;
	int		 known;

	known = (j = job_find(w->n)) != NULL;
	if (!known && (j = job_new(w->n)) == NULL) {
		work_done(w->n, op, CODE_INTERNAL, "workspace %" PRIu64
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
	emptiers--;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		log_warnx("workspace %" PRIu64 ": who empties it was killed by "
		    "SIGSYS (forbidden system call)", j->n);
	if (j->late)
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
