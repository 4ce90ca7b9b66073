/*
 * Subscriptions: what is told to whom, on whose credit, and that those for
 * whom nothing happens cost nothing.
 *
 * regress-srcs: ring.c
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring.h"
#include "store.h"
#include "usage.h"

static uint32_t
subscribe(uint64_t session, const char *sandbox, uint64_t from,
    uint64_t credit)
{
	struct proto_events	 m;
	char			 name[64];

	strlcpy(name, sandbox, sizeof(name));
	memset(&m, 0, sizeof(m));
	m.sandbox = name;
	m.from = from;
	m.follow = 1;
	m.credit = credit;
	return (ring_ask(session, PROTO_EVENTS, &m));
}

static void
credit(uint64_t session, uint32_t req, uint32_t n)
{
	struct proto_credit	 c = { n };

	ring_send(&ring.frontend, PROTO_CREDIT, 0, session, req, &c);
}

/* The next answer is this event: its number in the log, and its own. */
static void
event_must(uint32_t req, uint64_t seq, uint64_t sseq, const char *type)
{
	struct got	 g;

	ring_answer(req, PROTO_EVENT, &g);
	ATF_CHECK_EQ(seq, g.m.event.host_seq);
	ATF_CHECK_EQ(sseq, g.m.event.seq);
	ATF_CHECK_STREQ(type, g.m.event.type);
	ring_done(&g);
}

/* An exec begins, and with it one event; those told of it answer later. */
static void
begin(uint64_t session, const char *id)
{
	ring_exec(session, id, 0);
	ring_skip(&ring.frontend, PROTO_ACCEPTED);
	ring_skip(&ring.frontend, PROTO_END);
	ring_skip(&ring.runner, MSG_START);
}

static void
end(uint64_t n, uint64_t k)
{
	ring_ended(n, k, END_EXITED, 0);
	ring_skip(&ring.runner, MSG_FORGET);
}

ATF_TC_WITHOUT_HEAD(whose);
ATF_TC_BODY(whose, tc)
{
	uint64_t	 n;
	uint32_t	 all, mine, web, none;

	(void)tc;
	ring_up();
	/* daemon.started, and two of each */
	n = ring_ready(USER_SESSION, "web");
	ring_ready(USER_SESSION, "api");
	all = subscribe(ROOT_SESSION, "", 6, 100);
	mine = subscribe(USER_SESSION, "", 6, 100);
	web = subscribe(USER_SESSION, "web", 3, 100);
	none = subscribe(OTHER_SESSION, "", 6, 100);
	/* Each of them is told: 6 to 9. */
	begin(USER_SESSION, "web");
	event_must(web, 10, 3, "exec.create");
	event_must(mine, 10, 3, "exec.create");
	event_must(all, 10, 3, "exec.create");
	begin(USER_SESSION, "api");
	event_must(mine, 11, 3, "exec.create");
	event_must(all, 11, 3, "exec.create");
	end(n, 1);
	event_must(web, 12, 4, "exec.ended");
	event_must(mine, 12, 4, "exec.ended");
	event_must(all, 12, 4, "exec.ended");
	/* Who has gone is told no more, and the others are. */
	ring_session_over(USER_SESSION);
	ring_session(14, USER_UID);
	begin(14, "web");
	event_must(all, 13, 5, "exec.create");
	ring_quiet(&ring.frontend);
	(void)none;
	ring_stop();
}

ATF_TC_WITHOUT_HEAD(on_credit);
ATF_TC_BODY(on_credit, tc)
{
	uint64_t	 n;
	uint32_t	 all, mine;

	(void)tc;
	ring_up();
	n = ring_ready(USER_SESSION, "web");
	/* That both are allowed to is told first, and takes credit: 4, 5. */
	all = subscribe(ROOT_SESSION, "", 4, 2 + 2);
	mine = subscribe(USER_SESSION, "web", 1, 3);
	event_must(mine, 2, 1, "sandbox.create");
	event_must(mine, 3, 2, "sandbox.ready");
	begin(USER_SESSION, "web");
	event_must(mine, 6, 3, "exec.create");
	event_must(all, 6, 3, "exec.create");
	end(n, 1);
	event_must(all, 7, 4, "exec.ended");
	begin(USER_SESSION, "web");
	end(n, 2);
	begin(USER_SESSION, "web");
	ring_quiet(&ring.frontend);
	/* From where each stopped, without a gap and nothing twice. */
	credit(ROOT_SESSION, all, 1);
	event_must(all, 8, 5, "exec.create");
	ring_quiet(&ring.frontend);
	credit(USER_SESSION, mine, 100);
	event_must(mine, 7, 4, "exec.ended");
	event_must(mine, 8, 5, "exec.create");
	event_must(mine, 9, 6, "exec.ended");
	event_must(mine, 10, 7, "exec.create");
	credit(ROOT_SESSION, all, 3);
	event_must(all, 9, 6, "exec.ended");
	event_must(all, 10, 7, "exec.create");
	/* Both live again. */
	end(n, 3);
	event_must(mine, 11, 8, "exec.ended");
	event_must(all, 11, 8, "exec.ended");
	begin(USER_SESSION, "web");
	event_must(mine, 12, 9, "exec.create");
	ring_quiet(&ring.frontend);
	ring_stop();
}

#define DEAF_SUBS	500
#define DEAF_EVENTS	50

