/*
 * One session of sandboxctl: what a program in another language gets of
 * requests, small files and commands, by lines.
 */
#include <sys/wait.h>

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static FILE	*to;
static FILE	*from;
static pid_t	 pid;

static void
begin(void)
{
	int	 in[2], out[2];

	if (pipe2(in, O_CLOEXEC) == -1 || pipe2(out, O_CLOEXEC) == -1)
		err(1, "pipe");
	if ((pid = fork()) == -1)
		err(1, "fork");
	if (pid == 0) {
		if (dup2(in[0], 0) == -1 || dup2(out[1], 1) == -1)
			_exit(1);
		execl(bench.ctl, "sandboxctl", "-s", bench.socket, "session",
		    (char *)NULL);
		_exit(1);
	}
	close(in[0]);
	close(out[1]);
	if ((to = fdopen(in[1], "w")) == NULL ||
	    (from = fdopen(out[0], "r")) == NULL)
		err(1, "fdopen");
	setvbuf(to, NULL, _IOLBF, 0);
}

static void
end(void)
{
	int	 status;

	fclose(to);
	if (waitpid(pid, &status, 0) == -1 || status != 0)
		errx(1, "the session ended with %d", status);
	fclose(from);
}

/* Reads until a request is over. */
static void
one_over(void)
{
	static char	*line;
	static size_t	 size;

	for (;;) {
		if (getline(&line, &size, from) <= 0)
			errx(1, "the session has ended");
		if (strstr(line, ",\"error\":") != NULL)
			errx(1, "session: %s", line);
		if (strstr(line, ",\"end\":") != NULL)
			return;
	}
}

/* So many of a request, so many under way: each second. */
static double
rate(const char *request, int flight, int total)
{
	static int	 id;
	double		 start = now();
	int		 begun = 0, done = 0;

	while (done < total) {
		while (begun < total && begun - done < flight) {
			fprintf(to, "{\"id\":%d,%s}\n", ++id, request);
			begun++;
		}
		one_over();
		done++;
	}
	return (total / ((now() - start) / 1e6));
}

void
bench_session(void)
{
	char	 data[5464 + 1], put[6000], get[256], run[256];

	memset(data, 'A', sizeof(data) - 1);
	data[sizeof(data) - 1] = '\0';
	snprintf(put, sizeof(put), "\"call\":{\"sandbox\":\"%s\","
	    "\"op\":\"write\",\"path\":\"f\",\"flags\":4,\"data\":\"%s\"}",
	    bench.box.id, data);
	snprintf(get, sizeof(get), "\"call\":{\"sandbox\":\"%s\","
	    "\"op\":\"read\",\"path\":\"f\",\"length\":4096}", bench.box.id);
	snprintf(run, sizeof(run), "\"exec\":{\"sandbox\":\"%s\","
	    "\"argv\":[\"sh\",\"-c\",\"true\"]}", bench.box.id);
	begin();
	title("one session, 16 in flight");
	row(ROW_SESSION_PING, rate("\"ping\":{}", 16, bench.n * 20), 0);
	row(ROW_SESSION_WRITE, rate(put, 16, bench.n * 4), 0);
	row(ROW_SESSION_READ, rate(get, 16, bench.n * 4), 0);
	row(ROW_SESSION_READ_ONE, 1e6 / rate(get, 1, bench.n), 0);
	row(ROW_SESSION_RUN, rate(run, 16, bench.n * 2), 0);
	end();
}
