/*
 * cmd_tty.c: commands on a terminal: attach, shell, and exec -i.
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandboxctl.h"

/* A command on our terminal. */
struct seat {
	struct ctl		*ctl;
	char			 owner[16];	/* "uid/" as it was written */
	char			 exec[EXEC_ID_MAX + 17];
	struct term_keys	 keys;
	uint64_t		 shown;		/* bytes of its output */
	int			 resize;	/* its size is to be told */
	int			 leave;		/* the keys for that came */
	int			 detached;
	int			 cancelled;
	int			 error;		/* errno of our output */
};

static void
seat_resize(struct seat *s, struct sandbox *conn)
{
	struct proto_resize	 r;

	if (!s->resize || *s->exec == '\0')
		return;
	memset(&r, 0, sizeof(r));
	r.exec = s->exec;
	if (term_size(&r.rows, &r.cols) == 0 &&
	    sandbox_send(conn, PROTO_RESIZE, &r, NULL) == -1)
		return;		/* told again when it is back */
	s->resize = 0;
}

/* Who comes back wants to see it all: a change of size has it painted. */
static void
seat_repaint(struct seat *s, struct sandbox *conn)
{
	struct proto_resize	 r;

	memset(&r, 0, sizeof(r));
	r.exec = s->exec;
	if (term_size(&r.rows, &r.cols) == -1)
		return;
	r.rows += r.rows == 1 ? 1 : -1;
	if (sandbox_send(conn, PROTO_RESIZE, &r, NULL) == 0)
		s->resize = 1;
}

static void
seat_cancel(struct seat *s, struct sandbox *conn)
{
	exec_cancel(conn, s->exec, &s->cancelled);
}

/* -1: it is done, give up the rest. */
static int
seat_leave(struct seat *s, struct sandbox *conn)
{
	struct proto_detach	 d;

	s->leave = 0;
	if (*s->exec == '\0')
		return (0);
	memset(&d, 0, sizeof(d));
	d.exec = s->exec;
	d.shown = s->shown;
	if (sandbox_detach(conn, &d) == -1) {
		/* If it has ended just now, that comes next. */
		if (sandbox_error(conn)->code != CODE_WRONG_STATE)
			fprintf(stderr, "\r\nsandboxctl: cannot detach: "
			    "%s\r\n", sandbox_error(conn)->text);
		return (0);
	}
	s->detached = 1;
	return (-1);
}

/* What signals have said. */
static void
seat_signals(struct seat *s, struct sandbox *conn)
{
	if (term_news())
		s->resize = 1;
	seat_resize(s, conn);
	if (signals_got() != 0)
		seat_cancel(s, conn);
}

static void
seat_woken(void *arg)
{
	struct seat	*s = arg;

	seat_signals(s, s->ctl->conn);
}

static int
seat_wake(void *arg, struct sandbox *conn,
    const char *exec __attribute__((__unused__)))
{
	struct seat	*s = arg;

	signals_drain();
	seat_signals(s, conn);
	return (s->leave ? seat_leave(s, conn) : 0);
}

static ssize_t
seat_read(void *arg, void *buf, size_t size)
{
	static unsigned char	 in[1024];
	struct seat		*s = arg;
	size_t			 n, room = size;
	ssize_t			 len;

	/* What was held back must fit as well. */
	if (room <= TERM_KEYS_MAX) {
		errno = EAGAIN;
		return (-1);
	}
	room -= TERM_KEYS_MAX;
	len = read(STDIN_FILENO, in, room < sizeof(in) ? room : sizeof(in));
	if (len <= 0)
		return (len);
	(void)term_filter(&s->keys, in, len, buf, &n);
	if (s->keys.n > 0 && s->keys.held == s->keys.n) {
		s->keys.held = 0;
		s->leave = 1;
		signals_wake();
	}
	if (n == 0) {
		errno = EAGAIN;
		return (-1);
	}
	return (n);
}

static int
seat_write(void *arg, int stream __attribute__((__unused__)),
    const void *data, size_t len)
{
	struct seat	*s = arg;

	if (s->error != 0)
		return (0);
	if (exec_write(STDOUT_FILENO, data, len, seat_woken, s) == 0) {
		s->shown += len;
		return (0);
	}
	s->error = errno;
	/* The screen is gone, and with it who looked at it. */
	seat_cancel(s, s->ctl->conn);
	return (0);
}

