/*
 * The runner, with a guest that sends any bytes while the store orders, ends
 * and forgets execs and clients write input.  Logs and readers are numbers.
 */

#include <sys/socket.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_pipe.h"
#include "proc.h"
#include "rights.h"
#include "runner.h"

#define NAME	"box.1"

struct chan		 ch_store;
struct chan		 ch_frontend;
struct msg_conf		 runner_conf;

static struct box	 box;
static struct reader	 lagging;
static int		 peer = -1;	/* the guest's end */
static int		 client = -1;	/* of the newest input */
static uint8_t		 heard[1 << 20];
static size_t		 nheard;
static uint64_t		 ended[2];	/* execs of which an end was told */
static int		 broke;
static uint64_t		 ncalls;
static uint64_t		 lastcall;	/* of the runs before */
static uint64_t		 newcall;
static uint8_t		 answered[1 << 16];	/* calls */

/* Whatever is told must be a message, and an end be told but once. */
void
pipe_send(struct chan *ch, uint32_t type, uint64_t op, uint64_t session,
    uint32_t req, int fd, const void *msg)
{
	const struct msg_ended	*e = msg;
	uint64_t		 k = 0;

	fuzz_sound(msg_def(type), msg);
	if (type == MSG_ENDED)
		k = e->k;
	else if (type == MSG_NOT_STARTED)
		k = ((const struct msg_not_started *)msg)->k;
	else if (type == MSG_REFUSED)
		k = ((const struct msg_refused *)msg)->k;
	if (k != 0) {
		need(k < 128 && (ended[k / 64] & 1ULL << k % 64) == 0);
		ended[k / 64] |= 1ULL << k % 64;
	}
	if (type == MSG_ENDED) {
		need(e->dropped1 <= e->length1 && e->dropped2 <= e->length2);
		need(e->started <= e->ended);
	}
	if (type == MSG_CALL_DONE)
		need(op != 0 && op <= ncalls && answered[op]++ == 0);
	if (type == MSG_GUEST_BROKE)
		broke = 1;
	if (fd == -1)
		return;
	if (client != -1)
		close(client);
	client = fd;
}

void
box_unlisten(struct box *b)
{
}

void
box_await(struct box *b)
{
	need(b->guest == NULL);
}

struct slog *
slog_open(uint64_t n, uint64_t k, uint32_t owner, uint32_t stream, int isnew)
{
	struct slog	*l;

	need((l = calloc(1, sizeof(*l))) != NULL);
	l->k = k;
	l->stream = stream;
	/* An older one goes on at its end. */
	l->len = isnew ? 0 : 10;
	return (l);
}

void
slog_release(struct slog *l)
{
	free(l);
}

void
slog_append(struct slog *l, const uint8_t *data, size_t len)
{
	need(!l->ended && len > 0 && len <= GP_MAX_DATA);
	free(fuzz_copy(data, len));
	l->len += len;
}

void
slog_skip(struct slog *l, uint64_t off)
{
	need(!l->ended && off > l->len);
	l->len = off;
}

void
slog_end(struct slog *l)
{
	l->ended = 1;
	l->exec = NULL;
	l->primary = NULL;
}

uint64_t
slog_stored(const struct slog *l)
{
	return (l->len / 2);
}

void
reader_new(struct slog *l, const char *name, uint64_t session, uint32_t req,
    uint64_t off, uint64_t end, int primary)
{
}

void
reader_wake(struct slog *l)
{
}

void
reader_feed(struct slog *l, uint64_t off, const uint8_t *data, size_t len)
{
	need(off + len == l->len);
}

void
reader_demote(struct reader *r)
{
}

void
reader_watch(struct reader *r)
{
	need(r == &lagging);
}

int
pipe_grow(int fd)
{
	return (0);
}

void
pipe_grown(int large)
{
}

void
quota_ended(uint64_t n)
{
}

