/*
 * Frames between the processes, from one that was taken over: any bytes in
 * pieces of any size, with descriptors or without.
 */

#include <sys/socket.h>

#include <fcntl.h>
#include <unistd.h>

#include "bounds.h"
#include "chan.h"
#include "fuzz.h"

#define FDS_MAX	12

/* One piece, with so many descriptors. */
static void
put(int fd, const uint8_t *data, size_t len, size_t nfds)
{
	union {
		struct cmsghdr	 hdr;
		char		 buf[CMSG_SPACE(sizeof(int) * FDS_MAX)];
	} cmsgbuf;
	struct msghdr	 mh;
	struct cmsghdr	*cm;
	struct iovec	 iov;
	int		 fds[FDS_MAX];
	size_t		 i;

	memset(&mh, 0, sizeof(mh));
	memset(&cmsgbuf, 0, sizeof(cmsgbuf));
	iov.iov_base = (void *)(uintptr_t)data;
	iov.iov_len = len;
	mh.msg_iov = &iov;
	mh.msg_iovlen = 1;
	if (nfds > 0) {
		for (i = 0; i < nfds; i++)
			fds[i] = fd;
		mh.msg_control = &cmsgbuf;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		cm = CMSG_FIRSTHDR(&mh);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(cm), fds, sizeof(int) * nfds);
	}
	need(sendmsg(fd, &mh, MSG_DONTWAIT) == (ssize_t)len);
}

static int
take(struct chan *ch, size_t total)
{
	struct frame	 f;
	uint8_t		*copy;
	int		 n;

	while ((n = chan_get(ch, &f)) == 1) {
		need(f.len <= CHAN_MAX_FRAME && f.len < total);
		copy = fuzz_copy(f.data, f.len);
		free(copy);
		if (f.fd != -1)
			need(fcntl(f.fd, F_GETFD) == FD_CLOEXEC);
		chan_frame_free(&f);
	}
	return (n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz	 in = { data, len };
	struct chan	 ch;
	size_t		 piece, total, n, i = 0;
	uint8_t		 which, nfds;
	int		 sv[2];

	piece = (size_t)fuzz_u8(&in) + 1;
	which = fuzz_u8(&in);
	nfds = fuzz_u8(&in) % FDS_MAX;
	total = in.len;
	need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == 0);
	chan_init(&ch, sv[0], "peer", NULL);
	while (in.len > 0) {
		n = in.len < piece ? in.len : piece;
		put(sv[1], in.p, n, which & 1 << i++ % 8 ? nfds : 0);
		in.p += n;
		in.len -= n;
		if (chan_read(&ch) == -1 || take(&ch, total) == -1)
			break;
	}
	chan_clear(&ch);
	close(sv[1]);
	fuzz_fds();
	return (0);
}
