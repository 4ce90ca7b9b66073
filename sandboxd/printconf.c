/*
 * Prints a configuration in the form in which it is read, every setting by
 * name, so that what is in force can be seen, compared and read again.
 */

#include <string.h>

#include "conf.h"
#include "sandboxd.h"

static void
print_string(FILE *fp, const char *s)
{
	fputc('"', fp);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', fp);
		fputc(*s, fp);
	}
	fputc('"', fp);
}

static void
print_named(FILE *fp, const char *name, const char *value)
{
	fprintf(fp, "%s ", name);
	print_string(fp, value);
}

/* In the largest unit that loses nothing. */
static void
print_size(FILE *fp, uint64_t n)
{
	static const char	 units[] = "TGMK";
	uint64_t		 step = 1ULL << 40;
	size_t			 i;

	for (i = 0; i < sizeof(units) - 1; i++, step >>= 10)
		if (n != 0 && n % step == 0) {
			fprintf(fp, "%llu%c", (unsigned long long)(n / step),
			    units[i]);
			return;
		}
	fprintf(fp, "%llu", (unsigned long long)n);
}

static void
print_time(FILE *fp, uint32_t n)
{
	static const struct {
		char		 unit;
		uint32_t	 secs;
	} units[] = { { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 } };
	size_t	 i;

	for (i = 0; i < nitems(units); i++)
		if (n != 0 && n % units[i].secs == 0) {
			fprintf(fp, "%u%c", n / units[i].secs, units[i].unit);
			return;
		}
	fprintf(fp, "%us", n);
}

static void
print_span(FILE *fp, const char *name, uint32_t n)
{
	fprintf(fp, "\n\t%s ", name);
	if (n == 0)
		fprintf(fp, "none");
	else
		print_time(fp, n);
}

static void
print_cpus(FILE *fp, uint32_t n)
{
	if (n % 1000 == 0)
		fprintf(fp, "%u", n / 1000);
	else
		fprintf(fp, "%u.%03u", n / 1000, n % 1000);
}

static void
print_defaults(FILE *fp, const struct conf_defaults *d)
{
	fprintf(fp, "\ndefaults {\n\t");
	print_named(fp, "image", d->image);
	fprintf(fp, "\n\tmemory ");
	print_size(fp, d->memory);
	fprintf(fp, "\n\tcpus ");
	print_cpus(fp, d->cpus);
	if (d->disk != 0) {
		fprintf(fp, "\n\tdisk ");
		print_size(fp, d->disk);
	}
	fprintf(fp, "\n\tpids %u\n\tnetwork none\n\treadonly %s\n"
	    "\tresume-on-start %s\n\ttmp ", d->pids,
	    d->readonly ? "yes" : "no", d->resume ? "yes" : "no");
	print_size(fp, d->tmp);
	print_span(fp, "lifetime", d->lifetime);
	print_span(fp, "idle", d->idle);
	fprintf(fp, "\n}\n");
}

static void
print_bound(FILE *fp, enum limit l, const struct bound *b)
{
	const char	*name = limit_name(l);
	size_t		 n = strcspn(name, " ");

	fprintf(fp, "%.*s ", (int)n, name);
	switch (l) {
	case LIMIT_MEMORY:
	case LIMIT_MEMORY_EACH:
	case LIMIT_DISK:
	case LIMIT_DISK_EACH:
	case LIMIT_LOG:
		print_size(fp, b->most);
		break;
	case LIMIT_CPUS:
	case LIMIT_CPUS_EACH:
		print_cpus(fp, (uint32_t)b->most);
		break;
	default:
		fprintf(fp, "%llu", (unsigned long long)b->most);
		break;
	}
	if (l == LIMIT_MEMORY || l == LIMIT_CPUS || l == LIMIT_PIDS ||
	    l == LIMIT_DISK || l == LIMIT_LOG)
		fprintf(fp, " total");
	else
		fprintf(fp, "%s", name + n);
	if (limit_is_rate(l)) {
		fprintf(fp, " per ");
		print_time(fp, (uint32_t)(b->per / 1000));
	}
}

