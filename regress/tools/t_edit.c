/*
 * Reading by lines, writing whole files, editing.
 * regress-srcs: engines.c place.c writes.c
 */

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "place.h"
#include "tool.h"

static int
page(const char *path, uint64_t offset, uint64_t limit, uint64_t max,
    int flags, struct read_res *res, struct text *t)
{
	struct read_req		 req = { path, offset, limit, max, flags };
	struct tool_sink	 out = { text_put, t };
	int			 fd, error;

	ATF_REQUIRE((fd = open(path, O_RDONLY)) != -1);
	error = tool_read(fd, &req, res, &out);
	close(fd);
	return (error);
}

/* A file that grows without end from the first byte that is given of it. */
struct grower {
	int	 go[2];
	int	 fd;
	int	 gone;
};

static int
grows_put(void *arg, const void *p, size_t len)
{
	struct grower	*g = arg;
	struct stat	 st = { 0 };

	(void)p;
	(void)len;
	if (g->gone++ == 0)
		ATF_REQUIRE_EQ(1, write(g->go[1], "", 1));
	while (st.st_size < 1L << 32)
		ATF_REQUIRE_EQ(0, fstat(g->fd, &st));
	return (0);
}

static pid_t
grower_start(struct grower *g)
{
	off_t	 size = 1 << 20;
	pid_t	 pid;
	char	 c;

	ATF_REQUIRE_EQ(0, pipe(g->go));
	ATF_REQUIRE((g->fd = open("grows", O_RDWR)) != -1);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid > 0)
		return (pid);
	if (read(g->go[0], &c, 1) != 1)
		_exit(1);
	/* Faster than any reader, and without a byte on the disk. */
	while (ftruncate(g->fd, size) == 0)
		size += 64 << 20;
	for (;;)
		pause();
}

ATF_TC_WITHOUT_HEAD(growing);
ATF_TC_BODY(growing, tc)
{
	static char	 lines[200000];		/* more than is read at once */
	struct read_req	 req = { "grows", 0, 2, 4096, 0 };
	struct grower	 g = { .gone = 0 };
	struct tool_sink out = { grows_put, &g };
	struct read_res	 res;
	pid_t		 pid;

	close(place_new());
	memset(lines, '\n', sizeof(lines));
	place_file("grows", lines, sizeof(lines));
	pid = grower_start(&g);
	/* It ends where it ended at first; if not, this ends the test. */
	alarm(60);
	ATF_CHECK_EQ(0, tool_read(g.fd, &req, &res, &out));
	alarm(0);
	ATF_CHECK_EQ(sizeof(lines), res.size);
	ATF_CHECK(res.known && res.total == sizeof(lines) && res.more);
	ATF_REQUIRE_EQ(0, kill(pid, SIGKILL));
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	close(g.fd);
}

ATF_TC_WITHOUT_HEAD(pages);
ATF_TC_BODY(pages, tc)
{
	struct read_res	 res;
	struct text	 t = { 0 };

	close(place_new());
	place_file("f", "one\r\ntwo\n\nf\303\274r\nlast", -1);
	ATF_CHECK_EQ(0, page("f", 0, 2000, 512000, 0, &res, &t));
	ATF_CHECK(text_is(&t, "one\r\ntwo\n\nf\303\274r\nlast"));
	ATF_CHECK(res.kind == READ_TEXT && res.start == 1 && res.end == 5);
	ATF_CHECK(res.known && res.total == 5 && !res.more && !res.cut);
	ATF_CHECK_EQ(0, page("f", 1, 2, 512000, 0, &res, &t));
	ATF_CHECK(text_is(&t, "two\n\n"));
	ATF_CHECK(res.start == 2 && res.end == 3 && res.total == 5);
	ATF_CHECK(res.more);
	ATF_CHECK_EQ(0, page("f", 3, 9, 512000, READ_NUMBER, &res, &t));
	ATF_CHECK(text_is(&t, "     4\tf\303\274r\n     5\tlast\n"));
	/* At the end, and past it. */
	ATF_CHECK_EQ(0, page("f", 5, 9, 512000, READ_NUMBER, &res, &t));
	ATF_CHECK(text_is(&t, "") && res.start == 0 && res.total == 5);
	ATF_CHECK_EQ(0, page("f", 500, 9, 512000, 0, &res, &t));
	ATF_CHECK(text_is(&t, "") && res.known && res.total == 5);
	ATF_CHECK(!res.more);
	ATF_CHECK_EQ(0, page("f", 0, 0, 512000, 0, &res, &t));
	ATF_CHECK(text_is(&t, "") && res.start == 0);
	place_file("f", "", 0);
	ATF_CHECK_EQ(0, page("f", 0, 9, 512000, READ_NUMBER, &res, &t));
	ATF_CHECK(text_is(&t, "") && res.size == 0 && res.total == 0 &&
	    res.known);
	ATF_CHECK_EQ(EISDIR, page(".", 0, 9, 512000, 0, &res, &t));
	ATF_CHECK_EQ(ENXIO, page("/dev/null", 0, 9, 512000, 0, &res, &t));
}

