/*
 * Events that are on the disk before they are answered: two of each command,
 * by 64 clients.  One that cannot start takes the least of everything else.
 */
#include "bench.h"

#define CLIENTS		64

static uint64_t
events_newest(void)
{
	struct proto_status_info	 s;
	uint64_t			 n;

	if (sandbox_status(bench.conn, NULL, NULL, &s) == -1)
		client_lost("status");
	n = s.events;
	msg_clear(&s, proto_def(PROTO_STATUS_INFO));
	return (n);
}

static double
events_rate(const struct flight *f)
{
	uint64_t	 from = events_newest();
	double		 took;

	took = exec_many(f, bench.events, NULL);
	return ((events_newest() - from) / took);
}

void
bench_events(void)
{
	static char *const	 none[] = { "/nothing/of/the/kind", NULL };
	static char *const	 sh[] = { "sh", "-c", "true", NULL };
	struct flight		 cannot = { none, "failed", CLIENTS, 1 };
	struct flight		 can = { sh, "exited", CLIENTS, 1 };
	struct samples		 sync2 = { 0 };
	double			 limit, a, b;
	int			 i;

	for (i = 0; i < bench.n; i++)
		timed(&sync2, host_sync);
	/* One event of each client in a batch, and a sync for each batch. */
	limit = CLIENTS / (at(&sync2, 0.5) / 1e6);
	a = events_rate(&cannot);
	b = events_rate(&can);
	title("durable events of 64 clients");
	row(ROW_EVENTS, a, limit);
	row(ROW_EVENTS_RUN, b, limit);
	samples_free(&sync2);
}
