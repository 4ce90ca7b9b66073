/*
 * patch.c: reads what a guest tells of changed files, and writes a patch of
 * it that git and patch(1) apply.  Nothing of it is believed: a name leads
 * nowhere but below where it is applied, nor into a repository's own
 * directory, a link stays below, and a file is in the patch as a whole or not
 * at all.
 */

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "pack.h"
#include "patch.h"

#define NOTES_MAX	100000		/* of what is left out */
#define EXEC_BITS(m)	((m) & S_IXUSR)

enum { AT_NONE, AT_FILE, AT_OLD, AT_NEW };	/* patch.at */

/* git's names of the contents that are none, and of that which is empty */
#define NO_BLOB		"0000000"
#define EMPTY_BLOB	"e69de29"

int
patch_add(struct patch_buf *b, const void *data, size_t len)
{
	size_t	 size = b->size;
	uint8_t	*p;

	while (size - b->len < len)
		size = size == 0 ? 4096 : 2 * size;
	if (size > b->size) {
		if ((p = realloc(b->p, size)) == NULL)
			return (-1);
		b->p = p;
		b->size = size;
	}
	if (len > 0)
		memcpy(b->p + b->len, data, len);
	b->len += len;
	return (0);
}

static int
add_text(struct patch_buf *b, const char *s)
{
	return (patch_add(b, s, strlen(s)));
}

static int
is_plain(uint8_t c)
{
	return (c >= ' ' && c < 0x7f && c != '"' && c != '\\');
}

/*
 * As git writes it: with quotes and escapes, if it needs them; and also if it
 * has a space, since of "a/x /y b/x /y" git itself does not know what is meant.
 */
static int
add_name(struct patch_buf *b, const char *dir, const char *name)
{
	static const char	 from[] = "\a\b\t\n\v\f\r\"\\";
	static const char	 to[] = "abtnvfr\"\\";
	const char		*s, *p;
	char			 e[5];
	int			 quote = 0;

	for (s = name; *s != '\0'; s++)
		quote |= *s == ' ' || !is_plain(*s);
	if ((quote && add_text(b, "\"") == -1) || add_text(b, dir) == -1)
		return (-1);
	for (s = name; *s != '\0'; s++) {
		if (is_plain(*s))
			snprintf(e, sizeof(e), "%c", *s);
		else if ((p = strchr(from, *s)) != NULL)
			snprintf(e, sizeof(e), "\\%c", to[p - from]);
		else
			snprintf(e, sizeof(e), "\\%03o", (uint8_t)*s);
		if (add_text(b, e) == -1)
			return (-1);
	}
	return (quote ? add_text(b, "\"") : 0);
}

/* Below where it is applied, and nothing that git would run or believe. */
static int
name_is_good(const char *name)
{
	const char	*e;
	size_t		 n;

	for (;; name = e + 1) {
		n = strcspn(name, "/");
		e = name + n;
		if (n == 0 || (n == 1 && *name == '.') ||
		    (n == 2 && memcmp(name, "..", 2) == 0) ||
		    patch_is_git(name, n))
			return (0);
		if (*e == '\0')
			return (1);
	}
}

static const char *
git_mode(uint32_t mode)
{
	return (S_ISLNK(mode) ? "120000" : EXEC_BITS(mode) ? "100755" :
	    "100644");
}

static int
add_line(struct patch_buf *b, const char *what, const char *value)
{
	return (add_text(b, what) == -1 || add_text(b, value) == -1 ||
	    add_text(b, "\n") == -1 ? -1 : 0);
}

static int
add_side(struct patch_buf *b, const char *mark, const char *dir,
    const char *name)
{
	if (add_text(b, mark) == -1)
		return (-1);
	if (dir == NULL)
		return (add_text(b, "/dev/null\n"));
	return (add_name(b, dir, name) == -1 ||
	    add_text(b, "\n") == -1 ? -1 : 0);
}

