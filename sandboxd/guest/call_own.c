/*
 * Calls of our own, about what an exec changes, which a worker carries out as
 * it does the runner's.
 */

#include <sys/socket.h>

#include <errno.h>
#include <unistd.h>

#include "call_int.h"
#include "guest.h"

/* A call of our own, about an exec, with the mark that it needs. */
int
call_own(uint64_t exec, const struct gp_call *m, int fd)
{
	static uint8_t	 buf[GP_HDRLEN + GP_MAX_CALL];
	uint64_t	 k = exec | CALL_OWN | GP_CALL_BIT;
	ssize_t		 n;

	n = gp_encode_call(buf, sizeof(buf), k, m);
	return (n == -1 || call_give(k, m, buf, n, fd) == NULL ? -1 : 0);
}

/* Nobody waits for it any more. */
void
call_own_drop(uint64_t exec)
{
	struct call	*c = call_find(exec | CALL_OWN | GP_CALL_BIT);

	if (c != NULL)
		call_leave(c);
}

/* A packet of one of ours.  1: there may be more; 0: it is over. */
static int
own_packet(struct call *c, const uint8_t *buf, size_t n, int fd)
{
	struct gp_call_end	 e;
	struct gp_output	 m;
	struct gp_frame		 f;
	uint64_t		 k = c->k & ~(CALL_OWN | GP_CALL_BIT);
	int			 over = 0;

	if (call_check(c, buf, n, &over) && gp_get(&f, buf, n,
	    GP_GUEST) == 1) {
		if (!over && fd == -1 && gp_decode_output(&m, &f) == 0 &&
		    changed_take(k, m.data, m.len) == 0)
			return (1);
		if (over && gp_decode_call_end(&e, &f) == 0) {
			call_release(c);
			changed_end(k, e.code, e.text, fd);
			return (0);
		}
	}
	if (fd != -1)
		close(fd);
	call_leave(c);
	changed_end(k, CODE_IO_ERROR, "its process failed", -1);
	return (0);
}

/* No runner is needed for them, so they wait for none. */
void
call_own_event(struct call *c)
{
	static uint8_t	 buf[GP_MAX_FROM_GUEST];
	uint64_t	 k = c->k & ~(CALL_OWN | GP_CALL_BIT);
	ssize_t		 n;
	int		 fd;

	do {
		n = packet_get(c->ctl, buf, sizeof(buf), &fd, MSG_DONTWAIT);
		if (n == -1 && errno == EAGAIN)
			return;
		if (n == 0 || (n == -1 && errno != EINTR)) {
			call_leave(c);
			changed_end(k, CODE_IO_ERROR, "its process was killed",
			    -1);
			return;
		}
	} while (n == -1 || own_packet(c, buf, n, fd));
}
