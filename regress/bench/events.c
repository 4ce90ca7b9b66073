/*
 * Events that are on the disk before they are answered: two of each command,
 * by 64 clients.  One that cannot start takes the least of everything else.
 */
#include "bench.h"

#define CLIENTS		64

struct rate {
	double	 events;		/* a second */
	double	 batch;			/* of them in a commit */
};

static void
log_now(uint64_t *events, uint64_t *commits)
{
	struct proto_status_info	 s;

	if (sandbox_status(bench.conn, NULL, NULL, &s) == -1)
		client_lost("status");
	*events = s.events;
	*commits = s.commits;
	msg_clear(&s, proto_def(PROTO_STATUS_INFO));
}

static void
events_rate(struct rate *r, const struct flight *f)
{
	uint64_t	 events, commits, events0, commits0;
	double		 took;

	log_now(&events0, &commits0);
	took = exec_many(f, bench.events, NULL);
	log_now(&events, &commits);
	r->events = (events - events0) / took;
	r->batch = (double)(events - events0) / (commits - commits0);
}

void
bench_events(void)
{
	static char *const	 none[] = { "/nothing/of/the/kind", NULL };
	static char *const	 sh[] = { "sh", "-c", "true", NULL };
	struct flight		 cannot = { none, "failed", CLIENTS, 1 };
	struct flight		 can = { sh, "exited", CLIENTS, 1 };
	struct samples		 sync2 = { 0 };
	struct rate		 a, b;
	double			 limit;
	int			 i;

	for (i = 0; i < bench.n; i++)
		timed(&sync2, host_sync);
	/* One event of each client in a batch, and a sync for each batch. */
	limit = CLIENTS / (at(&sync2, 0.5) / 1e6);
	events_rate(&a, &cannot);
	events_rate(&b, &can);
	title("durable events of 64 clients");
	row(ROW_EVENTS, a.events, limit);
	row(ROW_EVENTS_BATCH, a.batch, CLIENTS);
	row(ROW_EVENTS_RUN, b.events, limit);
	row(ROW_EVENTS_RUN_BATCH, b.batch, CLIENTS);
	samples_free(&sync2);
}
