/* What a command gets, and what is told of its end.  regress-srcs: harness.c */

#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

ROOT_TC(hello, "the guest says who it is before anything else")
{
	struct rig	*r = rig_new();

	(void)tc;
	rig_boot(r);
	ATF_CHECK_EQ(GP_VERSION, r->hello.version);
	ATF_CHECK_EQ(1, r->hello.pid);
	ATF_CHECK_EQ(r->uid, r->hello.uid);
	ATF_CHECK_EQ(r->uid, r->hello.gid);
	ATF_CHECK(r->hello.boot != 0);
	ATF_CHECK_EQ(0, r->hello.last);
	ATF_CHECK_EQ(0, r->nstates);
	ATF_CHECK((r->hello.flags & GP_CAN_INPUT) != 0);
	rig_sync(r);
	rig_end(r);
}

ROOT_TC(codes, "every exit code comes back")
{
	struct rig	*r = rig_new();
	struct job	*j;
	char		 cmd[32];
	int		 i;

	(void)tc;
	rig_boot(r);
	for (i = 0; i < 256; i++) {
		snprintf(cmd, sizeof(cmd), "exit %d", i);
		j = rig_run(r, i + 1, cmd);
		ATF_CHECK_EQ(GP_EXITED, j->ex.kind);
		ATF_CHECK_EQ((uint32_t)i, j->ex.code);
		ATF_CHECK_EQ(0, j->ex.signo);
		ATF_CHECK_EQ(0, j->ex.background);
		ATF_CHECK_EQ(0, j->ex.flags);
		ATF_CHECK_EQ(1, j->started);
		ATF_CHECK(j->st.pid > 1);
	}
	rig_sync(r);
	rig_again(r);
	ATF_CHECK_EQ(0, r->nstates);
	ATF_CHECK_EQ(256, r->hello.last);
	rig_end(r);
}

ROOT_TC(deaths, "a death by signal is told as such")
{
	static const int	 sigs[] = { SIGHUP, SIGINT, SIGKILL, SIGSEGV,
				    SIGPIPE, SIGTERM, SIGUSR1, 40 };
	struct rig		*r = rig_new();
	struct job		*j;
	char			 cmd[32];
	size_t			 i;

	(void)tc;
	rig_boot(r);
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		snprintf(cmd, sizeof(cmd), "kill -%d $$", sigs[i]);
		j = rig_run(r, i + 1, cmd);
		ATF_CHECK_EQ(GP_SIGNALED, j->ex.kind);
		ATF_CHECK_EQ((uint32_t)sigs[i], j->ex.signo);
	}
	rig_end(r);
}

static void
fails(struct rig *r, uint64_t k, const char *dir, const char *prog,
    enum gp_cause cause, uint32_t error)
{
	char	*argv[] = { (char *)prog, NULL };

	rig_start_v(r, k, 0, 0, 0, dir, argv, NULL);
	rig_until(r, &r->jobs[k].not_started);
	ATF_CHECK_EQ_MSG(cause, r->jobs[k].ns.cause, "%s in %s: cause %u",
	    prog, dir, r->jobs[k].ns.cause);
	ATF_CHECK_EQ_MSG(error, r->jobs[k].ns.error, "%s: error %u", prog,
	    r->jobs[k].ns.error);
	ATF_CHECK_EQ(0, r->jobs[k].started);
	ATF_CHECK_EQ(0, r->jobs[k].ended);
}

