/*
 * libsandbox: the C client of sandboxd, see libsandbox(3).
 *
 * A connection carries any number of requests at a time.  sandbox_send()
 * begins one and sandbox_recv() returns the next answer to any of them; the
 * calls below them do a whole request each, and give those who mix both
 * their answers in order.  Nothing here is safe for use by two threads on
 * one connection.
 */
#ifndef LIBSANDBOX_H
#define LIBSANDBOX_H

#include <sys/types.h>

#include <stdint.h>

#include "filerec.h"
#include "proto.h"

#define SANDBOX_SOCKET	"/run/sandboxd/sandboxd.sock"

struct sandbox;			/* a connection */

/* Why a call returned -1: of the daemon, or of the library itself. */
struct sandbox_error {
	enum code	 code;
	char		 text[TEXT_MAX + 1];
	char		 field[FIELD_MAX + 1];	/* "" if none */
	int		 lost;		/* 1: the connection is useless now */
};

struct sandbox_answer {
	uint32_t	 req;		/* of the request that it answers */
	uint32_t	 type;		/* enum proto_type: which of u */
	int		 fd;		/* STREAM; -1: none, or taken */
	union {
		struct proto_end	 end;
		struct proto_error	 error;
		struct proto_accepted	 accepted;
		struct proto_sandbox	 sandbox;
		struct proto_exec_info	 exec_info;
		struct proto_event	 event;
		struct proto_stream	 stream;
		struct proto_gap	 gap;
		struct proto_stalled	 stalled;
		struct proto_input_ack	 input_ack;
		struct proto_proc	 proc;
		struct proto_status_info status_info;
		struct proto_image	 image;
		struct proto_verify	 verify;
		struct proto_dump	 dump;
		struct proto_right	 right;
		struct proto_limit	 limit;
		struct proto_control	 control;
		struct proto_heartbeat	 heartbeat;
		struct proto_result	 result;
		struct proto_output_end	 output_end;
	} u;
};

/*
 * The connection.  path NULL is SANDBOX_SOCKET, client a name for the
 * daemon's log or NULL.  sandbox_reopen() connects again to the same path,
 * trying for so many milliseconds at most; requests under way are gone.
 */
struct sandbox	*sandbox_open(const char *path, const char *client,
		    struct sandbox_error *);
int		 sandbox_reopen(struct sandbox *, int timeout);
void		 sandbox_close(struct sandbox *);
int		 sandbox_fd(const struct sandbox *);	/* for poll(2) */
const struct proto_hello_ok *
		 sandbox_hello(const struct sandbox *);
/* What the last call that returned -1 on this connection met. */
const struct sandbox_error *
		 sandbox_error(const struct sandbox *);

/*
 * Requests in flight.  msg is the structure of the type (NULL for one
 * without fields) and stays the caller's; *req gets the request's number.
 * CREDIT goes by sandbox_credit(), to the number of its EVENTS.
 */
int	 sandbox_send(struct sandbox *, uint32_t type, const void *msg,
	    uint32_t *req);
/*
 * 1 and an answer, 0 if none came in so many milliseconds (0: what is here
 * already, -1: no end), -1 if the connection is lost.  An ERROR is an
 * answer like others.  The request is over with its END or ERROR.
 */
int	 sandbox_recv(struct sandbox *, struct sandbox_answer *, int timeout);
void	 sandbox_answer_clear(struct sandbox_answer *);
/* Makes an answer of type ERROR the connection's error. */
void	 sandbox_set_error(struct sandbox *, const struct proto_error *);
/* 1 while a whole answer is held: poll(2) would not tell of it. */
int	 sandbox_pending(const struct sandbox *);

/*
 * Without waiting, for programs that have a loop.  What is queued leaves by
 * sandbox_write_queued(), which returns 1 while the socket has no room for
 * some of it: then poll(2) sandbox_fd() for POLLOUT too.  After a loss
 * sandbox_begin() connects and greets; sandbox_greeted() returns 1 when that
 * has been answered, 0 if it is not yet, -1; before that nothing else of the
 * connection may be used.
 */
int	 sandbox_queue(struct sandbox *, uint32_t type, const void *msg,
	    uint32_t *req);
