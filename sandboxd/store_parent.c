/*
 * The parent's pipe: configuration, sessions, workspaces.
 *
 * Who a session is comes from here alone.  The parent announces a session
 * before the frontend has its descriptor, but on another pipe; therefore this
 * pipe is read empty before a session is called unknown.
 */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "log.h"
#include "proc.h"
#include "spoil.h"
#include "store.h"

size_t	 store_ahead = STORE_AHEAD;

static int
session_cmp(struct session *a, struct session *b)
{
	return (a->number < b->number ? -1 : a->number > b->number);
}

RB_GENERATE(session_tree, session, entry, session_cmp)

struct session *
session_find(uint64_t number)
{
	static struct session	 find;

	find.number = number;
	return (RB_FIND(session_tree, &st.sessions, &find));
}

static int
parent_recv_pipe(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_pipe	*p = msg;
	int		 fd = f->fd;

	(void)ch;
	if (fd == -1)
		return (-1);
	f->fd = -1;
	switch (p->role) {
	case ROLE_FRONTEND:
		chan_init(&st.frontend, fd, "frontend",
		    store_dispatch_frontend);
		st.frontend.pause = store_ahead;
		return (0);
	case ROLE_BROKER:
		chan_init(&st.broker, fd, "broker", store_dispatch_broker);
		return (0);
	case ROLE_RUNNER:
		chan_init(&st.runner, fd, "runner", store_dispatch_runner);
		return (0);
	default:
		close(fd);
		return (-1);
	}
}

static int
parent_recv_conf_begin(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	(void)f;
	msg_clear(&st.newconf, msg_def(MSG_CONF_BEGIN));
	free(st.newrules);
	st.newrules = NULL;
	st.nnewrules = 0;
	free(st.newplaces);
	st.newplaces = NULL;
	st.nnewplaces = 0;
	/* Takes over what it holds. */
	memcpy(&st.newconf, msg, sizeof(st.newconf));
	memset(msg, 0, sizeof(st.newconf));
	return (0);
}

static int
parent_recv_conf_rule(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_conf_rule	*rules;

	(void)ch;
	(void)f;
	if ((rules = reallocarray(st.newrules, st.nnewrules + 1,
	    sizeof(*rules))) == NULL)
		fatal("%s", __func__);
	st.newrules = rules;
	memcpy(&rules[st.nnewrules++], msg, sizeof(*rules));
	return (0);
}

static int
parent_recv_conf_place(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_conf_place	*places;

	(void)ch;
	(void)f;
	if ((places = reallocarray(st.newplaces, st.nnewplaces + 1,
	    sizeof(*places))) == NULL)
		fatal("%s", __func__);
	st.newplaces = places;
	memcpy(&places[st.nnewplaces++], msg, sizeof(*places));
	return (0);
}

static int
parent_recv_session_rights(struct chan *ch, struct frame *f, void *msg)
{
	struct session	*s;

	(void)ch;
	if ((s = session_find(f->session)) == NULL)
		return (-1);
	return (rights_set(&s->newrights, s->newbounds, msg));
}

static int
parent_recv_conf_end(struct chan *ch, struct frame *f, void *msg)
{
	struct session	*s;

	(void)f;
	(void)msg;
	msg_clear(&st.conf, msg_def(MSG_CONF_BEGIN));
	st.conf = st.newconf;
	memset(&st.newconf, 0, sizeof(st.newconf));
	free(st.rules);
	st.rules = st.newrules;
	st.nrules = st.nnewrules;
	st.newrules = NULL;
	st.nnewrules = 0;
	free(st.places);
	st.places = st.newplaces;
	st.nplaces = st.nnewplaces;
	st.newplaces = NULL;
	st.nnewplaces = 0;
	/* Rules and what they come to change together. */
	RB_FOREACH(s, session_tree, &st.sessions) {
		s->rights = s->newrights;
		memcpy(s->bounds, s->newbounds, sizeof(s->bounds));
	}
	if (bounds_unpack(st.all, &st.conf.all) == -1)
		return (-1);
	st.all[LIMIT_SANDBOXES].most = st.conf.max_sandboxes;
	st.all[LIMIT_CLIENTS].most = st.conf.max_clients;
	st.all[LIMIT_MEMORY_EACH].most = st.conf.max_memory;
	st.all[LIMIT_CPUS_EACH].most = st.conf.max_mcpus;
	st.all[LIMIT_PIDS_EACH].most = st.conf.max_pids;
	st.all[LIMIT_DISK_EACH].most = st.conf.max_disk;
	log_setverbose(st.conf.verbose);
	if (!st.going)
		proc_ready(ch);
	else if (!damaged()) {
		/* Limits may be wider now, histories shorter. */
		exec_admit();
		times_all(0);
		retain_schedule();
	}
	return (0);
}

