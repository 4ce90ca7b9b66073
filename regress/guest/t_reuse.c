/* Reapers that serve one command after another.  regress-srcs: harness.c */

#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define EACH	"for p in $(cat /proc/1/task/1/children); do " \
		"[ $p = $PPID ] || "

/* Number of children of PID 1: all are reapers when nothing runs. */
static int
reapers(const struct rig *r)
{
	char	 path[64], buf[1024];
	FILE	*f;
	int	 n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", r->pid,
	    r->pid);
	ATF_REQUIRE((f = fopen(path, "r")) != NULL);
	while (fscanf(f, "%1000s", buf) == 1)
		n++;
	fclose(f);
	return (n);
}

static void
wait_reapers(const struct rig *r, int want)
{
	double	 end = rig_now() + 60;
	int	 n;

	while ((n = reapers(r)) != want) {
		ATF_REQUIRE_MSG(rig_now() < end, "%d reapers", n);
		usleep(10000);
	}
}

/* Runs n commands; how often the reaper was not that of the last but one. */
static int
changes(struct rig *r, uint64_t k, int n)
{
	struct job	*j;
	char		 last[2][16] = { "", "" };
	int		 i, c = 0;

	for (i = 0; i < n; i++) {
		j = rig_run(r, k + i, "echo $PPID");
		ATF_REQUIRE(j->out[0].len > 0 && j->out[0].len < 16);
		if (strncmp(last[i % 2], (char *)j->out[0].data,
		    j->out[0].len) != 0)
			c++;
		memset(last[i % 2], 0, sizeof(last[0]));
		memcpy(last[i % 2], j->out[0].data, j->out[0].len);
	}
	return (c);
}

static void
well(struct rig *r, uint64_t k)
{
	struct job	*j;
	int		 i;

	/* As often as there may be reapers that somebody did something to. */
	for (i = 0; i < 20; i++) {
		j = rig_run(r, k + i, "echo well; echo bad >&2; exit 17");
		ATF_CHECK_EQ(GP_EXITED, j->ex.kind);
		ATF_CHECK_EQ(17, j->ex.code);
		ATF_CHECK_EQ(0, j->ex.flags);
		ATF_CHECK(buf_is(&j->out[0], "well\n"));
		ATF_CHECK(buf_is(&j->out[1], "bad\n"));
	}
}

ROOT_TC(serve, "two reapers take turns, and go when there is nothing to do")
{
	struct rig	*r = rig_new();
	uint64_t	 k;

	(void)tc;
	rig_boot(r);
	/* A pause of a second, on a busy machine, would bring a new one. */
	ATF_CHECK(changes(r, 1, 40) < 20);
	for (k = 41; k <= 70; k++)
		rig_sh(r, k, 0, 0, 0, "sleep 0.2");
	for (k = 41; k <= 70; k++) {
		rig_until(r, &r->jobs[k].ended);
		rig_forget(r, k);
	}
	wait_reapers(r, 1);
	ATF_CHECK(changes(r, 71, 40) < 20);
	rig_sync(r);
	rig_end(r);
}

ROOT_TC(left, "one whose command has left something serves no other")
{
	struct rig	*r = rig_new();
	struct job	*j;

	(void)tc;
	rig_boot(r);
	j = rig_run(r, 1, "sleep 1000 >/dev/null 2>&1 & echo $PPID");
	ATF_CHECK_EQ(1, j->ex.background);
	ATF_CHECK(changes(r, 2, 20) < 10);
	/* It belongs to the first command still. */
	rig_cancel(r, 1, 0);
	rig_wait_procs(r, 0);
	wait_reapers(r, 1);
	well(r, 30);
	rig_end(r);
}

