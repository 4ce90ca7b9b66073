/*
 * What is played in the places of the store, the broker and the runner, and
 * by each of them what is no message.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evil.h"
#include "evil_says.h"
#include "log.h"

#define OP_LAST		424242		/* its answer comes after all others */
#define REAL_N		900001		/* sandboxes that nobody asked for */
#define REAL_MAX	2
#define USERS_MAX	7
#define ROOT_N		(REAL_N + 50)	/* ours, but for its user */

static uint64_t	 answered;		/* the operation of the last answer */
static int	 made;			/* workspaces */
static int	 started;		/* containers */
static int	 failed;
static int	 denied;		/* because of their user */
static int	 engine_up;

static void
hear(struct evil_peer *p, struct frame *f)
{
	struct msg_box_failed	 b;
	struct msg_engine	 m;

	if (f->type == MSG_BOX_FAILED && f->op > REAL_MAX &&
	    msg_decode_array(&b, msg_def(MSG_BOX_FAILED), f->data,
	    f->len) == 0) {
		denied += f->op <= REAL_MAX + USERS_MAX &&
		    b.code == CODE_POLICY_DENIED;
		msg_clear(&b, msg_def(MSG_BOX_FAILED));
	}
	if (f->type == MSG_ENGINE && msg_decode_array(&m,
	    msg_def(MSG_ENGINE), f->data, f->len) == 0)
		engine_up = m.up != 0;
	if (f->op == OP_LAST)
		answered = OP_LAST;
	if (f->type == MSG_WORK_DONE)
		made++;
	if (f->type == MSG_BOX_STARTED)
		started++;
	if (f->type == MSG_BOX_FAILED && f->op <= REAL_MAX)
		failed++;
}

/* Is that one the protocol's end, though it is well-formed? */
static int
is_fatal(uint32_t type, const char *field, unsigned int n)
{
	/* Numbers begin with 1. */
	if ((strcmp(field, "n") == 0 || strcmp(field, "k") == 0) && n == 0)
		return (1);
	/* A guest's socket stays its owner's. */
	if (type == MSG_LISTEN && strcmp(field, "owner") == 0)
		return (1);
	/* An end of some kind, and one of two outputs. */
	if (type == MSG_ENDED && strcmp(field, "kind") == 0)
		return (1);
	if (strcmp(field, "stream") == 0)
		return (1);
	/* So many numbers of each command. */
	if (type == MSG_GUEST_SILENT && strcmp(field, "late") == 0)
		return (1);
	/* Of what is called those that there are, one by one. */
	if (type == MSG_CALL && strcmp(field, "c.op") == 0)
		return (1);
	/* The name of a container reaches no further than its form. */
	return (strcmp(field, "container") == 0 && type >= MSG_INVENTORY &&
	    type < MSG_CONTAINER);
}

/* What ends who gets it, whatever is in it: others play that. */
static int
is_fatal_all(const char *from, uint32_t type)
{
	/* Without a descriptor, and with one that nobody has asked for. */
	if (type == PROTO_STREAM || type == MSG_IMPORT_STREAM)
		return (1);
	/* The runner's alone. */
	if (strcmp(from, "store") == 0 && ((type > PROTO_STREAM &&
	    type < PROTO_PROC) || type == PROTO_OUTPUT_END))
		return (1);
	/* Of a call that was never made. */
	return (type == MSG_CALL_DONE);
}

/* All forms of a message, with an operation of its own each. */
static void
all(struct evil_peer *to, uint32_t type, uint64_t session)
{
	const struct msg_def	*def = msg_def(type);
	static uint64_t		 op = 1000000;
	static uint32_t		 req;
	unsigned int		 n;
	size_t			 i;

	if (def == NULL)
		return;
	for (i = 0; i <= def->nfields; i++)
		for (n = 0; n < 1000; n++) {
			if (i < def->nfields && is_fatal(type,
			    def->fields[i].name, n))
				continue;
			/* With a descriptor the parent takes nothing. */
			if (++req % 3 == 0 && type >= MSG_OPEN &&
			    type <= MSG_DOCTOR)
				req++;
			if (!evil_send_form(to, type, EVIL_TAKEN, i, n, ++op,
			    session, req) && n > 64)
				break;
		}
}

/* And of all messages that one may say to the other. */
static void
say_all(const char *from, const char *to, uint64_t session)
{
	const struct evil_says	*s;
	uint32_t		 type, op;

	for (s = evil_says; s < evil_says + evil_nsays; s++) {
		if (s->from == NULL || strcmp(s->from, from) != 0 ||
		    s->to == NULL || strcmp(s->to, to) != 0)
			continue;
		for (type = s->first; type < s->end; type++) {
			if (is_fatal_all(from, type))
				continue;
			all(evil_peer(to), type, session);
			for (op = 1; type == MSG_CALL && op < CALL_MAX; op++) {
				evil_set_number("c.op", op);
				evil_plain(evil_peer(to), type, op, session,
				    op);
			}
		}
	}
}

