/*
 * h_seeds directory: makes the inputs with which the fuzzers begin, by the
 * encoders: each message with each field, in both encodings; frames of the
 * guest and of the runner; and what a whole life of them looks like.
 *
 * regress-srcs: seeds_call.c
 */

#include <sys/stat.h>

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chan.h"
#include "gproto.h"
#include "imsg.h"
#include "proto.h"
#include "record.h"
#include "sandboxd.h"
#include "seeds.h"

struct seed	 s;

void
add(const void *data, size_t len)
{
	if (len > sizeof(s.data) - s.len)
		errx(1, "a seed is too long");
	memcpy(s.data + s.len, data, len);
	s.len += len;
}

void
add8(uint8_t v)
{
	add(&v, 1);
}

/* A step of a target that has several things to do; see fuzz_step(). */
void
step(uint8_t what, const void *data, size_t len)
{
	add8(what);
	add8(len >> 8);
	add8(len & 0xff);
	add(data, len);
}

/* What was added becomes a file. */
void
seed(const char *target, const char *name, unsigned int n)
{
	char	 path[256];
	FILE	*f;

	if (mkdir(target, 0755) == -1 && errno != EEXIST)
		err(1, "%s", target);
	snprintf(path, sizeof(path), "%s/%s.%u", target, name, n);
	if ((f = fopen(path, "w")) == NULL ||
	    fwrite(s.data, 1, s.len, f) != s.len || fclose(f) == EOF)
		err(1, "%s", path);
	s.len = 0;
}

/* Some value for each field. */
void
fill(void *msg, const struct msg_def *def)
{
	const struct msg_field	*fd;
	uint64_t		 n;
	uint32_t		 n32;
	size_t			 i;
	char			*p;

	memset(msg, 0, def->size);
	for (i = 0; i < def->nfields; i++) {
		fd = &def->fields[i];
		p = (char *)msg + fd->off;
		n32 = n = fd->max == 1 ? 1 : i + 1;
		if (fd->max != 0 && n > fd->max)
			n32 = n = fd->max;
		switch (fd->kind) {
		case M_UINT:
		case M_INT:
			if (fd->size == 8)
				memcpy(p, &n, 8);
			else if (fd->size == 4)
				memcpy(p, &n32, 4);
			else
				*p = n;
			break;
		case M_STR:
			snprintf(p, fd->size, "%s", fd->name);
			break;
		case M_TEXT:
			if ((*(char **)p = strdup("/a b")) == NULL)
				err(1, NULL);
			break;
		case M_STRV:
			if (strv_add((struct strv *)p, "sh") == -1 ||
			    strv_add((struct strv *)p, "\302\233\n") == -1)
				err(1, NULL);
			break;
		case M_KVV:
			if (kvv_add((struct kvv *)p, "KEY", "v\033") == -1)
				err(1, NULL);
			break;
		case M_U64V:
			if (u64v_add((struct u64v *)p, UINT64_MAX) == -1)
				err(1, NULL);
			break;
		case M_BLOB:
			break;
		}
	}
}

/* An imsg: its header in the order of this machine. */
static void
add_imsg(uint32_t type, uint32_t id, const void *data, size_t len)
{
	struct imsg_hdr	 h;

	memset(&h, 0, sizeof(h));
	h.type = type;
	h.len = IMSG_HEADER_SIZE + len;
	h.peerid = id;
	add(&h, sizeof(h));
	if (len > 0)
		add(data, len);
}

/* One answer, then the end, in the pieces of the client's target. */
static void
client(const struct msg_def *def, unsigned int n, const void *data, size_t len)
{
	uint8_t	 buf[SEED_MAX], end[64];
	size_t	 nbuf, nend;
	int	 fd;

	add_imsg(def->type, 1, data, len);
	nbuf = s.len;
	memcpy(buf, s.data, nbuf);
	s.len = 0;
	add_imsg(PROTO_END, 1, "\x80", 1);
	nend = s.len;
	memcpy(end, s.data, nend);
	s.len = 0;
	fd = def->type == PROTO_STREAM;
	for (n = 0; n < 18; n++) {
		add8(n < 12 ? n : 0x80 | (n - 12));
		step(fd, buf, nbuf);
		step(0, end, nend);
		seed("f_client", def->name, n);
	}
}

