/*
 * h_canary port-file log: a listener on the host's loopback, and one with the
 * abstract name sbx-canary-PORT, that nobody has a reason to connect to.
 * Writes its port to the one, and a line for each connection to the other.
 * Ends with the shell that started it.
 */

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <netinet/in.h>

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int
listen_abstract(int port)
{
	struct sockaddr_un	 sun;
	int			 fd, n;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	n = snprintf(sun.sun_path + 1, sizeof(sun.sun_path) - 1,
	    "sbx-canary-%d", port);
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    bind(fd, (struct sockaddr *)&sun, offsetof(struct sockaddr_un,
	    sun_path) + 1 + n) == -1 || listen(fd, 128) == -1)
		err(1, "abstract");
	return (fd);
}

int
main(int argc, char *argv[])
{
	struct sockaddr_in	 sin;
	socklen_t		 len = sizeof(sin);
	char			 tmp[4096];
	struct pollfd		 pfd[2];
	FILE			*f;
	int			 fd, c, i, log;

	if (argc != 3)
		errx(1, "usage: h_canary port-file log");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || getppid() == 1)
		err(1, "prctl");
	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if ((fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == -1 ||
	    listen(fd, 128) == -1 ||
	    getsockname(fd, (struct sockaddr *)&sin, &len) == -1)
		err(1, "listen");
	if ((log = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
	    0600)) == -1)
		err(1, "%s", argv[2]);
	/* Who waits for the port finds all of it. */
	snprintf(tmp, sizeof(tmp), "%s.new", argv[1]);
	if ((f = fopen(tmp, "w")) == NULL)
		err(1, "%s", tmp);
	fprintf(f, "%d\n", ntohs(sin.sin_port));
	if (fclose(f) != 0 || rename(tmp, argv[1]) == -1)
		err(1, "%s", tmp);
	pfd[0].fd = fd;
	pfd[1].fd = listen_abstract(ntohs(sin.sin_port));
	pfd[0].events = pfd[1].events = POLLIN;
	for (;;) {
		if (poll(pfd, 2, -1) == -1)
			err(1, "poll");
		for (i = 0; i < 2; i++) {
			if (!(pfd[i].revents & POLLIN) ||
			    (c = accept(pfd[i].fd, NULL, NULL)) == -1)
				continue;
			if (write(log, "somebody\n", 9) != 9)
				err(1, "write");
			close(c);
		}
	}
}
