/*
 * cmd_exec.c: commands about commands: exec, kill, logs, ps, wait.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "sandboxctl.h"
#include "gproto.h"
#include "spec.h"

/* One attached command, or one reader of its logs. */
struct attached {
	struct ctl	*ctl;
	char		 owner[16];	/* "uid/" as the user wrote it */
	char		 exec[EXEC_ID_MAX + 17]; /* "" until accepted */
	int		 watches;	/* it is not ours to end */
	int		 aside;		/* all that it says is no result */
	int		 cancelled;	/* KILL was sent */
	int		 error;		/* errno of our output */
};

/* As if SIGPIPE had not been ignored. */
static int
die_of_pipe(void)
{
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
	return (EXIT_SIGNAL + SIGPIPE);
}

/* Ends it, once, if it is one already. */
void
exec_cancel(struct sandbox *conn, char *exec, int *cancelled)
{
	struct proto_kill	 req;

	if (*cancelled || *exec == '\0')
		return;
	memset(&req, 0, sizeof(req));
	req.exec = exec;
	/* If it cannot be sent, the connection's loss is told elsewhere. */
	if (sandbox_send(conn, PROTO_KILL, &req, NULL) == 0)
		*cancelled = 1;
}

static void
attached_cancel(struct attached *at, struct sandbox *conn)
{
	exec_cancel(conn, at->exec, &at->cancelled);
}

/*
 * Every byte, at once; -1 with errno.  A reader that stands still must not
 * hold up what a signal has to do.
 */
int
exec_write(int fd, const void *data, size_t len, void (*woken)(void *),
    void *arg)
{
	struct pollfd	 pfd;
	const char	*p = data;
	ssize_t		 n;

	while (len > 0) {
		if ((n = write(fd, p, len)) >= 0) {
			p += n;
			/* A signal leaves it with what was taken so far. */
			if ((len -= n) > 0)
				woken(arg);
			continue;
		}
		if (errno == EAGAIN) {
			pfd.fd = fd;
			pfd.events = POLLOUT;
			if (poll(&pfd, 1, -1) != -1)
				continue;
		}
		if (errno != EINTR)
			return (-1);
		woken(arg);
	}
	return (0);
}

static void
attached_woken(void *arg)
{
	struct attached	*at = arg;

	if (signals_got() != 0)
		attached_cancel(at, at->ctl->conn);
}

/* Output of the command, to where it belongs. */
static int
attached_out(void *arg, int stream, const void *data, size_t len)
{
	struct attached	*at = arg;
	int		 fd = STDOUT_FILENO;

	/* One stream that was asked for alone is what is to be read. */
	if (at->aside || (stream == 2 && at->ctl->stream == 0))
		fd = STDERR_FILENO;
	if (at->error == 0) {
		if (exec_write(fd, data, len, attached_woken, at) == 0)
			return (0);
		at->error = errno;
	}
	if (at->watches)
		return (-1);
	/*
	 * As in a pipeline, a command that nobody listens to has no purpose.
	 * What it still writes is dropped until its end is told.
	 */
	attached_cancel(at, at->ctl->conn);
	return (0);
}

static void
attached_note(void *arg, const struct sandbox_answer *a)
{
	struct attached	*at = arg;
	const char	*name;

	switch (a->type) {
	case PROTO_ACCEPTED:
		snprintf(at->exec, sizeof(at->exec), "%s%s", at->owner,
		    a->u.accepted.id);
		/* The signal came before there was something to cancel. */
		if (signals_got() != 0)
			signals_wake();
		break;
	case PROTO_GAP:
		name = a->u.gap.stream == 2 ? "stderr" : "stdout";
		fprintf(stderr, "sandboxctl: %s: bytes %llu to %llu were "
		    "dropped\n", name, (unsigned long long)a->u.gap.from,
		    (unsigned long long)a->u.gap.to);
		break;
	case PROTO_STALLED:
		fprintf(stderr, a->u.stalled.stream == 0 ?
		    "sandboxctl: another client writes the input from here "
		    "on\n" :
		    "sandboxctl: output is read too slowly: the "
		    "command goes on without waiting for it\n");
		break;
	}
}

static int
attached_wake(void *arg, struct sandbox *conn,
    const char *exec __attribute__((__unused__)))
{
	struct attached	*at = arg;

	signals_drain();
	attached_cancel(at, conn);
	return (0);
}

/* It never ran: tell why, and which. */
static int
exec_failed(struct ctl *ctl, const struct proto_exec_info *info)
{
	const char	*what = info->id;
	char		 text[TEXT_MAX + 260];
	int		 dir;

	dir = strstr(info->cause, gp_cause_text(GP_NS_NODIR)) != NULL ||
	    strstr(info->cause, gp_cause_text(GP_NS_DIRACCES)) != NULL;
	if (dir && ctl->dir != NULL)
		what = ctl->dir;
	else if (!dir && info->argv.n > 0)
		what = info->argv.v[0];
	snprintf(text, sizeof(text), "%.255s: %s", what, info->cause);
	ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "", text);
	/* A directory that is missing is no missing command. */
	if (info->errnum == ENOENT && !dir)
		return (EXIT_NOTFOUND);
	return (EXIT_CANNOT);
}

