/*
 * What the filters of system calls cost: the same commands by two daemons of
 * one build, one after the other, of which one has no filters.
 */
#include <err.h>

#include "bench.h"

static struct bench	 other;

/* From the one to the other. */
static void
change(void)
{
	struct bench	 b = bench;

	bench = other;
	other = b;
}

static double
rate(int n)
{
	static char *const	 argv[] = { "sh", "-c", "true", NULL };
	struct flight		 f = { argv, "exited", bench.many / 4, 4 };

	return (n / exec_many(&f, n, NULL));
}

void
bench_filters(void)
{
	struct samples	 with = { 0 }, without = { 0 };
	double		 fast[2] = { 0 };
	int		 i, slices = bench.n >= 100 ? 6 : 1;

	if (bench.bare == NULL)
		errx(64, "no daemon without filters");
	other = bench;
	other.socket = bench.bare;
	change();
	client_open();
	box_create(&bench.box);
	change();
	for (i = 0; i < 10; i++) {
		exec_one();
		change();
	}
	for (i = 0; i < 2 * bench.n; i++) {
		timed(&with, exec_one);
		change();
		timed(&without, exec_one);
		change();
	}
	for (i = 0; i < slices; i++) {
		fast[0] += rate(bench.n);
		change();
		fast[1] += rate(bench.n);
		change();
	}
	title("sh -c true, with filters, against none");
	row(ROW_FILTERS, at(&with, 0.5), at(&without, 0.5));
	row(ROW_FILTERS_MANY, fast[0] / slices, fast[1] / slices);
	samples_free(&with);
	samples_free(&without);
	change();
	box_delete(&bench.box);
	sandbox_close(bench.conn);
	change();
}
