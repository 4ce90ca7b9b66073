/* libsandbox: whole requests. */

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sandbox_int.h"

#define EVENTS_CREDIT	512	/* events under way; renewed at the half */
#define DUMP_CREDIT	16	/* parts of a dump; the same */
#define COPY_SIZE	(256 * 1024)

int
sandbox_finish(struct sandbox *sb, uint32_t req, sandbox_cb cb, void *arg,
    struct proto_end *end)
{
	struct sandbox_answer	 a;
	int			 n;

	for (;;) {
		if (sandbox_recv_req(sb, req, &a, -1) != 1)
			return (-1);
		switch (a.type) {
		case PROTO_END:
			if (end != NULL)
				*end = a.u.end;
			sandbox_answer_clear(&a);
			return (0);
		case PROTO_ERROR:
			sandbox_set_error(sb, &a.u.error);
			sandbox_answer_clear(&a);
			return (-1);
		default:
			n = cb == NULL ? 0 : cb(&a, arg);
			sandbox_answer_clear(&a);
			/* The rest of the answers has nobody to take it. */
			if (n == -1)
				return (sandbox_lost(sb, CODE_INTERNAL,
				    "given up by the caller"));
		}
	}
}

int
sandbox_call(struct sandbox *sb, uint32_t type, const void *msg,
    sandbox_cb cb, void *arg)
{
	uint32_t	 req;

	if (sandbox_send(sb, type, msg, &req) == -1)
		return (-1);
	return (sandbox_finish(sb, req, cb, arg, NULL));
}

/* What one request is to bring: a structure for each type of answer. */
struct want {
	struct {
		uint32_t	 type;
		void		*out;	/* zeroed at first; NULL: not wanted */
		size_t		 size;
		int		 got;
	}			 v[2];
	sandbox_cb		 cb;	/* for the types not in v */
	void			*arg;
};

static int
take_wanted(struct sandbox_answer *a, void *arg)
{
	struct want	*w = arg;
	size_t		 i;

	for (i = 0; i < 2; i++) {
		if (w->v[i].type != a->type)
			continue;
		/* A second one would leak the first. */
		if (!w->v[i].got && w->v[i].out != NULL) {
			memcpy(w->v[i].out, &a->u, w->v[i].size);
			memset(&a->u, 0, sizeof(a->u));
		}
		w->v[i].got = 1;
		return (0);
	}
	return (w->cb == NULL ? 0 : w->cb(a, w->arg));
}

static void
want_one(struct want *w, size_t i, uint32_t type, void *out, size_t size)
{
	w->v[i].type = type;
	w->v[i].out = out;
	w->v[i].size = size;
	w->v[i].got = 0;
	if (out != NULL)
		memset(out, 0, size);
}

static void
want_undo(struct want *w)
{
	size_t	 i;

	for (i = 0; i < 2; i++)
		if (w->v[i].got && w->v[i].out != NULL)
			msg_clear(w->v[i].out, proto_def(w->v[i].type));
}

/* A call that must bring the answer v[0], or v[1] if `second' is set. */
static int
call_wanted(struct sandbox *sb, uint32_t type, const void *msg,
    struct want *w, int second)
{
	if (sandbox_call(sb, type, msg, take_wanted, w) == -1) {
		want_undo(w);
		return (-1);
	}
	if (!w->v[second].got) {
		want_undo(w);
		return (sandbox_fail(sb, CODE_PROTOCOL,
		    "the daemon left out its answer"));
	}
	return (0);
}

int
sandbox_ping(struct sandbox *sb)
{
	return (sandbox_call(sb, PROTO_PING, NULL, NULL, NULL));
}

int
sandbox_status(struct sandbox *sb, sandbox_cb cb, void *arg,
    struct proto_status_info *info)
{
	struct want	 w;

	memset(&w, 0, sizeof(w));
	w.cb = cb;
	w.arg = arg;
	want_one(&w, 0, PROTO_STATUS_INFO, info, sizeof(*info));
	return (call_wanted(sb, PROTO_STATUS, NULL, &w, 0));
}

static int
change(struct sandbox *sb, uint32_t type, const void *msg, int wait,
    struct proto_accepted *acc, struct proto_sandbox *box)
{
	struct want	 w;

	memset(&w, 0, sizeof(w));
	want_one(&w, 0, PROTO_ACCEPTED, acc, sizeof(*acc));
	want_one(&w, 1, PROTO_SANDBOX, box, sizeof(*box));
	return (call_wanted(sb, type, msg, &w, wait != 0));
}

int
sandbox_create(struct sandbox *sb, const struct proto_create *c,
    struct proto_accepted *acc, struct proto_sandbox *box)
{
	return (change(sb, PROTO_CREATE, c, c->wait, acc, box));
}