int	 sandbox_queue_credit(struct sandbox *, uint32_t req, uint32_t n);
int	 sandbox_write_queued(struct sandbox *);
int	 sandbox_begin(struct sandbox *);
int	 sandbox_greeted(struct sandbox *);

/*
 * Whole requests.  A callback gets each answer but END and ERROR, and may
 * keep what it holds by zeroing it there, and the descriptor by setting it
 * to -1; -1 from it ends the connection.  Answers to other requests stay for
 * sandbox_recv().  What an `out' argument gets is the caller's, to be given
 * to msg_clear(); each may be NULL.
 */
typedef int	 (*sandbox_cb)(struct sandbox_answer *, void *);

int	 sandbox_call(struct sandbox *, uint32_t type, const void *msg,
	    sandbox_cb, void *arg);
/* The answers to a request that sandbox_send() has begun. */
int	 sandbox_finish(struct sandbox *, uint32_t req, sandbox_cb, void *arg,
	    struct proto_end *);

int	 sandbox_ping(struct sandbox *);
int	 sandbox_status(struct sandbox *, sandbox_cb, void *,
	    struct proto_status_info *);
/* With wait the sandbox's final state is in the second, else the first. */
int	 sandbox_create(struct sandbox *, const struct proto_create *,
	    struct proto_accepted *, struct proto_sandbox *);
int	 sandbox_stop(struct sandbox *, const struct proto_ref *,
	    struct proto_accepted *, struct proto_sandbox *);
int	 sandbox_pause(struct sandbox *, const struct proto_ref *,
	    struct proto_accepted *, struct proto_sandbox *);
int	 sandbox_unpause(struct sandbox *, const struct proto_ref *,
	    struct proto_accepted *, struct proto_sandbox *);
int	 sandbox_restart(struct sandbox *, const struct proto_ref *,
	    struct proto_accepted *, struct proto_sandbox *);
int	 sandbox_resume(struct sandbox *, const struct proto_ref *,
	    struct proto_accepted *, struct proto_sandbox *);
/* The sandbox with its times as they are then. */
int	 sandbox_extend(struct sandbox *, const struct proto_extend *,
	    struct proto_sandbox *);
int	 sandbox_update(struct sandbox *, const struct proto_update *,
	    struct proto_accepted *, struct proto_sandbox *);
int	 sandbox_delete(struct sandbox *, const struct proto_ref *,
	    struct proto_accepted *, struct proto_sandbox *);
int	 sandbox_show(struct sandbox *, const char *id,
	    struct proto_sandbox *);
/* The same, and each CONTROL of it for the callback. */
int	 sandbox_show_controls(struct sandbox *, const char *id,
	    struct proto_sandbox *, sandbox_cb, void *);
/* All pages: the callback gets SANDBOX. */
int	 sandbox_list(struct sandbox *, const struct proto_list *,
	    sandbox_cb, void *);
/* Detached only (flags without EXEC_ATTACH). */
int	 sandbox_exec(struct sandbox *, const struct proto_exec *,
	    struct proto_accepted *);
int	 sandbox_ps(struct sandbox *, const struct proto_ps *, sandbox_cb,
	    void *);
int	 sandbox_wait(struct sandbox *, const char *exec,
	    struct proto_exec_info *);
/*
 * For `timeout' milliseconds at most, 0: for ever.  Across a restart of the
 * daemon they connect again, trying for `again' milliseconds at most, and
 * miss nothing.  The states are words with commas between them.
 */
int	 sandbox_wait_exec(struct sandbox *, const char *exec,
	    uint64_t timeout, int again, struct proto_exec_info *);
int	 sandbox_wait_state(struct sandbox *, const char *id,
	    const char *states, uint64_t timeout, int again,
	    struct proto_sandbox *);
int	 sandbox_kill(struct sandbox *, const struct proto_kill *);
/* The size of an exec's terminal; and it goes on when its client leaves. */
int	 sandbox_resize(struct sandbox *, const struct proto_resize *);
int	 sandbox_detach(struct sandbox *, const struct proto_detach *);
int	 sandbox_input_end(struct sandbox *, const char *exec,
	    uint64_t total);
/*
 * The callback gets EVENT, and what else was asked for; credit is renewed as it goes, unless the request
 * names one: then the caller gives more by sandbox_credit().
 */
