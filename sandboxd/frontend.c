/*
 * The frontend: the one process that reads what clients send.  It turns
 * their requests into messages for the store, and the answers of the store
 * and the descriptors of the runner into answers.  It knows clients by their
 * session's number alone; whose that is the store knows.
 */

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend.h"
#include "log.h"
#include "proc.h"
#include "spoil.h"

static struct chan	 ch_main;
struct chan		 fe_store = { .fd = -1 };
struct chan		 fe_runner = { .fd = -1 };

static struct event	 stop_tmo;
static int		 working;	/* GO has come */
static int		 in_store;	/* its frames are being handed on */
static int		 in_runner;
static int		 stopping;
static int		 over;		/* the loop is being left */

static int	 recv_pipe(struct chan *, struct frame *, void *);
static int	 recv_conf(struct chan *, struct frame *, void *);
static int	 recv_conf_rule(struct chan *, struct frame *, void *);
static int	 recv_conf_end(struct chan *, struct frame *, void *);
static int	 recv_go(struct chan *, struct frame *, void *);
static int	 recv_shutdown(struct chan *, struct frame *, void *);
static int	 recv_client(struct chan *, struct frame *, void *);

static const struct pipe_handler from_parent[] = {
	{ MSG_PIPE, recv_pipe },
	{ MSG_CONF_BEGIN, recv_conf },
	{ MSG_CONF_RULE, recv_conf_rule },
	{ MSG_CONF_END, recv_conf_end },
	{ MSG_GO, recv_go },
	{ MSG_BEAT, pipe_beat },
	{ MSG_SHUTDOWN, recv_shutdown },
	{ MSG_CLIENT, recv_client },
};

static const struct pipe_handler from_store[] = {
	{ PROTO_HELLO_OK, request_recv_answer },
	{ PROTO_END, request_recv_answer },
	{ PROTO_ERROR, request_recv_answer },
	{ PROTO_ACCEPTED, request_recv_answer },
	{ PROTO_SANDBOX, request_recv_answer },
	{ PROTO_EXEC_INFO, request_recv_answer },
	{ PROTO_EVENT, request_recv_answer },
	{ PROTO_STREAM, request_recv_answer },	/* of an import */
	{ PROTO_PROC, request_recv_answer },
	{ PROTO_STATUS_INFO, request_recv_answer },
	{ PROTO_IMAGE, request_recv_answer },
	{ PROTO_VERIFY, request_recv_answer },
	{ PROTO_DUMP, request_recv_answer },
	{ PROTO_RIGHT, request_recv_answer },
	{ PROTO_LIMIT, request_recv_answer },
	{ PROTO_CONTROL, request_recv_answer },
	{ PROTO_HEARTBEAT, request_recv_answer },
	{ PROTO_RESULT, request_recv_answer },
};

