/*
 * The body of create: one pure function of typed fields.  No string of a
 * client becomes a key or a path of the host; what is left out is left out
 * because the Engine's default is the one we want and policy_check() compares
 * it all the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gproto.h"
#include "policy.h"

#define POLICY_NANO_PER_MCPU	1000000
#define POLICY_SHM		(64 << 20)

void
policy_name(const struct policy *p, uint64_t n, char *dst, size_t size)
{
	snprintf(dst, size, "sbx-%.8s-%" PRIu64, p->conf.instance, n);
}

uint64_t
policy_number(const struct policy *p, const char *name)
{
	char		 again[POLICY_NAME_MAX];
	const char	*s;
	uint64_t	 n;

	if (*name == '/')	/* inspect and list write it so */
		name++;
	if ((s = strrchr(name, '-')) == NULL)
		return (0);
	n = strtoull(s + 1, NULL, 10);
	policy_name(p, n, again, sizeof(again));
	return (strcmp(again, name) == 0 ? n : 0);
}

static json_t *
policy_build_labels(const struct policy *p, const struct msg_box_create *req)
{
	char	 owner[16];

	snprintf(owner, sizeof(owner), "%u", req->owner);
	return (json_pack("{s:s,s:s,s:s,s:s}",
	    "sandboxd.instance", p->conf.instance, "sandboxd.id", req->id,
	    "sandboxd.owner", owner, "sandboxd.op", req->nonce));
}

static json_t *
policy_build_env(const struct msg_box_create *req)
{
	json_t	*env, *v;
	size_t	 i;

	env = json_array();
	for (i = 0; i < req->env.n; i++) {
		v = json_sprintf("%s=%s", req->env.v[i].k, req->env.v[i].v);
		if (v == NULL || json_array_append_new(env, v) == -1) {
			/* Not text in UTF-8, which JSON cannot carry. */
			json_decref(env);
			return (NULL);
		}
	}
#ifdef FAULTS
	{
		const char *point = getenv("SANDBOXD_GUEST_FAULT");

		if (point != NULL)
			json_array_append_new(env,
			    json_sprintf("SANDBOXD_FAULT=%s", point));
	}
#endif
	return (env);
}

static json_t *
policy_build_mount(const char *src, const char *dst, int readonly)
{
	json_t	*m;

	m = json_pack("{s:s,s:s,s:s,s:{s:s,s:b}}", "Type", "bind",
	    "Source", src, "Target", dst, "BindOptions",
	    "Propagation", "rprivate", "NonRecursive", 1);
	/* As inspect has it: what is false is not there. */
	if (m != NULL && readonly)
		json_object_set_new(m, "ReadOnly", json_true());
	return (m);
}

/* Of its client's directories that one; the parent mounts it there. */
void
policy_mount_path(const struct policy *p, uint64_t n, size_t i, char *dst,
    size_t size)
{
	snprintf(dst, size, "%s/%" PRIu64 "/%zu", p->conf.mounts, n, i);
}

static const char *
policy_mount_place(const struct msg_box_create *req, size_t i)
{
	return (i < req->mounts.n ? req->mounts.v[i] :
	    req->mounts_rw.v[i - req->mounts.n]);
}

static json_t *
policy_build_mounts(const struct policy *p, const struct policy_box *box)
{
	char	 path[2 * SBX_DIR_MAX];
	json_t	*m;
	size_t	 i, n = box->req->mounts.n + box->req->mounts_rw.n;
	int	 bad = 0;

	m = json_array();
	snprintf(path, sizeof(path), "%s/%" PRIu64, p->conf.mnt, box->req->n);
	if (box->req->tmpfs == 0)
		bad |= json_array_append_new(m, policy_build_mount(path,
		    GUEST_WORKDIR, 0));
	bad |= json_array_append_new(m, policy_build_mount(box->guest,
	    GUEST_PATH, 1));
	snprintf(path, sizeof(path), "%s/%u/%" PRIu64, p->conf.sock,
	    box->req->owner, box->req->n);
	bad |= json_array_append_new(m, policy_build_mount(path,
	    GUEST_SOCKDIR, 1));
	for (i = 0; i < n; i++) {
		policy_mount_path(p, box->req->n, i, path, sizeof(path));
		bad |= json_array_append_new(m, policy_build_mount(path,
		    policy_mount_place(box->req, i),
		    i < box->req->mounts.n));
	}
	if (bad) {
		json_decref(m);
		return (NULL);
	}
	return (m);
}

/*
 * The owner, since the mode alone does not hold where the image's /tmp is 0755;
 * exec, since builds run what they make there.
 */
static json_t *
policy_build_options(const struct policy_box *box, uint64_t size,
    const char *mode)
{
	return (json_sprintf("size=%" PRIu64 ",uid=%u,gid=%u,%s"
	    "exec,nosuid,nodev", size, box->req->uid, box->req->gid, mode));
}

