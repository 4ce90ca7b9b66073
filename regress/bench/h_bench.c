/*
 * What must be fast, measured side by side in one run, so that the ratios
 * hold on a slow or a busy machine as well.
 *
 * usage: h_bench socket engine-socket sandboxctl scratch n
 */

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "libsandbox.h"

#define FLIGHT		16
#define CONNS		4

extern char	**environ;

struct samples {
	double	*us;
	int	 n;
};

static const char	*engine;
static const char	*ctl;
static const char	*ctl_socket;
static struct sandbox	*conn;
static struct proto_sandbox box;
static int		 sync_fd = -1;

static double
now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec * 1e6 + ts.tv_nsec / 1e3);
}

static void
samples_init(struct samples *s, int max)
{
	if ((s->us = calloc(max, sizeof(*s->us))) == NULL)
		err(1, NULL);
	s->n = 0;
}

static int
compare(const void *a, const void *b)
{
	double	 x = *(const double *)a, y = *(const double *)b;

	return ((x > y) - (x < y));
}

/* The value below which the share p of the samples lies. */
static double
at(struct samples *s, double p)
{
	qsort(s->us, s->n, sizeof(*s->us), compare);
	return (s->us[(int)(p * (s->n - 1))]);
}

static void
row(const char *what, struct samples *s)
{
	printf("%-44s %9.0f us %9.0f us p99\n", what, at(s, 0.5),
	    at(s, 0.99));
}

static void
ratio(const char *what, double value, const char *goal)
{
	printf("%-44s %9.2f       %s\n", what, value, goal);
}

/* --- the host ------------------------------------------------------- */

