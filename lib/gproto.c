/*
 * Frames between the runner and the guest, for both of them: a table of what
 * each type may look like, and how numbers and bytes get in and out of one.
 * Needs the C library alone and allocates nothing.
 */

#include <sys/types.h>

#include <string.h>

#include "gproto.h"
#include "gproto_pack.h"

#define HAS_K		0x01	/* about an exec: k is not 0 */

static const struct gp_rule {
	const char	*name;
	uint8_t		 sender;
	uint8_t		 flags;
	uint32_t	 min;
	uint32_t	 max;
} gp_rules[] = {
	[GP_HELLO] =	{ "HELLO", GP_GUEST, 0, 81, 80 + GP_MAX_VERSTR + 1 },
	[GP_STATE] =	{ "STATE", GP_GUEST, HAS_K, 60, 60 },
	[GP_STATES_END] = { "STATES_END", GP_GUEST, 0, 4, 4 },
	[GP_STARTED] =	{ "STARTED", GP_GUEST, HAS_K, 12, 12 },
	[GP_NOT_STARTED] = { "NOT_STARTED", GP_GUEST, HAS_K, 8, 8 },
	[GP_OUTPUT] =	{ "OUTPUT", GP_GUEST, HAS_K, 13, 12 + GP_MAX_DATA },
	[GP_INPUT_ACK] = { "INPUT_ACK", GP_GUEST, HAS_K, 12, 12 },
	[GP_EXIT] =	{ "EXIT", GP_GUEST, HAS_K, 52, 52 },
	[GP_BACKGROUND] = { "BACKGROUND", GP_GUEST, HAS_K, 12, 12 },
	[GP_BYE] =	{ "BYE", GP_GUEST, 0, 0, 0 },
	[GP_PONG] =	{ "PONG", GP_GUEST, 0, 8, 8 },
	[GP_CALL_END] =	{ "CALL_END", GP_GUEST, HAS_K, 41,
			    40 + CALL_TEXT_MAX + 1 },
	[GP_OUTPUT_END] = { "OUTPUT_END", GP_GUEST, HAS_K, 8, 8 },
	[GP_CHANGED] =	{ "CHANGED", GP_GUEST, HAS_K, 45, GP_MAX_CHANGED },

	[GP_WELCOME] =	{ "WELCOME", GP_RUNNER, 0, 4, 4 },
	[GP_START] =	{ "START", GP_RUNNER, HAS_K, 38,
			    42 + GP_MAX_SCOPE + 1 + GP_MAX_STRINGS },
	[GP_RESUME] =	{ "RESUME", GP_RUNNER, HAS_K, 16, 16 },
	[GP_ACK] =	{ "ACK", GP_RUNNER, HAS_K, 12, 12 },
	[GP_INPUT] =	{ "INPUT", GP_RUNNER, HAS_K, 9, 8 + GP_MAX_DATA },
	[GP_INPUT_END] = { "INPUT_END", GP_RUNNER, HAS_K, 8, 8 },
	[GP_SIGNAL] =	{ "SIGNAL", GP_RUNNER, HAS_K, 8, 8 },
	[GP_CANCEL] =	{ "CANCEL", GP_RUNNER, HAS_K, 4, 4 },
	[GP_FORGET] =	{ "FORGET", GP_RUNNER, HAS_K, 0, 0 },
	[GP_STOP] =	{ "STOP", GP_RUNNER, 0, 4, 4 },
	[GP_PING] =	{ "PING", GP_RUNNER, 0, 8, 8 },
	[GP_CALL] =	{ "CALL", GP_RUNNER, HAS_K, 48, GP_MAX_CALL },
	[GP_RESIZE] =	{ "RESIZE", GP_RUNNER, HAS_K, 4, 4 }
};

#define GP_NRULES	(sizeof(gp_rules) / sizeof(gp_rules[0]))

static const struct gp_rule *
gp_rule(unsigned int type)
{
	if (type >= GP_NRULES || gp_rules[type].name == NULL)
		return (NULL);
	return (&gp_rules[type]);
}

const char *
gp_type_name(unsigned int type)
{
	const struct gp_rule	*r;

	if ((r = gp_rule(type)) == NULL)
		return ("unknown");
	return (r->name);
}

const char *
gp_cause_text(unsigned int cause)
{
	static const char *const text[] = {
		[GP_NS_NOENT] = "no such file",
		[GP_NS_ACCES] = "not executable",
		[GP_NS_NODIR] = "no such working directory",
		[GP_NS_DIRACCES] = "working directory may not be entered",
		[GP_NS_NOEXEC] = "wrong architecture or unknown format",
		[GP_NS_LIMIT] = "a limit of the sandbox is reached",
		[GP_NS_TOOBIG] = "arguments and environment too long",
		[GP_NS_UNKNOWN] = "not known in the sandbox",
		[GP_NS_STOPPING] = "sandbox is being stopped",
		[GP_NS_ERROR] = "could not be started",
		[GP_NS_CHANGES] = "how its files are could not be kept, to "
		    "tell what it changes",
		[GP_NS_SCOPE] = "a pattern of the changes that are to be told "
		    "is none, or has more than 1000 alternatives"
	};

	if (cause >= sizeof(text) / sizeof(text[0]))
		return (NULL);
	return (text[cause]);
}