/*
 * The workspace too, where it is in memory: as the directory would be, if the
 * runtime does not give it the mode of the image's.
 */
static json_t *
policy_build_tmpfs(const struct policy_box *box)
{
	json_t	*t;

	t = json_pack("{s:o}", "/tmp",
	    policy_build_options(box, box->tmp, ""));
	if (t == NULL || box->req->tmpfs == 0 ||
	    json_object_set_new(t, GUEST_WORKDIR, policy_build_options(box,
	    box->req->tmpfs, "mode=700,")) == 0)
		return (t);
	json_decref(t);
	return (NULL);
}

/*
 * Named, and not left to the Engine, so that the comparison knows them: the
 * files of the host's that a container has no business with.
 */
static json_t *
policy_build_paths(int masked)
{
	if (masked)
		return (json_pack("[s,s,s,s,s,s,s,s,s,s,s,s]",
		    "/proc/asound", "/proc/acpi", "/proc/interrupts",
		    "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		    "/proc/timer_list", "/proc/timer_stats",
		    "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
		    "/sys/devices/virtual/powercap"));
	return (json_pack("[s,s,s,s,s]", "/proc/bus", "/proc/fs", "/proc/irq",
	    "/proc/sys", "/proc/sysrq-trigger"));
}

static json_t *
policy_build_security(const struct policy *p)
{
	json_t	*s;
	char	*profile;

	if ((profile = seccomp_profile(p->arch)) == NULL)
		return (NULL);
	s = json_pack("[s,o]", "no-new-privileges",
	    json_sprintf("seccomp=%s", profile));
	free(profile);
	return (s);
}

json_t *
policy_build_limits(const struct policy *p, const struct msg_box_create *req)
{
	/* Processors the Engine refuses where it cannot enforce them. */
	return (json_pack("{s:I,s:I,s:I,s:I}",
	    "Memory", (json_int_t)req->memory,
	    "MemorySwap", (json_int_t)req->memory,
	    "NanoCpus", p->missing & UNENFORCED_CPUS ? (json_int_t)0 :
	    (json_int_t)req->mcpus * POLICY_NANO_PER_MCPU,
	    "PidsLimit", (json_int_t)req->pids));
}

static json_t *
policy_build_host(const struct policy *p, const struct policy_box *box)
{
	const struct msg_box_create	*req = box->req;
	json_t				*h;

	if ((h = policy_build_limits(p, req)) == NULL)
		return (NULL);
	if (json_object_update_new(h, json_pack(
	    "{s:[s],s:s,s:s,s:s,s:i,s:b,s:b,s:{s:s,s:i},s:{s:s,s:{}}}",
	    "CapDrop", "ALL", "NetworkMode", "none", "IpcMode", "private",
	    "CgroupnsMode", "private", "ShmSize", POLICY_SHM,
	    "Init", 0, "ReadonlyRootfs", req->readonly != 0,
	    "RestartPolicy", "Name", "no", "MaximumRetryCount", 0,
	    "LogConfig", "Type", "none", "Config")) == -1 ||
	    json_object_set_new(h, "Mounts",
	    policy_build_mounts(p, box)) == -1 ||
	    json_object_set_new(h, "Tmpfs", policy_build_tmpfs(box)) == -1 ||
	    json_object_set_new(h, "MaskedPaths",
	    policy_build_paths(1)) == -1 ||
	    json_object_set_new(h, "ReadonlyPaths",
	    policy_build_paths(0)) == -1 ||
	    json_object_set_new(h, "SecurityOpt",
	    policy_build_security(p)) == -1) {
		json_decref(h);
		return (NULL);
	}
	return (h);
}

/*
 * The directory is always the workspace, since the Engine makes one that is
 * missing and the runtime fails on one that a mount hides; the guest enters
 * the one that was asked for with each command.
 */
json_t *
policy_build(const struct policy *p, const struct policy_box *box)
{
	const struct msg_box_create	*req = box->req;
	char				 host[SBX_HOSTNAME_MAX + 1];
	json_t				*b;

	strlcpy(host, req->id, sizeof(host));	/* cut to fit */
	b = json_pack("{s:s,s:s,s:o,s:[s],s:s,s:{s:[s]}}",
	    "Image", box->image, "Hostname", host,
	    "User", json_sprintf("%u:%u", req->uid, req->gid),
	    "Entrypoint", GUEST_PATH,
	    "WorkingDir", GUEST_WORKDIR, "Healthcheck", "Test", "NONE");
	if (b == NULL)
		return (NULL);
	if (json_object_set_new(b, "Env", policy_build_env(req)) == -1 ||
	    json_object_set_new(b, "Labels",
	    policy_build_labels(p, req)) == -1 ||
	    json_object_set_new(b, "HostConfig",
	    policy_build_host(p, box)) == -1) {
		json_decref(b);
		return (NULL);
	}
	return (b);
}
