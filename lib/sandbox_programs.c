/*
 * libsandbox: which programs that an agent may know a sandbox has, found by
 * their names in the directories of programs: nothing of the sandbox is run.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox_int.h"

/*
 * In the order in which the Engine has them in PATH, for an image without; and
 * what images of languages put before these.
 */
static const char *const dirs[] = {
	"/opt/venv/bin", "/usr/local/go/bin", "/usr/local/cargo/bin",
	"/opt/java/openjdk/bin", "/usr/local/sbin", "/usr/local/bin",
	"/usr/sbin", "/usr/bin", "/sbin", "/bin"
};
#define NDIRS	(sizeof(dirs) / sizeof(dirs[0]))

static const char *const names[] = {
	"awk", "bash", "bun", "bzip2", "cargo", "cc", "clang", "cmake",
	"crudini", "csvcut", "curl", "deno", "diff", "fd", "ffmpeg", "file",
	"find", "g++", "gcc", "git", "go", "grep", "gzip", "java", "jq",
	"js-exec", "less", "lua", "lynx", "make", "mlr", "ninja", "node", "npm",
	"openssl", "pandoc", "patch", "pdftotext", "perl", "php", "pip3",
	"psql", "python3", "rg", "rsync", "ruby", "rustc", "sed", "sh",
	"sqlite3", "ssh", "strace", "tar", "tidy", "tmux", "tomlq", "tree",
	"unzip", "uv", "vi", "vim", "w3m", "wget", "xmllint", "xq",
	"xsltproc", "xz", "yarn", "yq", "zip", "zstd"
};
#define NNAMES	(sizeof(names) / sizeof(names[0]))

/* What is not told where there is something of the same kind to be used. */
static const struct {
	const char	*name;
	const char	*instead;
} hidden[] = {
	{ "node", "js-exec" },
};
#define NHIDDEN	(sizeof(hidden) / sizeof(hidden[0]))

struct found {
	int	 in[NNAMES];		/* the directory's number, from 1 */
	int	 dir;
};

/* A guest may name what nobody has asked for: that is nothing. */
static int
found_take(void *arg, void *rec)
{
	struct file_rec	*r = rec;
	struct found	*f = arg;
	size_t		 i;

	if (r->code != CODE_OK || !S_ISREG(r->mode) || !(r->mode & 0111))
		return (0);
	for (i = 0; i < NNAMES; i++)
		if (f->in[i] == 0 && strcmp(r->name, names[i]) == 0)
			f->in[i] = f->dir + 1;
	return (0);
}

static int
found_is(const struct found *f, const char *name)
{
	size_t	 i;

	for (i = 0; i < NNAMES; i++)
		if (strcmp(names[i], name) == 0)
			return (f->in[i] != 0);
	return (0);
}

static int
found_hidden(const struct found *f, const char *name)
{
	size_t	 i;

	for (i = 0; i < NHIDDEN; i++)
		if (strcmp(hidden[i].name, name) == 0 &&
		    found_is(f, hidden[i].instead))
			return (1);
	return (0);
}

static void
pattern(char *p, size_t size)
{
	size_t	 i, n = 0;

	for (i = 0; i < NNAMES; i++)
		n += snprintf(p + n, size - n, "%s%s", i == 0 ? "{" : ",",
		    names[i]);
	snprintf(p + n, size - n, "}");
}

/* What is not there, not to be read, or no directory, has none. */
static int
absent(const struct sandbox *sb)
{
	switch (sandbox_error(sb)->code) {
	case CODE_FILE_NOT_FOUND:
	case CODE_NOT_DIRECTORY:
	case CODE_INVALID_PATH:
	case CODE_NOT_FILE:
	case CODE_PERMISSION_DENIED:
		return (1);
	default:
		return (0);
	}
}

int
sandbox_tool_programs(struct sandbox *sb, const char *id,
    int (*take)(void *, const char *, const char *), void *arg)
{
	struct proto_result	 res;
	struct file_rec		 root;
	struct found		 f = { .dir = 0 };
	char			 all[NNAMES * 12], path[64];
	size_t			 i;

	/* What is refused from here on, the sandbox's user is. */
	if (sandbox_file_stat(sb, id, "/", 0, &root) == -1)
		return (-1);
	msg_clear(&root, &file_rec_def);
	pattern(all, sizeof(all));
	for (; f.dir < (int)NDIRS; f.dir++)
		if (sandbox_tool_glob(sb, id, dirs[f.dir], all, 0, NNAMES,
		    found_take, &f, &res) == -1 && !absent(sb))
			return (-1);
	for (i = 0; i < NNAMES; i++) {
		if (f.in[i] == 0 || found_hidden(&f, names[i]))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dirs[f.in[i] - 1],
		    names[i]);
		if (take(arg, names[i], path) == -1)
			return (sandbox_fail(sb, CODE_CANCELLED,
			    "given up by the caller"));
	}
	return (0);
}
