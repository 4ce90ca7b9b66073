/*
 * A guest that lies: PID 1 of a sandbox, where the variable EVIL says how.
 * It comes as a good one does, and lies as soon as it is to run a command;
 * once it is cut off it comes again and again.  The test links it statically.
 *
 * regress-srcs: guest_lies.c
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codes.h"
#include "gproto.h"
#include "guest_lies.h"
#include "passfd.h"

static const char	*how = "";
static int		 s = -1;

int
say(const uint8_t *buf, ssize_t len)
{
	ssize_t	 n;

	while (len > 0) {
		if ((n = send(s, buf, len, MSG_NOSIGNAL)) == -1)
			return (-1);
		buf += n;
		len -= n;
	}
	return (0);
}

static int
come(void)
{
	struct sockaddr_un	 sun;

	if (s != -1)
		close(s);
	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/%s", GUEST_SOCKDIR,
	    GUEST_SOCKNAME);
	if ((s = socket(AF_UNIX, SOCK_STREAM, 0)) == -1)
		return (-1);
	return (connect(s, (struct sockaddr *)&sun, sizeof(sun)));
}

static int
hello(void)
{
	struct gp_hello	 h;
	uint8_t		 buf[512];

	memset(&h, 0, sizeof(h));
	h.version = GP_VERSION;
	h.flags = GP_CAN_INPUT | GP_CAN_SIGNAL | GP_CAN_CALL;
	h.boot = 4711;
	h.pid = 1;
	h.uid = getuid();
	h.gid = getgid();
	/* As the test asks for them: others are the end of it. */
	h.memory = 64 << 20;
	h.pids = 64;
	h.mcpus = 500;
	h.release = "evil";
	/* A limit that its Engine has made more of than was asked for. */
	if (strcmp(how, "memory") == 0)
		h.memory++;
	else if (strcmp(how, "cpus") == 0)
		h.mcpus = UINT64_MAX - 2;
	else if (strcmp(how, "pids") == 0)
		h.pids++;
	else if (strcmp(how, "swap") == 0)
		h.swap = GP_UNLIMITED;
	if (strcmp(how, "hello") == 0) {
		/* Nobody's word is taken for any of these. */
		h.flags = UINT32_MAX;
		h.pid = h.uid = h.gid = 0;
		h.last = h.now = UINT64_MAX;
		h.release = "\033[2J\033]0;evil\a\377\n";
	}
	return (say(buf, gp_encode_hello(buf, sizeof(buf), &h)));
}

static int
table_end(void)
{
	struct gp_states_end	 e = { 0 };
	uint8_t			 buf[64];

	return (say(buf, gp_encode_states_end(buf, sizeof(buf), &e)));
}

int
output(uint64_t k, uint32_t stream, uint64_t off, const char *data, size_t len)
{
	static uint8_t	 buf[GP_MAX_FROM_GUEST];
	struct gp_output o;

	memset(&o, 0, sizeof(o));
	o.stream = stream;
	o.off = off;
	o.data = (const uint8_t *)data;
	o.len = len;
	return (say(buf, gp_encode_output(buf, sizeof(buf), k, &o)));
}

int
ended(uint64_t k, uint64_t len)
{
	struct gp_exit	 e;
	uint8_t		 buf[256];

	memset(&e, 0, sizeof(e));
	e.kind = GP_EXITED;
	e.out_len = len;
	e.start = 1;
	e.end = 2;
	return (say(buf, gp_encode_exit(buf, sizeof(buf), k, &e)));
}

/* Ends of commands that it was never given. */
static void
lie_forged(uint64_t k)
{
	uint64_t	 i;

	for (i = 1; i < 50; i++)
		if (i != k && (output(i, GP_STDOUT, 0, "forged", 6) == -1 ||
		    ended(i, 6) == -1))
			return;
}

static void
lie_twice(uint64_t k)
{
	(void)output(k, GP_STDOUT, 0, "once", 4);
	(void)ended(k, 4);
	(void)ended(k, 4);
	(void)output(k, GP_STDOUT, 4, "late", 4);
}

