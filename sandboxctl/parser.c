/*
 * parser.c: the table of commands and what the command line makes of it.
 *
 * The table is the one place where commands and options are named: the
 * parser, the usage and the test that compares them with the manual read it.
 */

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sandboxctl.h"

#define OPTION_MAX	32	/* options of one command */
#define PARSE_TWICE	(-2)	/* a name that has a value already */

static const struct option_def	 opts_none[] = { { 0, NULL } };
static const struct option_def	 opts_create[] = {
	{ 'c', "cpus" }, { 'd', NULL }, { 'e', "name=value" }, { 'I', "image" },
	{ 'i', "id" }, { 'l', "name=value" }, { 'm', "memory" },
	{ 'p', "pids" }, { 'q', "time" }, { 'R', NULL }, { 'r', NULL },
	{ 'T', "time" }, { 'u', "user" }, { 'w', "directory" }, { 0, NULL }
};
static const struct option_def	 opts_run[] = {
	{ 'c', "cpus" }, { 'e', "name=value" }, { 'I', "image" },
	{ 'i', "id" }, { 'l', "name=value" }, { 'm', "memory" },
	{ 'p', "pids" }, { 'q', "time" }, { 'R', NULL }, { 'r', NULL },
	{ 'T', "time" }, { 't', "seconds" }, { 'u', "user" },
	{ 'w', "directory" }, { 0, NULL }
};
static const struct option_def	 opts_labels[] = {
	{ 'l', "name=value" }, { 0, NULL }
};
static const struct option_def	 opts_end[] = {
	{ 'g', "seconds" }, { 'l', "name=value" }, { 0, NULL }
};
static const struct option_def	 opts_events[] = {
	{ 'E', NULL }, { 'f', NULL }, { 'H', "seconds" },
	{ 'l', "name=value" }, { 'n', "sequence" }, { 'O', NULL },
	{ 't', "type" }, { 0, NULL }
};
static const struct option_def	 opts_attach[] = {
	{ 'K', "keys" }, { 'n', "offset" }, { 'r', NULL }, { 0, NULL }
};
static const struct option_def	 opts_exec[] = {
	{ 'd', NULL }, { 'e', "name=value" }, { 'i', NULL }, { 'K', "keys" },
	{ 't', "seconds" }, { 'u', "user" }, { 'w', "directory" }, { 0, NULL }
};
static const struct option_def	 opts_shell[] = {
	{ 'e', "name=value" }, { 'K', "keys" }, { 't', "seconds" },
	{ 'u', "user" }, { 'w', "directory" }, { 0, NULL }
};
static const struct option_def	 opts_extend[] = {
	{ 'q', "time" }, { 't', "time" }, { 0, NULL }
};
static const struct option_def	 opts_kill[] = {
	{ 's', "signal" }, { 0, NULL }
};
static const struct option_def	 opts_list[] = {
	{ 'a', NULL }, { 'l', "name=value" }, { 'S', "state" }, { 0, NULL }
};
static const struct option_def	 opts_logs[] = {
	{ 'f', NULL }, { 'o', "stream" }, { 0, NULL }
};
static const struct option_def	 opts_ps[] = {
	{ 'a', NULL }, { 0, NULL }
};
static const struct option_def	 opts_get[] = {
	{ 'm', "bytes" }, { 0, NULL }
};
static const struct option_def	 opts_ls[] = {
	{ 'l', NULL }, { 'R', NULL }, { 0, NULL }
};
static const struct option_def	 opts_mkdir[] = {
	{ 'p', NULL }, { 0, NULL }
};
static const struct option_def	 opts_put[] = {
	{ 'a', NULL }, { 'p', NULL }, { 0, NULL }
};
static const struct option_def	 opts_rm[] = {
	{ 'f', NULL }, { 'r', NULL }, { 0, NULL }
};
static const struct option_def	 opts_reconcile[] = {
	{ 'f', NULL }, { 0, NULL }
};
static const struct option_def	 opts_reload[] = {
	{ 'x', NULL }, { 0, NULL }
};
static const struct option_def	 opts_update[] = {
	{ 'c', "cpus" }, { 'k', "time" }, { 'L', "name=value" },
	{ 'l', "label" }, { 'm', "memory" }, { 'p', "pids" },
	{ 'q', "time" }, { 'T', "time" }, { 0, NULL }
};
static const struct option_def	 opts_tool_edit[] = {
	{ 'a', NULL }, { 'U', NULL }, { 0, NULL }
};
static const struct option_def	 opts_tool_glob[] = {
	{ 'A', NULL }, { 'D', NULL }, { 'F', NULL }, { 'M', "number" },
	{ 0, NULL }
};
static const struct option_def	 opts_tool_grep[] = {
	{ 'C', "lines" }, { 'F', NULL }, { 'G', "pattern" },
	{ 'M', "number" }, { 'P', NULL }, { 'Q', NULL }, { 'y', NULL },
	{ 0, NULL }
};
static const struct option_def	 opts_tool_ls[] = {
	{ 'M', "number" }, { 0, NULL }
};
static const struct option_def	 opts_tool_read[] = {
	{ 'B', "lines" }, { 'M', "number" }, { 'N', NULL }, { 0, NULL }
};
static const struct option_def	 opts_wait[] = {
	{ 't', "seconds" }, { 0, NULL }
};

