/* Ends that somebody else wants.  regress-srcs: harness.c */

#include <sys/wait.h>

#include <atf-c.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

/* Runs the helper, and waits until it says that it is there. */
static void
start_tree(const atf_tc_t *tc, struct rig *r, uint64_t k, const char *kind,
    const char *n, uint32_t timeout, uint32_t grace)
{
	char	 prog[512];
	char	*argv[] = { prog, (char *)kind, (char *)n, NULL };

	snprintf(prog, sizeof(prog), "%s/h_tree",
	    atf_tc_get_config_var(tc, "srcdir"));
	rig_start_v(r, k, 0, timeout, grace, "", argv, NULL);
	rig_until(r, &r->jobs[k].started);
}

static void
wait_word(struct rig *r, uint64_t k, const char *word)
{
	double	 end = rig_now() + 60;

	while (r->jobs[k].out[0].len < strlen(word) ||
	    memmem(r->jobs[k].out[0].data, r->jobs[k].out[0].len, word,
	    strlen(word)) == NULL) {
		rig_pump(r, 1000);
		ATF_REQUIRE_MSG(rig_now() < end, "it does not say %s", word);
	}
}

/* All that the sandbox can still do is what it always could. */
static void
still_well(struct rig *r, uint64_t k)
{
	struct job	*j;

	rig_wait_procs(r, 0);
	j = rig_run(r, k, "echo well; exit 17");
	ATF_CHECK_EQ(17, j->ex.code);
	ATF_CHECK(buf_is(&j->out[0], "well\n"));
	rig_wait_procs(r, 0);
}

ROOT_TC(cancel_tree, "200 processes, orphaned and in sessions of their own")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	double		 begin;

	rig_boot(r);
	start_tree(tc, r, 1, "tree", "200", 0, 0);
	wait_word(r, 1, "ready");
	rig_wait_procs(r, 201);
	begin = rig_now();
	rig_cancel(r, 1, 100);
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(0, rig_procs(r));
	ATF_CHECK(rig_now() - begin < 20);
	ATF_CHECK_EQ(GP_CANCELLED, j->ex.kind);
	ATF_CHECK_EQ(SIGKILL, (int)j->ex.signo);
	ATF_CHECK_EQ(0, j->ex.background);
	still_well(r, 2);
	rig_end(r);
}

ROOT_TC(timeout_tree, "the same by its timeout, TERM being ignored")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];

	rig_boot(r);
	start_tree(tc, r, 1, "tree", "50", 1500, 200);
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(0, rig_procs(r));
	ATF_CHECK_EQ(GP_TIMED_OUT, j->ex.kind);
	ATF_CHECK_EQ(SIGKILL, (int)j->ex.signo);
	ATF_CHECK(j->ex.end - j->ex.start >= 1500000000);
	still_well(r, 2);
	rig_end(r);
}

static void
defuse(const atf_tc_t *tc, const char *kind)
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	double		 end = rig_now() + 120;

	r->nproc = 100;
	rig_boot(r);
	start_tree(tc, r, 1, kind, NULL, 0, 0);
	while (rig_procs(r) < 80) {
		usleep(10000);
		ATF_REQUIRE(rig_now() < end);
	}
	rig_cancel(r, 1, 0);
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(0, rig_procs(r));
	ATF_CHECK_EQ(GP_CANCELLED, j->ex.kind);
	fprintf(stderr, "%s: gone after %.2f s\n", kind,
	    rig_now() - (end - 120));
	still_well(r, 2);
	rig_end(r);
}

ROOT_TC(bomb, "one that holds all processes is ended without a fork")
{
	defuse(tc, "bomb");
}

ROOT_TC(bomb_sessions, "the same where each has a session of its own")
{
	defuse(tc, "sessions");
}

