/*
 * Operations of all kinds under way at once, and followers among them: each
 * number is there once and in order, for the host and for each sandbox, the
 * state on an event is the state then, and who takes the state first and then
 * the events misses none and gets none twice.
 *
 * The siblings are played as fast as the store asks them; its answers come in
 * whatever order they like.
 *
 * regress-srcs: ring.c
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

#define BOXES	4096		/* sandboxes over the time */
#define LIVE	12		/* and at a time */
#define REQS	65536
#define FOLLOW	40		/* followers with a state first */
#define RUNNING	64

struct seen {
	uint64_t	 seq;
	char		 type[32];
	char		 state[16];
};

struct box {
	char		 state[16];	/* by the events */
	struct seen	*v;		/* v[seq - 1] */
	uint64_t	 n;
};

struct follower {
	uint32_t	 req;
	int		 box;		/* -1: not told yet */
	uint64_t	 first;		/* behind the state that was told */
	char		 state[16];
	struct seen	*v;
	uint64_t	 n;
};

static struct box	 boxes[BOXES];
static struct follower	 follow[FOLLOW];
static int		 nboxes, nfollow, live[LIVE];
static uint32_t		 host;		/* its number */
static uint64_t		 host_n;	/* events that it got */
static uint64_t		 ncreated, nended;	/* of these */
static uint64_t		 newest;	/* as the store says */
static uint8_t		 open_[REQS];	/* has no END or ERROR yet */
static int		 nopen;
static struct { uint64_t n, k; } running[RUNNING];
static int		 nrunning;

static void
seen_add(struct seen **v, uint64_t *n, const struct proto_event *e)
{
	if ((*n & (*n - 1)) == 0)
		ATF_REQUIRE((*v = reallocarray(*v, *n == 0 ? 1 : *n * 2,
		    sizeof(**v))) != NULL);
	(*v)[*n].seq = e->seq;
	strlcpy((*v)[*n].type, e->type, sizeof((*v)[*n].type));
	strlcpy((*v)[*n].state, e->state, sizeof((*v)[*n].state));
	(*n)++;
}

/* The host's follower: each number, and the state that must be. */
static void
host_event(const struct proto_event *e)
{
	static const struct {
		const char	*type, *state;
	} changes[] = {
		{ "sandbox.create", "pending" },
		{ "sandbox.ready", "ready" },
		{ "sandbox.delete", "deleting" },
		{ "sandbox.deleted", "deleted" },
	};
	struct box	*b;
	size_t		 i;

	ATF_REQUIRE_EQ(++host_n, e->host_seq);
	ring_send(&ring.frontend, PROTO_CREDIT, 0, ROOT_SESSION, host,
	    &(struct proto_credit){ 1 });
	ncreated += strcmp(e->type, "exec.create") == 0;
	nended += strcmp(e->type, "exec.ended") == 0;
	if (*e->sandbox == '\0')
		return;
	b = &boxes[atoi(e->sandbox + 1)];
	ATF_REQUIRE_EQ(b->n + 1, e->seq);
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (strcmp(changes[i].type, e->type) == 0)
			strlcpy(b->state, changes[i].state, sizeof(b->state));
	ATF_REQUIRE_MSG(strcmp(b->state, e->state) == 0, "%s: %s at %s",
	    b->state, e->state, e->type);
	seen_add(&b->v, &b->n, e);
}

static void
follower_got(struct follower *w, const struct got *g)
{
	struct proto_credit	 c = { 1 };

	if (g->f.type == PROTO_SANDBOX) {
		w->box = atoi(g->m.sandbox.id + 1);
		w->first = g->m.sandbox.seq + 1;
		strlcpy(w->state, g->m.sandbox.state, sizeof(w->state));
	} else if (g->f.type == PROTO_EVENT) {
		ATF_REQUIRE_EQ(w->first + w->n, g->m.event.seq);
		ATF_REQUIRE_EQ(0, g->m.event.replayed);
		seen_add(&w->v, &w->n, &g->m.event);
		/* Now and then it is out of credit, and catches up. */
		c.n = random() % 3 == 0 ? 3 : 0;
		if (c.n != 0)
			ring_send(&ring.frontend, PROTO_CREDIT, 0,
			    ROOT_SESSION, w->req, &c);
	}
}

static void
got_answer(struct got *g)
{
	int	 i;

	if (g->f.req == host && g->f.type == PROTO_EVENT) {
		host_event(&g->m.event);
		return;
	}
	for (i = 0; i < nfollow; i++)
		if (follow[i].req == g->f.req) {
			ATF_REQUIRE(g->f.type != PROTO_ERROR);
			follower_got(&follow[i], g);
			return;
		}
	if (g->f.type == PROTO_STATUS_INFO)
		newest = g->m.status.events;
	if (g->f.type == PROTO_END || g->f.type == PROTO_ERROR) {
		ATF_REQUIRE_MSG(open_[g->f.req], "answered twice");
		open_[g->f.req] = 0;
		nopen--;
	}
}

