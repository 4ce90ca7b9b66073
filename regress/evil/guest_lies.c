/* See guest_lies.h.  What is let pass is followed by what ends the command. */

#include <stdlib.h>
#include <string.h>

#include "gproto.h"
#include "guest_lies.h"

#define FLOOD	5000		/* lists of changes, one after the other */

/* --- terminals ------------------------------------------------------ */

/* Sizes are told to it, and not by it. */
static void
tty_resize(uint64_t k)
{
	struct gp_resize	 m = { 10, 10 };
	uint8_t			 buf[64];

	(void)say(buf, gp_encode_resize(buf, sizeof(buf), k, &m));
}

/* Made for a call, since for nothing else it is. */
static void
output_end(uint64_t k, uint64_t total)
{
	struct gp_output_end	 m = { total };
	uint8_t			 buf[64];
	ssize_t			 n;
	int			 i;

	n = gp_encode_output_end(buf, sizeof(buf), GP_CALL_BIT | 1, &m);
	for (i = 0; i < 8; i++)
		buf[8 + i] = k >> 8 * i;
	(void)say(buf, n);
}

/* That is for connections: a command's output ends with it. */
static void
tty_end(uint64_t k)
{
	(void)output(k, GP_STDOUT, 0, "abc", 3);
	output_end(k, 3);
	(void)ended(k, 3);
}

static void
tty_twice(uint64_t k)
{
	output_end(k, 0);
	output_end(k, 0);
	(void)ended(k, 0);
}

static void
tty_unknown(uint64_t k)
{
	output_end(GP_CALL_BIT | 7, 0);
	(void)ended(k, 0);
}

/* There is one stream on it. */
static void
tty_stderr(uint64_t k)
{
	(void)output(k, GP_STDERR, 0, "abc", 3);
	(void)ended(k, 0);
}

static void
tty_late(uint64_t k)
{
	(void)ended(k, 0);
	(void)output(k, GP_STDOUT, 0, "late", 4);
}

/* Keys that nobody has typed. */
static void
tty_keys(uint64_t k)
{
	struct gp_input_ack	 m = { 0, 1000 };
	uint8_t			 buf[64];

	(void)say(buf, gp_encode_input_ack(buf, sizeof(buf), k, &m));
	(void)ended(k, 0);
}

/* --- changes -------------------------------------------------------- */

/* So many bytes of a list, and so many made. */
static int
changed(uint64_t k, uint32_t flags, uint64_t made, const char *list,
    size_t len)
{
	static uint8_t		 buf[2 * GP_MAX_CHANGED];
	struct gp_changed	 m;

	memset(&m, 0, sizeof(m));
	m.flags = flags;
	m.count[GP_MADE] = made;
	m.text = flags & GP_CHANGED_FAILED ? "\033[2Jno" : "";
	m.list = list;
	m.listlen = len;
	return (say(buf, gp_encode_changed(buf, sizeof(buf), k, &m)));
}

static void
changed_end(uint64_t k, uint32_t flags, uint64_t made, const char *list,
    size_t len)
{
	(void)changed(k, flags, made, list, len);
	(void)ended(k, 0);
}

static void
changes_none(uint64_t k)
{
	(void)ended(k, 0);
}

/* Fewer, and more, than the list has. */
static void
changes_fewer(uint64_t k)
{
	changed_end(k, GP_CHANGED_MORE, 1, "\1a\0\1b", 6);
}

static void
changes_more(uint64_t k)
{
	changed_end(k, 0, 3, "\1a\0\1b", 6);
}

static void
changes_count(uint64_t k)
{
	changed_end(k, GP_CHANGED_MORE, UINT64_MAX, "", 0);
}

static void
changes_endless(uint64_t k)
{
	changed_end(k, GP_CHANGED_MORE, 1, "\1a", 2);
}

static void
changes_kind(uint64_t k)
{
	changed_end(k, GP_CHANGED_MORE, 1, "\377a", 3);
}

static void
changes_flags(uint64_t k)
{
	changed_end(k, UINT32_MAX & ~GP_CHANGED_FAILED, 0, "", 0);
}

/* A name with a NUL in it is two, of which the second has no kind. */
static void
changes_nul(uint64_t k)
{
	changed_end(k, GP_CHANGED_MORE, 1, "\1a\0/etc/shadow", 14);
}

/* More names, and longer ones, than a list may have. */
static void
changes_names(uint64_t k)
{
	static char	 list[3 * (GP_CHANGES_MAX + 1)];
	size_t		 i;

	for (i = 0; i < sizeof(list); i += 3)
		memcpy(list + i, "\1a", 3);
	changed_end(k, 0, GP_CHANGES_MAX + 1, list, sizeof(list));
}

static void
changes_long(uint64_t k)
{
	static char	 list[GP_CHANGES_LIST + 1];

	memset(list, 'x', sizeof(list) - 1);
	list[0] = GP_MADE;
	changed_end(k, 0, 1, list, sizeof(list));
}

static void
changes_late(uint64_t k)
{
	(void)changed(k, 0, 0, "", 0);
	(void)ended(k, 0);
	(void)changed(k, 0, 1, "\1late", 6);
}

static void
changes_unknown(uint64_t k)
{
	changed_end(k + 1, 0, 0, "", 0);
}

/* These are names that a sandbox may well have: what is shown is text. */
static void
changes_text(uint64_t k)
{
	static const char	 list[] = "\1../../etc/passwd\0"
	    "\1/etc/shadow\0\1\033[2J\033]0;evil\a\0"
	    "\1x\nsandboxctl: all is well";

	changed_end(k, 0, 4, list, sizeof(list));
}

static void
changes_failed(uint64_t k)
{
	changed_end(k, GP_CHANGED_FAILED, 0, "", 0);
}

/* The last one counts, however many there were. */
static void
changes_flood(uint64_t k)
{
	static char	 list[GP_CHANGES_LIST];
	int		 i;

	memset(list, 'x', sizeof(list) - 1);
	list[0] = list[3001] = GP_MADE;
	list[3000] = '\0';
	for (i = 0; i < FLOOD; i++)
		if (changed(k, 0, 2, list, sizeof(list)) == -1)
			return;
	changed_end(k, 0, 1, "\1last", 6);
}

const struct guest_lie	 guest_lies[] = {
	{ "tty-resize", tty_resize },
	{ "tty-end", tty_end },
	{ "tty-twice", tty_twice },
	{ "tty-unknown", tty_unknown },
	{ "tty-stderr", tty_stderr },
	{ "tty-late", tty_late },
	{ "tty-keys", tty_keys },
	{ "changes-none", changes_none },
	{ "changes-fewer", changes_fewer },
	{ "changes-more", changes_more },
	{ "changes-count", changes_count },
	{ "changes-endless", changes_endless },
	{ "changes-kind", changes_kind },
	{ "changes-flags", changes_flags },
	{ "changes-nul", changes_nul },
	{ "changes-names", changes_names },
	{ "changes-long", changes_long },
	{ "changes-late", changes_late },
	{ "changes-unknown", changes_unknown },
	{ "changes-unasked", changes_failed },
	{ "changes-text", changes_text },
	{ "changes-failed", changes_failed },
	{ "changes-flood", changes_flood },
};
const size_t	 guest_nlies = sizeof(guest_lies) / sizeof(guest_lies[0]);
