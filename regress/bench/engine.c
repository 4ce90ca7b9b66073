/*
 * What the Engine itself takes.
 */
#include <sys/wait.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "bench.h"

/*
 * One call on a connection of its own, the whole answer read to its end.
 * Returns the status and, in *body, what came behind the header.
 */
int
engine_call(const char *method, const char *path, const char *json,
    char **body)
{
	static char		 buf[1 << 20];
	ssize_t			 n;
	size_t			 len = 0;
	char			*p, *req;
	int			 s, status;

	/* Of version 1.0, so that the body is not sent in chunks. */
	if (asprintf(&req, "%s /v1.41%s HTTP/1.0\r\nHost: engine\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    method, path, strlen(json), json) == -1)
		err(1, "%s %s", method, path);
	s = engine_open(req);
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

/* The command is the inside of a JSON array; it must end well. */
void
engine_exec(const char *command)
{
	char	 json[512], path[256], id[128], *body;
	int	 status;

	snprintf(path, sizeof(path), "/containers/%s/exec",
	    bench.box.container);
	snprintf(json, sizeof(json), "{\"Cmd\":[%s],\"WorkingDir\":\"%s\","
	    "\"AttachStdout\":true,\"AttachStderr\":true}", command, BOX_DIR);
	engine_id(path, json, id, sizeof(id));
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

void
engine_exec_one(void)
{
	engine_exec("\"sh\",\"-c\",\"true\"");
}

/* So many under way at a time, each in a process: seconds. */
double
engine_exec_many(int flight, int total)
{
	double	 start = now();
	pid_t	 pid;
	int	 i, j, status;

	for (i = 0; i < flight; i++) {
		if ((pid = fork()) == -1)
			err(1, "fork");
		if (pid == 0) {
			for (j = i; j < total; j += flight)
				engine_exec_one();
			_exit(0);
		}
	}
	for (i = 0; i < flight; i++)
		if (wait(&status) == -1 || status != 0)
			errx(1, "an Engine's exec failed");
	return ((now() - start) / 1e6);
}

static json_t *
engine_inspect(const char *container)
{
	json_t	*v;
	char	*body, path[256];

	snprintf(path, sizeof(path), "/containers/%s/json", container);
	if (engine_call("GET", path, "", &body) != 200 ||
	    (v = json_loads(body, 0, NULL)) == NULL)
		errx(1, "inspect: %s", body);
	return (v);
}

/* Of its first process, here. */
pid_t
engine_pid(const char *container)
{
	json_t	*v = engine_inspect(container);
	pid_t	 pid;

	pid = (pid_t)json_integer_value(json_object_get(json_object_get(v,
	    "State"), "Pid"));
	json_decref(v);
	if (pid <= 0)
		errx(1, "container %s does not run", container);
	return (pid);
}

/*
 * What the Engine itself is asked to make: the container of our sandbox, but
 * for the mounts, which are that sandbox's own.
 */
char *
engine_create_body(void)
{
	json_t	*v = engine_inspect(bench.box.container), *host, *b;
	char	*text;

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

/* Makes and starts one. */
void
engine_create(const char *json, char *id, size_t len)
{
	char	 path[256], *body;
	int	 status;

	engine_id("/containers/create", json, id, len);
	snprintf(path, sizeof(path), "/containers/%s/start", id);
	if ((status = engine_call("POST", path, "", &body)) != 204)
		errx(1, "start: status %d: %s", status, body);
}

void
engine_remove(const char *id)
{
	char	 path[256], *body;
	int	 status;

	snprintf(path, sizeof(path), "/containers/%s?force=1&v=1", id);
	if ((status = engine_call("DELETE", path, "", &body)) != 204)
		errx(1, "remove: status %d: %s", status, body);
}
