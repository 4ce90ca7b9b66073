/*
 * Clients' requests, as the frontend hands them on: one function a message.
 *
 * The frontend names the session; whose it is, and so what it may do, was
 * told by the parent.  What belongs to somebody else does not exist.
 */
#include <sys/types.h>

#include <sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "spec.h"
#include "store.h"

/* What ends something, and shows what there is, has no rate. */
static int
request_always(uint32_t type)
{
	return (type == PROTO_HELLO || type == PROTO_LIST ||
	    type == PROTO_STOP || type == PROTO_DELETE ||
	    type == PROTO_KILL || type == PROTO_INPUT_END);
}

/*
 * Who asks.  Returns -1 if the request has been answered: nobody has that
 * session, or the request is not well formed.
 */
int
request_begin(struct asker *a, struct frame *f, const void *msg)
{
	struct spec_error	 e;
	struct session		*s;
	char			 text[TEXT_MAX + 1];

	memset(a, 0, sizeof(*a));
	a->session = f->session;
	a->req = f->req;
	if ((s = session_find(f->session)) == NULL) {
		store_drain_parent();
		if ((s = session_find(f->session)) == NULL) {
			answer_error(a, CODE_PERMISSION_DENIED, NULL,
			    "no such session");
			return (-1);
		}
	}
	a->uid = s->uid;
	a->own = s->rights.own;
	a->others = s->rights.others;
	memcpy(a->bounds, s->bounds, sizeof(a->bounds));
	if (spec_check(f->type, msg, &e) == -1) {
		answer_error(a, e.code, e.field, "%s", e.text);
		return (-1);
	}
	if (!st.going) {
		answer_error(a, CODE_UNAVAILABLE, NULL, "starting");
		return (-1);
	}
	if (!request_always(f->type) && quota_rate(a, LIMIT_REQUESTS, text,
	    sizeof(text)) == -1) {
		audit_refused(a->uid, "request", "", CODE_LIMIT_EXCEEDED,
		    text, 0);
		answer_error(a, CODE_LIMIT_EXCEEDED, NULL, "%s", text);
		return (-1);
	}
	return (0);
}

/*
 * The sandbox that is meant, with the number of an exec if k is not NULL;
 * NULL: answered.
 */
struct sandbox *
request_sandbox(const struct asker *a, const char *name, uint64_t *k)
{
	struct spec_ref	 ref;
	struct sandbox	*sb = NULL;
	int		 many = 0;

	if (spec_parse_ref(name, &ref) == -1 ||
	    (k == NULL) != (ref.number == 0)) {
		answer_error(a, CODE_INVALID_ARGUMENT, k == NULL ? "sandbox" :
		    "exec", "%s: not the name of %s", name, k == NULL ?
		    "a sandbox" : "an exec");
		return (NULL);
	}
	if (ref.owner != -1) {
		if (rights_visible(a, ref.owner))
			sb = model_id(&st.model, ref.owner, ref.id);
	} else {
		sb = model_id(&st.model, a->uid, ref.id);
		if (sb == NULL && a->others != 0)
			sb = model_any(&st.model, ref.id, &many);
	}
	if (many) {
		answer_error(a, CODE_CONFLICT, NULL, "%s: several users have "
		    "one of that name, write uid/%s", name, ref.id);
		return (NULL);
	}
	if (sb == NULL) {
		/* What is meant is another's, whether it is there or not. */
		if (ref.owner != -1 && !rights_visible(a, ref.owner))
			audit_refused(a->uid, "see", name, CODE_NOT_FOUND,
			    "no right on the sandboxes of others", 0);
		answer_error(a, CODE_NOT_FOUND, NULL, "%s: no such %s", name,
		    k == NULL ? "sandbox" : "exec");
		return (NULL);
	}
	if (k != NULL)
		*k = ref.number;
	return (sb);
}

/* Requests that came before anything was heard of the Engine. */
struct parked {
	TAILQ_ENTRY(parked)	 entry;
	int			(*recv)(struct chan *, struct frame *, void *);
	struct frame		 f;
	const struct msg_def	*def;
	void			*msg;
};

