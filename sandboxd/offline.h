/*
 * Between the parent and the child that reads an event log while no daemon
 * runs.
 */
#ifndef OFFLINE_H
#define OFFLINE_H

#include "logdump.h"

#define OFFLINE_DUMP_FD	5	/* the dump to be read, or nothing */

/* In one write of the child's, into a pipe that is empty. */
struct offline_outcome {
	int			 ok;
	struct logdump_result	 r;
	char			 why[400];	/* unless it is ok */
};

/* Runs in the child, after it has dropped its rights. */
typedef void	(*offline_fn)(struct offline_outcome *);

/* offline.c, in the parent */
void	offline_log_verify(offline_fn) __attribute__((__noreturn__));
void	offline_log_restore(const char *, offline_fn)
	    __attribute__((__noreturn__));

/* log_offline.c, in the child */
void	log_offline_verify(struct offline_outcome *);
void	log_offline_restore(struct offline_outcome *);

#endif
