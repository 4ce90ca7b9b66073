/* The tables of the messages in sandboxd.h. */

#include <sys/types.h>

#include "sandboxd.h"

static const struct msg_field f_pipe[] = {
	MSG_F(msg_pipe, role, M_UINT, ROLE_MAX - 1, 0),
};

static const struct msg_field f_ready[] = {
	MSG_F(msg_ready, layers, M_UINT, 0, 0),
	MSG_F(msg_ready, landlock, M_UINT, 0, 0),
};

static const struct msg_field f_conf[] = {
	MSG_F(msg_conf, instance, M_STR, 0, 0),
	MSG_F(msg_conf, boot, M_STR, 0, 0),
	MSG_F(msg_conf, generation, M_UINT, 0, 0),
	MSG_F(msg_conf, verbose, M_UINT, 0, 0),
	MSG_F(msg_conf, engine, M_TEXT, SBX_DIR_MAX, 0),
	MSG_F(msg_conf, guest, M_TEXT, SBX_DIR_MAX, 0),
	MSG_F(msg_conf, mnt, M_TEXT, SBX_DIR_MAX, 0),
	MSG_F(msg_conf, sock, M_TEXT, SBX_DIR_MAX, 0),
	MSG_F(msg_conf, mounts, M_TEXT, SBX_DIR_MAX, 0),
	MSG_F(msg_conf, uid_low, M_UINT, 0, 0),
	MSG_F(msg_conf, uid_high, M_UINT, 0, 0),
	MSG_F(msg_conf, rootless, M_UINT, 0, 0),
	MSG_F(msg_conf, image, M_STR, 0, 0),
	MSG_F(msg_conf, memory, M_UINT, 0, 0),
	MSG_F(msg_conf, mcpus, M_UINT, 0, 0),
	MSG_F(msg_conf, pids, M_UINT, 0, 0),
	MSG_F(msg_conf, readonly, M_UINT, 0, 0),
	MSG_F(msg_conf, resume, M_UINT, 0, 0),
	MSG_F(msg_conf, tmp_size, M_UINT, 0, 0),
	MSG_F(msg_conf, disk, M_UINT, 0, 0),
	MSG_F(msg_conf, lifetime, M_UINT, 0, 0),
	MSG_F(msg_conf, idle, M_UINT, 0, 0),
	MSG_F(msg_conf, max_sandboxes, M_UINT, 0, 0),
	MSG_F(msg_conf, max_execs, M_UINT, 0, 0),
	MSG_F(msg_conf, max_memory, M_UINT, 0, 0),
	MSG_F(msg_conf, max_mcpus, M_UINT, 0, 0),
	MSG_F(msg_conf, max_pids, M_UINT, 0, 0),
	MSG_F(msg_conf, max_disk, M_UINT, 0, 0),
	MSG_F(msg_conf, max_lifetime, M_UINT, 0, 0),
	MSG_F(msg_conf, log_exec, M_UINT, 0, 0),
	MSG_F(msg_conf, log_sandbox, M_UINT, 0, 0),
	MSG_F(msg_conf, log_total, M_UINT, 0, 0),
	MSG_F(msg_conf, log_users, M_U64V, LOG_USERS_MAX, 0),
	MSG_F(msg_conf, max_clients, M_UINT, 0, 0),
	MSG_F(msg_conf, all, M_U64V, 3 * LIMIT_MAX, 0),
	MSG_F(msg_conf, t_create, M_UINT, 0, 0),
	MSG_F(msg_conf, t_stop, M_UINT, 0, 0),
	MSG_F(msg_conf, t_delete, M_UINT, 0, 0),
	MSG_F(msg_conf, t_engine, M_UINT, 0, 0),
	MSG_F(msg_conf, t_reattach, M_UINT, 0, 0),
	MSG_F(msg_conf, t_stall, M_UINT, 0, 0),
	MSG_F(msg_conf, t_stray, M_UINT, 0, 0),
	MSG_F(msg_conf, retain_history, M_UINT, 0, 0),
	MSG_F(msg_conf, retain_stopped, M_UINT, 0, 0),
	MSG_F(msg_conf, retain_failed, M_UINT, 0, 0),
	MSG_F(msg_conf, allow_root, M_UINT, 0, 0),
	MSG_F(msg_conf, unenforced, M_UINT, 0, 0),
	MSG_F(msg_conf, need_reason, M_UINT, 1, 0),
};

static const struct msg_field f_conf_rule[] = {
	MSG_F(msg_conf_rule, allow, M_UINT, 0, 0),
	MSG_F(msg_conf_rule, pattern, M_STR, 0, 0),
};

static const struct msg_field f_conf_place[] = {
	MSG_F(msg_conf_place, place, M_STR, 0, 0),
};

static const struct msg_field f_log[] = {
	MSG_F(msg_log, priority, M_UINT, 0, 0),
	MSG_F(msg_log, text, M_TEXT, 8191, 0),
};

