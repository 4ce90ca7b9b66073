/*
 * libsandbox: the tools of an agent that work on files.  Each is one call to
 * the guest; a batch is one after the other, and an error of one is its own.
 */

#include <sys/types.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox_int.h"

/* Bytes that come, as far as there is room for them. */
struct bytes {
	uint8_t	*p;
	size_t	 len;
	size_t	 size;
	size_t	 max;
	int	 full;		/* there were more than max */
};

static int
bytes_add(void *arg, const void *p, size_t len)
{
	struct bytes	*b = arg;
	uint8_t		*n;
	size_t		 size;

	if (len > b->max - b->len) {
		b->full = 1;
		return (-1);
	}
	if (b->size - b->len < len) {
		size = 2 * (b->len + len);
		if ((n = realloc(b->p, size)) == NULL)
			return (-1);
		b->p = n;
		b->size = size;
	}
	memcpy(b->p + b->len, p, len);
	b->len += len;
	return (0);
}

static void
tool_call(struct proto_call *c, uint32_t op, const char *id, const char *path)
{
	memset(c, 0, sizeof(*c));
	c->sandbox = (char *)(uintptr_t)id;
	c->op = op;
	c->path = (char *)(uintptr_t)(path == NULL ? "." : path);
}

/* A guest that tells more than it was asked for would tell without end. */
struct counted {
	int		(*take)(void *, void *);
	void		*arg;
	uint64_t	 left;
	int		 more;
};

static int
count_take(void *arg, void *rec)
{
	struct counted	*n = arg;

	if (n->left == 0) {
		n->more = 1;
		return (-1);
	}
	n->left--;
	return (n->take(n->arg, rec));
}

static int
call_counted(struct sandbox *sb, const struct proto_call *c,
    const struct msg_def *def, struct counted *n, struct proto_result *res)
{
	int	 ret;

	ret = sandbox_file_records(sb, c, def, count_take, n, res);
	if (n->more)
		return (sandbox_fail(sb, CODE_PROTOCOL, "the guest talks "
		    "nonsense: more records than were asked for"));
	return (ret);
}

int
sandbox_tool_ls(struct sandbox *sb, const char *id, const char *path,
    uint64_t max, int (*take)(void *, void *), void *arg,
    struct proto_result *res)
{
	return (sandbox_tool_glob(sb, id, path, "*", 0, max, take, arg, res));
}

int
sandbox_tool_glob(struct sandbox *sb, const char *id, const char *path,
    const char *pattern, uint32_t flags, uint64_t max,
    int (*take)(void *, void *), void *arg, struct proto_result *res)
{
	struct counted		 n = { take, arg, max, 0 };
	struct proto_call	 c;

	if (max == 0)
		n.left = CALL_NAMES;
	tool_call(&c, CALL_GLOB, id, path);
	c.pattern = (char *)(uintptr_t)pattern;
	c.flags = flags;
	c.count = max;
	return (call_counted(sb, &c, &file_rec_def, &n, res));
}

int
sandbox_tool_grep(struct sandbox *sb, const struct sandbox_tool_search *s,
    int (*take)(void *, void *), void *arg, struct proto_result *res)
{
	struct counted		 n = { take, arg, s->max, 0 };
	struct proto_call	 c;

	/* Each with the lines around it. */
	if (s->max == 0)
		n.left = CALL_MATCHES;
	if (s->context > 0 && n.left < UINT32_MAX)
		n.left *= 1 + 2 * (uint64_t)(uint32_t)s->context;
	tool_call(&c, CALL_GREP, s->id, s->path);
	c.pattern = (char *)(uintptr_t)s->pattern;
	c.filter = (char *)(uintptr_t)s->filter;
	c.flags = s->flags;
	c.offset = c.length = s->context;
	c.count = s->max;
	return (call_counted(sb, &c, &grep_rec_def, &n, res));
}

void
sandbox_tool_page(struct sandbox_tool_text *t, uint64_t offset,
    const struct proto_result *res)
{
	t->binary = (res->flags & CALL_R_BINARY) != 0;
	t->start = res->count > 0 ? offset + 1 : 0;
	t->end = res->count;
	t->counted = (res->flags & CALL_R_TOTAL) != 0;
	t->total = res->count2;
	t->more = (res->flags & CALL_R_MORE) != 0;
	t->cut = (res->flags & CALL_R_CUT) != 0;
}

int
sandbox_tool_read(struct sandbox *sb, const char *id, const char *path,
    uint64_t offset, uint64_t limit, uint32_t flags,
    struct sandbox_tool_text *t)
{
	struct bytes		 b = { .max = SANDBOX_TOOL_PAGE };
	struct sandbox_file_io	 io = { NULL, bytes_add, &b };
	struct proto_result	 res;
	struct proto_call	 c;

	memset(t, 0, sizeof(*t));
	tool_call(&c, CALL_LINES, id, path);
	c.flags = flags;
	c.offset = offset;
	c.count = limit;
	if (sandbox_file_call(sb, &c, &io, &res) == -1) {
		free(b.p);
		return (-1);
	}
	t->data = b.p;
	t->len = b.len;
	sandbox_tool_page(t, offset, &res);
	return (0);
}

