/*
 * Subscriptions to the log.
 *
 * A subscription is a position in the log.  Behind the newest event it is
 * read from the database, in slices, as far as the client's credit goes; at
 * the newest it is live and gets what each batch appends from memory: see
 * store_tell.c.  So there is neither gap nor duplicate, and those without
 * credit are not looked at until they have some.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "store_sub.h"

static TAILQ_HEAD(, sub)	 subs = TAILQ_HEAD_INITIALIZER(subs);
static u_int			 nsubs, nheld;

u_int
events_subs(void)
{
	return (nsubs);
}

void
sub_free(struct sub *s)
{
	struct session	*se;

	timer_del(&s->turn);
	timer_del(&s->slow);
	timer_del(&s->heart);
	filter_clear(&s->f);
	nheld -= s->held;
	sub_leave(s);
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
void
event_encode(msgpack_sbuffer *buf, const struct record *r, int replayed)
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
	m.replayed = replayed;
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

static uint64_t
sub_now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/* The number of an event in what the subscription counts by. */
uint64_t
sub_place(const struct sub *s, const struct record *r)
{
	return (s->sb != NULL ? r->sseq : r->seq);
}

/* Nothing was sent for so long: up to where that is the whole truth. */
static void
sub_beat(int fd, short event, void *arg)
{
	struct sub		*s = arg;
	struct proto_heartbeat	 m;
	uint64_t		 now = sub_now();

	(void)fd;
	(void)event;
	if (now - s->last >= s->beat) {
		if (s->live == NULL)
			m.seq = s->next - 1;
		else
			m.seq = s->sb != NULL ? s->sb->sseq : st.log.done_seq;
		m.time = store_now();
		answer(&s->a, PROTO_HEARTBEAT, &m);
		s->last = now;
	}
	timer_set(&s->heart, sub_beat, s, s->beat - (now - s->last));
}

/* Where it wants to begin, or is, there is nothing any more. */
static void
sub_collected(const struct asker *a, uint64_t from)
{
	answer_error(a, CODE_NOT_FOUND, "from", "invalid from: %llu: collected "
	    "already: the oldest is %llu", (unsigned long long)from,
	    (unsigned long long)st.log.done_anchor + 1);
}

/* Its position moves on, and the event goes out. */
void
sub_send(struct sub *s, const struct record *r, const msgpack_sbuffer *buf)
{
	s->credit--;
	s->next = sub_place(s, r) + 1;
	if (s->beat != 0)
		s->last = sub_now();
	if (chan_send(&st.frontend, PROTO_EVENT, 0, s->a.session, s->a.req,
	    -1, buf->data, buf->size) == -1)
		fatal("%s: to %s", __func__, st.frontend.peer);
}

