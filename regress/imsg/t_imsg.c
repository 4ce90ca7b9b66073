/*
 * t_imsg.c: messages over a socketpair, whole, in pieces, too large, with
 * descriptors where they are allowed and where they are not.
 */

#include <sys/socket.h>
#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/imsg.h"

static struct imsgbuf	 a, b;
static int		 sv[2];

static void
pair(void)
{
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0, sv) == 0);
	ATF_REQUIRE_EQ(0, imsgbuf_init(&a, sv[0]));
	ATF_REQUIRE_EQ(0, imsgbuf_init(&b, sv[1]));
}

static void
unpair(void)
{
	imsgbuf_clear(&a);
	imsgbuf_clear(&b);
	close(sv[0]);
	close(sv[1]);
}

/* How many descriptors this process has open. */
static int
open_fds(void)
{
	int	 fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			n++;
	return (n);
}

/* Send bytes, with or without a descriptor, as a stranger would. */
static void
raw_send(int s, const void *data, size_t len, int fd)
{
	struct iovec	 iov = { (void *)(uintptr_t)data, len };
	struct msghdr	 msg;
	union {
		struct cmsghdr	 hdr;
		unsigned char	 buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct cmsghdr	*cmsg;

	memset(&msg, 0, sizeof(msg));
	memset(&control, 0, sizeof(control));
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	if (fd != -1) {
		msg.msg_control = &control.buf;
		msg.msg_controllen = sizeof(control.buf);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	}
	ATF_REQUIRE_EQ((ssize_t)len, sendmsg(s, &msg, MSG_NOSIGNAL));
}

ATF_TC_WITHOUT_HEAD(roundtrip);
ATF_TC_BODY(roundtrip, tc)
{
	struct iovec	 iov[2] = { { "one", 3 }, { "two", 3 } };
	struct ibuf	*msg, view;
	struct imsg	 m;
	char		 data[8];
	uint32_t	 n = 42, got;

	pair();
	ATF_CHECK_EQ(0, imsgbuf_get(&b, &m));
	ATF_CHECK_EQ(1, imsgbuf_read(&b));	/* nothing there yet */
	ATF_CHECK_EQ(1, imsg_compose(&a, 1, 2, 3, -1, &n, sizeof(n)));
	ATF_CHECK_EQ(1, imsg_composev(&a, 2, 0, 0, -1, iov, 2));
	ATF_CHECK_EQ(1, imsg_compose(&a, 3, 0, 0, -1, NULL, 0));
	ATF_REQUIRE((msg = imsg_create(&a, 4, 9, 0, 0)) != NULL);
	ATF_CHECK_EQ(3, imsg_add(msg, "abc", 3));
	ATF_CHECK_EQ(2, imsg_add(msg, "d", 2));
	imsg_close(&a, msg);
	ATF_REQUIRE((msg = ibuf_dynamic(0, 16)) != NULL);
	ATF_CHECK_EQ(0, ibuf_add_n8(msg, 7));
	ATF_CHECK_EQ(1, imsg_compose_ibuf(&a, 5, 0, 0, msg));
	ATF_CHECK_EQ(5, imsgbuf_queuelen(&a));
	ATF_CHECK_EQ(5 * IMSG_HEADER_SIZE + 4 + 6 + 5 + 1,
	    imsgbuf_queuesize(&a));
	ATF_CHECK_EQ(0, imsgbuf_flush(&a));
	ATF_CHECK_EQ(0, imsgbuf_queuelen(&a));
	ATF_CHECK_EQ(0, imsgbuf_queuesize(&a));

	ATF_CHECK_EQ(1, imsgbuf_read(&b));
	ATF_REQUIRE_EQ(1, imsgbuf_get(&b, &m));
	ATF_CHECK_EQ(1, imsg_get_type(&m));
	ATF_CHECK_EQ(2, imsg_get_id(&m));
	ATF_CHECK_EQ(3, imsg_get_pid(&m));
	ATF_CHECK_EQ(4, imsg_get_len(&m));
	ATF_CHECK_EQ(-1, imsg_get_fd(&m));
	ATF_CHECK_ERRNO(EBADMSG, imsg_get_data(&m, data, 3) == -1);
	ATF_CHECK_ERRNO(EBADMSG, imsg_get_data(&m, data, 5) == -1);
	ATF_CHECK_ERRNO(EINVAL, imsg_get_data(&m, data, 0) == -1);
	ATF_CHECK_EQ(0, imsg_get_data(&m, &got, sizeof(got)));
	ATF_CHECK_EQ(42, got);
	imsg_free(&m);

	ATF_REQUIRE_EQ(1, imsgbuf_get(&b, &m));
	ATF_CHECK_EQ(getpid(), imsg_get_pid(&m));
	ATF_CHECK_EQ(0, imsg_get_buf(&m, data, 3));
	ATF_CHECK_EQ(0, memcmp(data, "one", 3));
	ATF_CHECK_EQ(0, imsg_get_ibuf(&m, &view));
	ATF_CHECK_EQ(3, ibuf_size(&view));
	ATF_CHECK_EQ(0, memcmp(ibuf_data(&view), "two", 3));
	imsg_free(&m);

	ATF_REQUIRE_EQ(1, imsgbuf_get(&b, &m));
	ATF_CHECK_EQ(0, imsg_get_len(&m));
	ATF_CHECK_ERRNO(EBADMSG, imsg_get_ibuf(&m, &view) == -1);
	imsg_free(&m);

	ATF_REQUIRE_EQ(1, imsgbuf_get(&b, &m));
	ATF_CHECK_EQ(9, imsg_get_id(&m));
	ATF_CHECK_EQ(0, imsg_get_strbuf(&m, data, 5));
	ATF_CHECK_STREQ("abcd", data);
	imsg_free(&m);

	ATF_REQUIRE_EQ(1, imsgbuf_get(&b, &m));
	ATF_CHECK_EQ(5, imsg_get_type(&m));
	imsg_free(&m);
	ATF_CHECK_EQ(0, imsgbuf_get(&b, &m));

	/* The end comes after the last message. */
	close(a.fd);
	ATF_CHECK_EQ(0, imsgbuf_read(&b));
	unpair();
}

ATF_TC_WITHOUT_HEAD(byte_by_byte);
ATF_TC_BODY(byte_by_byte, tc)
{
	struct imsg	 m;
	uint8_t		 wire[2 * IMSG_HEADER_SIZE + 10];
	size_t		 i;
	int		 n, got = 0;

	pair();
	ATF_CHECK_EQ(1, imsg_compose(&a, 1, 0, 0, -1, "01234", 5));
	ATF_CHECK_EQ(1, imsg_compose(&a, 2, 0, 0, -1, "56789", 5));
	ATF_CHECK_EQ(0, imsgbuf_write(&a));
	ATF_REQUIRE_EQ(sizeof(wire), read(sv[1], wire, sizeof(wire)));
	for (i = 0; i < sizeof(wire); i++) {
		raw_send(sv[0], &wire[i], 1, -1);
		ATF_REQUIRE_EQ(1, imsgbuf_read(&b));
		ATF_REQUIRE((n = imsgbuf_get(&b, &m)) != -1);
		ATF_CHECK_EQ(((i + 1) % (sizeof(wire) / 2) == 0), n);
		if (n == 1) {
			ATF_CHECK_EQ(++got, imsg_get_type(&m));
			ATF_CHECK_EQ(5, imsg_get_len(&m));
			imsg_free(&m);
		}
	}
	ATF_CHECK_EQ(2, got);
	/* Idle, it holds no more than a page. */
	ATF_CHECK(b.rsize <= 4096);
	unpair();
}

ATF_TC_WITHOUT_HEAD(large_over_full_socket);
ATF_TC_BODY(large_over_full_socket, tc)
{
	const size_t	 max = 256 * 1024;
	struct imsg	 m;
	uint8_t		*data;
	size_t		 i;
	int		 got = 0, n, k;

	pair();
	ATF_REQUIRE((data = malloc(max + 1)) != NULL);
	for (i = 0; i <= max; i++)
		data[i] = i * 7 % 251;
	ATF_REQUIRE_EQ(0, imsgbuf_set_maxsize(&a, max));
	ATF_REQUIRE_EQ(0, imsgbuf_set_maxsize(&b, max));
	ATF_CHECK_ERRNO(ERANGE, imsg_compose(&a, 1, 0, 0, -1, data,
	    max + 1) == -1);
	/* 160 messages: more than one sendmsg(2) takes. */
	for (k = 0; k < 8; k++)
		ATF_REQUIRE_EQ(1, imsg_compose(&a, 1, 0, 0, -1, data, max));
	for (k = 0; k < 152; k++)
		ATF_REQUIRE_EQ(1, imsg_compose(&a, 2, k, 0, -1, data, k));
	ATF_REQUIRE_EQ(0, imsgbuf_write(&a));
	ATF_CHECK(imsgbuf_queuelen(&a) > 0);	/* full: the rest waits */
	while (got < 160) {
		ATF_REQUIRE_EQ(0, imsgbuf_write(&a));
		ATF_REQUIRE_EQ(1, imsgbuf_read(&b));
		while ((n = imsgbuf_get(&b, &m)) == 1) {
			if (got < 8)
				ATF_REQUIRE_EQ(max, imsg_get_len(&m));
			else
				ATF_REQUIRE_EQ((size_t)got - 8,
				    imsg_get_len(&m));
			ATF_REQUIRE_EQ(0, memcmp(data, ibuf_data(m.buf),
			    imsg_get_len(&m)));
			imsg_free(&m);
			got++;
		}
		ATF_REQUIRE_EQ(0, n);
	}
	free(data);
	unpair();
}

ATF_TC_WITHOUT_HEAD(lengths);
ATF_TC_BODY(lengths, tc)
{
	static const uint32_t	 bad[] = { 0, 1, 15, 16 + 4096 + 1, 0x7fffffff,
	    0xffffffff, IMSG_FD_MARK, IMSG_FD_MARK | 15 };
	struct imsg_hdr		 hdr;
	struct imsg		 m;
	size_t			 i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		pair();
		ATF_REQUIRE_EQ(0, imsgbuf_set_maxsize(&b, 4096));
		memset(&hdr, 0, sizeof(hdr));
		hdr.len = bad[i];
		raw_send(sv[0], &hdr, sizeof(hdr), -1);
		ATF_REQUIRE_EQ(1, imsgbuf_read(&b));
		ATF_CHECK_ERRNO(ERANGE, imsgbuf_get(&b, &m) == -1);
		unpair();
	}
	pair();
	ATF_CHECK_ERRNO(ERANGE, imsgbuf_set_maxsize(&a, IMSG_FD_MARK) == -1);
	ATF_CHECK_ERRNO(ERANGE, imsgbuf_set_maxsize(&a, UINT32_MAX) == -1);
	/* The largest allowed is announced: nothing is reserved for it. */
	ATF_REQUIRE_EQ(0, imsgbuf_set_maxsize(&b, 256 * 1024 * 1024));
	memset(&hdr, 0, sizeof(hdr));
	hdr.len = sizeof(hdr) + 256 * 1024 * 1024;
	raw_send(sv[0], &hdr, sizeof(hdr), -1);
	ATF_REQUIRE_EQ(1, imsgbuf_read(&b));
	ATF_CHECK_EQ(0, imsgbuf_get(&b, &m));
	ATF_CHECK(b.rsize < 4096);
	unpair();
}

