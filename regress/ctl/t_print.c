/*
 * t_print.c: what sandboxctl prints, for people and for programs.
 *
 * regress-objs: ../sandboxctl/output.o ../sandboxctl/output_json.o
 * regress-objs: ../sandboxctl/json_lack.o ../sandboxctl/base64.o
 */

#include <atf-c.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sandboxctl.h"

#define DAY	1767571200000000000ULL	/* 2026-01-05 00:00:00 UTC */

static char	*text;
static size_t	 textlen;

static FILE *
begin(void)
{
	FILE	*f;

	ATF_REQUIRE(setenv("TZ", "UTC", 1) == 0);
	tzset();
	ATF_REQUIRE((f = open_memstream(&text, &textlen)) != NULL);
	return (f);
}

static void
check(FILE *f, const char *want)
{
	fclose(f);
	ATF_CHECK_STREQ(want, text);
	free(text);
	text = NULL;
}

static void
example(struct proto_sandbox *s)
{
	memset(s, 0, sizeof(*s));
	strlcpy(s->id, "web", sizeof(s->id));
	s->number = 7;
	s->owner = 1000;
	strlcpy(s->state, "ready", sizeof(s->state));
	strlcpy(s->image, "sandbox-base", sizeof(s->image));
	strlcpy(s->image_id, "sha256:12", sizeof(s->image_id));
	strlcpy(s->container, "abc", sizeof(s->container));
	ATF_REQUIRE(kvv_add(&s->labels, "team", "demo") == 0);
	ATF_REQUIRE(kvv_add(&s->labels, "x", "\033[2J") == 0);
	ATF_REQUIRE(strv_add(&s->env, "PATH") == 0);
	s->memory = 2ULL << 30;
	s->memory_seen = 2ULL << 30;
	s->mcpus = 1500;
	s->mcpus_seen = 2000;
	s->pids = 512;
	s->disk = 1073741824;
	ATF_REQUIRE((s->workdir = strdup("/workspace")) != NULL);
	s->user = 2000000001;
	s->created = DAY;
	s->changed = DAY + 61000000000ULL;
	s->seq = 3;
	s->guest = 1;
	s->lifetime = 7200000;
	s->expires = DAY + 7200000000000ULL;
	s->idle = 90000;
	strlcpy(s->next, "stop", sizeof(s->next));
	strlcpy(s->next_by, "idle", sizeof(s->next_by));
	s->next_in = 61000;
	strlcpy(s->degraded, "the Engine is away", sizeof(s->degraded));
	s->tmpfs = 64 << 20;
	strlcpy(s->companion_of, "api", sizeof(s->companion_of));
	ATF_REQUIRE(kvv_add(&s->mounts, "/mnt/a", "/srv/a") == 0 &&
	    kvv_add(&s->mounts_rw, "/mnt/b", "/srv/\033b") == 0);
}

