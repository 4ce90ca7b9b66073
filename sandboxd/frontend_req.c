/*
 * Requests: what a client asks goes to the store, what store and runner
 * answer goes to the client.  One table says what each type is.
 */

#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "frontend.h"
#include "log.h"
#include "spec.h"

/* Room for any request, aligned for each of its members. */
union request_any {
	uint64_t			 align;
	struct proto_hello		 hello;
	struct proto_create		 create;
	struct proto_list		 list;
	struct proto_ref		 ref;
	struct proto_exec		 exec;
	struct proto_attach		 attach;
	struct proto_input_end		 input_end;
	struct proto_ps			 ps;
	struct proto_wait		 wait;
	struct proto_wait_state		 wait_state;
	struct proto_kill		 kill;
	struct proto_resize		 resize;
	struct proto_detach		 detach;
	struct proto_events		 events;
	struct proto_credit		 credit;
	struct proto_reconcile		 reconcile;
	struct proto_reload		 reload;
	struct proto_image_import	 image_import;
	struct proto_log_verify		 log_verify;
	struct proto_log_dump		 log_dump;
	struct proto_extend		 extend;
	struct proto_call		 call;
	struct proto_call_input		 call_input;
	struct proto_call_cancel	 call_cancel;
	struct proto_update		 update;
};

static const struct {
	int		 known;
	enum req_class	 class;
} types[PROTO_HELLO_OK] = {
	[PROTO_HELLO] = { 1, REQ_SHORT },
	[PROTO_PING] = { 1, REQ_SHORT },
	[PROTO_STATUS] = { 1, REQ_SHORT },
	[PROTO_CREATE] = { 1, REQ_LONG },
	[PROTO_LIST] = { 1, REQ_SHORT },
	[PROTO_SHOW] = { 1, REQ_SHORT },
	[PROTO_STOP] = { 1, REQ_LONG },
	[PROTO_RESUME] = { 1, REQ_LONG },
	[PROTO_DELETE] = { 1, REQ_LONG },
	[PROTO_EXEC] = { 1, REQ_LONG },
	[PROTO_ATTACH] = { 1, REQ_LONG },
	[PROTO_INPUT_END] = { 1, REQ_CONTROL },
	[PROTO_PS] = { 1, REQ_SHORT },
	[PROTO_LOGS] = { 1, REQ_LONG },
	[PROTO_WAIT] = { 1, REQ_LONG },
	[PROTO_WAIT_STATE] = { 1, REQ_LONG },
	[PROTO_KILL] = { 1, REQ_CONTROL },
	[PROTO_RESIZE] = { 1, REQ_CONTROL },
	[PROTO_DETACH] = { 1, REQ_CONTROL },
	[PROTO_EVENTS] = { 1, REQ_LONG },
	[PROTO_CREDIT] = { 1, REQ_CONTROL },
	[PROTO_IMAGE_IMPORT] = { 1, REQ_LONG },
	[PROTO_RELOAD] = { 1, REQ_SHORT },
	[PROTO_LOG_VERIFY] = { 1, REQ_LONG },
	[PROTO_LOG_DUMP] = { 1, REQ_LONG },
	[PROTO_RULES] = { 1, REQ_SHORT },
	[PROTO_DOCTOR] = { 1, REQ_SHORT },
	[PROTO_EXTEND] = { 1, REQ_SHORT },
	[PROTO_CALL] = { 1, REQ_LONG },
	[PROTO_CALL_INPUT] = { 1, REQ_CONTROL },
	[PROTO_CALL_CANCEL] = { 1, REQ_CONTROL },
	[PROTO_UPDATE] = { 1, REQ_LONG },
	[PROTO_RECONCILE] = { 1, REQ_LONG },
	[PROTO_PAUSE] = { 1, REQ_LONG },
	[PROTO_UNPAUSE] = { 1, REQ_LONG },
	[PROTO_RESTART] = { 1, REQ_LONG },
};

