/*
 * The policy: what may be asked for, how it is asked for, and that no field
 * of the answer can differ unseen.
 *
 * regress-srcs: altered.c
 */
#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "altered.h"
#include "engine.h"
#include "policy.h"

static struct policy		 pol;
static struct msg_box_create	 req;
static struct policy_box	 box;
static json_t			*image, *inspect;
static char			 why[POLICY_WHY_MAX];

static json_t *
load(const atf_tc_t *tc, const char *name)
{
	char		 path[1024];
	json_error_t	 e;
	json_t		*j;

	snprintf(path, sizeof(path), "%s/%s",
	    atf_tc_get_config_var(tc, "srcdir"), name);
	j = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
	ATF_REQUIRE_MSG(j != NULL, "%s: %s", path, e.text);
	return (j);
}

/* What the files of this folder were made with. */
static void
setup(const atf_tc_t *tc)
{
	struct msg_conf	*c = &pol.conf;

	strlcpy(c->instance, "0123456789abcdef0123456789abcdef",
	    sizeof(c->instance));
	c->guest = strdup("/var/lib/sandboxd/guest/942f1d415f791c87df722eff1e"
	    "1a8ffbe583b44242b67d2604bb61efd4704f79");
	c->mnt = strdup("/var/lib/sandboxd/mnt");
	c->sock = strdup("/var/lib/sandboxd/runner/sock");
	c->mounts = strdup("/var/lib/sandboxd/mounts");
	c->uid_low = 2000000000;
	c->uid_high = 2000065535;
	strlcpy(c->image, "sandbox-base", sizeof(c->image));
	c->tmp_size = 64 << 20;
	c->max_memory = 1 << 30;
	c->max_mcpus = 2000;
	c->max_pids = 512;
	pol.arch = seccomp_arch("amd64");
	strlcpy(pol.runtime, "runc", sizeof(pol.runtime));

	req.n = 2;
	strlcpy(req.id, "t2", sizeof(req.id));
	strlcpy(req.nonce, "609e79319ab4d2e292ae8e4cc9caf8b1",
	    sizeof(req.nonce));
	strlcpy(req.image, "sandbox-base", sizeof(req.image));
	req.uid = req.gid = 2000000001;
	req.memory = 64 << 20;
	req.mcpus = 1000;
	req.pids = 32;
	ATF_REQUIRE(kvv_add(&req.env, "GREETING", "hello") == 0);
	box.req = &req;
	box.tmp = c->tmp_size;
	box.guest = strdup(c->guest);
	image = load(tc, "image.json");
	inspect = load(tc, "inspect.json");
	strlcpy(box.image, json_string_value(json_object_get(image, "Id")),
	    sizeof(box.image));
}

static int
check(const json_t *have)
{
	why[0] = '\0';
	return (policy_check(&pol, &box, image, have, why, sizeof(why)));
}

ATF_TC_WITHOUT_HEAD(build);
ATF_TC_BODY(build, tc)
{
	json_t	*body, *golden;
	char	*s;

	setup(tc);
	body = policy_build(&pol, &box);
	ATF_REQUIRE(body != NULL);
	golden = load(tc, "create.json");
	if (!json_equal(body, golden)) {
		s = json_dumps(body, JSON_INDENT(1) | JSON_SORT_KEYS);
		printf("%s\n", s);
		atf_tc_fail("not as in create.json; see standard output");
	}
	/* A text that JSON cannot carry is no body, and no crash. */
	ATF_REQUIRE(kvv_add(&req.env, "BAD", "\xff\xfe") == 0);
	ATF_CHECK(policy_build(&pol, &box) == NULL);
}

ATF_TC_WITHOUT_HEAD(same);
ATF_TC_BODY(same, tc)
{
	setup(tc);
	ATF_CHECK_MSG(check(inspect) == 0, "%s", why);
}

/* Labels, volumes' and ports' declarations may have more than we asked for. */
static int
may_differ(const char *part, const char *key)
{
	static const char *const	 keys[] = {
		"ExposedPorts", "Labels", "Shell", "StopSignal"
	};
	size_t	 i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(part, "Config") == 0 && strcmp(key, keys[i]) == 0)
			return (1);
	return (0);
}

