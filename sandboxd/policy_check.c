/*
 * Is the container what was asked for?
 *
 * The Engine ignores keys that it does not know, folds their case, merges
 * doubles and lets the last one win, and it fills in what an image says.  So
 * the inspected container is compared with the body that asked for it: what
 * the body has must be there and equal, what it does not have must be nothing
 * (false, zero, empty), also under names that are not known here.  What may
 * be there besides is listed below, with its own rule.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "gproto.h"
#include "policy.h"

#define POLICY_GUEST_DIGITS	64	/* the copy's name, a hash */

struct check {
	const struct policy	*policy;
	const json_t		*image;	/* NULL: gone */
	const json_t		*want;	/* policy_build()'s */
	char			*why;
	size_t			 size;
	int			 bounded; /* what it writes to has a size */
};

struct rule {
	const char	*key;
	int		(*ok)(const struct check *, const json_t *,
			    const json_t *);	/* what is there, and wanted */
};

static int __attribute__((__format__(printf, 2, 3)))
check_fail(const struct check *c, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(c->why, c->size, fmt, ap);
	va_end(ap);
	return (-1);
}

/* Nothing: what the Engine shows for a thing that nobody set. */
static int
check_nothing(const json_t *v)
{
	const json_t	*e;
	size_t		 i;

	switch (json_typeof(v)) {
	case JSON_NULL:
	case JSON_FALSE:
		return (1);
	case JSON_STRING:
		return (json_string_length(v) == 0);
	case JSON_INTEGER:
		return (json_integer_value(v) == 0);
	case JSON_REAL:
		return (json_real_value(v) == 0.0);
	case JSON_OBJECT:
		return (json_object_size(v) == 0);
	case JSON_ARRAY:
		json_array_foreach(v, i, e)
			if (!json_is_integer(e) || json_integer_value(e) != 0)
				return (0);
		return (1);
	default:
		return (0);
	}
}

static int
check_any(const struct check *c, const json_t *have, const json_t *want)
{
	return (1);
}

static const json_t *
check_image_config(const struct check *c, const char *key)
{
	return (json_object_get(json_object_get(c->image, "Config"), key));
}

static int
check_has_string(const json_t *list, const char *s)
{
	const json_t	*v;
	const char	*t;
	size_t		 i;

	json_array_foreach(list, i, v)
		if ((t = json_string_value(v)) != NULL && strcmp(s, t) == 0)
			return (1);
	return (0);
}

/*
 * All that we asked for, and nothing but that, what the image brings, and the
 * path that the Engine adds.
 */
static int
check_env(const struct check *c, const json_t *have, const json_t *want)
{
	const json_t	*img, *v;
	const char	*s;
	size_t		 i;

	if (!json_is_array(have) && !json_is_null(have))
		return (0);
	json_array_foreach(want, i, v)
		if (!check_has_string(have, json_string_value(v)))
			return (0);
	if (c->image == NULL)
		return (1);
	img = check_image_config(c, "Env");
	json_array_foreach(have, i, v) {
		if ((s = json_string_value(v)) == NULL)
			return (0);
		if (!check_has_string(want, s) && !check_has_string(img, s) &&
		    strncmp(s, "PATH=", 5) != 0)
			return (0);
	}
	return (1);
}

/* Labels of the image may be there; ours must be. */
static int
check_labels(const struct check *c, const json_t *have, const json_t *want)
{
	const char	*key;
	json_t		*v;

	json_object_foreach((json_t *)want, key, v)
		if (!json_equal(v, json_object_get(have, key)))
			return (0);
	return (1);
}

static int
check_runtime(const struct check *c, const json_t *have, const json_t *want)
{
	const char	*s;

	s = json_string_value(have);
	return (s != NULL && strcmp(s, c->policy->runtime) == 0);
}

/*
 * The Engine takes away a limit that it cannot enforce, or shows it all the
 * same.  That it may be so is for policy_refuse() to say.
 */
static int
check_limit(const struct check *c, const json_t *have, const json_t *want,
    unsigned int bits)
{
	if (want != NULL && json_equal(have, want))
		return (1);
	if ((c->policy->missing & bits) == 0)
		return (0);
	return (check_nothing(have) || json_integer_value(have) == -1);
}

static int
check_memory(const struct check *c, const json_t *have, const json_t *want)
{
	return (check_limit(c, have, want, UNENFORCED_MEMORY));
}