static TAILQ_HEAD(, parked)	 parked = TAILQ_HEAD_INITIALIZER(parked);

/*
 * A daemon that has just started does not say that the Engine is away before
 * it knows.  Returns 1 if the request waits for that.
 */
static int
request_park(int (*recv)(struct chan *, struct frame *, void *),
    const struct frame *f, void *msg)
{
	struct parked	*p;

	if (st.engine_known)
		return (0);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		fatal("%s", __func__);
	p->recv = recv;
	p->f.type = f->type;
	p->f.session = f->session;
	p->f.req = f->req;
	p->f.fd = -1;
	p->def = proto_def(f->type);
	if ((p->msg = malloc(p->def->size)) == NULL)
		fatal("%s", __func__);
	memcpy(p->msg, msg, p->def->size);
	memset(msg, 0, p->def->size);
	TAILQ_INSERT_TAIL(&parked, p, entry);
	return (1);
}

void
request_unpark(void)
{
	struct parked	*p;

	st.engine_known = 1;
	while ((p = TAILQ_FIRST(&parked)) != NULL) {
		TAILQ_REMOVE(&parked, p, entry);
		/* Who has hung up meanwhile does not want it any more. */
		if (session_find(p->f.session) != NULL)
			p->recv(&st.frontend, &p->f, p->msg);
		msg_clear(p->msg, p->def);
		free(p->msg);
		free(p);
	}
}

/* What makes more of everything; what ends something goes on. */
int
request_space(const struct asker *a)
{
	if (st.db.ballast)
		return (0);
	eventdb_ballast_fill(&st.db);
	if (st.db.ballast)
		return (0);
	answer_error(a, CODE_NO_SPACE, NULL,
	    "the disk with the event log is full");
	return (-1);
}

/* What it has asked for and nobody waits for takes no room. */
void
request_gone(const struct session *s)
{
	struct parked	*p, *next;

	TAILQ_FOREACH_SAFE(p, &parked, entry, next) {
		if (p->f.session != s->number)
			continue;
		TAILQ_REMOVE(&parked, p, entry);
		msg_clear(p->msg, p->def);
		free(p->msg);
		free(p);
	}
}

static int
request_engine(const struct asker *a)
{
	if (st.engine.up)
		return (0);
	answer_error(a, CODE_UNAVAILABLE, NULL, "the Engine is away%s%s",
	    st.engine.text[0] != '\0' ? ": " : "", st.engine.text);
	return (-1);
}

static int
frontend_recv_hello(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_hello	*m = msg;
	struct proto_hello_ok	 ok;
	struct asker		 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	if (m->version != PROTO_VERSION) {
		answer_error(&a, CODE_UNSUPPORTED, "version", "version %u of "
		    "the protocol, this daemon speaks %d", m->version,
		    PROTO_VERSION);
		return (0);
	}
	memset(&ok, 0, sizeof(ok));
	ok.version = PROTO_VERSION;
	strlcpy(ok.daemon, SANDBOXD_VERSION, sizeof(ok.daemon));
	strlcpy(ok.instance, st.conf.instance, sizeof(ok.instance));
	ok.payload = PROTO_MAX_PAYLOAD;
	ok.inflight = CLIENT_INFLIGHT_MAX;
	ok.uid = a.uid;
	ok.all = a.others != 0;
	answer(&a, PROTO_HELLO_OK, &ok);
	answer_end(&a);
	return (0);
}

static int
frontend_recv_ping(struct chan *ch, struct frame *f, void *msg)
{
	struct asker	 a;

	(void)ch;
	if (request_begin(&a, f, msg) == 0)
		answer_end(&a);
	return (0);
}

