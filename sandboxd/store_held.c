/*
 * A sandbox that is held: what it is to be given comes before anybody may take
 * it for ready.  Its guest is there, calls are taken, and who has made it says
 * by RESUME when that is all.
 *
 * After a start it is held again, since nobody knows how much has survived of
 * what it had been given: its container is made anew.
 */
#include <sys/types.h>

#include "store.h"

/*
 * The same time again, since who gives it something is not late; but it lives
 * no longer for that.
 */
static void
held_time(struct sandbox *sb)
{
	uint64_t	 now = times_now(), ms = st.conf.t_create, left;

	if (sb->t.until != 0) {
		left = sb->t.until > now ? (sb->t.until - now) / 1000000 : 0;
		if (left < ms)
			ms = left;
	}
	op_time(sb, ms);
}

/* The step of its operation, once its guest has come. */
void
held_begin(struct sandbox *sb)
{
	if (sb->conf == NULL || !sb->conf->hold || sb->letgo) {
		op_next(sb);
		return;
	}
	held_time(sb);
	wait_held(sb);
}

/* Nothing holds it any more, if its guest is here. */
void
held_end(struct sandbox *sb)
{
	if (op_is_held(sb) && sb->letgo && sb->op.hello)
		op_next(sb);
}

/* Whose word comes before its guest has it not held at all. */
void
held_let_go(struct sandbox *sb)
{
	sb->letgo = 1;
	held_end(sb);
}

/* The last of its calls is over. */
void
held_worked(struct sandbox *sb)
{
	if (op_is_held(sb))
		held_time(sb);
}

/* Its time is over, unless it is being given something. */
void
held_late(struct sandbox *sb)
{
	if (sb->ncalls > 0 &&
	    (sb->t.until == 0 || sb->t.until > times_now() + 1000000))
		held_time(sb);
	else
		op_fail(sb, CODE_DEADLINE_EXCEEDED,
		    "it was held, and not resumed in time");
}
