/*
 * Finding by name: what a pattern matches, and the walk over a tree.
 * regress-srcs: engines.c place.c writes.c
 */

#include <sys/resource.h>
#include <sys/stat.h>

#include <atf-c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "place.h"
#include "tool.h"

#define DIR_ONLY	0x100

static const struct {
	const char	*pattern;
	const char	*path;
	int		 is;
	int		 flags;
} matches[] = {
	{ "*.py",	"a.py",		1, 0 },
	{ "*.py",	"d/a.py",	0, 0 },
	{ "*.py",	"d/a.py",	1, GLOB_ANYDEPTH },
	{ "d/*.py",	"d/a.py",	1, GLOB_ANYDEPTH },
	{ "d/*.py",	"e/d/a.py",	0, GLOB_ANYDEPTH },
	{ "**/*.py",	"a.py",		1, 0 },
	{ "**/*.py",	"d/e/f/a.py",	1, 0 },
	{ "**/*.py",	"d/e/f/a.pyc",	0, 0 },
	{ "d/**",	"d",		0, 0 },
	{ "d/**",	"d/e",		1, 0 },
	{ "d/**",	"d/e/f",	1, 0 },
	{ "d/**/f",	"d/f",		1, 0 },
	{ "d/**/f",	"d/a/b/f",	1, 0 },
	{ "d/**/f",	"d/a/b/g",	0, 0 },
	{ "**/a/**/b",	"x/a/y/a/z/b",	1, 0 },
	{ "**/a/**/b",	"x/b/y/a",	0, 0 },
	{ "**/**/**",	"x/y",		1, 0 },
	{ "**",		"x/y",		1, 0 },
	{ "a**b",	"axxb",		1, 0 },
	{ "a**b",	"a/b",		0, 0 },
	{ "a?c",	"abc",		1, 0 },
	{ "a?c",	"a\303\251c",	1, 0 },
	{ "a?c",	"a\377c",	1, 0 },
	{ "a?c",	"ac",		0, 0 },
	{ "a?c",	"a/c",		0, 0 },
	{ "[a-c]x",	"bx",		1, 0 },
	{ "[a-c]x",	"dx",		0, 0 },
	{ "[!a-c]x",	"dx",		1, 0 },
	{ "[^a-c]x",	"bx",		0, 0 },
	{ "[]]x",	"]x",		1, 0 },
	{ "[a-]x",	"-x",		1, 0 },
	{ "[\303\240-\303\277]x", "\303\251x", 1, 0 },
	{ "[ax",	"[ax",		1, 0 },
	{ "[a/b]",	"[a/b]",	1, 0 },
	{ "[\\]]x",	"]x",		1, 0 },
	{ "\\*x",	"*x",		1, 0 },
	{ "\\*x",	"ax",		0, 0 },
	{ "*a*a*a*b",	"aaaaaaaaaaaa",	0, 0 },
	{ "{a,b}.c",	"a.c",		1, 0 },
	{ "{a,b}.c",	"b.c",		1, 0 },
	{ "{a,b}.c",	"c.c",		0, 0 },
	{ "{a,{b,c}d}",	"cd",		1, 0 },
	{ "{a,{b,c}d}",	"ad",		0, 0 },
	{ "x{,.bak}",	"x",		1, 0 },
	{ "x{,.bak}",	"x.bak",	1, 0 },
	{ "{a/b,c}/d",	"a/b/d",	1, 0 },
	{ "{a}",	"{a}",		1, 0 },
	{ "{a,b",	"{a,b",		1, 0 },
	{ "\\{a,b}",	"{a,b}",	1, 0 },
	{ "{,a}",	"a",		1, GLOB_ANYDEPTH },
	{ "{,a}",	"b",		0, GLOB_ANYDEPTH },
	{ "./a//b/.",	"a/b",		1, 0 },
	{ "/a",		"a",		1, 0 },
	{ "a/",		"a",		0, 0 },
	{ "a/",		"a",		1, DIR_ONLY },
	{ "**/",	"a/b",		1, DIR_ONLY },
	{ "*",		".a",		1, 0 },
	{ "*",		".a",		0, GLOB_NODOT },
	{ ".*",		".a",		1, GLOB_NODOT },
	{ "\\.a",	".a",		1, GLOB_NODOT },
	{ "**/b",	".a/b",		0, GLOB_NODOT },
	{ "**/.a/b",	"x/.a/b",	1, GLOB_NODOT },
	{ "**",		"x/.a",		0, GLOB_NODOT },
	{ "*\n*",	"a\nb",		1, 0 },
	{ "$x 'y\"",	"$x 'y\"",	1, 0 },
};

