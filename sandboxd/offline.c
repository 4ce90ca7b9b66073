/*
 * What is done with an event log while no daemon runs: it is proven (-V), or
 * made from a dump (-R).  The parent's part is to hold the lock and to give
 * names to directories.  What the store's user owns, and the dump, is read by
 * a child with that user, the database for its root directory and the store's
 * own filter, which says in a few bytes what came of it.  What it does there
 * is in log_offline.c, and comes from main(): nothing of the parent reads the
 * log.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "log.h"
#include "offline.h"
#include "parent.h"

#define NEW		"db.new"	/* until it is proven */
#define ROOT_FD		6

/* It keeps the lock, and no descriptor of a directory that is not its own. */
static void
offline_descriptors(int root, int dump, int answer)
{
	int	 from, to, dir, lock;

	from = dump == -1 ? open("/dev/null", O_RDONLY) :
	    fcntl(dump, F_DUPFD, 16);
	to = fcntl(answer, F_DUPFD, 16);
	dir = fcntl(root, F_DUPFD, 16);
	lock = fcntl(env.dir.lock, F_DUPFD, 16);
	if (from == -1 || to == -1 || dir == -1 || lock == -1 ||
	    dup2(from, OFFLINE_DUMP_FD) == -1 || dup2(to, PROC_PIPE_FD) == -1 ||
	    dup2(dir, ROOT_FD) == -1 || dup2(lock, PROC_LOCK_FD) == -1)
		fatal("descriptors");
	closefrom(ROOT_FD + 1);
}

static __attribute__((__noreturn__)) void
offline_child(offline_fn fn, pid_t ppid)
{
	const struct child	*store = &env.child[ROLE_STORE];
	const struct proc_layers *l;
	struct proc_ids		 ids;
	struct offline_outcome		 o;

	memset(&o, 0, sizeof(o));
	memset(&ids, 0, sizeof(ids));
	ids.role = ROLE_STORE;
	ids.uid = store->uid;
	ids.gid = store->gid;
	ids.ppid = (uint32_t)ppid;
	ids.nofile = 256;
	ids.root = ROOT_FD;
	proc_drop(&ids);
	sandbox_store();
	l = sandbox_layers();
	if (!env.conf->best_effort && (l->mask & (LAYER_SECCOMP |
	    LAYER_LANDLOCK)) != (LAYER_SECCOMP | LAYER_LANDLOCK))
		snprintf(o.why, sizeof(o.why), "this kernel cannot confine "
		    "who reads the log; see sandbox in sandboxd.conf(5)");
	else
		fn(&o);
	/* One write, into an empty pipe that holds more. */
	_exit(write(PROC_PIPE_FD, &o, sizeof(o)) == sizeof(o) ? 0 : 1);
}

/* Runs fn with the directory for its root; what it says, or why it died. */
static void
offline_run(offline_fn fn, int root, int dump, struct offline_outcome *o)
{
	pid_t	 pid, ppid = getpid();
	ssize_t	 n;
	int	 fds[2], status;

	memset(o, 0, sizeof(*o));
	if (pipe2(fds, O_CLOEXEC) == -1 || (pid = fork()) == -1)
		fatal("fork");
	if (pid == 0) {
		offline_descriptors(root, dump, fds[1]);
		offline_child(fn, ppid);
	}
	close(fds[1]);
	while ((n = read(fds[0], o, sizeof(*o))) == -1 && errno == EINTR)
		continue;
	close(fds[0]);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			fatal("waitpid");
	if (n != sizeof(*o)) {
		memset(o, 0, sizeof(*o));
		snprintf(o->why, sizeof(o->why), "who read it has died%s%s",
		    WIFSIGNALED(status) ? ": " : "",
		    WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "");
	}
	o->why[sizeof(o->why) - 1] = '\0';
	o->r.instance[sizeof(o->r.instance) - 1] = '\0';
	o->r.head[sizeof(o->r.head) - 1] = '\0';
}

