/*
 * What the children say to the parent: small typed messages, and it acts on
 * few of them.  One that breaks the protocol is killed.
 */

#include <string.h>
#include <syslog.h>

#include "log.h"
#include "parent.h"

/* The log is sound: what is wrong with it must end the first start. */
static int
recv_open(struct child *c)
{
	if (c->role != ROLE_STORE || env.state == SET_STARTING || c->opened)
		return (-1);
	c->opened = 1;
	if (env.state == SET_STOPPING)
		return (0);
	if (env.was_running)
		log_info("running again");
	else {
		env.was_running = 1;
		parent_started();
		log_info("running");
	}
	mounts_begin();
	workdir_resume();
	return (0);
}

static int
recv_ready(struct child *c, const struct msg_ready *m)
{
	enum role	 r;

	if (env.state != SET_STARTING || c->ready)
		return (-1);
	c->layers.mask = m->layers;
	c->layers.landlock = m->landlock;
	if (parent_check_child(c) == -1) {
		parent_condemn(c, "must not run so");
		return (0);
	}
	log_debug("%s[%d] is ready: layers 0x%x, Landlock %u", c->name,
	    (int)c->pid, c->layers.mask, c->layers.landlock);
	c->ready = 1;
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		if (!env.child[r].ready)
			return (0);
	parent_go();
	return (0);
}

static void
recv_log(const struct child *c, const struct msg_log *m)
{
	int	 priority = (int)(m->priority & LOG_PRIMASK);

	if (priority == LOG_DEBUG && env.verbose == 0)
		return;
	log_line(priority, c->name, m->text);
}

static void
recv_reload(const struct frame *f, const struct msg_reload *r)
{
	struct msg_result	 m;

	memset(&m, 0, sizeof(m));
	/* The store asks for whom; who that is we know ourselves. */
	if (!sessions_may(f->session, RIGHT_ADMIN)) {
		m.code = CODE_PERMISSION_DENIED;
		strlcpy(m.text, "admin: not permitted", sizeof(m.text));
	} else if (r->execute) {
		upgrade_start(f->session, f->req);
		return;
	} else if (parent_reload(m.text, sizeof(m.text)) == -1)
		m.code = CODE_INVALID_ARGUMENT;
	parent_send(ROLE_STORE, MSG_RELOAD_DONE, f->op, f->session, f->req,
	    -1, &m);
}

static void
recv_doctor(const struct frame *f)
{
	struct msg_host	 m;

	if (sessions_may(f->session, RIGHT_ADMIN))
		parent_doctor(&m);
	else {
		memset(&m, 0, sizeof(m));
		m.code = CODE_PERMISSION_DENIED;
	}
	parent_send(ROLE_STORE, MSG_HOST, f->op, f->session, f->req, -1, &m);
}

union parent_msg {
	struct msg_log	 log;
	struct msg_ready ready;
	struct msg_work	 work;
	struct msg_reload reload;
	struct msg_mounts_check mounts;
	struct msg_mounts_ref ref;
};

/* Only the store asks for anything. */
static int
recv_request(struct child *c, const struct frame *f,
    union parent_msg *m)
{
	if (c->role != ROLE_STORE)
		return (-1);
	/*
	 * It may have asked before it heard that it is to stop, and finishes
	 * what it has begun.  The next start asks again for what is left.
	 */
	if (env.state == SET_STOPPING)
		return (0);
	if (env.state != SET_RUNNING)
		return (-1);
	switch (f->type) {
	case MSG_WORK_MAKE:
		return (mounts_make(&m->work, f->op));
	case MSG_WORK_REMOVE:
		return (mounts_remove(&m->work, f->op));
	case MSG_MOUNTS_CHECK:
		return (mounts_check(f, &m->mounts));
	case MSG_MOUNTS_DROP:
		mounts_drop(m->ref.n);
		return (0);
	case MSG_MOUNTS_OFF:
		mounts_off(m->ref.n);
		return (0);
	case MSG_RELOAD:
		recv_reload(f, &m->reload);
		return (0);
	case MSG_DOCTOR:
		recv_doctor(f);
		return (0);
	default:
		return (-1);
	}
}

static int
dispatch_one(struct child *c, const struct frame *f,
    union parent_msg *m)
{
	switch (f->type) {
	case MSG_LOG:
		recv_log(c, &m->log);
		return (0);
	case MSG_READY:
		return (recv_ready(c, &m->ready));
	case MSG_BEAT:
		return (beat_recv(c));
	case MSG_OPEN:
		return (recv_open(c));
	default:
		return (recv_request(c, f, m));
	}
}

/* What a child may say to the parent, whoever it is. */
static int
taken(uint32_t type)
{
	static const uint32_t	 types[] = {
		MSG_LOG, MSG_READY, MSG_OPEN, MSG_BEAT, MSG_WORK_MAKE,
		MSG_WORK_REMOVE, MSG_RELOAD, MSG_DOCTOR, MSG_MOUNTS_CHECK,
		MSG_MOUNTS_DROP, MSG_MOUNTS_OFF
	};
	size_t			 i;

	for (i = 0; i < nitems(types); i++)
		if (types[i] == type)
			return (1);
	return (0);
}

/* Its frames; only_log: it is dead, and its last words are what counts. */
void
parent_recv(struct child *c, int only_log)
{
	static const uint8_t	 none[1] = { 0x90 };	/* empty array */
	const struct msg_def	*def;
	union parent_msg	 m;
	struct frame		 f;
	int			 n, bad = 0;

	while (!bad && !c->condemned && (n = chan_get(&c->ch, &f)) != 0) {
		if (n == -1) {
			parent_condemn(c, "sent a malformed frame");
			return;
		}
		if (only_log && f.type != MSG_LOG && f.type != MSG_OPEN) {
			chan_frame_free(&f);
			continue;
		}
		def = msg_def(f.type);
		bad = f.fd != -1 || def == NULL || def->size > sizeof(m) ||
		    !taken(f.type) ||
		    msg_decode_array(&m, def, f.len == 0 ? none : f.data,
		    f.len == 0 ? sizeof(none) : f.len) == -1;
		if (!bad) {
			bad = dispatch_one(c, &f, &m) == -1;
			msg_clear(&m, def);
		}
		chan_frame_free(&f);
	}
	if (bad && !only_log)
		parent_condemn(c, "broke the protocol");
}
