/*
 * cmd_run.c: run: a sandbox for one command.
 */

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "sandboxctl.h"

/* What is known of the sandbox while it is made. */
struct making {
	char		 id[SBX_ID_MAX + 1];	/* "" until it is accepted */
	uint32_t	 req;
	int		 over;		/* END or ERROR came */
	int		 ready;
};

static void
run_answer(struct ctl *ctl, struct making *m, struct sandbox_answer *a)
{
	if (a->req != m->req)
		return;
	switch (a->type) {
	case PROTO_ACCEPTED:
		strlcpy(m->id, a->u.accepted.id, sizeof(m->id));
		break;
	case PROTO_END:
		m->over = m->ready = 1;
		break;
	case PROTO_ERROR:
		sandbox_set_error(ctl->conn, &a->u.error);
		m->over = 1;
		break;
	}
}

/* Wait for an answer or a signal; -1 if the connection is lost. */
static int
run_wait(struct ctl *ctl, struct making *m, int sigfd)
{
	struct sandbox_answer	 a;
	struct pollfd		 pfd[2];
	int			 n;

	while ((n = sandbox_recv(ctl->conn, &a, 0)) == 1) {
		run_answer(ctl, m, &a);
		sandbox_answer_clear(&a);
		if (m->over)
			return (0);
	}
	if (n == -1)
		return (-1);
	/* Without a name nothing can be deleted: that much is waited for. */
	if (signals_got() != 0 && *m->id != '\0')
		return (0);
	pfd[0].fd = sandbox_fd(ctl->conn);
	pfd[0].events = POLLIN;
	pfd[1].fd = sigfd;
	pfd[1].events = POLLIN;
	if (poll(pfd, 2, -1) == -1 && errno != EINTR)
		return (-1);
	signals_drain();
	return (0);
}

/* 0 if the sandbox is ready, 1 if a signal came before, -1 if it failed. */
static int
run_create(struct ctl *ctl, struct making *m)
{
	struct proto_create	 req;
	int			 sigfd;

	if (create_fill(ctl, &req) == -1)
		return (-1);
	if ((sigfd = signals_catch()) == -1) {
		ctl_errno(ctl, "signals");
		return (-1);
	}
again:
	m->over = 0;
	if (sandbox_send(ctl->conn, PROTO_CREATE, &req, &m->req) == 0)
		while (!m->over && run_wait(ctl, m, sigfd) == 0)
			if (signals_got() != 0 && *m->id != '\0')
				return (1);
	if (m->ready)
		return (0);
	/* The request's key makes this the same sandbox. */
	if (!m->over && ctl_lost(ctl) && ctl_reopen(ctl) == 0)
		goto again;
	ctl_error(ctl);
	return (-1);
}

/* To delete twice is to delete: ask again after a restart. */
static int
run_delete(struct ctl *ctl, struct making *m)
{
	struct proto_ref	 req;

	if (*m->id == '\0')
		return (0);
	memset(&req, 0, sizeof(req));
	req.id = m->id;
	req.wait = 1;
	while (sandbox_delete(ctl->conn, &req, NULL, NULL) == -1)
		if (!ctl_lost(ctl) || ctl_reopen(ctl) == -1)
			return (ctl_error(ctl));
	return (0);
}

int
cmd_run(struct ctl *ctl)
{
	struct proto_sandbox	 s;
	struct making		 m;
	int			 n, status;

	memset(&s, 0, sizeof(s));
	memset(&m, 0, sizeof(m));
	if (exec_check(ctl, ctl->argv, ctl->argc) == -1 ||
	    host_tools(ctl) == -1 || seeds_check(ctl) != 0)
		return (EXIT_OURS);
	if ((n = run_create(ctl, &m)) == 0)
		seeds_dir(ctl, m.id);
	status = n == 0 ? seeds_put(ctl, m.id, &s, 0) : 0;
	msg_clear(&s, proto_def(PROTO_SANDBOX));
	if (status == -1)
		return (signals_got() != 0 ? EXIT_SIGNAL + signals_got() :
		    EXIT_OURS);
	if (n == 0 && signals_got() != 0)
		n = 1;
	if (n == 0)
		status = exec_attached(ctl, m.id, ctl->argv, ctl->argc);
	else
		status = n == 1 ? EXIT_SIGNAL + signals_got() : EXIT_OURS;
	if ((n = run_delete(ctl, &m)) != 0 && status == 0)
		status = n;
	return (status);
}
