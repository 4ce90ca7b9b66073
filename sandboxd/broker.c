/*
 * The broker: the only process that reaches the Engine.
 *
 * It takes its rules from the parent and its orders from the store, and holds
 * each order against the rules.  It reads no byte of a client or of a guest,
 * and sees no database.
 */
#include <sys/types.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "broker.h"
#include "engine_curl.h"
#include "log.h"
#include "proc.h"
#include "spoil.h"

static struct chan	 ch_parent;
/* What has come of a configuration, until it is complete. */
static struct policy	 broker_next;
static int		 broker_ready, broker_going;

static int
broker_recv_pipe(struct chan *ch, struct frame *f, void *arg)
{
	struct msg_pipe	*m = arg;

	if (m->role != ROLE_STORE || f->fd == -1 || broker_env.have_store)
		return (-1);
	broker_store_start(f->fd);
	f->fd = -1;
	return (0);
}

static int
broker_recv_conf_begin(struct chan *ch, struct frame *f, void *arg)
{
	struct msg_conf	*conf = arg;

	policy_clear(&broker_next);
	broker_next.conf = *conf;
	memset(conf, 0, sizeof(*conf));
	return (0);
}

static int
broker_recv_conf_rule(struct chan *ch, struct frame *f, void *arg)
{
	struct msg_conf_rule	*rules;

	if ((rules = recallocarray(broker_next.rules, broker_next.nrules,
	    broker_next.nrules + 1, sizeof(*rules))) == NULL)
		fatal("%s", __func__);
	rules[broker_next.nrules++] = *(struct msg_conf_rule *)arg;
	broker_next.rules = rules;
	return (0);
}

/*
 * The rules in force change between two messages: what has passed them goes
 * on.  What the Engine has said of itself stays.
 */
static int
broker_recv_conf_end(struct chan *ch, struct frame *f, void *arg)
{
	struct policy	*p = &broker_env.policy;
	const char	*why;

	broker_next.arch = p->arch;
	memcpy(broker_next.runtime, p->runtime, sizeof(p->runtime));
	broker_next.missing = p->missing;
	broker_next.live_restore = p->live_restore;
	broker_next.ncpu = p->ncpu;
	policy_clear(p);
	*p = broker_next;
	memset(&broker_next, 0, sizeof(broker_next));
	log_setverbose(p->conf.verbose);
	engine_deadline_max = p->conf.t_engine;
	if (broker_ready)
		return (0);
	if (engine_init(p->conf.engine, &why) == -1)
		fatalx("%s", why);
	broker_ready = 1;
	proc_ready(ch);
	return (0);
}

static int
broker_recv_go(struct chan *ch, struct frame *f, void *arg)
{
	if (!broker_ready || !broker_env.have_store || broker_going)
		return (-1);
	broker_going = 1;
	probe();
	evil(&ch_parent, &broker_env.store, NULL);
	broker_engine_start();
	return (0);
}

static int
broker_recv_shutdown(struct chan *ch, struct frame *f, void *arg)
{
	event_loopexit(NULL);
	return (0);
}

static const struct pipe_handler parent_handlers[] = {
	{ MSG_PIPE, broker_recv_pipe },
	{ MSG_CONF_BEGIN, broker_recv_conf_begin },
	{ MSG_CONF_RULE, broker_recv_conf_rule },
	{ MSG_CONF_END, broker_recv_conf_end },
	{ MSG_GO, broker_recv_go },
	{ MSG_BEAT, pipe_beat },
	{ MSG_SHUTDOWN, broker_recv_shutdown },
};

static void
broker_dispatch_parent(int fd, short event, void *arg)
{
	struct chan	*ch = arg;

	if (pipe_dispatch(ch, parent_handlers, sizeof(parent_handlers) /
	    sizeof(parent_handlers[0])) == 0) {
		event_del(&ch->ev);
		event_loopexit(NULL);
	}
}

/* The parent decides when its children end. */
static void
broker_sig_handler(int sig, short event, void *arg)
{
	if (sig == SIGTERM)
		event_loopexit(NULL);
}

/*
 * What has been asked of the Engine goes on there; the next broker finds it
 * by name and label.
 */
static void
broker_shutdown(void)
{
	broker_engine_stop();
	if (broker_ready)
		engine_shutdown();
	if (broker_env.have_store)
		(void)chan_flush(&broker_env.store);
	log_debug("broker exiting");
	(void)chan_flush(&ch_parent);
	exit(0);
}

void
broker(int debug, int verbose)
{
	struct proc_ids	 ids;
	const char	*why;

	log_procinit("broker");
	log_setverbose(verbose);
	setproctitle("broker");

	/* While the libraries can still be opened. */
	if (engine_curl_load(&why) == -1)
		fatalx("%s", why);
	/* Its parser leaves a byte out that it has no memory for. */
	json_set_alloc_funcs(alloc_malloc, free);
	json_object_seed(0);
	proc_recv_ids(PROC_PIPE_FD, &ids);
	proc_drop(&ids);

	proc_event_init();
	proc_signals(broker_sig_handler);
	sandbox_broker(ids.engine);

	chan_init(&ch_parent, PROC_PIPE_FD, "parent", broker_dispatch_parent);
	proc_log(&ch_parent);
	event_dispatch();
	broker_shutdown();
	_exit(0);
}
