/*
 * fakes.h: a broker on an Engine that misbehaves by rules, and what is asked
 * of it.
 */

#ifndef FAKES_H
#define FAKES_H

#include <atf-c.h>
#include <stdlib.h>
#include <string.h>

#include "fakeengine.h"
#include "testbroker.h"

#define INSPECT		"GET /v1.41/containers/"
#define CREATE		"POST /v1.41/containers/create"
#define START		"POST /v1.41/containers/aaaa"
#define REMOVE		"DELETE /v1.41/containers/"
#define PAUSE		"POST /v1.41/containers/" FAKE_ID "/pause"
#define UNPAUSE		"POST /v1.41/containers/" FAKE_ID "/unpause"
#define UPDATE		"POST /v1.41/containers/" FAKE_ID "/update"

extern struct tb		 tb;
extern struct fake		 fake;
extern struct msg_box_create	 req;
extern union answer		 m;	/* the last one */

/* Short where a rule is late, else long enough for a machine under load. */
extern uint64_t			 deadline;
extern int			 foreign;	/* an image for others */

#define RULES(...)	(const struct fake_rule []){ __VA_ARGS__, { 0 } }

void	 begin(const struct fake_rule *);
void	 end(void);
void	 need(uint32_t, uint32_t);
void	 order(uint32_t, uint32_t);
/* A create of which the rules make a failure. */
void	 fails(const struct fake_rule *, enum code, const char *, int);
/* A create which succeeds all the same, and a whole life after it. */
void	 lives(const struct fake_rule *);

#endif
