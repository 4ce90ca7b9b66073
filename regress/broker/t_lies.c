/*
 * An Engine that makes something else than it was asked for, and shows it in
 * one field: whatever the field is, the container is not started, its end is
 * ordered, and the error has the field's name.
 *
 * regress-srcs: testbroker.c fakeengine.c altered.c
 */
#include <sys/mman.h>

#include <atf-c.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "altered.h"
#include "doctor.h"
#include "fakeengine.h"
#include "testbroker.h"

#define SHOWN_MAX	(128 << 10)
#define IMAGE_OTHER	"sha256:cccccccccccccccccccccccccccccccc" \
			"cccccccccccccccccccccccccccccccc"
#define IMAGE_FAKE	"sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb" \
			"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* In the order of the rules. */
enum { SHOW, STARTS, REMOVALS };

static struct tb		 tb;
static struct fake		 fake;
static struct msg_box_create	 req;
static union answer		 m;
static char			*shown;	/* what the Engine shows once */
static json_t			*truth;
static int			 rootless;	/* the Engine is */

/* What is wrong, where, and the word by which it is told. */
static const struct lie {
	const char	*path;
	const char	*value;
	const char	*word;
} lies[] = {
	{ "Name", "\"/sbx-00000000-2\"", "Name" },
	{ "Name", "\"/other\"", "Name" },
	{ "Id", "\"other\"", "not this" },
	{ "Id", "7", "not this" },
	{ "Config/Labels/sandboxd.instance", "\"other\"", "not this" },
	{ "Config/Labels/sandboxd.op", "\"other\"", "not this" },
	{ "Config/Labels/sandboxd.id", "\"other\"", "Labels" },
	{ "Config/Labels/sandboxd.owner", "\"1\"", "Labels" },
	{ "Config/Labels/sandboxd.owner", "0", "Labels" },
	{ "Config/Env/0", "\"GREETING=other\"", "Env" },
	{ "Config/Env/1", "\"LD_PRELOAD=/x\"", "Env" },
	{ "Config/Healthcheck/Test/0", "\"CMD-SHELL\"", "Healthcheck" },
	{ "Config/Volumes", "{\"/etc\":{}}", "Volumes" },
	{ "Image", "\"" IMAGE_OTHER "\"", "Image" },
	{ "Path", "\"/bin/sh\"", "Path" },
	{ "Args", "[\"-c\"]", "Args" },
	{ "HostConfig/CapDrop/0", "\"NET_RAW\"", "CapDrop" },
	{ "HostConfig/CapAdd", "[\"SYS_ADMIN\"]", "CapAdd" },
	{ "HostConfig/SecurityOpt/0", "\"no-new-privileges:false\"",
	  "SecurityOpt" },
	{ "HostConfig/SecurityOpt/1", "\"seccomp=unconfined\"",
	  "SecurityOpt" },
	{ "HostConfig/Devices", "[{\"PathOnHost\":\"/dev/mem\"}]", "Devices" },
	{ "HostConfig/Binds", "[\"/:/host\"]", "Binds" },
	{ "HostConfig/PidMode", "\"host\"", "PidMode" },
	{ "HostConfig/UTSMode", "\"host\"", "UTSMode" },
	{ "HostConfig/UsernsMode", "\"host\"", "UsernsMode" },
	{ "HostConfig/NetworkMode", "\"host\"", "NetworkMode" },
	{ "HostConfig/Runtime", "\"other\"", "Runtime" },
	{ "HostConfig/MaskedPaths", "[]", "MaskedPaths" },
	{ "HostConfig/MaskedPaths", "null", "MaskedPaths" },
	{ "HostConfig/ReadonlyPaths", "[]", "ReadonlyPaths" },
	{ "HostConfig/PidsLimit", "0", "PidsLimit" },
	{ "HostConfig/PidsLimit", "null", "PidsLimit" },
	{ "HostConfig/PidsLimit", "-1", "PidsLimit" },
	{ "HostConfig/Memory", "\"67108864\"", "Memory" },
	{ "HostConfig/MemorySwap", "-1", "MemorySwap" },
	{ "HostConfig/Sysctls", "{\"kernel.shmmax\":\"1\"}", "Sysctls" },
	{ "HostConfig/Annotations", "{\"a\":\"b\"}", "Annotations" },
	{ "HostConfig/privileged", "true", "privileged" },
	{ "HostConfig/RestartPolicy/Name", "\"always\"", "RestartPolicy" },
	{ "HostConfig/LogConfig/Type", "\"json-file\"", "LogConfig" },
	{ "HostConfig/Tmpfs/~1tmp", "\"exec,suid,dev\"", "Tmpfs" },
	{ "HostConfig/Mounts/0/Source", "\"/\"", "Mounts" },
	{ "HostConfig/Mounts/1/ReadOnly", "false", "Mounts" },
	{ "HostConfig/Mounts/3", "{\"Type\":\"bind\",\"Source\":\"/\"}",
	  "Mounts" },
	{ "Mounts/0/Source", "\"/\"", "Mounts" },
	{ "Mounts/0/RW", "true", "Mounts" },
	{ "Mounts/1/RW", "true", "Mounts" },
	{ "Mounts/2/Type", "\"volume\"", "Mounts" },
	{ "Mounts/2/Destination", "\"/other\"", "Mounts" },
	{ "Mounts/2/Propagation", "\"rshared\"", "Mounts" },
	{ "Mounts/3", "{\"Type\":\"bind\",\"Source\":\"/\","
	  "\"Destination\":\"/host\"}", "Mounts" },
	{ "Mounts/3", "{\"Type\":\"volume\",\"Name\":\"x\","
	  "\"Destination\":\"/data\"}", "Mounts" },
	{ "Mounts", "[]", "Mounts" },
	{ "Mounts", "null", "Mounts" },
	{ "NetworkSettings/Networks/bridge", "{}", "NetworkSettings" },
	{ "Config", "null", "not this" },
	{ "HostConfig", "null", "HostConfig" },
	{ "HostConfig", "[]", "HostConfig" },
};