static void
alter_each(const char *part)
{
	const json_t	*from;
	const char	*key;
	json_t		*copy, *v;
	int		 n = 0;

	from = json_object_get(inspect, part);
	json_object_foreach((json_t *)from, key, v) {
		if (may_differ(part, key))
			continue;
		copy = json_deep_copy(inspect);
		json_object_set_new(json_object_get(copy, part), key,
		    altered(v));
		ATF_CHECK_MSG(check(copy) == -1 && strstr(why, key) != NULL,
		    "%s.%s altered: %s", part, key, why);
		json_decref(copy);
		n++;
	}
	ATF_CHECK_MSG(n > 15, "%d keys of %s", n, part);
	/* A key of a later Engine: with nothing in it, and with something. */
	copy = json_deep_copy(inspect);
	json_object_set_new(json_object_get(copy, part), "Future",
	    json_null());
	ATF_CHECK_MSG(check(copy) == 0, "%s", why);
	json_object_set_new(json_object_get(copy, part), "Future",
	    json_pack("[{s:s}]", "PathOnHost", "/dev/mem"));
	ATF_CHECK(check(copy) == -1);
	json_decref(copy);
}

/* Each field altered is refused, by its name. */
ATF_TC_WITHOUT_HEAD(alter);
ATF_TC_BODY(alter, tc)
{
	setup(tc);
	alter_each("HostConfig");
	alter_each("Config");
}

/* Each field that was asked for and is not there is refused. */
ATF_TC_WITHOUT_HEAD(lacking);
ATF_TC_BODY(lacking, tc)
{
	static const char *const parts[] = { "Config", "HostConfig" };
	json_t		*want, *copy, *v;
	const char	*key;
	size_t		 i;

	setup(tc);
	want = policy_build(&pol, &box);
	for (i = 0; i < 2; i++) {
		json_object_foreach(i == 0 ? want :
		    json_object_get(want, "HostConfig"), key, v) {
			if (json_is_false(v) || strcmp(key, "HostConfig") == 0)
				continue;
			copy = json_deep_copy(inspect);
			json_object_del(json_object_get(copy, parts[i]), key);
			ATF_CHECK_MSG(check(copy) == -1, "%s.%s lacking",
			    parts[i], key);
			json_decref(copy);
		}
	}
	copy = json_deep_copy(inspect);
	json_object_del(copy, "HostConfig");
	ATF_CHECK(check(copy) == -1);
	copy = json_deep_copy(inspect);
	json_object_del(copy, "Config");
	ATF_CHECK(check(copy) == -1);
	ATF_CHECK(check(json_array()) == -1);
}

static void
refuse_change(const char *path, json_t *v)
{
	json_t	*copy, *at;
	char	 buf[128], *p, *next;

	copy = at = json_deep_copy(inspect);
	strlcpy(buf, path, sizeof(buf));
	for (p = buf; (next = strchr(p, '/')) != NULL; p = next + 1) {
		*next = '\0';
		at = json_is_array(at) ? json_array_get(at, atoi(p)) :
		    json_object_get(at, p);
	}
	if (json_is_array(at))
		json_array_set_new(at, atoi(p), v);
	else
		json_object_set_new(at, p, v);
	ATF_CHECK_MSG(check(copy) == -1, "%s", path);
	json_decref(copy);
}

ATF_TC_WITHOUT_HEAD(parts);
ATF_TC_BODY(parts, tc)
{
	json_t	*copy, *m;

	setup(tc);
	refuse_change("Name", json_string("/sbx-01234567-3"));
	refuse_change("Image", json_string("sha256:00"));
	refuse_change("Path", json_string("/bin/sh"));
	refuse_change("Args", json_pack("[s]", "-c"));
	refuse_change("Config/Labels/sandboxd.id", json_null());
	refuse_change("Config/Env/0", json_string("GREETING=other"));
	refuse_change("Config/Env/1", json_string("LD_PRELOAD=x"));
	refuse_change("HostConfig/SecurityOpt/0", json_string("x"));
	refuse_change("HostConfig/SecurityOpt/1",
	    json_string("seccomp=unconfined"));
	refuse_change("HostConfig/Mounts/0/Source", json_string("/"));
	refuse_change("Mounts/0/Source", json_string("/"));
	refuse_change("Mounts/0/RW", json_true());
	refuse_change("Mounts/1/RW", json_true());
	refuse_change("Mounts/2/Type", json_string("volume"));
	refuse_change("Mounts/2/Destination", json_string("/other"));
	refuse_change("Mounts/2/Propagation", json_string("rshared"));
	refuse_change("Mounts", json_array());
	refuse_change("NetworkSettings/Networks/bridge", json_object());

	/* One mount more: only a volume that the image declares. */
	copy = json_deep_copy(inspect);
	m = json_pack("{s:s,s:s,s:s,s:b}", "Type", "volume", "Destination",
	    "/data", "Driver", "local", "RW", 1);
	json_array_append_new(json_object_get(copy, "Mounts"), m);
	ATF_CHECK(check(copy) == -1);
	json_object_set_new(json_object_get(image, "Config"), "Volumes",
	    json_pack("{s:{}}", "/data"));
	json_object_set_new(json_object_get(copy, "Config"), "Volumes",
	    json_pack("{s:{}}", "/data"));
	ATF_CHECK_MSG(check(copy) == 0, "%s", why);
	/* Which nothing bounds. */
	req.disk = SBX_DISK_MIN;
	ATF_CHECK(check(copy) == -1);
	req.disk = 0;
	json_object_set_new(m, "Type", json_string("bind"));
	ATF_CHECK(check(copy) == -1);
}

