/* Paths: their last part, where a link at their end leads, what lies above. */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "call.h"

#define LINKS_MAX	40		/* as the kernel */

/*
 * Cuts a path into the directory (dir has CALL_PATH_MAX + 1 bytes) and the
 * name in it.  What ends in a slash, or in a dot or two, has no name.
 */
const char *
path_split(const char *path, char *dir)
{
	const char	*name = strrchr(path, '/');

	name = name == NULL ? path : name + 1;
	memcpy(dir, path, name - path);
	dir[name - path] = '\0';
	if (*dir == '\0')
		memcpy(dir, ".", 2);
	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return (NULL);
	return (name);
}

/*
 * What a path means if links at its end are followed, into path itself (of
 * CALL_PATH_MAX + 1 bytes).  0, or an error; that there is nothing is none.
 */
int
path_follow(char *path)
{
	char		 dir[CALL_PATH_MAX + 1], to[CALL_PATH_MAX + 1];
	struct stat	 st;
	size_t		 len;
	ssize_t		 n;
	int		 i;

	for (i = 0; i < LINKS_MAX; i++) {
		if (lstat(path, &st) == -1)
			return (errno == ENOENT ? 0 : errno);
		if (!S_ISLNK(st.st_mode))
			return (0);
		if ((n = readlink(path, to, sizeof(to) - 1)) == -1)
			return (errno);
		to[n] = '\0';
		len = 0;
		if (to[0] != '/') {
			(void)path_split(path, dir);
			len = strlen(dir);
			if (dir[len - 1] != '/')
				dir[len++] = '/';
		}
		if (len + n > CALL_PATH_MAX)
			return (ENAMETOOLONG);
		memcpy(path, dir, len);
		memcpy(path + len, to, n + 1);
	}
	return (ELOOP);
}

/* Makes what is missing of a path's directory.  0, or an error. */
int
path_parents(const char *path, mode_t mode)
{
	char	 dir[CALL_PATH_MAX + 1], *p;

	(void)path_split(path, dir);
	if (mkdir(dir, mode) == 0 || errno == EEXIST)
		return (0);
	if (errno != ENOENT)
		return (errno);
	for (p = dir + strspn(dir, "/"); (p = strchr(p, '/')) != NULL;) {
		*p = '\0';
		if (mkdir(dir, mode) == -1 && errno != EEXIST &&
		    errno != EROFS && errno != EACCES)
			return (errno);
		*p++ = '/';
		p += strspn(p, "/");
	}
	return (mkdir(dir, mode) == 0 || errno == EEXIST ? 0 : errno);
}
