/*
 * mount_arg.c: -v local:remote[:rw].  The daemon takes a path in one spelling
 * alone, without links, so that what was judged is what is mounted; people
 * name it from where they are, or from their home.
 */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "sandboxctl.h"

/* Appends the parts of a path, without dots and doubled slashes. */
static int
path_add(char *dst, size_t size, const char *src)
{
	size_t	 n, len;
	char	*slash;

	for (; *src != '\0'; src += n) {
		src += strspn(src, "/");
		n = strcspn(src, "/");
		if (n == 0 || (n == 1 && src[0] == '.'))
			continue;
		if (n == 2 && src[0] == '.' && src[1] == '.') {
			if ((slash = strrchr(dst, '/')) != NULL)
				*slash = '\0';
			continue;
		}
		len = strlen(dst);
		if (len + 1 + n >= size)
			return (-1);
		snprintf(dst + len, size - len, "/%.*s", (int)n, src);
	}
	return (0);
}

/* ~ and ~/path are of the home directory; others' homes are not known here. */
static int
path_plain(char *dst, size_t size, const char *src)
{
	const char	*home;
	char		 cwd[PATH_MAX];

	*dst = '\0';
	if (*src == '~') {
		if ((home = getenv("HOME")) == NULL || *home != '/' ||
		    (src[1] != '\0' && src[1] != '/') ||
		    path_add(dst, size, home) == -1)
			return (-1);
		src++;
	} else if (*src != '/' && (getcwd(cwd, sizeof(cwd)) == NULL ||
	    path_add(dst, size, cwd) == -1))
		return (-1);
	if (path_add(dst, size, src) == -1)
		return (-1);
	if (*dst == '\0')
		strlcpy(dst, "/", size);
	return (0);
}

/* Takes the text apart: the remote path has no colon. */
static int
mount_split(char *text, char **remote, int *rw)
{
	char	*colon;

	*rw = 0;
	if ((colon = strrchr(text, ':')) == NULL)
		return (-1);
	if (strcmp(colon, ":rw") == 0 || strcmp(colon, ":ro") == 0) {
		*rw = colon[2] == 'w';
		*colon = '\0';
		if ((colon = strrchr(text, ':')) == NULL)
			return (-1);
	}
	*colon = '\0';
	*remote = colon + 1;
	return (*text == '\0' || **remote != '/' ? -1 : 0);
}

int
take_mount(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	char	 local[PATH_MAX], remote[PATH_MAX] = "", *text, *place;
	int	 ret = -1, rw;

	(void)o;
	if ((text = strdup(arg)) == NULL)
		return (-1);
	if (mount_split(text, &place, &rw) == 0 &&
	    path_plain(local, sizeof(local), text) == 0 &&
	    path_add(remote, sizeof(remote), place) == 0 && *remote != '\0') {
		if (kvv_get(&ctl->mounts, remote) != NULL ||
		    kvv_get(&ctl->mounts_rw, remote) != NULL)
			ret = PARSE_TWICE;
		else
			ret = kvv_set(rw ? &ctl->mounts_rw : &ctl->mounts,
			    remote, local);
	}
	free(text);
	return (ret);
}
