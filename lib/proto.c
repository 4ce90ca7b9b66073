/* The tables of the client protocol; proto.h says what each field means. */

#include <sys/types.h>

#include "proto.h"

static const struct msg_field f_hello[] = {
	MSG_F(proto_hello, version, M_UINT, 0, 0),
	MSG_F(proto_hello, client, M_STR, 0, M_OPT),
	MSG_F(proto_hello, minor, M_UINT, 0, M_OPT),
};

static const struct msg_field f_hello_ok[] = {
	MSG_F(proto_hello_ok, version, M_UINT, 0, 0),
	MSG_F(proto_hello_ok, daemon, M_STR, 0, 0),
	MSG_F(proto_hello_ok, instance, M_STR, 0, 0),
	MSG_F(proto_hello_ok, payload, M_UINT, 0, 0),
	MSG_F(proto_hello_ok, inflight, M_UINT, 0, 0),
	MSG_F(proto_hello_ok, uid, M_UINT, 0, 0),
	MSG_F(proto_hello_ok, all, M_UINT, 0, 0),
	MSG_F(proto_hello_ok, minor, M_UINT, 0, M_OPT),
	MSG_F(proto_hello_ok, database, M_UINT, 0, M_OPT),
	MSG_F(proto_hello_ok, guest_oldest, M_UINT, 0, M_OPT),
	MSG_F(proto_hello_ok, guest_newest, M_UINT, 0, M_OPT),
};

static const struct msg_field f_create[] = {
	MSG_F(proto_create, id, M_STR, 0, M_OPT),
	MSG_F(proto_create, key, M_STR, 0, M_OPT),
	MSG_F(proto_create, image, M_STR, 0, M_OPT),
	MSG_F(proto_create, labels, M_KVV, SBX_LABELS_MAX, M_OPT),
	MSG_F(proto_create, env, M_KVV, SBX_ENV_MAX, M_OPT),
	MSG_F(proto_create, memory, M_UINT, 0, M_OPT),
	MSG_F(proto_create, mcpus, M_UINT, 0, M_OPT),
	MSG_F(proto_create, pids, M_UINT, 0, M_OPT),
	MSG_F(proto_create, workdir, M_TEXT, SBX_DIR_MAX, M_OPT),
	MSG_F(proto_create, user, M_STR, 0, M_OPT),
	MSG_F(proto_create, readonly, M_UINT, 1, M_OPT),
	MSG_F(proto_create, wait, M_UINT, 1, M_OPT),
	MSG_F(proto_create, resume, M_UINT, 1, M_OPT),
	MSG_F(proto_create, lifetime, M_UINT, 0, M_OPT),
	MSG_F(proto_create, idle, M_UINT, 0, M_OPT),
	MSG_F(proto_create, keep, M_UINT, 0, M_OPT),
	MSG_F(proto_create, disk, M_UINT, 0, M_OPT),
	MSG_F(proto_create, tmpfs, M_UINT, 0, M_OPT),
	MSG_F(proto_create, hold, M_UINT, 1, M_OPT),
	MSG_F(proto_create, mounts, M_KVV, SBX_MOUNTS_MAX, M_OPT),
	MSG_F(proto_create, mounts_rw, M_KVV, SBX_MOUNTS_MAX, M_OPT),
	MSG_F(proto_create, companion_of, M_STR, 0, M_OPT),
};

static const struct msg_field f_list[] = {
	MSG_F(proto_list, all, M_UINT, 1, M_OPT),
	MSG_F(proto_list, state, M_STR, 0, M_OPT),
	MSG_F(proto_list, labels, M_KVV, SBX_LABELS_MAX, M_OPT),
	MSG_F(proto_list, after, M_UINT, 0, M_OPT),
	MSG_F(proto_list, limit, M_UINT, 0, M_OPT),
};

static const struct msg_field f_extend[] = {
	MSG_F(proto_extend, id, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_extend, time, M_UINT, 0, M_OPT),
	MSG_F(proto_extend, idle, M_UINT, 0, M_OPT),
};

