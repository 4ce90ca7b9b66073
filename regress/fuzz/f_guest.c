/*
 * The guest, with a runner that sends any bytes, and commands that write, end
 * and lose their reapers at any time.  No process is made and none is killed:
 * what begins commands and ends them is here, and only pretends to.
 */

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "fuzz.h"
#include "guest.h"

#define CONNECTIONS	4	/* then there is no runner any more */

static int		 next_socket(void);
static void		 leave(void) __attribute__((__noreturn__));

#define socket(domain, type, protocol)	next_socket()
#define connect(fd, addr, len)		0
#define inotify_init1(flags)		(-1)
#define exit(status)			leave()
#define kill(pid, signo)		((void)0)
#include "exec.c"
#include "kill.c"
#include "link.c"
#include "link_recv.c"
static int	worker_pair(int [2]);
#define socketpair(domain, type, protocol, sv)	worker_pair(sv)
#include "call.c"
#include "call_worker.c"
#include "call_own.c"
#undef socketpair
#include "changed.c"
#include "tty.c"
#undef socket
#undef connect
#undef exit
#undef kill

struct guest		 g;

static jmp_buf		 left;
static int		 peer = -1;
static int		 connections;
static uint8_t		 heard[1 << 20];	/* of the guest, on this one */
static size_t		 nheard;
static pid_t		 lastpid;
static int		 works[CALLS_MAX_BOX];	/* the workers' ends */
static int		 nworks;
static int		 ends[GP_MAX_EXECS + 1][3];	/* the commands' */

static void
leave(void)
{
	longjmp(left, 1);
}

static int
next_socket(void)
{
	int	 sv[2];

	if (peer != -1)
		close(peer);
	peer = -1;
	nheard = 0;
	if (++connections > CONNECTIONS) {
		errno = EMFILE;
		return (-1);
	}
	need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
	    0, sv) == 0);
	peer = sv[1];
	return (sv[0]);
}

uint64_t
now_ns(void)
{
	return (g.now);
}

int
watch_fd(int fd, enum source src, uint32_t slot, uint32_t edge)
{
	need(fd >= 0);
	return (0);
}

int
watch_again(int fd, enum source src, uint32_t slot)
{
	return (watch_fd(fd, src, slot, 1));
}

void
watch_more(int fd, enum source src, uint32_t slot, int more)
{
	need(fd >= 0);
}

/* A worker is who plays its part: its end is kept here. */
static int
worker_pair(int sv[2])
{
	if (nworks == CALLS_MAX_BOX) {
		errno = EMFILE;
		return (-1);
	}
	need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) == 0);
	need((works[nworks++] = dup(sv[1])) != -1);
	return (0);
}

pid_t
fork_expendable(void)
{
	return (++lastpid);
}

void
close_from(int fd)
{
	need(0);
}

void
confine_undo(void)
{
	need(0);
}

void
worker_main(void)
{
	abort();
}

