/*
 * UPDATE: other labels, times and limits for a sandbox that there is.
 *
 * Labels and times are ours, and changed by one event.  Limits are the
 * Engine's: what is asked for is in the log before the Engine hears of it, in
 * a row of its own until it is done or undone, and all of the request takes
 * effect then or none of it.  Whatever comes in between, another operation, a
 * death or our own, the row stands, and it is taken up again after that.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"

#define MS		1000000ULL	/* ns */
#define LABELS_TOLD	16		/* in an event, of each kind */

/* What comes of an update: the row as it is to be, beside the one before. */
struct renewed {
	struct proto_create	*conf;
	struct proto_create	*old;
	struct time_row		 t;
};

struct update {
	struct asker		 a;
	struct sandbox		*sb;
	struct sbx_update	 u;
	uint32_t		 wait;
	int			 joined;	/* it is under way */
	int			 vain;		/* it is so already */
	struct sbx_update	*pending;	/* it is for the broker */
	struct renewed		 r;
	struct refusal		 no;
};

static void
conf_free(struct proto_create *c)
{
	if (c == NULL)
		return;
	msg_clear(c, proto_def(PROTO_CREATE));
	free(c);
}

/* The limits that its container may have while that is under way. */
void
update_most(const struct sandbox *sb, struct limits *l)
{
	const struct sbx_update	*u = sb->update;

	memset(l, 0, sizeof(*l));
	if (sb->conf == NULL)
		return;
	l->memory = sb->conf->memory;
	l->mcpus = sb->conf->mcpus;
	l->pids = sb->conf->pids;
	if (u == NULL)
		return;
	if (u->memory > l->memory)
		l->memory = u->memory;
	if (u->mcpus > l->mcpus)
		l->mcpus = u->mcpus;
	if (u->pids > l->pids)
		l->pids = u->pids;
}

/* Those that the operation under way asks for. */
void
update_wanted(const struct sandbox *sb, struct limits *l)
{
	l->memory = sb->conf->memory;
	l->mcpus = sb->conf->mcpus;
	l->pids = sb->conf->pids;
	if (sb->update == NULL || sb->op.kind != OP_UPDATE)
		return;
	l->memory = sb->update->memory;
	l->mcpus = sb->update->mcpus;
	l->pids = sb->update->pids;
}

static int
labels_same(const struct kvv *a, const struct kvv *b)
{
	const char	*v;
	size_t		 i;

	if (a->n != b->n)
		return (0);
	for (i = 0; i < a->n; i++)
		if ((v = kvv_get(b, a->v[i].k)) == NULL ||
		    strcmp(v, a->v[i].v) != 0)
			return (0);
	return (1);
}

/* The same request, which comes again to whoever has lost its answer. */
static int
update_same(const struct sbx_update *a, const struct sbx_update *b)
{
	size_t	 i;

	if (a->memory != b->memory || a->mcpus != b->mcpus ||
	    a->pids != b->pids || a->lifetime != b->lifetime ||
	    a->idle != b->idle || a->keep != b->keep ||
	    a->unlabel.n != b->unlabel.n || !labels_same(&a->labels,
	    &b->labels))
		return (0);
	for (i = 0; i < a->unlabel.n; i++)
		if (strcmp(a->unlabel.v[i], b->unlabel.v[i]) != 0)
			return (0);
	return (1);
}

static int
renew_labels(struct update *q, struct proto_create *c)
{
	const struct sbx_update	*u = &q->u;
	size_t			 i, j, n = 0;

	for (i = 0; i < c->labels.n; i++) {
		for (j = 0; j < u->unlabel.n; j++)
			if (strcmp(c->labels.v[i].k, u->unlabel.v[j]) == 0)
				break;
		if (j == u->unlabel.n) {
			c->labels.v[n++] = c->labels.v[i];
			continue;
		}
		free(c->labels.v[i].k);
		free(c->labels.v[i].v);
	}
	c->labels.n = n;
	for (i = 0; i < u->labels.n; i++)
		if (kvv_set(&c->labels, u->labels.v[i].k,
		    u->labels.v[i].v) == -1)
			fatal("%s", __func__);
	if (c->labels.n > SBX_LABELS_MAX)
		return (refuse(&q->no, CODE_LIMIT_EXCEEDED, "labels",
		    "labels: %zu: the limit is %d", c->labels.n,
		    SBX_LABELS_MAX));
	return (0);
}

