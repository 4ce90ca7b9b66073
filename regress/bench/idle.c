/*
 * Many sandboxes in which nothing happens.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static int
at_once(int left)
{
	return (left < bench.at_once ? left : bench.at_once);
}

void
bench_idle(void)
{
	struct proto_sandbox	*b;
	struct usage		 none, many, guests;
	pid_t			 pid[DAEMON_MAX], *guest;
	double			 slope;
	int			 i, n, npids, ms = bench.n >= 100 ? 5000 : 500;

	npids = daemon_pids(pid, DAEMON_MAX);
	procs_idle(&none, pid, npids, ms);
	if ((b = calloc(bench.boxes, sizeof(*b))) == NULL ||
	    (guest = calloc(bench.boxes, sizeof(*guest))) == NULL)
		err(1, NULL);
	for (i = 0; i < bench.boxes; i += n) {
		n = at_once(bench.boxes - i);
		boxes_create(b + i, n);
	}
	for (i = 0; i < bench.boxes; i++)
		guest[i] = engine_pid(b[i].container);
	/* The last of what the creates have left to do. */
	pause_ms(ms / 2);
	procs_idle(&many, pid, npids, ms);
	procs_idle(&guests, guest, bench.boxes, ms);
	slope = (many.pss - none.pss) / bench.boxes;
	title("%d idle sandboxes", bench.boxes);
	row(ROW_PSS_NONE, none.pss, 0);
	row(ROW_PSS, many.pss, none.pss);
	row(ROW_PSS_200, none.pss + 200 * slope, none.pss);
	row(ROW_PSS_GUEST, guests.pss * 1024 / bench.boxes, 0);
	row(ROW_WAKE, many.wakes, none.wakes);
	/* The processes ask after each other now and then; that is theirs. */
	row(ROW_WAKE_BOX, many.wakes > none.wakes ? (many.wakes -
	    none.wakes) / bench.boxes : 0, 0);
	row(ROW_WAKE_GUEST, guests.wakes / bench.boxes, 0);
	row(ROW_CPU, many.cpu, none.cpu);
	restart_many(b, bench.boxes);
	for (i = 0; i < bench.boxes; i += n) {
		n = at_once(bench.boxes - i);
		boxes_delete(b + i, n);
	}
	free(b);
	free(guest);
}
