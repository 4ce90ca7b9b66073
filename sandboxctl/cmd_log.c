/*
 * cmd_log.c: the event log: events, log verify.
 */

#include <string.h>

#include "sandboxctl.h"

static int
events_print(struct sandbox_answer *a, void *arg)
{
	struct ctl	*ctl = arg;

	if (a->type != PROTO_EVENT)
		return (0);
	/* Continue behind it, should the daemon be restarted. */
	ctl->from = (ctl->argc == 1 ? a->u.event.seq : a->u.event.host_seq) +
	    1;
	if (ctl->json)
		json_proto(stdout, PROTO_EVENT, &a->u.event);
	else
		out_event(stdout, &a->u.event);
	/* Who follows reads each event when it happens. */
	if (ctl->follow && fflush(stdout) == EOF)
		return (-1);
	return (0);
}

int
cmd_events(struct ctl *ctl)
{
	struct proto_events	 req;

	for (;;) {
		memset(&req, 0, sizeof(req));
		req.sandbox = ctl->argc == 1 ? ctl->argv[0] : (char *)"";
		req.from = ctl->from;
		req.follow = ctl->follow;
		if (ctl->type != NULL && strlcpy(req.type, ctl->type,
		    sizeof(req.type)) >= sizeof(req.type))
			return (ctl_error_code(ctl, CODE_INVALID_ARGUMENT,
			    "type", "invalid type: no such events"));
		if (sandbox_events(ctl->conn, &req, events_print, ctl) == 0)
			return (0);
		if (ferror(stdout))
			return (ctl_errno(ctl, "standard output"));
		if (!ctl_lost(ctl) || ctl_reopen(ctl) == -1)
			return (ctl_error(ctl));
	}
}

int
cmd_log_verify(struct ctl *ctl)
{
	struct proto_verify	 v;

	memset(&v, 0, sizeof(v));
	if (sandbox_log_verify(ctl->conn, &v) == -1)
		return (ctl_error(ctl));
	if (ctl->json)
		json_proto(stdout, PROTO_VERIFY, &v);
	else {
		printf("events       %llu\nskeletons    %llu\n"
		    "anchor       %llu\nhead         ",
		    (unsigned long long)v.events,
		    (unsigned long long)v.skeletons,
		    (unsigned long long)v.anchor);
		out_text(stdout, v.head);
		printf("\n");
	}
	return (0);
}
