%{
/*
 * The grammar of sandboxd.conf(5), and its reader.
 *
 * Every value arrives as a string with the line it stood on and is converted
 * in an action, so that a wrong value is an error of its own line and parsing
 * goes on: all errors of a file are told in one run.  The strings of a run
 * live in one list and are freed with it, whatever path the parser takes.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf.h"
#include "sandboxd.h"
#include "spec.h"

/* A file that is being read; an included one comes before its includer. */
struct source {
	struct source	*up;
	const char	*name;
	char		*buf;
	size_t		 len;
	size_t		 pos;
	int		 line;
	int		 bol;		/* the last token was a newline */
};

struct text {
	SLIST_ENTRY(text)	 entry;
	char			 s[];
};

struct macro {
	SLIST_ENTRY(macro)	 entry;
	const char		*name;
	const char		*value;
};

struct token {
	const char	*string;
	int		 number;
	int		 line;
};

#define YYSTYPE struct token
#define SHOWN	"%.64s%s"	/* a text as an error repeats it, and its rest */

static struct config		*conf;
static struct conf_errors	*errors;
static struct source		*src;
static SLIST_HEAD(, text)	 texts = SLIST_HEAD_INITIALIZER(texts);
static SLIST_HEAD(, macro)	 macros = SLIST_HEAD_INITIALIZER(macros);
static const char		*last;		/* the last token, for errors */
static int			 last_line;
static uint32_t			 logs_seen;
static uint32_t			 nsources;
static struct rule_who		 whom;		/* of the line being read */
static uint32_t			 block_seen;	/* limits in a user's block */

/* `4 per sandbox, 40 total', until it is known of what. */
static struct {
	struct token	 each;
	struct token	 total;
} sum;

/* What a statement sets; each may be set once. */
enum setting {
	S_STATE, S_SOCKET, S_ENGINE, S_GUEST, S_UID, S_RESTART, S_SANDBOX,
	S_DEF_IMAGE, S_DEF_MEMORY, S_DEF_CPUS, S_DEF_PIDS, S_DEF_NETWORK,
	S_DEF_READONLY, S_DEF_TMP,
	S_LIM_SANDBOXES, S_LIM_EXECS, S_LIM_LOG, S_LIM_CLIENTS, S_LIM_MEMORY,
	S_LIM_CPUS, S_LIM_PIDS, S_LIM_CREATES, S_LIM_REQUESTS, S_LIM_SUBS,
	S_RET_HISTORY,
	S_TMO_CREATE, S_TMO_STOP, S_TMO_DELETE, S_TMO_ENGINE, S_TMO_REATTACH,
	S_TMO_STALL,
	S_MAX
};
static struct {
	const char	*name;
	int		 line;
} seen[S_MAX];

int		 yylex(void);
int		 yyparse(void);
void		 yyerror(const char *);
static void	 error_at(int, const char *, ...)
		    __attribute__((__format__(printf, 2, 3)));
static int	 once(enum setting, int);
static void	 value_error(const struct token *, const char *, const char *);
static void	 set_size(enum setting, uint64_t *, const char *,
		    const struct token *, uint64_t, uint64_t);
static void	 set_count(enum setting, uint32_t *, const char *,
		    const struct token *, uint32_t, uint32_t);
static void	 set_time(enum setting, uint32_t *, const char *,
		    const struct token *, uint32_t, uint32_t);
static void	 set_cpus(enum setting, uint32_t *, const struct token *);
static void	 set_image(enum setting, char *, size_t, const struct token *);
static void	 set_path(enum setting, char *, size_t, const char *,
		    const struct token *);
static void	 set_state(const struct token *);
static void	 set_socket(const struct token *);
static void	 set_group(char *, size_t, gid_t *, const struct token *);
static void	 set_engine(const struct token *);
static void	 set_flag(enum setting, int *, const char *,
		    const struct token *);
static void	 set_sandbox(const struct token *);
static void	 set_network(enum setting, const struct token *);
static void	 set_log(const struct token *, const char *, int);
static void	 set_clients(const struct token *, const struct token *);
static void	 set_uids(const struct token *, const struct token *);
static void	 add_image(const struct token *, int);
static void	 set_who(struct rule_who *, enum who, const struct token *);
static void	 add_rule(int, const struct token *, int, int);
static void	 sum_each(const struct token *, const struct token *);
static void	 sum_total(const struct token *);
static void	 sum_all(enum setting, enum limit);
static void	 sum_user(enum limit, enum limit);
static void	 rate_all(enum setting, enum limit, const struct token *,
		    const struct token *);
static void	 user_limit(enum limit, const struct token *,
		    const struct token *);
static void	 macro_define(const struct token *, const struct token *);
static const char *macro_find(const char *);
static void	 source_open(const struct token *);

%}

%token	ADMIN ALL ALLOW ANY CLIENTS CPUS CREATE CREATES DEFAULTS DELETE DENY
%token	DISK ENGINE EVENTS EXEC EXECS FILES GROUP GUEST HISTORY IMAGE IMAGES
%token	INCLUDE LIMITS LOG MEMORY MOUNT NETWORK ON OWN PER PIDS POLICY
%token	READONLY REATTACH REQUESTS RESTART RETAIN SANDBOX SANDBOXES SOCKET
%token	STALL STATE STOP SUBSCRIPTIONS SWAP TIMEOUTS TMP TO TOTAL UID
%token	UNENFORCED USER
%token	BAD STRING

%%

grammar		: /* empty */
		| grammar '\n'
		| grammar statement '\n'
		| grammar INCLUDE STRING '\n'	{ source_open(&$3); }
		| grammar error '\n'		{ yyerrok; }
		;