/* Tells why, where the command itself did not, and returns our status. */
int
exec_status(struct ctl *ctl, const struct proto_exec_info *info)
{
	/* The status is the command's all the same. */
	if (strncmp(info->cause, "out_of_memory", 13) == 0)
		(void)ctl_error_code(ctl, CODE_LIMIT_EXCEEDED, "memory",
		    info->cause);
	if (strcmp(info->state, "exited") == 0)
		return (info->code & 0xff);
	if (strcmp(info->state, "signaled") == 0)
		return (EXIT_SIGNAL + info->code);
	if (strcmp(info->state, "timed_out") == 0)
		return (EXIT_TIMEOUT);
	if (strcmp(info->state, "cancelled") == 0)
		return (EXIT_SIGNAL + (signals_got() != 0 ? signals_got() :
		    SIGTERM));
	if (strcmp(info->state, "failed") == 0 && info->errnum != 0)
		return (exec_failed(ctl, info));
	return (ctl_error_code(ctl, CODE_INTERNAL, "", *info->cause == '\0' ?
	    "the end of the command is not known" : info->cause));
}

/* Why, for the event log.  -1: told. */
static int
exec_reason(struct ctl *ctl, struct proto_exec *req)
{
	if (ctl->reason == NULL || strlcpy(req->reason, ctl->reason,
	    sizeof(req->reason)) < sizeof(req->reason))
		return (0);
	(void)ctl_too_long(ctl, "reason", sizeof(req->reason) - 1);
	return (-1);
}

int
exec_fill(struct ctl *ctl, struct proto_exec *req, char *sandbox, char **argv,
    int argc)
{
	memset(req, 0, sizeof(*req));
	req->sandbox = sandbox;
	req->argv.v = argv;
	req->argv.n = argc;
	req->timeout = ctl->timeout;
	req->dir = (char *)(uintptr_t)"";
	/* Who says which changes wants to be told. */
	if (ctl->include.n + ctl->outside.n > 0 || ctl->gate != 0)
		ctl->changes = 1;
	req->flags = ctl->changes ? EXEC_CHANGES : 0;
	req->include = ctl->include;
	req->exclude = ctl->outside;
	if (exec_reason(ctl, req) == -1)
		return (-1);
	if (ctl->gate != 0 && ctl->detach) {
		(void)ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "", "who "
		    "judges a command by its changes waits for it, without "
		    "-d");
		return (-1);
	}
	/* run gave these to the sandbox. */
	if (ctl->cmd->run == cmd_run)
		return (0);
	req->env = ctl->env;
	if (ctl->dir != NULL)
		req->dir = (char *)(uintptr_t)ctl->dir;
	if (ctl->user != NULL && strlcpy(req->user, ctl->user,
	    sizeof(req->user)) >= sizeof(req->user))
		return (ctl_too_long(ctl, "user", sizeof(req->user) - 1));
	return (0);
}

/*
 * run: what the daemon would refuse, while there is no sandbox yet that is
 * then made for nothing.  0, or -1 and the error told.
 */
int
exec_check(struct ctl *ctl, char **argv, int argc)
{
	struct proto_exec	 req;
	struct spec_error	 e;
	char			 any[] = "any", text[TEXT_MAX + 1];

	if (exec_fill(ctl, &req, any, argv, argc) == -1)
		return (-1);
	if (spec_check(PROTO_EXEC, &req, &e) == -1) {
		ctl_error_code(ctl, e.code, e.field, e.text);
		return (-1);
	}
	if (req.timeout > EXEC_TIMEOUT_MAX) {
		snprintf(text, sizeof(text), "invalid timeout: too large: the "
		    "limit is %llu", (unsigned long long)EXEC_TIMEOUT_MAX);
		ctl_error_code(ctl, CODE_LIMIT_EXCEEDED, "timeout", text);
		return (-1);
	}
	return (0);
}

/* Our own three streams.  0, or an exit status and the error told. */
static int
attached_begin(struct ctl *ctl, struct attached *at, struct sandbox_io *io,
    const char *name)
{
	const char	*slash;

	memset(at, 0, sizeof(*at));
	memset(io, 0, sizeof(*io));
	at->ctl = ctl;
	if ((slash = strchr(name, '/')) != NULL &&
	    slash - name < (ptrdiff_t)sizeof(at->owner) - 1)
		memcpy(at->owner, name, slash - name + 1);
	io->in = STDIN_FILENO;
	io->out = attached_out;
	io->note = attached_note;
	io->wake = attached_wake;
	io->arg = at;
	io->again = CTL_AGAIN;
	/* Told by write(2), so that the command can be cancelled. */
	signal(SIGPIPE, SIG_IGN);
	if ((io->wakefd = signals_catch()) == -1)
		return (ctl_errno(ctl, "signals"));
	if (signals_got() != 0)
		return (EXIT_SIGNAL + signals_got());
	return (0);
}

