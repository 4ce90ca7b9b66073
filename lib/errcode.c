/* What an errno is called in an answer. */

#include <errno.h>
#include <stddef.h>

#include "codes.h"

enum code
errno_code(int error)
{
	static const struct {
		int		 error;
		enum code	 code;
	} codes[] = {
		{ ENOENT, CODE_FILE_NOT_FOUND },
		{ EACCES, CODE_PERMISSION_DENIED },
		{ EPERM, CODE_PERMISSION_DENIED },
		{ EISDIR, CODE_IS_DIRECTORY },
		{ ENOTDIR, CODE_NOT_DIRECTORY },
		{ EEXIST, CODE_FILE_EXISTS },
		{ ENOTEMPTY, CODE_NOT_EMPTY },
		{ ELOOP, CODE_INVALID_PATH },
		{ ENAMETOOLONG, CODE_INVALID_PATH },
		{ EINVAL, CODE_INVALID_ARGUMENT },
		{ ENOSPC, CODE_NO_SPACE },
		{ EDQUOT, CODE_NO_SPACE },
		{ EFBIG, CODE_TOO_LARGE },
		{ EOVERFLOW, CODE_TOO_LARGE },
		{ EROFS, CODE_READ_ONLY },
		{ ENXIO, CODE_NOT_FILE },
		{ ENODEV, CODE_NOT_FILE },
		{ EXDEV, CODE_UNSUPPORTED },
		{ EOPNOTSUPP, CODE_UNSUPPORTED },
		{ ENOSYS, CODE_UNSUPPORTED },
		{ ENOMEM, CODE_LIMIT_EXCEEDED },
		{ EMFILE, CODE_LIMIT_EXCEEDED },
		{ ENFILE, CODE_LIMIT_EXCEEDED },
	};
	size_t	 i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].error == error)
			return (codes[i].code);
	return (CODE_IO_ERROR);
}
