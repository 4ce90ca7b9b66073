/* What the store knows, in memory: the sandboxes and their live execs. */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "model.h"
#include "store.h"

static int
sbx_cmp_n(struct sandbox *a, struct sandbox *b)
{
	return (a->r.n < b->r.n ? -1 : a->r.n > b->r.n);
}

static int
sbx_cmp_id(struct sandbox *a, struct sandbox *b)
{
	int	 c;

	/* By name first, so that all of one name lie together. */
	if ((c = strcmp(a->r.id, b->r.id)) != 0)
		return (c);
	return (a->r.owner < b->r.owner ? -1 : a->r.owner > b->r.owner);
}

static int
sbx_cmp_key(struct sandbox *a, struct sandbox *b)
{
	if (a->r.owner != b->r.owner)
		return (a->r.owner < b->r.owner ? -1 : 1);
	return (strcmp(a->r.key, b->r.key));
}

static int
exec_cmp(struct exec *a, struct exec *b)
{
	return (a->r.k < b->r.k ? -1 : a->r.k > b->r.k);
}

RB_GENERATE(sbx_by_n, sandbox, by_n, sbx_cmp_n)
RB_GENERATE(sbx_by_id, sandbox, by_id, sbx_cmp_id)
RB_GENERATE(sbx_by_key, sandbox, by_key, sbx_cmp_key)
RB_GENERATE(exec_tree, exec, entry, exec_cmp)

struct sandbox *
sandbox_new(void)
{
	struct sandbox	*sb;

	if ((sb = calloc(1, sizeof(*sb))) == NULL)
		fatal("%s", __func__);
	RB_INIT(&sb->execs);
	TAILQ_INIT(&sb->waiters);
	return (sb);
}

void
model_drop_conf(struct sandbox *sb)
{
	if (sb->conf == NULL)
		return;
	msg_clear(sb->conf, proto_def(PROTO_CREATE));
	free(sb->conf);
	sb->conf = NULL;
	msg_rest_clear(&sb->conf_rest);
}

void
update_free(struct sbx_update *u)
{
	if (u == NULL)
		return;
	kvv_clear(&u->labels);
	strv_clear(&u->unlabel);
	free(u);
}

void
sandbox_free(struct sandbox *sb)
{
	model_drop_conf(sb);
	update_free(sb->update);
	msg_rest_clear(&sb->rest);
	msg_rest_clear(&sb->times_rest);
	free(sb);
}

struct exec *
model_exec_new(struct sandbox *sb)
{
	struct exec	*ex;

	if ((ex = calloc(1, sizeof(*ex))) == NULL)
		fatal("%s", __func__);
	ex->sb = sb;
	ex->r.n = sb->r.n;
	TAILQ_INIT(&ex->waiters);
	return (ex);
}

void
model_exec_free(struct exec *ex)
{
	struct waiter	*w;

	while ((w = TAILQ_FIRST(&ex->waiters)) != NULL) {
		TAILQ_REMOVE(&ex->waiters, w, entry);
		free(w);
	}
	if (event_initialized(&ex->lost))
		event_del(&ex->lost);
	if (ex->start != NULL) {
		msg_clear(ex->start, msg_def(MSG_START));
		free(ex->start);
	}
	kvv_clear(&ex->changes);
	exec_row_clear(&ex->r);
	msg_rest_clear(&ex->rest);
	free(ex);
}

struct sandbox *
model_number(struct model *m, uint64_t n)
{
	static struct sandbox	 find;

	find.r.n = n;
	return (RB_FIND(sbx_by_n, &m->by_n, &find));
}

struct sandbox *
model_id(struct model *m, uint32_t owner, const char *id)
{
	static struct sandbox	 find;

	find.r.owner = owner;
	if (strlcpy(find.r.id, id, sizeof(find.r.id)) >= sizeof(find.r.id))
		return (NULL);
	return (RB_FIND(sbx_by_id, &m->by_id, &find));
}

struct sandbox *
model_key(struct model *m, uint32_t owner, const char *key)
{
	static struct sandbox	 find;

	find.r.owner = owner;
	if (strlcpy(find.r.key, key, sizeof(find.r.key)) >=
	    sizeof(find.r.key))
		return (NULL);
	return (RB_FIND(sbx_by_key, &m->by_key, &find));
}

