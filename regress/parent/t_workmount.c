/*
 * A client's directory, mounted and taken away: what the host mounts in it
 * meanwhile is neither seen there nor taken away with it.
 */

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mounts.h"

#define TOP	"/mnt"		/* of a namespace of its own */
#define UID	123456
#define BOX	2000000000

static struct mounts_record	 record;
static const char		*state = TOP "/state";

static void
touch(const char *path)
{
	int	 fd;

	ATF_REQUIRE((fd = open(path, O_WRONLY | O_CREAT, 0644)) != -1);
	close(fd);
}

/* A namespace where all is shared, as systemd has it; the source is t/src. */
static void
setup(void)
{
	umask(022);
	ATF_REQUIRE(unshare(CLONE_NEWNS) == 0);
	ATF_REQUIRE(mount("none", "/", NULL, MS_REC | MS_SHARED, NULL) == 0);
	/* Nobody but these processes sees it. */
	ATF_REQUIRE(mount("t", TOP, "tmpfs", 0, NULL) == 0);
	ATF_REQUIRE(chdir(TOP) == 0);
	ATF_REQUIRE(mkdir("src", 0755) == 0 && mkdir("src/sub", 0755) == 0 &&
	    mkdir("state", 0700) == 0 && mkdir("state/1", 0700) == 0);
	touch("src/file");
	ATF_REQUIRE(chown("src", UID, UID) == 0 &&
	    chown("src/file", UID, UID) == 0);
	record.uid = record.gid = UID;
	ATF_REQUIRE(strv_add(&record.ro, TOP "/src") == 0 &&
	    strv_add(&record.rw, TOP "/src") == 0);
}

/* In a process of its own, which keeps the capabilities that it is left. */
static int
in_child(int off)
{
	struct workmount	 m;
	pid_t			 pid;
	int			 status;

	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		if (off)
			_exit(workmount_off(state, 1) == 0 ? 0 : 1);
		memset(&m, 0, sizeof(m));
		m.record = &record;
		m.path = state;
		m.n = 1;
		m.uid = m.gid = BOX;
		workmount(&m);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	return (status);
}

static void
is_owner(const char *path, uid_t uid)
{
	struct stat	 st;

	ATF_REQUIRE_MSG(stat(path, &st) == 0, "%s", path);
	ATF_CHECK_MSG(st.st_uid == uid, "%s: %u", path, st.st_uid);
}

ATF_TC(peers);
ATF_TC_HEAD(peers, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(peers, tc)
{
	char	 text[256];
	int	 status;

	setup();
	status = in_child(0);
	ATF_REQUIRE_MSG(workmount_ended(status, &record, text,
	    sizeof(text)) == CODE_OK, "%s", text);
	is_owner("state/1/0/file", BOX);
	is_owner("state/1/1/file", BOX);
	ATF_CHECK(access("state/1/0/file", W_OK) == -1);
	/* The host mounts a disk there. */
	ATF_REQUIRE(mount("d", "src/sub", "tmpfs", 0, NULL) == 0);
	touch("src/sub/disk");
	ATF_CHECK(access("state/1/0/sub/disk", F_OK) == -1);
	ATF_CHECK(access("state/1/1/sub/disk", F_OK) == -1);
	ATF_CHECK_EQ(0, in_child(1));
	ATF_CHECK(access("src/sub/disk", F_OK) == 0);
	ATF_CHECK(access("state/1/0", F_OK) == -1);
	ATF_CHECK(access("state/1/1", F_OK) == -1);
	is_owner("src/file", UID);
	/* A second time nothing is there to be taken. */
	ATF_CHECK_EQ(0, in_child(1));
	/* It is looked at as it is mounted: the disk is not in it. */
	status = in_child(0);
	ATF_CHECK(workmount_ended(status, &record, text,
	    sizeof(text)) == CODE_OK);
	ATF_CHECK(access("state/1/0/sub/disk", F_OK) == -1);
	/* Not over one that is there. */
	status = in_child(0);
	ATF_CHECK(workmount_ended(status, &record, text,
	    sizeof(text)) == CODE_INTERNAL);
	ATF_CHECK_EQ(0, in_child(1));
	ATF_REQUIRE(chdir("/") == 0);
	ATF_CHECK(umount2(TOP, MNT_DETACH) == 0);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, peers);
	return (atf_no_error());
}
