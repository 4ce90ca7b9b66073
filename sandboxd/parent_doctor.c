/*
 * What the host looks like where it matters to us: facts for the store, which
 * judges them.
 */

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <linux/magic.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parent.h"

/* The nearest directory above, of those that others than uid can write to. */
static void
look_above(const char *path, uid_t uid, char *above, size_t len)
{
	struct stat	 st;
	char		*dir, *p;

	/* Where the names lead, not what they are. */
	if ((dir = realpath(path, NULL)) == NULL)
		return;
	while ((p = strrchr(dir, '/')) != NULL) {
		p[p == dir ? 1 : 0] = '\0';
		if (stat(dir, &st) == -1 || statedir_others(&st, uid)) {
			strlcpy(above, dir, len);
			break;
		}
		if (p == dir)
			break;
	}
	free(dir);
}

static void
look(const char *path, uid_t uid, struct msg_path *p)
{
	const struct group	*gr;
	struct stat		 st;

	strlcpy(p->path, path, sizeof(p->path));
	if (stat(path, &st) == -1) {
		strlcpy(p->why, strerror(errno), sizeof(p->why));
		return;
	}
	p->there = 1;
	p->mode = st.st_mode;
	p->uid = st.st_uid;
	p->gid = st.st_gid;
	if ((gr = getgrgid(st.st_gid)) != NULL)
		strlcpy(p->group, gr->gr_name, sizeof(p->group));
	look_above(path, uid, p->above, sizeof(p->above));
}

/* Whom group(5) names; who has it as the first group is not among them. */
static void
look_members(const struct msg_path *p, struct msg_host *m)
{
	const struct group	*gr;
	char			**user;

	if (!p->there || (gr = getgrgid(p->gid)) == NULL)
		return;
	for (user = gr->gr_mem; *user != NULL; user++) {
		if (m->nmembers++ > 0)
			strlcat(m->members, " ", sizeof(m->members));
		strlcat(m->members, *user, sizeof(m->members));
	}
}

static int
apart(const struct stat *a, int at, const char *name)
{
	struct stat	 b;

	return (fstatat(at, name, &b, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) ==
	    0 && a->st_dev != b.st_dev);
}

static void
look_places(struct msg_host *m)
{
	struct statvfs	 vfs;
	struct statfs	 fs;
	struct stat	 db;

	m->tmpfs = fstatfs(env.dir.fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
	if (fstat(env.dir.db, &db) == 0) {
		m->db_apart_work = (uint32_t)apart(&db, env.dir.work, "");
		m->db_apart_log = (uint32_t)apart(&db, env.dir.runner, "log");
	}
	if (fstatvfs(env.dir.db, &vfs) == 0) {
		m->db_free = (uint64_t)vfs.f_bavail * vfs.f_frsize;
		m->db_size = (uint64_t)vfs.f_blocks * vfs.f_frsize;
	}
}

void
parent_doctor(struct msg_host *m)
{
	memset(m, 0, sizeof(*m));
	m->engine_uid = env.conf->uids.own;	/* 0: root's own Engine */
	look(env.conf->socket, 0, &m->socket);
	look(env.dir.path, 0, &m->state);
	look(conf_engine_path(env.conf), m->engine_uid, &m->engine);
	look_members(&m->engine, m);
	look_places(m);
}