/* What a guest would say of such a frame. */
static void
judge(const struct gp_frame *f)
{
	union {
		struct gp_welcome	 welcome;
		struct gp_start		 start;
		struct gp_resume	 resume;
		struct gp_ack		 ack;
		struct gp_input		 input;
		struct gp_input_end	 input_end;
		struct gp_signal	 sig;
		struct gp_cancel	 cancel;
		struct gp_stop		 stop;
		struct gp_call		 call;
		struct gp_ping		 ping;
	} u;

	switch (f->type) {
	case GP_WELCOME:
		need(gp_decode_welcome(&u.welcome, f) == 0);
		break;
	case GP_START:
		need(gp_decode_start(&u.start, f) == 0);
		break;
	case GP_RESUME:
		need(gp_decode_resume(&u.resume, f) == 0);
		break;
	case GP_ACK:
		need(gp_decode_ack(&u.ack, f) == 0);
		break;
	case GP_INPUT:
		need(gp_decode_input(&u.input, f) == 0);
		break;
	case GP_INPUT_END:
		need(gp_decode_input_end(&u.input_end, f) == 0);
		break;
	case GP_SIGNAL:
		need(gp_decode_signal(&u.sig, f) == 0);
		break;
	case GP_CANCEL:
		need(gp_decode_cancel(&u.cancel, f) == 0);
		break;
	case GP_FORGET:
		need(gp_decode_forget(f) == 0);
		break;
	case GP_STOP:
		need(gp_decode_stop(&u.stop, f) == 0);
		break;
	case GP_PING:
		need(gp_decode_ping(&u.ping, f) == 0);
		break;
	case GP_CALL:
		need(gp_decode_call(&u.call, f) == 0);
		need((f->k & ~GP_CALL_BIT) > lastcall);
		newcall = f->k & ~GP_CALL_BIT;
		break;
	default:
		need(0);
	}
}

static void
turn(void)
{
	struct gp_frame	 f;
	size_t		 off;
	ssize_t		 len;
	int		 i, n;

	for (i = 0; i < 4; i++) {
		need(event_loop(EVLOOP_NONBLOCK) != -1);
		if (peer == -1)
			continue;
		len = recv(peer, heard + nheard, sizeof(heard) - nheard,
		    MSG_DONTWAIT);
		if (len <= 0)
			continue;
		nheard += len;
		for (off = 0; (n = gp_get(&f, heard + off, nheard - off,
		    GP_RUNNER)) == 1; off += f.total)
			judge(&f);
		need(n == 0);
		memmove(heard, heard + off, nheard - off);
		nheard -= off;
	}
}

static void
hang_up(void)
{
	if (peer != -1)
		close(peer);
	peer = -1;
	nheard = 0;
	turn();
}

static void
connect_again(void)
{
	int	 sv[2];

	hang_up();
	if (box.guest != NULL || broke)
		return;
	need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
	    0, sv) == 0);
	peer = sv[1];
	box.guest = guest_new(&box, sv[0], 7);
}

/* An order of the store's, in the way of runner_recv_start(). */
static void
start(struct fuzz *in)
{
	struct msg_start	 m;
	struct exec		*ex;
	char			 dir[] = "/";

	memset(&m, 0, sizeof(m));
	m.n = box.n;
	m.k = fuzz_u8(in) & 127;
	if (m.k == 0 || exec_find(&box, m.k) != NULL ||
	    (ended[m.k / 64] & 1ULL << m.k % 64) != 0)
		return;
	m.flags = fuzz_u8(in) ^ EXEC_INPUT;
	m.again = fuzz_u8(in) & 1;
	m.timeout = m.grace = fuzz_u8(in);
	m.dir = dir;
	strlcpy(m.exec, NAME, sizeof(m.exec));
	if (!m.again || fuzz_u8(in) & 1)
		need(strv_add(&m.argv, "sh") == 0);
	need(kvv_add(&m.env, "A", "b") == 0);
	if (!m.again && box.guest != NULL)
		guest_drop_unclaimed(box.guest, m.k);
	need((ex = exec_new(&box, &m)) != NULL);
	strv_clear(&m.argv);
	kvv_clear(&m.env);
	exec_push(ex);
	exec_attach(ex, 1, 1, 7, 0, 0);
}

/* The same of a call: each is answered once. */
static void
call(struct fuzz *in)
{
	static const uint32_t	 ops[] = { CALL_STAT, CALL_READ, CALL_WRITE,
	    CALL_CONNECT };
	static uint8_t		 bytes[256];
	struct msg_call		 m;
	struct frame		 f;
	char			 path[] = "/x", none[] = "";

	memset(&m, 0, sizeof(m));
	memset(&f, 0, sizeof(f));
	f.op = ++ncalls;
	f.session = fuzz_u8(in) % 3 + 1;
	f.req = 1;
	m.n = box.n;
	m.c.op = ops[fuzz_u8(in) % 4];
	m.c.path = m.c.path2 = path;
	m.c.pattern = m.c.filter = none;
	if (m.c.op == CALL_CONNECT || (m.c.op == CALL_WRITE &&
	    fuzz_u8(in) & 1))
		m.c.flags = CALL_F_STREAM;
	else if (m.c.op == CALL_WRITE) {
		m.c.data.data = bytes;
		m.c.data.len = fuzz_u8(in);
	}
	need(ncalls < sizeof(answered));
	call_new(&box, &f, &m);
}