static char *
replaced(char *s, const char *old, const char *new)
{
	size_t	 lold = strlen(old), lnew = strlen(new);
	char	*p, *t;

	for (p = s; (p = strstr(p, old)) != NULL; p += lnew) {
		ATF_REQUIRE(asprintf(&t, "%.*s%s%s", (int)(p - s), s, new,
		    p + lold) != -1);
		p = t + (p - s);
		free(s);
		s = t;
	}
	return (s);
}

/* What a real Engine has shown, as if it were of this test's container. */
static void
load_truth(const atf_tc_t *tc)
{
	char		 buf[256], now[256];
	json_t		*j;
	char		*s;

	snprintf(buf, sizeof(buf), "%s/inspect.json",
	    atf_tc_get_config_var(tc, "srcdir"));
	ATF_REQUIRE((j = json_load_file(buf, 0, NULL)) != NULL);
	ATF_REQUIRE((s = json_dumps(j, JSON_COMPACT)) != NULL);
	s = replaced(s, "b7ab7483e3fc983c7314b6102ec01d35a858552bdfb7482c350b7"
	    "ad65099f9e6", FAKE_ID);
	s = replaced(s, "sha256:5e18a2c82c812848c7faed6b9d8a8bf575ebbca41baae6"
	    "89aa4ac58bac86b79b", IMAGE_FAKE);
	s = replaced(s, "609e79319ab4d2e292ae8e4cc9caf8b1", req.nonce);
	snprintf(now, sizeof(now), "sbx-%.8s-2", tb.policy.conf.instance);
	s = replaced(s, "sbx-01234567-2", now);
	s = replaced(s, "0123456789abcdef0123456789abcdef",
	    tb.policy.conf.instance);
	s = replaced(s, "2000000001", "2000000002");
	s = replaced(s, "\"t2\"", "\"box2\"");
	s = replaced(s, "/var/lib/sandboxd/guest/942f1d415f791c87df722eff1e1a"
	    "8ffbe583b44242b67d2604bb61efd4704f79", tb.policy.conf.guest);
	snprintf(now, sizeof(now), "%s/2", tb.policy.conf.mnt);
	s = replaced(s, "/var/lib/sandboxd/mnt/2", now);
	snprintf(now, sizeof(now), "%s/0/2", tb.policy.conf.sock);
	s = replaced(s, "/var/lib/sandboxd/runner/sock/0/2", now);
	ATF_REQUIRE((truth = json_loads(s, 0, NULL)) != NULL);
	free(s);
	json_decref(j);
}