static int
add_header(struct patch *p)
{
	struct patch_buf	*b = &p->text;
	int			 ret = 0;

	if (add_text(b, "diff --git ") == -1 ||
	    add_name(b, "a/", p->name) == -1 || add_text(b, " ") == -1 ||
	    add_name(b, "b/", p->name) == -1 || add_text(b, "\n") == -1)
		return (-1);
	if (p->old_mode == 0)
		ret = add_line(b, "new file mode ", git_mode(p->mode));
	else if (p->mode == 0)
		ret = add_line(b, "deleted file mode ", git_mode(p->old_mode));
	else if (EXEC_BITS(p->mode ^ p->old_mode) && !S_ISLNK(p->mode) &&
	    (ret = add_line(b, "old mode ", git_mode(p->old_mode))) == 0)
		ret = add_line(b, "new mode ", git_mode(p->mode));
	/* Without lines there is nothing else that tells of it. */
	if (ret == 0 && p->was.len == 0 && p->is.len == 0 && p->old_mode == 0)
		ret = add_line(b, "index ", NO_BLOB ".." EMPTY_BLOB);
	else if (ret == 0 && p->was.len == 0 && p->is.len == 0 && p->mode == 0)
		ret = add_line(b, "index ", EMPTY_BLOB ".." NO_BLOB);
	return (ret);
}

static int
bytes_differ(const struct patch *p)
{
	return (p->was.len != p->is.len || (p->is.len > 0 &&
	    memcmp(p->was.p, p->is.p, p->is.len) != 0));
}

static int
add_file(struct patch *p)
{
	struct patch_buf	*b = &p->text;

	if (add_header(p) == -1)
		return (-1);
	if (!bytes_differ(p))
		return (0);
	if (add_side(b, "--- ", p->old_mode == 0 ? NULL : "a/",
	    p->name) == -1 || add_side(b, "+++ ", p->mode == 0 ? NULL : "b/",
	    p->name) == -1)
		return (-1);
	return (patch_hunks(b, p->was.p, p->was.len, p->is.p, p->is.len));
}

/* A link goes and comes again: patch(1) does not change one. */
static int
add_link(struct patch *p)
{
	struct patch_buf	 is = p->is;
	uint32_t		 mode = p->mode;

	p->is.len = 0;
	p->mode = 0;
	if (add_file(p) == -1)
		return (-1);
	p->is = is;
	p->mode = mode;
	p->was.len = 0;
	p->old_mode = 0;
	return (add_file(p));
}

static void
leave_out(struct patch *p, enum code code, const char *name, const char *why)
{
	p->notes++;
	p->note(p->arg, code, name, why);
}

static int
nonsense(struct patch *p, const char *why)
{
	p->why = why;
	return (-1);
}

/* A link's target is its content. */
static int
link_is_good(struct patch *p)
{
	char	 to[CALL_PATH_MAX + 1];

	if (p->is.len == 0 || p->is.len > CALL_PATH_MAX)
		return (0);
	memcpy(to, p->is.p, p->is.len);
	to[p->is.len] = '\0';
	return (link_stays(p->name, to) && !patch_leads_to_git(to));
}

static int
has_nul(const struct patch_buf *b)
{
	return (b->len > 0 && memchr(b->p, '\0', b->len) != NULL);
}

static int
file_over(struct patch *p)
{
	int	 ret;

	p->at = AT_NONE;
	p->text.len = 0;
	if (p->left_out)
		return (0);
	if (S_ISLNK(p->mode) && patch_link_add(p, p->name) == -1)
		return (nonsense(p, "no memory"));
	if (has_nul(&p->was) || has_nul(&p->is))
		leave_out(p, CODE_UNSUPPORTED, p->name, "it is no text");
	else if (S_ISLNK(p->mode) && !link_is_good(p))
		leave_out(p, CODE_INVALID_PATH, p->name,
		    "a link that leads out of the tree, or into a "
		    "repository's own directory: left out");
	else if (p->mode != 0 && p->old_mode != 0 && !bytes_differ(p) &&
	    (S_ISLNK(p->mode) || !EXEC_BITS(p->mode ^ p->old_mode)))
		;
	else {
		if (S_ISLNK(p->mode) && p->old_mode != 0)
			ret = add_link(p);
		else
			ret = add_file(p);
		if (ret == -1)
			return (nonsense(p, "no memory"));
		p->files++;
		return (p->out(p->arg, p->text.p, p->text.len));
	}
	return (0);
}

