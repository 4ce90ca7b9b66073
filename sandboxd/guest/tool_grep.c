/*
 * The lines of a tree's files that have a string, or match an expression.
 *
 * A file passes through one buffer.  Within it the next place that can match
 * is looked for across all lines, and only around such a place lines are told
 * apart.  A line that is longer than the buffer is searched as it passes; what
 * is told of a long line is the part around its first match.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#ifndef GREP_BUF		/* a fuzzer's is small */
#define GREP_BUF	(256U << 10)
#endif
#define GREP_KEEP	GREP_LINE	/* of it, for the context before */
#define GREP_NOSIZE	(16U << 20)	/* read of a file that has no size */

struct grep {
	const struct grep_req	*req;
	struct grep_res		*res;
	grep_found		*found;
	void			*arg;
	struct find		 find;	/* the string, or what a match has */
	regex_t			 re;
	int			 isre;
	struct glob		 glob;
	int			 path;	/* the glob is for paths, not names */
	uint64_t		 deadline;
	int			 error;
	int			 done;

	/* of the file */
	const char		*name;
	size_t			 namelen;
	uint8_t			*buf;	/* GREP_BUF and one */
	size_t			 have;
	size_t			 pos;	/* not looked at yet */
	size_t			 told;	/* lines that begin below were */
	uint64_t		 line;	/* number of the line at pos */
	uint64_t		 count;
	uint32_t		 after;	/* lines of context still to tell */
	int			 inside;	/* of a line whose begin has gone */
	int			 hit;	/* and which matched there */
	int			 enough;	/* of this file */
};

static void
grep_give(struct grep *g, struct grep_hit *h)
{
	h->path = g->name;
	h->pathlen = g->namelen;
	if (g->found(g->arg, h) != 0) {
		g->error = ECANCELED;
		g->done = 1;
	}
}

/* A line from begin to end; at is what to show of one that is too long. */
static void
grep_tell(struct grep *g, size_t begin, size_t end, size_t at, uint64_t line,
    int context)
{
	struct grep_hit	 h = { .line = line, .context = context };

	g->told = end + 1;
	if (end - begin > GREP_TELL) {
		h.cut = 1;
		if (at > begin + GREP_TELL / 2)
			begin = at - GREP_TELL / 2;
		if (end - begin > GREP_TELL)
			end = begin + GREP_TELL;
	}
	h.cut |= g->inside;
	h.text = g->buf + begin;
	h.len = end - begin;
	grep_give(g, &h);
}

/* Is there room for one more result? */
static int
grep_room(struct grep *g)
{
	if (g->req->max == 0 || g->res->count < g->req->max)
		return (1);
	g->res->more = 1;
	g->done = 1;
	return (0);
}

static void
grep_before(struct grep *g, size_t begin)
{
	uint64_t	 n = 0;
	size_t		 from = begin, end;

	while (n < g->req->before && from > g->told) {
		for (from--; from > 0 && g->buf[from - 1] != '\n'; from--)
			;
		n++;
	}
	for (; n > 0 && !g->done; n--, from = end + 1) {
		end = (uint8_t *)memchr(g->buf + from, '\n', begin - from) -
		    g->buf;
		grep_tell(g, from, end, from, g->line - n, 1);
	}
}

/* The line from begin to end matches, g->line is its number. */
static void
grep_match(struct grep *g, size_t begin, size_t end, size_t at)
{
	g->count++;
	if (g->req->mode != GREP_LINES) {
		if (g->count == 1 && grep_room(g))
			g->res->count++;
		g->enough = g->req->mode == GREP_FILES;
		return;
	}
	if (!grep_room(g))
		return;
	g->res->count++;
	grep_before(g, begin);
	if (!g->done)
		grep_tell(g, begin, end, at, g->line, 0);
	g->after = g->req->after;
}

static size_t
line_begin(const struct grep *g, size_t at)
{
	const uint8_t	*p;

	p = memrchr(g->buf + g->pos, '\n', at - g->pos);
	return (p == NULL ? g->pos : (size_t)(p - g->buf) + 1);
}

static size_t
line_end(const struct grep *g, size_t at, size_t end)
{
	const uint8_t	*p = memchr(g->buf + at, '\n', end - at);

	return (p == NULL ? end : (size_t)(p - g->buf));
}

/* The expression on one line. */
static int
grep_regex(struct grep *g, size_t begin, size_t end, size_t *at)
{
	regmatch_t	 m;
	size_t		 last = end;
	uint8_t		 c;
	int		 n;

	if (last - begin > GREP_LINE)
		last = begin + GREP_LINE;
	c = g->buf[last];
	g->buf[last] = '\0';
	n = regexec(&g->re, (char *)g->buf + begin, 1, &m, 0);
	g->buf[last] = c;
	if (n == 0)
		*at = begin + m.rm_so;
	return (n == 0);
}

/*
 * The next line between g->pos and end that matches; 0 if there is none.
 * Lines passed over are counted.
 */