ATF_TC_WITHOUT_HEAD(patterns);
ATF_TC_BODY(patterns, tc)
{
	struct glob	 g;
	char		 buf[256], *p;
	size_t		 i;

	for (i = 0; i < sizeof(matches) / sizeof(matches[0]); i++) {
		ATF_REQUIRE(glob_compile(&g, matches[i].pattern,
		    matches[i].flags & ~DIR_ONLY) == 0);
		ATF_CHECK_MSG(glob_match(&g, matches[i].path,
		    matches[i].flags & DIR_ONLY) == matches[i].is,
		    "%s against %s", matches[i].pattern, matches[i].path);
		/* What matches is never passed over with its directory. */
		snprintf(buf, sizeof(buf), "%s", matches[i].path);
		while (matches[i].is && (p = strrchr(buf, '/')) != NULL) {
			*p = '\0';
			ATF_CHECK_MSG(glob_below(&g, buf), "%s below %s",
			    matches[i].pattern, buf);
		}
		glob_free(&g);
	}
	ATF_REQUIRE(glob_compile(&g, "a/*/c.{c,h}", 0) == 0);
	ATF_CHECK(glob_below(&g, "a") && glob_below(&g, "a/b"));
	ATF_CHECK(!glob_below(&g, "b") && !glob_below(&g, "a/b/c.c"));
	glob_free(&g);
}

ATF_TC_WITHOUT_HEAD(bad_patterns);
ATF_TC_BODY(bad_patterns, tc)
{
	struct glob	 g;
	char		 buf[GLOB_PATTERN + 2];
	int		 i;

	ATF_CHECK_EQ(EINVAL, glob_compile(&g, "", 0));
	ATF_CHECK_EQ(EINVAL, glob_compile(&g, "../x", 0));
	ATF_CHECK_EQ(EINVAL, glob_compile(&g, "{a,b}/../x", 0));
	memset(buf, 'a', sizeof(buf) - 1);
	buf[sizeof(buf) - 1] = '\0';
	ATF_CHECK_EQ(EINVAL, glob_compile(&g, buf, 0));
	/* Nine doublings stay below the bound, ten do not. */
	for (i = 0, buf[0] = '\0'; i < 9; i++)
		strlcat(buf, "{a,b}", sizeof(buf));
	ATF_CHECK_EQ(0, glob_compile(&g, buf, 0));
	ATF_CHECK_EQ(512, g.n);
	glob_free(&g);
	strlcat(buf, "{a,b}", sizeof(buf));
	ATF_CHECK_EQ(E2BIG, glob_compile(&g, buf, 0));
	/* Braces in braces in braces. */
	memset(buf, '{', GLOB_PATTERN);
	buf[GLOB_PATTERN] = '\0';
	ATF_CHECK_EQ(0, glob_compile(&g, buf, 0));
	glob_free(&g);
}

static int
found(void *arg, const struct walk_entry *e)
{
	text_add(arg, e->path, e->len);
	text_add(arg, "\n", 1);
	return (0);
}

static struct glob_res
run(int fd, const char *pattern, int flags, uint64_t max, struct text *t)
{
	struct glob_req	 req = { pattern, flags, max, 60000 };
	struct glob_res	 res;

	ATF_REQUIRE(lseek(fd, 0, SEEK_SET) == 0);
	ATF_REQUIRE_EQ(0, tool_glob(fd, &req, &res, found, t));
	return (res);
}