statement	: STRING '=' STRING		{ macro_define(&$1, &$3); }
		| STATE STRING			{ set_state(&$2); }
		| SOCKET STRING			{ set_socket(&$2); }
		| SOCKET STRING GROUP STRING {
			set_socket(&$2);
			set_group(conf->socket_group,
			    sizeof(conf->socket_group), &conf->socket_gid,
			    &$4);
		}
		| ENGINE STRING			{ set_engine(&$2); }
		| ENGINE STRING GROUP STRING {
			set_engine(&$2);
			set_group(conf->engine_group,
			    sizeof(conf->engine_group), &conf->engine_gid,
			    &$4);
		}
		| GUEST STRING {
			set_path(S_GUEST, conf->guest, sizeof(conf->guest),
			    "guest", &$2);
		}
		| UID STRING TO STRING		{ set_uids(&$2, &$4); }
		| RESTART STRING PER STRING {
			set_count(S_RESTART, &conf->restart_count,
			    "restart", &$2, 1, 1000);
			set_time(S_MAX, &conf->restart_secs, "restart",
			    &$4, 1, 86400);
		}
		| SANDBOX STRING		{ set_sandbox(&$2); }
		| ALLOW rights who scope {
			add_rule(1, &$1, $2.number, $4.number);
		}
		| DENY rights who scope {
			add_rule(0, &$1, $2.number, $4.number);
		}
		| DEFAULTS '{' defaults '}'
		| DEFAULTS '{' defaults error '}'	{ yyerrok; }
		| LIMITS '{' limits '}'
		| LIMITS '{' limits error '}'		{ yyerrok; }
		| LIMITS whose '{' quotas '}'
		| LIMITS whose '{' quotas error '}'	{ yyerrok; }
		| POLICY '{' policies '}'
		| POLICY '{' policies error '}'		{ yyerrok; }
		| RETAIN '{' retains '}'
		| RETAIN '{' retains error '}'		{ yyerrok; }
		| TIMEOUTS '{' timeouts '}'
		| TIMEOUTS '{' timeouts error '}'	{ yyerrok; }
		;

rights		: /* empty */			{ $$.number = 0; }
		| rights right {
			$$.number = $1.number | 1 << $2.number;
		}
		;

right		: CREATE			{ $$.number = RIGHT_CREATE; }
		| EXEC				{ $$.number = RIGHT_EXEC; }
		| FILES				{ $$.number = RIGHT_FILES; }
		| STOP				{ $$.number = RIGHT_STOP; }
		| DELETE			{ $$.number = RIGHT_DELETE; }
		| EVENTS			{ $$.number = RIGHT_EVENTS; }
		| IMAGES			{ $$.number = RIGHT_IMAGES; }
		| ADMIN				{ $$.number = RIGHT_ADMIN; }
		;

who		: /* empty */		{ set_who(&whom, WHO_ANY, NULL); }
		| ANY			{ set_who(&whom, WHO_ANY, NULL); }
		| USER STRING		{ set_who(&whom, WHO_USER, &$2); }
		| GROUP STRING		{ set_who(&whom, WHO_GROUP, &$2); }
		;

whose		: ANY {
			set_who(&whom, WHO_ANY, NULL);
			block_seen = 0;
		}
		| USER STRING {
			set_who(&whom, WHO_USER, &$2);
			block_seen = 0;
		}
		| GROUP STRING {
			set_who(&whom, WHO_GROUP, &$2);
			block_seen = 0;
		}
		;

scope		: /* empty */			{ $$.number = -1; }
		| ON OWN			{ $$.number = 0; }
		| ON ALL			{ $$.number = 1; }
		| ALL				{ $$.number = 1; }
		;

defaults	: /* empty */
		| defaults '\n'
		| defaults default
		| defaults error '\n'		{ yyerrok; }
		;

default		: IMAGE STRING {
			set_image(S_DEF_IMAGE, conf->defaults.image,
			    sizeof(conf->defaults.image), &$2);
		}
		| MEMORY STRING {
			set_size(S_DEF_MEMORY, &conf->defaults.memory,
			    "memory", &$2, SBX_MEMORY_MIN, SBX_MEMORY_MAX);
		}
		| CPUS STRING {
			set_cpus(S_DEF_CPUS, &conf->defaults.cpus, &$2);
		}
		| PIDS STRING {
			set_count(S_DEF_PIDS, &conf->defaults.pids, "pids",
			    &$2, SBX_PIDS_MIN, SBX_PIDS_MAX);
		}
		| NETWORK STRING { set_network(S_DEF_NETWORK, &$2); }
		| READONLY STRING {
			set_flag(S_DEF_READONLY, &conf->defaults.readonly,
			    "readonly", &$2);
		}
		| TMP STRING {
			set_size(S_DEF_TMP, &conf->defaults.tmp, "tmp",
			    &$2, 4096, SBX_MEMORY_MAX);
		}
		;

limits		: /* empty */
		| limits '\n'
		| limits limit
		| limits error '\n'		{ yyerrok; }
		;

limit		: SANDBOXES STRING {
			set_count(S_LIM_SANDBOXES, &conf->limits.sandboxes,
			    "sandboxes", &$2, 1, 100000);
		}
		| EXECS STRING {
			set_count(S_LIM_EXECS, &conf->limits.execs, "execs",
			    &$2, 1, 100000);
		}
		| CLIENTS STRING		{ set_clients(&$2, NULL); }
		| CLIENTS STRING ',' STRING PER USER {
			set_clients(&$2, &$4);
		}
		| LOG logs			{ logs_seen = 0; }
		| MEMORY STRING {
			set_size(S_LIM_MEMORY, &conf->limits.memory,
			    "memory", &$2, SBX_MEMORY_MIN, SBX_MEMORY_MAX);
		}
		| CPUS STRING {
			set_cpus(S_LIM_CPUS, &conf->limits.cpus, &$2);
		}
		| PIDS STRING {
			set_count(S_LIM_PIDS, &conf->limits.pids, "pids",
			    &$2, SBX_PIDS_MIN, SBX_PIDS_MAX);
		}
		| MEMORY sums	{ sum_all(S_LIM_MEMORY, LIMIT_MEMORY); }
		| CPUS sums	{ sum_all(S_LIM_CPUS, LIMIT_CPUS); }
		| PIDS sums	{ sum_all(S_LIM_PIDS, LIMIT_PIDS); }
		| CREATES STRING PER STRING {
			rate_all(S_LIM_CREATES, LIMIT_CREATES, &$2, &$4);
		}
		| REQUESTS STRING PER STRING {
			rate_all(S_LIM_REQUESTS, LIMIT_REQUESTS, &$2, &$4);
		}
		| SUBSCRIPTIONS STRING {
			rate_all(S_LIM_SUBS, LIMIT_SUBSCRIPTIONS, &$2, NULL);
		}
		| DISK STRING {
			error_at($1.line, "disk: not supported by this "
			    "version");
		}
		;