int	 sandbox_events(struct sandbox *, const struct proto_events *,
	    sandbox_cb, void *);
int	 sandbox_credit(struct sandbox *, uint32_t req, uint32_t n);
/* Reads the archive from fd to its end. */
int	 sandbox_image_import(struct sandbox *, const char *name, int fd,
	    struct proto_image *);
int	 sandbox_reload(struct sandbox *);
/* The daemon executes its program anew; the connection ends. */
int	 sandbox_upgrade(struct sandbox *);
int	 sandbox_log_dump(struct sandbox *, sandbox_cb, void *);
/* The head, kept elsewhere, that must be in the log, or NULL. */
int	 sandbox_log_verify(struct sandbox *, const char *,
	    struct proto_verify *);
/* The callback gets RIGHT and LIMIT. */
int	 sandbox_rules(struct sandbox *, sandbox_cb, void *);
/* The callback gets CONTROL. */
int	 sandbox_doctor(struct sandbox *, sandbox_cb, void *);
/* Compares with the Engine again; and gives up what is in doubt. */
int	 sandbox_reconcile(struct sandbox *, int);

/*
 * Bytes.  These run a poll(2) loop of their own until the request is over.
 * Across a restart of the daemon they connect again and go on at the byte
 * where they were, for `again' milliseconds at most.
 */
struct sandbox_io {
	int		 in;	/* input comes from it, -1: none; not closed */
	/* Output: 0, or -1 with errno to give up (the error tells it). */
	int		(*out)(void *, int stream, const void *, size_t);
	/* GAP and STALLED, and ACCEPTED once; may be NULL. */
	void		(*note)(void *, const struct sandbox_answer *);
	/*
	 * When wakefd (or -1) can be read: exec is its name, or "" if it is
	 * not known yet.  May use sandbox_send(); those answers are dropped.
	 * 0, or -1 to give up.
	 */
	int		 wakefd;
	int		(*wake)(void *, struct sandbox *, const char *exec);
	void		*arg;
	int		 again;
	/*
	 * Instead of read(2) from in, which is watched all the same; as that,
	 * and -1 with EAGAIN for nothing.  May be NULL.
	 */
	ssize_t		(*read)(void *, void *, size_t);
	/* The connection is lost (0), is there again (1); may be NULL. */
	void		(*link)(void *, int);
};

/* Runs a command attached, to its end. */
int	 sandbox_run(struct sandbox *, const struct proto_exec *,
	    struct sandbox_io *, struct proto_exec_info *);
int	 sandbox_attach(struct sandbox *, const struct proto_attach *,
	    struct sandbox_io *, struct proto_exec_info *);
/* in is not used; the end of an exec that is followed ends it. */
int	 sandbox_logs(struct sandbox *, const struct proto_attach *,
	    struct sandbox_io *);

/*
 * The same in a loop of the caller's, any number at a time.  io stays the
 * caller's and is used to the job's end, of which `wakefd', `wake' are not;
 * with SANDBOX_IO_WRITE as `in' the input comes by sandbox_job_write().  info
 * gets the command's end, and is NULL for LOGS.
 *
 * sandbox_job_fds() sets what is to be polled, and returns for how many
 * milliseconds at most (-1: no end); a descriptor that is not to be read now
 * may be set to -1.  sandbox_job_turn() takes the result.  Answers of which
 * sandbox_job_owns() is true are for sandbox_job_take(); each of these
 * returns -1 if the job cannot go on.  It is over with sandbox_job_over();
 * sandbox_job_ended() tells that no answer is missing, but perhaps bytes.
 *
 * sandbox_job_lost() is to be called when the connection is lost, and
 * returns -1 if the job ends by that; sandbox_job_again() on a new one, until
 * it returns 1: 0 means that there is output of before to be read yet.
 */
#define SANDBOX_IO_WRITE	(-2)
#define SANDBOX_JOB_FDS		4	/* outputs, input's pipe, input */

struct pollfd;
struct sandbox_job;

struct sandbox_job *
	 sandbox_job_run(struct sandbox *, const struct proto_exec *,
	    const struct sandbox_io *, struct proto_exec_info *);
