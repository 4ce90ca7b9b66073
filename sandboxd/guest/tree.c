/*
 * Finding and killing what belongs to a command: the descendants of its
 * reaper, or, when a command has killed its reaper, of its first process and
 * everything that has fallen to PID 1 without being a reaper.
 *
 * Numbers wrap within seconds in a busy sandbox, so a process is held by a
 * pidfd and its parent looked at again before it gets a signal.  Nothing here
 * forks or allocates: it works when all processes of the limit are taken.
 */

#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal	424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open		434
#endif

#define TREE_MAX	16384	/* seen in one pass; the next sees the rest */
#define PID_LIMIT	4194304	/* of Linux on 64 bits */

struct dirent64 {
	uint64_t	 d_ino;
	int64_t		 d_off;
	uint16_t	 d_reclen;
	uint8_t		 d_type;
	char		 d_name[];
};

static struct node {
	pid_t	 pid;
	pid_t	 parent;
} nodes[TREE_MAX];
static int	 nnodes;

/* Who is in the tree, while /proc is scanned. */
static uint8_t	 member[PID_LIMIT / 8];

/* What a pass is to do, and what it has seen. */
struct pass {
	const struct exec *exec;
	pid_t		 root;		/* whose descendants, or -1 */
	int		 orphans;	/* and what fell to PID 1 */
	int		 sig;		/* 0: only count */
	struct seen	 seen;
	pid_t		 group;		/* killed just now */
};

static char *
put_num(char *p, pid_t n)
{
	char	 tmp[12];
	int	 i = 0;

	do
		tmp[i++] = '0' + n % 10;
	while ((n /= 10) > 0);
	while (i > 0)
		*p++ = tmp[--i];
	return (p);
}

static char *
put_str(char *p, const char *s)
{
	while (*s != '\0')
		*p++ = *s++;
	*p = '\0';
	return (p);
}

/* Parent, group and state of a process, -1 if there is none. */
static int
proc_stat(pid_t pid, pid_t *parent, pid_t *group, char *state)
{
	char	 name[64], buf[512], *p;
	ssize_t	 n;
	int	 fd;

	put_str(put_num(put_str(name, "/proc/"), pid), "/stat");
	if ((fd = open(name, O_RDONLY | O_CLOEXEC)) == -1)
		return (-1);
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return (-1);
	buf[n] = '\0';
	/* The name may hold anything, also brackets. */
	if ((p = strrchr(buf, ')')) == NULL || p[1] != ' ' || p[2] == '\0')
		return (-1);
	*state = p[2];
	*parent = strtol(p + 3, &p, 10);
	*group = strtol(p, &p, 10);
	return (0);
}

/* Every process number that a directory of /proc lists. */
static int
proc_list(const char *dir, void (*fn)(pid_t, void *), void *arg)
{
	char			 buf[8192]
				    __attribute__((__aligned__(8)));
	struct dirent64		*d;
	long			 n, i;
	int			 fd;

	if ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (-1);
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (i = 0; i < n; i += d->d_reclen) {
			d = (struct dirent64 *)(buf + i);
			if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
				fn(atoi(d->d_name), arg);
		}
	close(fd);
	return (0);
}

static void
node_add(pid_t pid, pid_t parent)
{
	if (nnodes == TREE_MAX || pid <= 0 || pid >= PID_LIMIT)
		return;
	nodes[nnodes].pid = pid;
	nodes[nnodes++].parent = parent;
}

