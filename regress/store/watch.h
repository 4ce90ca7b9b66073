/* What a client of the ring asks for, and waits for until it is so. */
#ifndef WATCH_H
#define WATCH_H

#include "ring.h"

/* Another pipe's messages come when they come: is there time for one more? */
int	 watch_again(int *tries);
/* The sandbox, to be given to ring_done(). */
void	 watch_show(const char *, struct got *);
/* It comes to be in that state, with a cause that begins so. */
void	 watch_cause(const char *, const char *, const char *);
/* The log comes to have so many of such events of it ("": of the host). */
void	 watch_count(const char *, const char *, int);
/* Nobody knows it any more. */
void	 watch_gone(const char *);
/* A create that waits is answered when it is ready: its number. */
uint64_t watch_ready(uint32_t);
/* A request for the sandbox is accepted. */
void	 watch_ask(uint32_t, const char *);
/* The siblings' part of its stop, from the order to the guest. */
void	 watch_stop(uint64_t);

#endif
