/*
 * Between the parts of the configuration's reader: its files, its words, its
 * grammar and what the statements set.  One configuration is read at a time.
 */

#ifndef PARSE_H
#define PARSE_H

#include <sys/types.h>
#include <sys/queue.h>

#include <stdint.h>

#include "conf.h"

#define SHOWN	"%.64s%s"	/* a text in an error, and its rest */

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

struct token {
	const char	*string;
	int		 number;
	int		 line;
};

/* What a token can be beside a character of its own, and 0 at the end. */
enum lex {
	LEX_BAD = 256,
	LEX_STRING,		/* quoted, or a macro: no keyword */
	LEX_FIRST,		/* a word that begins a line */
	LEX_WORD
};

/* What a statement sets; each may be set once. */
enum setting {
	S_STATE, S_SOCKET, S_ENGINE, S_GUEST, S_UID, S_RESTART, S_SANDBOX,
	S_DEF_IMAGE, S_DEF_MEMORY, S_DEF_CPUS, S_DEF_PIDS, S_DEF_NETWORK,
	S_DEF_READONLY, S_DEF_RESUME, S_DEF_TMP, S_DEF_LIFETIME, S_DEF_IDLE,
	S_LIM_SANDBOXES, S_LIM_EXECS, S_LIM_LOG, S_LIM_CLIENTS, S_LIM_MEMORY,
	S_LIM_CPUS, S_LIM_PIDS, S_LIM_CREATES, S_LIM_REQUESTS, S_LIM_SUBS,
	S_LIM_LIFETIME, S_LIM_DISK, S_DEF_DISK,
	S_RET_HISTORY, S_RET_STOPPED, S_RET_FAILED,
	S_TMO_CREATE, S_TMO_STOP, S_TMO_DELETE, S_TMO_ENGINE, S_TMO_REATTACH,
	S_TMO_STALL, S_TMO_STRAY,
	S_MAX
};

/* parse.y */
extern struct config		*conf;		/* what is being made */
extern struct conf_errors	*conf_errs;

/* conf_file.c */
struct source	*source_top(void);
const char	*source_name(void);
void		 source_open(const struct token *);
void		 source_pop(void);
void		 source_reset(void);
char		*text_new(const char *, size_t);
const char	*shown_rest(const char *);
void		 error_at(int, const char *, ...)
		    __attribute__((__format__(printf, 2, 3)));
void		 value_error(const struct token *, const char *, const char *);

/* conf_lex.c */
int		 lex_token(struct token *);
void		 lex_reset(void);
void		 yyerror(const char *);
void		 macro_define(const struct token *, const struct token *);

/* conf_set.c; of S_MAX there may be more than one */
int		 once(enum setting, int);
void		 set_size(enum setting, uint64_t *, const char *,
		    const struct token *, uint64_t, uint64_t);
void		 set_count(enum setting, uint32_t *, const char *,
		    const struct token *, uint32_t, uint32_t);
void		 set_time(enum setting, uint32_t *, const char *,
		    const struct token *, uint32_t, uint32_t);
void		 set_span(enum setting, uint32_t *, const char *,
		    const struct token *);
void		 set_cpus(enum setting, uint32_t *, const struct token *);
void		 set_image(enum setting, char *, size_t, const struct token *);
void		 set_path(enum setting, char *, size_t, const char *,
		    const struct token *);
void		 set_state(const struct token *);
void		 set_socket(const struct token *);
void		 set_group(char *, size_t, gid_t *, const struct token *);
void		 set_engine(const struct token *);
void		 set_engine_group(const struct token *);
void		 set_engine_user(const struct token *);
void		 set_flag(enum setting, int *, const char *,
		    const struct token *);
void		 set_sandbox(const struct token *);
void		 set_network(enum setting, const struct token *);
void		 set_log(const struct token *, const char *, int);
void		 set_log_end(void);
void		 set_clients(const struct token *, const struct token *);
void		 set_uids(const struct token *, const struct token *);
void		 add_image(const struct token *, int);
void		 add_mount(const struct token *, int);
void		 mount_option(const struct token *);	/* of the last */
void		 check_settings(void);
void		 set_reset(void);

/* conf_who.c */
void		 set_who(enum who, const struct token *);
void		 set_whose(enum who, const struct token *);
void		 add_rule(int, const struct token *, int, int);
void		 sum_each(const struct token *, const struct token *);
void		 sum_total(const struct token *);
void		 sum_all(enum setting, enum limit);
void		 sum_user(enum limit, enum limit);
void		 rate_all(enum setting, enum limit, const struct token *,
		    const struct token *);
void		 user_limit(enum limit, const struct token *,
		    const struct token *);
void		 who_reset(void);

#endif /* PARSE_H */