/* An operation on files; `note' gets its RESULT too. */
struct sandbox_job *
	 sandbox_job_call(struct sandbox *, const struct proto_call *,
	    const struct sandbox_io *);
/* type: PROTO_ATTACH or PROTO_LOGS */
struct sandbox_job *
	 sandbox_job_attach(struct sandbox *, uint32_t type,
	    const struct proto_attach *, const struct sandbox_io *,
	    struct proto_exec_info *);
void	 sandbox_job_free(struct sandbox_job *);
int	 sandbox_job_fds(const struct sandbox_job *, struct pollfd *);
int	 sandbox_job_turn(struct sandbox_job *, const struct pollfd *);
int	 sandbox_job_owns(const struct sandbox_job *,
	    const struct sandbox_answer *);
int	 sandbox_job_take(struct sandbox_job *, struct sandbox_answer *);
/* How much of the input it took, 0 if there is no room now, -1. */
ssize_t	 sandbox_job_write(struct sandbox_job *, const void *, size_t);
/* That was all of it. */
int	 sandbox_job_end(struct sandbox_job *);
int	 sandbox_job_ended(const struct sandbox_job *);
int	 sandbox_job_over(const struct sandbox_job *);
/* The number of the request that it waits for. */
uint32_t sandbox_job_req(const struct sandbox_job *);
/* It broke off in the middle: the daemon goes on answering it. */
int	 sandbox_job_broken(const struct sandbox_job *);
/* The command's name, "" until it is known. */
const char *
	 sandbox_job_exec(const struct sandbox_job *);
int	 sandbox_job_lost(struct sandbox_job *);
int	 sandbox_job_again(struct sandbox_job *);

/*
 * Files of a sandbox, see calls.h.  A call runs a poll(2) loop of its own
 * until it has ended.  in gets the next bytes of input, 0 at their end;
 * without it the input is what c->data has.  A call that failed half way may
 * have given output, which is then worth nothing.  -1 of in or out gives it
 * up: the connection goes on.
 */
struct sandbox_file_io {
	ssize_t		(*in)(void *, void *, size_t);
	int		(*out)(void *, const void *, size_t);
	void		*arg;
};

int	 sandbox_file_call(struct sandbox *, const struct proto_call *,
	    const struct sandbox_file_io *, struct proto_result *);
/* The same of one whose output is records, which the callback gets. */
int	 sandbox_file_records(struct sandbox *, const struct proto_call *,
	    const struct msg_def *, int (*)(void *, void *), void *,
	    struct proto_result *);
/* What the record holds is the caller's, for msg_clear(). */
int	 sandbox_file_stat(struct sandbox *, const char *id, const char *path,
	    uint32_t flags, struct file_rec *);
/* How many bytes were read, and the file's size if it is not NULL. */
ssize_t	 sandbox_file_read(struct sandbox *, const char *id,
	    const char *path, uint64_t off, void *, size_t, uint64_t *size);
/* The whole file, at once: CALL_F_PARENTS and CALL_F_EXCL. */
int	 sandbox_file_write(struct sandbox *, const char *id,
	    const char *path, const void *, size_t, uint32_t mode,
	    uint32_t flags);

/*
 * The tools of an agent, see sandboxctl(8), on files of a sandbox and with
 * its user's rights.  What they give out as memory is the caller's to free.
 */
#define SANDBOX_TOOL_OUTPUT	(16 << 20)	/* bytes that execute gives */
#define SANDBOX_TOOL_KEEP	(64 << 20)	/* and has in a file, at most */
#define SANDBOX_TOOL_PAGE	(16 << 20)	/* bytes of a read */
#define SANDBOX_TOOL_LINES	2000		/* lines, unless told */

/* A line for /bin/sh, of any length, whose input is empty. */
struct sandbox_tool_command {
	const char	*id;
	const char	*line;
	const char	*dir;		/* NULL: the sandbox's workdir */
	struct kvv	 env;
	const char	*user;		/* NULL: the sandbox's */
	uint64_t	 timeout;	/* ms, 0: none */
	size_t		 max;		/* bytes; 0: SANDBOX_TOOL_OUTPUT */
	int		 again;		/* ms, as in struct sandbox_io */
	const char	*reason;	/* for the event log, or NULL */
};

