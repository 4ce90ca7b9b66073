/* Checks of requests: the grammars by tables, ranges and totals. */

#include <sys/types.h>

#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec.h"

#define A32	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A64	A32 A32

struct line {
	const char	*text;
	int		 good;
};

static void
run(const char *what, int (*f)(const char *), const struct line *l)
{
	for (; l->text != NULL; l++)
		ATF_CHECK_EQ_MSG(l->good, f(l->text), "%s: \"%s\"", what,
		    l->text);
}

ATF_TC_WITHOUT_HEAD(ids);
ATF_TC_BODY(ids, tc)
{
	static const struct line	 lines[] = {
		{ "a", 1 }, { "0", 1 }, { "Web-1_x", 1 }, { A64, 1 },
		{ "", 0 }, { "-a", 0 }, { "_a", 0 }, { "a.b", 0 },
		{ "a/b", 0 }, { "a b", 0 }, { "a\n", 0 }, { "\303\244", 0 },
		{ A64 "a", 0 }, { NULL, 0 }
	};

	run("id", spec_valid_id, lines);
}

ATF_TC_WITHOUT_HEAD(images);
ATF_TC_BODY(images, tc)
{
	static const struct line	 lines[] = {
		{ "sandbox-base", 1 }, { "debian:12", 1 }, { "a/b/c", 1 },
		{ "example.org/a:Tag_1.2-x", 1 }, { "localhost/a", 1 },
		{ "h:5000/a:b", 1 }, { "a__b", 1 }, { "a.b-c--d", 1 },
		{ "a@sha256:" A64, 1 }, { "a:1@sha256:" A64, 1 },
		{ "", 0 }, { "A", 0 }, { "/a", 0 }, { "a/", 0 },
		{ "a//b", 0 }, { "..", 0 }, { "a/../b", 0 }, { "a..b", 0 },
		{ "a_-b", 0 }, { "a___b", 0 }, { "-a", 0 }, { "a-", 0 },
		{ "a:", 0 }, { "a:-x", 0 }, { "a:b:c", 0 }, { "a?x", 0 },
		{ "a%2f", 0 }, { "a#b", 0 }, { "a b", 0 }, { "a\nb", 0 },
		{ "a@sha256:abc", 0 }, { "a@md5:" A64, 0 },
		{ "h:/a", 0 }, { "h:500000/a", 0 }, { ".h.o/a", 0 },
		{ "h..o/a", 0 }, { "a:" A64 A64 "a", 0 }, { NULL, 0 }
	};

	run("image", spec_valid_image, lines);
}

ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	static const struct line	 keys[] = {
		{ "a", 1 }, { "a.b/c-d_e", 1 }, { "9", 1 },
		{ "", 0 }, { ".a", 0 }, { "a-", 0 }, { "a=b", 0 },
		{ A64, 1 }, { A64 "a", 0 }, { NULL, 0 }
	}, values[] = {
		{ "", 1 }, { "red apple", 1 }, { "\303\244", 1 },
		{ "a\tb", 0 }, { "\033[m", 0 }, { "\303", 0 },
		{ "\300\200", 0 }, { "\355\240\200", 0 },
		{ "\364\220\200\200", 0 }, { "\177", 0 }, { NULL, 0 }
	}, env[] = {
		{ "PATH", 1 }, { "_", 1 }, { "npm_config.x-y", 1 },
		{ "", 0 }, { "1A", 0 }, { "A=B", 0 }, { "A B", 0 },
		{ "A\n", 0 }, { NULL, 0 }
	}, dirs[] = {
		{ "/", 1 }, { "/a b/..c", 1 }, { "/a/...", 1 },
		{ "", 0 }, { "a", 0 }, { "/..", 0 }, { "/a/../b", 0 },
		{ "/a/..", 0 }, { "/a\n", 0 }, { NULL, 0 }
	}, states[] = {
		{ "ready", 1 }, { "deleted", 1 }, { "Ready", 0 },
		{ "", 0 }, { NULL, 0 }
	};

	run("label key", spec_valid_label_key, keys);
	run("label value", spec_valid_label_value, values);
	run("variable", spec_valid_env_name, env);
	run("directory", spec_valid_dir, dirs);
	run("state", spec_valid_state, states);
}