int
request_bounded(const struct client *c)
{
	return (c->nshort >= CLIENT_INFLIGHT_MAX ||
	    c->ncontrol >= CLIENT_INFLIGHT_MAX ||
	    c->us->nshort >= UID_INFLIGHT_MAX);
}

static struct request *
request_find(struct client *c, uint32_t id)
{
	struct request	*r;

	TAILQ_FOREACH(r, &c->reqs, entry)
		if (r->id == id)
			return (r);
	return (NULL);
}

static void
request_count(struct client *c, struct request *r)
{
	if (r->class == REQ_CONTROL) {
		c->ncontrol++;
		return;
	}
	c->nshort++;
	c->us->nshort++;
	if (r->class == REQ_LONG) {
		r->is_long = 1;
		c->nlong++;
		c->us->nlong++;
	}
}

/* It goes on by itself from here: room for another one. */
static void
request_accepted(struct client *c, struct request *r)
{
	if (r->accepted || r->class != REQ_LONG)
		return;
	r->accepted = 1;
	c->nshort--;
	c->us->nshort--;
	client_resume(c);
	client_resume_uid(c->us);
}

void
request_free(struct client *c, struct request *r)
{
	TAILQ_REMOVE(&c->reqs, r, entry);
	if (r->class == REQ_CONTROL)
		c->ncontrol--;
	else if (!r->accepted) {
		c->nshort--;
		c->us->nshort--;
	}
	if (r->is_long) {
		c->nlong--;
		c->us->nlong--;
	}
	free(r);
	client_resume(c);
	client_resume_uid(c->us);
}

/* Which outputs a request will open, and whether it is short for once. */
static void
request_shape(struct request *r, const union request_any *any)
{
	switch (r->type) {
	case PROTO_EXEC:
		if (!(any->exec.flags & EXEC_ATTACH))
			r->class = REQ_SHORT;
		else
			r->expect = any->exec.flags & EXEC_MERGE ?
			    1 << 1 : 1 << 1 | 1 << 2;
		break;
	case PROTO_ATTACH:
	case PROTO_LOGS:
		r->expect = any->attach.streams & (1 << 1 | 1 << 2);
		break;
	case PROTO_CALL:
		if (call_kind(any->call.op) & CALL_OUT)
			r->expect = 1 << 1;
		break;
	case PROTO_CREATE:
		if (!any->create.wait)
			r->class = REQ_SHORT;
		break;
	case PROTO_STOP:
	case PROTO_RESUME:
	case PROTO_DELETE:
	case PROTO_PAUSE:
	case PROTO_UNPAUSE:
	case PROTO_RESTART:
		if (!any->ref.wait)
			r->class = REQ_SHORT;
		break;
	default:
		break;
	}
}

/* More credit for a subscription.  A late one for an ended one is normal. */
static const char *
request_credit(struct client *c, uint32_t id, const union request_any *any)
{
	struct request	*r;

	if ((r = request_find(c, id)) == NULL)
		return (NULL);
	if (r->type != PROTO_EVENTS && r->type != PROTO_LOG_DUMP)
		return ("credit for what is no subscription");
	/* Credit is for what was taken: more often it is a flood. */
	if (++r->credits > r->events + CLIENT_CREDITS)
		return ("credit without events");
	pipe_send(&fe_store, PROTO_CREDIT, 0, c->session, id, -1, any);
	return (NULL);
}

