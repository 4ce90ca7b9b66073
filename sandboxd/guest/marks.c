/*
 * Marks: how a directory was at some time, to be compared with later.  A
 * worker writes one into memory that is a file without a name; PID 1 holds
 * its descriptor, since no worker lives for long and what lies on a disk of
 * the sandbox its commands could change, and hands it to the worker that is
 * to compare.  They end with the guest.
 */

#include <sys/socket.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "guest.h"

#define MARKS		8

static struct mark {
	char	 name[MARK_NAME_MAX + 1];	/* "": this place is free */
	int	 fd;
} marks[MARKS];

static struct mark *
mark_find(const char *name)
{
	int	 i;

	for (i = 0; i < MARKS; i++)
		if (strcmp(marks[i].name, name) == 0)
			return (&marks[i]);
	return (NULL);
}

/* Is there a place for it? */
int
mark_room(const char *name)
{
	return (mark_find(name) != NULL || mark_find("") != NULL);
}

/* Its descriptor, which stays ours, or -1. */
int
mark_fd(const char *name)
{
	struct mark	*m = *name == '\0' ? NULL : mark_find(name);

	return (m == NULL ? -1 : m->fd);
}

/* Takes the descriptor; -1 if it was closed for lack of a place. */
int
mark_keep(const char *name, int fd)
{
	struct mark	*m;

	if ((m = mark_find(name)) != NULL)
		close(m->fd);
	else if ((m = mark_find("")) == NULL) {
		close(fd);
		return (-1);
	}
	memcpy(m->name, name, strlen(name) + 1);
	m->fd = fd;
	return (0);
}

int
mark_drop(const char *name)
{
	struct mark	*m;

	if (*name == '\0' || (m = mark_find(name)) == NULL)
		return (-1);
	close(m->fd);
	m->name[0] = '\0';
	return (0);
}

union ctl_fd {
	struct cmsghdr	 hdr;
	char		 buf[CMSG_SPACE(sizeof(int))];
};

/* A packet, with a descriptor unless that is -1. */
ssize_t
packet_put(int sock, const void *buf, size_t len, int fd, int flags)
{
	union ctl_fd	 cm;
	struct msghdr	 mh;
	struct iovec	 iov;

	memset(&mh, 0, sizeof(mh));
	iov.iov_base = (void *)(uintptr_t)buf;
	iov.iov_len = len;
	mh.msg_iov = &iov;
	mh.msg_iovlen = 1;
	if (fd != -1) {
		memset(&cm, 0, sizeof(cm));
		cm.hdr.cmsg_level = SOL_SOCKET;
		cm.hdr.cmsg_type = SCM_RIGHTS;
		cm.hdr.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&cm.hdr), &fd, sizeof(fd));
		mh.msg_control = &cm;
		mh.msg_controllen = sizeof(cm);
	}
	return (sendmsg(sock, &mh, MSG_NOSIGNAL | flags));
}

/* The next packet; *fd is that which came with it, or -1. */
ssize_t
packet_get(int sock, void *buf, size_t size, int *fd, int flags)
{
	union ctl_fd	 cm;
	struct msghdr	 mh;
	struct cmsghdr	*c;
	struct iovec	 iov;
	ssize_t		 n;

	*fd = -1;
	memset(&mh, 0, sizeof(mh));
	iov.iov_base = buf;
	iov.iov_len = size;
	mh.msg_iov = &iov;
	mh.msg_iovlen = 1;
	mh.msg_control = &cm;
	/* The room is padded: two would find place in it, and one its end. */
	mh.msg_controllen = CMSG_LEN(sizeof(int));
	if ((n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC | flags)) == -1)
		return (-1);
	c = CMSG_FIRSTHDR(&mh);
	if (c != NULL && c->cmsg_level == SOL_SOCKET &&
	    c->cmsg_type == SCM_RIGHTS && c->cmsg_len ==
	    CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	/* Without a byte it is the end, where nobody looks for more. */
	if (n == 0 && *fd != -1) {
		close(*fd);
		*fd = -1;
	}
	return (n);
}
