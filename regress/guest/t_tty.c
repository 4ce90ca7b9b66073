/* Commands on a terminal.  regress-srcs: harness.c */

#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define TTY	GP_START_TTY
#define KEYS	(GP_START_TTY | GP_START_INPUT)

static size_t	 typed[JOBS];

static int
has(const struct buf *b, const char *text)
{
	return (b->len > 0 && memmem(b->data, b->len, text,
	    strlen(text)) != NULL);
}

static void
wait_text_at(struct rig *r, uint64_t k, const char *text, int line)
{
	double	 end = rig_now() + 60;

	while (!has(&r->jobs[k].out[0], text)) {
		rig_pump(r, 1000);
		ATF_REQUIRE_MSG(rig_now() < end, "%d: no \"%s\" in \"%.*s\"",
		    line, text, (int)r->jobs[k].out[0].len,
		    (char *)r->jobs[k].out[0].data);
	}
}
#define wait_text(r, k, text)	wait_text_at(r, k, text, __LINE__)

static void
keys(struct rig *r, uint64_t k, const char *text)
{
	size_t	 len = strlen(text);

	ATF_REQUIRE_EQ(len, rig_input(r, k, (const uint8_t *)text, len,
	    typed[k]));
	typed[k] += len;
}

/* A command that says when it is ready for keys. */
static void
ready_at(struct rig *r, uint64_t k, const char *text, int line)
{
	rig_sh(r, k, KEYS, 0, 0, text);
	wait_text_at(r, k, "ready", line);
}
#define ready(r, k, text)	ready_at(r, k, text, __LINE__)

/* Keys, and the end of the command by them. */
static void
keys_end(struct rig *r, uint64_t k, const char *text)
{
	keys(r, k, text);
	rig_until(r, &r->jobs[k].ended);
}

static void
cancel_end(struct rig *r, uint64_t k, uint32_t grace)
{
	rig_cancel(r, k, grace);
	rig_until(r, &r->jobs[k].ended);
}

ROOT_TC(streams, "one terminal for all streams, of the size that was said")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, TTY, 0, 0, "test -t 0 && test -t 1 && test -t 2 || "
	    "exit 3; stty size; echo err >&2; ps -o tty= -p $$ | grep -c pts");
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(0, j->ex.code);
	ATF_CHECK_MSG(buf_is(&j->out[0], "24 80\r\nerr\r\n1\r\n"), "%.*s",
	    (int)j->out[0].len, (char *)j->out[0].data);
	ATF_CHECK_EQ(0, j->ex.err_len);
	/* Without one nothing has changed. */
	ATF_CHECK_EQ(1, rig_run(r, 2, "test -t 1")->ex.code);
	ATF_CHECK_EQ(2, rig_run(r, 3, ": </dev/tty")->ex.code);
	rig_end(r);
}

ROOT_TC(all_of_it, "the last bytes of a command are there at its end")
{
	struct rig	*r = rig_new();
	uint64_t	 k;

	(void)tc;
	rig_boot(r);
	for (k = 1; k <= 300; k++) {
		rig_sh(r, k, TTY, 0, 0, "printf abcdefgh");
		rig_until(r, &r->jobs[k].ended);
		ATF_REQUIRE_MSG(buf_is(&r->jobs[k].out[0], "abcdefgh"),
		    "%ju: %zu bytes", (uintmax_t)k, r->jobs[k].out[0].len);
		rig_forget(r, k);
	}
	rig_end(r);
}

ROOT_TC(volume, "4 MiB, each byte, also over new connections")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	size_t		 i;
	int		 n;

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, TTY, 0, 0, "stty -opost; yes 0123456 | head -c 4194304");
	for (n = 0; n < 5; n++) {
		while (j->out[0].len < (size_t)n * 65536)
			rig_pump(r, 1000);
		rig_again(r);
		rig_resume(r, 1);
	}
	rig_until(r, &j->ended);
	ATF_REQUIRE_EQ(4194304, j->out[0].len);
	for (i = 0; i < 4194304; i += 8)
		ATF_REQUIRE(memcmp(j->out[0].data + i, "0123456\n", 8) == 0);
	rig_end(r);
}

ROOT_TC(keys_signal, "keys become signals by the line discipline")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];

	(void)tc;
	rig_boot(r);
	ready(r, 1, "echo ready; exec sleep 1000");
	keys_end(r, 1, "\003");
	ATF_CHECK_EQ(GP_SIGNALED, j->ex.kind);
	ATF_CHECK_EQ(SIGINT, j->ex.signo);
	ATF_CHECK(has(&j->out[0], "^C"));
	ready(r, 2, "trap '' INT; echo ready; exec sleep 1000");
	keys_end(r, 2, "\003\034");
	ATF_CHECK_EQ(SIGQUIT, r->jobs[2].ex.signo);
	rig_end(r);
}