/* What follows the value of one sandbox. */
static void
print_total(FILE *fp, const struct bound *b, enum limit l)
{
	if (b->most == 0)
		return;
	fprintf(fp, " per sandbox, ");
	if (l == LIMIT_MEMORY || l == LIMIT_DISK)
		print_size(fp, b->most);
	else if (l == LIMIT_CPUS)
		print_cpus(fp, (uint32_t)b->most);
	else
		fprintf(fp, "%llu", (unsigned long long)b->most);
	fprintf(fp, " total");
}

/* It has no limit of its own accord. */
static void
print_disk(FILE *fp, const struct conf_limits *l)
{
	if (l->disk == 0 && l->all[LIMIT_DISK].most == 0)
		return;
	fprintf(fp, "\n\tdisk ");
	if (l->disk == 0) {
		print_size(fp, l->all[LIMIT_DISK].most);
		fprintf(fp, " total");
		return;
	}
	print_size(fp, l->disk);
	print_total(fp, &l->all[LIMIT_DISK], LIMIT_DISK);
}

static void
print_limits(FILE *fp, const struct conf_limits *l)
{
	static const enum limit	 rest[] = {
		LIMIT_CREATES, LIMIT_REQUESTS, LIMIT_SUBSCRIPTIONS
	};
	size_t			 i;

	fprintf(fp, "\nlimits {\n\tsandboxes %u\n\texecs %u\n", l->sandboxes,
	    l->execs);
	fprintf(fp, "\tclients %u, %u per user\n\tlog ", l->clients,
	    l->clients_user);
	print_size(fp, l->log_exec);
	fprintf(fp, " per exec, ");
	print_size(fp, l->log_sandbox);
	fprintf(fp, " per sandbox, ");
	print_size(fp, l->log_total);
	fprintf(fp, " total\n\tmemory ");
	print_size(fp, l->memory);
	print_total(fp, &l->all[LIMIT_MEMORY], LIMIT_MEMORY);
	fprintf(fp, "\n\tcpus ");
	print_cpus(fp, l->cpus);
	print_total(fp, &l->all[LIMIT_CPUS], LIMIT_CPUS);
	fprintf(fp, "\n\tpids %u", l->pids);
	print_total(fp, &l->all[LIMIT_PIDS], LIMIT_PIDS);
	print_disk(fp, l);
	print_span(fp, "lifetime", l->lifetime);
	fprintf(fp, "\n");
	for (i = 0; i < nitems(rest); i++) {
		if (l->all[rest[i]].most == 0)
			continue;
		fprintf(fp, "\t");
		print_bound(fp, rest[i], &l->all[rest[i]]);
		fprintf(fp, "\n");
	}
	fprintf(fp, "}\n");
}

static void
print_times(FILE *fp, const struct config *conf)
{
	const struct conf_timeouts	*t = &conf->timeouts;
	const struct conf_retain	*r = &conf->retain;
	const struct {
		const char	*name;
		uint32_t	 secs;
	} times[] = {
		{ "create", t->create }, { "stop", t->stop },
		{ "delete", t->delete }, { "engine", t->engine },
		{ "reattach", t->reattach }, { "stall", t->stall },
		{ "stray", t->stray },
	};
	size_t	 i;

	fprintf(fp, "\ntimeouts {\n");
	for (i = 0; i < nitems(times); i++) {
		fprintf(fp, "\t%s ", times[i].name);
		print_time(fp, times[i].secs);
		fprintf(fp, "\n");
	}
	fprintf(fp, "}\n\nretain {");
	print_span(fp, "history", r->history);
	print_span(fp, "stopped", r->stopped);
	print_span(fp, "failed", r->failed);
	fprintf(fp, "\n}\n");
}

