/*
 * Requests about an exec that there is: to read its output, to wait for it,
 * to end its input or itself, and to list them.
 */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"

/* The exec's row, live or ended, to be cleared; -1: answered. */
static int
exec_find(struct asker *a, const char *name, struct sandbox **sb,
    struct exec **ex, struct exec_row *r)
{
	uint64_t	 k;

	memset(r, 0, sizeof(*r));
	if ((*sb = request_sandbox(a, name, &k)) == NULL ||
	    rights_check(a, RIGHT_EXEC, *sb) == -1)
		return (-1);
	if ((*ex = model_exec(*sb, k)) != NULL) {
		*r = (*ex)->r;
		memset(&r->argv, 0, sizeof(r->argv));
		if (strv_copy(&r->argv, &(*ex)->r.argv) == -1)
			fatal("%s", __func__);
		return (0);
	}
	switch (model_get_exec(&st.model, (*sb)->r.n, k, r)) {
	case 0:
		return (0);
	case EDB_NOTFOUND:
		answer_error(a, CODE_NOT_FOUND, NULL, "%s: no such exec",
		    name);
		return (-1);
	default:
		log_warnx("%s", st.db.why);
		answer_error(a, CODE_INTERNAL, NULL, "%s", st.db.why);
		return (-1);
	}
}

int
exec_begin(struct meant *q, struct frame *f, const void *msg,
    const char *name)
{
	if (request_begin(&q->a, f, msg) == -1)
		return (-1);
	return (exec_find(&q->a, name, &q->sb, &q->ex, &q->r));
}

void
exec_read(const struct asker *a, uint32_t type, struct sandbox *sb,
    const struct exec_row *r, const struct proto_attach *q)
{
	struct msg_read	 m;

	memset(&m, 0, sizeof(m));
	m.n = r->n;
	m.k = r->k;
	m.owner = sb->r.owner;
	m.offset1 = q->offset1;
	m.offset2 = q->offset2;
	m.streams = q->streams != 0 ? q->streams : 1 << 1 | 1 << 2;
	m.follow = q->follow;
	if (type == MSG_REATTACH)
		m.follow = 1;
	if (lifecycle_exec_ended(r->state)) {
		m.ended = 1;
		m.length1 = r->length1;
		m.length2 = r->length2;
		/* Nobody has counted: what the log has is all there is. */
		if (r->state == EXEC_LOST || r->state == EXEC_CANCELLED) {
			if (m.length1 == 0)
				m.length1 = UINT64_MAX;
			if (m.length2 == 0)
				m.length2 = UINT64_MAX;
		}
	}
	/* The runner does not know what has not ended: nobody listens. */
	if (damaged() && !m.ended) {
		m.ended = 1;
		m.length1 = m.length2 = UINT64_MAX;
	}
	exec_name(m.exec, sizeof(m.exec), sb, r->k);
	pipe_send(&st.runner, type, 0, a->session, a->req, -1, &m);
}

int
exec_recv_attach(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_attach	*m = msg;
	struct meant		 q;
	struct pending		*p;

	(void)ch;
	if (exec_begin(&q, f, msg, m->exec) == -1)
		return (0);
	audit_allowed(&q.a, q.ex != NULL && m->streams & 1 ? "input" :
	    "attach", q.sb);
	if (q.ex == NULL) {
		m->streams &= ~1U;
		exec_read(&q.a, MSG_READ, q.sb, &q.r, m);
		answer_exec(&q.a, q.sb, &q.r);
		answer_end(&q.a);
	} else {
		timer_del(&q.ex->lost);
		q.ex->session = q.a.session;
		q.ex->req = q.a.req;
		p = wait_add(&q.a, PROTO_ATTACH, &q.ex->waiters, q.ex);
		/* One that waits gets its pipes when it starts. */
		if (!q.ex->queued)
			exec_read(&q.a, MSG_REATTACH, q.sb, &q.r, m);
		else if (p != NULL) {
			p->wants = 1;
			p->want = *m;
			p->want.exec = NULL;
		}
	}
	exec_row_clear(&q.r);
	return (0);
}

int
exec_recv_logs(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_attach	*m = msg;
	struct meant		 q;

	(void)ch;
	if (exec_begin(&q, f, msg, m->exec) == -1)
		return (0);
	audit_allowed(&q.a, "logs", q.sb);
	m->streams &= ~1U;
	exec_read(&q.a, MSG_READ, q.sb, &q.r, m);
	if (q.ex != NULL && m->follow)
		wait_add(&q.a, PROTO_LOGS, &q.ex->waiters, NULL);
	else
		answer_end(&q.a);
	exec_row_clear(&q.r);
	return (0);
}

