/*
 * What /proc says of a child, against what the parent made it to be.  A child
 * works only after this: what it says of itself counts for nothing.
 */

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "parent.h"

#define SIG(n)		(1ULL << ((n) - 1))

/*
 * What a child catches and ignores.  A sanitizer catches what it reports; a
 * build for tests says which call its filter ended it for, and hangs on request.
 */
#ifdef ASAN
#define SIGS_CAUGHT	(SIG(SIGHUP) | SIG(SIGINT) | SIG(SIGTERM) |	\
			SIG(SIGUSR1) | SIG(SIGUSR2) |			\
			SIG(SIGSYS) | SIG(SIGSEGV) | SIG(SIGBUS) |	\
			SIG(SIGFPE) | SIG(SIGILL) | SIG(SIGABRT) |	\
			SIG(SIGTRAP))
#elif defined(FAULTS)
#define SIGS_CAUGHT	(SIG(SIGHUP) | SIG(SIGINT) | SIG(SIGTERM) |	\
			SIG(SIGUSR1) | SIG(SIGUSR2) | SIG(SIGSYS))
#else
#define SIGS_CAUGHT	(SIG(SIGHUP) | SIG(SIGINT) | SIG(SIGTERM))
#endif
#define SIGS_IGNORED	(SIG(SIGPIPE) | SIG(SIGUSR1) | SIG(SIGUSR2))
/* libc keeps these two to itself: it may ignore them, nobody else can. */
#define SIGS_LIBC	(SIG(32) | SIG(33))

/*
 * Descriptors of each: sockets towards us, to the others and of libcurl to
 * itself; one pipe, which an event loop's signals go through.
 */
static const uint32_t	 nsockets[ROLE_MAX] = {
	[ROLE_FRONTEND] = 1 + 2,
	[ROLE_STORE] = 1 + 3,
	[ROLE_BROKER] = 1 + 1 + 2,
	[ROLE_RUNNER] = 1 + 2,
};
#define NPIPES	2

struct counts {
	uint32_t	 sockets;
	uint32_t	 pipes;
	uint32_t	 epolls;
	uint32_t	 eventfds;
};

static int
wrong(const struct child *c, const char *name, const char *value)
{
	log_warnx("%s is not what it should be: %s is %s", c->name, name,
	    value);
	return (-1);
}

/* Four equal numbers, as for all of real, effective, saved and of files. */
static int
same_four(const char *s, uint32_t id)
{
	unsigned long	 n[4];
	int		 i;

	if (sscanf(s, "%lu %lu %lu %lu", &n[0], &n[1], &n[2], &n[3]) != 4)
		return (0);
	for (i = 0; i < 4; i++)
		if (n[i] != id)
			return (0);
	return (1);
}

/* Exactly the supplementary groups that it was given. */
static int
same_groups(const char *s, const struct proc_ids *ids)
{
	char		*end;
	unsigned long	 g;
	uint32_t	 i, n = 0;

	for (;;) {
		g = strtoul(s, &end, 10);
		if (end == s)
			break;
		for (i = 0; i < ids->ngroups; i++)
			if (ids->groups[i] == g)
				break;
		if (i == ids->ngroups)
			return (0);
		n++;
		s = end;
	}
	return (n == ids->ngroups);
}

static int
is_zero(const struct child *c, const char *value)
{
	return (strtoull(value, NULL, 16) == 0);
}

static int
is_one(const struct child *c, const char *value)
{
	return (strtoul(value, NULL, 10) == 1);
}

static int
is_uid(const struct child *c, const char *value)
{
	return (same_four(value, c->ids.uid));
}

static int
is_gid(const struct child *c, const char *value)
{
	return (same_four(value, c->ids.gid));
}

static int
is_groups(const struct child *c, const char *value)
{
	return (same_groups(value, &c->ids));
}

static int
is_ignored(const struct child *c, const char *value)
{
	return ((strtoull(value, NULL, 16) &
	    ~(SIGS_IGNORED | SIGS_LIBC)) == 0);
}

static int
is_caught(const struct child *c, const char *value)
{
	return ((strtoull(value, NULL, 16) &
	    ~(SIGS_CAUGHT | SIGS_LIBC)) == 0);
}

/* 2: a filter.  A kernel without has no such line, or 0 in it. */
static int
is_filtered(const struct child *c, const char *value)
{
	return (strtoul(value, NULL, 10) ==
	    (c->layers.mask & LAYER_SECCOMP ? 2 :
	    env.child[ROLE_PARENT].layers.mask & LAYER_SECCOMP ? 2 : 0));
}

