/*
 * Execs on a terminal: whether a sandbox has any, their size, and those whose
 * client leaves them on purpose.
 */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "gproto.h"
#include "log.h"
#include "store.h"

/* A sandbox keeps the guest that it was made with.  -1: answered. */
int
tty_check(const struct asker *a, const struct sandbox *sb,
    const struct proto_exec *m)
{
	if ((m->flags & EXEC_TTY) == 0 || sb->r.guest == 0 ||
	    sb->r.guest >= GP_VERSION_TTY)
		return (0);
	answer_error(a, CODE_UNSUPPORTED, "flags", "%s has no terminals: its "
	    "guest is of version %u, and they came with %u", sb->r.id,
	    sb->r.guest, GP_VERSION_TTY);
	return (-1);
}

/* An exec that runs, on a terminal.  -1: answered. */
static int
tty_begin(struct meant *q, struct frame *f, const void *msg,
    const char *name)
{
	if (exec_begin(q, f, msg, name) == -1)
		return (-1);
	if (q->ex == NULL)
		answer_error(&q->a, CODE_WRONG_STATE, NULL, "%s has ended: %s",
		    name, lifecycle_exec_name(q->r.state));
	else if ((q->r.flags & EXEC_TTY) == 0)
		answer_error(&q->a, CODE_WRONG_STATE, NULL,
		    "%s is on no terminal", name);
	else
		return (0);
	exec_row_clear(&q->r);
	return (-1);
}

int
tty_recv_resize(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_resize	*m = msg;
	struct msg_resize	 r;
	struct meant		 q;

	(void)ch;
	if (tty_begin(&q, f, msg, m->exec) == -1)
		return (0);
	if (q.ex->session != q.a.session)
		audit_allowed(&q.a, "resize", q.sb);
	if (q.ex->queued) {
		/* One that waits for its turn starts with it. */
		q.ex->rows = m->rows;
		q.ex->cols = m->cols;
	} else {
		memset(&r, 0, sizeof(r));
		r.n = q.r.n;
		r.k = q.r.k;
		r.rows = m->rows;
		r.cols = m->cols;
		pipe_send(&st.runner, MSG_RESIZE, 0, q.a.session, q.a.req, -1,
		    &r);
	}
	answer_end(&q.a);
	exec_row_clear(&q.r);
	return (0);
}

struct detach {
	struct asker	 a;
	uint64_t	 n;
	uint64_t	 k;
	uint64_t	 shown;
};

static int
body_detach(struct batch *b, void *arg)
{
	struct detach	*q = arg;
	struct kvv	 d = { 0 };
	struct sandbox	*sb;
	struct exec	*ex;

	if ((sb = model_number(&st.model, q->n)) == NULL ||
	    (ex = model_exec(sb, q->k)) == NULL ||
	    lifecycle_exec_ended(ex->r.state))
		return (BATCH_REFUSED);
	batch_keep(b, &ex->r, sizeof(ex->r));
	ex->r.flags |= EXEC_CONTINUE;
	ex->r.shown = q->shown;
	detail_num(&d, "shown", q->shown);
	detail_str(&d, "rule", q->a.by);
	if (store_event(b, sb, EV_EXEC_DETACH, q->a.uid, q->k, &d) != BATCH_OK)
		return (BATCH_FAIL);
	return (model_put_exec(b, ex));
}

static void
done_detach(void *arg, int result)
{
	struct detach	*q = arg;
	struct sandbox	*sb;
	struct exec	*ex;

	if (result == BATCH_REFUSED)
		answer_error(&q->a, CODE_WRONG_STATE, NULL, "it has ended");
	else if (result != BATCH_OK)
		answer_failed(&q->a, result);
	else {
		/* Its client may have gone before this was in the log. */
		if ((sb = model_number(&st.model, q->n)) != NULL &&
		    (ex = model_exec(sb, q->k)) != NULL)
			timer_del(&ex->lost);
		answer_end(&q->a);
	}
	free(q);
}

int
tty_recv_detach(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_detach	*m = msg;
	struct detach		*d;
	struct meant		 q;

	(void)ch;
	if (exec_begin(&q, f, msg, m->exec) == -1)
		return (0);
	if (q.ex == NULL)
		answer_error(&q.a, CODE_WRONG_STATE, NULL, "%s has ended: %s",
		    m->exec, lifecycle_exec_name(q.r.state));
	else {
		if ((d = calloc(1, sizeof(*d))) == NULL)
			fatal("%s", __func__);
		d->a = q.a;
		d->n = q.r.n;
		d->k = q.r.k;
		d->shown = m->shown;
		batch_gating(&st.batch, body_detach, done_detach, d);
	}
	exec_row_clear(&q.r);
	return (0);
}
