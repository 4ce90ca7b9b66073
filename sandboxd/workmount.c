/*
 * A client's directories for a sandbox.  What a client names may be on a dead
 * file server, be swapped while it is looked at, or be somebody else's: so a
 * child of the parent looks, with the client's user and groups and for so
 * long, and what it mounts is what it has opened and looked at.
 *
 * Only the file system's part of its user is the client's: another process of
 * that one could end this otherwise, or look into it.
 *
 * The sandbox has a user of its own, and so the mount maps: what is the
 * client's on the disk is that user's inside, and what it makes there is the
 * client's.  Everybody else is nobody there.
 */

#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/mount.h>
#include <linux/openat2.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mounts.h"

#define SOCKETS_DEPTH	3	/* directories, the source itself the first */
#define MAP_MAX		4000	/* bytes: the kernel takes less than a page */
#define MAP_GROUPS	160	/* lines of at most 24 bytes */
#define MAP_FIRST	3000000000U	/* above what sandboxes can have */

enum mount_end {
	MOUNT_OK,
	MOUNT_MISSING,
	MOUNT_LINK,
	MOUNT_ACCESS,
	MOUNT_ROFS,
	MOUNT_KIND,
	MOUNT_SOCKET,
	MOUNT_FS,
	MOUNT_USERS,
	MOUNT_MAP,
	MOUNT_PLACE,
	MOUNT_LOST,		/* it was killed */
	MOUNT_ENDS
};

/* A status has eight bits: which one, and how it ended. */
#define END_BITS	4
_Static_assert(MOUNT_ENDS <= 1 << END_BITS, "ends");
_Static_assert(SBX_MOUNTS_MAX <= 1 << (8 - END_BITS), "mounts");

static const struct {
	enum code	 code;
	const char	*text;
} ends[MOUNT_ENDS] = {
	[MOUNT_OK] = { CODE_OK, "" },
	[MOUNT_MISSING] = { CODE_NOT_FOUND, "no such file or directory" },
	[MOUNT_LINK] = { CODE_INVALID_ARGUMENT, "a symbolic link is on the "
	    "way: name what it leads to" },
	[MOUNT_ACCESS] = { CODE_PERMISSION_DENIED, "permission denied" },
	[MOUNT_ROFS] = { CODE_READ_ONLY, "its file system is read-only" },
	[MOUNT_KIND] = { CODE_INVALID_ARGUMENT, "neither a directory nor a "
	    "regular file" },
	[MOUNT_SOCKET] = { CODE_POLICY_DENIED, "it has sockets, which are "
	    "not allowed here" },
	[MOUNT_FS] = { CODE_UNSUPPORTED, "a file system of its kind is not "
	    "mounted" },
	[MOUNT_USERS] = { CODE_UNSUPPORTED, "the host makes no user "
	    "namespace" },
	[MOUNT_MAP] = { CODE_UNSUPPORTED, "its file system cannot map "
	    "users" },
	[MOUNT_PLACE] = { CODE_INTERNAL, "it cannot be mounted" },
	[MOUNT_LOST] = { CODE_INTERNAL, "who looked at it died" },
};

/*
 * What keeps files on this host, or in its memory.  Others may not answer, as
 * servers do, or are no files at all.  Those of other programs' headers are
 * zfs and bcachefs.
 */
static const long	 kinds[] = {
	0xef53,		/* ext2, ext3, ext4 */
	0x58465342,	/* xfs */
	0x9123683e,	/* btrfs */
	0x01021994,	/* tmpfs */
	0xf2f52010,	/* f2fs */
	0x794c7630,	/* overlayfs */
	0x2fc12fc1,	/* zfs */
	0xca451a4e,	/* bcachefs */
};

static const char *
source(const struct mounts_record *r, size_t i)
{
	return (i < r->ro.n ? r->ro.v[i] : r->rw.v[i - r->ro.n]);
}

