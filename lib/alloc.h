/*
 * Memory for a library that goes on without what it has no memory for: an
 * event that is never told, a transfer that never ends.  Where there is none
 * the process dies instead, and is replaced.
 */
#ifndef ALLOC_H
#define ALLOC_H

#include <stddef.h>

void	*alloc_malloc(size_t);
void	*alloc_calloc(size_t, size_t);
void	*alloc_realloc(void *, size_t);
char	*alloc_strdup(const char *);

#endif