sums		: summand
		| sums ',' summand
		;

summand		: STRING PER STRING		{ sum_each(&$1, &$3); }
		| STRING TOTAL			{ sum_total(&$1); }
		;

quotas		: /* empty */
		| quotas '\n'
		| quotas quota
		| quotas error '\n'		{ yyerrok; }
		;

quota		: SANDBOXES STRING {
			user_limit(LIMIT_SANDBOXES, &$2, NULL);
		}
		| EXECS STRING		{ user_limit(LIMIT_EXECS, &$2, NULL); }
		| CLIENTS STRING	{ user_limit(LIMIT_CLIENTS, &$2, NULL); }
		| SUBSCRIPTIONS STRING {
			user_limit(LIMIT_SUBSCRIPTIONS, &$2, NULL);
		}
		| MEMORY sums {
			sum_user(LIMIT_MEMORY_EACH, LIMIT_MEMORY);
		}
		| CPUS sums {
			sum_user(LIMIT_CPUS_EACH, LIMIT_CPUS);
		}
		| PIDS sums {
			sum_user(LIMIT_PIDS_EACH, LIMIT_PIDS);
		}
		| CREATES STRING PER STRING {
			user_limit(LIMIT_CREATES, &$2, &$4);
		}
		| REQUESTS STRING PER STRING {
			user_limit(LIMIT_REQUESTS, &$2, &$4);
		}
		| DISK STRING {
			error_at($1.line, "disk: not supported by this "
			    "version");
		}
		;

logs		: log
		| logs ',' log
		;

log		: STRING			{ set_log(&$1, "exec", 1); }
		| STRING PER EXEC		{ set_log(&$1, "exec", 1); }
		| STRING PER STRING {
			set_log(&$1, $3.string, $3.line);
		}
		| STRING TOTAL			{ set_log(&$1, "total", 1); }
		;

policies	: /* empty */
		| policies '\n'
		| policies policy
		| policies error '\n'		{ yyerrok; }
		;

policy		: IMAGE ALLOW allowed
		| IMAGE DENY denied
		| USER STRING {
			if (strcmp($2.string, "root") != 0)
				value_error(&$2, "user", "not root");
			else
				conf->user_root = 1;
		}
		| UNENFORCED names
		| NETWORK ALLOW STRING		{ set_network(S_MAX, &$3); }
		| MOUNT ALLOW mounts {
			error_at($1.line, "mount: not supported by this "
			    "version");
		}
		| MOUNT DENY mounts {
			error_at($1.line, "mount: not supported by this "
			    "version");
		}
		;

allowed		: STRING			{ add_image(&$1, 1); }
		| allowed STRING		{ add_image(&$2, 1); }
		;

denied		: STRING			{ add_image(&$1, 0); }
		| denied STRING			{ add_image(&$2, 0); }
		;

mounts		: STRING
		| mounts STRING
		;

names		: name
		| names name
		;

name		: MEMORY	{ conf->unenforced |= UNENFORCED_MEMORY; }
		| SWAP		{ conf->unenforced |= UNENFORCED_SWAP; }
		| CPUS		{ conf->unenforced |= UNENFORCED_CPUS; }
		| PIDS		{ conf->unenforced |= UNENFORCED_PIDS; }
		;

retains		: /* empty */
		| retains '\n'
		| retains retain
		| retains error '\n'		{ yyerrok; }
		;

retain		: HISTORY STRING {
			set_time(S_RET_HISTORY, &conf->retain.history,
			    "history", &$2, 1, UINT32_MAX);
		}
		;

timeouts	: /* empty */
		| timeouts '\n'
		| timeouts timeout
		| timeouts error '\n'		{ yyerrok; }
		;

timeout		: CREATE STRING {
			set_time(S_TMO_CREATE, &conf->timeouts.create,
			    "create", &$2, 1, 86400);
		}
		| STOP STRING {
			set_time(S_TMO_STOP, &conf->timeouts.stop, "stop",
			    &$2, 1, 86400);
		}
		| DELETE STRING {
			set_time(S_TMO_DELETE, &conf->timeouts.delete,
			    "delete", &$2, 1, 86400);
		}
		| ENGINE STRING {
			set_time(S_TMO_ENGINE, &conf->timeouts.engine,
			    "engine", &$2, 1, 86400);
		}
		| REATTACH STRING {
			set_time(S_TMO_REATTACH, &conf->timeouts.reattach,
			    "reattach", &$2, 0, 86400);
		}
		| STALL STRING {
			set_time(S_TMO_STALL, &conf->timeouts.stall,
			    "stall", &$2, 1, 86400);
		}
		;

%%

