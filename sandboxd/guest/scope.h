/*
 * Which names below a directory somebody wants to hear of: scope.c.
 */
#ifndef SCOPE_H
#define SCOPE_H

#include "calls.h"
#include "tool.h"

struct scope {
	struct glob	 g[SCOPE_MAX];
	int		 out[SCOPE_MAX];	/* it takes away */
	int		 ins;			/* those that do not */
	int		 n;
	char		 path[CALL_PATH_MAX + 1];
};

/* 0, EINVAL: no pattern, E2BIG: too many alternatives, ENOMEM. */
int	 scope_open(struct scope *, const char *);
/* NULL is no scope: all is in it. */
int	 scope_has(struct scope *, const char *, int);
int	 scope_below(struct scope *, const char *);
void	 scope_free(struct scope *);

#endif /* SCOPE_H */