static const struct pipe_handler from_runner[] = {
	{ PROTO_STREAM, request_recv_stream },
	{ PROTO_GAP, request_recv_answer },
	{ PROTO_STALLED, request_recv_answer },
	{ PROTO_INPUT_ACK, request_recv_answer },
	{ PROTO_OUTPUT_END, request_recv_answer },
	{ MSG_STREAM_END, request_recv_stream_end },
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static void
leave(void)
{
	if (over)
		return;
	over = 1;
	event_loopexit(NULL);
}

void
frontend_stopped(void)
{
	leave();
}

/* Without a sibling nothing works: the parent starts the whole set anew. */
static void
frontend_dispatch_store(int fd, short event, void *arg)
{
	int	 alive;

	(void)fd;
	(void)event;
	(void)arg;
	if (over)
		return;
	in_store = 1;
	alive = pipe_dispatch(&fe_store, from_store, COUNT(from_store));
	in_store = 0;
	if (!alive)
		leave();
}

static void
frontend_dispatch_runner(int fd, short event, void *arg)
{
	int	 alive;

	(void)fd;
	(void)event;
	(void)arg;
	if (over)
		return;
	in_runner = 1;
	alive = pipe_dispatch(&fe_runner, from_runner, COUNT(from_runner));
	in_runner = 0;
	/* At the end it goes first, and the store has the last answers. */
	if (!alive && !stopping)
		leave();
}

/*
 * The two pipes have no common order; who needs what the other sibling has
 * said before reads it first, but not from among that one's own frames.
 */
void
frontend_drain_store(void)
{
	if (in_store)
		return;
	in_store = 1;
	(void)pipe_drain(&fe_store, from_store, COUNT(from_store));
	in_store = 0;
}

void
frontend_drain_runner(void)
{
	if (in_runner)
		return;
	in_runner = 1;
	(void)pipe_drain(&fe_runner, from_runner, COUNT(from_runner));
	in_runner = 0;
}

static void
frontend_dispatch_main(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	(void)arg;
	if (!pipe_dispatch(&ch_main, from_parent, COUNT(from_parent)))
		leave();
}

static int
recv_pipe(struct chan *ch, struct frame *f, void *msg)
{
	const struct msg_pipe	*m = msg;

	(void)ch;
	if (f->fd == -1 || working)
		return (-1);
	if (m->role == ROLE_STORE && fe_store.fd == -1)
		chan_init(&fe_store, f->fd, "store",
		    frontend_dispatch_store);
	else if (m->role == ROLE_RUNNER && fe_runner.fd == -1)
		chan_init(&fe_runner, f->fd, "runner",
		    frontend_dispatch_runner);
	else
		return (-1);
	f->fd = -1;
	return (0);
}

static int
recv_conf(struct chan *ch, struct frame *f, void *msg)
{
	const struct msg_conf	*m = msg;

	(void)ch;
	(void)f;
	log_setverbose(m->verbose);
	return (0);
}

static int
recv_conf_rule(struct chan *ch, struct frame *f, void *msg)
{
	/* Rules are the store's and the broker's. */
	(void)ch;
	(void)f;
	(void)msg;
	return (0);
}

static int
recv_conf_end(struct chan *ch, struct frame *f, void *msg)
{
	(void)f;
	(void)msg;
	/* Later ones are reloads, which nobody waits for. */
	if (!working)
		proc_ready(ch);
	return (0);
}

static int
recv_go(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	(void)f;
	(void)msg;
	if (fe_store.fd == -1 || fe_runner.fd == -1 || working)
		return (-1);
	working = 1;
	probe();
	evil(&ch_main, &fe_store, &fe_runner, NULL);
	return (0);
}

static int
recv_client(struct chan *ch, struct frame *f, void *msg)
{
	const struct msg_client	*m = msg;

	(void)ch;
	if (f->fd == -1 || f->session == 0 || !working)
		return (-1);
	if (stopping)
		return (0);	/* the frame closes it */
	client_new(f->session, m->uid, f->fd);
	f->fd = -1;
	return (0);
}

static void
on_stop_tmo(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	(void)arg;
	leave();
}

/* Answers under way are still given; who goes on longer comes again. */
static int
recv_shutdown(struct chan *ch, struct frame *f, void *msg)
{
	struct timeval	 tv = { FRONTEND_STOP_WAIT, 0 };

	(void)ch;
	(void)f;
	(void)msg;
	if (stopping)
		return (0);
	stopping = 1;
	evtimer_set(&stop_tmo, on_stop_tmo, NULL);
	evtimer_add(&stop_tmo, &tv);
	client_stop_all();
	return (0);
}

static void
frontend_sig_handler(int sig, short event, void *arg)
{
	/* A terminal's signals reach all; the parent says when to stop. */
	(void)sig;
	(void)event;
	(void)arg;
}

__attribute__((__noreturn__)) void
frontend(int debug, int verbose)
{
	struct proc_ids	 ids;

	(void)debug;
	log_procinit("frontend");
	log_setverbose(verbose);
	setproctitle("frontend");

	proc_recv_ids(PROC_PIPE_FD, &ids);
	proc_drop(&ids);

	proc_event_init();
	proc_signals(frontend_sig_handler);
	client_init();
	sandbox_frontend();

	chan_init(&ch_main, PROC_PIPE_FD, "parent", frontend_dispatch_main);
	proc_log(&ch_main);
	event_dispatch();

	client_close_all();
	(void)chan_flush(&ch_main);
	exit(0);
}
