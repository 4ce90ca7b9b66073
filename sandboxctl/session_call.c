/*
 * session_call.c: the requests under way: they wait until there is room for
 * them at the daemon, are sent, and their answers told.
 */

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "session.h"

#define CREDIT_AHEAD	8	/* CREDITs ahead of events; daemon: 16 */

RB_HEAD(call_tree, call);

static int	call_cmp(struct call *, struct call *);
RB_PROTOTYPE(call_tree, call, node, call_cmp)
RB_GENERATE(call_tree, call, node, call_cmp)

static struct call_tree	 calls = RB_INITIALIZER(&calls);

static int
call_cmp(struct call *a, struct call *b)
{
	return (strcmp(a->l.id, b->l.id));
}

struct call *
call_find(const char *id)
{
	static struct call	 key;

	key.l.id = (char *)(uintptr_t)id;
	return (RB_FIND(call_tree, &calls, &key));
}

/* --- what is told --------------------------------------------------- */

void
tell(const struct call *c, uint32_t type, const void *msg)
{
	if (!c->abandoned)
		json_answer(ss.out, c->l.id, proto_def(type), msg);
}

void
tell_error(const char *id, enum code code, const char *field,
    const char *text)
{
	json_answer_error(ss.out, id == NULL ? "null" : id, code_name(code),
	    field, text);
}

/* --- queues --------------------------------------------------------- */

static int
waits(const struct callq *q)
{
	return (q == &ss.waiting[0] || q == &ss.waiting[1]);
}

static void
enqueue(struct call *c, struct callq *q, int front)
{
	c->queue = q;
	if (waits(q)) {
		ss.nwaiting[c->islong]++;
		ss.bytes[c->islong] += c->bytes;
	}
	if (front)
		TAILQ_INSERT_HEAD(q, c, entry);
	else
		TAILQ_INSERT_TAIL(q, c, entry);
}

static void
dequeue(struct call *c)
{
	if (c->queue == NULL)
		return;
	TAILQ_REMOVE(c->queue, c, entry);
	if (waits(c->queue)) {
		ss.nwaiting[c->islong]--;
		ss.bytes[c->islong] -= c->bytes;
	}
	c->queue = NULL;
}

/* It counts no more among those that have not been answered. */
static void
unshort(struct call *c)
{
	if (c->isshort)
		ss.nshort--;
	c->isshort = 0;
}

/* The daemon has no more to say of it. */
static void
unsend(struct call *c)
{
	if (c->queue != &ss.sent)
		return;
	unshort(c);
	if (c->islong)
		ss.nlong--;
	dequeue(c);
	c->req = 0;
}

/* Input that nobody takes any more. */
static void
call_no_input(struct call *c)
{
	struct call	*i;

	while ((i = TAILQ_FIRST(&c->inputs)) != NULL)
		call_end(i, NULL);
}

static void
call_free(struct call *c)
{
	if (!c->abandoned)
		RB_REMOVE(call_tree, &calls, c);
	unsend(c);
	dequeue(c);
	job_clear(c);
	call_no_input(c);
	line_clear(&c->l);
	free(c);
}

void
call_end(struct call *c, const struct proto_end *end)
{
	static const struct proto_end	 none;

	tell(c, PROTO_END, end == NULL ? &none : end);
	call_free(c);
}

void
call_error(struct call *c, enum code code, const char *field,
    const char *text)
{
	if (!c->abandoned)
		tell_error(c->l.id, code, field, text);
	call_free(c);
}

/* The error that the last use of the connection met. */
void
call_sb_error(struct call *c)
{
	const struct sandbox_error	*e = sandbox_error(ss.sb);

	call_error(c, e->code, e->field, e->text);
}

/*
 * Told that it is over.  What the daemon still says of it is for nobody, but
 * until it has ended there it has its place.
 */