/* Who reads on without taking messages is stopped, not fed. */
ATF_TC_WITHOUT_HEAD(read_bound);
ATF_TC_BODY(read_bound, tc)
{
	static uint8_t	 junk[65536];
	int		 i, n = 1;

	pair();
	for (i = 0; i < 64 && n == 1; i++) {
		ATF_REQUIRE(write(sv[0], junk, sizeof(junk)) > 0);
		n = imsgbuf_read(&b);
	}
	ATF_CHECK_EQ(-1, n);
	ATF_CHECK_EQ(ENOBUFS, errno);
	ATF_CHECK(i < 8);
	unpair();
}

ATF_TC_WITHOUT_HEAD(descriptors);
ATF_TC_BODY(descriptors, tc)
{
	struct imsg	 m;
	struct stat	 want, have;
	char		 path[] = "0";
	int		 before, fd, i;

	pair();
	before = open_fds();
	imsgbuf_allow_fdpass(&b);
	/* With and without one, in a row, so that several share a write. */
	for (i = 0; i < 10; i++) {
		fd = -1;
		path[0] = '0' + i;
		if (i % 3 != 0)
			ATF_REQUIRE((fd = open(path, O_CREAT | O_RDWR,
			    0600)) != -1);
		ATF_REQUIRE_EQ(1, imsg_compose(&a, i, 0, 0, fd, "abc", 3));
	}
	ATF_REQUIRE_EQ(0, imsgbuf_flush(&a));
	ATF_CHECK_EQ(before, open_fds());	/* sent ones are closed */
	for (i = 0; i < 10;) {
		ATF_REQUIRE_EQ(1, imsgbuf_read(&b));
		while (i < 10 && imsgbuf_get(&b, &m) == 1) {
			ATF_REQUIRE_EQ((uint32_t)i, imsg_get_type(&m));
			path[0] = '0' + i;
			fd = imsg_get_fd(&m);
			ATF_CHECK_EQ((i % 3 == 0), (fd == -1));
			if (fd != -1) {
				ATF_REQUIRE(fstat(fd, &have) == 0);
				ATF_REQUIRE(stat(path, &want) == 0);
				ATF_CHECK_EQ(want.st_ino, have.st_ino);
				ATF_CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
				close(fd);
			}
			ATF_CHECK_EQ(-1, imsg_get_fd(&m));
			imsg_free(&m);
			i++;
		}
	}
	ATF_CHECK_EQ(before, open_fds());

	/* Cleared or freed before anyone asked: nothing is left open. */
	ATF_REQUIRE((fd = open("/dev/null", O_RDWR)) != -1);
	ATF_REQUIRE_EQ(1, imsg_compose(&a, 1, 0, 0, fd, NULL, 0));
	ATF_REQUIRE_EQ(0, imsgbuf_flush(&a));
	ATF_REQUIRE((fd = open("/dev/null", O_RDWR)) != -1);
	ATF_REQUIRE_EQ(1, imsg_compose(&a, 2, 0, 0, fd, NULL, 0));
	ATF_REQUIRE_EQ(1, imsgbuf_read(&b));
	ATF_REQUIRE_EQ(1, imsgbuf_get(&b, &m));
	imsg_free(&m);
	imsgbuf_clear(&a);
	ATF_CHECK_EQ(before, open_fds());

	/* Marked, but nothing came with it. */
	memset(&m.hdr, 0, sizeof(m.hdr));
	m.hdr.len = IMSG_HEADER_SIZE | IMSG_FD_MARK;
	raw_send(sv[0], &m.hdr, sizeof(m.hdr), -1);
	ATF_REQUIRE_EQ(1, imsgbuf_read(&b));
	ATF_CHECK_ERRNO(EBADMSG, imsgbuf_get(&b, &m) == -1);
	unpair();
}

