/*
 * What the statements of a configuration set, and what can be said of the
 * settings only together.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "sandboxd.h"
#include "spec.h"

static uint32_t	 logs_seen;
static struct {
	const char	*name;
	int		 line;
} seen[S_MAX];

/* For a buffer of so many bytes. */
static const char *
too_long(size_t size)
{
	static char	 buf[64];

	snprintf(buf, sizeof(buf), "too long: the limit is %zu", size - 1);
	return (buf);
}

int
once(enum setting s, int line)
{
	if (s == S_MAX)
		return (1);
	if (seen[s].name != NULL) {
		error_at(line, "already set at %s:%d", seen[s].name,
		    seen[s].line);
		return (0);
	}
	seen[s].name = source_name();
	seen[s].line = line;
	return (1);
}

void
set_size(enum setting s, uint64_t *to, const char *what,
    const struct token *t, uint64_t min, uint64_t max)
{
	const char	*why;

	if (!once(s, t->line))
		return;
	if ((why = conf_get_size(t->string, min, max, to)) != NULL)
		value_error(t, what, why);
}

void
set_count(enum setting s, uint32_t *to, const char *what,
    const struct token *t, uint32_t min, uint32_t max)
{
	const char	*why;

	if (!once(s, t->line))
		return;
	if ((why = conf_get_count(t->string, min, max, to)) != NULL)
		value_error(t, what, why);
}

void
set_time(enum setting s, uint32_t *to, const char *what,
    const struct token *t, uint32_t min, uint32_t max)
{
	const char	*why;

	if (!once(s, t->line))
		return;
	if ((why = conf_get_time(t->string, min, max, to)) != NULL)
		value_error(t, what, why);
}

/* A time that may be none, which is 0. */
void
set_span(enum setting s, uint32_t *to, const char *what,
    const struct token *t)
{
	if (strcmp(t->string, "none") != 0)
		set_time(s, to, what, t, 0, SBX_TIME_MAX / 1000);
	else if (once(s, t->line))
		*to = 0;
}

void
set_cpus(enum setting s, uint32_t *to, const struct token *t)
{
	const char	*why;

	if (!once(s, t->line))
		return;
	if ((why = conf_get_cpus(t->string, to)) != NULL)
		value_error(t, "cpus", why);
}

void
set_image(enum setting s, char *to, size_t len, const struct token *t)
{
	if (!once(s, t->line))
		return;
	if (strlcpy(to, t->string, len) >= len)
		value_error(t, "image", too_long(len));
	else if (!spec_valid_image(to))
		value_error(t, "image", "not [host/]name[:tag]");
}

void
set_path(enum setting s, char *to, size_t len, const char *what,
    const struct token *t)
{
	const char	*why;

	if (!once(s, t->line))
		return;
	if ((why = conf_get_path(t->string, to, len)) != NULL)
		value_error(t, what, why);
}

/* What the Engine is told of paths below it is JSON. */
void
set_state(const struct token *t)
{
	if (!spec_valid_utf8(t->string) && once(S_STATE, t->line))
		value_error(t, "state", "not UTF-8");
	else
		set_path(S_STATE, conf->state, sizeof(conf->state), "state",
		    t);
}

/* A path that must fit into a socket's address. */
void
set_socket(const struct token *t)
{
	struct sockaddr_un	 sun;

	if (strlen(t->string) >= sizeof(sun.sun_path) && once(S_SOCKET,
	    t->line))
		value_error(t, "socket", too_long(sizeof(sun.sun_path)));
	else
		set_path(S_SOCKET, conf->socket, sizeof(conf->socket),
		    "socket", t);
}

void
set_group(char *to, size_t len, gid_t *gid, const struct token *t)
{
	const char	*why;
	uint32_t	 id;

	if ((why = conf_get_group(t->string, &id)) != NULL)
		value_error(t, "group", why);
	else if (strlcpy(to, t->string, len) >= len)
		value_error(t, "group", too_long(len));
	else
		*gid = id;
}

void
set_engine(const struct token *t)
{
	const char	*why;
	char		 path[sizeof(((struct sockaddr_un *)0)->sun_path)];

	if (!once(S_ENGINE, t->line))
		return;
	/* A TCP socket has no owner, and who reaches it is root. */
	if (strncmp(t->string, "unix://", 7) != 0)
		value_error(t, "engine", "not unix:///path");
	else if ((why = conf_get_path(t->string + 7, path,
	    sizeof(path))) != NULL)
		value_error(t, "engine", why);
	else if ((size_t)snprintf(conf->engine, sizeof(conf->engine),
	    "unix://%s", path) >= sizeof(conf->engine))
		value_error(t, "engine", too_long(sizeof(path)));
}