static int
grep_next(struct grep *g, size_t end, size_t *begin, size_t *stop, size_t *at)
{
	const uint8_t	*p;

	while (g->pos < end) {
		if (g->find.len > 0) {
			p = find_next(&g->find, g->buf + g->pos,
			    end - g->pos);
			if (p == NULL)
				break;
			*at = p - g->buf;
		} else
			*at = g->pos;
		*begin = line_begin(g, *at);
		*stop = line_end(g, *at, end);
		g->line += find_lines(g->buf + g->pos, *begin - g->pos);
		g->pos = *begin;
		if (!g->isre || grep_regex(g, *begin, *stop, at))
			return (1);
		g->pos = *stop + 1;
		g->line++;
		if ((g->line & 255) == 0 && tool_ms() >= g->deadline) {
			g->res->left |= WALK_L_TIME;
			g->done = 1;
			return (0);
		}
	}
	if (g->pos < end) {
		g->line += find_lines(g->buf + g->pos, end - g->pos);
		g->pos = end;
	}
	return (0);
}

/* Context after a match, up to the line that begins at limit. */
static void
grep_after(struct grep *g, size_t from, size_t limit, uint64_t line)
{
	size_t	 stop;

	while (g->after > 0 && from < limit && !g->done) {
		stop = line_end(g, from, limit);
		grep_tell(g, from, stop, from, line++, 1);
		g->after--;
		from = stop + 1;
	}
}

/* Whole lines, from g->pos to end. */
static void
grep_lines(struct grep *g, size_t end)
{
	size_t		 begin, stop, at, from;
	uint64_t	 line;

	while (g->pos < end && !g->done && !g->enough) {
		from = g->pos;
		line = g->line;
		if (!grep_next(g, end, &begin, &stop, &at)) {
			grep_after(g, from, end, line);
			break;
		}
		grep_after(g, from, begin, line);
		if (begin != from)
			g->inside = 0;
		if (!g->done)
			grep_match(g, begin, stop, at);
		g->inside = 0;
		g->pos = stop + 1;
		g->line++;
	}
}

/* A line that fills the buffer: a part of it goes by. */
static void
grep_long(struct grep *g)
{
	const uint8_t	*p = NULL;
	size_t		 at = 0, keep;

	if (!g->hit && g->isre && !g->inside) {
		if (grep_regex(g, 0, g->have, &at))
			p = g->buf;
	} else if (!g->hit && !g->isre) {
		p = find_next(&g->find, g->buf, g->have);
		at = p == NULL ? 0 : p - g->buf;
	}
	if (p != NULL) {
		g->hit = g->inside = 1;
		grep_match(g, 0, g->have, at);
	}
	/* The string may begin here and end in what comes. */
	keep = g->isre ? 0 : g->find.len - 1;
	memmove(g->buf, g->buf + g->have - keep, keep);
	g->have = keep;
	g->pos = g->told = 0;
	g->inside = 1;
}

/* The end of such a line. */
static void
grep_long_end(struct grep *g, size_t end)
{
	if (!g->inside)
		return;
	/* What is left of it is nobody's context. */
	g->told = line_end(g, g->pos, end) + 1;
	if (g->hit || g->isre) {
		g->pos = g->told;
		g->line++;
		g->inside = g->hit = 0;
	}
}

/*
 * Keeps what has not been looked at, and lines before it for the context,
 * which give way when a line needs the room.
 */
static void
grep_move(struct grep *g)
{
	size_t		 from = g->pos, line;
	uint32_t	 n;

	for (n = 0; n < g->req->before && from > 0; n++) {
		for (line = from - 1; line > 0 && g->buf[line - 1] != '\n';
		    line--)
			;
		if (g->pos - line > GREP_KEEP)
			break;
		from = line;
	}
	if (g->have - from == GREP_BUF)
		from = g->pos;
	memmove(g->buf, g->buf + from, g->have - from);
	g->have -= from;
	g->pos -= from;
	g->told = g->told > from ? g->told - from : 0;
}

/* What has been read so far: up to its last line, or all of it at the end. */
static void
grep_chunk(struct grep *g, int eof)
{
	const uint8_t	*p;
	size_t		 end = g->have;

	if (!eof) {
		p = memrchr(g->buf + g->pos, '\n', g->have - g->pos);
		if (p == NULL) {
			grep_move(g);
			if (g->have == GREP_BUF)
				grep_long(g);
			return;
		}
		end = p - g->buf + 1;
	}
	grep_long_end(g, end);
	grep_lines(g, end);
	g->inside = 0;
	if (eof || g->done || g->enough)
		return;
	if (g->pos > end)
		g->pos = end;
	grep_move(g);
}

static ssize_t
grep_read(int fd, uint8_t *buf, size_t len)
{
	ssize_t	 n;

	do
		n = read(fd, buf, len);
	while (n == -1 && errno == EINTR);
	return (n);
}

