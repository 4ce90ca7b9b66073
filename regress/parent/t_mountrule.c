/*
 * Which paths may be mounted: by the rules of the policy, and whatever these
 * say.  And the record of those that are.
 *
 * regress-objs: ../sandboxd/mountrule.o ../sandboxd/mountfile.o
 */

#include <sys/queue.h>
#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "mounts.h"
#include "spec.h"

#define RULES	4

struct line {
	const char	*path;
	int		 allow;
	int		 rw;
	int		 sockets;
};

#define ALLOW(p)		{ p, 1, 0, 0 }
#define ALLOW_RW(p)		{ p, 1, 1, 0 }
#define ALLOW_SOCKETS(p)	{ p, 1, 0, 1 }
#define DENY(p)			{ p, 0, 0, 0 }

static const struct {
	const char	*name;
	struct line	 lines[RULES];
	const char	*path;
	int		 rw;
	int		 sockets;	/* or -1: it is refused */
} cases[] = {
	{ "none", { { 0 } }, "/srv", 0, -1 },
	{ "itself", { ALLOW("/srv") }, "/srv", 0, 0 },
	{ "below", { ALLOW("/srv") }, "/srv/a/b", 0, 0 },
	{ "above", { ALLOW("/srv/a") }, "/srv", 0, -1 },
	{ "beside", { ALLOW("/srv/a") }, "/srv/ab", 0, -1 },
	{ "root allows all", { ALLOW("/") }, "/srv/a", 0, 0 },
	{ "no writing", { ALLOW("/srv") }, "/srv/a", 1, -1 },
	{ "writing", { ALLOW_RW("/srv") }, "/srv/a", 1, 0 },
	{ "reading where writing is allowed", { ALLOW_RW("/srv") }, "/srv", 0,
	    0 },
	{ "sockets", { ALLOW_SOCKETS("/srv") }, "/srv/a", 0, 1 },
	{ "denied", { ALLOW("/srv"), DENY("/srv/no") }, "/srv/no", 0, -1 },
	{ "below a denied one", { ALLOW("/srv"), DENY("/srv/no") },
	    "/srv/no/a", 0, -1 },
	{ "with a denied one in it", { ALLOW("/srv"), DENY("/srv/a/no") },
	    "/srv/a", 0, -1 },
	{ "beside a denied one", { ALLOW("/srv"), DENY("/srv/no") },
	    "/srv/now", 0, 0 },
	{ "the order is nothing", { DENY("/srv/no"), ALLOW("/srv") },
	    "/srv/no", 0, -1 },
	{ "the longest decides", { DENY("/srv"), ALLOW("/srv/a") }, "/srv/a",
	    0, 0 },
	{ "and what it allows", { ALLOW_RW("/srv"), ALLOW("/srv/a") },
	    "/srv/a/b", 1, -1 },
	{ "and about sockets", { ALLOW_SOCKETS("/srv"), ALLOW("/srv/a") },
	    "/srv/a/b", 0, 0 },
	{ "allowed in a denied one", { ALLOW("/srv"), DENY("/srv/no"),
	    ALLOW("/srv/no/but") }, "/srv/no/but/a", 0, 0 },
	{ "of two the one that denies", { ALLOW("/srv"), DENY("/srv") },
	    "/srv/a", 0, -1 },
	{ "in either order", { DENY("/srv"), ALLOW("/srv") }, "/srv/a", 0,
	    -1 },
};

ATF_TC_WITHOUT_HEAD(judge);
ATF_TC_BODY(judge, tc)
{
	struct conf_mounts	 rules;
	struct conf_mount	 m[RULES];
	char			 why[256];
	size_t			 i, j;
	int			 sockets, ret;

	(void)tc;
	for (i = 0; i < nitems(cases); i++) {
		TAILQ_INIT(&rules);
		memset(m, 0, sizeof(m));
		for (j = 0; j < RULES && cases[i].lines[j].path != NULL; j++) {
			m[j].path = (char *)(uintptr_t)cases[i].lines[j].path;
			m[j].allow = cases[i].lines[j].allow;
			m[j].rw = cases[i].lines[j].rw;
			m[j].sockets = cases[i].lines[j].sockets;
			TAILQ_INSERT_TAIL(&rules, &m[j], entry);
		}
		sockets = -1;
		why[0] = '\0';
		ret = mountrule_judge(&rules, cases[i].path, cases[i].rw,
		    &sockets, why, sizeof(why));
		ATF_CHECK_MSG(ret == (cases[i].sockets == -1 ? -1 : 0) &&
		    sockets == cases[i].sockets, "%s: %d, %d: %s",
		    cases[i].name, ret, sockets, why);
		ATF_CHECK_MSG(ret == 0 || strstr(why, cases[i].path) != NULL,
		    "%s: %s", cases[i].name, why);
	}
}

