/*
 * The record of decisions.  What was allowed is in the event of the operation
 * itself, with the rule that let it, or where it has none in those that
 * store_allowed.c makes; what was refused is an event of its own, without
 * anything that a client wrote but the name of a sandbox.
 *
 * Nobody can fill the log by being refused: of each user so many are written
 * at once, and then one in a while that says how many there were.
 */
#include <sys/types.h>
#include <sys/tree.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "store.h"

#define AUDIT_MOST	10		/* events of a user at once, and ... */
#define AUDIT_PER	600000		/* ms until there can be as many */
#define AUDIT_FLUSH	(AUDIT_PER / AUDIT_MOST)
#define AUDIT_WHY	255

struct refused {
	uint32_t	 uid;
	uint64_t	 more;		/* that were not written before it */
	char		 what[32];
	char		 on[SBX_ID_MAX + 32];
	char		 why[AUDIT_WHY + 1];
	enum code	 code;		/* CODE_OK: those before it alone */
};

struct refuser {
	RB_ENTRY(refuser)	 entry;
	uint32_t		 uid;
	uint64_t		 bucket;
	uint64_t		 more;
};
RB_HEAD(refuser_tree, refuser);

static int	refuser_cmp(struct refuser *, struct refuser *);
static void	audit_flush(int, short, void *);

RB_PROTOTYPE(refuser_tree, refuser, entry, refuser_cmp)
RB_GENERATE(refuser_tree, refuser, entry, refuser_cmp)

static struct refuser_tree	 refusers = RB_INITIALIZER(&refusers);
static struct event		 audit_timer;
static const struct bound	 audit_bound = { AUDIT_MOST, AUDIT_PER, 0 };

static int
refuser_cmp(struct refuser *a, struct refuser *b)
{
	return (a->uid < b->uid ? -1 : a->uid > b->uid);
}

uint64_t
audit_now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec);
}

/* A sandbox, as who asks may name it. */
void
audit_on(char *buf, size_t size, const struct asker *a,
    const struct sandbox *sb)
{
	if (sb->r.owner == a->uid)
		strlcpy(buf, sb->r.id, size);
	else
		snprintf(buf, size, "%u/%s", sb->r.owner, sb->r.id);
}

static int
body_refused(struct batch *b, void *arg)
{
	struct refused	*q = arg;
	struct kvv	 d = { 0 };

	if (q->code != CODE_OK) {
		detail_str(&d, "code", code_name(q->code));
		detail_str(&d, "what", q->what);
		if (q->on[0] != '\0')
			detail_str(&d, "on", q->on);
		detail_str(&d, "why", q->why);
	}
	if (q->more != 0)
		detail_num(&d, "more", (int64_t)q->more);
	return (store_event(b, NULL, EV_AUDIT_REFUSED, q->uid, 0, &d));
}

static void
done_refused(void *arg, int result)
{
	/* It is told in the log of the daemon; nothing waits for it. */
	(void)result;
	free(arg);
}

static void
audit_arm(void)
{
	if (!event_initialized(&audit_timer) ||
	    !evtimer_pending(&audit_timer, NULL))
		timer_set(&audit_timer, audit_flush, NULL, AUDIT_FLUSH);
}

static struct refuser *
refuser_get(uint32_t uid)
{
	static struct refuser	 find;
	struct refuser		*r;

	find.uid = uid;
	if ((r = RB_FIND(refuser_tree, &refusers, &find)) != NULL)
		return (r);
	if ((r = calloc(1, sizeof(*r))) == NULL)
		fatal("%s", __func__);
	r->uid = uid;
	RB_INSERT(refuser_tree, &refusers, r);
	/* It is looked at again until it can be forgotten. */
	audit_arm();
	return (r);
}

/* How many there were since the last that was written; or, at our end, all. */
static void
audit_flush(int fd, short event, void *arg)
{
	struct refuser	*r, *next;
	struct refused	*q;
	uint64_t	 now = audit_now();

	(void)fd;
	(void)event;
	RB_FOREACH_SAFE(r, refuser_tree, &refusers, next) {
		if (r->more != 0 && (arg != NULL ||
		    limit_rate(&r->bucket, &audit_bound, now) == 0)) {
			if ((q = calloc(1, sizeof(*q))) == NULL)
				fatal("%s", __func__);
			q->uid = r->uid;
			q->more = r->more;
			r->more = 0;
			batch_following(&st.batch, body_refused, done_refused,
			    q);
		}
		if (r->more != 0 || r->bucket > now)
			continue;
		RB_REMOVE(refuser_tree, &refusers, r);
		free(r);
	}
	if (arg == NULL && !RB_EMPTY(&refusers))
		audit_arm();
}

void
audit_end(void)
{
	static int	 all = 1;

	audit_flush(-1, 0, &all);
	allowed_end();
}

/*
 * What: a right, or what else was asked for; on which sandbox, "" if none;
 * more: of so many that were not told of before.
 */
void
audit_refused(uint32_t uid, const char *what, const char *on, enum code code,
    const char *why, uint64_t more)
{
	struct refuser	*r;
	struct refused	*q;

	if (!st.going)
		return;
	r = refuser_get(uid);
	if (limit_rate(&r->bucket, &audit_bound, audit_now()) != 0) {
		r->more += 1 + more;
		return;
	}
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->uid = uid;
	q->more = r->more + more;
	r->more = 0;
	q->code = code;
	strlcpy(q->what, what, sizeof(q->what));
	strlcpy(q->on, on, sizeof(q->on));
	strlcpy(q->why, why, sizeof(q->why));
	batch_following(&st.batch, body_refused, done_refused, q);
}

/* Is this a decision about somebody's request? */
int
audit_decision(const struct record *r)
{
	switch (r->type) {
	case EV_AUDIT_ALLOWED:
	case EV_AUDIT_REFUSED:
		return (1);
	case EV_RELOADED:
	case EV_IMAGE_IMPORTED:
	case EV_SBX_CREATE:
	case EV_SBX_STOP:
	case EV_SBX_PAUSE:
	case EV_SBX_UNPAUSE:
	case EV_SBX_RESTART:
	case EV_SBX_RESUME:
	case EV_SBX_DELETE:
	case EV_SBX_EXTEND:
	case EV_SBX_UPDATE:
	case EV_SBX_UPDATED:
	case EV_EXEC_CREATE:
	case EV_EXEC_SIGNAL:
	case EV_EXEC_DETACH:
		return (r->actor != ACTOR_DAEMON);
	default:
		return (0);
	}
}
