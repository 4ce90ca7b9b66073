/*
 * cmd_daemon.c: commands about the daemon: ping, reload, rules, status,
 * version.
 */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sandboxctl.h"
#include "version.h"

#define PROCS_MAX	16
#define UPGRADE_WAIT	90000		/* ms, as exec has */

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec	 ts;

	if (clock_gettime(clock, &ts) == -1)
		return (0);
	return ((uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec);
}

int
cmd_ping(struct ctl *ctl)
{
	uint64_t	 t = now_ns(CLOCK_MONOTONIC);

	if (sandbox_ping(ctl->conn) == -1)
		return (ctl_error(ctl));
	t = now_ns(CLOCK_MONOTONIC) - t;
	if (ctl->json)
		json_ping(stdout, t);
	else
		printf("answer after %llu us\n",
		    (unsigned long long)t / 1000);
	return (0);
}

int
cmd_reconcile(struct ctl *ctl)
{
	if (sandbox_reconcile(ctl->conn, ctl->follow) == -1)
		return (ctl_error(ctl));
	return (0);
}

/* The old one hangs up when it goes; its successor answers. */
static int
upgrade_wait(struct ctl *ctl)
{
	struct pollfd	 pfd = { .fd = sandbox_fd(ctl->conn),
			     .events = POLLIN };

	while (poll(&pfd, 1, UPGRADE_WAIT) == -1 && errno == EINTR)
		continue;
	return (sandbox_reopen(ctl->conn, UPGRADE_WAIT));
}

int
cmd_reload(struct ctl *ctl)
{
	char	 before[64];

	if (!ctl->execute)
		return (sandbox_reload(ctl->conn) == -1 ? ctl_error(ctl) : 0);
	strlcpy(before, sandbox_hello(ctl->conn)->daemon, sizeof(before));
	/* It answers when it has tried its new program, and then goes. */
	if (sandbox_upgrade(ctl->conn) == -1 ||
	    upgrade_wait(ctl) == -1)
		return (ctl_error(ctl));
	if (ctl->json)
		json_version(stdout, sandbox_hello(ctl->conn));
	else {
		printf("sandboxd ");
		out_text(stdout, before);
		printf(" to ");
		out_text(stdout, sandbox_hello(ctl->conn)->daemon);
		putchar('\n');
	}
	return (0);
}

struct rules {
	struct ctl	*ctl;
	struct table	*rights;
	struct table	*limits;
};

static int
rules_one(struct sandbox_answer *a, void *arg)
{
	struct rules	*r = arg;

	if (a->type != PROTO_RIGHT && a->type != PROTO_LIMIT)
		return (0);
	if (r->ctl->json)
		json_proto(stdout, a->type, &a->u);
	else if (a->type == PROTO_RIGHT)
		out_rights_add(r->rights, &a->u.right);
	else
		out_limits_add(r->limits, &a->u.limit);
	return (0);
}

int
cmd_rules(struct ctl *ctl)
{
	struct rules	 r;
	int		 status = 0;

	r.ctl = ctl;
	r.rights = out_rights_new();
	r.limits = out_limits_new();
	if (sandbox_rules(ctl->conn, rules_one, &r) == -1)
		status = ctl_error(ctl);
	else if (!ctl->json) {
		table_print(r.rights, stdout);
		putchar('\n');
		table_print(r.limits, stdout);
	}
	table_free(r.rights);
	table_free(r.limits);
	return (status);
}

struct procs {
	struct proto_proc	 v[PROCS_MAX];
	size_t			 n;
};

static int
status_proc(struct sandbox_answer *a, void *arg)
{
	struct procs	*procs = arg;

	if (a->type == PROTO_PROC && procs->n < PROCS_MAX)
		procs->v[procs->n++] = a->u.proc;
	return (0);
}

int
cmd_status(struct ctl *ctl)
{
	struct proto_status_info	 info;
	struct procs			 procs;

	memset(&procs, 0, sizeof(procs));
	memset(&info, 0, sizeof(info));
	if (sandbox_status(ctl->conn, status_proc, &procs, &info) == -1)
		return (ctl_error(ctl));
	if (ctl->json)
		json_status(stdout, &info, procs.v, procs.n);
	else
		out_status(stdout, &info, procs.v, procs.n,
		    now_ns(CLOCK_REALTIME));
	return (0);
}

/* Our own is told also when there is no daemon to tell its. */
int
cmd_version(struct ctl *ctl)
{
	const struct proto_hello_ok	*h;
	int				 status;

	if (!ctl->json)
		printf("sandboxctl %s\n", SANDBOXD_VERSION);
	status = ctl_open(ctl);
	h = status == 0 ? sandbox_hello(ctl->conn) : NULL;
	if (ctl->json)
		json_version(stdout, h);
	else if (h != NULL) {
		printf("sandboxd ");
		out_text(stdout, h->daemon);
		printf("\nprotocol %u.%u\n", h->version, h->minor);
		/* One of protocol 1.0 does not tell. */
		if (h->database != 0)
			printf("database %u\nguest %u to %u\n", h->database,
			    h->guest_oldest, h->guest_newest);
	}
	return (status);
}