static int
frontend_recv_status(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_status_info	 m;
	struct sandbox			*sb;
	struct asker			 a;
	u_int				 i;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	for (i = 0; i < st.nprocs; i++)
		answer(&a, PROTO_PROC, &st.procs[i]);
	memset(&m, 0, sizeof(m));
	strlcpy(m.instance, st.conf.instance, sizeof(m.instance));
	strlcpy(m.daemon, SANDBOXD_VERSION, sizeof(m.daemon));
	m.engine_up = st.engine.up;
	strlcpy(m.engine, st.engine.version, sizeof(m.engine));
	strlcpy(m.engine_text, st.engine.text, sizeof(m.engine_text));
	m.live_restore = st.engine.live_restore;
	/* Counts of what the client may see. */
	RB_FOREACH(sb, sbx_by_n, &st.model.by_n) {
		if (!rights_visible(&a, sb->r.owner))
			continue;
		m.sandboxes += sb->r.state != SBX_DELETED;
		m.ready += sb->r.state == SBX_READY;
		m.execs += sb->nexecs;
	}
	m.clients = st.nsessions;
	m.subscriptions = events_subs();
	m.events = st.log.done_seq;
	answer(&a, PROTO_STATUS_INFO, &m);
	answer_end(&a);
	return (0);
}

struct create {
	struct asker		 a;
	struct proto_create	 conf;
	char			 digest[65];
	struct sandbox		*sb;
	int			 known;		/* the key made it before */
	enum code		 code;
	const char		*field;
	char			 text[TEXT_MAX + 1];
};

static int	create_refuse(struct create *, enum code, const char *,
		    const char *, ...)
		    __attribute__((__format__(printf, 4, 5)));

static int
create_refuse(struct create *q, enum code code, const char *field,
    const char *fmt, ...)
{
	va_list	 ap;

	q->code = code;
	q->field = field;
	va_start(ap, fmt);
	vsnprintf(q->text, sizeof(q->text), fmt, ap);
	va_end(ap);
	return (BATCH_REFUSED);
}

/* What a sandbox may have at most, by the configuration. */
static int
create_limit(struct create *q, const char *field, uint64_t v, uint64_t max)
{
	if (max == 0 || v <= max)
		return (BATCH_OK);
	return (create_refuse(q, CODE_LIMIT_EXCEEDED, field, "invalid %s: "
	    "%llu: the limit is %llu", field, (unsigned long long)v,
	    (unsigned long long)max));
}

/* The Engine refuses more processors than it has. */
static uint32_t
create_cpus(void)
{
	uint32_t	 host = st.engine.ncpu * 1000;

	if (host == 0 || st.engine.unenforced & UNENFORCED_CPUS)
		return (st.conf.max_mcpus);
	return (st.conf.max_mcpus == 0 || host < st.conf.max_mcpus ? host :
	    st.conf.max_mcpus);
}

/* The least of a limit of all and the user's own. */
static uint64_t
create_most(const struct create *q, enum limit l, uint64_t max)
{
	uint64_t	 own = q->a.bounds[l].most;

	return (own != 0 && (max == 0 || own < max) ? own : max);
}

