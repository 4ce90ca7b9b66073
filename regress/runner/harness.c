/* Parent, store, frontend and guests for a runner under test. */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "log.h"
#include "proc.h"
#include "scratch.h"

#define PATIENCE	60000		/* ms; the machine may be busy */

static int
patience(void)
{
	const char	*s = getenv("SLOW");

	return (s != NULL && atoi(s) > 1 ? PATIENCE * atoi(s) : PATIENCE);
}

char *
rig_path(struct rig *r, const char *fmt, ...)
{
	static char	 path[256];
	va_list		 ap;
	int		 n;

	n = snprintf(path, sizeof(path), "%s/", r->root);
	va_start(ap, fmt);
	vsnprintf(path + n, sizeof(path) - n, fmt, ap);
	va_end(ap);
	return (path);
}

int
rig_exists(struct rig *r, const char *name)
{
	return (access(rig_path(r, "%s", name), F_OK) == 0);
}

static void
make_dir(const char *path, mode_t mode, uid_t uid)
{
	ATF_REQUIRE(mkdir(path, mode) == 0 || errno == EEXIST);
	ATF_REQUIRE_EQ(0, chmod(path, mode));
	ATF_REQUIRE_EQ(0, chown(path, uid, uid));
}

struct rig *
rig_new(void)
{
	struct rig	*r;

	ATF_REQUIRE((r = calloc(1, sizeof(*r))) != NULL);
	signal(SIGPIPE, SIG_IGN);
	scratch_template(r->dir, sizeof(r->dir));
	ATF_REQUIRE(mkdtemp(r->dir) != NULL);
	/* A user of this test alone. */
	r->uid = 1900000000 + getpid();
	snprintf(r->root, sizeof(r->root), "%s/runner", r->dir);
	make_dir(r->dir, 0711, 0);
	make_dir(r->root, 0750, r->uid);
	ATF_REQUIRE_EQ(0, chown(r->root, 0, r->uid));
	make_dir(rig_path(r, "sock"), 0755, 0);
	make_dir(rig_path(r, "sock/%d", OWNER), 0755, 0);
	make_dir(rig_path(r, "log"), 0700, r->uid);
	TAILQ_INIT(&r->from_main);
	TAILQ_INIT(&r->to_store);
	TAILQ_INIT(&r->to_frontend);
	strlcpy(r->conf.instance, "0123456789abcdef0123456789abcdef",
	    sizeof(r->conf.instance));
	r->conf.engine = r->conf.guest = r->conf.mnt = r->conf.sock =
	    r->conf.mounts = strdup("/x");
	r->conf.max_execs = 100;
	r->conf.max_sandboxes = 100;
	r->conf.max_clients = 100;
	r->conf.log_exec = 64 << 20;
	r->conf.log_sandbox = 512 << 20;
	r->conf.log_total = 1ULL << 33;
	r->conf.t_stall = 60000;
	return (r);
}

static void
send_msg(struct chan *ch, uint32_t type, uint64_t session, uint32_t req,
    int fd, const void *msg)
{
	pipe_send(ch, type, 0, session, req, fd, msg);
	ATF_REQUIRE_EQ(0, chan_flush_wait(ch));
}

void
say(struct rig *r, uint32_t type, uint64_t session, uint32_t req,
    const void *msg)
{
	send_msg(&r->store, type, session, req, -1, msg);
}

/* The same under a number of the store's. */
void
say_op(struct rig *r, uint32_t type, uint64_t op, const void *msg)
{
	pipe_send(&r->store, type, op, 0, 0, -1, msg);
	ATF_REQUIRE_EQ(0, chan_flush_wait(&r->store));
}