static const struct msg_field f_session[] = {
	MSG_F(msg_session, uid, M_UINT, 0, 0),
	MSG_F(msg_session, gid, M_UINT, 0, 0),
	MSG_F(msg_session, pid, M_UINT, 0, 0),
	MSG_F(msg_session, own, M_UINT, RIGHTS_ALL, 0),
	MSG_F(msg_session, others, M_UINT, RIGHTS_ALL, 0),
	MSG_F(msg_session, by, M_U64V, 2 * RIGHT_MAX, 0),
	MSG_F(msg_session, bounds, M_U64V, 3 * LIMIT_MAX, 0),
};

static const struct msg_field f_session_refused[] = {
	MSG_F(msg_session_refused, uid, M_UINT, 0, 0),
	MSG_F(msg_session_refused, code, M_UINT, CODE_MAX - 1, 0),
	MSG_F(msg_session_refused, more, M_UINT, 0, 0),
	MSG_F(msg_session_refused, text, M_STR, 0, 0),
};

static const struct msg_field f_client[] = {
	MSG_F(msg_client, uid, M_UINT, 0, 0),
};

static const struct msg_field f_work[] = {
	MSG_F(msg_work, n, M_UINT, 0, 0),
	MSG_F(msg_work, owner, M_UINT, 0, 0),
	MSG_F(msg_work, uid, M_UINT, 0, 0),
	MSG_F(msg_work, gid, M_UINT, 0, 0),
	MSG_F(msg_work, disk, M_UINT, 0, 0),
	MSG_F(msg_work, tmpfs, M_UINT, 1, 0),
	MSG_F(msg_work, mounts, M_UINT, SBX_MOUNTS_MAX, 0),
	MSG_F(msg_work, ticket, M_UINT, 0, 0),
};

static const struct msg_field f_mounts_check[] = {
	MSG_F(msg_mounts_check, ticket, M_UINT, 0, 0),
	MSG_F(msg_mounts_check, ro, M_STRV, SBX_MOUNTS_MAX, 0),
	MSG_F(msg_mounts_check, rw, M_STRV, SBX_MOUNTS_MAX, 0),
};

static const struct msg_field f_mounts_checked[] = {
	MSG_F(msg_mounts_checked, ticket, M_UINT, 0, 0),
	MSG_F(msg_mounts_checked, code, M_UINT, CODE_MAX - 1, 0),
	MSG_F(msg_mounts_checked, text, M_STR, 0, 0),
};

static const struct msg_field f_mounts_ref[] = {
	MSG_F(msg_mounts_ref, n, M_UINT, 0, 0),
};

static const struct msg_field f_work_done[] = {
	MSG_F(msg_work_done, n, M_UINT, 0, 0),
	MSG_F(msg_work_done, code, M_UINT, 0, 0),
	MSG_F(msg_work_done, text, M_STR, 0, 0),
};

static const struct msg_field f_result[] = {
	MSG_F(msg_result, code, M_UINT, 0, 0),
	MSG_F(msg_result, text, M_STR, 0, 0),
};

static const struct msg_field f_listen[] = {
	MSG_F(msg_listen, n, M_UINT, 0, 0),
	MSG_F(msg_listen, owner, M_UINT, 0, 0),
	MSG_F(msg_listen, boot, M_UINT, 0, 0),
	MSG_F(msg_listen, pid, M_UINT, 0, 0),
};

static const struct msg_field f_reload[] = {
	MSG_F(msg_reload, execute, M_UINT, 1, 0),
};

static const struct msg_field f_start[] = {
	MSG_F(msg_start, n, M_UINT, 0, 0),
	MSG_F(msg_start, k, M_UINT, 0, 0),
	MSG_F(msg_start, argv, M_STRV, EXEC_ENTRIES_MAX, 0),
	MSG_F(msg_start, env, M_KVV, EXEC_ENTRIES_MAX, 0),
	MSG_F(msg_start, dir, M_TEXT, SBX_DIR_MAX, 0),
	MSG_F(msg_start, timeout, M_UINT, 0, 0),
	MSG_F(msg_start, grace, M_UINT, 0, 0),
	MSG_F(msg_start, flags, M_UINT, EXEC_FLAGS, 0),
	MSG_F(msg_start, again, M_UINT, 0, 0),
	MSG_F(msg_start, exec, M_STR, 0, 0),
	MSG_F(msg_start, rows, M_UINT, TTY_SIZE_MAX, 0),
	MSG_F(msg_start, cols, M_UINT, TTY_SIZE_MAX, 0),
	MSG_F(msg_start, include, M_STRV, CHANGES_SCOPE_MAX, 0),
	MSG_F(msg_start, exclude, M_STRV, CHANGES_SCOPE_MAX, 0),
};

