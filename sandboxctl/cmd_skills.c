/*
 * cmd_skills.c: the skills of an agent: directories of ours into a sandbox,
 * and what a sandbox has of them.  One that is none is told and passed over.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandboxctl.h"
#include "skill.h"

/* That something is left out is no failure. */
static void
skill_skip(const char *path, const char *why)
{
	fflush(stdout);
	fprintf(stderr, "sandboxctl: ");
	out_text(stderr, path);
	fprintf(stderr, ": no skill: %s\n", why);
}

/* Into the list, or an error; -1 to give up. */
static int
skill_found(struct ctl *ctl, struct skills *l, struct skill *s)
{
	if (s->path == NULL) {
		skill_clear(s);
		errno = ENOMEM;
	} else if (skills_add(l, s) == 0)
		return (0);
	if (errno == E2BIG)
		ctl_error_code(ctl, CODE_LIMIT_EXCEEDED, "",
		    "there are too many skills");
	else
		ctl_errno(ctl, "memory");
	return (-1);
}

/* dir/name, in memory of the caller's; NULL without it. */
static char *
join(const char *dir, const char *name)
{
	char	*p;

	return (asprintf(&p, "%s/%s", dir, name) == -1 ? NULL : p);
}

/*
 * Our own directories.
 */

/* What begins with ~ is at home, where no shell has said so before us. */
static int
skill_home(char *local, size_t size)
{
	const char	*home = getenv("HOME");
	char		 rest[PATH_MAX];

	if (local[0] != '~' || (local[1] != '/' && local[1] != '\0') ||
	    home == NULL || *home == '\0')
		return (0);
	strlcpy(rest, local + 1, sizeof(rest));
	if ((size_t)snprintf(local, size, "%s%s", home, rest) >= size) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	return (0);
}

/* The head of a regular file; -1 with errno. */
static ssize_t
head_local(int dir, const char *name, char *buf, size_t size)
{
	struct stat	 st;
	ssize_t		 n = -1;
	int		 fd, error;

	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_NOCTTY | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	if (fstat(fd, &st) == -1)
		;
	else if (S_ISREG(st.st_mode))
		n = read(fd, buf, size);
	else
		errno = ENOENT;
	error = errno;
	close(fd);
	errno = error;
	return (n);
}

/* A directory in one of ours, which travels to remote; -1 to give up. */
static int
skill_local(struct ctl *ctl, struct skills *l, int top, const char *local,
    const char *remote, const char *name)
{
	static char	 head[SKILL_HEAD];
	struct skill	 s;
	const char	*why;
	char		 path[PATH_MAX + NAME_MAX + 2];
	ssize_t		 n;
	int		 dir;

	dir = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (dir == -1 && (errno == ENOTDIR || errno == ELOOP))
		return (0);
	snprintf(path, sizeof(path), "%s/%s", local, name);
	n = dir == -1 ? -1 : head_local(dir, SKILL_FILE, head, sizeof(head));
	why = n == -1 ? strerror(errno) : NULL;
	/* Not every directory is to be a skill; a link does not travel. */
	if (n == -1 && dir != -1 && (errno == ENOENT || errno == ELOOP))
		why = "it has no " SKILL_FILE;
	if (dir != -1)
		close(dir);
	if (why == NULL)
		why = skill_front(&s, head, n);
	if (why != NULL) {
		skill_skip(path, why);
		return (0);
	}
	s.path = join(remote, name);
	if ((s.local = strdup(path)) == NULL) {
		free(s.path);
		s.path = NULL;
	}
	return (skill_found(ctl, l, &s));
}

