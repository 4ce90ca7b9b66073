/*
 * An Engine of which nothing is real, and the guests: it keeps containers in
 * memory, shows each as it was asked for, and plays the guest of each that
 * runs, so that a daemon has thousands of sandboxes on a small machine.  What
 * a guest is to run has ended well at once, without output.
 *
 * usage: h_stand socket
 */
#include <sys/inotify.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <err.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "gproto.h"

#define IMAGE	"sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb" \
		"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define BUCKETS	4096

struct box {
	TAILQ_ENTRY(box)	 entry;
	TAILQ_ENTRY(box)	 watched;
	char			 id[65];
	char			 name[128];
	json_t			*body;
	char			 sock[108];	/* of its guest */
	int			 wd;		/* -1: does not run */
	int			 running;
	int			 paused;
	int			 code;
	struct bufferevent	*guest;
};
TAILQ_HEAD(boxes, box);

static struct event_base	*base;
static struct boxes		 boxes = TAILQ_HEAD_INITIALIZER(boxes);
static struct boxes		 watched[BUCKETS];
static struct bufferevent	*events;	/* the stream of them */
static uint64_t			 made;
static int			 inotify;

static void	guest_connect(struct box *);

static void
reply(struct bufferevent *bev, int status, const char *body)
{
	struct evbuffer	*out = bufferevent_get_output(bev);

	evbuffer_add_printf(out, "HTTP/1.1 %d X\r\n"
	    "Content-Type: application/json\r\n", status);
	if (status == 204)
		evbuffer_add_printf(out, "\r\n");
	else
		evbuffer_add_printf(out, "Content-Length: %zu\r\n\r\n%s",
		    strlen(body), body);
}

/* Takes what it is to say. */
static void
reply_json(struct bufferevent *bev, int status, json_t *j)
{
	char	*s = json_dumps(j, JSON_COMPACT);

	reply(bev, status, s);
	free(s);
	json_decref(j);
}

static json_t *
host_of(const struct box *b)
{
	return (json_object_get(b->body, "HostConfig"));
}

/* As the real one tells it: with all labels. */
static void
tell(const struct box *b, const char *action)
{
	json_t	*attr, *j;
	char	*s;

	if (events == NULL)
		return;
	attr = json_deep_copy(json_object_get(b->body, "Labels"));
	json_object_set_new(attr, "name", json_string(b->name));
	j = json_pack("{s:s,s:{s:s,s:o}}", "Action", action, "Actor", "ID",
	    b->id, "Attributes", attr);
	s = json_dumps(j, JSON_COMPACT);
	evbuffer_add_printf(bufferevent_get_output(events), "%s\n", s);
	free(s);
	json_decref(j);
}

/* As the real one shows what it was asked for. */
static json_t *
shown(const struct box *b)
{
	json_t	*host, *m, *mounts, *conf;
	size_t	 i;

	host = json_copy(host_of(b));
	json_object_set_new(host, "Runtime", json_string("runc"));
	json_object_set_new(host, "Privileged", json_false());
	conf = json_copy(b->body);
	json_object_del(conf, "HostConfig");
	mounts = json_array();
	json_array_foreach(json_object_get(host, "Mounts"), i, m)
		json_array_append_new(mounts, json_pack(
		    "{s:s,s:O,s:O,s:b,s:s}", "Type", "bind",
		    "Source", json_object_get(m, "Source"),
		    "Destination", json_object_get(m, "Target"),
		    "RW", !json_is_true(json_object_get(m, "ReadOnly")),
		    "Propagation", "rprivate"));
	return (json_pack("{s:s,s:o,s:O,s:O,s:[],s:{s:b,s:b,s:i,s:i,s:s},"
	    "s:o,s:o,s:o,s:{s:{s:{}}}}", "Id", b->id,
	    "Name", json_sprintf("/%s", b->name),
	    "Image", json_object_get(b->body, "Image"),
	    "Path", json_array_get(json_object_get(b->body, "Entrypoint"), 0),
	    "Args",
	    "State", "Running", b->running, "Paused", b->paused,
	    "Pid", b->running ? (int)getpid() : 0, "ExitCode", b->code,
	    "Error", "",
	    "Config", conf, "HostConfig", host, "Mounts", mounts,
	    "NetworkSettings", "Networks", "none"));
}

/* It runs no more. */
static void
box_end(struct box *b, int code)
{
	if (!b->running)
		return;
	b->running = b->paused = 0;
	b->code = code;
	if (b->guest != NULL)
		bufferevent_free(b->guest);
	b->guest = NULL;
	TAILQ_REMOVE(&watched[b->wd % BUCKETS], b, watched);
	(void)inotify_rm_watch(inotify, b->wd);
	b->wd = -1;
	tell(b, "die");
}