static const struct msg_field f_resize[] = {
	MSG_F(msg_resize, n, M_UINT, 0, 0),
	MSG_F(msg_resize, k, M_UINT, 0, 0),
	MSG_F(msg_resize, rows, M_UINT, TTY_SIZE_MAX, 0),
	MSG_F(msg_resize, cols, M_UINT, TTY_SIZE_MAX, 0),
};

static const struct msg_field f_exec_ref[] = {
	MSG_F(msg_exec_ref, n, M_UINT, 0, 0),
	MSG_F(msg_exec_ref, k, M_UINT, 0, 0),
	MSG_F(msg_exec_ref, owner, M_UINT, 0, 0),
	MSG_F(msg_exec_ref, value, M_UINT, 0, 0),
	MSG_F(msg_exec_ref, grace, M_UINT, 0, 0),
};

static const struct msg_field f_read[] = {
	MSG_F(msg_read, n, M_UINT, 0, 0),
	MSG_F(msg_read, k, M_UINT, 0, 0),
	MSG_F(msg_read, owner, M_UINT, 0, 0),
	MSG_F(msg_read, offset1, M_UINT, 0, 0),
	MSG_F(msg_read, offset2, M_UINT, 0, 0),
	MSG_F(msg_read, streams, M_UINT, 0, 0),
	MSG_F(msg_read, follow, M_UINT, 0, 0),
	MSG_F(msg_read, ended, M_UINT, 0, 0),
	MSG_F(msg_read, length1, M_UINT, 0, 0),
	MSG_F(msg_read, length2, M_UINT, 0, 0),
	MSG_F(msg_read, exec, M_STR, 0, 0),
};

static const struct msg_field f_call[] = {
	MSG_F(msg_call, n, M_UINT, 0, 0),
	MSG_F(msg_call, c.op, M_UINT, 0, 0),
	MSG_F(msg_call, c.flags, M_UINT, CALL_F_ALL, 0),
	MSG_F(msg_call, c.mode, M_UINT, 07777, 0),
	MSG_F(msg_call, c.path, M_TEXT, CALL_PATH_MAX, 0),
	MSG_F(msg_call, c.path2, M_TEXT, CALL_PATH_MAX, 0),
	MSG_F(msg_call, c.pattern, M_TEXT, CALL_PATH_MAX, 0),
	MSG_F(msg_call, c.filter, M_TEXT, CALL_PATH_MAX, 0),
	MSG_F(msg_call, c.offset, M_UINT, 0, 0),
	MSG_F(msg_call, c.length, M_UINT, 0, 0),
	MSG_F(msg_call, c.limit, M_UINT, 0, 0),
	MSG_F(msg_call, c.count, M_UINT, 0, 0),
	MSG_F(msg_call, c.data, M_BLOB, CALL_DATA_MAX, 0),
};

static const struct msg_field f_call_ref[] = {
	MSG_F(msg_call_ref, n, M_UINT, 0, 0),
	MSG_F(msg_call_ref, total, M_UINT, 0, 0),
};

static const struct msg_field f_call_done[] = {
	MSG_F(msg_call_done, n, M_UINT, 0, 0),
	MSG_F(msg_call_done, code, M_UINT, CODE_MAX - 1, 0),
	MSG_F(msg_call_done, text, M_STR, 0, 0),
	MSG_F(msg_call_done, r.out, M_UINT, 0, 0),
	MSG_F(msg_call_done, r.in, M_UINT, 0, 0),
	MSG_F(msg_call_done, r.count, M_UINT, 0, 0),
	MSG_F(msg_call_done, r.count2, M_UINT, 0, 0),
	MSG_F(msg_call_done, r.flags, M_UINT, 0, 0),
};

static const struct msg_field f_guest_hello[] = {
	MSG_F(msg_guest_hello, n, M_UINT, 0, 0),
	MSG_F(msg_guest_hello, boot, M_UINT, 0, 0),
	MSG_F(msg_guest_hello, pid, M_UINT, 0, 0),
	MSG_F(msg_guest_hello, version, M_UINT, 0, 0),
	MSG_F(msg_guest_hello, memory, M_UINT, 0, 0),
	MSG_F(msg_guest_hello, mcpus, M_UINT, 0, 0),
	MSG_F(msg_guest_hello, pids, M_UINT, 0, 0),
	MSG_F(msg_guest_hello, again, M_UINT, 0, 0),
	MSG_F(msg_guest_hello, swap, M_UINT, 0, 0),
};

static const struct msg_field f_guest_gone[] = {
	MSG_F(msg_guest_gone, n, M_UINT, 0, 0),
	MSG_F(msg_guest_gone, bye, M_UINT, 0, 0),
	MSG_F(msg_guest_gone, text, M_STR, 0, 0),
	MSG_F(msg_guest_gone, dead, M_UINT, 1, 0),
	MSG_F(msg_guest_gone, boot, M_UINT, 0, 0),
};

