/*
 * skill_front.c: the head of a skill's file: YAML between two lines of three
 * hyphens.  It may come from a sandbox: libyaml reads it, of a bounded length,
 * as events, among which nothing is expanded.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "skill.h"

#define FENCE	"---"
#define MARK	"\357\273\277"		/* of UTF-8, by which some begin a file */

/* The line at p: its length without its end, and where the next begins. */
static size_t
line(const char *p, const char *end, const char **next)
{
	const char	*e = memchr(p, '\n', end - p);
	size_t		 len;

	*next = e == NULL ? end : e + 1;
	len = (e == NULL ? end : e) - p;
	return (len > 0 && p[len - 1] == '\r' ? len - 1 : len);
}

static int
is_fence(const char *p, size_t len)
{
	return (len == sizeof(FENCE) - 1 && memcmp(p, FENCE, len) == 0);
}

/* Where the YAML is, and its length; or why there is none. */
static const char *
front_find(const char **text, size_t *size)
{
	const char	*p = *text, *end = p + *size, *next, *begin;
	size_t		 len;

	if (*size >= sizeof(MARK) - 1 && memcmp(p, MARK, sizeof(MARK) - 1) == 0)
		p += sizeof(MARK) - 1;
	len = line(p, end, &next);
	if (!is_fence(p, len))
		return ("it does not begin with a line of ---");
	for (begin = p = next; p < end; p = next) {
		len = line(p, end, &next);
		if (is_fence(p, len)) {
			*text = begin;
			*size = p - begin;
			return (NULL);
		}
	}
	return (*size >= SKILL_HEAD ? "its head is too long" :
	    "its head has no end");
}

/* To YAML a word or number that is not quoted is no text. */
static int
is_text(const yaml_event_t *e)
{
	static const char *const words[] = {
		"", "~", "null", "Null", "NULL", "true", "True", "TRUE",
		"false", "False", "FALSE"
	};
	const char	*s = (const char *)e->data.scalar.value;
	char		*end;
	size_t		 i;

	if (e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return (1);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(s, words[i]) == 0)
			return (0);
	if (strchr("+-.0123456789", *s) == NULL)
		return (1);
	(void)strtod(s, &end);
	return (*end != '\0');
}

/* A value of the head into *to; NULL, or why it is none. */
static const char *
take(char **to, const yaml_event_t *e, size_t max, const char *none,
    const char *long_)
{
	size_t	 len;

	if (e->type != YAML_SCALAR_EVENT || !is_text(e))
		return (none);
	len = e->data.scalar.length;
	if (len == 0 || memchr(e->data.scalar.value, '\0', len) != NULL ||
	    *to != NULL)
		return (none);
	if (len > max)
		return (long_);
	if ((*to = strndup((const char *)e->data.scalar.value, len)) == NULL)
		return (strerror(ENOMEM));
	return (NULL);
}

struct front {
	struct skill	*skill;
	int		 depth;		/* 1: in the mapping that is all */
	int		 is_value;	/* what comes next in it */
	char		**to;		/* of what is taken, NULL: nothing */
};

/* At a key: whether its value is wanted. */
static void
front_key(struct front *f, const yaml_event_t *e)
{
	f->to = NULL;
	if (e->type != YAML_SCALAR_EVENT)
		return;
	if (strcmp((const char *)e->data.scalar.value, "name") == 0)
		f->to = &f->skill->name;
	else if (strcmp((const char *)e->data.scalar.value,
	    "description") == 0)
		f->to = &f->skill->description;
}

static const char *
front_value(struct front *f, const yaml_event_t *e)
{
	if (f->to == NULL)
		return (NULL);
	if (f->to == &f->skill->name)
		return (take(f->to, e, SKILL_NAME, "its name is no text, or "
		    "is there twice", "its name is too long"));
	return (take(f->to, e, SKILL_TEXT, "its description is no text, or "
	    "is there twice", "its description is too long"));
}

/* One event; NULL to go on. */
static const char *
front_event(struct front *f, const yaml_event_t *e)
{
	const char	*why = NULL;

	switch (e->type) {
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		f->depth--;
		return (NULL);
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
	case YAML_SCALAR_EVENT:
	case YAML_ALIAS_EVENT:
		break;
	default:
		return (NULL);
	}
	if (f->depth == 0 && e->type != YAML_MAPPING_START_EVENT)
		return ("its head is no list of keys and values");
	if (f->depth == 1) {
		if (f->is_value)
			why = front_value(f, e);
		else
			front_key(f, e);
		f->is_value = !f->is_value;
	}
	if (e->type == YAML_MAPPING_START_EVENT ||
	    e->type == YAML_SEQUENCE_START_EVENT)
		f->depth++;
	return (why);
}

static const char *
front_read(struct skill *s, const char *text, size_t len)
{
	struct front	 f = { s, 0, 0, NULL };
	const char	*why = NULL;
	yaml_parser_t	 parser;
	yaml_event_t	 e;
	int		 end;

	if (!yaml_parser_initialize(&parser))
		return (strerror(ENOMEM));
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text,
	    len);
	for (end = 0; !end && why == NULL;) {
		if (!yaml_parser_parse(&parser, &e)) {
			why = parser.error == YAML_MEMORY_ERROR ?
			    strerror(ENOMEM) : "its head is no YAML";
			break;
		}
		end = e.type == YAML_STREAM_END_EVENT;
		why = front_event(&f, &e);
		yaml_event_delete(&e);
	}
	yaml_parser_delete(&parser);
	return (why);
}

const char *
skill_front(struct skill *s, const char *text, size_t len)
{
	const char	*why;

	memset(s, 0, sizeof(*s));
	if ((why = front_find(&text, &len)) == NULL)
		why = front_read(s, text, len);
	if (why == NULL && s->name == NULL)
		why = "it has no name";
	if (why == NULL && s->description == NULL)
		why = "it has no description";
	if (why != NULL)
		skill_clear(s);
	return (why);
}
