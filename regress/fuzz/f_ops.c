/*
 * The broker's operations: orders of the store, answers and events of an
 * Engine that says anything at all, and comes and goes.  Each order is
 * answered once, and nothing is started that has not been looked at.
 */

#include "engine_call.h"
#include "fuzz.h"
#include "fuzz_pipe.h"
#include "fuzz_policy.h"
#include "sandboxd.h"

#include "broker_ops.c"

#define ORDERS	256

struct engine_call {
	TAILQ_ENTRY(engine_call)	 entry;
	enum engine_op			 kind;
	engine_cb			 cb;
	void				*arg;
};

static TAILQ_HEAD(, engine_call) calls = TAILQ_HEAD_INITIALIZER(calls);
static const struct pipe_handler *handlers;
static size_t		 nhandlers;
static void		(*dispatch)(int, short, void *);
static uint8_t		 open_orders[ORDERS];
static uint64_t		 norders;
static int		 calling;	/* an answer is being handed over */
static json_t		*inspect, *image;
static const json_t	*seen;		/* the newest container inspected */
static struct msg_box_create known;
static struct policy_box box;

/* What the broker's other files would do. */

void
broker_engine_lost(const char *why)
{
	broker_env.up = 0;
	strlcpy(broker_env.why, why, sizeof(broker_env.why));
}

void
broker_import(uint64_t op, uint64_t session, uint32_t req, const char *name)
{
}

void
broker_inventory(uint64_t op)
{
}

void
chan_init(struct chan *ch, int fd, const char *peer,
    void (*fn)(int, short, void *))
{
	dispatch = fn;
}

int
pipe_dispatch(struct chan *ch, const struct pipe_handler *table, size_t n)
{
	handlers = table;
	nhandlers = n;
	return (1);
}

void
pipe_send(struct chan *ch, uint32_t type, uint64_t op, uint64_t session,
    uint32_t req, int fd, const void *msg)
{
	need(ch == &broker_env.store && fd == -1);
	fuzz_sound(msg_def(type), msg);
	if (type == MSG_BOX_DIED || type == MSG_BOX_LOOK) {
		need(op == 0);
		return;
	}
	/* An answer, to what has none yet. */
	need(type == MSG_BOX_STARTED || type == MSG_BOX_DEAD ||
	    type == MSG_BOX_REMOVED || type == MSG_BOX_FAILED ||
	    type == MSG_BOX_PAUSED || type == MSG_BOX_UNPAUSED ||
	    type == MSG_BOX_UPDATED);
	need(op > 0 && op < ORDERS && open_orders[op] == 1);
	open_orders[op] = 0;
}

/* The Engine, behind the list of calls. */

struct engine_call *
engine_call_new(enum engine_op kind, engine_cb cb, void *arg)
{
	struct engine_call	*c;

	need((c = calloc(1, sizeof(*c))) != NULL);
	c->kind = kind;
	c->cb = cb;
	c->arg = arg;
	return (c);
}

void
engine_call_upload(struct engine_call *c, int fd)
{
	need(0);
}

void
engine_call_stream(struct engine_call *c, void (*up)(void *),
    engine_line_cb line)
{
	need(0);
}

void
engine_call_body(struct engine_call *c, json_t *body)
{
	need(c->kind == OP_CREATE || c->kind == OP_UPDATE);
	need(!json_is_true(json_object_get(json_object_get(body,
	    "HostConfig"), "Privileged")));
	json_decref(body);
}

/* Whose inspection has just come: it is as it should be. */
static void
judge_start(const char *name)
{
	const json_t	*host;

	need(calling && seen != NULL);
	need(strcmp(name, json_string_value(json_object_get(seen, "Id"))) ==
	    0);
	host = json_object_get(seen, "HostConfig");
	need(!json_is_true(json_object_get(host, "Privileged")));
	need(json_equal(json_object_get(host, "Mounts"), json_object_get(
	    json_object_get(inspect, "HostConfig"), "Mounts")));
}

