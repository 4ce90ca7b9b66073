/*
 * Commands: sh -c true, alone and many at a time.
 */
#include <stdlib.h>

#include "bench.h"

static char *const	 guest_true[] = { "sh", "-c", "true", NULL };
static char		*ctl_argv[9];

static void
ctl_one(void)
{
	spawn_wait(ctl_argv);
}

static void
ctl_prepare(void)
{
	char	*argv[] = { (char *)(uintptr_t)bench.ctl, "-s",
		    (char *)(uintptr_t)bench.socket, "exec", bench.box.id,
		    "sh", "-c", "true", NULL };
	size_t	 i;

	for (i = 0; i < nelem(argv); i++)
		ctl_argv[i] = argv[i];
}

/* One of each in turn, so that all have the same machine. */
void
bench_exec(void)
{
	struct samples	 host = { 0 }, sync2 = { 0 }, ours = { 0 };
	struct samples	 byctl = { 0 }, theirs = { 0 };
	double		 spawned, synced, m, limit;
	int		 i;

	ctl_prepare();
	for (i = 0; i < 10; i++)
		exec_one();
	for (i = 0; i < bench.n; i++) {
		timed(&host, host_spawn);
		timed(&sync2, host_sync);
		timed(&ours, exec_one);
		timed(&byctl, ctl_one);
		if (i % 10 == 0)
			timed(&theirs, engine_exec_one);
	}
	spawned = at(&host, 0.5);
	synced = 2 * at(&sync2, 0.5);
	limit = spawned + synced;
	m = at(&ours, 0.5);
	title("sh -c true (%d times)", bench.n);
	row(ROW_SPAWN, spawned, 0);
	row(ROW_SYNC, synced / 2, 0);
	/* The limit of a durable command is a spawn and two syncs. */
	row(ROW_EXEC, m, limit);
	/*
	 * The slowest are slow as a spawn is: of the last two in a hundred,
	 * on a loaded machine, syncs had 3 % of the time and the daemon's
	 * processes as little of a processor as of all others; the command
	 * itself was waited for.
	 */
	row(ROW_EXEC_99, at(&ours, 0.99), at(&host, 0.99) +
	    2 * at(&sync2, 0.99));
	row(ROW_EXEC_TIMES, (m - synced) / spawned, 1);
	/* That of a process for each is one more spawn. */
	row(ROW_CTL, at(&byctl, 0.5), limit + spawned);
	row(ROW_CTL_99, at(&byctl, 0.99), 2 * at(&host, 0.99) +
	    2 * at(&sync2, 0.99));
	row(ROW_CTL_MORE, at(&byctl, 0.5) - m, spawned);
	row(ROW_ENGINE_EXEC, at(&theirs, 0.5), 0);
	row(ROW_ENGINE_TIMES, at(&theirs, 0.5) / m, at(&theirs, 0.5) / limit);
	samples_free(&host);
	samples_free(&sync2);
	samples_free(&ours);
	samples_free(&byctl);
	samples_free(&theirs);
}

struct rates {
	double	 host;
	double	 ours;
	double	 byctl;
	double	 theirs;
};

/*
 * In slices, each in turn.  Of the Engine, which takes a hundred times as
 * long, a slice is one flight.
 */
static void
flight(int conns, int per, int total, int slices, struct rates *r,
    struct samples *ours, struct samples *byctl)
{
	struct flight	 f = { guest_true, "exited", conns, per };
	double		 t[4] = { 0 };
	int		 i, n = conns * per, slice = total / slices;

	if (slice < n)
		slice = n;
	for (i = 0; i < slices; i++) {
		t[0] += spawn_many(host_true, n, slice, NULL);
		t[1] += exec_many(&f, slice, ours);
		t[2] += spawn_many(ctl_argv, n, slice, byctl);
		t[3] += engine_exec_many(n, n);
	}
	r->host = slices * slice / t[0];
	r->ours = slices * slice / t[1];
	r->byctl = slices * slice / t[2];
	r->theirs = slices * n / t[3];
}

void
bench_flight(void)
{
	struct samples	 ours = { 0 }, byctl = { 0 };
	struct rates	 r;
	int		 slices = bench.n >= 100 ? 3 : 1;

	ctl_prepare();
	flight(bench.many / 4, 4, bench.n * 4, slices, &r, &ours, &byctl);
	title("sh -c true, %d in flight", bench.many);
	row(ROW_MANY_SPAWN, r.host, 0);
	row(ROW_MANY_RATE, r.ours, r.host);
	row(ROW_MANY_50, at(&ours, 0.5), 0);
	row(ROW_MANY_99, at(&ours, 0.99), 0);
	/* A process more for each. */
	row(ROW_MANY_CTL, r.byctl, r.host / 2);
	row(ROW_MANY_CTL_50, at(&byctl, 0.5), 0);
	row(ROW_MANY_CTL_99, at(&byctl, 0.99), 0);
	row(ROW_MANY_ENGINE, r.theirs, 0);
	row(ROW_MANY_TIMES, r.ours / r.theirs, r.host / r.theirs);
	samples_free(&ours);
	samples_free(&byctl);

	flight(bench.more / 4, 4, bench.n * 4, 1, &r, &ours, &byctl);
	title("sh -c true, %d in flight", bench.more);
	row(ROW_MORE_RATE, r.ours, r.host);
	row(ROW_MORE_50, at(&ours, 0.5), 0);
	row(ROW_MORE_99, at(&ours, 0.99), 0);
	row(ROW_MORE_CTL, r.byctl, r.host / 2);
	row(ROW_MORE_CTL_50, at(&byctl, 0.5), 0);
	row(ROW_MORE_CTL_99, at(&byctl, 0.99), 0);
	row(ROW_MORE_TIMES, r.ours / r.theirs, r.host / r.theirs);
	samples_free(&ours);
	samples_free(&byctl);
}
