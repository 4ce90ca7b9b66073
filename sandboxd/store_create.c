/*
 * CREATE: defaults, policy, limits, the name and the user of a new sandbox,
 * and the key by which a request that comes twice is known.
 */
#include <sys/types.h>

#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "spec.h"
#include "store.h"

#define CREATE_FIELDS	12	/* of the first version, in its digest */

struct create {
	TAILQ_ENTRY(create)	 entry;		/* while its mounts are judged */
	uint64_t		 ticket;	/* of those, 0: none */
	struct asker		 a;
	struct proto_create	 conf;
	char			 digest[65];
	struct sandbox		*sb;
	int			 known;		/* the key made it before */
	struct refusal		 no;
};

static TAILQ_HEAD(, create)	 judged = TAILQ_HEAD_INITIALIZER(judged);

/* What a sandbox may have at most, by the configuration. */
static int
create_limits(struct create *q)
{
	struct limits	 l = { q->conf.memory, q->conf.mcpus, q->conf.pids };

	if (limits_check(&q->a, NULL, &l, &q->no) == 0 &&
	    (q->conf.tmpfs != 0 ? limits_tmpfs(q->conf.tmpfs, q->conf.memory,
	    "tmpfs", &q->no) : limits_disk(&q->a, q->conf.disk, &q->no)) == 0)
		return (BATCH_OK);
	return (BATCH_REFUSED);
}

/* How long it may live, and is kept: for ever only where all are. */
static int
create_times(struct create *q)
{
	struct proto_create	*c = &q->conf;
	uint64_t		 max = st.conf.max_lifetime;
	char			 a[32], b[32];

	if (c->lifetime == 0) {
		c->lifetime = st.conf.lifetime;
		if (max != 0 && (c->lifetime == 0 || c->lifetime > max))
			c->lifetime = max;
	} else if (max != 0 && c->lifetime > max)
		return (refuse(&q->no, CODE_LIMIT_EXCEEDED, "lifetime",
		    "lifetime: %s: the limit is %s",
		    c->lifetime == SBX_TIME_NONE ? "none" :
		    times_text(c->lifetime, a, sizeof(a)),
		    times_text(max, b, sizeof(b))));
	else if (c->lifetime == SBX_TIME_NONE)
		c->lifetime = 0;
	if (c->idle == 0)
		c->idle = st.conf.idle;
	else if (c->idle == SBX_TIME_NONE)
		c->idle = 0;
	if (limits_keep(c->keep, &q->no) != 0)
		return (BATCH_REFUSED);
	if (c->keep == SBX_TIME_NONE)
		c->keep = 0;
	return (BATCH_OK);
}

/* The defaults, and what is not a matter of what others do meanwhile. */
static int
create_complete(struct create *q)
{
	struct proto_create	*c = &q->conf;
	int64_t			 user = spec_user(c->user);
	uint32_t		 max_mcpus = limits_cpus();

	if (c->image[0] == '\0')
		strlcpy(c->image, st.conf.image, sizeof(c->image));
	/* A default that is too much for this user is as much as he may. */
	if (c->memory == 0)
		c->memory = limits_most(&q->a, LIMIT_MEMORY_EACH,
		    st.conf.memory);
	if (c->mcpus == 0) {
		c->mcpus = limits_most(&q->a, LIMIT_CPUS_EACH, st.conf.mcpus);
		/* Who asked for none gets what there is. */
		if (max_mcpus != 0 && c->mcpus > max_mcpus)
			c->mcpus = max_mcpus;
	}
	if (c->pids == 0)
		c->pids = limits_most(&q->a, LIMIT_PIDS_EACH, st.conf.pids);
	if (c->disk == 0 && c->tmpfs == 0)
		c->disk = limits_most(&q->a, LIMIT_DISK_EACH,
		    st.conf.disk != 0 ? st.conf.disk : st.conf.max_disk);
	/* Where only the workspace has a bound, only that is written to. */
	if (st.conf.readonly || c->disk != 0 || c->tmpfs != 0)
		c->readonly = 1;
	if (st.conf.resume)
		c->resume = 1;
	if (c->workdir == NULL || c->workdir[0] == '\0') {
		free(c->workdir);
		if ((c->workdir = strdup("/workspace")) == NULL)
			fatal("%s", __func__);
	}
	if (!policy_image(c->image))
		return (refuse(&q->no, CODE_POLICY_DENIED, "image",
		    "image %s is not allowed here", c->image));
	if (create_limits(q) != BATCH_OK || create_times(q) != BATCH_OK)
		return (BATCH_REFUSED);
	if (user == 0 && !st.conf.allow_root)
		return (refuse(&q->no, CODE_POLICY_DENIED, "user",
		    "root in a sandbox is not allowed here"));
	if (user > 0 && (user < st.conf.uid_low || user > st.conf.uid_high))
		return (refuse(&q->no, CODE_POLICY_DENIED, "user",
		    "invalid user: %lld: the range is %lld to %lld",
		    (long long)user, (long long)st.conf.uid_low,
		    (long long)st.conf.uid_high));
	if (mount_count(c) > 0 && st.conf.rootless)
		return (refuse(&q->no, CODE_UNSUPPORTED, "mounts",
		    "mounts: not with a rootless Engine"));
	return (BATCH_OK);
}