ATF_TC_WITHOUT_HEAD(never);
ATF_TC_BODY(never, tc)
{
	static const char *const own[] = {
		"/var/lib/sandboxd", "/run/docker.sock", "/run/x/s"
	};
	static const char *const no[] = {
		"/", "/home", "/home/me", "/root", "/run", "/run/user", "/tmp",
		"/var", "/proc", "/proc/1", "/sys/fs", "/dev", "/dev/shm",
		"/var/lib/sandboxd", "/var/lib/sandboxd/work", "/var/lib",
		"/run/docker.sock", "/run/x", "/run/x/s"
	};
	static const char *const may[] = {
		"/home/me/x", "/root/x", "/tmp/x", "/srv", "/var/lib/sandbox",
		"/var/lib/sandboxd2", "/run/user/1000", "/procs", "/device",
		"/run/user/1000/pulse/native", "/run/x/y", "/run/docker"
	};
	size_t	 i;

	(void)tc;
	for (i = 0; i < nitems(no); i++)
		ATF_CHECK_MSG(mountrule_never(no[i], own, nitems(own)), "%s", no[i]);
	for (i = 0; i < nitems(may); i++)
		ATF_CHECK_MSG(!mountrule_never(may[i], own, nitems(own)), "%s", may[i]);
}

ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	static const char *const good[] = {
		"/a", "/srv/a b", "/srv/.x", "/srv/..x", "/srv/\xc3\xa9", "/a:b"
	};
	static const char *const bad[] = {
		"", "a", "/", "/a/", "//a", "/a//b", "/a/.", "/./a", "/..",
		"/a/../b", "/a/..", "/a\n", "/\xff"
	};
	static const char *const places[] = {
		"/mnt", "/srv/a.b_c-d+e@f", "/etc", "/workspaces", "/tmpfs"
	};
	static const char *const none[] = {
		"/workspace", "/workspace/a", "/tmp/a", "/dev", "/proc/1",
		"/sys", "/.sandboxd", "/.sandboxd/guest/x", "/", "mnt", "/a b",
		"/a,b", "/a:b", "/a/../b", "/\xc3\xa9", "/a\"b"
	};
	char	 longest[SBX_SOURCE_MAX + 2];
	size_t	 i;

	(void)tc;
	for (i = 0; i < nitems(good); i++)
		ATF_CHECK_MSG(spec_valid_source(good[i]), "%s", good[i]);
	for (i = 0; i < nitems(bad); i++)
		ATF_CHECK_MSG(!spec_valid_source(bad[i]), "%s", bad[i]);
	for (i = 0; i < nitems(places); i++)
		ATF_CHECK_MSG(spec_valid_target(places[i]), "%s", places[i]);
	for (i = 0; i < nitems(none); i++)
		ATF_CHECK_MSG(!spec_valid_target(none[i]), "%s", none[i]);
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[SBX_SOURCE_MAX + 1] = '\0';
	ATF_CHECK(!spec_valid_source(longest));
	longest[SBX_SOURCE_MAX] = '\0';
	ATF_CHECK(spec_valid_source(longest));
	ATF_CHECK(!spec_valid_target(longest));
	longest[SBX_TARGET_MAX] = '\0';
	ATF_CHECK(spec_valid_target(longest));
}

/* As it was written, and nothing of a part of it. */
ATF_TC_WITHOUT_HEAD(record);
ATF_TC_BODY(record, tc)
{
	struct mounts_record	 r, got;
	struct stat		 st;
	off_t			 len;
	int			 dir, fd;

	(void)tc;
	memset(&r, 0, sizeof(r));
	r.uid = 1000;
	r.gid = 100;
	ATF_REQUIRE(u64v_add(&r.groups, 4) == 0 &&
	    u64v_add(&r.groups, 4294967294U) == 0);
	ATF_REQUIRE(strv_add(&r.ro, "/srv/a") == 0 &&
	    strv_add(&r.rw, "/srv/b c") == 0);
	ATF_REQUIRE((dir = open(".", O_PATH | O_DIRECTORY)) != -1);
	ATF_CHECK(mountfile_read(dir, 7, &got) == -1 && errno == ENOENT);
	ATF_CHECK(mountfile_remove(dir, 7) == 0);
	ATF_REQUIRE(mountfile_write(dir, 7, &r) == 0);
	/* Again, as after a crash. */
	ATF_REQUIRE(mountfile_write(dir, 7, &r) == 0);
	ATF_REQUIRE(mountfile_read(dir, 7, &got) == 0);
	ATF_CHECK(got.uid == 1000 && got.gid == 100 && got.groups.n == 2 &&
	    got.groups.v[1] == 4294967294U);
	ATF_CHECK(got.ro.n == 1 && got.rw.n == 1);
	ATF_CHECK_STREQ("/srv/b c", got.rw.v[0]);
	mountfile_clear(&got);
	ATF_REQUIRE(stat("7/record", &st) == 0);
	ATF_CHECK_EQ(0600, st.st_mode & 07777);
	for (len = st.st_size - 1; len >= 0; len--) {
		ATF_REQUIRE(truncate("7/record", len) == 0);
		ATF_CHECK_MSG(mountfile_read(dir, 7, &got) == -1, "%lld",
		    (long long)len);
	}
	/* One that is no file is none. */
	ATF_REQUIRE(unlink("7/record") == 0 &&
	    symlink("/etc/passwd", "7/record") == 0);
	ATF_CHECK(mountfile_read(dir, 7, &got) == -1);
	ATF_REQUIRE(mountfile_write(dir, 7, &r) == 0);
	ATF_REQUIRE(mountfile_read(dir, 7, &got) == 0);
	mountfile_clear(&got);
	ATF_REQUIRE(mountfile_remove(dir, 7) == 0);
	ATF_CHECK((fd = open("7", O_RDONLY)) == -1);
	mountfile_clear(&r);
	close(dir);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, judge);
	ATF_TP_ADD_TC(tp, never);
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, record);
	return (atf_no_error());
}
