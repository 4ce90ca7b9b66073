/*
 * session_again.c: how long a request goes on, and what is asked for again
 * after the connection was lost.
 */

#include <sys/types.h>

#include "session.h"

/* Does it go on at the daemon after its first answer? */
int
call_long(const struct call *c)
{
	const struct proto_create	*create = c->l.msg;
	const struct proto_ref		*ref = c->l.msg;

	if (!(c->l.def->flags & S_LONG))
		return (0);
	switch (c->l.def->type) {
	case PROTO_CREATE:
		return (create->wait != 0);
	case PROTO_STOP:
	case PROTO_DELETE:
	case PROTO_PAUSE:
	case PROTO_UNPAUSE:
	case PROTO_RESTART:
	case PROTO_RESUME:
		return (ref->wait != 0);
	case PROTO_EXEC:
		return (!c->l.extra.detach);
	}
	return (1);
}

/* What we add to a request, so that it can be asked again. */
void
call_prepare(struct call *c)
{
	struct proto_wait_state	*ws = c->l.msg;
	struct proto_create	*create = c->l.msg;
	struct proto_events	*ev = c->l.msg;
	struct proto_exec	*x = c->l.msg;
	struct proto_wait	*w = c->l.msg;

	switch (c->l.def->type) {
	case PROTO_CREATE:
		if (*create->key == '\0')
			create_key(create);
		break;
	case PROTO_EXEC:
		if (c->l.extra.detach)
			x->flags &= ~(EXEC_ATTACH | EXEC_INPUT);
		break;
	case PROTO_EVENTS:
		c->renew = ev->credit == 0;
		if (c->renew)
			ev->credit = SESSION_CREDIT;
		break;
	case PROTO_LOG_DUMP:
		c->renew = ((struct proto_log_dump *)c->l.msg)->credit == 0;
		break;
	case PROTO_WAIT:
		if (w->timeout != 0)
			c->deadline = session_now() + w->timeout;
		break;
	case PROTO_WAIT_STATE:
		if (ws->timeout != 0)
			c->deadline = session_now() + ws->timeout;
		break;
	}
}

/* Can what was asked be asked again?  If so, for what is left. */
int
call_again(struct call *c)
{
	struct proto_wait_state	*ws = c->l.msg;
	struct proto_events	*ev = c->l.msg;
	struct proto_wait	*w = c->l.msg;
	struct proto_list	*l = c->l.msg;
	int64_t			 left = c->deadline - session_now();

	if (!(c->l.def->flags & S_AGAIN))
		return (0);
	switch (c->l.def->type) {
	case PROTO_LIST:
		if (c->last != 0)
			l->after = c->last;
		return (l->limit == 0 || !c->answered);
	case PROTO_EVENTS:
		if (c->last != 0) {
			ev->from = c->last;
			ev->snapshot = 0;
		}
		/* What was given and not used is still the client's. */
		if (!c->renew)
			ev->credit = ev->credit > c->events ?
			    ev->credit - c->events : 0;
		c->events = c->credits = 0;
		return (c->renew || ev->credit != 0);
	case PROTO_WAIT:
		if (c->deadline != 0)
			w->timeout = left < 1 ? 1 : left;
		return (1);
	case PROTO_WAIT_STATE:
		if (c->deadline != 0)
			ws->timeout = left < 1 ? 1 : left;
		return (1);
	case PROTO_CREATE:
	case PROTO_DELETE:
		return (1);
	}
	return (!c->answered);
}
