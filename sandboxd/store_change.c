/*
 * Changes of a sandbox's state that nobody asks for by name: it has become
 * ready, stopped, deleted, it failed or died.  Each is an event that is
 * committed before anything follows from it.
 *
 * A change counts for the operation that was current when it was made; if a
 * delete has come in between it is dropped.  A commit that fails is tried
 * again, since what happened stays true.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "policy.h"
#include "store.h"

struct change {
	struct sandbox	*sb;
	enum sbx_verb	 verb;
	enum event_type	 type;
	uint64_t	 op;		/* it belongs to */
	char		 cause[CAUSE_MAX + 1];
	enum code	 code;
	struct event	 retry;
};

static const struct {
	enum event_type	 type;
	enum exec_state	 execs;		/* what becomes of them, 0: they live */
} changes[VERB_MAX] = {
	[VERB_READY] = { EV_SBX_READY, EXEC_NONE },
	[VERB_PAUSED] = { EV_SBX_PAUSED, EXEC_NONE },
	[VERB_UNPAUSED] = { EV_SBX_UNPAUSED, EXEC_NONE },
	[VERB_STOPPED] = { EV_SBX_STOPPED, EXEC_CANCELLED },
	[VERB_DELETED] = { EV_SBX_DELETED, EXEC_CANCELLED },
	[VERB_FAILED] = { EV_SBX_FAILED, EXEC_LOST },
	[VERB_DIED] = { EV_SBX_STOPPED, EXEC_LOST },
};

int
policy_image(const char *image)
{
	return (policy_image_allowed(&st.conf, st.rules, st.nrules, image));
}

/* A user that no sandbox has; 0 if there is none. */
uint32_t
uid_take(struct model *m)
{
	static uint32_t	 last;
	uint32_t	 i, size, uid;

	if (st.conf.uid_high < st.conf.uid_low)
		return (0);
	size = st.conf.uid_high - st.conf.uid_low + 1;
	/* After a restart behind the numbers given out already. */
	if (last == 0)
		last = m->last_n % size;
	for (i = 0; i < size; i++) {
		uid = st.conf.uid_low + (last + i) % size;
		if (model_uid_taken(m, uid))
			continue;
		last = (uid - st.conf.uid_low + 1) % size;
		if (last == 0)
			last = size;
		return (uid);
	}
	return (0);
}

/* What readiness, or the end of it, says about the container. */
static void
change_row(struct change *c)
{
	struct sandbox	*sb = c->sb;
	struct op	*op = &sb->op;

	strlcpy(sb->r.cause, c->cause, sizeof(sb->r.cause));
	sb->r.changed = store_now();
	switch (c->verb) {
	case VERB_READY:
		strlcpy(sb->r.container, op->box.container,
		    sizeof(sb->r.container));
		if (op->box.image_id[0] != '\0')
			strlcpy(sb->r.image_id, op->box.image_id,
			    sizeof(sb->r.image_id));
		sb->r.pid = op->box.pid;
		sb->r.boot = op->guest.boot;
		sb->r.guest = op->guest.version;
		sb->r.memory_seen = op->guest.memory;
		sb->r.mcpus_seen = op->guest.mcpus;
		sb->r.pids_seen = op->guest.pids;
		break;
	case VERB_FAILED:
		/* What is undone from now on is an operation of its own. */
		sb->r.op = store_op();
		sb->r.missing = 0;
		/* FALLTHROUGH */
	case VERB_STOPPED:
	case VERB_DIED:
		sb->r.pid = 0;
		sb->r.boot = 0;
		break;
	case VERB_DELETED:
		sb->r.dirty = 0;
		sb->r.missing = 0;
		sb->r.pid = 0;
		sb->r.boot = 0;
		break;
	default:
		break;
	}
}

