/*
 * Who is told what a batch has appended: an event is encoded once for all who
 * want it, and costs nothing for who waits for something else.  Those who are
 * live stand under what they wait for, those with labels under the first of
 * them.
 */
#include <sys/types.h>
#include <sys/queue.h>

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "store_sub.h"

#define EVERYBODY	UINT64_MAX

TAILQ_HEAD(sub_list, sub);

/* Those that wait for the same; those of a label by a hash of it and whose. */
struct audience {
	RB_ENTRY(audience)	 entry;
	enum { OF_SANDBOX, OF_USER, OF_ALL, OF_LABEL } of;
	uint64_t		 which;
	struct sub_list		 subs;
};
RB_HEAD(audience_tree, audience);

/* An event of the batch that runs, as long as somebody may want it. */
struct fresh {
	TAILQ_ENTRY(fresh)	 entry;
	struct record		 r;
	uint8_t			 details[];
};

static int	audience_cmp(struct audience *, struct audience *);

RB_PROTOTYPE(audience_tree, audience, entry, audience_cmp)
RB_GENERATE(audience_tree, audience, entry, audience_cmp)

static struct audience_tree	 audiences = RB_INITIALIZER(&audiences);
static TAILQ_HEAD(, fresh)	 news = TAILQ_HEAD_INITIALIZER(news);
static u_int			 nlabelled;	/* live, by a label */

static int
audience_cmp(struct audience *a, struct audience *b)
{
	if (a->of != b->of)
		return (a->of < b->of ? -1 : 1);
	return (a->which < b->which ? -1 : a->which > b->which);
}

/* From here on it gets what is appended; all before it has had. */
void
sub_live(struct sub *s)
{
	struct audience	 key, *au;

	if (s->sb != NULL) {
		key.of = OF_SANDBOX;
		key.which = s->sb->r.n;
	} else if (s->f.labels.n > 0) {
		key.of = OF_LABEL;
		key.which = filter_hash(s->every ? EVERYBODY : s->a.uid,
		    s->f.labels.v[0].k, s->f.labels.v[0].v);
		nlabelled++;
	} else {
		key.of = s->every ? OF_ALL : OF_USER;
		key.which = s->every ? 0 : s->a.uid;
	}
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
void
sub_behind(struct sub *s)
{
	if (s->live == NULL)
		return;
	TAILQ_REMOVE(&s->live->subs, s, live_entry);
	nlabelled -= s->live->of == OF_LABEL;
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

/* It is over. */
void
sub_leave(struct sub *s)
{
	struct audience	*au = s->live;

	sub_behind(s);
	audience_put(au);
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

/* An event that is told: made ready once for all who want it. */
struct telling {
	const struct record	*r;
	msgpack_sbuffer		 buf;
	const struct kvv	*labels;
	int			 looked;
};

static const struct kvv *
telling_labels(struct telling *t)
{
	if (!t->looked)
		t->labels = filter_labels_of(t->r->sbx);
	t->looked = 1;
	return (t->labels);
}

/* 0: it has to wait, and is live no more. */
static int
sub_tell(struct sub *s, struct telling *t)
{
	if (!filter_type(&s->f, t->r) || (s->f.labels.n > 0 &&
	    !filter_labels(&s->f.labels, telling_labels(t))))
		return (1);
	if (s->credit == 0 || pipe_full(&st.frontend)) {
		/* All between its position and this one was not for it. */
		s->next = sub_place(s, t->r);
		sub_behind(s);
		if (s->credit == 0)
			sub_block(s);
		else
			sub_pump(s);
		return (0);
	}
	if (t->buf.size == 0)
		event_encode(&t->buf, t->r, 0);
	sub_send(s, t->r, &t->buf);
	return (1);
}

/* To all that are live there, and have credit. */
static void
events_tell(int of, uint64_t which, struct telling *t)
{
	const struct record	*r = t->r;
	struct audience		 key, *au;
	struct sub		*s, *next;

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
		/* It may stand under two labels that hash alike. */
		if (s->next > sub_place(s, r) || !sub_tell(s, t))
			continue;
		if (s->end && r->state == SBX_DELETED) {
			sub_behind(s);
			answer_end(&s->a);
			sub_free(s);
		}
	}
	audience_put(au);
}

/* Those who named one of its labels first, with its value or without. */
static void
events_tell_labels(struct telling *t)
{
	const struct kvv	*labels;
	const uint64_t		 whose[2] = { EVERYBODY, t->r->owner };
	size_t			 i, k;

	if (nlabelled == 0 || (labels = telling_labels(t)) == NULL)
		return;
	for (i = 0; i < labels->n; i++)
		for (k = 0; k < 2; k++) {
			events_tell(OF_LABEL, filter_hash(whose[k],
			    labels->v[i].k, ""), t);
			if (labels->v[i].v[0] != '\0')
				events_tell(OF_LABEL, filter_hash(whose[k],
				    labels->v[i].k, labels->v[i].v), t);
		}
}

/* After each commit. */
void
events_committed(struct batch *b)
{
	struct fresh	*n;
	struct telling	 t;

	(void)b;
	while ((n = TAILQ_FIRST(&news)) != NULL) {
		TAILQ_REMOVE(&news, n, entry);
		memset(&t, 0, sizeof(t));
		t.r = &n->r;
		if (n->r.sbx != 0) {
			events_tell(OF_SANDBOX, n->r.sbx, &t);
			events_tell(OF_USER, n->r.owner, &t);
			events_tell_labels(&t);
		}
		events_tell(OF_ALL, 0, &t);
		msgpack_sbuffer_destroy(&t.buf);
		free(n);
	}
}