ROOT_TC(threads, "a child of any thread is found")
{
	struct rig	*r = rig_new();

	rig_boot(r);
	start_tree(tc, r, 1, "threads", NULL, 0, 0);
	wait_word(r, 1, "ready");
	rig_wait_procs(r, 2);
	rig_cancel(r, 1, 0);
	rig_until(r, &r->jobs[1].ended);
	still_well(r, 2);
	rig_end(r);
}

ROOT_TC(grace, "TERM first, and time to answer it")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, 0, 0, 0, "trap 'echo bye; exit 21' TERM; echo ready;"
	    "while :; do sleep 0.05; done");
	wait_word(r, 1, "ready");
	rig_cancel(r, 1, 60000);
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(GP_CANCELLED, j->ex.kind);
	ATF_CHECK_EQ(21, j->ex.code);
	ATF_CHECK_EQ(0, j->ex.signo);
	wait_word(r, 1, "bye");
	/* A second cancel shortens the first. */
	rig_sh(r, 2, 0, 0, 0, "trap '' TERM; echo ready;"
	    "while :; do sleep 0.05; done");
	wait_word(r, 2, "ready");
	rig_cancel(r, 2, 600000);
	rig_cancel(r, 2, 0);
	rig_until(r, &r->jobs[2].ended);
	ATF_CHECK_EQ(SIGKILL, (int)r->jobs[2].ex.signo);
	/* Stopped ones hear it too. */
	rig_sh(r, 3, 0, 0, 0, "echo ready; kill -STOP $$");
	wait_word(r, 3, "ready");
	rig_cancel(r, 3, 60000);
	rig_until(r, &r->jobs[3].ended);
	ATF_CHECK_EQ(GP_CANCELLED, r->jobs[3].ex.kind);
	/* At once, before it can have begun. */
	rig_sh(r, 4, 0, 0, 0, "sleep 1000");
	rig_cancel(r, 4, 60000);
	rig_until(r, &r->jobs[4].ended);
	ATF_CHECK_EQ(GP_CANCELLED, r->jobs[4].ex.kind);
	still_well(r, 5);
	rig_end(r);
}

ROOT_TC(signals, "a signal goes to the first process, or to all")
{
	struct rig	*r = rig_new();

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, 0, 0, 0, "trap 'echo usr; exit 5' USR1; "
	    "sleep 1000 & echo ready; wait; wait");
	wait_word(r, 1, "ready");
	rig_signal(r, 1, SIGUSR1, 0);
	rig_until(r, &r->jobs[1].ended);
	ATF_CHECK_EQ(GP_EXITED, r->jobs[1].ex.kind);
	ATF_CHECK_EQ(5, r->jobs[1].ex.code);
	ATF_CHECK(buf_is(&r->jobs[1].out[0], "ready\nusr\n"));
	ATF_CHECK(r->jobs[1].ex.background >= 1);
	/* It has ended: what is left hears the signal. */
	rig_signal(r, 1, SIGTERM, 0);
	rig_until(r, &r->jobs[1].nbg);
	ATF_CHECK_EQ(0, r->jobs[1].bg.count);
	rig_sh(r, 2, 0, 0, 0, "sleep 1000 & echo ready; wait");
	wait_word(r, 2, "ready");
	rig_signal(r, 2, SIGHUP, GP_SIGNAL_TREE);
	rig_until(r, &r->jobs[2].ended);
	ATF_CHECK_EQ(GP_SIGNALED, r->jobs[2].ex.kind);
	ATF_CHECK_EQ(SIGHUP, (int)r->jobs[2].ex.signo);
	rig_sh(r, 3, 0, 0, 0, "(setsid sleep 1000 &) ; echo ready; "
	    "sleep 1000");
	wait_word(r, 3, "ready");
	rig_signal(r, 3, SIGKILL, 0);
	rig_until(r, &r->jobs[3].ended);
	ATF_CHECK_EQ(GP_SIGNALED, r->jobs[3].ex.kind);
	ATF_CHECK_EQ(SIGKILL, (int)r->jobs[3].ex.signo);
	/* A signal that nobody can have heard yet is kept for it. */
	rig_sh(r, 4, 0, 0, 0, "exec sleep 1000");
	rig_signal(r, 4, SIGUSR2, 0);
	rig_until(r, &r->jobs[4].ended);
	ATF_CHECK_EQ(SIGUSR2, (int)r->jobs[4].ex.signo);
	still_well(r, 5);
	rig_end(r);
}

