/*
 * Mounts of the host's directories: judged and looked at when a sandbox is
 * asked for, and mounted before each of its starts, by a child each time.
 *
 * Who asks is known from his connection alone, which may be gone when his
 * sandbox is made: so what was found good then is kept under a ticket, and
 * from the making on in a file.  A mount is there only until the container has
 * it: nobody who looks into the state directory, or removes it, is to come to
 * a client's files.
 */

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
#include "mounts.h"

#define RUNNING_MAX	4	/* children at a time; a few ms each */
#define JOBS_MAX	4096	/* with those that wait, and tickets */
#define USER_MAX	UID_INFLIGHT_MAX /* requests that are looked at */
#define USER_RUNNING	2	/* of them at a time */
#define STUCK_MAX	16	/* that the kernel does not let go */

enum kind {
	KIND_LOOK,		/* before the sandbox is accepted */
	KIND_TICKET,		/* looked at, and good: not to be run */
	KIND_MAKE
};

/* What comes after the child that has to end first. */
enum next {
	NEXT_NONE,
	NEXT_OFF,
	NEXT_MAKE,
	NEXT_REMOVE
};

struct job {
	TAILQ_ENTRY(job)	 entry;
	enum kind		 kind;
	uint32_t		 set;		/* whose store asked */
	uint64_t		 ticket;
	uint64_t		 op;		/* of KIND_MAKE */
	struct msg_work		 work;
	struct mounts_record	 record;
	uint32_t		 sockets;
	uid_t			 uid;		/* of the sandbox, on the host */
	gid_t			 gid;
	pid_t			 pid;		/* 0: none, waits for a turn */
	int			 late;
	int			 stuck;		/* it is not among those running */
	int			 told;		/* its store has the answer */
	uint64_t		 session;	/* of KIND_LOOK */
	enum next		 next;
	uint32_t		 next_set;	/* whose store asked for that */
	struct msg_work		 next_work;
	uint64_t		 next_op;
	struct event		 timer;
};

static TAILQ_HEAD(, job)	 jobs = TAILQ_HEAD_INITIALIZER(jobs);
static size_t			 njobs;
static int			 running, stuck;

static void	jobs_run(void);

static struct job *
job_new(enum kind kind)
{
	struct job	*j;

	if (njobs >= JOBS_MAX || (j = calloc(1, sizeof(*j))) == NULL)
		return (NULL);
	j->kind = kind;
	j->set = env.set;
	njobs++;
	TAILQ_INSERT_TAIL(&jobs, j, entry);
	return (j);
}

static void
job_free(struct job *j)
{
	if (evtimer_initialized(&j->timer))
		evtimer_del(&j->timer);
	TAILQ_REMOVE(&jobs, j, entry);
	njobs--;
	mountfile_clear(&j->record);
	free(j);
}

static struct job *
job_making(uint64_t n)
{
	struct job	*j;

	TAILQ_FOREACH(j, &jobs, entry)
		if (j->kind == KIND_MAKE && j->work.n == n)
			return (j);
	return (NULL);
}

static struct job *
job_ticket(enum kind kind, uint64_t ticket)
{
	struct job	*j;

	TAILQ_FOREACH(j, &jobs, entry)
		if (j->kind == kind && j->ticket == ticket &&
		    j->set == env.set)
			return (j);
	return (NULL);
}

/* Requests of a user that are not over; those that have a child alone. */
static int
jobs_of(uint32_t uid, int alone)
{
	struct job	*j;
	int		 n = 0;

	TAILQ_FOREACH(j, &jobs, entry)
		n += j->kind == KIND_LOOK && j->record.uid == uid &&
		    (!alone || j->pid != 0);
	return (n);
}

static void
checked(uint64_t ticket, enum code code, const char *fmt, ...)
    __attribute__((__format__(printf, 3, 4)));

/* The answer to who has asked whether they can be had. */
static void
checked(uint64_t ticket, enum code code, const char *fmt, ...)
{
	struct msg_mounts_checked	 m;
	va_list				 ap;

	memset(&m, 0, sizeof(m));
	m.ticket = ticket;
	m.code = code;
	va_start(ap, fmt);
	vsnprintf(m.text, sizeof(m.text), fmt, ap);
	va_end(ap);
	parent_send(ROLE_STORE, MSG_MOUNTS_CHECKED, 0, 0, 0, -1, &m);
}