/* What is read back from a container makes the same body again. */
ATF_TC_WITHOUT_HEAD(derive);
ATF_TC_BODY(derive, tc)
{
	struct msg_box_create	 r;
	struct policy_box	 b;
	json_t			*copy, *m;

	setup(tc);
	ATF_REQUIRE(policy_ours(&pol, inspect, 2));
	ATF_CHECK(!policy_ours(&pol, inspect, 3));
	ATF_REQUIRE(policy_derive(&pol, 2, inspect, &r, &b) == 0);
	ATF_CHECK(r.n == 2 && r.uid == req.uid && r.gid == req.gid);
	ATF_CHECK(r.memory == req.memory && r.mcpus == req.mcpus);
	ATF_CHECK(r.pids == req.pids && !r.readonly && r.owner == 0);
	ATF_CHECK_STREQ(r.id, "t2");
	ATF_CHECK_STREQ(r.nonce, req.nonce);
	ATF_CHECK(b.tmp == box.tmp);
	ATF_CHECK_MSG(policy_check(&pol, &b, NULL, inspect, why,
	    sizeof(why)) == 0, "%s", why);

	/* An older copy of the guest is one too; another file is none. */
	copy = json_deep_copy(inspect);
	m = json_array_get(json_object_get(json_object_get(copy,
	    "HostConfig"), "Mounts"), 1);
	json_object_set_new(m, "Source", json_string("/var/lib/sandboxd/guest/"
	    "00000000000000000000000000000000"
	    "00000000000000000000000000000000"));
	ATF_CHECK(policy_derive(&pol, 2, copy, &r, &b) == 0);
	json_object_set_new(m, "Source", json_string("/var/lib/sandboxd/guest/"
	    "../../../../bin/sh"));
	ATF_CHECK(policy_derive(&pol, 2, copy, &r, &b) == -1);
	ATF_CHECK(policy_derive(&pol, 2, json_object(), &r, &b) == -1);
}

ATF_TC_WITHOUT_HEAD(images);
ATF_TC_BODY(images, tc)
{
	static const struct {
		const char	*image;
		int		 allowed;
	} t[] = {
		{ "sandbox-base", 1 }, { "sandbox-base:latest", 1 },
		{ "docker.io/library/sandbox-base", 1 },
		{ "sandbox-base:old", 0 }, { "debian:12", 1 },
		{ "debian", 1 }, { "library/debian:12", 1 },
		{ "debian:bad", 0 }, { "docker.io/debian:bad", 0 },
		{ "other", 0 }, { "evil/debian:12", 0 },
		{ "host:5000/debian:12", 0 },
	};
	struct msg_conf_rule	 rules[] = {
		{ 1, "sandbox-base" }, { 1, "docker.io/library/debian:*" },
		{ 0, "debian:bad" },
	};
	size_t	 i;

	setup(tc);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		ATF_CHECK_MSG(policy_image_allowed(&pol.conf, rules, 3,
		    t[i].image) == t[i].allowed, "%s", t[i].image);
	/* Without a rule it is the default image alone. */
	ATF_CHECK(policy_image_allowed(&pol.conf, NULL, 0, "sandbox-base"));
	ATF_CHECK(!policy_image_allowed(&pol.conf, NULL, 0, "debian:12"));
	ATF_CHECK(policy_image_is(image, "sandbox-base"));
	ATF_CHECK(policy_image_is(image, "library/sandbox-base:latest"));
	ATF_CHECK(!policy_image_is(image, "5e18a2c82c81"));
	ATF_CHECK(!policy_image_is(image, "sandbox-base:1"));
}

ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	static const char *const good[] = {
		"a", "debian:12", "host:5000/a/b:tag", "a@sha256:00ff",
		"sha256:00", "a.b_c-d"
	};
	static const char *const bad[] = {
		"", "/a", "a/", "a//b", "../a", "a/../b", "a?b", "a#b", "a%2f",
		"a b", "a:", "a\nb", ".a", "a/.b", "a:-t"
	};
	size_t	 i;

	setup(tc);
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ATF_CHECK_MSG(engine_image_ok(good[i]), "%s", good[i]);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ATF_CHECK_MSG(!engine_image_ok(bad[i]), "%s", bad[i]);
		ATF_CHECK(!engine_name_ok(bad[i]));
	}
	ATF_CHECK(engine_name_ok("sbx-01234567-1"));
	ATF_CHECK(policy_number(&pol, "/sbx-01234567-17") == 17);
	ATF_CHECK(policy_number(&pol, "sbx-01234567-17") == 17);
	ATF_CHECK(policy_number(&pol, "sbx-01234567-017") == 0);
	ATF_CHECK(policy_number(&pol, "sbx-01234568-17") == 0);
	ATF_CHECK(policy_number(&pol, "sbx-01234567-17x") == 0);
	ATF_CHECK(policy_number(&pol, "") == 0);
}

