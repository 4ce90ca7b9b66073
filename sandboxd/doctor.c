/*
 * The controls, one line of a table for each: how it is judged, and what is
 * to be done if it does not hold.
 *
 * A fact that is not known counts against the control: what nobody could
 * look at is not enforced.
 */
#include <sys/stat.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

#define API_KNOWN	41	/* the one whose meaning is known here */

struct control {
	const char	*name;
	enum judgement	(*judge)(const struct control *,
			    const struct doctor_facts *,
			    struct proto_control *);
	const char	*of;		/* what the function is to look for */
	uint32_t	 bit;
	const char	*advice;
};

void
doctor_proof(struct proto_control *c, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(c->proof, sizeof(c->proof), fmt, ap);
	va_end(ap);
}

/* What /info says is known only as long as somebody says it. */
static int
engine_away(const struct doctor_facts *f, struct proto_control *c)
{
	if (f->engine->up)
		return (0);
	doctor_proof(c, "not known: the Engine is away");
	return (1);
}

/* One of the words of a list. */
static int
has_word(const char *list, const char *word)
{
	size_t	 len = strlen(word);

	for (; *list != '\0'; list += strspn(list, " ")) {
		if (strncmp(list, word, len) == 0 && (list[len] == '\0' ||
		    list[len] == ' ' || list[len] == ','))
			return (1);
		list += strcspn(list, " ");
	}
	return (0);
}

/* An entry of SecurityOptions: "name=seccomp,profile=builtin". */
static int
has_option(const struct doctor_facts *f, const char *name)
{
	char	 word[64];

	snprintf(word, sizeof(word), "name=%s", name);
	return (has_word(f->engine->security, word));
}

/* A process: what it entered, and the parent found in /proc before it worked. */
static enum judgement
judge_process(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	const struct proto_proc	*p = NULL;
	size_t			 i;

	for (i = 0; i < f->nprocs; i++)
		if (strcmp(f->procs[i].name, t->of) == 0)
			p = &f->procs[i];
	if (p == NULL) {
		doctor_proof(c, "not known: nothing was said of it");
		return (ABSENT);
	}
	doctor_proof(c, "pid %u, user %s, confined by %s%s%s", p->pid, p->user,
	    p->layers[0] == '\0' ? "nothing" : p->layers,
	    p->missing[0] == '\0' ? "" : ", missing: ", p->missing);
	if (!has_word(p->layers, "seccomp"))
		return (ABSENT);
	return (p->missing[0] == '\0' ? ENFORCED : DEGRADED);
}

static enum judgement
judge_engine(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	const struct msg_engine	*e = f->engine;

	(void)t;
	if (!e->up) {
		doctor_proof(c, "away%s%.400s", e->text[0] == '\0' ? "" : ": ",
		    e->text);
		return (ABSENT);
	}
	doctor_proof(c, "Engine %s on Linux %s, API %s spoken of those up to %s, "
	    "runtime %s", e->version, e->kernel, e->api, e->newest,
	    e->runtime);
	return (strncmp(e->api, "1.", 2) == 0 &&
	    atoi(e->api + 2) == API_KNOWN ? ENFORCED : DEGRADED);
}

static enum judgement
judge_option(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	if (engine_away(f, c))
		return (ABSENT);
	doctor_proof(c, "the Engine's security options %s name=%s: %.400s",
	    has_option(f, t->of) ? "have" : "do not have", t->of,
	    f->engine->security[0] == '\0' ? "none" : f->engine->security);
	return (has_option(f, t->of) ? ENFORCED : ABSENT);
}

/* A rootless Engine is in a user namespace itself. */
static enum judgement
judge_userns(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	static const struct control	 rootless = { .of = "rootless" };

	if (!f->engine->up || !has_option(f, rootless.of))
		return (judge_option(t, f, c));
	return (judge_option(&rootless, f, c));
}

/* Either of the two that a distribution has. */
static enum judgement
judge_lsm(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	static const struct control	 selinux = { .of = "selinux" };

	if (!f->engine->up || !has_option(f, selinux.of))
		return (judge_option(t, f, c));
	return (judge_option(&selinux, f, c));
}

static enum judgement
judge_cgroup(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	const struct msg_engine	*e = f->engine;

	(void)t;
	if (engine_away(f, c))
		return (ABSENT);
	doctor_proof(c, "version %s, driver %s", e->cgroup[0] == '\0' ? "unknown" :
	    e->cgroup, e->cgroup_driver[0] == '\0' ? "none" :
	    e->cgroup_driver);
	if (e->cgroup_driver[0] == '\0' ||
	    strcmp(e->cgroup_driver, "none") == 0)
		return (ABSENT);
	return (strcmp(e->cgroup, "2") == 0 ? ENFORCED : DEGRADED);
}