/* Its status, from how the call and our output went. */
static int
attached_end(struct attached *at, int ret, struct proto_exec_info *info)
{
	struct ctl	*ctl = at->ctl;
	int		 status, judged = 0;

	if (ret == 0 && ctl->changes && strcmp(info->state, "failed") != 0)
		judged = changes_tell(ctl, at->exec);
	if (ret == -1)
		status = ctl_error(ctl);
	else if (at->error == EPIPE)
		/* It has something to do yet. */
		status = ctl->cmd->run == cmd_run ? EXIT_SIGNAL + SIGPIPE :
		    die_of_pipe();
	else if (at->error != 0) {
		errno = at->error;
		status = ctl_errno(ctl, "output");
	} else
		status = exec_status(ctl, info);
	/* A pipe that has closed, or a full disk here, is said before. */
	if (ret == 0 && at->error == 0 && judged != 0)
		status = judged;
	msg_clear(info, proto_def(PROTO_EXEC_INFO));
	return (status);
}

/* Run a command with our own three streams; its status. */
int
exec_attached(struct ctl *ctl, char *sandbox, char **argv, int argc)
{
	struct proto_exec	 req;
	struct proto_exec_info	 info;
	struct sandbox_io	 io;
	struct attached		 at;
	int			 status;

	if (exec_fill(ctl, &req, sandbox, argv, argc) == -1)
		return (EXIT_OURS);
	req.flags |= EXEC_ATTACH | EXEC_INPUT;
	if ((status = attached_begin(ctl, &at, &io, sandbox)) != 0)
		return (status);
	memset(&info, 0, sizeof(info));
	return (attached_end(&at, sandbox_run(ctl->conn, &req, &io, &info),
	    &info));
}

/*
 * The command line that makes a sandbox fit for use, before anybody has it:
 * with no input, and what it says is not what sandboxctl is asked for.
 */
int
exec_prepare(struct ctl *ctl, char *sandbox, const char *line)
{
	char			*argv[] = { (char *)(uintptr_t)"/bin/sh",
				    (char *)(uintptr_t)"-c",
				    (char *)(uintptr_t)line };
	struct proto_exec	 req;
	struct proto_exec_info	 info;
	struct sandbox_io	 io;
	struct attached		 at;
	int			 status;

	memset(&req, 0, sizeof(req));
	req.sandbox = sandbox;
	req.argv.v = argv;
	req.argv.n = sizeof(argv) / sizeof(argv[0]);
	req.dir = (char *)(uintptr_t)"";
	req.flags = EXEC_ATTACH;
	if (exec_reason(ctl, &req) == -1)
		return (EXIT_OURS);
	if ((status = attached_begin(ctl, &at, &io, sandbox)) != 0)
		return (status);
	io.in = -1;
	at.aside = 1;
	memset(&info, 0, sizeof(info));
	if (sandbox_run(ctl->conn, &req, &io, &info) == -1)
		return (ctl_error(ctl));
	status = exec_status(ctl, &info);
	msg_clear(&info, proto_def(PROTO_EXEC_INFO));
	return (status);
}

/* One that runs already, on no terminal. */
int
exec_attach(struct ctl *ctl, struct proto_attach *req)
{
	struct proto_exec_info	 info;
	struct sandbox_io	 io;
	struct attached		 at;
	int			 status;

	if ((status = attached_begin(ctl, &at, &io, req->exec)) != 0)
		return (status);
	snprintf(at.exec, sizeof(at.exec), "%s", req->exec);
	req->streams = 1 << 0 | 1 << 1 | 1 << 2;
	memset(&info, 0, sizeof(info));
	return (attached_end(&at, sandbox_attach(ctl->conn, req, &io, &info),
	    &info));
}

int
cmd_exec(struct ctl *ctl)
{
	struct proto_exec	 req;

	if (ctl->interactive)
		return (exec_terminal(ctl, ctl->argv[0], ctl->argv + 1,
		    ctl->argc - 1));
	if (!ctl->detach)
		return (exec_attached(ctl, ctl->argv[0], ctl->argv + 1,
		    ctl->argc - 1));
	if (exec_fill(ctl, &req, ctl->argv[0], ctl->argv + 1,
	    ctl->argc - 1) == -1)
		return (EXIT_OURS);
	return (exec_detached(ctl, &req));
}

