/*
 * sandboxctl.h: what the files of sandboxctl share.
 */

#ifndef SANDBOXCTL_H
#define SANDBOXCTL_H

#include <sys/types.h>

#include <stdint.h>
#include <stdio.h>

#include "libsandbox.h"
#include "msg.h"

/* How exec, run and wait leave when it is not the command that speaks. */
#define EXIT_TIMEOUT		124
#define EXIT_OURS		125
#define EXIT_CANNOT		126
#define EXIT_NOTFOUND		127
#define EXIT_SIGNAL		128

#define CONTROLS_MAX		64	/* of doctor, and of one sandbox */
#define EXIT_UNPROTECTED	1	/* of doctor: not all is enforced */
#define EXIT_UNREACHABLE	1	/* of wait: it never comes to that */

/* ms to wait for a daemon's return: more than it pauses after many deaths */
#define CTL_AGAIN		90000

struct ctl;

/* An option of a command; options.h has the kinds. */
struct option_def {
	char		 letter;	/* 0 at the end of a table */
	int		 many;		/* it may be given again */
	const char	*arg;		/* its argument, NULL: it takes none */
	int		(*take)(struct ctl *, const struct option_def *,
			    const char *);	/* 0, -1, PARSE_TWICE */
	size_t		 at;		/* of the field in struct ctl */
	size_t		 given;		/* of an int that becomes 1, or 0 */
	uint64_t	 min;		/* of a number */
	uint64_t	 max;
	const char	*must;		/* what its argument must be */
};

#define CMD_STATUS	0x1	/* exit statuses are those of exec */
#define CMD_LOCAL	0x2	/* connects by itself */
#define CMD_EMPTY	0x4	/* from the third on, arguments may be empty */

struct command {
	const char		*name;	/* one word or two */
	const struct option_def	*opts;	/* sorted, ends with letter 0 */
	const char		*args;	/* for the usage, "" if none */
	int			 min;	/* arguments after the options */
	int			 max;	/* -1: any number */
	int			 flags;
	int			(*run)(struct ctl *);
};

/* The command line, parsed. */
struct ctl {
	const char		*socket;
	int			 json;
	const struct command	*cmd;
	int			 argc;
	char		       **argv;

	int			 all;		/* -a */
	const char		*reason;	/* -b */
	uint32_t		 call;		/* CALL_F_* of the tools */
	uint64_t		 context;	/* -C */
	uint32_t		 mcpus;		/* -c */
	int			 changes;	/* -c of exec, -D of run */
	uint64_t		 gate;		/* -Z, the status; 0: none */
	int			 detach;	/* -d */
	struct kvv		 env;		/* -e, -E */
	int			 end;		/* -E */
	int			 follow;	/* -f, also of reconcile */
	uint32_t		 grace;		/* -g; ms */
	uint32_t		 heartbeat;	/* -H; ms */
	int			 execute;	/* -x of reload */
	const char		*glob;		/* -G */
	struct strv		 include;	/* -G of exec, run */
	struct strv		 outside;	/* -X of exec, run */
	const char		*id;		/* -i */
	const char		*image;		/* -I */
	uint64_t		 keep;		/* -k; ms */
	int			 interactive;	/* -i of exec */
	const char		*keys;		/* -K */
	struct kvv		 labels;	/* -l */
	struct strv		 unlabel;	/* -l name- */
	struct kvv		 select;	/* -L */
	uint64_t		 memory;	/* -m */
	uint64_t		 max;		/* -M */
	int			 max_set;
	uint64_t		 from;		/* -n */
	int			 given;		/* it was */
	int			 oldest;	/* -O */
	int			 stream;	/* -o; 0: both */
	uint32_t		 pids;		/* -p */
	uint64_t		 disk;		/* -S, bytes */
	uint64_t		 tmpfs;		/* -M, bytes */
	int			 readonly;	/* -r */
	int			 resume;	/* -R */
	uint64_t		 idle;		/* -q; ms */
	int			 signo;		/* -s; 0: cancel */
	const char		*state;		/* -S */
	uint64_t		 timeout;	/* -t; ms */
	struct strv		 types;		/* -t of events */
	uint64_t		 lifetime;	/* -T; ms */
	const char		*companion_of;	/* -W */
	const char		*user;		/* -u */
	const char		*dir;		/* -w */