static const struct msg_field f_update[] = {
	MSG_F(proto_update, id, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_update, labels, M_KVV, SBX_LABELS_MAX, M_OPT),
	MSG_F(proto_update, unlabel, M_STRV, SBX_LABELS_MAX, M_OPT),
	MSG_F(proto_update, memory, M_UINT, 0, M_OPT),
	MSG_F(proto_update, mcpus, M_UINT, 0, M_OPT),
	MSG_F(proto_update, pids, M_UINT, 0, M_OPT),
	MSG_F(proto_update, lifetime, M_UINT, 0, M_OPT),
	MSG_F(proto_update, idle, M_UINT, 0, M_OPT),
	MSG_F(proto_update, keep, M_UINT, 0, M_OPT),
	MSG_F(proto_update, wait, M_UINT, 1, M_OPT),
};

static const struct msg_field f_ref[] = {
	MSG_F(proto_ref, id, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_ref, wait, M_UINT, 1, M_OPT),
	MSG_F(proto_ref, grace, M_UINT, EXEC_GRACE_MAX, M_OPT),
};

static const struct msg_field f_exec[] = {
	MSG_F(proto_exec, sandbox, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_exec, argv, M_STRV, EXEC_ENTRIES_MAX, 0),
	MSG_F(proto_exec, env, M_KVV, EXEC_ENTRIES_MAX, M_OPT),
	MSG_F(proto_exec, dir, M_TEXT, SBX_DIR_MAX, M_OPT),
	MSG_F(proto_exec, user, M_STR, 0, M_OPT),
	MSG_F(proto_exec, timeout, M_UINT, EXEC_TIMEOUT_MAX, M_OPT),
	MSG_F(proto_exec, grace, M_UINT, EXEC_GRACE_MAX, M_OPT),
	MSG_F(proto_exec, flags, M_UINT, EXEC_FLAGS, M_OPT),
	MSG_F(proto_exec, rows, M_UINT, TTY_SIZE_MAX, M_OPT),
	MSG_F(proto_exec, cols, M_UINT, TTY_SIZE_MAX, M_OPT),
	MSG_F(proto_exec, include, M_STRV, CHANGES_SCOPE_MAX, M_OPT),
	MSG_F(proto_exec, exclude, M_STRV, CHANGES_SCOPE_MAX, M_OPT),
	MSG_F(proto_exec, reason, M_STR, 0, M_OPT),
};

static const struct msg_field f_resize[] = {
	MSG_F(proto_resize, exec, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_resize, rows, M_UINT, TTY_SIZE_MAX, 0),
	MSG_F(proto_resize, cols, M_UINT, TTY_SIZE_MAX, 0),
};

static const struct msg_field f_detach[] = {
	MSG_F(proto_detach, exec, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_detach, shown, M_UINT, 0, M_OPT),
};

static const struct msg_field f_attach[] = {
	MSG_F(proto_attach, exec, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_attach, offset1, M_UINT, 0, M_OPT),
	MSG_F(proto_attach, offset2, M_UINT, 0, M_OPT),
	MSG_F(proto_attach, streams, M_UINT, 7, M_OPT),
	MSG_F(proto_attach, follow, M_UINT, 1, M_OPT),
};

static const struct msg_field f_input_end[] = {
	MSG_F(proto_input_end, exec, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_input_end, total, M_UINT, 0, M_OPT),
};

static const struct msg_field f_ps[] = {
	MSG_F(proto_ps, sandbox, M_TEXT, EXEC_ID_MAX + 16, M_OPT),
	MSG_F(proto_ps, all, M_UINT, 1, M_OPT),
};

static const struct msg_field f_wait[] = {
	MSG_F(proto_wait, exec, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_wait, timeout, M_UINT, EXEC_TIMEOUT_MAX, M_OPT),
};

static const struct msg_field f_wait_state[] = {
	MSG_F(proto_wait_state, id, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_wait_state, states, M_STRV, SBX_STATES_MAX, 0),
	MSG_F(proto_wait_state, from, M_UINT, 0, M_OPT),
	MSG_F(proto_wait_state, timeout, M_UINT, EXEC_TIMEOUT_MAX, M_OPT),
};

