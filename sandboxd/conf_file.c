/*
 * The files of a configuration: one that is included is read before the rest
 * of the one that includes it.  Where the reader is gives errors their place,
 * and the strings of a run live here until it ends.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parse.h"

struct text {
	SLIST_ENTRY(text)	 entry;
	char			 s[];
};

static struct source		*src;
static SLIST_HEAD(, text)	 texts = SLIST_HEAD_INITIALIZER(texts);
static uint32_t			 nsources;

/* What is left out must not be what the error is about. */
const char *
shown_rest(const char *s)
{
	return (strlen(s) > 64 ? "..." : "");
}

const char *
source_name(void)
{
	return (src != NULL ? src->name : conf->file);
}

void
error_at(int line, const char *fmt, ...)
{
	char		 text[512];
	va_list		 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	conf_error(conf_errs, source_name(), line, "%s", text);
}

void
value_error(const struct token *t, const char *what, const char *why)
{
	error_at(t->line, "invalid %s: " SHOWN ": %s", what, t->string,
	    shown_rest(t->string), why);
}

char *
text_new(const char *s, size_t len)
{
	struct text	*t;

	if ((t = malloc(sizeof(*t) + len + 1)) == NULL)
		return (NULL);
	memcpy(t->s, s, len);
	t->s[len] = '\0';
	SLIST_INSERT_HEAD(&texts, t, entry);
	return (t->s);
}

struct source *
source_top(void)
{
	return (src);
}

static struct source *
source_push(const char *name, char *buf, size_t len)
{
	struct source	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return (NULL);
	s->name = name;
	s->buf = buf;
	s->len = len;
	s->line = 1;
	s->bol = 1;
	s->up = src;
	src = s;
	return (s);
}

void
source_pop(void)
{
	struct source	*s = src;

	src = s->up;
	free(s->buf);
	free(s);
}

/*
 * Whoever can write the file is root to the sandboxes of everyone: it must
 * belong to root or to us, and nobody else may write it.
 */
static const char *
source_read(const char *path, char **bufp, size_t *lenp)
{
	static char	 why[128];
	struct stat	 st;
	char		*buf = NULL;
	size_t		 len = 0;
	ssize_t		 n;
	int		 fd;

	why[0] = '\0';
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
	    O_NONBLOCK)) == -1 || fstat(fd, &st) == -1) {
		strlcpy(why, strerror(errno), sizeof(why));
		goto done;
	}
	if (!S_ISREG(st.st_mode))
		strlcpy(why, "not a regular file", sizeof(why));
	else if (st.st_uid != 0 && st.st_uid != getuid())
		snprintf(why, sizeof(why), "owned by uid %u, neither root "
		    "nor ours", (unsigned int)st.st_uid);
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		snprintf(why, sizeof(why), "mode %04o: writable by others",
		    (unsigned int)st.st_mode & 07777);
	else if (st.st_size > CONF_FILE_MAX)
		snprintf(why, sizeof(why), "too large: the limit is %d",
		    CONF_FILE_MAX);
	else if ((buf = malloc(CONF_FILE_MAX)) == NULL)
		strlcpy(why, strerror(errno), sizeof(why));
	if (why[0] != '\0')
		goto done;
	while (len < CONF_FILE_MAX) {
		if ((n = read(fd, buf + len, CONF_FILE_MAX - len)) == -1) {
			if (errno == EINTR)
				continue;
			strlcpy(why, strerror(errno), sizeof(why));
			goto done;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (memchr(buf, '\0', len) != NULL)
		strlcpy(why, "contains a NUL byte", sizeof(why));
done:
	if (fd != -1)
		close(fd);
	if (why[0] != '\0') {
		free(buf);
		return (why);
	}
	*bufp = buf;
	*lenp = len;
	return (NULL);
}

/* The text of the file comes next, before the rest of the including one. */
void
source_open(const struct token *t)
{
	struct source	*s;
	const char	*why;
	char		*buf, *name;
	size_t		 len;
	int		 depth = 0;

	/* Eight deep alone would be any number of files. */
	if (++nsources > CONF_SOURCES_MAX) {
		value_error(t, "include", "too many files: the limit is 256");
		return;
	}
	for (s = src; s != NULL; s = s->up)
		depth++;
	if (depth >= CONF_INCLUDE_MAX) {
		value_error(t, "include", "too deep: the limit is 8");
		return;
	}
	if (*t->string != '/' && src != NULL) {
		value_error(t, "include", "not an absolute path");
		return;
	}
	if ((why = source_read(t->string, &buf, &len)) != NULL) {
		if (src == NULL)
			conf_error(conf_errs, t->string, 0, "%s", why);
		else
			value_error(t, "include", why);
		return;
	}
	if ((name = text_new(t->string, strlen(t->string))) == NULL ||
	    source_push(name, buf, len) == NULL) {
		free(buf);
		value_error(t, "include", strerror(errno));
	}
}

void
source_reset(void)
{
	struct text	*t;

	while (src != NULL)
		source_pop();
	while ((t = SLIST_FIRST(&texts)) != NULL) {
		SLIST_REMOVE_HEAD(&texts, entry);
		free(t);
	}
	nsources = 0;
}
