/*
 * cmd_log.c: the event log: events, log dump, log verify.
 */

#include <string.h>

#include "sandboxctl.h"

static int
events_print(struct sandbox_answer *a, void *arg)
{
	struct ctl	*ctl = arg;

	if (a->type == PROTO_HEARTBEAT) {
		ctl->from = a->u.heartbeat.seq + 1;
		if (ctl->json)
			json_kind(stdout, a->type, &a->u.heartbeat);
		else
			out_heartbeat(stdout, &a->u.heartbeat);
	} else if (a->type == PROTO_EVENT) {
		/* Continue behind it, should the daemon be restarted. */
		ctl->from = (ctl->argc == 1 ? a->u.event.seq :
		    a->u.event.host_seq) + 1;
		if (ctl->json)
			json_proto(stdout, PROTO_EVENT, &a->u.event);
		else
			out_event(stdout, &a->u.event);
	} else
		return (0);
	/* Who follows reads each event when it happens. */
	if (ctl->follow && fflush(stdout) == EOF)
		return (-1);
	return (0);
}

/*
 * Did the subscription end for what can be mended: the daemon is being
 * restarted, or our output took nothing for so long that it gave us up?
 */
static int
events_again(struct ctl *ctl)
{
	if (ctl_lost(ctl))
		return (ctl_reopen(ctl) == 0);
	return (sandbox_error(ctl->conn)->code == CODE_DEADLINE_EXCEEDED);
}

int
cmd_events(struct ctl *ctl)
{
	struct proto_events	 req;

	do {
		memset(&req, 0, sizeof(req));
		req.sandbox = ctl->argc == 1 ? ctl->argv[0] : (char *)"";
		req.from = ctl->from;
		req.follow = ctl->follow;
		req.types = ctl->types;
		req.labels = ctl->labels;
		req.heartbeat = ctl->heartbeat;
		req.oldest = ctl->oldest;
		req.end = ctl->end;
		if (sandbox_events(ctl->conn, &req, events_print, ctl) == 0)
			return (0);
		if (ferror(stdout))
			return (ctl_errno(ctl, "standard output"));
	} while (events_again(ctl));
	return (ctl_error(ctl));
}

static int
dump_write(struct sandbox_answer *a, void *arg)
{
	struct blob	*b = &a->u.dump.data;

	(void)arg;
	if (a->type != PROTO_DUMP)
		return (0);
	return (fwrite(b->data, 1, b->len, stdout) == b->len ? 0 : -1);
}

/* A dump that ends too early is no dump: its last line is missing. */
int
cmd_log_dump(struct ctl *ctl)
{
	if (sandbox_log_dump(ctl->conn, dump_write, ctl) == -1) {
		if (ferror(stdout))
			return (ctl_errno(ctl, "standard output"));
		return (ctl_error(ctl));
	}
	if (fflush(stdout) == EOF)
		return (ctl_errno(ctl, "standard output"));
	return (0);
}

int
cmd_log_verify(struct ctl *ctl)
{
	struct proto_verify	 v;

	memset(&v, 0, sizeof(v));
	if (sandbox_log_verify(ctl->conn, ctl->argc == 1 ? ctl->argv[0] :
	    NULL, &v) == -1)
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
		printf("\nnewest       %llu\nsandboxes    %llu\n"
		    "execs        %llu\n", (unsigned long long)v.newest,
		    (unsigned long long)v.sandboxes,
		    (unsigned long long)v.execs);
		if (ctl->argc == 1)
			printf("found        %llu\n",
			    (unsigned long long)v.found);
	}
	return (0);
}