static const struct {
	const char	*word;
	int		 token;
} keywords[] = {
	{ "admin",	ADMIN },
	{ "all",	ALL },
	{ "allow",	ALLOW },
	{ "any",	ANY },
	{ "clients",	CLIENTS },
	{ "cpus",	CPUS },
	{ "create",	CREATE },
	{ "creates",	CREATES },
	{ "defaults",	DEFAULTS },
	{ "delete",	DELETE },
	{ "deny",	DENY },
	{ "disk",	DISK },
	{ "engine",	ENGINE },
	{ "events",	EVENTS },
	{ "exec",	EXEC },
	{ "execs",	EXECS },
	{ "files",	FILES },
	{ "group",	GROUP },
	{ "guest",	GUEST },
	{ "history",	HISTORY },
	{ "image",	IMAGE },
	{ "images",	IMAGES },
	{ "include",	INCLUDE },
	{ "limits",	LIMITS },
	{ "log",	LOG },
	{ "memory",	MEMORY },
	{ "mount",	MOUNT },
	{ "network",	NETWORK },
	{ "on",		ON },
	{ "own",	OWN },
	{ "per",	PER },
	{ "pids",	PIDS },
	{ "policy",	POLICY },
	{ "readonly",	READONLY },
	{ "reattach",	REATTACH },
	{ "requests",	REQUESTS },
	{ "restart",	RESTART },
	{ "retain",	RETAIN },
	{ "sandbox",	SANDBOX },
	{ "sandboxes",	SANDBOXES },
	{ "socket",	SOCKET },
	{ "stall",	STALL },
	{ "state",	STATE },
	{ "stop",	STOP },
	{ "subscriptions", SUBSCRIPTIONS },
	{ "swap",	SWAP },
	{ "timeouts",	TIMEOUTS },
	{ "tmp",	TMP },
	{ "to",		TO },
	{ "total",	TOTAL },
	{ "uid",	UID },
	{ "unenforced",	UNENFORCED },
	{ "user",	USER },
};

/* What is left out must not be what the error is about. */
static const char *
shown_rest(const char *s)
{
	return (strlen(s) > 64 ? "..." : "");
}

static const char *
source_name(void)
{
	return (src != NULL ? src->name : conf->file);
}

static void
error_at(int line, const char *fmt, ...)
{
	char		 text[512];
	va_list		 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	conf_error(errors, source_name(), line, "%s", text);
}

void
yyerror(const char *text)
{
	/* yylex has told what is wrong with a token that is none. */
	if (last == NULL)
		return;
	if (src == NULL)
		error_at(last_line, "%s at the end of the file", text);
	else if (*last == '\n')
		error_at(last_line, "%s at the end of the line", text);
	else
		error_at(last_line, "%s at `" SHOWN "'", text, last,
		    shown_rest(last));
}

static void
value_error(const struct token *t, const char *what, const char *why)
{
	error_at(t->line, "invalid %s: " SHOWN ": %s", what, t->string,
	    shown_rest(t->string), why);
}

/* For a buffer of so many bytes. */
static const char *
too_long(size_t size)
{
	static char	 buf[64];

	snprintf(buf, sizeof(buf), "too long: the limit is %zu", size - 1);
	return (buf);
}

static int
once(enum setting s, int line)
{
	if (s == S_MAX)
		return (1);
	if (seen[s].name != NULL) {
		error_at(line, "already set at %s:%d", seen[s].name,
		    seen[s].line);
		return (0);
	}
	seen[s].name = source_name();
	seen[s].line = line;
	return (1);
}

static char *
text_new(const char *s, size_t len)
{
	struct text	*t;

	if ((t = malloc(sizeof(*t) + len + 1)) == NULL)
		return (NULL);
	memcpy(t->s, s, len);
	t->s[len] = '\0';
	SLIST_INSERT_HEAD(&texts, t, entry);
	return (t->s);
}

static void
set_size(enum setting s, uint64_t *to, const char *what,
    const struct token *t, uint64_t min, uint64_t max)
{
	const char	*why;

	if (!once(s, t->line))
		return;
	if ((why = conf_get_size(t->string, min, max, to)) != NULL)
		value_error(t, what, why);
}

static void
set_count(enum setting s, uint32_t *to, const char *what,
    const struct token *t, uint32_t min, uint32_t max)
{
	const char	*why;

	if (!once(s, t->line))
		return;
	if ((why = conf_get_count(t->string, min, max, to)) != NULL)
		value_error(t, what, why);
}

static void
set_time(enum setting s, uint32_t *to, const char *what,
    const struct token *t, uint32_t min, uint32_t max)
{
	const char	*why;

	if (!once(s, t->line))
		return;
	if ((why = conf_get_time(t->string, min, max, to)) != NULL)
		value_error(t, what, why);
}

static void
set_cpus(enum setting s, uint32_t *to, const struct token *t)
{
	const char	*why;

	if (!once(s, t->line))
		return;
	if ((why = conf_get_cpus(t->string, to)) != NULL)
		value_error(t, "cpus", why);
}

static void
set_image(enum setting s, char *to, size_t len, const struct token *t)
{
	if (!once(s, t->line))
		return;
	if (strlcpy(to, t->string, len) >= len)
		value_error(t, "image", too_long(len));
	else if (!spec_valid_image(to))
		value_error(t, "image", "not [host/]name[:tag]");
}

static void
set_path(enum setting s, char *to, size_t len, const char *what,
    const struct token *t)
{
	const char	*why;

	if (!once(s, t->line))
		return;
	if ((why = conf_get_path(t->string, to, len)) != NULL)
		value_error(t, what, why);
}

/* What the Engine is told of paths below it is JSON. */
static void
set_state(const struct token *t)
{
	if (!spec_valid_utf8(t->string) && once(S_STATE, t->line))
		value_error(t, "state", "not UTF-8");
	else
		set_path(S_STATE, conf->state, sizeof(conf->state), "state",
		    t);
}

/* A path that must fit into a socket's address. */
static void
set_socket(const struct token *t)
{
	struct sockaddr_un	 sun;

	if (strlen(t->string) >= sizeof(sun.sun_path) && once(S_SOCKET,
	    t->line))
		value_error(t, "socket", too_long(sizeof(sun.sun_path)));
	else
		set_path(S_SOCKET, conf->socket, sizeof(conf->socket),
		    "socket", t);
}