/* The defaults, and what is not a matter of what others do meanwhile. */
static int
create_complete(struct create *q)
{
	struct proto_create	*c = &q->conf;
	int64_t			 user = spec_user(c->user);
	uint32_t		 max_mcpus = create_cpus();

	if (c->image[0] == '\0')
		strlcpy(c->image, st.conf.image, sizeof(c->image));
	/* A default that is too much for this user is as much as he may. */
	if (c->memory == 0)
		c->memory = create_most(q, LIMIT_MEMORY_EACH, st.conf.memory);
	if (c->mcpus == 0) {
		c->mcpus = create_most(q, LIMIT_CPUS_EACH, st.conf.mcpus);
		/* Who asked for none gets what there is. */
		if (max_mcpus != 0 && c->mcpus > max_mcpus)
			c->mcpus = max_mcpus;
	}
	if (c->pids == 0)
		c->pids = create_most(q, LIMIT_PIDS_EACH, st.conf.pids);
	if (st.conf.readonly)
		c->readonly = 1;
	if (c->workdir == NULL || c->workdir[0] == '\0') {
		free(c->workdir);
		if ((c->workdir = strdup("/workspace")) == NULL)
			fatal("%s", __func__);
	}
	if (!policy_image(c->image))
		return (create_refuse(q, CODE_POLICY_DENIED, "image",
		    "image %s is not allowed here", c->image));
	if (create_limit(q, "memory", c->memory, create_most(q,
	    LIMIT_MEMORY_EACH, st.conf.max_memory)) ||
	    create_limit(q, "mcpus", c->mcpus, create_most(q,
	    LIMIT_CPUS_EACH, max_mcpus)) ||
	    create_limit(q, "pids", c->pids, create_most(q,
	    LIMIT_PIDS_EACH, st.conf.max_pids)))
		return (BATCH_REFUSED);
	if (user == 0 && !st.conf.allow_root)
		return (create_refuse(q, CODE_POLICY_DENIED, "user",
		    "root in a sandbox is not allowed here"));
	if (user > 0 && (user < st.conf.uid_low || user > st.conf.uid_high))
		return (create_refuse(q, CODE_POLICY_DENIED, "user",
		    "invalid user: %lld: the range is %lld to %lld",
		    (long long)user, (long long)st.conf.uid_low,
		    (long long)st.conf.uid_high));
	return (BATCH_OK);
}

/* What a request key stands for: the same bytes. */
static void
create_digest(struct create *q)
{
	struct proto_create	 c = q->conf;
	msgpack_sbuffer		 sb;
	uint32_t		 nowait = 0;
	SHA2_CTX		 ctx;
	uint8_t			 sum[32];
	size_t			 i;

	c.wait = nowait;
	msgpack_sbuffer_init(&sb);
	if (msg_encode_array(&sb, proto_def(PROTO_CREATE), &c) == -1)
		fatal("%s", __func__);
	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)sb.data, sb.size);
	SHA256Final(sum, &ctx);
	msgpack_sbuffer_destroy(&sb);
	for (i = 0; i < sizeof(sum); i++)
		snprintf(q->digest + 2 * i, 3, "%02x", sum[i]);
}

static void
create_random(char *buf, size_t chars, const char *set)
{
	size_t	 i, n = strlen(set);

	for (i = 0; i < chars; i++)
		buf[i] = set[arc4random_uniform(n)];
	buf[chars] = '\0';
}

static int
create_name(struct create *q, struct sandbox *sb)
{
	sb->r.owner = q->a.uid;
	if (q->conf.id[0] != '\0') {
		if (model_id(&st.model, q->a.uid, q->conf.id) != NULL)
			return (-1);
		strlcpy(sb->r.id, q->conf.id, sizeof(sb->r.id));
		return (0);
	}
	do {
		sb->r.id[0] = 's';
		create_random(sb->r.id + 1, 9,
		    "abcdefghijkmnpqrstuvwxyz23456789");
	} while (model_id(&st.model, q->a.uid, sb->r.id) != NULL);
	return (0);
}

static int
create_user(struct create *q, struct sandbox *sb)
{
	int64_t	 user = spec_user(q->conf.user);

	if (user == 0)
		return (0);
	if (user > 0) {
		if (model_uid_taken(&st.model, user))
			return (-1);
		sb->r.uid = user;
	} else if ((sb->r.uid = uid_take(&st.model)) == 0)
		return (-1);
	sb->r.gid = sb->r.uid;
	return (0);
}

static int
create_event(struct batch *b, struct create *q, struct sandbox *sb)
{
	struct kvv	 d = { 0 };
	char		 key[SBX_LABEL_KEY_MAX + 16];
	size_t		 i, n;

	detail_str(&d, "image", q->conf.image);
	detail_num(&d, "memory", q->conf.memory);
	detail_num(&d, "mcpus", q->conf.mcpus);
	detail_num(&d, "pids", q->conf.pids);
	detail_num(&d, "user", sb->r.uid);
	detail_str(&d, "rule", q->a.by);
	/* Names of variables, never values; and the first labels. */
	n = q->conf.labels.n < 16 ? q->conf.labels.n : 16;
	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "label.%s", q->conf.labels.v[i].k);
		detail_str(&d, key, q->conf.labels.v[i].v);
	}
	return (store_event(b, sb, EV_SBX_CREATE, q->a.uid, 0, &d));
}

