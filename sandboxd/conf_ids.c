/*
 * The users and groups of sandboxes: which numbers they may have, and which
 * those are on the host.
 *
 * With a rootless Engine they are not the same.  What is user 0 to it is its
 * own user, and the others are, from 1 on, those that subuid(5) gives to that
 * user: rootlesskit(1) takes the ranges in the order of the file.
 */

#include <sys/types.h>

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"

#define SUBUID	"/etc/subuid"
#define SUBGID	"/etc/subgid"

/* A line name:first:count of subuid(5) or subgid(5). */
struct subid {
	char			 name[128];
	unsigned long long	 first;
	unsigned long long	 count;
};

static int
subid_read(FILE *fp, struct subid *s)
{
	char	 line[512];

	while (fgets(line, sizeof(line), fp) != NULL)
		if (sscanf(line, "%127[^:]:%llu:%llu", s->name, &s->first,
		    &s->count) == 3 && s->count > 0)
			return (1);
	return (0);
}

/* Lines may name the user by his number. */
static const char *
map_load(struct conf_map *m, const char *name, uint32_t uid, const char *file)
{
	static char	 buf[128];
	char		 number[16];
	struct subid	 s;
	FILE		*fp;

	snprintf(number, sizeof(number), "%u", uid);
	if ((fp = fopen(file, "re")) != NULL) {
		while (m->n < CONF_MAPS_MAX && subid_read(fp, &s)) {
			if (strcmp(s.name, name) != 0 &&
			    strcmp(s.name, number) != 0)
				continue;
			if (s.first == 0 || s.first + s.count > UINT32_MAX)
				continue;
			m->r[m->n].first = (uint32_t)s.first;
			m->r[m->n++].count = (uint32_t)s.count;
		}
		fclose(fp);
	}
	if (m->n > 0)
		return (NULL);
	snprintf(buf, sizeof(buf), "has no range in %s", file);
	return (buf);
}

const char *
conf_get_maps(struct config *conf, const char *name)
{
	const struct passwd	*pw;
	const char		*why;

	if ((pw = getpwnam(name)) == NULL)
		return ("no such user");
	if (pw->pw_uid == 0)
		return ("is root, whose Engine is not rootless");
	if (strlcpy(conf->engine_user, name, sizeof(conf->engine_user)) >=
	    sizeof(conf->engine_user))
		return ("too long");
	conf->uids.own = pw->pw_uid;
	conf->gids.own = pw->pw_gid;
	if ((why = map_load(&conf->uids, name, conf->uids.own,
	    SUBUID)) != NULL)
		return (why);
	return (map_load(&conf->gids, name, conf->uids.own, SUBGID));
}

int
conf_host_id(const struct config *conf, const struct conf_map *m, uint32_t id,
    uint32_t *host)
{
	uint32_t	 i, left;

	*host = id;
	if (conf->engine_user[0] == '\0')
		return (0);
	*host = m->own;
	if (id == 0)
		return (0);
	for (left = id - 1, i = 0; i < m->n; left -= m->r[i++].count)
		if (left < m->r[i].count) {
			*host = m->r[i].first + left;
			return (0);
		}
	return (-1);
}

/* Has a sandbox one of these numbers of the host's? */
static int
ids_meet(const struct config *conf, const struct conf_map *m, uint64_t first,
    uint64_t count)
{
	uint64_t	 from = 1, low, high;
	uint32_t	 i;

	if (conf->engine_user[0] == '\0')
		return (first <= conf->uid_max && first + count >
		    conf->uid_min);
	for (i = 0; i < m->n; from += m->r[i++].count) {
		/* What of this range is theirs, seen from inside. */
		low = conf->uid_min > from ? conf->uid_min : from;
		high = from + m->r[i].count - 1;
		if (high > conf->uid_max)
			high = conf->uid_max;
		if (low <= high && first <= m->r[i].first + (high - from) &&
		    first + count > m->r[i].first + (low - from))
			return (1);
	}
	return (0);
}

static int
check_subids(const struct config *conf, const char *file, char *why,
    size_t len)
{
	struct subid	 s;
	FILE		*fp;
	int		 ret = 0;

	if ((fp = fopen(file, "re")) == NULL)
		return (0);
	while (ret == 0 && subid_read(fp, &s)) {
		if (!ids_meet(conf, &conf->uids, s.first,
		    s.count))
			continue;
		snprintf(why, len, "uid %u to %u: meets %llu to %llu of %s "
		    "in %s", conf->uid_min, conf->uid_max, s.first,
		    s.first + s.count - 1, s.name, file);
		ret = -1;
	}
	fclose(fp);
	return (ret);
}

/* A rootless Engine can give a sandbox none but its own. */
static int
check_map(const struct config *conf, const struct conf_map *m,
    const char *file, char *why, size_t len)
{
	unsigned long long	 all = 0;
	uint32_t		 i;

	for (i = 0; i < m->n; i++)
		all += m->r[i].count;
	/* An error in the user's name has been told. */
	if (all == 0 || conf->uid_max <= all)
		return (0);
	snprintf(why, len, "uid %u to %u: %s gives 1 to %llu to user %s",
	    conf->uid_min, conf->uid_max, file, all, conf->engine_user);
	return (-1);
}

static int
check_passwd(const struct config *conf, char *why, size_t len)
{
	const struct passwd	*pw;
	FILE			*fp;
	int			 ret = 0;

	if ((fp = fopen("/etc/passwd", "re")) == NULL)
		return (0);
	while (ret == 0 && (pw = fgetpwent(fp)) != NULL) {
		if (!ids_meet(conf, &conf->uids, pw->pw_uid, 1))
			continue;
		snprintf(why, len, "uid %u to %u: contains user %s (%u)",
		    conf->uid_min, conf->uid_max, pw->pw_name,
		    (unsigned int)pw->pw_uid);
		ret = -1;
	}
	fclose(fp);
	return (ret);
}

static int
check_group(const struct config *conf, char *why, size_t len)
{
	const struct group	*gr;
	FILE			*fp;
	int			 ret = 0;

	if ((fp = fopen("/etc/group", "re")) == NULL)
		return (0);
	while (ret == 0 && (gr = fgetgrent(fp)) != NULL) {
		if (!ids_meet(conf, &conf->gids, gr->gr_gid, 1))
			continue;
		snprintf(why, len, "uid %u to %u: contains group %s (%u)",
		    conf->uid_min, conf->uid_max, gr->gr_name,
		    (unsigned int)gr->gr_gid);
		ret = -1;
	}
	fclose(fp);
	return (ret);
}

/*
 * A sandbox's user owns nothing on the host, now or through a user namespace.
 * Local files only: a directory server must not be able to stop a start.
 */
int
conf_check_uids(const struct config *conf, char *why, size_t len)
{
	if (check_passwd(conf, why, len) == -1 ||
	    check_group(conf, why, len) == -1)
		return (-1);
	/* From these a rootless Engine's are taken. */
	if (conf->engine_user[0] != '\0')
		return (check_map(conf, &conf->uids, SUBUID, why, len) == -1 ?
		    -1 : check_map(conf, &conf->gids, SUBGID, why, len));
	return (check_subids(conf, SUBUID, why, len) == -1 ? -1 :
	    check_subids(conf, SUBGID, why, len));
}
