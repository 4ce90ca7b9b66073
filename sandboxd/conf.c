/*
 * The configuration's values: defaults, conversions and the checks that need
 * more than one line of the file.
 */

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "log.h"

#define KIB	(1024ULL)
#define MIB	(1024ULL * KIB)
#define GIB	(1024ULL * MIB)
#define DAY	(24U * 60 * 60)

static const struct config conf_default = {
	.state = CONF_STATE,
	.socket = CONF_SOCKET,
	.engine = CONF_ENGINE,
	.guest = CONF_GUEST,
	.defaults = {
		.image = "sandbox-base",
		.memory = 2 * GIB,
		.tmp = 64 * MIB,
		.cpus = 2000,
		.pids = 512,
	},
	.limits = {
		.log_exec = 64 * MIB,
		.log_sandbox = 512 * MIB,
		.log_total = 8 * GIB,
		.memory = 8 * GIB,
		.cpus = 8000,
		.pids = 4096,
		.sandboxes = 200,
		.execs = 1000,
		.clients = 512,
		.clients_user = 128,
	},
	.timeouts = {
		.create = 120,
		.stop = 10,
		.delete = 120,
		.engine = 60,
		.reattach = 30,
		.stall = 30,
		.stray = 600,
	},
	.retain = {
		.history = 30 * DAY,
	},
	.uid_min = CONF_UID_MIN,
	.uid_max = CONF_UID_MAX,
	.restart_count = 5,
	.restart_secs = 60,
};

const struct conf_limits *
conf_limits_default(void)
{
	return (&conf_default.limits);
}

struct config *
conf_new(const char *file)
{
	struct config	*conf;

	if ((conf = malloc(sizeof(*conf))) == NULL)
		return (NULL);
	*conf = conf_default;
	TAILQ_INIT(&conf->images);
	TAILQ_INIT(&conf->mounts);
	TAILQ_INIT(&conf->rules);
	TAILQ_INIT(&conf->limit_rules);
	if ((conf->file = strdup(file)) == NULL) {
		free(conf);
		return (NULL);
	}
	return (conf);
}

void
conf_free(struct config *conf)
{
	struct conf_image	*i;
	struct conf_mount	*m;
	struct right_rule	*r;
	struct limit_rule	*l;
	uint32_t		 n;

	if (conf == NULL)
		return;
	while ((m = TAILQ_FIRST(&conf->mounts)) != NULL) {
		TAILQ_REMOVE(&conf->mounts, m, entry);
		free(m->path);
		free(m);
	}
	while ((i = TAILQ_FIRST(&conf->images)) != NULL) {
		TAILQ_REMOVE(&conf->images, i, entry);
		free(i->pattern);
		free(i);
	}
	while ((r = TAILQ_FIRST(&conf->rules)) != NULL) {
		TAILQ_REMOVE(&conf->rules, r, entry);
		free(r->w.name);
		free(r);
	}
	while ((l = TAILQ_FIRST(&conf->limit_rules)) != NULL) {
		TAILQ_REMOVE(&conf->limit_rules, l, entry);
		free(l->w.name);
		free(l);
	}
	for (n = 0; n < conf->nplaces; n++)
		free(conf->places[n]);
	free(conf->places);
	free(conf->file);
	free(conf);
}

/* What does not fit any more is counted; the first errors are the ones. */
void
conf_error(struct conf_errors *e, const char *file, int line,
    const char *fmt, ...)
{
	char		 text[768], buf[CONF_PATH_MAX + sizeof(text) + 16];
	size_t		 len;
	va_list		 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (line > 0)
		snprintf(buf, sizeof(buf), "%s:%d: %s\n", file, line, text);
	else
		snprintf(buf, sizeof(buf), "%s: %s\n", file, text);
	/* It is for terminals, and repeats what stood in the file. */
	if ((len = strlen(buf)) > 0)
		buf[len - 1] = '\0';
	log_clean(buf);
	strlcat(buf, "\n", sizeof(buf));
	e->count++;
	len = strlen(buf);
	if (e->len + len < sizeof(e->text)) {
		memcpy(e->text + e->len, buf, len + 1);
		e->len += len;
	}
}

int
conf_add_image(struct config *conf, const char *pattern, int allow)
{
	struct conf_image	*i;
	int			 n = 0;

	TAILQ_FOREACH(i, &conf->images, entry)
		n++;
	if (n >= CONF_RULES_MAX || (i = calloc(1, sizeof(*i))) == NULL)
		return (-1);
	if ((i->pattern = strdup(pattern)) == NULL) {
		free(i);
		return (-1);
	}
	i->allow = allow;
	TAILQ_INSERT_TAIL(&conf->images, i, entry);
	return (0);
}

