/*
 * cmd_file.c: files of a sandbox, where they are: cat, chmod, cp, du, ls,
 * mkdir, mv, rm, stat.
 */

#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sandboxctl.h"

/* A call for each path from the first argument on, without output. */
static int
each(struct ctl *ctl, int first, uint32_t op, uint32_t flags, uint32_t mode)
{
	struct proto_call	 c;
	int			 i;

	for (i = first; i < ctl->argc; i++) {
		file_call(ctl, &c, op, ctl->argv[i]);
		c.flags = flags;
		c.mode = mode;
		if (sandbox_file_call(ctl->conn, &c, NULL, NULL) == -1 &&
		    file_error(ctl, ctl->argv[i]) == -1)
			break;
	}
	return (ctl->failed);
}

/* From one path to another; -1 and the error of the connection. */
static int
to_call(struct ctl *ctl, const struct proto_call *c)
{
	return (sandbox_file_call(ctl->conn, c, NULL, NULL));
}

/* What -j tells of a tree. */
struct copied {
	char		*path;
	uint64_t	 entries;
	uint64_t	 left_out;
};

/* An entry that was left out, or changed meanwhile. */
struct left {
	struct ctl	*ctl;
	const char	*path;
};

static int
left_one(void *arg, void *rec)
{
	struct left	*l = arg;
	struct file_rec	*r = rec;
	char		 name[2 * CALL_PATH_MAX + 2];

	snprintf(name, sizeof(name), "%s%s%s", l->path, *r->name == '\0' ?
	    "" : "/", r->name);
	file_local(l->ctl, r->code == CODE_OK || r->code >= CODE_MAX ?
	    CODE_PROTOCOL : r->code, name, r->target);
	return (0);
}

/* The same with all that is below it. */
static int
to_tree(struct ctl *ctl, const struct proto_call *c)
{
	static const struct msg_field	 fields[] = {
		MSG_F(copied, path, M_TEXT, 0, 0),
		MSG_F(copied, entries, M_UINT, 0, 0),
		MSG_F(copied, left_out, M_UINT, 0, 0),
	};
	static const struct msg_def	 def = MSG_DEF(0, "copied", copied,
					    fields);
	struct left			 l = { ctl, c->path };
	struct proto_result		 res;
	struct copied			 done;

	if (sandbox_file_records(ctl->conn, c, &file_rec_def, left_one, &l,
	    &res) == -1)
		return (-1);
	done.path = c->path2;
	done.entries = res.count;
	done.left_out = res.count2;
	if (ctl->json)
		json_message(stdout, &def, &done);
	return (0);
}

/* A call for each path but the last, to that, or to a name in it. */
static int
each_to(struct ctl *ctl, uint32_t op,
    int (*fn)(struct ctl *, const struct proto_call *))
{
	struct proto_call	 c;
	const char		*to = ctl->argv[ctl->argc - 1];
	char			 path[CALL_PATH_MAX + 1];
	char			 both[2 * CALL_PATH_MAX + 8];
	int			 dir, i;

	if ((dir = file_is_dir(ctl, to)) == -1) {
		(void)file_error(ctl, to);
		return (ctl->failed);
	}
	if (!dir && ctl->argc > 3)
		return (file_local(ctl, CODE_NOT_DIRECTORY, to,
		    "several cannot go to what is no directory"));
	for (i = 1; i < ctl->argc - 1; i++) {
		file_call(ctl, &c, op, ctl->argv[i]);
		c.path2 = (char *)(uintptr_t)to;
		if (dir) {
			if (file_in(ctl, path, sizeof(path), to,
			    ctl->argv[i]) == -1)
				continue;
			c.path2 = path;
		}
		/* Either may be what is wrong. */
		snprintf(both, sizeof(both), "%s to %s", c.path, c.path2);
		if (fn(ctl, &c) == -1 && file_error(ctl, both) == -1)
			break;
	}
	return (ctl->failed);
}

static int
write_out(void *arg, const void *data, size_t len)
{
	(void)arg;
	return (fwrite(data, 1, len, stdout) == len ? 0 : -1);
}

int
cmd_cat(struct ctl *ctl)
{
	struct sandbox_file_io	 io = { NULL, write_out, NULL };
	struct proto_call	 c;
	int			 i;

	for (i = 1; i < ctl->argc; i++) {
		file_call(ctl, &c, CALL_READ, ctl->argv[i]);
		if (sandbox_file_call(ctl->conn, &c, &io, NULL) == 0)
			continue;
		if (ferror(stdout))
			return (file_errno(ctl, "standard output"));
		if (file_error(ctl, ctl->argv[i]) == -1)
			break;
	}
	return (ctl->failed);
}

