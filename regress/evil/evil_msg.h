/*
 * Every wrong form of a message, made from the table of its fields.
 *
 * Field number def->nfields stands for the message as a whole.  Forms are
 * counted from 0; those that a decoder must refuse and those that it must
 * take, since only who acts on them can know better, have counts of their
 * own.
 */
#ifndef EVIL_MSG_H
#define EVIL_MSG_H

#include <sys/types.h>

#include "msg.h"

enum evil_form {
	EVIL_TAKEN,		/* well-formed, at the bounds of a field */
	EVIL_REFUSED		/* missing, of another type, past the bounds */
};

/*
 * Appends one form: 1, or 0 if there is none of that number.  All the other
 * fields are as they were set, or empty.
 */
int	 evil_message(msgpack_sbuffer *, const struct msg_def *,
	    enum evil_form, size_t field, unsigned int n);

/* What a field of that name is where nothing is wrong with it. */
void	 evil_set(const char *name, const char *text);
void	 evil_set_number(const char *name, uint64_t);
void	 evil_unset(void);

#endif