/* Is there still somebody who asks? */
static int
job_wanted(const struct job *j)
{
	return (j->kind == KIND_MAKE || (!j->told && j->set == env.set &&
	    sessions_may(j->session, RIGHT_CREATE)));
}

static void
job_late(int fd, short event, void *arg)
{
	struct job	*j = arg;

	(void)fd;
	(void)event;
	j->late = 1;
	/* One that the kernel does not let go is not waited for. */
	if (j->kind == KIND_LOOK && !j->told && j->set == env.set)
		checked(j->ticket, CODE_DEADLINE_EXCEEDED,
		    "not looked at in time");
	j->told = 1;
	if (j->pid == 0) {
		job_free(j);
		return;
	}
	(void)kill(j->pid, SIGKILL);
	if (stuck < STUCK_MAX) {
		j->stuck = 1;
		stuck++;
		running--;
		jobs_run();
	}
}

static void
job_time(struct job *j)
{
	struct timeval	 tv = { MOUNTS_SECS, 0 };

	evtimer_set(&j->timer, job_late, j);
	evtimer_add(&j->timer, &tv);
}

int
mounts_check(const struct frame *f, struct msg_mounts_check *m)
{
	struct job	*j;
	enum code	 code;
	char		 why[TEXT_MAX + 1];

	if (m->ticket == 0 || m->ro.n + m->rw.n == 0 ||
	    m->ro.n + m->rw.n > SBX_MOUNTS_MAX ||
	    job_ticket(KIND_LOOK, m->ticket) != NULL ||
	    job_ticket(KIND_TICKET, m->ticket) != NULL)
		return (-1);
	if ((j = job_new(KIND_LOOK)) == NULL) {
		checked(m->ticket, CODE_LIMIT_EXCEEDED,
		    "too many requests for mounts at a time");
		return (0);
	}
	j->ticket = m->ticket;
	j->record.ro = m->ro;
	j->record.rw = m->rw;
	memset(&m->ro, 0, sizeof(m->ro));
	memset(&m->rw, 0, sizeof(m->rw));
	if (sessions_who(f->session, &j->record.uid, &j->record.gid,
	    &j->record.groups) == -1) {
		checked(j->ticket, CODE_UNAVAILABLE, "its client is gone");
		job_free(j);
		return (0);
	}
	j->session = f->session;
	if (jobs_of(j->record.uid, 0) > USER_MAX) {
		checked(j->ticket, CODE_LIMIT_EXCEEDED, "too many requests for "
		    "mounts at a time: the limit is %d of a user", USER_MAX);
		job_free(j);
		return (0);
	}
	if ((code = mounts_judge(&j->record, &j->sockets, why,
	    sizeof(why))) != CODE_OK) {
		checked(j->ticket, code, "%s", why);
		job_free(j);
		return (0);
	}
	/* From now on, whenever its turn comes. */
	job_time(j);
	jobs_run();
	return (0);
}

void
mounts_drop(uint64_t ticket)
{
	struct job	*j;

	if ((j = job_ticket(KIND_TICKET, ticket)) != NULL)
		job_free(j);
	else if ((j = job_ticket(KIND_LOOK, ticket)) != NULL)
		j->told = 1;		/* what it finds is nobody's */
}

static int
job_fork(struct job *j)
{
	struct workmount	 m;
	pid_t			 pid;

	if ((pid = spawn_helper(env.dir.mounts)) == -1)
		return (-1);
	if (pid == 0) {
		memset(&m, 0, sizeof(m));
		m.record = &j->record;
		m.path = env.dir.mountspath;
		m.n = j->kind == KIND_MAKE ? j->work.n : 0;
		m.sockets = j->sockets;
		m.uid = j->uid;
		m.gid = j->gid;
		workmount(&m);
	}
	j->pid = pid;
	running++;
	if (j->kind == KIND_MAKE)
		job_time(j);
	return (0);
}

