#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakeengine.h"

#define FAKE_RULES	32
#define FAKE_IMAGE	"sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb" \
			"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

struct request {
	int	 fd;
	char	 line[4096];	/* METHOD /path, without the version */
	char	*body;
	size_t	 len;
};

static pthread_mutex_t		 lock = PTHREAD_MUTEX_INITIALIZER;
static const struct fake_rule	*rules;
static int			*seen;
static json_t			*box;	/* the one container, as inspected */
static int			 events = -1;	/* newest stream of them */

static int
put(int fd, const char *data, size_t len)
{
	ssize_t	 n;

	for (; len > 0; data += n, len -= n)
		if ((n = send(fd, data, len, MSG_NOSIGNAL)) <= 0)
			return (-1);
	return (0);
}

static int __attribute__((__format__(printf, 2, 3)))
putf(int fd, const char *fmt, ...)
{
	char	 buf[16384];
	va_list	 ap;
	int	 n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	return (put(fd, buf, n));
}

static int
reply(int fd, int status, const char *body)
{
	size_t	 len = body == NULL ? 0 : strlen(body);

	if (putf(fd, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n",
	    status) == -1)
		return (-1);
	if (status == 204 || status == 304)
		return (putf(fd, "\r\n"));
	if (putf(fd, "Content-Length: %zu\r\n\r\n", len) == -1)
		return (-1);
	return (put(fd, body, len));
}

static int
reply_json(int fd, int status, json_t *j)
{
	char	*s = json_dumps(j, JSON_COMPACT);
	int	 ret;

	ret = reply(fd, status, s);
	free(s);
	return (ret);
}

/* Until the other side is gone. */
static void
linger(int fd)
{
	struct pollfd	 p = { fd, POLLIN, 0 };
	char		 c[256];

	while (poll(&p, 1, -1) == 1 && recv(fd, c, sizeof(c), 0) > 0)
		;
}

/* One that is told, as the real one does: with all labels. */
static void
tell(const char *action)
{
	json_t	*attr, *j;
	char	*s;

	if (events == -1)
		return;
	attr = json_deep_copy(json_object_get(json_object_get(box, "Config"),
	    "Labels"));
	json_object_set_new(attr, "name", json_string(json_string_value(
	    json_object_get(box, "Name")) + 1));
	j = json_pack("{s:s,s:{s:s,s:o}}", "Action", action, "Actor", "ID",
	    FAKE_ID, "Attributes", attr);
	s = json_dumps(j, JSON_COMPACT);
	(void)putf(events, "%s\n", s);
	free(s);
	json_decref(j);
}

/* As the real one shows what it was asked for. */
static void
make_box(const char *name, json_t *body)
{
	json_t	*host, *m, *mounts, *conf;
	size_t	 i;

	host = json_deep_copy(json_object_get(body, "HostConfig"));
	json_object_set_new(host, "Runtime", json_string("runc"));
	json_object_set_new(host, "Privileged", json_false());
	conf = json_deep_copy(body);
	json_object_del(conf, "HostConfig");
	mounts = json_array();
	json_array_foreach(json_object_get(host, "Mounts"), i, m)
		json_array_append_new(mounts, json_pack(
		    "{s:s,s:O,s:O,s:b,s:s}", "Type", "bind",
		    "Source", json_object_get(m, "Source"),
		    "Destination", json_object_get(m, "Target"),
		    "RW", !json_is_true(json_object_get(m, "ReadOnly")),
		    "Propagation", "rprivate"));
	json_decref(box);
	box = json_pack("{s:s,s:o,s:O,s:s,s:[],s:{s:b,s:b,s:i,s:i,s:s},s:o,"
	    "s:o,s:o,s:{s:{s:{}}}}", "Id", FAKE_ID,
	    "Name", json_sprintf("/%s", name),
	    "Image", json_object_get(body, "Image"), "Path",
	    json_string_value(json_array_get(json_object_get(body,
	    "Entrypoint"), 0)), "Args",
	    "State", "Running", 0, "Paused", 0, "Pid", 0, "ExitCode", 0, "Error", "",
	    "Config", conf, "HostConfig", host, "Mounts", mounts,
	    "NetworkSettings", "Networks", "none");
	tell("create");
}

