/*
 * Which events a subscription is about: types, and labels of their sandbox.
 *
 * It is the labels that the sandbox has when the event is told, also for
 * those of its past.  Of one that is deleted they are in the database, and
 * kept here for the next of its events: they do not change any more.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "store.h"

#define KEPT	64		/* deleted sandboxes whose labels are here */

static struct {
	uint64_t	 n;
	struct kvv	 labels;
} kept[KEPT];

static int
filter_add(struct filter *f, const char *word)
{
	const char	*name;
	size_t		 len = strlen(word);
	int		 i, n = 0;

	for (i = EV_NONE + 1; i < EV_MAX; i++) {
		name = store_event_name(i);
		if (strncmp(name, word, len) != 0 ||
		    (name[len] != '\0' && name[len] != '.'))
			continue;
		f->types[i] = 1;
		n++;
	}
	if (strcmp(word, "audit") == 0)
		f->audit = 1;
	return (n > 0 ? 0 : -1);
}

/* Takes the labels.  NULL, or the word that is no type. */
const char *
filter_set(struct filter *f, struct proto_events *m)
{
	size_t	 i;

	memset(f, 0, sizeof(*f));
	f->all = m->type[0] == '\0' && m->types.n == 0;
	if (m->type[0] != '\0' && filter_add(f, m->type) == -1)
		return (m->type);
	for (i = 0; i < m->types.n; i++)
		if (filter_add(f, m->types.v[i]) == -1)
			return (m->types.v[i]);
	f->labels = m->labels;
	memset(&m->labels, 0, sizeof(m->labels));
	return (NULL);
}

void
filter_clear(struct filter *f)
{
	kvv_clear(&f->labels);
}

int
filter_type(const struct filter *f, const struct record *r)
{
	return (f->all || (r->type < EV_MAX && f->types[r->type]) ||
	    (f->audit && audit_decision(r)));
}

/* All of them must match; one without a value, by its name. */
int
filter_labels(const struct kvv *want, const struct kvv *have)
{
	const char	*val;
	size_t		 i;

	if (want->n > 0 && have == NULL)
		return (0);
	for (i = 0; i < want->n; i++) {
		if ((val = kvv_get(have, want->v[i].k)) == NULL)
			return (0);
		if (want->v[i].v[0] != '\0' && strcmp(want->v[i].v, val) != 0)
			return (0);
	}
	return (1);
}

/* Those of a sandbox now; NULL if nothing is known of it. */
const struct kvv *
filter_labels_of(uint64_t n)
{
	struct proto_create	 conf;
	struct sandbox		*sb;

	if (n == 0 || (sb = model_number(&st.model, n)) == NULL)
		return (NULL);
	if (sb->conf != NULL)
		return (&sb->conf->labels);
	if (kept[n % KEPT].n == n)
		return (&kept[n % KEPT].labels);
	memset(&conf, 0, sizeof(conf));
	if (model_get_conf(&st.model, n, &conf) != 0)
		return (NULL);
	kvv_clear(&kept[n % KEPT].labels);
	kept[n % KEPT].n = n;
	kept[n % KEPT].labels = conf.labels;
	memset(&conf.labels, 0, sizeof(conf.labels));
	msg_clear(&conf, proto_def(PROTO_CREATE));
	return (&kept[n % KEPT].labels);
}

/* Where those stand who want a label, of one user's sandboxes or of all. */
uint64_t
filter_hash(uint64_t owner, const char *key, const char *val)
{
	uint64_t	 h = 14695981039346656037ULL;
	size_t		 i;

	for (i = 0; i < sizeof(owner); i++)
		h = (h ^ (owner >> 8 * i & 0xff)) * 1099511628211ULL;
	/* The NUL lies between the two. */
	for (;; key++) {
		h = (h ^ (uint8_t)*key) * 1099511628211ULL;
		if (*key == '\0')
			break;
	}
	for (; *val != '\0'; val++)
		h = (h ^ (uint8_t)*val) * 1099511628211ULL;
	return (h);
}
