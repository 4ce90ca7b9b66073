/*
 * libsandbox on a socket where somebody answers anything at all.  The answers
 * are there before the questions, with a descriptor if they say so.
 */

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"
#include "sandbox_int.h"

#define OUTPUT_MAX	4096

/* Messages as they are, but each with a length that fits. */
static void
put(int fd, struct fuzz *in)
{
	union {
		struct cmsghdr	 hdr;
		char		 buf[CMSG_SPACE(sizeof(int))];
	} cmsgbuf;
	struct msghdr	 mh;
	struct cmsghdr	*cm;
	struct iovec	 iov;
	struct fuzz	 piece;
	int		 what, p[2];

	while (fuzz_step(in, &what, &piece)) {
		if (piece.len == 0)
			continue;
		memset(&mh, 0, sizeof(mh));
		iov.iov_base = (void *)(uintptr_t)piece.p;
		iov.iov_len = piece.len;
		mh.msg_iov = &iov;
		mh.msg_iovlen = 1;
		if (what & 3) {
			need(pipe2(p, O_CLOEXEC) == 0);
			if (what & 1)
				need(write(p[1], "output", 6) == 6);
			memset(&cmsgbuf, 0, sizeof(cmsgbuf));
			mh.msg_control = &cmsgbuf;
			mh.msg_controllen = sizeof(cmsgbuf);
			cm = CMSG_FIRSTHDR(&mh);
			cm->cmsg_level = SOL_SOCKET;
			cm->cmsg_type = SCM_RIGHTS;
			cm->cmsg_len = CMSG_LEN(sizeof(int));
			/* The end to read from, or the one to write to. */
			memcpy(CMSG_DATA(cm), &p[what & 1 ? 0 : 1],
			    sizeof(int));
		}
		(void)sendmsg(fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (what & 3) {
			close(p[0]);
			close(p[1]);
		}
	}
	shutdown(fd, SHUT_WR);
}

static int
take(struct sandbox_answer *a, void *arg)
{
	int	*n = arg;

	need(a->type != 0 && proto_def(a->type) != NULL);
	/* Whoever has seen enough gives up. */
	return (++*n > 64 ? -1 : 0);
}

static int
out(void *arg, int stream, const void *data, size_t len)
{
	need(stream >= 1 && stream <= 2 && len <= 65536);
	return (0);
}

static void
bytes(struct sandbox *sb, int which)
{
	struct proto_attach	 at;
	struct proto_exec_info	 info;
	struct proto_exec	 x;
	struct sandbox_io	 io;
	char			 name[] = "1/box.1", box[] = "1/box";
	int			 fd, ret;

	memset(&io, 0, sizeof(io));
	memset(&at, 0, sizeof(at));
	memset(&x, 0, sizeof(x));
	need((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) != -1);
	io.in = which & 4 ? fd : -1;
	io.out = out;
	io.wakefd = -1;
	at.exec = name;
	at.streams = 7;
	switch (which & 3) {
	case 0:
		x.sandbox = box;
		need(strv_add(&x.argv, "true") == 0);
		ret = sandbox_run(sb, &x, &io, &info);
		strv_clear(&x.argv);
		break;
	case 1:
		ret = sandbox_attach(sb, &at, &io, &info);
		break;
	case 2:
		at.follow = 1;
		ret = sandbox_logs(sb, &at, &io);
		close(fd);
		need(ret == 0 || ret == -1);
		return;
	default:
		ret = sandbox_attach(sb, &at, &io, NULL);
		close(fd);
		return;
	}
	if (ret == 0)
		msg_clear(&info, proto_def(PROTO_EXEC_INFO));
	close(fd);
}

static void
calls(struct sandbox *sb, int which)
{
	struct proto_status_info	 st;
	struct proto_exec_info		 x;
	struct proto_sandbox		 box;
	struct proto_accepted		 acc;
	struct proto_events		 ev;
	struct proto_create		 c;
	struct proto_list		 l;
	struct proto_image		 img;
	struct proto_verify		 v;
	struct sandbox_answer		 a;
	int				 fd, n = 0;

	memset(&c, 0, sizeof(c));
	memset(&ev, 0, sizeof(ev));
	memset(&l, 0, sizeof(l));
	switch (which) {
	case 0:
		if (sandbox_status(sb, take, &n, &st) == 0)
			msg_clear(&st, proto_def(PROTO_STATUS_INFO));
		break;
	case 1:
		c.wait = 1;
		if (sandbox_create(sb, &c, &acc, &box) == 0)
			msg_clear(&box, proto_def(PROTO_SANDBOX));
		break;
	case 2:
		(void)sandbox_create(sb, &c, &acc, NULL);
		break;
	case 3:
		if (sandbox_show(sb, "box", &box) == 0)
			msg_clear(&box, proto_def(PROTO_SANDBOX));
		break;
	case 4:
		(void)sandbox_list(sb, &l, take, &n);
		break;
	case 5:
		if (sandbox_wait(sb, "box.1", &x) == 0)
			msg_clear(&x, proto_def(PROTO_EXEC_INFO));
		break;
	case 6:
		(void)sandbox_events(sb, &ev, take, &n);
		break;
	case 7:
		need((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) != -1);
		(void)sandbox_image_import(sb, "name", fd, &img);
		close(fd);
		break;
	case 8:
		(void)sandbox_log_verify(sb, NULL, &v);
		break;
	case 9:
		(void)sandbox_rules(sb, take, &n);
		break;
	default:
		while (n++ < 64 && sandbox_recv(sb, &a, 0) == 1)
			sandbox_answer_clear(&a);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz	 in = { data, len };
	struct sandbox	*sb;
	int		 which, sv[2];

	which = fuzz_u8(&in);
	need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0, sv) == 0);
	need((sb = calloc(1, sizeof(*sb))) != NULL);
	/* Nobody listens there. */
	need((sb->path = strdup("/dev/null/none")) != NULL);
	TAILQ_INIT(&sb->held);
	sb->fd = sv[0];
	sb->hello.payload = PROTO_MAX_PAYLOAD;
	need(imsgbuf_init(&sb->ibuf, sb->fd) == 0);
	imsgbuf_allow_fdpass(&sb->ibuf);
	imsgbuf_set_maxsize(&sb->ibuf, PROTO_MAX_PAYLOAD);
	put(sv[1], &in);
	if (which & 0x80)
		bytes(sb, which & 7);
	else
		calls(sb, which % 12);
	need(strlen(sb->err.text) < sizeof(sb->err.text));
	sandbox_close(sb);
	close(sv[1]);
	fuzz_fds();
	return (0);
}
