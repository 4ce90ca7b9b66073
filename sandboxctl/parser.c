/*
 * parser.c: the table of commands and what the command line makes of it.
 *
 * The table is the one place where commands and options are named: the
 * parser, the usage and the test that compares them with the manual read it.
 */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "sandboxctl.h"

#define OPTION_MAX	32	/* options of one command */

static const struct option_def	 opts_none[] = { OPT_END };
static const struct option_def	 opts_create[] = {
	OPT_FLAG('A', secrets), OPT_SEED_BYTES, OPT_REASON, OPT_SEED,
	OPT_CPUS,
	OPT_DETACH, OPT_ENVIRON, OPT_ENV, OPT_FLAG('F', keep_failed),
	OPT_HOST_TOOL, OPT_IMAGE, OPT_ID,
	OPT_KEEP, OPT_LABEL, OPT_TMPFS, OPT_MEMORY, OPT_SEED_FILES,
	OPT_PREPARE,
	OPT_PIDS, OPT_IDLE, OPT_FLAG('R', resume),
	OPT_FLAG('r', readonly), OPT_DISK, OPT_LIFETIME, OPT_USER, OPT_MOUNT,
	OPT_COMPANION, OPT_DIR, OPT_EXCLUDE, OPT_END
};
static const struct option_def	 opts_run[] = {
	OPT_FLAG('A', secrets), OPT_SEED_BYTES, OPT_REASON, OPT_SEED,
	OPT_CPUS,
	OPT_FLAG('D', changes), OPT_ENVIRON, OPT_ENV, OPT_SCOPE,
	OPT_HOST_TOOL, OPT_IMAGE, OPT_ID,
	OPT_KEEP, OPT_LABEL, OPT_TMPFS, OPT_MEMORY, OPT_SEED_FILES,
	OPT_PREPARE,
	OPT_PIDS, OPT_IDLE, OPT_FLAG('R', resume),
	OPT_FLAG('r', readonly), OPT_DISK, OPT_LIFETIME, OPT_TIMEOUT,
	OPT_USER, OPT_MOUNT, OPT_COMPANION, OPT_DIR, OPT_SCOPE_NOT,
	OPT_EXCLUDE, OPT_GATE, OPT_END
};
static const struct option_def	 opts_labels[] = {
	OPT_SELECT('l', labels), OPT_END
};
static const struct option_def	 opts_end[] = {
	OPT_GRACE, OPT_SELECT('l', labels), OPT_END
};
static const struct option_def	 opts_events[] = {
	OPT_FLAG('E', end), OPT_FLAG('f', follow),
	OPT_MILLI('H', "seconds", heartbeat, EVENTS_BEAT_MIN, EVENTS_BEAT_MAX,
	    "1 to 3600, with at most three decimals"),
	OPT_SELECT('l', labels),
	OPT_GIVEN('n', "sequence", from, given, "the number of an event"),
	OPT_FLAG('O', oldest),
	OPT_STRINGS('t', "type", types, "a type of events, or audit"), OPT_END
};
static const struct option_def	 opts_attach[] = {
	OPT_KEYS, OPT_GIVEN('n', "offset", from, given, "a number of bytes"),
	OPT_FLAG('r', readonly), OPT_END
};
static const struct option_def	 opts_exec[] = {
	OPT_REASON, OPT_FLAG('c', changes), OPT_DETACH, OPT_ENVIRON, OPT_ENV,
	OPT_SCOPE,
	OPT_FLAG('i', interactive), OPT_KEYS, OPT_TIMEOUT, OPT_USER, OPT_DIR,
	OPT_SCOPE_NOT, OPT_GATE, OPT_END
};
static const struct option_def	 opts_shell[] = {
	OPT_REASON, OPT_ENVIRON, OPT_ENV, OPT_KEYS, OPT_TIMEOUT, OPT_USER,
	OPT_DIR, OPT_END
};
static const struct option_def	 opts_extend[] = {
	OPT_IDLE, OPT_SPAN('t', lifetime), OPT_END
};
static const struct option_def	 opts_kill[] = {
	{ .letter = 's', .arg = "signal", .take = take_signal, OPT_AT(signo),
	    .must = "a number from 1 to 64, or the name of a signal" },
	OPT_END
};
static const struct option_def	 opts_list[] = {
	OPT_ALL, OPT_SELECT('l', labels),
	OPT_STRING('S', "state", state, "a state of a sandbox"), OPT_END
};
static const struct option_def	 opts_logs[] = {
	OPT_FLAG('f', follow),
	{ .letter = 'o', .arg = "stream", .take = take_stream, OPT_AT(stream),
	    .must = "stdout or stderr" },
	OPT_END
};
static const struct option_def	 opts_ps[] = { OPT_ALL, OPT_END };
static const struct option_def	 opts_diff[] = {
	OPT_STRING('M', "mark", mark, "the name of a mark"), OPT_END
};
static const struct option_def	 opts_export[] = {
	OPT_STRING('M', "mark", mark, "the name of a mark"), OPT_MOST,
	OPT_FLAG('p', patch), OPT_EXCLUDE, OPT_END
};
static const struct option_def	 opts_mark[] = {
	OPT_FLAG('c', contents), OPT_END
};
static const struct option_def	 opts_get[] = {
	OPT_FLAG('a', atomic), OPT_MOST, OPT_FLAG('r', recurse),
	OPT_EXCLUDE, OPT_END
};
static const struct option_def	 opts_chmod[] = {
	OPT_FLAG('R', recurse), OPT_END
};
static const struct option_def	 opts_cp[] = {
	OPT_FLAG('r', recurse), OPT_END
};
static const struct option_def	 opts_ls[] = {
	OPT_FLAG('l', longer), OPT_FLAG('R', recurse), OPT_END
};
static const struct option_def	 opts_mkdir[] = {
	OPT_FLAG('p', parents), OPT_END
};
static const struct option_def	 opts_put[] = {
	OPT_FLAG('a', atomic), OPT_MOST, OPT_FLAG('p', parents),
	OPT_FLAG('r', recurse), OPT_EXCLUDE, OPT_END
};
static const struct option_def	 opts_rm[] = {
	OPT_FLAG('f', force), OPT_FLAG('r', recurse), OPT_END
};
static const struct option_def	 opts_reconcile[] = {
	OPT_FLAG('f', follow), OPT_END
};
static const struct option_def	 opts_reload[] = {
	OPT_FLAG('x', execute), OPT_END
};
static const struct option_def	 opts_update[] = {
	OPT_CPUS, OPT_KEEP, OPT_SELECT('L', select),
	{ .letter = 'l', .arg = "label", .take = take_label, OPT_AT(labels),
	    .must = "name=value or name-", .many = 1 },
	OPT_MEMORY, OPT_PIDS, OPT_IDLE, OPT_LIFETIME, OPT_END
};
static const struct option_def	 opts_tool_edit[] = {
	OPT_ALL, OPT_CALL('U', CALL_F_CRLF), OPT_END
};
static const struct option_def	 opts_tool_execute[] = {
	OPT_REASON, OPT_ENVIRON, OPT_ENV, OPT_MAX, OPT_TIMEOUT, OPT_USER,
	OPT_DIR, OPT_END
};
static const struct option_def	 opts_tool_glob[] = {
	OPT_CALL('A', CALL_F_ANYDEPTH), OPT_CALL('D', CALL_F_NODOT),
	OPT_CALL('F', CALL_F_FILES), OPT_MAX, OPT_END
};
static const struct option_def	 opts_tool_grep[] = {
	OPT_NUMBER('C', "lines", context, 0, 1000, "a number from 0 to 1000"),
	OPT_CALL('F', CALL_F_FILES),
	OPT_STRING('G', "pattern", glob, "a pattern of names"), OPT_MAX,
	OPT_CALL('P', CALL_F_REGEX), OPT_CALL('Q', CALL_F_COUNTS),
	OPT_CALL('y', CALL_F_ICASE), OPT_END
};
static const struct option_def	 opts_tool_ls[] = { OPT_MAX, OPT_END };
static const struct option_def	 opts_tool_read[] = {
	OPT_NUMBER('B', "lines", from, 0, LLONG_MAX, "a number of lines"),
	OPT_MAX, OPT_CALL('N', CALL_F_NUMBER), OPT_END
};
static const struct option_def	 opts_wait[] = { OPT_TIMEOUT, OPT_END };

