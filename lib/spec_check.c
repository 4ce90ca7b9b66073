/* Checks of requests: ranges, totals, and what goes with what. */

#include <sys/types.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "spec.h"
#include "version.h"

#define SHOWN	64		/* characters of a value that a text repeats */

static int	 fail(struct spec_error *, enum code, const char *,
		    const char *, ...)
		    __attribute__((__format__(printf, 4, 5)));

static int
fail(struct spec_error *e, enum code code, const char *field,
    const char *fmt, ...)
{
	va_list	 ap;

	e->code = code;
	snprintf(e->field, sizeof(e->field), "%s", field);
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return (-1);
}

/* A value as a text may repeat it: short, and nothing for a terminal. */
static const char *
shown(const char *s, char *buf, size_t size)
{
	size_t	 i;

	for (i = 0; s[i] != '\0' && i < size - 4 && i < SHOWN; i++)
		buf[i] = isprint((unsigned char)s[i]) ? s[i] : '?';
	buf[i] = '\0';
	if (s[i] != '\0')
		memcpy(buf + i, "...", 4);
	return (buf);
}

static int
invalid(struct spec_error *e, const char *field, const char *value,
    const char *why)
{
	char	 buf[SHOWN + 4];

	return (fail(e, CODE_INVALID_ARGUMENT, field, "invalid %s: \"%s\": %s",
	    field, shown(value, buf, sizeof(buf)), why));
}

static int
check_range(uint64_t v, uint64_t min, uint64_t max, const char *field,
    struct spec_error *e)
{
	if (v == 0 || (v >= min && v <= max))
		return (0);
	return (fail(e, v < min ? CODE_INVALID_ARGUMENT : CODE_LIMIT_EXCEEDED,
	    field, "invalid %s: %llu: must be %llu to %llu", field,
	    (unsigned long long)v, (unsigned long long)min,
	    (unsigned long long)max));
}

static int
check_user(const char *user, struct spec_error *e)
{
	if (spec_user(user) == -1)
		return (invalid(e, "user", user,
		    "must be \"root\" or a number"));
	return (0);
}

static int
check_box(const char *s, const char *field, struct spec_error *e)
{
	struct spec_ref	 ref;

	if (spec_parse_ref(s, &ref) == -1 || ref.number != 0)
		return (invalid(e, field, s, "must be id or uid/id"));
	return (0);
}

static int
check_exec_ref(const char *s, struct spec_error *e)
{
	struct spec_ref	 ref;

	if (spec_parse_ref(s, &ref) == -1 || ref.number == 0)
		return (invalid(e, "exec", s,
		    "must be id.number or uid/id.number"));
	return (0);
}

static int
check_labels(const struct kvv *labels, struct spec_error *e)
{
	size_t	 i;

	for (i = 0; i < labels->n; i++) {
		if (!spec_valid_label_key(labels->v[i].k))
			return (invalid(e, "labels", labels->v[i].k,
			    "a key is 1 to 64 letters, digits, dots, dashes, "
			    "underscores and slashes, a letter or digit at "
			    "both ends"));
		if (!spec_valid_label_value(labels->v[i].v))
			return (invalid(e, "labels", labels->v[i].k,
			    "a value is at most 255 bytes of UTF-8 without "
			    "control characters"));
	}
	return (0);
}

/* Names, and adds to *bytes what the variables have as strings. */
static int
check_env(const struct kvv *env, size_t *bytes, struct spec_error *e)
{
	size_t	 i, len;

	for (i = 0; i < env->n; i++) {
		if (!spec_valid_env_name(env->v[i].k))
			return (invalid(e, "env", env->v[i].k,
			    "a name is a letter or underscore, then letters, "
			    "digits, underscores, dots and dashes"));
		len = strlen(env->v[i].k) + 1 + strlen(env->v[i].v);
		if (len > EXEC_ARG_MAX)
			return (fail(e, CODE_LIMIT_EXCEEDED, "env",
			    "variable of %zu bytes: the limit is %d", len,
			    EXEC_ARG_MAX));
		*bytes += len;
	}
	return (0);
}

