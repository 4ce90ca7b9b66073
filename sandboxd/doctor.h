/*
 * What protects the host, as controls that are judged from facts.  Nothing
 * here looks anywhere itself.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <sys/types.h>

#include "sandboxd.h"

struct doctor_facts {
	const struct proto_proc	*procs;		/* the parent's word */
	size_t			 nprocs;
	const struct msg_host	*host;
	const struct msg_engine	*engine;	/* the broker's */
	const struct msg_conf	*conf;
};

/* The judgement of control number i; 0 when there is no such number. */
int	 doctor_judge(size_t, const struct doctor_facts *,
	    struct proto_control *);

#endif /* DOCTOR_H */
