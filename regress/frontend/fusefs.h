/*
 * A file system of a client's own, which nobody else sees.  It lets only the
 * client close its file: who else had it, and closes it, is never answered.
 */
#ifndef FUSEFS_H
#define FUSEFS_H

#include <sys/types.h>

/*
 * A file of it for this process, which leaves its name spaces for that; the
 * server ends with it.  -1 with errno: there is no FUSE here.
 */
int	 fusefs_open(const char *device, pid_t *server);
/*
 * A process with that file open, which sends it beside the bytes and then
 * closes it.  0: there is no FUSE here.
 */
pid_t	 fusefs_send(int sock, const void *, size_t);
/* Ends both; nobody waits for the file system from then on. */
void	 fusefs_end(void);

#endif
