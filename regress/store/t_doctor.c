/*
 * What is made of the facts, as a table: a change of facts in which all is
 * well, and what is said of one control then.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"

static struct proto_proc	 procs[ROLE_MAX];
static struct msg_host		 host;
static struct msg_engine	 engine;
static struct msg_conf		 conf;
static struct doctor_facts	 facts = {
	procs, ROLE_MAX, &host, &engine, &conf, ""
};

static void
path_well(struct msg_path *p, const char *path, uint32_t mode)
{
	memset(p, 0, sizeof(*p));
	strlcpy(p->path, path, sizeof(p->path));
	strlcpy(p->group, "docker", sizeof(p->group));
	p->there = 1;
	p->mode = mode;
}

static void
well(void)
{
	static const char	*const roles[] = {
		"parent", "frontend", "store", "broker", "runner"
	};
	int			 i;

	memset(&host, 0, sizeof(host));
	memset(&engine, 0, sizeof(engine));
	memset(&conf, 0, sizeof(conf));
	memset(procs, 0, sizeof(procs));
	for (i = 0; i < ROLE_MAX; i++) {
		strlcpy(procs[i].name, roles[i], sizeof(procs[i].name));
		strlcpy(procs[i].user, "_x", sizeof(procs[i].user));
		strlcpy(procs[i].layers, "seccomp landlock",
		    sizeof(procs[i].layers));
	}
	path_well(&host.socket, "/run/s", S_IFSOCK | 0660);
	path_well(&host.state, "/state", S_IFDIR | 0711);
	path_well(&host.engine, "/run/e", S_IFSOCK | 0660);
	facts.damage = "";
	host.db_apart_work = host.db_apart_log = 1;
	engine.up = engine.live_restore = 1;
	strlcpy(engine.api, "1.41", sizeof(engine.api));
	strlcpy(engine.security, "name=apparmor "
	    "name=seccomp,profile=builtin name=userns name=rootless",
	    sizeof(engine.security));
	strlcpy(engine.cgroup, "2", sizeof(engine.cgroup));
	strlcpy(engine.cgroup_driver, "systemd",
	    sizeof(engine.cgroup_driver));
	strlcpy(engine.storage, "overlay2", sizeof(engine.storage));
}

static struct proto_control
control(const char *name)
{
	struct proto_control	 c;
	size_t			 i;

	for (i = 0; doctor_judge(i, &facts, &c); i++)
		if (strcmp(c.name, name) == 0)
			return (c);
	atf_tc_fail("no control %s", name);
}

static struct proto_proc *
its(void)
{
	return (&procs[ROLE_STORE]);
}

static void no_layer(void) { strlcpy(its()->layers, "seccomp", 64);
    strlcpy(its()->missing, "landlock mdwe", 64); }
static void no_filter(void) { strlcpy(its()->layers, "landlock", 64);
    strlcpy(its()->missing, "seccomp", 64); }
static void no_layers(void) { its()->layers[0] = '\0'; }
static void no_word(void) { strlcpy(its()->name, "stores", 16); }
static void away(void) { engine.up = 0; }
static void away_why(void) { away(); strlcpy(engine.text, "timed out", 64); }
static void newer(void) { strlcpy(engine.api, "1.44", 16); }
static void garbled(void) { strlcpy(engine.api, "41", 16); }
static void plain(void) { engine.security[0] = '\0'; }
static void alike(void) { strlcpy(engine.security, "name=usernsx xname=userns "
    "name=seccompx profile=name=seccomp", 128); }
static void userns(void) { strlcpy(engine.security, "name=userns", 64); }
static void rootless(void) { strlcpy(engine.security, "name=rootless", 64); }
static void selinux(void) { strlcpy(engine.security, "name=selinux", 64); }
static void old_cgroup(void) { strlcpy(engine.cgroup, "1", 8); }
static void no_cgroup(void) { strlcpy(engine.cgroup_driver, "none", 32); }
static void mute_cgroup(void) { engine.cgroup_driver[0] = '\0'; }
static void no_pids(void) { engine.unenforced = UNENFORCED_PIDS; }
static void without_pids(void) { no_pids(); conf.unenforced = UNENFORCED_PIDS; }
static void readonly(void) { conf.readonly = 1; }
static void dies(void) { engine.live_restore = 0; }
static void sock_all(void) { host.socket.mode |= 0002; }
static void sock_seen(void) { host.socket.mode |= 0004; }
static void sock_owner(void) { host.socket.uid = 1000; }
static void sock_above(void) { strlcpy(host.socket.above, "/run", 16); }
static void sock_gone(void) { host.socket.there = 0; }
static void state_group(void) { host.state.mode |= 0020; }
static void state_list(void) { host.state.mode |= 0004; }
static void state_tmpfs(void) { host.tmpfs = 1; }
static void engine_all(void) { host.engine.mode |= 0006; }
static void engine_gone(void) { host.engine.there = 0;
    strlcpy(host.engine.why, "Permission denied", 64); }
static void member(void) { host.nmembers = 1;
    strlcpy(host.members, "eve", 16); }
static void members(void) { host.nmembers = 2;
    strlcpy(host.members, "eve mallory", 16); }
static void own_engine(void) { host.engine.uid = host.engine_uid = 1000; }
static void other_engine(void) { host.engine.uid = 1000; }
static void subgroup(void) { host.engine_uid = 1000; host.engine.group[0] = 0; }
static void nameless(void) { host.engine.group[0] = '\0';
    host.engine.gid = 4711; }
static void log_in(void) { host.db_apart_log = 0; }
static void bad_log(void) { facts.damage = "log: missing"; }
static void all_in(void) { log_in(); host.db_apart_work = 0; }

static const struct {
	const char	*name;
	void		(*change)(void);
	const char	*state;
	const char	*proof;		/* is in it */
} t[] = {
	{ "process-parent", well, "enforced", "by seccomp landlock" },
	{ "process-frontend", no_filter, "enforced", "_x" },
	{ "process-store", well, "enforced", "_x" },
	{ "process-store", no_layer, "degraded", "missing: landlock mdwe" },
	{ "process-store", no_filter, "absent", "missing: seccomp" },
	{ "process-store", no_layers, "absent", "by nothing" },
	{ "process-store", no_word, "absent", "not known" },
	{ "process-broker", no_layers, "enforced", "_x" },
	{ "process-runner", no_word, "enforced", "_x" },
	{ "engine", well, "enforced", "API 1.41" },
	{ "engine", newer, "degraded", "API 1.44" },
	{ "engine", garbled, "degraded", "API 41" },
	{ "engine", away, "absent", "away" },
	{ "engine", away_why, "absent", "away: timed out" },
	{ "rootless", well, "enforced", "have name=rootless" },
	{ "rootless", userns, "absent", "do not have name=rootless" },
	{ "rootless", away, "absent", "not known: the Engine is away" },
	{ "userns", userns, "enforced", "have name=userns" },
	{ "userns", rootless, "enforced", "have name=rootless" },
	{ "userns", plain, "absent", "do not have name=userns: none" },
	{ "userns", alike, "absent", "do not have" },
	{ "userns", away, "absent", "not known" },
	{ "seccomp", well, "enforced", "profile=builtin" },
	{ "seccomp", plain, "absent", "do not have name=seccomp" },
	{ "seccomp", alike, "absent", "do not have" },
	{ "apparmor", well, "enforced", "have name=apparmor" },
	{ "apparmor", selinux, "enforced", "have name=selinux" },
	{ "apparmor", plain, "absent", "do not have name=apparmor" },
	{ "apparmor", away, "absent", "not known" },
	{ "cgroup", well, "enforced", "version 2, driver systemd" },
	{ "cgroup", old_cgroup, "degraded", "version 1" },
	{ "cgroup", no_cgroup, "absent", "driver none" },
	{ "cgroup", mute_cgroup, "absent", "driver none" },
	{ "limit-pids", well, "enforced", "can limit processes" },
	{ "limit-pids", no_pids, "degraded", "no sandbox is made" },
	{ "limit-pids", without_pids, "absent", "run without" },
	{ "limit-pids", away, "absent", "not known" },
	{ "limit-memory", without_pids, "enforced", "memory" },
	{ "limit-swap", without_pids, "enforced", "swap" },
	{ "limit-cpus", without_pids, "enforced", "processors" },
	{ "quota", well, "absent", "nor of what is written" },
	{ "quota", readonly, "degraded", "read-only" },
	{ "live-restore", well, "enforced", "true" },
	{ "live-restore", dies, "absent", "false" },
	{ "live-restore", away, "absent", "not known" },
	{ "socket", well, "enforced", "/run/s: owner 0, group 0 (docker), "
	    "mode 0660" },
	{ "socket", sock_all, "absent", "mode 0662" },
	{ "socket", sock_seen, "degraded", "mode 0664" },
	{ "socket", sock_owner, "degraded", "owner 1000" },
	{ "socket", sock_above, "degraded", "others can write to /run" },
	{ "socket", sock_gone, "absent", "/run/s: not there" },
	{ "state", well, "enforced", "mode 0711" },
	{ "state", state_group, "absent", "mode 0731" },
	{ "state", state_list, "degraded", "mode 0715" },
	{ "state", state_tmpfs, "degraded", "tmpfs" },
	{ "engine-socket", well, "enforced", "/run/e" },
	{ "engine-socket", engine_all, "absent", "mode 0666" },
	{ "engine-socket", engine_gone, "absent", "Permission denied" },
	{ "engine-group", well, "enforced", "group docker has 0 members" },
	{ "engine-group", member, "absent", "has 1 member: eve" },
	{ "engine-group", members, "absent", "has 2 members: eve mallory" },
	{ "engine-group", subgroup, "enforced", "nobody of this host" },
	{ "engine-socket", own_engine, "enforced", "owner 1000" },
	{ "engine-socket", other_engine, "degraded", "owner 1000" },
	{ "engine-group", nameless, "absent", "group 4711 has no name" },
	{ "engine-group", engine_gone, "absent", "not known: /run/e" },
	{ "file-systems", well, "enforced", "apart from workspaces" },
	{ "file-systems", log_in, "degraded", "one file system with output" },
	{ "file-systems", all_in, "absent", "one file system with work" },
	{ "reserve", well, "absent", "none of it is kept" },
	{ "event-log", well, "enforced", "whole" },
	{ "event-log", bad_log, "absent", "log: missing: it can only be" },
};

