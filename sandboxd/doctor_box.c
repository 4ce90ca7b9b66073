/*
 * The controls of one sandbox, judged by what the Engine showed of its
 * container when it had started, and by what the guest reads of its limits.
 *
 * A container that shows something else than it was asked for is not started:
 * what is not enforced here is what was asked for so, or what this host cannot
 * do.  The rest says by what that was seen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

#define MIB	(1ULL << 20)

struct control {
	const char	*name;
	enum judgement	(*judge)(const struct control *,
			    const struct doctor_box *,
			    struct proto_control *);
	uint32_t	 bit;		/* BOX_* */
	const char	*proof;		/* what that bit stands for */
	const char	*advice;
};

/* What is either as it was asked for, or not. */
static enum judgement
judge_bit(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	int	 right = (b->facts->right & t->bit) != 0;

	doctor_proof(c, "%s%s", right ? "" : "not so: ", t->proof);
	return (right ? ENFORCED : ABSENT);
}

static enum judgement
judge_user(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	const struct msg_facts	*f = b->facts;

	(void)t;
	doctor_proof(c, "User is %s", f->user[0] == '\0' ? "not set" :
	    f->user);
	if (f->user[0] == '\0')
		return (ABSENT);
	if (strncmp(f->user, "0:", 2) != 0)
		return (ENFORCED);
	return (f->userns ? DEGRADED : ABSENT);
}

static enum judgement
judge_userns(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	(void)t;
	doctor_proof(c, "the Engine is %srootless%s", b->facts->userns ? "" :
	    "not ", b->facts->userns ? ", and UsernsMode is its own" :
	    ", or UsernsMode is host");
	return (b->facts->userns ? ENFORCED : ABSENT);
}

static enum judgement
judge_lsm(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	const char	*s = b->facts->lsm;

	(void)t;
	doctor_proof(c, "%s%s", s[0] == '\0' ? "no AppArmorProfile and no "
	    "ProcessLabel" : "profile ", s);
	return (s[0] == '\0' || strcmp(s, "unconfined") == 0 ? ABSENT :
	    ENFORCED);
}

static enum judgement
judge_root(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	(void)t;
	doctor_proof(c, "ReadonlyRootfs is %s", b->facts->readonly ? "true" :
	    "false: what is written goes with the container");
	return (b->facts->readonly ? ENFORCED : ABSENT);
}

static enum judgement
judge_masked(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	enum judgement	 j = judge_bit(t, b, c);

	if (j == ENFORCED)
		doctor_proof(c, "%s: %u", t->proof, b->facts->masked);
	return (j);
}

static enum judgement
judge_mounts(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	const struct msg_facts	*f = b->facts;
	enum judgement		 j = judge_bit(t, b, c);

	if (j != ENFORCED)
		return (j);
	if (f->volumes != 0) {
		doctor_proof(c, "%s, and %u volume%s of the image's",
		    t->proof, f->volumes, f->volumes == 1 ? "" : "s");
		return (DEGRADED);
	}
	if (b->conf->mounts.n + b->conf->mounts_rw.n != 0)
		doctor_proof(c, "%s; of its client's %zu to be read and %zu "
		    "to be written to", t->proof, b->conf->mounts.n,
		    b->conf->mounts_rw.n);
	return (j);
}

static enum judgement
judge_runtime(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	(void)t;
	doctor_proof(c, "Runtime is %s, the Engine's default%s",
	    b->facts->runtime, b->facts->right & BOX_RUNTIME ? "" :
	    " is another");
	return (b->facts->right & BOX_RUNTIME ? ENFORCED : ABSENT);
}

/*
 * A limit that was asked for, is shown by the container, and read by the
 * guest: a rootless Engine shows what nobody keeps.
 */
static enum judgement
limit(const struct doctor_box *b, struct proto_control *c, const char *key,
    uint64_t asked, uint64_t shown, uint64_t seen, uint64_t step)
{
	/* It is not started for long with a guest that reads another one. */
	if (b->unread) {
		doctor_proof(c, "asked for %llu, %s is %llu, a guest reads "
		    "it with the next start", (unsigned long long)asked, key,
		    (unsigned long long)shown);
		return (shown == asked ? ENFORCED : ABSENT);
	}
	doctor_proof(c, "asked for %llu, %s is %llu, the guest reads %llu%s",
	    (unsigned long long)asked, key, (unsigned long long)shown,
	    (unsigned long long)seen, seen == 0 ? ": none" : "");
	if (shown != asked || seen == 0)
		return (ABSENT);
	return (seen <= (asked + step - 1) / step * step ? ENFORCED :
	    DEGRADED);
}

static enum judgement
judge_memory(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	(void)t;
	return (limit(b, c, "Memory", b->conf->memory, b->facts->memory,
	    b->memory, 1));
}

/* Memory and swap in one number: as much as the memory is none. */
static enum judgement
judge_swap(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	const struct msg_facts	*f = b->facts;

	(void)t;
	doctor_proof(c, "MemorySwap is %llu, Memory %llu",
	    (unsigned long long)f->swap, (unsigned long long)f->memory);
	if (f->swap == 0)
		return (ABSENT);
	return (f->swap == f->memory ? ENFORCED : DEGRADED);
}

