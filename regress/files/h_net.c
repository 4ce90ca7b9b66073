/*
 * h_net server kind: listens on a port of the loopback, tells it, and serves
 * each connection: "echo" says again what it hears, to its end; "end" tells
 * how many bytes there were when they have ended; "reset" hears one byte and
 * resets; "hold" says one byte and nothing else; "half" says four and ends that,
 * and tells on its output how many bytes it has heard then; "flood" says bytes
 * without an end; "deaf" says one byte and does not listen.
 *
 * h_net client port bytes: sends so many bytes, ends, and prints how many of
 * them came back as they were; h_net client port -: says one byte, hears one,
 * and waits for the end.  It exits 2 if the connection was reset.
 *
 * h_net client port bytes late: the same, but first it prints all that comes.
 * h_net client port bytes deaf: says so many, or how many it could, does not
 * listen, and waits to be killed.
 *
 * The test links it statically, since it runs in a sandbox as well.
 */

#include <sys/socket.h>

#include <netinet/in.h>

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint8_t	 buf[65536];

static uint8_t
byte_at(uint64_t off)
{
	return ((off * 31 + (off >> 8) * 7 + (off >> 16)) & 0xff);
}

static void
put(int s, const void *data, size_t len)
{
	const uint8_t	*p = data;
	ssize_t		 n;

	while (len > 0) {
		if ((n = send(s, p, len, MSG_NOSIGNAL)) == -1)
			exit(errno == ECONNRESET || errno == EPIPE ? 2 : 1);
		p += n;
		len -= n;
	}
}

static void
serve(int s, const char *kind)
{
	struct linger	 l = { 1, 0 };
	uint64_t	 total = 0;
	ssize_t		 n;
	char		 text[32];

	if (strcmp(kind, "hold") == 0 || strcmp(kind, "deaf") == 0)
		put(s, "h", 1);
	if (strcmp(kind, "half") == 0) {
		put(s, "half", 4);
		shutdown(s, SHUT_WR);
	}
	while (strcmp(kind, "flood") == 0)
		put(s, buf, sizeof(buf));
	if (strcmp(kind, "deaf") == 0)
		pause();
	while ((n = read(s, buf, sizeof(buf))) > 0) {
		total += n;
		if (strcmp(kind, "echo") == 0)
			put(s, buf, n);
		if (strcmp(kind, "reset") == 0) {
			setsockopt(s, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
			break;
		}
	}
	if (strcmp(kind, "end") == 0)
		put(s, text, snprintf(text, sizeof(text), "%llu\n",
		    (unsigned long long)total));
	if (strcmp(kind, "half") == 0) {
		printf("%llu\n", (unsigned long long)total);
		fflush(stdout);
	}
	close(s);
	exit(0);
}

static void
server(const char *kind)
{
	struct sockaddr_in	 sin;
	socklen_t		 len = sizeof(sin);
	int			 s, ls;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if ((ls = socket(AF_INET, SOCK_STREAM, 0)) == -1 ||
	    bind(ls, (struct sockaddr *)&sin, sizeof(sin)) == -1 ||
	    listen(ls, 128) == -1 ||
	    getsockname(ls, (struct sockaddr *)&sin, &len) == -1)
		err(1, "server");
	printf("%u\n", ntohs(sin.sin_port));
	fflush(stdout);
	signal(SIGCHLD, SIG_IGN);
	while ((s = accept(ls, NULL, NULL)) != -1) {
		if (fork() == 0) {
			close(ls);
			serve(s, kind);
		}
		close(s);
	}
}

static int
client_connect(const char *port)
{
	struct sockaddr_in	 sin;
	int			 s;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_port = htons(atoi(port));
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if ((s = socket(AF_INET, SOCK_STREAM, 0)) == -1 ||
	    connect(s, (struct sockaddr *)&sin, sizeof(sin)) == -1)
		err(1, "connect");
	return (s);
}

/* Both ways at once, whichever is ready. */
static void
client(const char *port, uint64_t total)
{
	struct pollfd	 pfd;
	uint64_t	 sent = 0, got = 0;
	ssize_t		 n, i;

	pfd.fd = client_connect(port);
	if (total == 0)
		shutdown(pfd.fd, SHUT_WR);
	for (;;) {
		pfd.events = sent < total ? POLLIN | POLLOUT : POLLIN;
		if (poll(&pfd, 1, -1) == -1)
			err(1, "poll");
		if (pfd.revents & POLLOUT) {
			for (n = 0; n < (ssize_t)sizeof(buf) &&
			    sent + n < total; n++)
				buf[n] = byte_at(sent + n);
			n = send(pfd.fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (n == -1 && errno != EAGAIN)
				exit(2);
			if (n > 0 && (sent += n) == total)
				shutdown(pfd.fd, SHUT_WR);
		}
		if (!(pfd.revents & (POLLIN | POLLHUP | POLLERR)))
			continue;
		n = recv(pfd.fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n == -1 && errno == EAGAIN)
			continue;
		if (n == -1)
			exit(2);
		if (n == 0)
			break;
		for (i = 0; i < n; i++, got++)
			if (buf[i] != byte_at(got))
				errx(1, "byte %llu is wrong",
				    (unsigned long long)got);
	}
	printf("%llu\n", (unsigned long long)got);
}

/* Says a byte and waits for what comes, to the end. */
static void
client_waits(const char *port)
{
	ssize_t	 n;
	int	 s = client_connect(port);

	put(s, "c", 1);
	while ((n = read(s, buf, sizeof(buf))) > 0)
		if (write(STDOUT_FILENO, buf, n) != n)
			err(1, "write");
	exit(n == 0 ? 0 : 2);
}

/* Speaks only when the other end has said all that it has to say. */
static void
client_late(const char *port, uint64_t total)
{
	ssize_t	 n;
	int	 s = client_connect(port);

	while ((n = read(s, buf, sizeof(buf))) > 0)
		if (write(STDOUT_FILENO, buf, n) != n)
			err(1, "write");
	if (n == -1)
		exit(2);
	for (; total > 0; total -= n) {
		n = total < sizeof(buf) ? total : sizeof(buf);
		put(s, buf, n);
	}
	shutdown(s, SHUT_WR);
	if (poll(&(struct pollfd){ s, 0, 0 }, 1, -1) == -1)
		err(1, "poll");
}

static void
client_deaf(const char *port, uint64_t total)
{
	ssize_t	 n;
	int	 s = client_connect(port);

	puts("connected");
	fflush(stdout);
	for (; total > 0; total -= n) {
		n = total < sizeof(buf) ? total : sizeof(buf);
		put(s, buf, n);
	}
	pause();
}

int
main(int argc, char *argv[])
{
	if (argc == 3 && strcmp(argv[1], "server") == 0)
		server(argv[2]);
	else if (argc == 4 && strcmp(argv[3], "-") == 0)
		client_waits(argv[2]);
	else if (argc == 5 && strcmp(argv[4], "late") == 0)
		client_late(argv[2], strtoull(argv[3], NULL, 10));
	else if (argc == 5)
		client_deaf(argv[2], strtoull(argv[3], NULL, 10));
	else if (argc == 4)
		client(argv[2], strtoull(argv[3], NULL, 10));
	else
		errx(1, "usage: h_net server kind | client port bytes [how]");
	return (0);
}
