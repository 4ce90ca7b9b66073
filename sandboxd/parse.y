%{
/*
 * The grammar of sandboxd.conf(5), and its reader.
 *
 * Every value arrives as a string with the line it stood on and is converted
 * in an action, so that a wrong value is an error of its own line and parsing
 * goes on: all errors of a file are told in one run.  The strings of a run
 * live in one list and are freed with it, whatever path the parser takes.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "sandboxd.h"

#define YYSTYPE struct token

struct config		*conf;
struct conf_errors	*conf_errs;

int		 yylex(void);
int		 yyparse(void);

%}

%token	ADMIN ALL ALLOW ANY CLIENTS CPUS CREATE CREATES DEFAULTS DELETE DENY
%token	DISK ENGINE EVENTS EXEC EXECS FAILED FILES GROUP GUEST HISTORY IDLE
%token	IMAGE IMAGES INCLUDE LIFETIME LIMITS LOG MEMORY MOUNT NETWORK ON OWN
%token	PER PIDS POLICY READONLY REASON REATTACH REQUESTS RESTART RESUME RETAIN
%token	SANDBOX SANDBOXES SOCKET STALL STATE STOP STOPPED STRAY SUBSCRIPTIONS
%token	SWAP TIMEOUTS TMP TO TOTAL UID UNENFORCED USER
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
		| ENGINE engine
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

engine		: STRING			{ set_engine(&$1); }
		| engine GROUP STRING		{ set_engine_group(&$3); }
		| engine USER STRING		{ set_engine_user(&$3); }
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

who		: /* empty */		{ set_who(WHO_ANY, NULL); }
		| ANY			{ set_who(WHO_ANY, NULL); }
		| USER STRING		{ set_who(WHO_USER, &$2); }
		| GROUP STRING		{ set_who(WHO_GROUP, &$2); }
		;

whose		: ANY			{ set_whose(WHO_ANY, NULL); }
		| USER STRING		{ set_whose(WHO_USER, &$2); }
		| GROUP STRING		{ set_whose(WHO_GROUP, &$2); }
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
		| DISK STRING {
			set_size(S_DEF_DISK, &conf->defaults.disk, "disk",
			    &$2, SBX_DISK_MIN, SBX_DISK_MAX);
		}
		| NETWORK STRING { set_network(S_DEF_NETWORK, &$2); }
		| READONLY STRING {
			set_flag(S_DEF_READONLY, &conf->defaults.readonly,
			    "readonly", &$2);
		}
		| RESUME STRING {
			set_flag(S_DEF_RESUME, &conf->defaults.resume,
			    "resume-on-start", &$2);
		}
		| TMP STRING {
			set_size(S_DEF_TMP, &conf->defaults.tmp, "tmp",
			    &$2, 4096, SBX_MEMORY_MAX);
		}
		| LIFETIME STRING {
			set_span(S_DEF_LIFETIME, &conf->defaults.lifetime,
			    "lifetime", &$2);
		}
		| IDLE STRING {
			set_span(S_DEF_IDLE, &conf->defaults.idle, "idle",
			    &$2);
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
		| LIFETIME STRING {
			set_span(S_LIM_LIFETIME, &conf->limits.lifetime,
			    "lifetime", &$2);
		}
		| LOG logs			{ set_log_end(); }
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
			set_size(S_LIM_DISK, &conf->limits.disk, "disk", &$2,
			    SBX_DISK_MIN, SBX_DISK_MAX);
		}
		| DISK sums	{ sum_all(S_LIM_DISK, LIMIT_DISK); }
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
		| LOG STRING TOTAL	{ user_limit(LIMIT_LOG, &$2, NULL); }
		| CREATES STRING PER STRING {
			user_limit(LIMIT_CREATES, &$2, &$4);
		}
		| REQUESTS STRING PER STRING {
			user_limit(LIMIT_REQUESTS, &$2, &$4);
		}
		| DISK sums {
			sum_user(LIMIT_DISK_EACH, LIMIT_DISK);
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
		| REASON STRING {
			if (strcmp($2.string, "required") != 0)
				value_error(&$2, "reason", "not required");
			else
				conf->need_reason = 1;
		}
		| UNENFORCED names
		| NETWORK ALLOW STRING		{ set_network(S_MAX, &$3); }
		| MOUNT ALLOW mount
		| MOUNT DENY STRING		{ add_mount(&$3, 0); }
		;

allowed		: STRING			{ add_image(&$1, 1); }
		| allowed STRING		{ add_image(&$2, 1); }
		;

denied		: STRING			{ add_image(&$1, 0); }
		| denied STRING			{ add_image(&$2, 0); }
		;

mount		: STRING			{ add_mount(&$1, 1); }
		| mount STRING			{ mount_option(&$2); }
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
		| STOPPED STRING {
			set_span(S_RET_STOPPED, &conf->retain.stopped,
			    "stopped", &$2);
		}
		| FAILED STRING {
			set_span(S_RET_FAILED, &conf->retain.failed,
			    "failed", &$2);
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
		| STRAY STRING {
			set_time(S_TMO_STRAY, &conf->timeouts.stray,
			    "stray", &$2, 0, 30 * 86400);
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
	{ "failed",	FAILED },
	{ "files",	FILES },
	{ "group",	GROUP },
	{ "guest",	GUEST },
	{ "history",	HISTORY },
	{ "idle",	IDLE },
	{ "image",	IMAGE },
	{ "images",	IMAGES },
	{ "include",	INCLUDE },
	{ "lifetime",	LIFETIME },
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
	{ "reason",	REASON },
	{ "reattach",	REATTACH },
	{ "requests",	REQUESTS },
	{ "restart",	RESTART },
	{ "resume-on-start", RESUME },
	{ "retain",	RETAIN },
	{ "sandbox",	SANDBOX },
	{ "sandboxes",	SANDBOXES },
	{ "socket",	SOCKET },
	{ "stall",	STALL },
	{ "state",	STATE },
	{ "stop",	STOP },
	{ "stopped",	STOPPED },
	{ "stray",	STRAY },
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

int
yylex(void)
{
	size_t	 i;
	int	 c;

	switch ((c = lex_token(&yylval))) {
	case LEX_BAD:
		return (BAD);
	case LEX_FIRST:
	case LEX_WORD:
		for (i = 0; i < nitems(keywords); i++)
			if (strcmp(yylval.string, keywords[i].word) == 0)
				break;
		/* A group may be called sandbox, without quotes. */
		if (i < nitems(keywords) && (c == LEX_FIRST ||
		    keywords[i].token != SANDBOX))
			return (keywords[i].token);
		return (STRING);
	case LEX_STRING:
		return (STRING);
	default:
		return (c);
	}
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
	conf_errs = errs;
	memset(&t, 0, sizeof(t));
	t.string = file;
	source_open(&t);
	if (source_top() != NULL) {
		(void)yyparse();
		check_settings();
	}
	source_reset();
	lex_reset();
	set_reset();
	who_reset();
	ret = conf;
	conf = NULL;
	conf_errs = NULL;
	if (errs->count != before) {
		conf_free(ret);
		return (NULL);
	}
	return (ret);
}