void
call_abandon(struct call *c)
{
	static const struct msg_def	 cancelled =
	    MSG_DEF_EMPTY(0, "cancelled");

	json_answer(ss.out, c->l.id, &cancelled, NULL);
	if (c->job != NULL)
		c->req = sandbox_job_ended(c->job) ? 0 :
		    sandbox_job_req(c->job);
	if (c->queue != &ss.sent || ss.conn != CONN_UP || c->req == 0) {
		call_free(c);
		return;
	}
	job_clear(c);
	call_no_input(c);
	RB_REMOVE(call_tree, &calls, c);
	c->abandoned = 1;
}

/* --- requests ------------------------------------------------------- */

/* Takes what the line holds. */
void
call_new(struct line *l, size_t bytes)
{
	struct call	*c;
	char		 text[64 + 6 * SESSION_ID_MAX];

	if (call_find(l->id) != NULL) {
		/* Told of that id it would look like the other's end. */
		snprintf(text, sizeof(text), "invalid id: a request %s is "
		    "under way", l->id);
		tell_error(NULL, CODE_ALREADY_EXISTS, "id", text);
		line_clear(l);
		return;
	}
	if ((c = calloc(1, sizeof(*c))) == NULL) {
		tell_error(l->id, CODE_UNAVAILABLE, "", "out of memory");
		line_clear(l);
		return;
	}
	c->l = *l;
	memset(l, 0, sizeof(*l));
	c->bytes = bytes;
	TAILQ_INIT(&c->inputs);
	RB_INSERT(call_tree, &calls, c);
	if (c->l.def->type == 0) {
		(void)c->l.def->begin(c);
		return;
	}
	c->islong = call_long(c);
	if (c->islong && (ss.nwaiting[1] >= SESSION_QUEUE_MAX ||
	    ss.bytes[1] >= SESSION_BYTES_MAX)) {
		snprintf(text, sizeof(text), "too many requests wait for one "
		    "of the %d that may go on at a time: the limit is %d",
		    SESSION_LONG_MAX, SESSION_QUEUE_MAX);
		call_error(c, CODE_LIMIT_EXCEEDED, "", text);
		return;
	}
	call_prepare(c);
	enqueue(c, &ss.waiting[c->islong], c->l.def->type == PROTO_KILL);
}

/* It goes on with another request to the daemon, when there is room. */
void
call_resend(struct call *c)
{
	if (c->job != NULL)
		sandbox_job_free(c->job);
	c->job = NULL;
	unsend(c);
	enqueue(c, &ss.waiting[c->islong], 1);
}

/* It is not the daemon that does it. */
void
call_local(struct call *c)
{
	enqueue(c, &ss.local, 0);
}

/* Those that end by themselves are waited for before more is read. */
int
call_blocked(void)
{
	return (ss.nwaiting[0] >= SESSION_QUEUE_MAX ||
	    ss.bytes[0] >= SESSION_BYTES_MAX);
}

int
call_idle(void)
{
	return (RB_EMPTY(&calls));
}

/* It is on its way; 0, or -1 and it was answered. */
static int
call_send(struct call *c)
{
	dequeue(c);
	if (c->l.def->begin != NULL && !(c->l.def->type == PROTO_EXEC &&
	    c->l.extra.detach)) {
		if (c->l.def->begin(c) == -1)
			return (-1);
	} else if (sandbox_queue(ss.sb, c->l.def->type, c->l.msg,
	    &c->req) == -1) {
		call_sb_error(c);
		return (-1);
	}
	enqueue(c, &ss.sent, 0);
	if (c->islong)
		ss.nlong++;
	if (!(c->l.def->flags & S_QUIET)) {
		c->isshort = 1;
		ss.nshort++;
	}
	return (0);
}

/* As many as the daemon takes. */
void
call_send_all(void)
{
	unsigned int	 most = sandbox_hello(ss.sb)->inflight;
	struct call	*c;

	while (ss.nshort < (most == 0 ? 1 : most)) {
		if ((c = TAILQ_FIRST(&ss.waiting[0])) != NULL) {
			(void)call_send(c);
			continue;
		}
		if (ss.nlong >= SESSION_LONG_MAX ||
		    (c = TAILQ_FIRST(&ss.waiting[1])) == NULL)
			break;
		(void)call_send(c);
	}
}