static int
body_change(struct batch *b, void *arg)
{
	struct change	*c = arg;
	struct sandbox	*sb = c->sb;
	struct kvv	 d = { 0 };
	enum sbx_state	 next = lifecycle_next(sb->r.state, c->verb);

	if (c->op != sb->r.op || next == SBX_NONE)
		return (BATCH_REFUSED);
	model_keep(b, sb);
	/* What ends with it has ended before: that is no change of state. */
	if (changes[c->verb].execs != EXEC_NONE &&
	    exec_end_all(b, sb, changes[c->verb].execs,
	    c->verb == VERB_STOPPED ? "the sandbox was stopped" :
	    c->verb == VERB_DELETED ? "the sandbox was deleted" :
	    c->cause) != BATCH_OK)
		return (BATCH_FAIL);
	/* Nothing is left of what was to have other limits. */
	if ((c->verb == VERB_FAILED || c->verb == VERB_DELETED) &&
	    update_drop(b, sb) != BATCH_OK)
		return (BATCH_FAIL);
	if (c->verb == VERB_DELETED && companion_end(b, sb) != BATCH_OK)
		return (BATCH_FAIL);
	sb->r.state = next;
	if (c->cause[0] != '\0') {
		detail_str(&d, "cause", c->cause);
		if (c->code != CODE_OK)
			detail_str(&d, "code", code_name(c->code));
	}
	if (c->verb == VERB_READY) {
		detail_str(&d, "container", sb->op.box.container);
		detail_num(&d, "guest", sb->op.guest.version);
	}
	if (store_event(b, sb, c->type, ACTOR_DAEMON, 0, &d) != BATCH_OK)
		return (BATCH_FAIL);
	if (c->verb == VERB_READY && model_put_facts(b, sb) != BATCH_OK)
		return (BATCH_FAIL);
	change_row(c);
	return (model_put(b, sb));
}

static void	done_change(void *, int);

static void
change_again(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	batch_gating(&st.batch, body_change, done_change, arg);
}

static void
done_change(void *arg, int result)
{
	struct change	*c = arg;
	struct sandbox	*sb = c->sb;

	if (result == BATCH_NOSPACE || result == BATCH_UNAVAIL) {
		timer_set(&c->retry, change_again, c, STORE_RETRY_MS);
		return;
	}
	if (result == BATCH_REFUSED)
		log_debug("sandbox %s: %s came too late", sb->r.id,
		    lifecycle_verb(c->verb));
	else {
		fault("store.change.after");
		if (c->verb == VERB_FAILED || c->verb == VERB_DIED)
			log_warnx("sandbox %s (%llu): %s: %s", sb->r.id,
			    (unsigned long long)sb->r.n,
			    lifecycle_name(sb->r.state), c->cause);
		if (c->verb == VERB_UNPAUSED) {
			sb->held = 0;
			silent_probe(sb);
			/* It had other limits while nobody could ask it. */
			if (sb->r.memory_seen == 0)
				runner_greet(sb);
		}
		if (c->verb == VERB_DELETED) {
			st.model.count--;
			quota_disown(sb);
			model_drop_conf(sb);
			companion_ended(sb);
			retain_deleted();
		}
		sb->op.code = c->code;
		strlcpy(sb->op.cause, c->cause, sizeof(sb->op.cause));
		op_committed(sb, c->verb);
	}
	free(c);
}

/* The code is what those hear who wait for the sandbox. */
void
change_state(struct sandbox *sb, enum sbx_verb verb, enum code code,
    const char *cause)
{
	struct change	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		fatal("%s", __func__);
	c->sb = sb;
	c->verb = verb;
	c->type = changes[verb].type;
	c->op = sb->r.op;
	c->code = code;
	strlcpy(c->cause, cause == NULL ? "" : cause, sizeof(c->cause));
	batch_gating(&st.batch, body_change, done_change, c);
}

/*
 * One whose rows could not be read: that is its end, and its rows can be read
 * after it.  If this is not written the next start finds the same.
 */
static int
body_lost(struct batch *b, void *arg)
{
	struct sandbox	*sb = arg;
	struct kvv	 d = { 0 };

	if (sb->r.state != SBX_FAILED ||
	    lifecycle_next(sb->told, VERB_FAILED) == SBX_NONE)
		return (BATCH_REFUSED);
	if (exec_end_all(b, sb, EXEC_LOST, sb->r.cause) != BATCH_OK)
		return (BATCH_FAIL);
	detail_str(&d, "cause", sb->r.cause);
	detail_str(&d, "code", code_name(CODE_INTERNAL));
	if (store_event(b, sb, EV_SBX_FAILED, ACTOR_DAEMON, 0, &d) !=
	    BATCH_OK || model_put_conf(b, sb) != BATCH_OK ||
	    model_put_todo(b, sb) != BATCH_OK)
		return (BATCH_FAIL);
	return (model_put(b, sb));
}