ROOT_TC(streams, "nothing of one command comes to the next")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	uint64_t	 k;

	(void)tc;
	rig_boot(r);
	for (k = 1; k <= 20; k += 4) {
		j = &r->jobs[k];
		rig_sh(r, k, GP_START_INPUT, 0, 0, "umask 077; cd /; "
		    "ulimit -n 50; trap '' TERM; A=1; export A; cat");
		rig_input(r, k, (const uint8_t *)"words", 5, 0);
		rig_input_end(r, k, 5);
		rig_until(r, &j->ended);
		ATF_CHECK(buf_is(&j->out[0], "words"));
		rig_forget(r, k);
		j = rig_run(r, k + 1, "echo $A$(umask); cat; trap");
		ATF_CHECK(buf_is(&j->out[0], "0022\n"));
		j = rig_run(r, k + 2, "ls /proc/self/fd; [ $PWD != / ]; "
		    "echo $? $(ulimit -n)");
		ATF_CHECK(j->out[0].len > 12 && strncmp(
		    (char *)j->out[0].data, "0\n1\n2\n3\n0 ", 10) == 0);
		ATF_CHECK(strncmp((char *)j->out[0].data + 10, "50\n", 3) != 0);
		rig_sh(r, k + 3, GP_START_MERGE, 0, 0, "echo a; echo b >&2");
		j = &r->jobs[k + 3];
		rig_until(r, &j->ended);
		ATF_CHECK(buf_is(&j->out[0], "a\nb\n"));
		ATF_CHECK_EQ(0, j->out[1].len);
		rig_forget(r, k + 3);
	}
	rig_sync(r);
	rig_end(r);
}

ROOT_TC(hurt, "what a command does to reapers that wait, others outlive")
{
	struct rig	*r = rig_new();

	(void)tc;
	rig_boot(r);
	changes(r, 1, 4);
	rig_run(r, 5, EACH "kill -9 $p; done");
	well(r, 10);
	rig_run(r, 30, EACH "kill -STOP $p; done");
	well(r, 40);
	rig_run(r, 60, EACH "kill -TERM $p; kill -HUP $p; kill -USR1 $p; "
	    "kill -ABRT $p; done");
	ATF_CHECK(changes(r, 70, 20) < 10);
	/* Then one that is told to begin cannot take the streams. */
	rig_run(r, 100, EACH "prlimit --pid $p --nofile=1:1; done");
	well(r, 110);
	rig_end(r);
}

ROOT_TC(flight, "a command has all descriptors of its user under way")
{
	struct rig	*r = rig_new();
	char		 prog[512];
	char		*argv[] = { prog, (char *)"flight", NULL };
	double		 end = rig_now() + 60;

	snprintf(prog, sizeof(prog), "%s/h_tree",
	    atf_tc_get_config_var(tc, "srcdir"));
	/* As large as the guest makes its own, which then is the bound. */
	r->nofile = 8192;
	rig_boot(r);
	changes(r, 1, 4);
	rig_start_v(r, 5, 0, 0, 0, "", argv, NULL);
	while (r->jobs[5].out[0].len == 0) {
		ATF_REQUIRE(rig_now() < end && !r->jobs[5].ended);
		rig_pump(r, 1000);
	}
	ATF_REQUIRE(buf_is(&r->jobs[5].out[0], "ready\n"));
	well(r, 10);
	rig_cancel(r, 5, 0);
	rig_until(r, &r->jobs[5].ended);
	rig_forget(r, 5);
	well(r, 40);
	rig_end(r);
}

ROOT_TC(again, "killed when it should begin again: another one begins")
{
	struct rig	*r = rig_new();

	(void)tc;
	r->faults = "guest.start.before:2";
	rig_boot(r);
	well(r, 1);
	rig_sync(r);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, serve);
	ATF_TP_ADD_TC(tp, left);
	ATF_TP_ADD_TC(tp, streams);
	ATF_TP_ADD_TC(tp, hurt);
	ATF_TP_ADD_TC(tp, flight);
	ATF_TP_ADD_TC(tp, again);
	return (atf_no_error());
}