static int
check_swap(const struct check *c, const json_t *have, const json_t *want)
{
	return (check_limit(c, have, want,
	    UNENFORCED_MEMORY | UNENFORCED_SWAP));
}

static int
check_pids(const struct check *c, const json_t *have, const json_t *want)
{
	return (check_limit(c, have, want, UNENFORCED_PIDS));
}

/* Anonymous volumes of the image: its word, which it may say. */
static int
check_volumes(const struct check *c, const json_t *have, const json_t *want)
{
	const json_t	*image;

	if (c->image == NULL)
		return (1);
	/* Newer Engines leave out what an image does not have. */
	image = check_image_config(c, "Volumes");
	if (image == NULL || check_nothing(image))
		return (check_nothing(have));
	return (json_equal(have, image));
}

static const struct rule config_rules[] = {
	{ "Env", check_env },
	{ "ExposedPorts", check_any },		/* nothing is published */
	{ "HostConfig", check_any },		/* compared by itself */
	{ "Labels", check_labels },
	{ "Shell", check_any },			/* of the image's builder */
	{ "StopSignal", check_any },		/* never used */
	{ "Volumes", check_volumes },
	{ NULL, NULL }
};

static const struct rule host_rules[] = {
	{ "Memory", check_memory },
	{ "MemorySwap", check_swap },
	{ "PidsLimit", check_pids },
	{ "Runtime", check_runtime },
	{ NULL, NULL }
};

static int
check_object(const struct check *c, const char *name, const json_t *have,
    const json_t *want, const struct rule *rules)
{
	const struct rule	*r;
	const json_t		*w;
	const char		*key;
	json_t			*v;

	if (!json_is_object(have))
		return (check_fail(c, "no %s", name));
	json_object_foreach((json_t *)have, key, v) {
		w = json_object_get(want, key);
		for (r = rules; r->key != NULL; r++)
			if (strcmp(r->key, key) == 0)
				break;
		if (r->key != NULL ? r->ok(c, v, w) :
		    w != NULL ? json_equal(v, w) : check_nothing(v))
			continue;
		return (check_fail(c, "%s.%.64s differs", name, key));
	}
	json_object_foreach((json_t *)want, key, v) {
		if (json_object_get(have, key) != NULL || check_nothing(v) ||
		    strcmp(key, "HostConfig") == 0)
			continue;
		return (check_fail(c, "%s.%.64s is missing", name, key));
	}
	return (0);
}

/* A mount as it is, against the one in the body that has its target. */
static int
check_mount(const struct check *c, const json_t *m, unsigned int *seen)
{
	const json_t	*list, *w, *src;
	const char	*dst, *type, *prop;
	size_t		 i;
	int		 rw;

	type = json_string_value(json_object_get(m, "Type"));
	dst = json_string_value(json_object_get(m, "Destination"));
	if (type == NULL || dst == NULL)
		return (-1);
	list = json_object_get(json_object_get(c->want, "HostConfig"),
	    "Mounts");
	json_array_foreach(list, i, w) {
		if (strcmp(dst, json_string_value(json_object_get(w,
		    "Target"))) != 0)
			continue;
		src = json_object_get(m, "Source");
		prop = json_string_value(json_object_get(m, "Propagation"));
		rw = !json_is_true(json_object_get(w, "ReadOnly"));
		if (strcmp(type, "bind") != 0 || (*seen & 1U << i) != 0 ||
		    !json_equal(src, json_object_get(w, "Source")) ||
		    prop == NULL || strcmp(prop, "rprivate") != 0 ||
		    json_is_true(json_object_get(m, "RW")) != rw)
			return (-1);
		*seen |= 1U << i;
		return (0);
	}
	/* The image's own volumes: new ones, which go with the container. */
	if (strcmp(type, "volume") != 0 || c->bounded)
		return (-1);
	if (c->image == NULL)
		return (0);
	return (json_object_get(check_image_config(c, "Volumes"), dst) != NULL ?
	    0 : -1);
}