/* What is there now is what travels, unless somebody is at work on it. */
static int
skills_local(struct ctl *ctl, struct skills *l, const char *local,
    const char *remote)
{
	struct dirent	**v;
	int		 n, i, ret = 0, top;

	if ((top = open(local, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1 ||
	    (n = scandirat(top, ".", &v, NULL, alphasort)) == -1) {
		(void)file_errno(ctl, local);
		if (top != -1)
			close(top);
		return (-1);
	}
	for (i = 0; i < n; i++) {
		if (ret == 0 && v[i]->d_name[0] != '.')
			ret = skill_local(ctl, l, top, local, remote,
			    v[i]->d_name);
		free(v[i]);
	}
	free(v);
	close(top);
	return (ret);
}

/* One local:remote; -1 to give up. */
static int
skills_push(struct ctl *ctl, struct skills *l, const char *arg)
{
	char		 local[PATH_MAX];
	const char	*remote;
	struct stat	 st;

	if (seed_split(arg, local, sizeof(local), &remote) == -1) {
		file_local(ctl, CODE_INVALID_ARGUMENT, arg,
		    "must be local:remote");
		return (-1);
	}
	if (skill_home(local, sizeof(local)) == -1 ||
	    stat(local, &st) == -1) {
		if (errno != ENOENT) {
			(void)file_errno(ctl, local);
			return (-1);
		}
		/* Who has none yet has none. */
		skill_skip(local, strerror(ENOENT));
		return (0);
	}
	if (skills_local(ctl, l, local, remote) == -1)
		return (-1);
	return (tree_put(ctl, ctl->argv[0], local, remote, TREE_QUIET |
	    TREE_FILES) == 0 ? 0 : -1);
}

int
cmd_skills_push(struct ctl *ctl)
{
	struct skills	 l = { NULL, 0 };
	int		 i;

	ctl->parents = 1;
	if (strv_add(&ctl->exclude, ".*") == -1)
		return (ctl_errno(ctl, "memory"));
	for (i = 1; i < ctl->argc; i++)
		if (skills_push(ctl, &l, ctl->argv[i]) == -1)
			break;
	/* Of what is not there as a whole nobody is told a list. */
	if (i == ctl->argc) {
		skills_sort(&l);
		skills_print(&l, ctl->json);
	}
	skills_clear(&l);
	return (ctl->failed);
}

/*
 * Those of a sandbox.
 */

/* Names of directories, not too many of them. */
static int
dirs_take(void *arg, void *rec)
{
	struct file_rec	*r = rec;
	struct strv	*v = arg;

	if (!S_ISDIR(r->mode) || *r->name == '.')
		return (0);
	/* One beyond is enough to tell. */
	if (v->n > SKILLS_MAX)
		return (0);
	return (strv_add(v, r->name));
}

struct head {
	char	 buf[SKILL_HEAD];
	size_t	 len;
};

static int
head_take(void *arg, const void *data, size_t len)
{
	struct head	*h = arg;

	if (len > sizeof(h->buf) - h->len)
		len = sizeof(h->buf) - h->len;
	memcpy(h->buf + h->len, data, len);
	h->len += len;
	return (0);
}

/* The head of a file of the sandbox; 1 if there is none, -1 on an error. */
static int
head_get(struct ctl *ctl, struct head *h, const char *path)
{
	struct sandbox_file_io	 io = { NULL, head_take, NULL };
	struct proto_call	 c;

	h->len = 0;
	io.arg = h;
	file_call(ctl, &c, CALL_READ, path);
	c.length = sizeof(h->buf);
	if (sandbox_file_call(ctl->conn, &c, &io, NULL) == 0)
		return (0);
	switch (sandbox_error(ctl->conn)->code) {
	case CODE_FILE_NOT_FOUND:
	case CODE_NOT_FILE:
	case CODE_IS_DIRECTORY:
	case CODE_PERMISSION_DENIED:
		return (1);
	default:
		return (-1);
	}
}

/* One directory of the sandbox; -1 to give up. */
static int
skill_remote(struct ctl *ctl, struct skills *l, const char *top,
    const char *name)
{
	static struct head	 h;
	struct skill		 s;
	const char		*why;
	char			*dir, *path;
	int			 ret = -1;

	dir = join(top, name);
	path = dir == NULL ? NULL : join(dir, SKILL_FILE);
	if (path == NULL) {
		ctl_errno(ctl, "memory");
		free(dir);
		return (-1);
	}
	if ((ret = head_get(ctl, &h, path)) == -1)
		ret = file_error(ctl, path);
	else if (ret == 1) {
		skill_skip(dir, sandbox_error(ctl->conn)->code ==
		    CODE_FILE_NOT_FOUND ? "it has no " SKILL_FILE :
		    sandbox_error(ctl->conn)->text);
		ret = 0;
	} else if ((why = skill_front(&s, h.buf, h.len)) != NULL)
		skill_skip(dir, why);
	else if (strcmp(s.name, name) != 0) {
		file_local(ctl, CODE_CONFLICT, dir,
		    "the name in its " SKILL_FILE " is another one");
		skill_clear(&s);
	} else {
		s.path = dir;
		dir = NULL;
		ret = skill_found(ctl, l, &s);
	}
	free(path);
	free(dir);
	return (ret);
}

static void
skills_remote(struct ctl *ctl, const char *top)
{
	struct skills		 l = { NULL, 0 };
	struct strv		 names = { NULL, 0 };
	struct proto_call	 c;
	size_t			 i;

	file_call(ctl, &c, CALL_LIST, top);
	if (sandbox_file_records(ctl->conn, &c, &file_rec_def, dirs_take,
	    &names, NULL) == -1) {
		/* No directory is none in it. */
		if (sandbox_error(ctl->conn)->code != CODE_FILE_NOT_FOUND)
			(void)file_error(ctl, top);
	} else if (names.n > SKILLS_MAX)
		file_local(ctl, CODE_LIMIT_EXCEEDED, top,
		    "it has too many directories");
	else {
		for (i = 0; i < names.n; i++)
			if (skill_remote(ctl, &l, top, names.v[i]) == -1)
				break;
		skills_sort(&l);
		skills_print(&l, ctl->json);
	}
	skills_clear(&l);
	strv_clear(&names);
}

int
cmd_skills_list(struct ctl *ctl)
{
	struct proto_sandbox	 sb;
	char			*top;

	if (ctl->argc > 1) {
		skills_remote(ctl, ctl->argv[1]);
		return (ctl->failed);
	}
	if (sandbox_show(ctl->conn, ctl->argv[0], &sb) == -1)
		return (ctl_error(ctl));
	top = join(sb.workdir == NULL ? "" : sb.workdir, "skills");
	msg_clear(&sb, proto_def(PROTO_SANDBOX));
	if (top == NULL)
		return (ctl_errno(ctl, "memory"));
	skills_remote(ctl, top);
	free(top);
	return (ctl->failed);
}