struct conf_mount *
conf_add_mount(struct config *conf, const char *path, int allow)
{
	struct conf_mount	*m;
	int			 n = 0;

	TAILQ_FOREACH(m, &conf->mounts, entry)
		n++;
	if (n >= CONF_RULES_MAX || (m = calloc(1, sizeof(*m))) == NULL)
		return (NULL);
	if ((m->path = strdup(path)) == NULL) {
		free(m);
		return (NULL);
	}
	m->allow = allow;
	TAILQ_INSERT_TAIL(&conf->mounts, m, entry);
	return (m);
}

/* Where a rule stands; 0 if there is no room for one more. */
uint32_t
conf_add_place(struct config *conf, const char *file, int line)
{
	char	**places, *place;
	size_t	  len = strlen(file);

	/* The end of a long path says more than its beginning. */
	if (len > PLACE_MAX - 16)
		file += len - (PLACE_MAX - 16);
	if (conf->nplaces >= CONF_PLACES_MAX ||
	    asprintf(&place, "%s:%d", file, line) == -1)
		return (0);
	if ((places = reallocarray(conf->places, conf->nplaces + 1,
	    sizeof(*places))) == NULL) {
		free(place);
		return (0);
	}
	conf->places = places;
	places[conf->nplaces++] = place;
	return (conf->nplaces);
}

/* NULL for what stands nowhere. */
const char *
conf_place(const struct config *conf, uint32_t n)
{
	if (n == 0 || n > conf->nplaces)
		return (NULL);
	return (conf->places[n - 1]);
}

/* Takes its name over if it returns 0. */
int
conf_add_rule(struct config *conf, const struct right_rule *from)
{
	struct right_rule	*r;
	int			 n = 0;

	TAILQ_FOREACH(r, &conf->rules, entry)
		n++;
	if (n >= CONF_RULES_MAX || (r = calloc(1, sizeof(*r))) == NULL)
		return (-1);
	*r = *from;
	TAILQ_INSERT_TAIL(&conf->rules, r, entry);
	return (0);
}

/* With a name of its own, since lines of one block have one user. */
int
conf_add_limit(struct config *conf, const struct limit_rule *from)
{
	struct limit_rule	*l;
	int			 n = 0;

	TAILQ_FOREACH(l, &conf->limit_rules, entry)
		n++;
	if (n >= CONF_RULES_MAX || (l = calloc(1, sizeof(*l))) == NULL)
		return (-1);
	*l = *from;
	if (from->w.name != NULL &&
	    (l->w.name = strdup(from->w.name)) == NULL) {
		free(l);
		return (-1);
	}
	TAILQ_INSERT_TAIL(&conf->limit_rules, l, entry);
	return (0);
}

/* A kind of number: letters that may follow it, and what each is worth. */
struct scale {
	const char	*units;
	uint64_t	 steps[8];
};

/* Out of its range, and the bound in the largest unit that it is whole in. */
static const char *
get_bound(const struct scale *sc, int small, uint64_t bound)
{
	static char	 buf[64];
	const char	*unit = "";
	size_t		 i, len = strlen(sc->units);
	uint64_t	 n = bound;

	for (i = 0; i < len; i++)
		if (bound >= sc->steps[i] && bound % sc->steps[i] == 0) {
			unit = &sc->units[i];
			n = bound / sc->steps[i];
		}
	snprintf(buf, sizeof(buf), "%s is %llu%.1s", small ?
	    "too small: the least" : "too large: the most",
	    (unsigned long long)n, unit);
	return (buf);
}

/* Digits, since strtonum(3) takes signs and blanks too, and a unit. */
static const char *
get_scaled(const char *s, const struct scale *sc, uint64_t min, uint64_t max,
    uint64_t *out)
{
	const char	*u;
	uint64_t	 n = 0, step = 1;
	int		 over = 0;

	if (!isdigit((unsigned char)*s))
		return ("not a number");
	for (; isdigit((unsigned char)*s); s++) {
		if (n > (UINT64_MAX - 9) / 10)
			over = 1;
		n = n * 10 + (uint64_t)(*s - '0');
	}
	if (*s != '\0') {
		if (*sc->units == '\0')
			return ("not a number");
		if ((u = strchr(sc->units, *s)) == NULL || s[1] != '\0')
			return ("unknown unit");
		step = sc->steps[u - sc->units];
	}
	if (over || n > max / step)
		return (get_bound(sc, 0, max));
	if (n * step < min)
		return (get_bound(sc, 1, min));
	*out = n * step;
	return (NULL);
}

const char *
conf_get_count(const char *s, uint32_t min, uint32_t max, uint32_t *out)
{
	static const struct scale	 plain = { "", { 0 } };
	const char			*why;
	uint64_t			 n;

	if ((why = get_scaled(s, &plain, min, max, &n)) == NULL)
		*out = (uint32_t)n;
	return (why);
}

const char *
conf_get_size(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
	static const struct scale	 sizes = { "kKmMgGtT", {
		KIB, KIB, MIB, MIB, GIB, GIB, 1024 * GIB, 1024 * GIB
	} };

	return (get_scaled(s, &sizes, min, max, out));
}

