/*
 * The ring around a store.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event.h>

#include "log.h"
#include "ring.h"
#include "scratch.h"
#include "store.h"

#define RING_WAIT	60000	/* ms; a loaded machine is slow */

struct ring	 ring;

static int
ring_rm(const char *path, const struct stat *sb, int type, struct FTW *ftw)
{
	(void)sb;
	(void)type;
	(void)ftw;
	return (remove(path));
}

void
ring_make(void)
{
	struct msg_conf	*c = &ring.conf;

	/* A broken store must not take the test with it. */
	signal(SIGPIPE, SIG_IGN);
	scratch_template(ring.home, sizeof(ring.home));
	ATF_REQUIRE(mkdtemp(ring.home) != NULL);
	strlcpy(c->instance, "0123456789abcdef0123456789abcdef",
	    sizeof(c->instance));
	c->engine = strdup("/nowhere/engine");
	c->guest = strdup("/nowhere/guest");
	c->mnt = strdup("/nowhere/mnt");
	c->sock = strdup("/nowhere/sock");
	c->mounts = strdup("/nowhere/mounts");
	c->uid_low = 100000;
	c->uid_high = 100099;
	strlcpy(c->image, "sandbox-base", sizeof(c->image));
	c->memory = 1 << 30;
	c->mcpus = 1000;
	c->pids = 100;
	c->max_sandboxes = 20;
	c->max_execs = 20;
	c->t_create = 600000;
	c->t_stop = 600000;
	c->t_delete = 600000;
	c->t_engine = 600000;
	c->t_reattach = 600000;
	c->t_stall = 600000;
	c->retain_history = 86400000;
}

static int
ring_pipe(struct chan *ch, const char *name)
{
	int	 sv[2];

	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    sv) == 0);
	chan_init(ch, sv[0], name, NULL);
	return (sv[1]);
}