enum code
workmount_ended(int status, const struct mounts_record *r, char *text,
    size_t size)
{
	enum mount_end	 end = MOUNT_LOST;
	size_t		 i = 0;

	if (WIFEXITED(status) &&
	    (WEXITSTATUS(status) & ((1 << END_BITS) - 1)) < MOUNT_ENDS) {
		end = WEXITSTATUS(status) & ((1 << END_BITS) - 1);
		i = (size_t)WEXITSTATUS(status) >> END_BITS;
	}
	if (i >= r->ro.n + r->rw.n)
		end = MOUNT_LOST;
	if (end == MOUNT_OK || end == MOUNT_LOST)
		snprintf(text, size, "%s", ends[end].text);
	else
		snprintf(text, size, "%s: %s", source(r, i), ends[end].text);
	return (ends[end].code);
}

/* Whose rights count for files, from now on. */
static int
act_as(uid_t uid, gid_t gid)
{
	(void)setfsgid(gid);
	(void)setfsuid(uid);
	/* They tell nothing but what it was before. */
	if (setfsuid((uid_t)-1) != (int)uid || setfsgid((gid_t)-1) != (int)gid)
		return (-1);
	/* Another user is not sent what was asked for before. */
	return (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
}

static int
as_client(const struct mounts_record *r)
{
	gid_t	*groups = NULL;
	size_t	 i;
	int	 ret;

	if (r->groups.n > 0 &&
	    (groups = calloc(r->groups.n, sizeof(*groups))) == NULL)
		return (-1);
	for (i = 0; i < r->groups.n; i++)
		groups[i] = (gid_t)r->groups.v[i];
	ret = setgroups(r->groups.n, groups);
	free(groups);
	return (ret == -1 ? -1 : act_as(r->uid, r->gid));
}

static int
open_at(int at, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how	 how;

	memset(&how, 0, sizeof(how));
	how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
	how.resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
	return ((int)syscall(SYS_openat2, at, path, &how, sizeof(how)));
}

/*
 * Is a socket in it, or so many directories down?  1, 0, or -1 if that cannot
 * be read; a directory of others' that is closed to its client stays so inside.
 */
static int
has_socket(int fd, int depth)
{
	struct dirent	*de;
	struct stat	 st;
	DIR		*dir;
	int		 sub, found = 0;

	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return (-1);
	}
	while (!found && (errno = 0, de = readdir(dir)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		if (de->d_type == DT_UNKNOWN && fstatat(fd, de->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) == 0)
			de->d_type = IFTODT(st.st_mode);
		if (de->d_type == DT_SOCK)
			found = 1;
		/* What is mounted in it is not mounted with it. */
		else if (de->d_type == DT_DIR && depth > 1 && (sub = open_at(fd,
		    de->d_name, O_RDONLY | O_DIRECTORY,
		    RESOLVE_NO_XDEV | RESOLVE_BENEATH)) != -1)
			found = has_socket(sub, depth - 1);
	}
	if (!found && errno != 0)
		found = -1;
	closedir(dir);
	return (found);
}

static int
kind_known(int fd)
{
	struct statfs	 fs;
	size_t		 i;

	if (fstatfs(fd, &fs) == -1)
		return (0);
	for (i = 0; i < nitems(kinds); i++)
		if ((uint32_t)fs.f_type == (uint32_t)kinds[i])
			return (1);
	return (0);
}

/* What it is, and whether its client may do there what the sandbox is to. */
static enum mount_end
look_at(int fd, const struct stat *st, int rw, int sockets, int scan)
{
	int	 mode, sub;

	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode) &&
	    !S_ISSOCK(st->st_mode))
		return (MOUNT_KIND);
	if (!kind_known(fd))
		return (MOUNT_FS);
	if (S_ISSOCK(st->st_mode) && !sockets)
		return (MOUNT_SOCKET);
	mode = R_OK | (S_ISDIR(st->st_mode) ? X_OK : 0);
	if (rw || S_ISSOCK(st->st_mode))	/* it is connected to */
		mode |= W_OK;
	if (syscall(SYS_faccessat2, fd, "", mode, AT_EMPTY_PATH |
	    AT_EACCESS) == -1)
		return (errno == EROFS ? MOUNT_ROFS : MOUNT_ACCESS);
	if (!S_ISDIR(st->st_mode) || !scan)
		return (MOUNT_OK);
	if ((sub = open_at(fd, ".", O_RDONLY | O_DIRECTORY, 0)) == -1)
		return (MOUNT_ACCESS);
	switch (has_socket(sub, SOCKETS_DEPTH)) {
	case 0:
		return (MOUNT_OK);
	case 1:
		return (MOUNT_SOCKET);
	default:
		return (MOUNT_ACCESS);
	}
}