static void
message(const struct msg_def *def)
{
	static uint64_t	 msg[2048];
	msgpack_sbuffer	 map, array;

	if (def->size > sizeof(msg))
		errx(1, "%s: too large", def->name);
	fill(msg, def);
	msgpack_sbuffer_init(&map);
	msgpack_sbuffer_init(&array);
	if (msg_encode_map(&map, def, msg) == -1 ||
	    msg_encode_array(&array, def, msg) == -1)
		errx(1, "%s: not encoded", def->name);
	msg_clear(msg, def);
	add8(def->type);
	add8(0);
	add(array.data, array.size);
	seed("f_msg", def->name, 0);
	add8(def->type);
	add8(1);
	add(map.data, map.size);
	seed("f_msg", def->name, 1);
	if (proto_def(def->type) == def) {
		add8(def->type);
		add(map.data, map.size);
		seed(def->type < PROTO_HELLO_OK ? "f_spec" : "f_print",
		    def->name, 0);
		add8(3);
		add_imsg(def->type, 1, map.data, map.size);
		seed("f_imsg", def->name, 0);
		if (def->type > PROTO_HELLO_OK)
			client(def, 0, map.data, map.size);
	}
	if (def->type == MSG_BOX_CREATE || def->type == MSG_PIPE) {
		/* Header as chan.c has it: len, type, op, session, req, fd. */
		uint32_t h[8] = { array.size, def->type, 1, 0, 2, 0, 3,
		    def->type == MSG_PIPE };

		add8(255);
		add8(255);
		add8(h[7]);
		add(h, sizeof(h));
		add(array.data, array.size);
		seed("f_chan", def->name, 0);
	}
	if (def->type >= MSG_INVENTORY && def->type <= MSG_IMPORT) {
		step((def->type - MSG_INVENTORY) << 3 | 1, array.data,
		    array.size);
		seed("f_ops", def->name, 0);
	}
	msgpack_sbuffer_destroy(&map);
	msgpack_sbuffer_destroy(&array);
}

static void
records(void)
{
	static const uint8_t	 prev[RECORD_HASH_LEN];
	uint8_t			 buf[RECORD_FRAME_MAX], link[RECORD_HASH_LEN];
	struct record		 r;
	int			 n;

	memset(&r, 0, sizeof(r));
	r.seq = r.sbx = r.sseq = 1;
	r.details = (const uint8_t *)"\x80";
	r.ndetails = 1;
	if ((n = record_encode(buf, sizeof(buf), &r, prev, link)) == -1)
		errx(1, "record not encoded");
	add8(0);
	add(buf, n);
	seed("f_record", "event", 0);
	buf[0] = RECORD_SKELETON;
	add8(0);
	add(buf, RECORD_FRAME_HEAD);
	seed("f_record", "skeleton", 0);
}

/* A frame, beginning with the byte that says of whom it is. */
void
frame(uint8_t *buf, ssize_t n, int of_guest, unsigned int number)
{
	if (n == -1)
		errx(1, "frame not encoded");
	add8(of_guest);
	add(buf, n);
	seed("f_gproto", of_guest ? "guest" : "runner", number);
	step(0, buf, n);
}

/* What a runner says to the guest. */
static const struct gp_welcome	 welcome = { GP_VERSION };
static const struct gp_start	 start = {
	.flags = GP_START_INPUT, .argc = 1, .args = "sh", .argslen = 3,
	.env = "", .dir = "/"
};
static const struct gp_start	 start_tty = {
	.flags = GP_START_INPUT | GP_START_TTY, .rows = 24, .cols = 80,
	.argc = 1, .args = "sh", .argslen = 3, .env = "", .dir = "/"
};
static const struct gp_start	 start_changes = {
	.flags = GP_START_CHANGES | GP_START_SCOPE, .scope = "+a/**\n-b",
	.argc = 1, .args = "sh", .argslen = 3, .env = "", .dir = "/"
};
static const struct gp_resume	 resume = { 0, 0 };
static const struct gp_ack	 ack = { GP_STDOUT, 257 };
static const struct gp_input	 input = { 0, (const uint8_t *)"in", 2 };
static const struct gp_input_end input_end = { 2 };
static const struct gp_signal	 sig = { 15, GP_SIGNAL_TREE };
static const struct gp_resize	 resize = { 25, 81 };
static const struct gp_cancel	 cancel = { 1000 };
static const struct gp_stop	 stop = { 1000 };
static const struct gp_ping	 ping;