static void
guest_say(struct box *b, const uint8_t *buf, ssize_t len)
{
	if (len <= 0)
		errx(1, "a guest has nothing to say");
	bufferevent_write(b->guest, buf, len);
}

static void
guest_hello(struct box *b)
{
	struct gp_hello	 h;
	json_t		*host = host_of(b);
	uint8_t		 buf[512];
	const char	*user;

	memset(&h, 0, sizeof(h));
	h.version = GP_VERSION;
	h.flags = GP_CAN_INPUT | GP_CAN_SIGNAL | GP_CAN_PIDFD;
	h.boot = strtoull(b->id, NULL, 16);
	h.pid = 1;
	user = json_string_value(json_object_get(b->body, "User"));
	if (user == NULL || sscanf(user, "%u:%u", &h.uid, &h.gid) != 2)
		errx(1, "no user");
	h.memory = json_integer_value(json_object_get(host, "Memory"));
	h.pids = json_integer_value(json_object_get(host, "PidsLimit"));
	h.mcpus = json_integer_value(json_object_get(host, "NanoCpus")) /
	    1000000;
	h.release = "stand-in";
	guest_say(b, buf, gp_encode_hello(buf, sizeof(buf), &h));
}

static void
guest_run(struct box *b, uint64_t k)
{
	struct gp_started	 s = { .pid = 7, .start = 1 };
	struct gp_exit		 e;
	uint8_t			 buf[256];

	memset(&e, 0, sizeof(e));
	e.kind = GP_EXITED;
	e.start = 1;
	e.end = 2;
	guest_say(b, buf, gp_encode_started(buf, sizeof(buf), k, &s));
	guest_say(b, buf, gp_encode_exit(buf, sizeof(buf), k, &e));
}

/* One frame; -1: it has ended. */
static int
guest_frame(struct box *b, const struct gp_frame *f)
{
	struct gp_states_end	 none = { 0 };
	struct gp_ping		 ping;
	uint8_t			 buf[64];

	switch (f->type) {
	case GP_WELCOME:
		guest_say(b, buf, gp_encode_states_end(buf, sizeof(buf),
		    &none));
		break;
	case GP_START:
	case GP_RESUME:
		guest_run(b, f->k);
		break;
	case GP_PING:
		if (gp_decode_ping(&ping, f) == -1)
			errx(1, "a ping that is none");
		guest_say(b, buf, gp_encode_pong(buf, sizeof(buf), &ping));
		break;
	case GP_STOP:
		guest_say(b, buf, gp_encode_bye(buf, sizeof(buf)));
		/* The last of it goes out before the connection does. */
		(void)evbuffer_write(bufferevent_get_output(b->guest),
		    bufferevent_getfd(b->guest));
		box_end(b, 0);
		return (-1);
	default:
		break;
	}
	return (0);
}

static void
guest_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer	*in = bufferevent_get_input(bev);
	struct box	*b = arg;
	struct gp_frame	 f;
	size_t		 len;

	while ((len = evbuffer_get_length(in)) > 0) {
		switch (gp_get(&f, evbuffer_pullup(in, -1), len, GP_RUNNER)) {
		case -1:
			errx(1, "the runner speaks another protocol");
		case 0:
			return;
		}
		if (guest_frame(b, &f) == -1)
			return;
		evbuffer_drain(in, f.total);
	}
}

/* The next runner may be there already. */
static void
guest_lost(struct bufferevent *bev, short what, void *arg)
{
	struct box	*b = arg;

	if (what & BEV_EVENT_CONNECTED)
		return;
	bufferevent_free(bev);
	b->guest = NULL;
	guest_connect(b);
}

static void
guest_connect(struct box *b)
{
	struct sockaddr_un	 sun = { .sun_family = AF_UNIX };
	int			 fd;

	strlcpy(sun.sun_path, b->sock, sizeof(sun.sun_path));
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		err(1, "socket");
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1) {
		/* It is told when there is one to connect to. */
		close(fd);
		return;
	}
	(void)evutil_make_socket_nonblocking(fd);
	if ((b->guest = bufferevent_socket_new(base, fd,
	    BEV_OPT_CLOSE_ON_FREE)) == NULL)
		errx(1, "no memory");
	bufferevent_setcb(b->guest, guest_read, NULL, guest_lost, b);
	bufferevent_enable(b->guest, EV_READ | EV_WRITE);
	guest_hello(b);
}

