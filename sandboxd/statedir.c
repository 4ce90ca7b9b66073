/*
 * The state directory: made, given its owners and modes, and locked at each
 * start.  What lies in directories of root is the parent's to make; it never
 * looks into a directory that belongs to anyone else.
 */

#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <linux/magic.h>
#include <linux/mount.h>

#include <dirent.h>
#include <elf.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sha2.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "parent.h"

#define LOCK_WAIT	5			/* seconds */
#define GUEST_MAX	(16 * 1024 * 1024)	/* bytes */
#define STATE_CIFS	0xff534d42		/* not in linux/magic.h */
#define STATE_SMB2	0xfe534d42
#define STATE_EXITING	0x4			/* PF_EXITING of the kernel */

static int	 left = -1;			/* the lock, if we have it */

/*
 * Makes a directory in one that belongs to root, or takes the one that is
 * there, and opens it without the right to read it.
 */
static int
dir_make(int at, const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	struct stat	 st;
	int		 fd;

	if (mkdirat(at, name, 0700) == -1 && errno != EEXIST)
		return (-1);
	if ((fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return (-1);
	/* The mode comes first: afterwards it may be another's directory. */
	if (fstat(fd, &st) == -1 ||
	    ((st.st_mode & 07777) != mode &&
	    fchmodat(at, name, mode, 0) == -1) ||
	    ((st.st_uid != uid || st.st_gid != gid) &&
	    fchownat(at, name, uid, gid, AT_SYMLINK_NOFOLLOW) == -1)) {
		close(fd);
		return (-1);
	}
	return (fd);
}

static void
lock_alarm(int sig)
{
	(void)sig;
}

/* Waits a second. */
static int
lock_wait(int fd)
{
	struct sigaction	 sa, old;
	int			 ret, saved;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = lock_alarm;	/* no SA_RESTART: flock(2) returns */
	sigaction(SIGALRM, &sa, &old);
	alarm(1);
	ret = flock(fd, LOCK_EX);
	saved = errno;
	alarm(0);
	sigaction(SIGALRM, &old, NULL);
	errno = saved;
	return (ret);
}

/* A dead parent may wait for who reaps it: then it is no parent any more. */
static int
lock_alive(pid_t pid)
{
	char	 path[32], buf[512];
	char	*state, is;
	u_int	 flags;
	ssize_t	 n;
	int	 fd;

	if (kill(pid, 0) == -1 && errno == ESRCH)
		return (0);
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return (errno != ENOENT);
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return (n == -1 && errno != ESRCH);
	buf[n] = '\0';
	/*
	 * The state follows the name, which may have any byte in it.  One that
	 * is dying has it still, and no descriptor: its flags tell.
	 */
	if ((state = strrchr(buf, ')')) == NULL || sscanf(state + 1,
	    " %c %*d %*d %*d %*d %*d %u", &is, &flags) != 2)
		return (1);
	return (is != 'Z' && is != 'X' && !(flags & STATE_EXITING));
}

/* What the one that has the lock wrote; 0 if it has not yet. */
static pid_t
lock_owner(int fd)
{
	char	 buf[32];
	ssize_t	 n;

	if ((n = pread(fd, buf, sizeof(buf) - 1, 0)) < 0)
		n = 0;
	buf[n] = '\0';
	return ((pid_t)strtol(buf, NULL, 10));
}

/*
 * Taken by another.  If that one has died its processes are waited for, and
 * one that is starting now writes its number in a moment.
 */
static int
lock_taken(int fd, pid_t *pid)
{
	int	 i;

	for (i = 0; i < LOCK_WAIT; i++) {
		*pid = lock_owner(fd);
		if (*pid > 0 && lock_alive(*pid))
			return (-1);
		if (lock_wait(fd) == 0)
			return (0);
		if (errno != EINTR)
			return (-1);
	}
	*pid = lock_owner(fd);
	return (-1);
}

void
statedir_left(int lock)
{
	left = lock;
}

static int
lock_open(struct statedir *d)
{
	struct stat	 st, mine;
	char		 buf[32];
	ssize_t		 n;
	pid_t		 pid;

	/* We have it already, and our number is in it. */
	if (left != -1 && fstatat(d->fd, "lock", &st,
	    AT_SYMLINK_NOFOLLOW) == 0 && fstat(left, &mine) == 0 &&
	    st.st_dev == mine.st_dev && st.st_ino == mine.st_ino &&
	    fcntl(left, F_SETFD, FD_CLOEXEC) == 0 &&
	    flock(left, LOCK_EX | LOCK_NB) == 0) {
		d->lock = left;
		return (0);
	}
	if ((d->lock = openat(d->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC |
	    O_NOFOLLOW, 0600)) == -1) {
		log_warn("%s/lock", d->path);
		return (-1);
	}
	if (flock(d->lock, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK) {
			log_warn("%s/lock", d->path);
			return (-1);
		}
		if (lock_taken(d->lock, &pid) == -1) {
			log_warnx("%s: already running, pid %d", d->path,
			    (int)pid);
			return (-1);
		}
	}
	n = snprintf(buf, sizeof(buf), "%d\n", (int)getpid());
	if (ftruncate(d->lock, 0) == -1 ||
	    pwrite(d->lock, buf, (size_t)n, 0) != n) {
		log_warn("%s/lock", d->path);
		return (-1);
	}
	return (0);
}

/* Writes a whole file under another name first: it is there or it is not. */
static int
file_put(int at, const char *name, const void *data, size_t len, mode_t mode)
{
	const char	*p = data;
	char		 tmp[NAME_MAX + 1];
	ssize_t		 n;
	int		 fd, saved;

	snprintf(tmp, sizeof(tmp), ".%s.new", name);
	if (unlinkat(at, tmp, 0) == -1 && errno != ENOENT)
		return (-1);
	if ((fd = openat(at, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
	    O_NOFOLLOW, 0600)) == -1)
		return (-1);
	while (len > 0) {
		if ((n = write(fd, p, len)) == -1) {
			if (errno == EINTR)
				continue;
			goto fail;
		}
		p += n;
		len -= (size_t)n;
	}
	if (fchmod(fd, mode) == -1 || fsync(fd) == -1)
		goto fail;
	close(fd);
	return (renameat(at, tmp, at, name));
fail:
	saved = errno;
	close(fd);
	(void)unlinkat(at, tmp, 0);
	errno = saved;
	return (-1);
}

/* The instance's number: drawn once, and what ours is known by for ever. */
static int
instance_open(struct statedir *d)
{
	uint8_t	 raw[16];
	char	 buf[sizeof(d->instance) + 1];
	ssize_t	 n;
	size_t	 i;
	int	 fd;

	if ((fd = openat(d->fd, "instance", O_RDONLY | O_CLOEXEC |
	    O_NOFOLLOW)) != -1) {
		n = read(fd, buf, sizeof(buf));
		close(fd);
		if (n != 33 || buf[32] != '\n' ||
		    strspn(buf, "0123456789abcdef") != 32) {
			log_warnx("%s/instance: damaged", d->path);
			return (-1);
		}
		memcpy(d->instance, buf, 32);
		return (0);
	}
	if (errno != ENOENT) {
		log_warn("%s/instance", d->path);
		return (-1);
	}
	arc4random_buf(raw, sizeof(raw));
	for (i = 0; i < sizeof(raw); i++)
		snprintf(buf + 2 * i, 3, "%02x", raw[i]);
	memcpy(d->instance, buf, 32);
	buf[32] = '\n';
	if (file_put(d->fd, "instance", buf, 33, 0600) == -1) {
		log_warn("%s/instance", d->path);
		return (-1);
	}
	return (0);
}

/* Whoever can write it is in everybody's sandbox after the next start. */
static const char *
guest_refuse(const struct stat *st)
{
	static char	 why[64];

	if (!S_ISREG(st->st_mode))
		return ("not a regular file");
	if (st->st_mode & S_IWOTH) {
		snprintf(why, sizeof(why), "mode %04o: writable by others",
		    (unsigned int)st->st_mode & 07777);
		return (why);
	}
	if (st->st_size < SELFMAG)
		return ("not a program");
	if (st->st_size > GUEST_MAX) {
		snprintf(why, sizeof(why), "too large: the limit is %d",
		    GUEST_MAX);
		return (why);
	}
	return (NULL);
}

static char *
guest_read(const char *path, size_t *len)
{
	struct stat	 st;
	const char	*why;
	char		*buf;
	ssize_t		 n;
	int		 fd;

	*len = 0;
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) == -1 ||
	    fstat(fd, &st) == -1) {
		log_warn("guest %s", path);
		if (fd != -1)
			close(fd);
		return (NULL);
	}
	if ((why = guest_refuse(&st)) != NULL) {
		log_warnx("guest %s: %s", path, why);
		close(fd);
		return (NULL);
	}
	if ((buf = malloc((size_t)st.st_size)) != NULL)
		while (*len < (size_t)st.st_size && (n = read(fd, buf + *len,
		    (size_t)st.st_size - *len)) > 0)
			*len += (size_t)n;
	close(fd);
	if (buf == NULL || *len != (size_t)st.st_size)
		log_warn("guest %s", path);
	else if (memcmp(buf, ELFMAG, SELFMAG) != 0)
		log_warnx("guest %s: not a program", path);
	else
		return (buf);
	free(buf);
	return (NULL);
}