static const struct msg_field f_kill[] = {
	MSG_F(proto_kill, exec, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_kill, signo, M_UINT, 64, M_OPT),
	MSG_F(proto_kill, grace, M_UINT, EXEC_GRACE_MAX, M_OPT),
};

static const struct msg_field f_events[] = {
	MSG_F(proto_events, sandbox, M_TEXT, EXEC_ID_MAX + 16, M_OPT),
	MSG_F(proto_events, from, M_UINT, 0, M_OPT),
	MSG_F(proto_events, follow, M_UINT, 1, M_OPT),
	MSG_F(proto_events, credit, M_UINT, 0, M_OPT),
	MSG_F(proto_events, type, M_STR, 0, M_OPT),
	MSG_F(proto_events, types, M_STRV, EVENTS_TYPES_MAX, M_OPT),
	MSG_F(proto_events, labels, M_KVV, SBX_LABELS_MAX, M_OPT),
	MSG_F(proto_events, heartbeat, M_UINT, EVENTS_BEAT_MAX, M_OPT),
	MSG_F(proto_events, oldest, M_UINT, 1, M_OPT),
	MSG_F(proto_events, end, M_UINT, 1, M_OPT),
	MSG_F(proto_events, snapshot, M_UINT, 1, M_OPT),
};

static const struct msg_field f_credit[] = {
	MSG_F(proto_credit, n, M_UINT, 0, 0),
};

static const struct msg_field f_reload[] = {
	MSG_F(proto_reload, execute, M_UINT, 1, M_OPT),
};

static const struct msg_field f_reconcile[] = {
	MSG_F(proto_reconcile, force, M_UINT, 1, M_OPT),
};

static const struct msg_field f_image_import[] = {
	MSG_F(proto_image_import, name, M_STR, 0, 0),
};

static const struct msg_field f_log_verify[] = {
	MSG_F(proto_log_verify, head, M_STR, 0, M_OPT),
};

static const struct msg_field f_log_dump[] = {
	MSG_F(proto_log_dump, credit, M_UINT, 0, M_OPT),
};

static const struct msg_field f_call[] = {
	MSG_F(proto_call, sandbox, M_TEXT, EXEC_ID_MAX + 16, 0),
	MSG_F(proto_call, op, M_UINT, 0, 0),
	MSG_F(proto_call, flags, M_UINT, CALL_F_ALL, M_OPT),
	MSG_F(proto_call, mode, M_UINT, 07777, M_OPT),
	MSG_F(proto_call, path, M_TEXT, CALL_PATH_MAX, M_OPT),
	MSG_F(proto_call, path2, M_TEXT, CALL_PATH_MAX, M_OPT),
	MSG_F(proto_call, pattern, M_TEXT, CALL_PATH_MAX, M_OPT),
	MSG_F(proto_call, filter, M_TEXT, CALL_PATH_MAX, M_OPT),
	MSG_F(proto_call, offset, M_UINT, 0, M_OPT),
	MSG_F(proto_call, length, M_UINT, 0, M_OPT),
	MSG_F(proto_call, limit, M_UINT, 0, M_OPT),
	MSG_F(proto_call, count, M_UINT, 0, M_OPT),
	MSG_F(proto_call, data, M_BLOB, CALL_DATA_MAX, M_OPT),
};

static const struct msg_field f_call_input[] = {
	MSG_F(proto_call_input, call, M_UINT, 0, 0),
	MSG_F(proto_call_input, total, M_UINT, 0, M_OPT),
};

static const struct msg_field f_call_cancel[] = {
	MSG_F(proto_call_cancel, call, M_UINT, 0, 0),
};

static const struct msg_field f_end[] = {
	MSG_F(proto_end, after, M_UINT, 0, M_OPT),
};

static const struct msg_field f_error[] = {
	MSG_F(proto_error, code, M_STR, 0, 0),
	MSG_F(proto_error, text, M_STR, 0, 0),
	MSG_F(proto_error, field, M_STR, 0, M_OPT),
};

static const struct msg_field f_accepted[] = {
	MSG_F(proto_accepted, id, M_STR, 0, 0),
	MSG_F(proto_accepted, op, M_UINT, 0, M_OPT),
	MSG_F(proto_accepted, state, M_STR, 0, M_OPT),
};

