/* The guest and its reapers die on demand.  regress-srcs: harness.c */

#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

ROOT_TC(reaper_before, "killed again and again before it could start")
{
	struct rig	*r = rig_new();

	(void)tc;
	r->faults = "guest.start.before:1";
	rig_boot(r);
	rig_sh(r, 1, 0, 0, 0, "touch ran; env");
	rig_until(r, &r->jobs[1].not_started);
	ATF_CHECK_EQ(GP_NS_ERROR, r->jobs[1].ns.cause);
	ATF_CHECK_EQ(ECHILD, r->jobs[1].ns.error);
	ATF_CHECK_EQ(0, r->jobs[1].out[0].len);
	rig_sync(r);
	rig_end(r);
}

ROOT_TC(reaper_after, "killed when the command runs: nothing is lost")
{
	struct rig	*r = rig_new();
	struct job	*j;

	(void)tc;
	r->faults = "guest.start.after:1";
	rig_boot(r);
	j = rig_run(r, 1, "env | grep FAULT; sleep 0.2; echo out; exit 7");
	ATF_CHECK_EQ(GP_EXITED, j->ex.kind);
	ATF_CHECK_EQ(7, j->ex.code);
	ATF_CHECK_EQ(GP_EXIT_REAPER_LOST, j->ex.flags);
	ATF_CHECK(buf_is(&j->out[0], "out\n"));
	rig_sync(r);
	rig_end(r);
}

ROOT_TC(reaper_begun, "killed before it could say that the command runs")
{
	char		*none[] = { (char *)"/none", NULL };
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];

	(void)tc;
	r->faults = "guest.start.begun:1";
	rig_boot(r);
	rig_sh(r, 1, 0, 0, 0, "trap 'exit 9' TERM; sleep 1000 & "
	    "echo; wait");
	rig_until(r, &j->started);
	while (j->out[0].len == 0)
		ATF_REQUIRE(rig_pump(r, 60000));
	rig_signal(r, 1, SIGTERM, 0);
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(GP_EXITED, j->ex.kind);
	ATF_CHECK_EQ(9, j->ex.code);
	ATF_CHECK_EQ(GP_EXIT_REAPER_LOST, j->ex.flags);
	/* One that does not run is told as ever. */
	rig_start_v(r, 2, 0, 0, 0, "", none, NULL);
	rig_until(r, &r->jobs[2].not_started);
	ATF_CHECK_EQ(GP_NS_NOENT, r->jobs[2].ns.cause);
	ATF_CHECK(!r->jobs[2].started);
	rig_sync(r);
	rig_end(r);
}

/* All of the sandbox goes with its first process. */
static void
dies_at(const char *point, void (*act)(struct rig *))
{
	struct rig	*r = rig_new();
	double		 end = rig_now() + 60;
	int		 status;

	r->faults = point;
	rig_boot(r);
	rig_sh(r, 1, 0, 0, 0, "echo word; sleep 1000");
	if (act != NULL) {
		rig_until(r, &r->jobs[1].started);
		act(r);
	}
	while (!r->eof) {
		rig_pump(r, 1000);
		ATF_REQUIRE_MSG(rig_now() < end, "%s: it lives", point);
	}
	status = rig_wait_guest(r);
	ATF_CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 137,
	    "%s: status %x", point, status);
	ATF_CHECK_EQ(0, rig_procs(r));
	rig_end(r);
}

static void
act_cancel(struct rig *r)
{
	rig_cancel(r, 1, 1);
}

static void
act_stop(struct rig *r)
{
	rig_stop(r, 1);
}

ROOT_TC(guest, "the guest's own death is the sandbox's")
{
	(void)tc;
	dies_at("guest.recv.start:1", NULL);
	dies_at("guest.recv.ack:1", NULL);
	dies_at("guest.term.before:1", act_cancel);
	dies_at("guest.exit.before:1", act_cancel);
	dies_at("guest.exit.after:1", act_cancel);
	dies_at("guest.recv.stop:1", act_stop);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, reaper_before);
	ATF_TP_ADD_TC(tp, reaper_after);
	ATF_TP_ADD_TC(tp, reaper_begun);
	ATF_TP_ADD_TC(tp, guest);
	return (atf_no_error());
}
