/*
 * What was allowed and leaves no event of its own: calls about files,
 * connections to ports, input to what runs, and what is only read.  They are
 * too many to be written one by one, and too cheap to wait for it.
 *
 * A decision is what a user may do to a sandbox by a rule.  The first time it
 * is an event; what follows from it within ALLOWED_PER is counted, and then
 * told in one more.  So each is in the log, and nobody fills it by being
 * allowed: past ALLOWED_USER decisions a user's others are one together for
 * each rule.  Who reads the events makes one by it, and no more by reading
 * that.
 */
#include <sys/types.h>
#include <sys/tree.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "store.h"

#define ALLOWED_PER	600000		/* ms until it is told anew */
#define ALLOWED_USER	1000		/* decisions of a user at a time */
#define ALLOWED_ALL	10000		/* of all: the oldest one goes */

#define WHAT_LEN	32
#define ON_LEN		(SBX_ID_MAX + 32)

/* As it is written. */
struct allowed {
	uint32_t	 uid;
	uint64_t	 more;		/* of the same, not written */
	char		 what[WHAT_LEN];
	char		 on[ON_LEN];
	char		 by[PLACE_MAX + 1];
};

struct decision {
	RB_ENTRY(decision)	 entry;
	TAILQ_ENTRY(decision)	 age;
	struct allowed_user	*user;
	uint64_t		 n;		/* sandbox; 0: about none */
	uint64_t		 until;		/* ns */
	struct allowed		 q;
};
RB_HEAD(decision_tree, decision);

struct allowed_user {
	RB_ENTRY(allowed_user)	 entry;
	uint32_t		 uid;
	u_int			 count;
	struct decision_tree	 decisions;
};
RB_HEAD(allowed_tree, allowed_user);

static int	decision_cmp(struct decision *, struct decision *);
static int	allowed_cmp(struct allowed_user *, struct allowed_user *);
static void	allowed_over(int, short, void *);

RB_PROTOTYPE(decision_tree, decision, entry, decision_cmp)
RB_GENERATE(decision_tree, decision, entry, decision_cmp)
RB_PROTOTYPE(allowed_tree, allowed_user, entry, allowed_cmp)
RB_GENERATE(allowed_tree, allowed_user, entry, allowed_cmp)

static struct allowed_tree	 users = RB_INITIALIZER(&users);
static TAILQ_HEAD(, decision)	 ages = TAILQ_HEAD_INITIALIZER(ages);
static u_int			 ndecisions;
static struct event		 allowed_timer;

static int
decision_cmp(struct decision *a, struct decision *b)
{
	int	 ret;

	if (a->n != b->n)
		return (a->n < b->n ? -1 : 1);
	if ((ret = strcmp(a->q.what, b->q.what)) != 0)
		return (ret);
	/* By another rule it is another decision. */
	return (strcmp(a->q.by, b->q.by));
}

static int
allowed_cmp(struct allowed_user *a, struct allowed_user *b)
{
	return (a->uid < b->uid ? -1 : a->uid > b->uid);
}

static int
body_allowed(struct batch *b, void *arg)
{
	struct allowed	*q = arg;
	struct kvv	 d = { 0 };

	detail_str(&d, "what", q->what);
	if (q->on[0] != '\0')
		detail_str(&d, "on", q->on);
	detail_str(&d, "rule", q->by);
	if (q->more != 0)
		detail_num(&d, "more", (int64_t)q->more);
	return (store_event(b, NULL, EV_AUDIT_ALLOWED, q->uid, 0, &d));
}

static void
done_allowed(void *arg, int result)
{
	(void)result;
	free(arg);
}

/* Nothing waits for it. */
static void
allowed_write(const struct decision *d)
{
	struct allowed	*q;

	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	*q = d->q;
	batch_following(&st.batch, body_allowed, done_allowed, q);
}

static void
allowed_forget(struct decision *d)
{
	struct allowed_user	*u = d->user;

	if (d->q.more != 0)
		allowed_write(d);
	TAILQ_REMOVE(&ages, d, age);
	RB_REMOVE(decision_tree, &u->decisions, d);
	free(d);
	ndecisions--;
	if (--u->count > 0)
		return;
	RB_REMOVE(allowed_tree, &users, u);
	free(u);
}

static void
allowed_arm(void)
{
	struct decision	*d = TAILQ_FIRST(&ages);
	uint64_t	 now = audit_now();

	if (d != NULL)
		timer_set(&allowed_timer, allowed_over, NULL,
		    d->until <= now ? 0 : (d->until - now) / 1000000 + 1);
}

static void
allowed_over(int fd, short event, void *arg)
{
	struct decision	*d;
	uint64_t	 now = audit_now();

	(void)fd;
	(void)event;
	(void)arg;
	while ((d = TAILQ_FIRST(&ages)) != NULL && d->until <= now)
		allowed_forget(d);
	allowed_arm();
}

/* What has been counted is told, at our end. */
void
allowed_end(void)
{
	struct decision	*d;

	while ((d = TAILQ_FIRST(&ages)) != NULL)
		allowed_forget(d);
}

static struct allowed_user *
allowed_get(uint32_t uid)
{
	static struct allowed_user	 find;
	struct allowed_user		*u;

	find.uid = uid;
	if ((u = RB_FIND(allowed_tree, &users, &find)) != NULL)
		return (u);
	if ((u = calloc(1, sizeof(*u))) == NULL)
		fatal("%s", __func__);
	u->uid = uid;
	RB_INIT(&u->decisions);
	RB_INSERT(allowed_tree, &users, u);
	return (u);
}

/* A new one: its beginning is written, and its end looked for. */
static void
allowed_add(struct allowed_user *u, const struct decision *find)
{
	struct decision	*d;
	int		 first = TAILQ_EMPTY(&ages);

	if ((d = calloc(1, sizeof(*d))) == NULL)
		fatal("%s", __func__);
	d->user = u;
	d->n = find->n;
	d->q = find->q;
	d->until = audit_now() + (uint64_t)ALLOWED_PER * 1000000;
	RB_INSERT(decision_tree, &u->decisions, d);
	TAILQ_INSERT_TAIL(&ages, d, age);
	u->count++;
	ndecisions++;
	allowed_write(d);
	if (first)
		allowed_arm();
}

/* What: a call, or what else was asked for; sb: on which sandbox, or NULL. */
void
audit_allowed(const struct asker *a, const char *what,
    const struct sandbox *sb)
{
	static struct decision	 find;
	struct allowed_user	*u;
	struct decision		*d;

	if (!st.going)
		return;
	u = allowed_get(a->uid);
	find.n = sb == NULL ? 0 : sb->r.n;
	find.q.uid = a->uid;
	strlcpy(find.q.what, what, sizeof(find.q.what));
	strlcpy(find.q.by, a->by, sizeof(find.q.by));
	d = RB_FIND(decision_tree, &u->decisions, &find);
	if (d == NULL && u->count >= ALLOWED_USER) {
		find.n = 0;
		strlcpy(find.q.what, "others", sizeof(find.q.what));
		d = RB_FIND(decision_tree, &u->decisions, &find);
		sb = NULL;
	}
	if (d != NULL) {
		d->q.more++;
		return;
	}
	if (ndecisions >= ALLOWED_ALL) {
		allowed_forget(TAILQ_FIRST(&ages));
		/* It may have been the last of this one. */
		u = allowed_get(a->uid);
	}
	find.q.on[0] = '\0';
	if (sb != NULL)
		audit_on(find.q.on, sizeof(find.q.on), a, sb);
	allowed_add(u, &find);
}
