/*
 * Who may say what to whom: every message, by ranges that end where the next
 * ones begin, so that a new message is played without a word here.  One that
 * is in no range fails t_messages.
 */
#ifndef EVIL_SAYS_H
#define EVIL_SAYS_H

#include <stddef.h>
#include <stdint.h>

struct evil_says {
	const char	*from;
	const char	*to;
	uint32_t	 first;
	uint32_t	 end;		/* the first that it is not */
};

extern const struct evil_says	 evil_says[];
extern const size_t		 evil_nsays;

/* Does anybody say that?  from or to NULL: whoever. */
int	 evil_said(const char *from, const char *to, uint32_t type);

#endif