/* Takes what is on a pipe: 0 when the runner is gone. */
static int
take(struct chan *ch, struct gots *list)
{
	const struct msg_def	*def;
	struct frame		 f;
	struct got		*g;
	int			 n;

	if (chan_read(ch) != 1)
		return (0);
	while ((n = chan_get(ch, &f)) == 1) {
		ATF_REQUIRE((def = msg_def(f.type)) != NULL);
		ATF_REQUIRE((g = calloc(1, sizeof(*g))) != NULL);
		ATF_REQUIRE(def->size <= sizeof(g->u));
		ATF_REQUIRE_EQ(0, msg_decode_array(&g->u, def, f.data, f.len));
		g->type = f.type;
		g->op = f.op;
		g->session = f.session;
		g->req = f.req;
		g->fd = f.fd;
		f.fd = -1;
		chan_frame_free(&f);
		if (g->type == MSG_LOG)
			fprintf(stderr, "runner: %s\n", g->u.log.text);
		TAILQ_INSERT_TAIL(list, g, entry);
	}
	ATF_REQUIRE_EQ(0, n);
	return (1);
}

static void
drop(struct gots *list, struct got *g)
{
	TAILQ_REMOVE(list, g, entry);
	if (g->fd != -1)
		close(g->fd);
	msg_clear(&g->u, msg_def(g->type));
	free(g);
}

static void
drop_all(struct gots *list)
{
	while (!TAILQ_EMPTY(list))
		drop(list, TAILQ_FIRST(list));
}

/* Waits for something on any pipe; 0 after so many ms without. */
static int
step(struct rig *r, int ms)
{
	struct pollfd	 pfd[3] = {
		{ .fd = r->main.fd, .events = POLLIN },
		{ .fd = r->store.fd, .events = POLLIN },
		{ .fd = r->frontend.fd, .events = POLLIN },
	};
	int		 ok = 1;

	if (poll(pfd, 3, ms) <= 0)
		return (0);
	if (pfd[0].revents)
		ok &= take(&r->main, &r->from_main);
	if (pfd[1].revents)
		ok &= take(&r->store, &r->to_store);
	if (pfd[2].revents)
		ok &= take(&r->frontend, &r->to_frontend);
	if (!ok)
		atf_tc_fail("the runner is gone");
	return (1);
}

static struct got *
wait_got(struct rig *r, struct gots *list, uint32_t type)
{
	static struct got	*last;
	static struct gots	 kept = TAILQ_HEAD_INITIALIZER(kept);
	struct got		*g;

	for (;;) {
		TAILQ_FOREACH(g, list, entry)
			if (g->type == type)
				break;
		if (g != NULL)
			break;
		if (!step(r, patience()))
			atf_tc_fail("no %s came", msg_name(type));
	}
	if (last != NULL)
		drop(&kept, last);
	TAILQ_REMOVE(list, g, entry);
	TAILQ_INSERT_TAIL(&kept, g, entry);
	return (last = g);
}

struct got *
from_store(struct rig *r, uint32_t type)
{
	return (wait_got(r, &r->to_store, type));
}

struct got *
from_frontend(struct rig *r, uint32_t type)
{
	return (wait_got(r, &r->to_frontend, type));
}

static void
none(struct gots *list, uint32_t type)
{
	struct got	*g;

	TAILQ_FOREACH(g, list, entry)
		if (g->type == type)
			atf_tc_fail("a %s came", msg_name(type));
}

/* The runner answers in order: an answer means all before is here. */
void
rig_alive(struct rig *r)
{
	struct msg_exec_ref	 m;

	memset(&m, 0, sizeof(m));
	m.n = m.k = UINT64_MAX - 1;
	m.value = 1000;		/* no such signal */
	say(r, MSG_SIGNAL, 0, 99999, &m);
	while (from_store(r, MSG_RUNNER_ERROR)->req != 99999)
		;
}

void
none_store(struct rig *r, uint32_t type)
{
	rig_alive(r);
	none(&r->to_store, type);
}

void
none_frontend(struct rig *r, uint32_t type)
{
	rig_alive(r);
	while (step(r, 0))
		;
	none(&r->to_frontend, type);
}