int
sandbox_stop(struct sandbox *sb, const struct proto_ref *r,
    struct proto_accepted *acc, struct proto_sandbox *box)
{
	return (change(sb, PROTO_STOP, r, r->wait, acc, box));
}

int
sandbox_resume(struct sandbox *sb, const struct proto_ref *r,
    struct proto_accepted *acc, struct proto_sandbox *box)
{
	return (change(sb, PROTO_RESUME, r, r->wait, acc, box));
}

int
sandbox_pause(struct sandbox *sb, const struct proto_ref *r,
    struct proto_accepted *acc, struct proto_sandbox *box)
{
	return (change(sb, PROTO_PAUSE, r, r->wait, acc, box));
}

int
sandbox_unpause(struct sandbox *sb, const struct proto_ref *r,
    struct proto_accepted *acc, struct proto_sandbox *box)
{
	return (change(sb, PROTO_UNPAUSE, r, r->wait, acc, box));
}

int
sandbox_restart(struct sandbox *sb, const struct proto_ref *r,
    struct proto_accepted *acc, struct proto_sandbox *box)
{
	return (change(sb, PROTO_RESTART, r, r->wait, acc, box));
}

int
sandbox_extend(struct sandbox *sb, const struct proto_extend *x,
    struct proto_sandbox *box)
{
	struct want	 w;

	memset(&w, 0, sizeof(w));
	want_one(&w, 0, PROTO_SANDBOX, box, sizeof(*box));
	return (call_wanted(sb, PROTO_EXTEND, x, &w, 0));
}

int
sandbox_update(struct sandbox *sb, const struct proto_update *u,
    struct proto_accepted *acc, struct proto_sandbox *box)
{
	return (change(sb, PROTO_UPDATE, u, u->wait, acc, box));
}

int
sandbox_delete(struct sandbox *sb, const struct proto_ref *r,
    struct proto_accepted *acc, struct proto_sandbox *box)
{
	return (change(sb, PROTO_DELETE, r, r->wait, acc, box));
}

int
sandbox_show(struct sandbox *sb, const char *id, struct proto_sandbox *box)
{
	return (sandbox_show_controls(sb, id, box, NULL, NULL));
}

int
sandbox_show_controls(struct sandbox *sb, const char *id,
    struct proto_sandbox *box, sandbox_cb cb, void *arg)
{
	struct proto_ref	 ref;
	struct want		 w;

	memset(&ref, 0, sizeof(ref));
	memset(&w, 0, sizeof(w));
	w.cb = cb;
	w.arg = arg;
	ref.id = (char *)(uintptr_t)id;
	want_one(&w, 0, PROTO_SANDBOX, box, sizeof(*box));
	return (call_wanted(sb, PROTO_SHOW, &ref, &w, 0));
}

int
sandbox_list(struct sandbox *sb, const struct proto_list *list,
    sandbox_cb cb, void *arg)
{
	struct proto_list	 l = *list;	/* borrows the labels */
	struct proto_end	 end;
	uint32_t		 req;

	for (;;) {
		if (sandbox_send(sb, PROTO_LIST, &l, &req) == -1 ||
		    sandbox_finish(sb, req, cb, arg, &end) == -1)
			return (-1);
		if (end.after == 0)
			return (0);
		/* A cursor that stands still would go round for ever. */
		if (end.after <= l.after)
			return (sandbox_fail(sb, CODE_PROTOCOL,
			    "the daemon's pages do not go on"));
		l.after = end.after;
	}
}

int
sandbox_exec(struct sandbox *sb, const struct proto_exec *x,
    struct proto_accepted *acc)
{
	struct want	 w;

	if (x->flags & EXEC_ATTACH)
		return (sandbox_fail(sb, CODE_INVALID_ARGUMENT,
		    "an attached command is run by sandbox_run()"));
	memset(&w, 0, sizeof(w));
	want_one(&w, 0, PROTO_ACCEPTED, acc, sizeof(*acc));
	return (call_wanted(sb, PROTO_EXEC, x, &w, 0));
}

int
sandbox_ps(struct sandbox *sb, const struct proto_ps *ps, sandbox_cb cb,
    void *arg)
{
	return (sandbox_call(sb, PROTO_PS, ps, cb, arg));
}

int
sandbox_wait(struct sandbox *sb, const char *exec,
    struct proto_exec_info *info)
{
	struct proto_wait	 wait;
	struct want		 w;

	memset(&w, 0, sizeof(w));
	memset(&wait, 0, sizeof(wait));
	wait.exec = (char *)(uintptr_t)exec;
	want_one(&w, 0, PROTO_EXEC_INFO, info, sizeof(*info));
	return (call_wanted(sb, PROTO_WAIT, &wait, &w, 0));
}

