/*
 * t_parser.c: the command line of sandboxctl.
 *
 * regress-objs: ../sandboxctl/parser.o ../sandboxctl/keys.o
 * regress-objs: ../sandboxctl/options.o ../sandboxctl/values.o
 * regress-objs: ../sandboxctl/mount_arg.o ../sandboxctl/host_tool.o
 */

#include <atf-c.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "sandboxctl.h"

/* The table names these; here none of them runs. */
#define COMMAND(name)							\
int									\
cmd_##name(struct ctl *ctl)						\
{									\
	return (ctl->argc);						\
}

COMMAND(attach) COMMAND(create) COMMAND(delete) COMMAND(doctor) COMMAND(events)
COMMAND(exec) COMMAND(extend) COMMAND(forward) COMMAND(image_base)
COMMAND(image_import) COMMAND(kill) COMMAND(list) COMMAND(log_dump)
COMMAND(log_verify) COMMAND(logs) COMMAND(ping) COMMAND(ps) COMMAND(reconcile)
COMMAND(reload) COMMAND(pause) COMMAND(restart) COMMAND(unpause) COMMAND(update)
COMMAND(resume) COMMAND(rules) COMMAND(run) COMMAND(session) COMMAND(shell)
COMMAND(show) COMMAND(skills_list) COMMAND(skills_push) COMMAND(status) COMMAND(stop) COMMAND(tool_delete)
COMMAND(tool_describe) COMMAND(tool_execute) COMMAND(tool_download)
COMMAND(tool_edit)
COMMAND(tool_glob) COMMAND(tool_grep) COMMAND(tool_ls) COMMAND(tool_read)
COMMAND(tool_upload) COMMAND(tool_write) COMMAND(version) COMMAND(wait)
COMMAND(watch) COMMAND(diff) COMMAND(mark) COMMAND(unmark) COMMAND(cat)
COMMAND(chmod) COMMAND(du) COMMAND(get) COMMAND(ls) COMMAND(mkdir) COMMAND(mv)
COMMAND(put) COMMAND(rm) COMMAND(stat) COMMAND(export) COMMAND(cp)

/* What -H says of files that it does not find, which no line here reaches. */
int
file_errno(struct ctl *ctl, const char *path)
{
	(void)ctl;
	atf_tc_fail("%s", path);
}

int
file_local(struct ctl *ctl, enum code code, const char *path, const char *text)
{
	(void)ctl;
	(void)code;
	atf_tc_fail("%s: %s", path, text);
}

#define WORDS	32

/* Parse a line of words; 0 or -1 as parse() has it. */
static int
line(struct ctl *ctl, const char *text, char *err, size_t len)
{
	static char	 buf[1024];
	static char	*argv[WORDS + 2];
	char		*p = buf, *word;
	int		 argc = 0;

	memset(ctl, 0, sizeof(*ctl));
	strlcpy(buf, text, sizeof(buf));
	/* Before the first word lies the program's name. */
	argv[argc++] = (char *)(uintptr_t)"sandboxctl";
	while (argc < WORDS && (word = strsep(&p, " ")) != NULL)
		argv[argc++] = word;
	argv[argc] = NULL;
	*err = '\0';
	return (parse(ctl, argc - 1, argv + 1, err, len));
}

ATF_TC_WITHOUT_HEAD(commands_found);
ATF_TC_BODY(commands_found, tc)
{
	static const struct {
		const char	*text;
		const char	*name;	/* NULL: refused */
		const char	*err;
	} t[] = {
		{ "create", "create", "" },
		{ "cr", "create", "" },
		{ "c", NULL, "ambiguous command: c" },
		{ "list", "list", "" },
		{ "li", "list", "" },
		{ "logs x", "logs", "" },
		{ "log v", "log verify", "" },
		{ "log verify", "log verify", "" },
		{ "image b", "image base", "" },
		{ "i i a b", "image import", "" },
		{ "exe a b", "exec", "" },
		{ "ext a", "extend", "" },
		{ "ex a b", NULL, "ambiguous command: ex" },
		{ "run x", "run", "" },
		{ "l", NULL, "ambiguous command: l" },
		{ "lo", NULL, "ambiguous command: lo" },
		{ "r", NULL, "ambiguous command: r" },
		{ "re", NULL, "ambiguous command: re" },
		{ "log", NULL, "incomplete command: log" },
		{ "image", NULL, "incomplete command: image" },
		{ "image x", NULL, "unknown command: x" },
		{ "logsx x", NULL, "unknown command: logsx" },
		{ "", NULL, "unknown command: " },
		{ "ping x", NULL, "extra argument: x" },
		{ "show", NULL, "missing argument" },
		{ "show a b", NULL, "extra argument: b" },
		{ "image import a", NULL, "missing argument" },
	};
	struct ctl	 ctl;
	char		 err[256];
	size_t		 i;
	int		 ret;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ret = line(&ctl, t[i].text, err, sizeof(err));
		ATF_CHECK_EQ_MSG(ret, t[i].name == NULL ? -1 : 0, "%s: %s",
		    t[i].text, err);
		ATF_CHECK_STREQ_MSG(t[i].err, err, "%s", t[i].text);
		if (ret == 0)
			ATF_CHECK_STREQ(t[i].name, ctl.cmd->name);
		parse_free(&ctl);
	}
}

