/*
 * Preloaded: calls of the C library that fail, are cut short, are late, or see
 * another time, in the process and at the call that a file says (shim.h).
 *
 * The file is mapped when a process starts, before it gives up its rights and
 * its root directory.  What is wrapped is also what the libraries of a process
 * call, since they find these functions first.
 */
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"

#define X(name)	#name,
static const char *const roles[] = { SHIM_ROLES };
#undef X

static struct shim	*sh;
static int		 role = -1;

/* The C library's own, found at its first use. */
#define REAL(ret, name, ...)						\
	static ret	(*real)(__VA_ARGS__);				\
	if (real == NULL)						\
		real = (ret (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* A child has its role for its first argument; see spawn.c. */
__attribute__((constructor)) static void
shim_start(int argc, char **argv, char **envp)
{
	const char	*path, *name;
	struct shim	*map;
	int		 fd, i;

	(void)envp;
	if ((path = getenv(SHIM_ENV)) == NULL || argc < 1)
		return;
	name = strrchr(argv[0], '/');
	name = name == NULL ? argv[0] : name + 1;
	if (strcmp(name, "sandboxd") == 0)
		name = argc < 2 || argv[1][0] == '-' ? "parent" : argv[1];
	for (i = 0; i < SHIM_NROLES; i++)
		if (strcmp(roles[i], name) == 0)
			break;
	if (i == SHIM_NROLES || (fd = open(path, O_RDWR | O_CLOEXEC)) == -1)
		return;
	map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	    0);
	close(fd);
	if (map == MAP_FAILED)
		return;
	role = i;
	sh = map;
}

static int
is_file(int fd)
{
	struct stat	 st;
	int		 error = errno, ret;

	ret = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	errno = error;
	return (ret);
}

/* So long, or until the rule is taken back. */
static void
pause_for(const struct shim_rule *r, int ms)
{
	struct timespec	 slice = { 0, 10000000 };
	int		 error = errno;

	for (; ms > 0; ms -= 10) {
		if (__atomic_load_n(&r->action, __ATOMIC_SEQ_CST) !=
		    ACT_DELAY)
			break;
		(void)nanosleep(&slice, NULL);
	}
	errno = error;
}

/* Counts; what this call is to do.  Of a delay nothing is left to do. */
static int
shim_hit(enum shim_call call, int fd, int *arg)
{
	struct shim_rule	*r;
	uint64_t		 n;
	int			 act;

	if (sh == NULL)
		return (ACT_NONE);
	r = &sh->rule[role][call];
	act = __atomic_load_n(&r->action, __ATOMIC_SEQ_CST);
	if (act == ACT_NONE || (r->files && fd != -1 && !is_file(fd)))
		return (ACT_NONE);
	n = __atomic_add_fetch(&r->count, 1, __ATOMIC_SEQ_CST);
	if (n < r->first || (n > r->first &&
	    (r->every == 0 || (n - r->first) % r->every != 0)))
		return (ACT_NONE);
	n = __atomic_add_fetch(&r->hits, 1, __ATOMIC_SEQ_CST);
	*arg = r->arg;
	if (act == ACT_STORM) {
		*arg = EINTR;
		/* Nobody interrupts what is done to a file. */
		act = n % 2 == 1 && !is_file(fd) ? ACT_ERROR : ACT_SHORT;
	}
	if (act == ACT_DELAY) {
		pause_for(r, *arg);
		act = ACT_NONE;
	}
	return (act);
}

/* True if the call fails; errno says of what. */
static int
shim_fails(enum shim_call call, int fd)
{
	int	 arg;

	if (shim_hit(call, fd, &arg) != ACT_ERROR)
		return (0);
	errno = arg;
	return (1);
}

/* A part of so many bytes, each time another. */
static size_t
part_of(size_t len)
{
	static size_t	 n;

	return (1 + ++n * 7919 % (len - 1));
}

/* The same for a call with a length, which may become shorter. */
static int
shim_cuts(enum shim_call call, int fd, size_t *len)
{
	int	 arg, act;

	act = shim_hit(call, fd, &arg);
	if (act == ACT_ERROR) {
		errno = arg;
		return (1);
	}
	/* What has eight bytes is a counter, which has no half. */
	if (act == ACT_SHORT && *len > 8)
		*len = part_of(*len);
	return (0);
}

/* Leaves the first bytes of a vector; iov has room for IOV_HAVE. */
#define IOV_HAVE	64

static int
iov_cut(struct iovec *to, const struct iovec *from, int n, int *count)
{
	size_t	 len = 0, want;
	int	 i;

	for (i = 0; i < n; i++)
		len += from[i].iov_len;
	if (n > IOV_HAVE || len <= 8)
		return (-1);
	want = part_of(len);
	for (i = 0; i < n && want > 0; i++) {
		to[i] = from[i];
		if (to[i].iov_len > want)
			to[i].iov_len = want;
		want -= to[i].iov_len;
	}
	*count = i;
	return (0);
}

/* The C library's allocator under its other names; the rest is its own. */
#ifndef ASAN
void	*__libc_malloc(size_t);
void	*__libc_calloc(size_t, size_t);
void	*__libc_realloc(void *, size_t);

void *
malloc(size_t n)
{
	return (shim_fails(CALL_alloc, -1) ? NULL : __libc_malloc(n));
}

void *
calloc(size_t n, size_t size)
{
	return (shim_fails(CALL_alloc, -1) ? NULL : __libc_calloc(n, size));
}

void *
realloc(void *p, size_t n)
{
	return (shim_fails(CALL_alloc, -1) ? NULL : __libc_realloc(p, n));
}
#endif

#define CUT3(ret, name, call, ptr)					\
ret									\
name(int fd, ptr buf, size_t len)					\
{									\
	REAL(ret, name, int, ptr, size_t);				\
	if (shim_cuts(call, fd, &len))					\
		return (-1);						\
	return (real(fd, buf, len));					\
}

CUT3(ssize_t, read, CALL_read, void *)
CUT3(ssize_t, write, CALL_write, const void *)

ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
	REAL(ssize_t, recv, int, void *, size_t, int);
	if (shim_cuts(CALL_recv, fd, &len))
		return (-1);
	return (real(fd, buf, len, flags));
}

