/* The tools of an agent as operations: what tool.h has, told in records. */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "tool.h"

#define TOOL_MS		10000		/* of time, unless told otherwise */

static int
tool_fail(struct job *j, int error)
{
	if (error == ECANCELED) {
		j->lost = 1;
		return (-1);
	}
	if (error == EINVAL)
		return (job_fail(j, CODE_INVALID_ARGUMENT, "invalid pattern"));
	if (error == E2BIG)
		return (job_fail(j, CODE_TOO_LARGE,
		    "the pattern is too long or matches too much"));
	return (job_errno(j, error, ""));
}

static uint64_t
tool_time(const struct job *j)
{
	return (j->m.limit == 0 ? TOOL_MS : j->m.limit);
}

/* Not all was seen, or not all of it told. */
static void
tool_left(struct job *j, int more, int left)
{
	if (more || (left & ~WALK_L_DENIED) != 0)
		j->end.flags |= CALL_R_MORE;
	if (left & WALK_L_DENIED)
		j->end.flags |= CALL_R_DENIED;
}

static int
tool_dir(struct job *j, struct stat *st)
{
	int	 error, fd;

	if ((error = tool_open(j->m.path, st, &fd)) != 0) {
		job_errno(j, error, "");
		return (-1);
	}
	return (fd);
}