/* From its creation on, as if it had been made with it. */
static int
renew_lifetime(struct update *q, struct time_row *t)
{
	uint64_t	 time = q->u.lifetime, max = st.conf.max_lifetime;
	uint64_t	 now = times_now(), born = t->born;
	char		 a[32], b[32];

	if (time == 0)
		return (0);
	if (max != 0 && time > max)
		return (refuse(&q->no, CODE_LIMIT_EXCEEDED, "lifetime",
		    "lifetime: %s: the limit is %s", time == SBX_TIME_NONE ?
		    "none" : times_text(time, a, sizeof(a)),
		    times_text(max, b, sizeof(b))));
	if (time == SBX_TIME_NONE) {
		t->lifetime = t->until = 0;
		return (0);
	}
	/* A version without times has made it: by the wall clock, then. */
	if (born == 0)
		born = q->sb->r.created < now ? q->sb->r.created : now;
	if (born + time * MS <= now)
		return (refuse(&q->no, CODE_INVALID_ARGUMENT, "lifetime",
		    "lifetime: %s: it is older than that",
		    times_text(time, a, sizeof(a))));
	t->lifetime = time;
	t->until = born + time * MS;
	return (0);
}

static int
renew_keep(struct update *q, struct time_row *t)
{
	uint64_t	 keep = q->u.keep;

	if (keep == 0)
		return (0);
	if (limits_keep(keep, &q->no) != 0)
		return (BATCH_REFUSED);
	t->keep = keep == SBX_TIME_NONE ? 0 : keep;
	return (0);
}

static void
renew_clear(struct renewed *r)
{
	conf_free(r->conf);
	memset(r, 0, sizeof(*r));
}

/* The rows as they are to be; BATCH_REFUSED and why not. */
static int
renew(struct update *q, int limits)
{
	const struct sbx_update	*u = &q->u;
	struct renewed		*r = &q->r;

	renew_clear(r);
	if ((r->conf = calloc(1, sizeof(*r->conf))) == NULL ||
	    msg_copy(r->conf, q->sb->conf, proto_def(PROTO_CREATE)) == -1)
		fatal("%s", __func__);
	r->t = q->sb->t;
	if (renew_labels(q, r->conf) != 0 ||
	    renew_lifetime(q, &r->t) != 0 || renew_keep(q, &r->t) != 0)
		return (BATCH_REFUSED);
	if (u->idle != 0)
		r->t.idle = u->idle == SBX_TIME_NONE ? 0 : u->idle;
	if (limits) {
		r->conf->memory = u->memory;
		r->conf->mcpus = u->mcpus;
		r->conf->pids = u->pids;
	}
	return (0);
}

/* With what is new: labels that were there already are told as well. */
static void
detail_renewed(struct kvv *d, const struct sandbox *sb,
    const struct sbx_update *u, const struct renewed *r)
{
	const struct proto_create	*c = r->conf;
	char				 key[SBX_LABEL_KEY_MAX + 16];
	const char			*old;
	size_t				 i;

	if (c->memory != sb->conf->memory)
		detail_num(d, "memory", c->memory);
	if (c->mcpus != sb->conf->mcpus)
		detail_num(d, "mcpus", c->mcpus);
	if (c->pids != sb->conf->pids)
		detail_num(d, "pids", c->pids);
	if (u->lifetime != 0)
		detail_num(d, "lifetime", r->t.lifetime);
	if (u->idle != 0)
		detail_num(d, "idle", r->t.idle);
	if (u->keep != 0)
		detail_num(d, "keep", r->t.keep);
	for (i = 0; i < u->labels.n && i < LABELS_TOLD; i++) {
		snprintf(key, sizeof(key), "label.%s", u->labels.v[i].k);
		detail_str(d, key, u->labels.v[i].v);
	}
	for (i = 0; i < u->unlabel.n && i < LABELS_TOLD; i++) {
		old = kvv_get(&sb->conf->labels, u->unlabel.v[i]);
		if (old == NULL)
			continue;
		snprintf(key, sizeof(key), "unlabel.%s", u->unlabel.v[i]);
		detail_str(d, key, old);
	}
}