/* Refused before the Engine hears of it. */
ATF_TC_WITHOUT_HEAD(refuse);
ATF_TC_BODY(refuse, tc)
{
	struct policy_error	 e;
	struct msg_box_create	 r;
	int			 i;

	setup(tc);
	ATF_CHECK(policy_refuse(&pol, &req, &e) == 0);
	for (i = 0; i < 11; i++) {
		r = req;
		pol.conf.allow_root = 0;
		pol.missing = pol.conf.unenforced = 0;
		switch (i) {
		case 0: r.uid = 1999999999; break;
		case 1: r.gid = 2000065536; break;
		case 2: r.uid = r.gid = 0; break;
		case 3: r.uid = 0; pol.conf.allow_root = 1; break;
		case 4: r.memory = (1 << 30) + 1; break;
		case 5: r.memory = 0; break;
		case 6: r.mcpus = 2001; break;
		case 7: r.pids = UINT32_MAX; break;
		case 8: r.n = 0; break;
		case 9: strlcpy(r.nonce, "X", sizeof(r.nonce)); break;
		case 10: pol.missing = UNENFORCED_MEMORY; break;
		}
		ATF_CHECK_MSG(policy_refuse(&pol, &r, &e) == -1, "case %d", i);
	}
	ATF_CHECK_STREQ(e.text, "limit not enforceable: memory");
	ATF_CHECK(e.code == CODE_POLICY_DENIED);
	pol.conf.unenforced = UNENFORCED_MEMORY;
	ATF_CHECK(policy_refuse(&pol, &req, &e) == 0);
	pol.conf.allow_root = 1;
	r = req;
	r.uid = r.gid = 0;
	ATF_CHECK(policy_refuse(&pol, &r, &e) == 0);
}

/* With a bound of the workspace nothing else may be written to. */
ATF_TC_WITHOUT_HEAD(disk);
ATF_TC_BODY(disk, tc)
{
	struct msg_box_create	 r;
	struct policy_error	 e;

	setup(tc);
	r = req;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == 0);
	r.disk = SBX_DISK_MIN;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == -1);
	ATF_CHECK(e.code == CODE_POLICY_DENIED);
	r.readonly = 1;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == 0);
	/* Where there is a limit there is none without. */
	pol.conf.max_disk = r.disk;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == 0);
	r.disk++;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == -1);
	r.disk = 0;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == -1);
	pol.conf.max_disk = 0;
	json_object_set_new(json_object_get(image, "Config"), "Volumes",
	    json_pack("{s:{}}", "/data"));
	ATF_CHECK(policy_refuse_volumes(&r, image, &e) == 0);
	r.disk = SBX_DISK_MIN;
	ATF_CHECK(policy_refuse_volumes(&r, image, &e) == -1);
	ATF_CHECK(e.code == CODE_POLICY_DENIED);
}

/* A workspace in memory: no mount of ours, and nothing on the disk beside. */
ATF_TC_WITHOUT_HEAD(tmpfs);
ATF_TC_BODY(tmpfs, tc)
{
	struct msg_box_create	 r;
	struct policy_error	 e;

	setup(tc);
	r = req;
	r.tmpfs = 8 << 20;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == -1);
	ATF_CHECK(e.code == CODE_POLICY_DENIED);
	r.readonly = 1;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == 0);
	pol.conf.max_disk = SBX_DISK_MIN;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == 0);
	r.disk = SBX_DISK_MIN;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == -1);
	r.disk = 0;
	r.tmpfs = r.memory;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == 0);
	r.tmpfs++;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == -1);
	r.tmpfs = SBX_TMPFS_MIN - 1;
	ATF_CHECK(policy_refuse_disk(&pol, &r, &e) == -1);
	json_object_set_new(json_object_get(image, "Config"), "Volumes",
	    json_pack("{s:{}}", "/data"));
	ATF_CHECK(policy_refuse_volumes(&r, image, &e) == -1);
	ATF_CHECK(e.code == CODE_POLICY_DENIED);
}