ATF_TC_WITHOUT_HEAD(tree);
ATF_TC_BODY(tree, tc)
{
	struct glob_res	 res;
	struct text	 t = { 0 };
	int		 fd = place_new();

	place_file("b/x.c", "", -1);
	place_file("b.c", "", -1);
	place_file("b/a/y.c", "", -1);
	place_file("a.c", "", -1);
	place_file(".h/z.c", "", -1);
	place_file("n\nl.c", "", -1);
	ATF_REQUIRE(symlink("b", "link") == 0);
	ATF_REQUIRE(symlink("b.c", "l.c") == 0);
	ATF_REQUIRE(symlink("nothing", "gone.c") == 0);
	ATF_REQUIRE(mkfifo("fifo.c", 0644) == 0);
	place_dir("dir.c");

	/* Whole paths are in order: "b.c" before what is in "b". */
	res = run(fd, "**/*.c", 0, 100, &t);
	ATF_CHECK(text_is(&t, ".h/z.c\na.c\nb.c\nb/a/y.c\nb/x.c\ndir.c\n"
	    "fifo.c\ngone.c\nl.c\nn\nl.c\n"));
	ATF_CHECK(res.count == 10 && !res.more && res.left == 0);
	run(fd, "*.c", GLOB_ANYDEPTH | GLOB_FILES | GLOB_NODOT, 100, &t);
	ATF_CHECK(text_is(&t, "a.c\nb.c\nb/a/y.c\nb/x.c\nl.c\nn\nl.c\n"));
	run(fd, "b/", 0, 100, &t);
	ATF_CHECK(text_is(&t, "b\n"));
	/* No link is followed into. */
	res = run(fd, "link/*", 0, 100, &t);
	ATF_CHECK(text_is(&t, "") && res.count == 0);
	/* Exactly as many as there are is not cut. */
	res = run(fd, "b*/**", 0, 3, &t);
	ATF_CHECK(text_is(&t, "b/a\nb/a/y.c\nb/x.c\n") && !res.more);
	res = run(fd, "b*/**", 0, 2, &t);
	ATF_CHECK(text_is(&t, "b/a\nb/a/y.c\n") && res.more);
	/* Nor is what the pattern cannot reach read. */
	ATF_REQUIRE(chmod("b/a", 0) == 0);
	res = run(fd, "*/x.c", 0, 2, &t);
	ATF_CHECK(text_is(&t, "b/x.c\n") && res.left == 0);
	close(fd);
}

ATF_TC(denied);
ATF_TC_HEAD(denied, tc)
{
	atf_tc_set_md_var(tc, "descr", "a directory that may not be read");
}
ATF_TC_BODY(denied, tc)
{
	struct glob_res	 res;
	struct text	 t = { 0 };
	int		 fd = place_new();

	place_file("a/x", "", -1);
	place_file("b/x", "", -1);
	ATF_REQUIRE(chmod("a", 0) == 0 && chmod(".", 0755) == 0);
	place_user(65534);
	res = run(fd, "**/x", 0, 10, &t);
	ATF_CHECK(text_is(&t, "b/x\n") && res.left == WALK_L_DENIED);
	close(fd);
	place_user(0);
}

/* A chain of directories and what is in them: no path is as long. */
static void
remove_deep(int fd, const char *name)
{
	int	 dir, next, depth = 0;

	ATF_REQUIRE((dir = dup(fd)) != -1);
	while ((next = openat(dir, name, O_RDONLY | O_DIRECTORY)) != -1) {
		close(dir);
		dir = next;
		depth++;
		(void)unlinkat(dir, "x", 0);
		(void)unlinkat(dir, "e/x", 0);
		(void)unlinkat(dir, "e", AT_REMOVEDIR);
	}
	for (; depth > 0; depth--) {
		ATF_REQUIRE((next = openat(dir, "..", O_RDONLY |
		    O_DIRECTORY)) != -1);
		close(dir);
		dir = next;
		ATF_CHECK(unlinkat(dir, name, AT_REMOVEDIR) == 0);
	}
	close(dir);
}

