/*
 * Objects of msgpack that a field has no use for, of all types that there are.
 * From ODD_HUGE_STR on they are no whole object, or too deep for any message.
 */
#ifndef EVIL_ODD_H
#define EVIL_ODD_H

#include "msg.h"

enum odd {
	ODD_UINT, ODD_NEG, ODD_STR, ODD_BIN, ODD_ARRAY, ODD_MAP, ODD_NIL,
	ODD_TRUE, ODD_FALSE, ODD_FLOAT, ODD_DOUBLE, ODD_EXT,
	ODD_HUGE_STR, ODD_HUGE_BIN, ODD_HUGE_ARRAY, ODD_HUGE_MAP,
	ODD_HUGE_EXT, ODD_DEEP, ODD_DEEP_MAP, ODD_NEVER, ODD_MAX
};

void		 odd_pack(msgpack_packer *, enum odd);
const char	*odd_name(enum odd);
/* A field of that kind takes it. */
int		 odd_fits(enum msg_kind, enum odd);

#endif