static void
join(struct rig *r, uint32_t role, struct chan *ch, const char *name)
{
	struct msg_pipe	 m;
	int		 sv[2];

	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    sv));
	chan_init(ch, sv[0], name, NULL);
	m.role = role;
	send_msg(&r->main, MSG_PIPE, 0, 0, sv[1], &m);
}

void
rig_start(struct rig *r)
{
	struct proc_ids	 ids;
	int		 sv[2];

	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	fflush(NULL);
	ATF_REQUIRE((r->pid = fork()) != -1);
	if (r->pid == 0) {
		if (sv[1] != PROC_PIPE_FD)
			dup2(sv[1], PROC_PIPE_FD);
		closefrom(PROC_PIPE_FD + 1);
		runner(1, 1);
	}
	close(sv[1]);
	memset(&ids, 0, sizeof(ids));
	ids.role = ROLE_RUNNER;
	ids.uid = ids.gid = r->uid;
	ids.ppid = getpid();
	ids.nofile = 2048;
	ids.root = open(r->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ATF_REQUIRE(ids.root != -1);
	ATF_REQUIRE_EQ(0, proc_send_ids(sv[0], &ids));
	close(ids.root);
	chan_init(&r->main, sv[0], "runner", NULL);
	join(r, ROLE_STORE, &r->store, "runner");
	join(r, ROLE_FRONTEND, &r->frontend, "runner");
	send_msg(&r->main, MSG_CONF_BEGIN, 0, 0, -1, &r->conf);
	send_msg(&r->main, MSG_CONF_END, 0, 0, -1, NULL);
	(void)wait_got(r, &r->from_main, MSG_READY);
	send_msg(&r->main, MSG_GO, 0, 0, -1, NULL);
}

static void
rig_clear(struct rig *r)
{
	chan_clear(&r->main);
	chan_clear(&r->store);
	chan_clear(&r->frontend);
	drop_all(&r->from_main);
	drop_all(&r->to_store);
	drop_all(&r->to_frontend);
	r->pid = 0;
}

void
rig_kill(struct rig *r)
{
	int	 status;

	ATF_REQUIRE_EQ(0, kill(r->pid, SIGKILL));
	ATF_REQUIRE_EQ(r->pid, waitpid(r->pid, &status, 0));
	ATF_REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	rig_clear(r);
}

void
rig_stop(struct rig *r)
{
	int	 status;

	send_msg(&r->main, MSG_SHUTDOWN, 0, 0, -1, NULL);
	ATF_REQUIRE_EQ(r->pid, waitpid(r->pid, &status, 0));
	ATF_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	rig_clear(r);
}

/* What a failed test leaves goes with the runner's parent and /tmp. */
void
rig_end(struct rig *r)
{
	char	 cmd[128];
	pid_t	 pid;

	rig_stop(r);
	snprintf(cmd, sizeof(cmd), "%s", r->dir);
	if ((pid = fork()) == 0) {
		execlp("rm", "rm", "-rf", cmd, (char *)NULL);
		_exit(127);
	}
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	free(r->conf.engine);
	free(r);
}

void
listen_box(struct rig *r, uint64_t n, uint64_t boot_no, uint32_t pid)
{
	struct msg_listen	 m;

	make_dir(rig_path(r, "sock/%d/%" PRIu64, OWNER, n), 0755, r->uid);
	memset(&m, 0, sizeof(m));
	m.n = n;
	m.owner = OWNER;
	m.boot = boot_no;
	m.pid = pid;
	say(r, MSG_LISTEN, 0, 0, &m);
	ATF_REQUIRE_EQ(n, from_store(r, MSG_LISTENING)->u.gone.n);
}

/* Attached by a request of its own, r->req, if the flags say so. */
void
start_exec(struct rig *r, uint64_t n, uint64_t k, uint32_t flags,
    uint32_t again)
{
	struct msg_start	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.k = k;
	if (again < 2) {
		strv_add(&m.argv, "sh");
		strv_add(&m.argv, "-c");
		strv_add(&m.argv, "true");
		kvv_add(&m.env, "HOME", "/workspace");
		kvv_add(&m.env, "EMPTY", "");
	}
	m.dir = strdup("/tmp");
	m.grace = 1000;
	m.flags = flags;
	m.again = again != 0;
	snprintf(m.exec, sizeof(m.exec), "box%" PRIu64 ".%" PRIu64, n, k);
	if (flags & EXEC_ATTACH)
		r->req++;
	say(r, MSG_START, flags & EXEC_ATTACH ? SESSION : 0,
	    flags & EXEC_ATTACH ? r->req : 0, &m);
	strv_clear(&m.argv);
	kvv_clear(&m.env);
	free(m.dir);
}

void
ref_exec(struct rig *r, uint32_t type, uint64_t n, uint64_t k, uint64_t value,
    uint32_t grace)
{
	struct msg_exec_ref	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.k = k;
	m.owner = OWNER;
	m.value = value;
	m.grace = grace;
	say(r, type, 0, 0, &m);
}

void
forget_exec(struct rig *r, uint64_t n, uint64_t k)
{
	ref_exec(r, MSG_FORGET, n, k, 0, 0);
}

/* Returns the request's number. */
uint32_t
read_exec(struct rig *r, uint32_t type, uint64_t n, uint64_t k,
    uint32_t streams, uint64_t off1, uint64_t off2,
    const struct msg_ended *e)
{
	struct msg_read	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.k = k;
	m.owner = OWNER;
	m.streams = streams;
	m.offset1 = off1;
	m.offset2 = off2;
	m.follow = 1;
	if (e != NULL) {
		m.ended = 1;
		m.length1 = e->length1;
		m.length2 = e->length2;
	}
	snprintf(m.exec, sizeof(m.exec), "box%" PRIu64 ".%" PRIu64, n, k);
	say(r, type, SESSION, ++r->req, &m);
	return (r->req);
}

static void
buf_add(struct buf *b, const void *data, size_t len)
{
	if (len == 0)
		return;
	ATF_REQUIRE((b->data = realloc(b->data, b->len + len)) != NULL);
	if (data != NULL)
		memcpy(b->data + b->len, data, len);
	else
		memset(b->data + b->len, GAP_BYTE, len);
	b->len += len;
}

static void
drain(int fd, struct buf *b)
{
	static uint8_t	 room[65536];
	ssize_t		 n;

	while ((n = read(fd, room, sizeof(room))) > 0)
		buf_add(b, room, n);
	ATF_REQUIRE_EQ(0, n);
}

/* The next message about a stream of a request, out of its pipe's queue. */
static struct got *
next_of(struct rig *r, uint32_t req, uint32_t stream)
{
	struct got	*g;
	uint32_t	 s;

	for (;;) {
		TAILQ_FOREACH(g, &r->to_frontend, entry) {
			s = g->type == PROTO_STREAM ? g->u.stream.stream :
			    g->type == PROTO_GAP ? g->u.gap.stream :
			    g->type == MSG_STREAM_END ?
			    g->u.stream_end.stream : 0;
			if (s == stream && g->req == req)
				return (g);
		}
		if (!step(r, patience()))
			atf_tc_fail("stream %u does not end", stream);
	}
}

void
read_stream(struct rig *r, uint32_t req, uint32_t stream, struct buf *b,
    uint64_t *gaps)
{
	struct got	*g;
	int		 end = 0;

	*gaps = 0;
	while (!end) {
		g = next_of(r, req, stream);
		ATF_REQUIRE_EQ(SESSION, g->session);
		switch (g->type) {
		case PROTO_STREAM:
			ATF_REQUIRE_EQ(b->len, g->u.stream.offset);
			drain(g->fd, b);
			break;
		case PROTO_GAP:
			ATF_REQUIRE_EQ(b->len, g->u.gap.from);
			ATF_REQUIRE(g->u.gap.to > g->u.gap.from);
			buf_add(b, NULL, g->u.gap.to - g->u.gap.from);
			*gaps += g->u.gap.to - g->u.gap.from;
			break;
		default:
			ATF_REQUIRE_EQ(b->len, g->u.stream_end.offset);
			end = 1;
		}
		drop(&r->to_frontend, g);
	}
}

struct player *
player_new(struct rig *r, uint64_t n)
{
	struct player	*p;

	ATF_REQUIRE((p = calloc(1, sizeof(*p))) != NULL);
	p->rig = r;
	p->n = n;
	p->boot = 0x1000 + n;
	p->fd = -1;
	ATF_REQUIRE((p->buf = malloc(2 * GP_MAX_FROM_RUNNER)) != NULL);
	return (p);
}

/* Waits for the socket as a guest would, a little less eagerly. */
void
player_connect(struct player *p)
{
	struct timespec		 ts = { 0, 2000000 };
	struct sockaddr_un	 sun;
	int			 i;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s",
	    rig_path(p->rig, "sock/%d/%" PRIu64 "/s", OWNER, p->n));
	p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ATF_REQUIRE(p->fd != -1);
	for (i = 0; connect(p->fd, (struct sockaddr *)&sun,
	    sizeof(sun)) == -1; i++) {
		if (i > patience() / 2)
			atf_tc_fail("no socket: %s", strerror(errno));
		nanosleep(&ts, NULL);
	}
	p->len = p->used = 0;
}