static unsigned long	 filters;	/* that we have ourselves */

/* Each upgrade in place has put one more on those that it inherited. */
static void
filters_read(void)
{
	static const char	 name[] = "Seccomp_filters:";
	char			 line[256];
	FILE			*fp;

	filters = 0;
	if ((fp = fopen("/proc/self/status", "re")) == NULL)
		return;
	while (fgets(line, sizeof(line), fp) != NULL)
		if (strncmp(line, name, sizeof(name) - 1) == 0)
			filters = strtoul(line + sizeof(name) - 1, NULL, 10);
	fclose(fp);
}

/* Its own and those that it has from us. */
static int
is_filters(const struct child *c, const char *value)
{
	return (strtoul(value, NULL, 10) == filters +
	    (c->layers.mask & LAYER_SECCOMP ? 1UL : 0UL));
}

static const struct {
	const char	*name;
	int		(*right)(const struct child *, const char *);
	int		 optional;	/* not every kernel has the line */
} fields[] = {
	{ "Uid", is_uid, 0 },
	{ "Gid", is_gid, 0 },
	{ "Groups", is_groups, 0 },
	{ "Threads", is_one, 0 },
	{ "SigBlk", is_zero, 0 },
	{ "SigIgn", is_ignored, 0 },
	{ "SigCgt", is_caught, 0 },
	{ "CapInh", is_zero, 0 },
	{ "CapPrm", is_zero, 0 },
	{ "CapEff", is_zero, 0 },
	{ "CapBnd", is_zero, 0 },
	{ "CapAmb", is_zero, 0 },
	{ "NoNewPrivs", is_one, 0 },
	{ "Seccomp", is_filtered, 1 },
	{ "Seccomp_filters", is_filters, 1 },
};

/* Every field that is wrong is told, not only the first. */
static int
check_status(const struct child *c)
{
	char		 path[64], line[4096], *value;
	FILE		*fp;
	uint32_t	 seen = 0;
	size_t		 i;
	int		 ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)c->pid);
	if ((fp = fopen(path, "re")) == NULL) {
		log_warn("%s", path);
		return (-1);
	}
	while (fgets(line, sizeof(line), fp) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if ((value = strchr(line, ':')) == NULL)
			continue;
		*value++ = '\0';
		value += strspn(value, "\t ");
		for (i = 0; i < nitems(fields); i++) {
			if (strcmp(line, fields[i].name) != 0)
				continue;
			seen |= 1U << i;
			if (!fields[i].right(c, value))
				ret = wrong(c, line, value);
		}
	}
	fclose(fp);
	for (i = 0; i < nitems(fields); i++)
		if (!fields[i].optional && !(seen & 1U << i))
			ret = wrong(c, fields[i].name, "not in /proc");
	return (ret);
}

/* Soft and hard, both as they were set. */
static int
check_limits(const struct child *c)
{
	const struct {
		const char		*name;
		unsigned long long	 value;
		int			 unset;
	} limits[] = {
		{ "Max processes", 0, 0 },
		{ "Max core file size", 0, 0 },
		{ "Max open files", c->ids.nofile, 0 },
#ifdef ASAN
		{ "Max file size", 0, 1 },
		{ "Max address space", c->ids.memory, 1 },
#else
		{ "Max address space", c->ids.memory, 0 },
		{ "Max file size", 0, c->role != ROLE_FRONTEND &&
		    c->role != ROLE_BROKER },
#endif
	};
	char			 path[64], line[256], want[64];
	FILE			*fp;
	size_t			 i, len;
	uint32_t		 seen = 0;
	int			 ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)c->pid);
	if ((fp = fopen(path, "re")) == NULL) {
		log_warn("%s", path);
		return (-1);
	}
	while (fgets(line, sizeof(line), fp) != NULL)
		for (i = 0; i < nitems(limits); i++) {
			len = strlen(limits[i].name);
			if (strncmp(line, limits[i].name, len) != 0)
				continue;
			seen |= 1U << i;
			snprintf(want, sizeof(want), "%-20llu %-20llu ",
			    limits[i].value, limits[i].value);
			if (!limits[i].unset && strncmp(line + len +
			    strspn(line + len, " "), want, strlen(want)) != 0)
				ret = wrong(c, limits[i].name, "another");
		}
	fclose(fp);
	for (i = 0; i < nitems(limits); i++)
		if (!(seen & 1U << i))
			ret = wrong(c, limits[i].name, "not in /proc");
	return (ret);
}