/* Every command by its whole name, and by each prefix nothing else. */
ATF_TC_WITHOUT_HEAD(table);
ATF_TC_BODY(table, tc)
{
	struct ctl	 ctl;
	const struct option_def	*o;
	char		 err[256], text[256];
	size_t		 i;
	int		 n;

	for (i = 0; i < ncommands; i++) {
		strlcpy(text, commands[i].name, sizeof(text));
		for (n = 0; n < commands[i].min; n++)
			strlcat(text, " x", sizeof(text));
		ATF_CHECK_EQ_MSG(0, line(&ctl, text, err, sizeof(err)),
		    "%s: %s", text, err);
		ATF_CHECK(ctl.cmd == &commands[i]);
		ATF_CHECK_EQ(commands[i].min, ctl.argc);
		parse_free(&ctl);
		if (i > 0)
			ATF_CHECK(strcmp(commands[i - 1].name,
			    commands[i].name) < 0);
		for (o = commands[i].opts; o->letter != 0; o++)
			if (o != commands[i].opts)
				ATF_CHECK_MSG(strncasecmp(&o[-1].letter,
				    &o->letter, 1) <= 0, "%s -%c",
				    commands[i].name, o->letter);
	}
}

ATF_TC_WITHOUT_HEAD(options);
ATF_TC_BODY(options, tc)
{
	struct ctl	 ctl;
	char		 err[256];

	ATF_REQUIRE_EQ_MSG(0, line(&ctl, "create -d -c 1.5 -e A=1 -e B=x=y "
	    "-I im -i web -l team=a -l empty= -m 2G -p 99 -u 12 -w /w",
	    err, sizeof(err)), "%s", err);
	ATF_CHECK_EQ(1, ctl.detach);
	ATF_CHECK_EQ(1500, ctl.mcpus);
	ATF_CHECK_EQ(2, ctl.env.n);
	ATF_CHECK_STREQ("1", kvv_get(&ctl.env, "A"));
	ATF_CHECK_STREQ("x=y", kvv_get(&ctl.env, "B"));
	ATF_CHECK_STREQ("im", ctl.image);
	ATF_CHECK_STREQ("web", ctl.id);
	ATF_CHECK_EQ(2, ctl.labels.n);
	ATF_CHECK_STREQ("", kvv_get(&ctl.labels, "empty"));
	ATF_CHECK_EQ(2ULL << 30, ctl.memory);
	ATF_CHECK_EQ(99, ctl.pids);
	ATF_CHECK_STREQ("12", ctl.user);
	ATF_CHECK_STREQ("/w", ctl.dir);
	parse_free(&ctl);
	ATF_REQUIRE_EQ(0, line(&ctl, "create -v /srv//a/./b/../c:/mnt/x/ "
	    "-v /s:p:/mnt/y:rw -v /srv:/mnt/z:ro -H npm -H git -H npm", err,
	    sizeof(err)));
	ATF_CHECK_STREQ("/srv/a/c", kvv_get(&ctl.mounts, "/mnt/x"));
	ATF_CHECK_STREQ("/s:p", kvv_get(&ctl.mounts_rw, "/mnt/y"));
	ATF_CHECK_STREQ("/srv", kvv_get(&ctl.mounts, "/mnt/z"));
	ATF_CHECK(ctl.mounts.n == 2 && ctl.mounts_rw.n == 1);
	ATF_REQUIRE_EQ(2, ctl.tools.n);
	ATF_CHECK_STREQ("git", ctl.tools.v[1]);
	parse_free(&ctl);
	ATF_REQUIRE_EQ(0, line(&ctl, "create -W web", err, sizeof(err)));
	ATF_CHECK_STREQ("web", ctl.companion_of);
	ATF_REQUIRE_EQ(0, line(&ctl, "create -M 64M", err, sizeof(err)));
	ATF_CHECK_EQ(64ULL << 20, ctl.tmpfs);
	ATF_CHECK_EQ(0, ctl.disk);
	ATF_REQUIRE_EQ(0, line(&ctl, "run -M 1G true", err, sizeof(err)));
	ATF_CHECK_EQ(1ULL << 30, ctl.tmpfs);
}

