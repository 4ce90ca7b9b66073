/*
 * The runner owns the guests' sockets and the output logs, and moves bytes.
 * It reads guests, who are hostile; it has no Docker, no database, and acts
 * on the store's messages alone.  Its root directory is state/runner, with
 * sock/<owner>/<n>/ and log/<owner>/<n>/ in it.
 */

#include <sys/resource.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "proc.h"
#include "runner.h"
#include "spoil.h"

struct chan	 ch_store;
struct chan	 ch_frontend;
struct msg_conf	 runner_conf;

static struct chan	 ch_main;
static struct msg_conf	 conf_new;
static int		 have_store, have_frontend;

static void
runner_sig_handler(int sig, short event, void *arg)
{
	(void)event;
	(void)arg;
	/* The terminal sends INT to all; the parent tells us when to go. */
	if (sig == SIGTERM)
		event_loopexit(NULL);
}

static void
runner_dispatch_store(int fd, short event, void *arg)
{
	struct chan	*ch = arg;

	(void)fd;
	(void)event;
	/* The parent sees a sibling's death as well, and ends us all. */
	if (pipe_dispatch(ch, runner_store_table, runner_store_ntable) == 0)
		event_del(&ch->ev);
}

static void
runner_dispatch_frontend(int fd, short event, void *arg)
{
	struct chan	*ch = arg;

	(void)fd;
	(void)event;
	/* Nothing comes on this pipe but its end. */
	if (pipe_dispatch(ch, NULL, 0) == 0)
		event_del(&ch->ev);
}

static int
runner_recv_pipe(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_pipe	*m = msg;

	(void)ch;
	if (f->fd == -1)
		return (-1);
	if (m->role == ROLE_STORE && !have_store) {
		chan_init(&ch_store, f->fd, "store", runner_dispatch_store);
		ch_store.maxqueued = RUNNER_PIPE_MAX;
		/* The store speaks first when it has had GO; so do we. */
		event_del(&ch_store.ev);
		have_store = 1;
	} else if (m->role == ROLE_FRONTEND && !have_frontend) {
		chan_init(&ch_frontend, f->fd, "frontend",
		    runner_dispatch_frontend);
		ch_frontend.maxqueued = RUNNER_PIPE_MAX;
		have_frontend = 1;
	} else
		return (-1);
	f->fd = -1;
	return (0);
}

static int
runner_recv_conf_begin(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_conf	*m = msg;

	(void)ch;
	(void)f;
	msg_clear(&conf_new, msg_def(MSG_CONF_BEGIN));
	conf_new = *m;
	memset(m, 0, sizeof(*m));
	return (0);
}

static int
runner_recv_conf_rule(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	(void)f;
	(void)msg;
	/* Images are no business of ours. */
	return (0);
}

/* Pipes and logs of all that may run at once must fit; say it in time. */
static void
runner_check_files(void)
{
	struct rlimit	 rl;
	uint64_t	 need;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		fatal("%s: getrlimit", __func__);
	need = 64 + 6ULL * runner_conf.max_execs +
	    3ULL * runner_conf.max_sandboxes + 2ULL * RUNNER_READERS;
	if (rl.rlim_cur != RLIM_INFINITY && need > rl.rlim_cur)
		log_warnx("the limits of the configuration may need %llu "
		    "descriptors, %llu are allowed", (unsigned long long)need,
		    (unsigned long long)rl.rlim_cur);
}

static int
runner_recv_conf_end(struct chan *ch, struct frame *f, void *msg)
{
	int	 first = runner_conf.instance[0] == '\0';

	(void)f;
	(void)msg;
	if (conf_new.instance[0] == '\0')
		return (-1);
	msg_clear(&runner_conf, msg_def(MSG_CONF_BEGIN));
	runner_conf = conf_new;
	memset(&conf_new, 0, sizeof(conf_new));
	log_setverbose(runner_conf.verbose);
	runner_check_files();
	if (first)
		proc_ready(ch);
	return (0);
}

static int
runner_recv_go(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	(void)f;
	(void)msg;
	if (!have_store || !have_frontend)
		return (-1);
	probe();
	evil(&ch_main, &ch_store, &ch_frontend, NULL);
	quota_init();
	event_add(&ch_store.ev, NULL);
	return (0);
}

static int
runner_recv_shutdown(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	(void)f;
	(void)msg;
	event_loopexit(NULL);
	return (0);
}

static const struct pipe_handler main_table[] = {
	{ MSG_PIPE,		runner_recv_pipe },
	{ MSG_CONF_BEGIN,	runner_recv_conf_begin },
	{ MSG_CONF_RULE,	runner_recv_conf_rule },
	{ MSG_CONF_END,		runner_recv_conf_end },
	{ MSG_GO,		runner_recv_go },
	{ MSG_BEAT,		pipe_beat },
	{ MSG_SHUTDOWN,		runner_recv_shutdown },
};

static void
runner_dispatch_main(int fd, short event, void *arg)
{
	struct chan	*ch = arg;

	(void)fd;
	(void)event;
	if (pipe_dispatch(ch, main_table,
	    sizeof(main_table) / sizeof(main_table[0])) == 0) {
		event_del(&ch->ev);
		event_loopexit(NULL);
	}
}

__attribute__((__noreturn__)) void
runner(int debug, int verbose)
{
	struct proc_ids	 ids;

	(void)debug;
	log_procinit("runner");
	log_setverbose(verbose);
	setproctitle("runner");

	proc_recv_ids(PROC_PIPE_FD, &ids);
	proc_drop(&ids);

	proc_event_init();
	proc_signals(runner_sig_handler);
	sandbox_runner();

	chan_init(&ch_main, PROC_PIPE_FD, "parent", runner_dispatch_main);
	proc_log(&ch_main);
	event_dispatch();

	/* Commands go on without us; what they write waits in the guests. */
	log_debug("exiting");
	proc_log(NULL);
	if (have_store)
		(void)chan_flush(&ch_store);
	if (have_frontend)
		(void)chan_flush(&ch_frontend);
	(void)chan_flush(&ch_main);
	exit(0);
}
