/*
 * The frontend's clients and their requests: several clients send anything,
 * take their answers or do not, and go, while the store and the runner answer
 * what was asked, and what was not.
 */

#include <sys/socket.h>

#include <signal.h>
#include <stdarg.h>

#include "fuzz.h"
#include "fuzz_pipe.h"

#include "frontend_client.c"

#define CLIENTS		6
#define ASKED		64

struct chan	 fe_store;
struct chan	 fe_runner;

static struct {
	struct imsgbuf	 ibuf;
	uint64_t	 session;
	int		 fd;		/* -1: there is none */
} cl[CLIENTS];

/* What the store was asked and has not ended. */
static struct {
	uint64_t	 session;
	uint32_t	 req, type;
} asked[ASKED];
static size_t		 nasked;
static uint64_t		 sessions;
static int		 stopped;

void
frontend_drain_store(void)
{
}

void
frontend_drain_runner(void)
{
}

void
frontend_stopped(void)
{
	stopped = 1;
}

/* What it counts must be what there is. */
void
log_warnx(const char *fmt, ...)
{
	char	 buf[8192];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	need(strstr(buf, "without a client") == NULL);
}

/* Answers come without any here. */
int
pipe_is(int fd)
{
	return (fd == -1);
}

/* To the store: a sound request of a session that is there. */
void
pipe_send(struct chan *ch, uint32_t type, uint64_t op, uint64_t session,
    uint32_t req, int fd, const void *msg)
{
	size_t	 i;

	need(ch == &fe_store && fd == -1 && op == 0 && req != 0);
	need(type < PROTO_HELLO_OK && client_find(session) != NULL);
	fuzz_sound(proto_def(type), msg);
	for (i = 0; i < nasked; i++)
		need(type == PROTO_CREDIT || asked[i].session != session ||
		    asked[i].req != req);
	if (type == PROTO_CREDIT)
		return;
	if (nasked == ASKED)
		memmove(asked, asked + 1, --nasked * sizeof(asked[0]));
	asked[nasked].session = session;
	asked[nasked].req = req;
	asked[nasked++].type = type;
}

/* One request that has ended, or with 0 all of a session that has. */
static void
forget(uint64_t session, uint32_t req)
{
	size_t	 i;

	for (i = nasked; i-- > 0;)
		if (asked[i].session == session &&
		    (req == 0 || asked[i].req == req))
			memmove(asked + i, asked + i + 1, (--nasked - i) *
			    sizeof(asked[0]));
}

/* The parent hands over a client. */
static void
come(size_t i, int what)
{
	int	 sv[2], size = 4096;

	if (cl[i].fd != -1 || stopped)
		return;
	need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0, sv) == 0);
	if (what & 1)
		(void)setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &size,
		    sizeof(size));
	cl[i].fd = sv[1];
	cl[i].session = ++sessions;
	need(imsgbuf_init(&cl[i].ibuf, sv[1]) == 0);
	imsgbuf_allow_fdpass(&cl[i].ibuf);
	imsgbuf_set_maxsize(&cl[i].ibuf, 2 * PROTO_MAX_PAYLOAD);
	client_new(cl[i].session, what >> 1 & 1, sv[0]);
}

static void
go(size_t i)
{
	if (cl[i].fd == -1)
		return;
	imsgbuf_clear(&cl[i].ibuf);
	close(cl[i].fd);
	cl[i].fd = -1;
	forget(cl[i].session, 0);
}

/* Its answers are sound ones, whatever the store has said. */
static void
take(size_t i)
{
	static uint64_t		 room[1024];
	const struct msg_def	*def;
	const char		*field, *why;
	struct imsg		 imsg;
	int			 n, fd;

	if (cl[i].fd == -1)
		return;
	n = imsgbuf_read(&cl[i].ibuf);
	while (imsgbuf_get(&cl[i].ibuf, &imsg) == 1) {
		def = proto_def(imsg_get_type(&imsg));
		need(def != NULL && imsg_get_type(&imsg) >= PROTO_HELLO_OK);
		need(def->size <= sizeof(room));
		need(msg_decode_map(room, def, ibuf_data(imsg.buf),
		    imsg_get_len(&imsg), &field, &why) == 0);
		msg_clear(room, def);
		if ((fd = imsg_get_fd(&imsg)) != -1) {
			need(imsg_get_type(&imsg) == PROTO_STREAM);
			close(fd);
		}
		imsg_free(&imsg);
	}
	if (n == 0)
		go(i);
}

