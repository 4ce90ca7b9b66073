/*
 * PID 1 of a sandbox: start, the loop, and the signals that it takes notice
 * of, which is SIGCHLD.  Inside and outside it ends by the runner's STOP, or
 * with its container.
 */

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attempt.h"
#include "guest.h"

#define EVENTS		64

struct guest	 g;

uint64_t
now_ns(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec * NSEC + ts.tv_nsec);
}

/* Whether to be told when fd, edge by edge, takes more. */
void
watch_more(int fd, enum source src, uint32_t slot, int more)
{
	struct epoll_event	 ev;

	memset(&ev, 0, sizeof(ev));
	ev.events = EPOLLIN | EPOLLET | (more ? EPOLLOUT : 0);
	ev.data.u64 = (uint64_t)src << 32 | slot;
	if (epoll_ctl(g.epfd, EPOLL_CTL_MOD, fd, &ev) == -1)
		err(1, "epoll_ctl");
}

/* Edge by edge what is written to or read until it would block. */
int
watch_fd(int fd, enum source src, uint32_t slot, uint32_t edge)
{
	struct epoll_event	 ev;

	memset(&ev, 0, sizeof(ev));
	ev.events = EPOLLIN;
	if (src == SRC_IN)
		ev.events = EPOLLOUT;
	if (edge)
		ev.events |= EPOLLET;
	ev.data.u64 = (uint64_t)src << 32 | slot;
	return (epoll_ctl(g.epfd, EPOLL_CTL_ADD, fd, &ev));
}

/* What is watched already is about another exec now. */
int
watch_again(int fd, enum source src, uint32_t slot)
{
	struct epoll_event	 ev;

	memset(&ev, 0, sizeof(ev));
	ev.events = EPOLLIN | EPOLLET;
	ev.data.u64 = (uint64_t)src << 32 | slot;
	return (epoll_ctl(g.epfd, EPOLL_CTL_MOD, fd, &ev));
}

/* Low numbers are taken for good: reapers use 0 to 3 for themselves. */
static void
init_fds(void)
{
	sigset_t	 chld;
	int		 fd;

	do {
		if ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1)
			err(1, "/dev/null");
	} while (fd < 4);
	g.nullfd = fd;
	if ((g.epfd = epoll_create1(EPOLL_CLOEXEC)) == -1)
		err(1, "epoll_create1");
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	g.sigfd = signalfd(-1, &chld, SFD_NONBLOCK | SFD_CLOEXEC);
	if (g.sigfd == -1 || watch_fd(g.sigfd, SRC_SIGNAL, 0, 0) == -1)
		err(1, "signalfd");
}

/* Before the process stops being dumpable: then /proc/self is root's. */
static void
init_oom(void)
{
	ssize_t	 n;

	g.oomfd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	if (g.oomfd == -1)
		return;
	n = read(g.oomfd, g.oomadj, sizeof(g.oomadj) - 1);
	/* What stands above it already is not ours to lower. */
	if (n <= 0 || atoi(g.oomadj) >= atoi(OOM_ADJ)) {
		close(g.oomfd);
		g.oomfd = -1;
	}
}

static void
init_boot(void)
{
	if (getrandom(&g.boot, sizeof(g.boot), 0) != sizeof(g.boot))
		err(1, "getrandom");
	if (g.boot == 0)
		g.boot = 1;
}

static void
init(const char *dir)
{
	struct sockaddr_un	 sun;

	if (strlen(dir) + sizeof("/" GUEST_SOCKNAME) > sizeof(sun.sun_path))
		errx(1, "%s: too long", dir);
	g.dir = dir;
	g.now = now_ns();
	TAILQ_INIT(&g.execs);
	TAILQ_INIT(&g.dirty);
	init_fds();
	confine_init();
	init_boot();
	init_oom();
	tree_init();
	umask(022);
	if (getpid() != 1 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1)
		err(1, "PR_SET_CHILD_SUBREAPER");
	confine_enter();
#ifdef FAULTS
	{
		const char *fault = getenv("SANDBOXD_FAULT");

		if (fault != NULL && strcmp(fault, "guest.attempt") == 0)
			attempts();
	}
#endif
	link_init();
}