/* Links are followed, and their targets told; one to nothing is itself. */
static int
glob_tell(void *arg, const struct walk_entry *e)
{
	struct job	*j = arg;
	struct stat	 st, to;
	char		 target[CALL_PATH_MAX + 1];
	ssize_t		 n = 0;

	if (e->len > CALL_PATH_MAX) {
		j->end.flags |= CALL_R_MORE;
		return (0);
	}
	memset(&st, 0, sizeof(st));
	if (fstatat(e->dirfd, e->name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (fs_record(j, e->path, &st, "", errno_code(errno)));
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(e->dirfd, e->name, target, CALL_PATH_MAX);
		if (fstatat(e->dirfd, e->name, &to, 0) == 0)
			st = to;
	}
	target[n > 0 ? n : 0] = '\0';
	return (fs_record(j, e->path, &st, target, CODE_OK));
}

void
fs_glob(struct job *j)
{
	struct glob_req	 req = { .pattern = j->m.pattern };
	struct glob_res	 res;
	struct stat	 st;
	int		 fd, error;

	/* Below the root of all files that is the same; else it has none. */
	if (*req.pattern == '/') {
		if (j->m.path[strspn(j->m.path, "/")] != '\0') {
			job_fail(j, CODE_INVALID_ARGUMENT, "a pattern begins "
			    "in the directory, and not with a slash");
			return;
		}
		req.pattern += strspn(req.pattern, "/");
	}
	if (j->m.flags & CALL_F_FILES)
		req.flags |= GLOB_FILES;
	if (j->m.flags & CALL_F_NODOT)
		req.flags |= GLOB_NODOT;
	if (j->m.flags & CALL_F_ANYDEPTH)
		req.flags |= GLOB_ANYDEPTH;
	req.max = j->m.count == 0 ? CALL_NAMES : j->m.count;
	req.ms = tool_time(j);
	if ((fd = tool_dir(j, &st)) == -1)
		return;
	if (!S_ISDIR(st.st_mode))
		job_errno(j, ENOTDIR, "");
	else if ((error = tool_glob(fd, &req, &res, glob_tell, j)) != 0)
		tool_fail(j, error);
	else {
		j->end.count = res.count;
		tool_left(j, res.more, res.left);
	}
	close(fd);
}

static int
grep_tell_record(void *arg, const struct grep_hit *h)
{
	struct job	*j = arg;
	char		 name[CALL_PATH_MAX + 1];

	if (h->pathlen > CALL_PATH_MAX) {
		j->end.flags |= CALL_R_MORE;
		return (0);
	}
	memcpy(name, h->path, h->pathlen);
	name[h->pathlen] = '\0';
	rec_begin(j, 5);
	/* A file itself has the name that was asked for. */
	rec_str(j, h->pathlen == 0 ? j->m.path : name);
	rec_uint(j, h->line);
	rec_uint(j, (h->context ? GREP_R_CONTEXT : 0) |
	    (h->cut ? GREP_R_CUT : 0));
	rec_uint(j, h->count);
	rec_blob(j, h->text == NULL ? (const uint8_t *)"" : h->text, h->len);
	return (rec_end(j));
}

void
fs_grep(struct job *j)
{
	struct grep_req	 req = { .pattern = j->m.pattern };
	struct grep_res	 res;
	struct stat	 st;
	int		 fd, error;

	req.len = strlen(req.pattern);
	if (*j->m.filter != '\0')
		req.glob = j->m.filter;
	if (j->m.flags & CALL_F_REGEX)
		req.flags |= GREP_REGEX;
	if (j->m.flags & CALL_F_ICASE)
		req.flags |= GREP_ICASE;
	if (j->m.flags & CALL_F_COUNTS)
		req.mode = GREP_COUNTS;
	else if (j->m.flags & CALL_F_FILES)
		req.mode = GREP_FILES;
	req.before = j->m.offset > UINT32_MAX ? UINT32_MAX : j->m.offset;
	req.after = j->m.length > UINT32_MAX ? UINT32_MAX : j->m.length;
	req.max = j->m.count == 0 ? CALL_MATCHES : j->m.count;
	req.ms = tool_time(j);
	if (req.before > GREP_CONTEXT || req.after > GREP_CONTEXT) {
		job_fail(j, CODE_INVALID_ARGUMENT,
		    "more than %d lines of context", GREP_CONTEXT);
		return;
	}
	if ((fd = tool_dir(j, &st)) == -1)
		return;
	if ((error = tool_grep(fd, &st, &req, &res, grep_tell_record,
	    j)) != 0)
		tool_fail(j, error);
	else {
		j->end.count = res.count;
		j->end.count2 = res.files;
		tool_left(j, res.more, res.left |
		    (res.denied > 0 ? WALK_L_DENIED : 0));
	}
	close(fd);
}

static int
lines_put(void *arg, const void *p, size_t len)
{
	return (job_out(arg, p, len));
}

void
fs_lines(struct job *j)
{
	struct tool_sink	 out = { lines_put, j };
	struct read_req		 req = { .name = j->m.path };
	struct read_res		 res;
	struct stat		 st;
	int			 fd, error;

	req.offset = j->m.offset;
	req.limit = j->m.count;
	req.max = j->m.limit == 0 ? READ_BYTES : j->m.limit;
	if (j->m.flags & CALL_F_NUMBER)
		req.flags |= READ_NUMBER;
	if ((fd = fs_open(j, j->m.path, O_RDONLY, &st)) == -1)
		return;
	if ((error = tool_read(fd, &req, &res, &out)) == EFBIG)
		job_fail(j, CODE_TOO_LARGE, "no text, and %llu bytes: "
		    "the limit is %llu", (unsigned long long)res.size,
		    (unsigned long long)req.max);
	else if (error == EINVAL)
		job_fail(j, CODE_INVALID_ARGUMENT, "limit: too large");
	else if (error != 0)
		tool_fail(j, error);
	else {
		j->end.count = res.end;
		j->end.count2 = res.total;
		j->end.flags |= (res.more ? CALL_R_MORE : 0) |
		    (res.cut ? CALL_R_CUT : 0) |
		    (res.known ? CALL_R_TOTAL : 0) |
		    (res.kind == READ_BINARY ? CALL_R_BINARY : 0);
	}
	close(fd);
}

/* All of the input, which has a bound; NULL if there is none of it. */
static uint8_t *
edit_input(struct job *j, size_t *len)
{
	const uint8_t	*p;
	uint8_t		*buf;
	ssize_t		 n;

	if ((buf = malloc(2 * FIND_MAX)) == NULL) {
		job_errno(j, ENOMEM, "");
		return (NULL);
	}
	for (*len = 0; (n = job_in(j, &p)) > 0; *len += n) {
		if ((size_t)n > 2 * FIND_MAX - *len) {
			job_fail(j, CODE_TOO_LARGE, "more than %u bytes",
			    2 * FIND_MAX);
			n = -1;
			break;
		}
		memcpy(buf + *len, p, n);
	}
	if (n == 0 && j->m.length <= *len)
		return (buf);
	if (n == 0)
		job_fail(j, CODE_INVALID_ARGUMENT,
		    "length: the input is shorter");
	free(buf);
	return (NULL);
}

static void
edit_tell(struct job *j, const struct edit_res *res)
{
	switch (res->outcome) {
	case EDIT_DONE:
		j->end.count = res->count;
		break;
	case EDIT_NOT_FOUND:
		job_fail(j, CODE_NOT_FOUND, "the string was not found");
		break;
	case EDIT_MULTIPLE:
		job_fail(j, CODE_CONFLICT, "Multiple occurrences: %llu, and "
		    "not all are to be replaced",
		    (unsigned long long)res->count);
		break;
	case EDIT_NOT_EMPTY:
		job_fail(j, CODE_INVALID_ARGUMENT,
		    "an empty string is found in an empty file alone");
		break;
	}
}

void
fs_edit(struct job *j)
{
	struct edit_req	 req = { .path = j->m.path };
	struct edit_res	 res;
	uint8_t		*buf;
	size_t		 len;
	int		 error;

	if (j->m.flags & CALL_F_EVERY)
		req.flags |= EDIT_ALL;
	if (j->m.flags & CALL_F_CRLF)
		req.flags |= EDIT_CRLF;
	if ((buf = edit_input(j, &len)) == NULL)
		return;
	req.old = buf;
	req.oldlen = j->m.length;
	req.new = buf + req.oldlen;
	req.newlen = len - req.oldlen;
	if ((error = tool_edit(&req, &res)) == E2BIG)
		job_fail(j, CODE_TOO_LARGE, "more than %u bytes", FIND_MAX);
	else if (error != 0)
		job_errno(j, error, "");
	else
		edit_tell(j, &res);
	free(buf);
}
