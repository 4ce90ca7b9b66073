/*
 * Bounds of all logs: what goes first, and what is removed when.
 *
 * regress-srcs: harness.c
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define LEN	100000

/* An exec with LEN bytes of output, forgotten at its end. */
static struct msg_ended
one(struct rig *r, struct player *p, uint64_t k, const uint8_t *data)
{
	struct msg_ended e;
	struct gp_frame	 f;
	uint64_t	 at = 0, acked = 0;

	start_exec(r, p->n, k, 0, 0);
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(0, player_stream(p, k, GP_STDOUT, data, &at, LEN,
	    &acked, 60000));
	player_exit(p, k, 0, LEN, 0);
	e = from_store(r, MSG_ENDED)->u.ended;
	ATF_REQUIRE_EQ(0, e.dropped1);
	forget_exec(r, p->n, k);
	player_frame(p, GP_FORGET, &f);
	return (e);
}

static uint64_t
missing(struct rig *r, uint64_t n, uint64_t k, const struct msg_ended *e,
    const uint8_t *data)
{
	struct buf	 out = { 0 };
	uint64_t	 gaps;
	uint32_t	 req;

	req = read_exec(r, MSG_READ, n, k, 1 << GP_STDOUT, 0, 0, e);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE_EQ(LEN, out.len);
	if (gaps == 0)
		ATF_REQUIRE_EQ(0, memcmp(out.data, data, LEN));
	free(out.data);
	return (gaps);
}

ATF_TC_WITHOUT_HEAD(oldest_first);
ATF_TC_BODY(oldest_first, tc)
{
	struct rig	*r = rig_new();
	struct player	*p, *q;
	struct msg_ended e[13], o;
	static uint8_t	 data[LEN];
	uint64_t	 k;

	pattern(data, LEN, 30);
	r->conf.log_sandbox = 10 * LEN;
	rig_start(r);
	p = boot(r, 1);
	q = boot(r, 2);
	o = one(r, q, 1, data);
	for (k = 1; k <= 12; k++)
		e[k] = one(r, p, k, data);
	/* Past ten the first went, with some that make room. */
	ATF_REQUIRE_EQ(LEN, missing(r, 1, 1, &e[1], data));
	ATF_REQUIRE_EQ(LEN, missing(r, 1, 2, &e[2], data));
	for (k = 6; k <= 12; k++)
		ATF_REQUIRE_EQ(0, missing(r, 1, k, &e[k], data));
	/* Of another sandbox nothing did. */
	ATF_REQUIRE_EQ(0, missing(r, 2, 1, &o, data));
	player_free(p);
	player_free(q);
	rig_end(r);
}

/* The next runner, with the guest of another sandbox. */
static struct player *
anew(struct rig *r, struct player *p, uint64_t n)
{
	rig_stop(r);
	player_cut(p);
	player_free(p);
	rig_start(r);
	return (boot(r, n));
}

/* What a runner before us wrote counts as well. */
ATF_TC_WITHOUT_HEAD(in_all);
ATF_TC_BODY(in_all, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct msg_ended e[9];
	static uint8_t	 data[LEN];
	uint64_t	 k;

	pattern(data, LEN, 31);
	r->conf.log_total = 10 * LEN;
	rig_start(r);
	p = boot(r, 1);
	for (k = 1; k <= 8; k++)
		e[k] = one(r, p, k, data);
	p = anew(r, p, 2);
	for (k = 1; k <= 4; k++)
		(void)one(r, p, k, data);
	/* The one that holds the most gives, its oldest. */
	ATF_REQUIRE_EQ(LEN, missing(r, 1, 1, &e[1], data));
	ATF_REQUIRE_EQ(0, missing(r, 1, 8, &e[8], data));
	player_free(p);
	rig_end(r);
}

