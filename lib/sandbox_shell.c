/*
 * libsandbox: a command line of an agent.  Its output is held up to a bound;
 * what is beyond goes, from the first byte on, into a file of the sandbox, so
 * that it can be read there in pieces.
 */

#include <sys/types.h>
#include <sys/mman.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox_int.h"

#define SHELL_LINE	65536		/* bytes that go as an argument */
#define SHELL_PIECE	(1 << 20)	/* of the file, written at once */
#define SHELL_TIMEOUT	124		/* as of timeout(1) */

/*
 * The kernel takes 128 KiB of one argument, and no failure is told that a
 * program could tell from one of the shell.  What is longer comes as input.
 */
static const char	 from_input[] =
    "sandboxd_line=$(cat) || exit; "
    "eval \"unset sandboxd_line; $sandboxd_line\" </dev/null";

int
sandbox_tool_shell(const char *line, char *argv[3])
{
	int	 is_long = strlen(line) > SHELL_LINE;

	argv[0] = (char *)(uintptr_t)"/bin/sh";
	argv[1] = (char *)(uintptr_t)"-c";
	argv[2] = (char *)(uintptr_t)(is_long ? from_input : line);
	return (is_long);
}

/* The number of a command is never used again in its sandbox. */
void
sandbox_tool_spill(struct sandbox_tool_output *o)
{
	const char	*n = strrchr(o->exec, '.');

	if (n != NULL)
		snprintf(o->file, sizeof(o->file), "/tmp/.sandboxd-output-%s",
		    n + 1);
}

struct shell {
	struct sandbox			*sb;
	const struct sandbox_tool_command *cmd;
	struct sandbox_tool_output	*o;
	size_t				 size;	/* of o->data */
	size_t				 max;
	uint8_t				*piece;	/* for the file */
	size_t				 piecelen;
	int				 keeps;	/* 1: there is one; -1: no more */
	int				 failed;	/* errno */
};

static int
shell_more(struct shell *s, size_t len)
{
	char	*n;
	size_t	 size;

	if (s->size - s->o->len >= len)
		return (0);
	size = 2 * (s->o->len + len);
	if (size > s->max)
		size = s->max;
	if ((n = realloc(s->o->data, size)) == NULL) {
		s->failed = ENOMEM;
		return (-1);
	}
	s->o->data = n;
	s->size = size;
	return (0);
}

/* Behind what the file has; what it cannot hold is left out from here on. */
static void
file_add(struct shell *s, const uint8_t *p, size_t len)
{
	struct sandbox_error	 err;
	struct proto_result	 res;
	struct proto_call	 c;
	size_t			 n;

	memset(&c, 0, sizeof(c));
	c.sandbox = (char *)(uintptr_t)s->cmd->id;
	c.op = CALL_WRITE;
	c.path = s->o->file;
	c.mode = 0600;
	for (; len > 0 && s->keeps == 1; p += n, len -= n) {
		n = len < CALL_DATA_MAX ? len : CALL_DATA_MAX;
		c.flags = CALL_F_NOFOLLOW |
		    (s->o->kept == 0 ? CALL_F_TRUNC : 0);
		c.offset = s->o->kept;
		c.data.data = (uint8_t *)(uintptr_t)p;
		c.data.len = n;
		err = *sandbox_error(s->sb);
		if (sandbox_file_call(s->sb, &c, NULL, &res) == -1) {
			s->keeps = -1;
			s->sb->err = err;
			s->sb->err.lost = sandbox_fd(s->sb) == -1;
			return;
		}
		s->o->kept += n;
		if (s->o->kept >= SANDBOX_TOOL_KEEP)
			s->keeps = -1;
	}
}

static void
file_flush(struct shell *s)
{
	if (s->keeps == 1)
		file_add(s, s->piece, s->piecelen);
	s->piecelen = 0;
}

/* The first byte that was too many: all that was before goes into a file. */
static void
file_begin(struct shell *s)
{
	s->keeps = -1;
	sandbox_tool_spill(s->o);
	if (*s->o->file == '\0' || (s->piece = malloc(SHELL_PIECE)) == NULL)
		return;
	s->keeps = 1;
	file_add(s, (const uint8_t *)s->o->data, s->o->len);
}

static void
file_put(struct shell *s, const uint8_t *p, size_t len)
{
	size_t	 n;

	for (; len > 0 && s->keeps == 1; p += n, len -= n) {
		n = SHELL_PIECE - s->piecelen;
		if (n > len)
			n = len;
		memcpy(s->piece + s->piecelen, p, n);
		if ((s->piecelen += n) == SHELL_PIECE)
			file_flush(s);
	}
}

static int
shell_out(void *arg, int stream, const void *data, size_t len)
{
	struct shell	*s = arg;
	size_t		 n = s->max - s->o->len;

	(void)stream;
	s->o->size += len;
	if (n > len)
		n = len;
	if (shell_more(s, n) == -1) {
		errno = s->failed;
		return (-1);
	}
	if (n < len && s->keeps == 0)
		file_begin(s);
	if (n > 0)
		memcpy(s->o->data + s->o->len, data, n);
	s->o->len += n;
	if (n < len)
		file_put(s, data, len);
	return (0);
}