/* The container as the Engine would show it, and other ones. */
ATF_TC_WITHOUT_HEAD(tmpfs_shown);
ATF_TC_BODY(tmpfs_shown, tc)
{
	struct msg_box_create	 r;
	struct policy_box	 b;
	const char		*options;
	json_t			*body, *host, *copy, *mounts, *shown, *m;
	size_t			 i;

	setup(tc);
	req.readonly = 1;
	req.tmpfs = 8 << 20;
	ATF_REQUIRE((body = policy_build(&pol, &box)) != NULL);
	host = json_object_get(body, "HostConfig");
	options = json_string_value(json_object_get(json_object_get(host,
	    "Tmpfs"), "/workspace"));
	ATF_REQUIRE(options != NULL);
	ATF_CHECK_STREQ("size=8388608,uid=2000000001,gid=2000000001,mode=700,"
	    "exec,nosuid,nodev", options);
	ATF_CHECK_EQ(2, json_array_size(json_object_get(host, "Mounts")));

	ATF_CHECK(check(inspect) == -1);
	copy = json_deep_copy(inspect);
	shown = json_object_get(copy, "HostConfig");
	json_object_set(shown, "Tmpfs", json_object_get(host, "Tmpfs"));
	json_object_set(shown, "Mounts", json_object_get(host, "Mounts"));
	json_object_set_new(shown, "ReadonlyRootfs", json_true());
	ATF_CHECK(check(copy) == -1);
	mounts = json_object_get(copy, "Mounts");
	json_array_foreach(mounts, i, m)
		if (strcmp("/workspace", json_string_value(json_object_get(m,
		    "Destination"))) == 0)
			break;
	ATF_REQUIRE(json_array_remove(mounts, i) == 0);
	ATF_CHECK_MSG(check(copy) == 0, "%s", why);
	ATF_REQUIRE(policy_derive(&pol, 2, copy, &r, &b) == 0);
	ATF_CHECK_EQ(8 << 20, r.tmpfs);
	ATF_CHECK_MSG(policy_check(&pol, &b, NULL, copy, why,
	    sizeof(why)) == 0, "%s", why);
	req.tmpfs++;
	ATF_CHECK(check(copy) == -1);
}

static int
no_mount(struct msg_box_create *r, const char *ro, const char *rw)
{
	struct policy_error	 e;
	int			 ret;

	memset(&r->mounts, 0, sizeof(r->mounts));
	memset(&r->mounts_rw, 0, sizeof(r->mounts_rw));
	ATF_REQUIRE((ro == NULL || strv_add(&r->mounts, ro) == 0) &&
	    (rw == NULL || strv_add(&r->mounts_rw, rw) == 0));
	ret = policy_refuse(&pol, r, &e);
	ATF_CHECK(ret == 0 || strcmp(e.field, "mounts") == 0);
	strv_clear(&r->mounts);
	strv_clear(&r->mounts_rw);
	return (ret);
}

/* A store that asks for what the frontend refuses gets none of it. */
ATF_TC_WITHOUT_HEAD(mounts);
ATF_TC_BODY(mounts, tc)
{
	struct msg_box_create	 r;
	struct policy_error	 e;
	char			 name[16];
	int			 i;

	setup(tc);
	r = req;
	ATF_CHECK(no_mount(&r, "/mnt", "/srv") == 0);
	ATF_CHECK(no_mount(&r, "/mnt", "/mnt") == -1);
	ATF_CHECK(no_mount(&r, "/mnt", "/mnt/a") == -1);
	ATF_CHECK(no_mount(&r, "/mnt/a", "/mnt") == -1);
	ATF_CHECK(no_mount(&r, "/proc", NULL) == -1);
	ATF_CHECK(no_mount(&r, NULL, "/workspace/x") == -1);
	ATF_CHECK(no_mount(&r, "/.sandboxd", NULL) == -1);
	ATF_CHECK(no_mount(&r, "/a\"b", NULL) == -1);
	pol.conf.rootless = 1;
	ATF_CHECK(no_mount(&r, "/mnt", NULL) == -1);
	pol.conf.rootless = 0;
	pol.conf.allow_root = 1;
	r.uid = r.gid = 0;
	ATF_CHECK(no_mount(&r, NULL, NULL) == 0);
	ATF_CHECK(no_mount(&r, "/mnt", NULL) == -1);
	r = req;
	for (i = 0; i <= SBX_MOUNTS_MAX; i++) {
		ATF_CHECK_EQ(0, policy_refuse(&pol, &r, &e));
		snprintf(name, sizeof(name), "/mnt/%d", i);
		ATF_REQUIRE(strv_add(i % 2 ? &r.mounts : &r.mounts_rw,
		    name) == 0);
	}
	ATF_CHECK_EQ(-1, policy_refuse(&pol, &r, &e));
	strv_clear(&r.mounts);
	strv_clear(&r.mounts_rw);
}

