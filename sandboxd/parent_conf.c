/*
 * Hands the configuration to the children, and reads it again.  A new one is
 * parsed beside the old and takes its place only if it is valid as a whole.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "parent.h"

#define MS		1000ULL
#define MIB		(1024ULL * 1024)
#define FILES_SPARE	5376	/* beyond the limits: logs' and calls' */
#define BOOT_FILE	"/proc/sys/kernel/random/boot_id"

/*
 * What a child's tables hold when all are full, with room: who needs more has
 * a fault, or is somebody else's by now, and ends instead of the machine.
 * Under work that is far from that they were seen to have 6 to 25 MiB.
 */
static uint64_t
conf_memory(const struct conf_limits *l, enum role role)
{
	static const struct {
		uint64_t	 base;		/* MiB, with queued messages */
		uint64_t	 client;	/* for each, what waits to go out */
		uint64_t	 box;
		uint64_t	 exec;
	} need[ROLE_MAX] = {
		[ROLE_FRONTEND] = { 1024, 9, 0, 0 },
		/* Rows of the deleted ones too, as long as they are kept. */
		[ROLE_STORE] = { 8192, 0, 1, 1 },
		[ROLE_BROKER] = { 1024, 0, 1, 0 },
		[ROLE_RUNNER] = { 1024, 1, 6, 1 },
	};

	return (MIB * (need[role].base + need[role].client * l->clients +
	    need[role].box * l->sandboxes + need[role].exec * l->execs));
}

/* A few for each exec, sandbox and client. */
uint64_t
parent_files(const struct conf_limits *l)
{
	return (6 * (uint64_t)l->execs + 3 * (uint64_t)l->sandboxes +
	    2 * (uint64_t)l->clients + FILES_SPARE);
}

/* With room for a reload that goes as far as the defaults do. */
void
parent_room(struct conf_limits *l)
{
	const struct conf_limits	*d = conf_limits_default();

	*l = env.conf->limits;
	if (l->clients < d->clients)
		l->clients = d->clients;
	if (l->sandboxes < d->sandboxes)
		l->sandboxes = d->sandboxes;
	if (l->execs < d->execs)
		l->execs = d->execs;
}

uint64_t
parent_memory(enum role role)
{
	struct conf_limits	 l;

	parent_room(&l);
	return (conf_memory(&l, role));
}

/*
 * A child's own limits are for ever: nobody here has the capability to raise
 * them, and one that could do it itself would have none.
 */
static int
conf_check_room(const struct config *new, struct conf_errors *e)
{
	const struct conf_limits	*l = &new->limits;
	enum role			 r;

	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++) {
		if (!env.child[r].open ||
		    conf_memory(l, r) <= env.child[r].ids.memory)
			continue;
		conf_error(e, new->file, 0, "limits: the %s would need %llu "
		    "MiB, and was started with %llu: changes only with a "
		    "restart", env.child[r].name,
		    (unsigned long long)(conf_memory(l, r) / MIB),
		    (unsigned long long)(env.child[r].ids.memory / MIB));
		return (-1);
	}
	/* The system may have granted less than was asked for before. */
	if (parent_files(l) > env.nofile &&
	    parent_files(l) > parent_files(&env.conf->limits)) {
		conf_error(e, new->file, 0, "limits: a process would need "
		    "%llu descriptors, and was started with %u: changes only "
		    "with a restart", (unsigned long long)parent_files(l),
		    env.nofile);
		return (-1);
	}
	return (0);
}

/*
 * Which start of the host this is.  Clocks can be set, this cannot; the store
 * opens no such path.
 */
static void
conf_boot(char *boot)
{
	ssize_t		 n = -1;
	int		 fd;
#ifdef FAULTS
	const char	*v;

	if ((v = getenv("SANDBOXD_BOOT")) != NULL) {
		strlcpy(boot, v, BOOT_MAX + 1);
		return;
	}
#endif
	if ((fd = open(BOOT_FILE, O_RDONLY | O_CLOEXEC)) != -1) {
		n = read(fd, boot, BOOT_MAX);
		close(fd);
	}
	if (n != BOOT_MAX) {
		log_warnx("%s: cannot be read", BOOT_FILE);
		n = 0;
	}
	boot[n] = '\0';
}