	/* Of commands about files. */
	int			 atomic;	/* -a */
	int			 force;		/* -f */
	int			 contents;	/* -c of mark */
	int			 longer;	/* -l */
	const char		*mark;		/* -M of diff, export */
	uint64_t		 most;		/* -m; -B of create */
	int			 parents;	/* -p */
	int			 patch;		/* -p of export */
	int			 recurse;	/* -r, -R */
	struct strv		 exclude;	/* -x */

	/* Of what a new sandbox is given. */
	struct strv		 seeds;		/* -C; local:remote */
	int			 secrets;	/* -A; and keys too */
	int			 keep_failed;	/* -F */
	const char		*prepare;	/* -P */
	struct strv		 tools;		/* -H, of the host */
	struct kvv		 mounts;	/* -v; remote: local */
	struct kvv		 mounts_rw;	/* the same, with :rw */

	struct sandbox		*conn;
	int			 failed;	/* exit status of a first error */
	enum code		 code;		/* of the last; CODE_OK: none */
};

/* parser.c */
extern const struct command	 commands[];
extern const size_t		 ncommands;
int		 parse(struct ctl *, int, char **, char *, size_t);
void		 parse_free(struct ctl *);
void		 usage_command(FILE *, const struct command *);
void		 usage(FILE *);

/* values.c; 0, or -1 if the text is no such value */
#define PARSE_TWICE	(-2)	/* a name that has a value already */
int		 parse_keys(const char *, const char **);
int		 parse_milli(const char *, uint64_t *);
int		 parse_minus(struct strv *, const char *);
int		 parse_number(const char *, long long, long long, uint64_t *);
int		 parse_pair(struct kvv *, const char *, int);
int		 parse_signal(const char *);	/* 0: it is none */
int		 parse_size(const char *, uint64_t *);
int		 parse_span(const char *, uint64_t *);
int		 parse_stream(const char *, int *);

/* sandboxctl.c */
int		 ctl_open(struct ctl *);
int		 ctl_lost(const struct ctl *);
int		 ctl_reopen(struct ctl *);
int		 ctl_error(struct ctl *);
int		 ctl_error_code(struct ctl *, enum code, const char *,
		    const char *);
int		 ctl_errno(struct ctl *, const char *);
int		 ctl_too_long(struct ctl *, const char *, size_t);
void		 ctl_ref(struct ctl *, const struct proto_sandbox *, char *,
		    size_t);

/* host_tool.c: what -H stands for; -1 and the error told. */
int		 host_tools(struct ctl *);

/* cmd_daemon.c */
int		 cmd_ping(struct ctl *);
int		 cmd_reconcile(struct ctl *);
int		 cmd_reload(struct ctl *);
int		 cmd_rules(struct ctl *);
int		 cmd_status(struct ctl *);
int		 cmd_version(struct ctl *);

/* cmd_doctor.c */
int		 cmd_doctor(struct ctl *);

/* cmd_sandbox.c */
void		 create_key(struct proto_create *);
int		 create_fill(struct ctl *, struct proto_create *);
int		 cmd_create(struct ctl *);
int		 cmd_extend(struct ctl *);
int		 cmd_list(struct ctl *);
int		 cmd_show(struct ctl *);

/* cmd_change.c */
int		 cmd_delete(struct ctl *);
int		 cmd_pause(struct ctl *);
int		 cmd_restart(struct ctl *);
int		 cmd_resume(struct ctl *);
int		 cmd_stop(struct ctl *);
int		 cmd_unpause(struct ctl *);
int		 cmd_update(struct ctl *);

/* cmd_exec.c */
int		 cmd_exec(struct ctl *);
int		 exec_check(struct ctl *, char **, int);
int		 exec_attached(struct ctl *, char *, char **, int);
int		 exec_attach(struct ctl *, struct proto_attach *);
int		 exec_prepare(struct ctl *, char *, const char *);
int		 logs_watch(struct ctl *, struct proto_attach *);
int		 exec_status(struct ctl *, const struct proto_exec_info *);
void	 exec_cancel(struct sandbox *, char *, int *);
int	 exec_write(int, const void *, size_t, void (*)(void *), void *);
int		 cmd_kill(struct ctl *);
int		 cmd_logs(struct ctl *);
int		 cmd_ps(struct ctl *);
int		 cmd_wait(struct ctl *);

