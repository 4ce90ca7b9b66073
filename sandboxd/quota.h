/*
 * How much a user may have: the limits, the lines that set them, what these
 * come to for one user, and the bucket that measures a rate.
 */
#ifndef QUOTA_H
#define QUOTA_H

#include <sys/queue.h>

#include <stddef.h>
#include <stdint.h>

#include "rules.h"

/* Their numbers travel between processes; none is in the database. */
enum limit {
	LIMIT_SANDBOXES,
	LIMIT_EXECS,
	LIMIT_MEMORY,		/* sums over sandboxes ... */
	LIMIT_CPUS,
	LIMIT_PIDS,
	LIMIT_DISK,
	LIMIT_MEMORY_EACH,	/* ... and of each of them */
	LIMIT_CPUS_EACH,
	LIMIT_PIDS_EACH,
	LIMIT_DISK_EACH,
	LIMIT_CREATES,		/* rates */
	LIMIT_REQUESTS,
	LIMIT_CLIENTS,
	LIMIT_SUBSCRIPTIONS,
	LIMIT_LOG,		/* bytes; the runner holds to it */
	LIMIT_MAX
};

/* most 0: none. */
struct bound {
	uint64_t	 most;		/* bytes, thousandths, or a number */
	uint64_t	 per;		/* ms, of a rate */
	uint32_t	 place;		/* the line that says so, 0: none */
};

struct limit_rule {
	TAILQ_ENTRY(limit_rule)	 entry;
	struct rule_who		 w;
	enum limit		 limit;
	struct bound		 b;
};
TAILQ_HEAD(limit_rules, limit_rule);

struct u64v;

const char	*limit_name(enum limit);
int		 limit_is_rate(enum limit);
/* A value of it for people. */
void		 limit_text(enum limit, uint64_t, char *, size_t);
/* For each the last that matches wins; root only by its own name. */
void		 limits_resolve(const struct limit_rules *,
		    const struct rule_peer *, struct bound *);

/* All of them as numbers, and back; -1 if they are none. */
int		 bounds_pack(struct u64v *, const struct bound *);
int		 bounds_unpack(struct bound *, const struct u64v *);

/*
 * A bucket that holds `most' and is filled again in `per' ms: 0 if there was
 * one left, else how many ms until there is.  The bucket is a point in time,
 * in ns; 0 is a full one.
 */
uint64_t	 limit_rate(uint64_t *, const struct bound *, uint64_t);

#endif
