/*
 * The program: reads its arguments and its configuration, opens what needs
 * root, and becomes the parent; or becomes the child that the parent has
 * asked for.
 */

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include <event.h>

#include "eventdb.h"
#include "log.h"
#include "offline.h"
#include "parent.h"
#include "version.h"

				/* readers have two each, of 2048 */
#define NOFILE_LEAST	256

static const struct {
	const char	*name;
	const char	*user;
	void		(*main)(int, int);
} roles[ROLE_MAX] = {
	[ROLE_PARENT] = { "parent", "root", NULL },
	[ROLE_FRONTEND] = { "frontend", FRONTEND_USER, frontend },
	[ROLE_STORE] = { "store", STORE_USER, store },
	[ROLE_BROKER] = { "broker", BROKER_USER, broker },
	[ROLE_RUNNER] = { "runner", RUNNER_USER, runner },
};

static int	 notify = -1;	/* towards who waits for our start */

#ifdef ASAN
/* Its leak check traces the process, which we do not let anyone do. */
const char	*__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return ("detect_leaks=0");
}
#endif

static __attribute__((__noreturn__)) void
usage(void)
{
	fprintf(stderr, "usage: sandboxd [-dnVvx] [-f file] [-R dump] [-u user]\n");
	exit(1);
}

/*
 * The file is read again later, when we are in another directory.  What it
 * is a link to may be another file by then, and that one is meant.
 */
static const char *
absolute(const char *file)
{
	char	*cwd, *path;

	if (*file == '/')
		return (file);
	if ((cwd = getcwd(NULL, 0)) == NULL ||
	    asprintf(&path, "%s/%s", cwd, file) == -1)
		err(1, "%s", file);
	free(cwd);
	return (path);
}

/* The words are the parent's; descriptor 3 tells whether it really was it. */
static void
child_main(int argc, char *argv[])
{
	enum role	 r;
	int		 debug, verbose;

	if (argc != 4)
		return;
	for (r = ROLE_FRONTEND; r < ROLE_MAX; r++)
		if (strcmp(argv[1], roles[r].name) == 0)
			break;
	if (r == ROLE_MAX)
		return;
	debug = atoi(argv[2]);
	verbose = atoi(argv[3]);
	/* It was called by the name of a link in /proc. */
	(void)prctl(PR_SET_NAME, "sandboxd", 0, 0, 0);
	log_init(debug, LOG_DAEMON);
	roles[r].main(debug, verbose);
	exit(0);
}

static void
users_open(void)
{
	const struct passwd	*pw;
	struct child		*c;
	enum role		 r;

	for (r = ROLE_PARENT; r < ROLE_MAX; r++) {
		c = &env.child[r];
		c->role = r;
		c->name = roles[r].name;
		c->user = roles[r].user;
		c->ch.fd = -1;
		if (r == ROLE_PARENT) {
			c->pid = getpid();
			c->started = parent_now();
			continue;
		}
		if ((pw = getpwnam(c->user)) == NULL)
			fatalx("user %s: no such user; `make users' makes "
			    "it", c->user);
		if (pw->pw_uid == 0 || pw->pw_gid == 0)
			fatalx("user %s: must not be root, nor of its group",
			    c->user);
		c->uid = pw->pw_uid;
		c->gid = pw->pw_gid;
	}
}

/*
 * A child needs a few descriptors for each exec, sandbox and client.  What
 * the system does not grant is told now, not found out under load.
 */
static void
nofile_open(void)
{
	struct conf_limits	 room;
	struct rlimit		 rl;
	rlim_t			 need, most;

	need = parent_files(&env.conf->limits);
	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		fatal("getrlimit");
	if (rl.rlim_max < need) {
		rl.rlim_cur = rl.rlim_max = need;
		if (setrlimit(RLIMIT_NOFILE, &rl) == -1 &&
		    getrlimit(RLIMIT_NOFILE, &rl) == 0)
			log_warnx("the limits ask for %llu descriptors in a "
			    "process, the system allows %llu",
			    (unsigned long long)need,
			    (unsigned long long)rl.rlim_max);
	}
	parent_room(&room);
	most = parent_files(&room);
	need = rl.rlim_max < most ? rl.rlim_max : most;
	if (need < NOFILE_LEAST)
		fatalx("%llu descriptors in a process are too few",
		    (unsigned long long)need);
	rl.rlim_cur = need;
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		fatal("setrlimit");
	env.nofile = (uint32_t)need;
}

/* 0 to 2 must be something, or the first things opened become them. */
static void
stdio_open(void)
{
	int	 fd;

	do {
		if ((fd = open("/dev/null", O_RDWR)) == -1)
			err(1, "/dev/null");
	} while (fd <= STDERR_FILENO);
	close(fd);
}

/*
 * Who started us waits until the first set runs, so that its exit status
 * tells whether it does.
 */
static void
background(void)
{
	char	 c;
	int	 fds[2];
	ssize_t	 n;

	if (pipe2(fds, O_CLOEXEC) == -1)
		err(1, "pipe");
	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		break;
	default:
		close(fds[1]);
		while ((n = read(fds[0], &c, 1)) == -1 && errno == EINTR)
			;
		/* Not exit(3): what is buffered belongs to the other. */
		_exit(n == 1 ? 0 : 1);
	}
	close(fds[0]);
	notify = fds[1];
	if (setsid() == -1 || chdir("/") == -1)
		err(1, "setsid");
}

