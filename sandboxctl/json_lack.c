/*
 * json_lack.c: whether the JSON library had no memory.
 *
 * Its parser goes on when a text that it reads cannot grow: the byte that was
 * to come next is not in it, and the text is taken for whole.
 */

#include <stdlib.h>

#include <jansson.h>

#include "sandboxctl.h"

static int	 lack;

static void *
json_alloc(size_t size)
{
	void	*p;

	if ((p = malloc(size)) == NULL)
		lack = 1;
	return (p);
}

void
json_watch(void)
{
	json_set_alloc_funcs(json_alloc, free);
}

int
json_lacked(void)
{
	int	 was = lack;

	lack = 0;
	return (was);
}