static int
body_create(struct batch *b, void *arg)
{
	struct create	*q = arg;
	struct sandbox	*sb;
	char		 text[TEXT_MAX + 1];

	q->sb = NULL;
	q->known = 0;
	if (q->conf.key[0] != '\0' && (sb = model_key(&st.model, q->a.uid,
	    q->conf.key)) != NULL) {
		if (strcmp(sb->r.digest, q->digest) != 0)
			return (create_refuse(q, CODE_CONFLICT, "key",
			    "another request had this key"));
		q->sb = sb;
		q->known = 1;
		return (BATCH_REFUSED);
	}
	if (quota_create(&q->a, &q->conf, text, sizeof(text)) == -1)
		return (create_refuse(q, CODE_LIMIT_EXCEEDED, NULL, "%s",
		    text));
	sb = sandbox_new();
	if (create_name(q, sb) == -1) {
		sandbox_free(sb);
		return (create_refuse(q, CODE_ALREADY_EXISTS, "id",
		    "%s: a sandbox of this name exists, or its history does",
		    q->conf.id));
	}
	if (create_user(q, sb) == -1) {
		sandbox_free(sb);
		return (create_refuse(q, CODE_LIMIT_EXCEEDED, "user",
		    "no free user for another sandbox"));
	}
	/* The last: what is refused for another reason takes none of it. */
	if (quota_rate(&q->a, LIMIT_CREATES, text, sizeof(text)) == -1) {
		sandbox_free(sb);
		return (create_refuse(q, CODE_LIMIT_EXCEEDED, NULL, "%s",
		    text));
	}
	if ((sb->conf = calloc(1, sizeof(*sb->conf))) == NULL ||
	    msg_copy(sb->conf, &q->conf, proto_def(PROTO_CREATE)) == -1)
		fatal("%s", __func__);
	batch_keep(b, &st.model.last_n, sizeof(st.model.last_n));
	sb->r.n = ++st.model.last_n;
	strlcpy(sb->r.key, q->conf.key, sizeof(sb->r.key));
	strlcpy(sb->r.digest, q->digest, sizeof(sb->r.digest));
	create_random(sb->r.nonce, NONCE_LEN - 1, "0123456789abcdef");
	sb->r.state = SBX_PENDING;
	sb->r.created = sb->r.changed = store_now();
	sb->r.op = store_op();
	sb->r.dirty = 1;
	model_add(b, &st.model, sb);
	q->sb = sb;
	if (create_event(b, q, sb) != BATCH_OK ||
	    model_put_last(b, &st.model) != BATCH_OK ||
	    model_put_conf(b, sb) != BATCH_OK ||
	    model_put(b, sb) != BATCH_OK)
		return (BATCH_FAIL);
	return (BATCH_OK);
}

/* Answers a request that was accepted, and what it waits for. */
static void
accepted(const struct asker *a, uint32_t type, struct sandbox *sb,
    uint32_t wait)
{
	answer_accepted(a, sb->r.id, sb->r.op, lifecycle_name(sb->r.state));
	if (wait)
		wait_add(a, type, &sb->waiters, NULL);
	else
		answer_end(a);
}

/* By the policy or a limit it is a decision, else a mistake. */
static void
create_refused(const struct create *q)
{
	if (q->code == CODE_POLICY_DENIED || q->code == CODE_LIMIT_EXCEEDED)
		audit_refused(q->a.uid, "create", q->conf.id, q->code,
		    q->text, 0);
	answer_error(&q->a, q->code, q->field, "%s", q->text);
}