/* Puts them in the place of those before, which live until the commit. */
static int
renew_install(struct batch *b, struct sandbox *sb, struct renewed *r)
{
	r->old = sb->conf;
	batch_keep(b, &sb->conf, sizeof(sb->conf));
	batch_keep(b, &sb->t, sizeof(sb->t));
	sb->conf = r->conf;
	sb->t = r->t;
	if (model_put_conf(b, sb) != BATCH_OK ||
	    model_put_times(b, sb) != BATCH_OK)
		return (BATCH_FAIL);
	return (BATCH_OK);
}

/* It is committed, or has not been. */
static void
renew_done(struct renewed *r, int result)
{
	if (result == BATCH_OK && r->old != NULL)
		conf_free(r->old);
	else
		conf_free(r->conf);
	memset(r, 0, sizeof(*r));
}

/* Does it ask for limits that it does not have? */
static int
update_limits(struct update *q)
{
	const struct proto_create	*c = q->sb->conf;
	struct sbx_update		*u = &q->u;

	if (u->memory == 0)
		u->memory = c->memory;
	if (u->mcpus == 0)
		u->mcpus = c->mcpus;
	if (u->pids == 0)
		u->pids = c->pids;
	return (u->memory != c->memory || u->mcpus != c->mcpus ||
	    u->pids != c->pids);
}

static int
update_judge(struct update *q, int limits)
{
	struct sandbox	*sb = q->sb;
	struct limits	 l = { q->u.memory, q->u.mcpus, q->u.pids };
	char		 text[TEXT_MAX + 1];

	if (sb->r.state == SBX_DELETING || sb->r.state == SBX_DELETED ||
	    sb->conf == NULL || (limits && lifecycle_next(sb->r.state,
	    VERB_UPDATE) == SBX_NONE))
		return (refuse(&q->no, CODE_WRONG_STATE, NULL,
		    "%s: cannot update while it is %s", sb->r.id,
		    lifecycle_name(sb->r.state)));
	if (sb->update != NULL && limits &&
	    update_same(sb->update, &q->u)) {
		q->joined = 1;
		return (BATCH_REFUSED);
	}
	if (sb->update != NULL)
		return (refuse(&q->no, CODE_CONFLICT, NULL,
		    "%s: another update is under way", sb->r.id));
	if (!limits)
		return (0);
	if (limits_check(&q->a, sb->conf, &l, &q->no) != 0 ||
	    limits_tmpfs(sb->conf->tmpfs, l.memory, "memory", &q->no) != 0)
		return (BATCH_REFUSED);
	if (quota_more(&q->a, sb, &l, text, sizeof(text)) == -1)
		return (refuse(&q->no, CODE_LIMIT_EXCEEDED, NULL, "%s", text));
	return (0);
}

static int
update_accept(struct batch *b, struct update *q)
{
	struct sandbox		*sb = q->sb;
	struct sbx_update	*u;
	struct kvv		 d = { 0 };
	uint64_t		 op = sb->r.op;
	int			 ret;

	if ((u = calloc(1, sizeof(*u))) == NULL)
		fatal("%s", __func__);
	*u = q->u;
	memset(&u->labels, 0, sizeof(u->labels));
	memset(&u->unlabel, 0, sizeof(u->unlabel));
	if (kvv_copy(&u->labels, &q->u.labels) == -1 ||
	    strv_copy(&u->unlabel, &q->u.unlabel) == -1)
		fatal("%s", __func__);
	u->op = store_op();
	q->pending = u;
	batch_keep(b, &sb->update, sizeof(sb->update));
	sb->update = u;
	detail_num(&d, "memory", u->memory);
	detail_num(&d, "mcpus", u->mcpus);
	detail_num(&d, "pids", u->pids);
	detail_str(&d, "rule", q->a.by);
	/* What else happens to it is of the operation before. */
	sb->r.op = u->op;
	ret = store_event(b, sb, EV_SBX_UPDATE, q->a.uid, 0, &d);
	sb->r.op = op;
	if (ret != BATCH_OK)
		return (BATCH_FAIL);
	return (model_put_update(b, sb));
}

