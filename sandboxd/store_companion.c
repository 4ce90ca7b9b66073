/*
 * Companions: a sandbox that belongs to another one of the same user, and
 * ends with it.  It has a name, a user, an image, limits and a history of its
 * own; what ties it is that the other's deletion is the end of its lifetime.
 *
 * Whose companion it is it says by name.  It was made after that one, so that
 * another sandbox which has the name later is not meant.
 */
#include <sys/types.h>

#include <string.h>

#include "store.h"

/* The one that it belongs to; NULL: to none, or that is forgotten. */
static struct sandbox *
companion_main(const struct sandbox *sb)
{
	struct sandbox	*to;

	if (sb->conf == NULL || sb->conf->companion_of[0] == '\0')
		return (NULL);
	to = model_id(&st.model, sb->r.owner, sb->conf->companion_of);
	return (to != NULL && to->r.n < sb->r.n ? to : NULL);
}

/* The first, or the next, of those that it has. */
static struct sandbox *
companion_of(const struct sandbox *to, const struct sandbox *after)
{
	struct sandbox	*sb = quota_owned(to->r.owner, after);

	while (sb != NULL && companion_main(sb) != to)
		sb = quota_owned(to->r.owner, sb);
	return (sb);
}

int
companion_check(const struct asker *a, const struct proto_create *c,
    struct refusal *no)
{
	struct sandbox	*to, *sb = NULL;
	u_int		 n = 0;

	if (c->companion_of[0] == '\0')
		return (BATCH_OK);
	to = model_id(&st.model, a->uid, c->companion_of);
	if (to == NULL || to->r.state == SBX_DELETED)
		return (refuse(no, CODE_NOT_FOUND, "companion_of",
		    "companion_of: %s: no such sandbox", c->companion_of));
	if (to->r.state == SBX_DELETING)
		return (refuse(no, CODE_WRONG_STATE, "companion_of",
		    "companion_of: %s is deleting", c->companion_of));
	while ((sb = companion_of(to, sb)) != NULL)
		n++;
	if (n >= SBX_COMPANIONS_MAX)
		return (refuse(no, CODE_LIMIT_EXCEEDED, "companion_of",
		    "companion_of: %s has %u: the limit is %d",
		    c->companion_of, n, SBX_COMPANIONS_MAX));
	return (BATCH_OK);
}

int
companion_end(struct batch *b, const struct sandbox *to)
{
	struct sandbox	*sb = NULL;

	while ((sb = companion_of(to, sb)) != NULL) {
		batch_keep(b, &sb->t, sizeof(sb->t));
		sb->t.until = times_now();
		if (model_put_times(b, sb) != BATCH_OK)
			return (BATCH_FAIL);
	}
	return (BATCH_OK);
}

void
companion_ended(const struct sandbox *to)
{
	struct sandbox	*sb = NULL;

	while ((sb = companion_of(to, sb)) != NULL)
		times_update(sb);
}

int
companion_left(const struct sandbox *sb)
{
	const struct sandbox	*to = companion_main(sb);

	return (to != NULL && to->r.state == SBX_DELETED);
}