static void
done_create(void *arg, int result)
{
	struct create	*q = arg;
	struct sandbox	*sb = q->sb;

	if (q->known && result == BATCH_REFUSED) {
		if (q->conf.wait && sb->r.state != SBX_PENDING) {
			answer_accepted(&q->a, sb->r.id, sb->r.op,
			    lifecycle_name(sb->r.state));
			answer_sandbox(&q->a, sb);
			answer_end(&q->a);
		} else
			accepted(&q->a, PROTO_CREATE, sb, q->conf.wait);
	} else if (result == BATCH_REFUSED)
		create_refused(q);
	else if (result != BATCH_OK)
		answer_failed(&q->a, result);
	else {
		fault("store.create.accepted");
		accepted(&q->a, PROTO_CREATE, sb, q->conf.wait);
		op_start(sb, OP_CREATE);
	}
	msg_clear(&q->conf, proto_def(PROTO_CREATE));
	free(q);
}

static int
frontend_recv_create(struct chan *ch, struct frame *f, void *msg)
{
	struct create	*q;
	struct asker	 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    rights_check(&a, RIGHT_CREATE, NULL) == -1 ||
	    request_park(frontend_recv_create, f, msg) ||
	    request_engine(&a) == -1 || request_space(&a) == -1)
		return (0);
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->a = a;
	memcpy(&q->conf, msg, sizeof(q->conf));
	memset(msg, 0, sizeof(q->conf));
	create_digest(q);
	if (create_complete(q) == BATCH_OK) {
		batch_gating(&st.batch, body_create, done_create, q);
		return (0);
	}
	create_refused(q);
	msg_clear(&q->conf, proto_def(PROTO_CREATE));
	free(q);
	return (0);
}

static int
list_match(struct sandbox *sb, struct proto_list *m)
{
	struct proto_create	 old, *c = sb->conf;
	const char		*val;
	size_t			 i;
	int			 ok = 1;

	if (m->state[0] != '\0' &&
	    strcmp(m->state, lifecycle_name(sb->r.state)) != 0)
		return (0);
	if (sb->r.state == SBX_DELETED && !m->all &&
	    strcmp(m->state, "deleted") != 0)
		return (0);
	if (m->labels.n == 0)
		return (1);
	memset(&old, 0, sizeof(old));
	if (c == NULL) {
		if (model_get_conf(&st.model, sb->r.n, &old) != 0)
			return (0);
		c = &old;
	}
	for (i = 0; i < m->labels.n && ok; i++) {
		val = kvv_get(&c->labels, m->labels.v[i].k);
		ok = val != NULL && (m->labels.v[i].v[0] == '\0' ||
		    strcmp(val, m->labels.v[i].v) == 0);
	}
	msg_clear(&old, proto_def(PROTO_CREATE));
	return (ok);
}

static int
frontend_recv_list(struct chan *ch, struct frame *f, void *msg)
{
	static struct sandbox	 find;
	struct proto_list	*m = msg;
	struct proto_end	 end = { 0 };
	struct sandbox		*sb;
	struct asker		 a;
	size_t			 before = st.frontend.queued;
	uint32_t		 n = 0, limit;

	(void)ch;
	if (request_begin(&a, f, msg) == -1)
		return (0);
	limit = m->limit == 0 || m->limit > STORE_PAGE ? STORE_PAGE :
	    m->limit;
	find.r.n = m->after + 1;
	for (sb = RB_NFIND(sbx_by_n, &st.model.by_n, &find); sb != NULL;
	    sb = RB_NEXT(sbx_by_n, &st.model.by_n, sb)) {
		if (!rights_visible(&a, sb->r.owner) ||
		    !list_match(sb, m))
			continue;
		/* Others' words fill it: nobody may make it too much. */
		if (n == limit ||
		    st.frontend.queued - before > STORE_PAGE_BYTES)
			break;
		answer_sandbox(&a, sb);
		end.after = sb->r.n;
		n++;
	}
	if (sb == NULL)
		end.after = 0;
	answer(&a, PROTO_END, &end);
	return (0);
}

