/*
 * Output of calls in large frames: its head is read, and what follows goes on
 * from the guest's socket into the client's pipe without a copy.  What the pipe
 * does not take is read and kept as ever, so that no client who is slow holds
 * up the others of its sandbox.
 *
 * Pages of the sandbox's own files may be in the pipe by that.  A sandbox that
 * changes them changes what the client reads, as it could before it sent them.
 */

#include <sys/types.h>

#include <fcntl.h>
#include <stdint.h>

#include "rights.h"
#include "runner.h"

#define POUR_MIN	(16 * 1024)	/* less is as well copied */

static uint8_t	 copied[GP_MAX_DATA];

/*
 * The first bytes of a frame, which has not come as a whole: how many of them
 * were used, all or none; -1 if the guest may not send it, and is gone.
 */
ssize_t
pour_begin(struct guest *g, const uint8_t *p, size_t len)
{
	struct gp_output	 m;
	struct gp_frame		 f;
	struct call		*c;

	if (g->phase != GUEST_READY || len < GP_OUTPUT_HEAD ||
	    gp_decode_output_head(&m, &f, p, GP_OUTPUT_HEAD) == -1 ||
	    !(f.k & GP_CALL_BIT) || m.len < POUR_MIN)
		return (0);
	g->why = NULL;
	if ((c = pass_output_of(g, &f, &m)) == NULL) {
		guest_wrong(g, &f);
		return (-1);
	}
	g->pour.k = f.k;
	g->pour.left = m.len - (len - GP_OUTPUT_HEAD);
	pass_output(c, p + GP_OUTPUT_HEAD, len - GP_OUTPUT_HEAD);
	return (len);
}

/* Into the pipe, if nothing else is to go there first. */
static ssize_t
pour_splice(struct guest *g, struct call *c)
{
	ssize_t	 n;

	if (c == NULL || !pass_is_open(c))
		return (0);
	rights_begin(g->fd);
	n = splice(g->fd, NULL, c->wfd, NULL, g->pour.left,
	    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	(void)rights_end();
	if (n <= 0)
		return (0);
	pass_poured(c, n);
	return (n);
}

/* As guest_take(): the next bytes of that frame. */
ssize_t
pour_more(struct guest *g)
{
	struct call	*c = call_find(g->box, g->pour.k);
	ssize_t		 n;

	if ((n = pour_splice(g, c)) == 0) {
		/* The pipe is full, or has no reader, or there is no more. */
		n = guest_take(g, copied, g->pour.left);
		if (n > 0 && c != NULL)
			pass_output(c, copied, n);
	}
	if (n <= 0)
		return (n);
	g->pour.left -= n;
	g->box->quiet.heard = 1;
	if (g->pour.left == 0)
		g->box->halved = 0;
	return (n);
}
