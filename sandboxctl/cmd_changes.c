/*
 * cmd_changes.c: exec -c, what a command has changed: a mark before it and a
 * comparison after it.  No call of the command is traced, and so what another
 * one has changed meanwhile cannot be told from it; that there was one is said.
 */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sandboxctl.h"

/* Who else was at work between two times, ns since 1970. */
struct beside {
	const char	*ran;		/* the command itself */
	uint64_t	 from;
	uint64_t	 to;
	struct strv	 others;
};

/* What -j tells at the end. */
struct changes {
	char		*exec;
	uint64_t	 changes;
	struct strv	 beside;
};

static uint64_t
now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ((uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec);
}

static int
beside_one(struct sandbox_answer *a, void *arg)
{
	struct beside			*b = arg;
	const struct proto_exec_info	*e = &a->u.exec_info;

	if (a->type != PROTO_EXEC_INFO || strcmp(e->id, b->ran) == 0 ||
	    e->started == 0 || e->started > b->to ||
	    (e->ended != 0 && e->ended < b->from))
		return (0);
	return (strv_add(&b->others, e->id));
}

static void
changes_over(struct ctl *ctl, const struct beside *b, uint64_t count)
{
	static const struct msg_field	 fields[] = {
		MSG_F(changes, exec, M_TEXT, 0, 0),
		MSG_F(changes, changes, M_UINT, 0, 0),
		MSG_F(changes, beside, M_STRV, 0, 0),
	};
	static const struct msg_def	 def = MSG_DEF(0, "changes", changes,
					    fields);
	struct changes			 c = { ctl->ran, count, b->others };
	size_t				 i;

	if (ctl->json) {
		json_message(stderr, &def, &c);
		return;
	}
	if (b->others.n == 0)
		return;
	fprintf(stderr, "sandboxctl: what these have changed meanwhile cannot "
	    "be told apart:");
	for (i = 0; i < b->others.n; i++) {
		fprintf(stderr, " ");
		out_text(stderr, b->others.v[i]);
	}
	fprintf(stderr, "\n");
}

static void
changes_tell(struct ctl *ctl, struct proto_call *c, struct beside *b)
{
	struct proto_ps	 req;
	uint64_t	 count = 0;

	c->op = CALL_DIFF;
	if (diff_tell(ctl, c, stderr, &count) == -1)
		return;
	b->to = now();
	memset(&req, 0, sizeof(req));
	req.sandbox = c->sandbox;
	req.all = 1;
	if (sandbox_ps(ctl->conn, &req, beside_one, b) == -1)
		(void)ctl_error(ctl);
	else
		changes_over(ctl, b, count);
}

int
exec_changes(struct ctl *ctl, char *sandbox, char **argv, int argc)
{
	struct proto_call	 c;
	struct beside		 b;
	char			 mark[32];
	int			 status;

	memset(&b, 0, sizeof(b));
	b.from = now();
	snprintf(mark, sizeof(mark), ".exec.%08x%08x", arc4random(),
	    arc4random());
	file_call(ctl, &c, CALL_MARK, ".");
	c.sandbox = sandbox;
	c.pattern = mark;
	if (sandbox_file_call(ctl->conn, &c, NULL, NULL) == -1) {
		(void)file_error(ctl, c.path);
		return (EXIT_OURS);
	}
	status = exec_attached(ctl, sandbox, argv, argc);
	fflush(stdout);
	b.ran = ctl->ran;
	if (*ctl->ran != '\0')
		changes_tell(ctl, &c, &b);
	c.op = CALL_UNMARK;
	/* Lost is lost: it ends with the sandbox. */
	(void)sandbox_file_call(ctl->conn, &c, NULL, NULL);
	strv_clear(&b.others);
	return (status);
}