static int
body_update(struct batch *b, void *arg)
{
	struct update	*q = arg;
	struct sandbox	*sb = q->sb;
	struct kvv	 d = { 0 };
	int		 limits;

	update_free(q->pending);
	q->pending = NULL;
	q->no.code = CODE_OK;
	q->joined = q->vain = 0;
	limits = sb->conf != NULL && update_limits(q);
	if (update_judge(q, limits) != 0 || renew(q, limits) != 0)
		return (BATCH_REFUSED);
	if (limits && sb->r.container[0] != '\0')
		return (update_accept(b, q));
	q->vain = !limits && labels_same(&q->r.conf->labels,
	    &sb->conf->labels) && q->r.t.lifetime == sb->t.lifetime &&
	    q->r.t.until == sb->t.until && q->r.t.idle == sb->t.idle &&
	    q->r.t.keep == sb->t.keep;
	if (q->vain)
		return (BATCH_REFUSED);
	detail_renewed(&d, sb, &q->u, &q->r);
	detail_str(&d, "rule", q->a.by);
	if (store_event(b, sb, EV_SBX_UPDATED, q->a.uid, 0, &d) != BATCH_OK)
		return (BATCH_FAIL);
	return (renew_install(b, sb, &q->r));
}

static void
update_answer(struct update *q)
{
	struct sandbox	*sb = q->sb;
	int		 later = sb->update != NULL && !q->vain;

	times_update(sb);
	answer_accepted(&q->a, sb->r.id, later ? sb->update->op : sb->r.op,
	    lifecycle_name(sb->r.state));
	if (q->wait && later) {
		wait_add(&q->a, PROTO_UPDATE, &sb->waiters, NULL);
		update_again(sb);
		return;
	}
	if (q->wait)
		answer_sandbox(&q->a, sb);
	answer_end(&q->a);
	update_again(sb);
}

static void
done_update(void *arg, int result)
{
	struct update	*q = arg;

	if (q->pending != NULL) {
		renew_clear(&q->r);
		if (result != BATCH_OK)
			update_free(q->pending);
	} else
		renew_done(&q->r, result);
	if (result == BATCH_REFUSED && !q->joined && !q->vain)
		answer_refused(&q->a, "update", q->sb->r.id, &q->no);
	else if (result != BATCH_OK && result != BATCH_REFUSED)
		answer_failed(&q->a, result);
	else {
		if (q->pending != NULL)
			fault("store.update.accepted");
		update_answer(q);
	}
	kvv_clear(&q->u.labels);
	strv_clear(&q->u.unlabel);
	free(q);
}

int
update_recv_update(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_update	*m = msg;
	struct sandbox		*sb;
	struct update		*q;
	struct asker		 a;
	int			 limits = m->memory != 0 || m->mcpus != 0 ||
				    m->pids != 0;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    (limits && request_park(update_recv_update, f, m)) ||
	    (sb = request_sandbox(&a, m->id, NULL)) == NULL ||
	    (limits && sb->r.owner == a.uid &&
	    rights_check(&a, RIGHT_CREATE, NULL) == -1) ||
	    rights_check(&a, RIGHT_STOP, sb) == -1 ||
	    request_space(&a) == -1 ||
	    (limits && request_engine(&a) == -1))
		return (0);
	if (limits && sb->r.missing) {
		answer_error(&a, CODE_UNAVAILABLE, NULL, "%s: the Engine "
		    "does not have its container", sb->r.id);
		return (0);
	}
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->a = a;
	q->sb = sb;
	q->wait = m->wait;
	q->u.uid = a.uid;
	q->u.memory = m->memory;
	q->u.mcpus = m->mcpus;
	q->u.pids = m->pids;
	q->u.lifetime = m->lifetime;
	q->u.idle = m->idle;
	q->u.keep = m->keep;
	q->u.labels = m->labels;
	q->u.unlabel = m->unlabel;
	memset(&m->labels, 0, sizeof(m->labels));
	memset(&m->unlabel, 0, sizeof(m->unlabel));
	batch_gating(&st.batch, body_update, done_update, q);
	return (0);
}

/* One that is in the log and not done is taken up, if it can be now. */
void
update_again(struct sandbox *sb)
{
	if (sb->update != NULL && !sb->op.active && !sb->r.missing &&
	    lifecycle_next(sb->r.state, VERB_UPDATE) != SBX_NONE)
		op_start(sb, OP_UPDATE);
}

static void
update_forget(void *arg)
{
	update_free(arg);
}