/* Its root and its working directory, by what they are and not by name. */
static int
check_directory(const struct child *c, const char *name)
{
	struct stat	 want, is;
	char		 path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)c->pid, name);
	if ((c->ids.root != -1 ? fstat(c->ids.root, &want) :
	    stat("/", &want)) == -1 || stat(path, &is) == -1) {
		log_warn("%s", path);
		return (-1);
	}
	if (is.st_dev != want.st_dev || is.st_ino != want.st_ino)
		return (wrong(c, name, "another directory"));
	return (0);
}

/* In the same namespaces as we are. */
static int
check_namespaces(const struct child *c)
{
	static const char	*const names[] = {
		"ns/cgroup", "ns/ipc", "ns/mnt", "ns/net", "ns/pid",
		"ns/user", "ns/uts"
	};
	struct stat		 want, is;
	char			 ours[64], its[64];
	size_t			 i;
	int			 ret = 0;

	for (i = 0; i < nitems(names); i++) {
		snprintf(ours, sizeof(ours), "/proc/self/%s", names[i]);
		snprintf(its, sizeof(its), "/proc/%d/%s", (int)c->pid,
		    names[i]);
		/* Not every kernel has each. */
		if (stat(ours, &want) == -1)
			continue;
		if (stat(its, &is) == -1)
			return (wrong(c, names[i], strerror(errno)));
		if (is.st_dev != want.st_dev || is.st_ino != want.st_ino)
			ret = wrong(c, names[i], "another");
	}
	return (ret);
}

/* Who may look into it: not its own user. */
static int
check_maps(const struct child *c)
{
	struct stat	 st;
	char		 path[64], line[4096], perms[8];
	FILE		*fp;
	int		 ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)c->pid);
	if ((fp = fopen(path, "re")) == NULL || fstat(fileno(fp), &st) == -1) {
		log_warn("%s", path);
		if (fp != NULL)
			fclose(fp);
		return (-1);
	}
	if (st.st_uid != 0)
		ret = wrong(c, "dumpable", "1");
	while (fgets(line, sizeof(line), fp) != NULL)
		if (sscanf(line, "%*s %7s", perms) == 1 &&
		    strchr(perms, 'w') != NULL && strchr(perms, 'x') != NULL)
			ret = wrong(c, "maps", perms);
	fclose(fp);
	return (ret);
}

/*
 * One descriptor: what the parent gave, what a pipe to a sibling is, what an
 * event loop needs.  Standard error is the terminal's if we are there too.
 */
static int
check_descriptor(const struct child *c, int dir, const char *name,
    struct counts *n_of)
{
	struct stat	 st, lock;
	char		 to[256], what[32];
	ssize_t		 n;
	int		 fd = atoi(name);

	snprintf(what, sizeof(what), "fd/%.16s", name);
	if ((n = readlinkat(dir, name, to, sizeof(to) - 1)) == -1 ||
	    fstatat(dir, name, &st, 0) == -1)
		return (wrong(c, what, "not to be seen"));
	to[n] = '\0';
	if (fd == STDERR_FILENO && env.debug)
		return (0);
	if (fd <= STDERR_FILENO && S_ISCHR(st.st_mode) &&
	    st.st_rdev == makedev(1, 3))
		return (0);
	if (fd == PROC_LOCK_FD && fstat(env.dir.lock, &lock) == 0 &&
	    st.st_dev == lock.st_dev && st.st_ino == lock.st_ino)
		return (0);
	if (fd > STDERR_FILENO && S_ISSOCK(st.st_mode) &&
	    ++n_of->sockets <= nsockets[c->role])
		return (0);
	if (strncmp(to, "pipe:[", 6) == 0 && ++n_of->pipes <= NPIPES)
		return (0);
	/* The frontend has one more for clients who hang up. */
	if (strcmp(to, "anon_inode:[eventpoll]") == 0 && ++n_of->epolls <=
	    (c->role == ROLE_FRONTEND ? 2 : 1))
		return (0);
	/* What a newer libcurl has in the place of a pair of sockets. */
	if (strcmp(to, "anon_inode:[eventfd]") == 0 &&
	    c->role == ROLE_BROKER && ++n_of->eventfds == 1)
		return (0);
	return (wrong(c, what, to));
}

static int
check_descriptors(const struct child *c)
{
	struct dirent	*de;
	char		 path[64];
	struct counts	 n_of = { 0, 0, 0, 0 };
	DIR		*dir;
	int		 ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)c->pid);
	if ((dir = opendir(path)) == NULL) {
		log_warn("%s", path);
		return (-1);
	}
	while ((de = readdir(dir)) != NULL)
		if (de->d_name[0] != '.' && check_descriptor(c, dirfd(dir),
		    de->d_name, &n_of) == -1)
			ret = -1;
	closedir(dir);
	return (ret);
}