/* A file through pages of each size is the file. */
ATF_TC_WITHOUT_HEAD(chunks);
ATF_TC_BODY(chunks, tc)
{
	struct read_res	 res;
	struct text	 t = { 0 }, all = { 0 };
	uint64_t	 limit, line;
	char		 buf[64];
	int		 i;

	close(place_new());
	for (i = 0; i < 20000; i++) {
		snprintf(buf, sizeof(buf), "line %d\n", i);
		text_add(&all, buf, strlen(buf));
	}
	place_file("f", all.p, all.len);
	for (limit = 1237; limit < 30000; limit *= 5) {
		for (line = 0; line < 20000; line += limit) {
			ATF_REQUIRE_EQ(0, page("f", line, limit, 512000, 0,
			    &res, &t));
			ATF_REQUIRE_EQ(line + 1, res.start);
			ATF_REQUIRE_EQ(line + limit < 20000, res.more);
			ATF_REQUIRE(res.known && res.total == 20000);
		}
		ATF_CHECK(text_is(&t, all.p));
	}
	/* By bytes: whole lines, as many as fit. */
	ATF_CHECK_EQ(0, page("f", 0, 20000, 20, 0, &res, &t));
	ATF_CHECK(text_is(&t, "line 0\nline 1\n"));
	ATF_CHECK(res.end == 2 && res.more && !res.cut && res.total == 20000);
	free(all.p);
}

ATF_TC_WITHOUT_HEAD(long_line);
ATF_TC_BODY(long_line, tc)
{
	struct read_res	 res;
	struct text	 t = { 0 };
	char		*p;
	size_t		 len = 300000;

	close(place_new());
	ATF_REQUIRE((p = malloc(len)) != NULL);
	memset(p, 'x', len);
	memcpy(p + len - 6, "\nend\n", 5);
	place_file("f", p, len - 1);
	ATF_CHECK_EQ(0, page("f", 0, 10, 512000, 0, &res, &t));
	ATF_CHECK(t.len == len - 1 && !res.cut && res.total == 2);
	free(t.p);
	t = (struct text){ 0 };
	ATF_CHECK_EQ(0, page("f", 0, 10, 70000, 0, &res, &t));
	ATF_CHECK(t.len == 70000 && res.cut && res.more && res.end == 1);
	ATF_CHECK(res.known && res.total == 2);
	free(t.p);
	t = (struct text){ 0 };
	ATF_CHECK_EQ(0, page("f", 1, 10, 70000, 0, &res, &t));
	ATF_CHECK(text_is(&t, "end\n") && res.start == 2);
	/* No character is cut in two. */
	place_file("g", "\342\202\254\342\202\254\342\202\254", -1);
	ATF_CHECK_EQ(0, page("g", 0, 10, 8, 0, &res, &t));
	ATF_CHECK(text_is(&t, "\342\202\254\342\202\254") && res.cut);
	ATF_CHECK(res.known && res.total == 1 && !res.more);
	free(p);
}

ATF_TC_WITHOUT_HEAD(binary);
ATF_TC_BODY(binary, tc)
{
	struct read_res	 res;
	struct text	 t = { 0 };
	char		 all[256], *p;
	int		 i;

	close(place_new());
	for (i = 0; i < 256; i++)
		all[i] = i;
	place_file("f", all, 256);
	ATF_CHECK_EQ(0, page("f", 0, 1, 512000, READ_NUMBER, &res, &t));
	ATF_CHECK(res.kind == READ_BINARY && res.size == 256);
	ATF_CHECK(t.len == 256 && memcmp(t.p, all, 256) == 0);
	free(t.p);
	t = (struct text){ 0 };
	/* By its name, whatever is in it. */
	place_file("a.PNG", "text\n", -1);
	ATF_CHECK_EQ(0, page("a.PNG", 0, 9, 512000, READ_NUMBER, &res, &t));
	ATF_CHECK(text_is(&t, "text\n") && res.kind == READ_BINARY);
	place_file("a.svg", "text\n", -1);
	ATF_CHECK_EQ(0, page("a.svg", 0, 9, 512000, 0, &res, &t));
	ATF_CHECK(text_is(&t, "text\n") && res.kind == READ_TEXT);
	/* Whole or not at all. */
	ATF_CHECK_EQ(EFBIG, page("f", 0, 1, 255, 0, &res, &t));
	ATF_CHECK(text_is(&t, "") && res.kind == READ_BINARY);
	/* A character across the end of what is looked at. */
	ATF_REQUIRE((p = malloc(8194)) != NULL);
	memset(p, 'x', 8191);
	memcpy(p + 8191, "\342\202\254", 3);
	place_file("f", p, 8194);
	ATF_CHECK_EQ(0, page("f", 0, 1, 512000, 0, &res, &t));
	ATF_CHECK(res.kind == READ_TEXT && t.len == 8194);
	place_file("f", "x\342\202", -1);
	free(t.p);
	t = (struct text){ 0 };
	ATF_CHECK_EQ(0, page("f", 0, 1, 512000, 0, &res, &t));
	ATF_CHECK(res.kind == READ_BINARY && text_is(&t, "x\342\202"));
	free(p);
}

