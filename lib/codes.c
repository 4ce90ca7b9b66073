/* Error codes, their words and the exit statuses that go with them. */

#include <string.h>
#include <sysexits.h>

#include "codes.h"

static const struct {
	const char	*name;
	int		 exit;
} codes[CODE_MAX] = {
	[CODE_OK] = { "ok", EX_OK },
	[CODE_INVALID_ARGUMENT] = { "invalid_argument", EX_USAGE },
	[CODE_NOT_FOUND] = { "not_found", EX_NOINPUT },
	[CODE_ALREADY_EXISTS] = { "already_exists", EX_CANTCREAT },
	[CODE_PERMISSION_DENIED] = { "permission_denied", EX_NOPERM },
	[CODE_WRONG_STATE] = { "wrong_state", EX_TEMPFAIL },
	[CODE_LIMIT_EXCEEDED] = { "limit_exceeded", EX_TEMPFAIL },
	[CODE_UNAVAILABLE] = { "unavailable", EX_UNAVAILABLE },
	[CODE_DEADLINE_EXCEEDED] = { "deadline_exceeded", EX_TEMPFAIL },
	[CODE_UNSUPPORTED] = { "unsupported", EX_UNAVAILABLE },
	[CODE_POLICY_DENIED] = { "policy_denied", EX_NOPERM },
	[CODE_ENGINE_ERROR] = { "engine_error", EX_UNAVAILABLE },
	[CODE_CONFLICT] = { "conflict", EX_CANTCREAT },
	[CODE_NO_SPACE] = { "no_space", EX_CANTCREAT },
	[CODE_PROTOCOL] = { "protocol", EX_PROTOCOL },
	[CODE_INTERNAL] = { "internal", EX_SOFTWARE },
	[CODE_FILE_NOT_FOUND] = { "file_not_found", EX_NOINPUT },
	[CODE_IS_DIRECTORY] = { "is_directory", EX_NOINPUT },
	[CODE_NOT_DIRECTORY] = { "not_directory", EX_NOINPUT },
	[CODE_INVALID_PATH] = { "invalid_path", EX_USAGE },
	[CODE_FILE_EXISTS] = { "file_exists", EX_CANTCREAT },
	[CODE_NOT_EMPTY] = { "not_empty", EX_CANTCREAT },
	[CODE_NOT_FILE] = { "not_file", EX_NOINPUT },
	[CODE_TOO_LARGE] = { "too_large", EX_DATAERR },
	[CODE_READ_ONLY] = { "read_only", EX_CANTCREAT },
	[CODE_IO_ERROR] = { "io_error", EX_IOERR },
	[CODE_CANCELLED] = { "cancelled", EX_TEMPFAIL },
};

const char *
code_name(enum code code)
{
	if ((unsigned int)code >= CODE_MAX)
		code = CODE_INTERNAL;
	return (codes[code].name);
}

enum code
code_number(const char *name)
{
	int	 i;

	for (i = 0; i < CODE_MAX; i++)
		if (strcmp(codes[i].name, name) == 0)
			return (i);
	return (CODE_INTERNAL);
}

int
code_exit(enum code code)
{
	if ((unsigned int)code >= CODE_MAX)
		code = CODE_INTERNAL;
	return (codes[code].exit);
}
