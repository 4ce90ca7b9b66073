/*
 * Clocks that a test sets, for the store as well, which is its child: the
 * definition here stands in the place of the C library's.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#define CLOCK_S		1000000000LL		/* ns */
#define CLOCK_HOUR	(3600 * CLOCK_S)
#define CLOCK_YEAR	(365 * 24 * CLOCK_HOUR)

/* Before the store is started. */
void	 clock_make(void);
/* The wall clock is that far from the real one. */
void	 clock_wall(int64_t ns);
/* So much time passes; the wall clock sees it too. */
void	 clock_pass(int64_t ns);
/* The host was started just now: what counts from there begins anew. */
void	 clock_boot(void);
/* What has passed since clock_make(), in ms. */
uint64_t clock_passed(void);

#endif
