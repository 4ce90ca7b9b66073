/*
 * The connection of a guest.  What it sends is hostile: a frame is checked
 * before it has wholly arrived, one turn of the loop reads a bounded part,
 * no descriptor is ever taken (there is no room for one in the call), and
 * what breaks the protocol ends the connection for good and is told.
 */

#include <sys/socket.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fault.h"
#include "log.h"
#include "proc.h"
#include "rights.h"
#include "runner.h"

#define GUEST_FLAP_S	1		/* a connection that is short */
#define OUT_KEEP	(64 * 1024)	/* an idle queue's largest size */

int	 runner_hello_s = RUNNER_HELLO_S;

/* One for all: only the part of a frame that is left over is kept. */
static uint8_t	 turn[RUNNER_TURN + GP_MAX_FROM_GUEST];

static void	 guest_read(int, short, void *);
static void	 guest_write(int, short, void *);
static void	 guest_late(int, short, void *);

static time_t
guest_now(void)
{
	struct timespec	 ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts) == -1)
		fatal("clock_gettime");
	return (ts.tv_sec);
}

struct guest *
guest_new(struct box *box, int fd, uint32_t pid)
{
	struct timeval	 tv = { runner_hello_s, 0 };
	struct guest	*g;

	if ((g = calloc(1, sizeof(*g))) == NULL)
		fatal("%s", __func__);
	g->box = box;
	g->fd = fd;
	g->pid = pid;
	g->phase = GUEST_NEW;
	g->born = guest_now();
	event_set(&g->ev, fd, EV_READ | EV_PERSIST, guest_read, g);
	event_set(&g->wev, fd, EV_WRITE, guest_write, g);
	event_set(&g->flush, -1, 0, guest_write, g);
	evtimer_set(&g->deadline, guest_late, g);
	event_add(&g->ev, NULL);
	evtimer_add(&g->deadline, &tv);
	return (g);
}

/* The connection alone; what that means is its caller's to tell. */
void
guest_close(struct guest *g)
{
	g->box->guest = NULL;
	event_del(&g->ev);
	event_del(&g->wev);
	event_del(&g->flush);
	evtimer_del(&g->deadline);
	rights_close(g->fd);
	u64v_clear(&g->unclaimed);
	free(g->rest);
	free(g->out);
	call_guest_gone(g->box, 0);
	exec_guest_gone(g->box);
	free(g);
}

struct guest *
guest_ready(struct box *box)
{
	if (box->guest == NULL || box->guest->phase != GUEST_READY)
		return (NULL);
	return (box->guest);
}

/*
 * One that takes calls: it tells of its commands before it looks at anything
 * that comes behind WELCOME.
 */
struct guest *
guest_welcome(struct box *box)
{
	if (box->guest == NULL || box->guest->phase == GUEST_NEW)
		return (NULL);
	return (box->guest);
}

int
guest_full(const struct guest *g)
{
	return (g->outlen >= RUNNER_OUT_LOW);
}

/* Room in the queue, for an encoder; guest_wrote() takes what it returned. */
uint8_t *
guest_room(struct guest *g, size_t n)
{
	uint8_t	*p;
	size_t	 size;

	if (g->outoff > 0 && g->outoff + g->outlen + n > g->outsize) {
		memmove(g->out, g->out + g->outoff, g->outlen);
		g->outoff = 0;
	}
	if (g->outlen + n > g->outsize) {
		size = g->outsize * 2;
		if (size < g->outlen + n)
			size = g->outlen + n;
		if ((p = realloc(g->out, size)) == NULL)
			fatal("%s", __func__);
		g->out = p;
		g->outsize = size;
	}
	return (g->out + g->outoff + g->outlen);
}

void
guest_wrote(struct guest *g, ssize_t n)
{
	struct timeval	 now = { 0, 0 };

	if (n == -1)
		fatalx("%s: a frame that does not fit", __func__);
	g->outlen += n;
	/* Orders come from the store; what they wait for has a bound. */
	if (g->outlen > RUNNER_OUT_MAX && !g->deaf) {
		g->deaf = 1;
		evtimer_add(&g->deadline, &now);
	}
	/* All that one turn queues leaves with one call. */
	if (!g->broken && !event_pending(&g->wev, EV_WRITE, NULL))
		event_active(&g->flush, EV_WRITE, 1);
}

