/*
 * cmd_change.c: commands that change the state of sandboxes and wait until
 * that is done: delete, pause, restart, resume, stop, unpause, update.
 *
 * Of several each is on its own: one that fails is told, and the others go
 * on.  Many are under way at a time; the daemon bounds how many.
 */

#include <stdlib.h>
#include <string.h>

#include "sandboxctl.h"

#define REF_MAX		(EXEC_ID_MAX + 16)

/*
 * After a restart of the daemon it is first seen how far it has got: asked
 * twice, some of them would be done twice, and others refused.
 */
struct change {
	uint32_t	 type;		/* what is asked */
	uint32_t	 again;		/* what joins it while it is under way */
	const char	*under;		/* the state meanwhile; NULL: just ask */
	const char	*goal;		/* and at the end */
	const char	*from[8];	/* states that -l selects; none: any */
	const char	*past;		/* what -l tells the number of */
};

static const struct change	 delete_change = {
	PROTO_DELETE, PROTO_DELETE, NULL, NULL, { NULL }, "deleted"
};
static const struct change	 pause_change = {
	PROTO_PAUSE, PROTO_PAUSE, "pausing", "paused",
	{ "ready", "pausing", NULL }, "paused"
};
static const struct change	 restart_change = {
	PROTO_RESTART, PROTO_RESUME, "resuming", "ready",
	{ "ready", "paused", "stopped", NULL }, "restarted"
};
static const struct change	 resume_change = {
	PROTO_RESUME, PROTO_RESUME, "resuming", "ready",
	{ "paused", "stopped", "resuming", NULL }, "resumed"
};
static const struct change	 stop_change = {
	PROTO_STOP, PROTO_STOP, "stopping", "stopped",
	{ "pending", "ready", "pausing", "paused", "stopping", "resuming",
	    NULL }, "stopped"
};
static const struct change	 unpause_change = {
	PROTO_UNPAUSE, PROTO_RESUME, "resuming", "ready",
	{ "paused", NULL }, "unpaused"
};

/* Asked for twice it is done once. */
static const struct change	 update_change = {
	PROTO_UPDATE, PROTO_UPDATE, NULL, NULL,
	{ "ready", "paused", "stopped", NULL }, "updated"
};

/* One sandbox that is meant. */
struct item {
	uint32_t	 req;		/* 0: not under way */
	uint32_t	 type;		/* of that request */
	int		 accepted;
	int		 look;		/* see first how far it is */
	int		 done;
	int		 failed;	/* and that was told */
};

struct work {
	struct ctl		*ctl;
	const struct change	*c;
	struct strv		 refs;
	struct item		*items;
	int			 busy;
};

/* The request, with what it needs of the command line. */
static int
change_request(struct work *w, struct item *it, char *ref)
{
	struct ctl		*ctl = w->ctl;
	struct proto_update	 update;
	struct proto_ref	 req;

	if (it->type == PROTO_UPDATE) {
		memset(&update, 0, sizeof(update));
		update.id = ref;
		update.labels = ctl->labels;
		update.unlabel = ctl->unlabel;
		update.memory = ctl->memory;
		update.mcpus = ctl->mcpus;
		update.pids = ctl->pids;
		update.lifetime = ctl->lifetime;
		update.idle = ctl->idle;
		update.keep = ctl->keep;
		update.wait = 1;
		return (sandbox_send(ctl->conn, it->type, &update,
		    &it->req));
	}
	memset(&req, 0, sizeof(req));
	req.id = ref;
	req.wait = !it->look;
	req.grace = ctl->grace;
	return (sandbox_send(ctl->conn, it->type, &req, &it->req));
}

static int
change_send(struct work *w)
{
	struct item		*it;
	size_t			 i;
	int			 max = sandbox_hello(w->ctl->conn)->inflight;

	for (i = 0; i < w->refs.n && w->busy < (max > 0 ? max : 1); i++) {
		it = &w->items[i];
		if (it->done || it->req != 0)
			continue;
		if (it->look)
			it->type = PROTO_SHOW;
		else if (it->type == 0)
			it->type = w->c->type;
		if (change_request(w, it, w->refs.v[i]) == -1)
			return (-1);
		w->busy++;
	}
	return (0);
}

/* Of several it must be told which, where the text does not. */
static void
change_error(struct work *w, size_t i, enum code code, const char *field,
    const char *why)
{
	const char	*ref = w->refs.v[i];
	char		 text[REF_MAX + TEXT_MAX + 4];

	if (w->refs.n > 1 && strncmp(why, ref, strlen(ref)) != 0)
		snprintf(text, sizeof(text), "%.*s: %s", REF_MAX, ref, why);
	else
		strlcpy(text, why, sizeof(text));
	w->items[i].failed = 1;
	ctl_error_code(w->ctl, code, field, text);
}

static void
change_print(struct work *w, const struct proto_sandbox *s)
{
	if (w->ctl->json)
		json_proto(stdout, PROTO_SANDBOX, s);
}

/* How far it is after a restart of the daemon. */
static void
change_looked(struct work *w, size_t i, const struct proto_sandbox *s)
{
	struct item	*it = &w->items[i];
	char		 why[TEXT_MAX + 1];

	it->type = 0;
	if (strcmp(s->state, w->c->goal) == 0) {
		change_print(w, s);
		it->done = 1;
	} else if (strcmp(s->state, w->c->under) == 0)
		it->type = w->c->again;
	else if (it->accepted) {
		snprintf(why, sizeof(why), "%s: it is %s%s%.300s", s->id,
		    s->state, s->cause[0] == '\0' ? "" : ": ", s->cause);
		change_error(w, i, CODE_CONFLICT, "", why);
		it->done = 1;
	}
}