static void
ring_child(int fd, int *others, int n)
{
	int	 i;

	/* With the test's own end of the pipes it would never see theirs. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < n; i++)
		close(others[i]);
	log_init(1, 0);
	log_procinit("store");
	event_init();
	store_run(fd, ring.home);
}

/* With the rights in m, by default those of no rule. */
void
ring_session_as(uint64_t number, uint32_t type, struct msg_session *m)
{
	while (m->by.n < 2 * RIGHT_MAX)
		ATF_REQUIRE(u64v_add(&m->by, 0) == 0);
	ring_send(&ring.parent, type, 0, number, 0, m);
	u64v_clear(&m->by);
}

void
ring_session(uint64_t number, uint32_t uid)
{
	struct msg_session	 m;

	memset(&m, 0, sizeof(m));
	m.uid = uid;
	m.gid = uid;
	m.own = uid == 0 ? RIGHTS_ALL : RIGHTS_SANDBOX;
	m.others = uid == 0 ? RIGHTS_ALL : 0;
	m.pid = 1;
	ring_session_as(number, MSG_SESSION_OPEN, &m);
}

void
ring_session_over(uint64_t number)
{
	ring_send(&ring.parent, MSG_SESSION_CLOSED, 0, number, 0, NULL);
	ring_skip(&ring.runner, MSG_SESSION_GONE);
}

static void
ring_hand(uint32_t role, int fd)
{
	struct msg_pipe	 m = { role };

	pipe_send(&ring.parent, MSG_PIPE, 0, 0, 0, fd, &m);
	ATF_REQUIRE(chan_flush_wait(&ring.parent) == 0);
}

void
ring_start(void)
{
	int	 fd[4], mine[4];

	fd[0] = ring_pipe(&ring.parent, "store");
	fd[1] = ring_pipe(&ring.frontend, "store");
	fd[2] = ring_pipe(&ring.broker, "store");
	fd[3] = ring_pipe(&ring.runner, "store");
	mine[0] = ring.parent.fd;
	mine[1] = ring.frontend.fd;
	mine[2] = ring.broker.fd;
	mine[3] = ring.runner.fd;
	ATF_REQUIRE((ring.pid = fork()) != -1);
	if (ring.pid == 0) {
		close(fd[1]);
		close(fd[2]);
		close(fd[3]);
		ring_child(fd[0], mine, 4);
	}
	close(fd[0]);
	ring_hand(ROLE_FRONTEND, fd[1]);
	ring_hand(ROLE_BROKER, fd[2]);
	ring_hand(ROLE_RUNNER, fd[3]);
	ring_send(&ring.parent, MSG_CONF_BEGIN, 0, 0, 0, &ring.conf);
	ring_send(&ring.parent, MSG_CONF_END, 0, 0, 0, NULL);
	ring_skip(&ring.parent, MSG_READY);
	ring_send(&ring.parent, MSG_GO, 0, 0, 0, NULL);
	ring_skip(&ring.parent, MSG_OPEN);
	ring_session(ROOT_SESSION, 0);
	ring_session(USER_SESSION, USER_UID);
	ring_session(OTHER_SESSION, OTHER_UID);
}

void
ring_engine(int up)
{
	struct msg_engine	 m;
	struct msg_box_done	 end;
	struct got		 g;

	memset(&m, 0, sizeof(m));
	m.up = up;
	m.live_restore = 1;
	if (!up)
		strlcpy(m.text, "for the test", sizeof(m.text));
	ring_send(&ring.broker, MSG_ENGINE, 0, 0, 0, &m);
	if (!up)
		return;
	ring_get(&ring.broker, MSG_INVENTORY, &g);
	memset(&end, 0, sizeof(end));
	ring_send(&ring.broker, MSG_INVENTORY_END, g.f.op, 0, 0, &end);
	ring_done(&g);
}

void
ring_up(void)
{
	ring_make();
	ring_start();
	ring_engine(1);
}

static void
ring_reap(void)
{
	chan_clear(&ring.parent);
	chan_clear(&ring.frontend);
	chan_clear(&ring.broker);
	chan_clear(&ring.runner);
}

void
ring_kill(void)
{
	int	 status;

	ATF_REQUIRE(kill(ring.pid, SIGKILL) == 0);
	ATF_REQUIRE(waitpid(ring.pid, &status, 0) == ring.pid);
	ring_reap();
}

void
ring_stop(void)
{
	int	 status;

	ring_send(&ring.parent, MSG_SHUTDOWN, 0, 0, 0, NULL);
	ATF_REQUIRE(waitpid(ring.pid, &status, 0) == ring.pid);
	ATF_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ring_reap();
	nftw(ring.home, ring_rm, 8, FTW_DEPTH | FTW_PHYS);
}

void
ring_send(struct chan *ch, uint32_t type, uint64_t op, uint64_t session,
    uint32_t req, const void *msg)
{
	/* For one of which no field matters. */
	static const uint64_t	 none[64];

	pipe_send(ch, type, op, session, req, -1, msg == NULL ? none : msg);
	ATF_REQUIRE(chan_flush_wait(ch) == 0);
}

static void
ring_frame(struct chan *ch, struct frame *f)
{
	struct pollfd	 pfd;
	int		 ret;

	while ((ret = chan_get(ch, f)) == 0) {
		pfd.fd = ch->fd;
		pfd.events = POLLIN;
		ATF_REQUIRE_MSG(poll(&pfd, 1, RING_WAIT) == 1,
		    "nothing comes");
		ATF_REQUIRE_MSG(chan_read(ch) == 1, "the store has died");
	}
	ATF_REQUIRE(ret == 1);
}

/* Of what the tests are not about; the message that is one is cleared. */
static int
ring_aside(struct got *g)
{
	if (g->f.type == MSG_LOG)
		fprintf(stderr, "store: %s\n",
		    ((struct msg_log *)&g->m)->text);
	else if (g->f.type != PROTO_EVENT || ring.allowed ||
	    strcmp(g->m.event.type, "audit.allowed") != 0)
		return (0);
	ring_done(g);
	return (1);
}

static void
ring_decode(struct got *g)
{
	static const uint8_t	 none[1] = { 0x90 };
	const struct msg_def	*def;

	ATF_REQUIRE((def = msg_def(g->f.type)) != NULL);
	if (g->f.len == 0)
		ATF_REQUIRE(msg_decode_array(&g->m, def, none, 1) == 0);
	else
		ATF_REQUIRE(msg_decode_array(&g->m, def, g->f.data,
		    g->f.len) == 0);
}

void
ring_frame_any(struct chan *ch, struct got *g)
{
	do {
		ring_frame(ch, &g->f);
		ring_decode(g);
	} while (ring_aside(g));
}

void
ring_get(struct chan *ch, uint32_t type, struct got *g)
{
	ring_frame_any(ch, g);
	/* What protects a sandbox follows each that is shown. */
	while (type == PROTO_END && g->f.type == PROTO_CONTROL) {
		ring_done(g);
		ring_frame_any(ch, g);
	}
	ATF_REQUIRE_MSG(g->f.type == type, "%s instead of %s%s%s",
	    msg_name(g->f.type), msg_name(type), g->f.type == PROTO_ERROR ? ": " : "",
	    g->f.type == PROTO_ERROR ? g->m.error.text : "");
}

void
ring_done(struct got *g)
{
	msg_clear(&g->m, msg_def(g->f.type));
	chan_frame_free(&g->f);
}

void
ring_skip(struct chan *ch, uint32_t type)
{
	struct got	 g;

	ring_get(ch, type, &g);
	ring_done(&g);
}

void
ring_quiet(struct chan *ch)
{
	struct pollfd	 pfd;
	struct got	 g;
	uint32_t	 req;

	/* Twice: what a batch sends has been sent by the second answer. */
	req = ring_ask(ROOT_SESSION, PROTO_PING, NULL);
	ring_answered(req, PROTO_END);
	req = ring_ask(ROOT_SESSION, PROTO_PING, NULL);
	ring_answered(req, PROTO_END);
	pfd.fd = ch->fd;
	pfd.events = POLLIN;
	while (poll(&pfd, 1, 0) == 1)
		ATF_REQUIRE(chan_read(ch) == 1);
	while (chan_get(ch, &g.f) == 1) {
		ring_decode(&g);
		if (!ring_aside(&g))
			atf_tc_fail("unexpected %s", msg_name(g.f.type));
	}
}

uint32_t
ring_ask(uint64_t session, uint32_t type, const void *msg)
{
	ring_send(&ring.frontend, type, 0, session, ++ring.req, msg);
	return (ring.req);
}

uint32_t
ring_ref(uint64_t session, uint32_t type, const char *id, uint32_t wait)
{
	struct proto_ref	 m;
	char			 buf[128];

	memset(&m, 0, sizeof(m));
	strlcpy(buf, id, sizeof(buf));
	m.id = buf;
	m.wait = wait;
	return (ring_ask(session, type, &m));
}

void
ring_answer(uint32_t req, uint32_t type, struct got *g)
{
	ring_get(&ring.frontend, type, g);
	ATF_REQUIRE_EQ(g->f.req, req);
}

void
ring_answered(uint32_t req, uint32_t type)
{
	struct got	 g;

	ring_answer(req, type, &g);
	ring_done(&g);
}

void
ring_refused(uint32_t req, enum code code)
{
	struct got	 g;

	ring_answer(req, PROTO_ERROR, &g);
	ATF_REQUIRE_MSG(strcmp(g.m.error.code, code_name(code)) == 0,
	    "%s instead of %s: %s", g.m.error.code, code_name(code),
	    g.m.error.text);
	ring_done(&g);
}

/* Up to the order to the parent; CREATE with wait is request ring.req. */
uint64_t
ring_create(uint64_t session, const char *id, uint64_t *op)
{
	struct proto_create	 m;
	struct got		 g;
	uint64_t		 n;
	uint32_t		 req;

	memset(&m, 0, sizeof(m));
	strlcpy(m.id, id, sizeof(m.id));
	m.workdir = strdup("");
	m.wait = 1;
	m.hold = ring.hold;
	req = ring_ask(session, PROTO_CREATE, &m);
	free(m.workdir);
	ring_answer(req, PROTO_ACCEPTED, &g);
	ATF_REQUIRE_STREQ(g.m.accepted.id, id);
	ATF_REQUIRE_STREQ(g.m.accepted.state, "pending");
	ring_done(&g);
	ring_get(&ring.parent, MSG_WORK_MAKE, &g);
	n = g.m.work.n;
	*op = g.f.op;
	ring_done(&g);
	return (n);
}

void
ring_hello(uint64_t n, uint64_t boot, uint32_t pid)
{
	struct msg_guest_hello	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.boot = boot;
	m.pid = pid;
	m.version = ring.guest == 0 ? 1 : ring.guest;
	m.memory = 1 << 30;
	m.mcpus = 1000;
	m.pids = 100;
	ring_send(&ring.runner, MSG_GUEST_HELLO, 0, 0, 0, &m);
}

/* From the order to the parent to the guest's hello; order: of the broker. */
void
ring_make_begun(uint64_t n, uint64_t op, uint32_t order, const char *nonce)
{
	struct msg_work_done	 done;
	struct msg_guest_gone	 ok;
	struct msg_box_started	 box;
	struct got		 g;

	memset(&done, 0, sizeof(done));
	done.n = n;
	ring_send(&ring.parent, MSG_WORK_DONE, op, 0, 0, &done);
	ring_get(&ring.runner, MSG_LISTEN, &g);
	ATF_REQUIRE_EQ(g.m.listen.n, n);
	ATF_REQUIRE_EQ(g.m.listen.pid, 0);
	ring_done(&g);
	memset(&ok, 0, sizeof(ok));
	ok.n = n;
	ring_send(&ring.runner, MSG_LISTENING, op, 0, 0, &ok);
	ring_get(&ring.broker, order, &g);
	ATF_REQUIRE_EQ(g.f.op, op);
	if (order == MSG_BOX_CREATE)
		strlcpy(ring.nonce, g.m.create.nonce, sizeof(ring.nonce));
	if (nonce != NULL)
		ATF_REQUIRE_STREQ(g.m.create.nonce, nonce);
	ring_done(&g);
	memset(&box, 0, sizeof(box));
	box.n = n;
	box.pid = 1000 + n;
	snprintf(box.container, sizeof(box.container), "c%d", (int)n);
	strlcpy(box.image_id, "sha256:1", sizeof(box.image_id));
	ring_hello(n, 7, 1000 + n);
	ring_send(&ring.broker, MSG_BOX_STARTED, op, 0, 0, &box);
}

void
ring_let_in(uint64_t n)
{
	struct got	 g;

	ring_get(&ring.runner, MSG_LISTEN, &g);
	ATF_REQUIRE_EQ(g.m.listen.n, n);
	ATF_REQUIRE_EQ(g.m.listen.pid, 1000 + n);
	ATF_REQUIRE_EQ(g.m.listen.boot, 7);
	ring_done(&g);
}

void
ring_make_ready(uint64_t n, uint64_t op, uint32_t order, const char *nonce)
{
	ring_make_begun(n, op, order, nonce);
	ring_let_in(n);
}

uint64_t
ring_ready(uint64_t session, const char *id)
{
	struct got	 g;
	uint64_t	 n, op;
	uint32_t	 req;

	n = ring_create(session, id, &op);
	req = ring.req;
	ring_make_ready(n, op, MSG_BOX_CREATE, NULL);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, "ready");
	ring_done(&g);
	ring_answered(req, PROTO_END);
	return (n);
}

