/*
 * skill.h: skills, which are directories with a file that tells an agent how
 * something is done, see sandboxctl(8).
 *
 *	skill_front.c	the head of such a file
 *	skill_list.c	those that were found
 */

#ifndef SKILL_H
#define SKILL_H

#include <stddef.h>

#define SKILL_FILE	"SKILL.md"
#define SKILL_HEAD	16384		/* bytes of a file that are looked at */
#define SKILL_NAME	255		/* bytes of a name */
#define SKILL_TEXT	4096		/* bytes of a description */
#define SKILLS_MAX	1000		/* of one list */

struct skill {
	char	*name;
	char	*description;
	char	*path;			/* in the sandbox */
	char	*local;			/* here, or NULL */
};

struct skills {
	struct skill	*v;
	size_t		 n;
};

/*
 * Name and description of a file that begins with these bytes, which belong to
 * the caller then.  NULL, or why it is no skill; then there is nothing to free.
 */
const char	*skill_front(struct skill *, const char *, size_t);

/*
 * Takes what the skill has, in place of an earlier one of its name.  0, or -1
 * with ENOMEM, or with E2BIG if there are too many; then it is freed.
 */
int		 skills_add(struct skills *, struct skill *);
void		 skills_sort(struct skills *);
void		 skills_print(const struct skills *, int);
void		 skills_clear(struct skills *);
void		 skill_clear(struct skill *);

#endif