/* Starts it, and tells its name. */
int
exec_detached(struct ctl *ctl, struct proto_exec *req)
{
	struct proto_accepted	 acc;

	memset(&acc, 0, sizeof(acc));
	if (sandbox_exec(ctl->conn, req, &acc) == -1)
		return (ctl_error(ctl));
	if (ctl->json)
		json_proto(stdout, PROTO_ACCEPTED, &acc);
	else
		printf("%s\n", acc.id);
	return (0);
}

int
cmd_kill(struct ctl *ctl)
{
	struct proto_kill	 req;

	memset(&req, 0, sizeof(req));
	req.exec = ctl->argv[0];
	req.signo = ctl->signo;
	if (sandbox_kill(ctl->conn, &req) == -1)
		return (ctl_error(ctl));
	return (0);
}

static int
logs_read(struct ctl *ctl, struct proto_attach *req)
{
	struct sandbox_io	 io;
	struct attached		 at;

	memset(&io, 0, sizeof(io));
	memset(&at, 0, sizeof(at));
	at.ctl = ctl;
	at.watches = 1;
	io.in = -1;
	io.out = attached_out;
	io.note = attached_note;
	io.wakefd = -1;
	io.arg = &at;
	io.again = CTL_AGAIN;
	if (sandbox_logs(ctl->conn, req, &io) == 0)
		return (0);
	if (at.error != 0) {
		errno = at.error;
		return (ctl_errno(ctl, "output"));
	}
	return (ctl_error(ctl));
}

int
cmd_logs(struct ctl *ctl)
{
	struct proto_attach	 req;

	memset(&req, 0, sizeof(req));
	req.exec = ctl->argv[0];
	req.streams = ctl->stream == 0 ? 1 << 1 | 1 << 2 : 1 << ctl->stream;
	req.follow = ctl->follow;
	return (logs_read(ctl, &req));
}

/* To its end, without taking part in it. */
int
logs_watch(struct ctl *ctl, struct proto_attach *req)
{
	req->streams = 1 << 1 | 1 << 2;
	req->follow = 1;
	return (logs_read(ctl, req));
}

struct processes {
	struct ctl	*ctl;
	struct table	*table;
};

static int
ps_print(struct sandbox_answer *a, void *arg)
{
	struct processes	*p = arg;

	if (a->type != PROTO_EXEC_INFO)
		return (0);
	if (p->ctl->json)
		json_proto(stdout, PROTO_EXEC_INFO, &a->u.exec_info);
	else
		out_ps_add(p->table, &a->u.exec_info);
	return (0);
}

int
cmd_ps(struct ctl *ctl)
{
	struct proto_ps		 req;
	struct processes	 p;
	int			 ret;

	memset(&req, 0, sizeof(req));
	req.sandbox = ctl->argc == 1 ? ctl->argv[0] : (char *)(uintptr_t)"";
	req.all = ctl->all;
	p.ctl = ctl;
	p.table = out_ps_new();
	if ((ret = sandbox_ps(ctl->conn, &req, ps_print, &p)) == -1)
		ctl_error(ctl);
	else if (!ctl->json)
		table_print(p.table, stdout);
	table_free(p.table);
	return (ret == -1 ? ctl->failed : 0);
}

/* What else than its end or its error a wait may meet. */
static int
wait_failed(struct ctl *ctl)
{
	enum code	 code = sandbox_error(ctl->conn)->code;
	int		 status;

	status = ctl_error(ctl);
	if (code == CODE_DEADLINE_EXCEEDED && ctl->timeout != 0)
		return (EXIT_TIMEOUT);
	return (code == CODE_WRONG_STATE ? EXIT_UNREACHABLE : status);
}

static int
wait_state(struct ctl *ctl)
{
	struct proto_sandbox	 box;

	if (sandbox_wait_state(ctl->conn, ctl->argv[0], ctl->argv[1],
	    ctl->timeout, CTL_AGAIN, &box) == -1)
		return (wait_failed(ctl));
	if (ctl->json)
		json_proto(stdout, PROTO_SANDBOX, &box);
	else
		printf("%s\n", box.state);
	msg_clear(&box, proto_def(PROTO_SANDBOX));
	return (0);
}

int
cmd_wait(struct ctl *ctl)
{
	struct proto_exec_info	 info;
	int			 status;

	if (ctl->argc == 2)
		return (wait_state(ctl));
	if (sandbox_wait_exec(ctl->conn, ctl->argv[0], ctl->timeout, CTL_AGAIN,
	    &info) == -1)
		return (wait_failed(ctl));
	if (ctl->json)
		json_proto(stdout, PROTO_EXEC_INFO, &info);
	status = exec_status(ctl, &info);
	msg_clear(&info, proto_def(PROTO_EXEC_INFO));
	return (status);
}
