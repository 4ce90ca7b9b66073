/*
 * Subscriptions to the log, and its verification.
 *
 * A subscription is a position in the log, nothing else is kept for it: what
 * a client has credit for is read from the database, in slices, and when the
 * position has reached the end the next commit moves it on.  So there is
 * neither gap nor duplicate, whether it replays or is live.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "store.h"

struct sub {
	TAILQ_ENTRY(sub)	 entry;		/* of the session */
	TAILQ_ENTRY(sub)	 all;
	struct asker		 a;
	struct sandbox		*sb;		/* NULL: all that it may see */
	uint64_t		 next;		/* its sequence, or the host's */
	uint64_t		 credit;
	int			 follow;
	int			 full;		/* a slice is used up */
	int			 done;
	uint64_t		 left;		/* of this slice */
	struct event		 turn;		/* of the next slice */
	struct event		 slow;
};

static TAILQ_HEAD(, sub)	 subs = TAILQ_HEAD_INITIALIZER(subs);

static void	sub_pump(struct sub *);

static void
sub_free(struct sub *s)
{
	struct session	*se;

	timer_del(&s->turn);
	timer_del(&s->slow);
	TAILQ_REMOVE(&subs, s, all);
	if ((se = session_find(s->a.session)) != NULL)
		TAILQ_REMOVE(&se->subs, s, entry);
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

static void
sub_send(struct sub *s, const struct record *r)
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
	answer(&s->a, PROTO_EVENT, &m);
	kvv_clear(&m.detail);
}

static int
sub_one(void *arg, const struct record *r)
{
	struct sub	*s = arg;
	int		 mine;

	/* What is appended but not committed is nobody's business. */
	if (r->seq > st.log.done_seq)
		return (1);
	if (s->left == 0) {
		s->full = 1;
		return (1);
	}
	/* One that was collected is a number only. */
	if (r->type == EV_NONE) {
		s->left--;
		s->next = r->seq + 1;
		return (0);
	}
	mine = s->sb != NULL || s->a.all ||
	    (r->sbx != 0 && r->owner == s->a.uid);
	if (mine) {
		if (s->credit == 0)
			return (1);
		s->credit--;
		sub_send(s, r);
	}
	s->left--;
	s->next = (s->sb != NULL ? r->sseq : r->seq) + 1;
	return (0);
}

static int
sub_read(struct sub *s)
{
	s->full = 0;
	s->left = STORE_SLICE;
	if (s->sb != NULL)
		return (eventlog_read_sandbox(&st.log, s->sb->r.n, s->next,
		    sub_one, s));
	return (eventlog_read(&st.log, s->next, sub_one, s));
}

/* Is there anything behind its position? */
static int
sub_behind(struct sub *s)
{
	return (s->sb != NULL ? s->next <= s->sb->sseq :
	    s->next <= st.log.done_seq);
}

static void
sub_pump(struct sub *s)
{
	if (sub_behind(s) && s->credit > 0 && sub_read(s) == -1) {
		log_warnx("%s", st.db.why);
		answer_error(&s->a, CODE_INTERNAL, NULL, "%s", st.db.why);
		sub_free(s);
		return;
	}
	if (s->full && s->credit > 0) {
		timer_set(&s->turn, sub_turn, s, 0);
		return;
	}
	if (!sub_behind(s)) {
		timer_del(&s->slow);
		if (!s->follow) {
			answer_end(&s->a);
			sub_free(s);
		}
		return;
	}
	/* There is more and nobody takes it. */
	if (s->credit == 0 && (!event_initialized(&s->slow) ||
	    !evtimer_pending(&s->slow, NULL)))
		timer_set(&s->slow, sub_slow, s, STORE_SLOW);
}

/* After each commit. */
void
events_committed(struct batch *b)
{
	struct sub	*s, *next;

	(void)b;
	for (s = TAILQ_FIRST(&subs); s != NULL; s = next) {
		next = TAILQ_NEXT(s, all);
		if (event_initialized(&s->turn) &&
		    evtimer_pending(&s->turn, NULL))
			continue;
		if (s->credit > 0 || !sub_behind(s))
			sub_pump(s);
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

int
events_recv_events(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_events	*m = msg;
	struct sandbox		*sb = NULL;
	struct session		*se;
	struct asker		 a;
	struct sub		*s;
	uint64_t		 last;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	if (m->sandbox != NULL && m->sandbox[0] != '\0' &&
	    (sb = request_sandbox(&a, m->sandbox, NULL)) == NULL)
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
	if ((s = calloc(1, sizeof(*s))) == NULL)
		fatal("%s", __func__);
	s->a = a;
	s->sb = sb;
	s->next = m->from == 0 ? 1 : m->from;
	s->credit = m->credit == 0 ? STORE_CREDIT : m->credit;
	s->follow = m->follow;
	TAILQ_INSERT_TAIL(&subs, s, all);
	TAILQ_INSERT_TAIL(&se->subs, s, entry);
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
	TAILQ_FOREACH(s, &se->subs, entry) {
		if (s->a.req != f->req)
			continue;
		if (m->n == 0)
			break;
		s->credit += m->n;
		timer_del(&s->slow);
		if (!event_initialized(&s->turn) ||
		    !evtimer_pending(&s->turn, NULL))
			sub_pump(s);
		break;
	}
	return (0);
}

struct verify {
	struct asker		 a;
	struct eventlog_verify	 v;
	struct event		 turn;
};

static void
verify_turn(int fd, short event, void *arg)
{
	struct verify		*q = arg;
	struct proto_verify	 m;
	size_t			 i;
	int			 ret;

	(void)fd;
	(void)event;
	/* Nobody waits for it any more. */
	if (session_find(q->a.session) == NULL) {
		free(q);
		return;
	}
	ret = eventlog_verify_slice(&st.log, &q->v, STORE_SLICE);
	if (ret == 1) {
		timer_set(&q->turn, verify_turn, q, 0);
		return;
	}
	if (ret == -1) {
		log_warnx("event log: %s", q->v.why);
		answer_error(&q->a, CODE_INTERNAL, NULL, "event log: %s",
		    q->v.why);
		free(q);
		return;
	}
	memset(&m, 0, sizeof(m));
	m.events = q->v.events;
	m.skeletons = q->v.skeletons;
	m.anchor = q->v.anchor;
	for (i = 0; i < sizeof(q->v.link); i++)
		snprintf(m.head + 2 * i, 3, "%02x", q->v.link[i]);
	answer(&q->a, PROTO_VERIFY, &m);
	answer_end(&q->a);
	free(q);
}

int
events_recv_verify(struct chan *ch, struct frame *f, void *msg)
{
	struct verify	*q;
	struct asker	 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	if (a.uid != 0) {
		answer_error(&a, CODE_PERMISSION_DENIED, NULL,
		    "only root may do this");
		return (0);
	}
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->a = a;
	eventlog_verify_start(&st.log, &q->v);
	timer_set(&q->turn, verify_turn, q, 0);
	return (0);
}