static void
spawn(char *const argv[], int quiet)
{
	posix_spawn_file_actions_t	 fa;
	pid_t				 pid;
	int				 status, error;

	posix_spawn_file_actions_init(&fa);
	if (quiet)
		posix_spawn_file_actions_addopen(&fa, 0, "/dev/null",
		    O_RDONLY, 0);
	if ((error = posix_spawn(&pid, argv[0], &fa, NULL, argv,
	    environ)) != 0)
		errc(1, error, "%s", argv[0]);
	posix_spawn_file_actions_destroy(&fa);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			err(1, "waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		errx(1, "%s: status 0x%x", argv[0], status);
}

static void
host_spawn(void)
{
	char	*argv[] = { "/bin/busybox", "sh", "-c", "true", NULL };

	spawn(argv, 0);
}

/* What a durable record costs here. */
static void
host_sync(void)
{
	char	 record[256];

	memset(record, 'r', sizeof(record));
	if (write(sync_fd, record, sizeof(record)) != sizeof(record) ||
	    fdatasync(sync_fd) == -1)
		err(1, "sync");
}

/* --- the daemon ----------------------------------------------------- */

static void
exec_request(struct proto_exec *req)
{
	static char	*argv[] = { "sh", "-c", "true" };

	memset(req, 0, sizeof(*req));
	req->sandbox = box.id;
	req->argv.v = argv;
	req->argv.n = 3;
	req->dir = "";
	req->flags = EXEC_ATTACH;
}

static void
exec_check(const struct proto_exec_info *info)
{
	if (strcmp(info->state, "exited") != 0 || info->code != 0)
		errx(1, "%s: %s %d %s", info->id, info->state, info->code,
		    info->cause);
}

/* Takes answers until a request is over: its number, 0 if none came. */
static uint32_t
answers(struct sandbox *c, int timeout)
{
	struct sandbox_answer	 a;
	uint32_t		 over = 0;
	int			 n;

	while (over == 0) {
		memset(&a, 0, sizeof(a));
		if ((n = sandbox_recv(c, &a, timeout)) == -1)
			errx(1, "%s", sandbox_error(c)->text);
		if (n == 0)
			break;
		if (a.type == PROTO_ERROR)
			errx(1, "%s", a.u.error.text);
		if (a.type == PROTO_EXEC_INFO)
			exec_check(&a.u.exec_info);
		if (a.type == PROTO_END)
			over = a.req;
		sandbox_answer_clear(&a);
	}
	return (over);
}

static void
sandbox_exec_one(void)
{
	struct proto_exec	 req;
	uint32_t		 n;

	exec_request(&req);
	if (sandbox_send(conn, PROTO_EXEC, &req, &n) == -1)
		errx(1, "%s", sandbox_error(conn)->text);
	while (answers(conn, -1) != n)
		;
}

static void
ctl_exec_one(void)
{
	char	*argv[] = { (char *)ctl, "-s", (char *)ctl_socket, "exec",
		    box.id, "sh", "-c", "true", NULL };

	spawn(argv, 1);
}

/* Execs per second with FLIGHT of them under way. */
static double
sandbox_exec_many(int total)
{
	struct sandbox_error	 e;
	struct proto_exec	 req;
	struct sandbox		*c[CONNS];
	struct pollfd		 pfd[CONNS];
	double			 start, took;
	uint32_t		 n;
	int			 i, begun = 0, done = 0;

	exec_request(&req);
	for (i = 0; i < CONNS; i++) {
		if ((c[i] = sandbox_open(ctl_socket, "bench", &e)) == NULL)
			errx(1, "%s", e.text);
		pfd[i].fd = sandbox_fd(c[i]);
		pfd[i].events = POLLIN;
	}
	start = now();
	for (; begun < FLIGHT; begun++)
		if (sandbox_send(c[begun % CONNS], PROTO_EXEC, &req, &n) == -1)
			errx(1, "send");
	while (done < total) {
		if (poll(pfd, CONNS, -1) == -1 && errno != EINTR)
			err(1, "poll");
		for (i = 0; i < CONNS; i++) {
			while (answers(c[i], 0) != 0) {
				done++;
				if (begun >= total)
					continue;
				begun++;
				if (sandbox_send(c[i], PROTO_EXEC, &req,
				    &n) == -1)
					errx(1, "send");
			}
		}
	}
	took = now() - start;
	for (i = 0; i < CONNS; i++)
		sandbox_close(c[i]);
	return (total / (took / 1e6));
}

static void
box_create(struct proto_sandbox *out)
{
	struct proto_create	 req;

	memset(&req, 0, sizeof(req));
	req.workdir = "";
	req.wait = 1;
	if (sandbox_create(conn, &req, NULL, out) == -1)
		errx(1, "create: %s", sandbox_error(conn)->text);
	if (strcmp(out->state, "ready") != 0)
		errx(1, "create: %s %s", out->state, out->cause);
}

static void
box_delete(struct proto_sandbox *b)
{
	struct proto_ref	 req;

	memset(&req, 0, sizeof(req));
	req.id = b->id;
	req.wait = 1;
	if (sandbox_delete(conn, &req, NULL, NULL) == -1)
		errx(1, "delete: %s", sandbox_error(conn)->text);
	msg_clear(b, proto_def(PROTO_SANDBOX));
}

/* --- the Engine ----------------------------------------------------- */

/*
 * One call on a connection of its own, the whole answer read to its end.
 * Returns the status and, in *body, what came behind the header.
 */
static int
engine_call(const char *method, const char *path, const char *json,
    char **body)
{
	static char		 buf[1 << 20];
	struct sockaddr_un	 sun;
	ssize_t			 n;
	size_t			 len = 0;
	char			*p, *req;
	int			 s, reqlen, status;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	if (strlcpy(sun.sun_path, engine, sizeof(sun.sun_path)) >=
	    sizeof(sun.sun_path))
		errx(1, "%s: too long", engine);
	if ((s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    connect(s, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		err(1, "%s", engine);
	/* Of version 1.0, so that the body is not sent in chunks. */
	reqlen = asprintf(&req, "%s /v1.41%s HTTP/1.0\r\nHost: engine\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    method, path, strlen(json), json);
	if (reqlen == -1 || write(s, req, reqlen) != reqlen)
		err(1, "%s %s", method, path);
	free(req);
	while ((n = read(s, buf + len, sizeof(buf) - 1 - len)) > 0)
		len += n;
	close(s);
	buf[len] = '\0';
	if (sscanf(buf, "HTTP/1.%*d %d", &status) != 1 ||
	    (p = strstr(buf, "\r\n\r\n")) == NULL)
		errx(1, "%s %s: no answer", method, path);
	*body = p + 4;
	return (status);
}

/* The member "Id" of an answer, which must have the status. */
static void
engine_id(const char *path, const char *json, char *id, size_t len)
{
	json_t	*v;
	char	*body;
	int	 status;

	status = engine_call("POST", path, json, &body);
	if (status != 201)
		errx(1, "%s: status %d: %s", path, status, body);
	if ((v = json_loads(body, 0, NULL)) == NULL ||
	    json_string_value(json_object_get(v, "Id")) == NULL)
		errx(1, "%s: no id", path);
	strlcpy(id, json_string_value(json_object_get(v, "Id")), len);
	json_decref(v);
}

static void
engine_exec_one(void)
{
	char	 path[256], id[128], *body;
	int	 status;

	snprintf(path, sizeof(path), "/containers/%s/exec", box.container);
	engine_id(path, "{\"Cmd\":[\"sh\",\"-c\",\"true\"],"
	    "\"AttachStdout\":true,\"AttachStderr\":true}", id, sizeof(id));
	snprintf(path, sizeof(path), "/exec/%s/start", id);
	status = engine_call("POST", path, "{\"Detach\":false,\"Tty\":false}",
	    &body);
	if (status != 200 && status != 101)
		errx(1, "%s: status %d: %s", path, status, body);
	snprintf(path, sizeof(path), "/exec/%s/json", id);
	if (engine_call("GET", path, "", &body) != 200 ||
	    strstr(body, "\"ExitCode\":0") == NULL)
		errx(1, "%s: %s", path, body);
}

/* Execs per second with FLIGHT of them under way, each in a process. */
static double
engine_exec_many(int total)
{
	double	 start;
	pid_t	 pid;
	int	 i, j, status;

	start = now();
	for (i = 0; i < FLIGHT; i++) {
		if ((pid = fork()) == -1)
			err(1, "fork");
		if (pid == 0) {
			for (j = i; j < total; j += FLIGHT)
				engine_exec_one();
			_exit(0);
		}
	}
	for (i = 0; i < FLIGHT; i++)
		if (wait(&status) == -1 || status != 0)
			errx(1, "an Engine exec failed");
	return (total / ((now() - start) / 1e6));
}

/*
 * What the Engine itself is asked to make: the container of our sandbox, but
 * for the mounts, which are that sandbox's own.
 */
static char *
engine_create_body(void)
{
	json_t	*v, *host, *b;
	char	*body, *text, path[256];

	snprintf(path, sizeof(path), "/containers/%s/json", box.container);
	if (engine_call("GET", path, "", &body) != 200 ||
	    (v = json_loads(body, 0, NULL)) == NULL)
		errx(1, "inspect: %s", body);
	host = json_object_get(v, "HostConfig");
	json_object_del(host, "Mounts");
	if ((b = json_pack("{s:O, s:O, s:[s,s], s:O}", "Image",
	    json_object_get(v, "Image"), "User",
	    json_object_get(json_object_get(v, "Config"), "User"),
	    "Cmd", "sleep", "1000", "HostConfig", host)) == NULL ||
	    (text = json_dumps(b, 0)) == NULL)
		errx(1, "no body");
	json_decref(b);
	json_decref(v);
	return (text);
}

static double
engine_create_one(const char *json)
{
	char	 id[128], path[256], *body;
	double	 start, took;
	int	 status;

	start = now();
	engine_id("/containers/create", json, id, sizeof(id));
	snprintf(path, sizeof(path), "/containers/%s/start", id);
	if ((status = engine_call("POST", path, "", &body)) != 204)
		errx(1, "start: status %d: %s", status, body);
	took = now() - start;
	snprintf(path, sizeof(path), "/containers/%s?force=1&v=1", id);
	if ((status = engine_call("DELETE", path, "", &body)) != 204)
		errx(1, "remove: status %d: %s", status, body);
	return (took);
}

/* --- the rows -------------------------------------------------------- */

static void
timed(struct samples *s, void (*what)(void))
{
	double	 start = now();

	what();
	s->us[s->n++] = now() - start;
}

static void
bench_exec(int n)
{
	struct samples	 host, sync2, ours, byctl, theirs;
	double		 spawned, synced, m;
	int		 i;

	samples_init(&host, n);
	samples_init(&sync2, n);
	samples_init(&ours, n);
	samples_init(&byctl, n);
	samples_init(&theirs, n);
	for (i = 0; i < 10; i++)
		sandbox_exec_one();
	for (i = 0; i < n; i++) {
		timed(&host, host_spawn);
		timed(&sync2, host_sync);
		timed(&ours, sandbox_exec_one);
		timed(&byctl, ctl_exec_one);
		if (i % 10 == 0)
			timed(&theirs, engine_exec_one);
	}
	spawned = at(&host, 0.5);
	synced = 2 * at(&sync2, 0.5);
	m = at(&ours, 0.5);
	printf("sh -c true, one at a time (%d times)\n", n);
	row("  spawn on the host", &host);
	row("  one sync of a small record", &sync2);
	row("  exec by libsandbox", &ours);
	row("  exec by sandboxctl, a process per call", &byctl);
	row("  the Engine's exec", &theirs);
	ratio("  exec, less two syncs, against spawn", (m - synced) / spawned,
	    "times (goal: at most 1.75)");
	ratio("  exec against spawn and two syncs", m / (spawned + synced),
	    "times");
	ratio("  sandboxctl more than libsandbox",
	    (at(&byctl, 0.5) - m) / 1000, "ms (goal: at most 3)");
	ratio("  the Engine's exec against ours", at(&theirs, 0.5) / m,
	    "times (goal: at least 30)");
}

static void
bench_many(int n)
{
	double	 ours, theirs;

	ours = sandbox_exec_many(n * 5);
	theirs = engine_exec_many(n / 5 > FLIGHT ? n / 5 : FLIGHT);
	printf("sh -c true, %d in flight\n", FLIGHT);
	printf("%-44s %9.0f /s    (goal: at least 1200)\n",
	    "  exec by libsandbox", ours);
	printf("%-44s %9.0f /s\n", "  the Engine's exec", theirs);
	ratio("  ours against the Engine's", ours / theirs,
	    "times (goal: at least 80)");
}

static void
bench_create(int n)
{
	struct samples		 ours, theirs;
	struct proto_sandbox	 b;
	double			 start;
	char			*json;
	int			 i;

	json = engine_create_body();
	samples_init(&ours, n);
	samples_init(&theirs, n);
	for (i = 0; i < n; i++) {
		memset(&b, 0, sizeof(b));
		start = now();
		box_create(&b);
		ours.us[ours.n++] = now() - start;
		box_delete(&b);
		theirs.us[theirs.n++] = engine_create_one(json);
	}
	free(json);
	printf("create (%d times)\n", n);
	row("  create to ready by libsandbox", &ours);
	row("  the Engine's create and start", &theirs);
	ratio("  ours against the Engine's", at(&ours, 0.5) / at(&theirs, 0.5),
	    "times (goal: at most 1.1)");
}

int
main(int argc, char *argv[])
{
	struct sandbox_error	 e;
	struct proto_sandbox	 made;
	const char		*errstr;
	char			 path[1024];
	int			 n;

	if (argc != 6)
		errx(64, "usage: h_bench socket engine sandboxctl scratch n");
	ctl_socket = argv[1];
	engine = argv[2];
	ctl = argv[3];
	n = strtonum(argv[5], 10, 100000, &errstr);
	if (errstr != NULL)
		errx(64, "n is %s: %s", errstr, argv[5]);
	setvbuf(stdout, NULL, _IOLBF, 0);

	snprintf(path, sizeof(path), "%s/sync", argv[4]);
	if ((sync_fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND |
	    O_CLOEXEC, 0600)) == -1)
		err(1, "%s", path);
	if ((conn = sandbox_open(ctl_socket, "bench", &e)) == NULL)
		errx(1, "%s", e.text);
	/* The container's name is known to who asks once it is ready. */
	box_create(&made);
	if (sandbox_show(conn, made.id, &box) == -1)
		errx(1, "show: %s", sandbox_error(conn)->text);

	bench_exec(n);
	bench_many(n);
	bench_create(n / 20 > 5 ? n / 20 : 5);

	box_delete(&box);
	msg_clear(&made, proto_def(PROTO_SANDBOX));
	sandbox_close(conn);
	return (0);
}