static void
begin(const atf_tc_t *tc, const struct fake_rule *rules)
{
	tb_policy(&tb);
	tb.policy.conf.rootless = rootless;
	tb_request(&tb, &req, 2);
	ATF_REQUIRE(kvv_add(&req.env, "GREETING", "hello") == 0);
	load_truth(tc);
	if (shown == NULL)
		shown = mmap(NULL, SHOWN_MAX, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ATF_REQUIRE(shown != MAP_FAILED);
	fake_start(&fake, tb.dir, rules != NULL ? rules :
	    (const struct fake_rule []){
		[SHOW] = { "GET /v1.41/containers/", 1, FAKE_ANSWER, 200,
		    shown },
		[STARTS] = { "POST /v1.41/containers/" FAKE_ID, 0,
		    FAKE_ANSWER, 0, NULL },
		[REMOVALS] = { "DELETE /v1.41/containers/" FAKE_ID, 0,
		    FAKE_ANSWER, 0, NULL },
		{ 0 }
	    });
	tb_start(&tb, fake.sock);
	tb_up(&tb);
}

static void
end(void)
{
	fake_stop(&fake);
	msg_clear(&req, msg_def(MSG_BOX_CREATE));
	json_decref(truth);
	tb_stop(&tb);
}

static uint32_t
create(void)
{
	memset(&m, 0, sizeof(m));
	return (tb_answer(&tb, tb_send(&tb, MSG_BOX_CREATE, &req), &m));
}

static uint32_t
removal(void)
{
	struct msg_box_ref	 ref;

	memset(&ref, 0, sizeof(ref));
	ref.n = req.n;
	strlcpy(ref.nonce, req.nonce, sizeof(ref.nonce));
	return (tb_answer(&tb, tb_send(&tb, MSG_BOX_REMOVE, &ref), &m));
}

/* The first look at what was made sees this; later ones see what is. */
static void
show(json_t *j)
{
	char	*s;

	ATF_REQUIRE((s = json_dumps(j, JSON_COMPACT)) != NULL);
	ATF_REQUIRE(strlcpy(shown, s, SHOWN_MAX) < SHOWN_MAX);
	free(s);
	memset(fake.seen, 0, 3 * sizeof(int));
}

static void
lie(json_t *j, const char *what, const char *word)
{
	uint32_t	 type;

	show(j);
	type = create();
	ATF_REQUIRE_MSG(type == MSG_BOX_FAILED, "%s: %s", what,
	    msg_name(type));
	ATF_CHECK_MSG(strstr(m.failed.text, word) != NULL, "%s: %s", what,
	    m.failed.text);
	/* What is not ours is none of ours to remove. */
	ATF_CHECK_MSG(strcmp(word, "not this") == 0 ?
	    m.failed.code == CODE_CONFLICT :
	    m.failed.code == CODE_ENGINE_ERROR && m.failed.left, "%s: %s",
	    what, code_name(m.failed.code));
	ATF_CHECK_MSG(fake.seen[STARTS] == 0, "%s: started", what);
	ATF_CHECK_MSG(fake.seen[REMOVALS] == 0, "%s: removed", what);
	type = removal();
	ATF_REQUIRE_MSG(type == MSG_BOX_REMOVED, "%s: %s", what,
	    msg_name(type));
	ATF_CHECK_MSG(fake.seen[REMOVALS] == 1, "%s: not removed", what);
}

/* The value at the path; a slash in a key is written ~1. */
static json_t *
changed(const char *path, json_t *v)
{
	json_t	*copy, *at;
	char	 buf[128], *p, *next, *t;
	size_t	 i;

	copy = at = json_deep_copy(truth);
	strlcpy(buf, path, sizeof(buf));
	for (p = buf; (next = strchr(p, '/')) != NULL; p = next + 1) {
		*next = '\0';
		at = json_is_array(at) ? json_array_get(at, atoi(p)) :
		    json_object_get(at, p);
		ATF_REQUIRE_MSG(at != NULL, "%s", path);
	}
	if ((t = strstr(p, "~1")) != NULL) {
		memmove(t + 1, t + 2, strlen(t + 2) + 1);
		*t = '/';
	}
	i = json_is_array(at) ? (size_t)atoi(p) : 0;
	ATF_REQUIRE(!json_is_array(at) ? json_object_set_new(at, p, v) == 0 :
	    i == json_array_size(at) ? json_array_append_new(at, v) == 0 :
	    json_array_set_new(at, i, v) == 0);
	return (copy);
}

ATF_TC(fields);
ATF_TC_HEAD(fields, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "(aB4) one field of the made container is not as asked");
}
ATF_TC_BODY(fields, tc)
{
	json_t	*copy, *v;
	char	 what[256];
	size_t	 i;

	begin(tc, NULL);
	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		snprintf(what, sizeof(what), "%s = %s", lies[i].path,
		    lies[i].value);
		v = json_loads(lies[i].value, JSON_DECODE_ANY, NULL);
		ATF_REQUIRE_MSG(v != NULL, "%s", what);
		copy = changed(lies[i].path, v);
		lie(copy, what, lies[i].word);
		json_decref(copy);
	}
	/* And it lives if nothing is changed. */
	show(truth);
	ATF_REQUIRE_MSG(create() == MSG_BOX_STARTED, "%s", m.failed.text);
	ATF_CHECK(fake.seen[STARTS] == 1);
	end();
}