ATF_TC_WITHOUT_HEAD(table);
ATF_TC_BODY(table, tc)
{
	struct proto_control	 c;
	size_t			 i;

	(void)tc;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		well();
		t[i].change();
		c = control(t[i].name);
		ATF_CHECK_STREQ_MSG(t[i].state, c.state, "%zu: %s: %s: %s", i,
		    c.name, c.state, c.proof);
		ATF_CHECK_MSG(strstr(c.proof, t[i].proof) != NULL,
		    "%zu: %s: %s", i, c.name, c.proof);
		ATF_CHECK_MSG((strcmp(c.state, "enforced") == 0) ==
		    (c.advice[0] == '\0'), "%zu: %s: %s", i, c.name,
		    c.advice);
	}
}

/* None is there that the table above does not know, nor twice. */
ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	struct proto_control	 c, other;
	size_t			 i, k;

	(void)tc;
	well();
	for (i = 0; doctor_judge(i, &facts, &c); i++) {
		for (k = 0; k < sizeof(t) / sizeof(t[0]); k++)
			if (strcmp(t[k].name, c.name) == 0)
				break;
		ATF_CHECK_MSG(k < sizeof(t) / sizeof(t[0]), "%s", c.name);
		for (k = 0; k < i; k++) {
			doctor_judge(k, &facts, &other);
			ATF_CHECK(strcmp(other.name, c.name) != 0);
		}
	}
	ATF_CHECK(i > 0);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, table);
	ATF_TP_ADD_TC(tp, names);
	return (atf_no_error());
}
