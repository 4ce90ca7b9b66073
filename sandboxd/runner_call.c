/*
 * Calls: operations that a guest carries out for a client.  Nothing of them
 * is kept: with the guest's connection, with the client or with us they are
 * over, and none is ever sent twice.
 *
 * The guest owes an end for each.  One that the client has given up is known
 * until then, and counts, so that no guest is asked for more at a time than
 * it has room for.
 */

#include <sys/types.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "runner.h"

static struct calls	 all = TAILQ_HEAD_INITIALIZER(all);
static uint64_t		 last;		/* number given to a call */

/* What a guest may say of why it could not. */
static const enum code	 codes[] = {
	CODE_OK, CODE_INVALID_ARGUMENT, CODE_NOT_FOUND,
	CODE_PERMISSION_DENIED, CODE_LIMIT_EXCEEDED, CODE_UNAVAILABLE,
	CODE_DEADLINE_EXCEEDED, CODE_UNSUPPORTED, CODE_CONFLICT,
	CODE_NO_SPACE, CODE_FILE_NOT_FOUND, CODE_IS_DIRECTORY,
	CODE_NOT_DIRECTORY, CODE_INVALID_PATH, CODE_FILE_EXISTS,
	CODE_NOT_EMPTY, CODE_NOT_FILE, CODE_TOO_LARGE, CODE_READ_ONLY,
	CODE_IO_ERROR, CODE_CANCELLED
};

static int
code_allowed(uint32_t code)
{
	size_t	 i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i] == code)
			return (1);
	return (0);
}

struct call *
call_find(struct box *box, uint64_t k)
{
	struct call	*c;

	TAILQ_FOREACH(c, &box->calls, entry)
		if (c->k == k)
			return (c);
	return (NULL);
}

static struct call *
call_by_op(struct box *box, uint64_t op)
{
	struct call	*c;

	TAILQ_FOREACH(c, &box->calls, entry)
		if (c->op == op && !c->told)
			return (c);
	return (NULL);
}

static void
call_free(struct call *c)
{
	pass_close(c);
	TAILQ_REMOVE(&c->box->calls, c, entry);
	TAILQ_REMOVE(&all, c, all);
	c->box->ncalls--;
	free(c->buf);
	free(c->done);
	free(c);
}

static void
call_done(const struct frame *f, const struct msg_call_done *m)
{
	pipe_send(&ch_store, MSG_CALL_DONE, f->op, f->session, f->req, -1, m);
}

/* The one answer to the store. */
static void
call_tell(struct call *c, const struct msg_call_done *m)
{
	struct frame	 f;

	if (c->told)
		return;
	c->told = 1;
	memset(&f, 0, sizeof(f));
	f.op = c->op;
	f.session = c->session;
	f.req = c->req;
	call_done(&f, m);
}

static void
call_tell_error(struct call *c, enum code code, const char *text)
{
	struct msg_call_done	 m;

	memset(&m, 0, sizeof(m));
	m.n = c->box->n;
	m.code = code;
	snprintf(m.text, sizeof(m.text), "%s", text);
	call_tell(c, &m);
}

/* Nobody wants it any more; the guest still owes its end. */
void
call_give_up(struct call *c, enum code code, const char *text)
{
	struct gp_cancel	 m;
	struct guest		*g;

	call_tell_error(c, code, text);
	pass_close(c);
	free(c->buf);
	c->buf = NULL;
	c->put = c->got;
	if (c->ended || (g = guest_welcome(c->box)) == NULL) {
		call_free(c);
		return;
	}
	m.grace = 0;
	guest_wrote(g, gp_encode_cancel(guest_room(g, 64), 64, c->k, &m));
}

static void
call_stream_end(struct call *c)
{
	struct msg_stream_end	 m;

	memset(&m, 0, sizeof(m));
	m.stream = GP_STDOUT;
	m.offset = c->put;
	pipe_send(&ch_frontend, MSG_STREAM_END, 0, c->session, c->req, -1, &m);
}

/* It has ended, and the client's pipe has all of its output. */
void
call_try_end(struct call *c)
{
	if (!c->ended || (!c->told && c->put < c->got))
		return;
	pass_close(c);
	if (!c->told) {
		if (c->kind & CALL_OUT)
			call_stream_end(c);
		fault("runner.result.before");
		call_tell(c, c->done);
		fault("runner.result.after");
	}
	call_free(c);
}

static void
call_refuse(const struct frame *f, const struct msg_call *m, enum code code,
    const char *text)
{
	struct msg_call_done	 d;

	memset(&d, 0, sizeof(d));
	d.n = m->n;
	d.code = code;
	strlcpy(d.text, text, sizeof(d.text));
	call_done(f, &d);
}