const struct command commands[] = {
	{ "attach", opts_attach, "exec", 1, 1, CMD_STATUS, cmd_attach },
	{ "cat", opts_none, "id path ...", 2, -1, 0, cmd_cat },
	{ "chmod", opts_chmod, "id mode path ...", 3, -1, 0, cmd_chmod },
	{ "cp", opts_cp, "id path ... to", 3, -1, 0, cmd_cp },
	{ "create", opts_create, "", 0, 0, 0, cmd_create },
	{ "delete", opts_labels, "[id ...]", 0, -1, 0, cmd_delete },
	{ "diff", opts_diff, "id [path]", 1, 2, 0, cmd_diff },
	{ "doctor", opts_none, "[control ...]", 0, -1, 0, cmd_doctor },
	{ "du", opts_none, "id [path ...]", 1, -1, 0, cmd_du },
	{ "events", opts_events, "[id]", 0, 1, 0, cmd_events },
	{ "exec", opts_exec, "id command [argument ...]", 2, -1, CMD_STATUS,
	    cmd_exec },
	{ "export", opts_export, "id [path]", 1, 2, 0, cmd_export },
	{ "extend", opts_extend, "id", 1, 1, 0, cmd_extend },
	{ "forward", opts_none, "id [local:]port", 2, 2, 0, cmd_forward },
	{ "get", opts_get, "id path ... local", 3, -1, 0, cmd_get },
	{ "image base", opts_none, "", 0, 0, 0, cmd_image_base },
	{ "image import", opts_none, "name file", 2, 2, 0, cmd_image_import },
	{ "kill", opts_kill, "exec", 1, 1, 0, cmd_kill },
	{ "list", opts_list, "", 0, 0, 0, cmd_list },
	{ "log dump", opts_none, "", 0, 0, 0, cmd_log_dump },
	{ "log verify", opts_none, "[head]", 0, 1, 0, cmd_log_verify },
	{ "logs", opts_logs, "exec", 1, 1, 0, cmd_logs },
	{ "ls", opts_ls, "id [path ...]", 1, -1, 0, cmd_ls },
	{ "mark", opts_mark, "id name [path]", 2, 3, 0, cmd_mark },
	{ "mkdir", opts_mkdir, "id path ...", 2, -1, 0, cmd_mkdir },
	{ "mv", opts_none, "id path ... to", 3, -1, 0, cmd_mv },
	{ "pause", opts_labels, "[id ...]", 0, -1, 0, cmd_pause },
	{ "ping", opts_none, "", 0, 0, 0, cmd_ping },
	{ "ps", opts_ps, "[id]", 0, 1, 0, cmd_ps },
	{ "put", opts_put, "id local ... path", 3, -1, 0, cmd_put },
	{ "reconcile", opts_reconcile, "", 0, 0, 0, cmd_reconcile },
	{ "reload", opts_reload, "", 0, 0, 0, cmd_reload },
	{ "restart", opts_end, "[id ...]", 0, -1, 0, cmd_restart },
	{ "resume", opts_labels, "[id ...]", 0, -1, 0, cmd_resume },
	{ "rm", opts_rm, "id path ...", 2, -1, 0, cmd_rm },
	{ "rules", opts_none, "", 0, 0, 0, cmd_rules },
	{ "run", opts_run, "command [argument ...]", 1, -1, CMD_STATUS,
	    cmd_run },
	{ "session", opts_none, "", 0, 0, 0, cmd_session },
	{ "shell", opts_shell, "id [command ...]", 1, -1,
	    CMD_STATUS, cmd_shell },
	{ "show", opts_none, "id", 1, 1, 0, cmd_show },
	{ "skills list", opts_none, "id [path]", 1, 2, 0, cmd_skills_list },
	{ "skills push", opts_none, "id local:remote ...", 2, -1, 0,
	    cmd_skills_push },
	{ "stat", opts_none, "id path ...", 2, -1, 0, cmd_stat },
	{ "status", opts_none, "", 0, 0, 0, cmd_status },
	{ "stop", opts_end, "[id ...]", 0, -1, 0, cmd_stop },
	{ "tool delete", opts_none, "id path", 2, 2, 0, cmd_tool_delete },
	{ "tool describe", opts_none, "id", 1, 1, 0, cmd_tool_describe },
	{ "tool download", opts_none, "id path ...", 2, -1, 0,
	    cmd_tool_download },
	{ "tool edit", opts_tool_edit, "id path old new", 4, 4, CMD_EMPTY,
	    cmd_tool_edit },
	{ "tool execute", opts_tool_execute, "id command", 2, 2, 0,
	    cmd_tool_execute },
	{ "tool glob", opts_tool_glob, "id pattern [path]", 2, 3, 0,
	    cmd_tool_glob },
	{ "tool grep", opts_tool_grep, "id pattern [path]", 2, 3, 0,
	    cmd_tool_grep },
	{ "tool ls", opts_tool_ls, "id [path]", 1, 2, 0, cmd_tool_ls },
	{ "tool read", opts_tool_read, "id path", 2, 2, 0, cmd_tool_read },
	{ "tool upload", opts_none, "id local path ...", 3, -1, 0,
	    cmd_tool_upload },
	{ "tool write", opts_none, "id path", 2, 2, 0, cmd_tool_write },
	{ "unmark", opts_none, "id name ...", 2, -1, 0, cmd_unmark },
	{ "unpause", opts_labels, "[id ...]", 0, -1, 0, cmd_unpause },
	{ "update", opts_update, "[id ...]", 0, -1, 0, cmd_update },
	{ "version", opts_none, "", 0, 0, CMD_LOCAL, cmd_version },
	{ "wait", opts_wait, "exec | id states", 1, 2, CMD_STATUS, cmd_wait },
	{ "watch", opts_none, "id [path]", 1, 2, 0, cmd_watch }
};
const size_t	 ncommands = sizeof(commands) / sizeof(commands[0]);