static int
check_bytes(size_t bytes, const char *field, struct spec_error *e)
{
	if (bytes > EXEC_BYTES_MAX)
		return (fail(e, CODE_LIMIT_EXCEEDED, field,
		    "command, environment and directory of %zu bytes: the "
		    "limit is %d", bytes, EXEC_BYTES_MAX));
	return (0);
}

/* Milliseconds, or none. */
static int
check_time(uint64_t ms, const char *field, struct spec_error *e)
{
	if (ms == SBX_TIME_NONE)
		return (0);
	return (check_range(ms, 1, SBX_TIME_MAX, field, e));
}

/* A workspace in memory: of the sandbox's memory, and nowhere else. */
static int
check_tmpfs(const struct proto_create *c, struct spec_error *e)
{
	if (check_range(c->tmpfs, SBX_TMPFS_MIN, SBX_MEMORY_MAX, "tmpfs",
	    e) == -1)
		return (-1);
	if (c->tmpfs != 0 && c->disk != 0)
		return (fail(e, CODE_INVALID_ARGUMENT, "tmpfs",
		    "invalid tmpfs: a workspace is in memory or on the disk, "
		    "and disk is set"));
	if (c->memory != 0 && c->tmpfs > c->memory)
		return (fail(e, CODE_LIMIT_EXCEEDED, "tmpfs",
		    "invalid tmpfs: %llu: it is memory of the sandbox, which "
		    "has %llu", (unsigned long long)c->tmpfs,
		    (unsigned long long)c->memory));
	return (0);
}

/* One list of them, and whether they meet each other or those before. */
static int
check_mount_list(const struct kvv *list, const struct kvv *before,
    const char *field, struct spec_error *e)
{
	const struct kv	*m;
	size_t		 i, j;

	for (i = 0; i < list->n; i++) {
		m = &list->v[i];
		if (!spec_valid_target(m->k))
			return (invalid(e, field, m->k, "a place inside is an "
			    "absolute path of letters, digits and ._-+@, apart "
			    "from /workspace, /tmp, /dev, /proc, /sys and "
			    "/.sandboxd"));
		if (!spec_valid_source(m->v))
			return (invalid(e, field, m->v, "a path on the host "
			    "is absolute and plain, of at most 1023 bytes of "
			    "UTF-8"));
		for (j = 0; j < i; j++)
			if (spec_paths_meet(m->k, list->v[j].k))
				return (invalid(e, field, m->k,
				    "two mounts in one place"));
		for (j = 0; before != NULL && j < before->n; j++)
			if (spec_paths_meet(m->k, before->v[j].k))
				return (invalid(e, field, m->k,
				    "two mounts in one place"));
	}
	return (0);
}

static size_t
mount_bytes(const struct kvv *list)
{
	size_t	 i, n = 0;

	for (i = 0; i < list->n; i++)
		n += strlen(list->v[i].k) + strlen(list->v[i].v);
	return (n);
}

static int
check_mounts(const struct proto_create *c, struct spec_error *e)
{
	const char	*field = c->mounts_rw.n > 0 ? "mounts_rw" : "mounts";
	size_t		 n = c->mounts.n + c->mounts_rw.n;
	size_t		 bytes = mount_bytes(&c->mounts) +
			    mount_bytes(&c->mounts_rw);

	if (bytes > SBX_MOUNTS_BYTES)
		return (fail(e, CODE_LIMIT_EXCEEDED, field, "mounts: paths of "
		    "%zu bytes: the limit is %d", bytes, SBX_MOUNTS_BYTES));
	if (n > SBX_MOUNTS_MAX)
		return (fail(e, CODE_LIMIT_EXCEEDED, field, "mounts: %zu: the "
		    "limit is %d", n, SBX_MOUNTS_MAX));
	if (n > 0 && spec_user(c->user) == 0)
		return (fail(e, CODE_UNSUPPORTED, field, "mounts: not for "
		    "root in a sandbox"));
	if (check_mount_list(&c->mounts, NULL, "mounts", e) == -1)
		return (-1);
	return (check_mount_list(&c->mounts_rw, &c->mounts, "mounts_rw", e));
}