ATF_TC(deaf);
ATF_TC_HEAD(deaf, tc)
{
	atf_tc_set_md_var(tc, "descr", "all the credit there is, and a "
	    "frontend that takes nothing: what waits is bounded, not lost");
}
ATF_TC_BODY(deaf, tc)
{
	static uint32_t	 first, seen[DEAF_SUBS];
	struct got	 g;
	uint64_t	 n, base = 0;
	uint32_t	 i, req;
	long		 before, after;

	store_ahead = 65536;
	ring_make();
	ring.conf.max_execs = DEAF_EVENTS;
	ring_start();
	ring_engine(1);
	n = ring_ready(USER_SESSION, "web");
	for (i = 0; i < DEAF_EVENTS; i++)
		begin(USER_SESSION, "web");
	for (i = 0; i < DEAF_SUBS; i++) {
		req = subscribe(USER_SESSION, "web", 3 + DEAF_EVENTS,
		    UINT64_MAX);
		first = i == 0 ? req : first;
	}
	ring_quiet(&ring.frontend);
	before = usage_kb(ring.pid);
	for (i = 1; i <= DEAF_EVENTS; i++)
		end(n, i);
	after = usage_kb(ring.pid);
	printf("%ld KiB, then %ld\n", before, after);
#ifndef ASAN
	/* All that is due takes some 10 MiB. */
	ATF_CHECK_MSG(after - before < 4096, "%ld KiB more", after - before);
#endif
	for (i = 0; i < DEAF_SUBS * DEAF_EVENTS; i++) {
		ring_get(&ring.frontend, PROTO_EVENT, &g);
		req = g.f.req - first;
		ATF_REQUIRE(req < DEAF_SUBS);
		if (base == 0)
			base = g.m.event.seq;
		ATF_CHECK_EQ(base + seen[req]++, g.m.event.seq);
		ring_done(&g);
	}
	ring_quiet(&ring.frontend);
	/* And it is live again. */
	req = subscribe(USER_SESSION, "web", 1, 1);
	ring_answered(req, PROTO_EVENT);
	ring_stop();
}

/*
 * Without credit for half a minute while something waits: told so, and from
 * where to go on.  Who lacks it while only others' events come may stay.
 */
ATF_TC(too_slow);
ATF_TC_HEAD(too_slow, tc)
{
	atf_tc_set_md_var(tc, "timeout", "600");
}
ATF_TC_BODY(too_slow, tc)
{
	struct pollfd	 pfd;
	struct got	 g;
	const char	*soak = getenv("SOAK");
	uint32_t	 all, other, again;

	(void)tc;
	if (soak == NULL || strcmp(soak, "yes") != 0)
		return;
	ring_up();
	ring_ready(USER_SESSION, "web");
	ring_ready(OTHER_SESSION, "web");
	all = subscribe(ROOT_SESSION, "", 5, 1);
	other = subscribe(OTHER_SESSION, "", 5, 1);
	event_must(all, 5, 2, "sandbox.ready");
	event_must(other, 5, 2, "sandbox.ready");
	begin(USER_SESSION, "web");
	pfd.fd = ring.frontend.fd;
	pfd.events = POLLIN;
	ATF_REQUIRE_EQ(1, poll(&pfd, 1, 120000));
	ring_answer(all, PROTO_ERROR, &g);
	ATF_CHECK_STREQ("deadline_exceeded", g.m.error.code);
	ATF_CHECK(strstr(g.m.error.text, "go on from 6") != NULL);
	ring_done(&g);
	again = subscribe(ROOT_SESSION, "", 6, 10);
	event_must(again, 6, 3, "exec.create");
	begin(OTHER_SESSION, "web");
	event_must(again, 7, 3, "exec.create");
	credit(OTHER_SESSION, other, 5);
	event_must(other, 7, 3, "exec.create");
	ring_stop();
}

/* Nanoseconds of the processor that the store has had. */
static uint64_t
used(void)
{
	char		 path[64];
	uint64_t	 ns = 0;
	FILE		*f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)ring.pid);
	ATF_REQUIRE((f = fopen(path, "r")) != NULL);
	ATF_REQUIRE(fscanf(f, "%" SCNu64, &ns) == 1);
	fclose(f);
	return (ns);
}

static uint64_t
some_execs(uint64_t n, uint64_t *k)
{
	uint64_t	 before = used();
	int		 i;

	for (i = 0; i < 300; i++) {
		begin(USER_SESSION, "web");
		end(n, ++*k);
	}
	ring_quiet(&ring.frontend);
	return (used() - before);
}

/*
 * Five thousand that wait for something else: if each of them were looked at
 * for each event it would be three million times here.
 */
ATF_TC_WITHOUT_HEAD(idle);
ATF_TC_BODY(idle, tc)
{
	uint64_t	 n, k = 0, alone, crowd;
	int		 i;

	(void)tc;
	ring_up();
	n = ring_ready(USER_SESSION, "web");
	(void)some_execs(n, &k);
	alone = some_execs(n, &k);
	ring_ready(OTHER_SESSION, "web");
	for (i = 0; i < 2500; i++) {
		subscribe(OTHER_SESSION, "", 1206, 100);
		subscribe(OTHER_SESSION, "web", 3, 100);
	}
	ring_quiet(&ring.frontend);
	crowd = some_execs(n, &k);
	printf("alone %" PRIu64 " us, in the crowd %" PRIu64 " us\n",
	    alone / 1000, crowd / 1000);
	ATF_CHECK_MSG(crowd < 4 * alone + 50000000ULL,
	    "%" PRIu64 " ns alone, %" PRIu64 " with the idle ones", alone,
	    crowd);
	ring_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, whose);
	ATF_TP_ADD_TC(tp, on_credit);
	ATF_TP_ADD_TC(tp, deaf);
	ATF_TP_ADD_TC(tp, too_slow);
	ATF_TP_ADD_TC(tp, idle);
	return (atf_no_error());
}