static void
ended(int i, uint32_t kind, int32_t code)
{
	ring_ended(running[i].n, running[i].k, kind, code);
	running[i] = running[--nrunning];
}

/* What the siblings are asked for they have done at once. */
static void
got_order(struct got *g)
{
	struct msg_work_done	 work;
	struct msg_guest_gone	 ok;
	struct msg_box_started	 box;
	struct msg_box_done	 done;
	struct msg_started	 on;
	uint64_t		 n;
	int			 i;

	switch (g->f.type) {
	case MSG_WORK_MAKE:
	case MSG_WORK_REMOVE:
		memset(&work, 0, sizeof(work));
		work.n = g->m.work.n;
		ring_send(&ring.parent, MSG_WORK_DONE, g->f.op, 0, 0, &work);
		break;
	case MSG_LISTEN:
		memset(&ok, 0, sizeof(ok));
		ok.n = g->m.listen.n;
		if (g->m.listen.pid == 0)
			ring_send(&ring.runner, MSG_LISTENING, g->f.op, 0, 0,
			    &ok);
		break;
	case MSG_BOX_CREATE:
		memset(&box, 0, sizeof(box));
		n = box.n = g->m.create.n;
		box.pid = 1000 + n;
		snprintf(box.container, sizeof(box.container), "c%d", (int)n);
		ring_hello(n, 7, 1000 + n);
		ring_send(&ring.broker, MSG_BOX_STARTED, g->f.op, 0, 0, &box);
		break;
	case MSG_BOX_REMOVE:
		memset(&done, 0, sizeof(done));
		done.n = g->m.box.n;
		ring_send(&ring.broker, MSG_BOX_REMOVED, g->f.op, 0, 0, &done);
		break;
	case MSG_START:
		memset(&on, 0, sizeof(on));
		on.n = g->m.start.n;
		on.k = g->m.start.k;
		on.pid = 5;
		ring_send(&ring.runner, MSG_STARTED, 0, 0, 0, &on);
		if (nrunning == RUNNING)
			ended(0, END_EXITED, 1);
		running[nrunning].n = on.n;
		running[nrunning++].k = on.k;
		break;
	case MSG_CANCEL:
		for (i = 0; i < nrunning; i++)
			if (running[i].n == g->m.ref.n &&
			    running[i].k == g->m.ref.k) {
				ended(i, END_SIGNALED, 9);
				break;
			}
		break;
	default:
		break;
	}
}

/* All that is there; with wait it waits for something. */
static void
serve(int wait)
{
	static const uint8_t	 none[1] = { 0x90 };
	struct chan		*ch[4] = { &ring.frontend, &ring.parent,
				    &ring.broker, &ring.runner };
	const struct msg_def	*def;
	struct pollfd		 pfd[4];
	struct got		 g;
	int			 i, n;

	for (i = 0; i < 4; i++) {
		pfd[i].fd = ch[i]->fd;
		pfd[i].events = POLLIN;
	}
	n = poll(pfd, 4, wait ? 60000 : 0);
	ATF_REQUIRE_MSG(n > 0 || !wait, "nothing comes");
	for (i = 0; i < 4; i++) {
		if (n > 0 && pfd[i].revents != 0)
			ATF_REQUIRE(chan_read(ch[i]) == 1);
		while (chan_get(ch[i], &g.f) == 1) {
			ATF_REQUIRE((def = msg_def(g.f.type)) != NULL);
			ATF_REQUIRE(msg_decode_array(&g.m, def,
			    g.f.len == 0 ? none : g.f.data,
			    g.f.len == 0 ? 1 : g.f.len) == 0);
			if (i == 0)
				got_answer(&g);
			else
				got_order(&g);
			ring_done(&g);
		}
	}
}

static void
opened(uint32_t req)
{
	ATF_REQUIRE(req < REQS);
	open_[req] = 1;
	nopen++;
}

static void
make(int slot)
{
	struct proto_create	 m;
	char			 dir[1] = "";

	memset(&m, 0, sizeof(m));
	ATF_REQUIRE(nboxes < BOXES);
	live[slot] = nboxes;
	snprintf(m.id, sizeof(m.id), "s%d", nboxes++);
	m.workdir = dir;
	opened(ring_ask(USER_SESSION, PROTO_CREATE, &m));
}