void
parent_started(void)
{
	int	 fd;

	if (env.debug)
		return;
	if ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1) {
		(void)dup2(fd, STDIN_FILENO);
		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
		close(fd);
	}
	log_init(0, LOG_DAEMON);
	log_info("started, version %s", SANDBOXD_VERSION);
	if (notify != -1) {
		(void)!write(notify, "1", 1);
		close(notify);
		notify = -1;
	}
}

void
parent_exit(int status)
{
	sessions_close();
	mounts_end();
	if (sandbox_raise_admin() == 0)
		statedir_unmount(&env.dir);
	log_info("terminating");
	exit(status);
}

/* All but those, which an upgrade has left to us. */
static void
descriptors_close(int a, int b)
{
	int	 low = a < b ? a : b, high = a < b ? b : a, fd;

	for (fd = STDERR_FILENO + 1; fd < high; fd++)
		if (fd != low)
			close(fd);
	closefrom(high > STDERR_FILENO ? high + 1 : STDERR_FILENO + 1);
}

/* The command line, but for -d and -v, which are kept in env. */
struct options {
	const char	*file;
	const char	*user;		/* -u */
	const char	*dump;		/* -R */
	int		 check;		/* -n */
	int		 prove;		/* -V */
	int		 tell;		/* -x */
};

static void
once(const char **arg, int ch)
{
	if (*arg != NULL)
		errx(1, "option given twice: -%c", ch);
	*arg = optarg;
}

static void
options_get(struct options *o, int argc, char *argv[])
{
	int	 ch;

	memset(o, 0, sizeof(*o));
	while ((ch = getopt(argc, argv, "df:nR:u:Vvx")) != -1)
		switch (ch) {
		case 'd':
			env.debug = 1;
			break;
		case 'f':
			once(&o->file, ch);
			break;
		case 'n':
			o->check = 1;
			break;
		case 'R':
			once(&o->dump, ch);
			break;
		case 'u':
			once(&o->user, ch);
			break;
		case 'V':
			o->prove = 1;
			break;
		case 'v':
			env.verbose++;
			break;
		case 'x':
			o->tell = 1;
			break;
		default:
			usage();
		}
	if (optind != argc || ((o->user != NULL || o->tell) && !o->check) ||
	    o->check + o->prove + (o->dump != NULL) > 1)
		usage();
	if (o->file == NULL)
		o->file = CONF_FILE;
}

/* -n: the configuration has been read, and is told. */
static __attribute__((__noreturn__)) void
checked(const struct options *o)
{
	if (env.verbose)
		conf_print(stdout, env.conf);
	if (o->user != NULL && conf_print_user(stdout, env.conf,
	    o->user) == -1)
		errx(1, "user %s: no such user", o->user);
	if (fflush(stdout) == EOF || ferror(stdout))
		err(1, "standard output");
	fprintf(stderr, "configuration OK\n");
	exit(0);
}

/* -V and -R: no daemon is to run. */
static __attribute__((__noreturn__)) void
offline(const struct options *o)
{
	umask(077);
	users_open();
	if (o->prove)
		offline_log_verify(log_offline_verify);
	offline_log_restore(o->dump, log_offline_restore);
}

int
main(int argc, char *argv[])
{
	static struct conf_errors	 errs;
	struct options			 o;
	int				 lock = -1, listener = -1;
	char				 seed;

	upgrade_init(argc, argv);
	setproctitle_init(argc, argv, environ);
	stdio_open();
	child_main(argc, argv);
	log_init(1, LOG_DAEMON);
	options_get(&o, argc, argv);
	if (o.tell && (printf("sandboxd %s database %d\n", SANDBOXD_VERSION,
	    EVENTDB_VERSION) < 0 || fflush(stdout) == EOF))
		err(1, "standard output");
	env.conf = conf_parse(o.check ? o.file : absolute(o.file), &errs);
	fputs(errs.text, stderr);
	if (env.conf == NULL)
		exit(1);
	if (o.check)
		checked(&o);
	if (geteuid() != 0)
		errx(1, "need root privileges");
	env.before = upgrade_left(&lock, &listener);
	descriptors_close(lock, listener);
	statedir_left(lock);
	if (o.prove || o.dump != NULL)
		offline(&o);
	log_setverbose(env.verbose);
	umask(077);
	/* Children are started from there, and judged by what is there. */
	if (access("/proc/self/exe", X_OK) == -1)
		errx(1, "/proc: not mounted");
	/* Nobody may guess a name or a number; waiting would hold up the boot. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == -1)
		err(1, "no random numbers");
	/* Once: after an upgrade nobody waits. */
	if (!env.debug && env.before == NULL)
		background();
	(void)signal(SIGPIPE, SIG_IGN);
	/* To other daemons they are words; here they must not be the end. */
	(void)signal(SIGUSR1, SIG_IGN);
	(void)signal(SIGUSR2, SIG_IGN);
	users_open();
	nofile_open();
	if (statedir_open(&env.dir, env.conf, env.child) == -1 ||
	    sessions_open(env.conf, listener) == -1)
		exit(1);
	setproctitle("parent");
	event_init();
	sessions_start();
	sandbox_parent();
	if (parent_check_self() == -1)
		exit(1);
	parent_main();
}
