/*
 * FUSE by hand: as much of it as an open(2) and its owner's close(2) need, and
 * silence for all others.
 */

#include <sys/types.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <linux/fuse.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fusefs.h"
#include "passfd.h"

#define FILE_NODE	2

static pid_t	 pids[8][2];		/* client and server of each */
static size_t	 npids;

static void
attr(struct fuse_attr *a, uint64_t node)
{
	memset(a, 0, sizeof(*a));
	a->ino = node;
	a->nlink = 1;
	a->mode = node == FILE_NODE ? S_IFREG | 0666 : S_IFDIR | 0755;
	a->size = node == FILE_NODE ? 4096 : 0;
	a->blksize = 4096;
}

static void
reply(int fd, uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header	 h;
	struct iovec		 iov[2];

	memset(&h, 0, sizeof(h));
	h.unique = unique;
	h.error = -error;
	h.len = sizeof(h) + len;
	iov[0].iov_base = &h;
	iov[0].iov_len = sizeof(h);
	iov[1].iov_base = (void *)(uintptr_t)data;
	iov[1].iov_len = len;
	if (writev(fd, iov, 2) == -1)
		_exit(1);
}

/* What is another client's would keep that one's connection open. */
static void
keep_only(int a, int b)
{
	int	 fd;

	for (fd = STDERR_FILENO + 1; fd < 1024; fd++)
		if (fd != a && fd != b)
			close(fd);
}

/*
 * The mount's owner may open and close.  Who else closes the file has had it,
 * and waits for ever: nothing ends such a process.
 */
static void
serve(int fd, uint32_t owner)
{
	static uint64_t		 buf[(FUSE_MIN_READ_BUFFER + 65536) / 8];
	struct fuse_in_header	*h = (struct fuse_in_header *)buf;
	union {
		struct fuse_init_out	 init;
		struct fuse_entry_out	 entry;
		struct fuse_attr_out	 attr;
		struct fuse_open_out	 open;
	} out;

	for (;;) {
		if (read(fd, buf, sizeof(buf)) < (ssize_t)sizeof(*h))
			_exit(1);
		memset(&out, 0, sizeof(out));
		switch (h->opcode) {
		case FUSE_INIT:
			out.init.major = FUSE_KERNEL_VERSION;
			out.init.minor = 31;
			out.init.max_write = 4096;
			reply(fd, h->unique, 0, &out.init, sizeof(out.init));
			break;
		case FUSE_LOOKUP:
			out.entry.nodeid = FILE_NODE;
			attr(&out.entry.attr, FILE_NODE);
			reply(fd, h->unique, 0, &out.entry,
			    sizeof(out.entry));
			break;
		case FUSE_GETATTR:
			attr(&out.attr.attr, h->nodeid);
			reply(fd, h->unique, 0, &out.attr, sizeof(out.attr));
			break;
		case FUSE_OPEN:
			out.open.open_flags = FOPEN_DIRECT_IO;
			reply(fd, h->unique, 0, &out.open, sizeof(out.open));
			break;
		case FUSE_FLUSH:
			if (h->pid == owner)
				reply(fd, h->unique, 0, NULL, 0);
			else
				fprintf(stderr, "closed by %u\n", h->pid);
			break;
		case FUSE_RELEASE:
			fprintf(stderr, "released\n");
			break;
		default:
			reply(fd, h->unique, ENOSYS, NULL, 0);
			break;
		}
	}
}

static int
proc_write(const char *path, const char *text)
{
	ssize_t	 len = (ssize_t)strlen(text), n;
	int	 fd;

	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return (-1);
	n = write(fd, text, len);
	close(fd);
	return (n == len ? 0 : -1);
}

/* A user of no rights is allowed this in name spaces of his own. */
static int
own_space(void)
{
	char	 uids[64], gids[64];

	if (geteuid() == 0)
		return (unshare(CLONE_NEWNS));
	snprintf(uids, sizeof(uids), "0 %u 1", (unsigned int)geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1", (unsigned int)getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == -1 ||
	    proc_write("/proc/self/uid_map", uids) == -1 ||
	    proc_write("/proc/self/setgroups", "deny") == -1)
		return (-1);
	return (proc_write("/proc/self/gid_map", gids));
}

int
fusefs_open(const char *device, pid_t *server)
{
	char	 opts[128];
	pid_t	 owner = getpid();
	int	 fd, file;

	*server = -1;
	if (own_space() == -1 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    (fd = open(device, O_RDWR | O_CLOEXEC)) == -1)
		return (-1);
	snprintf(opts, sizeof(opts),
	    "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (mount("test", "/tmp", "fuse", MS_NOSUID | MS_NODEV, opts) == -1) {
		close(fd);
		return (-1);
	}
	if ((*server = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		keep_only(fd, fd);
		serve(fd, (uint32_t)owner);
		_exit(1);
	}
	close(fd);
	if (*server == -1 || (file = open("/tmp/f", O_RDWR)) == -1)
		return (-1);
	return (file);
}

pid_t
fusefs_send(int sock, const void *data, size_t len)
{
	pid_t		 pid, server = -1;
	int		 p[2], file;

	ATF_REQUIRE(npids < sizeof(pids) / sizeof(pids[0]));
	ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		keep_only(sock, p[1]);
		if ((file = fusefs_open("/dev/fuse", &server)) == -1) {
			fprintf(stderr, "no FUSE: %s\n", strerror(errno));
			if (server > 0)
				kill(server, SIGKILL);
			_exit(1);
		}
		if (passfd_send(sock, data, len, file, 1, 0) != (ssize_t)len)
			_exit(1);
		close(sock);
		if (write(p[1], &server, sizeof(server)) !=
		    sizeof(server))
			_exit(1);
		close(p[1]);
		close(file);
		for (;;)
			pause();
	}
	close(p[1]);
	if (read(p[0], &server, sizeof(server)) != sizeof(server)) {
		close(p[0]);
		ATF_REQUIRE(waitpid(pid, NULL, 0) == pid);
		return (0);
	}
	close(p[0]);
	pids[npids][0] = pid;
	pids[npids++][1] = server;
	return (pid);
}

void
fusefs_end(void)
{
	while (npids > 0) {
		npids--;
		/* The server first: the other one cannot end before. */
		kill(pids[npids][1], SIGKILL);
		kill(pids[npids][0], SIGKILL);
		ATF_REQUIRE(waitpid(pids[npids][0], NULL, 0) ==
		    pids[npids][0]);
	}
}