static const struct msg_field f_sandbox[] = {
	MSG_F(proto_sandbox, id, M_STR, 0, 0),
	MSG_F(proto_sandbox, number, M_UINT, 0, 0),
	MSG_F(proto_sandbox, owner, M_UINT, 0, 0),
	MSG_F(proto_sandbox, state, M_STR, 0, 0),
	MSG_F(proto_sandbox, cause, M_STR, 0, M_OPT),
	MSG_F(proto_sandbox, image, M_STR, 0, 0),
	MSG_F(proto_sandbox, image_id, M_STR, 0, M_OPT),
	MSG_F(proto_sandbox, container, M_STR, 0, M_OPT),
	MSG_F(proto_sandbox, labels, M_KVV, SBX_LABELS_MAX, M_OPT),
	MSG_F(proto_sandbox, env, M_STRV, SBX_ENV_MAX, M_OPT),
	MSG_F(proto_sandbox, memory, M_UINT, 0, 0),
	MSG_F(proto_sandbox, mcpus, M_UINT, 0, 0),
	MSG_F(proto_sandbox, pids, M_UINT, 0, 0),
	MSG_F(proto_sandbox, memory_seen, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, mcpus_seen, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, pids_seen, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, workdir, M_TEXT, SBX_DIR_MAX, M_OPT),
	MSG_F(proto_sandbox, user, M_UINT, 0, 0),
	MSG_F(proto_sandbox, readonly, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, created, M_UINT, 0, 0),
	MSG_F(proto_sandbox, changed, M_UINT, 0, 0),
	MSG_F(proto_sandbox, seq, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, execs, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, guest, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, missing, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, resume, M_UINT, 1, M_OPT),
	MSG_F(proto_sandbox, lifetime, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, expires, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, idle, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, next, M_STR, 0, M_OPT),
	MSG_F(proto_sandbox, next_by, M_STR, 0, M_OPT),
	MSG_F(proto_sandbox, next_in, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, keep, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, disk, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, degraded, M_STR, 0, M_OPT),
	MSG_F(proto_sandbox, tmpfs, M_UINT, 0, M_OPT),
	MSG_F(proto_sandbox, mounts, M_KVV, SBX_MOUNTS_MAX, M_OPT),
	MSG_F(proto_sandbox, mounts_rw, M_KVV, SBX_MOUNTS_MAX, M_OPT),
	MSG_F(proto_sandbox, companion_of, M_STR, 0, M_OPT),
};

static const struct msg_field f_exec_info[] = {
	MSG_F(proto_exec_info, id, M_STR, 0, 0),
	MSG_F(proto_exec_info, owner, M_UINT, 0, 0),
	MSG_F(proto_exec_info, state, M_STR, 0, 0),
	MSG_F(proto_exec_info, code, M_INT, 0, M_OPT),
	MSG_F(proto_exec_info, cause, M_STR, 0, M_OPT),
	MSG_F(proto_exec_info, errnum, M_INT, 0, M_OPT),
	MSG_F(proto_exec_info, argv, M_STRV, EXEC_ENTRIES_MAX, M_OPT),
	MSG_F(proto_exec_info, detached, M_UINT, 0, M_OPT),
	MSG_F(proto_exec_info, created, M_UINT, 0, 0),
	MSG_F(proto_exec_info, started, M_UINT, 0, M_OPT),
	MSG_F(proto_exec_info, ended, M_UINT, 0, M_OPT),
	MSG_F(proto_exec_info, length1, M_UINT, 0, M_OPT),
	MSG_F(proto_exec_info, length2, M_UINT, 0, M_OPT),
	MSG_F(proto_exec_info, dropped1, M_UINT, 0, M_OPT),
	MSG_F(proto_exec_info, dropped2, M_UINT, 0, M_OPT),
	MSG_F(proto_exec_info, background, M_UINT, 0, M_OPT),
	MSG_F(proto_exec_info, tty, M_UINT, 1, M_OPT),
	MSG_F(proto_exec_info, shown, M_UINT, 0, M_OPT),
	MSG_F(proto_exec_info, reason, M_STR, 0, M_OPT),
};