int
sandbox_kill(struct sandbox *sb, const struct proto_kill *k)
{
	return (sandbox_call(sb, PROTO_KILL, k, NULL, NULL));
}

int
sandbox_resize(struct sandbox *sb, const struct proto_resize *r)
{
	return (sandbox_call(sb, PROTO_RESIZE, r, NULL, NULL));
}

int
sandbox_detach(struct sandbox *sb, const struct proto_detach *d)
{
	return (sandbox_call(sb, PROTO_DETACH, d, NULL, NULL));
}

int
sandbox_input_end(struct sandbox *sb, const char *exec, uint64_t total)
{
	struct proto_input_end	 end;

	end.exec = (char *)(uintptr_t)exec;
	end.total = total;
	return (sandbox_call(sb, PROTO_INPUT_END, &end, NULL, NULL));
}

struct events_arg {
	struct sandbox	*sb;
	sandbox_cb	 cb;
	void		*arg;
	uint32_t	 req;
	uint32_t	 taken;
	uint32_t	 renew;		/* at so many; 0: never */
};

static int
take_event(struct sandbox_answer *a, void *arg)
{
	struct events_arg	*ea = arg;

	/* What is told beside them takes no credit. */
	if ((a->type == PROTO_EVENT || a->type == PROTO_DUMP) && ea->renew &&
	    ++ea->taken == ea->renew) {
		ea->taken = 0;
		if (sandbox_credit(ea->sb, ea->req, ea->renew) == -1)
			return (-1);
	}
	return (ea->cb == NULL ? 0 : ea->cb(a, ea->arg));
}

int
sandbox_events(struct sandbox *sb, const struct proto_events *ev,
    sandbox_cb cb, void *arg)
{
	struct proto_events	 e = *ev;	/* borrows the name */
	struct events_arg	 ea;

	memset(&ea, 0, sizeof(ea));
	ea.sb = sb;
	ea.cb = cb;
	ea.arg = arg;
	if (e.credit == 0) {
		e.credit = EVENTS_CREDIT;
		ea.renew = EVENTS_CREDIT / 2;
	}
	if (sandbox_send(sb, PROTO_EVENTS, &e, &ea.req) == -1)
		return (-1);
	return (sandbox_finish(sb, ea.req, take_event, &ea, NULL));
}

int
sandbox_log_dump(struct sandbox *sb, sandbox_cb cb, void *arg)
{
	struct proto_log_dump	 m;
	struct events_arg	 ea;

	memset(&m, 0, sizeof(m));
	memset(&ea, 0, sizeof(ea));
	ea.sb = sb;
	ea.cb = cb;
	ea.arg = arg;
	m.credit = DUMP_CREDIT;
	ea.renew = DUMP_CREDIT / 2;
	if (sandbox_send(sb, PROTO_LOG_DUMP, &m, &ea.req) == -1)
		return (-1);
	return (sandbox_finish(sb, ea.req, take_event, &ea, NULL));
}

int
sandbox_reload(struct sandbox *sb)
{
	struct proto_reload	 r = { 0 };

	return (sandbox_call(sb, PROTO_RELOAD, &r, NULL, NULL));
}

int
sandbox_upgrade(struct sandbox *sb)
{
	struct proto_reload	 r = { 1 };

	return (sandbox_call(sb, PROTO_RELOAD, &r, NULL, NULL));
}

int
sandbox_log_verify(struct sandbox *sb, const char *head,
    struct proto_verify *v)
{
	struct proto_log_verify	 m;
	struct want		 w;

	memset(&m, 0, sizeof(m));
	if (head != NULL && strlcpy(m.head, head, sizeof(m.head)) >=
	    sizeof(m.head))
		return (sandbox_fail(sb, CODE_INVALID_ARGUMENT,
		    "invalid head: must be 64 hexadecimal digits"));
	memset(&w, 0, sizeof(w));
	want_one(&w, 0, PROTO_VERIFY, v, sizeof(*v));
	return (call_wanted(sb, PROTO_LOG_VERIFY, &m, &w, 0));
}

int
sandbox_rules(struct sandbox *sb, sandbox_cb cb, void *arg)
{
	return (sandbox_call(sb, PROTO_RULES, NULL, cb, arg));
}

int
sandbox_doctor(struct sandbox *sb, sandbox_cb cb, void *arg)
{
	return (sandbox_call(sb, PROTO_DOCTOR, NULL, cb, arg));
}

int
sandbox_reconcile(struct sandbox *sb, int force)
{
	struct proto_reconcile	 r = { force != 0 };

	return (sandbox_call(sb, PROTO_RECONCILE, &r, NULL, NULL));
}