void
player_send(struct player *p, const void *data, size_t len)
{
	const uint8_t	*b = data;
	ssize_t		 n;

	while (len > 0) {
		n = send(p->fd, b, len, MSG_NOSIGNAL);
		if (n == -1 && (errno == EPIPE || errno == ECONNRESET))
			return;	/* cut off: the test sees that elsewhere */
		ATF_REQUIRE(n > 0);
		b += n;
		len -= n;
	}
}

/* One more frame in f: 1, 0 if none in so many ms, -1 at the end. */
static int
player_next(struct player *p, struct gp_frame *f, int ms)
{
	struct pollfd	 pfd = { .fd = p->fd, .events = POLLIN };
	ssize_t		 n;
	int		 ret;

	for (;;) {
		ret = gp_get(f, p->buf + p->used, p->len - p->used, GP_RUNNER);
		ATF_REQUIRE(ret != -1);
		if (ret == 1) {
			p->used += f->total;
			return (1);
		}
		memmove(p->buf, p->buf + p->used, p->len - p->used);
		p->len -= p->used;
		p->used = 0;
		if (poll(&pfd, 1, ms) == 0)
			return (0);
		n = recv(p->fd, p->buf + p->len,
		    2 * GP_MAX_FROM_RUNNER - p->len, 0);
		if (n <= 0)
			return (-1);
		p->len += n;
	}
}