/*
 * What a request key stands for: the same bytes.  Fields that were added to
 * the table later count only if they are set, so that a request which comes
 * again after an upgrade is still known.
 */
static void
create_digest(struct create *q)
{
	struct msg_def		 def = *proto_def(PROTO_CREATE);
	struct proto_create	 c = q->conf;
	msgpack_sbuffer		 sb;
	uint32_t		 nowait = 0;
	size_t			 added, nfields = def.nfields;
	SHA2_CTX		 ctx;
	uint8_t			 sum[32];
	size_t			 i;

	c.wait = nowait;
	msgpack_sbuffer_init(&sb);
	def.nfields = CREATE_FIELDS;
	if (msg_encode_array(&sb, &def, &c) == -1)
		fatal("%s", __func__);
	added = sb.size;
	def.fields += CREATE_FIELDS;
	def.nfields = nfields - CREATE_FIELDS;
	if (msg_encode_map(&sb, &def, &c) == -1)
		fatal("%s", __func__);
	if (sb.size == added + 1)	/* an empty map */
		sb.size = added;
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

/* One of the range that no other sandbox has. */
static int
create_user(struct create *q, struct sandbox *sb)
{
	int64_t	 user = spec_user(q->conf.user);

	if (user == 0)
		return (0);
	if (user > 0 && model_uid_taken(&st.model, user))
		return (refuse(&q->no, CODE_LIMIT_EXCEEDED, "user",
		    "user %lld: another sandbox has it", (long long)user));
	if (user > 0)
		sb->r.uid = user;
	else if ((sb->r.uid = uid_take(&st.model)) == 0)
		return (refuse(&q->no, CODE_LIMIT_EXCEEDED, "user",
		    "no free user for another sandbox"));
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
	if (q->conf.disk != 0)
		detail_num(&d, "disk", q->conf.disk);
	if (q->conf.tmpfs != 0)
		detail_num(&d, "tmpfs", q->conf.tmpfs);
	detail_num(&d, "user", sb->r.uid);
	if (sb->t.lifetime != 0)
		detail_num(&d, "lifetime", sb->t.lifetime);
	if (sb->t.idle != 0)
		detail_num(&d, "idle", sb->t.idle);
	if (sb->t.keep != 0)
		detail_num(&d, "keep", sb->t.keep);
	if (q->conf.companion_of[0] != '\0')
		detail_str(&d, "companion_of", q->conf.companion_of);
	detail_str(&d, "rule", q->a.by);
	mount_details(&d, &q->conf);
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
	int		 ret;

	q->sb = NULL;
	q->known = 0;
	if (q->conf.key[0] != '\0' && (sb = model_key(&st.model, q->a.uid,
	    q->conf.key)) != NULL) {
		if (strcmp(sb->r.digest, q->digest) != 0)
			return (refuse(&q->no, CODE_CONFLICT, "key",
			    "another request had this key"));
		q->sb = sb;
		q->known = 1;
		return (BATCH_REFUSED);
	}
	/* The one of that key has just gone. */
	if (mount_count(&q->conf) > 0 && q->ticket == 0)
		return (refuse(&q->no, CODE_UNAVAILABLE, "mounts",
		    "mounts: ask again"));
	if (companion_check(&q->a, &q->conf, &q->no) != BATCH_OK)
		return (BATCH_REFUSED);
	if (quota_create(&q->a, &q->conf, text, sizeof(text)) == -1)
		return (refuse(&q->no, CODE_LIMIT_EXCEEDED, NULL, "%s",
		    text));
	sb = sandbox_new();
	if (create_name(q, sb) == -1) {
		sandbox_free(sb);
		return (refuse(&q->no, CODE_ALREADY_EXISTS, "id",
		    "%s: a sandbox of this name exists, or its history does",
		    q->conf.id));
	}
	if ((ret = create_user(q, sb)) != 0) {
		sandbox_free(sb);
		return (ret);
	}
	/* The last: what is refused for another reason takes none of it. */
	if (quota_rate(&q->a, LIMIT_CREATES, text, sizeof(text)) == -1) {
		sandbox_free(sb);
		return (refuse(&q->no, CODE_LIMIT_EXCEEDED, NULL, "%s",
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
	sb->t.state = sb->r.state;
	sb->t.changed = sb->r.changed;
	sb->t.since = sb->t.born = times_now();
	sb->t.lifetime = q->conf.lifetime;
	sb->t.idle = q->conf.idle;
	sb->t.keep = q->conf.keep;
	if (sb->t.lifetime != 0)
		sb->t.until = sb->t.born + sb->t.lifetime * 1000000;
	sb->r.op = store_op();
	sb->r.dirty = 1;
	model_add(b, &st.model, sb);
	q->sb = sb;
	if (create_event(b, q, sb) != BATCH_OK ||
	    model_put_last(b, &st.model) != BATCH_OK ||
	    model_put_conf(b, sb) != BATCH_OK ||
	    model_put_times(b, sb) != BATCH_OK ||
	    model_put(b, sb) != BATCH_OK)
		return (BATCH_FAIL);
	return (BATCH_OK);
}

static void
create_free(struct create *q)
{
	mount_drop(q->ticket);
	msg_clear(&q->conf, proto_def(PROTO_CREATE));
	free(q);
}

static void
done_create(void *arg, int result)
{
	struct create	*q = arg;
	struct sandbox	*sb = q->sb;

	if (q->known && result == BATCH_REFUSED) {
		if (q->conf.wait && (sb->r.state != SBX_PENDING ||
		    op_is_held(sb))) {
			answer_accepted(&q->a, sb->r.id, sb->r.op,
			    lifecycle_name(sb->r.state));
			answer_sandbox(&q->a, sb);
			answer_end(&q->a);
		} else
			answer_wait(&q->a, PROTO_CREATE, sb, q->conf.wait);
	} else if (result == BATCH_REFUSED)
		answer_refused(&q->a, "create", q->conf.id, &q->no);
	else if (result != BATCH_OK)
		answer_failed(&q->a, result);
	else {
		fault("store.create.accepted");
		sb->ticket = q->ticket;
		q->ticket = 0;
		answer_wait(&q->a, PROTO_CREATE, sb, q->conf.wait);
		op_start(sb, OP_CREATE);
	}
	create_free(q);
}

/* That took its time: who has gone meanwhile, or is judged otherwise now. */
static int
create_again(struct create *q)
{
	if (session_find(q->a.session) == NULL)
		return (refuse(&q->no, CODE_UNAVAILABLE, NULL,
		    "its client is gone"));
	if (!policy_image(q->conf.image))
		return (refuse(&q->no, CODE_POLICY_DENIED, "image",
		    "image %s is not allowed here", q->conf.image));
	return (create_limits(q));
}

/* What the parent says of the mounts that somebody waits for. */
int
create_recv_checked(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_mounts_checked	*m = msg;
	struct create			*q;

	(void)ch;
	(void)f;
	fault("store.mounts.after");
	TAILQ_FOREACH(q, &judged, entry)
		if (q->ticket == m->ticket)
			break;
	if (q == NULL)
		return (-1);
	TAILQ_REMOVE(&judged, q, entry);
	if (m->code != CODE_OK) {
		/* The parent has forgotten it. */
		q->ticket = 0;
		refuse(&q->no, m->code, "mounts", "mounts: %s", m->text);
	} else if (create_again(q) == BATCH_OK) {
		batch_gating(&st.batch, body_create, done_create, q);
		return (0);
	}
	answer_refused(&q->a, "create", q->conf.id, &q->no);
	create_free(q);
	return (0);
}

/* It made a sandbox before, and has no need of anything any more. */
static int
create_known(const struct create *q)
{
	return (q->conf.key[0] != '\0' && model_key(&st.model, q->a.uid,
	    q->conf.key) != NULL);
}

int
create_recv_create(struct chan *ch, struct frame *f, void *msg)
{
	struct create	*q;
	struct asker	 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    rights_check(&a, RIGHT_CREATE, NULL) == -1 ||
	    request_park(create_recv_create, f, msg) ||
	    request_engine(&a) == -1 || request_space(&a) == -1)
		return (0);
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->a = a;
	memcpy(&q->conf, msg, sizeof(q->conf));
	memset(msg, 0, sizeof(q->conf));
	create_digest(q);
	if (create_complete(q) != BATCH_OK) {
		answer_refused(&q->a, "create", q->conf.id, &q->no);
		create_free(q);
	} else if (mount_count(&q->conf) > 0 && !create_known(q)) {
		q->ticket = mount_ask(&q->a, &q->conf);
		TAILQ_INSERT_TAIL(&judged, q, entry);
	} else
		batch_gating(&st.batch, body_create, done_create, q);
	return (0);
}
