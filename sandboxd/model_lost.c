/*
 * A sandbox whose rows cannot be read, though their pages can.  It keeps no
 * other from being served: from the start on it is failed, with what is wrong
 * for its cause, and can be deleted.  What its rows do not tell is taken from
 * its events.
 *
 * What nobody knows any more is the mark of its container: that is found by
 * the number and the instance, which its labels have too.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "model.h"
#include "model_rows.h"
#include "spec.h"
#include "store.h"

/* The first reason is the one that is told. */
void
lost_mark(struct model *m, struct sandbox *sb)
{
	if (sb->lost)
		return;
	sb->lost = 1;
	snprintf(sb->r.cause, sizeof(sb->r.cause), "damaged: %.400s",
	    m->db->why);
}

static uint64_t
detail_number(const struct kvv *d, const char *key, uint64_t max)
{
	const char	*s = kvv_get(d, key);
	const char	*errstr;
	uint64_t	 n;

	if (s == NULL)
		return (0);
	n = strtonum(s, 0, max, &errstr);
	return (errstr == NULL ? n : 0);
}

static struct proto_create *
lost_conf(const struct kvv *d)
{
	struct proto_create	*c;
	const char		*image = kvv_get(d, "image");
	const char		*of = kvv_get(d, "companion_of");

	if ((c = calloc(1, sizeof(*c))) == NULL ||
	    (c->workdir = strdup("")) == NULL)
		fatal("%s", __func__);
	if (image != NULL)
		strlcpy(c->image, image, sizeof(c->image));
	if (of != NULL)
		strlcpy(c->companion_of, of, sizeof(c->companion_of));
	c->memory = detail_number(d, "memory", INT64_MAX);
	c->mcpus = detail_number(d, "mcpus", UINT32_MAX);
	c->pids = detail_number(d, "pids", UINT32_MAX);
	return (c);
}

static int
lost_event(void *arg, const struct record *r)
{
	struct sandbox	*sb = arg;
	struct kvv	 d = { 0 };
	const char	*s;

	sb->sseq = r->sseq;
	sb->told = r->state;
	if (r->exec > sb->last_k)
		sb->last_k = r->exec;
	if (sb->bare) {
		sb->r.owner = r->owner;
		sb->r.changed = r->time;
		if (sb->r.created == 0)
			sb->r.created = r->time;
		if (r->op > sb->r.op)
			sb->r.op = r->op;
	}
	if ((r->type != EV_SBX_CREATE && r->type != EV_SBX_READY) ||
	    store_detail(r, &d) == -1)
		return (0);
	if (r->type == EV_SBX_CREATE && sb->conf == NULL)
		sb->conf = lost_conf(&d);
	if (r->type == EV_SBX_CREATE && sb->bare)
		sb->r.uid = sb->r.gid = detail_number(&d, "user", UINT32_MAX);
	s = kvv_get(&d, "container");
	if (r->type == EV_SBX_READY && sb->bare && s != NULL)
		strlcpy(sb->r.container, s, sizeof(sb->r.container));
	kvv_clear(&d);
	return (0);
}

/* Its own name, as far as it is one and nobody else's; or its number. */
static void
lost_name(struct model *m, struct sandbox *sb)
{
	struct spec_ref	 ref;

	if (sb->r.id[0] != '\0' && spec_parse_ref(sb->r.id, &ref) == 0 &&
	    ref.owner == -1 && ref.number == 0 &&
	    model_id(m, sb->r.owner, sb->r.id) == NULL)
		return;
	snprintf(sb->r.id, sizeof(sb->r.id), "damaged-%llu",
	    (unsigned long long)sb->r.n);
	while (model_id(m, sb->r.owner, sb->r.id) != NULL)
		strlcat(sb->r.id, "x", sizeof(sb->r.id));
}

/* Its own row says nothing that could be trusted, but for its name. */
static void
lost_bare(struct model *m, struct sandbox *sb)
{
	lost_name(m, sb);
	RB_INSERT(sbx_by_id, &m->by_id, sb);
	sb->unnamed = 0;
	if (sb->r.state == SBX_DELETED)
		return;
	m->count++;
	quota_own(sb);
}

static enum sbx_state
lost_state(const struct model *m, const struct sandbox *sb)
{
	if (!sb->bare)
		return (sb->r.state == SBX_DELETED ? SBX_DELETED : SBX_FAILED);
	/* Without any its history was about to go: the events go first. */
	if (sb->told == SBX_NONE || sb->told == SBX_DELETED)
		return (SBX_DELETED);
	/* Where nothing is written, nothing becomes of it. */
	return (m->db->readonly && sb->told < SBX_NSTATES ? sb->told :
	    SBX_FAILED);
}

/* -1: its events cannot be read either. */
int
lost_restore(struct model *m, struct sandbox *sb)
{
	struct eventlog	 l = { .db = m->db };
	struct kvv	 none = { 0 };

	if (sb->bare) {
		sb->r.owner = 0;
		sb->r.created = sb->r.op = 0;
		sb->r.container[0] = sb->r.key[0] = '\0';
	}
	sb->told = SBX_NONE;
	sb->sseq = 0;
	if (eventlog_read_sandbox(&l, sb->r.n, 0, lost_event, sb) == -1)
		return (-1);
	sb->r.state = lost_state(m, sb);
	sb->t.state = SBX_NONE;
	memset(&sb->todo, 0, sizeof(sb->todo));
	sb->r.pid = 0;
	sb->r.boot = 0;
	if (sb->bare)
		lost_bare(m, sb);
	if (sb->r.state == SBX_DELETED)
		model_drop_conf(sb);
	else if (sb->conf == NULL)
		sb->conf = lost_conf(&none);
	log_warnx("sandbox %s (%llu): %s", sb->r.id,
	    (unsigned long long)sb->r.n, sb->r.cause);
	return (0);
}