uint32_t
ring_exec(uint64_t session, const char *id, uint32_t flags)
{
	struct proto_exec	 m;
	char			 buf[128];
	uint32_t		 req;

	memset(&m, 0, sizeof(m));
	strlcpy(buf, id, sizeof(buf));
	m.sandbox = buf;
	m.dir = strdup("");
	m.flags = flags;
	ATF_REQUIRE(strv_add(&m.argv, "echo") == 0);
	ATF_REQUIRE(strv_add(&m.argv, "hello") == 0);
	ATF_REQUIRE(kvv_add(&m.env, "SECRET", "do not log this") == 0);
	req = ring_ask(session, PROTO_EXEC, &m);
	strv_clear(&m.argv);
	kvv_clear(&m.env);
	free(m.dir);
	return (req);
}

void
ring_ended(uint64_t n, uint64_t k, uint32_t kind, int32_t code)
{
	struct msg_ended	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.k = k;
	m.kind = kind;
	m.code = code;
	m.length1 = 6;
	m.started = m.ended = 1;
	ring_send(&ring.runner, MSG_ENDED, 0, 0, 0, &m);
}

void
ring_state(uint64_t session, const char *id, const char *state)
{
	struct got	 g;
	uint32_t	 req;

	req = ring_ref(session, PROTO_SHOW, id, 0);
	ring_answer(req, PROTO_SANDBOX, &g);
	ATF_REQUIRE_STREQ(g.m.sandbox.state, state);
	ring_done(&g);
	ring_answered(req, PROTO_END);
}

