/* A folder of a test's own, and a place for what a tool tells. */

#include <sys/stat.h>

#include <atf-c.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "place.h"
#include "scratch.h"
#include "tool.h"

int
place_new(void)
{
	char	 dir[256];
	int	 fd;

	scratch_template(dir, sizeof(dir));
	ATF_REQUIRE(mkdtemp(dir) != NULL);
	ATF_REQUIRE(chdir(dir) == 0);
	ATF_REQUIRE((fd = open(".", O_RDONLY | O_DIRECTORY)) != -1);
	return (fd);
}

void
place_file(const char *path, const void *p, ssize_t len)
{
	int	 fd;

	if (len == -1)
		len = strlen(p);
	ATF_REQUIRE(path_parents(path, 0777) == 0);
	ATF_REQUIRE((fd = open(path, O_WRONLY | O_CREAT | O_TRUNC,
	    0644)) != -1);
	ATF_REQUIRE(write_all(fd, p, len) == 0);
	close(fd);
}

void
place_dir(const char *path)
{
	ATF_REQUIRE(path_parents(path, 0777) == 0);
	ATF_REQUIRE(mkdir(path, 0755) == 0);
}

int
place_is(const char *path, const void *p, ssize_t len)
{
	struct stat	 st;
	char		*buf;
	int		 fd, is;

	if (len == -1)
		len = strlen(p);
	if ((fd = open(path, O_RDONLY)) == -1)
		return (0);
	ATF_REQUIRE(fstat(fd, &st) == 0);
	ATF_REQUIRE((buf = malloc(len + 1)) != NULL);
	is = st.st_size == len && read(fd, buf, len + 1) == len &&
	    memcmp(buf, p, len) == 0;
	free(buf);
	close(fd);
	return (is);
}

int
place_count(const char *path)
{
	struct dirent	*e;
	DIR		*d;
	int		 n = 0;

	ATF_REQUIRE((d = opendir(path)) != NULL);
	while ((e = readdir(d)) != NULL)
		n += strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0;
	closedir(d);
	return (n);
}

void
place_user(uid_t uid)
{
	if (getuid() == 0)
		ATF_REQUIRE(seteuid(uid) == 0);
}

void
text_add(struct text *t, const void *p, size_t len)
{
	if (t->len + len >= t->size) {
		t->size = 2 * (t->len + len) + 1;
		ATF_REQUIRE((t->p = realloc(t->p, t->size)) != NULL);
	}
	if (len > 0)
		memcpy(t->p + t->len, p, len);
	t->len += len;
	t->p[t->len] = '\0';
}

int
text_put(void *arg, const void *p, size_t len)
{
	text_add(arg, p, len);
	return (0);
}

int
text_is(struct text *t, const char *s)
{
	int	 is = t->len == strlen(s) &&
		    (t->len == 0 || memcmp(t->p, s, t->len) == 0);

	if (!is)
		fprintf(stderr, "it is \"%.2000s\", not \"%s\"\n",
		    t->p == NULL ? "" : t->p, s);
	free(t->p);
	*t = (struct text){ 0 };
	return (is);
}
