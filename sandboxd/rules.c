/*
 * The rules of who may do what.  Nothing here knows a process, a file or a
 * message, so that every case can be tried.
 */

#include <string.h>

#include "rules.h"

static const char *const names[RIGHT_MAX] = {
	"create", "exec", "files", "stop", "delete", "events", "images",
	"admin"
};

const char *
right_name(enum right r)
{
	return ((unsigned int)r < RIGHT_MAX ? names[r] : "unknown");
}

const char *
right_by(const char *place, uint32_t uid)
{
	if (place != NULL)
		return (place);
	return (uid == 0 ? "root" : "default");
}

int
rule_matches(const struct rule_who *w, const struct rule_peer *p)
{
	size_t	 i;

	switch (w->who) {
	case WHO_ANY:
		return (1);
	case WHO_USER:
		return (w->id == p->uid);
	case WHO_GROUP:
		if (w->id == p->gid)
			return (1);
		for (i = 0; i < p->ngroups; i++)
			if (p->groups[i] == w->id)
				return (1);
		break;
	}
	return (0);
}

static void
apply(uint32_t *bits, uint32_t *by, const struct right_rule *r)
{
	int	 i;

	if (r->allow)
		*bits |= r->rights;
	else
		*bits &= ~r->rights;
	for (i = 0; i < RIGHT_MAX; i++)
		if (r->rights & 1U << i)
			by[i] = r->place;
}

void
rules_resolve(const struct right_rules *rules, const struct rule_peer *p,
    struct rights *out)
{
	const struct right_rule	*r;

	memset(out, 0, sizeof(*out));
	if (p->uid == 0) {
		out->own = out->others = RIGHTS_ALL;
		return;
	}
	out->own = RIGHTS_SANDBOX;
	TAILQ_FOREACH(r, rules, entry) {
		if (!rule_matches(&r->w, p))
			continue;
		apply(&out->own, out->own_by, r);
		if (r->all)
			apply(&out->others, out->others_by, r);
	}
	/* Nobody creates for another, and images are nobody's. */
	out->others &= RIGHTS_OTHERS;
}

int
rights_kept(const struct rights *old, const struct rights *new)
{
	return ((old->own & ~new->own) == 0 &&
	    (old->others & ~new->others) == 0);
}
