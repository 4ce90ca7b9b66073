/*
 * What an exec has changed: a comparison with the mark that was made before
 * it, counted by kind, with a list as long as a frame may have it.  What is
 * found elsewhere with the number, size and times that it had was renamed:
 * who writes a new file may well get the number of one that has gone, but not
 * its times.
 */

#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "diff.h"

#define PENDING_MAX	(1024 * 1024)	/* bytes of what may be renamed */
#define CLAIMED		8		/* in state: another has its number */

/* A thing under a new name, until it is known that the old one has gone. */
struct pending {
	struct pending	*next;
	uint32_t	 i;		/* the entry that it was */
	uint32_t	 mode;
	char		 name[];
};

struct changed {
	struct diff	 d;
	struct gp_changed m;
	struct pending	*pending;
	size_t		 bytes;
	uint32_t	*inodes;	/* entries by their number, from 1 */
	int		 listed;
	char		 list[GP_CHANGES_LIST];
};

/* A directory's name ends with a slash. */
static const char *
shown(char *buf, const char *name, uint32_t mode)
{
	size_t	 len = strlen(name);

	memcpy(buf, name, len);
	if (S_ISDIR(mode))
		buf[len++] = '/';
	buf[len] = '\0';
	return (buf);
}

static void
count(struct changed *c, enum gp_change_kind kind, const char *name,
    const char *from, uint32_t mode)
{
	static char		 now[CALL_PATH_MAX + 2];
	static char		 was[CALL_PATH_MAX + 2];
	struct gp_change	 x;
	size_t			 len = 0;

	c->m.count[kind]++;
	x.kind = kind;
	x.name = shown(now, name, mode);
	x.from = shown(was, from, mode);
	if (c->listed < GP_CHANGES_MAX)
		len = gp_change_add(c->list, c->m.listlen, &x);
	if (len == 0) {
		c->m.flags |= GP_CHANGED_MORE;
		return;
	}
	c->m.listlen = len;
	c->listed++;
}

static size_t
slot_of(const struct changed *c, uint64_t ino)
{
	return ((ino * 0x9e3779b97f4a7c15ULL >> 20) & c->d.mask);
}

/* Entries by their numbers; those with a second name are left out. */
static int
inodes_make(struct changed *c)
{
	const struct mark_entry	*e;
	size_t			 i, at;

	c->inodes = calloc(c->d.mask + 1, sizeof(*c->inodes));
	if (c->inodes == NULL)
		return (job_errno(c->d.j, ENOMEM, ""));
	for (i = 0; i < c->d.head->count; i++) {
		if ((e = c->d.entry[i]) == NULL || e->mode == DENIED ||
		    (!S_ISDIR(e->mode) && e->nlink > 1))
			continue;
		for (at = slot_of(c, e->ino); c->inodes[at] != 0;
		    at = (at + 1) & c->d.mask)
			;
		c->inodes[at] = i + 1;
	}
	return (0);
}

/* What it was, if it is as that in all but its name; 0 for nothing. */
static uint32_t
inodes_find(const struct changed *c, const struct mark_entry *now)
{
	const struct mark_entry	*e;
	size_t			 at;
	uint32_t		 i;

	for (at = slot_of(c, now->ino); (i = c->inodes[at]) != 0;
	    at = (at + 1) & c->d.mask) {
		e = c->d.entry[i - 1];
		if (e->ino == now->ino && e->size == now->size &&
		    e->mtime == now->mtime &&
		    (e->mode & S_IFMT) == (now->mode & S_IFMT) &&
		    !(c->d.state[i - 1] & CLAIMED))
			return (i);
	}
	return (0);
}

/* -1: it is one that was made. */
static int
pend(struct changed *c, const char *name, const struct mark_entry *now)
{
	struct pending	*p;
	uint32_t	 i;
	size_t		 size = sizeof(*p) + strlen(name) + 1;

	if ((i = inodes_find(c, now)) == 0 || c->bytes + size > PENDING_MAX ||
	    (p = malloc(size)) == NULL)
		return (-1);
	c->bytes += size;
	c->d.state[i - 1] |= CLAIMED;
	p->i = i - 1;
	p->mode = now->mode;
	memcpy(p->name, name, strlen(name) + 1);
	p->next = c->pending;
	c->pending = p;
	return (0);
}

static int
changed_tell(struct diff *d, const char *kind, const char *what,
    const char *name, const struct mark_entry *now,
    const struct mark_entry *was)
{
	struct changed	*c = (struct changed *)d;

	(void)was;
	if (strcmp(kind, "added") == 0) {
		if (pend(c, name, now) == -1)
			count(c, GP_MADE, name, "", now->mode);
	} else if (strcmp(what, "content") == 0 || strcmp(what, "type") == 0)
		count(c, GP_WRITTEN, name, "", now->mode);
	else
		count(c, GP_ALTERED, name, "", now->mode);
	return (0);
}

static int
changed_gone(struct diff *d, const struct mark_entry *e, int state)
{
	struct changed	*c = (struct changed *)d;

	if (!(state & CLAIMED) &&
	    scope_has(d->scope, e->path + d->skip, S_ISDIR(e->mode)))
		count(c, GP_REMOVED, e->path + d->skip, "", e->mode);
	return (0);
}

/* What they were has gone, or they are others. */
static void
pending_end(struct changed *c)
{
	const struct mark_entry	*e;
	struct pending		*p;

	while ((p = c->pending) != NULL) {
		c->pending = p->next;
		e = c->d.entry[p->i];
		if (c->d.state[p->i] & SEEN)
			count(c, GP_MADE, p->name, "", p->mode);
		else
			count(c, GP_RENAMED, p->name, e->path + c->d.skip,
			    p->mode);
		free(p);
	}
}

/* The frame that PID 1 is to send is the output. */
void
fs_changed(struct job *j)
{
	static struct changed	 c;
	static uint8_t		 buf[GP_HDRLEN + GP_MAX_CHANGED];
	ssize_t			 n = -1;
	int			 fd, ok = 0;

	memset(&c, 0, sizeof(c));
	if ((fd = diff_begin(&c.d, j)) != -1) {
		c.d.tell = changed_tell;
		if (inodes_make(&c) == -1)
			diff_close(fd);
		else
			ok = diff_walk(&c.d, fd) == 0 &&
			    diff_gone(&c.d, changed_gone) == 0;
	}
	pending_end(&c);
	if (ok) {
		if (j->end.flags & CALL_R_DENIED)
			c.m.flags |= GP_CHANGED_DENIED;
		c.m.text = "";
		c.m.list = c.list;
		n = gp_encode_changed(buf, sizeof(buf), j->m.count, &c.m);
	}
	if (n != -1)
		(void)job_out(j, buf, n);
	else
		job_fail(j, CODE_IO_ERROR, "it could not be compared");
	free(c.inodes);
	diff_end(&c.d);
}
