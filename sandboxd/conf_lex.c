/*
 * The words of sandboxd.conf(5), as conf_file.c reads them, with their lines,
 * and the macros, each of which is one string wherever it stands.  Which word
 * means what is known to the grammar alone.
 */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

struct macro {
	SLIST_ENTRY(macro)	 entry;
	const char		*name;
	const char		*value;
};

static SLIST_HEAD(, macro)	 macros = SLIST_HEAD_INITIALIZER(macros);
static const char		*last;		/* the last token, for errors */
static int			 last_line;

static const char *
macro_find(const char *name)
{
	struct macro	*m;

	SLIST_FOREACH(m, &macros, entry)
		if (strcmp(m->name, name) == 0)
			return (m->value);
	return (NULL);
}

void
macro_define(const struct token *name, const struct token *value)
{
	struct macro	*m;
	const char	*p;

	for (p = name->string; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '_') {
			value_error(name, "macro",
			    "not of letters, digits and underscores");
			return;
		}
	if (name->string[0] == '\0') {
		value_error(name, "macro", "empty");
		return;
	}
	/* Which of two values is meant would hang on the order of files. */
	if (macro_find(name->string) != NULL) {
		value_error(name, "macro", "already defined");
		return;
	}
	if ((m = calloc(1, sizeof(*m))) == NULL) {
		value_error(name, "macro", strerror(errno));
		return;
	}
	m->name = name->string;
	m->value = value->string;
	SLIST_INSERT_HEAD(&macros, m, entry);
}

/* The next character, or -1 at the end of this source. */
static int
peek(const struct source *src)
{
	if (src->pos == src->len)
		return (-1);
	return ((unsigned char)src->buf[src->pos]);
}

static int
is_word(int c)
{
	return (c != -1 && (isalnum(c) || (ispunct(c) && c != '"' &&
	    c != '#' && c != '$' && c != '{' && c != '}' && c != '=' &&
	    c != ',' && c != '\\')));
}

static int
lex_bad(const struct source *src, const char *text)
{
	error_at(src->line, "%s", text);
	last = NULL;
	return (LEX_BAD);
}

static int
lex_quoted(struct source *src, struct token *t)
{
	char	 buf[4096];
	size_t	 len = 0;
	int	 c;

	src->pos++;
	while ((c = peek(src)) != '"') {
		if (c == -1 || c == '\n')
			return (lex_bad(src, "string without an end"));
		src->pos++;
		if (c == '\\' && (peek(src) == '"' || peek(src) == '\\')) {
			c = peek(src);
			src->pos++;
		}
		if (c < ' ' || c == 0x7f)
			return (lex_bad(src, "control character in a string"));
		if (len == sizeof(buf) - 1)
			return (lex_bad(src, "string too long: the limit is "
			    "4095"));
		buf[len++] = (char)c;
	}
	src->pos++;
	if ((t->string = text_new(buf, len)) == NULL)
		return (lex_bad(src, strerror(errno)));
	last = t->string;
	return (LEX_STRING);
}

static int
lex_word(struct source *src, struct token *t, int first)
{
	size_t	 start = src->pos;

	while (is_word(peek(src)))
		src->pos++;
	if ((t->string = text_new(src->buf + start, src->pos - start)) == NULL)
		return (lex_bad(src, strerror(errno)));
	last = t->string;
	return (first ? LEX_FIRST : LEX_WORD);
}

/* $name is one string, whatever words and blanks its value holds. */
static int
lex_macro(struct source *src, struct token *t)
{
	const char	*value;
	char		 name[64];
	size_t		 len = 0;
	int		 c;

	src->pos++;
	while ((c = peek(src)) != -1 && (isalnum(c) || c == '_')) {
		if (len == sizeof(name) - 1)
			return (lex_bad(src, "macro's name too long: the "
			    "limit is 63"));
		name[len++] = (char)c;
		src->pos++;
	}
	name[len] = '\0';
	if ((value = macro_find(name)) == NULL) {
		error_at(src->line, "macro `%s' is not defined", name);
		last = NULL;
		return (LEX_BAD);
	}
	t->string = last = value;
	return (LEX_STRING);
}

/* Blanks, comments, and newlines that a backslash takes away. */
static void
skip_blanks(struct source *src)
{
	int	 c;

	while ((c = peek(src)) != -1) {
		if (c == '#') {
			while ((c = peek(src)) != -1 && c != '\n')
				src->pos++;
		} else if (c == '\\' && src->pos + 1 < src->len &&
		    src->buf[src->pos + 1] == '\n') {
			src->pos += 2;
			src->line++;
		} else if (c == ' ' || c == '\t' || c == '\r')
			src->pos++;
		else
			break;
	}
}

int
lex_token(struct token *t)
{
	static char	 one[2];
	struct source	*src;
	int		 c, first;

	for (;;) {
		if ((src = source_top()) == NULL)
			return (0);
		skip_blanks(src);
		if ((c = peek(src)) != -1)
			break;
		/* A last line without its newline is a line. */
		if (!src->bol) {
			src->bol = 1;
			t->line = last_line = src->line;
			last = "\n";
			return ('\n');
		}
		source_pop();
	}
	t->line = last_line = src->line;
	t->string = NULL;
	first = src->bol;
	src->bol = 0;
	if (c == '\n') {
		src->pos++;
		src->line++;
		src->bol = 1;
		last = "\n";
		return ('\n');
	}
	if (c == '"')
		return (lex_quoted(src, t));
	if (c == '$')
		return (lex_macro(src, t));
	if (is_word(c))
		return (lex_word(src, t, first));
	src->pos++;
	one[0] = (char)c;
	last = one;
	if (c == '{' || c == '}' || c == '=' || c == ',')
		return (c);
	if (!isprint(c))
		return (lex_bad(src, "character that is not text"));
	return (LEX_BAD);
}

void
yyerror(const char *text)
{
	/* The lexer has told what is wrong with a token that is none. */
	if (last == NULL)
		return;
	if (source_top() == NULL)
		error_at(last_line, "%s at the end of the file", text);
	else if (*last == '\n')
		error_at(last_line, "%s at the end of the line", text);
	else
		error_at(last_line, "%s at `" SHOWN "'", text, last,
		    shown_rest(last));
}

void
lex_reset(void)
{
	struct macro	*m;

	while ((m = SLIST_FIRST(&macros)) != NULL) {
		SLIST_REMOVE_HEAD(&macros, entry);
		free(m);
	}
	last = NULL;
	last_line = 0;
}