static void
lie_length(uint64_t k)
{
	uint8_t	 buf[GP_HDRLEN] = { 0xff, 0xff, 0xff, 0xff, GP_OUTPUT };

	(void)k;
	(void)say(buf, sizeof(buf));
}

static void
lie_half(uint64_t k)
{
	uint8_t	 buf[GP_HDRLEN] = { 100, 0, 0, 0, GP_OUTPUT, 0, 0, 0, 1 };

	(void)k;
	(void)say(buf, sizeof(buf));
}

static void
lie_junk(uint64_t k)
{
	uint8_t	 buf[4096];
	size_t	 i;

	(void)k;
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = random() >> 8;
	(void)say(buf, sizeof(buf));
}

/* More than there is credit for. */
static void
lie_flood(uint64_t k)
{
	static char	 data[GP_MAX_DATA];
	uint64_t	 off = 0;

	while (output(k, GP_STDOUT, off, data, sizeof(data)) == 0)
		off += sizeof(data);
}

static void
lie_descriptors(uint64_t k)
{
	char		 byte = 0;
	int		 i, fd;

	fd = open("/", O_RDONLY);
	for (i = 0; i < 300; i++) {
		if (passfd_send(s, &byte, 1, fd, 1, 0) == -1) {
			/* Where the kernel lets none through: another lie. */
			lie_twice(k);
			break;
		}
	}
}

static void
lie_end(uint64_t k)
{
	(void)k;
	_exit(0);
}

/* Nothing more, but that it is there if it is to say so. */
static void
lie_nothing(uint64_t k)
{
	(void)k;
}

/*
 * Any frame, with any of four payloads: none, the highest numbers, the lowest,
 * and those for a call that nobody has made.  What is let pass is followed by
 * what is not.
 */
static void
lie_frame(uint64_t k, unsigned int type, unsigned int form)
{
	static const struct {
		size_t	 len;
		int	 byte;
		int	 call;
	} forms[] = { { 0, 0, 0 }, { 64, 0xff, 0 }, { 16, 0, 0 },
	    { 16, 0, 1 } };
	uint64_t	 of = k;
	uint8_t		 buf[GP_HDRLEN + 64];
	int		 i;

	if (form >= sizeof(forms) / sizeof(forms[0]))
		_exit(1);
	if (forms[form].call)
		of = GP_CALL_BIT | 7;
	memset(buf, 0, GP_HDRLEN);
	buf[0] = forms[form].len;
	buf[4] = type;
	for (i = 0; i < 8; i++)
		buf[8 + i] = of >> 8 * i;
	memset(buf + GP_HDRLEN, forms[form].byte, forms[form].len);
	if (say(buf, GP_HDRLEN + forms[form].len) == 0)
		lie_twice(k);
}

static const struct {
	const char	*name;
	void		(*lie)(uint64_t);
} lies[] = {
	{ "forged", lie_forged },
	{ "twice", lie_twice },
	{ "length", lie_length },
	{ "half", lie_half },
	{ "junk", lie_junk },
	{ "flood", lie_flood },
	{ "descriptors", lie_descriptors },
	{ "end", lie_end },
	{ "hello", lie_twice },
	{ "silent", lie_nothing },
	{ "stuck", lie_nothing },
};

static void
started(uint64_t k)
{
	struct gp_started	 m = { 2, 1 };
	uint8_t			 buf[64];
	unsigned int		 type, form;
	size_t			 i;

	(void)say(buf, gp_encode_started(buf, sizeof(buf), k, &m));
	if (sscanf(how, "frame-%u-%u", &type, &form) == 2)
		lie_frame(k, type, form);
	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		if (strcmp(lies[i].name, how) == 0)
			lies[i].lie(k);
	for (i = 0; i < guest_nlies; i++)
		if (strcmp(guest_lies[i].name, how) == 0)
			guest_lies[i].lie(k);
}

/* --- calls ---------------------------------------------------------- */

static struct gp_call	 asked;		/* its strings are gone */
static uint64_t		 sent;		/* output of the last call */
static uint64_t		 flooded;	/* call whose output has no end */

