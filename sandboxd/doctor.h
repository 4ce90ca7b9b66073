/*
 * What protects the host, as controls that are judged from facts.  Nothing
 * here looks anywhere itself.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <sys/types.h>

#include "sandboxd.h"

enum judgement {
	ENFORCED,
	DEGRADED,
	ABSENT
};

struct doctor_facts {
	const struct proto_proc	*procs;		/* the parent's word */
	size_t			 nprocs;
	const struct msg_host	*host;
	const struct msg_engine	*engine;	/* the broker's */
	const struct msg_conf	*conf;
	const char		*damage;	/* of the event log, or "" */
};

/* Of one sandbox. */
struct doctor_box {
	const struct msg_facts	*facts;		/* NULL: it never started */
	const struct proto_create *conf;	/* as it was asked for */
	/* What its guest reads, 0: no limit, or none to be read. */
	uint64_t		 memory;
	uint32_t		 mcpus;
	uint32_t		 pids;
	int			 unread;	/* no guest since they changed */
};

/* The judgement of control number i; 0 when there is no such number. */
int	 doctor_judge(size_t, const struct doctor_facts *,
	    struct proto_control *);
int	 doctor_judge_box(size_t, const struct doctor_box *,
	    struct proto_control *);

/* For those who judge. */
void	 doctor_proof(struct proto_control *, const char *, ...)
	    __attribute__((__format__(printf, 2, 3)));
void	 doctor_state(struct proto_control *, const char *, enum judgement,
	    const char *);

#endif /* DOCTOR_H */