int		 exec_fill(struct ctl *, struct proto_exec *, char *,
		    char **, int);

/* cmd_changes.c */
int		 changes_tell(struct ctl *, const char *);

/* cmd_tty.c */
int		 cmd_attach(struct ctl *);
int		 cmd_shell(struct ctl *);
int		 exec_terminal(struct ctl *, char *, char **, int);
int		 exec_detached(struct ctl *, struct proto_exec *);

/* keys.c */
#define TERM_KEYS_MAX	16	/* keys that one leaves by */
#define TERM_KEYS	"ctrl-p,ctrl-q"

struct term_keys {
	size_t		 n;
	size_t		 held;		/* of them that were typed */
	unsigned char	 key[TERM_KEYS_MAX];
};

int		 term_keys(struct term_keys *, const char *);
ssize_t		 term_filter(struct term_keys *, const unsigned char *,
		    size_t, unsigned char *, size_t *);

/* terminal.c */
int		 term_begin(void);
void		 term_end(void);
void		 term_away(int);
int		 term_is_away(void);
int		 term_is_raw(void);
int		 term_news(void);
int		 term_size(uint32_t *, uint32_t *);

/* cmd_tool.c */
int		 cmd_tool_delete(struct ctl *);
int		 cmd_tool_describe(struct ctl *);
int		 cmd_tool_download(struct ctl *);
int		 cmd_tool_edit(struct ctl *);
int		 cmd_tool_execute(struct ctl *);
int		 cmd_tool_glob(struct ctl *);
int		 cmd_tool_grep(struct ctl *);
int		 cmd_tool_ls(struct ctl *);
int		 cmd_tool_read(struct ctl *);
int		 cmd_tool_upload(struct ctl *);
int		 cmd_tool_write(struct ctl *);

/* session.c */
int		 cmd_session(struct ctl *);

/* cmd_file.c */
int		 cmd_cat(struct ctl *);
int		 cmd_chmod(struct ctl *);
int		 cmd_cp(struct ctl *);
int		 cmd_du(struct ctl *);
int		 cmd_ls(struct ctl *);
int		 cmd_mkdir(struct ctl *);
int		 cmd_mv(struct ctl *);
int		 cmd_rm(struct ctl *);
int		 cmd_stat(struct ctl *);

/* cmd_skills.c */
int		 cmd_skills_list(struct ctl *);
int		 cmd_skills_push(struct ctl *);

/* cmd_diff.c */
#define MARK_SEED	"seed"	/* of what create -C gives a sandbox */
int		 cmd_diff(struct ctl *);
int		 cmd_export(struct ctl *);
int		 cmd_mark(struct ctl *);
int		 cmd_unmark(struct ctl *);

/* cmd_watch.c */
int		 cmd_watch(struct ctl *);

/* cmd_copy.c */
int		 cmd_get(struct ctl *);
int		 cmd_put(struct ctl *);
int		 put_file(struct ctl *, const char *, const char *,
		    const char *);

/* cmd_tree.c */
int		 tree_get(struct ctl *, const char *, const char *);
int		 tree_patch(struct ctl *, const char *, const char *);
#define TREE_QUIET	0x1	/* no object of it with -j */
#define TREE_NO_SECRETS	0x2	/* keys and the like stay here */
#define TREE_FILES	0x4	/* files and directories alone, all of them */
int		 tree_size(struct ctl *, const char *, int, uint64_t *,
		    uint64_t *);
int		 tree_put(struct ctl *, const char *, const char *,
		    const char *, int);

/* seed.c */
int		 seed_split(const char *, char *, size_t, const char **);
int		 seeds_check(struct ctl *);
int		 seeds_put(struct ctl *, char *, struct proto_sandbox *, int);
void		 seeds_dir(struct ctl *, char *);

/* progress.c */
void		 progress_begin(const struct ctl *, uint64_t);
void		 progress_add(size_t);
void		 progress_end(void);
uint64_t	 progress_bytes(void);

/* file.c: calls of all of them */
void		 file_call(struct ctl *, struct proto_call *, uint32_t,
		    const char *);
int		 file_error(struct ctl *, const char *);
int		 file_errno(struct ctl *, const char *);
int		 file_local(struct ctl *, enum code, const char *,
		    const char *);
