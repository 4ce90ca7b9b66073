/*
 * What processes hold and use, by the kernel's word.
 */
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* The number behind a word at the beginning of a line, 0 if there is none. */
static double
proc_number(const char *path, const char *word)
{
	char	 line[512];
	double	 v = 0;
	size_t	 len = strlen(word);
	FILE	*f;

	if ((f = fopen(path, "r")) == NULL)
		return (0);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, word, len) == 0) {
			v = strtod(line + len, NULL);
			break;
		}
	fclose(f);
	return (v);
}

/* Nobody may have come for one that is dead. */
int
proc_gone(pid_t pid)
{
	char	 path[64], line[512], *p = NULL;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if ((f = fopen(path, "r")) == NULL)
		return (1);
	if (fgets(line, sizeof(line), f) != NULL)
		p = strrchr(line, ')');
	fclose(f);
	return (p == NULL || p[1] == '\0' || p[2] == 'Z' || p[2] == 'X');
}

/* All threads of one process. */
static void
procs_add(struct usage *u, pid_t pid)
{
	struct dirent	*d;
	char		 path[300];
	DIR		*dir;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	u->pss += proc_number(path, "Pss:") / 1024;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if ((dir = opendir(path)) == NULL)
		err(1, "%s", path);
	while ((d = readdir(dir)) != NULL) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status",
		    (int)pid, d->d_name);
		u->wakes += proc_number(path, "voluntary_ctxt_switches:");
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat",
		    (int)pid, d->d_name);
		u->cpu += proc_number(path, "") / 1e3;
	}
	closedir(dir);
}

void
procs_usage(struct usage *u, const pid_t *pid, int n)
{
	int	 i;

	memset(u, 0, sizeof(*u));
	for (i = 0; i < n; i++)
		procs_add(u, pid[i]);
}

/* What they do while nobody asks for anything: in a second. */
void
procs_idle(struct usage *u, const pid_t *pid, int n, int ms)
{
	struct usage	 before;

	procs_usage(&before, pid, n);
	pause_ms(ms);
	procs_usage(u, pid, n);
	u->wakes = (u->wakes - before.wakes) * 1000 / ms;
	u->cpu = (u->cpu - before.cpu) * 1000 / ms;
}