ATF_TC_WITHOUT_HEAD(users);
ATF_TC_BODY(users, tc)
{
	ATF_CHECK_EQ(SPEC_USER_DEFAULT, spec_user(""));
	ATF_CHECK_EQ(0, spec_user("root"));
	ATF_CHECK_EQ(0, spec_user("0"));
	ATF_CHECK_EQ(1000, spec_user("1000"));
	ATF_CHECK_EQ(4294967294LL, spec_user("4294967294"));
	ATF_CHECK_EQ(-1, spec_user("4294967295"));
	ATF_CHECK_EQ(-1, spec_user("99999999999999999999"));
	ATF_CHECK_EQ(-1, spec_user("01"));
	ATF_CHECK_EQ(-1, spec_user("+1"));
	ATF_CHECK_EQ(-1, spec_user("-1"));
	ATF_CHECK_EQ(-1, spec_user(" 1"));
	ATF_CHECK_EQ(-1, spec_user("1 "));
	ATF_CHECK_EQ(-1, spec_user("daemon"));
}

static void
ref_is(const char *text, int64_t owner, const char *id, uint64_t number)
{
	struct spec_ref	 ref;

	ATF_REQUIRE_MSG(spec_parse_ref(text, &ref) == 0, "%s", text);
	ATF_CHECK_EQ(owner, ref.owner);
	ATF_CHECK_STREQ(id, ref.id);
	ATF_CHECK_EQ(number, ref.number);
}

ATF_TC_WITHOUT_HEAD(references);
ATF_TC_BODY(references, tc)
{
	static const char *const	 bad[] = {
		"", "/", "a/", "x/a", "/a", "1/2/a", "a.", "a.0", "a.01",
		"a.x", ".1", "a.1.2", "a.18446744073709551616", "-1/a",
		"4294967295/a", "a .1", A64 "a"
	};
	struct spec_ref			 ref;
	size_t				 i;

	ref_is("a", -1, "a", 0);
	ref_is("0/a", 0, "a", 0);
	ref_is("1000/web.7", 1000, "web", 7);
	ref_is(A64 ".18446744073709551615", -1, A64, UINT64_MAX);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ATF_CHECK_MSG(spec_parse_ref(bad[i], &ref) == -1, "%s",
		    bad[i]);
}

static void
check(uint32_t type, const void *msg, enum code code, const char *field)
{
	struct spec_error	 e;
	int			 ret;

	ret = spec_check(type, msg, &e);
	ATF_CHECK_EQ_MSG(code == CODE_OK ? 0 : -1, ret, "%s: %s", field,
	    e.text);
	if (ret == 0)
		return;
	ATF_CHECK_EQ_MSG(code, e.code, "%s: %s", code_name(e.code), e.text);
	ATF_CHECK_STREQ(field, e.field);
}

