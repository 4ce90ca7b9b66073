/*
 * A frontend with one client that behaves well, beside whom others do not.
 */
#ifndef BESIDE_H
#define BESIDE_H

#include "harness.h"

extern struct fe	 fe;
extern struct cl	 good;
extern uint32_t		 good_req;	/* the last number it used */

void	 begin(void);
/* The bad one is gone, with what it had asked; the good one is served. */
void	 alive(void);
void	 finish(void);

#endif
