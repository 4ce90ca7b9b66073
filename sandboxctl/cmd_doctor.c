/*
 * cmd_doctor.c: what protects the host, and what does not.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandboxctl.h"

struct doctor {
	struct ctl		*ctl;
	struct proto_control	*v;
	size_t			 n;
	int			 seen[CONTROLS_MAX];	/* of the arguments */
};

static int
doctor_wanted(struct doctor *d, const struct proto_control *c)
{
	int	 i, wanted = d->ctl->argc == 0;

	for (i = 0; i < d->ctl->argc; i++)
		if (strcmp(d->ctl->argv[i], c->name) == 0)
			wanted = d->seen[i] = 1;
	return (wanted);
}

static int
doctor_one(struct sandbox_answer *a, void *arg)
{
	struct doctor	*d = arg;

	if (a->type == PROTO_CONTROL && d->n < CONTROLS_MAX &&
	    doctor_wanted(d, &a->u.control))
		d->v[d->n++] = a->u.control;
	return (0);
}

static void
doctor_print(const struct doctor *d)
{
	struct table	*t = out_controls_new();
	size_t		 i;
	int		 gap = 0;

	for (i = 0; i < d->n; i++)
		out_controls_add(t, &d->v[i]);
	table_print(t, stdout);
	table_free(t);
	for (i = 0; i < d->n; i++) {
		if (d->v[i].advice[0] == '\0')
			continue;
		if (!gap++)
			putchar('\n');
		out_advice(stdout, &d->v[i]);
	}
}

/* One that nobody judges is not enforced, and must not look as if it were. */
static int
doctor_unknown(struct ctl *ctl, const char *name)
{
	char	 text[256];

	snprintf(text, sizeof(text), "no control: %.200s", name);
	return (ctl_error_code(ctl, CODE_NOT_FOUND, "", text));
}

int
cmd_doctor(struct ctl *ctl)
{
	struct doctor	 d;
	size_t		 i;
	int		 n, status = 0;

	memset(&d, 0, sizeof(d));
	d.ctl = ctl;
	if (ctl->argc > CONTROLS_MAX)
		return (ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "",
		    "too many controls"));
	if ((d.v = calloc(CONTROLS_MAX, sizeof(*d.v))) == NULL)
		return (ctl_errno(ctl, "doctor"));
	if (sandbox_doctor(ctl->conn, doctor_one, &d) == -1) {
		free(d.v);
		return (ctl_error(ctl));
	}
	if (!ctl->json)
		doctor_print(&d);
	for (i = 0; i < d.n; i++) {
		if (ctl->json)
			json_proto(stdout, PROTO_CONTROL, &d.v[i]);
		if (strcmp(d.v[i].state, "enforced") != 0)
			status = EXIT_UNPROTECTED;
	}
	for (n = 0; n < ctl->argc; n++)
		if (!d.seen[n])
			status = doctor_unknown(ctl, ctl->argv[n]);
	free(d.v);
	return (status);
}