/* What a stranger attaches never becomes ours, marked or not. */
ATF_TC_WITHOUT_HEAD(discard);
ATF_TC_BODY(discard, tc)
{
	struct imsg_hdr	 hdr;
	struct imsg	 m;
	char		 c;
	int		 p[2], before, i;

	pair();
	before = open_fds();
	for (i = 0; i < 40; i++) {
		ATF_REQUIRE(pipe(p) == 0);
		memset(&hdr, 0, sizeof(hdr));
		hdr.type = i;
		hdr.len = sizeof(hdr) | (i % 2 ? IMSG_FD_MARK : 0);
		raw_send(sv[0], &hdr, sizeof(hdr), p[1]);
		close(p[1]);
		ATF_REQUIRE_EQ(1, imsgbuf_read(&b));
		ATF_REQUIRE_EQ(1, imsgbuf_get(&b, &m));
		ATF_CHECK_EQ((uint32_t)i, imsg_get_type(&m));
		ATF_CHECK_EQ(sizeof(hdr), m.hdr.len);
		ATF_CHECK_EQ(-1, imsg_get_fd(&m));
		imsg_free(&m);
		/* The kernel has dropped the writer: this is the end. */
		ATF_CHECK_EQ(0, read(p[0], &c, 1));
		close(p[0]);
	}
	ATF_CHECK_EQ(before, open_fds());
	unpair();
}