static void
seat_note(void *arg, const struct sandbox_answer *a)
{
	struct seat	*s = arg;

	switch (a->type) {
	case PROTO_ACCEPTED:
		snprintf(s->exec, sizeof(s->exec), "%s%s", s->owner,
		    a->u.accepted.id);
		signals_wake();
		break;
	case PROTO_GAP:
		s->shown = a->u.gap.to;
		fprintf(stderr, "\r\nsandboxctl: bytes %llu to %llu were "
		    "dropped\r\n", (unsigned long long)a->u.gap.from,
		    (unsigned long long)a->u.gap.to);
		break;
	case PROTO_STALLED:
		if (a->u.stalled.stream == 0)
			fprintf(stderr, "\r\nsandboxctl: another client "
			    "types from here on\r\n");
		break;
	}
}

static void
seat_link(void *arg, int up)
{
	struct seat	*s = arg;

	term_away(!up);
	if (up)
		s->resize = 1;
	else
		fprintf(stderr, "\nsandboxctl: the daemon is away: waiting "
		    "for it\n");
}

/* 0, or an exit status and the error told. */
static int
seat_begin(struct ctl *ctl, struct seat *s, struct sandbox_io *io,
    const char *name)
{
	const char	*slash;

	memset(s, 0, sizeof(*s));
	memset(io, 0, sizeof(*io));
	if (!isatty(STDIN_FILENO))
		return (ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "",
		    "standard input is no terminal: a command without one "
		    "is run by exec without -i"));
	s->ctl = ctl;
	(void)term_keys(&s->keys, ctl->keys != NULL ? ctl->keys : TERM_KEYS);
	if ((slash = strchr(name, '/')) != NULL &&
	    (size_t)(slash - name) < sizeof(s->owner) - 1)
		memcpy(s->owner, name, slash - name + 1);
	io->in = STDIN_FILENO;
	io->read = seat_read;
	io->out = seat_write;
	io->note = seat_note;
	io->wake = seat_wake;
	io->link = seat_link;
	io->arg = s;
	io->again = CTL_AGAIN;
	signal(SIGPIPE, SIG_IGN);
	if ((io->wakefd = signals_catch()) == -1 || term_begin() == -1)
		return (ctl_errno(ctl, "terminal"));
	return (0);
}

static int
seat_end(struct seat *s, int ret, const struct proto_exec_info *info)
{
	struct proto_detach	 d;
	struct ctl		*ctl = s->ctl;
	int			 status, judged = 0;

	term_end();
	if (s->detached && ctl->json) {
		memset(&d, 0, sizeof(d));
		d.exec = s->exec;
		d.shown = s->shown;
		json_proto(stdout, PROTO_DETACH, &d);
		return (0);
	}
	if (s->detached) {
		fprintf(stderr, "\nsandboxctl: detached: sandboxctl attach "
		    "%s\n", s->exec);
		return (0);
	}
	if (ret == -1)
		return (ctl_error(ctl));
	if (s->error != 0) {
		errno = s->error;
		return (ctl_errno(ctl, "output"));
	}
	if (ctl->changes && strcmp(info->state, "failed") != 0)
		judged = changes_tell(ctl, s->exec);
	status = exec_status(ctl, info);
	return (judged != 0 ? judged : status);
}

/* Programs draw by what they believe ours to be. */
static int
terminal_fill(struct ctl *ctl, struct proto_exec *req, char *sandbox,
    char **argv, int argc)
{
	const char	*term = getenv("TERM");

	if (term != NULL && *term != '\0' &&
	    kvv_get(&ctl->env, "TERM") == NULL &&
	    kvv_set(&ctl->env, "TERM", term) == -1)
		return (ctl_errno(ctl, "environment"));
	if (exec_fill(ctl, req, sandbox, argv, argc) == -1)
		return (EXIT_OURS);
	req->flags |= EXEC_INPUT | EXEC_MERGE | EXEC_TTY;
	if (term_size(&req->rows, &req->cols) == -1) {
		req->rows = TTY_ROWS;
		req->cols = TTY_COLS;
	}
	return (0);
}