/* The word number n of a command's name; its length, 0 if there is none. */
static size_t
command_word(const struct command *cmd, int n, const char **word)
{
	const char	*p = cmd->name;

	for (; n > 0; n--) {
		if ((p = strchr(p, ' ')) == NULL)
			return (0);
		p++;
	}
	*word = p;
	return (strcspn(p, " "));
}

/* Do the first n words of both commands agree? */
static int
command_same(const struct command *a, const struct command *b, int n)
{
	const char	*wa, *wb;
	size_t		 la, lb;
	int		 i;

	for (i = 0; i < n; i++) {
		la = command_word(a, i, &wa);
		lb = command_word(b, i, &wb);
		if (la != lb || strncmp(wa, wb, la) != 0)
			return (0);
	}
	return (1);
}

/*
 * The command whose word number n is meant by arg, among those which agree
 * with `group' in the words before it: a unique prefix, or the exact word.
 */
static const struct command *
command_match(const struct command *group, int n, const char *arg,
    char *err, size_t errlen)
{
	const struct command	*c, *found = NULL;
	const char		*word = NULL;
	size_t			 i, len, alen = strlen(arg);
	int			 many = 0;

	for (i = 0; i < ncommands; i++) {
		c = &commands[i];
		if (group != NULL && !command_same(c, group, n))
			continue;
		if ((len = command_word(c, n, &word)) < alen || alen == 0 ||
		    strncmp(word, arg, alen) != 0)
			continue;
		if (len == alen)
			return (c);
		if (found != NULL && !command_same(c, found, n + 1))
			many = 1;
		if (found == NULL)
			found = c;
	}
	if (found == NULL)
		snprintf(err, errlen, "unknown command: %.64s", arg);
	else if (many)
		snprintf(err, errlen, "ambiguous command: %.64s", arg);
	return (many ? NULL : found);
}