static void
conf_to_msg(struct msg_conf *m)
{
	const struct config	*c = env.conf;
	const struct limit_rule	*l;

	memset(m, 0, sizeof(*m));
	strlcpy(m->instance, env.dir.instance, sizeof(m->instance));
	conf_boot(m->boot);
	m->generation = env.generation;
	m->verbose = (uint32_t)env.verbose;
	m->engine = (char *)(uintptr_t)conf_engine_path(c);
	m->guest = env.dir.guest;
	m->mnt = env.dir.mnt;
	m->sock = env.dir.sockpath;
	m->mounts = env.dir.mountspath;
	m->uid_low = c->uid_min;
	m->uid_high = c->uid_max;
	m->rootless = c->engine_user[0] != '\0';
	strlcpy(m->image, c->defaults.image, sizeof(m->image));
	m->memory = c->defaults.memory;
	m->mcpus = c->defaults.cpus;
	m->pids = c->defaults.pids;
	m->readonly = (uint32_t)c->defaults.readonly;
	m->resume = (uint32_t)c->defaults.resume;
	m->tmp_size = c->defaults.tmp;
	m->disk = c->defaults.disk;
	m->lifetime = c->defaults.lifetime * MS;
	m->idle = c->defaults.idle * MS;
	m->max_sandboxes = c->limits.sandboxes;
	m->max_execs = c->limits.execs;
	m->max_memory = c->limits.memory;
	m->max_mcpus = c->limits.cpus;
	m->max_pids = c->limits.pids;
	m->max_disk = c->limits.disk;
	m->max_lifetime = c->limits.lifetime * MS;
	m->log_exec = c->limits.log_exec;
	m->log_sandbox = c->limits.log_sandbox;
	m->log_total = c->limits.log_total;
	m->max_clients = c->limits.clients;
	if (bounds_pack(&m->all, c->limits.all) == -1)
		fatal("%s", __func__);
	TAILQ_FOREACH(l, &c->limit_rules, entry)
		if (l->limit == LIMIT_LOG && (u64v_add(&m->log_users,
		    l->w.who == WHO_ANY ? LOG_ANY : l->w.id) == -1 ||
		    u64v_add(&m->log_users, l->b.most) == -1))
			fatal("%s", __func__);
	m->t_create = c->timeouts.create * MS;
	m->t_stop = c->timeouts.stop * MS;
	m->t_delete = c->timeouts.delete * MS;
	m->t_engine = c->timeouts.engine * MS;
	m->t_reattach = c->timeouts.reattach * MS;
	m->t_stall = c->timeouts.stall * MS;
	m->t_stray = c->timeouts.stray * MS;
	m->retain_history = c->retain.history * MS;
	m->retain_stopped = c->retain.stopped * MS;
	m->retain_failed = c->retain.failed * MS;
	m->allow_root = (uint32_t)c->user_root;
	m->unenforced = c->unenforced;
	m->need_reason = (uint32_t)c->need_reason;
}

static void
send_rule(enum role role, int allow, const char *pattern)
{
	struct msg_conf_rule	 r;

	memset(&r, 0, sizeof(r));
	r.allow = (uint32_t)allow;
	strlcpy(r.pattern, pattern, sizeof(r.pattern));
	parent_send(role, MSG_CONF_RULE, 0, 0, 0, -1, &r);
}

/*
 * The store judges by the rules that are in force: what they are called, and
 * what they come to for those who are connected, changes with the rest.
 */
static void
send_places(void)
{
	struct msg_conf_place	 m;
	uint32_t		 n;

	for (n = 1; n <= env.conf->nplaces; n++) {
		memset(&m, 0, sizeof(m));
		strlcpy(m.place, conf_place(env.conf, n), sizeof(m.place));
		parent_send(ROLE_STORE, MSG_CONF_PLACE, 0, 0, 0, -1, &m);
	}
	sessions_judge();
}

void
parent_send_conf(enum role role)
{
	const struct conf_image	*i;
	struct msg_conf		 m;
	int			 allows = 0;

	conf_to_msg(&m);
	parent_send(role, MSG_CONF_BEGIN, 0, 0, 0, -1, &m);
	u64v_clear(&m.all);
	u64v_clear(&m.log_users);
	/*
	 * The last that matches wins, so what holds when none does comes
	 * first: who names images that are allowed means no others.
	 */
	TAILQ_FOREACH(i, &env.conf->images, entry)
		allows |= i->allow;
	send_rule(role, !allows, "*");
	TAILQ_FOREACH(i, &env.conf->images, entry)
		send_rule(role, i->allow, i->pattern);
	if (role == ROLE_STORE)
		send_places();
	parent_send(role, MSG_CONF_END, 0, 0, 0, -1, NULL);
}

/* The errors as one line, since that is what an answer's text is. */
static void
errors_to_text(const struct conf_errors *e, char *text, size_t len)
{
	const char	*p;
	size_t		 n;

	n = strlcpy(text, "invalid configuration: ", len);
	for (p = e->text; *p != '\0' && n + 3 < len; p++) {
		if (*p != '\n')
			text[n++] = *p;
		else if (p[1] != '\0') {
			text[n++] = ';';
			text[n++] = ' ';
		}
	}
	text[n < len ? n : len - 1] = '\0';
}

static void
errors_log(const struct conf_errors *e)
{
	char	 line[CONF_PATH_MAX + 1024];
	const char *p = e->text;
	size_t	 n;

	while (*p != '\0') {
		n = strcspn(p, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)n, p);
		log_warnx("%s", line);
		p += n + (p[n] == '\n');
	}
}

/* The one of the file, if it may take the place of ours; or the reason. */
static struct config *
conf_read(char *text, size_t len)
{
	static struct conf_errors	 errs;
	struct config			*conf;

	memset(&errs, 0, sizeof(errs));
	conf = conf_parse(env.conf->file, &errs);
	if (conf == NULL || conf_check_reload(env.conf, conf, &errs) == -1 ||
	    conf_check_room(conf, &errs) == -1) {
		errors_log(&errs);
		errors_to_text(&errs, text, len);
		log_warnx("the configuration is kept as it was");
		conf_free(conf);
		return (NULL);
	}
	return (conf);
}

int
parent_conf_check(char *text, size_t len)
{
	struct config	*conf;

	if ((conf = conf_read(text, len)) == NULL)
		return (-1);
	conf_free(conf);
	return (0);
}

/* 0, or -1 and the reason in text. */
int
parent_reload(char *text, size_t len)
{
	struct config	*conf;
	enum role	 r;

	if ((conf = conf_read(text, len)) == NULL)
		return (-1);
	conf_free(env.conf);
	env.conf = conf;
	env.generation++;
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		if (env.child[r].open)
			parent_send_conf(r);
	log_info("configuration reloaded");
	*text = '\0';
	return (0);
}
