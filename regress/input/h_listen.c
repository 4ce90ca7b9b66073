/* A socket that listens, and nobody behind it: h_listen path. */

#include <sys/socket.h>
#include <sys/un.h>

#include <err.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
main(int argc, char *argv[])
{
	struct sockaddr_un	 sun;
	char			*new;
	int			 fd;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	if (argc != 2 || asprintf(&new, "%s.new", argv[1]) == -1 ||
	    strlcpy(sun.sun_path, new, sizeof(sun.sun_path)) >=
	    sizeof(sun.sun_path))
		errx(1, "no path that fits");
	/* It is there when it listens. */
	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1 ||
	    bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    listen(fd, 5) == -1 || rename(new, argv[1]) == -1)
		err(1, "%s", argv[1]);
	for (;;)
		pause();
}
