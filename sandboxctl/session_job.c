/*
 * session_job.c: commands with their bytes, in a session: output as lines
 * with its offsets, input by requests, windows, cancellation.
 */

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "session.h"

/* As large as it can be: what a read of a pipe brings. */
#define CHUNK_MAX	(64 * 1024)

/* Without a library between: most of what a session says is this. */
int
job_out(void *arg, int stream, const void *data, size_t len)
{
	static char	 text[BASE64_LEN(CHUNK_MAX)];
	struct call	*c = arg;

	if (len > CHUNK_MAX)
		return (-1);
	base64_encode(text, data, len);
	fprintf(ss.out, "{\"id\":%s,\"output\":{\"stream\":%d,\"offset\":%llu,"
	    "\"data\":\"", c->l.id, stream,
	    (unsigned long long)c->off[stream]);
	fwrite(text, 1, BASE64_LEN(len), ss.out);
	fputs("\"}}\n", ss.out);
	c->off[stream] += len;
	c->window -= len;
	return (0);
}

/* If it cannot be sent now, it is when the connection is there again. */
static void
job_kill(struct call *c)
{
	struct proto_kill	 req;

	if (!c->cancelled || c->killed || ss.conn != CONN_UP ||
	    c->l.def->type != PROTO_EXEC || *sandbox_job_exec(c->job) == '\0')
		return;
	memset(&req, 0, sizeof(req));
	req.exec = (char *)(uintptr_t)sandbox_job_exec(c->job);
	if (sandbox_queue(ss.sb, PROTO_KILL, &req, NULL) == 0)
		c->killed = 1;
}

static void
job_note(void *arg, const struct sandbox_answer *a)
{
	struct call	*c = arg;

	if (a->type == PROTO_GAP)
		c->off[a->u.gap.stream] = a->u.gap.to;
	tell(c, a->type, &a->u);
}

int
job_begin(struct call *c)
{
	struct proto_attach	*at = c->l.msg;
	struct proto_exec	*x = c->l.msg;

	c->io.in = c->l.extra.input ? SANDBOX_IO_WRITE : -1;
	c->io.out = job_out;
	c->io.note = job_note;
	c->io.wakefd = -1;
	c->io.arg = c;
	c->io.again = CTL_AGAIN;
	c->window = c->l.extra.window;
	if (c->l.def->type == PROTO_EXEC) {
		if (x->flags & EXEC_INPUT && !c->l.extra.input) {
			c->l.extra.input = 1;
			c->io.in = SANDBOX_IO_WRITE;
		}
		c->job = sandbox_job_run(ss.sb, x, &c->io, &c->info);
	} else {
		/* Without a word about streams, both. */
		if (at->streams == 0)
			at->streams = 1 << 1 | 1 << 2;
		if (c->l.extra.input)
			at->streams |= 1;
		else
			at->streams &= ~1;
		c->off[1] = at->offset1;
		c->off[2] = at->offset2;
		c->job = sandbox_job_attach(ss.sb, c->l.def->type, at, &c->io,
		    c->l.def->type == PROTO_LOGS ? NULL : &c->info);
	}
	if (c->job != NULL)
		return (0);
	call_sb_error(c);
	return (-1);
}

/* It is over: how it ended, and that it has. */
static void
job_over(struct call *c)
{
	if (c->tool != NULL) {
		tool_over(c);
		return;
	}
	if (c->l.def->type == PROTO_CALL) {
		file_over(c);
		return;
	}
	if (c->l.def->type != PROTO_LOGS) {
		if (*c->info.id == '\0') {
			call_error(c, CODE_PROTOCOL, "",
			    "the daemon left out the command's end");
			return;
		}
		tell(c, PROTO_EXEC_INFO, &c->info);
	}
	call_end(c, NULL);
}

/* The requests that brought input, as far as it is taken. */
static int
job_feed(struct call *c)
{
	struct call	*i;
	struct blob	*b;
	ssize_t		 n;

	if (c->tool != NULL && tool_feed(c) == -1)
		return (-1);
	while ((i = TAILQ_FIRST(&c->inputs)) != NULL) {
		b = &i->l.extra.data;
		while (i->done < b->len) {
			n = sandbox_job_write(c->job, b->data + i->done,
			    b->len - i->done);
			if (n == -1)
				return (-1);
			if (n == 0)
				return (0);
			i->done += n;
			c->held -= n;
		}
		if (i->l.extra.end && sandbox_job_end(c->job) == -1)
			return (-1);
		call_end(i, NULL);
	}
	return (0);
}

