/* See evil_odd.h. */

#include <err.h>

#include "evil_odd.h"

const char *
odd_name(enum odd odd)
{
	static const char *const	 names[ODD_MAX] = { "a number",
	    "a negative number", "a string", "bytes", "an array of arrays",
	    "a map of maps", "nil", "true", "false", "a float", "a double",
	    "an extension", "a string of 4 GiB", "bytes of 4 GiB",
	    "an array of 4 G", "a map of 4 G", "an extension of 4 GiB",
	    "100 arrays", "100 maps", "a byte that is never used" };

	return (names[odd]);
}

int
odd_fits(enum msg_kind kind, enum odd odd)
{
	switch (kind) {
	case M_UINT:
		return (odd == ODD_UINT);
	case M_INT:
		return (odd == ODD_UINT || odd == ODD_NEG);
	case M_STR:
	case M_TEXT:
		return (odd == ODD_STR);
	case M_BLOB:
		return (odd == ODD_BIN);
	default:
		return (0);
	}
}

static void
raw(msgpack_packer *pk, const void *p, size_t len)
{
	if (msgpack_sbuffer_write(pk->data, p, len) != 0)
		err(1, NULL);
}

void
odd_pack(msgpack_packer *pk, enum odd odd)
{
	static const uint8_t	 huge[][6] = {
		{ 0xdb, 0xff, 0xff, 0xff, 0xff, 'x' },
		{ 0xc6, 0xff, 0xff, 0xff, 0xff, 'x' },
		{ 0xdd, 0xff, 0xff, 0xff, 0xff, 1 },
		{ 0xdf, 0xff, 0xff, 0xff, 0xff, 1 },
		{ 0xc9, 0xff, 0xff, 0xff, 0xff, 1 },
	};
	int			 i;

	switch (odd) {
	case ODD_NIL:
		msgpack_pack_nil(pk);
		break;
	case ODD_TRUE:
		msgpack_pack_true(pk);
		break;
	case ODD_FALSE:
		msgpack_pack_false(pk);
		break;
	case ODD_UINT:
		msgpack_pack_uint64(pk, 1);
		break;
	case ODD_NEG:
		msgpack_pack_int64(pk, INT64_MIN);
		break;
	case ODD_FLOAT:
		msgpack_pack_float(pk, 1);
		break;
	case ODD_DOUBLE:
		msgpack_pack_double(pk, 1);
		break;
	case ODD_STR:
		msgpack_pack_str_with_body(pk, "x", 1);
		break;
	case ODD_BIN:
		msgpack_pack_bin_with_body(pk, "x", 1);
		break;
	case ODD_EXT:
		msgpack_pack_ext_with_body(pk, "x", 1, 1);
		break;
	case ODD_ARRAY:
		msgpack_pack_array(pk, 1);
		msgpack_pack_array(pk, 0);
		break;
	case ODD_MAP:
		msgpack_pack_map(pk, 1);
		msgpack_pack_map(pk, 0);
		msgpack_pack_map(pk, 0);
		break;
	case ODD_DEEP:
		for (i = 0; i < 100; i++)
			msgpack_pack_array(pk, 1);
		msgpack_pack_nil(pk);
		break;
	case ODD_DEEP_MAP:
		for (i = 0; i < 100; i++) {
			msgpack_pack_map(pk, 1);
			msgpack_pack_str_with_body(pk, "k", 1);
		}
		msgpack_pack_nil(pk);
		break;
	case ODD_NEVER:
		raw(pk, "\xc1", 1);
		break;
	default:
		raw(pk, huge[odd - ODD_HUGE_STR], 6);
	}
}
