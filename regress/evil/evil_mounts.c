/*
 * The host's directories asked for by a store that has been taken over: for
 * clients that are not there, by paths that nobody may have, with tickets that
 * were given for another thing.  All is well-formed.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "evil.h"
#include "log.h"

#define BOX		900001
#define BOX_USER	2000000000

static struct evil_peer	*parent;
static uint64_t		 session;	/* of a client that is there */
static uint64_t		 asked;		/* the last ticket, the last order */
static int		 answered;
static unsigned int	 granted, denied, done, refused;

static void
hear_checked(struct frame *f)
{
	struct msg_mounts_checked	 m;

	if (msg_decode_array(&m, msg_def(f->type), f->data, f->len) == -1)
		return;
	granted += m.code == CODE_OK;
	denied += m.code != CODE_OK;
	answered |= m.ticket == asked;
	log_info("evil: ticket %" PRIu64 ": %s", m.ticket,
	    m.code == CODE_OK ? "granted" : m.text);
}

static void
hear(struct evil_peer *p, struct frame *f)
{
	struct msg_work_done	 m;

	if (p != parent)
		return;
	if (f->type == MSG_SESSION_OPEN)
		session = f->session;
	else if (f->type == MSG_MOUNTS_CHECKED)
		hear_checked(f);
	else if (f->type == MSG_WORK_DONE && msg_decode_array(&m,
	    msg_def(f->type), f->data, f->len) == 0) {
		done += m.code == CODE_OK;
		refused += m.code != CODE_OK;
		answered |= f->op == asked;
	}
}

static void
wait_answer(void)
{
	while (!answered && !parent->gone)
		evil_listen(-1);
}

static void
check(uint64_t who, const char *list, const char *path)
{
	answered = 0;
	evil_unset();
	evil_set_number("ticket", ++asked);
	evil_set(list, path);
	evil_plain(parent, MSG_MOUNTS_CHECK, 0, who, 1);
	wait_answer();
}

static void
work(uint32_t type, uint64_t n, uint64_t mounts, uint64_t ticket)
{
	answered = 0;
	evil_unset();
	evil_set_number("n", n);
	evil_set_number("uid", BOX_USER);
	evil_set_number("gid", BOX_USER);
	evil_set_number("mounts", mounts);
	evil_set_number("ticket", ticket);
	evil_plain(parent, type, ++asked, 0, 0);
	wait_answer();
}

static void
ref(uint32_t type, uint64_t n)
{
	evil_unset();
	evil_set_number("n", n);
	evil_plain(parent, type, 0, 0, 0);
}

/* One that stays: the next is written over it. */
static const char *
arg(const char *key)
{
	char	*s = strdup(evil_arg(key));

	if (s == NULL)
		fatal("%s", __func__);
	return (s);
}

void
play_mounts(void)
{
	const char	*allowed = arg("allowed");
	const char	*paths[] = {
		"/", "/etc", "/etc/shadow", "/root", "/root/.ssh", "/proc/1",
		"/dev", "/run", arg("state"), arg("work"), "",
		"relative", "/../etc", arg("around"), arg("link")
	};
	uint64_t	 good;
	size_t		 i;

	parent = evil_peer("parent");
	evil_heard = hear;
	evil_plain(parent, MSG_OPEN, 0, 0, 0);
	while (session == 0 && !parent->gone)
		evil_listen(-1);
	/* Nobody, somebody else's number. */
	check(0, "ro", allowed);
	check(session + 1, "ro", allowed);
	check(UINT64_MAX, "ro", allowed);
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		check(session, "ro", paths[i]);
		check(session, "rw", paths[i]);
	}
	check(session, "rw", allowed);
	check(session, "ro", allowed);
	good = asked;
	/* As many as were not granted; tickets of nobody, twice, dropped. */
	work(MSG_WORK_MAKE, BOX, 1, good + 1000);
	work(MSG_WORK_MAKE, BOX, 1, UINT64_MAX);
	work(MSG_WORK_MAKE, BOX, 16, 1);
	work(MSG_WORK_MAKE, BOX, 2, good);
	work(MSG_WORK_MAKE, BOX, 1, good);
	check(session, "ro", allowed);
	good = asked;
	ref(MSG_MOUNTS_DROP, good);
	work(MSG_WORK_MAKE, BOX + 1, 1, good);
	/* And one as it should be, which comes and goes. */
	check(session, "ro", allowed);
	work(MSG_WORK_MAKE, BOX + 2, 1, asked);
	for (i = 0; i < 3; i++)
		ref(MSG_MOUNTS_OFF, BOX + i);
	ref(MSG_MOUNTS_OFF, UINT64_MAX);
	for (i = 0; i < 3; i++)
		work(MSG_WORK_REMOVE, BOX + i, i, 0);
	log_info("evil: %u granted, %u denied, %u orders done, %u not",
	    granted, denied, done, refused);
}

/* One that no store says, each set another: that is its end. */
void
play_mount(void)
{
	uint64_t	 set = evil_set_number_now() % 3;

	parent = evil_peer("parent");
	evil_plain(parent, MSG_OPEN, 0, 0, 0);
	if (set == 0) {
		evil_plain(parent, MSG_MOUNTS_CHECK, 0, 0, 0);
		return;
	}
	evil_set_number("n", BOX);
	evil_set_number("mounts", 1);
	/* Of the system's, or root's. */
	evil_set_number("uid", set == 1 ? 0 : 1000);
	evil_set_number("gid", set == 1 ? 0 : 1000);
	evil_plain(parent, MSG_WORK_MAKE, 1, 0, 0);
}
