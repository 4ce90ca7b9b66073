/*
 * cmd_watch.c: what changes among the files of a sandbox, as it happens.
 */

#include <string.h>

#include "sandboxctl.h"

static void
watch_name(const char *name, int dir)
{
	out_text(stdout, *name == '\0' ? "." : name);
	if (dir && *name != '\0')
		printf("/");
}

/* A line for each, and at once: somebody waits for it. */
static int
watch_take(void *arg, void *rec)
{
	struct ctl		*ctl = arg;
	const struct watch_rec	*r = rec;

	if (ctl->json)
		json_message(stdout, &watch_rec_def, r);
	else {
		out_text(stdout, r->kind);
		printf(" ");
		if (*r->from != '\0') {
			watch_name(r->from, r->dir);
			printf(" -> ");
		}
		watch_name(r->name, r->dir);
		printf("\n");
	}
	if (r->code != CODE_OK)
		file_local(ctl, r->code, *r->name == '\0' ? "." : r->name,
		    "it cannot be watched");
	return (fflush(stdout) == 0 ? 0 : -1);
}

int
cmd_watch(struct ctl *ctl)
{
	static char		 here[] = ".";
	struct proto_call	 c;
	char			*path = ctl->argc > 1 ? ctl->argv[1] : here;

	file_call(ctl, &c, CALL_WATCH, path);
	c.flags = CALL_F_RECURSE;
	if (sandbox_file_records(ctl->conn, &c, &watch_rec_def, watch_take,
	    ctl, NULL) == -1) {
		if (ferror(stdout))
			return (file_errno(ctl, "standard output"));
		(void)file_error(ctl, path);
	}
	return (ctl->failed);
}
