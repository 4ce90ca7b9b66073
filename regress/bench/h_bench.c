/*
 * What must be fast, measured side by side in one run, so that the ratios
 * hold on a slow or a busy machine as well.
 *
 * regress-srcs: rows.c samples.c host.c procs.c client.c engine.c
 * regress-srcs: exec.c create.c output.c events.c subscribers.c idle.c
 * regress-srcs: restart.c start.c session.c filters.c files.c tty.c
 * regress-srcs: engine_files.c trees.c exits.c
 *
 * usage: h_bench [-q] [-f files] [-n execs] name=value ... concern ...
 *
 * -q takes small figures, to see whether it works; -f is how many files a tree
 * has.
 */
#include <sys/resource.h>

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

struct bench	 bench = {
	.n = 300,
	.many = 16,
	.more = 64,
	.creates = 15,
	.at_once = 4,
	.starts = 3,
	.boxes = 50,
	.subs = 1000,
	.running = 500,
	.stream = 256,
	.events = 6000,
	.logged = 100000,
	.large = 64,
	.tree = 1000,
	.files = 10000,
};

static const struct {
	const char	*name;
	const char	**value;
} words[] = {
	{ "socket", &bench.socket },
	{ "bare", &bench.bare },
	{ "engine", &bench.engine },
	{ "ctl", &bench.ctl },
	{ "daemon", &bench.daemon },
	{ "conf", &bench.conf },
	{ "state", &bench.state },
	{ "stamp", &bench.stamp },
	{ "filler", &bench.filler },
	{ "scratch", &bench.scratch },
};

static const struct {
	const char	*name;
	void		(*run)(void);
	int		 alone;		/* starts daemons itself */
} concerns[] = {
	{ "exec", bench_exec, 0 },
	{ "flight", bench_flight, 0 },
	{ "create", bench_create, 0 },
	{ "output", bench_output, 0 },
	{ "events", bench_events, 0 },
	{ "subscribers", bench_subscribers, 0 },
	{ "exits", bench_exits, 0 },
	{ "restart", bench_restart, 0 },
	{ "idle", bench_idle, 0 },
	{ "session", bench_session, 0 },
	{ "files", bench_files, 0 },
	{ "trees", bench_trees, 0 },
	{ "tty", bench_tty, 0 },
	{ "filters", bench_filters, 0 },
	{ "start", bench_start, 1 },
};

static __attribute__((__noreturn__)) void
usage(void)
{
	errx(64, "usage: h_bench [-q] [-f files] [-n execs] name=value ... "
	    "concern ...");
}

static int
word(const char *arg)
{
	const char	*eq = strchr(arg, '=');
	size_t		 i;

	if (eq == NULL)
		return (0);
	for (i = 0; i < nelem(words); i++)
		if (strlen(words[i].name) == (size_t)(eq - arg) &&
		    strncmp(arg, words[i].name, eq - arg) == 0) {
			*words[i].value = eq + 1;
			return (1);
		}
	return (0);
}

static void
run(const char *name)
{
	size_t	 i;

	for (i = 0; i < nelem(concerns); i++)
		if (strcmp(concerns[i].name, name) == 0)
			break;
	if (i == nelem(concerns))
		errx(64, "no such concern: %s", name);
	if (concerns[i].alone) {
		concerns[i].run();
		return;
	}
	if (bench.conn == NULL) {
		client_open();
		box_create(&bench.box);
	}
	concerns[i].run();
}

static void
quick(void)
{
	bench.n = 20;
	bench.many = 4;
	bench.more = 8;
	bench.creates = 1;
	bench.at_once = 2;
	bench.starts = 1;
	bench.boxes = 2;
	bench.subs = 20;
	bench.running = 20;
	bench.stream = 4;
	bench.events = 128;
	bench.logged = 2000;
	bench.large = 2;
	bench.tree = 20;
	bench.files = 250;
}

int
main(int argc, char *argv[])
{
	struct rlimit	 rl;
	const char	*errstr;
	int		 ch;

	while ((ch = getopt(argc, argv, "f:n:q")) != -1)
		switch (ch) {
		case 'f':
			bench.files = strtonum(optarg, 100, 100000, &errstr);
			if (errstr != NULL)
				errx(64, "f is %s: %s", errstr, optarg);
			break;
		case 'n':
			bench.n = strtonum(optarg, 20, 100000, &errstr);
			if (errstr != NULL)
				errx(64, "n is %s: %s", errstr, optarg);
			break;
		case 'q':
			quick();
			break;
		default:
			usage();
		}
	for (argc -= optind, argv += optind; argc > 0 && word(argv[0]);
	    argc--, argv++)
		;
	if (argc == 0)
		usage();
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
	for (; argc > 0; argc--, argv++)
		run(argv[0]);
	if (bench.box.id[0] != '\0') {
		box_delete(&bench.box);
		sandbox_close(bench.conn);
	}
	return (0);
}