struct engine_call *
engine_call_go(struct engine_call *c, const char *fmt, ...)
{
	char	 url[4096], id[ENGINE_ID_LEN + 1];
	va_list	 ap;

	va_start(ap, fmt);
	need(vsnprintf(url, sizeof(url), fmt, ap) < (int)sizeof(url));
	va_end(ap);
	need(strstr(url, "/../") == NULL && strchr(url, ' ') == NULL);
	if (c->kind == OP_START || c->kind == OP_KILL ||
	    c->kind == OP_PAUSE || c->kind == OP_UNPAUSE ||
	    c->kind == OP_UPDATE ||
	    c->kind == OP_REMOVE) {
		need(sscanf(url, "/containers/%64[0-9a-f]", id) == 1);
		need(engine_id_ok(id));
	}
	if (c->kind == OP_START)
		judge_start(id);
	TAILQ_INSERT_TAIL(&calls, c, entry);
	return (c);
}

/* The answer to a call; what is in the input alters what would be right. */
static json_t *
right(const struct engine_call *c, int how, struct fuzz *in)
{
	static const struct engine_bound bound = { 65536, 32, 4096 };
	json_t	*j, *alter;

	switch (c->kind) {
	case OP_IMAGE_INSPECT:
		j = json_deep_copy(image);
		break;
	case OP_CREATE:
		need((j = json_pack("{s:O}", "Id", json_object_get(inspect,
		    "Id"))) != NULL);
		break;
	case OP_INSPECT:
		j = json_deep_copy(inspect);
		(void)json_object_set_new(json_object_get(j, "State"),
		    "Running", json_boolean(how & 1));
		(void)json_object_set_new(json_object_get(j, "State"),
		    "Paused", json_boolean(how & 8));
		break;
	default:
		return (NULL);
	}
	need(j != NULL);
	alter = engine_json_load((const char *)in->p, in->len, &bound);
	if (json_is_object(alter)) {
		if (how & 2) {
			json_decref(j);
			return (alter);
		}
		need(json_object_update_recursive(j, alter) == 0);
	}
	json_decref(alter);
	return (j);
}

static void
answer(struct engine_call *c, int how, struct fuzz *in)
{
	static const long	 statuses[] = { 404, 409, 304, 500 };
	struct engine_answer	 a;

	memset(&a, 0, sizeof(a));
	switch (how & 7) {
	case 0:
	case 1:
	case 2:
	case 3:
		a.result = ENGINE_OK;
		a.status = 200;
		a.json = right(c, how >> 3, in);
		break;
	case 4:
	case 5:
		a.result = ENGINE_REFUSED;
		a.status = statuses[how >> 3 & 3];
		break;
	case 6:
		a.result = ENGINE_AWAY;
		break;
	default:
		a.result = ENGINE_UNKNOWN;
		a.late = how >> 3 & 1;
		a.bad = !a.late && how & 16;
	}
	if (a.result != ENGINE_OK)
		strlcpy(a.text, "so it is", sizeof(a.text));
	if (c->kind == OP_INSPECT)
		seen = a.json;
	TAILQ_REMOVE(&calls, c, entry);
	calling = 1;
	c->cb(&a, c->arg);
	calling = 0;
	seen = NULL;
	free(c);
	json_decref(a.json);
}

/* One order by the store's pipe; it may break the protocol, and is no more. */
static void
order(uint32_t type, const uint8_t *data, size_t len)
{
	const struct msg_def	*def;
	struct frame		 f;
	static uint64_t		 room[1024];
	uint8_t			*copy;
	size_t			 i;

	if (norders + 1 >= ORDERS)
		return;
	for (i = 0; i < nhandlers && handlers[i].type != type; i++)
		;
	need(i < nhandlers && (def = msg_def(type)) != NULL);
	memset(&f, 0, sizeof(f));
	f.type = type;
	f.op = ++norders;
	copy = fuzz_copy(data, len);
	if (msg_decode_array(room, def, copy, len) == 0) {
		/* The others are not done here. */
		open_orders[f.op] = type != MSG_INVENTORY &&
		    type != MSG_IMPORT;
		if (handlers[i].recv(&broker_env.store, &f, room) == -1)
			open_orders[f.op] = 0;
		msg_clear(room, def);
	}
	free(copy);
}

static void
order_as(uint32_t type, const void *msg)
{
	msgpack_sbuffer	 sb;

	msgpack_sbuffer_init(&sb);
	need(msg_encode_array(&sb, msg_def(type), msg) == 0);
	order(type, (uint8_t *)sb.data, sb.size);
	msgpack_sbuffer_destroy(&sb);
}

