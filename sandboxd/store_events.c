/*
 * Subscriptions to the log.
 *
 * A subscription is a position in the log.  Behind the newest event it is
 * read from the database, in slices, as far as the client's credit goes; at
 * the newest it is live and gets what each batch appends from memory, where
 * an event is encoded once for all who want it.  So there is neither gap nor
 * duplicate, and one that nothing happens for costs nothing: those who are
 * live stand under what they wait for, and those without credit are not
 * looked at until they have some.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "store.h"

TAILQ_HEAD(sub_list, sub);

/* Those that wait for the same: a sandbox, a user's sandboxes, everything. */
struct audience {
	RB_ENTRY(audience)	 entry;
	enum { OF_SANDBOX, OF_USER, OF_ALL } of;
	uint64_t		 which;
	struct sub_list		 subs;
};
RB_HEAD(audience_tree, audience);

struct sub {
	TAILQ_ENTRY(sub)	 entry;		/* of the session */
	TAILQ_ENTRY(sub)	 all;
	TAILQ_ENTRY(sub)	 live_entry;
	struct audience		*live;		/* NULL: it is behind */
	struct asker		 a;
	struct sandbox		*sb;		/* NULL: all that it may see */
	uint64_t		 next;		/* its sequence, or the host's */
	uint64_t		 credit;
	char			 type[32];	/* "": all */
	int			 every;		/* sees what is others' too */
	int			 follow;
	uint32_t		 states;	/* WAIT_STATE: bits of those */
	enum sbx_state		 reached;	/* one of them */
	int			 full;		/* a slice is used up */
	int			 blocked;	/* the next one lacks credit */
	uint64_t		 left;		/* of this slice */
	struct event		 turn;		/* of the next slice */
	struct event		 slow;		/* or too late */
};

/* An event of the batch that runs, as long as somebody may want it. */
struct fresh {
	TAILQ_ENTRY(fresh)	 entry;
	struct record		 r;
	uint8_t			 details[];
};

static int	audience_cmp(struct audience *, struct audience *);

RB_PROTOTYPE(audience_tree, audience, entry, audience_cmp)
RB_GENERATE(audience_tree, audience, entry, audience_cmp)

static struct sub_list		 subs = TAILQ_HEAD_INITIALIZER(subs);
static struct audience_tree	 audiences = RB_INITIALIZER(&audiences);
static TAILQ_HEAD(, fresh)	 news = TAILQ_HEAD_INITIALIZER(news);
static u_int			 nsubs;

static void	sub_pump(struct sub *);

static int
audience_cmp(struct audience *a, struct audience *b)
{
	if (a->of != b->of)
		return (a->of < b->of ? -1 : 1);
	return (a->which < b->which ? -1 : a->which > b->which);
}

u_int
events_subs(void)
{
	return (nsubs);
}

/* From here on it gets what is appended; all before it has had. */
static void
sub_live(struct sub *s)
{
	struct audience	 key, *au;

	key.of = s->sb != NULL ? OF_SANDBOX : s->every ? OF_ALL : OF_USER;
	key.which = s->sb != NULL ? s->sb->r.n : s->every ? 0 : s->a.uid;
	if ((au = RB_FIND(audience_tree, &audiences, &key)) == NULL) {
		if ((au = calloc(1, sizeof(*au))) == NULL)
			fatal("%s", __func__);
		au->of = key.of;
		au->which = key.which;
		TAILQ_INIT(&au->subs);
		RB_INSERT(audience_tree, &audiences, au);
	}
	TAILQ_INSERT_TAIL(&au->subs, s, live_entry);
	s->live = au;
}

/* The audience stays while it is walked: events_tell() clears it away. */
static void
sub_behind(struct sub *s)
{
	if (s->live == NULL)
		return;
	TAILQ_REMOVE(&s->live->subs, s, live_entry);
	s->live = NULL;
}

static void
audience_put(struct audience *au)
{
	if (au == NULL || !TAILQ_EMPTY(&au->subs))
		return;
	RB_REMOVE(audience_tree, &audiences, au);
	free(au);
}

static void
sub_free(struct sub *s)
{
	struct audience	*au = s->live;
	struct session	*se;

	timer_del(&s->turn);
	timer_del(&s->slow);
	sub_behind(s);
	audience_put(au);
	TAILQ_REMOVE(&subs, s, all);
	if (s->states == 0) {
		nsubs--;
		quota_sub(s->a.uid, -1);
	}
	if ((se = session_find(s->a.session)) != NULL) {
		TAILQ_REMOVE(&se->subs, s, entry);
		se->nlong--;
	}
	free(s);
}

/* The session is out of the tree already. */
void
events_gone(struct session *se)
{
	struct sub	*s;

	while ((s = TAILQ_FIRST(&se->subs)) != NULL) {
		TAILQ_REMOVE(&se->subs, s, entry);
		sub_free(s);
	}
}

