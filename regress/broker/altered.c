#include "altered.h"

json_t *
altered(const json_t *v)
{
	json_t	*n;

	switch (json_typeof(v)) {
	case JSON_TRUE:
		return (json_false());
	case JSON_FALSE:
	case JSON_NULL:
		return (json_true());
	case JSON_INTEGER:
		return (json_integer(json_integer_value(v) + 1));
	case JSON_STRING:
		return (json_sprintf("%sx", json_string_value(v)));
	case JSON_ARRAY:
		n = json_deep_copy(v);
		json_array_append_new(n, json_string("x"));
		return (n);
	default:
		n = json_deep_copy(v);
		json_object_set_new(n, "x", json_string("x"));
		return (n);
	}
}