static void
take_state(const char *id)
{
	struct proto_events	 m;
	char			 name[16];

	if (nfollow == FOLLOW || boxes[atoi(id + 1)].n == 0)
		return;
	memset(&m, 0, sizeof(m));
	strlcpy(name, id, sizeof(name));
	m.sandbox = name;
	m.follow = m.snapshot = 1;
	m.credit = 1 + random() % 20;
	follow[nfollow].box = -1;
	follow[nfollow++].req = ring_ask(ROOT_SESSION, PROTO_EVENTS, &m);
}

/* One operation, on whatever is there. */
static void
step(void)
{
	struct proto_kill	 kill;
	char			 id[16], exec[32];
	int			 slot = random() % LIVE, r = random() % 100;

	if (live[slot] == -1) {
		make(slot);
		return;
	}
	snprintf(id, sizeof(id), "s%d", live[slot]);
	if (r < 55)
		opened(ring_exec(USER_SESSION, id, 0));
	else if (r < 80 && nrunning > 0)
		ended(random() % nrunning, END_EXITED, r);
	else if (r < 88) {
		memset(&kill, 0, sizeof(kill));
		snprintf(exec, sizeof(exec), "%s.%ld", id, 1 + random() % 9);
		kill.exec = exec;
		opened(ring_ask(USER_SESSION, PROTO_KILL, &kill));
	} else if (r < 92)
		opened(ring_exec(OTHER_SESSION, id, 0));	/* not its own */
	else if (r < 94)
		take_state(id);
	else if (r < 96) {
		opened(ring_ref(USER_SESSION, PROTO_DELETE, id, 1));
		live[slot] = -1;
	} else
		opened(ring_ref(USER_SESSION, PROTO_STOP, "none", 0));
}

/* What it was told is what the host's follower was told. */
static void
follower_check(struct follower *w)
{
	struct box	*b = &boxes[w->box];
	uint64_t	 i;

	ATF_REQUIRE(w->box != -1);
	ATF_CHECK_EQ(b->n - w->first + 1, w->n);
	ATF_CHECK_STREQ(b->v[w->first - 2].state, w->state);
	for (i = 0; i < w->n && w->first + i <= b->n; i++)
		ATF_CHECK(memcmp(&w->v[i], &b->v[w->first - 1 + i],
		    sizeof(w->v[i].seq)) == 0 && strcmp(w->v[i].type,
		    b->v[w->first - 1 + i].type) == 0 && strcmp(w->v[i].state,
		    b->v[w->first - 1 + i].state) == 0);
}

static int
all_told(void)
{
	int	 i;

	if (nopen > 0 || nrunning > 0 || ncreated != nended ||
	    newest != host_n)
		return (0);
	for (i = 0; i < nfollow; i++)
		if (follow[i].box == -1 || follow[i].first + follow[i].n <=
		    boxes[follow[i].box].n)
			return (0);
	return (1);
}

ATF_TC(mixed);
ATF_TC_HEAD(mixed, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aV02) (aV06) (aV08) 10,000 mixed "
	    "operations, 50,000 in the soak");
	atf_tc_set_md_var(tc, "timeout", "600");
}
ATF_TC_BODY(mixed, tc)
{
	struct proto_events	 m;
	const char		*soak = getenv("SOAK");
	char			 all[1] = "";
	int			 i, n = 10000;

	(void)tc;
	if (soak != NULL && strcmp(soak, "yes") == 0)
		n = 50000;
	srandom(3);
	memset(live, 0xff, sizeof(live));
	ring_make();
	ring.conf.max_execs = 50;
	ring_start();
	ring_engine(1);
	memset(&m, 0, sizeof(m));
	m.sandbox = all;
	m.follow = 1;
	m.credit = 50;
	host = ring_ask(ROOT_SESSION, PROTO_EVENTS, &m);
	for (i = 0; i < n; i++) {
		step();
		serve(0);
		while (nopen > 32)
			serve(1);
	}
	/* The rest: what runs ends, and all that is behind gets credit. */
	while (nrunning > 0)
		ended(0, END_EXITED, 0);
	for (i = 0; i < nfollow; i++)
		ring_send(&ring.frontend, PROTO_CREDIT, 0, ROOT_SESSION,
		    follow[i].req, &(struct proto_credit){ 1000000 });
	/* Each number was told when there is no other. */
	while (!all_told()) {
		if (nopen == 0)
			opened(ring_ask(ROOT_SESSION, PROTO_STATUS, NULL));
		serve(1);
		while (nrunning > 0)
			ended(0, END_EXITED, 0);
	}
	for (i = 0; i < nfollow; i++)
		follower_check(&follow[i]);
	printf("%llu events of %d sandboxes, %d followers\n",
	    (unsigned long long)host_n, nboxes, nfollow);
	/* How many are refused, as nothing is ready yet, is for the speed. */
	ATF_CHECK(host_n > (uint64_t)n / 5);
	ATF_CHECK(nfollow > 10);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, mixed);
	return (atf_no_error());
}
