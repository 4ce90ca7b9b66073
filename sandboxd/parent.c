/*
 * The parent: starts the set of children, watches over it, and replaces the
 * whole of it when one dies.  Starting after a death and starting for the
 * first time are the same.  What the children say is in parent_recv.c.
 */

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <event.h>

#include "blame.h"
#include "confine.h"
#include "log.h"
#include "parent.h"

#define READY_SECS	60		/* for all children to be ready */
#define REAP_SECS	10		/* until a killed one is missed */
#define STOP_SECS	10		/* for a polite end */
#define MUTE_SECS	2		/* to die after its pipe has ended */
#define DELAY_MIN	100		/* ms, doubled with each death */
#define DELAY_MAX	30000
#define DEATHS_MAX	1024
#define QUEUE_MAX	(32 * 1024 * 1024)	/* bytes towards one child */

struct parent	 env;

static struct event	 ev_child, ev_hup, ev_int, ev_term;
static struct event	 ev_timer;	/* of the state that we are in */
static uint64_t		 deaths[DEATHS_MAX];	/* newest first, ms */

static void	 set_start(void);
static void	 set_fail(void);
static void	 set_reaped(void);

static const struct {
	enum role	 a, b;
} pipes[] = {
	{ ROLE_FRONTEND, ROLE_STORE },
	{ ROLE_STORE, ROLE_BROKER },
	{ ROLE_STORE, ROLE_RUNNER },
	{ ROLE_RUNNER, ROLE_FRONTEND },
};

uint64_t
parent_now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ((uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec);
}

uint64_t
parent_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000);
}

int
parent_running(void)
{
	return (env.state == SET_RUNNING);
}

static void
timer_set(uint64_t ms)
{
	struct timeval	 tv;

	tv.tv_sec = (time_t)(ms / 1000);
	tv.tv_usec = (suseconds_t)(ms % 1000 * 1000);
	evtimer_del(&ev_timer);
	evtimer_add(&ev_timer, &tv);
}

/* It is not trusted any more; its death does the rest. */
void
parent_condemn(struct child *c, const char *why)
{
	if (c->condemned)
		return;
	c->condemned = 1;
	log_warnx("%s[%d]: %s; killed", c->name, (int)c->pid, why);
	event_del(&c->ch.ev);
	if (c->pid != 0)
		(void)kill(c->pid, SIGKILL);
}

/*
 * As pipe_send(), but what cannot be sent ends the child and not us.  To one
 * that is not there nothing is sent.
 */
void
parent_send(enum role role, uint32_t type, uint64_t op, uint64_t session,
    uint32_t req, int fd, const void *msg)
{
	struct child	*c = &env.child[role];
	msgpack_sbuffer	 sb;

	if (!c->open || c->condemned) {
		if (fd != -1)
			close(fd);
		return;
	}
	msgpack_sbuffer_init(&sb);
	if (msg_encode_array(&sb, msg_def(type), msg) == -1) {
		log_warn("%s: %s", __func__, msg_name(type));
		if (fd != -1)
			close(fd);
		parent_condemn(c, "cannot be told what it must know");
	} else if (chan_send(&c->ch, type, op, session, req, fd, sb.data,
	    sb.size) == -1) {
		log_warn("%s: %s", __func__, msg_name(type));
		parent_condemn(c, "does not read its pipe");
	}
	msgpack_sbuffer_destroy(&sb);
}

/* What `sandboxctl status' shows, ourselves first. */
static void
send_procs(void)
{
	struct proto_proc	 p;
	const struct child	*c;
	enum role		 r;

	for (r = ROLE_PARENT; r < ROLE_MAX; r++) {
		c = &env.child[r];
		memset(&p, 0, sizeof(p));
		strlcpy(p.name, c->name, sizeof(p.name));
		strlcpy(p.user, c->user, sizeof(p.user));
		p.uid = c->uid;
		p.pid = (uint32_t)c->pid;
		p.started = c->started;
		parent_layers(c, p.layers, p.missing, sizeof(p.layers));
		parent_send(ROLE_STORE, MSG_PROC, 0, 0, 0, -1, &p);
	}
}