static void
guest_write(int fd, short event, void *arg)
{
	struct guest	*g = arg;
	int		 was_full = guest_full(g);
	ssize_t		 n;

	(void)fd;
	(void)event;
	while (g->outlen > 0) {
		n = send(g->fd, g->out + g->outoff, g->outlen,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			event_add(&g->wev, NULL);
			break;
		}
		if (n == -1) {
			g->broken = 1;
			g->outlen = 0;
			break;
		}
		g->outoff += n;
		g->outlen -= n;
	}
	if (g->outlen == 0) {
		g->outoff = 0;
		if (g->outsize > OUT_KEEP) {
			free(g->out);
			g->out = NULL;
			g->outsize = 0;
		}
	}
	if (was_full && !guest_full(g) && g->phase != GUEST_NEW) {
		exec_pump(g->box);
		pass_pump(g->box);
	}
}

static void
guest_gone(struct guest *g, uint32_t type, const char *text)
{
	struct msg_guest_gone	 m;
	struct box		*box = g->box;
	int			 again, tell = g->phase != GUEST_NEW;

	memset(&m, 0, sizeof(m));
	m.n = box->n;
	m.bye = g->bye;
	snprintf(m.text, sizeof(m.text), "%s", text);
	again = type == MSG_GUEST_GONE && !g->bye;
	box->flaps = guest_now() - g->born > GUEST_FLAP_S ? 0 : box->flaps + 1;
	if (type == MSG_GUEST_BROKE) {
		log_warnx("sandbox %" PRIu64 ": its guest broke the protocol: "
		    "%s", box->n, text);
		tell = 1;
	}
	guest_close(g);
	if (tell)
		pipe_send(&ch_store, type, 0, 0, 0, -1, &m);
	fault("runner.gone.after");
	if (box->dead) {
		life_tell(box);
		box_unlisten(box);
	} else if (again)
		box_await(box);
	else
		box_unlisten(box);
}

/*
 * It says hello on each new connection, and commands lose nothing by that;
 * calls would, and are not cut off for it.
 */
void
guest_greet(struct guest *g)
{
	struct msg_guest_gone	 m;

	if (!TAILQ_EMPTY(&g->box->calls)) {
		memset(&m, 0, sizeof(m));
		m.n = g->box->n;
		pipe_send(&ch_store, MSG_BUSY, 0, 0, 0, -1, &m);
		return;
	}
	if (g->phase != GUEST_NEW && !g->bye && !g->stopping)
		guest_gone(g, MSG_GUEST_GONE, "to say hello again");
}

/*
 * A frame that has begun and does not go on.  One whose container was paused
 * meanwhile knows nothing of it: cut off, it comes again and loses nothing.
 * The second time without anything whole of a command in between, it lies.
 */
static void
guest_half(struct guest *g)
{
	struct box	*box = g->box;

	if (box->halved) {
		guest_gone(g, MSG_GUEST_BROKE, "half a frame, and no more");
		return;
	}
	box->halved = 1;
	log_warnx("sandbox %" PRIu64 ": its guest sent half a frame and no "
	    "more: it may come again", box->n);
	guest_gone(g, MSG_GUEST_GONE, "half a frame, and no more");
}

/* From its first byte on a frame has as long as a HELLO has. */
static void
guest_await(struct guest *g, size_t used)
{
	struct timeval	 tv = { runner_hello_s, 0 };
	int		 half = (g->restlen > 0 && !g->more) ||
			    g->pour.left > 0;

	if (g->phase == GUEST_NEW || g->deaf || (!half && !g->half))
		return;
	if (!half)
		evtimer_del(&g->deadline);
	else if (!g->half || used > 0)
		evtimer_add(&g->deadline, &tv);
	g->half = half;
}