static void
set_running(int on, int code)
{
	json_t	*s = json_object_get(box, "State");

	json_object_set_new(s, "Running", json_boolean(on));
	json_object_set_new(s, "Paused", json_false());
	json_object_set_new(s, "Pid", json_integer(on ? 4711 : 0));
	json_object_set_new(s, "ExitCode", json_integer(code));
}

/* Only of one that runs and is not what it is to be. */
static int
freeze(int fd, int on)
{
	json_t	*s = json_object_get(box, "State");

	if (!json_is_true(json_object_get(s, "Running")) ||
	    json_is_true(json_object_get(s, "Paused")) == on)
		return (reply(fd, 409, "{\"message\":\"not so\"}"));
	json_object_set_new(s, "Paused", json_boolean(on));
	tell(on ? "pause" : "unpause");
	return (reply(fd, 204, NULL));
}

static int
limit_box(const struct request *r, int fd)
{
	json_t	*limits = json_loadb(r->body, r->len, 0, NULL);

	json_object_update(json_object_get(box, "HostConfig"), limits);
	json_decref(limits);
	tell("update");
	return (reply(fd, 200, "{\"Warnings\":[]}"));
}

/* Does what is asked; the answer goes to fd, or nowhere if that is -1. */
static int
work_box(const struct request *r, int fd, char *path)
{
	static const char	 none[] = "{\"message\":\"No such container\"}";
	char			*name, *op;
	json_t			*body;

	if (strncmp(path, "create?name=", 12) == 0) {
		if (box != NULL)
			return (reply(fd, 409, "{\"message\":\"in use\"}"));
		body = json_loadb(r->body, r->len, 0, NULL);
		make_box(path + 12, body);
		json_decref(body);
		return (reply(fd, 201, "{\"Id\":\"" FAKE_ID
		    "\",\"Warnings\":[]}"));
	}
	name = path;
	if ((op = strpbrk(path, "/?")) != NULL)
		*op++ = '\0';
	if (box == NULL || (strcmp(name, FAKE_ID) != 0 && strcmp(name,
	    json_string_value(json_object_get(box, "Name")) + 1) != 0))
		return (reply(fd, 404, none));
	if (strncmp(r->line, "DELETE", 6) == 0) {
		tell("destroy");
		json_decref(box);
		box = NULL;
		return (reply(fd, 204, NULL));
	}
	if (op != NULL && strcmp(op, "json") == 0)
		return (reply_json(fd, 200, box));
	if (op != NULL && strcmp(op, "update") == 0)
		return (limit_box(r, fd));
	if (op != NULL && strcmp(op, "pause") == 0)
		return (freeze(fd, 1));
	if (op != NULL && strcmp(op, "unpause") == 0)
		return (freeze(fd, 0));
	if (op != NULL && strcmp(op, "start") == 0)
		set_running(1, 0);
	else if (op != NULL && strncmp(op, "kill", 4) == 0)
		set_running(0, 137);
	return (reply(fd, 204, NULL));
}

static int
work(const struct request *r, int fd)
{
	char	 path[4096], name[128], text[512], *p;
	json_t	*list;
	int	 ret;

	p = strchr(r->line, '/');
	if (strncmp(p, "/v1.41/", 7) == 0)
		p += 6;
	strlcpy(path, p, sizeof(path));
	if (strcmp(path, "/version") == 0)
		return (reply(fd, 200, "{\"Version\":\"fake\",\"ApiVersion\":"
		    "\"1.45\",\"MinAPIVersion\":\"1.12\",\"Arch\":\"amd64\"}"));
	if (strcmp(path, "/info") == 0)
		return (reply(fd, 200, "{\"OSType\":\"linux\",\"CgroupDriver\":"
		    "\"cgroupfs\",\"DefaultRuntime\":\"runc\",\"MemoryLimit\":"
		    "true,\"SwapLimit\":true,\"PidsLimit\":true,"
		    "\"CpuCfsQuota\":true}"));
	if (strncmp(path, "/images/create", 14) == 0)
		return (reply(fd, 200, "{\"status\":\"" FAKE_IMAGE "\"}\r\n"));
	if (sscanf(path, "/images/%127[^/]", name) == 1) {
		snprintf(text, sizeof(text), "{\"Id\":\"" FAKE_IMAGE "\","
		    "\"RepoTags\":[\"%s:latest\"],\"Architecture\":\"%s\","
		    "\"Size\":1,\"Config\":{}}", name,
		    strncmp(name, "arm", 3) == 0 ? "arm64" : "amd64");
		return (reply(fd, 200, text));
	}
	if (strncmp(path, "/containers/json", 16) == 0) {
		list = json_array();
		if (box != NULL)
			json_array_append(list, box);
		ret = reply_json(fd, 200, list);
		json_decref(list);
		return (ret);
	}
	if (strncmp(path, "/containers/", 12) == 0)
		return (work_box(r, fd, path + 12));
	if (strncmp(path, "/events", 7) == 0) {
		(void)putf(fd, "HTTP/1.1 200 OK\r\n\r\n");
		events = fd;
		return (-2);
	}
	return (reply(fd, 404, "{\"message\":\"page not found\"}"));
}