static const struct msg_field f_guest_silent[] = {
	MSG_F(msg_guest_silent, n, M_UINT, 0, 0),
	MSG_F(msg_guest_silent, boot, M_UINT, 0, 0),
	MSG_F(msg_guest_silent, text, M_STR, 0, 0),
	MSG_F(msg_guest_silent, late, M_U64V, SILENT_LATE_MAX, 0),
};

static const struct msg_field f_started[] = {
	MSG_F(msg_started, n, M_UINT, 0, 0),
	MSG_F(msg_started, k, M_UINT, 0, 0),
	MSG_F(msg_started, pid, M_UINT, 0, 0),
};

static const struct msg_field f_not_started[] = {
	MSG_F(msg_not_started, n, M_UINT, 0, 0),
	MSG_F(msg_not_started, k, M_UINT, 0, 0),
	MSG_F(msg_not_started, errnum, M_INT, 0, 0),
	MSG_F(msg_not_started, cause, M_UINT, 0, 0),
	MSG_F(msg_not_started, text, M_STR, 0, 0),
};

static const struct msg_field f_ended[] = {
	MSG_F(msg_ended, n, M_UINT, 0, 0),
	MSG_F(msg_ended, k, M_UINT, 0, 0),
	MSG_F(msg_ended, kind, M_UINT, 0, 0),
	MSG_F(msg_ended, code, M_INT, 0, 0),
	MSG_F(msg_ended, length1, M_UINT, 0, 0),
	MSG_F(msg_ended, length2, M_UINT, 0, 0),
	MSG_F(msg_ended, dropped1, M_UINT, 0, 0),
	MSG_F(msg_ended, dropped2, M_UINT, 0, 0),
	MSG_F(msg_ended, background, M_UINT, 0, 0),
	MSG_F(msg_ended, started, M_UINT, 0, 0),
	MSG_F(msg_ended, ended, M_UINT, 0, 0),
	MSG_F(msg_ended, oom, M_UINT, 1, 0),
	MSG_F(msg_ended, changed, M_UINT, 1, 0),
	MSG_F(msg_ended, shared, M_UINT, 1, 0),
	MSG_F(msg_ended, more, M_UINT, 1, 0),
	MSG_F(msg_ended, denied, M_UINT, 1, 0),
	MSG_F(msg_ended, made, M_UINT, INT64_MAX, 0),
	MSG_F(msg_ended, written, M_UINT, INT64_MAX, 0),
	MSG_F(msg_ended, removed, M_UINT, INT64_MAX, 0),
	MSG_F(msg_ended, renamed, M_UINT, INT64_MAX, 0),
	MSG_F(msg_ended, altered, M_UINT, INT64_MAX, 0),
	MSG_F(msg_ended, list, M_TEXT, CHANGES_LIST_MAX, 0),
	MSG_F(msg_ended, why, M_STR, 0, 0),
};

static const struct msg_field f_refused[] = {
	MSG_F(msg_refused, n, M_UINT, 0, 0),
	MSG_F(msg_refused, k, M_UINT, 0, 0),
};

static const struct msg_field f_stream_end[] = {
	MSG_F(msg_stream_end, stream, M_UINT, 0, 0),
	MSG_F(msg_stream_end, offset, M_UINT, 0, 0),
};

static const struct msg_field f_box_create[] = {
	MSG_F(msg_box_create, n, M_UINT, 0, 0),
	MSG_F(msg_box_create, id, M_STR, 0, 0),
	MSG_F(msg_box_create, owner, M_UINT, 0, 0),
	MSG_F(msg_box_create, nonce, M_STR, 0, 0),
	MSG_F(msg_box_create, image, M_STR, 0, 0),
	MSG_F(msg_box_create, uid, M_UINT, 0, 0),
	MSG_F(msg_box_create, gid, M_UINT, 0, 0),
	MSG_F(msg_box_create, memory, M_UINT, 0, 0),
	MSG_F(msg_box_create, mcpus, M_UINT, 0, 0),
	MSG_F(msg_box_create, pids, M_UINT, 0, 0),
	MSG_F(msg_box_create, readonly, M_UINT, 0, 0),
	MSG_F(msg_box_create, env, M_KVV, SBX_ENV_MAX, 0),
	MSG_F(msg_box_create, disk, M_UINT, 0, 0),
	MSG_F(msg_box_create, tmpfs, M_UINT, 0, 0),
	MSG_F(msg_box_create, mounts, M_STRV, SBX_MOUNTS_MAX, 0),
	MSG_F(msg_box_create, mounts_rw, M_STRV, SBX_MOUNTS_MAX, 0),
};

static const struct msg_field f_box_update[] = {
	MSG_F(msg_box_update, n, M_UINT, 0, 0),
	MSG_F(msg_box_update, container, M_STR, 0, 0),
	MSG_F(msg_box_update, nonce, M_STR, 0, 0),
	MSG_F(msg_box_update, memory, M_UINT, 0, 0),
	MSG_F(msg_box_update, mcpus, M_UINT, 0, 0),
	MSG_F(msg_box_update, pids, M_UINT, 0, 0),
};

