/*
 * libsandbox: the bytes of a command, in a loop of our own: one job (see
 * sandbox_job.c) to its end.
 */

#include <sys/types.h>

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "sandbox_int.h"

struct loop {
	struct sandbox		*sb;
	const struct sandbox_io	*io;
	struct sandbox_job	*job;
	int			 down;	/* without a connection */
};

enum { P_CONN = SANDBOX_JOB_FDS, P_WAKE, P_MAX };

/* The answers that are here; -1 if the job has failed. */
static int
take_answers(struct loop *l)
{
	struct sandbox_answer	 a;
	int			 ret = 0;

	while (ret == 0 && !sandbox_job_ended(l->job) &&
	    sandbox_recv(l->sb, &a, 0) == 1) {
		if (sandbox_job_owns(l->job, &a))
			ret = sandbox_job_take(l->job, &a);
		sandbox_answer_clear(&a);
	}
	return (ret);
}

/*
 * The connection, if it was lost: what was written before is in the pipes,
 * and when that has been read the daemon is looked for.
 */
static int
reconnect(struct loop *l)
{
	struct pollfd	 pfd[SANDBOX_JOB_FDS];
	int		 i;

	if (sandbox_job_ended(l->job))
		return (0);
	if (!l->down && sandbox_fd(l->sb) == -1) {
		l->down = 1;
		if (sandbox_job_lost(l->job) == -1)
			return (-1);
	}
	if (!l->down)
		return (0);
	(void)sandbox_job_fds(l->job, pfd);
	for (i = 0; i < SANDBOX_JOB_FDS; i++)
		if (pfd[i].fd != -1)
			return (0);
	if (l->io->link != NULL)
		l->io->link(l->io->arg, 0);
	if (sandbox_reopen(l->sb, l->io->again) == -1)
		return (-1);
	l->down = 0;
	if (l->io->link != NULL)
		l->io->link(l->io->arg, 1);
	/* If it is lost again this is seen in the next turn. */
	if (sandbox_job_again(l->job) == -1 && !sandbox_error(l->sb)->lost)
		return (-1);
	return (0);
}

/* What is to be waited for, and how long; -1: without end. */
static int
watch(struct loop *l, struct pollfd *pfd)
{
	int	 wait;

	wait = sandbox_job_fds(l->job, pfd);
	pfd[P_CONN].events = pfd[P_WAKE].events = POLLIN;
	pfd[P_CONN].revents = pfd[P_WAKE].revents = 0;
	pfd[P_WAKE].fd = l->io->wakefd;
	pfd[P_CONN].fd = -1;
	if (l->down || sandbox_job_ended(l->job))
		return (wait);
	pfd[P_CONN].fd = sandbox_fd(l->sb);
	switch (sandbox_write_queued(l->sb)) {
	case -1:
		return (0);
	case 1:
		pfd[P_CONN].events |= POLLOUT;
	}
	return (sandbox_pending(l->sb) ? 0 : wait);
}

static int
turn(struct loop *l)
{
	struct pollfd	 pfd[P_MAX];
	struct pollfd	 in;

	if (poll(pfd, P_MAX, watch(l, pfd)) == -1)
		return (errno == EINTR ? 0 : sandbox_lost(l->sb,
		    CODE_INTERNAL, "poll: %s", strerror(errno)));
	/* Output first, and input when the answers have been read. */
	in = pfd[3];
	pfd[3].revents = 0;
	if (sandbox_job_turn(l->job, pfd) == -1)
		return (-1);
	if (!l->down && sandbox_fd(l->sb) != -1 && take_answers(l) == -1)
		return (-1);
	if (pfd[P_WAKE].revents != 0 && !l->down && l->io->wake != NULL &&
	    l->io->wake(l->io->arg, l->sb, sandbox_job_exec(l->job)) == -1)
		return (sandbox_lost(l->sb, CODE_INTERNAL,
		    "given up by the caller"));
	if (in.revents != 0) {
		sandbox_job_fds(l->job, pfd);
		pfd[3].revents = in.revents;
		if (pfd[3].fd != -1 && sandbox_job_turn(l->job, pfd) == -1)
			return (-1);
	}
	return (reconnect(l));
}

/* To its end; info of the command, NULL for logs. */
static int
run(struct sandbox *sb, const struct sandbox_io *io, struct sandbox_job *job,
    struct proto_exec_info *info)
{
	struct loop	 l = { sb, io, job, 0 };
	int		 ret = 0;

	if (job == NULL)
		return (-1);
	while (ret == 0 && !sandbox_job_over(job))
		ret = turn(&l);
	if (ret == -1 && sandbox_job_broken(job))
		sandbox_hang_up(sb);
	sandbox_job_free(job);
	if (info == NULL)
		return (ret);
	if (ret == 0 && *info->id == '\0')
		ret = sandbox_fail(sb, CODE_PROTOCOL,
		    "the daemon left out the command's end");
	if (ret == -1)
		msg_clear(info, proto_def(PROTO_EXEC_INFO));
	return (ret);
}

/* The same, of one whose end is not asked for. */
static int
run_or_drop(struct sandbox *sb, const struct sandbox_io *io,
    struct sandbox_job *job, struct proto_exec_info *info,
    struct proto_exec_info *own)
{
	int	 ret;

	ret = run(sb, io, job, info == NULL ? own : info);
	if (ret == 0 && info == NULL)
		msg_clear(own, proto_def(PROTO_EXEC_INFO));
	return (ret);
}

int
sandbox_run(struct sandbox *sb, const struct proto_exec *x,
    struct sandbox_io *io, struct proto_exec_info *info)
{
	struct proto_exec_info	 own;

	return (run_or_drop(sb, io, sandbox_job_run(sb, x, io,
	    info == NULL ? &own : info), info, &own));
}

int
sandbox_attach(struct sandbox *sb, const struct proto_attach *at,
    struct sandbox_io *io, struct proto_exec_info *info)
{
	struct proto_exec_info	 own;

	return (run_or_drop(sb, io, sandbox_job_attach(sb, PROTO_ATTACH, at,
	    io, info == NULL ? &own : info), info, &own));
}

int
sandbox_logs(struct sandbox *sb, const struct proto_attach *at,
    struct sandbox_io *io)
{
	return (run(sb, io, sandbox_job_attach(sb, PROTO_LOGS, at, io, NULL),
	    NULL));
}
