/*
 * Searching: a string in memory, expressions, lines around matches, lines
 * that are longer than what the tool has at once.
 * regress-srcs: engines.c place.c writes.c
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "place.h"
#include "tool.h"

/* The plain way, to compare with. */
static const uint8_t *
plainly(const uint8_t *p, size_t n, const uint8_t *s, size_t len, int icase)
{
	size_t	 i, j;

	for (i = 0; i + len <= n; i++) {
		for (j = 0; j < len; j++)
			if (p[i + j] != s[j] && !(icase &&
			    (p[i + j] | 32) == (s[j] | 32) &&
			    (s[j] | 32) >= 'a' && (s[j] | 32) <= 'z'))
				break;
		if (j == len)
			return (p + i);
	}
	return (NULL);
}

/* Every length and place, over few letters so that much nearly matches. */
ATF_TC_WITHOUT_HEAD(find);
ATF_TC_BODY(find, tc)
{
	struct find	 f;
	uint8_t		*p, s[40];
	size_t		 n, len, i;
	unsigned int	 seed;
	int		 icase;

	for (seed = 1; seed < 20000; seed++) {
		srandom(seed);
		n = random() % 300;
		len = 1 + random() % 8;
		icase = random() & 1;
		/* Of exactly this size: nothing beyond is looked at. */
		ATF_REQUIRE((p = malloc(n + 1)) != NULL);
		for (i = 0; i < n; i++)
			p[i] = "abAB@`"[random() % 6];
		for (i = 0; i < len; i++)
			s[i] = "abAB@`"[random() % 6];
		find_init(&f, s, len, icase);
		ATF_REQUIRE_MSG(find_next(&f, p, n) ==
		    plainly(p, n, s, len, icase), "seed %u", seed);
		free(p);
	}
}

ATF_TC_WITHOUT_HEAD(lines);
ATF_TC_BODY(lines, tc)
{
	uint8_t		 buf[9000];
	uint64_t	 want;
	size_t		 n, i;
	unsigned int	 seed;

	for (seed = 1; seed < 300; seed++) {
		srandom(seed);
		n = random() % sizeof(buf);
		for (i = want = 0; i < n; i++)
			want += (buf[i] = random() % 3 ? '\n' : 'x') == '\n';
		ATF_REQUIRE_EQ(want, find_lines(buf, n));
	}
}

static int
found(void *arg, const struct grep_hit *h)
{
	char	 buf[64];

	text_add(arg, h->path, h->pathlen);
	if (h->count > 0)
		snprintf(buf, sizeof(buf), "=%llu",
		    (unsigned long long)h->count);
	else
		snprintf(buf, sizeof(buf), "%c%llu%s%c",
		    h->context ? '-' : ':', (unsigned long long)h->line,
		    h->cut ? "!" : "", h->context ? '-' : ':');
	text_add(arg, buf, strlen(buf));
	text_add(arg, h->text, h->len);
	text_add(arg, "\n", 1);
	return (0);
}

static struct grep_res
run(int fd, struct grep_req req, struct text *t)
{
	struct grep_res	 res;
	struct stat	 st;

	if (req.len == 0)
		req.len = strlen(req.pattern);
	if (req.ms == 0)
		req.ms = 60000;
	ATF_REQUIRE(lseek(fd, 0, SEEK_SET) == 0 && fstat(fd, &st) == 0);
	ATF_REQUIRE_EQ(0, tool_grep(fd, &st, &req, &res, found, t));
	return (res);
}

#define REQ(p, ...)	((struct grep_req){ .pattern = (p), ##__VA_ARGS__ })

