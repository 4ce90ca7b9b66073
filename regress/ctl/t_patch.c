/*
 * t_patch.c: a patch of what a guest tells that lies.  git applies nothing
 * below a link; patch(1) does, so no patch may have both.
 *
 * regress-objs: ../sandboxctl/patch.o ../sandboxctl/patch_diff.o
 * regress-objs: ../sandboxctl/patch_link.o ../sandboxctl/place.o
 */

#include <atf-c.h>
#include <string.h>

#include "patch.h"

#define LINK	0120777
#define FILE_X	0100755

static char	 text[4096];		/* the patch */
static char	 notes[4096];		/* "path: why" of what is not in it */

static int
heard_out(void *arg, const void *p, size_t len)
{
	size_t	 n = strlen(text);

	(void)arg;
	ATF_REQUIRE(len < sizeof(text) - n);
	memcpy(text + n, p, len);
	text[n + len] = '\0';
	return (0);
}

static void
heard_note(void *arg, enum code code, const char *path, const char *why)
{
	size_t	 n = strlen(notes);

	(void)arg;
	ATF_CHECK_EQ(code, CODE_INVALID_PATH);
	snprintf(notes + n, sizeof(notes) - n, "%s: %s\n", path, why);
}

static void
feed(struct patch *p, const char *kind, const char *name, uint32_t mode,
    const char *data)
{
	struct change_rec	 r;
	msgpack_sbuffer		 sb;
	uint8_t			 len[4];

	memset(&r, 0, sizeof(r));
	snprintf(r.kind, sizeof(r.kind), "%s", kind);
	r.name = (char *)(uintptr_t)name;
	r.mode = mode;
	r.why = (char *)(uintptr_t)"";
	r.data.data = (uint8_t *)(uintptr_t)data;
	r.data.len = strlen(data);
	msgpack_sbuffer_init(&sb);
	ATF_REQUIRE(msg_encode_array(&sb, &change_rec_def, &r) == 0);
	ATF_REQUIRE(sb.size < 65536);
	len[0] = sb.size & 0xff;
	len[1] = sb.size >> 8;
	len[2] = len[3] = 0;
	ATF_REQUIRE(patch_feed(p, len, sizeof(len)) == 0);
	ATF_REQUIRE(patch_feed(p, sb.data, sb.size) == 0);
	msgpack_sbuffer_destroy(&sb);
}

static void
begin(struct patch *p)
{
	memset(p, 0, sizeof(*p));
	text[0] = notes[0] = '\0';
	p->out = heard_out;
	p->note = heard_note;
	patch_begin(p);
}

static void
add(struct patch *p, const char *name, uint32_t mode, const char *data)
{
	feed(p, "added", name, mode, "");
	feed(p, "new", "", 0, data);
	feed(p, "end", "", 0, "");
}

static void
check_over(struct patch *p, unsigned int files, unsigned int left_out)
{
	ATF_CHECK(patch_whole(p));
	ATF_CHECK_EQ(p->files, files);
	ATF_CHECK_EQ(p->notes, left_out);
	patch_end(p);
}

ATF_TC(git_link);
ATF_TC_HEAD(git_link, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "a link into a repository's own directory is in no patch");
}
ATF_TC_BODY(git_link, tc)
{
	static const char *const	 bad[] = {
		".git", ".GIT", "./.git/hooks", "d/.git", "d//.git/",
		".Git/", "../a/.git"
	};
	struct patch	 p;
	char		 want[256];
	size_t		 i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(&p);
		add(&p, "a/l", LINK, bad[i]);
		snprintf(want, sizeof(want), "a/l: a link that leads out of "
		    "the tree, or into a repository's own directory: "
		    "left out\n");
		ATF_CHECK_STREQ(notes, want);
		ATF_CHECK_MSG(text[0] == '\0', "%s: %s", bad[i], text);
		check_over(&p, 0, 1);
	}
	begin(&p);
	add(&p, "a/l", LINK, "d/.github/.gitignore");
	check_over(&p, 1, 0);
}

ATF_TC(below_link);
ATF_TC_HEAD(below_link, tc)
{
	atf_tc_set_md_var(tc, "descr", "nothing of a patch is below a link "
	    "of the same, whether that is in it or not");
}
ATF_TC_BODY(below_link, tc)
{
	struct patch	 p;

	begin(&p);
	add(&p, "p/q/r", LINK, "../..");
	add(&p, "p/q/r/l", LINK, "../../..");
	add(&p, "p/q/r/d/x", FILE_X, "x\n");
	add(&p, "out", LINK, "/etc");
	add(&p, "out/f", FILE_X, "x\n");
	/* What only begins as the name of one does is as good as another. */
	add(&p, "p/q/rest/f", FILE_X, "x\n");
	add(&p, "p/q/s", FILE_X, "x\n");
	add(&p, "outside/f", FILE_X, "x\n");
	ATF_CHECK_STREQ(notes,
	    "p/q/r/l: a name below a link: left out\n"
	    "p/q/r/d/x: a name below a link: left out\n"
	    "out: a link that leads out of the tree, or into a repository's "
	    "own directory: left out\n"
	    "out/f: a name below a link: left out\n");
	ATF_CHECK(strstr(text, "b/p/q/r\n") != NULL);
	ATF_CHECK(strstr(text, "p/q/r/") == NULL);
	check_over(&p, 4, 4);
}

ATF_TC(many_links);
ATF_TC_HEAD(many_links, tc)
{
	atf_tc_set_md_var(tc, "descr", "each of many links is found again");
}
ATF_TC_BODY(many_links, tc)
{
	struct patch	 p;
	char		 name[64];
	unsigned int	 i;

	begin(&p);
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "d%u/l%u", i % 7, i * 31 % 1000);
		add(&p, name, LINK, "t");
		text[0] = '\0';
	}
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "d%u/l%u/x", i % 7, i * 31 % 1000);
		add(&p, name, FILE_X, "x\n");
		notes[0] = '\0';
	}
	ATF_CHECK_STREQ(text, "");
	check_over(&p, 1000, 1000);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, git_link);
	ATF_TP_ADD_TC(tp, below_link);
	ATF_TP_ADD_TC(tp, many_links);
	return (atf_no_error());
}
