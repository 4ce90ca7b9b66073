/*
 * cmd_sandbox.c: commands about sandboxes: create, extend, list, show.
 */

#include <stdlib.h>
#include <string.h>

#include "sandboxctl.h"

/*
 * With a key of its own the request can be sent again after a restart of the
 * daemon, without making a second sandbox.
 */
void
create_key(struct proto_create *req)
{
	uint8_t	 rnd[16];
	size_t	 i;

	arc4random_buf(rnd, sizeof(rnd));
	for (i = 0; i < sizeof(rnd); i++)
		snprintf(req->key + 2 * i, 3, "%02x", rnd[i]);
}

/* The request as the options say; it borrows what they hold. */
static void
create_request(struct ctl *ctl, struct proto_create *req)
{
	memset(req, 0, sizeof(*req));
	create_key(req);
	req->labels = ctl->labels;
	req->env = ctl->env;
	req->memory = ctl->memory;
	req->mcpus = ctl->mcpus;
	req->pids = ctl->pids;
	req->disk = ctl->disk;
	req->tmpfs = ctl->tmpfs;
	req->mounts = ctl->mounts;
	req->mounts_rw = ctl->mounts_rw;
	req->resume = ctl->resume;
	req->readonly = ctl->readonly;
	req->workdir = (char *)(uintptr_t)(ctl->dir == NULL ? "" : ctl->dir);
	req->wait = !ctl->detach;
	/* Ready is what has all of -C. */
	req->hold = ctl->seeds.n > 0;
	req->lifetime = ctl->lifetime;
	req->idle = ctl->idle;
	req->keep = ctl->keep;
}

/* The fixed fields; -1 and the error told if one does not fit. */
static int
create_strings(struct ctl *ctl, struct proto_create *req)
{
	if (ctl->id != NULL && strlcpy(req->id, ctl->id,
	    sizeof(req->id)) >= sizeof(req->id))
		return (ctl_too_long(ctl, "id", sizeof(req->id) - 1));
	if (ctl->image != NULL && strlcpy(req->image, ctl->image,
	    sizeof(req->image)) >= sizeof(req->image))
		return (ctl_too_long(ctl, "image", sizeof(req->image) - 1));
	if (ctl->companion_of != NULL && strlcpy(req->companion_of,
	    ctl->companion_of, sizeof(req->companion_of)) >=
	    sizeof(req->companion_of))
		return (ctl_too_long(ctl, "companion_of",
		    sizeof(req->companion_of) - 1));
	if (ctl->user != NULL && strlcpy(req->user, ctl->user,
	    sizeof(req->user)) >= sizeof(req->user))
		return (ctl_too_long(ctl, "user", sizeof(req->user) - 1));
	return (0);
}

int
create_fill(struct ctl *ctl, struct proto_create *req)
{
	create_request(ctl, req);
	return (create_strings(ctl, req));
}

int
cmd_create(struct ctl *ctl)
{
	struct proto_create	 req;
	struct proto_accepted	 acc;
	struct proto_sandbox	 s;
	int			 ret;

	if (host_tools(ctl) == -1 || create_fill(ctl, &req) == -1 ||
	    seeds_check(ctl) != 0)
		return (ctl->failed);
	memset(&acc, 0, sizeof(acc));
	memset(&s, 0, sizeof(s));
	while (sandbox_create(ctl->conn, &req, &acc, &s) == -1)
		if (!ctl_lost(ctl) || ctl_reopen(ctl) == -1)
			return (ctl_error(ctl));
	seeds_dir(ctl, acc.id);
	ret = seeds_put(ctl, acc.id, &s, 1);
	if (ret == -1 && !ctl->keep_failed)
		;
	else if (ctl->json && ctl->detach)
		json_proto(stdout, PROTO_ACCEPTED, &acc);
	else if (ctl->json)
		json_proto(stdout, PROTO_SANDBOX, &s);
	else
		printf("%s\n", acc.id);
	msg_clear(&s, proto_def(PROTO_SANDBOX));
	if (ctl->failed != 0 && signals_got() != 0)
		return (EXIT_SIGNAL + signals_got());
	return (ctl->failed);
}

struct listing {
	struct ctl	*ctl;
	struct table	*table;
};

static int
list_print(struct sandbox_answer *a, void *arg)
{
	struct listing	*l = arg;

	if (a->type != PROTO_SANDBOX)
		return (0);
	if (l->ctl->json)
		json_proto(stdout, PROTO_SANDBOX, &a->u.sandbox);
	else
		out_list_add(l->table, &a->u.sandbox);
	return (0);
}

int
cmd_list(struct ctl *ctl)
{
	struct proto_list	 req;
	struct listing		 l;
	int			 ret;

	memset(&req, 0, sizeof(req));
	req.all = ctl->all;
	if (ctl->state != NULL &&
	    strlcpy(req.state, ctl->state, sizeof(req.state)) >=
	    sizeof(req.state))
		return (ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "state",
		    "invalid state: is no state of a sandbox"));
	/* Who asks for the deleted ones wants to see them. */
	if (strcmp(req.state, "deleted") == 0)
		req.all = 1;
	req.labels = ctl->labels;
	l.ctl = ctl;
	l.table = out_list_new();
	if ((ret = sandbox_list(ctl->conn, &req, list_print, &l)) == -1)
		ctl_error(ctl);
	else if (!ctl->json)
		table_print(l.table, stdout);
	table_free(l.table);
	return (ret == -1 ? ctl->failed : 0);
}

struct shown {
	struct proto_control	 v[CONTROLS_MAX];
	size_t			 n;
};

static int
show_control(struct sandbox_answer *a, void *arg)
{
	struct shown	*c = arg;

	if (a->type == PROTO_CONTROL && c->n < CONTROLS_MAX)
		c->v[c->n++] = a->u.control;
	return (0);
}

static void
show_print(const struct proto_sandbox *s, const struct shown *c)
{
	struct table	*t = out_controls_new();
	size_t		 i;

	out_sandbox(stdout, s);
	for (i = 0; i < c->n; i++)
		out_controls_add(t, &c->v[i]);
	if (c->n > 0)
		putchar('\n');
	table_print(t, stdout);
	table_free(t);
}

int
cmd_show(struct ctl *ctl)
{
	struct proto_sandbox	 s;
	struct shown		*c;
	int			 ret = 0;

	memset(&s, 0, sizeof(s));
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return (ctl_errno(ctl, "show"));
	if (sandbox_show_controls(ctl->conn, ctl->argv[0], &s, show_control,
	    c) == -1)
		ret = ctl_error(ctl);
	else if (ctl->json)
		json_show(stdout, &s, c->v, c->n);
	else
		show_print(&s, c);
	msg_clear(&s, proto_def(PROTO_SANDBOX));
	free(c);
	return (ret);
}

int
cmd_extend(struct ctl *ctl)
{
	struct proto_extend	 req;
	struct proto_sandbox	 s;

	memset(&req, 0, sizeof(req));
	memset(&s, 0, sizeof(s));
	req.id = ctl->argv[0];
	req.time = ctl->lifetime;
	req.idle = ctl->idle;
	/* The same twice is the same once, a moment later. */
	while (sandbox_extend(ctl->conn, &req, &s) == -1)
		if (!ctl_lost(ctl) || ctl_reopen(ctl) == -1)
			return (ctl_error(ctl));
	if (ctl->json)
		json_proto(stdout, PROTO_SANDBOX, &s);
	msg_clear(&s, proto_def(PROTO_SANDBOX));
	return (0);
}