static int
put(const char *path, int flags, mode_t mode, const char *s)
{
	struct replace	 r;
	int		 error;

	if ((error = replace_begin(&r, path, flags, mode)) != 0)
		return (error);
	ATF_CHECK_EQ(0, write_all(r.fd, s, strlen(s)));
	return (replace_commit(&r));
}

ATF_TC_WITHOUT_HEAD(writes);
ATF_TC_BODY(writes, tc)
{
	struct stat	 st;
	struct replace	 r;
	char		 name[300];

	close(place_new());
	umask(022);
	ATF_CHECK_EQ(0, put("new", 0, 0, "1"));
	ATF_CHECK(place_is("new", "1", -1));
	ATF_REQUIRE(stat("new", &st) == 0 && chmod("new", 0751) == 0);
	ATF_CHECK_EQ(0644, st.st_mode & 07777);
	/* An old one keeps its mode, and a second name its contents. */
	ATF_REQUIRE(link("new", "second") == 0);
	ATF_CHECK_EQ(0, put("new", WRITE_PARENTS, 0, "22"));
	ATF_CHECK(place_is("new", "22", -1) && place_is("second", "1", -1));
	ATF_REQUIRE(stat("new", &st) == 0);
	ATF_CHECK_EQ(0751, st.st_mode & 07777);
	ATF_CHECK_EQ(0, put("new", WRITE_MODE, 0604, "22"));
	ATF_REQUIRE(stat("new", &st) == 0);
	ATF_CHECK_EQ(0604, st.st_mode & 07777);
	ATF_CHECK_EQ(EEXIST, put("new", WRITE_CREATE, 0, "3"));
	ATF_CHECK_EQ(0, put("other", WRITE_CREATE, 0, ""));
	ATF_CHECK(place_is("new", "22", -1) && place_is("other", "", 0));
	/* Parents, and odd names. */
	ATF_CHECK_EQ(ENOENT, put("a/b/c", 0, 0, "3"));
	ATF_CHECK_EQ(0, put("a//b///c", WRITE_PARENTS, 0, "3"));
	ATF_CHECK(place_is("a/b/c", "3", -1));
	ATF_CHECK_EQ(0, put("a/$x 'y\"\n\377", WRITE_PARENTS, 0, "4"));
	ATF_CHECK(place_is("a/$x 'y\"\n\377", "4", -1));
	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	ATF_CHECK_EQ(0, put(name, 0, 0, "5"));
	memset(name, 'n', 256);
	name[256] = '\0';
	ATF_CHECK_EQ(ENAMETOOLONG, put(name, 0, 0, "5"));
	/* What is no file. */
	ATF_CHECK_EQ(EISDIR, put("a", 0, 0, "x"));
	ATF_CHECK_EQ(EISDIR, put("a/", 0, 0, "x"));
	ATF_CHECK_EQ(EISDIR, put("a/..", 0, 0, "x"));
	ATF_CHECK_EQ(ENOTDIR, put("new/x", WRITE_PARENTS, 0, "x"));
	ATF_REQUIRE(mkfifo("fifo", 0644) == 0);
	ATF_CHECK_EQ(ENXIO, put("fifo", 0, 0, "x"));
	/* Links are followed, also one to nothing, but not for ever. */
	ATF_REQUIRE(symlink("b/c", "a/l") == 0 && symlink("a/l", "l") == 0);
	ATF_CHECK_EQ(0, put("l", 0, 0, "6"));
	ATF_CHECK(place_is("a/b/c", "6", -1));
	ATF_CHECK(lstat("l", &st) == 0 && S_ISLNK(st.st_mode));
	ATF_REQUIRE(symlink("a/fresh", "m") == 0);
	ATF_CHECK_EQ(0, put("m", 0, 0, "7"));
	ATF_CHECK(place_is("a/fresh", "7", -1));
	ATF_REQUIRE(symlink("loop", "loop") == 0);
	ATF_CHECK_EQ(ELOOP, put("loop", 0, 0, "8"));
	ATF_CHECK_EQ(ELOOP, put("l", WRITE_NOFOLLOW, 0, "8"));
	ATF_CHECK_EQ(EEXIST, put("l", WRITE_NOFOLLOW | WRITE_CREATE, 0, "8"));
	/* Given up half way: nothing has happened. */
	ATF_REQUIRE_EQ(0, replace_begin(&r, "new", 0, 0));
	ATF_CHECK(r.there);
	ATF_CHECK_EQ(0, write_all(r.fd, "xyz", 3));
	replace_abort(&r);
	ATF_CHECK(place_is("new", "22", -1));
	/* And nothing of ours is left anywhere. */
	ATF_CHECK_EQ(9, place_count("."));
	ATF_CHECK_EQ(4, place_count("a"));
}

