/*
 * options.h: the kinds of options.  An entry of a command's table is one of
 * these macros: a letter, the name of its argument, the field of struct ctl.
 * A letter belongs to its command: another may give it another meaning.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <limits.h>
#include <stddef.h>

#include "sandboxctl.h"

typedef int	 take_fn(struct ctl *, const struct option_def *,
		    const char *);

take_fn		 take_call, take_count, take_environ, take_flag, take_keys;
take_fn		 take_label;
take_fn		 take_milli, take_mount, take_number, take_pair, take_seconds;
take_fn		 take_selector, take_signal, take_size, take_span;
take_fn		 take_stream, take_string, take_strings, take_tool;

#define OPT_AT(f)	.at = offsetof(struct ctl, f)
#define OPT_END		{ .letter = 0 }

/* No argument: an int becomes 1, or a flag of the call is set. */
#define OPT_FLAG(l, f)							\
	{ .letter = l, .take = take_flag, OPT_AT(f) }
#define OPT_CALL(l, flag)						\
	{ .letter = l, .take = take_call, .min = flag }

#define OPT_STRING(l, a, f, m)						\
	{ .letter = l, .arg = a, .take = take_string, OPT_AT(f), .must = m }
/* struct strv; it may be given again and again. */
#define OPT_STRINGS(l, a, f, m)						\
	{ .letter = l, .arg = a, .take = take_strings, OPT_AT(f),	\
	    .must = m, .many = 1 }
/* uint64_t */
#define OPT_NUMBER(l, a, f, low, high, m)				\
	{ .letter = l, .arg = a, .take = take_number, OPT_AT(f),	\
	    .min = low, .max = high, .must = m }
/* uint64_t, and an int that says that it was given */
#define OPT_GIVEN(l, a, f, g, m)					\
	{ .letter = l, .arg = a, .take = take_number, OPT_AT(f),	\
	    .given = offsetof(struct ctl, g), .max = LLONG_MAX, .must = m }
/* uint32_t of thousandths */
#define OPT_MILLI(l, a, f, low, high, m)				\
	{ .letter = l, .arg = a, .take = take_milli, OPT_AT(f),		\
	    .min = low, .max = high, .must = m }
/* uint64_t of ms, or SBX_TIME_NONE */
#define OPT_SPAN(l, f)							\
	{ .letter = l, .arg = "time", .take = take_span, OPT_AT(f),	\
	    .must = "0.001 to 3650d, with s, m, h, d or w, or none" }
/* uint64_t of bytes */
#define OPT_SIZE(l, a, f, m)						\
	{ .letter = l, .arg = a, .take = take_size, OPT_AT(f), .must = m }
/* struct kvv: name=value; or, of selectors, the name alone */
#define OPT_PAIR(l, a, f)						\
	{ .letter = l, .arg = a, .take = take_pair, OPT_AT(f),		\
	    .must = "name=value", .many = 1 }
#define OPT_SELECT(l, f)						\
	{ .letter = l, .arg = "name=value", .take = take_selector,	\
	    OPT_AT(f), .must = "name or name=value", .many = 1 }

/* Those that mean the same in each command that has them. */
#define OPT_ALL		OPT_FLAG('a', all)
#define OPT_COMPANION							\
	OPT_STRING('W', "sandbox", companion_of, "the name of a sandbox")
#define OPT_CPUS							\
	OPT_MILLI('c', "cpus", mcpus, 0, UINT32_MAX,			\
	    "0.01 to 1024, with at most three decimals")
#define OPT_DETACH	OPT_FLAG('d', detach)
#define OPT_DISK							\
	OPT_SIZE('S', "disk", disk,					\
	    "16M to 16T, in bytes or with K, M, G or T")
#define OPT_ENV		OPT_PAIR('e', "name=value", env)
#define OPT_ENVIRON							\
	{ .letter = 'E', .arg = "name", .take = take_environ,		\
	    OPT_AT(env), .must = "the name of a variable that is set",	\
	    .many = 1 }
#define OPT_GRACE							\
	OPT_MILLI('g', "seconds", grace, 0, EXEC_GRACE_MAX,		\
	    "0.001 to 600, with at most three decimals")
#define OPT_HOST_TOOL							\
	{ .letter = 'H', .arg = "tool", .take = take_tool,		\
	    .must = "claude, codex, git, npm, opencode or uv", .many = 1 }
#define OPT_ID		OPT_STRING('i', "id", id, "the name of a sandbox")
#define OPT_IDLE	OPT_SPAN('q', idle)
#define OPT_IMAGE	OPT_STRING('I', "image", image, "the name of an image")
#define OPT_KEEP	OPT_SPAN('k', keep)
#define OPT_KEYS							\
	{ .letter = 'K', .arg = "keys", .take = take_keys, OPT_AT(keys), \
	    .must = "keys with commas between, as ctrl-p,ctrl-q, or none" }
#define OPT_LABEL	OPT_PAIR('l', "name=value", labels)
#define OPT_LIFETIME	OPT_SPAN('T', lifetime)
#define OPT_MAX		OPT_GIVEN('M', "number", max, max_set, "a number")
#define OPT_MEMORY							\
	OPT_SIZE('m', "memory", memory,					\
	    "6M to 1024T, in bytes or with K, M, G or T")
#define OPT_MOST							\
	OPT_SIZE('m', "bytes", most,					\
	    "at least 1, in bytes or with K, M, G or T")
#define OPT_SEED_BYTES							\
	OPT_SIZE('B', "bytes", most,					\
	    "at least 1, in bytes or with K, M, G or T")
#define OPT_SEED_FILES							\
	OPT_GIVEN('N', "files", max, max_set, "a number of files")
#define OPT_EXCLUDE							\
	OPT_STRINGS('x', "pattern", exclude, "a pattern of names")
#define OPT_REASON	OPT_STRING('b', "reason", reason, "a line of text")
#define OPT_SCOPE							\
	OPT_STRINGS('G', "pattern", include, "a pattern of names")
#define OPT_GATE							\
	OPT_NUMBER('Z', "status", gate, 1, 255, "1 to 255")
#define OPT_SCOPE_NOT							\
	OPT_STRINGS('X', "pattern", outside, "a pattern of names")
#define OPT_SEED							\
	OPT_STRINGS('C', "local:remote", seeds, "local:remote")
#define OPT_PREPARE							\
	OPT_STRING('P', "command", prepare, "a command line")
#define OPT_PIDS							\
	{ .letter = 'p', .arg = "pids", .take = take_count, OPT_AT(pids), \
	    .min = 1, .max = UINT32_MAX,				\
	    .must = "a number from 4 to 4194304" }
#define OPT_TIMEOUT							\
	{ .letter = 't', .arg = "seconds", .take = take_seconds,	\
	    OPT_AT(timeout),						\
	    .must = "0.001 to 2592000, with at most three decimals" }
#define OPT_TMPFS							\
	OPT_SIZE('M', "memory", tmpfs,					\
	    "1M to 1024T, in bytes or with K, M, G or T")
#define OPT_MOUNT							\
	{ .letter = 'v', .arg = "local:remote[:rw]", .take = take_mount, \
	    .must = "local:remote, and :rw if it may be written to",	\
	    .many = 1 }
#define OPT_USER	OPT_STRING('u', "user", user, "root or a number")
#define OPT_DIR		OPT_STRING('w', "directory", dir, "an absolute path")

#endif