/* Takes the words of the command off the line. */
static const struct command *
command_find(int *argc, char ***argv, char *err, size_t errlen)
{
	const struct command	*c = NULL;
	const char		*word = NULL;
	int			 n;

	for (n = 0; n == 0 || command_word(c, n, &word) > 0; n++) {
		if (*argc == 0) {
			if (n == 0)
				strlcpy(err, "no command given", errlen);
			else
				snprintf(err, errlen, "incomplete command: "
				    "%.*s", (int)(word - c->name - 1),
				    c->name);
			return (NULL);
		}
		if ((c = command_match(c, n, **argv, err, errlen)) == NULL)
			return (NULL);
		(*argc)--;
		(*argv)++;
	}
	return (c);
}

/*
 * What other programs of this kind call a terminal: -it, in one word, or -ti.
 * To -t these are no times, and -i has no value here.
 */
static int
option_habit(const struct ctl *ctl, int ch, char **argv)
{
	const struct option_def	*o;
	const char		*word;

	for (o = ctl->cmd->opts; o->letter != 0; o++)
		if (o->letter == 'i' && o->arg == NULL)
			break;
	if (o->letter == 0 || ch != 't')
		return (ch);
	word = argv[optind - 1];
	if (optarg == word + 2 && strcmp(word, "-ti") == 0) {
		optarg = NULL;
		return ('i');
	}
	word = argv[optind - 2];
	if (optarg == argv[optind - 1] && strcmp(word, "-it") == 0) {
		optarg = NULL;
		optind--;
		return ('i');
	}
	return (ch);
}

