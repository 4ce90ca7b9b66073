/* See evil_says.h; the ranges are those of sandboxd.h and proto.h. */

#include <string.h>

#include "evil_says.h"
#include "sandboxd.h"

const struct evil_says	 evil_says[] = {
	{ "frontend", "store", PROTO_HELLO, PROTO_HELLO_OK },
	{ "store", "frontend", PROTO_HELLO_OK, PROTO_MAX },
	{ "runner", "frontend", PROTO_STREAM, PROTO_PROC },
	{ "parent", NULL, MSG_PIPE, MSG_READY },
	{ NULL, "parent", MSG_READY, MSG_SESSION_OPEN },
	{ "parent", "store", MSG_SESSION_OPEN, MSG_OPEN },
	{ "store", "parent", MSG_OPEN, MSG_CLIENT },
	{ "parent", "frontend", MSG_CLIENT, MSG_LISTEN },
	{ "store", "runner", MSG_LISTEN, MSG_GUEST_HELLO },
	{ "runner", "store", MSG_GUEST_HELLO, MSG_STREAM_END },
	{ "runner", "frontend", MSG_STREAM_END, MSG_INVENTORY },
	{ "store", "broker", MSG_INVENTORY, MSG_CONTAINER },
	{ "broker", "store", MSG_CONTAINER, MSG_MAX },
};
const size_t	 evil_nsays = sizeof(evil_says) / sizeof(evil_says[0]);

static int
same(const char *a, const char *b)
{
	return (a == NULL || b == NULL || strcmp(a, b) == 0);
}

int
evil_said(const char *from, const char *to, uint32_t type)
{
	size_t	 i;

	for (i = 0; i < evil_nsays; i++)
		if (type >= evil_says[i].first && type < evil_says[i].end &&
		    same(from, evil_says[i].from) && same(to, evil_says[i].to))
			return (1);
	return (0);
}
