/*
 * Calls: operations on files that a guest carries out.  Here it is judged who
 * may, and counted how many there are.  They are in no batch, and what the log
 * has of them is that they were allowed: one that was not answered may or may
 * not have been done, and who asked has to look.
 */
#include <sys/types.h>
#include <sys/tree.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "store.h"

/* One that the runner has. */
struct call {
	RB_ENTRY(call)	 entry;
	uint64_t	 op;		/* its number */
	uint64_t	 session;
	uint32_t	 req;
	uint32_t	 uid;		/* whose it is */
	uint64_t	 n;		/* sandbox */
};
RB_HEAD(call_tree, call);

/* How many one user has. */
struct caller {
	RB_ENTRY(caller) entry;
	uint32_t	 uid;
	u_int		 n;
};
RB_HEAD(caller_tree, caller);

static int	call_cmp(struct call *, struct call *);
static int	caller_cmp(struct caller *, struct caller *);

RB_PROTOTYPE(call_tree, call, entry, call_cmp)
RB_GENERATE(call_tree, call, entry, call_cmp)
RB_PROTOTYPE(caller_tree, caller, entry, caller_cmp)
RB_GENERATE(caller_tree, caller, entry, caller_cmp)

static struct call_tree		 calls = RB_INITIALIZER(&calls);
static struct caller_tree	 callers = RB_INITIALIZER(&callers);
static uint64_t			 last;

static int
call_cmp(struct call *a, struct call *b)
{
	return (a->op < b->op ? -1 : a->op > b->op);
}

static int
caller_cmp(struct caller *a, struct caller *b)
{
	return (a->uid < b->uid ? -1 : a->uid > b->uid);
}

static struct caller *
caller_get(uint32_t uid)
{
	static struct caller	 find;
	struct caller		*c;

	find.uid = uid;
	if ((c = RB_FIND(caller_tree, &callers, &find)) != NULL)
		return (c);
	if ((c = calloc(1, sizeof(*c))) == NULL)
		fatal("%s", __func__);
	c->uid = uid;
	RB_INSERT(caller_tree, &callers, c);
	return (c);
}

static void
caller_put(struct caller *c)
{
	if (c->n > 0)
		return;
	RB_REMOVE(caller_tree, &callers, c);
	free(c);
}

static int
call_allowed(const struct asker *a, const char *what, struct sandbox *sb)
{
	struct caller	*c;
	u_int		 n;
	char		 on[SBX_ID_MAX + 16], text[TEXT_MAX + 1];

	if (sb->r.state != SBX_READY && !op_is_held(sb)) {
		answer_error(a, CODE_WRONG_STATE, NULL, "%s is %s", sb->r.id,
		    lifecycle_name(sb->r.state));
		return (0);
	}
	c = caller_get(a->uid);
	n = c->n;
	caller_put(c);
	if (sb->ncalls < CALLS_MAX_BOX && n < CALLS_MAX_USER)
		return (1);
	snprintf(text, sizeof(text), "%u calls are under way in %s, %u of uid "
	    "%u: the limits are %d and %d", sb->ncalls, sb->r.id, n, a->uid,
	    CALLS_MAX_BOX, CALLS_MAX_USER);
	audit_on(on, sizeof(on), a, sb);
	audit_refused(a->uid, what, on, CODE_LIMIT_EXCEEDED, text, 0);
	answer_error(a, CODE_LIMIT_EXCEEDED, NULL, "%s", text);
	return (0);
}

static void
call_add(const struct asker *a, struct sandbox *sb)
{
	struct call	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		fatal("%s", __func__);
	c->op = ++last;
	c->session = a->session;
	c->req = a->req;
	c->uid = a->uid;
	c->n = sb->r.n;
	RB_INSERT(call_tree, &calls, c);
	caller_get(a->uid)->n++;
	if (sb->ncalls++ == 0)
		times_worked(sb);
}

/* A port inside is as good as the commands behind it. */
static enum right
call_right(uint32_t op)
{
	return (call_kind(op) & CALL_NET ? RIGHT_EXEC : RIGHT_FILES);
}

/* A connection is a decision about its port. */
static void
call_audit(const struct asker *a, const struct proto_call *m,
    const struct sandbox *sb)
{
	char	 what[32];

	if (call_kind(m->op) & CALL_NET)
		snprintf(what, sizeof(what), "%s:%u", call_name(m->op),
		    (u_int)m->count);
	else
		strlcpy(what, call_name(m->op), sizeof(what));
	audit_allowed(a, what, sb);
}

int
call_recv_call(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_call	*m = msg;
	struct sandbox		*sb;
	struct msg_call		 c;
	struct asker		 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    (sb = request_sandbox(&a, m->sandbox, NULL)) == NULL ||
	    rights_check(&a, call_right(m->op), sb) == -1 ||
	    !call_allowed(&a, call_name(m->op), sb))
		return (0);
	call_add(&a, sb);
	call_audit(&a, m, sb);
	c.n = sb->r.n;
	c.c = *m;
	pipe_send(&st.runner, MSG_CALL, last, a.session, a.req, -1, &c);
	return (0);
}

/* The call that a request of the same client means; NULL: it has ended. */
static struct call *
call_of(const struct asker *a, uint32_t req)
{
	struct call	*c;

	RB_FOREACH(c, call_tree, &calls)
		if (c->session == a->session && c->req == req)
			return (c);
	return (NULL);
}

static void
call_order(const struct call *c, uint32_t type, uint64_t total)
{
	struct msg_call_ref	 m;

	m.n = c->n;
	m.total = total;
	pipe_send(&st.runner, type, c->op, c->session, c->req, -1, &m);
}

int
call_recv_input(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_call_input	*m = msg;
	struct asker		 a;
	struct call		*c;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	/* It does not matter any more to one that has ended. */
	if ((c = call_of(&a, m->call)) != NULL)
		call_order(c, MSG_CALL_INPUT, m->total);
	answer_end(&a);
	return (0);
}

int
call_recv_cancel(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_call_cancel	*m = msg;
	struct asker			 a;
	struct call			*c;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	if ((c = call_of(&a, m->call)) != NULL)
		call_order(c, MSG_CALL_CANCEL, 0);
	answer_end(&a);
	return (0);
}

static void
call_answer(const struct call *c, const struct msg_call_done *m)
{
	struct asker	 a;

	if (session_find(c->session) == NULL)
		return;
	memset(&a, 0, sizeof(a));
	a.session = c->session;
	a.req = c->req;
	if (m->code != CODE_OK) {
		answer_error(&a, m->code, NULL, "%s", m->text[0] != '\0' ?
		    m->text : code_name(m->code));
		return;
	}
	answer(&a, PROTO_RESULT, &m->r);
	answer_end(&a);
}

int
call_recv_done(struct chan *ch, struct frame *f, void *msg)
{
	static struct call	 find;
	struct msg_call_done	*m = msg;
	struct sandbox		*sb;
	struct caller		*by;
	struct call		*c;

	(void)ch;
	find.op = f->op;
	if ((c = RB_FIND(call_tree, &calls, &find)) == NULL ||
	    c->n != m->n)
		return (-1);
	call_answer(c, m);
	by = caller_get(c->uid);
	by->n--;
	caller_put(by);
	if ((sb = model_number(&st.model, c->n)) != NULL &&
	    --sb->ncalls == 0) {
		times_worked(sb);
		held_worked(sb);
	}
	RB_REMOVE(call_tree, &calls, c);
	free(c);
	return (0);
}
