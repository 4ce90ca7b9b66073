/*
 * What the attackers play: a function for each script, by who plays it.
 *
 * The forms of messages come from the tables of their fields; what is here is
 * which of them go to whom, and what else somebody would try who has taken
 * the process over.
 */

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evil.h"
#include "log.h"

#define REQ_SYNC	0x7fffffff	/* its answer comes after all others */
#define REQ_CALL	0x7ffffffe

static struct {
	int		 over;		/* the answer to the last one is here */
	unsigned int	 answers;
	unsigned int	 accepted;
	unsigned int	 results;	/* of calls */
	int		 ended;		/* the last of those */
	unsigned int	 saw;		/* what is not for who asked */
	uint32_t	 uid;		/* who asks */
	char		 code[CODE_LEN_MAX + 1];	/* the last one's */
} heard;

/* Whose is what an answer shows?  -1: it does not say. */
static int64_t
owner_of(const struct frame *f, char *what, size_t size)
{
	const struct msg_def	*def = proto_def(f->type);
	union {
		uint64_t		 align;
		struct proto_sandbox	 sandbox;
		struct proto_exec_info	 exec;
		struct proto_event	 event;
	} m;
	int64_t			 owner = -1;

	if (def == NULL || def->size > sizeof(m) ||
	    msg_decode_array(&m, def, f->data, f->len) == -1)
		return (-1);
	if (f->type == PROTO_SANDBOX) {
		owner = m.sandbox.owner;
		snprintf(what, size, "%s", m.sandbox.id);
	} else if (f->type == PROTO_EXEC_INFO) {
		owner = m.exec.owner;
		snprintf(what, size, "%s", m.exec.id);
	} else if (f->type == PROTO_EVENT && m.event.sandbox[0] != '\0') {
		owner = m.event.owner;
		snprintf(what, size, "%s of %s", m.event.type,
		    m.event.sandbox);
	}
	msg_clear(&m, def);
	return (owner);
}

static void
hear_store(struct evil_peer *p, struct frame *f)
{
	struct proto_error	 e;
	char			 what[256];
	int64_t			 owner;

	if (strcmp(p->name, "store") != 0)
		return;
	heard.answers++;
	heard.code[0] = '\0';
	if (f->type == PROTO_ERROR && msg_decode_array(&e,
	    proto_def(PROTO_ERROR), f->data, f->len) == 0)
		strlcpy(heard.code, e.code, sizeof(heard.code));
	if (f->type == PROTO_ACCEPTED)
		heard.accepted++;
	if (f->type == PROTO_RESULT)
		heard.results++;
	if ((f->type == PROTO_SANDBOX || f->type == PROTO_EXEC_INFO ||
	    f->type == PROTO_EVENT) &&
	    (owner = owner_of(f, what, sizeof(what))) != -1 &&
	    owner != heard.uid && heard.saw++ < 10)
		log_info("evil saw: %s", what);
	if (f->req == REQ_SYNC && (f->type == PROTO_END ||
	    f->type == PROTO_ERROR))
		heard.over = 1;
	if (f->req == REQ_CALL && (f->type == PROTO_END ||
	    f->type == PROTO_ERROR))
		heard.ended = 1;
}

/* The store has taken all that was sent before. */
static void
sync_store(struct evil_peer *store, uint64_t session)
{
	heard.over = 0;
	evil_plain(store, PROTO_PING, 0, session, REQ_SYNC);
	while (!heard.over && !store->gone)
		evil_listen(-1);
}

/* A client of that uid, as soon as one has come. */
static const struct evil_session *
session_of(uint32_t uid)
{
	size_t	 i;

	for (;;) {
		for (i = evil_nsessions; i > 0; i--)
			if (evil_sessions[i - 1].uid == uid)
				return (&evil_sessions[i - 1]);
		evil_listen(-1);
	}
}

int
evil_send_form(struct evil_peer *to, uint32_t type, enum evil_form form,
    size_t field, unsigned int n, uint64_t op, uint64_t session, uint32_t req)
{
	msgpack_sbuffer	 sb;
	int		 is;

	msgpack_sbuffer_init(&sb);
	/* Each third one has a descriptor where none belongs. */
	if ((is = evil_message(&sb, msg_def(type), form, field, n)))
		evil_send(to, type, op, session, req, req % 3 == 0 ?
		    evil_fd() : -1, &sb);
	msgpack_sbuffer_destroy(&sb);
	evil_listen(0);
	return (is);
}

/* Every form of one message that a decoder takes. */
static void
all_taken(struct evil_peer *to, uint32_t type, uint64_t session,
    uint32_t *req)
{
	const struct msg_def	*def = msg_def(type);
	unsigned int		 n;
	size_t			 i;

	for (i = 0; i <= def->nfields; i++)
		for (n = 0; evil_send_form(to, type, EVIL_TAKEN, i, n, 0, session,
		    ++*req); n++)
			continue;
}

size_t
evil_field(uint32_t type, const char *name)
{
	const struct msg_def	*def = msg_def(type);
	size_t			 i;

	for (i = 0; i < def->nfields; i++)
		if (strcmp(def->fields[i].name, name) == 0)
			return (i);
	fatalx("%s has no %s", def->name, name);
}