static void
request_begin(struct client *c, uint32_t type, uint32_t id,
    const union request_any *any)
{
	struct request	*r;

	if ((r = calloc(1, sizeof(*r))) == NULL) {
		client_error(c, id, CODE_UNAVAILABLE, "", "out of memory");
		return;
	}
	r->id = id;
	r->type = type;
	r->class = types[type].class;
	request_shape(r, any);
	if (r->class == REQ_LONG && (c->nlong >= CLIENT_LONG_MAX ||
	    c->us->nlong >= UID_LONG_MAX)) {
		free(r);
		client_error(c, id, CODE_LIMIT_EXCEEDED, "", "too many "
		    "attached commands, subscriptions and waits at a time");
		return;
	}
	TAILQ_INSERT_TAIL(&c->reqs, r, entry);
	request_count(c, r);
	if (type == PROTO_HELLO)
		c->hello = HELLO_SENT;
	pipe_send(&fe_store, type, 0, c->session, id, -1,
	    proto_def(type)->nfields == 0 ? NULL : any);
	/* These say nothing until they end. */
	if (type == PROTO_WAIT || type == PROTO_WAIT_STATE ||
	    type == PROTO_CALL ||
	    type == PROTO_EVENTS || type == PROTO_LOG_VERIFY ||
	    type == PROTO_LOG_DUMP || type == PROTO_RECONCILE)
		request_accepted(c, r);
}

/* What is wrong with a message that cannot be answered by its number. */
static const char *
request_wrong(struct client *c, uint32_t type, uint32_t id)
{
	static char	 text[64];

	if (type >= PROTO_HELLO_OK || !types[type].known) {
		snprintf(text, sizeof(text), "unknown request %u", type);
		return (text);
	}
	if (id == 0)
		return ("a request has the number 0");
	if (c->hello == HELLO_NONE && type != PROTO_HELLO)
		return ("the first request must be HELLO");
	if (c->hello != HELLO_NONE && type == PROTO_HELLO)
		return ("a second HELLO");
	if (type != PROTO_CREDIT && request_find(c, id) != NULL) {
		snprintf(text, sizeof(text), "request %u is under way", id);
		return (text);
	}
	return (NULL);
}

/* A client of a later version is to learn which one we speak. */
static int
other_version(struct proto_hello *h, const uint8_t *data, size_t len)
{
	return (msg_decode_map_newer(h, proto_def(PROTO_HELLO), 1, data, len,
	    NULL, NULL) == 0 && h->version != PROTO_VERSION);
}

const char *
request_recv(struct client *c, struct imsg *imsg)
{
	static const uint8_t	 none[1] = { 0x80 };	/* empty map */
	union request_any	 any;
	const struct msg_def	*def;
	const char		*field, *why;
	const uint8_t		*data = none;
	const char		*wrong;
	struct spec_error	 e;
	uint32_t		 type, id;
	size_t			 len;

	type = imsg_get_type(imsg);
	id = imsg_get_id(imsg);
	if ((wrong = request_wrong(c, type, id)) != NULL)
		return (wrong);
	if ((def = proto_def(type)) == NULL || def->size > sizeof(any))
		fatalx("%s: no room for type %u", __func__, type);
	if ((len = imsg_get_len(imsg)) == 0)
		len = sizeof(none);
	else
		data = ibuf_data(imsg->buf);
	if (msg_decode_map(&any, def, data, len, &field, &why) == -1 &&
	    (type != PROTO_HELLO || !other_version(&any.hello, data, len))) {
		/* What has no answer cannot be refused. */
		if (type == PROTO_CREDIT)
			return ("malformed credit");
		spec_refuse(def, field, why, &e);
		client_error(c, id, e.code, e.field, e.text);
		return (NULL);
	}
	if (spec_check(type, &any, &e) == -1) {
		if (type == PROTO_CREDIT)
			wrong = "malformed credit";
		else
			client_error(c, id, e.code, e.field, e.text);
	} else if (type == PROTO_CREDIT)
		wrong = request_credit(c, id, &any);
	else {
		if (type == PROTO_HELLO)
			c->minor = any.hello.minor;
		request_begin(c, type, id, &any);
	}
	msg_clear(&any, def);
	return (wrong);
}

static int
request_over(const struct request *r)
{
	uint32_t	 wait;

	wait = r->failed ? r->open : r->open | r->expect;
	return (r->ended && (wait & ~r->done) == 0);
}

