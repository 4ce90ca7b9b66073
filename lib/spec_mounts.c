/*
 * Mounts of the host's directories, as far as their names say what they are:
 * where they lie inside, and by which path they are known outside.  Whether
 * the host has them is not known here.
 */

#include <sys/types.h>

#include <ctype.h>
#include <string.h>

#include "bounds.h"
#include "spec.h"

/* What the sandbox has of its own, which no mount may hide or lie in. */
static const char *const own[] = {
	"/.sandboxd", "/dev", "/proc", "/sys", "/tmp", "/workspace"
};

/* In the one spelling that a path has: no doubled slash, no dots, no end. */
static int
is_plain(const char *s, size_t max)
{
	size_t	 n;

	if (s[0] != '/' || s[1] == '\0' || strlen(s) > max)
		return (0);
	while (*s == '/') {
		s++;
		n = strcspn(s, "/");
		if (n == 0 || (n == 1 && s[0] == '.') ||
		    (n == 2 && s[0] == '.' && s[1] == '.'))
			return (0);
		s += n;
	}
	return (1);
}

int
spec_path_below(const char *path, const char *dir)
{
	size_t	 len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return (1);
	return (strncmp(path, dir, len) == 0 &&
	    (path[len] == '\0' || path[len] == '/'));
}

int
spec_paths_meet(const char *a, const char *b)
{
	return (spec_path_below(a, b) || spec_path_below(b, a));
}

int
spec_valid_source(const char *s)
{
	return (is_plain(s, SBX_SOURCE_MAX) && spec_valid_text(s) &&
	    spec_valid_utf8(s));
}

/* It goes to the Engine and to the runtime: nothing that one could quote. */
int
spec_valid_target(const char *s)
{
	const char	*p;
	size_t		 i;

	if (!is_plain(s, SBX_TARGET_MAX))
		return (0);
	for (p = s; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) &&
		    strchr("/._-+@", *p) == NULL)
			return (0);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (spec_paths_meet(s, own[i]))
			return (0);
	return (1);
}
