/* Packets between PID 1 and a worker, of which neither trusts the other. */

#include <sys/socket.h>

#include <atf-c.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "marks.c"
#include "usage.h"

#define FDS	3

static int	 ends[2];

/* As a worker can that somebody has taken over: so many descriptors. */
static void
put(size_t len, size_t nfds)
{
	union {
		struct cmsghdr	 hdr;
		char		 buf[CMSG_SPACE(FDS * sizeof(int))];
	} cm;
	struct msghdr	 mh;
	struct iovec	 iov;
	size_t		 i;
	int		 fds[FDS];

	memset(&mh, 0, sizeof(mh));
	memset(&cm, 0, sizeof(cm));
	iov.iov_base = (void *)(uintptr_t)"abc";
	iov.iov_len = len;
	mh.msg_iov = &iov;
	mh.msg_iovlen = 1;
	for (i = 0; i < nfds; i++)
		fds[i] = STDIN_FILENO;
	cm.hdr.cmsg_level = SOL_SOCKET;
	cm.hdr.cmsg_type = SCM_RIGHTS;
	cm.hdr.cmsg_len = CMSG_LEN(nfds * sizeof(int));
	memcpy(CMSG_DATA(&cm.hdr), fds, nfds * sizeof(int));
	mh.msg_control = &cm;
	mh.msg_controllen = cm.hdr.cmsg_len;
	ATF_REQUIRE_EQ((ssize_t)len, sendmsg(ends[1], &mh, MSG_NOSIGNAL));
}

/* What comes with it is the one that is told, and no other. */
ATF_TC_WITHOUT_HEAD(left);
ATF_TC_BODY(left, tc)
{
	size_t	 len, nfds;
	char	 buf[8];
	int	 fd, had;

	(void)tc;
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
	    ends) == 0);
	had = usage_fds(getpid());
	for (len = 0; len < 3; len++)
		for (nfds = 1; nfds <= FDS; nfds++) {
			put(len, nfds);
			ATF_CHECK_EQ((ssize_t)len, packet_get(ends[0], buf,
			    sizeof(buf), &fd, MSG_DONTWAIT));
			if (fd != -1)
				close(fd);
			/* The end of it, after which nobody looks. */
			ATF_CHECK(len > 0 || fd == -1);
			ATF_CHECK_EQ_MSG(had, usage_fds(getpid()),
			    "%zu bytes, %zu descriptors: %d are left", len,
			    nfds, usage_fds(getpid()) - had);
		}
}

/* One mark more than there is room for, and the same one again. */
ATF_TC_WITHOUT_HEAD(keep);
ATF_TC_BODY(keep, tc)
{
	char	 name[8];
	int	 had, i;

	(void)tc;
	had = usage_fds(getpid());
	for (i = 0; i < 3 * MARKS; i++) {
		snprintf(name, sizeof(name), "m%d", i % (MARKS + 1));
		(void)mark_keep(name, dup(STDIN_FILENO));
		ATF_CHECK_EQ(had + (i < MARKS ? i + 1 : MARKS),
		    usage_fds(getpid()));
	}
	ATF_CHECK_EQ(-1, mark_drop(""));
	for (i = 0; i < MARKS; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		ATF_CHECK_EQ(0, mark_drop(name));
		ATF_CHECK_EQ(-1, mark_fd(name));
	}
	ATF_CHECK_EQ(had, usage_fds(getpid()));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, left);
	ATF_TP_ADD_TC(tp, keep);
	return (atf_no_error());
}
