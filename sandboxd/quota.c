/*
 * Limits of users.  As in rules.c nothing here knows a process or a message.
 */

#include <stdio.h>
#include <string.h>

#include "msg.h"
#include "quota.h"

#define MS	1000000ULL

static const char *const names[LIMIT_MAX] = {
	"sandboxes", "execs", "memory", "cpus", "pids", "disk",
	"memory per sandbox", "cpus per sandbox", "pids per sandbox",
	"disk per sandbox", "creates", "requests", "clients",
	"subscriptions", "log"
};

const char *
limit_name(enum limit l)
{
	return ((unsigned int)l < LIMIT_MAX ? names[l] : "unknown");
}

int
limit_is_rate(enum limit l)
{
	return (l == LIMIT_CREATES || l == LIMIT_REQUESTS);
}

void
limit_text(enum limit l, uint64_t v, char *buf, size_t len)
{
	if (l == LIMIT_CPUS || l == LIMIT_CPUS_EACH)
		snprintf(buf, len, "%llu.%03llu", (unsigned long long)v / 1000,
		    (unsigned long long)v % 1000);
	else
		snprintf(buf, len, "%llu", (unsigned long long)v);
}

void
limits_resolve(const struct limit_rules *rules, const struct rule_peer *p,
    struct bound *out)
{
	const struct limit_rule	*r;

	memset(out, 0, LIMIT_MAX * sizeof(*out));
	TAILQ_FOREACH(r, rules, entry)
		if (rule_matches(&r->w, p) &&
		    (p->uid != 0 || r->w.who == WHO_USER))
			out[r->limit] = r->b;
}

int
bounds_pack(struct u64v *to, const struct bound *b)
{
	int	 i;

	for (i = 0; i < LIMIT_MAX; i++)
		if (u64v_add(to, b[i].most) == -1 ||
		    u64v_add(to, b[i].per) == -1 ||
		    u64v_add(to, b[i].place) == -1)
			return (-1);
	return (0);
}

/* None at all stand for no bounds. */
int
bounds_unpack(struct bound *b, const struct u64v *from)
{
	int	 i;

	memset(b, 0, LIMIT_MAX * sizeof(*b));
	if (from->n == 0)
		return (0);
	if (from->n != 3 * LIMIT_MAX)
		return (-1);
	for (i = 0; i < LIMIT_MAX; i++) {
		b[i].most = from->v[3 * i];
		b[i].per = from->v[3 * i + 1];
		b[i].place = (uint32_t)from->v[3 * i + 2];
	}
	return (0);
}

uint64_t
limit_rate(uint64_t *bucket, const struct bound *b, uint64_t now)
{
	uint64_t	 each, from;

	if (b->most == 0)
		return (0);
	/* Each one taken moves the point on; it may lead by one filling. */
	each = b->per * MS / b->most;
	from = *bucket > now ? *bucket : now;
	if (from - now + each > b->per * MS)
		return ((from - now + each - b->per * MS) / MS + 1);
	*bucket = from + each;
	return (0);
}