static void
sockets_made(evutil_socket_t fd, short what, void *arg)
{
	const struct inotify_event	*ev;
	struct box			*b;
	char				 buf[16384]
	    __attribute__((__aligned__(8)));
	ssize_t				 len, off;

	if ((len = read(fd, buf, sizeof(buf))) == -1)
		err(1, "inotify");
	for (off = 0; off < len; off += sizeof(*ev) + ev->len) {
		ev = (const struct inotify_event *)(buf + off);
		if (ev->len == 0 || strcmp(ev->name, GUEST_SOCKNAME) != 0)
			continue;
		TAILQ_FOREACH(b, &watched[ev->wd % BUCKETS], watched)
			if (b->wd == ev->wd && b->guest == NULL)
				guest_connect(b);
	}
}

static void
box_start(struct box *b)
{
	const char	*target;
	json_t		*m;
	size_t		 i;

	if (b->running)
		return;
	json_array_foreach(json_object_get(host_of(b), "Mounts"), i, m) {
		target = json_string_value(json_object_get(m, "Target"));
		if (strcmp(target, GUEST_SOCKDIR) != 0)
			continue;
		strlcpy(b->sock, json_string_value(json_object_get(m,
		    "Source")), sizeof(b->sock));
	}
	if ((b->wd = inotify_add_watch(inotify, b->sock, IN_MOVED_TO)) == -1)
		err(1, "%s", b->sock);
	TAILQ_INSERT_TAIL(&watched[b->wd % BUCKETS], b, watched);
	strlcat(b->sock, "/" GUEST_SOCKNAME, sizeof(b->sock));
	b->running = 1;
	guest_connect(b);
}

static struct box *
box_find(const char *name)
{
	struct box	*b;

	TAILQ_FOREACH(b, &boxes, entry)
		if (strcmp(b->id, name) == 0 || strcmp(b->name, name) == 0)
			return (b);
	return (NULL);
}

static void
create(struct bufferevent *bev, const char *name, const char *body, size_t len)
{
	struct box	*b;

	if (box_find(name) != NULL) {
		reply(bev, 409, "{\"message\":\"in use\"}");
		return;
	}
	if ((b = calloc(1, sizeof(*b))) == NULL)
		err(1, NULL);
	if ((b->body = json_loadb(body, len, 0, NULL)) == NULL)
		errx(1, "a create without a body");
	/* What is looked for most is what was made last. */
	snprintf(b->id, sizeof(b->id), "%064llx", (unsigned long long)++made);
	strlcpy(b->name, name, sizeof(b->name));
	b->wd = -1;
	TAILQ_INSERT_HEAD(&boxes, b, entry);
	tell(b, "create");
	reply_json(bev, 201, json_pack("{s:s,s:[]}", "Id", b->id,
	    "Warnings"));
}

static void
work_box(struct bufferevent *bev, const char *method, char *path)
{
	struct box	*b;
	char		*op;

	if ((op = strpbrk(path, "/?")) != NULL)
		*op++ = '\0';
	else
		op = path + strlen(path);
	if ((b = box_find(path)) == NULL) {
		reply(bev, 404, "{\"message\":\"No such container\"}");
		return;
	}
	if (strcmp(op, "json") == 0) {
		reply_json(bev, 200, shown(b));
		return;
	}
	if (strcmp(op, "start") == 0)
		box_start(b);
	else if (strncmp(op, "kill", 4) == 0)
		box_end(b, 137);
	else if (strcmp(op, "pause") == 0 || strcmp(op, "unpause") == 0) {
		b->paused = *op == 'p';
		tell(b, op);
	} else if (strcmp(method, "DELETE") == 0) {
		box_end(b, 137);
		tell(b, "destroy");
		TAILQ_REMOVE(&boxes, b, entry);
		json_decref(b->body);
		free(b);
	}
	reply(bev, 204, NULL);
}