static void
call_order(struct fuzz *in)
{
	uint64_t	 op = ncalls - fuzz_u8(in) % 4;
	int		 what = fuzz_u8(in) & 3;

	if (what == 0)
		call_cancel(&box, op);
	else if (what == 1)
		call_session_gone(fuzz_u8(in) % 3 + 1);
	else
		call_finish(&box, op, fuzz_u8(in));
}

static void
order(int what, struct fuzz *in)
{
	struct exec	*ex;
	uint64_t	 k = fuzz_u8(in) & 127;

	ex = exec_find(&box, k);
	switch (what) {
	case 3:
		if (k != 0)
			exec_forget(&box, k);
		break;
	case 4:
		if (k != 0)
			exec_signal(&box, k, fuzz_u8(in) % 64 + 1);
		break;
	case 5:
		if (k != 0)
			exec_cancel(&box, k, fuzz_u8(in));
		break;
	case 6:
		if (ex != NULL && ex->in != NULL)
			input_finish(ex->in, fuzz_u8(in));
		break;
	case 7:
		/* Its reader stays behind, or has caught up. */
		if (ex == NULL || ex->over)
			break;
		lagging.off = ex->log[GP_STDOUT]->len;
		ex->log[GP_STDOUT]->primary = fuzz_u8(in) & 1 ? &lagging :
		    NULL;
		exec_credit(ex->log[GP_STDOUT]);
		break;
	default:
		box.stopping = 1;
		box.grace = k;
		if (guest_ready(&box) != NULL)
			guest_stop(box.guest);
	}
}

/* Calls are numbered through all runs, but an input begins with 1. */
static void
guest_says(const struct fuzz *in)
{
	uint8_t	*p = fuzz_copy(in->p, in->len);
	uint64_t k;
	int	 i;

	if (in->len >= GP_HDRLEN && p[15] & 0x80) {
		k = p[8] + lastcall;
		for (i = 0; i < 7; i++, k >>= 8)
			p[8 + i] = k & 0xff;
	}
	if (peer != -1)
		(void)send(peer, p, in->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	free(p);
}

static void
play(struct fuzz *in)
{
	struct fuzz	 data;
	int		 what;

	while (fuzz_step(in, &what, &data)) {
		switch (what % 14) {
		case 0:
		case 1:
			guest_says(&data);
			break;
		case 2:
			start(&data);
			break;
		case 9:
			connect_again();
			break;
		case 10:
			hang_up();
			break;
		case 12:
			call(&data);
			break;
		case 13:
			call_order(&data);
			break;
		case 11:
			if (client != -1)
				(void)!write(client, data.p, data.len);
			break;
		default:
			order(what % 14, &data);
		}
		turn();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct event_base	*base;
	struct fuzz			 in = { data, len };
	struct exec			*ex;
	uint64_t			 n;

	if (base == NULL) {
		need((base = event_init()) != NULL);
		(void)signal(SIGPIPE, SIG_IGN);
	}
	memset(&box, 0, sizeof(box));
	memset(ended, 0, sizeof(ended));
	box.n = 1;
	box.lfd = -1;
	RB_INIT(&box.execs);
	TAILQ_INIT(&box.calls);
	silent_init(&box);
	memset(answered, 0, ncalls + 1);
	ncalls = 0;
	if (newcall > lastcall)
		lastcall = newcall;
	broke = 0;
	connect_again();
	play(&in);
	if (box.guest != NULL)
		guest_close(box.guest);
	silent_end(&box);
	call_guest_gone(&box, 1);
	for (n = 1; n <= ncalls; n++)
		need(answered[n] == 1);
	while ((ex = RB_ROOT(&box.execs)) != NULL)
		exec_free(ex);
	hang_up();
	if (client != -1)
		close(client);
	client = -1;
	fuzz_fds();
	return (0);
}
