/*
 * One string of a file becomes another.  The file goes through a buffer once,
 * into a new one that takes its place only if all was as it had to be: so its
 * size has no bound, and nothing is half changed.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define EDIT_BUF	(256U << 10)
#define EDIT_OUT	65536

struct edit {
	const struct edit_req	*req;
	const uint8_t		*old;	/* as it is looked for in this pass */
	size_t			 oldlen;
	const uint8_t		*new;
	size_t			 newlen;
	int			 in;
	int			 out;
	uint8_t			*buf;	/* EDIT_BUF and the old string */
	uint8_t			*obuf;	/* EDIT_OUT */
	size_t			 olen;
	uint64_t		 count;
	int			 error;
};

static void
edit_flush(struct edit *e)
{
	if (e->error == 0)
		e->error = write_all(e->out, e->obuf, e->olen);
	e->olen = 0;
}

static void
edit_put(struct edit *e, const uint8_t *p, size_t len)
{
	size_t	 n;

	/* Nobody will see it: only the count is of interest. */
	if (e->count > 1 && !(e->req->flags & EDIT_ALL))
		return;
	while (len > 0 && e->error == 0) {
		n = EDIT_OUT - e->olen;
		if (n > len)
			n = len;
		memcpy(e->obuf + e->olen, p, n);
		e->olen += n;
		p += n;
		len -= n;
		if (e->olen == EDIT_OUT)
			edit_flush(e);
	}
}

/* The file once, from in to out. */
static void
edit_pass(struct edit *e)
{
	struct find	 f;
	const uint8_t	*p;
	size_t		 have = 0, pos, keep;
	ssize_t		 n = 1;

	e->count = e->olen = 0;
	find_init(&f, e->old, e->oldlen, 0);
	if (lseek(e->in, 0, SEEK_SET) == -1 || ftruncate(e->out, 0) == -1 ||
	    lseek(e->out, 0, SEEK_SET) == -1)
		e->error = errno;
	while (n > 0 && e->error == 0) {
		n = read(e->in, e->buf + have, EDIT_BUF + e->oldlen - have);
		if (n == -1) {
			e->error = errno;
			return;
		}
		have += n;
		pos = 0;
		while ((p = find_next(&f, e->buf + pos, have - pos)) != NULL) {
			e->count++;
			edit_put(e, e->buf + pos, p - (e->buf + pos));
			edit_put(e, e->new, e->newlen);
			pos = p - e->buf + e->oldlen;
		}
		/* The next may begin here and end in what comes. */
		keep = have - pos < e->oldlen - 1 ? have - pos : e->oldlen - 1;
		if (n == 0)
			keep = 0;
		edit_put(e, e->buf + pos, have - keep - pos);
		memmove(e->buf, e->buf + have - keep, keep);
		have = keep;
	}
	edit_flush(e);
}

/* A copy with line ends of the one kind or the other; NULL for no memory. */
static uint8_t *
edit_ends(const uint8_t *s, size_t len, int crlf, size_t *outlen)
{
	uint8_t	*t;
	size_t	 i, n = 0;

	if ((t = malloc(2 * len + 1)) == NULL)
		return (NULL);
	for (i = 0; i < len; i++) {
		if (s[i] == '\r' && i + 1 < len && s[i + 1] == '\n')
			continue;
		if (s[i] == '\n' && crlf)
			t[n++] = '\r';
		t[n++] = s[i];
	}
	*outlen = n;
	return (t);
}

/* Once more with the line ends that the file may have. */
static void
edit_other_ends(struct edit *e, int crlf)
{
	const struct edit_req	*req = e->req;
	uint8_t			*old, *new;

	old = edit_ends(req->old, req->oldlen, crlf, &e->oldlen);
	new = edit_ends(req->new, req->newlen, crlf, &e->newlen);
	e->old = old;
	e->new = new;
	if (old == NULL || new == NULL)
		e->error = ENOMEM;
	else if (e->oldlen <= 2 * req->oldlen)
		edit_pass(e);
	free(old);
	free(new);
	e->old = e->new = NULL;
}

static enum edit_outcome
edit_judge(const struct edit *e)
{
	if (e->count == 0)
		return (EDIT_NOT_FOUND);
	if (e->count > 1 && !(e->req->flags & EDIT_ALL))
		return (EDIT_MULTIPLE);
	return (EDIT_DONE);
}

/* 1 if the new file is to take the place of the old one. */
static int
edit_file(struct edit *e, const struct stat *st, struct edit_res *res)
{
	const struct edit_req	*req = e->req;

	if (req->oldlen == 0) {
		if (st->st_size != 0) {
			res->outcome = EDIT_NOT_EMPTY;
			return (0);
		}
		res->count = req->newlen > 0;
		e->error = write_all(e->out, req->new, req->newlen);
		return (req->newlen > 0);
	}
	edit_pass(e);
	if (e->count == 0 && (req->flags & EDIT_CRLF) && e->error == 0 &&
	    memchr(req->old, '\n', req->oldlen) != NULL) {
		edit_other_ends(e, 1);
		if (e->count == 0 && e->error == 0)
			edit_other_ends(e, 0);
	}
	res->count = e->count;
	res->outcome = edit_judge(e);
	return (res->outcome == EDIT_DONE && (req->oldlen != req->newlen ||
	    memcmp(req->old, req->new, req->oldlen) != 0));
}

int
tool_edit(const struct edit_req *req, struct edit_res *res)
{
	struct replace	 r;
	struct edit	 e;
	struct stat	 st;
	int		 commit = 0;

	memset(res, 0, sizeof(*res));
	memset(&e, 0, sizeof(e));
	if (req->oldlen > FIND_MAX || req->newlen > FIND_MAX)
		return (E2BIG);
	if ((e.error = tool_open(req->path, &st, &e.in)) != 0)
		return (e.error);
	if (S_ISDIR(st.st_mode))
		e.error = EISDIR;
	else
		e.error = replace_begin(&r, req->path, 0, 0);
	if (e.error != 0) {
		close(e.in);
		return (e.error);
	}
	e.req = req;
	e.old = req->old;
	e.oldlen = req->oldlen;
	e.new = req->new;
	e.newlen = req->newlen;
	e.out = r.fd;
	e.buf = malloc(EDIT_BUF + 2 * req->oldlen);
	e.obuf = malloc(EDIT_OUT);
	if (e.buf == NULL || e.obuf == NULL)
		e.error = ENOMEM;
	else
		commit = edit_file(&e, &st, res);
	close(e.in);
	if (e.error == 0 && commit)
		e.error = replace_commit(&r);
	else
		replace_abort(&r);
	free(e.buf);
	free(e.obuf);
	return (e.error);
}