/* A peer that attaches without end holds no more than the bound. */
ATF_TC_WITHOUT_HEAD(descriptor_flood);
ATF_TC_BODY(descriptor_flood, tc)
{
	struct imsg_hdr	 hdr;
	struct imsg	 m;
	int		 before, i, n = 1;

	pair();
	imsgbuf_allow_fdpass(&b);
	before = open_fds();
	memset(&hdr, 0, sizeof(hdr));
	hdr.len = sizeof(hdr);
	for (i = 0; i < 100 && n == 1; i++) {
		raw_send(sv[0], &hdr, sizeof(hdr), sv[0]);
		if ((n = imsgbuf_read(&b)) == 1) {
			ATF_REQUIRE_EQ(1, imsgbuf_get(&b, &m));
			imsg_free(&m);
		}
	}
	ATF_CHECK_EQ(-1, n);
	ATF_CHECK_EQ(EMFILE, errno);
	ATF_CHECK_EQ(IMSGBUF_FDS + 1, i);
	imsgbuf_clear(&b);
	ATF_CHECK_EQ(before, open_fds());
	unpair();
}

ATF_TC_WITHOUT_HEAD(forward);
ATF_TC_BODY(forward, tc)
{
	struct imsg	 m;
	char		 data[4];
	int		 before, fd;

	pair();
	before = open_fds();
	imsgbuf_allow_fdpass(&a);
	imsgbuf_allow_fdpass(&b);
	ATF_REQUIRE((fd = open("/dev/null", O_RDWR)) != -1);
	ATF_REQUIRE_EQ(1, imsg_compose(&a, 5, 6, 7, fd, "abc", 4));
	ATF_REQUIRE_EQ(0, imsgbuf_flush(&a));
	ATF_REQUIRE_EQ(1, imsgbuf_read(&b));
	ATF_REQUIRE_EQ(1, imsgbuf_get(&b, &m));
	/* Read in part: the whole goes on all the same. */
	ATF_CHECK_EQ(0, imsg_get_buf(&m, data, 2));
	ATF_CHECK_EQ(1, imsg_forward(&b, &m));
	imsg_free(&m);
	ATF_CHECK_EQ(before, open_fds());
	ATF_REQUIRE_EQ(0, imsgbuf_flush(&b));
	ATF_REQUIRE_EQ(1, imsgbuf_read(&a));
	ATF_REQUIRE_EQ(1, imsgbuf_get(&a, &m));
	ATF_CHECK_EQ(5, imsg_get_type(&m));
	ATF_CHECK_EQ(6, imsg_get_id(&m));
	ATF_CHECK_EQ(7, imsg_get_pid(&m));
	ATF_CHECK_EQ(-1, imsg_get_fd(&m));
	ATF_CHECK_EQ(0, imsg_get_data(&m, data, 4));
	ATF_CHECK_STREQ("abc", data);
	imsg_free(&m);
	unpair();
}

/* A peer that has gone is an error of the write, not a signal. */
ATF_TC_WITHOUT_HEAD(gone);
ATF_TC_BODY(gone, tc)
{
	pair();
	close(sv[1]);
	ATF_REQUIRE_EQ(1, imsg_compose(&a, 1, 0, 0, -1, NULL, 0));
	ATF_CHECK_ERRNO(EPIPE, imsgbuf_write(&a) == -1);
	unpair();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, roundtrip);
	ATF_TP_ADD_TC(tp, byte_by_byte);
	ATF_TP_ADD_TC(tp, large_over_full_socket);
	ATF_TP_ADD_TC(tp, lengths);
	ATF_TP_ADD_TC(tp, read_bound);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, discard);
	ATF_TP_ADD_TC(tp, descriptor_flood);
	ATF_TP_ADD_TC(tp, forward);
	ATF_TP_ADD_TC(tp, gone);
	return (atf_no_error());
}
