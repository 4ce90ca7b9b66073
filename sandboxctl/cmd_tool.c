/*
 * cmd_tool.c: the tools of an agent, for adapters of any language.  Each
 * answer is one JSON object on a line, -j or not; libsandbox does the work.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandboxctl.h"
#include "tool_json.h"

#define TOOL_FILE	(1 << 30)	/* of a whole file */
#define TOOL_LINE	(16 << 20)	/* of a command from standard input */
#define TOOL_TIMEOUT	1800000		/* ms, unless told */

static const char *
tool_path(const struct ctl *ctl, int i)
{
	return (i < ctl->argc ? ctl->argv[i] : ".");
}

/* Nothing is shown of what fails half way: it is held until the end. */
struct records {
	struct held	 held;
	int		 n;
};

static int
take_file(void *arg, void *rec)
{
	struct records	*r = arg;

	if (r->n++ > 0)
		fputc(',', r->held.f);
	tool_json_file(r->held.f, rec);
	return (0);
}

static int
take_match(void *arg, void *rec)
{
	struct records	*r = arg;

	if (r->n++ > 0)
		fputc(',', r->held.f);
	tool_json_match(r->held.f, rec);
	return (0);
}

/* Nothing is shown of what fails half way: it is held until the end. */
static int
records_begin(struct ctl *ctl, struct records *r, const char *name)
{
	memset(r, 0, sizeof(*r));
	if (held_open(&r->held) == -1)
		return (ctl_errno(ctl, "memory"));
	fprintf(r->held.f, "{\"%s\":[", name);
	return (0);
}

static int
records_end(struct ctl *ctl, struct records *r, int ret,
    const struct proto_result *res)
{
	if (ret != 0)
		ret = ctl_error(ctl);
	else {
		fprintf(r->held.f, "],");
		tool_json_bounds(r->held.f, res);
		fprintf(r->held.f, "}\n");
		if (held_whole(&r->held) == -1) {
			errno = ENOMEM;
			ret = ctl_errno(ctl, "memory");
		} else
			held_print(&r->held, stdout);
	}
	held_close(&r->held);
	return (ret);
}

int
cmd_tool_ls(struct ctl *ctl)
{
	struct proto_result	 res;
	struct records		 r;
	int			 ret;

	if ((ret = records_begin(ctl, &r, "files")) != 0)
		return (ret);
	ret = sandbox_tool_ls(ctl->conn, ctl->argv[0], tool_path(ctl, 1),
	    ctl->max, take_file, &r, &res);
	return (records_end(ctl, &r, ret, &res));
}

int
cmd_tool_glob(struct ctl *ctl)
{
	struct proto_result	 res;
	struct records		 r;
	int			 ret;

	if ((ret = records_begin(ctl, &r, "files")) != 0)
		return (ret);
	ret = sandbox_tool_glob(ctl->conn, ctl->argv[0], tool_path(ctl, 2),
	    ctl->argv[1], ctl->call, ctl->max, take_file, &r, &res);
	return (records_end(ctl, &r, ret, &res));
}

int
cmd_tool_grep(struct ctl *ctl)
{
	struct sandbox_tool_search	 s;
	struct proto_result		 res;
	struct records			 r;
	int				 ret;

	if ((ret = records_begin(ctl, &r, "matches")) != 0)
		return (ret);
	memset(&s, 0, sizeof(s));
	s.id = ctl->argv[0];
	s.path = tool_path(ctl, 2);
	s.pattern = ctl->argv[1];
	s.filter = ctl->glob;
	s.flags = ctl->call;
	s.context = ctl->context;
	s.max = ctl->max;
	ret = sandbox_tool_grep(ctl->conn, &s, take_match, &r, &res);
	return (records_end(ctl, &r, ret, &res));
}

/* Lines of a file are numbered from 0 where one asks for some of them. */
int
cmd_tool_read(struct ctl *ctl)
{
	struct sandbox_tool_text	 t;

	if (sandbox_tool_read(ctl->conn, ctl->argv[0], ctl->argv[1],
	    ctl->from, ctl->max_set ? ctl->max : SANDBOX_TOOL_LINES,
	    ctl->call, &t) == -1)
		return (ctl_error(ctl));
	tool_json_read(stdout, ctl->argv[1], &t);
	putchar('\n');
	free(t.data);
	return (0);
}

int
cmd_tool_write(struct ctl *ctl)
{
	struct sandbox_tool_file	 f = { .fd = STDIN_FILENO };
	int				 created;

	f.path = ctl->argv[1];
	if (sandbox_tool_write(ctl->conn, ctl->argv[0], &f, &created) == -1)
		return (ctl_error(ctl));
	tool_json_written(stdout, f.path, f.len, created);
	putchar('\n');
	return (0);
}

