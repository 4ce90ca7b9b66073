#ifndef ALTERED_H
#define ALTERED_H

#include <jansson.h>

/* Something else of the same kind, or something where nothing was. */
json_t	*altered(const json_t *);

#endif
