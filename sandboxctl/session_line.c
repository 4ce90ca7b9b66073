/*
 * session_line.c: one line of a session's input into a request.
 *
 *	{"id": 7, "show": {"id": "web"}}
 *
 * Nothing of this talks to anybody: what is wrong is returned.
 */

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "session.h"

static int
refuse(struct spec_error *e, enum code code, const char *field,
    const char *text)
{
	unsigned char	*p;

	memset(e, 0, sizeof(*e));
	e->code = code;
	strlcpy(e->field, field, sizeof(e->field));
	strlcpy(e->text, text, sizeof(e->text));
	/* It may have a part of the line, cut anywhere. */
	for (p = (unsigned char *)e->text; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return (-1);
}

/*
 * The parser recurses: how deep is seen before.  Whether the brackets match
 * is for it to say.
 */
static int
scan(const char *p, size_t len, struct spec_error *e)
{
	char	 text[64];
	int	 depth = 0, quoted = 0;
	size_t	 i;

	for (i = 0; i < len; i++) {
		if (quoted) {
			if (p[i] == '\\')
				i++;
			else if (p[i] == '"')
				quoted = 0;
		} else if (p[i] == '"')
			quoted = 1;
		else if (p[i] == '[' || p[i] == '{') {
			if (++depth <= SESSION_DEPTH_MAX)
				continue;
			snprintf(text, sizeof(text), "too deep: the limit "
			    "is %d", SESSION_DEPTH_MAX);
			return (refuse(e, CODE_LIMIT_EXCEEDED, "", text));
		} else if ((p[i] == ']' || p[i] == '}') && depth > 0)
			depth--;
	}
	return (0);
}

/* An id as it comes back: the same JSON.  NULL if it is none. */
static char *
id_text(const json_t *v)
{
	const char	*s = json_string_value(v);

	if (json_is_integer(v) && json_integer_value(v) >= 0)
		return (json_dumps(v, JSON_ENCODE_ANY));
	if (s != NULL && *s != '\0' && strlen(s) == json_string_length(v) &&
	    strlen(s) <= SESSION_ID_MAX)
		return (json_dumps(v, JSON_ENCODE_ANY));
	return (NULL);
}

static int
line_id(struct line *l, const json_t *o, struct spec_error *e)
{
	const json_t	*v;

	if ((v = json_object_get(o, "id")) == NULL)
		return (refuse(e, CODE_INVALID_ARGUMENT, "id",
		    "invalid id: missing"));
	if ((l->id = id_text(v)) == NULL)
		return (refuse(e, CODE_INVALID_ARGUMENT, "id", "invalid id: "
		    "must be a number from 0 on or a text of 1 to 64 bytes"));
	return (0);
}

/* What is asked: the one member beside the id. */
static int
line_def(struct line *l, const json_t *o, json_t **args, struct spec_error *e)
{
	const char	*key, *name = NULL;
	char		 text[64 + SESSION_ID_MAX];
	json_t		*v;

	json_object_foreach((json_t *)(uintptr_t)o, key, v) {
		if (strcmp(key, "id") == 0)
			continue;
		if (name != NULL)
			return (refuse(e, CODE_INVALID_ARGUMENT, "",
			    "more than one request in a line"));
		name = key;
		*args = v;
	}
	if (name == NULL)
		return (refuse(e, CODE_INVALID_ARGUMENT, "",
		    "no request in the line"));
	if ((l->def = session_find(name)) == NULL) {
		snprintf(text, sizeof(text), "unknown request: %.64s", name);
		return (refuse(e, CODE_INVALID_ARGUMENT, "", text));
	}
	if (!json_is_object(*args)) {
		snprintf(text, sizeof(text), "invalid %s: not an object",
		    name);
		return (refuse(e, CODE_INVALID_ARGUMENT, name, text));
	}
	return (0);
}

/* The request that this one is about. */
static int
line_of(struct line *l, json_t *args, struct spec_error *e)
{
	const json_t	*v;

	if (!(l->def->flags & S_OF))
		return (0);
	if ((v = json_object_get(args, "request")) == NULL)
		return (refuse(e, CODE_INVALID_ARGUMENT, "request",
		    "invalid request: missing"));
	if ((l->of = id_text(v)) == NULL)
		return (refuse(e, CODE_INVALID_ARGUMENT, "request",
		    "invalid request: not an id"));
	json_object_del(args, "request");
	return (0);
}

/* Members that the message has not are taken out of the object. */
static int
line_extra(struct line *l, json_t *args, struct spec_error *e)
{
	const struct msg_def	*x = l->def->extra;
	json_t			*o, *v;
	size_t			 i;
	int			 ret;

	if (x == NULL)
		return (0);
	if ((o = json_object()) == NULL)
		return (refuse(e, CODE_UNAVAILABLE, "", "out of memory"));
	for (i = 0; i < x->nfields; i++) {
		if ((v = json_object_get(args, x->fields[i].name)) == NULL)
			continue;
		/* What is lost would look as if nobody had asked for it. */
		if (json_object_set(o, x->fields[i].name, v) == -1) {
			json_decref(o);
			return (refuse(e, CODE_UNAVAILABLE, "",
			    "out of memory"));
		}
		json_object_del(args, x->fields[i].name);
	}
	ret = json_decode(&l->extra, x, o, e);
	/* Of which 0 is none. */
	if (json_object_get(o, "limit") == NULL)
		l->extra.limit = SANDBOX_TOOL_LINES;
	json_decref(o);
	if (ret == -1)
		memset(&l->extra, 0, sizeof(l->extra));
	return (ret);
}

/* An operation may have its name. */
static void
line_op(json_t *args)
{
	const char	*name = json_string_value(json_object_get(args, "op"));

	if (name != NULL && call_number(name) != CALL_NONE)
		json_object_set_new(args, "op",
		    json_integer(call_number(name)));
}

static int
line_msg(struct line *l, json_t *args, struct spec_error *e)
{
	static const struct msg_def	 none = MSG_DEF_EMPTY(0, "request");
	const struct msg_def		*def = proto_def(l->def->type);
	uint64_t			 nothing;

	if (l->def->flags & S_TOOL)
		return (json_decode(&nothing, &none, args, e));
	if (def == NULL || def->nfields == 0)
		return (json_decode(&nothing, def == NULL ? &none : def, args, e));
	if (l->def->type == PROTO_CALL)
		line_op(args);
	if ((l->msg = calloc(1, def->size)) == NULL)
		return (refuse(e, CODE_UNAVAILABLE, "", "out of memory"));
	if (json_decode(l->msg, def, args, e) == 0)
		return (0);
	free(l->msg);
	l->msg = NULL;
	return (-1);
}

/* What would be left out without a word. */
static int
line_check(const struct line *l, struct spec_error *e)
{
	const struct proto_exec	*x = l->msg;

	if (l->def->type == PROTO_EXEC && l->extra.detach &&
	    (l->extra.input || x->flags & EXEC_INPUT))
		return (refuse(e, CODE_INVALID_ARGUMENT, "detach",
		    "invalid detach: a command that is detached gets no "
		    "input"));
	return (0);
}

/*
 * 0, or -1 and the error; an id that could be read is there in both cases.
 * line_clear() belongs to each.
 */
int
line_parse(struct line *l, const char *text, size_t len, struct spec_error *e)
{
	json_error_t	 je;
	json_t		*o, *args = NULL;
	char		 why[TEXT_MAX + 1];
	int		 ret;

	memset(l, 0, sizeof(*l));
	if (scan(text, len, e) == -1)
		return (-1);
	(void)json_lacked();
	o = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
	    &je);
	if (json_lacked()) {
		json_decref(o);
		return (refuse(e, CODE_UNAVAILABLE, "", "out of memory"));
	}
	if (o == NULL) {
		snprintf(why, sizeof(why), "not a JSON object: %s: byte %d",
		    je.text, je.position);
		return (refuse(e, CODE_INVALID_ARGUMENT, "", why));
	}
	if (!json_is_object(o))
		ret = refuse(e, CODE_INVALID_ARGUMENT, "",
		    "not a JSON object");
	else if ((ret = line_id(l, o, e)) == 0 &&
	    (ret = line_def(l, o, &args, e)) == 0 &&
	    (ret = line_of(l, args, e)) == 0 &&
	    (ret = line_extra(l, args, e)) == 0 &&
	    (ret = line_msg(l, args, e)) == 0)
		ret = line_check(l, e);
	json_decref(o);
	return (ret);
}

void
line_clear(struct line *l)
{
	free(l->id);
	free(l->of);
	if (l->def != NULL && l->def->extra != NULL)
		msg_clear(&l->extra, l->def->extra);
	if (l->msg != NULL)
		msg_clear(l->msg, proto_def(l->def->type));
	free(l->msg);
	memset(l, 0, sizeof(*l));
}
