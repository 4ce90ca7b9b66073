/*
 * Workspaces with a bound: each is a file system in a file of its size, which
 * lies beside the directory that it is mounted over.  All of its blocks are
 * taken when it is made, so that none of them can be missing later.
 *
 * A child of the parent does it, since all of it can take its time, and what
 * it ends with is the answer.  The file is formatted by mke2fs(8), which has
 * no capability then, under a name that is not the last one: what a crash has
 * left half made is made anew.
 *
 * The file stays locked as long as a loop device has it, by whomever that was
 * attached, and so is never mounted twice.
 */

#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include <linux/loop.h>
#include <linux/magic.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "parent.h"

#define DISK_BLOCK	4096
#define LOOP_TRIES	64	/* others take devices at the same time */

enum disk_end {
	DISK_OK,
	DISK_FULL,
	DISK_RESERVE,
	DISK_LARGE,
	DISK_FILE,
	DISK_NO_MKFS,
	DISK_MKFS,
	DISK_BUSY,
	DISK_LOOP,
	DISK_MOUNT,
	DISK_SIZE,
	DISK_REMOVE,
	DISK_MAX
};

static const struct {
	enum code	 code;
	const char	*text;
} ends[DISK_MAX] = {
	[DISK_OK] = { CODE_OK, "" },
	[DISK_FULL] = { CODE_NO_SPACE, "disk: the file system of the state "
	    "directory has no room for it" },
	[DISK_RESERVE] = { CODE_UNSUPPORTED, "disk: the file system of the "
	    "state directory cannot reserve room (fallocate)" },
	[DISK_LARGE] = { CODE_UNSUPPORTED, "disk: the file system of the "
	    "state directory has no files that large" },
	[DISK_FILE] = { CODE_INTERNAL, "disk: its file cannot be made" },
	[DISK_NO_MKFS] = { CODE_UNSUPPORTED, "disk: there is no mke2fs: "
	    "install e2fsprogs" },
	[DISK_MKFS] = { CODE_INTERNAL, "disk: mke2fs failed" },
	[DISK_BUSY] = { CODE_CONFLICT, "disk: it is mounted elsewhere" },
	[DISK_LOOP] = { CODE_UNSUPPORTED, "disk: no loop device can be had" },
	[DISK_MOUNT] = { CODE_INTERNAL, "disk: it cannot be mounted" },
	[DISK_SIZE] = { CODE_INTERNAL, "disk: it has another size" },
	[DISK_REMOVE] = { CODE_INTERNAL, "disk: it cannot be removed" },
};

enum code
workdisk_ended(int status, const char **text)
{
	int	 end = DISK_FILE;

	if (WIFEXITED(status) && WEXITSTATUS(status) < DISK_MAX)
		end = WEXITSTATUS(status);
	*text = ends[end].text;
	return (ends[end].code);
}

static void
disk_name(char *buf, size_t len, uint64_t n, int fresh)
{
	snprintf(buf, len, "%" PRIu64 ".disk%s", n, fresh ? ".new" : "");
}