int
cmd_chmod(struct ctl *ctl)
{
	char	*end;
	long	 mode;

	errno = 0;
	mode = strtol(ctl->argv[1], &end, 8);
	if (errno != 0 || *end != '\0' || end == ctl->argv[1] || mode < 0 ||
	    mode > 07777)
		return (file_local(ctl, CODE_INVALID_ARGUMENT, ctl->argv[1],
		    "must be an octal number from 0 to 7777"));
	return (each(ctl, 2, CALL_CHMOD, ctl->recurse ? CALL_F_RECURSE : 0,
	    mode));
}

int
cmd_cp(struct ctl *ctl)
{
	return (ctl->recurse ? each_to(ctl, CALL_TREE_COPY, to_tree) :
	    each_to(ctl, CALL_COPY, to_call));
}

/* What du tells of one path. */
struct used {
	char		*path;
	uint64_t	 bytes;
	uint64_t	 entries;
	uint32_t	 incomplete;
};

static void
du_print(struct ctl *ctl, char *path, const struct proto_result *res)
{
	static const struct msg_field	 fields[] = {
		MSG_F(used, path, M_TEXT, 0, 0),
		MSG_F(used, bytes, M_UINT, 0, 0),
		MSG_F(used, entries, M_UINT, 0, 0),
		MSG_F(used, incomplete, M_UINT, 1, 0),
	};
	static const struct msg_def	 def = MSG_DEF(0, "used", used,
					    fields);
	struct used			 u = { path, res->count, res->count2,
	    (res->flags & CALL_R_MORE) != 0 };

	if (ctl->json)
		json_message(stdout, &def, &u);
	else {
		printf("%" PRIu64 "\t", (u.bytes + 1023) / 1024);
		out_text(stdout, path);
		printf("\n");
	}
}

int
cmd_du(struct ctl *ctl)
{
	static char		 here[] = ".";
	struct proto_result	 res;
	struct proto_call	 c;
	char			*path;
	int			 i;

	for (i = 1; i < ctl->argc || i == 1; i++) {
		path = ctl->argc == 1 ? here : ctl->argv[i];
		file_call(ctl, &c, CALL_USAGE, path);
		if (sandbox_file_call(ctl->conn, &c, NULL, &res) == -1) {
			if (file_error(ctl, path) == -1)
				break;
			continue;
		}
		du_print(ctl, path, &res);
		if (res.flags & CALL_R_MORE)
			file_local(ctl, CODE_PERMISSION_DENIED, path,
			    "a part of it cannot be read");
	}
	return (ctl->failed);
}

static char
type_letter(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return ('d');
	case S_IFLNK:
		return ('l');
	case S_IFIFO:
		return ('p');
	case S_IFSOCK:
		return ('s');
	case S_IFCHR:
		return ('c');
	case S_IFBLK:
		return ('b');
	default:
		return ('-');
	}
}

static void
mode_text(uint32_t mode, char *buf)
{
	static const char	 rwx[] = "rwxrwxrwx";
	int			 i;

	buf[0] = type_letter(mode);
	for (i = 0; i < 9; i++)
		buf[i + 1] = mode & 0400 >> i ? rwx[i] : '-';
	if (mode & S_ISUID)
		buf[3] = mode & 0100 ? 's' : 'S';
	if (mode & S_ISGID)
		buf[6] = mode & 010 ? 's' : 'S';
	if (mode & S_ISVTX)
		buf[9] = mode & 01 ? 't' : 'T';
	buf[10] = '\0';
}