/* The Engine's word for it: each part of each mount counts. */
ATF_TC_WITHOUT_HEAD(mounts_shown);
ATF_TC_BODY(mounts_shown, tc)
{
	struct msg_box_create	 r;
	struct policy_box	 b;
	json_t			*body, *copy, *asked, *shown, *m;
	size_t			 i;

	setup(tc);
	ATF_REQUIRE(strv_add(&req.mounts, "/mnt/ro") == 0 &&
	    strv_add(&req.mounts_rw, "/mnt/rw") == 0);
	ATF_REQUIRE((body = policy_build(&pol, &box)) != NULL);
	asked = json_object_get(json_object_get(body, "HostConfig"), "Mounts");
	ATF_REQUIRE_EQ(5, json_array_size(asked));
	ATF_CHECK(check(inspect) == -1);
	copy = json_deep_copy(inspect);
	json_object_set(json_object_get(copy, "HostConfig"), "Mounts", asked);
	ATF_CHECK(check(copy) == -1);
	shown = json_object_get(copy, "Mounts");
	for (i = 3; i < 5; i++) {
		m = json_array_get(asked, i);
		json_array_append_new(shown, json_pack("{s:s,s:O,s:O,s:s,s:b,"
		    "s:s}", "Type", "bind", "Source", json_object_get(m,
		    "Source"), "Destination", json_object_get(m, "Target"),
		    "Mode", "", "RW", json_object_get(m, "ReadOnly") == NULL,
		    "Propagation", "rprivate"));
	}
	ATF_CHECK_MSG(check(copy) == 0, "%s", why);
	ATF_REQUIRE(policy_derive(&pol, 2, copy, &r, &b) == 0);
	ATF_REQUIRE(r.mounts.n == 1 && r.mounts_rw.n == 1);
	ATF_CHECK_STREQ("/mnt/ro", r.mounts.v[0]);
	ATF_CHECK_STREQ("/mnt/rw", r.mounts_rw.v[0]);
	ATF_CHECK_MSG(policy_check(&pol, &b, NULL, copy, why,
	    sizeof(why)) == 0, "%s", why);
	/* Another place, another source, and one that may be written to. */
	m = json_array_get(shown, json_array_size(shown) - 2);
	json_object_set_new(m, "Destination", json_string("/mnt/other"));
	ATF_CHECK(check(copy) == -1);
	json_object_set_new(m, "Destination", json_string("/mnt/ro"));
	ATF_CHECK(check(copy) == 0);
	json_object_set_new(m, "RW", json_true());
	ATF_CHECK(check(copy) == -1);
	json_object_set_new(m, "RW", json_false());
	json_object_set_new(m, "Source",
	    json_string("/var/lib/sandboxd/mounts/3/0"));
	ATF_CHECK(check(copy) == -1);
}

/* (b75) A rootless Engine without cgroups takes every limit, holds none. */
ATF_TC_WITHOUT_HEAD(enforceable);
ATF_TC_BODY(enforceable, tc)
{
	json_t	*info;

	info = json_pack("{s:s,s:s,s:s,s:b,s:b,s:b,s:b,s:b}", "OSType",
	    "linux", "DefaultRuntime", "crun", "CgroupDriver", "cgroupfs",
	    "MemoryLimit", 1, "SwapLimit", 1, "PidsLimit", 1, "CpuCfsQuota",
	    1, "LiveRestoreEnabled", 1);
	ATF_REQUIRE(policy_engine(&pol, "amd64", info, why, sizeof(why)) == 0);
	ATF_CHECK(pol.missing == 0 && pol.live_restore);
	ATF_CHECK_STREQ(pol.runtime, "crun");
	json_object_set_new(info, "SwapLimit", json_false());
	json_object_del(info, "CpuCfsQuota");
	ATF_REQUIRE(policy_engine(&pol, "amd64", info, why, sizeof(why)) == 0);
	ATF_CHECK(pol.missing == (UNENFORCED_SWAP | UNENFORCED_CPUS));
	json_object_set_new(info, "CgroupDriver", json_string("none"));
	ATF_REQUIRE(policy_engine(&pol, "arm64", info, why, sizeof(why)) == 0);
	ATF_CHECK(pol.missing == (UNENFORCED_SWAP | UNENFORCED_CPUS |
	    UNENFORCED_MEMORY | UNENFORCED_PIDS));
	ATF_CHECK(policy_engine(&pol, "vax", info, why, sizeof(why)) == -1);
	json_object_set_new(info, "OSType", json_string("windows"));
	ATF_CHECK(policy_engine(&pol, "amd64", info, why, sizeof(why)) == -1);
}