static void
sub_slow(int fd, short event, void *arg)
{
	struct sub	*s = arg;

	(void)fd;
	(void)event;
	answer_error(&s->a, CODE_DEADLINE_EXCEEDED, NULL, "no event was taken "
	    "for %d seconds; go on from %llu", STORE_SLOW / 1000,
	    (unsigned long long)s->next);
	sub_free(s);
}

static void
sub_turn(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	sub_pump(arg);
}

/* The EVENT, as it goes to whomever. */
static void
event_encode(msgpack_sbuffer *buf, const struct record *r)
{
	struct proto_event	 m;
	struct sandbox		*sb = NULL;
	char			 name[EXEC_ID_MAX + 1];

	memset(&m, 0, sizeof(m));
	m.host_seq = r->seq;
	m.seq = r->sseq;
	m.time = r->time;
	m.owner = r->owner;
	m.op = r->op;
	m.actor = r->actor == ACTOR_DAEMON ? -1 : (int64_t)r->actor;
	strlcpy(m.type, store_event_name(r->type), sizeof(m.type));
	if (r->sbx != 0) {
		strlcpy(m.state, lifecycle_name(r->state), sizeof(m.state));
		if ((sb = model_number(&st.model, r->sbx)) != NULL)
			strlcpy(m.sandbox, sb->r.id, sizeof(m.sandbox));
	}
	if (store_detail(r, &m.detail) == -1)
		log_warnx("event %llu: damaged details",
		    (unsigned long long)r->seq);
	if (r->exec != 0 && sb != NULL) {
		exec_name(name, sizeof(name), sb, r->exec);
		detail_str(&m.detail, "exec", name);
	}
	if (msg_encode_array(buf, msg_def(PROTO_EVENT), &m) == -1)
		fatal("%s", __func__);
	kvv_clear(&m.detail);
}

/* Its position moves on, and the event goes out. */
static void
sub_send(struct sub *s, const struct record *r, const msgpack_sbuffer *buf)
{
	s->credit--;
	s->next = (s->sb != NULL ? r->sseq : r->seq) + 1;
	if (chan_send(&st.frontend, PROTO_EVENT, 0, s->a.session, s->a.req,
	    -1, buf->data, buf->size) == -1)
		fatal("%s: to %s", __func__, st.frontend.peer);
}

/* There is one for it, and it has to ask for more first. */
static void
sub_block(struct sub *s)
{
	s->blocked = 1;
	if (!event_initialized(&s->slow) || !evtimer_pending(&s->slow, NULL))
		timer_set(&s->slow, sub_slow, s, STORE_SLOW);
}

/* "ready", or "ready or stopped" */
static const char *
states_text(uint32_t states, char *buf, size_t size)
{
	int	 i;

	*buf = '\0';
	for (i = SBX_NONE + 1; i < SBX_NSTATES; i++) {
		if (!(states & 1U << i))
			continue;
		if (*buf != '\0')
			strlcat(buf, " or ", size);
		strlcat(buf, lifecycle_name(i), size);
	}
	return (buf);
}

/* WAIT_STATE: this is one of the states, or none of them is within reach. */
static int
sub_over(const struct sub *s, enum sbx_state state)
{
	return ((s->states & 1U << state) != 0 ||
	    (s->states & lifecycle_reach(state)) == 0);
}

/* Its sandbox is in that state: 1 if it is answered, and gone. */
static int
sub_judge(struct sub *s, enum sbx_state state)
{
	struct sandbox	*sb = s->sb;
	const char	*cause = sb->r.cause;
	char		 text[256];

	if (!sub_over(s, state))
		return (0);
	if (s->states & 1U << state) {
		answer_state(&s->a, sb, state);
		answer_end(&s->a);
	} else
		answer_error(&s->a, CODE_WRONG_STATE, NULL, "%s: cannot become "
		    "%s any more: it is %s%s%s", sb->r.id, states_text(
		    s->states, text, sizeof(text)), lifecycle_name(state),
		    *cause == '\0' ? "" : ": ", cause);
	sub_free(s);
	return (1);
}

static void
sub_late(int fd, short event, void *arg)
{
	struct sub	*s = arg;
	char		 text[256];

	(void)fd;
	(void)event;
	answer_error(&s->a, CODE_DEADLINE_EXCEEDED, NULL, "%s: not %s within "
	    "the time given: it is %s", s->sb->r.id, states_text(s->states,
	    text, sizeof(text)), lifecycle_name(s->sb->r.state));
	sub_free(s);
}

