/*
 * Error codes: stable lower-case words that every answer with an error
 * carries.  They are part of the client protocol.
 */
#ifndef CODES_H
#define CODES_H

enum code {
	CODE_OK = 0,
	CODE_INVALID_ARGUMENT,
	CODE_NOT_FOUND,
	CODE_ALREADY_EXISTS,
	CODE_PERMISSION_DENIED,
	CODE_WRONG_STATE,
	CODE_LIMIT_EXCEEDED,
	CODE_UNAVAILABLE,
	CODE_DEADLINE_EXCEEDED,
	CODE_UNSUPPORTED,
	CODE_POLICY_DENIED,
	CODE_ENGINE_ERROR,
	CODE_CONFLICT,
	CODE_NO_SPACE,
	CODE_PROTOCOL,		/* a guest or peer broke its protocol */
	CODE_INTERNAL,
	/* Of files in a sandbox. */
	CODE_FILE_NOT_FOUND,
	CODE_IS_DIRECTORY,
	CODE_NOT_DIRECTORY,
	CODE_INVALID_PATH,
	CODE_FILE_EXISTS,
	CODE_NOT_EMPTY,		/* a directory */
	CODE_NOT_FILE,		/* FIFO, socket or device */
	CODE_TOO_LARGE,
	CODE_READ_ONLY,
	CODE_IO_ERROR,
	CODE_CANCELLED,
	CODE_MAX
};

/* The code's word; "internal" for a number that is none. */
const char	*code_name(enum code);
/* The number of a word; CODE_INTERNAL for a word that is none. */
enum code	 code_number(const char *);
/* The exit status of sysexits(3) that goes with a code. */
int		 code_exit(enum code);
/* The code of an errno, of files; CODE_IO_ERROR for what has none. */
enum code	 errno_code(int);

#endif