/* It is over: with the sandbox, or by its own end. */
int
update_drop(struct batch *b, struct sandbox *sb)
{
	if (sb->update == NULL)
		return (BATCH_OK);
	batch_after(b, update_forget, sb->update);
	batch_keep(b, &sb->update, sizeof(sb->update));
	sb->update = NULL;
	return (model_del_update(b, sb));
}

/* The end, as a change of state has it: see store_change.c. */
struct ending {
	struct update	 q;		/* the asker apart */
	uint64_t	 op;		/* of the update */
	uint64_t	 number;	/* of the operation that ends it */
	enum code	 code;
	char		 cause[CAUSE_MAX + 1];
	int		 heard;
	struct msg_guest_hello	 guest;
	struct event	 retry;
};

/* What the guest reads now, or nothing until it can be asked. */
static void
ending_seen(struct ending *e)
{
	struct sandbox	*sb = e->q.sb;

	sb->r.memory_seen = e->heard ? e->guest.memory : 0;
	sb->r.mcpus_seen = e->heard ? e->guest.mcpus : 0;
	sb->r.pids_seen = e->heard ? e->guest.pids : 0;
}

static int
body_ended(struct batch *b, void *arg)
{
	struct ending	*e = arg;
	struct update	*q = &e->q;
	struct sandbox	*sb = q->sb;
	struct kvv	 d = { 0 };
	uint64_t	 op = sb->r.op;
	int		 ret;

	if (sb->update == NULL || sb->update->op != e->op)
		return (BATCH_REFUSED);
	q->u = *sb->update;
	/* The limits are so by now, whatever has become of times meanwhile. */
	if (e->code == CODE_OK && renew(q, 1) != 0) {
		strlcpy(e->cause, q->no.text, sizeof(e->cause));
		q->u.lifetime = q->u.keep = 0;
		if (renew(q, 1) != 0)
			fatalx("%s: %s", __func__, q->no.text);
	}
	if (e->code == CODE_OK)
		detail_renewed(&d, sb, &q->u, &q->r);
	else
		detail_str(&d, "code", code_name(e->code));
	if (e->cause[0] != '\0')
		detail_str(&d, "cause", e->cause);
	model_keep(b, sb);
	sb->r.op = e->op;
	ret = store_event(b, sb, EV_SBX_UPDATED, ACTOR_DAEMON, 0, &d);
	sb->r.op = op;
	if (ret != BATCH_OK || update_drop(b, sb) != BATCH_OK)
		return (BATCH_FAIL);
	if (e->code != CODE_OK)
		return (BATCH_OK);
	ending_seen(e);
	if (renew_install(b, sb, &q->r) != BATCH_OK ||
	    model_put_facts(b, sb) != BATCH_OK)
		return (BATCH_FAIL);
	return (model_put(b, sb));
}

static void	done_ended(void *, int);

static void
ended_again(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	batch_gating(&st.batch, body_ended, done_ended, arg);
}

static void
done_ended(void *arg, int result)
{
	struct ending	*e = arg;
	struct sandbox	*sb = e->q.sb;

	renew_done(&e->q.r, result);
	if (result == BATCH_NOSPACE || result == BATCH_UNAVAIL) {
		timer_set(&e->retry, ended_again, e, STORE_RETRY_MS);
		return;
	}
	if (result == BATCH_OK) {
		fault("store.updated.after");
		if (e->code != CODE_OK)
			log_warnx("sandbox %s (%llu): %s", sb->r.id,
			    (unsigned long long)sb->r.n, e->cause);
		op_updated(sb, e->number, e->code, e->cause);
	}
	free(e);
}

/* The Engine has done it, or said why not: the code is CODE_OK or not. */
void
update_end(struct sandbox *sb, enum code code, const char *cause)
{
	struct ending	*e;

	if ((e = calloc(1, sizeof(*e))) == NULL)
		fatal("%s", __func__);
	e->q.sb = sb;
	e->op = sb->update == NULL ? 0 : sb->update->op;
	e->number = sb->op.number;
	e->code = code;
	strlcpy(e->cause, cause, sizeof(e->cause));
	e->heard = sb->op.hello;
	e->guest = sb->op.guest;
	batch_gating(&st.batch, body_ended, done_ended, e);
}
