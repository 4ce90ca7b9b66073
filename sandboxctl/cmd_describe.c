/*
 * cmd_describe.c: what an agent has in a sandbox, to be told to its model: the
 * place, its bounds, the tools, and the programs that are there.
 */

#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "sandboxctl.h"
#include "tool_json.h"

#define SHELL	"/bin/sh"		/* of execute */
#define HELPERS	6			/* of a format, at most */

/* All but execute, which is told first where there is a shell for it. */
static const char	 tools[] = "\"ls\",\"read\",\"write\",\"edit\","
    "\"glob\",\"grep\",\"delete\",\"upload\",\"download\"";

/* What reads or changes a kind of file, the best first. */
static const struct format {
	const char	*name;
	const char	*helpers[HELPERS];
} formats[] = {
	{ "json", { "jq", "python3", "node" } },
	{ "yaml", { "yq" } },
	{ "html", { "xmllint", "tidy", "pandoc", "w3m", "lynx" } },
	{ "xml", { "xmllint", "xq", "xsltproc", "python3" } },
	{ "csv", { "mlr", "csvcut", "sqlite3", "python3" } },
	{ "tsv", { "mlr", "csvcut", "sqlite3", "python3" } },
	{ "toml", { "tomlq", "yq" } },
	{ "ini", { "crudini", "python3" } },
	{ "pdf", { "pdftotext" } },
};
#define NFORMATS	(sizeof(formats) / sizeof(formats[0]))

struct described {
	struct held	 held;
	int		 n;			/* programs */
	/* Of each format, which of its helpers there are. */
	unsigned int	 has[NFORMATS];
};

static int
take_program(void *arg, const char *name, const char *path)
{
	struct described	*d = arg;
	size_t			 i, k;

	fprintf(d->held.f, "%s\"%s\":\"%s\"", d->n++ > 0 ? "," : "", name,
	    path);
	for (i = 0; i < NFORMATS; i++)
		for (k = 0; k < HELPERS && formats[i].helpers[k] != NULL; k++)
			if (strcmp(formats[i].helpers[k], name) == 0)
				d->has[i] |= 1U << k;
	return (0);
}

static void
put_formats(const struct described *d)
{
	size_t	 i, k;
	int	 n = 0, first;

	for (i = 0; i < NFORMATS; i++) {
		if (d->has[i] == 0)
			continue;
		fprintf(d->held.f, "%s\"%s\":[", n++ > 0 ? "," : "",
		    formats[i].name);
		for (first = 1, k = 0; k < HELPERS; k++) {
			if (!(d->has[i] & 1U << k))
				continue;
			fprintf(d->held.f, "%s\"%s\"", first ? "" : ",",
			    formats[i].helpers[k]);
			first = 0;
		}
		fputc(']', d->held.f);
	}
}

/* A bound, or null. */
static void
put_bound(FILE *f, const char *name, uint64_t n)
{
	fprintf(f, "\"%s\":", name);
	if (n == 0)
		fputs("null,", f);
	else
		fprintf(f, "%llu,", (unsigned long long)n);
}

/* Where its user's directories are, and whether it may write there. */
static void
put_mounts(FILE *f, const struct proto_sandbox *s)
{
	size_t	 i;

	fputs("\"mounts\":{", f);
	for (i = 0; i < s->mounts.n + s->mounts_rw.n; i++) {
		const char	*dir = i < s->mounts.n ? s->mounts.v[i].k :
				    s->mounts_rw.v[i - s->mounts.n].k;

		if (i > 0)
			fputc(',', f);
		tool_json_text(f, dir, strlen(dir));
		fputs(i < s->mounts.n ? ":\"ro\"" : ":\"rw\"", f);
	}
	fputs("},", f);
}

static void
put_place(FILE *f, const struct proto_sandbox *s)
{
	const char	*dir = s->workdir == NULL ? "" : s->workdir;

	fputs("{\"workdir\":", f);
	tool_json_text(f, dir, strlen(dir));
	fprintf(f, ",\"user\":%u,\"network\":false,\"readonly\":%s,",
	    s->user, s->readonly ? "true" : "false");
	put_bound(f, "memory", s->memory);
	put_bound(f, "mcpus", s->mcpus);
	put_bound(f, "pids", s->pids);
	put_bound(f, "disk", s->disk);
	put_bound(f, "tmpfs", s->tmpfs);
	put_mounts(f, s);
	fprintf(f, "\"output\":%d,\"lines\":%d,", SANDBOX_TOOL_OUTPUT,
	    SANDBOX_TOOL_LINES);
}

/* 1 if execute has what it needs, 0 if not, -1 and the error told. */
static int
has_shell(struct ctl *ctl)
{
	struct file_rec	 r;
	int		 is;

	if (sandbox_file_stat(ctl->conn, ctl->argv[0], SHELL, 0, &r) == -1) {
		switch (sandbox_error(ctl->conn)->code) {
		case CODE_FILE_NOT_FOUND:
		case CODE_NOT_DIRECTORY:
		case CODE_INVALID_PATH:
		case CODE_PERMISSION_DENIED:
			return (0);
		default:
			return (-1);
		}
	}
	is = S_ISREG(r.mode) && r.mode & 0111;
	msg_clear(&r, &file_rec_def);
	return (is);
}

static int
describe(struct ctl *ctl, struct described *d)
{
	struct proto_sandbox	 s;
	int			 ret, shell;

	memset(&s, 0, sizeof(s));
	ret = sandbox_show(ctl->conn, ctl->argv[0], &s);
	if (ret == 0)
		put_place(d->held.f, &s);
	msg_clear(&s, proto_def(PROTO_SANDBOX));
	if (ret == -1 || (shell = has_shell(ctl)) == -1)
		return (-1);
	fprintf(d->held.f, "\"tools\":[%s%s],\"programs\":{",
	    shell ? "\"execute\"," : "", tools);
	if (sandbox_tool_programs(ctl->conn, ctl->argv[0], take_program,
	    d) == -1)
		return (-1);
	fputs("},\"formats\":{", d->held.f);
	put_formats(d);
	fputs("}}\n", d->held.f);
	return (0);
}

int
cmd_tool_describe(struct ctl *ctl)
{
	struct described	 d;
	int			 ret = 0;

	memset(&d, 0, sizeof(d));
	if (held_open(&d.held) == -1)
		return (ctl_errno(ctl, "memory"));
	if (describe(ctl, &d) == -1)
		ret = ctl_error(ctl);
	else if (held_whole(&d.held) == -1) {
		errno = ENOMEM;
		ret = ctl_errno(ctl, "memory");
	} else
		held_print(&d.held, stdout);
	held_close(&d.held);
	return (ret);
}
