/*
 * What an exec has changed, as PID 1 sees it: a worker makes a mark before
 * the command begins, and another one compares with it after its end, while
 * the exec, and nobody else, waits.  A mark is a descriptor that we hold, and
 * goes with its exec: no client can lose one.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "guest.h"

#define CHANGED_MAX	8		/* at once: a mark may take 32 MiB */
#define CHANGED_TIME	(10 * NSEC)	/* to mark, and to compare */

enum stage_of {
	CH_FREE,
	CH_MARK,			/* its mark is being made */
	CH_MARKED,			/* it runs */
	CH_COMPARE,
	CH_OVER				/* buf holds what is told, or text why not */
};

static struct changed {
	enum stage_of	 stage;
	uint64_t	 k;
	int		 fd;		/* of the mark, -1 */
	int		 shared;	/* others were at work meanwhile */
	uint64_t	 at;		/* it is given up then, 0 never */
	size_t		 len;
	char		 scope[GP_MAX_SCOPE + 1];	/* "": all */
	char		 text[CALL_TEXT_MAX + 1];
	uint8_t		 buf[GP_HDRLEN + GP_MAX_CHANGED];
} table[CHANGED_MAX];

static struct changed *
changed_find(uint64_t k)
{
	int	 i;

	for (i = 0; i < CHANGED_MAX; i++)
		if (table[i].stage != CH_FREE && table[i].k == k)
			return (&table[i]);
	return (NULL);
}

/* A call of ours about it.  -1: no worker can be had. */
static int
changed_call(struct changed *c, uint32_t op, int fd)
{
	struct gp_call	 m;

	memset(&m, 0, sizeof(m));
	m.op = op;
	m.count = c->k;
	m.path = ".";
	m.path2 = m.pattern = "";
	m.filter = c->scope;
	c->len = 0;
	c->at = g.now + CHANGED_TIME;
	return (call_own(c->k, &m, fd));
}

/* Nothing will be known of it. */
static void
changed_fail(struct changed *c, const char *why)
{
	c->stage = CH_OVER;
	c->len = 0;
	c->at = 0;
	snprintf(c->text, sizeof(c->text), "%s", why);
}

/* Is anybody else at work in the sandbox just now? */
static int
others(const struct exec *e)
{
	struct exec	*o;

	TAILQ_FOREACH(o, &g.execs, entry)
		if (o != e && !o->gone)
			return (1);
	return (call_writes());
}

/* -1: how the files are cannot be kept. */
int
changed_begin(struct exec *e, const char *scope)
{
	struct changed	*c = NULL;
	int		 i;

	for (i = 0; i < CHANGED_MAX && c == NULL; i++)
		if (table[i].stage == CH_FREE)
			c = &table[i];
	if (c == NULL)
		return (-1);
	c->stage = CH_MARK;
	c->k = e->k;
	c->fd = -1;
	c->text[0] = '\0';
	memcpy(c->scope, scope, strlen(scope) + 1);
	c->shared = others(e);
	if (changed_call(c, CALL_MARK, -1) == -1) {
		c->stage = CH_FREE;
		return (-1);
	}
	return (0);
}

int
changed_marking(const struct exec *e)
{
	struct changed	*c = changed_find(e->k);

	return (c != NULL && c->stage == CH_MARK);
}

/* Its command has ended: does its end wait for what it has changed? */
int
changed_waits(struct exec *e)
{
	struct changed	*c = changed_find(e->k);

	if (c == NULL || c->stage == CH_OVER)
		return (0);
	if (c->stage == CH_COMPARE)
		return (1);
	c->stage = CH_COMPARE;
	if (changed_call(c, CALL_CHANGED, c->fd) == 0)
		return (1);
	changed_fail(c, "no process can be made for it");
	return (0);
}

int
changed_over(const struct exec *e)
{
	struct changed	*c = changed_find(e->k);

	return (c != NULL && c->stage == CH_OVER && e->done);
}

/* The command is to end, so it need not wait to begin. */
void
changed_skip(struct exec *e)
{
	struct changed	*c = changed_find(e->k);

	if (c == NULL || c->stage != CH_MARK)
		return;
	call_own_drop(c->k);
	changed_fail(c, "it was ended before its files were marked");
	if (reaper_go(e) == -1)
		exec_fail(e, GP_NS_LIMIT, 0);
}