/* All are ready. */
void
parent_go(void)
{
	struct msg_guest_gone	 gone;
	enum role		 r;
	uint64_t		 n;

	evtimer_del(&ev_timer);
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		parent_send(r, MSG_GO, 0, 0, 0, -1, NULL);
	send_procs();
	while (blame_next(&n)) {
		memset(&gone, 0, sizeof(gone));
		gone.n = n;
		strlcpy(gone.text, "it has crashed the runner",
		    sizeof(gone.text));
		parent_send(ROLE_STORE, MSG_GUEST_BROKE, 0, 0, 0, -1, &gone);
	}
	env.state = SET_RUNNING;
	beat_start();
}

static void
on_child(int fd, short event, void *arg)
{
	struct chan	*ch = arg;
	struct child	*c = NULL;
	enum role	 r;
	int		 n;

	(void)fd;
	(void)event;
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		if (&env.child[r].ch == ch)
			c = &env.child[r];
	if (c == NULL || c->condemned)
		return;
	n = chan_read(ch);
	parent_recv(c, 0);
	if (n == -1 && !c->condemned)
		parent_condemn(c, "its pipe cannot be read");
	else if (n == 0 && !c->condemned) {
		/* Its death is about to be told; if it lives, it must not. */
		event_del(&ch->ev);
		c->mute = 1;
		if (env.state == SET_RUNNING)
			timer_set(MUTE_SECS * 1000);
	}
}

static void
child_close(struct child *c)
{
	if (!c->open)
		return;
	c->open = 0;
	chan_clear(&c->ch);
	close(c->page);
	c->page = -1;
}

static int
child_start(struct child *c)
{
	gid_t	 gid;
	int	 fd, n;

	memset(&c->ids, 0, sizeof(c->ids));
	c->ids.role = c->role;
	c->ids.uid = c->uid;
	c->ids.gid = c->gid;
	c->ids.ppid = (uint32_t)getpid();
	c->ids.nofile = env.nofile;
	c->ids.memory = parent_memory(c->role);
	c->ids.root = c->role == ROLE_FRONTEND ? env.dir.empty :
	    c->role == ROLE_STORE ? env.dir.db :
	    c->role == ROLE_RUNNER ? env.dir.runner : -1;
	if (c->role == ROLE_BROKER) {
		strlcpy(c->ids.engine, conf_engine_path(env.conf),
		    sizeof(c->ids.engine));
		if ((n = parent_engine_group(env.conf, &gid)) == -1)
			return (-1);
		c->ids.ngroups = (uint32_t)n;
		c->ids.groups[0] = gid;
	}
	if ((c->page = blame_page()) == -1) {
		log_warn("cannot start %s", c->name);
		return (-1);
	}
	c->ids.page = 1;
	if ((c->pid = spawn_child(c, env.dir.lock, env.debug, env.verbose,
	    &fd)) == -1) {
		log_warn("cannot start %s", c->name);
		c->pid = 0;
		close(c->page);
		return (-1);
	}
	c->started = parent_now();
	c->ready = c->opened = c->condemned = c->mute = 0;
	memset(&c->layers, 0, sizeof(c->layers));
	chan_init(&c->ch, fd, c->name, on_child);
	c->ch.maxqueued = QUEUE_MAX;
	c->open = 1;
	return (0);
}

static int
set_join(void)
{
	struct msg_pipe	 m;
	size_t		 i;
	int		 fds[2];

	for (i = 0; i < nitems(pipes); i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
		    SOCK_NONBLOCK, 0, fds) == -1) {
			log_warn("socketpair");
			return (-1);
		}
		m.role = pipes[i].b;
		parent_send(pipes[i].a, MSG_PIPE, 0, 0, 0, fds[0], &m);
		m.role = pipes[i].a;
		parent_send(pipes[i].b, MSG_PIPE, 0, 0, 0, fds[1], &m);
	}
	return (0);
}

static int
set_mount(void)
{
	int	 ret;

	if (sandbox_raise_admin() == -1) {
		log_warn("mount");
		return (-1);
	}
	ret = statedir_mount(&env.dir);
	sandbox_lower();
	return (ret);
}

static void
set_start(void)
{
	enum role	 r;

	env.set++;
	env.resting = 0;
	env.state = SET_STARTING;
	timer_set(READY_SECS * 1000);
	if (set_mount() == -1)
		goto fail;
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		if (child_start(&env.child[r]) == -1)
			goto fail;
	if (set_join() == -1)
		goto fail;
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		parent_send_conf(r);
	return;
fail:
	set_fail();
}

