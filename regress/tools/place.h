/*
 * A folder of a test's own, files in it, and a place for what a tool tells.
 */
#ifndef PLACE_H
#define PLACE_H

#include <sys/types.h>

#include <stdint.h>

struct text {
	char	*p;
	size_t	 len;
	size_t	 size;
};

/* Makes the folder, enters it and returns it opened. */
int	 place_new(void);
/* A file with its parents; len -1: p is a string. */
void	 place_file(const char *, const void *, ssize_t);
void	 place_dir(const char *);
/* The file is exactly this. */
int	 place_is(const char *, const void *, ssize_t);
/* How many entries a folder has. */
int	 place_count(const char *);
/* Root becomes this user, and itself again: before the end, at the latest. */
void	 place_user(uid_t);

void	 text_add(struct text *, const void *, size_t);
int	 text_put(void *, const void *, size_t);	/* as of a sink */
int	 text_is(struct text *, const char *);		/* and empties it */

#endif
