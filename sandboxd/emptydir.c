/*
 * Empties the directory of a sandbox that is gone.  Its tree is a stranger's
 * work, of any depth, size and mode, so a child of its own does it, with the
 * sandbox's user, no capability, that tree for its root directory and a filter
 * of its own; the parent waits only so long.
 *
 * Not by recursion: what lies in a directory is removed, and directories in
 * it are moved up to the top, where their turn comes.  Two descriptors and no
 * stack are enough for any depth.
 */

#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "parent.h"

static unsigned long long	 moved;

static int
is_dots(const char *name)
{
	return (strcmp(name, ".") == 0 || strcmp(name, "..") == 0);
}

static int
empty_enter(int dirfd, const char *name, uid_t uid, gid_t gid)
{
	int	 fd;

	/* Its user may have taken the right to enter from himself. */
	if (sandbox_raise_fowner() == -1 ||
	    fchmodat(dirfd, name, 0700, 0) == -1)
		return (-1);
	sandbox_lower();
	if ((fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return (-1);
	close(dirfd);
	(void)setfsgid(gid);
	(void)setfsuid(uid);
	if (fchdir(fd) == -1 || chroot(".") == -1 || chdir("/") == -1)
		return (-1);
	close(fd);
	if (setgroups(0, NULL) == -1 || setresgid(gid, gid, gid) == -1 ||
	    setresuid(uid, uid, uid) == -1 || sandbox_drop() == -1)
		return (-1);
	return (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
}

/* Moves a directory up to the top, under a name that is free there. */
static int
empty_move(int sub, const char *name, int top)
{
	char	 to[32];

	/* Moving one writes into it. */
	if (fchmodat(sub, name, 0700, 0) == -1)
		return (-1);
	for (;;) {
		snprintf(to, sizeof(to), "%llu.moved", moved++);
		if (renameat2(sub, name, top, to, RENAME_NOREPLACE) == 0)
			return (0);
		if (errno != EEXIST)
			return (-1);
	}
}

/* What is in one directory of the top; 1 if something went. */
static int
empty_sub(int top, const char *name)
{
	struct dirent	*de;
	DIR		*dir;
	int		 fd, went = 0;

	if (fchmodat(top, name, 0700, 0) == -1 || (fd = openat(top, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) == -1)
		return (0);
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return (0);
	}
	while ((de = readdir(dir)) != NULL) {
		if (is_dots(de->d_name))
			continue;
		if (unlinkat(fd, de->d_name, 0) == 0 ||
		    unlinkat(fd, de->d_name, AT_REMOVEDIR) == 0 ||
		    empty_move(fd, de->d_name, top) == 0)
			went = 1;
	}
	closedir(dir);
	if (unlinkat(top, name, AT_REMOVEDIR) == 0)
		went = 1;
	return (went);
}

/* One pass over the top: entries left, or -1; *went if some have gone. */
static int
empty_pass(int *went)
{
	struct dirent	*de;
	DIR		*dir;
	int		 fd, left = 0;

	*went = 0;
	if ((dir = opendir("/")) == NULL)
		return (-1);
	fd = dirfd(dir);
	while ((de = readdir(dir)) != NULL) {
		if (is_dots(de->d_name))
			continue;
		if (unlinkat(fd, de->d_name, 0) == 0 ||
		    unlinkat(fd, de->d_name, AT_REMOVEDIR) == 0) {
			*went = 1;
			continue;
		}
		left = 1;
		if (empty_sub(fd, de->d_name))
			*went = 1;
	}
	closedir(dir);
	return (left);
}

void
emptydir(int dirfd, const char *name, uid_t uid, gid_t gid)
{
	int	 left, went;

	if (empty_enter(dirfd, name, uid, gid) == -1)
		_exit(2);
	sandbox_emptier();
	for (;;) {
		if ((left = empty_pass(&went)) == -1)
			_exit(3);
		if (!left && !went)
			_exit(0);
		/* Something refuses to go, and so it would for ever. */
		if (!went)
			_exit(1);
	}
}
