/*
 * What PID 1 and its commands each can do and have.  regress-srcs: harness.c
 */

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define GUEST		0
#define COMMAND		1
#define PR_MDWE		65

/* The value of a name in the output of the tries, or "" */
static const char *
value(const char *text, const char *name)
{
	static char	 buf[128];
	const char	*s;
	size_t		 len = strlen(name);

	for (s = text; s != NULL && *s != '\0';) {
		if (strncmp(s, name, len) == 0 && s[len] == ' ') {
			s += len + 1;
			snprintf(buf, sizeof(buf), "%.*s",
			    (int)strcspn(s, "\n"), s);
			return (buf);
		}
		if ((s = strchr(s, '\n')) != NULL)
			s++;
	}
	return ("");
}

/* Has this kernel a denial of executable memory that is not inherited? */
static int
has_mdwe(void)
{
	pid_t	 pid;
	int	 status;

	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0)
		_exit(prctl(PR_MDWE, 3, 0, 0, 0) == 0 ? 0 : 1);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	return (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Each line of the table of attempts, against a column of it. */
static void
compare(const atf_tc_t *tc, const char *text, int column)
{
	char		 path[256], line[256], name[64], col[2][64];
	const char	*want;
	FILE		*fp;
	int		 n = 0, mdwe = has_mdwe();

	snprintf(path, sizeof(path), "%s/attempts",
	    atf_tc_get_config_var(tc, "srcdir"));
	ATF_REQUIRE((fp = fopen(path, "r")) != NULL);
	while (fgets(line, sizeof(line), fp) != NULL) {
		if (line[0] == '#' || sscanf(line, "%63s %63s %63s", name,
		    col[GUEST], col[COMMAND]) != 3)
			continue;
		want = col[column];
		if (column == GUEST && !mdwe && strcmp(name, "mdwe") == 0)
			want = "0";
		if (column == GUEST && !mdwe &&
		    strcmp(name, "mprotect_exec") == 0)
			want = "works";
		n++;
		if (strcmp(want, "*") != 0)
			ATF_CHECK_MSG(strcmp(value(text, name), want) == 0,
			    "%s is %s, not %s", name, value(text, name), want);
	}
	fclose(fp);
	ATF_CHECK(n > 60);
	ATF_CHECK(strstr(text, "\nend\n") != NULL);
}

ROOT_TC(guest, "PID 1 can do what the table says")
{
	struct rig	*r = rig_new();
	static char	 text[16384];
	size_t		 len = 0;
	ssize_t		 n;
	int		 p[2], out;

	/* Not a file: it could not write to one. */
	ATF_REQUIRE(pipe(p) == 0 && (out = dup(STDOUT_FILENO)) != -1);
	r->faults = "guest.attempt";
	ATF_REQUIRE(dup2(p[1], STDOUT_FILENO) != -1);
	rig_guest(r);
	ATF_REQUIRE(dup2(out, STDOUT_FILENO) != -1);
	close(p[1]);
	while (strstr(text, "\nend\n") == NULL) {
		n = read(p[0], text + len, sizeof(text) - 1 - len);
		ATF_REQUIRE(n > 0);
		len += n;
	}
	rig_listen(r);
	rig_accept(r);
	rig_welcome(r);
	compare(tc, text, GUEST);
	/* It still works. */
	rig_run(r, 1, "echo yes");
	ATF_CHECK(buf_is(&r->jobs[1].out[0], "yes\n"));
	rig_end(r);
}

/* A program of the tests' own, where the guest's user can run it. */
static const char *
program(const atf_tc_t *tc)
{
	static char	 path[256];

	snprintf(path, sizeof(path), "%s/h_attempt",
	    atf_tc_get_config_var(tc, "srcdir"));
	return (path);
}

ROOT_TC(command, "a command can do what the table says, and has its limits")
{
	struct rig	*r = rig_new();
	struct rlimit	 rl;
	const char	*text;
	char		 name[16], want[64];
	int		 i;

	r->nproc = 200;
	r->nofile = 500;
	rig_boot(r);
	rig_run(r, 1, program(tc));
	ATF_REQUIRE_EQ(0, r->jobs[1].ex.code);
	ATF_REQUIRE(r->jobs[1].out[0].len > 0);
	text = strndup((char *)r->jobs[1].out[0].data, r->jobs[1].out[0].len);
	compare(tc, text, COMMAND);
	/* What PID 1 had when it started, not what it gave itself. */
	for (i = 0; i < RLIM_NLIMITS; i++) {
		ATF_REQUIRE(getrlimit(i, &rl) == 0);
		if (i == RLIMIT_NPROC)
			rl.rlim_cur = rl.rlim_max = 200;
		if (i == RLIMIT_NOFILE)
			rl.rlim_cur = rl.rlim_max = 500;
		snprintf(name, sizeof(name), "rlimit_%d", i);
		snprintf(want, sizeof(want), "%llx,%llx",
		    (unsigned long long)rl.rlim_cur,
		    (unsigned long long)rl.rlim_max);
		ATF_CHECK_MSG(strcmp(value(text, name), want) == 0,
		    "%s is %s, not %s", name, value(text, name), want);
	}
	/* It was killed, stopped and slowed down, and goes on. */
	rig_run(r, 2, "echo yes");
	ATF_CHECK(buf_is(&r->jobs[2].out[0], "yes\n"));
	rig_end(r);
}

ROOT_TC(root, "a guest that is given capabilities drops them")
{
	struct rig	*r = rig_new();
	const char	*text;
	char		 path[64], status[4096];
	size_t		 n;
	FILE		*fp;

	r->uid = 0;
	r->caps = 1;
	rig_boot(r);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)r->pid);
	ATF_REQUIRE((fp = fopen(path, "r")) != NULL);
	n = fread(status, 1, sizeof(status) - 1, fp);
	status[n] = '\0';
	fclose(fp);
	ATF_CHECK(strstr(status, "\nCapPrm:\t0000000000000000\n") != NULL);
	ATF_CHECK(strstr(status, "\nCapEff:\t0000000000000000\n") != NULL);
	ATF_CHECK(strstr(status, "\nCapBnd:\t0000000000000000\n") != NULL);
	ATF_CHECK(strstr(status, "\nNoNewPrivs:\t1\n") != NULL);
	rig_run(r, 1, program(tc));
	text = strndup((char *)r->jobs[1].out[0].data, r->jobs[1].out[0].len);
	ATF_CHECK(strcmp(value(text, "bounding"), "0") == 0);
	ATF_CHECK(strcmp(value(text, "no_new_privs"), "1") == 0);
	ATF_CHECK(strcmp(value(text, "setgroups"), "EPERM") == 0);
	ATF_CHECK(strcmp(value(text, "capset"), "EPERM") == 0);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, guest);
	ATF_TP_ADD_TC(tp, command);
	ATF_TP_ADD_TC(tp, root);
	return (atf_no_error());
}