/* Each that the Engine shows, known here or not. */
ATF_TC(each);
ATF_TC_HEAD(each, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "each field that an Engine shows is compared");
}
ATF_TC_BODY(each, tc)
{
	static const char *const parts[] = { "HostConfig", "Config" };
	const char	*key;
	json_t		*copy, *v;
	char		 path[128];
	size_t		 i;
	int		 n = 0;

	begin(tc, NULL);
	for (i = 0; i < 2; i++) {
		json_object_foreach(json_object_get(truth, parts[i]), key, v) {
			/* An image's labels may be there. */
			if (strcmp(key, "Labels") == 0)
				continue;
			snprintf(path, sizeof(path), "%s/%s", parts[i], key);
			copy = changed(path, altered(v));
			lie(copy, path, key);
			json_decref(copy);
			n++;
		}
	}
	ATF_CHECK_MSG(n > 75, "%d fields", n);
	end();
}

ATF_TC(moved);
ATF_TC_HEAD(moved, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "a tag that moves after it was resolved changes nothing");
}
ATF_TC_BODY(moved, tc)
{
	static char	 image[512];

	tb_policy(&tb);
	tb_request(&tb, &req, 2);
	snprintf(image, sizeof(image), "{\"Id\":\"" IMAGE_OTHER "\","
	    "\"RepoTags\":[\"%s:latest\"],\"Architecture\":\"amd64\","
	    "\"Config\":{}}", req.image);
	fake_start(&fake, tb.dir, (const struct fake_rule []){
	    { "GET /v1.41/images/", 1, FAKE_ANSWER, 200, image }, { 0 } });
	tb_start(&tb, fake.sock);
	tb_up(&tb);
	ATF_REQUIRE_MSG(create() == MSG_BOX_STARTED, "%s", m.failed.text);
	ATF_CHECK_STREQ(m.started.image_id, IMAGE_OTHER);
	ATF_CHECK(fake.seen[0] == 1);
	ATF_CHECK(removal() == MSG_BOX_REMOVED);
	/* The next one is of what it is now. */
	ATF_REQUIRE_MSG(create() == MSG_BOX_STARTED, "%s", m.failed.text);
	ATF_CHECK_STREQ(m.started.image_id, IMAGE_FAKE);
	end();
}

