/*
 * session.h: what the files of a session share; see sandboxd-session(7).
 *
 *	session.c	the loop: lines in, lines out, signals
 *	session_line.c	one line into a request
 *	session_table.c	the requests that there are
 *	session_call.c	requests under way, and their answers
 *	session_again.c	how they go on, and are asked again
 *	session_job.c	commands with their bytes
 *	session_file.c	operations on files
 *	session_tool.c	the tools of an agent
 *	session_ctl.c	what only sandboxctl itself can do
 *	session_conn.c	the connection, and another one after it
 */

#ifndef SESSION_H
#define SESSION_H

#include <sys/types.h>
#include <sys/queue.h>
#include <sys/tree.h>

#include <poll.h>
#include <stdint.h>
#include <stdio.h>

#include "sandboxctl.h"
#include "spec.h"

#define SESSION_CREDIT		64	/* of a subscription without one */
#define SESSION_LINE_MAX	(1024 * 1024)	/* bytes, without newline */
#define SESSION_ID_MAX		64	/* bytes of a text that is an id */
#define SESSION_DEPTH_MAX	8	/* of one line's JSON */
#define SESSION_OUT_MAX		(1024 * 1024)	/* not read by who drives us */
#define SESSION_INPUT_MAX	(1024 * 1024)	/* not taken by one command */
#define SESSION_QUEUE_MAX	4096	/* requests that wait to be sent */
#define SESSION_BYTES_MAX	(16 * 1024 * 1024) /* and their lines */
#define SESSION_LONG_MAX	64	/* of those that go on, at a time */

/* What a request may have beside the fields of its message. */
struct session_extra {
	struct blob	 data;		/* input */
	uint32_t	 detach;	/* exec */
	uint32_t	 end;		/* input */
	uint32_t	 input;		/* call, ctl, exec, attach */
	uint64_t	 n;		/* credit */
	uint64_t	 window;	/* bytes of output; 0: any */
	struct strv	 argv;		/* ctl */
	/* Of the tools. */
	char		*sandbox;
	char		*path;
	char		*pattern;
	char		*filter;
	char		*command;
	char		*dir;
	char		 user[SBX_USER_MAX + 1];
	char		 reason[EXEC_REASON_MAX + 1];
	char		*old;
	char		*new;
	struct kvv	 env;
	struct strv	 paths;
	struct strv	 contents;	/* base64 */
	uint64_t	 offset;
	uint64_t	 limit;		/* lines */
	uint64_t	 max;
	uint64_t	 context;
	uint64_t	 timeout;	/* ms */
	uint32_t	 all;
	uint32_t	 anydepth;
	uint32_t	 counts;
	uint32_t	 crlf;
	uint32_t	 files;
	uint32_t	 icase;
	uint32_t	 nodot;
	uint32_t	 number;
	uint32_t	 regex;
};

#define S_AGAIN		0x1	/* asked twice is asked once */
#define S_LONG		0x2	/* goes on after its first answer */
#define S_QUIET		0x4	/* and says nothing until its end */
#define S_OF		0x8	/* is about another request */
#define S_TOOL		0x10	/* its message is made of other members */

struct call;
struct session_ctl;
struct session_tool;
struct rec_reader;

/* One request that a line may have. */
struct session_def {
	const char		*name;
	uint32_t		 type;	/* of its message; 0: our own */
	const char		*command;	/* that does the same, or NULL */
	int			 flags;
	const struct msg_def	*extra;	/* NULL: none */
	/* Begins it; NULL: it is sent.  -1: it was answered, and is gone. */
	int			(*begin)(struct call *);
};

/* A line, understood. */
struct line {
	char			*id;	/* as JSON; NULL: it has none */
	const struct session_def *def;
	char			*of;	/* the id of another, as JSON */
	struct session_extra	 extra;
	void			*msg;	/* of def->type; NULL: no fields */
};

/* A request under way. */
TAILQ_HEAD(callq, call);
struct call {
	RB_ENTRY(call)		 node;
	TAILQ_ENTRY(call)	 entry;
	struct callq		*queue;		/* that it is in, or NULL */
	struct line		 l;
	size_t			 bytes;		/* of its line */
	uint32_t		 req;		/* 0: not sent */
	int			 islong;	/* goes on after an answer */
	int			 isshort;	/* counts among those */
	int			 answered;	/* told something but ACCEPTED */
	int			 accepted;	/* told that */
	int			 abandoned;	/* nobody is told any more */
	uint64_t		 last;		/* where it goes on */
	int64_t			 deadline;	/* of a wait; 0: none */
	/* Subscriptions. */
	int			 renew;		/* the credit is ours to give */
	uint64_t		 events;
	uint64_t		 credits;
	uint64_t		 owed;		/* credit, not told yet */
	/* Commands with their bytes. */
	struct sandbox_job	*job;
	struct session_ctl	*ctl;		/* or a program */
	struct session_tool	*tool;		/* what is made of the job */
	struct sandbox_io	 io;
	struct proto_exec_info	 info;
	uint64_t		 off[3];
	int64_t			 window;	/* bytes, if there is one */
	/* Operations on files. */
	struct rec_reader	*records;
	struct proto_result	 result;
	int			 resulted;
	int			 cancelled;
	int			 killed;	/* KILL was sent */
	int			 input_over;	/* the last of it was told us */
	size_t			 held;		/* bytes in inputs */
	struct callq		 inputs;	/* requests with input */
	size_t			 done;		/* of one: bytes taken */
};