static void
set_group(char *to, size_t len, gid_t *gid, const struct token *t)
{
	const char	*why;
	uint32_t	 id;

	if ((why = conf_get_group(t->string, &id)) != NULL)
		value_error(t, "group", why);
	else if (strlcpy(to, t->string, len) >= len)
		value_error(t, "group", too_long(len));
	else
		*gid = id;
}

static void
set_engine(const struct token *t)
{
	const char	*why;
	char		 path[sizeof(((struct sockaddr_un *)0)->sun_path)];

	if (!once(S_ENGINE, t->line))
		return;
	/* A TCP socket has no owner, and who reaches it is root. */
	if (strncmp(t->string, "unix://", 7) != 0)
		value_error(t, "engine", "not unix:///path");
	else if ((why = conf_get_path(t->string + 7, path,
	    sizeof(path))) != NULL)
		value_error(t, "engine", why);
	else if ((size_t)snprintf(conf->engine, sizeof(conf->engine),
	    "unix://%s", path) >= sizeof(conf->engine))
		value_error(t, "engine", too_long(sizeof(path)));
}

static void
set_flag(enum setting s, int *to, const char *what, const struct token *t)
{
	if (!once(s, t->line))
		return;
	if (strcmp(t->string, "yes") == 0)
		*to = 1;
	else if (strcmp(t->string, "no") == 0)
		*to = 0;
	else
		value_error(t, what, "neither yes nor no");
}

static void
set_sandbox(const struct token *t)
{
	if (!once(S_SANDBOX, t->line))
		return;
	if (strcmp(t->string, "strict") == 0)
		conf->best_effort = 0;
	else if (strcmp(t->string, "best-effort") == 0)
		conf->best_effort = 1;
	else
		value_error(t, "sandbox", "neither strict nor best-effort");
}

static void
set_network(enum setting s, const struct token *t)
{
	if (!once(s, t->line))
		return;
	if (strcmp(t->string, "none") != 0)
		value_error(t, "network", "not supported by this version");
}

static void
set_log(const struct token *t, const char *per, int line)
{
	uint64_t	*to;
	uint32_t	 bit;

	if (strcmp(per, "exec") == 0) {
		to = &conf->limits.log_exec;
		bit = 1;
	} else if (strcmp(per, "sandbox") == 0) {
		to = &conf->limits.log_sandbox;
		bit = 2;
	} else if (strcmp(per, "total") == 0) {
		to = &conf->limits.log_total;
		bit = 4;
	} else {
		error_at(line, "invalid log: per " SHOWN ": neither exec nor "
		    "sandbox", per, shown_rest(per));
		return;
	}
	if (logs_seen == 0 && !once(S_LIM_LOG, t->line))
		return;
	if (logs_seen & bit) {
		error_at(t->line, "log: %s given twice", per);
		return;
	}
	logs_seen |= bit;
	set_size(S_MAX, to, "log", t, 64 * 1024, SBX_MEMORY_MAX);
}

static void
set_clients(const struct token *all, const struct token *user)
{
	set_count(S_LIM_CLIENTS, &conf->limits.clients, "clients", all, 1,
	    10000);
	if (user != NULL)
		set_count(S_MAX, &conf->limits.clients_user, "clients",
		    user, 1, 10000);
	else if (conf->limits.clients_user > conf->limits.clients)
		conf->limits.clients_user = conf->limits.clients;
}

static void
set_uids(const struct token *min, const struct token *max)
{
	int	 before = errors->count;

	set_count(S_UID, &conf->uid_min, "uid", min, CONF_UID_LEAST,
	    INT32_MAX);
	set_count(S_MAX, &conf->uid_max, "uid", max, CONF_UID_LEAST,
	    INT32_MAX);
	if (errors->count == before && conf->uid_min > conf->uid_max)
		value_error(max, "uid", "below the first");
}

/*
 * A pattern that can match no name of an image would allow or deny nothing,
 * and nobody would be told: other characters, or a bracket without its end,
 * which fnmatch(3) takes for itself.
 */
static int
pattern_is_one(const char *s)
{
	const char	*p;

	for (; *s != '\0'; s++) {
		if (*s != '[') {
			if (!isalnum((unsigned char)*s) &&
			    strchr("._-/:@*?", *s) == NULL)
				return (0);
			continue;
		}
		/* A bracket at once after the first is one of the set. */
		p = s + 1 + (s[1] == '!' || s[1] == '^');
		for (s = p; *s != ']' || s == p; s++) {
			if (*s == '[' && s[1] == ':' &&
			    (s = strstr(s + 2, ":]")) != NULL)
				s++;
			if (s == NULL || *s == '\0')
				return (0);
		}
	}
	return (1);
}

static void
add_image(const struct token *t, int allow)
{
	if (*t->string == '\0')
		value_error(t, "image", "empty");
	else if (strlen(t->string) > SBX_IMAGE_MAX)
		value_error(t, "image", too_long(SBX_IMAGE_MAX + 1));
	else if (!pattern_is_one(t->string))
		value_error(t, "image", "a pattern that matches no name");
	else if (conf_add_image(conf, t->string, allow) == -1)
		value_error(t, "image", "too many patterns: the limit is 256");
}

/* Of a line that is wrong the name stays NULL. */
static void
set_who(struct rule_who *w, enum who who, const struct token *t)
{
	const char	*why;

	free(w->name);
	memset(w, 0, sizeof(*w));
	w->who = who;
	if (who == WHO_ANY)
		return;
	if (who == WHO_GROUP)
		why = conf_get_group(t->string, &w->id);
	else
		why = conf_get_user(t->string, &w->id);
	if (why == NULL && (w->name = strdup(t->string)) == NULL)
		why = strerror(errno);
	if (why != NULL)
		value_error(t, who == WHO_GROUP ? "group" : "user", why);
}