/* Nothing is asked for by what is not a whole ID. */
ATF_TC(image_ids);
ATF_TC_HEAD(image_ids, tc)
{
	atf_tc_set_md_var(tc, "descr", "an image without a full ID is none");
}
ATF_TC_BODY(image_ids, tc)
{
	static const char *const ids[] = {
		"", "sha256:", "busybox", "cccccc", "sha256:cccccc",
		"sha512:cccccccccccccccccccccccccccccccc"
		"cccccccccccccccccccccccccccccccc",
		"sha256:CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC"
		"CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC",
		IMAGE_OTHER "c", "cccccccccccccccccccccccccccccccc"
		"cccccccccccccccccccccccccccccccc",
	};
	size_t	 i;

	begin(tc, NULL);
	fake_stop(&fake);
	fake_start(&fake, tb.dir, (const struct fake_rule []){
	    { "GET /v1.41/images/", 1, FAKE_ANSWER, 200, shown },
	    { "POST /v1.41/containers/create", 0, FAKE_ANSWER, 0, NULL },
	    { 0 } });
	tb_back(&tb);
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		snprintf(shown, SHOWN_MAX, "{\"Id\":\"%s\",\"RepoTags\":"
		    "[\"%s:latest\"],\"Architecture\":\"amd64\",\"Config\":"
		    "{}}", ids[i], req.image);
		fake.seen[0] = 0;
		ATF_REQUIRE_MSG(create() == MSG_BOX_FAILED, "%s", ids[i]);
		ATF_CHECK_MSG(m.failed.code == CODE_NOT_FOUND, "%s: %s",
		    ids[i], m.failed.text);
		ATF_CHECK_MSG(fake.seen[1] == 0, "%s", ids[i]);
	}
	end();
}

/* Nor is a container, whatever the Engine calls the one that it made. */
ATF_TC(ids);
ATF_TC_HEAD(ids, tc)
{
	atf_tc_set_md_var(tc, "descr", "a container without a full ID is none");
}
ATF_TC_BODY(ids, tc)
{
	static const char *const ids[] = {
		"other", "aaaa", "sbx-00000000-2", FAKE_ID "a",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	};
	char	 asked[128], mine[64];
	size_t	 i;

	tb_policy(&tb);
	tb_request(&tb, &req, 2);
	truth = NULL;
	shown = mmap(NULL, SHOWN_MAX, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ATF_REQUIRE(shown != MAP_FAILED);
	snprintf(mine, sizeof(mine), "GET /v1.41/containers/sbx-%.8s-2/json",
	    tb.policy.conf.instance);
	snprintf(asked, sizeof(asked), "GET /v1.41/containers/");
	fake_start(&fake, tb.dir, (const struct fake_rule []){
	    { "POST /v1.41/containers/create", 1, FAKE_ANSWER, 201, shown },
	    { mine, 0, FAKE_ANSWER, 0, NULL },
	    { asked, 0, FAKE_ANSWER, 0, NULL }, { 0 } });
	tb_start(&tb, fake.sock);
	tb_up(&tb);
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		snprintf(shown, SHOWN_MAX, "{\"Id\":\"%s\"}", ids[i]);
		memset(fake.seen, 0, 3 * sizeof(int));
		ATF_REQUIRE_MSG(create() == MSG_BOX_FAILED, "%s", ids[i]);
		ATF_CHECK_MSG(m.failed.code == CODE_ENGINE_ERROR &&
		    strstr(m.failed.text, "no sound ID") != NULL, "%s: %s",
		    ids[i], m.failed.text);
		ATF_CHECK_MSG(fake.seen[1] > 0 && fake.seen[1] == fake.seen[2],
		    "%s: asked for", ids[i]);
	}
	ATF_REQUIRE_MSG(create() == MSG_BOX_STARTED, "%s", m.failed.text);
	end();
}

/*
 * What it is when it runs: the first look shows what was asked for, the one
 * after the start something else, and a control is judged by that.
 */