/*
 * The i-th word of a runner to the guest; 0: none, but a step of what its
 * commands do meanwhile.
 */
static ssize_t
word_to_guest(uint8_t *buf, size_t size, unsigned int i)
{
	switch (i) {
	case 0:
	case 10:
		return (gp_encode_welcome(buf, size, &welcome));
	case 1:
		return (gp_encode_start(buf, size, 1, &start));
	case 2:
		step(3, "\0\1", 2);	/* it runs */
		return (0);
	case 3:
		return (gp_encode_input(buf, size, 1, &input));
	case 4:
		return (gp_encode_input_end(buf, size, 1, &input_end));
	case 5:
		step(2, "\0\0\2", 3);	/* it writes */
		return (0);
	case 6:
		return (gp_encode_ack(buf, size, 1, &ack));
	case 7:
		return (gp_encode_signal(buf, size, 1, &sig));
	case 8:
		return (gp_encode_ping(buf, size, &ping));
	case 9:
		step(5, "", 0);		/* the runner goes */
		return (0);
	case 11:
		return (gp_encode_resume(buf, size, 1, &resume));
	case 12:
		return (gp_encode_cancel(buf, size, 1, &cancel));
	case 13:
		step(3, "\0\4\0\3", 4);	/* it ends */
		return (0);
	case 14:
		step(7, "\2", 1);	/* time passes */
		return (0);
	case 15:
		return (gp_encode_forget(buf, size, 1));
	case 16:
		return (gp_encode_start(buf, size, 2, &start_tty));
	case 17:
		return (gp_encode_resize(buf, size, 2, &resize));
	case 18:
		return (gp_encode_start(buf, size, 3, &start_changes));
	case 19:
		step(6, "\0\1\0\0", 4); /* it is marked */
		return (0);
	case 20:
		step(3, "\1\4\0\3", 4);	/* it ends */
		return (0);
	case 21:
		step(6, "\0\0\0\0", 4); /* and is compared */
		return (0);
	default:
		return (gp_encode_stop(buf, size, &stop));
	}
}

/* What a guest says to the runner. */
static const struct gp_hello	 hello = {
	.version = GP_VERSION, .boot = 1, .pid = 1, .release = "1"
};
static const struct gp_state	 state = { .state = GP_ST_RUNNING, .pid = 7 };
static const struct gp_states_end states_end = { 1 };
static const struct gp_started	 started = { 7, 1 };
static const struct gp_not_started not_started = { GP_NS_NOENT, 2 };
static const struct gp_output	 output = { GP_STDOUT, 0,
    (const uint8_t *)"out", 3 };
static const struct gp_input_ack input_ack = { 0, 0 };
static const struct gp_exit	 said_all = { .kind = GP_EXITED, .out_len = 3 };
static const struct gp_exit	 said_none = { .kind = GP_EXITED };
static const struct gp_background background = { 1, 2 };
static const struct gp_changed	 changed = {
	.count = { [GP_MADE] = 1, [GP_RENAMED] = 2 },
	.flags = GP_CHANGED_MORE, .text = "", .list = "\1d/\0\4a\n\0b",
	.listlen = 9
};