/*
 * What a rule leaves out is in doubt against the user: without rights it
 * gives those about sandboxes and takes every one, without a scope it gives
 * the own ones and takes all.
 */
static void
add_rule(int allow, const struct token *at, int rights, int scope)
{
	struct right_rule	 r;

	if (whom.who != WHO_ANY && whom.name == NULL)
		return;
	memset(&r, 0, sizeof(r));
	r.w = whom;
	r.allow = allow;
	r.rights = rights != 0 ? (uint32_t)rights : allow ? RIGHTS_SANDBOX :
	    RIGHTS_ALL;
	r.all = scope != -1 ? scope : !allow;
	if (!allow && whom.who == WHO_USER && whom.id == 0)
		error_at(at->line, "deny: root may everything");
	else if ((r.place = conf_add_place(conf, source_name(),
	    at->line)) == 0 || conf_add_rule(conf, &r) == -1)
		error_at(at->line, "%s: too many rules: the limit is 256",
		    allow ? "allow" : "deny");
	else
		memset(&whom, 0, sizeof(whom));
}

static void
sum_each(const struct token *t, const struct token *per)
{
	if (strcmp(per->string, "sandbox") != 0)
		error_at(per->line, "per %s: not per sandbox", per->string);
	else if (sum.each.string != NULL)
		error_at(t->line, "per sandbox given twice");
	else
		sum.each = *t;
}

static void
sum_total(const struct token *t)
{
	if (sum.total.string != NULL)
		error_at(t->line, "total given twice");
	else
		sum.total = *t;
}

static const struct {
	uint32_t	 min;
	uint32_t	 max;
} limit_range[LIMIT_MAX] = {
	[LIMIT_SANDBOXES] = { 1, 100000 },
	[LIMIT_EXECS] = { 1, 100000 },
	[LIMIT_PIDS] = { SBX_PIDS_MIN, UINT32_MAX },
	[LIMIT_PIDS_EACH] = { SBX_PIDS_MIN, SBX_PIDS_MAX },
	[LIMIT_CREATES] = { 1, 1000000 },
	[LIMIT_REQUESTS] = { 1, 1000000 },
	[LIMIT_CLIENTS] = { 1, 10000 },
	[LIMIT_SUBSCRIPTIONS] = { 1, 100000 },
};

/* One value of a limit, and of a rate the time. */
static int
get_bound(enum limit l, const struct token *t, const struct token *per,
    struct bound *b)
{
	const char	*why = NULL;
	char		 what[32];
	uint32_t	 n;

	memset(b, 0, sizeof(*b));
	strlcpy(what, limit_name(l), sizeof(what));
	what[strcspn(what, " ")] = '\0';
	switch (l) {
	case LIMIT_CPUS:
	case LIMIT_CPUS_EACH:
		if ((why = conf_get_cpus(t->string, &n)) == NULL)
			b->most = n;
		break;
	case LIMIT_MEMORY:
	case LIMIT_MEMORY_EACH:
		why = conf_get_size(t->string, SBX_MEMORY_MIN,
		    SBX_MEMORY_MAX, &b->most);
		break;
	default:
		if ((why = conf_get_count(t->string, limit_range[l].min,
		    limit_range[l].max, &n)) == NULL)
			b->most = n;
		break;
	}
	if (why != NULL) {
		value_error(t, what, why);
		return (-1);
	}
	if (per == NULL)
		return (0);
	if ((why = conf_get_time(per->string, 1, 86400, &n)) != NULL) {
		value_error(per, what, why);
		return (-1);
	}
	b->per = n * 1000ULL;
	return (0);
}

/* Of all together; what one sandbox may have is a limit of old. */
static void
sum_all(enum setting s, enum limit l)
{
	const struct token	*t = sum.each.string != NULL ? &sum.each :
				    &sum.total;

	if (t->string != NULL && once(s, t->line)) {
		if (sum.total.string != NULL)
			(void)get_bound(l, &sum.total, NULL,
			    &conf->limits.all[l]);
		if (sum.each.string == NULL)
			;
		else if (l == LIMIT_MEMORY)
			set_size(S_MAX, &conf->limits.memory, "memory",
			    &sum.each, SBX_MEMORY_MIN, SBX_MEMORY_MAX);
		else if (l == LIMIT_CPUS)
			set_cpus(S_MAX, &conf->limits.cpus, &sum.each);
		else
			set_count(S_MAX, &conf->limits.pids, "pids",
			    &sum.each, SBX_PIDS_MIN, SBX_PIDS_MAX);
	}
	memset(&sum, 0, sizeof(sum));
}

static void
rate_all(enum setting s, enum limit l, const struct token *t,
    const struct token *per)
{
	if (once(s, t->line))
		(void)get_bound(l, t, per, &conf->limits.all[l]);
}

static void
user_limit(enum limit l, const struct token *t, const struct token *per)
{
	struct limit_rule	 r;

	if (whom.who != WHO_ANY && whom.name == NULL)
		return;
	memset(&r, 0, sizeof(r));
	r.w = whom;
	r.limit = l;
	if (block_seen & 1U << l) {
		error_at(t->line, "%s given twice", limit_name(l));
		return;
	}
	block_seen |= 1U << l;
	if (get_bound(l, t, per, &r.b) == -1)
		return;
	if ((r.b.place = conf_add_place(conf, source_name(), t->line)) == 0 ||
	    conf_add_limit(conf, &r) == -1)
		error_at(t->line, "limits: too many");
}

static void
sum_user(enum limit each, enum limit total)
{
	if (sum.each.string != NULL)
		user_limit(each, &sum.each, NULL);
	if (sum.total.string != NULL)
		user_limit(total, &sum.total, NULL);
	memset(&sum, 0, sizeof(sum));
}