ATF_TC_WITHOUT_HEAD(create);
ATF_TC_BODY(create, tc)
{
	struct proto_create	 c;
	struct spec_error	 e;
	char			 dir[] = "tmp";

	memset(&c, 0, sizeof(c));
	check(PROTO_CREATE, &c, CODE_OK, "");
	c.memory = SBX_MEMORY_MIN - 1;
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "memory");
	c.memory = SBX_MEMORY_MAX + 1;
	check(PROTO_CREATE, &c, CODE_LIMIT_EXCEEDED, "memory");
	c.memory = SBX_MEMORY_MIN;
	c.mcpus = 1;
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "mcpus");
	c.mcpus = SBX_MCPUS_MIN;
	c.pids = 1;
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "pids");
	c.pids = 0;
	c.keep = SBX_TIME_MAX + 1;
	check(PROTO_CREATE, &c, CODE_LIMIT_EXCEEDED, "keep");
	c.keep = SBX_TIME_NONE;
	check(PROTO_CREATE, &c, CODE_OK, "");
	c.keep = 0;
	c.tmpfs = SBX_TMPFS_MIN - 1;
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "tmpfs");
	c.tmpfs = c.memory;
	check(PROTO_CREATE, &c, CODE_OK, "");
	c.tmpfs++;
	check(PROTO_CREATE, &c, CODE_LIMIT_EXCEEDED, "tmpfs");
	c.tmpfs = SBX_TMPFS_MIN;
	c.disk = SBX_DISK_MIN;
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "tmpfs");
	c.tmpfs = c.disk = 0;
	ATF_REQUIRE(kvv_add(&c.mounts, "/mnt/a", "/srv") == 0 &&
	    kvv_add(&c.mounts_rw, "/mnt/b", "/srv/b") == 0);
	check(PROTO_CREATE, &c, CODE_OK, "");
	ATF_REQUIRE(kvv_add(&c.mounts_rw, "/mnt/a/c", "/srv") == 0);
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "mounts_rw");
	kvv_clear(&c.mounts);
	check(PROTO_CREATE, &c, CODE_OK, "");
	snprintf(c.user, sizeof(c.user), "root");
	check(PROTO_CREATE, &c, CODE_UNSUPPORTED, "mounts_rw");
	c.user[0] = '\0';
	kvv_clear(&c.mounts_rw);
	snprintf(c.companion_of, sizeof(c.companion_of), "db-1");
	check(PROTO_CREATE, &c, CODE_OK, "");
	snprintf(c.companion_of, sizeof(c.companion_of), "a/b");
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "companion_of");
	snprintf(c.companion_of, sizeof(c.companion_of), "db");
	snprintf(c.id, sizeof(c.id), "db");
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "companion_of");
	c.companion_of[0] = c.id[0] = '\0';
	c.workdir = dir;
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "workdir");
	c.workdir = NULL;
	snprintf(c.user, sizeof(c.user), "me");
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "user");
	c.user[0] = '\0';
	snprintf(c.image, sizeof(c.image), "../x");
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "image");
	c.image[0] = '\0';
	snprintf(c.key, sizeof(c.key), "a\nb");
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "key");
	c.key[0] = '\0';
	ATF_REQUIRE(kvv_add(&c.env, "A", "\377") == 0);
	check(PROTO_CREATE, &c, CODE_INVALID_ARGUMENT, "env");
	kvv_clear(&c.env);
	/* What a text repeats is short, and harmless on a terminal. */
	memset(c.id, '\033', SBX_ID_MAX);
	ATF_CHECK_EQ(-1, spec_check(PROTO_CREATE, &c, &e));
	ATF_CHECK(strchr(e.text, '\033') == NULL);
	ATF_CHECK(strstr(e.text, "64") != NULL);
}