static void
guest_late(int fd, short event, void *arg)
{
	struct guest	*g = arg;

	(void)fd;
	(void)event;
	if (g->deaf) {
		guest_gone(g, MSG_GUEST_BROKE, "it does not read");
		return;
	}
	if (g->phase != GUEST_NEW) {
		guest_half(g);
		return;
	}
	log_warnx("sandbox %" PRIu64 ": its guest connected and said nothing",
	    g->box->n);
	guest_gone(g, MSG_GUEST_GONE, "no hello");
}

static uint64_t
guest_limit(uint64_t v, uint64_t max)
{
	if (v == GP_UNKNOWN || v == GP_UNLIMITED)
		return (0);
	return (v > max ? max : v);
}

static int
guest_recv_hello(struct guest *g, const struct gp_frame *f)
{
	struct msg_guest_hello	 m;
	struct gp_welcome	 w;
	struct gp_hello		 h;
	struct box		*box = g->box;
	static char		 why[64];
	struct timespec		 ts;
	struct exec		*ex;

	if (g->phase != GUEST_NEW || gp_decode_hello(&h, f) == -1)
		return (-1);
	if (h.version < GP_VERSION_OLDEST || h.version > GP_VERSION) {
		snprintf(why, sizeof(why), "it speaks protocol %u, and not %d "
		    "to %d", h.version, GP_VERSION_OLDEST, GP_VERSION);
		g->why = why;
		return (-1);
	}
	if (!g->deaf)
		evtimer_del(&g->deadline);
	memset(&m, 0, sizeof(m));
	m.n = box->n;
	m.boot = h.boot;
	m.pid = g->pid;
	m.version = h.version;
	m.memory = guest_limit(h.memory, UINT64_MAX);
	m.mcpus = guest_limit(h.mcpus, UINT32_MAX);
	m.pids = guest_limit(h.pids, UINT32_MAX);
	m.swap = h.swap == GP_UNKNOWN ? 0 : h.swap;
	m.again = box->boot == h.boot;
	if (clock_gettime(CLOCK_REALTIME, &ts) == -1)
		fatal("clock_gettime");
	/* Its word may be any number: without a sign it cannot overflow. */
	g->clock = (int64_t)((uint64_t)ts.tv_sec * 1000000000 +
	    (uint64_t)ts.tv_nsec - h.now);
	/* What ran under another boot died with it. */
	if (box->boot != 0 && box->boot != h.boot)
		RB_FOREACH(ex, execs, &box->execs)
			if (ex->sent || ex->again)
				exec_refuse(ex);
	g->version = h.version;
	g->stopping = (h.flags & GP_IS_STOPPING) != 0;
	g->calls = (h.flags & GP_CAN_CALL) != 0;
	box->boot = h.boot;
	box->pid = g->pid;
	box->strangers = 0;
	life_begin(box, g->fd, g->pid);
	box_unlisten(box);
	w.version = h.version;
	guest_wrote(g, gp_encode_welcome(guest_room(g, 64), 64, &w));
	g->phase = GUEST_STATES;
	fault("runner.hello.before");
	pipe_send(&ch_store, MSG_GUEST_HELLO, 0, 0, 0, -1, &m);
	fault("runner.hello.after");
	return (0);
}

/* An exec that the guest has and we do not know (any more). */
static int
guest_recv_unclaimed(struct guest *g, const struct gp_frame *f,
    const struct gp_state *s)
{
	if (s->state == GP_ST_BACKGROUND)
		return (0);
	if (f->k <= g->box->forgotten) {
		guest_wrote(g, gp_encode_forget(guest_room(g, 64), 64, f->k));
		return (0);
	}
	if (s->state == GP_ST_RUNNING)
		return (0);
	/* After our own restart the store is about to name it, or never. */
	if (u64v_add(&g->unclaimed, f->k) == -1)
		fatal("%s", __func__);
	return (0);
}

static int
guest_recv_state(struct guest *g, const struct gp_frame *f)
{
	struct gp_state	 s;

	if (g->phase == GUEST_READY)
		return (exec_recv_state(g, f));
	if (g->phase != GUEST_STATES || gp_decode_state(&s, f) == -1)
		return (-1);
	if (++g->nstates > GP_MAX_EXECS) {
		g->why = "more execs than a guest has";
		return (-1);
	}
	if (exec_find(g->box, f->k) == NULL)
		return (guest_recv_unclaimed(g, f, &s));
	return (0);
}