static void
macro_define(const struct token *name, const struct token *value)
{
	struct macro	*m;
	const char	*p;

	for (p = name->string; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '_') {
			value_error(name, "macro",
			    "not of letters, digits and underscores");
			return;
		}
	if (name->string[0] == '\0') {
		value_error(name, "macro", "empty");
		return;
	}
	/* Which of two values is meant would hang on the order of files. */
	if (macro_find(name->string) != NULL) {
		value_error(name, "macro", "already defined");
		return;
	}
	if ((m = calloc(1, sizeof(*m))) == NULL) {
		value_error(name, "macro", strerror(errno));
		return;
	}
	m->name = name->string;
	m->value = value->string;
	SLIST_INSERT_HEAD(&macros, m, entry);
}

static const char *
macro_find(const char *name)
{
	struct macro	*m;

	SLIST_FOREACH(m, &macros, entry)
		if (strcmp(m->name, name) == 0)
			return (m->value);
	return (NULL);
}

static struct source *
source_push(const char *name, char *buf, size_t len)
{
	struct source	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return (NULL);
	s->name = name;
	s->buf = buf;
	s->len = len;
	s->line = 1;
	s->bol = 1;
	s->up = src;
	src = s;
	return (s);
}

static void
source_pop(void)
{
	struct source	*s = src;

	src = s->up;
	free(s->buf);
	free(s);
}

/*
 * Whoever can write the file is root to the sandboxes of everyone: it must
 * belong to root or to us, and nobody else may write it.
 */