/* The i-th word of a guest to the runner; 0: none, but a step of its own. */
static ssize_t
word_to_runner(uint8_t *buf, size_t size, unsigned int i)
{
	switch (i) {
	case 0:
		/* Execs of all kinds are ordered. */
		step(2, "\1", 1);
		step(2, "\2", 1);
		step(2, "\3", 1);
		step(2, "\4\102\0\0", 4);	/* its changes told */
		return (0);
	case 1:
		return (gp_encode_hello(buf, size, &hello));
	case 2:
		return (gp_encode_state(buf, size, 1, &state));
	case 3:
		return (gp_encode_states_end(buf, size, &states_end));
	case 4:
		return (gp_encode_started(buf, size, 1, &started));
	case 5:
		return (gp_encode_output(buf, size, 1, &output));
	case 6:
		return (gp_encode_input_ack(buf, size, 1, &input_ack));
	case 7:
		return (gp_encode_not_started(buf, size, 2, &not_started));
	case 8:
		return (gp_encode_exit(buf, size, 1, &said_all));
	case 9:
		return (gp_encode_background(buf, size, 1, &background));
	case 10:
		step(3, "\1", 1);	/* the store forgets */
		return (0);
	case 11:
		return (gp_encode_changed(buf, size, 4, &changed));
	default:
		return (gp_encode_exit(buf, size, 4, &said_none));
	}
}

/*
 * The words of one side's life: each frame was a seed alone, all of them up
 * to it are another.
 */
static void
life(const char *target, int of_guest, unsigned int words,
    ssize_t (*word)(uint8_t *, size_t, unsigned int))
{
	uint8_t		 buf[SEED_MAX], all[SEED_MAX];
	size_t		 nall = 0;
	unsigned int	 i;
	ssize_t		 n;

	for (i = 0; i < words; i++) {
		if ((n = word(BUF, i)) != 0)
			frame(buf, n, of_guest, i);
		memcpy(all + nall, s.data, s.len);
		nall += s.len;
		s.len = 0;
		add(all, nall);
		seed(target, "life", i);
	}
}

/* A step with a message in it, behind so many bytes of another meaning. */
static void
step_msg(uint8_t what, const char *head, size_t nhead, uint32_t type, int map)
{
	static uint64_t		 msg[2048];
	const struct msg_def	*def = msg_def(type);
	msgpack_sbuffer		 sb;
	uint8_t			 buf[SEED_MAX];

	fill(msg, def);
	msgpack_sbuffer_init(&sb);
	if ((map ? msg_encode_map(&sb, def, msg) :
	    msg_encode_array(&sb, def, msg)) == -1 ||
	    nhead + sb.size > sizeof(buf))
		errx(1, "%s: not encoded", def->name);
	msg_clear(msg, def);
	memcpy(buf, head, nhead);
	memcpy(buf + nhead, sb.data, sb.size);
	step(what, buf, nhead + sb.size);
	msgpack_sbuffer_destroy(&sb);
}

/*
 * A client that comes, says who it is and asks, for each request; and what
 * it is told.  The byte of an answer is which of the requests is meant: the
 * oldest that goes on.  See f_front.c.
 */
static void
clients(void)
{
	/* The answers in the order of the target's table. */
	static const uint32_t	 types[] = { PROTO_HELLO_OK, PROTO_END,
	    PROTO_ERROR, PROTO_ACCEPTED, PROTO_SANDBOX, PROTO_EXEC_INFO,
	    PROTO_EVENT, PROTO_PROC, PROTO_STATUS_INFO, PROTO_IMAGE,
	    PROTO_VERIFY, PROTO_GAP, PROTO_STALLED, PROTO_INPUT_ACK,
	    PROTO_STREAM, MSG_STREAM_END };
	static const unsigned int then[] = { 3, 4, 14, 15, 11, 5, 6, 8, 1 };
	char			 head[2];
	uint32_t		 type;
	unsigned int		 i;

	for (type = PROTO_PING; type < PROTO_HELLO_OK; type++) {
		if (proto_def(type) == NULL)
			continue;
		step(0, "\0", 1);
		step_msg(2, "\1\1", 2, PROTO_HELLO, 1);
		step_msg(6, "\0", 1, PROTO_HELLO_OK, 0);
		step_msg(6 | 1 << 3, "\0", 1, PROTO_END, 0);
		head[0] = type;
		head[1] = 2;
		step_msg(2, head, 2, type, 1);
		seed("f_front", "asks", type);
		step(0, "\0", 1);
		step_msg(2, "\1\1", 2, PROTO_HELLO, 1);
		step_msg(6, "\0", 1, PROTO_HELLO_OK, 0);
		step_msg(6 | 1 << 3, "\0", 1, PROTO_END, 0);
		step_msg(2, head, 2, type, 1);
		for (i = 0; i < sizeof(then) / sizeof(then[0]); i++)
			step_msg(6 | then[i] << 3, "\0", 1, types[then[i]],
			    0);
		step(3, "", 0);
		seed("f_front", "told", type);
	}
}

