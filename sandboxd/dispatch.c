/* Messages of the pipes between processes: in by table, out by type. */

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "sandboxd.h"

/* Any message's structure, aligned for each of its members. */
union msg_any {
	uint64_t			 align;
	struct proto_hello		 hello;
	struct proto_sandbox		 sandbox;
	struct proto_exec_info		 exec_info;
	struct proto_status_info	 status_info;
	struct proto_error		 error;
	struct msg_conf			 conf;
	struct msg_engine		 engine;
	char				 room[8192];
};

static void
pipe_hand_on(struct chan *ch, struct frame *f,
    const struct pipe_handler *table, size_t n)
{
	static const uint8_t	 none[1] = { 0x90 };	/* empty array */
	const struct msg_def	*def;
	union msg_any		 msg;
	const uint8_t		*data = f->data;
	size_t			 i, len = f->len;

	for (i = 0; i < n; i++)
		if (table[i].type == f->type)
			break;
	if (i == n || (def = msg_def(f->type)) == NULL)
		fatalx("unexpected %s (%u) from %s", msg_name(f->type),
		    f->type, ch->peer);
	if (def->size > sizeof(msg))
		fatalx("%s is larger than any message", def->name);
	if (len == 0 && def->nfields == 0) {
		data = none;
		len = sizeof(none);
	}
	errno = 0;
	if (msg_decode_array(&msg, def, data, len) == -1) {
		if (errno == ENOMEM)
			fatal("%s from %s", def->name, ch->peer);
		fatalx("bad %s from %s", def->name, ch->peer);
	}
	errno = 0;
	if (table[i].recv(ch, f, &msg) == -1) {
		if (errno == ENOMEM)
			fatal("%s from %s", def->name, ch->peer);
		fatalx("bad %s from %s", def->name, ch->peer);
	}
	msg_clear(&msg, def);
}

/*
 * Is it to take what was answered first?  Who asks without an end and reads
 * no answer is asked no more himself, and fills no memory but his own.
 */
int
pipe_full(struct chan *ch)
{
	if (ch->pause == 0 || ch->queued <= ch->pause)
		return (0);
	if (!ch->paused) {
		ch->paused = 1;
		event_del(&ch->ev);
	}
	return (1);
}

/*
 * Whoever has one handed on to a client is a sibling, and may be somebody
 * else's by now: to look at it otherwise could ask a file system, and wait.
 */
int
pipe_is(int fd)
{
	return (fcntl(fd, F_GETPIPE_SZ) != -1);
}

static int
pipe_frames(struct chan *ch, const struct pipe_handler *table, size_t n)
{
	struct frame	 f;
	int		 ret = 0;

	while (!pipe_full(ch) && (ret = chan_get(ch, &f)) == 1) {
		pipe_hand_on(ch, &f, table, n);
		chan_frame_free(&f);
	}
	if (ret == -1)
		fatalx("bad frame from %s", ch->peer);
	return (1);
}

int
pipe_dispatch(struct chan *ch, const struct pipe_handler *table, size_t n)
{
	int	 alive;

	if ((alive = chan_read(ch)) == -1)
		fatal("read from %s", ch->peer);
	pipe_frames(ch, table, n);
	return (alive);
}

int
pipe_drain(struct chan *ch, const struct pipe_handler *table, size_t n)
{
	size_t	 before;
	int	 alive;

	for (;;) {
		before = ch->rlen - ch->roff;
		if ((alive = chan_read(ch)) == -1)
			fatal("read from %s", ch->peer);
		if (alive == 0 || ch->rlen - ch->roff == before)
			return (alive);
		pipe_frames(ch, table, n);
	}
}

/* The parent's question whether we are there is answered by the loop alone. */
int
pipe_beat(struct chan *ch, struct frame *f, void *msg)
{
	(void)msg;
	pipe_send(ch, MSG_BEAT, f->op, 0, 0, -1, NULL);
	return (0);
}

void
pipe_send(struct chan *ch, uint32_t type, uint64_t op, uint64_t session,
    uint32_t req, int fd, const void *msg)
{
	const struct msg_def	*def;
	msgpack_sbuffer		 sb;

	if ((def = msg_def(type)) == NULL)
		fatalx("%s: no message %u", __func__, type);
	msgpack_sbuffer_init(&sb);
	if (msg_encode_array(&sb, def, msg) == -1)
		fatal("%s: %s", __func__, def->name);
	if (chan_send(ch, type, op, session, req, fd, sb.data,
	    sb.size) == -1)
		fatal("%s: %s to %s", __func__, def->name, ch->peer);
	msgpack_sbuffer_destroy(&sb);
}