static int
is_told(uint32_t mode)
{
	return (S_ISREG(mode) || S_ISLNK(mode));
}

static int
file_begin(struct patch *p, struct change_rec *r)
{
	int	 bad;

	if (strcmp(r->kind, "added") == 0)
		bad = !is_told(r->mode) || r->old_mode != 0;
	else if (strcmp(r->kind, "removed") == 0)
		bad = !is_told(r->old_mode) || r->mode != 0;
	else if (strcmp(r->kind, "changed") == 0)
		bad = !is_told(r->mode) ||
		    ((r->mode ^ r->old_mode) & S_IFMT) != 0;
	else
		return (nonsense(p, "a kind of change that there is not"));
	if (bad)
		return (nonsense(p, "a change of another kind than it says"));
	free(p->name);
	p->name = r->name;
	r->name = NULL;
	p->mode = r->mode;
	p->old_mode = r->old_mode;
	p->was.len = p->is.len = 0;
	p->at = AT_FILE;
	if ((p->left_out = !name_is_good(p->name)))
		leave_out(p, CODE_INVALID_PATH, p->name,
		    "a name that no patch is to have");
	else if ((p->left_out = patch_link_above(p, p->name)))
		leave_out(p, CODE_INVALID_PATH, p->name,
		    "a name below a link: left out");
	return (0);
}

static int
file_bytes(struct patch *p, const struct change_rec *r, int at)
{
	struct patch_buf	*b = at == AT_OLD ? &p->was : &p->is;

	if (p->at == AT_NONE || p->at > at ||
	    (at == AT_OLD ? p->old_mode : p->mode) == 0)
		return (nonsense(p, "bytes of no file"));
	p->at = at;
	if (r->data.len > PATCH_FILE_MAX - b->len)
		return (nonsense(p, "more bytes than a file may have"));
	if (!p->left_out && patch_add(b, r->data.data, r->data.len) == -1)
		return (nonsense(p, "no memory"));
	return (0);
}

static int
patch_take(void *arg, void *rec)
{
	struct patch		*p = arg;
	struct change_rec	*r = rec;

	if (strcmp(r->kind, "old") == 0)
		return (file_bytes(p, r, AT_OLD));
	if (strcmp(r->kind, "new") == 0)
		return (file_bytes(p, r, AT_NEW));
	if (strcmp(r->kind, "end") == 0)
		return (p->at == AT_NONE ? nonsense(p, "the end of no file") :
		    file_over(p));
	if (p->at != AT_NONE)
		return (nonsense(p, "a file within another"));
	if (r->code == CODE_OK)
		return (file_begin(p, r));
	leave_out(p, r->code, r->name, r->why);
	return (p->notes < NOTES_MAX ? 0 :
	    nonsense(p, "more is left out than can be told"));
}

/* Callbacks and all else: zeroed but for those. */
void
patch_begin(struct patch *p)
{
	RB_INIT(&p->links);
	p->rec.def = &change_rec_def;
	p->rec.take = patch_take;
	p->rec.arg = p;
}

int
patch_feed(struct patch *p, const void *data, size_t len)
{
	if (rec_feed(&p->rec, data, len) == 0)
		return (0);
	if (p->why == NULL)
		p->why = p->rec.why;
	return (-1);
}

int
patch_whole(struct patch *p)
{
	return (rec_done(&p->rec) && p->at == AT_NONE);
}

void
patch_end(struct patch *p)
{
	patch_link_free(p);
	free(p->name);
	free(p->was.p);
	free(p->is.p);
	free(p->text.p);
}
