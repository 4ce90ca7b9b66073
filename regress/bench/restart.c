/*
 * The death of a process: how long until the next set answers, and until
 * the guests are back.
 *
 * A guest's way back is seen from outside: the socket gets its name when it
 * can be connected to, and loses it when the guest has said hello.
 */
#include <sys/inotify.h>
#include <sys/wait.h>

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define SOCKNAME	"s"		/* guests know it by this name */
#define BACK_WAIT	60000		/* ms */
#define CHILDREN	4

struct watch {
	int	 fd;
	int	 n;
	int	*wd;
	double	*named;			/* 0: not yet */
	double	*back;
	pthread_t thread;
};

static void	*watch_main(void *);

static void
watch_open(struct watch *w, const struct proto_sandbox *b, int n)
{
	char	 path[1024];
	int	 i;

	w->n = n;
	if ((w->fd = inotify_init1(IN_CLOEXEC)) == -1)
		err(1, "inotify");
	if ((w->wd = calloc(n, sizeof(*w->wd))) == NULL ||
	    (w->named = calloc(n, sizeof(*w->named))) == NULL ||
	    (w->back = calloc(n, sizeof(*w->back))) == NULL)
		err(1, NULL);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/runner/sock/%u/%llu",
		    bench.state, b[i].owner, (unsigned long long)b[i].number);
		if ((w->wd[i] = inotify_add_watch(w->fd, path,
		    IN_MOVED_TO | IN_DELETE)) == -1)
			err(1, "%s", path);
	}
	if ((i = pthread_create(&w->thread, NULL, watch_main, w)) != 0)
		errc(1, i, "thread");
}

static void
watch_close(struct watch *w)
{
	close(w->fd);
	free(w->wd);
	free(w->named);
	free(w->back);
}

/* Notes what has happened by now. */
static void
watch_read(struct watch *w)
{
	const struct inotify_event	*ev;
	char				 buf[16384]
	    __attribute__((__aligned__(8)));
	ssize_t				 len, off;
	int				 i;

	if ((len = read(w->fd, buf, sizeof(buf))) == -1)
		err(1, "inotify");
	for (off = 0; off < len; off += sizeof(*ev) + ev->len) {
		ev = (const struct inotify_event *)(buf + off);
		if (ev->len == 0 || strcmp(ev->name, SOCKNAME) != 0)
			continue;
		for (i = 0; i < w->n && w->wd[i] != ev->wd; i++)
			;
		if (i == w->n)
			continue;
		if (ev->mask & IN_MOVED_TO)
			w->named[i] = now();
		else if (w->named[i] != 0)
			w->back[i] = now();
	}
}

static int
watch_whole(const struct watch *w)
{
	int	 i;

	for (i = 0; i < w->n; i++)
		if (w->back[i] == 0)
			return (0);
	return (1);
}

/* The times are taken here, before anyone else has the processor. */
static void *
watch_main(void *arg)
{
	struct watch		*w = arg;
	struct sched_param	 sp = { .sched_priority = 1 };
	struct pollfd		 pfd = { w->fd, POLLIN, 0 };

	(void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &sp);
	while (!watch_whole(w)) {
		if (poll(&pfd, 1, BACK_WAIT) == 0)
			errx(1, "a guest does not come back");
		watch_read(w);
	}
	return (NULL);
}

/* Until a new connection is answered; when the process was killed. */
static double
restart(void)
{
	struct sandbox_error	 e;
	struct sandbox		*c;
	double			 start;

	if (kill(daemon_pid("store"), SIGKILL) == -1)
		err(1, "kill");
	start = now();
	sandbox_close(bench.conn);
	for (;;) {
		if ((c = sandbox_open(bench.socket, "bench", &e)) != NULL) {
			if (sandbox_ping(c) == 0)
				break;
			sandbox_close(c);
		}
		if (now() - start > BACK_WAIT * 1e3)
			errx(1, "no answer after a restart: %s", e.text);
		pause_ms(1);
	}
	bench.conn = c;
	return (start);
}

/* The least of it: as many programs of that size, and a sync; ms. */
static double
restart_limit(void)
{
	char	*argv[] = { (char *)(uintptr_t)bench.daemon, "-n", "-f",
		    (char *)(uintptr_t)bench.conf, NULL };
	double	 start = now();
	pid_t	 pid[CHILDREN];
	int	 i, null;

	if ((null = open("/dev/null", O_WRONLY | O_CLOEXEC)) == -1)
		err(1, "/dev/null");
	for (i = 0; i < CHILDREN; i++)
		pid[i] = spawn(argv, null, null);
	for (i = 0; i < CHILDREN; i++)
		if (waitpid(pid[i], NULL, 0) == -1)
			err(1, "waitpid");
	host_sync();
	close(null);
	return ((now() - start) / 1e3);
}

void
bench_restart(void)
{
	struct samples	 took = { 0 }, back = { 0 }, limit = { 0 };
	struct watch	 w;
	double		 start;
	int		 i, n = bench.n >= 100 ? 8 : 2;

	for (i = 0; i < n; i++) {
		/* More than a second apart: the first death costs no delay. */
		pause_ms(1200);
		sample(&limit, restart_limit());
		watch_open(&w, &bench.box, 1);
		start = restart();
		sample(&took, (now() - start) / 1e3);
		(void)pthread_join(w.thread, NULL);
		sample(&back, w.back[0] - w.named[0]);
		watch_close(&w);
	}
	title("restart of the whole set (%d times)", n);
	row(ROW_RESTART, at(&took, 0.5), at(&limit, 0.5));
	row(ROW_RESTART_MAX, at(&took, 1), at(&limit, 1));
	row(ROW_BACK, at(&back, 0.5), 0);
	samples_free(&took);
	samples_free(&back);
	samples_free(&limit);
}

/* The same with many sandboxes. */
void
restart_many(const struct proto_sandbox *b, int n)
{
	struct watch	 w;
	double		 start, took, last = 0;
	int		 i;

	pause_ms(1200);
	watch_open(&w, b, n);
	start = restart();
	took = now() - start;
	(void)pthread_join(w.thread, NULL);
	for (i = 0; i < n; i++)
		if (w.back[i] > last)
			last = w.back[i];
	row(ROW_RESTART, took / 1e3, 0);
	row(ROW_BACK_ALL, (last - start) / 1e3, 0);
	watch_close(&w);
}