/* After whatever may have changed it. */
static void
job_settle(struct call *c, int ret)
{
	if (ret == 0 && !sandbox_job_ended(c->job))
		ret = job_feed(c);
	if (ret == -1) {
		/* A lost connection is everybody's. */
		if (sandbox_error(ss.sb)->lost)
			return;
		if (sandbox_job_broken(c->job) && c->l.def->type ==
		    PROTO_EXEC) {
			c->cancelled = 1;
			job_kill(c);
		}
		if (c->tool == NULL || !tool_failed(c))
			call_sb_error(c);
	} else if (sandbox_job_over(c->job))
		job_over(c);
}

void
job_take(struct call *c, struct sandbox_answer *a)
{
	int	 ret;

	/* What is wrong with it is told as it was, and not in our words. */
	ret = sandbox_job_take(c->job, a);
	job_kill(c);
	job_settle(c, ret);
}

/* What is to be polled for it; how long to wait at most. */
int
job_fds(struct call *c, struct pollfd *pfd, int full)
{
	int	 wait;

	if (c->ctl != NULL) {
		ctl_fds(c, pfd, full);
		return (-1);
	}
	wait = sandbox_job_fds(c->job, pfd);
	if (full || (c->l.extra.window != 0 && c->window <= 0))
		pfd[0].fd = pfd[1].fd = -1;
	return (wait);
}

void
job_turn(struct call *c, const struct pollfd *pfd)
{
	int	 ret;

	if (c->ctl != NULL) {
		ctl_turn(c, pfd);
		return;
	}
	ret = sandbox_job_turn(c->job, pfd);
	if (ret == 0 && ss.conn == CONN_UP && !sandbox_job_ended(c->job)) {
		ret = sandbox_job_again(c->job);
		if (ret == 1) {
			job_kill(c);
			ret = 0;
		}
	}
	job_settle(c, ret);
}

void
job_lost(struct call *c)
{
	if (sandbox_job_lost(c->job) == -1)
		call_sb_error(c);
}

/* A command that we started ends; one that we only read is let go. */
void
job_cancel(struct call *c)
{
	if (c->ctl != NULL) {
		ctl_cancel(c);
		return;
	}
	if (c->l.def->type == PROTO_CALL) {
		file_cancel(c);
		return;
	}
	c->cancelled = 1;
	if (c->l.def->type != PROTO_EXEC) {
		call_abandon(c);
		return;
	}
	/* Who has cancelled it may not read it any more. */
	c->l.extra.window = 0;
	job_kill(c);
}

void
job_credit(struct call *c, uint64_t n)
{
	if (n > (uint64_t)(INT64_MAX - (c->window > 0 ? c->window : 0)))
		c->window = INT64_MAX;
	else
		c->window += n;
}

void
job_clear(struct call *c)
{
	ctl_clear(c);
	tool_clear(c);
	free(c->records);
	c->records = NULL;
	if (c->job != NULL)
		sandbox_job_free(c->job);
	c->job = NULL;
	msg_clear(&c->info, proto_def(PROTO_EXEC_INFO));
}

/* The request "input". */
int
job_input(struct call *i)
{
	struct call	*c;
	char		 text[160];

	if ((c = call_find(i->l.of)) == NULL || !c->l.extra.input ||
	    c->input_over) {
		snprintf(text, sizeof(text), "%s", c == NULL ?
		    "no such request is under way" : c->input_over ?
		    "its input has ended" : "it takes no input");
		call_error(i, c == NULL ? CODE_NOT_FOUND : CODE_WRONG_STATE,
		    "request", text);
		return (-1);
	}
	if (i->l.extra.data.len > SESSION_INPUT_MAX - c->held) {
		snprintf(text, sizeof(text), "input of %zu bytes: %zu are not "
		    "taken yet: the limit is %d", i->l.extra.data.len,
		    c->held, SESSION_INPUT_MAX);
		call_error(i, CODE_LIMIT_EXCEEDED, "data", text);
		return (-1);
	}
	c->input_over = i->l.extra.end;
	c->held += i->l.extra.data.len;
	i->queue = &c->inputs;
	TAILQ_INSERT_TAIL(&c->inputs, i, entry);
	if (c->ctl != NULL)
		ctl_feed(c);
	else if (c->job != NULL)
		job_settle(c, 0);
	return (0);
}
