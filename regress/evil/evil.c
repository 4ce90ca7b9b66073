/* See evil.h. */

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evil.h"
#include "log.h"
#include "spoil.h"

#define PEERS_MAX	4
#define QUEUE_MUCH	(256 * 1024)	/* is sent before there is more */

void			(*evil_heard)(struct evil_peer *, struct frame *);
struct evil_session	 evil_sessions[64];
size_t			 evil_nsessions;
uint64_t		 evil_sent;

static struct evil_peer	 peers[PEERS_MAX];
static size_t		 npeers;
static int		 deaf;
static volatile sig_atomic_t	 told;

const char *
evil_arg(const char *key)
{
	static char	 value[256];
	const char	*s = getenv("SANDBOXD_EVIL_ARG");
	size_t		 len = strlen(key), n;

	for (; s != NULL && *s != '\0'; s += n + (s[n] == ',')) {
		n = strcspn(s, ",");
		if (strncmp(s, key, len) != 0 || s[len] != '=')
			continue;
		snprintf(value, sizeof(value), "%.*s", (int)(n - len - 1),
		    s + len + 1);
		return (value);
	}
	return ("");
}

uint64_t
evil_number(const char *key)
{
	return (strtoull(evil_arg(key), NULL, 10));
}

unsigned int
evil_set_number_now(void)
{
	const char	*s = getenv("SANDBOXD_SET");

	return (s == NULL ? 1 : (unsigned int)atoi(s));
}

struct evil_peer *
evil_peer(const char *name)
{
	size_t	 i;

	for (i = 0; i < npeers; i++)
		if (strcmp(peers[i].name, name) == 0)
			return (&peers[i]);
	fatalx("%s: no %s", __func__, name);
}

static void
heard_parent(struct evil_peer *p, struct frame *f)
{
	struct msg_client	 m;
	struct evil_session	*s;

	if (f->type == MSG_BEAT) {
		(void)chan_send(p->ch, MSG_BEAT, f->op, 0, 0, -1, "\x90", 1);
		return;
	}
	if (f->type == MSG_SHUTDOWN)
		_exit(0);
	if (f->type != MSG_CLIENT || evil_nsessions == 64 ||
	    msg_decode_array(&m, msg_def(MSG_CLIENT), f->data, f->len) == -1)
		return;
	s = &evil_sessions[evil_nsessions++];
	s->number = f->session;
	s->uid = m.uid;
	s->fd = f->fd;
	f->fd = -1;
}

static void
hear(struct evil_peer *p)
{
	struct frame	 f;

	if (chan_read(p->ch) != 1)
		p->gone = 1;
	while (chan_get(p->ch, &f) == 1) {
		if (strcmp(p->name, "parent") == 0)
			heard_parent(p, &f);
		if (evil_heard != NULL && f.type != MSG_BEAT)
			evil_heard(p, &f);
		chan_frame_free(&f);
	}
	/* Without the parent there is nobody to be evil for. */
	if (p->gone && strcmp(p->name, "parent") == 0)
		_exit(0);
}

static void
turn(int ms)
{
	struct pollfd	 pfd[PEERS_MAX];
	size_t		 i;

	for (i = 0; i < npeers; i++) {
		if (!peers[i].gone && chan_flush(peers[i].ch) == -1)
			peers[i].gone = 1;
		pfd[i].fd = peers[i].gone ? -1 : peers[i].ch->fd;
		pfd[i].events = POLLIN;
		/* The parent is always heard, or it would end this. */
		if (deaf && strcmp(peers[i].name, "parent") != 0)
			pfd[i].events = 0;
		if (!TAILQ_EMPTY(&peers[i].ch->out))
			pfd[i].events |= POLLOUT;
	}
	if (poll(pfd, npeers, ms) <= 0)
		return;
	for (i = 0; i < npeers; i++) {
		if (pfd[i].revents & POLLIN)
			hear(&peers[i]);
		else if (pfd[i].revents & (POLLHUP | POLLERR))
			peers[i].gone = 1;
	}
}

void
evil_listen(int ms)
{
	turn(ms);
}

