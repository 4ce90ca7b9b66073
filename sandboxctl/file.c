/*
 * file.c: what the commands about files have in common: the path is in each
 * error, the first error is the exit status, and the rest goes on.
 */

#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "sandboxctl.h"

void
file_call(struct ctl *ctl, struct proto_call *c, uint32_t op,
    const char *path)
{
	memset(c, 0, sizeof(*c));
	c->sandbox = ctl->argv[0];
	c->op = op;
	c->path = (char *)(uintptr_t)path;
	c->length = op == CALL_READ ? CALL_ALL : 0;
}

int
file_local(struct ctl *ctl, enum code code, const char *path,
    const char *why)
{
	char	 text[TEXT_MAX + 1];

	snprintf(text, sizeof(text), "%.700s: %s", path, why);
	return (ctl_error_code(ctl, code, "", text));
}

/* The call about the path failed; -1 if there is no sense in going on. */
int
file_error(struct ctl *ctl, const char *path)
{
	const struct sandbox_error	*e = sandbox_error(ctl->conn);

	if (ctl_lost(ctl) || e->code == CODE_NOT_FOUND ||
	    e->code == CODE_WRONG_STATE || *e->field != '\0') {
		ctl_error(ctl);
		return (-1);
	}
	file_local(ctl, e->code, path, e->text);
	return (0);
}

int
file_errno(struct ctl *ctl, const char *path)
{
	int	 error = errno;

	return (file_local(ctl, errno_code(error), path, strerror(error)));
}

/* 1 if there is a directory, 0 else, -1: the request itself failed. */
int
file_is_dir(struct ctl *ctl, const char *path)
{
	struct file_rec	 rec;
	int		 ret;

	if (sandbox_file_stat(ctl->conn, ctl->argv[0], path, 0, &rec) == -1)
		return (sandbox_error(ctl->conn)->code ==
		    CODE_FILE_NOT_FOUND ? 0 : -1);
	ret = S_ISDIR(rec.mode);
	msg_clear(&rec, &file_rec_def);
	return (ret);
}

/* Is there a symbolic link?  What cannot be looked at is told by its use. */
int
file_is_link(struct ctl *ctl, const char *id, const char *path)
{
	struct file_rec	 rec;
	int		 ret;

	if (sandbox_file_stat(ctl->conn, id, path, CALL_F_NOFOLLOW,
	    &rec) == -1)
		return (0);
	ret = S_ISLNK(rec.mode);
	msg_clear(&rec, &file_rec_def);
	return (ret);
}

/* The name that what is called so has in a directory: 0, or -1 and told. */
int
file_in(struct ctl *ctl, char *path, size_t size, const char *dir,
    const char *from)
{
	char	 name[NAME_MAX + 1];

	if (file_base(from, name, sizeof(name)) == NULL)
		file_local(ctl, CODE_INVALID_PATH, from, "it ends in no name: "
		    "say what it is to be called there");
	else if ((size_t)snprintf(path, size, "%s/%s", dir, name) >= size)
		file_local(ctl, CODE_INVALID_PATH, from,
		    "its name there is too long");
	else
		return (0);
	return (-1);
}

/* The last name of a path, into buf; NULL if it has none. */
const char *
file_base(const char *path, char *buf, size_t size)
{
	size_t	 end = strlen(path), begin;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && path[begin - 1] != '/';)
		begin--;
	if (end == begin || end - begin >= size)
		return (NULL);
	memcpy(buf, path + begin, end - begin);
	buf[end - begin] = '\0';
	if (strcmp(buf, ".") == 0 || strcmp(buf, "..") == 0)
		return (NULL);
	return (buf);
}