/* --- answers -------------------------------------------------------- */

static struct call *
call_of(struct sandbox_answer *a)
{
	struct call	*c;

	TAILQ_FOREACH(c, &ss.sent, entry)
		if (c->req != 0 ? c->req == a->req :
		    c->job != NULL && sandbox_job_owns(c->job, a))
			return (c);
	return (NULL);
}

static void
credit_send(struct call *c)
{
	uint32_t	 n = c->owed > INT32_MAX ? INT32_MAX : c->owed;

	/* More of them than events would look like a flood. */
	if (n == 0 || c->req == 0 || c->credits > c->events + CREDIT_AHEAD ||
	    ss.conn != CONN_UP)
		return;
	if (sandbox_queue_credit(ss.sb, c->req, n) == -1)
		return;
	c->credits++;
	c->owed -= n;
}

/* Where it is to go on, should the daemon be restarted. */
static void
call_note(struct call *c, struct sandbox_answer *a)
{
	const struct proto_events	*ev = c->l.msg;

	switch (a->type) {
	case PROTO_EVENT:
		if (c->l.def->type != PROTO_EVENTS)
			return;
		c->last = (*ev->sandbox != '\0' ? a->u.event.seq :
		    a->u.event.host_seq) + 1;
		break;
	case PROTO_HEARTBEAT:
		c->last = a->u.heartbeat.seq + 1;
		return;
	case PROTO_SANDBOX:
		if (c->l.def->type == PROTO_LIST)
			c->last = a->u.sandbox.number;
		return;
	case PROTO_DUMP:
		break;
	default:
		return;
	}
	c->events++;
	if (c->renew && !c->abandoned && c->events % (SESSION_CREDIT / 8) == 0)
		c->owed += SESSION_CREDIT / 8;
	credit_send(c);
}

/* A page of a list: the next one, unless one page was asked for. */
static int
call_page(struct call *c, const struct proto_end *end)
{
	struct proto_list	*l = c->l.msg;

	if (c->l.def->type != PROTO_LIST || l->limit != 0 ||
	    end->after <= l->after || c->abandoned)
		return (0);
	l->after = end->after;
	unsend(c);
	enqueue(c, &ss.waiting[0], 1);
	return (1);
}

static void
call_answer(struct call *c, struct sandbox_answer *a)
{
	switch (a->type) {
	case PROTO_END:
		if (!call_page(c, &a->u.end))
			call_end(c, &a->u.end);
		return;
	case PROTO_ERROR:
		call_error(c, code_number(a->u.error.code), a->u.error.field,
		    a->u.error.text);
		return;
	case PROTO_ACCEPTED:
		/* Asked again, it was told before. */
		if (!c->accepted)
			tell(c, a->type, &a->u);
		c->accepted = 1;
		return;
	}
	tell(c, a->type, &a->u);
	c->answered = 1;
	call_note(c, a);
}

/*
 * It goes on after its first answer, but ends by itself, and soon.  Were as
 * many of these under way as of those that wait, their pipes could be more
 * than the daemon keeps for a client that reads a moment later.
 */
static int
call_soon(const struct call *c)
{
	return (c->l.def->flags & S_TOOL && c->l.def->type == PROTO_CALL &&
	    !c->l.extra.input);
}

void
call_take(struct sandbox_answer *a)
{
	struct call	*c;

	/* Number 0 is none of ours: it concerns the connection. */
	if (a->req == 0 && a->type == PROTO_ERROR) {
		sandbox_set_error(ss.sb, &a->u.error);
		conn_lost();
		return;
	}
	if ((c = call_of(a)) == NULL)
		return;
	if (c->islong && !call_soon(c))
		unshort(c);
	if (c->job != NULL)
		job_take(c, a);
	else
		call_answer(c, a);
}