static void
say(size_t i, const void *data, size_t len)
{
	if (cl[i].fd != -1)
		(void)send(cl[i].fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A message with a sound header; the input says the rest. */
static void
ask(size_t i, struct fuzz *in)
{
	struct imsg_hdr	 h;
	uint8_t		 buf[IMSG_HEADER_SIZE + 4096];
	size_t		 len;

	memset(&h, 0, sizeof(h));
	h.type = fuzz_u8(in);
	h.peerid = fuzz_u8(in);
	len = in->len > 4096 ? 4096 : in->len;
	h.len = IMSG_HEADER_SIZE + len;
	memcpy(buf, &h, sizeof(h));
	if (len > 0)
		memcpy(buf + sizeof(h), in->p, len);
	say(i, buf, h.len);
}

/*
 * The store or the runner says something about a request: one of those that
 * there are, or any.  What these two may not say is not of interest here.
 */
static void
tell(uint32_t type, size_t which, struct fuzz *in)
{
	static uint64_t		 room[1024];
	const struct msg_def	*def = msg_def(type);
	struct frame		 f;
	uint8_t			*copy;
	int			 p[2];

	need(def != NULL && def->size <= sizeof(room));
	memset(&f, 0, sizeof(f));
	f.type = type;
	f.fd = -1;
	if (which < nasked) {
		f.session = asked[which].session;
		f.req = asked[which].req;
	} else {
		f.session = which % (sessions + 1);
		f.req = which;
	}
	if (type == PROTO_STREAM) {
		need(pipe2(p, O_CLOEXEC) == 0);
		close(p[1]);
		f.fd = p[0];
	}
	copy = fuzz_copy(in->p, in->len);
	/* One that says nothing is one as well. */
	if (msg_decode_array(room, def, copy, in->len) == -1)
		memset(room, 0, sizeof(room));
	free(copy);
	if (type == MSG_STREAM_END)
		(void)request_recv_stream_end(&fe_runner, &f, room);
	else if (type == PROTO_STREAM)
		(void)request_recv_stream(&fe_runner, &f, room);
	else
		(void)request_recv_answer(&fe_store, &f, room);
	msg_clear(room, def);
	if (f.fd != -1)
		close(f.fd);
	if (type == PROTO_END || type == PROTO_ERROR)
		forget(f.session, f.req);
}

static void
turn(void)
{
	int	 i;

	for (i = 0; i < 4; i++)
		need(event_loop(EVLOOP_NONBLOCK) != -1);
}

/* What is counted is what there is, and within its bounds. */
static void
judge_client(const struct client *c, struct uid_stat *sum)
{
	const struct request	*r;
	unsigned int		 nshort = 0, ncontrol = 0, nlong = 0;

	TAILQ_FOREACH(r, &c->reqs, entry) {
		ncontrol += r->class == REQ_CONTROL;
		nshort += r->class != REQ_CONTROL && !r->accepted;
		nlong += r->is_long;
	}
	need(c->nshort == nshort && c->ncontrol == ncontrol);
	need(c->nlong == nlong && nlong <= CLIENT_LONG_MAX);
	need(nshort <= CLIENT_INFLIGHT_MAX && ncontrol <= CLIENT_INFLIGHT_MAX);
	need(c->fdqueue + c->fdsent <= CLIENT_FDS_MAX);
	sum->nclients++;
	sum->nshort += nshort;
	sum->nlong += nlong;
	sum->nwoken += c->woken;
	sum->out += c->out;
	sum->nfds += c->fdqueue + c->fdsent;
}

static void
judge(void)
{
	struct uid_stat	 sum, *us;
	struct client	*c;
	size_t		 i;

	RB_FOREACH(us, uid_tree, &uids) {
		memset(&sum, 0, sizeof(sum));
		RB_FOREACH(c, client_tree, &clients)
			if (c->us == us)
				judge_client(c, &sum);
		need(us->nclients == sum.nclients && sum.nclients > 0);
		need(us->nshort == sum.nshort && us->nlong == sum.nlong);
		need(us->nshort <= UID_INFLIGHT_MAX);
		need(us->nwoken == sum.nwoken && us->nfds == sum.nfds);
		need(us->out == sum.out && us->out <= UID_OUT_MAX);
	}
	/* Who has hung up is gone, unless we go ourselves. */
	for (i = 0; i < CLIENTS && !stopping; i++)
		if (cl[i].fd == -1 && cl[i].session != 0)
			need(client_find(cl[i].session) == NULL);
}

static void
play(struct fuzz *in)
{
	static const uint32_t	 types[] = { PROTO_HELLO_OK, PROTO_END,
	    PROTO_ERROR, PROTO_ACCEPTED, PROTO_SANDBOX, PROTO_EXEC_INFO,
	    PROTO_EVENT, PROTO_PROC, PROTO_STATUS_INFO, PROTO_IMAGE,
	    PROTO_VERIFY, PROTO_GAP, PROTO_STALLED, PROTO_INPUT_ACK,
	    PROTO_STREAM, MSG_STREAM_END };
	struct fuzz		 data;
	size_t			 i;
	int			 what;

	while (fuzz_step(in, &what, &data)) {
		i = (size_t)(what >> 3) % CLIENTS;
		switch (what & 7) {
		case 0:
			come(i, fuzz_u8(&data));
			break;
		case 1:
			say(i, data.p, data.len);
			break;
		case 2:
			ask(i, &data);
			break;
		case 3:
			take(i);
			break;
		case 4:
			go(i);
			break;
		case 5:
			if (what == 0xfd)
				client_stop_all();
			break;
		default:
			i = fuzz_u8(&data);
			tell(types[what >> 3 & 15], i % (nasked + 2), &data);
			break;
		}
		turn();
		judge();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static int	 ready;
	struct fuzz	 in = { data, len };
	size_t		 i;

	if (!ready) {
		(void)event_init();
		client_init();
		(void)signal(SIGPIPE, SIG_IGN);
		ready = 1;
	}
	nasked = 0;
	sessions = 0;
	memset(cl, 0, sizeof(cl));
	for (i = 0; i < CLIENTS; i++)
		cl[i].fd = -1;
	play(&in);
	for (i = 0; i < CLIENTS; i++) {
		go(i);
		cl[i].session = 0;
	}
	turn();
	client_close_all();
	need(nclients == 0 && RB_EMPTY(&uids));
	stopped = stopping = 0;
	fuzz_fds();
	return (0);
}
