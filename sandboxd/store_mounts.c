/*
 * Mounts of the host's directories, as the store sees them: what a client asks
 * for is the parent's to judge, before the sandbox is accepted; from then on a
 * sandbox has so many, in these places inside.
 */
#include <sys/types.h>

#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "spec.h"
#include "store.h"

size_t
mount_count(const struct proto_create *c)
{
	return (c->mounts.n + c->mounts_rw.n);
}

static void
add_all(struct strv *to, const struct kvv *from, int places)
{
	size_t	 i;

	for (i = 0; i < from->n; i++)
		if (strv_add(to, places ? from->v[i].k : from->v[i].v) == -1)
			fatal("%s", __func__);
}

/* Can this client have them?  MOUNTS_CHECKED comes with that ticket. */
uint64_t
mount_ask(const struct asker *a, const struct proto_create *c)
{
	static uint64_t		 last;
	struct msg_mounts_check	 m;

	memset(&m, 0, sizeof(m));
	m.ticket = ++last;
	add_all(&m.ro, &c->mounts, 0);
	add_all(&m.rw, &c->mounts_rw, 0);
	fault("store.mounts.before");
	pipe_send(&st.parent, MSG_MOUNTS_CHECK, 0, a->session, a->req, -1,
	    &m);
	msg_clear(&m, msg_def(MSG_MOUNTS_CHECK));
	return (m.ticket);
}

static void
mounts_tell(uint32_t type, uint64_t n)
{
	struct msg_mounts_ref	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	pipe_send(&st.parent, type, 0, 0, 0, -1, &m);
}

/* No sandbox comes of it. */
void
mount_drop(uint64_t ticket)
{
	if (ticket != 0)
		mounts_tell(MSG_MOUNTS_DROP, ticket);
}

/* Its container has them now, or there is none: the host's part can go. */
void
mount_over(const struct sandbox *sb)
{
	if (sb->conf != NULL && mount_count(sb->conf) > 0)
		mounts_tell(MSG_MOUNTS_OFF, sb->r.n);
}

/* Where they are to be, in the order in which the parent has them. */
void
mount_places(struct msg_box_create *m, const struct proto_create *c)
{
	add_all(&m->mounts, &c->mounts, 1);
	add_all(&m->mounts_rw, &c->mounts_rw, 1);
}

static void
detail_list(struct kvv *d, const char *group, const struct kvv *list)
{
	char	 key[SBX_TARGET_MAX + 16];
	size_t	 i;

	for (i = 0; i < list->n; i++) {
		snprintf(key, sizeof(key), "%s.%s", group, list->v[i].k);
		detail_str(d, key, list->v[i].v);
	}
}

void
mount_details(struct kvv *d, const struct proto_create *c)
{
	detail_list(d, "mount", &c->mounts);
	detail_list(d, "mount_rw", &c->mounts_rw);
}