static const char *
source_read(const char *path, char **bufp, size_t *lenp)
{
	static char	 why[128];
	struct stat	 st;
	char		*buf = NULL;
	size_t		 len = 0;
	ssize_t		 n;
	int		 fd;

	why[0] = '\0';
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
	    O_NONBLOCK)) == -1 || fstat(fd, &st) == -1) {
		strlcpy(why, strerror(errno), sizeof(why));
		goto done;
	}
	if (!S_ISREG(st.st_mode))
		strlcpy(why, "not a regular file", sizeof(why));
	else if (st.st_uid != 0 && st.st_uid != getuid())
		snprintf(why, sizeof(why), "owned by uid %u, neither root "
		    "nor ours", (unsigned int)st.st_uid);
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		snprintf(why, sizeof(why), "mode %04o: writable by others",
		    (unsigned int)st.st_mode & 07777);
	else if (st.st_size > CONF_FILE_MAX)
		snprintf(why, sizeof(why), "too large: the limit is %d",
		    CONF_FILE_MAX);
	else if ((buf = malloc(CONF_FILE_MAX)) == NULL)
		strlcpy(why, strerror(errno), sizeof(why));
	if (why[0] != '\0')
		goto done;
	while (len < CONF_FILE_MAX) {
		if ((n = read(fd, buf + len, CONF_FILE_MAX - len)) == -1) {
			if (errno == EINTR)
				continue;
			strlcpy(why, strerror(errno), sizeof(why));
			goto done;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (memchr(buf, '\0', len) != NULL)
		strlcpy(why, "contains a NUL byte", sizeof(why));
done:
	if (fd != -1)
		close(fd);
	if (why[0] != '\0') {
		free(buf);
		return (why);
	}
	*bufp = buf;
	*lenp = len;
	return (NULL);
}

/* The text of the file comes next, before the rest of the including one. */
static void
source_open(const struct token *t)
{
	struct source	*s;
	const char	*why;
	char		*buf, *name;
	size_t		 len;
	int		 depth = 0;

	/* Eight deep alone would be any number of files. */
	if (++nsources > CONF_SOURCES_MAX) {
		value_error(t, "include", "too many files: the limit is 256");
		return;
	}
	for (s = src; s != NULL; s = s->up)
		depth++;
	if (depth >= CONF_INCLUDE_MAX) {
		value_error(t, "include", "too deep: the limit is 8");
		return;
	}
	if (*t->string != '/' && src != NULL) {
		value_error(t, "include", "not an absolute path");
		return;
	}
	if ((why = source_read(t->string, &buf, &len)) != NULL) {
		if (src == NULL)
			conf_error(errors, t->string, 0, "%s", why);
		else
			value_error(t, "include", why);
		return;
	}
	if ((name = text_new(t->string, strlen(t->string))) == NULL ||
	    source_push(name, buf, len) == NULL) {
		free(buf);
		value_error(t, "include", strerror(errno));
	}
}

/* The next character, or -1 at the end of this source. */
static int
peek(void)
{
	if (src->pos == src->len)
		return (-1);
	return ((unsigned char)src->buf[src->pos]);
}

static int
is_word(int c)
{
	return (c != -1 && (isalnum(c) || (ispunct(c) && c != '"' &&
	    c != '#' && c != '$' && c != '{' && c != '}' && c != '=' &&
	    c != ',' && c != '\\')));
}

static int
lex_bad(const char *text)
{
	error_at(src->line, "%s", text);
	last = NULL;
	return (BAD);
}

static int
lex_quoted(void)
{
	char	 buf[4096];
	size_t	 len = 0;
	int	 c;

	src->pos++;
	while ((c = peek()) != '"') {
		if (c == -1 || c == '\n')
			return (lex_bad("string without an end"));
		src->pos++;
		if (c == '\\' && (peek() == '"' || peek() == '\\')) {
			c = peek();
			src->pos++;
		}
		if (c < ' ' || c == 0x7f)
			return (lex_bad("control character in a string"));
		if (len == sizeof(buf) - 1)
			return (lex_bad("string too long: the limit is 4095"));
		buf[len++] = (char)c;
	}
	src->pos++;
	if ((yylval.string = text_new(buf, len)) == NULL)
		return (lex_bad(strerror(errno)));
	last = yylval.string;
	return (STRING);
}

/* A word that begins a line; a group may be called sandbox, without quotes. */
static int
lex_word(int first)
{
	size_t	 i, start = src->pos;

	while (is_word(peek()))
		src->pos++;
	if ((yylval.string = text_new(src->buf + start,
	    src->pos - start)) == NULL)
		return (lex_bad(strerror(errno)));
	last = yylval.string;
	for (i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (strcmp(yylval.string, keywords[i].word) == 0)
			return (keywords[i].token == SANDBOX && !first ?
			    STRING : keywords[i].token);
	return (STRING);
}

/* $name is one string, whatever words and blanks its value holds. */
static int
lex_macro(void)
{
	const char	*value;
	char		 name[64];
	size_t		 len = 0;
	int		 c;

	src->pos++;
	while ((c = peek()) != -1 && (isalnum(c) || c == '_')) {
		if (len == sizeof(name) - 1)
			return (lex_bad("macro's name too long: the limit is "
			    "63"));
		name[len++] = (char)c;
		src->pos++;
	}
	name[len] = '\0';
	if ((value = macro_find(name)) == NULL) {
		error_at(src->line, "macro `%s' is not defined", name);
		last = NULL;
		return (BAD);
	}
	yylval.string = last = value;
	return (STRING);
}

/* Blanks, comments, and newlines that a backslash takes away. */
static void
skip_blanks(void)
{
	int	 c;

	while ((c = peek()) != -1) {
		if (c == '#') {
			while ((c = peek()) != -1 && c != '\n')
				src->pos++;
		} else if (c == '\\' && src->pos + 1 < src->len &&
		    src->buf[src->pos + 1] == '\n') {
			src->pos += 2;
			src->line++;
		} else if (c == ' ' || c == '\t' || c == '\r')
			src->pos++;
		else
			break;
	}
}

int
yylex(void)
{
	static char	 one[2];
	int		 c, first;

	for (;;) {
		if (src == NULL)
			return (0);
		skip_blanks();
		if ((c = peek()) != -1)
			break;
		/* A last line without its newline is a line. */
		if (!src->bol) {
			src->bol = 1;
			yylval.line = last_line = src->line;
			last = "\n";
			return ('\n');
		}
		source_pop();
	}
	yylval.line = last_line = src->line;
	yylval.string = NULL;
	first = src->bol;
	src->bol = 0;
	if (c == '\n') {
		src->pos++;
		src->line++;
		src->bol = 1;
		last = "\n";
		return ('\n');
	}
	if (c == '"')
		return (lex_quoted());
	if (c == '$')
		return (lex_macro());
	if (is_word(c))
		return (lex_word(first));
	src->pos++;
	one[0] = (char)c;
	last = one;
	if (c == '{' || c == '}' || c == '=' || c == ',')
		return (c);
	if (!isprint(c))
		return (lex_bad("character that is not text"));
	return (BAD);
}

static void
parse_reset(void)
{
	struct text	*t;
	struct macro	*m;

	while (src != NULL)
		source_pop();
	while ((m = SLIST_FIRST(&macros)) != NULL) {
		SLIST_REMOVE_HEAD(&macros, entry);
		free(m);
	}
	while ((t = SLIST_FIRST(&texts)) != NULL) {
		SLIST_REMOVE_HEAD(&texts, entry);
		free(t);
	}
	free(whom.name);
	memset(&whom, 0, sizeof(whom));
	memset(&sum, 0, sizeof(sum));
	memset(seen, 0, sizeof(seen));
	logs_seen = 0;
	nsources = 0;
	last = NULL;
	last_line = 0;
}

/* Where a setting was made, or its absence if it was not. */
static void
check_error(enum setting s, const char *text)
{
	conf_error(errors, seen[s].name != NULL ? seen[s].name : conf->file,
	    seen[s].line, "%s", text);
}

/* What can be said of the settings only together. */
static void
check_settings(void)
{
	const struct conf_defaults	*d = &conf->defaults;
	const struct conf_limits	*l = &conf->limits;
	char				 text[256];

	if (d->memory > l->memory)
		check_error(seen[S_LIM_MEMORY].line ? S_LIM_MEMORY :
		    S_DEF_MEMORY, "memory: default above the limit");
	if (d->cpus > l->cpus)
		check_error(seen[S_LIM_CPUS].line ? S_LIM_CPUS : S_DEF_CPUS,
		    "cpus: default above the limit");
	if (d->pids > l->pids)
		check_error(seen[S_LIM_PIDS].line ? S_LIM_PIDS : S_DEF_PIDS,
		    "pids: default above the limit");
	if (d->tmp > d->memory)
		check_error(seen[S_DEF_TMP].line ? S_DEF_TMP : S_DEF_MEMORY,
		    "tmp: more than memory");
	if (strcmp(conf->socket, conf_engine_path(conf)) == 0)
		check_error(seen[S_SOCKET].line ? S_SOCKET : S_ENGINE,
		    "socket: the same as the Engine's");
	if (l->clients_user > l->clients)
		check_error(S_LIM_CLIENTS, "clients: more per user than of "
		    "all");
	if (l->log_exec > l->log_sandbox)
		check_error(S_LIM_LOG, "log: more per exec than per sandbox");
	if (l->log_sandbox > l->log_total)
		check_error(S_LIM_LOG, "log: more per sandbox than in total");
	if (conf_check_uids(conf, text, sizeof(text)) == -1)
		check_error(S_UID, text);
}

struct config *
conf_parse(const char *file, struct conf_errors *errs)
{
	struct config	*ret;
	struct token	 t;
	int		 before = errs->count;

	if ((conf = conf_new(file)) == NULL) {
		conf_error(errs, file, 0, "%s", strerror(errno));
		return (NULL);
	}
	errors = errs;
	memset(&t, 0, sizeof(t));
	t.string = file;
	source_open(&t);
	if (src != NULL) {
		(void)yyparse();
		check_settings();
	}
	parse_reset();
	ret = conf;
	conf = NULL;
	errors = NULL;
	if (errs->count != before) {
		conf_free(ret);
		return (NULL);
	}
	return (ret);
}