/* No room: the file is what it was. */
ATF_TC_WITHOUT_HEAD(no_room);
ATF_TC_BODY(no_room, tc)
{
	struct rlimit	 rl = { 100000, 100000 };
	struct edit_req	 req = { "f", (const uint8_t *)"xx", 2,
			    (const uint8_t *)"xxy", 3, EDIT_ALL };
	struct edit_res	 res;
	char		*p;

	close(place_new());
	ATF_REQUIRE((p = malloc(100001)) != NULL);
	memset(p, 'x', 100000);
	p[100000] = '\0';
	place_file("f", p, 100000);
	ATF_REQUIRE(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	ATF_REQUIRE(setrlimit(RLIMIT_FSIZE, &rl) == 0);
	ATF_CHECK_EQ(EFBIG, tool_edit(&req, &res));
	ATF_CHECK(place_is("f", p, 100000));
	ATF_CHECK_EQ(1, place_count("."));
	free(p);
}

/* What is not ours to change stays, though its directory is ours. */
ATF_TC_WITHOUT_HEAD(denied);
ATF_TC_BODY(denied, tc)
{
	struct edit_req	 req = { "ro", (const uint8_t *)"1", 1,
			    (const uint8_t *)"2", 1, 0 };
	struct edit_res	 res;

	close(place_new());
	place_file("ro", "1", -1);
	place_dir("dir");
	ATF_REQUIRE(chmod("ro", 0444) == 0 && chmod(".", 0777) == 0);
	ATF_REQUIRE(chmod("dir", 0555) == 0);
	place_user(65534);
	ATF_CHECK_EQ(EACCES, put("ro", 0, 0, "2"));
	ATF_CHECK_EQ(EACCES, tool_edit(&req, &res));
	ATF_CHECK_EQ(EACCES, put("dir/x", WRITE_PARENTS, 0, "2"));
	ATF_CHECK_EQ(EACCES, put("dir/y/x", WRITE_PARENTS, 0, "2"));
	ATF_CHECK(place_is("ro", "1", -1));
	ATF_CHECK_EQ(2, place_count("."));
	place_user(0);
}

static const struct {
	const char		*file;
	const char		*old;
	const char		*new;
	int			 flags;
	enum edit_outcome	 outcome;
	uint64_t		 count;
	const char		*after;	/* NULL: as it was */
} edits[] = {
	{ "a b c", "b", "x",	0, EDIT_DONE, 1, "a x c" },
	{ "a b b", "b", "x",	0, EDIT_MULTIPLE, 2, NULL },
	{ "a b b", "b", "xy",	EDIT_ALL, EDIT_DONE, 2, "a xy xy" },
	{ "aaaaa", "aa", "b",	EDIT_ALL, EDIT_DONE, 2, "bba" },
	{ "abc", "z", "x",	0, EDIT_NOT_FOUND, 0, NULL },
	{ "abc", "abc", "",	0, EDIT_DONE, 1, "" },
	{ "abc", "b", "b",	0, EDIT_DONE, 1, NULL },
	{ "l1\nl2\nl3\n", "l1\nl2", "x\n\ny", 0, EDIT_DONE, 1,
	    "x\n\ny\nl3\n" },
	{ "a.*[b]$", ".*[b]$", "\\1&", 0, EDIT_DONE, 1, "a\\1&" },
	{ "\303\274\342\202\254", "\342\202\254", "\303\244", 0, EDIT_DONE, 1,
	    "\303\274\303\244" },
	{ "", "", "new",	0, EDIT_DONE, 1, "new" },
	{ "", "", "",		0, EDIT_DONE, 0, NULL },
	{ "abc", "", "x",	0, EDIT_NOT_EMPTY, 0, NULL },
	{ "a\r\nb\r\n", "a\nb", "c\nd\ne", 0, EDIT_NOT_FOUND, 0, NULL },
	{ "a\r\nb\r\n", "a\nb", "c\nd\ne", EDIT_CRLF, EDIT_DONE, 1,
	    "c\r\nd\r\ne\r\n" },
	{ "a\nb\n", "a\r\nb", "c\r\nd", EDIT_CRLF, EDIT_DONE, 1, "c\nd\n" },
	{ "a\nb\r\n", "b\r\n", "c\r\n", EDIT_CRLF, EDIT_DONE, 1,
	    "a\nc\r\n" },
	{ "a\r\nb\r\na\r\nb", "a\nb", "x", EDIT_CRLF, EDIT_MULTIPLE, 2,
	    NULL },
};

ATF_TC_WITHOUT_HEAD(strings);
ATF_TC_BODY(strings, tc)
{
	struct edit_req	 req = { .path = "f" };
	struct edit_res	 res;
	struct stat	 before, after;
	const char	*want;
	size_t		 i;

	close(place_new());
	for (i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		unlink("f");
		place_file("f", edits[i].file, -1);
		ATF_REQUIRE(chmod("f", 0715) == 0 && stat("f", &before) == 0);
		req.old = (const uint8_t *)edits[i].old;
		req.oldlen = strlen(edits[i].old);
		req.new = (const uint8_t *)edits[i].new;
		req.newlen = strlen(edits[i].new);
		req.flags = edits[i].flags;
		ATF_CHECK_EQ(0, tool_edit(&req, &res));
		ATF_CHECK_MSG(res.outcome == edits[i].outcome &&
		    res.count == edits[i].count, "edit %zu: %d, %llu", i,
		    res.outcome, (unsigned long long)res.count);
		want = edits[i].after == NULL ? edits[i].file :
		    edits[i].after;
		ATF_CHECK_MSG(place_is("f", want, -1), "edit %zu", i);
		ATF_REQUIRE(stat("f", &after) == 0);
		ATF_CHECK_EQ(before.st_mode, after.st_mode);
		/* What is not changed is not written. */
		ATF_CHECK_EQ(edits[i].after == NULL,
		    before.st_ino == after.st_ino);
		ATF_CHECK_EQ(1, place_count("."));
	}
	req.path = "nothing";
	ATF_CHECK_EQ(ENOENT, tool_edit(&req, &res));
	req.path = ".";
	ATF_CHECK_EQ(EISDIR, tool_edit(&req, &res));
	req.path = "/dev/null";
	ATF_CHECK_EQ(ENXIO, tool_edit(&req, &res));
}

/* Occurrences at each place about the end of the buffer. */
ATF_TC_WITHOUT_HEAD(places);
ATF_TC_BODY(places, tc)
{
	struct edit_req	 req = { "f", (const uint8_t *)"abcd", 4,
			    (const uint8_t *)"Z", 1, EDIT_ALL };
	struct edit_res	 res;
	size_t		 at, len = (256 << 10) + 100;
	char		*p;

	close(place_new());
	ATF_REQUIRE((p = malloc(len)) != NULL);
	for (at = len - 110; at < len - 80; at++) {
		memset(p, 'a', len);
		memcpy(p + at, "abcd", 4);
		memcpy(p, "abcd", 4);
		place_file("f", p, len);
		ATF_REQUIRE_EQ(0, tool_edit(&req, &res));
		ATF_REQUIRE_EQ(2, res.count);
		memset(p, 'a', len);
		p[0] = p[at - 3] = 'Z';
		ATF_REQUIRE(place_is("f", p, len - 6));
	}
	free(p);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, pages);
	ATF_TP_ADD_TC(tp, growing);
	ATF_TP_ADD_TC(tp, chunks);
	ATF_TP_ADD_TC(tp, long_line);
	ATF_TP_ADD_TC(tp, binary);
	ATF_TP_ADD_TC(tp, writes);
	ATF_TP_ADD_TC(tp, no_room);
	ATF_TP_ADD_TC(tp, denied);
	ATF_TP_ADD_TC(tp, strings);
	ATF_TP_ADD_TC(tp, places);
	return (atf_no_error());
}