/* What a sandbox is to be made of that really could be. */
static void
real_creates(struct evil_peer *store, uint64_t session, uint32_t *req)
{
	static const char *const	 fields[] = {
		"env", "workdir", "labels", "user", "readonly", "pids"
	};
	unsigned int			 n;
	size_t				 i;

	evil_set("image", "sandbox-base");
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (n = 0; evil_send_form(store, PROTO_CREATE, EVIL_TAKEN,
		    evil_field(PROTO_CREATE, fields[i]), n, 0, session,
		    ++*req); n++)
			continue;
	evil_set("image", "evil-nosuch:1");
}

/* Each call that there is, one after the other. */
static void
calls(struct evil_peer *store, uint64_t session)
{
	uint32_t	 op;

	heard.results = 0;
	for (op = 1; op < CALL_MAX; op++) {
		evil_set_number("op", op);
		evil_set("path2", call_kind(op) & CALL_TWO ? "evil" : "");
		evil_set("pattern", op == CALL_GLOB || op == CALL_GREP ?
		    "evil" : "");
		heard.ended = 0;
		evil_plain(store, PROTO_CALL, 0, session, REQ_CALL);
		while (!heard.ended && !store->gone)
			evil_listen(-1);
	}
	evil_set_number("op", CALL_STAT);
	evil_set("path2", "");
	evil_set("pattern", "");
}

/* All requests, about what is one's own and what is another's. */
static void
play_fields(void)
{
	struct evil_peer		*store = evil_peer("store");
	const struct evil_session	*s;
	char				 name[128], exec[160];
	uint32_t			 type, req = 0;
	int				 i;

	heard.uid = (uint32_t)evil_number("uid");
	evil_heard = hear_store;
	s = session_of(heard.uid);
	evil_set_number("version", PROTO_VERSION);
	evil_set_number("n", 1);
	evil_set_number("streams", 6);
	evil_set("argv", "/bin/true");
	evil_set("name", "evil-image:1");
	evil_set("path", ".");
	evil_set_number("op", CALL_STAT);
	real_creates(store, s->number, &req);
	sync_store(store, s->number);
	/* Before the Engine is heard of they wait, and others do not. */
	while (heard.accepted == 0 && !store->gone)
		evil_listen(-1);
	log_info("evil: %u sandboxes accepted", heard.accepted);
	for (i = 0; i < 2; i++) {
		strlcpy(name, evil_arg(i == 0 ? "own" : "other"),
		    sizeof(name));
		snprintf(exec, sizeof(exec), "%s.1", name);
		evil_set("sandbox", name);
		evil_set("exec", exec);
		/* While it is there still. */
		calls(store, s->number);
		log_info("evil: %u calls of %s", heard.results, name);
		heard.accepted = 0;
		for (type = PROTO_HELLO; type < PROTO_HELLO_OK; type++) {
			if (proto_def(type) == NULL)
				continue;
			/* A create's own name is a new one. */
			evil_set("id", type == PROTO_CREATE ? "" : name);
			all_taken(store, type, s->number, &req);
		}
		sync_store(store, s->number);
		log_info("evil: %u accepted about %s", heard.accepted, name);
	}
	log_info("evil: %u answers", heard.answers);
}

/* Every answer to that session but a refusal is one too many. */
static uint64_t	 refused_session;	/* 0: all but one's own */
static uint64_t	 own_session;

static void
hear_refusals(struct evil_peer *p, struct frame *f)
{
	if (strcmp(p->name, "store") != 0)
		return;
	hear_store(p, f);
	if (refused_session != 0 ? f->session == refused_session :
	    f->session != own_session)
		if (strcmp(heard.code, "permission_denied") != 0 &&
		    heard.saw++ < 10)
			log_info("evil saw: %s for a session that nobody has",
			    msg_name(f->type));
}

/* What one would like to do there. */
static void
try_session(struct evil_peer *store, uint64_t session)
{
	static uint32_t	 req;

	evil_plain(store, PROTO_LIST, 0, session, ++req);
	evil_plain(store, PROTO_CREATE, 0, session, ++req);
	evil_plain(store, PROTO_EXEC, 0, session, ++req);
	evil_plain(store, PROTO_DELETE, 0, session, ++req);
	evil_plain(store, PROTO_EVENTS, 0, session, ++req);
	evil_plain(store, PROTO_RELOAD, 0, session, ++req);
	evil_listen(0);
}

/* A client that has gone: its session is over when the store says so. */
static void
gone_session(struct evil_peer *store, uint32_t uid)
{
	struct pollfd			 pfd;
	const struct evil_session	*s = session_of(uid);
	uint32_t			 req = REQ_SYNC / 2;

	log_info("evil: its client is here");
	pfd.fd = s->fd;
	pfd.events = 0;
	while (poll(&pfd, 1, 0) == 0 || !(pfd.revents & POLLHUP))
		evil_listen(10);
	do {
		heard.answers = 0;
		evil_plain(store, PROTO_PING, 0, s->number, ++req);
		while (heard.answers == 0 && !store->gone)
			evil_listen(-1);
	} while (strcmp(heard.code, "permission_denied") != 0 &&
	    !store->gone);
	refused_session = s->number;
	try_session(store, s->number);
}

