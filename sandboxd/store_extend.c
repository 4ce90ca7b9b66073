/*
 * EXTEND: more time for a sandbox, or another time without work after which
 * it is stopped.
 *
 * The end of a lifetime only ever moves to a later time: of two clients that
 * need the same sandbox neither can take from the other what it has asked
 * for.  Who wants less deletes it.
 */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"

#define MS		1000000ULL	/* ns */

struct extend {
	struct asker	 a;
	struct sandbox	*sb;
	uint64_t	 time;		/* as asked */
	uint64_t	 idle;
	enum code	 code;
	char		 text[TEXT_MAX + 1];
};

/* What the limit leaves it from now on, in ms. */
static uint64_t
extend_most(const struct sandbox *sb, uint64_t now)
{
	uint64_t	 born = sb->t.born, end;

	/* A version without times has made it: by the wall clock, then. */
	if (born == 0)
		born = sb->r.created < now ? sb->r.created : now;
	end = born + st.conf.max_lifetime * MS;
	return (end > now ? (end - now) / MS : 0);
}

/* The end of its lifetime as it is to be; 0: none. */
static int
extend_until(struct extend *q, uint64_t *until)
{
	const struct time_row	*t = &q->sb->t;
	uint64_t		 now = times_now(), time = q->time, most;
	char			 a[32], b[32];

	*until = t->until;
	if (t->until == 0 || (time == 0 && q->idle != 0))
		return (0);
	if (time == 0)
		time = t->lifetime;
	if (st.conf.max_lifetime != 0) {
		most = extend_most(q->sb, now);
		if (q->time == 0 && time > most)
			time = most;
		if (time > most) {
			q->code = CODE_LIMIT_EXCEEDED;
			snprintf(q->text, sizeof(q->text), "lifetime: limit "
			    "%s, which leaves it %s at most",
			    times_text(st.conf.max_lifetime, a, sizeof(a)),
			    times_text(most > 1000 ? most - most % 1000 :
			    most, b, sizeof(b)));
			return (-1);
		}
	}
	if (time == SBX_TIME_NONE)
		*until = 0;
	else if (now + time * MS > t->until)
		*until = now + time * MS;
	return (0);
}

static int
body_extend(struct batch *b, void *arg)
{
	struct extend	*q = arg;
	struct sandbox	*sb = q->sb;
	struct kvv	 d = { 0 };
	uint64_t	 until, idle = sb->t.idle;

	q->code = CODE_OK;
	if (sb->r.state == SBX_DELETING || sb->r.state == SBX_DELETED) {
		q->code = CODE_WRONG_STATE;
		return (BATCH_REFUSED);
	}
	if (extend_until(q, &until) == -1)
		return (BATCH_REFUSED);
	if (q->idle != 0)
		idle = q->idle == SBX_TIME_NONE ? 0 : q->idle;
	/* It has as much already. */
	if (until == sb->t.until && idle == sb->t.idle)
		return (BATCH_REFUSED);
	batch_keep(b, &sb->t, sizeof(sb->t));
	if (until != sb->t.until) {
		if (until == 0)
			detail_str(&d, "left", "none");
		else
			detail_num(&d, "left", (until - times_now()) / MS);
	}
	if (idle != sb->t.idle)
		detail_num(&d, "idle", idle);
	sb->t.until = until;
	sb->t.idle = idle;
	detail_str(&d, "rule", q->a.by);
	if (store_event(b, sb, EV_SBX_EXTEND, q->a.uid, 0, &d) != BATCH_OK)
		return (BATCH_FAIL);
	return (model_put_times(b, sb));
}

static void
done_extend(void *arg, int result)
{
	struct extend	*q = arg;
	struct sandbox	*sb = q->sb;

	if (result == BATCH_REFUSED && q->code == CODE_WRONG_STATE)
		answer_error(&q->a, q->code, NULL, "%s is %s", sb->r.id,
		    lifecycle_name(sb->r.state));
	else if (result == BATCH_REFUSED && q->code != CODE_OK) {
		audit_refused(q->a.uid, "extend", sb->r.id, q->code, q->text,
		    0);
		answer_error(&q->a, q->code, NULL, "%s", q->text);
	} else if (result != BATCH_OK && result != BATCH_REFUSED)
		answer_failed(&q->a, result);
	else {
		fault("store.extend.accepted");
		times_update(sb);
		answer_sandbox(&q->a, sb);
		answer_end(&q->a);
	}
	free(q);
}

int
extend_recv_extend(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_extend	*m = msg;
	struct sandbox		*sb;
	struct extend		*q;
	struct asker		 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    (sb = request_sandbox(&a, m->id, NULL)) == NULL ||
	    rights_check(&a, RIGHT_STOP, sb) == -1 ||
	    request_space(&a) == -1)
		return (0);
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->a = a;
	q->sb = sb;
	q->time = m->time;
	q->idle = m->idle;
	batch_gating(&st.batch, body_extend, done_extend, q);
	return (0);
}
