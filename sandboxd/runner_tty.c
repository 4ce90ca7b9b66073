/*
 * Terminals.  The guest has them; here is the size that each is to have, of
 * which the last one counts: what waits for the guest takes no room.
 */

#include <errno.h>

#include "log.h"
#include "runner.h"

/*
 * A guest that knows no terminals would take the frame for a broken one.  The
 * store has refused what it knew of: 1 if the exec is over.
 */
int
tty_refuse(struct guest *g, struct exec *ex)
{
	if ((ex->flags & EXEC_TTY) == 0 || g->version >= GP_VERSION_TTY)
		return (0);
	exec_not_started(ex, GP_NS_ERROR, 0,
	    "the guest of this sandbox has no terminals");
	return (1);
}

/* Why one on a terminal could not be started, if that is what failed; NULL. */
const char *
tty_cause(const struct exec *ex, const struct gp_not_started *s)
{
	if ((ex->flags & EXEC_TTY) == 0 || s->cause != GP_NS_LIMIT ||
	    s->error != ENOSPC)
		return (NULL);
	return ("no terminal is left: a limit of the sandbox, or of the host, "
	    "is reached");
}

/* The size, if the guest is to be told and can be. */
void
tty_push(struct guest *g, struct exec *ex)
{
	struct gp_resize	 r;

	if (!ex->resize || g->version < GP_VERSION_TTY)
		return;
	ex->resize = 0;
	r.rows = ex->rows;
	r.cols = ex->cols;
	guest_wrote(g, gp_encode_resize(guest_room(g, 64), 64, ex->k, &r));
}

void
tty_resize(struct box *box, uint64_t k, uint32_t rows, uint32_t cols)
{
	struct guest	*g = guest_ready(box);
	struct exec	*ex = exec_find(box, k);

	if (ex == NULL || ex->over || (ex->flags & EXEC_TTY) == 0)
		return;
	ex->rows = rows;
	ex->cols = cols;
	ex->resize = 1;
	if (g == NULL || !ex->named)
		return;
	if (guest_full(g))
		box->held = 1;	/* the queue's end sends the last of them */
	else
		tty_push(g, ex);
}
