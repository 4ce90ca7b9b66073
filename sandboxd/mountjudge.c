/*
 * May a client's mounts be had here?  By the rules of the configuration, which
 * may be another than when he first asked, and by what the daemon itself has.
 */

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mounts.h"
#include "spec.h"

/*
 * A socket of the configuration, as it is and by the path without links: with
 * it goes what it lies in, and not what lies beside it.
 */
static void
own_socket(const char *path, char *is, char *lies)
{
	char		 buf[PATH_MAX], dir[PATH_MAX];
	const char	*name = strrchr(path, '/');

	strlcpy(buf, path, sizeof(buf));
	if (name == NULL || realpath(dirname(buf), dir) == NULL ||
	    (size_t)snprintf(lies, PATH_MAX, "%s%s", strcmp(dir, "/") == 0 ?
	    "" : dir, name) >= PATH_MAX)
		strlcpy(lies, path, PATH_MAX);
	if (realpath(path, is) == NULL)
		strlcpy(is, lies, PATH_MAX);
}

/* One path, by the rules and by what no rule can allow. */
static int
judge(const char *path, int rw, uint32_t bit, uint32_t *sockets, char *why,
    size_t size)
{
	char		 sockets_of[4][PATH_MAX];
	const char	*own[5];
	size_t		 i;
	int		 may = 0;

	if (!spec_valid_source(path)) {
		snprintf(why, size, "no plain path");
		return (-1);
	}
	own_socket(conf_engine_path(env.conf), sockets_of[0], sockets_of[1]);
	own_socket(env.conf->socket, sockets_of[2], sockets_of[3]);
	for (i = 0; i < 4; i++)
		own[i] = sockets_of[i];
	own[4] = env.dir.path;
	if (mountrule_never(path, own, nitems(own))) {
		snprintf(why, size, "%s is never mounted", path);
		return (-1);
	}
	if (mountrule_judge(&env.conf->mounts, path, rw, &may, why,
	    size) == -1)
		return (-1);
	if (may)
		*sockets |= bit;
	return (0);
}

enum code
mounts_judge(const struct mounts_record *r, uint32_t *sockets, char *why,
    size_t size)
{
	size_t	 i;

	*sockets = 0;
	if (env.conf->engine_user[0] != '\0') {
		snprintf(why, size, "not with a rootless Engine");
		return (CODE_UNSUPPORTED);
	}
	if (r->rw.n > 0 && r->uid < MOUNTS_UID_LEAST) {
		snprintf(why, size, "%s: users below %d mount read-only "
		    "alone", r->rw.v[0], MOUNTS_UID_LEAST);
		return (CODE_POLICY_DENIED);
	}
	for (i = 0; i < r->ro.n; i++)
		if (judge(r->ro.v[i], 0, 1U << i, sockets, why, size) == -1)
			return (CODE_POLICY_DENIED);
	for (i = 0; i < r->rw.n; i++)
		if (judge(r->rw.v[i], 1, 1U << (r->ro.n + i), sockets, why,
		    size) == -1)
			return (CODE_POLICY_DENIED);
	return (CODE_OK);
}