/* Its own name, and that of whose companion it is. */
static int
check_names(const struct proto_create *c, struct spec_error *e)
{
	if (*c->id != '\0' && !spec_valid_id(c->id))
		return (invalid(e, "id", c->id, "must be 1 to 64 letters, "
		    "digits, dashes and underscores, a letter or digit first"));
	if (*c->companion_of == '\0')
		return (0);
	if (!spec_valid_id(c->companion_of))
		return (invalid(e, "companion_of", c->companion_of,
		    "must be the name of a sandbox"));
	if (strcmp(c->companion_of, c->id) == 0)
		return (invalid(e, "companion_of", c->companion_of,
		    "a sandbox is no companion of its own"));
	return (0);
}

static int
check_create(const void *msg, struct spec_error *e)
{
	const struct proto_create	*c = msg;
	const char			*dir;
	size_t				 i, bytes = 0;

	dir = c->workdir == NULL ? "" : c->workdir;
	if (check_names(c, e) == -1)
		return (-1);
	if (!spec_valid_text(c->key))
		return (invalid(e, "key", c->key,
		    "must be printable characters"));
	if (*c->image != '\0' && !spec_valid_image(c->image))
		return (invalid(e, "image", c->image,
		    "must be [host/]name[:tag]"));
	if (check_labels(&c->labels, e) == -1 ||
	    check_env(&c->env, &bytes, e) == -1 ||
	    check_bytes(bytes, "env", e) == -1)
		return (-1);
	for (i = 0; i < c->env.n; i++) {
		/* The guest has these variables too, which could mean it. */
		if (strncmp(c->env.v[i].k, "SANDBOXD_", 9) == 0)
			return (invalid(e, "env", c->env.v[i].k,
			    "a name must not begin with SANDBOXD_"));
		/* They travel to the Engine, which takes UTF-8 alone. */
		if (!spec_valid_utf8(c->env.v[i].v))
			return (invalid(e, "env", c->env.v[i].k,
			    "the value is not UTF-8"));
	}
	if (*dir != '\0' && (!spec_valid_dir(dir) || !spec_valid_utf8(dir)))
		return (invalid(e, "workdir", dir, "must be an absolute path "
		    "of at most 4095 bytes without \"..\""));
	if (check_range(c->memory, SBX_MEMORY_MIN, SBX_MEMORY_MAX, "memory",
	    e) == -1 ||
	    check_range(c->mcpus, SBX_MCPUS_MIN, SBX_MCPUS_MAX, "mcpus",
	    e) == -1 ||
	    check_range(c->pids, SBX_PIDS_MIN, SBX_PIDS_MAX, "pids",
	    e) == -1 || check_range(c->disk, SBX_DISK_MIN, SBX_DISK_MAX, "disk",
	    e) == -1 || check_tmpfs(c, e) == -1 ||
	    check_time(c->lifetime, "lifetime", e) == -1 ||
	    check_time(c->idle, "idle", e) == -1 ||
	    check_time(c->keep, "keep", e) == -1 ||
	    check_user(c->user, e) == -1)
		return (-1);
	return (check_mounts(c, e));
}

/* A terminal has one output, and nothing else has a size. */
static int
check_tty(const struct proto_exec *x, struct spec_error *e)
{
	if ((x->flags & EXEC_TTY) != 0 && (x->flags & EXEC_MERGE) == 0)
		return (fail(e, CODE_INVALID_ARGUMENT, "flags",
		    "invalid flags: a terminal has one output: tty needs "
		    "merge"));
	if ((x->flags & EXEC_TTY) == 0 && (x->rows != 0 || x->cols != 0))
		return (fail(e, CODE_INVALID_ARGUMENT, "rows",
		    "invalid rows: a size without a terminal"));
	if ((x->rows == 0) != (x->cols == 0))
		return (fail(e, CODE_INVALID_ARGUMENT, "rows",
		    "invalid rows: rows and cols go together"));
	return (0);
}