/* The head of output that lies in a pipe, as far as it does. */
static void
worker_pours(struct fuzz *in, struct call *c, int work,
    const struct gp_output *m)
{
	uint8_t	 buf[GP_OUTPUT_HEAD];
	uint8_t	 less;
	int	 p[2], short_by = fuzz_u8(in) & 1;
	ssize_t	 n;

	n = gp_encode_output_head(buf, sizeof(buf), c->k != 0 ? c->k :
	    GP_CALL_BIT | 1, m);
	need(n == GP_OUTPUT_HEAD);
	if (c->pipe != -1) {
		(void)send(work, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		return;
	}
	need(pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0);
	need(write(p[1], m->data, m->len) == (ssize_t)m->len);
	if (short_by)
		need(read(p[0], &less, 1) == 1);
	(void)packet_put(work, buf, n, p[0], MSG_DONTWAIT);
	close(p[0]);
	close(p[1]);
}

/* One of them says something, true or not, or ends. */
static void
worker_says(struct fuzz *in)
{
	static uint8_t		 buf[GP_MAX_FROM_GUEST], waste[1 << 17];
	struct gp_call_end	 e;
	struct gp_output	 m;
	struct call		*c = &calls[fuzz_u8(in) % WORKERS];
	int			 i, pours, what = fuzz_u8(in);
	ssize_t			 n = -1;

	pours = what & 4;
	what &= 3;
	if (c->pid == 0 || nworks == 0)
		return;
	i = c - calls < nworks ? c - calls : nworks - 1;
	(void)!recv(works[i], waste, sizeof(waste), MSG_DONTWAIT);
	memset(&e, 0, sizeof(e));
	m.stream = GP_STDOUT;
	m.off = c->sent;
	m.data = waste;
	m.len = fuzz_u8(in) * 257 + 1;
	e.code = fuzz_u8(in);
	e.out = c->sent;
	e.text = "";
	if (what == 0 && pours)
		worker_pours(in, c, works[i], &m);
	else if (what == 0)
		n = gp_encode_output(buf, sizeof(buf), c->k != 0 ? c->k :
		    GP_CALL_BIT | 1, &m);
	else if (what == 1)
		n = gp_encode_call_end(buf, sizeof(buf), c->k != 0 ? c->k :
		    GP_CALL_BIT | 1, &e);
	else if (what == 2)
		(void)send(works[i], in->p, in->len, MSG_DONTWAIT |
		    MSG_NOSIGNAL);
	else
		(void)call_child(c->pid, 0);
	/* The mark that was asked for, or one that was not. */
	if (n > 0 && what == 1 && e.code == CODE_OK)
		(void)packet_put(works[i], buf, n, works[i], MSG_DONTWAIT);
	else if (n > 0)
		(void)send(works[i], buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	call_event(c - calls, EPOLLIN | EPOLLOUT);
}

static void
workers_end(void)
{
	int	 i;

	for (i = 0; i < WORKERS; i++)
		if (calls[i].pid != 0)
			call_leave(&calls[i]);
	pour_down();
	memset(calls, 0, sizeof(calls));
	memset(table, 0, sizeof(table));
	nleaving = novers = 0;
	while (nworks > 0)
		close(works[--nworks]);
}

void
limits_read(struct gp_hello *h)
{
	h->memory = h->swap = h->pids = h->mcpus = GP_UNKNOWN;
}

/* As the kernel counts them: some, and it can be the end of any command. */
uint64_t
limits_oom(void)
{
	static uint64_t	 n;

	return (n++ / 2);
}

int
tree_signal(const struct exec *e, int signo, int pass, struct seen *now)
{
	need(signo >= 1 && signo <= SIGNALS);
	if (now != NULL) {
		memset(now, 0, sizeof(*now));
		now->found = !e->gone;
	}
	return (0);
}

int
tree_signal_one(pid_t pid, pid_t parent, int signo)
{
	need(signo >= 1 && signo <= SIGNALS);
	return (0);
}

int
tree_count(const struct exec *e)
{
	return (1);
}

static void
end(struct exec *e, int i)
{
	int	*fd = &ends[exec_slot(e)][i];

	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

static void
ends_close(struct exec *e)
{
	int	 i;

	for (i = 0; i < 3; i++)
		end(e, i);
}

/* Pipes, and memory that is shared with nobody. */
int
reaper_spawn(struct exec *e, int fresh)
{
	int	 fd[2], i;

	ends_close(e);
	for (i = 0; i < 2; i++) {
		need(pipe2(fd, O_CLOEXEC | O_NONBLOCK) == 0);
		e->out[i].fd = fd[0];
		ends[exec_slot(e)][i + 1] = fd[1];
	}
	e->sh = mmap(NULL, sizeof(*e->sh), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	need(e->sh != MAP_FAILED);
	e->reaper = ++lastpid;
	return (0);
}

void
reaper_close(struct exec *e)
{
	if (e->sh != NULL)
		need(munmap(e->sh, sizeof(*e->sh)) == 0);
	e->sh = NULL;
}

void
reaper_recycle(struct exec *e)
{
	e->reaper = -1;
	reaper_close(e);
}

int
reaper_is_idle(pid_t pid)
{
	return (0);
}

void
reaper_idle_ended(pid_t pid)
{
}

uint64_t
reaper_timer(void)
{
	return (0);
}

static int
reaper_input(struct exec *e)
{
	int	 fd[2];

	if ((e->flags & GP_START_INPUT) == 0) {
		input_close(e);
		return (0);
	}
	need(pipe2(fd, O_CLOEXEC | O_NONBLOCK) == 0);
	e->in.fd = fd[1];
	ends[exec_slot(e)][0] = fd[0];
	return (0);
}

int
reaper_go(struct exec *e)
{
	return (changed_marking(e) ? 0 : reaper_input(e));
}

int
reaper_give(struct exec *e, const struct gp_start *m)
{
	struct shared	*sh = e->sh;
	size_t		 ndir = strlen(m->dir) + 1;

	need(m->argslen + m->envlen + ndir <= sizeof(sh->data));
	sh->flags = m->flags;
	memcpy(sh->data, m->args, m->argslen);
	memcpy(sh->data + m->argslen, m->env, m->envlen);
	memcpy(sh->data + m->argslen + m->envlen, m->dir, ndir);
	return (reaper_go(e));
}

int
reaper_give_again(struct exec *e, const struct shared *old)
{
	e->sh->flags = old->flags;
	return (reaper_go(e));
}

uint32_t
reaper_cause(const struct shared *sh)
{
	return (GP_NS_NOENT);
}

/* What a runner would say of such a frame. */
static void
judge(const struct gp_frame *f)
{
	union {
		struct gp_hello		 hello;
		struct gp_state		 state;
		struct gp_states_end	 states_end;
		struct gp_started	 started;
		struct gp_not_started	 not_started;
		struct gp_output	 output;
		struct gp_input_ack	 input_ack;
		struct gp_exit		 exit;
		struct gp_background	 background;
		struct gp_ping		 ping;
		struct gp_call_end	 call_end;
		struct gp_output_end	 output_end;
		struct gp_changed	 changed;
	} u;

	switch (f->type) {
	case GP_HELLO:
		need(gp_decode_hello(&u.hello, f) == 0);
		break;
	case GP_STATE:
		need(gp_decode_state(&u.state, f) == 0);
		break;
	case GP_STATES_END:
		need(gp_decode_states_end(&u.states_end, f) == 0);
		break;
	case GP_STARTED:
		need(gp_decode_started(&u.started, f) == 0);
		break;
	case GP_NOT_STARTED:
		need(gp_decode_not_started(&u.not_started, f) == 0);
		break;
	case GP_OUTPUT:
		need(gp_decode_output(&u.output, f) == 0);
		break;
	case GP_INPUT_ACK:
		need(gp_decode_input_ack(&u.input_ack, f) == 0);
		break;
	case GP_EXIT:
		need(gp_decode_exit(&u.exit, f) == 0);
		break;
	case GP_BACKGROUND:
		need(gp_decode_background(&u.background, f) == 0);
		break;
	case GP_PONG:
		need(gp_decode_pong(&u.ping, f) == 0);
		break;
	case GP_CALL_END:
		need(gp_decode_call_end(&u.call_end, f) == 0);
		break;
	case GP_OUTPUT_END:
		need(gp_decode_output_end(&u.output_end, f) == 0);
		break;
	case GP_CHANGED:
		need(gp_decode_changed(&u.changed, f) == 0);
		break;
	case GP_BYE:
		need(gp_decode_bye(f) == 0);
		break;
	default:
		need(0);
	}
}

/* All that the guest has to say, until it is silent. */
static void
listen_to(void)
{
	struct gp_frame	 f;
	size_t		 off;
	ssize_t		 len;
	int		 n;

	for (;;) {
		link_flush();
		if (peer == -1)
			return;
		len = recv(peer, heard + nheard, sizeof(heard) - nheard,
		    MSG_DONTWAIT);
		if (len <= 0)
			return;
		nheard += len;
		for (off = 0; (n = gp_get(&f, heard + off, nheard - off,
		    GP_GUEST)) == 1; off += f.total)
			judge(&f);
		need(n == 0);
		memmove(heard, heard + off, nheard - off);
		nheard -= off;
	}
}

static void
check(void)
{
	const struct output	*o;
	struct exec		*e;
	uint32_t		 n = 0;
	int			 i;

	TAILQ_FOREACH(e, &g.execs, entry) {
		n++;
		need(e->k != 0 && e->k <= g.last);
		for (i = 0; i < 2; i++) {
			o = &e->out[i];
			need(o->base <= o->sent && o->sent <= o->end);
			need(o->end - o->base <= GP_WINDOW);
		}
		need(e->in.base <= e->in.end && e->in.end <= e->in.total);
		need(e->in.end - e->in.base <= GP_WINDOW);
	}
	need(n == g.nexecs && n <= GP_MAX_EXECS);
}

static struct exec *
nth(uint8_t n)
{
	struct exec	*e;

	TAILQ_FOREACH(e, &g.execs, entry)
		if (n-- == 0)
			break;
	return (e);
}

static void
command_writes(struct fuzz *in)
{
	static uint8_t	 zeros[65536];
	struct exec	*e = nth(fuzz_u8(in));
	int		 i = fuzz_u8(in) & 1;

	if (e == NULL || ends[exec_slot(e)][i + 1] == -1)
		return;
	(void)!write(ends[exec_slot(e)][i + 1], zeros, fuzz_u8(in) * 257 + 1);
	exec_stream(e, i);
}

static void
command_goes_on(struct fuzz *in)
{
	static const int	 stages[] = { SH_FAILED, SH_RUNNING, SH_DYING,
	    SH_ENDED, SH_EMPTY };
	struct exec		*e = nth(fuzz_u8(in));
	int			 stage = stages[fuzz_u8(in) % 5];

	if (e == NULL || e->sh == NULL || e->sh->stage >= stage)
		return;
	if (e->sh->stage == SH_FAILED || changed_marking(e))
		return;
	e->sh->stage = stage;
	if (stage == SH_FAILED)
		e->sh->error = ENOENT;
	else
		e->sh->pid = 1000;
	if (stage >= SH_DYING && e->sh->status == 0)
		e->sh->status = fuzz_u8(in) & 1 ? SIGKILL : fuzz_u8(in) << 8;
	if (stage == SH_EMPTY || stage == SH_FAILED)
		ends_close(e);
	exec_poll(e);
}

static void
reaper_dies(struct fuzz *in)
{
	struct exec	*e = nth(fuzz_u8(in));

	if (e != NULL && e->reaper > 0)
		exec_child(e->reaper, fuzz_u8(in) & 1 ? SIGKILL : 0);
}

static void
play(struct fuzz *in)
{
	struct fuzz	 data;
	int		 what;

	while (fuzz_step(in, &what, &data)) {
		switch (what & 7) {
		case 0:
		case 1:
			if (peer != -1)
				(void)send(peer, data.p, data.len,
				    MSG_DONTWAIT | MSG_NOSIGNAL);
			link_event(EPOLLIN);
			break;
		case 2:
			command_writes(&data);
			break;
		case 3:
			command_goes_on(&data);
			break;
		case 4:
			reaper_dies(&data);
			break;
		case 5:
			if (peer != -1)
				shutdown(peer, SHUT_WR);
			link_event(EPOLLIN | EPOLLHUP);
			break;
		case 6:
			worker_says(&data);
			break;
		default:
			g.now += fuzz_u8(&data) * NSEC + 1;
			break;
		}
		check();
		(void)kill_timers();
		(void)link_timer();
		(void)call_timer();
		(void)changed_timer();
		listen_to();
		exec_spare();
		if (g.again)
			exec_again();
		check();
	}
}

static void
end_all(void)
{
	struct exec	*e;

	while ((e = TAILQ_FIRST(&g.execs)) != NULL) {
		ends_close(e);
		exec_free(e);
	}
	if (g.spare != NULL) {
		ends_close(g.spare);
		exec_free(g.spare);
	}
	for (e = slots; e <= &slots[GP_MAX_EXECS]; e++)
		ends_close(e);
	workers_end();
	if (ln.fd != -1)
		close(ln.fd);
	if (peer != -1)
		close(peer);
	peer = -1;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t	*rbuf, *sbuf;
	struct fuzz	 in = { data, len };

	if (rbuf == NULL) {
		rbuf = buffer(RBUF);
		sbuf = buffer(SBUF);
		memset(ends, -1, sizeof(ends));
		/* It blocks them all. */
		(void)signal(SIGPIPE, SIG_IGN);
	}
	memset(&ln, 0, sizeof(ln));
	ln.fd = ln.ino = -1;
	ln.rbuf = rbuf;
	ln.sbuf = sbuf;
	ln.retry = RETRY_MIN;
	memset(&g, 0, sizeof(g));
	TAILQ_INIT(&g.execs);
	TAILQ_INIT(&g.dirty);
	g.dir = "/run";
	g.boot = 1;
	g.now = NSEC;
	connections = 0;
	nheard = 0;
	spare_failed = 0;
	if (setjmp(left) == 0) {
		link_try();
		play(&in);
	}
	end_all();
	fuzz_fds();
	return (0);
}