static struct call *
call_make(struct box *box, const struct frame *f, const struct msg_call *m)
{
	struct call	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		fatal("%s", __func__);
	c->box = box;
	c->k = ++last | GP_CALL_BIT;
	c->op = f->op;
	c->session = f->session;
	c->req = f->req;
	c->kind = call_kind(m->c.op);
	c->wfd = c->rfd = -1;
	c->total = UINT64_MAX;
	TAILQ_INSERT_TAIL(&box->calls, c, entry);
	TAILQ_INSERT_TAIL(&all, c, all);
	box->ncalls++;
	return (c);
}

static void
call_send(struct guest *g, const struct call *c, const struct proto_call *m)
{
	struct gp_call	 p;
	size_t		 size = GP_HDRLEN + GP_MAX_CALL;

	memset(&p, 0, sizeof(p));
	p.op = m->op;
	p.flags = m->flags;
	p.mode = m->mode;
	p.offset = m->offset;
	p.length = m->length;
	p.limit = m->limit;
	p.count = m->count;
	p.path = m->path;
	p.path2 = m->path2;
	p.pattern = m->pattern;
	p.filter = m->filter;
	guest_wrote(g, gp_encode_call(guest_room(g, size), size, c->k, &p));
}

void
call_new(struct box *box, const struct frame *f, const struct msg_call *m)
{
	struct guest	*g;
	struct call	*c;

	if (box == NULL || (g = guest_welcome(box)) == NULL) {
		call_refuse(f, m, CODE_UNAVAILABLE,
		    "the sandbox cannot be reached just now");
		return;
	}
	if (!g->calls) {
		call_refuse(f, m, CODE_UNSUPPORTED, "its guest is too old "
		    "for this: restart the sandbox");
		return;
	}
	/* Their number bounds what they add to a queue that is full. */
	if (box->ncalls >= CALLS_MAX_BOX) {
		call_refuse(f, m, CODE_LIMIT_EXCEEDED,
		    "too many calls are under way in the sandbox");
		return;
	}
	c = call_make(box, f, m);
	call_send(g, c, &m->c);
	fault("runner.call.after");
	silent_expect(box);
	if (!(c->kind & CALL_IN))
		return;
	if (m->c.flags & CALL_F_STREAM) {
		if (pass_input(c) == -1)
			call_give_up(c, CODE_UNAVAILABLE,
			    "input: no more descriptors");
	} else
		pass_data(c, &m->c.data);
}

/* The client has said how much input there is. */
void
call_finish(struct box *box, uint64_t op, uint64_t total)
{
	struct call	*c;

	if ((c = call_by_op(box, op)) == NULL || c->total != UINT64_MAX ||
	    !(c->kind & CALL_IN))
		return;
	c->total = total;
	pass_read(c);
}

void
call_cancel(struct box *box, uint64_t op)
{
	struct call	*c;

	if ((c = call_by_op(box, op)) != NULL)
		call_give_up(c, CODE_CANCELLED, "cancelled");
}

/* What has ended needs the guest no more, if its box stays. */
void
call_guest_gone(struct box *box, int all_of_it)
{
	struct call	*c, *next;

	TAILQ_FOREACH_SAFE(c, &box->calls, entry, next) {
		if (c->ended && !all_of_it)
			continue;
		call_tell_error(c, CODE_UNAVAILABLE,
		    "the sandbox was lost meanwhile");
		call_free(c);
	}
}

void
call_session_gone(uint64_t session)
{
	struct call	*c, *next;

	TAILQ_FOREACH_SAFE(c, &all, all, next)
		if (c->session == session && !c->told)
			call_give_up(c, CODE_CANCELLED, "the client is gone");
}

/* What the guest writes is shown to people. */
void
text_clean(char *dst, size_t size, const char *src)
{
	size_t	 i;

	for (i = 0; src[i] != '\0' && i < size - 1; i++)
		dst[i] = src[i] >= ' ' && src[i] <= '~' ? src[i] : '?';
	dst[i] = '\0';
}

int
call_recv_end(struct guest *g, const struct gp_frame *f)
{
	struct gp_call_end	 m;
	struct call		*c;

	if (gp_decode_call_end(&m, f) == -1 || !code_allowed(m.code))
		return (-1);
	if ((c = call_find(g->box, f->k)) == NULL || c->ended) {
		g->why = "end of a call that nobody has asked for";
		return (-1);
	}
	if (m.out != c->got) {
		g->why = "a call's output is not as long as its end says";
		return (-1);
	}
	if ((c->done = calloc(1, sizeof(*c->done))) == NULL)
		fatal("%s", __func__);
	c->ended = 1;
	c->done->n = g->box->n;
	c->done->code = m.code;
	text_clean(c->done->text, sizeof(c->done->text), m.text);
	c->done->r.out = m.out;
	c->done->r.in = m.in;
	c->done->r.count = m.count;
	c->done->r.count2 = m.count2;
	c->done->r.flags = m.flags;
	call_try_end(c);
	return (0);
}