/* Once each: of two nobody could say which is meant. */
void
set_engine_group(const struct token *t)
{
	if (conf->engine_group[0] != '\0')
		value_error(t, "group", "already named");
	else
		set_group(conf->engine_group, sizeof(conf->engine_group),
		    &conf->engine_gid, t);
}

void
set_engine_user(const struct token *t)
{
	const char	*why;

	if (conf->engine_user[0] != '\0')
		value_error(t, "user", "already named");
	else if ((why = conf_get_maps(conf, t->string)) != NULL)
		value_error(t, "user", why);
}

void
set_flag(enum setting s, int *to, const char *what, const struct token *t)
{
	if (!once(s, t->line))
		return;
	if (strcmp(t->string, "yes") == 0)
		*to = 1;
	else if (strcmp(t->string, "no") == 0)
		*to = 0;
	else
		value_error(t, what, "neither yes nor no");
}

void
set_sandbox(const struct token *t)
{
	if (!once(S_SANDBOX, t->line))
		return;
	if (strcmp(t->string, "strict") == 0)
		conf->best_effort = 0;
	else if (strcmp(t->string, "best-effort") == 0)
		conf->best_effort = 1;
	else
		value_error(t, "sandbox", "neither strict nor best-effort");
}

void
set_network(enum setting s, const struct token *t)
{
	if (!once(s, t->line))
		return;
	if (strcmp(t->string, "none") != 0)
		value_error(t, "network", "not supported by this version");
}

void
set_log(const struct token *t, const char *per, int line)
{
	uint64_t	*to;
	uint32_t	 bit;

	if (strcmp(per, "exec") == 0) {
		to = &conf->limits.log_exec;
		bit = 1;
	} else if (strcmp(per, "sandbox") == 0) {
		to = &conf->limits.log_sandbox;
		bit = 2;
	} else if (strcmp(per, "total") == 0) {
		to = &conf->limits.log_total;
		bit = 4;
	} else {
		error_at(line, "invalid log: per " SHOWN ": neither exec nor "
		    "sandbox", per, shown_rest(per));
		return;
	}
	if (logs_seen == 0 && !once(S_LIM_LOG, t->line))
		return;
	if (logs_seen & bit) {
		error_at(t->line, "log: %s given twice", per);
		return;
	}
	logs_seen |= bit;
	set_size(S_MAX, to, "log", t, CONF_LOG_LEAST, SBX_MEMORY_MAX);
}

void
set_log_end(void)
{
	logs_seen = 0;
}

void
set_clients(const struct token *all, const struct token *user)
{
	set_count(S_LIM_CLIENTS, &conf->limits.clients, "clients", all, 1,
	    10000);
	if (user != NULL)
		set_count(S_MAX, &conf->limits.clients_user, "clients",
		    user, 1, 10000);
	else if (conf->limits.clients_user > conf->limits.clients)
		conf->limits.clients_user = conf->limits.clients;
}

void
set_uids(const struct token *min, const struct token *max)
{
	int	 before = conf_errs->count;

	set_count(S_UID, &conf->uid_min, "uid", min, CONF_UID_LEAST,
	    INT32_MAX);
	set_count(S_MAX, &conf->uid_max, "uid", max, CONF_UID_LEAST,
	    INT32_MAX);
	if (conf_errs->count == before && conf->uid_min > conf->uid_max)
		value_error(max, "uid", "below the first");
}

/*
 * A pattern that can match no name of an image would allow or deny nothing,
 * and nobody would be told: other characters, or a bracket without its end,
 * which fnmatch(3) takes for itself.
 */
static int
pattern_is_one(const char *s)
{
	const char	*p;

	for (; *s != '\0'; s++) {
		if (*s != '[') {
			if (!isalnum((unsigned char)*s) &&
			    strchr("._-/:@*?", *s) == NULL)
				return (0);
			continue;
		}
		/* A bracket at once after the first is one of the set. */
		p = s + 1 + (s[1] == '!' || s[1] == '^');
		for (s = p; *s != ']' || s == p; s++) {
			if (*s == '[' && s[1] == ':' &&
			    (s = strstr(s + 2, ":]")) != NULL)
				s++;
			if (s == NULL || *s == '\0')
				return (0);
		}
	}
	return (1);
}

