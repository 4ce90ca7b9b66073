/*
 * session_table.c: the requests of a session.
 *
 * One that is a message of the protocol has a line here, and nothing else:
 * its members are the message's fields.  sandboxd-session(7) has the same
 * table, and a test compares them.
 */

#include <string.h>

#include "session.h"

#define SANDBOX	MSG_F(session_extra, sandbox, M_TEXT, EXEC_ID_MAX + 16, 0)
#define PATH	MSG_F(session_extra, path, M_TEXT, CALL_PATH_MAX, 0)
#define WHERE	MSG_F(session_extra, path, M_TEXT, CALL_PATH_MAX, M_OPT)
#define PATTERN	MSG_F(session_extra, pattern, M_TEXT, CALL_PATH_MAX, 0)
#define WINDOW	MSG_F(session_extra, window, M_UINT, INT64_MAX, M_OPT)
#define NUMBER(name)	MSG_F(session_extra, name, M_UINT, 0, M_OPT)
#define SWITCH(name)	MSG_F(session_extra, name, M_UINT, 1, M_OPT)
/* A text, or texts, as long as a line may be. */
#define ANY(name, type)	MSG_F(session_extra, name, type, SESSION_LINE_MAX, 0)
#define BYTES	MSG_F(session_extra, data, M_BLOB, SESSION_INPUT_MAX, M_OPT)

