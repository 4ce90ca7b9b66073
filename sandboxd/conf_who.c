/*
 * The lines of a configuration that are about somebody: who may do what, and
 * how much of it a user and all together may have.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "sandboxd.h"
#include "spec.h"

static struct rule_who	 whom;		/* of the line being read */
static uint32_t		 block_seen;	/* limits in a user's block */

/* `4 per sandbox, 40 total', until it is known of what. */
static struct {
	struct token	 each;
	struct token	 total;
} sum;

static const struct {
	uint32_t	 min;
	uint32_t	 max;
} limit_range[LIMIT_MAX] = {
	[LIMIT_SANDBOXES] = { 1, 100000 },
	[LIMIT_EXECS] = { 1, 100000 },
	[LIMIT_PIDS] = { SBX_PIDS_MIN, UINT32_MAX },
	[LIMIT_PIDS_EACH] = { SBX_PIDS_MIN, SBX_PIDS_MAX },
	[LIMIT_CREATES] = { 1, 1000000 },
	[LIMIT_REQUESTS] = { 1, 1000000 },
	[LIMIT_CLIENTS] = { 1, 10000 },
	[LIMIT_SUBSCRIPTIONS] = { 1, 100000 },
};

/* Of a line that is wrong the name stays NULL. */
void
set_who(enum who who, const struct token *t)
{
	struct rule_who	*w = &whom;
	const char	*why;

	free(w->name);
	memset(w, 0, sizeof(*w));
	w->who = who;
	if (who == WHO_ANY)
		return;
	if (who == WHO_GROUP)
		why = conf_get_group(t->string, &w->id);
	else
		why = conf_get_user(t->string, &w->id);
	if (why == NULL && (w->name = strdup(t->string)) == NULL)
		why = strerror(errno);
	if (why != NULL)
		value_error(t, who == WHO_GROUP ? "group" : "user", why);
}

/* The block of limits that follows. */
void
set_whose(enum who who, const struct token *t)
{
	set_who(who, t);
	block_seen = 0;
}

/*
 * What a rule leaves out is in doubt against the user: without rights it
 * gives those about sandboxes and takes every one, without a scope it gives
 * the own ones and takes all.
 */
void
add_rule(int allow, const struct token *at, int rights, int scope)
{
	struct right_rule	 r;

	if (whom.who != WHO_ANY && whom.name == NULL)
		return;
	memset(&r, 0, sizeof(r));
	r.w = whom;
	r.allow = allow;
	r.rights = rights != 0 ? (uint32_t)rights : allow ? RIGHTS_SANDBOX :
	    RIGHTS_ALL;
	r.all = scope != -1 ? scope : !allow;
	if (!allow && whom.who == WHO_USER && whom.id == 0)
		error_at(at->line, "deny: root may everything");
	else if ((r.place = conf_add_place(conf, source_name(),
	    at->line)) == 0 || conf_add_rule(conf, &r) == -1)
		error_at(at->line, "%s: too many rules: the limit is 256",
		    allow ? "allow" : "deny");
	else
		memset(&whom, 0, sizeof(whom));
}

void
sum_each(const struct token *t, const struct token *per)
{
	if (strcmp(per->string, "sandbox") != 0)
		error_at(per->line, "per %s: not per sandbox", per->string);
	else if (sum.each.string != NULL)
		error_at(t->line, "per sandbox given twice");
	else
		sum.each = *t;
}

void
sum_total(const struct token *t)
{
	if (sum.total.string != NULL)
		error_at(t->line, "total given twice");
	else
		sum.total = *t;
}

/* One value of a limit, and of a rate the time. */
static int
get_bound(enum limit l, const struct token *t, const struct token *per,
    struct bound *b)
{
	const char	*why = NULL;
	char		 what[32];
	uint32_t	 n;

