/*
 * patch_link.c: the links of a patch.  git applies nothing below one;
 * patch(1) does, and a link that it has just made leads it wherever the
 * target does: into the hooks of a repository, or, by another link that is
 * made below the first, out of the tree.
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "patch.h"

struct patch_link {
	RB_ENTRY(patch_link)	 node;
	const char		*name;
	size_t			 len;
	char			 room[];
};

static int	link_cmp(struct patch_link *, struct patch_link *);
RB_PROTOTYPE(patch_links, patch_link, node, link_cmp)

static int
link_cmp(struct patch_link *a, struct patch_link *b)
{
	size_t	 n = a->len < b->len ? a->len : b->len;
	int	 ret = memcmp(a->name, b->name, n);

	return (ret != 0 ? ret : (a->len > b->len) - (a->len < b->len));
}

RB_GENERATE(patch_links, patch_link, node, link_cmp)

int
patch_is_git(const char *part, size_t len)
{
	return (len == 4 && strncasecmp(part, ".git", 4) == 0);
}

int
patch_leads_to_git(const char *to)
{
	size_t	 n;

	for (; *to != '\0'; to += n + strspn(to + n, "/")) {
		n = strcspn(to, "/");
		if (patch_is_git(to, n))
			return (1);
	}
	return (0);
}

int
patch_link_add(struct patch *p, const char *name)
{
	struct patch_link	*l;
	size_t			 len = strlen(name);

	if ((l = malloc(sizeof(*l) + len)) == NULL)
		return (-1);
	memcpy(l->room, name, len);
	l->name = l->room;
	l->len = len;
	if (RB_INSERT(patch_links, &p->links, l) != NULL)
		free(l);
	return (0);
}

int
patch_link_above(struct patch *p, const char *name)
{
	struct patch_link	 key;
	const char		*e;

	key.name = name;
	for (e = name; (e = strchr(e, '/')) != NULL; e++) {
		key.len = e - name;
		if (RB_FIND(patch_links, &p->links, &key) != NULL)
			return (1);
	}
	return (0);
}

void
patch_link_free(struct patch *p)
{
	struct patch_link	*l;

	while ((l = RB_ROOT(&p->links)) != NULL) {
		RB_REMOVE(patch_links, &p->links, l);
		free(l);
	}
}