static int
check_mounts(const struct check *c, const json_t *have)
{
	const json_t	*m;
	size_t		 i, n;
	unsigned int	 seen = 0;

	n = json_array_size(json_object_get(json_object_get(c->want,
	    "HostConfig"), "Mounts"));
	json_array_foreach(have, i, m)
		if (check_mount(c, m, &seen) == -1)
			return (check_fail(c, "Mounts[%zu] differs", i));
	if (seen != (1U << n) - 1)
		return (check_fail(c, "Mounts is incomplete"));
	return (0);
}

static int
check_string(const struct check *c, const json_t *o, const char *key,
    const char *want)
{
	const char	*s;

	s = json_string_value(json_object_get(o, key));
	if (s == NULL || strcmp(s, want) != 0)
		return (check_fail(c, "%s differs", key));
	return (0);
}

static int
check_top(const struct check *c, const struct policy_box *box,
    const json_t *have)
{
	const json_t	*nets;
	const char	*key;
	char		 name[POLICY_NAME_MAX + 1];
	json_t		*v;

	name[0] = '/';
	policy_name(c->policy, box->req->n, name + 1, sizeof(name) - 1);
	/* Of one that was made before somebody may have changed it. */
	if ((c->image != NULL &&
	    check_string(c, have, "Name", name) == -1) ||
	    check_string(c, have, "Image", box->image) == -1 ||
	    check_string(c, have, "Path", GUEST_PATH) == -1)
		return (-1);
	if (!check_nothing(json_object_get(have, "Args") == NULL ? json_null() :
	    json_object_get(have, "Args")))
		return (check_fail(c, "Args differs"));
	nets = json_object_get(json_object_get(have, "NetworkSettings"),
	    "Networks");
	json_object_foreach((json_t *)nets, key, v)
		if (strcmp(key, "none") != 0)
			return (check_fail(c, "NetworkSettings differs"));
	return (0);
}

int
policy_check(const struct policy *p, const struct policy_box *box,
    const json_t *image, const json_t *have, char *why, size_t size)
{
	struct check	 c = { p, image, NULL, why, size,
			    box->req->disk != 0 || box->req->tmpfs != 0 };
	json_t		*want;
	int		 ret = -1;

	if ((want = policy_build(p, box)) == NULL)
		return (check_fail(&c, "cannot be built"));
	c.want = want;
	if (check_top(&c, box, have) == 0 &&
	    check_object(&c, "Config", json_object_get(have, "Config"), want,
	    config_rules) == 0 &&
	    check_object(&c, "HostConfig", json_object_get(have, "HostConfig"),
	    json_object_get(want, "HostConfig"), host_rules) == 0 &&
	    check_mounts(&c, json_object_get(have, "Mounts")) == 0)
		ret = 0;
	json_decref(want);
	return (ret);
}

/* A number out of a text of ours; what else is in it the comparison tells. */
static uint64_t
derive_number(const char *s, const char *before)
{
	const char	*at;

	if (s == NULL || (at = strstr(s, before)) == NULL)
		return (0);
	return (strtoull(at + strlen(before), NULL, 10));
}

/* The bytes of what is in memory there; 0 if it is not. */
static uint64_t
derive_tmpfs(const json_t *host, const char *path)
{
	return (derive_number(json_string_value(json_object_get(
	    json_object_get(host, "Tmpfs"), path)), "size="));
}

/* Are these keys of the host's part as they were asked for? */
static int
facts_same(const json_t *have, const json_t *want, const char *const *keys)
{
	const json_t	*h, *w;

	for (; *keys != NULL; keys++) {
		h = json_object_get(have, *keys);
		w = json_object_get(want, *keys);
		if (h == NULL ? w != NULL : w != NULL ? !json_equal(h, w) :
		    !check_nothing(h))
			return (0);
	}
	return (1);
}

static void
facts_text(char *dst, size_t size, const json_t *v)
{
	const char	*s = json_string_value(v);

	*dst = '\0';
	if (s != NULL)
		engine_text(dst, size, s);
}

static uint64_t
facts_limit(const json_t *host, const char *key)
{
	json_int_t	 v = json_integer_value(json_object_get(host, key));

	return (v > 0 ? v : 0);
}

static void
facts_mounts(struct msg_facts *f, const struct check *c, const json_t *have)
{
	static const char *const tmpfs[] = { "Tmpfs", NULL };
	const json_t	*m, *list = json_object_get(have, "Mounts");
	const char	*s;
	size_t		 i;

	json_array_foreach(list, i, m) {
		f->mounts++;
		s = json_string_value(json_object_get(m, "Type"));
		if (s != NULL && strcmp(s, "volume") == 0)
			f->volumes++;
	}
	if (check_mounts(c, list) == 0 && facts_same(json_object_get(have,
	    "HostConfig"), json_object_get(c->want, "HostConfig"), tmpfs))
		f->right |= BOX_MOUNTS;
}