static int
call_end(uint64_t k, uint32_t code, uint64_t len, const char *text)
{
	struct gp_call_end	 e;
	uint8_t			 buf[512];

	memset(&e, 0, sizeof(e));
	e.code = code;
	e.out = len;
	e.in = e.count = e.count2 = UINT64_MAX;
	e.flags = UINT32_MAX;
	e.text = text;
	return (say(buf, gp_encode_call_end(buf, sizeof(buf), k, &e)));
}

static void
call_longer(uint64_t k)
{
	(void)output(k, GP_STDOUT, 0, "abc", 3);
	(void)call_end(k, CODE_OK, 4, "");
}

static void
call_order(uint64_t k)
{
	(void)output(k, GP_STDOUT, 3, "abc", 3);
	(void)output(k, GP_STDOUT, 0, "abc", 3);
	(void)call_end(k, CODE_OK, 6, "");
}

static void
call_twice(uint64_t k)
{
	(void)output(k, GP_STDOUT, 0, "abc", 3);
	(void)call_end(k, CODE_OK, 3, "");
	(void)call_end(k, CODE_OK, 3, "");
	(void)output(k, GP_STDOUT, 3, "abc", 3);
}

/* Of calls that nobody has made, and of those of other sandboxes. */
static void
call_forged(uint64_t k)
{
	uint64_t	 i;

	for (i = 1; i < 50; i++)
		if (k != (GP_CALL_BIT | i))
			(void)output(GP_CALL_BIT | i, GP_STDOUT, 0, "forged", 6);
	for (i = 1; i < 50; i++)
		if (k != (GP_CALL_BIT | i))
			(void)call_end(GP_CALL_BIT | i, CODE_OK, 6, "");
}

static void
call_code(uint64_t k)
{
	(void)call_end(k, UINT32_MAX, 0, "");
}

static void
call_text(uint64_t k)
{
	(void)call_end(k, CODE_IO_ERROR, 0,
	    "\033[2J\033]0;evil\a\377\nsandboxctl: all is well");
}

/* It has taken more input than it was given. */
static void
call_taken(uint64_t k)
{
	struct gp_input_ack	 m = { 0, UINT64_MAX };
	uint8_t			 buf[64];

	(void)say(buf, gp_encode_input_ack(buf, sizeof(buf), k, &m));
}

static void
call_beyond(uint64_t k)
{
	static char	 data[GP_MAX_DATA];
	uint64_t	 off = 0;

	while (output(k, GP_STDOUT, off, data, sizeof(data)) == 0)
		off += sizeof(data);
}

/* What is no record, or one of the longest there may be, in each place. */
static void
call_nonsense(uint64_t k)
{
	(void)output(k, GP_STDOUT, 0,
	    "\377\377\377\377\337\377\377\377\377", 9);
	(void)call_end(k, CODE_OK, 9, "");
}

static void
call_half(uint64_t k)
{
	(void)output(k, GP_STDOUT, 0, "\100\0\0\0\334", 5);
	(void)call_end(k, CODE_OK, 5, "");
}

static void
call_descriptors(uint64_t k)
{
	char	 byte = 0;
	int	 i, fd;

	fd = open("/", O_RDONLY);
	for (i = 0; i < 300; i++)
		if (passfd_send(s, &byte, 1, fd, 1, 0) == -1) {
			call_twice(k);
			break;
		}
}

/* A record with the longest names, as many as there is credit for. */
static size_t
record_make(uint8_t *p)
{
	static const uint8_t	 numbers[] = { 0, 0, 0, 1, 1, 1, 1, 1, 1, 1,
	    0 };
	size_t			 n = 4;

	p[n++] = 0xdc;
	p[n++] = 0;
	p[n++] = 14;
	p[n++] = 0xda;
	p[n++] = CALL_PATH_MAX >> 8;
	p[n++] = CALL_PATH_MAX & 0xff;
	memset(p + n, 'x', CALL_PATH_MAX);
	n += CALL_PATH_MAX;
	memcpy(p + n, numbers, sizeof(numbers));
	n += sizeof(numbers);
	p[n++] = 0xda;
	p[n++] = CALL_PATH_MAX >> 8;
	p[n++] = CALL_PATH_MAX & 0xff;
	memset(p + n, 'y', CALL_PATH_MAX);
	n += CALL_PATH_MAX;
	p[n++] = 0;
	p[0] = (n - 4) & 0xff;
	p[1] = (n - 4) >> 8;
	p[2] = p[3] = 0;
	return (n);
}

