/*
 * Requests of the daemon.
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define CONNS_MAX	64
#define PER_MAX		16

void
client_lost(const char *what)
{
	errx(1, "%s: %s", what, sandbox_error(bench.conn)->text);
}

struct sandbox *
client_new(void)
{
	struct sandbox_error	 e;
	struct sandbox		*c;

	if ((c = sandbox_open(bench.socket, "bench", &e)) == NULL)
		errx(1, "%s", e.text);
	return (c);
}

void
client_open(void)
{
	bench.conn = client_new();
}

static void
box_request(struct proto_create *req)
{
	static char	 none[1];

	memset(req, 0, sizeof(*req));
	req->workdir = none;
	req->wait = 1;
}

static void
box_check(const struct proto_sandbox *b, const char *state)
{
	if (strcmp(b->state, state) != 0)
		errx(1, "sandbox %s: %s %s", b->id, b->state, b->cause);
}

static void
box_make(struct proto_sandbox *out, struct proto_create *req)
{
	struct proto_sandbox	 made;

	if (sandbox_create(bench.conn, req, NULL, &made) == -1)
		client_lost("create");
	kvv_clear(&req->labels);
	box_check(&made, "ready");
	/* Its container is told to who asks. */
	if (sandbox_show(bench.conn, made.id, out) == -1)
		client_lost("show");
	msg_clear(&made, proto_def(PROTO_SANDBOX));
}

void
box_create(struct proto_sandbox *out)
{
	struct proto_create	 req;

	box_request(&req);
	box_make(out, &req);
}

/* With that as its label "bench". */
void
box_create_as(struct proto_sandbox *out, const char *label)
{
	struct proto_create	 req;

	box_request(&req);
	if (kvv_add(&req.labels, "bench", label) == -1)
		client_lost("create");
	box_make(out, &req);
}

/* With room for so many processes. */
void
box_create_for(struct proto_sandbox *out, int pids)
{
	struct proto_create	 req;

	box_request(&req);
	req.pids = pids;
	box_make(out, &req);
}

/* How long it takes until a create is accepted, us; it is removed again. */
double
box_accepted(void)
{
	struct proto_create	 req;
	struct proto_accepted	 acc;
	struct proto_ref	 ref;
	double			 took = now();

	box_request(&req);
	req.wait = 0;
	memset(&acc, 0, sizeof(acc));
	if (sandbox_create(bench.conn, &req, &acc, NULL) == -1)
		client_lost("create");
	took = now() - took;
	memset(&ref, 0, sizeof(ref));
	ref.id = acc.id;
	ref.wait = 1;
	if (sandbox_delete(bench.conn, &ref, NULL, NULL) == -1)
		client_lost("delete");
	return (took);
}

static int
box_answer(struct sandbox_answer *a, void *arg)
{
	struct proto_sandbox	*out = arg;

	if (a->type != PROTO_SANDBOX)
		return (0);
	if (out != NULL) {
		*out = a->u.sandbox;
		memset(&a->u.sandbox, 0, sizeof(a->u.sandbox));
	}
	return (0);
}

/* All at the same time. */
void
boxes_create(struct proto_sandbox *out, int n)
{
	struct proto_create	 req;
	uint32_t		*id;
	int			 i;

	if ((id = calloc(n, sizeof(*id))) == NULL)
		err(1, NULL);
	box_request(&req);
	for (i = 0; i < n; i++)
		if (sandbox_send(bench.conn, PROTO_CREATE, &req, &id[i]) == -1)
			client_lost("create");
	for (i = 0; i < n; i++) {
		memset(&out[i], 0, sizeof(out[i]));
		if (sandbox_finish(bench.conn, id[i], box_answer, &out[i],
		    NULL) == -1)
			client_lost("create");
		box_check(&out[i], "ready");
	}
	free(id);
}

void
boxes_delete(struct proto_sandbox *b, int n)
{
	struct proto_ref	 req;
	uint32_t		*id;
	int			 i;

	if ((id = calloc(n, sizeof(*id))) == NULL)
		err(1, NULL);
	memset(&req, 0, sizeof(req));
	req.wait = 1;
	for (i = 0; i < n; i++) {
		req.id = b[i].id;
		if (sandbox_send(bench.conn, PROTO_DELETE, &req,
		    &id[i]) == -1)
			client_lost("delete");
	}
	for (i = 0; i < n; i++) {
		if (sandbox_finish(bench.conn, id[i], box_answer, NULL,
		    NULL) == -1)
			client_lost("delete");
		msg_clear(&b[i], proto_def(PROTO_SANDBOX));
	}
	free(id);
}

void
box_delete(struct proto_sandbox *b)
{
	boxes_delete(b, 1);
}

void
exec_request(struct proto_exec *req, char *const argv[])
{
	static char	 none[1];
	size_t		 n;

	for (n = 0; argv[n] != NULL; n++)
		;
	memset(req, 0, sizeof(*req));
	req->sandbox = bench.box.id;
	req->argv.v = (char **)(uintptr_t)argv;
	req->argv.n = n;
	req->dir = none;
	req->flags = EXEC_ATTACH;
}