ATF_TC_WITHOUT_HEAD(tree);
ATF_TC_BODY(tree, tc)
{
	struct grep_res	 res;
	struct text	 t = { 0 };
	int		 fd = place_new();

	place_file("b/x.c", "one\ntwo two\nthree\n", -1);
	place_file("b.c", "two", -1);
	place_file("a:1.txt", "TWO\ntw\no\n", -1);
	place_file("bin", "two\0two\n", 8);
	place_file("empty", "", 0);
	ATF_REQUIRE(symlink("b", "link") == 0);
	ATF_REQUIRE(symlink("b.c", "l.c") == 0);
	ATF_REQUIRE(mkfifo("fifo", 0644) == 0);

	res = run(fd, REQ("two"), &t);
	ATF_CHECK(text_is(&t, "b.c:1:two\nb/x.c:2:two two\n"));
	ATF_CHECK(res.count == 2 && res.binary == 1 && !res.more);
	ATF_CHECK(res.left == 0 && res.denied == 0);
	run(fd, REQ("two", .flags = GREP_ICASE), &t);
	ATF_CHECK(text_is(&t, "a:1.txt:1:TWO\nb.c:1:two\nb/x.c:2:two two\n"));
	run(fd, REQ("two", .glob = "*.txt", .flags = GREP_ICASE), &t);
	ATF_CHECK(text_is(&t, "a:1.txt:1:TWO\n"));
	run(fd, REQ("two", .glob = "b/**/*.{c,h}"), &t);
	ATF_CHECK(text_is(&t, "b/x.c:2:two two\n"));
	run(fd, REQ("o", .mode = GREP_FILES), &t);
	ATF_CHECK(text_is(&t, "a:1.txt=1\nb.c=1\nb/x.c=1\n"));
	run(fd, REQ("o", .mode = GREP_COUNTS), &t);
	ATF_CHECK(text_is(&t, "a:1.txt=1\nb.c=1\nb/x.c=2\n"));
	/* It is a string, whatever it looks like. */
	res = run(fd, REQ("t.o"), &t);
	ATF_CHECK(text_is(&t, "") && res.count == 0);
	run(fd, REQ("t.o", .flags = GREP_REGEX), &t);
	ATF_CHECK(text_is(&t, "b.c:1:two\nb/x.c:2:two two\n"));
	run(fd, REQ("^T?(wo|hree)$|^.n", .flags = GREP_REGEX | GREP_ICASE),
	    &t);
	ATF_CHECK(text_is(&t,
	    "a:1.txt:1:TWO\nb.c:1:two\nb/x.c:1:one\nb/x.c:3:three\n"));
	/* A match at the end of one line and the begin of the next is none. */
	run(fd, REQ("wo"), &t);
	ATF_CHECK(text_is(&t, "b.c:1:two\nb/x.c:2:two two\n"));
	close(fd);

	/* A file by itself. */
	ATF_REQUIRE((fd = open("b/x.c", O_RDONLY)) != -1);
	run(fd, REQ("e"), &t);
	ATF_CHECK(text_is(&t, ":1:one\n:3:three\n"));
	close(fd);
}

ATF_TC_WITHOUT_HEAD(bounds);
ATF_TC_BODY(bounds, tc)
{
	struct grep_res	 res;
	struct text	 t = { 0 };
	int		 fd = place_new();

	place_file("a", "x\nx\n", -1);
	place_file("b", "x\ny\n", -1);
	place_file("c", "z\n", -1);
	res = run(fd, REQ("x", .max = 3), &t);
	ATF_CHECK(text_is(&t, "a:1:x\na:2:x\nb:1:x\n") && !res.more);
	res = run(fd, REQ("x", .max = 2, .after = 1), &t);
	ATF_CHECK(text_is(&t, "a:1:x\na:2:x\n") && res.more && res.count == 2);
	res = run(fd, REQ("x", .max = 1, .after = 9, .glob = "b"), &t);
	ATF_CHECK(text_is(&t, "b:1:x\nb-2-y\n") && !res.more);
	res = run(fd, REQ("x", .max = 1, .mode = GREP_FILES), &t);
	ATF_CHECK(text_is(&t, "a=1\n") && res.more && res.count == 1);
	res = run(fd, REQ("x", .max = 2, .mode = GREP_COUNTS), &t);
	ATF_CHECK(text_is(&t, "a=2\nb=1\n") && !res.more && res.count == 2);
	close(fd);
}

