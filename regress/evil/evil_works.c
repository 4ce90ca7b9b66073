/*
 * Workspaces asked for by one who has no business with them: the store's own
 * orders for sandboxes that nobody made, and the others', who may give none.
 * All is well-formed.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "evil.h"
#include "log.h"

#define FAST		3000		/* orders without a pause */
#define OP_SURE		(1ULL << 40)	/* those whose answer is waited for */

static struct evil_peer	*parent;
static uint64_t		 sure;		/* the last of them */
static int		 answered;
static unsigned int	 done, refused;

static void
hear(struct evil_peer *p, struct frame *f)
{
	struct msg_work_done	 m;

	if (p != parent || f->type != MSG_WORK_DONE ||
	    msg_decode_array(&m, msg_def(MSG_WORK_DONE), f->data,
	    f->len) == -1)
		return;
	done += m.code == CODE_OK;
	refused += m.code != CODE_OK;
	answered |= f->op == sure;
	msg_clear(&m, msg_def(MSG_WORK_DONE));
}

static void
order(uint32_t type, uint64_t op, uint64_t n, uint32_t owner, uint32_t uid)
{
	evil_set_number("n", n);
	evil_set_number("owner", owner);
	evil_set_number("uid", uid);
	evil_set_number("gid", uid);
	evil_plain(parent, type, op, 0, 0);
}

/* The same, and it has come to its end. */
static void
order_done(uint32_t type, uint64_t n, uint32_t owner, uint32_t uid)
{
	static uint64_t	 op = OP_SURE;

	sure = ++op;
	answered = 0;
	order(type, sure, n, owner, uid);
	while (!answered && !parent->gone)
		evil_listen(-1);
}

/* Numbers never asked for, another's, and what a number can be taken for. */
void
play_works(void)
{
	const uint32_t	 owners[] = {
		0, 1, (uint32_t)evil_number("canary"),
		(uint32_t)evil_number("uid"), 2000000000, INT32_MAX,
		(uint32_t)INT32_MAX + 1, UINT32_MAX
	};
	const uint64_t	 ns[] = {
		900001, evil_number("own"), evil_number("other"), UINT32_MAX,
		UINT32_MAX + 1ULL, INT64_MAX, INT64_MAX + 1ULL, UINT64_MAX
	};
	const size_t	 nn = sizeof(ns) / sizeof(ns[0]);
	const size_t	 no = sizeof(owners) / sizeof(owners[0]);
	const uint32_t	 uid = 2000000000;
	uint64_t	 op = 1;
	size_t		 i, j, k;

	parent = evil_peer("parent");
	evil_heard = hear;
	evil_plain(parent, MSG_OPEN, 0, 0, 0);
	for (i = 0; i < nn; i++)
		for (j = 0; j < no; j++)
			for (k = 0; k < 3; k++)
				order(MSG_WORK_MAKE, op++, ns[i], owners[j],
				    uid + (uint32_t)k);
	for (i = 0; i < FAST; i++)
		order(i % 3 ? MSG_WORK_MAKE : MSG_WORK_REMOVE, op++,
		    910000 + i % 7, owners[i % no], uid);
	/* The canary's own stays, since that is the store's to remove. */
	for (i = 0; i < nn; i++)
		for (j = 0; j < no; j++)
			for (k = 0; k < 2; k++)
				if (ns[i] != evil_number("other"))
					order_done(MSG_WORK_REMOVE, ns[i],
					    owners[j], uid);
	for (i = 0; i < 7; i++)
		for (j = 0; j < no; j++)
			order_done(MSG_WORK_REMOVE, 910000 + i, owners[j],
			    uid);
	log_info("evil: %u orders done, %u not", done, refused);
}

/* A user beyond the range, each set another: that is its end. */
void
play_workuser(void)
{
	const uint32_t	 uids[] = {
		0, 1, (uint32_t)evil_number("canary"), 1999999999, UINT32_MAX
	};

	parent = evil_peer("parent");
	evil_plain(parent, MSG_OPEN, 0, 0, 0);
	order(MSG_WORK_MAKE, 1, 900001, (uint32_t)evil_number("canary"),
	    uids[(evil_set_number_now() - 1) % 5]);
}

/* Without a bound, or with too high a one: the configuration has another. */
void
play_workdisk(void)
{
	const uint64_t	 sizes[] = {
		0, evil_number("limit") + 4096, SBX_DISK_MAX
	};
	size_t		 i;

	parent = evil_peer("parent");
	evil_heard = hear;
	evil_plain(parent, MSG_OPEN, 0, 0, 0);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		evil_set_number("disk", sizes[i]);
		order_done(MSG_WORK_MAKE, 900001 + i,
		    (uint32_t)evil_number("canary"), 2000000000);
	}
	log_info("evil: %u orders done, %u not", done, refused);
}

/* By who is not the store, for the canary's: made, removed. */
void
play_work(void)
{
	parent = evil_peer("parent");
	order(evil_set_number_now() % 2 ? MSG_WORK_REMOVE : MSG_WORK_MAKE, 1,
	    evil_number("other"), (uint32_t)evil_number("canary"),
	    2000000000);
}