/* A body of an order that the policy lets pass, but for one field. */
static void
sound_order(uint64_t n)
{
	evil_set_number("n", n);
	evil_set("id", "evil");
	evil_set_number("owner", evil_number("uid"));
	evil_set("nonce", "0123456789abcdef0123456789abcdef");
	evil_set("image", "evil-nosuch:1");
	evil_set_number("uid", 2000000000);
	evil_set_number("gid", 2000000000);
	evil_set_number("memory", 64 << 20);
	evil_set_number("mcpus", 1000);
	evil_set_number("pids", 64);
	evil_set("container", "");
	evil_set("name", "evil-image:1");
	evil_set("exec", "evil.1");
	evil_set("argv", "/bin/true");
	evil_set_number("k", 1);
}

static void
sync_broker(struct evil_peer *broker)
{
	answered = 0;
	evil_plain(broker, MSG_INVENTORY, OP_LAST, 0, 0);
	while (answered != OP_LAST && !broker->gone)
		evil_listen(-1);
}

/* Containers that are really made, of what is within the policy. */
static void
real_orders(struct evil_peer *broker, struct evil_peer *parent)
{
	static const struct {
		const char	*field;
		unsigned int	 form;
	}		 odd[REAL_MAX] = {
		{ "env", 0 }, { "env", 8 }
	};
	unsigned int	 i;

	for (i = 0; i < REAL_MAX; i++) {
		sound_order(REAL_N + i);
		evil_plain(parent, MSG_WORK_MAKE, i + 1, 0, 0);
		while (made <= (int)i)
			evil_listen(-1);
		evil_set("image", "sandbox-base");
		evil_send_form(broker, MSG_BOX_CREATE, EVIL_TAKEN,
		    evil_field(MSG_BOX_CREATE, odd[i].field), odd[i].form,
		    i + 1, 0, 1);
	}
	while (started + failed < REAL_MAX && !broker->gone)
		evil_listen(-1);
}

/* The same, for users that the policy gives to nobody. */
static void
user_orders(struct evil_peer *broker, struct evil_peer *parent)
{
	static const struct {
		uint32_t	 uid, gid;
	}		 users[USERS_MAX] = {
		{ 0, 0 }, { 0, 2000000000 }, { 2000000000, 0 }, { 1, 1 },
		{ 1999999999, 2000000000 }, { 2000000000, 2000065536 },
		{ UINT32_MAX, UINT32_MAX }
	};
	unsigned int	 i;

	sound_order(ROOT_N);
	evil_plain(parent, MSG_WORK_MAKE, ROOT_N, 0, 0);
	while (made <= REAL_MAX)
		evil_listen(-1);
	evil_set("image", "sandbox-base");
	for (i = 0; i < USERS_MAX; i++) {
		evil_set_number("uid", users[i].uid);
		evil_set_number("gid", users[i].gid);
		evil_plain(broker, MSG_BOX_CREATE, REAL_MAX + 1 + i, 0, 1);
	}
	sync_broker(broker);
	log_info("evil: %d of %d users refused", denied, USERS_MAX);
}

/* Another's container, by all names that it has. */
static void
reach(struct evil_peer *broker)
{
	static const uint32_t	 types[] = {
		MSG_BOX_START, MSG_BOX_KILL, MSG_BOX_REMOVE, MSG_BOX_PAUSE,
		MSG_BOX_UNPAUSE
	};
	size_t			 i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		sound_order(1000000);	/* the bystander has its name */
		evil_set("nonce", "");
		evil_plain(broker, types[i], 2000 + i, 0, 0);
		evil_set("container", evil_arg("bystander"));
		evil_plain(broker, types[i], 3000 + i, 0, 0);
		evil_set_number("n", 1);
		evil_plain(broker, types[i], 4000 + i, 0, 0);
	}
	evil_set_number("n", 0);
	evil_plain(broker, MSG_BOX_REMOVE, 5000, 0, 0);
}

/* The store's: orders that nobody has asked for. */
void
play_orders(void)
{
	struct evil_peer	*broker = evil_peer("broker");
	struct evil_peer	*parent = evil_peer("parent");

	evil_heard = hear;
	evil_plain(parent, MSG_OPEN, 0, 0, 0);
	while (!engine_up && !broker->gone)
		evil_listen(-1);
	real_orders(broker, parent);
	user_orders(broker, parent);
	reach(broker);
	sound_order(REAL_N + 100);
	say_all("store", "broker", 1);
	sync_broker(broker);
	log_info("evil: %d containers made", started);
	evil_set_number("c.op", CALL_STAT);
	say_all("store", "runner", 1);
	say_all("store", "frontend", 1);
	all(parent, MSG_RELOAD, 1);
	all(parent, MSG_DOCTOR, 1);
	/* Its answers to the last ones are here when this is. */
	answered = 0;
	evil_plain(parent, MSG_DOCTOR, OP_LAST, 1, 1);
	while (answered != OP_LAST && !parent->gone)
		evil_listen(-1);
}