int
exec_recv_wait(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_wait	*m = msg;
	struct meant		 q;

	(void)ch;
	if (exec_begin(&q, f, msg, m->exec) == -1)
		return (0);
	audit_allowed(&q.a, "wait", q.sb);
	if (q.ex != NULL)
		wait_until(wait_add(&q.a, PROTO_WAIT, &q.ex->waiters, NULL),
		    m->timeout);
	else {
		answer_exec(&q.a, q.sb, &q.r);
		answer_end(&q.a);
	}
	exec_row_clear(&q.r);
	return (0);
}

int
exec_recv_input_end(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_input_end	*m = msg;
	struct msg_exec_ref	 ref;
	struct meant		 q;

	(void)ch;
	if (exec_begin(&q, f, msg, m->exec) == -1)
		return (0);
	/* It does not matter any more to one that has ended. */
	if (q.ex != NULL) {
		if (q.ex->session != q.a.session)
			audit_allowed(&q.a, "input_end", q.sb);
		memset(&ref, 0, sizeof(ref));
		ref.n = q.r.n;
		ref.k = q.r.k;
		ref.owner = q.sb->r.owner;
		ref.value = m->total;
		pipe_send(&st.runner, MSG_INPUT_FINISH, 0, q.a.session, q.a.req,
		    -1, &ref);
	}
	answer_end(&q.a);
	exec_row_clear(&q.r);
	return (0);
}

int
exec_recv_kill(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_kill	*m = msg;
	struct meant		 q;

	(void)ch;
	if (exec_begin(&q, f, msg, m->exec) == -1)
		return (0);
	if (q.ex == NULL && (q.r.background == 0 ||
	    q.sb->r.state != SBX_READY)) {
		answer_error(&q.a, CODE_WRONG_STATE, NULL, "%s has ended: %s",
		    m->exec, lifecycle_exec_name(q.r.state));
		exec_row_clear(&q.r);
		return (0);
	}
	/* A guest that stands still reads none of them. */
	if (order_frozen(q.sb) && q.sb->held++ >= STORE_HELD_MAX) {
		answer_error(&q.a, CODE_LIMIT_EXCEEDED, NULL, "%s is %s: the "
		    "limit of signals until it goes on is %d", q.sb->r.id,
		    lifecycle_name(q.sb->r.state), STORE_HELD_MAX);
		exec_row_clear(&q.r);
		return (0);
	}
	if (q.ex != NULL && (m->signo == 0 || q.ex->queued))
		exec_order_cancel(q.ex, &q.a, m->grace, "as asked");
	else
		exec_order_signal(q.sb, q.r.k, &q.a, m->signo,
		    m->grace != 0 ? m->grace : q.r.grace, "as asked");
	answer_end(&q.a);
	exec_row_clear(&q.r);
	return (0);
}

struct ps {
	const struct asker	*a;
	struct sandbox		*sb;
	int			 all;
	u_int			 left;
};

static int
ps_one(void *arg, const struct exec_row *r)
{
	struct ps	*q = arg;

	if (q->left == 0)
		return (1);
	q->left--;
	answer_exec(q->a, q->sb, r);
	return (0);
}

static void
ps_sandbox(struct ps *q, struct sandbox *sb)
{
	struct exec	*ex;
	uint64_t	 from;

	q->sb = sb;
	if (!q->all) {
		RB_FOREACH(ex, exec_tree, &sb->execs)
			if (ps_one(q, &ex->r) != 0)
				return;
		return;
	}
	/* The newest, if there are more than one answer may hold. */
	from = sb->last_k > q->left ? sb->last_k - q->left + 1 : 0;
	if (model_walk_execs(&st.model, sb->r.n, from, ps_one, q) == -1)
		log_warnx("%s", st.db.why);
}

int
exec_recv_ps(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_ps	*m = msg;
	struct sandbox	*sb;
	struct asker	 a;
	struct ps	 q;
	int		 others = 0;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	memset(&q, 0, sizeof(q));
	q.a = &a;
	q.all = m->all;
	q.left = STORE_PS_MAX;
	if (m->sandbox != NULL && m->sandbox[0] != '\0') {
		if ((sb = request_sandbox(&a, m->sandbox, NULL)) == NULL)
			return (0);
		rights_seen(&a, sb);
		ps_sandbox(&q, sb);
		answer_end(&a);
		return (0);
	}
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
		if (!rights_visible(&a, sb->r.owner) ||
		    (!q.all && sb->nexecs == 0))
			continue;
		others |= sb->r.owner != a.uid;
		ps_sandbox(&q, sb);
	}
	if (others)
		rights_seen(&a, NULL);
	answer_end(&a);
	return (0);
}