static int
frontend_recv_show(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_ref	*m = msg;
	struct sandbox		*sb;
	struct asker		 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    (sb = request_sandbox(&a, m->id, NULL)) == NULL)
		return (0);
	answer_sandbox(&a, sb);
	answer_end(&a);
	return (0);
}

/* STOP, RESUME, DELETE. */
struct order {
	struct asker	 a;
	struct sandbox	*sb;
	enum sbx_verb	 verb;
	uint32_t	 wait;
	uint32_t	 grace;
	int		 joined;	/* it is under way, or done, already */
	char		 text[TEXT_MAX + 1];	/* a limit */
};

static int
body_order(struct batch *b, void *arg)
{
	struct order	*q = arg;
	struct sandbox	*sb = q->sb;
	enum sbx_state	 next = lifecycle_next(sb->r.state, q->verb);
	enum event_type	 type;
	struct kvv	 d = { 0 };

	q->joined = 0;
	q->text[0] = '\0';
	if (next == SBX_NONE)
		return (BATCH_REFUSED);
	/* Deleting what is being deleted, or is, is no second operation. */
	if (next == sb->r.state) {
		q->joined = 1;
		return (BATCH_REFUSED);
	}
	if (q->verb == VERB_RESUME && sb->conf != NULL && quota_run(&q->a,
	    sb->r.owner, sb->conf, q->text, sizeof(q->text)) == -1)
		return (BATCH_REFUSED);
	model_keep(b, sb);
	sb->r.state = next;
	sb->r.cause[0] = '\0';
	sb->r.changed = store_now();
	sb->r.op = store_op();
	sb->r.dirty = 1;
	type = q->verb == VERB_STOP ? EV_SBX_STOP :
	    q->verb == VERB_RESUME ? EV_SBX_RESUME : EV_SBX_DELETE;
	detail_str(&d, "rule", q->a.by);
	if (store_event(b, sb, type, q->a.uid, 0, &d) != BATCH_OK)
		return (BATCH_FAIL);
	return (model_put(b, sb));
}

static void
order_joined(struct order *q)
{
	struct sandbox	*sb = q->sb;

	if (sb->r.state == SBX_DELETED) {
		answer_accepted(&q->a, sb->r.id, sb->r.op,
		    lifecycle_name(sb->r.state));
		if (q->wait)
			answer_sandbox(&q->a, sb);
		answer_end(&q->a);
		return;
	}
	accepted(&q->a, PROTO_DELETE, sb, q->wait);
	/* A delete that could not go on is tried again. */
	if (!sb->op.active)
		op_start(sb, OP_DELETE);
}

static void
done_order(void *arg, int result)
{
	struct order	*q = arg;
	struct sandbox	*sb = q->sb;

	if (result == BATCH_REFUSED && q->joined)
		order_joined(q);
	else if (result == BATCH_REFUSED && q->text[0] != '\0') {
		audit_refused(q->a.uid, lifecycle_verb(q->verb), sb->r.id,
		    CODE_LIMIT_EXCEEDED, q->text, 0);
		answer_error(&q->a, CODE_LIMIT_EXCEEDED, NULL, "%s", q->text);
	} else if (result == BATCH_REFUSED)
		answer_error(&q->a, CODE_WRONG_STATE, NULL,
		    "%s: cannot %s while it is %s", sb->r.id,
		    lifecycle_verb(q->verb), lifecycle_name(sb->r.state));
	else if (result != BATCH_OK)
		answer_failed(&q->a, result);
	else {
		fault("store.order.accepted");
		/* Whoever waits for what this ends hears of it. */
		op_abort(sb, "another operation came in between");
		accepted(&q->a, PROTO_STOP, sb, q->wait);
		sb->op.grace = q->grace;
		op_start(sb, q->verb == VERB_STOP ? OP_STOP :
		    q->verb == VERB_RESUME ? OP_RESUME : OP_DELETE);
	}
	free(q);
}