ssize_t
sandbox_write(int fd, const void *data, size_t len)
{
	static const struct timespec	 zero;
	sigset_t			 set, old, pending;
	ssize_t				 n;
	int				 error, was;

	/* The signal is the thread's: hold it back, then take it away. */
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigemptyset(&pending);
	sigpending(&pending);
	was = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	n = write(fd, data, len);
	error = errno;
	if (n == -1 && error == EPIPE && !was)
		(void)sigtimedwait(&set, NULL, &zero);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = error;
	return (n);
}

struct import_arg {
	struct proto_image	*image;
	int			 pipe;
	int			 got;
};

static int
take_import(struct sandbox_answer *a, void *arg)
{
	struct import_arg	*ia = arg;

	if (a->type == PROTO_STREAM && ia->pipe == -1) {
		ia->pipe = a->fd;
		a->fd = -1;
	} else if (a->type == PROTO_IMAGE) {
		if (ia->image != NULL)
			*ia->image = a->u.image;
		ia->got = 1;
	}
	return (0);
}

/* Waits until the pipe takes more: 1; 0 if the daemon has an answer first. */
static int
pipe_ready(struct sandbox *sb, int pipe)
{
	struct pollfd	 pfd[2];

	for (;;) {
		pfd[0].fd = pipe;
		pfd[0].events = POLLOUT;
		pfd[1].fd = sandbox_fd(sb);
		pfd[1].events = POLLIN;
		if (poll(pfd, 2, -1) == -1 && errno == EINTR)
			continue;
		return (pfd[0].revents != 0);
	}
}

/* Copies until the end of either side; 0, or why fd cannot be read. */
static int
copy_in(struct sandbox *sb, int fd, int pipe)
{
	uint8_t	*buf;
	ssize_t	 n, w = 0, off;
	int	 error = 0;

	if ((buf = malloc(COPY_SIZE)) == NULL)
		return (errno);
	(void)fcntl(pipe, F_SETFL, O_NONBLOCK);
	for (;;) {
		if ((n = read(fd, buf, COPY_SIZE)) == -1 && errno == EINTR)
			continue;
		if (n == -1)
			error = errno;
		if (n <= 0)
			break;
		for (off = 0; off < n; off += w) {
			w = sandbox_write(pipe, buf + off, n - off);
			if (w != -1)
				continue;
			w = 0;
			/* Anything else: the daemon's answer says why. */
			if (errno != EINTR && (errno != EAGAIN ||
			    !pipe_ready(sb, pipe)))
				goto done;
		}
	}
 done:
	free(buf);
	return (error);
}

int
sandbox_image_import(struct sandbox *sb, const char *name, int fd,
    struct proto_image *image)
{
	struct proto_image_import	 imp;
	struct import_arg		 ia;
	struct sandbox_answer		 a;
	uint32_t			 req;
	int				 n, error = 0;

	memset(&imp, 0, sizeof(imp));
	ia.image = image;
	ia.pipe = -1;
	ia.got = 0;
	if (image != NULL)
		memset(image, 0, sizeof(*image));
	if (strlen(name) >= sizeof(imp.name))
		return (sandbox_fail(sb, CODE_LIMIT_EXCEEDED,
		    "image name of %zu bytes: the limit is %d", strlen(name),
		    SBX_IMAGE_MAX));
	memcpy(imp.name, name, strlen(name));
	if (sandbox_send(sb, PROTO_IMAGE_IMPORT, &imp, &req) == -1 ||
	    sandbox_recv_req(sb, req, &a, -1) != 1)
		return (-1);
	if (a.type == PROTO_ERROR) {
		sandbox_set_error(sb, &a.u.error);
		sandbox_answer_clear(&a);
		return (-1);
	}
	if (a.type == PROTO_END) {
		sandbox_answer_clear(&a);
		return (sandbox_fail(sb, CODE_PROTOCOL,
		    "the daemon left out its answer"));
	}
	(void)take_import(&a, &ia);
	sandbox_answer_clear(&a);
	if (ia.pipe != -1) {
		error = copy_in(sb, fd, ia.pipe);
		/* A cut archive must not look like a whole one. */
		if (error != 0)
			(void)sandbox_lost(sb, CODE_INVALID_ARGUMENT,
			    "cannot read the archive: %s", strerror(error));
		close(ia.pipe);
		if (error != 0)
			return (-1);
	}
	n = sandbox_finish(sb, req, take_import, &ia, NULL);
	if (n == 0 && !ia.got)
		return (sandbox_fail(sb, CODE_PROTOCOL,
		    "the daemon left out its answer"));
	return (n);
}
