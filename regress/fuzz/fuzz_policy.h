/*
 * The policy that the files of the broker's tests were made with, and the
 * container in them.
 */
#ifndef FUZZ_POLICY_H
#define FUZZ_POLICY_H

#include "policy.h"

/* Sets the policy; the container inspected, and as it was asked for. */
json_t	*fuzz_policy(struct policy *, struct msg_box_create *,
	    struct policy_box *);
/* A file of theirs. */
json_t	*fuzz_policy_file(const char *);

#endif