/* (aB3) Its users are not the host's: one that is not expected is not used. */
ATF_TC_WITHOUT_HEAD(rootless);
ATF_TC_BODY(rootless, tc)
{
	static const struct {
		const char	*security;	/* an array */
		uint32_t	 conf;
		const char	*why;		/* NULL: it may be used */
	} t[] = {
		{ "[]", 0, NULL },
		{ "[\"name=seccomp,profile=default\"]", 0, NULL },
		{ "[\"name=seccomp\",\"name=rootless\"]", 1, NULL },
		{ "[\"name=rootless\",\"name=userns\"]", 1, NULL },
		{ "[\"name=rootless\"]", 0, "it is rootless: name its user" },
		{ "[\"name=userns\"]", 0, "it remaps users, which "
		    "this version does not support: start it without "
		    "userns-remap, or rootless" },
		{ "[\"name=userns\"]", 1, "it is not rootless" },
		{ "[\"name=rootlessx\",\"rootless\",7,null]", 1,
		    "it is not rootless" },
		{ "\"name=rootless\"", 1, "it is not rootless" },
		{ "null", 1, "it is not rootless" },
	};
	json_t	*info;
	size_t	 i;

	info = json_pack("{s:s,s:s}", "OSType", "linux", "DefaultRuntime",
	    "runc");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		json_object_set_new(info, "SecurityOptions",
		    json_loads(t[i].security, JSON_DECODE_ANY, NULL));
		pol.conf.rootless = t[i].conf;
		why[0] = '\0';
		ATF_CHECK_EQ_MSG(t[i].why == NULL ? 0 : -1,
		    policy_engine(&pol, "amd64", info, why, sizeof(why)),
		    "%zu: %s", i, why);
		ATF_CHECK_MSG(t[i].why == NULL || strncmp(why, t[i].why,
		    strlen(t[i].why)) == 0, "%zu: %s", i, why);
	}
	json_decref(info);
}

/* What it cannot enforce it takes away, or shows all the same. */
ATF_TC_WITHOUT_HEAD(unenforced);
ATF_TC_BODY(unenforced, tc)
{
	struct msg_box_create	 r;
	struct policy_box	 b;
	struct policy_error	 e;
	json_t			*host;

	setup(tc);
	pol.missing = UNENFORCED_SWAP;
	ATF_CHECK_MSG(check(inspect) == 0, "%s", why);
	host = json_object_get(inspect, "HostConfig");
	json_object_set_new(host, "MemorySwap", json_integer(-1));
	ATF_CHECK_MSG(check(inspect) == 0, "%s", why);
	json_object_set_new(host, "MemorySwap", json_integer(1 << 30));
	ATF_CHECK(check(inspect) == -1);
	pol.missing = pol.conf.unenforced = UNENFORCED_MEMORY |
	    UNENFORCED_SWAP | UNENFORCED_CPUS | UNENFORCED_PIDS;
	json_object_set_new(host, "MemorySwap", json_integer(-1));
	json_object_set_new(host, "Memory", json_integer(0));
	json_object_set_new(host, "PidsLimit", json_null());
	json_object_set_new(host, "NanoCpus", json_integer(0));
	ATF_CHECK_MSG(check(inspect) == 0, "%s", why);
	ATF_REQUIRE(policy_derive(&pol, 2, inspect, &r, &b) == 0);
	ATF_CHECK_MSG(policy_refuse(&pol, &r, &e) == 0, "%s", e.text);
	ATF_CHECK(policy_check(&pol, &b, NULL, inspect, why,
	    sizeof(why)) == 0);
	pol.missing = 0;
	ATF_CHECK(check(inspect) == -1);
}

static int
profile_allows(const json_t *profile, const char *name)
{
	const json_t	*rule, *v;
	size_t		 i, k;

	json_array_foreach(json_object_get(profile, "syscalls"), i, rule) {
		if (strcmp(json_string_value(json_object_get(rule, "action")),
		    "SCMP_ACT_ALLOW") != 0)
			continue;
		json_array_foreach(json_object_get(rule, "names"), k, v)
			if (strcmp(json_string_value(v), name) == 0)
				return (json_object_get(rule, "args") != NULL ?
				    2 : 1);
	}
	return (0);
}