static int
parent_recv_go(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	(void)f;
	(void)msg;
	evil(&st.parent, &st.frontend, &st.broker, &st.runner, NULL);
	store_go();
	probe();
	return (0);
}

static int
parent_recv_shutdown(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	(void)f;
	(void)msg;
	store_exit();
}

static int
parent_recv_session_open(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_session	*m = msg;
	struct session		*s;

	(void)ch;
	if (f->session == 0 || session_find(f->session) != NULL)
		return (-1);
	if ((s = calloc(1, sizeof(*s))) == NULL)
		fatal("%s", __func__);
	s->number = f->session;
	s->uid = m->uid;
	if (rights_set(&s->rights, s->bounds, m) == -1) {
		free(s);
		return (-1);
	}
	s->newrights = s->rights;
	memcpy(s->newbounds, s->bounds, sizeof(s->newbounds));
	TAILQ_INIT(&s->pending);
	TAILQ_INIT(&s->subs);
	RB_INSERT(session_tree, &st.sessions, s);
	st.nsessions++;
	return (0);
}

static int
parent_recv_session_closed(struct chan *ch, struct frame *f, void *msg)
{
	struct session	*s;

	(void)ch;
	(void)msg;
	if ((s = session_find(f->session)) == NULL)
		return (-1);
	pipe_send(&st.runner, MSG_SESSION_GONE, 0, s->number, 0, -1, NULL);
	RB_REMOVE(session_tree, &st.sessions, s);
	st.nsessions--;
	st.nclosed++;
	request_gone(s);
	wait_gone(s);
	events_gone(s);
	log_gone(s);
	free(s);
	return (0);
}

static int
parent_recv_session_refused(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_session_refused	*m = msg;

	(void)ch;
	(void)f;
	audit_refused(m->uid, "connect", "", m->code, m->text, m->more);
	return (0);
}

static int
parent_recv_proc(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	(void)f;
	if (st.nprocs == ROLE_MAX)
		return (-1);
	memcpy(&st.procs[st.nprocs++], msg, sizeof(st.procs[0]));
	return (0);
}

static int
parent_recv_work_done(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	op_work_done(f->op, msg);
	return (0);
}

static int
body_reloaded(struct batch *b, void *arg)
{
	struct asker	*a = arg;
	struct kvv	 d = { 0 };

	detail_str(&d, "rule", a->by);
	return (store_event(b, NULL, EV_RELOADED, a->uid, 0, &d));
}

static void
done_reloaded(void *arg, int result)
{
	(void)result;
	free(arg);
}

static int
parent_recv_reload_done(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_result	*m = msg;
	struct session		*s;
	struct asker		 a = { .session = f->session, .req = f->req };
	struct asker		*q;

	(void)ch;
	if ((s = session_find(f->session)) == NULL)
		return (0);
	a.uid = s->uid;
	rights_by(&a, s, RIGHT_ADMIN);
	if (m->code != CODE_OK) {
		/* He was allowed to, whatever came of it. */
		audit_allowed(&a, "reload", NULL);
		answer_error(&a, m->code, NULL, "%s", m->text);
		return (0);
	}
	answer_end(&a);
	if ((q = malloc(sizeof(*q))) == NULL)
		fatal("%s", __func__);
	*q = a;
	batch_following(&st.batch, body_reloaded, done_reloaded, q);
	return (0);
}

static const struct pipe_handler handlers[] = {
	{ MSG_PIPE, parent_recv_pipe },
	{ MSG_CONF_BEGIN, parent_recv_conf_begin },
	{ MSG_CONF_RULE, parent_recv_conf_rule },
	{ MSG_CONF_PLACE, parent_recv_conf_place },
	{ MSG_CONF_END, parent_recv_conf_end },
	{ MSG_GO, parent_recv_go },
	{ MSG_BEAT, pipe_beat },
	{ MSG_SHUTDOWN, parent_recv_shutdown },
	{ MSG_SESSION_OPEN, parent_recv_session_open },
	{ MSG_SESSION_CLOSED, parent_recv_session_closed },
	{ MSG_SESSION_RIGHTS, parent_recv_session_rights },
	{ MSG_SESSION_REFUSED, parent_recv_session_refused },
	{ MSG_PROC, parent_recv_proc },
	{ MSG_WORK_DONE, parent_recv_work_done },
	{ MSG_RELOAD_DONE, parent_recv_reload_done },
	{ MSG_HOST, doctor_recv_host },
	{ MSG_MOUNTS_CHECKED, create_recv_checked },
	{ MSG_GUEST_BROKE, runner_recv_broke },
};

void
store_dispatch_parent(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	if (pipe_dispatch(arg, handlers,
	    sizeof(handlers) / sizeof(handlers[0])) == 0)
		store_exit();
}

void
store_drain_parent(void)
{
	if (pipe_drain(&st.parent, handlers,
	    sizeof(handlers) / sizeof(handlers[0])) == 0)
		store_exit();
}
