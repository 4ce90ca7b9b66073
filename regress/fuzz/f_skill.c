/*
 * The head of a skill's file, which a sandbox may have written: any bytes are
 * a skill within its bounds, or none and nothing is kept.
 */

#include "fuzz.h"
#include "skill.h"

static void
text(const char *s, size_t max)
{
	need(s != NULL && *s != '\0' && strlen(s) <= max);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct skill	 s, again;
	const char	*why;
	uint8_t		*copy;

	if (len > SKILL_HEAD)
		len = SKILL_HEAD;
	copy = fuzz_copy(data, len);
	why = skill_front(&s, (char *)copy, len);
	need((why == NULL) == (skill_front(&again, (char *)copy, len) ==
	    NULL));
	free(copy);
	need(s.path == NULL && s.local == NULL);
	if (why != NULL) {
		need(*why != '\0' && s.name == NULL && s.description == NULL);
		return (0);
	}
	text(s.name, SKILL_NAME);
	text(s.description, SKILL_TEXT);
	need(strcmp(s.name, again.name) == 0);
	skill_clear(&s);
	skill_clear(&again);
	return (0);
}
