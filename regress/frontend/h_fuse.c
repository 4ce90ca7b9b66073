/*
 * h_fuse socket device
 *
 * A client with a file system of its own, on a descriptor of the FUSE device,
 * attaches a file of it to what it says: to half a message, to a greeting, to
 * requests whose answers it takes, and to more of them than are read.  Then
 * it closes its own and says "attached", or "refused" if the kernel took none of
 * them.  What the file system sees of others goes to standard error.
 *
 * The exit status is 2 if there is no FUSE here.
 *
 * regress-srcs: fusefs.c
 */

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fusefs.h"
#include "imsg.h"
#include "passfd.h"
#include "proto.h"

#define FD_BIT		(1U << 31)
#define COPIES		250
#define PINGS		64
#define QUIET_MS	1000	/* not read for so long: not any more */
#define WAIT_MS		300000

static unsigned int	 attached, refused;

static int
client(const char *path)
{
	struct sockaddr_un	 sun;
	int			 s;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	if ((s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    connect(s, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		err(1, "%s", path);
	return (s);
}

/* One message with n copies of the file beside it; as much as is wanted. */
static void
say(int s, uint32_t type, uint32_t id, const void *msg, size_t most, int file,
    size_t n, int flags)
{
	msgpack_sbuffer	 sb;
	struct imsg_hdr	 h;
	char		 buf[1024];
	size_t		 len;
	ssize_t		 sent;

	msgpack_sbuffer_init(&sb);
	if (msg != NULL && msg_encode_map(&sb, proto_def(type), msg) == -1)
		errx(1, "cannot encode");
	len = sizeof(h) + sb.size;
	if (len > sizeof(buf))
		errx(1, "too long");
	memset(&h, 0, sizeof(h));
	h.type = type;
	h.len = (uint32_t)len | FD_BIT;
	h.peerid = id;
	memcpy(buf, &h, sizeof(h));
	if (sb.size > 0)
		memcpy(buf + sizeof(h), sb.data, sb.size);
	msgpack_sbuffer_destroy(&sb);
	if (len > most)
		len = most;
	sent = passfd_send(s, buf, len, file, n, flags);
	if (sent == (ssize_t)len) {
		attached++;
		return;
	}
	/* The kernel lets a user have only so many under way. */
	if (sent == -1 && (errno == ETOOMANYREFS || errno == EPERM)) {
		refused += errno == EPERM;
		sent = passfd_send(s, buf, len, -1, 0, flags);
	}
	if (sent != (ssize_t)len && (sent != -1 || errno != EAGAIN))
		err(1, "send");
}

static void
hello(int s, int file, size_t most, size_t n)
{
	struct proto_hello	 h;

	memset(&h, 0, sizeof(h));
	h.version = PROTO_VERSION;
	snprintf(h.client, sizeof(h.client), "fuse");
	say(s, PROTO_HELLO, 1, &h, most, file, n, 0);
}

/* Until the end of that request. */
static void
answered(struct imsgbuf *b, uint32_t id)
{
	struct pollfd	 pfd = { b->fd, POLLIN, 0 };
	struct imsg	 imsg;
	int		 n, ended = 0;

	while (!ended) {
		while ((n = imsgbuf_get(b, &imsg)) == 0)
			if (poll(&pfd, 1, WAIT_MS) != 1 ||
			    imsgbuf_read(b) != 1)
				errx(1, "no answer to %u", id);
		if (n == -1 || imsg_get_type(&imsg) == PROTO_ERROR)
			errx(1, "no good answer to %u", id);
		ended = imsg_get_type(&imsg) == PROTO_END &&
		    imsg_get_id(&imsg) == id;
		imsg_free(&imsg);
	}
}

int
main(int argc, char *argv[])
{
	struct imsgbuf	 b;
	struct pollfd	 pfd;
	pid_t		 server;
	uint32_t	 id;
	int		 half, good, deaf, file;

	if (argc != 3)
		errx(1, "usage: h_fuse socket device");
	half = client(argv[1]);
	good = client(argv[1]);
	deaf = client(argv[1]);
	if ((file = fusefs_open(argv[2], &server)) == -1)
		err(2, "no FUSE");
	hello(half, file, IMSG_HEADER_SIZE / 2, COPIES);
	hello(good, file, SIZE_MAX, COPIES);
	imsgbuf_init(&b, good);
	answered(&b, 1);
	for (id = 2; id < 2 + PINGS; id++) {
		say(good, PROTO_PING, id, NULL, SIZE_MAX, file, 1, 0);
		answered(&b, id);
	}
	hello(deaf, file, SIZE_MAX, 1);
	pfd.fd = deaf;
	pfd.events = POLLOUT;
	for (id = 2; poll(&pfd, 1, QUIET_MS) == 1; id++)
		say(deaf, PROTO_STATUS, id, NULL, SIZE_MAX, file, 1,
		    MSG_DONTWAIT);
	close(file);
	if (attached > 0 && refused > 0)
		errx(1, "%u attached, %u refused", attached, refused);
	printf("%s\n", attached > 0 ? "attached" : "refused");
	fflush(stdout);
	for (;;)
		pause();
}
