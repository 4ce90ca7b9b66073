/*
 * Prints what a configuration comes to for one user, as `sandboxctl rules'
 * does for who asks it.
 */

#include <sys/types.h>

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"

/* The groups that a login of the user would have. */
static int
user_peer(const char *name, struct rule_peer *p, uint64_t **groups)
{
	const struct passwd	*pw;
	gid_t			*gids = NULL;
	uint64_t		*v;
	int			 i, n = 0;

	*groups = NULL;
	if (conf_get_user(name, &p->uid) != NULL)
		return (-1);
	p->gid = p->uid;
	p->groups = NULL;
	p->ngroups = 0;
	/* One that is a number alone has none that we could know. */
	if ((pw = getpwuid(p->uid)) == NULL)
		return (0);
	p->gid = pw->pw_gid;
	(void)getgrouplist(pw->pw_name, pw->pw_gid, NULL, &n);
	if (n <= 0 || (gids = calloc((size_t)n, sizeof(*gids))) == NULL ||
	    (v = calloc((size_t)n, sizeof(*v))) == NULL ||
	    getgrouplist(pw->pw_name, pw->pw_gid, gids, &n) == -1) {
		free(gids);
		return (0);
	}
	for (i = 0; i < n; i++)
		v[i] = gids[i];
	free(gids);
	p->ngroups = (size_t)n;
	p->groups = *groups = v;
	return (0);
}

static void
print_right(FILE *fp, const struct config *conf, const struct rule_peer *p,
    enum right r, const char *on, uint32_t bits, const uint32_t *by)
{
	fprintf(fp, "%-8s%-8s%-5s%s\n", right_name(r), on,
	    bits & 1U << r ? "yes" : "no",
	    right_by(conf_place(conf, by[r]), p->uid));
}

static void
print_limit(FILE *fp, const struct config *conf, enum limit l,
    const struct bound *b)
{
	const char	*by = conf_place(conf, b->place);
	char		 most[32], buf[64] = "-";

	limit_text(l, b->most, most, sizeof(most));
	if (b->most != 0 && limit_is_rate(l))
		snprintf(buf, sizeof(buf), "%s per %llus", most,
		    (unsigned long long)b->per / 1000);
	else if (b->most != 0)
		strlcpy(buf, most, sizeof(buf));
	fprintf(fp, "%-20s%-6s%-16s%s\n", limit_name(l), "user", buf,
	    by == NULL ? "-" : by);
}

int
conf_print_user(FILE *fp, const struct config *conf, const char *name)
{
	struct bound	 bounds[LIMIT_MAX];
	struct rights	 rights;
	struct rule_peer	 p;
	uint64_t	*groups;
	enum right	 r;
	enum limit	 l;

	if (user_peer(name, &p, &groups) == -1)
		return (-1);
	rules_resolve(&conf->rules, &p, &rights);
	fprintf(fp, "%-8s%-8s%-5s%s\n", "RIGHT", "ON", "MAY", "BY");
	for (r = 0; r < RIGHT_MAX; r++) {
		print_right(fp, conf, &p, r, RIGHTS_OTHERS & 1U << r ? "own" :
		    "-", rights.own, rights.own_by);
		if (RIGHTS_OTHERS & 1U << r)
			print_right(fp, conf, &p, r, "others", rights.others,
			    rights.others_by);
	}
	limits_resolve(&conf->limit_rules, &p, bounds);
	/* What is set for the clients of every user is his as well. */
	if (p.uid != 0 && bounds[LIMIT_CLIENTS].most == 0)
		bounds[LIMIT_CLIENTS].most = conf->limits.clients_user;
	fprintf(fp, "\n%-20s%-6s%-16s%s\n", "LIMIT", "OF", "MOST", "BY");
	for (l = 0; l < LIMIT_MAX; l++)
		print_limit(fp, conf, l, &bounds[l]);
	free(groups);
	return (0);
}
