/*
 * usage.h: what a process has of the kernel's, to tell what it loses.
 */
#ifndef USAGE_H
#define USAGE_H

#include <sys/types.h>

#include <atf-c.h>
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

/* Descriptors; of our own process the one that looks is among them. */
static inline int
usage_fds(pid_t pid)
{
	struct dirent	*d;
	char		 path[64];
	DIR		*dir;
	int		 n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	ATF_REQUIRE((dir = opendir(path)) != NULL);
	while ((d = readdir(dir)) != NULL)
		n += d->d_name[0] != '.';
	closedir(dir);
	return (n);
}

/* KiB of memory. */
static inline long
usage_kb(pid_t pid)
{
	char	 path[64];
	FILE	*f;
	long	 all, pages = 0;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	ATF_REQUIRE((f = fopen(path, "r")) != NULL);
	ATF_REQUIRE(fscanf(f, "%ld %ld", &all, &pages) == 2);
	fclose(f);
	return (pages * sysconf(_SC_PAGESIZE) / 1024);
}

#endif