int
workdisk_there(int work, uint64_t n)
{
	char	 name[40];
	int	 fresh;

	for (fresh = 0; fresh < 2; fresh++) {
		disk_name(name, sizeof(name), n, fresh);
		if (faccessat(work, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return (1);
	}
	return (0);
}

/* In a process of its own, without rights beyond those to root's files. */
static void
disk_mkfs(const char *path)
{
	/* What is not said here might be another on the next host. */
	const char	*argv[] = { "mke2fs", "-q", "-F", "-b", "4096",
	    "-I", "256", "-i", "8192", "-m", "0", "-J", "size=4", "-O", "none,"
	    "has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,"
	    "dir_nlink,extra_isize,ext_attr,dir_index,filetype,sparse_super,"
	    "large_file", "-E", "lazy_itable_init=1,lazy_journal_init=1,"
	    "nodiscard", path, NULL };
	/* Zeros are written: a hole that it made instead would be no room. */
	char		*envp[] = { (char *)(uintptr_t)"UNIX_IO_NOZEROOUT=1",
	    NULL };
	int		 fd;

	if ((fd = open("/dev/null", O_RDWR)) != -1) {
		(void)dup2(fd, STDIN_FILENO);
		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
	}
	closefrom(STDERR_FILENO + 1);
	if (sandbox_drop() == -1 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		_exit(1);
	(void)execve("/sbin/mke2fs", (char **)(uintptr_t)argv, envp);
	(void)execve("/usr/sbin/mke2fs", (char **)(uintptr_t)argv, envp);
	_exit(errno == ENOENT ? 127 : 1);
}

static enum disk_end
disk_format(const char *path)
{
	pid_t	 pid;
	int	 status;

	if ((pid = fork()) == -1)
		return (DISK_MKFS);
	if (pid == 0)
		disk_mkfs(path);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return (DISK_MKFS);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return (DISK_NO_MKFS);
	return (WIFEXITED(status) && WEXITSTATUS(status) == 0 ? DISK_OK :
	    DISK_MKFS);
}

/* Each of its blocks; those that it has stay as they are. */
static enum disk_end
disk_reserve(const struct workdisk *d, int fd)
{
	if (fallocate(fd, 0, 0, (off_t)d->size) == 0)
		return (DISK_OK);
	switch (errno) {
	case ENOSPC:
	case EDQUOT:
		return (DISK_FULL);
	case EFBIG:
		return (DISK_LARGE);
	case EOPNOTSUPP:
		return (DISK_RESERVE);
	default:
		return (DISK_FILE);
	}
}

/* A new one under its first name. */
static enum disk_end
disk_new(const struct workdisk *d, const char *name, int *fd)
{
	char		 path[PATH_MAX];
	enum disk_end	 end;

	if ((*fd = openat(d->work, name, O_RDWR | O_CREAT |
	    O_CLOEXEC | O_NOFOLLOW, 0600)) == -1)
		return (errno == ENOSPC ? DISK_FULL : DISK_FILE);
	if (flock(*fd, LOCK_EX | LOCK_NB) == -1)
		return (DISK_BUSY);
	/* Of a crash, or of who was killed just now. */
	if (ftruncate(*fd, 0) == -1)
		return (DISK_FILE);
	if ((end = disk_reserve(d, *fd)) != DISK_OK) {
		/* What it got of it is others' need. */
		(void)unlinkat(d->work, name, 0);
		return (end);
	}
	snprintf(path, sizeof(path), "%s/%s", d->path, name);
	if ((end = disk_format(path)) != DISK_OK)
		(void)unlinkat(d->work, name, 0);
	return (end);
}

/* Attached to a loop device that goes with its mount: its name, opened. */
static enum disk_end
disk_attach(int fd, char *path, size_t len, int *dev)
{
	struct loop_config	 c;
	int			 ctl, n, try;

	if ((ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC)) == -1)
		return (DISK_LOOP);
	for (try = 0; try < LOOP_TRIES; try++) {
		if ((n = ioctl(ctl, LOOP_CTL_GET_FREE)) == -1)
			break;
		snprintf(path, len, "/dev/loop%d", n);
		if ((*dev = open(path, O_RDWR | O_CLOEXEC)) == -1)
			break;
		memset(&c, 0, sizeof(c));
		c.fd = (uint32_t)fd;
		c.block_size = DISK_BLOCK;
		c.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
		if (ioctl(*dev, LOOP_CONFIGURE, &c) == 0) {
			close(ctl);
			return (DISK_OK);
		}
		close(*dev);
		if (errno != EBUSY)
			break;
	}
	close(ctl);
	return (DISK_LOOP);
}

/* Mounted, but nowhere yet. */
static int
disk_fsmount(const char *dev)
{
	int	 fs, fd = -1;

	if ((fs = fsopen("ext4", FSOPEN_CLOEXEC)) == -1)
		return (-1);
	/* The kernel's thread for them would have them be holes, too. */
	if (fsconfig(fs, FSCONFIG_SET_STRING, "source", dev, 0) == 0 &&
	    fsconfig(fs, FSCONFIG_SET_FLAG, "noinit_itable", NULL, 0) == 0 &&
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID |
		    MOUNT_ATTR_NODEV);
	close(fs);
	return (fd);
}

static enum disk_end
disk_mount(int fd, int *mnt)
{
	char		 dev[32];
	enum disk_end	 end;
	int		 devfd = -1;

	if (sandbox_raise_admin() == -1)
		return (DISK_MOUNT);
	if ((end = disk_attach(fd, dev, sizeof(dev), &devfd)) == DISK_OK) {
		if ((*mnt = disk_fsmount(dev)) == -1)
			end = DISK_MOUNT;
		close(devfd);
	}
	sandbox_lower();
	return (end);
}

/* Its user finds it empty, and his; the last name says that it is so. */
static enum disk_end
disk_give(const struct workdisk *d, int mnt, const char *from, const char *to)
{
	int	 top, dir, ret = -1;

	if ((top = openat(mnt, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return (DISK_MOUNT);
	if (unlinkat(top, "lost+found", AT_REMOVEDIR) == 0 &&
	    fchmod(top, 0700) == 0 && fchown(top, d->uid, d->gid) == 0)
		ret = syncfs(top);
	close(top);
	if (ret == -1 || (dir = openat(d->work, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return (DISK_FILE);
	if ((ret = renameat(d->work, from, d->work, to)) == 0)
		ret = fsync(dir);
	close(dir);
	return (ret == -1 ? DISK_FILE : DISK_OK);
}

/* Where containers have it from; its bound is looked at, not believed. */
static enum disk_end
disk_show(const struct workdisk *d, int mnt)
{
	struct statfs	 fs;
	char		 path[PATH_MAX];
	int		 ret;

	if (fstatfs(mnt, &fs) == -1 || fs.f_type != EXT4_SUPER_MAGIC ||
	    (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize > d->size)
		return (DISK_SIZE);
	snprintf(path, sizeof(path), "%s/%" PRIu64, d->mnt, d->n);
	if (sandbox_raise_admin() == -1)
		return (DISK_MOUNT);
	ret = move_mount(mnt, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
	sandbox_lower();
	return (ret == -1 ? DISK_MOUNT : DISK_OK);
}

static int
disk_mounted(const struct workdisk *d)
{
	struct stat	 st, top;
	char		 path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%" PRIu64, d->mnt, d->n);
	return (stat(d->mnt, &top) == 0 && stat(path, &st) == 0 &&
	    st.st_dev != top.st_dev);
}

/* The file, locked; a new one is still under its first name. */
static enum disk_end
disk_open(const struct workdisk *d, const char *name, const char *fresh,
    int *fd, int *new)
{
	*new = 0;
	if ((*fd = openat(d->work, name, O_RDWR | O_CLOEXEC |
	    O_NOFOLLOW)) == -1) {
		*new = 1;
		return (errno == ENOENT ? disk_new(d, fresh, fd) : DISK_FILE);
	}
	if (flock(*fd, LOCK_EX | LOCK_NB) == -1)
		return (DISK_BUSY);
	return (disk_reserve(d, *fd));
}

static enum disk_end
disk_make(const struct workdisk *d)
{
	char		 name[40], fresh[40];
	enum disk_end	 end;
	int		 fd, mnt, new;

	if (disk_mounted(d))
		return (DISK_OK);
	disk_name(name, sizeof(name), d->n, 0);
	disk_name(fresh, sizeof(fresh), d->n, 1);
	if ((end = disk_open(d, name, fresh, &fd, &new)) == DISK_OK)
		end = disk_mount(fd, &mnt);
	if (end == DISK_OK && new)
		end = disk_give(d, mnt, fresh, name);
	return (end == DISK_OK ? disk_show(d, mnt) : end);
}

/* What is open goes with the process: the device has the file by then. */
void
workdisk_make(const struct workdisk *d)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		_exit(DISK_FILE);
	_exit(disk_make(d));
}

void
workdisk_remove(const struct workdisk *d)
{
	char	 path[PATH_MAX], name[40];
	int	 fresh;

	snprintf(path, sizeof(path), "%s/%" PRIu64, d->mnt, d->n);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 ||
	    sandbox_raise_admin() == -1)
		_exit(DISK_REMOVE);
	while (disk_mounted(d)) {
		/* Who is in it from the host keeps it until he leaves. */
		if (umount2(path, UMOUNT_NOFOLLOW) == -1 &&
		    umount2(path, UMOUNT_NOFOLLOW | MNT_DETACH) == -1)
			_exit(DISK_REMOVE);
	}
	sandbox_lower();
	for (fresh = 0; fresh < 2; fresh++) {
		disk_name(name, sizeof(name), d->n, fresh);
		if (unlinkat(d->work, name, 0) == -1 && errno != ENOENT)
			_exit(DISK_REMOVE);
	}
	_exit(DISK_OK);
}