static void
change_answer(struct work *w, struct sandbox_answer *a)
{
	struct item	*it;
	size_t		 i;

	for (i = 0; i < w->refs.n; i++)
		if (w->items[i].req == a->req)
			break;
	if (i == w->refs.n)
		return;
	it = &w->items[i];
	switch (a->type) {
	case PROTO_ACCEPTED:
		it->accepted = 1;
		break;
	case PROTO_SANDBOX:
		if (it->look)
			change_looked(w, i, &a->u.sandbox);
		else
			change_print(w, &a->u.sandbox);
		break;
	case PROTO_ERROR:
		change_error(w, i, code_number(a->u.error.code),
		    a->u.error.field, a->u.error.text);
		it->look = 0;
		/* FALLTHROUGH */
	case PROTO_END:
		if (it->look)
			it->look = 0;
		else
			it->done = 1;
		it->req = 0;
		w->busy--;
		break;
	}
}

/* The connection is a new one, and knows nothing of what was asked. */
static void
change_again(struct work *w)
{
	struct item	*it;
	size_t		 i;

	for (i = 0; i < w->refs.n; i++) {
		it = &w->items[i];
		/* One that was not accepted may have been all the same. */
		if (it->req != 0 && !it->done && w->c->under != NULL)
			it->look = it->look || it->accepted ||
			    w->c->type != PROTO_RESTART;
		it->req = 0;
		if (!it->look)
			it->type = 0;
	}
	w->busy = 0;
}

/* Of those that a label selects nobody but us knows how many they were. */
static void
change_count(const struct work *w)
{
	uint64_t	 n = 0;
	size_t		 i;

	for (i = 0; i < w->refs.n; i++)
		n += w->items[i].done && !w->items[i].failed;
	if (w->ctl->json)
		json_count(stdout, w->c->past, n);
	else
		printf("%llu %s\n", (unsigned long long)n, w->c->past);
}

static int
change_all(struct work *w, int count)
{
	struct sandbox_answer	 a;
	int			 n;

	if ((w->items = calloc(w->refs.n + 1, sizeof(*w->items))) == NULL)
		return (ctl_errno(w->ctl, w->ctl->cmd->name));
	for (;;) {
		n = change_send(w);
		if (n == 0 && w->busy == 0)
			break;
		if (n == 0 && (n = sandbox_recv(w->ctl->conn, &a, -1)) == 1) {
			change_answer(w, &a);
			sandbox_answer_clear(&a);
		}
		if (n != -1)
			continue;
		if (!ctl_lost(w->ctl) || ctl_reopen(w->ctl) == -1) {
			ctl_error(w->ctl);
			break;
		}
		change_again(w);
	}
	if (count)
		change_count(w);
	free(w->items);
	return (w->ctl->failed);
}

/* By a label: those that it can be done to. */
static int
change_selects(const struct change *c, const char *state)
{
	const char	*const	*from;

	for (from = c->from; *from != NULL; from++)
		if (strcmp(*from, state) == 0)
			return (1);
	return (c->from[0] == NULL);
}

static int
change_found(struct sandbox_answer *a, void *arg)
{
	struct work	*w = arg;
	char		 ref[REF_MAX + 1];
	size_t		 i;

	if (a->type != PROTO_SANDBOX ||
	    !change_selects(w->c, a->u.sandbox.state))
		return (0);
	ctl_ref(w->ctl, &a->u.sandbox, ref, sizeof(ref));
	for (i = 0; i < w->refs.n; i++)
		if (strcmp(w->refs.v[i], ref) == 0)
			return (0);
	return (strv_add(&w->refs, ref));
}

static int
change(struct ctl *ctl, const struct change *c, const struct kvv *labels)
{
	struct proto_list	 req;
	struct work		 w;
	int			 i, status;

	memset(&w, 0, sizeof(w));
	w.ctl = ctl;
	w.c = c;
	if (ctl->argc == 0 && labels->n == 0)
		return (ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "",
		    "neither an id nor a label given"));
	for (i = 0; i < ctl->argc; i++)
		if (strv_add(&w.refs, ctl->argv[i]) == -1)
			return (ctl_errno(ctl, ctl->cmd->name));
	if (labels->n > 0) {
		memset(&req, 0, sizeof(req));
		req.labels = *labels;
		if (sandbox_list(ctl->conn, &req, change_found, &w) == -1) {
			strv_clear(&w.refs);
			return (ctl_error(ctl));
		}
	}
	status = change_all(&w, labels->n > 0);
	strv_clear(&w.refs);
	return (status);
}

int
cmd_delete(struct ctl *ctl)
{
	return (change(ctl, &delete_change, &ctl->labels));
}

int
cmd_pause(struct ctl *ctl)
{
	return (change(ctl, &pause_change, &ctl->labels));
}

int
cmd_restart(struct ctl *ctl)
{
	return (change(ctl, &restart_change, &ctl->labels));
}

int
cmd_resume(struct ctl *ctl)
{
	return (change(ctl, &resume_change, &ctl->labels));
}

int
cmd_stop(struct ctl *ctl)
{
	return (change(ctl, &stop_change, &ctl->labels));
}

int
cmd_unpause(struct ctl *ctl)
{
	return (change(ctl, &unpause_change, &ctl->labels));
}

/* Its -l is what they are to have: those that are meant have -L. */
int
cmd_update(struct ctl *ctl)
{
	if (ctl->labels.n == 0 && ctl->unlabel.n == 0 && ctl->memory == 0 &&
	    ctl->mcpus == 0 && ctl->pids == 0 && ctl->lifetime == 0 &&
	    ctl->idle == 0 && ctl->keep == 0)
		return (ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "",
		    "nothing to change given"));
	return (change(ctl, &update_change, &ctl->select));
}
