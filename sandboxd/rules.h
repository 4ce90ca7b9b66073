/*
 * Who may do what: the rights, the rules that give and take them, and what
 * these come to for one user.
 *
 * The parent resolves them when a session begins, from what the kernel says
 * of the peer; the store judges each request by what came out.
 */
#ifndef RULES_H
#define RULES_H

#include <sys/queue.h>

#include <stddef.h>
#include <stdint.h>

/* Bits of them travel between processes; none is in the database. */
enum right {
	RIGHT_CREATE,
	RIGHT_EXEC,
	RIGHT_FILES,
	RIGHT_STOP,
	RIGHT_DELETE,
	RIGHT_EVENTS,
	RIGHT_IMAGES,
	RIGHT_ADMIN,
	RIGHT_MAX
};

#define RIGHTS_ALL	((1U << RIGHT_MAX) - 1)
/* Those about sandboxes: what "allow" gives that names none. */
#define RIGHTS_SANDBOX	(RIGHTS_ALL & ~(1U << RIGHT_IMAGES | \
			    1U << RIGHT_ADMIN))
/* Those that can be had on the sandboxes of others. */
#define RIGHTS_OTHERS	(RIGHTS_SANDBOX & ~(1U << RIGHT_CREATE))

enum who {
	WHO_ANY,
	WHO_USER,
	WHO_GROUP
};

/* Whom a line of the configuration is about. */
struct rule_who {
	enum who	 who;
	char		*name;		/* as it was written; NULL: any */
	uint32_t	 id;
};

struct right_rule {
	TAILQ_ENTRY(right_rule)	 entry;
	struct rule_who		 w;
	int			 allow;
	uint32_t		 rights;	/* bits */
	int			 all;		/* others' sandboxes too */
	uint32_t		 place;		/* of the configuration, from 1 */
};
TAILQ_HEAD(right_rules, right_rule);

/* A peer, in the words of the kernel. */
struct rule_peer {
	uint32_t	 uid;
	uint32_t	 gid;
	const uint64_t	*groups;
	size_t		 ngroups;
};

/* What it may; the place that says so, 0: no rule does. */
struct rights {
	uint32_t	 own;		/* bits: on its own sandboxes */
	uint32_t	 others;	/* on those of others */
	uint32_t	 own_by[RIGHT_MAX];
	uint32_t	 others_by[RIGHT_MAX];
};

const char	*right_name(enum right);
/* The place for people: one without a number is the default, or root. */
const char	*right_by(const char *place, uint32_t uid);
int		 rule_matches(const struct rule_who *, const struct rule_peer *);
/* The last that matches wins.  Root may everything, whatever they say. */
void		 rules_resolve(const struct right_rules *, const struct rule_peer *,
		    struct rights *);
/* Does the second have all that the first has? */
int		 rights_kept(const struct rights *, const struct rights *);

#endif
