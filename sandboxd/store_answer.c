/*
 * Answers to clients, and the requests that wait for theirs.
 */
#include <sys/types.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "store.h"

void
answer(const struct asker *a, uint32_t type, const void *msg)
{
	pipe_send(&st.frontend, type, 0, a->session, a->req, -1, msg);
}

void
answer_end(const struct asker *a)
{
	struct proto_end	 end = { 0 };

	answer(a, PROTO_END, &end);
}

void
answer_error(const struct asker *a, enum code code, const char *field,
    const char *fmt, ...)
{
	struct proto_error	 e;
	va_list			 ap;

	memset(&e, 0, sizeof(e));
	strlcpy(e.code, code_name(code), sizeof(e.code));
	if (field != NULL)
		strlcpy(e.field, field, sizeof(e.field));
	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	answer(a, PROTO_ERROR, &e);
}

int
refuse(struct refusal *r, enum code code, const char *field,
    const char *fmt, ...)
{
	va_list	 ap;

	r->code = code;
	r->field = field;
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof(r->text), fmt, ap);
	va_end(ap);
	return (BATCH_REFUSED);
}

void
answer_refused(const struct asker *a, const char *what, const char *id,
    const struct refusal *r)
{
	if (r->code == CODE_POLICY_DENIED || r->code == CODE_LIMIT_EXCEEDED)
		audit_refused(a->uid, what, id, r->code, r->text, 0);
	answer_error(a, r->code, r->field, "%s", r->text);
}

/* The batch failed, and the request with it. */
void
answer_failed(const struct asker *a, int result)
{
	if (result == BATCH_NOSPACE)
		answer_error(a, CODE_NO_SPACE, NULL,
		    "no space left for the event log");
	else
		answer_error(a, CODE_UNAVAILABLE, NULL,
		    "the event log cannot be written");
}

void
answer_accepted(const struct asker *a, const char *id, uint64_t op,
    const char *state)
{
	struct proto_accepted	 m;

	memset(&m, 0, sizeof(m));
	strlcpy(m.id, id, sizeof(m.id));
	m.op = op;
	strlcpy(m.state, state, sizeof(m.state));
	answer(a, PROTO_ACCEPTED, &m);
}

void
exec_name(char *buf, size_t size, const struct sandbox *sb, uint64_t k)
{
	snprintf(buf, size, "%s.%llu", sb->r.id, (unsigned long long)k);
}

static void
fill_conf(struct proto_sandbox *m, const struct proto_create *c)
{
	size_t	 i;

	strlcpy(m->image, c->image, sizeof(m->image));
	m->labels = c->labels;
	for (i = 0; i < c->env.n; i++)
		if (strv_add(&m->env, c->env.v[i].k) == -1)
			fatal("%s", __func__);
	m->memory = c->memory;
	m->mcpus = c->mcpus;
	m->pids = c->pids;
	m->workdir = c->workdir;
	m->readonly = c->readonly;
	m->disk = c->disk;
	m->tmpfs = c->tmpfs;
	m->mounts = c->mounts;
	m->mounts_rw = c->mounts_rw;
	m->resume = c->resume;
	strlcpy(m->companion_of, c->companion_of, sizeof(m->companion_of));
}

/*
 * What keeps it from working, though it is in the state it is in.  A daemon
 * that has just started does not say that the Engine is away before it knows.
 */
static const char *
degraded(const struct sandbox *sb)
{
	if (sb->r.state == SBX_DELETED)
		return ("");
	if (damaged())
		return ("the event log is damaged, and only read");
	if (sb->silent)
		return ("its guest does not answer, and the Engine is away");
	if (st.engine_known && !st.engine.up)
		return ("the Engine is away");
	if (sb->r.missing != 0)
		return ("the Engine does not have its container");
	if (sb->r.state == SBX_READY && !sb->here && st.engine_known)
		return ("its guest is not connected");
	return ("");
}

void
answer_sandbox(const struct asker *a, struct sandbox *sb)
{
	answer_state(a, sb, sb->r.state);
}

/* In a state that it may have left again. */
void
answer_state(const struct asker *a, struct sandbox *sb, enum sbx_state state)
{
	static char		 none[1];
	struct proto_sandbox	 m;
	struct proto_create	 old;
	const struct sbx_row	*r = &sb->r;

	memset(&m, 0, sizeof(m));
	memset(&old, 0, sizeof(old));
	m.workdir = none;
	strlcpy(m.id, r->id, sizeof(m.id));
	m.number = r->n;
	m.owner = r->owner;
	strlcpy(m.state, lifecycle_name(state), sizeof(m.state));
	strlcpy(m.cause, r->cause, sizeof(m.cause));
	strlcpy(m.image_id, r->image_id, sizeof(m.image_id));
	strlcpy(m.container, r->container, sizeof(m.container));
	m.memory_seen = r->memory_seen;
	m.mcpus_seen = r->mcpus_seen;
	m.pids_seen = r->pids_seen;
	m.user = r->uid;
	m.created = r->created;
	m.changed = r->changed;
	m.missing = r->missing;
	m.seq = sb->sseq;
	m.execs = sb->nexecs;
	m.guest = r->guest;
	strlcpy(m.degraded, degraded(sb), sizeof(m.degraded));
	times_show(sb, &m);
	if (sb->conf != NULL)
		fill_conf(&m, sb->conf);
	else if (model_get_conf(&st.model, r->n, &old) == 0)
		fill_conf(&m, &old);
	answer(a, PROTO_SANDBOX, &m);
	strv_clear(&m.env);
	msg_clear(&old, proto_def(PROTO_CREATE));
}