static enum mount_end
open_source(const char *path, int rw, int sockets, int scan, int *fd,
    struct stat *st)
{
	if ((*fd = open_at(AT_FDCWD, path, O_PATH, 0)) == -1)
		switch (errno) {
		case ELOOP:
			return (MOUNT_LINK);
		case EACCES:
		case EPERM:
			return (MOUNT_ACCESS);
		default:
			return (MOUNT_MISSING);
		}
	if (fstat(*fd, st) == -1)
		return (MOUNT_MISSING);
	/* Opened by its path it is the link itself, and not what it names. */
	if (S_ISLNK(st->st_mode))
		return (MOUNT_LINK);
	return (look_at(*fd, st, rw, sockets, scan));
}

/* All of a map in one write, as the kernel takes it. */
static int
map_write(pid_t pid, const char *which, const char *map)
{
	char	 path[48];
	size_t	 len = strlen(map);
	int	 fd, ret;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, which);
	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return (-1);
	ret = write(fd, map, len) == (ssize_t)len ? 0 : -1;
	close(fd);
	return (ret);
}

/* A line: a number on the disk, and the one that it is inside. */
static void
map_add(char *map, size_t size, uint64_t disk, uint64_t inside)
{
	size_t	 len = strlen(map);

	snprintf(map + len, size - len, "%" PRIu64 " %" PRIu64 " 1\n", disk,
	    inside);
}

static int
map_users(pid_t pid, const struct workmount *m)
{
	char	 map[64] = "";

	map_add(map, sizeof(map), m->record->uid, m->uid);
	return (map_write(pid, "uid_map", map));
}

/*
 * The client's own group is the sandbox's.  Each other one of his is a group
 * that nobody inside has: what has none at all, in the map, nobody could write
 * to, though it is the client's file.
 */
static int
map_groups(pid_t pid, const struct workmount *m)
{
	const struct mounts_record	*r = m->record;
	char				 map[MAP_MAX] = "";
	uint64_t			 seen[MAP_GROUPS];
	size_t				 i, j, n = 0;

	map_add(map, sizeof(map), r->gid, m->gid);
	for (i = 0; i < r->groups.n && n < MAP_GROUPS; i++) {
		for (j = 0; j < n && seen[j] != r->groups.v[i]; j++)
			;
		if (j < n || r->groups.v[i] == r->gid)
			continue;
		map_add(map, sizeof(map), r->groups.v[i], MAP_FIRST + n);
		seen[n++] = r->groups.v[i];
	}
	return (map_write(pid, "gid_map", map));
}

/* Lives in a new user namespace until its pipe ends. */
static void
users_child(int said, int wait)
{
	char	 c = 0;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 ||
	    sandbox_raise_admin() == -1 || unshare(CLONE_NEWUSER) == -1 ||
	    write(said, &c, 1) != 1)
		_exit(1);
	_exit(read(wait, &c, 1) == 0 ? 0 : 1);
}

/* A user namespace that is nothing but such a map: its descriptor. */
static int
users_of(pid_t pid, const struct workmount *m)
{
	char	 path[48];
	int	 fd;

	if (map_groups(pid, m) == -1 || map_users(pid, m) == -1)
		return (-1);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	if (sandbox_raise_ptrace() == -1)
		return (-1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	sandbox_lower();
	return (fd);
}

static int
users_open(const struct workmount *m)
{
	char	 c;
	pid_t	 pid;
	int	 said[2], hold[2], fd = -1;

	if (pipe2(said, O_CLOEXEC) == -1 || pipe2(hold, O_CLOEXEC) == -1 ||
	    (pid = fork()) == -1)
		return (-1);
	if (pid == 0) {
		close(said[0]);
		close(hold[1]);
		users_child(said[1], hold[0]);
	}
	close(said[1]);
	close(hold[0]);
	if (read(said[0], &c, 1) == 1)
		fd = users_of(pid, m);
	close(hold[1]);
	close(said[0]);
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	return (fd);
}

/* Where the Engine finds it: a new name, so that without it there is none. */
static int
place_make(const char *path, const struct stat *st)
{
	int	 fd;

	if (S_ISDIR(st->st_mode))
		return (mkdir(path, 0));
	if ((fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0)) == -1)
		return (-1);
	close(fd);
	return (0);
}