ATF_TC_WITHOUT_HEAD(exec);
ATF_TC_BODY(exec, tc)
{
	struct proto_exec	 x;
	struct spec_error	 e;
	char			 box[] = "box", one[] = "box.1", dir[] = "d";
	char			*big;
	int			 i;

	memset(&x, 0, sizeof(x));
	x.sandbox = one;
	check(PROTO_EXEC, &x, CODE_INVALID_ARGUMENT, "sandbox");
	x.sandbox = box;
	check(PROTO_EXEC, &x, CODE_INVALID_ARGUMENT, "argv");
	ATF_REQUIRE(strv_add(&x.argv, "") == 0);
	check(PROTO_EXEC, &x, CODE_INVALID_ARGUMENT, "argv");
	strv_clear(&x.argv);

	/*
	 * (b38) (b40) (b41) (b42) One argument, and all together: up to the
	 * limit, not beyond.
	 */
	ATF_REQUIRE((big = calloc(1, EXEC_ARG_MAX + 2)) != NULL);
	memset(big, 'x', EXEC_ARG_MAX);
	ATF_REQUIRE(strv_add(&x.argv, big) == 0);
	check(PROTO_EXEC, &x, CODE_OK, "");
	big[EXEC_BYTES_MAX - EXEC_ARG_MAX] = '\0';
	ATF_REQUIRE(strv_add(&x.argv, big) == 0);
	check(PROTO_EXEC, &x, CODE_OK, "");
	ATF_REQUIRE(strv_add(&x.argv, "x") == 0);
	check(PROTO_EXEC, &x, CODE_LIMIT_EXCEEDED, "argv");
	ATF_CHECK_EQ(-1, spec_check(PROTO_EXEC, &x, &e));
	ATF_CHECK(strstr(e.text, "196609") != NULL);
	ATF_CHECK(strstr(e.text, "196608") != NULL);
	strv_clear(&x.argv);
	memset(big, 'x', EXEC_ARG_MAX + 1);
	ATF_REQUIRE(strv_add(&x.argv, big) == 0);
	check(PROTO_EXEC, &x, CODE_LIMIT_EXCEEDED, "argv");
	strv_clear(&x.argv);
	free(big);

	for (i = 0; i < EXEC_ENTRIES_MAX; i++)
		ATF_REQUIRE(strv_add(&x.argv, "x") == 0);
	check(PROTO_EXEC, &x, CODE_OK, "");
	ATF_REQUIRE(kvv_add(&x.env, "A", "") == 0);
	check(PROTO_EXEC, &x, CODE_LIMIT_EXCEEDED, "argv");
	strv_clear(&x.argv);
	ATF_REQUIRE(strv_add(&x.argv, "true") == 0);
	x.dir = dir;
	check(PROTO_EXEC, &x, CODE_INVALID_ARGUMENT, "dir");
	x.dir = NULL;
	strlcpy(x.reason, "why not", sizeof(x.reason));
	check(PROTO_EXEC, &x, CODE_OK, "");
	strlcpy(x.reason, "  ", sizeof(x.reason));
	check(PROTO_EXEC, &x, CODE_INVALID_ARGUMENT, "reason");
	strlcpy(x.reason, "a\nb", sizeof(x.reason));
	check(PROTO_EXEC, &x, CODE_INVALID_ARGUMENT, "reason");
	strlcpy(x.reason, "\377", sizeof(x.reason));
	check(PROTO_EXEC, &x, CODE_INVALID_ARGUMENT, "reason");
	x.reason[0] = '\0';
	ATF_REQUIRE(kvv_add(&x.env, "B C", "") == 0);
	check(PROTO_EXEC, &x, CODE_INVALID_ARGUMENT, "env");
	kvv_clear(&x.env);
	strv_clear(&x.argv);
}

/* Patterns of the changes that are to be told. */
ATF_TC_WITHOUT_HEAD(scope);
ATF_TC_BODY(scope, tc)
{
	static const char *const bad[] = { "", "/a", "..", "a/../b", "a/..",
				    "a\nb", "\377" };
	static const char *const good[] = { "a", "a/", "**/b", "..a", "{a,b}",
				    "[", "caf\303\251", "a//b" };
	struct proto_exec	 x;
	char			 box[] = "box", big[CHANGES_PATTERN_MAX + 2];
	size_t			 i;

	memset(&x, 0, sizeof(x));
	x.sandbox = box;
	ATF_REQUIRE(strv_add(&x.argv, "true") == 0);
	ATF_REQUIRE(strv_add(&x.exclude, "a") == 0);
	check(PROTO_EXEC, &x, CODE_INVALID_ARGUMENT, "exclude");
	x.flags = EXEC_CHANGES;
	check(PROTO_EXEC, &x, CODE_OK, "");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ATF_REQUIRE(strv_add(&x.include, bad[i]) == 0);
		check(PROTO_EXEC, &x, CODE_INVALID_ARGUMENT, "include");
		strv_clear(&x.include);
	}
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ATF_REQUIRE(strv_add(&x.include, good[i]) == 0);
	check(PROTO_EXEC, &x, CODE_OK, "");
	memset(big, 'x', sizeof(big));
	big[CHANGES_PATTERN_MAX + 1] = '\0';
	ATF_REQUIRE(strv_add(&x.exclude, big) == 0);
	check(PROTO_EXEC, &x, CODE_LIMIT_EXCEEDED, "exclude");
	strv_clear(&x.exclude);
	big[CHANGES_PATTERN_MAX] = '\0';
	while (x.include.n + x.exclude.n < CHANGES_SCOPE_MAX)
		ATF_REQUIRE(strv_add(&x.exclude, big) == 0);
	check(PROTO_EXEC, &x, CODE_OK, "");
	ATF_REQUIRE(strv_add(&x.include, "a") == 0);
	check(PROTO_EXEC, &x, CODE_LIMIT_EXCEEDED, "include");
	strv_clear(&x.include);
	strv_clear(&x.exclude);
	strv_clear(&x.argv);
}