ROOT_TC(rest, "what is left of an ended exec: kept, ended, or never there")
{
	struct rig	*r = rig_new();

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, 0, 0, 0, "sleep 1000 & setsid sleep 1000 & exit 2");
	rig_until(r, &r->jobs[1].ended);
	ATF_CHECK_EQ(GP_EXITED, r->jobs[1].ex.kind);
	ATF_CHECK_EQ(2, r->jobs[1].ex.code);
	ATF_CHECK_EQ(2, r->jobs[1].ex.background);
	rig_forget(r, 1);
	rig_again(r);
	ATF_REQUIRE_EQ(1, r->nstates);
	ATF_CHECK_EQ(GP_ST_BACKGROUND, r->states[0].state);
	ATF_CHECK_EQ(2, r->states[0].background);
	rig_cancel(r, 1, 0);
	rig_until(r, &r->jobs[1].nbg);
	ATF_CHECK_EQ(0, r->jobs[1].bg.count);
	rig_wait_procs(r, 0);
	rig_sh(r, 2, GP_START_KILL_REST, 0, 0, "sleep 1000 & "
	    "setsid sleep 1000 & echo said; exit 2");
	rig_until(r, &r->jobs[2].ended);
	ATF_CHECK_EQ(GP_EXITED, r->jobs[2].ex.kind);
	ATF_CHECK_EQ(2, r->jobs[2].ex.code);
	ATF_CHECK_EQ(0, r->jobs[2].ex.background);
	ATF_CHECK_EQ(0, rig_procs(r));
	ATF_CHECK(buf_is(&r->jobs[2].out[0], "said\n"));
	still_well(r, 3);
	rig_end(r);
}

ROOT_TC(reaper_killed, "a command that kills its reaper gains nothing")
{
	struct rig	*r = rig_new();
	struct job	*j;

	(void)tc;
	rig_boot(r);
	j = rig_run(r, 1, "kill -9 $PPID; (setsid sleep 1000 &); "
	    "sleep 0.2; echo out; exit 33");
	ATF_CHECK_EQ(GP_EXITED, j->ex.kind);
	ATF_CHECK_EQ(33, j->ex.code);
	ATF_CHECK_EQ(GP_EXIT_REAPER_LOST, j->ex.flags);
	ATF_CHECK(buf_is(&j->out[0], "out\n"));
	still_well(r, 2);
	/* Its tree is still found, whether orphaned before or after. */
	rig_sh(r, 3, 0, 0, 0, "(setsid sleep 1000 &); kill -9 $PPID; "
	    "(setsid sleep 1000 &); sleep 1000 & echo ready; sleep 1000");
	wait_word(r, 3, "ready");
	rig_wait_procs(r, 5);
	rig_cancel(r, 3, 100);
	rig_until(r, &r->jobs[3].ended);
	ATF_CHECK_EQ(GP_CANCELLED, r->jobs[3].ex.kind);
	still_well(r, 4);
	/* Stopped instead: set going again. */
	j = rig_run(r, 5, "kill -STOP $PPID; sleep 0.2; exit 34");
	ATF_CHECK_EQ(GP_EXITED, j->ex.kind);
	ATF_CHECK_EQ(34, j->ex.code);
	still_well(r, 6);
	rig_end(r);
}

/* A shell kills its reaper, and goes on when it is PID 1's. */
#define ORPHANED	"kill -9 $PPID; parent=; while [ \"$parent\" != 1 ]; "	\
			"do read -r x x x parent x </proc/$$/stat; done; "

/*
 * Two are without a reaper, and of the second PID 1 does not know that yet:
 * what is a signal for all of the first is nothing to the second.
 */
