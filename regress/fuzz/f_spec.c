/* Checks of requests, on requests that the codec has taken. */

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "spec.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint64_t		 st[2048];
	const struct msg_def	*def;
	struct spec_error	 e;
	struct spec_ref		 ref;
	char			*s;

	if (len < 1)
		return (0);
	if (data[0] >= PROTO_HELLO_OK) {
		/* The single grammars, on any string. */
		if ((s = calloc(1, len)) == NULL)
			abort();
		memcpy(s, data + 1, len - 1);
		(void)spec_valid_id(s);
		(void)spec_valid_image(s);
		(void)spec_valid_dir(s);
		(void)spec_user(s);
		if (spec_parse_ref(s, &ref) == 0 && !spec_valid_id(ref.id))
			abort();
		free(s);
		return (0);
	}
	if ((def = proto_def(data[0])) == NULL)
		return (0);
	if (msg_decode_map(st, def, data + 1, len - 1, NULL, NULL) == -1)
		return (0);
	memset(&e, 0, sizeof(e));
	if (spec_check(data[0], def->size == 0 ? NULL : st, &e) == -1 &&
	    (e.code == CODE_OK || e.text[0] == '\0'))
		abort();
	msg_clear(st, def);
	return (0);
}
