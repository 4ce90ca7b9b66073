/*
 * What each user has, and the limits of it.
 *
 * Only what cannot be counted is kept: who owns which sandboxes, and how far
 * the buckets of the rates are.  What is in use is summed up when somebody
 * asks, over the sandboxes that there are, so that no way of ending, failing
 * or starting again can leave a count behind.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "store.h"

#define ACCOUNTS_SWEEP	256	/* accounts of nobody, before they are sought */

struct account {
	RB_ENTRY(account)	 entry;
	uint32_t		 uid;
	TAILQ_HEAD(, sandbox)	 boxes;		/* not deleted */
	u_int			 nsubs;
	uint64_t		 bucket[LIMIT_MAX];
};
RB_HEAD(account_tree, account);

static int	account_cmp(struct account *, struct account *);

RB_PROTOTYPE(account_tree, account, entry, account_cmp)
RB_GENERATE(account_tree, account, entry, account_cmp)

static struct account_tree	 accounts = RB_INITIALIZER(&accounts);
static u_int			 naccounts;
static uint64_t			 buckets_all[LIMIT_MAX];

static int
account_cmp(struct account *a, struct account *b)
{
	return (a->uid < b->uid ? -1 : a->uid > b->uid);
}

static uint64_t
quota_now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec);
}

static struct account *
account_find(uint32_t uid)
{
	static struct account	 find;

	find.uid = uid;
	return (RB_FIND(account_tree, &accounts, &find));
}

/* With a bucket that is not full it would be forgotten what was taken. */
static void
account_put(struct account *ac)
{
	uint64_t	 now = quota_now();
	int		 i;

	if (!TAILQ_EMPTY(&ac->boxes) || ac->nsubs > 0)
		return;
	for (i = 0; i < LIMIT_MAX; i++)
		if (ac->bucket[i] > now)
			return;
	RB_REMOVE(account_tree, &accounts, ac);
	naccounts--;
	free(ac);
}

static struct account *
account_get(uint32_t uid)
{
	struct account	*ac, *next;

	if ((ac = account_find(uid)) != NULL)
		return (ac);
	if (naccounts >= ACCOUNTS_SWEEP)
		RB_FOREACH_SAFE(ac, account_tree, &accounts, next)
			account_put(ac);
	if ((ac = calloc(1, sizeof(*ac))) == NULL)
		fatal("%s", __func__);
	ac->uid = uid;
	TAILQ_INIT(&ac->boxes);
	RB_INSERT(account_tree, &accounts, ac);
	naccounts++;
	return (ac);
}

/* It is there, until it is deleted. */
void
quota_own(struct sandbox *sb)
{
	struct account	*ac = account_get(sb->r.owner);

	TAILQ_INSERT_TAIL(&ac->boxes, sb, of_owner);
}

struct sandbox *
quota_owned(uint32_t uid, const struct sandbox *after)
{
	struct account	*ac;

	if (after != NULL)
		return (TAILQ_NEXT(after, of_owner));
	ac = account_find(uid);
	return (ac == NULL ? NULL : TAILQ_FIRST(&ac->boxes));
}

void
quota_disown(struct sandbox *sb)
{
	struct account	*ac = account_get(sb->r.owner);

	TAILQ_REMOVE(&ac->boxes, sb, of_owner);
	account_put(ac);
}

void
quota_sub(uint32_t uid, int n)
{
	struct account	*ac = account_get(uid);

	ac->nsubs += n;
	account_put(ac);
}

/* Stopped ones have nothing; of failed ones something may be left. */
static int
quota_runs(const struct sandbox *sb)
{
	return (sb->r.state != SBX_STOPPED &&
	    (sb->r.state != SBX_FAILED || sb->r.dirty));
}

static void
account_use(const struct account *ac, uint64_t *use)
{
	const struct sandbox	*sb;
	struct limits		 l;

	use[LIMIT_SUBSCRIPTIONS] += ac->nsubs;
	TAILQ_FOREACH(sb, &ac->boxes, of_owner) {
		use[LIMIT_SANDBOXES]++;
		use[LIMIT_EXECS] += sb->nexecs;
		/* Its files are there while it stands still, too. */
		if (sb->conf != NULL)
			use[LIMIT_DISK] += sb->conf->disk;
		if (!quota_runs(sb) || sb->conf == NULL)
			continue;
		/* What is asked for already counts. */
		update_most(sb, &l);
		use[LIMIT_MEMORY] += l.memory;
		use[LIMIT_CPUS] += l.mcpus;
		use[LIMIT_PIDS] += l.pids;
	}
}

/* Of one user, or of all. */
void
quota_use(int64_t uid, uint64_t *use)
{
	struct session	*s;
	struct account	*ac;

	memset(use, 0, LIMIT_MAX * sizeof(*use));
	RB_FOREACH(s, session_tree, &st.sessions)
		use[LIMIT_CLIENTS] += uid == -1 || s->uid == (uint32_t)uid;
	if (uid == -1) {
		RB_FOREACH(ac, account_tree, &accounts)
			account_use(ac, use);
	} else if ((ac = account_find((uint32_t)uid)) != NULL)
		account_use(ac, use);
}