static const struct msg_field f_event[] = {
	MSG_F(proto_event, host_seq, M_UINT, 0, 0),
	MSG_F(proto_event, seq, M_UINT, 0, 0),
	MSG_F(proto_event, time, M_UINT, 0, 0),
	MSG_F(proto_event, sandbox, M_STR, 0, M_OPT),
	MSG_F(proto_event, owner, M_UINT, 0, 0),
	MSG_F(proto_event, type, M_STR, 0, 0),
	MSG_F(proto_event, state, M_STR, 0, M_OPT),
	MSG_F(proto_event, actor, M_INT, 0, 0),
	MSG_F(proto_event, op, M_UINT, 0, M_OPT),
	MSG_F(proto_event, detail, M_KVV, 64, M_OPT),
	MSG_F(proto_event, replayed, M_UINT, 1, M_OPT),
};

static const struct msg_field f_heartbeat[] = {
	MSG_F(proto_heartbeat, seq, M_UINT, 0, 0),
	MSG_F(proto_heartbeat, time, M_UINT, 0, 0),
};

static const struct msg_field f_stream[] = {
	MSG_F(proto_stream, stream, M_UINT, 0, 0),
	MSG_F(proto_stream, offset, M_UINT, 0, M_OPT),
	MSG_F(proto_stream, exec, M_STR, 0, M_OPT),
};

static const struct msg_field f_gap[] = {
	MSG_F(proto_gap, stream, M_UINT, 0, 0),
	MSG_F(proto_gap, from, M_UINT, 0, 0),
	MSG_F(proto_gap, to, M_UINT, 0, 0),
};

static const struct msg_field f_stalled[] = {
	MSG_F(proto_stalled, stream, M_UINT, 0, 0),
};

static const struct msg_field f_input_ack[] = {
	MSG_F(proto_input_ack, offset, M_UINT, 0, 0),
};

static const struct msg_field f_result[] = {
	MSG_F(proto_result, out, M_UINT, 0, M_OPT),
	MSG_F(proto_result, in, M_UINT, 0, M_OPT),
	MSG_F(proto_result, count, M_UINT, 0, M_OPT),
	MSG_F(proto_result, count2, M_UINT, 0, M_OPT),
	MSG_F(proto_result, flags, M_UINT, 0, M_OPT),
};

static const struct msg_field f_output_end[] = {
	MSG_F(proto_output_end, stream, M_UINT, 2, 0),
	MSG_F(proto_output_end, offset, M_UINT, 0, 0),
};

static const struct msg_field f_proc[] = {
	MSG_F(proto_proc, name, M_STR, 0, 0),
	MSG_F(proto_proc, pid, M_UINT, 0, 0),
	MSG_F(proto_proc, uid, M_UINT, 0, 0),
	MSG_F(proto_proc, user, M_STR, 0, 0),
	MSG_F(proto_proc, started, M_UINT, 0, 0),
	MSG_F(proto_proc, layers, M_STR, 0, M_OPT),
	MSG_F(proto_proc, missing, M_STR, 0, M_OPT),
};

static const struct msg_field f_status_info[] = {
	MSG_F(proto_status_info, instance, M_STR, 0, 0),
	MSG_F(proto_status_info, daemon, M_STR, 0, 0),
	MSG_F(proto_status_info, engine_up, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, engine, M_STR, 0, M_OPT),
	MSG_F(proto_status_info, engine_text, M_STR, 0, M_OPT),
	MSG_F(proto_status_info, live_restore, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, unenforced, M_STR, 0, M_OPT),
	MSG_F(proto_status_info, sandboxes, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, ready, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, execs, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, clients, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, requests, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, waiting, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, subscriptions, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, pipes, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, events, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, missing, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, strays, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, database, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, guest_oldest, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, guest_newest, M_UINT, 0, M_OPT),
	MSG_F(proto_status_info, damage, M_STR, 0, M_OPT),
	MSG_F(proto_status_info, commits, M_UINT, 0, M_OPT),
};