static void
print_long(const struct file_rec *r)
{
	char		 mode[12], when[32] = "?";
	time_t		 t = r->mtime / 1000000000;
	struct tm	 tm;

	mode_text(r->mode, mode);
	if (gmtime_r(&t, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	printf("%s %3" PRIu64 " %u %u %10" PRIu64 " %s ", mode, r->nlink,
	    r->uid, r->gid, r->size, when);
}

static void
print_name(const struct file_rec *r, int longer)
{
	if (longer)
		print_long(r);
	out_text(stdout, r->name);
	if (longer && S_ISLNK(r->mode)) {
		printf(" -> ");
		out_text(stdout, r->target);
	}
	printf("\n");
}

/* What a list has, to be sorted: so many or so long, and then it is not. */
#define LS_SORT		100000
#define LS_TEXT		(64 * 1024 * 1024)

struct ls {
	struct ctl	*ctl;
	struct file_rec	*v;
	size_t		 n;
	size_t		 size;
	size_t		 text;		/* bytes of names and targets */
};

static void
ls_print(struct ls *l, const struct file_rec *r)
{
	if (l->ctl->json)
		json_message(stdout, &file_rec_def, r);
	else
		print_name(r, l->ctl->longer);
	if (r->code != CODE_OK)
		file_local(l->ctl, r->code, r->name, "it cannot be read");
}

static int
ls_cmp(const void *a, const void *b)
{
	return (strcmp(((const struct file_rec *)a)->name,
	    ((const struct file_rec *)b)->name));
}

static void
ls_flush(struct ls *l)
{
	size_t	 i;

	/* Of nothing there is no place, either. */
	if (l->n > 1)
		qsort(l->v, l->n, sizeof(*l->v), ls_cmp);
	for (i = 0; i < l->n; i++) {
		ls_print(l, &l->v[i]);
		msg_clear(&l->v[i], &file_rec_def);
	}
	l->n = l->text = 0;
}

static int
ls_take(void *arg, void *rec)
{
	struct ls	*l = arg;
	struct file_rec	*v;

	if (l->n == l->size) {
		if ((v = reallocarray(l->v, l->size + 1024,
		    sizeof(*v))) == NULL)
			return (-1);
		l->v = v;
		l->size += 1024;
	}
	v = &l->v[l->n++];
	*v = *(struct file_rec *)rec;
	memset(rec, 0, sizeof(struct file_rec));
	l->text += strlen(v->name) + strlen(v->target);
	if (l->n == LS_SORT || l->text >= LS_TEXT)
		ls_flush(l);
	return (0);
}

/* A directory's entries, or a file itself. */
static int
ls_path(struct ls *l, const char *path)
{
	struct ctl		*ctl = l->ctl;
	struct proto_call	 c;
	struct file_rec		 rec;
	int			 ret;

	file_call(ctl, &c, CALL_LIST, path);
	c.flags = ctl->recurse ? CALL_F_RECURSE : 0;
	ret = sandbox_file_records(ctl->conn, &c, &file_rec_def, ls_take, l,
	    NULL);
	ls_flush(l);
	if (ret == 0)
		return (0);
	if (sandbox_error(ctl->conn)->code != CODE_NOT_DIRECTORY ||
	    sandbox_file_stat(ctl->conn, ctl->argv[0], path, CALL_F_NOFOLLOW,
	    &rec) == -1)
		return (file_error(ctl, path));
	ls_print(l, &rec);
	msg_clear(&rec, &file_rec_def);
	return (0);
}

int
cmd_ls(struct ctl *ctl)
{
	struct ls	 l;
	int		 i;

	memset(&l, 0, sizeof(l));
	l.ctl = ctl;
	if (ctl->argc == 1)
		(void)ls_path(&l, ".");
	for (i = 1; i < ctl->argc; i++) {
		if (ctl->argc > 2 && !ctl->json) {
			printf("%s", i > 1 ? "\n" : "");
			out_text(stdout, ctl->argv[i]);
			printf(":\n");
		}
		if (ls_path(&l, ctl->argv[i]) == -1)
			break;
	}
	free(l.v);
	return (ctl->failed);
}

int
cmd_mkdir(struct ctl *ctl)
{
	return (each(ctl, 1, CALL_MKDIR, ctl->parents ? CALL_F_PARENTS : 0,
	    0));
}

int
cmd_mv(struct ctl *ctl)
{
	return (each_to(ctl, CALL_MOVE, to_call));
}

int
cmd_rm(struct ctl *ctl)
{
	return (each(ctl, 1, CALL_REMOVE, (ctl->recurse ? CALL_F_RECURSE :
	    0) | (ctl->force ? CALL_F_FORCE : 0), 0));
}

int
cmd_stat(struct ctl *ctl)
{
	struct file_rec	 rec;
	int		 i;

	for (i = 1; i < ctl->argc; i++) {
		if (sandbox_file_stat(ctl->conn, ctl->argv[0], ctl->argv[i],
		    CALL_F_NOFOLLOW, &rec) == -1) {
			if (file_error(ctl, ctl->argv[i]) == -1)
				break;
			continue;
		}
		if (ctl->json)
			json_message(stdout, &file_rec_def, &rec);
		else
			print_name(&rec, 1);
		msg_clear(&rec, &file_rec_def);
	}
	return (ctl->failed);
}