/* Without it a sandbox is refused, or made by order without its limit. */
static enum judgement
judge_limit(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	if (engine_away(f, c))
		return (ABSENT);
	if (!(f->engine->unenforced & t->bit)) {
		doctor_proof(c, "the Engine says that it can limit %s", t->of);
		return (ENFORCED);
	}
	if (f->conf->unenforced & t->bit) {
		doctor_proof(c, "the Engine cannot limit %s, and the policy lets "
		    "sandboxes run without", t->of);
		return (ABSENT);
	}
	doctor_proof(c, "the Engine cannot limit %s: no sandbox is made", t->of);
	return (DEGRADED);
}

static enum judgement
judge_quota(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	const struct msg_engine	*e = f->engine;

	(void)t;
	if (engine_away(f, c))
		return (ABSENT);
	if (f->conf->disk != 0 || f->conf->max_disk != 0) {
		doctor_proof(c, "each new workspace is a file system of its own, "
		    "of at most %llu MiB", (unsigned long long)
		    ((f->conf->max_disk != 0 ? f->conf->max_disk :
		    f->conf->disk) >> 20));
		return (f->conf->max_disk != 0 ? ENFORCED : DEGRADED);
	}
	doctor_proof(c, "no bound of a workspace%s; storage driver %s%s%s",
	    f->conf->readonly ? ", root file systems are read-only" :
	    ", nor of what is written to a root file system", e->storage,
	    e->backing[0] == '\0' ? "" : " on ", e->backing);
	return (f->conf->readonly ? DEGRADED : ABSENT);
}

static enum judgement
judge_live_restore(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	(void)t;
	if (engine_away(f, c))
		return (ABSENT);
	doctor_proof(c, "LiveRestoreEnabled is %s", f->engine->live_restore ?
	    "true" : "false");
	return (f->engine->live_restore ? ENFORCED : ABSENT);
}

/* What the file and the directories above it let others do. */
static enum judgement
judge_path(const struct msg_path *p, uint32_t uid, uint32_t allowed,
    uint32_t forbidden, struct proto_control *c)
{
	if (!p->there) {
		doctor_proof(c, "%s: %s", p->path, p->why[0] == '\0' ?
		    "not there" : p->why);
		return (ABSENT);
	}
	doctor_proof(c, "%s: owner %u, group %u%s%s%s, mode %04o%s%s", p->path,
	    p->uid, p->gid, p->group[0] == '\0' ? "" : " (", p->group,
	    p->group[0] == '\0' ? "" : ")", p->mode & 07777,
	    p->above[0] == '\0' ? "" : "; others can write to ", p->above);
	if (p->mode & forbidden)
		return (ABSENT);
	if (p->uid != uid || p->mode & 07777 & ~allowed || p->above[0] != '\0')
		return (DEGRADED);
	return (ENFORCED);
}

static enum judgement
judge_socket(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	(void)t;
	return (judge_path(&f->host->socket, 0, 0660, S_IWOTH, c));
}

static enum judgement
judge_state(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	enum judgement	 j;

	(void)t;
	j = judge_path(&f->host->state, 0, 0711, S_IWGRP | S_IWOTH, c);
	if (j != ENFORCED || !f->host->tmpfs)
		return (j);
	strlcat(c->proof, "; on a tmpfs, which a reboot empties",
	    sizeof(c->proof));
	return (DEGRADED);
}

static enum judgement
judge_engine_socket(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	(void)t;
	return (judge_path(&f->host->engine, f->host->engine_uid, 0660,
	    S_IWOTH, c));
}

/*
 * Who may write to the Engine's socket is root on this host, or the user of a
 * rootless one, whose group may be one of those that only he can give.
 */
static enum judgement
judge_group(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	const struct msg_host	*h = f->host;

	(void)t;
	if (!h->engine.there) {
		doctor_proof(c, "not known: %s: %s", h->engine.path,
		    h->engine.why[0] == '\0' ? "not there" : h->engine.why);
		return (ABSENT);
	}
	if (h->engine.group[0] == '\0') {
		doctor_proof(c, "%sgroup %u has no name%s", h->engine_uid ==
		    0 ? "not known: " : "", h->engine.gid, h->engine_uid == 0 ?
		    "" : ", so nobody of this host is a member");
		return (h->engine_uid == 0 ? ABSENT : ENFORCED);
	}
	doctor_proof(c, "group %s has %u member%s%s%.300s", h->engine.group,
	    h->nmembers, h->nmembers == 1 ? "" : "s", h->nmembers == 0 ?
	    "" : ": ", h->members);
	return (h->nmembers == 0 ? ENFORCED : ABSENT);
}

static enum judgement
judge_apart(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	const struct msg_host	*h = f->host;

	(void)t;
	doctor_proof(c, "the event log is %s workspaces and %s output",
	    h->db_apart_work ? "apart from" : "on one file system with",
	    h->db_apart_log ? "apart from" : "on one file system with");
	if (h->db_apart_work && h->db_apart_log)
		return (ENFORCED);
	return (h->db_apart_work || h->db_apart_log ? DEGRADED : ABSENT);
}