const struct command commands[] = {
	{ "attach", opts_attach, "exec", 1, 1, CMD_STATUS, cmd_attach },
	{ "cat", opts_none, "id path ...", 2, -1, CMD_FILES, cmd_cat },
	{ "chmod", opts_none, "id mode path ...", 3, -1, CMD_FILES,
	    cmd_chmod },
	{ "create", opts_create, "", 0, 0, 0, cmd_create },
	{ "delete", opts_labels, "[id ...]", 0, -1, CMD_KEYS, cmd_delete },
	{ "doctor", opts_none, "[control ...]", 0, -1, 0, cmd_doctor },
	{ "du", opts_none, "id [path ...]", 1, -1, CMD_FILES, cmd_du },
	{ "events", opts_events, "[id]", 0, 1, CMD_KEYS | CMD_TYPE,
	    cmd_events },
	{ "exec", opts_exec, "id command [argument ...]", 2, -1, CMD_STATUS,
	    cmd_exec },
	{ "extend", opts_extend, "id", 1, 1, CMD_SPAN, cmd_extend },
	{ "get", opts_get, "id path ... local", 3, -1, CMD_FILES, cmd_get },
	{ "image base", opts_none, "", 0, 0, 0, cmd_image_base },
	{ "image import", opts_none, "name file", 2, 2, 0, cmd_image_import },
	{ "kill", opts_kill, "exec", 1, 1, 0, cmd_kill },
	{ "list", opts_list, "", 0, 0, CMD_KEYS, cmd_list },
	{ "log dump", opts_none, "", 0, 0, 0, cmd_log_dump },
	{ "log verify", opts_none, "[head]", 0, 1, 0, cmd_log_verify },
	{ "logs", opts_logs, "exec", 1, 1, 0, cmd_logs },
	{ "ls", opts_ls, "id [path ...]", 1, -1, CMD_FILES, cmd_ls },
	{ "mkdir", opts_mkdir, "id path ...", 2, -1, CMD_FILES, cmd_mkdir },
	{ "mv", opts_none, "id path ... to", 3, -1, CMD_FILES, cmd_mv },
	{ "pause", opts_labels, "[id ...]", 0, -1, CMD_KEYS, cmd_pause },
	{ "ping", opts_none, "", 0, 0, 0, cmd_ping },
	{ "ps", opts_ps, "[id]", 0, 1, 0, cmd_ps },
	{ "put", opts_put, "id local ... path", 3, -1, CMD_FILES, cmd_put },
	{ "reconcile", opts_reconcile, "", 0, 0, 0, cmd_reconcile },
	{ "reload", opts_reload, "", 0, 0, 0, cmd_reload },
	{ "restart", opts_end, "[id ...]", 0, -1, CMD_KEYS, cmd_restart },
	{ "resume", opts_labels, "[id ...]", 0, -1, CMD_KEYS, cmd_resume },
	{ "rm", opts_rm, "id path ...", 2, -1, CMD_FILES, cmd_rm },
	{ "rules", opts_none, "", 0, 0, 0, cmd_rules },
	{ "run", opts_run, "command [argument ...]", 1, -1, CMD_STATUS,
	    cmd_run },
	{ "session", opts_none, "", 0, 0, 0, cmd_session },
	{ "shell", opts_shell, "id [command ...]", 1, -1,
	    CMD_STATUS, cmd_shell },
	{ "show", opts_none, "id", 1, 1, 0, cmd_show },
	{ "stat", opts_none, "id path ...", 2, -1, CMD_FILES, cmd_stat },
	{ "status", opts_none, "", 0, 0, 0, cmd_status },
	{ "stop", opts_end, "[id ...]", 0, -1, CMD_KEYS, cmd_stop },
	{ "tool download", opts_none, "id path ...", 2, -1, 0,
	    cmd_tool_download },
	{ "tool edit", opts_tool_edit, "id path old new", 4, 4, CMD_EMPTY,
	    cmd_tool_edit },
	{ "tool glob", opts_tool_glob, "id pattern [path]", 2, 3, 0,
	    cmd_tool_glob },
	{ "tool grep", opts_tool_grep, "id pattern [path]", 2, 3, 0,
	    cmd_tool_grep },
	{ "tool ls", opts_tool_ls, "id [path]", 1, 2, 0, cmd_tool_ls },
	{ "tool read", opts_tool_read, "id path", 2, 2, 0, cmd_tool_read },
	{ "tool upload", opts_none, "id local path ...", 3, -1, 0,
	    cmd_tool_upload },
	{ "tool write", opts_none, "id path", 2, 2, 0, cmd_tool_write },
	{ "unpause", opts_labels, "[id ...]", 0, -1, CMD_KEYS, cmd_unpause },
	{ "update", opts_update, "[id ...]", 0, -1, CMD_MINUS, cmd_update },
	{ "version", opts_none, "", 0, 0, CMD_LOCAL, cmd_version },
	{ "wait", opts_wait, "exec | id states", 1, 2, CMD_STATUS, cmd_wait }
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

/* Bytes, with an optional K, M, G or T of 1024. */
int
parse_size(const char *str, uint64_t *size)
{
	static const char	 units[] = "KMGT";
	const char		*unit;
	char			*end;
	unsigned long long	 n;
	int			 shift = 0;

	if (!isdigit((unsigned char)*str))
		return (-1);
	errno = 0;
	n = strtoull(str, &end, 10);
	if (errno != 0)
		return (-1);
	if (*end != '\0') {
		unit = strchr(units, toupper((unsigned char)*end));
		if (unit == NULL || end[1] != '\0')
			return (-1);
		shift = 10 * (unit - units + 1);
	}
	if (n == 0 || n > UINT64_MAX >> shift)
		return (-1);
	*size = (uint64_t)n << shift;
	return (0);
}

/* A decimal with at most three places, in thousandths; not zero. */
int
parse_milli(const char *str, uint64_t *milli)
{
	uint64_t	 n = 0;
	int		 places = -1;

	if (!isdigit((unsigned char)*str))
		return (-1);
	for (; *str != '\0'; str++) {
		if (*str == '.' && places == -1 && str[1] != '\0') {
			places = 0;
			continue;
		}
		if (!isdigit((unsigned char)*str) || places == 3 ||
		    n > UINT32_MAX)
			return (-1);
		n = n * 10 + (*str - '0');
		if (places != -1)
			places++;
	}
	for (places = places == -1 ? 0 : places; places < 3; places++)
		n *= 10;
	if (n == 0)
		return (-1);
	*milli = n;
	return (0);
}

/*
 * Seconds, or with s, m, h, d or w, with at most three decimal places, in
 * ms; none and 0 for no end.
 */
int
parse_span(const char *str, uint64_t *ms)
{
	static const char	 units[] = "smhdw";
	static const uint32_t	 secs[] = { 1, 60, 3600, 86400, 604800 };
	const char		*unit;
	char			 num[32];
	size_t			 len = strlen(str);
	uint64_t		 n;

	if (strcmp(str, "none") == 0 || strcmp(str, "0") == 0) {
		*ms = SBX_TIME_NONE;
		return (0);
	}
	if (len == 0 || len >= sizeof(num))
		return (-1);
	strlcpy(num, str, sizeof(num));
	if ((unit = strchr(units, num[len - 1])) != NULL)
		num[len - 1] = '\0';
	else
		unit = units;
	if (parse_milli(num, &n) == -1 ||
	    n > SBX_TIME_MAX / secs[unit - units])
		return (-1);
	*ms = n * secs[unit - units];
	return (0);
}

/* A number, or a name with or without SIG; 0 if it is none. */
int
parse_signal(const char *str)
{
	const char	*errstr, *name;
	int		 i;

	if (isdigit((unsigned char)*str)) {
		i = strtonum(str, 1, 64, &errstr);
		return (errstr == NULL ? i : 0);
	}
	if (strncasecmp(str, "SIG", 3) == 0)
		str += 3;
	for (i = 1; i < NSIG; i++)
		if ((name = sigabbrev_np(i)) != NULL &&
		    strcasecmp(name, str) == 0)
			return (i);
	return (0);
}

/*
 * name=value into a vector; a name alone where the command allows it.  Of two
 * values for one name it would be a guess which is meant.
 */
static int
parse_pair(struct kvv *kvv, const char *str, int keys)
{
	const char	*eq = strchr(str, '=');
	char		*name;
	int		 ret = -1;

	if (eq == str || *str == '\0' || (eq == NULL && !keys))
		return (-1);
	if ((name = strndup(str, eq == NULL ? strlen(str) :
	    (size_t)(eq - str))) == NULL)
		return (-1);
	if (kvv_get(kvv, name) != NULL)
		ret = PARSE_TWICE;
	else
		ret = kvv_set(kvv, name, eq == NULL ? "" : eq + 1);
	free(name);
	return (ret);
}

/* name-, which no name of a label ends in. */
static int
parse_minus(struct strv *strv, const char *str)
{
	size_t	 len = strlen(str);
	char	*name;
	int	 ret;

	if (len < 2 || str[len - 1] != '-' ||
	    (name = strndup(str, len - 1)) == NULL)
		return (-1);
	ret = strv_add(strv, name);
	free(name);
	return (ret);
}

/* strtonum(3) would also take a sign and blanks before the number. */
static int
parse_number(const char *str, long long min, long long max, uint64_t *n)
{
	const char	*errstr;

	if (!isdigit((unsigned char)*str))
		return (-1);
	*n = strtonum(str, min, max, &errstr);
	return (errstr == NULL ? 0 : -1);
}

static int
parse_string(const char *str, const char **out)
{
	if (*str == '\0')
		return (-1);
	*out = str;
	return (0);
}

static int
parse_stream(const char *str, int *stream)
{
	if (strcmp(str, "stdout") == 0)
		*stream = 1;
	else if (strcmp(str, "stderr") == 0)
		*stream = 2;
	else
		return (-1);
	return (0);
}

static int
parse_keys(const char *str, const char **out)
{
	struct term_keys	 keys;

	if (term_keys(&keys, str) == -1)
		return (-1);
	*out = str;
	return (0);
}

/* Where these change, what option_must() says does. */
_Static_assert(SBX_MCPUS_MIN == 10 && SBX_MCPUS_MAX == 1024000 &&
    SBX_MEMORY_MIN == 6 << 20 && SBX_MEMORY_MAX == 1ULL << 50 &&
    SBX_PIDS_MIN == 4 && SBX_PIDS_MAX == 4194304 &&
    EXEC_TIMEOUT_MAX == 2592000000ULL && EXEC_GRACE_MAX == 600000 &&
    SBX_TIME_MAX == 3650ULL * 86400000, "limits of options");

/* What the value of an option must be; here only its form is checked. */
static const char *
option_must(const struct ctl *ctl, int ch)
{
	static const struct {
		char		 letter;
		const char	*must;
	} t[] = {
		{ 'B', "a number of lines" },
		{ 'C', "a number from 0 to 1000" },
		{ 'c', "0.01 to 1024, with at most three decimals" },
		{ 'e', "name=value" },
		{ 'G', "a pattern of names" },
		{ 'g', "0.001 to 600, with at most three decimals" },
		{ 'H', "1 to 3600, with at most three decimals" },
		{ 'I', "the name of an image" },
		{ 'i', "the name of a sandbox" },
		{ 'K', "keys with commas between, as ctrl-p,ctrl-q, or none" },
		{ 'k', "0.001 to 3650d, with s, m, h, d or w, or none" },
		{ 'L', "name or name=value" },
		{ 'l', "name=value" },
		{ 'M', "a number" },
		{ 'm', "6M to 1024T, in bytes or with K, M, G or T" },
		{ 'n', "the number of an event" },
		{ 'o', "stdout or stderr" },
		{ 'p', "a number from 4 to 4194304" },
		{ 'q', "0.001 to 3650d, with s, m, h, d or w, or none" },
		{ 'S', "a state of a sandbox" },
		{ 's', "a number from 1 to 64, or the name of a signal" },
		{ 'T', "0.001 to 3650d, with s, m, h, d or w, or none" },
		{ 't', "0.001 to 2592000, with at most three decimals" },
		{ 'u', "root or a number" },
		{ 'w', "an absolute path" },
	};
	size_t	 i;

	if (ch == 'l' && ctl->cmd->flags & CMD_KEYS)
		return ("name or name=value");
	if (ch == 'l' && ctl->cmd->flags & CMD_MINUS)
		return ("name=value or name-");
	if (ctl->cmd->flags & CMD_FILES)
		return ("at least 1, in bytes or with K, M, G or T");
	if (ch == 't' && ctl->cmd->flags & CMD_TYPE)
		return ("a type of events, or audit");
	if (ch == 't' && ctl->cmd->flags & CMD_SPAN)
		ch = 'T';
	if (ch == 'n' && !(ctl->cmd->flags & CMD_TYPE))
		return ("a number of bytes");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (t[i].letter == ch)
			return (t[i].must);
	return ("something");
}

/* Of commands about files, which have the letters of their namesakes. */
static int
parse_file_option(struct ctl *ctl, int ch, const char *arg)
{
	switch (ch) {
	case 'a':
		ctl->atomic = 1;
		return (0);
	case 'f':
		ctl->force = 1;
		return (0);
	case 'l':
		ctl->longer = 1;
		return (0);
	case 'm':
		return (parse_size(arg, &ctl->most));
	case 'p':
		ctl->parents = 1;
		return (0);
	case 'R':
	case 'r':
		ctl->recurse = 1;
		return (0);
	default:
		return (-1);
	}
}

/* Of the tools: a letter that takes no argument is a flag of the call. */
static int
parse_call(struct ctl *ctl, int ch)
{
	static const struct {
		char		 letter;
		uint32_t	 flag;
	} t[] = {
		{ 'A', CALL_F_ANYDEPTH }, { 'D', CALL_F_NODOT },
		{ 'F', CALL_F_FILES }, { 'N', CALL_F_NUMBER },
		{ 'P', CALL_F_REGEX }, { 'Q', CALL_F_COUNTS },
		{ 'U', CALL_F_CRLF }, { 'y', CALL_F_ICASE },
	};
	size_t	 i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (t[i].letter == ch) {
			ctl->call |= t[i].flag;
			return (0);
		}
	return (-1);
}

/* A letter means the same in every other command that has it. */
static int
parse_option(struct ctl *ctl, int ch, const char *arg)
{
	uint64_t	 n;

	if (ctl->cmd->flags & CMD_FILES)
		return (parse_file_option(ctl, ch, arg));
	switch (ch) {
	case 'a':
		ctl->all = 1;
		return (0);
	case 'B':
		return (parse_number(arg, 0, LLONG_MAX, &ctl->from));
	case 'C':
		return (parse_number(arg, 0, 1000, &ctl->context));
	case 'c':
		if (parse_milli(arg, &n) == -1 || n > UINT32_MAX)
			return (-1);
		ctl->mcpus = n;
		return (0);
	case 'd':
		ctl->detach = 1;
		return (0);
	case 'e':
		return (parse_pair(&ctl->env, arg, 0));
	case 'E':
		ctl->end = 1;
		return (0);
	case 'f':
		ctl->follow = 1;
		return (0);
	case 'H':
		if (parse_milli(arg, &n) == -1 || n < EVENTS_BEAT_MIN ||
		    n > EVENTS_BEAT_MAX)
			return (-1);
		ctl->heartbeat = n;
		return (0);
	case 'G':
		return (parse_string(arg, &ctl->glob));
	case 'g':
		if (parse_milli(arg, &n) == -1 || n > EXEC_GRACE_MAX)
			return (-1);
		ctl->grace = n;
		return (0);
	case 'R':
		ctl->resume = 1;
		return (0);
	case 'r':
		ctl->readonly = 1;
		return (0);
	case 'I':
		return (parse_string(arg, &ctl->image));
	case 'i':
		if (arg == NULL) {
			ctl->interactive = 1;
			return (0);
		}
		return (parse_string(arg, &ctl->id));
	case 'k':
		return (parse_span(arg, &ctl->keep));
	case 'K':
		return (parse_keys(arg, &ctl->keys));
	case 'L':
		return (parse_pair(&ctl->select, arg, 1));
	case 'l':
		if (ctl->cmd->flags & CMD_MINUS &&
		    strchr(arg, '=') == NULL)
			return (parse_minus(&ctl->unlabel, arg));
		return (parse_pair(&ctl->labels, arg,
		    ctl->cmd->flags & CMD_KEYS));
	case 'M':
		ctl->max_set = 1;
		return (parse_number(arg, 0, LLONG_MAX, &ctl->max));
	case 'm':
		return (parse_size(arg, &ctl->memory));
	case 'n':
		ctl->given = 1;
		return (parse_number(arg, 0, LLONG_MAX, &ctl->from));
	case 'O':
		ctl->oldest = 1;
		return (0);
	case 'o':
		return (parse_stream(arg, &ctl->stream));
	case 'p':
		if (parse_number(arg, 1, UINT32_MAX, &n) == -1)
			return (-1);
		ctl->pids = n;
		return (0);
	case 'q':
		return (parse_span(arg, &ctl->idle));
	case 'S':
		return (parse_string(arg, &ctl->state));
	case 's':
		return ((ctl->signo = parse_signal(arg)) == 0 ? -1 : 0);
	case 'T':
		return (parse_span(arg, &ctl->lifetime));
	case 't':
		if (ctl->cmd->flags & CMD_SPAN)
			return (parse_span(arg, &ctl->lifetime));
		if (ctl->cmd->flags & CMD_TYPE)
			return (*arg == '\0' ? -1 :
			    strv_add(&ctl->types, arg));
		return (parse_milli(arg, &ctl->timeout));
	case 'u':
		return (parse_string(arg, &ctl->user));
	case 'w':
		return (parse_string(arg, &ctl->dir));
	case 'x':
		ctl->execute = 1;
		return (0);
	default:
		return (parse_call(ctl, ch));
	}
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
		if (seen[ch]++ && optarg != NULL && ch != 'e' && ch != 'l' &&
		    ch != 'L' &&
		    (ch != 't' || !(ctl->cmd->flags & CMD_TYPE))) {
			snprintf(err, errlen, "option given twice: -%c", ch);
			return (-1);
		}
		if ((ret = parse_option(ctl, ch, optarg)) == 0)
			continue;
		if (ret == PARSE_TWICE)
			snprintf(err, errlen, "name given twice: -%c %.64s",
			    ch, optarg);
		else
			snprintf(err, errlen, "invalid argument of -%c: "
			    "%.64s%s: must be %s", ch, *optarg == '\0' ?
			    "empty" : optarg, strlen(optarg) > 64 ? "..." :
			    "", option_must(ctl, ch));
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
	kvv_clear(&ctl->select);
	strv_clear(&ctl->unlabel);
	strv_clear(&ctl->types);
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
