/*
 * All that sandboxctl shows, whoever wrote it: no byte of it steers a
 * terminal, and a line of JSON is one.
 */

#include <jansson.h>

#include "fuzz.h"
#include "sandboxctl.h"
#include "spec.h"

/* What has been printed may hold lines, and characters that may be seen. */
static void
check_text(const char *text, size_t len)
{
	const unsigned char	*p = (const unsigned char *)text;
	size_t			 i;

	for (i = 0; i < len; i++) {
		need(p[i] == '\n' || (p[i] >= 0x20 && p[i] != 0x7f));
		need(p[i] != 0xc2 || p[i + 1] >= 0xa0);
	}
	/* Overlong forms and the like are read in many ways. */
	need(spec_valid_utf8(text));
}

static void
check_json(const char *text, size_t len)
{
	json_t	*j;

	check_text(text, len);
	need(len > 1 && strchr(text, '\n') == text + len - 1);
	j = json_loads(text, 0, NULL);
	need(json_is_object(j));
	json_decref(j);
}

static void
table(FILE *f, struct table *t)
{
	table_print(t, f);
	table_free(t);
}

static void
show(FILE *f, uint32_t type, const void *msg)
{
	const struct proto_error	*e = msg;
	struct table			*t = NULL;

	switch (type) {
	case PROTO_ERROR:
		out_error(f, code_name(code_number(e->code)), e->field,
		    e->text);
		break;
	case PROTO_SANDBOX:
		out_sandbox(f, msg);
		out_list_add(t = out_list_new(), msg);
		break;
	case PROTO_EVENT:
		out_event(f, msg);
		break;
	case PROTO_STATUS_INFO:
		out_status(f, msg, NULL, 0, 1);
		break;
	case PROTO_EXEC_INFO:
		out_ps_add(t = out_ps_new(), msg);
		break;
	case PROTO_RIGHT:
		out_rights_add(t = out_rights_new(), msg);
		break;
	case PROTO_LIMIT:
		out_limits_add(t = out_limits_new(), msg);
		break;
	}
	if (t != NULL)
		table(f, t);
}

static void
show_json(FILE *f, uint32_t type, const void *msg)
{
	const struct proto_error	*e = msg;

	if (type == PROTO_ERROR)
		json_error(f, e->code, e->field, e->text);
	else if (type == PROTO_STATUS_INFO)
		json_status(f, msg, NULL, 0);
	else if (type == PROTO_HELLO_OK)
		json_version(f, msg);
	else
		json_proto(f, type, msg);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint64_t		 st[2048];
	struct fuzz		 in = { data, len };
	const struct msg_def	*def;
	char			*text, *s;
	size_t			 size;
	uint32_t		 type;
	FILE			*f;

	type = fuzz_u8(&in);
	if ((def = proto_def(type)) == NULL) {
		s = fuzz_string(&in);
		need((f = open_memstream(&text, &size)) != NULL);
		out_text(f, s);
		fclose(f);
		check_text(text, size);
		free(text);
		free(s);
		return (0);
	}
	if (msg_decode_map(st, def, in.p, in.len, NULL, NULL) == -1)
		return (0);
	need((f = open_memstream(&text, &size)) != NULL);
	show(f, type, st);
	fclose(f);
	check_text(text, size);
	free(text);
	need((f = open_memstream(&text, &size)) != NULL);
	show_json(f, type, st);
	fclose(f);
	check_json(text, size);
	free(text);
	msg_clear(st, def);
	return (0);
}
