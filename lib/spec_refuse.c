/* What is told of a request that the codec refuses. */

#include <stdio.h>
#include <string.h>

#include "spec.h"

/*
 * field and why as the decoder has set them.  Where a limit is the fault, it
 * is named.
 */
void
spec_refuse(const struct msg_def *def, const char *field, const char *why,
    struct spec_error *e)
{
	const struct msg_field	*f = NULL;
	size_t			 i;

	memset(e, 0, sizeof(*e));
	e->code = CODE_INVALID_ARGUMENT;
	/* Not the client's fault, and another time it may pass. */
	if (strcmp(why, "out of memory") == 0) {
		e->code = CODE_UNAVAILABLE;
		snprintf(e->text, sizeof(e->text), "%s", why);
		return;
	}
	if (field == NULL) {
		snprintf(e->text, sizeof(e->text), "invalid %s: %s",
		    def->name, why);
		return;
	}
	snprintf(e->field, sizeof(e->field), "%s", field);
	for (i = 0; i < def->nfields; i++)
		if (strcmp(def->fields[i].name, field) == 0)
			f = &def->fields[i];
	if (f != NULL && strncmp(why, "too ", 4) == 0 &&
	    strcmp(why, "too small") != 0) {
		e->code = CODE_LIMIT_EXCEEDED;
		snprintf(e->text, sizeof(e->text),
		    "invalid %s: %s: the limit is %llu", field, why,
		    (unsigned long long)msg_max(f));
	} else
		snprintf(e->text, sizeof(e->text), "invalid %s: %s", field,
		    why);
}