/*
 * Containers name the guest's file for as long as they exist, so each
 * version has a copy of its own, under its hash.
 */
static int
guest_open(struct statedir *d, const struct config *conf)
{
	SHA2_CTX	 ctx;
	struct stat	 st;
	uint8_t		 raw[SHA256_DIGEST_LENGTH];
	char		 hex[SHA256_DIGEST_STRING_LENGTH], *buf;
	size_t		 i, len;
	int		 fd, ret = -1;

	if ((buf = guest_read(conf->guest, &len)) == NULL)
		return (-1);
	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)buf, len);
	SHA256Final(raw, &ctx);
	for (i = 0; i < sizeof(raw); i++)
		snprintf(hex + 2 * i, 3, "%02x", raw[i]);
	if ((fd = dir_make(d->fd, "guest", 0755, 0, 0)) == -1)
		goto done;
	if (fstatat(fd, hex, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && (size_t)st.st_size == len &&
	    (st.st_mode & 07777) == 0555)
		ret = 0;
	else
		ret = file_put(fd, hex, buf, len, 0555);
	if (ret == 0 && asprintf(&d->guest, "%s/guest/%s", d->path,
	    hex) == -1)
		ret = -1;
done:
	if (ret == -1)
		log_warn("%s/guest", d->path);
	if (fd != -1)
		close(fd);
	free(buf);
	return (ret);
}

