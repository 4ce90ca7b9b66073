/* Memory that is there, or the end. */

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "log.h"

static void *
alloc_check(void *p, size_t size)
{
	if (p == NULL && size != 0)
		fatal("memory for a library");
	return (p);
}

void *
alloc_malloc(size_t size)
{
	return (alloc_check(malloc(size), size));
}

void *
alloc_calloc(size_t n, size_t size)
{
	return (alloc_check(calloc(n, size), n == 0 ? 0 : size));
}

void *
alloc_realloc(void *p, size_t size)
{
	return (alloc_check(realloc(p, size), size));
}

char *
alloc_strdup(const char *s)
{
	return (alloc_check(strdup(s), 1));
}
