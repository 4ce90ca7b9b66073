/*
 * Upgrade in place: the set is stopped as at SIGTERM, and this process
 * executes what lies at its program's path by now, with the same number, the
 * listening socket and the lock.  Clients who connect meanwhile wait in the
 * socket's queue.
 *
 * The new program is tried before: it must read the configuration, and know
 * the database.  What it cannot do in spite of that ends as a start that
 * fails does: sandboxes and commands go on, and wait for a daemon.
 *
 * Capabilities: we have given all but a few away, also of the bounding set.
 * As root we have those few again after the execve(2), no others, and that is
 * what a parent needs.  What a first start does with more (to see into the
 * database's directory) has been done.  The filter of system calls is
 * inherited, and the new program's lies on top of it.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event.h>

#include "eventdb.h"
#include "log.h"
#include "parent.h"
#include "version.h"

#define TRIAL_SECS	20
#define ENV_NAME	"SANDBOXD_UPGRADE"

static char	 program[PATH_MAX];	/* where it lay when we started */
static char	**arguments;
static struct {
	pid_t		 pid;		/* 0: none */
	int		 fd;		/* what it says */
	struct event	 ev, late;
	char		 said[1024];
	size_t		 len;
	int		 ended;
	int		 status;
	uint64_t	 session;
	uint32_t	 req;
} trial;

/* Before anything writes over the arguments. */
void
upgrade_init(int argc, char *argv[])
{
	ssize_t	 n;
	int	 i;

	n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[n > 0 ? n : 0] = '\0';
	if ((arguments = calloc((size_t)argc + 1,
	    sizeof(*arguments))) == NULL)
		fatal("%s", __func__);
	for (i = 0; i < argc; i++)
		if ((arguments[i] = strdup(argv[i])) == NULL)
			fatal("%s", __func__);
}

/* What the program before us has left: its version, or NULL. */
const char *
upgrade_left(int *lock, int *listener)
{
	static char	 before[64];
	struct stat	 st;
	const char	*v;
	pid_t		 pid;

	if ((v = getenv(ENV_NAME)) == NULL)
		return (NULL);
	/* Those are ours only if it is we who put them there. */
	if (sscanf(v, "%d %d %d %63s", &pid, lock, listener, before) != 4 ||
	    pid != getpid() || *lock <= STDERR_FILENO ||
	    *listener <= STDERR_FILENO || fstat(*lock, &st) == -1 ||
	    !S_ISREG(st.st_mode) || fstat(*listener, &st) == -1 ||
	    !S_ISSOCK(st.st_mode)) {
		unsetenv(ENV_NAME);
		return (NULL);
	}
	unsetenv(ENV_NAME);
	return (before);
}

static void
trial_answer(enum code code, const char *text)
{
	struct msg_result	 m;

	if (code != CODE_OK)
		log_warnx("upgrade: %s", text);
	memset(&m, 0, sizeof(m));
	m.code = code;
	strlcpy(m.text, text, sizeof(m.text));
	parent_send(ROLE_STORE, MSG_RELOAD_DONE, 0, trial.session, trial.req,
	    -1, &m);
}

/* Whoever could write to it could have what is root's. */
static const char *
program_wrong(void)
{
	struct stat	 st;

	if (program[0] == '\0' || stat(program, &st) == -1)
		return (program[0] == '\0' ? "its path is not known" :
		    strerror(errno));
	if (!S_ISREG(st.st_mode))
		return ("not a regular file");
	if (statedir_others(&st, 0))
		return ("others than root can write to it");
	return (NULL);
}

/* Its first line: sandboxd, its version, "database", a number. */
static int
trial_good(char *text, size_t len)
{
	char		 version[64];
	unsigned int	 database;
	size_t		 n = strcspn(trial.said, "\n");

	if (!WIFEXITED(trial.status) || WEXITSTATUS(trial.status) != 0) {
		snprintf(text, len, "%.500s: it does not take the configuration: "
		    "%.200s", program, trial.said);
		text[strcspn(text, "\n")] = '\0';
		return (0);
	}
	if (sscanf(trial.said, "sandboxd %63s database %u", version,
	    &database) != 2) {
		snprintf(text, len, "%.500s: it is no sandboxd: %.*s", program,
		    (int)(n > 100 ? 100 : n), trial.said);
		return (0);
	}
	if (database < EVENTDB_VERSION) {
		snprintf(text, len, "%.500s: sandboxd %s reads databases up to "
		    "version %u, and this one has %d", program, version,
		    database, EVENTDB_VERSION);
		return (0);
	}
	log_info("upgrade: from version %s to %s", SANDBOXD_VERSION, version);
	return (1);
}