ATF_TC_WITHOUT_HEAD(context);
ATF_TC_BODY(context, tc)
{
	struct text	 t = { 0 };
	char		 want[4096];
	int		 i, fd = place_new();

	place_file("f", "\n2\n3 x\n4\n5\n6\n7 x\n8 x\n9\n", -1);
	run(fd, REQ("x", .before = 1, .after = 1), &t);
	ATF_CHECK(text_is(&t, "f-2-2\nf:3:3 x\nf-4-4\nf-6-6\nf:7:7 x\n"
	    "f:8:8 x\nf-9-9\n"));
	run(fd, REQ("x", .before = 5, .after = 0), &t);
	ATF_CHECK(text_is(&t, "f-1-\nf-2-2\nf:3:3 x\nf-4-4\nf-5-5\nf-6-6\n"
	    "f:7:7 x\nf:8:8 x\n"));
	run(fd, REQ("x", .before = 9, .after = 9), &t);
	ATF_CHECK(text_is(&t, "f-1-\nf-2-2\nf:3:3 x\nf-4-4\nf-5-5\nf-6-6\n"
	    "f:7:7 x\nf:8:8 x\nf-9-9\n"));

	/* A match at each place of the buffer's end, and lines about it. */
	for (i = -40; i < 20; i++) {
		struct text	 big = { 0 };
		int		 n = (256 << 10) + i;

		while ((int)big.len + 10 < n)
			text_add(&big, "123456789\n", 10);
		text_add(&big, "aaaaaaaaaaaaaaaaaa", n - big.len);
		text_add(&big, "x\nb\nc\n", 6);
		place_file("f", big.p, big.len);
		free(big.p);
		snprintf(want, sizeof(want),
		    "f-%d-123456789\nf:%d:%.*sx\nf-%d-b\n", n / 10 - !(n % 10),
		    n / 10 + !!(n % 10), n % 10 ? n % 10 : 10, "aaaaaaaaaa",
		    n / 10 + !!(n % 10) + 1);
		run(fd, REQ("x", .before = 1, .after = 1), &t);
		ATF_REQUIRE_MSG(text_is(&t, want), "at %d", i);
	}
	close(fd);
}

/* Lines longer than anything that is kept of them. */
ATF_TC_WITHOUT_HEAD(long_lines);
ATF_TC_BODY(long_lines, tc)
{
	struct grep_res	 res;
	struct text	 t = { 0 };
	size_t		 at, len = 3 << 20;
	char		*p, *q;
	int		 i, fd = place_new();

	ATF_REQUIRE((p = malloc(len)) != NULL);
	for (i = -12; i <= 12; i++) {
		memset(p, '.', len);
		memcpy(p, "a\nb\n", 4);
		at = (256 << 10) + i;
		memcpy(p + at, "needle", 6);
		memcpy(p + (1 << 20), "needle", 6);
		memcpy(p + len - 16, "\nc\nneedle\nd\n....", 16);
		place_file("f", p, len);
		res = run(fd, REQ("needle"), &t);
		ATF_REQUIRE(res.count == 2 && t.p != NULL);
		ATF_REQUIRE(strncmp(t.p, "f:3!:", 5) == 0);
		q = strchr(t.p, '\n') + 1;
		ATF_CHECK(memmem(t.p, q - t.p, "needle", 6) != NULL);
		ATF_CHECK(q - t.p <= GREP_TELL + 6);
		ATF_REQUIRE_MSG(strcmp(q, "f:5:needle\n") == 0, "%s", q);
		free(t.p);
		t = (struct text){ 0 };
		res = run(fd, REQ("d", .mode = GREP_COUNTS, .before = 3), &t);
		ATF_REQUIRE(text_is(&t, "f=3\n"));
	}
	/* An expression sees the first part alone. */
	memset(p, '.', len);
	memcpy(p + 100, "needle", 6);
	memcpy(p + len - 10, "\nneedle\nx\n", 10);
	place_file("f", p, len);
	res = run(fd, REQ("ne+dle", .flags = GREP_REGEX), &t);
	ATF_CHECK(res.count == 2);
	q = t.p == NULL ? NULL : strchr(t.p, '\n');
	ATF_REQUIRE(q != NULL);
	ATF_CHECK(strcmp(q + 1, "f:2:needle\n") == 0);
	free(t.p);
	free(p);
	close(fd);
}

