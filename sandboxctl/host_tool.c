/*
 * host_tool.c: -H of create and run: what a tool of the host's needs in a
 * sandbox, by a table.  Its settings come as a copy, since what is written
 * there would be read, and run, by the host's own at its next start; caches and
 * sockets are mounted, by the same rules as -v.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "sandboxctl.h"
#include "spec.h"

enum how {
	HOW_COPY,
	HOW_READ,
	HOW_WRITE
};

/* "~" and "$NAME" begin a path of the host; NULL: the same place inside. */
static const struct row {
	const char	*tool;
	enum how	 how;
	int		 must;		/* without it nothing is made */
	const char	*local;
	const char	*remote;
	const char	*name;		/* of a variable, or NULL */
	const char	*before;	/* of the place in its value */
} rows[] = {
	{ "claude", HOW_COPY, 1, "~/.claude", "/workspace/.claude",
	    NULL, NULL },
	{ "claude", HOW_COPY, 1, "~/.claude.json", "/workspace/.claude.json",
	    NULL, NULL },
	{ "claude", HOW_READ, 0, "$XDG_RUNTIME_DIR/pulse/native",
	    "/pulse-audio", "PULSE_SERVER", "unix:" },
	{ "codex", HOW_COPY, 1, "~/.codex", "/workspace/.codex", NULL, NULL },
	{ "codex", HOW_COPY, 0, "~/.agents", "/workspace/.agents",
	    NULL, NULL },
	{ "git", HOW_COPY, 0, "~/.gitconfig", "/workspace/.gitconfig",
	    NULL, NULL },
	{ "git", HOW_COPY, 0, "~/.config/gh", "/workspace/.config/gh",
	    NULL, NULL },
	{ "git", HOW_COPY, 0, "~/.ssh/known_hosts",
	    "/workspace/.ssh/known_hosts", NULL, NULL },
	{ "git", HOW_READ, 0, "$SSH_AUTH_SOCK", "/ssh-agent",
	    "SSH_AUTH_SOCK", "" },
	{ "npm", HOW_WRITE, 0, "~/.npm", "/npm-cache", "npm_config_cache", "" },
	{ "opencode", HOW_COPY, 0, "~/.config/opencode",
	    "/workspace/.config/opencode", NULL, NULL },
	{ "opencode", HOW_COPY, 0, "~/.local/share/opencode",
	    "/workspace/.local/share/opencode", NULL, NULL },
	{ "uv", HOW_WRITE, 0, "~/.cache/uv", "/uv-cache", "UV_CACHE_DIR", "" },
	{ "uv", HOW_READ, 0, "~/.local/share/uv/python", NULL,
	    "UV_PYTHON_INSTALL_DIR", "" },
};
#define NROWS	(sizeof(rows) / sizeof(rows[0]))

int
take_tool(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	size_t	 i;

	(void)o;
	for (i = 0; i < ctl->tools.n; i++)
		if (strcmp(ctl->tools.v[i], arg) == 0)
			return (0);
	for (i = 0; i < NROWS; i++)
		if (strcmp(rows[i].tool, arg) == 0)
			return (strv_add(&ctl->tools, arg));
	return (-1);
}

/* The path on this host: 0, or -1 if its beginning is not known here. */
static int
row_path(const struct row *r, char *dst, size_t size)
{
	const char	*rest = r->local + 1, *value;
	char		 name[32];
	size_t		 n;

	if (*r->local == '~')
		value = getenv("HOME");
	else {
		n = strcspn(rest, "/");
		snprintf(name, sizeof(name), "%.*s", (int)n, rest);
		value = getenv(name);
		rest += n;
	}
	if (value == NULL || *value != '/')
		return (-1);
	return ((size_t)snprintf(dst, size, "%s%s", value, rest) < size ? 0 :
	    -1);
}

static int
row_copy(struct ctl *ctl, const struct row *r, const char *path)
{
	char	*seed;
	int	 ret;

	if (asprintf(&seed, "%s:%s", path, r->remote) == -1)
		return (-1);
	ret = strv_add(&ctl->seeds, seed);
	free(seed);
	return (ret);
}

/* Where it leads to, since the user's own links are as he has made them. */
static int
row_mount(struct ctl *ctl, const struct row *r, const char *path)
{
	char		 real[PATH_MAX], value[PATH_MAX + 16];
	const char	*place;

	if (realpath(path, real) == NULL)
		return (-1);
	place = r->remote == NULL ? real : r->remote;
	/* What -v has there stays, and what can be nowhere is left out. */
	if (!spec_valid_target(place))
		return (0);
	if (kvv_get(&ctl->mounts, place) == NULL &&
	    kvv_get(&ctl->mounts_rw, place) == NULL && kvv_set(r->how == HOW_WRITE ? &ctl->mounts_rw : &ctl->mounts,
	    place, real) == -1)
		return (-1);
	/* What was said by -e stays. */
	if (r->name == NULL || kvv_get(&ctl->env, r->name) != NULL)
		return (0);
	snprintf(value, sizeof(value), "%s%s", r->before, place);
	return (kvv_set(&ctl->env, r->name, value));
}

static int
row_apply(struct ctl *ctl, const struct row *r)
{
	char	 path[PATH_MAX];

	if (row_path(r, path, sizeof(path)) == -1 ||
	    access(path, F_OK) == -1) {
		if (!r->must)
			return (0);
		return (file_local(ctl, CODE_NOT_FOUND, r->local,
		    "is not there, and the tool needs it"));
	}
	if ((r->how == HOW_COPY ? row_copy(ctl, r, path) :
	    row_mount(ctl, r, path)) == -1)
		return (file_errno(ctl, path));
	return (0);
}

int
host_tools(struct ctl *ctl)
{
	size_t	 i, j;

	for (i = 0; i < ctl->tools.n; i++)
		for (j = 0; j < NROWS; j++)
			if (strcmp(rows[j].tool, ctl->tools.v[i]) == 0 &&
			    row_apply(ctl, &rows[j]) != 0)
				return (-1);
	return (0);
}