/*
 * Orders to the broker and answers of an Engine: the two bytes of an answer
 * are which call's and what kind; see f_ops.c.
 */
static void
operations(void)
{
	static const char	 event[] = "{\"Action\":\"die\",\"Actor\":{"
	    "\"ID\":\"b7ab7483e3fc983c7314b6102ec01d35a858552bdfb7482c350b7a"
	    "d65099f9e6\",\"Attributes\":{\"name\":\"sbx-01234567-2\","
	    "\"sandboxd.instance\":\"0123456789abcdef0123456789abcdef\"}}}";
	static const struct {
		uint8_t		 what;
		const char	*data;
		size_t		 len;
	} life[] = {
		{ 3 << 3, "", 0 },		/* create */
		{ 4, "\0\0", 2 },		/* its image */
		{ 4, "\0\0", 2 },		/* it is made */
		{ 4, "\0\0{\"State\":{\"Error\":\"no\"}}", 26 },
		{ 4, "\0\0", 2 },		/* it is started */
		{ 4, "\0\010", 2 },		/* it runs */
		{ 2, event, sizeof(event) - 1 },
		{ 4, "\0\0", 2 },
		{ 1 << 3, "", 0 },		/* kill */
		{ 4, "\0\010", 2 },
		{ 4, "\0\0", 2 },
		{ 4, "\0\0", 2 },
		{ 0 << 3, "", 0 },		/* start */
		{ 4, "\0\0", 2 },
		{ 3, "", 0 },			/* the Engine goes */
		{ 4, "\0\7", 2 },
		{ 3 | 1 << 3, "", 0 },
		{ 4, "\0\0", 2 },
		{ 2 << 3 | 128, "", 0 },	/* remove */
		{ 4, "\0\0", 2 },
		{ 4, "\0\4", 2 },
		{ 4, "\0\4", 2 },
		{ 4, "\0\4", 2 },
	};
	static const char	 more[] = "\0\0{\"HostConfig\":{"
	    "\"Privileged\":true,\"Mounts\":[]}}";
	unsigned int		 i, j;

	for (i = 0; i < sizeof(life) / sizeof(life[0]); i++) {
		for (j = 0; j <= i; j++)
			step(life[j].what, life[j].data, life[j].len);
		seed("f_ops", "life", i);
	}
	/* What must not be started: a new one, and one that was stopped. */
	for (j = 0; j < 3; j++)
		step(life[j].what, life[j].data, life[j].len);
	step(4, more, sizeof(more) - 1);
	seed("f_ops", "more", 0);
	step(0 << 3, "", 0);
	step(4, more, sizeof(more) - 1);
	seed("f_ops", "more", 1);
}

int
main(int argc, char *argv[])
{
	const struct msg_def	*def;
	uint32_t		 i;

	if (argc != 2 || mkdir(argv[1], 0755) == -1)
		if (argc != 2 || errno != EEXIST)
			errx(1, "usage: h_seeds directory");
	if (chdir(argv[1]) == -1)
		err(1, "%s", argv[1]);
	for (i = 0; i < MSG_MAX; i++)
		if ((def = msg_def(i)) != NULL)
			message(def);
	records();
	life("f_guest", 0, 23, word_to_guest);
	life("f_runner", 1, 13, word_to_runner);
	seeds_call();
	operations();
	clients();
	return (0);
}
