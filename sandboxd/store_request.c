/*
 * What each request of a client begins with: who asks, what is meant, and
 * whether it can be done now.
 *
 * The frontend names the session; whose it is, and so what it may do, was
 * told by the parent.  What belongs to somebody else does not exist.
 */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "spec.h"
#include "store.h"

/* What ends something, and shows what there is, has no rate. */
static int
request_always(uint32_t type)
{
	return (type == PROTO_HELLO || type == PROTO_LIST ||
	    type == PROTO_STOP || type == PROTO_DELETE ||
	    type == PROTO_KILL || type == PROTO_INPUT_END ||
	    type == PROTO_DETACH);
}

/*
 * A client that hangs up leaves requests behind that the frontend has read,
 * of which its socket held no more than so many.  More than these come from
 * nobody: who makes sessions up is no frontend.
 */
static void
request_stranger(const struct frame *f)
{
	if (f->session == 0)
		fatalx("%s without a session from frontend",
		    msg_name(f->type));
	if (++st.nstrangers > STORE_STRANGERS * (st.nclosed + 1))
		fatalx("frontend names sessions that nobody has");
	/* Each that leaves in a hurry makes some. */
	if (st.nstrangers > STORE_STALE * (st.nclosed + 1) &&
	    (st.nstrangers & (st.nstrangers - 1)) == 0)
		log_warnx("%llu requests of sessions that nobody has",
		    (unsigned long long)st.nstrangers);
}

/*
 * One more that waits.  The frontend lets a client have far fewer at a time:
 * what passes this is not of a client's making.
 */
void
request_long(struct session *s)
{
	if (++s->nlong > STORE_LONG_MAX)
		fatalx("more than %d requests of one session wait: frontend "
		    "keeps no bound", STORE_LONG_MAX);
}

/*
 * Who asks.  Returns -1 if the request has been answered: nobody has that
 * session, or the request is not well formed.
 */
int
request_begin(struct asker *a, struct frame *f, const void *msg)
{
	struct spec_error	 e;
	struct session		*s;
	char			 text[TEXT_MAX + 1];

	memset(a, 0, sizeof(*a));
	a->session = f->session;
	a->req = f->req;
	if ((s = session_find(f->session)) == NULL) {
		store_drain_parent();
		if ((s = session_find(f->session)) == NULL) {
			request_stranger(f);
			answer_error(a, CODE_PERMISSION_DENIED, NULL,
			    "no such session");
			return (-1);
		}
	}
	a->uid = s->uid;
	a->own = s->rights.own;
	a->others = s->rights.others;
	memcpy(a->bounds, s->bounds, sizeof(a->bounds));
	if (spec_check(f->type, msg, &e) == -1) {
		answer_error(a, e.code, e.field, "%s", e.text);
		return (-1);
	}
	if (!st.going) {
		answer_error(a, CODE_UNAVAILABLE, NULL, "starting");
		return (-1);
	}
	if (damaged_refuse(a, f->type))
		return (-1);
	if (!request_always(f->type) && quota_rate(a, LIMIT_REQUESTS, text,
	    sizeof(text)) == -1) {
		audit_refused(a->uid, "request", "", CODE_LIMIT_EXCEEDED,
		    text, 0);
		answer_error(a, CODE_LIMIT_EXCEEDED, NULL, "%s", text);
		return (-1);
	}
	return (0);
}

/*
 * The sandbox that is meant, with the number of an exec if k is not NULL;
 * NULL: answered.
 */