/* 1: nothing is in it, or it is not there. */
static int
is_empty(const char *name)
{
	struct dirent	*de;
	DIR		*dir;
	int		 fd, found = 0;

	if ((fd = openat(env.dir.fd, name, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC)) == -1 && errno == ENOENT)
		return (1);
	if (fd == -1 || (dir = fdopendir(fd)) == NULL)
		fatal("%s/%s", env.dir.path, name);
	while ((de = readdir(dir)) != NULL)
		found |= strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0;
	closedir(dir);
	return (!found);
}

/* What a restoration that was cut off has left, or this one would. */
static void
new_remove(void)
{
	const struct child	*store = &env.child[ROLE_STORE];
	pid_t			 pid;
	int			 fd;

	if (faccessat(env.dir.fd, NEW, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
		return;
	if ((pid = fork()) == -1)
		fatal("fork");
	if (pid == 0) {
		if ((fd = fcntl(env.dir.fd, F_DUPFD, 16)) == -1 ||
		    dup2(fd, PROC_PIPE_FD) == -1)
			_exit(1);
		closefrom(PROC_PIPE_FD + 1);
		emptydir(PROC_PIPE_FD, NEW, store->uid, store->gid);
	}
	while (waitpid(pid, NULL, 0) == -1)
		if (errno != EINTR)
			fatal("waitpid");
	if (unlinkat(env.dir.fd, NEW, AT_REMOVEDIR) == -1)
		fatal("%s/%s", env.dir.path, NEW);
}

static void
result_print(const struct logdump_result *r)
{
	/* The same as `sandboxctl log verify' prints. */
	printf("events       %llu\nskeletons    %llu\nanchor       %llu\n"
	    "head         %s\nnewest       %llu\nsandboxes    %llu\n"
	    "execs        %llu\n", (unsigned long long)r->events,
	    (unsigned long long)r->skeletons, (unsigned long long)r->anchor,
	    r->head, (unsigned long long)r->seq,
	    (unsigned long long)r->boxes, (unsigned long long)r->execs);
	if (fflush(stdout) == EOF)
		err(1, "standard output");
}

/* The state directory's own name must lead to what was put into it. */
static void
dir_sync(void)
{
	int	 fd;

	if ((fd = openat(env.dir.fd, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1 || fsync(fd) == -1)
		fatal("%s", env.dir.path);
	close(fd);
}

void
offline_log_verify(offline_fn verify)
{
	struct offline_outcome	 o;
	int		 fd;

	if (statedir_lock(&env.dir, env.conf) == -1)
		exit(1);
	if (is_empty("db"))
		fatalx("%s/db: there is no event log", env.dir.path);
	if ((fd = openat(env.dir.fd, "db", O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		fatal("%s/db", env.dir.path);
	offline_run(verify, fd, -1, &o);
	if (!o.ok)
		fatalx("event log: %s", o.why);
	result_print(&o.r);
	exit(0);
}

void
offline_log_restore(const char *file, offline_fn restore)
{
	const struct child	*store = &env.child[ROLE_STORE];
	struct offline_outcome		 o;
	int			 dump, fd;

	if ((dump = open(file, O_RDONLY | O_CLOEXEC)) == -1)
		fatal("%s", file);
	if (statedir_lock(&env.dir, env.conf) == -1)
		exit(1);
	if (!is_empty("db"))
		fatalx("%s/db: not empty: there is an event log; move it away "
		    "first", env.dir.path);
	new_remove();
	if ((fd = statedir_make(&env.dir, NEW, 0700, store->uid,
	    store->gid)) == -1)
		fatal("%s/%s", env.dir.path, NEW);
	fault("restore.made.after");
	offline_run(restore, fd, dump, &o);
	close(fd);
	fault("restore.proven.after");
	if (!o.ok) {
		new_remove();
		fatalx("%s: %s", file, o.why);
	}
	/* First what the containers are known by, then their log. */
	if (statedir_instance(&env.dir, o.r.instance) == -1) {
		new_remove();
		exit(1);
	}
	fault("restore.rename.before");
	if (renameat(env.dir.fd, NEW, env.dir.fd, "db") == -1)
		fatal("%s/db", env.dir.path);
	fault("restore.rename.after");
	dir_sync();
	result_print(&o.r);
	exit(0);
}