void
answer_exec(const struct asker *a, struct sandbox *sb,
    const struct exec_row *r)
{
	struct proto_exec_info	 m;

	memset(&m, 0, sizeof(m));
	exec_name(m.id, sizeof(m.id), sb, r->k);
	m.owner = sb->r.owner;
	strlcpy(m.state, lifecycle_exec_name(r->state), sizeof(m.state));
	m.code = r->code;
	strlcpy(m.cause, r->cause, sizeof(m.cause));
	m.errnum = r->errnum;
	m.argv = r->argv;
	m.detached = !(r->flags & EXEC_ATTACH);
	m.created = r->created;
	m.started = r->started;
	m.ended = r->ended;
	m.length1 = r->length1;
	m.length2 = r->length2;
	m.dropped1 = r->dropped1;
	m.dropped2 = r->dropped2;
	m.background = r->background;
	m.tty = (r->flags & EXEC_TTY) != 0;
	m.shown = r->shown;
	strlcpy(m.reason, r->reason, sizeof(m.reason));
	answer(a, PROTO_EXEC_INFO, &m);
}

/*
 * ex: the request reads this exec's output, and is missed when it goes.
 * NULL: nobody is there any more to be answered.
 */
struct pending *
wait_add(const struct asker *a, uint32_t type, struct waiters *list,
    struct exec *ex)
{
	struct session	*s;
	struct pending	*p;

	if ((s = session_find(a->session)) == NULL)
		return (NULL);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		fatal("%s", __func__);
	p->w.session = a->session;
	p->w.req = a->req;
	p->w.type = type;
	p->of = list;
	p->ex = ex;
	TAILQ_INSERT_TAIL(list, &p->w, entry);
	TAILQ_INSERT_TAIL(&s->pending, p, of_session);
	request_long(s);
	return (p);
}

/* Answers a request that was accepted, and what it waits for. */
void
answer_wait(const struct asker *a, uint32_t type, struct sandbox *sb,
    uint32_t wait)
{
	answer_accepted(a, sb->r.id, sb->r.op, lifecycle_name(sb->r.state));
	if (wait)
		wait_add(a, type, &sb->waiters, NULL);
	else
		answer_end(a);
}

static void
wait_del(struct pending *p)
{
	struct session	*s;

	timer_del(&p->late);
	TAILQ_REMOVE(p->of, &p->w, entry);
	if ((s = session_find(p->w.session)) != NULL) {
		TAILQ_REMOVE(&s->pending, p, of_session);
		s->nlong--;
	}
	free(p);
}

static void
wait_late(int fd, short event, void *arg)
{
	struct pending	*p = arg;
	struct asker	 a;

	(void)fd;
	(void)event;
	a.session = p->w.session;
	a.req = p->w.req;
	wait_del(p);
	answer_error(&a, CODE_DEADLINE_EXCEEDED, NULL,
	    "it has not ended within the time given");
}

/* It waits for so many ms at most; 0: for ever. */
void
wait_until(struct pending *p, uint64_t ms)
{
	if (p != NULL && ms != 0)
		timer_set(&p->late, wait_late, p, ms);
}

/* The session is out of the tree already. */
void
wait_gone(struct session *s)
{
	struct pending	*p;
	struct exec	*ex;

	while ((p = TAILQ_FIRST(&s->pending)) != NULL) {
		TAILQ_REMOVE(&s->pending, p, of_session);
		TAILQ_REMOVE(p->of, &p->w, entry);
		timer_del(&p->late);
		ex = p->ex;
		if (ex != NULL && ex->session == s->number &&
		    ex->req == p->w.req)
			exec_client_gone(ex);
		free(p);
	}
}

/* That request has been answered, and not by what it waits for. */
void
wait_drop(struct session *s, uint32_t req)
{
	struct pending	*p;
	struct exec	*ex;

	TAILQ_FOREACH(p, &s->pending, of_session)
		if (p->w.req == req)
			break;
	if (p == NULL)
		return;
	ex = p->ex;
	wait_del(p);
	/* It does not read the exec any more: as if it had hung up. */
	if (ex != NULL && ex->session == s->number && ex->req == req)
		exec_client_gone(ex);
}

/* Answers all who wait for a sandbox: with its state, or the error. */
void
wait_sandbox(struct sandbox *sb, enum code code)
{
	struct waiter	*w;
	struct asker	 a;

	while ((w = TAILQ_FIRST(&sb->waiters)) != NULL) {
		a.session = w->session;
		a.req = w->req;
		wait_del((struct pending *)w);
		if (code == CODE_OK) {
			answer_sandbox(&a, sb);
			answer_end(&a);
		} else
			answer_error(&a, code, NULL, "%s: %s", sb->r.id,
			    sb->op.cause);
	}
}

/* Who has made it hears that it waits; who waits for it goes on waiting. */
void
wait_held(struct sandbox *sb)
{
	struct waiter	*w, *next;
	struct asker	 a;

	for (w = TAILQ_FIRST(&sb->waiters); w != NULL; w = next) {
		next = TAILQ_NEXT(w, entry);
		if (w->type != PROTO_CREATE)
			continue;
		a.session = w->session;
		a.req = w->req;
		wait_del((struct pending *)w);
		answer_sandbox(&a, sb);
		answer_end(&a);
	}
}

/* The same for an exec that has ended. */
void
wait_exec(struct exec *ex)
{
	struct waiter	*w;
	struct asker	 a;
	uint32_t	 type;

	while ((w = TAILQ_FIRST(&ex->waiters)) != NULL) {
		a.session = w->session;
		a.req = w->req;
		type = w->type;
		wait_del((struct pending *)w);
		if (type != PROTO_LOGS)
			answer_exec(&a, ex->sb, &ex->r);
		answer_end(&a);
	}
}