/* A time has a unit where it may be long. */
ATF_TC_WITHOUT_HEAD(times);
ATF_TC_BODY(times, tc)
{
	struct ctl	 ctl;
	char		 err[256];

	ATF_REQUIRE_EQ(0, line(&ctl, "create -T 1.5h -q none", err,
	    sizeof(err)));
	ATF_CHECK_EQ(5400000, ctl.lifetime);
	ATF_CHECK_EQ(SBX_TIME_NONE, ctl.idle);
	ATF_CHECK_EQ(0, ctl.keep);
	ATF_REQUIRE_EQ(0, line(&ctl, "create -k 2h", err, sizeof(err)));
	ATF_CHECK_EQ(7200000, ctl.keep);
	ATF_REQUIRE_EQ(0, line(&ctl, "run -k none true", err, sizeof(err)));
	ATF_CHECK_EQ(SBX_TIME_NONE, ctl.keep);
	ATF_CHECK_EQ(-1, line(&ctl, "create -k 3651d", err, sizeof(err)));
	ATF_REQUIRE_EQ(0, line(&ctl, "extend -t 3650d web", err,
	    sizeof(err)));
	ATF_CHECK_EQ(SBX_TIME_MAX, ctl.lifetime);
	ATF_CHECK_EQ(0, ctl.timeout);
	ATF_REQUIRE_EQ(0, line(&ctl, "extend -q 90 -t 0 web", err,
	    sizeof(err)));
	ATF_CHECK_EQ(90000, ctl.idle);
	ATF_CHECK_EQ(SBX_TIME_NONE, ctl.lifetime);
	ATF_CHECK_EQ(-1, line(&ctl, "extend -t 3651d web", err, sizeof(err)));
	ATF_CHECK_STREQ("invalid argument of -t: 3651d: must be 0.001 to "
	    "3650d, with s, m, h, d or w, or none", err);
	ATF_CHECK_EQ(-1, line(&ctl, "create -T h", err, sizeof(err)));
	ATF_CHECK_EQ(-1, line(&ctl, "create -q 1y", err, sizeof(err)));
	ATF_CHECK_EQ(-1, line(&ctl, "create -q -1", err, sizeof(err)));
}

/* What follows the id is the command's own, options and all. */
ATF_TC_WITHOUT_HEAD(arguments);
ATF_TC_BODY(arguments, tc)
{
	struct ctl	 ctl;
	char		 err[256];

	ATF_REQUIRE_EQ(0, line(&ctl, "exec -t 0.25 web ls -d -t -- x", err,
	    sizeof(err)));
	ATF_CHECK_EQ(250, ctl.timeout);
	ATF_CHECK_EQ(0, ctl.detach);
	ATF_REQUIRE_EQ(6, ctl.argc);
	ATF_CHECK_STREQ("web", ctl.argv[0]);
	ATF_CHECK_STREQ("ls", ctl.argv[1]);
	ATF_CHECK_STREQ("-d", ctl.argv[2]);
	ATF_CHECK_STREQ("--", ctl.argv[4]);
	ATF_CHECK_STREQ("x", ctl.argv[5]);
	parse_free(&ctl);

	ATF_REQUIRE_EQ(0, line(&ctl, "run -- -x y", err, sizeof(err)));
	ATF_REQUIRE_EQ(2, ctl.argc);
	ATF_CHECK_STREQ("-x", ctl.argv[0]);
}

