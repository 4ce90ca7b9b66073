/*
 * peers.c: mounts that hand on to each other what is mounted on them; see
 * mount_namespaces(7).  Where systemd runs all mounts are such, and a copy of
 * one is its peer.
 */

#include <sys/mount.h>
#include <sys/stat.h>

#include <linux/mount.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parent.h"

/* "ID ... - ...", where what stands before the dash may have "shared:GROUP". */
static int
line_group(char *line, uint64_t id, unsigned *group)
{
	uint64_t	 its;
	char		*s, *end;

	if (sscanf(line, "%" SCNu64, &its) != 1 || its != id)
		return (0);
	*group = 0;
	if ((end = strstr(line, " - ")) != NULL)
		*end = '\0';
	if ((s = strstr(line, " shared:")) != NULL &&
	    sscanf(s, " shared:%u", group) != 1)
		*group = 0;
	return (1);
}

/* The group of the mount that fd is in: 0 if it has none, -1 if not known. */
static int
mount_group(int fd, unsigned *group)
{
	struct statx	 sx;
	FILE		*f;
	char		*line = NULL;
	size_t		 size = 0;
	int		 found = 0;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &sx) == -1 ||
	    !(sx.stx_mask & STATX_MNT_ID) ||
	    (f = fopen("/proc/self/mountinfo", "re")) == NULL)
		return (-1);
	while (!found && getline(&line, &size, f) != -1)
		found = line_group(line, sx.stx_mnt_id, group);
	free(line);
	fclose(f);
	return (found ? 0 : -1);
}

static int
propagate(int fd, uint64_t how)
{
	struct mount_attr	 attr;

	memset(&attr, 0, sizeof(attr));
	attr.propagation = how;
	return (mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)));
}

/*
 * Makes the mount at fd no peer of that at from, whose copy it is or was.
 * Other namespaces still get what is mounted on it, if they got that of from.
 * Where /proc does not show from, as in a root of another, nobody does.
 */
int
peers_part(int fd, int from)
{
	unsigned	 group = 0, its;
	int		 known;

	known = mount_group(from, &group) == 0;
	/* One that is mounted nowhere yet is not listed. */
	if (mount_group(fd, &its) == 0 && (its == 0 ||
	    (known && its != group)))
		return (0);
	if (propagate(fd, MS_PRIVATE) == -1)
		return (-1);
	return (group == 0 ? 0 : propagate(fd, MS_SHARED));
}