void
ring_unboxed(uint64_t n)
{
	struct msg_box_done	 box;
	struct got		 g;

	ring_get(&ring.broker, MSG_BOX_REMOVE, &g);
	ATF_REQUIRE_EQ(g.m.box.n, n);
	memset(&box, 0, sizeof(box));
	box.n = n;
	ring_send(&ring.broker, MSG_BOX_REMOVED, g.f.op, 0, 0, &box);
	ring_done(&g);
	ring_skip(&ring.runner, MSG_UNLISTEN);
}

void
ring_removed(uint64_t n)
{
	struct msg_work_done	 done;
	struct got		 g;

	ring_unboxed(n);
	ring_get(&ring.parent, MSG_WORK_REMOVE, &g);
	memset(&done, 0, sizeof(done));
	done.n = n;
	ring_send(&ring.parent, MSG_WORK_DONE, g.f.op, 0, 0, &done);
	ring_done(&g);
}

uint64_t
ring_ordered(uint32_t type)
{
	struct got	 g;
	uint64_t	 op;

	ring_get(&ring.broker, type, &g);
	op = g.f.op;
	ring_done(&g);
	return (op);
}

void
ring_outcome(uint32_t type, uint64_t op, uint64_t n)
{
	struct msg_box_state	 m;

	memset(&m, 0, sizeof(m));
	m.n = n;
	m.running = type != MSG_BOX_DEAD;
	m.paused = type == MSG_BOX_PAUSED;
	ring_send(&ring.broker, type, op, 0, 0, &m);
}
