/*
 * Output: much of it, and the first byte.
 */
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define IN_BOX	"/tmp/stamp"

#define KEPT	(64 * 1024 * 1024)	/* of an output, by default */

/* Reads a descriptor to its end. */
typedef uint64_t	(*reader)(int, void *);

static uint64_t
read_all(int fd, void *arg)
{
	static char	 buf[256 * 1024];
	uint64_t	 total = 0;
	ssize_t		 n;
	int		*file = arg;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		if (file != NULL && pwrite(*file, buf, n, total % KEPT) != n)
			err(1, "write");
		total += n;
	}
	if (n == -1)
		err(1, "read");
	return (total);
}

/* Of each time, as stamp.c writes it, how long ago that was. */
static uint64_t
read_stamps(int fd, void *arg)
{
	struct samples	*s = arg;
	uint64_t	 ns, total = 0;
	ssize_t		 n;

	while ((n = read(fd, &ns, sizeof(ns))) == sizeof(ns)) {
		sample(s, now() - ns / 1e3);
		total += n;
	}
	if (n != 0)
		errx(1, "part of a time");
	return (total);
}

static uint64_t
on_host(char *const argv[], reader fn, void *arg)
{
	uint64_t	 total;
	pid_t		 pid;
	int		 fd[2], status;

	if (pipe2(fd, O_CLOEXEC) == -1)
		err(1, "pipe");
	pid = spawn(argv, fd[1], -1);
	close(fd[1]);
	total = fn(fd[0], arg);
	close(fd[0]);
	if (waitpid(pid, &status, 0) == -1 || status != 0)
		errx(1, "%s: status 0x%x", argv[0], status);
	return (total);
}

static uint64_t
in_box(char *const argv[], reader fn, void *arg)
{
	struct sandbox_answer	 a;
	struct proto_exec	 req;
	uint64_t		 total = 0;
	uint32_t		 n;
	int			 over = 0;

	exec_request(&req, argv);
	if (sandbox_send(bench.conn, PROTO_EXEC, &req, &n) == -1)
		client_lost("exec");
	while (!over) {
		memset(&a, 0, sizeof(a));
		if (sandbox_recv(bench.conn, &a, -1) == -1)
			client_lost("exec");
		if (a.type == PROTO_STREAM && a.u.stream.stream == 1)
			total += fn(a.fd, arg);
		if (a.type == PROTO_ERROR || a.type == PROTO_GAP)
			errx(1, "%s: %s", argv[0], a.type == PROTO_GAP ?
			    "a gap" : a.u.error.text);
		if (a.type == PROTO_EXEC_INFO && a.u.exec_info.code != 0)
			errx(1, "%s: %s %d", argv[0], a.u.exec_info.state,
			    a.u.exec_info.code);
		over = a.type == PROTO_END;
		sandbox_answer_clear(&a);
	}
	return (total);
}

static double
stream(uint64_t (*run)(char *const *, reader, void *), char *const argv[],
    uint64_t bytes, int *file)
{
	double	 start = now();

	if (run(argv, read_all, file) != bytes)
		errx(1, "%s: bytes are missing", argv[0]);
	return (bytes / (now() - start));
}

static int
scratch_file(void)
{
	char	 path[1024];
	int	 fd;

	snprintf(path, sizeof(path), "%s/output", bench.scratch);
	if ((fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC,
	    0600)) == -1)
		err(1, "%s", path);
	return (fd);
}

static void
stamp_install(void)
{
	char			*argv[] = { "sh", "-c", "cat >" IN_BOX
				    " && chmod 755 " IN_BOX, NULL };
	struct sandbox_io	 io;
	struct proto_exec	 req;
	struct proto_exec_info	 info;

	exec_request(&req, argv);
	memset(&io, 0, sizeof(io));
	io.wakefd = -1;
	if ((io.in = open(bench.stamp, O_RDONLY | O_CLOEXEC)) == -1)
		err(1, "%s", bench.stamp);
	if (sandbox_run(bench.conn, &req, &io, &info) == -1)
		client_lost("exec");
	if (info.code != 0)
		errx(1, "%s: %s %d", IN_BOX, info.state, info.code);
	msg_clear(&info, proto_def(PROTO_EXEC_INFO));
	close(io.in);
}

static int
larger(const void *a, const void *b)
{
	double	 x = *(const double *)a, y = *(const double *)b;

	return ((x < y) - (x > y));
}

void
bench_output(void)
{
	struct samples	 ours = { 0 }, host = { 0 };
	char		 count[24], times[12];
	char		*dd[] = { "/bin/busybox", "dd", "if=/dev/zero",
			    "bs=65536", count, "status=none", NULL };
	char		*out[] = { (char *)(uintptr_t)bench.stamp, times,
			    NULL };
	char		*in[] = { IN_BOX, times, NULL };
	double		 rate[2][3];
	uint64_t	 bytes = (uint64_t)bench.stream << 20;
	int		 i, file;

	snprintf(count, sizeof(count), "count=%d", bench.stream * 16);
	snprintf(times, sizeof(times), "%d", bench.n >= 100 ? 100 : 10);
	stamp_install();
	for (i = 0; i < 3; i++) {
		file = scratch_file();
		rate[0][i] = stream(on_host, dd, bytes, &file);
		close(file);
		rate[1][i] = stream(in_box, dd + 1, bytes, NULL);
		on_host(out, read_stamps, &host);
		in_box(in, read_stamps, &ours);
	}
	/* The best of three: what the machine gives when it is let. */
	qsort(rate[0], 3, sizeof(double), larger);
	qsort(rate[1], 3, sizeof(double), larger);
	title("output, against a pipe (and a file)");
	row(ROW_STREAM, rate[1][0], rate[0][0]);
	row(ROW_BYTE, at(&ours, 0.5), at(&host, 0.5));
	row(ROW_BYTE_99, at(&ours, 0.99), at(&host, 0.99));
	samples_free(&ours);
	samples_free(&host);
}