/* A pattern of names below a directory. */
static int
check_pattern(const char *s, const char *field, struct spec_error *e)
{
	const char	*p;
	size_t		 n;

	if (strlen(s) > CHANGES_PATTERN_MAX)
		return (fail(e, CODE_LIMIT_EXCEEDED, field, "pattern of %zu "
		    "bytes: the limit is %d", strlen(s), CHANGES_PATTERN_MAX));
	if (*s == '\0' || *s == '/' || !spec_valid_text(s))
		return (invalid(e, field, s, "must be a pattern of names "
		    "below the working directory, without control "
		    "characters"));
	for (p = s;; p += n + 1) {
		n = strcspn(p, "/");
		if (n == 2 && p[0] == '.' && p[1] == '.')
			return (invalid(e, field, s, "has \"..\""));
		if (p[n] == '\0')
			return (0);
	}
}

/* Of which changes one is to be told. */
static int
check_scope(const struct proto_exec *x, struct spec_error *e)
{
	size_t	 i;

	if (x->include.n + x->exclude.n > 0 &&
	    (x->flags & EXEC_CHANGES) == 0)
		return (fail(e, CODE_INVALID_ARGUMENT, x->include.n > 0 ?
		    "include" : "exclude", "patterns of changes, and no "
		    "changes are asked for"));
	if (x->include.n + x->exclude.n > CHANGES_SCOPE_MAX)
		return (fail(e, CODE_LIMIT_EXCEEDED, x->include.n > 0 ?
		    "include" : "exclude", "patterns of changes: %zu: the "
		    "limit is %d", x->include.n + x->exclude.n,
		    CHANGES_SCOPE_MAX));
	for (i = 0; i < x->include.n; i++)
		if (check_pattern(x->include.v[i], "include", e) == -1)
			return (-1);
	for (i = 0; i < x->exclude.n; i++)
		if (check_pattern(x->exclude.v[i], "exclude", e) == -1)
			return (-1);
	return (0);
}

/* People read it: a line of text, and not of spaces alone. */
static int
check_reason(const char *s, struct spec_error *e)
{
	if (*s != '\0' && (!spec_valid_text(s) || s[strspn(s, " ")] == '\0'))
		return (invalid(e, "reason", s, "must be a line of text"));
	return (0);
}

static int
check_exec(const void *msg, struct spec_error *e)
{
	const struct proto_exec	*x = msg;
	const char		*dir;
	size_t			 i, len, bytes;

	dir = x->dir == NULL ? "" : x->dir;
	if (check_box(x->sandbox, "sandbox", e) == -1)
		return (-1);
	if (x->argv.n == 0 || *x->argv.v[0] == '\0')
		return (fail(e, CODE_INVALID_ARGUMENT, "argv",
		    "invalid argv: no command"));
	if (x->argv.n + x->env.n > EXEC_ENTRIES_MAX)
		return (fail(e, CODE_LIMIT_EXCEEDED, "argv",
		    "arguments and variables: %zu: the limit is %d",
		    x->argv.n + x->env.n, EXEC_ENTRIES_MAX));
	bytes = strlen(dir);
	for (i = 0; i < x->argv.n; i++) {
		if ((len = strlen(x->argv.v[i])) > EXEC_ARG_MAX)
			return (fail(e, CODE_LIMIT_EXCEEDED, "argv",
			    "argument of %zu bytes: the limit is %d", len,
			    EXEC_ARG_MAX));
		bytes += len;
	}
	if (check_env(&x->env, &bytes, e) == -1 ||
	    check_bytes(bytes, "argv", e) == -1)
		return (-1);
	if (*dir != '\0' && (*dir != '/' || strlen(dir) > SBX_DIR_MAX))
		return (invalid(e, "dir", dir,
		    "must be an absolute path of at most 4095 bytes"));
	if (check_tty(x, e) == -1 || check_scope(x, e) == -1 ||
	    check_reason(x->reason, e) == -1)
		return (-1);
	return (check_user(x->user, e));
}

