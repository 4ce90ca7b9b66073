/*
 * options.c: what the options of commands put into struct ctl.
 *
 * One function a kind of value; which option is of which kind, and where its
 * value goes, the tables of parser.c say, with the macros of options.h.
 */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sandboxctl.h"
#include "options.h"

/* Where these change, what the options' values must be does. */
_Static_assert(SBX_MCPUS_MIN == 10 && SBX_MCPUS_MAX == 1024000 &&
    SBX_MEMORY_MIN == 6 << 20 && SBX_MEMORY_MAX == 1ULL << 50 &&
    SBX_PIDS_MIN == 4 && SBX_PIDS_MAX == 4194304 &&
    EXEC_TIMEOUT_MAX == 2592000000ULL && EXEC_GRACE_MAX == 600000 &&
    EVENTS_BEAT_MIN == 1000 && EVENTS_BEAT_MAX == 3600000 &&
    SBX_TIME_MAX == 3650ULL * 86400000, "limits of options");

/* The field of an option. */
static void *
field(struct ctl *ctl, size_t at)
{
	return ((char *)ctl + at);
}

int
take_flag(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	(void)arg;
	*(int *)field(ctl, o->at) = 1;
	return (0);
}

int
take_call(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	(void)arg;
	ctl->call |= o->min;
	return (0);
}

int
take_string(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	if (*arg == '\0')
		return (-1);
	*(const char **)field(ctl, o->at) = arg;
	return (0);
}

int
take_strings(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	return (*arg == '\0' ? -1 : strv_add(field(ctl, o->at), arg));
}

int
take_number(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	if (o->given != 0)
		*(int *)field(ctl, o->given) = 1;
	return (parse_number(arg, o->min, o->max, field(ctl, o->at)));
}

/* The same, of 32 bits. */
int
take_count(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	uint64_t	 n;

	if (parse_number(arg, o->min, o->max, &n) == -1)
		return (-1);
	*(uint32_t *)field(ctl, o->at) = n;
	return (0);
}

/* A decimal, in thousandths. */
int
take_milli(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	uint64_t	 n;

	if (parse_milli(arg, &n) == -1 || n < o->min || n > o->max)
		return (-1);
	*(uint32_t *)field(ctl, o->at) = n;
	return (0);
}

/* Seconds that the daemon judges, in ms. */
int
take_seconds(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	return (parse_milli(arg, field(ctl, o->at)));
}

int
take_span(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	return (parse_span(arg, field(ctl, o->at)));
}

int
take_size(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	return (parse_size(arg, field(ctl, o->at)));
}

/* name=value. */
int
take_pair(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	return (parse_pair(field(ctl, o->at), arg, 0));
}

/* The name of a variable of ours: who looks at processes sees no value. */
int
take_environ(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	struct kvv	*env = field(ctl, o->at);
	const char	*value;

	if (*arg == '\0' || (value = getenv(arg)) == NULL)
		return (-1);
	if (kvv_get(env, arg) != NULL)
		return (PARSE_TWICE);
	return (kvv_set(env, arg, value));
}

/* name=value, or the name alone. */
int
take_selector(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	return (parse_pair(field(ctl, o->at), arg, 1));
}

/* name=value, or name- to take it away. */
int
take_label(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	if (strchr(arg, '=') == NULL)
		return (parse_minus(&ctl->unlabel, arg));
	return (parse_pair(field(ctl, o->at), arg, 0));
}

int
take_stream(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	return (parse_stream(arg, field(ctl, o->at)));
}

int
take_keys(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	return (parse_keys(arg, field(ctl, o->at)));
}

int
take_signal(struct ctl *ctl, const struct option_def *o, const char *arg)
{
	int	 signo = parse_signal(arg);

	*(int *)field(ctl, o->at) = signo;
	return (signo == 0 ? -1 : 0);
}