void
call_each_job(void (*f)(struct call *, void *), void *arg)
{
	struct call	*c, *next;

	TAILQ_FOREACH_SAFE(c, &ss.sent, entry, next)
		if (c->job != NULL)
			f(c, arg);
	TAILQ_FOREACH_SAFE(c, &ss.local, entry, next)
		f(c, arg);
}

/* --- a lost connection ---------------------------------------------- */

/* Nothing that was sent is answered any more. */
void
call_lost(void)
{
	struct call	*c, *prev;

	TAILQ_FOREACH_REVERSE_SAFE(c, &ss.sent, callq, entry, prev) {
		if (c->job != NULL) {
			job_lost(c);
			continue;
		}
		if (c->abandoned)
			call_free(c);
		else if (sandbox_error(ss.sb)->code == CODE_UNAVAILABLE &&
		    call_again(c)) {
			unsend(c);
			enqueue(c, &ss.waiting[c->islong], 1);
		} else
			call_error(c, CODE_UNAVAILABLE, "", "connection to "
			    "the daemon lost: what was asked may have been "
			    "done");
	}
}

void
call_fail_all(enum code code, const char *text)
{
	struct call	*c, *next;

	/* What is for another ends with it. */
again:
	RB_FOREACH_SAFE(c, call_tree, &calls, next)
		if (c->l.of == NULL) {
			call_error(c, code, "", text);
			goto again;
		}
}

/* --- ends of our own ------------------------------------------------ */

static int
call_follows(const struct call *c)
{
	return (c->l.def->type == PROTO_EVENTS &&
	    ((const struct proto_events *)c->l.msg)->follow);
}

static void
give_up(struct call *c)
{
	if (c->job != NULL || c->ctl != NULL)
		job_cancel(c);
	else
		call_abandon(c);
}

/* Nothing more can come from who drives us: neither input nor a cancel. */
void
call_eof(void)
{
	struct call	*c;

again:
	RB_FOREACH(c, call_tree, &calls) {
		if (c->cancelled || (!call_follows(c) &&
		    (!c->l.extra.input || c->input_over)))
			continue;
		give_up(c);
		goto again;
	}
}

/* A signal: what was started attached ends, the rest is let go. */
void
call_stop(int signo)
{
	struct call	*c;

	ss.stopping = signo;
again:
	RB_FOREACH(c, call_tree, &calls) {
		/* What is for another ends with it. */
		if (c->cancelled || c->l.of != NULL)
			continue;
		give_up(c);
		goto again;
	}
}

/* --- requests of our own -------------------------------------------- */

static struct call *
call_target(struct call *c)
{
	struct call	*t;
	char		 text[64 + 6 * SESSION_ID_MAX];

	if ((t = call_find(c->l.of)) != NULL && t != c &&
	    t->l.of == NULL)
		return (t);
	snprintf(text, sizeof(text), "no request %s is under way", c->l.of);
	call_error(c, CODE_NOT_FOUND, "request", text);
	return (NULL);
}

int
call_cancel(struct call *c)
{
	struct call	*t;

	if ((t = call_target(c)) == NULL)
		return (-1);
	give_up(t);
	call_end(c, NULL);
	return (-1);
}

int
call_credit(struct call *c)
{
	struct call	*t;

	if ((t = call_target(c)) == NULL)
		return (-1);
	if (t->l.extra.window != 0)
		job_credit(t, c->l.extra.n);
	else if ((t->l.def->type == PROTO_EVENTS ||
	    t->l.def->type == PROTO_LOG_DUMP) && !t->renew) {
		if ((t->owed += c->l.extra.n) > UINT32_MAX)
			t->owed = UINT32_MAX;
		credit_send(t);
	} else {
		call_error(c, CODE_INVALID_ARGUMENT, "request",
		    "invalid request: it has no bound");
		return (-1);
	}
	call_end(c, NULL);
	return (-1);
}

int
call_version(struct call *c)
{
	json_answer_version(ss.out, c->l.id, ss.conn == CONN_UP ?
	    sandbox_hello(ss.sb) : NULL);
	call_end(c, NULL);
	return (-1);
}
