/*
 * cmd_changes.c: exec -c, what a command has changed: the daemon tells it by
 * an event at the command's end, and here that is looked for and told.
 */

#include <stdlib.h>
#include <string.h>

#include "sandboxctl.h"

struct wanted {
	struct ctl	*ctl;
	const char	*exec;		/* without its owner */
	int		 found;
	int		 judged;	/* it has changed something, or may have */
};

static const char *
detail(const struct proto_event *e, const char *key)
{
	const char	*v = kvv_get(&e->detail, key);

	return (v == NULL ? "" : v);
}

/* Lines, and what there is to say beside them. */
static void
changes_print(const struct proto_event *e)
{
	static const struct {
		const char	*key;
		const char	*text;
	} notes[] = {
		{ "more", "there are more changes than the list has" },
		{ "denied", "a part of the files cannot be compared" },
		{ "shared", "others were at work meanwhile, and cannot be "
		    "told apart" },
	};
	const char	*p = detail(e, "list"), *eol;
	char		*line;
	size_t		 i, len;

	for (; *p != '\0'; p = *eol == '\0' ? eol : eol + 1) {
		len = strcspn(p, "\n");
		eol = p + len;
		if ((line = strndup(p, len)) == NULL)
			return;
		/* Its name before. */
		i = strcspn(line, "\t");
		if (line[i] == '\t')
			line[i++] = '\0';
		out_text(stderr, line);
		if (i < len) {
			fprintf(stderr, " from ");
			out_text(stderr, line + i);
		}
		fprintf(stderr, "\n");
		free(line);
	}
	if (*detail(e, "cause") != '\0') {
		fprintf(stderr, "sandboxctl: what was changed is not known: ");
		out_text(stderr, detail(e, "cause"));
		fprintf(stderr, "\n");
	}
	for (i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (*detail(e, notes[i].key) != '\0')
			fprintf(stderr, "sandboxctl: %s\n", notes[i].text);
}

/* What cannot be known is not taken for nothing. */
static int
changes_any(const struct proto_event *e)
{
	static const char *const keys[] = {
		"list", "more", "denied", "cause"
	};
	size_t	 i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (*detail(e, keys[i]) != '\0')
			return (1);
	return (0);
}

static int
changes_event(struct sandbox_answer *a, void *arg)
{
	struct wanted	*w = arg;

	if (a->type != PROTO_EVENT ||
	    strcmp(detail(&a->u.event, "exec"), w->exec) != 0)
		return (0);
	w->found = 1;
	w->judged = changes_any(&a->u.event);
	if (w->ctl->json)
		json_proto(stderr, PROTO_EVENT, &a->u.event);
	else
		changes_print(&a->u.event);
	return (0);
}

/*
 * Of an exec that has ended, by its name as its user writes it.  The exit
 * status of -Z, if that was given and it may have changed something, else 0.
 */
int
changes_tell(struct ctl *ctl, const char *exec)
{
	static char		 type[] = "exec.changed";
	char			*types[] = { type, NULL };
	char			 box[EXEC_ID_MAX + 17], *p;
	struct proto_events	 req;
	struct wanted		 w;

	if (strlcpy(box, exec, sizeof(box)) >= sizeof(box) ||
	    (p = strrchr(box, '.')) == NULL)
		return (ctl->gate);
	*p = '\0';
	w.ctl = ctl;
	w.exec = (p = strchr(exec, '/')) == NULL ? exec : p + 1;
	w.found = 0;
	w.judged = 1;
	memset(&req, 0, sizeof(req));
	req.sandbox = box;
	req.types.v = types;
	req.types.n = 1;
	req.oldest = 1;
	fflush(stdout);
	if (sandbox_events(ctl->conn, &req, changes_event, &w) == -1)
		(void)ctl_error(ctl);
	else if (!w.found)
		fprintf(stderr, "sandboxctl: what was changed is not known: "
		    "its end was not told\n");
	if (ctl->gate == 0 || !w.judged)
		return (0);
	fprintf(stderr, "sandboxctl: the command is judged by its changes: "
	    "status %d\n", (int)ctl->gate);
	return (ctl->gate);
}