static void
print_policy(FILE *fp, const struct config *conf)
{
	static const struct {
		const char	*name;
		uint32_t	 bit;
	} names[] = {
		{ "memory", UNENFORCED_MEMORY }, { "swap", UNENFORCED_SWAP },
		{ "cpus", UNENFORCED_CPUS }, { "pids", UNENFORCED_PIDS },
	};
	const struct conf_image	*i;
	const struct conf_mount	*m;
	size_t			 n;

	fprintf(fp, "\npolicy {\n");
	TAILQ_FOREACH(i, &conf->images, entry) {
		fprintf(fp, "\t");
		print_named(fp, i->allow ? "image allow" : "image deny",
		    i->pattern);
		fprintf(fp, "\n");
	}
	TAILQ_FOREACH(m, &conf->mounts, entry) {
		fprintf(fp, "\t");
		print_named(fp, m->allow ? "mount allow" : "mount deny",
		    m->path);
		fprintf(fp, "%s%s\n", m->rw ? " rw" : "",
		    m->sockets ? " sockets" : "");
	}
	fprintf(fp, "\tnetwork allow none\n");
	if (conf->need_reason)
		fprintf(fp, "\treason required\n");
	if (conf->user_root)
		fprintf(fp, "\tuser root\n");
	if (conf->unenforced != 0) {
		fprintf(fp, "\tunenforced");
		for (n = 0; n < nitems(names); n++)
			if (conf->unenforced & names[n].bit)
				fprintf(fp, " %s", names[n].name);
		fprintf(fp, "\n");
	}
	fprintf(fp, "}\n");
}

static void
print_who(FILE *fp, const struct rule_who *w)
{
	if (w->who == WHO_ANY)
		fprintf(fp, " any");
	else
		print_named(fp, w->who == WHO_GROUP ? " group" : " user",
		    w->name);
}

static void
print_limit(FILE *fp, const struct limit_rule *l)
{
	fprintf(fp, "limits");
	print_who(fp, &l->w);
	fprintf(fp, " { ");
	print_bound(fp, l->limit, &l->b);
	fprintf(fp, " }\n");
}

static void
print_rule(FILE *fp, const struct right_rule *r)
{
	int	 i;

	fprintf(fp, "%s", r->allow ? "allow" : "deny");
	for (i = 0; i < RIGHT_MAX; i++)
		if (r->rights & 1U << i)
			fprintf(fp, " %s", right_name(i));
	print_who(fp, &r->w);
	fprintf(fp, " on %s\n", r->all ? "all" : "own");
}

void
conf_print(FILE *fp, const struct config *conf)
{
	const struct right_rule	*r;
	const struct limit_rule	*l;

	print_named(fp, "state", conf->state);
	fprintf(fp, "\n");
	print_named(fp, "socket", conf->socket);
	if (conf->socket_group[0] != '\0')
		print_named(fp, " group", conf->socket_group);
	fprintf(fp, "\n");
	print_named(fp, "engine", conf->engine);
	if (conf->engine_group[0] != '\0')
		print_named(fp, " group", conf->engine_group);
	if (conf->engine_user[0] != '\0')
		print_named(fp, " user", conf->engine_user);
	fprintf(fp, "\n");
	print_named(fp, "guest", conf->guest);
	fprintf(fp, "\nuid %u to %u\nrestart %u per ", conf->uid_min,
	    conf->uid_max, conf->restart_count);
	print_time(fp, conf->restart_secs);
	fprintf(fp, "\nsandbox %s\n",
	    conf->best_effort ? "best-effort" : "strict");
	print_defaults(fp, &conf->defaults);
	print_limits(fp, &conf->limits);
	print_policy(fp, conf);
	print_times(fp, conf);
	if (!TAILQ_EMPTY(&conf->limit_rules))
		fprintf(fp, "\n");
	TAILQ_FOREACH(l, &conf->limit_rules, entry)
		print_limit(fp, l);
	if (!TAILQ_EMPTY(&conf->rules))
		fprintf(fp, "\n");
	TAILQ_FOREACH(r, &conf->rules, entry)
		print_rule(fp, r);
}
