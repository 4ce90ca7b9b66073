/*
 * What operations ask of the Engine: it waits here until the broker has room
 * for it, in the order in which it came.
 */
#include <sys/types.h>

#include <stddef.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "store.h"

static struct sandbox *
engine_whose(struct op *op)
{
	return ((struct sandbox *)((char *)op -
	    offsetof(struct sandbox, op)));
}

static void
send_box_create(struct sandbox *sb)
{
	struct msg_box_create	 m;
	struct proto_create	*c = sb->conf;

	memset(&m, 0, sizeof(m));
	m.n = sb->r.n;
	strlcpy(m.id, sb->r.id, sizeof(m.id));
	m.owner = sb->r.owner;
	strlcpy(m.nonce, sb->r.nonce, sizeof(m.nonce));
	strlcpy(m.image, c->image, sizeof(m.image));
	m.uid = sb->r.uid;
	m.gid = sb->r.gid;
	m.memory = c->memory;
	m.mcpus = c->mcpus;
	m.pids = c->pids;
	m.readonly = c->readonly;
	m.disk = c->disk;
	m.tmpfs = c->tmpfs;
	m.env = c->env;
	mount_places(&m, c);
	pipe_send(&st.broker, MSG_BOX_CREATE, sb->op.number, 0, 0, -1, &m);
	strv_clear(&m.mounts);
	strv_clear(&m.mounts_rw);
}

static void
send_box_ref(struct sandbox *sb, uint32_t type)
{
	struct msg_box_ref	 m;

	memset(&m, 0, sizeof(m));
	m.n = sb->r.n;
	strlcpy(m.container, sb->r.container, sizeof(m.container));
	strlcpy(m.nonce, sb->r.nonce, sizeof(m.nonce));
	m.grace = sb->op.grace;
	pipe_send(&st.broker, type, sb->op.number, 0, 0, -1, &m);
}

static void
send_box_update(struct sandbox *sb)
{
	struct msg_box_update	 m;
	struct limits		 l;

	memset(&m, 0, sizeof(m));
	update_wanted(sb, &l);
	m.n = sb->r.n;
	strlcpy(m.container, sb->r.container, sizeof(m.container));
	strlcpy(m.nonce, sb->r.nonce, sizeof(m.nonce));
	m.memory = l.memory;
	m.mcpus = l.mcpus;
	m.pids = l.pids;
	pipe_send(&st.broker, MSG_BOX_UPDATE, sb->op.number, 0, 0, -1, &m);
}

static void
engine_order(struct sandbox *sb)
{
	fault("store.engine.before");
	switch (sb->op.order) {
	case MSG_BOX_CREATE:
		send_box_create(sb);
		break;
	case MSG_BOX_UPDATE:
		send_box_update(sb);
		break;
	default:
		send_box_ref(sb, sb->op.order);
		break;
	}
	fault("store.engine.after");
}

/*
 * The broker goes on until it is certain, and that may take for ever: some
 * containers cannot be killed.  They must not keep all others from theirs.
 */
static void
engine_late(int fd, short event, void *arg)
{
	struct slot	*slot = arg;

	(void)fd;
	(void)event;
	log_warnx("operation %llu takes long: others are let past it",
	    (unsigned long long)slot->number);
	slot->number = 0;
	engine_pump();
}

/* Sends what waits, as long as the broker has room for it. */
void
engine_pump(void)
{
	struct slot	*slot;
	struct op	*op;
	uint64_t	 ms = st.conf.t_delete;
	int		 i;

	if (ms > STORE_SLOT_MS)
		ms = STORE_SLOT_MS;
	for (i = 0; i < STORE_ENGINE_MAX; i++) {
		slot = &st.slots[i];
		if (slot->number != 0)
			continue;
		if ((op = TAILQ_FIRST(&st.forbroker)) == NULL)
			return;
		TAILQ_REMOVE(&st.forbroker, op, queue);
		op->queued = 0;
		slot->number = op->number;
		timer_set(&slot->late, engine_late, slot, ms);
		engine_order(engine_whose(op));
	}
}

/* Its operation gets order when there is room. */
void
engine_ask(struct sandbox *sb, uint32_t order)
{
	sb->op.order = order;
	TAILQ_INSERT_TAIL(&st.forbroker, &sb->op, queue);
	sb->op.queued = 1;
	engine_pump();
}

void
engine_answered(uint64_t number)
{
	int	 i;

	for (i = 0; i < STORE_ENGINE_MAX; i++)
		if (number != 0 && st.slots[i].number == number) {
			st.slots[i].number = 0;
			timer_del(&st.slots[i].late);
		}
}

void
engine_forget(struct op *op)
{
	if (op->queued)
		TAILQ_REMOVE(&st.forbroker, op, queue);
	op->queued = 0;
}