static uint64_t
gp_load(const uint8_t *p, size_t n)
{
	uint64_t	 v = 0;

	while (n-- > 0)
		v = v << 8 | p[n];
	return (v);
}

static void
gp_store(uint8_t *p, uint64_t v, size_t n)
{
	size_t	 i;

	for (i = 0; i < n; i++, v >>= 8)
		p[i] = v & 0xff;
}

int
gp_get(struct gp_frame *f, const uint8_t *buf, size_t len,
    enum gp_sender sender)
{
	const struct gp_rule	*r;
	size_t			 n;

	memset(f, 0, sizeof(*f));
	if (len < GP_HDRLEN)
		return (0);
	n = gp_load(buf, 4);
	f->type = gp_load(buf + 4, 2);
	f->k = gp_load(buf + 8, 8);
	if ((r = gp_rule(f->type)) == NULL || r->sender != sender ||
	    n < r->min || n > r->max || gp_load(buf + 6, 2) != 0 ||
	    ((r->flags & HAS_K) != 0) != (f->k != 0))
		return (-1);
	f->total = GP_HDRLEN + n;
	if (len < f->total)
		return (0);
	f->data = buf + GP_HDRLEN;
	f->len = n;
	return (1);
}

ssize_t
gp_pack(char *dst, size_t size, char *const *v, uint32_t *n)
{
	size_t	 len, used = 0;

	for (*n = 0; v != NULL && v[*n] != NULL; (*n)++) {
		len = strlen(v[*n]) + 1;
		if (len > size - used)
			return (-1);
		memcpy(dst + used, v[*n], len);
		used += len;
	}
	return (used);
}

const char *
gp_next(const char *s, const char *base, size_t len)
{
	if (s == NULL)
		return (len > 0 ? base : NULL);
	s += strlen(s) + 1;
	return (s < base + len ? s : NULL);
}

void
gp_begin(struct gp_writer *w, uint8_t *buf, size_t size, unsigned int type,
    uint64_t k)
{
	w->buf = buf;
	w->size = size;
	w->pos = GP_HDRLEN;
	if (size < GP_HDRLEN) {
		w->size = 0;
		return;
	}
	memset(buf, 0, GP_HDRLEN);
	gp_store(buf + 4, type, 2);
	gp_store(buf + 8, k, 8);
}

void
gp_put(struct gp_writer *w, uint64_t v, size_t n)
{
	if (w->size == 0 || n > w->size - w->pos) {
		w->size = 0;
		return;
	}
	gp_store(w->buf + w->pos, v, n);
	w->pos += n;
}

void
gp_put_data(struct gp_writer *w, const void *data, size_t n)
{
	if (w->size == 0 || n > w->size - w->pos) {
		w->size = 0;
		return;
	}
	/* It may stand in its place already. */
	if (n > 0 && data != w->buf + w->pos)
		memcpy(w->buf + w->pos, data, n);
	w->pos += n;
}

ssize_t
gp_end(struct gp_writer *w)
{
	return (gp_end_head(w, 0));
}

/* Of a frame whose last bytes, so many, come by another way. */
ssize_t
gp_end_head(struct gp_writer *w, size_t rest)
{
	const struct gp_rule	*r;
	size_t			 n;

	if (w->size == 0 || rest > GP_MAX_DATA)
		return (-1);
	n = w->pos - GP_HDRLEN + rest;
	r = gp_rule(gp_load(w->buf + 4, 2));
	if (n < r->min || n > r->max ||
	    ((r->flags & HAS_K) != 0) != (gp_load(w->buf + 8, 8) != 0))
		return (-1);
	gp_store(w->buf, n, 4);
	return (w->pos);
}

void
gp_open(struct gp_reader *r, const struct gp_frame *f, unsigned int type)
{
	r->data = f->data;
	r->left = f->len;
	r->bad = f->type != type;
}

uint64_t
gp_take(struct gp_reader *r, size_t n)
{
	uint64_t	 v;

	if (r->bad || n > r->left) {
		r->bad = 1;
		return (0);
	}
	v = gp_load(r->data, n);
	r->data += n;
	r->left -= n;
	return (v);
}

const uint8_t *
gp_take_data(struct gp_reader *r, size_t n)
{
	const uint8_t	*p;

	if (r->bad || n > r->left) {
		r->bad = 1;
		return (NULL);
	}
	p = r->data;
	r->data += n;
	r->left -= n;
	return (p);
}

int
gp_close(const struct gp_reader *r)
{
	return (r->bad || r->left != 0 ? -1 : 0);
}