void
guest_stop(struct guest *g)
{
	struct gp_stop	 s;

	s.grace = g->box->grace;
	guest_wrote(g, gp_encode_stop(guest_room(g, 64), 64, &s));
}

static int
guest_recv_states_end(struct guest *g, const struct gp_frame *f)
{
	struct gp_states_end	 e;
	struct box		*box = g->box;

	if (g->phase != GUEST_STATES || gp_decode_states_end(&e, f) == -1 ||
	    e.count != g->nstates)
		return (-1);
	g->phase = GUEST_READY;
	exec_pump(box);
	silent_ready(box);
	if (box->stopping)
		guest_stop(g);
	return (0);
}

/*
 * What the store does not name before its first new exec has an end that is
 * durable: only the word to the guest was lost.
 */
void
guest_drop_unclaimed(struct guest *g, uint64_t k)
{
	size_t			 i, left = 0;
	uint64_t		 u;

	for (i = 0; i < g->unclaimed.n; i++) {
		if ((u = g->unclaimed.v[i]) > k)
			g->unclaimed.v[left++] = u;
		else if (exec_find(g->box, u) == NULL)
			guest_wrote(g, gp_encode_forget(guest_room(g, 64), 64,
			    u));
	}
	g->unclaimed.n = left;
}

static int
guest_recv_bye(struct guest *g, const struct gp_frame *f)
{
	if (gp_decode_bye(f) == -1)
		return (-1);
	if (!g->box->stopping && !g->stopping) {
		g->why = "BYE without STOP";
		return (-1);
	}
	g->bye = 1;
	return (0);
}

static int
guest_recv_background(const struct gp_frame *f)
{
	struct gp_background	 b;

	/* Told for the record; the end has its own count. */
	return (gp_decode_background(&b, f));
}

/* What is about a call. */
static int
guest_recv_call(struct guest *g, const struct gp_frame *f)
{
	g->box->halved = 0;
	switch (f->type) {
	case GP_OUTPUT:
		return (pass_recv_output(g, f));
	case GP_OUTPUT_END:
		return (pass_recv_output_end(g, f));
	case GP_INPUT_ACK:
		return (pass_recv_input_ack(g, f));
	case GP_CALL_END:
		return (call_recv_end(g, f));
	default:
		return (-1);
	}
}

static int
guest_recv(struct guest *g, const struct gp_frame *f)
{
	if (g->bye || (g->phase == GUEST_NEW && f->type != GP_HELLO) ||
	    (g->phase == GUEST_STATES && f->type != GP_STATE &&
	    f->type != GP_STATES_END))
		return (-1);
	if (f->k & GP_CALL_BIT)
		return (guest_recv_call(g, f));
	switch (f->type) {
	case GP_HELLO:
		return (guest_recv_hello(g, f));
	case GP_STATE:
		return (guest_recv_state(g, f));
	case GP_STATES_END:
		return (guest_recv_states_end(g, f));
	case GP_STARTED:
		return (exec_recv_started(g, f));
	case GP_NOT_STARTED:
		g->box->halved = 0;
		return (exec_recv_not_started(g, f));
	case GP_OUTPUT:
		g->box->halved = 0;
		return (exec_recv_output(g, f));
	case GP_INPUT_ACK:
		g->box->halved = 0;
		return (exec_recv_input_ack(g, f));
	case GP_CHANGED:
		return (changed_recv(g, f));
	case GP_EXIT:
		g->box->halved = 0;
		return (exec_recv_exit(g, f));
	case GP_BACKGROUND:
		return (guest_recv_background(f));
	case GP_BYE:
		return (guest_recv_bye(g, f));
	case GP_PONG:
		return (silent_recv_pong(g, f));
	default:
		return (-1);
	}
}

