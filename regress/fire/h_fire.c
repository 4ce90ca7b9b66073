/*
 * h_fire socket uid attack count limit
 *
 * A client of uid attacks the daemon; meanwhile, and for count pings after
 * the attack is in place, this one pings it on one connection.  Prints what
 * the attacker has met, and the times of the pings:
 *
 *	attack: 128 served, 872 refused; 512 pings, p50 90 us, p99 410 us
 *
 * The exit status is 0 if the 99th of a hundred pings took at most limit us.
 * It is known as soon as too many have taken longer, and who is served in a
 * small part of that is not waited for either: no attack makes this one wait.
 */

#include <sys/types.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "imsg.h"
#include "passfd.h"
#include "proto.h"

#define WAIT_MS		300000
#define PING_MS		30000		/* for one of a ping */
#define ALL_MS		120000		/* for all pings of an attack */
#define PINGS_MAX	200000

struct cl {
	struct imsgbuf	 ibuf;
	int		 fd;
};

static const char	*path;
static uint32_t		 req;
static int		 says = -1;	/* of the attacker */
static int		 wait_ms = WAIT_MS;

static uint64_t
now_us(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((uint64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
}

static void
cl_open(struct cl *c)
{
	struct sockaddr_un	 sun;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	if ((c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		err(1, "socket");
	if (connect(c->fd, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		err(1, "connect");
	imsgbuf_init(&c->ibuf, c->fd);
	imsgbuf_set_maxsize(&c->ibuf, 2 * PROTO_MAX_PAYLOAD);
}

static void
cl_close(struct cl *c)
{
	imsgbuf_clear(&c->ibuf);
	close(c->fd);
}

/* Whether it could be sent: one who is thrown out finds that out so. */
static int
cl_send(struct cl *c, uint32_t type, uint32_t id, const void *msg)
{
	msgpack_sbuffer	 sb;
	int		 ret;

	msgpack_sbuffer_init(&sb);
	if (msg_encode_map(&sb, proto_def(type), msg) == -1 ||
	    imsg_compose(&c->ibuf, type, id, 0, -1, sb.data, sb.size) == -1)
		errx(1, "cannot encode");
	ret = imsgbuf_flush(&c->ibuf);
	msgpack_sbuffer_destroy(&sb);
	return (ret);
}

/* The next answer's type and number; 0 at the end of the connection. */
static uint32_t
cl_next(struct cl *c, uint32_t *id)
{
	struct pollfd	 pfd = { c->fd, POLLIN, 0 };
	struct imsg	 imsg;
	uint32_t	 type;
	int		 n;

	while ((n = imsgbuf_get(&c->ibuf, &imsg)) == 0) {
		if (poll(&pfd, 1, wait_ms) != 1)
			errx(1, "no answer in %d ms", wait_ms);
		if (imsgbuf_read(&c->ibuf) != 1)
			return (0);
	}
	if (n == -1)
		errx(1, "bad message from the daemon");
	type = imsg_get_type(&imsg);
	*id = imsg_get_id(&imsg);
	imsg_free(&imsg);
	return (type);
}

/* Answers to one request, until its END or ERROR; which, or 0. */
static uint32_t
cl_until(struct cl *c, uint32_t want)
{
	uint32_t	 type, id;

	do {
		if ((type = cl_next(c, &id)) == 0)
			return (0);
		if (id == 0)
			return (type);
	} while (id != want || (type != PROTO_END && type != PROTO_ERROR));
	return (type);
}

static int
cl_hello(struct cl *c)
{
	struct proto_hello	 hello;

	memset(&hello, 0, sizeof(hello));
	hello.version = PROTO_VERSION;
	snprintf(hello.client, sizeof(hello.client), "fire");
	return (cl_send(c, PROTO_HELLO, 1, &hello));
}

static void
cl_greet(struct cl *c)
{
	cl_open(c);
	if (cl_hello(c) == -1 || cl_until(c, 1) != PROTO_END)
		errx(1, "not greeted");
}

/* The attack is in place. */
static void
met(const char *one, unsigned int n, const char *other, unsigned int m)
{
	dprintf(says, "%u %s, %u %s", n, one, m, other);
	close(says);
	says = -1;
}

static void
hold(void)
{
	for (;;)
		pause();
}

static void
attack_none(void)
{
	met("attacks", 0, "refused", 0);
	hold();
}

static void
fill_random(uint8_t *p, size_t len)
{
	size_t	 i;

	for (i = 0; i < len; i++)
		p[i] = random() >> 8;
}

/* Random bytes, one connection after the other. */
static void
attack_random(void)
{
	uint8_t		 junk[4096];
	struct cl	 c;
	unsigned int	 i;
	char		 byte;

	for (i = 0;; i++) {
		cl_open(&c);
		fill_random(junk, sizeof(junk));
		junk[7] = 0x7f;		/* no small length */
		(void)send(c.fd, junk, 1 + random() % sizeof(junk),
		    MSG_NOSIGNAL);
		shutdown(c.fd, SHUT_WR);
		while (recv(c.fd, &byte, 1, 0) > 0)
			;
		cl_close(&c);
		if (i == 100)
			met("connections", i, "served", 0);
	}
}

/* Well formed, of every type, with fields at random. */
static void
attack_nonsense(void)
{
	uint8_t		 body[64];
	struct cl	 c;
	uint32_t	 type, id;
	unsigned int	 i;

	cl_greet(&c);
	for (i = 0;; i++) {
		type = PROTO_PING + random() % (PROTO_LOG_VERIFY - PROTO_PING);
		/* Not one that would be another number's. */
		if (type == PROTO_CREDIT)
			type = PROTO_SHOW;
		fill_random(body, sizeof(body));
		/* A map of one pair whose key is a word. */
		body[0] = 0x81;
		body[1] = 0xa2;
		body[2] = 'i';
		body[3] = 'd';
		if (imsg_compose(&c.ibuf, type, ++req, 0, -1, body,
		    4 + random() % 60) == -1 || imsgbuf_flush(&c.ibuf) == -1 ||
		    cl_next(&c, &id) == 0) {
			cl_close(&c);
			cl_greet(&c);
		}
		if (i == 500)
			met("requests", i, "closed", 0);
	}
}

/* A thousand connections. */
static void
attack_many(void)
{
	struct cl	 c[1000];
	unsigned int	 i, served = 0, refused = 0;
	uint32_t	 type, id;

	for (i = 0; i < 1000; i++)
		cl_open(&c[i]);
	for (i = 0; i < 1000; i++)
		(void)cl_hello(&c[i]);
	for (i = 0; i < 1000; i++) {
		type = cl_next(&c[i], &id);
		served += type == PROTO_HELLO_OK;
		refused += type == PROTO_ERROR && id == 0;
	}
	met("served", served, "refused", refused);
	hold();
}

/* Half a header on each of a hundred. */
static void
attack_half(void)
{
	struct imsg_hdr	 h;
	struct cl	 c[100];
	unsigned int	 i;

	memset(&h, 0, sizeof(h));
	h.type = PROTO_HELLO;
	h.len = IMSG_HEADER_SIZE + 100;
	h.peerid = 1;
	for (i = 0; i < 100; i++) {
		cl_open(&c[i]);
		if (send(c[i].fd, &h, i % sizeof(h), MSG_NOSIGNAL) == -1)
			err(1, "send");
	}
	met("silent", i, "served", 0);
	hold();
}

/* Ten thousand subscriptions, on a hundred connections. */
static void
attack_subscriptions(void)
{
	struct proto_events	 ev;
	struct cl		 c[100];
	char			 all[1] = "";
	unsigned int		 i, j, refused = 0;
	uint32_t		 type, id;

	memset(&ev, 0, sizeof(ev));
	ev.sandbox = all;
	ev.follow = 1;
	ev.credit = 1;
	for (i = 0; i < 100; i++) {
		cl_greet(&c[i]);
		for (j = 0; j < 100; j++)
			if (cl_send(&c[i], PROTO_EVENTS, 2 + j, &ev) == -1)
				err(1, "send");
		if (cl_send(&c[i], PROTO_PING, 1, NULL) == -1)
			err(1, "send");
		while ((type = cl_next(&c[i], &id)) != PROTO_END) {
			if (type == 0)
				errx(1, "thrown out");
			refused += type == PROTO_ERROR;
		}
	}
	met("subscribed", 10000 - refused, "refused", refused);
	hold();
}

/* Requests without end, and never an answer taken. */
static void
attack_deaf(void)
{
	struct cl	 c[50];
	struct pollfd	 pfd[50];
	struct imsgbuf	*b;
	unsigned int	 i, open = 50;

	for (i = 0; i < 50; i++) {
		cl_greet(&c[i]);
		pfd[i].fd = c[i].fd;
		pfd[i].events = POLLOUT;
	}
	/* Until each of them is not read any more. */
	while (poll(pfd, 50, 1000) > 0) {
		for (i = 0; i < 50; i++) {
			if (pfd[i].revents & (POLLERR | POLLHUP)) {
				pfd[i].fd = -1;
				open--;
				continue;
			}
			if (!(pfd[i].revents & POLLOUT))
				continue;
			b = &c[i].ibuf;
			if (imsg_compose(b, PROTO_STATUS, ++req, 0, -1, NULL,
			    0) == -1)
				err(1, "compose");
			(void)imsgbuf_write(b);
		}
	}
	met("deaf", open, "thrown out", 50 - open);
	hold();
}

/* Until it is not read any more; what waits is more than a socket holds. */
static void
ask(struct cl *c, int ms)
{
	struct pollfd	 pfd = { c->fd, POLLOUT, 0 };

	while (poll(&pfd, 1, ms) > 0 && !(pfd.revents & POLLHUP)) {
		if (imsg_compose(&c->ibuf, PROTO_STATUS, ++req, 0, -1, NULL,
		    0) == -1)
			err(1, "compose");
		(void)imsgbuf_write(&c->ibuf);
	}
}

static int
hung_up(const struct cl *c, int ms)
{
	struct pollfd	 pfd = { c->fd, 0, 0 };

	return (poll(&pfd, 1, ms) == 1);
}

/*
 * Four take nothing and are waited for until they are thrown out.  One takes
 * ten bytes in a millisecond: its socket cannot be written to again within
 * the time that they had.
 */
static void
attack_sleep(void)
{
	struct cl	 c[5];
	uint64_t	 begin, until = 0;
	ssize_t		 n, taken = 0;
	unsigned int	 i, open = 4;
	char		 buf[2048];

	for (i = 0; i < 5; i++)
		cl_greet(&c[i]);
	for (i = 1; i < 5; i++)
		ask(&c[i], 100);
	ask(&c[0], 100);
	begin = now_us();
	while (until == 0 || now_us() < until) {
		n = (ssize_t)((now_us() - begin) / 100) - taken;
		if (n > (ssize_t)sizeof(buf))
			n = sizeof(buf);
		if (hung_up(&c[0], 20))
			errx(1, "who takes a little was thrown out");
		if ((n = recv(c[0].fd, buf, n, MSG_DONTWAIT)) > 0)
			taken += n;
		for (i = 1; i < 5; i++) {
			if (c[i].fd != -1 && hung_up(&c[i], 0)) {
				cl_close(&c[i]);
				c[i].fd = -1;
				open--;
			}
		}
		/* A slow machine may have been late, and not choked yet. */
		for (i = 0; i < 5; i++)
			if (c[i].fd != -1)
				ask(&c[i], 0);
		if (open == 0 && until == 0)
			until = now_us() + 3000000;
	}
	met("thrown out", 4 - open, "kept", 1 + open);
	hold();
}

/* A PING in each place there is, and the next as soon as it is free. */
static void
attack_flood(void)
{
	struct cl	 c[10];
	uint32_t	 id;
	unsigned int	 i, n;

	for (i = 0; i < 10; i++)
		cl_greet(&c[i]);
	for (n = 0;; n++) {
		for (i = 0; i < 10; i++)
			if (cl_send(&c[i], PROTO_PING, ++req, NULL) == -1)
				errx(1, "thrown out");
		if (n < 20)
			continue;
		for (i = 0; i < 10; i++)
			if (cl_next(&c[i], &id) == 0)
				errx(1, "thrown out");
		if (n == 100)
			met("connections", 10, "thrown out", 0);
	}
}

/* Connections that go as soon as they are there. */
static void
attack_churn(void)
{
	struct cl	 c;
	unsigned int	 i;

	for (i = 0;; i++) {
		cl_open(&c);
		if (i % 2)
			(void)cl_hello(&c);
		cl_close(&c);
		if (i == 300)
			met("connections", i, "served", 0);
	}
}

/* Commands that are attached, and whose pipes nobody touches. */
static void
attack_exec(void)
{
	static char		 box[] = "box", dir[] = "";
	struct proto_exec	 x;
	struct imsg_hdr		 h;
	struct cl		 c[20];
	uint32_t		 type, id;
	unsigned int		 i, streams = 0;

	memset(&x, 0, sizeof(x));
	x.sandbox = box;
	x.dir = dir;
	for (i = 0; i < 20; i++) {
		cl_greet(&c[i]);
		strv_clear(&x.argv);
		if (strv_add(&x.argv, i % 2 ? "yes" : "cat") == -1)
			err(1, NULL);
		x.flags = EXEC_ATTACH | (i % 2 ? 0 : EXEC_INPUT);
		if (cl_send(&c[i], PROTO_EXEC, 2, &x) == -1)
			errx(1, "thrown out");
		do {
			if ((type = cl_next(&c[i], &id)) == 0 ||
			    type == PROTO_ERROR)
				errx(1, "exec %u was refused", i);
		} while (type != PROTO_STREAM);
		streams++;
		/* And half of another one behind it. */
		memset(&h, 0, sizeof(h));
		h.type = PROTO_EXEC;
		h.len = IMSG_HEADER_SIZE + 1000;
		h.peerid = 3;
		(void)send(c[i].fd, &h, sizeof(h), MSG_NOSIGNAL);
	}
	met("commands", streams, "refused", 0);
	hold();
}

/* Descriptors beside messages, more than one may have on its way. */
static void
attack_attach(void)
{
	struct imsg_hdr	 h;
	struct cl	 c;
	unsigned int	 i, sent = 0, refused = 0;
	uint32_t	 id;

	cl_greet(&c);
	memset(&h, 0, sizeof(h));
	h.type = PROTO_PING;
	h.len = IMSG_HEADER_SIZE;
	for (i = 0; i < 500; i++) {
		h.peerid = ++req;
		if (passfd_send(c.fd, &h, sizeof(h), 0, 250, 0) == -1) {
			if (errno != EPERM)
				err(1, "sendmsg");
			refused++;
		} else {
			sent++;
			if (cl_next(&c, &id) != PROTO_END)
				errx(1, "no answer");
		}
	}
	/* Of the two kinds of kernels. */
	met("messages", sent + refused, "both", sent > 0 && refused > 0);
	hold();
}

/* Of the other half of the clients: its end of a pipe, or -1. */
static int	 second = -1;
static int	 first = -1;

/* Half of the longest message, by 128 clients of each of two users. */
static void
attack_halves(void)
{
	static char	 half[PROTO_MAX_PAYLOAD / 2];
	struct imsg_hdr	 h;
	struct cl	 c[128];
	unsigned int	 i;
	char		 byte = 0;

	memset(&h, 0, sizeof(h));
	h.type = PROTO_SHOW;
	h.len = IMSG_HEADER_SIZE + PROTO_MAX_PAYLOAD;
	h.peerid = 2;
	for (i = 0; i < 128; i++) {
		cl_greet(&c[i]);
		if (send(c[i].fd, &h, sizeof(h), MSG_NOSIGNAL) !=
		    (ssize_t)sizeof(h) || send(c[i].fd, half, sizeof(half),
		    MSG_NOSIGNAL) != (ssize_t)sizeof(half))
			err(1, "send");
	}
	if (second != -1) {
		if (write(second, &byte, 1) != 1)
			err(1, "write");
	} else {
		if (read(first, &byte, 1) != 1)
			errx(1, "the other half has ended");
		met("halves", 2 * i, "refused", 0);
	}
	hold();
}

/* Clients with answers under way, which are stopped. */
static void
attack_stopped(void)
{
	struct proto_events	 ev;
	struct cl		 c;
	char			 all[1] = "";
	unsigned int		 i, j, stopped = 0;
	pid_t			 pid;
	int			 status;

	memset(&ev, 0, sizeof(ev));
	ev.sandbox = all;
	ev.follow = 1;
	for (i = 0; i < 50; i++) {
		if ((pid = fork()) == -1)
			err(1, "fork");
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			cl_greet(&c);
			if (cl_send(&c, PROTO_EVENTS, 2, &ev) == -1)
				err(1, "send");
			for (j = 0; j < 4; j++)
				if (cl_send(&c, PROTO_STATUS, 3 + j, NULL) ==
				    -1)
					err(1, "send");
			raise(SIGSTOP);
			hold();
		}
		if (waitpid(pid, &status, WUNTRACED) == pid &&
		    WIFSTOPPED(status))
			stopped++;
	}
	met("stopped", stopped, "ended", i - stopped);
	hold();
}

static const struct {
	const char	*name;
	void		(*run)(void);
} attacks[] = {
	{ "none", attack_none },
	{ "random", attack_random },
	{ "nonsense", attack_nonsense },
	{ "many", attack_many },
	{ "half", attack_half },
	{ "halves", attack_halves },
	{ "stopped", attack_stopped },
	{ "subscriptions", attack_subscriptions },
	{ "deaf", attack_deaf },
	{ "flood", attack_flood },
	{ "churn", attack_churn },
	{ "sleep", attack_sleep },
	{ "exec", attack_exec },
	{ "attach", attack_attach },
};

static void
attack(const char *name, uid_t uid)
{
	struct group	*gr;
	struct rlimit	 rl = { 4096, 4096 };
	size_t		 i;
	int		 p[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* More than one user may have. */
	if (strcmp(name, "halves") == 0) {
		if (pipe(p) == -1)
			err(1, "pipe");
		switch (fork()) {
		case -1:
			err(1, "fork");
		case 0:
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(says);
			second = p[1];
			uid++;
			break;
		default:
			first = p[0];
			close(p[1]);
		}
	}
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		err(1, "setrlimit");
	if ((gr = getgrnam("sandbox")) == NULL)
		errx(1, "no group sandbox");
	if (setgroups(1, &gr->gr_gid) == -1 || setgid(uid) == -1 ||
	    setuid(uid) == -1)
		err(1, "uid %u", (unsigned int)uid);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (strcmp(attacks[i].name, name) == 0)
			attacks[i].run();
	errx(1, "no attack %s", name);
}

static int
cmp(const void *a, const void *b)
{
	uint64_t	 x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y ? -1 : x > y);
}

static uint64_t
ping(struct cl *c)
{
	uint64_t	 before = now_us();

	if (cl_send(c, PROTO_PING, ++req, NULL) == -1 ||
	    cl_until(c, req) != PROTO_END)
		errx(1, "the daemon has hung up");
	return (now_us() - before);
}

int
main(int argc, char *argv[])
{
	static uint64_t	 t[PINGS_MAX];
	struct pollfd	 pfd;
	struct cl	 c;
	char		 text[256] = "";
	uint64_t	 deadline, p99, limit, begin = 0;
	size_t		 n, after = 0, count, late = 0;
	pid_t		 pid;
	int		 p[2], placed = 0;

	if (argc != 6)
		errx(1, "usage: h_fire socket uid attack count limit");
	path = argv[1];
	count = strtoul(argv[4], NULL, 10);
	limit = strtoull(argv[5], NULL, 10);
	signal(SIGPIPE, SIG_IGN);
	cl_greet(&c);
	if (pipe(p) == -1 || (pid = fork()) == -1)
		err(1, NULL);
	if (pid == 0) {
		close(p[0]);
		says = p[1];
		cl_close(&c);
		attack(argv[3], strtoul(argv[2], NULL, 10));
	}
	close(p[1]);
	pfd.fd = p[0];
	pfd.events = POLLIN;
	wait_ms = PING_MS;
	deadline = now_us() + WAIT_MS * 1000ULL;
	for (n = 0; n < PINGS_MAX && after < count; n++) {
		t[n] = ping(&c);
		after += placed;
		late += placed && t[n] > limit;
		if (late > count / 100)
			errx(1, "%zu of %zu pings took more than %llu us",
			    late, after, (unsigned long long)limit);
		if (placed && now_us() - begin > ALL_MS * 1000ULL)
			errx(1, "only %zu of %zu pings in %d s", after, count,
			    ALL_MS / 1000);
		if (poll(&pfd, 1, 0) == 1 && !placed) {
			if (read(p[0], text, sizeof(text) - 1) <= 0)
				errx(1, "the attacker has ended");
			placed = 1;
			begin = now_us();
			pfd.fd = -1;
		}
		if (!placed && now_us() > deadline)
			errx(1, "the attack is not in place");
		(void)poll(NULL, 0, 1);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	qsort(t, n, sizeof(t[0]), cmp);
	p99 = t[n * 99 / 100];
	printf("%s: %s; %zu pings, p50 %llu us, p99 %llu us\n", argv[3], text,
	    n, (unsigned long long)t[n / 2], (unsigned long long)p99);
	cl_close(&c);
	return (p99 > limit);
}