int		 file_is_dir(struct ctl *, const char *);
int		 file_is_link(struct ctl *, const char *, const char *);
int		 file_in(struct ctl *, char *, size_t, const char *,
		    const char *);
const char	*file_base(const char *, char *, size_t);

/* cmd_run.c */
int		 cmd_run(struct ctl *);

/* cmd_log.c */
int		 cmd_events(struct ctl *);
int		 cmd_log_dump(struct ctl *);
int		 cmd_log_verify(struct ctl *);

/* cmd_forward.c */
int		 cmd_forward(struct ctl *);

/* cmd_image.c */
int		 cmd_image_base(struct ctl *);
int		 cmd_image_import(struct ctl *);
const char	*tar_path(char *, size_t);

/* signals.c: INT, TERM and HUP as a descriptor that poll(2) tells of. */
int		 signals_catch(void);
int		 signals_got(void);
void		 signals_wake(void);
void		 signals_drain(void);

/* output.c */
struct table;
struct table	*table_new(const char *const *, size_t);
void		 table_add(struct table *, size_t, const char *, ...)
		    __attribute__((__format__(printf, 3, 4)));
void		 table_print(struct table *, FILE *);
void		 table_free(struct table *);
void		 out_text(FILE *, const char *);
void		 out_error(FILE *, const char *, const char *, const char *);
void		 out_sandbox(FILE *, const struct proto_sandbox *);
void		 out_event(FILE *, const struct proto_event *);
void		 out_heartbeat(FILE *, const struct proto_heartbeat *);
void		 out_status(FILE *, const struct proto_status_info *,
		    const struct proto_proc *, size_t, uint64_t);
struct table	*out_list_new(void);
void		 out_list_add(struct table *, const struct proto_sandbox *);
struct table	*out_rights_new(void);
void		 out_rights_add(struct table *, const struct proto_right *);
struct table	*out_limits_new(void);
void		 out_limits_add(struct table *, const struct proto_limit *);
struct table	*out_controls_new(void);
void		 out_controls_add(struct table *,
		    const struct proto_control *);
void		 out_advice(FILE *, const struct proto_control *);
struct table	*out_ps_new(void);
void		 out_ps_add(struct table *, const struct proto_exec_info *);
const char	*out_signal(int, char *, size_t);

/* output_json.c */
void		 json_message(FILE *, const struct msg_def *, const void *);
void		 json_proto(FILE *, uint32_t, const void *);
void		 json_kind(FILE *, uint32_t, const void *);
void		 json_error(FILE *, const char *, const char *, const char *);
void		 json_status(FILE *, const struct proto_status_info *,
		    const struct proto_proc *, size_t);
void		 json_show(FILE *, const struct proto_sandbox *,
		    const struct proto_control *, size_t);
void		 json_version(FILE *, const struct proto_hello_ok *);
void		 json_ping(FILE *, uint64_t);
void		 json_count(FILE *, const char *, uint64_t);
/* Of a session; id as JSON.  What is no UTF-8 is told whole. */
void		 json_answer(FILE *, const char *id, const struct msg_def *,
		    const void *);
void		 json_answer_error(FILE *, const char *id, const char *,
		    const char *, const char *);
void		 json_answer_version(FILE *, const char *id,
		    const struct proto_hello_ok *);

/* input_json.c */
struct spec_error;
int		 json_decode(void *, const struct msg_def *, const void *,
		    struct spec_error *);

/* json_lack.c */
void		 json_watch(void);
/* Whether there was no memory since this was asked the last time. */
int		 json_lacked(void);

/* held.c */
struct held {
	FILE	*f;		/* what is written to it is in buf */
	char	*buf;
	size_t	 len;		/* bytes, once held_whole() was asked */
	size_t	 size;
	int	 lacks;		/* memory */
};
/* 0, or -1 with errno.  held_close() belongs to each that is open. */
int		 held_open(struct held *);
/* 0 if buf has all that was written, -1 if there was no memory for it. */
int		 held_whole(struct held *);
void		 held_print(const struct held *, FILE *);
void		 held_close(struct held *);

/* base64.c */
#define BASE64_LEN(n)	(((n) + 2) / 3 * 4)
void		 base64_encode(char *, const void *, size_t);
ssize_t		 base64_decode(void *, const char *, size_t);

#endif