/* What only one who may trace it can see. */
static int
check_inside(const struct child *c)
{
	int	 ret = 0;

	if (sandbox_raise_ptrace() == -1) {
		log_warn("%s: cannot look into it", c->name);
		return (-1);
	}
	if (check_directory(c, "root") == -1)
		ret = -1;
	if (check_directory(c, "cwd") == -1)
		ret = -1;
	if (check_namespaces(c) == -1)
		ret = -1;
	if (check_maps(c) == -1)
		ret = -1;
	if (check_descriptors(c) == -1)
		ret = -1;
	sandbox_lower();
	return (ret);
}

static const struct {
	uint32_t	 mask;
	const char	*name;
	int		 needed;	/* strict: not without */
	const char	*what;
} layer_names[] = {
	{ LAYER_SECCOMP, "seccomp", 1, "filters of system calls" },
	{ LAYER_LANDLOCK, "landlock", 1, "Landlock" },
	/* The filter denies the same; this would hold should it not. */
	{ LAYER_MDWE, "mdwe", 0, "memory-deny-write-execute" },
};

static uint32_t
layers_of(const struct child *c)
{
	if (c->role == ROLE_PARENT)
		return (LAYER_SECCOMP);
#ifdef ASAN
	return (LAYER_SECCOMP | LAYER_LANDLOCK);
#else
	return (LAYER_SECCOMP | LAYER_LANDLOCK | LAYER_MDWE);
#endif
}

void
parent_layers(const struct child *c, char *layers, char *missing, size_t len)
{
	uint32_t	 want = layers_of(c);
	size_t		 i;
	char		*to;

	*layers = *missing = '\0';
	for (i = 0; i < nitems(layer_names); i++) {
		if (!(want & layer_names[i].mask))
			continue;
		to = c->layers.mask & layer_names[i].mask ? layers : missing;
		if (*to != '\0')
			strlcat(to, " ", len);
		strlcat(to, layer_names[i].name, len);
	}
}

/* What the kernel lacks is told at each start; strict is not without. */
static int
check_layers(const struct child *c)
{
	uint32_t	 lack = layers_of(c) & ~c->layers.mask;
	size_t		 i;
	int		 ret = 0;

	for (i = 0; i < nitems(layer_names); i++) {
		if (!(lack & layer_names[i].mask))
			continue;
		if (layer_names[i].needed && !env.conf->best_effort) {
			log_warnx("%s: this kernel has no %s (%s); \"sandbox "
			    "best-effort\" would start without", c->name,
			    layer_names[i].what, layer_names[i].name);
			ret = -1;
		} else
			log_warnx("%s: runs without %s (%s), which this "
			    "kernel does not have", c->name,
			    layer_names[i].what, layer_names[i].name);
	}
	return (ret);
}

int
parent_check_child(const struct child *c)
{
	int	 ret = 0;

	if (check_layers(c) == -1)
		ret = -1;
	if (check_status(c) == -1)
		ret = -1;
	if (check_limits(c) == -1)
		ret = -1;
	if (check_inside(c) == -1)
		ret = -1;
	return (ret);
}

int
parent_check_self(void)
{
	struct child	*c = &env.child[ROLE_PARENT];

	c->layers = *sandbox_layers();
	filters_read();
	return (check_layers(c));
}

/*
 * The one group that the broker has beside its own: the Engine's.  1 and the
 * group, 0 if there is none, -1.
 */
int
parent_engine_group(const struct config *conf, gid_t *gid)
{
	const struct group	*gr;
	const char		*path = conf_engine_path(conf);
	struct stat		 st;

	if (conf->engine_group[0] != '\0')
		*gid = conf->engine_gid;
	else if (stat(path, &st) == 0)
		*gid = st.st_gid;
	else if ((gr = getgrnam("docker")) != NULL)
		*gid = gr->gr_gid;
	else {
		log_warnx("engine %s: not there, and no group docker: its "
		    "group is not known; name it: engine \"%s\" group "
		    "\"...\"", path, conf->engine);
		return (0);
	}
	if (*gid == 0) {
		log_warnx("engine %s: its group is that of root, which the "
		    "broker must not have; start the Engine with a group of "
		    "its own (dockerd -G docker) and name it: engine \"%s\" "
		    "group \"docker\"", path, conf->engine);
		return (-1);
	}
	return (1);
}