struct sandbox *
request_sandbox(const struct asker *a, const char *name, uint64_t *k)
{
	struct spec_ref	 ref;
	struct sandbox	*sb = NULL;
	int		 many = 0;

	if (spec_parse_ref(name, &ref) == -1 ||
	    (k == NULL) != (ref.number == 0)) {
		answer_error(a, CODE_INVALID_ARGUMENT, k == NULL ? "sandbox" :
		    "exec", "%s: not the name of %s", name, k == NULL ?
		    "a sandbox" : "an exec");
		return (NULL);
	}
	if (ref.owner != -1) {
		if (rights_visible(a, ref.owner))
			sb = model_id(&st.model, ref.owner, ref.id);
	} else {
		sb = model_id(&st.model, a->uid, ref.id);
		if (sb == NULL && a->others != 0)
			sb = model_any(&st.model, ref.id, &many);
	}
	if (many) {
		answer_error(a, CODE_CONFLICT, NULL, "%s: several users have "
		    "one of that name, write uid/%s", name, ref.id);
		return (NULL);
	}
	if (sb == NULL) {
		/* What is meant is another's, whether it is there or not. */
		if (ref.owner != -1 && !rights_visible(a, ref.owner))
			audit_refused(a->uid, "see", name, CODE_NOT_FOUND,
			    "no right on the sandboxes of others", 0);
		answer_error(a, CODE_NOT_FOUND, NULL, "%s: no such %s", name,
		    k == NULL ? "sandbox" : "exec");
		return (NULL);
	}
	if (k != NULL)
		*k = ref.number;
	return (sb);
}

/* Requests that came before anything was heard of the Engine. */
struct parked {
	TAILQ_ENTRY(parked)	 entry;
	int			(*recv)(struct chan *, struct frame *, void *);
	struct frame		 f;
	const struct msg_def	*def;
	void			*msg;
};

static TAILQ_HEAD(, parked)	 parked = TAILQ_HEAD_INITIALIZER(parked);

/*
 * A daemon that has just started does not say that the Engine is away before
 * it knows.  Returns 1 if the request waits for that.
 */
int
request_park(int (*recv)(struct chan *, struct frame *, void *),
    const struct frame *f, void *msg)
{
	struct session	*s;
	struct parked	*p;

	if (st.engine_known)
		return (0);
	if ((s = session_find(f->session)) != NULL)
		request_long(s);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		fatal("%s", __func__);
	p->recv = recv;
	p->f.type = f->type;
	p->f.session = f->session;
	p->f.req = f->req;
	p->f.fd = -1;
	p->def = proto_def(f->type);
	if ((p->msg = malloc(p->def->size)) == NULL)
		fatal("%s", __func__);
	memcpy(p->msg, msg, p->def->size);
	memset(msg, 0, p->def->size);
	TAILQ_INSERT_TAIL(&parked, p, entry);
	return (1);
}

void
request_unpark(void)
{
	struct session	*s;
	struct parked	*p;

	st.engine_known = 1;
	while ((p = TAILQ_FIRST(&parked)) != NULL) {
		TAILQ_REMOVE(&parked, p, entry);
		/* Who has hung up meanwhile does not want it any more. */
		if ((s = session_find(p->f.session)) != NULL) {
			s->nlong--;
			p->recv(&st.frontend, &p->f, p->msg);
		}
		msg_clear(p->msg, p->def);
		free(p->msg);
		free(p);
	}
}

/* What makes more of everything; what ends something goes on. */
int
request_space(const struct asker *a)
{
	if (st.db.ballast)
		return (0);
	eventdb_ballast_fill(&st.db);
	if (st.db.ballast)
		return (0);
	answer_error(a, CODE_NO_SPACE, NULL,
	    "the disk with the event log is full");
	return (-1);
}

/* What it has asked for and nobody waits for takes no room. */
void
request_gone(const struct session *s)
{
	struct parked	*p, *next;

	TAILQ_FOREACH_SAFE(p, &parked, entry, next) {
		if (p->f.session != s->number)
			continue;
		TAILQ_REMOVE(&parked, p, entry);
		msg_clear(p->msg, p->def);
		free(p->msg);
		free(p);
	}
}

int
request_engine(const struct asker *a)
{
	if (st.engine.up)
		return (0);
	answer_error(a, CODE_UNAVAILABLE, NULL, "the Engine is away%s%s",
	    st.engine.text[0] != '\0' ? ": " : "", st.engine.text);
	return (-1);
}