static int
check_list(const void *msg, struct spec_error *e)
{
	const struct proto_list	*l = msg;

	if (*l->state != '\0' && !spec_valid_state(l->state))
		return (invalid(e, "state", l->state,
		    "is no state of a sandbox"));
	return (check_labels(&l->labels, e));
}

static int
check_ref(const void *msg, struct spec_error *e)
{
	return (check_box(((const struct proto_ref *)msg)->id, "id", e));
}

static int
check_extend(const void *msg, struct spec_error *e)
{
	const struct proto_extend	*x = msg;

	if (check_time(x->time, "time", e) == -1 ||
	    check_time(x->idle, "idle", e) == -1)
		return (-1);
	return (check_box(x->id, "id", e));
}

static int
check_update(const void *msg, struct spec_error *e)
{
	const struct proto_update	*u = msg;
	size_t				 i;

	if (check_labels(&u->labels, e) == -1)
		return (-1);
	for (i = 0; i < u->unlabel.n; i++) {
		if (!spec_valid_label_key(u->unlabel.v[i]))
			return (invalid(e, "unlabel", u->unlabel.v[i],
			    "is no key of a label"));
		if (kvv_get(&u->labels, u->unlabel.v[i]) != NULL)
			return (invalid(e, "unlabel", u->unlabel.v[i],
			    "is set as well"));
	}
	if (check_range(u->memory, SBX_MEMORY_MIN, SBX_MEMORY_MAX, "memory",
	    e) == -1 ||
	    check_range(u->mcpus, SBX_MCPUS_MIN, SBX_MCPUS_MAX, "mcpus",
	    e) == -1 ||
	    check_range(u->pids, SBX_PIDS_MIN, SBX_PIDS_MAX, "pids",
	    e) == -1 || check_time(u->lifetime, "lifetime", e) == -1 ||
	    check_time(u->idle, "idle", e) == -1 ||
	    check_time(u->keep, "keep", e) == -1)
		return (-1);
	return (check_box(u->id, "id", e));
}

static int
check_hello(const void *msg, struct spec_error *e)
{
	const struct proto_hello	*h = msg;

	if (h->version != PROTO_VERSION)
		return (fail(e, CODE_UNSUPPORTED, "version",
		    "protocol version %u: this is sandboxd %s, which speaks "
		    "%d.%d", h->version, SANDBOXD_VERSION, PROTO_VERSION,
		    PROTO_MINOR));
	return (0);
}

static int
check_outputs(const struct proto_attach *a, uint32_t allowed,
    struct spec_error *e)
{
	if ((a->streams & ~allowed) != 0 || a->streams == 0)
		return (fail(e, CODE_INVALID_ARGUMENT, "streams",
		    "invalid streams: %u: must be bits of %u", a->streams,
		    allowed));
	return (check_exec_ref(a->exec, e));
}

static int
check_attach(const void *msg, struct spec_error *e)
{
	return (check_outputs(msg, 7, e));
}

static int
check_logs(const void *msg, struct spec_error *e)
{
	return (check_outputs(msg, 6, e));
}

static int
check_input_end(const void *msg, struct spec_error *e)
{
	return (check_exec_ref(((const struct proto_input_end *)msg)->exec,
	    e));
}

static int
check_ps(const void *msg, struct spec_error *e)
{
	const struct proto_ps	*p = msg;

	if (p->sandbox == NULL || *p->sandbox == '\0')
		return (0);
	return (check_box(p->sandbox, "sandbox", e));
}

static int
check_wait(const void *msg, struct spec_error *e)
{
	return (check_exec_ref(((const struct proto_wait *)msg)->exec, e));
}

