/* libsandbox: waiting, with a deadline and across restarts of the daemon. */

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "sandbox_int.h"

#define WAIT_SLACK	5000	/* ms for the daemon to say that it is late */

struct waiting {
	struct sandbox	*sb;
	int64_t		 deadline;	/* 0: none */
	int		 again;
};

static void
wait_begin(struct waiting *w, struct sandbox *sb, uint64_t timeout, int again)
{
	w->sb = sb;
	w->again = again;
	w->deadline = 0;
	/* More than the daemon takes is refused there. */
	if (timeout != 0)
		w->deadline = sandbox_now() +
		    (timeout > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)timeout);
}

/* What is left, for a request; never 0 while there is a deadline. */
static uint64_t
wait_left(const struct waiting *w)
{
	int64_t	 left;

	if (w->deadline == 0)
		return (0);
	left = w->deadline - sandbox_now();
	return (left < 1 ? 1 : left);
}

/*
 * The answer of the type into out: 0, or -1.  The deadline is the daemon's to
 * tell; a daemon that hangs does not.
 */
static int
wait_answer(const struct waiting *w, uint32_t req, uint32_t type, void *out,
    size_t size)
{
	struct sandbox_answer	 a;
	uint64_t		 left;
	int			 n, ms = -1, got = 0;

	for (;;) {
		if ((left = wait_left(w)) != 0)
			ms = left > INT32_MAX - WAIT_SLACK ? INT32_MAX :
			    (int)left + WAIT_SLACK;
		if ((n = sandbox_recv_req(w->sb, req, &a, ms)) == -1)
			break;
		if (n == 0) {
			/* Longer than one poll(2) can be told. */
			if (ms == INT32_MAX)
				continue;
			(void)sandbox_lost(w->sb, CODE_DEADLINE_EXCEEDED,
			    "no answer from the daemon");
			break;
		}
		if (a.type == PROTO_END) {
			sandbox_answer_clear(&a);
			if (got)
				return (0);
			return (sandbox_fail(w->sb, CODE_PROTOCOL,
			    "the daemon left out its answer"));
		}
		if (a.type == PROTO_ERROR) {
			sandbox_set_error(w->sb, &a.u.error);
			sandbox_answer_clear(&a);
			break;
		}
		if (a.type == type && !got) {
			memcpy(out, &a.u, size);
			memset(&a.u, 0, sizeof(a.u));
			got = 1;
		}
		sandbox_answer_clear(&a);
	}
	if (got)
		msg_clear(out, proto_def(type));
	return (-1);
}

/* After a failure: 0 to try again on a new connection, or -1. */
static int
wait_again(const struct waiting *w)
{
	uint64_t	 left = wait_left(w);
	int		 ms = w->again;

	if (!w->sb->err.lost || w->sb->err.code == CODE_DEADLINE_EXCEEDED ||
	    w->again <= 0)
		return (-1);
	if (left != 0 && left < (uint64_t)ms)
		ms = left;
	if (sandbox_reopen(w->sb, ms) == 0)
		return (0);
	if (left != 0 && ms != w->again)
		(void)sandbox_lost(w->sb, CODE_DEADLINE_EXCEEDED,
		    "the daemon did not come back within the time given");
	return (-1);
}

int
sandbox_wait_exec(struct sandbox *sb, const char *exec, uint64_t timeout,
    int again, struct proto_exec_info *info)
{
	struct proto_exec_info	 any;
	struct proto_wait	 m;
	struct waiting		 w;
	uint32_t		 req;

	wait_begin(&w, sb, timeout, again);
	memset(&m, 0, sizeof(m));
	m.exec = (char *)(uintptr_t)exec;
	do {
		m.timeout = wait_left(&w);
		if (sandbox_send(sb, PROTO_WAIT, &m, &req) == -1 ||
		    wait_answer(&w, req, PROTO_EXEC_INFO, &any,
		    sizeof(any)) == -1)
			continue;
		if (info != NULL)
			*info = any;
		else
			msg_clear(&any, proto_def(PROTO_EXEC_INFO));
		return (0);
	} while (wait_again(&w) == 0);
	return (-1);
}

static int
wait_states(struct sandbox *sb, struct strv *v, const char *states)
{
	char	*copy, *p, *word;
	int	 ret = 0;

	if ((copy = p = strdup(states)) == NULL)
		return (sandbox_fail(sb, CODE_INTERNAL, "out of memory"));
	while (ret == 0 && (word = strsep(&p, ",")) != NULL)
		if (strv_add(v, word) == -1)
			ret = sandbox_fail(sb, CODE_INTERNAL,
			    "out of memory");
	free(copy);
	return (ret);
}

/* From which event on a state counts: the one that we begin at. */
static int
wait_from(const struct waiting *w, const char *id, uint64_t *from)
{
	struct proto_sandbox	 box;
	struct proto_ref	 ref;
	uint32_t		 req;

	memset(&ref, 0, sizeof(ref));
	ref.id = (char *)(uintptr_t)id;
	if (sandbox_send(w->sb, PROTO_SHOW, &ref, &req) == -1 ||
	    wait_answer(w, req, PROTO_SANDBOX, &box, sizeof(box)) == -1)
		return (-1);
	*from = box.seq;
	msg_clear(&box, proto_def(PROTO_SANDBOX));
	return (0);
}

/* A state that it is in while nobody is connected counts all the same. */
int
sandbox_wait_state(struct sandbox *sb, const char *id, const char *states,
    uint64_t timeout, int again, struct proto_sandbox *out)
{
	struct proto_sandbox	 any;
	struct proto_wait_state	 m;
	struct waiting		 w;
	uint32_t		 req;
	int			 ret = -1;

	wait_begin(&w, sb, timeout, again);
	memset(&m, 0, sizeof(m));
	m.id = (char *)(uintptr_t)id;
	if (wait_states(sb, &m.states, states) == -1)
		goto done;
	do {
		if (m.from == 0 && wait_from(&w, id, &m.from) == -1)
			continue;
		m.timeout = wait_left(&w);
		if (sandbox_send(sb, PROTO_WAIT_STATE, &m, &req) == -1 ||
		    wait_answer(&w, req, PROTO_SANDBOX, &any,
		    sizeof(any)) == -1)
			continue;
		if (out != NULL)
			*out = any;
		else
			msg_clear(&any, proto_def(PROTO_SANDBOX));
		ret = 0;
		break;
	} while (wait_again(&w) == 0);
 done:
	strv_clear(&m.states);
	return (ret);
}
