/*
 * What the host itself takes: the limits.
 */
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

extern char	**environ;

char *const	 host_true[] = { "/bin/busybox", "sh", "-c", "true", NULL };

/* Its input is empty; what it writes goes to these, -1: where ours goes. */
pid_t
spawn(char *const argv[], int out, int errors)
{
	posix_spawn_file_actions_t	 fa;
	pid_t				 pid;
	int				 error;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	if (out != -1)
		posix_spawn_file_actions_adddup2(&fa, out, 1);
	if (errors != -1)
		posix_spawn_file_actions_adddup2(&fa, errors, 2);
	if ((error = posix_spawn(&pid, argv[0], &fa, NULL, argv,
	    environ)) != 0)
		errc(1, error, "%s", argv[0]);
	posix_spawn_file_actions_destroy(&fa);
	return (pid);
}

/* Waits for a process, or for any (-1); it must have ended well. */
static pid_t
reap(pid_t pid)
{
	int	 status;

	while ((pid = waitpid(pid, &status, 0)) == -1)
		if (errno != EINTR)
			err(1, "waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		errx(1, "process %d: status 0x%x", (int)pid, status);
	return (pid);
}

/* Its output goes there. */
void
spawn_to(char *const argv[], int out)
{
	reap(spawn(argv, out, -1));
}

void
spawn_wait(char *const argv[])
{
	spawn_to(argv, -1);
}

/* So many under way at a time; the seconds that all of them took. */
double
spawn_many(char *const argv[], int flight, int total, struct samples *s)
{
	struct {
		pid_t	 pid;
		double	 start;
	}	*p;
	double	 start = now();
	pid_t	 pid;
	int	 begun, done, i;

	if ((p = calloc(flight, sizeof(*p))) == NULL)
		err(1, NULL);
	for (begun = 0; begun < flight; begun++) {
		p[begun].start = now();
		p[begun].pid = spawn(argv, -1, -1);
	}
	for (done = 0; done < total; done++) {
		pid = reap(-1);
		for (i = 0; i < flight && p[i].pid != pid; i++)
			;
		if (i == flight)
			errx(1, "process %d is not ours", (int)pid);
		if (s != NULL)
			sample(s, now() - p[i].start);
		p[i].pid = 0;
		if (begun++ < total) {
			p[i].start = now();
			p[i].pid = spawn(argv, -1, -1);
		}
	}
	free(p);
	return ((now() - start) / 1e6);
}

void
host_spawn(void)
{
	spawn_wait(host_true);
}

/* What a durable record costs here. */
void
host_sync(void)
{
	static int	 fd = -1;
	char		 path[1024], record[256];

	if (fd == -1) {
		snprintf(path, sizeof(path), "%s/sync", bench.scratch);
		if ((fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND |
		    O_CLOEXEC, 0600)) == -1)
			err(1, "%s", path);
	}
	memset(record, 'r', sizeof(record));
	if (write(fd, record, sizeof(record)) != sizeof(record) ||
	    fdatasync(fd) == -1)
		err(1, "sync");
}
