/*
 * Clients' requests, as the frontend hands them on: one function a message.
 */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "gproto.h"
#include "log.h"
#include "spec.h"
#include "store.h"

static int
frontend_recv_hello(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_hello_ok	 ok;
	struct asker		 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	memset(&ok, 0, sizeof(ok));
	ok.version = PROTO_VERSION;
	strlcpy(ok.daemon, SANDBOXD_VERSION, sizeof(ok.daemon));
	strlcpy(ok.instance, st.conf.instance, sizeof(ok.instance));
	ok.payload = PROTO_MAX_PAYLOAD;
	ok.inflight = CLIENT_INFLIGHT_MAX;
	ok.uid = a.uid;
	ok.all = a.others != 0;
	ok.minor = PROTO_MINOR;
	ok.database = EVENTDB_VERSION;
	ok.guest_oldest = GP_VERSION_OLDEST;
	ok.guest_newest = GP_VERSION;
	answer(&a, PROTO_HELLO_OK, &ok);
	answer_end(&a);
	return (0);
}

static int
frontend_recv_ping(struct chan *ch, struct frame *f, void *msg)
{
	struct asker	 a;

	(void)ch;
	if (request_begin(&a, f, msg) == 0)
		answer_end(&a);
	return (0);
}

static void
unenforced_text(uint32_t bits, char *text, size_t len)
{
	static const struct {
		const char	*name;
		uint32_t	 bit;
	} limits[] = {
		{ "memory", UNENFORCED_MEMORY },
		{ "swap", UNENFORCED_SWAP },
		{ "cpus", UNENFORCED_CPUS },
		{ "pids", UNENFORCED_PIDS },
	};
	size_t	 i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (!(bits & limits[i].bit))
			continue;
		if (*text != '\0')
			strlcat(text, " ", len);
		strlcat(text, limits[i].name, len);
	}
}

static int
frontend_recv_status(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_status_info	 m;
	struct sandbox			*sb;
	struct asker			 a;
	u_int				 i;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	for (i = 0; i < st.nprocs; i++)
		answer(&a, PROTO_PROC, &st.procs[i]);
	memset(&m, 0, sizeof(m));
	strlcpy(m.instance, st.conf.instance, sizeof(m.instance));
	strlcpy(m.daemon, SANDBOXD_VERSION, sizeof(m.daemon));
	m.database = EVENTDB_VERSION;
	m.guest_oldest = GP_VERSION_OLDEST;
	m.guest_newest = GP_VERSION;
	m.engine_up = st.engine.up;
	strlcpy(m.engine, st.engine.version, sizeof(m.engine));
	strlcpy(m.engine_text, st.engine.text, sizeof(m.engine_text));
	m.live_restore = st.engine.live_restore;
	unenforced_text(st.engine.unenforced, m.unenforced,
	    sizeof(m.unenforced));
	/* Counts of what the client may see. */
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
		if (!rights_visible(&a, sb->r.owner))
			continue;
		m.sandboxes += sb->r.state != SBX_DELETED;
		m.ready += sb->r.state == SBX_READY;
		m.missing += sb->r.missing != 0 &&
		    sb->r.state != SBX_DELETED;
		m.execs += sb->nexecs;
	}
	m.clients = st.nsessions;
	m.subscriptions = events_subs();
	m.events = st.log.done_seq;
	strlcpy(m.damage, st.damage, sizeof(m.damage));
	m.commits = st.batch.commits;
	m.strays = a.others != 0 ? recover_strays() : 0;
	answer(&a, PROTO_STATUS_INFO, &m);
	answer_end(&a);
	return (0);
}

static int
list_match(struct sandbox *sb, struct proto_list *m)
{
	struct proto_create	 old, *c = sb->conf;
	const char		*val;
	size_t			 i;
	int			 ok = 1;

	if (m->state[0] != '\0' &&
	    strcmp(m->state, lifecycle_name(sb->r.state)) != 0)
		return (0);
	if (sb->r.state == SBX_DELETED && !m->all &&
	    strcmp(m->state, "deleted") != 0)
		return (0);
	if (m->labels.n == 0)
		return (1);
	memset(&old, 0, sizeof(old));
	if (c == NULL) {
		if (model_get_conf(&st.model, sb->r.n, &old) != 0)
			return (0);
		c = &old;
	}
	for (i = 0; i < m->labels.n && ok; i++) {
		val = kvv_get(&c->labels, m->labels.v[i].k);
		ok = val != NULL && (m->labels.v[i].v[0] == '\0' ||
		    strcmp(val, m->labels.v[i].v) == 0);
	}
	msg_clear(&old, proto_def(PROTO_CREATE));
	return (ok);
}

