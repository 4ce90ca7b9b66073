/*
 * Every table of the codec on any bytes, both ways: what is taken must come
 * back the same when it is encoded and decoded again.
 */

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "proto.h"
#include "sandboxd.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const struct msg_def *
def_of(uint8_t type)
{
	return (msg_def(type % MSG_MAX));
}

static void
again(const struct msg_def *def, void *st, int map)
{
	static uint64_t	 twice[2048];
	msgpack_sbuffer	 one, two;

	msgpack_sbuffer_init(&one);
	msgpack_sbuffer_init(&two);
	if (map) {
		if (msg_encode_map(&one, def, st) == -1 ||
		    msg_decode_map(twice, def, (uint8_t *)one.data, one.size,
		    NULL, NULL) == -1 ||
		    msg_encode_map(&two, def, twice) == -1)
			abort();
	} else {
		if (msg_encode_array(&one, def, st) == -1 ||
		    msg_decode_array(twice, def, (uint8_t *)one.data,
		    one.size) == -1 ||
		    msg_encode_array(&two, def, twice) == -1)
			abort();
	}
	if (one.size != two.size || memcmp(one.data, two.data, one.size) != 0)
		abort();
	msg_clear(twice, def);
	msgpack_sbuffer_destroy(&one);
	msgpack_sbuffer_destroy(&two);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint64_t		 st[2048];
	const struct msg_def	*def;
	const char		*field, *why;
	int			 map;

	if (len < 2 || (def = def_of(data[0])) == NULL)
		return (0);
	if (def->size > sizeof(st))
		abort();
	map = data[1] & 1;
	if (map) {
		if (msg_decode_map(st, def, data + 2, len - 2, &field,
		    &why) == -1) {
			if (why == NULL)
				abort();
			return (0);
		}
	} else if (msg_decode_array(st, def, data + 2, len - 2) == -1)
		return (0);
	again(def, st, map);
	msg_clear(st, def);
	return (0);
}