static void
work(struct bufferevent *bev, const char *method, char *path,
    const char *body, size_t len)
{
	json_t		*list;
	struct box	*b;
	char		 name[128], text[512];

	if (strncmp(path, "/v1.41/", 7) == 0)
		path += 6;
	if (strcmp(path, "/version") == 0)
		reply(bev, 200, "{\"Version\":\"0.stand\",\"ApiVersion\":"
		    "\"1.45\",\"MinAPIVersion\":\"1.12\",\"Arch\":\"amd64\"}");
	else if (strcmp(path, "/info") == 0)
		reply(bev, 200, "{\"OSType\":\"linux\",\"CgroupDriver\":"
		    "\"cgroupfs\",\"DefaultRuntime\":\"runc\",\"MemoryLimit\":"
		    "true,\"SwapLimit\":true,\"PidsLimit\":true,"
		    "\"CpuCfsQuota\":true}");
	else if (sscanf(path, "/images/%127[^/]", name) == 1) {
		snprintf(text, sizeof(text), "{\"Id\":\"" IMAGE "\","
		    "\"RepoTags\":[\"%s:latest\"],\"Architecture\":\"amd64\","
		    "\"Size\":1,\"Config\":{}}", name);
		reply(bev, 200, text);
	} else if (strncmp(path, "/containers/json", 16) == 0) {
		list = json_array();
		TAILQ_FOREACH(b, &boxes, entry)
			json_array_append_new(list, json_pack("{s:s}", "Id",
			    b->id));
		reply_json(bev, 200, list);
	} else if (strncmp(path, "/containers/create?name=", 24) == 0)
		create(bev, path + 24, body, len);
	else if (strncmp(path, "/containers/", 12) == 0)
		work_box(bev, method, path + 12);
	else if (strncmp(path, "/events", 7) == 0) {
		events = bev;
		evbuffer_add_printf(bufferevent_get_output(bev),
		    "HTTP/1.1 200 OK\r\n\r\n");
	} else
		reply(bev, 404, "{\"message\":\"page not found\"}");
}

/* The length of the body behind a header; -1: it is not there yet. */
static ssize_t
body_len(const char *head, const char *body, size_t have)
{
	const char	*p;
	size_t		 need;

	if ((p = strcasestr(head, "Content-Length:")) == NULL || p > body)
		return (0);
	need = strtoul(p + 15, NULL, 10);
	return (have < need ? -1 : (ssize_t)need);
}

static void
engine_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer	*in = bufferevent_get_input(bev);
	char		*buf, *end, method[16], path[4096];
	size_t		 head;
	ssize_t		 len;

	for (;;) {
		if (evbuffer_search(in, "\r\n\r\n", 4, NULL).pos == -1)
			return;
		/* Text has an end. */
		len = evbuffer_get_length(in);
		if ((buf = malloc(len + 1)) == NULL)
			err(1, NULL);
		evbuffer_copyout(in, buf, len);
		buf[len] = '\0';
		end = strstr(buf, "\r\n\r\n") + 4;
		head = end - buf;
		if ((len = body_len(buf, end, len - head)) == -1) {
			free(buf);
			return;
		}
		if (sscanf(buf, "%15s %4095s", method, path) != 2)
			errx(1, "no request");
		evbuffer_drain(in, head + len);
		work(bev, method, path, end, len);
		free(buf);
	}
}

static void
engine_lost(struct bufferevent *bev, short what, void *arg)
{
	if (events == bev)
		events = NULL;
	bufferevent_free(bev);
}

static void
engine_accept(struct evconnlistener *l, evutil_socket_t fd,
    struct sockaddr *sa, int len, void *arg)
{
	struct bufferevent	*bev;

	if ((bev = bufferevent_socket_new(base, fd,
	    BEV_OPT_CLOSE_ON_FREE)) == NULL)
		errx(1, "no memory");
	bufferevent_setcb(bev, engine_read, NULL, engine_lost, NULL);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
}

int
main(int argc, char *argv[])
{
	struct sockaddr_un	 sun = { .sun_family = AF_UNIX };
	struct event		*ev;
	struct rlimit		 rl;
	int			 i;

	if (argc != 2)
		errx(64, "usage: h_stand socket");
	signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
	/* The names of members are the same in each run. */
	json_object_seed(1);
	for (i = 0; i < BUCKETS; i++)
		TAILQ_INIT(&watched[i]);
	strlcpy(sun.sun_path, argv[1], sizeof(sun.sun_path));
	if ((base = event_base_new()) == NULL ||
	    (inotify = inotify_init1(IN_CLOEXEC)) == -1 ||
	    (ev = event_new(base, inotify, EV_READ | EV_PERSIST, sockets_made,
	    NULL)) == NULL || event_add(ev, NULL) == -1)
		err(1, "events");
	umask(0);
	if (evconnlistener_new_bind(base, engine_accept, NULL,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 64,
	    (struct sockaddr *)&sun, sizeof(sun)) == NULL)
		err(1, "%s", argv[1]);
	return (event_base_dispatch(base) == 0 ? 0 : 1);
}