/* Ends what is left of the set; reaping it brings on the next one. */
static void
set_fail(void)
{
	struct child	*c;
	enum role	 r;

	if (env.state == SET_FAILED)
		return;
	if (env.state != SET_STOPPING) {
		env.state = SET_FAILED;
		timer_set(REAP_SECS * 1000);
	}
	sessions_end_all();
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++) {
		c = &env.child[r];
		if (c->pid != 0)
			(void)kill(c->pid, SIGKILL);
	}
	set_reaped();
}

/* How long until the next set, and the word about it. */
static uint64_t
restart_delay(void)
{
	uint64_t	 delay, now = parent_ms();
	uint64_t	 within = env.conf->restart_secs * 1000ULL;
	uint32_t	 n;

	memmove(&deaths[1], &deaths[0], sizeof(deaths) - sizeof(deaths[0]));
	deaths[0] = now;
	for (n = 0; n < DEATHS_MAX && deaths[n] != 0 &&
	    now - deaths[n] < within; n++)
		;
	if (n > env.conf->restart_count) {
		log_warnx("%u deaths within %u seconds: no new work is taken; "
		    "the next try is in %u seconds", n,
		    env.conf->restart_secs, env.conf->restart_secs);
		memset(deaths, 0, sizeof(deaths));
		env.resting = 1;
		return (within);
	}
	/* The first at once: nobody is served by waiting. */
	if (n == 1)
		return (0);
	delay = n - 2 > 9 ? DELAY_MAX : (uint64_t)DELAY_MIN << (n - 2);
	return (delay > DELAY_MAX ? DELAY_MAX : delay);
}

/* When the last process of the old set has been reaped. */
static void
set_reaped(void)
{
	uint64_t	 delay;
	enum role	 r;

	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		if (env.child[r].pid != 0)
			return;
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		child_close(&env.child[r]);
	if (env.state == SET_STOPPING && env.upgrading) {
		upgrade_execute();
		env.upgrading = 0;
		sessions_end_all();
		env.state = SET_DOWN;
		timer_set(0);
		return;
	}
	if (env.state == SET_STOPPING)
		parent_exit(0);
	if (!env.was_running) {
		log_warnx("the first start has failed");
		parent_exit(1);
	}
	env.state = SET_DOWN;
	delay = restart_delay();
	log_debug("the next set in %" PRIu64 " ms", delay);
	timer_set(delay);
}

static void
on_timer(int fd, short event, void *arg)
{
	struct child	*c;
	enum role	 r;

	(void)fd;
	(void)event;
	(void)arg;
	switch (env.state) {
	case SET_DOWN:
		set_start();
		break;
	case SET_STARTING:
		for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
			if (!env.child[r].ready)
				log_warnx("%s[%d] has not become ready",
				    env.child[r].name,
				    (int)env.child[r].pid);
		set_fail();
		break;
	case SET_FAILED:
	case SET_STOPPING:
		for (r = ROLE_FRONTEND; r < ROLE_MAX; r++) {
			c = &env.child[r];
			if (c->pid == 0)
				continue;
			log_warnx("%s[%d] does not end", c->name,
			    (int)c->pid);
			(void)kill(c->pid, SIGKILL);
		}
		timer_set(REAP_SECS * 1000);
		break;
	case SET_RUNNING:
		for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
			if (env.child[r].mute)
				parent_condemn(&env.child[r],
				    "has closed its pipe");
		break;
	}
}

/*
 * Its filter has ended it.  The kernel's audit log has the number of the
 * call; a build for tests leaves it in the page.
 */
static void
sigsys_how(const struct child *c, char *how, size_t len)
{
#ifdef FAULTS
	uint64_t	 call = blame_forbidden(c->page);
	char		*name = NULL;

	if (call != 0) {
		name = confine_call_name((int)(call - 1));
		snprintf(how, len, "killed by SIGSYS (forbidden system call "
		    "%d, %s)", (int)(call - 1), name == NULL ? "unknown" :
		    name);
		free(name);
		return;
	}
#endif
	(void)c;
	strlcpy(how, "killed by SIGSYS (forbidden system call)", len);
}