void
player_frame(struct player *p, uint16_t type, struct gp_frame *f)
{
	int	 n;

	while ((n = player_next(p, f, patience())) == 1 && f->type != type)
		;
	if (n != 1)
		atf_tc_fail("no %s for the guest of %" PRIu64,
		    gp_type_name(type), p->n);
}

int
player_eof(struct player *p)
{
	struct gp_frame	 f;
	int		 n;

	while ((n = player_next(p, &f, patience())) == 1)
		;
	return (n == -1);
}

void
player_greet(struct player *p, uint32_t n)
{
	struct gp_hello		 h;
	struct gp_frame		 f;
	struct timespec		 ts;
	uint8_t			 b[512];

	memset(&h, 0, sizeof(h));
	h.version = GP_VERSION;
	h.flags = GP_CAN_CALL;
	h.boot = p->boot;
	h.pid = 1;
	h.nexecs = n;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	h.now = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
	h.memory = 1 << 30;
	h.swap = h.mcpus = GP_UNLIMITED;
	h.pids = GP_UNKNOWN;
	h.release = "test";
	player_send(p, b, gp_encode_hello(b, sizeof(b), &h));
	player_frame(p, GP_WELCOME, &f);
}

void
player_states(struct player *p, const struct gp_state *states,
    const uint64_t *ks, uint32_t n)
{
	struct gp_states_end	 e;
	uint8_t			 b[512];
	uint32_t		 i;

	for (i = 0; i < n; i++)
		player_send(p, b, gp_encode_state(b, sizeof(b), ks[i],
		    &states[i]));
	e.count = n;
	player_send(p, b, gp_encode_states_end(b, sizeof(b), &e));
}