static enum judgement
judge_cpus(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	(void)t;
	/* In thousandths of a processor. */
	return (limit(b, c, "NanoCpus / 10^6", b->conf->mcpus,
	    b->facts->ncpus / 1000000, b->mcpus, LIMIT_CPUS_STEP));
}

static enum judgement
judge_pids(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	(void)t;
	return (limit(b, c, "PidsLimit", b->conf->pids, b->facts->pids,
	    b->pids, 1));
}

/*
 * The parent makes a file system of that size and mounts it before there is a
 * container, whose own is read-only then, and which has no volumes; or the
 * Engine does, in memory, with the container.
 */
static enum judgement
judge_disk(const struct control *t, const struct doctor_box *b,
    struct proto_control *c)
{
	const struct msg_facts	*f = b->facts;

	(void)t;
	if (b->conf->tmpfs != 0 && f->right & BOX_MOUNTS && f->readonly &&
	    f->volumes == 0) {
		doctor_proof(c, "the workspace is in memory, of %llu MiB, "
		    "/tmp of %llu MiB, and nothing else can be written to",
		    (unsigned long long)(b->conf->tmpfs / MIB),
		    (unsigned long long)(f->tmp / MIB));
		return (f->tmp != 0 ? ENFORCED : DEGRADED);
	}
	if (b->conf->disk != 0 && f->readonly && f->volumes == 0) {
		doctor_proof(c, "the workspace is a file system of %llu MiB, "
		    "/tmp is bounded to %llu MiB, and nothing else can be "
		    "written to", (unsigned long long)(b->conf->disk / MIB),
		    (unsigned long long)(f->tmp / MIB));
		return (f->tmp != 0 ? ENFORCED : DEGRADED);
	}
	doctor_proof(c, "/tmp is bounded to %llu MiB; no bound of the "
	    "workspace%s", (unsigned long long)(f->tmp / MIB), f->readonly ?
	    "" : ", nor of the root file system");
	return (f->tmp != 0 && f->readonly ? DEGRADED : ABSENT);
}

static const struct control	 controls[] = {
	{ "user", judge_user, 0, NULL,
	  "make it without -u root, or run a rootless Engine" },
	{ "capabilities", judge_bit, BOX_CAPS,
	  "CapDrop is ALL, CapAdd and Devices are empty, Privileged is false",
	  "delete it, and look who has changed the Engine" },
	{ "no-new-privileges", judge_bit, BOX_NONEWPRIVS,
	  "SecurityOpt has no-new-privileges",
	  "delete it, and look who has changed the Engine" },
	{ "seccomp", judge_bit, BOX_SECCOMP,
	  "SecurityOpt has this daemon's profile, byte for byte",
	  "delete it, and look who has changed the Engine" },
	{ "apparmor", judge_lsm, 0, NULL,
	  "enable AppArmor or SELinux in the kernel, and for the Engine" },
	{ "userns", judge_userns, 0, NULL,
	  "run a rootless Engine: the users of sandboxes are the host's" },
	{ "namespaces", judge_bit, BOX_NAMESPACES,
	  "PidMode, UTSMode, IpcMode and CgroupnsMode are its own",
	  "delete it, and look who has changed the Engine" },
	{ "network", judge_bit, BOX_NETWORK,
	  "NetworkMode is none, and no port is bound",
	  "delete it, and look who has changed the Engine" },
	{ "runtime", judge_runtime, 0, NULL,
	  "delete it, and look who has changed the Engine" },
	{ "read-only-root", judge_root, 0, NULL,
	  "make sandboxes with a read-only root file system" },
	{ "masked-paths", judge_masked, BOX_MASKED,
	  "all paths of /proc and /sys that are to be are masked",
	  "delete it, and look who has changed the Engine" },
	{ "mounts", judge_mounts, BOX_MOUNTS,
	  "the workspace, the guest and its socket, both read-only",
	  "use an image without volumes" },
	{ "limit-memory", judge_memory, 0, NULL,
	  "enable the memory controller of control groups" },
	{ "limit-swap", judge_swap, 0, NULL,
	  "boot with swapaccount=1, or turn swap off" },
	{ "limit-cpus", judge_cpus, 0, NULL,
	  "enable the cpu controller of control groups" },
	{ "limit-pids", judge_pids, 0, NULL,
	  "enable the pids controller of control groups" },
	{ "limit-disk", judge_disk, 0, NULL,
	  "make it with a size of its workspace, create -S" },
};

int
doctor_judge_box(size_t i, const struct doctor_box *b,
    struct proto_control *c)
{
	const struct control	*t;
	enum judgement		 j = ABSENT;

	memset(c, 0, sizeof(*c));
	if (i >= sizeof(controls) / sizeof(controls[0]))
		return (0);
	t = &controls[i];
	if (b->facts == NULL)
		doctor_proof(c, "not known: no container of it was seen to "
		    "run");
	else
		j = t->judge(t, b, c);
	doctor_state(c, t->name, j, b->facts == NULL ? "" : t->advice);
	return (1);
}
