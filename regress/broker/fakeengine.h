/*
 * An Engine that does what a script says, for the answers that a real one
 * gives once in a year.  What the script does not name it does well: it keeps
 * containers in memory and shows them as the real one does.  It has every
 * image; one whose name begins with "arm" is of that architecture.
 */
#ifndef FAKEENGINE_H
#define FAKEENGINE_H

#include <sys/types.h>

enum fake_how {
	FAKE_ANSWER,	/* status and body; nothing is done */
	FAKE_HALF,	/* does it, and breaks off in the answer */
	FAKE_CUT,	/* does it, and closes without a word */
	FAKE_MUTE,	/* does it, and says nothing while the caller waits */
	FAKE_AFTER,	/* does it when the caller has given up */
	FAKE_TAKEN,	/* a create: another operation of ours has the name */
	FAKE_RAW,	/* these bytes, and closes */
	FAKE_STREAM,	/* these bytes, and no end */
	FAKE_BIG,	/* a body of 1 GiB */
	FAKE_REFUSE,	/* does nothing, and closes without a word */
	FAKE_ENDLESS,	/* JSON without an end */
	FAKE_HEADERS,	/* headers without an end */
	FAKE_LATE	/* no answer while the caller waits */
};

/* The ID of its container. */
#define FAKE_ID		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

struct fake_rule {
	const char	*request;	/* "METHOD /path": its beginning */
	int		 times;		/* so often, then it is as usual */
	enum fake_how	 how;
	int		 status;
	const char	*body;		/* ANSWER, RAW, STREAM; NULL: none */
};

struct fake {
	pid_t		 pid;
	char		 sock[100];
	int		*seen;		/* by rule: how often it was asked */
};

/* The rules end with one without a request. */
void	 fake_start(struct fake *, const char *, const struct fake_rule *);
void	 fake_stop(struct fake *);

#endif /* FAKEENGINE_H */