/* There is one for it, and it has to ask for more first. */
void
sub_block(struct sub *s)
{
	uint64_t	 ms = STORE_SLOW;
#ifdef FAULTS
	const char	*v;

	if ((v = getenv("SANDBOXD_SLOW")) != NULL)
		ms = atoi(v);
#endif

	s->blocked = 1;
	if (!event_initialized(&s->slow) || !evtimer_pending(&s->slow, NULL))
		timer_set(&s->slow, sub_slow, s, ms);
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
int
sub_over(const struct sub *s, enum sbx_state state)
{
	return ((s->states & 1U << state) != 0 ||
	    (s->states & lifecycle_reach(state)) == 0);
}

/* Its sandbox is in that state: 1 if it is answered, and gone. */
int
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
	if (!filter_type(&s->f, r) || (s->f.labels.n > 0 &&
	    !filter_labels(&s->f.labels, filter_labels_of(r->sbx)))) {
		s->next = sub_place(s, r) + 1;
		return (0);
	}
	if (s->credit == 0) {
		sub_block(s);
		return (1);
	}
	msgpack_sbuffer_init(&buf);
	event_encode(&buf, r, r->seq <= s->began);
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
void
sub_pump(struct sub *s)
{
	if (s->blocked || s->held || s->live != NULL)
		return;
	/* Credit is a client's word, and what waits here is our memory. */
	if (pipe_full(&st.frontend)) {
		s->held = 1;
		nheld++;
		return;
	}
	if (s->sb != NULL && s->sb->collecting) {
		answer_error(&s->a, CODE_NOT_FOUND, NULL,
		    "%s: its history is being collected", s->sb->r.id);
		sub_free(s);
	} else if (sub_read(s) == -1) {
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
	else if (s->follow && !(s->end && s->sb->r.state == SBX_DELETED))
		sub_live(s);
	else {
		answer_end(&s->a);
		sub_free(s);
	}
}

/* The frontend has taken all that there was. */
void
events_drained(void)
{
	struct sub	*s;

	if (nheld == 0 || pipe_full(&st.frontend))
		return;
	TAILQ_FOREACH(s, &subs, all)
		if (s->held) {
			s->held = 0;
			timer_set(&s->turn, sub_turn, s, 0);
		}
	nheld = 0;
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
		/* Who is live has had all of it. */
		if (s->live != NULL && s->states == 0)
			answer_end(&s->a);
		else
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

/* The first number that it gets: 0, or -1 if it cannot be had. */
static int
events_from(const struct asker *a, struct proto_events *m,
    const struct sandbox *sb)
{
	uint64_t	 last = sb != NULL ? sb->sseq : st.log.done_seq;

	/*
	 * Whoever asks for what follows an event that this log never had has
	 * met another log, and would wait in silence.
	 */
	if (m->from > last + 1) {
		answer_error(a, CODE_INVALID_ARGUMENT, "from", "invalid from: "
		    "%llu: the newest is %llu", (unsigned long long)m->from,
		    (unsigned long long)last);
		return (-1);
	}
	if (m->from == 0)
		m->from = m->snapshot ? last + 1 : 1;
	else if (sb == NULL && m->from <= st.log.done_anchor) {
		if (!m->oldest) {
			sub_collected(a, m->from);
			return (-1);
		}
		m->from = st.log.done_anchor + 1;
	}
	return (0);
}

int
events_recv_events(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_events	*m = msg;
	struct sandbox		*sb = NULL;
	struct session		*se;
	struct asker		 a;
	struct sub		*s;
	struct filter		 want;
	const char		*bad;
	char			 text[TEXT_MAX + 1];

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
	if (events_from(&a, m, sb) == -1)
		return (0);
	if ((bad = filter_set(&want, m)) != NULL) {
		answer_error(&a, CODE_INVALID_ARGUMENT, bad == m->type ? "type" :
		    "types", "invalid type: %s: no such events", bad);
		return (0);
	}
	if (quota_subscribe(&a, text, sizeof(text)) == -1) {
		filter_clear(&want);
		audit_refused(a.uid, "events", "", CODE_LIMIT_EXCEEDED, text,
		    0);
		answer_error(&a, CODE_LIMIT_EXCEEDED, NULL, "%s", text);
		return (0);
	}
	if (sb == NULL && a.others & 1U << RIGHT_EVENTS)
		rights_by_others(&a, RIGHT_EVENTS);
	audit_allowed(&a, "events", sb);
	if (m->snapshot)
		answer_sandbox(&a, sb);
	s = sub_new(&a, se, sb, m->from);
	s->f = want;
	s->credit = m->credit == 0 ? STORE_CREDIT : m->credit;
	/* Without a sandbox it is about the own ones, or everything. */
	s->every = (a.others & 1U << RIGHT_EVENTS) != 0;
	s->follow = m->follow;
	s->end = m->end;
	s->began = st.log.done_seq;
	if ((s->beat = m->heartbeat) != 0) {
		s->last = sub_now();
		timer_set(&s->heart, sub_beat, s, s->beat);
	}
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
	rights_seen(&a, sb);
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
		if (s->blocked && s->sb == NULL &&
		    s->next <= st.log.done_anchor) {
			sub_collected(&s->a, s->next);
			sub_free(s);
			break;
		}
		s->blocked = 0;
		if (!event_initialized(&s->turn) ||
		    !evtimer_pending(&s->turn, NULL))
			sub_pump(s);
		break;
	}
	return (0);
}