ROOT_TC(jobs, "a shell with job control stops and goes on with its jobs")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	char		*argv[] = { "sh", "-i", NULL };
	char		*env[] = { "PS1=prompt ", NULL };

	(void)tc;
	rig_boot(r);
	rig_start_v(r, 1, KEYS, 0, 0, "", argv, env);
	wait_text(r, 1, "prompt ");
	keys(r, 1, "sh -c 'trap \"echo on\\$((1 + 1))\" CONT; "
	    "trap \"echo by\\$((1 + 1)); exit 3\" INT; "
	    "echo run$((1 + 1)); while :; do read x; done'\n");
	wait_text(r, 1, "run2");
	keys(r, 1, "\032");
	wait_text(r, 1, "Stopped");
	keys(r, 1, "jobs | wc -l; echo one$((1 + 1))\n");
	wait_text(r, 1, "one2");
	keys(r, 1, "fg\n");
	wait_text(r, 1, "on2");
	keys(r, 1, "\003");
	wait_text(r, 1, "by2");
	keys(r, 1, "echo back $?\n");
	wait_text(r, 1, "back 3");
	keys_end(r, 1, "exit 5\n");
	ATF_CHECK_EQ(5, j->ex.code);
	ATF_CHECK_MSG(!has(&j->out[0], "job control turned off"), "%.*s",
	    (int)j->out[0].len, (char *)j->out[0].data);
	rig_end(r);
}

ROOT_TC(resize, "another size is told, and seen; what has none has none")
{
	struct rig	*r = rig_new();
	int		 i;

	(void)tc;
	rig_boot(r);
	ready(r, 1, "trap 'stty size' WINCH; echo ready; "
	    "while :; do read x && stty size; done");
	rig_resize(r, 1, 33, 101);
	wait_text(r, 1, "33 101");
	for (i = 1; i <= 20000; i++)
		rig_resize(r, 1, 1 + i % 999, i);
	rig_resize(r, 1, 65535, 65535);
	keys(r, 1, "a\n");
	wait_text(r, 1, "65535 65535");
	rig_sh(r, 2, 0, 0, 0, "sleep 0.2");
	rig_resize(r, 2, 33, 101);
	rig_resize(r, 77, 33, 101);
	rig_until(r, &r->jobs[2].ended);
	cancel_end(r, 1, 0);
	rig_resize(r, 1, 10, 10);
	rig_sync(r);
	rig_end(r);
}

ROOT_TC(input_end, "the end of input is typed, where somebody would see it")
{
	struct rig	*r = rig_new();

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, KEYS, 0, 0, "cat; echo end; cat; exit 4");
	keys(r, 1, "line\n");
	wait_text(r, 1, "line\r\nline\r\n");
	keys(r, 1, "\004");
	wait_text(r, 1, "end\r\n");
	keys(r, 1, "part");
	rig_input_end(r, 1, typed[1]);
	rig_until(r, &r->jobs[1].ended);
	ATF_CHECK_EQ(4, r->jobs[1].ex.code);
	ATF_CHECK(has(&r->jobs[1].out[0], "partpart"));
	/* Nothing at all, then its end. */
	rig_sh(r, 2, KEYS, 0, 0, "cat; exit 5");
	rig_input_end(r, 2, 0);
	rig_until(r, &r->jobs[2].ended);
	ATF_CHECK_EQ(5, r->jobs[2].ex.code);
	/* Key by key there is none, and the program goes on. */
	ready(r, 3, "stty raw -echo; printf ready; "
	    "dd bs=1 count=3 2>/dev/null; sleep 0.3; exit 6");
	keys(r, 3, "\003\004x");
	rig_input_end(r, 3, typed[3]);
	rig_until(r, &r->jobs[3].ended);
	ATF_CHECK_EQ(6, r->jobs[3].ex.code);
	ATF_CHECK(has(&r->jobs[3].out[0], "ready\003\004x"));
	rig_end(r);
}

ROOT_TC(cancel, "a cancel hangs up, what is said to it is output")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];

	(void)tc;
	rig_boot(r);
	ready(r, 1, "trap '' TERM; trap 'echo hung up; exit 9' "
	    "HUP; echo ready; while :; do read x; done");
	cancel_end(r, 1, 30000);
	ATF_CHECK_EQ(GP_CANCELLED, j->ex.kind);
	ATF_CHECK_EQ(9, j->ex.code);
	ATF_CHECK(has(&j->out[0], "hung up\r\n"));
	/* One that is stopped hears it too. */
	ready(r, 2, "trap '' TERM; trap 'exit 8' HUP; "
	    "echo ready; kill -STOP $$; while :; do read x; done");
	rig_sync(r);
	cancel_end(r, 2, 30000);
	ATF_CHECK_EQ(8, r->jobs[2].ex.code);
	/* Whoever has no ear for it is killed after the grace. */
	ready(r, 3, "trap '' HUP TERM; echo ready; "
	    "while :; do read x; done");
	cancel_end(r, 3, 100);
	ATF_CHECK_EQ(SIGKILL, r->jobs[3].ex.signo);
	rig_end(r);
}