/* Sessions of nobody: those of the past, guesses, and near ones. */
static void
play_sessions(void)
{
	struct evil_peer		*store = evil_peer("store");
	const struct evil_session	*s;
	uint64_t			 own;
	int				 i;

	heard.uid = (uint32_t)evil_number("uid");
	s = session_of(heard.uid);
	own = own_session = s->number;
	log_info("evil: session %" PRIu64, own);
	evil_heard = hear_refusals;
	evil_set("sandbox", evil_arg("other"));
	evil_set("id", evil_arg("other"));
	evil_set("argv", "/bin/true");
	try_session(store, 1);
	try_session(store, UINT64_MAX);
	try_session(store, own + 1);
	try_session(store, own - 1);
	for (i = 0; i < 64; i++)
		try_session(store, own ^ (uint64_t)1 << i);
	for (i = 0; i < 200; i++)
		try_session(store, (uint64_t)arc4random() << 32 |
		    arc4random());
	if (evil_number("old") != 0)
		try_session(store, evil_number("old"));
	sync_store(store, own);
	if (evil_number("gone") != 0) {
		evil_heard = hear_store;
		gone_session(store, (uint32_t)evil_number("gone"));
		evil_heard = hear_refusals;
		try_session(store, refused_session);
		sync_store(store, own);
	}
	log_info("evil: %u answers", heard.answers);
}

/* Until the store has had enough. */
static void
play_guess(void)
{
	struct evil_peer	*store = evil_peer("store");
	uint64_t		 i;

	for (i = 0; i < 1000000 && !store->gone; i++)
		try_session(store, (uint64_t)arc4random() << 32 | i);
}

/* As many that wait as it takes. */
static void
hoard(uint32_t type)
{
	struct evil_peer		*store = evil_peer("store");
	const struct evil_session	*s;
	uint32_t			 i;

	s = session_of((uint32_t)evil_number("uid"));
	evil_set("exec", evil_arg("running"));
	evil_set_number("follow", 1);
	for (i = 1; i < 100000 && !store->gone; i++) {
		evil_plain(store, type, 0, s->number, i);
		evil_listen(0);
	}
}

static void
play_waits(void)
{
	hoard(PROTO_WAIT);
}

static void
play_subs(void)
{
	hoard(PROTO_EVENTS);
}

/* Asks, and takes no answer: until it is not listened to, or for ever. */
static void
play_deaf(void)
{
	struct evil_peer		*store = evil_peer("store");
	const struct evil_session	*s;
	msgpack_sbuffer			 sb;
	unsigned int			 idle = 0;
	uint32_t			 i;
	size_t				 was;

	s = session_of((uint32_t)evil_number("uid"));
	evil_deaf(1);
	msgpack_sbuffer_init(&sb);
	(void)evil_message(&sb, proto_def(PROTO_RULES), EVIL_TAKEN, 0, 0);
	for (i = 1; i < 60000 && idle < 300 && !store->gone; i++) {
		/* By itself: what is too much is not waited for here. */
		(void)chan_send(store->ch, PROTO_RULES, 0, s->number, i, -1,
		    sb.data, sb.size);
		for (idle = 0; idle < 300 && !store->gone &&
		    store->ch->queued > 65536; idle++) {
			was = store->ch->queued;
			evil_listen(10);
			if (store->ch->queued != was)
				idle = 0;
		}
	}
	msgpack_sbuffer_destroy(&sb);
	log_info("evil: %u asked, %s", i, idle < 300 ? "all taken" :
	    "no more is taken");
	evil_sent += i;
	evil_deaf(0);
}

static void
play_nobody(void)
{
	evil_plain(evil_peer("store"), PROTO_LIST, 0, 0, 1);
}

const struct evil_script	 evil_scripts[] = {
	{ "frontend", "fields", play_fields },
	{ "frontend", "sessions", play_sessions },
	{ "frontend", "guess", play_guess },
	{ "frontend", "nobody", play_nobody },
	{ "frontend", "waits", play_waits },
	{ "frontend", "subs", play_subs },
	{ "frontend", "deaf", play_deaf },
	{ "frontend", "bad", play_bad },
	{ "frontend", "work", play_work },
	{ "store", "orders", play_orders },
	{ "store", "bad", play_bad },
	{ "store", "nocall", play_nocall },
	{ "store", "works", play_works },
	{ "store", "workuser", play_workuser },
	{ "store", "workdisk", play_workdisk },
	{ "store", "mounts", play_mounts },
	{ "store", "mount", play_mount },
	{ "broker", "history", play_history },
	{ "broker", "bad", play_bad },
	{ "broker", "streams", play_streams },
	{ "broker", "work", play_work },
	{ "runner", "ends", play_ends },
	{ "runner", "bad", play_bad },
	{ "runner", "nodone", play_nodone },
	{ "runner", "work", play_work },
	{ "runner", "streams", play_streams },
	{ NULL, NULL, NULL }
};