static void
child_reaped(struct child *c, int status)
{
	char	 how[128];
	int	 crash;

	/* What it had to say of its end is in its pipe. */
	if (c->open && !c->condemned) {
		while (chan_read(&c->ch) == 1 &&
		    c->ch.rlen - c->ch.roff > 0) {
			parent_recv(c, 1);
			if (c->ch.rlen - c->ch.roff > 0)
				break;
		}
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		sigsys_how(c, how, sizeof(how));
	else if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "signal %d (%s)%s",
		    WTERMSIG(status), strsignal(WTERMSIG(status)),
		    WCOREDUMP(status) ? ", core" : "");
	else
		snprintf(how, sizeof(how), "exit %d", WEXITSTATUS(status));
	/*
	 * What it died of counts though another has told its end first: one
	 * that crashes takes longer to die than those that see its pipes
	 * end.  We ourselves send nothing but KILL.
	 */
	crash = WIFSIGNALED(status) && blame_is_crash(WTERMSIG(status));
	if (crash || env.state == SET_STARTING || env.state == SET_RUNNING)
		log_warnx("%s[%d] died: %s", c->name, (int)c->pid, how);
	else
		log_debug("%s[%d] ended: %s", c->name, (int)c->pid, how);
	if (crash)
		blame_crash(c->role, blame_read(c->page), parent_ms());
	c->pid = 0;
}

static void
on_sigchld(int sig, short event, void *arg)
{
	struct child	*c;
	enum role	 r;
	pid_t		 pid;
	int		 status, died = 0;

	(void)sig;
	(void)event;
	(void)arg;
	for (;;) {
		if ((pid = waitpid(-1, &status, WNOHANG)) <= 0) {
			if (pid == -1 && errno == EINTR)
				continue;
			break;
		}
		if (workdir_reaped(pid, status) ||
		    mounts_reaped(pid, status) ||
		    upgrade_reaped(pid, status))
			continue;
		for (r = ROLE_FRONTEND; r < ROLE_MAX; r++) {
			c = &env.child[r];
			if (c->pid == pid) {
				child_reaped(c, status);
				died = 1;
			}
		}
	}
	if (!died)
		return;
	if (env.state == SET_STARTING || env.state == SET_RUNNING)
		set_fail();
	else
		set_reaped();
}

static void
on_sighup(int sig, short event, void *arg)
{
	char	 text[TEXT_MAX + 1];

	(void)sig;
	(void)event;
	(void)arg;
	if (env.state != SET_STOPPING)
		(void)parent_reload(text, sizeof(text));
}

/* The children get what they need to finish, and then go. */
static void
set_stop(void)
{
	enum role	 r;

	env.state = SET_STOPPING;
	timer_set(STOP_SECS * 1000);
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		parent_send(r, MSG_SHUTDOWN, 0, 0, 0, -1, NULL);
	set_reaped();
}

void
parent_upgrade(void)
{
	env.upgrading = 1;
	sessions_pause();
	workdir_kill();
	mounts_kill();
	set_stop();
}

static void
on_sigterm(int sig, short event, void *arg)
{
	(void)event;
	(void)arg;
	if (env.upgrading) {
		log_info("signal %d: stopping, and no upgrade", sig);
		env.upgrading = 0;
		sessions_close();
		return;
	}
	if (env.state == SET_STOPPING) {
		/* Whoever asks twice does not want to wait. */
		log_info("signal %d: stopping at once", sig);
		set_fail();
		return;
	}
	log_info("signal %d: stopping", sig);
	sessions_close();
	workdir_kill();
	mounts_kill();
	if (env.state == SET_RUNNING) {
		set_stop();
		return;
	}
	/* Half a set has nothing to be polite about. */
	env.state = SET_STOPPING;
	timer_set(REAP_SECS * 1000);
	set_fail();
}

void
parent_main(void)
{
	signal_set(&ev_child, SIGCHLD, on_sigchld, NULL);
	signal_set(&ev_hup, SIGHUP, on_sighup, NULL);
	signal_set(&ev_int, SIGINT, on_sigterm, NULL);
	signal_set(&ev_term, SIGTERM, on_sigterm, NULL);
	signal_add(&ev_child, NULL);
	signal_add(&ev_hup, NULL);
	signal_add(&ev_int, NULL);
	signal_add(&ev_term, NULL);
	evtimer_set(&ev_timer, on_timer, NULL);
	beat_init();
	set_start();
	event_dispatch();
	fatalx("event_dispatch");
}