ROOT_TC(not_started, "why a command did not start is no exit code")
{
	/* A 64-bit ELF program for a machine that nobody has. */
	static const char	 elf[] = "\177ELF\2\1\1";
	struct rig		*r = rig_new();
	struct job		*j;

	(void)tc;
	file_put(r, "data", "text", 0644);
	file_put(r, "alien", elf, 0755);
	file_put(r, "script", "#!/no/such/shell\n", 0755);
	rig_boot(r);
	fails(r, 1, "", "/no/such/file", GP_NS_NOENT, ENOENT);
	fails(r, 2, "", "nosuchprogram", GP_NS_NOENT, ENOENT);
	fails(r, 3, "", "", GP_NS_NOENT, ENOENT);
	fails(r, 4, "", "./data", GP_NS_ACCES, EACCES);
	fails(r, 5, "", "/etc", GP_NS_ACCES, EACCES);
	fails(r, 6, "/no/such/dir", "true", GP_NS_NODIR, ENOENT);
	fails(r, 7, "/etc/passwd", "true", GP_NS_NODIR, ENOTDIR);
	fails(r, 8, "/proc/1/fd", "true", GP_NS_DIRACCES, EACCES);
	fails(r, 9, "", "./alien", GP_NS_NOEXEC, ENOEXEC);
	fails(r, 10, "", "./script", GP_NS_NOENT, ENOENT);
	/* It stands until it is forgotten. */
	rig_again(r);
	ATF_CHECK_EQ(10, r->nstates);
	ATF_CHECK_EQ(GP_ST_FAILED, r->states[0].state);
	r->jobs[4].not_started = 0;
	rig_resume(r, 4);
	rig_until(r, &r->jobs[4].not_started);
	ATF_CHECK_EQ(GP_NS_ACCES, r->jobs[4].ns.cause);
	rig_forget(r, 4);
	j = rig_run(r, 11, "exit 3");
	ATF_CHECK_EQ(3, j->ex.code);
	rig_end(r);
}

ROOT_TC(environment, "image's variables, ours, and the command's win")
{
	struct rig	*r = rig_new();
	char		*argv[] = { "sh", "-c", "echo $IMAGE $HOME $USER "
			    "$LOGNAME $A$B; pwd; umask; ulimit -n; id -u;"
			    "env | grep -c FAULT", NULL };
	char		*env[] = { "A=one", "B=two words=3", "USER=me", NULL };
	char		*none[] = { "env", NULL };
	char		 want[200];
	struct job	*j = &r->jobs[1];

	(void)tc;
	rig_boot(r);
	rig_start_v(r, 1, GP_START_MERGE, 0, 0, "/usr", argv, env);
	rig_until(r, &j->ended);
	snprintf(want, sizeof(want), "yes %s me sandbox onetwo words=3\n/usr\n"
	    "0022\n%ld\n%u\n0\n", GUEST_WORKDIR, sysconf(_SC_OPEN_MAX), r->uid);
	ATF_CHECK(buf_is(&j->out[0], want));
	env[0] = "PATH=/nowhere";
	env[1] = NULL;
	rig_start_v(r, 2, 0, 0, 0, "", none, env);
	rig_until(r, &r->jobs[2].not_started);
	ATF_CHECK_EQ(GP_NS_NOENT, r->jobs[2].ns.cause);
	j = rig_run(r, 3, "pwd");
	snprintf(want, sizeof(want), "%s\n", r->work);
	ATF_CHECK(buf_is(&j->out[0], want));
	/*
	 * Nothing of ours is open in a command, and all signals are usual.
	 * Who started the tests by posix_spawn(3), as make does, had libc
	 * ignore its own signals 32 and 33, and that is inherited.
	 */
	j = rig_run(r, 4, "ls /proc/self/fd; "
	    "grep -E 'Sig(Blk|Ign)' /proc/self/status | "
	    "sed '/SigIgn/s/180000000$/000000000/'");
	ATF_CHECK(buf_is(&j->out[0], "0\n1\n2\n3\n"
	    "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"));
	rig_end(r);
}

ROOT_TC(large, "all the arguments that the bounds allow")
{
	static char	 big[GP_MAX_ARG + 1];
	static char	*argv[GP_MAX_ENTRIES + 1];
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	int		 i;

	(void)tc;
	rig_boot(r);
	memset(big, 'x', sizeof(big) - 1);
	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = "echo $# ${#1}";
	argv[3] = "sh";
	argv[4] = big;
	for (i = 5; i < GP_MAX_ENTRIES; i++)
		argv[i] = "0123456789";
	rig_start_v(r, 1, 0, 0, 0, "", argv, NULL);
	rig_until(r, &j->ended);
	ATF_CHECK(buf_is(&j->out[0], "4092 131071\n"));
	rig_end(r);
}