static const struct msg_field f_box_ref[] = {
	MSG_F(msg_box_ref, n, M_UINT, 0, 0),
	MSG_F(msg_box_ref, container, M_STR, 0, 0),
	MSG_F(msg_box_ref, nonce, M_STR, 0, 0),
	MSG_F(msg_box_ref, grace, M_UINT, 0, 0),
};

static const struct msg_field f_box_started[] = {
	MSG_F(msg_box_started, n, M_UINT, 0, 0),
	MSG_F(msg_box_started, container, M_STR, 0, 0),
	MSG_F(msg_box_started, image_id, M_STR, 0, 0),
	MSG_F(msg_box_started, pid, M_UINT, 0, 0),
	MSG_F(msg_box_started, facts.right, M_UINT, 0, 0),
	MSG_F(msg_box_started, facts.user, M_STR, 0, 0),
	MSG_F(msg_box_started, facts.runtime, M_STR, 0, 0),
	MSG_F(msg_box_started, facts.lsm, M_STR, 0, 0),
	MSG_F(msg_box_started, facts.userns, M_UINT, 1, 0),
	MSG_F(msg_box_started, facts.readonly, M_UINT, 0, 0),
	MSG_F(msg_box_started, facts.masked, M_UINT, 0, 0),
	MSG_F(msg_box_started, facts.mounts, M_UINT, 0, 0),
	MSG_F(msg_box_started, facts.volumes, M_UINT, 0, 0),
	MSG_F(msg_box_started, facts.tmp, M_UINT, 0, 0),
	MSG_F(msg_box_started, facts.memory, M_UINT, 0, 0),
	MSG_F(msg_box_started, facts.swap, M_UINT, 0, 0),
	MSG_F(msg_box_started, facts.ncpus, M_UINT, 0, 0),
	MSG_F(msg_box_started, facts.pids, M_UINT, 0, 0),
};

static const struct msg_field f_box_state[] = {
	MSG_F(msg_box_state, n, M_UINT, 0, 0),
	MSG_F(msg_box_state, container, M_STR, 0, 0),
	MSG_F(msg_box_state, nonce, M_STR, 0, 0),
	MSG_F(msg_box_state, id, M_STR, 0, 0),
	MSG_F(msg_box_state, running, M_UINT, 0, 0),
	MSG_F(msg_box_state, pid, M_UINT, 0, 0),
	MSG_F(msg_box_state, exitcode, M_INT, 0, 0),
	MSG_F(msg_box_state, oom, M_UINT, 0, 0),
	MSG_F(msg_box_state, gone, M_UINT, 0, 0),
	MSG_F(msg_box_state, paused, M_UINT, 1, 0),
};

static const struct msg_field f_box_done[] = {
	MSG_F(msg_box_done, n, M_UINT, 0, 0),
	MSG_F(msg_box_done, code, M_UINT, 0, 0),
	MSG_F(msg_box_done, text, M_STR, 0, 0),
};

static const struct msg_field f_box_failed[] = {
	MSG_F(msg_box_failed, n, M_UINT, 0, 0),
	MSG_F(msg_box_failed, code, M_UINT, 0, 0),
	MSG_F(msg_box_failed, text, M_STR, 0, 0),
	MSG_F(msg_box_failed, field, M_STR, 0, 0),
	MSG_F(msg_box_failed, left, M_UINT, 0, 0),
};

static const struct msg_field f_engine[] = {
	MSG_F(msg_engine, up, M_UINT, 0, 0),
	MSG_F(msg_engine, version, M_STR, 0, 0),
	MSG_F(msg_engine, api, M_STR, 0, 0),
	MSG_F(msg_engine, live_restore, M_UINT, 0, 0),
	MSG_F(msg_engine, unenforced, M_UINT, 0, 0),
	MSG_F(msg_engine, ncpu, M_UINT, 0, 0),
	MSG_F(msg_engine, newest, M_STR, 0, 0),
	MSG_F(msg_engine, kernel, M_STR, 0, 0),
	MSG_F(msg_engine, runtime, M_STR, 0, 0),
	MSG_F(msg_engine, security, M_STR, 0, 0),
	MSG_F(msg_engine, cgroup, M_STR, 0, 0),
	MSG_F(msg_engine, cgroup_driver, M_STR, 0, 0),
	MSG_F(msg_engine, storage, M_STR, 0, 0),
	MSG_F(msg_engine, backing, M_STR, 0, 0),
	MSG_F(msg_engine, text, M_STR, 0, 0),
};

#define PATH_F(st, m)							\
	MSG_F(st, m.path, M_STR, 0, 0),					\
	MSG_F(st, m.there, M_UINT, 0, 0),				\
	MSG_F(st, m.mode, M_UINT, 0, 0),				\
	MSG_F(st, m.uid, M_UINT, 0, 0),					\
	MSG_F(st, m.gid, M_UINT, 0, 0),					\
	MSG_F(st, m.group, M_STR, 0, 0),				\
	MSG_F(st, m.above, M_STR, 0, 0),				\
	MSG_F(st, m.why, M_STR, 0, 0)

