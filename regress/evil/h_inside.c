/*
 * h_inside reach word ...	tries to get at each: file:PATH to be read,
 *				write:PATH, unix:PATH, abstract:NAME,
 *				tcp:ADDRESS:PORT, udp:ADDRESS:PORT
 * h_inside abuse what		forks, memory, tmp, files, output
 *
 * Runs in a sandbox, so the test links it statically.  Of each try it prints
 * what came of it, "reached" or the error; abuse goes on until it cannot.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS		3000

/* 0, or the error. */
static int
try_connect(int fd, const void *sa, socklen_t len)
{
	struct pollfd	 pfd = { fd, POLLOUT, 0 };
	socklen_t	 elen = sizeof(int);
	int		 error = 0;

	if (fd == -1)
		return (errno);
	if (connect(fd, sa, len) == -1)
		error = errno;
	if (error == EINPROGRESS) {
		if (poll(&pfd, 1, WAIT_MS) != 1)
			error = ETIMEDOUT;
		else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error,
		    &elen) == -1)
			error = errno;
	}
	/* Who has taken it and hung up was reached. */
	if (error == 0 && send(fd, "x", 1, MSG_NOSIGNAL) == -1 &&
	    errno != EPIPE && errno != ECONNRESET)
		error = errno;
	close(fd);
	return (error);
}

static int
try_unix(const char *name, int is_abstract)
{
	struct sockaddr_un	 sun;
	size_t			 len = strlen(name);

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	if (len + 1 >= sizeof(sun.sun_path))
		return (ENAMETOOLONG);
	memcpy(sun.sun_path + is_abstract, name, len);
	return (try_connect(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0),
	    &sun, offsetof(struct sockaddr_un, sun_path) + 1 + len));
}

/* ADDRESS:PORT, the address in brackets if it has colons. */
static int
try_inet(const char *what, int type)
{
	struct sockaddr_in6	 s6;
	struct sockaddr_in	 s4;
	char			 addr[128];
	const char		*colon;
	int			 port;

	if ((colon = strrchr(what, ':')) == NULL)
		errx(1, "%s: no port", what);
	port = atoi(colon + 1);
	if (*what == '[') {
		snprintf(addr, sizeof(addr), "%.*s",
		    (int)(colon - what - 2), what + 1);
		memset(&s6, 0, sizeof(s6));
		s6.sin6_family = AF_INET6;
		s6.sin6_port = htons(port);
		if (inet_pton(AF_INET6, addr, &s6.sin6_addr) != 1)
			errx(1, "%s: no address", what);
		return (try_connect(socket(AF_INET6, type | SOCK_NONBLOCK, 0),
		    &s6, sizeof(s6)));
	}
	snprintf(addr, sizeof(addr), "%.*s", (int)(colon - what), what);
	memset(&s4, 0, sizeof(s4));
	s4.sin_family = AF_INET;
	s4.sin_port = htons(port);
	if (inet_pton(AF_INET, addr, &s4.sin_addr) != 1)
		errx(1, "%s: no address", what);
	return (try_connect(socket(AF_INET, type | SOCK_NONBLOCK, 0), &s4,
	    sizeof(s4)));
}

static int
try_open(const char *path, int flags)
{
	int	 fd;

	if ((fd = open(path, flags | O_NONBLOCK | O_CLOEXEC)) == -1)
		return (errno);
	close(fd);
	return (0);
}

static int
reach(const char *word)
{
	const char	*what;

	if ((what = strchr(word, ':')) == NULL)
		errx(1, "%s: what", word);
	what++;
	switch (*word) {
	case 'f':
		return (try_open(what, O_RDONLY));
	case 'w':
		return (try_open(what, O_WRONLY));
	case 'a':
		return (try_unix(what, 1));
	case 't':
		return (try_inet(what, SOCK_STREAM));
	default:
		return (word[1] == 'd' ? try_inet(what, SOCK_DGRAM) :
		    try_unix(what, 0));
	}
}

static void
abuse_forks(void)
{
	/* Each of them forks, and goes on when it cannot. */
	for (;;)
		if (fork() == -1)
			usleep(10000);
}

static void
abuse_memory(void)
{
	char	*p;

	for (;;)
		if ((p = malloc(1 << 20)) != NULL)
			memset(p, 1, 1 << 20);
}

static void
abuse_tmp(void)
{
	static char	 buf[1 << 20];
	ssize_t		 n;
	int		 fd;

	if ((fd = open("/tmp/full", O_WRONLY | O_CREAT, 0600)) == -1)
		err(1, "/tmp/full");
	while ((n = write(fd, buf, sizeof(buf))) > 0)
		;
	printf("full: %s\n", strerror(errno));
	unlink("/tmp/full");
}

/* Many, in directories as deep as they can be. */
static void
abuse_files(void)
{
	char	 name[32];
	int	 i, fd, n = 0;

	while ((fd = open("/dev/null", O_RDONLY)) != -1)
		n++;
	printf("%d open: %s\n", n, strerror(errno));
	for (fd = 3; fd < 3 + n; fd++)
		close(fd);
	for (i = 0; i < 2000; i++) {
		if (mkdir("d", 0700) == -1 || chdir("d") == -1)
			break;
		snprintf(name, sizeof(name), "f%d", i % 10);
		if ((i % 3 == 0 && mkfifo(name, 0600) == -1) ||
		    (i % 3 == 1 && symlink("/etc/passwd", name) == -1))
			break;
		if (i % 3 == 2 && (fd = open(name, O_CREAT | O_WRONLY,
		    0)) != -1)
			close(fd);
	}
	/* What is here is nobody's to look at. */
	(void)chmod(".", 0);
	printf("%d deep\n", i);
}

static void
abuse_output(void)
{
	static char	 buf[65536];
	int		 i;

	for (i = 0; i < (int)sizeof(buf); i++)
		buf[i] = "\033[2J\a\377\n\0"[i % 8];
	for (i = 0; i < 1024; i++)
		if (write(1 + i % 2, buf, sizeof(buf)) == -1)
			err(1, "write");
}

int
main(int argc, char *argv[])
{
	int	 i, error;

	signal(SIGPIPE, SIG_IGN);
	if (argc >= 3 && strcmp(argv[1], "reach") == 0) {
		for (i = 2; i < argc; i++) {
			error = reach(argv[i]);
			printf("%s: %s\n", argv[i], error == 0 ? "reached" :
			    strerror(error));
		}
		return (0);
	}
	if (argc != 3 || strcmp(argv[1], "abuse") != 0)
		errx(1, "usage: h_inside reach word ... | abuse what");
	if (strcmp(argv[2], "forks") == 0)
		abuse_forks();
	else if (strcmp(argv[2], "memory") == 0)
		abuse_memory();
	else if (strcmp(argv[2], "tmp") == 0)
		abuse_tmp();
	else if (strcmp(argv[2], "files") == 0)
		abuse_files();
	else if (strcmp(argv[2], "output") == 0)
		abuse_output();
	else
		errx(1, "no abuse %s", argv[2]);
	return (0);
}