static int
frontend_order(struct frame *f, struct proto_ref *m, enum sbx_verb verb,
    int (*recv)(struct chan *, struct frame *, void *))
{
	struct sandbox	*sb;
	struct order	*q;
	struct asker	 a;

	if (request_begin(&a, f, m) == -1 || request_park(recv, f, m) ||
	    (sb = request_sandbox(&a, m->id, NULL)) == NULL ||
	    rights_check(&a, verb == VERB_DELETE ? RIGHT_DELETE : RIGHT_STOP,
	    sb) == -1)
		return (0);
	if (sb->r.state != SBX_DELETED && request_engine(&a) == -1)
		return (0);
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->a = a;
	q->sb = sb;
	q->verb = verb;
	q->wait = m->wait;
	q->grace = m->grace != 0 ? m->grace : st.conf.t_stop;
	batch_gating(&st.batch, body_order, done_order, q);
	return (0);
}

static int
frontend_recv_stop(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	return (frontend_order(f, msg, VERB_STOP,
	    frontend_recv_stop));
}

static int
frontend_recv_resume(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	return (frontend_order(f, msg, VERB_RESUME,
	    frontend_recv_resume));
}

static int
frontend_recv_delete(struct chan *ch, struct frame *f, void *msg)
{
	(void)ch;
	return (frontend_order(f, msg, VERB_DELETE,
	    frontend_recv_delete));
}

static int
frontend_recv_image_import(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_image_import	*m = msg;
	struct msg_import		 im;
	struct asker			 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    rights_check(&a, RIGHT_IMAGES, NULL) == -1 ||
	    request_park(frontend_recv_image_import, f, msg) ||
	    request_engine(&a) == -1)
		return (0);
	memset(&im, 0, sizeof(im));
	strlcpy(im.name, m->name, sizeof(im.name));
	pipe_send(&st.broker, MSG_IMPORT, store_op(), a.session, a.req, -1,
	    &im);
	return (0);
}

static int
frontend_recv_reload(struct chan *ch, struct frame *f, void *msg)
{
	struct asker	 a;

	(void)ch;
	if (request_begin(&a, f, msg) == 0 &&
	    rights_check(&a, RIGHT_ADMIN, NULL) == 0)
		pipe_send(&st.parent, MSG_RELOAD, 0, a.session, a.req, -1,
		    NULL);
	return (0);
}

static const struct pipe_handler handlers[] = {
	{ PROTO_HELLO, frontend_recv_hello },
	{ PROTO_PING, frontend_recv_ping },
	{ PROTO_STATUS, frontend_recv_status },
	{ PROTO_CREATE, frontend_recv_create },
	{ PROTO_LIST, frontend_recv_list },
	{ PROTO_SHOW, frontend_recv_show },
	{ PROTO_STOP, frontend_recv_stop },
	{ PROTO_RESUME, frontend_recv_resume },
	{ PROTO_DELETE, frontend_recv_delete },
	{ PROTO_EXEC, exec_recv_exec },
	{ PROTO_ATTACH, exec_recv_attach },
	{ PROTO_INPUT_END, exec_recv_input_end },
	{ PROTO_PS, exec_recv_ps },
	{ PROTO_LOGS, exec_recv_logs },
	{ PROTO_WAIT, exec_recv_wait },
	{ PROTO_KILL, exec_recv_kill },
	{ PROTO_EVENTS, events_recv_events },
	{ PROTO_CREDIT, events_recv_credit },
	{ PROTO_IMAGE_IMPORT, frontend_recv_image_import },
	{ PROTO_RELOAD, frontend_recv_reload },
	{ PROTO_LOG_VERIFY, events_recv_verify },
	{ PROTO_RULES, rights_recv_rules },
	{ PROTO_DOCTOR, doctor_recv_doctor },
};

void
store_dispatch_frontend(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	/* When it dies the parent ends all of us: nothing to do here. */
	if (pipe_dispatch(arg, handlers,
	    sizeof(handlers) / sizeof(handlers[0])) == 0)
		event_del(&((struct chan *)arg)->ev);
	store_round();
}