static void
call_records(uint64_t k)
{
	static uint8_t	 rec[16384];
	size_t		 n = record_make(rec);

	/* What ACK makes room for comes when it is there. */
	if (flooded != k)
		sent = 0;
	flooded = k;
	while (sent + n <= asked.limit) {
		if (output(k, GP_STDOUT, sent, (char *)rec, n) == -1)
			break;
		sent += n;
	}
}

static void
call_silence(uint64_t k)
{
	(void)k;
}

/* --- trees ---------------------------------------------------------- */

/* Who is to get a tree asks first what it is: it is a directory. */
static int
tree_asked(uint64_t k)
{
	static const char	 rec[] = "\027\0\0\0\334\0\016\244tree"
				    "\315\101\355\0\0\1\0\0\0\0\0\0\0\240\0";

	if (asked.op == CALL_TREE_GET)
		return (1);
	(void)output(k, GP_STDOUT, 0, rec, sizeof(rec) - 1);
	(void)call_end(k, CODE_OK, sizeof(rec) - 1, "");
	return (0);
}

/* A header; a size of its own makes, where it is larger, the field binary. */
static void
tree_head(uint8_t *h, const char *name, int type, uint64_t size)
{
	unsigned int	 sum = 0;
	int		 i;

	memset(h, 0, 512);
	snprintf((char *)h, 100, "%s", name);
	snprintf((char *)h + 100, 8, "%07o", 0644);
	snprintf((char *)h + 108, 8, "%07o", 0);
	snprintf((char *)h + 116, 8, "%07o", 0);
	if (size >> 33 == 0)
		snprintf((char *)h + 124, 12, "%011llo",
		    (unsigned long long)size);
	else {
		h[124] = 0x80;
		for (i = 0; i < 8; i++)
			h[135 - i] = size >> 8 * i;
	}
	snprintf((char *)h + 136, 12, "%011o", 0);
	memset(h + 148, ' ', 8);
	h[156] = type;
	memcpy(h + 257, "ustar\00000", 8);
	for (i = 0; i < 512; i++)
		sum += h[i];
	snprintf((char *)h + 148, 8, "%06o", sum);
}

/* One entry, so many bytes of it, and that all has come. */
static void
tree_one(uint64_t k, int type, uint64_t size, size_t len)
{
	static uint8_t	 buf[32768];

	if (!tree_asked(k))
		return;
	tree_head(buf, "file", type, size);
	memset(buf + 512, 'x', sizeof(buf) - 512);
	(void)output(k, GP_STDOUT, 0, (char *)buf, len);
	(void)call_end(k, CODE_OK, len, "");
}

static void
call_tree_half(uint64_t k)
{
	tree_one(k, '0', 5000000, 20480);
}

static void
call_tree_size(uint64_t k)
{
	tree_one(k, '0', INT64_MAX, 20480);
}

/* More than any size can be. */
static void
call_tree_sizes(uint64_t k)
{
	tree_one(k, '0', UINT64_MAX, 20480);
}

/* A name, and what stands for attributes, that would fill the memory. */
static void
call_tree_name(uint64_t k)
{
	tree_one(k, 'L', 1ULL << 40, 20480);
}

static void
call_tree_attrs(uint64_t k)
{
	tree_one(k, 'x', 1ULL << 40, 20480);
}

/* No archive at all. */
static void
call_tree_none(uint64_t k)
{
	static uint8_t	 buf[4096];

	if (!tree_asked(k))
		return;
	memset(buf, 0xa5, sizeof(buf));
	(void)output(k, GP_STDOUT, 0, (char *)buf, sizeof(buf));
	(void)call_end(k, CODE_OK, sizeof(buf), "");
}