static const struct fact {
	const char	*path;
	const char	*value;
	const char	*control;
	const char	*state;
} box_facts[] = {
	{ "Config/User", "\"2000000002:2000000002\"", "user", "enforced" },
	{ "Config/User", "\"0:0\"", "user", "degraded" },
	{ "Config/User", "\"\"", "user", "absent" },
	{ "HostConfig/CapDrop", "[\"ALL\"]", "capabilities", "enforced" },
	{ "HostConfig/CapDrop", "null", "capabilities", "absent" },
	{ "HostConfig/CapAdd", "[\"SYS_ADMIN\"]", "capabilities", "absent" },
	{ "HostConfig/Privileged", "true", "capabilities", "absent" },
	{ "HostConfig/SecurityOpt/0", "\"no-new-privileges\"",
	  "no-new-privileges", "enforced" },
	{ "HostConfig/SecurityOpt", "[]", "no-new-privileges", "absent" },
	{ "HostConfig/SecurityOpt/0", "\"no-new-privileges\"", "seccomp",
	  "enforced" },
	{ "HostConfig/SecurityOpt/1", "\"seccomp=unconfined\"", "seccomp",
	  "absent" },
	{ "AppArmorProfile", "\"\"", "apparmor", "absent" },
	{ "AppArmorProfile", "\"docker-default\"", "apparmor", "enforced" },
	{ "AppArmorProfile", "\"unconfined\"", "apparmor", "absent" },
	{ "ProcessLabel", "\"a:b:c\"", "apparmor", "enforced" },
	{ "HostConfig/UsernsMode", "\"\"", "userns", "enforced" },
	{ "HostConfig/UsernsMode", "\"host\"", "userns", "absent" },
	{ "HostConfig/PidMode", "\"\"", "namespaces", "enforced" },
	{ "HostConfig/PidMode", "\"host\"", "namespaces", "absent" },
	{ "HostConfig/NetworkMode", "\"none\"", "network", "enforced" },
	{ "HostConfig/NetworkMode", "\"bridge\"", "network", "absent" },
	{ "HostConfig/Runtime", "\"runc\"", "runtime", "enforced" },
	{ "HostConfig/Runtime", "\"other\"", "runtime", "absent" },
	{ "HostConfig/ReadonlyRootfs", "false", "read-only-root", "absent" },
	{ "HostConfig/ReadonlyRootfs", "true", "read-only-root", "enforced" },
	{ "HostConfig/Init", "false", "masked-paths", "enforced" },
	{ "HostConfig/MaskedPaths", "[]", "masked-paths", "absent" },
	{ "HostConfig/Init", "false", "mounts", "enforced" },
	{ "Mounts/3", "{\"Type\":\"volume\",\"Destination\":\"/x\"}",
	  "mounts", "degraded" },
	{ "Mounts/3", "{\"Type\":\"bind\",\"Source\":\"/\","
	  "\"Destination\":\"/x\"}", "mounts", "absent" },
	{ "HostConfig/Memory", "67108864", "limit-memory", "enforced" },
	{ "HostConfig/Memory", "0", "limit-memory", "absent" },
	{ "HostConfig/MemorySwap", "67108864", "limit-swap", "enforced" },
	{ "HostConfig/MemorySwap", "-1", "limit-swap", "absent" },
	{ "HostConfig/MemorySwap", "134217728", "limit-swap", "degraded" },
	{ "HostConfig/NanoCpus", "1000000000", "limit-cpus", "enforced" },
	{ "HostConfig/NanoCpus", "0", "limit-cpus", "absent" },
	{ "HostConfig/PidsLimit", "32", "limit-pids", "enforced" },
	{ "HostConfig/PidsLimit", "null", "limit-pids", "absent" },
	{ "HostConfig/Init", "false", "limit-disk", "absent" },
	{ "HostConfig/ReadonlyRootfs", "true", "limit-disk", "degraded" },
};
#define NFACTS	(sizeof(box_facts) / sizeof(box_facts[0]))

/* The state of one of the controls; "" if there is no such one. */
static const char *
judged(const struct doctor_box *box, const char *name)
{
	static struct proto_control	 c;
	size_t				 i;

	for (i = 0; doctor_judge_box(i, box, &c); i++) {
		ATF_CHECK_MSG(c.proof[0] != '\0', "%s: no proof", c.name);
		ATF_CHECK_MSG(box->facts == NULL || (strcmp(c.state,
		    "enforced") == 0) == (c.advice[0] == '\0'), "%s is %s: "
		    "%s", c.name, c.state, c.advice);
		if (strcmp(c.name, name) == 0)
			return (c.state);
	}
	return ("");
}

