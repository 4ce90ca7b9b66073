/*
 * What an exec has changed: asked for with it, and told by an event beside
 * that of its end, in the same commit.
 */
#include <sys/types.h>

#include "gproto.h"
#include "log.h"
#include "store.h"

/* The names of files are told, and the guest has to know how.  -1: answered. */
int
changed_check(const struct asker *a, const struct sandbox *sb,
    const struct proto_exec *m)
{
	struct asker	 files;		/* the rule of the exec stays */
	uint32_t	 need;

	if ((m->flags & EXEC_CHANGES) == 0)
		return (0);
	need = m->include.n + m->exclude.n > 0 ? GP_VERSION_SCOPE :
	    GP_VERSION_CHANGES;
	if (sb->r.guest != 0 && sb->r.guest < need) {
		answer_error(a, CODE_UNSUPPORTED, "flags", "%s cannot tell "
		    "what a command changes%s: its guest is of version %u, and "
		    "that came with %u", sb->r.id, need == GP_VERSION_SCOPE ?
		    " by patterns" : "", sb->r.guest, need);
		return (-1);
	}
	files = *a;
	return (rights_check(&files, RIGHT_FILES, sb));
}

static void
scope_detail(struct kvv *d, const char *key, const struct strv *v)
{
	char	 buf[CHANGES_SCOPE_MAX * (CHANGES_PATTERN_MAX + 1)];
	size_t	 i;

	buf[0] = '\0';
	for (i = 0; i < v->n; i++) {
		if (i > 0)
			strlcat(buf, " ", sizeof(buf));
		strlcat(buf, v->v[i], sizeof(buf));
	}
	if (v->n > 0)
		detail_str(d, key, buf);
}

/* With the command: what will be told of its changes. */
void
changed_shown(struct kvv *d, const struct proto_exec *m)
{
	scope_detail(d, "include", &m->include);
	scope_detail(d, "exclude", &m->exclude);
}

/* The details of the event, kept with the exec until it ends. */
void
changed_keep(struct exec *ex, const struct msg_ended *m)
{
	struct kvv	*d = &ex->changes;

	kvv_clear(d);
	if (!m->changed)
		return;
	if (m->why[0] != '\0')
		detail_str(d, "cause", m->why);
	else {
		detail_num(d, "made", m->made);
		detail_num(d, "written", m->written);
		detail_num(d, "removed", m->removed);
		detail_num(d, "renamed", m->renamed);
		detail_num(d, "altered", m->altered);
		if (m->list != NULL && m->list[0] != '\0')
			detail_str(d, "list", m->list);
	}
	if (m->more)
		detail_num(d, "more", 1);
	if (m->shared)
		detail_num(d, "shared", 1);
	if (m->denied)
		detail_num(d, "denied", 1);
}

/* The batch may be tried again: what it takes is a copy. */
int
changed_event(struct batch *b, struct exec *ex)
{
	struct kvv	 d = { 0 };

	if (ex->changes.n == 0)
		return (BATCH_OK);
	if (kvv_copy(&d, &ex->changes) == -1)
		fatal("%s", __func__);
	return (store_event(b, ex->sb, EV_EXEC_CHANGED, ACTOR_DAEMON,
	    ex->r.k, &d));
}