ROOT_TC(reopened, "nobody has it open, and it is opened again")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, KEYS, 0, 0, "echo one; exec </dev/null >/dev/null 2>&1; "
	    "sleep 0.3; read x </dev/tty; echo two \"$x\" >/dev/tty");
	wait_text(r, 1, "one");
	keys_end(r, 1, "three\n");
	ATF_CHECK_EQ(0, j->ex.code);
	ATF_CHECK(has(&j->out[0], "two three\r\n"));
	rig_end(r);
}

ROOT_TC(gone, "the terminal goes with its command; what is left sees its end")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	struct stat	 st;
	char		 name[160];
	double		 end;
	size_t		 len;

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, KEYS, 0, 0, "tty; trap '' HUP; "
	    "(touch up; read x; echo no; touch left; exec sleep 1000) "
	    "</dev/tty & until test -e up; do sleep 0.01; done");
	rig_until(r, &j->ended);
	ATF_REQUIRE(has(&j->out[0], "\r\n"));
	len = (uint8_t *)memchr(j->out[0].data, '\r', j->out[0].len) -
	    j->out[0].data;
	snprintf(name, sizeof(name), "%.*s", (int)len,
	    (char *)j->out[0].data);
	ATF_CHECK(strncmp(name, "/dev/pts/", 9) == 0);
	ATF_CHECK_EQ(1, j->ex.background);
	ATF_CHECK(!has(&j->out[0], "no"));
	snprintf(name, sizeof(name), "%s/left", r->work);
	for (end = rig_now() + 60; stat(name, &st) == -1; rig_pump(r, 10))
		ATF_REQUIRE(rig_now() < end);
	rig_cancel(r, 1, 0);
	rig_until(r, &j->nbg);
	rig_forget(r, 1);
	rig_end(r);
}

ROOT_TC(limit, "a terminal that cannot be had")
{
	struct rig	*r = rig_new();
	uint64_t	 k;

	(void)tc;
	r->nofile = 32;
	rig_boot(r);
	for (k = 1; k < 40 && !r->jobs[k - 1].not_started; k++) {
		rig_sh(r, k, KEYS, 0, 0, "echo ready; sleep 1000");
		while (!r->jobs[k].started && !r->jobs[k].not_started)
			rig_pump(r, 1000);
	}
	ATF_REQUIRE(r->jobs[k - 1].not_started);
	ATF_CHECK_EQ(GP_NS_LIMIT, r->jobs[k - 1].ns.cause);
	ATF_REQUIRE(k > 2);
	/* There is room again as soon as one has ended. */
	cancel_end(r, 1, 0);
	rig_forget(r, 1);
	rig_forget(r, k - 1);
	rig_sync(r);
	rig_sh(r, k, KEYS, 0, 0, "exit 7");
	rig_until(r, &r->jobs[k].ended);
	ATF_CHECK_EQ(7, r->jobs[k].ex.code);
	rig_end(r);
}

ROOT_TC(no_more, "all the terminals that there are, and one more")
{
	struct rig	*r = rig_new();
	uint64_t	 k;

	(void)tc;
	r->ptys = 3;
	rig_boot(r);
	for (k = 1; k <= 3; k++)
		ready(r, k, "echo ready; exec sleep 1000");
	rig_sh(r, 4, KEYS, 0, 0, "exit 3");
	rig_until(r, &r->jobs[4].not_started);
	ATF_CHECK_EQ(GP_NS_LIMIT, r->jobs[4].ns.cause);
	ATF_CHECK_EQ(ENOSPC, r->jobs[4].ns.error);
	/* What needs none goes on, and one that has ended makes room. */
	ATF_CHECK_EQ(5, rig_run(r, 5, "exit 5")->ex.code);
	keys_end(r, 2, "\003");
	rig_forget(r, 2);
	rig_forget(r, 4);
	rig_sync(r);
	rig_sh(r, 6, TTY, 0, 0, "tty; exit 6");
	rig_until(r, &r->jobs[6].ended);
	ATF_CHECK_EQ(6, r->jobs[6].ex.code);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, streams);
	ATF_TP_ADD_TC(tp, all_of_it);
	ATF_TP_ADD_TC(tp, volume);
	ATF_TP_ADD_TC(tp, keys_signal);
	ATF_TP_ADD_TC(tp, jobs);
	ATF_TP_ADD_TC(tp, resize);
	ATF_TP_ADD_TC(tp, input_end);
	ATF_TP_ADD_TC(tp, cancel);
	ATF_TP_ADD_TC(tp, reopened);
	ATF_TP_ADD_TC(tp, gone);
	ATF_TP_ADD_TC(tp, limit);
	ATF_TP_ADD_TC(tp, no_more);
	return (atf_no_error());
}