ATF_TC_WITHOUT_HEAD(others);
ATF_TC_BODY(others, tc)
{
	struct ctl	 ctl;
	char		 err[256];

	ATF_REQUIRE_EQ(0, line(&ctl, "events -fn 12 web", err, sizeof(err)));
	ATF_CHECK_EQ(1, ctl.follow);
	ATF_CHECK_EQ(12, ctl.from);
	ATF_REQUIRE_EQ(0, line(&ctl, "logs -o stderr e.1", err, sizeof(err)));
	ATF_CHECK_EQ(2, ctl.stream);
	ATF_REQUIRE_EQ(0, line(&ctl, "kill -s hup e.1", err, sizeof(err)));
	ATF_CHECK_EQ(SIGHUP, ctl.signo);
	/* A label's name alone selects, but does not label. */
	ATF_REQUIRE_EQ(0, line(&ctl, "list -l team -S ready -a", err,
	    sizeof(err)));
	ATF_CHECK_STREQ("", kvv_get(&ctl.labels, "team"));
	ATF_CHECK_STREQ("ready", ctl.state);
	ATF_CHECK_EQ(1, ctl.all);
	parse_free(&ctl);
}

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	static const struct {
		const char	*text;
		const char	*err;
	} t[] = {
		{ "create -z", "unknown option: -z" },
		{ "ping -j", "unknown option: -j" },
		{ "create -m", "option needs an argument: -m" },
		{ "create -m 0", "invalid argument of -m: 0" },
		{ "create -m -1", "invalid argument of -m: -1" },
		{ "create -m 1GB", "invalid argument of -m: 1GB" },
		{ "create -m 99999999999999999999",
		    "invalid argument of -m: 99999999999999999999" },
		{ "create -m 17179869184G",
		    "invalid argument of -m: 17179869184G" },
		{ "create -c 1.0005", "invalid argument of -c: 1.0005" },
		{ "create -c 1.", "invalid argument of -c: 1." },
		{ "create -c .5", "invalid argument of -c: .5" },
		{ "create -c 0.000", "invalid argument of -c: 0.000" },
		{ "create -c 99999999999", "invalid argument of -c: "
		    "99999999999" },
		{ "create -p 4 -p 5", "option given twice: -p" },
		{ "create -e A=1 -e A=1", "name given twice: -e A=1" },
		{ "list -l a -l a=1", "name given twice: -l a=1" },
		{ "create -p +4", "invalid argument of -p: +4" },
		{ "create -p 0", "invalid argument of -p: 0" },
		{ "create -p 4294967296", "invalid argument of -p: "
		    "4294967296" },
		{ "create -e A", "invalid argument of -e: A" },
		{ "create -e =1", "invalid argument of -e: =1" },
		{ "create -l team", "invalid argument of -l: team" },
		{ "list -l =", "invalid argument of -l: =" },
		{ "events -n x", "invalid argument of -n: x" },
		{ "events -n -1", "invalid argument of -n: -1" },
		{ "exec -t 0 a b", "invalid argument of -t: 0" },
		{ "kill -s nosuch e.1", "invalid argument of -s: nosuch" },
		{ "kill -s 65 e.1", "invalid argument of -s: 65" },
		{ "kill -s 0 e.1", "invalid argument of -s: 0" },
		{ "logs -o 1 e.1", "invalid argument of -o: 1" },
	};
	struct ctl	 ctl;
	char		 err[256];
	size_t		 i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ATF_CHECK_EQ_MSG(-1, line(&ctl, t[i].text, err, sizeof(err)),
		    "%s", t[i].text);
		ATF_CHECK_MSG(strncmp(t[i].err, err, strlen(t[i].err)) == 0,
		    "%s: %s", t[i].text, err);
		/* A value that is wrong is told what it must be. */
		ATF_CHECK_MSG(strncmp(err, "invalid", 7) != 0 ||
		    (strstr(err, ": must be ") != NULL &&
		    strstr(err, "something") == NULL), "%s: %s", t[i].text,
		    err);
		parse_free(&ctl);
	}
}

ATF_TC_WITHOUT_HEAD(values);
ATF_TC_BODY(values, tc)
{
	uint64_t	 n;

	ATF_CHECK_EQ(0, parse_size("1", &n));
	ATF_CHECK_EQ(1, n);
	ATF_CHECK_EQ(0, parse_size("3k", &n));
	ATF_CHECK_EQ(3072, n);
	ATF_CHECK_EQ(0, parse_size("16777215T", &n));
	ATF_CHECK_EQ(16777215ULL << 40, n);
	ATF_CHECK_EQ(-1, parse_size("16777216T", &n));
	ATF_CHECK_EQ(-1, parse_size("", &n));
	ATF_CHECK_EQ(-1, parse_size(" 1", &n));
	ATF_CHECK_EQ(0, parse_milli("2", &n));
	ATF_CHECK_EQ(2000, n);
	ATF_CHECK_EQ(0, parse_milli("0.001", &n));
	ATF_CHECK_EQ(1, n);
	ATF_CHECK_EQ(-1, parse_milli("1.2.3", &n));
	ATF_CHECK_EQ(SIGTERM, parse_signal("SIGTERM"));
	ATF_CHECK_EQ(SIGKILL, parse_signal("kill"));
	ATF_CHECK_EQ(SIGUSR1, parse_signal("10"));
	ATF_CHECK_EQ(0, parse_signal("SIG"));
	ATF_CHECK_EQ(0, parse_signal(""));
}