static int
sub_one(void *arg, const struct record *r)
{
	struct sub	*s = arg;
	msgpack_sbuffer	 buf;

	/* What is appended but not committed is nobody's business. */
	if (r->seq > st.log.done_seq)
		return (1);
	if (s->left == 0) {
		s->full = 1;
		return (1);
	}
	s->left--;
	if (s->states != 0) {
		s->next = r->sseq + 1;
		if (!(s->states & 1U << r->state))
			return (0);
		s->reached = r->state;
		return (1);
	}
	/* One that was collected is a number only. */
	if (r->type == EV_NONE) {
		s->next = r->seq + 1;
		return (0);
	}
	if (s->sb == NULL && !s->every &&
	    (r->sbx == 0 || r->owner != s->a.uid)) {
		s->next = r->seq + 1;
		return (0);
	}
	if (s->type[0] != '\0' && !audit_has_type(s->type, r)) {
		s->next = (s->sb != NULL ? r->sseq : r->seq) + 1;
		return (0);
	}
	if (s->credit == 0) {
		sub_block(s);
		return (1);
	}
	msgpack_sbuffer_init(&buf);
	event_encode(&buf, r);
	sub_send(s, r, &buf);
	msgpack_sbuffer_destroy(&buf);
	return (0);
}

static int
sub_read(struct sub *s)
{
	s->full = 0;
	s->left = STORE_SLICE;
	if (s->sb != NULL) {
		/* The newest is known: no need to look. */
		if (s->next > s->sb->sseq)
			return (0);
		return (eventlog_read_sandbox(&st.log, s->sb->r.n, s->next,
		    sub_one, s));
	}
	if (s->next > st.log.done_seq)
		return (0);
	return (eventlog_read(&st.log, s->next, sub_one, s));
}

/* On from its position, until it is live, blocked, or had its turn. */
static void
sub_pump(struct sub *s)
{
	if (s->blocked || s->live != NULL)
		return;
	if (sub_read(s) == -1) {
		log_warnx("%s", st.db.why);
		answer_error(&s->a, CODE_INTERNAL, NULL, "%s", st.db.why);
		sub_free(s);
	} else if (s->states != 0 && (s->reached != SBX_NONE || !s->full) &&
	    sub_judge(s, s->reached != SBX_NONE ? s->reached :
	    s->sb->r.state))
		return;
	else if (s->full)
		timer_set(&s->turn, sub_turn, s, 0);
	else if (s->blocked)
		return;
	else if (s->follow)
		sub_live(s);
	else {
		answer_end(&s->a);
		sub_free(s);
	}
}

static void
fresh_undo(void *arg)
{
	struct fresh	*n = arg;

	TAILQ_REMOVE(&news, n, entry);
	free(n);
}

/* Appended in a batch, which may still fail. */
void
events_appended(struct batch *b, const struct record *r)
{
	struct fresh	*n;

	/* Nobody becomes live while a batch runs. */
	if (RB_EMPTY(&audiences))
		return;
	if ((n = malloc(sizeof(*n) + r->ndetails)) == NULL)
		fatal("%s", __func__);
	n->r = *r;
	n->r.details = n->details;
	if (r->ndetails > 0)
		memcpy(n->details, r->details, r->ndetails);
	TAILQ_INSERT_TAIL(&news, n, entry);
	batch_undo(b, fresh_undo, n);
}

/* To all that are live there, and have credit. */
static void
events_tell(int of, uint64_t which, const struct record *r,
    msgpack_sbuffer *buf)
{
	struct audience	 key, *au;
	struct sub	*s, *next;

	key.of = of;
	key.which = which;
	if ((au = RB_FIND(audience_tree, &audiences, &key)) == NULL)
		return;
	TAILQ_FOREACH_SAFE(s, &au->subs, live_entry, next) {
		if (s->states != 0) {
			if (sub_over(s, r->state)) {
				sub_behind(s);
				(void)sub_judge(s, r->state);
			}
			continue;
		}
		if (s->type[0] != '\0' && !audit_has_type(s->type, r))
			continue;
		if (s->credit > 0) {
			if (buf->size == 0)
				event_encode(buf, r);
			sub_send(s, r, buf);
			continue;
		}
		/* All between its position and this one was not for it. */
		s->next = s->sb != NULL ? r->sseq : r->seq;
		sub_behind(s);
		sub_block(s);
	}
	audience_put(au);
}

/* After each commit. */
void
events_committed(struct batch *b)
{
	struct fresh	*n;
	msgpack_sbuffer	 buf;

	(void)b;
	while ((n = TAILQ_FIRST(&news)) != NULL) {
		TAILQ_REMOVE(&news, n, entry);
		msgpack_sbuffer_init(&buf);
		if (n->r.sbx != 0) {
			events_tell(OF_SANDBOX, n->r.sbx, &n->r, &buf);
			events_tell(OF_USER, n->r.owner, &n->r, &buf);
		}
		events_tell(OF_ALL, 0, &n->r, &buf);
		msgpack_sbuffer_destroy(&buf);
		free(n);
	}
}

