/*
 * What can be wrong with a message, made from the table of its fields.
 */
#ifndef CASES_H
#define CASES_H

#include <stdint.h>

#include "msg.h"

/* What must come of it. */
enum verdict {
	ANY,		/* it may be good */
	REFUSED,	/* and the field is named, if there is one */
	WRONG		/* refused, whatever is said */
};

struct evil {
	const struct msg_def	*def;
	const char		*field;		/* NULL: the whole body */
	char			 what[96];
	enum verdict		 verdict;
	msgpack_sbuffer		 body;
};

/*
 * Names: whose sandbox and command the good fields have, so that what is
 * wrong meets something that is there.
 */
struct evil_names {
	const char	*sandbox;
	const char	*exec;
};

/* Calls f for each; the bodies are freed after it. */
void	evil_cases(const struct msg_def *, const struct evil_names *,
	    void (*f)(const struct evil *, void *), void *);

/* The field by which a request names a sandbox or a command, or NULL. */
const struct msg_field	*evil_name(const struct msg_def *);

/* A request for that name, with what else must be there. */
void	evil_ask(msgpack_sbuffer *, const struct msg_def *, const char *);

#endif
