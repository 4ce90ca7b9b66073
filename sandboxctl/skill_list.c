/*
 * skill_list.c: the skills that were found, one of each name.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sandboxctl.h"
#include "skill.h"

void
skill_clear(struct skill *s)
{
	free(s->name);
	free(s->description);
	free(s->path);
	free(s->local);
	memset(s, 0, sizeof(*s));
}

int
skills_add(struct skills *l, struct skill *s)
{
	struct skill	*v;
	size_t		 i;

	for (i = 0; i < l->n; i++)
		if (strcmp(l->v[i].name, s->name) == 0) {
			skill_clear(&l->v[i]);
			l->v[i] = *s;
			return (0);
		}
	if (l->n == SKILLS_MAX)
		errno = E2BIG;
	else if ((v = reallocarray(l->v, l->n + 1, sizeof(*v))) != NULL) {
		l->v = v;
		l->v[l->n++] = *s;
		return (0);
	}
	skill_clear(s);
	return (-1);
}

static int
skill_cmp(const void *a, const void *b)
{
	return (strcmp(((const struct skill *)a)->name,
	    ((const struct skill *)b)->name));
}

void
skills_sort(struct skills *l)
{
	if (l->n > 1)
		qsort(l->v, l->n, sizeof(*l->v), skill_cmp);
}

static void
skills_json(const struct skills *l)
{
	static const struct msg_field	 fields[] = {
		MSG_F(skill, name, M_TEXT, 0, 0),
		MSG_F(skill, description, M_TEXT, 0, 0),
		MSG_F(skill, path, M_TEXT, 0, 0),
		MSG_F(skill, local, M_TEXT, 0, 0),
	};
	static const struct msg_def	 def = MSG_DEF(0, "skill", skill,
					    fields);
	size_t				 i;

	for (i = 0; i < l->n; i++)
		json_message(stdout, &def, &l->v[i]);
}

void
skills_print(const struct skills *l, int json)
{
	static const char *const heads[] = { "NAME", "PATH", "DESCRIPTION" };
	struct table		*t;
	size_t			 i;

	if (json) {
		skills_json(l);
		return;
	}
	t = table_new(heads, 3);
	for (i = 0; i < l->n; i++) {
		table_add(t, 0, "%s", l->v[i].name);
		table_add(t, 1, "%s", l->v[i].path);
		table_add(t, 2, "%s", l->v[i].description);
	}
	table_print(t, stdout);
	table_free(t);
}

void
skills_clear(struct skills *l)
{
	while (l->n > 0)
		skill_clear(&l->v[--l->n]);
	free(l->v);
	l->v = NULL;
}