static int
check_wait_state(const void *msg, struct spec_error *e)
{
	const struct proto_wait_state	*w = msg;
	size_t				 i;

	if (w->states.n == 0)
		return (fail(e, CODE_INVALID_ARGUMENT, "states",
		    "invalid states: none"));
	for (i = 0; i < w->states.n; i++)
		if (!spec_valid_state(w->states.v[i]))
			return (invalid(e, "states", w->states.v[i],
			    "is no state of a sandbox"));
	return (check_box(w->id, "id", e));
}

static int
check_kill(const void *msg, struct spec_error *e)
{
	return (check_exec_ref(((const struct proto_kill *)msg)->exec, e));
}

static int
check_resize(const void *msg, struct spec_error *e)
{
	const struct proto_resize	*r = msg;

	if (check_exec_ref(r->exec, e) == -1)
		return (-1);
	if (r->rows == 0 || r->cols == 0)
		return (fail(e, CODE_INVALID_ARGUMENT,
		    r->rows == 0 ? "rows" : "cols",
		    "invalid %s: too small: the least is 1",
		    r->rows == 0 ? "rows" : "cols"));
	return (0);
}

static int
check_detach(const void *msg, struct spec_error *e)
{
	return (check_exec_ref(((const struct proto_detach *)msg)->exec, e));
}

static int
check_events(const void *msg, struct spec_error *e)
{
	const struct proto_events	*v = msg;
	size_t				 i;

	/* Which there are is the store's to say; this one it may repeat. */
	if (!spec_valid_type(v->type))
		return (invalid(e, "type", v->type, "is no name of events"));
	for (i = 0; i < v->types.n; i++)
		if (*v->types.v[i] == '\0' || strlen(v->types.v[i]) >=
		    sizeof(v->type) || !spec_valid_type(v->types.v[i]))
			return (invalid(e, "types", v->types.v[i],
			    "is no name of events"));
	if (check_labels(&v->labels, e) == -1 ||
	    check_range(v->heartbeat, EVENTS_BEAT_MIN, EVENTS_BEAT_MAX,
	    "heartbeat", e) == -1)
		return (-1);
	if (v->sandbox == NULL || *v->sandbox == '\0') {
		if (v->end || v->snapshot)
			return (fail(e, CODE_INVALID_ARGUMENT, v->end ? "end" :
			    "snapshot", "invalid %s: no sandbox is named",
			    v->end ? "end" : "snapshot"));
		return (0);
	}
	return (check_box(v->sandbox, "sandbox", e));
}

static int
check_credit(const void *msg, struct spec_error *e)
{
	if (((const struct proto_credit *)msg)->n == 0)
		return (fail(e, CODE_INVALID_ARGUMENT, "n",
		    "invalid n: 0: must be at least 1"));
	return (0);
}

static int
check_image_import(const void *msg, struct spec_error *e)
{
	const struct proto_image_import	*i = msg;

	if (!spec_valid_image(i->name) || strchr(i->name, '@') != NULL)
		return (invalid(e, "name", i->name,
		    "must be [host/]name[:tag]"));
	return (0);
}

static int
check_log_verify(const void *msg, struct spec_error *e)
{
	const char	*head = ((const struct proto_log_verify *)msg)->head;

	if (*head != '\0' && (strlen(head) != 64 ||
	    strspn(head, "0123456789abcdef") != 64))
		return (invalid(e, "head", head,
		    "must be 64 hexadecimal digits"));
	return (0);
}

/* Arguments that an operation must have, and streams that it does not. */
static int
check_connect(const struct proto_call *c, struct spec_error *e)
{
	if (c->count < 1 || c->count > UINT16_MAX)
		return (fail(e, CODE_INVALID_ARGUMENT, "count",
		    "invalid count: a port is a number from 1 to %d",
		    UINT16_MAX));
	if (!(c->flags & CALL_F_STREAM) || c->data.len > 0)
		return (fail(e, CODE_INVALID_ARGUMENT, "flags",
		    "invalid flags: a connection is a stream"));
	return (check_box(c->sandbox, "sandbox", e));
}