void
player_hello(struct player *p, const struct gp_state *states,
    const uint64_t *ks, uint32_t n)
{
	player_greet(p, n);
	player_states(p, states, ks, n);
}

void
player_cut(struct player *p)
{
	close(p->fd);
	p->fd = -1;
}

void
player_free(struct player *p)
{
	if (p->fd != -1)
		close(p->fd);
	free(p->buf);
	free(p);
}

void
player_output(struct player *p, uint64_t k, uint32_t stream, uint64_t off,
    const void *data, size_t len)
{
	static uint8_t	 b[GP_MAX_FROM_GUEST];
	struct gp_output o;

	o.stream = stream;
	o.off = off;
	o.data = data;
	o.len = len;
	player_send(p, b, gp_encode_output(b, sizeof(b), k, &o));
}

void
player_started(struct player *p, uint64_t k, uint32_t pid)
{
	struct gp_started	 s = { .pid = pid };
	uint8_t			 b[64];

	player_send(p, b, gp_encode_started(b, sizeof(b), k, &s));
}

void
player_exit(struct player *p, uint64_t k, int code, uint64_t out,
    uint64_t err)
{
	struct gp_exit	 e;
	uint8_t		 b[128];

	memset(&e, 0, sizeof(e));
	e.kind = GP_EXITED;
	e.code = code;
	e.out_len = out;
	e.err_len = err;
	player_send(p, b, gp_encode_exit(b, sizeof(b), k, &e));
}

int
player_stream(struct player *p, uint64_t k, uint32_t stream,
    const uint8_t *data, uint64_t *from, uint64_t to, uint64_t *acked, int ms)
{
	struct gp_frame	 f;
	struct gp_ack	 a;
	uint64_t	 n;
	int		 ret;

	while (*from < to) {
		n = to - *from < GP_MAX_DATA ? to - *from : GP_MAX_DATA;
		if (*from + n <= *acked + GP_WINDOW) {
			player_output(p, k, stream, *from, data + *from, n);
			*from += n;
			continue;
		}
		while ((ret = player_next(p, &f, ms)) == 1 &&
		    f.type != GP_ACK)
			;
		if (ret != 1)
			return (-1);
		ATF_REQUIRE_EQ(0, gp_decode_ack(&a, &f));
		ATF_REQUIRE_EQ(k, f.k);
		if (a.stream != stream)
			continue;
		ATF_REQUIRE(a.off > *acked && a.off <= *from);
		*acked = a.off;
	}
	return (0);
}

struct player *
boot(struct rig *r, uint64_t n)
{
	struct player	*p;
	struct got	*g;

	listen_box(r, n, 0, 0);
	p = player_new(r, n);
	player_connect(p);
	player_hello(p, NULL, NULL, 0);
	g = from_store(r, MSG_GUEST_HELLO);
	ATF_REQUIRE_EQ(n, g->u.hello.n);
	return (p);
}

/* Bytes of all values, that repeat nowhere near. */
void
pattern(uint8_t *data, size_t len, uint32_t seed)
{
	size_t	 i;

	for (i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = seed >> 24;
	}
}
