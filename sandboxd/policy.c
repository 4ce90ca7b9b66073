/*
 * What the configuration allows: images, users, limits, and what the Engine
 * must be able to enforce.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "policy.h"
#include "spec.h"

#define POLICY_REF_MAX	(SBX_IMAGE_MAX + 16)

/* Limits by the word that the configuration has for them. */
static const struct {
	unsigned int	 bit;
	const char	*name;
	const char	*info;		/* the key in /info */
} policy_limits[] = {
	{ UNENFORCED_MEMORY, "memory", "MemoryLimit" },
	{ UNENFORCED_SWAP, "swap", "SwapLimit" },
	{ UNENFORCED_CPUS, "cpus", "CpuCfsQuota" },
	{ UNENFORCED_PIDS, "pids", "PidsLimit" },
};
#define POLICY_NLIMITS	(sizeof(policy_limits) / sizeof(policy_limits[0]))

/* The Engine takes a name with its default registry for one without. */
static const char *
policy_strip(const char *image)
{
	static const char *const prefixes[] = {
		"docker.io/library/", "index.docker.io/library/",
		"docker.io/", "index.docker.io/", "library/"
	};
	size_t	 i, len;

	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		len = strlen(prefixes[i]);
		if (strncmp(image, prefixes[i], len) == 0)
			return (image + len);
	}
	return (image);
}

/* One spelling for the names that it takes for the same. */
static void
policy_ref(char *dst, size_t size, const char *image)
{
	const char	*slash;

	image = policy_strip(image);
	slash = strrchr(image, '/');
	snprintf(dst, size, "%s%s", image,
	    strchr(image, '@') != NULL ||
	    strchr(slash == NULL ? image : slash, ':') != NULL ?
	    "" : ":latest");
}

/* A pattern without a tag means the default one, as a name without does. */
static int
policy_match(const char *pattern, const char *ref)
{
	char	 bare[POLICY_REF_MAX];
	size_t	 len;

	pattern = policy_strip(pattern);
	if (fnmatch(pattern, ref, 0) == 0)
		return (1);
	len = strlen(ref);
	if (len <= 7 || strcmp(ref + len - 7, ":latest") != 0)
		return (0);
	snprintf(bare, sizeof(bare), "%.*s", (int)(len - 7), ref);
	return (fnmatch(pattern, bare, 0) == 0);
}

int
policy_image_allowed(const struct msg_conf *conf,
    const struct msg_conf_rule *rules, size_t nrules, const char *image)
{
	char	 ref[POLICY_REF_MAX], def[POLICY_REF_MAX];
	size_t	 i;
	int	 allow = 0;

	policy_ref(ref, sizeof(ref), image);
	if (nrules == 0) {
		policy_ref(def, sizeof(def), conf->image);
		return (strcmp(ref, def) == 0);
	}
	for (i = 0; i < nrules; i++)
		if (policy_match(rules[i].pattern, ref))
			allow = rules[i].allow != 0;
	return (allow);
}

int
policy_image_is(const json_t *image, const char *name)
{
	char		 want[POLICY_REF_MAX], ref[POLICY_REF_MAX];
	const json_t	*list, *v;
	const char	*s;
	size_t		 i;

	policy_ref(want, sizeof(want), name);
	list = json_object_get(image, strchr(name, '@') != NULL ?
	    "RepoDigests" : "RepoTags");
	json_array_foreach(list, i, v) {
		if ((s = json_string_value(v)) == NULL ||
		    strlen(s) > SBX_IMAGE_MAX)
			continue;
		policy_ref(ref, sizeof(ref), s);
		if (strcmp(want, ref) == 0)
			return (1);
	}
	return (0);
}

