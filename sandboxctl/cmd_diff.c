/*
 * cmd_diff.c: what has changed among the files of a sandbox since a mark, or
 * since it was made; the marks; and the work itself, as an archive or a patch.
 */

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "sandboxctl.h"

#define DIFF_SORT	100000		/* records, and then they are not */

struct diff {
	struct ctl	*ctl;
	struct diff_rec	*v;
	size_t		 n;
	size_t		 size;
};

static void
diff_print(const struct diff *d, const struct diff_rec *r)
{
	if (d->ctl->json) {
		json_message(stdout, &diff_rec_def, r);
		return;
	}
	out_text(stdout, r->kind);
	fprintf(stdout, " ");
	out_text(stdout, r->name);
	if (S_ISDIR(r->mode == 0 ? r->old_mode : r->mode))
		fprintf(stdout, "/");
	if (*r->what != '\0') {
		fprintf(stdout, " (");
		out_text(stdout, r->what);
		fprintf(stdout, ")");
	}
	fprintf(stdout, "\n");
}

static int
diff_cmp(const void *a, const void *b)
{
	return (strcmp(((const struct diff_rec *)a)->name,
	    ((const struct diff_rec *)b)->name));
}

static void
diff_flush(struct diff *d)
{
	size_t	 i;

	if (d->n > 1)
		qsort(d->v, d->n, sizeof(*d->v), diff_cmp);
	for (i = 0; i < d->n; i++) {
		diff_print(d, &d->v[i]);
		msg_clear(&d->v[i], &diff_rec_def);
	}
	d->n = 0;
}

static int
diff_take(void *arg, void *rec)
{
	struct diff	*d = arg;
	struct diff_rec	*v;

	if (d->n == d->size) {
		if ((v = reallocarray(d->v, d->size + 1024,
		    sizeof(*v))) == NULL)
			return (-1);
		d->v = v;
		d->size += 1024;
	}
	d->v[d->n++] = *(struct diff_rec *)rec;
	memset(rec, 0, sizeof(struct diff_rec));
	if (d->n == DIFF_SORT)
		diff_flush(d);
	return (0);
}

/* When the sandbox was made, by the daemon's word. */
static int
diff_since(struct ctl *ctl, struct proto_call *c)
{
	struct proto_sandbox	 sb;

	if (sandbox_show(ctl->conn, ctl->argv[0], &sb) == -1)
		return (-1);
	c->offset = sb.created;
	msg_clear(&sb, proto_def(PROTO_SANDBOX));
	return (0);
}

/* What the call tells, and its errors. */
static void
diff_tell(struct ctl *ctl, struct proto_call *c)
{
	struct proto_result	 res;
	struct diff		 d;
	int			 ret;

	memset(&d, 0, sizeof(d));
	d.ctl = ctl;
	ret = sandbox_file_records(ctl->conn, c, &diff_rec_def, diff_take, &d,
	    &res);
	if (ret == -1)
		(void)file_error(ctl, c->path);
	else {
		diff_flush(&d);
		if (res.flags & CALL_R_DENIED)
			file_local(ctl, CODE_PERMISSION_DENIED, c->path,
			    "a part of it cannot be compared");
	}
	while (d.n > 0)
		msg_clear(&d.v[--d.n], &diff_rec_def);
	free(d.v);
}

int
cmd_diff(struct ctl *ctl)
{
	struct proto_call	 c;

	file_call(ctl, &c, CALL_DIFF, ctl->argc > 1 ? ctl->argv[1] : ".");
	c.pattern = (char *)(uintptr_t)ctl->mark;
	if (c.pattern == NULL && diff_since(ctl, &c) == -1)
		return (ctl_error(ctl));
	diff_tell(ctl, &c);
	return (ctl->failed);
}

int
cmd_export(struct ctl *ctl)
{
	const char	*path = ctl->argc > 1 ? ctl->argv[1] : ".";

	if (ctl->patch && ctl->exclude.n > 0)
		return (ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "",
		    "-x does not go with -p"));
	if (!ctl->patch && ctl->mark != NULL)
		return (ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "",
		    "-M goes with -p alone"));
	if (!ctl->patch)
		(void)tree_get(ctl, path, "-");
	else
		(void)tree_patch(ctl, path, ctl->mark != NULL ? ctl->mark :
		    MARK_SEED);
	return (ctl->failed);
}

int
cmd_mark(struct ctl *ctl)
{
	static char		 here[] = ".";
	struct proto_result	 res;
	struct proto_call	 c;
	char			*path = ctl->argc > 2 ? ctl->argv[2] : here;

	file_call(ctl, &c, CALL_MARK, path);
	c.pattern = ctl->argv[1];
	c.flags = ctl->contents ? CALL_F_CONTENTS : 0;
	if (sandbox_file_call(ctl->conn, &c, NULL, &res) == -1)
		(void)file_error(ctl, path);
	else if (res.flags & CALL_R_DENIED)
		file_local(ctl, CODE_PERMISSION_DENIED, path,
		    "a part of it cannot be read, and is not in the mark");
	return (ctl->failed);
}

int
cmd_unmark(struct ctl *ctl)
{
	struct proto_call	 c;
	int			 i;

	for (i = 1; i < ctl->argc; i++) {
		file_call(ctl, &c, CALL_UNMARK, ".");
		c.pattern = ctl->argv[i];
		if (sandbox_file_call(ctl->conn, &c, NULL, NULL) == -1 &&
		    file_error(ctl, ctl->argv[i]) == -1)
			break;
	}
	return (ctl->failed);
}