static void
facts_right(struct msg_facts *f, const struct check *c, const json_t *have)
{
	static const struct {
		uint32_t	 bit;
		const char	*keys[5];
	} parts[] = {
		{ BOX_CAPS, { "CapDrop", "CapAdd", "Privileged", "Devices" } },
		{ BOX_NETWORK, { "NetworkMode", "PortBindings", "Links",
		    "ExtraHosts" } },
		{ BOX_NAMESPACES, { "PidMode", "IpcMode", "UTSMode",
		    "CgroupnsMode" } },
		{ BOX_MASKED, { "MaskedPaths", "ReadonlyPaths" } },
	};
	const json_t	*host = json_object_get(have, "HostConfig");
	const json_t	*want = json_object_get(c->want, "HostConfig");
	const json_t	*v, *opts = json_object_get(want, "SecurityOpt");
	const char	*s;
	size_t		 i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (facts_same(host, want, parts[i].keys))
			f->right |= parts[i].bit;
	/* One of each kind, since of two the Engine takes the last. */
	if (json_equal(json_object_get(host, "SecurityOpt"), opts))
		json_array_foreach(opts, i, v) {
			s = json_string_value(v);
			f->right |= strncmp(s, "seccomp=", 8) == 0 ?
			    BOX_SECCOMP : BOX_NONEWPRIVS;
		}
	if (check_runtime(c, json_object_get(host, "Runtime"), NULL))
		f->right |= BOX_RUNTIME;
}

void
policy_facts(const struct policy *p, const struct policy_box *box,
    const json_t *have, struct msg_facts *f)
{
	char		 why[POLICY_WHY_MAX];
	struct check	 c = { p, NULL, NULL, why, sizeof(why), 0 };
	const json_t	*v, *host = json_object_get(have, "HostConfig");
	json_t		*want;

	memset(f, 0, sizeof(*f));
	if ((want = policy_build(p, box)) == NULL)
		return;
	c.want = want;
	facts_right(f, &c, have);
	facts_mounts(f, &c, have);
	json_decref(want);
	facts_text(f->user, sizeof(f->user), json_object_get(
	    json_object_get(have, "Config"), "User"));
	facts_text(f->runtime, sizeof(f->runtime), json_object_get(host,
	    "Runtime"));
	facts_text(f->lsm, sizeof(f->lsm), json_object_get(have,
	    "AppArmorProfile"));
	if (f->lsm[0] == '\0')
		facts_text(f->lsm, sizeof(f->lsm), json_object_get(have,
		    "ProcessLabel"));
	/* An Engine is rootless where the configuration says so, or not used. */
	v = json_object_get(host, "UsernsMode");
	f->userns = p->conf.rootless && (v == NULL || check_nothing(v));
	f->readonly = json_is_true(json_object_get(host, "ReadonlyRootfs"));
	f->masked = json_array_size(json_object_get(host, "MaskedPaths"));
	f->tmp = derive_tmpfs(host, "/tmp");
	f->memory = facts_limit(host, "Memory");
	f->swap = facts_limit(host, "MemorySwap");
	f->ncpus = facts_limit(host, "NanoCpus");
	f->pids = facts_limit(host, "PidsLimit");
}

static const char *
derive_label(const json_t *have, const char *key)
{
	return (json_string_value(json_object_get(json_object_get(
	    json_object_get(have, "Config"), "Labels"), key)));
}

int
policy_ours(const struct policy *p, const json_t *have, uint64_t n)
{
	const char	*s, *name;

	s = derive_label(have, "sandboxd.instance");
	name = json_string_value(json_object_get(have, "Name"));
	return (s != NULL && name != NULL &&
	    strcmp(s, p->conf.instance) == 0 &&
	    (n == 0 || policy_number(p, name) == n));
}

static int
derive_copy(char *dst, size_t size, const char *s)
{
	return (s == NULL || strlcpy(dst, s, size) >= size ? -1 : 0);
}