ssize_t
send(int fd, const void *buf, size_t len, int flags)
{
	REAL(ssize_t, send, int, const void *, size_t, int);
	/* libevent's own handler of signals: nothing interrupts that. */
	if (len > 1 && shim_cuts(CALL_send, fd, &len))
		return (-1);
	return (real(fd, buf, len, flags));
}

ssize_t
pread(int fd, void *buf, size_t len, off_t off)
{
	REAL(ssize_t, pread, int, void *, size_t, off_t);
	if (shim_cuts(CALL_pread, fd, &len))
		return (-1);
	return (real(fd, buf, len, off));
}

ssize_t
pwrite(int fd, const void *buf, size_t len, off_t off)
{
	REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
	if (shim_cuts(CALL_pwrite, fd, &len))
		return (-1);
	return (real(fd, buf, len, off));
}

ssize_t
splice(int in, off_t *inoff, int out, off_t *outoff, size_t len,
    unsigned int flags)
{
	REAL(ssize_t, splice, int, off_t *, int, off_t *, size_t,
	    unsigned int);
	if (shim_cuts(CALL_splice, in, &len))
		return (-1);
	return (real(in, inoff, out, outoff, len, flags));
}

#define VECTOR(name, call)						\
ssize_t									\
name(int fd, const struct iovec *iov, int n)				\
{									\
	struct iovec	 cut[IOV_HAVE];					\
	int		 act, arg;					\
									\
	REAL(ssize_t, name, int, const struct iovec *, int);		\
	act = shim_hit(call, fd, &arg);					\
	if (act == ACT_ERROR) {						\
		errno = arg;						\
		return (-1);						\
	}								\
	if (act == ACT_SHORT && iov_cut(cut, iov, n, &n) == 0)		\
		iov = cut;						\
	return (real(fd, iov, n));					\
}

VECTOR(readv, CALL_readv)
VECTOR(writev, CALL_writev)

