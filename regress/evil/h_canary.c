/*
 * h_canary port-file log: a listener on the host's loopback that nobody has
 * a reason to connect to.  Writes its port to the one, and a line for each
 * connection to the other.  Ends with the shell that started it.
 */

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <netinet/in.h>

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
main(int argc, char *argv[])
{
	struct sockaddr_in	 sin;
	socklen_t		 len = sizeof(sin);
	char			 tmp[4096];
	FILE			*f;
	int			 fd, c, log;

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
	for (;;) {
		if ((c = accept(fd, NULL, NULL)) == -1)
			continue;
		if (write(log, "somebody\n", 9) != 9)
			err(1, "write");
		close(c);
	}
}