static void
reap(void)
{
	struct signalfd_siginfo	 si;
	pid_t			 pid;
	int			 status;

	(void)!read(g.sigfd, &si, sizeof(si));
	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0)
		if (!call_child(pid, status))
			exec_child(pid, status);
}

static void
event_exec(enum source src, struct exec *e, uint32_t events)
{
	char	 buf[64];

	if (e->state == EX_FREE || e->state == EX_SPARE)
		return;
	switch (src) {
	case SRC_CTL:
		while (e->ctl != -1 && recv(e->ctl, buf, sizeof(buf),
		    MSG_DONTWAIT) == sizeof(buf))
			;
		exec_poll(e);
		break;
	case SRC_OUT:
		exec_stream(e, 0);
		break;
	case SRC_ERR:
		exec_stream(e, 1);
		break;
	case SRC_IN:
		exec_poll(e);
		if (e->state == EX_RUNNING && (events & EPOLLERR) != 0 &&
		    e->in.fd != -1) {
			input_close(e);
			exec_dirty(e, P_INPUT_ACK);
		} else
			input_write(e);
		break;
	default:
		break;
	}
}

static void
event(const struct epoll_event *ev)
{
	enum source	 src = ev->data.u64 >> 32;

	switch (src) {
	case SRC_SIGNAL:
		reap();
		break;
	case SRC_LINK:
		link_event(ev->events);
		break;
	case SRC_CALL:
		call_event(ev->data.u64 & 0xffffffff, ev->events);
		break;
	case SRC_INOTIFY:
		link_inotify();
		break;
	default:
		event_exec(src, exec_at(ev->data.u64 & 0xffffffff),
		    ev->events);
	}
}

static uint64_t
sooner(uint64_t a, uint64_t b)
{
	return (a == 0 || (b != 0 && b < a) ? b : a);
}

/* Until then something is due, 0 for never. */
static int
timeout_ms(uint64_t at)
{
	if (g.again)
		return (0);
	if (at == 0)
		return (-1);
	if (at <= g.now)
		return (0);
	at = (at - g.now + MSEC - 1) / MSEC;
	return (at > 86400000 ? 86400000 : at);
}

static void
loop(void)
{
	struct epoll_event	 ev[EVENTS];
	uint64_t		 at;
	int			 i, n;

	for (;;) {
		g.now = now_ns();
		at = kill_timers();
		link_timer();
		link_flush();
		exec_spare();
		if (g.stopping && g.now >= g.stop_limit)
			exit(0);
		at = sooner(at, link_timer());
		at = sooner(at, reaper_timer());
		at = sooner(at, call_timer());
		at = sooner(at, changed_timer());
		if (g.stopping)
			at = sooner(at, g.stop_limit);
		n = epoll_wait(g.epfd, ev, EVENTS, timeout_ms(at));
		if (n == -1 && errno != EINTR)
			err(1, "epoll_wait");
		g.now = now_ns();
		for (i = 0; i < n; i++)
			event(&ev[i]);
		if (g.again)
			exec_again();
	}
}

static void
usage(void)
{
	fprintf(stderr, "usage: sandbox-guest [-V] [directory]\n");
	exit(1);
}

int
main(int argc, char *argv[])
{
	const char	*dir = GUEST_SOCKDIR;

	if (argc == 2 && strcmp(argv[1], "-V") == 0) {
		printf("sandbox-guest %s protocol %d\n", GUEST_RELEASE,
		    GP_VERSION);
		return (0);
	}
	if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
		usage();
	if (argc == 2)
		dir = argv[1];
	init(dir);
	loop();
}
