/*
 * A command's terminal: a pair of the container's own devpts.  All three of
 * its streams are the one end; the other is here, where its output is read
 * and its input written as if they were pipes.
 *
 * The command's end is held here as well.  Else the pair would be at its end,
 * for good, as soon as nobody in the sandbox has it open, though whoever has
 * it for a controlling terminal may open it again.
 */

#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "guest.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER	_IO('T', 0x41)
#endif

/* By its number a name could be somebody else's: the pair itself is asked. */
static int
tty_peer(int fd)
{
	int	 unlock = 0;

	if (ioctl(fd, TIOCSPTLCK, &unlock) == -1)
		return (-1);
	return (ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
}

static int
tty_set_size(const struct exec *e)
{
	struct winsize	 ws;

	memset(&ws, 0, sizeof(ws));
	ws.ws_row = e->rows;
	ws.ws_col = e->cols;
	return (ioctl(e->tty, TIOCSWINSZ, &ws));
}

/*
 * The pair; its own end twice, since one is read until it is empty and the
 * other written until it is full, each edge by edge.  What lies there under
 * the name of the device may be anything: nothing waits for it.
 */
static int
tty_pair(struct exec *e)
{
	int	 fd;

	fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	e->out[0].fd = fd;
	if ((e->tty = tty_peer(fd)) == -1 || tty_set_size(e) == -1 ||
	    watch_fd(fd, SRC_OUT, exec_slot(e), 1) == -1)
		return (-1);
	if ((e->flags & GP_START_INPUT) == 0) {
		input_close(e);
		return (0);
	}
	if ((e->in.fd = fcntl(fd, F_DUPFD_CLOEXEC, 4)) == -1)
		return (-1);
	return (watch_fd(e->in.fd, SRC_IN, exec_slot(e), 1));
}

/* -1 with errno: a limit, or a container without terminals. */
int
tty_open(struct exec *e)
{
	int	 error;

	if (tty_pair(e) == 0)
		return (0);
	error = errno;
	output_close(e, 0);
	tty_close(e);
	errno = error;
	return (-1);
}

void
tty_close(struct exec *e)
{
	if (e->tty != -1)
		close(e->tty);
	e->tty = -1;
}

/* Who has the terminal gets SIGWINCH, if it is a change. */
void
tty_resize(struct exec *e, uint32_t rows, uint32_t cols)
{
	if ((e->flags & GP_START_TTY) == 0)
		return;
	e->rows = rows;
	e->cols = cols;
	if (e->tty != -1)
		(void)tty_set_size(e);
}

/* In the command's first process, the leader of a new session. */
int
tty_take(void)
{
	return (ioctl(STDIN_FILENO, TIOCSCTTY, 0));
}

/*
 * A terminal has no end: its character says it, as when somebody types it.
 * In the middle of a line the first one only hands that over.  Who reads it
 * key by key knows of no end.
 */
static void
tty_eofs(struct exec *e)
{
	struct input	*in = &e->in;
	struct termios	 t;

	in->ended = 1;
	if (tcgetattr(e->tty, &t) == -1 || (t.c_lflag & ICANON) == 0 ||
	    t.c_cc[VEOF] == _POSIX_VDISABLE)
		return;
	in->eofs[0] = in->eofs[1] = t.c_cc[VEOF];
	in->neofs = in->end == 0 || in->last == '\n' || in->last == '\r' ||
	    in->last == t.c_cc[VEOF] ? 1 : 2;
}

void
tty_input_end(struct exec *e)
{
	struct input	*in = &e->in;
	ssize_t		 n;

	if (!in->ended)
		tty_eofs(e);
	while (in->neofs > 0) {
		n = write(in->fd, in->eofs, in->neofs);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return;
		if (n <= 0)
			break;
		in->neofs -= n;
	}
	input_close(e);
}
