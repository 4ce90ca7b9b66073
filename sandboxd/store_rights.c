/*
 * Who may do what, as the parent has resolved it for each session: here it
 * is judged, whatever the frontend says.
 */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "store.h"

/* The rights of a session, from the message that opens or changes it. */
int
rights_set(struct rights *r, struct bound *bounds, const struct msg_session *m)
{
	int	 i;

	if (m->by.n != 2 * RIGHT_MAX ||
	    bounds_unpack(bounds, &m->bounds) == -1)
		return (-1);
	r->own = m->own;
	r->others = m->others & RIGHTS_OTHERS;
	if (m->uid == 0)
		r->others = m->others;
	for (i = 0; i < RIGHT_MAX; i++) {
		r->own_by[i] = m->by.v[i];
		r->others_by[i] = m->by.v[RIGHT_MAX + i];
	}
	return (0);
}

/* Whoever has any right on the sandboxes of others sees that they exist. */
int
rights_visible(const struct asker *a, uint32_t owner)
{
	return (a->uid == owner || a->others != 0);
}

static const char *
place(uint32_t n)
{
	if (n == 0 || n > st.nplaces)
		return (NULL);
	return (st.places[n - 1].place);
}

/* By which rule it has a right that is about no sandbox. */
void
rights_by(struct asker *a, const struct session *s, enum right r)
{
	strlcpy(a->by, right_by(place(s->rights.own_by[r]), s->uid),
	    sizeof(a->by));
}

/*
 * On a sandbox that is visible; NULL: the right is not about one.  Returns
 * -1 if the request has been refused.  Who may has in a->by whose word it is.
 */
int
rights_check(struct asker *a, enum right r, const struct sandbox *sb)
{
	const struct session	*s;
	int			 own = sb == NULL || sb->r.owner == a->uid;
	uint32_t		 n = 0;
	char			 on[SBX_ID_MAX + 16] = "";

	if ((s = session_find(a->session)) != NULL)
		n = own ? s->rights.own_by[r] : s->rights.others_by[r];
	strlcpy(a->by, right_by(place(n), a->uid), sizeof(a->by));
	if ((own ? a->own : a->others) & 1U << r)
		return (0);
	if (n == 0)
		strlcpy(a->by, "no rule allows it", sizeof(a->by));
	if (sb != NULL)
		audit_on(on, sizeof(on), a, sb);
	audit_refused(a->uid, right_name(r), on, CODE_PERMISSION_DENIED,
	    a->by, 0);
	answer_error(a, CODE_PERMISSION_DENIED, NULL, "%s%s%s: not permitted "
	    "(%s)", right_name(r), sb == NULL ? "" : " ",
	    sb == NULL ? "" : sb->r.id, a->by);
	return (-1);
}

/* By which rule it has a right on what is others'. */
void
rights_by_others(struct asker *a, enum right r)
{
	const struct session	*s;
	uint32_t		 n = 0;

	if ((s = session_find(a->session)) != NULL)
		n = s->rights.others_by[r];
	strlcpy(a->by, right_by(place(n), a->uid), sizeof(a->by));
}

/*
 * Something of others has been shown: a sandbox, or NULL if several may have
 * been.  Whichever right on theirs he has lets him see them; the first that he
 * has is named.
 */
void
rights_seen(struct asker *a, const struct sandbox *sb)
{
	int	 i;

	if (sb != NULL && sb->r.owner == a->uid)
		return;
	for (i = 0; i < RIGHT_MAX - 1; i++)
		if (a->others & 1U << i)
			break;
	rights_by_others(a, i);
	audit_allowed(a, "see", sb);
}

static void
rules_right(const struct asker *a, enum right r, const char *on, uint32_t bits,
    const uint32_t *by)
{
	struct proto_right	 m;

	memset(&m, 0, sizeof(m));
	strlcpy(m.name, right_name(r), sizeof(m.name));
	strlcpy(m.on, on, sizeof(m.on));
	m.may = (bits & 1U << r) != 0;
	strlcpy(m.by, right_by(place(by[r]), a->uid), sizeof(m.by));
	answer(a, PROTO_RIGHT, &m);
}

static void
rules_limit(const struct asker *a, enum limit l, const char *of,
    const struct bound *b, const uint64_t *use)
{
	struct proto_limit	 m;

	memset(&m, 0, sizeof(m));
	strlcpy(m.name, limit_name(l), sizeof(m.name));
	strlcpy(m.of, of, sizeof(m.of));
	m.most = b[l].most;
	m.per = b[l].per;
	m.used = use[l];
	if (place(b[l].place) != NULL)
		strlcpy(m.by, place(b[l].place), sizeof(m.by));
	answer(a, PROTO_LIMIT, &m);
}

/* What applies to who asks; others' use is for who sees them. */
int
rights_recv_rules(struct chan *ch, struct frame *f, void *msg)
{
	const struct session	*s;
	struct asker		 a;
	uint64_t		 use[LIMIT_MAX];
	int			 i;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    (s = session_find(a.session)) == NULL)
		return (0);
	for (i = 0; i < RIGHT_MAX; i++) {
		rules_right(&a, i, RIGHTS_OTHERS & 1U << i ? "own" : "-",
		    s->rights.own, s->rights.own_by);
		if (RIGHTS_OTHERS & 1U << i)
			rules_right(&a, i, "others", s->rights.others,
			    s->rights.others_by);
	}
	quota_use(a.uid, use);
	for (i = 0; i < LIMIT_MAX; i++)
		rules_limit(&a, i, "user", s->bounds, use);
	if (a.others != 0) {
		quota_use(-1, use);
		for (i = 0; i < LIMIT_MAX; i++)
			rules_limit(&a, i, "all", st.all, use);
	}
	answer_end(&a);
	return (0);
}