void
evil_deaf(int is)
{
	deaf = is;
}

static void
pump(struct evil_peer *p)
{
	evil_sent++;
	if (p->gone || p->ch->queued <= QUEUE_MUCH)
		return;
	while (!p->gone && p->ch->queued > 0)
		turn(-1);
}

int
evil_fd(void)
{
	return (fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
}

void
evil_send(struct evil_peer *p, uint32_t type, uint64_t op, uint64_t session,
    uint32_t req, int fd, const msgpack_sbuffer *sb)
{
	/* A payload that is too long for a frame is no test of ours. */
	if (chan_send(p->ch, type, op, session, req, fd, sb->data,
	    sb->size) == 0)
		pump(p);
}

void
evil_plain(struct evil_peer *p, uint32_t type, uint64_t op, uint64_t session,
    uint32_t req)
{
	const struct msg_def	*def = msg_def(type);
	msgpack_sbuffer		 sb;

	if (def == NULL)
		fatalx("%s: %u", __func__, type);
	msgpack_sbuffer_init(&sb);
	(void)evil_message(&sb, def, EVIL_TAKEN, def->nfields, 0);
	evil_send(p, type, op, session, req, -1, &sb);
	msgpack_sbuffer_destroy(&sb);
}

void
evil_raw(struct evil_peer *p, const void *data, size_t len)
{
	const char	*s = data;
	ssize_t		 n;

	while (!p->gone && p->ch->queued > 0)
		turn(-1);
	while (len > 0 && !p->gone) {
		if ((n = send(p->ch->fd, s, len, MSG_NOSIGNAL |
		    MSG_DONTWAIT)) == -1) {
			if (errno != EAGAIN)
				p->gone = 1;
			turn(10);
			continue;
		}
		s += n;
		len -= (size_t)n;
	}
	evil_sent++;
}

/* The n-th of the names, or the last. */
static const char *
script_name(const char *list, unsigned int n)
{
	static char	 name[32];
	const char	*next;

	while (--n > 0 && (next = strchr(list, '+')) != NULL)
		list = next + 1;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(list, "+"), list);
	return (name);
}

static void
on_hup(int sig)
{
	(void)sig;
	told = 1;
}

/*
 * The first set is not to die before it runs, or the daemon would not stay:
 * whoever started it says when.  A store says so itself.
 */
static void
wait_for_word(void)
{
	const char	*role = getenv("SANDBOXD_ROLE");

	if (evil_set_number_now() > 1 || role == NULL ||
	    strcmp(role, "store") == 0)
		return;
	(void)signal(SIGHUP, on_hup);
	while (!told)
		turn(50);
}

static void
take_over(struct chan *ch)
{
	event_del(&ch->ev);
	event_del(&ch->wev);
	event_del(&ch->flush);
	ch->cb = NULL;
	ch->maxqueued = 0;
	peers[npeers].ch = ch;
	peers[npeers].name = ch->peer;
	npeers++;
}

void
evil(struct chan *ch, ...)
{
	const struct evil_script	*s;
	const char			*list = getenv("SANDBOXD_EVIL");
	const char			*name;
	va_list				 ap;
	size_t				 i;

	if (list == NULL)
		return;
	va_start(ap, ch);
	for (; ch != NULL; ch = va_arg(ap, struct chan *))
		take_over(ch);
	va_end(ap);
	name = script_name(list, evil_set_number_now());
	for (s = evil_scripts; s->play != NULL; s++) {
		for (i = 0; i < npeers; i++)
			if (strcmp(peers[i].name, s->role) == 0)
				break;
		/* It has a pipe to each other, and none to itself. */
		if (i == npeers && strcmp(s->name, name) == 0)
			break;
	}
	if (s->play == NULL)
		fatalx("no script %s", name);
	wait_for_word();
	log_info("evil begins: %s", name);
	s->play();
	for (i = 0; i < npeers; i++)
		while (!peers[i].gone && peers[i].ch->queued > 0)
			turn(-1);
	log_info("evil has played: %s: %llu messages", name,
	    (unsigned long long)evil_sent);
	for (;;)
		turn(-1);
}