static const struct msg_field f_image[] = {
	MSG_F(proto_image, name, M_STR, 0, 0),
	MSG_F(proto_image, id, M_STR, 0, M_OPT),
	MSG_F(proto_image, size, M_UINT, 0, M_OPT),
};

static const struct msg_field f_verify[] = {
	MSG_F(proto_verify, events, M_UINT, 0, M_OPT),
	MSG_F(proto_verify, skeletons, M_UINT, 0, M_OPT),
	MSG_F(proto_verify, anchor, M_UINT, 0, M_OPT),
	MSG_F(proto_verify, head, M_STR, 0, 0),
	MSG_F(proto_verify, newest, M_UINT, 0, M_OPT),
	MSG_F(proto_verify, sandboxes, M_UINT, 0, M_OPT),
	MSG_F(proto_verify, execs, M_UINT, 0, M_OPT),
	MSG_F(proto_verify, found, M_UINT, 0, M_OPT),
};

static const struct msg_field f_dump[] = {
	MSG_F(proto_dump, data, M_BLOB, 65536, 0),
};

static const struct msg_field f_right[] = {
	MSG_F(proto_right, name, M_STR, 0, 0),
	MSG_F(proto_right, on, M_STR, 0, 0),
	MSG_F(proto_right, may, M_UINT, 1, M_OPT),
	MSG_F(proto_right, by, M_STR, 0, 0),
};

static const struct msg_field f_limit[] = {
	MSG_F(proto_limit, name, M_STR, 0, 0),
	MSG_F(proto_limit, of, M_STR, 0, 0),
	MSG_F(proto_limit, most, M_UINT, 0, M_OPT),
	MSG_F(proto_limit, per, M_UINT, 0, M_OPT),
	MSG_F(proto_limit, used, M_UINT, 0, M_OPT),
	MSG_F(proto_limit, by, M_STR, 0, M_OPT),
};

static const struct msg_field f_control[] = {
	MSG_F(proto_control, name, M_STR, 0, 0),
	MSG_F(proto_control, state, M_STR, 0, 0),
	MSG_F(proto_control, proof, M_STR, 0, 0),
	MSG_F(proto_control, advice, M_STR, 0, M_OPT),
};