/* The broker's: outcomes of what nobody has ordered. */
void
play_history(void)
{
	struct evil_peer	*store = evil_peer("store");

	sound_order(1);
	evil_set("nonce", "");
	evil_set_number("up", 1);
	evil_set("version", "evil");
	say_all("broker", "store", 1);
	/* The store says so when it has come so far. */
	evil_set_number("up", 0);
	evil_plain(store, MSG_ENGINE, 0, 0, 0);
	evil_set_number("up", 1);
	evil_set("version", "evil-end");
	evil_plain(store, MSG_ENGINE, 0, 0, 0);
}

/* The runner's: guests and ends of commands that never were. */
void
play_ends(void)
{
	struct evil_peer	*store = evil_peer("store");

	sound_order(999999);
	evil_set_number("kind", 1);
	say_all("runner", "store", 0);
	evil_set_number("stream", 1);
	say_all("runner", "frontend", 1);
	evil_set("text", "evil-end");
	evil_plain(store, MSG_RUNNER_ERROR, OP_LAST, 0, 0);
}

/* Calls that are none: an operation of the future, one without a number. */
void
play_nocall(void)
{
	struct evil_peer	*runner = evil_peer("runner");

	evil_plain(evil_peer("parent"), MSG_OPEN, 0, 0, 0);
	sound_order(1);
	if (evil_set_number_now() % 2 == 1)
		evil_set_number("c.op", CALL_MAX);
	else
		evil_set_number("c.op", CALL_STAT);
	evil_plain(runner, MSG_CALL, evil_set_number_now() % 2, 1, 1);
}

/* The end of one that nobody has made. */
void
play_nodone(void)
{
	sound_order(1);
	evil_plain(evil_peer("store"), MSG_CALL_DONE, OP_LAST, 1, 1);
}

/*
 * What a pipe towards a client is not: each set another, as far as its filter
 * lets it come by one.
 */
static int
no_pipe(struct evil_peer *to)
{
	int	 fd = -1;

	switch (evil_set_number_now() % 3) {
	case 0:
		fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		break;
	case 1:
		fd = fcntl(to->ch->fd, F_DUPFD_CLOEXEC, 0);
		break;
	}
	return (fd == -1 ? evil_fd() : fd);
}

void
play_streams(void)
{
	const char		*role = getenv("SANDBOXD_ROLE");
	struct evil_peer	*to;
	msgpack_sbuffer		 sb;
	uint32_t		 type;

	/* The broker's go by the store; it opens no file at all. */
	if (role != NULL && strcmp(role, "broker") == 0) {
		to = evil_peer("store");
		type = MSG_IMPORT_STREAM;
	} else {
		to = evil_peer("frontend");
		type = PROTO_STREAM;
	}
	msgpack_sbuffer_init(&sb);
	evil_set_number("stream", 1);
	if (!evil_message(&sb, msg_def(type), EVIL_TAKEN,
	    msg_def(type)->nfields, 0))
		fatalx("%s: no message", __func__);
	evil_send(to, type, 1, 1, 1, strcmp(to->name, "store") == 0 &&
	    evil_set_number_now() % 3 == 0 ? evil_fd() : no_pipe(to), &sb);
	msgpack_sbuffer_destroy(&sb);
}

/* The nth of all that a decoder must refuse, or how many there are. */
static size_t
bad_one(size_t nth, int send)
{
	const struct msg_def	*def;
	struct evil_peer	*p;
	msgpack_sbuffer		 sb;
	uint32_t		 type;
	unsigned int		 n;
	size_t			 i, f, count = 0;
	const char		*role = getenv("SANDBOXD_ROLE");
	int			 is;

	for (i = 0; i < evil_nsays; i++) {
		if (role == NULL || evil_says[i].to == NULL ||
		    (evil_says[i].from != NULL &&
		    strcmp(evil_says[i].from, role) != 0))
			continue;
		p = evil_peer(evil_says[i].to);
		for (type = evil_says[i].first; type < evil_says[i].end;
		    type++) {
			if ((def = msg_def(type)) == NULL)
				continue;
			for (f = 0; f <= def->nfields; f++)
				for (n = 0;; n++) {
					msgpack_sbuffer_init(&sb);
					is = evil_message(&sb, def,
					    EVIL_REFUSED, f, n);
					if (is && send && count == nth) {
						log_info("evil: bad %s to "
						    "%s, field %zu, form %u, "
						    "set %u", def->name,
						    p->name, f, n,
						    evil_set_number_now());
						evil_send(p, type, 1, 1, 1,
						    -1, &sb);
					}
					msgpack_sbuffer_destroy(&sb);
					if (!is)
						break;
					if (count++ == nth && send)
						return (count);
				}
		}
	}
	return (count);
}

/* One that ends who receives it: each set another. */
void
play_bad(void)
{
	size_t	 total = bad_one(0, 0);

	/* The parent waits for the store's word. */
	if (evil_number("open") == 1)
		evil_plain(evil_peer("parent"), MSG_OPEN, 0, 0, 0);
	(void)bad_one((evil_number("seed") + evil_set_number_now() *
	    evil_number("stride")) % total, 1);
}