ATF_TC_WITHOUT_HEAD(sandbox);
ATF_TC_BODY(sandbox, tc)
{
	struct proto_sandbox	 s;
	FILE			*f;

	example(&s);
	f = begin();
	out_sandbox(f, &s);
	check(f,
	    "id           web\n"
	    "number       7\n"
	    "owner        1000\n"
	    "state        ready\n"
	    "degraded     the Engine is away\n"
	    "image        sandbox-base\n"
	    "image id     sha256:12\n"
	    "container    abc\n"
	    "memory       2G\n"
	    "cpus         1.5 (in force: 2)\n"
	    "pids         512\n"
	    "disk         1G\n"
	    "tmpfs        64M\n"
	    "user         2000000001\n"
	    "directory    /workspace\n"
	    "root         writable\n"
	    "companion of api\n"
	    "mounts       /mnt/a reads /srv/a\n"
	    "             /mnt/b writes /srv/\\033b\n"
	    "labels       team=demo\n"
	    "             x=\\033[2J\n"
	    "environment  PATH\n"
	    "created      2026-01-05 00:00:00\n"
	    "changed      2026-01-05 00:01:01\n"
	    "lifetime     2h00m\n"
	    "expires      2026-01-05 02:00:00\n"
	    "idle         1m30s\n"
	    "next         stop in 1m01s, by idle\n"
	    "events       3\n"
	    "execs        0\n"
	    "guest        1\n");
	f = begin();
	json_proto(f, PROTO_SANDBOX, &s);
	check(f, "{\"id\":\"web\",\"number\":7,\"owner\":1000,"
	    "\"state\":\"ready\",\"cause\":\"\",\"image\":\"sandbox-base\","
	    "\"image_id\":\"sha256:12\",\"container\":\"abc\","
	    "\"labels\":{\"team\":\"demo\",\"x\":\"\\u001B[2J\"},"
	    "\"env\":[\"PATH\"],\"memory\":2147483648,\"mcpus\":1500,"
	    "\"pids\":512,\"memory_seen\":2147483648,\"mcpus_seen\":2000,"
	    "\"pids_seen\":0,\"workdir\":\"/workspace\",\"user\":2000000001,"
	    "\"readonly\":0,\"created\":1767571200000000000,"
	    "\"changed\":1767571261000000000,\"seq\":3,\"execs\":0,"
	    "\"guest\":1,\"missing\":0,\"resume\":0,\"lifetime\":7200000,"
	    "\"expires\":1767578400000000000,\"idle\":90000,"
	    "\"next\":\"stop\",\"next_by\":\"idle\",\"next_in\":61000,\"keep\":0,\"disk\":1073741824,"
	    "\"degraded\":\"the Engine is away\",\"tmpfs\":67108864,"
	    "\"mounts\":{\"/mnt/a\":\"/srv/a\"},"
	    "\"mounts_rw\":{\"/mnt/b\":\"/srv/\\u001Bb\"},"
	    "\"companion_of\":\"api\"}\n");
	msg_clear(&s, proto_def(PROTO_SANDBOX));
}

ATF_TC_WITHOUT_HEAD(list);
ATF_TC_BODY(list, tc)
{
	struct proto_sandbox	 s;
	struct table		*t;
	FILE			*f;

	example(&s);
	t = out_list_new();
	f = begin();
	table_print(t, f);
	check(f, "");
	out_list_add(t, &s);
	strlcpy(s.id, "a-longer-name", sizeof(s.id));
	s.memory = 1000;
	s.created = 0;
	out_list_add(t, &s);
	f = begin();
	table_print(t, f);
	check(f,
	    "ID             STATE  OWNER  IMAGE         MEMORY  CPUS  PIDS  "
	    "EXECS  CREATED\n"
	    "web            ready  1000   sandbox-base  2G      1.5   512   "
	    "0      2026-01-05 00:00:00\n"
	    "a-longer-name  ready  1000   sandbox-base  1000    1.5   512   "
	    "0      -\n");
	table_free(t);
	msg_clear(&s, proto_def(PROTO_SANDBOX));
}

ATF_TC_WITHOUT_HEAD(execs);
ATF_TC_BODY(execs, tc)
{
	struct proto_exec_info	 e;
	struct table		*t;
	FILE			*f;

	memset(&e, 0, sizeof(e));
	strlcpy(e.id, "web.1", sizeof(e.id));
	strlcpy(e.state, "exited", sizeof(e.state));
	e.code = 3;
	ATF_REQUIRE(strv_add(&e.argv, "sh") == 0);
	ATF_REQUIRE(strv_add(&e.argv, "-c") == 0);
	ATF_REQUIRE(strv_add(&e.argv, "\303\244\n\377") == 0);
	e.length1 = 12345;
	e.created = DAY;
	t = out_ps_new();
	out_ps_add(t, &e);
	strlcpy(e.id, "web.12", sizeof(e.id));
	strlcpy(e.state, "signaled", sizeof(e.state));
	e.code = 9;
	out_ps_add(t, &e);
	/* What is not known yet is not nothing. */
	e.length1 = 0;
	strlcpy(e.state, "running", sizeof(e.state));
	out_ps_add(t, &e);
	strlcpy(e.state, "pending", sizeof(e.state));
	out_ps_add(t, &e);
	f = begin();
	table_print(t, f);
	check(f,
	    "EXEC    STATE     STATUS  STDOUT  STDERR  CREATED              "
	    "COMMAND\n"
	    "web.1   exited    3       12345   0       2026-01-05 00:00:00  "
	    "sh -c \303\244\\012\\377\n"
	    "web.12  signaled  KILL    12345   0       2026-01-05 00:00:00  "
	    "sh -c \303\244\\012\\377\n"
	    "web.12  running   -       -       -       2026-01-05 00:00:00  "
	    "sh -c \303\244\\012\\377\n"
	    "web.12  pending   -       -       -       2026-01-05 00:00:00  "
	    "sh -c \303\244\\012\\377\n");
	table_free(t);
	/* No UTF-8 is no JSON. */
	f = begin();
	json_proto(f, PROTO_EXEC_INFO, &e);
	fclose(f);
	ATF_CHECK(strstr(text, "\"argv\":[\"sh\",\"-c\",\"\357\277\275"
	    "\357\277\275\\n\357\277\275\"]") != NULL);
	free(text);
	msg_clear(&e, proto_def(PROTO_EXEC_INFO));
}

