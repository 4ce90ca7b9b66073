/* The calls that there are, for clients and daemon: see calls.h. */

#include <string.h>

#include "calls.h"

static const struct {
	const char	*name;
	int		 kind;
} calls[CALL_MAX] = {
	[CALL_STAT] = { "stat", CALL_OUT | CALL_REC },
	[CALL_READ] = { "read", CALL_OUT },
	[CALL_WRITE] = { "write", CALL_IN },
	[CALL_LIST] = { "list", CALL_OUT | CALL_REC },
	[CALL_MKDIR] = { "mkdir", 0 },
	[CALL_REMOVE] = { "remove", 0 },
	[CALL_MOVE] = { "move", CALL_TWO },
	[CALL_COPY] = { "copy", CALL_TWO },
	[CALL_CHMOD] = { "chmod", 0 },
	[CALL_TRUNCATE] = { "truncate", 0 },
	[CALL_LINK] = { "link", CALL_TWO },
	[CALL_SYMLINK] = { "symlink", CALL_TWO },
	[CALL_USAGE] = { "usage", 0 },
	[CALL_GLOB] = { "glob", CALL_OUT | CALL_REC },
	[CALL_GREP] = { "grep", CALL_OUT | CALL_REC },
	[CALL_LINES] = { "lines", CALL_OUT },
	[CALL_EDIT] = { "edit", CALL_IN },
	[CALL_WATCH] = { "watch", CALL_OUT | CALL_REC },
	[CALL_TREE_GET] = { "tree_get", CALL_OUT },
	[CALL_TREE_PUT] = { "tree_put", CALL_IN | CALL_OUT | CALL_REC },
	[CALL_MARK] = { "mark", 0 },
	[CALL_DIFF] = { "diff", CALL_OUT | CALL_REC },
	[CALL_UNMARK] = { "unmark", 0 },
	[CALL_CONNECT] = { "connect", CALL_IN | CALL_OUT | CALL_NET },
	[CALL_CHANGES] = { "changes", CALL_OUT | CALL_REC },
	[CALL_TREE_COPY] = { "tree_copy", CALL_TWO | CALL_OUT | CALL_REC },
};

int
call_known(uint32_t op)
{
	return (op < CALL_MAX && calls[op].name != NULL);
}

const char *
call_name(uint32_t op)
{
	return (call_known(op) ? calls[op].name : "unknown");
}

uint32_t
call_number(const char *name)
{
	uint32_t	 i;

	for (i = 0; i < CALL_MAX; i++)
		if (call_known(i) && strcmp(calls[i].name, name) == 0)
			return (i);
	return (CALL_NONE);
}

int
call_kind(uint32_t op)
{
	return (call_known(op) ? calls[op].kind : 0);
}