void
add_image(const struct token *t, int allow)
{
	if (*t->string == '\0')
		value_error(t, "image", "empty");
	else if (strlen(t->string) > SBX_IMAGE_MAX)
		value_error(t, "image", too_long(SBX_IMAGE_MAX + 1));
	else if (!pattern_is_one(t->string))
		value_error(t, "image", "a pattern that matches no name");
	else if (conf_add_image(conf, t->string, allow) == -1)
		value_error(t, "image", "too many patterns: the limit is 256");
}

/* NULL after one that is wrong, whose options are not looked at. */
static struct conf_mount	*last_mount;

void
add_mount(const struct token *t, int allow)
{
	last_mount = NULL;
	if (strcmp(t->string, "/") != 0 && !spec_valid_source(t->string))
		value_error(t, "mount", "not an absolute, plain path");
	else if ((last_mount = conf_add_mount(conf, t->string,
	    allow)) == NULL)
		value_error(t, "mount", "too many paths: the limit is 256");
}

void
mount_option(const struct token *t)
{
	if (last_mount == NULL)
		return;
	if (strcmp(t->string, "rw") == 0)
		last_mount->rw = 1;
	else if (strcmp(t->string, "sockets") == 0)
		last_mount->sockets = 1;
	else
		value_error(t, "mount", "not rw or sockets");
}

/* Where a setting was made, or its absence if it was not. */
static void
check_error(enum setting s, const char *text)
{
	conf_error(conf_errs, seen[s].name != NULL ? seen[s].name : conf->file,
	    seen[s].line, "%s", text);
}

/* What can be said of the settings only together. */
void
check_settings(void)
{
	const struct conf_defaults	*d = &conf->defaults;
	const struct conf_limits	*l = &conf->limits;
	char				 text[256];

	if (d->memory > l->memory)
		check_error(seen[S_LIM_MEMORY].line ? S_LIM_MEMORY :
		    S_DEF_MEMORY, "memory: default above the limit");
	if (d->cpus > l->cpus)
		check_error(seen[S_LIM_CPUS].line ? S_LIM_CPUS : S_DEF_CPUS,
		    "cpus: default above the limit");
	if (d->pids > l->pids)
		check_error(seen[S_LIM_PIDS].line ? S_LIM_PIDS : S_DEF_PIDS,
		    "pids: default above the limit");
	if (l->disk != 0 && d->disk > l->disk)
		check_error(seen[S_DEF_DISK].line ? S_DEF_DISK : S_LIM_DISK,
		    "disk: default above the limit");
	if (d->disk != 0 && !d->readonly)
		check_error(S_DEF_DISK, "disk: what is written outside of the "
		    "workspace has no bound: set readonly yes");
	if (l->lifetime != 0 && d->lifetime > l->lifetime)
		check_error(seen[S_LIM_LIFETIME].line ? S_LIM_LIFETIME :
		    S_DEF_LIFETIME, "lifetime: default above the limit");
	if (d->tmp > d->memory)
		check_error(seen[S_DEF_TMP].line ? S_DEF_TMP : S_DEF_MEMORY,
		    "tmp: more than memory");
	if (strcmp(conf->socket, conf_engine_path(conf)) == 0)
		check_error(seen[S_SOCKET].line ? S_SOCKET : S_ENGINE,
		    "socket: the same as the Engine's");
	if (l->clients_user > l->clients)
		check_error(S_LIM_CLIENTS, "clients: more per user than of "
		    "all");
	conf->limits.all[LIMIT_LOG].most = l->log_total;
	if (l->log_exec > l->log_sandbox)
		check_error(S_LIM_LOG, "log: more per exec than per sandbox");
	if (l->log_sandbox > l->log_total)
		check_error(S_LIM_LOG, "log: more per sandbox than in total");
	if (conf->engine_user[0] != '\0' && seen[S_UID].line == 0) {
		conf->uid_min = CONF_UID_INNER_MIN;
		conf->uid_max = CONF_UID_INNER_MAX;
	}
	if (conf_check_uids(conf, text, sizeof(text)) == -1)
		check_error(S_UID, text);
}

void
set_reset(void)
{
	memset(seen, 0, sizeof(seen));
	logs_seen = 0;
	last_mount = NULL;
}