/* Options of a command end at the first argument: what follows is its own. */
static int
parse_options(struct ctl *ctl, int argc, char **argv, char *err, size_t errlen)
{
	char			 letters[2 * OPTION_MAX + 3] = "+:", *p;
	char			 seen[128] = { 0 };
	const struct option_def	*o;
	int			 ch, ret;

	p = letters + 2;
	for (o = ctl->cmd->opts; o->letter != 0; o++) {
		*p++ = o->letter;
		if (o->arg != NULL)
			*p++ = ':';
	}
	*p = '\0';
	/* argv[-1] is the command's word; 0 also resets glibc's state. */
	optind = 0;
	opterr = 0;
	while ((ch = getopt(argc + 1, argv - 1, letters)) != -1) {
		if (ch == '?') {
			snprintf(err, errlen, "unknown option: -%c", optopt);
			return (-1);
		}
		if (ch == ':') {
			snprintf(err, errlen, "option needs an argument: -%c",
			    optopt);
			return (-1);
		}
		ch = option_habit(ctl, ch, argv - 1);
		for (o = ctl->cmd->opts; o->letter != ch; o++)
			;
		if (seen[ch]++ && optarg != NULL && !o->many) {
			snprintf(err, errlen, "option given twice: -%c", ch);
			return (-1);
		}
		if ((ret = o->take(ctl, o, optarg)) == 0)
			continue;
		if (ret == PARSE_TWICE)
			snprintf(err, errlen, "name given twice: -%c %.64s",
			    ch, optarg);
		else
			snprintf(err, errlen, "invalid argument of -%c: "
			    "%.64s%s: must be %s", ch, *optarg == '\0' ?
			    "empty" : optarg, strlen(optarg) > 64 ? "..." :
			    "", o->must);
		return (-1);
	}
	ctl->argc = argc + 1 - optind;
	ctl->argv = argv - 1 + optind;
	return (0);
}

/*
 * The command line without the program's name.  On failure err has the
 * reason, and ctl->cmd the command if it was understood so far.
 */
int
parse(struct ctl *ctl, int argc, char **argv, char *err, size_t errlen)
{
	int	 i, n;

	if ((ctl->cmd = command_find(&argc, &argv, err, errlen)) == NULL)
		return (-1);
	if (parse_options(ctl, argc, argv, err, errlen) == -1)
		return (-1);
	if (ctl->argc < ctl->cmd->min) {
		strlcpy(err, "missing argument", errlen);
		return (-1);
	}
	if (ctl->cmd->max != -1 && ctl->argc > ctl->cmd->max) {
		snprintf(err, errlen, "extra argument: %.64s",
		    ctl->argv[ctl->cmd->max]);
		return (-1);
	}
	/* To ps and events an empty name would be no name, and mean all. */
	n = ctl->cmd->max == -1 && ctl->cmd->flags & CMD_STATUS &&
	    ctl->argc > 1 ? 1 : ctl->argc;
	for (i = 0; i < n; i++) {
		if (*ctl->argv[i] != '\0' ||
		    (i > 1 && ctl->cmd->flags & CMD_EMPTY))
			continue;
		strlcpy(err, "empty argument", errlen);
		return (-1);
	}
	return (0);
}

void
parse_free(struct ctl *ctl)
{
	kvv_clear(&ctl->env);
	kvv_clear(&ctl->labels);
	kvv_clear(&ctl->mounts);
	kvv_clear(&ctl->mounts_rw);
	kvv_clear(&ctl->select);
	strv_clear(&ctl->unlabel);
	strv_clear(&ctl->types);
	strv_clear(&ctl->exclude);
	strv_clear(&ctl->include);
	strv_clear(&ctl->outside);
	strv_clear(&ctl->seeds);
	strv_clear(&ctl->tools);
}

void
usage_command(FILE *f, const struct command *cmd)
{
	const struct option_def	*o;
	int			 n = 0;

	fprintf(f, "%s", cmd->name);
	/* Letters without an argument stand together, as in the manual. */
	for (o = cmd->opts; o->letter != 0; o++)
		if (o->arg == NULL)
			fprintf(f, "%s%c", n++ == 0 ? " [-" : "", o->letter);
	if (n > 0)
		fprintf(f, "]");
	for (o = cmd->opts; o->letter != 0; o++)
		if (o->arg != NULL)
			fprintf(f, " [-%c %s]", o->letter, o->arg);
	if (*cmd->args != '\0')
		fprintf(f, " %s", cmd->args);
	fprintf(f, "\n");
}

void
usage(FILE *f)
{
	size_t	 i;

	fprintf(f, "usage: sandboxctl [-j] [-s socket] command "
	    "[argument ...]\ncommands:\n");
	for (i = 0; i < ncommands; i++) {
		fprintf(f, "\t");
		usage_command(f, &commands[i]);
	}
}