/* END goes out when all the output that it ends has been told of. */
static void
request_try_end(struct client *c, struct request *r)
{
	if (!request_over(r))
		return;
	client_send(c, PROTO_END, r->id, -1, &r->end);
	if (r->type == PROTO_HELLO && c->hello == HELLO_SENT)
		c->hello = HELLO_NONE;
	request_free(c, r);
}

/*
 * Of a command that never ran the runner may have nothing to tell.  One that
 * was lost may have been lost before the runner had it, but whoever attaches
 * to it later gets what it wrote.
 */
static int
never_ran(const struct request *r, const struct proto_exec_info *info)
{
	return (strcmp(info->state, "failed") == 0 ||
	    (r->type == PROTO_EXEC && strcmp(info->state, "lost") == 0));
}

/* The client and request that a frame is for; 0 if they are gone. */
static int
answered(const struct frame *f, struct client **c, struct request **r)
{
	if ((*c = client_find(f->session)) == NULL ||
	    (*r = request_find(*c, f->req)) == NULL)
		return (0);
	return (1);
}

int
request_recv_answer(struct chan *ch, struct frame *f, void *msg)
{
	struct client	*c;
	struct request	*r;
	int		 fd;

	(void)ch;
	if (!answered(f, &c, &r))
		return (0);
	if (f->fd != -1 && !pipe_is(f->fd))
		return (-1);
	switch (f->type) {
	case PROTO_END:
		r->end = *(struct proto_end *)msg;
		r->ended = 1;
		/* Pipes that the runner did open may be under way still. */
		if (r->failed) {
			frontend_drain_runner();
			if (!answered(f, &c, &r))
				return (0);
		}
		request_try_end(c, r);
		return (0);
	case PROTO_ERROR:
		client_send(c, PROTO_ERROR, r->id, -1, msg);
		if (r->type == PROTO_HELLO)
			c->hello = HELLO_NONE;
		request_free(c, r);
		return (0);
	case PROTO_HELLO_OK:
		if (r->type != PROTO_HELLO)
			return (-1);
		client_greeted(c);
		break;
	case PROTO_EXEC_INFO:
		if (r->expect != 0)
			r->failed = never_ran(r, msg);
		break;
	case PROTO_EVENT:
	case PROTO_DUMP:
		r->events++;
		break;
	case PROTO_STATUS_INFO:
		client_counts(msg);
		break;
	case PROTO_RESULT:
		fault("frontend.result.before");
		break;
	default:
		break;
	}
	fd = f->fd;
	f->fd = -1;
	client_send(c, f->type, r->id, fd, msg);
	request_accepted(c, r);
	return (0);
}

int
request_recv_stream(struct chan *ch, struct frame *f, void *msg)
{
	const struct proto_stream	*s = msg;
	struct client			*c;
	struct request			*r;
	int				 fd;

	(void)ch;
	if (s->stream > 2 || f->fd == -1 || !pipe_is(f->fd))
		return (-1);
	if (!answered(f, &c, &r))
		return (0);
	/* The store has said ACCEPTED before: the client reads it first. */
	if (r->type == PROTO_EXEC && !r->accepted) {
		frontend_drain_store();
		if (!answered(f, &c, &r))
			return (0);
	}
	if (s->stream != 0)
		r->open |= 1 << s->stream;
	fd = f->fd;
	f->fd = -1;
	client_send(c, PROTO_STREAM, r->id, fd, msg);
	fault("frontend.stream.after");
	request_accepted(c, r);
	return (0);
}

int
request_recv_stream_end(struct chan *ch, struct frame *f, void *msg)
{
	const struct msg_stream_end	*s = msg;
	struct client			*c;
	struct request			*r;

	(void)ch;
	if (s->stream < 1 || s->stream > 2)
		return (-1);
	if (!answered(f, &c, &r))
		return (0);
	r->done |= 1 << s->stream;
	request_try_end(c, r);
	return (0);
}
