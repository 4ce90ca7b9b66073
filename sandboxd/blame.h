/* Who makes a process crash, as the parent keeps it. */
#ifndef BLAME_H
#define BLAME_H

#include <stdint.h>

#include "sandboxd.h"

int		 blame_page(void);	/* a descriptor for a child, or -1 */
uint64_t	 blame_read(int);
uint64_t	 blame_forbidden(int);
int		 blame_is_crash(int sig);
void		 blame_crash(enum role, uint64_t who, uint64_t now);
int		 blame_is_out(uint64_t uid, uint64_t now);
int		 blame_next(uint64_t *n);

#endif