const char *
conf_get_time(const char *s, uint32_t min, uint32_t max, uint32_t *out)
{
	static const struct scale	 times = { "smhdw", {
		1, 60, 60 * 60, DAY, 7 * DAY
	} };
	const char			*why;
	uint64_t			 n;

	if ((why = get_scaled(s, &times, min, max, &n)) == NULL)
		*out = (uint32_t)n;
	return (why);
}

/* A decimal number of processors, in thousandths. */
const char *
conf_get_cpus(const char *s, uint32_t *out)
{
	static char	 buf[64];
	uint32_t	 n = 0, place = 100;

	if (!isdigit((unsigned char)*s))
		return ("not a number");
	for (; isdigit((unsigned char)*s); s++)
		/* What is too large stays so. */
		if (n <= SBX_MCPUS_MAX / 1000)
			n = n * 10 + (uint32_t)(*s - '0');
	n *= 1000;
	if (*s == '.') {
		if (!isdigit((unsigned char)*++s))
			return ("not a number");
		for (; isdigit((unsigned char)*s); s++) {
			if (place == 0)
				return ("more than three decimal places");
			n += (uint32_t)(*s - '0') * place;
			place /= 10;
		}
	}
	if (*s != '\0')
		return ("not a number");
	/* The kernel's least quota is one millisecond in a hundred. */
	if (n < SBX_MCPUS_MIN || n > SBX_MCPUS_MAX) {
		snprintf(buf, sizeof(buf), n < SBX_MCPUS_MIN ?
		    "too small: the least is 0.%03u" :
		    "too large: the most is %u", n < SBX_MCPUS_MIN ?
		    SBX_MCPUS_MIN : SBX_MCPUS_MAX / 1000);
		return (buf);
	}
	*out = n;
	return (NULL);
}

/* Absolute and plain: nothing that means another path than it shows. */
const char *
conf_get_path(const char *s, char *out, size_t len)
{
	static char	 buf[64];
	const char	*p;
	size_t		 n;

	if (*s != '/')
		return ("not an absolute path");
	/* No file and no socket is there, and no directory to be ours. */
	if (s[1] == '\0')
		return ("is the root directory");
	for (p = s; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		n = strcspn(p + 1, "/");
		if ((n == 0 && p[1] != '\0') || (n == 1 && p[1] == '.') ||
		    (n == 2 && p[1] == '.' && p[2] == '.'))
			return ("contains an empty or dotted name");
	}
	if (strlcpy(out, s, len) >= len) {
		snprintf(buf, sizeof(buf), "too long: the limit is %zu",
		    len - 1);
		return (buf);
	}
	n = strlen(out);
	if (n > 1 && out[n - 1] == '/')
		out[n - 1] = '\0';
	return (NULL);
}

const char *
conf_get_user(const char *name, uint32_t *id)
{
	const struct passwd	*pw;

	if ((pw = getpwnam(name)) != NULL) {
		*id = pw->pw_uid;
		return (NULL);
	}
	if (conf_get_count(name, 0, UINT32_MAX - 1, id) != NULL)
		return ("no such user");
	return (NULL);
}

const char *
conf_get_group(const char *name, uint32_t *id)
{
	const struct group	*gr;

	if ((gr = getgrnam(name)) != NULL) {
		*id = gr->gr_gid;
		return (NULL);
	}
	if (conf_get_count(name, 0, UINT32_MAX - 1, id) != NULL)
		return ("no such group");
	return (NULL);
}

/* The Engine's address without its scheme. */
const char *
conf_engine_path(const struct config *conf)
{
	return (conf->engine + strlen("unix://"));
}

/* What a running daemon has opened, chowned or given away stays as it is. */
int
conf_check_reload(const struct config *old, const struct config *new,
    struct conf_errors *e)
{
	const struct {
		const char	*name;
		int		 differs;
	} fixed[] = {
		{ "state", strcmp(old->state, new->state) },
		{ "socket", strcmp(old->socket, new->socket) ||
		    old->socket_gid != new->socket_gid },
		{ "engine", strcmp(old->engine, new->engine) ||
		    old->engine_gid != new->engine_gid ||
		    strcmp(old->engine_group, new->engine_group) ||
		    strcmp(old->engine_user, new->engine_user) ||
		    memcmp(&old->uids, &new->uids, sizeof(old->uids)) ||
		    memcmp(&old->gids, &new->gids, sizeof(old->gids)) },
		{ "guest", strcmp(old->guest, new->guest) },
		{ "uid", old->uid_min != new->uid_min ||
		    old->uid_max != new->uid_max },
		{ "sandbox", old->best_effort != new->best_effort },
	};
	size_t	 i;
	int	 ret = 0;

	for (i = 0; i < nitems(fixed); i++) {
		if (!fixed[i].differs)
			continue;
		conf_error(e, new->file, 0, "%s: changes only with a "
		    "restart", fixed[i].name);
		ret = -1;
	}
	return (ret);
}