/* What of the text passes; with a bar where the last of the keys was met. */
static const char *
filtered(const char *keys, const char *text)
{
	static char		 all[256];
	struct term_keys	 k;
	unsigned char		 out[64];
	size_t			 i, n, len = 0;

	ATF_REQUIRE_EQ(0, term_keys(&k, keys));
	/* One by one, as they are typed. */
	for (i = 0; text[i] != '\0'; i++) {
		ATF_REQUIRE_EQ(1, term_filter(&k,
		    (const unsigned char *)text + i, 1, out, &n));
		memcpy(all + len, out, n);
		len += n;
		if (k.n == 0 || k.held < k.n)
			continue;
		k.held = 0;
		all[len++] = '|';
	}
	all[len] = '\0';
	return (all);
}

ATF_TC_WITHOUT_HEAD(leaving_keys);
ATF_TC_BODY(leaving_keys, tc)
{
	static const char *const bad[] = { "", "ctrl-", "ctrl-1", "ab", "a,",
	    ",a", "a,,b", "ctrl-aa", " ", "\n", "None", "CTRL-A",
	    "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q" };
	struct term_keys	 k;
	struct ctl		 ctl;
	char			 err[256];
	size_t			 i;

	(void)tc;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ATF_CHECK_EQ_MSG(-1, term_keys(&k, bad[i]), "%s", bad[i]);
	ATF_REQUIRE_EQ(0, term_keys(&k, "ctrl-P,ctrl-],~"));
	ATF_CHECK_EQ(3, k.n);
	ATF_CHECK(memcmp(k.key, "\020\035~", 3) == 0);
	ATF_CHECK(strcmp(filtered("none", "a\020\021b"), "a\020\021b") == 0);
	ATF_CHECK(strcmp(filtered(TERM_KEYS, "a\020\021b"), "a|b") == 0);
	ATF_CHECK(strcmp(filtered(TERM_KEYS, "\020x\020\021"),
	    "\020x|") == 0);
	ATF_CHECK(strcmp(filtered(TERM_KEYS, "\020\020\021"),
	    "\020|") == 0);
	ATF_CHECK(strcmp(filtered("a,a,b", "aaab"), "a|") == 0);
	ATF_CHECK(strcmp(filtered("a,b,a,c", "ababac"), "ab|") == 0);
	ATF_CHECK(strcmp(filtered("a,b,a,c", "abax"), "abax") == 0);
	/* As other programs have it, and times are times. */
	ATF_REQUIRE_EQ(0, line(&ctl, "exec -it web sh -c x", err,
	    sizeof(err)));
	ATF_CHECK(ctl.interactive == 1 && ctl.timeout == 0);
	ATF_CHECK(ctl.argc == 4 && strcmp(ctl.argv[0], "web") == 0);
	ATF_REQUIRE_EQ(0, line(&ctl, "exec -d -ti -t 5 web sh", err,
	    sizeof(err)));
	ATF_CHECK(ctl.interactive == 1 && ctl.timeout == 5000);
	ATF_CHECK_EQ(2, ctl.argc);
	ATF_REQUIRE_EQ(0, line(&ctl, "exec -i -t 5 web sh", err,
	    sizeof(err)));
	ATF_CHECK(ctl.interactive == 1 && ctl.timeout == 5000);
	ATF_CHECK_EQ(-1, line(&ctl, "exec -t i web sh", err, sizeof(err)));
	ATF_CHECK_EQ(-1, line(&ctl, "shell -it web sh", err, sizeof(err)));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, leaving_keys);
	ATF_TP_ADD_TC(tp, commands_found);
	ATF_TP_ADD_TC(tp, table);
	ATF_TP_ADD_TC(tp, options);
	ATF_TP_ADD_TC(tp, times);
	ATF_TP_ADD_TC(tp, arguments);
	ATF_TP_ADD_TC(tp, others);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, values);
	return (atf_no_error());
}