static const struct msg_def defs[PROTO_MAX] = {
	[PROTO_HELLO] = MSG_DEF(PROTO_HELLO, "hello", proto_hello,
	    f_hello),
	[PROTO_PING] = MSG_DEF_EMPTY(PROTO_PING, "ping"),
	[PROTO_STATUS] = MSG_DEF_EMPTY(PROTO_STATUS, "status"),
	[PROTO_CREATE] = MSG_DEF(PROTO_CREATE, "create", proto_create,
	    f_create),
	[PROTO_LIST] = MSG_DEF(PROTO_LIST, "list", proto_list,
	    f_list),
	[PROTO_SHOW] = MSG_DEF(PROTO_SHOW, "show", proto_ref,
	    f_ref),
	[PROTO_STOP] = MSG_DEF(PROTO_STOP, "stop", proto_ref,
	    f_ref),
	[PROTO_RESUME] = MSG_DEF(PROTO_RESUME, "resume", proto_ref,
	    f_ref),
	[PROTO_DELETE] = MSG_DEF(PROTO_DELETE, "delete", proto_ref,
	    f_ref),
	[PROTO_EXEC] = MSG_DEF(PROTO_EXEC, "exec", proto_exec,
	    f_exec),
	[PROTO_ATTACH] = MSG_DEF(PROTO_ATTACH, "attach", proto_attach,
	    f_attach),
	[PROTO_INPUT_END] = MSG_DEF(PROTO_INPUT_END, "input_end", proto_input_end,
	    f_input_end),
	[PROTO_PS] = MSG_DEF(PROTO_PS, "ps", proto_ps,
	    f_ps),
	[PROTO_LOGS] = MSG_DEF(PROTO_LOGS, "logs", proto_attach,
	    f_attach),
	[PROTO_WAIT] = MSG_DEF(PROTO_WAIT, "wait", proto_wait,
	    f_wait),
	[PROTO_KILL] = MSG_DEF(PROTO_KILL, "kill", proto_kill,
	    f_kill),
	[PROTO_EVENTS] = MSG_DEF(PROTO_EVENTS, "events", proto_events,
	    f_events),
	[PROTO_CREDIT] = MSG_DEF(PROTO_CREDIT, "credit", proto_credit,
	    f_credit),
	[PROTO_IMAGE_IMPORT] = MSG_DEF(PROTO_IMAGE_IMPORT, "image_import", proto_image_import,
	    f_image_import),
	[PROTO_RELOAD] = MSG_DEF(PROTO_RELOAD, "reload", proto_reload,
	    f_reload),
	[PROTO_LOG_VERIFY] = MSG_DEF(PROTO_LOG_VERIFY, "log_verify",
	    proto_log_verify, f_log_verify),
	[PROTO_LOG_DUMP] = MSG_DEF(PROTO_LOG_DUMP, "log_dump", proto_log_dump,
	    f_log_dump),
	[PROTO_RULES] = MSG_DEF_EMPTY(PROTO_RULES, "rules"),
	[PROTO_DOCTOR] = MSG_DEF_EMPTY(PROTO_DOCTOR, "doctor"),
	[PROTO_EXTEND] = MSG_DEF(PROTO_EXTEND, "extend", proto_extend,
	    f_extend),
	[PROTO_UPDATE] = MSG_DEF(PROTO_UPDATE, "update", proto_update,
	    f_update),
	[PROTO_WAIT_STATE] = MSG_DEF(PROTO_WAIT_STATE, "wait_state",
	    proto_wait_state, f_wait_state),
	[PROTO_PAUSE] = MSG_DEF(PROTO_PAUSE, "pause", proto_ref,
	    f_ref),
	[PROTO_UNPAUSE] = MSG_DEF(PROTO_UNPAUSE, "unpause", proto_ref,
	    f_ref),
	[PROTO_RESTART] = MSG_DEF(PROTO_RESTART, "restart", proto_ref,
	    f_ref),
	[PROTO_RESIZE] = MSG_DEF(PROTO_RESIZE, "resize", proto_resize,
	    f_resize),
	[PROTO_DETACH] = MSG_DEF(PROTO_DETACH, "detach", proto_detach,
	    f_detach),
	[PROTO_RECONCILE] = MSG_DEF(PROTO_RECONCILE, "reconcile",
	    proto_reconcile, f_reconcile),
	[PROTO_CALL] = MSG_DEF(PROTO_CALL, "call", proto_call, f_call),
	[PROTO_CALL_INPUT] = MSG_DEF(PROTO_CALL_INPUT, "call_input",
	    proto_call_input, f_call_input),
	[PROTO_CALL_CANCEL] = MSG_DEF(PROTO_CALL_CANCEL, "call_cancel",
	    proto_call_cancel, f_call_cancel),
	[PROTO_HELLO_OK] = MSG_DEF(PROTO_HELLO_OK, "hello_ok", proto_hello_ok,
	    f_hello_ok),
	[PROTO_END] = MSG_DEF(PROTO_END, "end", proto_end,
	    f_end),
	[PROTO_ERROR] = MSG_DEF(PROTO_ERROR, "error", proto_error,
	    f_error),
	[PROTO_ACCEPTED] = MSG_DEF(PROTO_ACCEPTED, "accepted", proto_accepted,
	    f_accepted),
	[PROTO_SANDBOX] = MSG_DEF(PROTO_SANDBOX, "sandbox", proto_sandbox,
	    f_sandbox),
	[PROTO_EXEC_INFO] = MSG_DEF(PROTO_EXEC_INFO, "exec_info", proto_exec_info,
	    f_exec_info),
	[PROTO_EVENT] = MSG_DEF(PROTO_EVENT, "event", proto_event,
	    f_event),
	[PROTO_STREAM] = MSG_DEF(PROTO_STREAM, "stream", proto_stream,
	    f_stream),
	[PROTO_GAP] = MSG_DEF(PROTO_GAP, "gap", proto_gap,
	    f_gap),
	[PROTO_STALLED] = MSG_DEF(PROTO_STALLED, "stalled", proto_stalled,
	    f_stalled),
	[PROTO_INPUT_ACK] = MSG_DEF(PROTO_INPUT_ACK, "input_ack", proto_input_ack,
	    f_input_ack),
	[PROTO_PROC] = MSG_DEF(PROTO_PROC, "proc", proto_proc,
	    f_proc),
	[PROTO_STATUS_INFO] = MSG_DEF(PROTO_STATUS_INFO, "status_info", proto_status_info,
	    f_status_info),
	[PROTO_IMAGE] = MSG_DEF(PROTO_IMAGE, "image", proto_image,
	    f_image),
	[PROTO_VERIFY] = MSG_DEF(PROTO_VERIFY, "verify", proto_verify,
	    f_verify),
	[PROTO_RIGHT] = MSG_DEF(PROTO_RIGHT, "right", proto_right,
	    f_right),
	[PROTO_LIMIT] = MSG_DEF(PROTO_LIMIT, "limit", proto_limit,
	    f_limit),
	[PROTO_CONTROL] = MSG_DEF(PROTO_CONTROL, "control", proto_control,
	    f_control),
	[PROTO_DUMP] = MSG_DEF(PROTO_DUMP, "dump", proto_dump,
	    f_dump),
	[PROTO_HEARTBEAT] = MSG_DEF(PROTO_HEARTBEAT, "heartbeat",
	    proto_heartbeat, f_heartbeat),
	[PROTO_RESULT] = MSG_DEF(PROTO_RESULT, "result", proto_result,
	    f_result),
	[PROTO_OUTPUT_END] = MSG_DEF(PROTO_OUTPUT_END, "output_end",
	    proto_output_end, f_output_end),
};

