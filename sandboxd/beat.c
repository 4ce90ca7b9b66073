/*
 * Is each child still at work?  The parent asks every few seconds, and the
 * child's loop answers.  One that does not is told of, and then replaced with
 * its set: a process that hangs must not take the service with it for ever.
 *
 * Rounds are counted, not seconds: if the parent itself was stopped, or the
 * machine slept, that was one round, and nobody is blamed for it.
 */

#include <sys/types.h>

#include <stdlib.h>

#include <event.h>

#include "log.h"
#include "parent.h"

#define BEAT_MS		5000
#define BEAT_LATE	3		/* rounds until it is told */
#define BEAT_DEAD	6		/* until it is ended */

static struct event	 ev_beat;
static unsigned long	 beat_ms = BEAT_MS;

static void
beat_arm(void)
{
	struct timeval	 tv;

	tv.tv_sec = (time_t)(beat_ms / 1000);
	tv.tv_usec = (suseconds_t)(beat_ms % 1000 * 1000);
	evtimer_add(&ev_beat, &tv);
}

static void
beat_one(struct child *c)
{
	if (!c->open || c->condemned || c->mute)
		return;
	/* What it does before its log is open may take long, and has no end. */
	if (c->role == ROLE_STORE && !c->opened)
		return;
	if (!c->asked) {
		c->asked = 1;
		c->missed = 0;
		parent_send(c->role, MSG_BEAT, 0, 0, 0, -1, NULL);
		return;
	}
	c->missed++;
	if (c->missed == BEAT_LATE)
		log_warnx("%s[%d] has not answered for %lu seconds", c->name,
		    (int)c->pid, BEAT_LATE * beat_ms / 1000);
	else if (c->missed >= BEAT_DEAD)
		parent_condemn(c, "does not answer");
}

static void
beat_round(int fd, short event, void *arg)
{
	enum role	 r;

	(void)fd;
	(void)event;
	(void)arg;
	if (!parent_running())
		return;
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		beat_one(&env.child[r]);
	beat_arm();
}

/* A set has begun to work. */
void
beat_start(void)
{
	enum role	 r;
#ifdef FAULTS
	const char	*v;

	if ((v = getenv("SANDBOXD_BEAT")) != NULL)
		beat_ms = strtoul(v, NULL, 10);
#endif
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		env.child[r].asked = env.child[r].missed = 0;
	evtimer_del(&ev_beat);
	beat_arm();
}

/* Its answer; -1: nobody has asked. */
int
beat_recv(struct child *c)
{
	if (!c->asked)
		return (-1);
	if (c->missed >= BEAT_LATE)
		log_info("%s[%d] answers again", c->name, (int)c->pid);
	c->asked = c->missed = 0;
	return (0);
}

void
beat_init(void)
{
	evtimer_set(&ev_beat, beat_round, NULL);
}
