/*
 * h_client socket uid secret victim play
 *
 * A client of uid that means harm.  It has a sandbox "mine" with a command
 * "mine.1"; the user victim has "canary" with "canary.2" and a secret.  It
 * plays one of
 *
 *	fields		each request with each field wrong in each way, one by
 *			one, and a descriptor beside it: it must be refused,
 *			by the name of the field
 *	fast		the same, without waiting for any answer
 *	order		what may be said only once, later, earlier, or never
 *	others		requests for what belongs to the victim
 *	timing		the same, with a clock
 *	stranger	as one to whom no rule allows anything
 *
 * and ends well if each answer was as it should be, and told nothing of the
 * victim's.
 *
 * regress-srcs: cases.c evil_odd.c
 */

#include <sys/types.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "imsg.h"
#include "proto.h"
#include "spec.h"

#define WAIT_MS		300000
#define PAIRS		200	/* of requests that are timed */

struct outcome {
	int			 answers;	/* but END and ERROR */
	int			 end;
	int			 error;
	int			 closed;
	struct proto_error	 e;
};

static const char	*path;
static const char	*secret;
static const char	*victim;	/* the uid, as text */
static struct imsgbuf	 ibuf;
static int		 s = -1;
static int		 beside = -1;	/* goes with each message */
static uint32_t		 req;
static char		 told[CODE_LEN_MAX + 1];	/* why it is closed */
static int		 named;		/* the victim's, by the request */
static const struct evil_names mine = { "mine", "mine.1" };
static unsigned int	 nplayed, nrefused, ndone, nclosed;

static int	next(struct outcome *, uint32_t, uint32_t *);

/* One message, with what goes beside it; -1 if the daemon has hung up. */
static int
put(uint32_t type, uint32_t id, const void *data, size_t len)
{
	union {
		struct cmsghdr	 hdr;
		char		 buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct imsg_hdr	 h;
	struct pollfd	 pfd = { s, POLLIN | POLLOUT, 0 };
	struct msghdr	 mh;
	struct iovec	 iov;
	struct outcome	 o;
	char		*buf;
	uint32_t	 id2;
	size_t		 at = 0;
	ssize_t		 n = 0;

	memset(&h, 0, sizeof(h));
	h.type = type;
	h.len = sizeof(h) + len;
	h.peerid = id;
	if ((buf = malloc(h.len)) == NULL)
		err(1, NULL);
	memcpy(buf, &h, sizeof(h));
	if (len > 0)
		memcpy(buf + sizeof(h), data, len);
	while (at < h.len && n != -1) {
		memset(&mh, 0, sizeof(mh));
		iov.iov_base = buf + at;
		iov.iov_len = h.len - at;
		mh.msg_iov = &iov;
		mh.msg_iovlen = 1;
		if (beside != -1 && at == 0) {
			memset(&control, 0, sizeof(control));
			control.hdr.cmsg_level = SOL_SOCKET;
			control.hdr.cmsg_type = SCM_RIGHTS;
			control.hdr.cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(&control.hdr), &beside, sizeof(int));
			mh.msg_control = &control;
			mh.msg_controllen = sizeof(control.buf);
		}
		n = sendmsg(s, &mh, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == -1 && errno == EPERM && beside != -1) {
			/* The receiver's kernel lets none through. */
			mh.msg_control = NULL;
			mh.msg_controllen = 0;
			n = sendmsg(s, &mh, MSG_NOSIGNAL | MSG_DONTWAIT);
		}
		if (n == -1 && errno == EAGAIN) {
			if (poll(&pfd, 1, WAIT_MS) != 1)
				errx(1, "it takes nothing for %d ms", WAIT_MS);
			/* It may wait for us to take what it has answered. */
			if (pfd.revents & POLLIN)
				(void)next(&o, 0, &id2);
			n = 0;
		}
		if (n > 0)
			at += n;
	}
	free(buf);
	return (n == -1 ? -1 : 0);
}

static void
scan(const char *what, const void *data, size_t len)
{
	if (memmem(data, len, secret, strlen(secret)) != NULL)
		errx(1, "the secret is in %s", what);
	if (!named && memmem(data, len, "canary", 6) != NULL)
		errx(1, "the victim's sandbox is in %s", what);
}