/* A frame that it must not have sent: it is gone for good. */
void
guest_wrong(struct guest *g, const struct gp_frame *f)
{
	char	 why[256];

	snprintf(why, sizeof(why), "%s of exec %" PRIu64 ": %s",
	    gp_type_name(f->type), f->k, g->why != NULL ? g->why :
	    "not allowed");
	guest_gone(g, MSG_GUEST_BROKE, why);
}

/* Hands on whole frames, a bounded number; the bytes they had, or -1. */
static ssize_t
guest_frames(struct guest *g, const uint8_t *buf, size_t len)
{
	struct gp_frame	 f;
	size_t		 used = 0;
	int		 count, n = 0;

	for (count = 0; count < RUNNER_FRAMES; count++) {
		n = gp_get(&f, buf + used, len - used, GP_GUEST);
		if (n != 1)
			break;
		g->why = NULL;
		if (guest_recv(g, &f) == -1) {
			guest_wrong(g, &f);
			return (-1);
		}
		used += f.total;
	}
	if (used > 0)
		g->box->quiet.heard = 1;
	if (n == -1) {
		guest_gone(g, MSG_GUEST_BROKE, "a malformed frame");
		return (-1);
	}
	g->more = n == 1;
	return (used);
}

/* Keeps what is left of a turn, without the room that it does not need. */
static void
guest_keep(struct guest *g, const uint8_t *data, size_t len)
{
	free(g->rest);
	g->rest = NULL;
	if ((g->restlen = len) == 0)
		return;
	if ((g->rest = malloc(len)) == NULL)
		fatal("%s", __func__);
	memcpy(g->rest, data, len);
	/* Others come first, then the frames that are here. */
	if (g->more)
		event_active(&g->ev, EV_READ, 1);
}

ssize_t
guest_take(struct guest *g, uint8_t *buf, size_t size)
{
	ssize_t	 n;

	/* No control buffer: the kernel throws descriptors away. */
	rights_begin(g->fd);
	n = recv(g->fd, buf, size, MSG_DONTWAIT);
	(void)rights_end();
	if (n == -1 && (errno == EINTR || errno == EAGAIN ||
	    errno == EWOULDBLOCK))
		return (0);
	if (n > 0)
		return (n);
	guest_gone(g, MSG_GUEST_GONE, n == -1 ? strerror(errno) :
	    "end of its connection");
	return (-1);
}

/* What is left over of the bytes that came; -1: it is gone. */
static int
guest_rest(struct guest *g, const uint8_t *data, size_t len, size_t used)
{
	ssize_t	 n = 0;

	if (!g->more && (n = pour_begin(g, data, len)) == -1)
		return (-1);
	if (used > 0 || len >= GP_OUTPUT_HEAD)
		g->pour.likely = n > 0;
	guest_keep(g, data + n, len - n);
	guest_await(g, used);
	return (0);
}

/* Frames that have come, or the next part of one.  0: no more just now. */
static int
guest_step(struct guest *g)
{
	ssize_t	 n = 0, used;
	size_t	 len = g->restlen, size = RUNNER_TURN;

	if (g->pour.left > 0) {
		if (pour_more(g) <= 0)
			return (0);
		guest_await(g, g->pour.left == 0);
		return (1);
	}
	if (len > 0)
		memcpy(turn, g->rest, len);
	/* Of those that are poured the head is read, and no more. */
	if (g->pour.likely && len < GP_OUTPUT_HEAD)
		size = GP_OUTPUT_HEAD - len;
	if (!g->more && (n = guest_take(g, turn + len, size)) <= 0)
		return (0);
	len += n;
	if ((used = guest_frames(g, turn, len)) == -1)
		return (0);
	if (g->bye) {
		guest_gone(g, MSG_GUEST_GONE, "stopped");
		return (0);
	}
	return (guest_rest(g, turn + used, len - used, used) == 0);
}

static void
guest_read(int fd, short event, void *arg)
{
	struct guest	*g = arg;
	int		 i;

	(void)fd;
	(void)event;
	/* Should we die of these bytes, it is known whose they are. */
	proc_serve(g->box->n);
	for (i = 0; i < RUNNER_POURS && guest_step(g) && g->pour.likely; i++)
		continue;
	proc_serve(PROC_NOBODY);
}