static int
frontend_recv_list(struct chan *ch, struct frame *f, void *msg)
{
	static struct sandbox	 find;
	struct proto_list	*m = msg;
	struct proto_end	 end = { 0 };
	struct sandbox		*sb;
	struct asker		 a;
	size_t			 before = st.frontend.queued;
	uint32_t		 n = 0, limit;
	int			 others = 0;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	limit = m->limit == 0 || m->limit > STORE_PAGE ? STORE_PAGE :
	    m->limit;
	find.r.n = m->after + 1;
	for (sb = RB_NFIND(sbx_by_n, &st.model.by_n, &find); sb != NULL;
	    sb = RB_NEXT(sbx_by_n, &st.model.by_n, sb)) {
		if (!rights_visible(&a, sb->r.owner) ||
		    !list_match(sb, m))
			continue;
		/* Others' words fill it: nobody may make it too much. */
		if (n == limit ||
		    st.frontend.queued - before > STORE_PAGE_BYTES)
			break;
		answer_sandbox(&a, sb);
		others |= sb->r.owner != a.uid;
		end.after = sb->r.n;
		n++;
	}
	if (sb == NULL)
		end.after = 0;
	if (others)
		rights_seen(&a, NULL);
	answer(&a, PROTO_END, &end);
	return (0);
}

static int
frontend_recv_show(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_ref	*m = msg;
	struct sandbox		*sb;
	struct asker		 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    (sb = request_sandbox(&a, m->id, NULL)) == NULL)
		return (0);
	rights_seen(&a, sb);
	answer_sandbox(&a, sb);
	doctor_box(&a, sb);
	answer_end(&a);
	return (0);
}

static int
frontend_recv_image_import(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_image_import	*m = msg;
	struct msg_import		 im;
	struct asker			 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    rights_check(&a, RIGHT_IMAGES, NULL) == -1 ||
	    request_park(frontend_recv_image_import, f, msg) ||
	    request_engine(&a) == -1)
		return (0);
	memset(&im, 0, sizeof(im));
	strlcpy(im.name, m->name, sizeof(im.name));
	pipe_send(&st.broker, MSG_IMPORT, store_op(), a.session, a.req, -1,
	    &im);
	return (0);
}

static int
frontend_recv_reload(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_reload	*p = msg;
	struct msg_reload	 m = { p->execute };
	struct asker		 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    rights_check(&a, RIGHT_ADMIN, NULL) == -1)
		return (0);
	/* A reload that was done has an event; who executes has none. */
	if (m.execute)
		audit_allowed(&a, "upgrade", NULL);
	pipe_send(&st.parent, MSG_RELOAD, 0, a.session, a.req, -1, &m);
	return (0);
}

static const struct pipe_handler handlers[] = {
	{ PROTO_HELLO, frontend_recv_hello },
	{ PROTO_PING, frontend_recv_ping },
	{ PROTO_STATUS, frontend_recv_status },
	{ PROTO_CREATE, create_recv_create },
	{ PROTO_LIST, frontend_recv_list },
	{ PROTO_SHOW, frontend_recv_show },
	{ PROTO_STOP, order_recv_stop },
	{ PROTO_PAUSE, order_recv_pause },
	{ PROTO_UNPAUSE, order_recv_unpause },
	{ PROTO_RESTART, order_recv_restart },
	{ PROTO_RESUME, order_recv_resume },
	{ PROTO_DELETE, order_recv_delete },
	{ PROTO_EXEC, exec_recv_exec },
	{ PROTO_ATTACH, exec_recv_attach },
	{ PROTO_DETACH, tty_recv_detach },
	{ PROTO_INPUT_END, exec_recv_input_end },
	{ PROTO_PS, exec_recv_ps },
	{ PROTO_LOGS, exec_recv_logs },
	{ PROTO_WAIT, exec_recv_wait },
	{ PROTO_WAIT_STATE, events_recv_wait_state },
	{ PROTO_KILL, exec_recv_kill },
	{ PROTO_CALL, call_recv_call },
	{ PROTO_CALL_INPUT, call_recv_input },
	{ PROTO_CALL_CANCEL, call_recv_cancel },
	{ PROTO_RESIZE, tty_recv_resize },
	{ PROTO_EVENTS, events_recv_events },
	{ PROTO_CREDIT, events_recv_credit },
	{ PROTO_IMAGE_IMPORT, frontend_recv_image_import },
	{ PROTO_RELOAD, frontend_recv_reload },
	{ PROTO_LOG_DUMP, log_recv_dump },
	{ PROTO_LOG_VERIFY, log_recv_verify },
	{ PROTO_RULES, rights_recv_rules },
	{ PROTO_DOCTOR, doctor_recv_doctor },
	{ PROTO_EXTEND, extend_recv_extend },
	{ PROTO_UPDATE, update_recv_update },
	{ PROTO_RECONCILE, recover_recv_reconcile },
};

void
store_dispatch_frontend(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	events_drained();
	/* When it dies the parent ends all of us: nothing to do here. */
	if (pipe_dispatch(arg, handlers,
	    sizeof(handlers) / sizeof(handlers[0])) == 0)
		event_del(&((struct chan *)arg)->ev);
	store_round();
}