void
changed_free(const struct exec *e)
{
	struct changed	*c = changed_find(e->k);

	if (c == NULL)
		return;
	if (c->stage == CH_MARK || c->stage == CH_COMPARE)
		call_own_drop(c->k);
	if (c->fd != -1)
		close(c->fd);
	c->fd = -1;
	c->stage = CH_FREE;
}

/* Somebody is at work beside those that are looked at; NULL: a call. */
void
changed_meet(const struct exec *e)
{
	int	 i;

	for (i = 0; i < CHANGED_MAX; i++)
		if (e == NULL || table[i].k != e->k)
			table[i].shared = 1;
}

/* The frame about it, in the place of its worker's. */
ssize_t
changed_put(const struct exec *e, uint8_t *buf, size_t size)
{
	struct changed		*c = changed_find(e->k);
	struct gp_changed	 m;
	struct gp_frame		 f;

	if (c == NULL || c->len == 0 ||
	    gp_get(&f, c->buf, c->len, GP_GUEST) != 1 ||
	    gp_decode_changed(&m, &f) == -1) {
		memset(&m, 0, sizeof(m));
		m.flags = GP_CHANGED_FAILED;
		m.text = c == NULL || c->text[0] == '\0' ?
		    "it could not be compared" : c->text;
		m.list = "";
	}
	if (c == NULL || c->shared)
		m.flags |= GP_CHANGED_SHARED;
	return (gp_encode_changed(buf, size, e->k, &m));
}

/* Output of a call of ours; -1: it has none like this. */
int
changed_take(uint64_t k, const uint8_t *data, size_t len)
{
	struct changed	*c = changed_find(k);

	if (c == NULL || c->stage != CH_COMPARE ||
	    len > sizeof(c->buf) - c->len)
		return (-1);
	memcpy(c->buf + c->len, data, len);
	c->len += len;
	return (0);
}

/* Does the worker's word hold as a frame about this exec? */
static int
changed_whole(const struct changed *c)
{
	struct gp_changed	 m;
	struct gp_frame		 f;

	return (gp_get(&f, c->buf, c->len, GP_GUEST) == 1 &&
	    f.total == c->len && f.k == c->k &&
	    gp_decode_changed(&m, &f) == 0);
}

static void
changed_marked(struct changed *c, struct exec *e, enum code code, int fd)
{
	if (fd == -1) {
		exec_fail(e, code == CODE_INVALID_ARGUMENT ? GP_NS_SCOPE :
		    GP_NS_CHANGES, 0);
		return;
	}
	c->fd = fd;
	c->stage = CH_MARKED;
	c->at = 0;
	if (reaper_go(e) == -1)
		exec_fail(e, GP_NS_LIMIT, 0);
}

/* A call of ours is over: how, and why it failed; fd is the mark, or -1. */
void
changed_end(uint64_t k, enum code code, const char *why, int fd)
{
	struct changed	*c = changed_find(k);
	struct exec	*e = exec_find(k);

	if (c == NULL || e == NULL || c->stage == CH_MARKED ||
	    c->stage == CH_OVER || (fd != -1 && c->stage != CH_MARK)) {
		if (fd != -1)
			close(fd);
		return;
	}
	if (c->stage == CH_MARK) {
		changed_marked(c, e, code, fd);
		return;
	}
	close(c->fd);
	c->fd = -1;
	c->at = 0;
	c->stage = CH_OVER;
	if (code != CODE_OK)
		changed_fail(c, why);
	else if (!changed_whole(c))
		changed_fail(c, "its process failed");
	exec_poll(e);
}

/* Gives up what takes too long; when the next is due, 0 for never. */
uint64_t
changed_timer(void)
{
	struct changed	*c;
	uint64_t	 at = 0;
	int		 i;

	for (i = 0; i < CHANGED_MAX; i++) {
		c = &table[i];
		if (c->stage == CH_FREE || c->at == 0)
			continue;
		if (c->at <= g.now) {
			call_own_drop(c->k);
			changed_end(c->k, CODE_DEADLINE_EXCEEDED,
			    "it takes too long", -1);
		} else if (at == 0 || c->at < at)
			at = c->at;
	}
	return (at);
}