/* Orders about the container that there is, or almost. */
static void
order_known(int what)
{
	static const uint32_t	 types[] = { MSG_BOX_START, MSG_BOX_KILL,
	    MSG_BOX_REMOVE, MSG_BOX_PAUSE, MSG_BOX_UNPAUSE, MSG_BOX_PAUSE };
	struct msg_box_create	 m = known;
	struct msg_box_ref	 ref;
	const char		*id;

	if ((what & 3) == 3) {
		m.n += what >> 4 & 1;
		order_as(MSG_BOX_CREATE, &m);
		return;
	}
	memset(&ref, 0, sizeof(ref));
	ref.n = known.n + (what >> 4 & 1);
	if (what & 8)
		strlcpy(ref.nonce, known.nonce, sizeof(ref.nonce));
	if (what & 4) {
		id = json_string_value(json_object_get(inspect, "Id"));
		strlcpy(ref.container, id, sizeof(ref.container));
		if (what & 32)
			ref.n = 0;
	}
	order_as(types[(what & 3) + (what & 64 ? 3 : 0)], &ref);
}

static void
event(const uint8_t *data, size_t len)
{
	static const struct engine_bound bound = { 65536, 32, 4096 };
	json_t	*j;

	if ((j = engine_json_load((const char *)data, len, &bound)) != NULL)
		broker_event(j);
	json_decref(j);
}

/* For each sandbox the first one is at work, and no other. */
static void
judge(void)
{
	const struct bop	*op, *o;
	size_t			 n = 0;

	TAILQ_FOREACH(op, &bops, entry) {
		need(op->kind == BOP_LOOK || open_orders[op->op] == 1);
		for (o = TAILQ_FIRST(&bops); !bop_same(o, op);
		    o = TAILQ_NEXT(o, entry))
			;
		need(op->running == (o == op));
		n++;
	}
	need(n == nbops);
}

static void
turn(void)
{
	broker_op_kick();
	need(event_loop(EVLOOP_NONBLOCK) != -1);
}

static void
play(struct fuzz *in)
{
	struct engine_call	*c;
	struct fuzz		 data;
	int			 what, i;

	while (fuzz_step(in, &what, &data)) {
		switch (what & 7) {
		case 0:
			order_known(what >> 3 | (fuzz_u8(&data) & 32));
			break;
		case 1:
			order(handlers[(size_t)(what >> 3) % nhandlers].type,
			    data.p, data.len);
			break;
		case 2:
			event(data.p, data.len);
			break;
		case 3:
			broker_env.up = what >> 3 & 1;
			turn();
			break;
		default:
			i = fuzz_u8(&data);
			TAILQ_FOREACH(c, &calls, entry)
				if (i-- % 8 == 0)
					break;
			if (c != NULL)
				answer(c, fuzz_u8(&data), &data);
			break;
		}
		judge();
		turn();
	}
}

static void
init(void)
{
	static struct msg_conf_rule	 all = { 1, "*" };
	struct policy			*p = &broker_env.policy;

	(void)event_init();
	inspect = fuzz_policy(p, &known, &box);
	image = fuzz_policy_file("image.json");
	p->conf.max_memory = p->conf.max_mcpus = UINT32_MAX;
	p->conf.max_pids = UINT32_MAX;
	p->rules = &all;
	p->nrules = 1;
	strlcpy(known.image, "sandbox-base", sizeof(known.image));
	broker_store_start(-1);
	dispatch(-1, 0, &broker_env.store);
	need(nhandlers > 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz		 in = { data, len };
	struct engine_call	*c;
	size_t			 i;

	if (inspect == NULL)
		init();
	memset(open_orders, 0, sizeof(open_orders));
	norders = 0;
	broker_env.up = 1;
	play(&in);
	/* When nothing is there any more, each order comes to its end. */
	broker_env.up = 1;
	for (i = 0; i < 16 * ORDERS && (!TAILQ_EMPTY(&bops) ||
	    !TAILQ_EMPTY(&calls)); i++) {
		while ((c = TAILQ_FIRST(&calls)) != NULL)
			answer(c, 4, &in);
		turn();
	}
	need(TAILQ_EMPTY(&bops) && nbops == 0 && TAILQ_EMPTY(&calls));
	for (i = 0; i < ORDERS; i++)
		need(open_orders[i] == 0);
	fuzz_fds();
	return (0);
}
