/*
 * What a comparison with the Engine leaves in doubt: sandboxes whose
 * containers are not there, and containers of no sandbox.
 *
 * An Engine that knows next to nothing of what it should have is another one,
 * or was set up anew, or is still being restored: then what is missing is
 * kept as it is, on the disk too, until it is there again or root says that
 * it is to be given up.  Otherwise a container that is not there was removed.
 *
 * A container that bears our mark and that the log does not know may be one
 * that a log of an older time has lost: nothing is done to it for a while.
 */
#include <sys/types.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "recover.h"
#include "store.h"

#define FEW		10	/* one in so many is next to nothing */
#define STRAYS_MAX	1024	/* looked at at a time */

struct stray {
	TAILQ_ENTRY(stray)	 entry;
	struct msg_box_state	 box;
	uint64_t		 due;	/* ms, monotonic: then it goes */
	int			 seen;	/* by this inventory */
	int			 fresh;	/* and by none before it */
};

static TAILQ_HEAD(, stray) strays = TAILQ_HEAD_INITIALIZER(strays);
static u_int		 nstrays;
static struct event	 stray_timer;
static int		 give_up;	/* what root has said */

static uint64_t
now_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ((uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/* Containers of no sandbox that are still left alone. */
uint64_t
recover_strays(void)
{
	return (nstrays);
}

struct missing {
	struct sandbox	*sb;
	int		 is;
};

static int
body_missing(struct batch *b, void *arg)
{
	struct missing	*q = arg;
	struct sandbox	*sb = q->sb;

	if ((sb->r.missing != 0) == q->is || sb->r.state == SBX_DELETED)
		return (BATCH_REFUSED);
	model_keep(b, sb);
	sb->r.missing = q->is ? store_now() : 0;
	if (store_event(b, sb, q->is ? EV_SBX_MISSING : EV_SBX_FOUND,
	    ACTOR_DAEMON, 0, NULL) != BATCH_OK)
		return (BATCH_FAIL);
	return (model_put(b, sb));
}

/* If it was not written the next inventory finds the same. */
static void
done_missing(void *arg, int result)
{
	struct missing	*q = arg;

	if (result == BATCH_OK)
		times_update(q->sb);
	free(q);
}

static void
missing_set(struct sandbox *sb, int is)
{
	struct missing	*q;

	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->sb = sb;
	q->is = is;
	batch_gating(&st.batch, body_missing, done_missing, q);
}

/*
 * Is the Engine that has answered the one that our sandboxes are at?  What is
 * missing already has been judged by an earlier answer.
 */
int
recover_strange(void)
{
	struct sandbox	*sb;
	uint64_t	 want = 0, there = 0;

	RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
		if (!reconcile_is_due(sb) || sb->r.missing ||
		    !reconcile_needs(sb))
			continue;
		want++;
		there += sb->named;
	}
	if (give_up || want == there || there * FEW >= want)
		return (0);
	log_warnx("the Engine has %" PRIu64 " of %" PRIu64 " containers that "
	    "should be there: is it another one?  Nothing is given up until "
	    "they are there again, or by 'sandboxctl reconcile -f'", there,
	    want);
	return (1);
}

/* 1: its container is not there, and that is left so. */
int
recover_keep(struct sandbox *sb, int strange)
{
	if (sb->named) {
		if (sb->r.missing)
			missing_set(sb, 0);
		return (0);
	}
	if (!reconcile_needs(sb) || give_up)
		return (0);
	if (sb->r.missing)
		return (1);
	if (strange)
		missing_set(sb, 1);
	return (strange);
}

static int
body_stray(struct batch *b, void *arg)
{
	struct stray	*s = arg;
	struct kvv	 d = { 0 };

	detail_str(&d, "container", s->box.container);
	if (s->box.id[0] != '\0')
		detail_str(&d, "sandbox", s->box.id);
	detail_num(&d, "number", s->box.n);
	if (store_event(b, NULL, s->due == 0 ? EV_STRAY_REMOVED :
	    EV_STRAY_FOUND, ACTOR_DAEMON, 0, &d) != BATCH_OK)
		return (BATCH_FAIL);
	/* Its number may have been given out by a log that is lost. */
	if (s->box.n <= st.model.last_n)
		return (BATCH_OK);
	batch_keep(b, &st.model.last_n, sizeof(st.model.last_n));
	st.model.last_n = s->box.n;
	return (model_put_last(b, &st.model));
}

static void
done_stray(void *arg, int result)
{
	(void)result;
	free(arg);
}

static void
stray_event(const struct stray *s, uint64_t due)
{
	struct stray	*copy;

	if ((copy = malloc(sizeof(*copy))) == NULL)
		fatal("%s", __func__);
	*copy = *s;
	copy->due = due;
	batch_gating(&st.batch, body_stray, done_stray, copy);
}

static void
stray_remove(const struct msg_box_state *m)
{
	struct msg_box_ref	 ref;
	struct stray		 s;

	log_warnx("container %.12s of no sandbox of ours: removed",
	    m->container);
	memset(&s, 0, sizeof(s));
	s.box = *m;
	stray_event(&s, 0);
	memset(&ref, 0, sizeof(ref));
	strlcpy(ref.container, m->container, sizeof(ref.container));
	strlcpy(ref.nonce, m->nonce, sizeof(ref.nonce));
	pipe_send(&st.broker, MSG_BOX_REMOVE, store_op(), 0, 0, -1, &ref);
}

/*
 * Does the log know that it is to go?  A number that it has given out and
 * does not have any more is one whose history has been collected.
 */
static int
stray_known(const struct sandbox *sb, const struct msg_box_state *m)
{
	if (sb == NULL)
		return (m->n != 0 && m->n <= st.model.last_n);
	return (strcmp(m->nonce, sb->r.nonce) == 0);
}

/* A container with our mark that belongs to no sandbox, or to one no more. */
void
recover_stray(const struct sandbox *sb, const struct msg_box_state *m)
{
	struct stray	*s;

	TAILQ_FOREACH(s, &strays, entry)
		if (strcmp(s->box.container, m->container) == 0) {
			s->seen = 1;
			return;
		}
	if (stray_known(sb, m) || st.conf.t_stray == 0) {
		stray_remove(m);
		return;
	}
	if (nstrays >= STRAYS_MAX)
		return;
	if ((s = calloc(1, sizeof(*s))) == NULL)
		fatal("%s", __func__);
	s->box = *m;
	s->seen = s->fresh = 1;
	s->due = now_ms() + st.conf.t_stray;
	TAILQ_INSERT_TAIL(&strays, s, entry);
	nstrays++;
	log_warnx("container %.12s of no sandbox of ours: it is removed in "
	    "%llu s", m->container,
	    (unsigned long long)st.conf.t_stray / 1000);
	stray_event(s, s->due);
}

static void
stray_drop(struct stray *s)
{
	TAILQ_REMOVE(&strays, s, entry);
	nstrays--;
	free(s);
}

/*
 * How many ms it stays, 0: it goes.  No inventory removes what it has found
 * itself, however long it took: what it has been told of may be known by the
 * next one.
 */
static uint64_t
stray_wait(const struct stray *s, uint64_t now)
{
	if (give_up)
		return (0);
	if (s->due > now)
		return (s->due - now);
	return (s->fresh ? 1 : 0);
}

static void
stray_due(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	(void)arg;
	/* Looked at once more: it may be known by now, or gone. */
	if (st.engine.up && st.inventory == 0)
		reconcile_engine();
}

void
recover_begin(void)
{
	struct stray	*s;

	TAILQ_FOREACH(s, &strays, entry)
		s->seen = 0;
}

void
recover_end(void)
{
	struct stray	*s, *next;
	uint64_t	 now = now_ms(), left = 0, wait;

	for (s = TAILQ_FIRST(&strays); s != NULL; s = next) {
		next = TAILQ_NEXT(s, entry);
		wait = stray_wait(s, now);
		if (s->seen && wait == 0)
			stray_remove(&s->box);
		if (!s->seen || wait == 0) {
			stray_drop(s);
			continue;
		}
		s->fresh = 0;
		if (left == 0 || wait < left)
			left = wait;
	}
	if (left != 0)
		timer_set(&stray_timer, stray_due, NULL, left);
	else
		timer_del(&stray_timer);
}

/* RECONCILE: who waits for the inventory. */
static struct waiters	 waiting = TAILQ_HEAD_INITIALIZER(waiting);

void
recover_answer(enum code code, const char *why)
{
	struct waiter	*w;
	struct asker	 a;

	give_up = 0;
	while ((w = TAILQ_FIRST(&waiting)) != NULL) {
		TAILQ_REMOVE(&waiting, w, entry);
		memset(&a, 0, sizeof(a));
		a.session = w->session;
		a.req = w->req;
		free(w);
		if (session_find(a.session) == NULL)
			continue;
		if (code != CODE_OK)
			answer_error(&a, code, NULL, "%s", why);
		else
			answer_end(&a);
	}
}

int
recover_recv_reconcile(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_reconcile	*m = msg;
	struct waiter		*w;
	struct asker		 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    rights_check(&a, RIGHT_ADMIN, NULL) == -1 ||
	    request_park(recover_recv_reconcile, f, msg) ||
	    request_engine(&a) == -1)
		return (0);
	if ((w = calloc(1, sizeof(*w))) == NULL)
		fatal("%s", __func__);
	w->session = a.session;
	w->req = a.req;
	TAILQ_INSERT_TAIL(&waiting, w, entry);
	audit_allowed(&a, "reconcile", NULL);
	if (m->force)
		give_up = 1;
	/* One that is under way was asked for before this was. */
	reconcile_engine();
	return (0);
}