/* Takes answers until a request is over: its number, 0 if none came. */
static uint32_t
answers(struct sandbox *c, int timeout, const char *state)
{
	struct proto_exec_info	*info;
	struct sandbox_answer	 a;
	uint32_t		 over = 0;
	int			 n;

	while (over == 0) {
		memset(&a, 0, sizeof(a));
		if ((n = sandbox_recv(c, &a, timeout)) == -1)
			errx(1, "%s", sandbox_error(c)->text);
		if (n == 0)
			break;
		if (a.type == PROTO_ERROR)
			errx(1, "%s", a.u.error.text);
		if (a.type == PROTO_EXEC_INFO) {
			info = &a.u.exec_info;
			if (strcmp(info->state, state) != 0 ||
			    (info->code != 0 && state[0] == 'e'))
				errx(1, "%s: %s %d %s", info->id, info->state,
				    info->code, info->cause);
		}
		if (a.type == PROTO_END)
			over = a.req;
		sandbox_answer_clear(&a);
	}
	return (over);
}

/* What is run in a sandbox: the name is looked for there. */
static char *const	 guest_true[] = { "sh", "-c", "true", NULL };

void
exec_one(void)
{
	struct proto_exec	 req;
	uint32_t		 n;

	exec_request(&req, guest_true);
	if (sandbox_send(bench.conn, PROTO_EXEC, &req, &n) == -1)
		client_lost("exec");
	while (answers(bench.conn, -1, "exited") != n)
		;
}

struct line {
	struct sandbox	*c;
	struct {
		uint32_t	 req;
		double		 start;
	}		 slot[PER_MAX];
};

static void
line_send(struct line *l, int slot, const struct proto_exec *req)
{
	l->slot[slot].start = now();
	if (sandbox_send(l->c, PROTO_EXEC, req, &l->slot[slot].req) == -1)
		errx(1, "exec: %s", sandbox_error(l->c)->text);
}

/* The slot of the request that is over. */
static int
line_over(struct line *l, uint32_t req, struct samples *s)
{
	int	 i;

	for (i = 0; i < PER_MAX; i++)
		if (l->slot[i].req == req)
			break;
	if (i == PER_MAX)
		errx(1, "the end of a request that was not made");
	if (s != NULL)
		sample(s, now() - l->slot[i].start);
	l->slot[i].req = 0;
	return (i);
}

/* So many execs, as many under way as the flight says: seconds. */
double
exec_many(const struct flight *f, int total, struct samples *s)
{
	struct proto_exec	 req;
	struct line		 l[CONNS_MAX];
	struct pollfd		 pfd[CONNS_MAX];
	double			 start, took;
	uint32_t		 over;
	int			 i, slot, begun, done = 0;

	memset(l, 0, sizeof(l));
	exec_request(&req, f->argv);
	for (i = 0; i < f->conns; i++) {
		l[i].c = client_new();
		pfd[i].fd = sandbox_fd(l[i].c);
		pfd[i].events = POLLIN;
	}
	start = now();
	for (begun = 0; begun < f->conns * f->per; begun++)
		line_send(&l[begun % f->conns], begun / f->conns, &req);
	while (done < begun) {
		if (poll(pfd, f->conns, -1) == -1 && errno != EINTR)
			err(1, "poll");
		for (i = 0; i < f->conns; i++) {
			if (pfd[i].revents == 0)
				continue;
			while ((over = answers(l[i].c, 0, f->state)) != 0) {
				slot = line_over(&l[i], over, s);
				done++;
				if (begun >= total)
					continue;
				begun++;
				line_send(&l[i], slot, &req);
			}
		}
	}
	took = now() - start;
	for (i = 0; i < f->conns; i++)
		sandbox_close(l[i].c);
	return (took / 1e6);
}

struct pids {
	const char	*name;		/* NULL: all */
	pid_t		*pid;
	int		 n;
	int		 max;
};

static int
pids_answer(struct sandbox_answer *a, void *arg)
{
	struct pids	*p = arg;

	if (a->type == PROTO_PROC && p->n < p->max &&
	    (p->name == NULL || strcmp(a->u.proc.name, p->name) == 0))
		p->pid[p->n++] = (pid_t)a->u.proc.pid;
	return (0);
}

static int
pids_ask(const char *name, pid_t *pid, int max)
{
	struct pids	 p = { name, pid, 0, max };

	if (sandbox_status(bench.conn, pids_answer, &p, NULL) == -1)
		client_lost("status");
	if (p.n == 0)
		errx(1, "no process %s", name == NULL ? "" : name);
	return (p.n);
}

/* The daemon's processes. */
int
daemon_pids(pid_t *pid, int max)
{
	return (pids_ask(NULL, pid, max));
}

pid_t
daemon_pid(const char *name)
{
	pid_t	 pid;

	(void)pids_ask(name, &pid, 1);
	return (pid);
}
