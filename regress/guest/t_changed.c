/* What an exec has changed.  regress-srcs: harness.c */

#include <atf-c.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define CHANGES	GP_START_CHANGES

static struct job *
ended(struct rig *r, uint64_t k)
{
	struct job	*j = &r->jobs[k];

	rig_until(r, &j->ended);
	ATF_REQUIRE_EQ(1, j->nexits);
	return (j);
}

static struct job *
changes(struct rig *r, uint64_t k, const char *cmd)
{
	struct job	*j;

	rig_sh(r, k, CHANGES, 0, 0, cmd);
	j = ended(r, k);
	ATF_REQUIRE_EQ(1, j->nchanged);
	return (j);
}

/* Is the line one of the list? */
static int
has(const struct job *j, const char *line)
{
	size_t	 i, len = strlen(line);

	for (i = 0; i + len <= j->list.len; i++)
		if ((i == 0 || j->list.data[i - 1] == '\n') &&
		    memcmp(j->list.data + i, line, len) == 0)
			return (1);
	fprintf(stderr, "have \"%.*s\", not \"%s\"\n", (int)j->list.len,
	    (const char *)j->list.data, line);
	return (0);
}

ROOT_TC(kinds, "each kind of change is told and counted, before the end")
{
	struct rig	*r = rig_new();
	struct job	*j;

	(void)tc;
	rig_boot(r);
	rig_run(r, 1, "echo a >a; echo b >b; mkdir -p d/e; echo f >d/e/f; "
	    "ln -s a l; ln b hard; echo keep >keep; echo x >times");
	j = changes(r, 2, "true");
	ATF_CHECK_EQ(0, j->list.len);
	ATF_CHECK_EQ(0, j->changed.flags);
	j = changes(r, 3, "echo more >>a; rm l; mv d n; chmod 600 keep; "
	    "echo y >b; : >new; mkdir dir; touch -r times t; echo z >times; "
	    "touch -r t times; rm t");
	ATF_CHECK_EQ(0, j->changed.flags);
	ATF_CHECK(has(j, "written a\n"));
	ATF_CHECK(has(j, "written b\n"));
	ATF_CHECK(has(j, "written hard\n"));
	/* Its times were set again, but one. */
	ATF_CHECK(has(j, "written times\n"));
	ATF_CHECK(has(j, "removed l\n"));
	ATF_CHECK(has(j, "renamed n/ d/\n"));
	ATF_CHECK(has(j, "renamed n/e/ d/e/\n"));
	ATF_CHECK(has(j, "renamed n/e/f d/e/f\n"));
	ATF_CHECK(has(j, "altered keep\n"));
	ATF_CHECK(has(j, "made new\n"));
	ATF_CHECK(has(j, "made dir/\n"));
	ATF_CHECK_EQ(2, j->changed.count[GP_MADE]);
	ATF_CHECK_EQ(4, j->changed.count[GP_WRITTEN]);
	ATF_CHECK_EQ(1, j->changed.count[GP_REMOVED]);
	ATF_CHECK_EQ(3, j->changed.count[GP_RENAMED]);
	ATF_CHECK_EQ(1, j->changed.count[GP_ALTERED]);
	/* Two that change their names, and a number that comes again. */
	j = changes(r, 4, "mv a swap; mv keep a; mv swap keep; rm new; "
	    "echo other >other; ln times two");
	ATF_CHECK(has(j, "written a\n"));
	ATF_CHECK(has(j, "written keep\n"));
	ATF_CHECK(has(j, "removed new\n"));
	ATF_CHECK(has(j, "made other\n"));
	ATF_CHECK(has(j, "made two\n"));
	/* A second name changes what is known of the first. */
	ATF_CHECK(has(j, "altered times\n"));
	ATF_CHECK_EQ(0, j->changed.count[GP_RENAMED]);
	rig_end(r);
}

/* What the patterns of a scope let through, of these changes. */
static void
scoped(struct rig *r, uint64_t k, const char *scope, const char *want,
    const char *cmd)
{
	struct job	*j;
	uint64_t	 n = 0;
	int		 i;

	rig_scope = scope;
	rig_sh(r, k, CHANGES, 0, 0, cmd);
	rig_scope = NULL;
	j = ended(r, k);
	ATF_REQUIRE_EQ(1, j->nchanged);
	ATF_CHECK_EQ(0, j->changed.flags);
	ATF_CHECK_MSG(j->list.len == strlen(want) && (j->list.len == 0 ||
	    memcmp(j->list.data, want, j->list.len) == 0),
	    "%s: have \"%.*s\", want \"%s\"", scope, (int)j->list.len,
	    (const char *)j->list.data, want);
	/* What is not told is not counted. */
	for (i = GP_MADE; i < GP_CHANGE_MAX; i++)
		n += j->changed.count[i];
	for (i = 0; *want != '\0'; want++)
		i += *want == '\n';
	ATF_CHECK_EQ((uint64_t)i, n);
	rig_forget(r, k);
	rig_run(r, k + 1, "rm -rf * .[a-z]*");
}