/* As the kernel does it when there is no room for a descriptor. */
static void
drop_fds(struct msghdr *m)
{
	struct cmsghdr	*c;
	size_t		 i;
	int		 fd;

	for (c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(fd);
		    i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			close(fd);
		}
		m->msg_controllen = 0;
		m->msg_flags |= MSG_CTRUNC;
		return;
	}
}

static int
has_fds(struct msghdr *m)
{
	return (m->msg_controllen > 0 && CMSG_FIRSTHDR(m) != NULL);
}

/* Only messages with a descriptor count for the loss of one. */
ssize_t
recvmsg(int fd, struct msghdr *m, int flags)
{
	struct iovec	 cut[IOV_HAVE], *iov = m->msg_iov;
	size_t		 had = m->msg_iovlen;
	ssize_t		 ret;
	int		 act = ACT_NONE, arg = 0, n = m->msg_iovlen, nofd;

	REAL(ssize_t, recvmsg, int, struct msghdr *, int);
	nofd = sh != NULL &&
	    sh->rule[role][CALL_recvmsg].action == ACT_NOFD;
	if (!nofd)
		act = shim_hit(CALL_recvmsg, fd, &arg);
	if (act == ACT_ERROR) {
		errno = arg;
		return (-1);
	}
	if (act == ACT_SHORT && iov_cut(cut, iov, n, &n) == 0) {
		m->msg_iov = cut;
		m->msg_iovlen = n;
	}
	ret = real(fd, m, flags);
	m->msg_iov = iov;
	m->msg_iovlen = had;
	if (nofd && ret != -1 && has_fds(m) &&
	    shim_hit(CALL_recvmsg, fd, &arg) == ACT_NOFD)
		drop_fds(m);
	return (ret);
}

ssize_t
sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct iovec	 cut[IOV_HAVE];
	struct msghdr	 copy = *m;
	int		 act, arg, n = m->msg_iovlen;

	REAL(ssize_t, sendmsg, int, const struct msghdr *, int);
	act = shim_hit(CALL_sendmsg, fd, &arg);
	if (act == ACT_ERROR) {
		errno = arg;
		return (-1);
	}
	if (act == ACT_SHORT && iov_cut(cut, m->msg_iov, n, &n) == 0) {
		copy.msg_iov = cut;
		copy.msg_iovlen = n;
	}
	return (real(fd, &copy, flags));
}

