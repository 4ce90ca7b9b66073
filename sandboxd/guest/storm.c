/*
 * In a build with fault points, SANDBOXD_FAULT=guest.io:n has each n-th of
 * these calls interrupted or do less than it was asked to, in turn, where
 * that can happen at all.  The linker puts them in the place of libc's.
 */

#include "fault.h"

#ifdef FAULTS
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORM	"guest.io:"

enum { NO, INTERRUPT, SHORTEN };

/* A packet is taken whole, or what is left of it is lost. */
static int
has_packets(int fd)
{
	socklen_t	 n = sizeof(int);
	int		 type;

	return (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 &&
	    type == SOCK_SEQPACKET);
}

/* Files are read whole, and so are counters and what tells of signals. */
static int
storm(int fd, size_t *len)
{
	static long	 every = -1, calls;
	const char	*spec;
	struct stat	 st;

	if (every == -1) {
		spec = getenv("SANDBOXD_FAULT");
		every = spec != NULL && strncmp(spec, STORM,
		    strlen(STORM)) == 0 ? atol(spec + strlen(STORM)) : 0;
	}
	if (every <= 0 || (len != NULL && (*len <= 8 ||
	    fstat(fd, &st) == -1 || (!S_ISSOCK(st.st_mode) &&
	    !S_ISFIFO(st.st_mode)))) || ++calls % every != 0)
		return (NO);
	if (calls / every % 2 == 0) {
		errno = EINTR;
		return (INTERRUPT);
	}
	if (len != NULL && has_packets(fd))
		return (NO);
	if (len != NULL)
		*len = 1 + (size_t)calls * 7919 % (*len - 1);
	return (SHORTEN);
}

#define WRAP3(ret, name, ptr)						\
ret	__real_##name(int, ptr, size_t);				\
ret	__wrap_##name(int, ptr, size_t);				\
ret									\
__wrap_##name(int fd, ptr buf, size_t len)				\
{									\
	if (storm(fd, &len) == INTERRUPT)					\
		return (-1);						\
	return (__real_##name(fd, buf, len));				\
}

#define WRAP4(ret, name, ptr)						\
ret	__real_##name(int, ptr, size_t, int);				\
ret	__wrap_##name(int, ptr, size_t, int);				\
ret									\
__wrap_##name(int fd, ptr buf, size_t len, int flags)			\
{									\
	if (storm(fd, &len) == INTERRUPT)					\
		return (-1);						\
	return (__real_##name(fd, buf, len, flags));			\
}

#define WRAPV(name)							\
ssize_t	__real_##name(int, const struct iovec *, int);			\
ssize_t	__wrap_##name(int, const struct iovec *, int);			\
ssize_t									\
__wrap_##name(int fd, const struct iovec *iov, int n)			\
{									\
	struct iovec	 one = iov[0];					\
									\
	switch (n > 0 ? storm(fd, &one.iov_len) : NO) {			\
	case INTERRUPT:							\
		return (-1);						\
	case SHORTEN:							\
		return (__real_##name(fd, &one, 1));			\
	}								\
	return (__real_##name(fd, iov, n));				\
}

WRAP3(ssize_t, read, void *)
WRAP3(ssize_t, write, const void *)
WRAP4(ssize_t, recv, void *)
WRAP4(ssize_t, send, const void *)
WRAPV(readv)
WRAPV(writev)

ssize_t	__real_splice(int, off_t *, int, off_t *, size_t, unsigned int);
ssize_t	__wrap_splice(int, off_t *, int, off_t *, size_t, unsigned int);
ssize_t
__wrap_splice(int in, off_t *inoff, int out, off_t *outoff, size_t len,
    unsigned int flags)
{
	if (storm(out, &len) == INTERRUPT)
		return (-1);
	return (__real_splice(in, inoff, out, outoff, len, flags));
}

int	__real_epoll_wait(int, struct epoll_event *, int, int);
int	__wrap_epoll_wait(int, struct epoll_event *, int, int);
int
__wrap_epoll_wait(int fd, struct epoll_event *ev, int n, int ms)
{
	return (storm(-1, NULL) == INTERRUPT ? -1 :
	    __real_epoll_wait(fd, ev, n, ms));
}

int	__real_waitid(idtype_t, id_t, siginfo_t *, int);
int	__wrap_waitid(idtype_t, id_t, siginfo_t *, int);
int
__wrap_waitid(idtype_t type, id_t id, siginfo_t *si, int how)
{
	/* One that is known to have ended is not waited for. */
	return (how == (WEXITED | WNOWAIT) &&
	    storm(-1, NULL) == INTERRUPT ? -1 : __real_waitid(type,
	    id, si, how));
}

#else
/* A file without a declaration is no C. */
typedef int	 storm_unused;
#endif