int
exec_terminal(struct ctl *ctl, char *sandbox, char **argv, int argc)
{
	struct proto_exec	 req;
	struct proto_exec_info	 info;
	struct sandbox_io	 io;
	struct seat		 s;
	int			 status;

	if ((status = terminal_fill(ctl, &req, sandbox, argv, argc)) != 0)
		return (status);
	if (ctl->detach)
		return (exec_detached(ctl, &req));
	if ((status = seat_begin(ctl, &s, &io, sandbox)) != 0)
		return (status);
	req.flags |= EXEC_ATTACH;
	memset(&info, 0, sizeof(info));
	status = seat_end(&s, sandbox_run(ctl->conn, &req, &io, &info),
	    &info);
	msg_clear(&info, proto_def(PROTO_EXEC_INFO));
	return (status);
}

int
cmd_shell(struct ctl *ctl)
{
	/* The better one, if the image has it. */
	static char	 sh[] = "sh", c[] = "-c",
			 text[] = "exec \"$(command -v bash || echo sh)\"";
	char		*argv[] = { sh, c, text, NULL };

	if (ctl->argc > 1)
		return (exec_terminal(ctl, ctl->argv[0], ctl->argv + 1,
		    ctl->argc - 1));
	return (exec_terminal(ctl, ctl->argv[0], argv, 3));
}

/* An exec of the list that is looked for. */
struct wanted {
	const char	*id;
	uint32_t	 tty;
	uint64_t	 shown;
};

static int
wanted_look(struct sandbox_answer *a, void *arg)
{
	struct wanted	*w = arg;

	if (a->type == PROTO_EXEC_INFO &&
	    strcmp(a->u.exec_info.id, w->id) == 0) {
		w->tty = a->u.exec_info.tty;
		w->shown = a->u.exec_info.shown;
	}
	return (0);
}

/* What it is: of one that has ended only its output is left. */
static int
wanted_find(struct ctl *ctl, struct wanted *w)
{
	struct proto_ps	 ps;
	char		 box[EXEC_ID_MAX + 17], *dot;

	memset(w, 0, sizeof(*w));
	w->id = strchr(ctl->argv[0], '/');
	w->id = w->id == NULL ? ctl->argv[0] : w->id + 1;
	if (strlcpy(box, ctl->argv[0], sizeof(box)) >= sizeof(box) ||
	    (dot = strrchr(box, '.')) == NULL)
		return (0);	/* the daemon has the words for it */
	*dot = '\0';
	memset(&ps, 0, sizeof(ps));
	ps.sandbox = box;
	return (sandbox_ps(ctl->conn, &ps, wanted_look, w));
}

static int
attach_terminal(struct ctl *ctl, struct proto_attach *at)
{
	struct proto_exec_info	 info;
	struct sandbox_io	 io;
	struct seat		 s;
	int			 status;

	if ((status = seat_begin(ctl, &s, &io, at->exec)) != 0)
		return (status);
	snprintf(s.exec, sizeof(s.exec), "%s", at->exec);
	s.shown = at->offset1;
	seat_repaint(&s, ctl->conn);
	signals_wake();
	at->streams = 1 << 0 | 1 << 1;
	memset(&info, 0, sizeof(info));
	status = seat_end(&s, sandbox_attach(ctl->conn, at, &io, &info),
	    &info);
	msg_clear(&info, proto_def(PROTO_EXEC_INFO));
	return (status);
}

int
cmd_attach(struct ctl *ctl)
{
	struct proto_attach	 at;
	struct wanted		 w;

	memset(&at, 0, sizeof(at));
	at.exec = ctl->argv[0];
	if (wanted_find(ctl, &w) == -1)
		return (ctl_error(ctl));
	at.offset1 = ctl->given ? ctl->from : w.shown;
	if (ctl->readonly)
		return (logs_watch(ctl, &at));
	if (w.tty)
		return (attach_terminal(ctl, &at));
	return (exec_attach(ctl, &at));
}
