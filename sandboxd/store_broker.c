/*
 * The broker's pipe: outcomes, and what the Engine says unasked.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"

static int
broker_recv_outcome(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	op_box(f->op, f->type, msg);
	return (0);
}

/* A container has ended without being told to. */
static int
broker_recv_died(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_box_state	*m = msg;
	struct sandbox		*sb;

	(void)ch;
	(void)f;
	if (damaged())
		return (0);
	sb = reconcile_whose(m);
	if (!m->gone && reconcile_late(sb, m))
		return (0);
	if (sb == NULL ||
	    (m->nonce[0] != '\0' && strcmp(m->nonce, sb->r.nonce) != 0))
		return (0);
	reconcile_dead(sb, m);
	return (0);
}

/* Somebody else has paused it, or let it go on, or renamed it. */
static int
broker_recv_look(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_box_state	*m = msg;
	struct sandbox		*sb;

	(void)ch;
	(void)f;
	if (damaged() || (sb = reconcile_whose(m)) == NULL)
		return (0);
	reconcile_named(sb, m);
	reconcile_paused(sb, m);
	return (0);
}

static int
broker_recv_engine(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_engine	*m = msg;
	int			 was = st.engine.up;

	(void)ch;
	(void)f;
	st.engine = *m;
	if (!m->up)
		st.engine_left = 1;
	if (!m->up && was)
		log_warnx("the Engine is away: %s", m->text);
	else if (m->up && !was) {
		log_info("Engine %s, API %s", m->version, m->api);
		if (!m->live_restore)
			log_warnx("the Engine has no live-restore: sandboxes "
			    "end when it is restarted");
		if (!damaged())
			reconcile_engine();
	}
	request_unpark();
	return (0);
}

static int
broker_recv_container(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	if (f->op == st.inventory)
		reconcile_container(msg);
	return (0);
}

static int
broker_recv_inventory_end(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	if (f->op == st.inventory)
		reconcile_end(msg);
	return (0);
}

/* The write end of the pipe through which an image comes in. */
static int
broker_recv_import_stream(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_stream	 m;

	(void)ch;
	(void)msg;
	if (f->fd == -1 || !pipe_is(f->fd))
		return (-1);
	if (session_find(f->session) == NULL)
		return (0);
	memset(&m, 0, sizeof(m));
	pipe_send(&st.frontend, PROTO_STREAM, 0, f->session, f->req, f->fd,
	    &m);
	f->fd = -1;
	return (0);
}

struct imported {
	struct asker		 a;
	struct proto_image	 m;
};

static int
body_imported(struct batch *b, void *arg)
{
	struct imported	*q = arg;
	struct kvv	 d = { 0 };

	detail_str(&d, "image", q->m.name);
	detail_str(&d, "id", q->m.id);
	if (q->a.by[0] != '\0')
		detail_str(&d, "rule", q->a.by);
	return (store_event(b, NULL, EV_IMAGE_IMPORTED, q->a.uid, 0, &d));
}

static void
done_imported(void *arg, int result)
{
	struct imported	*q = arg;

	if (result == BATCH_OK) {
		answer(&q->a, PROTO_IMAGE, &q->m);
		answer_end(&q->a);
	} else
		answer_failed(&q->a, result);
	free(q);
}

static int
broker_recv_imported(struct chan *ch, struct frame *f, void *msg)
{
	struct imported	*q;
	struct session	*s;

	(void)ch;
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->a.session = f->session;
	q->a.req = f->req;
	if ((s = session_find(f->session)) != NULL) {
		q->a.uid = s->uid;
		rights_by(&q->a, s, RIGHT_IMAGES);
	}
	memcpy(&q->m, msg, sizeof(q->m));
	batch_gating(&st.batch, body_imported, done_imported, q);
	return (0);
}

static int
broker_recv_import_failed(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_box_failed	*m = msg;
	struct asker		 a = { .session = f->session, .req = f->req };
	struct session		*s;

	(void)ch;
	/* He was allowed to, whatever came of it. */
	if ((s = session_find(f->session)) != NULL) {
		a.uid = s->uid;
		rights_by(&a, s, RIGHT_IMAGES);
		audit_allowed(&a, "import", NULL);
	}
	answer_error(&a, m->code, m->field, "%s", m->text);
	return (0);
}

static const struct pipe_handler handlers[] = {
	{ MSG_BOX_STARTED, broker_recv_outcome },
	{ MSG_BOX_DEAD, broker_recv_outcome },
	{ MSG_BOX_REMOVED, broker_recv_outcome },
	{ MSG_BOX_PAUSED, broker_recv_outcome },
	{ MSG_BOX_UNPAUSED, broker_recv_outcome },
	{ MSG_BOX_UPDATED, broker_recv_outcome },
	{ MSG_BOX_FAILED, broker_recv_outcome },
	{ MSG_BOX_DIED, broker_recv_died },
	{ MSG_BOX_LOOK, broker_recv_look },
	{ MSG_ENGINE, broker_recv_engine },
	{ MSG_CONTAINER, broker_recv_container },
	{ MSG_INVENTORY_END, broker_recv_inventory_end },
	{ MSG_IMPORT_STREAM, broker_recv_import_stream },
	{ MSG_IMPORTED, broker_recv_imported },
	{ MSG_IMPORT_FAILED, broker_recv_import_failed },
};

void
store_dispatch_broker(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	/* When it dies the parent ends all of us: nothing to do here. */
	if (pipe_dispatch(arg, handlers,
	    sizeof(handlers) / sizeof(handlers[0])) == 0)
		event_del(&((struct chan *)arg)->ev);
	store_round();
}