/* EXTRA(exec, ...): x_exec, the members beside those of the message. */
#define EXTRA(name, ...)						\
	static const struct msg_field	 f_##name[] = { __VA_ARGS__ };	\
	static const struct msg_def	 x_##name =			\
	    MSG_DEF(0, #name, session_extra, f_##name)

EXTRA(exec, SWITCH(detach), SWITCH(input), WINDOW);
EXTRA(call, SWITCH(input), WINDOW);
EXTRA(ctl, MSG_F(session_extra, argv, M_STRV, EXEC_ENTRIES_MAX, 0),
    SWITCH(input), WINDOW);
EXTRA(attach, SWITCH(input), WINDOW);
EXTRA(logs, WINDOW);
EXTRA(credit, MSG_F(session_extra, n, M_UINT, INT64_MAX, 0));
EXTRA(input, BYTES, SWITCH(end));
EXTRA(tool_delete, SANDBOX, PATH);
EXTRA(tool_download, SANDBOX, ANY(paths, M_STRV));
EXTRA(tool_edit, SANDBOX, PATH, ANY(old, M_TEXT), ANY(new, M_TEXT),
    SWITCH(all), SWITCH(crlf));
EXTRA(tool_execute, SANDBOX, ANY(command, M_TEXT),
    MSG_F(session_extra, dir, M_TEXT, SBX_DIR_MAX, M_OPT),
    MSG_F(session_extra, env, M_KVV, EXEC_ENTRIES_MAX, M_OPT),
    MSG_F(session_extra, user, M_STR, 0, M_OPT), NUMBER(max),
    MSG_F(session_extra, timeout, M_UINT, EXEC_TIMEOUT_MAX, M_OPT),
    MSG_F(session_extra, reason, M_STR, 0, M_OPT));
EXTRA(tool_glob, SANDBOX, PATTERN, WHERE, NUMBER(max), SWITCH(anydepth),
    SWITCH(files), SWITCH(nodot));
EXTRA(tool_grep, SANDBOX, PATTERN, WHERE,
    MSG_F(session_extra, filter, M_TEXT, CALL_PATH_MAX, M_OPT), NUMBER(context),
    NUMBER(max), SWITCH(counts), SWITCH(files), SWITCH(icase), SWITCH(regex));
EXTRA(tool_ls, SANDBOX, WHERE, NUMBER(max));
EXTRA(tool_read, SANDBOX, PATH, NUMBER(offset), NUMBER(limit), SWITCH(number));
EXTRA(tool_upload, SANDBOX, ANY(paths, M_STRV), ANY(contents, M_STRV));
EXTRA(tool_write, SANDBOX, PATH, BYTES, SWITCH(input));

/* Sorted by their names. */
const struct session_def	 session_defs[] = {
	{ "attach", PROTO_ATTACH, "attach", S_LONG, &x_attach, job_begin },
	{ "call", PROTO_CALL, NULL, S_LONG, &x_call, file_begin },
	{ "cancel", 0, NULL, S_OF, NULL, call_cancel },
	{ "create", PROTO_CREATE, "create", S_AGAIN | S_LONG, NULL, NULL },
	{ "credit", 0, NULL, S_OF, &x_credit, call_credit },
	{ "ctl", 0, NULL, 0, &x_ctl, ctl_begin },
	{ "delete", PROTO_DELETE, "delete", S_AGAIN | S_LONG, NULL, NULL },
	{ "detach", PROTO_DETACH, "attach", 0, NULL, NULL },
	{ "doctor", PROTO_DOCTOR, "doctor", S_AGAIN, NULL, NULL },
	{ "events", PROTO_EVENTS, "events", S_AGAIN | S_LONG | S_QUIET, NULL,
	    NULL },
	{ "exec", PROTO_EXEC, "exec", S_LONG, &x_exec, job_begin },
	{ "extend", PROTO_EXTEND, "extend", S_AGAIN, NULL, NULL },
	{ "input", 0, NULL, S_OF, &x_input, job_input },
	{ "kill", PROTO_KILL, "kill", 0, NULL, NULL },
	{ "list", PROTO_LIST, "list", S_AGAIN, NULL, NULL },
	{ "log_dump", PROTO_LOG_DUMP, "log dump", S_LONG | S_QUIET, NULL,
	    NULL },
	{ "log_verify", PROTO_LOG_VERIFY, "log verify",
	    S_AGAIN | S_LONG | S_QUIET, NULL, NULL },
	{ "logs", PROTO_LOGS, "logs", S_LONG, &x_logs, job_begin },
	{ "pause", PROTO_PAUSE, "pause", S_LONG, NULL, NULL },
	{ "ping", PROTO_PING, "ping", S_AGAIN, NULL, NULL },
	{ "ps", PROTO_PS, "ps", S_AGAIN, NULL, NULL },
	{ "reconcile", PROTO_RECONCILE, "reconcile", S_LONG | S_QUIET, NULL,
	    NULL },
	{ "reload", PROTO_RELOAD, "reload", 0, NULL, NULL },
	{ "resize", PROTO_RESIZE, "attach", 0, NULL, NULL },
	{ "restart", PROTO_RESTART, "restart", S_LONG, NULL, NULL },
	{ "resume", PROTO_RESUME, "resume", S_LONG, NULL, NULL },
	{ "rules", PROTO_RULES, "rules", S_AGAIN, NULL, NULL },
	{ "show", PROTO_SHOW, "show", S_AGAIN, NULL, NULL },
	{ "status", PROTO_STATUS, "status", S_AGAIN, NULL, NULL },
	{ "stop", PROTO_STOP, "stop", S_LONG, NULL, NULL },
	{ "tool_delete", PROTO_CALL, "tool delete", S_LONG | S_TOOL,
	    &x_tool_delete, tool_begin },
	{ "tool_download", PROTO_CALL, "tool download", S_LONG | S_TOOL,
	    &x_tool_download, tool_begin },
	{ "tool_edit", PROTO_CALL, "tool edit", S_LONG | S_TOOL,
	    &x_tool_edit, tool_begin },
	{ "tool_execute", PROTO_EXEC, "tool execute", S_LONG | S_TOOL,
	    &x_tool_execute, tool_begin },
	{ "tool_glob", PROTO_CALL, "tool glob", S_LONG | S_TOOL,
	    &x_tool_glob, tool_begin },
	{ "tool_grep", PROTO_CALL, "tool grep", S_LONG | S_TOOL,
	    &x_tool_grep, tool_begin },
	{ "tool_ls", PROTO_CALL, "tool ls", S_LONG | S_TOOL,
	    &x_tool_ls, tool_begin },
	{ "tool_read", PROTO_CALL, "tool read", S_LONG | S_TOOL,
	    &x_tool_read, tool_begin },
	{ "tool_upload", PROTO_CALL, "tool upload", S_LONG | S_TOOL,
	    &x_tool_upload, tool_begin },
	{ "tool_write", PROTO_CALL, "tool write", S_LONG | S_TOOL,
	    &x_tool_write, tool_begin },
	{ "unpause", PROTO_UNPAUSE, "unpause", S_LONG, NULL, NULL },
	{ "update", PROTO_UPDATE, "update", S_AGAIN | S_LONG, NULL, NULL },
	{ "version", 0, "version", 0, NULL, call_version },
	{ "wait", PROTO_WAIT, "wait", S_AGAIN | S_LONG | S_QUIET, NULL, NULL },
	{ "wait_state", PROTO_WAIT_STATE, "wait", S_AGAIN | S_LONG | S_QUIET,
	    NULL, NULL },
};
const size_t	 session_ndefs =
    sizeof(session_defs) / sizeof(session_defs[0]);

const struct session_def *
session_find(const char *name)
{
	size_t	 i;

	for (i = 0; i < session_ndefs; i++)
		if (strcmp(session_defs[i].name, name) == 0)
			return (&session_defs[i]);
	return (NULL);
}