/* A whole request; a chunked body is read to its last chunk. */
static int
take(struct request *r, char *buf, size_t size, size_t *have)
{
	char	*end, *p;
	size_t	 head, need;
	ssize_t	 n;
	int	 chunked;

	for (;;) {
		buf[*have] = '\0';
		if ((end = strstr(buf, "\r\n\r\n")) != NULL)
			break;
		if (*have + 1 >= size || (n = recv(r->fd, buf + *have,
		    size - *have - 1, 0)) <= 0)
			return (-1);
		*have += n;
	}
	head = end + 4 - buf;
	chunked = strcasestr(buf, "Transfer-Encoding: chunked") != NULL;
	p = strcasestr(buf, "Content-Length:");
	need = p != NULL && p < end ? strtoul(p + 15, NULL, 10) : 0;
	while (chunked ? memmem(buf + head, *have - head, "0\r\n\r\n", 5) ==
	    NULL : *have < head + need) {
		if (*have + 1 >= size || (n = recv(r->fd, buf + *have,
		    size - *have - 1, 0)) <= 0)
			return (-1);
		*have += n;
	}
	snprintf(r->line, sizeof(r->line), "%.*s",
	    (int)(strstr(buf, " HTTP/") - buf), buf);
	r->body = buf + head;
	r->len = chunked ? *have - head : need;
	return (0);
}

/* As engine/record.py does; judged at the end of the run. */
static void
record(const struct request *r, const char *buf)
{
	const char	*dir = getenv("SBX_SCRATCH");
	char		 path[128], *s, *line;
	json_t		*j;
	int		 fd, len;

	if (dir == NULL)
		return;
	snprintf(path, sizeof(path), "%s/requests.fake", dir);
	j = json_pack("{s:s,s:s%,s:b,s:i,s:s%}", "under", dir, "head", buf,
	    (size_t)(strstr(buf, "\r\n\r\n") - buf), "cut", 0,
	    "size", (int)r->len, "body", r->body,
	    strstr(r->line, "/containers/create") == NULL &&
	    strstr(r->line, "/update") == NULL ? (size_t)0 : r->len);
	s = json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII);
	len = asprintf(&line, "%s\n", s == NULL ? "not text" : s);
	/* One call: others write to it as well. */
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd == -1 || write(fd, line, len) != len)
		_exit(1);
	close(fd);
	free(line);
	free(s);
	json_decref(j);
}

static void
work_alone(const struct request *r)
{
	pthread_mutex_lock(&lock);
	work(r, -1);
	pthread_mutex_unlock(&lock);
}

static void
taken(const struct request *r)
{
	json_t	*labels;

	pthread_mutex_lock(&lock);
	work(r, -1);
	labels = json_object_get(json_object_get(box, "Config"), "Labels");
	json_object_set_new(labels, "sandboxd.op", json_string(
	    "99999999999999999999999999999999"));
	reply(r->fd, 409, "{\"message\":\"Conflict. The name is in use\"}");
	pthread_mutex_unlock(&lock);
}