static const struct {
	const char	*re;
	int		 error;
	const char	*must;
} regexes[] = {
	{ "abc",		0, "abc" },
	{ "abc*",		0, "ab" },
	{ "abc+de",		0, "ab" },
	{ "abc+def",		0, "def" },
	{ "ab|cd",		0, "" },
	{ "(ab|c)d",		0, "" },
	{ "(abcd)?ef",		0, "ef" },
	{ "x[abcdef]yz",	0, "yz" },
	{ "x[]abc]yz",		0, "yz" },
	{ "[[:alpha:]]yz",	0, "yz" },
	{ "a\\.bcd",		0, "bcd" },
	{ "a{2}bc",		0, "bc" },
	{ "^abc$",		0, "abc" },
	{ "a{1000}",		0, "" },
	{ "a{1001}",		E2BIG, "" },
	{ "(a{100}){100}",	E2BIG, "" },
	{ "((((a{9}){9}){9}){9}){9}", E2BIG, "" },
	{ "a{2}{3}{4}{100}",	E2BIG, "" },
	{ "(a",			EINVAL, "" },
	{ "a)",			EINVAL, "" },
	{ "a\nb",		EINVAL, "" },
};

ATF_TC_WITHOUT_HEAD(expressions);
ATF_TC_BODY(expressions, tc)
{
	const char	*re;
	size_t		 i, at, len;

	for (i = 0; i < sizeof(regexes) / sizeof(regexes[0]); i++) {
		re = regexes[i].re;
		ATF_CHECK_MSG(regex_check(re, strlen(re)) == regexes[i].error,
		    "%s", re);
		if (regexes[i].error != 0)
			continue;
		len = regex_must(re, strlen(re), &at);
		ATF_CHECK_MSG(len == strlen(regexes[i].must) &&
		    memcmp(re + at, regexes[i].must, len) == 0,
		    "%s has %.*s", re, (int)len, re + at);
	}
}

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	struct grep_req	 req = { .pattern = "", .ms = 1000 };
	struct grep_res	 res;
	struct stat	 st;
	struct text	 t = { 0 };
	char		*p;
	int		 fd = place_new();

	place_file("a", "x\n", -1);
	ATF_REQUIRE(fstat(fd, &st) == 0);
	ATF_CHECK_EQ(EINVAL, tool_grep(fd, &st, &req, &res, found, &t));
	req.pattern = "a\nb";
	req.len = 3;
	ATF_CHECK_EQ(EINVAL, tool_grep(fd, &st, &req, &res, found, &t));
	req.pattern = "[z";
	req.len = 2;
	req.flags = GREP_REGEX;
	ATF_CHECK_EQ(EINVAL, tool_grep(fd, &st, &req, &res, found, &t));
	req.pattern = "a{2000}";
	req.len = 7;
	ATF_CHECK_EQ(E2BIG, tool_grep(fd, &st, &req, &res, found, &t));
	req.pattern = "x";
	req.len = 1;
	req.glob = "../x";
	ATF_CHECK_EQ(EINVAL, tool_grep(fd, &st, &req, &res, found, &t));
	req.glob = NULL;
	req.before = GREP_CONTEXT + 1;
	ATF_CHECK_EQ(EINVAL, tool_grep(fd, &st, &req, &res, found, &t));
	req.before = 0;
	req.flags = 0;
	ATF_REQUIRE((p = malloc(GREP_LINE + 1)) != NULL);
	memset(p, 'x', GREP_LINE + 1);
	req.pattern = p;
	req.len = GREP_LINE + 1;
	ATF_CHECK_EQ(E2BIG, tool_grep(fd, &st, &req, &res, found, &t));
	ATF_CHECK(text_is(&t, ""));
	free(p);
	close(fd);
}

/* What may not be read is counted, and does not end the search. */
ATF_TC_WITHOUT_HEAD(denied);
ATF_TC_BODY(denied, tc)
{
	struct grep_res	 res;
	struct text	 t = { 0 };
	int		 fd = place_new();

	place_file("a", "x\n", -1);
	place_file("b", "x\n", -1);
	ATF_REQUIRE(chmod("a", 0) == 0 && chmod(".", 0755) == 0);
	place_user(65534);
	res = run(fd, REQ("x"), &t);
	ATF_CHECK(text_is(&t, "b:1:x\n") && res.denied == 1);
	close(fd);
	place_user(0);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, find);
	ATF_TP_ADD_TC(tp, lines);
	ATF_TP_ADD_TC(tp, tree);
	ATF_TP_ADD_TC(tp, bounds);
	ATF_TP_ADD_TC(tp, context);
	ATF_TP_ADD_TC(tp, long_lines);
	ATF_TP_ADD_TC(tp, expressions);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, denied);
	return (atf_no_error());
}