ROOT_TC(lost_meanwhile, "whose reaper has just been killed is nobody's orphan")
{
	struct rig	*r = rig_new();
	char		 go[128], gone[128];
	double		 end;
	int		 fd;

	(void)tc;
	rig_boot(r);
	snprintf(go, sizeof(go), "%s/go", r->work);
	snprintf(gone, sizeof(gone), "%s/gone", r->work);
	rig_sh(r, 1, 0, 0, 0, "trap 'echo usr; exit 5' USR1; " ORPHANED
	    "sleep 1000 & echo ready; wait");
	wait_word(r, 1, "ready");
	rig_sh(r, 2, 0, 0, 0, "trap 'echo usr' USR1; trap 'exit 6' TERM; "
	    "mkfifo go; echo ready; read x <go; " ORPHANED "sleep 1000 & "
	    ": >gone; while :; do wait; done");
	wait_word(r, 2, "ready");
	ATF_REQUIRE((fd = open(go, O_WRONLY | O_CLOEXEC)) != -1);
	/* It finds the order and the death, and the order first. */
	ATF_REQUIRE_EQ(0, kill(r->pid, SIGSTOP));
	rig_signal(r, 1, SIGUSR1, GP_SIGNAL_TREE);
	ATF_REQUIRE_EQ(1, write(fd, "\n", 1));
	close(fd);
	for (end = rig_now() + 60; access(gone, F_OK) == -1; usleep(10000))
		ATF_REQUIRE(rig_now() < end);
	ATF_REQUIRE_EQ(0, kill(r->pid, SIGCONT));
	rig_until(r, &r->jobs[1].ended);
	ATF_CHECK_EQ(5, r->jobs[1].ex.code);
	rig_signal(r, 2, SIGTERM, 0);
	rig_until(r, &r->jobs[2].ended);
	ATF_CHECK_EQ(GP_EXITED, r->jobs[2].ex.kind);
	ATF_CHECK_EQ(6, r->jobs[2].ex.code);
	ATF_CHECK(buf_is(&r->jobs[2].out[0], "ready\n"));
	still_well(r, 3);
	rig_end(r);
}

ROOT_TC(all_killed, "kill -9 -1 takes the others, not the guest")
{
	struct rig	*r = rig_new();
	uint64_t	 k;

	(void)tc;
	rig_boot(r);
	for (k = 1; k <= 3; k++)
		rig_sh(r, k, 0, 0, 0, "sleep 1000; exit 1");
	for (k = 1; k <= 3; k++)
		rig_until(r, &r->jobs[k].started);
	/* bash's kill -1 spares the caller, as the kernel does. */
	rig_sh(r, 4, 0, 0, 0, "kill -9 -1; sleep 0.1; exit 44");
	for (k = 1; k <= 4; k++)
		rig_until(r, &r->jobs[k].ended);
	for (k = 1; k <= 3; k++) {
		ATF_CHECK_EQ(GP_SIGNALED, r->jobs[k].ex.kind);
		ATF_CHECK_EQ(SIGKILL, (int)r->jobs[k].ex.signo);
	}
	ATF_CHECK_EQ(GP_EXITED, r->jobs[4].ex.kind);
	ATF_CHECK_EQ(44, r->jobs[4].ex.code);
	still_well(r, 5);
	/* While others are being started, each starts once or says why. */
	rig_sh(r, 6, 0, 0, 0, "i=0; while [ $i -lt 30 ]; do kill -9 -1; "
	    "i=$((i + 1)); done; exit 45");
	for (k = 7; k < 60; k++)
		rig_sh(r, k, 0, 0, 0, "echo x >>count; exit 3");
	for (k = 6; k < 60; k++)
		while (!r->jobs[k].ended && !r->jobs[k].not_started)
			ATF_REQUIRE(rig_pump(r, 60000));
	ATF_CHECK_EQ(45, r->jobs[6].ex.code);
	for (k = 7; k < 60; k++)
		if (r->jobs[k].ended && r->jobs[k].ex.kind == GP_EXITED)
			ATF_CHECK_EQ(3, r->jobs[k].ex.code);
	rig_wait_procs(r, 0);
	ATF_CHECK_EQ(0, rig_run(r, 60,
	    "[ $(wc -l <count) -le 53 ]")->ex.code);
	rig_end(r);
}