static void
misbehave(const struct request *r, const struct fake_rule *rule)
{
	static const char	 good[] = "HTTP/1.1 200 OK\r\n";
	static const char	 zeros[65536];
	int			 i;

	switch (rule->how) {
	case FAKE_HALF:
		work_alone(r);
		(void)putf(r->fd, "%sContent-Length: 500\r\n\r\n{\"Id\":\"aa",
		    good);
		break;
	case FAKE_CUT:
		work_alone(r);
		break;
	case FAKE_MUTE:
		work_alone(r);
		linger(r->fd);
		break;
	case FAKE_AFTER:
		linger(r->fd);
		/* Two looks later, and more. */
		sleep(4);
		work_alone(r);
		break;
	case FAKE_TAKEN:
		taken(r);
		break;
	case FAKE_RAW:
	case FAKE_STREAM:
		(void)put(r->fd, rule->body, strlen(rule->body));
		if (rule->how == FAKE_STREAM)
			linger(r->fd);
		break;
	case FAKE_BIG:
		(void)putf(r->fd, "%sContent-Length: 1073741824\r\n\r\n[",
		    good);
		for (i = 0; i < 16384; i++)
			if (put(r->fd, zeros, sizeof(zeros)) == -1)
				break;
		break;
	case FAKE_ENDLESS:
		(void)putf(r->fd, "%s\r\n{\"a\":[0", good);
		while (putf(r->fd, ",0,1,2,3,4,5,6,7,8,9,10,11,12,13,14") == 0)
			;
		break;
	case FAKE_HEADERS:
		(void)putf(r->fd, "%s", good);
		while (putf(r->fd, "X-Header: 0123456789012345678\r\n") == 0)
			;
		break;
	case FAKE_LATE:
		linger(r->fd);
		break;
	default:
		break;
	}
}

static void *
serve(void *arg)
{
	struct request		 r;
	const struct fake_rule	*rule;
	char			*buf;
	size_t			 have = 0;
	int			 ret = 0, i;

	r.fd = (int)(intptr_t)arg;
	buf = malloc(1 << 20);
	while (ret == 0 && take(&r, buf, 1 << 20, &have) == 0) {
		have = 0;
		record(&r, buf);
		pthread_mutex_lock(&lock);
		rule = NULL;
		for (i = 0; rules[i].request != NULL; i++) {
			if (strncmp(rules[i].request, r.line,
			    strlen(rules[i].request)) != 0)
				continue;
			if (seen[i]++ < rules[i].times) {
				rule = &rules[i];
				break;
			}
		}
		if (rule == NULL)
			ret = work(&r, r.fd);
		else if (rule->how == FAKE_ANSWER)
			ret = reply(r.fd, rule->status, rule->body);
		pthread_mutex_unlock(&lock);
		if (rule != NULL && rule->how != FAKE_ANSWER) {
			misbehave(&r, rule);
			break;
		}
	}
	if (ret == -2)
		linger(r.fd);
	pthread_mutex_lock(&lock);
	if (events == r.fd)
		events = -1;
	pthread_mutex_unlock(&lock);
	close(r.fd);
	free(buf);
	return (NULL);
}

static void
fake_main(int fd)
{
	pthread_t	 t;
	int		 c;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	closefrom(fd + 1);
	while ((c = accept(fd, NULL, NULL)) != -1) {
		if (pthread_create(&t, NULL, serve, (void *)(intptr_t)c) != 0)
			_exit(1);
		pthread_detach(t);
	}
	_exit(0);
}

void
fake_start(struct fake *f, const char *dir, const struct fake_rule *table)
{
	struct sockaddr_un	 sun = { .sun_family = AF_UNIX };
	int			 fd;

	if (f->seen == NULL)
		f->seen = mmap(NULL, FAKE_RULES * sizeof(int),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ATF_REQUIRE(f->seen != MAP_FAILED);
	memset(f->seen, 0, FAKE_RULES * sizeof(int));
	snprintf(f->sock, sizeof(f->sock), "%s/engine", dir);
	strlcpy(sun.sun_path, f->sock, sizeof(sun.sun_path));
	(void)unlink(f->sock);
	ATF_REQUIRE((fd = socket(AF_UNIX, SOCK_STREAM, 0)) != -1);
	ATF_REQUIRE(bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	ATF_REQUIRE(listen(fd, 64) == 0);
	rules = table;
	seen = f->seen;
	ATF_REQUIRE((f->pid = fork()) != -1);
	if (f->pid == 0)
		fake_main(fd);
	close(fd);
}

void
fake_stop(struct fake *f)
{
	ATF_REQUIRE(kill(f->pid, SIGKILL) == 0);
	ATF_REQUIRE(waitpid(f->pid, NULL, 0) == f->pid);
	(void)unlink(f->sock);
}