static void
shell_note(void *arg, const struct sandbox_answer *a)
{
	struct shell	*s = arg;

	if (a->type == PROTO_ACCEPTED)
		strlcpy(s->o->exec, a->u.accepted.id, sizeof(s->o->exec));
	else if (a->type == PROTO_GAP)
		s->o->truncated = 1;
}

/* The line as a file that can be read, for what is no argument; or -1. */
static int
shell_input(const char *line)
{
	size_t	 len = strlen(line);
	ssize_t	 n;
	int	 fd;

	if ((fd = memfd_create("line", MFD_CLOEXEC)) == -1)
		return (-1);
	for (; len > 0; line += n, len -= n)
		if ((n = write(fd, line, len)) == -1) {
			close(fd);
			return (-1);
		}
	if (lseek(fd, 0, SEEK_SET) == -1) {
		close(fd);
		return (-1);
	}
	return (fd);
}

/* A bound is not to make a character of UTF-8 into none. */
static void
shell_cut(struct sandbox_tool_output *o)
{
	size_t	 n = o->len, i;
	uint8_t	 c;

	o->truncated = 1;
	for (i = 1; i <= 3 && i <= n; i++) {
		c = o->data[n - i];
		if ((c & 0xc0) == 0x80)
			continue;
		if (c >= 0xc0 && i < (c >= 0xf0 ? 4U : c >= 0xe0 ? 3U : 2U))
			o->len = n - i;
		return;
	}
}

int
sandbox_tool_ended(struct sandbox_tool_output *o,
    const struct proto_exec_info *info)
{
	o->code = -1;
	strlcpy(o->exec, info->id, sizeof(o->exec));
	if (o->size > o->len)
		shell_cut(o);
	if (strcmp(info->state, "exited") == 0)
		o->code = info->code & 0xff;
	else if (strcmp(info->state, "signaled") == 0)
		o->code = 128 + info->code;
	else if (strcmp(info->state, "timed_out") == 0) {
		o->code = SHELL_TIMEOUT;
		o->timed_out = 1;
	} else if (strcmp(info->state, "failed") == 0)
		return (-1);
	return (0);
}

static int
shell_run(struct shell *s, const struct sandbox_tool_command *c, int in)
{
	char			*argv[3];
	struct proto_exec_info	 info;
	struct proto_exec	 x;
	struct sandbox_io	 io;
	int			 ret;

	memset(&x, 0, sizeof(x));
	memset(&io, 0, sizeof(io));
	(void)sandbox_tool_shell(c->line, argv);
	x.sandbox = (char *)(uintptr_t)c->id;
	x.argv.v = argv;
	x.argv.n = 3;
	x.env = c->env;
	x.dir = (char *)(uintptr_t)(c->dir == NULL ? "" : c->dir);
	if (c->user != NULL &&
	    strlcpy(x.user, c->user, sizeof(x.user)) >= sizeof(x.user))
		return (sandbox_fail(s->sb, CODE_LIMIT_EXCEEDED,
		    "invalid user: too long: the limit is %zu",
		    sizeof(x.user) - 1));
	if (c->reason != NULL && strlcpy(x.reason, c->reason,
	    sizeof(x.reason)) >= sizeof(x.reason))
		return (sandbox_fail(s->sb, CODE_LIMIT_EXCEEDED,
		    "invalid reason: too long: the limit is %zu",
		    sizeof(x.reason) - 1));
	x.timeout = c->timeout;
	x.flags = EXEC_ATTACH | EXEC_MERGE;
	io.in = in;
	io.out = shell_out;
	io.note = shell_note;
	io.wakefd = -1;
	io.arg = s;
	io.again = c->again;
	if (sandbox_run(s->sb, &x, &io, &info) == -1)
		return (-1);
	if ((ret = sandbox_tool_ended(s->o, &info)) == -1)
		(void)sandbox_fail(s->sb, CODE_INVALID_ARGUMENT,
		    "/bin/sh: %.200s", info.cause);
	msg_clear(&info, proto_def(PROTO_EXEC_INFO));
	return (ret);
}

int
sandbox_tool_execute(struct sandbox *sb, const struct sandbox_tool_command *c,
    struct sandbox_tool_output *o)
{
	struct shell	 s = { .sb = sb, .cmd = c, .o = o };
	char		*argv[3];
	int		 in = -1, ret;

	memset(o, 0, sizeof(*o));
	s.max = c->max == 0 ? SANDBOX_TOOL_OUTPUT : c->max;
	if (sandbox_tool_shell(c->line, argv) == 1 &&
	    (in = shell_input(c->line)) == -1)
		return (sandbox_fail(sb, CODE_INTERNAL, "%s",
		    strerror(errno)));
	ret = shell_run(&s, c, in);
	if (ret == 0)
		file_flush(&s);
	if (o->kept == 0)
		o->file[0] = '\0';
	free(s.piece);
	if (in != -1)
		close(in);
	if (ret == -1) {
		free(o->data);
		memset(o, 0, sizeof(*o));
	}
	return (ret);
}