static void
trial_over(void)
{
	char	 text[TEXT_MAX + 1];

	/* Both are awaited: its last word, and how it ended. */
	if (!trial.ended || trial.fd != -1)
		return;
	evtimer_del(&trial.late);
	trial.pid = 0;
	if (!parent_running())
		return;
	if (!trial_good(text, sizeof(text))) {
		trial_answer(CODE_INVALID_ARGUMENT, text);
		return;
	}
	trial_answer(CODE_OK, "");
	parent_upgrade();
}

static void
on_said(int fd, short event, void *arg)
{
	char	 buf[512];
	ssize_t	 n;
	size_t	 room = sizeof(trial.said) - 1 - trial.len;

	(void)event;
	(void)arg;
	if ((n = read(fd, buf, sizeof(buf))) > 0) {
		if ((size_t)n > room)
			n = (ssize_t)room;
		memcpy(trial.said + trial.len, buf, (size_t)n);
		trial.len += (size_t)n;
		return;
	}
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	event_del(&trial.ev);
	close(fd);
	trial.fd = -1;
	trial_over();
}

static void
on_late(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	(void)arg;
	if (trial.pid != 0)
		(void)kill(trial.pid, SIGKILL);
}

/* Was it that process? */
int
upgrade_reaped(pid_t pid, int status)
{
	if (trial.pid == 0 || pid != trial.pid || trial.ended)
		return (0);
	trial.ended = 1;
	trial.status = status;
	trial_over();
	return (1);
}

static int
trial_start(void)
{
	char		 words[] = "sandboxd", option[] = "-nxf";
	char		*argv[] = { words, option, NULL, NULL };
	struct timeval	 tv = { TRIAL_SECS, 0 };
	sigset_t	 all, old;
	int		 fds[2], null;

	argv[2] = env.conf->file;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) == -1)
		return (-1);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	if ((trial.pid = fork()) == 0) {
		spawn_signals();
		if ((null = open("/dev/null", O_RDWR)) == -1 ||
		    dup2(null, STDIN_FILENO) == -1 ||
		    dup2(fds[1], STDOUT_FILENO) == -1 ||
		    dup2(fds[1], STDERR_FILENO) == -1)
			_exit(127);
		closefrom(STDERR_FILENO + 1);
		/* In the environment in which it is to be executed. */
		execv(program, argv);
		fprintf(stderr, "%s\n", strerror(errno));
		_exit(127);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(fds[1]);
	if (trial.pid == -1) {
		trial.pid = 0;
		close(fds[0]);
		return (-1);
	}
	trial.fd = fds[0];
	trial.len = 0;
	trial.ended = 0;
	memset(trial.said, 0, sizeof(trial.said));
	event_set(&trial.ev, trial.fd, EV_READ | EV_PERSIST, on_said, NULL);
	event_add(&trial.ev, NULL);
	evtimer_set(&trial.late, on_late, NULL);
	evtimer_add(&trial.late, &tv);
	return (0);
}

/* RELOAD_DONE follows, at once or when the new program was tried. */
void
upgrade_start(uint64_t session, uint32_t req)
{
	char		 text[TEXT_MAX + 1];
	const char	*why;

	if (trial.pid != 0) {
		struct msg_result	 m;

		memset(&m, 0, sizeof(m));
		m.code = CODE_CONFLICT;
		strlcpy(m.text, "an upgrade is under way", sizeof(m.text));
		parent_send(ROLE_STORE, MSG_RELOAD_DONE, 0, session, req, -1,
		    &m);
		return;
	}
	trial.session = session;
	trial.req = req;
	if ((why = program_wrong()) != NULL) {
		snprintf(text, sizeof(text), "%.500s: %s", program, why);
		trial_answer(CODE_INVALID_ARGUMENT, text);
	} else if (parent_conf_check(text, sizeof(text)) == -1)
		trial_answer(CODE_INVALID_ARGUMENT, text);
	else if (trial_start() == -1)
		trial_answer(CODE_UNAVAILABLE, "the new program cannot be "
		    "tried now");
}

/* Returns only if that was not possible: then all is as it was. */
void
upgrade_execute(void)
{
	char		 left[128];
	sigset_t	 none;
	int		 listener = sessions_listener();

	snprintf(left, sizeof(left), "%d %d %d %s", (int)getpid(),
	    env.dir.lock, listener, SANDBOXD_VERSION);
	if (listener == -1 || setenv(ENV_NAME, left, 1) == -1 ||
	    fcntl(env.dir.lock, F_SETFD, 0) == -1 ||
	    fcntl(listener, F_SETFD, 0) == -1) {
		log_warn("upgrade");
		return;
	}
	log_info("upgrade: executing %s", program);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	execv(program, arguments);
	log_warn("upgrade: %s", program);
	unsetenv(ENV_NAME);
	(void)fcntl(env.dir.lock, F_SETFD, FD_CLOEXEC);
	(void)fcntl(listener, F_SETFD, FD_CLOEXEC);
}