ATF_TC_WITHOUT_HEAD(events);
ATF_TC_BODY(events, tc)
{
	struct proto_heartbeat	 h;
	struct proto_event	 e;
	FILE			*f;

	memset(&e, 0, sizeof(e));
	e.host_seq = 12;
	e.seq = 2;
	e.time = DAY;
	strlcpy(e.sandbox, "web", sizeof(e.sandbox));
	strlcpy(e.type, "sandbox.ready", sizeof(e.type));
	strlcpy(e.state, "ready", sizeof(e.state));
	e.actor = -1;
	f = begin();
	out_event(f, &e);
	e.actor = 0;
	ATF_REQUIRE(kvv_add(&e.detail, "pid", "4") == 0);
	ATF_REQUIRE(kvv_add(&e.detail, "a", "b \"c\n") == 0);
	*e.sandbox = *e.state = '\0';
	out_event(f, &e);
	check(f,
	    "12 2026-01-05 00:00:00 web 2 sandbox.ready ready\n"
	    "12 2026-01-05 00:00:00 - - sandbox.ready - uid=0 pid=4 "
	    "a=\"b \\\"c\\012\"\n");
	f = begin();
	json_proto(f, PROTO_EVENT, &e);
	check(f, "{\"host_seq\":12,\"seq\":2,\"time\":1767571200000000000,"
	    "\"sandbox\":\"\",\"owner\":0,\"type\":\"sandbox.ready\","
	    "\"state\":\"\",\"actor\":0,\"op\":0,\"detail\":{\"pid\":\"4\","
	    "\"a\":\"b \\\"c\\n\"},\"replayed\":0}\n");
	msg_clear(&e, proto_def(PROTO_EVENT));
	h.seq = 12;
	h.time = DAY;
	f = begin();
	out_heartbeat(f, &h);
	check(f, "- 2026-01-05 00:00:00 - - heartbeat - seq=12\n");
	f = begin();
	json_kind(f, PROTO_HEARTBEAT, &h);
	check(f, "{\"heartbeat\":{\"seq\":12,"
	    "\"time\":1767571200000000000}}\n");
}

