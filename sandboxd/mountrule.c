/*
 * Which of the host's paths a client may mount: the rules of the policy, and
 * what no rule can allow.  A rule holds for its path and all below it, and of
 * several the longest decides: it says most exactly what is meant.
 */

#include <stdio.h>
#include <string.h>

#include "mounts.h"
#include "spec.h"

/* With all that is below them. */
static const char *const trees[] = { "/dev", "/proc", "/sys" };

/* Themselves: what lies in them may be allowed. */
static const char *const tops[] = {
	"/", "/home", "/root", "/run", "/run/user", "/tmp", "/var"
};

static int
is_top(const char *path)
{
	size_t	 i;

	for (i = 0; i < sizeof(tops) / sizeof(tops[0]); i++)
		if (strcmp(path, tops[i]) == 0)
			return (1);
	/* A home directory: keys, settings and what is run at the login. */
	return (strncmp(path, "/home/", 6) == 0 &&
	    strchr(path + 6, '/') == NULL);
}

int
mountrule_never(const char *path, const char *const *own, size_t nown)
{
	size_t	 i;

	if (is_top(path))
		return (1);
	for (i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		if (spec_path_below(path, trees[i]))
			return (1);
	/* The daemon's own, and what they lie in. */
	for (i = 0; i < nown; i++)
		if (spec_paths_meet(path, own[i]))
			return (1);
	return (0);
}

/* The rule that says most of a path; of two on the same, what denies. */
static const struct conf_mount *
rule_of(const struct conf_mounts *rules, const char *path)
{
	const struct conf_mount	*m, *best = NULL;
	size_t			 len, most = 0;

	TAILQ_FOREACH(m, rules, entry) {
		if (!spec_path_below(path, m->path))
			continue;
		len = strlen(m->path);
		if (best != NULL && (len < most || (len == most &&
		    !best->allow)))
			continue;
		best = m;
		most = len;
	}
	return (best);
}

/* Whoever has a directory has what is denied in it. */
static const struct conf_mount *
denied_in(const struct conf_mounts *rules, const char *path)
{
	const struct conf_mount	*m;

	TAILQ_FOREACH(m, rules, entry)
		if (!m->allow && spec_path_below(m->path, path))
			return (m);
	return (NULL);
}

int
mountrule_judge(const struct conf_mounts *rules, const char *path, int rw,
    int *sockets, char *why, size_t size)
{
	const struct conf_mount	*m, *d;

	m = rule_of(rules, path);
	if (m == NULL || !m->allow)
		snprintf(why, size, "%s may not be mounted here", path);
	else if ((d = denied_in(rules, path)) != NULL)
		snprintf(why, size, "%s may not be mounted here: %s in it may "
		    "not", path, d->path);
	else if (rw && !m->rw)
		snprintf(why, size, "%s may be mounted read-only alone", path);
	else {
		*sockets = m->sockets;
		return (0);
	}
	return (-1);
}