ROOT_TC(scope, "only what patterns name is told, and all below that")
{
	struct rig	*r = rig_new();

	(void)tc;
	rig_boot(r);
	scoped(r, 1, "+src", "made src/\nmade src/f\nmade src/d/\n"
	    "made src/d/g\n", "mkdir src; : >src/f; mkdir -p src/d other; "
	    ": >src/d/g; : >other/h; : >top");
	/* What is taken away leaves what is beside it. */
	scoped(r, 3, "+src/**\n-src/gen\n-**/*.o", "made src/f\n",
	    "mkdir -p src/gen/x; : >src/gen/x/y; : >src/f; : >src/f.o");
	/* Without a pattern to include all is; a name is for any depth. */
	scoped(r, 5, "-.git\n-*.log", "made a/\nmade a/f\n", "mkdir -p .git/o "
	    "a/.git; : >.git/o/p; : >a/.git/x; : >a/x.log; : >y.log; "
	    ": >a/f");
	scoped(r, 7, "+{a,b}/*.c\n+only/", "made a/x.c\n", "mkdir a b; "
	    ": >a/x.c; : >a/y.h; : >b/z; : >only");
	scoped(r, 9, "+not/there", "", "mkdir not; : >not/f");
	/* Over its border nothing is renamed, but made or removed. */
	rig_run(r, 11, "mkdir in out; : >in/x; : >out/y");
	scoped(r, 12, "+in", "made in/y\nremoved in/x\n",
	    "mv in/x out/x; mv out/y in/y");
	rig_end(r);
}

ROOT_TC(scope_odd, "what is no pattern, and what cannot be read above one")
{
	struct rig	*r = rig_new();
	struct job	*j;
	uint64_t	 k;
	/* The runner sends none of these. */
	static const char *const bad[] = { "src", "+", "+a\n\n+b", "+a/../b",
	    "+{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b,c,d}",
	    "+1\n+2\n+3\n+4\n+5\n+6\n+7\n+8\n+9\n+10\n+11\n+12\n+13\n+14\n"
	    "+15\n+16\n+17" };

	(void)tc;
	rig_boot(r);
	for (k = 1; k <= sizeof(bad) / sizeof(bad[0]); k++) {
		rig_scope = bad[k - 1];
		rig_sh(r, k, CHANGES, 0, 0, "echo >never");
		rig_until(r, &r->jobs[k].not_started);
		ATF_CHECK_EQ(GP_NS_SCOPE, r->jobs[k].ns.cause);
		rig_forget(r, k);
	}
	rig_scope = NULL;
	rig_run(r, 10, "mkdir -p a/b other; echo >a/b/f; chmod 0 a other");
	rig_scope = "+a/b";
	rig_sh(r, 11, CHANGES, 0, 0, "chmod 700 a; echo x >>a/b/f");
	j = ended(r, 11);
	ATF_CHECK_EQ(GP_CHANGED_DENIED, j->changed.flags);
	ATF_CHECK_EQ(0, j->list.len);
	rig_forget(r, 11);
	/* Of a directory that was blind and has gone nothing is known. */
	rig_scope = NULL;
	rig_run(r, 12, "chmod 0 a");
	rig_scope = "+a/b";
	rig_sh(r, 13, CHANGES, 0, 0, "chmod 700 a; rm -r a");
	j = ended(r, 13);
	ATF_CHECK_EQ(0, j->list.len);
	rig_scope = NULL;
	rig_end(r);
}

ROOT_TC(links, "no link is followed out, and what cannot be read is told")
{
	struct rig	*r = rig_new();
	struct job	*j;

	(void)tc;
	rig_boot(r);
	rig_run(r, 1, "mkdir in shut; ln -s /tmp out; ln -s ../in in/loop; "
	    "mkfifo fifo; chmod 0 shut");
	j = changes(r, 2, "chmod 700 shut; echo >shut/f; echo >in/loop/g");
	ATF_CHECK_EQ(GP_CHANGED_DENIED, j->changed.flags);
	ATF_CHECK(has(j, "made in/g\n"));
	ATF_CHECK(has(j, "altered shut/\n"));
	ATF_CHECK_EQ(1, j->changed.count[GP_MADE]);
	rig_end(r);
}

ROOT_TC(away, "changes wait for the runner, and are told on each connection")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, CHANGES, 0, 0, "read x <go; echo >made");
	rig_sh(r, 2, 0, 0, 0, "mkfifo go; echo >go; until [ -e made ]; do "
	    "sleep .01; done");
	rig_cut(r);
	rig_listen(r);
	rig_accept(r);
	rig_welcome(r);
	rig_resume(r, 1);
	rig_resume(r, 2);
	ended(r, 1);
	ATF_CHECK(has(j, "made made\n"));
	ATF_CHECK_EQ(GP_CHANGED_SHARED, j->changed.flags);
	rig_again(r);
	j->ended = j->nexits = 0;
	rig_resume(r, 1);
	ended(r, 1);
	ATF_CHECK_EQ(2, j->nchanged);
	rig_forget(r, 1);
	rig_sync(r);
	rig_end(r);
}