/* What came with an answer is the end of a pipe, with nobody's secret. */
static void
scan_fd(int fd)
{
	static char	 buf[65536];
	struct stat	 st;
	ssize_t		 n;

	if (fstat(fd, &st) == -1 || !S_ISFIFO(st.st_mode))
		errx(1, "a descriptor that is no pipe");
	if (fcntl(fd, F_SETFL, O_NONBLOCK) == -1)
		err(1, "fcntl");
	if ((n = read(fd, buf, sizeof(buf))) > 0)
		scan("a pipe", buf, n);
	close(fd);
}

/*
 * The next answer, noted if it is for the request `want'; 0 if there is no
 * more.  Each must be whole, and by its table.
 */
static int
next(struct outcome *o, uint32_t want, uint32_t *id)
{
	union {
		uint64_t		 align;
		struct proto_error	 e;
		char			 room[8192];
	} u;
	const struct msg_def	*def;
	struct pollfd		 pfd = { s, POLLIN, 0 };
	struct imsg		 imsg;
	const char		*field, *why;
	uint32_t		 type;
	int			 n, fd;

	while ((n = imsgbuf_get(&ibuf, &imsg)) == 0) {
		if (poll(&pfd, 1, WAIT_MS) != 1)
			errx(1, "no answer in %d ms", WAIT_MS);
		if (imsgbuf_read(&ibuf) != 1)
			return (0);
	}
	if (n == -1)
		errx(1, "an answer that is no message");
	type = imsg_get_type(&imsg);
	*id = imsg_get_id(&imsg);
	if ((fd = imsg_get_fd(&imsg)) != -1)
		scan_fd(fd);
	if (type < PROTO_HELLO_OK || (def = proto_def(type)) == NULL ||
	    def->size > sizeof(u))
		errx(1, "an answer of type %u", type);
	if (imsg_get_len(&imsg) > 0) {
		scan(def->name, ibuf_data(imsg.buf), imsg_get_len(&imsg));
		if (msg_decode_map(&u, def, ibuf_data(imsg.buf),
		    imsg_get_len(&imsg), &field, &why) == -1)
			errx(1, "%s: %s: %s", def->name, field, why);
		if (type == PROTO_ERROR && (code_number(u.e.code) ==
		    CODE_INTERNAL || !spec_valid_utf8(u.e.text) ||
		    strpbrk(u.e.text, "\n\033") != NULL))
			errx(1, "an error %s: %s", u.e.code, u.e.text);
		if (*id == want && type == PROTO_ERROR)
			o->e = u.e;
		if (*id == 0 && type == PROTO_ERROR)
			snprintf(told, sizeof(told), "%s", u.e.code);
		msg_clear(&u, def);
	}
	if (*id == want) {
		o->end = type == PROTO_END;
		o->error = type == PROTO_ERROR;
		o->answers += !o->end && !o->error;
	}
	imsg_free(&imsg);
	return (1);
}

static void
hang_up(void)
{
	if (s == -1)
		return;
	imsgbuf_clear(&ibuf);
	close(s);
	s = -1;
}