struct sandbox *
model_any(struct model *m, const char *id, int *many)
{
	static struct sandbox	 find;
	struct sandbox		*sb, *next;

	*many = 0;
	find.r.owner = 0;
	if (strlcpy(find.r.id, id, sizeof(find.r.id)) >= sizeof(find.r.id))
		return (NULL);
	sb = RB_NFIND(sbx_by_id, &m->by_id, &find);
	if (sb == NULL || strcmp(sb->r.id, id) != 0)
		return (NULL);
	next = RB_NEXT(sbx_by_id, &m->by_id, sb);
	*many = next != NULL && strcmp(next->r.id, id) == 0;
	return (sb);
}

struct exec *
model_exec(struct sandbox *sb, uint64_t k)
{
	static struct exec	 find;

	find.r.k = k;
	return (RB_FIND(exec_tree, &sb->execs, &find));
}

/* A uid is free again when the workspace is gone. */
int
model_uid_taken(struct model *m, uint32_t uid)
{
	struct sandbox	*sb;

	RB_FOREACH(sb, sbx_by_n, &m->by_n)
		if (sb->r.uid == uid && (sb->r.state != SBX_DELETED ||
		    sb->r.dirty))
			return (1);
	return (0);
}

struct added {
	struct model	*m;
	struct sandbox	*sb;
	struct exec	*ex;
};

static void
model_unadd(void *arg)
{
	struct added	*a = arg;

	RB_REMOVE(sbx_by_n, &a->m->by_n, a->sb);
	RB_REMOVE(sbx_by_id, &a->m->by_id, a->sb);
	if (a->sb->r.key[0] != '\0')
		RB_REMOVE(sbx_by_key, &a->m->by_key, a->sb);
	a->m->count--;
	quota_disown(a->sb);
	sandbox_free(a->sb);
	free(a);
}

/* Takes the sandbox over: it is freed if the batch fails. */
void
model_add(struct batch *b, struct model *m, struct sandbox *sb)
{
	struct added	*a;

	RB_INSERT(sbx_by_n, &m->by_n, sb);
	RB_INSERT(sbx_by_id, &m->by_id, sb);
	if (sb->r.key[0] != '\0')
		RB_INSERT(sbx_by_key, &m->by_key, sb);
	m->count++;
	quota_own(sb);
	if ((a = calloc(1, sizeof(*a))) == NULL)
		fatal("%s", __func__);
	a->m = m;
	a->sb = sb;
	batch_undo(b, model_unadd, a);
}

static void
model_unadd_exec(void *arg)
{
	struct added	*a = arg;

	a->ex->sb->nexecs--;
	a->m->nlive--;
	model_drop_exec(a->ex);
	free(a);
}

void
model_add_exec(struct batch *b, struct model *m, struct exec *ex)
{
	struct added	*a;

	RB_INSERT(exec_tree, &ex->sb->execs, ex);
	ex->sb->nexecs++;
	m->nlive++;
	if ((a = calloc(1, sizeof(*a))) == NULL)
		fatal("%s", __func__);
	a->m = m;
	a->ex = ex;
	batch_undo(b, model_unadd_exec, a);
}

/* All of it out of memory; the database is left as it is. */
void
model_close(struct model *m)
{
	struct sandbox	*sb;
	struct exec	*ex;

	while ((sb = RB_ROOT(&m->by_n)) != NULL) {
		while ((ex = RB_ROOT(&sb->execs)) != NULL)
			model_drop_exec(ex);
		if (!sb->unnamed && sb->r.state != SBX_DELETED)
			quota_disown(sb);
		if (sb->unnamed)
			RB_REMOVE(sbx_by_n, &m->by_n, sb);
		else
			model_remove(m, sb);
		sandbox_free(sb);
	}
}

void
model_drop_exec(struct exec *ex)
{
	RB_REMOVE(exec_tree, &ex->sb->execs, ex);
	model_exec_free(ex);
}

void
model_keep(struct batch *b, struct sandbox *sb)
{
	batch_keep(b, &sb->r, sizeof(sb->r));
	batch_keep(b, &sb->todo, sizeof(sb->todo));
}

void
model_remove(struct model *m, struct sandbox *sb)
{
	RB_REMOVE(sbx_by_n, &m->by_n, sb);
	RB_REMOVE(sbx_by_id, &m->by_id, sb);
	if (sb->r.key[0] != '\0')
		RB_REMOVE(sbx_by_key, &m->by_key, sb);
}