ROOT_TC(numbers, "a START again answers, a lower number is refused")
{
	struct rig	*r = rig_new();
	struct job	*j;

	(void)tc;
	rig_boot(r);
	rig_sh(r, 5, 0, 0, 0, "echo once >>file; cat file; sleep 1000");
	rig_until(r, &r->jobs[5].started);
	while (r->jobs[5].out[0].len < 5)
		rig_pump(r, 1000);
	/* The same again, from the same offset: rig_sh() says 0. */
	rig_again(r);
	r->jobs[5].out[0].len = r->jobs[5].acked[0] = 5;
	rig_sh(r, 5, 0, 0, 0, "echo twice >>file");
	rig_until(r, &r->jobs[5].known);
	ATF_CHECK_EQ(GP_ST_RUNNING, r->jobs[5].state.state);
	ATF_CHECK_EQ(5, r->jobs[5].state.out);
	ATF_CHECK_EQ(r->jobs[5].st.pid, r->jobs[5].state.pid);
	rig_sh(r, 4, 0, 0, 0, "echo lower >>file");
	rig_until(r, &r->jobs[4].not_started);
	ATF_CHECK_EQ(GP_NS_UNKNOWN, r->jobs[4].ns.cause);
	rig_resume(r, 3);
	rig_until(r, &r->jobs[3].not_started);
	ATF_CHECK_EQ(GP_NS_UNKNOWN, r->jobs[3].ns.cause);
	j = rig_run(r, 6, "cat file");
	ATF_CHECK(buf_is(&j->out[0], "once\n"));
	/* Forgotten is unknown. */
	r->jobs[6].not_started = 0;
	rig_sh(r, 6, 0, 0, 0, "echo again >>file");
	rig_until(r, &r->jobs[6].not_started);
	ATF_CHECK_EQ(GP_NS_UNKNOWN, r->jobs[6].ns.cause);
	rig_end(r);
}

ROOT_TC(limit, "no process to be had is a cause of its own, and passes")
{
	struct rig	*r = rig_new();
	struct job	*j;
	uint64_t	 k, failed = 0;

	(void)tc;
	r->nproc = 40;
	rig_boot(r);
	for (k = 1; k <= 60; k++)
		rig_sh(r, k, 0, 0, 0, "exec sleep 1000");
	for (k = 1; k <= 60; k++) {
		j = &r->jobs[k];
		while (!j->started && !j->not_started)
			ATF_REQUIRE(rig_pump(r, 60000));
		if (j->not_started) {
			ATF_CHECK_EQ(GP_NS_LIMIT, j->ns.cause);
			failed++;
		}
	}
	ATF_CHECK(failed >= 30);
	ATF_CHECK(failed < 60);
	for (k = 1; k <= 60; k++)
		if (r->jobs[k].started)
			rig_cancel(r, k, 0);
	for (k = 1; k <= 60; k++)
		if (r->jobs[k].started)
			rig_until(r, &r->jobs[k].ended);
	rig_wait_procs(r, 0);
	/* Reapers end a moment after their last child. */
	do {
		rig_sh(r, k, 0, 0, 0, "exit 9");
		j = &r->jobs[k++];
		while (!j->not_started && !j->ended)
			ATF_REQUIRE(rig_pump(r, 60000));
	} while (j->not_started && k < JOBS);
	ATF_REQUIRE(j->ended);
	ATF_CHECK_EQ(9, j->ex.code);
	rig_end(r);
}

ROOT_TC(many, "a full table refuses, and serves all that are in it")
{
	struct rig	*r = rig_new();
	uint64_t	 k;

	(void)tc;
	rig_boot(r);
	for (k = 1; k <= GP_MAX_EXECS; k++)
		rig_sh(r, k, 0, 0, 0, "exit 1");
	for (k = 1; k <= GP_MAX_EXECS; k++)
		rig_until(r, &r->jobs[k].ended);
	rig_sh(r, k, 0, 0, 0, "exit 1");
	rig_until(r, &r->jobs[k].not_started);
	ATF_CHECK_EQ(GP_NS_LIMIT, r->jobs[k].ns.cause);
	rig_again(r);
	ATF_CHECK_EQ(GP_MAX_EXECS, r->nstates);
	for (k = 1; k <= GP_MAX_EXECS; k++)
		rig_forget(r, k);
	ATF_CHECK_EQ(1, rig_run(r, GP_MAX_EXECS + 2, "exit 1")->ex.code);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, hello);
	ATF_TP_ADD_TC(tp, codes);
	ATF_TP_ADD_TC(tp, deaths);
	ATF_TP_ADD_TC(tp, not_started);
	ATF_TP_ADD_TC(tp, environment);
	ATF_TP_ADD_TC(tp, large);
	ATF_TP_ADD_TC(tp, numbers);
	ATF_TP_ADD_TC(tp, limit);
	ATF_TP_ADD_TC(tp, many);
	return (atf_no_error());
}