/* What a user has is summed up over his sandboxes, as it is in all. */
ATF_TC_WITHOUT_HEAD(per_user);
ATF_TC_BODY(per_user, tc)
{
	/* The last that matches: the one before the last. */
	const uint64_t	 users[] = { LOG_ANY, 3 * LEN, OWNER, 10 * LEN,
			    OWNER + 1, 2 * LEN };
	struct rig	*r = rig_new();
	struct player	*p, *q;
	struct msg_ended e[9], o[9];
	static uint8_t	 data[LEN];
	uint64_t	 k, used = 0;
	size_t		 i;

	pattern(data, LEN, 34);
	for (i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		ATF_REQUIRE(u64v_add(&r->conf.log_users, users[i]) == 0);
	rig_start(r);
	p = boot(r, 1);
	for (k = 1; k <= 8; k++)
		e[k] = one(r, p, k, data);
	/* What a runner before us wrote counts as well. */
	q = anew(r, p, 2);
	for (k = 1; k <= 8; k++)
		o[k] = one(r, q, k, data);
	for (k = 1; k <= 8; k++)
		used += 2 * LEN - missing(r, 1, k, &e[k], data) -
		    missing(r, 2, k, &o[k], data);
	ATF_CHECK_MSG(used > 7 * LEN && used <= 10 * LEN, "%ju",
	    (uintmax_t)used);
	ATF_REQUIRE_EQ(LEN, missing(r, 1, 1, &e[1], data));
	ATF_REQUIRE_EQ(0, missing(r, 2, 8, &o[8], data));
	player_free(q);
	rig_end(r);
}

/* Of what runs nothing ends: then the log that grows gives way. */
ATF_TC_WITHOUT_HEAD(user_running);
ATF_TC_BODY(user_running, tc)
{
	const size_t	 len = 20 * LEN;
	struct rig	*r = rig_new();
	struct player	*p;
	struct msg_ended e;
	struct gp_frame	 f;
	uint8_t		*data = malloc(len);
	uint64_t	 at = 0, acked = 0;

	pattern(data, len, 35);
	ATF_REQUIRE(u64v_add(&r->conf.log_users, LOG_ANY) == 0 &&
	    u64v_add(&r->conf.log_users, 5 * LEN) == 0);
	rig_start(r);
	p = boot(r, 1);
	start_exec(r, 1, 1, 0, 0);
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(0, player_stream(p, 1, GP_STDOUT, data, &at, len,
	    &acked, 60000));
	player_exit(p, 1, 0, len, 0);
	e = from_store(r, MSG_ENDED)->u.ended;
	ATF_REQUIRE_EQ(len, e.length1);
	ATF_CHECK_MSG(e.dropped1 >= 15 * LEN && e.dropped1 < 17 * LEN, "%ju",
	    (uintmax_t)e.dropped1);
	player_free(p);
	rig_end(r);
	free(data);
}

/* Nothing has ended: the log that grows gives way, the command goes on. */
ATF_TC_WITHOUT_HEAD(all_running);
ATF_TC_BODY(all_running, tc)
{
	const size_t	 len = 3 << 20;
	struct rig	*r = rig_new();
	struct player	*p;
	struct msg_ended e;
	struct gp_frame	 f;
	struct buf	 out = { 0 };
	uint8_t		*data = malloc(len);
	uint64_t	 at = 0, acked = 0, gaps;
	uint32_t	 req;

	pattern(data, len, 32);
	r->conf.log_sandbox = 1 << 20;
	rig_start(r);
	p = boot(r, 1);
	start_exec(r, 1, 1, 0, 0);
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(0, player_stream(p, 1, GP_STDOUT, data, &at, len,
	    &acked, 60000));
	player_exit(p, 1, 0, len, 0);
	e = from_store(r, MSG_ENDED)->u.ended;
	ATF_REQUIRE_EQ(len, e.length1);
	ATF_REQUIRE(e.dropped1 >= 2 << 20);
	req = read_exec(r, MSG_READ, 1, 1, 1 << GP_STDOUT, 0, 0, NULL);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE_EQ(e.dropped1, gaps);
	ATF_REQUIRE_EQ(len, out.len);
	/* What it said first and last is there. */
	ATF_REQUIRE_EQ(0, memcmp(out.data, data, 100000));
	ATF_REQUIRE_EQ(0, memcmp(out.data + len - 100000, data + len - 100000,
	    100000));
	player_free(p);
	rig_end(r);
	free(data);
}

static int
left(struct rig *r)
{
	struct dirent	*de;
	DIR		*dir;
	int		 n = 0;

	ATF_REQUIRE((dir = opendir(rig_path(r, "log"))) != NULL);
	while ((de = readdir(dir)) != NULL)
		n += de->d_name[0] != '.';
	closedir(dir);
	return (n);
}

/* A sandbox's logs go with it, also when we die in between. */
ATF_TC_WITHOUT_HEAD(removed);
ATF_TC_BODY(removed, tc)
{
	struct rig	*r = rig_new();
	struct player	*p;
	struct msg_ended e;
	struct timespec	 ts = { 0, 5000000 };
	static uint8_t	 data[LEN];
	uint64_t	 k;
	int		 i;

	pattern(data, LEN, 33);
	r->conf.log_exec = 80000;	/* with segments */
	rig_start(r);
	p = boot(r, 1);
	for (k = 1; k <= 100; k++) {
		struct gp_frame	 f;

		start_exec(r, 1, k, 0, 0);
		player_frame(p, GP_START, &f);
		player_output(p, k, GP_STDOUT, 0, data, 30000);
		player_exit(p, k, 0, 30000, 0);
		e = from_store(r, MSG_ENDED)->u.ended;
		forget_exec(r, 1, k);
	}
	ATF_REQUIRE_EQ(30000, e.length1);
	ATF_REQUIRE_EQ(1, left(r));
	ref_exec(r, MSG_LOG_REMOVE, 1, 0, 0, 0);
	rig_alive(r);
	ATF_REQUIRE(!rig_exists(r, "log/1000"));
	rig_kill(r);
	rig_start(r);
	for (i = 0; left(r) != 0; i++) {
		ATF_REQUIRE(i < 12000);
		nanosleep(&ts, NULL);
	}
	/* What is not there can be removed, too. */
	ref_exec(r, MSG_LOG_REMOVE, 1, 0, 0, 0);
	ref_exec(r, MSG_LOG_REMOVE, 1, 7, 0, 0);
	rig_alive(r);
	player_free(p);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, oldest_first);
	ATF_TP_ADD_TC(tp, in_all);
	ATF_TP_ADD_TC(tp, per_user);
	ATF_TP_ADD_TC(tp, user_running);
	ATF_TP_ADD_TC(tp, all_running);
	ATF_TP_ADD_TC(tp, removed);
	return (atf_no_error());
}