/* The guest's copy is a file of its directory, named by its hash. */
static int
derive_guest(const struct policy *p, const json_t *host,
    struct policy_box *box)
{
	const json_t	*m;
	const char	*src, *dst, *slash;
	size_t		 i, dir;

	if ((slash = strrchr(p->conf.guest, '/')) == NULL)
		return (-1);
	dir = slash + 1 - p->conf.guest;
	json_array_foreach(json_object_get(host, "Mounts"), i, m) {
		dst = json_string_value(json_object_get(m, "Target"));
		src = json_string_value(json_object_get(m, "Source"));
		if (dst == NULL || src == NULL || strcmp(dst, GUEST_PATH) != 0)
			continue;
		if (strcmp(src, p->conf.guest) != 0 &&
		    (strncmp(src, p->conf.guest, dir) != 0 ||
		    strlen(src + dir) != POLICY_GUEST_DIGITS ||
		    strspn(src + dir, "0123456789abcdef") !=
		    POLICY_GUEST_DIGITS))
			return (-1);
		return ((box->guest = strdup(src)) == NULL ? -1 : 0);
	}
	return (-1);
}

/*
 * Its client's directories, by where the host had them: in that order, those
 * that are only read first.
 */
static int
derive_mounts(const struct policy *p, const json_t *host,
    struct msg_box_create *req)
{
	const json_t	*m, *list = json_object_get(host, "Mounts");
	const char	*src, *dst;
	char		 path[2 * SBX_DIR_MAX];
	struct strv	*to;
	size_t		 i, j;

	for (i = 0; i < SBX_MOUNTS_MAX; i++) {
		policy_mount_path(p, req->n, i, path, sizeof(path));
		json_array_foreach(list, j, m) {
			dst = json_string_value(json_object_get(m, "Target"));
			src = json_string_value(json_object_get(m, "Source"));
			if (dst == NULL || src == NULL ||
			    strcmp(src, path) != 0)
				continue;
			to = json_is_true(json_object_get(m, "ReadOnly")) ?
			    &req->mounts : &req->mounts_rw;
			if (strv_add(to, dst) == -1)
				return (-1);
			break;
		}
		if (j == json_array_size(list))
			break;
	}
	return (0);
}

int
policy_limited(const struct policy *p, const struct msg_box_create *have,
    const struct msg_box_update *want)
{
	if (!(p->missing & UNENFORCED_MEMORY) && have->memory != want->memory)
		return (0);
	if (!(p->missing & UNENFORCED_CPUS) && have->mcpus != want->mcpus)
		return (0);
	return (p->missing & UNENFORCED_PIDS || have->pids == want->pids);
}

int
policy_derive(const struct policy *p, uint64_t n, const json_t *have,
    struct msg_box_create *req, struct policy_box *box)
{
	const json_t	*conf, *host;
	const char	*s;

	memset(req, 0, sizeof(*req));
	memset(box, 0, sizeof(*box));
	box->req = req;
	conf = json_object_get(have, "Config");
	host = json_object_get(have, "HostConfig");
	/* Its name may be another by now; its mounts have the number. */
	req->n = n;
	req->owner = derive_number(derive_label(have, "sandboxd.owner"), "");
	s = json_string_value(json_object_get(conf, "User"));
	req->uid = derive_number(s, "");
	req->gid = derive_number(s, ":");
	req->memory = json_integer_value(json_object_get(host, "Memory"));
	req->mcpus = json_integer_value(json_object_get(host, "NanoCpus")) /
	    1000000;
	req->pids = json_integer_value(json_object_get(host, "PidsLimit"));
	req->readonly = json_is_true(json_object_get(host, "ReadonlyRootfs"));
	req->tmpfs = derive_tmpfs(host, GUEST_WORKDIR);
	box->tmp = derive_tmpfs(host, "/tmp");
	if (derive_copy(req->id, sizeof(req->id),
	    derive_label(have, "sandboxd.id")) == -1 ||
	    derive_copy(req->nonce, sizeof(req->nonce),
	    derive_label(have, "sandboxd.op")) == -1 ||
	    derive_copy(box->image, sizeof(box->image),
	    json_string_value(json_object_get(have, "Image"))) == -1 ||
	    derive_guest(p, host, box) == -1 ||
	    derive_mounts(p, host, req) == -1)
		return (-1);
	return (0);
}