/* The counts that are kept anyway are those of the sums. */
static uint64_t
quota_count(int64_t uid, enum limit l)
{
	uint64_t	 use[LIMIT_MAX];

	if (uid == -1 && l == LIMIT_SANDBOXES)
		return (st.model.count);
	if (uid == -1 && l == LIMIT_SUBSCRIPTIONS)
		return (events_subs());
	quota_use(uid, use);
	return (use[l]);
}

/*
 * Is there room for so much more?  -1 and why if there is not.  A user is
 * bound by his own limits in what is his; the bounds of all bind everyone.
 */
static int
quota_room(const struct asker *a, uint32_t owner, enum limit l, uint64_t more,
    char *text, size_t len)
{
	const struct bound	*b = &a->bounds[l];
	uint64_t		 use;
	char			 most[32], used[32];
	int			 user;

	for (user = 1; user >= 0; user--) {
		if (!user)
			b = &st.all[l];
		if (b->most == 0 || (user && a->uid != owner))
			continue;
		use = quota_count(user ? (int64_t)owner : -1, l);
		if (use <= b->most && more <= b->most - use)
			continue;
		limit_text(l, b->most, most, sizeof(most));
		limit_text(l, use, used, sizeof(used));
		if (user)
			snprintf(text, len, "%s: limit %s for user %u, %s in "
			    "use", limit_name(l), most, owner, used);
		else
			snprintf(text, len, "%s: limit %s in all, %s in use",
			    limit_name(l), most, used);
		return (-1);
	}
	return (0);
}

int
quota_exec(const struct asker *a, const struct sandbox *sb, char *text,
    size_t len)
{
	return (quota_room(a, sb->r.owner, LIMIT_EXECS, 1, text, len));
}

int
quota_subscribe(const struct asker *a, char *text, size_t len)
{
	return (quota_room(a, a->uid, LIMIT_SUBSCRIPTIONS, 1, text, len));
}

/* What runs: for one that is made, and one that is resumed. */
int
quota_run(const struct asker *a, uint32_t owner, const struct proto_create *c,
    char *text, size_t len)
{
	if (quota_room(a, owner, LIMIT_MEMORY, c->memory, text, len) == -1 ||
	    quota_room(a, owner, LIMIT_CPUS, c->mcpus, text, len) == -1 ||
	    quota_room(a, owner, LIMIT_PIDS, c->pids, text, len) == -1)
		return (-1);
	return (0);
}

/* What it is to have more than it has, while it runs. */
int
quota_more(const struct asker *a, const struct sandbox *sb,
    const struct limits *l, char *text, size_t len)
{
	const struct proto_create	*c = sb->conf;
	const struct {
		enum limit	 limit;
		uint64_t	 v, has;
	} t[] = {
		{ LIMIT_MEMORY, l->memory, c->memory },
		{ LIMIT_CPUS, l->mcpus, c->mcpus },
		{ LIMIT_PIDS, l->pids, c->pids },
	};
	size_t	 i;

	for (i = 0; quota_runs(sb) && i < sizeof(t) / sizeof(t[0]); i++)
		if (t[i].v > t[i].has && quota_room(a, sb->r.owner,
		    t[i].limit, t[i].v - t[i].has, text, len) == -1)
			return (-1);
	return (0);
}

int
quota_create(const struct asker *a, const struct proto_create *c, char *text,
    size_t len)
{
	if (quota_room(a, a->uid, LIMIT_SANDBOXES, 1, text, len) == -1 ||
	    quota_room(a, a->uid, LIMIT_DISK, c->disk, text, len) == -1)
		return (-1);
	return (quota_run(a, a->uid, c, text, len));
}

/* One more of what has a rate; a refused one takes nothing. */
int
quota_rate(const struct asker *a, enum limit l, char *text, size_t len)
{
	struct account	*ac;
	uint64_t	 now, wait, all;

	if (a->bounds[l].most == 0 && st.all[l].most == 0)
		return (0);
	now = quota_now();
	all = buckets_all[l];
	/* The administrator can look also when there is a crowd. */
	if ((a->uid != 0 || l != LIMIT_REQUESTS) &&
	    (wait = limit_rate(&all, &st.all[l], now)) != 0) {
		snprintf(text, len, "%s: limit %llu per %llus in all, the "
		    "next in %llu ms", limit_name(l),
		    (unsigned long long)st.all[l].most,
		    (unsigned long long)st.all[l].per / 1000,
		    (unsigned long long)wait);
		return (-1);
	}
	ac = account_get(a->uid);
	if ((wait = limit_rate(&ac->bucket[l], &a->bounds[l], now)) != 0) {
		snprintf(text, len, "%s: limit %llu per %llus for user %u, "
		    "the next in %llu ms", limit_name(l),
		    (unsigned long long)a->bounds[l].most,
		    (unsigned long long)a->bounds[l].per / 1000, a->uid,
		    (unsigned long long)wait);
		return (-1);
	}
	buckets_all[l] = all;
	account_put(ac);
	return (0);
}