/* Where names are their owners' alone (sticky), that is not so. */
int
statedir_others(const struct stat *st, uid_t uid)
{
	return ((st->st_uid != 0 && st->st_uid != uid) || ((st->st_mode & S_IWOTH ||
	    (st->st_mode & S_IWGRP && st->st_gid != 0)) &&
	    !(st->st_mode & S_ISVTX)));
}

/*
 * The directory and all above it: whoever could write one of them could put
 * another tree in the place of ours.
 */
/*
 * Where it lies: a database on a network file system has neither its locks
 * nor its order of writes; the rest is for its owner to know.
 */
static int
statedir_place(const struct statedir *d)
{
	struct statfs	 fs;
	struct stat	 st;
	char		*path, *p;

	if (fstatfs(d->fd, &fs) == -1) {
		log_warn("state %s", d->path);
		return (-1);
	}
	if (fs.f_type == NFS_SUPER_MAGIC || fs.f_type == STATE_CIFS ||
	    fs.f_type == STATE_SMB2) {
		log_warnx("state %s: on a network file system: put it on a "
		    "disk of this host", d->path);
		return (-1);
	}
	if (fs.f_type == TMPFS_MAGIC)
		log_warnx("state %s: on a tmpfs: a reboot loses all of it",
		    d->path);
	if ((path = strdup(d->path)) == NULL)
		return (-1);
	while ((p = strrchr(path, '/')) != NULL) {
		p[p == path ? 1 : 0] = '\0';
		if (stat(path, &st) == -1 || statedir_others(&st, 0))
			log_warnx("state %s: others can write to %s and put "
			    "another in its place", d->path, path);
		if (p == path)
			break;
	}
	free(path);
	return (0);
}