#define FAILS(name, call, fd, types, args)				\
int									\
name types								\
{									\
	static int	(*real) types;					\
									\
	if (real == NULL)						\
		real = (int (*) types)dlsym(RTLD_NEXT, #name);		\
	if (shim_fails(call, fd))					\
		return (-1);						\
	return (real args);						\
}

FAILS(epoll_wait, CALL_wait, -1, (int ep, struct epoll_event *ev, int n,
    int ms), (ep, ev, n, ms))
FAILS(poll, CALL_wait, -1, (struct pollfd *p, nfds_t n, int ms), (p, n, ms))
FAILS(accept4, CALL_accept, fd, (int fd, struct sockaddr *sa, socklen_t *len,
    int flags), (fd, sa, len, flags))
FAILS(connect, CALL_connect, fd, (int fd, const struct sockaddr *sa,
    socklen_t len), (fd, sa, len))
FAILS(socket, CALL_socket, -1, (int d, int t, int p), (d, t, p))
FAILS(socketpair, CALL_socketpair, -1, (int d, int t, int p, int fds[2]),
    (d, t, p, fds))
FAILS(pipe2, CALL_pipe, -1, (int fds[2], int flags), (fds, flags))
FAILS(fsync, CALL_sync, fd, (int fd), (fd))
FAILS(fdatasync, CALL_sync, fd, (int fd), (fd))
FAILS(ftruncate, CALL_truncate, fd, (int fd, off_t len), (fd, len))
FAILS(unlink, CALL_remove, -1, (const char *name), (name))
FAILS(unlinkat, CALL_remove, -1, (int fd, const char *name, int flags),
    (fd, name, flags))
FAILS(rename, CALL_rename, -1, (const char *from, const char *to), (from, to))
FAILS(mkdir, CALL_mkdir, -1, (const char *name, mode_t mode), (name, mode))
FAILS(waitpid, CALL_waitpid, -1, (pid_t pid, int *status, int how),
    (pid, status, how))

int
posix_fallocate(int fd, off_t off, off_t len)
{
	REAL(int, posix_fallocate, int, off_t, off_t);
	if (shim_fails(CALL_truncate, fd))
		return (errno);
	return (real(fd, off, len));
}

/* A file that is opened for reading is no matter of a file system's. */
static int
open_fails(int flags)
{
	int	 arg;

	if (sh == NULL || (sh->rule[role][CALL_open].files &&
	    (flags & O_ACCMODE) == O_RDONLY))
		return (0);
	if (shim_hit(CALL_open, -1, &arg) != ACT_ERROR)
		return (0);
	errno = arg;
	return (1);
}

int
open(const char *name, int flags, ...)
{
	va_list	 ap;
	mode_t	 mode;

	REAL(int, open, const char *, int, ...);
	va_start(ap, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return (open_fails(flags) ? -1 : real(name, flags, mode));
}

int
openat(int fd, const char *name, int flags, ...)
{
	va_list	 ap;
	mode_t	 mode;

	REAL(int, openat, int, const char *, int, ...);
	va_start(ap, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return (open_fails(flags) ? -1 : real(fd, name, flags, mode));
}

/* What a compiler that knows the buffer's size calls instead. */
ssize_t
__read_chk(int fd, void *buf, size_t len, size_t size)
{
	(void)size;
	return (read(fd, buf, len));
}

ssize_t
__pread_chk(int fd, void *buf, size_t len, off_t off, size_t size)
{
	(void)size;
	return (pread(fd, buf, len, off));
}

ssize_t
__recv_chk(int fd, void *buf, size_t len, size_t size, int flags)
{
	(void)size;
	return (recv(fd, buf, len, flags));
}

int
__poll_chk(struct pollfd *p, nfds_t n, int ms, size_t size)
{
	(void)size;
	return (poll(p, n, ms));
}

int
__open_2(const char *name, int flags)
{
	return (open(name, flags));
}

ssize_t
getrandom(void *buf, size_t len, unsigned int flags)
{
	REAL(ssize_t, getrandom, void *, size_t, unsigned int);
	if (shim_fails(CALL_random, -1))
		return (-1);
	return (real(buf, len, flags));
}

/* Whether this second is one of those that are further ahead. */
static int64_t
clock_ahead(void)
{
	struct timespec	 ts;

	REAL(int, clock_gettime, clockid_t, struct timespec *);
	if (sh == NULL)
		return (0);
	(void)real(CLOCK_MONOTONIC, &ts);
	return (sh->clock[role].ahead +
	    (ts.tv_sec % 2 == 0 ? sh->clock[role].swing : 0));
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int	 ret;

	REAL(int, clock_gettime, clockid_t, struct timespec *);
	if (sh != NULL && sh->clock[role].pageless) {
		__atomic_fetch_add(&sh->clock[role].asked, 1,
		    __ATOMIC_RELAXED);
		ret = syscall(SYS_clock_gettime, id, ts);
	} else
		ret = real(id, ts);
	if (ret == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += clock_ahead();
	return (ret);
}

int
gettimeofday(struct timeval *tv, void *tz)
{
	int	 ret;

	REAL(int, gettimeofday, struct timeval *, void *);
	ret = real(tv, tz);
	if (ret == 0)
		tv->tv_sec += clock_ahead();
	return (ret);
}

time_t
time(time_t *tp)
{
	time_t	 t;

	REAL(time_t, time, time_t *);
	t = real(NULL) + clock_ahead();
	if (tp != NULL)
		*tp = t;
	return (t);
}

/* How the library calls itself, that lies there by now. */
char *
db_version(int *major, int *minor, int *patch)
{
	char	*s;

	REAL(char *, db_version, int *, int *, int *);
	s = real(major, minor, patch);
	if (sh != NULL && sh->db != 0 && minor != NULL)
		*minor = sh->db - 1;
	return (s);
}