enum conn_state {
	CONN_UP,
	CONN_DOWN,		/* tried again at ss.retry */
	CONN_GREETING,
	CONN_LOST		/* for good */
};

struct session {
	struct ctl		*ctl;
	struct sandbox		*sb;
	FILE			*out;		/* into the queue of lines */
	int			 eof;		/* of our input */
	int			 stopping;	/* by this signal */
	int			 status;
	/* To be sent: those that end by themselves, and those that go on. */
	struct callq		 waiting[2];
	size_t			 nwaiting[2];
	size_t			 bytes[2];	/* of their lines */
	struct callq		 sent;
	struct callq		 local;		/* what is done here */
	unsigned int		 nshort;
	unsigned int		 nlong;
	enum conn_state		 conn;
	int64_t			 retry;
	int64_t			 until;		/* tried until then */
	int			 pause;
};
extern struct session	 ss;

/* session.c */
size_t	 session_queued(void);	/* bytes of lines not read yet */
int	 session_room(size_t);	/* for a long line; -1: there is none */
int64_t	 session_now(void);	/* ms, of a clock that nobody sets */

/* session_line.c */
int	 line_parse(struct line *, const char *, size_t, struct spec_error *);
void	 line_clear(struct line *);

/* session_table.c */
extern const struct session_def	 session_defs[];
extern const size_t		 session_ndefs;
const struct session_def *
	 session_find(const char *);

/* session_again.c */
int	 call_long(const struct call *);
void	 call_prepare(struct call *);
int	 call_again(struct call *);

/* session_call.c */
struct call
	*call_find(const char *);
void	 call_new(struct line *, size_t);
void	 call_send_all(void);
void	 call_take(struct sandbox_answer *);
/* Each tells it and forgets the call. */
void	 call_end(struct call *, const struct proto_end *);
void	 call_error(struct call *, enum code, const char *, const char *);
void	 call_sb_error(struct call *);
void	 call_abandon(struct call *);
void	 call_lost(void);
void	 call_fail_all(enum code, const char *);
void	 call_eof(void);
void	 call_stop(int);
int	 call_blocked(void);	/* no line is to be read now */
int	 call_idle(void);
void	 call_local(struct call *);
void	 call_resend(struct call *);
void	 call_each_job(void (*)(struct call *, void *), void *);
/* Requests of our own, as session_def has them. */
int	 call_cancel(struct call *);
int	 call_credit(struct call *);
int	 call_version(struct call *);
void	 tell(const struct call *, uint32_t, const void *);
void	 tell_error(const char *id, enum code, const char *, const char *);

/* session_ctl.c */
int	 ctl_begin(struct call *);
void	 ctl_fds(struct call *, struct pollfd *, int);
void	 ctl_turn(struct call *, const struct pollfd *);
void	 ctl_feed(struct call *);
void	 ctl_cancel(struct call *);
void	 ctl_clear(struct call *);

/* session_file.c */
int	 file_begin(struct call *);
void	 file_over(struct call *);
int	 file_whole(struct call *);
void	 file_cancel(struct call *);

/* session_tool.c */
int	 tool_begin(struct call *);
int	 tool_feed(struct call *);
void	 tool_over(struct call *);
int	 tool_failed(struct call *);
void	 tool_clear(struct call *);

/* session_job.c */
int	 job_out(void *, int, const void *, size_t);
int	 job_begin(struct call *);
int	 job_input(struct call *);
void	 job_cancel(struct call *);
void	 job_credit(struct call *, uint64_t);
int	 job_fds(struct call *, struct pollfd *, int);
void	 job_turn(struct call *, const struct pollfd *);
void	 job_take(struct call *, struct sandbox_answer *);
void	 job_lost(struct call *);
void	 job_clear(struct call *);

/* session_conn.c */
void	 conn_lost(void);
void	 conn_turn(void);
int	 conn_wait(void);

#endif