/* Its history is gone, and with it where a subscription is. */
void
events_collected(struct sandbox *sb)
{
	struct sub	*s, *next;

	for (s = TAILQ_FIRST(&subs); s != NULL; s = next) {
		next = TAILQ_NEXT(s, all);
		if (s->sb != sb)
			continue;
		answer_error(&s->a, CODE_NOT_FOUND, NULL,
		    "%s: its history was collected", sb->r.id);
		sub_free(s);
	}
}

static struct sub *
sub_new(const struct asker *a, struct session *se, struct sandbox *sb,
    uint64_t from)
{
	struct sub	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		fatal("%s", __func__);
	s->a = *a;
	s->sb = sb;
	s->next = from;
	TAILQ_INSERT_TAIL(&subs, s, all);
	TAILQ_INSERT_TAIL(&se->subs, s, entry);
	request_long(se);
	return (s);
}

int
events_recv_events(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_events	*m = msg;
	struct sandbox		*sb = NULL;
	struct session		*se;
	struct asker		 a;
	struct sub		*s;
	char			 text[TEXT_MAX + 1];
	uint64_t		 last;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	if (m->sandbox != NULL && m->sandbox[0] != '\0' &&
	    (sb = request_sandbox(&a, m->sandbox, NULL)) == NULL)
		return (0);
	if (rights_check(&a, RIGHT_EVENTS, sb) == -1)
		return (0);
	if ((se = session_find(a.session)) == NULL)
		return (0);
	/*
	 * Whoever asks for what follows an event that this log never had has
	 * met another log, and would wait in silence.
	 */
	last = sb != NULL ? sb->sseq : st.log.done_seq;
	if (m->from > last + 1) {
		answer_error(&a, CODE_INVALID_ARGUMENT, "from", "invalid from: "
		    "%llu: the newest is %llu", (unsigned long long)m->from,
		    (unsigned long long)last);
		return (0);
	}
	if (m->type[0] != '\0' && !audit_is_type(m->type)) {
		answer_error(&a, CODE_INVALID_ARGUMENT, "type", "invalid type: "
		    "%s: no such events", m->type);
		return (0);
	}
	if (quota_subscribe(&a, text, sizeof(text)) == -1) {
		audit_refused(a.uid, "events", "", CODE_LIMIT_EXCEEDED, text,
		    0);
		answer_error(&a, CODE_LIMIT_EXCEEDED, NULL, "%s", text);
		return (0);
	}
	s = sub_new(&a, se, sb, m->from == 0 ? 1 : m->from);
	s->credit = m->credit == 0 ? STORE_CREDIT : m->credit;
	/* Without a sandbox it is about the own ones, or everything. */
	s->every = (a.others & 1U << RIGHT_EVENTS) != 0;
	s->follow = m->follow;
	strlcpy(s->type, m->type, sizeof(s->type));
	nsubs++;
	quota_sub(a.uid, 1);
	sub_pump(s);
	return (0);
}

/*
 * A subscription of which the client gets one answer: that the sandbox is in
 * one of the states, or has been since the event that it names.
 */
int
events_recv_wait_state(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_wait_state	*m = msg;
	struct sandbox		*sb;
	struct session		*se;
	struct asker		 a;
	struct sub		*s;
	size_t			 i;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    (sb = request_sandbox(&a, m->id, NULL)) == NULL ||
	    (se = session_find(a.session)) == NULL)
		return (0);
	if (m->from > sb->sseq) {
		answer_error(&a, CODE_INVALID_ARGUMENT, "from", "invalid from: "
		    "%llu: the newest is %llu", (unsigned long long)m->from,
		    (unsigned long long)sb->sseq);
		return (0);
	}
	s = sub_new(&a, se, sb, m->from == 0 ? sb->sseq + 1 : m->from);
	for (i = 0; i < m->states.n; i++)
		s->states |= 1U << lifecycle_state(m->states.v[i]);
	s->follow = 1;
	if (m->timeout != 0)
		timer_set(&s->slow, sub_late, s, m->timeout);
	sub_pump(s);
	return (0);
}

/* Its request number is the subscription's. */
int
events_recv_credit(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_credit	*m = msg;
	struct session		*se;
	struct sub		*s;

	(void)ch;
	if ((se = session_find(f->session)) == NULL)
		return (0);
	if (log_recv_credit(f->session, f->req, m->n))
		return (0);
	TAILQ_FOREACH(s, &se->subs, entry) {
		if (s->a.req != f->req)
			continue;
		if (m->n == 0)
			break;
		if ((s->credit += m->n) < m->n)
			s->credit = UINT64_MAX;
		timer_del(&s->slow);
		s->blocked = 0;
		if (!event_initialized(&s->turn) ||
		    !evtimer_pending(&s->turn, NULL))
			sub_pump(s);
		break;
	}
	return (0);
}