static int __attribute__((__format__(printf, 4, 5)))
policy_fail(struct policy_error *e, enum code code, const char *field,
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

/* Grammars: a store that sends what the frontend refuses is not believed. */
static int
policy_refuse_text(const struct msg_box_create *req, struct policy_error *e)
{
	const unsigned char	*p;
	const char		*k;
	size_t			 i;

	for (p = (const unsigned char *)req->id; *p != '\0'; p++)
		if (!isalnum(*p) && (p == (const unsigned char *)req->id ||
		    strchr("_-", *p) == NULL))
			break;
	if (*p != '\0' || req->id[0] == '\0')
		return (policy_fail(e, CODE_INVALID_ARGUMENT, "id",
		    "invalid id"));
	if (strlen(req->nonce) != sizeof(req->nonce) - 1 ||
	    strspn(req->nonce, "0123456789abcdef") != strlen(req->nonce))
		return (policy_fail(e, CODE_INTERNAL, "",
		    "invalid operation"));
	for (i = 0; i < req->env.n; i++) {
		k = req->env.v[i].k;
		if (k[0] == '\0' || strchr(k, '=') != NULL ||
		    strncmp(k, "SANDBOXD_", 9) == 0)
			return (policy_fail(e, CODE_INVALID_ARGUMENT, "env",
			    "invalid name of a variable: %.64s", k));
	}
	return (0);
}

static int
policy_refuse_user(const struct policy *p, const struct msg_box_create *req,
    struct policy_error *e)
{
	if (req->uid == 0 && req->gid == 0) {
		if (p->conf.allow_root)
			return (0);
		return (policy_fail(e, CODE_POLICY_DENIED, "user",
		    "user root is not allowed"));
	}
	if (req->uid < p->conf.uid_low || req->uid > p->conf.uid_high ||
	    req->gid < p->conf.uid_low || req->gid > p->conf.uid_high)
		return (policy_fail(e, CODE_POLICY_DENIED, "user",
		    "user %u:%u is not in the range %u to %u", req->uid,
		    req->gid, p->conf.uid_low, p->conf.uid_high));
	return (0);
}

static int
policy_refuse_limit(const char *field, uint64_t v, uint64_t min, uint64_t max,
    int missing, struct policy_error *e)
{
	/* One that the Engine cannot enforce reads back as nothing. */
	if (v < min && !missing)
		return (policy_fail(e, CODE_INVALID_ARGUMENT, field,
		    "%s too small: %llu is below %llu", field,
		    (unsigned long long)v, (unsigned long long)min));
	if (v > max)
		return (policy_fail(e, CODE_POLICY_DENIED, field,
		    "%s too large: %llu is above %llu", field,
		    (unsigned long long)v, (unsigned long long)max));
	return (0);
}

/* What a place inside may be; what lies there is the parent's word. */
static int
policy_refuse_mounts(const struct policy *p, const struct msg_box_create *req,
    struct policy_error *e)
{
	const struct strv	*lists[] = { &req->mounts, &req->mounts_rw };
	const char		*seen[2 * SBX_MOUNTS_MAX], *s;
	size_t			 i, j, k, n = 0;

	if (req->mounts.n + req->mounts_rw.n == 0)
		return (0);
	if (p->conf.rootless || req->uid == 0 || req->gid == 0)
		return (policy_fail(e, CODE_UNSUPPORTED, "mounts",
		    "mounts: not for root, nor with a rootless Engine"));
	if (req->mounts.n + req->mounts_rw.n > SBX_MOUNTS_MAX)
		return (policy_fail(e, CODE_LIMIT_EXCEEDED, "mounts",
		    "mounts: too many"));
	for (i = 0; i < 2; i++)
		for (j = 0; j < lists[i]->n; j++) {
			s = lists[i]->v[j];
			for (k = 0; k < n && !spec_paths_meet(s, seen[k]); k++)
				;
			if (k < n || !spec_valid_target(s))
				return (policy_fail(e, CODE_INVALID_ARGUMENT,
				    "mounts", "mounts: invalid place: %.200s",
				    s));
			seen[n++] = s;
		}
	return (0);
}

int
policy_refuse(const struct policy *p, const struct msg_box_create *req,
    struct policy_error *e)
{
	unsigned int	 bad;
	size_t		 i;

	memset(e, 0, sizeof(*e));
	if (policy_refuse_text(req, e) == -1 ||
	    policy_refuse_user(p, req, e) == -1 ||
	    policy_refuse_mounts(p, req, e) == -1)
		return (-1);
	if (req->n == 0)
		return (policy_fail(e, CODE_INTERNAL, "", "no number"));
	if (policy_refuse_limit("memory", req->memory, SBX_MEMORY_MIN,
	    p->conf.max_memory, p->missing & UNENFORCED_MEMORY, e) == -1 ||
	    policy_refuse_limit("cpus", req->mcpus, SBX_MCPUS_MIN,
	    p->conf.max_mcpus, p->missing & UNENFORCED_CPUS, e) == -1 ||
	    policy_refuse_limit("pids", req->pids, SBX_PIDS_MIN,
	    p->conf.max_pids, p->missing & UNENFORCED_PIDS, e) == -1)
		return (-1);
	bad = p->missing & ~p->conf.unenforced;
	for (i = 0; i < POLICY_NLIMITS; i++)
		if (bad & policy_limits[i].bit)
			return (policy_fail(e, CODE_POLICY_DENIED,
			    policy_limits[i].name,
			    "limit not enforceable: %s",
			    policy_limits[i].name));
	return (0);
}

/* It is memory of the sandbox, and there is none on the disk beside it. */
static int
policy_refuse_tmpfs(const struct msg_box_create *req, struct policy_error *e)
{
	if (req->disk != 0 || !req->readonly)
		return (policy_fail(e, CODE_POLICY_DENIED, "tmpfs",
		    "tmpfs: what is in memory is on no disk beside"));
	return (policy_refuse_limit("tmpfs", req->tmpfs, SBX_TMPFS_MIN,
	    req->memory, 0, e));
}

/* The bound is the workspace's: nothing else may be written to. */
int
policy_refuse_disk(const struct policy *p, const struct msg_box_create *req,
    struct policy_error *e)
{
	uint64_t	 max = p->conf.max_disk;

	memset(e, 0, sizeof(*e));
	if (req->disk != 0 && !req->readonly)
		return (policy_fail(e, CODE_POLICY_DENIED, "disk",
		    "disk: what is written to a root file system has no "
		    "bound"));
	if (req->tmpfs != 0)
		return (policy_refuse_tmpfs(req, e));
	if (max != 0 && (req->disk == 0 || req->disk > max))
		return (policy_fail(e, CODE_POLICY_DENIED, "disk",
		    "disk: %llu: the limit is %llu",
		    (unsigned long long)req->disk, (unsigned long long)max));
	return (0);
}

int
policy_refuse_volumes(const struct msg_box_create *req, const json_t *image,
    struct policy_error *e)
{
	const json_t	*v;

	memset(e, 0, sizeof(*e));
	v = json_object_get(json_object_get(image, "Config"), "Volumes");
	if ((req->disk == 0 && req->tmpfs == 0) || json_object_size(v) == 0)
		return (0);
	if (req->tmpfs != 0)
		return (policy_fail(e, CODE_POLICY_DENIED, "tmpfs",
		    "tmpfs: the image has volumes, which are on the disk"));
	return (policy_fail(e, CODE_POLICY_DENIED, "disk",
	    "disk: the image has volumes, which no bound is kept of"));
}

int
policy_refuse_image(const struct policy *p, const char *image,
    struct policy_error *e)
{
	memset(e, 0, sizeof(*e));
	if (!engine_image_ok(image))
		return (policy_fail(e, CODE_INVALID_ARGUMENT, "image",
		    "invalid image name"));
	if (!policy_image_allowed(&p->conf, p->rules, p->nrules, image))
		return (policy_fail(e, CODE_POLICY_DENIED, "image",
		    "image not allowed: %.200s", image));
	return (0);
}

/*
 * A rootless Engine gives sandboxes other numbers on the host, and only where
 * its user is known are their workspaces and sockets within its reach.
 */
static int
policy_rootless(const struct policy *p, const json_t *info, char *why,
    size_t size)
{
	const json_t	*v;
	const char	*s;
	size_t		 i;
	int		 rootless = 0, userns = 0;

	json_array_foreach(json_object_get(info, "SecurityOptions"), i, v) {
		if ((s = json_string_value(v)) == NULL)
			continue;
		rootless |= strcmp(s, "name=rootless") == 0;
		userns |= strcmp(s, "name=userns") == 0;
	}
	if (rootless && !p->conf.rootless)
		snprintf(why, size, "it is rootless: name its user in the "
		    "configuration, engine ... user");
	else if (!rootless && p->conf.rootless)
		snprintf(why, size, "it is not rootless, as the "
		    "configuration has it, engine ... user");
	else if (userns && !rootless)
		snprintf(why, size, "it remaps users, which this version "
		    "does not support: start it without userns-remap, or "
		    "rootless");
	else
		return (0);
	return (-1);
}

/*
 * Inspect shows the limits that the Engine stored, not those that hold: a
 * rootless Engine without cgroups takes and shows them all.
 */
int
policy_engine(struct policy *p, const char *arch, const json_t *info,
    char *why, size_t size)
{
	const char	*s;
	json_int_t	 n;
	size_t		 i;

	p->arch = seccomp_arch(arch);
	if (p->arch == NULL) {
		snprintf(why, size, "no seccomp profile for %.32s", arch);
		return (-1);
	}
	s = json_string_value(json_object_get(info, "OSType"));
	if (s == NULL || strcmp(s, "linux") != 0) {
		snprintf(why, size, "the Engine does not run Linux containers");
		return (-1);
	}
	if (policy_rootless(p, info, why, size) == -1)
		return (-1);
	s = json_string_value(json_object_get(info, "DefaultRuntime"));
	if (s == NULL || strlen(s) >= sizeof(p->runtime)) {
		snprintf(why, size, "the Engine names no default runtime");
		return (-1);
	}
	snprintf(p->runtime, sizeof(p->runtime), "%s", s);
	p->live_restore = json_is_true(json_object_get(info,
	    "LiveRestoreEnabled"));
	n = json_integer_value(json_object_get(info, "NCPU"));
	p->ncpu = n > 0 && n <= SBX_MCPUS_MAX / 1000 ? n : 0;
	p->missing = 0;
	s = json_string_value(json_object_get(info, "CgroupDriver"));
	for (i = 0; i < POLICY_NLIMITS; i++)
		if (s == NULL || strcmp(s, "none") == 0 ||
		    !json_is_true(json_object_get(info, policy_limits[i].info)))
			p->missing |= policy_limits[i].bit;
	return (0);
}

void
policy_clear(struct policy *p)
{
	msg_clear(&p->conf, msg_def(MSG_CONF_BEGIN));
	free(p->rules);
	memset(p, 0, sizeof(*p));
}