static void
come(void)
{
	struct sockaddr_un	 sun;

	hang_up();
	told[0] = '\0';
	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	if ((s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		err(1, "socket");
	if (connect(s, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		err(1, "connect");
	imsgbuf_init(&ibuf, s);
	imsgbuf_allow_fdpass(&ibuf);
	imsgbuf_set_maxsize(&ibuf, 2 * PROTO_MAX_PAYLOAD);
}

static void
greet(void)
{
	static const char	 hello[] = "\x81\xa7version\x01";
	struct outcome		 o;
	uint32_t		 id;

	come();
	memset(&o, 0, sizeof(o));
	if (put(PROTO_HELLO, ++req, hello, sizeof(hello) - 1) == -1)
		errx(1, "not greeted");
	while (!o.end)
		if (!next(&o, req, &id) || o.error)
			errx(1, "not greeted: %s", o.e.text);
}

/*
 * One request, and a PING behind it: what is to be said at once has been said
 * when that is answered.  What is under way then ends with the connection.
 */
static void
play(struct outcome *o, uint32_t type, const void *data, size_t len)
{
	struct outcome	 ping;
	uint32_t	 id, mark;

	memset(o, 0, sizeof(*o));
	memset(&ping, 0, sizeof(ping));
	if (type == PROTO_HELLO)
		come();
	else if (s == -1)
		greet();
	nplayed++;
	req += 2;
	mark = type == PROTO_HELLO ? req : req + 1;
	if (put(type, req, data, len) == 0 && type != PROTO_HELLO)
		(void)put(PROTO_PING, mark, NULL, 0);
	while (!ping.end && !ping.error) {
		if (!next(o, req, &id)) {
			o->closed = 1;
			break;
		}
		if (id == mark)
			ping.end = 1;
		if (type == PROTO_HELLO)
			ping.end = o->end || o->error;
	}
	ndone += o->end;
	nrefused += o->error;
	nclosed += o->closed;
	if (o->closed || (!o->end && !o->error) || type == PROTO_HELLO)
		hang_up();
}

/* Asks for one thing wrong, and looks at what comes of it. */
static void
one(const struct evil *e, void *arg)
{
	struct outcome	 o;
	size_t		 max;
	int		 mute;

	(void)arg;
	play(&o, e->def->type, e->body.data, e->body.size);
	if (getenv("EVIL_SHOW") != NULL)
		fprintf(stderr, "%s: %s %s: %s %s: %s\n", e->def->name,
		    e->field != NULL ? e->field : "", e->what, o.end ? "done" :
		    o.error ? "refused" : o.closed ? "closed" : "under way",
		    o.e.field, o.e.text);
	if (e->verdict == ANY)
		return;
	/* What has no answer, or is not read at all, cannot be refused. */
	max = e->def->type == PROTO_HELLO ? PROTO_MAX_HELLO :
	    PROTO_MAX_PAYLOAD;
	mute = e->def->type == PROTO_CREDIT || e->body.size > max;
	if (mute ? !o.closed : !o.error)
		errx(1, "%s: %s %s: %s", e->def->name, e->field != NULL ?
		    e->field : "", e->what, o.end ? "done" : o.closed ?
		    "closed" : "under way");
	if (e->verdict == REFUSED && !mute &&
	    strcmp(o.e.field, e->field) != 0)
		errx(1, "%s: %s %s: refused for %s: %s", e->def->name,
		    e->field, e->what, o.e.field, o.e.text);
}

/* Does not wait for any answer; the last of each kind is waited for. */
static void
rush(const struct evil *e, void *arg)
{
	struct outcome	 o;
	struct pollfd	 pfd;
	uint32_t	 id;

	(void)arg;
	nplayed++;
	if (s == -1)
		greet();
	if (put(e->def->type, ++req, e->body.data, e->body.size) == -1) {
		hang_up();
		nclosed++;
		return;
	}
	pfd.fd = s;
	pfd.events = POLLIN;
	while (s != -1 && poll(&pfd, 1, 0) == 1)
		if (!next(&o, 0, &id)) {
			hang_up();
			nclosed++;
		}
}

/* All kinds of requests; what is an end of the sandbox comes last. */
static void
all_types(void (*f)(const struct evil *, void *), int with_end)
{
	static const uint32_t	 last[] = { PROTO_PAUSE, PROTO_UNPAUSE,
	    PROTO_RESTART, PROTO_STOP, PROTO_RESUME, PROTO_DELETE };
	const size_t		 n = sizeof(last) / sizeof(last[0]);
	uint32_t		 type;
	size_t			 i;

	for (type = PROTO_HELLO; type < PROTO_HELLO_OK; type++) {
		for (i = 0; i < n && last[i] != type; i++)
			;
		if (proto_def(type) != NULL && i == n)
			evil_cases(proto_def(type), &mine, f, NULL);
	}
	for (i = 0; i < (with_end ? n : n - 1); i++)
		evil_cases(proto_def(last[i]), &mine, f, NULL);
}

static void
play_fields(void)
{
	struct pollfd	 pfd;
	char		 byte;
	int		 p[2];

	if (pipe2(p, O_CLOEXEC) == -1)
		err(1, "pipe");
	beside = p[1];
	all_types(one, 1);
	beside = -1;
	hang_up();
	close(p[1]);
	/* Nobody has kept one. */
	pfd.fd = p[0];
	pfd.events = POLLIN;
	if (poll(&pfd, 1, WAIT_MS) != 1 || read(p[0], &byte, 1) != 0)
		errx(1, "a descriptor is still somewhere");
}

static void
play_fast(void)
{
	struct outcome	 o;

	all_types(rush, 0);
	/* It listens all the same. */
	hang_up();
	play(&o, PROTO_PING, NULL, 0);
	if (!o.end)
		errx(1, "no answer after it");
}

/* It must be told why, by no request's number, and be closed. */
static void
thrown_out(const char *what, uint32_t type)
{
	struct outcome	 o;
	uint32_t	 id;

	memset(&o, 0, sizeof(o));
	while (next(&o, 0, &id))
		;
	if (strcmp(told, "protocol") != 0)
		errx(1, "%s: type %u: %s", what, type, o.e.text);
	hang_up();
	nplayed++;
	nclosed++;
}

static void
play_order(void)
{
	static const char	 follow[] = "\x81\xa6" "follow\x01";
	struct outcome		 o;
	uint32_t		 type;
	uint32_t		 id;
	int			 i;

	for (type = 0; type < 200; type++) {
		if (type != PROTO_HELLO) {
			come();
			(void)put(type, 1, NULL, 0);
			thrown_out("before HELLO", type);
		}
		if (type >= PROTO_HELLO_OK || proto_def(type) == NULL) {
			greet();
			(void)put(type, ++req, NULL, 0);
			thrown_out("no request", type);
		} else if (type != PROTO_CREDIT) {
			greet();
			(void)put(type, 0, NULL, 0);
			thrown_out("number 0", type);
			/* A number that is in use, of a request that stays. */
			greet();
			(void)put(PROTO_EVENTS, 7777, follow,
			    sizeof(follow) - 1);
			(void)put(type, 7777, NULL, 0);
			thrown_out("again", type);
		}
	}
	/* Twice the same, by numbers of their own: each is answered. */
	for (type = PROTO_PING; type < PROTO_HELLO_OK; type++)
		for (i = 0; i < 2 && proto_def(type) != NULL; i++)
			play(&o, type, NULL, 0);
	/* A credit for what is over, for nothing, and for too much. */
	greet();
	(void)put(PROTO_CREDIT, 12345, "\x81\xa1n\x01", 4);
	play(&o, PROTO_PING, NULL, 0);
	if (!o.end)
		errx(1, "closed over a late credit");
	(void)put(PROTO_EVENTS, 7777, follow, sizeof(follow) - 1);
	for (i = 0; i < 100000 && put(PROTO_CREDIT, 7777,
	    "\x81\xa1n\xce\xff\xff\xff\xff", 8) == 0; i++)
		;
	memset(&o, 0, sizeof(o));
	while (next(&o, 0, &id))
		;
	if (strcmp(told, "protocol") != 0)
		errx(1, "credit without end: %s", told);
	hang_up();
}

static void
ask_for(struct outcome *o, uint32_t type, const char *name)
{
	msgpack_sbuffer	 sb;

	evil_ask(&sb, proto_def(type), name);
	play(o, type, sb.data, sb.size);
	msgpack_sbuffer_destroy(&sb);
}

/*
 * What is another's is told of in the same words as what is nobody's: of the
 * same length, and with one letter changed back.
 */
static void
play_others(void)
{
	static const char *const forms[] = { "canary", "%s/canary", "canary.1",
	    "%s/canary.1", "canary.2", "%s/canary.2" };
	struct outcome	 his, none;
	char		 name[128], *p;
	uint32_t	 type;
	size_t		 i;

	named = 1;
	for (type = PROTO_PING; type < PROTO_HELLO_OK; type++) {
		if (proto_def(type) == NULL ||
		    evil_name(proto_def(type)) == NULL)
			continue;
		for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
			snprintf(name, sizeof(name), forms[i], victim);
			ask_for(&his, type, name);
			p = strstr(name, "canary");
			p[5] = 'x';
			ask_for(&none, type, name);
			while ((p = strstr(none.e.text, "canarx")) != NULL)
				p[5] = 'y';
			if (!his.error || !none.error ||
			    memcmp(&his.e, &none.e, sizeof(his.e)) != 0)
				errx(1, "%s %s: \"%s\", and of what is not "
				    "there \"%s\"", proto_def(type)->name,
				    name, his.e.text, none.e.text);
		}
	}
	/* And all that asks for no name tells no name. */
	named = 0;
	play(&his, PROTO_LIST, "\x81\xa3" "all\x01", 6);
	play(&his, PROTO_PS, "\x81\xa3" "all\x01", 6);
	play(&his, PROTO_EVENTS, "\x80", 1);
	play(&his, PROTO_STATUS, NULL, 0);
	play(&his, PROTO_RULES, NULL, 0);
	play(&his, PROTO_DOCTOR, NULL, 0);
}

/* How many ns the refusal of a request for that name takes. */
static uint64_t
stopwatch(const struct msg_def *def, const char *name)
{
	struct timespec	 a, b;
	struct outcome	 o;
	msgpack_sbuffer	 sb;
	uint32_t	 id;

	memset(&o, 0, sizeof(o));
	evil_ask(&sb, def, name);
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (put(def->type, ++req, sb.data, sb.size) == -1)
		errx(1, "%s %s: closed", def->name, name);
	while (!o.end && !o.error)
		if (!next(&o, req, &id))
			errx(1, "%s %s: closed", def->name, name);
	clock_gettime(CLOCK_MONOTONIC, &b);
	msgpack_sbuffer_destroy(&sb);
	nplayed++;
	nrefused++;
	/* Any other error came before anybody has looked for it. */
	if (!o.error || code_number(o.e.code) != CODE_NOT_FOUND)
		errx(1, "%s %s: %s %s", def->name, name, o.error ? o.e.code :
		    "done", o.e.text);
	return ((b.tv_sec - a.tv_sec) * 1000000000ULL + b.tv_nsec -
	    a.tv_nsec);
}

static int
by_size(const void *a, const void *b)
{
	uint64_t	 x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y ? -1 : x > y);
}

/*
 * The victim's name against random ones of its length, in turn, so that what
 * else the machine does falls on both.
 */
static void
compare(const struct msg_def *def, const char *form)
{
	static uint64_t	 t[2][PAIRS];
	uint64_t	 his, none, most, least;
	char		 name[2][128], *p;
	int		 i, k, m;

	for (i = 0; i < PAIRS; i++) {
		for (k = 0; k < 2; k++)
			snprintf(name[k], sizeof(name[k]), form, victim);
		p = strstr(name[1], "canary");
		do {
			for (k = 0; k < 6; k++)
				p[k] = 'a' + arc4random_uniform(26);
		} while (strcmp(name[0], name[1]) == 0);
		/* Neither is always the first of the two. */
		for (k = 0; k < 2; k++) {
			m = (i + k) % 2;
			t[m][i] = stopwatch(def, name[m]);
		}
	}
	for (k = 0; k < 2; k++)
		qsort(t[k], PAIRS, sizeof(t[k][0]), by_size);
	his = t[0][PAIRS / 2];
	none = t[1][PAIRS / 2];
	if (getenv("EVIL_SHOW") != NULL)
		fprintf(stderr, "%s %s: %llu us, random %llu us\n", def->name,
		    name[0], (unsigned long long)his / 1000,
		    (unsigned long long)none / 1000);
	most = his > none ? his : none;
	least = his > none ? none : his;
	if (most > 3 * least && most - least > 300000)
		errx(1, "%s %s: takes %llu us, what is not there %llu us",
		    def->name, name[0], (unsigned long long)his / 1000,
		    (unsigned long long)none / 1000);
}

/*
 * A name that evil_name does not find would not be asked for: one of another
 * word, a second one, or one of another kind.
 */
static void
no_other_name(const struct msg_def *def)
{
	const struct msg_field	*f, *name = evil_name(def);
	size_t			 i;

	for (i = 0; i < def->nfields; i++) {
		f = &def->fields[i];
		if (f != name && def->type != PROTO_CREATE &&
		    ((f->kind == M_TEXT && f->max == EXEC_ID_MAX + 16) ||
		    strcmp(f->name, "id") == 0 ||
		    strcmp(f->name, "sandbox") == 0 ||
		    strcmp(f->name, "exec") == 0))
			errx(1, "%s: %s is a name, too", def->name, f->name);
	}
}

/* Nor does the time of the answer tell what there is. */
static void
play_timing(void)
{
	static const char *const	 boxes[] = { "canary", "%s/canary" };
	static const char *const	 execs[] = { "canary.2",
	    "%s/canary.1", "%s/canary.2" };
	const struct msg_def		*def;
	const struct msg_field		*f;
	uint32_t			 type;
	size_t				 i;

	named = 1;
	greet();
	for (type = PROTO_PING; type < PROTO_HELLO_OK; type++) {
		if ((def = proto_def(type)) == NULL)
			continue;
		no_other_name(def);
		if ((f = evil_name(def)) == NULL)
			continue;
		if (strcmp(f->name, "exec") == 0)
			for (i = 0; i < sizeof(execs) / sizeof(execs[0]); i++)
				compare(def, execs[i]);
		else
			for (i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++)
				compare(def, boxes[i]);
	}
	hang_up();
}

/* Everything there is to be read, which must be what the first one got. */
static void
same_reply(const char *what)
{
	static char	 first[4096], got[4096];
	static size_t	 flen;
	struct pollfd	 pfd = { s, POLLIN, 0 };
	size_t		 len = 0;
	ssize_t		 n = 1;

	while (n > 0 && len < sizeof(got)) {
		if (poll(&pfd, 1, WAIT_MS) != 1)
			errx(1, "%s: still open after %d ms", what, WAIT_MS);
		if ((n = read(s, got + len, sizeof(got) - len)) > 0)
			len += n;
	}
	if (flen == 0) {
		memcpy(first, got, len);
		flen = len;
		if (memmem(got, len, "no rule allows you anything here", 32) ==
		    NULL)
			errx(1, "another reply");
	} else if (flen != len || memcmp(first, got, len) != 0)
		errx(1, "%s: not the same reply", what);
	scan(what, got, len);
	hang_up();
	nplayed++;
	nrefused++;
}

static void
play_stranger(void)
{
	static const char	 hello[] = "\x81\xa7version\x01";
	char			 half[12] = { PROTO_HELLO };
	uint32_t		 type;

	come();
	same_reply("nothing");
	for (type = 0; type < 200; type++) {
		come();
		(void)put(type, 1, NULL, 0);
		same_reply("a request");
		come();
		(void)put(PROTO_HELLO, 1, hello, sizeof(hello) - 1);
		(void)put(type, 2, NULL, 0);
		same_reply("a request after HELLO");
	}
	come();
	(void)send(s, half, sizeof(half), MSG_NOSIGNAL);
	same_reply("half a message");
}

static const struct {
	const char	*name;
	void		(*run)(void);
} plays[] = {
	{ "fields", play_fields },
	{ "fast", play_fast },
	{ "order", play_order },
	{ "others", play_others },
	{ "timing", play_timing },
	{ "stranger", play_stranger },
};

int
main(int argc, char *argv[])
{
	struct group	*gr;
	uid_t		 uid;
	size_t		 i;

	if (argc != 6)
		errx(1, "usage: h_client socket uid secret victim play");
	path = argv[1];
	uid = strtoul(argv[2], NULL, 10);
	secret = argv[3];
	victim = argv[4];
	signal(SIGPIPE, SIG_IGN);
	if ((gr = getgrnam("sandbox")) == NULL)
		errx(1, "no group sandbox");
	if (setgroups(1, &gr->gr_gid) == -1 || setgid(uid) == -1 ||
	    setuid(uid) == -1)
		err(1, "uid %u", (unsigned int)uid);
	for (i = 0; i < sizeof(plays) / sizeof(plays[0]); i++)
		if (strcmp(plays[i].name, argv[5]) == 0) {
			plays[i].run();
			printf("%s: %u played, %u done, %u refused, "
			    "%u closed\n", argv[5], nplayed, ndone, nrefused,
			    nclosed);
			return (0);
		}
	errx(1, "no play %s", argv[5]);
}