ROOT_TC(most, "only so many at once; the next ones when these are forgotten")
{
	struct rig	*r = rig_new();
	uint64_t	 k;

	(void)tc;
	rig_boot(r);
	for (k = 1; k <= 8; k++)
		rig_sh(r, k, CHANGES, 0, 0, "until [ -e go ]; do sleep .01; "
		    "done");
	rig_sh(r, 9, CHANGES, 0, 0, "echo >never");
	rig_until(r, &r->jobs[9].not_started);
	ATF_CHECK_EQ(GP_NS_CHANGES, r->jobs[9].ns.cause);
	rig_forget(r, 9);
	/* What was there before one began is not what it has changed. */
	for (k = 1; k <= 8; k++)
		rig_until(r, &r->jobs[k].started);
	rig_run(r, 10, "echo >go");
	for (k = 1; k <= 8; k++) {
		ended(r, k);
		ATF_CHECK_EQ(GP_CHANGED_SHARED, r->jobs[k].changed.flags);
		ATF_CHECK(has(&r->jobs[k], "made go\n"));
		rig_forget(r, k);
	}
	for (k = 11; k <= 30; k++) {
		changes(r, k, "rm -f go; [ ! -e never ] && : >go");
		ATF_CHECK_EQ(0, r->jobs[k].ex.code);
		ATF_CHECK_EQ(0, r->jobs[k].changed.flags);
		rig_forget(r, k);
	}
	rig_end(r);
}

ROOT_TC(cancelled, "a command is ended before, while and after it runs")
{
	struct rig	*r = rig_new();
	struct job	*j;
	uint64_t	 k;

	(void)tc;
	rig_boot(r);
	/* So many that to mark them takes its time. */
	rig_run(r, 1, "i=0; while [ $i -lt 3000 ]; do : >f$i; "
	    "i=$((i + 1)); done");
	for (k = 2; k < 12; k++) {
		rig_sh(r, k, CHANGES, 0, 0, "sleep 1000");
		rig_cancel(r, k, 0);
		j = ended(r, k);
		ATF_CHECK_EQ(GP_CANCELLED, j->ex.kind);
		ATF_CHECK_EQ(1, j->nchanged);
		rig_forget(r, k);
	}
	rig_sh(r, 12, CHANGES, 50, 0, "sleep 1000");
	j = ended(r, 12);
	ATF_CHECK_EQ(GP_TIMED_OUT, j->ex.kind);
	rig_sh(r, 13, CHANGES, 0, 0, "rm -f f*");
	/* Nobody waits for them but their own end. */
	j = rig_run(r, 14, "true");
	ATF_CHECK_EQ(0, j->ex.code);
	rig_forget(r, 12);
	rig_stop(r, 100);
	ended(r, 13);
	rig_forget(r, 13);
	rig_until(r, &r->bye);
	rig_end(r);
}

ROOT_TC(killed, "a command that kills the workers loses what they would tell")
{
	struct rig	*r = rig_new();
	struct job	*j;
	uint64_t	 k;
	int		 known = 0;

	(void)tc;
	rig_boot(r);
	rig_run(r, 1, "i=0; while [ $i -lt 1000 ]; do : >f$i; "
	    "i=$((i + 1)); done");
	rig_sh(r, 2, 0, 0, 0, "while [ ! -e over ]; do for p in /proc/[0-9]*; "
	    "do read n <$p/comm; [ \"$n\" = guest-worker ] && "
	    "kill -9 ${p#/proc/}; done; done 2>/dev/null");
	for (k = 3; k < 20; k++) {
		j = &r->jobs[k];
		rig_sh(r, k, CHANGES, 0, 0, "exit 3");
		while (!j->ended && !j->not_started)
			ATF_REQUIRE(rig_pump(r, 60000));
		if (j->not_started)
			ATF_CHECK_EQ(GP_NS_CHANGES, j->ns.cause);
		else {
			ATF_CHECK_EQ(3, j->ex.code);
			known += (j->changed.flags & GP_CHANGED_FAILED) == 0;
			ATF_CHECK(*j->why == '\0' ||
			    j->changed.flags & GP_CHANGED_FAILED);
		}
		rig_forget(r, k);
	}
	printf("%d known\n", known);
	rig_run(r, 20, "echo >over");
	ended(r, 2);
	rig_forget(r, 2);
	j = changes(r, 21, "rm over");
	ATF_CHECK(has(j, "removed over\n"));
	ATF_CHECK_EQ(0, j->changed.flags);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, kinds);
	ATF_TP_ADD_TC(tp, scope);
	ATF_TP_ADD_TC(tp, scope_odd);
	ATF_TP_ADD_TC(tp, links);
	ATF_TP_ADD_TC(tp, away);
	ATF_TP_ADD_TC(tp, most);
	ATF_TP_ADD_TC(tp, cancelled);
	ATF_TP_ADD_TC(tp, killed);
	return (atf_no_error());
}