ATF_TC_WITHOUT_HEAD(others);
ATF_TC_BODY(others, tc)
{
	struct proto_attach	 at;
	struct proto_hello	 hello;
	struct proto_credit	 credit = { 0 };
	struct proto_list	 list;
	struct proto_events	 events;
	uint32_t		 type;
	char			 box[] = "box", one[] = "box.1";

	memset(&at, 0, sizeof(at));
	at.exec = one;
	check(PROTO_ATTACH, &at, CODE_INVALID_ARGUMENT, "streams");
	at.streams = 7;
	check(PROTO_ATTACH, &at, CODE_OK, "");
	check(PROTO_LOGS, &at, CODE_INVALID_ARGUMENT, "streams");
	at.streams = 2;
	check(PROTO_LOGS, &at, CODE_OK, "");
	at.exec = box;
	check(PROTO_LOGS, &at, CODE_INVALID_ARGUMENT, "exec");
	memset(&hello, 0, sizeof(hello));
	check(PROTO_HELLO, &hello, CODE_UNSUPPORTED, "version");
	check(PROTO_CREDIT, &credit, CODE_INVALID_ARGUMENT, "n");
	memset(&list, 0, sizeof(list));
	snprintf(list.state, sizeof(list.state), "asleep");
	check(PROTO_LIST, &list, CODE_INVALID_ARGUMENT, "state");
	memset(&events, 0, sizeof(events));
	snprintf(events.type, sizeof(events.type), "sandbox.ready");
	check(PROTO_EVENTS, &events, CODE_OK, "");
	/* It would come back as it is, in an error's text. */
	snprintf(events.type, sizeof(events.type), "\377\033[2J");
	check(PROTO_EVENTS, &events, CODE_INVALID_ARGUMENT, "type");
	/* Answers are no requests, and every request has its check. */
	check(PROTO_HELLO_OK, NULL, CODE_UNSUPPORTED, "");
	check(0, NULL, CODE_UNSUPPORTED, "");
	check(UINT32_MAX, NULL, CODE_UNSUPPORTED, "");
	for (type = 1; type < PROTO_HELLO_OK; type++)
		if (proto_def(type) != NULL && proto_def(type)->nfields == 0)
			check(type, NULL, CODE_OK, "");
}

/* A request with that field, or what is wrong with it; as a client's. */
static void
with_field(uint32_t type, const char *key, const char *value,
    const char **field, char *text, size_t size)
{
	union {
		uint64_t		 align;
		struct proto_create	 create;
		struct proto_exec	 exec;
		struct proto_ref	 ref;
	} u;
	const struct msg_def	*def = proto_def(type);
	static char		 named[FIELD_MAX + 1];
	struct spec_error	 e;
	msgpack_sbuffer		 sb;
	msgpack_packer		 pk;
	const char		*must, *why, *f;

	must = type == PROTO_CREATE ? "id" : type == PROTO_EXEC ? "sandbox" :
	    "id";
	msgpack_sbuffer_init(&sb);
	msgpack_packer_init(&pk, &sb, msgpack_sbuffer_write);
	msgpack_pack_map(&pk, type == PROTO_EXEC ? 3 : 2);
	msgpack_pack_str_with_body(&pk, must, strlen(must));
	msgpack_pack_str_with_body(&pk, "web", 3);
	if (type == PROTO_EXEC) {
		msgpack_pack_str_with_body(&pk, "argv", 4);
		msgpack_pack_array(&pk, 1);
		msgpack_pack_str_with_body(&pk, "id", 2);
	}
	msgpack_pack_str_with_body(&pk, key, strlen(key));
	msgpack_pack_str_with_body(&pk, value, strlen(value));
	*field = NULL;
	text[0] = '\0';
	if (msg_decode_map(&u, def, (const uint8_t *)sb.data, sb.size, &f,
	    &why) == -1) {
		*field = f != NULL ? f : "";
		snprintf(text, size, "%s", why);
	} else {
		if (spec_check(type, &u, &e) == -1) {
			snprintf(named, sizeof(named), "%s", e.field);
			*field = named;
			snprintf(text, size, "%s", e.text);
		}
		msg_clear(&u, def);
	}
	msgpack_sbuffer_destroy(&sb);
}

