/*
 * A history that the store's own library writes, without a daemon: sandboxes
 * that were made, ran commands, and were deleted or not.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include "logverify.h"
#include "store.h"

#define HISTORY_UID	1234
#define HISTORY_BOX	4	/* events of a deleted one beside its execs' */

/* A new folder, until the next one is asked for. */
const char	*history_home(void);
void	history_open(const char *home);
void	history_close(void);
/* One more, with so many execs; live ones are ready, and the last runs. */
void	history_box(u_int execs, int live);
void	history_write(void);	/* what is queued */
/* The proof, until it is through; the longest slice in ms, if not NULL. */
int	history_prove(struct logverify *, double *longest);
double	history_seconds(void);

#endif