static const struct msg_field f_host[] = {
	MSG_F(msg_host, code, M_UINT, 0, 0),
	PATH_F(msg_host, socket),
	PATH_F(msg_host, state),
	PATH_F(msg_host, engine),
	MSG_F(msg_host, engine_uid, M_UINT, 0, 0),
	MSG_F(msg_host, nmembers, M_UINT, 0, 0),
	MSG_F(msg_host, members, M_STR, 0, 0),
	MSG_F(msg_host, tmpfs, M_UINT, 0, 0),
	MSG_F(msg_host, db_apart_work, M_UINT, 0, 0),
	MSG_F(msg_host, db_apart_log, M_UINT, 0, 0),
	MSG_F(msg_host, db_free, M_UINT, 0, 0),
	MSG_F(msg_host, db_size, M_UINT, 0, 0),
};

static const struct msg_field f_import[] = {
	MSG_F(msg_import, name, M_STR, 0, 0),
};

#define AT(t)	[(t) - MSG_PIPE]

static const struct msg_def defs[MSG_MAX - MSG_PIPE] = {
	AT(MSG_PIPE) = MSG_DEF(MSG_PIPE, "PIPE", msg_pipe,
	    f_pipe),
	AT(MSG_CONF_BEGIN) = MSG_DEF(MSG_CONF_BEGIN, "CONF_BEGIN", msg_conf,
	    f_conf),
	AT(MSG_CONF_RULE) = MSG_DEF(MSG_CONF_RULE, "CONF_RULE", msg_conf_rule,
	    f_conf_rule),
	AT(MSG_CONF_PLACE) = MSG_DEF(MSG_CONF_PLACE, "CONF_PLACE",
	    msg_conf_place, f_conf_place),
	AT(MSG_CONF_END) = MSG_DEF_EMPTY(MSG_CONF_END, "CONF_END"),
	AT(MSG_GO) = MSG_DEF_EMPTY(MSG_GO, "GO"),
	AT(MSG_SHUTDOWN) = MSG_DEF_EMPTY(MSG_SHUTDOWN, "SHUTDOWN"),
	AT(MSG_BEAT) = MSG_DEF_EMPTY(MSG_BEAT, "BEAT"),
	AT(MSG_READY) = MSG_DEF(MSG_READY, "READY", msg_ready,
	    f_ready),
	AT(MSG_LOG) = MSG_DEF(MSG_LOG, "LOG", msg_log,
	    f_log),
	AT(MSG_SESSION_OPEN) = MSG_DEF(MSG_SESSION_OPEN, "SESSION_OPEN", msg_session,
	    f_session),
	AT(MSG_SESSION_CLOSED) = MSG_DEF_EMPTY(MSG_SESSION_CLOSED, "SESSION_CLOSED"),
	AT(MSG_SESSION_RIGHTS) = MSG_DEF(MSG_SESSION_RIGHTS, "SESSION_RIGHTS",
	    msg_session, f_session),
	AT(MSG_SESSION_REFUSED) = MSG_DEF(MSG_SESSION_REFUSED,
	    "SESSION_REFUSED", msg_session_refused, f_session_refused),
	AT(MSG_WORK_DONE) = MSG_DEF(MSG_WORK_DONE, "WORK_DONE", msg_work_done,
	    f_work_done),
	AT(MSG_RELOAD_DONE) = MSG_DEF(MSG_RELOAD_DONE, "RELOAD_DONE", msg_result,
	    f_result),
	AT(MSG_HOST) = MSG_DEF(MSG_HOST, "HOST", msg_host,
	    f_host),
	AT(MSG_OPEN) = MSG_DEF_EMPTY(MSG_OPEN, "OPEN"),
	AT(MSG_WORK_MAKE) = MSG_DEF(MSG_WORK_MAKE, "WORK_MAKE", msg_work,
	    f_work),
	AT(MSG_WORK_REMOVE) = MSG_DEF(MSG_WORK_REMOVE, "WORK_REMOVE", msg_work,
	    f_work),
	AT(MSG_RELOAD) = MSG_DEF(MSG_RELOAD, "RELOAD", msg_reload,
	    f_reload),
	AT(MSG_DOCTOR) = MSG_DEF_EMPTY(MSG_DOCTOR, "DOCTOR"),
	AT(MSG_MOUNTS_CHECK) = MSG_DEF(MSG_MOUNTS_CHECK, "MOUNTS_CHECK",
	    msg_mounts_check, f_mounts_check),
	AT(MSG_MOUNTS_CHECKED) = MSG_DEF(MSG_MOUNTS_CHECKED,
	    "MOUNTS_CHECKED", msg_mounts_checked, f_mounts_checked),
	AT(MSG_MOUNTS_DROP) = MSG_DEF(MSG_MOUNTS_DROP, "MOUNTS_DROP",
	    msg_mounts_ref, f_mounts_ref),
	AT(MSG_MOUNTS_OFF) = MSG_DEF(MSG_MOUNTS_OFF, "MOUNTS_OFF",
	    msg_mounts_ref, f_mounts_ref),
	AT(MSG_CLIENT) = MSG_DEF(MSG_CLIENT, "CLIENT", msg_client,
	    f_client),
	AT(MSG_LISTEN) = MSG_DEF(MSG_LISTEN, "LISTEN", msg_listen,
	    f_listen),
	AT(MSG_GREET) = MSG_DEF(MSG_GREET, "GREET", msg_listen,
	    f_listen),
	AT(MSG_UNLISTEN) = MSG_DEF(MSG_UNLISTEN, "UNLISTEN", msg_listen,
	    f_listen),
	AT(MSG_START) = MSG_DEF(MSG_START, "START", msg_start,
	    f_start),
	AT(MSG_SIGNAL) = MSG_DEF(MSG_SIGNAL, "SIGNAL", msg_exec_ref,
	    f_exec_ref),
	AT(MSG_CANCEL) = MSG_DEF(MSG_CANCEL, "CANCEL", msg_exec_ref,
	    f_exec_ref),
	AT(MSG_FORGET) = MSG_DEF(MSG_FORGET, "FORGET", msg_exec_ref,
	    f_exec_ref),
	AT(MSG_READ) = MSG_DEF(MSG_READ, "READ", msg_read,
	    f_read),
	AT(MSG_REATTACH) = MSG_DEF(MSG_REATTACH, "REATTACH", msg_read,
	    f_read),
	AT(MSG_INPUT_FINISH) = MSG_DEF(MSG_INPUT_FINISH, "INPUT_FINISH", msg_exec_ref,
	    f_exec_ref),
	AT(MSG_GUEST_STOP) = MSG_DEF(MSG_GUEST_STOP, "GUEST_STOP", msg_exec_ref,
	    f_exec_ref),
	AT(MSG_LOG_REMOVE) = MSG_DEF(MSG_LOG_REMOVE, "LOG_REMOVE", msg_exec_ref,
	    f_exec_ref),
	AT(MSG_SESSION_GONE) = MSG_DEF_EMPTY(MSG_SESSION_GONE, "SESSION_GONE"),
	AT(MSG_CALL) = MSG_DEF(MSG_CALL, "CALL", msg_call, f_call),
	AT(MSG_CALL_INPUT) = MSG_DEF(MSG_CALL_INPUT, "CALL_INPUT",
	    msg_call_ref, f_call_ref),
	AT(MSG_CALL_CANCEL) = MSG_DEF(MSG_CALL_CANCEL, "CALL_CANCEL",
	    msg_call_ref, f_call_ref),
	AT(MSG_CALL_DONE) = MSG_DEF(MSG_CALL_DONE, "CALL_DONE",
	    msg_call_done, f_call_done),
	AT(MSG_RESIZE) = MSG_DEF(MSG_RESIZE, "RESIZE", msg_resize,
	    f_resize),
	AT(MSG_PROBE) = MSG_DEF(MSG_PROBE, "PROBE", msg_listen,
	    f_listen),
	AT(MSG_GUEST_HELLO) = MSG_DEF(MSG_GUEST_HELLO, "GUEST_HELLO", msg_guest_hello,
	    f_guest_hello),
	AT(MSG_GUEST_GONE) = MSG_DEF(MSG_GUEST_GONE, "GUEST_GONE", msg_guest_gone,
	    f_guest_gone),
	AT(MSG_GUEST_BROKE) = MSG_DEF(MSG_GUEST_BROKE, "GUEST_BROKE", msg_guest_gone,
	    f_guest_gone),
	AT(MSG_STARTED) = MSG_DEF(MSG_STARTED, "STARTED", msg_started,
	    f_started),
	AT(MSG_NOT_STARTED) = MSG_DEF(MSG_NOT_STARTED, "NOT_STARTED", msg_not_started,
	    f_not_started),
	AT(MSG_ENDED) = MSG_DEF(MSG_ENDED, "ENDED", msg_ended,
	    f_ended),
	AT(MSG_REFUSED) = MSG_DEF(MSG_REFUSED, "REFUSED", msg_refused,
	    f_refused),
	AT(MSG_RUNNER_ERROR) = MSG_DEF(MSG_RUNNER_ERROR, "RUNNER_ERROR", msg_result,
	    f_result),
	AT(MSG_LISTENING) = MSG_DEF(MSG_LISTENING, "LISTENING", msg_guest_gone,
	    f_guest_gone),
	AT(MSG_BUSY) = MSG_DEF(MSG_BUSY, "BUSY", msg_guest_gone,
	    f_guest_gone),
	AT(MSG_GUEST_SILENT) = MSG_DEF(MSG_GUEST_SILENT, "GUEST_SILENT",
	    msg_guest_silent, f_guest_silent),
	AT(MSG_STREAM_END) = MSG_DEF(MSG_STREAM_END, "STREAM_END", msg_stream_end,
	    f_stream_end),
	AT(MSG_INVENTORY) = MSG_DEF_EMPTY(MSG_INVENTORY, "INVENTORY"),
	AT(MSG_BOX_CREATE) = MSG_DEF(MSG_BOX_CREATE, "BOX_CREATE", msg_box_create,
	    f_box_create),
	AT(MSG_BOX_START) = MSG_DEF(MSG_BOX_START, "BOX_START", msg_box_ref,
	    f_box_ref),
	AT(MSG_BOX_KILL) = MSG_DEF(MSG_BOX_KILL, "BOX_KILL", msg_box_ref,
	    f_box_ref),
	AT(MSG_BOX_REMOVE) = MSG_DEF(MSG_BOX_REMOVE, "BOX_REMOVE", msg_box_ref,
	    f_box_ref),
	AT(MSG_IMPORT) = MSG_DEF(MSG_IMPORT, "IMPORT", msg_import,
	    f_import),
	AT(MSG_CONTAINER) = MSG_DEF(MSG_CONTAINER, "CONTAINER", msg_box_state,
	    f_box_state),
	AT(MSG_INVENTORY_END) = MSG_DEF(MSG_INVENTORY_END, "INVENTORY_END", msg_box_done,
	    f_box_done),
	AT(MSG_BOX_STARTED) = MSG_DEF(MSG_BOX_STARTED, "BOX_STARTED", msg_box_started,
	    f_box_started),
	AT(MSG_BOX_UPDATED) = MSG_DEF(MSG_BOX_UPDATED, "BOX_UPDATED",
	    msg_box_started, f_box_started),
	AT(MSG_BOX_DEAD) = MSG_DEF(MSG_BOX_DEAD, "BOX_DEAD", msg_box_state,
	    f_box_state),
	AT(MSG_BOX_REMOVED) = MSG_DEF(MSG_BOX_REMOVED, "BOX_REMOVED", msg_box_done,
	    f_box_done),
	AT(MSG_BOX_FAILED) = MSG_DEF(MSG_BOX_FAILED, "BOX_FAILED", msg_box_failed,
	    f_box_failed),
	AT(MSG_BOX_DIED) = MSG_DEF(MSG_BOX_DIED, "BOX_DIED", msg_box_state,
	    f_box_state),
	AT(MSG_ENGINE) = MSG_DEF(MSG_ENGINE, "ENGINE", msg_engine,
	    f_engine),
	AT(MSG_IMPORT_STREAM) = MSG_DEF_EMPTY(MSG_IMPORT_STREAM, "IMPORT_STREAM"),
	AT(MSG_IMPORT_FAILED) = MSG_DEF(MSG_IMPORT_FAILED, "IMPORT_FAILED", msg_box_failed,
	    f_box_failed),
	AT(MSG_BOX_PAUSE) = MSG_DEF(MSG_BOX_PAUSE, "BOX_PAUSE", msg_box_ref,
	    f_box_ref),
	AT(MSG_BOX_UNPAUSE) = MSG_DEF(MSG_BOX_UNPAUSE, "BOX_UNPAUSE", msg_box_ref,
	    f_box_ref),
	AT(MSG_BOX_UPDATE) = MSG_DEF(MSG_BOX_UPDATE, "BOX_UPDATE",
	    msg_box_update, f_box_update),
	AT(MSG_BOX_PAUSED) = MSG_DEF(MSG_BOX_PAUSED, "BOX_PAUSED", msg_box_state,
	    f_box_state),
	AT(MSG_BOX_UNPAUSED) = MSG_DEF(MSG_BOX_UNPAUSED, "BOX_UNPAUSED",
	    msg_box_state, f_box_state),
	AT(MSG_BOX_LOOK) = MSG_DEF(MSG_BOX_LOOK, "BOX_LOOK", msg_box_state,
	    f_box_state),
};

const struct msg_def *
msg_def(uint32_t type)
{
	const struct msg_def	*def;

	/* Two are shaped as their counterparts in the client protocol. */
	if (type == MSG_PROC)
		return (proto_def(PROTO_PROC));
	if (type == MSG_IMPORTED)
		return (proto_def(PROTO_IMAGE));
	if (type < MSG_PIPE)
		return (proto_def(type));
	if (type >= MSG_MAX)
		return (NULL);
	def = &defs[type - MSG_PIPE];
	return (def->name == NULL ? NULL : def);
}

const char *
msg_name(uint32_t type)
{
	const struct msg_def	*def;

	if ((def = msg_def(type)) == NULL)
		return ("unknown message");
	return (def->name);
}