static enum judgement
judge_log(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	(void)t;
	if (f->damage[0] == '\0') {
		doctor_proof(c, "whole, as far as the start has read it");
		return (ENFORCED);
	}
	doctor_proof(c, "%.300s: it can only be read, and every change is "
	    "refused", f->damage);
	return (ABSENT);
}

static enum judgement
judge_reserve(const struct control *t, const struct doctor_facts *f,
    struct proto_control *c)
{
	(void)t;
	doctor_proof(c, "%llu of %llu MiB are free where the event log is, "
	    "and none of it is kept for it",
	    (unsigned long long)f->host->db_free / 1024 / 1024,
	    (unsigned long long)f->host->db_size / 1024 / 1024);
	return (ABSENT);
}

#define PROCESS(name)							\
	{ "process-" name, judge_process, name, 0,			\
	  "run a kernel that has filters of system calls, Landlock and "	\
	  "memory-deny-write-execute" }

static const struct control	 controls[] = {
	PROCESS("parent"),
	PROCESS("frontend"),
	PROCESS("store"),
	PROCESS("broker"),
	PROCESS("runner"),
	{ "engine", judge_engine, NULL, 0,
	  "start the Docker Engine, of a version that speaks API 1.41, in the "
	  "manner that the proof asks for if it is there and not used" },
	{ "rootless", judge_option, "rootless", 0,
	  "run a rootless Engine: who has the socket of any other is root" },
	{ "userns", judge_userns, "userns", 0,
	  "run a rootless Engine: root in a sandbox is root on the host, as far "
	  "as its capabilities go" },
	{ "seccomp", judge_option, "seccomp", 0,
	  "run a kernel and an Engine with seccomp: the profile of sandboxes "
	  "needs it" },
	{ "apparmor", judge_lsm, "apparmor", 0,
	  "enable AppArmor or SELinux in the kernel, and for the Engine" },
	{ "cgroup", judge_cgroup, NULL, 0,
	  "boot with version 2 of control groups, and let the Engine use "
	  "them" },
	{ "limit-memory", judge_limit, "memory", UNENFORCED_MEMORY,
	  "enable the memory controller of control groups" },
	{ "limit-swap", judge_limit, "swap", UNENFORCED_SWAP,
	  "boot with swapaccount=1, or turn swap off" },
	{ "limit-cpus", judge_limit, "processors", UNENFORCED_CPUS,
	  "enable the cpu controller of control groups" },
	{ "limit-pids", judge_limit, "processes", UNENFORCED_PIDS,
	  "enable the pids controller of control groups" },
	{ "quota", judge_quota, NULL, 0,
	  "limit disk in the configuration" },
	{ "live-restore", judge_live_restore, NULL, 0,
	  "set live-restore in daemon.json: sandboxes end when the Engine is "
	  "restarted" },
	{ "socket", judge_socket, NULL, 0,
	  "restart the daemon, and let nobody but root write to what is above "
	  "its socket" },
	{ "state", judge_state, NULL, 0,
	  "put the state directory on a disk, where nobody but root writes to "
	  "what is above" },
	{ "engine-socket", judge_engine_socket, NULL, 0,
	  "let the Engine's socket belong to its user and group, mode 0660, "
	  "where nobody else writes to what is above" },
	{ "engine-group", judge_group, NULL, 0,
	  "take the members out of the group: each can do what the Engine can" },
	{ "file-systems", judge_apart, NULL, 0,
	  "mount file systems of their own at work and runner/log in the state "
	  "directory, so that they cannot fill that of the event log" },
	{ "reserve", judge_reserve, NULL, 0,
	  "watch the free space: this version refuses nothing before it is "
	  "gone" },
	{ "event-log", judge_log, NULL, 0,
	  "stop the daemon, move db in the state directory away, and restore "
	  "the newest dump by sandboxd -R" },
};
#define NCONTROLS	(sizeof(controls) / sizeof(controls[0]))

void
doctor_state(struct proto_control *c, const char *name, enum judgement j,
    const char *advice)
{
	static const char	*const words[] = {
		"enforced", "degraded", "absent"
	};

	strlcpy(c->name, name, sizeof(c->name));
	strlcpy(c->state, words[j], sizeof(c->state));
	if (j != ENFORCED)
		strlcpy(c->advice, advice, sizeof(c->advice));
}

int
doctor_judge(size_t i, const struct doctor_facts *f, struct proto_control *c)
{
	const struct control	*t;
	enum judgement		 j;

	memset(c, 0, sizeof(*c));
	if (i >= NCONTROLS)
		return (0);
	t = &controls[i];
	j = t->judge(t, f, c);
	doctor_state(c, t->name, j, t->advice);
	return (1);
}