/* A making is over: it is mounted, or nothing is. */
static void
job_made(struct job *j, enum code code, const char *text)
{
	struct msg_work	 work = j->work;
	uint64_t	 op = j->op;
	int		 mine = j->set == env.set;

	if (code != CODE_OK || !mine)
		(void)workmount_off(env.dir.mountspath, work.n);
	job_free(j);
	if (!mine)
		return;
	if (code != CODE_OK)
		workdir_done(work.n, op, code, "mounts: %s", text);
	else {
		fault("parent.mounts.after");
		if (workdir_make(&work, op) == -1)
			parent_condemn(&env.child[ROLE_STORE],
			    "broke the protocol");
	}
}

static void
job_looked(struct job *j, enum code code, const char *text)
{
	if (j->told || j->set != env.set) {
		job_free(j);
		return;
	}
	checked(j->ticket, code, "%s", text);
	if (code == CODE_OK) {
		j->kind = KIND_TICKET;
		evtimer_del(&j->timer);
	} else
		job_free(j);
}

static void
job_over(struct job *j, enum code code, const char *text)
{
	if (j->kind == KIND_MAKE)
		job_made(j, code, text);
	else
		job_looked(j, code, text);
}

/* Whose turn it is: what is accepted comes first, and no user has it all. */
static struct job *
job_turn(void)
{
	struct job	*j, *look = NULL;

	TAILQ_FOREACH(j, &jobs, entry) {
		if (j->pid != 0)
			continue;
		if (j->kind == KIND_MAKE)
			return (j);
		if (look == NULL && j->kind == KIND_LOOK &&
		    jobs_of(j->record.uid, 1) < USER_RUNNING)
			look = j;
	}
	return (look);
}

static void
jobs_run(void)
{
	struct job	*j;

	while (running < RUNNING_MAX && env.state != SET_STOPPING &&
	    (j = job_turn()) != NULL) {
		if (!job_wanted(j)) {
			if (!j->told && j->set == env.set)
				checked(j->ticket, CODE_UNAVAILABLE,
				    "its client is gone");
			job_free(j);
		} else if (job_fork(j) == -1)
			job_over(j, CODE_INTERNAL, strerror(errno));
	}
}

/* What is known of it: from its request, or from the file. */
static enum code
make_known(struct job *j, const struct msg_work *w, char *why, size_t size)
{
	struct job	*t;
	enum code	 code;
	int		 fresh = 0;

	if (w->ticket != 0 && (t = job_ticket(KIND_TICKET,
	    w->ticket)) != NULL) {
		j->record = t->record;
		memset(&t->record, 0, sizeof(t->record));
		job_free(t);
		fresh = 1;
	} else if (mountfile_read(env.dir.mounts, w->n, &j->record) == -1) {
		snprintf(why, size, "what was known of them was lost with a "
		    "restart");
		return (CODE_UNAVAILABLE);
	}
	if (j->record.ro.n + j->record.rw.n != w->mounts) {
		snprintf(why, size, "there are others than were asked for");
		return (CODE_INTERNAL);
	}
	if ((code = mounts_judge(&j->record, &j->sockets, why,
	    size)) != CODE_OK)
		return (code);
	if (fresh && mountfile_write(env.dir.mounts, w->n,
	    &j->record) == -1) {
		snprintf(why, size, "%s", strerror(errno));
		return (errno == ENOSPC || errno == EDQUOT ? CODE_NO_SPACE :
		    CODE_INTERNAL);
	}
	return (CODE_OK);
}

static void
make_begin(const struct msg_work *w, uint64_t op, uid_t uid, gid_t gid)
{
	struct job	*j;
	enum code	 code;
	char		 why[TEXT_MAX + 1];

	if ((j = job_new(KIND_MAKE)) == NULL) {
		mounts_drop(w->ticket);
		workdir_done(w->n, op, CODE_INTERNAL, "mounts: %s",
		    strerror(ENOMEM));
		return;
	}
	j->work = *w;
	j->op = op;
	j->uid = uid;
	j->gid = gid;
	fault("parent.mounts.before");
	(void)workmount_off(env.dir.mountspath, w->n);
	if ((code = make_known(j, w, why, sizeof(why))) != CODE_OK)
		job_made(j, code, why);
	else
		jobs_run();
}

