/*
 * What /proc says of a child, against what the parent made it to be.  A child
 * works only after this: what it says of itself counts for nothing.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "parent.h"

/* Four equal numbers, as for all of real, effective, saved and of files. */
static int
same_four(const char *s, uint32_t id)
{
	unsigned long	 n[4];
	int		 i;

	if (sscanf(s, "%lu %lu %lu %lu", &n[0], &n[1], &n[2], &n[3]) != 4)
		return (0);
	for (i = 0; i < 4; i++)
		if (n[i] != id)
			return (0);
	return (1);
}

/* Exactly the supplementary groups that it was given. */
static int
same_groups(const char *s, const struct proc_ids *ids)
{
	char		*end;
	unsigned long	 g;
	uint32_t	 i, n = 0;

	for (;;) {
		g = strtoul(s, &end, 10);
		if (end == s)
			break;
		for (i = 0; i < ids->ngroups; i++)
			if (ids->groups[i] == g)
				break;
		if (i == ids->ngroups)
			return (0);
		n++;
		s = end;
	}
	return (n == ids->ngroups);
}

static int
line_is_right(const char *name, const char *value, const struct proc_ids *ids,
    uint32_t *seen)
{
	static const char	*const caps[] = {
		"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"
	};
	size_t			 i;

	for (i = 0; i < nitems(caps); i++)
		if (strcmp(name, caps[i]) == 0) {
			*seen |= 1U << i;
			return (strtoull(value, NULL, 16) == 0);
		}
	if (strcmp(name, "Uid") == 0) {
		*seen |= 1U << 5;
		return (same_four(value, ids->uid));
	}
	if (strcmp(name, "Gid") == 0) {
		*seen |= 1U << 6;
		return (same_four(value, ids->gid));
	}
	if (strcmp(name, "Groups") == 0) {
		*seen |= 1U << 7;
		return (same_groups(value, ids));
	}
	if (strcmp(name, "NoNewPrivs") == 0) {
		*seen |= 1U << 8;
		return (strtol(value, NULL, 10) == 1);
	}
	if (strcmp(name, "Threads") == 0) {
		*seen |= 1U << 9;
		return (strtol(value, NULL, 10) == 1);
	}
	return (1);
}

static int
check_status(const struct child *c)
{
	char		 path[64], line[4096], *value;
	FILE		*fp;
	uint32_t	 seen = 0;
	int		 ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)c->pid);
	if ((fp = fopen(path, "re")) == NULL) {
		log_warn("%s", path);
		return (-1);
	}
	while (ret == 0 && fgets(line, sizeof(line), fp) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if ((value = strchr(line, ':')) == NULL)
			continue;
		*value++ = '\0';
		if (line_is_right(line, value, &c->ids, &seen))
			continue;
		log_warnx("%s is not what it should be: %s is%s", c->name,
		    line, value);
		ret = -1;
	}
	fclose(fp);
	if (ret == 0 && seen != 0x3ff) {
		log_warnx("%s cannot be checked: %s says too little",
		    c->name, path);
		ret = -1;
	}
	return (ret);
}

/* Its root directory, by what it is and not by its name. */
static int
check_root(const struct child *c)
{
	struct stat	 want, is;
	char		 path[64];
	int		 ret;

	if ((c->ids.root != -1 ? fstat(c->ids.root, &want) :
	    stat("/", &want)) == -1) {
		log_warn("%s: root directory", c->name);
		return (-1);
	}
	snprintf(path, sizeof(path), "/proc/%d/root", (int)c->pid);
	if (sandbox_raise_ptrace() == -1) {
		log_warn("%s: cannot look at its root directory", c->name);
		return (-1);
	}
	ret = stat(path, &is);
	sandbox_lower();
	if (ret == -1) {
		log_warn("%s", path);
		return (-1);
	}
	if (is.st_dev != want.st_dev || is.st_ino != want.st_ino) {
		log_warnx("%s is not what it should be: another root "
		    "directory", c->name);
		return (-1);
	}
	return (0);
}

int
parent_check_child(const struct child *c)
{
	return (check_status(c) == -1 || check_root(c) == -1 ? -1 : 0);
}

/*
 * The one group that the broker has beside its own: the Engine's.  1 and the
 * group, 0 if there is none, -1.
 */
int
parent_engine_group(const struct config *conf, gid_t *gid)
{
	const struct group	*gr;
	const char		*path = conf_engine_path(conf);
	struct stat		 st;

	if (conf->engine_group[0] != '\0')
		*gid = conf->engine_gid;
	else if (stat(path, &st) == 0)
		*gid = st.st_gid;
	else if ((gr = getgrnam("docker")) != NULL)
		*gid = gr->gr_gid;
	else {
		log_warnx("engine %s: not there, and no group docker: its "
		    "group is not known; name it: engine \"%s\" group "
		    "\"...\"", path, conf->engine);
		return (0);
	}
	if (*gid == 0) {
		log_warnx("engine %s: its group is that of root, which the "
		    "broker must not have; start the Engine with a group of "
		    "its own (dockerd -G docker) and name it: engine \"%s\" "
		    "group \"docker\"", path, conf->engine);
		return (-1);
	}
	return (1);
}
