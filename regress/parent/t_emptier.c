/*
 * Who empties a workspace, against somebody of the same user who changes it
 * meanwhile: directories become links out of it, and FIFOs, and back; others
 * are moved out while he is in them.  In a sandbox nobody is left by then.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* To have what is behind its other layers. */
#include "../../sandboxd/emptydir.c"

#define DIRS		8
#define ROUNDS		6
#define ROUNDS_SOAK	1000

static uid_t	 uid;

static void
make(const char *path)
{
	ATF_REQUIRE_MSG(mkdir(path, 0700) == 0 && chown(path, uid, uid) == 0,
	    "%s: %s", path, strerror(errno));
}

static void
file(const char *path)
{
	int	 fd;

	ATF_REQUIRE((fd = open(path, O_WRONLY | O_CREAT, 0600)) != -1);
	ATF_REQUIRE_EQ(write(fd, "kept\n", 5), 5);
	ATF_REQUIRE_EQ(fchown(fd, uid, uid), 0);
	close(fd);
}

/* What only a link or a way up leads to; and his own place to move things. */
static void
world(void)
{
	ATF_REQUIRE_EQ(chmod(".", 0711), 0);
	make("canary");
	ATF_REQUIRE_EQ(chmod("canary", 0711), 0);
	make("canary/sub");
	file("canary/file");
	file("canary/sub/file");
	make("out");
	make("1.gone");
}

static void
unharmed(void)
{
	struct stat	 st;
	const char	*names[] = { "canary/file", "canary/sub/file" };
	size_t		 i;

	for (i = 0; i < 2; i++)
		ATF_CHECK_MSG(stat(names[i], &st) == 0 && st.st_size == 5 &&
		    (st.st_mode & 07777) == 0600, "%s: it has been there",
		    names[i]);
	/* To change a mode follows links. */
	ATF_CHECK(stat("canary", &st) == 0 && (st.st_mode & 07777) == 0711);
}

/* For ever; nothing that fails matters. */
static void
attack(const char *home)
{
	char	 a[64], b[64], to[512];
	int	 fd, n;

	if (setgroups(0, NULL) == -1 || setresgid(uid, uid, uid) == -1 ||
	    setresuid(uid, uid, uid) == -1 || chdir("1.gone") == -1)
		_exit(1);
	(void)snprintf(to, sizeof(to), "%s/canary", home);
	for (n = 0;; n = (n + 1) % DIRS) {
		(void)snprintf(a, sizeof(a), "d%d", n);
		(void)snprintf(b, sizeof(b), "d%d/e", n);
		(void)mkdir(a, 0700);
		(void)mkdir(b, 0);
		(void)rename(a, "../out/moved");
		(void)!symlink(n % 2 == 0 ? to : "../canary", a);
		(void)rename("../out/moved", "back");
		(void)unlink(a);
		(void)mkfifo(a, 0600);
		(void)unlink(a);
		(void)rename("back", a);
		(void)snprintf(b, sizeof(b), "d%d/f", n);
		if ((fd = open(b, O_WRONLY | O_CREAT | O_NONBLOCK |
		    O_NOFOLLOW, 0)) != -1)
			close(fd);
		/* Where he moves directories to is no secret. */
		(void)snprintf(b, sizeof(b), "%d.moved", n);
		(void)!symlink(to, b);
	}
}

/* As the parent does; how it ended. */
static int
emptied(void)
{
	pid_t	 pid;
	int	 fd, status;

	if ((pid = fork()) == 0) {
		(void)alarm(600);
		if ((fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
			_exit(100);
		emptydir(fd, "1.gone", uid, uid);
	}
	ATF_REQUIRE(pid != -1 && waitpid(pid, &status, 0) == pid);
	ATF_CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) < 100,
	    "status %#x", status);
	return (WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

ATF_TC(races);
ATF_TC_HEAD(races, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aH4) links and FIFOs that come and go "
	    "lead nobody out of a workspace that is emptied, nor stop him");
	atf_tc_set_md_var(tc, "timeout", "7200");
}
ATF_TC_BODY(races, tc)
{
	const char	*soak = getenv("SOAK");
	char		 home[256];
	pid_t		 who[2];
	int		 i, n = 0, rounds = ROUNDS;

	if (soak != NULL && strcmp(soak, "yes") == 0)
		rounds = ROUNDS_SOAK;
	ATF_REQUIRE(getcwd(home, sizeof(home)) != NULL);
	uid = 300000 + (uid_t)getpid();
	world();
	for (i = 0; i < 2; i++) {
		if ((who[i] = fork()) == 0)
			attack(home);
		ATF_REQUIRE(who[i] != -1);
	}
	for (i = 0; i < rounds; i++)
		n += emptied() == 0;
	for (i = 0; i < 2; i++) {
		ATF_CHECK_EQ_MSG(kill(who[i], SIGKILL), 0, "the attack ended");
		ATF_REQUIRE_EQ(waitpid(who[i], NULL, 0), who[i]);
	}
	printf("empty after %d of %d rounds\n", n, rounds);
	unharmed();
	/* And now that there is nobody. */
	ATF_CHECK_EQ(emptied(), 0);
	ATF_CHECK_EQ(rmdir("1.gone"), 0);
}

ATF_TC(links);
ATF_TC_HEAD(links, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aH4) a link in the place of a "
	    "directory is not entered, also without the root directory that "
	    "keeps all within");
}
ATF_TC_BODY(links, tc)
{
	struct stat	 st;
	int		 top;

	uid = 0;
	world();
	ATF_REQUIRE_EQ(symlink("../canary", "1.gone/link"), 0);
	ATF_REQUIRE((top = open("1.gone", O_RDONLY | O_DIRECTORY)) != -1);
	ATF_CHECK_EQ(empty_sub(top, "link"), 0);
	/* The mode is changed before it is looked at: of what is within. */
	ATF_REQUIRE_EQ(chmod("canary", 0711), 0);
	unharmed();
	ATF_CHECK(fstatat(top, "link", &st, AT_SYMLINK_NOFOLLOW) == 0);
	close(top);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, races);
	ATF_TP_ADD_TC(tp, links);
	return (atf_no_error());
}