/* A chain of directories, each named by 200 characters. */
ATF_TC_WITHOUT_HEAD(deep);
ATF_TC_BODY(deep, tc)
{
	struct glob_res	 res;
	struct rlimit	 rl = { 100, 100 };
	struct text	 t = { 0 };
	char		 name[201];
	int		 i, fd = place_new();

	memset(name, 'd', 200);
	name[200] = '\0';
	for (i = 0; i < 500; i++) {
		ATF_REQUIRE(mkdir(name, 0755) == 0 && chdir(name) == 0);
		/* On the way back there is something to see. */
		if (i % 50 == 49) {
			ATF_REQUIRE(mkdir("e", 0755) == 0);
			place_file("e/x", "", -1);
			place_file("x", "", -1);
		}
	}
	ATF_REQUIRE(setrlimit(RLIMIT_NOFILE, &rl) == 0);
	res = run(fd, "**/x", 0, 100, &t);
	ATF_CHECK(res.count == 20 && res.left == 0);
	ATF_CHECK(t.len == 2 * (201 * 10 * 275) + 10 * (2 + 4));
	ATF_REQUIRE(fchdir(fd) == 0);
	remove_deep(fd, name);
	close(fd);
}

ATF_TC_WITHOUT_HEAD(wide);
ATF_TC_BODY(wide, tc)
{
	struct glob_req	 req = { "**/*7", 0, UINT64_MAX, 0 };
	struct glob_res	 res;
	struct text	 t = { 0 };
	char		 name[32], *last = NULL, *line;
	int		 i, dir, fd = place_new();

	place_dir("many");
	ATF_REQUIRE((dir = open("many", O_RDONLY | O_DIRECTORY)) != -1);
	for (i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "%d", i * 7919 % 20000);
		ATF_REQUIRE(mknodat(dir, name, S_IFREG | 0644, 0) == 0);
	}
	res = run(fd, "many/*7", 0, UINT64_MAX, &t);
	ATF_CHECK(res.count == 2000 && res.left == 0 && !res.more);
	for (line = strtok(t.p, "\n"); line != NULL; line = strtok(NULL,
	    "\n")) {
		ATF_CHECK(last == NULL || strcmp(last, line) < 0);
		last = line;
	}
	/* No time at all: an end, and it is said. */
	ATF_REQUIRE(lseek(fd, 0, SEEK_SET) == 0);
	t.len = 0;
	ATF_CHECK_EQ(0, tool_glob(fd, &req, &res, found, &t));
	ATF_CHECK(res.left == WALK_L_TIME);
	ATF_CHECK(res.count < 2000);
	close(dir);
	close(fd);
}

static int
enough(void *arg, const struct walk_entry *e)
{
	return (++*(int *)arg == 2);
}

ATF_TC_WITHOUT_HEAD(given_up);
ATF_TC_BODY(given_up, tc)
{
	struct glob_req	 req = { "*", 0, 100, 60000 };
	struct glob_res	 res;
	int		 n = 0, fd = place_new();

	place_file("a", "", -1);
	place_file("b", "", -1);
	place_file("c", "", -1);
	ATF_CHECK_EQ(ECANCELED, tool_glob(fd, &req, &res, enough, &n));
	ATF_CHECK_EQ(2, n);
	close(fd);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, patterns);
	ATF_TP_ADD_TC(tp, bad_patterns);
	ATF_TP_ADD_TC(tp, tree);
	ATF_TP_ADD_TC(tp, denied);
	ATF_TP_ADD_TC(tp, deep);
	ATF_TP_ADD_TC(tp, wide);
	ATF_TP_ADD_TC(tp, given_up);
	return (atf_no_error());
}