/*
 * Nothing that the Engine would give can be asked for, by its name or by
 * another; the user alone can, in two spellings, and the policy judges it.
 */
ATF_TC(privileged);
ATF_TC_HEAD(privileged, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aH6) what is like root is refused "
	    "in each spelling, with the field named");
}
ATF_TC_BODY(privileged, tc)
{
	static const char *const	 fields[] = {
		"privileged", "Privileged", "PRIVILEGED", "privileged ",
		"--privileged", "cap_add", "cap-add", "CapAdd", "capadd",
		"caps", "capabilities", "security_opt", "SecurityOpt",
		"seccomp", "apparmor", "no_new_privileges", "devices",
		"Devices", "DeviceRequests", "gpus", "binds", "Binds",
		"mount", "Mounts", "volumes", "VolumesFrom", "network",
		"NetworkMode", "net", "ports", "PortBindings", "pid",
		"PidMode", "ipc", "IpcMode", "uts", "UTSMode", "userns",
		"UsernsMode", "cgroupns", "CgroupParent", "Cgroup",
		"Runtime", "runtime", "Sysctls", "sysctl", "GroupAdd",
		"groups", "gid", "HostConfig", "hostconfig", "MaskedPaths",
		"ReadonlyPaths", "OomKillDisable", "oom_score_adj",
		"Annotations", "entrypoint", "Entrypoint", "User", "USER",
		"user ", "uid", "owner", "Image", "image_id", "container",
		"Labels", "nonce", "n", "__proto__", "",
	};
	static const char *const	 users[] = {
		"Root", "ROOT", "root ", " root", "root:root", "root:0",
		"0:0", ":0", "0:", "00", "000", "+0", "-0", "0x0", "0 ",
		" 0", "0.0", "0e0", "4294967296", "18446744073709551616",
		"-1", "4294967295", "r\303\266ot", "root\t", "toor",
	};
	static const uint32_t		 types[] = {
		PROTO_CREATE, PROTO_EXEC, PROTO_RESUME, PROTO_PAUSE,
		PROTO_UNPAUSE, PROTO_RESTART
	};
	const char			*field;
	char				 text[TEXT_MAX + 1];
	size_t				 i, k;

	for (k = 0; k < 3; k++)
		for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			with_field(types[k], fields[i], "true", &field, text,
			    sizeof(text));
			ATF_CHECK_MSG(field != NULL, "%s", fields[i]);
			ATF_CHECK_MSG(strncmp(text, "unknown field", 13) == 0,
			    "%s: %s", fields[i], text);
			/* What is no word is not repeated. */
			if (strpbrk(fields[i], " -") == NULL)
				ATF_CHECK_MSG(strstr(text, fields[i]) != NULL,
				    "%s: %s", fields[i], text);
		}
	for (k = 0; k < 2; k++)
		for (i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
			with_field(types[k], "user", users[i], &field, text,
			    sizeof(text));
			ATF_REQUIRE_MSG(field != NULL, "\"%s\"", users[i]);
			ATF_CHECK_STREQ("user", field);
		}
	/* Twice, it would be a matter of who reads it. */
	with_field(PROTO_CREATE, "id", "box", &field, text, sizeof(text));
	ATF_REQUIRE(field != NULL);
	ATF_CHECK_STREQ("id", field);
	with_field(PROTO_CREATE, "user", "1000", &field, text, sizeof(text));
	ATF_CHECK(field == NULL);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, ids);
	ATF_TP_ADD_TC(tp, images);
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, users);
	ATF_TP_ADD_TC(tp, references);
	ATF_TP_ADD_TC(tp, create);
	ATF_TP_ADD_TC(tp, exec);
	ATF_TP_ADD_TC(tp, scope);
	ATF_TP_ADD_TC(tp, others);
	ATF_TP_ADD_TC(tp, privileged);
	return (atf_no_error());
}