/* Its container is removed when the Engine says what there is. */
void
change_lost(struct sandbox *sb)
{
	if (sb->r.state != SBX_FAILED)
		return;
	sb->r.op = store_op();
	sb->r.changed = store_now();
	sb->r.missing = 0;
	sb->r.dirty = 1;
	batch_gating(&st.batch, body_lost, NULL, sb);
}

/*
 * What failed has left nothing behind any more, or something that cannot be
 * removed and is named.
 */
static int
body_clean(struct batch *b, void *arg)
{
	struct change	*c = arg;
	struct sandbox	*sb = c->sb;
	struct kvv	 d = { 0 };

	if (c->op != sb->r.op || sb->r.state != SBX_FAILED)
		return (BATCH_REFUSED);
	model_keep(b, sb);
	sb->r.dirty = c->cause[0] != '\0';
	if (c->cause[0] != '\0')
		detail_str(&d, "left", c->cause);
	if (store_event(b, sb, c->type, ACTOR_DAEMON, 0, &d) != BATCH_OK)
		return (BATCH_FAIL);
	return (model_put(b, sb));
}

static void
done_clean(void *arg, int result)
{
	/* If it was not written it is done once more after the next start. */
	(void)result;
	free(arg);
}

void
change_clean(struct sandbox *sb, const char *left)
{
	struct change	*c;

	times_update(sb);
	if ((c = calloc(1, sizeof(*c))) == NULL)
		fatal("%s", __func__);
	c->sb = sb;
	c->type = left == NULL ? EV_SBX_CLEANED : EV_SBX_LEFT;
	c->op = sb->r.op;
	strlcpy(c->cause, left == NULL ? "" : left, sizeof(c->cause));
	if (left != NULL)
		log_warnx("sandbox %s (%llu): left over: %s", sb->r.id,
		    (unsigned long long)sb->r.n, left);
	batch_following(&st.batch, body_clean, done_clean, c);
}

struct note {
	struct sandbox	*sb;
	enum event_type	 type;
	const char	*key;
	char		 text[CAUSE_MAX + 1];
};

static int
body_note(struct batch *b, void *arg)
{
	struct note	*q = arg;
	struct kvv	 d = { 0 };

	detail_str(&d, q->key, q->text);
	return (store_event(b, q->sb, q->type, ACTOR_DAEMON, 0, &d));
}

static void
done_note(void *arg, int result)
{
	(void)result;
	free(arg);
}

/* What was found, and changes no state: an event and a line of the log. */
void
change_note(struct sandbox *sb, enum event_type type, const char *key,
    const char *text)
{
	struct note	*q;

	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->sb = sb;
	q->type = type;
	q->key = key;
	strlcpy(q->text, text, sizeof(q->text));
	log_warnx("sandbox %s (%llu): %s", sb->r.id,
	    (unsigned long long)sb->r.n, text);
	batch_following(&st.batch, body_note, done_note, q);
}

/*
 * A restart has ended the guest that ran its execs, and the next one knows
 * nothing of them.
 */
static int
body_execs(struct batch *b, void *arg)
{
	struct change	*c = arg;
	struct sandbox	*sb = c->sb;

	if (c->op != sb->r.op)
		return (BATCH_REFUSED);
	if (exec_end_all(b, sb, EXEC_CANCELLED,
	    "the sandbox was restarted") != BATCH_OK)
		return (BATCH_FAIL);
	model_keep(b, sb);
	sb->r.pid = 0;
	sb->r.boot = 0;
	return (model_put(b, sb));
}

static void	done_execs(void *, int);

static void
execs_again(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	batch_gating(&st.batch, body_execs, done_execs, arg);
}

static void
done_execs(void *arg, int result)
{
	struct change	*c = arg;

	if (result == BATCH_NOSPACE || result == BATCH_UNAVAIL) {
		timer_set(&c->retry, execs_again, c, STORE_RETRY_MS);
		return;
	}
	if (result == BATCH_OK)
		op_execs_ended(c->sb);
	free(c);
}

void
change_execs(struct sandbox *sb)
{
	struct change	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		fatal("%s", __func__);
	c->sb = sb;
	c->op = sb->r.op;
	batch_gating(&st.batch, body_execs, done_execs, c);
}
