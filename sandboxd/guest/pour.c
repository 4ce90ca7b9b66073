/*
 * Output that lies in a pipe of a worker's: PID 1 passes the head of its frame
 * on, as it came, and splices what follows to the link.  Until that has left
 * nothing else may enter there.
 */

#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "guest.h"

/* What follows the head that is said last. */
static struct {
	int	 pipe;
	size_t	 left;
	int	 last;		/* and then the pipe is closed */
} pour;

/*
 * A head has been said.  What does not lie in the pipe already could be waited
 * for in vain, with the link held up: -1.
 */
int
pour_begin(int pipe, size_t len)
{
	struct stat	 st;
	int		 have;

	if (fstat(pipe, &st) == -1 || !S_ISFIFO(st.st_mode) ||
	    ioctl(pipe, FIONREAD, &have) == -1 || have < 0 ||
	    (size_t)have < len)
		return (-1);
	pour.pipe = pipe;
	pour.left = len;
	pour.last = 0;
	return (0);
}

int
pour_busy(void)
{
	return (pour.left > 0);
}

/* 1: some of it has left; 0: the link takes no more; -1: it is useless now. */
int
pour_out(int link)
{
	ssize_t	 n;
	int	 have;

	n = splice(pour.pipe, NULL, link, NULL, pour.left,
	    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n > 0) {
		pour.left -= n;
		if (pour.left == 0 && pour.last)
			close(pour.pipe);
		return (1);
	}
	if (n == -1 && errno == EINTR)
		return (1);
	/* Either end may be meant: nobody would ever fill the pipe. */
	if (n == -1 && errno == EAGAIN && ioctl(pour.pipe, FIONREAD,
	    &have) == 0 && have > 0)
		return (0);
	return (-1);
}

/* The call that has the pipe is over. */
void
pour_close(int pipe)
{
	if (pour.left > 0 && pipe == pour.pipe)
		pour.last = 1;
	else
		close(pipe);
}

/* The link is lost. */
void
pour_down(void)
{
	if (pour.left > 0 && pour.last)
		close(pour.pipe);
	pour.left = 0;
}