/* Two pieces of memory as input, one behind the other; or a descriptor. */
struct input {
	const uint8_t	*p[2];
	size_t		 len[2];
	int		 i;
	int		 fd;
	int		 error;		/* of reading that */
};

static ssize_t
input_give(void *arg, void *buf, size_t size)
{
	struct input	*t = arg;
	ssize_t		 n;

	if (t->fd != -1) {
		do
			n = read(t->fd, buf, size);
		while (n == -1 && errno == EINTR);
		if (n == -1)
			t->error = errno;
		return (n);
	}
	while (t->i < 2 && t->len[t->i] == 0)
		t->i++;
	if (t->i == 2)
		return (0);
	n = t->len[t->i] < size ? t->len[t->i] : size;
	memcpy(buf, t->p[t->i], n);
	t->p[t->i] += n;
	t->len[t->i] -= n;
	return (n);
}

int
sandbox_tool_write(struct sandbox *sb, const char *id,
    struct sandbox_tool_file *f, int *created)
{
	struct input		 in = { { f->data, NULL }, { f->len, 0 }, 0,
				    f->fd, 0 };
	struct sandbox_file_io	 io = { input_give, NULL, &in };
	struct proto_result	 res;
	struct proto_call	 c;

	tool_call(&c, CALL_WRITE, id, f->path);
	c.flags = CALL_F_ATOMIC | CALL_F_PARENTS;
	if (sandbox_file_call(sb, &c, &io, &res) == -1) {
		if (in.error != 0 && !sandbox_error(sb)->lost)
			(void)sandbox_fail(sb, errno_code(in.error),
			    "what is to be written cannot be read: %s",
			    strerror(in.error));
		f->code = sandbox_error(sb)->code;
		return (-1);
	}
	f->code = CODE_OK;
	f->len = res.count;
	if (created != NULL)
		*created = res.count2 != 0;
	return (0);
}

int
sandbox_tool_edit(struct sandbox *sb, const char *id, const char *path,
    const void *old, size_t oldlen, const void *text, size_t textlen,
    uint32_t flags, uint64_t *count)
{
	struct input		 in = { { old, text }, { oldlen, textlen }, 0,
				    -1, 0 };
	struct sandbox_file_io	 io = { input_give, NULL, &in };
	struct proto_result	 res;
	struct proto_call	 c;

	tool_call(&c, CALL_EDIT, id, path);
	c.flags = flags;
	c.length = oldlen;
	if (sandbox_file_call(sb, &c, &io, &res) == -1)
		return (-1);
	if (count != NULL)
		*count = res.count;
	return (0);
}

int
sandbox_tool_delete(struct sandbox *sb, const char *id, const char *path,
    uint64_t *count)
{
	struct proto_result	 res;
	struct proto_call	 c;

	tool_call(&c, CALL_REMOVE, id, path);
	c.flags = CALL_F_RECURSE;
	if (sandbox_file_call(sb, &c, NULL, &res) == -1)
		return (-1);
	if (count != NULL)
		*count = res.count;
	return (0);
}

/* The frameworks mean paths from the root on. */
static int
batch_path(struct sandbox_tool_file *f)
{
	f->code = *f->path == '/' ? CODE_OK : CODE_INVALID_PATH;
	return (f->code == CODE_OK);
}

int
sandbox_tool_upload(struct sandbox *sb, const char *id,
    struct sandbox_tool_file *f, size_t n)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		if (batch_path(&f[i]) &&
		    sandbox_tool_write(sb, id, &f[i], NULL) == -1 &&
		    sandbox_error(sb)->lost)
			return (-1);
	return (0);
}

static int
file_out(void *arg, const void *p, size_t len)
{
	const uint8_t	*data = p;
	ssize_t		 n;

	while (len > 0) {
		if ((n = write(*(int *)arg, data, len)) == -1) {
			if (errno == EINTR)
				continue;
			return (-1);
		}
		data += n;
		len -= n;
	}
	return (0);
}

static void
download(struct sandbox *sb, const char *id, struct sandbox_tool_file *f,
    size_t max)
{
	struct bytes		 b = { .max = max == 0 ? SSIZE_MAX : max };
	struct sandbox_file_io	 io = { NULL, bytes_add, &b };
	struct proto_result	 res;
	struct proto_call	 c;

	if (f->fd != -1) {
		io.out = file_out;
		io.arg = &f->fd;
	}
	tool_call(&c, CALL_READ, id, f->path);
	c.length = CALL_ALL;
	if (sandbox_file_call(sb, &c, &io, &res) == -1) {
		f->code = b.full ? CODE_TOO_LARGE : sandbox_error(sb)->code;
		free(b.p);
		return;
	}
	f->data = b.p;
	f->len = res.out;
}

int
sandbox_tool_download(struct sandbox *sb, const char *id,
    struct sandbox_tool_file *f, size_t n, size_t max)
{
	size_t	 i;

	for (i = 0; i < n; i++) {
		f[i].data = NULL;
		f[i].len = 0;
		if (batch_path(&f[i]))
			download(sb, id, &f[i], max);
		if (f[i].code != CODE_OK && f[i].code != CODE_INVALID_PATH &&
		    sandbox_error(sb)->lost)
			return (-1);
	}
	return (0);
}
