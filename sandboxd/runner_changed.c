/*
 * What an exec has changed, by its guest's word: kept until the exec's end is
 * told, and told with it.  The names are any bytes, and become lines.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "runner.h"

/* The store has refused what it knew of: 1 if the exec is over. */
int
changed_refuse(struct guest *g, struct exec *ex)
{
	if ((ex->flags & EXEC_CHANGES) == 0 ||
	    g->version >= (*ex->args->scope != '\0' ? GP_VERSION_SCOPE :
	    GP_VERSION_CHANGES))
		return (0);
	exec_not_started(ex, GP_NS_ERROR, 0, "the guest of this sandbox "
	    "cannot tell what a command changes");
	return (1);
}

static size_t
scope_add(char *buf, size_t len, char sign, const struct strv *v)
{
	size_t	 i, n;

	for (i = 0; i < v->n; i++) {
		n = strlen(v->v[i]);
		/* As the frontend has checked. */
		if (n == 0 || strchr(v->v[i], '\n') != NULL ||
		    len + n + 2 > GP_MAX_SCOPE)
			fatalx("%s: bad pattern from the store", __func__);
		if (len > 0)
			buf[len++] = '\n';
		buf[len++] = sign;
		memcpy(buf + len, v->v[i], n);
		len += n;
	}
	return (len);
}

/* The patterns as the guest takes them. */
char *
changed_scope(const struct msg_start *m)
{
	static char	 buf[GP_MAX_SCOPE + 1];
	char		*s;
	size_t		 len = 0;

	if (m->flags & EXEC_CHANGES) {
		len = scope_add(buf, len, '+', &m->include);
		len = scope_add(buf, len, '-', &m->exclude);
	}
	buf[len] = '\0';
	if ((s = strdup(buf)) == NULL)
		fatal("%s", __func__);
	return (s);
}

/*
 * A name at the end of a line: what would be taken for more than a name is
 * written as a number.  -1: there is no room.
 */
static int
put_name(char *buf, size_t *len, const char *s)
{
	size_t	 n = *len;

	for (; *s != '\0'; s++) {
		if (n + 4 >= CHANGES_LIST_MAX)
			return (-1);
		if ((unsigned char)*s < ' ' || *s == '\\' || *s == '\177')
			n += snprintf(buf + n, 5, "\\%03o", (unsigned char)*s);
		else
			buf[n++] = *s;
	}
	*len = n;
	return (0);
}

/* "kind name", and of one that was renamed a tab and its name before. */
static int
put_line(char *buf, size_t *len, const struct gp_change *c)
{
	const char	*kind = gp_change_name(c->kind);
	size_t		 n = *len;

	if (n + strlen(kind) + 2 >= CHANGES_LIST_MAX)
		return (-1);
	n += snprintf(buf + n, CHANGES_LIST_MAX - n, "%s%s ",
	    n == 0 ? "" : "\n", kind);
	if (put_name(buf, &n, c->name) == -1)
		return (-1);
	if (c->kind == GP_RENAMED) {
		if (n + 1 >= CHANGES_LIST_MAX)
			return (-1);
		buf[n++] = '\t';
		if (put_name(buf, &n, c->from) == -1)
			return (-1);
	}
	*len = n;
	return (0);
}

static void
changed_keep(struct exec_changed *x, const struct gp_changed *m)
{
	struct gp_change	 c;
	const char		*p = m->list;
	size_t			 left = m->listlen, len = 0;

	x->flags = m->flags;
	memcpy(x->count, m->count, sizeof(x->count));
	text_clean(x->why, sizeof(x->why), m->text);
	while (gp_change_next(&c, &p, &left) == 1)
		if (put_line(x->list, &len, &c) == -1) {
			x->flags |= GP_CHANGED_MORE;
			break;
		}
	x->list[len] = '\0';
}

int
changed_recv(struct guest *g, const struct gp_frame *f)
{
	struct gp_changed	 m;
	struct exec		*ex;

	if (gp_decode_changed(&m, f) == -1 || exec_of_frame(g, f, &ex) == -1)
		return (-1);
	if (ex == NULL)
		return (0);
	if (ex->over || (ex->flags & EXEC_CHANGES) == 0) {
		g->why = "changes that nobody has asked for";
		return (-1);
	}
	if (ex->changed == NULL &&
	    (ex->changed = malloc(sizeof(*ex->changed))) == NULL)
		fatal("%s", __func__);
	changed_keep(ex->changed, &m);
	return (0);
}

/* With its end; -1 if the guest has kept it from us. */
int
changed_tell(struct guest *g, const struct exec *ex, struct msg_ended *m)
{
	struct exec_changed	*x = ex->changed;

	if ((ex->flags & EXEC_CHANGES) == 0)
		return (0);
	if (x == NULL) {
		g->why = "an end without what was changed";
		return (-1);
	}
	m->changed = 1;
	m->shared = (x->flags & GP_CHANGED_SHARED) != 0;
	m->more = (x->flags & GP_CHANGED_MORE) != 0;
	m->denied = (x->flags & GP_CHANGED_DENIED) != 0;
	m->made = x->count[GP_MADE];
	m->written = x->count[GP_WRITTEN];
	m->removed = x->count[GP_REMOVED];
	m->renamed = x->count[GP_RENAMED];
	m->altered = x->count[GP_ALTERED];
	m->list = x->list;
	memcpy(m->why, x->why, sizeof(m->why));
	return (0);
}
