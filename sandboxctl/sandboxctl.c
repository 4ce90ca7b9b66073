/*
 * sandboxctl.c: the program: its command line, its connection, its errors.
 */

#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "sandboxctl.h"
#include "version.h"

/* Connect; 0 or an exit status. */
int
ctl_open(struct ctl *ctl)
{
	struct sandbox_error	 err;

	ctl->conn = sandbox_open(ctl->socket, "sandboxctl " SANDBOXD_VERSION,
	    &err);
	if (ctl->conn == NULL)
		return (ctl_error_code(ctl, err.code, err.field, err.text));
	return (0);
}

/* Was it the connection that failed, and not the request? */
int
ctl_lost(const struct ctl *ctl)
{
	return (sandbox_error(ctl->conn)->lost);
}

/* Wait for a daemon that is being restarted. */
int
ctl_reopen(struct ctl *ctl)
{
	return (sandbox_reopen(ctl->conn, CTL_AGAIN));
}

/* Tell an error and remember the exit status of the first; returns it. */
int
ctl_error_code(struct ctl *ctl, enum code code, const char *field,
    const char *text)
{
	int	 status;

	status = ctl->cmd != NULL && ctl->cmd->flags & CMD_STATUS ?
	    EXIT_OURS : code_exit(code);
	if (ctl->failed == 0)
		ctl->failed = status;
	ctl->code = code;
	if (ctl->json)
		json_error(stderr, code_name(code), field, text);
	else
		out_error(stderr, code_name(code), field, text);
	return (status);
}

/* What no request has room for; in the words that the daemon has for it. */
int
ctl_too_long(struct ctl *ctl, const char *field, size_t max)
{
	char	 text[TEXT_MAX + 1];

	snprintf(text, sizeof(text), "invalid %s: too long: the limit is %zu",
	    field, max);
	ctl_error_code(ctl, CODE_LIMIT_EXCEEDED, field, text);
	return (-1);
}

/* The error that the last call on the connection met. */
int
ctl_error(struct ctl *ctl)
{
	const struct sandbox_error	*e = sandbox_error(ctl->conn);

	return (ctl_error_code(ctl, e->code, e->field, e->text));
}

/* One of the system, on our side. */
int
ctl_errno(struct ctl *ctl, const char *what)
{
	char	 text[TEXT_MAX + 1];
	int	 save = errno;

	snprintf(text, sizeof(text), "%s: %s", what, strerror(save));
	return (ctl_error_code(ctl, save == ENOENT ? CODE_NOT_FOUND :
	    errno_code(save), "", text));
}

/* How to name a sandbox to the daemon: others' with their uid. */
void
ctl_ref(struct ctl *ctl, const struct proto_sandbox *s, char *ref, size_t len)
{
	if (s->owner == sandbox_hello(ctl->conn)->uid)
		snprintf(ref, len, "%s", s->id);
	else
		snprintf(ref, len, "%u/%s", s->owner, s->id);
}

static void
usage_error(struct ctl *ctl, const char *err)
{
	int	 status = EX_USAGE;

	if (ctl->cmd != NULL && ctl->cmd->flags & CMD_STATUS)
		status = EXIT_OURS;
	if (ctl->json)
		json_error(stderr, code_name(CODE_INVALID_ARGUMENT), "", err);
	else {
		out_error(stderr, code_name(CODE_INVALID_ARGUMENT), "", err);
		if (ctl->cmd != NULL) {
			fprintf(stderr, "usage: sandboxctl [-j] [-s socket] ");
			usage_command(stderr, ctl->cmd);
		} else
			usage(stderr);
	}
	exit(status);
}

static void
parse_globals(struct ctl *ctl, int argc, char **argv)
{
	char	 err[64];
	int	 ch;

	opterr = 0;
	while ((ch = getopt(argc, argv, "+:js:")) != -1) {
		switch (ch) {
		case 'j':
			ctl->json = 1;
			break;
		case 's':
			if (ctl->socket != NULL)
				usage_error(ctl, "option given twice: -s");
			if (*optarg == '\0')
				usage_error(ctl, "invalid argument of -s: "
				    "empty: must be the path of a socket");
			ctl->socket = optarg;
			break;
		case ':':
			snprintf(err, sizeof(err),
			    "option needs an argument: -%c", optopt);
			usage_error(ctl, err);
			break;
		default:
			snprintf(err, sizeof(err), "unknown option: -%c",
			    optopt);
			usage_error(ctl, err);
		}
	}
}

/* A closed stream would give its number to the connection. */
static void
open_streams(void)
{
	int	 fd;

	do {
		if ((fd = open("/dev/null", O_RDWR)) == -1)
			exit(EX_OSERR);
	} while (fd <= STDERR_FILENO);
	close(fd);
}

int
main(int argc, char *argv[])
{
	struct ctl	 ctl;
	char		 err[256];
	int		 status, n;

	json_watch();
	memset(&ctl, 0, sizeof(ctl));
	parse_globals(&ctl, argc, argv);
	if (ctl.socket == NULL)
		ctl.socket = SANDBOX_SOCKET;
	/* The parser counts its own from here: not by the global one. */
	n = optind;
	if (parse(&ctl, argc - n, argv + n, err, sizeof(err)) == -1)
		usage_error(&ctl, err);

	open_streams();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return (ctl_errno(&ctl, "no_new_privs"));

	if (ctl.cmd->flags & CMD_LOCAL)
		status = ctl.cmd->run(&ctl);
	else if ((status = ctl_open(&ctl)) == 0)
		status = ctl.cmd->run(&ctl);

	if (ctl.conn != NULL)
		sandbox_close(ctl.conn);
	parse_free(&ctl);
	if ((fflush(stdout) == EOF || ferror(stdout)) && status == 0)
		status = ctl_errno(&ctl, "standard output");
	return (status);
}