/* One that is at it for the same sandbox is ended, and this one follows. */
static int
job_follow(uint64_t n, enum next next, const struct msg_work *w, uint64_t op)
{
	struct job	*j;

	if ((j = job_making(n)) == NULL)
		return (0);
	if (j->pid == 0) {
		job_free(j);
		return (0);
	}
	(void)kill(j->pid, SIGKILL);
	j->next = next;
	j->next_set = env.set;
	if (w != NULL) {
		j->next_work = *w;
		j->next_op = op;
	}
	return (1);
}

int
mounts_make(const struct msg_work *w, uint64_t op)
{
	uid_t	 uid;
	gid_t	 gid;

	if (w->mounts == 0)
		return (workdir_make(w, op));
	/* Nothing is mapped to root, whatever the policy has. */
	if (w->mounts > SBX_MOUNTS_MAX || w->uid == 0 || w->gid == 0 ||
	    workdir_ids(w, &uid, &gid) == -1)
		return (-1);
	if (!job_follow(w->n, NEXT_MAKE, w, op))
		make_begin(w, op, uid, gid);
	return (0);
}

int
mounts_remove(const struct msg_work *w, uint64_t op)
{
	if (job_follow(w->n, NEXT_REMOVE, w, op))
		return (0);
	if (workmount_off(env.dir.mountspath, w->n) == -1 ||
	    mountfile_remove(env.dir.mounts, w->n) == -1)
		log_warn("mounts of sandbox %" PRIu64, w->n);
	return (workdir_remove(w, op));
}

void
mounts_off(uint64_t n)
{
	if (!job_follow(n, NEXT_OFF, NULL, 0) &&
	    workmount_off(env.dir.mountspath, n) == -1)
		log_warn("mounts of sandbox %" PRIu64, n);
}

static void
job_next(struct job *j)
{
	struct msg_work	 w = j->next_work;
	enum next	 next = j->next;
	uint64_t	 op = j->next_op, n = j->work.n;
	int		 mine = j->next_set == env.set, ret = 0;

	job_free(j);
	(void)workmount_off(env.dir.mountspath, n);
	if (next == NEXT_MAKE && mine)
		ret = mounts_make(&w, op);
	else if (next == NEXT_REMOVE && mine)
		ret = mounts_remove(&w, op);
	if (ret == -1)
		parent_condemn(&env.child[ROLE_STORE], "broke the protocol");
}

int
mounts_reaped(pid_t pid, int status)
{
	struct job	*j;
	enum code	 code;
	char		 text[TEXT_MAX + 1];

	TAILQ_FOREACH(j, &jobs, entry)
		if (j->pid == pid)
			break;
	if (j == NULL)
		return (0);
	if (j->kind == KIND_MAKE)
		evtimer_del(&j->timer);
	j->pid = 0;
	if (j->stuck)
		stuck--;
	else
		running--;
	code = workmount_ended(status, &j->record, text, sizeof(text));
	if (j->late) {
		code = CODE_DEADLINE_EXCEEDED;
		strlcpy(text, "not looked at in time", sizeof(text));
	}
	if (j->next != NEXT_NONE)
		job_next(j);
	else
		job_over(j, code, text);
	jobs_run();
	return (1);
}

void
mounts_kill(void)
{
	struct job	*j;

	TAILQ_FOREACH(j, &jobs, entry)
		if (j->pid != 0)
			(void)kill(j->pid, SIGKILL);
}

/* What is mounted, but for whom it is being made ready. */
static void
off_all(void)
{
	struct dirent	*de;
	DIR		*dir;
	uint64_t	 n;
	int		 fd;

	if ((fd = openat(env.dir.mounts, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1 || (dir = fdopendir(fd)) == NULL) {
		log_warn("%s", env.dir.mountspath);
		if (fd != -1)
			close(fd);
		return;
	}
	while ((de = readdir(dir)) != NULL)
		if (sscanf(de->d_name, "%" SCNu64, &n) == 1 &&
		    job_making(n) == NULL)
			(void)workmount_off(env.dir.mountspath, n);
	closedir(dir);
}

/* Of sets that are gone: tickets, and what they have left mounted. */
void
mounts_begin(void)
{
	struct job	*j, *next;

	TAILQ_FOREACH_SAFE(j, &jobs, entry, next)
		if (j->set != env.set && j->pid == 0)
			job_free(j);
	off_all();
}

void
mounts_end(void)
{
	if (env.dir.mountspath != NULL)
		off_all();
}