/* The source alone, without what is mounted in it. */
static enum mount_end
mount_source(int fd, int rw, int users, const char *path)
{
	struct mount_attr	 attr;
	int			 tree;

	if ((tree = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
	    AT_EMPTY_PATH)) == -1)
		return (MOUNT_PLACE);
	memset(&attr, 0, sizeof(attr));
	attr.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	/* As a peer of the host's it would get, and take, what is mounted. */
	attr.propagation = MS_PRIVATE;
	if (!rw)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	if (users != -1) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)users;
	}
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == -1)
		return (users != -1 ? MOUNT_MAP : MOUNT_PLACE);
	if (move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == -1)
		return (MOUNT_PLACE);
	close(tree);
	return (MOUNT_OK);
}

static enum mount_end
mount_at(const struct workmount *m, int fd, const struct stat *st, size_t i,
    int users)
{
	char		 path[PATH_MAX];
	enum mount_end	 end;

	snprintf(path, sizeof(path), "%s/%" PRIu64 "/%zu", m->path, m->n, i);
	if (place_make(path, st) == -1 || sandbox_raise_admin() == -1)
		return (MOUNT_PLACE);
	end = mount_source(fd, i >= m->record->ro.n, users, path);
	sandbox_lower();
	return (end);
}

static enum mount_end
mount_one(const struct workmount *m, size_t i, int users)
{
	struct stat	 st;
	enum mount_end	 end;
	int		 fd, sockets = (m->sockets & 1U << i) != 0;

	if (as_client(m->record) == -1)
		return (MOUNT_PLACE);
	/* What comes later may be the sandbox's own. */
	end = open_source(source(m->record, i), i >= m->record->ro.n, sockets,
	    !sockets && m->n == 0, &fd, &st);
	if (act_as(0, 0) == -1)
		return (MOUNT_PLACE);
	if (end == MOUNT_OK && m->n != 0)
		end = mount_at(m, fd, &st, i, users);
	if (fd != -1)
		close(fd);
	return (end);
}

void
workmount(const struct workmount *m)
{
	enum mount_end	 end;
	size_t		 i;
	int		 users = -1;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		_exit(MOUNT_PLACE);
	/* Who counts the time may be gone, at whatever moment. */
	(void)alarm(MOUNTS_SECS + 5);
	/* In the name of a user of the system's nothing is mapped. */
	if (m->n != 0 && m->record->uid >= MOUNTS_UID_LEAST &&
	    (users = users_open(m)) == -1)
		_exit(MOUNT_USERS);
	for (i = 0; i < m->record->ro.n + m->record->rw.n; i++)
		if ((end = mount_one(m, i, users)) != MOUNT_OK)
			_exit((int)(i << END_BITS | (size_t)end));
	_exit(MOUNT_OK);
}

int
workmount_off(const char *path, uint64_t n)
{
	char	 place[PATH_MAX];
	int	 i, ret = 0;

	/* Most have none. */
	snprintf(place, sizeof(place), "%s/%" PRIu64, path, n);
	if (access(place, F_OK) == -1 && errno == ENOENT)
		return (0);
	for (i = 0; i < SBX_MOUNTS_MAX; i++) {
		snprintf(place, sizeof(place), "%s/%" PRIu64 "/%d", path, n,
		    i);
		if (sandbox_raise_admin() == -1)
			return (-1);
		while (umount2(place, UMOUNT_NOFOLLOW | MNT_DETACH) == 0)
			;
		sandbox_lower();
		/* What is still mounted there is in use, and stays. */
		if (unlink(place) == -1 && errno != ENOENT &&
		    rmdir(place) == -1 && errno != ENOENT)
			ret = -1;
	}
	return (ret);
}