/* A thread's children are listed in the thread's own file. */
static void
thread_children(pid_t tid, void *arg)
{
	pid_t	 pid = *(pid_t *)arg, child;
	char	 name[64], buf[4096], *p;
	ssize_t	 n, i;
	int	 fd;

	p = put_str(put_num(put_str(name, "/proc/"), pid), "/task/");
	put_str(put_num(p, tid), "/children");
	if ((fd = open(name, O_RDONLY | O_CLOEXEC)) == -1)
		return;
	/* A number may be cut by the end of what was read. */
	for (child = 0; (n = read(fd, buf, sizeof(buf))) > 0;)
		for (i = 0; i < n; i++) {
			if (buf[i] >= '0' && buf[i] <= '9')
				child = child * 10 + (buf[i] - '0');
			else {
				node_add(child, pid);
				child = 0;
			}
		}
	close(fd);
	node_add(child, pid);
}

static void
proc_children(pid_t pid)
{
	char	 name[64];

	put_str(put_num(put_str(name, "/proc/"), pid), "/task");
	proc_list(name, thread_children, &pid);
}

static int
is_reaper(pid_t pid)
{
	struct exec	*e;

	if (g.spare != NULL && g.spare->reaper == pid)
		return (1);
	TAILQ_FOREACH(e, &g.execs, entry)
		if (e->reaper == pid)
			return (1);
	return (reaper_is_idle(pid) || call_is_worker(pid));
}

static int
pid_signal(pid_t pid, int pidfd, int sig)
{
	if (pidfd == -1)
		return (kill(pid, sig));
	return (syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0));
}

/*
 * Signals pid if its parent is still one of the two: the one that it was
 * found under, or the one that it fell to.  1 if it lives.
 */
static int
visit(pid_t pid, pid_t parent, pid_t heir, int sig, pid_t *group)
{
	pid_t	 now;
	char	 state;
	int	 fd = -1, alive = 0;

	*group = 0;

	if (sig != 0 && g.pidfd)
		fd = syscall(SYS_pidfd_open, pid, 0);
	if (proc_stat(pid, &now, group, &state) == 0 && state != 'Z' &&
	    state != 'X' && (now == parent || now == heir)) {
		alive = 1;
		if (sig != 0) {
			pid_signal(pid, fd, sig);
			/* What is stopped could not act on it. */
			if (sig == SIGTERM)
				pid_signal(pid, fd, SIGCONT);
		}
	}
	if (fd != -1)
		close(fd);
	return (alive);
}

static void
pass_visit(struct pass *p, pid_t pid, pid_t parent)
{
	pid_t	 heir = p->root, group;

	if (heir == -1 || p->orphans)
		heir = getpid();
	if (!visit(pid, parent, heir, p->sig, &group))
		return;
	p->seen.found++;
	p->seen.hash += (uint64_t)pid * 2654435761U;
	if (pid > p->seen.top)
		p->seen.top = pid;
	/*
	 * A command has a session of its own, so that a group with a member
	 * in the tree has no other members; but before that it is in ours.
	 * A group is killed at one blow, between two forks: what forks faster
	 * than it can be counted does not outrun this.
	 */
	if (p->sig == SIGKILL && group > 1 && group != getpgrp() &&
	    group != p->group)
		kill(-group, SIGKILL);
	p->group = group;
}

/*
 * Has another command lost its reaper too, though its SIGCHLD has not been
 * looked at?  The kernel gives away the children of who dies and makes him a
 * zombie at one stroke: so who asks when he has the orphans knows of all whose
 * they may be.  One that has ended by itself leaves none.
 */
static int
others_dying(struct pass *p)
{
	struct exec	*o;
	siginfo_t	 si;

	TAILQ_FOREACH(o, &g.execs, entry) {
		if (o == p->exec || o->reaper == -1 ||
		    (o->state != EX_STARTING && o->state != EX_RUNNING))
			continue;
		memset(&si, 0, sizeof(si));
		if (waitid(P_PID, o->reaper, &si, WEXITED | WNOHANG |
		    WNOWAIT) == 0 && si.si_pid != 0 &&
		    si.si_code != CLD_EXITED) {
			p->seen.blind = 1;
			return (1);
		}
	}
	return (0);
}