static void
fact(const struct fact *f, const struct doctor_box *box, char *second)
{
	json_t	*v, *copy;
	char	*s;

	show(truth);
	ATF_REQUIRE((v = json_loads(f->value, JSON_DECODE_ANY, NULL)) != NULL);
	copy = changed(f->path, v);
	json_object_set_new(copy, "State", json_pack("{s:b,s:i}", "Running",
	    1, "Pid", 4711));
	ATF_REQUIRE((s = json_dumps(copy, JSON_COMPACT)) != NULL);
	ATF_REQUIRE(strlcpy(second, s, SHOWN_MAX) < SHOWN_MAX);
	free(s);
	json_decref(copy);
	ATF_REQUIRE_MSG(create() == MSG_BOX_STARTED, "%s", m.failed.text);
	ATF_CHECK_EQ(4711, m.started.pid);
	ATF_CHECK_MSG(strcmp(judged(box, f->control), f->state) == 0,
	    "%s = %s: %s is %s", f->path, f->value, f->control,
	    judged(box, f->control));
}

ATF_TC(controls);
ATF_TC_HEAD(controls, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "controls are judged by what the container shows when it runs");
}
ATF_TC_BODY(controls, tc)
{
	struct proto_create	 conf;
	struct doctor_box	 box;
	struct msg_facts	 facts;
	char			*second;
	size_t			 i;

	second = mmap(NULL, SHOWN_MAX, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	shown = mmap(NULL, SHOWN_MAX, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ATF_REQUIRE(second != MAP_FAILED && shown != MAP_FAILED);
	rootless = 1;
	begin(tc, (const struct fake_rule []){
		[SHOW] = { "GET /v1.41/containers/", 1, FAKE_ANSWER, 200,
		    shown },
		[STARTS] = { "GET /v1.41/containers/", 1, FAKE_ANSWER, 200,
		    second },
		[REMOVALS] = { "DELETE /v1.41/containers/" FAKE_ID, 0,
		    FAKE_ANSWER, 0, NULL },
		{ "GET /v1.41/info", 1000, FAKE_ANSWER, 200,
		    "{\"OSType\":\"linux\",\"CgroupDriver\":\"cgroupfs\","
		    "\"DefaultRuntime\":\"runc\",\"MemoryLimit\":true,"
		    "\"SwapLimit\":true,\"PidsLimit\":true,"
		    "\"CpuCfsQuota\":true,\"SecurityOptions\":"
		    "[\"name=seccomp\",\"name=rootless\"]}" },
		{ 0 }
	});
	memset(&conf, 0, sizeof(conf));
	memset(&box, 0, sizeof(box));
	box.facts = &m.started.facts;
	box.conf = &conf;
	box.memory = conf.memory = req.memory;
	box.mcpus = conf.mcpus = req.mcpus;
	box.pids = conf.pids = req.pids;
	for (i = 0; i < NFACTS; i++) {
		fact(&box_facts[i], &box, second);
		facts = m.started.facts;
		ATF_REQUIRE(removal() == MSG_BOX_REMOVED);
	}
	/* Nobody maps root. */
	box.facts = &facts;
	strlcpy(facts.user, "0:0", sizeof(facts.user));
	facts.userns = 0;
	ATF_CHECK_STREQ("absent", judged(&box, "user"));
	/* What the guest reads counts, not what the container shows. */
	box.memory = 0;
	ATF_CHECK_STREQ("absent", judged(&box, "limit-memory"));
	box.mcpus *= 2;
	ATF_CHECK_STREQ("degraded", judged(&box, "limit-cpus"));
	box.pids--;
	ATF_CHECK_STREQ("enforced", judged(&box, "limit-pids"));
	box.facts = NULL;
	ATF_CHECK_STREQ("absent", judged(&box, "capabilities"));
	end();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, controls);
	ATF_TP_ADD_TC(tp, each);
	ATF_TP_ADD_TC(tp, fields);
	ATF_TP_ADD_TC(tp, ids);
	ATF_TP_ADD_TC(tp, image_ids);
	ATF_TP_ADD_TC(tp, moved);
	return (atf_no_error());
}
