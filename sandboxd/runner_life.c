/*
 * Whether a guest is alive, by the kernel's word: a descriptor of its process,
 * which becomes readable when that has ended, whoever has its number by then.
 *
 * It comes with the guest's connection: of the process that connected, or on
 * older kernels by that one's number, which is its own still if afterwards the
 * connection, which nobody else has, is open.  A kernel that has neither says
 * nothing, and then the Engine alone tells.
 *
 * A guest is process 1 of its sandbox, and ends after all others of it.
 */

#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "confine.h"
#include "fault.h"
#include "runner.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open	434
#endif

static int
life_open(int fd, uint32_t pid)
{
	struct pollfd	 p = { .fd = fd, .events = 0 };
	socklen_t	 len = sizeof(int);
	int		 pidfd;

	if (!confine_lacks("peerpidfd") && getsockopt(fd, SOL_SOCKET,
	    SO_PEERPIDFD, &pidfd, &len) == 0 && len == sizeof(pidfd))
		return (pidfd);
	if (confine_lacks("pidfd") ||
	    (pidfd = syscall(SYS_pidfd_open, pid, 0)) == -1)
		return (-1);
	if (poll(&p, 1, 0) != 0) {
		close(pidfd);
		return (-1);
	}
	return (pidfd);
}

static void
life_over(int fd, short event, void *arg)
{
	struct box	*box = arg;

	(void)fd;
	(void)event;
	life_end(box);
	box->dead = 1;
	/* What it has sent comes first, and then the end of its connection. */
	if (box->guest == NULL)
		life_tell(box);
}

/* It has said hello: the process that connected is the guest. */
void
life_begin(struct box *box, int fd, uint32_t pid)
{
	if (box->pidfd != -1 || (box->pidfd = life_open(fd, pid)) == -1)
		return;
	event_set(&box->death, box->pidfd, EV_READ, life_over, box);
	event_add(&box->death, NULL);
}

void
life_end(struct box *box)
{
	if (box->pidfd == -1)
		return;
	event_del(&box->death);
	close(box->pidfd);
	box->pidfd = -1;
}

/*
 * One that was here before us, and has not come again: if nobody has its
 * number it is dead.  Who has it may be another one.
 */
void
life_look(struct box *box)
{
	int	 fd;

	if (box->pid == 0 || box->boot == 0 || box->pidfd != -1 ||
	    confine_lacks("pidfd"))
		return;
	if ((fd = syscall(SYS_pidfd_open, box->pid, 0)) != -1)
		close(fd);
	else if (errno == ESRCH) {
		box->dead = 1;
		life_tell(box);
	}
}

/* Once for each guest: its end, behind that of its connection. */
void
life_tell(struct box *box)
{
	struct msg_guest_gone	 m = { 0 };

	m.n = box->n;
	m.dead = 1;
	m.boot = box->boot;
	fault("runner.dead.before");
	pipe_send(&ch_store, MSG_GUEST_GONE, 0, 0, 0, -1, &m);
}
