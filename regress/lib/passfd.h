/* Bytes with descriptors beside the first of them, as sendmsg(2) gives them. */
#ifndef PASSFD_H
#define PASSFD_H

#include <sys/socket.h>

#include <stdint.h>
#include <string.h>

#define PASSFD_MAX	253	/* the kernel's own bound */

/* The same descriptor n times; flags are those of sendmsg(2). */
static inline ssize_t
passfd_send(int sock, const void *data, size_t len, int fd, size_t n, int flags)
{
	union {
		struct cmsghdr	 hdr;
		char		 buf[CMSG_SPACE(sizeof(int) * PASSFD_MAX)];
	} control;
	struct msghdr	 mh;
	struct iovec	 iov;
	size_t		 i;

	memset(&mh, 0, sizeof(mh));
	iov.iov_base = (void *)(uintptr_t)data;
	iov.iov_len = len;
	mh.msg_iov = &iov;
	mh.msg_iovlen = 1;
	if (n > 0) {
		memset(&control, 0, sizeof(control));
		control.hdr.cmsg_level = SOL_SOCKET;
		control.hdr.cmsg_type = SCM_RIGHTS;
		control.hdr.cmsg_len = CMSG_LEN(sizeof(int) * n);
		for (i = 0; i < n; i++)
			memcpy(CMSG_DATA(&control.hdr) + i * sizeof(int), &fd,
			    sizeof(fd));
		mh.msg_control = &control;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * n);
	}
	return (sendmsg(sock, &mh, flags | MSG_NOSIGNAL));
}

#endif