int
cmd_tool_edit(struct ctl *ctl)
{
	char		**a = ctl->argv;
	uint64_t	  n;

	if (sandbox_tool_edit(ctl->conn, a[0], a[1], a[2], strlen(a[2]),
	    a[3], strlen(a[3]), ctl->call | (ctl->all ? CALL_F_EVERY : 0),
	    &n) == -1)
		return (ctl_error(ctl));
	tool_json_count(stdout, a[1], "occurrences", n);
	putchar('\n');
	return (0);
}

int
cmd_tool_delete(struct ctl *ctl)
{
	uint64_t	 n;

	if (sandbox_tool_delete(ctl->conn, ctl->argv[0], ctl->argv[1],
	    &n) == -1)
		return (ctl_error(ctl));
	tool_json_count(stdout, ctl->argv[1], "deleted", n);
	putchar('\n');
	return (0);
}

/* One's error is its own, and the others go on; the first is the status. */
static int
batch_told(struct ctl *ctl, const struct sandbox_tool_file *f, int content,
    int ret)
{
	if (ret == -1)
		return (ctl_error(ctl));
	tool_json_done(stdout, f, content);
	putchar('\n');
	if (f->code != CODE_OK && ctl->failed == 0)
		ctl->failed = code_exit(f->code);
	return (0);
}

int
cmd_tool_download(struct ctl *ctl)
{
	struct sandbox_tool_file	 f;
	int				 i, ret;

	/* One at a time is one in memory. */
	for (i = 1; i < ctl->argc; i++) {
		memset(&f, 0, sizeof(f));
		f.path = ctl->argv[i];
		f.fd = -1;
		ret = sandbox_tool_download(ctl->conn, ctl->argv[0], &f, 1,
		    TOOL_FILE);
		ret = batch_told(ctl, &f, 1, ret);
		free(f.data);
		if (ret != 0)
			return (ret);
	}
	return (ctl->failed);
}

/* A local file to each path. */
int
cmd_tool_upload(struct ctl *ctl)
{
	struct sandbox_tool_file	 f;
	int				 i, ret;

	if (ctl->argc % 2 == 0)
		return (ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "",
		    "each local file needs a path in the sandbox"));
	for (i = 1; i < ctl->argc; i += 2) {
		memset(&f, 0, sizeof(f));
		f.path = ctl->argv[i + 1];
		ret = 0;
		if ((f.fd = open(ctl->argv[i], O_RDONLY | O_CLOEXEC)) == -1) {
			f.code = errno_code(errno);
			(void)file_errno(ctl, ctl->argv[i]);
		} else {
			ret = sandbox_tool_upload(ctl->conn, ctl->argv[0], &f,
			    1);
			close(f.fd);
		}
		if ((ret = batch_told(ctl, &f, 0, ret)) != 0)
			return (ret);
	}
	return (ctl->failed);
}

/* A line that is too long for an argument; NULL and the error told. */
static char *
execute_line(struct ctl *ctl)
{
	char	*p;
	size_t	 len = 0;
	ssize_t	 n = 1;

	if ((p = malloc(TOOL_LINE + 1)) == NULL) {
		(void)ctl_errno(ctl, "memory");
		return (NULL);
	}
	while (n != 0 && len <= TOOL_LINE) {
		n = read(STDIN_FILENO, p + len, TOOL_LINE + 1 - len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1) {
			(void)ctl_errno(ctl, "standard input");
			free(p);
			return (NULL);
		}
		len += n;
	}
	if (len <= TOOL_LINE && memchr(p, '\0', len) == NULL) {
		p[len] = '\0';
		return (p);
	}
	(void)ctl_error_code(ctl, len > TOOL_LINE ? CODE_TOO_LARGE :
	    CODE_INVALID_ARGUMENT, "", len > TOOL_LINE ?
	    "the command is longer than 16777216 bytes" :
	    "the command has a NUL");
	free(p);
	return (NULL);
}

int
cmd_tool_execute(struct ctl *ctl)
{
	struct sandbox_tool_command	 c;
	struct sandbox_tool_output	 o;
	char				*line = NULL;
	int				 ret;

	memset(&c, 0, sizeof(c));
	c.id = ctl->argv[0];
	c.line = ctl->argv[1];
	if (strcmp(c.line, "-") == 0 &&
	    (c.line = line = execute_line(ctl)) == NULL)
		return (ctl->failed);
	c.dir = ctl->dir;
	c.env = ctl->env;
	c.user = ctl->user;
	c.reason = ctl->reason;
	c.timeout = ctl->timeout == 0 ? TOOL_TIMEOUT : ctl->timeout;
	c.max = ctl->max;
	c.again = CTL_AGAIN;
	ret = sandbox_tool_execute(ctl->conn, &c, &o);
	free(line);
	if (ret == -1)
		return (ctl_error(ctl));
	tool_json_output(stdout, &o);
	putchar('\n');
	free(o.data);
	return (0);
}