const struct msg_def *
proto_def(uint32_t type)
{
	if (type >= PROTO_MAX || defs[type].name == NULL)
		return (NULL);
	return (&defs[type]);
}

/* What protocol 1.0 had of each message; those that are not here had none. */
static const uint8_t first[PROTO_MAX] = {
	[PROTO_HELLO] = 2,
	[PROTO_CREATE] = 12,
	[PROTO_LIST] = 5,
	[PROTO_SHOW] = 3,
	[PROTO_STOP] = 3,
	[PROTO_RESUME] = 3,
	[PROTO_DELETE] = 3,
	[PROTO_EXEC] = 8,
	[PROTO_ATTACH] = 5,
	[PROTO_INPUT_END] = 2,
	[PROTO_PS] = 2,
	[PROTO_LOGS] = 5,
	[PROTO_WAIT] = 1,
	[PROTO_KILL] = 3,
	[PROTO_EVENTS] = 5,
	[PROTO_CREDIT] = 1,
	[PROTO_IMAGE_IMPORT] = 1,
	[PROTO_HELLO_OK] = 7,
	[PROTO_END] = 1,
	[PROTO_ERROR] = 3,
	[PROTO_ACCEPTED] = 3,
	[PROTO_SANDBOX] = 24,
	[PROTO_EXEC_INFO] = 16,
	[PROTO_EVENT] = 10,
	[PROTO_STREAM] = 3,
	[PROTO_GAP] = 3,
	[PROTO_STALLED] = 1,
	[PROTO_INPUT_ACK] = 1,
	[PROTO_PROC] = 7,
	[PROTO_STATUS_INFO] = 16,
	[PROTO_IMAGE] = 3,
	[PROTO_VERIFY] = 4,
	[PROTO_RIGHT] = 4,
	[PROTO_LIMIT] = 6,
	[PROTO_CONTROL] = 4,
};

int
proto_known(uint32_t type, uint32_t minor)
{
	return (proto_def(type) != NULL && (minor > 0 ||
	    (type < PROTO_HELLO_OK ? type <= PROTO_FIRST_REQUEST :
	    type <= PROTO_FIRST_ANSWER)));
}

size_t
proto_fields(uint32_t type, uint32_t minor)
{
	const struct msg_def	*def = proto_def(type);

	if (def == NULL)
		return (0);
	/* One that came later had its fields at once. */
	if (minor > 0 || !proto_known(type, 0))
		return (def->nfields);
	return (first[type]);
}