static int
check_call(const void *msg, struct spec_error *e)
{
	const struct proto_call	*c = msg;
	int			 kind = call_kind(c->op);

	if (!call_known(c->op))
		return (fail(e, CODE_UNSUPPORTED, "op", "no call has the "
		    "number %u", c->op));
	if (kind & CALL_NET)
		return (check_connect(c, e));
	if (c->path == NULL || *c->path == '\0')
		return (fail(e, CODE_INVALID_PATH, "path",
		    "invalid path: it is empty"));
	if (kind & CALL_TWO && (c->path2 == NULL || *c->path2 == '\0'))
		return (fail(e, CODE_INVALID_PATH, "path2",
		    "invalid path2: it is empty"));
	if ((!(kind & CALL_IN) && (c->flags & CALL_F_STREAM)) ||
	    (c->data.len > 0 &&
	    (!(kind & CALL_IN) || (c->flags & CALL_F_STREAM))))
		return (fail(e, CODE_INVALID_ARGUMENT, "data",
		    "invalid data: %s", kind & CALL_IN ? "a stream is "
		    "asked for as well" : "the call takes none"));
	return (check_box(c->sandbox, "sandbox", e));
}

static int
check_call_ref(uint32_t call, struct spec_error *e)
{
	if (call == 0)
		return (fail(e, CODE_INVALID_ARGUMENT, "call",
		    "invalid call: 0: no request has that number"));
	return (0);
}

static int
check_call_input(const void *msg, struct spec_error *e)
{
	return (check_call_ref(((const struct proto_call_input *)msg)->call,
	    e));
}

static int
check_call_cancel(const void *msg, struct spec_error *e)
{
	return (check_call_ref(((const struct proto_call_cancel *)msg)->call,
	    e));
}

int
spec_check(uint32_t type, const void *msg, struct spec_error *e)
{
	static int	(*const checks[PROTO_HELLO_OK])(const void *,
			    struct spec_error *) = {
		[PROTO_HELLO] = check_hello,
		[PROTO_CREATE] = check_create,
		[PROTO_LIST] = check_list,
		[PROTO_SHOW] = check_ref,
		[PROTO_STOP] = check_ref,
		[PROTO_RESUME] = check_ref,
		[PROTO_PAUSE] = check_ref,
		[PROTO_UNPAUSE] = check_ref,
		[PROTO_RESTART] = check_ref,
		[PROTO_DELETE] = check_ref,
		[PROTO_EXEC] = check_exec,
		[PROTO_ATTACH] = check_attach,
		[PROTO_INPUT_END] = check_input_end,
		[PROTO_PS] = check_ps,
		[PROTO_LOGS] = check_logs,
		[PROTO_WAIT] = check_wait,
		[PROTO_WAIT_STATE] = check_wait_state,
		[PROTO_KILL] = check_kill,
		[PROTO_RESIZE] = check_resize,
		[PROTO_DETACH] = check_detach,
		[PROTO_EVENTS] = check_events,
		[PROTO_CREDIT] = check_credit,
		[PROTO_IMAGE_IMPORT] = check_image_import,
		[PROTO_LOG_VERIFY] = check_log_verify,
		[PROTO_EXTEND] = check_extend,
		[PROTO_CALL] = check_call,
		[PROTO_CALL_INPUT] = check_call_input,
		[PROTO_CALL_CANCEL] = check_call_cancel,
		[PROTO_UPDATE] = check_update,
	};

	memset(e, 0, sizeof(*e));
	if (type < PROTO_HELLO_OK && checks[type] != NULL)
		return (checks[type](msg, e));
	/* What has no fields, or a flag alone, has nothing to check. */
	if (type == PROTO_PING || type == PROTO_STATUS ||
	    type == PROTO_RELOAD || type == PROTO_LOG_DUMP ||
	    type == PROTO_RULES || type == PROTO_DOCTOR ||
	    type == PROTO_RECONCILE)
		return (0);
	return (fail(e, CODE_UNSUPPORTED, "", "no request of type %u", type));
}
