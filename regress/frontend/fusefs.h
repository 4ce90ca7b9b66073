/* A file system of a client's own that answers until its file is open. */
#ifndef FUSEFS_H
#define FUSEFS_H

#include <sys/types.h>

/*
 * A process with that file open, which sends it beside the bytes and then
 * closes it, for which it waits for ever.  0: there is no FUSE here.
 */
pid_t	 fusefs_send(int sock, const void *, size_t);
/* Ends both; nobody waits for the file system from then on. */
void	 fusefs_end(void);

#endif
