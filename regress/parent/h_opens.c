/*
 * Who opens a file of a directory: h_opens directory
 *
 * Prints "ready", then for each open(2) of a file in it the user and the
 * program of the process, before the open is let through: a process cannot be
 * gone by then.  Ends when its standard input does; with status 3 at once if
 * the kernel has no such thing.
 */

#include <sys/fanotify.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
tell(int pid)
{
	char	 path[64], line[256], name[64] = "?", uid[64] = "?";
	FILE	*f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if ((f = fopen(path, "re")) != NULL) {
		while (fgets(line, sizeof(line), f) != NULL) {
			(void)sscanf(line, "Name: %63s", name);
			/* That of the file system is the last. */
			(void)sscanf(line, "Uid: %*s %*s %*s %63s", uid);
		}
		fclose(f);
	}
	printf("uid %s %s\n", uid, name);
	fflush(stdout);
}

static void
events(int fd)
{
	static char				 buf[65536];
	const struct fanotify_event_metadata	*m;
	struct fanotify_response		 r;
	ssize_t					 n;

	if ((n = read(fd, buf, sizeof(buf))) == -1) {
		if (errno == EINTR || errno == EAGAIN)
			return;
		err(1, "read");
	}
	m = (const struct fanotify_event_metadata *)buf;
	for (; FAN_EVENT_OK(m, n); m = FAN_EVENT_NEXT(m, n)) {
		if (m->vers != FANOTIFY_METADATA_VERSION)
			errx(1, "another kernel");
		/* What we do for the line is not looked at: not there. */
		if (m->pid != getpid())
			tell(m->pid);
		memset(&r, 0, sizeof(r));
		r.fd = m->fd;
		r.response = FAN_ALLOW;
		if (write(fd, &r, sizeof(r)) != sizeof(r))
			err(1, "write");
		close(m->fd);
	}
}

int
main(int argc, char *argv[])
{
	struct pollfd	 pfd[2];
	int		 fd;

	if (argc != 2)
		errx(1, "usage: h_opens directory");
	if ((fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC |
	    FAN_UNLIMITED_QUEUE, O_RDONLY | O_CLOEXEC)) == -1)
		err(3, "fanotify_init");
	if (fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_ONLYDIR, FAN_OPEN_PERM |
	    FAN_EVENT_ON_CHILD, AT_FDCWD, argv[1]) == -1)
		err(1, "%s", argv[1]);
	printf("ready\n");
	fflush(stdout);
	pfd[0].fd = fd;
	pfd[1].fd = STDIN_FILENO;
	pfd[0].events = pfd[1].events = POLLIN;
	for (;;) {
		if (poll(pfd, 2, -1) == -1 && errno != EINTR)
			err(1, "poll");
		if (pfd[0].revents != 0)
			events(fd);
		else if (pfd[1].revents != 0)
			return (0);
	}
}