ATF_TC_WITHOUT_HEAD(status);
ATF_TC_BODY(status, tc)
{
	struct proto_status_info	 s;
	struct proto_proc		 p[2];
	FILE				*f;

	memset(&s, 0, sizeof(s));
	memset(p, 0, sizeof(p));
	strlcpy(s.instance, "0011", sizeof(s.instance));
	strlcpy(s.daemon, "sandboxd 1", sizeof(s.daemon));
	s.engine_up = 1;
	strlcpy(s.engine, "20.10", sizeof(s.engine));
	s.sandboxes = 3;
	s.ready = 2;
	s.requests = 1;
	s.waiting = 3;
	s.subscriptions = 2;
	strlcpy(p[0].name, "parent", sizeof(p[0].name));
	p[0].pid = 10;
	strlcpy(p[0].user, "root", sizeof(p[0].user));
	p[0].started = DAY;
	strlcpy(p[0].layers, "seccomp", sizeof(p[0].layers));
	strlcpy(p[1].name, "store", sizeof(p[1].name));
	p[1].pid = 11;
	p[1].uid = 900;
	strlcpy(p[1].user, "_sbxstore", sizeof(p[1].user));
	p[1].started = DAY + 90000000000000ULL;
	strlcpy(p[1].layers, "seccomp mdwe", sizeof(p[1].layers));
	strlcpy(p[1].missing, "landlock", sizeof(p[1].missing));
	f = begin();
	out_status(f, &s, p, 2, DAY + 90065000000000ULL);
	check(f,
	    "daemon       sandboxd 1\n"
	    "instance     0011\n"
	    "engine       20.10, live-restore off\n"
	    "sandboxes    3, 2 of them ready\n"
	    "execs        0\n"
	    "clients      0\n"
	    "requests     1, 3 that go on, 2 of them subscriptions\n"
	    "pipes        0\n"
	    "events       0\n"
	    "\n"
	    "PROCESS  PID  USER       UPTIME  CONFINED BY\n"
	    "parent   10   root       1d01h   seccomp\n"
	    "store    11   _sbxstore  1m05s   seccomp mdwe, "
	    "missing: landlock\n");
	s.engine_up = 0;
	strlcpy(s.engine_text, "gone", sizeof(s.engine_text));
	f = begin();
	out_status(f, &s, p, 0, DAY);
	fclose(f);
	ATF_CHECK(strstr(text, "engine       away: gone\n") != NULL);
	free(text);
	f = begin();
	json_status(f, &s, p, 1);
	fclose(f);
	ATF_CHECK(strstr(text, "\"engine_up\":0") != NULL);
	ATF_CHECK(strstr(text, "\"processes\":[{\"name\":\"parent\",\"pid\":10,"
	    "\"uid\":0,\"user\":\"root\",\"started\":1767571200000000000,"
	    "\"layers\":\"seccomp\",\"missing\":\"\"}]}\n")
	    != NULL);
	free(text);
}

ATF_TC_WITHOUT_HEAD(errors);
ATF_TC_BODY(errors, tc)
{
	FILE	*f;

	f = begin();
	out_error(f, "not_found", "", "no such sandbox: web");
	out_error(f, "invalid_argument", "memory", "too small: 1");
	out_error(f, "invalid_argument", "memory", "memory is too small: 1");
	out_error(f, "internal", "", "\001\302\205\177");
	out_error(f, "internal", "", "\342\200\256x\342\201\246\342\200\246");
	/* Too long forms of the same, a surrogate, more than there is. */
	out_error(f, "internal", "", "\340\202\233\360\200\202\233");
	out_error(f, "internal", "", "\355\240\200\364\220\200\200");
	out_error(f, "internal", "", "\340\240\200\355\237\277\364\217\277\277");
	check(f,
	    "sandboxctl: no such sandbox: web (not_found)\n"
	    "sandboxctl: memory: too small: 1 (invalid_argument)\n"
	    "sandboxctl: memory is too small: 1 (invalid_argument)\n"
	    "sandboxctl: \\001\\302\\205\\177 (internal)\n"
	    "sandboxctl: \\342\\200\\256x\\342\\201\\246"
	    "\342\200\246 (internal)\n"
	    "sandboxctl: \\340\\202\\233\\360\\200\\202\\233 (internal)\n"
	    "sandboxctl: \\355\\240\\200\\364\\220\\200\\200 (internal)\n"
	    "sandboxctl: \340\240\200\355\237\277\364\217\277\277"
	    " (internal)\n");
	f = begin();
	json_error(f, "not_found", "", "no \"such\"");
	json_error(f, "invalid_argument", "memory", "bad");
	json_error(f, "internal", "", "\033\302\205\177\303\244");
	check(f,
	    "{\"error\":{\"code\":\"not_found\",\"text\":\"no \\\"such\\\"\"}}"
	    "\n{\"error\":{\"code\":\"invalid_argument\",\"text\":\"bad\","
	    "\"field\":\"memory\"}}\n"
	    "{\"error\":{\"code\":\"internal\",\"text\":"
	    "\"\\u001B\\u0085\\u007F\303\244\"}}\n");
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, sandbox);
	ATF_TP_ADD_TC(tp, list);
	ATF_TP_ADD_TC(tp, execs);
	ATF_TP_ADD_TC(tp, events);
	ATF_TP_ADD_TC(tp, status);
	ATF_TP_ADD_TC(tp, errors);
	return (atf_no_error());
}