/* Where a walk begins: the root's children, the orphans. */
static void
pass_roots(struct pass *p)
{
	int	 i, n;

	nnodes = 0;
	if (p->root != -1)
		proc_children(p->root);
	if (!p->orphans)
		return;
	i = n = nnodes;
	proc_children(getpid());
	if (others_dying(p))
		i = nnodes;
	for (; i < nnodes; i++)
		if (!is_reaper(nodes[i].pid))
			nodes[n++] = nodes[i];
	nnodes = n;
}

/* From parent to children.  Cheap, but blind to what moves meanwhile. */
static void
pass_walk(struct pass *p)
{
	int	 i;

	pass_roots(p);
	for (i = 0; i < nnodes; i++) {
		proc_children(nodes[i].pid);
		pass_visit(p, nodes[i].pid, nodes[i].parent);
	}
}

static void
scan_node(pid_t pid, void *arg)
{
	pid_t	 parent, group;
	char	 state;

	(void)arg;
	if (proc_stat(pid, &parent, &group, &state) == 0 && state != 'Z')
		node_add(pid, parent);
}

static int
is_member(pid_t pid)
{
	return (pid > 0 && pid < PID_LIMIT &&
	    (member[pid / 8] & 1 << pid % 8) != 0);
}

/* One picture of all processes; finds what outruns a walk. */
static void
pass_scan(struct pass *p)
{
	pid_t	 self = getpid();
	int	 i, more;

	nnodes = 0;
	proc_list("/proc", scan_node, NULL);
	if (p->orphans && others_dying(p))
		p->orphans = 0;
	do {
		for (i = more = 0; i < nnodes; i++) {
			pid_t	 pid = nodes[i].pid, parent = nodes[i].parent;

			if (is_member(pid) || pid == self)
				continue;
			if (is_member(parent) || parent == p->root ||
			    (p->orphans && parent == self &&
			    !is_reaper(pid))) {
				member[pid / 8] |= 1 << pid % 8;
				more = 1;
			}
		}
	} while (more);
	for (i = 0; i < nnodes; i++)
		if (is_member(nodes[i].pid))
			pass_visit(p, nodes[i].pid, nodes[i].parent);
	for (i = 0; i < nnodes; i++)
		member[nodes[i].pid / 8] = 0;
}

/*
 * The orphans are the last such command's alone: while there are two without
 * a reaper nobody can tell whose they are.
 */
static void
pass_init(struct pass *p, const struct exec *e, int sig)
{
	memset(p, 0, sizeof(*p));
	p->exec = e;
	p->sig = sig;
	p->root = -1;
	if (e->reaper != -1)
		p->root = e->reaper;
	else if (e->reaper_lost) {
		if (!e->done && e->pid > 0)
			p->root = e->pid;
		p->orphans = exec_others_lost(e) == 0;
	}
}

/* Sends sig to all that e has, returns how many lived; seen may be NULL. */
int
tree_signal(const struct exec *e, int sig, int pass, struct seen *seen)
{
	struct pass	 p;

	pass_init(&p, e, sig);
	if (e->reaper == -1 && p.root != -1)
		pass_visit(&p, p.root, getpid());
	if (pass < SCAN_AFTER)
		pass_walk(&p);
	else
		pass_scan(&p);
	if (seen != NULL)
		*seen = p.seen;
	return (p.seen.found);
}

int
tree_count(const struct exec *e)
{
	return (tree_signal(e, 0, 0, NULL));
}

/* Signals a single process, if parent is its parent.  1 if it was there. */
int
tree_signal_one(pid_t pid, pid_t parent, int sig)
{
	pid_t	 group;

	return (visit(pid, parent, parent, sig, &group));
}

void
tree_init(void)
{
	int	 fd;

	fd = syscall(SYS_pidfd_open, getpid(), 0);
	/* A filter of the sandbox may allow the one and not the other. */
	if (fd != -1 && syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == 0)
		g.pidfd = 1;
	if (fd != -1)
		close(fd);
}
