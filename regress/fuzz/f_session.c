/*
 * Lines of a session: whatever comes, it is taken or refused with a code, a
 * text and an id that can stand in an answer.
 */

#include <jansson.h>

#include "fuzz.h"
#include "session.h"

#define BEGIN(name)							\
int									\
name(struct call *c)							\
{									\
	(void)c;							\
	return (-1);							\
}

BEGIN(job_begin) BEGIN(job_input) BEGIN(call_cancel) BEGIN(call_credit)
BEGIN(call_version) BEGIN(ctl_begin)
BEGIN(file_begin) BEGIN(tool_begin)

static void
check_id(const char *id)
{
	json_t	*j;

	if (id == NULL)
		return;
	j = json_loads(id, JSON_DECODE_ANY, NULL);
	need(json_is_string(j) || json_is_integer(j));
	/* It stands in a line. */
	need(strchr(id, '\n') == NULL);
	json_decref(j);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct spec_error	 e;
	struct line		 l;
	char			*text;
	int			 ret;

	text = (char *)fuzz_copy(data, len);
	memset(&e, 0, sizeof(e));
	ret = line_parse(&l, text, len, &e);
	check_id(l.id);
	check_id(l.of);
	if (ret == -1) {
		need(e.code != CODE_OK && e.text[0] != '\0');
		need(spec_valid_utf8(e.text));
	} else {
		need(l.id != NULL && l.def != NULL);
		need((l.of != NULL) == ((l.def->flags & S_OF) != 0));
		if (l.msg != NULL)
			(void)spec_check(l.def->type, l.msg, &e);
	}
	line_clear(&l);
	free(text);
	return (0);
}