/* Both its outputs, in the order in which they were written. */
struct sandbox_tool_output {
	char		*data;
	size_t		 len;
	uint64_t	 size;		/* of all that it wrote */
	int		 code;		/* 128 and a signal; -1: not known */
	int		 truncated;	/* data is not all of it */
	int		 timed_out;	/* code is 124 then */
	char		 exec[EXEC_ID_MAX + 1];
	char		 file[64];	/* has it from its begin; "": none */
	uint64_t	 kept;		/* bytes of that */
};

int	 sandbox_tool_execute(struct sandbox *,
	    const struct sandbox_tool_command *, struct sandbox_tool_output *);

/* The callback gets each struct file_rec; 0, or -1 to give up. */
int	 sandbox_tool_ls(struct sandbox *, const char *id, const char *path,
	    uint64_t max, int (*)(void *, void *), void *,
	    struct proto_result *);
int	 sandbox_tool_glob(struct sandbox *, const char *id, const char *path,
	    const char *pattern, uint32_t flags, uint64_t max,
	    int (*)(void *, void *), void *, struct proto_result *);

/* The same with each struct grep_rec. */
struct sandbox_tool_search {
	const char	*id;
	const char	*path;		/* a file or a directory */
	const char	*pattern;
	const char	*filter;	/* of names; NULL: none */
	uint32_t	 flags;		/* CALL_F_* */
	uint64_t	 context;	/* lines before and after */
	uint64_t	 max;		/* matches; 0: a default */
};

int	 sandbox_tool_grep(struct sandbox *,
	    const struct sandbox_tool_search *, int (*)(void *, void *),
	    void *, struct proto_result *);

struct sandbox_tool_text {
	uint8_t		*data;
	size_t		 len;
	int		 binary;	/* the file is no text */
	uint64_t	 start;		/* lines, from 1; 0: there are none */
	uint64_t	 end;
	int		 counted;
	uint64_t	 total;		/* lines, if they were counted */
	int		 more;		/* the next ones begin after end */
	int		 cut;		/* the last line is not whole */
};

/* So many lines after the first `offset' ones; flags: CALL_F_NUMBER. */
int	 sandbox_tool_read(struct sandbox *, const char *id, const char *path,
	    uint64_t offset, uint64_t limit, uint32_t flags,
	    struct sandbox_tool_text *);
/*
 * A whole file, its bytes in memory or, where fd is not -1, read from or
 * written to that.  Of a batch each has its code.
 */
struct sandbox_tool_file {
	const char	*path;
	void		*data;
	size_t		 len;
	int		 fd;
	enum code	 code;
};

int	 sandbox_tool_write(struct sandbox *, const char *id,
	    struct sandbox_tool_file *, int *created);
int	 sandbox_tool_edit(struct sandbox *, const char *id, const char *path,
	    const void *old, size_t oldlen, const void *text, size_t textlen,
	    uint32_t flags, uint64_t *count);
/* And all that is below it. */
int	 sandbox_tool_delete(struct sandbox *, const char *id,
	    const char *path, uint64_t *count);
/*
 * The programs that an agent may know, of about 70, that the directories of
 * programs have, by name and with the path; -1 from the callback to give up.
 */
int	 sandbox_tool_programs(struct sandbox *, const char *id,
	    int (*)(void *, const char *name, const char *path), void *);
/* -1 alone if the others cannot be tried; max bytes of one, 0: any. */
int	 sandbox_tool_upload(struct sandbox *, const char *id,
	    struct sandbox_tool_file *, size_t n);
int	 sandbox_tool_download(struct sandbox *, const char *id,
	    struct sandbox_tool_file *, size_t n, size_t max);

/*
 * For a loop of the caller's, with jobs: what runs a line, 1 if the line is
 * then the input; how it ended, -1 if it did not begin; the name of the file
 * that has all it wrote; what was read.
 */
int	 sandbox_tool_shell(const char *line, char *argv[3]);
int	 sandbox_tool_ended(struct sandbox_tool_output *,
	    const struct proto_exec_info *);
void	 sandbox_tool_spill(struct sandbox_tool_output *);
void	 sandbox_tool_page(struct sandbox_tool_text *, uint64_t offset,
	    const struct proto_result *);

#endif
