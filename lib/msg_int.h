/* What the files of the messages share; nobody else includes it. */
#ifndef MSG_INT_H
#define MSG_INT_H

#include "msg.h"

/* Where a field lies in its structure. */
#define AT(st, f)	((void *)((char *)(st) + (f)->off))
#define CAT(st, f)	((const void *)((const char *)(st) + (f)->off))

/*
 * One value into the field at p; -1 and a static text in *why if it is not
 * what the field takes.  What the field owns by then is for msg_clear().
 */
int	 msg_take(void *p, const struct msg_field *, const msgpack_object *,
	    const char **why);

#endif