ATF_TC_WITHOUT_HEAD(seccomp);
ATF_TC_BODY(seccomp, tc)
{
	static const char *const denied[] = {
		"io_uring_setup", "io_uring_enter", "keyctl", "add_key",
		"request_key", "userfaultfd", "bpf", "perf_event_open",
		"mount", "umount2", "pivot_root", "unshare", "setns", "fsopen",
		"open_tree", "move_mount", "mount_setattr", "ptrace",
		"process_vm_readv", "kcmp", "pidfd_getfd", "init_module",
		"finit_module", "kexec_load", "reboot", "swapon", "chroot",
		"open_by_handle_at", "clone3", "syslog", "quotactl", "acct",
		"settimeofday", "clock_settime", "iopl", "modify_ldt",
	};
	static const char *const allowed[] = {
		"read", "write", "writev", "exit_group", "futex", "execve",
		"wait4", "mmap", "openat", "clock_gettime", "rt_sigreturn",
	};
	json_t	*j;
	size_t	 i;
	char	*s;

	s = seccomp_profile(seccomp_arch("amd64"));
	ATF_REQUIRE(s != NULL);
	j = json_loads(s, JSON_REJECT_DUPLICATES, NULL);
	ATF_REQUIRE(j != NULL);
	ATF_CHECK_STREQ(json_string_value(json_object_get(j,
	    "defaultAction")), "SCMP_ACT_ERRNO");
	for (i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
		ATF_CHECK_MSG(profile_allows(j, denied[i]) == 0, "%s",
		    denied[i]);
	for (i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		ATF_CHECK_MSG(profile_allows(j, allowed[i]) == 1, "%s",
		    allowed[i]);
	ATF_CHECK(profile_allows(j, "clone") == 2);
	ATF_CHECK(profile_allows(j, "socket") == 2);
	ATF_CHECK(profile_allows(j, "personality") == 2);
	ATF_CHECK(profile_allows(j, "prlimit64") == 2);
	ATF_CHECK(seccomp_arch("riscv64") == NULL);
}

/* Bounds of the answers, before a parser that recurses sees them. */
ATF_TC_WITHOUT_HEAD(bounds);
ATF_TC_BODY(bounds, tc)
{
	static const struct engine_bound b = { 4096, 8, 100 };
	static const struct {
		const char	*text;
		int		 ok;
	} t[] = {
		{ "{}", 1 }, { "[1,2,3]", 1 }, { "{\"a\":\"\\\"]}\"}", 1 },
		{ "[[[[[[[[1]]]]]]]]", 1 }, { "[[[[[[[[[1]]]]]]]]]", 0 },
		{ "", 0 }, { "{", 0 }, { "}", 0 }, { "{\"a\":1,\"a\":2}", 0 },
		{ "{\"a\":\"", 0 }, { "\"\\", 0 }, { "{} {}", 0 },
		{ "[1,]", 0 }, { "{\"a\":\"\\ud800\"}", 0 },
		{ "[\"\xff\"]", 0 }, { "{\"a\\u0000b\":1}", 0 },
	};
	char	 big[4200];
	json_t	*j;
	size_t	 i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		j = engine_json_load(t[i].text, strlen(t[i].text), &b);
		ATF_CHECK_MSG((j != NULL) == t[i].ok, "%s", t[i].text);
		json_decref(j);
	}
	memset(big, ' ', sizeof(big));
	memcpy(big, "[]", 2);
	ATF_CHECK(engine_json_scan(big, 4096, &b) == 0);
	ATF_CHECK(engine_json_scan(big, 4097, &b) == -1);
	memset(big, '[', sizeof(big));
	ATF_CHECK(engine_json_scan(big, 4096, &b) == -1);
	for (i = 0; i < 200; i++)
		memcpy(big + 2 * i, "0,", 2);
	big[0] = '[';
	big[399] = ']';
	ATF_CHECK(engine_json_scan(big, 400, &b) == -1);
	engine_text(big, 8, "a\nb\033c\n\n");
	ATF_CHECK_STREQ(big, "a b c");
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, alter);
	ATF_TP_ADD_TC(tp, bounds);
	ATF_TP_ADD_TC(tp, build);
	ATF_TP_ADD_TC(tp, derive);
	ATF_TP_ADD_TC(tp, disk);
	ATF_TP_ADD_TC(tp, enforceable);
	ATF_TP_ADD_TC(tp, rootless);
	ATF_TP_ADD_TC(tp, images);
	ATF_TP_ADD_TC(tp, lacking);
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, parts);
	ATF_TP_ADD_TC(tp, refuse);
	ATF_TP_ADD_TC(tp, same);
	ATF_TP_ADD_TC(tp, seccomp);
	ATF_TP_ADD_TC(tp, tmpfs);
	ATF_TP_ADD_TC(tp, tmpfs_shown);
	ATF_TP_ADD_TC(tp, mounts);
	ATF_TP_ADD_TC(tp, mounts_shown);
	ATF_TP_ADD_TC(tp, unenforced);
	return (atf_no_error());
}