static int
statedir_top(struct statedir *d, const struct config *conf)
{
	struct stat	 st;
	mode_t		 mode;

	if (mkdir(conf->state, 0711) == -1 && errno != EEXIST) {
		log_warn("state %s", conf->state);
		return (-1);
	}
	if ((d->path = realpath(conf->state, NULL)) == NULL ||
	    (d->fd = open(d->path, O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1 || fstat(d->fd, &st) == -1) {
		log_warn("state %s", conf->state);
		return (-1);
	}
	if (st.st_uid != 0) {
		log_warnx("state %s: owned by uid %u, not by root",
		    conf->state, (unsigned int)st.st_uid);
		return (-1);
	}
	d->reach = conf->engine_user[0] == '\0' ? 0 : conf->gids.own;
	mode = d->reach == 0 ? 0711 : 0710;
	if (((st.st_mode & 07777) != mode && chmod(d->path, mode) == -1) ||
	    (d->reach != 0 && st.st_gid != d->reach && chown(d->path, 0, d->reach) == -1)) {
		log_warn("state %s", conf->state);
		return (-1);
	}
	return (statedir_place(d));
}

/*
 * A rootless Engine must come to what containers mount: its group may pass
 * through the top, which then nobody else may, and so what lies below is open
 * to it as to the child that it belongs to.
 */
static int
statedir_tree(struct statedir *d, const struct child *child)
{
	const struct child	*store = &child[ROLE_STORE];
	const struct child	*runner = &child[ROLE_RUNNER];
	int			 fd;

	if ((d->empty = dir_make(d->fd, "empty", 0555, 0, 0)) == -1 ||
	    (d->db = dir_make(d->fd, "db", 0700, store->uid,
	    store->gid)) == -1 ||
	    (d->runner = dir_make(d->fd, "runner", d->reach == 0 ? 0750 : 0751,
	    0, runner->gid)) == -1 ||
	    (d->sock = dir_make(d->runner, "sock", 0755, 0, 0)) == -1 ||
	    (fd = dir_make(d->runner, "log", 0700, runner->uid,
	    runner->gid)) == -1)
		return (-1);
	close(fd);
	if ((d->work = dir_make(d->fd, "work", d->reach == 0 ? 0700 : 0710, 0,
	    d->reach)) == -1)
		return (-1);
	if (asprintf(&d->mnt, "%s/mnt", d->path) == -1 ||
	    asprintf(&d->sockpath, "%s/runner/sock", d->path) == -1 ||
	    asprintf(&d->mountspath, "%s/mounts", d->path) == -1 ||
	    (d->mounts = dir_make(d->fd, "mounts", 0700, 0, 0)) == -1)
		return (-1);
	return (0);
}

/*
 * Sandboxes without an event log: it was lost, or its disk is not mounted.
 * To the store it would look like a first start, and all containers like
 * left-overs.
 */
static int
statedir_whole(const struct statedir *d)
{
	struct dirent	*de;
	DIR		*dir;
	int		 fd, found = 0;

	if (faccessat(d->db, "watermark", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	    faccessat(d->db, "events.db", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return (0);
	if ((fd = openat(d->work, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1 || (dir = fdopendir(fd)) == NULL) {
		log_warn("%s/work", d->path);
		if (fd != -1)
			close(fd);
		return (-1);
	}
	while (!found && (de = readdir(dir)) != NULL)
		found = isdigit((unsigned char)de->d_name[0]);
	closedir(dir);
	if (found)
		log_warnx("event log: %s/db: empty, though %s/work has "
		    "sandboxes: restore or mount it, or move both away",
		    d->path, d->path);
	return (found ? -1 : 0);
}

int
statedir_lock(struct statedir *d, const struct config *conf)
{
	memset(d, 0, sizeof(*d));
	d->fd = d->lock = d->db = d->runner = d->empty = d->work = -1;
	d->sock = -1;
	if (statedir_top(d, conf) == -1 || lock_open(d) == -1)
		return (-1);
	return (0);
}

int
statedir_make(const struct statedir *d, const char *name, mode_t mode,
    uid_t uid, gid_t gid)
{
	return (dir_make(d->fd, name, mode, uid, gid));
}

/* What is ours from now on; not if something else is already. */
int
statedir_instance(struct statedir *d, const char *want)
{
	char	 buf[sizeof(d->instance) + 1];

	if (strlen(want) != 32 || strspn(want, "0123456789abcdef") != 32) {
		log_warnx("%s/instance: no number of an instance", d->path);
		return (-1);
	}
	if (faccessat(d->fd, "instance", F_OK, AT_SYMLINK_NOFOLLOW) == -1) {
		snprintf(buf, sizeof(buf), "%s\n", want);
		if (file_put(d->fd, "instance", buf, 33, 0600) == -1) {
			log_warn("%s/instance", d->path);
			return (-1);
		}
	}
	if (instance_open(d) == -1)
		return (-1);
	if (strcmp(d->instance, want) != 0) {
		log_warnx("%s/instance: %s, and the log is that of %s: move "
		    "the file away first", d->path, d->instance, want);
		return (-1);
	}
	return (0);
}

int
statedir_open(struct statedir *d, const struct config *conf,
    const struct child *child)
{
	if (statedir_lock(d, conf) == -1)
		return (-1);
	if (statedir_tree(d, child) == -1) {
		log_warn("state %s", d->path);
		return (-1);
	}
	/* After an upgrade we may not look, and need not. */
	if ((left == -1 && statedir_whole(d) == -1) || instance_open(d) == -1 ||
	    guest_open(d, conf) == -1)
		return (-1);
	return (statedir_mount(d));
}

/* Is work mounted there, with its flags? */
static int
mount_is_good(const struct statedir *d)
{
	struct statvfs	 vfs;
	struct stat	 mnt, work;

	return (stat(d->mnt, &mnt) == 0 && fstat(d->work, &work) == 0 &&
	    mnt.st_dev == work.st_dev && mnt.st_ino == work.st_ino &&
	    statvfs(d->mnt, &vfs) == 0 && (vfs.f_flag & ST_NOSUID) &&
	    (vfs.f_flag & ST_NODEV));
}

/* As an older version has made it, it is a peer of work. */
static int
mount_part(const struct statedir *d)
{
	int	 fd, ret;

	if ((fd = open(d->mnt, O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return (-1);
	ret = peers_part(fd, d->work);
	close(fd);
	return (ret);
}

/*
 * An Engine's bind mount cannot ask for nosuid and nodev, but inherits them
 * from where its source lies.  The source is one level below this mount, so
 * that without it there is no source, rather than one without the flags.
 * What is mounted in it, workspaces with a bound, must not be seen in work.
 */
int
statedir_mount(const struct statedir *d)
{
	struct mount_attr	 attr;
	int			 fd, ret = -1;

	if (mount_is_good(d)) {
		ret = mount_part(d);
		goto done;
	}
	(void)umount2(d->mnt, MNT_DETACH | UMOUNT_NOFOLLOW);
	if ((fd = dir_make(d->fd, "mnt", 0700, 0, 0)) == -1)
		goto done;
	close(fd);
	memset(&attr, 0, sizeof(attr));
	attr.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	if ((fd = open_tree(d->work, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
	    AT_EMPTY_PATH)) == -1)
		goto done;
	/* The flags are set before anyone can see it. */
	if (mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0 &&
	    peers_part(fd, d->work) == 0 &&
	    move_mount(fd, "", d->fd, "mnt", MOVE_MOUNT_F_EMPTY_PATH) == 0)
		ret = 0;
	close(fd);
	if (ret == 0 && !mount_is_good(d)) {
		errno = EINVAL;
		ret = -1;
	}
done:
	if (ret == -1)
		log_warn("mount of %s", d->mnt);
	return (ret);
}

/* Only when no sandbox is left whose container names a path below it. */
void
statedir_unmount(const struct statedir *d)
{
	struct dirent	*de;
	DIR		*dir;
	int		 fd, used = 0;

	if (d->mnt == NULL || d->work == -1 ||
	    (fd = openat(d->fd, "work", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return;
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return;
	}
	while ((de = readdir(dir)) != NULL)
		used |= de->d_name[0] != '.';
	closedir(dir);
	if (!used && umount2(d->mnt, UMOUNT_NOFOLLOW) == -1)
		log_debug("%s: %s", d->mnt, strerror(errno));
}
