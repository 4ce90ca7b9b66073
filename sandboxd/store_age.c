/*
 * How old events are.  The time that an event has in it is the wall clock's,
 * which anybody may have set; so beside the events there are rows that say
 * what the log's own clock (store_times.c) was when one of them was written:
 * at most one an hour, and more often if a history is not kept for long.
 *
 * An event is as old as such a row says that is the event's own or that of a
 * later one: it may be older, but is never younger.
 */
#include <sys/types.h>

#include <stdio.h>
#include <string.h>

#include "store.h"

#define MS		1000000ULL		/* ns */
#define AGE_STEP	(3600000 * MS)		/* between two rows, at most */
#define AGE_LEAST	(100 * MS)		/* and at least */
#define AGE_PARTS	8			/* of the time that is kept */
#define AGE_SLICE	256			/* rows that go in one batch */

static struct {
	uint64_t	 seq;		/* that the last row is about */
	uint64_t	 life;		/* the log's clock then; 0: none yet */
} age;

struct age_walk {
	uint64_t	 until;		/* what was written then is old */
	uint64_t	 seq[AGE_SLICE];
	u_int		 n;
};

static uint64_t
age_step(void)
{
	uint64_t	 step = st.conf.retain_history * MS / AGE_PARTS;

	if (step > AGE_STEP)
		step = AGE_STEP;
	return (step > AGE_LEAST ? step : AGE_LEAST);
}

/* The newest event is this old, and so are all before it. */
int
age_note(struct batch *b)
{
	uint64_t	 now = times_now();

	if (b->log->seq == age.seq ||
	    (age.life != 0 && now - age.life < age_step()))
		return (BATCH_REFUSED);
	batch_keep(b, &age, sizeof(age));
	age.seq = b->log->seq;
	age.life = now;
	/* In the same batch: the clock never goes on from before it. */
	times_note_now();
	if (times_note(b) != BATCH_OK)
		return (BATCH_FAIL);
	return (model_put_age(b, age.seq, age.life));
}

/* In the order of the events, and so in that of the clock. */
static int
age_walk(void *arg, uint64_t seq, uint64_t life)
{
	struct age_walk	*w = arg;

	if (life > w->until || w->n == AGE_SLICE)
		return (1);
	w->seq[w->n++] = seq;
	return (0);
}

/*
 * The newest event that is older than that, in ns; 0: none is known to be.
 * Rows that say less than another one go.
 */
int
age_before(struct batch *b, uint64_t keep, uint64_t *seq)
{
	struct age_walk	 w;
	uint64_t	 now = times_now();
	u_int		 i;

	*seq = 0;
	if (keep > now)
		return (BATCH_REFUSED);
	w.n = 0;
	w.until = now - keep;
	if (model_walk_ages(&st.model, age_walk, &w) == -1)
		return (BATCH_FAIL);
	for (i = 0; i + 1 < w.n; i++)
		if (model_del_age(b, w.seq[i]) != BATCH_OK)
			return (BATCH_FAIL);
	if (w.n > 0)
		*seq = w.seq[w.n - 1];
	return (w.n > 1 ? BATCH_OK : BATCH_REFUSED);
}