/* Entries without an end, as there is room for them. */
static void
call_tree_endless(uint64_t k)
{
	static uint8_t		 buf[1024];
	static unsigned long	 n;
	char			 name[64];

	if (!tree_asked(k))
		return;
	if (flooded != k)
		sent = 0;
	flooded = k;
	while (sent + sizeof(buf) <= asked.limit) {
		snprintf(name, sizeof(name), "d%lu/f%lu", n / 500, n);
		n++;
		tree_head(buf, name, '0', 1);
		if (output(k, GP_STDOUT, sent, (char *)buf, sizeof(buf)) == -1)
			break;
		sent += sizeof(buf);
	}
}

static const struct {
	const char	*name;
	void		(*lie)(uint64_t);
} call_lies[] = {
	{ "call-tree-half", call_tree_half },
	{ "call-tree-size", call_tree_size },
	{ "call-tree-sizes", call_tree_sizes },
	{ "call-tree-name", call_tree_name },
	{ "call-tree-attrs", call_tree_attrs },
	{ "call-tree-none", call_tree_none },
	{ "call-tree-endless", call_tree_endless },
	{ "call-longer", call_longer },
	{ "call-order", call_order },
	{ "call-twice", call_twice },
	{ "call-forged", call_forged },
	{ "call-code", call_code },
	{ "call-text", call_text },
	{ "call-taken", call_taken },
	{ "call-beyond", call_beyond },
	{ "call-nonsense", call_nonsense },
	{ "call-half", call_half },
	{ "call-descriptors", call_descriptors },
	{ "call-records", call_records },
	{ "call-silence", call_silence },
};

static void
called(const struct gp_frame *f)
{
	size_t	 i;

	if (gp_decode_call(&asked, f) == -1)
		return;
	asked.limit = GP_WINDOW;	/* what may be sent so far */
	for (i = 0; i < sizeof(call_lies) / sizeof(call_lies[0]); i++)
		if (strcmp(call_lies[i].name, how) == 0)
			call_lies[i].lie(f->k);
}

static void
acked(const struct gp_frame *f)
{
	struct gp_ack	 m;

	if (f->k != flooded || gp_decode_ack(&m, f) == -1)
		return;
	asked.limit = m.off + GP_WINDOW;
	if (strcmp(how, "call-tree-endless") == 0)
		call_tree_endless(f->k);
	else
		call_records(f->k);
}

static void
pinged(const struct gp_frame *f)
{
	struct gp_ping	 m;
	uint8_t		 buf[64];

	if (strcmp(how, "silent") != 0 && gp_decode_ping(&m, f) == 0)
		(void)say(buf, gp_encode_pong(buf, sizeof(buf), &m));
}

/* Until the other end has had enough. */
static void
serve(void)
{
	static uint8_t	 buf[GP_MAX_FROM_RUNNER];
	struct gp_frame	 f;
	size_t		 have = 0;
	ssize_t		 n;
	int		 got;

	if (hello() == -1)
		return;
	for (;;) {
		while ((got = gp_get(&f, buf, have, GP_RUNNER)) == 1) {
			if (f.type == GP_WELCOME)
				(void)table_end();
			else if (f.type == GP_START || f.type == GP_RESUME)
				started(f.k);
			else if (f.type == GP_CALL)
				called(&f);
			else if (f.type == GP_PING)
				pinged(&f);
			else if (f.type == GP_ACK && flooded != 0)
				acked(&f);
			have -= f.total;
			memmove(buf, buf + f.total, have);
		}
		if (got == -1 ||
		    (n = read(s, buf + have, sizeof(buf) - have)) <= 0)
			return;
		have += n;
	}
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (getenv("EVIL") != NULL)
		how = getenv("EVIL");
	for (;;) {
		if (come() == 0 && strcmp(how, "mute") != 0)
			serve();
		usleep(20000);
	}
}