ROOT_TC(unreachable, "the guest is out of reach for what it runs")
{
	struct rig	*r = rig_new();
	struct job	*j;

	(void)tc;
	rig_boot(r);
	j = rig_run(r, 1, "for s in 1 2 3 9 10 13 14 15 17 18 19 20 31; do "
	    "kill -$s 1; done; cat /proc/1/mem /proc/1/environ "
	    "/proc/$PPID/mem; ls /proc/1/fd; echo 0 >/proc/1/oom_score_adj; "
	    "exit 12");
	ATF_CHECK_EQ(12, j->ex.code);
	ATF_CHECK_EQ(0, j->ex.out_len);
	j = rig_run(r, 2, "[ $(cat /proc/self/oom_score_adj) -gt "
	    "$(cat /proc/1/oom_score_adj) ]");
	ATF_CHECK_EQ(0, j->ex.code);
	still_well(r, 3);
	rig_end(r);
}

ROOT_TC(stop, "STOP ends all, tells every end, says goodbye")
{
	struct rig	*r = rig_new();
	int		 status;

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, 0, 0, 0, "trap 'echo term; exit 9' TERM; echo ready;"
	    "while :; do sleep 0.05; done");
	rig_sh(r, 2, 0, 0, 0, "trap '' TERM; echo ready;"
	    "while :; do sleep 0.05; done");
	rig_sh(r, 3, 0, 0, 0, "setsid sleep 1000 & exit 0");
	wait_word(r, 1, "ready");
	wait_word(r, 2, "ready");
	rig_until(r, &r->jobs[3].ended);
	/* Time enough for the first to hear of it. */
	rig_stop(r, 3000);
	rig_sh(r, 4, 0, 0, 0, "touch file");
	rig_until(r, &r->jobs[4].not_started);
	ATF_CHECK_EQ(GP_NS_STOPPING, r->jobs[4].ns.cause);
	rig_until(r, &r->jobs[1].ended);
	rig_until(r, &r->jobs[2].ended);
	ATF_CHECK_EQ(GP_CANCELLED, r->jobs[1].ex.kind);
	ATF_CHECK_EQ(9, r->jobs[1].ex.code);
	ATF_CHECK(buf_is(&r->jobs[1].out[0], "ready\nterm\n"));
	ATF_CHECK_EQ(SIGKILL, (int)r->jobs[2].ex.signo);
	ATF_CHECK_EQ(0, r->bye);
	rig_again(r);
	ATF_CHECK((r->hello.flags & GP_IS_STOPPING) != 0);
	ATF_CHECK_EQ(3, r->nstates);
	rig_forget(r, 1);
	rig_forget(r, 2);
	rig_forget(r, 3);
	rig_until(r, &r->bye);
	status = rig_wait_guest(r);
	ATF_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ATF_CHECK_EQ(0, rig_procs(r));
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, cancel_tree);
	ATF_TP_ADD_TC(tp, timeout_tree);
	ATF_TP_ADD_TC(tp, bomb);
	ATF_TP_ADD_TC(tp, bomb_sessions);
	ATF_TP_ADD_TC(tp, threads);
	ATF_TP_ADD_TC(tp, grace);
	ATF_TP_ADD_TC(tp, signals);
	ATF_TP_ADD_TC(tp, rest);
	ATF_TP_ADD_TC(tp, reaper_killed);
	ATF_TP_ADD_TC(tp, lost_meanwhile);
	ATF_TP_ADD_TC(tp, all_killed);
	ATF_TP_ADD_TC(tp, unreachable);
	ATF_TP_ADD_TC(tp, stop);
	return (atf_no_error());
}