	memset(b, 0, sizeof(*b));
	strlcpy(what, limit_name(l), sizeof(what));
	what[strcspn(what, " ")] = '\0';
	switch (l) {
	case LIMIT_CPUS:
	case LIMIT_CPUS_EACH:
		if ((why = conf_get_cpus(t->string, &n)) == NULL)
			b->most = n;
		break;
	case LIMIT_MEMORY:
	case LIMIT_MEMORY_EACH:
		why = conf_get_size(t->string, SBX_MEMORY_MIN,
		    SBX_MEMORY_MAX, &b->most);
		break;
	case LIMIT_DISK:
	case LIMIT_DISK_EACH:
		why = conf_get_size(t->string, SBX_DISK_MIN, SBX_DISK_MAX,
		    &b->most);
		break;
	case LIMIT_LOG:
		why = conf_get_size(t->string, CONF_LOG_LEAST,
		    SBX_MEMORY_MAX, &b->most);
		break;
	default:
		if ((why = conf_get_count(t->string, limit_range[l].min,
		    limit_range[l].max, &n)) == NULL)
			b->most = n;
		break;
	}
	if (why != NULL) {
		value_error(t, what, why);
		return (-1);
	}
	if (per == NULL)
		return (0);
	if ((why = conf_get_time(per->string, 1, 86400, &n)) != NULL) {
		value_error(per, what, why);
		return (-1);
	}
	b->per = n * 1000ULL;
	return (0);
}

/* Of all together; what one sandbox may have is a limit of old. */
void
sum_all(enum setting s, enum limit l)
{
	const struct token	*t = sum.each.string != NULL ? &sum.each :
				    &sum.total;

	if (t->string != NULL && once(s, t->line)) {
		if (sum.total.string != NULL)
			(void)get_bound(l, &sum.total, NULL,
			    &conf->limits.all[l]);
		if (sum.each.string == NULL)
			;
		else if (l == LIMIT_MEMORY)
			set_size(S_MAX, &conf->limits.memory, "memory",
			    &sum.each, SBX_MEMORY_MIN, SBX_MEMORY_MAX);
		else if (l == LIMIT_DISK)
			set_size(S_MAX, &conf->limits.disk, "disk",
			    &sum.each, SBX_DISK_MIN, SBX_DISK_MAX);
		else if (l == LIMIT_CPUS)
			set_cpus(S_MAX, &conf->limits.cpus, &sum.each);
		else
			set_count(S_MAX, &conf->limits.pids, "pids",
			    &sum.each, SBX_PIDS_MIN, SBX_PIDS_MAX);
	}
	memset(&sum, 0, sizeof(sum));
}

void
rate_all(enum setting s, enum limit l, const struct token *t,
    const struct token *per)
{
	if (once(s, t->line))
		(void)get_bound(l, t, per, &conf->limits.all[l]);
}

void
user_limit(enum limit l, const struct token *t, const struct token *per)
{
	struct limit_rule	 r;

	if (whom.who != WHO_ANY && whom.name == NULL)
		return;
	memset(&r, 0, sizeof(r));
	r.w = whom;
	r.limit = l;
	if (block_seen & 1U << l) {
		error_at(t->line, "%s given twice", limit_name(l));
		return;
	}
	block_seen |= 1U << l;
	/* Groups are those of a connection, and output is kept without one. */
	if (l == LIMIT_LOG && whom.who == WHO_GROUP) {
		error_at(t->line, "log: of a user, or of any, not of a group: "
		    "set it for each of its users");
		return;
	}
	if (get_bound(l, t, per, &r.b) == -1)
		return;
	if ((r.b.place = conf_add_place(conf, source_name(), t->line)) == 0 ||
	    conf_add_limit(conf, &r) == -1)
		error_at(t->line, "limits: too many");
}

void
sum_user(enum limit each, enum limit total)
{
	if (sum.each.string != NULL)
		user_limit(each, &sum.each, NULL);
	if (sum.total.string != NULL)
		user_limit(total, &sum.total, NULL);
	memset(&sum, 0, sizeof(sum));
}

void
who_reset(void)
{
	free(whom.name);
	memset(&whom, 0, sizeof(whom));
	memset(&sum, 0, sizeof(sum));
}