/* One that grows while it is read ends where it ended at first. */
static void
grep_fd(struct grep *g, int fd)
{
	struct stat	 st;
	uint64_t	 all = 0, limit = UINT64_MAX;
	ssize_t		 n;

	g->have = g->pos = g->told = 0;
	g->line = 1;
	g->count = g->after = 0;
	g->inside = g->hit = g->enough = 0;
	for (;;) {
		n = grep_read(fd, g->buf + g->have, GREP_BUF - g->have);
		if (n > 0 && all == 0) {
			g->res->files++;
			if (memchr(g->buf, '\0', n < GREP_BINARY ? n :
			    GREP_BINARY) != NULL) {
				g->res->binary++;
				return;
			}
			if (n == GREP_BUF && fstat(fd, &st) == 0)
				limit = st.st_size > 0 ?
				    (uint64_t)st.st_size : GREP_NOSIZE;
		}
		if (n > 0) {
			g->have += n;
			all += n;
			/* More will come, or the end of the file. */
			if (g->have < GREP_BUF && all < limit)
				continue;
		}
		if (tool_ms() >= g->deadline) {
			g->res->left |= WALK_L_TIME;
			g->done = 1;
			return;
		}
		grep_chunk(g, n <= 0 || all >= limit);
		if (n <= 0 || all >= limit || g->done || g->enough)
			break;
	}
}

static void
grep_file(struct grep *g, int fd, const char *name, size_t len)
{
	struct grep_hit	 h = { .line = 0 };

	g->name = name;
	g->namelen = len;
	grep_fd(g, fd);
	if (g->req->mode == GREP_LINES || g->count == 0 || g->res->more ||
	    g->error != 0)
		return;
	h.count = g->count;
	grep_give(g, &h);
}

static int
grep_wanted(const struct grep *g, const struct walk_entry *e)
{
	if (e->type != DT_REG)
		return (0);
	return (g->glob.n == 0 ||
	    glob_match(&g->glob, g->path ? e->path : e->name, 0));
}

static void
grep_tree(struct grep *g, int root)
{
	struct walk_entry	 e;
	struct walk		*w;
	int			 fd;

	if ((w = walk_open(root, g->req->ms)) == NULL) {
		g->error = ENOMEM;
		return;
	}
	while (!g->done && walk_next(w, &e)) {
		if (!grep_wanted(g, &e))
			continue;
		/* It may be something else by now: no link, no waiting. */
		fd = openat(e.dirfd, e.name, O_RDONLY | O_NOFOLLOW |
		    O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd == -1) {
			g->res->denied += errno == EACCES || errno == EPERM;
			continue;
		}
		grep_file(g, fd, e.path, e.len);
		close(fd);
	}
	g->res->left |= walk_left(w);
	walk_close(w);
}

static int
grep_compile(struct grep *g)
{
	const struct grep_req	*req = g->req;
	char			*s;
	size_t			 at = 0, len;
	int			 error, flags;

	if (req->glob != NULL) {
		g->path = strchr(req->glob, '/') != NULL;
		if ((error = glob_compile(&g->glob, req->glob, 0)) != 0)
			return (error);
	}
	if (!(req->flags & GREP_REGEX)) {
		if (req->len > GREP_LINE)
			return (E2BIG);
		if (req->len == 0 || memchr(req->pattern, '\n', req->len))
			return (EINVAL);
		find_init(&g->find, req->pattern, req->len,
		    req->flags & GREP_ICASE);
		return (0);
	}
	if ((error = regex_check(req->pattern, req->len)) != 0)
		return (error);
	if ((s = strndup(req->pattern, req->len)) == NULL)
		return (ENOMEM);
	flags = REG_EXTENDED | (req->flags & GREP_ICASE ? REG_ICASE : 0);
	error = regcomp(&g->re, s, flags);
	free(s);
	if (error != 0)
		return (error == REG_ESPACE ? E2BIG : EINVAL);
	g->isre = 1;
	len = regex_must(req->pattern, req->len, &at);
	find_init(&g->find, req->pattern + at, len, req->flags & GREP_ICASE);
	return (0);
}

/*
 * fd is a regular file or a directory, and stays the caller's.  EINVAL for a
 * pattern that is none, E2BIG for one that costs too much.
 */
int
tool_grep(int fd, const struct stat *st, const struct grep_req *req,
    struct grep_res *res, grep_found *found, void *arg)
{
	struct grep	*g;
	int		 error;

	memset(res, 0, sizeof(*res));
	if (req->before > GREP_CONTEXT || req->after > GREP_CONTEXT)
		return (EINVAL);
	if ((g = calloc(1, sizeof(*g))) == NULL)
		return (ENOMEM);
	g->req = req;
	g->res = res;
	g->found = found;
	g->arg = arg;
	g->deadline = tool_ms() + req->ms;
	if ((error = grep_compile(g)) == 0) {
		if ((g->buf = malloc(GREP_BUF + 1)) == NULL)
			g->error = ENOMEM;
		else if (S_ISDIR(st->st_mode))
			grep_tree(g, fd);
		else
			grep_file(g, fd, "", 0);
		error = g->error;
	}
	if (g->isre)
		regfree(&g->re);
	glob_free(&g->glob);
	free(g->buf);
	free(g);
	return (error);
}
